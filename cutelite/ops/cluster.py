"""Thread block clusters: their barrier, distributed shared memory, dependent launches, and cluster launch control.

`mapa` returns an address in the cluster's shared memory: ordinary loads, stores and atomics take it, and so do
`st.async` and the mbarrier operations that may reach another block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from cutelite.ir.contract import Effect, Problem, Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.simulation import Agent, Array, Lanes, Machine, Wait
from cutelite.ir.types import Ptr, Scalar, Tensor, Type, Vec, boolean, elem_of, i32, u32, u64
from cutelite.ops.address import address, among, barrier, check_aligned, scalar

BARRIER = Effect.ORDERS | Effect.CONVERGENT


@op("barrier.cluster.arrive", effects=BARRIER, feature="cluster", source="PTX ISA: barrier.cluster")
class ClusterArrive(Op):
    """Arrive on the cluster's barrier. Every thread of the cluster arrives once, and then waits once.

    relaxed  order no memory accesses; otherwise this thread's earlier ones come before the others' later ones
    """

    relaxed: bool = False

    def ptx(self) -> Ptx:
        return Ptx(f"barrier.cluster.arrive.{'relaxed' if self.relaxed else 'release'};")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.barriers.cluster_arrive(lanes)


@op("barrier.cluster.wait", effects=BARRIER, feature="cluster", source="PTX ISA: barrier.cluster")
class ClusterWait(Op):
    """Wait until every thread of the cluster that has not left the kernel has arrived."""

    as_ptx = Ptx("barrier.cluster.wait.acquire;")

    def simulate(self, lanes: Lanes) -> Wait:
        return lanes.machine.barriers.cluster_wait(lanes)


@op("mapa", feature="cluster", source="PTX ISA: mapa")
class Mapa(Op):
    """The address in the shared memory of block `rank` of the cluster that corresponds to `p` in this block's.

    `p` is a pointer or a tensor, and so is the result, in space 'cluster'.
    """

    p: Value
    rank: Value
    as_ptx = Ptx("mapa.shared::cluster.u32 $out, $p, $rank;", pure=True, memory=False)
    takes = {"p": address("smem"), "rank": scalar(i32, u32)}

    def result_types(self) -> tuple[Type, ...]:
        assert isinstance(self.p.type, Ptr | Tensor)
        return (replace(self.p.type, space="cluster"),)

    def simulate(self, lanes: Lanes) -> None:
        rank = lanes.get(self.rank).astype(np.int64)
        size = lanes.machine.cluster_size
        lanes.fault((rank < 0) | (rank >= size), f"there is no such block in a cluster of {size}", "mapa")
        lanes.define(lanes.machine.map_to_rank(lanes.get(self.p), rank))


@op("getctarank", feature="cluster", source="PTX ISA: getctarank")
class Getctarank(Op):
    """The rank of the block whose shared memory `p` is in."""

    p: Value
    gives = i32
    as_ptx = Ptx("getctarank.shared::cluster.u32 $out, $p;", pure=True, memory=False)
    takes = {"p": address("smem", "cluster")}

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.machine.rank_of(lanes.get(self.p)).astype(np.int32))


REMOTE = Effect.WRITES | Effect.ASYNC


@op("st.async", effects=REMOTE, feature="cluster", source="PTX ISA: st.async")
class StAsync(Op):
    """Start storing `a` (32 or 64 bits, or a vector of 2 or 4) at `p` in another block's shared memory.

    bar  an mbarrier of that block, which counts the bytes stored

    In the shared memory of the own block its behaviour is undefined (PTX ISA: st.async), though GPUs store there too.
    """

    p: Value
    a: Value
    bar: Value
    takes = {"bar": barrier("cluster")}

    def verify(self) -> Iterator[Problem]:
        t = self.a.type
        n = t.n if isinstance(t, Vec) else 1
        if not isinstance(t, Scalar | Vec) or elem_of(t).bits not in (32, 64) or n not in (1, 2, 4):
            yield Problem("a", f"st.async takes 32 or 64 bits, or a vector of 2 or 4 such, not {t}")
        elif elem_of(t).bytes * n > 16:
            yield Problem("a", f"st.async stores 16 bytes at most, and {t} has {elem_of(t).bytes * n}")
        else:
            yield from address("cluster", align=elem_of(t).bytes * n)(self, "p")

    def ptx(self) -> Ptx:
        t = self.a.type
        vector = f".v{t.n}" if isinstance(t, Vec) and t.n > 1 else ""
        kind = f"{vector}.{'f' if elem_of(t).is_float else 'b'}{elem_of(t).bits}"
        return Ptx(f"st.async.shared::cluster.mbarrier::complete_tx::bytes{kind} [$p], $a, [$bar];")

    def simulate(self, lanes: Lanes) -> None:
        p, a, bar = lanes.get(self.p), lanes.get(self.a).copy(), lanes.get(self.bar)
        rows = a if a.ndim == 2 else a[:, None]
        check_away(lanes, p, self.name)
        check_aligned(lanes, self, rows[0].nbytes, "p")
        for lane in lanes.each():
            write = partial(_store, int(p[lane]), int(bar[lane]), elem_of(self.a.type))
            lanes.machine.engine.start(
                lanes, "none", partial(_row, rows[lane]), write, lane=lane, barrier=int(bar[lane]), proxy="generic"
            )


def check_away(lanes: Lanes, p: Array, name: str) -> None:
    """Report addresses in the own block's shared memory, for which PTX leaves st.async and red.async undefined."""
    own = lanes.machine.rank_of(p) == lanes.machine.rank
    help = "only to other blocks; what stays in the block is an ordinary store or atomic, before an arrival"
    lanes.fault(own, f"{name} to the shared memory of its own block, which PTX leaves undefined", "own-block", help)


