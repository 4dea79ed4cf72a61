"""Quantisation to 8 bits: elements divided by a scale, one for each row or for each 128 elements of a row."""

from __future__ import annotations

from typing import Any

import cutelite as cl
from cutelite.kernels.arguments import as_number
from cutelite.kernels.arrays import empty
from cutelite.records import dataclass

LARGEST = {"e4m3": 448.0, "e5m2": 57344.0}
LONG = 32_768  # elements of a row above which rows are copied ahead, or threads go through them
LEAST = 1e-30  # magnitudes below this count as this, so that rows of zeros have a scale


@dataclass(frozen=True)
class Narrow:
    """A quantisation to 8 bits: an element is divided by its scale, the greatest magnitude over the largest number.

    dtype  e4m3 or e5m2
    block  128: a scale for each 128 elements of a row; 1: one for each row
    """

    dtype: Any = cl.e4m3
    block: int = 1

    def __post_init__(self) -> None:
        block = as_number("block", self.block, whole=True)
        if getattr(self.dtype, "name", None) not in LARGEST or block not in (1, 128):
            raise cl.ArgumentError(f"results are cl.e4m3 or cl.e5m2, in blocks of 128 or by row (1); not {self!r}")

    def count(self, n: Any) -> Any:
        """Return how many scales a row of `n` elements has."""
        return -(-n // self.block) if self.block > 1 else 1

    def scales(self, x: Any) -> Any:
        """Return a new array of scales for the rows of `x`: (..., 1), or (..., blocks), column-major.

        fp8 GEMMs load the latter by TMA.
        """
        *leading, n = x.shape
        count = self.count(n)
        if len(leading) != 1 or count == 1:
            return empty(x, (*leading, count), "f32")
        return empty(x, (count, *leading), "f32").T

    def quantised(self, some: Any, v: Any, scales: Any, top: Any, by: Any = None) -> Any:
        """Return elements `v` of this thread in 8 bits; with blocks, write their scales to `scales`.

        some  the `RowVectors` that `v` is of; with blocks they divide them, and each block is within a warp
        top   without blocks: the greatest magnitude of the row. `write_scale` writes the row's scale
        by    without blocks: a factor of the whole row that `v` and `top` are without
        Who   the whole team
        """
        if self.block == 1:
            return (v * (self.factor(top) if by is None else self.factor(top * by) * by)).to(self.dtype)
        size, part = abs(v), some.part
        lanes = max(1, self.block // part.vector)
        tops = cl.warp_reduce(size.reduce("max", 0), "max", width=lanes, members=part.team.members)
        if part.team.lane % lanes == 0:
            for i in cl.static_range(some.pieces):
                first = part.first(some.start + i)
                if some.whole or first < part.end():
                    scales[first // self.block] = self.scale(tops[i])
        factors = self.factor(tops).reshape((1, some.pieces))
        return (v * factors.broadcast_to(some.shape)).to(self.dtype)

    def write_scale(self, team: Any, scales: Any, top: Any, by: Any = None) -> None:
        """Write the scale of a row, without blocks; `top` and `by` are as for `quantised`. One thread of the team."""
        if team.lane == 0 and team.rank == 0:
            scales[0] = self.scale(top if by is None else top * by)

    def clear_scales(self, scales: Any) -> None:
        """Write the scales of rows of zeros, or of no elements, to an array."""
        scales[...] = LEAST / LARGEST[self.dtype.name]

    def scale(self, top: Any) -> Any:
        """Return the scale of elements whose greatest magnitude is `top`."""
        return max(top, LEAST) * (1 / LARGEST[self.dtype.name])

    def factor(self, top: Any) -> Any:
        """Return what such elements are multiplied by."""
        return LARGEST[self.dtype.name] / max(top, LEAST)
