"""``python -m depth_anything_ros VERB ...``: the same as the command ``depth-anything-ros``."""

import sys

from depth_anything_ros.cli import main

if __name__ == "__main__":
    sys.exit(main())
