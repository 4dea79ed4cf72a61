"""`cl.StreamKTileScheduler` and `cl.TileParts`: every step of every tile counts once, whoever has it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, i32
from tests.places import Place

TILES, STEPS, BLOCKS = cl.dims("TILES STEPS BLOCKS")


@dataclass(frozen=True)
class Sums:
    parts: tuple[Any, ...]


@cl.kernel(block=128)
def added_up(
    src: Tensor[i32, (TILES, STEPS)], out: Tensor[i32, (TILES, 128)], sums: Tensor[i32, (BLOCKS, 2, 128, 4)],
    flags: Tensor[i32, (BLOCKS,)], along: i32, across: i32, rounds: i32, least: i32,
) -> None:  # fmt: skip
    """Each thread adds up its number times what the steps of a tile have; so does the second part, four more of it."""
    thread = cl.thread_idx.x
    tiles = cl.StreamKTileScheduler.create((along, across), STEPS, rounds, least)
    parts = cl.TileParts(sums, flags, thread, cl.NamedBarrier(1, 128))
    while tiles.is_valid():
        m, n, _ = tiles.coordinate()
        total = i32(0)
        for step in range(tiles.first, tiles.first + tiles.length):
            total += src[m * across + n, step] * thread
        acc = Sums(tuple(cl.full((4,), total + 4 * i * tiles.length, i32) for i in range(2)))
        if tiles.first > 0:
            parts.put(tiles, acc)
        else:
            acc = parts.added(tiles, acc)
            out[m * across + n, thread] = acc.parts[0][3] + acc.parts[1][1] * 1000
        tiles = tiles.advance()


@pytest.mark.parametrize(
    ("tiles", "steps", "blocks", "rounds", "least"),
    [
        ((3, 2), 5, 4, 1, 1),  # a whole round, and two tiles for four blocks
        ((3, 2), 5, 4, 2, 1),  # all tiles are shared
        ((1, 1), 9, 4, 1, 2),  # four blocks have a tile
        ((1, 1), 3, 4, 1, 2),  # fewer steps than would do
        ((2, 2), 1, 3, 1, 1),  # nothing to cut
        ((2, 2), 4, 4, 2, 1),  # the last round is whole
        ((5, 1), 7, 3, 1, 20),  # a block has both tiles
    ],
)
def test_every_step_counts_once(
    scheduled: Place, tiles: tuple[int, int], steps: int, blocks: int, rounds: int, least: int
) -> None:
    count = tiles[0] * tiles[1]
    src = (np.arange(count * steps, dtype=np.int32) % 7 + 1).reshape(count, steps)
    out, flags = np.zeros((count, 128), np.int32), np.zeros(blocks, np.int32)
    for _ in range(2):  # flags are fit for the next launch
        scheduled(added_up[blocks], src, out, np.zeros((blocks, 2, 128, 4), np.int32), flags, *tiles, rounds, least)
    right = src.sum(1, keepdims=True) * np.arange(128)
    assert (out == right + (right + 4 * steps) * 1000).all() and not flags.any()
