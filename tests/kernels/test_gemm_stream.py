"""GEMMs whose last rounds of tiles are shared along K: any sizes, types and epilogues, and no race."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from common import array, to_numpy
from cutelite.kernels.gemm import Config, Finish, gemm, grouped
from cutelite.kernels.gemm.configs import swapped
from tests.kernels.test_gemm_model import picked
from tests.run.test_gemm import BF16, close, compare, operand, relu

pytestmark = pytest.mark.usefixtures("everywhere")

PINGPONG = Config((64, 64), True, (1, 1), stages=3, buffers=1, stream=1)
COOPERATIVE = Config((128, 64), cluster=(1, 1), stages=3, piece=32, buffers=1, stream=2)
CLUSTER = Config((128, 64), cluster=(2, 1), stages=3, piece=32, buffers=1, stream=2)
SWAPPED = replace(swapped(48, 128, cluster=2), stages=3, stream=1)
BESIDE = replace(PINGPONG, cluster=(1, 2), swapped=True)
ALL = [PINGPONG, COOPERATIVE, CLUSTER, SWAPPED, BESIDE]
"""In the simulator four blocks run at once, or two clusters of two."""


@pytest.mark.parametrize("config", ALL, ids=["pingpong", "cooperative", "cluster", "swapped", "beside"])
def test_tiles_that_several_blocks_share(config: Config) -> None:
    """Fewer tiles than blocks, more, and of few steps."""
    compare((41, 64, 1096), c=True, bias="float32", alpha=0.5, beta=-2.0, activation=relu, config=config)
    compare((136, 200, 200), c=True, bias="float32", alpha=0.5, beta=-2.0, activation=relu, config=config)
    compare((136, 136, 40), config=config)


@pytest.mark.parametrize("config", [PINGPONG, CLUSTER], ids=["pingpong", "cluster"])
def test_types_majors_batches_and_rows_that_are_not_whole(config: Config) -> None:
    compare((40, 64, 1040), "int8", "int32", tolerance=0.0, config=config)
    compare((37, 72, 784), "float8_e4m3fn", "bfloat16", scales="rows", bias="float32", config=config)
    compare((3, 72, 64, 328), majors="MN", c=True, beta=0.5, config=config)
    compare((5, 67, 520), config=config)  # rows of results that TMA would write beyond


def test_functions_that_finish_and_gates() -> None:
    """What becomes of the sums becomes of all of them."""

    def greatest(piece: Any, bias: Any, most: Any) -> None:
        x = piece.sums + piece.by_column(bias)
        piece.put_rows(most, piece.of_rows(abs(x), "max"))
        piece.result(x)

    rng = np.random.default_rng(1)
    a, b = (operand(rng, size, 584, dtype="bfloat16", transposed=False) for size in (72, 144))
    right, bias = to_numpy(a).astype(np.float64) @ to_numpy(b).T, rng.standard_normal(144).astype(np.float32)
    for config in PINGPONG, COOPERATIVE:
        most = array(np.zeros((72, 3)), "float32")
        d = gemm(a, b.T, finish=Finish(greatest, (array(bias, "float32"), most)), config=config)
        assert np.linalg.norm(to_numpy(d) - right - bias) <= BF16 * np.linalg.norm(right)
        parts = np.pad(np.abs(right + bias), ((0, 0), (0, 48))).reshape(72, 3, 64).max(2)
        np.testing.assert_allclose(to_numpy(most), parts, rtol=1e-4)
        d = gemm(a, b.T, gate="silu", config=config)
        x, up = np.split(right, 2, axis=1)
        x = x / (1 + np.exp(-x)) * up
        assert close(d, x)


def test_repeated_runs_are_equal_whatever_comes_first(monkeypatch: pytest.MonkeyPatch, read_anew: None) -> None:
    rng, found = np.random.default_rng(5), []
    a, b = (operand(rng, size, 584, dtype="bfloat16", transposed=False) for size in (72, 72))
    for seed in 0, 1, 2:
        monkeypatch.setenv("CUTELITE_SIM_SEED", str(seed))
        found.append(to_numpy(gemm(a, b.T, config=PINGPONG)))
    assert all((x == found[0]).all() for x in found)


@pytest.mark.parametrize(
    ("config", "shape"), [(PINGPONG, (72, 136, 328)), (CLUSTER, (136, 40, 584)), (BESIDE, (72, 136, 328))], ids=str
)
def test_the_checker_finds_nothing(config: Config, shape: tuple[int, int, int], checked: Callable[[int], None]) -> None:
    checked(2)
    compare(shape, c=True, beta=1.0, config=replace(config, swizzle=3))


def test_the_last_rounds_of_wide_tiles_are_shared() -> None:
    """Where the last round is hardly begun; not where rounds are full, K has few steps, or there is less than a round.

    At 170 x 10056 x 10392 clusters along both modes take 71.3 us for 74.9 on an H200 (docs/lab/gemm.md).
    """
    shapes = (7118, 13208, 3464), (170, 10056, 10392), (512, 8448, 4096), (200, 9000, 512)
    assert [picked(*shape).stream > 0 for shape in shapes] == [True, False, False, False]
    assert picked(170, 10056, 10392).cluster == (4, 2)


def test_what_does_not_go_together_is_refused() -> None:
    a = array(np.ones((64, 64)), "bfloat16")
    for splits, together in (2, 1), (1, 2):
        with pytest.raises(ValueError, match="stream is 0, 1 or 2, and goes with neither splits= nor together="):
            replace(PINGPONG, splits=splits, together=together)
    with pytest.raises(ValueError, match="groups have no stream="):
        grouped.gemm(a, a[None], array([64], "int32"), config=PINGPONG)
