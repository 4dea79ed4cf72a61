"""The configurations that fit a problem: boxes of TMA, shared memory, registers, and what no kernel is made for."""

from dataclasses import replace
from math import gcd

from cutelite.kernels.arguments import Misfit
from cutelite.kernels.gemm.configs import ROOM, Config, Problem


def wide(config: Config, problem: Problem) -> int:
    """Return the columns of results that are stored at once: 128 bytes by default."""
    if problem.gate is not None:
        most = 64 if config.tile[1] % 64 else 128 // problem.d.bytes  # of whole swizzles
        return next((w for w in (64, 32, 16) if w <= most and config.tile[1] // 2 % w == 0), 0)
    if problem.finish is not None:
        return problem.columns(problem.finish.columns)
    return config.piece or 128 // stored_bytes(config, problem)


def stored_bytes(config: Config, problem: Problem) -> int:
    """Return the bytes of an element of results as they are stored: sums, where blocks split K."""
    return int(problem.acc.bytes if config.splits > 1 else problem.d.bytes)


def span(extent: int, bytes: int) -> int:
    """Return the elements of the widest swizzle that divides this extent of a tile along which it is contiguous."""
    return next(row for row in (128, 64, 32, 16) if extent * bytes % row == 0) // bytes


def stored(extent: int, bytes: int) -> int:
    """Return the elements of a row that TMA stores at once of a piece of results with rows of this extent.

    Where no swizzle of 64 bytes or more divides rows, they lie one behind the other, and leave whole: in boxes of 16
    or 32 bytes that a swizzle permutes they take up to twice as long. Of eight rows two share a bank at most.
    """
    wide = span(extent, bytes)
    return wide if wide * bytes >= 64 or extent > MOST else extent


def box_of(bytes: int, major: str, rows: int, held: int, depth: int, shares: int) -> tuple[int, int] | None:
    """Return the box of one copy, (rows, columns along K), for an operand's tile that `shares` blocks share.

    bytes, rows, held  of an element; rows of the tile that are brought at once, and that a warpgroup multiplies
    Result  of a part of the rows; of an operand contiguous along them as many as the swizzle permutes, and of a part of
            K where a part of the rows would be less than that. None where there are no equal parts, and where spans of
            64 bytes do not divide the rows
    """
    if rows % shares:
        return None
    if major == "K":
        high = rows // shares
        return (high if high <= MOST else high // 2), depth
    wide = span(held, bytes)
    if wide * bytes < 64 or rows % wide:
        return None
    return wide, depth if rows // shares % wide == 0 else depth // shares


MOST = 256
"""The extent that a box of TMA may have."""


def boxes_of(config: Config, problem: Problem, few: int) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return `box_of` A, of which `few` rows are brought for a tile, and B."""
    (bm, bn), (cm, cn), (left, right), bytes = config.tile, config.cluster, problem.majors, problem.bytes
    of_b, depth = brought(bn, problem), 128 // bytes
    return box_of(bytes, left, few, bm, depth, cn), box_of(bytes, right, of_b, config.own[1], depth, cm)


def brought(columns: int, problem: Problem) -> int:
    """Return how many rows of B are brought at once for a tile of so many columns: they are neighbours in memory."""
    if not problem.halves:
        return columns
    return gcd(columns // 2, problem.finish.apart if problem.finish is not None else 0)


LOADERS = 2
"""Warpgroups that load, where TMA cannot: they take steps in turn."""
STAGES = 4, 2
"""Stages that they fill: so many if copies of two steps of each have room beside them, else fewer."""
SHARED = 232_000
"""Bytes of shared memory that a block may have for stages, pieces of results and vectors."""


def held(config: Config, problem: Problem, single: bool = False) -> int:
    """Return the bytes of shared memory of stages, pieces of results and vectors. single: pieces lie in stages."""
    (bm, bn), out = config.tile, stored_bytes(config, problem)
    stages, pieces = config.stages * stage_of(config, problem), 2 * config.buffers * 64 * wide(config, problem) * out
    pieces = 0 if single else pieces
    biases = 2 * (bm if problem.turned else bn)
    return stages + pieces + 8 * (bm + bn) * problem.rowwise + (biases * problem.bias.bytes if problem.bias else 0)


EIGHT = 8
"""Rows of the smallest block of a matrix that wgmma reads from shared memory."""


def rows_held(config: Config, problem: Problem) -> int:
    """Return the rows of A that a stage holds: of at most eight these alone, which wgmma reads as all others too."""
    others = problem.groups, problem.loaded, problem.prepare is not None, config.swapped, config.cluster != (1, 1)
    return EIGHT if problem.rows == EIGHT and problem.majors[0] == "K" and not any(others) else config.tile[0]


def stage_of(config: Config, problem: Problem) -> int:
    """Return the bytes of a stage."""
    return 128 * (rows_held(config, problem) + config.tile[1])


def lines_of(rows: int, major: str) -> tuple[int, int]:
    """Return how many lines a step of an operand of 16 bits has, and how many units of 16 bytes fill a line.

    A step is `rows` of a tile by 64 along K; its lines lie along the mode in which the operand is contiguous.
    """
    return (rows, 8) if major == "K" else (64, rows // 8)


def units_copied(rows: int, major: str) -> int:
    """Return how many units threads copy for a step of an operand: a line lies in one more than fill it."""
    high, across = lines_of(rows, major)
    return high * (across + 1)


def all_copied(problem: Problem, tile: tuple[int, int]) -> int:
    """Return how many units threads copy for a step of the operands that they load."""
    each = zip("AB", tile, problem.majors, strict=True)
    return sum(units_copied(rows, major) for name, rows, major in each if name in problem.loaded)


def steps_ahead(config: Config, problem: Problem) -> int:
    """Return for how many steps copies of a warpgroup that loads have room: as many as fit shared memory, up to 6."""
    return min(6, (SHARED - held(config, problem)) // (16 * LOADERS * all_copied(problem, config.tile)))


def settled(config: Config, problem: Problem) -> Config:
    """Return the configuration as it is for a kind of problem: some need shared memory for something else."""
    config = config if problem.finish is None else replace(config, buffers=1)
    of = problem.swapped if config.swapped else problem
    if rows_held(config, of) < config.tile[0]:
        free = (ROOM - held(config, of)) // stage_of(config, of)
        return replace(config, stages=max(config.stages, min(DEEPEST, config.stages + free)))
    if not problem.loaded:
        return config
    made = [-(-max(stages, needed(config)) // LOADERS) * LOADERS for stages in STAGES]  # each has stages of its own
    more, fewer = (replace(config, stages=stages) for stages in made)
    return more if steps_ahead(more, of) >= 2 else fewer


DEEPEST = 24
"""Stages of eight rows of A: the more weights may come ahead of the kernel before, the better (docs/lab/models.md)."""
MOST_STAGES = 14
"""Stages of a block that has one tile."""


def single(config: Config, problem: Problem, steps: int) -> Config | None:
    """Return the configuration for blocks that have one tile each, and no C: results lie where operands were.

    steps   along K: more of them than stages are worth more stages, for which there is room; but not where one
            warpgroup has the whole tile (docs/lab/gemm.md, "Stages of blocks that have one tile")
    Result  no piece of results waits for another. None where parts of a tile are added up, where functions or threads
            have a part in loading, multiplying or storing, and where operands leave too little room
    """
    of, (bm, bn) = problem.swapped if config.swapped else problem, config.tile
    others = problem.finish, problem.gate, problem.prepare, problem.loaded or None, problem.direct or None
    if config.together > 1 or config.splits > 1 or config.stream or any(other is not None for other in others):
        return None
    (rows, each), piece = config.own, wide(config, of)
    if piece <= 16:  # narrow for the sake of a stage
        piece = each if of.turned or each % 64 else 64
    made = replace(config, piece=piece, buffers=rows // 64 * (each // piece))
    most = MOST_STAGES if steps > config.stages and not config.pingpong else config.stages
    fit = [n for n in range(config.stages, most + 1) if held(replace(made, stages=n), of, True) < SHARED]
    stages = max(fit, default=config.stages)
    room = max(rows_held(config, of), bn) * 128 * stages
    return replace(made, stages=stages) if bm * bn * problem.d.bytes <= room else None


def beside_c(config: Config, problem: Problem) -> Config:
    """Return the configuration with as many buffers as there is room for, if it fits at all: C comes to them ahead."""
    of, (rows, each) = problem.swapped if config.swapped else problem, config.own
    pieces = rows // 64 * (each // wide(config, of))
    fit = [n for n in range(config.buffers, pieces + 1) if pieces % n == 0]
    return next((more for n in reversed(fit) if held(more := replace(config, buffers=n), of) < SHARED), config)


def needed(config: Config) -> int:
    """Return the least number of stages: accumulators of blocks that share K are laid where tiles of B were."""
    (bm, bn), alone = config.tile, config.together == 1
    high = bn if config.swapped and bm > bn else bm
    return 2 if alone else -(-high // 32)


def threads_of(problem: Problem) -> int:
    """Return how many threads a block has: two warpgroups multiply, and one loads, or `LOADERS` without TMA."""
    return 128 * (2 + (LOADERS if problem.loaded else 1))


def made_for(config: Config, problem: Problem) -> bool:
    """Tell whether a kernel of the configuration exists for these types, and has the registers and memory it needs."""
    return not fault(config, problem) and has_room(config, problem)


def has_room(config: Config, problem: Problem) -> bool:
    """Tell whether nothing spills, a piece leaves by one copy, and shared memory holds everything."""
    config, problem = settled(config, problem), problem.swapped if config.swapped else problem
    sums, finish = sums_of_thread(config), problem.finish
    if problem.direct and config.splits == 1 and not config.swapped and sums > 192:
        return False  # for what stores and loads elements there are no registers left
    if finish is not None and not problem.groups and finish.columns > 64 and sums > 128:
        return False  # registers hold a tile's sums, or a wide piece's with what belongs to them
    whole = problem.turned or finish is not None or config.together > 1 or config.own[1] % 64 > 0
    if not whole and wide(config, problem) * stored_bytes(config, problem) > 128:
        return False  # the model knows pieces that leave by one copy
    return held(config, problem) < SHARED


def check_config(config: Config, problem: Problem) -> None:
    """Refuse a configuration that no kernel for these types has. Errors: `Misfit`."""
    if why := fault(config, problem):
        raise Misfit(f"{config}: {why}")


def fault(config: Config, problem: Problem) -> str:
    """Say why no kernel of the configuration exists for these types; '' where one does."""
    config, problem = settled(config, problem), problem.swapped if config.swapped else problem
    for rule in finishes, divides, brings, stores:
        if why := rule(config, problem):
            return why
    if None in boxes_of(config, problem, config.tile[0]):
        return (
            "blocks of a cluster bring equal parts of a tile, and tiles of an operand contiguous along M or N have "
            "rows in spans of 64 bytes or more"
        )
    return ""


def sums_of_thread(config: Config) -> int:
    """Return how many sums of a tile a thread holds."""
    rows, columns = config.own
    return rows * columns // 128


def finishes(config: Config, problem: Problem) -> str:
    """Say why a gate, or a function that finishes sums, cannot have the tile's sums."""
    (bm, bn), piece, finish = config.tile, wide(config, problem), problem.finish
    if problem.gate is not None:
        of_tile = (bm if config.pingpong else bm // 2) // 64 * (problem.columns(bn) // max(1, piece))
        if config.together > 1 or config.splits > 1 or config.swapped or piece == 0 or of_tile % config.buffers:
            return "a gate takes no together=, splits= or swapped=, and tiles whose pieces fill all buffers"
    if finish is None:
        return ""
    several = config.together > 1 and (finish.paired or problem.halves or problem.groups)
    if config.swapped or config.splits > 1 or several:
        return "finish= takes no swapped= or splits=, and for halves, pairs and groups no together="
    if bn % finish.columns:
        return f"finish has pieces of {finish.columns} columns, which do not divide the tile"
    if finish.apart and brought(bn, problem) % (finish.columns // 2):
        return f"finish has pieces of one head, of {finish.columns} columns, which do not divide those of the tile"
    return ""


def divides(config: Config, problem: Problem) -> str:
    """Say why the work of such a problem cannot be divided so."""
    if problem.acc.is_int and any(n > 32 and n % 16 for n in (config.tile[1], wide(config, problem))):
        return "of integers a tile, and a piece of it, has a multiple of 16 columns, or up to 32"  # an n of wgmma
    if config.stream and problem.groups:
        return "groups have no stream="
    if config.across and (problem.halves or config.together > 1 or problem.groups == "K"):
        return "two warpgroups share out its columns, but not with halves, together= or groups along K"
    # What a group's end clears in shared memory, no block of a cluster may bring to another.
    if problem.groups == "K" and (config.swapped or config.splits > 1 or config.blocks > 1):
        return "groups along K have no clusters, swapped= or splits="
    return ""


def brings(config: Config, problem: Problem) -> str:
    """Say why operands cannot come to the tile as the problem has it: by TMA, threads, or a function that makes A."""
    if problem.prepare is not None:  # a warpgroup has 64 rows of A in registers, which this block alone brings
        alone = config.cluster[1] == 1 and not config.across and config.tile[0] == (64 if config.pingpong else 128)
        if config.swapped or not alone:
            return "prepare= takes tiles of 128 rows, of 64 with pingpong=, no clusters along N and no swapped="
    if problem.loaded:  # no other block reads what this one brings, and there are registers left
        if config.cluster != (1, 1) or sums_of_thread(config) > 64 or config.stream or steps_ahead(config, problem) < 2:
            return "operands that threads load take small tiles, without clusters and stream="
        each = zip("AB", config.tile, problem.majors, strict=True)
        if any(name in problem.loaded and major == "MN" and rows > 128 for name, rows, major in each):
            return "a warpgroup copies 8 lines or more at once"  # `loads.Loaded.apart`
    if config.stages < needed(config):
        return f"sums that blocks share take {needed(config)} stages or more"
    return ""


def stores(config: Config, problem: Problem) -> str:
    """Say why pieces of the tile's results cannot leave: whole patterns of a swizzle, or rows of 16 bytes."""
    piece, each = wide(config, problem), config.own[1]
    if problem.columns(each) % piece or (piece % 8 if problem.turned else piece * stored_bytes(config, problem) % 16):
        return f"pieces of {piece} columns do not divide a warpgroup's tile, or fill no multiple of 16 bytes"
    return ""
