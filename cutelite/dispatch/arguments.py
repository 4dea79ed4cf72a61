"""Arguments of a launch -> the types to specialise for, and the values to pass; every mismatch is told here.

In    the specs of a kernel's parameters (`lang.annotations`) and what the caller passed
Out   `Bound`: an `ArgType` for each parameter, a width for each named dim, and the run-time values in order
"""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

from cutelite.front.types import ArgType, Constant, Struct
from cutelite.ir.types import SCALARS, Scalar, Tensor, TensorMap, i32, i64
from cutelite.lang.annotations import (
    ConstexprSpec,
    DTypeVar,
    Spec,
    StructSpec,
    TensorSpec,
    TmaSpec,
    default_swizzle,
    struct_fields,
    suggestion,
)
from cutelite.layout import Dim, DimExpr, Layout, dims_of, evaluate, known_divisor
from cutelite_rt import ArrayView, UnreadableArray, read
from cutelite_rt.memory import is_array

WIDE_DIM = (1 << 31) - (1 << 16)
"""From here on a dim is 64 bits wide (the same limit as `lang.values.I32_DIM_LIMIT`)."""
VECTOR_BYTES = 16
"""Tensors whose address is a multiple of this are specialised for it: the widest vector access."""


class ArgumentError(TypeError):
    """An argument does not fit its parameter: the kernel, the parameter, what was expected and what came."""


class MapRequest(NamedTuple):
    """A TMA descriptor to encode: of this array, for this tile."""

    view: ArrayView
    type: TensorMap


class Bound(NamedTuple):
    """What a call comes to.

    types   parameter -> what the kernel is specialised for
    dims    named dim -> i32 or i64
    values  run-time values in the kernel's order: numbers, `ArrayView`s, `MapRequest`s, then the dims
    views   the arrays among them
    """

    types: dict[str, ArgType]
    dims: dict[str, Scalar]
    values: list[Any]
    views: list[ArrayView]


