"""The runtime on a real GPU, with kernels in PTX that the driver compiles."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import cutelite_rt as rt
from cutelite_rt.arrays import stream
from cutelite_rt.dtype import DTYPES
from cutelite_rt.gpu import tensormap
from cutelite_rt.gpu.attributes import attributes_of
from cutelite_rt.gpu.driver import CudaError
from cutelite_rt.gpu.launch import Function, LaunchConfig
from cutelite_rt.gpu.params import KINDS, ParameterLayout
from cutelite_rt.launcher.asked import ExportedLaunch
from tests.processes import printed
from tests.rt.exchange import ByDlpack
from tests.threads import at_once

if TYPE_CHECKING:
    from tests.rt.conftest import Samples

HEAD = ".version 8.0\n.target {arch}\n.address_size 64\n"

# out[i] = a[i] * scale + i for i < n
SCALE = """
.visible .entry scale(.param .u64 out, .param .u64 a, .param .f32 s, .param .u32 n)
{
    .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<5>; .reg .b64 %d<6>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 ret;
    ld.param.u64 %d1, [out]; ld.param.u64 %d2, [a]; ld.param.f32 %f1, [s];
    mul.wide.u32 %d3, %r4, 4;
    add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d5]; cvt.rn.f32.u32 %f3, %r4;
    fma.rn.f32 %f4, %f2, %f1, %f3;
    st.global.f32 [%d4], %f4;
    ret;
}
"""

# out[block] = (rank in cluster, blocks of cluster, bytes of dynamic shared memory, its last word after a store)
SHAPE = """
.extern .shared .align 16 .b8 dynamic[];
.visible .entry shape(.param .u64 out)
{
    .reg .b32 %r<9>; .reg .b64 %d<4>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank;
    mov.u32 %r4, %dynamic_smem_size;
    mov.u32 %r5, dynamic; add.u32 %r6, %r5, %r4; sub.u32 %r6, %r6, 4;
    st.shared.u32 [%r6], %r1; ld.shared.u32 %r7, [%r6];
    ld.param.u64 %d1, [out]; mul.wide.u32 %d2, %r1, 16; add.u64 %d3, %d1, %d2;
    st.global.v4.u32 [%d3], {%r2, %r3, %r4, %r7};
    ret;
}
"""

# The tile of 4 x 8 floats at (y, x) of a tensor map, copied to out by one thread
TILE = """
.visible .entry tile(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 x, .param .u32 y)
{
    .reg .pred %p<3>; .reg .b32 %r<7>; .reg .b64 %d<5>;
    .shared .align 128 .b8 smem[128];
    .shared .align 8 .b64 bar;
    mov.b64 %d1, map; cvta.param.u64 %d2, %d1;
    ld.param.u32 %r1, [x]; ld.param.u32 %r2, [y];
    mbarrier.init.shared::cta.b64 [bar], 1;
    fence.proxy.async.shared::cta;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [smem], [%d2, {%r1, %r2}], [bar];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
    @!%p1 bra wait;
    ld.param.u64 %d3, [out];
    mov.u32 %r3, smem; mov.u32 %r4, 0;
copy:
    ld.shared.u32 %r5, [%r3]; st.global.u32 [%d3], %r5;
    add.u32 %r3, %r3, 4; add.u64 %d3, %d3, 4; add.u32 %r4, %r4, 1;
    setp.lt.u32 %p2, %r4, 32;
    @%p2 bra copy;
    ret;
}
"""

FAULT = """
.visible .entry fault()
{
    .reg .b64 %d<2>;
    mov.u64 %d1, 64;
    st.global.u64 [%d1], %d1;
    ret;
}
"""


def echo(kinds: Sequence[str]) -> str:
    """A kernel that writes its parameters, as it sees them, to the offsets that `ParameterLayout` gives them."""
    declared = ["out"]
    body = []
    for i, (kind, offset) in enumerate(zip(kinds, ParameterLayout(kinds).offsets, strict=True)):
        size = KINDS[kind][0]
        declared.append(f"p{i}[128]" if kind == "tensormap" else f"p{i}")
        declared[-1] = f".param {'.align 64 .b8' if kind == 'tensormap' else f'.b{8 * size}'} {declared[-1]}"
        width = min(size, 8)
        for part in range(0, size, width):
            body.append(f"ld.param.b{8 * width} %w{width}, [p{i}+{part}];")
            body.append(f"st.global.b{8 * width} [%d1+{offset + part}], %w{width};")
    declared[0] = ".param .u64 out"
    registers = ".reg .b64 %d1; .reg .b16 %w1; .reg .b16 %w2; .reg .b32 %w4; .reg .b64 %w8;"
    lines = "\n    ".join((registers, "ld.param.u64 %d1, [out];", *body, "ret;"))
    return f".visible .entry echo({', '.join(declared)})\n{{\n    {lines}\n}}\n"


ALL_KINDS = ("u8", "tensormap", *sorted(set(KINDS) - {"tensormap"}), "bool", "f64", "i16", "ptr")
PROGRAMS = {
    "scale": ("sm_80", SCALE),
    "shape": ("sm_90", SHAPE),
    "tile": ("sm_90", TILE),
    "fault": ("sm_80", FAULT),
    "echo": ("sm_80", echo(ALL_KINDS)),
}


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas on the path")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_kernels_below_assemble(name: str, tmp_path: Any) -> None:
    arch, text = PROGRAMS[name]
    (tmp_path / "k.ptx").write_text(HEAD.format(arch=arch) + text)
    command = ["ptxas", f"-arch={arch}", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# ---- from here on: on the GPU

gpu = pytest.mark.gpu


@pytest.fixture
def device() -> rt.Device:
    return rt.device(0)


def load(name: str, params: Sequence[str], device: rt.Device, **more: Any) -> Function:
    arch, text = PROGRAMS[name]
    ptx = HEAD.format(arch=arch) + text
    return rt.load(rt.Artifact(name, arch, ptx=ptx, params=tuple(params), **more), device)


SCALE_PARAMS = ("ptr", "ptr", "f32", "u32")
ONE = LaunchConfig((1, 1, 1), (1, 1, 1))


def scale(function: Function, out: int, a: int, n: int, stream_: int = 0, **more: Any) -> None:
    config = LaunchConfig((-(-n // 128), 1, 1), (128, 1, 1), stream=stream_, **more)
    rt.launch(function, config, function.layout.pack([out, a, 2.0, n]))


@gpu
def test_a_kernel_runs(device: rt.Device) -> None:
    array = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    a, out = rt.to_device(array), rt.empty((1000,), "f32")
    function = load("scale", SCALE_PARAMS, device)
    scale(function, out.pointer, a.pointer, 1000)
    np.testing.assert_allclose(out.numpy(), array * 2 + np.arange(1000), rtol=1e-6)
    usage = function.usage()
    assert 0 < usage.registers < 64
    assert usage.max_threads == 1024
    assert load("scale", SCALE_PARAMS, device) is function


@gpu
def test_a_kernel_sees_its_parameters_as_they_were_packed(device: rt.Device, samples: Samples) -> None:
    kinds = ALL_KINDS
    layout = ParameterLayout(kinds)
    values = [samples[kind][0] for kind in kinds]
    out = rt.to_device(np.zeros(layout.size, np.uint8))
    function = load("echo", ("ptr", *kinds), device)
    rt.launch(function, ONE, function.layout.pack([out.pointer, *values]), sync=True)
    seen = out.numpy().tobytes()
    for kind, offset in zip(kinds, layout.offsets, strict=True):
        assert seen[offset : offset + KINDS[kind][0]] == samples[kind][1], kind


@gpu
@pytest.mark.sm(90)
@pytest.mark.parametrize(("cluster", "smem"), [(1, 4), (2, 48 * 1024), (4, 200_000), (8, 227 * 1024), (16, 1024)])
def test_clusters_and_shared_memory(device: rt.Device, cluster: int, smem: int) -> None:
    function = load("shape", ["ptr"], device)
    out = rt.to_device(np.zeros((32, 4), np.uint32))
    config = LaunchConfig((32, 1, 1), (64, 1, 1), (cluster, 1, 1), smem)
    rt.launch(function, config, function.layout.pack([out.pointer]), sync=True)
    blocks = np.arange(32)
    expected = np.stack([blocks % cluster, np.full(32, cluster), np.full(32, smem), blocks], 1)
    assert out.numpy().tolist() == expected.tolist()


@gpu
@pytest.mark.sm(90)
@pytest.mark.parametrize(("y", "x"), [(0, 0), (4, 16), (8, 20), (-2, -4), (100, 100)])
def test_a_tile_through_a_tensor_map(device: rt.Device, y: int, x: int) -> None:
    """Rows 100 apart, columns by 1: a wrong layout shows in the digits. Outside the tensor there are zeros."""
    rows, columns = 10, 24
    array = (100 * np.arange(rows)[:, None] + np.arange(columns) + 1).astype(np.float32)
    a, out = rt.to_device(array), rt.empty((4, 8), "f32")
    encoded = tensormap.encode(a.pointer, "f32", (rows, columns), (columns, 1), rt.Tiling((4, 8)))
    function = load("tile", ("tensormap", "ptr", "i32", "i32"), device)
    rt.launch(function, ONE, function.layout.pack([encoded, out.pointer, x, y]), sync=True)
    padded = np.zeros((300, 300), np.float32)
    padded[50 : 50 + rows, 50 : 50 + columns] = array
    assert out.numpy().tolist() == padded[50 + y : 54 + y, 50 + x : 58 + x].tolist()


@gpu
@pytest.mark.sm(90)
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("dtype", sorted(set(DTYPES) - {"bool"}))
def test_the_driver_takes_what_the_rules_allow(device: rt.Device, dtype: str, swizzle: str) -> None:
    element = DTYPES[dtype].bytes
    inner = {"none": 64, "32B": 32, "64B": 64, "128B": 128}[swizzle] // element
    a = rt.empty((1 << 20,), "u8")
    for shape, strides in (
        ((1024,), (1,)),
        ((8, 128), (128, 1)),
        ((8, 128), (0, 1)),
        ((2, 1, 3, 4, 128), (5000 * 16, 3, 700 * 16, 128, 1)),
    ):
        box = (*(2 for _ in shape[:-1]), inner)
        encoded = tensormap.encode(a.pointer, dtype, shape, strides, rt.Tiling(box, swizzle=swizzle))
        assert len(encoded) == 128
        assert any(encoded)


@gpu
@pytest.mark.parametrize(
    "flags",
    [
        {"cooperative": True},
        {"pdl": True},
        {"attributes": attributes_of(ExportedLaunch(priority=-1, carveout=50, domain="remote"))},
    ],
)
def test_launch_attributes(device: rt.Device, flags: dict[str, Any]) -> None:
    if "pdl" in flags and device.compute_capability < (9, 0):
        pytest.skip("programmatic dependent launch came with sm_90")
    a, out = rt.to_device(np.ones(256, np.float32)), rt.empty((256,), "f32")
    function = load("scale", SCALE_PARAMS, device)
    for _ in range(3):
        scale(function, out.pointer, a.pointer, 256, **flags)
    assert out.numpy().tolist() == [2.0 + i for i in range(256)]


# ---- errors as the driver makes them


@gpu
@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (LaunchConfig((0, 1, 1), (32, 1, 1)), "grid x is 0"),
        (LaunchConfig((1, 1, 1), (2048, 1, 1)), "block x is 2048"),
        (LaunchConfig((1, 1, 1), (512, 4, 1)), "a block has 2048 threads; this kernel takes 1024"),
        (LaunchConfig((1, 1, 1), (32, 1, 1), smem=300_000), "a block needs 300000 bytes of dynamic and 0 of static"),
        (LaunchConfig((1 << 20, 1, 1), (1024, 1, 1), cooperative=True), "a cooperative grid of 1048576 blocks"),
    ],
)
def test_a_launch_that_is_too_much(device: rt.Device, config: LaunchConfig, sentence: str) -> None:
    function = load("scale", SCALE_PARAMS, device)
    with pytest.raises(CudaError, match=sentence):
        rt.launch(function, config, function.layout.pack([0, 0, 1.0, 0]))


@gpu
@pytest.mark.sm(90)
def test_a_cluster_that_does_not_divide_the_grid(device: rt.Device) -> None:
    function = load("shape", ["ptr"], device)
    with pytest.raises(CudaError, match="grid x is 3, not a multiple of cluster x, 2"):
        rt.launch(function, LaunchConfig((3, 1, 1), (32, 1, 1), (2, 1, 1), 16), function.layout.pack([0]))


@gpu
def test_bad_ptx_is_explained_by_the_drivers_compiler(device: rt.Device) -> None:
    bad = HEAD.format(arch="sm_80") + ".visible .entry k() { frobnicate.u32; ret; }"
    with pytest.raises(CudaError, match=r"(?s)INVALID_PTX.*frobnicate"):
        rt.load(rt.Artifact("k", "sm_80", ptx=bad), device)


@gpu
def test_a_missing_kernel_and_a_bad_cubin(device: rt.Device) -> None:
    ptx = HEAD.format(arch="sm_80") + SCALE
    with pytest.raises(CudaError, match=r"NOT_FOUND \(500\) looking up `other` in its image"):
        rt.load(rt.Artifact("other", "sm_80", ptx=ptx), device)
    with pytest.raises(CudaError, match="loading `k`"):
        rt.load(rt.Artifact("k", device.arch, cubin=b"this is no cubin\0"), device)


@gpu
@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas on the path")
def test_a_cubin_of_this_gpu_runs_and_of_another_is_refused(device: rt.Device, tmp_path: Any) -> None:
    def cubin(arch: str) -> bytes:
        (tmp_path / "k.ptx").write_text(HEAD.format(arch="sm_80") + SCALE)
        output = tmp_path / f"{arch}.cubin"
        subprocess.run(["ptxas", f"-arch={arch}", str(tmp_path / "k.ptx"), "-o", str(output)], check=True)
        return bytes(output.read_bytes())

    function = rt.load(rt.Artifact("scale", device.arch, cubin(device.arch), params=SCALE_PARAMS), device)
    a, out = rt.to_device(np.zeros(4, np.float32)), rt.empty((4,), "f32")
    scale(function, out.pointer, a.pointer, 4)
    assert out.numpy().tolist() == [0, 1, 2, 3]
    other = "sm_80" if device.compute_capability[0] != 8 else "sm_90"
    with pytest.raises(CudaError, match=f"cubin is {other}, device 0 is {device.arch}"):
        rt.load(rt.Artifact("scale", other, cubin(other), params=SCALE_PARAMS), device)


@gpu
def test_a_fault_is_named_with_sync_and_not_blamed_on_others_without(device: rt.Device) -> None:
    """In a process of its own: the context is lost afterwards."""
    program = f"""
        import cutelite_rt as rt
        from cutelite_rt.gpu.launch import LaunchConfig
        device = rt.device(0)
        good, bad = (
            rt.load(rt.Artifact(name, "sm_80", ptx=text, params=params), device)
            for name, text, params in (
                ("scale", {HEAD.format(arch="sm_80") + SCALE!r}, {SCALE_PARAMS!r}),
                ("fault", {HEAD.format(arch="sm_80") + FAULT!r}, ()),
            )
        )
        one = LaunchConfig((1, 1, 1), (1, 1, 1))
        try:
            rt.launch(bad, one, bad.layout.pack([]), sync=True)
        except rt.CudaError as error:
            print(error)
        try:
            rt.launch(good, one, good.layout.pack([0, 0, 1.0, 0]))
        except rt.CudaError as error:
            print(error)
    """
    first, second = printed(program).splitlines()
    assert "(700) running `fault` with grid (1, 1, 1), block (1, 1, 1)" in first
    assert first.endswith("a kernel read or wrote memory outside its arrays")
    assert "launching `scale`" in second
    assert "an earlier kernel failed" in second


# ---- other libraries


@gpu
def test_torch_tensors(device: rt.Device) -> None:
    torch = pytest.importorskip("torch")
    for row in DTYPES.values():
        if row.numpy is None:
            continue
        tensor = torch.zeros((4, 6, 8), dtype=getattr(torch, row.numpy), device="cuda")[1:, ::2].permute(2, 0, 1)
        view = rt.read(tensor)
        assert view[:6] == (tensor.data_ptr(), (8, 3, 3), tensor.stride(), row.code, ("cuda", 0), tensor)
        assert rt.read(tensor.cpu()).device == ("cpu", 0)
        try:
            assert rt.read(ByDlpack(tensor), 0)[:5] == view[:5]
        except rt.UnreadableArray as problem:  # torch exports not every type in every version
            assert "cannot be exported through DLPack" in str(problem)
    for unreadable in (torch.zeros(3, dtype=torch.complex64), torch.zeros(3, device="meta")):
        with pytest.raises(rt.UnreadableArray):
            rt.read(unreadable)


@gpu
def test_torch_current_stream_and_launch(device: rt.Device) -> None:
    torch = pytest.importorskip("torch")
    a = torch.randn(5000, device="cuda")
    out = torch.empty_like(a)
    function = load("scale", SCALE_PARAMS, device)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        current = stream.current([rt.read(a)])
        assert current == side.cuda_stream == stream.handle(side)
        scale(function, out.data_ptr(), a.data_ptr(), 5000, current)
        doubled = out - torch.arange(5000, device="cuda")
    side.synchronize()
    torch.testing.assert_close(doubled, a * 2, rtol=1e-4, atol=1e-3)
    assert stream.current([rt.read(a)]) == torch.cuda.current_stream().cuda_stream
    assert function.context == rt.load(function.artifact, device).context  # torch's context is the one in use


@gpu
def test_a_graph_captures_launches(device: rt.Device) -> None:
    torch = pytest.importorskip("torch")
    a = torch.zeros(1000, device="cuda")
    out = torch.empty_like(a)
    function = load("scale", SCALE_PARAMS, device)
    config = LaunchConfig((8, 1, 1), (128, 1, 1))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        there = config._replace(stream=stream.current([rt.read(a)]))
        rt.launch(function, there, function.layout.pack([out.data_ptr(), a.data_ptr(), 2.0, 1000]), sync=True)
    for value in (1.0, 5.0):
        a.fill_(value)
        graph.replay()
        torch.testing.assert_close(out, 2 * value + torch.arange(1000.0, device="cuda"))


@gpu
def test_our_arrays_in_torch(device: rt.Device) -> None:
    torch = pytest.importorskip("torch")
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    ours = rt.to_device(array)
    tensor = torch.from_dlpack(ours)
    assert tensor.data_ptr() == ours.pointer
    del ours
    tensor.add_(1)
    assert tensor.cpu().numpy().tolist() == (array + 1).tolist()
    assert torch.as_tensor(rt.to_device(array), device="cuda").sum().item() == array.sum()
    assert torch.from_dlpack(rt.empty((3,), "bf16")).dtype == torch.bfloat16
    for _ in range(200):  # 200 x 1 GB would not fit if any were kept
        torch.from_dlpack(rt.empty((1 << 30,), "u8"))


@gpu
def test_cupy_arrays(device: rt.Device) -> None:
    cupy = pytest.importorskip("cupy")
    array = cupy.arange(24, dtype=cupy.float64).reshape(4, 6)[::2].T
    view = rt.read(array)
    assert view[:5] == (array.data.ptr, (6, 2), (1, 12), "f64", ("cuda", 0))
    with cupy.cuda.Stream() as side:
        assert stream.current([view]) == side.ptr == stream.handle(side)


@gpu
def test_jax_arrays(device: rt.Device) -> None:
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    array = jax.numpy.arange(24, dtype=jax.numpy.bfloat16).reshape(4, 6) + 1
    view = rt.read(array, 0)
    assert view[1:5] == ((4, 6), (6, 1), "bf16", ("cuda", 0))
    assert rt.from_device(array).astype(np.float32).ravel().tolist() == list(range(1, 25))


@gpu
def test_cuda_core_streams(device: rt.Device) -> None:
    core = pytest.importorskip("cuda.core")
    core_device = core.Device(0)
    core_device.set_current()
    side = core_device.create_stream()
    function = load("scale", SCALE_PARAMS, device)
    a, out = rt.to_device(np.zeros(64, np.float32)), rt.empty((64,), "f32")
    scale(function, out.pointer, a.pointer, 64, stream.handle(side))
    assert out.numpy(stream.handle(side)).tolist() == list(range(64))
    side.close()
    with pytest.raises(stream.ClosedStream):
        stream.handle(side)


# ---- threads, devices, time


@gpu
def test_many_threads_launch_at_once(device: rt.Device) -> None:
    a = rt.to_device(np.zeros(128, np.float32))
    function = load("scale", SCALE_PARAMS, device)
    outs = [rt.empty((128,), "f32") for _ in range(8)]

    def work(out: rt.DeviceArray) -> None:
        for i in range(2000):
            parameters = function.layout.pack([out.pointer, a.pointer, float(i), 128])
            rt.launch(function, LaunchConfig((1, 1, 1), (128, 1, 1)), parameters)

    at_once(work, outs)
    assert all(out.numpy().tolist() == list(range(128)) for out in outs)


@gpu
def test_several_devices(device: rt.Device) -> None:
    if rt.count() < 2:
        pytest.skip("one device")
    before = rt.device().ordinal
    for ordinal in reversed(range(rt.count())):
        there = rt.device(ordinal)
        a, out = rt.to_device(np.zeros(64, np.float32), there), rt.empty((64,), "f32", there)
        scale(load("scale", SCALE_PARAMS, there), out.pointer, a.pointer, 64)
        assert out.numpy().tolist() == list(range(64))
        assert rt.read(out).device == ("cuda", ordinal)
        assert rt.device().ordinal == before


@gpu
def test_an_array_interface_knows_its_device(device: rt.Device) -> None:
    ours = rt.empty((4, 4), "f32")

    class Other:
        __cuda_array_interface__ = ours.__cuda_array_interface__

    assert rt.read(Other())[:5] == rt.read(ours)[:5]


def test_struct_formats_are_little_endian_and_of_their_size() -> None:
    for kind, (size, alignment, packs_as) in KINDS.items():
        assert struct.calcsize("<" + packs_as) == size, kind
        assert alignment == min(size, 64)
