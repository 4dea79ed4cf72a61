"""Typed SSA to LLVM IR text: scalars as instructions, what LLVM does not know as inline assembly.

In: a function that has been through `passes.PIPELINE`. Out: one module as text, for `toolchain`. Knows no op: each
says how it is spelled (`contract.Llvm`, `contract.Ptx`); those that are no instruction are in `structure`.
"""

from cutelite.lower.function import to_llvm

__all__ = ["to_llvm"]
