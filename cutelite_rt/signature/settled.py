"""Signatures of exported kernels: read from files, and arguments bound by them.

In    a signature as plain data (`Variant.signature`), and the arguments of a call
Out   `Fitted`: the values of the kernel's parameters in order, and its arrays

Arguments are bound as a live kernel's are (`signature.bind`); only what a kernel was compiled for is settled: dtypes,
alignments, constants, and how wide dims are.

    {"kernel": name, "text": its parameters in words, "positional": n, "position_only": n,
     "parameters": [...], "dims": [{"name", "type", "divisible_by", "min", "max"}, ...], "grid": [expr, ...] or null,
     "wide": whether block indices are 64 bits wide}

A parameter has a "name", maybe a "default", and is of one "kind":

    array     "says" in words, "dtype", "align", "shape" and "strides" (or "order", where they are compact) as exprs;
              "cosize" and "layout" where its modes are nested; "box" and "swizzle" where it goes as a tensor map
    scalar    "dtype", "takes" 'int', 'uint', 'float' or 'bool'; "low" and "high", or "beyond", what it cannot hold
    pointer   "says" in words, "dtype", "align"
    constant  "value", or "opaque" words for what is no plain data
    none      an array that may be None, and is
    struct    "class", and "fields", which are parameters
    sequence  "says" in words, and "fields", which are parameters called '0', '1', ...

An expr is an int, the name of a dim, or {"text": in words, "tree": [operation, tree, tree]} over both.
"""

from __future__ import annotations

from collections import abc
from typing import Any, NamedTuple

from cutelite_rt.arrays.memory import ArrayView
from cutelite_rt.errors import ArgumentError
from cutelite_rt.gpu.tensormap import Tiling, encode
from cutelite_rt.shapes import MOST_IN_32_BITS, WIDEST_I32
from cutelite_rt.signature import bind
from cutelite_rt.signature.bind import MapRequest, Names
from cutelite_rt.signature.data import (
    Absent,
    Array,
    Box,
    Dim,
    Expr,
    Expression,
    Fixed,
    Nested,
    Number,
    Parameter,
    Pointer,
    Sequence,
    Strided,
    Struct,
    Tree,
)


class Fitted(NamedTuple):
    """The outcome of binding: values (see `packable`), dims by name, and (parameter, array) of each array."""

    values: list[Any]
    dims: dict[str, int]
    arrays: list[tuple[str, ArrayView]]


class Rules:
    """Those of one signature."""

    def __init__(self, signature: dict[str, Any]) -> None:
        self.kernel: str = signature["kernel"]
        self.text: str = signature["text"]
        dims = signature["dims"]
        declared = {dim["name"]: Dim(dim["name"], dim["divisible_by"], dim["min"], dim["max"]) for dim in dims}
        self.grid = None if signature["grid"] is None else [_expr(extent, declared) for extent in signature["grid"]]
        self.wide = bool(signature.get("wide"))
        self._narrow = [dim["name"] for dim in dims if dim["type"] == "i32"]
        self.dims = declared
        self._dims = list(declared)
        said = signature["parameters"]
        self.parameters = {p["name"]: _parameter(p, p["name"], declared) for p in said}
        self.names = list(self.parameters)
        positional, position_only = (self.names[: signature[what]] for what in ("positional", "position_only"))
        defaults = {p["name"]: _default(p) for p in said}
        self._names = Names(self.kernel, self.names, positional, position_only, defaults, lambda: self.text)

    def fit(self, args: abc.Sequence[Any], kwargs: dict[str, Any], stream: int | None = None) -> Fitted:
        """`stream` is where the launch goes, if that is said. Errors: `ArgumentError`."""
        given = self._names.match(args, kwargs)
        call = bind.Call(self.kernel, given.values(), stream)
        for parameter, argument in zip(self.parameters.values(), given.values(), strict=True):
            _fit(call, parameter, argument)
        call.settle(self._dims)
        dims = {name: value for name, (value, _) in call.dims.items()}
        self._check_widths(call)
        return Fitted([*call.values, *(dims[name] for name in self._dims)], dims, call.arrays)

    def _check_widths(self, call: bind.Call) -> None:
        """Check that the kernel counts as far as dims and arrays reach."""
        for name in self._narrow:
            value, source = call.dims[name]
            if value > WIDEST_I32:
                raise call.error(source, f"makes {name} {value}, but the kernel was exported for 32-bit dims: export "
                                         "it with wide_dims=True")  # fmt: skip
        if self.wide:
            return
        mapped = {value.name for value in call.values if isinstance(value, MapRequest)}
        for name, view in call.arrays:
            if view.size > MOST_IN_32_BITS and name not in mapped:
                raise call.error(name, f"has {view.size} elements, but the kernel was exported for 32-bit dims: export "
                                       "it with wide_dims=True")  # fmt: skip


