"""Configurations are measured where that is asked for, and nowhere else; then what was measured is kept."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.dispatch.divert import diverted
from cutelite.kernels.gemm import fp8_block, grouped
from cutelite.kernels.gemm.fp8_configs import CONFIGS, fitting
from cutelite.tune.tuner import Tuner
from tests.bench.fp8_model import picked
from tests.kernels.test_bad_arguments import RIGHT, only_checked

E4M3, BF16 = ml_dtypes.float8_e4m3fn, ml_dtypes.bfloat16
ENDS = np.array([8, 24], np.int32)


def scaled(**how: Any) -> None:
    a, b = np.ones((24, 256), E4M3), np.ones((128, 256), E4M3)
    fp8_block.gemm(a, b, np.ones((24, 2), np.float32), np.ones((1, 2), np.float32), **how)


def of_rows(**how: Any) -> None:
    grouped.gemm(np.ones((24, 64), BF16), np.ones((2, 128, 64), BF16), ENDS, **how)


def padded(**how: Any) -> None:
    grouped.padded(np.ones((2, 24, 64), BF16), np.ones((2, 128, 64), BF16), ENDS, **how)


def along_k(**how: Any) -> None:
    grouped.along_k(np.ones((24, 64), BF16), np.ones((24, 128), BF16), ENDS, **how)


@pytest.mark.parametrize(
    ("call", "module"), [(scaled, fp8_block), (of_rows, grouped), (padded, grouped), (along_k, grouped)]
)
def test_measuring_is_for_who_asks(call: Callable[..., None], module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    asked: list[Any] = []

    def measured() -> Any:
        return next(config for config in module.CONFIGS if config != ran[0])

    def config_for(*given: Any) -> Any:
        asked.append(given)
        return measured()

    monkeypatch.setattr(module, "run", lambda config, *given: ran.append(config))
    monkeypatch.setattr(module.tuned, "config_for", config_for)
    monkeypatch.setattr(module.picks, "known", {})
    call()
    assert not asked
    call(config="tuned")
    call()
    assert len(asked) == 1 and ran[1:] == [measured()] * 2
    module.picks.known.clear()
    cl.warm(call, tune=True)
    assert len(asked) == 2
    call()
    assert ran[-1] == measured()
    with pytest.raises(ValueError, match="config is a Config, None or 'tuned', not 'best'"):
        call(config="best")


@pytest.mark.parametrize("name", RIGHT)
def test_first_calls_measure_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any function of the library, whose launches are left out here."""
    asked: list[Any] = []

    def pick(self: Tuner, *_: Any) -> Any:
        asked.append(self.name)
        return self.configs[0]

    monkeypatch.setattr(Tuner, "pick", pick)
    function, given = RIGHT[name]
    with diverted(only_checked):
        function(**{word: x.copy() if isinstance(x, np.ndarray) else x for word, x in given.items()})
    assert not asked


def test_picks_of_block_scaled_fp8_are_near_the_fastest() -> None:
    times = Path(__file__).parents[2] / "docs" / "lab" / "gemm-times-fp8.jsonl"
    regrets = [picked(json.loads(line))[0] for line in times.read_text().splitlines()]
    assert math.exp(sum(map(math.log, regrets)) / len(regrets)) < 1.015
    assert max(regrets) < 1.18


def test_few_rows_have_low_tiles_whose_parts_fill_the_gpu() -> None:
    config = fitting(CONFIGS, 16, 1280, 5120, 132)[0]
    assert config.rows == 64 and -(-1280 // config.columns) * config.splits >= 100
    assert fitting(CONFIGS, 8192, 8192, 8192, 132)[0].rows > 128
    for m, n, k in ((16, 1280, 128), (64 * 132, 64, 4096)):  # one pair of blocks, and whole rounds of some tiles
        assert all(config.divided(m, n, k, 132)[2] == config.splits for config in fitting(CONFIGS, m, n, k, 132))
