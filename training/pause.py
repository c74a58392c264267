"""A file that holds long jobs: `touch <state>/pause` stops them within one step, removing it lets them go on."""

import time


def wait_while_paused(state):
    """Return when `<state>/pause` does not exist."""
    while (state / "pause").exists():
        time.sleep(0.5)
