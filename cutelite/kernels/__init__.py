"""Kernels to call: one plain function on arrays for each, with its kernel, its configurations and its reference.

Arrays may be torch's, JAX's and CuPy's, on their GPU, or NumPy's, in the simulator. Nothing here is imported for you:
import the module of the kernel that you call.
"""
