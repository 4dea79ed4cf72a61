"""tcgen05 (Blackwell): matrix products with accumulators in tensor memory, and the ops that move data there.

A warp allocates columns of tensor memory. One thread starts products, which the tensor core executes in order;
`tcgen05.commit` makes it arrive on an mbarrier when they are complete. Warps read results into registers by
`tcgen05.ld`, which is asynchronous too: until `tcgen05.wait::ld`, its registers have a type in flight.

    alloc; mma ... mma, commit -> mbarrier; fence::after_thread_sync, ld, wait::ld, fence::before_thread_sync; dealloc
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import cached_property
from typing import Any

from cutelite.ir import simulation
from cutelite.ir.contract import Effect, Llvm, Problem, Ptx, np, numpy_dtype
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.simulation import RANK_SHIFT, Agent, Array, Lanes
from cutelite.ir.types import InFlight, Scalar, Tensor, Type, Vec, f32, i32, u8, u16, u32, u64
from cutelite.layout import is_static, rank, size
from cutelite.ops import tcgen05_layouts as layouts
from cutelite.ops import wgmma
from cutelite.ops.address import address, among, barrier, scalar
from cutelite.ops.wgmma_layouts import SmemMatrix, read_blocks, smem_matrix

WARP_WIDE = Effect.READS | Effect.WRITES | Effect.ORDERS | Effect.CONVERGENT
ALLOCATIONS = (32, 64, 128, 256, 512)
"""Numbers of columns that can be allocated (PTX ISA, tcgen05.alloc)."""


class OfTensorMemory(Op):
    feature = "tcgen05"


IN_TMEM = address("tmem")
GROUP = {"cta_group": among((1, 2))}
ALLOCATED = {"columns": among(ALLOCATIONS), **GROUP}


@op("tcgen05.alloc", scope="warp", effects=WARP_WIDE | Effect.UNMERGEABLE, source="PTX ISA: tcgen05.alloc")
class Alloc(OfTensorMemory):
    """Allocate `columns` columns of tensor memory, all 128 lanes of them, and write their address to `slot`.

    It waits until that many are free. Every allocation must be freed by `tcgen05.dealloc` before the kernel ends.

    slot       4 bytes of shared memory; writing them is an ordinary store
    columns    32, 64, 128, 256 or 512
    cta_group  2: allocate in both blocks of a pair; a warp of each executes it
    """

    slot: Value
    columns: int
    cta_group: int = 1
    takes = {"slot": address("smem", align=4), **ALLOCATED}
    as_ptx = Ptx("${name}.cta_group::${cta_group}.sync.aligned.shared::cta.b32 [$slot], ${columns};")

    def simulate(self, lanes: Lanes) -> Generator[simulation.Wait, None, None]:
        address = yield from lanes.machine.tmem.alloc(lanes, self.columns, self.cta_group)
        first = np.zeros(len(lanes.tid), bool)
        first[int(np.argmax(lanes.mask))] = True
        data = np.full((len(lanes.tid), 1), address, np.uint32)
        lanes.store("smem", lanes.get(self.slot), u32, data, first)


@op("tcgen05.dealloc", scope="warp", effects=WARP_WIDE, source="PTX ISA: tcgen05.dealloc")
class Dealloc(OfTensorMemory):
    """Free the allocation of `columns` columns at `address`. One warp executes it.

    All accesses have to be complete; with ``cta_group=2`` those of the other block too.
    """

    address: Value
    columns: int
    cta_group: int = 1
    takes = {"address": IN_TMEM, **ALLOCATED}
    as_ptx = Ptx("${name}.cta_group::${cta_group}.sync.aligned.b32 $address, ${columns};")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.tmem.dealloc(lanes, uniform(self, lanes, "address"), self.columns, self.cta_group)


@op("tcgen05.relinquish_alloc_permit", scope="warp", effects=WARP_WIDE, source="PTX ISA: tcgen05.alloc")
class RelinquishAllocPermit(OfTensorMemory):
    """Promise that this block allocates no more, so that the next block of the SM can. A warp executes it."""

    cta_group: int = 1
    takes = GROUP
    as_ptx = Ptx("${name}.cta_group::${cta_group}.sync.aligned;")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.tmem.relinquish(lanes)


@op("tcgen05.tensor", source="PTX ISA: tensor memory addressing")
class TmemTensor(OfTensorMemory):
    """The tensor of `type` at the `address` in tensor memory, ``lane << 16 | column``."""

    address: Value
    type: Tensor
    gives = "type"
    as_ptx = Ptx("mov.b32 $out, $address;", pure=True, memory=False)
    takes = {"address": scalar(u32)}

    def verify(self) -> Iterator[Problem]:
        if problem := layouts.tmem_problem(self.type):
            yield Problem("type", problem)

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.get(self.address).astype(np.int64))


@op("tcgen05.descriptor", source="PTX ISA: tcgen05, shared memory descriptor")
class Descriptor(wgmma.Descriptor):
    """The 64-bit descriptor of the (rows, k) tile `t` in shared memory, at its first step along K.

    Adding ``bytes >> 4`` to it moves the address. Tiles are those that wgmma reads (`smem_matrix`).
    """

    feature = "tcgen05"

    def verify(self) -> Iterator[Problem]:
        for problem in self.tile_problems(octets=True):
            yield problem._replace(message=problem.message.replace("wgmma", "tcgen05.mma"))

    @cached_property
    def constant(self) -> int:
        assert isinstance(self.t.type, Tensor)
        matrix = smem_matrix(self.t.type, self.sparse, octets=True)
        bits = layouts.SmemDescriptor(0, matrix.leading, matrix.stride, matrix.swizzle).bits
        return bits - (1 << 64) if bits >> 63 else bits


@op("tcgen05.deep_descriptor", source="PTX ISA: tcgen05, absolute address mode for K dimension being 48B")
class DeepDescriptor(Descriptor):
    """The descriptor of a (rows, k) tile that instructions read 48 bytes at a time along K, at its first byte.

    Its leading dimension is an address: that of the part of the 48 bytes which lies in the next block of 128 bytes.
    Both addresses begin as the tile's own. Adding ``bytes >> 4`` in bits 16 to 29 moves the second one.
    """

    feature = "tcgen05.k96"

    def verify(self) -> Iterator[Problem]:
        problems = list(super().verify())
        yield from problems
        if not problems and (self.matrix.major, self.matrix.swizzle) != ("K", "128B"):
            yield Problem("t", "steps of 48 bytes need a tile that is contiguous along K, with a swizzle of 128 bytes")

    @property
    def matrix(self) -> SmemMatrix:
        assert isinstance(self.t.type, Tensor)
        return smem_matrix(self.t.type, octets=True)

    @cached_property
    def constant(self) -> int:
        return layouts.SmemDescriptor(0, 0, self.matrix.stride, "128B", absolute=True).bits

    def llvm(self) -> Llvm:
        once = super().llvm().body
        twice = "$.twice = mul i64 $.wide, 65537\n$out = or i64 $.twice,"
        return Llvm(once.replace("$out = or i64 $.wide,", twice))

    def simulate(self, lanes: Lanes) -> None:
        field = (lanes.get(self.t).astype(np.int64) & 0x3FFFF) >> 4
        lanes.define((field * 65537 | self.constant).astype(np.uint64))


@op("tcgen05.smem_descriptor", source="PTX ISA: tcgen05, shared memory descriptor")
class PlainDescriptor(Descriptor):
    """The descriptor of rows of 16 bytes at `t` in shared memory, unswizzled; groups of 8 rows lie 128 bytes apart."""

    def verify(self) -> Iterator[Problem]:
        yield from address("smem", align=16)(self, "t")

    @cached_property
    def constant(self) -> int:
        return layouts.SmemDescriptor(0, 16, 128).bits


@op("tcgen05.cp", effects=Effect.READS | Effect.WRITES | Effect.ASYNC, source="PTX ISA: tcgen05.cp")
class Copy(OfTensorMemory):
    """Start copying a matrix from shared to tensor memory.

    One thread executes it. It runs in order with this thread's products, and a commit covers it.

    d       the first lane and column
    s       the descriptor of the rows in shared memory; `shape` says how many there are
    shape   a row of `COPIES`
    packed  'b4x16_p64' or 'b6x16_p32': every 16 bytes begin with 16 numbers of 4 or 6 bits, which get a byte each
    """

    d: Value
    s: Value
    shape: str = "32x128b.warpx4"
    cta_group: int = 1
    packed: str = ""
    takes = {"d": IN_TMEM, "s": scalar(u64), "shape": among(layouts.COPIES), "packed": among(layouts.UNPACKED), **GROUP}

    def ptx(self) -> Ptx:
        packed = f".b8x16.{self.packed}" if self.packed else ""
        return Ptx(f"tcgen05.cp.cta_group::{self.cta_group}.{self.shape}{packed} [$d], $s;")

    def simulate(self, lanes: Lanes) -> None:
        ranks, held = ranks_of(self, lanes), [lanes.get(self.d), lanes.get(self.s)]
        for lane in lanes.each():
            for of in ranks:
                self._start(lanes, lane, int(held[0][lane]), int(held[1][lane]), of)

    def _start(self, lanes: Lanes, lane: int, to: int, word: int, rank: int) -> None:
        machine, shape = lanes.machine, layouts.COPIES[self.shape]
        column = np.arange(shape.bytes // 4)[None, :]
        groups = np.array(shape.to)  # (groups of 32 rows, copies)
        rows = np.arange(shape.rows)
        places = [
            machine.tmem.place(
                lanes, to, (groups[rows // 32, i] * 32 + rows % 32)[:, None] + 0 * column, 0 * rows[:, None] + column
            )
            + (rank - machine.rank << RANK_SHIFT)
            for i in range(groups.shape[1])
        ]

        def read(agent: Agent) -> Array:
            found = described(agent, word)
            where = shape.rows, u8, "K", found.swizzle, found.leading, found.stride, shape.bytes, "cluster"
            octets = read_blocks(agent, np.array([found.address | rank << RANK_SHIFT]), *where)[0]
            octets = layouts.widened(octets, layouts.UNPACKED[self.packed]) if self.packed else octets
            return np.ascontiguousarray(octets).view(np.uint32)

        def write(agent: Agent, bits: Array) -> None:
            for place in places:
                store_cells(agent, place, np.ascontiguousarray(bits))

        machine.engine.start(lanes, "tcgen05", read, write, lane=lane, in_order=True)


@op("tcgen05.shift", effects=Effect.READS | Effect.WRITES | Effect.ASYNC, source="PTX ISA: tcgen05.shift")
class Shift(OfTensorMemory):
    """Start moving 8 columns of 32 lanes down by one lane: lane i to lane i + 1; the first keeps its values.

    One thread executes it. It runs in order with this thread's products, and a commit covers it.

    t  the first column, in the first lane, which is a multiple of 32; for a pair of blocks, in both
    """

    feature = "tcgen05.specific"

    t: Value
    cta_group: int = 1
    takes = {"t": IN_TMEM, **GROUP}
    as_ptx = Ptx("tcgen05.shift.cta_group::${cta_group}.down [$t];")

    def simulate(self, lanes: Lanes) -> None:
        machine, ranks, held = lanes.machine, ranks_of(self, lanes), lanes.get(self.t)
        wrong = lanes.mask & (held >> layouts.LANE_SHIFT & (layouts.WARP_LANES - 1) != 0)
        lanes.fault(wrong, "tcgen05.shift begins at a lane that is a multiple of 32", "tmem-lanes")
        row, column = np.arange(layouts.WARP_LANES)[:, None], np.arange(layouts.STEP_BYTES // 4)[None, :]
        for lane in lanes.each():
            where = machine.tmem.place(lanes, int(held[lane]), row + 0 * column, column + 0 * row)
            for of in ranks:
                self._start(lanes, lane, where + (of - machine.rank << RANK_SHIFT))

    def _start(self, lanes: Lanes, lane: int, where: Array) -> None:
        def read(agent: Agent) -> Array:
            return load_cells(agent, where[:-1])

        def write(agent: Agent, bits: Array) -> None:
            store_cells(agent, where[1:], bits)

        lanes.machine.engine.start(lanes, "tcgen05", read, write, lane=lane, in_order=True)


def same_cells(layout: Any, wanted: Any) -> bool:
    """Tell whether two static layouts of two modes map all coordinates alike."""
    if not is_static(layout) or rank(layout) != 2:
        return False
    for mode in (0, 1):
        if size(layout, mode) != size(wanted, mode):
            return False
        if any(layout[mode](i) != wanted[mode](i) for i in range(int(size(layout, mode)))):
            return False
    return True


def one_thread(lanes: Lanes, op: Op) -> None:
    """Fault where several threads of a warp execute an op that one thread has to execute."""
    warps = lanes.tid // 32
    active = np.bincount(warps[lanes.mask], minlength=int(warps.max(initial=0)) + 1)
    text = f"{op.name} is for one thread; several of a warp execute it"
    lanes.fault(
        active[warps] > 1, text, "tcgen05-one-thread", "put it under `if cl.elect_one():`, or thread_idx.x == 0"
    )


def ranks_of(op: Any, lanes: Lanes) -> tuple[int, ...]:
    """Return the ranks of the blocks that an op of one thread is for; faults where several execute it."""
    one_thread(lanes, op)
    lanes.machine.tmem.check_group(lanes, op.cta_group)
    rank: int = lanes.machine.rank
    return (rank,) if op.cta_group == 1 else (rank, rank ^ 1)


def described(agent: Agent, word: int) -> layouts.SmemDescriptor:
    """Return what a descriptor in shared memory says; it fails for one that is none."""
    try:
        return layouts.SmemDescriptor.parse(word)
    except ValueError as why:
        agent.fail("tcgen05-descriptor", f"the descriptor is invalid: {why}")


def uniform(op: Op, lanes: Lanes, field: str) -> int:
    """Return the value of an operand that all threads of a warp have to agree on; faults where they do not."""
    held = lanes.get(op[field])
    first = held[int(np.argmax(lanes.mask))]
    lanes.fault(held != first, f"the threads of a warp pass different values of `{field}`", "tcgen05-operand")
    return int(first)


def load_cells(agent: Agent, where: Array) -> Array:
    """Return the 32 bits at each byte offset of tensor memory, several columns at once where they are neighbours."""
    n = _run(where)
    return agent.load("tmem", where[..., ::n], u32, n).reshape(where.shape)


def store_cells(agent: Agent, where: Array, bits: Array) -> None:
    n = _run(where)
    agent.store("tmem", where[..., ::n], u32, bits.reshape((*where.shape[:-1], -1, n)))


def _run(where: Array) -> int:
    """Return 4 if every row of cells consists of runs of 4 neighbours, else 1."""
    if where.shape[-1] % 4 or np.count_nonzero(where[..., ::4] % 16):
        return 1
    steps = where.reshape((*where.shape[:-1], -1, 4)) - where[..., ::4, None]
    return 4 if np.count_nonzero(steps != np.arange(0, 16, 4)) == 0 else 1


class Renaming(OfTensorMemory):
    """The same accumulator with another type, which stands for no instruction."""

    d: Value
    as_ptx = Ptx("mov.b32 $out, $d;", pure=True, memory=False)

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.get(self.d))


@op("tcgen05.start", source="PTX ISA: tcgen05.mma")
class Start(Renaming):
    """The accumulator `d` in flight: a product may be writing it, until `tcgen05.finish`."""

    takes = {"d": IN_TMEM}

    def result_types(self) -> tuple[Type, ...]:
        assert isinstance(self.d.type, Tensor)
        return (InFlight(self.d.type),)


@op("tcgen05.finish", source="PTX ISA: tcgen05.mma")
class Finish(Renaming):
    """The accumulator `d` in flight made readable, after a wait for the barrier of its commit."""

    def result_types(self) -> tuple[Type, ...]:
        assert isinstance(self.d.type, InFlight)
        return (self.d.type.inner,)

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.d.type, InFlight) or not isinstance(self.d.type.inner, Tensor):
            yield Problem("d", f"{self.name} takes an accumulator in flight, not {self.d.type}")


@op("tcgen05.commit", effects=Effect.ORDERS | Effect.WRITES | Effect.ASYNC, source="PTX ISA: tcgen05.commit")
class Commit(OfTensorMemory):
    """Arrive once on `bar` when all tcgen05.mma, .cp and .shift that this thread has started so far are complete.

    It implies `tcgen05.fence::before_thread_sync`; a thread that waits for it executes `after_thread_sync` before
    tcgen05 instructions on the results.

    mask  u16: arrive on the barrier at the same offset in each block whose rank is a set bit; default: in this block
    """

    bar: Value
    mask: Value | None = None
    cta_group: int = 1
    takes = {"bar": barrier(), "mask": scalar(u16), **GROUP}

    def ptx(self) -> Ptx:
        many = ".multicast::cluster" if self.mask else ""
        to = ", $mask" if self.mask else ""
        start = f"tcgen05.commit.cta_group::{self.cta_group}.mbarrier::arrive::one.shared::cluster{many}.b64"
        return Ptx(f"{start} [$bar]{to};")

    def simulate(self, lanes: Lanes) -> None:
        one_thread(lanes, self)
        bars, masks = lanes.get(self.bar), lanes.get(self.mask) if self.mask else None
        machine = lanes.machine
        for lane in lanes.each():
            ranks = [machine.rank] if masks is None else [r for r in range(16) if int(masks[lane]) >> r & 1]
            machine.engine.after(lanes, "tcgen05", self._arrive(machine, int(bars[lane]), ranks), lane=lane)

    def _arrive(self, machine: Any, bar: int, ranks: list[int]) -> Any:
        def arrive(agent: Agent) -> None:
            for to in ranks:
                agent.arrive(int(machine.map_to_rank(np.int64(bar), to)))

        return arrive


# Fences and waits.


class ThreadFence(OfTensorMemory):
    def ptx(self) -> Ptx:
        return Ptx(f"{self.name.replace('fence.', 'fence::')};")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.fence(lanes, self.name)


@op("tcgen05.fence.before_thread_sync", effects=Effect.ORDERS, source="PTX ISA: tcgen05.fence")
class FenceBefore(ThreadFence):
    """Order this thread's complete tcgen05 accesses before the synchronisation of threads that follows."""


