"""Scans over blocks by decoupled look-back: the combined totals of all tiles before this one.

    tile = cl.next_tile(states)                    # in order, so that no tile waits for one that has not started
    before = cl.look_back(states, tile, total, zero)

`states` is a tensor of i64, zeros before the launch: a word for each tile, and one more that counts tiles. A word holds
a number of 32 bits and a flag that says what the number is: the total of the tile alone, or of the tile and all before
it. Both are written by one store, so no fence is needed. (Merrill, Garland: Single-pass Parallel Prefix Scan with
Decoupled Look-back, 2016.)
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import i32, i64, u32
from cutelite.lang.atomics import atomic_add, load_relaxed, store_relaxed
from cutelite.lang.bits import ctz
from cutelite.lang.convert import bitcast
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.sync import syncthreads
from cutelite.lang.tensor import shared
from cutelite.lang.warp import ballot
from cutelite.lib.reduce import WARP, Combine, combined, warp_reduce

ALONE, UPTO = 1, 2  # flags of a word: the total of the tile alone, or of all tiles up to it
TOGETHER = 4  # words that each lane loads at a time


def next_tile(states: Any) -> Any:
    """Take the next tile, and return its number, an i32, to all threads of the block.

    Who   the whole block
    """
    place = shared(i32, (1,))
    syncthreads()
    if linear_thread_idx() == 0:
        place[0] = atomic_add(states, states.shape[0] - 1, 1).to(i32)
    syncthreads()
    return place[0]


def look_back(states: Any, tile: Any, total: Any, zero: Any, combine: Combine = "add", *, first: Any = 0) -> Any:
    """Combine the totals of all tiles before this one, and return the result to every lane.

    states   (tiles + 1,) i64 in global memory
    tile     the number of this tile, from `next_tile`
    total    this tile's total, a number of 32 bits
    zero     the neutral number, of the same type
    combine  as for `warp_reduce`; floats are added in an order that differs from run to run
    first    the first tile that counts
    Who      one whole warp of the block
    """
    lane = linear_thread_idx() % WARP
    if lane == 0:
        store_relaxed(states, tile, word(total, (tile == first).to(i64) + ALONE))
    before, end, known = zero, tile, u32(0)
    if tile > first:
        while known == 0:
            last, words = end - 1 - lane, []
            for i in static_range(TOGETHER):
                found = word(zero, UPTO)  # before the first tile there is nothing
                if last - WARP * i >= first:
                    found = load_relaxed(states, last - WARP * i)
                words.append(found)
            for found in words:
                if known == 0:
                    while found >> 32 == 0:
                        found = load_relaxed(states, end - 1 - lane)
                    known = ballot(found >> 32 == UPTO)
                    value = zero
                    if known == 0 or lane <= ctz(known).to(i32):
                        value = bitcast(found.to(u32), zero.dtype)
                    before = combined(warp_reduce(value, combine), before, combine)
                    end -= WARP
        if lane == 0:
            store_relaxed(states, tile, word(combined(before, total, combine), UPTO))
    return before


def word(value: Any, what: Any) -> Any:
    """Return a number and its flag, ALONE or UPTO, as one i64."""
    flag: Any = i64(what)
    return (flag << 32) | bitcast(value, u32).to(i64)
