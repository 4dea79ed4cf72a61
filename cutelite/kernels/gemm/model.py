"""A model of a GEMM's time from its sizes and configuration: it picks the configuration where nothing is measured.

    burst = START + (work ** P + memory ** P) ** (1 / P) + sharing
    time = burst * max(1, energy / (burst * WATTS)) ** (1 / 3)
    work     rounds of tiles, each of a number of steps along K and a part that nothing hides: RATES
    memory   bytes that blocks load, from L2, and bytes that come from DRAM, again where a round's operands outgrow L2
    sharing  the cost of splitting K among blocks: a second kernel, or a sum over the cluster
    energy   of products, of bytes that blocks load and of bytes that come from DRAM. A GPU at its limit of power lowers
             its clock, and power goes with the cube of it: where GEMMs last, not in the first milliseconds

All times are microseconds. A step is 128 bytes along K, whatever the dtype: tensor cores take the same time for them.
The numbers are fitted to an H200 (tests/bench/gemm_model.py, docs/lab/gemm.md).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any, NamedTuple

import cutelite_rt as rt
from cutelite.kernels.arrays import clusters_at_once
from cutelite.kernels.gemm.configs import WIDTHS, Config, Problem, wide

START, P = 1.099, 1.1459
L2, L2_CLUSTERED = 8.509e-08, 5.845e-08
"""Microseconds for a byte that blocks load from L2, without a cluster and with one."""
DRAM, AGAIN_DRAM = 1.155e-07, 0.3905
"""Microseconds for a byte from DRAM, and the part of a round's operands that is read again where they outgrow L2."""
AT_LEAST = 2.084e-07
"""Microseconds for a byte at the peak rate of the GPU's memory, 4.8 TB/s: a lower bound for the fit."""
STREAM, STREAM_CLUSTERED = 1.395e-05, 1.8e-05
"""Microseconds for a byte from DRAM that a block loads, a bound where few blocks load; and where blocks of a cluster
load for each other, each waiting for the slowest."""
OUTGROWN, SOFT = 23.66e6, 8e6
FUNCTION = 1.5
"""Microseconds of a piece of results that a function makes of tensors, or stores to some: an estimate."""
HIDDEN = 0.152
"""The part of a tile's own time that remains where another warpgroup multiplies meanwhile."""
SECOND, SECOND_BYTE = 2.161, 2.264e-07
MEETING, MEETING_BYTE, RESTART = 0.8559, 2.662e-05, 3.654

WATTS = 700.0
"""The limit of power, in W. The three energies below include a share of the power of an idle GPU."""
PRODUCT, LOADED, MOVED = 0.72e-6, 42e-6, 32e-6
"""Microjoules: of a multiply-add, by the bytes of an element; of a byte that a block loads; of a byte from DRAM."""

AT_ONCE = {1: 132, 2: 66, 3: 39, 4: 30, 5: 22, 6: 17, 8: 15}
"""Blocks of a cluster -> clusters that run at once on an H200, a block per SM: for arrays that are on no GPU."""

