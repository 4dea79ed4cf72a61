"""wgmma: a warpgroup (4 warps) multiplies a (64, k) tile by an (n, k) tile on the tensor cores, asynchronously.

B, and A unless it is in registers, are read from shared memory through 64-bit descriptors while the warps go on.
The accumulator is spread over the registers of the 128 threads. From `wgmma.fence` or the first multiplication on,
until a wait retires it, its type is `InFlight`: no other op takes such a value, so nothing can read it too early or
be moved above the wait.

    mma_async (with fence), ... mma_async, commit_group, wait_group
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from cutelite.ir.contract import Effect, Llvm, Problem, Ptx, np, numpy_dtype
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import InFlight, Scalar, Tensor, Type, Vec, boolean, f32, i32, u32, u64
from cutelite.ops import wgmma_layouts as layouts
from cutelite.ops.address import address, among
from cutelite.ops.arith import Const

if TYPE_CHECKING:
    from cutelite.ir.simulation import Agent, Array, Lanes


def _sparse() -> Any:
    """Return the module of sparse operands A, imported when asked for: most products are dense."""
    return import_module("cutelite.ops.wgmma_sparse")


PTX_NAMES = {"i8": "s8", "u8": "u8", "i32": "s32"}

DECLARED = "{ .reg .pred again; .reg .b64 da, db; .reg .b32 low, high; setp.eq.b32 again, 0, 0;"
"""What the text of a product begins with: the predicate of all steps but the first, descriptors and their halves."""


@op("wgmma.descriptor", feature="wgmma", source="PTX ISA: wgmma, matrix descriptor format")
class Descriptor(Op):
    """The 64-bit descriptor of the (rows, k) tile `t` in shared memory, at its first step along K.

    Adding ``bytes >> 4`` to it moves the address. `smem_matrix` says which tiles have descriptors.

    sparse  the tile is B of products with a sparse A
    """

    t: Value
    sparse: bool = False
    gives = u64

    def verify(self) -> Iterator[Problem]:
        return self.tile_problems()

    def tile_problems(self, octets: bool = False) -> Iterator[Problem]:
        problems = list(address("smem", align=16)(self, "t"))
        yield from problems
        if problems:
            return
        if not isinstance(self.t.type, Tensor):
            yield Problem("t", f"wgmma.descriptor takes a tensor, not {self.t.type}")
            return
        try:
            layouts.smem_matrix(self.t.type, self.sparse, octets)
        except layouts.Unreadable as why:
            yield Problem("t", f"wgmma cannot read this tile: {why.what}", why.help)

    @cached_property
    def constant(self) -> int:
        assert isinstance(self.t.type, Tensor)
        return layouts.smem_matrix(self.t.type, self.sparse).constant

    def llvm(self) -> Llvm:
        return Llvm(
            "$.address = ptrtoint $t:type $t to i32\n"
            "$.low = and i32 $.address, 262143\n"  # 18 bits (PTX ISA, matrix-descriptor-encode)
            "$.field = lshr i32 $.low, 4\n"
            "$.wide = zext i32 $.field to i64\n"
            "$out = or i64 $.wide, ${constant}"
        )

    def simulate(self, lanes: Lanes) -> None:
        address = lanes.get(self.t).astype(np.int64)
        lanes.define(((address & 0x3FFFF) >> 4 | self.constant).astype(np.uint64))


def tied(template: str, op: Op, *fields: str, held: tuple[str, ...] = ()) -> Ptx:
    """Return an instruction that names no register, but takes and returns the values of these fields.

    held  fields of values that it takes as well, which registers hold until there
    """
    given, held = (tuple(field for field in found if op[field]) for found in (fields, held))
    return Ptx(template, tied=given, packed=(*given, *held, "out") if given or held else (), held=held)


def _fragments(op: Op, field: str) -> Iterator[Problem]:
    for value in op[field]:
        if not isinstance(value.type, InFlight):
            yield Problem(field, f"{op.name} takes accumulators in flight, not {value.type}")


class Wgmma(Op):
    """An instruction that a warpgroup executes together."""

    scope = "warpgroup"
    effects = Effect.ORDERS | Effect.CONVERGENT
    feature = "wgmma"


@op("wgmma.fence", source="PTX ISA: wgmma.fence")
class Fence(Wgmma):
    """Order this warpgroup's earlier accesses to registers and those of later wgmma; it does not order memory.

    Needed before the first wgmma, and wherever other instructions accessed registers that wgmma is going to access; not
    between wgmmas of one shape that chain an accumulator. The results are `values` (vectors, or in flight already) in
    flight.
    """

    values: tuple[Value, ...] = ()

    def result_types(self) -> tuple[Type, ...]:
        return tuple(v.type if isinstance(v.type, InFlight) else InFlight(v.type) for v in self.values)  # type: ignore[arg-type]

    def verify(self) -> Iterator[Problem]:
        for value in self.values:
            if not isinstance(value.type, Vec | InFlight):
                yield Problem("values", f"wgmma.fence takes vectors in registers, not {value.type}")
            elif isinstance(value.type, Vec) and value.type.n * value.type.elem.bits % 32:
                yield Problem("values", f"{value.type} does not fill registers of 32 bits, which wgmma works on")

    def ptx(self) -> Ptx:
        return tied("wgmma.fence.sync.aligned;", self, "values")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.fence(lanes, "wgmma")
        lanes.define(*(_in_flight(lanes, value) for value in self.values))


@op("wgmma.mma_async", effects=Effect.READS | Effect.ASYNC | Effect.CONVERGENT, source="PTX ISA: wgmma.mma_async")
class MmaAsync(Wgmma):
    """Start ``d = a @ b.T``, plus `d` where `accumulate` holds: one instruction for each of `steps` along K.

    d           the (64, n) accumulator, of `accumulator_type`: in flight, or with `fence` a readable vector
    a, b        descriptors of (64, k) and (n, k) tiles; or A in registers, as a vector of `elem_a`: the elements
                that `operand_a` gives each thread, step after step
    accumulate  a bool, the same for all threads: add to `d`, or overwrite it
    steps       for each instruction, the bytes from the descriptors' addresses to its A and to its B
    fence       execute `wgmma.fence` first, in the same asm block: for registers that ordinary code wrote
    a_major     'K', or 'MN' if the tile in shared memory is contiguous along M or N (f16, bf16 only); `b_major`
                likewise
    scale_a     1, or -1 to negate A; `scale_b` likewise
    saturate    integers only: clamp instead of wrapping

    Result      the accumulator, in flight: `wgmma.wait_group` turns it into a readable one.
    f32 accumulators lose no bit of a product but round each sum (towards zero on the hardware; the simulator rounds
    the sum of an instruction once, to nearest); for fp8, the hardware keeps about 14 bits within an instruction.
    """

    d: Value
    a: Value
    b: Value
    accumulate: Value
    n: int
    elem_a: Scalar
    elem_b: Scalar
    elem_d: Scalar = f32
    steps: tuple[tuple[int, int], ...] = ((0, 0),)
    fence: bool = False
    a_major: str = "K"
    b_major: str = "K"
    scale_a: int = 1
    scale_b: int = 1
    saturate: bool = False
    sparse: ClassVar[bool] = False

    @property
    def a_in_registers(self) -> bool:
        return self.a.type != u64

    def result_types(self) -> tuple[Type, ...]:
        return (InFlight(layouts.accumulator_type(self.elem_d, self.n)),)

    def verify(self) -> Iterator[Problem]:
        form = layouts.FORMS.get(self.elem_a.name)
        if form is None or self.elem_b.name not in form.b or self.elem_d.name not in form.d:
            types = f"{self.elem_a} times {self.elem_b} into {self.elem_d}"
            known = "; ".join(f"{a} with {'/'.join(f.b)} into {'/'.join(f.d)}" for a, f in layouts.FORMS.items())
            yield Problem("elem_a", f"wgmma does not multiply {types}", f"it takes {known}")
        elif not layouts.legal_n(form, self.n):
            step = "8 up to 32 and of 16 above" if form.wide_steps else "8"
            yield Problem("n", f"n is {self.n}; wgmma on {self.elem_a} takes a multiple of {step}, from 8 to 256")
        else:
            yield from self._operand_problems()
            yield from self._variant_problems(form)

    def _operand_problems(self) -> Iterator[Problem]:
        d = layouts.accumulator_type(self.elem_d, self.n)
        if self.d.type != InFlight(d) and self.d.type != d:
            yield Problem("d", f"the accumulator is {self.d.type}, but must be {d} for n = {self.n}")
        elif self.d.type == d and not self.fence:
            yield Problem("d", "the accumulator was written by ordinary code, so wgmma needs a fence before it")
        a = Vec(self.elem_a, 4 * (4 // self.elem_a.bytes) * len(self.steps))
        if self.a_in_registers and self.a.type not in (a, InFlight(a)):
            yield Problem("a", f"A is {self.a.type}, but must be a descriptor (u64) or {a} in registers")
        elif self.a.type == a and not self.fence:
            yield Problem("a", "A was written by ordinary code, so wgmma needs a fence before it")
        if self.b.type != u64:
            yield Problem("b", f"B is {self.b.type}, but must be a descriptor (u64): it is read from shared memory")
        if self.accumulate.type != boolean:
            yield Problem("accumulate", f"accumulate is {self.accumulate.type}, not bool")

    def _variant_problems(self, form: layouts.Form) -> Iterator[Problem]:
        for field in ("a_major", "b_major"):
            if self[field] not in ("K", "MN") or (self[field] == "MN" and not form.any_major):
                yield Problem(field, f"{self.elem_a} operands must be K-major, not {self[field]}-major")
        if self.a_in_registers and self.a_major != "K":
            yield Problem("a_major", "A in registers is always K-major")
        for field in ("scale_a", "scale_b"):
            if self[field] not in (1, -1) or (self[field] == -1 and not form.negate):
                yield Problem(field, f"{field} is {self[field]}; {self.elem_a} takes {'1 or -1' if form.negate else 1}")
        if self.saturate and form.d != ("i32",):
            yield Problem("saturate", f"only integers saturate, not {self.elem_d}")
        if not self.steps or any(len(step) != 2 or step[0] % 16 or step[1] % 16 for step in self.steps):
            yield Problem("steps", f"{self.steps} are not pairs of multiples of 16 bytes")

    def ptx(self) -> Ptx:
        lines = [DECLARED, "wgmma.fence.sync.aligned;"] if self.fence else [DECLARED]
        first = self._first_scale(lines)
        for i, (to_a, to_b) in enumerate(self.steps):
            before = self.steps[i - 1] if i else None
            right = self._moved(lines, "b", to_b, before and before[1])
            if self.a_in_registers:
                left = f"{{$a.{4 * i}, $a.{4 * i + 1}, $a.{4 * i + 2}, $a.{4 * i + 3}}}"
            else:
                left = self._moved(lines, "a", to_a, before and before[0])
            lines.append(self._call(left, right, "again" if i else first, i))
        return Ptx(" ".join([*lines, "}"]), tied=("d",), packed=("a", "d", "out"))

    def ptx_with(self, rest: Sequence[Op]) -> Ptx | None:
        """A loop over equal steps, each a group of its own, if `rest` closes a group and waits for all groups.

        It is as fast on the GPU, and ptxas takes a third less time: that grows with the products that it sees, and with
        the square of their registers. With fewer columns products would wait for the loop: 3 to 10% of 128.
        """
        moves = {(a - x, b - y) for (x, y), (a, b) in pairwise(self.steps)}
        waited = [type(op) for op in rest] == [CommitGroup, WaitGroup] and not rest[1]["n"]
        if not waited or len(moves) != 1 or len(self.steps) < 3 or self.n < 256 or self.a_in_registers or self.sparse:
            return None
        lines = [DECLARED, ".reg .pred more; .reg .b32 step;"]
        lines.append(f"mov.pred again, {self._first_scale(lines)}; mov.b32 step, 0;")
        (to_a, to_b), (more_a, more_b) = self.steps[0], moves.pop()
        left, right = self._moved(lines, "a", to_a, None), self._moved(lines, "b", to_b, None)
        lines += ['STEPS: .pragma "nounroll"; wgmma.fence.sync.aligned;', self._call(left, right, "again", 0)]
        lines.append("wgmma.commit_group.sync.aligned;")
        self._move(lines, left, more_a)
        self._move(lines, right, more_b)
        lines.append("setp.eq.b32 again, 0, 0; add.s32 step, step, 1;")
        lines.append(f"setp.ne.s32 more, step, {len(self.steps)}; @more bra STEPS; wgmma.wait_group.sync.aligned 0; }}")
        return Ptx(" ".join(lines), tied=("d",), packed=("a", "d", "out"))

    def _call(self, left: str, right: str, scale: str, step: int) -> str:
        """Return the instruction of a step."""
        a, b, d = (PTX_NAMES.get(t.name, t.name) for t in (self.elem_a, self.elem_b, self.elem_d))
        shape = f"m{layouts.M}n{self.n}k{layouts.k_of(self.elem_a, self.sparse)}{'.satfinite' if self.saturate else ''}"
        operands = f"$d, {left}, {right}{self._metadata(step)}, {scale}{self._immediates()}"
        return f"{self.name}.sync.aligned.{shape}.{d}.{a}.{b} {operands};"

    def _first_scale(self, lines: list[str]) -> str:
        """Append what makes the predicate by which the first step adds to `d`, and return its name."""
        if isinstance(self.d.type, InFlight) and isinstance(self.accumulate.op, Const) and not self.accumulate.op.value:
            # ptxas takes registers that are overwritten for free from there back to the product that may still write
            # them. It does not know that there is a block, and so takes them for read.
            lines.append(".reg .pred never; mov.u32 low, %nctaid.x; setp.eq.u32 never, low, 0;")
            return "never"
        return "$accumulate"

    def _moved(self, lines: list[str], field: str, to: int, before: int | None) -> str:
        """Append what moves the descriptor of a or b to a step, and return its name.

        It moves in place, from the step before, and by its low half alone, which the address does not leave. So ptxas
        has one instruction for it: for sums of 64 bits it has two, and copies them.
        """
        name = f"d{field}"
        if before is None:
            lines.append(f"mov.b64 {name}, ${field};")
        self._move(lines, name, to - (before or 0))
        return name

    def _move(self, lines: list[str], name: str, more: int) -> None:
        """Append what moves a descriptor by a number of bytes."""
        if more:
            half = f"add.s32 low, low, {more >> 4};"
            lines.append(f"mov.b64 {{low, high}}, {name}; {half} mov.b64 {name}, {{low, high}};")

    def _metadata(self, step: int) -> str:
        """Return the operands that only sparse products have."""
        return ""

    def _immediates(self) -> str:
        form = layouts.FORMS[self.elem_a.name]
        scales = f", {self.scale_a}, {self.scale_b}" if form.negate else ""
        if not form.any_major:
            return scales
        majors = [] if self.a_in_registers else [self.a_major]
        return scales + "".join(f", {int(major == 'MN')}" for major in [*majors, self.b_major])

    def simulate(self, lanes: Lanes) -> None:
        if self.fence:
            lanes.machine.fence(lanes, "wgmma")
        a, b, accumulate = lanes.get(self.a), lanes.get(self.b), lanes.get(self.accumulate)
        lanes.fault(b != b[0], "the threads of a warpgroup pass different descriptors of B", "wgmma-operand")
        lanes.fault(accumulate != accumulate[0], "the threads disagree about `accumulate`", "wgmma-operand")
        if not self.a_in_registers:
            lanes.fault(a != a[0], "the threads of a warpgroup pass different descriptors of A", "wgmma-operand")
        before = _held(lanes, self.d) if accumulate[0] else None
        left = _held(lanes, self.a) if self.a_in_registers else None
        machine, at_a, at_b = lanes.machine, 0 if self.a_in_registers else int(a[0]), int(b[0])
        whole = self._expansion(lanes)
        k_bytes = layouts.STEP_BYTES * (2 if self.sparse else 1)

        def read(agent: Agent) -> Array:
            total = None if before is None else layouts.to_tile(before(agent), self.n, self.elem_d)
            registers = None if left is None else left(agent)
            to_a, to_b = zip(*self.steps, strict=True)
            if registers is None:
                a = layouts.read_matrices(agent, machine, at_a, to_a, layouts.M, self.elem_a, self.a_major)
            else:
                a = [self._registers_a(registers, i) for i in range(len(self.steps))]
            b = layouts.read_matrices(agent, machine, at_b, to_b, self.n, self.elem_b, self.b_major, k_bytes)
            b = wide(b, self.elem_b)
            for i in range(len(self.steps)):
                total = self._sum(total, wide(whole(i, a[i]), self.elem_a), b[i])
            return layouts.from_tile(total, self.n)

        ticket = machine.engine.start(lanes, "wgmma", read, in_order=True)
        lanes.define(np.full(layouts.THREADS, ticket, object))

    def _expansion(self, lanes: Lanes) -> Callable[[int, Array], Array]:
        """Return the function that restores the zeros of a sparse A: (number of the step, stored A) to A."""
        return lambda step, a: a

    def _registers_a(self, held: Array, step: int) -> Array:
        """Return the (64, k) operand A of one step, from the registers of all threads."""
        each = 4 * (4 // self.elem_a.bytes)
        tile = np.empty(layouts.M * layouts.k_of(self.elem_a), held.dtype)
        tile[layouts.places(layouts.operand_a(self.elem_a))] = held[:, step * each : (step + 1) * each]
        return tile.reshape(-1, layouts.M).T

    def _sum(self, before: Array | None, a: Array, b: Array) -> Array:
        """Return ``a @ b.T + before``, rounded once to the accumulator's type; the columns are contiguous."""
        exact = (b @ a.T).T  # in the order of `to_tile` and `from_tile`
        if self.elem_d == i32:
            exact = exact.astype(np.int64)  # sums wrap around
        if self.scale_a != self.scale_b:
            exact = -exact
        if before is not None:
            exact += before
        if self.saturate:
            exact = np.clip(exact, -(1 << 31), (1 << 31) - 1)
        return exact.astype(numpy_dtype(self.elem_d))


