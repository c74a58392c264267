"""Checkpoints to GGUF files; works without the native extension and without PyTorch."""
