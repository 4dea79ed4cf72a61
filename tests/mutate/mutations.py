"""Mutants of a kernel: one fence, wait, commit, arrival, count, parity or stage index dropped or altered in the IR.

In    a function, at any stage of its compilation
Out   a `Mutation` for each possible alteration: its kind, the op, its line; `apply` makes the mutant

What can be mutated follows from the ops: an op that orders (`Effect.ORDERS`) can be missing; fields have names that
mean the same in every op: `n` groups may be left pending, `phase` is a parity, `bytes` and `count` are what a barrier
is told to expect; `relaxed`, `read`, `semantic`, `reach`, `scope_of_order` and `space` say how much is ordered. A
stage index is a run-time index into an array of mbarriers, a phase flip an xor from which a `phase` is computed, and
a poll a branch on the result of a strong load, an atomic or a test of a phase. Ordering ops are also moved over the
access next to them. No op and no kernel is known by name here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cutelite.diag import Span
from cutelite.ir.contract import Effect
from cutelite.ir.function import Block, Function, Jump, Value
from cutelite.ir.op import Op
from cutelite.ir.types import Ptr, Scalar, Tensor, boolean, i32, mbarrier
from cutelite.ops.arith import Add, Const, Mod, Xor
from cutelite.ops.control import CondBr
from cutelite.ops.tensor import TensorPtr

Change = Callable[["Copy", Op], None]
"""Writes a replacement for an op of the original to the copy."""

NEVER = 7  # pending groups that a wait allows if it is to wait for nothing
SCOPES = {"sys": ("gpu", "cluster", "cta"), "gpu": ("cluster", "cta"), "cluster": ("cta",)}
WEAKER: dict[str, dict[Any, tuple[str, ...]]] = {
    "scope_of_order": SCOPES,
    "reach": SCOPES,
    "semantic": {
        "sc": ("acq_rel", "acquire", "release"),
        "acq_rel": ("acquire", "release", "relaxed"),
        "acquire": ("relaxed",),
        "release": ("relaxed",),
    },
    "space": {
        "": ("shared::cluster", "shared::cta", "global"),
        "shared::cluster": ("shared::cta", "global"),
        "shared::cta": ("global",),
        "global": ("shared::cta",),
    },
}
"""Weaker values for a field: of scopes, of semantics, and of the spaces that a proxy fence is for."""

HARMLESS = ("prefetch", "nanosleep")  # order nothing that a program can see


@dataclass(frozen=True)
class Mutation:
    """One alteration at one place of a function.

    kind     drop, pending, parity, flip, stage, bytes, count, threads, weaken, poll, early, late
    place    the number, among the ops of the function, of the op that is replaced
    detail   what is altered, in words
    moved    the place that an op has been moved away from
    """

    kind: str
    place: int
    op: Op
    detail: str
    change: Change
    moved: int | None = None

    @property
    def span(self) -> Span | None:
        found: Span | None = self.op.span
        return found

    def apply(self, function: Function) -> Function:
        """Return a copy of the function with this one change."""
        return Copy(function, self.place, self.change, self.moved).made

    def __str__(self) -> str:
        return f"{self.kind} {self.op.name}: {self.detail}"


class Copy:
    """A copy of a function, ops and values all new, with `change` in place of op number `place`, without `moved`."""

    def __init__(self, function: Function, place: int, change: Change, moved: int | None = None) -> None:
        self.values: dict[Value, Value] = {}
        self.blocks = {block: self._block(block) for block in function.blocks}
        dims = {name: self.value(value) for name, value in function.dims.items()}
        self.made = Function(function.name, list(self.blocks.values()), dims, dict(function.attrs))
        self.here = self.blocks[function.entry]
        number = 0
        for block in function.blocks:
            self.here = self.blocks[block]
            for op in block.ops:
                if number == place:
                    change(self, op)
                elif number != moved:
                    self.keep(op)
                number += 1

    def _block(self, block: Block) -> Block:
        for param in block.params:
            self.values[param] = Value(param.type, None, param.hint, param.shape)
        return Block(tuple(self.values[param] for param in block.params), block.label)

    def value(self, old: Value) -> Value:
        if old not in self.values:  # defined further on: around a loop
            self.values[old] = Value(old.type, None, old.hint, old.shape)
        return self.values[old]

    def keep(self, op: Op, **fields: Any) -> None:
        """Write the op with these fields changed; their operands are values of the copy."""
        new = op.map_operands(self.value, lambda jump: Jump(self.blocks[jump.block], jump.args))
        if fields:
            new = new.with_fields(**fields)
        new.results = tuple(map(self.value, op.results))
        for value in new.results:
            value.op = new
        self.here.ops.append(new)

    def emit(self, op: Op, like: Op) -> Value:
        """Write an additional op, at the line of `like`."""
        op.span = like.span
        op.results = tuple(Value(t, op) for t in op.result_types())
        self.here.ops.append(op)
        return op.results[0]

    def constant(self, number: int | bool, t: Scalar, like: Op) -> Value:
        return self.emit(Const(number, t), like)


# What can be mutated.


def mutations(function: Function) -> list[Mutation]:
    """Return all mutations of a function, in the order of the ops."""
    ops = list(function.ops())
    for op in ops:  # passes that ran since have left their own ops with the values
        for value in op.results:
            value.op = op
    used = {value for op in ops for value in op.operands}
    stages = stage_indices(ops)
    flips = phase_flips(function)
    found = []
    for place, op in enumerate(ops):
        changes = [*_orders(op, used), *_operands(op, stages)]
        if op in flips:
            changes.append(("flip", "the phase is not flipped", _forward("a")))
        if isinstance(op, CondBr) and _asks_others(op.cond):
            changes += [("poll", f"goes on as if it were {x}", _decided(x)) for x in (True, False)]
        found += [Mutation(kind, place, op, detail, change) for kind, detail, change in changes]
    return [*found, *_moves(function)]


def _moves(function: Function) -> Iterator[Mutation]:
    """Yield moves of ordering ops over the next access of shared data: a release too early, an acquire too late."""
    shared, place = _handed_over(function), 0
    for block in function.blocks:
        accesses = {i for i, op in enumerate(block.ops) if _accesses(op, shared)}
        for i, op in enumerate(block.ops):
            if Effect.ORDERS not in op.effects or op.terminator or op.name in HARMLESS:
                continue
            before = _nearest(block.ops, accesses, range(i - 1, -1, -1))
            if before is not None and not _made(block.ops[before:i]).intersection(op.operands):
                over, detail = block.ops[before], f"comes before {block.ops[before].name}"
                yield Mutation("early", place + before, op, detail, _in_turn(op, over), place + i)
            behind = _nearest(block.ops, accesses, range(i + 1, len(block.ops)))
            if behind is not None and not any(
                set(op.results).intersection(other.operands) for other in block.ops[i + 1 : behind + 1]
            ):
                over, detail = block.ops[behind], f"comes behind {block.ops[behind].name}"
                yield Mutation("late", place + behind, op, detail, _in_turn(over, op), place + i)
        place += len(block.ops)


def _asks_others(condition: Value) -> bool:
    """Return whether a value depends on the result of a strong load, an atomic or a test of a phase."""
    todo = [condition]
    while todo:
        op = todo.pop().op
        if op is not None and (Effect.ORDERS in op.effects or op.semantic is not None):
            return True
        if op is not None and op.is_pure:
            todo += op.operands
    return False


def _decided(outcome: bool) -> Change:
    return lambda copy, op: copy.keep(op, cond=copy.constant(outcome, boolean, op))


def _nearest(ops: list[Op], accesses: set[int], places: range) -> int | None:
    """Return the first of these places that has an access, unless an ordering op comes before it."""
    for i in places:
        if i in accesses:
            return i
        if Effect.ORDERS in ops[i].effects:
            return None
    return None


def _made(ops: list[Op]) -> set[Value]:
    return {value for op in ops for value in op.results}


def _in_turn(*ops: Op) -> Change:
    def change(copy: Copy, op: Op) -> None:
        for each in ops:
            copy.keep(each)

    return change


def _handed_over(function: Function) -> set[Value]:
    """Return the arguments in global memory that a kernel both reads and writes."""
    read, written = set(), set()
    for op in function.ops():
        for root in map(_root, _places(op)):
            if Effect.READS in op.effects:
                read.add(root)
            if Effect.WRITES in op.effects:
                written.add(root)
    return read & written


def _accesses(op: Op, shared: set[Value]) -> bool:
    """Return whether an op accesses shared or tensor memory, or arguments by which blocks pass data to each other."""
    if Effect.ORDERS in op.effects or not op.effects & (Effect.READS | Effect.WRITES):
        return False
    return any(v.type.space in ("smem", "cluster", "tmem") or _root(v) in shared for v in _places(op))


def _places(op: Op) -> list[Any]:
    return [v for v in op.operands if isinstance(v.type, Ptr | Tensor) and v.type.space != "rmem"]


def _root(value: Value) -> Value:
    """Return the tensor that an address points into or a view is of."""
    while value.op is not None and (of := getattr(value.op, "t", None) or getattr(value.op, "p", None)) is not None:
        value = of
    return value


Named = tuple[str, str, Change]


def _orders(op: Op, used: set[Value]) -> Iterator[Named]:
    """Yield the mutations of an ordering op: it is dropped, or its fields order less."""
    if op.name in HARMLESS:
        return
    names = {field.name for field in op.fields}
    if Effect.ORDERS in op.effects and not op.terminator:
        if not used.intersection(op.results):
            yield "drop", "is missing", lambda copy, op: None
        elif _passes_on(op):
            yield "drop", "is missing", _pass_on
    if "n" in names and Effect.ORDERS in op.effects:
        yield "pending", f"leaves {op['n'] + 1} groups pending, not {op['n']}", _with(n=op["n"] + 1)
        yield "pending", f"leaves {NEVER} groups pending, not {op['n']}", _with(n=NEVER)
    if op_is(op, "read", False):
        yield "weaken", "waits for reads alone", _with(read=True)
    if op_is(op, "relaxed", False):
        yield "weaken", "is relaxed", _with(relaxed=True)
    if op_is(op, "fence", True):
        yield "weaken", "comes without its fence", _with(fence=False)
    for field, weaker in WEAKER.items():
        if field in names and not (field == "reach" and _of_cluster(op)) and not op_is(op, "semantic", "volatile"):
            for other in weaker.get(op[field], ()):
                yield "weaken", f"{field} is {other!r}, not {op[field]!r}", _with(**{field: other})
    if isinstance(noinc := getattr(op, "noinc", None), bool):
        yield "count", "adds itself first" if noinc else "is one of those announced", _with(noinc=not noinc)
    if op_is(op, "aligned", True) and op_is(op, "number", None) and op["count"]:
        yield "threads", "counts a warp more", _with(count=op["count"] + 32)


def _of_cluster(op: Op) -> bool:
    """Return whether an op accesses another block's memory, where its scope is the cluster whatever its field says."""
    return any(isinstance(v.type, Ptr) and v.type.space == "cluster" for v in op.operands)


