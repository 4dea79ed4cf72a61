"""What the threads of a warp do together: shuffles, votes, matches, reductions.

Who       the lanes that `members` names, a bit for each; by default the whole warp. All of them call it, together
Source    PTX ISA: shfl.sync, vote.sync, match.sync, redux.sync, activemask, bar.warp.sync
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Type, Vec, boolean, elem_of, f32, i32, u8, u16, u32, with_elem
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.values import (
    Scalar,
    Vector,
    as_value,
    builder_here,
    emit,
    maximum,
    minimum,
    mistake,
    to_dtype,
    truth,
    wrap,
)
from cutelite.ops import warp as ops
from cutelite.ops.convert import Bitcast

N = TypeVar("N", Scalar, Vector)
Members = int | Scalar
ALL = 0xFFFFFFFF
Lane = int | Scalar


def shuffle(x: N, lane: Lane, *, width: int = 32, members: Members = ALL) -> N:
    """`x` of lane number `lane`: a scalar or vector of any type.

    lane    modulo `width`, counted from the start of this lane's segment
    width   the warp is cut into segments of so many lanes, a power of two
    """
    return _shuffle(x, lane, "idx", width, members)


def shuffle_up(x: N, delta: Lane, *, width: int = 32, members: Members = ALL) -> N:
    """`x` of the lane `delta` lower; its own for the first `delta` lanes of each segment."""
    return _shuffle(x, delta, "up", width, members)


def shuffle_down(x: N, delta: Lane, *, width: int = 32, members: Members = ALL) -> N:
    """`x` of the lane `delta` higher; its own for the last `delta` lanes of each segment."""
    return _shuffle(x, delta, "down", width, members)


def shuffle_xor(x: N, mask: Lane, *, width: int = 32, members: Members = ALL) -> N:
    """`x` of the lane whose number is this one's XOR `mask`: the exchange of a butterfly."""
    return _shuffle(x, mask, "bfly", width, members)


def make_warp_uniform(x: N) -> N:
    """`x`, which is the same in all lanes, known to be so: what depends on it goes to uniform registers.

    ptxas does not see that ``thread_idx.x // 128`` is the same for a warp. Branches, barriers' addresses and wgmma
    descriptors that depend on such a number are then computed by every lane, and moved to uniform registers one by one.
    """
    return shuffle(x, 0)


