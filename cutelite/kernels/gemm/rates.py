"""The numbers of the model of a GEMM's time (`gemm.model`): of a GPU, and of kinds of tiles.

Fitted to times of an H200 and an H100 (tests/bench/gemm_fit.py, docs/lab/gemm.md); `LOAD` is what the two differ by.
"""

from __future__ import annotations

from typing import Any

from cutelite.kernels.gemm.configs import Config
from cutelite.tuples import NamedTuple


class Numbers(NamedTuple):
    """The numbers of the model besides `RATES`, in microseconds.

    start                 of every GEMM; `half` more where it has more than half of the clusters that run at once:
                          the next GEMM's blocks find no room beside its own, and do not get ready meanwhile
    beyond                the part by which steps take longer, by the square of the share of rows brought that lie
                          beyond the result
    l2                    a byte that blocks load from L2
    hidden                the part of a tile's own time that remains where another warpgroup multiplies meanwhile
    turn                  a further tile of one step, whose results wait for those of the tile before
    partial               the part of results that is written besides, where tiles begin within a line of 128 bytes
    shallow               the part by which steps take longer with three stages or fewer
    second, second_byte   a second kernel that adds up sums, and a byte of these
    meeting, meeting_byte blocks of a cluster that add up their sums, and a byte that one lays down or reads
    piece                 of results that a block finishes of such sums
    whole                 the part by which GEMMs take longer whose blocks share K and fill all rounds
    restart               a further round of such
    product               a row and column of a tile, in a step: what tensor cores take
    spans                 the part by which rows of a tile take longer to bring that lie in spans of 64 bytes
    cut                   the part by which lone blocks load slower whose rows begin within sectors of 32 bytes
    aligned               the part by which lone blocks load faster where rows begin lines; of a cluster, a share of it
    sliver                a step whose 64 rows along K a block brings of an operand that has few, in no whole sectors
    large                 for each element of a tile, the part by which its steps take longer in many rounds
    apart                 the part by which a byte from DRAM takes longer for lone blocks; of a cluster's, a share of it
    ample                 a step's loads take less time where few clusters run: their share to this power
    astray                the part by which stream-K takes longer, whose blocks are at different places of K; twice it
                          where each has two tiles, and less where it has more, of which two are shared
    """

    start: float = 0.9817
    half: float = 0.3
    beyond: float = 0.15
    l2: float = 2.249e-08
    hidden: float = 0.176
    turn: float = 0.05
    partial: float = 0.5
    shallow: float = 0.3151
    second: float = 1.6
    second_byte: float = 4.086e-07
    meeting: float = 0.5
    meeting_byte: float = 4.343e-05
    piece: float = 0.12
    whole: float = 0.03
    restart: float = 2.237
    product: float = 1.908e-05
    spans: float = 0.35
    cut: float = 0.15
    aligned: float = 0.3
    sliver: float = 0.4
    large: float = 2e-6
    apart: float = 0.12
    ample: float = 0.28
    astray: float = 0.08


NUMBERS = Numbers()
DRAM = 2.3e-7
"""Microseconds for a byte from DRAM: 4.35 TB/s, of a peak of 4.8."""
BESIDE, UNDISTURBED, LASTING = 3.0, 4.0, 60e6
"""How work, loads and memory add up: 1 were one after the other, and a great number the longest of them alone. The
second is of clusters of four whose next kernel comes late (`model.is_late`), from so many bytes of operands on."""


def beside(*times: Any, power: Any = BESIDE) -> Any:
    """Return the time of what is done side by side, as `BESIDE` says."""
    return sum(time**power for time in times) ** (1 / power)


FUNCTION = 1.5
"""Microseconds of a piece of results that a function makes of tensors, or stores to some: an estimate."""

BEHIND = 1.6
"""Microseconds by which a second kernel delays the one behind the GEMM, where that could have begun early. Times of one
GEMM alone do not show it; of a step that decodes 64 sequences it is 0.9%."""

LOADS, MADE = 3e-5, 0.45
"""Microseconds for a byte that a block's threads load to shared memory, and at least for a step that they make, as 79
sizes have it (docs/lab/gemm.md)."""

QUICKEST = 0.1
"""Microseconds that a step takes at least, however few rows are brought for it."""

DEEP, HALFWAY = 64, 16
"""Steps along K beyond which it does not count that results of neighbours share sectors; and if L2 keeps results."""

FEWEST = 0.25
"""The share of clusters below which each loads no faster."""

LEAST, SHALLOW = 40, 96
"""Columns of a tile that is never too narrow: of several steps along K, and of one, where the rest of a tile counts."""

FEWEST_SHARED = 32
"""Rows beyond which it is worth while that a cluster along a tile's columns shares them."""

FEW = 384
"""Rows or columns, the fewer of both, beyond which no more than two rounds are of clusters of four: some
multiprocessors are left without one."""

ROOMY = 128 * 176
"""Rows times columns of a cooperative tile from which on lone blocks go through several rounds."""

