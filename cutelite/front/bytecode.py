"""A Python function's bytecode -> version-neutral instructions with spans.

In    a function or code object of CPython 3.11, 3.12, 3.13 or 3.14
Out   `instructions.Bytecode`: the reachable instructions in their original order, every argument resolved

All differences between Python versions end here. There are no NULLs on the stack, no EXTENDED_ARG, CACHE,
RESUME or NOP; superinstructions are split and fused tests unfused; jump targets are indices into `Bytecode.instrs`.

Comprehensions are ordinary loops. 3.11 calls a nested function for each (`Bytecode.name` is ``<listcomp>`` and so
on; its argument is an iterator named ``.0``); from 3.12 on they are part of the function around them, where
their variables get names of their own: ``x.1`` is the `x` of the first such comprehension, and `x` is untouched.
Generator expressions are nested functions in every version: `Bytecode.is_genexpr`, with YIELD where it yields.
``super()`` always comes with its two arguments.
"""

from __future__ import annotations

import itertools
import opcode
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from cutelite.diag import CompileError, InternalError, Mistake, Span
from cutelite.front.instructions import Bytecode, Call, Instr, UnsupportedSyntax
from cutelite.front.slots import Flow
from cutelite.tuples import NamedTuple


def read(function: FunctionType | CodeType) -> Bytecode:
    """Return the neutral instructions of `function`, or of a code object such as a nested function's.

    Errors   `python-version` on any Python but CPython 3.11 to 3.14
    """
    pycode = function if isinstance(function, CodeType) else function.__code__
    table = _table(sys.implementation.name, (sys.version_info[0], sys.version_info[1]))
    raws = list(_decode(pycode))
    start = Span(pycode.co_filename, pycode.co_firstlineno, function=_short_name(pycode))
    refused = _refused(pycode, raws)
    if refused:
        cells: frozenset[str] = frozenset()
        instrs = [refused]
    else:
        draft, labels = _Translation(pycode, table, raws).run()
        instrs, cells = Flow(pycode, draft, labels).run()
    arguments = pycode.co_argcount + pycode.co_kwonlyargcount
    names = pycode.co_varnames
    varargs = names[arguments] if pycode.co_flags & _VARARGS else None
    varkw = names[arguments + bool(varargs)] if pycode.co_flags & _VARKEYWORDS else None
    return Bytecode(
        name=pycode.co_name,
        span=start,
        instrs=tuple(instrs),
        positional=names[: pycode.co_argcount],
        posonly=pycode.co_posonlyargcount,
        kwonly=names[pycode.co_argcount : arguments],
        varargs=varargs,
        varkw=varkw,
        cells=cells,
        free=pycode.co_freevars,
        is_genexpr=pycode.co_name == "<genexpr>",
        pycode=pycode,
    )


# ---------------------------------------------------------------- what kernels cannot do

_TRY = UnsupportedSyntax("`try`", "test for the condition beforehand: nothing raises or is caught while a kernel runs")
_WITH = UnsupportedSyntax("the handler of a `with`", "nothing raises while a kernel runs")
_YIELD = UnsupportedSyntax("`yield`", "loop where the values are used, or take a function to call with each of them")
_ASYNC = UnsupportedSyntax("`async` and `await`", "use a plain `def`; kernels wait at barriers")
_GLOBAL = UnsupportedSyntax("assigning to a global", "return the value, or store it in a tensor")
_NONLOCAL = UnsupportedSyntax("assigning to a `nonlocal`", "return the value and assign it in the outer function")
_NAMED = UnsupportedSyntax("`:=` in a generator expression", "write a loop: items are taken all at once")
_CLASS = UnsupportedSyntax("`class` inside a kernel", "define the class outside")
_BODY = UnsupportedSyntax("a module or class body", "put the code in a function")
_DEL = UnsupportedSyntax("`del` of an item or attribute", "make a new object without it")
_REST = UnsupportedSyntax("`**rest` in a pattern", "match the whole mapping and pick from it")
_DEL_CELL = UnsupportedSyntax(
    "`del` of a variable that a nested function uses", "leave it alone, or rename one of them"
)
_STAR = UnsupportedSyntax("`from .. import *`", "import outside the kernel")
_TEMPLATE = UnsupportedSyntax("a template string", "use an f-string")
_GENERIC = UnsupportedSyntax("a function with type parameters inside a kernel", "define it outside")

# co_flags (Python's data model, "Code objects").
_OPTIMIZED, _VARARGS, _VARKEYWORDS, _GENERATOR, _COROUTINES = 0x1, 0x4, 0x8, 0x20, 0x80 | 0x100 | 0x200


