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
"""Widths of tiles that are looked at whatever the columns of the result (`worth`)."""


class Tiles(NamedTuple):
    """Facts of configurations: arrays of a number for each of them. Those that tell whether are 1 or 0.

    bm, bn      rows and columns of a block's tile, which are columns and rows of the result where it is `swapped`
    high, wide  rows and columns of all tiles of a cluster
    stages      how many steps along K a block holds
    pingpong    whether each multiplying warpgroup has a tile of its own
    swapped     whether A and B are exchanged
    stream      whether blocks share rounds by steps along K
    blocks      of a cluster; `clustered` are those that load for each other, 1 where a cluster shares K
    parts       of a tile's K, each of a block: `together` by a cluster, `splits` that another kernel adds up
    finished    columns, of 64 rows each, that the busiest block of those `together` writes, in so many `pieces`
    loaded      bytes that a block loads for a step, where it loads whole tiles
    plain       whether tiles lie as the result does, and have a width of `PLAIN`
    lone        whether blocks have no cluster, or another kernel adds up: few of these have several rounds
    ragged      whether tiles lie as the result does, and their rows end within a line of 128 bytes
    uneven      whether a warpgroup's columns are no multiple of 64: an operand contiguous along them lies in spans of
                64 bytes
    torn        the part of results that is written twice, where rows begin within sectors of 32 bytes: of what is
                stored at once of a row one sector, of swapped tiles two
    """

    bm: Any
    bn: Any
    high: Any
    wide: Any
    stages: Any
    pingpong: Any
    swapped: Any
    stream: Any
    blocks: Any
    clustered: Any
    parts: Any
    together: Any
    splits: Any
    finished: Any
    pieces: Any
    loaded: Any
    plain: Any
    lone: Any
    ragged: Any
    uneven: Any
    torn: Any


class Costs(NamedTuple):
    """Microseconds of configurations whatever the sizes, by `RATES` and `Numbers`: arrays of a number for each of them.

    step     of a step along K of whole tiles, besides its products
    tile     of a tile, besides its steps
    shown    the part of this that nothing hides where another tile follows
    gemm     of a GEMM, besides its tiles
    round    of a round besides
    part     of a part of a tile that stream-K adds up
    element  of an element of the result that another kernel adds up
    """

    step: Any
    tile: Any
    shown: Any
    gemm: Any
    round: Any
    part: Any
    element: Any


class Table(NamedTuple):
    """Configurations, what is known of them, and what the model has for their costs.

    configs   an array of them
    narrower  by the majors of operands: for each the next smaller width of a tile; 0.5 where there is none
    of_kind   the same among tiles that differ in nothing else
    streams   whether one of them has stream-K
    numbers   those by which `costs` are
    """

    configs: Any
    narrower: dict[tuple[str, str], Any]
    of_kind: dict[tuple[str, str], Any]
    streams: bool
    numbers: rates.Numbers
    tiles: Tiles
    costs: Costs

    def part(self, places: Any) -> Table:
        """Return the table of those at some places, without `narrower` and `of_kind`, which `worth` reads before."""
        tiles, costs = Tiles(*(each[places] for each in self.tiles)), Costs(*(each[places] for each in self.costs))
        return Table(self.configs[places], {}, {}, self.streams, self.numbers, tiles, costs)


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
    """Return the table of some configurations; those of a kind without rates take for ever."""
    each = np.empty(len(configs), object)
    each[:] = configs
    t = tiles_of(configs)
    across = np.array([c.across for c in configs])
    cm, cn = t.high / t.bm, t.wide / t.bn
    own = t.bm / 64
    for field in (cm, cn, t.together, t.splits, t.pingpong, t.swapped, t.stream):
        own = own * 32 + field
    loosely = (t.splits > 1) + 2 * (np.minimum(cm, cn) > 1)
    narrower, of_kind = (narrower_of(groups, t.bn, across, t.swapped) for groups in (loosely, own))
    unknown = (1e30, 0.0, 0.0, 0.0)
    known = np.array([rates.RATES.get(rates.kind_of(config), unknown) for config in configs])
    costs = costs_of(t, known, rates.NUMBERS)
    return Table(each, narrower, of_kind, bool(t.stream.any()), rates.NUMBERS, t, costs)


def tiles_of(configs: Sequence[Config]) -> Tiles:
    """Return the facts of some configurations."""
    facts = [
        (*c.tile, *c.cluster, c.stages, c.pingpong, c.swapped, c.stream > 0, c.together, c.splits, pieces_of(c),
         piece_of(c), c.own[1] % 64 > 0, 0.5 if c.swapped else 16 / stored(c.piece or 64, 2))
        for c in configs
    ]  # fmt: skip
    bm, bn, cm, cn, stages, pingpong, swapped, stream, together, splits, pieces, piece, uneven, torn = np.array(facts).T
    blocks, lies = cm * cn * together, swapped == 0
    return Tiles(
        bm=bm, bn=bn, high=bm * cm, wide=bn * cn, stages=stages, pingpong=pingpong, swapped=swapped, stream=stream,
        blocks=blocks, clustered=cm * cn, parts=splits * together, together=together, splits=splits,
        finished=pieces * piece, pieces=pieces, loaded=128 * (bm / cn + bn / cm), plain=lies & np.isin(bn, PLAIN),
        lone=(blocks == 1) | (splits > 1), ragged=lies & (bn % 64 > 0), uneven=uneven, torn=torn,
    )  # fmt: skip