WATTS = 700.0
"""The limit of power, in W. The three energies below include a share of the power of an idle GPU."""
PRODUCT, LOADED, MOVED = 0.72e-6, 42e-6, 32e-6
"""Microjoules: of a multiply-add, by the bytes of an element; of a byte that a block loads; of a byte from DRAM."""

AT_ONCE = {1: 132, 2: 66, 3: 39, 4: 30, 5: 22, 6: 17, 8: 15}
"""Blocks of a cluster -> clusters that run at once on an H200, a block per SM: for arrays that are on no GPU."""


LOAD = {5: 5.0, 6: 1.0}
"""Stacks of a GPU's memory -> how many times `l2` a byte from L2 takes. Each stack has its part of L2; an H100 has
five, an H200 six."""
H200 = 6

Kind = tuple[int, bool, tuple[int, int]] | tuple[int, bool, tuple[int, int], str]
Rates = tuple[float, float, float, float]

ROWS_192: Rates = (0.2567, 0.00151, 0.680, 0.0066)
WIDE_256: Rates = (0.51, 0.0, 3.3, 0.0)
"""Those of two kinds in `RATES` whose clusters were fitted together."""
RATES: dict[Kind, Rates] = {
    (64, True, (1, 1)): (0.1164, 0.00184, 0.031, 0.0119),
    (64, True, (1, 2)): (0.1403, 0.00144, 0.008, 0.00861),
    (64, True, (1, 4)): (0.0709, 0.00178, 0.176, 0.00623),
    (64, True, (2, 1)): (0.1653, 0.000776, 0.071, 0.00878),
    (64, True, (4, 1)): (0.1374, 0.000478, 0.319, 0.0046),
    (128, False, (1, 1)): (0.229, 0.0014, 0.272, 0.00952),
    (128, False, (1, 2)): (0.2074, 0.0012, 0.879, 0.0124),
    (128, False, (1, 4)): (0.1150, 0.00128, 0.449, 0.011),
    (128, False, (2, 1)): (0.3101, 0.00046, 0.663, 0.00817),
    (128, False, (4, 1)): (0.3012, 2.85e-05, 0.869, 0.00558),
    (128, True, (1, 1)): (0.1014, 0.00286, 0.345, 0.0064),
    (128, True, (1, 2)): (0.1385, 0.00126, 0.880, 0.00967),
    (128, True, (2, 1)): (0.3298, 8.23e-05, 0.818, 0.00735),
    (128, True, (4, 1)): (0.2352, 9.21e-05, 0.298, 0.00978),
    (192, False, (1, 2)): ROWS_192,
    (192, False, (2, 1)): ROWS_192,
    (192, True, (1, 2)): (0.28, 0.0006, 0.872, 0.0168),
    (192, True, (1, 4)): (0.16, 0.0012, 0.872, 0.0168),
    (192, True, (2, 1)): (0.2336, 0.00171, 0.872, 0.0168),
    (256, False, (4, 1)): (0.37, 0.0007, 2.0, 0.00111),
    (256, False, (2, 2)): (0.36, 0.0008, 3.0, 0.00111),
    (64, True, (2, 2)): (0.1, 0.0005, 1.6, 0.0046),
    (64, True, (2, 4)): (0.112, 0.0005, 1.6, 0.0046),
    (128, False, (2, 2)): (0.17, 0.0005, 1.2, 0.00558),
    (192, True, (2, 2)): (0.21, 0.0006, 1.2, 0.0168),
    (192, False, (2, 2)): (0.23, 0.00151, 1.2, 0.0066),
    (128, False, (1, 1), "full"): (0.37, 0.0016, 0.272, 0.00952),
    (128, False, (1, 2), "full"): (0.32, 0.0012, 0.879, 0.0124),
    (128, False, (2, 1), "full"): (0.47, 0.00046, 0.663, 0.00817),
    (256, False, (1, 1)): (0.6180, 0.0001, 0.293, 0.029),
    (256, False, (1, 2)): (0.1143, 0.00306, 0.567, 0.0157),
    (256, False, (2, 1)): (0.4216, 0.0007, 2.791, 0.00111),
    (256, False, (1, 2), "full"): WIDE_256,
    (256, False, (2, 1), "full"): WIDE_256,
}
"""(rows of a tile, ping-pong, cluster) -> what tensor cores and loads do not set, by a tile's columns: a step takes a
constant and so much for each column; a tile besides its steps a constant, and so much for each column. "full": tiles
of 256 rows and more than `FULL` columns, by products at the limit of power (docs/lab/models.md), and those of 128 rows
and more than 256 columns whose results leave 8 columns at a time. Clusters along both modes but (2, 4) stand as
(2, 2)."""
FULL = 176


def kind_of(config: Config) -> Kind:
    """Return the key of `RATES`: clusters along both modes are of one kind, but for (2, 4)."""
    along = config.cluster if 1 in config.cluster or config.cluster == (2, 4) else (2, 2)
    kind = config.tile[0], config.pingpong, along
    high, wide = config.tile
    full = wide > (FULL if high == 256 else 256) and (high == 256 or config.stages > 3)
    return (*kind, "full") if full and 1 in config.cluster else kind
