"""Refuse uses of `setmaxnreg` on which a kernel would hang.

A block's pool is its registers at launch: for each thread as many as the register file allows, in multiples of 8. To
find the `setmaxnreg` that a warpgroup executes, branches are followed that only its place in the block decides.

Errors: `setmaxnreg` if the warpgroups together ask for more than the pool, and if the first of a warpgroup asks for
fewer than it has, or gives back all above more than that. Needs: `fold`, so that constants are seen. Keeps: every op,
in order.
"""

from __future__ import annotations

from math import prod

from cutelite.diag import CompileError, Mistake
from cutelite.ir.function import Block, Function, Value
from cutelite.ops.arith import Const
from cutelite.ops.control import CondBr
from cutelite.ops.index import Special
from cutelite.ops.known import evaluate
from cutelite.ops.registers import SetMaxNReg, SetMaxNRegInc
from cutelite.passes.context import Context
from cutelite.passes.fold import launch_constant
from cutelite.target.targets import MOST_REGISTERS, WARPGROUP, registers_at_launch


def check_registers(function: Function, context: Context) -> Function:
    changes = [op for op in function.ops() if isinstance(op, SetMaxNReg)]
    block = function.attrs.get("block")
    if not changes or block is None or prod(block) % WARPGROUP:
        return function
    groups = prod(block) // WARPGROUP
    start = registers_at_launch(prod(block), function.attrs.get("min_blocks"))
    if start > MOST_REGISTERS or function.attrs.get("max_registers"):
        return function  # ptxas chooses the number of registers at launch
    met = [_Walk(function, group * WARPGROUP).changes() for group in range(groups)]
    for found in met:
        first = found[0] if len(found) == 1 else None
        asks = isinstance(first, SetMaxNRegInc)
        if first and (first.count < start if asks else first.count > start):
            text = f"{first.name} to {first.count}, and the kernel starts with {start} registers for each thread"
            other = "give registers back with `cl.setmaxnreg_dec`" if asks else "ask for more with `cl.setmaxnreg_inc`"
            raise CompileError(Mistake("setmaxnreg", text, help=other), first.span)
    wanted = [min((op.count for op in found), default=start) for found in met]
    if sum(wanted) > start * groups and any(isinstance(op, SetMaxNRegInc) for op in changes):
        most = max((op for op in changes if isinstance(op, SetMaxNRegInc)), key=lambda op: op.count)
        listed = " + ".join(map(str, wanted))
        text = f"the warpgroups ask for {listed} = {sum(wanted)} registers a thread, and have {start} x {groups}"
        label = f"this waits for registers that nobody gives back: {start * groups} is all"
        raise CompileError(Mistake("setmaxnreg", text, label, "ask for fewer, or give more back"), most.span)
    return function


class _Walk:
    """The path of a thread through the kernel: both sides of branches whose condition is not known."""

    def __init__(self, function: Function, thread: int) -> None:
        x, y, _ = function.attrs["block"]
        self.function = function
        self.place = {"tid.x": thread % x, "tid.y": thread // x % y, "tid.z": thread // (x * y)}
        self.known: dict[Value, int | bool | None] = {}

    def changes(self) -> list[SetMaxNReg]:
        """Return the `setmaxnreg` ops that the thread can reach."""
        found: list[SetMaxNReg] = []
        left: list[Block] = [self.function.entry]
        seen = {self.function.entry}
        while left:
            block = left.pop()
            found += [op for op in block.ops if isinstance(op, SetMaxNReg)]
            end = block.terminator
            ways = [jump.block for jump in end.jumps] if end else []
            if isinstance(end, CondBr) and (taken := self.value(end.cond)) is not None:
                ways = ways[:1] if taken else ways[1:]
            left += [way for way in ways if way not in seen]
            seen.update(ways)
        return found

    def value(self, value: Value) -> int | bool | None:
        """Return the number that the thread's place in the block decides; None if it does not."""
        if value not in self.known:
            self.known[value] = None  # ends the recursion around a loop
            self.known[value] = self._value(value)
        return self.known[value]

    def _value(self, value: Value) -> int | bool | None:
        op = value.op
        if op is None:
            return None
        if isinstance(op, Const):
            return op.value if isinstance(op.value, int) else None
        if isinstance(op, Special):
            return self.place.get(op.register, launch_constant(op.register, self.function.attrs))
        if op.name == "shfl.sync":  # from lane 0, whose path this is
            return self.value(op["a"]) if op["mode"] == "idx" and self.value(op["lane"]) == 0 else None
        if not op.is_pure or len(op.results) != 1 or any(self.value(x) is None for x in op.operands):
            return None
        return evaluate(op, [self.value(operand) for operand in op.operands])
