"""The training folder is no part of the installed package: put the root of the repository on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
