"""The facts that the threads of a forward kernel share, the place of a warpgroup, and the writing of its results.

In    shared memory, pipelines, parameters; an accumulator and its softmax
Out   rows of the output and their logsumexps, in global memory
"""

from typing import Any

import cutelite as cl
from cutelite.kernels.attention.scores import ROWS
from cutelite.kernels.attention.tiles import Given
from cutelite.tuples import NamedTuple


class Here(NamedTuple):
    """Shared memory, pipelines and scalar parameters, the same for all threads of a block, and a warpgroup's place.

    listed   of a `BlockMask`, or None
    terms    of a `score_mod` that goes by the distance of key and query (`relative`), or None
    group    the number of the warpgroup, of those that compute; `tile`: the one that it computes
    turn     the place of its queries of the tile in their pipeline
    """

    storage: Any
    queries: Any
    keys: Any
    values: Any
    given: Given
    listed: Any
    terms: Any = None
    group: Any = None
    tile: Any = None
    turn: Any = None


class States(NamedTuple):
    """The places of a warpgroup in the pipelines of keys and terms, and in the order of warpgroups.

    keys     that of values is one block behind
    """

    keys: Any
    order: Any
    terms: Any


class Result(NamedTuple):
    """The arrays that are written, or read to do so.

    o, rows    the output for TMA, and for ragged sequences row by row
    lse        logsumexps
    sinks      or None
    of_values  scales of values in fp8
    """

    o: Any
    rows: Any
    lse: Any
    sinks: Any
    of_values: Any = None

    def write(self, plan: Any, out: Any, softmax: Any, ring: Any, here: Here) -> None:
        """Write the output and the logsumexps of a warpgroup's rows of a tile. `ring`: buffers for the output."""
        tile, spots = here.tile, cl.wgmma.coordinates(8)
        row, (_, batch, first, length, _, _) = tile.row + here.group * ROWS, plan.tiles.sequence(tile)
        inverse, sums = softmax.finish(None if self.sinks is None else self.sinks[tile.head])
        out = cl.scale_rows(out, plan.restored(inverse, tile, self))
        for i in cl.static_range(2):
            place = row + spots[2 * i][0]
            if spots[0][1] == 0 and place < length:
                self.lse[batch, tile.head, first + place] = sums[i]
        if not plan.problem.ragged or row + ROWS <= length:
            ring.write(out, self.o, at=(batch, tile.head, first + row, 0))
        else:  # what follows is another sequence's
            for i in cl.static_range(2):
                place = row + spots[2 * i][0]
                if place < length:
                    cl.store_row(out.to(plan.problem.dtype), i, self.rows[0, tile.head, first + place, None])
