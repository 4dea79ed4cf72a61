"""Asynchronous copies: cp.async of 4 to 16 bytes a thread, and cp.async.bulk of any number of bytes.

    cp.async             completes in a group of its thread, or arrives on an mbarrier
    cp.async.bulk        into shared memory: counts its bytes on an mbarrier; out of it: a bulk group of the thread
    cp.reduce.async.bulk as a bulk copy out of shared memory that combines instead of overwriting

cp.async belongs to the generic proxy. Bulk copies are made by the async proxy: what ordinary stores wrote to
shared memory is visible to them only after `fence.proxy.async`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from cutelite.ir.contract import Effect, Problem, Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import Scalar, i32, u8, u16, u32, u64
from cutelite.ops.address import address, among, barrier, check_aligned, scalar, space_of
from cutelite.ops.memory import PREFETCHES
from cutelite.tuples import NamedTuple

if TYPE_CHECKING:
    from cutelite.ir.simulation import Agent, Array, Lanes

ASYNC_COPY = Effect.READS | Effect.WRITES | Effect.ASYNC
PRIORITIES = ("evict_last", "evict_normal", "evict_first", "evict_unchanged")
SPLIT = {"primary": among(PRIORITIES), "secondary": among(("evict_first", "evict_unchanged"))}


@op("createpolicy", feature="cache_hint", source="PTX ISA: createpolicy.fractional")
class CreatePolicy(Op):
    """An L2 policy, to pass as `policy`: `fraction` of the accesses get `primary`, the others `secondary`.

    primary    evict_last (keep it), evict_normal, evict_first (it streams by) or evict_unchanged
    secondary  evict_first or evict_unchanged
    """

    primary: str
    fraction: float = 1.0
    secondary: str = "evict_unchanged"
    gives = u64
    takes = SPLIT

    def verify(self) -> Iterator[Problem]:
        if not 0 < self.fraction <= 1:
            yield Problem("fraction", f"the fraction is {self.fraction}; it must be above 0 and at most 1")

    def ptx(self) -> Ptx:
        kinds = f"L2::{self.primary}.L2::{self.secondary}"
        return Ptx(f"createpolicy.fractional.{kinds}.b64 $out, {float(self.fraction)};", pure=True, memory=False)

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(np.zeros(lanes.mask.shape, np.uint64))  # where data is cached changes no result


@op("createpolicy.range", feature="cache_hint", source="PTX ISA: createpolicy.range")
class CreatePolicyRange(Op):
    """An L2 policy by address: `primary` for `primary_size` bytes from global `p` on, `secondary` after them.

    total_size  bytes from `p` on that the policy covers: at least `primary_size`
    primary, secondary  as for `createpolicy`
    """

    p: Value
    primary_size: Value
    total_size: Value
    primary: str
    secondary: str = "evict_unchanged"
    gives = u64
    takes = {"p": address("gmem"), "primary_size": scalar(i32, u32), "total_size": scalar(i32, u32), **SPLIT}

    def ptx(self) -> Ptx:
        kinds = f"global.L2::{self.primary}.L2::{self.secondary}"
        return Ptx(f"createpolicy.range.{kinds}.b64 $out, [$p], $primary_size, $total_size;", memory=False)

    def simulate(self, lanes: Lanes) -> None:
        primary, total = (
            lanes.get(size).astype(np.int64) & 0xFFFFFFFF for size in (self.primary_size, self.total_size)
        )
        lanes.fault(primary > total, "primary_size of createpolicy.range is above total_size", "cache-policy")
        lanes.define(np.zeros(lanes.mask.shape, np.uint64))


@op("createpolicy.cvt", feature="cache_hint", source="PTX ISA: createpolicy.cvt")
class CreatePolicyCvt(Op):
    """An L2 policy made of an access property: a u64 in the format of CUDA's `cuda::access_property`."""

    access_property: Value
    gives = u64
    as_ptx = Ptx("createpolicy.cvt.L2.b64 $out, $access_property;", memory=False)
    takes = {"access_property": scalar(u64)}

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(np.zeros(lanes.mask.shape, np.uint64))


