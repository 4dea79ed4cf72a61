"""Annotations of a kernel's parameters, as specs: the arguments that fit, and the types that they become.

    Tensor[f32, (M, N)]            row-major; M and N are dims, ints, or None for an extent of its own
    Tensor[f32, (M, N), (1, M)]    with strides in elements: ints, dims, or None for any stride
    Tensor[f32, (M, N), col_major] column-major (row-major is the default)
    Tensor[f32, Layout(...)]       any layout, such as one with nested modes
    Tensor[T, (N,), align(4)]      T, a TypeVar, is bound by the argument; the address is a multiple of 4 bytes
    TmaTensor[bf16, (M, K), (128, 64)]          tiles of 128 x 64 through TMA; swizzle by the tile's row
    TmaTensor[bf16, (M, K), (128, 64), "64B"]   with a swizzle: "none", "32B", "64B", "128B"; on Blackwell
                                                also "128B_ATOM_32B"
    Constexpr[int]                 a compile-time constant: part of what the kernel is specialised for
    i32, f32, ...                  a number
    a frozen dataclass or NamedTuple whose fields are any of these
    Tensor[...] | None             may be left out: None is a compile-time constant

Nothing here looks at arguments: that is `cutelite.dispatch`.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import enum
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Literal, cast

from cutelite import layout as layouts
from cutelite.diag import CompileError, Mistake, Span
from cutelite.diag.span import caller
from cutelite.ir.types import SCALARS, boolean, f32, i32, i64, position_bits
from cutelite.ir.types import Scalar as DType
from cutelite.layout import Dim, DimExpr, Layout, rank
from cutelite.records import dataclass

NOTHING_SEEN: Mapping[str, Any] = types.MappingProxyType({})

ALIAS: Any = getattr(typing, "TypeAliasType", ())
"""The class of what ``type A = ...`` makes, since Python 3.12."""

SWIZZLES = {"none": 0, "32B": 32, "64B": 64, "128B": 128, "128B_ATOM_32B": 128}
"""TMA's shared-memory swizzles by name, and the largest row of a tile, in bytes, for each (none: any)."""


col_major = "col"
"""The annotation for column-major, as "col_major" is: linters would take the text for the name of a type."""


class DTypeVar:
    """A dtype that the argument decides: a `typing.TypeVar` in an annotation.

    All parameters that name it have the same dtype, one of its constraints if it has any.
    """

    __slots__ = ("choices", "name")

    def __init__(self, name: str, choices: tuple[DType, ...] = ()) -> None:
        self.name, self.choices = name, choices

    def __repr__(self) -> str:
        return self.name


class Align:
    """The number of bytes that the address of a tensor must be a multiple of."""

    __slots__ = ("bytes",)

    def __init__(self, bytes: int) -> None:
        if not isinstance(bytes, int) or bytes < 1 or bytes & (bytes - 1):
            raise _wrong("Tensor", f"is aligned to a power of two bytes, not {_said(bytes)}", "as in align(16)")
        self.bytes = bytes

    def __repr__(self) -> str:
        return f"align({self.bytes})"


def align(bytes: int) -> Align:
    """Declare, in an annotation, that the tensor's address is a multiple of `bytes` bytes."""
    return Align(bytes)


class Spec:
    """An annotation of a parameter. A new kind of argument is a subclass, and a parameter of `cutelite.dispatch`."""

    __slots__ = ()

    def __or__(self, other: None) -> OptionalSpec:
        if other is not None:
            what = f"{self!r} | {_said(other)}"
            raise CompileError(Mistake("annotation", f"{what}: only `| None` is possible", help=_USE), caller())
        return self if isinstance(self, OptionalSpec) else OptionalSpec(self)

    __ror__ = __or__


