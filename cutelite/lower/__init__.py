"""Typed SSA to LLVM IR text: instructions where LLVM has them, inline assembly for everything else.

function      a whole function; `writer` collects its lines    structure  branches, constants, vectors
instructions  ops that LLVM has instructions for               assembly   ops written as inline PTX
templates     the spelling of ops, taken apart                 types, constants  as LLVM writes them
calls         linked functions                                 debug      source lines; variables  those of the user,
                                                                          for debuggers
alive         long vectors a few elements at a time
reports       `printf` and assertions                          profile, records  events and values that a kernel writes

Input: a function that has been through `passes.PIPELINE`. Output: one module as text, for `toolchain`. No op is known
by name here: each says how it is spelled (`contract.Llvm`, `contract.Ptx`), except those in `structure`.
"""

from cutelite.lower.function import to_llvm

__all__ = ["to_llvm"]
