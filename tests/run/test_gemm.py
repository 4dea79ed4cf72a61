"""The GEMM of the library in its configurations, types, majors and epilogues, at shapes that no tile divides."""

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from common import array, poisoned, to_numpy
from cutelite import CompileError, Finish, WarpgroupMmaOp, bf16, e4m3, f32, f64, i8, i32, tf32
from cutelite.kernels.functions import settled
from cutelite.kernels.gemm import CONFIGS, Config, dense, fits, gemm, model, pitch, rates, reference
from cutelite.kernels.gemm.call import silu
from cutelite.kernels.gemm.configs import Problem, beside, slim, swapped
from cutelite.kernels.gemm.fits import made_for, wide
from cutelite.kernels.gemm.model import Sizes, microseconds, table_of
from cutelite.kernels.gemm.rates import AT_ONCE
from tests.pairs import covering, in_pairs, some

SHAPE = 136, 264, 208
BF16 = 4e-3


def close(found: Any, right: Any, most: float = BF16) -> bool:
    """Whether the error is small, relative to the result in the Frobenius norm."""
    return float(np.linalg.norm(to_numpy(found) - right)) <= most * float(np.linalg.norm(right))


def operand(rng: Any, *shape: int, dtype: str, transposed: bool) -> Any:
    """A random (..., rows, columns) array, contiguous along its last mode or its last but one."""
    values = rng.integers(-100, 100, shape) if dtype == "int8" else rng.standard_normal(shape, dtype=np.float32)
    return lying(values, dtype, transposed)


def lying(values: Any, dtype: str, transposed: bool) -> Any:
    """Return an array of these values, contiguous along its last mode or its last but one."""
    return array(values.swapaxes(-1, -2), dtype).swapaxes(-1, -2) if transposed else array(values, dtype)


def compare(
    shape: tuple[int, ...] = SHAPE, dtype: str = "bfloat16", out: str = "", majors: str = "KK", tolerance: float = BF16,
    c: bool = False, bias: str = "", scales: str = "", **how: Any,
) -> None:  # fmt: skip
    """Multiply, and compare with float64 in the Frobenius norm; what is not written stays NaN."""
    *lead, m, n, k = shape
    rng, out = np.random.default_rng(3), out or dtype
    a = operand(rng, *lead, m, k, dtype=dtype, transposed=majors[0] == "M")
    b = operand(rng, *lead, k, n, dtype=dtype, transposed=majors[1] == "K")
    d, more = poisoned(*lead, m, n, dtype=out), dict(how)
    right = to_numpy(a).astype(np.float64) @ to_numpy(b) * how.get("alpha", 1.0)
    if scales:
        of_a, of_b = ((m, 1), (1, n)) if scales == "rows" else ((1,), (1,))
        more["scale_a"], more["scale_b"] = (array(rng.random(s) + 0.5, "float32") for s in (of_a, of_b))
        right = right * to_numpy(more["scale_a"]) * to_numpy(more["scale_b"])
    if c:
        more["c"] = operand(rng, *lead, m, n, dtype=out, transposed=False)
        right = right + how.get("beta", 1.0) * to_numpy(more["c"])
    if bias:
        more["bias"] = array(rng.standard_normal(n), bias)
        right = right + to_numpy(more["bias"])
    if how.get("activation"):
        right = right.clip(0.0)
    gemm(a, b, d, **more)
    assert close(d, right, tolerance)


def relu(x: Any) -> Any:
    return max(x, 0.0)


UNLIKE = {(c.tile, c.pingpong, c.cluster, c.splits > 1, c.together > 1, c.stream): c for c in CONFIGS if not c.swapped}
"""Of those that differ only in how many blocks share a tile, or in how tiles are walked, one."""


