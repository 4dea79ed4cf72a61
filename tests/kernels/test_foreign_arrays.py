"""Arrays on a GPU that are neither torch's nor CuPy's: results, parts and flags of a call are on the GPU as well."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite.kernels import arrays
from cutelite.kernels.arguments import ArrayError, contiguous
from cutelite.kernels.attention import decode
from cutelite.kernels.gemm import Config, gemm
from cutelite.kernels.rows import norm, softmax
from tests.rt.conftest import FakeCuda, cuda
from tests.rt.exchange import ByDlpack

__all__ = ["cuda"]  # a fixture


class ByInterface:
    """An array as Numba has them: NumPy's attributes, and the CUDA array interface."""

    def __init__(self, own: rt.DeviceArray) -> None:
        self.own, self.shape, self.dtype = own, own.shape, np.dtype({"f32": "f4", "f16": "f2"}[own.dtype])
        self.ndim, self.__cuda_array_interface__ = own.ndim, own.__cuda_array_interface__

    def reshape(self, *shape: Any) -> ByInterface:
        return ByInterface(self.own.reshape(*shape))

    def swapaxes(self, one: int, other: int) -> ByInterface:
        return ByInterface(self.own.swapaxes(one, other))

    def __getitem__(self, key: Any) -> ByInterface:
        return ByInterface(self.own[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotImplementedError

    @property
    def T(self) -> ByInterface:
        return ByInterface(self.own.T)


@pytest.mark.parametrize("kind", [lambda x: x, ByInterface, ByDlpack])
def test_new_arrays_are_where_the_given_one_is(cuda: FakeCuda, kind: Any) -> None:
    like = kind(rt.empty((4, 8), "f32", rt.device(1)))
    made = [arrays.empty(like, (3, 5)), arrays.empty(like, (2,), "bf16"), arrays.counter(like), arrays.flags(like, 5)]
    assert [(x.shape, x.dtype) for x in made] == [((3, 5), "f32"), ((2,), "bf16"), ((1,), "i32"), ((8,), "i32")]
    assert {rt.read(x).device for x in made} == {("cuda", 1)}
    assert [ctypes.string_at(x.pointer, x.nbytes) for x in made[2:]] == [bytes(4), bytes(32)]
    assert arrays.counter(like).pointer != made[2].pointer  # no two launches share them: their streams may differ
    row = arrays.row_apart(kind(rt.empty((1, 8), "f32")), 24)
    assert (rt.read(row).shape, rt.read(row).strides) == ((1, 8), (24, 1))


def test_new_arrays_of_others_in_host_memory_are_numpys() -> None:
    like = ByDlpack(np.zeros(3, np.float32))
    assert isinstance(arrays.flags(like, 2), np.ndarray) and isinstance(arrays.counter(like), np.ndarray)


def test_a_row_major_copy_is_the_callers(cuda: FakeCuda) -> None:
    own = rt.empty((4, 8), "f32")
    assert contiguous(own) is own
    with pytest.raises(ArrayError, match=r"strides \(1, 8\): pass a row-major copy, which a DeviceArray does not"):
        contiguous(own.T)


@pytest.mark.sm(90)
@pytest.mark.parametrize("kind", [lambda x: x, ByInterface])
def test_calls_on_a_gpu(kind: Any) -> None:
    """With results, parts, flags and counters of their own; twice, for the second finds what the first left."""
    rng = np.random.default_rng(3)

    def made(*shape: int, dtype: Any = np.float16) -> tuple[Any, Any]:
        x = rng.standard_normal(shape).astype(dtype)
        return x.astype(np.float64), kind(cl.to_device(x))

    def close(found: Any, exact: Any) -> None:
        assert isinstance(found, rt.DeviceArray)
        np.testing.assert_allclose(found.numpy().astype(np.float64), exact, atol=2e-2 * np.abs(exact).max())

    x, on_gpu = made(300, 8192, dtype=np.float32)
    powers = np.exp(x - x.max(1, keepdims=True))
    (a, left), (b, right), (w, weight) = made(136, 1096), made(1096, 200), made(8192, dtype=np.float32)
    (v, vector), (fw, few_weight), (q, queries) = made(3, 1024), made(64, 1024), made(1, 1, 8, 64)
    (k, keys), (values, of_values) = made(1, 4096, 2, 64), made(1, 4096, 2, 64)
    scores = np.einsum("hd,khd->hk", q[0, 0], np.repeat(k[0], 4, 1)) / 8
    weights = np.exp(scores - scores.max(1, keepdims=True))
    attended = np.einsum("hk,khd->hd", weights / weights.sum(1, keepdims=True), np.repeat(values[0], 4, 1))
    shared = Config((64, 64), True, (1, 1), stages=3, buffers=1, stream=1)
    for _ in range(2):
        close(softmax.softmax(on_gpu), powers / powers.sum(1, keepdims=True))
        close(norm.rms_norm(on_gpu, weight).y, x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * w)
        close(gemm(left, right), a @ b)
        close(gemm(left, right, config=shared), a @ b)
        close(gemm(vector, few_weight.T), v @ fw.T)
        close(decode(queries, keys, of_values), attended[None, None])
