"""What the model of a GEMM's time picks, beside the fastest of the tiles that were timed (docs/lab/gemm.md)."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from cutelite import bf16, f32
from cutelite.kernels.gemm.configs import CONFIGS, Config, Problem, both, full, slim, swapped
from cutelite.kernels.gemm.fits import SHARED, held, made_for, single, stored, wide
from cutelite.kernels.gemm.model import Sizes, is_late, microseconds, table_of, worth
from cutelite.kernels.gemm.rates import AT_ONCE
from cutelite.kernels.gemm.tiling import Tiling
from tests.bench.gemm_fit import Fit

LAB = Path(__file__).parents[2] / "docs" / "lab"


@pytest.mark.parametrize(
    ("name", "regret"),
    [
        ("gemm-times", 1.0155),
        ("gemm-times-h200", 1.016),
        ("gemm-times-h100", 1.011),
        ("gemm-times-groups", 1.02),
        ("gemm-times-tuned", 1.031),
    ],
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
    for m, k in ((8537, 5352), (4241, 2352)):
        config = picked(m, 8, k, narrow=8)
        assert config.swapped and config.blocks == config.splits == 1
        assert 100 < -(-m // config.tile[1]) <= AT_ONCE[1]


def test_rows_of_results_off_sectors_leave_whole_where_l2_does_not_keep_them() -> None:
    """Every second sector between two pieces of a row is written twice: 93 and 65 us at 8923 x 10312 x 64."""
    assert all(picked(*sizes).piece == 208 for sizes in ((8923, 10312, 64), (8296, 6632, 40)))
    assert picked(8296, 6640, 40).piece < 208


def test_few_results_may_leave_by_half_sectors() -> None:
    """L2 keeps them until these are whole: 64 x 72 takes 7.8 us, 64 x 144 8.6, and cuBLAS, by 72 columns too, 8.2."""
    config = picked(3805, 144, 2032)
    assert config.tile == (64, 72) and not config.swapped
    assert picked(38050, 1440, 2032).tile[1] % 16 == 0


def test_narrow_tiles_fill_a_round_where_k_has_several_steps() -> None:
    config = picked(553, 440, 1648)
    assert config.tile[1] < 64 and config.cluster == (1, 4)
    assert min(picked(8600, 648, 48).tile) >= 64


def test_dozens_of_columns_have_one_round_of_clusters_along_the_columns_of_tiles() -> None:
    for m, n, k in ((8484, 56, 2552), (10396, 40, 6968)):
        config = picked(m, n, k)
        assert config.swapped and config.tile[0] == 64 and config.cluster == (1, 4)
        assert 26 < -(-m // (4 * config.tile[1])) <= AT_ONCE[4]


def test_a_width_is_left_out_for_one_that_its_kind_has() -> None:
    """Tiles of 192 rows have 160 and 176 columns: 168, which others have, makes as few of 837 rows as 176."""
    config = picked(837, 14664, 7736)
    assert config.swapped and config.tile == (192, 176)


def test_blocks_of_one_tile_have_no_memory_for_pieces() -> None:
    """Results that lie where operands were leave room for a stage, or for pieces as wide as the tile."""
    problem = Problem(bf16, bf16, f32, bf16)
    found = [(x, single(x, problem, 32)) for x in (both(88, 192, True, 4, True), swapped(104, 128, cluster=4))]
    (few, wide), (short, long) = found
    assert wide is not None and long is not None
    assert (few.piece, wide.piece, wide.stages) == (8, 88, few.stages) and long.stages > short.stages
    for _, config in found:
        assert config is not None and held(config, problem.swapped, True) < SHARED
        assert config.tile[0] * config.tile[1] * 2 <= 128 * max(config.tile) * config.stages
    of_three, of_one_step = (
        single(x, problem, steps)
        for x, steps in ((full(192, 208, (1, 2), False), 32), (swapped(104, 128, cluster=4), 1))
    )
    assert of_three is not None and of_one_step is not None
    assert of_three.buffers == 3 and of_one_step.stages == short.stages
    assert not any(single(x, problem, 32) for x in CONFIGS if x.together > 1 or x.splits > 1 or x.stream)


def test_blocks_that_share_k_finish_about_as_many_columns() -> None:
    """What a block reads of the others' sums takes microseconds: 64 KB come at 13 bytes a clock."""
    for config in CONFIGS:
        if config.together > 1:
            (rows, columns), blocks = config.own, config.together
            pieces = rows // 64 * columns // config.piece
            most = -(-pieces // blocks) * config.piece
            assert most < 1.8 * max(8, rows // 64 * columns / blocks), config


def test_the_block_that_finishes_most_of_a_shared_tile_decides() -> None:
    """Of 9 pieces one of eight blocks writes two, and reads what all eight have of both."""
    table = table_of([slim(columns, 64, True, together=8) for columns in (64, 72)])
    assert [*table.tiles.pieces] == [1, 2] and [*table.tiles.finished] == [8, 16]
    assert 0.4 < table.costs.gemm[1] - table.costs.gemm[0] < 0.8


def test_results_leave_in_rows_of_64_bytes_or_more_and_two_of_eight_share_a_bank_at_most() -> None:
    """TMA stores 64 rows of 16 bytes at a time as fast as 64 of 128."""
    problem = Problem(bf16, bf16, f32, bf16)
    found = {wide(x, problem): Tiling(x, problem).ring for x in CONFIGS if not x.swapped and x.splits == 1}
    assert {64, 80, 88, 152, 184} < set(found)
    for columns, ring in found.items():
        assert stored(columns, 2) == columns or stored(columns, 2) * 2 >= 64
        for column in range(0, columns, 8):
            units = [ring(row, column, 1) * 2 // 16 % 8 for row in range(8)]
            assert max(map(units.count, units)) <= (1 if columns % 16 or columns % 32 == 0 else 2)


@pytest.mark.parametrize(
    ("splits", "filled", "bytes", "late"),
    [(1, 0.5, 8e7, False), (1, 0.6, 8e7, True), (1, 0.6, 8e6, False), (1, 0.9, 8e7, False), (5, 1.0, 8e6, True)],
)
def test_next_kernels_come_late_where_some_of_their_blocks_would_come_early(
    splits: int, filled: float, bytes: float, late: bool
) -> None:
    assert is_late(splits, filled, bytes) == late


def test_tiles_of_operands_that_lie_along_their_columns_have_whole_spans() -> None:
    """Spans of 64 bytes take longer, and no tile of 160 columns is made of halves of 80."""
    problem = Problem(bf16, bf16, f32, bf16, majors=("MN", "MN"))
    table, sizes = table_of(CONFIGS), Sizes(296, 11336, 5144)
    times = microseconds(table, problem, sizes, np.array([AT_ONCE[config.blocks] for config in CONFIGS]))
    best = np.where(worth(table, problem, sizes), times, math.inf).argsort()
    assert next(CONFIGS[i] for i in best if made_for(CONFIGS[i], problem)) == full(192, 192, (4, 2), True)