def op_is(op: Op, field: str, value: object) -> bool:
    """Return whether an op has a field with this value. What `Op` declares for all of them is no field."""
    declared = any(one.name == field for one in op.fields)
    return declared and op[field] == value and type(op[field]) is type(value)


def _operands(op: Op, stages: dict[Value, int]) -> Iterator[Named]:
    """Yield the mutations of an op's run-time operands, by their names and by the ops that compute them."""
    if op.effects & (Effect.ORDERS | Effect.ASYNC):
        for field in op.fields:
            held = getattr(op, field.name)
            if field.name == "phase" and held.type == i32:
                yield "parity", "waits for the other parity", _altered("phase", _flipped)
            elif field.name == "bytes" and field.is_operand and Effect.ASYNC not in op.effects:
                yield "bytes", "expects 16 bytes more", _altered("bytes", _plus(16))
                yield "bytes", "expects 16 bytes less", _altered("bytes", _plus(-16))
            elif field.name == "count" and field.is_operand and held is not None:
                yield "count", "counts one more", _altered("count", _plus(1))
                if not (isinstance(held.op, Const) and held.op.value == 1):
                    yield "count", "counts one less", _altered("count", _plus(-1))
    for field in op.fields:
        held = getattr(op, field.name) if field.is_operand else None
        for i, value in enumerate(held if isinstance(held, tuple) else [held]):
            if value in stages and not op.terminator:
                at = i if isinstance(held, tuple) else None
                yield "stage", f"`{field.name}` is the next stage", _next_stage(field.name, at, stages[value])
    if isinstance(op, TensorPtr) and _is_ring(op.t.type) and isinstance(op.coord[0].op, Const):
        yield "stage", "`coord` is the next stage", _next_stage("coord", 0, _extent(op.t.type))


