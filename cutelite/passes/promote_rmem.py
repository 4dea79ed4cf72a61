"""Promote register tensors to values: one vector per tensor, passed from block to block.

    %r = rmem.alloc type=tensor<f32,rmem,4:1,16>        %r = vec.splat a=%zero, n=4
    tensor.store t=%r, coord=(%two), a=%x          ->   %r_1 = vec.put a=%r, b=%x, places=(2)
    %v = tensor.load_all t=%r                           uses of %v become uses of %r_1

A tensor stays in memory (local memory, per thread) if an index into it is known only at run time, or its address is
taken; a run-time index is reported as a warning. With ``attrs["debug"]`` every tensor stays. Block parameters are put
where stores meet and the tensor is read later (pruned SSA: Cytron et al. 1991, dominance frontiers).

Errors: `register-tensor-unwritten` for reading an element that no path has written.
Needs: verified IR, `fold` for indices. Keeps: every other op, in order.
"""

from __future__ import annotations

from cutelite import graphs
from cutelite.diag import CompileError, Diagnostic, Note
from cutelite.ir.function import Block, Function, Jump, Value, dominators, predecessors, reverse_postorder
from cutelite.ir.op import Op
from cutelite.ir.types import Vec
from cutelite.layout.layout import images
from cutelite.ops import tensor
from cutelite.ops.arith import Const, VecGather, VecPut, VecSplat
from cutelite.passes.context import Context
from cutelite.passes.rewrite import Rewrite
from cutelite.tuples import NamedTuple


class RegisterTensorUnwritten(Diagnostic):
    title = "register tensor read before it is written"
    label = "{d.what} of {d.tensor} has no value here"
    help = "fill the tensor first, or write every element that is read"
    tensor: str
    what: str


class RegisterTensorInMemory(Diagnostic):
    severity = "warning"
    title = "a register tensor is indexed at run time"
    label = "so {d.tensor} lies in local memory, not in registers"
    help = "unroll the loop with `cl.static_range`, so that every index is known at compile time"
    tensor: str


class Register:
    """A register tensor that becomes a value."""

    def __init__(self, alloc: Op) -> None:
        t = tensor.tensor_type(alloc.result)
        self.alloc = alloc
        self.type = Vec(t.elem, tensor.static_cosize(t.layout))
        self.name = f"`{alloc.result.hint}`" if alloc.result.hint else "the tensor"


class RegisterUse(NamedTuple):
    """The elements of a register tensor that an op reads or writes, in its order. `write` is None if it reads."""

    register: Register
    elements: tuple[int, ...]
    write: Value | None

    @property
    def mask(self) -> int:
        bits = 0
        for element in self.elements:
            bits |= 1 << element
        return bits

    @property
    def whole(self) -> bool:
        """Tell whether the op takes every element, in order."""
        return self.elements == tuple(range(self.register.type.n))


def promote_rmem(function: Function, context: Context) -> Function:
    if function.attrs.get("debug"):  # a debugger is to see each element where it is written
        return function
    order = reverse_postorder(function.entry)
    found = _RegisterUses(order)
    registers = [register for register in found.registers if register not in found.in_memory]
    for register in found.registers:
        if (at := found.indexed.get(register)) is not None:
            note = Note("the tensor is made here", register.alloc.span)
            context.warn(RegisterTensorInMemory(register.name), at.span, note)
    if not registers:
        return function
    placed = _Placement(order, registers, found)
    return _Renaming(function, found, placed.params, _maybe_written(order, found, placed.live)).run()