@op("cp.async", effects=ASYNC_COPY, feature="cp.async", source="PTX ISA: cp.async")
class CpAsync(Op):
    """Start copying `bytes` bytes from global `src` to shared `dst`, in this thread's open cp.async group.

    bytes      4, 8 or 16; both addresses are multiples of it
    src_bytes  copy only this number of bytes (0 to `bytes`), and zeros for the rest; `src` is read no further
    cache      'ca' at all levels, 'cg' past L1 (16 bytes only)
    prefetch   bytes of the line around `src` to bring into L2: 0 for none, 64, 128 or 256
    policy     an L2 policy: a 64-bit word, from `createpolicy` or for a name such as "evict_first"
    """

    dst: Value
    src: Value
    bytes: int
    cache: str = "ca"
    prefetch: int = 0
    src_bytes: Value | None
    policy: Value | None
    takes = {
        "bytes": among((4, 8, 16)),
        "src_bytes": scalar(i32, u32),
        "cache": among(("ca", "cg")),
        "prefetch": among(PREFETCHES),
        "policy": scalar(u64),
    }

    def verify(self) -> Iterator[Problem]:
        yield from address("smem", align=self.bytes)(self, "dst")
        yield from address("gmem", align=self.bytes)(self, "src")
        if self.cache == "cg" and self.bytes != 16:
            yield Problem("cache", f"cp.async.cg copies 16 bytes, not {self.bytes}", "use cache 'ca'")

    def ptx(self) -> Ptx:
        hint = ".L2::cache_hint" if self.policy else ""
        line = f".L2::{self.prefetch}B" if self.prefetch else ""
        more = (", $src_bytes" if self.src_bytes else "") + (", $policy" if self.policy else "")
        return Ptx(f"cp.async.{self.cache}.shared::cta.global{hint}{line} [$dst], [$src], {self.bytes}{more};")

    def simulate(self, lanes: Lanes) -> None:
        size = np.full(lanes.mask.shape, self.bytes) if self.src_bytes is None else lanes.get(self.src_bytes)
        lanes.fault((size < 0) | (size > self.bytes), f"src_bytes is outside of 0..{self.bytes}", "cp-async")
        check_aligned(lanes, self, self.bytes, "dst", "src")
        dst, src = lanes.get(self.dst), lanes.get(self.src)
        active = np.flatnonzero(lanes.mask)
        warps = lanes.tid[active] // 32
        for warp in np.unique(warps).tolist():
            mine = active[warps == warp]
            copies = Copies(self.bytes, dst[mine], src[mine], size[mine])
            lanes.machine.engine.start(lanes, "cp.async", copies.read, copies.write, lane=mine, proxy="generic")


class Copies(NamedTuple):
    """The copies that one cp.async makes for some threads: each thread's addresses, and the bytes that it reads."""

    bytes: int
    dst: Array
    src: Array
    size: Array

    def read(self, agent: Agent) -> Array:
        part = agent.part
        data, size = np.zeros((len(part), self.bytes), np.uint8), self.size[part]
        for count in np.unique(size[size > 0]).tolist():
            some = np.flatnonzero(size == count)
            data[some, :count] = agent.load("gmem", self.src[part[some]], u8, count, some)
        return data

    def write(self, agent: Agent, data: Array) -> None:
        agent.store("smem", self.dst[agent.part], u8, data, np.arange(len(data)))


@op("cp.async.commit_group", effects=Effect.ORDERS, feature="cp.async", source="PTX ISA: cp.async.commit_group")
class CpAsyncCommitGroup(Op):
    """Close this thread's open group of cp.async; it may be empty."""

    as_ptx = Ptx("cp.async.commit_group;")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.engine.commit(lanes, "cp.async")


class GroupWait(Op):
    """Wait until at most `n` of the groups that this thread closed are still under way."""

    n: int

    def verify(self) -> Iterator[Problem]:
        if self.n < 0:
            yield Problem("n", f"{self.name} takes a number of groups from 0 on, not {self.n}")


@op("cp.async.wait_group", effects=Effect.ORDERS, feature="cp.async", source="PTX ISA: cp.async.wait_group")
class CpAsyncWaitGroup(GroupWait):
    """Wait until at most the `n` latest closed groups of cp.async of this thread are under way.

    What the completed groups copied is then visible to this thread; to other threads after a barrier.
    """

    as_ptx = Ptx("cp.async.wait_group ${n};")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.engine.wait(lanes, "cp.async", self.n)


