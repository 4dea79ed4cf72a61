"""The plan of each kernel of rows, by the length of a row; `plans_sums.py` has those that keep sums over rows.

They are near the fastest of those that `tests/bench/rows_sweep.py` tried on an H100 and an H200 (docs/lab/rows.md).
Elements have 16 bits here: one of f32 counts as two, since it takes as much memory, and as many registers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

from cutelite.kernels.rows.narrow import LONG
from cutelite.kernels.rows.plan import ACCESS, ELEMENT, LARGE, LEAD, MOST_BLOCKS, Plan
from cutelite.target.targets import MOST_THREADS, REGISTERS, WARP

WIDE = ACCESS // ELEMENT  # elements of the widest access
SMALL_BLOCK = 256  # threads of a block of a cluster, at powers of two
MOST = 524_288  # elements of a row that the registers of a cluster hold; longer ones are read once for each pass
SHARED = 220_000  # bytes of shared memory for rows
ALL_SHARED, OWN_SHARED = 227_000, 1100  # bytes of a multiprocessor, and what each block has besides rows
RESIDENT = 2048  # threads that a multiprocessor holds
PARTITIONS = 4  # of a multiprocessor's registers: each holds those of whole warps
FEW_BLOCKS = 3  # of a multiprocessor, which wait for different things
MOST_HELD = 64  # elements of a thread: as softmax keeps powers of
LIGHT, HEAVY = 24, 40  # elements of a thread of several teams a warp: where a row costs little beside its own, or more
ROW_COST = 2.7  # vectors: what a row costs a warp beside its own
ALL_WORTH = 0.64  # from which on quantised norms of vectors that begin with rows are as fast as memory
WAITING = 0.95  # of the work that is done where blocks wait
ENOUGH = 40_960  # elements under way on a multiprocessor: more are hardly faster


def plan_long(vector: int, inputs: int = 1) -> Plan:
    """Return the plan for rows that are too long for registers and shared memory, of so many inputs.

    With less than 80 registers, or 128 for two inputs, threads spill.
    """
    return Plan(256, 1, MOST_BLOCKS, vector, 3 if inputs == 1 else 2, outside=True)


@cache
def plan(
    n: int,
    vector: int,
    each: int | None = None,
    registers: int = 64,
    alone: int = 512,
    most: int = MOST_BLOCKS,
    inputs: int = 1,
    narrow: bool = False,
    tight: bool = False,
) -> Plan:
    """Return the plan for rows of `n` elements.

    each       elements that a thread should have, but of rows that share warps `LIGHT` at most; default: 32, but half
               as many where rows have 2049 to 4096
    registers  that a thread needs
    alone      threads that a block may have without a cluster; above, blocks of about 256 or more in a cluster.
               Rows longer than a cluster's registers hold at `each` get longer parts; those above `MOST` stay where
               they are
    most       blocks of a cluster
    inputs     arrays that have rows
    narrow     rather few blocks of a cluster than few threads of a block, where these do not have `each` elements all
    tight      rather vectors that all lie within a row, also in clusters twice as large
    """
    if n > MOST:
        return plan_long(vector, inputs)
    each = each or (16 if 2048 < n <= 4096 else 32)
    wanted = max(WARP, power_of_two(n / each))
    widest = 1 if wanted <= alone else min(most, wanted // SMALL_BLOCK)
    found = []
    for cluster in (widest >> i for i in range(widest.bit_length())):
        ways = fillings(-(-n // cluster), vector, each, registers, inputs, longer=cluster == widest)
        found += [(way, cluster) for way in ways if cluster == widest or way[2] >= FEW_BLOCKS]
    if narrow and not any(way[3] for way, _ in found):
        found.sort(key=lambda pair: pair[1])
    chosen = fullest(found)
    if tight:
        twice = min(most, 2 * widest)
        more = [(way, twice) for way in fillings(-(-n // twice), vector, each, registers, inputs)]
        chosen = tightest(more + found, chosen, n, vector)
    (_, threads, held, _), cluster = chosen
    teams = max(1, 128 // threads) if cluster == 1 else 1
    return sharing_warps(
        Plan(threads, teams, cluster, vector, max(1, held // teams)), n, min(each, LIGHT if n > 64 else 16)
    )


def sharing_warps(p: Plan, n: int, each: int) -> Plan:
    """Return the plan with several teams a warp, for rows that have fewer elements than a warp, of `each` a thread."""
    threads = power_of_two(n / each)
    return replace(p, threads=threads, teams=p.block // threads) if threads < WARP else p


def fillings(
    part: int, vector: int, each: int, registers: int, inputs: int = 1, longer: bool = True, shrinks: bool = True
) -> list[tuple[int, int, int, bool]]:
    """Return how threads may share a block's part of a row: elements under way, threads, and blocks a multiprocessor.

    The last of each tells whether all threads have `each` elements.

    A thread has up to `each` elements, or a vector more. With fewer, held as words of two, it needs fewer than
    `registers`, if it `shrinks`.

    longer  threads may have more elements where a block has no more threads
    """
    vectors, most, found = -(-part // vector), max(1, each // vector), []
    if part > 2048:
        least, last = most // 2 + 1, most + (1 < most < MOST_HELD // vector)
    else:  # rather a vector more than twice the warps
        least = last = most + (each >= 32 and -(-vectors // (WARP * (most + 1))) < -(-vectors // (WARP * most)))
    for pieces in range(least, last + 1):
        more = pieces > most
        spared = (each - pieces * vector) // 2 if shrinks or more else 0
        needed = (registers - spared) // 8 * 8 + 8 * more
        warps = min(RESIDENT // WARP, PARTITIONS * (REGISTERS // (PARTITIONS * WARP * needed)))
        fewest = -(-vectors // (pieces * WARP))
        for mine in sorted({fewest, -(-fewest // PARTITIONS) * PARTITIONS}):
            if mine * WARP <= MOST_THREADS or (longer and pieces == most):
                mine = min(mine, MOST_THREADS // WARP)
                held = max(1, warps // mine)
                found.append((min(ENOUGH // inputs, held * part), mine * WARP, held, part == mine * WARP * each))
    return found


def fullest(found: Any) -> Any:
    """Return the best of pairs of `fillings` and clusters, the widest first: nearly the most elements under way.

    Of these, warps that all partitions of a multiprocessor have as many of; of these, threads that all have as many
    elements as they should; of these the first, with the fewest elements a thread.
    """
    most = max(way[0] for way, _ in found)
    near = [(way, cluster) for way, cluster in found if way[0] >= 0.95 * most]
    return min(near, key=lambda pair: (pair[0][1] % (PARTITIONS * WARP) > 0, not pair[0][3]))


def tightest(found: Any, chosen: Any, n: int, vector: int) -> Any:
    """Return the one of `found` whose threads have the fewest vectors of a row in all, if `chosen` has clearly more.

    Of those with nearly the most elements under way: vectors beyond a row cost what others do.
    """
    most = max(way[0] for way, _ in found)

    def vectors(pair: Any) -> int:
        (_, threads, _, _), cluster = pair
        return int(cluster * threads * -(-n // (cluster * threads * vector)))

    best = min((pair for pair in found if pair[0][0] >= 0.9 * most), key=vectors)
    return best if vectors(best) < 0.92 * vectors(chosen) else chosen


def taken(n: int, vector: int, each: int, registers: int, inputs: int, apart: int, **more: Any) -> Plan:
    """Return the plan whose teams take rows, in blocks that fill a multiprocessor, of the largest clusters.

    apart  nanoseconds in which all teams of a block begin, one after the other; other arguments as of `plan`
    """
    ways = fillings(-(-n // LARGE), vector, each, registers, inputs, shrinks=False)
    (_, threads, teams, _), _ = fullest([(way, LARGE) for way in sorted(ways, key=lambda way: way[1])])
    return Plan(threads, teams, LARGE, vector, 1, taken=True, apart=apart // teams, **more)


def asking(p: Plan, n: int) -> Plan:
    """Return the plan with rows that are asked for ahead: for kernels that write as much as they read.

    Those that write less, such as gradients, are slower by it (docs/lab/rows.md). Launches of short rows are short.
    """
    return replace(p, lead=LEAD if n > 2048 else 1)


def plan_softmax(n: int, vector: int, once: bool = False, most: int = LARGE) -> Plan:
    """Return the plan for softmax: threads copy the longest rows ahead.

    once  rows are read once, and registers keep their powers: the next row is copied to the same shared memory
    most  blocks of a cluster: above 8 only where the GPU runs such clusters
    """
    if once and (p := three_blocks(n, vector, most)):
        return asking(p, n)
    p = plan_ahead(n, vector, 1024, least=0, most=0) if once else plan_ahead(n, vector)
    return asking(halved(p, n), n)


def halved(p: Plan, n: int, light: bool = True) -> Plan:
    """Return the plan with blocks of half as many rows, and twice as many blocks, for rows of 513 to 2048 elements.

    light  what a row costs its threads beside its elements is little; else short rows go to fewer threads
    """
    if not light and n > 96:
        p = sharing_warps(p, n, HEAVY)
    return replace(p, teams=p.teams // 2, blocks=2 * p.blocks) if 512 < n <= 2048 else p


def three_blocks(n: int, vector: int, most: int) -> Plan | None:
    """Return the plan with three blocks a multiprocessor, of 64 elements a thread; None where it is not faster.

    96 KB are under way there, of rows of more than 32,768 that clusters of up to `most` blocks hold.
    """
    fits = 32_768 < n <= 64 * SMALL_BLOCK * most and vector == WIDE
    return plan(n, vector, each=64, registers=80, alone=SMALL_BLOCK, most=most) if fits else None


def plan_loss(n: int, vector: int, most: int = LARGE) -> Plan:
    """Return the plan for a loss with its gradient: as softmax's, but it needs more registers. `most`: as there."""
    if p := three_blocks(n, vector, most):
        return asking(p, n)
    return asking(halved(plan_ahead(n, vector, least=0, most=int(n > 131_072)), n, light=False), n)


