"""One function being evaluated: executes its instructions on compile-time objects and run-time proxies.

Operations are Python's own: `operator.add` on two ints is executed, on a proxy it emits an op. Only what
Python cannot delegate to objects is done here: truth, jumps, calls, names, and who may be mutated.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from cutelite.diag import CompileError, Mistake, Span
from cutelite.ir.function import Jump
from cutelite.lang.values import Runtime, Scalar, as_value, describe, logical_not, mistake, truth, wrap
from cutelite.layout import DimExpr
from cutelite.ops.control import AssertFail, CondBr, Unreachable

from . import tree
from .bytecode import Code, Instr
from .cfg import Block, Cfg
from .iterators import Range, RangeIter, StaticIter, iterate
from .merge import UNBOUND, Conflict, Path, State, new_decision
from .regions import Regions
from .strings import RuntimeText, join_text, make_text

if TYPE_CHECKING:
    from .evaluation import Evaluation


class DeadEnd(Exception):
    """No thread gets past this instruction."""


class Cell:
    """A variable shared with nested functions; its content is in `owner`'s locals while that is running."""

    __slots__ = ("name", "owner", "snapshot")

    def __init__(self, owner: Frame, name: str) -> None:
        self.owner, self.name = owner, name
        self.snapshot: Any = UNBOUND

    def get(self) -> Any:
        state = self.owner.state
        value = state.locals.get(self.name, UNBOUND) if state is not None else self.snapshot
        if value is UNBOUND:
            raise mistake("unbound", f"`{self.name}` is used before it is bound")
        return value


class Closure:
    """A function made inside a kernel: a lambda, nested `def` or comprehension."""

    __slots__ = ("cells", "code", "defaults", "globals", "kwdefaults", "name")

    def __init__(
        self,
        code: CodeType,
        globals: dict[str, Any],
        cells: dict[str, Any],
        defaults: tuple[Any, ...],
        kwdefaults: dict[str, Any],
    ) -> None:
        self.code, self.globals, self.cells = code, globals, cells
        self.defaults, self.kwdefaults, self.name = defaults, kwdefaults, code.co_name


UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "@": operator.matmul,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}