@op("tcgen05.fence.after_thread_sync", effects=Effect.ORDERS, source="PTX ISA: tcgen05.fence")
class FenceAfter(ThreadFence):
    """Order this thread's later tcgen05 accesses after the synchronisation of threads that came before."""


@op("tcgen05.wait.ld", scope="warp", effects=Effect.ORDERS | Effect.CONVERGENT, source="PTX ISA: tcgen05.wait")
class WaitLoad(OfTensorMemory):
    """Wait for all tcgen05.ld of this thread. `values`, their results, come back readable."""

    values: tuple[Value, ...] = ()

    def result_types(self) -> tuple[Type, ...]:
        return tuple(v.type.inner for v in self.values if isinstance(v.type, InFlight))

    def verify(self) -> Iterator[Problem]:
        for value in self.values:
            if not isinstance(value.type, InFlight) or not isinstance(value.type.inner, Vec):
                yield Problem("values", f"{self.name} takes results of tcgen05.ld in flight, not {value.type}")

    def ptx(self) -> Ptx:
        return wgmma.tied("tcgen05.wait::ld.sync.aligned;", self, "values")

    def simulate(self, lanes: Lanes) -> None:
        engine = lanes.machine.engine
        tickets = [lanes.get(value) for value in self.values]
        engine.wait(lanes, "tcgen05.ld", None)
        lanes.define(*(engine.result(ticket[0]) for ticket in tickets))


