"""Straight-line code of one thread, executed in NumPy: thread ops without memory and a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.ir.builder import Builder
from cutelite.ir.contract import np, numpy_dtype
from cutelite.ir.function import Block, Function, Value
from cutelite.ir.op import Op
from cutelite.ir.types import Type, elem_of
from cutelite.lang import values as values  # the proxies of `wrap`
from cutelite.lang.emit import wrap
from cutelite.target import Target


class Arrays:
    """As much of `ir.simulation.Lanes` as such ops need."""

    def __init__(self, values: dict[int, Any], count: int) -> None:
        self.values = values
        self.mask = np.ones(count, bool)
        self.op: Op

    def get(self, value: Value) -> Any:
        return self.values[id(value)]

    def define(self, *results: Any) -> None:
        for value, result in zip(self.op.results, results, strict=True):
            array = np.asarray(result)
            assert array.dtype == numpy_dtype(elem_of(value.type)), (self.op.name, array.dtype, value.type)
            self.values[id(value)] = array

    def fault(self, where: Any, message: str, code: str = "", help: str = "") -> None:
        if where.any():
            raise AssertionError(message)


class Straight:
    """The code that `body` emits, called with run-time values of these types; it is called with an array for each."""

    def __init__(self, body: Callable[..., Any], types: tuple[Type, ...], target: Target | None = None) -> None:
        self.function = Function("straight", [Block(tuple(Value(t) for t in types))], {}, {})
        with Builder(self.function, target=target).active():
            self.results = body(*map(wrap, self.function.params))

    def __call__(self, *arrays: Any) -> Any:
        lanes = Arrays({id(v): a for v, a in zip(self.function.params, arrays, strict=True)}, len(arrays[0]))
        with np.errstate(all="ignore"):
            for op in self.function.ops():
                lanes.op = op
                op.simulate(lanes)
        if isinstance(self.results, tuple):
            return tuple(lanes.get(r.value) for r in self.results)
        return lanes.get(self.results.value)


def evaluate(body: Callable[..., Any], types: tuple[Type, ...], *arrays: Any, target: Target | None = None) -> Any:
    """Return the results of `body`, called with run-time values of these types, for each row of the arrays."""
    return Straight(body, types, target)(*arrays)
