"""Signatures of kernels: data, the binder with its words, and the tables that the launcher reads.

data     parameters, dims and grid: frozen, compared by value, JSON for files
table    a signature as the memory that the compiled launcher goes through at each launch
"""
