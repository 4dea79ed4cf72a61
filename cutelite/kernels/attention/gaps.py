"""Rows and keys that are not there.

clear          values behind a sequence's last, in shared memory
idle           the part of the forward kernel's warpgroup where a tile ends before its rows
clear_behind   the same where a ragged sequence ends within the tile's last block of keys
"""

from typing import Any

import cutelite as cl
from cutelite.kernels.attention.here import Here, States
from cutelite.kernels.attention.scores import GROUP


def clear(block: Any, count: Any, thread: Any, threads: int) -> None:
    """Overwrite values of a block from its row `count` on with zeros, as they may be NaN, and their powers are zeros.

    thread, threads   the number of this thread among all that do so together
    Then              all of them call `cl.fence_proxy_async`, and meet at a barrier
    """
    rows, eights = cl.size(block, 0), cl.size(block, 1) // 8
    for i in cl.static_range(-(-rows * eights // threads)):
        at = i * threads + thread
        if at // eights >= count and (rows * eights % threads == 0 or at < rows * eights):
            cl.local_tile(block[at // eights, None], (8,), (at % eights,)).store(cl.full((8,), 0.0, block.dtype))


def idle(plan: Any, states: States, here: Here) -> Any:
    """Release a tile's queries, which were waited for, keys and values. Who: a warpgroup without rows there."""
    barrier = cl.NamedBarrier(1 + here.group, GROUP)  # one thread releases for all, whom no product keeps together
    here.keys.consumer_wait(states.keys)
    barrier.sync()
    here.queries.consumer_release(here.turn)
    here.keys.consumer_release(states.keys)
    clear_behind(plan, states.keys, here)
    states = skip_terms(states, here)
    alone = plan.alone(here)
    for i in range(here.tile.end - here.tile.start - 1):
        before, states = states.keys, skip_terms(states._replace(keys=states.keys.advance()), here)
        if states.order is not None and (alone is None or i >= alone):
            states.order.wait()
            states = states._replace(order=states.order.arrive())
        here.keys.consumer_wait(states.keys)
        here.values.consumer_wait(before)
        barrier.sync()
        here.keys.consumer_release(states.keys)
        here.values.consumer_release(before)
    here.values.consumer_wait(states.keys)
    barrier.sync()
    here.values.consumer_release(states.keys)
    return states._replace(keys=states.keys.advance())


def clear_behind(plan: Any, state: Any, here: Here) -> None:
    """Overwrite values behind a sequence's last with zeros, in its last block: they are another's. Who: all."""
    count = plan.tiles.sequence(here.tile).keys - (here.tile.end - 1) * plan.config.columns
    if not plan.problem.ragged or count >= plan.config.columns:
        return
    here.values.consumer_wait(state)
    everyone = plan.config.groups * GROUP
    clear(here.storage.v[None, None, state.index], count, here.group * GROUP + cl.thread_idx.x % GROUP, everyone)
    cl.fence_proxy_async("shared::cta")
    cl.NamedBarrier(1 + plan.config.groups, everyone).sync()


def skip_terms(states: States, here: Here) -> Any:
    """Release a block's terms of distances, where there are some. Who: a warpgroup without rows in the tile."""
    return states if here.terms is None else states._replace(terms=here.terms.skip(states.terms))
