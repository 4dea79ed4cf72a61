"""A kernel that copies rows to rows that begin elsewhere: TMA takes rows that are a multiple of 16 bytes apart.

Each thread makes 16 aligned bytes of the target. They lie in 32 aligned bytes of the source, which it loads as two
vectors and shifts. At the ends of rows it copies element by element.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, i64, u32
from cutelite.kernels.arrays import dtype_of
from cutelite_rt.dtype import DTYPES

FIRST, SECOND = (cl.dims(" ".join(f"{name}{i}" for name in ("L", "R", "C", "SL", "SR", "DL", "DR"))) for i in (1, 2))
THREADS, UNIT = 256, 16  # of a block; bytes that a thread makes


@cache
def build(dtype: Any) -> Any:
    """Make the kernel that copies one array of a dtype, or two."""
    each = UNIT // dtype.bytes
    (SOURCE, TARGET), (OTHER, BESIDE) = (
        [Tensor[dtype, (L, R, C), (*steps, 1), cl.align(UNIT)] for steps in ((SL, SR), (DL, DR))]
        for L, R, C, SL, SR, DL, DR in (FIRST, SECOND)
    )

    @cl.kernel(block=THREADS)
    def copy_rows(source: SOURCE, target: TARGET, other: OTHER | None, beside: BESIDE | None) -> None:
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        place, count = i64(cl.block_idx.x) * THREADS + cl.thread_idx.x, units_of(FIRST, each)
        if other is None or place < count:
            move(source, target, place, FIRST)
        elif place - count < units_of(SECOND, each):
            move(other, beside, place - count, SECOND)

    return copy_rows


def units_of(sizes: Any, each: int) -> Any:
    """Return how many units the rows of an array may touch: the first and the last of a row are partly outside it."""
    L, R, C, *_ = sizes
    return i64(L) * R * (C // each + 2)


def move(source: Any, target: Any, place: Any, sizes: Any) -> None:
    """Copy unit number `place` of the target."""
    L, R, C, SL, SR, DL, DR = sizes
    each = UNIT // source.dtype.bytes
    across = C // each + 2
    row, number = place // across, place % across
    if row < i64(L) * R:
        batch, row = row // R, row % R
        begin = batch * DL + row * DR  # of the row, in elements
        unit = begin // each + number
        column = unit * each - begin  # of the unit's first element: less than 0 where another row has that
        at = batch * SL + row * SR + column
        within = at // each * each + 2 * each <= extent(sizes, SL, SR)  # both vectors of the source
        if column >= 0 and column + each <= C and within:
            bytes = source.dtype.bytes
            found = shifted(loaded(units(source, sizes, SL, SR), at, each), cl.i32(at % each) * bytes, bytes)
            cl.local_tile(units(target, sizes, DL, DR), (1, UNIT // 4), (unit, 0)).store(found)
        else:
            for i in cl.static_range(each):
                if column + i >= 0 and column + i < C:
                    target[batch, row, column + i] = source[batch, row, column + i]


def extent(sizes: Any, of_batch: Any, of_row: Any) -> Any:
    """Return the number of elements from an array's first to its last, gaps included."""
    L, R, C, *_ = sizes
    return (L - 1) * of_batch + (R - 1) * of_row + C


def units(tensor: Any, sizes: Any, of_batch: Any, of_row: Any) -> Any:
    """Return the memory of an array as units of four words."""
    first = tensor.at(*(0 for _ in tensor.shape))  # of this address alone the alignment is known
    count = cl.ceil_div(extent(sizes, of_batch, of_row), UNIT // tensor.dtype.bytes)
    return cl.make_tensor(first, (count, UNIT // 4), u32)


def loaded(words: Any, at: Any, each: int) -> tuple[Any, Any]:
    """Load the two units, of `each` elements, in which the 16 bytes from element `at` on lie."""
    low = cl.local_tile(words, (1, UNIT // 4), (at // each, 0)).load()
    return low, cl.local_tile(words, (1, UNIT // 4), ((at + each - 1) // each, 0)).load()


def shifted(pair: tuple[Any, Any], off: Any, bytes: int) -> Any:
    """Return the 16 bytes of two units from byte `off` on, a multiple of an element's `bytes`, as four words."""
    low, high = pair
    parts = [low[i] for i in range(4)] + [high[i] for i in range(4)]
    for step in (2, 1):  # whole words
        moved = off // 4 & step
        parts = [cl.where(moved > 0, parts[i + step], parts[i]) for i in range(len(parts) - step)]
    if bytes < 4:
        parts = [cl.funnel_right(parts[i], parts[i + 1], off % 4 * 8) for i in range(4)]
    made = cl.make_rmem_tensor(u32, (1, 4))
    for i in cl.static_range(4):
        made[0, i] = parts[i]
    return made.load()


def fits(source: Any, target: Any) -> bool:
    """Tell whether `copy_rows` takes the arrays: contiguous along their last mode, from an aligned address on."""
    views = rt.read(source), rt.read(target)
    return all(x.pointer % UNIT == 0 and x.strides[-1] == 1 and min(x.strides) > 0 for x in views)


def copy_rows(*pairs: tuple[Any, Any]) -> None:
    """Copy arrays, each (R, C) or (L, R, C), to others: (source, target), one pair or two of a dtype, in one launch.

    Errors  ValueError for arrays that do not fit
    """
    threads, given, dtype = 0, [], rt.read(pairs[0][0]).dtype
    for pair in pairs:
        given += [x if x.ndim == 3 else x[None] for x in pair]
        batches, rows, columns = given[-1].shape
        threads += batches * rows * (columns // (UNIT // DTYPES[dtype].bytes) + 2)
    launch = cl.Launch(-(-threads // THREADS), THREADS, pdl=True)
    build(dtype_of(dtype))[launch](*given, *(None,) * (4 - len(given)))
