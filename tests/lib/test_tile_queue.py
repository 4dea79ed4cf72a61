"""`cl.TileQueue`: each tile goes to one block, by whatever walk, and the counter is left at 0."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, i32
from tests.places import Place


class Spot(NamedTuple):
    row: Any
    column: Any


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("tiles", "blocks"), [(11, 3), (4, 4), (2, 5)])
def test_each_tile_is_taken_once_and_told_to_all(scheduled: Place, dynamic: bool, tiles: int, blocks: int) -> None:
    @cl.kernel(block=96)
    def kernel(seen: Tensor[i32, (tiles, 3)], counter: Tensor[i32, (1,)] | None) -> None:
        queue = cl.TileQueue.create(Spot, lambda index: Spot(index // 2, index % 2), tiles, counter, consumers=64)
        cl.pipeline_init_sync()
        warp = cl.thread_idx.x // 32
        if warp == 0:
            if cl.thread_idx.x == 0:
                queue = queue.begin()
                while queue.is_valid():
                    ticket, (row, column) = queue.take(), queue.place
                    cl.atomic_add(seen, (2 * row + column, 0), 1)
                    queue = queue.tell(ticket)
        else:
            queue = queue.advance()
            while queue.is_valid():
                row, column = queue.place
                if cl.lane_idx() == 0:
                    cl.atomic_add(seen, (2 * row + column, warp), 1)
                queue = queue.advance()

    seen, counter = np.zeros((tiles, 3), np.int32), np.zeros(1, np.int32)
    for _ in range(2):  # the counter is fit for the next launch
        scheduled(kernel[blocks], seen, counter if dynamic else None)
    assert (seen == 2).all()
    assert counter[0] == 0


def test_a_queue_before_its_first_tile_is_refused() -> None:
    @cl.kernel(block=64)
    def kernel(counter: Tensor[i32, (1,)]) -> None:
        queue = cl.TileQueue.create(Spot, lambda index: Spot(index, 0), 4, counter, consumers=64)
        while queue.is_valid():
            queue = queue.advance()

    with pytest.raises(cl.CompileError, match="call `begin` in the one thread"):
        kernel.compile(arch="sm_90a")


@pytest.mark.parametrize(
    ("kind", "where", "said"),
    [
        (tuple, lambda index: (index, 0), "a tile's place is a NamedTuple of i32, not the class `tuple`"),
        (Spot, lambda index: (index,), "`where` returns row, column of a Spot, not a tuple of 1"),
        (Spot, lambda index: index, "`where` returns row, column of a Spot, not a run-time i32"),
    ],
)
def test_places_that_are_none(kind: Any, where: Any, said: str) -> None:
    @cl.kernel(block=64)
    def kernel(counter: Tensor[i32, (1,)]) -> None:
        cl.TileQueue.create(kind, where, 4, counter, consumers=64).begin().is_valid()

    with pytest.raises(cl.CompileError, match=said):
        kernel.compile(arch="sm_90a")


def test_longest_first_walks_bands_and_visits_all() -> None:
    walk = [cl.longest_first(i, 3, 5, 2, True) for i in range(15)]
    assert walk[:6] == [(2, 0), (2, 1), (1, 0), (1, 1), (0, 0), (0, 1)]
    assert walk[12:] == [(2, 4), (1, 4), (0, 4)]
    assert sorted(walk) == [(m, head) for m in range(3) for head in range(5)]
    walk = [cl.longest_first(i, 3, 5, 1, True, 3) for i in range(15)]
    assert walk[5:10] == [(0, 1), (2, 2), (2, 3), (2, 4), (1, 2)]
    assert sorted(walk) == [(m, head) for m in range(3) for head in range(5)]