def plan_ahead(n: int, vector: int, threads: int = 512, **room: int) -> Plan:
    """Return the plan whose threads copy long rows ahead, or where they do not fit `plan`'s. room: as of `queued`."""
    p = queued(Plan(threads, 1, min(MOST_BLOCKS, power_of_two(n / 32_768)), vector, 1), n, **room)
    return p if 65_536 < n <= MOST and p.ahead is not None else plan(n, vector)


def power_of_two(x: float) -> int:
    """Return the least power of two that is not below x."""
    return 1 << max(0, math.ceil(x) - 1).bit_length()


def plan_norm(n: int, vector: int, rows: int, narrow: bool = False, shifted: bool = False, most: int = LARGE) -> Plan:
    """Return the plan for norms of one input: the longest rows are copied ahead, and weights are read once a block.

    rows    that a block would keep in shared memory: of the input, and weights
    narrow  results are quantised, which takes registers
    shifted rows begin anywhere
    most    blocks of a cluster: above 8 only where the GPU runs such clusters
    """
    light = rows <= 2  # RMSNorm: registers hold weights too, which are read before the reduction
    words = vector == WIDE  # registers hold 64 elements of a thread as 32 words
    if light and n <= (64 * SMALL_BLOCK * most if words else 131_072):
        many = {"each": 64, "registers": 80} if n > 32_768 else {}
        p = plan(n, vector, alone=SMALL_BLOCK, most=most, **many)
        return replace(halved(p, n, light=not words), taken=narrow and n > 131_072)
    if 2048 < n <= 4096:
        few = 40 if (n, rows) == (4096, 3) else 48  # three vectors of a thread would spill
        return plan(n, vector, each=16, registers=few)
    if words and 8192 < n <= (16_384 if narrow else 131_072):
        p = plan(n, vector, each=64, registers=128 if narrow else 80, alone=SMALL_BLOCK, tight=shifted and not narrow)
        full = n % (p.cluster * p.threads * vector) == 0  # else registers are short for what tells where rows end
        aside = n > 16_384 and (full or (n > 65_536 and n % vector == 0))
        return replace(p, held=aside, aside=aside)
    if not light and not narrow and words and 131_072 < n <= MOST and most == LARGE:
        return taken(n, vector, 64, 80, 1, apart=2700, soon=True)
    if n <= 16_384:
        p = plan(n, vector) if n > 1024 else halved(plan(n, vector, registers=80), n, light=False)
        return replace(p, held=False)
    p = Plan(512, 1, min(MOST_BLOCKS, power_of_two(n / 32_768)), vector, 1)
    found = ahead(p, n, stages=2, rows=rows + 1) if light else p
    found = found if found.stages else ahead(p, n, stages=1, rows=rows)
    return found if found.stages else replace(plan(n, vector), held=light)


