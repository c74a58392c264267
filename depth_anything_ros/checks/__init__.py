"""What this machine has and can do, and whether a model gives what it should: behind the verbs `doctor` and `verify`."""