class TensorSpec(Spec):
    """`Tensor[...]`: dtype (or variable), extents and strides (None: any), and the required alignment."""

    __slots__ = ("align", "dtype", "order", "shape", "stride")

    def __init__(self, dtype: DType | DTypeVar, shape: Any, stride: Any, order: str, align: int | None) -> None:
        self.dtype, self.shape, self.stride, self.order, self.align = dtype, shape, stride, order, align

    def layout(self, name: str) -> Layout:
        """Return the layout of the parameter `name`, with a dim of its own for every None."""
        name = name.replace(".", "_")
        shape = _named(self.shape, f"{name}_shape")
        if self.stride is not None:
            return Layout(shape, _named(self.stride, f"{name}_stride"))
        if self.order == "col":
            return Layout(shape)
        if any(isinstance(extent, tuple) for extent in shape):
            return layouts.row_major(shape)  # of nested modes too; loaded only here
        return Layout(shape, Layout(shape[::-1]).stride[::-1])

    def __repr__(self) -> str:
        parts = [repr(self.dtype), _show(self.shape)]
        if self.stride is not None:
            parts.append(_show(self.stride))
        elif self.order != "row":
            parts.append("col_major")
        if self.align:
            parts.append(f"align({self.align})")
        return f"Tensor[{', '.join(parts)}]"


class TmaSpec(Spec):
    """`TmaTensor[...]`: a tensor in global memory, and the tile that TMA moves."""

    __slots__ = ("pixels", "swizzle", "tensor", "tile")

    def __init__(self, tensor: TensorSpec, tile: tuple[int, ...], swizzle: str, pixels: Im2col | None = None) -> None:
        self.tensor, self.tile, self.swizzle, self.pixels = tensor, tile, swizzle, pixels

    def __repr__(self) -> str:
        tile = self.tile if self.pixels is None else self.pixels
        return f"Tma{self.tensor!r}"[:-1] + f", {tile}, {self.swizzle!r}]"


class ConstexprSpec(Spec):
    """`Constexpr[type]`."""

    __slots__ = ("type",)

    def __init__(self, type: Any) -> None:
        self.type = type

    def __repr__(self) -> str:
        named = typing.get_origin(self.type) is None
        text = getattr(self.type, "__name__", self.type) if named else str(self.type).replace("typing.", "")
        return f"Constexpr[{text}]"


class PointerSpec(Spec):
    """`Pointer[dtype]`: memory of no known extents, at an address that is a multiple of `align` bytes."""

    __slots__ = ("align", "dtype")

    def __init__(self, dtype: DType, align: int) -> None:
        self.dtype, self.align = dtype, align

    def __repr__(self) -> str:
        more = "" if self.align == self.dtype.bytes else f", align({self.align})"
        return f"Pointer[{self.dtype}{more}]"


class PointersSpec(Spec):
    """`Tensor[Pointer[f32], (N,)]`: an array of addresses in memory, whose targets `to` describes.

    addresses  the annotation of the array, whose elements are i64
    """

    __slots__ = ("addresses", "to")

    def __init__(self, addresses: TensorSpec | PointerSpec, to: TensorSpec | PointerSpec) -> None:
        self.addresses, self.to = addresses, to

    def __repr__(self) -> str:
        return repr(self.addresses).replace("i64", repr(self.to), 1)


class StructSpec(Spec):
    """A frozen dataclass or NamedTuple: each field by its own annotation."""

    __slots__ = ("cls", "fields")

    def __init__(self, cls: type, fields: dict[str, Any]) -> None:
        self.cls, self.fields = cls, fields

    def __repr__(self) -> str:
        return self.cls.__name__


class SequenceSpec(Spec):
    """``tuple[A, B]``, each item by its own annotation, or any number of items of one annotation: ``list[A]``.

    items  the annotations of the items; None for ``list[A]`` and ``tuple[A, ...]``, whose items are all `each`
    """

    __slots__ = ("each", "items", "kind")

    def __init__(self, kind: type, items: tuple[Any, ...] | None, each: Any = None) -> None:
        self.kind, self.items, self.each = kind, items, each

    def __repr__(self) -> str:
        if self.items is not None:
            return f"tuple[{', '.join(map(repr, self.items)) or '()'}]"
        return f"list[{self.each!r}]" if self.kind is list else f"tuple[{self.each!r}, ...]"


class OptionalSpec(Spec):
    """`Tensor[...] | None`: None is a compile-time constant, so ``if bias is not None:`` costs nothing."""

    __slots__ = ("spec",)

    def __init__(self, spec: Annotation) -> None:
        self.spec = spec

    def __repr__(self) -> str:
        return f"{self.spec!r} | None"


