"""Reading integer tuples, expressions and layouts from the text they print as.

layout  = tuple ":" tuple  |  function " o " tuple " o " layout      with function "S<b,m,s>" or a layout
tuple   = sum  |  "(" [tuple {"," tuple}] ")"
sum     = term {("+" | "-") term}
term    = factor {("*" | "//" | "%") factor}
factor  = "^" number  |  ["-"] (number | name ["{" facts "}"] | call | "(" sum ")") {"@" number}
call    = ("ceil_div" | "min" | "max") "(" sum "," sum ")"

"_" is None, where a coordinate is left open. C++'s `_8` is read as 8, and `Sw` as S.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from cutelite.layout.basis import E
from cutelite.layout.dims import Dim, ceil_div_dims, maximum, minimum
from cutelite.layout.errors import LayoutError
from cutelite.layout.f2 import F2
from cutelite.layout.layout import ComposedLayout, Layout
from cutelite.layout.swizzle import Swizzle

_TOKEN = re.compile(r"\s*(?:(\d+)|([^\W\d]\w*)|(//|[-+*%@:^(),{}=_])|(\S))")
_SWIZZLE = re.compile(r"S(?:w)?<\s*(\d+)\s*,\s*(\d+)\s*,\s*(-?\d+)\s*>")
_FUNCTIONS: dict[str, Callable[..., Any]] = {"ceil_div": ceil_div_dims, "min": minimum, "max": maximum}
_FACTS = {"div": "divisible_by", "min": "min", "max": "max"}
_DEEPEST, _LONGEST = 100, 40
"""The most parentheses or compositions around anything, since functions of layouts recurse; digits of a number."""


def parse_int_tuple(text: str, dims: Iterable[Dim] | Mapping[str, Any] = ()) -> Any:
    """Return the integer tuple that prints as `text`.

    dims  the meaning of names: dims, or a mapping from names; other names become dims of their own

    >>> parse_int_tuple("(8,(M,K{div=8}//4+1))")
    (8, (M, K{div=8}//4+1))
    """
    reader = _Reader("parse_int_tuple", text, dims)
    result = reader.tuple_()
    reader.end()
    return result


def parse_layout(text: str, dims: Iterable[Dim] | Mapping[str, Any] = ()) -> Any:
    """Return the layout that prints as `text`; without strides, the compact one.

    >>> parse_layout("(8,(4,2)):(4,(1,32))"), parse_layout("S<3,4,3> o 0 o (8,64):(64,1)"), parse_layout("(M,8)")
    ((8,(4,2)):(4,(1,32)), S<3,4,3> o 0 o (8,64):(64,1), (M,8):(1,M))
    """
    reader = _Reader("parse_layout", text, dims)
    result = reader.layout()
    reader.end()
    return result


class _Reader:
    """A recursive-descent parser of the tokens of a text."""

    def __init__(self, function: str, text: str, dims: Iterable[Dim] | Mapping[str, Any]) -> None:
        self.function = function
        self.text = text
        self.names = dict(dims) if isinstance(dims, Mapping) else {dim.name: dim for dim in dims}
        self.tokens: list[tuple[str, int]] = []
        position = 0
        stripped = text.rstrip()
        while position < len(stripped):
            match = _SWIZZLE.match(stripped, position)
            if match is None:
                match = _TOKEN.match(stripped, position)
                assert match is not None
            self.tokens.append((match[0].strip(), match.end() - len(match[0].strip())))
            position = match.end()
            while position < len(stripped) and stripped[position].isspace():
                position += 1
        self.next = depth = 0
        for i, (token, _) in enumerate(self.tokens):
            depth += (token in ("(", "o")) - (token == ")")
            if depth > _DEEPEST:
                self.next = i
                self.fail(f"at most {_DEEPEST} nested modes")

    def fail(self, expected: str) -> NoReturn:
        position = self.tokens[self.next][1] if self.next < len(self.tokens) else len(self.text)
        found = repr(self.peek()) if self.peek() else "the end"
        message = f"{expected} expected at position {position} of {self.text!r}, found {found}"
        raise LayoutError(self.function, message, position=position)

    def peek(self) -> str:
        return self.tokens[self.next][0] if self.next < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        """Return the next token when it is one of those, else ""."""
        token = self.peek()
        if token and token in wanted:
            self.next += 1
            return token
        return ""

    def need(self, token: str) -> None:
        if not self.take(token):
            self.fail(repr(token))

    def end(self) -> None:
        if self.peek():
            self.fail("the end")

    def number(self) -> int:
        if not self.peek().isdecimal():
            self.fail("a number")
        if len(self.peek()) > _LONGEST:
            self.fail(f"a number of at most {_LONGEST} digits")
        self.next += 1
        return int(self.tokens[self.next - 1][0])

    def layout(self) -> Any:
        match = _SWIZZLE.fullmatch(self.peek())
        inner: Any
        if match:
            self.next += 1
            inner = Swizzle(int(match[1]), int(match[2]), int(match[3]))
            if self.peek() != "o":
                return inner
        else:
            shape = self.tuple_()
            inner = Layout(shape, self.tuple_() if self.take(":") else None)
        if not self.take("o"):
            return inner
        offset = self.tuple_()
        if not self.take("o"):
            self.fail("'o'")
        return ComposedLayout(inner, offset, self.layout())

    def tuple_(self) -> Any:
        """Return a tuple, or a sum; parentheses around one sum are a tuple unless arithmetic follows them."""
        start = self.next
        if self.take("_"):
            return None
        if not self.take("("):
            return self.sum_()
        items: list[Any] = []
        if not self.take(")"):
            items.append(self.tuple_())
            while self.take(","):
                if self.peek() == ")":
                    break
                items.append(self.tuple_())
            self.need(")")
        if self.peek() in ("+", "-", "*", "//", "%", "@"):
            self.next = start
            return self.sum_()
        return tuple(items)

    def sum_(self) -> Any:
        value = self.term()
        while sign := self.take("+", "-"):
            other = self.term()
            value = value + other if sign == "+" else value - other
        return value

    def term(self) -> Any:
        value = self.factor()
        while sign := self.take("*", "//", "%"):
            other = self.factor()
            if sign == "*":
                value = value * other
            elif isinstance(other, int) and other == 0:
                self.fail("a divisor other than 0")
            else:
                value = value // other if sign == "//" else value % other
        return value

    def factor(self) -> Any:
        negative = False
        while self.take("-"):
            negative = not negative
        value = self.positive()
        return -value if negative else value

    def positive(self) -> Any:
        if self.take("^"):
            return F2(self.number())
        if self.take("("):
            value = self.sum_()
            self.need(")")
        elif self.peek().isdecimal():
            value = self.number()
        else:
            value = self.name()
        modes: list[int] = []
        while self.take("@"):
            modes.insert(0, self.number())
        return value * E(modes) if modes else value

    def name(self) -> Any:
        name = self.peek()
        if not name.isidentifier():
            self.fail("a number, a name or '('")
        self.next += 1
        if name[0] == "_" and name[1:].isdecimal():
            return int(name[1:])
        if name in _FUNCTIONS and self.take("("):
            values = [self.sum_()]
            while self.take(","):
                values.append(self.sum_())
            self.need(")")
            if name == "ceil_div" and len(values) != 2:
                self.fail("two arguments of ceil_div")
            return _FUNCTIONS[name](*values)
        if not self.take("{"):
            return self.names[name] if name in self.names else Dim(name)
        facts: dict[str, int] = {}
        while not self.take("}"):
            key = self.peek()
            if key not in _FACTS:
                self.fail("div, min, max or '}'")
            self.next += 1
            self.need("=")
            sign = -1 if self.take("-") else 1
            facts[_FACTS[key]] = sign * self.number()
            self.take(",")
        return self.names[name] if name in self.names else Dim(name, **facts)
