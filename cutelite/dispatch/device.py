"""The destination of a launch: the GPU that holds the arrays, or the simulator for arrays in host memory."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import cutelite_rt as rt
from cutelite.config import Config
from cutelite.dispatch.arguments import ArgumentError, Bound
from cutelite.target import Target
from cutelite_rt.arrays.memory import is_array
from cutelite_rt.dtype import DTYPES
from cutelite_rt.signature.bind import home_of


def device_of(kernel: str, bound: Bound, environment: Config) -> int | None:
    """Return the GPU that a launch goes to; None: the simulator. Errors: `ArgumentError` for arrays in several places.

    NumPy arrays always go to the simulator. With CUTELITE_SIM, copies of arrays on a GPU go there too. Host arrays of
    other libraries go there if there is no GPU, or with CUTELITE_SIM; otherwise they are refused, since they were
    probably meant to be on the GPU. A launch without arrays goes to the current GPU, if there is one.
    """
    home = home_of(kernel, bound.arrays)
    if home is not None and home[0] == "cuda":
        return None if environment.simulate else home[1]  # the simulator takes copies: `mirrors.py`
    if environment.simulate or any(view.library == "numpy" for _, view in bound.arrays) or not has_gpu():
        return None
    if bound.arrays:
        name, view = bound.arrays[0]
        raise ArgumentError(
            f"{kernel}(): argument `{name}` is a {view.library} array in host memory; move it to the GPU, or have it "
            "simulated: pass it as a NumPy array, or set CUTELITE_SIM=1"
        )
    return rt.device().ordinal


def has_gpu() -> bool:
    """Tell whether this process can use a GPU."""
    return rt.count() > 0


@functools.cache
def arch_of(ordinal: int) -> str:
    """Return the architecture that has most of a GPU's features. Errors: `UnknownTarget` for a GPU that is too new."""
    return Target.for_capability(rt.device(ordinal).compute_capability).arch


def host_array(view: rt.ArrayView) -> Any:
    """Return a NumPy array over the memory of an array of any library, in host memory."""
    import numpy

    assert view.device[0] != "cuda", "the host cannot read memory of a GPU: `Mirrors` are copies of it"
    if isinstance(view.owner, numpy.ndarray):
        return view.owner
    # For other libraries: integers of the elements' size over the same memory.
    size = DTYPES[view.dtype].bytes
    if view.size == 0:
        return numpy.empty(view.shape, f"u{size}")
    first, end = view.span
    if view.library == "torch" and hasattr(view.owner, "untyped_storage"):
        # The whole allocation, since TMA writes all of the last 16 bytes of a row.
        storage = view.owner.untyped_storage()
        first, end = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    memory = numpy.asarray(_Memory(first, end - first, view.readonly, view.owner))
    strides = tuple(stride * size for stride in view.strides)
    return numpy.ndarray(view.shape, f"u{size}", memory, view.pointer - first, strides)


class _Memory:
    """Bytes at an address, in the form that NumPy reads; keeps their owner alive."""

    def __init__(self, address: int, nbytes: int, readonly: bool, owner: object) -> None:
        self.owner = owner
        self.__array_interface__ = {"shape": (nbytes,), "typestr": "|u1", "data": (address, readonly), "version": 3}


PLAIN: frozenset[type] = frozenset((int, bool, str, float, type(None)))
"""Types of arguments that hold no arrays."""


def arrays_in(x: Any) -> Iterator[Any]:
    """Yield every array in an argument, also in tuples, lists, dicts and dataclasses."""
    if type(x) in PLAIN:
        return
    if is_array(x):
        yield x
    elif isinstance(x, tuple | list):
        for part in x:
            yield from arrays_in(part)
    elif isinstance(x, Mapping):
        yield from arrays_in(list(x.values()))
    elif dataclasses.is_dataclass(x) and not isinstance(x, type):
        yield from arrays_in([getattr(x, field.name) for field in dataclasses.fields(x)])
