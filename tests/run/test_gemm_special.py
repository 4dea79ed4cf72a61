"""The special GEMMs in every shape of tile they know, what they refuse, and what ptxas says of them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import ArgumentError
from cutelite.kernels.gemm import Config, dense, fp8_block, grouped, mixed
from cutelite.kernels.gemm.configs import Problem
from cutelite.kernels.gemm.fits import made_for
from cutelite.kernels.gemm.fp8_configs import TILES
from cutelite.toolchain import find
from tests.pairs import some

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BF16, FP8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


FP8_TILES: list[dict[str, Any]] = [
    {"stages": 2},
    {"piece": 32, "buffers": 4, "splits": 2},
    {"stages": 6, "piece": 64, "buffers": 1, "groups": 2, "regs": (40, 232)},
    {"columns": 64, "buffers": 1, "swizzle": 2},
    {"groups": 2, "columns": 64, "piece": 32, "splits": 8, "regs": (40, 232)},
    {"groups": 2, "strips": 2, "stages": 2, "buffers": 4, "regs": (40, 232)},
    {"groups": 1, "stages": 8, "piece": 32, "splits": 2, "regs": (40, 232)},
    {"groups": 1, "columns": 64, "stages": 12, "piece": 32, "regs": (40, 232)},
]


@pytest.mark.parametrize("config", some(FP8_TILES, 2), ids=lambda c: "-".join(map(str, c.values())))
def test_fp8_tiles(config: dict[str, Any]) -> None:
    import gemm_fp8_block

    gemm_fp8_block.main(270, 264, 272, fp8_block.Config(**config))


@pytest.mark.parametrize(
    ("shape", "splits", "parts"),
    [
        ((64, 8, 1552), 2, (2, 2, 2)),
        ((64, 8, 1552), 8, (7, 7, 7)),
        ((193, 72, 1200), 2, (4, 4, 2)),
        ((193, 72, 1200), 8, (10, 10, 5)),
        ((300, 264, 640), 2, (4, 2, 4)),
        ((300, 264, 640), 8, (6, 3, 6)),
    ],
)
def test_fp8_tiles_that_several_blocks_share(
    shape: tuple[int, int, int], splits: int, parts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One tile, two, and two behind four whole ones or one behind eight; numbers of blocks of K that are odd.

    More parts than blocks run at once, too, and no more than K has pairs of blocks.

    parts  of all tiles of 192, 128 and 256 rows, where 4 blocks run at once
    """
    import gemm_fp8_block
    from cutelite.kernels.arrays import empty as allocate

    made: list[int] = []

    def empty(like: Any, shape: tuple[int, ...], dtype: str) -> Any:
        made.append(shape[0])
        return allocate(like, shape, dtype)

    monkeypatch.setattr(fp8_block, "empty", empty)
    monkeypatch.setattr(fp8_block, "clusters_at_once", lambda blocks, like: 4)
    for config in (
        fp8_block.Config(splits=splits),
        fp8_block.Config(2, splits=splits, regs=(40, 232)),
        fp8_block.Config(2, strips=2, piece=32, splits=splits, regs=(40, 232)),
    ):
        gemm_fp8_block.main(*shape, config)
    assert made == [3 * parts[0], 2 * parts[1], 4 * parts[2]]


@pytest.mark.parametrize("far", [False, True])
def test_fp8_scales_of_any_strides_and_special_values(far: bool) -> None:
    """`far`: TMA brings scales of A, whose columns are further apart than they are long."""
    numbers = np.random.default_rng(3)
    m, n, k = 70, 136, 400
    a, b = (numbers.standard_normal((x, k)).astype(FP8) for x in (m, n))
    scale_a, scale_b = numbers.uniform(0.5, 2, (m, 4)).astype(np.float32), np.ones((4, 2), np.float32).T
    if far:
        scale_a = np.concatenate([scale_a, scale_a[:2]]).T.copy().T[:m]
    scale_a[3, 1], scale_a[5, 2] = np.nan, np.inf
    d = np.full((m, n), 7, ml_dtypes.bfloat16)
    fp8_block.gemm(a, b, scale_a, scale_b, d)
    with np.errstate(invalid="ignore"):
        expected = (a.astype(np.float64) * scale_a.repeat(128, 1)[:, :k]) @ b.astype(np.float64).T
    assert np.isnan(d[3].astype(float)).all() and not np.isfinite(d[5].astype(float)).any()
    fine = np.delete(np.arange(m), [3, 5])
    error = np.linalg.norm(d[fine].astype(float) - expected[fine]) / np.linalg.norm(expected[fine])
    assert error < 5e-3


