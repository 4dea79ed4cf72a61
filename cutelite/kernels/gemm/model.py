"""A model of a GEMM's time from its sizes and configuration: it picks the configuration where nothing is measured.

    burst = start + (work ** 3 + loads ** 3 + memory ** 3) ** (1 / 3) + tiles + sharing
    time = burst * max(1, energy / (burst * WATTS)) ** (1 / 3)
    work     rounds of tiles, each of a number of steps along K, by the rate of tensor cores and RATES
    loads    bytes that blocks load from L2
    memory   bytes of operands and results, each once. DRAM likes blocks of a cluster, which go through K together
    tiles    what a tile takes besides its steps, where nothing hides it: RATES
    sharing  the cost of splitting K among blocks: a second kernel, a sum over the cluster, or parts of stream-K
    Work, loads and memory go on side by side. Where one of them is much longer it alone counts; where they are alike
    they get in each other's way, and the exponent (`BESIDE`) says how much.
    energy   of products, of bytes that blocks load and of bytes that come from DRAM. A GPU at its limit of power lowers
             its clock, and power goes with the cube of it: where GEMMs last, not in the first milliseconds

All times are microseconds. A step is 128 bytes along K, whatever the dtype: tensor cores take the same time for them.
Times of all configurations are computed at once, as arrays (`Table`).
The numbers are in `gemm.rates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from math import inf
from typing import Any

import numpy as np

import cutelite_rt as rt
from cutelite.kernels.gemm import rates
from cutelite.kernels.gemm.configs import Config, Problem
from cutelite.kernels.gemm.fits import EIGHT, stored, wide
from cutelite.tuples import NamedTuple


class Sizes(NamedTuple):
    """The sizes of a problem: rows, columns and depth of each batch, and the number of batches.

    matrices  how many matrices B there are in a batch, each for some of the rows
    over      rows of tiles that lie beyond the ends of such groups of rows; they are those of others
    """

    m: Any
    n: Any
    k: Any
    batches: int = 1
    matrices: Any = 1
    over: Any = 0


def sizes_of(problem: Problem, a: Any, b: Any, d: Any) -> Sizes:
    """Return the sizes of arrays as `dense.run` takes them. A function may store fewer columns than B has."""
    k, n = problem.extents(a, b)
    return Sizes(d.shape[-2], n, k, d.shape[0] if problem.batched else 1)


PLAIN = (64, 128, 192, 208, 256, 320)


class Table(NamedTuple):
    """Configurations, and what the model asks of them: a number each, in arrays, which are the rows of `matrix`.

    configs      an array of them
    narrower     the next smaller width of a tile, by the majors of operands; 0.5 where there is none. `of_kind` the
                 next one of tiles that differ in nothing else
    streams      one of them has stream-K
    high, wide   rows and columns of a cluster's tiles; `bm` and `bn` of a block's
    clustered    blocks of a cluster that share operands; `blocks` are all of a cluster
    together and splits share a tile's K, `parts` of it
    plain        tiles as they lie, of a width in `PLAIN`
    lone         blocks without a cluster, and blocks whose sums another kernel adds up: few have several rounds
    ragged       tiles as they lie whose columns are no multiple of 64
    torn         the part of results that is written besides where rows begin within sectors of 32 bytes, which L2 does
                 not keep until the rest comes: of what is stored at once of a row one sector, of swapped tiles two
    uneven       tiles whose columns, those of a warpgroup, are no multiple of 64: an operand contiguous along them has
                 spans of 64 bytes
    finished     columns of 64 rows of a tile that the block which finishes most of a shared one does; `pieces` of it
    share        bytes that a block loads for a step, where it brings whole tiles
    step, tile   microseconds of a step besides its products, where whole tiles are brought; and of a tile besides its
                 steps; `shown` is the part of it that nothing hides
    fixed        microseconds of a GEMM besides its tiles; `parted` for a part of stream-K that is added, `summed` for
                 each element of the result, and
    again        for each round. The last seven are of `priced`
    """

    configs: Any
    narrower: dict[tuple[str, str], Any]
    of_kind: dict[tuple[str, str], Any]
    streams: bool
    numbers: rates.Numbers
    matrix: Any
    bm: Any
    bn: Any
    clustered: Any
    together: Any
    splits: Any
    stages: Any
    blocks: Any
    pingpong: Any
    swapped: Any
    stream: Any
    high: Any
    wide: Any
    parts: Any
    plain: Any
    lone: Any
    ragged: Any
    torn: Any
    uneven: Any
    finished: Any
    pieces: Any
    share: Any
    step: Any = None
    tile: Any = None
    shown: Any = None
    fixed: Any = None
    parted: Any = None
    summed: Any = None
    again: Any = None

    def part(self, places: Any) -> Table:
        """Return the table of those at some places, without `narrower` and `of_kind`, which `worth` reads before."""
        matrix = self.matrix[:, places]
        return Table(self.configs[places], {}, {}, self.streams, self.numbers, matrix, *matrix)


def next_below(groups: Any, widths: Any, whole: int) -> Any:
    """Return for each width the next smaller one of its group which `whole` divides, or 0.5."""
    marks = groups * WIDEST + widths
    known = np.append(-1, np.sort(marks[widths % whole == 0]))  # `unique` imports masked arrays: 8 ms
    found = known[np.searchsorted(known, marks) - 1]
    return np.where(found // WIDEST == groups, found % WIDEST, 0.5)


WIDEST = 1024
"""More than the columns of any tile."""


def narrower_of(groups: Any, widths: Any, across: Any, swapped: Any) -> dict[tuple[str, str], Any]:
    """Return `next_below` by the majors of operands: along columns, tiles are whole spans of 64 bytes."""
    every, *spans = (next_below(groups, widths, whole) for whole in (1, 32, 64))
    of = {"K": every, "MN": np.where(across, spans[1], spans[0])}  # of each warpgroup
    return {(left, right): np.where(swapped > 0, of[left], of[right]) for left, right in product(of, repeat=2)}


def table_of(configs: Sequence[Config]) -> Table:
    """Return configurations as arrays; those of a kind without rates take for ever."""
    rows = [
        (*c.tile, *c.cluster, c.together, c.splits, c.stages, c.blocks, c.pingpong, c.swapped, c.stream > 0)
        for c in configs
    ]
    bm, bn, cm, cn, *more = np.array(rows, np.float64).T
    together, splits, _, blocks, pingpong, swapped, stream = more
    across = np.array([c.across for c in configs])
    own = bm / 64
    for field in (cm, cn, together, splits, pingpong, swapped, stream):
        own = own * 32 + field
    loosely = (splits > 1) + 2 * (np.minimum(cm, cn) > 1)
    narrower, of_kind = (narrower_of(groups, bn, across, swapped) for groups in (loosely, own))
    lies = swapped == 0
    made = (
        bm, bn, cm * cn, *more, bm * cm, bn * cn, splits * together, lies & np.isin(bn, PLAIN),
        (blocks == 1) | (splits > 1), lies & (bn % 64 > 0),
        np.array([0.5 if c.swapped else 16 / stored(c.piece or 64, 2) for c in configs]),
        np.array([c.own[1] % 64 > 0 for c in configs]),
        *np.array([finished_of(c) for c in configs]).T,
        128 * (bm / cn + bn / cm),
    )  # fmt: skip
    each = np.empty(len(configs), object)
    each[:] = configs
    unknown = (1e30, 0.0, 0.0, 0.0)
    bare = Table(each, narrower, of_kind, bool(stream.any()), rates.NUMBERS, np.array(made), *map(np.asarray, made))
    return priced(
        bare, np.array([rates.RATES.get(rates.kind_of(config), unknown) for config in configs]), rates.NUMBERS
    )


def finished_of(config: Config) -> tuple[int, int]:
    """Return columns, of 64 rows, that a warpgroup writes of a tile whose K blocks share, at most; and their pieces."""
    rows, columns = config.own
    piece = config.piece or min(64, columns)
    pieces = -(-(rows // 64 * (columns // piece)) // config.together)
    return pieces * piece, pieces


_kept: list[tuple[list[Config], Table]] = []
KEPT = 4
"""Lists whose tables are kept: each takes some milliseconds to make."""


def kept(configs: Sequence[Config]) -> Table:
    """Return `table_of` a list: that of before where the list was among the last ones."""
    for known, table in _kept:
        if known == configs:
            return table
    _kept[:] = [(list(configs), table_of(configs)), *_kept[: KEPT - 1]]
    return _kept[0][1]


def priced(table: Table, known: Any, numbers: rates.Numbers) -> Table:
    """Return the table with these times. known: a row of `RATES` for each of its configurations."""
    t, v, (constant, of_column, tile, tile_of_column) = table, numbers, known.T
    shared, added = t.together > 1, t.splits > 1
    # A block lays down its sums, and reads those that all have of the pieces that it finishes.
    laid = np.where(t.pingpong, 64, t.bm) * (t.bn + t.together * t.finished) / 2
    met = v.meeting + 4 * laid * v.meeting_byte + v.piece * t.pieces
    times = (
        (constant + t.bn * of_column) * (1.0 + v.shallow * (t.stages < 4)),
        tile + np.where(shared, t.finished, t.bn) * tile_of_column,
        np.where(t.pingpong, v.hidden, 1.0),
        v.start + added * v.second + shared * (met - v.restart),
        (t.stream > 0) * (v.meeting + 4 * t.bn * np.where(t.pingpong, t.bm, t.bm / 2) * v.meeting_byte),
        added * t.splits * 4 * v.second_byte,
        shared * v.restart,
    )
    matrix = np.concatenate([t.matrix[:OF_CONFIGS], times])
    return Table(t.configs, t.narrower, t.of_kind, t.streams, v, matrix, *matrix)


OF_CONFIGS = Table._fields.index("step") - Table._fields.index("bm")
"""Rows of `Table.matrix` ahead of those of `priced`."""


class Work(NamedTuple):
    """Sizes to compute: numbers, or arrays of one for each row of a table.

    rows       that blocks without a cluster bring of A; inf where they bring whole tiles
    narrow     likewise, of B, as rows of a swapped tile
    spans      tiles of whose columns an operand has spans of 64 bytes
    whole      rows of both operands begin at lines of 128 bytes
    slivers    the part that a block brings of a step's rows along K which are `sliver`s
    cut        the share of a tile's rows and columns that begin within a sector of 32 bytes, every second of them
    bytes      of an element that is multiplied; `in_memory` of one of A, and of one of the `result`
    functions  microseconds of what a function makes of a tile, beside `RATES`
    loads      microseconds for a byte of a step that threads load, of the operands `loaded`
    """

    sizes: Sizes
    rows: Any = inf
    narrow: Any = inf
    spans: Any = 0
    whole: Any = False
    slivers: Any = 0.0
    cut: Any = 0.0
    bytes: Any = 2
    in_memory: Any = 2
    result: Any = 2
    functions: Any = 0.0
    loads: float = 0.0
    loaded: str = ""


def work_of(table: Table, problem: Problem, sizes: Sizes) -> Work:
    """Return what there is to compute of a problem."""
    functions: Any = 0.0
    if any(rank == 2 for _, rank, _ in problem.tensors):
        pieces = [
            problem.columns(c.tile[1]) / (64 * wide(c, problem) * (1 if c.pingpong else 2)) for c in table.configs
        ]
        functions = rates.FUNCTION * table.bm * np.array(pieces)
    loads = rates.LOADS if problem.loaded else 0.0
    bytes = problem.bytes, problem.a.bytes, problem.d.bytes
    lying = lying_of(table, problem.majors, sizes, problem.bytes)
    return Work(sizes, problem.rows or inf, problem.narrow or inf, *lying, *bytes, functions, loads, problem.loaded)


def lying_of(table: Table, majors: Any, sizes: Sizes, bytes: Any) -> tuple[Any, Any, Any, Any]:
    """Return `Work.spans`, `whole`, `slivers` and `cut`: how rows of operands lie in memory and in tiles."""
    t, extents = table, (sizes.m, sizes.n)
    along = [major == "MN" for major in majors]
    pitches = [np.where(is_mn, extent, sizes.k) * bytes for is_mn, extent in zip(along, extents, strict=True)]
    few = [is_mn & (pitch < 64) & (pitch % 32 > 0) for is_mn, pitch in zip(along, pitches, strict=True)]
    (of_rows, of_columns), (high, wide) = (
        [np.where(t.swapped > 0, of[1 - i], of[i]) for i in (0, 1)]
        for of in (few, [pitch % 32 > 0 for pitch in pitches])
    )
    slivers = np.maximum(of_rows * t.bn / t.wide, of_columns * t.bm / t.high)  # blocks bring equal parts
    spans = (t.uneven > 0) & np.where(t.swapped > 0, along[0], along[1])
    cut = (high * t.bm + wide * t.bn) / (t.bm + t.bn)
    return spans, (pitches[0] % 128 == 0) & (pitches[1] % 128 == 0), slivers, cut


def worth(table: Table, problem: Problem, sizes: Sizes) -> Any:
    """Tell of each configuration whether its width fits: no narrower one needs as few tiles, and it is not too small.

    A narrower one of the same kind, and of most kinds where one tile is enough: what it has to spare is loaded in vain.
    Tiles as they lie have all widths of `PLAIN`, whatever the columns.
    """
    t, extent = table, sizes.n + (sizes.m - sizes.n) * table.swapped
    steps = np.ceil(sizes.k * problem.bytes / 128)
    narrower = np.where(t.bn < extent, t.of_kind[problem.majors], t.narrower[problem.majors])
    least = np.minimum(extent / 6, np.where(steps > 1, rates.LEAST, rates.SHALLOW))
    fits = (np.ceil(extent / narrower) > np.ceil(extent / t.bn)) & (t.bn >= least)
    # Neighbours would share sectors of 32 bytes, which few results are worth. L2 keeps some until they are whole.
    kept = sizes.batches * sizes.m * sizes.n * problem.d.bytes <= IN_L2
    fits &= (t.swapped > 0) | (t.bn % 16 == 0) | (t.bn >= sizes.n) | (steps >= (rates.HALFWAY if kept else rates.DEEP))
    fits &= extent > t.wide - t.bn  # else blocks of a cluster have no tile
    fits &= (t.clustered <= 4) | (sizes.m + sizes.n - extent > t.high - t.bm)
    # Blocks along columns share rows of which there may be few: a lone block brings these and no others.
    few = np.where(t.swapped > 0, problem.narrow or inf, problem.rows or inf)
    fits &= (t.wide == t.bn) | (t.high > t.bm) | (few > rates.FEWEST_SHARED)
    return fits | (t.plain > 0)


def microseconds(table: Table, problem: Problem, sizes: Sizes, at_once: Any, stacks: int = rates.H200) -> Any:
    """Return the predicted times of a GEMM at the limit of power; inf for configurations that the model does not cover.

    at_once  how many clusters of each configuration run at once
    stacks   of the GPU's memory: a key of `LOAD`
    """
    return lasting(*in_bursts(table, work_of(table, problem, sizes), at_once, rates.LOAD[stacks]))


def lasting(burst: Any, energy: Any) -> Any:
    """Return the microseconds of a GEMM repeated for long, from its microseconds and microjoules in bursts."""
    return burst * np.cbrt(np.maximum(1.0, energy / (burst * rates.WATTS)))


UNEVEN, MANY, LATE = (0.5, 0.8), 12e6, 0.4
"""Shares of the clusters that run at once, bytes of operands, and microseconds: see `is_late`."""


def is_late(splits: Any, filled: Any, bytes: Any) -> Any:
    """Tell whether it is best that the next kernel's blocks come late, which takes it `LATE`; of numbers or arrays.

    filled  the share of the clusters that run at once which this kernel has
    bytes   of its operands
    Up to half of these, all blocks of a next kernel like this one find room beside its own, and near the whole none do.
    In between some do, and others would come one by one as its blocks leave: where these are few, since they end
    first. So some parts of the GPU would be full, and wait for their share of L2's rate, and others empty. Nor may what
    adds up splits come at once: it would go to the few multiprocessors that have no block. Few bytes are loaded sooner
    than blocks come.
    """
    low, high = UNEVEN
    return (splits > 1) | ((low < filled) & (filled < high) & (bytes >= MANY))


WRITTEN, IN_L2 = 4, 16e6
"""Steps along K up to which storing results is most of the time, and bytes of operands or of results that L2 keeps."""


def stores_rows(steps: Any, bytes: Any) -> Any:
    """Tell whether it is best that blocks which run at once store whole rows of results; of numbers or arrays.

    So it is where these are most of what is moved: DRAM takes neighbours faster. bytes: of the operands
    """
    return (steps <= WRITTEN) & (bytes <= IN_L2)


class Filling(NamedTuple):
    """The way in which a GEMM's tiles fill the GPU: numbers for each configuration.

    extent  of the result along the tiles' columns
    steps   along K; `each` tile has so many of them
    units   tiles of clusters, for each part of K
    filled  rounds of these, of which the last may be in part; `rounds` that blocks go through
    high    rows that blocks bring for a tile; the share of them `beyond` the result, of tiles that are part of it
    """

    extent: Any
    steps: Any
    each: Any
    units: Any
    filled: Any
    rounds: Any
    high: Any
    beyond: Any


def filling_of(t: Table, work: Work, at_once: Any) -> Filling:
    """Return how tiles fill a GPU on which so many clusters run at once."""
    m, n, k, batches, _, over = work.sizes
    turned = (n - m) * t.swapped
    high, across = m + turned + over, n - turned
    clusters, tall = np.ceil(high / t.high) * np.ceil(across / t.wide), np.ceil(high / t.bm)
    units = clusters * (t.splits * batches)
    steps, filled = np.ceil(k * work.bytes / 128), units / at_once
    rounds = np.where(t.stream, filled, np.ceil(filled)) if t.streams else np.ceil(filled)
    brought = np.where(t.clustered == 1, np.minimum(t.bm, np.where(t.swapped, work.narrow, work.rows)), t.bm)
    each = np.ceil(steps / t.parts)
    return Filling(across, steps, each, units, filled, rounds, brought, 1.0 - high / (tall * brought))


def unsuited(t: Table, work: Work, of: Filling) -> Any:
    """Tell of each configuration whether it is out of the question: its time would not be as the model expects."""
    sizes, rounds = work.sizes, np.ceil(of.filled)
    many = np.minimum(sizes.m + sizes.over, sizes.n) > rates.FEW
    found = (t.parts > of.steps) | (many & (t.clustered >= 4) & (rounds > 2))
    # Blocks without a cluster drift apart, and find less in L2, which large tiles need less, unless threads load for
    # their block alone; groups have a matrix each, and eight rows are there for all.
    lone = 0 if work.loads else t.lone * (sizes.matrices == 1) * (t.swapped + (work.rows > EIGHT) > 0)
    small = (t.bm * t.bn < rates.ROOMY) & (t.pingpong == 0)
    found |= (lone * rounds > 1) & (small | (t.bm == 64) | (t.splits > 1) | (of.steps < 4))
    if t.streams:  # of one tile a block has, both warpgroups work on it
        found |= (t.stream > 0) & ((of.filled == rounds) | ((of.filled > 1) != t.pingpong))
    return found


def step_of(t: Table, work: Work, of: Filling) -> tuple[Any, Any]:
    """Return the microseconds of a step along K of one tile, and the bytes that a block loads for it."""
    v = t.numbers
    slow = (of.high + t.bn + v.spans * work.spans * t.bn) * np.clip(of.filled, rates.FEWEST, 1) ** v.ample
    slow = slow * (1.0 - v.aligned * work.whole / t.clustered) * (1.0 + v.cut * work.cut * (t.clustered == 1))
    fetch = np.maximum(np.minimum(t.step, rates.QUICKEST), t.step * slow / (t.bm + t.bn))
    fetch = np.maximum(fetch, v.sliver * work.slivers)
    areas = t.bm * t.bn
    step = rates.beside(fetch, areas * v.product)
    step = step * (1.0 + v.large * areas * np.maximum(0.0, 1.0 - 1.0 / of.rounds))
    step = step * (1.0 + v.beyond * of.beyond**2 * (t.parts == 1))
    if work.loads:
        of_a, of_b = "A" in work.loaded, "B" in work.loaded
        by_threads = np.where(t.swapped > 0, t.bm * of_b + t.bn * of_a, t.bm * of_a + t.bn * of_b)
        step = np.maximum(step, np.maximum(rates.MADE, 128 * by_threads * work.loads))
    return step, np.where(t.clustered == 1, 128 * (of.high + t.bn), t.share)


def moved_by(t: Table, work: Work, of: Filling) -> Any:
    """Return the bytes that come from DRAM or go there: operands and results once, but for lines written in part."""
    m, n, k, batches, matrices, _ = work.sizes
    lines = t.ragged * (of.extent > t.bn) * np.logical_not(stores_rows(of.steps, (m + n) * k * work.bytes))
    results, torn = m * n * work.result, (n * work.result % 32 > 0) & (of.steps < rates.DEEP)
    written = results * (1.0 + t.numbers.partial * lines + t.torn * (torn & (results > IN_L2)))
    # Of several matrices some blocks have the last columns of each, and all wait for those that have whole tiles.
    columns = np.where(matrices > 1, np.ceil(of.extent / t.wide) * t.wide, n)
    return batches * ((m + matrices * columns) * k * work.in_memory + written)


def in_bursts(table: Table, work: Work, at_once: Any, load: Any = 1.0) -> tuple[Any, Any]:
    """Return microseconds and microjoules of a GEMM in bursts, below the limit of power. Else as `microseconds`.

    load   the GPU's of `LOAD`; it does not change the energy
    """
    t, v, (m, n, k, batches, _, over) = table, table.numbers, work.sizes
    of = filling_of(t, work, at_once)
    step, share = step_of(t, work, of)
    loaded, moved = of.units * t.blocks * of.each * share, moved_by(t, work, of)
    memory = moved * rates.DRAM * (1.0 + v.apart / t.blocks)
    bytes, tile = batches * (m + n) * k * work.bytes, t.tile + work.functions
    late = is_late(1, of.filled, bytes)
    calm = late & (bytes >= rates.LASTING) & (t.parts == 1) & (t.clustered == 4)
    power = np.where(calm, rates.UNDISTURBED, rates.BESIDE)
    beside = rates.beside(of.rounds * of.each * step, loaded * v.l2 * load, memory, power=power)
    turn = tile * t.shown + v.turn * (of.each == 1)
    burst = beside + np.maximum(of.rounds - 1, 0) * turn + tile
    burst += t.fixed + t.again * of.rounds + t.parted / np.minimum(of.filled, 1)
    burst += t.summed * (batches * m * n) + v.half * ((of.filled > UNEVEN[0]) & (t.splits == 1))
    burst += LATE * late
    burst *= 1.0 + v.whole * (of.filled == of.rounds) * (t.parts > 1)
    if t.streams:  # of blocks that have several tiles the last two are shared; the deeper, the further they are apart
        few = np.minimum(2, np.clip((4 / of.filled) ** 2, 0.1, 2) * np.maximum(1, of.steps / 64))
        burst *= 1.0 + v.astray * t.stream * np.where(of.filled > 1, few, 1)
    energy = batches * (m + over) * n * k * work.bytes * rates.PRODUCT + loaded * rates.LOADED + moved * rates.MOVED
    burst[unsuited(t, work, of)] = np.inf
    return burst, energy


def at_once_of(table: Table, like: Any) -> Any:
    """Return how many clusters of each configuration run at once on the GPU of `like`; in the simulator, on an H200."""
    return counts(*rt.read(like).device)[table.blocks.astype(int)]


def stacks_of(like: Any) -> int:
    """Return the stacks of memory of an array's GPU, as `LOAD` has them; in the simulator an H200's."""
    return found_stacks(*rt.read(like).device)


BUS_WIDTH = 37  # CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH
STACK = 1024
"""Bits of a stack's bus. GPUs report fewer than all: an H200 6016 for six stacks."""


@cache
def found_stacks(kind: str, ordinal: int) -> int:
    """Return the most stacks of `LOAD` that are no more than a GPU's."""
    stacks = round(rt.device(ordinal).attribute(BUS_WIDTH) / STACK) if kind == "cuda" else rates.H200
    return max((known for known in rates.LOAD if known <= stacks), default=min(rates.LOAD))


@cache
def counts(kind: str, ordinal: int) -> Any:
    """Return how many clusters run at once, by their blocks."""
    known = (
        rates.AT_ONCE
        if kind != "cuda"
        else {blocks: rt.max_active_clusters(blocks, ordinal, 1) for blocks in rates.AT_ONCE}
    )
    return np.array([known.get(blocks, rates.AT_ONCE[1] // max(1, blocks)) for blocks in range(17)], np.float64)
