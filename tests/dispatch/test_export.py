"""Exported kernels: launched like live ones, refused like live ones, and with no compiler there at all."""

from __future__ import annotations

import copy
import os
import pickle
import random
import re
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Constexpr, Tensor, f16, f32
from cutelite.layout import Layout
from cutelite_rt.gpu.params import KINDS
from tests.dispatch import kernels
from tests.dispatch.alike import our_frames
from tests.dispatch.conftest import GpuArray
from tests.processes import printed
from tests.rt.conftest import FakeCuda
from tests.threads import at_once

M, N, K = cl.dims("M N K")
D = cl.Dim("D", divisible_by=8, max=64)


@dataclass(frozen=True)
class Scales:
    left: cl.f32
    right: cl.f16 = 1.0  # type: ignore[assignment]


@cl.kernel(block=32)
def everything(
    x: Tensor[f32, (M, D)],
    y: Tensor[f16, (D, 2 * M), "col"],  # noqa: UP037, F821
    z: Tensor[f32, (None, 4), (N, 1), cl.align(4)],
    tiles: Tensor[cl.i32, Layout((4, (2, 2)), (4, (1, 2)))],
    scales: Scales,
    n: cl.u8,
    flag: bool,
    bias: Tensor[f32, (D,)] | None,
    factor: Constexpr[int] = 3,
    e: cl.e4m3 = 1.0,  # type: ignore[assignment]
) -> None:
    if flag and n > 3:
        x[0, 0] = scales.left * factor + z[0, 0] + y[0, 0].to(f32)


def arguments(on_gpu: GpuArray, **other: Any) -> dict[str, Any]:
    """Arguments that fit `everything`, but for `other`."""
    fitting: dict[str, Any] = {
        "x": on_gpu((5, 16)),
        "y": Column(on_gpu((10, 16), "f16")),
        "z": on_gpu((7, 4)),
        "tiles": on_gpu((16,), "i32"),
        "scales": Scales(2.0, 0.5),  # type: ignore[arg-type]
        "n": 200,
        "flag": True,
        "bias": None,
    }
    return fitting | other


class Column:
    """A row-major array read as the column-major one that it transposes to, through DLPack."""

    def __init__(self, array: rt.DeviceArray, shift: int = 0) -> None:
        self.array, self.shift = array, shift  # bytes that it starts late by

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, max_version: Any = None, **named: Any) -> object:
        from cutelite_rt.arrays import dlpack
        from cutelite_rt.dtype import DTYPES

        a, versioned = self.array, max_version is not None
        kind = DTYPES[a.dtype].dlpack
        assert kind is not None
        where = self.__dlpack_device__()
        facts = dlpack.Facts(a.pointer + self.shift, a.shape[::-1], a.strides[::-1], kind, where)
        return dlpack.export(facts, a, versioned)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exported") / "everything.cutelite"
    everything.export(path, bias=None, arch="sm_90a")
    return path


def said(run: Any) -> tuple[type, str]:
    """The error of a call, whose traceback has no frames of ours."""
    with pytest.raises((TypeError, ValueError)) as caught:
        run()
    assert not our_frames(caught.value)
    return caught.type, str(caught.value)


def packed(cuda: FakeCuda, function: rt.Function) -> bytes:
    """The parameters of the last launch."""
    import ctypes

    layout = function.layout
    pointers = (ctypes.c_void_p * len(layout.offsets)).from_address(cuda.launches[-1][2])
    return b"".join(
        ctypes.string_at(pointer or 0, KINDS[kind][0]) for pointer, kind in zip(pointers, layout.kinds, strict=True)
    )


WRONG: list[dict[str, Any]] = [
    {"x": "five"},
    {"x": None},
    {"x": ((5, 16), "f16")},
    {"x": ((5, 16, 1), "f32")},
    {"x": ((5, 20), "f32")},
    {"x": ((5, 72), "f32")},
    {"x": ((6, 16), "f32")},
    {"z": ((7, 5), "f32")},
    {"y": ((10, 16), "f16")},
    {"tiles": ((12,), "i32")},
    {"scales": 3},
    {"scales": Scales("two", 0.5)},  # type: ignore[arg-type]
    {"scales": Scales(2.0, 70000.0)},  # type: ignore[arg-type]
    {"scales": Scales(1e39, 0.5)},  # type: ignore[arg-type]
    {"n": -1},
    {"n": 256},
    {"n": 2.0},
    {"n": np.float32(2)},
    {"flag": 1},
    {"e": 480.0},
    {"e": float("inf")},
    {"e": 10**400},
    {"unknown": 1},
    {"flag": None},
]