Annotation = Spec | DType | DTypeVar
"""The annotations that parameters can have."""

_LAYOUT = (
    "a layout that is known beforehand is a Constexpr; of numbers of the launch, such as a `tuple[i32, i32]`, "
    "`cl.make_layout((cl.dim(m), cl.dim(n)))` makes one in the kernel"
)
_USE = "use Tensor[...], TmaTensor[...], Constexpr[...], a dtype, or a frozen dataclass, tuple or list of these"


class _Constexpr:
    """`Constexpr[type]` declares a parameter that is known at compile time: a kernel is compiled for each value."""

    __iter__ = None  # by `__getitem__` alone Python would iterate for ever

    def __getitem__(self, type: Any) -> ConstexprSpec:
        return ConstexprSpec(type)

    def __repr__(self) -> str:
        return "Constexpr"


Constexpr = _Constexpr()


class Tensor:
    """In annotations: `Tensor[dtype, shape]`. Tensors in a kernel are instances of it (`lang.tensor.Tensor`)."""

    __slots__ = ()

    def __class_getitem__(cls, item: Any) -> Any:
        return tensor_annotation(item)


class Pointer:
    """In annotations: `Pointer[dtype]`, memory of no known extents. In a kernel it is a tensor of one mode."""

    __slots__ = ()

    def __class_getitem__(cls, item: Any) -> Any:
        return pointer_annotation(item)


@dataclass(frozen=True)
class Im2col:
    """A box of pixels in place of a tile: ``TmaTensor[dtype, (images, height, width, channels), cl.Im2col(...)]``.

    pixels    the number of pixels of a copy, 1 to 1024, in row-major order and on into the next image
    channels  the number of channels of each pixel
    lower     for each mode between images and channels, the first pixel: -1 for a filter of 3 with padding
    upper     the last pixel, counted from the end of the mode: -1 for such a filter, whose offsets are 0 to 2
    strides   for each of these modes, 1 to 8: the distance of pixels, for a convolution with strides; empty: 1
    wide      'w' or 'w128': pixels lie in one row of an image, and then in the same row of the next one; only the width
              has corners and a stride. 'w128' means 128 pixels in four parts. Only on Blackwell (`tma_im2col_w`)
    Source    CUDA driver API: cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2colWide
    """

    pixels: int
    channels: int
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    strides: tuple[int, ...] = ()
    wide: Literal["", "w", "w128"] = ""


class TmaTensor:
    """In annotations: `TmaTensor[dtype, shape, tile]`. TMA tensors in a kernel are instances of it."""

    __slots__ = ()

    def __class_getitem__(cls, item: Any) -> Any:
        return tma_annotation(item)


def tensor_annotation(item: Any) -> TensorSpec | PointersSpec:
    """Return the spec of ``Tensor[item]``."""
    if not isinstance(item, tuple) or len(item) < 2:
        raise _wrong("Tensor", "takes a dtype and a shape", "write Tensor[f32, (M, N)]")
    if isinstance(item[0], TensorSpec | PointerSpec):
        return PointersSpec(_tensor((i64, *item[1:])), _pointee("Tensor", item[0]))
    return _tensor(item)


def _pointee(of: str, spec: TensorSpec | PointerSpec) -> TensorSpec | PointerSpec:
    """Check that addresses in memory can lead to such arrays, and return `spec`. Errors: `annotation`."""
    if isinstance(spec.dtype, DTypeVar):
        raise _wrong(of, f"is of addresses of the dtype variable {spec.dtype}", "name the dtype, as in Pointer[f32]")
    if isinstance(spec, TensorSpec) and any(_is_open(extents) for extents in (spec.shape, spec.stride or ())):
        raise _wrong(of, f"is of addresses of {spec!r}, and no argument determines None", "name a dim that another has")
    return spec


def _is_open(extents: Any) -> bool:
    return any(map(_is_open, extents)) if isinstance(extents, tuple) else extents is None


