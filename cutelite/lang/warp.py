"""Operations of the threads of a warp together: shuffles, votes, matches, reductions.

Who       the lanes that `members` names, a bit for each; by default the whole warp. All of them call it, together
Source    PTX ISA: shfl.sync, vote.sync, match.sync, redux.sync, activemask, bar.warp.sync
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from cutelite.ir.types import elem_of, f32, i32, u32
from cutelite.lang.emit import builder_here, emit, mistake, wrap
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.promotion import as_integer, as_value
from cutelite.lang.values import Scalar, Vector, truth
from cutelite.lang.words import from_words, map_values, to_words
from cutelite.ops import warp as ops

N = TypeVar("N", Scalar, Vector)
Members = int | Scalar
ALL = 0xFFFFFFFF
Lane = int | Scalar


def shuffle(x: N, lane: Lane, *, width: int = 32, members: Members = ALL) -> N:
    """Return `x` of lane number `lane`: a scalar or vector of any type.

    lane    modulo `width`, counted from the start of this lane's segment
    width   the number of lanes in the segments that the warp is divided into, a power of two
    Errors  `shuffle` for a number that no lane has: a literal below 0 or above 31
    """
    return _shuffle(x, lane, "idx", width, members)


def shuffle_up(x: N, delta: Lane, *, width: int = 32, members: Members = ALL) -> N:
    """Return `x` of the lane `delta` lower; its own for the first `delta` lanes of each segment of `width`."""
    return _shuffle(x, delta, "up", width, members)


def shuffle_down(x: N, delta: Lane, *, width: int = 32, members: Members = ALL) -> N:
    """Return `x` of the lane `delta` higher; its own for the last `delta` lanes of each segment of `width`."""
    return _shuffle(x, delta, "down", width, members)


def shuffle_xor(x: N, mask: Lane, *, width: int = 32, members: Members = ALL) -> N:
    """Return `x` of the lane whose number is this one's XOR `mask`, as in a butterfly; else as `shuffle`."""
    return _shuffle(x, mask, "bfly", width, members)


def make_warp_uniform(x: N) -> N:
    """Return `x`, which is the same in all lanes, as a value that ptxas keeps in uniform registers.

    ptxas does not see that ``thread_idx.x // 128`` is the same for a warp. Branches, barriers' addresses and wgmma
    descriptors that depend on such a number are then computed by every lane, and moved to uniform registers one by one.
    """
    return shuffle(x, 0)


def warpgroup_idx() -> Scalar:
    """Return the warpgroup of this thread in its block, counting threads x fastest, as a uniform value."""
    return make_warp_uniform(linear_thread_idx() // 128)  # type: ignore[no-any-return]


def vote_all(condition: Any, *, members: Members = ALL) -> Scalar:
    """Return whether `condition` holds in all lanes."""
    return emit(ops.Vote(truth(condition).value, _members(members), "all"))  # type: ignore[no-any-return]


def vote_any(condition: Any, *, members: Members = ALL) -> Scalar:
    """Return whether `condition` holds in any lane."""
    return emit(ops.Vote(truth(condition).value, _members(members), "any"))  # type: ignore[no-any-return]


def vote_uniform(condition: Any, *, members: Members = ALL) -> Scalar:
    """Return whether `condition` is the same in all lanes."""
    return emit(ops.Vote(truth(condition).value, _members(members), "uni"))  # type: ignore[no-any-return]


def ballot(condition: Any, *, members: Members = ALL) -> Scalar:
    """Return a u32 with the `condition` of each lane as a bit."""
    return emit(ops.Ballot(truth(condition).value, _members(members)))  # type: ignore[no-any-return]


def match_any(x: Any, *, members: Members = ALL) -> Scalar:
    """Return the lanes that have the same `x`, a number of 32 or 64 bits, as a u32 with a bit for each."""
    return emit(ops.MatchAny(as_value(x), _members(members)))  # type: ignore[no-any-return]


def match_all(x: Any, *, members: Members = ALL) -> tuple[Scalar, Scalar]:
    """Return the members as a u32 if all have the same `x`, else 0; and whether they have. `x` has 32 or 64 bits."""
    return emit(ops.MatchAll(as_value(x), _members(members)))  # type: ignore[no-any-return]


def redux(
    x: Any,
    operation: Literal["add", "min", "max", "and", "or", "xor"],
    *,
    members: Members = ALL,
    abs: bool = False,
    nan: bool = False,
) -> Scalar:
    """Combine `x` of all lanes in one instruction: i32 and u32; f32 where the GPU has it (`warp_reduce` is general).

    abs, nan   f32 only: combine magnitudes; return NaN if any lane has NaN
    """
    return emit(ops.Redux(as_value(x), _members(members), operation, abs, nan))  # type: ignore[no-any-return]


def has_redux(x: Any, operation: str) -> bool:
    """Tell whether `redux` combines `x` over a warp by `operation` on the GPU that is compiled for."""
    if not isinstance(x, Scalar) or operation == "mul":
        return False
    target = builder_here("warp_reduce").target
    if x.dtype == f32:
        return operation in ("min", "max") and target is not None and target.has("redux.f32")
    return x.dtype in (i32, u32) and (target is None or target.has("redux"))


def exchange(
    x: Any, mode: Literal["idx", "up", "down", "xor"], lane: Lane, width: int = 32, members: Members = ALL
) -> Any:
    """Return the structure `x` of another lane: numbers and vectors, and tuples and frozen dataclasses of them.

    mode, lane   'idx': that lane; 'up', 'down': that much lower or higher; 'xor': this lane's number XOR `lane`
    Who          the `members` of the warp, cut into segments of `width` lanes
    """
    moved = {"idx": shuffle, "up": shuffle_up, "down": shuffle_down, "xor": shuffle_xor}[mode]
    return map_values(lambda value: moved(value, lane, width=width, members=members), x)


def active_mask() -> Scalar:
    """Return the lanes that execute this together, a u32. Do not pass it as `members` later: lanes may diverge."""
    return emit(ops.ActiveMask())  # type: ignore[no-any-return]


def syncwarp(members: Members = ALL) -> None:
    """Wait for the other lanes; what they wrote to memory before is then visible to all of them."""
    emit(ops.WarpSync(_members(members)))


def _members(members: Members) -> Any:
    if isinstance(members, int) and not 0 < members <= ALL:
        raise mistake("members", f"`members` has a bit for each of 32 lanes, at least one: not {members:#x}")
    return as_integer(members, u32)


def _shuffle(x: N, lane: Lane, mode: str, width: int, members: Members) -> N:
    if isinstance(lane, int) and not 0 <= lane < 32:
        none = f"lane {lane}" if mode == "idx" else f"{lane} away: they are at most 31 apart"
        raise mistake("shuffle", f"a warp has lanes 0 to 31, and none is {none}")
    value = wrap(as_value(x))
    words = value if elem_of(value.value.type).bits == 32 else to_words(value)
    return from_words(emit(ops.Shuffle(words.value, as_integer(lane, i32, u32), _members(members), mode, width)), value)  # type: ignore[no-any-return]