RATES: dict[tuple[tuple[int, int], bool, tuple[int, int]], tuple[float, float]] = {
    ((64, 64), True, (1, 1)): (0.0721, 1.160),
    ((64, 64), True, (1, 2)): (0.1701, 0.270),
    ((64, 64), True, (1, 4)): (0.0688, 0.291),
    ((64, 64), True, (2, 1)): (0.1719, 0.238),
    ((64, 128), True, (1, 1)): (0.2006, 0.828),
    ((64, 128), True, (2, 1)): (0.1547, 0.220),
    ((64, 128), True, (1, 2)): (0.1564, 0.804),
    ((64, 128), True, (1, 4)): (0.1245, 0.454),
    ((64, 192), True, (1, 2)): (0.1646, 1.205),
    ((64, 192), True, (1, 1)): (0.2029, 1.632),
    ((64, 192), True, (2, 1)): (0.2151, 2.003),
    ((64, 256), True, (1, 1)): (0.2725, 2.311),
    ((64, 256), True, (2, 1)): (0.2378, 2.791),
    ((128, 64), False, (1, 1)): (0.1390, 0.402),
    ((128, 64), False, (1, 4)): (0.1014, 1.873),
    ((128, 64), False, (2, 1)): (0.1417, 0.593),
    ((128, 96), False, (1, 1)): (0.0658, 2.888),
    ((128, 96), False, (1, 2)): (0.1522, 1.714),
    ((128, 96), False, (2, 1)): (0.2192, 1.124),
    ((128, 128), False, (1, 1)): (0.2594, 0.870),
    ((128, 128), True, (1, 1)): (0.1691, 1.143),
    ((128, 128), True, (1, 2)): (0.1902, 1.575),
    ((128, 128), True, (2, 1)): (0.2429, 1.707),
    ((128, 160), True, (2, 1)): (0.2848, 1.377),
    ((128, 176), True, (2, 1)): (0.2908, 2.136),
    ((128, 192), False, (1, 1)): (0.3534, 0.961),
    ((128, 192), True, (1, 2)): (0.3875, 1.948),
    ((128, 192), True, (2, 1)): (0.3433, 2.623),
    ((128, 208), True, (2, 1)): (0.4233, 3.310),
    ((128, 256), False, (1, 1)): (0.4503, 1.973),
    ((128, 256), False, (1, 2)): (0.4244, 2.555),
    ((128, 256), False, (2, 1)): (0.5610, 1.924),
    ((128, 320), False, (2, 1)): (0.7254, 2.980),
    ((256, 128), False, (1, 2)): (0.5328, 1.718),
    ((256, 128), False, (2, 1)): (0.5190, 1.577),
}
"""(tile, ping-pong, cluster) -> time of a step, and of a tile besides its steps, as far as loads do not set them."""


LINES: dict[tuple[int, bool, int], tuple[float, float, float, float, float]] = {
    (64, True, 1): (0.0287, 0.00138, 9.95e-09, 0.015, 0.00129),
    (128, False, 1): (0.1328, 0.000941, 1.08e-08, 0.169, 0.00683),
    (256, False, 1): (0.2605, 0.00151, 9.99e-09, 0.682, 0.0133),
    (128, True, 2): (0.0015, 0.00156, 8.11e-07, 1.660, 0.00449),
    (128, False, 2): (0.1037, 0.000598, 3.38e-06, 0.639, 0.00686),
    (256, False, 2): (0.0282, 0.00314, 3.24e-06, 3.339, 0.00439),
    (64, True, 2): (0.0433, 0.00112, 9.85e-09, 0.036, 0.00952),
    (64, True, 4): (0.0407, 0.000605, 1.02e-08, 0.029, 0.00159),
    (128, False, 4): (0.1107, 0.000391, 1.03e-08, 0.142, 0.00859),
    (128, True, 4): (0.0379, 0.0014, 1.04e-08, 0.126, 0.00357),
}
"""Swapped tiles: (columns of the result, ping-pong, blocks of a cluster) -> the same, by a tile's rows. A step takes a
constant, so much for each row, and for their square; a tile a constant, and so much for each row."""


ALONG_ROWS = [width for width in WIDTHS if width % 32 == 0]
"""Of them, those that an operand contiguous along the result's rows can have: spans of 64 bytes, or of 128."""


class Sizes(NamedTuple):
    """The sizes of a problem: rows, columns and depth of each batch, and the number of batches.

    matrices  how many matrices B there are in a batch, each for some of the rows
    """

    m: int
    n: int
    k: int
    batches: int
    matrices: int = 1


def sizes_of(problem: Problem, a: Any, d: Any) -> Sizes:
    """Return the sizes of arrays as `dense.run` takes them."""
    k = a.shape[-1 if problem.majors[0] == "K" else -2]
    return Sizes(d.shape[-2], d.shape[-1] * (2 if problem.halves else 1), k, d.shape[0] if problem.batched else 1)


def clusters(blocks: int, like: Any) -> int:
    """Return the number of clusters of this size that run at once on the GPU of `like`; in the simulator, an H200's."""
    return clusters_at_once(blocks, like) if rt.read(like).device[0] == "cuda" else AT_ONCE[blocks]


def rates_of(config: Config) -> tuple[float, float] | None:
    """Return the time of a step, and of a tile besides its steps; None for an unknown configuration."""
    (bm, bn), cluster = config.tile, config.cluster
    if not config.swapped:
        return RATES.get((config.tile, config.pingpong, cluster))
    step, of_row, of_square, tile, of_row_too = LINES[bm, config.pingpong, cluster[0]]
    return step + bn * (of_row + bn * of_square), tile + bn * of_row_too


