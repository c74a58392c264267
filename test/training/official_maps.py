"""Run in the parity environment: official_maps.py CHECKPOINT PICTURE.npy OUTPUT.npz, the official network on an exported checkpoint."""

import sys
from pathlib import Path

import numpy as np
from safetensors.torch import load_file

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools" / "reference")]

import official  # noqa: E402

from depth_anything_ros.convert.model_config import from_config  # noqa: E402

checkpoint, picture, output = map(Path, sys.argv[1:])
(parameters,) = from_config(checkpoint / "config.json")
net = official.network(parameters)
state = load_file(checkpoint / "model.safetensors")
unexpected = net.load_state_dict({name.removeprefix("model."): value for name, value in state.items()}, strict=False).unexpected_keys
if unexpected:
    raise SystemExit(f"not in the official network: {unexpected}")
np.savez(output, **official.forward(net, official.normalised(np.load(picture), parameters)))
