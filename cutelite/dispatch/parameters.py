"""Parameters that are no arrays: numbers, compile-time constants, structs, and those that may be None."""

from __future__ import annotations

import dataclasses
import numbers
import types
from collections.abc import Iterator
from typing import Any

from cutelite.diag import CompileError, Mistake
from cutelite.dispatch import fingerprint
from cutelite.dispatch.arguments import MISSING, Call, Parameter
from cutelite.dispatch.arrays import TensorParameter, TmaParameter, compact, known_dtype
from cutelite.front.types import ArgType, Constant, Struct
from cutelite.ir.types import SCALARS, Scalar
from cutelite.lang.annotations import (
    ConstexprSpec,
    DTypeVar,
    OptionalSpec,
    Spec,
    StructSpec,
    TensorSpec,
    TmaSpec,
    struct_fields,
)
from cutelite_rt import ArrayView
from cutelite_rt.dtype import BY_NUMPY
from cutelite_rt.memory import is_array


def parameter(name: str, spec: Spec | None) -> Parameter:
    """What fits `name` by its annotation."""
    match spec:
        case TensorSpec():
            return TensorParameter(name, spec)
        case TmaSpec():
            return TmaParameter(name, spec)
        case ConstexprSpec():
            return ConstantParameter(name, spec)
        case StructSpec():
            return StructParameter(name, spec)
        case OptionalSpec():
            return OptionalParameter(name, spec)
        case Scalar(kind="barrier"):
            help = "declare it in the kernel: `cl.shared(cl.mbarrier, (n,))`"
            raise CompileError(Mistake("annotation", f"the parameter `{name}` cannot be an {spec}", help=help))
        case Scalar() | DTypeVar():
            return ScalarParameter(name, spec)
    return UnknownParameter(name)


class ScalarParameter:
    """A number, of a dtype or a dtype variable."""

    def __init__(self, name: str, dtype: Scalar | DTypeVar) -> None:
        self.name, self.wanted = name, dtype

    def bind(self, call: Call, argument: Any) -> Scalar:
        number = plain_number(argument)
        dtype = self.wanted
        if isinstance(dtype, DTypeVar):
            dtype = self._decided(call, dtype, argument, number)
            call.token.append(dtype.name)
        call.values.append(self._fitting(call, dtype, number, argument))
        return dtype

    def ahead(self, call: Call, example: Any) -> Scalar:
        if example is MISSING:
            return known_dtype(call, self.name, self.wanted)
        return self.bind(call, example)

    def _decided(self, call: Call, variable: DTypeVar, argument: Any, number: Any) -> Scalar:
        """What a tensor said the variable is, else the number's own dtype."""
        if variable.name in call.dtypes:
            return call.dtypes[variable.name][0]
        own = BY_NUMPY.get(getattr(getattr(argument, "dtype", None), "name", ""))
        found = own or {bool: "bool", int: "i32", float: "f32"}.get(type(number))
        if found is None:
            raise call.error(self.name, f"must be a number, not {argument!r}")
        return call.dtype(self.name, variable, SCALARS[found])

    def _fitting(self, call: Call, dtype: Scalar, number: Any, argument: Any) -> Any:
        if not isinstance(number, _TAKES[dtype.kind]) or (isinstance(number, bool) and dtype.is_float):
            hint = "; read it from the GPU with .item()" if getattr(argument, "shape", None) == () else ""
            raise call.error(self.name, f"must be a number of dtype {dtype}, not {argument!r}{hint}")
        if dtype.is_int:
            low, high = dtype.range
            if not low <= number <= high:
                raise call.error(self.name, f"is {number}, but {dtype} holds {low} to {high}")
            return int(number)
        if not dtype.is_float:
            return number
        try:
            number = float(number)
        except OverflowError:
            raise call.error(self.name, f"is too large for {dtype}") from None
        limit = BEYOND.get(dtype.name)
        if limit is not None and limit <= abs(number) and (abs(number) != float("inf") or dtype.name == "e4m3"):
            raise call.error(self.name, f"is {number}, which is beyond what {dtype} holds")
        return number


_TAKES: dict[str, Any] = {"bool": bool, "int": numbers.Integral, "uint": numbers.Integral, "float": numbers.Real}
BEYOND = {
    "f16": 65520.0,
    "bf16": float.fromhex("0x1.ffp127"),
    "f32": float.fromhex("0x1.ffffffp127"),
    "tf32": float.fromhex("0x1.ffep127"),
    "e4m3": 464.0,
    "e5m2": 61440.0,
}
"""The least number that rounds to what the dtype cannot hold: half a step beyond its largest finite one."""


def plain_number(argument: Any) -> Any:
    """A Python number from what holds one: NumPy's scalars, and arrays without dimensions in host memory."""
    if type(argument) in (int, float, bool):
        return argument
    if getattr(argument, "shape", None) == () and hasattr(argument, "item") and not _is_on_gpu(argument):
        return argument.item()
    if isinstance(argument, numbers.Integral) and not isinstance(argument, bool):
        return int(argument)
    return argument


def _is_on_gpu(x: Any) -> bool:
    """Reading a number from GPU memory would wait for the GPU: the caller should do that knowingly."""
    return bool(getattr(x, "is_cuda", False) or hasattr(x, "__cuda_array_interface__"))


