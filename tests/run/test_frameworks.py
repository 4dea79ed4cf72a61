"""One kernel on the arrays of every library there is, on its GPU and its own stream."""

import importlib
from typing import Any, TypeVar

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, bf16, f16, f32

N = cl.dims("N")
T = TypeVar("T", f16, bf16, f32)


@cl.kernel
def double(x: Tensor[T, (N,)], out: Tensor[T, (N,)]) -> None:
    for i in range(cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x, N, cl.grid_dim.x * cl.block_dim.x):
        out[i] = x[i] * 2


def library(name: str) -> Any:
    return pytest.importorskip(name)


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_numpy_means_the_simulator(dtype: str) -> None:
    kind = np.dtype(getattr(importlib.import_module("ml_dtypes"), dtype) if dtype == "bfloat16" else dtype)
    x = np.arange(100).astype(kind)
    out = np.full(100, np.nan).astype(kind)
    double[2, 32](x, out)
    assert (out == x + x).all()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_torch(dtype: str) -> None:
    torch = library("torch")
    x = torch.arange(1000, device="cuda").to(getattr(torch, dtype))
    out = torch.full_like(x, float("nan"))
    double[4, 128](x, out)
    assert torch.equal(out, x * 2)


@pytest.mark.gpu
def test_torch_on_a_stream_of_its_own() -> None:
    """The launch waits for what its stream does before: a long chain of matrix products."""
    torch = library("torch")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        m = torch.eye(4096, device="cuda")
        for _ in range(20):
            m = m @ m
        x, out = m.reshape(-1).contiguous(), torch.empty(4096 * 4096, device="cuda")
        double[64, 256](x, out)
    stream.synchronize()
    assert float(out.sum()) == 2 * 4096


@pytest.mark.gpu
def test_torch_graph_capture() -> None:
    torch = library("torch")
    x, out = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    double[4, 128](x, out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        double[4, 128](x, out)
        double[4, 128](out, x)
    x.fill_(3.0)
    graph.replay()
    torch.cuda.synchronize()
    assert float(out[0]) == 6.0
    assert float(x[0]) == 12.0


@pytest.mark.gpu
def test_cupy() -> None:
    cupy = library("cupy")
    x = cupy.arange(1000, dtype=cupy.float32)
    out = cupy.full(1000, cupy.nan, dtype=cupy.float32)
    with cupy.cuda.Stream(non_blocking=True):
        double[4, 128](x, out)
    cupy.cuda.Device().synchronize()
    assert bool((out == x * 2).all())


@pytest.mark.gpu
def test_jax() -> None:
    jax = library("jax")
    x = jax.numpy.arange(1000, dtype=jax.numpy.bfloat16)
    out = library("torch").zeros(1000, dtype=library("torch").bfloat16, device="cuda")
    double[4, 128](x.block_until_ready(), out)
    assert np.array_equal(out.float().cpu().numpy(), np.asarray(x * 2, np.float32))


@pytest.mark.gpu
def test_arrays_of_our_own() -> None:
    import cutelite_rt as rt

    x, out = rt.to_device(np.arange(1000, dtype=np.float32)), rt.empty((1000,), "f32")
    double[4, 128](x, out)
    assert np.array_equal(out.numpy(), 2 * np.arange(1000))


@pytest.mark.gpu
def test_arrays_on_two_devices_are_refused() -> None:
    torch = library("torch")
    with pytest.raises(cl.ArgumentError, match="is on GPU 0, but `out` is in host memory"):
        double[4, 128](torch.ones(10, device="cuda"), torch.ones(10))


@pytest.mark.gpu
@pytest.mark.parametrize("assembler", ["ptxas", "nvjitlink", "driver"])
def test_each_assembler(assembler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutelite.toolchain import ToolchainError

    torch = library("torch")
    monkeypatch.setenv("CUTELITE_ASSEMBLER", assembler)
    monkeypatch.setenv("CUTELITE_CACHE", "0")
    x, out = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    try:
        double[4, 96](x, out)
    except ToolchainError as error:
        pytest.skip(str(error))
    assert torch.equal(out, x * 2)