@op("tcgen05.wait.st", scope="warp", effects=Effect.ORDERS | Effect.CONVERGENT, source="PTX ISA: tcgen05.wait")
class WaitStore(OfTensorMemory):
    """Wait for all tcgen05.st of this thread."""

    as_ptx = Ptx("tcgen05.wait::st.sync.aligned;")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.engine.wait(lanes, "tcgen05.st", None)


# Between registers and tensor memory.


class Transfer(OfTensorMemory):
    """A transfer between the registers of a warp and the 32 lanes of tensor memory that the warp reaches.

    t        the address, the same in all threads: its lane is the first of the warp's (or for shapes of 16 lanes, the
             first or the 17th)
    shape    a row of `SHAPES`, which says which register holds which cell; `repeats`, 1 to 128, a power of two
    narrow   each column holds 16 bits (``.pack::16b``, ``.unpack::16b``): a register has those of two columns
    split    for 16x32bx2: threads 16 to 31 access columns this far behind those of threads 0 to 15
    """

    t: Value
    shape: str = "32x32b"
    repeats: int = 1
    narrow: bool = False
    split: int = 0

    @property
    def registers(self) -> int:
        return layouts.SHAPES[self.shape].registers * self.repeats

    def transfer_problems(self, elem: Scalar) -> Iterator[Problem]:
        yield from IN_TMEM(self, "t")
        shape = layouts.SHAPES.get(self.shape)
        if shape is None:
            yield Problem("shape", f"{self.shape!r} is none of {', '.join(layouts.SHAPES)}")
            return
        if self.repeats not in (1, 2, 4, 8, 16, 32, 64, 128) or self.repeats > shape.most:
            yield Problem("repeats", f"{self.shape} is repeated a power of two times, 1 to {shape.most}")
        if elem.bits not in (8, 16, 32):
            yield Problem("elem", f"registers of 32 bits hold no {elem}")
        if self.split and self.shape != "16x32bx2":
            yield Problem("split", f"{self.shape} is not in two parts")

    @cached_property
    def cells(self) -> Array:
        """The lane and column of each cell: (32 threads, registers, columns of a register, 2)."""
        found = layouts.cells(self.shape, self.repeats)[:, :, None, :]
        if self.narrow:
            found = np.concatenate([found * (1, 2), found * (1, 2) + (0, 1)], axis=2)
        second = np.arange(32)[:, None, None, None] // 16
        return found + second * (0, self.split)

    def where(self, lanes: Lanes) -> Array:
        """Return the byte offset of each cell, and report faults: (32, registers, columns of a register)."""
        lanes.fault(~lanes.mask, f"{self.name} is for all threads of a warp", "tcgen05-warp")
        address = uniform(self, lanes, "t")
        warp, lane = int(lanes.tid[0]) // 32 % 4, address >> layouts.LANE_SHIFT
        span = layouts.SHAPES[self.shape].lanes
        wrong = lane // layouts.WARP_LANES != warp or lane % span != 0
        text = f"warp {warp} of a warpgroup reaches lanes {32 * warp} to {32 * warp + 31}, but the address is in {lane}"
        lanes.fault(np.full(len(lanes.tid), wrong), text, "tmem-lanes")
        return lanes.machine.tmem.place(lanes, address, self.cells[..., 0], self.cells[..., 1])

    def call(self, word: str) -> str:
        narrow = f".{word}::16b" if self.narrow else ""
        return f"{self.name}.sync.aligned.{self.shape}.x{self.repeats}{narrow}.b32"

    @property
    def last(self) -> str:
        return f", {self.split}" if self.shape == "16x32bx2" else ""


