"""JAX's arrays, lent to functions of `cutelite.kernels`: nobody writes to them, and they have no strides.

So results are made by another library, whose arrays share memory with JAX's: NumPy in host memory, where kernels are
simulated; on a GPU torch or CuPy, one of which must be installed.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import cutelite_rt as rt
from cutelite.dispatch.divert import diverted, nothing

F = TypeVar("F", bound=Callable[..., Any])


def is_jax(array: Any) -> bool:
    """Tell whether it is an array of JAX's, a tracer of `jax.jit` included; its functions and dtypes are none."""
    ours = type(array).__module__.partition(".")[0] in ("jax", "jaxlib")
    return ours and isinstance(array, sys.modules["jax"].Array)


def takes_jax(*wide: str, traced: str = "") -> Callable[[F], F]:
    """Decorator: have a function take JAX's arrays too, and then give such a one.

    wide    names of arguments of whole numbers of 64 bits: JAX has 32 where it is not told otherwise
    traced  'module.function' below `cutelite.kernels` that is called where JAX traces arrays, with fewer arguments
    """

    def decorated(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            torch = sys.modules.get("torch")
            if "jax" not in sys.modules or (torch is not None and torch.compiler.is_dynamo_compiling()):
                return function(*args, **kwargs)
            if not any(map(is_jax, (*args, *kwargs.values()))):
                return function(*args, **kwargs)
            return of_jax(function, traced, *args, wide=wide, **kwargs)

        return call  # type: ignore[return-value]

    return decorated


def of_jax(function: Callable[..., Any], traced: str, *args: Any, wide: tuple[str, ...] = (), **kwargs: Any) -> Any:
    """The result of a function of arrays of JAX; `wide`, `traced`: as for `takes_jax`."""
    if traced and any(is_jax(x) and isinstance(x, sys.modules["jax"].core.Tracer) for x in (*args, *kwargs.values())):
        return of_traced(function, traced, *args, **kwargs)
    return on_jax(function, *args, wide=wide, **kwargs)


def of_traced(function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    """The result of the function `name`, which knows some of the arguments. Errors: `ArgumentError` for others."""
    module, _, name = f"cutelite.kernels.{name}".rpartition(".")
    own, taken = getattr(importlib.import_module(module), name), inspect.signature(function)
    given = taken.bind(*args, **kwargs).arguments
    for name in given.keys() - inspect.signature(own).parameters.keys():
        x, default = given.pop(name), taken.parameters[name].default
        if type(x) is not type(default) or x != default:
            raise rt.ArgumentError(f"within JAX's transforms there is no {name}= here")
    return own(**given)


def on_jax(function: Callable[..., Any], *args: Any, wide: tuple[str, ...] = (), **kwargs: Any) -> Any:
    """The result of a function of arrays, as JAX's; `wide`: as for `takes_jax`.

    Errors  TypeError within `jax.jit`, for an array to write to, and on a GPU without torch and CuPy
    """
    bound = inspect.signature(function).bind(*args, **kwargs)
    if bound.arguments.get("out") is not None:
        raise rt.ArgumentError("JAX's arrays are never written to: leave out= out")
    for name in wide:
        if is_jax(bound.arguments.get(name)):
            bound.arguments[name] = widened(lent(bound.arguments[name]))
    return returned(function(*lent(bound.args), **{name: lent(x) for name, x in bound.kwargs.items()}))


def widened(array: Any) -> Any:
    """Return whole numbers of torch, CuPy or NumPy as those of 64 bits; other arrays as they are."""
    if hasattr(array, "long"):
        return array if array.is_floating_point() or array.is_complex() else array.long()
    return array.astype("int64") if array.dtype.kind in "iu" else array


def check_call(function: Callable[..., Any], constants: dict[str, Any], /, **arrays: Any) -> None:
    """Refuse what a function refuses, in its words, when JAX traces the call: not when the computation runs.

    The function is called once for each kind of arrays, with arrays of NumPy that hold nothing, and no launch. Arrays
    that are larger than the host's memory are checked when the computation runs.

    constants   its arguments that are no arrays, by name
    arrays      its other arguments: JAX's arrays, traced or not. What is none of these the function is given as it is
    """
    import numpy

    check_known(constants)
    kinds = [(name, (tuple(x.shape), x.dtype) if is_jax(x) else x) for name, x in arrays.items()]
    key = function, repr(kinds), repr(sorted(constants.items()))
    if key in _checked:
        return
    with suppress(MemoryError), diverted(nothing):
        given = {name: numpy.empty(x.shape, x.dtype) if is_jax(x) else x for name, x in arrays.items()}
        function(**given, **constants)
    if len(_checked) >= MOST:
        _checked.clear()
    _checked.add(key)


def check_known(constants: dict[str, Any]) -> None:
    """Check that JAX traces none of these arguments, given by name. Errors: `cutelite.ArgumentError`."""
    if "jax" in sys.modules:
        from cutelite.interop.jax import check_untraced  # late: it imports JAX

        check_untraced(constants)


_checked: set[tuple[Any, ...]] = set()
MOST = 4096
"""At most this many kinds of calls are known."""


def returned(result: Any) -> Any:
    """The same as an array of JAX; a tuple of arrays, of which some may be None, as such a tuple."""
    if isinstance(result, tuple):
        make: Callable[..., Any] = getattr(result, "_make", tuple)
        return make(None if x is None else returned(x) for x in result)
    jax = sys.modules["jax"]
    return jax.numpy.asarray(result) if type(result).__module__ == "numpy" else jax.dlpack.from_dlpack(result)


def lent(array: Any) -> Any:
    """The same memory as an array of NumPy, torch or CuPy; those of tuples too, and anything else as it is."""
    if isinstance(array, tuple):
        return getattr(array, "_make", tuple)(map(lent, array))
    if not is_jax(array):
        return array
    jax = sys.modules["jax"]
    if isinstance(array, jax.core.Tracer):
        rt.read(array)  # raises `rt.UnreadableArray`, which says what to do
    if all(device.platform == "cpu" for device in array.devices()):
        import numpy

        return numpy.asarray(array)
    return gpu_library().from_dlpack(array)


def gpu_library() -> Any:
    """Return the library that makes arrays on a GPU here, torch or else CuPy. Errors: `ArgumentError` for neither."""
    for name in ("torch", "cupy"):
        with suppress(ImportError):
            return importlib.import_module(name)
    raise rt.ArgumentError("arrays on a GPU are made by torch or CuPy here, and neither is installed")
