"""Functions on arrays as calls within `jax.jit`, `jax.grad` and `jax.vmap`: `computed`.

In    arrays of JAX, traced or not. Out: such arrays
      On a GPU torch must be installed (`cutelite.interop.jax.host_call`); on the CPU kernels are simulated
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from cutelite.interop.jax import host_call
from cutelite.kernels.arguments import Misfit, is_array
from cutelite.kernels.lent import check_call, widened
from cutelite_rt.dtype import DTYPES

BROADCAST, IN_ORDER = "broadcast_all", "sequential"
"""How `jax.vmap` calls a function: once for all of a batch, or for one after the other."""


def computed(
    function: Callable[..., Any], outputs: Any, arrays: dict[str, Any], /, *, method: str = IN_ORDER, whole: str = "",
    changes: tuple[str, ...] = (), copies: bool = False, **constants: Any,
) -> Any:  # fmt: skip
    """Return what ``function(**arrays, **constants)`` makes of arrays of NumPy, torch or CuPy, as arrays of JAX.

    It is called as JAX traces this, without launches, to refuse what it refuses; and whenever XLA computes.

    outputs  what it makes: `jax.ShapeDtypeStruct`s, one or a list with None among them; or a function that gives them
             once nothing was refused. They are given to the function as its `out`
    arrays   its arguments that are arrays, by name; some may be None
    method   how `jax.vmap` calls it
    whole    the name of an array of whole numbers of any width, of which the function takes those of 64 bits
    changes  names of arrays that it writes to: the last outputs, in this order, which XLA lets lie where these did
    copies   whether the function has no `out`, or one of other dtypes: what it gives is copied to the outputs
    """
    check_call(_of_whole(function, whole) if whole else function, constants, **arrays)
    outputs = outputs() if callable(outputs) else outputs
    run, single = _host(function, tuple(arrays), whole, changes, copies), not isinstance(outputs, list)
    first = 0 if single else len(outputs) - len(changes)
    aliases = {[*arrays].index(name): first + i for i, name in enumerate(changes)}
    found = host_call(run, outputs, aliases=aliases, vmap_method=method, **constants)(*arrays.values())
    return found if single else tuple(found)


@functools.cache  # one for each: calls that are checked are remembered by their functions
def _of_whole(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that refuses what `function` does, and for its argument `name` what holds no whole numbers."""

    def checked(**given: Any) -> None:
        x = given[name]
        is_array(name, x)
        if x.dtype.kind not in "iu":
            raise Misfit(f"{name} has dtype {x.dtype}, but must be of whole numbers")
        function(**given | {name: widened(x)})

    return checked


@functools.cache
def _host(
    function: Callable[..., Any], names: tuple[str, ...], whole: str, changes: tuple[str, ...], copies: bool
) -> Callable[..., None]:
    """Return the host code of `computed`, as `host_call` takes it: one for each function."""

    def run(inputs: list[Any], outputs: list[Any], **constants: Any) -> None:
        made, changed = outputs[: len(outputs) - len(changes)], outputs[len(outputs) - len(changes) :]
        given = dict(zip(names, inputs, strict=True)) | dict(zip(changes, changed, strict=True))
        if whole:
            narrow, given[whole] = given[whole], widened(given[whole])
        if made and not copies:
            constants["out"] = made[0] if len(made) == 1 else tuple(made)
        found = function(**given, **constants)
        if whole in changes and given[whole] is not narrow:
            narrow[...] = given[whole]
        for each, out in zip(found if isinstance(found, tuple) else (found,), made, strict=True) if copies else ():
            if out is not None and np.prod(out.shape):
                out[...] = each

    return run


def shaped(shape: tuple[int, ...], kind: Any = "f32") -> Any:
    """Describe a result of a shape, and of a dtype or its code."""
    return jax.ShapeDtypeStruct(shape, jnp.dtype(DTYPES[kind].numpy) if isinstance(kind, str) else kind)


def like(x: Any) -> Any:
    """Describe a result of the shape and dtype of an array; None for what is none."""
    return jax.ShapeDtypeStruct(x.shape, x.dtype) if hasattr(x, "shape") else None


def no_gradient(x: Any) -> Any:
    """Return the gradient of whole numbers; None for None."""
    return None if x is None else np.zeros(x.shape, jax.dtypes.float0)
