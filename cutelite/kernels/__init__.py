"""Kernels to call: one plain function on arrays for each, with its kernel, its configurations and its reference.

attention  gemm  moe  rows        kernels for Hopper, a folder for each kind of work
blackwell                         kernels for Blackwell
arrays     arrays of any library, allocated and read      lent       JAX's arrays, lent to functions here
arguments  checks of what a function is given             functions  functions given at each call
planning   functions whose calls on torch's tensors are planned                jax_calls  functions within `jax.jit`
demo       `cutelite demo`

Arrays may be torch's, JAX's and CuPy's, on their GPU, or NumPy's, in the simulator. Nothing here is imported for you:
import the module of the kernel that you call.
"""
