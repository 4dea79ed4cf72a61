"""Fences, and instructions that a warp executes together: what orders accesses without a place to meet at."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ops.registers import SetMaxNReg
from cutelite.sim.checker.ahead import KernelAhead
from cutelite.sim.checker.knowledge import GMEM, INIT, PAST, REACH, SMEM, Published
from cutelite.sim.checker.records import Block
from cutelite.sim.checker.state import State
from cutelite.sim.events import Fence, Together
from cutelite.target.targets import WARP

Array = Any


class Fences:
    """The fences of a launch."""

    def __init__(self, state: State, ahead: KernelAhead) -> None:
        self.clocks, self.ahead, self.report, self.state = state.clocks, ahead, state.report, state
        self._sc = Published()  # by fence.sc
        self._resized: dict[int, Array] = {}  # by the first thread of a warpgroup: clocks at its latest setmaxnreg

    def fence(self, block: Block, event: Fence) -> None:
        """Let threads execute a fence, or what the simulator tells as one: a warp's barrier, griddepcontrol.wait."""
        lanes, fence = event.lanes, event.kind
        threads = block.first + lanes.tid[lanes.mask]
        if not len(threads):
            return
        if fence == "warp":
            for warp in sorted(set((lanes.tid[lanes.mask] // WARP).tolist())):
                mine = threads[(threads - block.first) // WARP == warp]
                self.clocks.learn(mine, self.clocks.publish(mine))
                self.ahead.meet(mine)
        elif fence == "grid":
            self.ahead.wait(block, threads)
        elif fence == "mbarrier_init":
            self.clocks.fence_init(threads)
        elif fence.startswith("proxy.async"):
            space = fence.removeprefix("proxy.async").lstrip(".")
            shared = (SMEM + block.rank,) if space == "shared::cta" else tuple(range(SMEM, self.clocks.rows))
            rows = (GMEM,) if space == "global" else (INIT, *shared) if space else (INIT, GMEM, *shared)
            self.clocks.fence_proxy(threads, rows)
        elif fence.startswith("tcgen05"):
            self.clocks.fence_tensor(threads, fence.endswith("before_thread_sync"))
        elif not fence.startswith(("proxy.", "wgmma")):
            semantic, _, scope = fence.partition(".")
            if semantic == "sc":  # each is after all before whose scopes agree with its own (PTX: Fence-SC)
                self.clocks.learn(threads, self._sc.to(REACH[scope], block.number, block.rank))
            self.clocks.fence(threads, semantic != "release", semantic != "acquire", REACH[scope])
            if semantic == "sc":
                self._sc.add(REACH[scope], block.number, block.rank, self.clocks.publish(threads))

    def together(self, block: Block, event: Together) -> None:
        """Record that lanes of a warp execute an instruction together: all of their earlier waits are over."""
        if isinstance(event.lanes.op, SetMaxNReg):
            self._resize(block, event.lanes.op, block.first + event.lanes.tid)
        if not self.clocks.any_waited:
            return
        lanes = event.lanes
        tid = lanes.tid[lanes.mask]
        threads = block.first + tid
        if not np.count_nonzero(self.clocks.has_waited[self.clocks.head[threads]]):
            return
        for warp in sorted(set((tid // WARP).tolist())):
            self.clocks.share_past(threads[tid // WARP == warp])

    def _resize(self, block: Block, op: SetMaxNReg, threads: Array) -> None:
        """Report warps that nothing orders after the latest setmaxnreg of their warpgroup's other warps (PTX)."""
        before = self._resized.get(int(threads[0]))
        if before is not None:
            warp = (threads - block.first) // WARP
            knows = [
                np.all(self.clocks.known_to(np.full(len(threads), one), PAST, threads, before) | (warp == of))
                for one, of in zip(threads.tolist(), warp.tolist(), strict=True)
            ]
            apart = ~np.array(knows).reshape(-1, WARP).any(axis=1).repeat(WARP)
            if np.count_nonzero(apart):
                self.report.resized(op, self.state.threads(threads[apart]))
        self._resized[int(threads[0])] = self.clocks.clock(PAST, threads)
        self.clocks.go_on(threads)
