"""Arrays of addresses in memory: kernels choose at run time among any number of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Pointer, Tensor, f32, i32
from cutelite.dispatch import ArgumentError
from cutelite.lang.annotations import pointer_annotation, tensor_annotation
from cutelite_rt.launcher import native
from tests.dispatch.alike import launched, reuses
from tests.dispatch.conftest import GpuArray
from tests.dispatch.test_launcher import in_a_context as in_a_context
from tests.dispatch.test_launcher import made, plain
from tests.rt.conftest import FakeCuda

N, M, K = cl.dims("N, M, K")
Which = Tensor[i32, (N,)]


def _gathered(ps: Tensor[Pointer[f32], (None,)], which: Which, out: Tensor[f32, (N,)]) -> None:
    i = cl.thread_idx.x
    if i < N:
        p = ps[which[i]]
        out[i] = p[i]
        p[i] = -1.0


def _rows(ts: Tensor[Tensor[f32, (M, K)], (N,)], out: Tensor[f32, (N, M, K)]) -> None:
    t = ts[:][cl.block_idx.x]
    for i in range(cl.thread_idx.x, M * K, cl.block_dim.x):
        out[cl.block_idx.x, i // K, i % K] = t[i // K, i % K]


def _by_pointer(ps: Pointer[Pointer[f32, cl.align(16)]], n: i32, out: Pointer[f32]) -> None:  # type: ignore[type-arg]
    i = cl.thread_idx.x
    if i < n:
        out[i] = ps[i].view(cl.make_layout(4)).load()[1]


def _arrays(count: int, *shape: int) -> list[Any]:
    return [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 100 * i for i in range(count)]


def test_they_are_simulated_and_checked() -> None:
    ps, out = _arrays(3, 8), np.zeros(8, np.float32)
    which = np.array([0, 2, 1, 1, 0, 2, 2, 0], np.int32)
    kernel = cl.kernel(_gathered)
    given = cl.pointers(ps)
    kernel[1, 32](given, which, out)
    np.testing.assert_array_equal(out, which * 100.0 + np.arange(8))
    for i, p in enumerate(ps):
        np.testing.assert_array_equal(p == -1.0, which == i)
    assert not kernel.check(1, 32, given, which, out).findings
    ts, whole = _arrays(4, 3, 5), np.zeros((4, 3, 5), np.float32)
    rows = cl.kernel(_rows)
    rows[4, 32](cl.pointers(ts), whole)
    np.testing.assert_array_equal(whole, np.stack(ts))
    first = np.zeros(3, np.float32)
    cl.kernel(_by_pointer)[1, 32](cl.pointers(_arrays(3, 4)), 3, first)
    np.testing.assert_array_equal(first, [1.0, 101.0, 201.0])


def test_what_the_simulator_refuses() -> None:
    ps, out = _arrays(2, 4), np.zeros(8, np.float32)
    kernel, which = cl.kernel(_gathered), np.zeros(8, np.int32)
    with pytest.raises(cl.SimError, match=r"ends? .* `ps\[0\]`"):  # which has four elements
        kernel[1, 32](cl.pointers(ps), which, out)
    with pytest.raises(cl.SimError, match="the index is 2, but the extent is ps_shape0"):
        kernel[1, 32](cl.pointers(ps), which + 2, out)
    with pytest.raises(cl.SimError, match="an access"):  # nothing says which array it is of
        kernel[1, 32](np.array([p.ctypes.data for p in ps]), which[:4], out[:4])


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (_arrays(2, 3, 6), r"argument `ts\[0\]` has extent 6, the second of \(3, 6\), but K is 5, from `out`"),
        ([np.zeros((3, 5), np.float16)] * 2, r"argument `ts\[0\]` has dtype f16, but its annotation says f32"),
        (
            [np.zeros((5, 3), np.float32).T] * 2,
            r"argument `ts\[0\]` has strides \(1, 3\) for its shape",
        ),
        (_arrays(2, 15), r"argument `ts\[0\]` has shape \(15,\), but Tensor\[f32, \(M, K\)\] has 2 modes"),
    ],
)
def test_what_lies_behind_is_checked(arrays: list[Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        cl.kernel(_rows)[2, 32](cl.pointers(arrays), np.zeros((2, 3, 5), np.float32))


def test_launched(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, by_python = made(_gathered), plain(_gathered)
    arrays = [on_gpu((8,)) for _ in range(3)]
    given, which, out = cl.pointers(arrays), on_gpu((8,), "i32"), on_gpu((8,))
    assert given.shape == (3,) and given.dtype == "i64" and given.pointees == tuple(arrays)
    for each in (kernel, by_python):
        with pytest.raises(ArgumentError, match="argument `ps` has dtype f32, but its annotation says i64"):
            each[1, 32](out, which, out)
    expected = launched(by_python, cuda, (1, 32), given, which, out)
    for _ in range(2):
        assert launched(kernel, cuda, (1, 32), given, which, out)[3] == expected[3]
    reuses(kernel, monkeypatch)
    for address in (on_gpu((5,), "i64"), given):  # without Python; any array of addresses
        got = launched(kernel, cuda, (1, 32), address, which, out)[3]
        assert got[:8] == address.pointer.to_bytes(8, "little")


def test_what_is_refused(on_gpu: GpuArray) -> None:
    with pytest.raises(ArgumentError, match=r"`arrays\[0\]` is on GPU 0, but `arrays\[1\]` is in host memory"):
        cl.pointers([on_gpu((8,)), np.zeros(8, np.float32)])

    with pytest.raises(ArgumentError, match="pointers\\(\\) takes a list or tuple of arrays, not 3"):
        cl.pointers(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"takes a list or tuple of arrays, not \{'a': "):
        cl.pointers({"a": np.zeros(3)})
    with pytest.raises(ArgumentError, match=r"pointers\(\): arrays\[1\] cannot be read: an int is not an array"):
        cl.pointers([np.zeros(3), 3])
    assert len(cl.pointers(np.zeros(8, np.float32) for _ in range(3)).pointees) == 3

    def untold(ps: Tensor[Tensor[f32, (M,)], (N,)]) -> None:
        ps[0][0] = 1.0

    with pytest.raises(ArgumentError, match="nothing tells M"):
        cl.kernel(untold)[1, 32](cl.pointers(_arrays(2, 3)))
    with pytest.raises(cl.CompileError, match="no argument determines None"):
        tensor_annotation((tensor_annotation((f32, (None,))), (N,)))
    assert repr(pointer_annotation(pointer_annotation(f32))) == "Pointer[Pointer[f32]]"


@pytest.mark.parametrize("host", [False, True])
def test_exported(host: bool, cuda: FakeCuda, on_gpu: GpuArray) -> None:
    bundle = cl.kernel(_gathered).export(None, block=32, cpus=native.MACHINE)
    kernel = rt.load_kernel(bundle.to_bytes(), host_code=host)
    which, out = on_gpu((8,), "i32"), on_gpu((8,))
    for _ in range(2):
        kernel[1](cl.pointers([out, out]), which, out)
    assert len(cuda.launches) + len(cuda.packed) >= 2
    with pytest.raises(ArgumentError, match="argument `ps` has dtype f32"):
        kernel[1](out, which, out)
    assert "ps" in rt.c_stub(bundle).header
