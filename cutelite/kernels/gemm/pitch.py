"""A kernel that copies rows to rows that begin elsewhere: TMA takes rows that are a multiple of 16 bytes apart.

Each thread makes 16 aligned bytes of the target. They lie in 32 aligned bytes of the source, which it loads as two
vectors and shifts. At the ends of rows it copies element by element.
"""

# mypy: disable-error-code="valid-type, name-defined, index, attr-defined, misc"
# (kernels are made for types that annotations cannot express for a type checker)

from __future__ import annotations

from functools import cache
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, i64, u32
from cutelite_rt.dtype import DTYPES

L, R, C, SL, SR, DL, DR = cl.dims("L R C SL SR DL DR")
THREADS, UNIT = 256, 16  # of a block; bytes that a thread makes
BLOCKS_AT_MOST = (1 << 31) - 1


@cache
def build(dtype: Any) -> Any:
    """Make the kernel for arrays of a dtype."""
    each = UNIT // dtype.bytes

    @cl.kernel(block=THREADS)
    def copy_rows(
        source: Tensor[dtype, (L, R, C), (SL, SR, 1), cl.align(UNIT)],
        target: Tensor[dtype, (L, R, C), (DL, DR, 1), cl.align(UNIT)],
    ) -> None:
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        across = C // each + 2  # a row's first and last elements may be part of a unit
        place = i64(cl.block_idx.x) * THREADS + cl.thread_idx.x
        row, number = place // across, place % across
        if row < i64(L) * R:
            batch, row = row // R, row % R
            begin = batch * DL + row * DR  # of the row, in elements
            unit = begin // each + number
            column = unit * each - begin  # of the unit's first element: less than 0 where another row has that
            at = batch * SL + row * SR + column
            within = at // each * each + 2 * each <= extent(SL, SR)  # both vectors of the source
            if column >= 0 and column + each <= C and within:
                found = shifted(source, at)
                cl.local_tile(units(target, (DL, DR)), (1, UNIT // 4), (unit, 0)).store(found)
            else:
                for i in cl.static_range(each):
                    if column + i >= 0 and column + i < C:
                        target[batch, row, column + i] = source[batch, row, column + i]

    def extent(of_batch: Any, of_row: Any) -> Any:
        """The elements from an array's first to its last."""
        return (L - 1) * of_batch + (R - 1) * of_row + C

    def units(tensor: Any, steps: tuple[Any, Any]) -> Any:
        """The memory of an array as units of four words."""
        return cl.make_tensor(tensor.ptr, (cl.ceil_div(extent(*steps), each), UNIT // 4), u32)

    def shifted(source: Any, at: Any) -> Any:
        """The 16 bytes from an element on, which all are of one row."""
        words, unit, off = units(source, (SL, SR)), at // each, at % each
        low = cl.local_tile(words, (1, UNIT // 4), (unit, 0)).load()
        high = low
        if off > 0:
            high = cl.local_tile(words, (1, UNIT // 4), (unit + 1, 0)).load()
        parts = [low[i] for i in range(4)] + [high[i] for i in range(4)]
        off = cl.i32(off) * dtype.bytes
        for step in (2, 1):  # whole words
            if dtype.bytes * each // 2 >= 4 * step:
                moved = off // 4 & step
                parts = [cl.where(moved > 0, parts[i + step], parts[i]) for i in range(len(parts) - step)]
        if dtype.bytes < 4:
            parts = [cl.funnel_right(parts[i], parts[i + 1], off % 4 * 8) for i in range(4)]
        made = cl.make_rmem_tensor(u32, (1, 4))
        for i in cl.static_range(4):
            made[0, i] = parts[i]
        return made.load()

    return copy_rows


def fits(source: Any, target: Any) -> bool:
    """Tell whether `copy_rows` takes the arrays: contiguous along their last mode, from an aligned address on."""
    views = rt.read(source), rt.read(target)
    return all(x.pointer % UNIT == 0 and x.strides[-1] == 1 and min(x.strides) > 0 for x in views)


def copy_rows(source: Any, target: Any) -> None:
    """Copy an array (R, C) or (L, R, C) to another one. Errors: ValueError for arrays that do not fit."""
    source, target = (x if x.ndim == 3 else x[None] for x in (source, target))
    view = rt.read(source)
    (batches, rows, columns), each = view.shape, UNIT // DTYPES[view.dtype].bytes
    threads = batches * rows * (columns // each + 2)
    launch = cl.Launch(-(-threads // THREADS), THREADS, pdl=True)
    build(getattr(cl, view.dtype))[launch](source, target)
