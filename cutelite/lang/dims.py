"""Dims made in a kernel: run-time integers as extents and strides of layouts."""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import i32, i64
from cutelite.lang.emit import Runtime, builder_here, describe, mistake
from cutelite.layout import Dim, DimExpr
from cutelite.layout.errors import LayoutError
from cutelite.ops.index import DimBind


def dim(x: Any, divisible_by: int = 1, *, min: int = 1, max: int | None = None) -> Any:
    """Return a run-time integer as a dim, which layouts, shapes and tilers take as an extent or a stride.

        m, n = cl.dim(rows[group]), cl.dim(columns, 8)
        t = cl.make_tensor(p.ptr, cl.make_layout((m, n), (n, 1)), f32)

    A dim made in a loop is a different one in each iteration; layouts with it cannot be used after the loop.

    x             an i32 or i64, the same in all threads that use the layout together; a dim, or an int that keeps the
                  promises, is returned as is
    divisible_by  a known factor of the value, as for `cl.dims`
    min, max      known bounds of the value. The simulator checks all three; on a GPU they are promises
    Errors        `dim` if `x` is not an integer of these types, or an int that breaks a promise
    """
    known = isinstance(x, int | DimExpr) and not isinstance(x, bool)
    if not known and (not isinstance(x, Runtime) or x.value.type not in (i32, i64)):
        raise mistake(
            "dim", f"a dim is made of an i32 or an i64, not of {describe(x)}", help="convert it: `x.to(cl.i32)`"
        )
    builder = None if known else builder_here("a dim")
    try:
        made = Dim(f"_dim{len(builder.made_dims) if builder else ''}", divisible_by, min=min, max=max)
    except LayoutError as error:
        raise mistake("dim", str(error)) from None
    if isinstance(x, int) and (x % made.divisible_by or x < made.min or (made.max is not None and x > made.max)):
        raise mistake("dim", f"{x} is not what this dim promises: {made.promise()}")
    if builder is None:
        return x
    builder.made_dims[made.name] = x.value
    builder.emit(DimBind(x.value, made))
    return made
