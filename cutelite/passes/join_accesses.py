"""Join neighbouring loads, or stores, into one vector access if their alignment is known to allow it.

    %x = ld p=%p, type=f32                            %v = ld p=%p, type=vec<f32,2>
    %q = ptr.add p=%p, bytes=%four, align=4      ->   %x = vec.gather a=%v, picks=(0), scalar=True
    %y = ld p=%q, type=f32                            %y = vec.gather a=%v, picks=(1), scalar=True

Loads move up to the first of the run, stores down to the last; no access that could conflict is between. Addresses
are neighbours if they differ by a number. The alignment of a base address follows from the arithmetic that makes it and
from the divisors of dims. The pass is linear in the number of ops, unlike LLVM's own.

Needs: `lower_tensors`, `cse` so that equal addresses are one value. Keeps: every other op, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cutelite.ir.contract import Effect
from cutelite.ir.function import Block, Function, Value, predecessors
from cutelite.ir.op import Op
from cutelite.ir.types import Ptr, Scalar, Vec, elem_of, i32
from cutelite.layout import dims_of
from cutelite.ops.arith import Add, And, Const, Mul, Shl, Sub, VecGather, VecMake
from cutelite.ops.convert import Convert
from cutelite.ops.memory import MAX_VECTOR_BYTES, Load, PtrAdd, Store
from cutelite.passes.algebra import without_known
from cutelite.passes.context import Context
from cutelite.passes.rewrite import Rewrite

NEAR = 64  # ops: the greatest distance of accesses that are joined, so that values are not held for long
MOST = 1 << 30  # the alignment of 0


class Access:
    """A load or store: `offset` bytes behind the address `root`, the op's place in its block."""

    def __init__(self, op: Any, root: Value, offset: int, place: int) -> None:
        self.op, self.root, self.offset, self.place = op, root, offset, place

    @property
    def type(self) -> Any:
        return self.op.type if isinstance(self.op, Load) else self.op.a.type

    @property
    def bytes(self) -> int:
        return elem_of(self.type).bytes * (self.type.n if isinstance(self.type, Vec) else 1)

    @property
    def spaces(self) -> tuple[str, ...]:
        """The memory that it may touch."""
        return SPACES.get(self.op.p.type.space, EVERYWHERE)

    def overlaps(self, other: Access) -> bool:
        """Tell whether two accesses behind the same root have a byte in common."""
        return self.offset < other.offset + other.bytes and other.offset < self.offset + self.bytes

    @property
    def key(self) -> object:
        """The same for accesses that may become one."""
        return type(self.op), self.root, elem_of(self.type), *_hints(self.op)


def _hints(op: Any) -> tuple[str | int, ...]:
    """Return the cache hints of an access, its last fields."""
    return (op.cache, op.evict, op.prefetch) if isinstance(op, Load) else (op.cache, op.evict)


class Run:
    """Accesses that become one of `bytes` bytes, by offset."""

    def __init__(self, accesses: list[Access], bytes: int) -> None:
        self.accesses, self.bytes = accesses, bytes
        places = sorted(accesses, key=lambda access: access.place)
        self.leader: Op = places[0 if isinstance(places[0].op, Load) else -1].op


def join_accesses(function: Function, context: Context) -> Function:
    rewrite = Rewrite(function)
    alignments = Alignments(function, rewrite.order)
    runs = {access.op: run for block in rewrite.order for run in _runs(block, alignments) for access in run.accesses}
    if not runs:
        return function
    for op in rewrite:
        run = runs.get(op)
        if run is None:
            rewrite.keep(op)
        elif op is run.leader:
            _join(rewrite, run)
    return rewrite.function


