"""`kernels.attention.decode_latent` against float64: lengths, pages, several queries, heads, splits."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.attention import decode_latent, reference
from cutelite.kernels.attention.latent import CHOSEN, PIECES, build
from cutelite.kernels.attention.scores import LN2, Problem
from cutelite.toolchain import find
from tests.kernels.test_attention_decode import paged

pytestmark = pytest.mark.usefixtures("everywhere")

BF16 = ml_dtypes.bfloat16


def inputs(batch: int, sq: int, sk: int, heads: int, dim: int) -> tuple[Any, Any]:
    numbers = np.random.default_rng(sq + sk)
    return tuple(numbers.standard_normal(s).astype(BF16) for s in ((batch, sq, heads, dim), (batch, sk, dim)))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("lengths", "sq", "heads", "dims", "page", "splits"),
    [
        ([200, 1, 130], 1, 16, (576, 512), 0, 2),
        ([150, 70], 2, 16, (576, 512), 16, 1),
        ([150], 1, 72, (192, 128), 17, 3),
        ([130], 5, 6, (264, 256), 0, None),
    ],
)
def test_lengths_pages_queries_and_splits(
    lengths: list[int], sq: int, heads: int, dims: tuple[int, int], page: int, splits: int | None
) -> None:
    dim, dim_v = dims
    q, c = inputs(len(lengths), sq, max(lengths), heads, dim)
    if page == 0:
        for b, length in enumerate(lengths):
            c[b, length:] = np.nan
    cache, table = paged(c, lengths, page) if page else (c, None)
    told = np.array(lengths, np.int32)
    o, lse = decode_latent(q, cache, dim_v=dim_v, lengths=told, table=table, splits=splits, return_lse=True)
    for b, length in enumerate(lengths):
        keys = c[b : b + 1, :length, None]
        want, sums = reference(q[b : b + 1], keys, keys[..., :dim_v], causal=True)
        np.testing.assert_allclose(o[b : b + 1].astype(np.float64), want, atol=8e-3, rtol=8e-3)
        np.testing.assert_allclose(lse[b : b + 1], sums, atol=1e-4, rtol=1e-5)


def test_scores_that_outgrow_every_block_and_a_sequence_without_keys() -> None:
    q, c = inputs(2, 1, 250, 3, 192)
    q[..., 0], c[..., 0] = 14, -(np.arange(250) // 64) * 30
    o, lse = decode_latent(q, c, dim_v=128, lengths=np.array([250, 0], np.int32), splits=1, return_lse=True)
    want, sums = reference(q[:1], c[:1, :, None], c[:1, :, None, :128])
    np.testing.assert_allclose(o[:1].astype(np.float64), want, atol=8e-3, rtol=8e-3)
    np.testing.assert_allclose(lse[:1], sums, rtol=1e-5)
    assert (o[1] == 0).all()
    assert (lse[1] == -np.inf).all()


def test_no_race_in_a_few_schedules() -> None:
    q, c = inputs(1, 2, 200, 2, 192)
    kernel = build(CHOSEN, Problem(cl.bf16, 192, 128, right=True), 2, 0, True)
    parts, sums = np.empty((*q.shape[:3], 1, 128), np.float32), np.empty((1, 2, 2, 1), np.float32)
    arrays = q, c.reshape(1, 1, 200, 192), parts, sums, np.array([190], np.int32), None
    report = kernel.check((1, 1), None, *arrays, 0.1 / LN2, 1, 1 << 30, 0, seeds=2, notes=False)
    assert not report.kinds, str(report)


@pytest.mark.usefixtures("nvdisasm")
@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
def test_registers_suffice_and_powers_are_taken_while_others_are_multiplied() -> None:
    kernel = build(CHOSEN, Problem(cl.bf16, 576, 512, right=True), 128, 64, True)
    arrays = (1, 1, 128, 576), (9, 1, 64, 576), (1, 1, 128, 4, 512), (1, 128, 1, 4)
    compiled = kernel.compile(*arrays, (1,), (1, 9), 1.0, 1, 0, 0, arch="sm_90a")
    assert (compiled.spills, compiled.warnings) == (0, [])
    behind = [part.rpartition("HGMMA")[2] for part in compiled.sass.split("DEPBAR.LE gsb0, 0x0") if "HGMMA" in part]
    assert max(x.count("MUFU.EX2") for x in behind) >= CHOSEN.columns // PIECES // 2


def test_what_does_not_fit_is_refused() -> None:
    q, c = inputs(2, 1, 32, 2, 192)
    with pytest.raises(ValueError, match="multiple of 128"):
        decode_latent(q, c, dim_v=64)
    with pytest.raises(cl.ArgumentError, match=r"\blatents`? cannot be accessed by TMA"):
        decode_latent(q, np.zeros((2, 32, 193), BF16)[..., :192], dim_v=128)