def stage_indices(ops: list[Op]) -> dict[Value, int]:
    """Return the run-time indices into rings of mbarriers, each with the number of mbarriers."""
    found = {}
    for op in ops:
        if isinstance(op, TensorPtr) and _is_ring(op.t.type) and not isinstance(op.coord[0].op, Const):
            found[op.coord[0]] = _extent(op.t.type)
    return found


def phase_flips(function: Function) -> set[Op]:
    """Return the xors that compute the phases of waits."""
    passed = incoming(function)
    todo = [op["phase"] for op in function.ops() if hasattr(op, "phase") and op["phase"].type == i32]
    seen: set[Value] = set()
    flips: set[Op] = set()
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        todo += passed.get(value, ())
        if value.op is not None and value.op.is_pure:
            todo += value.op.operands
            if isinstance(value.op, Xor):
                flips.add(value.op)
    return flips


def incoming(function: Function) -> dict[Value, list[Value]]:
    """Return the values that jumps pass for each block parameter."""
    found: dict[Value, list[Value]] = {}
    for op in function.ops():
        for jump in op.jumps:
            for param, arg in zip(jump.block.params, jump.args, strict=True):
                found.setdefault(param, []).append(arg)
    return found


def _is_ring(t: Any) -> bool:
    return isinstance(t, Tensor) and t.elem == mbarrier and _extent(t) > 1


