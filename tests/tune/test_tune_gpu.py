"""Tuning on a real GPU: with arrays of our own and of torch, in place, and within graphs."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import autotune
from tests.tune import kernels

pytestmark = pytest.mark.gpu

N = 1 << 20


@cl.kernel(block=256)
def copy(x: cl.Tensor[cl.f32, (kernels.N,)], y: cl.Tensor[cl.f32, (kernels.N,)], each: cl.Constexpr[int]) -> None:
    """Copy `each` elements in every block: a few at a time, so in many small steps where `each` is large."""
    for i in range(cl.block_idx.x * each + cl.thread_idx.x, cl.block_idx.x * each + each, 256):
        if i < kernels.N:
            y[i] = x[i]


SLOW, FAST = cl.Config(each=N), cl.Config(each=2048)


def grid(config: cl.Config) -> int:
    return -(-N // int(config.each))


def test_one_block_is_slower_than_many() -> None:
    tuned = autotune([SLOW, FAST, cl.Config(each=2048, block=2048)])(copy)
    x, y = rt.to_device(np.arange(N, dtype=np.float32)), rt.to_device(np.zeros(N, np.float32))
    tuned[grid](x, y)
    np.testing.assert_array_equal(y.numpy(), x.numpy())
    (report,) = tuned.reports
    slow, fast, refused = report.rows
    assert report.winner == 1 and "2048 threads" in refused.note
    assert slow.seconds is not None and fast.seconds is not None and slow.seconds > 5 * fast.seconds
    assert 2e-6 < fast.seconds < 1e-3  # 8 MB at some TB/s, or a share of it: other processes may use the GPU too


def test_torch_in_place_and_in_its_own_stream() -> None:
    torch = pytest.importorskip("torch")

    @autotune([1, 2, 3], restore=("y",))
    def add_to(config: int, x: Any, y: Any) -> None:
        work = torch.empty_like(x).copy_(x)
        kernels.build(config)[-(-x.numel() // 64), 64](work, work)
        y.add_(work, alpha=1.0 / config)

    x = torch.arange(10_000, device="cuda", dtype=torch.float32)
    y = torch.ones_like(x)
    with torch.cuda.stream(torch.cuda.Stream()):
        add_to(x, y)
        torch.cuda.current_stream().synchronize()
    torch.testing.assert_close(y, x + 1)
    (report,) = add_to.reports
    taken = [row.seconds for row in report.rows if row.seconds is not None]
    assert len(taken) == 3 and min(taken) < 1e-3


def test_a_function_that_waits_is_timed_in_the_open() -> None:
    torch = pytest.importorskip("torch")

    @autotune([1, 2])
    def waits(config: int, x: Any, y: Any) -> float:
        kernels.build(config)[-(-x.numel() // 64), 64](x, y)
        return float(y[0].item())

    x = torch.full((10_000,), 3.0, device="cuda")
    assert waits(x, torch.empty_like(x)) in (3.0, 6.0)
    torch.cuda.synchronize()  # a capture that broke off has left nothing behind


def test_a_graph_that_is_captured_uses_what_is_known() -> None:
    torch = pytest.importorskip("torch")
    tuned = autotune([2, 3])(lambda config, x, y: kernels.build(config)[-(-x.numel() // 64), 64](x, y))
    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    by = tuned.config_for(x, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tuned(x, y)
    y.zero_()
    graph.replay()
    torch.testing.assert_close(y, by * x)
    other = torch.zeros(77, device="cuda")
    kernels.build(2)[2, 64](other, other)  # which loads it; that is not what is tested
    graph = torch.cuda.CUDAGraph()
    with pytest.warns(RuntimeWarning, match="captured into a graph before"), torch.cuda.graph(graph):
        tuned(other, other)
    assert len(tuned.reports) == 1


def test_copies_of_torch_have_strides_and_alignment() -> None:
    torch = pytest.importorskip("torch")
    from cutelite.tune import timing
    from cutelite.tune.sets import Sets

    stream = timing.timed_stream_on(0)
    base = torch.arange(4096, device="cuda", dtype=torch.bfloat16) % 251
    for array in (base[5:].as_strided((3, 50), (200, 3)), base.view(64, 64).T, base.to(torch.float8_e4m3fn)):
        with stream.device.active():
            sets = Sets((array,), {}, [array], stream)
            stream.wait()
        (copy,), _ = sets.sets[0]
        assert (copy.shape, copy.stride(), copy.dtype) == (array.shape, array.stride(), array.dtype)
        assert copy.data_ptr() % 256 == array.data_ptr() % 256 and copy.data_ptr() != array.data_ptr()
        assert torch.equal(copy.float(), array.float())