@pytest.mark.parametrize("by_tma", [True, False])
def test_fp8_scales_of_the_last_block_may_be_infinite(by_tma: bool) -> None:
    """Blocks of K come in pairs: with 3 of them nothing is multiplied by what stands behind the last scales."""
    m, n, k = 16, 128, 384
    a, b, d = np.ones((m, k), FP8), np.ones((n, k), FP8), np.full((m, n), np.nan, ml_dtypes.bfloat16)
    scale_a, scale_b = np.ones((m, 3), np.float32, order="F" if by_tma else "C"), np.ones((1, 3), np.float32)
    scale_a[5, 2] = np.inf
    fp8_block.gemm(a, b, scale_a, scale_b, d)
    results = d.astype(float)
    assert np.isposinf(results[5]).all() and (np.delete(results, 5, 0) == k).all()
    scale_b[0, 2] = np.inf
    fp8_block.gemm(a, b, scale_a, scale_b, d)
    assert np.isposinf(d.astype(float)).all()


def test_fp8_refuses_what_does_not_fit() -> None:
    a, b, d = np.zeros((64, 128), FP8), np.zeros((128, 128), FP8), np.zeros((64, 128), ml_dtypes.bfloat16)
    one = np.ones((1, 1), np.float32)
    with pytest.raises(ValueError, match="not whole pieces"):
        fp8_block.build(fp8_block.Config(piece=32, buffers=3))
    with pytest.raises(ValueError, match="odd stages"):
        fp8_block.build(fp8_block.Config(stages=3))
    with pytest.raises(ValueError, match="columns of more than one scale"):
        fp8_block.build(fp8_block.Config(columns=192))
    with pytest.raises(ArgumentError, match="16"):
        fp8_block.gemm(a[:, :120].copy(), b[:, :120].copy(), np.ones((64, 1), np.float32), one, d)
    with pytest.raises(ArgumentError, match="8"):
        fp8_block.gemm(a, b[:127], np.ones((64, 1), np.float32), one, d[:, :127])


@pytest.mark.parametrize("tile", [(128, 256), (128, 128), (256, 64)])
@pytest.mark.parametrize("cluster", [1, 2])
def test_grouped_tiles(tile: tuple[int, int], cluster: int) -> None:
    """Pieces that go by TMA and pieces that threads write follow each other in the same buffers."""
    import gemm_grouped

    stages = 4 if tile[1] > 128 else 3
    config = Config(tile, cluster=(1, cluster), stages=stages)
    gemm_grouped.main((130, 257, 1, 0, 0, 70), min(392, 2 * tile[1] + 8), 72, 5, config=config)


@pytest.mark.parametrize(
    ("kind", "tokens", "groups", "splits"),
    [("i4", 8, 2, 3), ("i4", 64, 4, 2), ("i4", 128, 2, 1), ("i8", 16, 4, 1), ("e4m3", 32, 1, 2), ("i8", 256, 2, 3)],
)
def test_mixed_tiles(kind: str, tokens: int, groups: int, splits: int) -> None:
    import gemm_mixed

    regs = (40, 104) if groups == 4 else (40, 232)
    gemm_mixed.main(tokens + 5, 328, 520, kind, mixed.Config(tokens, groups, 2, splits, regs=regs))


def test_mixed_of_no_columns() -> None:
    packed = mixed.pack(np.zeros((64, 0), int), np.zeros((64, 0)), "i8")
    assert (mixed.gemm(np.zeros((3, 0), ml_dtypes.bfloat16), packed, "i8") == np.zeros((3, 64))).all()


def test_rows_with_gaps_that_begin_anywhere() -> None:
    """Of mixed's and of fp8's operands and results; nothing is written beside them."""
    rng, codes = np.random.default_rng(2), np.random.default_rng(3).integers(-8, 8, (16, 32))

    def rows(m: int, n: int, dtype: Any) -> tuple[Any, Any]:
        whole = np.full(m * (n + 3) + 1, np.nan, np.float32).astype(dtype)
        return whole[1:].reshape(m, n + 3)[:, :n], whole

    (x, _), (out, whole), (a, _), (b, _), (other, beside) = (
        rows(m, n, dtype) for m, n, dtype in ((5, 32, BF16), (5, 16, BF16), (5, 32, FP8), (16, 32, FP8), (5, 16, BF16))
    )
    for held in x, a, b:
        held[...] = rng.standard_normal(held.shape)
    mixed.gemm(x, mixed.pack(codes, np.ones((16, 1)), "i4"), "i4", out)
    ones = np.ones((5, 1), np.float32), np.ones((1, 1), np.float32)
    fp8_block.gemm(a, b, *ones, other, config=fp8_block.Config())
    for found, right, room in (
        (out, x.astype(float) @ codes.T, whole),
        (other, a.astype(float) @ b.T.astype(float), beside),
    ):
        assert np.linalg.norm(found.astype(float) - right) < 4e-3 * np.linalg.norm(right)
        assert np.isnan(room.astype(float)).sum() == room.size - found.size