def _tensor(item: tuple[Any, ...], of: str = "Tensor", more: str = "shape come") -> TensorSpec:
    dtype, shape, *rest = item
    stride, order, alignment, said = None, "row", None, set[str]()
    if isinstance(shape, Layout):
        shape, stride = shape.shape, shape.stride
        said.add("order of modes")
    elif not isinstance(shape, tuple):
        several = len(rest) > 0 and isinstance(rest[0], int | DimExpr)
        help = "write them in parentheses: `Tensor[f32, (M, N)]`" if several else "write (N,) for one dimension"
        raise _wrong("Tensor", f"takes a tuple of extents, not {_said(shape)}", help)
    for extra in rest:
        if isinstance(extra, Align):
            alignment = extra.bytes
        elif extra in ("row", "col"):
            order = extra
        elif isinstance(extra, tuple):
            stride = extra
        else:
            raise _wrong(of, f"does not know {_said(extra)}", f"after the {more} strides, col_major, align(n)")
        what = "alignment" if isinstance(extra, Align) else "order of modes"
        if what in said:
            raise _wrong(of, f"has its {what} twice", f"{_said(extra)} is one too many")
        said.add(what)
    dtype = _dtype("Tensor", dtype)
    _check_extents("extent", shape, 1)
    _check_extents("stride", stride, None)
    if isinstance(stride, tuple) and len(stride) != len(shape):
        raise _wrong("Tensor", f"has {len(shape)} extents and {len(stride)} strides", "give one stride for each extent")
    return TensorSpec(dtype, shape, stride, order, alignment)


def pointer_annotation(item: Any) -> PointerSpec | PointersSpec:
    """Return the spec of ``Pointer[item]``."""
    dtype, *rest = item if isinstance(item, tuple) else (item,)
    if isinstance(dtype, TensorSpec | PointerSpec):
        addresses = pointer_annotation((i64, *rest))
        assert isinstance(addresses, PointerSpec)
        return PointersSpec(addresses, _pointee("Pointer", dtype))
    dtype = _dtype("Pointer", dtype)
    if isinstance(dtype, DTypeVar) or len(rest) > 1 or not all(isinstance(x, Align) for x in rest):
        raise _wrong("Pointer", f"does not know {_said(item)}", "write Pointer[f32], or Pointer[f32, align(16)]")
    return PointerSpec(dtype, max([dtype.bytes, *(x.bytes for x in rest)]))


def tma_annotation(item: Any) -> TmaSpec:
    """Return the spec of ``TmaTensor[item]``."""
    if not isinstance(item, tuple) or len(item) < 3:
        raise _wrong("TmaTensor", "takes a dtype, a shape and a tile", "write TmaTensor[bf16, (M, K), (128, 64)]")
    dtype, shape, tile, *rest = item
    dtype = _dtype("TmaTensor", dtype)
    pixels = tile if isinstance(tile, Im2col) else None
    if pixels is not None:
        tile = pixels.pixels, pixels.channels
    swizzle = next((x for x in rest if isinstance(x, str) and x in SWIZZLES), None)
    others = (x for x in rest if x is not swizzle)
    tensor = _tensor((dtype, shape, *others), "TmaTensor", f"tile come a swizzle ({', '.join(SWIZZLES)}),")
    if tensor.order != "row" or (tensor.stride is not None and tensor.stride[-1] != 1):
        raise _wrong(
            "TmaTensor",
            "needs its last mode contiguous",
            "declare the transposed tensor, and pass `x.T`; wgmma takes both",
        )
    if not isinstance(tile, tuple) or not all(isinstance(extent, int) for extent in tile):
        raise _wrong("TmaTensor", f"takes compile-time tile extents, not {_said(tile)}", "as in (128, 64)")
    _check_extents("tile extent", tile, 1, "TmaTensor")
    modes = rank(tensor.layout("t"))
    if pixels is not None:
        _check_pixels(pixels, modes)
        _check_row(dtype, tile)
    elif len(tile) != modes:
        raise _wrong(
            "TmaTensor", f"has {len(shape)} extents and a tile of {len(tile)}", "give the tile one extent each"
        )
    swizzle = swizzle or _default_swizzle(dtype, tile)
    if pixels is None:
        _check_box(dtype, tile)
    return TmaSpec(tensor, tile, swizzle, pixels)


