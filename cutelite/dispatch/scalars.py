"""Parameters that are no arrays: numbers, compile-time constants, and those without annotation."""

from __future__ import annotations

import numbers
import types
import typing
from typing import Any

from cutelite.dispatch import contract, fingerprint
from cutelite.dispatch.arguments import MISSING, Call
from cutelite.dispatch.arrays import known_dtype
from cutelite.dispatch.parameter import Parameter, defined_again, takes
from cutelite.front.types import ArgType, Constant
from cutelite.ir.types import SCALARS, Scalar
from cutelite.lang.annotations import ALIAS, ConstexprSpec, DTypeVar, struct_fields
from cutelite_rt import ArrayView
from cutelite_rt.arrays.memory import is_array
from cutelite_rt.dtype import compact_strides
from cutelite_rt.errors import brief
from cutelite_rt.signature import kinds
from cutelite_rt.signature.bind import plain_number
from cutelite_rt.signature.data import Unsupported


@takes(Scalar, DTypeVar)
class ScalarParameter(Parameter):
    """A number, of a dtype or a dtype variable."""

    _data: kinds.Number

    def __init__(self, name: str, dtype: Scalar | DTypeVar) -> None:
        self.name, self.wanted = name, dtype
        self._data = kinds.Number(name, contract.dtype(dtype))

    def bind(self, call: Call, argument: Any) -> Scalar:
        if argument is MISSING:
            return known_dtype(call, self.name, self.wanted)
        dtype = self._data.decided(call, argument)
        if isinstance(self.wanted, DTypeVar):
            call.token.append(dtype)
        self._data.take(call, dtype, argument)
        return SCALARS[dtype]

    def settled(self, t: ArgType) -> kinds.Number:
        assert isinstance(t, Scalar)
        return kinds.Number(self.name, t.name)


@takes(ConstexprSpec)
class ConstantParameter(Parameter):
    """`Constexpr[...]`: any Python value. Each value is another specialisation of the kernel."""

    def __init__(self, name: str, spec: ConstexprSpec) -> None:
        self.name, self._data = name, kinds.Constant(name)
        self.wanted, self.values = _admitted(spec.type)

    def settled(self, t: ArgType) -> kinds.Fixed:
        assert isinstance(t, Constant)
        return kinds.Fixed.of(self.name, t.value)

    def bind(self, call: Call, argument: Any) -> Constant:
        if argument is MISSING:
            whole, _, field = self.name.partition(".")
            what = f"an example of `{whole}`" if field else "its value"
            raise call.error(self.name, f"is a compile-time constant: give {what}, as in `compile({whole}=...)`")
        value = self._converted(argument)
        a_type = type in self.wanted and isinstance(value, Scalar)  # as type checkers see dtypes
        chosen = any(type(one) is type(value) and one == value for one in self.values)
        if not (isinstance(value, self.wanted) or a_type or chosen):
            names = [*(f"a compile-time {t.__name__}" for t in self.wanted), *map(repr, self.values)]
            raise call.error(
                self.name, f"must be {' or '.join(names)}, not {brief(argument)}{defined_again(value, *self.wanted)}"
            )
        constant = Constant(value, fingerprint.constant_key(value))
        call.token.append(constant.key)
        return constant

    def _converted(self, x: Any) -> Any:
        """Convert NumPy numbers to Python's, and any real number to a float where a float is asked for."""
        kinds = {*self.wanted, *map(type, self.values)}
        if kinds & {int, float, bool} and not isinstance(x, (*self.wanted, bool)):
            number = plain_number(x)
            if float in kinds and int not in kinds and isinstance(number, numbers.Real):
                return float(number)
            return number
        return x


def _admitted(t: Any) -> tuple[tuple[type, ...], tuple[Any, ...]]:
    """Return the classes, and the single values, that a type names: any object where it is no class or union."""
    origin = typing.get_origin(t)
    if isinstance(origin or t, ALIAS):
        return _admitted((origin or t).__value__)
    if origin is typing.Literal:
        return (), typing.get_args(t)
    if origin in (types.UnionType, typing.Union):
        parts = [_admitted(part) for part in typing.get_args(t)]
        return tuple(c for part in parts for c in part[0]), tuple(v for part in parts for v in part[1])
    if origin is typing.Annotated:
        return _admitted(typing.get_args(t)[0])
    wanted = origin or t  # tuple[int, int] -> tuple
    return (wanted if isinstance(wanted, type) and wanted is not Any else object,), ()


@takes(type(None))
class UnknownParameter(Parameter):
    """A parameter without annotation. Binding it raises an error that says which annotation to write."""

    def __init__(self, name: str, spec: None) -> None:
        self.name = name

    @property
    def data(self) -> kinds.Parameter:
        raise Unsupported(f"`{self.name}` has no annotation")

    def bind(self, call: Call, argument: Any) -> Constant:
        if argument is MISSING:
            raise call.error(self.name, "has no annotation; give an example to see which one to write")
        annotation = annotation_for(call, self.name, argument)
        names = _names_of(call.read(self.name, argument).shape) if is_array(argument) else []
        dims = f', with `{", ".join(names)} = cl.dims("{" ".join(names)}")` before' if names else ""
        raise call.error(self.name, f"has no annotation; write `{self.name}: {annotation}`{dims}")


def annotation_for(call: Call, name: str, argument: Any) -> str:
    """Return the annotation to write for a parameter that got this argument."""
    if is_array(argument):
        return _tensor_annotation(call.read(name, argument))
    if isinstance(argument, bool):
        return "cl.boolean"
    if isinstance(argument, numbers.Real):
        return "cl.i32" if isinstance(argument, numbers.Integral) else "cl.f32"
    if struct_fields(type(argument)) is not None:
        return type(argument).__name__
    return f"Constexpr[{'None' if argument is None else type(argument).__name__}]"


def _names_of(shape: tuple[int, ...]) -> list[str]:
    return list("MNKPQRST"[: len(shape)]) if len(shape) <= 8 else [f"N{i}" for i in range(len(shape))]


def _tensor_annotation(view: ArrayView) -> str:
    if not view.shape:
        return f"cl.{view.dtype}"
    names = _names_of(view.shape)
    parts = [view.dtype, f"({', '.join(names)}{',' * (len(names) == 1)})"]
    if view.strides == compact_strides(view.shape, "col") and view.strides != compact_strides(view.shape):
        parts.append("cl.col_major")
    elif view.strides != compact_strides(view.shape):
        strides = ", ".join("1" if stride == 1 else "None" for stride in view.strides)
        parts.append(f"({strides}{',' * (len(names) == 1)})")
    return f"Tensor[{', '.join(parts)}]"
