"""How rows are cut: which vectors are known at compile time to lie within every block's part."""

from itertools import groupby

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.kernels.rows.plan import Plan
from cutelite.lib.reduce import Team
from cutelite.lib.row_counter import RowCursor
from tests.places import Place


def cut(n: int, vector: int, threads: int, cluster: int, granule: int) -> cl.RowPartition:
    return cl.RowPartition(Team(threads, 1, cluster, 0, 0, 0, 1, 1, False, None, None, None), n, vector, granule)


@pytest.mark.parametrize("cluster", [1, 2, 4, 8])
@pytest.mark.parametrize(("vector", "granule"), [(1, 1), (8, 1), (4, 128), (8, 128)])
def test_a_vector_is_inside_where_every_thread_of_every_block_has_all_of_it(
    vector: int, granule: int, cluster: int
) -> None:
    threads, seen = 32, set()
    for n in [*range(1, 1100, 3), 1024, 2048, 2056, 4096, 5000, 8184, 8192]:
        part = cut(n, vector, threads, cluster, granule)
        ends = [min((rank + 1) * part.chunk, n) for rank in range(cluster)]
        for piece in range(part.pieces):
            last = (piece + 1) * threads * vector  # behind the vector of the last thread
            whole = all(rank * part.chunk + last <= end for rank, end in enumerate(ends))
            assert part.inside(piece) == whole
            seen.add(whole)
    assert seen == {False, True}


def test_memory_from_an_aligned_address_on(place: Place) -> None:
    @cl.kernel
    def kernel(x: Tensor[f32, (16,)], y: Tensor[f32, (6, 4)], before: Tensor[i32, (6,)]) -> None:
        start = cl.thread_idx.x
        aligned, between = cl.aligned_down(cl.domain_offset((start,), x), 16)
        y[start, None].store(aligned.tile((4,), (1,)).load())
        before[start] = between

    y, before = np.zeros((6, 4), np.float32), np.zeros(6, np.int32)
    place(kernel[1, 6], np.arange(16, dtype=np.float32), y, before)
    assert before.tolist() == [0, 1, 2, 3, 0, 1]
    np.testing.assert_array_equal(y, [np.arange(4) + start // 4 * 4 + 4 for start in range(6)])


@pytest.mark.parametrize("cluster", [1, 4, 8, 16])
def test_no_two_blocks_share_a_line_of_memory_unless_one_would_have_nothing(cluster: int) -> None:
    shared = 0
    for n in [*range(8, 2000, 8), 50_264, 100_000, 128_256, 151_936, 200_000, 201_088]:
        plain = cut(n, 8, 64, cluster, 1)
        part = Plan(64, 1, cluster, 8, 1).part(plain.team, n)
        assert part.pieces == plain.pieces
        assert part.chunk == plain.chunk or part.chunk * (cluster - 1) < n
        shared += cluster > 1 and part.chunk % 64 > 0
        assert n < 2000 or part.chunk % 64 == 0
    assert (shared > 0) == (cluster > 1)


@pytest.mark.parametrize("teams", [3, 7, 8, 15, 31])
def test_teams_work_on_neighbours_and_have_each_kind_of_rows_once(teams: int, place: Place) -> None:
    kinds = 8
    for rows in (teams, 100, 1001):
        each = -(-rows // teams)

        @cl.kernel
        def order(out: Tensor[i32, (teams, each)], rows: i32) -> None:
            cursor, at = RowCursor.create(Team.create(32), rows, kinds, True), i32(0)
            while cursor.row < rows:
                out[cl.block_idx.x, at] = cursor.row
                cursor.go_on()
                at += 1

        out = np.full((teams, each), -1, np.int32)
        place(order[teams, 32], out, rows)
        assert sorted(out[out >= 0]) == list(range(rows))
        for own in out:
            runs = [kind for kind, _ in groupby(row % kinds for row in own if row >= 0)]
            assert len(set(runs)) == len(runs)
        places = np.sort(out.T[: rows // teams] // kinds)  # a place has a row of each kind; one step after the other
        parts = 1 + (np.diff(places) > 3).sum(1)
        assert parts.mean() <= 2 * -(-teams // kinds)
