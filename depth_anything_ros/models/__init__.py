"""What models there are: the closed tables of known weights and published files, and where a name leads on this machine."""
