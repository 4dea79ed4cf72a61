"""Views of device arrays are those that NumPy makes."""

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutelite_rt as rt
from cutelite_rt.arrays import views
from tests.rt.conftest import FakeCuda

EXTENTS = st.lists(st.sampled_from([0, 1, 2, 3, 4, 6]), min_size=0, max_size=4)


def modes(array: np.ndarray[Any, Any], base: np.ndarray[Any, Any]) -> tuple[views.Modes, int]:
    """The modes of a NumPy view, strides of modes of fewer than two elements left out, and where it begins."""
    begin = (array.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // base.itemsize
    return plain((array.shape, tuple(step // base.itemsize for step in array.strides))), begin * bool(array.size)


def plain(found: views.Modes) -> views.Modes:
    shape, strides = found
    some = 0 not in shape
    return shape, tuple(step if some and extent > 1 else 0 for extent, step in zip(shape, strides, strict=True))


@st.composite
def arrays(draw: Any) -> np.ndarray[Any, Any]:
    shape = draw(EXTENTS)
    array = np.zeros(shape, np.int16)
    index = tuple(draw(st.slices(extent)) for extent in shape)
    return array[index].transpose(draw(st.permutations(range(len(shape))))) if shape else array


@given(arrays(), st.data())
def test_views_by_a_key(array: np.ndarray[Any, Any], data: Any) -> None:
    keys: list[Any] = []
    for extent in array.shape[: data.draw(st.integers(0, array.ndim))]:
        keys.append(data.draw(st.slices(extent) | st.integers(-extent, extent - 1) if extent else st.slices(0)))
    for each in data.draw(st.lists(st.none(), max_size=2)) + data.draw(st.lists(st.just(...), max_size=1)):
        keys.insert(data.draw(st.integers(0, len(keys))), each)
    behind = keys.index(...) if ... in keys else len(keys)
    keys = [*keys[:behind], *(key for key in keys[behind:] if not isinstance(key, int))]
    strides = tuple(step // 2 for step in array.strides)
    expected, begin = modes(array[(*keys, *[...] * (... not in keys))], array)
    found, first = views.indexed(array.shape, strides, tuple(keys))
    assert (plain(found), first * (0 not in found[0])) == (expected, begin)


@given(arrays(), st.data())
def test_views_of_another_shape(array: np.ndarray[Any, Any], data: Any) -> None:
    wanted: list[int] = []
    left = array.size
    while left > 1 and len(wanted) < 4:
        wanted.append(data.draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0])))
        left //= wanted[-1]
    wanted += [left] if left > 1 or not array.size else data.draw(st.lists(st.just(1), max_size=2))
    shape = list(wanted)
    if shape and array.size and data.draw(st.booleans()):
        shape[data.draw(st.integers(0, len(shape) - 1))] = -1
    found = views.reshaped(array.shape, tuple(step // 2 for step in array.strides), shape)
    expected = array.reshape(shape)
    if found is None:
        assert not np.may_share_memory(array, expected)
    else:
        assert plain(found) == modes(expected, array)[0]
        assert not array.size or np.may_share_memory(array, expected)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda x: x[2], IndexError, "out of range"),
        (lambda x: x[0, 0, 0], IndexError, "3 indices for the shape"),
        (lambda x: x[[0, 1]], TypeError, "integer"),
        (lambda x: x["a"], TypeError, "integer"),
        (lambda x: x.reshape(7), ValueError, r"shape \(2, 3\) has no shape \(7,\)"),
        (lambda x: x.reshape(-1, -1), ValueError, "has no shape"),
        (lambda x: x.reshape(-1, 4), ValueError, "has no shape"),
        (lambda x: x.T.reshape(6), ValueError, r"has strides \(1, 3\): no view of it has the shape \(6,\)"),
    ],
)
def test_what_makes_no_view(cuda: FakeCuda, make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make(rt.empty((2, 3), "f32"))


def test_views_share_memory_and_keep_it(cuda: FakeCuda) -> None:
    own = rt.empty((4, 6), "f32")
    view = own[1:, ::2].T
    assert rt.read(view)[:5] == (own.pointer + 24, (3, 3), (2, 6), "f32", ("cuda", 0))
    assert view.__cuda_array_interface__["strides"] == (8, 24)
    assert own.__cuda_array_interface__["strides"] is None
    assert own.reshape(3, -1).shape == own.reshape((3, 8)).shape == (3, 8)
    assert own.swapaxes(0, -1).strides == own.transpose(1, 0).strides == (1, 6)
    alive = weakref.ref(own)
    del own
    gc.collect()
    assert alive() is not None and "cuMemFree" not in cuda.calls
    del view
    gc.collect()
    assert alive() is None and cuda.calls.count("cuMemFree") == 1


def test_numbers_and_arrays_are_written(cuda: FakeCuda) -> None:
    own = rt.zeros((3, 4), "f32")
    own[1:] = 2
    own[0] = np.arange(4)
    own[2, :2] = rt.to_device(np.array([7.0, 8.0]))
    expected = np.array([[0, 1, 2, 3], [2, 2, 2, 2], [7, 8, 2, 2]], np.float32)
    assert (own.numpy() == expected).all()
    with pytest.raises(ValueError, match="not row-major without gaps"):
        own[:, 0] = 1


def test_zeros_are_written_before_any_stream_reads_them(cuda: FakeCuda) -> None:
    made = rt.zeros((3, 5), "i32")
    assert ctypes.string_at(made.pointer, 60) == bytes(60)
    assert cuda.calls.index("cuStreamSynchronize") > cuda.calls.index("cuMemsetD8Async")
    assert rt.zeros((0,), "i32").pointer == 0