def _default(parameter: dict[str, Any]) -> Any:
    """Return what a parameter is that is left out; constants may always be."""
    if parameter["kind"] == "constant":
        return parameter.get("value", _OPAQUE)
    return None if parameter["kind"] == "none" else parameter.get("default", bind.MISSING)


_OPAQUE: Any = object()  # a constant without a value to compare, left out


def _fit(call: bind.Call, parameter: Parameter, argument: Any) -> None:
    """Fit an argument, and leave its values with the call."""
    name = parameter.name
    match parameter:
        case Array(box=box):
            view, dtype = call.array(parameter, argument)
            tiling = None if box is None else Tiling(box.extents, swizzle=box.swizzle)
            call.values.append(view.pointer if tiling is None else MapRequest(name, view, dtype, tiling))
        case Number(dtype=str(dtype)):
            call.values.append(call.number(name, dtype, argument))
        case Pointer():
            call.values.append(call.pointer(parameter, argument).address)
        case Fixed():
            _check_fixed(call, parameter, argument)
        case Absent():
            if argument is not None:
                raise call.error(name, "was None when the kernel was exported: export it for an array too")
        case Sequence():
            items = call.items(name, parameter.says, len(parameter.items), argument)
            for of, item in zip(parameter.items, items, strict=True):
                _fit(call, of, item)
        case Struct():
            fields = [field.name.rpartition(".")[2] for field in parameter.fields]
            if not all(hasattr(argument, field) for field in fields):
                raise call.wrong_struct(name, parameter.cls, argument)
            for field, of in zip(fields, parameter.fields, strict=True):
                _fit(call, of, getattr(argument, field))


def _check_fixed(call: bind.Call, parameter: Fixed, argument: Any) -> None:
    value = parameter.value
    if argument is _OPAQUE:
        return
    if parameter.opaque is not None:
        raise call.error(parameter.name, f"is compiled in as {parameter.opaque}: leave it out")
    if type(argument) is not type(value) or repr(argument) != repr(value):
        raise call.error(parameter.name, f"is compiled in as {value!r}, and {argument!r} was given: export the kernel "
                                         "for it too, or leave it out")  # fmt: skip


# What files say.


def _parameter(said: dict[str, Any], name: str, dims: dict[str, Dim]) -> Parameter:
    match said["kind"]:
        case "array":
            box = Box(tuple(said["box"]), said["swizzle"]) if "box" in said else None
            return Array(name, said["says"], said["dtype"], _layout(said, dims), said.get("align"), box)
        case "scalar":
            return Number(name, said["dtype"])
        case "pointer":
            return Pointer(name, said["says"], said["dtype"], said["align"])
        case "constant":
            return Fixed(name, said.get("value"), None if "value" in said else said["opaque"])
        case "none":
            return Absent(name)
    fields = tuple(_parameter(field, f"{name}.{field['name']}", dims) for field in said["fields"])
    if said["kind"] == "sequence":
        return Sequence(name, said["says"], fields)
    return Struct(name, said["class"], fields)


def _layout(said: dict[str, Any], dims: dict[str, Dim]) -> Strided | Nested:
    if "cosize" in said:
        return Nested(said["layout"], said["cosize"])
    shape = tuple(_expr(extent, dims) for extent in said["shape"])
    if "order" in said:
        return Strided(shape, None, said["order"])
    return Strided(shape, tuple(_expr(stride, dims) for stride in said["strides"]))


def _expr(said: Any, dims: dict[str, Dim]) -> Expr:
    if isinstance(said, str):
        return dims[said]
    return said if isinstance(said, int) else Expression(said["text"], _tree(said["tree"], dims))


def _tree(said: Any, dims: dict[str, Dim]) -> Tree:
    if isinstance(said, str):
        return dims[said]
    return said if isinstance(said, int) else (said[0], *(_tree(operand, dims) for operand in said[1:]))


def device_of(kernel: str, arrays: list[tuple[str, ArrayView]]) -> int | None:
    """The GPU that holds all arrays; None without arrays. Errors: `ArgumentError`."""
    home = bind.home_of(kernel, arrays)
    if home is None:
        return None
    kind, ordinal = home
    if kind != "cuda":
        raise ArgumentError(f"{kernel}(): argument `{arrays[0][0]}` is in host memory, and an exported kernel runs on "
                            "GPUs alone; copy it there (cutelite_rt.to_device)")  # fmt: skip
    return ordinal


def packable(kernel: str, value: Any) -> Any:
    """A fitted value as it goes into the kernel's parameters. Errors: `ArgumentError` for what TMA cannot take."""
    return value.encoded(kernel, encode) if isinstance(value, MapRequest) else value
