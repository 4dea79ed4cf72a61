"""Launches that are like an earlier one: what that one found out is kept, so that nothing is worked out twice.

In    a launch and its arguments
Out   from `Reader` a key, all that binding and checking them looks at but pointers and numbers; `Plan`, what came of it

A launch is first taken apart into facts that are quick to read. Where a launch with equal facts has gone well, its plan
has all else: the loaded function, the driver's launch configuration, the values of dims, how tensor maps are encoded.
Anything unusual (`Unplanned`, or whatever reading an odd argument raises) goes the way of `Kernel._launch_anew`, which
takes what can be taken and explains what cannot: no error is said here.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import cutelite_rt as rt
from cutelite.dispatch import fingerprint
from cutelite.dispatch.arguments import Bound, MapRequest, Parameter
from cutelite.dispatch.arrays import VECTOR_BYTES, TensorParameter, TmaParameter
from cutelite.dispatch.device import packable
from cutelite.dispatch.launch import Launch
from cutelite.dispatch.parameters import ConstantParameter, OptionalParameter, ScalarParameter, StructParameter
from cutelite.lang.annotations import DTypeVar
from cutelite_rt import driver as cuda
from cutelite_rt import stream as streams
from cutelite_rt.memory import facts

MOST_PLANS = 1024
"""Plans kept for a kernel: about 2 KB each."""

Collector = Callable[[Any, list[object], list[Any]], None]
"""Takes one argument: appends its facts to the first list, and the run-time values that it is to the second."""


class Unplanned(Exception):
    """A launch that no plan can be for."""


class Plans:
    """Those of one kernel. Any number of threads may ask and add."""

    def __init__(self) -> None:
        self._plans: dict[Hashable, Plan] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._plans)

    def get(self, key: Hashable) -> Plan | None:
        return self._plans.get(key)

    def add(self, key: Hashable, plan: Plan) -> None:
        """Keep it; the oldest goes where there are too many."""
        with self._lock:
            while len(self._plans) >= MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = plan


class Plan:
    """A launch but for its stream, its pointers and its numbers.

    function   the kernel, loaded into the context that these launches are for
    contexts   (handle, id) of that context and of the one current: handles are used again, ids never are
    """

    def __init__(
        self, bound: Bound, kernel: str, function: rt.Function, config: rt.LaunchConfig, sync: bool = False
    ) -> None:
        self.function, self._sync = function, sync
        self._current = _current_context()
        self.contexts = [(handle, _context_id(handle)) for handle in {function.context, self._current} - {0}]
        self._dims = bound.values[len(bound.values) - len(bound.dims) :]
        values = enumerate(bound.values)
        self._maps = [_Map(i, value, kernel) for i, value in values if isinstance(value, MapRequest)]
        self._stream = streams.source(view for _, view in bound.arrays)
        self._config = config

    def holds(self) -> bool:
        """Whether its contexts are still those that it was made in."""
        return all(_context_id(handle) == number for handle, number in self.contexts)

    def values(self, collected: list[Any]) -> list[Any]:
        """What goes into the kernel's parameters, of what a `Reader` collected. Errors: as encoding a tensor map."""
        for each in self._maps:
            collected[each.index] = each.encoded(collected[each.index])
        collected += self._dims
        return collected

    def launch(self, parameters: rt.Parameters, stream: int | None) -> None:
        """Errors: `CudaError`."""
        if stream is None:
            stream = self._stream()
        config = self._config
        if config.stream != stream:
            config = self._config = config._replace(stream=stream)
        rt.launch(self.function, config, parameters, self._sync, self._current)


class _Map:
    """The tensor map at one place among the values: only its address changes from launch to launch."""

    def __init__(self, index: int, request: MapRequest, kernel: str) -> None:
        self.index = index
        # Without its owner: a plan keeps no array alive.
        self._request, self._kernel = request._replace(view=request.view._replace(owner=None)), kernel
        self._last: tuple[int, bytes] = (0, b"")

    def encoded(self, pointer: int) -> bytes:
        last, encoded = self._last
        if last != pointer:
            view = self._request.view._replace(pointer=pointer)
            encoded = packable(self._kernel, self._request._replace(view=view))
            self._last = pointer, encoded
        return encoded


