"""What an exported kernel asks of its arguments, and what it makes of them.

In    a signature as plain data (`Variant.signature`), and the arguments of a call
Out   `Fitted`: the values of the kernel's parameters in order, and its arrays

The rules are those of a kernel that is launched by the compiler (`cutelite.dispatch`), in the same words; only what a
kernel was compiled for is settled: dtypes, alignments, constants, and how wide dims are.

    {"kernel": name, "text": its parameters in words, "positional": n, "position_only": n,
     "parameters": [...], "dims": [{"name", "type", "divisible_by", "min", "max"}, ...], "grid": [expr, ...] or null,
     "wide": whether block indices are 64 bits wide}

A parameter has a "name", maybe a "default", and is of one "kind":

    array     "says" in words, "dtype", "align", "shape" and "strides" (or "order", where they are compact) as exprs;
              "cosize" and "layout" where its modes are nested; "box" and "swizzle" where it goes as a tensor map
    scalar    "dtype", "takes" 'int', 'uint', 'float' or 'bool'; "low" and "high", or "beyond", what it cannot hold
    constant  "value", or "opaque" words for what is no plain data
    none      an array that may be None, and is
    struct    "class", and "fields", which are parameters

An expr is an int, the name of a dim, or {"text": in words, "tree": [operation, tree, tree]} over both.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from cutelite_rt.errors import ArgumentError
from cutelite_rt.memory import ArrayView, UnreadableArray, is_array, read
from cutelite_rt.shapes import MOST_IN_32_BITS, WIDEST_I32
from cutelite_rt.stream import current
from cutelite_rt.tensormap import TensorMapError, Tiling, encode

_KNOWN = frozenset(("torch", "numpy", "cupy", "cutelite_rt"))  # read without a stream: they order their work by theirs
_MISSING: Any = object()
_TAKES: dict[str, Any] = {"bool": bool, "int": numbers.Integral, "uint": numbers.Integral, "float": numbers.Real}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", *(f"{n}th" for n in range(6, 65)))


class MapRequest(NamedTuple):
    """A tensor map to encode, for the parameter `name`."""

    name: str
    view: ArrayView
    dtype: str
    tiling: Tiling


class Fitted(NamedTuple):
    """What a call comes to: values (see `packable`), dims by name, and (parameter, array) of each array."""

    values: list[Any]
    dims: dict[str, int]
    arrays: list[tuple[str, ArrayView]]


class Rules:
    """Those of one signature."""

    def __init__(self, signature: dict[str, Any]) -> None:
        self.kernel: str = signature["kernel"]
        self.text: str = signature["text"]
        self.grid: list[Any] | None = signature["grid"]
        self.dims = {dim["name"]: dim for dim in signature["dims"]}
        self.wide = bool(signature.get("wide"))
        self.names = [parameter["name"] for parameter in signature["parameters"]]
        self._positional = self.names[: signature["positional"]]
        self._position_only = self.names[: signature["position_only"]]
        self._parameters = {p["name"]: (p, _KINDS[p["kind"]]) for p in signature["parameters"]}

    def kind(self, name: str) -> str:
        """Of a parameter: 'array', 'scalar', ..."""
        kind: str = self._parameters[name][0]["kind"]
        return kind

    def fit(self, args: Sequence[Any], kwargs: dict[str, Any], stream: int | None = None) -> Fitted:
        """`stream` is where the launch goes, if that is said. Errors: `ArgumentError`."""
        given = self.match(args, kwargs)
        call = _Call(self, list(given.values()), stream)
        for name, argument in given.items():
            parameter, fit = self._parameters[name]
            fit(call, name, parameter, argument)
        return call.done()

    def match(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """An argument for each parameter, by Python's rules. Errors: `ArgumentError`."""
        if len(args) > len(self._positional):
            raise self._wrong(f"takes {len(self._positional)} positional arguments, but {len(args)} were given")
        given = dict(zip(self._positional, args, strict=False))
        for name, argument in kwargs.items():
            if name not in self._parameters or name in self._position_only:
                raise self._wrong(f"has no parameter {name!r} to give by keyword")
            if name in given:
                raise self._wrong(f"got `{name}` twice, by position and by keyword")
            given[name] = argument
        found = {name: given.get(name, _default(self._parameters[name][0])) for name in self.names}
        missing = [name for name, argument in found.items() if argument is _MISSING]
        if missing:
            raise self._wrong(f"lacks the argument{'s'[: len(missing) > 1]} {', '.join(missing)}")
        return found

    def _wrong(self, text: str) -> ArgumentError:
        return ArgumentError(f"{self.kernel}() {text}; its parameters are ({self.text})")


