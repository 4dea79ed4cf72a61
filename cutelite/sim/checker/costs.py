"""Costs of accesses: bank conflicts in shared memory, sectors of global memory, as notes.

In    the accesses of a kernel after the passes: each is one instruction of the GPU
Out   `Finding`s of severity 'note', one for each op that could be cheaper, with its numbers

The counting is `layout.access`'s, on addresses instead of layouts: shared memory serves a warp in phases of up to 128
bytes, in each of which a bank gives one word of 4 bytes at a time; global memory moves in sectors of 32 bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ir.op import Op
from cutelite.layout.access import BANK_BYTES, BANKS, PHASE_BYTES, SECTOR_BYTES, WARP
from cutelite.sim.checker.findings import Finding, Side
from cutelite.sim.checker.lanes import lanes_of
from cutelite.sim.checker.limits import check_length
from cutelite.sim.error import SimError
from cutelite.sim.events import Event, Retire
from cutelite.sim.machine import Agent, Machine
from cutelite.sim.memory import Region
from cutelite.tuples import NamedTuple

Array = Any

LOOKED_AT = 8  # executions of an op that are counted
WORTH = 1.5  # a note is made for costs from this multiple of the least on


class Cost(NamedTuple):
    """The cost of one execution by one warp, and the least it could be, in wavefronts or sectors."""

    took: int
    least: int
    space: str
    name: str
    bytes: int  # per thread
    dense: bool  # without gaps: only where it begins can cost more


class Costs:
    """Counts the costs of accesses; implements `sim.events.Observer`."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self._looked: dict[Op, int] = {}
        self._worst: dict[Op, Cost] = {}
        self._retired = 0

    def access(self, who: Any, region: Region, offset: Array, unit: int, kind: str, data: Array | None) -> None:
        if region.period or kind == "atomic":
            return
        holder, lanes = lanes_of(who, len(offset))
        if isinstance(holder, Agent) or not len(lanes) or self._looked.get(holder.op, 0) >= LOOKED_AT:
            return
        self._looked[holder.op] = self._looked.get(holder.op, 0) + 1
        tid = holder.tid[lanes]
        space = "gmem" if region.state is None else "smem"
        for warp in np.unique(tid // WARP).tolist():
            mine = tid // WARP == warp
            address = region.base + offset[mine]
            threads, per = np.unique(tid[mine], return_counts=True)
            width = max(per.tolist()) * unit
            if width > 16 or len(np.unique(per)) > 1:
                continue  # several instructions in one
            first = np.sort(address.reshape(len(threads), -1), axis=1)[:, 0] if width > unit else address
            took, least = _sectors(address, unit) if space == "gmem" else _wavefronts(first, width)
            before = self._worst.get(holder.op)
            if before is None or took * before.least > before.took * least:
                name = region.place(space, int(address[0])).name
                distinct = np.unique(address)
                dense = int(distinct[-1] - distinct[0]) == (len(distinct) - 1) * unit
                self._worst[holder.op] = Cost(took, least, space, name, width, dense)

    def tolerates(self, error: SimError) -> bool:
        return error.code == "uninitialised"

    def event(self, machine: Machine, event: Event) -> None:
        if isinstance(event, Retire):
            self._retired += 1
            launch = machine.launch
            check_length(self.kernel, launch.ops, self._retired, launch.blocks, launch.max_ops)

    def findings(self) -> tuple[Finding, ...]:
        """Return a finding for each op that costs more than necessary, the worst first."""
        worse = [(op, cost) for op, cost in self._worst.items() if cost.took >= WORTH * cost.least]
        worse.sort(key=lambda item: item[1].least / item[1].took)
        found = {(op.span or op, cost.space): self._finding(op, cost) for op, cost in reversed(worse)}
        return tuple(reversed(found.values()))  # the worst of each line

    def _finding(self, op: Op, cost: Cost) -> Finding:
        each = f"{cost.bytes} byte{'s' if cost.bytes > 1 else ''} a thread"
        if cost.space == "smem":
            kind, message = "bank-conflict", (
                f"bank conflicts: a warp's access ({each}) takes {cost.took} wavefronts, where {cost.least} would do"
            )  # fmt: skip
            help = "a swizzled or padded layout; `cutelite layout --bits` shows banks"
        else:
            kind, message = "uncoalesced", (
                f"a warp's access ({each}) moves {cost.took} sectors of {SECTOR_BYTES} bytes; {cost.least} would hold "
                "its bytes"
            )  # fmt: skip
            if cost.dense:
                help = f"let each warp's part begin at a multiple of {SECTOR_BYTES} bytes, by rows of such a pitch"
            else:
                help = "let neighbouring threads access neighbouring elements"
        side = Side("", op.name, op.span)
        return Finding(kind, message, (side,), cost.space, None, cost.name, kernel=self.kernel, severity="note",
                       label=f"{cost.took / cost.least:.3g} times the least", help=help)  # fmt: skip


def _sectors(address: Array, unit: int) -> tuple[int, int]:
    """Return the number of sectors that a warp's request touches, and the least number that holds its bytes."""
    touched = len(np.unique(address // SECTOR_BYTES))
    needed = -(-len(np.unique(address)) * unit // SECTOR_BYTES)
    return touched, max(1, needed)


def _wavefronts(address: Array, width: int) -> tuple[int, int]:
    """Return the wavefronts of a warp's request of `width` bytes at shared addresses, and the least number."""
    threads = max(1, PHASE_BYTES // max(width, BANK_BYTES))
    took = least = 0
    for start in range(0, len(address), threads):
        words = address[start : start + threads, None] // BANK_BYTES + np.arange(max(1, width // BANK_BYTES))
        different = np.unique(words)
        took += max(np.bincount(different % BANKS).tolist())
        least += -(-len(different) // BANKS)
    return took, least
