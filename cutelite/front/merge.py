"""States of the evaluation, and how those of several paths become one where the paths meet.

A slot that holds the same on every path stays as it is, compile-time or run-time. Where numbers differ they
become a parameter of the block; a literal takes the type of the run-time values it meets. What cannot meet
becomes a `Conflict`, an error only if it is used.

`path` says under which run-time decisions a state is reached: a tuple of (decision, alternative, of how many).
When all alternatives of a decision meet again, it is forgotten. Two states of one path are executed together
or not at all, which is what makes unrolling a `while` and mutating a compile-time list sound.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

from cutelite.diag import CompileError, Mistake, Note, Span
from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Jump, Value
from cutelite.ir.types import InFlight, Type, Vec, boolean, f32, i32, i64
from cutelite.ir.types import Scalar as DType
from cutelite.lang.values import Runtime, adapt, as_value, describe, dim_type, literal_type, wrap
from cutelite.layout import DimExpr
from cutelite.ops.control import Br

from . import tree

Path = tuple[tuple[int, int, int], ...]
_decisions = itertools.count(1)


def new_decision() -> int:
    return next(_decisions)


class Conflict:
    """Stands in a slot whose value depends on the path in a way no run-time value can. Using it is an error."""

    def __init__(self, reason: str, found: tuple[tuple[str, Span | None], ...]) -> None:
        self.reason = reason
        self.found = found  # what it is on each path, and the line that made it so

    def error(self, name: str, span: Span | None) -> CompileError:
        notes = [Note(f"{what} here", where) for what, where in self.found if where is not None]
        title = f"`{name}` {self.reason}"
        label = "it is " + ", or ".join(dict.fromkeys(what for what, _ in self.found))
        help = "give it the same type on every path, or use another name"
        return CompileError(Mistake("type-changes", title, label, help), span, notes)


class Unbound:
    """In a slot whose name is not bound on some path."""


UNBOUND = Unbound()


class State:
    """Where the evaluation stands on one path: locals, stack, the open IR block, and the path."""

    __slots__ = ("block", "locals", "path", "stack", "where")

    def __init__(
        self, locals: dict[str, Any], stack: list[Any], where: dict[str, Span], block: Block, path: Path
    ) -> None:
        self.locals = locals
        self.stack = stack
        self.where = where  # the line that last bound each local
        self.block = block
        self.path = path

    def fork(self, block: Block, path: Path) -> State:
        return State(dict(self.locals), list(self.stack), dict(self.where), block, path)


class Slot(NamedTuple):
    """One place of a state: a local's name, or an index into the stack."""

    key: str | int

    def read(self, state: State) -> Any:
        return state.locals.get(self.key, UNBOUND) if isinstance(self.key, str) else state.stack[self.key]

    def write(self, state: State, value: Any) -> None:
        if isinstance(self.key, int):
            state.stack[self.key] = value
        elif value is UNBOUND:
            state.locals.pop(self.key, None)
        else:
            state.locals[self.key] = value


def slots_of(states: Iterable[State], live: frozenset[str]) -> list[Slot]:
    """The live slots of states about to meet, in a fixed order."""
    first, *_ = states = list(states)
    names = [name for name in dict.fromkeys(n for s in states for n in s.locals) if name in live]
    return [Slot(i) for i in range(len(first.stack))] + [Slot(name) for name in names]


def merge(builder: Builder, states: list[State], live: frozenset[str]) -> State:
    """The one state of several paths that meet; their open blocks jump to a new one, where the builder is then."""
    if len(states) == 1:
        (only,) = states
        for name in [name for name in only.locals if name not in live]:
            del only.locals[name]
        builder.block = only.block
        return only
    block = builder.new_block()
    args: list[list[Value]] = [[] for _ in states]
    first = states[0]
    merged = State({}, [None] * len(first.stack), dict(first.where), block, merge_paths([s.path for s in states]))
    for slot in slots_of(states, live):
        found = [slot.read(state) for state in states]
        slot.write(merged, _merge_slot(builder, states, slot, found, args, block))
    for state, passed in zip(states, args, strict=True):
        builder.block = state.block
        builder.emit(Br(Jump(block, tuple(passed))))
    builder.block = block
    return merged