def _default(parameter: dict[str, Any]) -> Any:
    """What a parameter is that is left out; constants may always be."""
    if parameter["kind"] == "constant":
        return parameter.get("value", _OPAQUE)
    return None if parameter["kind"] == "none" else parameter.get("default", _MISSING)


_OPAQUE: Any = object()  # a constant without a value to compare, left out


def evaluate(expr: Any, dims: dict[str, int]) -> int:
    """The value of an expr of a signature."""
    if isinstance(expr, int):
        return expr
    if isinstance(expr, str):
        return dims[expr]
    if isinstance(expr, dict):
        return evaluate(expr["tree"], dims)
    operation, *operands = expr
    return OPERATIONS[operation](*(evaluate(operand, dims) for operand in operands))


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "ceil_div": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
}


def dims_of(expr: Any) -> Iterator[str]:
    """Names of the dims in an expr, as often as they occur."""
    if isinstance(expr, str):
        yield expr
    elif isinstance(expr, dict):
        yield from dims_of(expr["tree"])
    elif isinstance(expr, list | tuple):
        for operand in expr[1:]:
            yield from dims_of(operand)


class _Call:
    """One call: what its arguments have told so far."""

    def __init__(self, rules: Rules, arguments: list[Any], stream: int | None) -> None:
        self.rules = rules
        self.values: list[Any] = []
        self.arrays: list[tuple[str, ArrayView]] = []
        self._dims: dict[str, tuple[int, str]] = {}  # name -> (value, the parameter that told it)
        self._unsure: dict[str, tuple[int, str]] = {}  # strides of modes of one element, which may be anything
        self._later: list[tuple[dict[str, Any], int, str, str]] = []
        self.large: tuple[str, int] | None = None  # the first array of more elements than the kernel can count
        self._arguments = arguments
        self._stream = stream

    def error(self, name: str, text: str) -> ArgumentError:
        return ArgumentError(f"{self.rules.kernel}(): argument `{name}` {text}")

    def done(self) -> Fitted:
        for name in self.rules.dims:
            if name not in self._dims:
                if name not in self._unsure:
                    raise ArgumentError(
                        f"{self.rules.kernel}(): nothing tells {name}: no argument has it as an extent or stride of "
                        "its own"
                    )
                self._dims[name] = self._unsure[name]
        dims = {name: value for name, (value, _) in self._dims.items()}
        for expr, value, name, what in self._later:
            expected = evaluate(expr, dims)
            if expected != value:
                told = ", ".join(f"{d} = {dims[d]} from `{self._dims[d][1]}`" for d in sorted(set(dims_of(expr))))
                raise self.error(name, f"has {what}, but {expr['text']} is {expected} ({told})")
        for name, dim in self.rules.dims.items():
            value, source = self._dims[name]
            if dim["type"] == "i32" and value > WIDEST_I32:
                raise self.error(source, f"makes {name} {value}, but the kernel was exported for 32-bit dims: export "
                                         "it with wide_dims=True")  # fmt: skip
        if self.large is not None:
            name, count = self.large
            raise self.error(name, f"has {count} elements, but the kernel was exported for 32-bit dims: export it with "
                                   "wide_dims=True")  # fmt: skip
        self.values += (dims[name] for name in self.rules.dims)
        return Fitted(self.values, dims, self.arrays)

    def read(self, name: str, argument: Any) -> ArrayView:
        known = type(argument).__module__.partition(".")[0] in _KNOWN
        try:
            view = read(argument) if known else read(argument, self._where())
        except UnreadableArray as error:
            if is_array(argument):
                raise self.error(name, f"cannot be read: {error}") from None
            raise self.error(name, f"must be an array of torch, CuPy, JAX or NumPy, not {argument!r}") from None
        self.arrays.append((name, view))
        return view

    def _where(self) -> int:
        """Where the launch goes: arrays of libraries known by interface alone make pending work visible there."""
        if self._stream is None:
            self._stream = current(_views_of_known(self._arguments))
        return self._stream

    def dim(self, name: str, dim: str, found: tuple[int, ...], mode: int, what: str, sure: bool) -> None:
        value = found[mode]
        if not sure:
            self._unsure.setdefault(dim, (value, name))
            return
        told = self._dims.get(dim)
        if told is None:
            problem = _problem(self.rules.dims[dim], value)
            if problem:
                raise self.error(name, f"has {_words(what, mode, found)}, but {problem}")
            self._dims[dim] = (value, name)
        elif told[0] != value:
            raise self.error(name, f"has {_words(what, mode, found)}, but {dim} is {told[0]}, from `{told[1]}`")

    def extent(self, name: str, wanted: Any, found: tuple[int, ...], mode: int, what: str, sure: bool = True) -> None:
        """Extent or stride (`what`) of `mode`; `sure` unless it is the stride of a single element."""
        if isinstance(wanted, str):
            self.dim(name, wanted, found, mode, what, sure)
        elif not sure:
            return
        elif isinstance(wanted, dict):
            self._later.append((wanted, found[mode], name, _words(what, mode, found)))
        elif wanted != found[mode]:
            raise self.error(name, f"has {_words(what, mode, found)}, but its annotation says {wanted}")


