"""Parameters that are no arrays: numbers, compile-time constants, structs, and those that may be None."""

from __future__ import annotations

import dataclasses
import numbers
import types
from collections.abc import Iterable, Iterator
from typing import Any

from cutelite.diag import CompileError, Mistake
from cutelite.dispatch import contract, fingerprint
from cutelite.dispatch.arguments import MISSING, Call, Parameter
from cutelite.dispatch.arrays import PointerParameter, PointersParameter, TensorParameter, TmaParameter, known_dtype
from cutelite.front.types import ArgType, Constant, Struct
from cutelite.ir.types import SCALARS, Scalar
from cutelite.lang.annotations import (
    ConstexprSpec,
    DTypeVar,
    OptionalSpec,
    PointerSpec,
    PointersSpec,
    SequenceSpec,
    Spec,
    StructSpec,
    TensorSpec,
    TmaSpec,
    struct_fields,
)
from cutelite_rt import ArrayView
from cutelite_rt.arrays.memory import is_array
from cutelite_rt.dtype import BY_NUMPY
from cutelite_rt.signature import data
from cutelite_rt.signature.bind import compact, plain_number


def parameter(name: str, spec: Spec | None) -> Parameter:
    """Return what fits `name` by its annotation."""
    match spec:
        case TensorSpec():
            return TensorParameter(name, spec)
        case TmaSpec():
            return TmaParameter(name, spec)
        case PointerSpec():
            return PointerParameter(name, spec)
        case PointersSpec():
            return PointersParameter(name, spec)
        case ConstexprSpec():
            return ConstantParameter(name, spec)
        case StructSpec():
            return StructParameter(name, spec)
        case SequenceSpec():
            return SequenceParameter(name, spec)
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
        self.data = data.Number(name, contract.dtype(dtype))

    def bind(self, call: Call, argument: Any) -> Scalar:
        dtype = self.wanted
        if isinstance(dtype, DTypeVar):
            dtype = SCALARS[self._decided(call, argument)]
            call.token.append(dtype.name)
        call.values.append(call.number(self.name, dtype.name, argument))
        return dtype

    def ahead(self, call: Call, example: Any) -> Scalar:
        if example is MISSING:
            return known_dtype(call, self.name, self.wanted)
        return self.bind(call, example)

    def _decided(self, call: Call, argument: Any) -> str:
        """Return what a tensor said the variable is, else the number's own dtype."""
        variable = self.data.dtype
        assert isinstance(variable, data.Variable)
        if variable.name in call.dtypes:
            return call.dtypes[variable.name][0]
        own = BY_NUMPY.get(getattr(getattr(argument, "dtype", None), "name", ""))
        found = own or {bool: "bool", int: "i32", float: "f32"}.get(type(plain_number(argument)))
        if found is None:
            raise call.error(self.name, f"must be a number, not {argument!r}")
        return call.dtype(self.name, variable, found)


class ConstantParameter:
    """`Constexpr[...]`: any Python value, which the kernel is specialised for."""

    def __init__(self, name: str, spec: ConstexprSpec) -> None:
        self.name = name
        union = isinstance(spec.type, types.UnionType)
        wanted = spec.type if union else getattr(spec.type, "__origin__", spec.type)  # tuple[int, int] -> tuple
        is_type = isinstance(wanted, type | types.UnionType) and wanted is not Any
        self.wanted = wanted if is_type else object
        self.data = data.Constant(name)

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

    @property
    def data(self) -> data.Struct:
        return data.Struct(self.name, self.cls.__name__, tuple(of.data for of in self.fields.values()))

    def bind(self, call: Call, argument: Any) -> Struct:
        if not isinstance(argument, self.cls):
            raise call.wrong_struct(self.name, self.cls.__name__, argument)
        return Struct(self.cls, tuple((n, p.bind(call, getattr(argument, n))) for n, p in self.fields.items()))

    def ahead(self, call: Call, example: Any) -> Struct:
        if example is not MISSING and not isinstance(example, self.cls):
            raise call.wrong_struct(self.name, self.cls.__name__, example)
        given = {n: self._default(n) if example is MISSING else getattr(example, n) for n in self.fields}
        return Struct(self.cls, tuple((n, p.ahead(call, given[n])) for n, p in self.fields.items()))

    def _default(self, field: str) -> Any:
        """The default of a field; `MISSING` without."""
        if hasattr(self.cls, "_field_defaults"):
            return self.cls._field_defaults.get(field, MISSING)
        default = self.cls.__dataclass_fields__[field].default  # type: ignore[attr-defined]
        return MISSING if default is dataclasses.MISSING else default


