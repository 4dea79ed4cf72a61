"""Integers that an iteration computes if some numbers are known where it begins: constants, propagated over its IR.

In    the block in which the iteration begins, and numbers for some values
Out   the number that a value is then, or None where what is known does not decide it
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.function import Block, Value, predecessors, reverse_postorder
from cutelite.ops.arith import Const
from cutelite.ops.known import COMPUTED, evaluate

UNSEEN = object()
"""The number of a block parameter to which nothing has been seen to be passed yet."""


class Foreseen:
    """The integers of one iteration.

    passed  what is passed to each parameter of the blocks in the iteration
    params  what the parameters are, as far as that has been looked at: UNSEEN, a number, or None
    """

    def __init__(self, first: Block, numbers: dict[Value, Any]) -> None:
        self.numbers = numbers
        self.passed: dict[Value, list[Value]] = {}
        self.params: dict[Value, Any] = {}
        for block, jumps in predecessors(reverse_postorder(first)).items():
            for i, param in enumerate(() if block is first else block.params):
                self.passed[param] = [jump.args[i] for _, jump in jumps]

    def number(self, value: Value) -> Any:
        """Return what `value` is. Parameters of inner loops are taken for what they begin with, until that is wrong."""
        while True:
            found: dict[Value, Any] = {}
            result, known = self._of(value, found), dict(self.params)
            for param in known:
                numbers = {self._of(arg, found) for arg in self.passed[param] if arg is not param} - {UNSEEN}
                self.params[param] = UNSEEN if not numbers else numbers.pop() if len(numbers) == 1 else None
            if self.params == known:
                return None if result is UNSEEN else result

    def _of(self, value: Value, found: dict[Value, Any]) -> Any:
        waiting = [value]
        while waiting:
            value, op = waiting[-1], waiting[-1].op
            if value not in found:
                if value in self.numbers:
                    found[value] = self.numbers[value]
                elif isinstance(op, Const):
                    found[value] = op.value
                elif op is None:
                    found[value] = self.params.setdefault(value, UNSEEN) if value in self.passed else None
                elif op.name not in COMPUTED:
                    found[value] = None
                elif missing := [operand for operand in op.operands if operand not in found]:
                    waiting += missing
                    continue
                else:
                    operands = [found[operand] for operand in op.operands]
                    unseen = None not in operands and UNSEEN in operands
                    found[value] = UNSEEN if unseen else evaluate(op, operands)
            waiting.pop()
        return found[value]