def _extent(t: Any) -> int:
    return int(t.layout.size)


# Changes.


def _passes_on(op: Op) -> bool:
    """Return whether an op's results are its operands `values`, ordered."""
    values = getattr(op, "values", ())
    return bool(values) and [v.type for v in values] == [r.type for r in op.results]


def _pass_on(copy: Copy, op: Op) -> None:
    for result, value in zip(op.results, op["values"], strict=True):
        copy.values[result] = copy.value(value)


def _forward(field: str) -> Change:
    def change(copy: Copy, op: Op) -> None:
        copy.values[op.result] = copy.value(op[field])

    return change


def _with(**fields: Any) -> Change:
    return lambda copy, op: copy.keep(op, **fields)


def _altered(field: str, function: Callable[[Copy, Op, Value], Value]) -> Change:
    return lambda copy, op: copy.keep(op, **{field: function(copy, op, copy.value(op[field]))})


def _flipped(copy: Copy, op: Op, value: Value) -> Value:
    return copy.emit(Xor(value, copy.constant(1, i32, op)), op)


def _plus(amount: int) -> Callable[[Copy, Op, Value], Value]:
    def change(copy: Copy, op: Op, value: Value) -> Value:
        assert isinstance(value.type, Scalar)
        return copy.emit(Add(value, copy.constant(amount, value.type, op)), op)

    return change


def _next_stage(field: str, at: int | None, stages: int) -> Change:
    def change(copy: Copy, op: Op) -> None:
        held = op[field]
        index = copy.value(held if at is None else held[at])
        assert isinstance(index.type, Scalar)
        more = copy.emit(Add(index, copy.constant(1, index.type, op)), op)
        moved = copy.emit(Mod(more, copy.constant(stages, index.type, op)), op)
        if at is None:
            copy.keep(op, **{field: moved})
        else:
            others = tuple(map(copy.value, held))
            copy.keep(op, **{field: (*others[:at], moved, *others[at + 1 :])})

    return change