def _row(data: Array, agent: Agent) -> Array:
    return data


def _store(p: int, bar: int, elem: Scalar, agent: Agent, data: Array) -> None:
    agent.store("cluster", np.int64(p), elem, data)
    agent.complete_tx(bar, data.nbytes)


_INTEGERS = {"u32": "u32", "i32": "s32"}
_BITS = {"u32": "b32", "i32": "b32"}
RED_ASYNC: dict[str, dict[str, str]] = {
    "add": {**_INTEGERS, "u64": "u64", "i64": "u64"},
    "min": _INTEGERS,
    "max": _INTEGERS,
    "inc": {"u32": "u32"},
    "dec": {"u32": "u32"},
    "and": _BITS,
    "or": _BITS,
    "xor": _BITS,
}
"""The operations of red.async: the types that each takes, and PTX's names for them."""


@op("red.async", effects=REMOTE, feature="cluster", source="PTX ISA: red.async")
class RedAsync(Op):
    """Start combining the integer `a` into the one at `p` in another block's shared memory, atomically.

    kind  add, min, max, inc, dec, and, or, xor: on 32 bits; add on 64 as well
    bar   an mbarrier of that block, which counts the bytes

    In the shared memory of the own block its behaviour is undefined (PTX ISA: red.async).
    """

    kind: str
    p: Value
    a: Value
    bar: Value
    takes = {"bar": barrier("cluster"), "kind": among(RED_ASYNC)}

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.a.type, Scalar) or self.a.type.name not in RED_ASYNC[self.kind]:
            yield Problem("a", f"red.async {self.kind} takes {', '.join(RED_ASYNC[self.kind])}, not {self.a.type}")
        else:
            yield from address("cluster", align=self.a.type.bytes)(self, "p")

    def ptx(self) -> Ptx:
        kind = f"{self.kind}.{RED_ASYNC[self.kind][str(self.a.type)]}"
        return Ptx(f"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{kind} [$p], $a, [$bar];")

    def simulate(self, lanes: Lanes) -> None:
        p, a, bar = lanes.get(self.p), lanes.get(self.a).copy(), lanes.get(self.bar)
        check_away(lanes, p, self.name)
        for lane in lanes.each():
            write = partial(self._combine, int(p[lane]), int(bar[lane]))
            read = partial(_row, a[lane : lane + 1])
            lanes.machine.engine.start(lanes, "none", read, write, lane=lane, barrier=int(bar[lane]), proxy="generic")

    def _combine(self, p: int, bar: int, agent: Agent, data: Array) -> None:
        agent.atomic("cluster", np.array([p]), self.kind, elem_of(self.a.type), data)
        agent.complete_tx(bar, data.nbytes)


@op("griddepcontrol.launch_dependents", effects=Effect.ORDERS, feature="pdl", source="PTX ISA: griddepcontrol")
class LaunchDependents(Op):
    """Let the dependent kernel start once every block of this kernel has executed this op or has ended.

    It orders no memory: the dependent sees this kernel's writes only after its own `griddepcontrol.wait`.
    """

    as_ptx = Ptx("griddepcontrol.launch_dependents;")

    def simulate(self, lanes: Lanes) -> None:
        """Do nothing: kernels are simulated one after the other."""


@op("griddepcontrol.wait", effects=Effect.ORDERS, feature="pdl", source="PTX ISA: griddepcontrol")
class GridWait(Op):
    """Wait until the kernels that this launch depends on are complete and their writes are visible."""

    as_ptx = Ptx("griddepcontrol.wait;")

    def simulate(self, lanes: Lanes) -> None:
        """Tell an observer of the wait; kernels are simulated one after the other."""
        lanes.machine.fence(lanes, "grid")


RESPONSE = 16  # bytes of a response of launch control, and their alignment
_CANCELED = 1 << 63  # in the second word of the simulator's response: one was cancelled. PTX leaves the format open


