"""Text that holds run-time numbers: the f-strings of device `printf` and `assert`."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from cutelite.diag import CompileError
from cutelite.front import tree
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import f64, i32, i64, u32, u64
from cutelite.lang.emit import Runtime, describe, mistake, wrap
from cutelite.lang.promotion import as_value, to_dtype
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Scalar, Vector
from cutelite.layout import DimExpr, size
from cutelite.layout.inttuple import is_static

SPEC = r"(?P<flags>[<>+ #0-]*)(?P<width>\d*)(?P<precision>\.\d+)?(?P<kind>[bcdeEfFgGnosxX%]?)"


class RuntimeText:
    """Pieces of text and of (number or dim, Python format spec), in order."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: tuple[Any, ...]) -> None:
        self.pieces = pieces

    def __add__(self, other: Any) -> Any:
        return join_text([self, other]) if isinstance(other, str | RuntimeText) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return join_text([other, self]) if isinstance(other, str) else NotImplemented

    def described(self) -> str:
        return "a text that is known only at run time"

    def _refuse(self, *_: object) -> Any:
        raise mistake("runtime-text", "this text is known only at run time", help="pass it to `cl.printf` as it is")

    __str__ = __eq__ = __ne__ = __bool__ = __len__ = __getitem__ = __contains__ = __mul__ = __mod__ = _refuse
    __hash__: Any = _refuse

    def shown(self) -> str:
        """Return the text for a message at compile time: dims by their names, and in place of a number its type."""
        return "".join(piece if isinstance(piece, str) else _shown(piece[0]) for piece in self.pieces)

    def described_parts(self) -> str:
        """Return the text for an error of a library's function: dims by their names, numbers in words."""
        return "".join(piece if isinstance(piece, str) else describe(piece[0]) for piece in self.pieces)

    def printf(self) -> tuple[str, list[Scalar]]:
        """Return the C format string and its arguments, widened as C's varargs are."""
        text, args = "", []
        for piece in self.pieces:
            if isinstance(piece, str):
                text += piece.replace("%", "%%")
            else:
                number, spec = piece
                conversion, arg = _conversion(wrap(as_value(number)), spec)
                text += conversion
                args.append(arg)
        return text, args


def _shown(number: Any) -> str:
    return str(number) if isinstance(number, DimExpr) else f"{{{number.type}}}"


def formatted_now() -> CompileError:
    """Return the error for text made of run-time numbers by other means than f-strings, `str`, `format` and `repr`."""
    return mistake(
        "runtime-text", "this text would hold run-time numbers", help='write an f-string: `cl.printf(f"x = {x}")`'
    )


def make_text(value: Any, spec: Any) -> Any:
    """Return `format(value, spec)`: a string, or a text that is made on the GPU."""
    if isinstance(value, RuntimeText) and not spec:
        return value
    if isinstance(value, Scalar | DimExpr):
        if not isinstance(spec, str):
            raise mistake("printf", "a format spec must be known at compile time")
        return RuntimeText(((value, spec),))
    if isinstance(value, Vector):
        return _of_vector(value, spec)
    if isinstance(value, Tensor):
        return _of_tensor(value, spec)
    unknown = (isinstance(leaf, Runtime | DimExpr) for leaf in tree.leaves_of(value))
    if type(value) in (tuple, list) and not spec and any(unknown):
        return _sequence(value)
    if tree.holds_runtime(value):
        raise mistake("printf", f"{describe(value)} cannot be printed", help="print its parts")
    return format(value, spec)


MOST_ELEMENTS = 32
"""The most arguments of CUDA's `printf`. Of a longer vector the first elements are printed; of a tensor that has more
elements, or an extent known only at launch, its type."""


def _of_vector(vector: Vector, spec: Any) -> Any:
    shown = _between([make_text(vector[i], spec) for i in range(min(vector.n, MOST_ELEMENTS))])
    return join_text(["[", *shown, f", ... of {vector.n}]" if vector.n > MOST_ELEMENTS else "]"])


def _of_tensor(tensor: Tensor, spec: Any) -> Any:
    """Return the elements of a tensor, mode 0 outermost, each read where the text is made; or its type."""
    extents = [int(size(mode)) if is_static(mode) else 0 for mode in _modes(tensor.shape)]
    count = prod(extents)
    if not 0 < count <= MOST_ELEMENTS or tensor.dtype.name == "mbarrier":
        return str(tensor.type)
    return _nested(tensor, extents, (), spec)


def _modes(shape: Any) -> tuple[Any, ...]:
    return shape if isinstance(shape, tuple) else (shape,)


