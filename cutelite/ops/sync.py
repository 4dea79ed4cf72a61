"""Barriers of the CTA, fences, and sleep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, get_args

from cutelite.ir.contract import Effect, Problem, Ptx, numpy_dtype
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import Type, boolean, i32, u32
from cutelite.ops.address import among, scalar

if TYPE_CHECKING:
    from cutelite.ir.simulation import Lanes, Wait

BARRIERS = 16
Scope = Literal["cta", "cluster", "gpu", "sys"]
"""Whose accesses an operation orders, in the PTX memory model."""
SCOPES = get_args(Scope)

ALL_THREADS = 0


class CtaBarrier(Op):
    """An operation on one of the CTA's 16 barriers, which `count` threads take part in.

    id       0 to 15; if it is known only at run time, the operand `number` says it instead
    count    threads that take part, arrivals without a wait included, a multiple of 32; 0 for all of the CTA
    """

    effects = Effect.ORDERS | Effect.CONVERGENT
    scope = "warp"
    wide = True

    id: int = 0
    count: int = ALL_THREADS
    number: Value | None
    takes = {"number": scalar(i32, u32), "id": among(range(BARRIERS))}

    @property
    def threads(self) -> int:
        return self.count

    def verify(self) -> Iterator[Problem]:
        if self.count % 32 or not 0 <= self.count <= 1024:
            yield Problem("count", f"a barrier is for a multiple of 32 threads up to 1024, not {self.count}")
        if self.number is not None and self.count == ALL_THREADS:
            yield Problem("count", "a barrier that is known only at run time needs its number of threads")

    @property
    def where(self) -> str:
        """Its operands in PTX."""
        number = "$number" if self.number is not None else str(self.id)
        return f"{number}, {self.count}" if self.count else number

    def identity(self, lanes: Lanes) -> Any:
        return self.id if self.number is None else lanes.get(self.number)


@op("bar.sync", source="PTX ISA: barrier.cta.sync")
class BarSync(CtaBarrier):
    """Wait until all threads of the barrier are here; each then sees what the others wrote before.

    aligned  all threads of a warp execute this op together, as ``bar.sync`` requires; else they may arrive one by one
    """

    aligned: bool = True

    @property
    def scope(self) -> str:  # type: ignore[override]
        return "warp" if self.aligned else "thread"

    def ptx(self) -> Ptx:
        return Ptx(f"barrier.cta.sync{'.aligned' if self.aligned else ''} {self.where};")

    def simulate(self, lanes: Lanes) -> Wait:
        return lanes.machine.barriers.sync(lanes, self.identity(lanes), self.count or None)


@op("bar.arrive", source="PTX ISA: barrier.cta.arrive")
class BarArrive(CtaBarrier):
    """Arrive without waiting: for producers of data that other threads, in `bar.sync`, wait for."""

    aligned: bool = True

    @property
    def scope(self) -> str:  # type: ignore[override]
        return "warp" if self.aligned else "thread"

    def verify(self) -> Iterator[Problem]:
        yield from super().verify()
        if self.count == ALL_THREADS:
            yield Problem("count", "bar.arrive needs the number of threads of the barrier, including those that wait")

    def ptx(self) -> Ptx:
        return Ptx(f"barrier.cta.arrive{'.aligned' if self.aligned else ''} {self.where};")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.barriers.arrive(lanes, self.identity(lanes), self.count)


@op("bar.red", source="PTX ISA: barrier.cta.red")
class BarRed(CtaBarrier):
    """Execute `bar.sync`, and combine a bool of every thread: all ('and'), any ('or'), or their number ('popc')."""

    a: Value
    operation: str
    takes = {
        "a": scalar(boolean),
        "operation": among(("and", "or", "popc")),
    }

    def result_types(self) -> tuple[Type, ...]:
        return (i32 if self.operation == "popc" else boolean,)

    def ptx(self) -> Ptx:
        kind = "u32" if self.operation == "popc" else "pred"
        return Ptx(f"barrier.cta.red.{self.operation}.aligned.{kind} $out, {self.where}, $a;")

    def simulate(self, lanes: Lanes) -> Iterator[Wait]:
        barriers, a = lanes.machine.barriers, lanes.get(self.a)
        outcome = yield from barriers.reduce(lanes, self.identity(lanes), self.count or None, self.operation, a)
        lanes.define(outcome.astype(numpy_dtype(self.result.type)))


FENCES = ("sc", "acq_rel", "acquire", "release")


@op("fence", effects=Effect.ORDERS, source="PTX ISA: fence")
class Fence(Op):
    """This thread's memory accesses before it come before those after it, for all threads of the scope.

    semantic        'release' orders earlier accesses before a flag written after the fence; 'acquire' orders later ones
                    after a flag read before it; 'acq_rel' does both; 'sc' also puts all such fences in one order
    scope_of_order  'cta', 'cluster', 'gpu' or 'sys'
    """

    semantic: str = "acq_rel"
    scope_of_order: str = "gpu"
    takes = {
        "semantic": among(FENCES),
        "scope_of_order": among(SCOPES, "scope"),
    }

    @property
    def feature(self) -> str | None:  # type: ignore[override]
        return "cluster" if self.scope_of_order == "cluster" else None

    def ptx(self) -> Ptx:
        # PTX has fence.acquire and fence.release from sm_90 on only; acq_rel is legal everywhere, and orders more.
        semantic = "acq_rel" if self.semantic in ("acquire", "release") else self.semantic
        return Ptx(f"fence.{semantic}.{self.scope_of_order};")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.fence(lanes, f"{self.semantic}.{self.scope_of_order}")


@op("nanosleep", effects=Effect.ORDERS, source="PTX ISA: nanosleep")
class Nanosleep(Op):
    """Do nothing for about `ns` nanoseconds: between none and twice as many, at most a millisecond."""

    ns: Value
    as_ptx = Ptx("nanosleep.u32 $ns;", memory=False)
    takes = {"ns": scalar(u32, i32)}

    def simulate(self, lanes: Lanes) -> None:
        return None


__all__ = ["BarArrive", "BarRed", "BarSync", "Fence", "Nanosleep"]