class Frame:
    """The evaluation of one call of one function."""

    def __init__(
        self,
        evaluation: Evaluation,
        code: Code,
        cfg: Cfg,
        globals: dict[str, Any],
        cells: dict[str, Any],
        call: Span | None,
        key: Any,
    ) -> None:
        self.evaluation, self.code, self.cfg = evaluation, code, cfg
        self.globals, self.cells, self.call = globals, cells, call
        self.builder = evaluation.builder
        self.key = key  # the chain of calls that led here: what tells loops apart in the evaluation's memory
        self.state: State | None = None
        self.start: Path = ()
        self.successors: tuple[int, ...] = ()  # of the block being executed
        self.yielded: list[Any] | None = [] if code.is_genexpr else None
        self.regions = Regions(cfg, self.builder, self.run_block, evaluation.memory_of(key), evaluation.mutables)
        self._spans: dict[int, Span] = {}

    def run(self, bound: dict[str, Any], path: Path) -> list[tuple[State, Any]]:
        """Evaluate with these arguments from the builder's block on; every way it returns."""
        where = {name: self.call for name in bound if self.call}
        self.start = path
        return self.regions.run(State(dict(bound), [], where, self.builder.block, path))

    def run_block(self, block: Block, state: State) -> None:
        outer, self.state = self.state, state
        self.successors = block.successors
        self.builder.block = state.block
        try:
            for instr in self.cfg.instrs(block):
                self.builder.span = self._span(instr)
                if HANDLERS[instr.op](self, state, instr):
                    return
            self.regions.edge(block.successors[0], state)
        except DeadEnd:
            return
        except CompileError as error:
            raise error.at(self.builder.span) from error.__cause__
        finally:
            self.state = outer
            for cell in self.evaluation.cells_of(self):
                cell.snapshot = state.locals.get(cell.name, UNBOUND)

    def _span(self, instr: Instr) -> Span:
        span = self._spans.get(instr.offset)
        if span is None:
            span = self._spans[instr.offset] = instr.span.inlined_at(self.call)
        return span

    def native(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Let Python execute it; what it raises becomes an error at the user's line."""
        try:
            return function(*args, **kwargs)
        except (CompileError, DeadEnd):
            raise
        except RecursionError as error:
            raise mistake("recursion", "compile-time recursion is too deep") from error
        except Exception as error:
            raise self.evaluation.python_error(error) from error


def _truth_or_static(x: Any) -> Any:
    """A bool where the truth of `x` is known at compile time, else a run-time bool."""
    if isinstance(x, Scalar | DimExpr):
        return truth(x)
    if isinstance(x, Conflict):
        raise x.error("this value", None)
    return bool(x)


# Handlers: (frame, state, instruction) -> True where the block ends.

Handler = Callable[[Frame, State, Instr], bool | None]
HANDLERS: dict[str, Handler] = {}


def handles(*ops: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(ops, handler))
        return handler

    return register


@handles("POP")
def _pop(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.pop()


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


@handles("LOAD", "LOAD_CELL")
def _load(frame: Frame, state: State, instr: Instr) -> None:
    name = instr.arg
    value = state.locals.get(name, UNBOUND)
    if value is UNBOUND and name in frame.cells:
        value = _cell_content(frame.cells[name], name)
    if value is UNBOUND:
        raise mistake("unbound", f"`{name}` is used before it is bound")
    if isinstance(value, Conflict):
        raise value.error(name, frame.builder.span)
    state.stack.append(value)


def _cell_content(cell: Any, name: str) -> Any:
    if isinstance(cell, Cell):
        return cell.get()
    try:
        return cell.cell_contents
    except ValueError:
        raise mistake("unbound", f"`{name}` of the enclosing function is not bound yet") from None


@handles("STORE", "STORE_CELL")
def _store(frame: Frame, state: State, instr: Instr) -> None:
    name, value = instr.arg, state.stack.pop()
    holder = frame.cells.get(name)
    if isinstance(holder, Cell) and name not in frame.code.cells:  # `:=` in a comprehension of Python 3.11
        owner = holder.owner.state
        assert owner is not None
        owner.locals[name] = value
        return
    if isinstance(value, Runtime) and not value.value.hint:
        value.value.hint = name
    state.locals[name] = value
    state.where[name] = frame.builder.span


@handles("DELETE")
def _delete(frame: Frame, state: State, instr: Instr) -> None:
    if state.locals.pop(instr.arg, UNBOUND) is UNBOUND:
        raise mistake("unbound", f"`{instr.arg}` is deleted before it is bound")


@handles("GLOBAL")
def _global(frame: Frame, state: State, instr: Instr) -> None:
    name = instr.arg
    if name in frame.globals:
        state.stack.append(frame.globals[name])
    elif hasattr(builtins, name):
        state.stack.append(getattr(builtins, name))
    else:
        raise frame.evaluation.unknown_name(name, frame)


@handles("MAKE_CELL")
def _make_cell(frame: Frame, state: State, instr: Instr) -> None:
    """Cells live in the locals under their own name."""


@handles("CLOSURE")
def _closure(frame: Frame, state: State, instr: Instr) -> None:
    held = frame.cells.get(instr.arg)
    state.stack.append(held if held is not None else frame.evaluation.cell(frame, instr.arg))


@handles("FUNCTION")
def _function(frame: Frame, state: State, instr: Instr) -> None:
    code = state.stack.pop()
    given = {kind: state.stack.pop() for kind in reversed(instr.arg)}
    cells = dict(zip(code.co_freevars, given.get("closure", ()), strict=False))
    made = Closure(code, frame.globals, cells, given.get("defaults", ()), given.get("kwdefaults", {}))
    state.stack.append(made)


@handles("UNARY")
def _unary(frame: Frame, state: State, instr: Instr) -> None:
    a = state.stack.pop()
    if instr.arg == "not":
        known = frame.native(_truth_or_static, a)
        state.stack.append(logical_not(known) if isinstance(known, Scalar) else not known)
    else:
        state.stack.append(frame.native(UNARY[instr.arg], a))


@handles("BINARY")
def _binary(frame: Frame, state: State, instr: Instr) -> None:
    b, a = state.stack.pop(), state.stack.pop()
    name = instr.arg.removesuffix("=")
    if name != instr.arg and isinstance(a, list | set | dict):
        raise mistake(
            "mutation",
            f"`{instr.arg}` would change a compile-time {type(a).__name__} in place",
            help=f"write `x = x {name} ...`",
        )
    state.stack.append(frame.native(BINARY[name], a, b))


@handles("COMPARE")
def _compare(frame: Frame, state: State, instr: Instr) -> None:
    b, a = state.stack.pop(), state.stack.pop()
    state.stack.append(frame.native(compare, instr.arg, a, b))


def compare(symbol: str, a: Any, b: Any) -> Any:
    if symbol in ("is", "is not"):
        return (a is b) == (symbol == "is")
    if symbol in ("in", "not in"):
        found = _contains(b, a)
        if symbol == "in":
            return found
        return logical_not(found) if isinstance(found, Scalar) else not found
    if isinstance(a, DimExpr) or isinstance(b, DimExpr):
        return _compare_dims(symbol, a, b)
    return COMPARE[symbol](a, b)


def _compare_dims(symbol: str, a: Any, b: Any) -> Any:
    """Two dim expressions that are equal as expressions are equal; anything else is compared at run time."""
    if isinstance(a, DimExpr | int) and isinstance(b, DimExpr | int) and a == b:
        return symbol in ("==", "<=", ">=")
    if not all(isinstance(x, DimExpr | int | float | Scalar) for x in (a, b)):
        return COMPARE[symbol](a, b)
    return COMPARE[symbol](wrap(as_value(a)) if isinstance(a, DimExpr) else a, wrap(as_value(b)) if isinstance(b, DimExpr) else b)


def _contains(container: Any, item: Any) -> Any:
    if not tree.holds_runtime(item) and not tree.holds_runtime(container):
        return item in container
    found: Any = False
    for candidate in container:
        equal = compare("==", item, candidate)
        found = equal if found is False else found | equal
        if found is True:
            return True
    return found


@handles("SUBSCR")
def _subscr(frame: Frame, state: State, instr: Instr) -> None:
    key, obj = state.stack.pop(), state.stack.pop()
    state.stack.append(frame.native(operator.getitem, obj, key))


@handles("STORE_SUBSCR")
def _store_subscr(frame: Frame, state: State, instr: Instr) -> None:
    key, obj, value = state.stack.pop(), state.stack.pop(), state.stack.pop()
    if not isinstance(obj, Runtime):
        frame.evaluation.check_mutable(obj, state.path, "assigning to an item")
    frame.native(operator.setitem, obj, key, value)


@handles("ATTR")
def _attr(frame: Frame, state: State, instr: Instr) -> None:
    obj = state.stack.pop()
    state.stack.append(frame.native(frame.evaluation.attribute, obj, instr.arg))


@handles("STORE_ATTR")
def _store_attr(frame: Frame, state: State, instr: Instr) -> None:
    obj = state.stack.pop()
    raise mistake(
        "mutation",
        f"the attribute `{instr.arg}` of {describe(obj)} cannot be assigned inside a kernel",
        help="make a new object: `dataclasses.replace(obj, ...)` or `obj._replace(...)`",
    )


@handles("CALL")
def _call(frame: Frame, state: State, instr: Instr) -> None:
    positional, names = instr.arg
    count = positional + len(names)
    args = state.stack[len(state.stack) - count :]
    del state.stack[len(state.stack) - count :]
    function = state.stack.pop()
    kwargs = dict(zip(names, args[positional:], strict=True))
    _do_call(frame, state, instr, function, args[:positional], kwargs)


@handles("CALL_EX")
def _call_ex(frame: Frame, state: State, instr: Instr) -> None:
    kwargs = state.stack.pop() if instr.arg else {}
    args, function = state.stack.pop(), state.stack.pop()
    _do_call(frame, state, instr, function, list(iterate_static(args)), dict(kwargs))


def _do_call(frame: Frame, state: State, instr: Instr, function: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    span = frame.builder.span
    result, state.path = frame.evaluation.call(frame, instr, function, args, kwargs, state.path)
    frame.builder.span = span
    state.block = frame.builder.block
    state.stack.append(result)


def _take(state: State, n: int) -> list[Any]:
    items = state.stack[len(state.stack) - n :]
    del state.stack[len(state.stack) - n :]
    return items


@handles("TUPLE")
def _tuple(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(tuple(_take(state, instr.arg)))


@handles("LIST")
def _list(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(frame.evaluation.made(_take(state, instr.arg), state.path))


@handles("SET")
def _set(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(frame.evaluation.made(set(_take(state, instr.arg)), state.path))


@handles("MAP")
def _map(frame: Frame, state: State, instr: Instr) -> None:
    items = _take(state, 2 * instr.arg)
    state.stack.append(frame.evaluation.made(dict(zip(items[::2], items[1::2], strict=True)), state.path))


@handles("KEY_MAP")
def _key_map(frame: Frame, state: State, instr: Instr) -> None:
    values = _take(state, len(instr.arg))
    state.stack.append(frame.evaluation.made(dict(zip(instr.arg, values, strict=True)), state.path))


@handles("SLICE")
def _slice(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(slice(*_take(state, instr.arg)))


@handles("LIST_APPEND", "SET_ADD", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE")
def _grow(frame: Frame, state: State, instr: Instr) -> None:
    item = state.stack.pop()
    container = state.stack[-instr.arg]
    frame.evaluation.check_mutable(container, state.path, "a comprehension under a run-time condition")
    match instr.op:
        case "LIST_APPEND":
            container.append(item)
        case "SET_ADD":
            container.add(item)
        case "LIST_EXTEND":
            container.extend(iterate_static(item))
        case "DICT_MERGE" if set(container) & set(item):
            raise mistake("call", f"the keyword arguments {sorted(set(container) & set(item))} are given twice")
        case _:
            container.update(item)


@handles("MAP_ADD")
def _map_add(frame: Frame, state: State, instr: Instr) -> None:
    value, key = state.stack.pop(), state.stack.pop()
    container = state.stack[-instr.arg]
    frame.evaluation.check_mutable(container, state.path, "a comprehension under a run-time condition")
    container[key] = value


@handles("LIST_TO_TUPLE")
def _list_to_tuple(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(tuple(state.stack.pop()))


@handles("UNPACK")
def _unpack(frame: Frame, state: State, instr: Instr) -> None:
    items = list(frame.native(iterate_static, state.stack.pop()))
    if len(items) != instr.arg:
        raise mistake("unpack", f"{len(items)} values cannot be unpacked into {instr.arg} names")
    state.stack.extend(reversed(items))


@handles("UNPACK_EX")
def _unpack_ex(frame: Frame, state: State, instr: Instr) -> None:
    before, after = instr.arg
    items = list(frame.native(iterate_static, state.stack.pop()))
    if len(items) < before + after:
        raise mistake("unpack", f"{len(items)} values cannot be unpacked into {before + after} names or more")
    middle = frame.evaluation.made(items[before : len(items) - after], state.path)
    state.stack.extend(reversed([*items[:before], middle, *items[len(items) - after :]]))


@handles("CONVERT")
def _convert(frame: Frame, state: State, instr: Instr) -> None:
    value = state.stack.pop()
    if tree.holds_runtime(value):
        raise mistake("f-string", f"`!{instr.arg[0]}` needs a compile-time value", f"this is {describe(value)}")
    state.stack.append(frame.native({"str": str, "repr": repr, "ascii": ascii}[instr.arg], value))


@handles("FORMAT")
def _format(frame: Frame, state: State, instr: Instr) -> None:
    spec = state.stack.pop() if instr.arg else ""
    state.stack.append(frame.native(make_text, state.stack.pop(), spec))


@handles("STRING")
def _string(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(join_text(_take(state, instr.arg)))


@handles("GET_LEN")
def _get_len(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(frame.native(len, state.stack[-1]))


@handles("MATCH_SEQUENCE")
def _match_sequence(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(isinstance(state.stack[-1], tuple | list))


@handles("MATCH_MAPPING")
def _match_mapping(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(isinstance(state.stack[-1], dict))


@handles("MATCH_KEYS")
def _match_keys(frame: Frame, state: State, instr: Instr) -> None:
    keys, subject = state.stack[-1], state.stack[-2]
    state.stack.append(tuple(subject[key] for key in keys) if all(key in subject for key in keys) else None)


@handles("MATCH_CLASS")
def _match_class(frame: Frame, state: State, instr: Instr) -> None:
    names, cls, subject = state.stack.pop(), state.stack.pop(), state.stack.pop()
    if not isinstance(subject, cls):
        state.stack.append(None)
        return
    if cls in (int, float, bool, str, tuple, list, dict) and instr.arg == 1 and not names:
        state.stack.append((subject,))
        return
    positional = getattr(cls, "__match_args__", ())[: instr.arg]
    state.stack.append(tuple(getattr(subject, name) for name in (*positional, *names)))


@handles("IMPORT")
def _import(frame: Frame, state: State, instr: Instr) -> None:
    fromlist, level = state.stack.pop(), state.stack.pop()
    state.stack.append(frame.native(builtins.__import__, instr.arg, frame.globals, None, fromlist or (), level))


@handles("IMPORT_FROM")
def _import_from(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(frame.native(getattr, state.stack[-1], instr.arg))


def iterate_static(x: Any) -> tuple[Any, ...]:
    """The items of a compile-time sequence, or of a run-time object of static length."""
    if isinstance(x, StaticIter):
        return x.items[x.at :]
    if isinstance(x, Range):
        x.__iter__()
    if isinstance(x, Runtime) and not hasattr(x, "__iter__"):
        raise mistake("iteration", f"{describe(x)} cannot be iterated over")
    return tuple(x)


@handles("ITER")
def _iter(frame: Frame, state: State, instr: Instr) -> None:
    x = state.stack.pop()
    if isinstance(x, StaticIter | RangeIter):
        state.stack.append(x)
    elif isinstance(x, Range):
        state.stack.append(frame.native(iterate, x))
    else:
        state.stack.append(StaticIter(frame.native(iterate_static, x)))


@handles("FOR_ITER")
def _for_iter(frame: Frame, state: State, instr: Instr) -> bool | None:
    iterator = state.stack.pop()
    _, done = frame.successors
    if isinstance(iterator, StaticIter):
        if iterator.exhausted:
            frame.regions.edge(done, state)
            return True
        state.stack += [iterator.advanced(), iterator.items[iterator.at]]
        return None
    if not isinstance(iterator, RangeIter):
        raise mistake("iteration", f"{describe(iterator)} cannot be iterated over")
    index, end, step = iterator
    more = index != end
    advanced = RangeIter(index + step, end, step)
    body, out = _fork(frame, state, more)
    frame.builder.block = out.block
    frame.regions.edge(done, out)
    frame.builder.block = body.block
    state.block, state.path = body.block, body.path
    state.stack += [advanced, index]
    return None


def _fork(frame: Frame, state: State, cond: Scalar) -> tuple[State, State]:
    """End the open block with a branch: the states where `cond` holds and where it does not."""
    builder, decision = frame.builder, new_decision()
    yes, no = builder.new_block(), builder.new_block()
    builder.emit(CondBr(cond.value, Jump(yes), Jump(no)))
    return (
        state.fork(yes, (*state.path, (decision, 1, 2))),
        state.fork(no, (*state.path, (decision, 0, 2))),
    )


@handles("YIELD")
def _yield(frame: Frame, state: State, instr: Instr) -> None:
    assert frame.yielded is not None
    if state.path != frame.start:
        raise mistake(
            "generator",
            "how many items this generator yields is known only at run time",
            help="iterate over `cl.static_range`, or over compile-time items",
        )
    frame.yielded.append(state.stack.pop())
    state.stack.append(None)


@handles("JUMP")
def _jump(frame: Frame, state: State, instr: Instr) -> bool:
    frame.regions.edge(frame.successors[0], state)
    return True


@handles("JUMP_IF_TRUE", "JUMP_IF_FALSE")
def _jump_if(frame: Frame, state: State, instr: Instr) -> bool:
    known = frame.native(_truth_or_static, state.stack.pop())
    when_true, when_false = frame.successors
    if not isinstance(known, Scalar):
        frame.regions.edge(when_true if known else when_false, state)
        return True
    failing = [b for b in (when_true, when_false) if frame.cfg.blocks[b].is_assertion_failure]
    if failing and not frame.evaluation.assertions:
        frame.regions.edge(when_false if when_true in failing else when_true, state)
        return True
    yes, no = _fork(frame, state, known)
    if failing:  # who fails goes no further, so nothing depends on this decision
        (no if when_true in failing else yes).path = state.path
    for target, taken in ((when_true, yes), (when_false, no)):
        frame.builder.block = taken.block
        frame.regions.edge(target, taken)
    return True


@handles("RETURN")
def _return(frame: Frame, state: State, instr: Instr) -> bool:
    frame.regions.leave(state, state.stack.pop())
    return True


@handles("RAISE")
def _raise(frame: Frame, state: State, instr: Instr) -> bool:
    raised = _take(state, instr.arg)[0] if instr.arg else None
    if isinstance(raised, type) and issubclass(raised, BaseException):
        raised = raised()
    if state.path == frame.start:
        if isinstance(raised, AssertionError):
            raise mistake("assertion", "an assertion fails at compile time", str(raised))
        raise mistake("raised", f"{type(raised).__name__}: {raised}")
    if not isinstance(raised, AssertionError):
        raise mistake(
            "runtime-raise",
            "an exception cannot be raised under a run-time condition",
            help="use `assert`, which stops the kernel when assertions are enabled",
        )
    if not frame.evaluation.assertions:
        raise mistake("runtime-raise", "AssertionError raised under a run-time condition", help="use `assert`")
    message = raised.args[0] if raised.args else "assertion failed"
    frame.evaluation.emit_assert_failure(message)
    frame.builder.emit(Unreachable())
    raise DeadEnd


@handles("UNSUPPORTED")
def _unsupported(frame: Frame, state: State, instr: Instr) -> bool:
    raise CompileError(instr.arg, frame.builder.span)


__all__ = ["AssertFail", "Cell", "Closure", "DeadEnd", "Frame", "Mistake", "RuntimeText"]