def plan_residual(n: int, vector: int, light: bool, center: bool, most: int = LARGE) -> Plan:
    """Return the plan for a norm of two inputs, of which the sum is a result too.

    light   nothing but the norm is computed
    center  LayerNorm
    most    blocks of a cluster: above 8 only where the GPU runs such clusters
    """
    if light and vector == WIDE and 8192 < n <= 131_072:
        if n > 65_536:  # clusters of 16 smaller blocks are 2 to 5% slower on an H200
            return replace(plan(n, vector, inputs=2), held=False)
        return replace(plan(n, vector, registers=80, alone=SMALL_BLOCK, inputs=2), held=False)
    if light and vector == WIDE and 131_072 < n <= MOST and most == LARGE:
        each, registers = (64, 128) if center or n < MOST // 2 else (32, 64)  # LayerNorm's registers keep sums
        return taken(n, vector, each, registers, 2, apart=3600, bulk=center)
    return replace(plan(n, vector, inputs=2), held=False)


def plan_norm_ends(n: int, vector: int, light: bool, most: int = LARGE) -> Plan:
    """Return `plan_norm` for rows whose ends go to threads one by one: these take registers.

    n      elements in whole sectors
    light  RMSNorm
    """
    if light and n > 32_768:
        few = {"registers": 80, "alone": SMALL_BLOCK, "most": most}
        p = plan(n, vector, each=64, **few)
        return p if n <= 7 * vector * p.threads * p.cluster else plan(n, vector, each=56, **few)
    if light:
        return halved(plan(n, vector, alone=SMALL_BLOCK, most=most), n)
    if n > 131_072:
        return plan_norm(n, vector, 3, shifted=True, most=most)
    if n >= 8192:
        return replace(plan(n, vector, each=64, registers=80, alone=SMALL_BLOCK, tight=True), held=False)
    if 2048 <= n < 4096:
        return plan(n, vector, each=16, registers=56)
    return replace(halved(plan(n, vector, each=32, registers=72 if n > 2048 else 80), n), held=False)


