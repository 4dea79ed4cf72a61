"""Atomic operations give what a loop over the lanes gives, bit for bit.

`tests/ops/test_ops_together.py` has kernels that count, exchange and add vectors.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutelite as cl
from cutelite.ir.types import SCALARS
from cutelite.sim.atomics import atomic
from cutelite.sim.memory import Region, Space, memory_dtype
from tests.sim.kernels import failure, ints, traced

INTEGERS = ("add", "min", "max", "and", "or", "xor", "exch", "inc", "dec", "cas")
FLOATS = ("add", "min", "max", "exch", "cas")

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


def serial(memory: list[Any], at: list[int], action: str, operand: list[Any], compare: list[Any]) -> list[Any]:
    """The old values, one element after the other, in Python."""
    wrap = memory[0].dtype.type
    old = []
    for i, a, c in zip(at, operand, compare, strict=True):
        m = memory[i]
        old.append(m)
        new: Any
        match action:
            case "inc":
                new = 0 if m >= a else m + wrap(1)
            case "dec":
                new = a if m == 0 or m > a else m - wrap(1)
            case "cas":
                new = a if m == c else m
            case "exch":
                new = a
            case _:
                new = BINARY[action](m, a)
        memory[i] = wrap(new)
    return old


@pytest.mark.parametrize("name", ["i32", "u32", "u64", "f32", "f64", "f16", "bf16"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_as_a_loop(name: str, data: st.DataObject) -> None:
    elem = SCALARS[name]
    dtype = memory_dtype(elem)
    action = data.draw(st.sampled_from(FLOATS if elem.is_float else INTEGERS))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    count, places = data.draw(st.integers(1, 70)), data.draw(st.integers(1, 9))
    low = 0 if elem.kind == "uint" else -5
    numbers = rng.normal(size=200) if elem.is_float else rng.integers(low, 6, 200)
    memory, operand, compare = (
        part.astype(dtype) for part in np.split(numbers[: places + 2 * count], [places, places + count])
    )
    if action == "cas":
        operand, compare = operand, rng.choice(memory, count)
    at = rng.integers(0, places, count)
    with np.errstate(all="ignore"):
        held = list(memory)
        expected = serial(held, at.tolist(), action, list(operand), list(compare))
        bytes = np.zeros(places * dtype.itemsize, np.uint8)
        bytes[:] = memory.view(np.uint8)
        space = Space("gmem", [Region(0, bytes, {0: "m"})])
        old = atomic(space, at * dtype.itemsize, action, elem, operand, compare if action == "cas" else None, None)  # type: ignore[arg-type]
    assert old.tobytes() == np.array(expected, dtype).tobytes()
    assert bytes.tobytes() == np.array(held, dtype).tobytes()


def test_errors_name_the_thread() -> None:
    function = traced(lambda a: cl.red(a, cl.thread_idx.x, "add", 1), a=ints(64))
    assert failure(function, args=[np.zeros(40, np.int32)]).threads == ((40, 0, 0),)
    read_only = np.zeros(64, np.int32)
    read_only.flags.writeable = False
    assert failure(function, args=[read_only]).code == "read-only"
