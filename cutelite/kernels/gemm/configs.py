"""Dense GEMMs: the problems that kernels are made for, and their configurations."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from cutelite import Finish, Prepare
from cutelite.kernels.arguments import Misfit
from cutelite.records import dataclass, fact
from cutelite.tuples import NamedTuple


@dataclass(frozen=True)
class Config:
    """A configuration: how the work is divided.

    tile      rows and columns of a block's tile. Where two warpgroups work on one, they share out its rows; its columns
              where these are more than 256, or the rows no multiple of 128 (`across`)
    pingpong  each of the two multiplying warpgroups has a tile of its own; False: they share one
    cluster   blocks along M and N that load together what they share
    stages    how many tiles of A and B are held
    piece     columns of results that are stored at once, 64 rows of them; 0: 128 bytes. `buffers` such are held
    swizzle   tiles are visited in bands of this width, in tiles, along `raster`. None: along N where a band then has
              all of M, so that a round has as little of N as there is, which blocks of a cluster along N do not share
              either; else along M; and whole rows of results, whatever the width, where storing these is most of the
              work (`dense.order_of`)
    splits    how many blocks share the K of a tile; another kernel adds up their sums
    together  how many blocks of a cluster share the K of a tile, and add up their sums through shared memory. Then
              `cluster` is (1, 1), and a block has one tile
    regs      registers of a thread that loads, and of one that multiplies
    swapped   rows of a tile are columns of the result: A and B are exchanged, and the result is stored transposed
    stream    how many rounds of tiles, the last ones, blocks share evenly by steps along K (stream-K): 1, those of the
              part round; 2, those of the whole one before it too; 0: none. Parts are added up by one of the blocks
    """

    tile: tuple[int, int] = (128, 256)
    pingpong: bool = False
    cluster: tuple[int, int] = (2, 1)
    stages: int = 4
    piece: int = 0
    buffers: int = 2
    swizzle: int = 8
    raster: Literal["M", "N", "hilbert"] | None = None
    splits: int = 1
    together: int = 1
    regs: tuple[int, int] = (40, 232)
    swapped: bool = False
    stream: int = 0

    def __post_init__(self) -> None:
        high, across = self.tile
        if high not in (64, 128, 192, 256) or across % 8 or not 8 <= across <= 320 or self.stages < 2:
            raise Misfit(
                f"{self}: tiles have 64, 128, 192 or 256 rows, a multiple of 8 columns up to 320, and 2 stages or more"
            )
        blocks = self.cluster[0] * self.cluster[1]
        if min(self.splits, self.buffers, self.swizzle) < 1 or not 0 < blocks * self.together <= 16:
            raise Misfit(f"{self}: splits, buffers and swizzle are 1 or more, and clusters have 1 to 16 blocks")
        if self.stream not in (0, 1, 2) or (self.stream and self.splits * self.together > 1):
            raise Misfit(f"{self}: stream is 0, 1 or 2, and goes with neither splits= nor together=")
        if 1 < self.together * blocks != max(self.together, blocks):
            raise Misfit(f"{self}: blocks that share K share nothing else")

    @fact
    def blocks(self) -> int:
        """The number of blocks in a cluster."""
        return self.cluster[0] * self.cluster[1] * self.together

    @fact
    def of_a(self) -> int:
        """Rows of A in a tile: of the result."""
        return self.tile[1] if self.swapped else self.tile[0]

    @fact
    def of_b(self) -> int:
        """Rows of B^T in a tile: columns of the result."""
        return self.tile[0] if self.swapped else self.tile[1]

    @fact
    def across(self) -> bool:
        """Tell whether each of the two warpgroups has half of a tile's columns, and not of its rows."""
        return not self.pingpong and (self.tile[1] > 256 or self.tile[0] % 128 > 0)

    @fact
    def own(self) -> tuple[int, int]:
        """Rows and columns of a warpgroup's part of a tile."""
        high, wide = self.tile
        return high if self.pingpong or self.across else high // 2, wide // 2 if self.across else wide


class Launched(NamedTuple):
    """Facts of a launch that a kernel is made for, besides its configuration and problem (`dense.run`).

    once    B is read once, and is the first to leave L2
    late    the next kernel's blocks may come once this one's last loads have begun, and not at once (`model.is_late`)
    single  each block has one tile: its results lie where its operands were (`fits.single`)
    there   B is complete before the kernel before this one begins: its first steps come to stages at once
    """

    once: bool = False
    late: bool = False
    single: bool = False
    there: bool = False


ALONE = Launched()
"""A launch that nothing is known of."""


