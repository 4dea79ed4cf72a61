"""Fences, and instructions that a warp executes together: what orders accesses without a place to meet at."""

from __future__ import annotations

import numpy as np

from cutelite.sim.checker.ahead import KernelAhead
from cutelite.sim.checker.knowledge import GMEM, INIT, REACH, SMEM, Published
from cutelite.sim.checker.records import Block
from cutelite.sim.checker.state import State
from cutelite.sim.events import Fence, Together


class Fences:
    """The fences of a launch."""

    def __init__(self, state: State, ahead: KernelAhead) -> None:
        self.clocks, self.ahead = state.clocks, ahead
        self._sc = Published()  # by fence.sc

    def fence(self, block: Block, event: Fence) -> None:
        """Let threads execute a fence, or what the simulator tells as one: a warp's barrier, griddepcontrol.wait."""
        lanes, fence = event.lanes, event.kind
        threads = block.first + lanes.tid[lanes.mask]
        if not len(threads):
            return
        if fence == "warp":
            for warp in sorted(set((lanes.tid[lanes.mask] // 32).tolist())):
                mine = threads[(threads - block.first) // 32 == warp]
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
        if not self.clocks.any_waited:
            return
        lanes = event.lanes
        tid = lanes.tid[lanes.mask]
        threads = block.first + tid
        if not np.count_nonzero(self.clocks.has_waited[self.clocks.head[threads]]):
            return
        for warp in sorted(set((tid // 32).tolist())):
            self.clocks.share_past(threads[tid // 32 == warp])