@op("cp.async.wait_all", effects=Effect.ORDERS, feature="cp.async", source="PTX ISA: cp.async.wait_all")
class CpAsyncWaitAll(Op):
    """Wait for every cp.async of this thread, in closed groups or not."""

    as_ptx = Ptx("cp.async.wait_all;")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.engine.commit(lanes, "cp.async")
        lanes.machine.engine.wait(lanes, "cp.async")


@op(
    "cp.async.mbarrier.arrive",
    effects=Effect.WRITES | Effect.ASYNC,
    feature="cp.async",
    source="PTX ISA: cp.async.mbarrier.arrive",
)
class CpAsyncMbarrierArrive(Op):
    """Arrive on `bar` once every cp.async that this thread has started so far is complete.

    noinc  count the arrival among those that the barrier expects; without it, the pending count is raised by one
           first, so that the arrival leaves it as it was
    """

    bar: Value
    noinc: bool = False
    takes = {"bar": barrier()}

    def ptx(self) -> Ptx:
        return Ptx(f"cp.async.mbarrier.arrive{'.noinc' if self.noinc else ''}.shared::cta.b64 [$bar];")

    def simulate(self, lanes: Lanes) -> None:
        bar = lanes.get(self.bar)
        if not self.noinc:
            lanes.machine.mbarriers.expect_arrivals(lanes, bar, 1)
        for lane in lanes.each():
            arrive = partial(_arrive, int(bar[lane]))
            lanes.machine.engine.after(lanes, "cp.async", arrive, lane=lane)


def _arrive(bar: int, agent: Agent) -> None:
    agent.arrive(bar)


BULK_ALIGN = 16  # bytes: of both addresses, and of the size (PTX ISA, cp.async.bulk)
STORED = {
    "dst": address("gmem", align=BULK_ALIGN),
    "src": address("smem", align=BULK_ALIGN),
    "bytes": scalar(i32, u32),
    "policy": scalar(u64),
}


@op("cp.async.bulk", effects=ASYNC_COPY, feature="tma", source="PTX ISA: cp.async.bulk")
class CpAsyncBulk(Op):
    """Start copying `bytes` bytes, a multiple of 16, between two 16-byte aligned places. One thread does it.

    The spaces of `dst` and `src` choose the copy:

        smem    <- gmem   counts its bytes on `barrier`; with `multicast` it fills the same offset in each block of the
                          cluster whose rank is a set bit, and counts on the barrier at the same offset there
        cluster <- smem   counts its bytes on `barrier`, which lies in the block it writes to
        gmem    <- smem   in this thread's open bulk group
    """

    dst: Value
    src: Value
    bytes: Value
    barrier: Value | None
    multicast: Value | None
    policy: Value | None
    takes = {"bytes": scalar(i32, u32), "multicast": scalar(u16), "policy": scalar(u64)}

    @property
    def way(self) -> tuple[str, str]:
        return space_of(self.dst), space_of(self.src)

    def verify(self) -> Iterator[Problem]:
        if self.way not in (("smem", "gmem"), ("cluster", "smem"), ("gmem", "smem")):
            text = f"cp.async.bulk cannot copy from {self.src.type} to {self.dst.type}"
            yield Problem("dst", text, "it goes gmem to smem, smem to gmem, or smem to the cluster's smem")
            return
        yield from address(self.way[0], align=BULK_ALIGN)(self, "dst")
        yield from address(self.way[1], align=BULK_ALIGN)(self, "src")
        if self.way[0] == "gmem":
            if self.barrier:
                yield Problem("barrier", "a bulk copy to global memory ends in a bulk group, not on an mbarrier")
        elif self.barrier is None:
            yield Problem("barrier", "a bulk copy to shared memory needs an mbarrier to count its bytes on")
        else:
            yield from barrier(self.way[0])(self, "barrier")
        if self.multicast and self.way[1] != "gmem":
            yield Problem("multicast", "only copies from global memory can be multicast")
        if self.policy and self.way[0] == "cluster":
            yield Problem("policy", "a copy between shared memories does not touch L2 and takes no policy")

    def ptx(self) -> Ptx:
        ends = {
            ("smem", "gmem"): "shared::cluster.global.mbarrier::complete_tx::bytes",
            ("cluster", "smem"): "shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
            ("gmem", "smem"): "global.shared::cta.bulk_group",
        }[self.way]
        kinds, operands = modifiers(self.barrier, self.multicast, self.policy)
        return Ptx(f"cp.async.bulk.{ends}{kinds} [$dst], [$src], $bytes{operands};")

    def simulate(self, lanes: Lanes) -> None:
        bytes = bulk_bytes(lanes, self.bytes)
        check_aligned(lanes, self, BULK_ALIGN, "dst", "src")
        dst, src = lanes.get(self.dst), lanes.get(self.src)
        for lane in lanes.each():
            copy = BulkCopy(*self.way, int(dst[lane]), int(src[lane]), int(bytes[lane]))
            arrivals = arrival_places(lanes, lane, self.barrier, self.multicast)
            queue = "bulk" if self.barrier is None else "none"
            barrier = arrivals.first if arrivals else None
            lanes.machine.engine.start(
                lanes, queue, copy.read, partial(copy.write, arrivals), lane=lane, barrier=barrier
            )