@op("clusterlaunchcontrol.try_cancel", effects=REMOTE, source="PTX ISA: clusterlaunchcontrol.try_cancel")
class TryCancel(Op):
    """Try to cancel a cluster of this launch that has not started. One thread of the cluster executes it.

    response   16 bytes of shared memory, to which the async proxy writes whether one was cancelled, and which
    bar        an mbarrier of this block, which counts these bytes
    multicast  write them at the same offset in each block of the cluster, and count them on `bar` of each

    After this block has seen that a request failed, a further request is undefined behaviour.
    """

    response: Value
    bar: Value
    multicast: bool = False
    takes = {"response": address("smem", align=RESPONSE), "bar": barrier()}

    @property
    def feature(self) -> str:  # type: ignore[override]
        return "clusterlaunchcontrol.multicast" if self.multicast else "clusterlaunchcontrol"

    def ptx(self) -> Ptx:
        everywhere = ".multicast::cluster::all" if self.multicast else ""
        kind = f"async.shared::cta.mbarrier::complete_tx::bytes{everywhere}.b128"
        return Ptx(f"clusterlaunchcontrol.try_cancel.{kind} [$response], [$bar];")

    def simulate(self, lanes: Lanes) -> None:
        machine, response, bar = lanes.machine, lanes.get(self.response), lanes.get(self.bar)
        check_aligned(lanes, self, RESPONSE, "response")
        help = "test each response, and make no further request after one that failed"
        text = "a request to cancel a cluster after one that failed is undefined"
        lanes.fault(lanes.mask & machine.launch_over, text, "launch-control", help)
        ranks = range(machine.cluster_size) if self.multicast else (machine.rank,)
        for lane in lanes.each():
            places = [
                (int(machine.map_to_rank(response[lane], rank)), int(machine.map_to_rank(bar[lane], rank)))
                for rank in ranks
            ]
            read, write = partial(_cancel, machine), partial(_respond, places)
            machine.engine.start(lanes, "none", read, write, lane=lane, barrier=int(bar[lane]))


def _cancel(machine: Machine, agent: Agent) -> Array:
    first = machine.cancel_cluster()
    if first is None:
        return np.zeros(2, np.uint64)
    x, y, z = first
    return np.array([x | y << 32, z | _CANCELED], np.uint64)


def _respond(places: list[tuple[int, int]], agent: Agent, response: Array) -> None:
    for p, bar in places:
        agent.store("cluster", np.int64(p), u64, response)
        agent.complete_tx(bar, RESPONSE)


class QueryCancel(Op):
    """A query of `response`: its 16 bytes as a vec<u64,2>, loaded after a wait for their barrier."""

    response: Value
    feature = "clusterlaunchcontrol"

    def verify(self) -> Iterator[Problem]:
        if self.response.type != Vec(u64, 2):
            yield Problem("response", f"a response of launch control is a vec<u64,2>, not {self.response.type}")

    def ask(self, question: str) -> Ptx:
        load = "{ .reg .b128 response; mov.b128 response, $response;"
        ask = f"clusterlaunchcontrol.query_cancel.{question}.b128 $out, response; }}"
        return Ptx(f"{load} {ask}", pure=True, memory=False)


@op("clusterlaunchcontrol.query_cancel.is_canceled", source="PTX ISA: clusterlaunchcontrol.query_cancel")
class IsCanceled(QueryCancel):
    """True if a cluster was cancelled, false if the request failed."""

    gives = boolean

    def ptx(self) -> Ptx:
        return self.ask("is_canceled.pred")

    def simulate(self, lanes: Lanes) -> None:
        canceled = lanes.get(self.response)[:, 1] >= _CANCELED
        if not canceled[lanes.mask].all():
            lanes.machine.launch_over = True
        lanes.define(canceled)


@op("clusterlaunchcontrol.query_cancel.get_first_ctaid", source="PTX ISA: clusterlaunchcontrol.query_cancel")
class GetFirstCtaid(QueryCancel):
    """blockIdx along `axis` (x, y, z) of the first block of the cluster that was cancelled; undefined if none was."""

    axis: str
    gives = u32
    takes = {"axis": among(("x", "y", "z"))}

    def ptx(self) -> Ptx:
        return self.ask(f"get_first_ctaid::{self.axis}.b32")

    def simulate(self, lanes: Lanes) -> None:
        response = lanes.get(self.response)
        text = "no cluster was cancelled, so the response has no first block"
        lanes.fault(response[:, 1] < _CANCELED, text, "launch-control", "ask `clusterlaunchcontrol_is_canceled` first")
        half, shift = {"x": (0, 0), "y": (0, 32), "z": (1, 0)}[self.axis]
        lanes.define((response[:, half] >> np.uint64(shift)).astype(np.uint32))