class SequenceParameter:
    """A tuple or list: each item by its own annotation, or as many of one annotation as are given.

    count  of the items; None where each call may have another
    """

    def __init__(self, name: str, spec: SequenceSpec) -> None:
        self.name, self.spec = name, spec
        self._items: list[Parameter] = []
        self.count = None if spec.items is None else len(spec.items)
        self._latest = self.count  # of the latest call

    def items(self, count: int) -> list[Parameter]:
        """The parameters of the first `count` items."""
        while len(self._items) < count:
            i = len(self._items)
            of = self.spec.each if self.spec.items is None else self.spec.items[i]
            self._items.append(parameter(f"{self.name}.{i}", of))
        return self._items[:count]

    @property
    def data(self) -> data.Sequence:
        if self._latest is None:
            raise data.Unsupported(f"nothing tells how many items `{self.name}` has")
        return data.Sequence(self.name, repr(self.spec), tuple(of.data for of in self.latest))

    @property
    def latest(self) -> list[Parameter]:
        """The parameters of the items that the latest call had."""
        return self.items(self._latest or 0)

    def bind(self, call: Call, argument: Any) -> Struct:
        given = call.items(self.name, repr(self.spec), self.count, argument)
        self._latest = len(given)
        call.token.append(len(given))
        types = (of.bind(call, item) for of, item in zip(self.items(len(given)), given, strict=True))
        return self._type(types)

    def ahead(self, call: Call, example: Any) -> Struct:
        if example is not MISSING:
            examples = call.items(self.name, repr(self.spec), self.count, example)
        elif self.count is not None:
            examples = [MISSING] * self.count
        else:
            raise call.error(self.name, f"is {self.spec!r}: say how many, by an example: `compile({self.name}=[...])`")
        self._latest = len(examples)
        types = (of.ahead(call, item) for of, item in zip(self.items(len(examples)), examples, strict=True))
        return self._type(types)

    def _type(self, types: Iterable[ArgType]) -> Struct:
        return Struct(self.spec.kind, tuple((str(i), t) for i, t in enumerate(types)))


class OptionalParameter:
    """A parameter that may be None: a compile-time constant, without the dims that an array would tell."""

    def __init__(self, name: str, spec: OptionalSpec) -> None:
        self.name = name
        self.given = parameter(name, spec.spec)

    @property
    def data(self) -> data.Optional:
        if isinstance(self.given, SequenceParameter) and self.given.count is None:
            raise data.Unsupported(f"nothing tells how many items `{self.name}` has where it is None")
        return data.Optional(self.name, self.given.data)

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
        case SequenceParameter():
            for of in parameter.items(parameter.count or 0):
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

    @property
    def data(self) -> data.Parameter:
        raise data.Unsupported(f"`{self.name}` has no annotation")

    def bind(self, call: Call, argument: Any) -> Constant:
        annotation = annotation_for(call, self.name, argument)
        raise call.error(self.name, f"has no annotation; write `{self.name}: {annotation}`")

    def ahead(self, call: Call, example: Any) -> Constant:
        if example is not MISSING:
            return self.bind(call, example)
        raise call.error(self.name, "has no annotation; give an example to see which one to write")


def annotation_for(call: Call, name: str, argument: Any) -> str:
    """Return what to write for a parameter that got this argument."""
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