def plan_narrow(n: int, vector: int, whole: bool, shifted: bool, weight: int, most: int = LARGE) -> Plan:
    """Return the plan for RMSNorm quantised by row, whose weights are read twice.

    Two rows together read them once for both; 64 elements a thread leave registers for rows, and few threads to wait.

    whole    rows begin at multiples of `vector` elements: then shared memory holds two of the longest and the weights
    shifted  so do the vectors that cover rows, of which bulk copies take any number
    weight   bytes of a weight
    most     blocks of a cluster
    """
    if shifted and 2048 < n <= 6144:  # weights come with the row
        return asking(plan(n, vector, each=48, registers=128, alone=SMALL_BLOCK), n)
    even, held = whole and n % vector == 0 and 9216 < n <= MOST and n % 8192 > 0, None
    if (shifted and n > 6144) or even:
        held = plan_held(n, vector, 0 if shifted else weight, most)
    if held and (shifted or n <= 65_536):
        return held
    wide = Plan(512, 1, min(MOST_BLOCKS, power_of_two(n / 32_768)), vector, 1)
    if whole and n > 65_536 and (p := ahead(wide, n, stages=2, rows=3)).stages:
        return held if held and better(n, held, p) else p
    if not 2048 < n <= 16_384:
        return plan(n, vector)
    if n <= 4096:
        p = plan(n, vector)
        return replace(p, rows=2, blocks=p.blocks - (n > 16 * p.threads))  # three vectors of two rows would spill
    return asking(replace(plan(n, vector, each=64, registers=128, alone=SMALL_BLOCK), held=False), n)