def _words(what: str, mode: int, found: tuple[int, ...]) -> str:
    return f"{what} {found[mode]}" if len(found) == 1 else f"{what} {found[mode]}, the {_ORDINALS[mode]} of {found}"


def _problem(dim: dict[str, Any], value: int) -> str:
    """Why a dim cannot have this value; empty where it can."""
    name = dim["name"]
    if value % dim["divisible_by"]:
        return f"{name} is declared divisible by {dim['divisible_by']}"
    if value < 0:
        return "a dim is never negative: pass a copy"
    if value < dim["min"]:
        return f"{name} is at least {dim['min']}; if it can be {value}, declare it cl.Dim({name!r}, min={value})"
    if dim["max"] is not None and value > dim["max"]:
        return f"{name} is declared at most {dim['max']}"
    return ""


def _views_of_known(arguments: Sequence[Any]) -> Iterator[ArrayView]:
    """The arrays of torch and CuPy among arguments: only those libraries have a current stream."""
    for argument in arguments:
        if type(argument).__module__.partition(".")[0] in ("torch", "cupy") and hasattr(argument, "shape"):
            yield read(argument)
        elif isinstance(argument, tuple):
            yield from _views_of_known(argument)
        elif hasattr(type(argument), "__dataclass_fields__"):
            yield from _views_of_known(list(vars(argument).values()))


# The kinds of parameters: each leaves its values with the call.


def _array(call: _Call, name: str, p: dict[str, Any], argument: Any) -> None:
    view = call.read(name, argument)
    if view.dtype != ("f32" if p["dtype"] == "tf32" else p["dtype"]):
        raise call.error(name, f"has dtype {view.dtype}, but its annotation says {p['dtype']}")
    if "cosize" in p:
        _fit_nested(call, name, p, view)
    else:
        _fit_extents(call, name, p, view)
    if "box" in p:
        call.values.append(MapRequest(name, view, p["dtype"], Tiling(tuple(p["box"]), swizzle=p["swizzle"])))
        return
    if view.size > MOST_IN_32_BITS and not call.rules.wide:
        call.large = call.large or (name, view.size)
    if view.pointer % p["align"] and view.size:
        raise call.error(name, f"is at {view.pointer:#x}, but must be at a multiple of {p['align']} bytes")
    call.values.append(view.pointer)


def _fit_extents(call: _Call, name: str, p: dict[str, Any], view: ArrayView) -> None:
    if len(view.shape) != len(p["shape"]):
        raise call.error(name, f"has shape {view.shape}, but {p['says']} has {len(p['shape'])} modes")
    for mode, wanted in enumerate(p["shape"]):
        call.extent(name, wanted, view.shape, mode, "extent")
    if "order" in p:
        _fit_compact(call, name, p["order"], view)
        return
    for mode, wanted in enumerate(p["strides"]):
        call.extent(name, wanted, view.strides, mode, "stride", view.shape[mode] > 1 and view.size > 0)


def _fit_compact(call: _Call, name: str, order: str, view: ArrayView) -> None:
    strides = _compact(view.shape, order)
    modes = zip(view.shape, view.strides, strides, strict=True)
    if view.size and any(extent > 1 and found != wanted for extent, found, wanted in modes):
        major = {"row": "row-major", "col": "column-major"}[order]
        raise call.error(
            name,
            f"has strides {view.strides} for its shape {view.shape}, but must be {major}, {strides}; make it "
            "contiguous, or annotate its strides: Tensor[dtype, shape, strides], with None for any",
        )


def _fit_nested(call: _Call, name: str, p: dict[str, Any], view: ArrayView) -> None:
    if view.size > 1 and view.strides != _compact(view.shape, "row"):
        raise call.error(name, f"must be contiguous to be seen through the layout {p['layout']}")
    if view.size < p["cosize"]:
        raise call.error(name, f"has {view.size} elements, but the layout {p['layout']} reaches {p['cosize']}")


