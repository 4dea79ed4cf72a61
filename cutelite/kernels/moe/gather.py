"""A ring of buffers that a warpgroup fills by cp.async, and one of its threads by TMA too; wgmma reads them."""

from __future__ import annotations

from typing import Any, Literal

from cutelite import i32
from cutelite.lang.cp_async import cp_async_commit_group, cp_async_wait_group
from cutelite.lang.loops import static_range
from cutelite.lang.pipeline_checks import arrivals_of
from cutelite.lang.tma import fence_proxy_async
from cutelite.lib.pipelines import PipelineAsync, barriers, warp_arrives
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple


class Started(NamedTuple):
    """The state of a producer: the next buffer to fill, the next one to announce as full, and how many were started."""

    state: Any
    told: Any
    count: Any


@dataclass(frozen=True)
class GatherPipe(PipelineAsync):
    """A pipeline whose producers copy by cp.async. wgmma sees the data only after a fence by the copying thread.

    So a thread starts the copies of `behind` further buffers, then waits for those of the oldest one, executes the
    fence, and arrives on the buffer's barrier.

    tx_bytes  bytes of a buffer that are copied by TMA or bulk copies
    behind    how many buffers are in flight before one is announced as full; less than `stages`
    """

    tx_bytes: int = 0
    behind: int = 1

    @classmethod
    def create(  # type: ignore[override]
        cls, stages: int, tx_bytes: int, producers: int, consumers: int, behind: int,
        reads: Literal["generic", "wgmma"] = "wgmma",
    ) -> GatherPipe:  # fmt: skip
        """Make a pipeline; call `pipeline_init_sync` afterwards. Producers and consumers are whole warpgroups."""
        full, empty = barriers(stages, 1 + arrivals_of(producers)), barriers(stages, arrivals_of(consumers, reads))
        return GatherPipe(full, empty, stages, False, reads, tx_bytes, behind)

    def barrier(self, state: Any) -> Any:
        """Return the barrier on which TMA counts its bytes."""
        return self.full[state.index]

    def start(self) -> Started:
        """Return the state in which producers begin."""
        return Started(self.producer_state(), self.consumer_state(), i32(0))

    def acquire(self, at: Started) -> None:
        """Wait until the buffer is empty. Who: all producers."""
        self.empty[at.state.index].wait(at.state.phase)

    def expect(self, at: Started) -> None:
        """Expect the bytes copied by TMA. Who: the thread that starts these copies."""
        self.full[at.state.index].arrive_expect_tx(self.tx_bytes)

    def commit(self, at: Started) -> Started:
        """Commit the copies since the last call as those of one buffer. Who: all producers."""
        cp_async_commit_group()
        told = at.told
        if at.count >= self.behind:
            cp_async_wait_group(self.behind)
            told = self.tell(told)
        return Started(at.state.advance(), told, at.count + 1)

    def finish(self, at: Started) -> None:
        """Announce the last buffers as full, once their copies are complete. Who: all producers."""
        cp_async_wait_group(0)
        told = at.told
        for i in static_range(self.behind):
            if i < at.count:
                told = self.tell(told)

    def tell(self, told: Any) -> Any:
        """Announce that this thread's part of a buffer has arrived."""
        fence_proxy_async("shared::cta")
        warp_arrives(self.full[told.index])
        return told.advance()