class _RegisterUses:
    """The uses of register tensors in a function."""

    def __init__(self, order: list[Block]) -> None:
        self.registers: list[Register] = []
        self.of: dict[Op, RegisterUse] = {}
        self.within: dict[Block, list[Op]] = {}  # the ops of `of` and `allocs`, in order
        self.views: dict[Value, tuple[Register, int]] = {}  # tensor value -> its register and first element
        self.in_memory: set[Register] = set()
        self.indexed: dict[Register, Op] = {}
        self.allocs: dict[Op, Register] = {}
        for block in order:
            for op in block.ops:
                self._look(op)
            self.within[block] = [op for op in block.ops if op in self.of or op in self.allocs]

    def __contains__(self, op: Op) -> bool:
        """Tell whether `op` disappears: it only makes, views, reads or writes registers that are promoted."""
        if (use := self.of.get(op)) is not None:
            register = use.register
        elif isinstance(op, tensor.TensorView) and op.result in self.views:
            register = self.views[op.result][0]
        elif op in self.allocs:
            register = self.allocs[op]
        else:
            return False
        return register not in self.in_memory

    def _look(self, op: Op) -> None:
        if isinstance(op, tensor.RmemAlloc):
            register = self.allocs[op] = Register(op)
            self.registers.append(register)
            self.views[op.result] = register, 0
            return
        if self.views.keys().isdisjoint(op.operands):
            return
        for value in op.operands:
            if value not in self.views:
                continue
            register, start = self.views[value]
            if not self._follow(op, value, register, start):
                self.in_memory.add(register)

    def _follow(self, op: Op, t: Value, register: Register, start: int) -> bool:
        """Note a use of the tensor `t`; tell whether it leaves the tensor promotable."""
        if isinstance(op, tensor.TensorView):
            return self._view(op, register, start)
        if isinstance(op, (tensor.TensorLoad, tensor.TensorStore)) and op.t is t:
            coord = [index.op.value if isinstance(index.op, Const) else None for index in op.coord]
            if None in coord:
                self.indexed.setdefault(register, op)
                return False
            element: int = start + tensor.tensor_type(t).layout(*coord)
            self.of[op] = RegisterUse(register, (element,), op.a if isinstance(op, tensor.TensorStore) else None)
            return 0 <= element < register.type.n
        if isinstance(op, (tensor.TensorLoadAll, tensor.TensorStoreAll)) and op.t is t:
            layout = tensor.tensor_type(t).layout
            elements = tuple(start + offset for offset in images(layout))
            self.of[op] = RegisterUse(register, elements, op.a if isinstance(op, tensor.TensorStoreAll) else None)
            return all(0 <= element < register.type.n for element in elements)
        return False

    def _view(self, op: tensor.TensorView, register: Register, start: int) -> bool:
        offset = 0
        if op.offset is not None:
            if not isinstance(op.offset.op, Const):
                self.indexed.setdefault(register, op)
                self.views[op.result] = register, start
                return False
            offset = int(op.offset.op.value)
        self.views[op.result] = register, start + offset
        return op.type.elem == register.type.elem  # LLVM promotes recast ones


def _reads(use: RegisterUse) -> bool:
    """Tell whether the op needs the register's old value: it reads it, or writes a part."""
    return use.write is None or not use.whole


class _Placement:
    """The registers that become parameters of each block; and `live`, those whose value is read in it or behind it."""

    def __init__(self, order: list[Block], registers: list[Register], found: _RegisterUses) -> None:
        self.params: dict[Block, list[Register]] = {block: [] for block in order}
        writes: dict[Register, list[Block]] = {register: [] for register in registers}
        needs: dict[Block, set[Register]] = {}  # read before written whole
        kills: dict[Block, set[Register]] = {}
        for block in order:
            needs[block], kills[block] = set(), set()
            for op in found.within[block]:
                use = found.of.get(op)
                register = found.allocs[op] if use is None else use.register
                if register not in writes:
                    continue
                if use is not None and _reads(use) and register not in kills[block]:
                    needs[block].add(register)
                if use is None or use.write is not None:
                    writes[register].append(block)
                if use is None or (use.write is not None and use.whole):
                    kills[block].add(register)
        self.live = live = graphs.needed(order, lambda block: block.successors, needs, kills)
        frontier = _frontiers(order)
        for register in registers:
            work, placed = list(writes[register]), set()
            while work:
                for join in frontier[work.pop()]:
                    if join not in placed and register in live[join]:
                        placed.add(join)
                        self.params[join].append(register)
                        work.append(join)


def _frontiers(order: list[Block]) -> dict[Block, list[Block]]:
    """Return dominance frontiers: blocks where a definition meets others (Cooper, Harvey, Kennedy 2001)."""
    idom, before = dominators(order), predecessors(order)
    found: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        if len(before[block]) < 2:
            continue
        for source, _ in before[block]:
            while source is not idom[block]:
                if block not in found[source]:
                    found[source].append(block)
                source = idom[source]
    return found


Written = dict[Register, int]
"""For each register, a mask of the elements that may have been written."""