@dataclass(frozen=True)
class Problem:
    """The kind of product that a kernel is made for.

    a, b, acc, d, bias  dtypes of operands, sums, results (and C), and of the bias if there is one
    majors              along which mode A and B are contiguous: 'K' or 'MN'
    rows                the most that there are, and that blocks without a cluster bring of A; None: any number
    rowwise             scales are one for each row of A and column of B; False: one number each
    activation          elementwise, on vectors of f32
    gate                B has twice as many columns as the result: those of a gate, then those of `up`. Results are
                        ``gate(x) * up``, of vectors of f32
    turned              results are contiguous along M, and the bias is one number for each row
    finish              what becomes of the sums instead, with `tensors` besides: dtype, rank, and what rows are a
                        multiple of elements apart
    groups              'rows': A and the result have rows of one group behind those of another, each with a matrix B;
                        'padded': each batch has some rows of A; 'K': groups lie along K, and each has a result
    prepare             what makes elements of A, of B's dtype, of what is in memory, with tensors `beside` it
    narrow              as `rows`, of columns and B, for swapped tiles
    direct              threads store results, so many elements at once (1, 2 or 4), and load C, element by element: for
                        rows that TMA cannot take; 0: TMA does
    loaded              operands that threads load, 'A', 'B' or 'AB': rows that TMA cannot read, of 16 bits; else ''
    shared              the operand that is the same for all batches, 'A' or 'B'; else ''
    """

    a: Any
    b: Any
    acc: Any
    d: Any
    bias: Any = None
    majors: tuple[str, str] = ("K", "K")
    batched: bool = False
    rows: int | None = None
    rowwise: bool = False
    activation: Callable[[Any], Any] | None = None
    gate: Callable[[Any], Any] | None = None
    turned: bool = False
    finish: Finish | None = None
    tensors: tuple[tuple[str, int, int], ...] = ()
    groups: Literal["", "rows", "padded", "K"] = ""
    shared: str = ""
    direct: int = 0
    loaded: str = ""
    prepare: Prepare | None = None
    beside: tuple[tuple[str, int, int], ...] = ()
    narrow: int | None = None

    @fact
    def bytes(self) -> int:
        """Bytes of an element that is multiplied."""
        return int(self.a.bytes if self.prepare is None else self.b.bytes)

    def extents(self, a: Any, b: Any) -> tuple[int, int]:
        """Return K, and the columns of B, of operands as kernels take them: along which mode `majors` says."""
        left, right = self.majors
        return a.shape[-1 if left == "K" else -2], b.shape[-2 if right == "K" else -1]

    def columns(self, tile: int) -> int:
        """Return the columns of results in a tile with this many columns of B."""
        halved = self.halves or (self.finish is not None and self.finish.paired)
        return tile // 2 if halved else tile

    @fact
    def halves(self) -> bool:
        """Tell whether B's columns are two halves, of each of which a tile has as many columns."""
        return self.gate is not None or (self.finish is not None and self.finish.halves)

    @fact
    def swapped(self) -> "Problem":
        """Return the problem with A and B exchanged."""
        majors, other = (self.majors[1], self.majors[0]), {"A": "B", "B": "A"}
        shared, loaded = other.get(self.shared, ""), other.get(self.loaded, self.loaded)
        mine = replace(self, a=self.b, b=self.a, majors=majors, rows=self.narrow, turned=not self.turned)
        return replace(mine, narrow=None, shared=shared, loaded=loaded)


CONFIGS = [
    Config(),
    Config(buffers=1),
    Config(cluster=(1, 2)),
    Config(cluster=(1, 2), swizzle=16),
    Config((256, 128), cluster=(1, 2)),
    Config((256, 128), cluster=(2, 1)),
    Config((128, 320), cluster=(2, 1), stages=3, piece=160, buffers=1, regs=(24, 240)),
    Config((128, 208), pingpong=True, piece=208, buffers=1, regs=(24, 240), swizzle=16),
    Config((128, 192), pingpong=True),
    Config((128, 192), pingpong=True, cluster=(1, 2)),
    Config((128, 128), pingpong=True, cluster=(1, 2), stages=5),
    Config((128, 128), pingpong=True, cluster=(2, 1), stages=5),
    Config((128, 96), cluster=(1, 1), stages=6, piece=32, buffers=1),
    Config((128, 96), cluster=(2, 1), stages=6, piece=32, buffers=1),
    Config((128, 64), cluster=(1, 1), stages=8, buffers=1),
    Config((128, 64), cluster=(2, 1), stages=8, buffers=1),
    Config((128, 64), cluster=(1, 4), stages=8, buffers=1),
    *(Config((64, 64), True, cluster, 10, buffers=1) for cluster in ((1, 1), (1, 2), (2, 1), (1, 4))),
    *(Config((64, 128), True, cluster, 7) for cluster in ((1, 1), (2, 1))),
    *(Config((64, 192), True, cluster, 6, buffers=1) for cluster in ((1, 1), (2, 1))),
    Config((64, 256), True, (2, 1), 5, buffers=1),
    # Blocks that share the K of a tile, and a second kernel.
    *(Config((64, 64), True, (1, 1), 10, buffers=1, splits=splits) for splits in (3, 4, 8)),
    *(Config((64, 128), True, (1, 1), 7, buffers=1, splits=splits) for splits in (4, 8)),
    *(Config((128, 128), False, (1, 1), 5, buffers=1, splits=splits) for splits in (4, 6)),
]