class _Call:
    """One call being bound: dims and dtype variables learned so far, with who told them."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.dims: dict[str, tuple[int, str]] = {}  # name -> (value, the parameter that bound it)
        self.facts: dict[str, Dim] = {}
        self.dtypes: dict[str, tuple[Scalar, str]] = {}
        self.later: list[tuple[DimExpr, int, str, str]] = []  # expressions to check once every dim is bound
        self.values: list[Any] = []
        self.views: list[ArrayView] = []

    def error(self, name: str, text: str) -> ArgumentError:
        return ArgumentError(f"{self.kernel}(): argument `{name}` {text}")


def bind(kernel: str, specs: dict[str, Spec | None], arguments: dict[str, Any]) -> Bound:
    """Fit `arguments` (one for each spec) to the specs. Errors: `ArgumentError`."""
    call = _Call(kernel)
    types = {name: _argument(call, name, spec, arguments[name]) for name, spec in specs.items()}
    for expr, value, name, what in call.later:
        expected = evaluate(expr, {dim: bound for dim, (bound, _) in call.dims.items()})
        if expected != value:
            raise call.error(name, f"has {what} {value}, but {expr} is {expected} ({_sources(call, expr)})")
    dims = {name: i64 if value > WIDE_DIM else i32 for name, (value, _) in call.dims.items()}
    values = [*call.values, *(value for value, _ in call.dims.values())]
    return Bound(types, dims, values, call.views)


def _argument(call: _Call, name: str, spec: Spec | None, argument: Any) -> ArgType:
    match spec:
        case None:
            raise call.error(name, f"has no annotation; write `{name}: {_annotation_for(argument)}`")
        case TensorSpec():
            return _tensor(call, name, spec, argument)
        case TmaSpec():
            return _tensor_map(call, name, spec, argument)
        case ConstexprSpec():
            return _constant(call, name, spec, argument)
        case StructSpec():
            return _struct(call, name, spec, argument)
        case DTypeVar():
            return _scalar(call, name, _scalar_dtype_of(call, name, spec, argument), argument)
        case Scalar():
            return _scalar(call, name, spec, argument)
    raise TypeError(f"no such spec: {spec!r}")


def _annotation_for(argument: Any) -> str:
    """What to write for a parameter that got this argument."""
    if is_array(argument):
        view = read(argument)
        return suggestion(SCALARS[view.dtype], view.shape)
    if isinstance(argument, bool):
        return "cl.boolean"
    if isinstance(argument, numbers.Real):
        return "cl.i32" if isinstance(argument, numbers.Integral) else "cl.f32"
    if struct_fields(type(argument)) is not None:
        return type(argument).__name__
    return f"Constexpr[{type(argument).__name__}]"


# Tensors.


def _tensor(call: _Call, name: str, spec: TensorSpec, argument: Any) -> Tensor:
    view = _view(call, name, argument)
    dtype = _dtype(call, name, spec.dtype, SCALARS[view.dtype])
    layout = spec.layout(name)
    _bind_layout(call, name, spec, layout, view)
    align = _alignment(call, name, spec, view, dtype)
    call.views.append(view)
    call.values.append(view)
    return Tensor(dtype, "gmem", layout, align)


def _view(call: _Call, name: str, argument: Any) -> ArrayView:
    try:
        return read(argument)
    except UnreadableArray as error:
        kind = type(argument).__name__
        raise call.error(name, f"must be an array, not {kind}: {error}") from None


def _dtype(call: _Call, name: str, wanted: Scalar | DTypeVar, found: Scalar) -> Scalar:
    if isinstance(wanted, Scalar):
        storage = {"tf32": "f32"}.get(wanted.name, wanted.name)
        if found.name != storage:
            raise call.error(name, f"has dtype {found}, but its annotation says {wanted}")
        return wanted
    if wanted.choices and found not in wanted.choices:
        raise call.error(name, f"has dtype {found}; {wanted} is one of {', '.join(map(str, wanted.choices))}")
    bound, source = call.dtypes.setdefault(wanted.name, (found, name))
    if bound != found:
        raise call.error(name, f"has dtype {found}, but {wanted} is {bound}, from `{source}`")
    return bound


def _bind_layout(call: _Call, name: str, spec: TensorSpec, layout: Layout, view: ArrayView) -> None:
    """Match extents and strides of the array against the layout, learning dims from them."""
    extents = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    if any(isinstance(extent, tuple) for extent in extents):
        _bind_nested(call, name, layout, view)
        return
    if len(view.shape) != len(extents):
        raise call.error(name, f"has {len(view.shape)} dimensions {view.shape}, but {spec!r} has {len(extents)}")
    for i, (extent, found) in enumerate(zip(extents, view.shape, strict=True)):
        _match(call, name, extent, found, f"extent {i}", view.shape)
    strides = layout.stride if isinstance(layout.stride, tuple) else (layout.stride,)
    if spec.stride is None:
        strides = _compact(view.shape, spec.order)
    for i, (stride, found, extent) in enumerate(zip(strides, view.strides, view.shape, strict=True)):
        if extent > 1 or (isinstance(stride, Dim) and stride.name not in call.dims):
            hint = "" if spec.stride else f"; make it contiguous, or give its strides: Tensor[{spec.dtype}, shape, strides]"
            _match(call, name, stride, found, f"stride {i}", view.strides, hint)


def _bind_nested(call: _Call, name: str, layout: Layout, view: ArrayView) -> None:
    """A layout of nested modes describes flat, compact memory of at least its cosize."""
    need = layout.cosize
    if not isinstance(need, int):
        raise call.error(name, f"has the nested layout {layout}, whose extents must be compile-time")
    if view.strides != _compact(view.shape, "row") and view.size > 1:
        raise call.error(name, f"must be contiguous to be seen through the layout {layout}")
    if view.size < need:
        raise call.error(name, f"has {view.size} elements, but the layout {layout} reaches {need}")


def _compact(shape: tuple[int, ...], order: str) -> tuple[int, ...]:
    strides = []
    step = 1
    for extent in shape[::-1] if order == "row" else shape:
        strides.append(step)
        step *= extent
    return tuple(strides[::-1] if order == "row" else strides)


def _match(
    call: _Call, name: str, wanted: Any, found: int, what: str, whole: tuple[int, ...], hint: str = ""
) -> None:
    """One extent or stride of an array against the leaf of the layout."""
    if isinstance(wanted, Dim):
        bound = call.dims.get(wanted.name)
        if bound is None:
            _check_facts(call, name, wanted, found, what)
            call.dims[wanted.name] = (found, name)
        elif bound[0] != found:
            raise call.error(name, f"has {what} {found} of {whole}, but {wanted.name} is {bound[0]}, from `{bound[1]}`")
        else:
            _check_facts(call, name, wanted, found, what)
    elif isinstance(wanted, DimExpr):
        call.later.append((wanted, found, name, what))
    elif wanted != found:
        raise call.error(name, f"has {what} {found} of {whole}, but its annotation says {wanted}{hint}")


def _check_facts(call: _Call, name: str, dim: Dim, value: int, what: str) -> None:
    known = call.facts.setdefault(dim.name, dim)
    if known != dim:
        raise call.error(name, f"uses {dim!r}, which another parameter states as {known!r}: declare each dim once")
    divisor = known_divisor(dim)
    if divisor > 1 and value % divisor:
        raise call.error(name, f"has {what} {value}, but {dim.name} must be divisible by {divisor}")


def _sources(call: _Call, expr: DimExpr) -> str:

    told = sorted((dim.name, call.dims[dim.name]) for dim in dims_of(expr))
    return ", ".join(f"{name} = {value} from `{source}`" for name, (value, source) in told)


def _alignment(call: _Call, name: str, spec: TensorSpec, view: ArrayView, dtype: Scalar) -> int:
    wanted = spec.align or dtype.bytes
    if view.pointer % wanted and view.size:
        raise call.error(name, f"is at {view.pointer:#x}, which is no multiple of {wanted} bytes")
    if spec.align:
        return spec.align
    return VECTOR_BYTES if view.pointer % VECTOR_BYTES == 0 else dtype.bytes


def _tensor_map(call: _Call, name: str, spec: TmaSpec, argument: Any) -> TensorMap:
    view = _view(call, name, argument)
    dtype = _dtype(call, name, spec.tensor.dtype, SCALARS[view.dtype])
    layout = spec.tensor.layout(name)
    _bind_layout(call, name, spec.tensor, layout, view)
    swizzle = default_swizzle(spec.tile[-1] * dtype.bytes) if spec.swizzle == "auto" else spec.swizzle
    t = TensorMap(dtype, layout, spec.tile, swizzle)
    call.views.append(view)
    call.values.append(MapRequest(view, t))
    return t


# Everything else.


def _constant(call: _Call, name: str, spec: ConstexprSpec, argument: Any) -> Constant:
    try:
        hash(argument)
    except TypeError:
        raise call.error(name, f"is a compile-time constant and must be hashable, not {argument!r}") from None
    wanted = spec.type
    if isinstance(wanted, type) and not isinstance(argument, wanted):
        if wanted is float and isinstance(argument, int) and not isinstance(argument, bool):
            return Constant(float(argument))
        raise call.error(name, f"must be {wanted.__name__}, not {argument!r}")
    return Constant(argument)


def _struct(call: _Call, name: str, spec: StructSpec, argument: Any) -> Struct:
    if not isinstance(argument, spec.cls):
        raise call.error(name, f"must be a {spec.cls.__name__}, not {type(argument).__name__}")
    parts = ((field, _argument(call, f"{name}.{field}", s, getattr(argument, field))) for field, s in spec.fields.items())
    return Struct(spec.cls, tuple(parts))


def _scalar_dtype_of(call: _Call, name: str, variable: DTypeVar, argument: Any) -> Scalar:
    """A dtype variable on a number: what a tensor said it is, else the number's own type."""
    bound = call.dtypes.get(variable.name)
    if bound is not None:
        return bound[0]
    found = {bool: "bool", int: "i32", float: "f32"}.get(type(argument))
    if found is None:
        kind = getattr(getattr(argument, "dtype", None), "name", "")
        found = _NUMPY_NAMES.get(kind)
    if found is None:
        raise call.error(name, f"must be a number, not {type(argument).__name__}")
    return _dtype(call, name, variable, SCALARS[found])