def _check_box(dtype: Any, tile: tuple[int, ...]) -> None:
    """Check a tile that one copy moves. Errors: `CompileError`."""
    if any(extent > 256 for extent in tile):
        raise _wrong("TmaTensor", f"has a tile of {tile}", "TMA moves 1 to 256 elements along each mode at once")
    _check_row(dtype, tile)


def _check_row(dtype: Any, tile: tuple[int, ...]) -> None:
    row = 0 if isinstance(dtype, DTypeVar) else dtype.bytes * tile[-1]
    if row % 16:
        raise _wrong("TmaTensor", f"has a tile with rows of {row} bytes", "TMA moves multiples of 16 bytes")


def _check_pixels(pixels: Im2col, modes: int) -> None:
    """Check a tile of pixels of a tensor of `modes` modes. Errors: `CompileError`."""
    inner = 1 if pixels.wide else modes - 2
    for name in ("lower", "upper", "strides"):
        numbers: Any = getattr(pixels, name)
        if not isinstance(numbers, tuple) or not all(isinstance(each, int) for each in numbers):
            raise _wrong("TmaTensor", f"has an Im2col with {name}={numbers!r}", "whole numbers, as in (-1, -1)")
    if modes not in (3, 4, 5) or {len(pixels.lower), len(pixels.upper)} != {inner}:
        text = f"has {modes} extents, of which {len(pixels.lower)} have corners"
        which = "width alone has them here" if pixels.wide else "all between the first and the last with corners"
        raise _wrong("TmaTensor", text, f"images have 3 to 5 modes, {which}")
    if pixels.pixels > 1024 or pixels.channels > 256:
        text = f"has a tile of {pixels.pixels} pixels of {pixels.channels} channels"
        raise _wrong("TmaTensor", text, "TMA moves 1 to 1024 pixels of 1 to 256 channels")
    bound = 1 << position_bits(3 if pixels.wide else modes) - 1
    if any(not -bound <= corner < bound for corner in (*pixels.lower, *pixels.upper)):
        text = f"has corners at {tuple(pixels.lower)} and {tuple(pixels.upper)}"
        raise _wrong("TmaTensor", text, f"corners are from {-bound} to {bound - 1} where a tensor has {modes} modes")
    if pixels.wide not in ("", "w", "w128") or (pixels.wide == "w128" and pixels.pixels != 128):
        text = f"has rows of {pixels.pixels} pixels by wide={pixels.wide!r}"
        raise _wrong("TmaTensor", text, "wide is 'w', or 'w128' with 128 pixels")
    if pixels.strides and (len(pixels.strides) != inner or any(not 1 <= step <= 8 for step in pixels.strides)):
        text = f"has pixels {pixels.strides} apart"
        raise _wrong("TmaTensor", text, "strides are 1 to 8, one for each mode with corners")


def _check_extents(what: str, extents: Any, least: int | None, of: str = "Tensor") -> None:
    """Check the extents or strides of an annotation: tuples of ints, dims and None."""
    if isinstance(extents, tuple):
        for extent in extents:
            _check_extents(what, extent, least, of)
    elif isinstance(extents, bool) or not (extents is None or extents is Ellipsis or isinstance(extents, DimExpr)):
        if isinstance(extents, bool) or not hasattr(type(extents), "__index__"):
            raise _wrong(of, f"has the {what} {_said(extents)}", "write an int, a dim, or None for any")
        if (least is not None and extents < least) or abs(int(extents)) >= 1 << 63:
            raise _wrong(of, f"has the {what} {extents}", "extents are 1 to 2**63 - 1; dims may be 0")


def _default_swizzle(dtype: DType | DTypeVar, tile: tuple[int, ...]) -> str:
    """Return the swizzle that spans the tile's contiguous row: it has no bank conflicts, and wgmma reads it."""
    if isinstance(dtype, DTypeVar):
        return "auto"
    return default_swizzle(tile[-1] * dtype.bytes)


def default_swizzle(row_bytes: int) -> str:
    return {32: "32B", 64: "64B", 128: "128B"}.get(row_bytes, "none")


