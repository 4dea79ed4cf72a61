"""mbarrier: an object in shared memory that counts arrivals, and bytes of asynchronous copies, phase by phase.

A phase completes when its pending arrivals and its outstanding bytes (the tx-count) are both 0; the next one
then begins at once, expecting the count that `init` gave. Phases alternate in parity, from 0: a thread waits for
"the phase of this parity to complete", so a fresh barrier's phase of parity 1 counts as complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutelite.ir.contract import Effect, Ptx
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import Type, boolean, i32, u32, u64
from cutelite.ops.address import among, barrier, scalar, space_of

if TYPE_CHECKING:
    from cutelite.ir import simulation
    from cutelite.ir.simulation import Array, Lanes

UPDATES = Effect.READS | Effect.WRITES | Effect.ORDERS
MAX_COUNT = (1 << 20) - 1  # of pending arrivals, and of bytes outstanding (PTX ISA, mbarrier object)


def semantics(word: str, relaxed: bool, reach: str) -> str:
    """Return PTX's .sem and .scope, or '' for the defaults: sm_80 has no such qualifiers."""
    return f".{'relaxed' if relaxed else word}.{reach}" if relaxed or reach != "cta" else ""


REACH = among(("cta", "cluster"))  # the threads within which an arrival or a wait orders memory


@op("mbarrier.init", effects=UPDATES, feature="mbarrier", source="PTX ISA: mbarrier.init")
class Init(Op):
    """Make the 8 bytes at `bar` a barrier whose phases each expect `count` arrivals. One thread does it.

    Other threads may use it after a barrier of the CTA; TMA and other CTAs after `fence.mbarrier_init` as well.
    """

    bar: Value
    count: Value
    as_ptx = Ptx("mbarrier.init.shared::cta.b64 [$bar], $count;")
    takes = {"bar": barrier(), "count": scalar(i32, u32)}

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.mbarriers.init(lanes, lanes.get(self.bar), lanes.get(self.count))


@op("mbarrier.inval", effects=UPDATES, feature="mbarrier", source="PTX ISA: mbarrier.inval")
class Inval(Op):
    """End the life of the barrier at `bar`, so that its memory can be used for something else."""

    bar: Value
    as_ptx = Ptx("mbarrier.inval.shared::cta.b64 [$bar];")
    takes = {"bar": barrier()}

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.mbarriers.inval(lanes, lanes.get(self.bar))


class ArriveForm(Op):
    """An arrival. It makes this thread's earlier writes visible, within `reach`, to threads that wait for the phase.

    bar      in this CTA (the result is the state of the phase it arrived in) or in another one of the cluster
             (an address from `mapa`; no result, and `reach` is 'cluster')
    reach    'cta' or 'cluster': the threads to which the writes become visible
    relaxed  order no memory accesses
    """

    bar: Value

    @property
    def remote(self) -> bool:
        return space_of(self.bar) == "cluster"

    def result_types(self) -> tuple[Type, ...]:
        return () if self.remote else (u64,)

    def spelling(self, amount: str, relaxed: bool, reach: str) -> Ptx:
        if self.remote:
            order = semantics("release", relaxed, "cluster")
            return Ptx(f"{self.name}{order}.shared::cluster.b64 _, [$bar]{amount};")
        return Ptx(f"{self.name}{semantics('release', relaxed, reach)}.shared::cta.b64 $out, [$bar]{amount};")

    def arrived(self, lanes: Lanes, count: Array | int, expect: Array | int, drop: bool = False) -> None:
        mbarriers = lanes.machine.mbarriers
        arrive = mbarriers.arrive_drop if drop else mbarriers.arrive
        state = arrive(lanes, lanes.get(self.bar), count, expect=expect)
        lanes.define(*(() if self.remote else (state,)))


