"""The base of all words: ops appended to the kernel, errors at the user's line, proxies of SSA values.

A run-time value is a thin wrapper around an SSA value, a *proxy*. Its class follows from the type of the value: each
class of proxies names the types that it stands for (`proxy_of`), and `wrap` looks there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from enum import Enum
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from cutelite.diag import CompileError, Mistake
from cutelite.ir.builder import Builder
from cutelite.ir.function import Value
from cutelite.ir.op import Op
from cutelite.ir.types import InFlight, Ptr, Type
from cutelite.ir.types import Scalar as DType
from cutelite.layout import DimExpr


def mistake(code: str, title: str, label: str = "", help: str | tuple[str, ...] = "") -> CompileError:
    """Return an error at the line that is being evaluated."""
    builder = Builder.current()
    return CompileError(Mistake(code, title, label, help), builder.span if builder else None)


def builder_here(what: str = "this") -> Builder:
    """Return the builder of the kernel that is being compiled.

    Errors  `outside-kernel`, which names the word that was called, or else `what`
    """
    builder = Builder.current()
    if builder is None:
        title = f"{_word() or what} works only inside a kernel"
        raise CompileError(Mistake("outside-kernel", title, help="call it from a @cutelite.kernel"))
    return builder


_WORDS = "cutelite.lang.", "cutelite.lib."


def _word() -> str:
    """Return the name, quoted, of the word that the user's code has called; '' if it is not public."""
    frame: FrameType | None = sys._getframe()
    name = ""
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_WORDS):
        name, frame = frame.f_code.co_qualname, frame.f_back
    return f"`{name}`" if name.isidentifier() and not name.startswith("_") else ""


def append(op: Op) -> Any:
    """Append `op` to the kernel, and return its result as an SSA value, a tuple of them, or None."""
    return builder_here(op.name).emit(op)


def emit(op: Op) -> Any:
    """Append `op` to the kernel, and return its result as a proxy, a tuple of them, or None."""
    results = append(op)
    if isinstance(results, tuple):
        return tuple(map(wrap, results))
    return None if results is None else wrap(results)


PROXIES: dict[type[Type], Callable[[Value], Any]] = {}
"""From each class of IR types to the class of its proxies."""

Proxy = TypeVar("Proxy", bound=Callable[[Value], Any])


def proxy_of(*types: type[Type]) -> Callable[[Proxy], Proxy]:
    """Decorate a class whose objects stand for values of these types."""

    def register(proxy: Proxy) -> Proxy:
        PROXIES.update(dict.fromkeys(types, proxy))
        return proxy

    return register


def wrap(value: Value) -> Any:
    """Return the proxy of an SSA value."""
    return PROXIES[type(value.type)](value)


if TYPE_CHECKING:
    _Any = Any  # a type checker accepts any use of a run-time value: `cutelite/by_hand.pyi` says why
else:
    _Any = object


def refuse_iteration(self: Any) -> Iterator[Any]:
    """Refuse to iterate: the `__iter__` of what has `__getitem__`, by which Python would go on for ever."""
    raise mistake(
        "iteration", f"{describe(self)} cannot be iterated over", help="loop over indices: `for i in range(...)`"
    )