@pytest.mark.parametrize("other", WRONG, ids=str)
def test_what_a_live_kernel_refuses_an_exported_one_does_in_the_same_words(
    cuda: FakeCuda, on_gpu: GpuArray, exported: Path, other: dict[str, Any]
) -> None:
    made = {k: on_gpu(*v) if isinstance(v, tuple) and not isinstance(v, Scales) else v for k, v in other.items()}
    given = arguments(on_gpu, **made)
    live = said(lambda: everything[1, 32](**given))
    assert said(lambda: rt.load_kernel(exported)[1, 32](**given)) == live
    assert not cuda.launches


def test_an_address_that_is_no_multiple(cuda: FakeCuda, on_gpu: GpuArray, exported: Path) -> None:
    given = arguments(on_gpu, y=Column(on_gpu((10, 16), "f16"), 2))
    with pytest.raises(rt.ArgumentError, match=r"`y` is at 0x\w+2, but must be at a multiple of 16 bytes"):
        rt.load_kernel(exported)[1, 32](**given)
    odd = arguments(on_gpu, y=Column(on_gpu((10, 16), "f16"), 1))
    everything[1, 32](**given)  # which is another specialisation of a live kernel
    assert "must be at a multiple of 2 bytes" in said(lambda: everything[1, 32](**odd))[1]


@pytest.mark.parametrize("left_out", ["x", "n", "scales"])
def test_missing_and_surplus_arguments(cuda: FakeCuda, on_gpu: GpuArray, exported: Path, left_out: str) -> None:
    loaded = rt.load_kernel(exported)
    given = arguments(on_gpu)
    del given[left_out]
    assert said(lambda: loaded[1, 32](**given)) == said(lambda: everything[1, 32](**given))
    assert said(lambda: loaded[1, 32](1, **given)) == said(lambda: everything[1, 32](1, **given))
    assert said(lambda: loaded[1, 32](*[None] * 11)) == said(lambda: everything[1, 32](*[None] * 11))


@pytest.mark.parametrize(
    "key",
    [-1, (1, 32, object()), (1, 32, -3), (1, 32, None, -1), (1, 32, None, 1 << 20), ((1, 2, 3, 4), 32), (1.5, 32)],
)
def test_launches_that_cannot_be(cuda: FakeCuda, on_gpu: GpuArray, exported: Path, key: Any) -> None:
    loaded, given = rt.load_kernel(exported), arguments(on_gpu)
    live = key if isinstance(key, tuple) else (key, 32)
    assert said(lambda: loaded[key](**given)) == said(lambda: everything[live](**given))


def test_the_same_bytes_reach_the_kernel(cuda: FakeCuda, on_gpu: GpuArray, exported: Path) -> None:
    given = arguments(on_gpu)
    loaded = rt.load_kernel(exported)
    loaded[(3, 2), 32, 0x7700, 512](**given)
    config, _, _ = cuda.launches[-1]
    assert (config.gridDimX, config.gridDimY, config.blockDimX, config.hStream) == (3, 2, 32, 0x7700)
    (function,) = loaded._functions._functions.values()
    assert config.sharedMemBytes == 512 and function.artifact.arch == "sm_90a"
    mine = packed(cuda, function)
    bound = everything.signature.bind((), given)
    values = [value.pointer if isinstance(value, rt.ArrayView) else value for value in bound.values]
    layout = rt.ParameterLayout(everything.compile(bias=None).artifact.params)
    whole = layout.pack(values).data()
    sizes = [KINDS[kind][0] for kind in layout.kinds]
    assert mine == b"".join(whole[at : at + size] for at, size in zip(layout.offsets, sizes, strict=True))


def test_a_grid_of_nothing_launches_nothing(cuda: FakeCuda, exported: Path) -> None:
    rt.load_kernel(exported)[0, 32]("no", "arguments")
    assert not cuda.launches


def test_constants_are_compiled_in(cuda: FakeCuda, on_gpu: GpuArray, exported: Path) -> None:
    loaded = rt.load_kernel(exported)
    loaded[1, 32](**arguments(on_gpu), factor=3)
    for factor in (4, 3.0, True):
        with pytest.raises(rt.ArgumentError, match=rf"`factor` is compiled in as 3, and {factor} was given"):
            loaded[1, 32](**arguments(on_gpu), factor=factor)
    with pytest.raises(rt.ArgumentError, match="`bias` was None when the kernel was exported"):
        loaded[1, 32](**arguments(on_gpu, bias=on_gpu((16,))))


