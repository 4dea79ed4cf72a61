"""Arrays over memory that others own."""

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cutelite_rt as rt
from tests.rt.conftest import FakeCuda


class Memory(SimpleNamespace):
    """As cuda.core's Buffer and CuPy's memory, of which a weak reference can be had."""


def test_memory_by_its_address(cuda: FakeCuda) -> None:
    own = rt.empty((6,), "f32", rt.device(1))
    view = rt.read(rt.over(own.pointer, (2, 2), "f32", offset=8))
    assert (view.pointer, view.shape, view.strides, view.dtype) == (own.pointer + 8, (2, 2), (2, 1), "f32")
    assert view.device == ("cuda", 1)  # as the driver says
    assert rt.over(own.pointer, (2,), "f32", rt.device(0)).device.ordinal == 0


@pytest.mark.parametrize("attribute", ["handle", "ptr"])
def test_buffers_are_kept_alive_and_not_freed(cuda: FakeCuda, attribute: str) -> None:
    own = rt.empty((64,), "u8")
    buffer = Memory(**{attribute: own.pointer, "size": 64})
    array, alive = rt.over(buffer, (16,), "f32"), weakref.ref(buffer)
    del buffer
    assert alive() is not None
    capsule = array.__dlpack__()
    del array
    gc.collect()
    assert alive() is not None  # a consumer has it
    del capsule
    gc.collect()
    assert alive() is None
    assert "cuMemFree" not in cuda.calls and own.pointer in cuda.memory


def test_another_dtype_over_an_array(cuda: FakeCuda) -> None:
    own = rt.empty((64,), "u8")
    array = rt.over(own, (4, 4), "f32")
    assert (array.pointer, array.owner) == (own.pointer, own)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda own: rt.over(own, (17,), "f32"), r"of f32 \(17,\) reaches 68 bytes, and the memory has 64"),
        (lambda own: rt.over(own, (16,), "f32", offset=4), "reaches 68 bytes"),
        (lambda own: rt.over(own, (1,), "tf32"), "'tf32' is not a dtype of arrays"),
        (lambda own: rt.over(np.zeros(4), (1,), "f32"), "this ndarray is in host memory"),
        (lambda own: rt.over("text", (1,), "f32"), "a str is not an array"),
    ],
)
def test_what_is_no_memory(cuda: FakeCuda, make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        make(rt.empty((64,), "u8"))


@pytest.mark.gpu
def test_buffers_of_cuda_core() -> None:
    core = pytest.importorskip("cuda.core")
    device = core.Device(0)
    device.set_current()
    stream = device.create_stream()
    buffer = device.allocate(4 * 1000, stream=stream)
    array = rt.over(buffer, (1000,), "f32")
    x = np.arange(1000, dtype=np.float32)
    source = rt.to_device(x)
    driver = array.device.driver
    driver.call("cuMemcpyHtoDAsync", array.pointer, x.ctypes.data, x.nbytes, int(stream.handle))
    np.testing.assert_array_equal(array.numpy(int(stream.handle)), source.numpy())
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(torch.from_dlpack(array).cpu().numpy(), x)
