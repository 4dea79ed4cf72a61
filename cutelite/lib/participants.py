"""One side of a pipeline together with where it is in the ring: what each role of a kernel carries through its loop.

    producer, consumer = pipe.make_participants()

    for k in range(steps):                                      for k in range(steps):
        slot, producer = producer.acquire_and_advance()             slot, consumer = consumer.wait_and_advance()
        cl.tma_load(..., barrier=slot.barrier)                      ... use the buffer slot.index ...
        slot.commit()                                               slot.release()
    producer.tail()

Participants are frozen values as pipeline states are, so that they go through run-time loops and branches: what
advances one returns the next one. A participant is its own handle to the buffer it stands at, `slot` above, which may
be committed or released later, when the next one is under way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from cutelite.lang.pipeline_state import PipelineState
from cutelite.records import dataclass


@dataclass(frozen=True)
class Participant:
    """A side of `pipe`; `state` says which buffer is next."""

    pipe: Any
    state: PipelineState

    @property
    def index(self) -> Any:
        """The number of the buffer, 0 to the pipeline's stages - 1."""
        return self.state.index

    def advance(self, steps: Any = 1) -> Self:
        """Return the same at the next buffer, or `steps` buffers further."""
        return replace(self, state=self.state.advance(steps))


class PipelineProducer(Participant):
    """A side of `pipe` that fills its buffers; `state` says which one is next."""

    @property
    def barrier(self) -> Any:
        """The mbarrier on which asynchronous copies into the buffer arrive."""
        return self.pipe.full[self.state.index]

    def try_acquire(self) -> Any:
        """Return whether the buffer is empty, for `acquire`; may sleep for a while before it says no."""
        return self.pipe.producer_try_acquire(self.state)

    def acquire(self, seen: Any = False) -> None:
        """Wait until the buffer is empty; not if it was `seen` to be, by `try_acquire`."""
        self.pipe.producer_acquire(self.state, seen)

    def commit(self) -> None:
        """Say that the buffer is full, or will be when the copies that were started are complete."""
        self.pipe.producer_commit(self.state)

    def acquire_and_advance(self, seen: Any = False) -> tuple[PipelineProducer, PipelineProducer]:
        """Wait for the buffer; return this producer as its handle, and the producer at the next buffer."""
        self.acquire(seen)
        return self, self.advance()

    def tail(self) -> None:
        """Wait until every buffer is empty: before what owns them exits or reuses them."""
        self.pipe.producer_tail(self.state)


class PipelineConsumer(Participant):
    """A side of `pipe` that empties its buffers; `state` says which one is next."""

    def try_wait(self) -> Any:
        """Return whether the buffer is full, for `wait`; may sleep for a while before it says no."""
        return self.pipe.consumer_try_wait(self.state)

    def test_wait(self) -> Any:
        """Return whether the buffer is full, for `wait`, without blocking."""
        return self.pipe.consumer_test_wait(self.state)

    def wait(self, seen: Any = False) -> None:
        """Wait until the buffer is full; not if it was `seen` to be, by `try_wait` or `test_wait`."""
        self.pipe.consumer_wait(self.state, seen)

    def release(self) -> None:
        """Say that this thread has done with the buffer."""
        self.pipe.consumer_release(self.state)

    def wait_and_advance(self, seen: Any = False) -> tuple[PipelineConsumer, PipelineConsumer]:
        """Wait for the buffer; return this consumer as its handle, and the consumer at the next buffer."""
        self.wait(seen)
        return self, self.advance()
