"""Radix sort of numbers, with what belongs to them: eight bits at a time, from the lowest, each pass stable.

    y, order = sort(x)                        # and the places where they were
    y, v = sort(x, values, descending=True)   # by key

A pass counts the digits of each tile, sums the counts up (`scan.py`), and moves each key to its place: the first one of
its digit and tile, and as many more as keys of its digit are before it in the tile. These are counted by warps, whose
lanes find their equals by `match_any`.
"""

# mypy: disable-error-code="valid-type, attr-defined, index, type-arg, operator, arg-type, misc, name-defined"
# (kernels here are made for dtypes, which no annotation can say to a checker)

from functools import cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Tensor, bf16, f16, f32, i32, i64, u32, u64
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.rows.arrays import flat
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import ordered

N, T, C = cl.dims("N T C")  # numbers, tiles, counts
KEYS = {"bf16": bf16, "f16": f16, "f32": f32, "i32": i32, "i64": i64}
VALUES = KEYS | {"u32": u32, "u64": u64}
DIGITS, WARPS, EACH = 256, 8, 16  # of eight bits; warps of a block, which has a thread for each digit; keys of a thread
TILE = DIGITS * EACH


def order(key: Any, flip: bool) -> Any:
    """A number as an unsigned one of 32 or 64 bits of the same order, or with `flip` of the opposite."""
    if key.dtype in (i32, i64):
        found = cl.bitcast(key, u64) ^ (u64(1) << 63) if key.dtype == i64 else cl.bitcast(key, u32) ^ (u32(1) << 31)
    else:
        found = ordered(key.to(f32))
    return ~found if flip else found


def digit(key: Any, shift: int, flip: bool) -> Any:
    """Eight bits of a key, as an i32."""
    return ((order(key, flip) >> shift) & (DIGITS - 1)).to(i32)


def first_of(warp: Any) -> Any:
    """The number of the first key of a warp of this tile, whose keys follow each other."""
    return cl.block_idx.x * TILE + warp * (32 * EACH)


@cache
def counting(key: Any, shift: int, flip: bool) -> Any:
    """The kernel that counts the digits of each tile: counts of a digit lie side by side."""

    @cl.kernel(block=DIGITS)
    def count(x: Tensor[key, (N,)], counts: Tensor[i32, (DIGITS, T)]) -> None:
        t, found = cl.thread_idx.x, cl.shared(i32, (DIGITS,))
        found[t] = 0
        cl.syncthreads()
        for i in cl.static_range(EACH):
            at = cl.block_idx.x * TILE + i * DIGITS + t
            if at < N:
                cl.atomic_add(found, digit(x[at], shift, flip), 1, scope="cta")
        cl.syncthreads()
        counts[t, cl.block_idx.x] = found[t]

    return count


@cache
def moving(key: Any, value: Any, shift: int, flip: bool, number: bool) -> Any:
    """The kernel that moves keys to their places, with values, or with their numbers."""

    @cl.kernel(block=DIGITS)
    def move(
        x: Tensor[key, (N,)], values: Tensor[value, (N,)] | None, upto: Tensor[i32, (DIGITS, T)],
        y: Tensor[key, (N,)], moved: Tensor[value, (N,)] | None,
    ) -> None:  # fmt: skip
        t, lane, warp = cl.thread_idx.x, cl.thread_idx.x % 32, cl.thread_idx.x // 32
        counts, base = cl.shared(i32, (WARPS, DIGITS)), cl.shared(i32, (DIGITS,))
        for i in cl.static_range(WARPS):
            counts[i, t] = 0
        cl.syncthreads()
        keys, ranks = cl.make_rmem_tensor(key, (EACH,)), cl.make_rmem_tensor(i32, (EACH,))
        for i in cl.static_range(EACH):
            at = first_of(warp) + i * 32 + lane
            keys[i] = x[min(at, N - 1)]
            d = digit(keys[i], shift, flip)
            equals = cl.match_any(cl.where(at < N, d, i32(DIGITS)))
            lower = cl.popc(equals & ((u32(1) << lane) - 1)).to(i32)
            ranks[i] = lower + counts[warp, d]
            cl.syncwarp()
            if lower == 0 and at < N:
                counts[warp, d] += cl.popc(equals).to(i32)
            cl.syncwarp()
        cl.syncthreads()
        total = i32(0)
        for i in cl.static_range(WARPS):
            here = counts[i, t]
            counts[i, t] = total
            total += here
        base[t] = upto[t, cl.block_idx.x] - total
        cl.syncthreads()
        for i in cl.static_range(EACH):
            at = first_of(warp) + i * 32 + lane
            if at < N:
                d = digit(keys[i], shift, flip)
                place = base[d] + counts[warp, d] + ranks[i]
                y[place] = keys[i]
                if moved is not None:
                    moved[place] = value(at) if number else values[at]

    return move


class Sorted(NamedTuple):
    """Keys in order, and what belongs to them: values, or the places where keys were, int64."""

    keys: Any
    values: Any


def sort(x: Any, values: Any = None, *, descending: bool = False) -> Sorted:
    """Sort numbers; equal ones stay in their order.

    x       (n,), bf16, f16, f32, i32 or i64; n < 2**31. NaN is the greatest, -0 and 0 are equal
    values  (n,), 32 or 64 bits each, or bf16 and f16: moved with the keys; by default the keys' places
    Errors  `cl.ArgumentError` for other arrays
    """
    n, key = int(x.shape[0]) if len(x.shape) == 1 else -1, KEYS.get(code_of(x))
    kind = i64 if values is None else VALUES.get(code_of(values))
    if n < 0 or key is None or kind is None or (values is not None and tuple(values.shape) != (n,)):
        raise cl.ArgumentError(f"keys are {x.dtype} {tuple(x.shape)}, which cannot be sorted with their values")
    keys, moved = flat(x, n), None if values is None else flat(values, n)
    rooms = [(empty(x, (n,)), empty(x, (n,), kind.name)) for _ in range(2)]
    tiles = -(-n // TILE)
    counts = empty(x, (DIGITS, tiles), "i32")
    shifts = range(16 if key == bf16 else 0, 64 if key == i64 else 32, 8)
    for turn, shift in enumerate(shifts):
        y, after = rooms[turn % 2]
        if n:
            counting(key, shift, descending)[tiles, DIGITS](keys, counts)
            upto = cumsum(counts.reshape((DIGITS * tiles,))).reshape((DIGITS, tiles))
            move = moving(key, kind, shift, descending, moved is None)
            move[tiles, DIGITS](keys, moved, upto, y, after)
        keys, moved = y, after
    return Sorted(keys, moved)
