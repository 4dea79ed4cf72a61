"""Calls of functions that are linked to the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from cutelite.ir.contract import Effect, Problem, describe
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.simulation import Lanes
from cutelite.ir.types import Ptr, Scalar, Tensor, Type


@op("call", source="PTX ISA: call; LLVM LangRef: call")
class Call(Op):
    """Call the external function `function`, which is defined in a library that is linked to the kernel.

    inputs     numbers and addresses; an address is passed as a generic one, like a pointer in C
    outs       the type of the result, if there is one: a number
    libraries  files that are linked: LLVM bitcode, PTX, cubin, fatbin, object or archive
    pure       the function has no effect but its result

    The simulator cannot execute it: `cl.extern` gives it a meaning in Python.
    """

    function: str
    inputs: tuple[Value, ...]
    outs: tuple[Type, ...] = ()
    libraries: tuple[str, ...] = ()
    pure: bool = False

    @property
    def effects(self) -> Effect:  # type: ignore[override]
        if self.pure:
            return Effect.PURE
        access = Effect.READS | Effect.WRITES | Effect.ORDERS
        return access | Effect.UNMERGEABLE | Effect.CONVERGENT | Effect.HOST_VISIBLE

    def result_types(self) -> tuple[Type, ...]:
        return self.outs

    def verify(self) -> Iterator[Problem]:
        if not (self.function.isascii() and self.function.isidentifier()):
            yield Problem("function", f"{self.function!r} is no name of a function")
        for value in self.inputs:
            if not isinstance(value.type, Scalar | Ptr | Tensor):
                yield Problem("inputs", f"a function takes numbers and addresses, not {value.type}")
        if len(self.outs) > 1 or not all(isinstance(t, Scalar) for t in self.outs):
            yield Problem("outs", f"a function returns a number or nothing, not {describe(self.outs)}")
        elif self.pure and not self.outs:
            yield Problem("pure", "a pure function without a result has no effect")

    def simulate(self, lanes: Lanes) -> None:
        lanes.fault(lanes.mask, f"the simulator cannot execute {self.function}()", "extern")


__all__ = ["Call"]
