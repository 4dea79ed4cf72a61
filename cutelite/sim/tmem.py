"""Tensor memory of a CTA: the allocation of its columns, and the addresses of its cells (PTX ISA: tensor memory).

The cells of a CTA are a region of bytes, lane after lane. Accesses to columns that are not allocated are refused; newly
allocated columns are unwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from cutelite.diag import Mistake, Note
from cutelite.ir.op import Op
from cutelite.ir.simulation import RANK_SHIFT, Wait
from cutelite.ops.tcgen05_layouts import CELL_BYTES, COLUMNS, LANE_BYTES, LANE_SHIFT, LANES
from cutelite.sim.actors import Executing
from cutelite.sim.error import SimError
from cutelite.sim.events import Event, TmemFree
from cutelite.sim.memory import NOBODYS, UNWRITTEN, Region

Array = Any


class TensorMemory:
    """The tensor memory of one CTA; implements `ir.simulation.TensorMemory`.

    held       first column -> number of columns, blocks that take part (1 or 2) and op of each allocation
    may        the op that relinquished the permit to allocate; None while the CTA has the permit
    collected  buffer of the tensor core's collector ('a' for A, 'b0' to 'b3' for B) -> the operand that it holds
    asked      how many allocations for a pair of CTAs have begun; both CTAs make the same ones
    """

    def __init__(self, rank: int, size: int, changed: Callable[[], None], tell: Callable[[Event], None] | None) -> None:
        self.rank, self.cluster_size, self._changed, self._tell = rank, size, changed, tell
        self.region = Region(rank << RANK_SHIFT, np.zeros(LANES * LANE_BYTES, np.uint8), {0: "tensor memory"},
                             tracked=True)  # fmt: skip
        assert self.region.state is not None
        self.region.state[:] = NOBODYS
        self.region.tensor = True
        self.held: dict[int, tuple[int, int, Op]] = {}
        self.may: Op | None = None
        self.collected: dict[str, tuple[object, ...]] = {}
        self.asked = 0
        self.peer: Callable[[], TensorMemory] = lambda: self

    def alloc(self, lanes: Executing, columns: int, cta_group: int) -> Generator[Wait, None, int]:
        """Allocate columns, after waiting until they are free, and in a pair of CTAs for the other one's allocation."""
        self.check_group(lanes, cta_group)
        if self.may is not None:
            lanes.fault(
                lanes.mask, "an allocation of tensor memory after the permit for it was given up", "tmem-permit"
            )
        if cta_group == 2:
            self.asked += 1
            turn, peer = self.asked, self.peer()
            self._changed()
            if peer.asked < turn:
                yield Wait(lambda: peer.asked >= turn, "the other block of the pair to allocate tensor memory")
        if self._free(columns) is None:
            yield Wait(
                lambda: self._free(columns) is not None,
                lambda: f"{columns} columns of tensor memory: of {COLUMNS}, {self._used()} are allocated",
            )
        start = self._free(columns)
        assert start is not None
        self.held[start] = (columns, cta_group, lanes.op)
        self._mark(start, columns, UNWRITTEN)
        return start

    def dealloc(self, lanes: Executing, address: int, columns: int, cta_group: int) -> None:
        known = self.held.get(address)
        if known is None:
            text = f"tensor memory at {address:#x} is freed, but nothing is allocated there (any more)"
            lanes.fault(lanes.mask, text, "tmem-free", "pass the address that `tcgen05.alloc` wrote, and free it once")
        elif known[:2] != (columns, cta_group):
            text = f"{columns} columns of cta_group::{cta_group} are freed, but {known[0]} of cta_group::{known[1]}"
            lanes.fault(lanes.mask, f"{text} were allocated there", "tmem-free")
        if self._tell is not None:
            self._tell(TmemFree(lanes, self.rank, address, columns))
        del self.held[address]
        self._mark(address, columns, NOBODYS)
        self._changed()

    def relinquish(self, lanes: Executing) -> None:
        self.may = lanes.op

    def check_group(self, lanes: Executing, cta_group: int) -> None:
        """Fail for an instruction of a pair of CTAs in a cluster without pairs."""
        if cta_group == 2 and self.cluster_size % 2:
            text = f"cta_group::2 is of pairs of blocks, and the cluster has {self.cluster_size}"
            lanes.fault(lanes.mask, text, "cta-pair", "launch clusters of an even number of blocks")

    def collect(self, lanes: Executing, buffer: str, action: str, operand: tuple[object, ...]) -> None:
        """Perform an instruction's action on a collector buffer; fail if it uses one that does not hold its operand."""
        if action in ("use", "lastuse") and self.collected.get(buffer) != operand:
            what = "nothing" if buffer not in self.collected else f"another {operand[0]}"
            text = f"buffer {buffer} of the collector is used for an {operand[0]} that it does not hold: it has {what}"
            help = "each instruction along K fills it: start those that share an operand one after the other (`steps`)"
            lanes.fault(lanes.mask, text, "tcgen05-collector", help)
        if action == "fill":
            self.collected[buffer] = operand
        elif action != "use":
            self.collected.pop(buffer, None)

    def place(self, lanes: Executing, address: int, lane: Array, column: Array) -> Array:
        """Return the addresses of cells that are `lane` lanes and `column` columns from an address."""
        lane, column = lane + (address >> LANE_SHIFT), column + (address & 0xFFFF)
        if lane.max() >= LANES or column.max() >= COLUMNS:
            text = f"lanes up to {lane.max()} and columns up to {column.max()} of tensor memory: there are {LANES}"
            lanes.fault(lanes.mask, f"{text} by {COLUMNS}", "out-of-bounds")
        return (self.rank << RANK_SHIFT) + lane * LANE_BYTES + column * CELL_BYTES

    def check_exit(self, kernel: str, seed: int, block: tuple[int, int, int]) -> None:
        """Raise a `SimError` if allocations are left when the CTA ends."""
        for start, (columns, _, op) in self.held.items():
            text = f"a block ends, and {columns} columns of tensor memory (from column {start} on) were not freed"
            help = "`tcgen05.dealloc` by one warp, after the last access: blocks that come later would wait for ever"
            raise SimError(
                Mistake("tmem-leak", text, "allocated here", help), kernel=kernel, seed=seed, op=op, block=block,
                notes=[Note(f"{len(self.held)} allocations are left")] if len(self.held) > 1 else [],
            )  # fmt: skip

    def _used(self) -> int:
        return sum(columns for columns, _, _ in self.held.values())

    def _free(self, columns: int) -> int | None:
        """Return the first of `columns` free columns, a multiple of their number; None if there are not enough."""
        for start in range(0, COLUMNS, columns):
            if all(start + columns <= at or at + held[0] <= start for at, held in self.held.items()):
                return start
        return None

    def _mark(self, start: int, columns: int, state: int) -> None:
        assert self.region.state is not None
        self.region.state.reshape(LANES, LANE_BYTES)[:, start * CELL_BYTES : (start + columns) * CELL_BYTES] = state
