"""GEMMs for Blackwell: the problem of a kernel, its configuration, and the numbers derived from both."""

from math import gcd
from typing import Any

import cutelite as cl
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple


@dataclass(frozen=True)
class Config:
    """A configuration: tiles, clusters and stages.

    tile     rows and columns of a block's tile, or of a pair's: 128 or 256 rows
    pair     two blocks multiply together, 256 rows
    cluster  blocks along M and N that share loads by multicast; (1, 1) for pairs
    stages   how many tiles of A and B are held
    buffers  the most pieces of results that are held on their way to memory
    swizzle  tiles are walked in bands of this width, in tiles
    dynamic  blocks take tiles by cluster launch control, each the tile of a block not yet started; else at a stride
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
    tensors       the arguments of `finish`: dtype, rank, and a divisor of the row pitch in elements; rank 0: a number
    scaled        how blocks of the operands are scaled, or None
    grouped       rows of A and of results are in consecutive groups, each with a B of its own
    promoted      products of 128 along K have f32 scales, applied outside of the tensor core (fp8_block.py)
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
    grouped: bool = False
    promoted: bool = False

    def has_batches(self, operand: str) -> bool:
        """Tell whether an operand has a mode of batches."""
        return operand == "B" if self.grouped else self.batched and operand != self.shared


GROUP = 128  # threads of the warpgroup that finishes, and rows that it stores at once
ATOM = 128, 4, 512  # rows and blocks whose scales lie together, and their bytes
DEEP = 128  # bytes along K of a stage: a swizzled row of shared memory


@dataclass(frozen=True)
class Plan:
    """The numbers that follow from a configuration for a problem."""

    config: Config
    problem: Problem

    @property
    def groups(self) -> int:
        """Warpgroups that finish, each some columns of a tile."""
        return 2 if self.problem.promoted else 1

    @property
    def producer(self) -> int:
        """The number of the warp that loads; the one behind it multiplies."""
        return 4 * self.groups

    @property
    def threads(self) -> int:
        """Threads of a block: those that finish, and two warps."""
        return GROUP * self.groups + 64

    @property
    def each(self) -> int:
        """Columns of a tile that a warpgroup finishes."""
        return self.config.tile[1] // self.groups

    @property
    def loaded(self) -> tuple[int, int]:
        """Rows of A and of B that this block holds."""
        rows, columns = self.config.tile
        return (rows // 2, columns // 2) if self.config.pair else (rows, columns)

    @property
    def scale_rows(self) -> tuple[int, int]:
        """Rows of A and of B whose scales this block has: in a pair, all rows of B."""
        return self.loaded[0], self.config.tile[1]

    @property
    def depth(self) -> int:
        """Elements along K of a stage; numbers of 4 bits are two to an element."""
        return int(DEEP // self.problem.a.bytes)

    @property
    def piece(self) -> int:
        """Columns of results that are stored at once."""
        return min(self.problem.finish.columns, self.each)

    @property
    def stored(self) -> int:
        """Columns of results that a piece makes."""
        return self.piece // 2 if self.problem.finish.paired else self.piece

    @property
    def buffers(self) -> int:
        """Pieces that are held: those of a tile fill the ring a whole number of times."""
        return gcd(self.config.buffers, self.each // self.piece)

    @property
    def blocks(self) -> int:
        """Scales of a row in a stage."""
        scaled = self.problem.scaled
        return 0 if scaled is None else self.depth * scaled.numbers // scaled.block

    @property
    def bytes(self) -> int:
        """Bytes that fill a stage of one block."""
        return sum(self.loaded) * DEEP + sum(self.scale_rows) * self.blocks

    @property
    def held(self) -> int:
        """Bytes of shared memory of a block, barriers apart."""
        results = self.groups * self.buffers * GROUP * self.stored * self.problem.d.bytes
        return int(self.config.stages * (self.bytes + 4 * GROUP * self.problem.promoted) + results)

    @property
    def columns(self) -> int:
        """Columns of tensor memory: two accumulators, and the scales of a stage."""
        scales = sum(self.scale_rows) // 32 * self.blocks // 4
        return max(32, 1 << (2 * self.config.tile[1] + scales - 1).bit_length())

    @property
    def walkers(self) -> int:
        """Threads of a cluster that go through the tiles: of a pair, one multiplies."""
        return self.config.blocks * (1 + GROUP * self.groups) + (1 if self.config.pair else self.config.blocks)
