"""Sums over two GPUs, both of which are blocks of one launch here."""

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, i64
from cutelite.kernels.rows import exchange

N, S, B = cl.dims("N S B")
bf16 = ml_dtypes.bfloat16


@cl.kernel(block=32)
def both(
    x: Tensor[cl.bf16, (2, N)], memory: Tensor[cl.bf16, (2, S)], flags: Tensor[i64, (2, B)],
    counts: Tensor[i64, (2, B)], vectors: cl.Constexpr[int],
) -> None:  # fmt: skip
    for r in cl.static_range(2):
        if cl.block_idx.y == r:
            theirs, their_flags = memory[1 - r, None], flags[1 - r, None]
            mine = x[r, None], x[r, None], memory[r, None], theirs, flags[r, None], their_flags, counts[r, None]
            exchange.exchange(*mine, vectors, cl.grid_dim.x)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "THREADS", 32)
    monkeypatch.setattr(exchange, "SLOT", 32 * exchange.VECTOR * exchange.MANY)


@pytest.mark.usefixtures("small")
def test_calls_of_all_sizes_one_after_the_other() -> None:
    random, blocks = np.random.default_rng(0), 3
    memory = np.full((2, blocks * 2 * exchange.SLOT), np.nan, bf16)
    flags, counts = np.zeros((2, blocks), np.int64), np.zeros((2, blocks), np.int64)
    for count, grid, vectors in ((8, 1, 1), (5000, 3, 4), (1608, 3, 1), (2048, 2, 4)):
        x = random.standard_normal((2, count)).astype(bf16)
        right = (x[0].astype(np.float32) + x[1].astype(np.float32)).astype(bf16)
        both[(grid, 2), None](x, memory, flags, counts, vectors)
        np.testing.assert_array_equal(x, np.stack([right, right]))
    assert counts.tolist() == flags.tolist() and counts[0].tolist() == [1 + 2 + 3 + 1, 2 + 2 + 1, 1 + 2]


@pytest.mark.usefixtures("small")
def test_nothing_is_read_early_or_written_over() -> None:
    """Three rounds of each block: places are used again."""
    vectors = exchange.FEW
    memory, flags, counts = (
        np.zeros((2, 4 * exchange.SLOT), bf16),
        np.zeros((2, 2), np.int64),
        np.zeros((2, 2), np.int64),
    )
    x = np.ones((2, 5 * 32 * exchange.VECTOR * vectors), bf16)
    report = both.check_launch(cl.Launch((2, 2), 32), x, memory, flags, counts, vectors)
    assert report.error is None and not report.findings, report


def test_a_launch_beside_one_that_has_come() -> None:
    """Of an array whose other half lies in its place already, with its flag."""
    random = np.random.default_rng(1)
    x, other = random.standard_normal((2, 16)).astype(bf16)
    mine, theirs = np.zeros((2, 2 * exchange.SLOT), bf16)
    mine[:16] = other
    flags, their_flags, counts = np.ones(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    right = (x.astype(np.float32) + other.astype(np.float32)).astype(bf16)
    given = x.copy()
    exchange.add_other(x, (mine, theirs, flags, their_flags, counts))
    np.testing.assert_array_equal(x, right)
    np.testing.assert_array_equal(theirs[:16], given)
    assert their_flags == counts == 1
