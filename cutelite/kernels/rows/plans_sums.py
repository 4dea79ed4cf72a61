"""The plans of kernels that keep sums over rows: of derivatives of norms, for the gradients of weights.

As in `plans.py`, lengths are in elements of 16 bits, and docs/lab/rows.md has what was measured.
"""

from dataclasses import replace

from cutelite.kernels.rows.plan import ELEMENT, LARGE, MOST_BLOCKS, Plan, in_sectors
from cutelite.kernels.rows.plans import MOST, SHARED, SMALL_BLOCK, WIDE, ahead, plan, plan_long, power_of_two
from cutelite.lib.rows import SECTOR
from cutelite.target.targets import WARP

SEVEN_WARPS = 7 * WARP  # threads
MOST_STAGES = 4  # rows that are copied ahead
BY_MORE = (2304, 1), (3072, 1), (2048, 2)  # elements of a row, and sums: more warps are faster than 12
ADDED_PART, THREE_STAGES = 10_240, 6656  # elements of a block's part of a row: at most; and with three rows ahead
LARGE_PART = 7680  # in the largest clusters, at least: they do not pay for shorter parts


def plan_odd_sums(n: int, vector: int, sums: int, few: bool, whole: int, most: int) -> Plan | None:
    """Return `plan_sums` for vectors that cover rows of two inputs, whose ends come without a wait; or None.

    whole  elements of a row that lie in whole vectors, at most; 0: not known
    """
    light = sums < 2
    if not few and (found := plan_ends_sums(vector, sums, whole)):
        return found
    if n > 16_384 and whole:
        return plan_long_ends(n, in_sectors(whole, vector), vector, sums, most)
    threads = -(-n // (3 * vector * WARP)) * WARP
    if n <= 2048:  # a warp of up to five vectors reduces alone
        threads = -(-n // (5 * vector * WARP)) * WARP
        own = int(not light or threads == WARP)  # registers of a warp alone are few
        return None if few else Plan(threads, 1, 1, vector, 12 * WARP // threads, stages=2, shared_sums=own)
    if sums == 1 and (found := plan_columns(n, vector)):
        return found
    if n <= 5376:
        p, stages = Plan(threads, 1, 1, vector, 2), MOST_STAGES
    elif light and n <= 16_384:  # one block on a multiprocessor, with as many rows as there is room for
        p, stages = Plan(SMALL_BLOCK, 1, 1, vector, 1), min(MOST_STAGES, (SHARED // (2 * n) - 2) // 2)
    elif 6144 < n < 8192:
        p, stages = Plan(SMALL_BLOCK, 1, 1, vector, 2, kept=True), 2
    elif 8192 <= n <= 10_752:  # above 12 warps registers run out
        p, stages = Plan(threads, 1, 1, vector, 1, kept=threads <= 12 * WARP), 3
    else:
        return None
    p = ahead(p, n, stages=stages, rows=p.blocks * (2 * stages + 2))
    return replace(p, shared_sums=1) if p.stages else None


def plan_ends_sums(vector: int, sums: int, whole: int) -> Plan | None:
    """Return `plan_odd_sums` for rows whose ends go to threads one by one, of a few warps; None for others.

    Registers keep sums. Of LayerNorm's two, three vectors of a thread are all that 12 warps have registers for.
    """
    lanes = -(-whole // (vector * WARP))  # vectors of a lane, if a warp had the row
    if lanes > 6:
        p = plan_three(whole, vector)
        return p and replace(p, ends=1)
    for most, warps, blocks, stages in (3, 1, 12, 2), (4, 2, 8, 2) if sums > 1 else (4, 2, 6, 3), (6, 2, 6, 2):
        if 0 < lanes <= most:
            return Plan(warps * WARP, 1, 1, vector, blocks, stages=stages, ends=1)
    return None


def plan_three(n: int, vector: int) -> Plan | None:
    """Return the plan for sums over rows that registers keep, of three vectors a thread; None for other rows."""
    warps = -(-n // (3 * vector * WARP))
    if not 3 <= warps <= 6:
        return None
    few = warps == 5 and n < 3840  # two rows of each block are not enough on their way
    return Plan(warps * WARP, 1, 1, vector, 12 // warps, stages=3 if few else 2)


def plan_few_warps(n: int, vector: int, sums: int) -> Plan | None:
    """Return `plan_sums` for aligned rows of two inputs that bulk copies bring to a few warps; None for others.

    One sum is in shared memory for long rows.
    """
    each, own = vector * WARP, 4 * vector
    if vector != WIDE or n % vector:
        return None
    if 256 < n <= 512:
        return Plan(WARP, 1, 1, vector, 16 if n < 512 else 12, stages=3)
    if sums == 1 and 1024 < n <= 1536:
        return Plan(2 * WARP, 1, 1, vector, 6, stages=2)
    if n <= 15 * each and (n, sums) not in BY_MORE and (p := plan_three(n, vector)):
        return p
    if sums == 2:
        return Plan(7 * WARP, 1, 1, vector, 2, stages=2) if 18 * each < n <= 21 * each else None
    if 8448 < n < 9216 and (p := plan_columns(n + 2 * SECTOR * vector, vector)):
        return replace(p, shifted=True)  # though rows begin with sectors
    if not 9216 < n < 16_384:
        return None
    pieces = -(-n // (14 * each))
    warps = -(-n // (pieces * each))
    # with more on their way multiprocessors' shares of the bandwidth, and so their times, differ more
    stages = 2 if n >= 10_000 else min(3, (SHARED - own * warps * WARP * pieces) // (4 * n))
    return Plan(warps * WARP, 1, 1, vector, 1, stages=stages, shared_sums=1)


def plan_long_ends(covered: int, n: int, vector: int, sums: int, most: int) -> Plan | None:
    """Return `plan_odd_sums` for long rows, of `n` elements in whole sectors; None where another one is as fast.

    One sum is in shared memory. Eight warps wait for each other the least, and have registers for a second sum, but not
    of 64 elements each.
    """
    cluster = max(2, min(most, power_of_two((n if sums == 1 or n <= 32_768 else covered) / 16_384)))
    part = -(-n // cluster)
    threads = SMALL_BLOCK
    if sums == 1 and cluster == 2 and part > 5 * vector * SMALL_BLOCK:
        threads = 512
    elif 6 * SMALL_BLOCK < part // vector <= 7 * SEVEN_WARPS:  # the seventh vector few would have
        threads = SEVEN_WARPS
    own = 4 * vector * threads * -(-part // (vector * threads))
    stages = min(MOST_STAGES, (SHARED - own) // (4 * part))
    if stages < 2:
        return None
    pairs = sums == 2 and stages == MOST_STAGES and cluster > 2  # two rows' exchange has two on their way
    return Plan(threads, 1, cluster, vector, 1, stages=stages, shared_sums=1, pairs=pairs, ends=SECTOR)


def plan_columns(n: int, vector: int) -> Plan | None:
    """Return the plan for one sum over rows of two inputs that is kept by columns, as weights are; or None."""
    for pieces in (3, 5, 4):
        threads = -(-n // (pieces * vector * WARP)) * WARP
        blocks = max(1, min(3, 14 * WARP // threads))
        left = (SHARED if blocks == 1 else SHARED * 7 // 8) // blocks - 8 * threads * pieces * vector
        stages = min(3, left // (4 * n))
        enough = n > 8448 if blocks == 1 else blocks * threads >= 12 * WARP  # shorter rows do not wait for one block
        if stages > 1 and threads <= 14 * WARP and enough:
            return Plan(threads, 1, 1, vector, blocks, stages=stages, shared_sums=1, planes=True)
    return None


def plan_held_sums(n: int, vector: int, sums: int) -> Plan | None:
    """Return `plan_sums` for aligned rows of f32 that registers hold, which have half as many elements; or None."""
    if n <= 2048:
        return plan(n, vector, each=16) if sums < 2 else None
    return replace(plan(n, vector, each=64, registers=128), shared_sums=sums) if n <= 16_384 else None


def plan_added(n: int, vector: int, whole: int, most: int) -> Plan | None:
    """Return `plan_sums` for long rows where something is added, which comes as they do; None where there is no room.

    One block of a multiprocessor would wait for loads of it. Three arrays are enough on their way by two rows. One sum
    is in shared memory, and registers have the second.

    whole  elements of a row that lie in whole vectors, where it begins anywhere; 0: it is aligned
    """
    cluster = power_of_two(n / ADDED_PART)
    if cluster > most or (cluster == LARGE and n < LARGE * LARGE_PART):
        return None
    inner = in_sectors(whole, vector) if whole and cluster > 1 else n
    vectors = -(-inner // (cluster * vector))
    threads = -(-vectors // (max(1, round(vectors / SMALL_BLOCK)) * WARP)) * WARP  # few have a vector less than others
    stages, ends = 2 + (vectors * vector <= THREE_STAGES), SECTOR if inner < n else 0
    p = Plan(threads, 1, cluster, vector, 1, shared_sums=1, kept=True, added=True, ends=ends)
    p = ahead(p, inner, stages=stages, rows=3 * stages + 3)
    return p if p.stages else None


def with_added(p: Plan, n: int, sums: int) -> Plan:
    """Return the plan of short rows, which what is added is copied with where loads of it are slower."""
    pays = p.stages and (n <= 512 or (sums == 1 and 1024 < n <= 1536))
    return replace(p, stages=2, added=True) if pays else p


def plan_long_sums(n: int, vector: int, sums: int, most: int, shifted: bool) -> Plan | None:
    """Return `plan_sums` for long rows of two inputs, which are copied ahead; None where they do not fit."""
    least = power_of_two(n / 16_384)
    overlap = sums == 1 and not shifted  # there are registers for two rows, of one kind
    if overlap and least == LARGE and ahead(Plan(512, 1, MOST_BLOCKS, vector, 1), n, 1, rows=5).stages:
        least = MOST_BLOCKS
    small, large = Plan(SMALL_BLOCK, 1, least, vector, 1), Plan(512, 1, least, vector, 1)
    fit = 2 if least == 1 else min(MOST_STAGES, (SHARED // (ELEMENT * -(-n // least)) - 2) // 2)
    if sums == 2 or least == LARGE or fit > 2:
        if 6 * SMALL_BLOCK < -(-n // (least * vector)) <= 7 * SEVEN_WARPS:  # whose seventh vector few would have
            small = replace(small, threads=SEVEN_WARPS)
        p = ahead(small, n, stages=fit, rows=2 + 2 * fit)  # one sum: registers keep a second
        if p.stages and p.cluster <= most:  # of four stages, two rows' exchange has two on their way
            enough = 2 if sums == 1 and 20_000 <= n < 27_000 else fit  # with more on their way these are slower
            pairs = sums == 2 and fit == MOST_STAGES and p.cluster > 2
            return replace(p, stages=enough, shared_sums=1, pairs=pairs)
    chosen = (small, 1) if sums == 2 or n <= 32_768 else (large, 2 - overlap)
    for p, stages in (chosen, (Plan(512, 1, 2 * least, vector, 1), 2), (Plan(512, 1, most, vector, 1), 1)):
        p = ahead(p, n, stages=stages, rows=p.blocks * (stages * 2 + 2 * sums + overlap))
        if p.stages and least <= p.cluster <= most:
            return replace(p, shared_sums=sums, overlap=overlap)
    return None


def plan_sums(
    n: int, vector: int, sums: int, most: int = LARGE, shifted: bool = False, few: bool = False, whole: int = 0,
    wide: bool = False, added: bool = False,
) -> Plan:  # fmt: skip
    """Return the plan for the derivative of a norm, which keeps sums over rows.

    sums     of rows that are kept, f32
    most     blocks of a cluster: above 8 only where the GPU runs such clusters
    shifted  `n` is of the vectors that cover rows
    few      there are few rows: sums of teams of a warp each would be nearly as long as these
    whole    as for `plan_odd_sums`
    wide     elements are of f32
    added    another input is added to the derivative
    """
    if shifted:
        short = 4096 if few else 4608  # up to where `plan_ends_sums` has plans
    else:
        short = 8192 if wide else 4096 if sums == 2 else 5120
    if added and n > short and (p := plan_added(n, vector, whole if shifted else 0, most)):
        return p
    if wide and not shifted and (p := plan_held_sums(n, vector, sums)):
        return p
    given = n, vector, sums
    p = plan_odd_sums(*given, few, whole, most) if shifted else None if few else plan_few_warps(*given)
    if p is not None:
        return with_added(p, n, sums) if added and not wide else p
    shortest = 16_384 if sums == 1 else 8191
    if shortest < n <= MOST and (p := plan_long_sums(n, vector, sums, most, shifted)):
        return p
    if 512 < n <= 1024:
        # each block adds up the sums of its teams: few blocks have few to write
        return replace(plan(n, vector), teams=6, blocks=2, shared_sums=1, early=True)
    if n <= 1024:
        return plan(n, vector, each=8)
    if n <= 2048 and sums == 2:
        return replace(plan(n, vector, each=16), teams=2, blocks=3, shared_sums=2, early=True)
    if 2048 < n <= shortest and sums == 2:
        p = ahead(Plan(SMALL_BLOCK, 1, 1, vector, 2), n, stages=2, rows=2 * 6)
        if p.stages:  # registers keep the second sum
            return replace(p, shared_sums=1)
    if 2048 < n <= 4096:
        p = replace(plan(n, vector, each=16, registers=128), shared_sums=sums, early=True)
        return p if sums == 1 else replace(p, teams=2, blocks=1)
    if n <= 8192:
        return replace(plan(n, vector, each=32, registers=128), shared_sums=sums)
    p = replace(plan(n, vector, each=16, alone=1024), shared_sums=sums)
    return plan_long(vector, 2) if n > MOST // 2 or sums * 4 * -(-n // p.cluster) > SHARED else p
