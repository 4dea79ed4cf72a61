"""Helpers for calls of linked functions: types of arguments, and whether a kernel is built for the simulator."""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Type
from cutelite.lang.emit import Runtime, builder_here, describe, emit, mistake
from cutelite.lang.promotion import as_value, to_dtype
from cutelite.lang.tensor import Tensor
from cutelite.ops.call import Call


def simulated() -> bool:
    """Tell whether the kernel is evaluated for the simulator, which cannot execute linked code."""
    return bool(builder_here("this").function.attrs.get("simulated"))


def call_linked(
    name: str, parameters: tuple[tuple[str, Any], ...], out: Any, libraries: tuple[str, ...], pure: bool, *args: Any
) -> Any:
    """Emit the call of an external function with these annotated parameters; `out` is None if it has no result."""
    if len(args) != len(parameters):
        raise mistake("call", f"{name}() takes {len(parameters)} arguments, but {len(args)} were given")
    values = tuple(_argument(name, *p, x) for p, x in zip(parameters, args, strict=True))
    return emit(Call(name, values, () if out is None else (out,), libraries, pure))


def _argument(function: str, name: str, annotation: Any, x: Any) -> Any:
    if isinstance(annotation, DType):
        value = as_value(x, annotation) if isinstance(x, bool | int | float) else as_value(x)
        if value.type != annotation:
            help = f"convert it: `x.to(cl.{annotation})`"
            raise mistake("call", f"{function}() takes {annotation} for `{name}`, not {describe(x)}", help=help)
        return value
    if isinstance(x, Tensor):
        return x.ptr.value
    if isinstance(x, Runtime):
        return x.value
    raise mistake("call", f"{function}() takes an address for `{name}`, not {describe(x)}", help="pass a tensor")


def as_declared(result: Any, out: Type | tuple[Type, ...], what: str) -> Any:
    """Convert the result of a function's meaning in Python to the declared types. Errors: `meaning` if it cannot be."""
    outs = out if isinstance(out, tuple) else (out,)
    if not outs:
        return None
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(outs) or any(r is None for r in results):
        raise mistake("meaning", f"the meaning of {what} gives {describe(result)}, not {', '.join(map(str, outs))}")
    made = tuple(_converted(r, t) for r, t in zip(results, outs, strict=True))
    return made if len(outs) > 1 else made[0]


def _converted(x: Any, t: Type) -> Any:
    return to_dtype(x, t) if isinstance(t, DType) else x


def no_meaning(name: str) -> Any:
    """Return the error for a linked function that the simulator reaches and that has no meaning in Python."""
    return mistake(
        "extern",
        f"the simulator cannot execute {name}(), which is linked",
        help="give it a meaning in Python: the body of the function that `cl.extern` decorates",
    )


def refuse(name: str) -> None:
    raise no_meaning(name)
