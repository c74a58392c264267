"""The comparison is shared with `make parity`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "reference"))