def _refused(pycode: CodeType, raws: list[_Raw]) -> Instr | None:
    """Return the one instruction of a function that cannot be compiled at all."""

    def at(what: UnsupportedSyntax, *names: str) -> Instr:
        raw = next((r for r in raws if r.name in names), raws[0])
        return Instr("UNSUPPORTED", what, raw.offset, raw.span.first_line())

    if pycode.co_flags & _COROUTINES:
        return at(_ASYNC, "GET_AWAITABLE", "BEFORE_ASYNC_WITH", "GET_AITER")
    if pycode.co_flags & _GENERATOR and pycode.co_name != "<genexpr>":
        return at(_YIELD, "YIELD_VALUE", "GET_YIELD_FROM_ITER")
    return None if pycode.co_flags & _OPTIMIZED else at(_BODY)


# ---------------------------------------------------------------- bytes -> CPython's instructions


class _Raw(NamedTuple):
    """A CPython instruction."""

    name: str
    arg: int
    offset: int  # where jumps to it land: at its first EXTENDED_ARG
    target: int  # of a jump: the offset that it leads to
    span: Span


def _decode(pycode: CodeType) -> Iterator[_Raw]:
    """Yield the instructions of `pycode` without their prefixes and caches."""
    code, function, filename, new = pycode.co_code, _short_name(pycode), pycode.co_filename, tuple.__new__
    line, names = pycode.co_firstlineno, opcode.opname
    start, high = -1, 0  # of the instruction being read: offset of its first EXTENDED_ARG, and argument bits from these
    for at, op, low, (first, last, col, end_col) in zip(
        range(0, len(code), 2), code[::2], code[1::2], pycode.co_positions(), strict=True
    ):
        if op == _CACHE:
            continue
        line = first or line  # instructions that CPython made up have no line: they belong to the one before
        if op == _EXTENDED:
            high = (high | low) << 8
            if start < 0:
                start = at
            continue
        name, arg, target = names[op], high | low, -1
        if op in _JUMPING:
            behind = at + 2
            while behind < len(code) and code[behind] == _CACHE:
                behind += 2
            target = behind + 2 * (-arg if "BACKWARD" in name else arg)
        span = new(Span, (filename, line, col, last, end_col, function, None))  # a call of Span takes twice as long
        yield new(_Raw, (name, arg, at if start < 0 else start, target, span))
        start, high = -1, 0


_CACHE, _EXTENDED, _JUMPING = opcode.opmap["CACHE"], opcode.opmap["EXTENDED_ARG"], frozenset(opcode.hasjrel)


def _short_name(pycode: CodeType) -> str:
    """Return a function's name with that of its class, and without those of the functions around it."""
    return pycode.co_qualname.rpartition("<locals>.")[2]


def _protected(pycode: CodeType) -> Iterator[tuple[int, int]]:
    """Yield start and handler of each range in the exception table (CPython, Objects/exception_handling_notes.txt)."""
    entries = iter(pycode.co_exceptiontable)

    def number() -> int:
        byte = next(entries)
        value = byte & 63
        while byte & 64:
            byte = next(entries)
            value = value << 6 | byte & 63
        return value

    try:
        while True:
            start, _length, handler, _depth = number(), number(), number(), number()
            yield 2 * start, 2 * handler
    except StopIteration:
        return


# ---------------------------------------------------------------- CPython's instructions -> neutral ones

_Rule = Callable[["_Translation", int], None]