def _merge_slot(
    builder: Builder, states: list[State], slot: Slot, found: list[Any], args: list[list[Value]], block: Block
) -> Any:
    first = found[0]
    if all(other is first for other in found) or all(tree.same(first, other) for other in found[1:]):
        return first
    spans = tuple(state.where.get(slot.key) if isinstance(slot.key, str) else None for state in states)
    if any(isinstance(x, Conflict) for x in found):
        return next(x for x in found if isinstance(x, Conflict))
    if any(x is UNBOUND for x in found):
        return Conflict("is not bound on every path", _tell(found, spans))
    leaves: list[list[Any]] = [[] for _ in found]
    structures = [tree.flatten(x, into) for x, into in zip(found, leaves, strict=True)]
    if not all(tree.same_structure(structures[0], other) for other in structures[1:]):
        return Conflict("differs between paths in a way that no run-time value can", _tell(found, spans))
    columns = list(zip(*leaves, strict=True))
    types = [None if _unchanged(column) else join_types(column) for column in columns]
    if any(t is NO_TYPE for t in types):
        return Conflict("has another type on another path", _tell(found, spans))
    return _join(builder, states, structures[0], columns, types, args, block)


def _join(
    builder: Builder,
    states: list[State],
    structure: Any,
    columns: list[tuple[Any, ...]],
    types: list[Any],
    args: list[list[Value]],
    block: Block,
) -> Any:
    """The merged object: a block parameter for every leaf with a type in `types`."""
    made: list[Any] = []
    for column, t in zip(columns, types, strict=True):
        if t is None:
            made.append(column[0])
            continue
        param = Value(t)
        block.params.append(param)
        for state, leaf, passed in zip(states, column, args, strict=True):
            builder.block = state.block
            passed.append(leaf_value(leaf, t))
        made.append(wrap_like(next((x for x in column if isinstance(x, Runtime)), None), param))
    remaining = iter(made)
    return tree.rebuild(structure, lambda _: next(remaining))


def _unchanged(column: tuple[Any, ...]) -> bool:
    first = column[0]
    if isinstance(first, Runtime):
        return all(isinstance(x, Runtime) and x.value is first.value for x in column)
    return all(tree.same(first, x) for x in column)


class _NoType:
    """There is no type that all of these have."""


NO_TYPE = _NoType()


def join_types(leaves: Iterable[Any]) -> Any:
    """The type in which run-time values and literals meet, or `NO_TYPE`."""
    leaves = list(leaves)
    typed = list(dict.fromkeys(x.value.type for x in leaves if isinstance(x, Runtime)))
    untyped = [x for x in leaves if not isinstance(x, Runtime)]
    if len(typed) == 2 and {type(t) for t in typed} == {Vec, InFlight}:
        flying = next(t for t in typed if isinstance(t, InFlight))
        typed = [flying] if flying.inner in typed else typed
    if len(typed) > 1:
        return NO_TYPE
    if not typed:
        return _join_literals(untyped)
    (t,) = typed
    if untyped and not isinstance(t, DType):
        return NO_TYPE
    return t if all(_fits(x, t) for x in untyped) else NO_TYPE


def _fits(x: Any, t: Type) -> bool:
    """Whether a literal or dim can take the place of a run-time value of type `t`."""
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
    """A leaf as an SSA value of the type it was joined to, made in the builder's block."""
    if isinstance(t, InFlight) and isinstance(leaf, Runtime) and leaf.value.type == t.inner:
        from cutelite.ops.wgmma import Fence

        return Builder.current().emit(Fence((leaf.value,)))  # type: ignore[union-attr, no-any-return]
    if isinstance(leaf, Runtime) and leaf.value.type == t:
        return leaf.value
    return as_value(leaf, t)


def wrap_like(leaf: Any, value: Value) -> Any:
    """The proxy of `value`, of the same class as `leaf` if that is one of the same type."""
    if isinstance(leaf, Runtime) and type(leaf.value.type) is type(value.type):
        return type(leaf)(value)
    return wrap(value)


def _tell(found: list[Any], spans: tuple[Span | None, ...]) -> tuple[tuple[str, Span | None], ...]:
    return tuple(("unbound" if x is UNBOUND else describe(x), span) for x, span in zip(found, spans, strict=True))


def merge_paths(paths: list[Path]) -> Path:
    """The path of a state reached by any of `paths`: complete decisions drop out, incomplete ones stay opaque."""
    remaining = set(paths)
    changed = True
    while changed and len(remaining) > 1:
        changed = False
        groups: dict[tuple[Path, int, int], set[Path]] = {}
        for path in remaining:
            if path:
                decision, _, count = path[-1]
                groups.setdefault((path[:-1], decision, count), set()).add(path)
        for (prefix, _, count), members in groups.items():
            if len(members) == count:
                remaining = (remaining - members) | {prefix}
                changed = True
                break
    if len(remaining) == 1:
        return remaining.pop()
    common = _common_prefix(list(remaining))
    return (*common, (new_decision(), 0, 0))


def _common_prefix(paths: list[Path]) -> Path:
    shortest = min(paths, key=len)
    for i, step in enumerate(shortest):
        if any(path[i] != step for path in paths):
            return shortest[:i]
    return shortest
