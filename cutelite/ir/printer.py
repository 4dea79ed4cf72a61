"""IR as text, in the form that `tests/ir/parser.py` reads back: for dumps, golden tests and error messages.

    func @scale[dims N: i32](%x: tensor<f32,gmem,N{div=4}:1,16>, %by: f32) attrs {block=(128,1,1)} {
      %i = special register="tid.x" : i32
      %v = tensor.load t=%x, coord=(%i) : f32
      ...

Every field is printed as ``name=value``, in the order of the op's declaration; one that holds its default is
left out. Constants describe themselves, so neither side knows any op. Spans are not printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import isfinite, isnan
from typing import Any

from cutelite import layout
from cutelite.ir.function import Block, Function, Jump, Value
from cutelite.ir.op import Op
from cutelite.ir.types import Scalar, Type

ALIAS_LENGTH = 24  # a type whose text is longer, and that occurs twice, gets a name


def op_text(op: Op) -> str:
    """Return one op by itself: values have their hints as names, or numbers in the order in which they occur."""
    names = Names()
    for value in (*op.results, *op.operands):
        names.name_value(value)
    for jump in op.jumps:
        names.name_block(jump.block)
    return _OpPrinter(names, {}).op(op)


class FunctionText:
    """A function's text, whole or line by line, with the same names throughout."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._names = Names.of(function)
        self._aliases = _aliases(function)
        self._ops = _OpPrinter(self._names, self._aliases)

    def op(self, op: Op) -> str:
        return self._ops.op(op)

    def __str__(self) -> str:
        return self.whole()

    def lines(self) -> Iterator[tuple[str, Op | None]]:
        """Yield each line with the op that it shows, if it shows one."""
        for t, alias in self._aliases.items():
            yield f"{alias} = {t}", None
        yield self._header(), None
        for block in self.function.blocks:
            if block is not self.function.entry:
                yield f"{self._ops.label(block)}{self._params(block.params, always=False)}:", None
            for op in block.ops:
                yield f"  {self.op(op)}", op
        yield "}", None

    def whole(self, mark: Op | None = None) -> str:
        """Return the whole function; the line of `mark` ends in an arrow."""
        lines = [f"{text}  // <-- here" if op is not None and op is mark else text for text, op in self.lines()]
        return "\n".join(lines) + "\n"

    def _header(self) -> str:
        function = self.function
        dims = [f"{name}: {value.type}" for name, value in function.dims.items()]
        shown = f"[dims {', '.join(dims)}]" if dims else ""
        attrs = ", ".join(f"{name}={self._ops.constant(value)}" for name, value in function.attrs.items())
        attrs = f" attrs {{{attrs}}}" if attrs else ""
        return f"func @{function.name}{shown}{self._params(function.params)}{attrs} {{"

    def _params(self, params: list[Value], always: bool = True) -> str:
        shown = ", ".join(f"{self._ops.value(p)}: {self._ops.type(p.type)}" for p in params)
        return f"({shown})" if shown or always else ""


class Names:
    """A unique name for each value and each block: its hint, with a number behind it where that is taken."""

    def __init__(self) -> None:
        self.values: dict[Value, str] = {}
        self.blocks: dict[Block, str] = {}
        self._taken: set[str] = set()
        self._labels: set[str] = set()
        self._unnamed = 0

    @classmethod
    def of(cls, function: Function) -> Names:
        names = cls()
        for name, value in function.dims.items():
            names.values[value] = names._unique(name, names._taken)
        for index, block in enumerate(function.blocks):
            names.blocks[block] = names._unique(_identifier(block.label) or f"bb{index}", names._labels)
            for value in block.params:
                names.name_value(value)
            for op in block.ops:
                for value in op.results:
                    names.name_value(value)
        return names

    def name_value(self, value: Value) -> None:
        if value in self.values:
            return
        hint = _identifier(value.hint)
        if hint:
            self.values[value] = self._unique(hint, self._taken)
        else:
            self.values[value] = str(self._unnamed)
            self._unnamed += 1

    def name_block(self, block: Block) -> None:
        if block not in self.blocks:
            self.blocks[block] = self._unique(_identifier(block.label) or f"bb{len(self.blocks)}", self._labels)

    @staticmethod
    def _unique(hint: str, taken: set[str]) -> str:
        name, count = hint, 0
        while name in taken:
            count += 1
            name = f"{hint}_{count}"
        taken.add(name)
        return name


