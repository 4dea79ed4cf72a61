"""Check the launches that a program makes, or one launch on made-up arguments.

In    a program's `check` or `main` function; or a kernel, and shapes and numbers by the names of its parameters
Out   a `CheckReport` for each launch
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import cutelite_rt as rt
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.kernel import BoundKernel, Kernel
from cutelite.dispatch.launch import Launch, LaunchError
from cutelite.dispatch.signature import gathers
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import Scalar, Tensor, TensorMap
from cutelite.lang.annotations import OptionalSpec, TensorSpec, TmaSpec
from cutelite.tuples import NamedTuple
from cutelite_rt.arrays.memory import is_array

if TYPE_CHECKING:
    from cutelite.dispatch.compiled import Compiled
    from cutelite.sim import CheckReport, Timeline

ENTRIES = ("check", "main")
"""Names of entry functions: the first that the program itself defines, without required arguments, is called."""


class NoEntry(LookupError):
    """A program has no entry function to call, so its launches cannot be seen."""


class Call(NamedTuple):
    """A launch that a program asked for, to be compiled, traced or checked. Its arrays are in host memory."""

    kernel: Kernel
    launch: Launch
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def compile(self, options: dict[str, Any]) -> Compiled:
        """Compile the kernel as this launch needs it, with other options."""
        make = self.kernel.options(**options).compiling(self.launch, *self.args, **self.kwargs)
        if make is None:
            raise LaunchError("a grid of no blocks launches nothing")
        compiled: Compiled = make()
        return compiled

    def trace(self) -> Timeline:
        """Simulate the launch and return its timeline, as `Kernel.trace_launch` does."""
        found: Timeline = self.kernel.trace_launch(self.launch, *self.args, **self.kwargs)
        return found

    def check(self, **options: Any) -> CheckReport:
        """Check the launch, as `Kernel.check_launch` does, with the same options."""
        found: CheckReport = self.kernel.check_launch(self.launch, *self.args, **options, **self.kwargs)
        return found


T = TypeVar("T")


def each_launch(call: Callable[[], object], only: Kernel | BoundKernel | None, look: Callable[[Call], T]) -> list[T]:
    """Run `call`, and return the result of `look` for each of its launches: of the kernel `only`, or of all kernels.

    Launches of other kernels run as usual. A launch on arrays of a GPU runs after `look`, one on host arrays does not
    run at all.
    Errors  what `look` and `call` raise
    """
    kept = only.kernel if isinstance(only, BoundKernel) else only
    found: list[T] = []

    def instead(kernel: Kernel, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        with diverted(None):
            if kept is None or kernel is kept:
                host = tuple(_on_host(x) for x in args), {name: _on_host(x) for name, x in kwargs.items()}
                found.append(look(Call(kernel, replace(launch, stream=None), *host)))
                if not any(map(_on_gpu, [*args, *kwargs.values()])):
                    return
            kernel.launch(launch, *args, **kwargs)

    with diverted(instead):
        try:
            call()
        except SystemExit as end:  # as scripts end, whose launches were made
            if end.code:
                raise
    return found


def first_launch(module: ModuleType, only: Kernel | BoundKernel | None) -> Call | None:
    """Return the first launch of the kernel `only`, or of any, that `check` or `main` of a program makes.

    Errors  `NoEntry` where there is nothing to call; what the program raises
    """
    found: list[Call] = []

    def seen(each: Call) -> None:
        found.append(each)
        raise _Enough

    with suppress(_Enough):
        each_launch(entry_of(module), only, seen)
    return found[0] if found else None


class _Enough(BaseException):
    """Raised to end the program once a launch was seen. A BaseException, so that the program does not catch it."""


def entry_of(module: ModuleType) -> Callable[[], object]:
    """Return the entry function of a program, which launches its kernels. Errors: `NoEntry`."""
    entry = next(filter(None, (_entry(module, name) for name in ENTRIES)), None)
    if entry is None:
        raise NoEntry(
            f"{module.__name__} has neither a check() nor a main() without arguments, to tell how kernels are launched"
        )
    return entry


def _entry(module: ModuleType, name: str) -> Callable[[], object] | None:
    found = getattr(module, name, None)
    if not isinstance(found, FunctionType) or found.__module__ != module.__name__:
        return None
    needed = [p for p in inspect.signature(found).parameters.values() if p.default is p.empty]
    return None if any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in needed) else found


def made_up(kernel: Kernel | BoundKernel, launch: Launch, given: dict[str, Any]) -> Call:
    """Return a launch on the numbers in `given`, and on random arrays of its shapes: normal, integers from 0 to 99.

    given   by parameter: a number; of an array its shape, where an int is one mode. Others have their defaults
    Errors  `LaunchError` for a method; `ArgumentError` for an argument that is not given
    """
    if isinstance(kernel, BoundKernel):
        raise LaunchError("a method is checked through its program's check() or main(), which has its object")
    signature = kernel.signature
    given = {name: (x,) if isinstance(x, int) and _takes_array(signature.specs.get(name)) else x
             for name, x in given.items()}  # fmt: skip
    bound, arguments = signature.ahead((), given, False), {}
    for name, t in bound.types.items():
        elem = t.elem if isinstance(t, Tensor | TensorMap) else None
        if elem is not None and isinstance(given.get(name), tuple):
            arguments[name] = _random(given[name], elem)
        elif elem is None and (name in given or name in signature.defaults):
            arguments[name] = given.get(name, signature.defaults.get(name))
        else:
            raise ArgumentError(f"{kernel.__name__}(): argument `{name}` is not given: for an array its shape, as in "
                                f"{name}=1000 or {name}=256x128; or a number")  # fmt: skip
    star = gathers(kernel.__cutelite_function__)
    positional = [[arguments.pop(name)] if name not in star else arguments.pop(name) for name in signature.positional]
    return Call(kernel, launch, tuple(chain(*positional)), arguments)


def _takes_array(spec: object) -> bool:
    spec = spec.spec if isinstance(spec, OptionalSpec) else spec
    return isinstance(spec, TensorSpec | TmaSpec)


def _random(shape: tuple[int, ...], elem: Scalar) -> Any:
    import numpy

    generator, dtype = numpy.random.default_rng(0), numpy_dtype(elem)
    try:
        numbers: Any = generator.integers(0, 100, shape) if elem.is_int else generator.standard_normal(shape)
        return numbers.astype(dtype)
    except (MemoryError, ValueError):  # NumPy's limits of extents are ValueErrors
        raise ArgumentError(f"this machine has no memory for an array of shape {shape}") from None


def _on_gpu(x: object) -> bool:
    return is_array(x) and rt.read(x).device[0] == "cuda"


def _on_host(x: Any) -> Any:
    return rt.from_device(x) if _on_gpu(x) else x