def test_numbers_of_8_bits_are_packed_as_their_bytes_are() -> None:
    numbers, scales = np.random.default_rng(0).standard_normal((70, 200)).astype(FP8), np.ones((70, 2))
    by_bytes = mixed.pack(numbers.view(np.uint8), scales, "e4m3")
    np.testing.assert_array_equal(mixed.pack(numbers, scales, "e4m3"), by_bytes)


def fp8_kernels(config: fp8_block.Config) -> Iterator[Any]:
    scale_a, scale_b = np.zeros((4, 512), np.float32).T, np.zeros((4, 4), np.float32)
    a, d = np.zeros((512, 512), FP8), np.zeros((512, 512), ml_dtypes.bfloat16)
    forms = ((scale_a.T, None), (scale_b, None)), ((None, scale_a.T), (None, scale_b))
    gemm, add_up = fp8_block.build(config)
    parts = np.zeros((2 * config.groups * config.strips, 64, config.columns), np.float32)
    for of_a, of_b in forms:
        yield gemm.compile(a, a, d, *of_a, *of_b, None, 0, 2)
    yield gemm.compile(a, a, d, *forms[0][0], *forms[0][1], parts, 0, 2)
    yield add_up.compile(parts, d, 0, 2)


ROWS = Problem(cl.bf16, cl.bf16, cl.f32, cl.bf16, None, ("K", "K"), True, finish=cl.Finish(grouped.sums), groups="rows")
ALONG_K = Problem(cl.bf16, cl.bf16, cl.f32, cl.f32, None, ("MN", "MN"), True, groups="K")
LARGE = [c for c in grouped.CONFIGS if c.tile[0] * c.tile[1] >= 192 * 128 and made_for(c, grouped.fitted(c, ROWS))]


def grouped_kernels(config: Config) -> Iterator[Any]:
    a, b, d = (np.zeros(shape, BF16) for shape in ((512, 512), (4, 512, 512), (512, 512)))
    kernel = dense.build(replace(config, buffers=1), grouped.fitted(config, ROWS))
    yield kernel.compile(a, b, d, *(None,) * 4, 1.0, 0.0, None, np.zeros(4, np.int32), d)


def kernels_along_k(config: Config) -> Iterator[Any]:
    a, wide, ends = np.zeros((512, 512), BF16), np.zeros((4, 512, 512), np.float32), np.zeros(4, np.int32)
    yield dense.build(config, ALONG_K).compile(a, a, wide, wide, *(None,) * 3, 1.0, 1.0, None, ends, None)


def mixed_kernels(kind: str, tokens: int) -> Iterator[Any]:
    x, packed = np.zeros((512, 512), BF16), mixed.pack(np.zeros((512, 512), int), np.ones((512, 4)), kind)
    yield mixed.build(mixed.choose(tokens, 1 << 20, 512, kind, 4), kind).compile(x, packed, x[None])


ASSEMBLED: list[tuple[Any, tuple[Any, ...]]] = [
    *((fp8_kernels, (config,)) for config in TILES),
    *((mixed_kernels, of) for of in (("i4", 256), ("i8", 64), ("e4m3", 16), ("i4", 16), ("i8", 128))),
    *((kernels_along_k, (config,)) for config in grouped.CONFIGS[-2:]),
    *((grouped_kernels, (config,)) for config in {c.tile: c for c in LARGE}.values()),
]


@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize(("kernels", "of"), some(ASSEMBLED, 3))
def test_nothing_is_spilled_or_serialised(kernels: Any, of: tuple[Any, ...]) -> None:
    for compiled in kernels(*of):
        assert (compiled.spills, compiled.warnings) == (0, [])


@pytest.mark.parametrize("columns", [64, 128])
def test_fp8_of_few_rows_has_no_race(columns: int) -> None:
    """One warpgroup that multiplies; of each tile two blocks have a part of K, one of them odd blocks of 128."""
    m, n, k = 40, 136, 640
    config = fp8_block.Config(1, columns=columns, stages=2, piece=32, regs=(40, 232))
    a, b = np.ones((m, k), FP8), np.ones((n, k), FP8)
    d, parts = np.zeros((m, n), ml_dtypes.bfloat16), np.zeros((6, 64, columns), np.float32)
    scale_a, scale_b = np.ones((5, m), np.float32), np.ones((2, 5), np.float32)
    for last in (parts, 0, 2), (None, 3, 1):
        kernel, _ = fp8_block.build(config)
        report = kernel.check(2, None, a, b, d, scale_a, None, None, scale_b, *last, seeds=2, notes=False)
        assert not report.kinds, str(report)
    assert (d.astype(float) == k).all()
