"""Find the thread that makes each part of an access, for observers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ir.op import Op
from cutelite.sim.actors import Work
from cutelite.sim.lanes import AccessOf
from cutelite.sim.machine import Agent, Share
from cutelite.sim.memory import Selected
from cutelite.target.targets import WARP

Array = Any


def work_of(maker: Any) -> Work | None:
    """Return the asynchronous work that makes an access; None for threads."""
    return maker.work if isinstance(maker, Agent) else None


def lanes_of(who: Any, count: int) -> tuple[Any, Array]:
    """Return the maker of an access of `count` units (lanes or an agent), and the lane or thread of each unit.

    For an agent that does not distinguish its threads there are none.
    """
    if isinstance(who, AccessOf) and who.active is None and count == len(who.lanes.tid) == who.address.size:
        return who.lanes, np.arange(count)  # most accesses: a unit by each lane
    size = len(who.positions) if isinstance(who, Selected) else _elements(who)
    elements = np.arange(size)
    return _resolved(who, np.repeat(elements, count // size) if size and count > size else elements)


def by_holders(
    op: Op, offset: Array, unit: int, lanes: Array, data: Array | None
) -> tuple[Array, int, Array, Array | None]:
    """Return `offset`, `unit`, `lanes`, `data` of an access by the lanes that have the parts of rows in registers."""
    holders = op.holders
    if holders is None:
        return offset, unit, lanes, data
    part = unit // holders.shape[1]
    row = lanes % WARP
    who = (lanes - row)[:, None] + holders[row]
    parts = None if data is None else np.ascontiguousarray(data).view(f"u{part}")
    return (offset[:, None] + np.arange(0, unit, part)).reshape(-1), part, who.reshape(-1), parts


def _elements(who: Any) -> int:
    """Return the number of addresses of an access."""
    if isinstance(who, Share):
        return len(who.threads)
    if isinstance(who, Agent):
        return 0
    return int(np.count_nonzero(who.active)) if who.active is not None else int(who.address.size)


def _resolved(who: Any, elements: Array) -> tuple[Any, Array]:
    """Return the lanes behind `who`, and the lane of each of these elements."""
    if isinstance(who, Selected):
        return _resolved(who.who, who.positions[elements] // who.pieces)
    if isinstance(who, Share):
        return who.agent, who.threads[elements]
    if isinstance(who, Agent):
        return who, elements
    index = elements if who.active is None else np.flatnonzero(who.active)[elements]
    return who.lanes, index // max(1, who.address.size // len(who.lanes.tid))