@op("tcgen05.ld", scope="warp", effects=Effect.READS | Effect.ASYNC | Effect.CONVERGENT, source="PTX ISA: tcgen05.ld")
class Load(Transfer):
    """Start to load registers from tensor memory. The result is in flight: `tcgen05.wait::ld` makes it readable.

    elem  the type of the elements: of 32 bits, a register each; of 8 or 16 bits, several in a register
    """

    elem: Scalar = f32

    def result_types(self) -> tuple[Type, ...]:
        return (InFlight(Vec(self.elem, self.registers * 32 // self.elem.bits)),)

    def verify(self) -> Iterator[Problem]:
        yield from self.transfer_problems(self.elem)

    def ptx(self) -> Ptx:
        out = "{$out}" if self.registers == 1 else "$out"
        return Ptx(f"{self.call('pack')} {out}, [$t]{self.last};", packed=("out",))

    def simulate(self, lanes: Lanes) -> None:
        where, dtype = self.where(lanes), numpy_dtype(self.elem)

        def read(agent: Agent) -> Array:
            if not self.narrow:
                bits = load_cells(agent, where[..., 0])
            else:
                bits = np.ascontiguousarray(agent.load("tmem", where, u32)[..., 0].astype(np.uint16)).view(np.uint32)
                bits = bits.reshape(len(where), -1)
            return np.ascontiguousarray(bits).view(dtype)

        ticket = lanes.machine.engine.start(lanes, "tcgen05.ld", read)
        lanes.define(np.full(len(lanes.tid), ticket, object))


@op(
    "tcgen05.ld.red",
    scope="warp",
    effects=Effect.READS | Effect.ASYNC | Effect.CONVERGENT,
    feature="tcgen05.ld_red",
    source="PTX ISA: tcgen05.ld.red",
)
class LoadReduced(Transfer):
    """Start loading registers from tensor memory, and in one more register, the last, their least or greatest value.

    The result is in flight, as that of `tcgen05.ld`. `shape` is 32x32b or 16x32bx2, `repeats` at least 2.

    elem  f32, u32 or i32
    kind  'min' or 'max'
    abs   f32 only: compare magnitudes
    nan   f32 only: the result is NaN if one of them is; otherwise only if all are
    """

    elem: Scalar = f32
    kind: str = "max"
    abs: bool = False
    nan: bool = False
    takes = {"elem": among((f32, u32, i32)), "kind": among(("min", "max"))}

    def result_types(self) -> tuple[Type, ...]:
        return (InFlight(Vec(self.elem, self.registers + 1)),)

    def verify(self) -> Iterator[Problem]:
        yield from self.transfer_problems(self.elem)
        if self.shape not in ("32x32b", "16x32bx2"):
            yield Problem("shape", f"{self.shape!r}: loads with a reduction are of 32x32b and 16x32bx2")
        if self.repeats == 1:
            yield Problem("repeats", "a load with a reduction is repeated at least 2 times")
        if self.narrow:
            yield Problem("narrow", "a load with a reduction is of 32 bits to a column")
        if (self.abs or self.nan) and self.elem != f32:
            yield Problem("abs" if self.abs else "nan", f"`abs` and `nan` are for f32, not {self.elem}")

    def ptx(self) -> Ptx:
        how = self.kind + (".abs" if self.abs else "") + (".NaN" if self.nan else "")
        kind = {"i32": "s32"}.get(self.elem.name, self.elem.name)
        out = ", ".join(f"$out.{i}" for i in range(self.registers))
        call = f"{self.name}.sync.aligned.{self.shape}.x{self.repeats}.{how}.{kind}"
        return Ptx(f"{call} {{{out}}}, $out.{self.registers}, [$t]{self.last};")

    def simulate(self, lanes: Lanes) -> None:
        where = self.where(lanes)

        def read(agent: Agent) -> Array:
            bits = np.ascontiguousarray(load_cells(agent, where[..., 0]))
            return np.concatenate([bits, self.reduced(bits)[:, None]], axis=1).view(numpy_dtype(self.elem))

        ticket = lanes.machine.engine.start(lanes, "tcgen05.ld", read)
        lanes.define(np.full(len(lanes.tid), ticket, object))

    def reduced(self, bits: Array) -> Array:
        """Return the least or greatest of each row, as u32, like the rows; -0 is below +0."""
        least = self.kind == "min"
        if self.elem != f32:
            x = bits.view(numpy_dtype(self.elem))
            return np.ascontiguousarray(x.min(1) if least else x.max(1)).view(np.uint32)
        bits = bits & 0x7FFFFFFF if self.abs else bits
        order = (bits ^ (bits.view(np.int32) >> 31).view(np.uint32) & 0x7FFFFFFF).view(np.int32).astype(np.int64)
        none = bits & 0x7FFFFFFF > 0x7F800000
        order[none] = 1 << 40 if least else -1 << 40
        at = (order.argmin(1) if least else order.argmax(1))[:, None]
        bad = none.any(1) if self.nan else none.all(1)
        return np.where(bad, np.uint32(0x7FFFFFFF), np.take_along_axis(bits, at, 1)[:, 0])


@op("tcgen05.st", scope="warp", effects=Effect.WRITES | Effect.ASYNC | Effect.CONVERGENT, source="PTX ISA: tcgen05.st")
class Store(Transfer):
    """Start storing registers to tensor memory; `tcgen05.wait::st` waits for it.

    a  a vector that fills the registers: elements of 32 bits have one each, elements of 8 or 16 bits share one
    """

    a: Value

    def verify(self) -> Iterator[Problem]:
        t = self.a.type
        if not isinstance(t, Vec):
            yield Problem("a", f"{self.name} takes a vector in registers, not {t}")
            return
        yield from self.transfer_problems(t.elem)
        if self.shape in layouts.SHAPES and t.n * t.elem.bits != 32 * self.registers:
            yield Problem("a", f"{t} does not fill the {self.registers} registers of {self.shape}.x{self.repeats}")

    def ptx(self) -> Ptx:
        a = "{$a}" if self.registers == 1 else "$a"
        return Ptx(f"{self.call('unpack')} [$t]{self.last}, {a};", packed=("a",))

    def simulate(self, lanes: Lanes) -> None:
        where = self.where(lanes)
        bits = np.ascontiguousarray(lanes.get(self.a)).view(np.uint32)
        if self.narrow:
            bits = bits.view(np.uint16).astype(np.uint32)

        def write(agent: Agent, _: object) -> None:
            if self.narrow:
                agent.store("tmem", where, u32, bits.reshape((*where.shape, 1)))
            else:
                store_cells(agent, where[..., 0], bits)

        lanes.machine.engine.start(lanes, "tcgen05.st", lambda agent: None, write)
