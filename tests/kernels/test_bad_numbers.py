"""Numbers in arrays that the device alone reads, such as lengths, pages and indices: what does not fit is reported by
the simulator, or counts as docs/debugging.md says.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import SimError
from cutelite.kernels.attention import attention, attention_varlen, attention_varlen_backward, decode, decode_latent
from cutelite.kernels.attention.blocks import create_block_mask
from cutelite.kernels.gemm import pointers
from cutelite.kernels.gemm.appended import appended_product
from cutelite.kernels.moe import combine, experts, sort
from cutelite.kernels.rows.cross_entropy import cross_entropy, cross_entropy_gradient
from cutelite.kernels.rows.embedding import embedding, embedding_backward
from cutelite.kernels.rows.histogram import histogram

BF16 = ml_dtypes.bfloat16


def some(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(BF16)


def whole(numbers: Any) -> Any:
    return np.array(numbers, np.int32)


def paged(table: Any, **how: Any) -> Any:
    """Decoding of 48 and 32 keys, from 12 pages of 16."""
    return decode(some(2, 1, 4, 64), some(12, 16, 2, 64), some(12, 16, 2, 64), table=whole(table), **how)


LENGTHS = {"lengths": whole([48, 32])}


def masked(order: Any = None, counts: Any = None) -> Any:
    """Attention by a block mask of two blocks of queries, of which lists may be wrong."""
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, device="cpu")
    for array, given in ((mask.order, order), (mask.counts, counts)):
        if given is not None:
            array[0, 0, 1] = given
    return attention(*[some(1, 256, 1, 64)] * 3, block_mask=replace(mask))


def ragged(of_queries: list[int], of_keys: list[int]) -> Any:
    x = some(300, 1, 64)
    return attention_varlen(x, x, x, whole(of_queries), whole(of_keys))


def derived(ends: list[int]) -> Any:
    x, of_keys = some(300, 1, 64), whole(ends)
    return attention_varlen_backward(x, x, x, x, x, np.zeros((1, 300), np.float32), of_keys)


def addressed(*sizes: tuple[int, int, int]) -> Any:
    at = cl.pointers([some(8, 8) for _ in sizes])
    return pointers.gemm(at, at, at, whole(sizes))


REPORTED: dict[str, tuple[Callable[[], Any], str]] = {
    "a page behind the last one": (lambda: paged([[1, 2, 3], [4, 12, 0]]), r"table\[1, 1\] is page 12 of 12"),
    "a page before the first one": (lambda: paged([[1, 2, 3], [-1, 4, 0]], **LENGTHS), r"table\[1, 0\] is page -1"),
    "a page of a window": (
        lambda: paged([[-1, 2, 3], [4, 5, -1]], **LENGTHS, window=(32, None)),
        r"table\[0, 0\] is page -1 of 12",
    ),
    "a page of latents": (
        lambda: decode_latent(some(1, 1, 16, 192), some(3, 16, 192), dim_v=128, table=whole([[0, 3]])),
        r"table\[0, 1\] is page 3 of 3",
    ),
    "sequences that descend": (lambda: ragged([0, 100, 50, 300], [0, 10, 20, 30]), "begin at 100, 50 and 300"),
    "keys that descend": (
        lambda: ragged([0, 10, 20, 30], [0, 100, 50, 300]),
        "sequence 1 begins at 100 and ends at 50",
    ),
    "one sequence that descends": (lambda: ragged([5, 3], [0, 300]), "sequence 0 begins at 5 and ends at 3"),
    "a sequence before the first row": (lambda: ragged([-1, 300], [0, 300]), "sequence 0 begins at -1"),
    "gradients of sequences that descend": (lambda: derived([0, 200, 100, 300]), "begin at 200, 100 and 300"),
    "a block of a mask": (lambda: masked(order=[0, 7]), "a block mask lists block 7 of 2"),
    "counts of a mask": (lambda: masked(counts=[2, 1]), "lists 1 blocks of keys, and 2 of them seen as a whole"),
    "too many blocks of a mask": (lambda: masked(counts=[1, 3]), "the index is 2, but the extent is KB = 2"),
    "a size that is negative": (lambda: addressed((4, 8, 8), (4, -8, 8)), "problem 1 is 4 x -8, of depth 8"),
    "a depth that is negative": (lambda: addressed((4, 8, -8)), "problem 0 is 4 x 8, of depth -8"),
}


@pytest.mark.parametrize("name", REPORTED)
def test_the_simulator_reports_what_does_not_fit(name: str) -> None:
    call, message = REPORTED[name]
    with pytest.raises(SimError, match=message):
        call()


def test_pages_that_no_query_sees_may_be_anything() -> None:
    for table, how in (
        ([[1, 2, 3], [4, 5, 99]], {}),
        ([[-7, 2, 3], [4, 5, -1]], {"window": (31, None)}),
        ([[99, 2, 3], [4, 5, -1]], {"starts": whole([16, 0])}),
    ):
        assert (paged(table, **LENGTHS, **how) == paged([[1, 2, 3], [4, 5, 6]], **LENGTHS, **how)).all()


@pytest.mark.sm(90)
def test_on_a_gpu_a_page_that_is_not_there_is_one_of_zeros() -> None:
    torch = pytest.importorskip("torch")
    cache = torch.randn(12, 16, 2, 64, dtype=torch.bfloat16, device="cuda")
    q, cache[0] = torch.randn(2, 1, 4, 64, dtype=torch.bfloat16, device="cuda"), 0
    for page in (12, 1 << 30, -1, -(1 << 31)):
        bad, zeros = (torch.tensor([[1, x, 3], [4, 5, x]], dtype=torch.int32, device="cuda") for x in (page, 0))
        assert torch.equal(decode(q, cache, cache, table=bad), decode(q, cache, cache, table=zeros))


@pytest.mark.parametrize("length", [-1, 4, 2**32 + 1])
def test_no_token_is_written_outside_of_a_cache(length: int) -> None:
    table, held = np.ones((1, 32), np.float32), np.array([length])
    keys, values = np.zeros((2, 2, 1, 4, 64), BF16)
    appended_product(some(2, 1, 64), some(64, 192), table, table, keys, values, held)
    assert not keys.any() and not values.any() and held == length + 1


def test_lengths_beyond_a_cache_are_those_of_the_cache() -> None:
    q, k = some(2, 1, 4, 64), some(2, 40, 2, 64)
    assert (decode(q, k, k, lengths=whole([41, 1 << 30])) == decode(q, k, k)).all()
    assert (decode(q, k, k, lengths=whole([-5, 0])) == 0).all()
    assert (decode(q, k, k, starts=whole([-5, 40]))[1] == 0).all()


def test_rows_that_are_not_there_are_zeros() -> None:
    table, places = some(5, 16), whole([4, 5, -1, 0])
    assert (embedding(table, places) == np.where([[1], [0], [0], [1]], table[[4, 0, 0, 0]], 0)).all()
    grown = embedding_backward(some(4, 16), places, 5)
    assert (grown[1:4] == 0).all() and (grown[0] == some(4, 16)[3]).all()
    assert (combine(table[:, :16], whole([[4], [5], [-9]])) == np.where([[1], [0], [0]], table[[4, 0, 0]], 0)).all()


def test_experts_and_bins_that_are_not_there_count_for_nothing() -> None:
    index = whole([[0, 2], [-1, 1], [1 << 30, 2]])
    made = sort(index, 2)
    assert made.ends.tolist() == [1, 2] and (made.place >= 0).sum() == 2
    x, weights = some(3, 16), np.ones((3, 2), np.float32)
    found = experts(x, some(2, 32, 16), some(2, 16, 16), index, weights)
    assert found[:2].any(axis=1).all() and not found[2].any()
    assert histogram(whole([0, 3, 4, -1, 1 << 30]), 4).tolist() == [1, 0, 0, 1]


def test_targets_that_are_not_there_have_a_logit_of_0() -> None:
    x, target, ones = some(4, 40).astype(np.float32), np.array([40, -1, -100, 1 << 40]), np.ones(4, np.float32)
    sums = np.log(np.exp(x).sum(1))
    np.testing.assert_allclose(cross_entropy(x, target).loss, sums * [1, 1, 0, 1], rtol=1e-5)
    out = np.empty_like(x)
    cross_entropy_gradient(ones, x, target, out=out)
    np.testing.assert_allclose(out, np.exp(x - sums[:, None]) * [[1], [1], [0], [1]], rtol=1e-4)
