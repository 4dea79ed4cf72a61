"""The machine of one CTA, which an op's `simulate` has as ``lanes.machine``, and how ops are written with it.

The protocols are in `cutelite.ir.simulation`. One example of each kind of op:

A thread op gets any number of lanes, computes on whole arrays and defines its results::

    def simulate(self, lanes):                                        # ex2.approx
        lanes.define(np.exp2(lanes.get(self.a)))

A warp op (``scope="warp"``) gets 32 lanes; `lanes.mask` says which take part. With ``wide = True`` it gets the lanes of
several warps at once, which makes shuffles and votes much faster::

    def simulate(self, lanes):                                        # shfl.sync.bfly, wide, operand `members`
        a = lanes.warps(lanes.get(self.a))                            # (warps, 32)
        source = np.arange(32) ^ lanes.warps(lanes.get(self.lane))    # (warps, 32)
        lanes.define(np.take_along_axis(a, source, axis=1).reshape(-1))

A blocking op returns a `Wait`. Before that it does what other threads wait for, such as its own arrival::

    def simulate(self, lanes):                                        # barrier.sync
        return lanes.machine.barriers.sync(lanes, lanes.get(self.id), lanes.get(self.count))

    def simulate(self, lanes):                                        # mbarrier.try_wait.parity in a loop
        return lanes.machine.mbarriers.wait(lanes, lanes.get(self.address), lanes.get(self.parity))

An asynchronous op starts work with two functions: one that reads, and one that writes. The engine calls the first now
or later, and the second after that. Operands are taken from `lanes` now, since registers are read at issue. An op that
several threads may issue at once starts work for each of them::

    def simulate(self, lanes):                                        # cp.async.bulk.tensor, global to shared
        tiles, barriers = lanes.get(self.dst), lanes.get(self.barrier)
        tile_map, coords = lanes.get(self.source), [lanes.get(c) for c in self.coord]
        for lane in lanes.each():
            self.copy(lanes, lane, tile_map, [int(c[lane]) for c in coords], int(tiles[lane]), int(barriers[lane]))

    def copy(self, lanes, lane, tile_map, coord, dst, barrier):
        def write(agent, tile):
            tile_map.put_smem(agent, dst, tile)                       # multicast: for each map_to_rank(dst, rank)
            agent.complete_tx(barrier, tile_map.box_bytes)

        lanes.machine.engine.start(lanes, "none", lambda agent: tile_map.read(agent, coord), write, lane=lane)

The engine has groups of work: ``engine.commit(lanes, "bulk")``, ``engine.wait(lanes, "bulk", 1, reads_only=True)``.

A register value in flight is the ticket of its work, an object for each lane; the wait replaces it by the result::

    def simulate(self, lanes):                                        # wgmma.mma_async, scope warpgroup
        a, b = int(lanes.get(self.a)[0]), int(lanes.get(self.b)[0])   # descriptors
        chained = lanes.get(self.d)                                   # a vector, or the ticket of the mma before

        def read(agent):
            return product(agent, a, b) + accumulator(agent, chained)     # agent.result(ticket) if it is one

        ticket = lanes.machine.engine.start(lanes, "wgmma", read, in_order=True)
        lanes.define(np.full(len(lanes.tid), ticket, object))

    def simulate(self, lanes):                                        # wgmma.wait_group, scope warpgroup
        lanes.machine.engine.wait(lanes, "wgmma", self.pending)
        lanes.define(lanes.machine.engine.result(lanes.get(self.d)[0]))    # (128, n)

Shared memory is read and written by address, in units of several neighbouring elements where these are aligned:
``agent.load("smem", rows, bf16, 8)``, with `rows` an int64 array of any shape, returns an array of shape
``rows.shape + (8,)``, about as fast as one NumPy gather.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np

from cutelite.diag import Mistake
from cutelite.ir.op import Op, Value
from cutelite.ir.simulation import RANK_SHIFT, Lanes, Wait
from cutelite.ir.types import Scalar, TensorMap
from cutelite.sim.actors import Executing, Work
from cutelite.sim.atomics import atomic
from cutelite.sim.barrier import Barriers, ClusterBarrier
from cutelite.sim.engine import Engine
from cutelite.sim.error import Place, SimError
from cutelite.sim.events import Event, Fence, WorkDescribed
from cutelite.sim.launch import Index, SimLaunch
from cutelite.sim.mbarrier import Mbarriers
from cutelite.sim.memory import NOBODYS, UNWRITTEN, Region, Space
from cutelite.sim.program import MemoryPlan, Program
from cutelite.sim.registers import RegisterPool
from cutelite.sim.roster import Roster
from cutelite.sim.tmem import TensorMemory
from cutelite.target.targets import RESERVED_SMEM, WARP

Array = Any
FixedValues = tuple[dict[Value, Array], ...]

MANY_SETS = 128  # sets of threads whose fixed values are kept
LOCAL_GAP = 16  # bytes between the local memories of two threads
CONSTANT_STRIDE = 1 << 20  # bytes from one constant array to the next: more than an array can have


class Cluster:
    """CTAs that run together and can access each other's shared memory; without clusters, one CTA.

    smem     the shared memory of each CTA, by its rank
    live     bool (ranks, threads): which threads have not exited
    barrier  the barrier of the cluster
    """

    def __init__(self, launch: SimLaunch, first: Index) -> None:
        x, y, z = launch.cluster
        self.first = first
        offsets = [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]
        self.smem = [shared_memory(launch.program.shared, launch.smem_dynamic, rank) for rank in range(len(offsets))]
        self.live = np.ones((len(offsets), launch.threads), bool)
        self.barrier = ClusterBarrier(self.live, launch.changed)
        self.machines = [
            Machine(launch, self, rank, (first[0] + i, first[1] + j, first[2] + k))
            for rank, (i, j, k) in enumerate(offsets)
        ]


class Machine:
    """One CTA; implements `ir.simulation.Machine`.

    rank, block   its rank in its cluster; blockIdx
    threads       the number of its threads; `roster` says which have not exited
    spaces        'gmem', 'smem', 'cluster', 'rmem', ...: memory as this CTA sees it
    tell          reports an event to the launch's observer; None without one
    """

    def __init__(self, launch: SimLaunch, cluster: Cluster, rank: int, block: Index) -> None:
        self.cluster, self.launch, self.rank, self.block = cluster, launch, rank, block
        self.program: Program = launch.program
        self.cluster_size = len(cluster.smem)
        self.index = block[0] + launch.grid[0] * (block[1] + launch.grid[1] * block[2])
        self.threads = launch.threads
        self.warp_count = -(-self.threads // WARP)
        self.roster = Roster(cluster.live[rank])
        own = cluster.smem[rank]
        local = self.program.local  # whose alignment is the same for all threads
        self.local_bytes = (-(-local.size // LOCAL_GAP) + 1) * LOCAL_GAP if local.sizes else 0
        observer = launch.observer
        self.spaces = {
            "gmem": launch.gmem,
            "smem": Space("smem", [own], observer, launch.writes),
            "cluster": Space("cluster", cluster.smem, observer, launch.writes),
            "rmem": Space("rmem", [self._local_memory()] if self.local_bytes else [], observer),
            "const": Space("const", []),
        }
        self.constants: dict[Op, Region] = {}
        self.tell: Callable[[Event], None] | None = None if observer is None else partial(observer.event, self)
        self.engine = Engine(launch, partial(Agent, self), self.tell)
        self.mbarriers = Mbarriers(self.spaces["cluster"], cluster.smem, launch, self.tell)
        self.barriers = Barriers(self.roster, cluster.barrier, rank, launch.changed, self.tell)
        self.registers = RegisterPool(self.warp_count, self.program.function.attrs, launch.changed)
        self._fixed: dict[bytes, dict[Value, Array]] = {}
        self._tmem: TensorMemory | None = None
        self.launch_over = False

    def _local_memory(self) -> Region:
        plan = self.program.local
        region = Region(0, np.zeros(self.threads * self.local_bytes, np.uint8), plan.names, tracked=True,
                        period=self.local_bytes)  # fmt: skip
        assert region.state is not None
        _mark_allocated(region.state.reshape(self.threads, -1), plan)
        return region

    @property
    def tmem(self) -> TensorMemory:
        """Its tensor memory. At the first use it is made for all CTAs of the cluster."""
        if self._tmem is None:
            machines = self.cluster.machines
            for machine in machines:
                machine._tmem = TensorMemory(machine.rank, len(machines), self.launch.changed, machine.tell)
            regions = [machine.tmem.region for machine in machines]
            for machine in machines:
                machine.tmem.peer = partial(getattr, machines[min(machine.rank ^ 1, len(machines) - 1)], "tmem")
                machine.spaces["tmem"] = Space("tmem", regions, self.launch.observer, self.launch.writes)
        assert self._tmem is not None
        return self._tmem

    # Addresses

    def smem_address(self, alloc: Op, lanes: Executing) -> Array:
        offset = self.program.shared.offsets[alloc]
        return np.full(len(lanes.tid), self.cluster.smem[self.rank].base + RESERVED_SMEM + offset, np.int64)

    def const_address(self, array: Op, lanes: Executing) -> Array:
        region = self.constants.get(array)
        if region is None:
            data = np.frombuffer(bytes.fromhex(array["data"]), np.uint8).copy()
            hint = array.result.hint or "a constant array"
            region = Region(CONSTANT_STRIDE * (1 + len(self.constants)), data, {0: hint})
            region.read_only = True
            self.constants[array] = region
            self.spaces["const"] = Space("const", list(self.constants.values()))
        return np.full(len(lanes.tid), region.base, np.int64)

    def rmem_address(self, alloc: Op, lanes: Executing) -> Array:
        # A new allocation each time: values that an earlier iteration wrote are undefined again.
        offset = self.program.local.offsets[alloc]
        size = self.program.local.sizes[alloc]
        address = lanes.tid * self.local_bytes + offset
        state = self.spaces["rmem"].regions[0].state
        assert state is not None
        own = lanes.tid[lanes.mask]
        state.reshape(self.threads, -1)[own, offset : offset + size] = UNWRITTEN
        return address

    def map_to_rank(self, address: Array, rank: Array | int) -> Array:
        mask = (1 << RANK_SHIFT) - 1
        return (np.asarray(address, np.int64) & mask) | np.asarray(rank, np.int64) << RANK_SHIFT

    def rank_of(self, address: Array) -> Array:
        return np.asarray(address, np.int64) >> RANK_SHIFT

    def from_host(self, address: Array) -> Array:
        return self.launch.buffers.located(np.asarray(address, np.int64))

    # Threads

    def thread(self, tid: int) -> Index:
        """Return threadIdx of a thread."""
        return self.launch.thread(tid)

    def fixed_of(self, tid: Array) -> FixedValues:
        """Return, for some threads, the results so far of steps that are `fixed`, by their reach."""
        launch, key = self.launch, tid.tobytes()
        return (
            launch.fixed.setdefault(len(tid), {}),
            _held(launch.fixed_of_threads, key),
            _held(self._fixed, key),
        )

    def exit(self, tid: Array) -> None:
        """Note that these threads have exited."""
        self.roster.leave(tid)
        self.barriers.check_exits()
        self.cluster.barrier.complete_if_full()
        self.launch.changed()
        if self.roster.live_count == 0:
            self.engine.drain(("cp.async", "wgmma"))  # the SM finishes these before it frees the block
            self.cluster.smem[self.rank].kill()
            if self._tmem is not None:
                self._tmem.check_exit(self.launch.kernel, self.launch.seed, self.block)

    def special(self, name: str, tid: Array) -> Array:
        if name.endswith((".x", ".y", ".z")):
            kind, axis = name[:-2], "xyz".index(name[-1])
            if kind == "tid":
                return (
                    self.launch.thread_index[axis] if len(tid) == self.threads else self.launch.thread_index[axis][tid]
                )
            return np.full(len(tid), self._indices()[kind][axis], np.int64)
        lane = tid & (WARP - 1)
        match name:
            case "laneid":
                return lane
            case "warpid":
                return tid // WARP
            case "lanemask_eq" | "lanemask_lt" | "lanemask_le" | "lanemask_gt" | "lanemask_ge":
                return _lane_mask(name[-2:], lane)
        return np.full(len(tid), self._registers()[name], np.int64)

    def _indices(self) -> dict[str, Index]:
        launch = self.launch
        clusters = tuple(n // c for n, c in zip(launch.grid, launch.cluster, strict=True))
        inside = tuple(b % c for b, c in zip(self.block, launch.cluster, strict=True))
        which = tuple(b // c for b, c in zip(self.block, launch.cluster, strict=True))
        return {
            "ntid": launch.block,
            "ctaid": self.block,
            "nctaid": launch.grid,
            "cluster_ctaid": (inside[0], inside[1], inside[2]),
            "cluster_nctaid": launch.cluster,
            "clusterid": (which[0], which[1], which[2]),
            "nclusterid": (clusters[0], clusters[1], clusters[2]),
        }

    def _registers(self) -> dict[str, int]:
        clock = self.launch.ops
        return {
            "nwarpid": self.warp_count,
            "smid": self.index % self.launch.sm_count,
            "nsmid": self.launch.sm_count,
            "gridid": 1,
            "cluster_ctarank": self.rank,
            "cluster_nctarank": self.cluster_size,
            "clock": clock & 0xFFFFFFFF,
            "clock64": clock,
            "globaltimer": clock,
            "dynamic_smem_size": self.launch.smem_dynamic,
            "total_smem_size": self.cluster.smem[self.rank].size - RESERVED_SMEM,
        }

    def publish_map(self, lanes: Lanes, address: Array) -> None:
        self.launch.descriptors.publish(self.launch.gmem, int(address[0]))

    def acquire_map(self, lanes: Lanes, address: Array) -> None:
        self.launch.descriptors.acquire(lanes, self.index, address)

    def stored_map(self, lanes: Lanes, lane: int, address: int, type: TensorMap) -> Any:
        return self.launch.descriptors.find(lanes, self.index, lane, address, type)

    def cancel_cluster(self) -> Index | None:
        return self.launch.cancel_cluster()

    def set_registers(self, lanes: Executing, count: int) -> Wait | None:
        return self.registers.set(lanes, count)

    def elected(self, mask: Array) -> int:
        return self.launch.policy.elected(mask)

    def fence(self, lanes: Executing, kind: str) -> None:
        if self.tell is not None:
            self.tell(Fence(lanes, kind))


class Agent:
    """A piece of asynchronous work in its CTA, while it accesses memory; implements `ir.simulation.Agent`.

    filled  the ranks of blocks to whose shared memory it has written
    """

    __slots__ = ("filled", "machine", "work")

    def __init__(self, machine: Machine, work: Work) -> None:
        self.machine, self.work = machine, work
        self.filled: set[int] = set()

    @property
    def part(self) -> Array:
        return self.work.part

    def load(self, space: str, address: Array, elem: Scalar, n: int = 1, of: Array | None = None) -> Array:
        return self.machine.spaces[space].load(address, elem, n, self if of is None else Share(self, of))

    def store(self, space: str, address: Array, elem: Scalar, data: Array, of: Array | None = None) -> None:
        self.machine.spaces[space].store(address, elem, data, self if of is None else Share(self, of))
        if space in ("smem", "cluster"):
            self.filled.add(int(np.asarray(address).flat[0]) >> RANK_SHIFT)

    def atomic(self, space: str, address: Array, action: str, elem: Scalar, operand: Array) -> None:
        if space == "cluster":
            self.filled.add(int(address.flat[0]) >> RANK_SHIFT)
        atomic(self.machine.spaces[space], address.reshape(-1), action, elem, operand.reshape(-1), None, self)

    def complete_tx(self, address: int, bytes: int) -> None:
        rank = address >> RANK_SHIFT
        if self.filled and rank not in self.filled and not self.work.op.pair:
            title = f"bytes come to the block of rank {min(self.filled)}, and an mbarrier of rank {rank} counts them"
            help = "count them where they come: on the mbarrier of that block, `bar.remote(rank)`"
            self.fail("mbarrier", title, help=help)
        self.machine.mbarriers.work_completes(self, self.work, address, bytes)

    def arrive(self, address: int, count: int = 1) -> None:
        self.machine.mbarriers.work_arrives(self, self.work, address, count)

    def result(self, ticket: Work) -> Any:
        return self.machine.engine.take_result(ticket)

    def place(self, space: str, address: int) -> Place:
        return self.machine.spaces[space].place(address)

    def uses_descriptor(self, address: int) -> None:
        if self.machine.tell is not None:
            self.machine.tell(WorkDescribed(self.work, address))

    def fail(
        self,
        code: str,
        title: str,
        *,
        element: int | None = None,
        place: Place | None = None,
        label: str = "",
        help: str = "",
        threads: Array | None = None,
    ) -> NoReturn:
        machine = self.machine
        tid = self.work.tid if threads is None else self.work.tid[threads]
        raise SimError(
            Mistake(code, title, label or "by this asynchronous operation", help),
            kernel=machine.launch.kernel,
            seed=machine.launch.seed,
            op=self.work.op,
            block=machine.block,
            threads=[machine.thread(one) for one in tid.tolist()],
            place=place,
        )


class Share:
    """The `Accuser` of an access by several threads of one piece of work: `threads` has the thread of each address."""

    __slots__ = ("agent", "threads")

    def __init__(self, agent: Agent, threads: Array) -> None:
        self.agent, self.threads = agent, threads

    def fail(self, code: str, title: str, *, element: int | None = None, **rest: Any) -> NoReturn:
        threads = self.threads if element is None else self.threads[element : element + 1]
        self.agent.fail(code, title, threads=threads, **rest)


def _held(sets: dict[bytes, dict[Value, Array]], key: bytes) -> dict[Value, Array]:
    """Return the dict of a set of threads; if there are too many sets, drop all first."""
    if len(sets) > MANY_SETS:
        sets.clear()
    return sets.setdefault(key, {})


def shared_memory(plan: MemoryPlan, dynamic: int, rank: int) -> Region:
    """Return the shared memory of the CTA with that rank: reserved bytes, static memory, dynamic memory."""
    size = RESERVED_SMEM + plan.size + dynamic
    names = {offset + RESERVED_SMEM: name for offset, name in plan.names.items()}
    region = Region(rank << RANK_SHIFT, np.zeros(size, np.uint8), names, tracked=True)
    assert region.state is not None
    region.state[:RESERVED_SMEM] = NOBODYS
    _mark_allocated(region.state[RESERVED_SMEM : RESERVED_SMEM + plan.size], plan)
    return region


def _mark_allocated(state: Array, plan: MemoryPlan) -> None:
    """Mark the bytes of allocations `UNWRITTEN`, and all others `NOBODYS`, along the last axis of `state`."""
    state[...] = NOBODYS
    for op, offset in plan.offsets.items():
        state[..., offset : offset + plan.sizes[op]] = UNWRITTEN


def _lane_mask(relation: str, lane: Array) -> Array:
    one = np.int64(1) << lane
    below = one - 1
    masks = {"eq": one, "lt": below, "le": below | one, "gt": ~(below | one), "ge": ~below}
    return masks[relation] & 0xFFFFFFFF