def test_a_block_of_another_shape(cuda: FakeCuda, on_gpu: GpuArray, exported: Path) -> None:
    with pytest.raises(
        rt.LaunchError, match=r"everything: the kernel was exported for a block of \(32, 1, 1\), not of 64"
    ):
        rt.load_kernel(exported)[1, 64](**arguments(on_gpu))


def test_arrays_in_different_places(cuda: FakeCuda, on_gpu: GpuArray, exported: Path) -> None:
    given = arguments(on_gpu, z=on_gpu((7, 4), "f32", 1))
    live = said(lambda: everything[1, 32](**given))
    assert said(lambda: rt.load_kernel(exported)[1, 32](**given)) == live
    add = rt.load_kernel(kernels.add.export(None, block=64))
    with pytest.raises(rt.ArgumentError, match="`a` is in host memory, and an exported kernel runs on GPUs alone"):
        add[1](*(np.zeros(4, np.float32) for _ in range(3)))


def test_a_grid_can_be_exported_too(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    loaded = rt.load_kernel(kernels.add.export(None, block=64, grid=(cl.ceil_div(kernels.N, 64), 2)))
    loaded(*(on_gpu((1000,)) for _ in range(3)))
    config = cuda.launches[-1][0]
    assert (config.gridDimX, config.gridDimY, config.gridDimZ) == (16, 2, 1)
    with pytest.raises(rt.LaunchError, match="add: no grid is given, and the kernel was exported without one"):
        rt.load_kernel(kernels.add.export(None, block=64))(*(on_gpu((1000,)) for _ in range(3)))
    with pytest.raises(rt.ArgumentError, match="the grid to export takes ints and expressions over dims, not K, which"):
        kernels.add.export(None, block=64, grid=K)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"grid": -1}, "the grid to export has -1, but 0 is the least"),
        ({"grid": (1, 2, 3, 4)}, r"the grid to export is \(1, 2, 3, 4\), but has one to three extents"),
        ({"arch": []}, "an export has at least one architecture"),
        ({"arch": 90}, "an export takes names of architectures, not 90"),
        ({"cpus": 3}, "an export takes names of CPUs, not 3"),
        ({"signatures": []}, "an export has at least one signature"),
    ],
)
def test_exports_that_cannot_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(rt.ArgumentError, match=rf"add\(\): {said}"):
        kernels.add.export(None, block=64, **given)