def _maybe_written(order: list[Block], found: _RegisterUses, live: dict[Block, set[Register]]) -> dict[Block, Written]:
    """Return the elements that some path to the start of each block has written, of registers that are `live` there."""
    before: dict[Block, Written] = {block: {} for block in order}
    work = list(reversed(order))
    while work:
        block = work.pop()
        after = dict(before[block])
        for op in found.within[block]:
            _write(op, found, after)
        for successor in block.successors:
            joined = before[successor]
            merged = {r: joined.get(r, 0) | after.get(r, 0) for r in live[successor] if r in after or r in joined}
            if merged != joined:
                before[successor] = merged
                work.append(successor)
    return before


def _write(op: Op, found: _RegisterUses, written: Written) -> None:
    if op in found.allocs:
        written[found.allocs[op]] = 0
    elif op in found.of and found.of[op].write is not None:
        use = found.of[op]
        written[use.register] = written.get(use.register, 0) | use.mask


class _Renaming:
    """The renaming: it follows each register's current value, and replaces reads by it."""

    def __init__(
        self,
        function: Function,
        found: _RegisterUses,
        params: dict[Block, list[Register]],
        written: dict[Block, Written],
    ) -> None:
        self.rewrite = Rewrite(function)
        self.found, self.params, self.written = found, params, written
        self.at_end: dict[Block, dict[Register, Value]] = {}

    def run(self) -> Function:
        rewrite = self.rewrite
        idom = dominators(rewrite.order)
        for block in rewrite.blocks():
            current = {} if block is rewrite.order[0] else dict(self.at_end[idom[block]])
            for register in self.params[block]:
                param = Value(register.type, hint=register.alloc.result.hint)
                rewrite.block(block).params.append(param)
                current[register] = param
            written = dict(self.written[block])
            for op in rewrite.ops(block):
                self._op(op, current, written)
            self.at_end[block] = current
        return rewrite.function

    def _op(self, op: Op, current: dict[Register, Value], written: Written) -> None:
        rewrite = self.rewrite
        if op.terminator:
            rewrite.emit(op.map_operands(rewrite.value, lambda jump: self._jump(jump, current)))
        elif op not in self.found:
            rewrite.keep(op)
            return
        elif op in self.found.allocs:
            register = self.found.allocs[op]
            current[register] = self._undefined(register)
        elif op in self.found.of:
            use = self.found.of[op]
            if use.write is None:
                _check_written(op, use, written[use.register])
                rewrite.replace(op.result, self._read(op, use, current[use.register]))
            else:
                current[use.register] = self._written(op, use, current[use.register])
        _write(op, self.found, written)

    def _jump(self, jump: Jump, current: dict[Register, Value]) -> Jump:
        there = self.rewrite.jump(jump)
        return Jump(there.block, there.args + tuple(current[register] for register in self.params[jump.block]))

    def _undefined(self, register: Register) -> Value:
        """Emit zeros: they are visible only in an element written on some paths and read on others."""
        elem = register.type.elem
        zero = self.rewrite.emit(Const(0.0 if elem.is_float else False if elem.kind == "bool" else 0, elem))
        return self._named(self.rewrite.emit(VecSplat(zero, register.type.n)), register)

    def _read(self, op: Op, use: RegisterUse, now: Value) -> Value:
        if isinstance(op, tensor.WholeTensor) and use.whole:
            return now
        scalar = isinstance(op, tensor.TensorLoad)
        return self._named(self.rewrite.emit(VecGather(now, use.elements, scalar)), op.result)

    def _written(self, op: Op, use: RegisterUse, now: Value) -> Value:
        assert use.write is not None
        data = self.rewrite.value(use.write)
        if isinstance(op, tensor.WholeTensor) and use.whole:
            return data
        return self._named(self.rewrite.emit(VecPut(now, data, use.elements)), use.register)

    @staticmethod
    def _named(value: Value, after: Register | Value) -> Value:
        value.hint = after.hint if isinstance(after, Value) else after.alloc.result.hint
        return value


def _check_written(op: Op, use: RegisterUse, written: int) -> None:
    missing = [element for element in use.elements if not written >> element & 1]
    if not missing:
        return
    register = use.register
    if len(missing) == 1:
        what = f"element {missing[0]}" if register.type.n > 1 else "the element"
    else:
        what = f"{'every element' if len(missing) == register.type.n else f'element {missing[0]} and others'}"
    notes = [Note("the tensor is made here", register.alloc.span)] if register.alloc.span else []
    raise CompileError(RegisterTensorUnwritten(register.name, what), op.span, notes)
