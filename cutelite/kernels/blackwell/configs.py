"""GEMMs for Blackwell: what a kernel is made for, and how its work is cut up."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import cutelite as cl


@dataclass(frozen=True)
class Config:
    """A way to cut up the work.

    tile     rows and columns of a block's tile, or of a pair's: 128 or 256 rows
    pair     two blocks multiply together, 256 rows
    cluster  blocks along M and N that load together what they share; (1, 1) for pairs
    stages   how many tiles of A and B are held
    buffers  the most pieces of results that are held on their way to memory
    swizzle  tiles are walked in bands so many tiles wide
    dynamic  a block takes the tile of one that has not started, by launch control, and not one at a stride
    """

    tile: tuple[int, int] = (256, 256)
    pair: bool = True
    cluster: tuple[int, int] = (1, 1)
    stages: int = 6
    buffers: int = 2
    swizzle: int = 8
    dynamic: bool = False

    @property
    def blocks(self) -> int:
        """The number of blocks in a cluster."""
        return 2 if self.pair else self.cluster[0] * self.cluster[1]


class Scaled(NamedTuple):
    """Operands that have a scale for each `block` of numbers along K: the `kind` of tcgen05.mma."""

    kind: str
    block: int
    numbers: int = 1  # to a byte


@dataclass(frozen=True)
class Problem:
    """The kind of product that a kernel is made for.

    a, b, acc, d  dtypes of operands, sums and results
    finish        makes results of the sums
    majors        along which mode A and B are contiguous: 'K' or 'MN'
    batched       all arrays have a mode in front; `shared`: the operand that has none, 'A' or 'B'
    tensors       what `finish` is given: dtype, rank, and what rows are a multiple of elements apart; rank 0: a number
    scaled        how blocks of the operands are scaled, or None
    """

    a: Any
    b: Any
    acc: Any
    d: Any
    finish: cl.Finish
    majors: tuple[str, str] = ("K", "K")
    batched: bool = False
    shared: str = ""
    tensors: tuple[tuple[str, int, int], ...] = ()
    scaled: Scaled | None = None

    def has_batches(self, operand: str) -> bool:
        """Tell whether an operand has a mode of batches."""
        return self.batched and operand != self.shared
