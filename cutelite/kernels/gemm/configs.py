"""Dense GEMMs: what a kernel is made for, in which configurations, and which of them are worth trying."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from cutelite.kernels.arrays import clusters_at_once


@dataclass(frozen=True)
class Config:
    """How the work is cut up.

    tile      rows and columns of a block's tile
    pingpong  each of the two multiplying warpgroups has a tile of its own; False: they share one
    cluster   blocks along M and N that load together what they share
    stages    how many tiles of A and B are held
    piece     columns of results that are stored at once, 64 rows of them, and `buffers` how many such are held
    swizzle   tiles are walked in bands so many tiles wide, along `raster`
    splits    how many blocks share the K of a tile; another kernel adds up what they find
    together  how many blocks of a cluster share the K of a tile, and add up what they find through shared memory. Then
              `cluster` is (1, 1), and a block has one tile
    regs      registers of a thread that loads, and of one that multiplies
    """

    tile: tuple[int, int] = (128, 256)
    pingpong: bool = False
    cluster: tuple[int, int] = (2, 1)
    stages: int = 4
    piece: int = 64
    buffers: int = 2
    swizzle: int = 8
    raster: Literal["M", "N", "hilbert"] = "M"
    splits: int = 1
    together: int = 1
    regs: tuple[int, int] = (40, 232)


@dataclass(frozen=True)
class Problem:
    """What a kernel is made for.

    a, b, acc, d, bias  dtypes of operands, sums, results (and C), and of the bias if there is one
    majors              along which mode A and B are contiguous: 'K' or 'MN'
    rows                there are at most so many, and blocks without a cluster bring no more of A; None: any number
    rowwise             scales are one for each row of A and column of B; False: one number each
    activation          elementwise, on vectors of f32
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


CONFIGS = [
    Config(buffers=1),
    Config(),
    Config(cluster=(1, 2)),
    Config(cluster=(1, 2), swizzle=16),
    Config((256, 128), cluster=(1, 2)),
    Config((128, 208), pingpong=True, piece=208, buffers=1, regs=(24, 240)),
    Config((128, 208), pingpong=True, piece=208, buffers=1, regs=(24, 240), swizzle=16),
    Config((128, 192), pingpong=True),
    Config((128, 192), pingpong=True, cluster=(1, 2)),
    Config((128, 176), pingpong=True, piece=176, buffers=1),
    Config((128, 160), pingpong=True, piece=32),
    Config((128, 128), pingpong=True, cluster=(1, 2), stages=5),
    Config((128, 128), cluster=(1, 1), stages=5),
    Config((128, 128), cluster=(1, 2), stages=5),
    Config((128, 96), cluster=(1, 1), stages=6, piece=32, buffers=1),
    Config((128, 64), cluster=(1, 1), stages=8, buffers=1),
    Config((128, 64), cluster=(1, 4), stages=8, buffers=1),
    Config((64, 64), pingpong=True, cluster=(1, 1), stages=10, buffers=1),
    Config((64, 64), pingpong=True, cluster=(1, 4), stages=10, buffers=1),
    Config((64, 128), pingpong=True, cluster=(1, 1), stages=7),
    # results of 32 bits
    Config(piece=32),
    Config(cluster=(1, 2), piece=32),
    Config((256, 128), cluster=(1, 2), piece=32),
    Config((128, 192), pingpong=True, piece=32),
    Config((128, 128), cluster=(1, 2), stages=5, piece=32),
    Config((128, 64), cluster=(1, 4), stages=8, piece=32, buffers=1, splits=4),
    Config((64, 128), pingpong=True, cluster=(1, 1), stages=7, piece=32, splits=2),
]


def fitting(configs: list[Config], problem: Problem, a: Any, b: Any, d: Any, *more: Any) -> list[Config]:
    """Those worth trying; the others leave most multiprocessors idle, or multiply and load much that is not needed."""
    m, n = d.shape[-2:]
    k = a.shape[-1 if problem.majors[0] == "K" else -2]
    batches = d.shape[0] if problem.batched else 1

    def cost(config: Config) -> float:
        """Of the tiles that a block works on one after the other: products, and elements that it loads."""
        (bm, bn), (cm, cn) = config.tile, config.cluster
        tiles = -(-m // (bm * cm)) * -(-n // (bn * cn)) * batches * config.splits
        rounds = -(-tiles // clusters_at_once(cm * cn, d))
        if rounds > 1 and config.splits > 1:
            return math.inf  # there is enough to do without
        few = min(bm, problem.rows or bm) if cm * cn == 1 else bm
        each = bm * bn + 128 * (few / cn + bn / cm)
        return float(max(rounds * each / config.splits, 3 * batches * (m + n)))

    able = [c for c in configs if made_for(c, problem) and c.splits <= k * problem.a.bytes // 1024]
    found = sorted(able, key=cost)
    return [config for config in found if cost(config) < 1.6 * cost(found[0])]


def made_for(config: Config, problem: Problem) -> bool:
    """Whether a configuration can be had for these types and is meant for them: pieces are rows of 128 bytes."""
    (bm, bn), (cm, cn), out = config.tile, config.cluster, 4 if config.splits > 1 else problem.d.bytes
    stages, pieces = config.stages * 128 * (bm + bn), 2 * config.buffers * 64 * config.piece * out
    vectors = 8 * (bm + bn) * problem.rowwise + (2 * bn * problem.bias.bytes if problem.bias else 0)
    span = 128 // problem.a.bytes  # what a box of operands contiguous along M or N has of them
    parts = zip(problem.majors, (bm // cn, bn // cm), strict=True)
    if config.together > 1 and 128 * config.stages < 4 * (64 if config.pingpong else bm):
        return False  # accumulators are laid where tiles of B were
    return (
        stages + pieces + vectors < 232_000
        and (bn % 64 > 0 or config.together > 1 or config.piece * out == 128 or config is CONFIGS[0])
        and all(major == "K" or part % span == 0 for major, part in parts)
    )
