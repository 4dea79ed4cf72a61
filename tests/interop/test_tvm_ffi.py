"""Live kernels as functions of TVM-FFI; on the CPU they are simulated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32

tvm_ffi: Any = pytest.importorskip("tvm_ffi")

from cutelite.interop.tvm_ffi import tvm_ffi_function  # noqa: E402  (behind the skip)

N = cl.dims("N")


@cl.kernel(block=32)
def add(a: Tensor[f32, (N,)], by: f32, b: Tensor[f32, (N,)], times: cl.Constexpr[int]) -> None:
    i = cl.block_idx.x * 32 + cl.thread_idx.x
    if i < N:
        b[i] = a[i] * times + by


def blocks(given: dict[str, Any]) -> Any:
    return cl.ceil_div(given["a"].shape[0], 32)


def test_tensors_on_the_cpu_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_SIM", "1")  # beside a GPU they would be a mistake
    a, b = np.arange(70, dtype=np.float32), np.zeros(70, np.float32)
    made = tvm_ffi_function(add, grid=blocks, name="cutelite.tests.add", times=2)
    assert isinstance(made, tvm_ffi.Function)
    for function in (made, tvm_ffi.get_global_func("cutelite.tests.add")):
        b[:] = 0
        assert function(tvm_ffi.from_dlpack(a), 1.5, tvm_ffi.from_dlpack(b)) is None
        np.testing.assert_array_equal(b, 2 * a + 1.5)


def test_what_is_wrong_is_told_in_the_launch_s_words() -> None:
    made = tvm_ffi_function(add, grid=1, times=2)
    a, b = (tvm_ffi.from_dlpack(np.zeros(n, np.float32)) for n in (8, 9))
    with pytest.raises(
        RuntimeError, match=r"argument `b` has extent 9 in mode 0, but N is 8|argument `b` has extent 9"
    ):
        made(a, 1.0, b)
    with pytest.raises(TypeError, match=r"add\(\) takes arguments for a, by, b, and 4 came"):
        made(a, 1.0, a, 3)
    with pytest.raises(TypeError, match=r"add\(\) has no parameter `time`; it has a, by, b, times"):
        tvm_ffi_function(add, grid=1, time=2)
    with pytest.raises(TypeError, match=r"tvm_ffi_function\(\) takes a kernel, not 3"):
        tvm_ffi_function(3, grid=1)  # type: ignore[arg-type]


@pytest.mark.gpu
def test_on_a_gpu_in_the_current_stream() -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.arange(70, dtype=torch.float32, device="cuda"), torch.zeros(70, device="cuda")
    with tvm_ffi.use_torch_stream(torch.cuda.stream(torch.cuda.Stream())):
        tvm_ffi_function(add, grid=blocks, times=2)(a, 1.5, b)
    torch.cuda.synchronize()
    assert torch.equal(b, 2 * a + 1.5)


@cl.kernel(block=32)
def added(out: Tensor[f32, (N,)], *xs: Tensor[f32, (N,)], by: cl.Constexpr[int] = 1) -> None:
    total = f32(0)
    for x in xs:
        total += x[cl.thread_idx.x]
    out[cl.thread_idx.x] = total * by


def test_a_kernel_gathers_all_further_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_SIM", "1")
    out, x = np.zeros(32, np.float32), np.ones(32, np.float32)
    tensors = [tvm_ffi.from_dlpack(array) for array in (out, x, 2 * x)]
    fixed: dict[str, Any] = {"by": 3}
    for given, by in (({}, 1), (fixed, 3)):
        for count, total in ((1, 0), (2, 1), (3, 3)):
            tvm_ffi_function(added, grid=1, **given)(*tensors[:count])
            assert out.tolist() == [total * by] * 32
