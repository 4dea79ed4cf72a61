"""Typed SSA: types, ops, blocks and functions; how they are built, printed, parsed and verified."""
