"""How rows are cut: which vectors are known at compile time to lie within every block's part."""

import pytest

import cutelite as cl
from cutelite.lib.reduce import Team


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
