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

START, P = 1.218, 1.1262
L2, L2_CLUSTERED = 7.912e-08, 6.043e-08
"""Microseconds for a byte that blocks load from L2, without a cluster and with one."""
DRAM, AGAIN_DRAM = 1.26e-07, 0.3691
"""Microseconds for a byte from DRAM, and the part of a round's operands that is read again where they outgrow L2."""
AT_LEAST = 2.084e-07
"""Microseconds for a byte at the peak rate of the GPU's memory, 4.8 TB/s: a lower bound for the fit."""
STREAM = 1.482e-05
"""Microseconds for a byte from DRAM that a block loads: a bound where few blocks load."""
OUTGROWN, SOFT = 24.51e6, 8e6
FUNCTION = 1.5
"""Microseconds of a piece of results that a function makes of tensors, or stores to some: an estimate."""
HIDDEN = 0.1589
"""The part of a tile's own time that remains where another warpgroup multiplies meanwhile."""
SECOND, SECOND_BYTE = 2.166, 2.264e-07
MEETING, MEETING_BYTE, RESTART = 0.7973, 2.725e-05, 3.554

WATTS = 700.0
"""The limit of power, in W. The three energies below include a share of the power of an idle GPU."""
PRODUCT, LOADED, MOVED = 0.72e-6, 42e-6, 32e-6
"""Microjoules: of a multiply-add, by the bytes of an element; of a byte that a block loads; of a byte from DRAM."""

AT_ONCE = {1: 132, 2: 66, 3: 39, 4: 30, 5: 22, 6: 17, 8: 15}
"""Blocks of a cluster -> clusters that run at once on an H200, a block per SM: for arrays that are on no GPU."""

RATES: dict[tuple[tuple[int, int], bool, tuple[int, int]], tuple[float, float]] = {
    ((64, 64), True, (1, 1)): (0.0573, 1.051),
    ((64, 64), True, (1, 2)): (0.1897, 0.087),
    ((64, 64), True, (1, 4)): (0.0569, 0.227),
    ((64, 64), True, (2, 1)): (0.1595, 0.133),
    ((64, 128), True, (1, 1)): (0.1812, 0.857),
    ((64, 128), True, (2, 1)): (0.1313, 0.238),
    ((64, 128), True, (1, 2)): (0.1327, 0.685),
    ((64, 128), True, (1, 4)): (0.1045, 0.551),
    ((64, 192), True, (1, 2)): (0.1418, 1.158),
    ((64, 192), True, (1, 1)): (0.1735, 1.696),
    ((64, 192), True, (2, 1)): (0.1940, 1.611),
    ((64, 256), True, (1, 1)): (0.2343, 2.268),
    ((64, 256), True, (2, 1)): (0.2259, 1.832),
    ((128, 64), False, (1, 1)): (0.1056, 0.376),
    ((128, 64), False, (1, 4)): (0.0912, 1.390),
    ((128, 64), False, (2, 1)): (0.1227, 0.528),
    ((128, 96), False, (1, 1)): (0.0602, 1.402),
    ((128, 96), False, (1, 2)): (0.1347, 1.185),
    ((128, 96), False, (2, 1)): (0.1924, 0.987),
    ((128, 128), False, (1, 1)): (0.2268, 0.800),
    ((128, 128), True, (1, 1)): (0.1691, 1.143),
    ((128, 128), True, (1, 2)): (0.1547, 1.515),
    ((128, 128), True, (2, 1)): (0.2243, 1.340),
    ((128, 160), True, (2, 1)): (0.2665, 1.136),
    ((128, 176), True, (2, 1)): (0.2908, 2.136),
    ((128, 192), False, (1, 1)): (0.3108, 0.960),
    ((128, 192), True, (1, 2)): (0.3726, 1.387),
    ((128, 192), True, (2, 1)): (0.3308, 1.557),
    ((128, 208), True, (2, 1)): (0.4267, 2.300),
    ((128, 256), False, (1, 1)): (0.4058, 2.022),
    ((128, 256), False, (1, 2)): (0.4939, 1.628),
    ((128, 256), False, (2, 1)): (0.5499, 1.390),
    ((128, 320), False, (2, 1)): (0.7315, 2.059),
    ((256, 128), False, (1, 2)): (0.5247, 1.190),
    ((256, 128), False, (2, 1)): (0.5164, 1.072),
}
"""(tile, ping-pong, cluster) -> time of a step, and of a tile besides its steps, as far as loads do not set them."""


LINES: dict[tuple[int, bool, int], tuple[float, float, float, float, float]] = {
    (64, True, 1): (0.0269, 0.00106, 9.93e-09, 0.017, 0.00164),
    (128, False, 1): (0.1044, 0.000891, 1.05e-08, 0.250, 0.00533),
    (256, False, 1): (0.2153, 0.0018, 9.99e-09, 0.793, 0.0109),
    (128, True, 2): (0.0011, 0.00124, 3.13e-06, 0.770, 0.00316),
    (128, False, 2): (0.0040, 0.00137, 1.46e-06, 1.605, 0.00153),
    (256, False, 2): (0.0111, 0.00342, 3.93e-06, 1.541, 0.0041),
    (64, True, 2): (0.0312, 0.00109, 9.88e-09, 0.035, 0.0081),
    (64, True, 4): (0.0348, 0.000508, 1.01e-08, 0.030, 0.00298),
    (128, False, 4): (0.0441, 0.00091, 1.03e-08, 0.126, 0.00403),
    (128, True, 4): (0.0488, 0.00104, 1.03e-08, 0.200, 0.00643),
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
    memory = max(loaded * (L2 if alone else L2_CLUSTERED) + moved * DRAM, moved * AT_LEAST, of_block * STREAM)
    sharing = SECOND + config.splits * batches * m * n * 4 * SECOND_BYTE if config.splits > 1 else 0.0
    if together > 1:
        sharing += MEETING + 4 * bn * (64 if config.pingpong else bm) * MEETING_BYTE + (rounds - 1) * RESTART
    burst = START + (work**P + memory**P) ** (1 / P) + sharing
    return burst, batches * m * n * k * bytes * PRODUCT + loaded * LOADED + moved * MOVED