class _Translation:
    """Rewrites one code object instruction by instruction."""

    def __init__(self, pycode: CodeType, table: Mapping[str, _Rule], raws: list[_Raw]) -> None:
        self.pycode = pycode
        self.table = table
        self.raws = raws
        self.by_offset = {raw.offset: i for i, raw in enumerate(raws)}
        # One slot for each; a local in a cell shares its own, but not with a free variable of the same name, which
        # an inlined comprehension's variable can have.
        cells = tuple(name for name in pycode.co_cellvars if name not in pycode.co_varnames)
        self.locals = pycode.co_varnames + cells + pycode.co_freevars
        self.first_free = len(pycode.co_varnames) + len(cells)
        self.raw = raws[0]
        self.iterated = raws[0].span.first_line()  # the span of the iterable of the loop being read
        self.tested = self.iterated  # the span of the condition tested last
        self.asserted: Span | None = None  # the span of the `assert` being read
        self.keywords: tuple[str, ...] = ()
        self.behind = 0  # offset up to which a rule has translated further instructions
        self.out: list[Instr] = []
        self.labels: dict[int, int] = {}  # offset -> index in `out`; a label of our own has a negative offset

    def run(self) -> tuple[list[Instr], dict[int, int]]:
        """Return the instructions, with jumps to offsets, and the index that each offset has become."""
        blocks = self.unsupported_blocks()
        for raw in self.raws:
            name, arg, offset, _, _ = self.raw = raw
            if offset < self.behind:
                continue
            self.labels[offset] = len(self.out)
            if offset in blocks:
                self.out.append(blocks[offset])
            self.table[name](self, arg)
        return self.out, self.labels

    def unsupported_blocks(self) -> dict[int, Instr]:
        """Return the UNSUPPORTED of each `try`, by the offset where the statement begins."""
        found: dict[int, Instr] = {}
        for start, handler in _protected(self.pycode):
            at = self.by_offset[start]
            if self.statement_of(handler) is _TRY:
                keyword = self.raws[at - 1] if at and self.raws[at - 1].name == "NOP" else self.raws[at]  # NOP: `try:`
                found[start] = Instr("UNSUPPORTED", _TRY, start, keyword.span.first_line())
        return found

    def expression_before(self, at: int) -> tuple[_Raw, Span]:
        """Return the first instruction, and the whole span, of the expression that instruction `at` takes.

        Until 3.12 a `for` and a `with` have the span of the whole statement.
        """
        first, within = at, self.raws[at].span
        while first and _lies_in(self.raws[first - 1].span, within) and self.raws[first - 1].name not in _NO_EXPRESSION:
            first -= 1
        spans = [raw.span for raw in self.raws[first:at]]
        if not spans or any(span.col is None for span in spans):
            return self.raws[first], within.first_line()
        line, col = min((span.line, span.col) for span in spans)
        end_line, end_col = max((span.end_line or span.line, span.end_col) for span in spans)
        return self.raws[first], spans[0]._replace(line=line, col=col, end_line=end_line, end_col=end_col)

    def emit(self, op: str, arg: Any = None) -> None:
        raw = self.raw
        self.out.append(tuple.__new__(Instr, (op, arg, raw.offset, raw.span)))

    def statement_of(self, handler: int) -> UnsupportedSyntax | None:
        """Return the statement that an exception handler belongs to; None if CPython made the handler up.

        Handlers of `try` and `with` begin with PUSH_EXC_INFO. Others put an inlined comprehension's variables
        back, turn a StopIteration that leaves a generator into a RuntimeError, or clean up after a handler.
        """
        first = self.by_offset[handler]
        if self.raws[first].name != "PUSH_EXC_INFO":
            return None
        return _WITH if self.raws[first + 1].name == "WITH_EXCEPT_START" else _TRY

    def unsupported(self, what: UnsupportedSyntax) -> None:
        self.emit("UNSUPPORTED", what)
        self.out[-1] = self.out[-1]._replace(span=self.raw.span.first_line())

    def last_constant(self) -> Any:
        """Take back the CONST just emitted: CPython passes it on the stack, and here it is an argument."""
        last = self.out.pop()
        if last.op != "CONST":
            raise InternalError(f"{self.raw.name} does not follow a constant", stage="bytecode", span=self.raw.span)
        return last.arg

    # Rules of more than one line.

    def get_iter(self, _: int) -> None:
        self.iterated = self.expression_before(self.by_offset[self.raw.offset])[1]
        self.out.append(Instr("ITER", None, self.raw.offset, self.iterated))

    def before_with(self, _: int) -> None:
        """Translate the beginning of a `with`: call `__enter__`, leave `__exit__` on the stack.

        A block that is not run goes on where CPython goes on when `__exit__` has swallowed an exception. There the
        handler pops the exception, the one handled before, a place in the code, and `__exit__`.
        """
        at = self.by_offset[self.raw.offset]
        self.with_block(self.expression_before(at)[1], self.raws[at + 1].offset)

    def load_special(self, _: int) -> None:
        """Translate 3.14's beginning of a `with`, which leaves `__exit__` and a slot for its `self` on the stack.

        It is COPY, LOAD_SPECIAL of `__exit__`, two SWAPs, LOAD_SPECIAL of `__enter__`, CALL.
        """
        at = self.by_offset[self.raw.offset]
        rest = tuple((raw.name, raw.arg) for raw in self.raws[at - 1 : at + 5])
        if rest != _BEGIN_WITH:
            raise InternalError(f"{rest} is no beginning of a `with`", stage="bytecode", span=self.raw.span)
        self.out.pop()  # the COPY
        self.behind = self.raws[at + 5].offset
        self.with_block(self.expression_before(at - 1)[1], self.behind, ("_NULL",))

    def with_block(self, span: Span, behind: int, slots: tuple[str, ...] = ()) -> None:
        """Emit the beginning of a `with` whose block starts at `behind`; in the block, `slots` lie above `__exit__`."""
        (handler,) = {h for start, h in _protected(self.pycode) if start == behind and self.statement_of(h) is _WITH}
        first = self.by_offset[handler]
        swallowed = next(raw.target for raw in self.raws[first:] if raw.name.endswith("IF_TRUE"))
        go = -1 - self.raw.offset
        rest: list[tuple[str, Any]] = [("COPY", 1), ("WITH", "cond"), ("JUMP_IF_TRUE", go)]
        rest += [*((slot, None) for slot in slots), *[("CONST", None)] * 3, ("JUMP", swallowed)]
        self.labels[go] = len(self.out) + len(rest)
        rest += [("COPY", 1), ("WITH", "exit"), ("SWAP", 2)]
        rest += [(op, arg) for slot in slots for op, arg in ((slot, None), ("SWAP", 2))]
        rest += [("WITH", "enter"), ("CALL", Call(0))]
        self.out += [Instr(op, arg, self.raw.offset, span) for op, arg in rest]

    def jump_if(self, op: str) -> None:
        self.tested = self.value_before().span
        self.out.append(Instr(op, self.raw.target, self.raw.offset, self.tested))

    def to_bool(self, _: int) -> None:
        """Translate 3.13's test of the truth, which the jump or `not` behind it makes here. `not not x` is it alone."""
        behind = self.raws[self.by_offset[self.raw.offset] + 1].name
        if behind != "UNARY_NOT" and not behind.startswith("POP_JUMP_IF"):
            self.emit("UNARY", "not")
            self.emit("UNARY", "not")

    def compare(self, arg: int) -> None:
        """Translate 3.13's comparison, which has taken in a test of the truth behind it where bit 4 is set."""
        self.emit("COMPARE", _COMPARE[arg >> 5])
        if arg & 16:
            self.to_bool(0)

    def value_before(self) -> _Raw:
        """Return the instruction that left the value taken here: its span is an expression's in all versions."""
        at = self.by_offset[self.raw.offset] - 1
        while self.raws[at].name in ("COPY", "NOP"):
            at -= 1
        return self.raws[at]

    def assertion_error(self, _: int) -> None:
        at = self.by_offset[self.raw.offset] - 1
        while self.raws[at].name == "NOT_TAKEN":
            at -= 1
        conditional = "JUMP_IF" in self.raws[at].name
        self.asserted = self.tested if conditional else self.raw.span.first_line()
        self.out.append(Instr("ASSERTION_ERROR", None, self.raw.offset, self.asserted))

    def raise_varargs(self, arg: int) -> None:
        self.out.append(Instr("RAISE", arg, self.raw.offset, self.asserted or self.raw.span))
        self.asserted = None

    def yield_value(self, _: int) -> None:
        self.out.append(Instr("YIELD", None, self.raw.offset, self.value_before().span))

    def load_fast(self, arg: int) -> None:
        """Translate an access to a local, or in 3.13 to a cell; `Flow` knows which cells are the function's own."""
        self.emit("CLOSURE" if arg >= self.first_free else "LOAD", self.locals[arg])

    def load_global(self, arg: int) -> None:
        if arg & 1:
            self.emit("_NULL")
        self.emit("GLOBAL", self.pycode.co_names[arg >> 1])

    def load_global_first(self, arg: int) -> None:
        """Translate 3.14's access to a global, whose slot may be that for the keywords of a call."""
        self.emit("GLOBAL", self.pycode.co_names[arg >> 1])
        if arg & 1:
            self.emit("_NULL")

    def load_attr(self, arg: int) -> None:
        self.emit("_METHOD" if arg & 1 else "ATTR", self.pycode.co_names[arg >> 1])

    def load_common(self, arg: int) -> None:
        if _COMMON_CONSTANTS[arg] is AssertionError:
            self.assertion_error(arg)
        else:
            self.emit("CONST", _COMMON_CONSTANTS[arg])

    def binary_op(self, arg: int) -> None:
        if arg == len(_BINARY):
            self.emit("SUBSCR")
        else:
            self.emit("BINARY", _BINARY[arg])

    def load_super_attr(self, arg: int) -> None:
        self.emit("CALL", Call(2))
        self.load_attr(arg >> 2 << 1 | arg & 1)

    def store_deref(self, arg: int) -> None:
        name = self.locals[arg]
        around = itertools.takewhile(_COMPREHENSIONS.__contains__, self.pycode.co_qualname.split(".")[::-1])
        comprehensions = list(around)  # that this code is, and that it is within
        if name in self.pycode.co_freevars and "<genexpr>" in comprehensions:
            self.unsupported(_NAMED)
        elif name in self.pycode.co_freevars and not comprehensions:
            self.unsupported(_NONLOCAL)
        else:
            self.emit("STORE_CELL", name)

    def delete_subscr(self, _: int) -> None:
        before = self.raws[self.by_offset[self.raw.offset] - 1]
        self.unsupported(_REST if before.name == "SWAP" else _DEL)  # only a pattern swaps before it deletes

    def kw_names(self, arg: int) -> None:
        self.keywords = self.pycode.co_consts[arg]

    def call(self, arg: int) -> None:
        self.emit("_CALL", Call(arg - len(self.keywords), self.keywords))
        self.keywords = ()

    def call_kw(self, arg: int) -> None:
        self.keywords = self.last_constant()
        self.call(arg)

    def make_function(self, arg: int) -> None:
        self.emit("FUNCTION", tuple(name for bit, name in _ATTRIBUTES.items() if arg & bit))

    def set_function_attribute(self, arg: int) -> None:
        last = self.out.pop()  # FUNCTION, or this would not follow it
        self.emit(last.op, (_ATTRIBUTES[arg], *last.arg))

    def format_value(self, arg: int) -> None:
        conversion, spec = arg & 3, bool(arg & 4)
        if conversion and spec:
            self.emit("SWAP", 2)
        if conversion:
            self.emit("CONVERT", _CONVERSIONS[conversion])
        if conversion and spec:
            self.emit("SWAP", 2)
        self.emit("FORMAT", spec)

    def intrinsic(self, arg: int) -> None:
        match _INTRINSICS[arg]:
            case "UNARY_POSITIVE":
                self.emit("UNARY", "+")
            case "LIST_TO_TUPLE":
                self.emit("LIST_TO_TUPLE")
            case "IMPORT_STAR":
                self.unsupported(_STAR)
            case "STOPITERATION_ERROR":
                self.unsupported(_TRY)
            case "ASYNC_GEN_WRAP":
                self.unsupported(_ASYNC)
            case "PRINT":
                self.unsupported(_BODY)
            case _:
                self.unsupported(_GENERIC)


