"""The number of parts that the keys of a sequence are split into, by a model of their time, without timing.

In    the work, as `Work` counts it, and how many blocks of threads run at once
Out   the number of parts that is predicted to be the fastest
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from cutelite.kernels.attention.combining import MOST_SPLITS, TOGETHER

START = 2.48
"""us of a block of threads beside its blocks of keys. All numbers are fitted to tests/kernels/attention_parts.jsonl."""
COLUMN = 1.56e-3
"""us of a block of keys, for each column of keys and values."""
ALONE = 1.01
"""us less, where a part is one block of keys."""
FIRST, RATE = 2.0, 3.85e6
"""us until the cache's bytes come, and how many come in one."""
ROW, SHARE = 2.5e-6, 0.55
"""us of combining: for each column of each row, and for each 16 parts."""
PARTS_RATE = 4.3e6
"""Bytes of parts that are written and read in a us."""


class Work(NamedTuple):
    """The problem, as the model counts it.

    tiles    of rows, of all sequences
    blocks   of keys, of a sequence
    columns  of a key and a value together
    rows     of the output, of all queries and heads; `width` columns of each
    bytes    of keys and values that are read from memory
    """

    tiles: int
    blocks: int
    columns: int
    rows: int
    width: int
    bytes: int


@lru_cache(maxsize=4096)
def fastest(work: Work, at_once: int) -> int:
    """Return the number of parts for a GPU that runs so many blocks of threads at once."""
    most = max(1, min(work.blocks, MOST_SPLITS, 2 * at_once // work.tiles))
    each = {-(-work.blocks // splits) for splits in range(1, most + 1)}
    return min((-(-work.blocks // blocks) for blocks in each), key=lambda splits: predicted(splits, work, at_once))


def predicted(splits: int, work: Work, at_once: int) -> float:
    """Return the time in us, without what all numbers of parts cost alike."""
    blocks, rounds = -(-work.blocks // splits), -(-work.tiles * splits // at_once)
    own = rounds * (START + COLUMN * work.columns * blocks - (ALONE if blocks == 1 else 0.0))
    loads = FIRST + work.bytes / RATE
    time = math.sqrt(math.sqrt(math.hypot(loads**4, own**4)))  # the longer of both, or a little more
    if splits == 1:
        return time
    numbers = work.rows * work.width
    return time + ROW * numbers + SHARE * -(-splits // TOGETHER) + 8 * numbers * splits / PARTS_RATE
