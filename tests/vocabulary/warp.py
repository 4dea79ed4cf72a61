"""Operations of a warp together. References take arrays of (warps, 32)."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cutelite.ir.types import Vec, boolean, f16, f32, f64, i32, i64, u32, u64
from cutelite.ops import warp
from tests.vocabulary.numbers import TYPES, Array
from tests.vocabulary.row import Operation, Row, of

LANES = np.arange(32)
REDUCTIONS: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
FLAGS = ((False, False), (True, False), (False, True), (True, True))


def spread(x: Array, width: int = 32) -> Array:
    """Give each lane the result of its segment of `width` lanes."""
    return np.repeat(x.reshape(-1), width).reshape(-1, 32)


def ballots(x: Array) -> Array:
    """Bools (warps, lanes, lanes) as a u32 for each lane."""
    return (x.astype(np.uint64) << LANES.astype(np.uint64)).sum(-1).astype(np.uint32)


def in_bits(x: Array) -> Array:
    """Numbers as matches compare them."""
    return x.view(f"u{x.itemsize}") if x.dtype.kind == "f" else x


def all_equal(x: Array) -> Array:
    return spread((in_bits(x) == in_bits(x)[:, :1]).all(1))


def shuffles() -> Iterator[Operation]:
    for t in TYPES:
        for how, source in (
            ("shuffle({0}, 5)", np.full(32, 5)),
            ("shuffle({0}, 3, width=8)", LANES // 8 * 8 + 3),
            ("shuffle_up({0}, 3)", np.where(LANES < 3, LANES, LANES - 3)),
            ("shuffle_down({0}, 9)", np.where(LANES > 22, LANES, LANES + 9)),
            ("shuffle_down({0}, 2, width=4)", np.where(LANES % 4 > 1, LANES, LANES + 2)),
            ("shuffle_xor({0}, 21)", LANES ^ 21),
        ):
            yield Operation(f"cl.{how}", (t,), t, lambda x, s=source: x[:, s])
        if t != "bool":
            chosen = lambda x, n: np.take_along_axis(x, (n & 31).astype(int), 1)  # noqa: E731
            yield Operation("cl.shuffle({0}, {1} & 31)", (t, "i32"), t, chosen)


VOTES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "all": ("vote_all", lambda x: spread(x.all(1))),
    "any": ("vote_any", lambda x: spread(x.any(1))),
    "uni": ("vote_uniform", all_equal),
}


def reduced(op: Any, x: Array, _: Array | None = None) -> Array:
    return spread(REDUCTIONS[op.operation].reduce(x, axis=1, dtype=x.dtype))


ROWS = [
    Row(
        warp.Shuffle,
        "cl.shuffle, cl.shuffle_up, cl.shuffle_down, cl.shuffle_xor",
        [of(t, i32, u32, mode, width) for mode in warp.MODES for width in (4, 32) for t in (f32, u32, Vec(i32, 3))],
        more=list(shuffles()),
        shown="i32 i32 u32; vec<f32,3> i32 u32; i32 i32 u32 width=16; i32 i32 u32 mode='up'; "
        "i32 i32 u32 mode='up' width=16; i32 i32 u32 mode='down'; i32 i32 u32 mode='down' width=16; "
        "i32 i32 u32 mode='bfly'",
        refuses=[
            (of(f64, i32, u32), "shfl.sync takes 32-bit numbers, not f64"),
            (of(f32, i64, u32), "`lane` of shfl.sync is i64"),
            (of(f32, i32, i32), "`members` of shfl.sync is i32, but must be u32"),
            (of(f32, i32, u32, "left"), "`mode` of .* is 'left', but must"),
            (of(f32, i32, u32, "up", 12), "`width` of .* is 12, but must"),
        ],
    ),
    Row(
        warp.Vote,
        lambda op: f"cl.{VOTES[op.mode][0]}({{0}})",
        [of(boolean, u32, mode) for mode in VOTES],
        lambda op, x: VOTES[op.mode][1](x),
        shown="bool u32 mode='all'; bool u32 mode='any'; bool u32 mode='uni'",
        refuses=[(of(boolean, u32, "most"), "`mode` of .* is 'most', but must")],
    ),
    Row(
        warp.Ballot,
        "cl.ballot({0})",
        [of(boolean, u32)],
        lambda op, x: ballots(np.repeat(x[:, None, :], 32, 1)),
        refuses=[(of(i32, u32), "`a` of vote.sync.ballot is i32, but must be bool")],
    ),
    Row(
        warp.MatchAny,
        "cl.match_any({0})",
        [of(t, u32) for t in (i32, u32, f32, i64, u64, f64)],
        lambda op, x: ballots(in_bits(x)[:, :, None] == in_bits(x)[:, None, :]),
        shown="i32 u32; i64 u32",
        refuses=[(of(f16, u32), "a number of 32 or 64 bits, not f16")],
    ),
    Row(
        warp.MatchAll,
        "cl.match_all({0})[0]",
        [of(t, u32) for t in (i32, u32, f32, i64, u64, f64)],
        lambda op, x: np.where(all_equal(x), np.uint32(0xFFFFFFFF), np.uint32(0)),
        more=[Operation("cl.match_all({0})[1]", (t,), "bool", all_equal) for t in ("i32", "u64")],
        shown="i32 u32; i64 u32",
    ),
    Row(
        warp.Redux,
        lambda op: f"cl.redux({{0}}, {op.operation!r})" if op.a.type != f32 else "",
        [
            *(of(t, u32, operation) for operation in warp.Redux.integer for t in (i32, u32)),
            *(of(f32, u32, "max", *flags) for flags in FLAGS),
        ],
        reduced,
        shown="i32 u32 operation='add'; u32 u32 operation='add'; "
        + "; ".join(f"i32 u32 operation='{how}'" for how in list(REDUCTIONS)[1:]),
        refuses=[
            (of(f32, u32, "add"), "redux.sync of f32 does min, max, not 'add'"),
            (of(i32, u32, "min", True), "`abs` and `nan` are for f32"),
            (of(i64, u32, "add"), "`a` of redux.sync is i64"),
        ],
    ),
    Row(warp.ActiveMask, "cl.active_mask", [of()], tested="tests/ops/test_ops_together.py"),
    Row(warp.WarpSync, "cl.syncwarp", [of(u32)], tested="tests/ops/test_ops_together.py"),
]
