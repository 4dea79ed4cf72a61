"""Bind the arguments of an exported kernel by its settled signature.

In    a settled `kinds.Signature`, and the arguments of a call
Out   `Fitted`: a value for each of the kernel's parameters, and the arrays among the arguments

Arguments are bound as those of a live kernel, but dtypes, alignments, constants and widths of dims are those that the
kernel was compiled for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cutelite_rt.arrays.memory import ArrayView
from cutelite_rt.shapes import MOST_IN_32_BITS, WIDEST_I32
from cutelite_rt.signature import bind
from cutelite_rt.signature.bind import MapRequest, Names
from cutelite_rt.signature.kinds import Signature, left_out


class Fitted(NamedTuple):
    """The outcome of binding: values (see `bind.packable`), dims by name, and (parameter, array) of each array."""

    values: list[Any]
    dims: dict[str, int]
    arrays: list[tuple[str, ArrayView]]


class Binder:
    """Binds arguments by one signature."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        names = [parameter.name for parameter in signature.parameters]
        positional, position_only = names[: signature.positional], names[: signature.position_only]
        defaults = {parameter.name: left_out(parameter) for parameter in signature.parameters}
        self._names = Names(signature.kernel, names, positional, position_only, defaults, lambda: signature.text)
        self._dims = [dim.name for dim in signature.dims]

    def fit(self, args: Sequence[Any], kwargs: dict[str, Any], stream: int | None = None) -> Fitted:
        """Bind the arguments of a call; `stream` is the launch's, None where it names none. Errors: `ArgumentError`."""
        given = self._names.match(args, kwargs)
        call = bind.Call(self.signature.kernel, given, stream)
        for parameter, argument in zip(self.signature.parameters, given.values(), strict=True):
            parameter.fit(call, argument)
        call.settle(self._dims)
        dims = {name: value for name, (value, _) in call.dims.items()}
        narrow = "but the kernel was exported for 32-bit dims: export it with wide_dims=True"
        for name in self._dims:
            value, source = call.dims[name]
            if value > WIDEST_I32 and name not in self.signature.wide_dims:
                raise call.error(source, f"makes {name} {value}, {narrow}")
        mapped = {value.name for value in call.values if isinstance(value, MapRequest)}
        for name, view in () if self.signature.wide else call.arrays:
            if view.size > MOST_IN_32_BITS and name not in mapped:
                raise call.error(name, f"has {view.size} elements, {narrow}")
        return Fitted([*call.values, *(dims[name] for name in self._dims)], dims, call.arrays)