def _nested(tensor: Tensor, extents: list[int], at: tuple[int, ...], spec: Any) -> Any:
    if len(at) == len(extents):
        return make_text(tensor[at], spec)
    inner = [_nested(tensor, extents, (*at, i), spec) for i in range(extents[len(at)])]
    return join_text(["[", *_between(inner), "]"])


def _between(texts: list[Any]) -> list[Any]:
    return [piece for i, text in enumerate(texts) for piece in ((", ", text) if i else (text,))]


def _sequence(items: Any) -> Any:
    start, end = ("(", ",)" if len(items) == 1 else ")") if isinstance(items, tuple) else ("[", "]")
    pieces: list[Any] = [start]
    for i, item in enumerate(items):
        pieces += ([", "] if i else []) + [repr(item) if isinstance(item, str) else make_text(item, "")]
    return join_text([*pieces, end])


def join_text(pieces: list[Any]) -> Any:
    """Join strings and run-time texts."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    flat: list[Any] = []
    for piece in pieces:
        flat += piece.pieces if isinstance(piece, RuntimeText) else [piece]
    return RuntimeText(tuple(flat))


def text_of(args: tuple[Any, ...], sep: str = " ") -> RuntimeText:
    """Return the text that `print(*args)` prints."""
    pieces: list[Any] = []
    for i, arg in enumerate(args):
        pieces += ([sep] if i else []) + [arg if isinstance(arg, str) else make_text(arg, "")]
    joined = join_text(pieces)
    return joined if isinstance(joined, RuntimeText) else RuntimeText((joined,))


def filled(args: list[Any]) -> list[Any]:
    """Return the arguments of `printf`: a format with replacement fields, ``"x = {}"``, as the line that it makes."""
    if len(args) < 2 or not isinstance(args[0], str) or "%" in args[0] or "{" not in args[0]:
        return args
    from string import Formatter  # imported here: it compiles regular expressions, which few kernels need

    pieces: list[Any] = []
    try:
        fields = list(Formatter().parse(args[0]))
    except ValueError as error:
        raise mistake("printf", f"{args[0]!r} is no format: {error}") from None
    count = 0
    for text, name, spec, conversion in fields:
        pieces.append(text)
        if name is None:
            continue
        place = count if name == "" else int(name) if name.isdecimal() else -1
        if conversion or not 0 <= place < len(args) - 1:
            said = (
                f"the field {{{name}{'!' + conversion if conversion else ''}}} of the format names none of the values"
            )
            raise mistake("printf", said, help="give a value for each field, or write an f-string")
        count += 1
        pieces.append(make_text(args[1 + place], spec))
    if count < len(args) - 1:
        raise mistake("printf", f"the format has {count} fields, and {len(args) - 1} values follow it")
    line = join_text([*pieces, "" if args[0].endswith("\n") else "\n"])
    return [line.replace("%", "%%") if isinstance(line, str) else line]


def _conversion(number: Scalar, spec: str) -> tuple[str, Scalar]:
    """Return the printf conversion for a number with a Python format spec, and the argument that it prints."""
    match = re.fullmatch(SPEC, spec)
    if match is None or match["kind"] in tuple("bcn%"):
        raise mistake("printf", f"the format spec {spec!r} has no counterpart on the GPU", help="use d x o e f g")
    flags = match["flags"].replace("-", "").replace(">", "").replace("<", "-")  # Python's "-" is the default
    width, precision, kind = match["width"], match["precision"] or "", match["kind"]
    t: DType = number.dtype
    if t.is_float and kind in tuple("doxX"):
        raise mistake(
            "printf", f"the format {kind!r} is for integers, not for {t}", help="use f, e or g, or `int(...)`"
        )
    if t.is_float or kind in tuple("eEfFgG"):
        return f"%{flags}{width}{precision}{kind or 'g'}", to_dtype(number, f64)
    if t.kind == "bool":
        return f"%{flags}{width}{kind or 'd'}", to_dtype(number, i32)
    signed = t.kind == "int"
    if kind in ("", "d") and ("+" in flags or " " in flags) and not signed and t.bits < 64:  # %u shows no sign
        number, signed, t = to_dtype(number, i64), True, i64
    wide = t.bits == 64
    widened = to_dtype(number, (i64 if signed else u64) if wide else (i32 if signed else u32))
    letter = (kind or "d") if signed else {"": "u", "d": "u"}.get(kind, kind)
    return f"%{flags}{width}{'ll' if wide else ''}{letter}", widened