_NO_EXPRESSION = frozenset(
    {
        "FOR_ITER",
        "NOP",
        "POP_TOP",
        "RESUME",
        "SWAP",
        "STORE_FAST",
        "STORE_DEREF",
        "LOAD_FAST_AND_CLEAR",
        "UNPACK_SEQUENCE",
    }
    | {"STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "STORE_SUBSCR", "STORE_ATTR", "BEFORE_WITH", "UNPACK_EX"}
)  # what stands between two expressions of one statement


def _lies_in(span: Span, whole: Span) -> bool:
    if span.col is None or whole.col is None or span.end_col is None or whole.end_col is None:
        return False
    end, last = (span.end_line or span.line, span.end_col), (whole.end_line or whole.line, whole.end_col)
    return (whole.line, whole.col) <= (span.line, span.col) and end <= last


_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_ATTRIBUTES = {1: "defaults", 2: "kwdefaults", 4: "annotations", 8: "closure", 16: "annotate"}
_COMMON_CONSTANTS = (AssertionError, NotImplementedError, tuple, all, any)  # of LOAD_COMMON_CONSTANT
_BEGIN_WITH = (("COPY", 1), ("LOAD_SPECIAL", 1), ("SWAP", 2), ("SWAP", 3), ("LOAD_SPECIAL", 0), ("CALL", 0))
_CONVERSIONS = {1: "str", 2: "repr", 3: "ascii"}
_INTRINSICS = (
    *("INVALID", "PRINT", "IMPORT_STAR", "STOPITERATION_ERROR", "ASYNC_GEN_WRAP", "UNARY_POSITIVE", "LIST_TO_TUPLE"),
    *("TYPEVAR", "PARAMSPEC", "TYPEVARTUPLE", "SUBSCRIPT_GENERIC", "TYPEALIAS"),
)
_OPERATORS = ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^")
_BINARY = (*_OPERATORS, *(f"{operator}=" for operator in _OPERATORS))
_COMPARE = ("<", "<=", "==", "!=", ">", ">=")


def _put(op: str, arg: Any = None) -> _Rule:
    return lambda t, _: t.emit(op, arg)


def _count(op: str) -> _Rule:
    return lambda t, arg: t.emit(op, arg)


def _const(op: str) -> _Rule:
    return lambda t, arg: t.emit(op, t.pycode.co_consts[arg])


def _name(op: str) -> _Rule:
    return lambda t, arg: t.emit(op, t.pycode.co_names[arg])


def _local(op: str) -> _Rule:
    return lambda t, arg: t.emit(op, t.locals[arg])


def _high(rule: _Rule) -> _Rule:
    return lambda t, arg: rule(t, arg >> 4)


def _low(rule: _Rule) -> _Rule:
    return lambda t, arg: rule(t, arg & 15)


def _jump(op: str) -> _Rule:
    return lambda t, _: t.emit(op, t.raw.target)


def _jump_if(op: str) -> _Rule:
    return lambda t, _: t.jump_if(op)


def _for_iter(*ends: str) -> _Rule:
    """Return the rule of FOR_ITER, which pops an exhausted iterator itself and jumps past `ends`, which would do so."""

    def apply(t: _Translation, _: int) -> None:
        at = t.by_offset[t.raw.target]
        if tuple(raw.name for raw in t.raws[at : at + len(ends)]) != ends:
            raise InternalError("FOR_ITER does not lead to the end of a loop", stage="bytecode", span=t.raw.span)
        t.out.append(Instr("FOR_ITER", t.raws[at + len(ends)].offset, t.raw.offset, t.iterated))

    return apply


def _no(what: UnsupportedSyntax) -> _Rule:
    return lambda t, _: t.unsupported(what)


def _all(*rules: _Rule) -> _Rule:
    def apply(t: _Translation, arg: int) -> None:
        for rule in rules:
            rule(t, arg)

    return apply


def _skip(t: _Translation, arg: int) -> None:
    """Translate an instruction that has no meaning of its own: to nothing."""


_none_test = _all(_put("CONST"), _put("COMPARE", "is"))

_COMMON: dict[str, _Rule] = {
    **dict.fromkeys(("NOP", "RESUME", "CACHE", "COPY_FREE_VARS", "EXTENDED_ARG"), _skip),
    "POP_TOP": _put("POP"),
    "COPY": _count("COPY"),
    "SWAP": _count("SWAP"),
    "PUSH_NULL": _put("_NULL"),
    "LOAD_CONST": _const("CONST"),
    "LOAD_FAST": _Translation.load_fast,
    "STORE_FAST": _local("STORE"),
    "DELETE_FAST": _local("DELETE"),
    "LOAD_GLOBAL": _Translation.load_global,
    "MAKE_CELL": _local("MAKE_CELL"),
    "LOAD_DEREF": _local("LOAD_CELL"),
    "STORE_DEREF": _Translation.store_deref,
    "LOAD_ASSERTION_ERROR": _Translation.assertion_error,
    "UNARY_NEGATIVE": _put("UNARY", "-"),
    "UNARY_NOT": _put("UNARY", "not"),
    "UNARY_INVERT": _put("UNARY", "~"),
    "BINARY_OP": _Translation.binary_op,
    "IS_OP": lambda t, arg: t.emit("COMPARE", "is not" if arg else "is"),
    "CONTAINS_OP": lambda t, arg: t.emit("COMPARE", "not in" if arg else "in"),
    "BINARY_SUBSCR": _put("SUBSCR"),
    "STORE_SUBSCR": _put("STORE_SUBSCR"),
    "STORE_ATTR": _name("STORE_ATTR"),
    "CALL": _Translation.call,
    "CALL_FUNCTION_EX": lambda t, arg: t.emit("_CALL_EX", bool(arg & 1)),
    "MAKE_FUNCTION": _Translation.make_function,
    "BUILD_TUPLE": _count("TUPLE"),
    "BUILD_LIST": _count("LIST"),
    "BUILD_SET": _count("SET"),
    "BUILD_MAP": _count("MAP"),
    "BUILD_CONST_KEY_MAP": lambda t, _: t.emit("KEY_MAP", t.last_constant()),
    "BUILD_STRING": _count("STRING"),
    "BUILD_SLICE": _count("SLICE"),
    **{name: _count(name) for name in ("LIST_APPEND", "LIST_EXTEND", "SET_ADD", "SET_UPDATE", "MAP_ADD")},
    **{name: _count(name) for name in ("DICT_UPDATE", "DICT_MERGE", "MATCH_CLASS")},
    **{name: _put(name) for name in ("GET_LEN", "MATCH_SEQUENCE", "MATCH_MAPPING", "MATCH_KEYS")},
    "UNPACK_SEQUENCE": _count("UNPACK"),
    "UNPACK_EX": lambda t, arg: t.emit("UNPACK_EX", (arg & 255, arg >> 8)),
    "IMPORT_NAME": _name("IMPORT"),
    "IMPORT_FROM": _name("IMPORT_FROM"),
    "GET_ITER": _Translation.get_iter,
    "RETURN_GENERATOR": _put("_NULL"),  # the generator itself, which the POP_TOP behind it drops
    "YIELD_VALUE": _Translation.yield_value,
    **dict.fromkeys(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"), _jump("JUMP")),
    "RETURN_VALUE": _put("RETURN"),
    "RAISE_VARARGS": _Translation.raise_varargs,
    # What cannot be compiled. Handlers are never reached; their instructions only need a name.
    **dict.fromkeys(("PUSH_EXC_INFO", "CHECK_EXC_MATCH", "CHECK_EG_MATCH", "RERAISE"), _no(_TRY)),
    "BEFORE_WITH": _Translation.before_with,
    "WITH_EXCEPT_START": _no(_WITH),
    "POP_EXCEPT": _put("POP"),  # behind a `with` whose block is not run
    **dict.fromkeys(("SEND", "GET_YIELD_FROM_ITER"), _no(_YIELD)),
    **dict.fromkeys(("GET_AITER", "GET_ANEXT", "END_ASYNC_FOR", "BEFORE_ASYNC_WITH", "GET_AWAITABLE"), _no(_ASYNC)),
    **dict.fromkeys(("STORE_GLOBAL", "DELETE_GLOBAL"), _no(_GLOBAL)),
    **dict.fromkeys(("LOAD_NAME", "STORE_NAME", "DELETE_NAME", "SETUP_ANNOTATIONS"), _no(_BODY)),
    "DELETE_SUBSCR": _Translation.delete_subscr,
    "DELETE_ATTR": _no(_DEL),
    "DELETE_DEREF": _no(_DEL_CELL),
    "LOAD_BUILD_CLASS": _no(_CLASS),
}

_SINCE_3_12: dict[str, _Rule] = {
    "LOAD_FAST_CHECK": _local("LOAD"),
    "LOAD_FAST_AND_CLEAR": _local("_SAVE"),
    "LOAD_ATTR": _Translation.load_attr,
    "LOAD_SUPER_ATTR": _Translation.load_super_attr,
    "BINARY_SLICE": _all(_put("SLICE", 2), _put("SUBSCR")),
    "STORE_SLICE": _all(_put("SLICE", 2), _put("STORE_SUBSCR")),
    "END_FOR": _put("POP"),  # not reached: FOR_ITER pops for it
    "POP_JUMP_IF_TRUE": _jump_if("JUMP_IF_TRUE"),
    "POP_JUMP_IF_FALSE": _jump_if("JUMP_IF_FALSE"),
    "POP_JUMP_IF_NONE": _all(_none_test, _jump_if("JUMP_IF_TRUE")),
    "POP_JUMP_IF_NOT_NONE": _all(_none_test, _jump_if("JUMP_IF_FALSE")),
    "RETURN_CONST": _all(_const("CONST"), _put("RETURN")),
    "CALL_INTRINSIC_1": _Translation.intrinsic,
    "CALL_INTRINSIC_2": _no(_GENERIC),
    **dict.fromkeys(("LOAD_LOCALS", "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS"), _no(_BODY)),
    **dict.fromkeys(("END_SEND", "CLEANUP_THROW"), _no(_YIELD)),
}

_SINCE_3_13: dict[str, _Rule] = {
    "TO_BOOL": _Translation.to_bool,
    "LOAD_FAST_LOAD_FAST": _all(_high(_Translation.load_fast), _low(_Translation.load_fast)),
    "STORE_FAST_LOAD_FAST": _all(_high(_local("STORE")), _low(_Translation.load_fast)),
    "STORE_FAST_STORE_FAST": _all(_high(_local("STORE")), _low(_local("STORE"))),
    "COMPARE_OP": _Translation.compare,
    "CALL_KW": _Translation.call_kw,
    "SET_FUNCTION_ATTRIBUTE": _Translation.set_function_attribute,
    "CONVERT_VALUE": lambda t, arg: t.emit("CONVERT", _CONVERSIONS[arg]),
    "FORMAT_SIMPLE": _put("FORMAT", False),
    "FORMAT_WITH_SPEC": _put("FORMAT", True),
}

_UNTIL_3_13 = frozenset(
    ("BEFORE_WITH", "BEFORE_ASYNC_WITH", "BINARY_SUBSCR", "BUILD_CONST_KEY_MAP", "LOAD_ASSERTION_ERROR", "RETURN_CONST")
)

_TABLES: dict[tuple[int, int], dict[str, _Rule]] = {
    (3, 11): {
        **_COMMON,
        "FOR_ITER": _for_iter(),
        "LOAD_CLOSURE": _local("CLOSURE"),
        "LOAD_ATTR": _name("ATTR"),
        "LOAD_METHOD": _name("_METHOD"),
        "COMPARE_OP": lambda t, arg: t.emit("COMPARE", _COMPARE[arg]),
        "UNARY_POSITIVE": _put("UNARY", "+"),
        "KW_NAMES": _Translation.kw_names,
        "PRECALL": _skip,
        "FORMAT_VALUE": _Translation.format_value,
        "LIST_TO_TUPLE": _put("LIST_TO_TUPLE"),
        "JUMP_IF_TRUE_OR_POP": _all(_put("COPY", 1), _jump_if("JUMP_IF_TRUE"), _put("POP")),
        "JUMP_IF_FALSE_OR_POP": _all(_put("COPY", 1), _jump_if("JUMP_IF_FALSE"), _put("POP")),
        **{f"POP_JUMP_{way}_IF_TRUE": _jump_if("JUMP_IF_TRUE") for way in ("FORWARD", "BACKWARD")},
        **{f"POP_JUMP_{way}_IF_FALSE": _jump_if("JUMP_IF_FALSE") for way in ("FORWARD", "BACKWARD")},
        **{f"POP_JUMP_{way}_IF_NONE": _all(_none_test, _jump_if("JUMP_IF_TRUE")) for way in ("FORWARD", "BACKWARD")},
        **{
            f"POP_JUMP_{way}_IF_NOT_NONE": _all(_none_test, _jump_if("JUMP_IF_FALSE"))
            for way in ("FORWARD", "BACKWARD")
        },
        "PREP_RERAISE_STAR": _no(_TRY),
        "ASYNC_GEN_WRAP": _no(_ASYNC),
        "IMPORT_STAR": _no(_STAR),
        **dict.fromkeys(("PRINT_EXPR", "LOAD_CLASSDEREF"), _no(_BODY)),
    },
    (3, 12): {
        **_COMMON,
        **_SINCE_3_12,
        "FOR_ITER": _for_iter("END_FOR"),
        "LOAD_CLOSURE": _local("CLOSURE"),
        "COMPARE_OP": lambda t, arg: t.emit("COMPARE", _COMPARE[arg >> 4]),
        "KW_NAMES": _Translation.kw_names,
        "FORMAT_VALUE": _Translation.format_value,
    },
    (3, 13): {**_COMMON, **_SINCE_3_12, **_SINCE_3_13, "FOR_ITER": _for_iter("END_FOR", "POP_TOP")},
    (3, 14): {
        **{name: rule for name, rule in (_COMMON | _SINCE_3_12 | _SINCE_3_13).items() if name not in _UNTIL_3_13},
        "FOR_ITER": _for_iter("END_FOR", "POP_ITER"),
        "POP_ITER": _put("POP"),
        "NOT_TAKEN": _skip,
        "LOAD_SMALL_INT": _count("CONST"),
        "LOAD_FAST_BORROW": _Translation.load_fast,
        "LOAD_FAST_BORROW_LOAD_FAST_BORROW": _all(_high(_Translation.load_fast), _low(_Translation.load_fast)),
        "LOAD_COMMON_CONSTANT": _Translation.load_common,
        "LOAD_SPECIAL": _Translation.load_special,
        "LOAD_GLOBAL": _Translation.load_global_first,
        "CALL_FUNCTION_EX": lambda t, _: t.emit("_CALL_EX", True),
        **dict.fromkeys(("BUILD_INTERPOLATION", "BUILD_TEMPLATE"), _no(_TEMPLATE)),
    },
}


def _table(implementation: str, version: tuple[int, int]) -> Mapping[str, _Rule]:
    table = _TABLES.get(version) if implementation == "cpython" else None
    if table is None:
        supported = ", ".join(f"{major}.{minor}" for major, minor in _TABLES)
        running = f"{implementation} {version[0]}.{version[1]}"
        raise CompileError(
            Mistake(
                "python-version",
                f"kernels cannot be compiled on {running}",
                help=f"run CPython {supported}: kernels are read from bytecode, which differs in every version",
            )
        )
    return table