class BulkCopy(NamedTuple):
    """A bulk copy under way: `bytes` bytes from `src` to `dst`, with multicast to the same offset in other blocks."""

    to: str
    of: str
    dst: int
    src: int
    bytes: int

    def read(self, agent: Agent) -> Array:
        return agent.load(self.of, np.int64(self.src), u64, self.bytes // 8)

    def write(self, arrivals: Arrivals | None, agent: Agent, data: Array) -> None:
        for move in arrivals.moves if arrivals else (0,):
            agent.store("cluster" if move else self.to, np.int64(self.dst + move), u64, data)
        if arrivals:
            arrivals.complete(agent, self.bytes)


@op("cp.async.bulk.cp_mask", effects=ASYNC_COPY, feature="cp_mask", source="PTX ISA: cp.async.bulk")
class CpAsyncBulkMasked(Op):
    """Start copying some of `bytes` bytes of shared `src` to global `dst`, in this thread's open bulk group.

    mask  u16: bit i is set where byte i of each 16 is to be copied
    """

    dst: Value
    src: Value
    bytes: Value
    mask: Value
    policy: Value | None
    takes = {**STORED, "mask": scalar(u16)}

    def ptx(self) -> Ptx:
        kinds, operands = modifiers(None, None, self.policy)
        start = f"cp.async.bulk.global.shared::cta.bulk_group{kinds}.cp_mask"
        return Ptx(f"{start} [$dst], [$src], $bytes{operands}, $mask;")

    def simulate(self, lanes: Lanes) -> None:
        bytes = bulk_bytes(lanes, self.bytes)
        check_aligned(lanes, self, BULK_ALIGN, "dst", "src")
        dst, src, mask = (lanes.get(value).astype(np.int64) for value in (self.dst, self.src, self.mask))
        for lane in lanes.each():
            every = np.arange(int(bytes[lane]))
            taken = every[int(mask[lane]) >> every % BULK_ALIGN & 1 == 1]
            if len(taken):
                copy = MaskedCopy(int(dst[lane]), int(src[lane]), taken)
                lanes.machine.engine.start(lanes, "bulk", copy.read, copy.write, lane=lane)


class MaskedCopy(NamedTuple):
    """A masked copy to global memory, of the bytes at the offsets `taken`."""

    dst: int
    src: int
    taken: Array

    def read(self, agent: Agent) -> Array:
        return agent.load("smem", self.src + self.taken, u8)

    def write(self, agent: Agent, data: Array) -> None:
        agent.store("gmem", self.dst + self.taken, u8, data)


class Arrivals(NamedTuple):
    """The barriers that count a copy's bytes: `barrier` plus each of `moves`, distances between blocks' shared memory.

    fills  the distances from this block's shared memory to that of each block that the copy fills
    """

    barrier: int
    moves: tuple[int, ...]
    fills: tuple[int, ...]

    @property
    def first(self) -> int:
        """The address of one of the barriers."""
        return self.barrier + self.moves[0]

    def complete(self, agent: Agent, bytes: int) -> None:
        for move in self.moves:
            agent.complete_tx(self.barrier + move, bytes)


def arrival_places(
    lanes: Lanes, lane: int, barrier: Value | None, multicast: Value | None, pair: bool = False
) -> Arrivals | None:
    """Return the barriers of one lane's copy: its own, or those of the blocks that its `multicast` mask names.

    pair  for each such block, the one in its pair of blocks whose rank is even or odd as that of `barrier`
    """
    if barrier is None:
        return None
    bar, machine = np.int64(lanes.get(barrier)[lane]), lanes.machine
    if multicast is None:
        return Arrivals(int(bar), (0,), (0,))
    mask = int(lanes.get(multicast)[lane])
    ranks = [rank for rank in range(16) if mask >> rank & 1]
    bad = np.arange(len(lanes.mask)) == lane
    if not ranks or ranks[-1] >= machine.cluster_size:
        lanes.fault(bad, f"the multicast mask {mask:#x} names no block, or one that the cluster lacks", "multicast")
    own = int(machine.map_to_rank(bar, machine.rank))
    fills = tuple(int(machine.map_to_rank(bar, rank)) - own for rank in ranks)
    from cutelite.ir.simulation import RANK_SHIFT  # imported here: only the simulator needs it

    told = [rank & ~1 | int(bar) >> RANK_SHIFT & 1 for rank in ranks] if pair else ranks
    return Arrivals(int(bar), tuple(int(machine.map_to_rank(bar, rank) - bar) for rank in told), fills)


def bulk_bytes(lanes: Lanes, bytes: Value) -> Array:
    """Return the size of a bulk copy, per lane; faults where it is no positive multiple of 16."""
    count = lanes.get(bytes).astype(np.int64)
    lanes.fault((count <= 0) | (count % BULK_ALIGN != 0), "a bulk copy takes a positive multiple of 16 bytes", "bulk")
    return count


def modifiers(barrier: Value | None, multicast: Value | None, policy: Value | None) -> tuple[str, str]:
    """Return the qualifiers and trailing operands of a bulk copy: barrier, multicast mask, policy, in PTX's order."""
    kinds = (".multicast::cluster" if multicast else "") + (".L2::cache_hint" if policy else "")
    operands = (", [$barrier]" if barrier else "") + (", $multicast" if multicast else "")
    return kinds, operands + (", $policy" if policy else "")


_BITWISE = {"u32": "b32", "i32": "b32", "u64": "b64", "i64": "b64"}
_ORDERED = {"u32": "u32", "i32": "s32", "u64": "u64", "i64": "s64", "f16": "f16", "bf16": "bf16"}
REDUCTIONS: dict[str, dict[str, str]] = {
    "add": {**_ORDERED, "i64": "u64", "f32": "f32", "f64": "f64"},  # two's complement adds alike
    "min": _ORDERED,
    "max": _ORDERED,
    "inc": {"u32": "u32"},
    "dec": {"u32": "u32"},
    "and": _BITWISE,
    "or": _BITWISE,
    "xor": _BITWISE,
}
"""The operations of a reducing bulk copy, the elements that each takes, and their PTX types."""


TENSOR_REDUCTIONS = {
    kind: {name: ptx for name, ptx in types.items() if name != "i64" or kind in ("min", "max")}
    for kind, types in REDUCTIONS.items()
}
"""The same of a copy by a tensor map, which names the type: the rest of i64 is an illegal instruction on an H200."""


def reduction_problems(kind: str, elem: Scalar, table: dict[str, dict[str, str]] = REDUCTIONS) -> Iterator[Problem]:
    """Find problems of combining elements of `elem` by `kind`, an operation of `table`."""
    if kind not in REDUCTIONS:
        yield Problem("kind", f"{kind!r} is none of {', '.join(REDUCTIONS)}")
    elif elem.name not in table[kind]:
        help = "declare it as u64 and pass a view of the array: these bits are the same" if elem.name == "i64" else ""
        yield Problem("elem", f"a bulk {kind} does not take {elem}; it takes {', '.join(table[kind])}", help)


@op("cp.reduce.async.bulk", effects=ASYNC_COPY, feature="tma", source="PTX ISA: cp.reduce.async.bulk")
class CpReduceAsyncBulk(Op):
    """Start combining `bytes` bytes of shared `src` into global `dst`, element by element, in the open bulk group.

    kind  add, min, max, inc, dec, and, or, xor; each element is combined atomically (relaxed, at gpu scope)
    elem  the type of the elements
    """

    kind: str
    elem: Scalar
    dst: Value
    src: Value
    bytes: Value
    policy: Value | None
    takes = STORED

    @property
    def commutes(self) -> bool:
        return not (self.kind == "add" and self.elem.is_float)

    def verify(self) -> Iterator[Problem]:
        return reduction_problems(self.kind, self.elem)

    def ptx(self) -> Ptx:
        kinds, operands = modifiers(None, None, self.policy)
        half = ".noftz" if self.kind == "add" and self.elem.name in ("f16", "bf16") else ""
        combine = f"{self.kind}{half}.{REDUCTIONS[self.kind][self.elem.name]}"
        start = f"cp.reduce.async.bulk.global.shared::cta.bulk_group{kinds}.{combine}"
        return Ptx(f"{start} [$dst], [$src], $bytes{operands};")

    def simulate(self, lanes: Lanes) -> None:
        bytes = bulk_bytes(lanes, self.bytes)
        check_aligned(lanes, self, BULK_ALIGN, "dst", "src")
        dst, src = lanes.get(self.dst), lanes.get(self.src)
        for lane in lanes.each():
            read = partial(self._read, int(src[lane]), int(bytes[lane]))
            lanes.machine.engine.start(lanes, "bulk", read, partial(self._combine, int(dst[lane])), lane=lane)

    def _read(self, src: int, bytes: int, agent: Agent) -> Array:
        return agent.load("smem", np.int64(src), self.elem, bytes // self.elem.bytes)

    def _combine(self, dst: int, agent: Agent, data: Array) -> None:
        agent.atomic("gmem", dst + np.arange(len(data)) * self.elem.bytes, self.kind, self.elem, data)


@op(
    "cp.async.bulk.prefetch.L2",
    effects=Effect.READS | Effect.ASYNC,
    feature="tma",
    source="PTX ISA: cp.async.bulk.prefetch",
)
class CpAsyncBulkPrefetch(Op):
    """Bring `bytes` bytes of global memory, a multiple of 16, into L2."""

    src: Value
    bytes: Value
    policy: Value | None
    takes = {"src": address("gmem", align=BULK_ALIGN), "bytes": scalar(i32, u32), "policy": scalar(u64)}

    def ptx(self) -> Ptx:
        kinds, operands = modifiers(None, None, self.policy)
        return Ptx(f"cp.async.bulk.prefetch.L2.global{kinds} [$src], $bytes{operands};")

    def simulate(self, lanes: Lanes) -> None:
        bytes, src = bulk_bytes(lanes, self.bytes), lanes.get(self.src)
        check_aligned(lanes, self, BULK_ALIGN, "src")
        for lane in lanes.each():  # reads for the bounds check alone
            copy = BulkCopy("", "gmem", 0, int(src[lane]), int(bytes[lane]))
            lanes.machine.engine.start(lanes, "none", copy.read, lane=lane)


@op("cp.async.bulk.commit_group", effects=Effect.ORDERS, feature="tma", source="PTX ISA: cp.async.bulk.commit_group")
class CpAsyncBulkCommitGroup(Op):
    """Close this thread's open group of bulk copies out of shared memory, tensor copies included."""

    as_ptx = Ptx("cp.async.bulk.commit_group;")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.engine.commit(lanes, "bulk")


@op("cp.async.bulk.wait_group", effects=Effect.ORDERS, feature="tma", source="PTX ISA: cp.async.bulk.wait_group")
class CpAsyncBulkWaitGroup(GroupWait):
    """Wait until at most the `n` latest closed bulk groups of this thread are under way.

    read  wait only until their reads of shared memory are done, so that it can be written again
    """

    read: bool = False

    def ptx(self) -> Ptx:
        return Ptx(f"cp.async.bulk.wait_group{'.read' if self.read else ''} ${{n}};")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.engine.wait(lanes, "bulk", self.n, reads_only=self.read)
