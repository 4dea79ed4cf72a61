"""Compiled launchers on a GPU, with tensors of torch."""

from __future__ import annotations

import ctypes
import tracemalloc
from typing import Any

import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, TmaTensor, bf16, config, f32, i32
from cutelite.dispatch import ArgumentError, Kernel, Launch
from cutelite_rt.arrays import torch_layout
from cutelite_rt.gpu import driver
from cutelite_rt.launcher import native
from tests.pieces import barriers
from tests.threads import at_once

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.sm(90)

M, N = cl.dims("M N")


def _add(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], c: Tensor[f32, (N,)], times: i32) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        for _ in range(times):
            c[i] = c[i] + a[i] * b[i]


def _strided(x: Tensor[f32, (N,), (None,)], y: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        y[i] = x[i]


def _tiles(a: TmaTensor[bf16, (M, N), (16, 64)], b: Tensor[bf16, (M, N)]) -> None:
    tile = cl.tma_shared(a)
    full = barriers(1)
    t = cl.thread_idx.x
    cl.syncthreads()
    row = cl.block_idx.x * 16
    if t == 0:
        full[0].arrive_expect_tx(a.tile_bytes)
        cl.tma_load(a, tile, at=(row, 0), barrier=full[0])
    full[0].wait(0)
    for i in range(t, 16 * 64, 128):
        if row + i // 64 < M and i % 64 < N:
            b[row + i // 64, i % 64] = tile[i // 64, i % 64]


class Ready(Kernel):
    """With its launcher from the beginning; `anew` counts launches that go to Python."""

    anew = 0

    def _launch_anew(self, *launch: Any) -> None:
        self.anew += 1
        super()._launch_anew(*launch)


def ready(function: Any, launch: Any, *args: Any) -> Ready:
    """A kernel that has launched these arguments before."""
    kernel = Ready(function, cl.kernel(function).given)
    kernel._launching.build(driver.get(), config.read())
    kernel[launch](*args)
    kernel.anew = 0
    return kernel


def test_where_torch_keeps_things_is_found() -> None:
    x = torch.ones(4, device="cuda")
    layout = torch_layout.find()
    assert layout is not None
    assert x._cdata == ctypes.c_uint64.from_address(id(x) + layout.impl).value
    others = (
        x[1:],
        x.view(2, 2).t(),
        x.half(),
        x.bool(),
        torch.nn.Parameter(x),
        torch.randn(2, 1, 3, 1, 2, device="cuda"),
    )
    assert all(torch_layout.agrees(layout, each) for each in (x, *others))
    assert not any(torch_layout.agrees(layout, each) for each in (x.cpu(), torch.view_as_complex(x.view(2, 2)).conj()))


def test_exported_by_machine_code() -> None:
    kernel = cl.kernel(block=128)(_add)
    bundle = kernel.export(None, cpus=native.MACHINE, grid=cl.ceil_div(N, 128))
    loaded = rt.load_kernel(bundle, host_code=True)
    assert loaded.host
    for n in (1000, 1000, 500, 4):
        a, b = (torch.randn(n, device="cuda") for _ in range(2))
        for launch in (loaded, loaded[8], loaded[8, 128], loaded[(8, 1), 128, torch.cuda.current_stream()]):
            c = torch.zeros(n, device="cuda")
            launch(a, b, c, 3)
            torch.testing.assert_close(c, 3 * a * b)


def test_tensors_and_their_stream() -> None:
    a, b = (torch.randn(1000, device="cuda") for _ in range(2))
    c = torch.zeros(1000, device="cuda")
    kernel = ready(_add, (8, 128), a, b, c, 1)
    for n in (1000, 1000, 500, 4):
        c.zero_()
        kernel[8, 128](a[:n], b[:n], c[:n], 3)
        torch.testing.assert_close(c[:n], 3 * a[:n] * b[:n])
        assert not c[n:].any()
    side = torch.cuda.Stream()
    slow, out = torch.zeros(1 << 26, device="cuda"), torch.zeros(1000, device="cuda")
    with torch.cuda.stream(side):
        for _ in range(20):
            slow.add_(1.0)
        kernel[8, 128](slow[:1000], slow[:1000], out, 1)  # after that, in the same stream
    side.synchronize()
    assert bool((out == 400).all())
    kernel[8, 128, side](a, b, out, 0)
    kernel[8, 128, side.cuda_stream](a, b, out, 0)
    torch.cuda.synchronize()
    assert kernel.anew <= 2, "for views at other alignments"


def test_parameters_and_views_of_torch() -> None:
    y = torch.zeros(64, device="cuda")
    x = torch.randn(64, 2, device="cuda")
    kernel = ready(_strided, (1, 64), x[:, 1], y)
    with torch.inference_mode():
        inferring = x[:, 1].clone()
    lazy = torch._lazy_clone(x[:, 1].contiguous())
    views = [x[:, 0], torch.view_as_complex(x).imag, x[:, 1].clone().requires_grad_(), torch.nn.Parameter(x[:, 1])]
    for view in (*views, inferring, lazy, x.view(2, 2, 2, 2, 2, 4)[:, 0, 0, 0, 0, 0].expand(2), x[:, 1].half().float()):
        for _ in range(2):
            y.zero_()
            kernel[1, 64](view, y[: len(view)])
            assert torch.equal(y[: len(view)], view.detach())
    assert kernel.anew <= 3, "for other alignments"
    with pytest.raises(ArgumentError, match="resolve_neg"):
        kernel[1, 64](torch.view_as_complex(x).conj().imag, y)


IN_A_BORDER = cl.Im2col(48, 16, lower=(-1, -1), upper=(-1, -1))


def _pixels(x: TmaTensor[bf16, (M, N, 7, 32), IN_A_BORDER], out: Tensor[bf16, (48, 16)], first: i32) -> None:
    tile, full = cl.tma_shared(x), barriers(1)
    if cl.thread_idx.x == 0:
        full[0].arrive_expect_tx(x.tile_bytes)
        cl.tma_im2col(x, tile, at=(first, -1, -1, 16), offsets=(1, 2), barrier=full[0])
    cl.syncthreads()
    full[0].wait(0)
    for i in range(cl.thread_idx.x, 48 * 16, 128):
        out[i // 16, i % 16] = tile[i // 16, i % 16]


def test_rows_of_pixels_by_launcher_program_and_export() -> None:
    def images(count: int, height: int) -> Any:
        return torch.randn(count, height, 7, 32, device="cuda").bfloat16()

    def check(launch: Any, x: Any, first: int) -> None:
        out = torch.full((48, 16), -1.0, device="cuda", dtype=torch.bfloat16)
        launch(x, out, first)
        seen = torch.nn.functional.pad(x.float(), (0, 0, 1, 1, 1, 1))[:, 1:, 2:][:, : x.shape[1], :7, 16:]
        want = torch.zeros(48, 16, device="cuda")
        pixels = seen.reshape(-1, 16)[first * x.shape[1] * 7 :][:48]
        want[: len(pixels)] = pixels
        assert torch.equal(out.float(), want)

    x, out = images(3, 5), torch.empty(48, 16, device="cuda", dtype=torch.bfloat16)
    kernel = ready(_pixels, (1, 128), x, out, 0)
    bundle = kernel.export(None, cpus=native.MACHINE, grid=1, block=128)
    exported, by_code = (rt.load_kernel(bundle, host_code=each) for each in (False, True))
    assert by_code.host and not exported.host

    @cl.program
    def step(x: Any, out: Any, first: int) -> None:
        kernel[1, 128](x, out, 0)
        kernel[1, 128](x, out, first)

    for shape in ((3, 5), (3, 5), (2, 9)):
        for launch in (kernel[1, 128], exported[1, 128], by_code[1, 128], step):
            for first in range(shape[0]):
                check(launch, images(*shape), first)
    assert kernel.anew <= 1


def test_one_specialisation_with_the_attributes_of_a_launch() -> None:
    """Events of launches are recorded; what the driver is told of priority, memory and domains it takes."""
    a, b = (torch.randn(1000, device="cuda") for _ in range(2))
    compiled = cl.kernel(_add).compile(a, b, a, 1, block=128)
    events = [torch.cuda.Event() for _ in range(2)]
    for event in events:
        event.record()
    for _ in range(40):  # by Python, and later by machine code
        c = torch.zeros(1000, device="cuda")
        compiled[8, 128](a, b, c, 2)
        torch.testing.assert_close(c, 2 * a * b)
    launch = Launch(8, 128, priority=-1, carveout=50, domain="remote", launched=events[0], triggered=events[1])
    for _ in range(40):
        c.zero_()
        compiled[launch](a, b, c, 3)
        for event in events:
            event.synchronize()
        torch.testing.assert_close(c, 3 * a * b)


def test_graphs_with_tensor_maps_and_clusters() -> None:
    a = torch.randn(64, 64, device="cuda").bfloat16()
    outs = [torch.zeros(64, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
    launch = Launch(4, 128, cluster=2)
    kernel = ready(_tiles, launch, a, outs[0])
    outs[0].zero_()
    sources = [a, torch.randn_like(a), a[16:48]]
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for source, out in zip(sources, outs, strict=True):
            kernel[launch](source, out[: len(source)])
    assert not outs[0].any()
    for _ in range(2):
        graph.replay()
    for source, out in zip(sources, outs, strict=True):
        assert torch.equal(out[: len(source)], source)
    assert not outs[2][32:].any()


def test_threads_and_memory() -> None:
    a, b, c = (torch.ones(256, device="cuda") for _ in range(3))
    kernel = ready(_add, (2, 128), a, b, c, 0)
    outs = [torch.zeros(256, device="cuda") for _ in range(8)]
    torch.cuda.synchronize()

    def work(out: Any) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(2000):
                kernel[2, 128](a, b, out, 1)
            torch.cuda.current_stream().synchronize()

    at_once(work, outs)
    assert all(bool((out == 2000).all()) for out in outs)
    assert kernel.anew <= 8, "once for a thread that has no context yet, perhaps in several at once"
    held = kernel[2, 128]

    def launches() -> None:
        for _ in range(200):
            held(a, b, c, 0)

    launches()
    tracemalloc.start()
    launches()
    before, _ = tracemalloc.get_traced_memory()
    launches()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after <= before + 100, "what the loop itself holds"


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_several_devices_in_turn() -> None:
    kernel = ready(_add, (2, 128), *(torch.zeros(256, device="cuda:0") for _ in range(3)), 1)
    for _ in range(3):
        for ordinal in range(2):
            a, b = (torch.full((256,), 2.0, device=f"cuda:{ordinal}") for _ in range(2))
            c = torch.zeros(256, device=f"cuda:{ordinal}")
            kernel[2, 128](a, b, c, 1)
            assert torch.cuda.current_device() == 0
            assert bool((c == 4).all())
    assert kernel.anew == 1


def _gathered(
    xs: list[Tensor[f32, (N,)]], ps: tuple[cl.Pointer[f32], ...], which: Tensor[i32, (N,)], out: Tensor[f32, (N,)]
) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        out[i] = xs[which[i]][i] * ps[which[i]][i]


def test_lists_of_tensors_and_of_addresses() -> None:
    xs, ys = ([torch.randn(1000, device="cuda") for _ in range(3)] for _ in range(2))
    which = torch.randint(0, 3, (1000,), device="cuda", dtype=torch.int32)
    out = torch.empty(1000, device="cuda")
    first = cl.kernel(_gathered)
    first[8, 128](xs, ys, which, out)  # arrays where an address is asked for, by Python
    chosen = which.long()[None]
    expected = torch.stack(xs).gather(0, chosen)[0] * torch.stack(ys).gather(0, chosen)[0]
    torch.testing.assert_close(out, expected)
    kernel = Ready(first.__cutelite_function__, first.given)
    addresses = tuple(y.data_ptr() for y in ys)
    kernel[8, 128](xs, addresses, which, out)
    kernel._launching.build(driver.get(), config.read())
    kernel[8, 128](xs, addresses, which, out)
    kernel.anew = 0
    for order in ((2, 0, 1), (1, 2, 0)):
        kernel[8, 128]([xs[i] for i in order], [addresses[i] for i in order], which, out)
        stacked = [torch.stack([each[i] for i in order]).gather(0, chosen)[0] for each in (xs, ys)]
        torch.testing.assert_close(out, stacked[0] * stacked[1])
    assert kernel.anew == 0


def _by_address(xs: Tensor[cl.Pointer[f32], (None,)], which: Tensor[i32, (N,)], out: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        x = xs[which[i]]
        out[i] = x[i]
        x[i] = -100.0  # which no element is


@pytest.mark.parametrize("made", [cl.pointers, lambda xs: torch.tensor([x.data_ptr() for x in xs], device="cuda")])
def test_arrays_of_addresses(made: Any) -> None:
    kernel = cl.kernel(_by_address)
    out, which = torch.empty(1000, device="cuda"), torch.arange(1000, device="cuda", dtype=torch.int32) % 7
    for _ in range(40):  # by Python, and later by the launcher
        xs = [torch.randn(1000, device="cuda") for _ in range(7)]
        before = torch.stack(xs)
        kernel[8, 128](made(xs), which, out)
        torch.testing.assert_close(out, before.gather(0, which.long()[None])[0])
        changed = torch.stack(xs) != before
        assert int(changed.sum()) == 1000 and bool(changed.gather(0, which.long()[None]).all())
