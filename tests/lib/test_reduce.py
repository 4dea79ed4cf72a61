"""Reductions over warps, teams, blocks and clusters: every type, structure, and shape of team."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32, i32
from tests.places import Place

M, N = cl.dims("M N")


class Top(NamedTuple):
    """The greatest element and the first place where it is."""

    value: f32
    at: i32


def best(a: Top, b: Top) -> Top:
    if a.value > b.value or (a.value == b.value and a.at < b.at):
        return a
    return b


@dataclass(frozen=True)
class Moments:
    count: f32
    mean: f32
    squares: f32


def merge(a: Moments, b: Moments) -> Moments:
    count, apart = a.count + b.count, b.mean - a.mean
    share = b.count / count
    return Moments(count, a.mean + apart * share, a.squares + b.squares + apart * apart * a.count * share)


def compose(a: Any, b: Any) -> tuple[Any, Any]:
    """The map x -> b(a(x)) of two maps x -> scale * x + shift modulo 2**32: associative, not commutative."""
    return a[0] * b[0], b[0] * a[1] + b[1]


TEAMS = [
    (32, 2, 1),
    (64, 2, 1),
    (96, 1, 1),
    (8, 4, 1),
    (1, 32, 1),
    (64, 1, 2),
    (32, 1, 4),
    (96, 1, 3),
    (64, 3, 2),
    (32, 2, 4),
]


def rows_by_team(threads: int, teams: int, cluster: int, reductions: int | None) -> Any:
    """Sums, greatest elements with their places, and moments of rows, each row by a team."""

    @cl.kernel(block=threads * teams, cluster=cluster)
    def kernel(
        x: Tensor[f32, (M, N)],
        sums: Tensor[f32, (M, 2)],
        at: Tensor[i32, (M,)],
        variances: Tensor[f32, (M,)],
    ) -> None:
        team = cl.Team.create(threads, cluster=cluster, reductions=reductions)
        team.ready()
        first, step = (cl.block_idx.x // cluster) * teams + team.index, cl.grid_dim.x // cluster * teams
        for row in range(first, M, step):
            total, top, whole = f32(0), Top(f32(-np.inf), i32(-1)), Moments(f32(0), f32(0), f32(0))
            for column in range(team.rank * threads + team.lane, N, threads * cluster):
                total += x[row, column]
                top = best(top, Top(x[row, column], i32(column)))
                whole = merge(whole, Moments(f32(1), x[row, column], f32(0)))
            added = team.reduce((total, total * total))
            top = team.reduce(top, best)
            whole = team.reduce(whole, merge)
            if team.lane == 0 and team.rank == 0:
                sums[row, 0], sums[row, 1] = added
                at[row] = top.at
                variances[row] = whole.squares / whole.count
        team.leave()

    return kernel


@pytest.mark.parametrize(("threads", "teams", "cluster"), TEAMS)
def test_teams_reduce_rows_one_after_the_other(place: Place, threads: int, teams: int, cluster: int) -> None:
    m, n = 2 * teams * 3 + 1, threads * cluster * 2 + (5 if threads > 1 else 3)
    x = np.random.default_rng(1).integers(-8, 8, (m, n)).astype(np.float32)
    sums, at, variances = np.full((m, 2), np.nan, np.float32), np.full(m, -9, np.int32), np.full(m, np.nan, np.float32)
    place(rows_by_team(threads, teams, cluster, None)[2 * cluster, threads * teams], x, sums, at, variances)
    np.testing.assert_array_equal(sums[:, 0], x.sum(1))
    np.testing.assert_array_equal(at, x.argmax(1))
    np.testing.assert_allclose(variances, x.astype(float).var(1), rtol=1e-5)


@pytest.mark.parametrize(("threads", "teams", "cluster"), [(64, 2, 1), (64, 1, 2), (32, 1, 4), (64, 2, 2), (8, 4, 1)])
def test_teams_have_no_race(threads: int, teams: int, cluster: int) -> None:
    m, n = 7, threads * cluster
    x = np.zeros((m, n), np.float32)
    results = np.zeros((m, 2), np.float32), np.zeros(m, np.int32), np.zeros(m, np.float32)
    kernel = rows_by_team(threads, teams, cluster, None)
    report = kernel.check(cluster, threads * teams, x, *results, seeds=2, notes=False)
    assert report, str(report)


TYPES: dict[str, Any] = {
    "i8": np.int8, "u16": np.uint16, "i32": np.int32, "u64": np.uint64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("operation", ["add", "sum", "max"])
def test_every_type_and_vectors_by_element(place: Place, name: str, operation: str) -> None:
    dtype, width = getattr(cl, name), 3

    @cl.kernel(block=64)
    def kernel(x: Tensor[dtype, (64, width)], out: Tensor[dtype, (64, width)], one: Tensor[dtype, (64,)]) -> None:
        mine = cl.make_rmem_tensor(dtype, (width,))
        for i in cl.static_range(width):
            mine[i] = x[cl.thread_idx.x, i]
        whole, single = cl.block_reduce((mine.load(), mine[0]), operation)
        out[cl.thread_idx.x, None].store(whole)
        one[cl.thread_idx.x] = single

    x = np.random.default_rng(2).integers(0, 2, (64, width)).astype(TYPES[name])
    out, one = np.zeros_like(x), np.zeros(64, x.dtype)
    place(kernel[1, 64], x, out, one)
    wide = x.astype(np.float64)
    expected = (wide.max(0) if operation == "max" else wide.sum(0)).astype(x.dtype)
    np.testing.assert_array_equal(out, np.broadcast_to(expected, out.shape))
    np.testing.assert_array_equal(one, np.full(64, expected[0]))


@pytest.mark.parametrize(("block", "cluster"), [(32, 1), (128, 1), (96, 1), (64, 2)])
def test_ordered_reductions_keep_the_order_of_threads(place: Place, block: int, cluster: int) -> None:
    @cl.kernel(block=block, cluster=cluster)
    def kernel(x: Tensor[cl.u32, (2, N)], out: Tensor[cl.u32, (2, N)]) -> None:
        i = cl.block_idx.x * block + cl.thread_idx.x
        out[0, i], out[1, i] = cl.cluster_reduce((x[0, i], x[1, i]), compose, ordered=True)

    x = np.random.default_rng(3).integers(0, 1 << 32, (2, block * cluster)).astype(np.uint32)
    out = np.zeros_like(x)
    place(kernel[cluster, block], x, out)
    scale, shift = 1, 0
    for a, b in x.T.tolist():
        scale, shift = scale * a % (1 << 32), (a * shift + b) % (1 << 32)
    np.testing.assert_array_equal(out, np.broadcast_to(np.array([[scale], [shift]], np.uint32), out.shape))


def test_a_block_reduces_in_a_loop(place: Place) -> None:
    @cl.kernel(block=128)
    def kernel(x: Tensor[i32, (M, 128)], out: Tensor[i32, (M,)]) -> None:
        for row in range(M):
            total = cl.block_reduce(x[row, cl.thread_idx.x])
            if cl.thread_idx.x == row % 128:
                out[row] = total

    x, out = np.arange(5 * 128, dtype=np.int32).reshape(5, 128), np.zeros(5, np.int32)
    place(kernel[1, 128], x, out)
    np.testing.assert_array_equal(out, x.sum(1))
    assert kernel.check(1, 128, x, out, seeds=3, notes=False)


@pytest.mark.parametrize("threads", [2, 8, 16])
def test_teams_of_a_warp_reduce_and_scan_alone(place: Place, threads: int) -> None:
    @cl.kernel(block=64)
    def kernel(out: Tensor[i32, (64,)]) -> None:
        team = cl.Team.create(threads)
        total = left = team.index % 3
        while left > 0:  # some teams go on longer than others
            total = team.reduce(total)
            _, total = team.scan(total, 0)
            left -= 1
        out[cl.thread_idx.x] = team.reduce(total, "max")

    out, rounds = np.zeros(64, np.int32), np.arange(64) // threads % 3
    place(kernel[1, 64], out)
    np.testing.assert_array_equal(out, rounds * threads ** (2 * rounds))
    assert kernel.check(1, 64, out, seeds=3, notes=False)


@pytest.mark.parametrize(
    ("threads", "teams", "cluster"), [(8, 4, 1), (32, 2, 1), (64, 2, 1), (96, 1, 1), (1, 32, 1), (8, 4, 3), (64, 1, 4)]
)
def test_teams_scan_in_a_loop(place: Place, threads: int, teams: int, cluster: int) -> None:
    @cl.kernel(block=threads * teams, cluster=cluster)
    def kernel(x: Tensor[cl.u32, (2, M, N)], before: Tensor[cl.u32, (2, M, N)], all: Tensor[cl.u32, (2, M)]) -> None:
        team = cl.Team.create(threads, cluster=cluster)
        team.ready()
        for row in range(team.index, M, teams):
            at = team.rank * threads + team.lane
            mine = x[0, row, at], x[1, row, at]
            found, total = team.scan(mine, (cl.u32(1), cl.u32(0)), compose)
            before[0, row, at], before[1, row, at] = found
            if at == 0:
                all[0, row], all[1, row] = total
        team.leave()

    m = 3 * teams + teams // 2  # of a warp some teams have a row less
    m += 8 * teams if cluster > 1 else 0  # places for messages are used again
    x = np.random.default_rng(4).integers(0, 1 << 32, (2, m, threads * cluster)).astype(np.uint32)
    before, all = np.zeros_like(x), np.zeros((2, m), np.uint32)
    place(kernel[cluster, threads * teams], x, before, all)
    for row in range(m):
        scale, shift = 1, 0
        for t in range(threads * cluster):
            assert (before[0, row, t], before[1, row, t]) == (scale, shift)
            a, b = x[:, row, t].tolist()
            scale, shift = scale * a % (1 << 32), (a * shift + b) % (1 << 32)
        assert (all[0, row], all[1, row]) == (scale, shift)
    assert kernel.check(cluster, threads * teams, x, before, all, seeds=2, notes=False)
