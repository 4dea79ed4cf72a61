"""The values that ptxas can prove to be the same for all lanes of a warp.

It keeps those in uniform registers. Kernel parameters, numbers and values computed from them are uniform; values that
depend on a thread's place in its block, or come from memory, are not. The result of `make_warp_uniform`, a shuffle from
a known lane, is uniform. Control flow that differs among lanes is ignored.
"""

from __future__ import annotations

from cutelite.ir.function import Function, Value, predecessors, reverse_postorder
from cutelite.ops.arith import Const
from cutelite.ops.index import Special


class Uniform:
    """A test of the values of a function: ``Uniform(function)(value)``."""

    def __init__(self, function: Function) -> None:
        params = () if "device" in function.attrs else function.entry.params  # each thread has its own
        self._same: set[Value] = {*params, *function.dims.values()}
        order = reverse_postorder(function.entry)
        before = predecessors(order)
        self._given = {
            param: [jump.args[i] for _, jump in before[block]]
            for block in order[1:]
            for i, param in enumerate(block.params)
        }

    def __call__(self, value: Value) -> bool:
        """Tell whether `value` is made only of values that are the same in all lanes."""
        seen: set[Value] = set()
        left = [value]
        while left:
            value = left.pop()
            if value in seen or value in self._same:
                continue
            if (parts := self._parts(value)) is None:
                return False
            seen.add(value)
            left += parts
        self._same |= seen
        return True

    def _parts(self, value: Value) -> list[Value] | None:
        """Return the values that decide a value; None if the lane decides it, or that is not known."""
        if value in self._given:
            return self._given[value]
        op = value.op
        if op is None:
            return None
        if isinstance(op, Special):
            return [] if op.of_the_block else None
        if op.name == "shfl.sync":
            return [] if op["mode"] == "idx" and isinstance(op["lane"].op, Const) else None
        return list(op.operands) if op.is_pure else None