def plan_held(n: int, vector: int, weight: int, most: int) -> Plan | None:
    """Return the plan for rows beside their weights in shared memory; None where they do not fit.

    Several blocks of a multiprocessor, of few threads with many vectors, so that some have work while others wait.

    weight  bytes of a weight; 0: they are f32, in planes for all vectors that threads may have
    """
    first = next(holding(n, vector, weight, most, ((8, 102),) if weight else ((7, 112), (8, 102))), None)
    if n <= (2 * LONG if weight else LONG):
        return first
    found = holding(n, vector, weight, most, ((8, 112 if weight else 128), (7, 102)))
    best = max((p for p in found if p.threads >= 4 * WARP), key=partial(worth, n), default=first)
    return best if weight or first is None or better(n, best, first) else first


def holding(n: int, vector: int, weight: int, most: int, ways: tuple[tuple[int, int], ...]) -> Iterator[Plan]:
    """Return the plans of `plan_held`, of clusters that are as small as may be first.

    ways  vectors of a thread, and registers
    """
    for (pieces, registers), cluster in ((way, 1 << i) for way in ways for i in range(most.bit_length())):
        vectors = -(-n // (cluster * vector))
        threads = -(-vectors // (pieces * WARP)) * WARP
        weights = weight * vector * vectors or 4 * vector * threads * -(-vectors // threads)
        for stages in (2, 1):
            own = max(OWN_SHARED, 110 * cluster)  # of the largest clusters the exchange of reductions is most of it
            room = ALL_SHARED // (weights + 2 * stages * vectors * vector + own)
            blocks = min(room, REGISTERS // registers // threads)
            if blocks > 1 and blocks * threads >= 14 * WARP:
                yield Plan(threads, 1, cluster, vector, blocks, stages=stages, outside=stages > 1)
                break


def better(n: int, p: Plan | None, other: Plan) -> bool:
    """Tell whether a plan is clearly worth more than another, which is not as fast as memory."""
    return p is not None and worth(n, other) < min(ALL_WORTH, worth(n, p) - 0.02)


def worth(n: int, p: Plan) -> float:
    """Return how much of the work of a plan's threads is that of a row's elements, as quantised norms were measured.

    A row costs a warp what some vectors do, and vectors beyond a row cost what others do. A multiprocessor's partition
    with the most warps ends last. A block alone waits for its reductions, and the largest clusters for each other.
    """
    vectors = -(-n // (p.cluster * p.vector))
    pieces = -(-vectors // p.threads)
    warps = p.blocks * p.threads // WARP
    share = vectors / (p.threads * (pieces + ROW_COST)) * warps / (-(-warps // PARTITIONS) * PARTITIONS)
    return round(share * WAITING ** ((p.blocks == 1) + (p.cluster == LARGE)), 3)


def plan_token(n: int, vector: int, most: int = LARGE) -> Plan:
    """Return the plan for long rows that are quantised by row: registers hold those that clusters of 16 take.

    most  blocks of a cluster: above 8 only where the GPU runs such clusters
    """
    threads = -(-n // (LARGE * 64 * WARP)) * WARP
    if n > 131_072 and threads < SMALL_BLOCK and most == LARGE:
        return Plan(threads, 1, LARGE, vector, REGISTERS // 64 // threads)
    return plan_norm(n, vector, 1, most=MOST_BLOCKS)


def plan_fold(n: int, vector: int) -> Plan:
    """Return the plan where no row is held: a few warps go through a row, and blocks go their own ways."""
    threads, teams = (WARP, 4) if n <= 2048 else (128, 1) if n <= 32_768 else (256, 1)
    p = Plan(threads, teams, 1, vector, REGISTERS // 64 // (threads * teams), lead=int(n <= 4096))
    return sharing_warps(p, n, HEAVY if n > 96 else 32)


def plan_fold_ends(n: int, vector: int) -> Plan | None:
    """Return what `plan_fold` does for rows of `n` elements that lie in whole vectors, and ends apart; None for others.

    A warp goes through rows that are somewhat longer than those of `plan_fold`. Longer ones registers hold.
    """
    if n > 5120:
        return None
    long = n > 3072
    threads, teams = (-(-n // (5 * vector * WARP)) * WARP, 1) if long else (WARP, 4)
    registers = 40 if n <= 32 * threads else 64
    blocks = REGISTERS // registers // (threads * teams)
    return Plan(threads, teams, 1, vector, blocks, lead=int(n <= 4096), ends=1)


def ahead(p: Plan, n: int, stages: int, rows: int) -> Plan:
    """Return the plan with rows copied ahead, where there is room for them, and where bulk copies take them.

    These take whole 16 bytes from addresses that are multiples of 16.
    """
    copied = p.vector == WIDE and n % WIDE == 0
    return replace(p, stages=stages) if copied and rows * -(-n // p.cluster) * ELEMENT <= SHARED else p


def queued(p: Plan, n: int, inputs: int = 1, least: int = 1, most: int | None = None) -> Plan:
    """Return the plan with vectors that threads copy ahead, if shared memory holds a row and at least `least` more.

    most  the number of vectors a thread copies ahead, at most; by default as many as it has of a row
    """
    pieces = -(-n // (p.cluster * p.threads * p.vector))
    slots = SHARED // (p.threads * p.vector * ELEMENT)
    more = min(pieces if most is None else most, slots // inputs - pieces)
    return replace(p, ahead=more) if n % p.vector == 0 and p.vector == WIDE and more >= least else p


def plan_light(n: int, vector: int) -> Plan:
    """Return the plan where each element of the result needs little more than its own of the inputs."""
    if n <= 2048:
        return halved(plan(n, vector), n)
    wide = plan(n, vector, each=16, registers=32, alone=1024, narrow=True)
    return asking(plan(n, vector) if n <= 8192 else wide, n)


def even(n: int) -> bool:
    """Tell whether `plan_light` has a block for a row, or clusters whose threads all have as many elements."""
    return n <= 8192 or (n <= MOST and n == power_of_two(n))


def plan_apart(n: int, vector: int) -> Plan:
    """Return the plan for blocks that share a row and are no cluster, with 64 bytes of it a thread."""
    each = 64 // ELEMENT
    parts = -(-n // (SMALL_BLOCK * each))
    threads = -(-n // (parts * each * WARP)) * WARP
    return asking(Plan(threads, 1, parts, vector, REGISTERS // 48 // threads), n)


def plan_two(n: int, vector: int, bulk: bool = False) -> Plan:
    """Return the plan for two inputs: threads copy long rows ahead; with `bulk` bulk copies do, two blocks together.

    With `bulk` rows begin anywhere: which takes registers that two larger blocks do not have.
    """
    each = 16 if 256 < n <= 512 or n > 4096 else 8
    if bulk:
        rows = 2 * 4  # of two blocks, two rows of both inputs
        p = Plan(SMALL_BLOCK, 1, min(MOST_BLOCKS, power_of_two(n * rows * ELEMENT / SHARED)), vector, 2)
        p = ahead(p, n, stages=2, rows=rows)
        return p if n > 8192 and p.stages else plan(n, vector, each=each, inputs=2)
    part = SHARED // (4 * ELEMENT)  # elements of a block's: there is room for two rows
    p = queued(Plan(512, 1, min(MOST_BLOCKS, power_of_two(n / part)), vector, 1), n, 2)
    if n > MOST:
        return Plan(512, 1, MOST_BLOCKS, vector, 2, outside=True)
    if n > 40_960 and p.ahead:
        return p
    return plan(n, vector, each=each, inputs=2)
