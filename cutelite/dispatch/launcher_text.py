"""Lines of LLVM IR with structured control, and arithmetic over dims in them: what launchers are written with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cutelite.layout import Dim, DimExpr, fold


class Code:
    """Lines of a function: memory carries what has to outlive a branch."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = "%0"  # which is being written
        self._next = 0

    def fresh(self, stem: str = "v") -> str:
        self._next += 1
        return f"%{stem}{self._next}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def let(self, text: str) -> str:
        name = self.fresh()
        self.do(f"{name} = {text}")
        return name

    def get(self, at: str, type: str = "i64") -> str:
        return self.let(f"load {type}, ptr {at}")

    def set(self, at: str, value: str | int, type: str = "i64") -> None:
        self.do(f"store {type} {value}, ptr {at}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name[1:]}:")
        self.block = name

    def require(self, condition: str) -> None:
        """Go on where it holds; else Python launches."""
        after = self.fresh("ok")
        self.do(f"br i1 {condition}, label {after}, label %slow")
        self.label(after)

    def require_well(self, status: str) -> None:
        """Go on after 0; else return what came."""
        after, out = self.fresh("ok"), self.fresh("out")
        self.do(f"br i1 {self.let(f'icmp eq i32 {status}, 0')}, label {after}, label {out}, !prof !0")
        self.label(out)
        self.do(f"ret i32 {status}")
        self.label(after)

    @contextmanager
    def when(self, condition: str | None, rare: bool = False) -> Iterator[None]:
        if condition is None:
            yield
            return
        then, after = self.fresh("then"), self.fresh("after")
        self.do(f"br i1 {condition}, label {then}, label {after}" + ", !prof !1" * rare)
        self.label(then)
        yield
        self.do(f"br label {after}")
        self.label(after)

    def unless(self, condition: str) -> Any:
        return self.when(self.negated(condition))

    def negated(self, condition: str) -> str:
        return self.let(f"xor i1 {condition}, true")

    def compare(self, how: str, a: str, b: str | int, type: str = "i64") -> str:
        return self.let(f"icmp {how} {type} {a}, {b}")

    def merged(self, type: str, *rows: tuple[str, str]) -> str:
        """What comes here by blocks: each a value, and the last block of a way. At the start of a block."""
        return self.let(f"phi {type} " + ", ".join(f"[ {value}, {block} ]" for value, block in rows))

    def both(self, a: str | None, b: str) -> str:
        return b if a is None else self.let(f"and i1 {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.let(f"or i1 {a}, {b}")

    def wide(self, value: str, type: str) -> str:
        return self.let(f"zext {type} {value} to i64")

    def at(self, base: str, offset: int | str) -> str:
        return self.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def word(self, base: str, offset: int | str) -> str:
        return self.let(f"call i64 @word(ptr {base}, i64 {offset})")

    def half(self, base: str, offset: int) -> str:
        return self.let(f"call i32 @half(ptr {base}, i64 {offset})")

    def link(self, base: str, offset: int | str) -> str:
        return self.let(f"call ptr @link(ptr {base}, i64 {offset})")

    def flag(self, base: str, offset: int | str) -> str:
        """A byte that is 0 or 1."""
        return self.let(f"trunc i8 {self.get(self.at(base, offset), 'i8')} to i1")

    def set_flag(self, base: str, offset: int | str, condition: str) -> None:
        self.set(self.at(base, offset), self.let(f"zext i1 {condition} to i8"), "i8")


class Arithmetic:
    """`layout.Ops` on numbers that are never negative: a sum beyond 64 bits, or below 0, has Python launch.

    dim  gives the value of a dim; Python launches where there is none
    """

    def __init__(self, code: Code, dim: Callable[[Dim], str]) -> None:
        self.code, self.dim = code, dim

    def value(self, expr: DimExpr) -> str:
        return str(fold(expr, self))

    def const(self, value: int) -> str:
        return str(value)

    def add(self, a: str, b: str) -> str:
        return self.code.let(f"add i64 {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.code.let(f"sub i64 {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        c = self.code
        product = c.let(f"call {{ i64, i1 }} @llvm.smul.with.overflow.i64(i64 {a}, i64 {b})")
        c.require(c.negated(c.let(f"extractvalue {{ i64, i1 }} {product}, 1")))
        return c.let(f"extractvalue {{ i64, i1 }} {product}, 0")

    def floordiv(self, a: str, b: str) -> str:
        return self._natural("udiv", a, b)

    def mod(self, a: str, b: str) -> str:
        return self._natural("urem", a, b)

    def _natural(self, opcode: str, a: str, b: str) -> str:
        c = self.code
        c.require(c.compare("sge", a, 0))
        c.require(c.compare("sgt", b, 0))
        return c.let(f"{opcode} i64 {a}, {b}")

    def min(self, a: str, b: str) -> str:
        return self.code.let(f"select i1 {self.code.compare('slt', a, b)}, i64 {a}, i64 {b}")

    def max(self, a: str, b: str) -> str:
        return self.code.let(f"select i1 {self.code.compare('sgt', a, b)}, i64 {a}, i64 {b}")
