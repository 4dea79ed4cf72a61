"""Arguments of the pipelines, schedulers and teams in `cutelite.lib`, checked."""

from __future__ import annotations

from typing import Any

import cutelite.target as target
from cutelite.lang.emit import Runtime, describe, mistake
from cutelite.ops.sync import BARRIERS
from cutelite.target.targets import WARP as WARP
from cutelite.target.targets import WARPGROUP as WARPGROUP

BYTES = 16  # of the two mbarriers of a stage

READERS = {"generic": WARP, "wgmma": WARPGROUP, "both": WARPGROUP}
"""How consumers read a buffer, and how many of them arrive as one."""


def arrivals_of(threads: Any, reads: str = "generic") -> int:
    """Return how many arrivals release a buffer: one of each warp, or warpgroup. Errors: `pipeline`."""
    each = READERS.get(reads) if isinstance(reads, str) else None
    if each is None:
        raise mistake("pipeline", f"consumers read by {', '.join(map(repr, READERS))}, not {describe(reads)}")
    who = f"the threads of a pipeline come in whole warps of {WARP}"
    if each == WARPGROUP:
        who = f"readers by wgmma come in whole warpgroups of {WARPGROUP}"
    if not isinstance(threads, int):
        raise mistake("pipeline", f"{who}, known at compile time, and here are {describe(threads)}")
    if threads < each or threads % each:
        raise mistake("pipeline", f"{who}, and here are {threads}")
    return threads // each


def check_bytes(tx_bytes: Any) -> None:
    """Check what fills a buffer fed by TMA, if it is known. Errors: `pipeline`."""
    if not isinstance(tx_bytes, Runtime | int) or (isinstance(tx_bytes, int) and tx_bytes < 1):
        raise mistake("pipeline", f"`tx_bytes` are the bytes that fill a buffer, 1 or more, not {describe(tx_bytes)}")


def check_peers(peers: Any) -> None:
    """Check the blocks that fill each other's buffers. Errors: `pipeline`."""
    if not isinstance(peers, tuple):
        help = "`cl.multicast_peers(...)` gives them"
        raise mistake("pipeline", f"`peers` is a tuple of ranks of blocks, not {describe(peers)}", help=help)


def check_stages(stages: Any) -> None:
    """Check that a ring has at least one buffer, and no more than have room for barriers. Errors: `pipeline`."""
    if not isinstance(stages, int) or stages < 1:
        raise mistake("pipeline", f"a pipeline has 1 stage or more, known at compile time, not {describe(stages)}")
    if BYTES * stages > target.smem_per_block:
        title = f"the barriers of {stages} stages need {BYTES * stages} bytes; a block has {target.smem_per_block}"
        raise mistake("pipeline", title, help="`stages` are buffers, `tx_bytes` the bytes that fill one")


def check_walk(tiles: Any, swizzle: Any, raster: Any, **counts: Any) -> None:
    """Check the arguments of a tile scheduler; `counts` are 1 or more. Errors: `tile-scheduler`."""
    if not isinstance(tiles, tuple | list) or len(tiles) not in (2, 3):
        given = describe(tiles) + (f" of {len(tiles)}" if isinstance(tiles, tuple | list) else "")
        title = f"tiles are counted along M and N, and in batches: two or three numbers, not {given}"
        raise mistake("tile-scheduler", title, help="`(cl.ceil_div(M, BM), cl.ceil_div(N, BN))`")
    if not isinstance(swizzle, int) or swizzle < 1:
        raise mistake("tile-scheduler", f"a band is 1 tile wide or more, not {describe(swizzle)}")
    if raster not in ("M", "N", "hilbert"):
        raise mistake("tile-scheduler", f"tiles go along 'M', 'N' or a 'hilbert' curve, not {describe(raster)}")
    for number in (*tiles, *counts.values()):
        if isinstance(number, float) or (hasattr(number, "dtype") and not number.dtype.is_int):
            raise mistake("tile-scheduler", f"tiles and steps are counted by integers, not by {describe(number)}")
    for name, number in counts.items():
        if isinstance(number, int) and number < 1:
            raise mistake("tile-scheduler", f"`{name}` is 1 or more, not {number}")


def check_team(threads: Any, total: Any, cluster: Any) -> None:
    """Refuse sizes of teams for which there is no barrier."""
    if not isinstance(total, int):
        raise mistake("team", "teams need a block whose size is known at compile time")
    if total % WARP:
        raise mistake("team", f"a block of {total} threads is not made of whole warps, which reduce and scan together")
    if not isinstance(threads, int) or threads < 1 or (threads % WARP and threads not in (1, 2, 4, 8, 16)):
        raise mistake("team", f"a team has 1, 2, 4, 8, 16 or a multiple of 32 threads, not {describe(threads)}")
    if total % max(threads, WARP):
        raise mistake("team", f"teams of {threads} threads do not divide a block of {total}")
    if threads > WARP and 1 < total // threads >= BARRIERS:
        raise mistake("team", f"a block has {BARRIERS - 1} named barriers: {total // threads} teams are too many")
    if not isinstance(cluster, int):
        help = "`@cl.kernel(cluster=2)`, or `cluster=` of the launch"
        raise mistake("team", "teams of several blocks need a cluster whose size is known at compile time", help=help)
    if not 1 <= cluster <= threads:
        raise mistake(
            "team", f"teams of {threads} threads of a block cannot span {cluster} blocks: a thread sends to each"
        )