_NUMPY_NAMES = {
    **{f"{word}{bits}": f"{word[0]}{bits}" for word in ("int", "uint", "float") for bits in (8, 16, 32, 64)},
    "bool": "bool",
    "bfloat16": "bf16",
}


def _scalar(call: _Call, name: str, dtype: Scalar, argument: Any) -> Scalar:
    number = argument.item() if _is_zero_dimensional(argument) else argument
    if isinstance(number, numbers.Integral) or (isinstance(number, bool)):
        number = bool(number) if dtype.kind == "bool" and isinstance(number, bool) else int(number)
    expected = {"bool": bool, "int": int, "uint": int, "float": (int, float)}[dtype.kind]
    if not isinstance(number, expected) or (dtype.kind != "bool" and isinstance(number, bool) and not dtype.is_int):
        raise call.error(name, f"must be a {dtype}, not {argument!r}")
    if dtype.is_int and not dtype.range[0] <= number <= dtype.range[1]:
        raise call.error(name, f"is {number}, which {dtype} cannot hold ({dtype.range[0]} to {dtype.range[1]})")
    call.values.append(float(number) if dtype.is_float else number)
    return dtype


def _is_zero_dimensional(x: Any) -> bool:
    return hasattr(x, "item") and getattr(x, "shape", None) == () and not is_array_on_gpu(x)


