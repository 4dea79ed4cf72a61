"""Kernels with asynchrony of many kinds, small enough to break in every way. Each `run` compares with NumPy."""
