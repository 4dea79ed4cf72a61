"""Typed SSA: types, ops, blocks and functions; how they are built, printed, parsed and verified.

types       types of values                       op          `Op` and `@op`: an instruction is one class
contract    effects, spelling: what a class says  function    blocks, and what dominates what
builder     ops put into blocks                   verifier    what every pass may rely on
printer     IR as text                            parser      text as IR
simulation  the simulator, as ops see it          faults      an unexpected exception as a report of a bug
"""
