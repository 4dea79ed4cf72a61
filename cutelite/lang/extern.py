"""Helpers of `lib/extern.py`: types of arguments of linked functions, inline PTX, and whether a kernel is simulated."""

from __future__ import annotations

import inspect
import typing
from types import FunctionType
from typing import Any

from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Type, Vec, elem_of
from cutelite.lang.address import address as address_of
from cutelite.lang.annotations import Pointer, PointerSpec, TensorSpec, seen_beside
from cutelite.lang.annotations import Tensor as AnyTensor
from cutelite.lang.emit import Runtime, builder_here, describe, emit, mistake, wrap
from cutelite.lang.promotion import as_value, literal
from cutelite.lang.tensor import Tensor, make_tensor
from cutelite.lang.values import RuntimeNumber
from cutelite.layout import Layout
from cutelite.ops.asm import InlinePtx
from cutelite.ops.call import Call
from cutelite.tuples import NamedTuple


def simulated(what: str) -> bool:
    """Tell whether the kernel is evaluated for the simulator, which cannot execute linked code, such as `what`."""
    return bool(builder_here(what).function.attrs.get("simulated"))


class Parameter(NamedTuple):
    """A parameter of a linked function: a number of a dtype, or an address of elements of one; None: of any.

    bare  the address is annotated `Pointer[...]`: nothing is known of what lies there, but its dtype
    """

    name: str
    dtype: DType | None
    address: bool
    bare: bool
    default: Any

    def pointed(self, x: Any) -> Any:
        """Return an argument as the function's body sees it: addresses as `Pointer[...]` parameters of kernels."""
        return make_tensor(x, Layout((1 << 40,), (1,)), self.dtype) if self.bare and self.dtype is not None else x


_NONE = object()


def declared(function: Any, name: str) -> tuple[tuple[Parameter, ...], DType | None]:
    """Return the parameters of a linked function, and the dtype of its result. Errors: TypeError."""
    if not isinstance(function, FunctionType):
        raise TypeError(f"cl.extern declares a Python function, not {function!r}")
    hints = typing.get_type_hints(function, localns=dict(seen_beside(function.__annotations__)))
    out = hints.pop("return", type(None))
    if not isinstance(out, DType) and out is not type(None):
        raise TypeError(f"{name}() returns a number of a dtype, or None, not {out!r}")
    found = []
    for each in inspect.signature(function).parameters.values():
        kind = hints.get(each.name)
        address = isinstance(kind, PointerSpec | TensorSpec) or kind in (Pointer, AnyTensor)
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) or not (address or isinstance(kind, DType)):
            takes = "a dtype, or an address: `Pointer[f32]`, `Tensor[...]`"
            raise TypeError(f"{name}() has a parameter `{each}`; each is annotated with {takes}")
        default = _NONE if each.default is each.empty else each.default
        dtype = getattr(kind, "dtype", None) if address else kind
        bare = isinstance(kind, PointerSpec) or kind is Pointer
        found.append(Parameter(each.name, dtype if isinstance(dtype, DType) else None, address, bare, default))
    return tuple(found), out if isinstance(out, DType) else None


def bound(name: str, parameters: tuple[Parameter, ...], args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """Return the arguments of a linked function in order, numbers as run-time ones. Errors: `call`."""
    if len(args) > len(parameters):
        raise mistake("call", f"{name}() takes {len(parameters)} arguments, but {len(args)} were given")
    given = dict(zip((each.name for each in parameters), args, strict=False))
    for key in named:
        if key in given or all(each.name != key for each in parameters):
            said = f"got two values for `{key}`" if key in given else f"has no parameter `{key}`"
            raise mistake("call", f"{name}() {said}")
    given |= named
    for each in parameters:
        if given.setdefault(each.name, each.default) is _NONE:
            raise mistake("call", f"{name}() lacks the argument `{each.name}`")
    return [_argument(name, each, given[each.name]) for each in parameters]


def call_linked(name: str, args: list[Any], out: Any, libraries: tuple[str, ...], pure: bool) -> Any:
    """Emit the call of an external function with these arguments; `out` is None if it has no result."""
    values = tuple(x.ptr.value if isinstance(x, Tensor) else x.value for x in args)
    return emit(Call(name, values, () if out is None else (out,), libraries, pure))


def _argument(function: str, parameter: Parameter, x: Any) -> Any:
    name, dtype = parameter.name, parameter.dtype
    if parameter.address:
        known = isinstance(x, Tensor | Runtime) and not isinstance(x, RuntimeNumber)
        if not known or (isinstance(x, Tensor) and dtype not in (None, x.dtype)):
            of = "" if dtype is None else f" of {dtype}"
            title = f"{function}() takes an address{of} for `{name}`, not {describe(x)}"
            raise mistake("call", title, help="" if known else "pass a tensor")
        return x
    assert dtype is not None, "numbers are declared by their dtype"
    return _exactly(x, dtype, "call", f"{function}() takes {dtype} for `{name}`")


def as_declared(result: Any, out: Type | tuple[Type, ...], what: str) -> Any:
    """Return the result of a function's meaning in Python as run-time numbers. Errors: `meaning` for other types."""
    outs = out if isinstance(out, tuple) else (out,)
    results = result if isinstance(result, tuple) else () if result is None else (result,)
    if len(results) != len(outs) or any(r is None for r in results):
        types = ", ".join(map(str, outs)) or "nothing"
        raise mistake("meaning", f"the meaning of {what} gives {describe(result)}, not {types}")
    if not outs:
        return None
    said = f"the meaning of {what} gives {', '.join(map(str, outs))}"
    made = tuple(_exactly(r, t, "meaning", said) for r, t in zip(results, outs, strict=True))
    return made if len(outs) > 1 else made[0]


def _exactly(x: Any, t: Type, code: str, said: str) -> Any:
    """Return a number or vector of type `t` as a run-time one; only literals adapt. Errors: `code`, said so."""
    x = literal(x)
    value = as_value(x, t) if isinstance(x, bool | int | float) else as_value(x)
    if value.type != t:
        help = f"convert it: `x.to(cl.{elem_of(t)})`" if isinstance(value.type, DType | Vec) else ""
        raise mistake(code, f"{said}, not {describe(x)}", help=help)
    return wrap(value)


def no_meaning(name: str) -> Any:
    """Return the error for a linked function that the simulator reaches and that has no meaning in Python."""
    return mistake(
        "extern",
        f"the simulator cannot execute {name}(), which is linked",
        help="give it a meaning in Python: the body of the function that `cl.extern` decorates",
    )


def refuse(name: str) -> None:
    raise no_meaning(name)


def inline_ptx_op(
    template: str, out: Type | tuple[Type, ...], pure: bool, memory: bool, inputs: dict[str, Any]
) -> InlinePtx:
    """Return the op of `cl.inline_ptx`, checked."""
    outs = out if isinstance(out, tuple) else (out,)
    for one in outs:
        if not isinstance(one, Type):
            help = "`out` is the type of the result; inputs are named, as in `a=x`"
            raise mistake("asm", f"inline PTX gives numbers and vectors, not {describe(one)}", help=help)
    values = tuple(address_of(x) if isinstance(x, Tensor) else as_value(x) for x in inputs.values())
    made = InlinePtx(template, tuple(inputs), values, outs, pure, memory)
    builder_here("`inline_ptx`").check(made)
    return made
