"""`kernels.attention.attention_fp8` against float64 on the same numbers in e4m3."""

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.attention import attention_fp8, reference
from cutelite.kernels.attention.fp8 import CHOSEN, LONG, build, picked
from cutelite.kernels.attention.model import Work
from cutelite.kernels.attention.scores import LN2, Problem
from cutelite.toolchain import find

pytestmark = pytest.mark.usefixtures("everywhere")

E4M3 = ml_dtypes.float8_e4m3fn


def inputs(batch: int, sq: int, sk: int, heads: int, kv_heads: int, dim: int, dim_v: int = 0) -> list[Any]:
    """Arrays of e4m3, and their scales."""
    numbers = np.random.default_rng(sq + sk)
    shapes = (sq, heads, dim), (sk, kv_heads, dim), (sk, kv_heads, dim_v or dim)
    arrays = [(numbers.standard_normal((batch, *shape)) * 16).astype(E4M3) for shape in shapes]
    return [*arrays, *(np.float32(numbers.uniform(0.5, 1.5, (batch, h)) / 16) for h in (heads, kv_heads, kv_heads))]


def compare(place: str, given: list[Any], tolerance: float = 0.05, **how: Any) -> None:
    """Compare output and logsumexps with float64.

    Tensor cores add up products of fp8 with a dozen bits below the greatest one, which the simulator does not.
    """
    o, lse = attention_fp8(*given, return_lse=True, **how)
    how.pop("config", None)
    whole = [x.astype(np.float64) * by_row(s, x.shape[1]) for x, s in zip(given[:3], given[3:], strict=True)]
    want, sums = reference(*whole, **how)
    assert np.linalg.norm(o.astype(np.float64) - want) <= tolerance * np.linalg.norm(want)
    q, k, _ = (np.abs(x).max() for x in whole)
    off = 1e-4 if place == "sim" else 2.0**-13 * q * k * whole[0].shape[-1] ** 0.5
    np.testing.assert_allclose(lse, sums, atol=off, rtol=1e-5)


def by_row(scales: Any, rows: int) -> Any:
    """The scale of each row, (B, S, H, 1), of scales of heads or blocks."""
    whole = scales[..., None] if scales.ndim == 2 else scales
    return whole.repeat(128 if scales.ndim == 3 else rows, -1)[..., :rows].swapaxes(1, 2)[..., None]


@pytest.mark.parametrize(
    ("shape", "how"),
    [
        ((1, 130, 200, 2, 1, 128), {}),
        ((2, 150, 300, 2, 2, 128), {"causal": True}),
        ((1, 150, 70, 1, 1, 64), {"causal": True}),  # the first 80 queries see nothing
        ((1, 65, 400, 2, 1, 96, 48), {"causal": True, "window": (150, None)}),
        ((1, 200, 300, 1, 1, 128), {"config": LONG}),
        ((1, 150, 300, 2, 1, 96, 64), {"config": LONG, "causal": True}),
        ((1, 1, 1, 1, 1, 16), {}),
    ],
)
def test_masks_lengths_and_head_dims(shape: tuple[int, ...], how: dict[str, Any], everywhere: str) -> None:
    compare(everywhere, inputs(*shape), **how)


@pytest.mark.parametrize("which", ["all", "values", "queries and keys"])
def test_scales_of_blocks(which: str, everywhere: str) -> None:
    """Blocks differ by four orders of magnitude; one of values is 0."""
    given, numbers = inputs(1, 300, 500, 2, 1, 64), np.random.default_rng(1)
    shapes = (1, 2, 3), (1, 1, 4), (1, 1, 4)
    scales = [(2.0 ** numbers.uniform(-10, 3, shape) / 16).astype(np.float32) for shape in shapes]
    scales[0][..., 1] *= 2.0**8
    scales[2][..., 1] = 0.0
    chosen = {"all": (0, 1, 2), "values": (2,), "queries and keys": (0, 1)}[which]
    for i in chosen:
        given[3 + i] = scales[i]
    compare(everywhere, given, causal=True)


