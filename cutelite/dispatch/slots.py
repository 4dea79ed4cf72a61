"""A launcher's slots: one for each parameter with a run-time value, and for each dim. Which of the kernel's they are.

In    parameters, the types that they have in a specialisation, and its dims
Out   for each slot the number of a parameter of the kernel, None for one that was not given
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cutelite.dispatch.arguments import Parameter
from cutelite.dispatch.arrays import TmaParameter
from cutelite.dispatch.parameters import (
    ConstantParameter,
    OptionalParameter,
    SequenceParameter,
    StructParameter,
    leaves,
)
from cutelite.front.types import ArgType, Constant, Struct
from cutelite.ir.types import TensorMap
from cutelite_rt.launcher.variants import MapForm


class Slots(NamedTuple):
    """`launcher.Outcome` has them."""

    slots: list[int | None]
    maps: list[MapForm | None]


def slots_of(
    parameters: Sequence[Parameter], types: Mapping[str, ArgType], dims: Iterable[str], order: Sequence[str]
) -> Slots:
    """The kernel has a parameter for each that was given, then the `dims` it needs; the launcher's dims are `order`."""
    count = itertools.count()
    slots: list[int | None] = []
    maps: list[MapForm | None] = []
    for parameter in parameters:
        for leaf, t in _leaves(parameter, types[parameter.name]):
            slots.append(None if t is None else next(count))
            if isinstance(leaf, TmaParameter):
                maps.append(MapForm(t.elem.name, t.box, t.swizzle) if isinstance(t, TensorMap) else None)
    numbers = {name: next(count) for name in dims}
    return Slots(slots + [numbers.get(name) for name in order], maps)


def _leaves(parameter: Parameter, t: ArgType) -> Iterator[tuple[Parameter, ArgType | None]]:
    """Each parameter within one that has a run-time value, and its type; None where it was not given."""
    match parameter:
        case ConstantParameter():
            return
        case OptionalParameter() if isinstance(t, Constant):
            yield from ((leaf, None) for leaf in leaves(parameter.given))
        case OptionalParameter():
            yield from _leaves(parameter.given, t)
        case StructParameter():
            assert isinstance(t, Struct)
            for (_, field), of in zip(t.fields, parameter.fields.values(), strict=True):
                yield from _leaves(of, field)
        case SequenceParameter():
            assert isinstance(t, Struct)
            for (_, item), of in zip(t.fields, parameter.items(len(t.fields)), strict=True):
                yield from _leaves(of, item)
        case _:
            yield parameter, t
