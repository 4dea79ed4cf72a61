"""Gradients of arrays that a `score_mod` captured, in the backward pass.

In    gradients of what the function gave, in registers
Out   sums in global memory, an addition for each element that a thread, or a warp, has read
"""

from typing import Any

import cutelite as cl
from cutelite.kernels.attention.scores import roughly
from cutelite.lang.dual import Dual
from cutelite.lang.emit import builder_here
from cutelite.lang.learned import slope, watched
from cutelite.tuples import NamedTuple

Reads = tuple[tuple[Any, Any], ...]
"""Accesses to arrays that need a gradient, and the derivative of the function by what each read."""


class Learned(NamedTuple):
    """A `score_mod` as it was before it got its arrays, these, and for each the sums of its gradient, or None."""

    score_mod: Any
    tables: Any
    sums: Any

    def slopes(self, score: Any, places: Any) -> Reads:
        """Return the accesses of the function, called for these scores."""
        found: Reads = ()
        function, reads = watched(self.score_mod, self.tables, 0, ends=True)
        roughly(function, Dual(score, 0.0), *places)
        for which in cl.static_range(len(reads)):
            begin = builder_here().block
            function, reads = watched(self.score_mod, self.tables, which, ends=True)
            y = roughly(function, Dual(score, 0.0), *places)
            found = (*found, (reads[which], slope(y, reads[which], begin)))
        return found

    def add(self, ds: Any, reads: Reads) -> None:
        """Add gradients of arrays up, of those of what the function gave. Who: a warp."""
        for read, rate in reads:
            for at, total in read.sums(cl.where(ds == 0.0, 0.0, ds * rate)):  # what is not seen has any rate
                if read.alike:
                    total = cl.warp_reduce(total)
                if not read.alike or cl.lane_idx() == 0:
                    cl.red(self.sums[read.index], at, "add", total)
