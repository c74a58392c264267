"""Writes test/data/official_shapes.json.gz: names and shapes of every tensor of the official networks, by the official code itself.

python tools/reference/official_shapes.py test/data

Networks are built without memory for their weights. Packages that the official code imports only for other ends are replaced by nothing.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from unittest.mock import MagicMock

UNUSED = ("evo", "evo.core", "evo.core.trajectory", "e3nn", "gsplat", "moviepy", "plyfile", "torchvision", "torchvision.transforms")
sys.modules.update({name: MagicMock(__spec__=None) for name in UNUSED})

import torch  # noqa: E402
from depth_anything_3.cfg import create_object, load_config  # noqa: E402
from depth_anything_3.registry import MODEL_REGISTRY  # noqa: E402
from depth_anything_v2.dpt import DepthAnythingV2  # noqa: E402

DA3 = ("da3-small", "da3-base", "da3-large", "da3-giant", "da3mono-large", "da3metric-large", "da3nested-giant-large")
V2 = {
    "da2-small": {"encoder": "vits", "features": 64, "out_channels": [48, 96, 192, 384]},
    "da2-base": {"encoder": "vitb", "features": 128, "out_channels": [96, 192, 384, 768]},
    "da2-large": {"encoder": "vitl", "features": 256, "out_channels": [256, 512, 1024, 1024]},
}


def main(folder: Path) -> None:
    linspace = torch.linspace
    # The rates of stochastic depth are read out while the network is built, which a tensor without memory cannot do.
    torch.linspace = lambda *values, **options: linspace(*values, **{**options, "device": "cpu"})
    shapes = {}
    with torch.device("meta"):
        for name in DA3:
            network = create_object(load_config(MODEL_REGISTRY[name]))
            shapes[name] = {f"model.{tensor}": list(value.shape) for tensor, value in network.state_dict().items()}
        for name, options in V2.items():
            shapes[name] = {tensor: list(value.shape) for tensor, value in DepthAnythingV2(**options).state_dict().items()}
    text = json.dumps(shapes, separators=(",", ":")).encode()
    (folder / "official_shapes.json.gz").write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