@op("mbarrier.arrive", effects=UPDATES, source="PTX ISA: mbarrier.arrive")
class Arrive(ArriveForm):
    """Arrive on `bar`, `count` times at once (once if absent)."""

    count: Value | None
    reach: str = "cta"
    relaxed: bool = False
    takes = {"bar": barrier("smem", "cluster"), "count": scalar(i32, u32), "reach": REACH}

    @property
    def feature(self) -> str:  # type: ignore[override]
        plain = self.count is None and not self.relaxed and not self.remote and self.reach == "cta"
        return "mbarrier" if plain else "mbarrier.try_wait"

    def ptx(self) -> Ptx:
        return self.spelling(", $count" if self.count else "", self.relaxed, self.reach)

    def simulate(self, lanes: Lanes) -> None:
        self.arrived(lanes, lanes.get(self.count) if self.count else 1, 0)


@op("mbarrier.arrive_drop", effects=UPDATES, source="PTX ISA: mbarrier.arrive_drop")
class ArriveDrop(Arrive):
    """Arrive on `bar`, `count` times at once, and lower the count that later phases expect by as many."""

    def simulate(self, lanes: Lanes) -> None:
        self.arrived(lanes, lanes.get(self.count) if self.count else 1, 0, drop=True)


@op("mbarrier.arrive.expect_tx", effects=UPDATES, feature="mbarrier.try_wait", source="PTX ISA: mbarrier.arrive")
class ArriveExpectTx(ArriveForm):
    """Add `bytes` to the bytes that the current phase waits for, then arrive once."""

    bytes: Value
    reach: str = "cta"
    relaxed: bool = False
    takes = {"bar": barrier("smem", "cluster"), "bytes": scalar(i32, u32), "reach": REACH}

    def ptx(self) -> Ptx:
        return self.spelling(", $bytes", self.relaxed, self.reach)

    def simulate(self, lanes: Lanes) -> None:
        self.arrived(lanes, 1, lanes.get(self.bytes))


@op("mbarrier.arrive.noComplete", effects=UPDATES, feature="mbarrier", source="PTX ISA: mbarrier.arrive")
class ArriveNoComplete(Op):
    """Arrive `count` times on a barrier of this CTA, with the promise that this does not complete the phase."""

    bar: Value
    count: Value
    gives = u64
    as_ptx = Ptx("mbarrier.arrive.noComplete.shared::cta.b64 $out, [$bar], $count;")
    takes = {"bar": barrier(), "count": scalar(i32, u32)}

    def simulate(self, lanes: Lanes) -> None:
        mbarriers = lanes.machine.mbarriers
        count = lanes.get(self.count)
        state = mbarriers.arrive(lanes, lanes.get(self.bar), count)
        broken = mbarriers.pending_count(state) <= count
        lanes.fault(broken, "an arrival with noComplete completes the phase", "mbarrier-no-complete")
        lanes.define(state)


class TxForm(Op):
    """A change of the bytes that the current phase waits for, without an arrival; it orders no memory accesses."""

    bar: Value
    bytes: Value
    takes = {"bar": barrier("smem", "cluster"), "bytes": scalar(i32, u32)}

    def ptx(self) -> Ptx:
        where = "cluster.shared::cluster" if space_of(self.bar) == "cluster" else "cta.shared::cta"
        return Ptx(f"{self.name}.relaxed.{where}.b64 [$bar], $bytes;")


@op("mbarrier.expect_tx", effects=UPDATES, feature="mbarrier.try_wait", source="PTX ISA: mbarrier.expect_tx")
class ExpectTx(TxForm):
    """The current phase waits for `bytes` bytes more."""

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.mbarriers.expect_tx(lanes, lanes.get(self.bar), lanes.get(self.bytes))


@op("mbarrier.complete_tx", effects=UPDATES, feature="mbarrier.try_wait", source="PTX ISA: mbarrier.complete_tx")
class CompleteTx(TxForm):
    """The current phase waits for `bytes` bytes less, as if a copy had brought them."""

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.mbarriers.complete_tx(lanes, lanes.get(self.bar), lanes.get(self.bytes))


