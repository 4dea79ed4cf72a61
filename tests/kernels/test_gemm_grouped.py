"""GEMMs of groups: rows behind rows, padded groups, groups along K, with functions that finish them."""

# (tests find `common` among the examples)

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from common import array, place, poisoned, to_numpy
from cutelite import SimError, f16, f32
from cutelite.kernels.gemm import Config, grouped
from cutelite.kernels.gemm.configs import Problem
from tests.run.test_gemm import BF16, close, operand

pytestmark = pytest.mark.usefixtures("everywhere")

COUNTS = (70, 0, 127, 64, 1)
PINGPONG = Config((64, 64), True, (1, 1), stages=3, buffers=1)
CONFIGS = [
    PINGPONG,
    Config((128, 128), cluster=(2, 1), stages=3),
    Config((128, 160), True, (1, 2), stages=3, piece=32),
]


def tensors(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(len(shapes))
    return [operand(rng, *shape, dtype="bfloat16", transposed=False) for shape in shapes]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_rows_behind_rows(config: Config) -> None:
    ends, rows = np.cumsum(COUNTS), sum(COUNTS)
    a, b = tensors((rows + 3, 136), (5, 200, 136))
    d = poisoned(rows + 3, 200, dtype="bfloat16")
    grouped.gemm(a, b, array(ends, "int32"), d, config=config)
    assert close(d[:rows], grouped.reference(to_numpy(a), to_numpy(b), ends)) and np.isnan(to_numpy(d[rows:])).all()


@pytest.mark.parametrize(
    ("groups", "rows", "n", "k", "tile"),
    [(128, 8192, 1536, 2048, (128, 192)), (256, 256, 2048, 7168, (64, 128)), (32, 2048, 768, 2880, (128, 128))],
)
def test_tiles_are_picked_for_groups_that_are_not_alike(
    groups: int, rows: int, n: int, k: int, tile: tuple[int, int]
) -> None:  # fmt: skip
    """What was the fastest on a GPU: no tile that all groups would fill if they had the same rows."""
    nothing = np.zeros((), np.float16)
    a, b, d = (np.broadcast_to(nothing, shape) for shape in ((rows, k), (groups, n, k), (rows, n)))
    problem = Problem(f16, f16, f32, f16, None, batched=True, groups="rows")
    assert grouped.fitting(grouped.CONFIGS, problem, a, b, np.zeros(groups, np.int32), d)[0].tile == tile


def test_matrices_that_are_contiguous_along_n() -> None:
    ends = np.cumsum(COUNTS)
    a, b = tensors((sum(COUNTS), 72), (5, 72, 136))
    found = grouped.gemm(a, b.swapaxes(1, 2), array(ends, "int32"), config=Config((128, 128), True, (1, 2), stages=3))
    assert close(found, grouped.reference(to_numpy(a), to_numpy(b).swapaxes(1, 2), ends))


def test_rows_that_tma_cannot_read_are_copied() -> None:
    ends = np.array([3, 3, 20])
    a, b = tensors((20, 9), (3, 16, 9))
    found = grouped.gemm(a, b, array(ends, "int32"), config=PINGPONG)
    assert close(found, grouped.reference(to_numpy(a), to_numpy(b), ends))


@pytest.mark.parametrize("config", [*CONFIGS[:2], None], ids=str)
def test_padded_groups(config: Config | None) -> None:
    """Rows that no group has may hold anything, NaN included, and are not written."""
    counts = np.array([33, 0, 100, 64])
    a, b = tensors((4, 100, 136), (4, 72, 136))
    for e, count in enumerate(counts):
        a[e, count:] = float("nan")
    d = grouped.padded(a, b, array(counts, "int32"), poisoned(4, 100, 72, dtype="bfloat16"), config=config)
    for e, count in enumerate(counts):
        assert count == 0 or close(d[e, :count], to_numpy(a[e, :count]).astype(np.float64) @ to_numpy(b[e]).T)
        assert np.isnan(to_numpy(d[e, count:])).all()


def gradients(
    config: Config | None, accumulate: bool = False, out: str = "float32", m: int = 136, n: int = 40,
    counts: tuple[int, ...] = (70, 0, 129, 64, 1, 5),
) -> None:  # fmt: skip
    ends, rows = np.cumsum(counts), sum(counts)
    a, b = tensors((rows + 7, m), (rows + 7, n))
    for x in (a, b):
        x[rows:] = float("nan")  # what is behind the last group is nobody's
    rng = np.random.default_rng(9)
    shape = len(counts), m, n
    d = array(rng.standard_normal(shape), out) if accumulate else poisoned(*shape, dtype=out)
    right = to_numpy(d).astype(np.float64) if accumulate else np.zeros(shape)
    left, other = (to_numpy(x).astype(np.float64) for x in (a, b))
    for e, (i, j) in enumerate(zip(ends - counts, ends, strict=True)):
        right[e] += left[i:j].T @ other[i:j]
    grouped.along_k(a, b, array(ends, "int32"), d, accumulate=accumulate, config=config)
    assert close(d, right, BF16 if out == "bfloat16" else 1e-5) and (accumulate or (to_numpy(d[1]) == 0).all())


@pytest.mark.parametrize(
    "config",
    [None, Config((128, 64), cluster=(1, 1), stages=3, piece=32), Config((64, 64), True, (1, 1), stages=3, piece=32)],
    ids=str,
)
def test_groups_along_k(config: Config | None) -> None:
    if config is not None:
        gradients(config)
    gradients(config, accumulate=True)


def test_groups_along_k_into_narrow_results() -> None:
    gradients(Config((128, 64), cluster=(1, 1), stages=3, piece=32), out="bfloat16", n=72)


def test_a_function_ends_with_its_group() -> None:
    """SwiGLU, and the greatest of each row."""

    def gated(piece: cl.Piece, most: Any) -> None:
        gate, up = piece.pairs(piece.sums)
        piece.put_rows(most, piece.of_rows(abs(piece.sums), "max"))
        piece.result(gate / (1.0 + cl.math.exp(-gate)) * up)

    ends, rows = np.cumsum(COUNTS), sum(COUNTS)
    a, b = tensors((rows + 3, 72), (5, 128, 72))
    most, d = poisoned(rows + 3, 1, dtype="float32"), poisoned(rows + 3, 64, dtype="bfloat16")
    finish = cl.Finish(gated, (most,), columns=128, paired=True)
    grouped.gemm(a, b, array(ends, "int32"), d, finish=finish, config=Config((128, 128), True, (1, 1), stages=3))
    sums = grouped.reference(to_numpy(a), to_numpy(b), ends)
    gate, up = sums[:, ::2], sums[:, 1::2]
    assert close(d[:rows], gate / (1 + np.exp(-gate)) * up, 2e-2) and np.isnan(to_numpy(d[rows:])).all()
    assert close(most[:rows, 0], np.abs(sums).max(1), 1e-4) and np.isnan(to_numpy(most[rows:])).all()


@pytest.mark.parametrize("kind", ["rows", "padded"])
def test_a_function_stores_nothing_behind_the_columns_of_a_product(kind: str) -> None:
    """Into results that are wider; groups that end within a piece, and fill several."""

    def moved(piece: cl.Piece) -> None:
        piece.result(piece.sums, piece.column + 16)

    counts = np.array([70, 0, 100], np.int32)
    rows = (170,) if kind == "rows" else (3, 111)
    a, b = tensors((*rows, 72), (3, 72, 72))
    d, config = poisoned(*rows, 160, dtype="bfloat16"), Config((128, 128), True, (1, 1), stages=3)
    finish = cl.Finish(moved, columns=32)
    if kind == "rows":
        grouped.gemm(a, b, array(np.cumsum(counts), "int32"), d, finish=finish, config=config)
        found = to_numpy(d)
    else:
        grouped.padded(a, b, array(counts, "int32"), d, finish=finish, config=config)
        a, found = (np.concatenate([to_numpy(x)[e, :count] for e, count in enumerate(counts)]) for x in (a, d))
    assert close(found[:, 16:88], grouped.reference(to_numpy(a), to_numpy(b), np.cumsum(counts)))
    assert np.isnan(np.delete(found, range(16, 88), 1).astype(float)).all()


@pytest.mark.parametrize("kind", ["rows", "padded", "K"])
def test_the_checker_finds_nothing(kind: str, checked: Callable[[int], None]) -> None:
    checked(1)
    config, ends = Config((128, 64), cluster=(1, 1), stages=3, piece=32, swizzle=3), array([40, 40, 111], "int32")
    if kind == "K":
        few: dict[str, Any] = {"m": 72, "counts": (70, 0, 64, 1, 5)}  # more tiles than blocks, in rings that turn
        gradients(config, **few)
        gradients(Config((64, 64), True, (1, 1), stages=3, piece=32, swizzle=3), accumulate=True, **few)
    elif kind == "rows":
        a, b = tensors((114, 200), (3, 72, 200))
        grouped.gemm(a, b, ends, config=config)
    else:
        a, b = tensors((3, 111, 72), (3, 72, 72))
        grouped.padded(a, b, ends, config=config)


def test_rows_that_are_gathered() -> None:
    """Rows of A come in any order and number, some more than once; those of A and B may have gaps."""
    rng, ends = np.random.default_rng(5), np.cumsum(COUNTS)
    a, b = (x[..., :136] for x in tensors((40, 139), (5, 72, 144)))
    rows = rng.integers(0, 40, ends[-1])
    found = grouped.gemm(a, b, array(ends, "int32"), rows=array(rows, "int32"))
    assert close(found, grouped.reference(to_numpy(a)[rows], to_numpy(b), ends))
    with pytest.raises(ValueError, match="with rows= there is no finish="):
        grouped.gemm(a, b, array(ends, "int32"), rows=array(rows, "int32"), config=PINGPONG)


@pytest.mark.parametrize(
    ("kind", "ends", "rows", "message"),
    [
        ("gemm", [1, 2, 64], [5, 64], "gathered from row 64 of 64"),
        ("gemm", [1, 2, 64], [5, -1], "gathered from row -1 of 64"),
        ("gemm", [1, 2, 65], None, "group 2 ends at row 65 of 64"),
        ("gemm", [9, 8, 64], None, "group 1 begins at row 9 and ends at 8"),
        ("padded", [1, -2, 64], None, "group 1 begins at row 0 and ends at -2"),
        ("padded", [1, 2, 65], None, "group 2 ends at row 65 of 64"),
        ("along_k", [1, 2, 65], None, "group 2 is of rows 2 to 65 of 64"),
    ],
)
def test_numbers_that_the_device_reads_are_checked(
    kind: str, ends: list[int], rows: list[int] | None, message: str, everywhere: str
) -> None:
    """In the simulator; on a GPU only where assertions are compiled."""
    if everywhere == "gpu" or place() != "the simulator":
        pytest.skip("kernels without assertions compute something")
    a, b = tensors((3, 64, 64) if kind == "padded" else (64, 64), (64, 64) if kind == "along_k" else (3, 64, 64))
    places = {} if rows is None else {"rows": np.array(rows * 32, np.int32)}
    with pytest.raises(SimError, match=message):
        getattr(grouped, kind)(a, b, np.array(ends, np.int32), **places)


def test_refusals() -> None:
    (a, b), ends = tensors((64, 72), (3, 64, 72)), array([1, 2, 64], "int32")
    with pytest.raises(ValueError, match="b has 12 rows for each group"):
        grouped.gemm(a, b[:, :12], ends)
    with pytest.raises(ValueError, match="no clusters"):
        grouped.along_k(a, a, ends, config=Config((128, 128), cluster=(2, 1), stages=3))
    with pytest.raises(ValueError, match="accumulate= adds to out"):
        grouped.along_k(a, a, ends, accumulate=True)
