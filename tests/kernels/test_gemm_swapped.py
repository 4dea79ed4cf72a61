"""GEMMs of few rows or few columns: tiles of any width, and swapped ones, types, majors and epilogues."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from cutelite.kernels.gemm import CONFIGS, Config, dense
from cutelite.kernels.gemm.configs import slim, swapped
from cutelite.kernels.gemm.fits import needed
from tests.pairs import covering
from tests.run.test_gemm import compare, relu

pytestmark = pytest.mark.usefixtures("everywhere")

UNLIKE = {(c.tile[0], c.pingpong, c.cluster, c.together): c for c in CONFIGS if c.swapped and c.tile[1] <= 112}
"""One configuration for each kind: they differ in rows of the result too."""
LYING = [replace(config, swapped=False) for config in UNLIKE.values()]
KINDS = [replace(x, swapped=number % 2 > 0 or x.stages < needed(x)) for number, x in enumerate(LYING)]
SMALL = [swapped(24, 64, True), swapped(48, 128), swapped(16, 64, True, together=3), swapped(48, 128, cluster=2)]


COVERING = covering(KINDS, lambda c: set(combinations(enumerate((c.tile[0], c.pingpong, c.cluster, c.together)), 2)))


@pytest.mark.parametrize(
    "config", [pytest.param(c, marks=() if c in COVERING else pytest.mark.gpu) for c in KINDS], ids=map(str, KINDS)
)
def test_every_kind_of_tile(config: Config) -> None:
    columns = min(264, config.tile[0] * max(config.cluster) + 8)  # some that a whole cluster does not reach
    compare((83, columns, 200) if config.swapped else (columns, 88, 200), config=config)


@pytest.mark.parametrize("config", SMALL, ids=str)
def test_epilogues_and_batches(config: Config) -> None:
    compare((41, 136, 200), c=True, bias="float32", alpha=0.5, beta=-2.0, activation=relu, config=config)
    compare((2, 7, 72, 136), c=True, beta=1.0, bias="bfloat16", config=config)
    compare((37, 264, 272), "float8_e4m3fn", "bfloat16", scales="rows", bias="float32", config=config)
    compare((5, 67, 136), config=config)  # rows of results that TMA would write beyond


def test_pieces_of_c_come_several_ahead(checked: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight pieces through four buffers, and two tiles of each warpgroup: C of the second one comes early."""
    monkeypatch.setattr(dense, "clusters_at_once", lambda size, like: 1)
    checked(1)
    config = Config((64, 64), True, (1, 1), stages=2, piece=8, buffers=4)
    compare((41, 200, 72), c=True, bias="float32", beta=2.0, config=config)


@pytest.mark.parametrize(
    "config",
    [
        swapped(8, 64, True, 4),
        swapped(24, 128, cluster=2),
        slim(72, 64, True, 4),
        replace(swapped(80, 128), cluster=(4, 2)),
    ],
    ids=str,
)
def test_parts_of_rows_that_begin_within_a_pattern(config: Config) -> None:
    """2, 12, 18 and 20 rows for each block: a swizzle permutes 8."""
    compare((config.tile[1] + 3, 328, 1032), bias="float32", config=config)


@pytest.mark.parametrize("columns", [8, 24])
def test_few_columns(columns: int) -> None:
    """Pieces of 16 and 48 bytes, which no swizzle permutes."""
    compare((133, columns, 136), c=True, beta=1.0, bias="bfloat16", config=slim(columns, 128))


@pytest.mark.parametrize("rows", [1, 8, 33])
def test_few_rows(rows: int) -> None:
    config = swapped(-(-rows // 8) * 8, 64, True)
    compare((rows, 200, 136), config=config)
    compare((rows, 72, 200), config=replace(config, splits=2, piece=8))


@pytest.mark.parametrize("config", [swapped(128, 128, cluster=2), swapped(96, 64, True)], ids=str)
@pytest.mark.parametrize("majors", ["KN", "MK", "MN"])
def test_majors(majors: str, config: Config) -> None:
    compare((104, 200, 136), majors=majors, config=config)
    compare((96, 64, 136), majors=majors, config=config)  # one tile, whose results lie where its operands were


TYPES: list[tuple[str, str, float, dict[str, Any]]] = [
    ("float16", "float32", 5e-4, {}),
    ("float8_e5m2", "bfloat16", 4e-3, {}),
    ("int8", "int32", 0.0, {}),
    ("float32", "float32", 1e-3, {"precision": "tf32"}),
]


@pytest.mark.parametrize(("dtype", "out", "tolerance", "how"), TYPES, ids=[f"{t[0]}-{t[1]}" for t in TYPES])
def test_types(dtype: str, out: str, tolerance: float, how: dict[str, Any]) -> None:
    for config in (swapped(32, 128), swapped(48, 64, True, together=2)):
        compare((45, 200, 272), dtype, out, tolerance=tolerance, config=config, **how)


@pytest.mark.parametrize(("majors", "lead", "config"), [
    ("KK", (), swapped(8, 256, together=2)),  # more lines than threads, and fewer
    ("MN", (2,), swapped(96, 64, True)),  # 12 units of a line: some threads have none
])  # fmt: skip
def test_operands_that_threads_load(majors: str, lead: tuple[int, ...], config: Config) -> None:
    """Rows that TMA cannot read: each begins elsewhere, and ends within 16 bytes that are another one's too."""
    compare((*lead, 9, 35, 77), majors=majors, config=config)


@pytest.mark.parametrize(("majors", "shape", "config"), [
    ("KN", (9, 36, 136), swapped(16, 64, True)),  # B alone begins anywhere
    ("MK", (2, 9, 36, 136), swapped(32, 64, True, together=2)),  # A alone
    ("KN", (2, 9, 36, 136), Config((64, 64), True, (1, 1), 10, buffers=1)),
])  # fmt: skip
def test_tma_brings_what_it_can_read_beside_what_threads_load(
    majors: str, shape: tuple[int, ...], config: Config
) -> None:  # fmt: skip
    compare(shape, majors=majors, config=config)


CHECKED = [
    (replace(SMALL[2], stages=3), (29, 72, 712)),
    (SMALL[3], (61, 264, 328)),
    (replace(SMALL[0], stages=3), (23, 69, 137)),  # loaded by threads, by turns in three steps
    (replace(swapped(8, 64, True, 2), stages=3), (5, 264, 328)),
]


@pytest.mark.parametrize(("config", "shape"), CHECKED, ids=str)
def test_the_checker_finds_nothing(config: Config, shape: tuple[int, int, int], checked: Callable[[int], None]) -> None:
    checked(1)
    compare(shape, c=True, beta=1.0, bias="float32", config=replace(config, swizzle=3))
