"""What quantised values stand for, by the gguf package: a second implementation of the types."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import gguf
import numpy as np
from numpy.typing import NDArray


def decoded(tensor: gguf.ReaderTensor) -> NDArray[np.float32]:
    """float32 values of a tensor of `gguf.GGUFReader`, of any type."""
    # The package looks at columns of bytes as numbers of another size, which NumPy before 1.23 allows of packed ones only.
    with patch.object(np, "split", _packed(np.split)), patch.object(np, "hsplit", _packed(np.hsplit)):
        return gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)


def _packed(split: Callable[..., list[np.ndarray]]) -> Callable[..., list[np.ndarray]]:
    return lambda *arguments, **named: [part.copy() for part in split(*arguments, **named)]
