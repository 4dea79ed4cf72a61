"""The splits that the model picks, beside the fastest of those that were timed on an H200."""

import json
from pathlib import Path
from typing import Any

import pytest

from cutelite.kernels.attention.decoding import chosen
from cutelite.kernels.attention.splitting import HEADS, LATENTS, Numbers, Split, Work, fastest, shares_of

TIMES = Path(__file__).with_name("attention_parts.jsonl")
RUNS = 132, 66, 30


def latents(cell: Any) -> tuple[Work, Numbers, tuple[int, ...]]:
    batch, rows, blocks = cell["batch"], cell["queries"] * cell["heads"], -(-cell["keys"] // 64)
    work = Work(batch * -(-rows // 64), blocks, 576 + 512, batch * rows * 512, batch * cell["keys"] * 576 * 2, 1)
    return work, LATENTS, RUNS[:1]


def heads(cell: Any) -> tuple[Work, Numbers, tuple[int, ...]]:
    """One query of eight heads to each of keys and values."""
    tiles, dim, keys = cell["batch"] * cell["kv_heads"], cell["dim"], cell["keys"]
    work = Work(tiles, -(-keys // 64), 2 * dim, tiles * 8 * dim, tiles * keys * dim * 4, chosen(dim).beside)
    return work, HEADS[dim], RUNS


@pytest.mark.parametrize(("kind", "of", "mean"), [("queries", latents, 1.004), ("dim", heads, 1.009)])
def test_picks_are_near_the_fastest(kind: str, of: Any, mean: float) -> None:
    cells = [cell for line in TIMES.read_text().splitlines() if kind in (cell := json.loads(line))]
    picked = [(fastest(*of(cell)), cell["us"]) for cell in cells]
    names = [(f"c{split.parts}" if split.cluster else str(split.parts), us) for split, us in picked]
    ratios = [us[name] / min(us.values()) for name, us in names if name in us]
    assert len(ratios) > 0.8 * len(cells) > 250
    assert sum(ratios) / len(ratios) < mean
    assert max(ratios) < 1.12


def test_a_cluster_is_taken_where_all_run_at_once_and_have_blocks() -> None:
    def picked(tiles: int, blocks: int) -> Split:
        work = Work(tiles, blocks, 256, tiles * 8 * 128, tiles * blocks * 64 * 128 * 4, 2)
        return fastest(work, HEADS[128], RUNS)

    assert picked(64, 64) == Split(2, True)
    assert picked(64, 1) == Split(1)
    assert not picked(67, 64).cluster


def test_shares_are_equal_where_rounds_of_blocks_are_not() -> None:
    """24 x 4096 keys are 192 tiles, for 264 blocks of threads: 98 us for 111 on an H200 (docs/lab/attention.md)."""
    assert [of_eight(batch, 4096).even for batch in (16, 24, 32, 40, 128)] == [0, 8, 0, 8, 0]


def test_sequences_of_unknown_lengths_have_equal_shares_unless_all_are_short() -> None:
    found = [of_eight(*cell, alike=False) for cell in ((24, 4096), (32, 4096), (8, 4096), (1, 32768), (16, 1024))]
    assert found == [Split(264, even=8), Split(256, even=8), Split(264, even=8), Split(112, even=8), Split(1)]


@pytest.mark.parametrize("heads", [1, 3, 8, 16, 32, 200])
def test_shares_leave_few_blocks_of_threads_idle(heads: int) -> None:
    found = shares_of(Work(heads * 100, 64, 256, 0, 0, 2, heads), 264)
    assert heads % found.even == found.parts % found.even == 0
    assert found.parts > 255


def test_shares_are_of_whole_tiles_where_that_is_nearly_as_many_blocks() -> None:
    """128 x 1024 keys are 1024 tiles of 16 blocks: 264 shares would have 63, and combine parts of most tiles."""
    assert of_eight(128, 1024, alike=False) == Split(256, even=8)
    assert of_eight(128, 4096, alike=False) == Split(264, even=8)


def of_eight(batch: int, keys: int, alike: bool = True) -> Split:
    """The split of eight heads of keys of 128 columns, each of eight heads of queries."""
    work = Work(batch * 8, keys // 64, 256, batch * 8 * 1024, batch * 8 * keys * 512, 2, 8)
    return fastest(work, HEADS[128], RUNS, alike)