def _compact(shape: tuple[int, ...], order: str) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in shape[::-1] if order == "row" else shape:
        strides.append(step)
        step *= extent
    return tuple(strides[::-1] if order == "row" else strides)


def _scalar(call: _Call, name: str, p: dict[str, Any], argument: Any) -> None:
    found, dtype = number(argument), p["dtype"]
    if not isinstance(found, _TAKES[p["takes"]]) or (isinstance(found, bool) and p["takes"] == "float"):
        hint = "; read it from the GPU with .item()" if getattr(argument, "shape", None) == () else ""
        raise call.error(name, f"must be a number of dtype {dtype}, not {argument!r}{hint}")
    if "low" in p:
        if not p["low"] <= found <= p["high"]:
            raise call.error(name, f"is {found}, but {dtype} holds {p['low']} to {p['high']}")
        found = int(found)
    elif p["takes"] == "float":
        try:
            found = float(found)
        except OverflowError:
            raise call.error(name, f"is too large for {dtype}") from None
        beyond = p.get("beyond")
        if beyond is not None and beyond <= abs(found) and (abs(found) != float("inf") or dtype == "e4m3"):
            raise call.error(name, f"is {found}, which is beyond what {dtype} holds")
    call.values.append(found)


def number(argument: Any) -> Any:
    """A Python number from what holds one: NumPy's scalars, and arrays without dimensions in host memory."""
    if type(argument) in (int, float, bool):
        return argument
    on_gpu = getattr(argument, "is_cuda", False) or hasattr(argument, "__cuda_array_interface__")
    if getattr(argument, "shape", None) == () and hasattr(argument, "item") and not on_gpu:
        return argument.item()
    if isinstance(argument, numbers.Integral) and not isinstance(argument, bool):
        return int(argument)
    return argument


def _constant(call: _Call, name: str, p: dict[str, Any], argument: Any) -> None:
    if argument is _OPAQUE:
        return
    if "value" not in p:
        raise call.error(name, f"is compiled in as {p['opaque']}: leave it out")
    same = type(argument) is type(p["value"]) and repr(argument) == repr(p["value"])
    if not same:
        raise call.error(name, f"is compiled in as {p['value']!r}, and {argument!r} was given: export the kernel for "
                               "it too, or leave it out")  # fmt: skip


def _none(call: _Call, name: str, p: dict[str, Any], argument: Any) -> None:
    if argument is not None:
        raise call.error(name, "was None when the kernel was exported: export it for an array too")


def _struct(call: _Call, name: str, p: dict[str, Any], argument: Any) -> None:
    if not all(hasattr(argument, field["name"]) for field in p["fields"]):
        raise call.error(name, f"must be a {p['class']}, not {argument!r}")
    for field in p["fields"]:
        _KINDS[field["kind"]](call, f"{name}.{field['name']}", field, getattr(argument, field["name"]))


_KINDS: dict[str, Callable[[_Call, str, dict[str, Any], Any], None]] = {
    "array": _array,
    "scalar": _scalar,
    "constant": _constant,
    "none": _none,
    "struct": _struct,
}


def device_of(kernel: str, arrays: list[tuple[str, ArrayView]]) -> int | None:
    """The GPU that holds all arrays; None without arrays. Errors: `ArgumentError`."""
    if not arrays:
        return None
    first = arrays[0]
    for name, view in arrays[1:]:
        if view.device != first[1].device:
            raise ArgumentError(
                f"{kernel}(): argument `{first[0]}` is {_place(first[1])}, but `{name}` is {_place(view)}; "
                "move them to one place"
            )
    kind, ordinal = first[1].device
    if kind != "cuda":
        raise ArgumentError(f"{kernel}(): argument `{first[0]}` is in host memory, and an exported kernel runs on "
                            "GPUs alone; copy it there (cutelite_rt.to_device)")  # fmt: skip
    return ordinal


def _place(view: ArrayView) -> str:
    kind, ordinal = view.device
    return f"on GPU {ordinal}" if kind == "cuda" else "in host memory"


def packable(kernel: str, value: Any) -> Any:
    """A fitted value as it goes into the kernel's parameters. Errors: `ArgumentError` for what TMA cannot take."""
    if not isinstance(value, MapRequest):
        return value
    view = value.view
    try:
        return encode(view.pointer, value.dtype, view.shape, view.strides, value.tiling)
    except TensorMapError as error:
        raise ArgumentError(f"{kernel}(): argument `{value.name}` cannot be read by TMA: {error}") from None