def is_array_on_gpu(x: Any) -> bool:
    """Reading a number from GPU memory would wait for the GPU: the caller should do that knowingly."""
    return bool(getattr(x, "is_cuda", False) or hasattr(x, "__cuda_array_interface__"))


# Ahead of a launch: types from specs alone, with examples where the specs leave something open.


def types_of(
    kernel: str, specs: dict[str, Spec | None], given: dict[str, Any], wide: bool = False
) -> tuple[dict[str, ArgType], dict[str, Scalar]]:
    """The types to compile for without arguments.

    given  for some parameters: an example argument, a value of a Constexpr; for a dtype variable, a dtype under
           the variable's name. Tensors without an example are taken to be aligned to 16 bytes
    wide   dims are 64 bits wide
    """
    call = _Call(kernel)
    dtypes = {name: value for name, value in given.items() if isinstance(value, Scalar)}
    call.dtypes = {name: (dtype, name) for name, dtype in dtypes.items()}
    types = {name: _type_of(call, name, spec, given.get(name, _MISSING)) for name, spec in specs.items()}
    dims: dict[str, Scalar] = {}
    for t in types.values():
        _collect_dims(t, dims, i64 if wide else i32)
    for name, (value, _) in call.dims.items():
        dims[name] = i64 if wide or value > WIDE_DIM else i32
    return types, dims


_MISSING = object()


def _type_of(call: _Call, name: str, spec: Spec | None, example: Any) -> ArgType:
    if example is not _MISSING and not isinstance(example, Scalar):
        return _argument(call, name, spec, example)
    match spec:
        case TensorSpec():
            dtype = _known_dtype(call, name, spec.dtype)
            return Tensor(dtype, "gmem", spec.layout(name), spec.align or max(VECTOR_BYTES, dtype.bytes))
        case TmaSpec():
            dtype = _known_dtype(call, name, spec.tensor.dtype)
            swizzle = default_swizzle(spec.tile[-1] * dtype.bytes) if spec.swizzle == "auto" else spec.swizzle
            return TensorMap(dtype, spec.tensor.layout(name), spec.tile, swizzle)
        case StructSpec():
            return Struct(
                spec.cls, tuple((f, _type_of(call, f"{name}.{f}", s, _MISSING)) for f, s in spec.fields.items())
            )
        case DTypeVar():
            return _known_dtype(call, name, spec)
        case Scalar():
            return spec
        case ConstexprSpec():
            raise call.error(name, f"is a compile-time constant: give its value, `compile({name}=...)`")
    raise call.error(name, "has no annotation: give an example argument, or annotate it")


def _known_dtype(call: _Call, name: str, dtype: Scalar | DTypeVar) -> Scalar:
    if isinstance(dtype, Scalar):
        return dtype
    if dtype.name in call.dtypes:
        return call.dtypes[dtype.name][0]
    raise call.error(name, f"has the dtype variable {dtype}: say what it is, `compile({dtype}=cl.f32)`")


def _collect_dims(t: ArgType, dims: dict[str, Scalar], width: Scalar) -> None:

    if isinstance(t, Tensor | TensorMap):
        for dim in sorted(dims_of(t.layout.shape) | dims_of(t.layout.stride), key=lambda d: d.name):
            dims.setdefault(dim.name, width)
    elif isinstance(t, Struct):
        for _, part in t.fields:
            _collect_dims(part, dims, width)