class Runtime(_Any):  # type: ignore[misc]
    """The base of all proxies: a wrapper around the SSA value `value`."""

    __slots__ = ("value",)
    __array_ufunc__ = None  # NumPy's numbers leave operators to proxies

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def type(self) -> Type:
        return self.value.type

    def __copy__(self) -> Runtime:
        return self

    def __deepcopy__(self, memo: object) -> Runtime:
        """Stay the same value: `dataclasses.asdict` and `copy.deepcopy` copy what objects hold."""
        return self

    def __hash__(self) -> int:
        raise not_a_key(self)

    def __eq__(self, other: object) -> Any:
        raise incomparable(self)

    __ne__ = __eq__

    def __float__(self) -> float:
        raise mistake(
            "runtime-number",
            "a compile-time number is needed here",
            f"this is a run-time {self.type}",
            "functions of `cl`, and those of `math` that `cl` has, take run-time numbers",
        )

    __complex__: Any = __float__

    def __bool__(self) -> bool:
        raise mistake(
            "runtime-condition",
            "a run-time value decides something at compile time here",
            f"this is {self.type}, known only when the kernel runs",
            "use it in an `if`, `while` or conditional expression of the kernel itself, or make it a Constexpr",
        )

    def __repr__(self) -> str:
        return f"<run-time {self.type}>"

    __iter__ = refuse_iteration

    def __str__(self) -> str:
        raise mistake(
            "runtime-text",
            f"a run-time {self.type} has no text at compile time",
            help='print it from the kernel with an f-string: `cl.printf(f"x = {x}")`',
        )

    def __format__(self, spec: str) -> str:
        return str(self)


@proxy_of(Ptr)
class Handle(Runtime):
    """A run-time value without operators: a pointer, an mbarrier."""

    __slots__ = ()


@proxy_of(InFlight)
class InFlightValue(Handle):
    """A value that the tensor core may still write or read. Only functions that wait for it, or add to it, take it."""

    __slots__ = ()
    __hash__ = Runtime.__hash__

    def _refuse(self, *_: Any) -> Any:
        raise in_flight(self.value)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __abs__ = __pos__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = __len__ = __iter__ = to = put = _refuse


def not_a_key(x: Any) -> CompileError:
    """Return the error for a run-time value that is a key of a dict or a member of a set."""
    return mistake(
        "runtime-key",
        "keys and members of sets are told apart at compile time",
        f"this is {describe(x)}",
        "compare with `==`, or keep it in a tuple or list",
    )


def incomparable(x: Any) -> CompileError:
    """Return the error for comparing an object that is not a single value, such as a tensor."""
    help = "compare elements: `t[i] == x`; or ask `t is None`" if hasattr(x, "layout") else ""
    return mistake("comparison", f"{describe(x)} cannot be compared", help=help)


def in_flight(value: Value | None = None) -> CompileError:
    """Return the error for an accumulator that is used before the wait that makes it readable."""
    if value is not None and isinstance(value.type, InFlight) and not hasattr(value.type.inner, "n"):
        help = "wait for the barrier of a commit: `acc = cl.tcgen05.wait_commit(bar, phase, acc)`"
        return mistake(
            "in-flight", "this accumulator is in flight: products may still be writing it", "used here", help
        )
    if value is not None and value.op is not None and value.op.name.startswith("tcgen05.ld"):
        title = "these registers are in flight: a load from tensor memory may still be writing them"
        return mistake("in-flight", title, "used here", "wait for it first: `x = cl.tcgen05.wait_load(x)`")
    return mistake(
        "in-flight",
        "this accumulator is in flight: wgmma may still be writing it",
        "used here",
        "wait for it first: `acc = cl.wgmma.wait_group(0, acc)`",
    )


def describe(x: Any) -> str:
    """Describe `x` in words for an error. A class that users do not instantiate has a method `described`."""
    if isinstance(x, Runtime):
        return "an accumulator in flight" if isinstance(x.type, InFlight) else f"a run-time {x.type}"
    if isinstance(x, int | float | str | bool | None):
        return f"{x!r}"
    if isinstance(x, Enum):
        return str(x)
    if (known := getattr(type(x), "described", None)) is not None:
        return known(x)  # type: ignore[no-any-return]
    if isinstance(x, DType):
        return f"the dtype {x}"
    if isinstance(x, ModuleType):
        return f"the module `{x.__name__}`"
    if callable(x) and isinstance(name := getattr(x, "__name__", None), str):
        return f"the {'class' if isinstance(x, type) else 'function'} `{name}`"
    if isinstance(x, DimExpr):
        return f"the dim {x}" if str(x).isidentifier() else f"{x}, which is known at the launch"
    name = type(x).__name__
    return f"an {name}" if name[0] in "AEIOUaeiou" else f"a {name}"