def narrowest(config: Config, problem: Problem, rows: int) -> bool:
    """Return False for a swapped tile if a narrower one needs as few tiles, or if its width is small for these rows."""
    if not config.swapped:
        return True
    widths = WIDTHS if problem.majors[0] == "K" else ALONG_ROWS
    width, place = config.tile[1], bisect_left(widths, config.tile[1])
    few = place == 0 or -(-rows // widths[place - 1]) > -(-rows // width)
    return few and width >= min(rows // 6, 128)


def microseconds(config: Config, problem: Problem, sizes: Sizes, at_once: int) -> float:
    """Return the predicted time of a GEMM at the limit of power; inf for a configuration that the model does not cover.

    For `config.stream` (stream-K) it is a lower bound, with partial tiles free: enough to tell what to measure.

    at_once  how many clusters of this configuration run at once
    """
    return lasting(*in_bursts(config, problem, sizes, at_once))


def lasting(burst: float, energy: float) -> float:
    """Return the microseconds of a GEMM repeated for long, from its microseconds and microjoules in bursts."""
    return float(burst * max(1.0, energy / (burst * WATTS)) ** (1 / 3))


def in_bursts(config: Config, problem: Problem, sizes: Sizes, at_once: int) -> tuple[float, float]:
    """Return microseconds and microjoules of a GEMM in bursts, below the limit of power. Else as `microseconds`."""
    rates, few_rows = rates_of(config), None if config.swapped else problem.rows
    (bm, bn), (cm, cn), together = config.tile, config.cluster, config.together
    m, n, k, batches, matrices = sizes
    m, n = (n, m) if config.swapped else (m, n)
    bytes, in_memory = problem.bytes, problem.a.bytes
    steps, units = -(-k * bytes // 128), -(-m // (bm * cm)) * -(-n // (bn * cn)) * batches * config.splits
    rounds: float = units / at_once if config.stream else -(-units // at_once)
    parts, alone = config.splits * together, cm * cn * together == 1
    if config.stream and units % at_once == 0:
        return math.inf, 0.0
    if cm * cn == 4 and min(m, n) > 6 * (bn if config.swapped else bm):
        return math.inf, 0.0  # on large sizes some multiprocessors are left without a cluster of four
    if rates is None or parts > steps or (alone and rounds > 1) or (config.splits > 1 and rounds > 1):
        return math.inf, 0.0  # blocks without a cluster drift apart, and find less in L2
    each, (step, tile) = -(-steps // parts), rates
    if any(rank == 2 for _, rank, _ in problem.tensors):
        tile += FUNCTION * bm * problem.columns(bn) / (64 * wide(config, problem) * (1 if config.pingpong else 2))
    few = min(bm, few_rows or bm) if cm * cn == 1 else bm
    hidden = tile * (HIDDEN if config.pingpong else 1.0)
    work = rounds * (each * step + hidden) + tile - hidden
    loaded = units * cm * cn * together * each * 128 * (few / cn + bn / cm)
    band = min(config.swizzle, -(-n // bn))
    high = max(1.0, min(at_once * cm * cn / band, -(-m // bm)))
    of_round = (high * min(bm, m) + band * bn) * k * in_memory
    again = max(1.0, units / at_once) * of_round * AGAIN_DRAM / (1 + math.exp((OUTGROWN - of_round) / SOFT))
    if n <= band * bn:
        again = 0.0  # each row of A is read by tiles that run together, and by no others
    moved = batches * ((m * k + matrices * n * k) * in_memory + m * n * problem.d.bytes) + again
    of_block = moved * max(1.0, rounds) / (units * cm * cn * together)
    stream = of_block * (STREAM_CLUSTERED if cm * cn > 1 else STREAM)
    memory = max(loaded * (L2 if alone else L2_CLUSTERED) + moved * DRAM, moved * AT_LEAST, stream)
    sharing = SECOND + config.splits * batches * m * n * 4 * SECOND_BYTE if config.splits > 1 else 0.0
    if together > 1:
        sharing += MEETING + 4 * bn * (64 if config.pingpong else bm) * MEETING_BYTE + (rounds - 1) * RESTART
    burst = START + (work**P + memory**P) ** (1 / P) + sharing
    return burst, batches * m * n * k * bytes * PRODUCT + loaded * LOADED + moved * MOVED
