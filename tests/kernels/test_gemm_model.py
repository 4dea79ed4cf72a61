"""What the model of a GEMM's time picks, beside the fastest of the tiles that were timed (docs/lab/gemm.md)."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from cutelite import bf16, f32
from cutelite.kernels.gemm.configs import CONFIGS, Config, Problem
from cutelite.kernels.gemm.fits import made_for
from cutelite.kernels.gemm.model import AT_ONCE, Sizes, microseconds, table_of, worth
from tests.bench.gemm_fit import Fit

LAB = Path(__file__).parents[2] / "docs" / "lab"


@pytest.mark.parametrize(
    ("name", "regret"),
    [("gemm-times", 1.029), ("gemm-times-h200", 1.025), ("gemm-times-h100", 1.019), ("gemm-times-groups", 1.028)],
)
def test_picks_are_near_the_fastest(name: str, regret: float) -> None:
    lines = [json.loads(line) for line in (LAB / f"{name}.jsonl").read_text().splitlines()]
    fit = Fit(lines, True)
    expected, logs = fit.predicted(fit.start), []
    for line in np.unique(fit.line):
        mine = fit.line == line
        logs.append(math.log(fit.times[mine][expected[mine].argmin()] / fit.times[mine].min()))
    assert len(logs) >= 0.99 * len(lines)
    assert math.exp(np.mean(logs)) < regret


def picked(m: int, n: int, k: int, narrow: int | None = None) -> Config:
    problem = Problem(bf16, bf16, f32, bf16, narrow=narrow)
    able = [config for config in CONFIGS if made_for(config, problem)]
    table, sizes = table_of(able), Sizes(m, n, k)
    times = microseconds(table, problem, sizes, np.array([AT_ONCE[config.blocks] for config in able]))
    return able[int(np.argmin(np.where(worth(table, problem, sizes), times, math.inf)))]


def test_few_columns_have_one_round_of_tiles_that_share_nothing() -> None:
    """Of 8 columns a block without a cluster brings 8 rows of B: its steps are short."""
    for m, k in ((8537, 5352), (4934, 2880), (4241, 2352)):
        config = picked(m, 8, k, narrow=8)
        assert config.swapped and config.blocks == config.splits == 1
        assert 100 < -(-m // config.tile[1]) <= AT_ONCE[1]


def test_narrow_tiles_fill_a_round_where_k_has_several_steps() -> None:
    config = picked(553, 440, 1648)
    assert config.tile[1] < 64 and config.cluster == (1, 4)
    assert min(picked(8600, 648, 48).tile) >= 64