def piece_of(config: Config) -> int:
    """Return the columns that leave at once."""
    return config.piece or min(64, config.own[1])


def pieces_of(config: Config) -> int:
    """Return how many pieces of 64 rows a warpgroup writes at most of a tile whose K a cluster shares."""
    rows, columns = config.own
    return -(-(rows // 64 * (columns // piece_of(config))) // config.together)


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


def costs_of(tiles: Tiles, known: Any, numbers: rates.Numbers) -> Costs:
    """Return the costs of configurations. known: a row of `RATES` for each of them."""
    t, v, (constant, of_column, tile, tile_of_column) = tiles, numbers, known.T
    shared, rows = t.together > 1, np.where(t.pingpong, 64, t.bm)
    # A block lays down its sums, and reads those that all have of the pieces that it finishes.
    laid = 4 * rows * (t.bn + t.together * t.finished) / 2
    met = v.meeting + laid * v.meeting_byte + v.piece * t.pieces
    of_part = v.meeting + 4 * t.bn * np.where(t.pingpong, t.bm, t.bm / 2) * v.meeting_byte
    return Costs(
        step=(constant + t.bn * of_column) * (1.0 + v.shallow * (t.stages < 4)),
        tile=tile + np.where(shared, t.finished, t.bn) * tile_of_column,
        shown=np.where(t.pingpong, v.hidden, 1.0),
        gemm=v.start + (t.splits > 1) * v.second + shared * (met - v.restart),
        round=shared * v.restart,
        part=(t.stream > 0) * of_part,
        element=(t.splits > 1) * t.splits * 4 * v.second_byte,
    )


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
        functions = rates.FUNCTION * table.tiles.bm * np.array(pieces)
    loads = rates.LOADS if problem.loaded else 0.0
    bytes = problem.bytes, problem.a.bytes, problem.d.bytes
    lying = lying_of(table.tiles, problem.majors, sizes, problem.bytes)
    return Work(sizes, problem.rows or inf, problem.narrow or inf, *lying, *bytes, functions, loads, problem.loaded)


def lying_of(t: Tiles, majors: Any, sizes: Sizes, bytes: Any) -> tuple[Any, Any, Any, Any]:
    """Return `Work.spans`, `whole`, `slivers` and `cut`: how rows of operands lie in memory and in tiles."""
    along, extents = [major == "MN" for major in majors], (sizes.m, sizes.n)
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
    t = table.tiles
    extent = sizes.n + (sizes.m - sizes.n) * t.swapped
    steps = np.ceil(sizes.k * problem.bytes / 128)
    narrower = np.where(t.bn < extent, table.of_kind[problem.majors], table.narrower[problem.majors])
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


def filling_of(table: Table, work: Work, at_once: Any) -> Filling:
    """Return how tiles fill a GPU on which so many clusters run at once."""
    t, (m, n, k, batches, _, over) = table.tiles, work.sizes
    turned = (n - m) * t.swapped
    high, across = m + turned + over, n - turned
    clusters, tall = np.ceil(high / t.high) * np.ceil(across / t.wide), np.ceil(high / t.bm)
    units = clusters * (t.splits * batches)
    steps, filled = np.ceil(k * work.bytes / 128), units / at_once
    rounds = np.where(t.stream, filled, np.ceil(filled)) if table.streams else np.ceil(filled)
    brought = np.where(t.clustered == 1, np.minimum(t.bm, np.where(t.swapped, work.narrow, work.rows)), t.bm)
    each = np.ceil(steps / t.parts)
    return Filling(across, steps, each, units, filled, rounds, brought, 1.0 - high / (tall * brought))


def unsuited(table: Table, work: Work, of: Filling) -> Any:
    """Tell of each configuration whether it is out of the question: its time would not be as the model expects."""
    t, sizes, rounds = table.tiles, work.sizes, np.ceil(of.filled)
    many = np.minimum(sizes.m + sizes.over, sizes.n) > rates.FEW
    found = (t.parts > of.steps) | (many & (t.clustered >= 4) & (rounds > 2))
    # Blocks without a cluster drift apart, and find less in L2, which large tiles need less, unless threads load for
    # their block alone; groups have a matrix each, and eight rows are there for all.
    lone = 0 if work.loads else t.lone * (sizes.matrices == 1) * (t.swapped + (work.rows > EIGHT) > 0)
    small = (t.bm * t.bn < rates.ROOMY) & (t.pingpong == 0)
    found |= (lone * rounds > 1) & (small | (t.bm == 64) | (t.splits > 1) | (of.steps < 4))
    if table.streams:  # of one tile a block has, both warpgroups work on it
        found |= (t.stream > 0) & ((of.filled == rounds) | ((of.filled > 1) != t.pingpong))
    return found


def step_of(table: Table, work: Work, of: Filling) -> tuple[Any, Any]:
    """Return the microseconds of a step along K of one tile, and the bytes that a block loads for it."""
    t, v, whole = table.tiles, table.numbers, table.costs.step
    slow = (of.high + t.bn + v.spans * work.spans * t.bn) * np.clip(of.filled, rates.FEWEST, 1) ** v.ample
    slow = slow * (1.0 - v.aligned * work.whole / t.clustered) * (1.0 + v.cut * work.cut * (t.clustered == 1))
    fetch = np.maximum(np.minimum(whole, rates.QUICKEST), whole * slow / (t.bm + t.bn))
    fetch = np.maximum(fetch, v.sliver * work.slivers)
    areas = t.bm * t.bn
    step = rates.beside(fetch, areas * v.product)
    step = step * (1.0 + v.large * areas * np.maximum(0.0, 1.0 - 1.0 / of.rounds))
    step = step * (1.0 + v.beyond * of.beyond**2 * (t.parts == 1))
    if work.loads:
        of_a, of_b = "A" in work.loaded, "B" in work.loaded
        by_threads = np.where(t.swapped > 0, t.bm * of_b + t.bn * of_a, t.bm * of_a + t.bn * of_b)
        step = np.maximum(step, np.maximum(rates.MADE, 128 * by_threads * work.loads))
    return step, np.where(t.clustered == 1, 128 * (of.high + t.bn), t.loaded)


def moved_by(table: Table, work: Work, of: Filling) -> Any:
    """Return the bytes that come from DRAM or go there: operands and results once, but for lines written in part."""
    t, (m, n, k, batches, matrices, _) = table.tiles, work.sizes
    lines = t.ragged * (of.extent > t.bn) * np.logical_not(stores_rows(of.steps, (m + n) * k * work.bytes))
    results, torn = m * n * work.result, (n * work.result % 32 > 0) & (of.steps < rates.DEEP)
    written = results * (1.0 + table.numbers.partial * lines + t.torn * (torn & (results > IN_L2)))
    # Of several matrices some blocks have the last columns of each, and all wait for those that have whole tiles.
    columns = np.where(matrices > 1, np.ceil(of.extent / t.wide) * t.wide, n)
    return batches * ((m + matrices * columns) * k * work.in_memory + written)


def in_bursts(table: Table, work: Work, at_once: Any, load: Any = 1.0) -> tuple[Any, Any]:
    """Return microseconds and microjoules of a GEMM in bursts, below the limit of power. Else as `microseconds`.

    load   the GPU's of `LOAD`; it does not change the energy
    """
    t, costs, v, (m, n, k, batches, _, over) = table.tiles, table.costs, table.numbers, work.sizes
    of = filling_of(table, work, at_once)
    step, share = step_of(table, work, of)
    loaded, moved = of.units * t.blocks * of.each * share, moved_by(table, work, of)
    memory = moved * rates.DRAM * (1.0 + v.apart / t.blocks)
    bytes, tile = batches * (m + n) * k * work.bytes, costs.tile + work.functions
    late = is_late(1, of.filled, bytes)
    calm = late & (bytes >= rates.LASTING) & (t.parts == 1) & (t.clustered == 4)
    power = np.where(calm, rates.UNDISTURBED, rates.BESIDE)
    beside = rates.beside(of.rounds * of.each * step, loaded * v.l2 * load, memory, power=power)
    turn = tile * costs.shown + v.turn * (of.each == 1)
    burst = beside + np.maximum(of.rounds - 1, 0) * turn + tile
    burst += costs.gemm + costs.round * of.rounds + costs.part / np.minimum(of.filled, 1)
    burst += costs.element * (batches * m * n) + v.half * ((of.filled > UNEVEN[0]) & (t.splits == 1))
    burst += LATE * late
    burst *= 1.0 + v.whole * (of.filled == of.rounds) * (t.parts > 1)
    if (
        table.streams
    ):  # of blocks that have several tiles the last two are shared; the deeper, the further they are apart
        few = np.minimum(2, np.clip((4 / of.filled) ** 2, 0.1, 2) * np.maximum(1, of.steps / 64))
        burst *= 1.0 + v.astray * t.stream * np.where(of.filled > 1, few, 1)
    energy = batches * (m + over) * n * k * work.bytes * rates.PRODUCT + loaded * rates.LOADED + moved * rates.MOVED
    burst[unsuited(table, work, of)] = np.inf
    return burst, energy


def at_once_of(table: Table, like: Any) -> Any:
    """Return how many clusters of each configuration run at once on the GPU of `like`; in the simulator, on an H200."""
    return counts(*rt.read(like).device)[table.tiles.blocks.astype(int)]


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