def _join(rewrite: Rewrite, run: Run) -> None:
    """Emit the joined access: at the first load, so that all uses are behind; at the last store."""
    first = run.accesses[0]
    elem = elem_of(first.type)
    distance = rewrite.emit(Const(first.offset, i32))
    p = rewrite.emit(PtrAdd(rewrite.value(first.root), distance, run.bytes))
    hints = _hints(first.op)
    if isinstance(first.op, Store):
        rewrite.emit(Store(p, rewrite.emit(VecMake(tuple(rewrite.value(a.op.a) for a in run.accesses))), *hints))
        return
    whole = rewrite.emit(Load(p, Vec(elem, run.bytes // elem.bytes), *hints))
    for access in run.accesses:
        start = (access.offset - first.offset) // elem.bytes
        picks = tuple(range(start, start + access.bytes // elem.bytes))
        scalar = isinstance(access.type, Scalar)
        rewrite.replace(access.op.result, rewrite.emit(VecGather(whole, picks, scalar)))


# The search for runs.

SPACES = {"gmem": ("gmem",), "smem": ("smem",), "cluster": ("smem",), "rmem": ("rmem",), "const": ("const",)}
"""Memory that an access may touch, by the space of its address; generic ones may touch any."""
EVERYWHERE = ("gmem", "smem", "rmem")
CROSSED = Effect.UNMERGEABLE | Effect.CONVERGENT
"""Effects of ops that accesses may be moved across."""
STOPS_STORES, STOPS_LOADS = ~CROSSED, ~(CROSSED | Effect.READS)


class _Groups:
    """Loads, or stores, that may still be joined, by key."""

    def __init__(self, alignments: Alignments) -> None:
        self.alignments = alignments
        self.open: dict[object, list[Access]] = {}

    def add(self, access: Access) -> Iterator[Run]:
        group = self.open.get(access.key)
        if group and (access.place - group[0].place > NEAR or any(access.overlaps(other) for other in group)):
            yield from self.close((access.key,))
        self.open.setdefault(access.key, []).append(access)

    def close(self, keys: Iterable[object]) -> Iterator[Run]:
        for key in list(keys):
            yield from _cut(self.open.pop(key), self.alignments)

    def touching(self, spaces: tuple[str, ...]) -> list[object]:
        """Return the keys of groups in any of these spaces."""
        return [key for key, group in self.open.items() if not set(group[0].spaces).isdisjoint(spaces)]


def _runs(block: Block, alignments: Alignments) -> Iterator[Run]:
    """Yield the runs of a block. An op that accesses must not move across closes their group."""
    loads, stores = _Groups(alignments), _Groups(alignments)
    for place, op in enumerate(block.ops):
        if isinstance(op, Load):
            access = Access(op, *without_known(op.p), place)
            yield from stores.close(stores.touching(access.spaces))
            yield from loads.add(access)
        elif isinstance(op, Store):
            access = Access(op, *without_known(op.p), place)
            yield from loads.close(loads.touching(access.spaces))
            yield from stores.close(key for key in stores.touching(access.spaces) if key != access.key)
            yield from stores.add(access)
        elif op.effects & STOPS_STORES:
            yield from stores.close(stores.open)
            if op.effects & STOPS_LOADS:
                yield from loads.close(loads.open)
    yield from loads.close(loads.open)
    yield from stores.close(stores.open)


def _cut(accesses: list[Access], alignments: Alignments) -> Iterator[Run]:
    """Yield the widest runs of a group, of two accesses or more."""
    if len(accesses) < 2:
        return
    accesses = sorted(accesses, key=lambda access: access.offset)
    align = alignments.of(accesses[0].root)
    i = 0
    while i < len(accesses):
        run = next(_wide(accesses, i, align), None)
        if run is not None:
            yield run
        i += len(run.accesses) if run else 1


def _wide(accesses: list[Access], i: int, align: int) -> Iterator[Run]:
    """Yield runs that begin with access `i`, the widest first."""
    start, bytes = accesses[i].offset, MAX_VECTOR_BYTES
    while bytes > accesses[i].bytes:
        if align % bytes == 0 and start % bytes == 0:
            end, taken = start, []
            for access in accesses[i:]:
                if access.offset != end or end >= start + bytes:
                    break
                taken.append(access)
                end += access.bytes
            if end == start + bytes:
                yield Run(taken, bytes)
        bytes //= 2


class Alignments:
    """Powers of two that values are multiples of, from how they are made. Arithmetic that wraps keeps them."""

    def __init__(self, function: Function, order: list[Block]) -> None:
        self._known: dict[Value, int] = dict.fromkeys(function.params, 1)
        for param in function.params:
            layout = getattr(param.type, "layout", None)
            for dim in dims_of(layout) if layout is not None else ():
                if dim.name in function.dims:
                    self._known[function.dims[dim.name]] = _power(dim.divisible_by)
        self._passed: dict[Value, list[Value]] = {}  # the values that each block parameter may have
        for block, sources in predecessors(order).items():
            for index, param in enumerate(block.params):
                self._passed.setdefault(param, []).extend(jump.args[index] for _, jump in sources)

    def of(self, value: Value) -> int:
        """Return the greatest solution: around a loop, the first value and the increment decide."""
        unknown = self._sources_of(value)
        self._known |= dict.fromkeys(unknown, MOST)
        changed = True
        while changed:
            changed = False
            for v in unknown:
                new = self._made(v)
                if new != self._known[v]:
                    self._known[v], changed = new, True
        return self._known[value]

    def _sources_of(self, value: Value) -> list[Value]:
        """Return the unknown values that `value` is made of, sources first where there is an order."""
        found: dict[Value, None] = {}
        stack = [value]
        while stack:
            v = stack.pop()
            if v not in found and v not in self._known:
                found[v] = None
                stack += self._sources(v)
        return list(found)[::-1]

    def _sources(self, value: Value) -> Sequence[Value]:
        if isinstance(value.op, (Mul, Add, Sub, And, Shl, Convert, PtrAdd)):
            return value.op.operands
        return self._passed.get(value, ())

    def _made(self, value: Value) -> int:
        op, known = value.op, self._known
        least = value.type.align if isinstance(value.type, Ptr) else 1
        match op:
            case None:
                return max(least, min((known[v] for v in self._passed.get(value, ())), default=1))
            case Const() if isinstance(op.value, int):
                return _power(op.value)
            case Mul():
                return min(known[op.a] * known[op.b], MOST)
            case Add() | Sub():
                return min(known[op.a], known[op.b])
            case And():
                return max(known[op.a], known[op.b])
            case Shl() if isinstance(op.b.op, Const) and 0 <= op.b.op.value < 31:
                return min(known[op.a] << int(op.b.op.value), MOST)
            case Convert() if isinstance(op.a.type, Scalar) and op.a.type.is_int and op.type.is_int and not op.saturate:
                return known[op.a]
            case PtrAdd():
                return max(least, min(known[op.p], known[op.bytes]))
        return least


def _power(number: int) -> int:
    """Return the greatest power of two that divides a number."""
    return number & -number if number else MOST
