"""Typed SSA to LLVM IR text: scalars as instructions, what LLVM does not know as inline assembly.

function   one function; `writer` has its lines    structure  branches, and what is no instruction
instructions  ops by LLVM                         assembly   ops by PTX, inline
templates  the spelling of ops, taken apart       types  constants    as LLVM writes them
calls      linked functions                       debug      source lines; variables  the user's, for debuggers
reports    `printf` and assertions                profile  records    events and values that a kernel writes

In: a function that has been through `passes.PIPELINE`. Out: one module as text, for `toolchain`. Knows no op: each
says how it is spelled (`contract.Llvm`, `contract.Ptx`); those that are no instruction are in `structure`.
"""

from cutelite.lower.function import to_llvm

__all__ = ["to_llvm"]
