"""Objects of classes that are no arrays, which kernels take once an adapter is registered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32
from cutelite_rt.arrays import exchange, memory

N = cl.Dim("N")


class Column:
    """A third party's array."""

    def __init__(self, values: Any) -> None:
        self.values = values


class Series(Column):
    pass


@cl.kernel(block=32)
def twice(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)]) -> None:
    b[cl.thread_idx.x] = a[cl.thread_idx.x] * 2.0


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_ADAPTERS", {})
    rt.register_array(Column, lambda column: column.values)


def test_a_kernel_takes_them_and_their_subclasses(registered: None) -> None:
    a, b = Column(np.arange(32, dtype=np.float32)), Series(np.zeros(32, np.float32))
    for _ in range(3):
        b.values[:] = 0
        twice[1](a, b)
        np.testing.assert_array_equal(b.values, 2 * a.values)


def test_the_object_is_kept_alive_and_read_by_python(registered: None) -> None:
    column = Column(np.zeros(4, np.float32))
    view = rt.read(column)
    assert view.pointer == column.values.ctypes.data and column in view.owner  # type: ignore[operator]
    assert exchange.way_of(Series).how == exchange.BY_PYTHON


def test_what_is_wrong_with_the_array_is_said_of_the_argument(registered: None) -> None:
    good = Column(np.zeros(32, np.float32))
    with pytest.raises(rt.ArgumentError, match=r"`a` has dtype f64, but its annotation says f32"):
        twice[1](Column(np.zeros(32)), good)
    with pytest.raises(rt.ArgumentError, match="`b` cannot be read: the function registered for Column returned a str"):
        twice[1](good, Column("text"))


def test_an_adapter_that_returns_its_own_class_is_refused(registered: None) -> None:
    column = Column(np.zeros(32, np.float32))
    with pytest.raises(rt.ArgumentError, match="the function registered for Column must return an array"):
        twice[1](Column(column), column)


def test_adapters_that_return_each_others_classes(registered: None) -> None:
    class Table(Column):
        pass

    rt.register_array(Table, lambda table: Column(table.values))
    values = np.zeros(32, np.float32)
    twice[1](np.ones(32, np.float32), Table(values))
    assert (values == 2).all()
    rt.register_array(Column, lambda column: Table(column.values))
    with pytest.raises(rt.ArgumentError, match="registered for Table must return an array, not another Column"):
        twice[1](Column(values), values)


def test_their_addresses_are_taken(registered: None) -> None:
    @cl.kernel(block=1)
    def kernel(xs: Tensor[cl.Pointer[f32], (N,)]) -> None:
        for i in range(N):
            xs[i][1] = f32(i)

    columns = [Column(np.full(2, 7, np.float32)) for _ in range(3)]
    kernel[1](cl.pointers(columns))
    assert [column.values.tolist() for column in columns] == [[7, 0], [7, 1], [7, 2]]


def test_without_an_adapter_they_are_refused() -> None:
    with pytest.raises(rt.ArgumentError, match=r"`a` must be an array of torch, CuPy, JAX or NumPy"):
        twice[1](Column(np.zeros(32, np.float32)), np.zeros(32, np.float32))


def test_what_is_read_by_name_has_no_adapter(registered: None) -> None:
    with pytest.raises(TypeError, match=r"numpy\.ndarray are read as they are"):
        rt.register_array(np.ndarray, lambda array: array)
    with pytest.raises(TypeError, match="takes a class and a function"):
        rt.register_array(Column, None)  # type: ignore[arg-type]
