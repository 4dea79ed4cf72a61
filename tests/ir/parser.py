"""IR text to functions: what `cutelite.ir.printer` prints, read back.

    function  alias ... "func" @name ["[" "dims" name ":" type, ... "]"] "(" %v ":" type, ... ")"
              ["attrs" "{" name "=" held, ... "}"] "{" op ... (label op ...) ... "}"
    alias     !name "=" type
    label     ^name ["(" %v ":" type, ... ")"] ":"
    op        [%v, ... "="] op-name [field "=" held, ...] [":" type, ...]
    held      constant | %v | ^name ["(" %v, ... ")"] | "(" held, ... ")"

Comments go from ``//`` to the end of the line. Result types may be left out where every operand was defined further up.
Ops take the place in the text as their span.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

import cutelite.ops  # noqa: F401  # registers the ops
from cutelite import layout
from cutelite.diag import Span
from cutelite.ir.function import Block, Function, Jump, Value
from cutelite.ir.op import REGISTRY, Op
from cutelite.ir.types import SCALARS, InFlight, Ptr, Tensor, TensorMap, Type, Vec

T = TypeVar("T")

_SPACE = re.compile(r"(?:\s+|//[^\n]*)*")
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_NUMBER = r"[+-]?(?:(?:inf|nan)(?![\w.])|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w))"
_NAME = r"[%^!@]?[\w.]+"
_INSIDE = r"(?:<[^<>]*(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>[^<>]*)*>)?"  # of types and layouts, which nest three deep
_TOKEN = re.compile(rf"{_STRING}|{_NUMBER}|{_NAME}{_INSIDE}|\S|$")


def parse_function(text: str, filename: str = "<cir>") -> Function:
    """Return the one function in `text`, not verified. Raises ValueError, with the line, where the text is no IR."""
    return _Parser(text, filename).file()


def parse_type(text: str, aliases: Mapping[str, Type] | None = None) -> Type:
    """Return the type that prints as `text`."""
    if aliases and text in aliases:
        return aliases[text]
    if text in SCALARS:
        return SCALARS[text]
    word, _, inside = text.partition("<")
    first, *rest = _parts(inside[:-1])
    match word:
        case "vec":
            return Vec(SCALARS[first], int(rest[0]))
        case "ptr":
            return Ptr(first, int(rest[0]))
        case "tensor":
            space, shape, align, *swizzle = rest
            whole, *how = map(layout.parse_layout, (shape, *swizzle))
            return Tensor(SCALARS[first], space, whole, int(align), *how)
        case "tensormap":
            shape, box, mode, *words = rest
            pixels = [layout.parse_int_tuple(word) for word in words if word[0] == "("]
            wide = "".join(word for word in words if word in ("w", "w128"))
            corners, strides = (*pixels, (), ())[:2]
            whole, part = layout.parse_layout(shape), layout.parse_int_tuple(box)
            return TensorMap(SCALARS[first], whole, part, mode, "stored" in words, corners, strides, wide)
        case "inflight":
            return InFlight(parse_type(inside[:-1], aliases))  # type: ignore[arg-type]
    raise ValueError(f"{text!r} is no type")


def _parts(text: str) -> list[str]:
    """Return what stands between commas outside brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "(<{") - (c in ")>}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


class _Parser:
    def __init__(self, text: str, filename: str) -> None:
        self.text, self.filename = text, filename
        self.aliases: dict[str, Type] = {}
        self.values: dict[str, Value] = {}  # of type `Type()` until they are defined
        self.blocks: dict[str, Block] = {}
        self.after = 0  # the end of the last token
        self.find(0)

    # Tokens: the one to come is `token`, from `at` on.

    def find(self, place: int) -> None:
        self.at = _SPACE.match(self.text, place).end()  # type: ignore[union-attr]  # it matches nothing, too
        self.token = _TOKEN.match(self.text, self.at)[0]

    def take(self) -> str:
        token, self.after = self.token, self.at + len(self.token)
        self.find(self.after)
        return token

    def accept(self, token: str) -> bool:
        return self.token == token and bool(self.take())

    def fail(self, message: str) -> NoReturn:
        raise ValueError(f"{self.filename}:{self.line(self.at)}: {message}, before {self.text[self.at :][:20]!r}")

    def expect(self, token: str) -> None:
        if not self.accept(token):
            self.fail(f"expected {token!r}")

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def name(self, mark: str) -> str:
        if self.token[:1] != mark:
            self.fail(f"expected a name with {mark!r}")
        return self.take()[1:]

    def listed(self, item: Callable[[], T], end: str) -> list[T]:
        """Read items between commas, and the `end` behind them."""
        found: list[T] = []
        while not self.accept(end):
            found.append(item())
            if self.token != end:
                self.expect(",")
        return found

    # The function.

    def file(self) -> Function:
        while self.token[:1] == "!":
            alias = self.take()
            self.expect("=")
            self.aliases[alias] = self.type()
        self.expect("func")
        name = self.name("@")
        dims = self.listed(lambda: self.typed(self.take()), "]") if self.accept("[") and self.accept("dims") else []
        entry = block = Block(self.params())
        attrs = self.listed(self.field, "}") if self.accept("attrs") and self.accept("{") else []
        function = Function(name, [entry], {value.hint: value for value in dims}, dict(attrs))
        self.expect("{")
        while not self.accept("}"):
            if self.token[:1] == "^":
                block = self.block()
                block.params = list(self.params()) if self.token == "(" else []
                self.expect(":")
                function.blocks.append(block)
            else:
                block.ops.append(self.op())
        if missing := [name for name, value in self.values.items() if type(value.type) is Type]:
            self.fail(f"{missing} are not defined")
        if self.token:
            self.fail("expected the end")
        return function

    def params(self) -> tuple[Value, ...]:
        self.expect("(")
        return tuple(self.listed(lambda: self.typed(self.name("%")), ")"))

    def typed(self, name: str) -> Value:
        self.expect(":")
        return self.define(name, self.type())

    def field(self) -> tuple[str, Any]:
        name = self.take()
        self.expect("=")
        return name, self.held()

    def op(self) -> Op:
        start, names = self.at, []
        while self.token[:1] == "%":
            names.append(self.name("%"))
            self.expect("=" if self.token == "=" else ",")
        op = self.filled(REGISTRY[self.take()])
        line, column = self.line(start), start - self.text.rfind("\n", 0, start) - 1
        shown, _, _ = self.text[start : self.after].partition("\n")
        op.span = Span(self.filename, line, column, line, column + len(shown))
        types = [self.type()] if self.accept(":") else self.inferred(op) if names else []
        while len(types) < len(names) and self.accept(","):
            types.append(self.type())
        op.results = tuple(self.define(name, t, op) for name, t in zip(names, types, strict=True))
        return op

    def filled(self, cls: type[Op]) -> Op:
        held: dict[str, Any] = {}
        while self.text.startswith("=", self.at + len(self.token)):
            name, held[name] = self.field()
            if not self.accept(","):
                break
        return cls(**held)

    def inferred(self, op: Op) -> list[Type]:
        for problem in op.problems():
            self.fail(f"{op.name}: {problem.message}")
        return list(op.result_types())

    # Values, blocks, and what fields hold.

    def define(self, name: str, t: Type, op: Op | None = None) -> Value:
        value = self.value(name)
        if type(value.type) is not Type:
            self.fail(f"%{name} is defined twice")
        value.type, value.op = t, op
        return value

    def value(self, name: str) -> Value:
        return self.values.setdefault(name, Value(Type(), None, "" if name.isdigit() else name))

    def block(self) -> Block:
        name = self.name("^")
        return self.blocks.setdefault(name, Block(label=name))

    def held(self) -> Any:
        if self.token[:1] == "%":
            return self.value(self.name("%"))
        if self.token[:1] == "^":
            return Jump(self.block(), tuple(self.listed(self.held, ")")) if self.accept("(") else ())
        if self.accept("("):
            return tuple(self.listed(self.held, ")"))
        return self.constant()

    def constant(self) -> Any:
        text = self.token
        word, _, _ = text.partition("<")
        if text in ("True", "False", "None"):
            return {"True": True, "False": False, "None": None}[self.take()]
        if text[:1] == '"':
            return self.take()[1:-1].encode("ascii", "backslashreplace").decode("unicode_escape")
        if re.fullmatch(_NUMBER, text):
            return int(self.take()) if text.lstrip("+-").isdigit() else float(self.take())
        if word in ("layout", "dim", "S"):
            read = layout.parse_int_tuple if word == "dim" else layout.parse_layout
            return read(self.take() if word == "S" else self.take()[len(word) + 1 : -1])
        return self.type()

    def type(self) -> Type:
        return parse_type(self.take(), self.aliases)
