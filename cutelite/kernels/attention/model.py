"""The forward kernel's configurations, and a model of the time that it takes, which picks one without timing.

In    the work: lengths, heads, which keys a query sees; and the number of multiprocessors
Out   a configuration. Each has two measured numbers: the time of a block of keys, and of a tile beside its blocks
"""

from __future__ import annotations

from functools import lru_cache

from cutelite.kernels.attention.scores import ROWS
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple


@dataclass(frozen=True)
class Config:
    """A configuration of the kernel.

    groups    warpgroups that compute
    columns   keys of a block
    stages    blocks of keys, and of values, in shared memory
    queries   tiles of queries in shared memory
    turns     warpgroups take turns at starting products
    pairs     unroll the loop over blocks without a mask by two, which saves copies of registers
    late      in place of `pairs` keep powers in f32 until the next scores are started, if they fit (`OfScores.late`)
    regs      registers of a thread that loads, and of one that computes
    """

    groups: int = 2
    columns: int = 128
    stages: int = 2
    queries: int = 1
    turns: bool = True
    pairs: bool = False
    late: bool = False
    regs: tuple[int, int] = (24, 240)


def chosen(dim: int, blocks: tuple[int, int] | None = None) -> Config:
    """Return the configuration that was measured best for a head dim, a multiple of 64, and many queries and keys.

    blocks  queries and keys of a block of a block mask, which those of the configuration divide
    """
    if blocks is not None:
        columns = 64 if dim > 128 or blocks[1] % 128 else 128
        groups = 2 if blocks[0] % 128 == 0 else 1
        return Config(groups, columns, 3 if dim == 64 else 2, turns=groups == 2, pairs=dim == 128)
    if dim == 64:
        return Config(3, 96, pairs=True, regs=(32, 160))
    if dim == 128:
        return Config(pairs=True, late=True)
    if dim == 192:
        return Config(columns=96)
    return Config(columns=64, turns=False)


class Work(NamedTuple):
    """The problem: lengths, heads and masks, as the model counts them.

    heads    of queries, of all sequences
    offset   from a query's index to its own place; `left` keys before that and `right` behind it are seen; None: all
    """

    queries: int
    keys: int
    heads: int
    offset: int
    left: int | None
    right: int | None


class Cost(NamedTuple):
    """A configuration, and what was measured of it: us of a block of keys, and of a tile beside its blocks."""

    config: Config
    step: float
    tile: float


COSTS: dict[tuple[int, int], tuple[Cost, ...]] = {
    (64, 64): (
        Cost(chosen(64), 1.03, 2.4),
        Cost(Config(stages=3, queries=2, turns=False), 1.135, 1.1),
    ),
    (128, 128): (
        Cost(chosen(128), 1.398, 3.88),
        Cost(Config(groups=1, turns=False, pairs=True), 0.986, 2.66),
    ),
    (192, 128): (
        Cost(chosen(192), 1.246, 4.1),
        Cost(Config(groups=1, columns=96, turns=False), 0.89, 2.2),
    ),
    (192, 192): (
        Cost(chosen(192), 1.207, 4.7),
        Cost(Config(groups=1, columns=96, turns=False), 0.838, 2.4),
    ),
    (256, 256): (
        Cost(chosen(256), 1.452, 3.85),
        Cost(Config(groups=1, columns=64, turns=False), 0.923, 3.93),
    ),
}
"""Configurations for the head dims of keys and of values, as fitted to docs/lab/attention.md."""

ALONE = 0.4
"""The part of a block's time that a tile takes however few of its warpgroups have rows: with one of two, 0.7 in all."""


def costs(dim: int, dim_v: int) -> tuple[Cost, ...]:
    """Return the configurations for head dims, multiples of 64: those of the narrowest values that these fit."""
    return COSTS[min(dims for dims in COSTS if dims[0] == dim and dims[1] >= dim_v)]


@lru_cache(maxsize=4096)
def picked(dim: int, dim_v: int, work: Work, multiprocessors: int) -> Config:
    """Return the configuration for head dims, multiples of 64, that is predicted to be the fastest."""
    return min(costs(dim, dim_v), key=lambda cost: predicted(cost, work, multiprocessors)).config


def predicted(cost: Cost, work: Work, multiprocessors: int) -> float:
    """Return the time of a launch in us, without what every launch costs.

    Tiles are taken longest first by whichever multiprocessor is free. Where all are alike, the last round of them may
    leave multiprocessors idle; otherwise short tiles fill the end. With n multiprocessors, two of the n + 1 longest
    tiles run on the same one, so a launch takes at least the time of the two shortest of them.
    """
    rows, columns = ROWS * cost.config.groups, cost.config.columns
    times = []
    for first in range(0, work.queries, rows):
        place, end, start = first + work.offset, work.keys, 0
        if work.right is not None:
            end = min(end, max(1, place + rows + work.right))
        if work.left is not None:
            start = max(0, min(place - work.left, end - 1))
        busy = min(1.0, -(-(work.queries - first) // ROWS) / cost.config.groups)
        step = cost.step * (ALONE + (1.0 - ALONE) * busy)
        times.append(cost.tile + step * (-(-end // columns) - start // columns))
    times.sort(reverse=True)
    longest, shortest, total = times[0], times[-1], sum(times) * work.heads
    if longest == shortest:
        return -(-len(times) * work.heads // multiprocessors) * longest
    second = multiprocessors // work.heads
    twice = times[(multiprocessors - 1) // work.heads] + times[second] if second < len(times) else 0.0
    return max(longest, twice, total / multiprocessors + shortest / 2)
