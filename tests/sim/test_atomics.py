"""Atomic operations give what a loop over the lanes gives, bit for bit."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutelite import sim
from cutelite.ir.types import SCALARS
from cutelite.sim import SimError
from cutelite.sim.atomics import atomic
from cutelite.sim.memory import Region, Space, memory_dtype
from tests.sim.kernels import kernel

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


def test_histogram() -> None:
    function = kernel(
        """
      %bin = tensor.load t=%a, coord=(%i)
      %p = tensor.ptr t=%h, coord=(%bin), align=4
      red p=%p, operation="add", a=%c1
      ret
        """,
        "%a: tensor<i32,gmem,512:1,4>, %h: tensor<i32,gmem,10:1,4>",
        block=128,
    )
    a = np.random.default_rng(1).integers(0, 10, 512).astype(np.int32)
    for seed in range(5):
        h = np.zeros(10, np.int32)
        sim.run(function, 4, [a, h], seed=seed)
        np.testing.assert_array_equal(h, np.bincount(a, minlength=10))


def test_in_shared_memory_and_old_values() -> None:
    """Every thread gets another ticket."""
    function = kernel("""
      %counter = smem.alloc type=tensor<i32,smem,1:1,4>
      %p = tensor.ptr t=%counter, coord=(%c0), align=4
      %is_first = cmp predicate="eq", a=%tid, b=%c0
      cond_br cond=%is_first, then=^init, other=^go
    ^init:
      tensor.store t=%counter, coord=(%c0), a=%c0
      br to=^go
    ^go:
      bar.sync
      %ticket = atom p=%p, operation="add", a=%c1
      tensor.store t=%out, coord=(%i), a=%ticket
      ret
    """)
    for seed in range(5):
        out = np.full(4096, -1, np.int32)
        sim.run(function, 2, [out], seed=seed, strict=True)
        assert sorted(out[:64].tolist()) == list(range(64)) == sorted(out[64:128].tolist())


def test_vector_of_halves() -> None:
    function = kernel(
        """
      %one = const value=1.0, type=f16
      %two = const value=2.0, type=f16
      %v = vec.make items=(%one, %two)
      %p = tensor.ptr t=%a, coord=(%c0), align=4
      red p=%p, operation="add", a=%v
      ret
        """,
        "%a: tensor<f16,gmem,2:1,4>",
    )
    a = np.zeros(2, np.float16)
    sim.run(function, 1, [a])
    assert a.tolist() == [64.0, 128.0]


def test_errors_name_the_thread() -> None:
    function = kernel(
        """
      %four = const value=4, type=i32
      %bytes = mul a=%tid, b=%four
      %p = tensor.ptr t=%a, coord=(%c0), align=4
      %q = ptr.add p=%p, bytes=%bytes, align=4
      red p=%q, operation="add", a=%c1
      ret
        """,
        "%a: tensor<i32,gmem,64:1,4>",
    )
    with pytest.raises(SimError) as caught:
        sim.run(function, 1, [np.zeros(40, np.int32)])
    assert caught.value.threads == ((40, 0, 0),)
    read_only = np.zeros(64, np.int32)
    read_only.flags.writeable = False
    with pytest.raises(SimError) as caught:
        sim.run(function, 1, [read_only])
    assert caught.value.code == "read-only"


def test_bf16_rounds_at_each_step() -> None:
    """256 + 1 = 256 in bf16: 8 bits of mantissa."""
    function = kernel(
        """
      %one = const value=1.0, type=bf16
      %p = tensor.ptr t=%a, coord=(%c0), align=2
      red p=%p, operation="add", a=%one
      ret
        """,
        "%a: tensor<bf16,gmem,1:1,2>",
        block=512,
    )
    a = np.zeros(1, ml_dtypes.bfloat16)
    sim.run(function, 1, [a])
    assert float(a[0]) == 256.0
