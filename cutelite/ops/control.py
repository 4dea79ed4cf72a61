"""Terminators: the last ops of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cutelite.ir.contract import Effect, Problem, np
from cutelite.ir.function import Jump, Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import Scalar, boolean
from cutelite.ops.debug import format_problems, formatted

if TYPE_CHECKING:
    from cutelite.ir.simulation import Lanes


@op("br", terminator=True, source="LLVM LangRef: br")
class Br(Op):
    """Jump to the block `to`."""

    to: Jump

    def simulate(self, lanes: Lanes) -> None:
        lanes.jump(self.to)


@op("cond_br", terminator=True, source="LLVM LangRef: br")
class CondBr(Op):
    """Each thread goes to `then` where `cond` holds, to `other` where it does not."""

    cond: Value
    then: Jump
    other: Jump

    def verify(self) -> Iterator[Problem]:
        if self.cond.type != boolean:
            yield Problem("cond", f"the condition is {self.cond.type}, not bool")

    def simulate(self, lanes: Lanes) -> None:
        lanes.branch(lanes.get(self.cond), self.then, self.other)


@op("ret", terminator=True, source="LLVM LangRef: ret")
class Ret(Op):
    """Leave the kernel, or return from the device function, with the number `value` if it returns one."""

    value: Value | None = None

    def verify(self) -> Iterator[Problem]:
        if self.value is not None and not isinstance(self.value.type, Scalar):
            yield Problem("value", f"a device function returns a number, not {self.value.type}")

    def simulate(self, lanes: Lanes) -> None:
        lanes.leave()


@op("unreachable", terminator=True, source="LLVM LangRef: unreachable")
class Unreachable(Op):
    """The end of a block that no thread reaches: after an infinite loop, or after `assert.fail`."""

    def simulate(self, lanes: Lanes) -> None:
        lanes.fault(lanes.mask, "a thread reaches code that is unreachable", "unreachable")


@op("assert.fail", terminator=True, effects=Effect.HOST_VISIBLE, source="PTX ISA: trap")
class AssertFail(Op):
    """Report `message` with the thread's and block's index, and stop the kernel with an error.

    args  run-time numbers in the message, which then is a format of `printf` for them
    """

    message: str
    args: tuple[Value, ...] = ()

    def verify(self) -> Iterator[Problem]:
        if self.args:
            yield from format_problems(self.message, self.args, "message")

    def simulate(self, lanes: Lanes) -> None:
        if not self.args:
            lanes.fault(lanes.mask, self.message, "assertion")
            return
        texts = formatted(lanes, self.message, self.args)
        first = texts[next(lanes.each())]
        lanes.fault(np.array([text == first for text in texts]), first, "assertion")