class ConstantParameter:
    """`Constexpr[...]`: any Python value, which the kernel is specialised for."""

    def __init__(self, name: str, spec: ConstexprSpec) -> None:
        self.name = name
        wanted = getattr(spec.type, "__origin__", spec.type)  # tuple[int, int] -> tuple
        is_type = isinstance(wanted, type | types.UnionType) and wanted is not Any
        self.wanted = wanted if is_type else object

    def bind(self, call: Call, argument: Any) -> Constant:
        value = self._converted(argument)
        if not isinstance(value, self.wanted):
            name = getattr(self.wanted, "__name__", str(self.wanted))
            raise call.error(self.name, f"must be a compile-time {name}, not {argument!r}")
        constant = Constant(value, fingerprint.constant_key(value))
        call.token.append(constant.key)
        return constant

    def ahead(self, call: Call, example: Any) -> Constant:
        if example is MISSING:
            whole, _, field = self.name.partition(".")
            what = f"an example of `{whole}`" if field else "its value"
            raise call.error(self.name, f"is a compile-time constant: give {what}, as in `compile({whole}=...)`")
        return self.bind(call, example)

    def _converted(self, x: Any) -> Any:
        """Numbers of NumPy, and whole numbers where a float is asked for."""
        if self.wanted in (int, float, bool) and not isinstance(x, self.wanted) and not isinstance(x, bool):
            number = plain_number(x)
            if self.wanted is float and isinstance(number, numbers.Real):
                return float(number)
            return number
        return x


class StructParameter:
    """A frozen dataclass or NamedTuple: each field by its own annotation."""

    def __init__(self, name: str, spec: StructSpec) -> None:
        self.name, self.cls = name, spec.cls
        self.fields = {field: parameter(f"{name}.{field}", of) for field, of in spec.fields.items()}

    def bind(self, call: Call, argument: Any) -> Struct:
        if not isinstance(argument, self.cls):
            raise call.error(self.name, f"must be a {self.cls.__name__}, not {argument!r}")
        return Struct(self.cls, tuple((n, p.bind(call, getattr(argument, n))) for n, p in self.fields.items()))

    def ahead(self, call: Call, example: Any) -> Struct:
        if example is not MISSING and not isinstance(example, self.cls):
            raise call.error(self.name, f"must be a {self.cls.__name__}, not {example!r}")
        given = {n: self._default(n) if example is MISSING else getattr(example, n) for n in self.fields}
        return Struct(self.cls, tuple((n, p.ahead(call, given[n])) for n, p in self.fields.items()))

    def _default(self, field: str) -> Any:
        """The default of a field; `MISSING` without."""
        if hasattr(self.cls, "_field_defaults"):
            return self.cls._field_defaults.get(field, MISSING)
        default = self.cls.__dataclass_fields__[field].default  # type: ignore[attr-defined]
        return MISSING if default is dataclasses.MISSING else default


class OptionalParameter:
    """A parameter that may be None: a compile-time constant, without the dims that an array would tell."""

    def __init__(self, name: str, spec: OptionalSpec) -> None:
        self.name = name
        self.given = parameter(name, spec.spec)

    def bind(self, call: Call, argument: Any) -> ArgType:
        if argument is not None:
            return self.given.bind(call, argument)
        call.token.append(None)
        return Constant(None)

    def ahead(self, call: Call, example: Any) -> ArgType:
        return self.given.ahead(call, example) if example is not None else self.bind(call, None)


def leaves(parameter: Parameter) -> Iterator[Parameter]:
    """The parameters within one that have run-time values, in the kernel's order."""
    match parameter:
        case StructParameter():
            for of in parameter.fields.values():
                yield from leaves(of)
        case OptionalParameter():
            yield from leaves(parameter.given)
        case ConstantParameter():
            return
        case _:
            yield parameter


class UnknownParameter:
    """A parameter without annotation: says which one to write."""

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, call: Call, argument: Any) -> Constant:
        annotation = annotation_for(call, self.name, argument)
        raise call.error(self.name, f"has no annotation; write `{self.name}: {annotation}`")

    def ahead(self, call: Call, example: Any) -> Constant:
        if example is not MISSING:
            return self.bind(call, example)
        raise call.error(self.name, "has no annotation; give an example to see which one to write")


def annotation_for(call: Call, name: str, argument: Any) -> str:
    """What to write for a parameter that got this argument."""
    if is_array(argument):
        return _tensor_annotation(call.read(name, argument))
    if isinstance(argument, bool):
        return "cl.boolean"
    if isinstance(argument, numbers.Real):
        return "cl.i32" if isinstance(argument, numbers.Integral) else "cl.f32"
    if struct_fields(type(argument)) is not None:
        return type(argument).__name__
    return f"Constexpr[{'None' if argument is None else type(argument).__name__}]"


def _tensor_annotation(view: ArrayView) -> str:
    if not view.shape:
        return f"cl.{view.dtype}"
    names = "MNKPQRST"[: len(view.shape)] if len(view.shape) <= 8 else [f"N{i}" for i in range(len(view.shape))]
    parts = [view.dtype, f"({', '.join(names)}{',' * (len(names) == 1)})"]
    if view.strides == compact(view.shape, "col") and view.strides != compact(view.shape, "row"):
        parts.append("cl.col_major")
    elif view.strides != compact(view.shape, "row"):
        strides = ", ".join("1" if stride == 1 else "None" for stride in view.strides)
        parts.append(f"({strides}{',' * (len(names) == 1)})")
    return f"Tensor[{', '.join(parts)}]"
