"""Histograms: counts of integers, or of floats in bins of equal width between two bounds.

Each block counts in shared memory, and adds its counts to the result at its end; more bins are counted where they are.
"""

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32, i64, u8
from cutelite.kernels.arguments import as_number, is_array, results, underived
from cutelite.kernels.arrays import clusters_at_once, code_of, zeros
from cutelite.kernels.planning import planned
from cutelite.kernels.rows.arrays import DTYPES, derived, flat
from cutelite.kernels.rows.plan import ACCESS, width
from cutelite.lang.promotion import LARGEST

N = cl.dims("N")  # numbers
THREADS, ACCESSES, BLOCKS = 256, 4, 4  # of a block; accesses of 16 bytes of a thread; blocks of a multiprocessor
IN_SHARED, MOST_BINS = 8192, 1 << 24  # bins in shared memory; whose numbers f32 holds
KINDS = DTYPES | {"u8": u8, "i32": i32, "i64": i64}


@cache
def build(dtype: Any, bins: int) -> Any:
    """Make the kernel that adds to `counts`."""
    vector = ACCESS // dtype.bytes
    size, own = THREADS * ACCESSES * vector, bins <= IN_SHARED
    scope: Any = "cta" if own else "gpu"

    @cl.kernel(block=THREADS)
    def histogram(x: Tensor[dtype, (N,)], counts: Tensor[i32, (bins,)], low: f32, high: f32, scale: f32) -> None:
        found = cl.shared(i32, (bins,)) if own else counts
        for i in range(cl.thread_idx.x, bins if own else 0, THREADS):
            found[i] = 0
        cl.syncthreads()
        for at in range(cl.block_idx.x, cl.ceil_div(N, size), cl.grid_dim.x):
            tile = cl.RowTile(at * size, N, vector, ACCESSES)
            v = tile.load(x)
            for i in cl.static_range(ACCESSES):
                placed = [bin_of(v[j, i], bins, low, high, scale) for j in cl.static_range(vector)]
                count_together(found, placed, N - tile.first(i), scope)
        cl.syncthreads()
        for i in range(cl.thread_idx.x, bins if own else 0, THREADS):
            if found[i] != 0:
                cl.atomic_add(counts, i, found[i])

    return histogram


def count_together(counts: Any, placed: list[tuple[Any, Any]], left: Any, scope: Any) -> None:
    """Count a thread's neighbours, at once where they have one place: many additions to one wait for each other.

    placed  of each its place in `counts`, and whether it is counted
    left    how many of them there are
    """
    first, alike = placed[0][0], left >= len(placed)
    for place, inside in placed:
        alike &= inside & (place == first)
    if alike:
        cl.atomic_add(counts, first, len(placed), scope=scope)
    else:
        for j, (place, inside) in enumerate(placed):
            if inside & (j < left):
                cl.atomic_add(counts, place, 1, scope=scope)


@cl.kernel(block=THREADS)
def cleared(counts: Tensor[i32, (N,)]) -> None:
    i = cl.block_idx.x * THREADS + cl.thread_idx.x
    if i < N:
        counts[i] = 0


def bin_of(x: Any, bins: int, low: Any, high: Any, scale: Any) -> tuple[Any, Any]:
    """Return the bin of a number, and whether it has one. NaN has none."""
    if x.dtype not in DTYPES.values():
        number = x.to(i64 if x.dtype == i64 else i32)
        return number.to(i32), (number >= 0) & (number < bins)
    x = x.to(f32)
    return min(cl.math.floor((x - low) * scale).to(i32), bins - 1), (x >= low) & (x <= high)


@planned
@underived()
def histogram(x: Any, bins: int, low: float = 0.0, high: float = 1.0, *, out: Any = None) -> Any:
    """Count numbers.

    x          of any shape. u8, i32 and i64: 0 to bins - 1 are counted. bf16, f16 and f32: in equal steps from low to
               high, both included; what is outside, and NaN, is not counted
    bins       1 to 2**24; above 8192 they are in global memory, which is slower
    out        where to write, (bins,), without gaps; by default a new array
    Gives      (bins,), i32
    Errors     `cl.ArgumentError` for other arrays and bins
    """
    if (made := derived(x, out=out)) is not None:
        return made.histogram(x, bins, as_number("low", low), as_number("high", high))
    is_array("x", x)
    dtype = KINDS.get(code_of(x))
    low, high, bins = as_number("low", low), as_number("high", high), as_number("bins", bins, whole=True)
    if dtype is None or not 1 <= bins <= MOST_BINS or not low < high:
        raise cl.ArgumentError(
            f"x is {x.dtype}, bins {bins}, low {low} and high {high}, but must be {', '.join(KINDS)}, "
            f"from 1 to {MOST_BINS}, and low below high"
        )
    most = LARGEST["f32"]
    if not high - low <= most or bins / (high - low) > most:
        raise cl.ArgumentError(f"from low {low} to high {high} there are no {bins} steps of a size that f32 holds")
    n = 1
    for extent in x.shape:
        n *= int(extent)
    if out is None:
        counts = zeros(x, (bins,), "i32")
    else:
        (counts,) = results(out, {"counts": ((bins,), "i32")}, x=x)
        cleared[-(-bins // THREADS), THREADS](counts)  # not by torch: of what it computes there are no plans
    if n:
        numbers = flat(x, n)
        tiles = -(-n // (THREADS * ACCESSES * width(dtype.bytes, 0)))
        build(dtype, bins)[min(tiles, BLOCKS * clusters_at_once(1, numbers)), THREADS](
            numbers, counts, low, high, bins / (high - low)
        )
    return counts