def warpgroup_idx() -> Scalar:
    """The warpgroup of this thread in its block, counting threads x fastest, uniform: `make_warp_uniform`."""
    return make_warp_uniform(linear_thread_idx() // 128)  # type: ignore[no-any-return]


def vote_all(condition: Any, *, members: Members = ALL) -> Scalar:
    """Whether `condition` holds in all lanes."""
    return emit(ops.Vote(truth(condition).value, _members(members), "all"))  # type: ignore[no-any-return]


def vote_any(condition: Any, *, members: Members = ALL) -> Scalar:
    """Whether `condition` holds in any lane."""
    return emit(ops.Vote(truth(condition).value, _members(members), "any"))  # type: ignore[no-any-return]


def vote_uniform(condition: Any, *, members: Members = ALL) -> Scalar:
    """Whether `condition` is the same in all lanes."""
    return emit(ops.Vote(truth(condition).value, _members(members), "uni"))  # type: ignore[no-any-return]


def ballot(condition: Any, *, members: Members = ALL) -> Scalar:
    """A u32 with the `condition` of each lane as a bit."""
    return emit(ops.Ballot(truth(condition).value, _members(members)))  # type: ignore[no-any-return]


def match_any(x: Any, *, members: Members = ALL) -> Scalar:
    """The lanes that have the same `x`, a number of 32 or 64 bits, as a u32 with a bit for each."""
    return emit(ops.MatchAny(as_value(x), _members(members)))  # type: ignore[no-any-return]


def match_all(x: Any, *, members: Members = ALL) -> tuple[Scalar, Scalar]:
    """(the members if all have the same `x` else 0, whether they do). `x` has 32 or 64 bits."""
    return emit(ops.MatchAll(as_value(x), _members(members)))  # type: ignore[no-any-return]


def redux(
    x: Any,
    operation: Literal["add", "min", "max", "and", "or", "xor"],
    *,
    members: Members = ALL,
    abs: bool = False,
    nan: bool = False,
) -> Scalar:
    """All lanes' `x` combined, in one instruction: i32 and u32; f32 where the GPU has it (`warp_reduce` is general).

    abs, nan   f32 min and max: of magnitudes; NaN if any lane has NaN
    """
    return emit(ops.Redux(as_value(x), _members(members), operation, abs, nan))  # type: ignore[no-any-return]


Combine = Callable[[Any, Any], Any]
COMBINE: dict[str, Combine] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": minimum,
    "max": maximum,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def warp_reduce(
    x: N, operation: Literal["add", "mul", "min", "max", "and", "or", "xor"] = "add", *, width: int = 32
) -> N:
    """The `x` of every lane of the warp, or of each segment of `width` lanes, combined; all lanes get it.

    A scalar or vector of any type that has the operation, vectors element by element. 32-bit integers over the
    whole warp take one `redux`, all else log2(width) exchanges; sums of floats are the same in all lanes.

    Who     the whole warp
    """
    if operation not in COMBINE:
        raise mistake("warp-reduce", f"warp_reduce does {', '.join(COMBINE)}, not {operation!r}")
    if width not in ops.WIDTHS:
        raise mistake("warp-reduce", f"the width of a segment is a power of two up to 32, not {width}")
    step = width // 2
    if width == 32 and operation != "mul" and _has_redux(x, operation):
        x = emit(ops.Redux(as_value(x), _members(ALL), operation))
        step = 0
    while step:
        x = COMBINE[operation](x, shuffle_xor(x, step))
        step //= 2
    return x


def _has_redux(x: Any, operation: str) -> bool:
    if not isinstance(x, Scalar):
        return False
    target = builder_here("warp_reduce").target
    if x.dtype == f32:
        return operation in ("min", "max") and target is not None and target.has("redux.f32")
    return x.dtype in (i32, u32) and (target is None or target.has("redux"))


def active_mask() -> Scalar:
    """The lanes that are here together, as it happens: a u32. It is no safe `members` for what follows."""
    return emit(ops.ActiveMask())  # type: ignore[no-any-return]


def syncwarp(members: Members = ALL) -> None:
    """Wait for the other lanes; what they wrote to memory before is then visible to all of them."""
    emit(ops.WarpSync(_members(members)))


def _members(members: Members) -> Any:
    if isinstance(members, int) and not 0 < members <= ALL:
        raise mistake("members", f"`members` has a bit for each of 32 lanes, at least one: not {members:#x}")
    if isinstance(members, Scalar) and members.dtype == i32:
        return to_dtype(members, u32).value
    return as_value(members, u32)


def _shuffle(x: N, lane: Lane, mode: str, width: int, members: Members) -> N:
    words, back = _words(wrap(as_value(x)))
    index = to_dtype(lane, i32) if isinstance(lane, Scalar) and lane.dtype not in (i32, u32) else lane
    number = as_value(index, None if isinstance(index, Scalar) else i32)
    return back(emit(ops.Shuffle(words.value, number, _members(members), mode, width)))  # type: ignore[no-any-return]


def _words(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    """`x` as 32-bit numbers, and the way back: bit by bit, or each element extended where they do not fill words."""
    t: Type = x.value.type
    elem = elem_of(t)
    if elem == boolean:
        return to_dtype(x, u32), lambda y: to_dtype(y, boolean)
    if elem.bits == 32:
        return x, lambda y: y
    count, rest = divmod(elem.bits * (t.n if isinstance(t, Vec) else 1), 32)
    if rest == 0:
        return _as(x, Vec(u32, count) if count > 1 else u32), lambda y: _as(y, t)
    plain: DType = {8: u8, 16: u16}[elem.bits]
    return to_dtype(_as(x, with_elem(t, plain)), u32), lambda y: _as(to_dtype(y, plain), t)


def _as(x: Any, t: Type) -> Any:
    """The bits of `x` as a value of type `t`."""
    return x if x.value.type == t else emit(Bitcast(x.value, t))
