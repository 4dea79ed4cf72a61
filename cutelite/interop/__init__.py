"""Kernels as operations of other frameworks; each module imports its framework, so nothing here is imported for you.

torch.py   custom operators, which torch.compile takes whole          jax.py   calls that jax.jit takes whole
planned.py   calls on tensors like earlier ones, issued by machine code       xla.py   how XLA calls Python
torch_levels.py       the operators within transforms of `torch.func`
torch_functions.py    functions of the caller's as their arguments, in graphs
torch_flops.py        what `FlopCounterMode` counts
torch_transforms.py   the operators under autocast and `torch.vmap`     tvm_ffi.py   functions of TVM-FFI
"""
