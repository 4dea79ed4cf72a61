"""The scheduler of groups of rows: every tile of every group, once, whichever blocks there are."""

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor
from tests.pairs import in_pairs
from tests.places import Place

G, T, C = cl.dims("G T C")
ROWS = 16


COUNTS = [(1,), (0,), (0, 0, 5, 0), (16, 32, 1, 0, 0, 47, 300, 0), tuple(n % 20 for n in range(36))]


@pytest.mark.parametrize(("counts", "swizzle", "cluster"), in_pairs(COUNTS, (1, 3), (False, True)))
def test_tiles_of_groups(scheduled: Place, counts: tuple[int, ...], swizzle: int, cluster: bool) -> None:
    columns, units = 5, 6

    @cl.kernel(block=32, cluster=(2, 1, 1) if cluster else None)
    def walk(ends: Tensor[cl.i32, (G,)], seen: Tensor[cl.i32, (G, T, C)], last: Tensor[cl.i32, (G,)]) -> None:
        tiles = cl.GroupedTileScheduler.create(ends, ROWS, C, swizzle, cluster)
        while tiles.is_valid():
            group, row, end, n = tiles.coordinate()
            begin = 0
            if group > 0:
                begin = ends[group - 1]
            if cl.lane_idx() == 0:
                cl.atomic_add(seen, (group, row - begin, n), 1)
                last[group] = end
            tiles = tiles.advance()

    rows = np.array(counts)[:, None, None]
    ends = np.cumsum(counts).astype(np.int32)
    seen = np.zeros((len(counts), max(1, max(counts)), columns), np.int32)
    last = np.full(len(counts), -1, np.int32)
    blocks = units * (2 if cluster else 1)
    scheduled(walk[blocks, 32], ends, seen, last)
    begins = np.arange(seen.shape[1])[:, None]
    expected = (begins < rows) & (begins % ROWS == 0)
    np.testing.assert_array_equal(seen, np.broadcast_to(expected * (blocks // units), seen.shape))
    np.testing.assert_array_equal(last, np.where(rows[:, 0, 0] > 0, ends, -1))


def test_no_groups_and_no_problems_have_no_tiles() -> None:
    none = cl.Dim("none", min=0)

    @cl.kernel(block=1)
    def walk(ends: Tensor[cl.i32, (none,)], sizes: Tensor[cl.i32, (none, 3)], seen: Tensor[cl.i32, (1,)]) -> None:
        groups, problems = cl.GroupedTileScheduler.create(ends, ROWS, 2), cl.ProblemTileScheduler.create(sizes, (8, 8))
        while groups.is_valid():
            cl.atomic_add(seen, 0, 1)
            groups = groups.advance()
        while problems.is_valid():
            cl.atomic_add(seen, 0, 1)
            problems = problems.advance()

    for count, tiles in ((0, 0), (2, 2 * (2 + 4))):
        seen = np.zeros(1, np.int32)
        walk[3](16 * np.arange(1, count + 1, dtype=np.int32), np.full((count, 3), 16, np.int32), seen)
        assert seen[0] == tiles
