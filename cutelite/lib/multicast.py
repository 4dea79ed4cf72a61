"""Tiles of operands by TMA: one thread loads them, for its own block or, by multicast, for all that share them."""

from __future__ import annotations

from typing import Any

from cutelite.lang.algebra import select, size
from cutelite.lang.index import block_rank_in_cluster
from cutelite.lang.tma import tma_load
from cutelite.records import dataclass


@dataclass(frozen=True)
class OperandTile:
    """A (rows, k) tile of a matrix operand that `shares` blocks of a cluster need; each loads a part of it for all.

    Parts of K-major rows have any number of rows: a swizzle goes by addresses of shared memory, so that they need not
    begin where its pattern does.

        left = OperandTile.create(a, BM, cluster=(2, 1), mode=0)
        left.load(storage.a[None, None, stage], (batch,), m * BM, k * BK, barrier)

    tensor  the TMA tensor: (..., rows, k), or (..., k, rows) where `major` is 'MN'
    rows    the number of rows of the tile
    major   'K' or 'MN': the mode along which elements are contiguous
    shares  how many blocks need this tile; the barrier of each counts the bytes of all parts
    part    the index of the part that this block loads: a part of the rows; or of K, where `major` is 'MN' and the
            tensor's box is less deep than a stage
    mask    a bit for each block that needs the tile; None for this block alone
    cache   an L2 policy, as for `tma_load`
    """

    tensor: Any
    rows: int
    major: str
    shares: int
    part: Any
    mask: Any
    cache: Any

    @classmethod
    def create(
        cls, tensor: Any, rows: int, cluster: tuple[int, int], mode: int, major: str = "K", cache: Any = None
    ) -> OperandTile:
        """Return the tile of operand A (mode 0, rows along M) or B (mode 1, rows along N).

        cluster  blocks along M and along N, numbered along M first. Blocks next to each other along N need the same
                 tile of A, and those along M the same tile of B
        """
        shares = cluster[1 - mode]
        if shares == 1:
            return OperandTile(tensor, rows, major, 1, 0, None, cache)
        m, n = _place(cluster)
        if mode == 0:
            mask = sum(1 << cluster[0] * i for i in range(shares)) << m
            return OperandTile(tensor, rows, major, shares, n, mask, cache)
        mask = (1 << shares) - 1 << n * cluster[0]
        return OperandTile(tensor, rows, major, shares, m, mask, cache)

    def load(self, stage: Any, lead: tuple[Any, ...], row: Any, k: Any, barrier: Any, pair: bool = False) -> None:
        """Start loading the tile at (*lead, row, k) to `stage`, shared memory (rows, k). One thread.

        barrier  the mbarrier of the stage, which expects `stage.nbytes`
        pair     as for `tma_load`
        """
        rows, depth = self.rows // self.shares, size(stage, 1)
        how = {"barrier": barrier, "multicast": self.mask, "cache": self.cache, "pair": pair}
        start = row if self.shares == 1 else row + self.part * rows
        if self.major == "K":
            target = stage if self.shares == 1 else stage.tile((rows, depth), (self.part, 0))
            at = (*lead, start, k)
        elif self.tensor.tile_shape[-2] < depth:
            part = depth // self.shares
            target = select(stage, (1, 0)).tile((part, self.rows), (self.part, 0))
            at = (*lead, k + self.part * part, row)
        else:
            stage = select(stage, (1, 0))
            target = stage if self.shares == 1 else stage.tile((depth, rows), (0, self.part))
            at = (*lead, k, start)
        tma_load(self.tensor, target, at=at, **how)


def multicast_peers(cluster: tuple[int, int]) -> tuple[Any, ...]:
    """Return the ranks of the blocks that load parts of this block's tiles: the `peers` of a `PipelineTmaAsync`.

    cluster  blocks along M and along N, numbered along M first, as for `OperandTile`. The peers are the blocks at the
             same place along N, which share B, and those at the same place along M, which share A
    Result   this block among them; () for a cluster of one block
    """
    along_m, along_n = cluster
    if along_m * along_n == 1:
        return ()
    if along_m == 1 or along_n == 1:
        return tuple(range(along_m * along_n))
    m, n = _place(cluster)
    column = [i + n * along_m for i in range(along_m)]
    return (*column, *(m + (n + i) % along_n * along_m for i in range(1, along_n)))


def _place(cluster: tuple[int, int]) -> tuple[Any, Any]:
    """Return the place of this block in its cluster, along M and along N."""
    rank = block_rank_in_cluster()
    return rank % cluster[0], rank // cluster[0]