class WaitForm(Op):
    """A test of whether a phase is complete; if it is, the test acquires what the arrivals released.

    phase    the phase: its parity (an i32 or u32, 0 or 1), or its state as `mbarrier.arrive` returned it (a u64)
    reach    'cta' or 'cluster': the threads whose memory accesses are ordered
    relaxed  order no memory accesses
    """

    bar: Value
    phase: Value
    reach: str = "cta"
    relaxed: bool = False
    takes = {"bar": barrier(), "phase": scalar(i32, u32, u64), "reach": REACH}

    @property
    def by_parity(self) -> bool:
        return self.phase.type != u64

    def call(self, word: str, result: str, hint: str = "") -> str:
        parity = ".parity" if self.by_parity else ""
        order = semantics("acquire", self.relaxed, self.reach)
        return f"mbarrier.{word}{parity}{order}.shared::cta.b64 {result}, [$bar], $phase{hint};"

    def tested(self, lanes: Lanes) -> Array:
        """Tell whether the phase is complete now."""
        mbarriers = lanes.machine.mbarriers
        test = mbarriers.test if self.by_parity else mbarriers.test_state
        return test(lanes, lanes.get(self.bar), self.which(lanes))

    def which(self, lanes: Lanes) -> Array:
        phase = lanes.get(self.phase)
        if self.by_parity:
            lanes.fault((phase != 0) & (phase != 1), "the parity of a phase is 0 or 1", "mbarrier-parity")
        return phase


@op("mbarrier.test_wait", effects=UPDATES, source="PTX ISA: mbarrier.test_wait")
class TestWait(WaitForm):
    """Test whether the phase is complete, without blocking."""

    gives = boolean

    @property
    def feature(self) -> str:  # type: ignore[override]
        return "mbarrier" if self.reach == "cta" and not self.relaxed else "mbarrier.try_wait"

    def ptx(self) -> Ptx:
        return Ptx(self.call("test_wait", "$out"))

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(self.tested(lanes))


@op("mbarrier.try_wait", effects=UPDATES, feature="mbarrier.try_wait", source="PTX ISA: mbarrier.try_wait")
class TryWait(WaitForm):
    """Test whether the phase is complete; the thread may be suspended for a while until it is.

    hint_ns  the longest suspension, in nanoseconds; without it, the hardware's own limit
    """

    hint_ns: Value | None
    gives = boolean
    takes = {"hint_ns": scalar(i32, u32)}

    def ptx(self) -> Ptx:
        return Ptx(self.call("try_wait", "$out", ", $hint_ns" if self.hint_ns else ""))

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(self.tested(lanes))  # as if the suspension timed out at once


@op("mbarrier.wait", effects=UPDATES, feature="mbarrier.try_wait", source="PTX ISA: mbarrier.try_wait")
class Wait(WaitForm):
    """Block until the phase is complete: `mbarrier.try_wait` in a loop."""

    def ptx(self) -> Ptx:
        # One asm block: LLVM can neither split the loop nor move anything into it. PTX scopes the names by braces.
        poll = self.call("try_wait", "done")
        return Ptx(f"{{ .reg .pred done; MBARRIER_WAIT: {poll} @!done bra MBARRIER_WAIT; }}")

    def simulate(self, lanes: Lanes) -> simulation.Wait:
        mbarriers = lanes.machine.mbarriers
        wait = mbarriers.wait if self.by_parity else mbarriers.wait_state
        return wait(lanes, lanes.get(self.bar), self.which(lanes))


@op("mbarrier.pending_count", feature="mbarrier", source="PTX ISA: mbarrier.pending_count")
class PendingCount(Op):
    """The number of arrivals that were pending in a `state` that an arrival returned."""

    state: Value
    gives = u32
    as_ptx = Ptx("mbarrier.pending_count.b64 $out, $state;", pure=True, memory=False)
    takes = {"state": scalar(u64)}

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.machine.mbarriers.pending_count(lanes.get(self.state)))


@op("fence.mbarrier_init", effects=Effect.ORDERS, feature="cluster", source="PTX ISA: membar, fence.mbarrier_init")
class FenceMbarrierInit(Op):
    """Make this thread's earlier `mbarrier.init` visible to the cluster and to the async proxy (TMA).

    Other threads may use the barrier once they have synchronised with this thread after the fence.
    """

    as_ptx = Ptx("fence.mbarrier_init.release.cluster;")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.fence(lanes, "mbarrier_init")
