"""Coverage-guided fuzzing of the converter's readers: fuzz.py TARGET CORPUS [LIBFUZZER ARGUMENT ...] (`make fuzz`).

From the repository root. CORPUS: folder for inputs that reach something new.
"""

from __future__ import annotations

import sys

import atheris
import numpy as np

with atheris.instrument_imports(include=["depth_anything_ros", "zipfile", "pickletools", "json"]):
    import targets


def main() -> None:
    name, *arguments = sys.argv[1:]
    np.seterr(all="ignore")
    atheris.Setup([sys.argv[0], *arguments, str(targets.SEEDS[name])], lambda data: bool(targets.run(name, data)) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