def test_copies_and_pickles_launch(cuda: FakeCuda, on_gpu: GpuArray, exported: Path) -> None:
    loaded = rt.load_kernel(bytearray(exported.read_bytes()), sync=True)
    for made in (copy.copy(loaded), copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert made.sync and made.bundle == loaded.bundle
    with pytest.raises(TypeError, match="not int"):
        rt.load_kernel(1)  # type: ignore[arg-type]  # the standard output
    os.fstat(1)


def test_dims_that_are_too_wide(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    big = namedtuple("big", "shape")  # only what is read of it
    view = rt.ArrayView(64, (1 << 31,), (1,), "f32", ("cuda", 0), None, "torch")
    monkeypatch.setattr("cutelite_rt.signature.bind.read", lambda array, stream=None: view)
    given = (big(1),) * 3
    narrow = rt.load_kernel(kernels.add.export(None, block=64))
    with pytest.raises(rt.ArgumentError, match="`a` makes N 2147483648, but the kernel was exported for 32-bit dims"):
        narrow[1](*given)
    loaded = rt.load_kernel(kernels.add.export(None, block=64, wide_dims=True))
    loaded[1](*given)
    assert len(cuda.launches) == 1
    view = view._replace(shape=((1 << 30) + 1,))
    with pytest.raises(rt.ArgumentError, match="`a` has 1073741825 elements, but the kernel was exported for 32-bit"):
        narrow[1](*given)
    view = view._replace(shape=(8,))
    with pytest.raises(rt.LaunchError, match=r"a grid of \(16777217, 1, 1\) in blocks of \(64, 1, 1\) has more"):
        narrow[(1 << 24) + 1](*given)
    loaded[(1 << 24) + 1](*given)
    assert len(cuda.launches) == 2


def test_the_signature_that_fits_is_taken(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    bundle = kernels.scale.export(None, signatures=[{"T": f32}, {"T": f16, "times": 2}])
    loaded = rt.load_kernel(bundle.to_bytes())
    loaded[1](on_gpu((8,)), 2.0)
    loaded[1](on_gpu((8,), "f16"), 2.0, 2)
    assert [launch[1] for launch in cuda.launches] == [0xF01, 0xF02]
    assert cuda.images == [variant.artifacts[0].cubin for variant in bundle.variants]
    with pytest.raises(rt.ArgumentError, match=r"scale.. was exported for 2 signatures, and none fits:\n.*\n.*f16"):
        loaded[1](on_gpu((8,), "bf16"), 2.0)


def test_a_method_is_exported_with_its_object(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    loaded = rt.load_kernel(kernels.Scaler(3).run.export(None))
    loaded[1](on_gpu((8,)))
    assert "self" not in repr(loaded) and len(cuda.launches) == 1


def test_tensor_maps_are_encoded(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    loaded = rt.load_kernel(kernels.copied.export(None))
    arrays = on_gpu((40, 128), "bf16"), on_gpu((40, 128), "bf16")
    loaded[1](*arrays)
    assert cuda.maps[-1]["dims"] == [128, 40] and cuda.maps[-1]["box"] == [64, 16]
    odd = on_gpu((40, 129), "bf16"), on_gpu((40, 129), "bf16")
    assert said(lambda: loaded[1](*odd)) == said(lambda: kernels.copied[1, 128](*odd))
    pixels = rt.load_kernel(rt.Bundle.from_bytes(kernels.pixels.export(None).to_bytes()))
    pixels[1](*[rt.DeviceArray((2, 3, 7, 32), "bf16", rt.device(0), 1 << 30)] * 2)
    assert cuda.maps[-1]["dims"] == [32, 7, 3, 2] and cuda.maps[-1]["box"][:2] == [16, 48]
    assert cuda.maps[-1]["corners"] == ([-2, -1], [-3, 0])


# ---- launches like an earlier one


def test_a_launch_like_an_earlier_one_is_checked_no_more(
    cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = kernels.scale.export(None, signatures=[{"T": f32}, {"T": f16, "times": 2}])
    loaded = rt.load_kernel(bundle)
    x, y, z = on_gpu((8,)), on_gpu((8,)), on_gpu((8,), "f16")
    loaded[1](x, 2.0)
    loaded[1](z, 2.0, 2)
    monkeypatch.setattr("cutelite_rt.signature.settled.Binder.fit", None)
    loaded[1](y, 3.0)
    (first, second) = loaded._functions._functions.values()
    assert packed(cuda, first) == y.pointer.to_bytes(8, "little") + np.float32(3).tobytes() + (8).to_bytes(4, "little")
    loaded[1](z, 0.5, 2)
    assert packed(cuda, second)[8:10] == np.float16(0.5).tobytes()
    loaded[rt.ExportedLaunch(1, stream=0x5000)](y, 3.0)
    assert cuda.launches[-1][0].hStream == 0x5000
    before = len(cuda.launches)
    others: list[tuple[Any, tuple[Any, ...]]] = [
        (2, (y, 3.0)),
        ((1, 32), (y, 3.0)),
        (True, (y, 3.0)),
        (1, (y, 3)),
        (1, (y, True)),
        (1, (y, 1e39)),
        (1, (y, 3.0, 1)),
        (1, (y, 3.0, 2)),
        (1, (z, 0.5, 1)),
        (1, (z, 0.5, 2.0)),
        (1, (z, 70000.0, 2)),
        (1, (z, 0.5)),
        (1, (on_gpu((9,)), 3.0)),
        (1, (on_gpu((8,), "f32", 1), 3.0)),
        (1, (None, 3.0)),
        (rt.ExportedLaunch(1, smem=16), (y, 3.0)),
        (rt.ExportedLaunch(1, pdl=True), (y, 3.0)),
    ]
    for key, args in others:  # which are other launches
        with pytest.raises((TypeError, rt.LaunchError), match=r"not callable|the grid takes whole numbers"):
            loaded[key](*args)
    assert len(cuda.launches) == before


def test_tensor_maps_of_launches_like_an_earlier_one(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    loaded = rt.load_kernel(kernels.copied.export(None))
    arrays = [on_gpu((40, 128), "bf16") for _ in range(3)]
    assert all(array.pointer % 16 == 0 for array in arrays)
    for a in arrays:
        loaded[1](a, arrays[0])
    assert [each["address"] for each in cuda.maps] == [a.pointer for a in arrays]
    (function,) = loaded._functions._functions.values()
    assert packed(cuda, function)[:128] == bytes([3]) * 128  # as the fake driver encodes the third


def test_from_many_threads(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    """Each of many launches is like some other thread's, and plans come and go."""
    loaded = rt.load_kernel(kernels.scale.export(None, T=f32))
    arrays = [on_gpu((n + 1,)) for n in range(8)]

    def work(seed: int) -> None:
        pick = random.Random(seed)
        for _ in range(300):
            loaded[pick.randrange(1, 400)](pick.choice(arrays), 2.0)

    with rt.device(0).active():  # a fake driver's stack of contexts is all threads' own
        at_once(work, range(8))
    assert len(loaded._plans) <= 1024


# ---- which code


def test_the_code_that_the_device_runs_best(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    bundle = kernels.add.export(None, block=64, arch=["sm_90a", "sm_80", "sm_90"])
    (variant,) = bundle.variants
    assert [(a.arch, bool(a.cubin), bool(a.ptx)) for a in variant.artifacts] == [
        ("sm_90a", True, False),
        ("sm_80", True, False),
        ("sm_90", True, False),
        ("sm_90", False, True),
    ]
    loaded = rt.load_kernel(bundle)
    for gpu in (0, 1):
        loaded[1](*(on_gpu((8,), "f32", gpu) for _ in range(3)))
    assert cuda.images == [variant.artifacts[0].cubin, variant.artifacts[1].cubin]  # an H200's and an A100's
    assert cuda.launch_contexts == [0x1000, 0x1001]


def test_ptx_for_gpus_that_came_later(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    bundle = kernels.add.export(None, block=64, arch="sm_80")
    rt.load_kernel(bundle)[1](*(on_gpu((8,)) for _ in range(3)))
    assert cuda.images[0] == bundle.variants[0].artifacts[1].ptx.encode() + b"\0"


def test_no_code_for_a_device(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    loaded = rt.load_kernel(kernels.add.export(None, block=64, arch=["sm_90a", "sm_100a"]))
    with pytest.raises(rt.CudaError, match="`add` was exported for sm_90a, sm_100a; device 1 is sm_80"):
        loaded[1](*(on_gpu((8,), "f32", 1) for _ in range(3)))


def test_dims_are_declared_once() -> None:
    @cl.kernel(block=32)
    def disagreeing(a: Tensor[f32, (cl.Dim("L"),)], b: Tensor[f32, (cl.Dim("L", divisible_by=8),)]) -> None: ...

    with pytest.raises(cl.ArgumentError, match="declare each dim once"):
        disagreeing.export(None)


# ---- the file


def test_a_file_comes_back_as_it_was(tmp_path: Path) -> None:
    bundle = kernels.copied.export(tmp_path / "copied.cutelite", arch=["sm_90a", "sm_100a"])
    assert rt.Bundle.open(tmp_path / "copied.cutelite") == bundle
    assert sorted(os.listdir(tmp_path)) == ["cache", "copied.cutelite"]


@pytest.mark.parametrize("damage", ["cut", "flipped", "other", "newer"])
def test_a_damaged_file_is_said_to_be_one(tmp_path: Path, damage: str) -> None:
    data = kernels.add.export(None, block=64).to_bytes()
    middle = len(data) // 2
    damaged, words = {
        "cut": (data[:-1], "damaged or cut short"),
        "flipped": (data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :], "damaged or cut short"),
        "other": (b"something else", "this is not an exported kernel"),
        "newer": (data[:8] + b"\x04" + data[9:], "has format 4, and this runtime reads format 3"),
    }[damage]
    path = tmp_path / "k.cutelite"
    path.write_bytes(damaged)
    error, text = said(lambda: rt.load_kernel(path))
    assert error is rt.ArtifactError and re.search(rf"k\.cutelite: .*{words}", text)


ALONE = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("cutelite", "llvmlite", "numpy"):
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, Nothing())
import cutelite_rt as rt
from cutelite_rt.gpu import driver
from tests.rt.conftest import H200, FakeCuda

cuda = FakeCuda(H200)
driver._driver = rt.Driver(cuda)
add = rt.load_kernel(sys.argv[1])
arrays = [rt.empty((100,), "f32") for _ in range(3)]
add[2](*arrays)
try:
    add[2](arrays[0], rt.empty((99,), "f32"), arrays[2])
except rt.ArgumentError as error:
    print(error)
print(len(cuda.launches), "cutelite" in sys.modules, "llvmlite" in sys.modules)
"""


def test_neither_compiler_nor_llvmlite_is_needed(tmp_path: Path) -> None:
    kernels.add.export(tmp_path / "add.cutelite", block=64)
    said = printed(ALONE, tmp_path / "add.cutelite")
    assert said == "add(): argument `b` has extent 99, but N is 100, from `a`\n1 False False\n"