ROOM = 228_000
"""Bytes of shared memory for stages and pieces of results; what a block has besides is for scales and biases."""


def deepest(high: int, wide: int, piece: int, buffers: int = 1) -> int:
    """Return the stages of a tile that fit beside `buffers` pieces of 16 bits of each warpgroup, 12 at most."""
    return min(12, (ROOM - 256 * piece * buffers) // (128 * (high + wide)))


def slim(
    wide: int, high: int, pingpong: bool = False, cluster: int = 1, together: int = 1, turned: bool = False
) -> Config:  # fmt: skip
    """A tile of any width that wgmma has, 8 to 256, with as many stages as shared memory holds.

    high     its rows: 64, 128, 192 or 256
    cluster  blocks along these rows, which load together what all of them multiply by
    turned   a swapped tile
    """
    across = not pingpong and high % 128 > 0
    part, halves = wide // 2 if across else wide, high // 64 if pingpong or across else high // 128
    most = 112 if turned or part % 64 else 64
    pieces = [p for p in range(most, 0, -8) if part % p == 0]
    if together > 1:  # the block that finishes most has few columns; rows that are no sectors of 32 bytes take longer
        pieces.sort(key=lambda p: -(-halves * part // p // together) * p * (1.0 if turned or p % 16 == 0 else 1.5))
    else:
        sectors = 8 if turned or part % 16 else 16
        pieces = [p for p in pieces if p % sectors == 0] or [8]
        if pieces[0] <= 16 and part > 112:
            pieces.insert(0, part)
    several = (2, 1) if cluster > 1 and pieces[0] <= 112 and halves * (part // pieces[0]) % 2 == 0 else (1,)
    ways = [(pieces[0], buffers) for buffers in several] + [(piece, 1) for piece in pieces if piece >= 32]
    piece, buffers = next((way for way in ways if deepest(high, wide, *way) > 3), ways[0])  # three stages are too few
    regs = (24, 240) if halves * part > 384 or across else (40, 232)
    return Config(
        (high, wide), pingpong, (cluster, 1), deepest(high, wide, piece, buffers), piece, buffers, together=together,
        regs=regs, swapped=turned,
    )  # fmt: skip


def swapped(rows: int, columns: int, pingpong: bool = False, cluster: int = 1, together: int = 1) -> Config:
    """The same with A and B exchanged: any number of `rows` of the result, and 64, 128 or 256 of its columns."""
    return slim(rows, columns, pingpong, cluster, together, turned=True)


def by_8(*spans: int | tuple[int, int]) -> list[int]:
    """Return widths: single ones, and those from a first to a last one by 8."""
    return [w for span in spans for w in (range(span[0], span[1] + 8, 8) if isinstance(span, tuple) else (span,))]


BY_16 = *by_8((8, 32)), *range(48, 272, 16)
NARROW, WIDE = by_8((8, 56), (72, 120), 136, 144), by_8((160, 184), 200, 216, 224, 240)  # but for those above
SWAPPED = by_8((8, 144), (160, 224), 240, 256)
KINDS: list[tuple[int, bool, int, tuple[int, ...], Sequence[int], Sequence[int]]] = [
    (64, True, 1, (1, 2, 3, 4, 5, 6, 8), [*NARROW, 160], sorted({*BY_16, *by_8((8, 128))})),
    (64, True, 2, (1,), NARROW, by_8((8, 136))),
    (64, True, 4, (1,), [*NARROW, *by_8((152, 176))], by_8((8, 176))),
    (128, False, 1, (1, 2, 3), [*NARROW, *WIDE], SWAPPED),
    (128, False, 1, (4,), [*NARROW, *WIDE], BY_16),
    (128, False, 1, (5,), by_8((8, 144)), by_8((8, 144))),
    (128, False, 1, (8,), by_8((72, 160)), by_8((72, 160))),
    (128, False, 2, (1,), by_8((8, 56), (72, 144), (160, 224), 240), [*SWAPPED, 232, 248]),
    (128, False, 4, (1,), [*NARROW, 224, 240, 256], by_8((8, 136), 224, 240, 256)),
    (128, True, 1, (1,), by_8((128, 208)), by_8((128, 208))),
    (128, True, 2, (1,), by_8((72, 120), 136, 144, 160, 168, 176), by_8(72, (88, 144), (160, 208))),
    (128, True, 4, (1,), by_8(48, 56, (72, 208)), by_8((48, 208))),
    (192, True, 2, (1,), by_8((72, 136)), by_8((72, 136))),
    (192, False, 2, (1,), (144, 160, 176, 192), (144, 160, 176, 192)),
    (256, False, 1, (2,), (), BY_16[:10]),
    (256, False, 2, (1,), by_8((72, 120), 136, 144, 160), by_8((8, 144), 160, 176, 184, 192)),
    (256, False, 4, (1,), by_8((72, 128)), by_8((72, 128))),
]
"""Rows, ping-pong, the cluster along these rows, how many blocks share K, and the columns of tiles as they lie, and of
swapped ones. Few rows: blocks of a cluster go through K together, which DRAM likes. With at most 15 tiles and a deep K
as many blocks as a cluster may have share it, each of which has an eighth of the sums."""
CONFIGS += [
    slim(columns, high, pingpong, cluster, together, turned)
    for high, pingpong, cluster, shares, *widths in KINDS
    for turned in (False, True)
    for columns in widths[turned]
    for together in shares
]
CONFIGS += [
    slim(columns, high, high == 64, together=together)
    for high, columns, shares in (
        (64, 64, (2, 3, 4, 5, 6, 8)),
        (64, 128, (2, 3, 4)),
        (64, 192, (2, 3)),
        (64, 256, (2, 3)),
        (128, 64, (2, 3, 4, 5)),
        (128, 128, (2, 3, 4, 6)),
        (128, 192, (2, 3)),
        (128, 256, (2,)),
    )
    for together in shares
]
CONFIGS += [
    *(slim(columns, 128) for columns in (128, 192, 208, 256)),
    *(slim(128, 256, turned=turned) for turned in (False, True)),
    *(Config((64, 128), True, (1, blocks), 7) for blocks in (2, 4)),
    Config((64, 192), True, (1, 2), 6, buffers=1),
    Config((128, 96), cluster=(1, 2), stages=6, piece=32, buffers=1),
]

SPLIT = (64, 96, 112, 128, 160, 192, 208, 224, 256)
CONFIGS += [
    replace(
        slim(columns, 128, cluster=cluster, turned=turned), splits=splits, piece=16 if columns % 32 else 32, buffers=1
    )
    for columns in SPLIT
    for cluster in (1, 2, 4)
    for turned in (False, True)
    for splits in (2, 3, 4, 5, 6, 8, 10, 13)
    if (columns * splits <= 1024 or 192 < columns < 256) and (cluster < 4 or (columns <= 160 and splits > 2))
]
CONFIGS += [  # the same of few columns
    replace(slim(columns, high, high == 64, cluster, turned=turned), splits=splits, piece=min(columns, 32), buffers=1)
    for high, cluster, shares in (
        (64, 1, (3, 4)),
        (64, 4, (2, 3, 4, 5, 6, 8, 10)),
        (128, 2, (4, 5, 6, 8)),
        (128, 4, (4, 5, 6)),
    )
    for columns in (8, 16, 24, 32, 64, 96)
    for turned in (False, True)
    for splits in shares
    if columns < 64 or high == 64
]
"""Few tiles and a deep K: blocks share the K of a tile, alone or in clusters, and a second kernel adds up."""


def beside(config: Config, cluster: int) -> Config:
    """The same in clusters of blocks that lie along a tile's columns: they load its rows together."""
    return replace(config, cluster=(1, cluster))


CONFIGS += [
    *(beside(slim(columns, 64, True, turned=turned), 4) for columns in range(16, 112, 8) for turned in (False, True)),
    *(beside(slim(columns, 128, turned=turned), 4) for columns in range(32, 184, 8) for turned in (False, True)),
    *(beside(swapped(rows, 128, True), 2) for rows in range(112, 216, 8)),
    *(beside(slim(columns, 128, True), 2) for columns in (160, 176, 184, 200, 208)),
    *(beside(slim(columns, 256, turned=turned), 2) for columns in (144, 160) for turned in (False, True)),
]
"""Small products and those of at most 64 rows or columns, by 64 rows; of a few hundred rows or columns, by 128."""


def full(high: int, columns: int, cluster: tuple[int, int], turned: bool, piece: int = 0) -> Config:
    """A tile whose sums fill the registers, with four stages. piece: half of its columns, or a quarter beyond 208."""
    piece = piece or columns // (2 if columns <= 208 else 4)
    buffers = 2 if turned and piece == 8 else 1
    return Config((high, columns), False, cluster, 4, piece, buffers, regs=(24, 240), swapped=turned)


CONFIGS += [
    *(replace(slim(208, 192, False, 2, turned=turned), stages=4) for turned in (False, True)),
    *(replace(swapped(rows, 192, False, 2), stages=4, piece=piece) for rows, piece in ((224, 56), (240, 40))),
    *(full(192, columns, (1, 2), turned) for columns in range(144, 240, 16) for turned in (False, True)),
]
"""Tiles of 192 rows: each warpgroup has all of them, of a tile of its own or of half of its columns."""

CONFIGS += [
    *(Config((256, 192), cluster=cluster, stages=3, buffers=3, regs=(24, 240)) for cluster in ((1, 2), (2, 1))),
    replace(swapped(200, 256, cluster=2), buffers=5, swizzle=5),
]
"""Tiles of as many sums as registers hold: blocks load the fewest bytes for a product, which counts where the card's
power is the limit. Nothing is multiplied while such a tile is stored, so its pieces have what room there is. In bands
of five, 66 pairs of the last one are nearly a square."""

SHARED = [replace(make(columns, 128, True, 2), stream=2) for columns in range(96, 216, 8) for make in (slim, swapped)]
CONFIGS += SHARED
"""A few wide tiles more than a round has, and a deep K: blocks share the last two rounds."""
CONFIGS += [replace(beside(config, 2), stream=1) for config in SHARED if config.tile[1] >= 160]
"""The same where the last one alone is shared, in clusters along columns."""


def both(columns: int, high: int, pingpong: bool, along: int, turned: bool, across: int = 2) -> Config:
    """A tile in clusters of `along` blocks along its rows and `across` along its columns, which share both operands."""
    narrow = 16 if columns % 16 == 0 else 8
    deep = {piece: deepest(high, columns, piece) for piece in (columns, narrow)}
    piece, stages = max(deep.items(), key=lambda each: each[1])  # the narrow one if it leaves room for a stage more
    return Config((high, columns), pingpong, (along, across), stages, piece, buffers=1, swapped=turned)


CONFIGS += [
    both(columns, high, high != 128, along, turned)
    for high, clusters, most in ((64, (4,), 128), (128, (2, 4), 176), (192, (4,), 128))
    for columns in range(40, most + 8, 8)
    for along in clusters
    for turned in (False, True)
]
CONFIGS += [
    full(192, columns, (along, 2), turned)
    for columns in range(144, 224, 16)
    for along in (2, 4)
    for turned in (False, True)
]
"""Two tiles across, and many along the other mode."""
EIGHT = [
    both(columns, 64, True, along, turned, 8 // along)
    for columns in range(48, 128, 8)
    for along in (2, 4)
    for turned in (False, True)
]
CONFIGS += [config for config in EIGHT if config.cluster == (2, 4)]
CONFIGS += [
    replace(config, splits=splits, piece=16 if config.tile[1] % 16 == 0 else 8)
    for config in EIGHT
    for splits in (2, 3, 4, 6)
]
"""Small tiles of eight blocks that share both operands load as few bytes as large ones, also where others share K."""
CONFIGS += [
    beside(slim(columns, 192, True, turned=turned), along)
    for columns in range(72, 144, 8)
    for along in (2, 4)
    for turned in (False, True)
]
"""A few hundred rows or columns, which two or four of these tiles fill: their blocks load 192 rows together."""
CONFIGS += [
    *(beside(make(columns, 128, False, 2), 2) for columns in range(176, 264, 8) for make in (slim, swapped)),
    *(full(256, rows, (2, 2), True, 8) for rows in range(160, 192, 8)),
    *(full(128, columns, (2, 1), turned, 8) for columns in (272, 288, 304, 320) for turned in (False, True)),
]
"""Tiles that fill one round, or a few, where no others do."""