def pairs_of(config: Config) -> set[Any]:
    """What a configuration tries: its columns, whole 64 and the rest, and each pair of its other properties."""
    (rows, columns), shared = config.tile, (config.splits > 1, config.together > 1, config.stream)
    others = config.pingpong, config.cluster, *shared
    return {("rest", columns % 64), ("64", columns // 64), *combinations(enumerate((rows, *others)), 2)}


COVERING = covering(list(UNLIKE.values()), pairs_of)


@pytest.mark.parametrize(
    "config",
    [pytest.param(c, marks=() if c in COVERING else pytest.mark.gpu) for c in UNLIKE.values()],
    ids=map(str, UNLIKE.values()),
)
def test_every_configuration(config: Config) -> None:
    """Of few tiles: as many as a cluster has, and part of the next one."""
    m, n, k = SHAPE
    rows, columns = (extent * blocks + 8 for extent, blocks in zip(config.tile, config.cluster, strict=True))
    compare((min(m, rows), min(n, columns), k), config=config)


ALONE = covering(
    list(UNLIKE.values()),
    lambda c: {*enumerate((c.tile[0], c.pingpong, c.cluster, c.splits > 1, c.together, c.stream))},
)
"""Together they have each value of each of these."""


@pytest.mark.parametrize("config", some(ALONE, 2), ids=str)
def test_one_row(config: Config) -> None:
    compare((1, 8, 8), config=config)


@pytest.mark.parametrize("majors", ["KN", "MK", "MN"])
@pytest.mark.parametrize("config", [CONFIGS[0], Config((128, 192), True, (1, 2))], ids=str)
def test_majors(majors: str, config: Config) -> None:
    compare((200, 264, 136), majors=majors, config=config)


@pytest.mark.parametrize(
    "config",
    [
        Config((128, 320), cluster=(1, 2), stages=3, piece=160, buffers=1, regs=(24, 240)),
        Config((192, 192), cluster=(2, 1), stages=3, piece=32, buffers=1),
    ],
    ids=str,
)
def test_tiles_whose_columns_two_warpgroups_share_out(config: Config) -> None:
    compare((264, 696, 136), majors="MN", config=config, c=True, beta=0.5, bias="float32")


IN_PARTS_OF_K = [
    Config((128, 192), True, (2, 1)),
    Config((128, 160), True, (2, 1), 3, piece=32),
    Config((128, 96), cluster=(2, 1), stages=3, piece=32, buffers=1),
    swapped(96, 128, cluster=2),
    beside(slim(96, 192, True), 4),
]


@pytest.mark.parametrize("config", IN_PARTS_OF_K, ids=str)
def test_operands_along_m_and_n_of_which_blocks_bring_parts_of_k(config: Config) -> None:
    compare((264, 392, 136), majors="MN", config=config)


FEW = Config((128, 64), cluster=(1, 1), buffers=1), Config((64, 64), True, (1, 1), buffers=1)


@pytest.mark.parametrize(("config", "m"), some(product(FEW, (1, 8, 16, 33, 64)), 2))
def test_few_rows(config: Config, m: int) -> None:
    compare((m, 264, 520), config=config)
    compare((2, m, 72, 136), "float16", tolerance=5e-4, config=config)


@pytest.mark.parametrize("n", [8, 33])
def test_few_columns(n: int) -> None:
    compare((150, n, 136), config=swapped(72, 128))


def test_stages_of_eight_rows_are_many() -> None:
    """Not those that blocks of a cluster bring, or that wgmma cannot read again and again."""
    lone, pair = (Config((64, 64), True, cluster, 10, buffers=1) for cluster in ((1, 1), (1, 2)))
    of = {rows: Problem(bf16, bf16, f32, bf16, rows=rows) for rows in (8, 16)}
    assert [fits.settled(*how).stages for how in ((pair, of[8]), (lone, of[16]))] == [10, 10]
    assert fits.settled(lone, of[8]).stages > 20


def test_rows_that_are_not_brought_are_zeros() -> None:
    """NaN in rows that are there stays in them."""
    a, b = (np.ones(shape, np.float32) for shape in ((5, 64), (64, 64)))
    a[3, 2] = np.nan
    d = gemm(array(a, "bfloat16"), array(b, "bfloat16"), config=Config((64, 64), True, (1, 1), buffers=1))
    assert np.isnan(to_numpy(d)).all(axis=1).tolist() == [False, False, False, True, False]
    assert (to_numpy(d)[[0, 1, 2, 4]] == 64).all()


def apart(rng: Any, rows: int, columns: int) -> Any:
    """A matrix of any size whose rows lie a multiple of 16 bytes apart, as TMA needs it."""
    return operand(rng, rows, -(-columns // 8) * 8, dtype="bfloat16", transposed=False)[:, :columns]


@pytest.mark.parametrize("shape", [(1, 7, 129), (7, 129, 13), (129, 9, 1030)])
@pytest.mark.parametrize("splits", [1, 2])
def test_any_size_where_rows_are_padded(shape: tuple[int, int, int], splits: int) -> None:
    (m, n, k), rng = shape, np.random.default_rng(4)
    a, b, c, d = apart(rng, m, k), apart(rng, n, k).T, apart(rng, m, n), poisoned(m, n + -n % 8, dtype="bfloat16")
    config = Config((64, 64), True, (1, 1), piece=32, buffers=1, splits=splits)
    gemm(a, b, d[:, :n], c=c, beta=1.0, config=config)
    right = to_numpy(a).astype(np.float64) @ to_numpy(b) + to_numpy(c)
    assert close(d[:, :n], right)
    assert np.isnan(to_numpy(d)[:, n:]).all()


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 9), (3, 13, 64), (2, 9, 20, 35)], ids=str)
@pytest.mark.parametrize("majors", ["KK", "MN"])
def test_operands_that_tma_cannot_read_are_copied(shape: tuple[int, ...], majors: str) -> None:
    compare(shape, majors=majors, config=Config((64, 64), True, (1, 1), buffers=1))


@pytest.mark.parametrize(
    ("first", "step", "n", "config"),
    [
        (0, 19, 19, Config((64, 64), True, (1, 1), buffers=1)),
        (3, 24, 16, Config((64, 64), True, (1, 1), buffers=1)),
        (0, 17, 16, Config((128, 208), pingpong=True, piece=208, buffers=1, regs=(24, 240))),  # not to be had in f32
        (8, 24, 16, Config((64, 64), True, (1, 1), buffers=1, splits=2)),
    ],
    ids=str,
)
@pytest.mark.parametrize("own", [False, True])
def test_c_and_results_that_tma_cannot_take(first: int, step: int, n: int, config: Config, own: bool) -> None:
    """Rows that begin anywhere, of results and of C, which may be the results; nothing is written beside them."""
    rng = np.random.default_rng(7)
    a, b = (operand(rng, rows, 200, dtype="bfloat16", transposed=False) for rows in (21, n))
    held = [poisoned(21 * step + 16, dtype="bfloat16") for _ in range(2)]
    d, c = (x[first : first + 21 * step].reshape(21, step)[:, :n] for x in held)
    c = d if own else c
    c[...] = operand(rng, 21, n, dtype="bfloat16", transposed=False)
    right = 2.0 * to_numpy(c) + to_numpy(a).astype(np.float64) @ to_numpy(b).T
    gemm(a, b.T, d, c=c, beta=2.0, config=config)
    assert close(d, right)
    assert np.isnan(to_numpy(held[0])).sum() == len(held[0]) - 21 * n


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
@pytest.mark.parametrize("shape", [(1, 5, 37), (2, 7, 129), (1, 3, 8)], ids=str)
def test_rows_are_copied_to_rows_that_begin_elsewhere(shape: tuple[int, int, int], dtype: str) -> None:
    batches, rows, columns = shape
    values = np.arange(batches * rows * columns).reshape(shape) % 100
    for before, after in ((0, 3), (5, 1), (16, 0)):
        source = array(np.pad(values, ((0, 0), (0, 0), (0, before))), dtype)[..., :columns]
        whole, other = (array(np.full((batches, of, columns + after), 100), dtype) for of in (rows, 2))
        pitch.copy_rows((source, whole[..., :columns]), (source[:, :2], other[..., :columns]))
        found = to_numpy(whole)
        assert (to_numpy(other)[..., :columns] == values[:, :2]).all() and (to_numpy(other)[..., columns:] == 100).all()
        assert (found[..., :columns] == values).all() and (found[..., columns:] == 100).all()


def test_a_row_of_any_length_is_multiplied_where_it_lies() -> None:
    for dtype, out in (("float8_e5m2", "bfloat16"), ("float8_e4m3fn", "bfloat16"), ("int8", "int32")):
        compare((1, 16, 37), dtype, out, config=SMALL)


def test_operands_with_steps_between_all_elements() -> None:
    rng = np.random.default_rng(6)
    a, b = (operand(rng, 48, 80, dtype="bfloat16", transposed=False)[::2, step::2] for step in (0, 1))
    found, right = gemm(a, b.T, config=Config((64, 64), True, (1, 1), buffers=1)), reference(to_numpy(a), to_numpy(b).T)
    assert close(found, right)


@pytest.mark.parametrize("n", [40, 37])
@pytest.mark.parametrize("splits", [1, 2])
def test_batches_that_lie_apart(splits: int, n: int) -> None:
    rng = np.random.default_rng(5)
    a, b = (operand(rng, 3, rows, 136, dtype="bfloat16", transposed=False) for rows in (40, n))
    d = poisoned(3, 50, 80, dtype="bfloat16")
    config = Config((64, 64), True, (1, 1), piece=32, buffers=1, splits=splits)
    gemm(a, b.swapaxes(1, 2), d[:, :40, :n], config=config)
    right = to_numpy(a).astype(np.float64) @ to_numpy(b).swapaxes(1, 2)
    assert close(d[:, :40, :n], right)
    assert np.isnan(to_numpy(d)[:, 40:]).all() and np.isnan(to_numpy(d)[:, :, n:]).all()


@pytest.mark.parametrize("cluster", [(4, 2), (2, 4)])
def test_clusters_along_both_modes(cluster: tuple[int, int]) -> None:
    compare((520, 136, 200), config=Config((128, 128), True, cluster, stages=3))
    compare((264, 136, 328), config=Config((64, 64), True, cluster, stages=3, piece=16, buffers=1, splits=2))


def test_tiles_along_a_hilbert_curve() -> None:
    compare((392, 520, 72), config=Config((128, 128), True, (1, 1), stages=4, raster="hilbert"))
    compare((392, 520, 72), config=Config((128, 128), cluster=(1, 2), raster="hilbert"))


BANDS = Config((64, 64), True, (1, 2), stages=3, piece=16, buffers=1, swizzle=3)


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A function of a product's sizes and of fields of its configuration: raster and width of bands that it takes."""
    taken: list[Any] = []
    monkeypatch.setattr(dense, "multiply", lambda config, *_: taken.append((config.raster, config.swizzle)))

    def order(m: int, n: int, k: int, at_once: int = 4, **how: Any) -> Any:
        monkeypatch.setattr(dense, "clusters_at_once", lambda *_: at_once)
        gemm(np.ones((m, k), np.float16), np.ones((k, n), np.float16), config=replace(BANDS, **how))
        return taken.pop()

    return order


def test_bands_go_along_n_where_they_have_all_of_m(order: Callable[..., Any]) -> None:
    deep = 64 * model.WRITTEN + 8
    assert order(136, 520, deep) == order(520, 136, deep, swapped=True) == ("N", 3)  # three clusters by five
    assert order(136, 520, deep, raster="M") == order(136, 520, deep, raster="M", swapped=True) == ("M", 3)
    assert order(136, 520, deep, swapped=True) == order(520, 136, deep) == order(200, 520, deep) == (None, 3)
    assert order(40, 1032, deep) == order(136, 520, deep, at_once=15) == (None, 3)  # one row of clusters, one round
    assert order(136, 520, deep, cluster=(2, 1)) == order(136, 520, deep, cluster=(1, 1)) == (None, 3)


def test_rows_of_results_are_whole_where_storing_them_is_the_work(
    order: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shallow = 64 * model.WRITTEN
    assert order(520, 520, shallow) == ("N", 1) and order(520, 520, shallow, swapped=True) == ("M", 1)
    assert order(520, 520, shallow, at_once=100) == (None, 3) and order(520, 520, shallow, raster="M") == ("M", 3)
    monkeypatch.setattr(model, "IN_L2", 4 * 520 * shallow - 1)  # operands would come from DRAM again
    assert order(520, 520, shallow) == (None, 3)


@pytest.mark.parametrize("turned", [False, True])
def test_tiles_by_bands_along_n(turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "clusters_at_once", lambda *_: 4)
    compare((520, 136, 200) if turned else (136, 520, 200), config=replace(BANDS, swapped=turned))


TYPES = [
    ("float16", "float16", "KN", 5e-4),
    ("float8_e4m3fn", "bfloat16", "KK", BF16),
    ("float8_e5m2", "bfloat16", "KK", BF16),
    ("int8", "int32", "KK", 0.0),
    ("float32", "float32", "KK", 1e-3),
]


@pytest.mark.parametrize(
    ("config", "dtype", "out", "majors", "tolerance"),
    some(
        (
            (config, *of)
            for config in (Config((128, 128), cluster=(1, 2), piece=32), Config((128, 64), True, (1, 1), piece=32))
            for of in TYPES
        ),
        2,
    ),
)
def test_types(config: Config, dtype: str, out: str, majors: str, tolerance: float) -> None:
    how: dict[str, Any] = {"precision": "tf32"} if dtype == "float32" else {}
    compare((136, 264, 272), dtype, out, majors, tolerance, config=config, **how)
    if majors == "KK":  # rows of results that TMA would write beyond
        compare((70, 101, 272), dtype, out, majors, tolerance, config=config, **how)


EPILOGUES: list[dict[str, Any]] = [
    {"c": True, "bias": "float32", "alpha": 0.5, "beta": -2.0, "activation": relu},
    {"c": True},
    {"bias": "bfloat16"},
]


@pytest.mark.parametrize(("pingpong", "buffers", "more"), in_pairs((False, True), (1, 2), EPILOGUES))
def test_epilogues(pingpong: bool, buffers: int, more: dict[str, Any]) -> None:
    compare(config=Config((128, 128), pingpong, stages=3, buffers=buffers), **more)


@pytest.mark.parametrize("scales", ["one", "rows"])
@pytest.mark.parametrize("config", [Config(buffers=1), Config((128, 208), True, piece=208, buffers=1, regs=(24, 240))])
def test_scales(scales: str, config: Config) -> None:
    compare((136, 264, 272), "float8_e4m3fn", "bfloat16", scales=scales, bias="float32", config=config)


@pytest.mark.parametrize(
    "config", [CONFIGS[0], Config((128, 128), True, stages=3), Config((64, 64), True, buffers=1, splits=2)]
)
def test_batches(config: Config) -> None:
    compare((3, 72, 136, 328), majors="MK", c=True, bias="float32", beta=0.5, activation=relu, config=config)


TOGETHER = [
    Config((128, 64), cluster=(1, 1), stages=6, piece=32, buffers=1, together=2),
    Config((128, 128), cluster=(1, 1), stages=4, piece=32, buffers=1, together=4),
    Config((128, 256), cluster=(1, 1), stages=4, piece=64, buffers=2, together=2),
    Config((64, 128), True, (1, 1), stages=5, piece=32, buffers=1, together=3),
    Config((64, 64), True, (1, 1), stages=6, piece=16, buffers=1, together=4),
    Config((64, 128), True, (1, 1), stages=6, piece=16, buffers=1, together=8),
    Config((64, 64), True, (1, 1), stages=6, piece=32, buffers=1, together=2, splits=2),
    Config((192, 40), True, (1, 1), stages=6, piece=8, buffers=1, together=8),
]


def test_pieces_of_256_bytes_leave_by_two_copies() -> None:
    compare((136, 136, 72), config=Config((128, 128), True, (1, 1), stages=4, piece=128, buffers=1))


@pytest.mark.parametrize("number", some(range(len(TOGETHER)), 2), ids=lambda number: str(TOGETHER[number]))
def test_blocks_of_a_cluster_share_the_k_of_a_tile(number: int) -> None:
    """Each as it comes, and one after the other with more to do."""
    config = TOGETHER[number]
    compare((136, 136, 520), config=config)
    if number % 3 == 0:
        compare((2, 33, 72, 200), "float16", tolerance=5e-4, config=config)  # for some, fewer steps than blocks
    elif number % 3 == 1:
        compare((72, 136, 784), c=True, beta=0.5, bias="float32", activation=relu, alpha=0.25, config=config)
    else:
        compare((9, 64, 784), "float8_e4m3fn", "bfloat16", scales="rows", config=config)


@pytest.mark.parametrize("splits", [2, 3, 5])
def test_splits(splits: int) -> None:
    config = Config((128, 64), cluster=(1, 2), stages=3, piece=32, buffers=1, splits=splits)
    compare((72, 136, 648), c=True, bias="float32", alpha=2.0, beta=0.5, activation=relu, config=config)
    compare((72, 136, 656), "float8_e4m3fn", "bfloat16", scales="rows", config=config)
    most, k = 127, 1168  # an odd sum beyond what f32 has exactly
    a, b = array(np.full((9, k), most), "int8"), array(np.full((70, k), most), "int8")
    a[:, 0] = 126
    found = gemm(a, b.T, poisoned(9, 70, dtype="int32"), config=config)
    assert most * (most * k - 1) > 2**24 and (to_numpy(found) == most * (most * k - 1)).all()


def test_repeated_runs_are_equal() -> None:
    rng = np.random.default_rng(5)
    a, b = (
        operand(rng, 72, 648, dtype="bfloat16", transposed=False),
        operand(rng, 648, 264, dtype="bfloat16", transposed=True),
    )
    config = Config((64, 64), True, stages=3, piece=32, splits=3)
    first, again = (to_numpy(gemm(a, b, config=config)) for _ in range(2))
    assert (first == again).all()


def test_nan_and_infinity_propagate() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((72, 64), dtype=np.float32), rng.standard_normal((64, 72), dtype=np.float32)
    a[3, 5], a[7, 0], b[0, :] = np.nan, np.inf, 1.0
    d = to_numpy(gemm(array(a, "bfloat16"), array(np.ascontiguousarray(b), "bfloat16"), config=CONFIGS[0]))
    assert np.isnan(d[3]).all() and (d[7] == np.inf).all() and np.isfinite(np.delete(d, (3, 7), 0)).all()


CHECKED = [
    (Config(swizzle=3), (136, 264, 328)),
    (Config((128, 192), True, swizzle=3), (136, 264, 328)),
    (Config((128, 64), cluster=(1, 4), stages=3, buffers=1, swizzle=3), (72, 264, 200)),
    (Config((128, 64), cluster=(1, 1), stages=4, piece=32, buffers=1, together=2), (136, 40, 584)),
    (Config((64, 64), True, (1, 1), stages=3, piece=16, buffers=1, together=3), (72, 40, 712)),
    (Config((64, 64), True, (1, 1), buffers=1), (5, 520, 968)),  # 24 stages of eight rows, and 16 steps
]
"""With sizes of a few tiles, at which each ring turns."""


@pytest.mark.parametrize(("config", "shape"), CHECKED)
def test_the_checker_finds_nothing(config: Config, shape: tuple[int, int, int], checked: Callable[[int], None]) -> None:
    checked(2 if config is CHECKED[0][0] else 1)  # of the same kernel: a second schedule takes the other of two waits
    compare(shape, bias="float32", config=config)


SMALL = Config((64, 64), True, (1, 1), stages=3, buffers=1)


def test_results_that_lie_on_operands_or_each_other_are_refused() -> None:
    room = array(np.ones((48, 64)), "bfloat16")
    x, beside = room[:32, :32], room[:32, 32:]
    assert (to_numpy(gemm(x, x, beside)) == 32).all()
    for out in x, room.reshape(-1)[: 32 * 32].reshape(32, 32):
        with pytest.raises(ValueError, match="out lies where a does"):
            gemm(x, x, out)
    dense = array(np.ones((64, 32)), "bfloat16")
    with pytest.raises(ValueError, match="out lies where b does"):
        gemm(x, dense[:32], dense[16:48])
    with pytest.raises(ValueError, match="out lies where c does"):
        gemm(x, x, dense[16:48], c=dense[:32], beta=1.0)
    with pytest.raises(ValueError, match="out lies where bias does"):
        gemm(x, x, dense[:32], bias=dense[3])
    strided = np.lib.stride_tricks.as_strided
    rows = strided(dense, (32, 32), (32, 2)) if isinstance(dense, np.ndarray) else dense.as_strided((32, 32), (16, 1))
    with pytest.raises(ValueError, match="out has elements in one place, or between others"):
        gemm(x, x, rows)


def test_nothing_of_c_is_read_where_beta_is_0() -> None:
    x = array(np.ones((16, 16)), "bfloat16")
    c, config = array(np.full((16, 16), np.nan), "bfloat16"), Config((64, 64), True, (1, 1), buffers=1)
    found = gemm(x, x, c=c, beta=0.0, config=config)
    assert (to_numpy(found) == 16).all()


def test_batches_of_a_are_rows_of_one_matrix() -> None:
    compare_folded((2, 3, 40, 64), (64, 72))
    compare_folded((2, 3, 40, 64), (2, 3, 64, 72))


def compare_folded(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(8)
    a, b = (operand(rng, *shape, dtype="bfloat16", transposed=False) for shape in (left, right))
    c = operand(rng, *left[:-1], right[-1], dtype="bfloat16", transposed=False)
    wide = poisoned(*left[:-2], left[-2] + 8, right[-1], dtype="bfloat16")
    for out in (None, poisoned(*left[:-1], right[-1], dtype="bfloat16")):
        d = gemm(a, b, out, c=c, beta=2.0, config=SMALL)
        assert tuple(d.shape) == (*left[:-1], right[-1]) and (out is None or d is out)
        expected = reference(to_numpy(a), to_numpy(b), c=to_numpy(c), beta=2.0)
        assert close(d, expected)
    if len(right) == 2:
        gemm(a, b, wide[..., : left[-2], :], config=SMALL)  # rows are evenly apart within batches alone
        d, rest = to_numpy(wide[..., : left[-2], :]), to_numpy(wide[..., left[-2] :, :])
        expected = reference(to_numpy(a), to_numpy(b))
        assert np.linalg.norm(d - expected) <= BF16 * np.linalg.norm(expected)
        assert np.isnan(rest).all()
        apart = poisoned(left[0], left[1] + 1, *left[2:-1], right[-1], dtype="bfloat16")[:, : left[1]]
        with pytest.raises(ValueError, match="not evenly apart"):
            gemm(a, b, apart, config=SMALL)


def test_an_activation_written_in_place_is_one_kernel_however_often_it_is_made() -> None:
    a, b = (array(np.ones(shape), "bfloat16") for shape in ((8, 64), (64, 8)))

    def scaled(by: float) -> Any:
        return to_numpy(gemm(a, b, activation=lambda x: x * by, config=SMALL))[0, 0]

    def made() -> int:
        return dense.build.cache_info().misses

    assert scaled(2.0) == 128.0
    before = made()
    assert scaled(2.0) == 128.0 and made() == before
    assert scaled(3.0) == 192.0 and made() == before + 1
    assert scaled(2.0) == 128.0 and made() == before + 1


def test_what_an_activation_captured_may_change_afterwards() -> None:
    a, b = (array(np.ones(shape), "bfloat16") for shape in ((8, 64), (64, 8)))

    def results(by: float, then: float) -> list[float]:
        def run() -> float:
            return float(to_numpy(gemm(a, b, activation=activation, config=SMALL))[0, 0])

        activation = lambda x: x * by + 1.0  # noqa: E731
        first, by = run(), then
        return [first, run()]

    assert results(2.0, 5.0) == [129.0, 320.0]  # 321 in bf16
    assert results(2.0, 2.0) == [129.0, 129.0]


def test_an_activation_over_what_can_be_changed_in_place() -> None:
    """Such a function is told by itself and by the numbers that it reads, which may be others at the next call."""
    factors = [2.0]
    function = lambda x: x * factors[0]  # noqa: E731
    doubled = settled(function)
    assert settled(function) is doubled and settled(len) is len
    factors[0] = 3.0
    assert settled(function) is not doubled
    factors[0] = 2.0
    assert settled(function) is doubled
    first, second = ((lambda x, by=by: x * by) for by in (2.0, 2.0))
    assert settled(first) is settled(second)


def test_the_fastest_or_first_is_chosen() -> None:
    compare((64, 72, 64))


def test_refusals() -> None:
    rng = np.random.default_rng(7)
    x = operand(rng, 64, 64, dtype="bfloat16", transposed=False)
    with pytest.raises(CompileError, match="is 6 pieces of \\(64, 64\\), and the ring has 4 buffers"):
        gemm(x, x.T, c=x, config=Config((128, 192), True, buffers=4))
    for columns, piece in ((80, 16), (8, 8)):
        with pytest.raises(ValueError, match="contiguous along M or N have rows in spans of 64 bytes or more"):
            gemm(x, x, config=Config((128, columns), cluster=(1, 1), piece=piece, buffers=1))
    with pytest.raises(CompileError, match="shared memory"):
        gemm(x, x, config=Config((128, 256), stages=5))
    i = operand(rng, 64, 64, dtype="int8", transposed=False)
    with pytest.raises(ValueError, match="the sums as they are"):
        gemm(i, i.T, poisoned(64, 64, dtype="int32"), alpha=2.0, config=CONFIGS[0])
    with pytest.raises(ValueError, match="of integers a tile, and a piece of it, has a multiple of 16 columns"):
        gemm(i, i.T, config=Config((128, 40), cluster=(1, 1)))
    with pytest.raises(ValueError, match="pieces of 64 columns do not divide a warpgroup's tile"):
        gemm(x, x.T, config=Config((128, 96), cluster=(1, 1), splits=2))  # of one step along K, so not split
    deep = operand(rng, 64, 128, dtype="bfloat16", transposed=False)
    with pytest.raises(ValueError, match="sums that blocks share take 4 stages or more"):
        gemm(deep, deep.T, config=Config((128, 128), True, cluster=(1, 1), stages=3, together=2))
    with pytest.raises(ValueError, match="a gate takes no together="):
        gemm(x, x.T, gate="silu", config=Config((128, 128), swapped=True))


def test_tiles_of_integers_and_their_pieces_are_what_wgmma_has() -> None:
    for result in (i32, f32, bf16):
        problem = Problem(i8, i8, i32, result, None, ("K", "K"), False)
        able = [config for config in CONFIGS if made_for(config, problem)]
        for config in able:
            piece = wide(config, problem.swapped if config.swapped else problem)
            WarpgroupMmaOp(i8, i32, piece)  # which there is
        assert len(able) > 100
    rng = np.random.default_rng(4)
    a, b = (operand(rng, size, 64, dtype="int8", transposed=False) for size in (72, 144))
    with pytest.raises(ValueError, match="of integers a tile, and a piece of it, has a multiple of 16 columns"):
        gemm(a, b.T, config=Config((128, 144), piece=72))


def test_a_configuration_is_picked_for_every_problem() -> None:
    """Whatever the sizes, one is picked that can be had, and no far worse one than others."""
    rng = np.random.default_rng(8)

    @functools.cache
    def taken(problem: Problem) -> tuple[Any, list[int]]:
        able = [config for config in CONFIGS if made_for(config, problem)]
        return table_of(able), [AT_ONCE[c.blocks] for c in able]

    for majors in ("KK", "KN", "MK", "MN"):
        for bytes, dtypes in ((2, (bf16, bf16)), (1, (e4m3, bf16)), (4, (tf32, f32))):
            if bytes != 2 and majors != "KK":
                continue
            for m, n, k in (2 ** rng.uniform(0, 14, (20, 3))).astype(int).tolist():
                rows = next((r for r in (8, 16, 32, 64) if m <= r and majors[0] == "K"), None)
                modes = majors[0], "K" if majors[1] == "K" else "MN"
                problem = Problem(dtypes[0], dtypes[0], f32, dtypes[1], None, modes, False, rows)
                table, at_once = taken(problem)
                times = microseconds(table, problem, Sizes(m, n, k), at_once)
                moved = (m * k + n * k) * bytes + m * n * dtypes[1].bytes
                assert moved / 5e6 < min(times) < 40 + 20 * max(moved / 4e6, 2 * m * n * k * bytes / 1.3e9)


def test_every_kind_of_problem_has_a_configuration() -> None:
    kinds = [(bf16, d) for d in (bf16, f32, f64)] + [(e4m3, bf16), (bf16, e4m3), (tf32, f32), (i8, i32)]
    for (a, d), direct, bias, gate in product(kinds, (False, True), (None, f32), (None, silu)):
        if (gate is not None and (bias is not None or d in (f64, e4m3))) or (a == i8 and not bias is gate is None):
            continue
        modes = [("K", "K"), ("K", "MN"), ("MN", "K"), ("MN", "MN")] if a.bytes == 2 else [("K", "K")]
        ways = ("", "B", "AB") if a.bytes == 2 and gate is None else ("",)
        for majors, loaded, rows in product(modes, ways, (None, 8, 64)):
            of_a = rows if majors[0] == "K" else None
            acc = i32 if a == i8 else f32
            problem = Problem(a, a, acc, d, bias, majors, False, of_a, gate=gate, direct=direct, loaded=loaded)
            assert any(made_for(config, problem) for config in CONFIGS), problem


@pytest.mark.parametrize(("columns", "pitch"), [(45, 45), (46, 46), (52, 52), (45, 46), (46, 49), (44, 46)])
@pytest.mark.parametrize("config", [SMALL, swapped(40, 64, True)], ids=str)
def test_results_that_threads_store(columns: int, pitch: int, config: Config) -> None:
    """One, two or four elements at once; nothing is written beside them."""
    rng = np.random.default_rng(0)
    a, b = (array(rng.integers(-2, 3, shape), "bfloat16") for shape in ((70, 16), (16, 64)))
    whole = array(np.full(70 * pitch, 7.0), "bfloat16")
    out = whole.reshape(70, pitch)[:, :columns]
    gemm(a, b[:, :columns], out, config=config)
    np.testing.assert_array_equal(to_numpy(out), to_numpy(a) @ to_numpy(b)[:, :columns])
    assert (to_numpy(whole).reshape(70, pitch)[:, columns:] == 7).all()


@pytest.mark.parametrize("columns", [2, 41])
def test_results_of_8_bits_at_any_pitch(columns: int) -> None:
    rng = np.random.default_rng(0)
    a, b = (array(rng.integers(-2, 3, shape), "bfloat16") for shape in ((70, 12), (12, columns)))
    c, out = (array(np.ones((70, columns)), "float8_e4m3fn") for _ in range(2))
    for beta in (0.0, 1.0):
        found = to_numpy(gemm(a, b, out, c=c, beta=beta)).astype(np.float32)
        np.testing.assert_allclose(found, to_numpy(a) @ to_numpy(b) + beta, rtol=2**-4)


def test_pieces_that_divide_no_tile_are_refused() -> None:
    x = array(np.zeros((8, 16)), "bfloat16")
    with pytest.raises(ValueError, match="finish has pieces of 144 columns, which divide no tile for such arrays"):
        gemm(x, x.T, finish=Finish(lambda piece: piece.result(piece.sums), columns=144))


@pytest.mark.parametrize("swapped", [False, True])
def test_vectors_may_begin_anywhere(swapped: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = (array(rng.integers(-9, 9, shape), "bfloat16") for shape in ((70, 32), (32, 80)))
    rows, columns, bias = (array(np.arange(n + 1), "float32")[1:] for n in (70, 80, 80))
    given: dict[str, Any] = {"scale_a": rows[:, None], "scale_b": columns[None], "bias": bias}
    config = Config((128, 64), cluster=(1, 1), stages=8, buffers=1, swapped=swapped)
    found = gemm(a, b, array(np.zeros((70, 80)), "float32"), config=config, **given)
    numbers: dict[str, Any] = {name: to_numpy(x) for name, x in given.items()}
    np.testing.assert_allclose(to_numpy(found), reference(to_numpy(a), to_numpy(b), **numbers), rtol=1e-6)


def test_blocks_that_load_a_together_are_faster_than_twice_as_many_that_share_k() -> None:
    problem = Problem(bf16, bf16, f32, bf16, rows=64)
    four, two = Config((64, 64), True, (1, 4), 10, buffers=1), Config((64, 64), True, (1, 1), 12, 16, 1, together=2)

    def times(n: int, k: int) -> list[float]:
        return list(microseconds(table_of([four, two]), problem, Sizes(64, n, k), [AT_ONCE[4], AT_ONCE[2]]))

    assert times(6144, 4096)[0] < times(6144, 4096)[1]


def test_power_decides_where_a_gemm_would_take_more_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large ones tiles that load fewer bytes are picked; the law of power touches no small one."""
    problem = Problem(bf16, bf16, f32, bf16)
    small, wide = Config((128, 128), True, (1, 2), 5), Config(buffers=1)

    def times(m: int, n: int, k: int) -> list[float]:
        return list(microseconds(table_of([wide, small]), problem, Sizes(m, n, k), AT_ONCE[2]))

    large, short = times(16384, 28672, 4096), times(64, 4096, 4096)
    monkeypatch.setattr(rates, "WATTS", math.inf)
    unlimited = times(16384, 28672, 4096)
    assert all(x < y for x, y in zip(unlimited, large, strict=True))
    assert large[1] / large[0] > unlimited[1] / unlimited[0]
    assert times(64, 4096, 4096) == short


def test_where_l2_gives_less_a_tile_that_loads_more_takes_longer() -> None:
    near, far = Config((256, 128), cluster=(1, 2)), Config((128, 128), True, (1, 2), 5)
    table, sizes, problem = table_of([near, far]), Sizes(8681, 6120, 14136), Problem(bf16, bf16, f32, bf16)
    ratios = []
    for stacks in (6, 5):
        large, small = microseconds(table, problem, sizes, AT_ONCE[2], stacks)
        ratios.append(small / large)
    assert ratios[1] > 1.05 * ratios[0]  # by the numbers fitted last: 1.08


@pytest.mark.parametrize(("bits", "stacks"), [(6016, 6), (6144, 6), (5120, 5), (384, 5), (8192, 6)])
def test_stacks_of_memory_are_known_by_the_bus(bits: int, stacks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutelite_rt.device", lambda _: SimpleNamespace(attribute=lambda _: bits))
    assert model.found_stacks.__wrapped__("cuda", 0) == stacks


def test_configurations_by_name() -> None:
    compare((40, 72, 136), config="tuned")
    with pytest.raises(ValueError, match="config is a Config, None or 'tuned', not 'fast'"):
        compare((40, 72, 136), config="fast")


PAIRS = [
    *(("bfloat16",) * 2, ("float16",) * 2, ("float32",) * 2, ("int8", "uint8"), ("uint8", "int8")),
    *(("float8_e4m3fn", "float8_e5m2"), ("float8_e5m2", "float8_e4m3fn")),
]


@pytest.mark.parametrize(("types", "of_a", "of_b"), in_pairs(PAIRS, "KM", "KN"))
def test_every_type_however_it_lies(types: tuple[str, str], of_a: str, of_b: str) -> None:
    """Tensor cores read 8 and 32 bits along K alone: what lies otherwise is copied, batches and all."""
    rng = np.random.default_rng(9)
    for lead in (), (2,):
        left = rng.integers(0 if "u" in types[0] else -3, 4, (*lead, 24, 40))
        right = rng.integers(0 if "u" in types[1] else -3, 4, (*lead, 40, 48))
        a, b = lying(left, types[0], of_a == "M"), lying(right, types[1], of_b == "K")
        out = poisoned(*lead, 24, 48, dtype="int32" if "int" in types[0] else "float32")
        found = gemm(a, b, out, precision="tf32", config=SMALL)
        np.testing.assert_array_equal(to_numpy(found), left @ right)
