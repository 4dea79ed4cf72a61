"""Typed SSA: types, ops, blocks and functions; how they are built, printed and verified.

types       types of values                       op          `Op` and `@op`: an instruction is one class
contract    effects, spelling: what a class says  function    blocks, and their dominators
builder     ops put into blocks                   verifier    the rules that every pass may rely on
printer     IR as text                            simulation  the simulator, as ops see it
faults      unexpected exceptions as bug reports  dim_bounds  the values that an expression over dims can have
"""