def test_each_value_has_its_place() -> None:
    """Each query sees one key: what comes out is that key's value, bits and all."""
    q, k, v, *_ = inputs(1, 128, 128, 1, 1, 128)
    q, k = (np.zeros_like(x) for x in (q, k))
    order = np.random.default_rng(0).permutation(128)
    q[0, np.arange(128), 0, order], k[0, np.arange(128), 0, np.arange(128)] = 240, 240
    ones = np.ones((1, 1), np.float32)
    o = attention_fp8(q, k, v, ones, ones, ones)
    np.testing.assert_array_equal(o[0, :, 0].astype(np.float32), v[0, order, 0].astype(np.float32))


@pytest.mark.parametrize("kind", ["growing", "falling", "huge", "equal"])
def test_scores_of_all_kinds(kind: str, everywhere: str) -> None:
    given = inputs(1, 64, 640, 1, 1, 128)
    q, k = (x.astype(np.float32) for x in given[:2])
    if kind in ("growing", "falling"):
        q, k = 0.1 * q, 0.1 * k
        q[..., 0], k[..., 0] = 64, (np.arange(640) // 128).reshape(1, 640, 1) * (30 if kind == "growing" else -30)
    elif kind == "huge":
        q, k = 8 * q, 8 * k
    else:
        q, k = np.ones_like(q), np.ones_like(k)
    given[:2] = (np.clip(x, -448, 448).astype(E4M3) for x in (q, k))
    compare(everywhere, given)


@pytest.mark.parametrize("config", [CHOSEN, LONG])
def test_no_race_in_a_few_schedules(config: Any) -> None:
    q, k, v, *scales = inputs(1, 200, 300, 1, 1, 128)
    q, k, v = (np.ascontiguousarray(x.swapaxes(1, 2)) for x in (q, k, v))
    o, lse, counter = np.empty(q.shape, ml_dtypes.bfloat16), np.empty((1, 1, 200), np.float32), np.zeros(1, np.int32)
    kernel = build(config, Problem(cl.e4m3, 128, 128, right=True))
    report = kernel.check(
        1, None, q, k, v, o, lse, *scales, counter, 0.1 / LN2, 100, 1 << 30, 0, 1, seeds=2, notes=False
    )
    assert not report.kinds, str(report)


@pytest.mark.usefixtures("nvdisasm")
@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize("config", [CHOSEN, LONG])
def test_powers_are_taken_while_values_are_multiplied(config: Any) -> None:
    kernel = build(config, Problem(cl.e4m3, 128, 128, right=True))
    scales = (1, 2), (1, 2), (1, 2)
    compiled = kernel.compile(*[(1, 2, 512, 128)] * 4, (1, 2, 512), *scales, (1,), 1.0, 0, 0, 0, 1, arch="sm_90a")
    assert (compiled.spills, compiled.warnings) == (0, [])
    steps = compiled.sass.split("DEPBAR.LE gsb0, 0x1")[1:]
    assert steps
    for step in steps:
        assert step.partition("DEPBAR.LE gsb0, 0x0")[0].count("MUFU.EX2") >= config.columns // 2


def test_many_queries_without_a_mask_take_three_warpgroups() -> None:
    """As they were measured on 132 multiprocessors; but with 16 heads, tiles of 128 rows are one for each."""
    for length in (1024, 2048, 4096, 16384):
        work = Work(length, length, 16 * 16384 // length, 0, None, None)
        assert picked(work, False, 132) == LONG
        assert CHOSEN == picked(work, True, 132) == picked(work._replace(right=0), False, 132)
    assert picked(Work(1024, 1024, 16, 0, None, None), False, 132) == CHOSEN


def test_what_does_not_fit_is_refused() -> None:
    q, k, v, *scales = inputs(1, 8, 8, 2, 1, 64)
    with pytest.raises(ValueError, match="q_scale"):
        attention_fp8(q, k, v, *scales[::-1])
    with pytest.raises(ValueError, match=r"k_scale has shape .*of blocks of 128"):
        attention_fp8(q, k, v, scales[0], np.ones((1, 1, 2), np.float32), scales[2])
    with pytest.raises(ValueError, match="multiples of 16"):
        attention_fp8(q[..., :24], k[..., :24], v[..., :24], *scales)
    of_keys = [scales[0], *(np.ones((1, 1, 1), np.float32),) * 2]
    with pytest.raises(ValueError, match="a block of 96 keys may have two scales, of 128 keys each"):
        attention_fp8(q, k, v, *of_keys, config=replace(CHOSEN, columns=96))
