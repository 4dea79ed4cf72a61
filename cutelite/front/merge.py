"""The meeting of paths: their states become one.

A slot that holds the same on every path stays as it is, compile-time or run-time. Where numbers differ they
become a parameter of the block; a literal takes the type of the run-time values it meets, and the alternatives of an
expression (`a if c else b`, `a and b`) are promoted. Tensors that differ in what is known of their alignment alone meet
in the least. What cannot meet becomes a `Conflict`, an error only if it is used.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any

from cutelite import ops
from cutelite.diag import CompileError, Span
from cutelite.front import tree
from cutelite.front.iterators import StaticIter
from cutelite.front.mutation import Mutables
from cutelite.front.state import UNBOUND, Conflict, Slot, State, slots_of, together
from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Jump, Value
from cutelite.ir.types import InFlight, Type, Vec, boolean, elem_of, f32, i32, i64, meet
from cutelite.ir.types import Scalar as DType
from cutelite.lang.emit import Runtime, describe, wrap
from cutelite.lang.lazy import Lazy
from cutelite.lang.promotion import Slope, adapt, as_value, dim_type, literal_type, meeting_type, to_dtype, why_wide
from cutelite.lang.values import Vector
from cutelite.layout import DimExpr
from cutelite.ops.control import Br


def merge(builder: Builder, states: list[State], live: frozenset[str], mutables: Mutables) -> State:
    """Return the one state of several paths that meet. Their open blocks jump to a new one, which the builder opens.

    Lists and dicts that meet may not change from here on (`mutables`): one of them may be what another name holds.
    """
    if len(states) == 1:
        (only,) = states
        for name in [name for name in only.locals if name not in live]:
            del only.locals[name]
        builder.block = only.block
        return only
    meeting = _Meeting(builder, states, mutables)
    first = states[0]
    share = together(state.share for state in states)
    facts = {v: held for v, held in first.facts.items() if all(s.facts.get(v) is held for s in states[1:])}
    merged = State({}, [None] * len(first.stack), dict(first.where), meeting.block, share, facts)
    for slot in slots_of(states, live):
        slot.write(merged, meeting.slot(slot))
    meeting.jump()
    return merged


def can_meet(states: list[State], live: frozenset[str]) -> bool:
    """Tell whether no slot of these states would become a `Conflict` where they meet, or lose what it is.

    Names that are not bound do not count, nor the iterators of loops, which are dropped on the way out.
    """
    for slot in slots_of(states, live):
        found = [slot.read(state) for state in states]
        if all(x is found[0] or isinstance(x, StaticIter) for x in found):
            continue
        if any(isinstance(x, Conflict) or x is UNBOUND for x in found):
            continue
        structure, leaves = _taken_apart(found)
        if structure is None:
            return False
        for column in zip(*leaves, strict=True):
            alike = all(tree.same_leaf(column[0], x) for x in column[1:]) or any(isinstance(x, Lazy) for x in column)
            named = any(isinstance(x, enum.Enum) for x in column)  # as numbers they would lose their names
            if not alike and (named or join_types(column, promotes=isinstance(slot.key, int)) is NO_TYPE):
                return False
    return True


def _taken_apart(found: Sequence[Any]) -> tuple[Any, list[list[Any]]]:
    """Return the structure that values share, or None if they differ in it, and the leaves of each."""
    leaves: list[list[Any]] = [[] for _ in found]
    first, *others = (tree.flatten(x, into) for x, into in zip(found, leaves, strict=True))
    return first if all(tree.same_structure(first, other) for other in others) else None, leaves


class _Meeting:
    """The block where states meet, and the arguments that each passes for its parameters."""

    def __init__(self, builder: Builder, states: list[State], mutables: Mutables) -> None:
        self.builder, self.states, self.mutables = builder, states, mutables
        self.block: Block = builder.new_block()
        self.args: list[list[Value]] = [[] for _ in states]

    def slot(self, slot: Slot) -> Any:
        """Return the slot's value behind the meeting."""
        found = [slot.read(state) for state in self.states]
        first = found[0]
        if all(other is first for other in found):
            return first
        conflict = next((x for x in found if isinstance(x, Conflict)), None)
        if conflict is not None:
            return conflict
        if any(x is UNBOUND for x in found):
            title = "`{name}` is not bound on every path to here"
            return self._conflict(slot, found, "unbound", title, "bind it before")
        structure, leaves = _taken_apart(found)
        if structure is None:
            title = "`{name}` depends on the path in a way that no run-time value can"
            otherwise = "give it values of one kind, or use it on each path, before they meet"
            return self._conflict(slot, found, "type-changes", title, how_to_meet(found, otherwise))
        made = []
        for number, column in enumerate(map(self._settled, zip(*leaves, strict=True))):
            same = all(tree.same_leaf(column[0], x) for x in column[1:])
            t = None if same else join_types(column, promotes=isinstance(slot.key, int))
            if t is NO_TYPE:
                title = f"`{{name}}{tree.leaf_name(structure, number)}` has another type on another path"
                help = "convert, so that it has one type on every path"
                return self._conflict(slot, column, "type-changes", title, help)
            made.append(column[0] if t is None else self._param(column, t, hint(slot, structure, number)))
        return self.mutables.met(found, tree.met(found, iter(made)))

    def _settled(self, column: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a leaf of each state; if they differ, lazy vectors among them are computed."""
        if all(leaf is column[0] for leaf in column) or not any(isinstance(leaf, Lazy) for leaf in column):
            return column
        settled = []
        for state, leaf in zip(self.states, column, strict=True):
            self.builder.block = state.block
            settled.append(Vector(leaf.value) if isinstance(leaf, Lazy) else leaf)
        return tuple(settled)

    def _param(self, column: Sequence[Any], t: Type, hint: str) -> Any:
        """Return a block parameter for these leaves, one for each state."""
        param = Value(t, hint=hint)
        self.block.params.append(param)
        for state, leaf, passed in zip(self.states, column, self.args, strict=True):
            self.builder.block = state.block
            passed.append(leaf_value(leaf, t))
        return wrap_like(next((x for x in column if isinstance(x, Runtime)), column[0]), param)

    def jump(self) -> None:
        """Let all states jump to the block, and move the builder there."""
        for state, passed in zip(self.states, self.args, strict=True):
            self.builder.block = state.block
            self.builder.emit(Br(Jump(self.block, tuple(passed))))
        self.builder.block = self.block

    def _conflict(self, slot: Slot, found: Sequence[Any], code: str, title: str, help: str) -> Conflict:
        return Conflict(code, title, tell(found, [slot.place(state) for state in self.states]), help)


def hint(slot: Slot, structure: Any, number: int) -> str:
    """Return the name in the IR of the leaf `number` of what a slot holds."""
    return f"{slot.key}{tree.leaf_name(structure, number)}" if isinstance(slot.key, str) and slot.key else ""


def tell(found: Sequence[Any], places: Sequence[Span | None]) -> list[tuple[str, Span | None]]:
    """Return, for each path, a slot's value in words and the place where it was assigned."""
    return [("unbound" if x is UNBOUND else _in_words(x), place) for x, place in zip(found, places, strict=True)]


def _in_words(x: Any) -> str:
    if type(x) in (tuple, list):
        return f"{describe(x)} of {len(x)}"
    why = why_wide(x.value) if isinstance(x, Runtime) else ""
    return f"{describe(x)} ({why})" if why else describe(x)


def how_to_meet(found: Sequence[Any], otherwise: str) -> str:
    """Return advice about structures that differ; `otherwise` where nothing particular is known of them."""
    kind = type(found[0])
    library = kind.__module__ == "builtins" or kind.__module__.startswith("cutelite.")
    if library or tree.take_apart(found[0]) is not None or any(type(x) is not kind for x in found):
        return otherwise
    if issubclass(kind, enum.Enum):
        if all(isinstance(member.value, int) for member in kind):
            return f"make {kind.__name__} an enum.IntEnum, whose members are numbers"
        return f"let values of the members of {kind.__name__} meet, if they are numbers: `.value`"
    return f"make {kind.__name__} a frozen dataclass or a named tuple, whose fields meet one by one"


class _NoType:
    """The answer that there is no type in which values can meet."""


NO_TYPE = _NoType()


def join_types(leaves: Iterable[Any], promotes: bool = False) -> Any:
    """Return the type in which run-time values and literals meet, or `NO_TYPE`.

    promotes  numbers of several types meet in the one that `cl.where` gives them, as the alternatives of an expression
    """
    leaves = tuple(leaves)
    typed: list[Type] = []
    untyped: list[Any] = []
    for leaf in leaves:
        if not isinstance(leaf, Runtime):
            untyped.append(leaf)
        elif leaf.value.type not in typed:
            typed.append(leaf.value.type)
    if not typed:
        slopes = {x.type for x in untyped if isinstance(x, Slope)}
        return slopes.pop() if len(slopes) == 1 else _join_literals(untyped)
    t = typed[0] if len(typed) == 1 else meet(typed) or _in_flight(typed)
    if t is not NO_TYPE and all(fits(x, t) for x in untyped):
        return t
    if not promotes or not all(isinstance(t, DType) for t in typed):
        return NO_TYPE
    try:
        t = meeting_type(leaves)
    except CompileError:  # of formats without arithmetic, and of u64 with signed integers
        return NO_TYPE
    return t if all(fits(x, t) for x in untyped) else NO_TYPE


def _in_flight(types: list[Type]) -> Any:
    """Return the type in which a readable accumulator meets one in flight: in flight. Other types do not meet."""
    flight = next((t for t in types if isinstance(t, InFlight)), None)
    return flight if flight is not None and set(types) == {flight, flight.inner} else NO_TYPE


def fits(x: Any, t: Type) -> bool:
    """Tell whether a literal or dim can take the place of a run-time value of type `t`."""
    if isinstance(x, Slope):
        return isinstance(t, DType | Vec) and bool(elem_of(t).is_float)
    if not isinstance(t, DType):
        return False
    if isinstance(x, DimExpr):
        return t in (i32, i64)
    if t == boolean or isinstance(x, bool):
        return t == boolean and isinstance(x, bool)
    return adapt(x, t, "arith") == t and (not t.is_int or t.range[0] <= x <= t.range[1])


def _join_literals(literals: list[Any]) -> Any:
    kinds = {dim_type(x) if isinstance(x, DimExpr) else literal_type(x) for x in literals}
    if kinds <= {i32, i64}:
        return i64 if i64 in kinds else i32
    if kinds <= {i32, f32}:
        return f32
    return boolean if kinds == {boolean} else NO_TYPE


def leaf_value(leaf: Any, t: Type) -> Value:
    """Return a leaf as an SSA value of the type it was joined to, made in the builder's block."""
    if isinstance(leaf, Runtime) and leaf.value.type == t:
        return leaf.value
    if isinstance(t, InFlight) and isinstance(leaf, Runtime) and leaf.value.type == t.inner:
        builder = Builder.current()
        assert builder is not None
        # Families are imported where they are used: few kernels have products in flight.
        start = ops.wgmma.Fence((leaf.value,)) if isinstance(t.inner, Vec) else ops.tcgen05.Start(leaf.value)
        return builder.emit(start)  # type: ignore[no-any-return]
    if isinstance(leaf, Runtime) and isinstance(t, DType):
        return as_value(to_dtype(leaf, t))
    return as_value(leaf, t)


def wrap_like(leaf: Any, value: Value) -> Any:
    """Return the proxy of `value`, of the same class as `leaf` if that is one of the same type."""
    if isinstance(leaf, Runtime) and type(leaf.value.type) is type(value.type):
        value.shape = leaf.value.shape
        return Vector(value) if isinstance(leaf, Lazy) else type(leaf)(value)
    if isinstance(leaf, Slope):
        value.shape = leaf.shape
    return wrap(value)
