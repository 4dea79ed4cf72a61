"""Operations of a warp together: shuffles, votes, matches, reductions.

`members` is a u32 with a bit for each lane that takes part; they all execute the op, and wait for each other. To read
from a lane that takes no part is an error in the simulator, and gives anything on the hardware.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from cutelite.ir.contract import Effect, Problem, Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import Scalar, Type, Vec, boolean, elem_of, f32, i32, u32
from cutelite.ops.address import among, scalar
from cutelite.ops.convert import ptx_type

if TYPE_CHECKING:
    from cutelite.ir.simulation import Array, Lanes

MODES = ("idx", "up", "down", "bfly")
WIDTHS = (1, 2, 4, 8, 16, 32)


class Collective(Op):
    """An op that the lanes in `members` execute together."""

    wide = True
    takes = {"members": scalar(u32)}


@op("shfl.sync", scope="warp", elementwise=True, effects=Effect.CONVERGENT, source="PTX ISA: shfl.sync")
class Shuffle(Collective):
    """`a` of another lane: number `lane` (idx), `lane` lower (up) or higher (down), or this lane's XOR `lane` (bfly).

    a      any 32-bit numbers, each element by itself
    width  the size of the segments that a warp is divided into: 'idx' counts from the segment's start. A lane that
           would read outside its segment gets its own `a`; 'bfly' may read from the segments before
    """

    a: Value
    lane: Value
    members: Value
    mode: str = "idx"
    width: int = 32
    gives = "a"
    takes = {
        "lane": scalar(i32, u32),
        "mode": among(MODES),
        "width": among(WIDTHS),
    }

    def verify(self) -> Iterator[Problem]:
        t = self.a.type
        if not isinstance(t, Scalar | Vec) or elem_of(t).bits != 32 or elem_of(t).kind == "barrier":
            yield Problem("a", f"shfl.sync takes 32-bit numbers, not {t}", "split or extend it")
            return

    def ptx(self) -> Ptx:
        clamp = (32 - self.width) << 8 | (0 if self.mode == "up" else 31)
        return Ptx(f"shfl.sync.{self.mode}.b32 $out, $a, $lane, {clamp}, $members;", memory=False)

    def simulate(self, lanes: Lanes) -> None:
        a, by = lanes.get(self.a), lanes.get(self.lane).astype(np.int64)
        at = np.arange(len(by))
        me = at % 32
        start = me - me % self.width
        match self.mode:
            case "idx":
                source = start + by % self.width
            case "up":
                source = me - by % 32
            case "down":
                source = me + by % 32
            case _:
                source = me ^ by % 32
        inside = source < start + self.width
        if self.mode != "bfly":  # there lower segments can be read (PTX ISA, shfl: only maxLane counts)
            inside &= source >= start
        source = at + np.where(inside, source - me, 0)
        idle = ~lanes.mask[source]
        lanes.fault(idle, "this shuffle reads from a lane that takes no part in it", "shuffle")
        lanes.define(a[source])


@op("vote.sync", scope="warp", effects=Effect.CONVERGENT, source="PTX ISA: vote.sync")
class Vote(Collective):
    """Test whether `a` holds in all lanes ('all'), in any ('any'), or is the same in all ('uni')."""

    a: Value
    members: Value
    mode: str
    gives = boolean
    takes = {
        "a": scalar(boolean),
        "mode": among(("all", "any", "uni")),
    }
    as_ptx = Ptx("vote.sync.${mode}.pred $out, $a, $members;", memory=False)

    def simulate(self, lanes: Lanes) -> None:
        a, here = lanes.warps(lanes.get(self.a)), lanes.warps(lanes.mask)
        every, some = (a | ~here).all(axis=1), (a & here).any(axis=1)
        outcome = {"all": every, "any": some, "uni": every | ~some}[self.mode]
        lanes.define(np.repeat(outcome, 32))


@op("vote.sync.ballot", scope="warp", effects=Effect.CONVERGENT, source="PTX ISA: vote.sync")
class Ballot(Collective):
    """A u32 whose bit n is `a` of lane n; 0 for lanes that do not take part."""

    a: Value
    members: Value
    gives = u32
    as_ptx = Ptx("vote.sync.ballot.b32 $out, $a, $members;", memory=False)
    takes = {"a": scalar(boolean)}

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(np.repeat(_ballot(lanes.warps(lanes.get(self.a)) & lanes.warps(lanes.mask)), 32))


def _ballot(bits: Array) -> Array:
    """Return (..., 32) bools as u32: lane n is bit n."""
    return np.packbits(bits, axis=-1, bitorder="little").view(np.uint32)[..., 0]


class Match(Collective):
    """A comparison of the `a`, of 32 or 64 bits, of all lanes, bit by bit."""

    a: Value
    members: Value

    def verify(self) -> Iterator[Problem]:
        t = self.a.type
        if not isinstance(t, Scalar) or t.bits not in (32, 64) or t.kind == "barrier":
            yield Problem("a", f"{self.name} takes a number of 32 or 64 bits, not {t}")
            return

    @property
    def bits(self) -> int:
        return elem_of(self.a.type).bits

    def equal(self, lanes: Lanes) -> Array:
        """Return whether two lanes both take part and have the same `a`: (warps, 32, 32)."""
        a = lanes.warps(np.ascontiguousarray(lanes.get(self.a)).view(f"u{self.bits // 8}"))
        here = lanes.warps(lanes.mask)
        return (a[:, :, None] == a[:, None, :]) & here[:, :, None] & here[:, None, :]


@op("match.any.sync", scope="warp", effects=Effect.CONVERGENT, source="PTX ISA: match.sync")
class MatchAny(Match):
    """The lanes with the same `a` as this one, as a u32 with a bit for each."""

    gives = u32
    as_ptx = Ptx("match.any.sync.b${bits} $out, $a, $members;", memory=False)

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(_ballot(self.equal(lanes)).reshape(-1))


@op("match.all.sync", scope="warp", effects=Effect.CONVERGENT, source="PTX ISA: match.sync")
class MatchAll(Match):
    """Test whether all lanes have the same `a`. Results: the lanes as a u32 (0 if they differ), and a bool."""

    as_ptx = Ptx("match.all.sync.b${bits} $out0|$out1, $a, $members;", memory=False)

    def result_types(self) -> tuple[Type, ...]:
        return (u32, boolean)

    def simulate(self, lanes: Lanes) -> None:
        here = lanes.warps(lanes.mask)
        same = (self.equal(lanes) == (here[:, :, None] & here[:, None, :])).all(axis=(1, 2))
        lanes.define(np.repeat(np.where(same, _ballot(here), 0).astype(np.uint32), 32), np.repeat(same, 32))


@op("redux.sync", scope="warp", effects=Effect.CONVERGENT, source="PTX ISA: redux.sync")
class Redux(Collective):
    """Combine `a` of all lanes; each of them gets the result.

    operation  add, min, max, and, or, xor of i32 or u32; min, max of f32 on targets that have it
    abs        f32 only: combine magnitudes
    nan        f32 only: the result is NaN if any lane has NaN; without it, only if all have
    """

    a: Value
    members: Value
    operation: str
    abs: bool = False
    nan: bool = False

    integer: ClassVar[tuple[str, ...]] = ("add", "min", "max", "and", "or", "xor")
    gives = "a"
    takes = {"a": scalar(i32, u32, f32)}

    @property
    def feature(self) -> str | None:  # type: ignore[override]
        return "redux.f32" if self.a.type == f32 else "redux"

    def verify(self) -> Iterator[Problem]:
        allowed = ("min", "max") if self.a.type == f32 else self.integer
        if self.operation not in allowed:
            yield Problem("operation", f"redux.sync of {self.a.type} does {', '.join(allowed)}, not {self.operation!r}")
        if (self.abs or self.nan) and self.a.type != f32:
            yield Problem("abs", "`abs` and `nan` are for f32")

    def ptx(self) -> Ptx:
        kind = "b32" if self.operation in ("and", "or", "xor") else ptx_type(elem_of(self.a.type))
        how = (".abs" if self.abs else "") + (".NaN" if self.nan else "")
        return Ptx(f"redux.sync.{self.operation}{how}.{kind} $out, $a, $members;", memory=False)

    def simulate(self, lanes: Lanes) -> None:
        a, here = lanes.warps(lanes.get(self.a)), lanes.warps(lanes.mask)
        if self.a.type == f32:
            lanes.define(np.repeat(self._float(np.abs(a) if self.abs else a, here), 32))
            return
        combine: dict[str, Any] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
        combine |= {"add": np.add, "min": np.minimum, "max": np.maximum}
        ends = np.iinfo(a.dtype)
        neutral = {"and": -1, "min": ends.max, "max": ends.min}.get(self.operation, 0)
        filled = np.where(here, a, np.array(neutral).astype(a.dtype))
        lanes.define(np.repeat(combine[self.operation].reduce(filled, axis=1, dtype=a.dtype), 32))

    def _float(self, a: Array, here: Array) -> Array:
        combine: Any = {"min": (np.fmin, np.minimum), "max": (np.fmax, np.maximum)}[self.operation][self.nan]
        first = np.take_along_axis(a, here.argmax(axis=1)[:, None], axis=1)  # any that takes part
        return combine.reduce(np.where(here, a, first), axis=1)


@op("activemask", effects=Effect.UNMERGEABLE | Effect.CONVERGENT, source="PTX ISA: activemask")
class ActiveMask(Op):
    """The lanes of this warp that execute this op together, by chance: a u32 with a bit for each."""

    gives = u32
    as_ptx = Ptx("activemask.b32 $out;", memory=False)

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.special("activemask").astype(np.uint32))


@op("bar.warp.sync", scope="warp", effects=Effect.ORDERS | Effect.CONVERGENT, source="PTX ISA: bar.warp.sync")
class WarpSync(Collective):
    """Wait for the other lanes; after it, each lane sees what the others wrote before it."""

    members: Value
    as_ptx = Ptx("bar.warp.sync $members;")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.fence(lanes, "warp")


__all__ = ["ActiveMask", "Ballot", "MatchAll", "MatchAny", "Redux", "Shuffle", "Vote", "WarpSync"]