def seen_beside(annotations: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the variables that annotations name as strings (PEP 563), for which Python captures none.

    They are those of the user's function that runs now; in a class body its own, and those of the function around it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_MAKERS):
        frame = frame.f_back
    if frame is None or frame.f_locals is frame.f_globals:
        return NOTHING_SEEN
    names = _names_in_text(annotations)
    found: dict[str, Any] = {}
    while frame is not None and frame.f_locals is not frame.f_globals:
        local = frame.f_locals
        found = {name: local[name] for name in names if name in local} | found
        frame = None if frame.f_code.co_flags & inspect.CO_OPTIMIZED else frame.f_back  # a class body is not optimised
    return found


_MAKERS = ("cutelite.dispatch.", "cutelite.lang.", "cutelite.lib.extern", "cutelite_rt.")
"""Modules between the user's line and `seen_beside`. Others of ours define kernels as users do."""


def _names_in_text(annotations: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    for text in annotations.values():
        if isinstance(text, str):
            with contextlib.suppress(SyntaxError):
                found |= {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
    return found


def specs_of(function: Callable[..., Any], seen: Mapping[str, Any] = NOTHING_SEEN) -> dict[str, Annotation | None]:
    """Return the spec of each parameter; None for one without annotation. Strings (PEP 563) are evaluated.

    seen  variables where the function was defined, for the strings
    """
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    star = code.co_varnames[count : count + bool(code.co_flags & 0x04)]  # of ``*args: A``: as many as are given
    found = {}
    for name in (*code.co_varnames[:count], *star):
        try:
            found[name] = _spec_of(function, name, seen)
            if name in star:
                if found[name] is None:
                    raise CompileError(Mistake("annotation", f"*{name} needs an annotation, for each of its arguments"))
                found[name] = SequenceSpec(tuple, None, found[name])
        except CompileError as error:
            raise error.at(parameter_span(function, name)) from error.__cause__
    return found


def parameter_span(function: Any, name: str) -> Span:
    """Return the place of a parameter of a function, or the line of the function if its source cannot be read."""
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(code)
        indent = len(lines[0]) - len(lines[0].lstrip())
        tree = ast.parse("".join(line[indent:] for line in lines))
    except (OSError, SyntaxError, TypeError):
        return Span(code.co_filename, code.co_firstlineno)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg == name:
            last, end = node.end_lineno or node.lineno, node.end_col_offset or 0
            return Span(
                code.co_filename, first + node.lineno - 1, node.col_offset + indent, first + last - 1, end + indent
            )
    return Span(code.co_filename, code.co_firstlineno)


def _spec_of(function: Any, name: str, seen: Mapping[str, Any]) -> Annotation | None:
    annotation = function.__annotations__.get(name)
    if annotation is None:
        return None
    if isinstance(annotation, str):
        annotation = _evaluated(function, name, annotation, seen)
    if isinstance(annotation, str):  # quoted, in a module whose annotations are all text
        annotation = _evaluated(function, name, annotation, seen)
    return spec(annotation, f"parameter `{name}` of {function.__qualname__}")


def _evaluated(function: Any, name: str, text: str, seen: Mapping[str, Any]) -> Any:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    local = dict(seen)
    for free, cell in cells.items():
        try:
            local[free] = cell.cell_contents
        except ValueError:
            continue  # not bound yet: a name the annotation may not need
    try:
        return eval(text, function.__globals__, local)
    except CompileError:
        raise
    except Exception as error:
        said = error.msg if isinstance(error, SyntaxError) else error  # without its place in the text
        title = f"the annotation of `{name}`, `{text}`, cannot be evaluated: {said}"
        help = "names in a string annotation are globals, variables that the kernel uses, or variables beside it"
        if isinstance(error, AttributeError | NameError) and error.name:
            from cutelite.lang.foreign import bare_suggestion, suggestion  # here: only a misspelling needs them

            if isinstance(error, AttributeError):
                help = suggestion(error.name, dir(error.obj)) or help
            else:
                ours = sys.modules["cutelite"].__all__
                help = bare_suggestion(error.name, [*function.__globals__, *local], ours) or help
        raise CompileError(Mistake("annotation", title, help=help)) from error


MAX_DEPTH = 50
"""The most parts of annotations that lie in each other."""


def spec(annotation: Any, where: str) -> Annotation:
    """Return the spec of an annotation."""
    if where.count(", ") > MAX_DEPTH:
        help = "the parts of a kernel's arguments are known: use a tuple or list of one class"
        title = f"the annotation of {where.partition(', ')[0]} holds itself"
        raise CompileError(Mistake("annotation", title, help=help))
    if isinstance(annotation, Spec | DType | DTypeVar):
        return annotation
    if annotation is Constexpr:
        return ConstexprSpec(object)
    if annotation in (int, float, bool):
        return {int: i32, float: f32, bool: boolean}[annotation]
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        some = [arg for arg in typing.get_args(annotation) if arg is not type(None)]
        if len(some) == 1:
            return OptionalSpec(spec(some[0], where))
    if typing.get_origin(annotation) in (tuple, list):
        return _sequence(typing.get_origin(annotation), typing.get_args(annotation), where)
    if typing.get_origin(annotation) is typing.Literal:
        return ConstexprSpec(annotation)
    if typing.get_origin(annotation) is typing.Annotated:
        return spec(typing.get_args(annotation)[0], where)
    if isinstance(annotation, typing.NewType):
        return spec(annotation.__supertype__, where)
    if isinstance(annotation, typing.TypeVar):
        return DTypeVar(annotation.__name__, tuple(annotation.__constraints__))
    home = typing.get_origin(annotation) or annotation
    if isinstance(home, type) and issubclass(home, enum.Enum):
        return ConstexprSpec(home)
    made: Annotation | None = None
    if isinstance(home, ALIAS):
        made = spec(home.__value__, where)
    elif isinstance(home, type) and (fields := struct_fields(home)) is not None:
        bound = _bound_by_bases(home, where)
        found = {name: spec(a, f"{where}, field `{name}`") for name, a in fields.items()}
        made = StructSpec(home, {name: _with_types(a, bound.get(_home(home, name), {})) for name, a in found.items()})
    if made is not None:
        given = zip(getattr(home, "__parameters__", ()), typing.get_args(annotation), strict=False)
        chosen = {str(var.__name__): spec(arg, f"{where}, type variable `{var.__name__}`") for var, arg in given}
        return _with_types(made, chosen) if chosen else made
    raise CompileError(
        Mistake(
            "annotation",
            f"the annotation of {where} is no type that a parameter can have: {_said(annotation)}",
            help=_LAYOUT if annotation in (Layout, layouts.ComposedLayout) else _USE,
        )
    )


def _home(cls: type, name: str) -> type | None:
    """Return the class that annotates a field of `cls`."""
    return next((home for home in cls.__mro__ if name in getattr(home, "__annotations__", {})), None)


def _bound_by_bases(cls: type, where: str) -> dict[Any, dict[str, Any]]:
    """Return what generic bases of a class have for their type variables: of ``class P(Pair[f32])``, f32 for Pair's."""
    bound: dict[Any, dict[str, Any]] = {}
    for base in cls.__dict__.get("__orig_bases__", ()):
        home, given = typing.get_origin(base), typing.get_args(base)
        if not isinstance(home, type) or home is typing.Generic:
            continue
        variables = getattr(home, "__parameters__", ())
        own = {var.__name__: spec(x, where) for var, x in zip(variables, given, strict=False)}
        above = {of: _with_types(types_of, own) for of, types_of in _bound_by_bases(home, where).items()}
        bound |= {home: own, **above}
    return bound


def _with_types(x: Any, chosen: dict[str, Annotation]) -> Any:
    """Return a part of an annotation with what is chosen for its type variables in their places."""
    if isinstance(x, DTypeVar):
        return chosen.get(x.name, x)
    if isinstance(x, tuple):
        return tuple(_with_types(item, chosen) for item in x)
    if isinstance(x, dict):
        return {key: _with_types(item, chosen) for key, item in x.items()}
    if not isinstance(x, Spec) or isinstance(x, ConstexprSpec):
        return x
    made, names = copy.copy(x), cast("tuple[str, ...]", type(x).__slots__)
    for name in names:
        held = _with_types(getattr(x, name), chosen)
        setattr(made, name, _dtype(repr(x).partition("[")[0], held) if name == "dtype" else held)
    return made


def _sequence(kind: type, of: tuple[Any, ...], where: str) -> SequenceSpec:
    """Return the spec of ``tuple[of]`` or ``list[of]``."""
    if kind is list or (len(of) == 2 and of[1] is Ellipsis):
        return SequenceSpec(kind, None, spec(of[0], f"{where}, its items"))
    items = tuple(spec(item, f"{where}, item {i}") for i, item in enumerate(() if of == ((),) else of))
    return SequenceSpec(kind, items)


def struct_fields(cls: type) -> dict[str, Any] | None:
    """Return the annotations of a frozen dataclass's or NamedTuple's fields, None for any other class.

    Errors  `CompileError` for a dataclass that is not frozen, a field that is not annotated, names that are unknown
    """
    params = getattr(cls, "__dataclass_params__", None)
    if params is None:
        if not (issubclass(cls, tuple) and hasattr(cls, "_fields")):
            return None
        names: tuple[str, ...] = cls._fields
    elif params.frozen:
        names = tuple(field.name for field in dataclasses.fields(cls))
    else:
        raise CompileError(
            Mistake("annotation", f"the dataclass {cls.__name__} is not frozen", help="write @dataclass(frozen=True)")
        )
    return {name: _field_annotation(cls, name) for name in names}


def _field_annotation(cls: type, name: str) -> Any:
    """Return the annotation of a field, from the first class in the MRO that has it; strings are evaluated there."""
    for home in cls.__mro__:
        text = ""
        try:
            annotation = getattr(home, "__annotations__", {}).get(name)  # evaluated now, since 3.14
            if annotation is None:
                continue
            text = getattr(annotation, "__forward_arg__", annotation)  # NamedTuple wraps strings in a ForwardRef
            if not isinstance(text, str):
                return annotation
            own = {var.__name__: var for var in getattr(home, "__type_params__", ())}
            return eval(text, vars(sys.modules[home.__module__]), own | dict(vars(home)))
        except Exception as error:
            shown = f", `{text}`, cannot" if text else " cannot"
            raise CompileError(
                Mistake(
                    "annotation",
                    f"the annotation of `{cls.__name__}.{name}`{shown} be evaluated: {error}",
                    help="names in a string annotation of a class must be globals of its module",
                )
            ) from error
    raise CompileError(Mistake("annotation", f"the field `{name}` of {cls.__name__} has no annotation"))


def _named(extents: Any, prefix: str) -> Any:
    """Return extents with a dim of its own, `prefix0`, `prefix1`, ..., for each None."""
    if isinstance(extents, tuple):
        return tuple(_named(x, f"{prefix}{i}") for i, x in enumerate(extents))
    return Dim(prefix, min=0) if extents is None or extents is Ellipsis else extents


def _dtype(what: str, dtype: Any) -> DType | DTypeVar:
    if isinstance(dtype, typing.TypeVar):
        return DTypeVar(dtype.__name__, tuple(dtype.__constraints__))
    if hasattr(dtype, "per_word"):
        help = f"take a tensor of u32, and `cl.unpack(words, cl.{dtype})`"
        raise _wrong(what, f"has no elements of {dtype}: {dtype} numbers are packed in words", help)
    if not isinstance(dtype, DType | DTypeVar):
        raise _wrong(what, f"takes a dtype first, not {_said(dtype)}", f"one of {', '.join(SCALARS)}, or a TypeVar")
    return dtype


def _wrong(what: str, message: str, help: str) -> CompileError:
    return CompileError(Mistake("annotation", f"{what}[...] {message}", help=help), caller())


def _said(x: Any) -> str:
    """Return an object as its author wrote it."""
    name = getattr(x, "__name__", None)
    if typing.get_origin(x) is None and isinstance(name, str) and (isinstance(x, type) or callable(x)):
        return f"a {name.strip('<>')}" if not name.isidentifier() else f"`{name}`"
    return repr(x)


def _show(extents: Any) -> str:
    if isinstance(extents, tuple):
        return f"({', '.join(map(_show, extents))}{',' if len(extents) == 1 else ''})"
    return "None" if extents is None else str(extents)
