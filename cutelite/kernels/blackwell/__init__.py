"""Kernels for Blackwell. No card has run them: they are simulated, checked and assembled (docs/blackwell.md)."""