@op("wgmma.mma_async.sp", source="PTX ISA: wgmma.mma_async.sp")
class MmaAsyncSp(MmaAsync):
    """`wgmma.mma_async` with a sparse A: half of every group of elements along K is zero and left out.

    An instruction covers twice the extent along K: A is (64, k) packed elements, B (n, 2 k).

    meta    the metadata that names the kept elements (`ops.wgmma_sparse`): this thread's u32 words for all steps. The
            registers follow the same protocol as those of A
    """

    meta: Value
    sparse: ClassVar[bool] = True

    def _operand_problems(self) -> Iterator[Problem]:
        yield from super()._operand_problems()
        words = Vec(u32, _sparse().words_for(self.elem_a, len(self.steps)))
        if self.meta.type != words:
            steps = f"{len(self.steps)} steps of {self.elem_a}"
            yield Problem("meta", f"the metadata is {self.meta.type}, but must be {words} for {steps}")

    def _metadata(self, step: int) -> str:
        word, selector = divmod(step, _sparse().steps_of_word(self.elem_a))
        return f", $meta.{word}, {selector}"

    def _expansion(self, lanes: Lanes) -> Callable[[int, Array], Array]:
        sparse = _sparse()
        per, words = sparse.steps_of_word(self.elem_a), lanes.get(self.meta)
        tables = [sparse.group_table(words[:, i], self.elem_a) for i in range(words.shape[1])]
        columns = tables[0].shape[1] // per
        steps = [tables[i // per][:, i % per * columns :][:, :columns] for i in range(len(self.steps))]
        for i, table in enumerate(steps):
            for row, group in np.argwhere(~sparse.valid(table, self.elem_a))[:1]:
                text = f"the metadata of row {row}, group {group} of step {i} is {table[row, group]:#06b}"
                lanes.fault(np.ones(layouts.THREADS, bool), f"{text}: it names no elements in order", "wgmma-operand")
        return lambda step, a: sparse.expanded(a, steps[step], self.elem_a)


def wide(a: Array, elem: Scalar) -> Array:
    """Return a matrix as f64. tf32 is the upper 19 bits of an f32: the hardware ignores the others."""
    if elem.name == "tf32":
        a = (np.ascontiguousarray(a).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return a.astype(np.float64)


@op("wgmma.commit_group", source="PTX ISA: wgmma.commit_group")
class CommitGroup(Wgmma):
    """Close the warpgroup's open group of wgmma; it may be empty."""

    as_ptx = Ptx("wgmma.commit_group.sync.aligned;")

    def simulate(self, lanes: Lanes) -> None:
        lanes.machine.engine.commit(lanes, "wgmma")


@op("wgmma.wait_group", source="PTX ISA: wgmma.wait_group")
class WaitGroup(Wgmma):
    """Wait until at most the `n` latest closed groups of wgmma of this warpgroup are under way.

    values   accumulators (or operands A) of groups that this wait retires: the results are readable
    running  others, which stay in flight but are not moved across the wait
    read     operands A of products that this wait retires: registers hold them until here

    Results  `values` as vectors, then `running`.
    """

    n: int
    values: tuple[Value, ...] = ()
    running: tuple[Value, ...] = ()
    read: tuple[Value, ...] = ()
    takes = {"n": among(range(8))}

    def result_types(self) -> tuple[Type, ...]:
        readable = tuple(v.type.inner for v in self.values if isinstance(v.type, InFlight))
        return (*readable, *(v.type for v in self.running))

    def verify(self) -> Iterator[Problem]:
        yield from _fragments(self, "values")
        yield from _fragments(self, "running")

    def ptx(self) -> Ptx:
        return tied("wgmma.wait_group.sync.aligned ${n};", self, "values", "running", held=("read",))

    def simulate(self, lanes: Lanes) -> None:
        engine = lanes.machine.engine
        tickets = [lanes.get(value) for value in self.values]
        running = [lanes.get(value) for value in self.running]
        engine.wait(lanes, "wgmma", self.n)
        lanes.define(*(engine.result(ticket[0]) for ticket in tickets), *running)


@op(
    "wgmma.fence_operand",
    effects=Effect.ORDERS,
    feature="wgmma",
    source="PTX ISA: asynchronous warpgroup-level matrix instructions; CUTLASS: warpgroup_fence_operand",
)
class FenceOperand(Op):
    """Hold `values`, vectors, in registers here: their computation stays above, and uses of the results below.

    ptxas moves arithmetic across waits, and across any instruction that names none of its registers, but not across
    `pmevent`. So this is a `pmevent`, of an event that is not counted.

    held    emit the instruction, which orders the machine code too; False: no instruction, and ptxas may move
            arithmetic
    number  the number of the fence in its kernel, which finds it in machine code: `passes.number_fences` sets it
    """

    values: tuple[Value, ...]
    held: bool = True
    number: int = 0

    def result_types(self) -> tuple[Type, ...]:
        return tuple(v.type for v in self.values)

    def verify(self) -> Iterator[Problem]:
        for value in self.values:
            if not isinstance(value.type, Vec) or value.type.n * value.type.elem.bits % 32:
                yield Problem("values", f"wgmma.fence_operand takes vectors of whole registers, not {value.type}")
        if not 0 <= self.number < 1 << 16:
            yield Problem("number", f"a kernel has at most {1 << 16} fences of operands")

    def ptx(self) -> Ptx:
        return tied("pmevent.mask ${number};" if self.held else "", self, "values")

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(*(lanes.get(value) for value in self.values))


def _held(lanes: Lanes, value: Value) -> Callable[[Agent], Array]:
    """Return a function that reads a register operand: a vector as it is now, or the result of a ticket."""
    data = lanes.get(value).copy()
    if isinstance(value.type, InFlight):
        return lambda agent: agent.result(data[0])
    return lambda agent: data


def _in_flight(lanes: Lanes, value: Value) -> Array:
    """Return the ticket of a value: a vector is a result that no product has to make."""
    if isinstance(value.type, InFlight):
        return lanes.get(value)
    return np.full(layouts.THREADS, lanes.machine.engine.held(lanes, "wgmma", lanes.get(value).copy()), object)
