"""Locals, globals, variables of nested functions, attributes and imports."""

from __future__ import annotations

import builtins
import functools
import sys
from types import FunctionType
from typing import Any

from cutelite.diag import CompileError
from cutelite.front import calls, tree
from cutelite.front.closure import Cell, Closure
from cutelite.front.frame import Frame, handles
from cutelite.front.instructions import Instr
from cutelite.front.iterators import StaticIter
from cutelite.front.state import UNBOUND, Conflict, State
from cutelite.front.unready import FUNCTIONS, check_dropped, is_next
from cutelite.lang import python_names
from cutelite.lang.emit import Runtime, describe, mistake
from cutelite.lang.lazy import Lazy
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Scalar
from cutelite.layout import DimExpr
from cutelite.ops.tensor import SmemAlloc, TensorMake, TensorPtr
from cutelite.records import fact


@handles("POP")
def _pop(frame: Frame, state: State, instr: Instr) -> None:
    dropped = state.stack.pop()
    if dropped is not None and (is_next(dropped) or isinstance(dropped, FUNCTIONS)):
        check_dropped(dropped, frame.cfg.instrs(frame.block), instr)


@handles("COPY")
def _copy(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(state.stack[-instr.arg])


@handles("SWAP")
def _swap(frame: Frame, state: State, instr: Instr) -> None:
    stack = state.stack
    stack[-1], stack[-instr.arg] = stack[-instr.arg], stack[-1]


@handles("CONST")
def _const(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(instr.arg)


@handles("ASSERTION_ERROR")
def _assertion_error(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(AssertionError)


@handles("LOAD")
def _load(frame: Frame, state: State, instr: Instr) -> None:
    value = state.locals.get(instr.arg, UNBOUND)
    if value is UNBOUND or isinstance(value, Conflict):
        raise _unusable(frame, instr.arg, value)
    state.stack.append(value)


@handles("LOAD_CELL")
def _load_cell(frame: Frame, state: State, instr: Instr) -> None:
    name = instr.arg
    held = None if name in frame.code.cells else frame.cells.get(name)
    if held is None:
        value = state.locals.get(name, UNBOUND)
    elif isinstance(held, Cell):
        value = held.get()
    else:
        value = _python_cell(held)
    if value is UNBOUND or isinstance(value, Conflict):
        raise _unusable(frame, name, value)
    state.stack.append(value)


def _python_cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def _unusable(frame: Frame, name: str, value: Any) -> Exception:
    shown = name.partition(".")[0]  # variables of inlined comprehensions are called `x.1`
    if isinstance(value, Conflict):
        return value.error(shown, frame.builder.span)
    return mistake("unbound", f"`{shown}` is used before it is bound")


@handles("STORE", "STORE_CELL")
def _store(frame: Frame, state: State, instr: Instr) -> None:
    name, value = instr.arg, state.stack.pop()
    span = frame.builder.span
    if instr.op == "STORE_CELL" and name not in frame.code.cells:  # `:=` in a comprehension of Python 3.11
        holder = frame.cells[name]
        owner = holder.owner.state if isinstance(holder, Cell) and holder.owner else None
        if owner is None or state.share != frame.start:
            raise mistake("walrus", f"`{name} :=` in a comprehension under a run-time condition", help="use a loop")
        state = owner
    if isinstance(value, Runtime) and not isinstance(value, Lazy) and not value.value.hint:
        value.value.hint = name
    elif type(value) is not tuple:
        _name_memory(name, value)
    state.locals[name] = value
    state.where[name] = span
    if frame.evaluation.variables:
        from cutelite.front.variables import keep  # which few compiles need

        keep(frame.builder, frame.code, name, value)


def _name_memory(name: str, value: Any) -> None:
    """Name shared memory in the fields of an object after where it is: `storage.full`, `storage.pipe.full`.

    Memory of which the fields are views, as those of a union are, has the name of the object: `storage.both`.
    """
    for field in tree.field_names(type(value)) or ():
        held, path = getattr(value, field, None), f"{name}.{field}"
        if isinstance(held, Tensor):
            memory = held.value
            while isinstance(memory.op, (TensorMake, TensorPtr)):
                memory, path = memory.op.operands[0], name
            if isinstance(memory.op, SmemAlloc) and not memory.hint:
                memory.hint = path
        elif not tree.is_leaf(held):
            _name_memory(path, held)


@handles("DELETE")
def _delete(frame: Frame, state: State, instr: Instr) -> None:
    if state.locals.pop(instr.arg, UNBOUND) is UNBOUND:
        raise mistake("unbound", f"`{instr.arg}` is deleted before it is bound")


@handles("GLOBAL")
def _global(frame: Frame, state: State, instr: Instr) -> None:
    name = instr.arg
    value = frame.globals.get(name, UNBOUND)
    if value is UNBOUND:
        value = getattr(builtins, name, UNBOUND)
    if value is UNBOUND:
        raise _unknown(name, frame)
    state.stack.append(value)


def _unknown(name: str, frame: Frame) -> CompileError:
    """Return the error for a name that is no local, global or builtin."""
    known = [*frame.code.pycode.co_varnames, *frame.code.free, *frame.globals, *dir(builtins)]
    from cutelite.lang.foreign import bare_suggestion  # imported here: only a misspelling needs it

    help = bare_suggestion(name, known, sys.modules["cutelite"].__all__)
    if name in sys.stdlib_module_names:
        help = f"import it beside the kernel: `import {name}`"
    return mistake("unknown-name", f"the name `{name}` is not defined", help=help)


# Nested functions.


@handles("MAKE_CELL")
def _make_cell(frame: Frame, state: State, instr: Instr) -> None:
    """Make a cell. Its content is in the locals; an inlined comprehension makes new cells each time."""
    old = frame.own.get(instr.arg)
    if old is not None:
        old.detach(state.locals.pop(instr.arg, UNBOUND))
    frame.own[instr.arg] = Cell(frame, instr.arg)


@handles("CLOSURE")
def _closure(frame: Frame, state: State, instr: Instr) -> None:
    name = instr.arg
    state.stack.append(frame.own[name] if name in frame.own else frame.cells[name])


@handles("FUNCTION")
def _function(frame: Frame, state: State, instr: Instr) -> None:
    code = state.stack.pop()
    given = {kind: state.stack.pop() for kind in reversed(instr.arg)}
    cells = dict(zip(code.co_freevars, given.get("closure", ()), strict=True))
    defaults, kwdefaults = given.get("defaults", ()), given.get("kwdefaults", {})
    made = Closure(calls.evaluate_in(frame.evaluation), code, frame.globals, cells, defaults, kwdefaults)
    state.stack.append(frame.evaluation.mutables.made(made, state.share))


# Attributes and imports.


@handles("ATTR")
def _attr(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(attribute(frame, state.stack.pop(), instr.arg))


NAMED: dict[str, Any] = {}
"""By the names of special methods of numbers, such as `__round__`: the builtins that call them (see `builtins`)."""


def attribute(frame: Frame, obj: Any, name: str) -> Any:
    """Return ``obj.name``; a property written in Python is a function like any other, and inlined."""
    if isinstance(obj, DimExpr) and name in python_names.NAMES:
        return frame.native(python_names.attribute, obj, name)
    if not isinstance(obj, Runtime):
        kind: Any = type(obj)
        getter = _property_of(kind, name)
        if getter is not None and calls.is_inlined(getter):
            kept = isinstance(calls.class_attribute(kind, name), functools.cached_property)
            return _cached_property(frame, getter, obj, name) if kept else calls.call_python(frame, getter, [obj], {})
    elif name == "__class__":
        return calls.call(frame, type, [obj], {})
    elif isinstance(obj, Scalar) and name in NAMED and hasattr(calls.stand_in(obj), name):
        return functools.partial(NAMED[name], obj)
    return frame.native(_getattr, frame, obj, name)


def _cached_property(frame: Frame, getter: FunctionType, obj: Any, name: str) -> Any:
    """Return a `cached_property`, which an object that the kernel made keeps where it may change.

    Of any other object it is a plain property, since its result may depend on the place in the kernel.
    """
    mutables = frame.evaluation.mutables
    held = getattr(obj, "__dict__", None) if mutables.is_made(obj) else None  # there is none of a class with slots
    if held is not None and name in held:
        return held[name]
    value = calls.call_python(frame, getter, [obj], {})
    if held is not None and mutables.is_made(obj, frame.share):
        mutables.changing(obj, frame.share, f"keeping `.{name}`")
        held[name] = value
    return value


@functools.lru_cache(maxsize=4096)
def _property_of(cls: Any, name: str) -> FunctionType | None:
    """Return the Python function behind a property; None if it is no property.

    So is a `cached_property`; a `fact` is none.
    """
    found = calls.class_attribute(cls, name)
    getter = found.fget if isinstance(found, property) else getattr(found, "func", None)
    is_property = isinstance(found, (property, functools.cached_property)) and not isinstance(found, fact)
    return getter if is_property and isinstance(getter, FunctionType) else None


def has_attribute(obj: Any, name: str) -> bool:
    """Compute hasattr(), without executing a property of the user's.

    A number has what it answers, and special methods of Python's; an iterator has what one of Python has.
    """
    kind: Any = type(obj)
    number = calls.stand_in(obj)
    if isinstance(obj, StaticIter):
        return hasattr(obj.python, name)
    if number is not obj and isinstance(number, int | float):
        of_dim = isinstance(obj, DimExpr) and name in python_names.OF_INTEGERS
        return hasattr(number, name) if name.startswith("__") or of_dim else hasattr(obj, name)
    return (not isinstance(obj, Runtime) and _property_of(kind, name) is not None) or hasattr(obj, name)


def _getattr(frame: Frame, obj: Any, name: str) -> Any:
    try:
        return getattr(obj, name)
    except AttributeError as error:
        if error.obj is not None and error.obj is not obj:
            raise  # of something else, within a property
        raise frame.evaluation.no_attribute(obj, name) from None


@handles("STORE_ATTR")
def _store_attr(frame: Frame, state: State, instr: Instr) -> None:
    obj, value = state.stack.pop(), state.stack.pop()
    if isinstance(obj, Runtime) or (tree.take_apart(obj) is not None and not isinstance(obj, Closure)):
        raise mistake(
            "mutation",
            f"the attribute `{instr.arg}` of {describe(obj)} cannot be assigned",
            help="make a new object: `dataclasses.replace(obj, ...)` or `obj._replace(...)`",
        )
    frame.evaluation.mutables.changing(obj, state.share, f"assigning to `.{instr.arg}`")
    frame.native(setattr, obj, instr.arg, value)


@handles("IMPORT")
def _import(frame: Frame, state: State, instr: Instr) -> None:
    fromlist, level = state.stack.pop(), state.stack.pop()
    state.stack.append(frame.native(builtins.__import__, instr.arg, frame.globals, None, fromlist or (), level))


@handles("IMPORT_FROM")
def _import_from(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(frame.native(_getattr, frame, state.stack[-1], instr.arg))
