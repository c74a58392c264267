"""Interleaved timing of engines in processes of their own: this package's, and any rival that speaks the protocol of `contender`."""
