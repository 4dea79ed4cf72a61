"""IR text to functions: the inverse of `ir.printer`, for golden tests and for starting from a dump.

The grammar, with ``...`` for repetition and comments from ``//`` to the end of the line:

    function  alias ... "func" @name ["[" "dims" name ":" type, ... "]"] "(" %v ":" type, ... ")"
              ["attrs" "{" name "=" constant, ... "}"] "{" op ... (label op ...) ... "}"
    alias     !name "=" type
    label     ^name ["(" %v ":" type, ... ")"] ":"
    op        [%v, ... "="] op-name [field "=" held, ...] [":" type, ...]
    held      constant | %v | ^name ["(" %v, ... ")"] | "(" held, ... ")"
    constant  number | "text" | True | False | None | inf | nan | type | !name
              | layout<...> | dim<...> | S<b,m,s>

Result types may be left out where every operand was defined further up. Ops take the place in the text as their
span, so that a diagnostic points into it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from cutelite import layout
from cutelite.diag import Span
from cutelite.ir.function import Block, Function, Jump, Value
from cutelite.ir.op import REGISTRY, Field, Op
from cutelite.ir.types import SCALARS, InFlight, Ptr, Tensor, TensorMap, Type, Vec

T = TypeVar("T")

_SPACE = re.compile(r"(?:\s+|//[^\n]*)*")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]*")
_NUMBER = re.compile(r"[+-]?(?:inf\b|nan\b|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_CONSTANTS = {"True": True, "False": False, "None": None}
_LAYOUTS = {"layout<": layout.parse_layout, "dim<": layout.parse_int_tuple, "S<": layout.parse_layout}


class ParseError(ValueError):
    """An error in IR text: ``kernel.cir:3:14: expected ...``. `line` and `column` count from 1."""

    def __init__(self, filename: str, line: int, column: int, message: str) -> None:
        super().__init__(f"{filename}:{line}:{column}: {message}")
        self.filename, self.line, self.column, self.message = filename, line, column, message


def parse_function(text: str, filename: str = "<cir>") -> Function:
    """Return the one function in `text`, of ops that are registered: import `cutelite.ops` first.

    Raises `ParseError`; does not verify.
    """
    return _Parser(text, filename).file()


def parse_type(text: str) -> Type:
    """Return the type that prints as `text`. Raises `ParseError`."""
    parser = _Parser(text, "<type>")
    found = parser.type()
    parser.end()
    return found


class _Parser:
    def __init__(self, text: str, filename: str) -> None:
        self.text, self.filename = text, filename
        self.at = 0
        self.aliases: dict[str, Type] = {}
        self.values: dict[str, Value] = {}
        self.pending: dict[str, int] = {}  # names used but not yet defined, and where
        self.blocks: dict[str, Block] = {}
        self.unplaced: dict[str, int] = {}  # blocks jumped to but not yet seen, and where
        self.skip()

    # Characters.

    def skip(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches nothing, too

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        raise ParseError(self.filename, line, at - self.text.rfind("\n", 0, at), message)

    def peek(self, word: str) -> bool:
        return self.text.startswith(word, self.at)

    def accept(self, word: str) -> bool:
        if not self.peek(word):
            return False
        self.at += len(word)
        self.skip()
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            self.fail(f"expected {word!r}")

    def end(self) -> None:
        if self.at < len(self.text):
            self.fail("expected the end of the text")

    def match(self, pattern: re.Pattern[str], what: str) -> str:
        found = self.take(pattern)
        return self.fail(f"expected {what}") if found is None else found.group()

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        if found := pattern.match(self.text, self.at):
            self.at = found.end()
            self.skip()
        return found

    def name(self, what: str = "a name") -> str:
        return self.match(_NAME, what)

    def listed(self, item: Callable[[], T], end: str) -> list[T]:
        """Read items between commas, and the `end` behind them."""
        found: list[T] = []
        while not self.accept(end):
            found.append(item())
            if not self.peek(end):
                self.expect(",")
        return found

    def enclosed(self, stop: str) -> tuple[str, int]:
        """Return the text up to the next character of `stop` outside any brackets, and where it begins."""
        start, depth = self.at, 0
        for i in range(start, len(self.text)):
            c = self.text[i]
            if depth == 0 and c in stop:
                self.at = i
                return self.text[start:i].strip(), start
            depth += (c in "(<[{") - (c in ")>]}")
        return self.fail(f"expected one of {stop!r} further on", start)

    # The function.

    def file(self) -> Function:
        while self.peek("!"):
            name = self.alias_name()
            self.expect("=")
            self.aliases[name] = self.type()
        self.expect("func")
        self.expect("@")
        name = self.name()
        dims = self.dims()
        entry = Block(self.params())
        attrs = self.attrs()
        self.expect("{")
        function = Function(name, [entry], dims, attrs)
        self.body(function, entry)
        self.end()
        return function

    def alias_name(self) -> str:
        self.expect("!")
        return self.name("the name of a type")

    def dims(self) -> dict[str, Value]:
        if not self.accept("["):
            return {}
        self.expect("dims")
        return dict(self.listed(lambda: self.typed(self.name), "]"))

    def params(self) -> tuple[Value, ...]:
        self.expect("(")
        return tuple(value for _, value in self.listed(lambda: self.typed(self.value_name), ")"))

    def typed(self, read: Callable[[], str]) -> tuple[str, Value]:
        at, name = self.at, read()
        self.expect(":")
        return name, self.define(name, self.type(), at)

    def attrs(self) -> dict[str, Any]:
        if not self.accept("attrs"):
            return {}
        self.expect("{")
        return dict(self.listed(self.attr, "}"))

    def attr(self) -> tuple[str, Any]:
        name = self.name()
        self.expect("=")
        return name, self.held()

    def body(self, function: Function, block: Block) -> None:
        while not self.accept("}"):
            if self.peek("^"):
                block = self.block_label()
                function.blocks.append(block)
            else:
                block.ops.append(self.op())
        for name, at in self.pending.items():
            self.fail(f"%{name} is never defined", at)
        for name, at in self.unplaced.items():
            self.fail(f"there is no block ^{name}", at)

    def block_label(self) -> Block:
        at = self.at
        self.expect("^")
        name = self.name("a label")
        block = self.blocks.get(name)
        if block is not None and self.unplaced.pop(name, None) is None:
            self.fail(f"a second block ^{name}", at)
        if block is None:
            block = self.blocks[name] = Block(label=name)
        if self.peek("("):
            block.params = list(self.params())
        self.expect(":")
        return block

    def op(self) -> Op:
        start = self.at
        names = self.result_names()
        at = self.at
        cls = REGISTRY.get(name := self.name("an op"))
        if cls is None:
            self.fail(f"no op is called {name!r}", at)
        op = self.with_fields(cls, at)
        op.span = self.span(start)
        if self.accept(":"):
            types = [self.type()]
            while self.accept(","):
                types.append(self.type())
        else:
            types = self.inferred(op, at) if names else []
        if len(types) != len(names):
            self.fail(f"{len(names)} names for {len(types)} results", start)
        op.results = tuple(self.define(name, t, where, op) for (name, where), t in zip(names, types, strict=True))
        return op

    def span(self, start: int) -> Span:
        """Return the span from `start` to the last character read."""
        text = self.text[start : self.at].rstrip()
        line = self.text.count("\n", 0, start) + 1
        column = start - self.text.rfind("\n", 0, start) - 1
        first, _, _ = text.partition("\n")
        return Span(self.filename, line, column, line, column + len(first.partition("//")[0].rstrip()))

    def result_names(self) -> list[tuple[str, int]]:
        names: list[tuple[str, int]] = []
        if self.peek("%"):
            while True:
                at = self.at
                names.append((self.value_name(), at))
                if not self.accept(","):
                    break
            self.expect("=")
        return names

    def with_fields(self, cls: type[Op], at: int) -> Op:
        known = {field.name: field for field in cls.fields}
        held: dict[str, Any] = {}
        while (found := _NAME.match(self.text, self.at)) and self.text[found.end() : found.end() + 1] == "=":
            where, name = self.at, found.group()
            if name not in known:
                self.fail(f"{cls.name} has no field {name!r}; its fields are {', '.join(known)}", where)
            if name in held:
                self.fail(f"the field {name!r} twice", where)
            self.at = found.end()
            self.expect("=")
            where = self.at
            held[name] = self.held()
            self.check_kind(known[name], held[name], where)
            if not self.accept(","):
                break
        for field in cls.fields:
            if field.required and field.name not in held:
                self.fail(f"{cls.name} needs the field {field.name!r}", at)
        return cls(**held)

    def check_kind(self, field: Field, held: Any, at: int) -> None:
        fits = {
            "one": isinstance(held, Value),
            "optional": isinstance(held, Value),
            "many": isinstance(held, tuple) and all(isinstance(item, Value) for item in held),
            "jump": isinstance(held, Jump),
            "const": not isinstance(held, Value | Jump),
        }
        if not fits[field.kind]:
            wanted = {"many": "operands in brackets", "jump": "a block", "const": "a constant"}
            self.fail(f"the field {field.name!r} takes {wanted.get(field.kind, 'an operand')}", at)

    def inferred(self, op: Op, at: int) -> list[Type]:
        for value in op.operands:
            if type(value.type) is Type:
                self.fail(f"the result types are needed: %{value.hint} is defined further down", at)
        for problem in op.problems():
            self.fail(f"{op.name}: {problem.message}", at)
        return list(op.result_types())

    # Values.

    def value_name(self) -> str:
        self.expect("%")
        return self.name("the name of a value")

    def define(self, name: str, t: Type, at: int, op: Op | None = None) -> Value:
        value = self.values.get(name)
        if value is not None and self.pending.pop(name, None) is None:
            self.fail(f"%{name} is defined twice", at)
        if value is None:
            value = self.values[name] = Value(t, op, "" if name.isdigit() else name)
        value.type, value.op = t, op
        return value

    def use(self) -> Value:
        at, name = self.at, self.value_name()
        if name not in self.values:
            self.values[name] = Value(Type(), None, "" if name.isdigit() else name)
            self.pending[name] = at
        return self.values[name]

    # The contents of fields.

    def held(self) -> Any:
        if self.peek("%"):
            return self.use()
        if self.peek("^"):
            return self.jump()
        if self.accept("("):
            return tuple(self.listed(self.held, ")"))
        return self.constant()

    def jump(self) -> Jump:
        at = self.at
        self.expect("^")
        name = self.name("a label")
        if name not in self.blocks:
            self.blocks[name] = Block(label=name)
            self.unplaced[name] = at
        return Jump(self.blocks[name], tuple(self.listed(self.use, ")")) if self.accept("(") else ())

    def constant(self) -> Any:
        if found := self.take(_STRING):
            return found[1].encode("ascii", "backslashreplace").decode("unicode_escape")
        if found := self.take(_NUMBER):
            number = found.group()
            return int(number) if number.lstrip("+-").isdigit() else float(number)
        for word, read in _LAYOUTS.items():
            if self.peek(word):
                return self.read_layout(word, read)
        found = _NAME.match(self.text, self.at)
        if found and found.group() in _CONSTANTS:
            return _CONSTANTS[self.name()]
        return self.type()

    def read_layout(self, word: str, read: Any) -> Any:
        start = self.at
        self.at += len(word)
        text, at = self.enclosed(">")
        self.expect(">")
        return self.leaf(read, text if word != "S<" else self.text[start : at + len(text) + 1], at)

    def leaf(self, read: Any, text: str, at: int) -> Any:
        """Read a layout leaf with `read`; its `text` begins at `at`."""
        try:
            return read(text)
        except ValueError as error:
            self.fail(str(error), at)

    # Types.

    def type(self) -> Type:
        at = self.at
        if self.peek("!"):
            name = self.alias_name()
            if name not in self.aliases:
                self.fail(f"no type is called !{name}", at)
            return self.aliases[name]
        word = self.name("a type or a constant")
        if word in SCALARS:
            return SCALARS[word]
        readers = {
            "vec": self.vec,
            "ptr": self.ptr,
            "tensor": self.tensor,
            "tensormap": self.tensormap,
            "inflight": self.inflight,
        }
        if word not in readers:
            self.fail(f"{word!r} is no type", at)
        self.expect("<")
        found = readers[word]()
        self.expect(">")
        return found

    def scalar(self) -> Any:
        at = self.at
        word = self.name("a scalar type")
        if word not in SCALARS:
            self.fail(f"{word!r} is no scalar type", at)
        return SCALARS[word]

    def integer(self) -> int:
        at = self.at
        text = self.match(_NUMBER, "an integer")
        if not text.lstrip("+-").isdigit():
            self.fail(f"{text} is no integer", at)
        return int(text)

    def vec(self) -> Vec:
        elem = self.scalar()
        self.expect(",")
        return Vec(elem, self.integer())

    def ptr(self) -> Ptr:
        space = self.name("an address space")
        self.expect(",")
        return Ptr(space, self.integer())

    def tensor(self) -> Tensor:
        elem = self.scalar()
        self.expect(",")
        space = self.name("an address space")
        self.expect(",")
        shape = self.leaf(layout.parse_layout, *self.enclosed(","))
        self.expect(",")
        align = self.integer()
        swizzle = self.constant() if self.accept(",") else None
        return Tensor(elem, space, shape, align, swizzle)

    def tensormap(self) -> TensorMap:
        elem = self.scalar()
        self.expect(",")
        shape = self.leaf(layout.parse_layout, *self.enclosed(","))
        self.expect(",")
        box = self.held()
        self.expect(",")
        swizzle = self.name("a swizzle")
        words: set[str] = set()
        pixels: list[tuple[int, ...]] = []
        while self.accept(","):
            if self.peek("("):
                pixels.append(self.held())
            elif (word := self.name("`stored`")) in ("stored", "w", "w128"):
                words.add(word)
            else:
                self.fail(f"{word!r} is not `stored`, `w` or `w128`", self.at)
        corners, strides = (*pixels, (), ())[:2]
        wide = next(iter(words - {"stored"}), "")
        return TensorMap(elem, shape, box, swizzle, "stored" in words, corners, strides, wide)

    def inflight(self) -> InFlight:
        inner = self.type()
        if not isinstance(inner, Vec | Tensor):
            self.fail(f"only vectors and tensors are in flight, not {inner}")
        return InFlight(inner)