def _identifier(hint: str) -> str:
    """Return `hint` as a name that the parser reads: letters, digits, dots and underscores, no digit first."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_.") else "_" for c in hint)
    return f"_{name}" if name[:1].isdigit() or name[:1] == "." else name


class _OpPrinter:
    def __init__(self, names: Names, aliases: dict[Type, str]) -> None:
        self._names, self._aliases = names, aliases

    def value(self, value: Value) -> str:
        return f"%{self._names.values.get(value) or f'undefined_{value.hint}'}"

    def label(self, block: Block) -> str:
        return f"^{self._names.blocks.get(block) or f'elsewhere_{block.label}'}"

    def type(self, t: Type) -> str:
        return self._aliases.get(t) or str(t)

    def op(self, op: Op) -> str:
        results = ", ".join(map(self.value, op.results))
        fields = ", ".join(f"{name}={self.constant(held)}" for name, held in shown_fields(op))
        types = ", ".join(self.type(value.type) for value in op.results)
        head = f"{results} = {op.name}" if results else op.name
        return f"{head}{f' {fields}' if fields else ''}{f' : {types}' if types else ''}"

    def constant(self, held: Any) -> str:
        """Return a field's value, or an attribute's: operands, jumps and tuples of them included."""
        match held:
            case Value():
                return self.value(held)
            case Jump():
                args = ", ".join(map(self.value, held.args))
                return f"{self.label(held.block)}{f'({args})' if args else ''}"
            case Type():
                return self.type(held)
            case tuple():
                return f"({', '.join(map(self.constant, held))})"
        return scalar_text(held)


def shown_fields(op: Op) -> Iterator[tuple[str, Any]]:
    """Yield the fields of `op` that are not at their defaults."""
    for field in op.fields:
        held = getattr(op, field.name)
        if field.required or type(held) is not type(field.default) or held != field.default:
            yield field.name, held


def scalar_text(held: Any) -> str:
    """Return a constant that holds no other: bool, int, float, None, string, layout, dim expression, swizzle."""
    match held:
        case None | bool() | int():
            return str(held)
        case float():
            return repr(held) if isfinite(held) else "nan" if isnan(held) else "inf" if held > 0 else "-inf"
        case str():
            return '"' + held.encode("unicode_escape").decode("ascii").replace('"', '\\"') + '"'
        case layout.Layout() | layout.ComposedLayout():
            return f"layout<{held}>"
        case layout.DimExpr():
            return f"dim<{held}>"
        case layout.Swizzle():
            return str(held)
    raise TypeError(f"the IR has no text for the constant {held!r}, a {type(held).__name__}")


def _aliases(function: Function) -> dict[Type, str]:
    """Return the long types that occur more than once, in order of first occurrence, with the names they get."""
    counts: Counter[Type] = Counter()

    def count(held: object) -> None:
        if isinstance(held, Type) and not isinstance(held, Scalar):
            counts[held] += 1
        elif isinstance(held, tuple):
            for item in held:
                count(item)

    for block in function.blocks:
        for value in block.params:
            count(value.type)
        for op in block.ops:
            for field in op.fields:
                if field.kind == "const":
                    count(getattr(op, field.name))
            for value in op.results:
                count(value.type)
    long = [t for t, times in counts.items() if times > 1 and len(str(t)) > ALIAS_LENGTH]
    kinds: Counter[str] = Counter()
    aliases: dict[Type, str] = {}
    for t in long:
        kind = type(t).__name__.lower()
        aliases[t] = f"!{kind}{kinds[kind]}"
        kinds[kind] += 1
    return aliases