def _current_context() -> int:
    """Handle of the calling thread's context; 0 where it has none."""
    status, handle = cuda.get().raw.cuCtxGetCurrent()
    return 0 if status else int(handle)


def _context_id(handle: int) -> int:
    status, number = cuda.get().raw.cuCtxGetId(handle)
    return -1 if status else int(number)


# Facts of arguments.


class Reader:
    """Takes the arguments of a kernel apart."""

    def __init__(self, parameters: Iterable[Parameter]) -> None:
        self._collectors = [collector(parameter) for parameter in parameters]

    def read(self, launch: Launch, arguments: Iterable[Any]) -> tuple[Hashable, list[Any]]:
        """Facts of the launch and of an argument for each parameter, and the arguments' run-time values.

        Errors  `Unplanned`, and any other that an argument raises when it is looked at
        """
        if launch.facts is None:
            raise Unplanned
        key: list[object] = [launch.facts, _current_context()]
        values: list[Any] = []
        for collect, argument in zip(self._collectors, arguments, strict=True):
            collect(argument, key, values)
        return tuple(key), values


def collector(parameter: Parameter) -> Collector:
    """What takes the arguments for a parameter."""
    match parameter:
        case TensorParameter():
            return _array(max(parameter.spec.align or 0, VECTOR_BYTES))
        case TmaParameter():
            return _array(VECTOR_BYTES)
        case ScalarParameter():
            may_be_e4m3 = isinstance(parameter.wanted, DTypeVar) or parameter.wanted.name == "e4m3"
            return _number_of_e4m3 if may_be_e4m3 else _number
        case ConstantParameter():
            return _constant
        case OptionalParameter():
            return _optional(collector(parameter.given))
        case StructParameter():
            return _struct({field: collector(of) for field, of in parameter.fields.items()})
    return _unplanned


def _array(alignment: int) -> Collector:
    """An address counts by how it lies to `alignment` bytes; 0 is no memory, or that of an array without elements."""

    def collect(argument: Any, key: list[object], values: list[Any]) -> None:
        found = facts(argument)
        if found is None:
            raise Unplanned
        pointer, others = found
        if not pointer:
            raise Unplanned
        key += type(argument), pointer % alignment, others
        values.append(pointer)

    return collect


_NUMBERS = frozenset((int, float, bool))


def _number(argument: Any, key: list[object], values: list[Any]) -> None:
    """What its dtype cannot hold is not packed either."""
    kind = type(argument)
    if kind not in _NUMBERS:
        raise Unplanned
    key.append(kind)
    values.append(argument)


def _number_of_e4m3(argument: Any, key: list[object], values: list[Any]) -> None:
    """But for 464, half a step beyond 448: it is refused, and would be packed as that."""
    _number(argument, key, values)
    if abs(argument) == 464:
        raise Unplanned


_ITSELF = frozenset((int, bool, str, type(None)))
_double = struct.Struct("d").pack  # 0.0 and -0.0 are two constants, and a NaN is like itself


def _constant(argument: Any, key: list[object], values: list[Any]) -> None:
    kind = type(argument)
    if kind in _ITSELF:
        key += kind, argument
    else:
        key += kind, _double(argument) if kind is float else fingerprint.constant_key(argument)


def _optional(given: Collector) -> Collector:
    def collect(argument: Any, key: list[object], values: list[Any]) -> None:
        if argument is None:
            key.append(None)
        else:
            given(argument, key, values)

    return collect


def _struct(fields: dict[str, Collector]) -> Collector:
    def collect(argument: Any, key: list[object], values: list[Any]) -> None:
        key.append(type(argument))
        for field, of in fields.items():
            of(getattr(argument, field), key, values)

    return collect


def _unplanned(argument: Any, key: list[object], values: list[Any]) -> None:
    raise Unplanned
