"""The number of parts that the keys of a sequence are split into, by a model of their time, without timing.

In    the work, as `Work` counts it; measured numbers of the kernel; how many blocks of threads run at once
Out   the parts that are predicted to take the least time, and whether a cluster combines them
"""

from __future__ import annotations

import math
from functools import lru_cache

from cutelite.kernels.attention.combining import MOST_SPLITS, TOGETHER
from cutelite.tuples import NamedTuple

CLUSTERS = 2, 4
"""Blocks of threads of a cluster that combines the parts of a tile. Larger ones leave multiprocessors idle, and those
of three take a tenth longer, as if some multiprocessors had two blocks while others have none."""


EVEN = 0.98
"""Equal shares are taken if they are predicted to take less than so many times the time of other splits."""


SHORT = 20.0
"""Where sequences may have fewer keys than there is room for, calls that would take less than so many us with all keys
have no equal shares, by which they would take up to 3 us longer."""


AHEAD = 1.2
"""Beside equal shares: a multiprocessor reads at most so many times its part of what all read, so that those with two
blocks of threads are late where others have one."""


class Numbers(NamedTuple):
    """Measured numbers of a kernel: us, and bytes of one us.

    start   of a block of threads beside its blocks of keys
    lone    of a block of keys, for 1000 columns of keys and values, where one block of threads has a multiprocessor
    beside  the same, where two have it
    alone   less, where a part is one block of keys
    first   until bytes of the cache come, and how many come then: `rate`
    row     of combining, for 1000 columns of rows of the output; `share`: for each 16 parts
    parts   bytes of parts that are written and read
    gather  of combining in a cluster
    """

    start: float
    lone: float
    beside: float
    alone: float
    first: float
    rate: float
    row: float
    share: float
    parts: float
    gather: float


LATENTS = Numbers(3.0, 1.46, 1.46, 0.974, 0.729, 3.86e6, 1.66e-3, 0.665, 4.52e6, math.inf)
HEADS = {
    64: Numbers(2.14, 2.97, 3.81, 3.06, 3.07, 4.01e6, 2.78e-3, 0.145, 8.15e6, 0.207),
    128: Numbers(2.5, 1.83, 4.68, 0.854, 2.9, 4.24e6, 2.95e-3, 0.111, 2.76e6, 1.61),
    256: Numbers(0.24, 2.33, 2.41, 2.58, 1.74, 4.17e6, 0.77e-3, 1.56, 11.6e6, 6.89),
}
"""By head dim, as fitted to tests/kernels/attention_parts.jsonl by tests/bench/attention_parts.py."""


class Work(NamedTuple):
    """The problem, as the model counts it.

    tiles    of rows, of all sequences
    blocks   of keys, of a sequence
    columns  of a key and a value together
    outputs  columns of all rows of the output
    bytes    of keys and values that are read from memory
    beside   blocks of threads that run on one multiprocessor
    heads    of keys; 0: equal shares are not to be taken
    """

    tiles: int
    blocks: int
    columns: int
    outputs: int
    bytes: int
    beside: int
    heads: int = 0


class Split(NamedTuple):
    """A number of parts of each tile, of blocks of threads that are a cluster or not.

    even   unless 0, so many blocks of threads have equal `shares` of all tiles, so many heads of keys side by side
    """

    parts: int
    cluster: bool = False
    even: int = 0

    def blocks(self, tiles: int) -> int:
        """Return the number of blocks of threads for so many tiles."""
        return self.parts if self.even else self.parts * tiles


@lru_cache(maxsize=4096)
def fastest(work: Work, numbers: Numbers, runs: tuple[int, ...], alike: bool = True) -> Split:
    """Return the split that is predicted to be the fastest.

    runs   blocks, and clusters of each of `CLUSTERS`, that run at once with a multiprocessor for each block
    alike  all sequences have as many blocks of keys as `work` says; else fewer, how many is not known
    """
    most = max(1, min(work.blocks, MOST_SPLITS, 2 * runs[0] * work.beside // work.tiles))
    each = {-(-work.blocks // parts) for parts in range(1, most + 1)}
    splits = [Split(-(-work.blocks // blocks)) for blocks in sorted(each, reverse=True)]
    for size, at_once in zip(CLUSTERS, runs[1:], strict=False):
        if work.tiles <= at_once and -(-work.blocks // -(-work.blocks // size)) == size:
            splits.append(Split(size, True))
    times = {split: predicted(split, work, numbers, runs[0]) for split in splits}
    best = min(times, key=times.__getitem__)
    if not work.heads:
        return best
    even = shares_of(work, runs[0] * work.beside)
    least = predicted(best, work, numbers, runs[0], AHEAD) * EVEN
    if predicted(even, work, numbers, runs[0]) < least:
        return even
    if alike or predicted(best, work, numbers, runs[0]) < SHORT:
        return best
    if best.cluster:
        return even  # so many blocks of threads as a cluster has would each end with a part of a tile, and wait
    return shares_of(work, min(even.parts, best.parts * work.tiles))  # where all keys are there, tiles are whole


WHOLE = 1.025
"""Shares have so many times as many blocks of keys where they are whole tiles then, of which nothing is combined."""


def shares_of(work: Work, most: int) -> Split:
    """Return equal shares for so many blocks of threads, or a few less, with many heads of keys side by side."""
    most = min(most, work.tiles * work.blocks)
    divisors = (n for n in range(1, min(work.heads, most) + 1) if work.heads % n == 0)
    count, beside = max((most // n * n, n) for n in divisors)
    blocks = work.tiles // beside * work.blocks  # of the heads that a share has one after the other
    each = -(-blocks // (count // beside))
    whole = -(-each // work.blocks) * work.blocks
    if whole <= WHOLE * each:
        count = -(-blocks // whole) * beside
    return Split(count, even=beside)


def predicted(split: Split, work: Work, numbers: Numbers, multiprocessors: int, ahead: float = math.inf) -> float:
    """Return the time in us, without what all splits cost alike: of one round of blocks of threads after the other.

    ahead   how many times its part of what all read a multiprocessor can read: see `AHEAD`
    """
    count = split.blocks(work.tiles)
    if split.even:
        blocks, parts = -(-work.tiles * work.blocks // count), 1 + count / work.tiles
    else:
        blocks, parts = -(-work.blocks // split.parts), split.parts
    at_once = multiprocessors * (1 if split.cluster else work.beside)

    def together(some: int) -> float:
        """Return the time of so many blocks of threads at once: by their own steps or by memory, or a little longer."""
        column = numbers.lone if some <= multiprocessors else numbers.beside
        own = numbers.start + (numbers.gather if split.cluster else 0.0) - (numbers.alone if blocks == 1 else 0.0)
        own += blocks * work.columns * column / 1000
        as_many = max(some, at_once / ahead) if some > multiprocessors else some
        loads = numbers.first + work.bytes / count * as_many / numbers.rate
        return math.sqrt(math.sqrt(math.hypot(own**4, loads**4))) if some else 0.0

    time = count // at_once * together(at_once) + together(count % at_once)
    if split.cluster or parts == 1:
        return time
    time += numbers.row * work.outputs / 1000 + numbers.share * -(-parts // TOGETHER)
    return time + 8 * work.outputs * parts / numbers.parts
