"""Exported kernels from C: the stub is compiled, and called with what Python launches are called with."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32
from cutelite_rt.dtype import DTYPES
from cutelite_rt.export import cprogram, cstub
from cutelite_rt.export.cstub import c_stub
from cutelite_rt.gpu.attributes import attributes_of
from cutelite_rt.gpu.params import KINDS, float_code
from cutelite_rt.signature.kinds.number import BEYOND
from tests.dispatch import kernels
from tests.dispatch.conftest import GpuArray
from tests.dispatch.test_export import Column, Scales, arguments, everything, said
from tests.rt.conftest import FakeCuda

HERE = Path(__file__).parent
STRICT = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")
FAKE = "-Wl,-Bsymbolic", str(HERE / "fakecuda.c")


def cuda_include() -> str | None:
    """The folder of cuda.h: of a toolkit, else of NVIDIA's wheels."""
    places = [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"]
    places += sorted(Path("/usr/local").glob("cuda-*/include"), reverse=True)
    places += sorted(Path(sysconfig.get_paths()["purelib"]).glob("nvidia/**/include"))
    return next((str(place) for place in places if (place / "cuda.h").is_file()), None)


def tvm_ffi_options() -> tuple[str, ...]:
    """Of the compiler, for a module of TVM-FFI; none where it is not installed."""
    found = importlib.util.find_spec("tvm_ffi")
    if found is None or found.origin is None:
        return ()
    home = Path(found.origin).parent
    lib = home / "lib"
    return "-DCUTELITE_TVM_FFI", f"-I{home / 'include'}", f"-L{lib}", "-ltvm_ffi", f"-Wl,-rpath,{lib}"


COMPILER, INCLUDE, TVM_FFI = shutil.which("cc"), cuda_include(), tvm_ffi_options()
pytestmark = pytest.mark.skipif(not (COMPILER and INCLUDE), reason="needs a C compiler and cuda.h")


class CTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class CLaunch(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("smem", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("cooperative", ctypes.c_int),
        ("pdl", ctypes.c_int),
        ("attribute_count", ctypes.c_uint),
        ("attributes", ctypes.c_void_p),
    )


class CConfig(ctypes.Structure):
    """CUlaunchConfig; an attribute is 4 bytes of id, 4 of padding, and 64 of value."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("smem", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(ctypes.c_uint32 * 18)),
        ("count", ctypes.c_uint),
    )


ON_LAUNCH = ctypes.CFUNCTYPE(None, ctypes.POINTER(CConfig), ctypes.POINTER(ctypes.c_void_p))


def tensor(array: Any, **other: Any) -> CTensor:
    """`array` as C has it, but for `other`."""
    view = rt.read(array)
    dlpack = DTYPES[view.dtype].dlpack
    assert dlpack is not None
    shape, strides = ((ctypes.c_int64 * max(len(x), 1))(*x) for x in (view.shape, view.strides))
    kind = 2 if view.device[0] == "cuda" else 1
    made = CTensor(view.pointer, kind, view.device[1], len(view.shape), *dlpack, 1, shape, strides, 0)
    for name, value in other.items():
        setattr(made, name, value)
    return made


def compiled(source: str, *more: str) -> ctypes.CDLL:
    """A stub as a library, beside its source."""
    library = str(Path(source).with_suffix(".so"))
    subprocess.run([str(COMPILER), *STRICT, "-I", str(INCLUDE), source, *more, "-o", library, "-lm"], check=True)
    return ctypes.CDLL(library)


class Stub:
    """A kernel's C, compiled with a driver made of C."""

    def __init__(self, bundle: rt.Bundle, folder: Path, *options: str) -> None:
        self.name, self.bundle = bundle.name, bundle
        _, source = c_stub(bundle).save(folder)
        self.library = compiled(source, *FAKE, *options)
        self.function("error").restype = ctypes.c_char_p
        self.launches: list[tuple[tuple[int, ...], tuple[int, ...], int, int, list[Any], list[bytes]]] = []
        self._callback = ON_LAUNCH(self._launched)
        self.library.fake_on_launch(self._callback)
        self.handle = ctypes.c_void_p()
        assert self.function("load")(ctypes.byref(self.handle)) == 0, self.error

    def function(self, what: str) -> Any:
        return getattr(self.library, f"{self.name}_{what}")

    @property
    def error(self) -> str:
        text: bytes = self.function("error")()
        return text.decode()

    def _launched(self, config: Any, pointers: Any) -> None:
        at = config.contents
        layout = rt.ParameterLayout(self.bundle.variants[0].artifacts[0].params)
        values: list[bytes] = []
        for kind, offset in zip(layout.kinds, layout.offsets, strict=True):
            values += [b""] * (offset in layout.starts)
            start = layout.starts[len(values) - 1]
            values[-1] = ctypes.string_at(pointers[len(values) - 1], offset - start + KINDS[kind][0])
        attributes = [list(at.attributes[i])[0:5] for i in range(at.count)]
        self.launches.append((tuple(at.grid), tuple(at.block), at.smem, at.stream or 0, attributes, values))

    def launch(self, grid: tuple[int, int, int], *args: Any, smem: int = 0, pdl: int = 0, attributes: Any = ()) -> int:
        rows = ctypes.create_string_buffer(b"".join(struct.pack("<I4x64s", *row) for row in attributes))
        more = len(attributes), ctypes.addressof(rows)
        settings = CLaunch((ctypes.c_uint * 3)(*grid), smem, 0x77, 0, pdl, *more)
        passed = [ctypes.byref(arg) if isinstance(arg, CTensor) else arg for arg in args]
        status: int = self.function("launch")(self.handle, ctypes.byref(settings), *passed)
        return status


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("c")


@pytest.fixture(scope="module")
def stub(folder: Path) -> Stub:
    return Stub(everything.export(None, bias=None), folder)


def passed(given: dict[str, Any]) -> list[Any]:
    """Arguments of `everything` for C: structs by field, constants left out."""
    args: list[Any] = []
    for name, value in given.items():
        if name in ("x", "y", "z", "tiles"):
            args.append(tensor(value))
        elif isinstance(value, Scales):
            args += [ctypes.c_float(float(value.left)), ctypes.c_float(float(value.right))]
        elif name in ("n", "flag"):
            args.append(ctypes.c_int(value))
    return [*args, ctypes.c_float(given.get("e", 1.0))]


WRONG: list[dict[str, Any]] = [
    {"x": ((5, 16, 1), "f32")},
    {"x": ((5, 20), "f32")},
    {"x": ((5, 72), "f32")},
    {"x": ((6, 16), "f32")},
    {"z": ((7, 5), "f32")},
    {"y": ((10, 16), "f16")},
    {"tiles": ((12,), "i32")},
    {"scales": Scales(2.0, 70000.0)},  # type: ignore[arg-type]
    {"e": 480.0},
    {"e": float("inf")},
]


@pytest.mark.parametrize("other", WRONG, ids=str)
def test_c_refuses_in_the_words_of_python(cuda: FakeCuda, on_gpu: GpuArray, stub: Stub, other: dict[str, Any]) -> None:
    made = {k: on_gpu(*v) if isinstance(v, tuple) else v for k, v in other.items()}
    given = arguments(on_gpu, **made)
    _, live = said(lambda: everything[1, 32](**given))
    before = len(stub.launches)
    assert stub.launch((1, 1, 1), *passed(given)) == -1
    assert stub.error.replace("70000", "70000.0").replace("480,", "480.0,") == live
    assert len(stub.launches) == before


def test_strides_that_do_not_fit(cuda: FakeCuda, on_gpu: GpuArray, stub: Stub) -> None:
    given = arguments(on_gpu, x=Column(on_gpu((16, 5))))
    _, live = said(lambda: everything[1, 32](**given))
    assert stub.launch((1, 1, 1), *passed(given)) == -1 and stub.error == live
    assert "must be row-major, (16, 1); make it contiguous" in live


def test_the_same_bytes_reach_the_kernel(cuda: FakeCuda, on_gpu: GpuArray, stub: Stub) -> None:
    given = arguments(on_gpu, e=-3.3)
    more = attributes_of(cl.Launch(1, priority=-2, carveout=60))
    assert stub.launch((3, 2, 1), *passed(given), smem=64 << 10, pdl=1, attributes=more) == 0, stub.error
    grid, block, smem, stream, attributes, values = stub.launches[-1]
    assert (grid, block, smem, stream) == ((3, 2, 1), (32, 1, 1), 64 << 10, 0x77)
    assert [row[0] for row in attributes] == [6, 8, 14] and attributes[0][2] == 1  # programmatic stream serialization
    assert (attributes[1][2], attributes[2][2]) == ((1 << 32) - 2, 60)
    assert stub.launch((3, 2, 1), *passed(given), attributes=more * 5) == -1
    assert "10 launch attributes; 8 are taken" in stub.error
    assert ctypes.c_int.in_dll(stub.library, "fake_smem_attribute").value == 64 << 10
    bound = everything.signature.bind((), given)
    layout = rt.ParameterLayout(stub.bundle.variants[0].artifacts[0].params)
    data = layout.pack([v.pointer if isinstance(v, rt.ArrayView) else v for v in bound.values]).data()
    assert values == [data[at : at + KINDS[k][0]] for at, k in zip(layout.offsets, layout.kinds, strict=True)]


def test_arrays_that_c_alone_can_get_wrong(cuda: FakeCuda, on_gpu: GpuArray, stub: Stub) -> None:
    given = arguments(on_gpu)
    for other, words in (
        ({"code": 0}, r"`x` has DLPack type (0, 32), but its annotation says f32"),
        ({"lanes": 4}, r"`x` has DLPack type (2, 32), but its annotation says f32"),
        ({"device_type": 1}, r"`x` is in host memory, and an exported kernel runs on GPUs alone"),
        ({"device_id": 1}, r"`x` is on GPU 1, but `y` is on GPU 0; move them to one place"),
        ({"byte_offset": 2}, r"but must be at a multiple of 16 bytes"),
        ({"ndim": 33}, r"`x` has 33 modes"),
    ):
        args = passed(given)
        args[0] = tensor(given["x"], **other)
        assert stub.launch((1, 1, 1), *args) == -1
        assert words in stub.error
    args = passed(given)
    args[0] = None
    assert stub.launch((1, 1, 1), *args) == -1 and "`x` must be an array, not NULL" in stub.error
    args[0] = tensor(given["x"])
    args[0].strides = None  # row-major
    assert stub.launch((1, 1, 1), *args) == 0, stub.error


def test_a_grid_of_nothing_and_one_too_much(cuda: FakeCuda, on_gpu: GpuArray, stub: Stub) -> None:
    args = passed(arguments(on_gpu))
    before = len(stub.launches)
    assert stub.launch((0, 1, 1), *args) == 0 and len(stub.launches) == before
    assert stub.launch((1, 1, 1), *args, smem=1 << 20) == -1
    assert (
        stub.error
        == "everything: a block needs 0 bytes of shared memory and 1048576 are asked for on top; this GPU has 232448"
    )
    ctypes.c_int.in_dll(stub.library, "fake_status").value = 700
    assert stub.launch((1, 1, 1), *args) == 700
    assert stub.error == "CUDA_ERROR_FAKE (700) launching `everything`: made up"
    ctypes.c_int.in_dll(stub.library, "fake_status").value = 0


def test_another_context_is_current(cuda: FakeCuda, on_gpu: GpuArray, stub: Stub) -> None:
    stub.library.fake_current(ctypes.c_void_p(0x5000))
    try:
        assert stub.launch((1, 1, 1), *passed(arguments(on_gpu))) == 0, stub.error
        assert ctypes.c_int.in_dll(stub.library, "fake_pushed").value == 0  # pushed, and popped again
    finally:
        stub.library.fake_current(ctypes.c_void_p(0x1000))


def test_tensor_maps_in_c(cuda: FakeCuda, on_gpu: GpuArray, folder: Path) -> None:
    copied = Stub(kernels.copied.export(None), folder)
    a, b = on_gpu((40, 128), "bf16"), on_gpu((40, 128), "bf16")
    # A fake GPU's memory is wherever malloc put it, and TMA wants multiples of 16.
    start = tensor(a, data=(a.pointer + 15) // 16 * 16)
    assert copied.launch((1, 1, 1), start, tensor(b, data=start.data)) == 0, copied.error
    said_map = np.frombuffer(copied.launches[-1][5][0], np.uint64)
    assert said_map[:9].tolist() == [9, 2, 3, start.data, 128, 64, 256, 40, 16]
    odd = on_gpu((40, 129), "bf16")
    live = said(lambda: kernels.copied[1, 128](odd, odd))[1]
    for shape, words in (
        ((40, 129), live),
        ((0, 128), "argument `a` has extent 0, the first of (0, 128), but M is at"),
    ):
        t = tensor(on_gpu(shape, "bf16"), data=1 << 20)
        assert copied.launch((1, 1, 1), t, t) == -1
        assert words in copied.error


def test_tensor_maps_of_pixels_in_c(cuda: FakeCuda, on_gpu: GpuArray, folder: Path) -> None:
    pixels = Stub(kernels.pixels.export(None), folder)
    images = tensor(on_gpu((2, 3, 7, 32), "bf16"), data=1 << 20)
    assert pixels.launch((1, 1, 1), images, images) == 0, pixels.error
    said_map = np.frombuffer(pixels.launches[-1][5][0], np.int64)
    assert said_map[:10].tolist() == [9, 4, 1, 1 << 20, 16, 48, 32, 7, 3, 2]
    assert said_map[11:15].tolist() == [-2, -1, -3, 0]


def test_clusters_in_c(cuda: FakeCuda, on_gpu: GpuArray, folder: Path) -> None:
    clustered = Stub(kernels.clustered.export(None), folder)
    x = tensor(on_gpu((8,)))
    assert clustered.launch((4, 1, 1), x) == 0, clustered.error
    assert clustered.launches[-1][4][0][:5] == [4, 0, 2, 1, 1]  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    assert clustered.launch((3, 1, 1), x) == -1
    assert clustered.error == "clustered: the grid's x extent 3 is no multiple of the cluster's, 2"


def test_a_grid_exported_too(cuda: FakeCuda, on_gpu: GpuArray, folder: Path) -> None:
    n = kernels.N
    add = Stub(kernels.add.export(None, block=64, grid=(cl.ceil_div(n, 64), n % 7 + 1, 2 * n // 3 - n // 2)), folder)
    arrays = [tensor(on_gpu((1000,))) for _ in range(3)]
    assert add.function("run")(add.handle, ctypes.c_void_p(5), *map(ctypes.byref, arrays)) == 0, add.error
    assert add.launches[-1][0] == (16, 1000 % 7 + 1, 2000 // 3 - 500) and add.launches[-1][3] == 5
    many = (ctypes.c_int64 * 1)(400_000)
    arrays = [tensor(on_gpu((1,)), shape=many, strides=None) for _ in range(3)]
    assert add.function("run")(add.handle, None, *map(ctypes.byref, arrays)) == -1
    assert add.error == "add(): the grid's z extent is 66666, and a GPU takes 0 to 65535"


@pytest.mark.parametrize("grid", [cl.ceil_div(kernels.N, 64), 16, (16,), (kernels.N // 62, 3)], ids=str)
def test_a_grid_of_fewer_axes(cuda: FakeCuda, on_gpu: GpuArray, tmp_path: Path, grid: Any) -> None:
    """Axes that a grid does not name have one block: from C, from TVM-FFI and from Python."""
    bundle = kernels.add.export(None, block=64, grid=grid)
    add, arrays = Stub(bundle, tmp_path, *TVM_FFI), [on_gpu((1000,)) for _ in range(3)]
    wanted = (16, 3, 1) if isinstance(grid, tuple) and len(grid) == 2 else (16, 1, 1)
    tensors = [tensor(array) for array in arrays]
    assert add.function("run")(add.handle, None, *map(ctypes.byref, tensors)) == 0, add.error
    if TVM_FFI:
        tvm_ffi = pytest.importorskip("tvm_ffi")
        tvm_ffi.load_module(str(tmp_path / "add.so")).add(*map(tvm_ffi.from_dlpack, arrays))
    assert [each[0] for each in add.launches] == [wanted] * (1 + bool(TVM_FFI))
    rt.load_kernel(bundle)(*arrays)
    last = cuda.launches[-1][0]
    assert (last.gridDimX, last.gridDimY, last.gridDimZ) == wanted


@cl.kernel(block=32)
def spread(x: Tensor[f32, (kernels.M, kernels.N)], y: Tensor[f32, ((kernels.M - kernels.N) // 2,)]) -> None:
    if cl.thread_idx.x == 0:
        y[0] = x[0, 0]


def test_expressions_and_empty_arrays_as_python_has_them(cuda: FakeCuda, on_gpu: GpuArray, tmp_path: Path) -> None:
    """Division rounds down in C too, and where an array without elements lies is no matter."""
    stub = Stub(spread.export(None), tmp_path)
    one, short = on_gpu((9, 9)), on_gpu((2, 9))
    assert stub.launch((1, 1, 1), tensor(one), tensor(on_gpu((0,)), byte_offset=2)) == 0, stub.error
    for x, y in ((short, on_gpu((3,))), (one, on_gpu((1,)))):
        _, live = said(lambda x=x, y=y: spread[1, 32](x, y))
        assert stub.launch((1, 1, 1), tensor(x), tensor(y)) == -1 and stub.error == live
    assert "is 0 (M = 9 from `x`, N = 9 from `x`)" in stub.error


def test_the_image_for_the_device(folder: Path, tmp_path: Path) -> None:
    bundle = kernels.tripled.export(None, arch=["sm_80", "sm_90", "sm_90a", "sm_100a"], ptx="sm_80")
    stub = Stub(bundle, tmp_path)
    major, minor = (ctypes.c_int.in_dll(stub.library, f"fake_{name}") for name in ("major", "minor"))
    cubins = {a.arch: a.cubin for a in bundle.variants[0].artifacts if a.cubin}
    ptx = next(a.ptx for a in bundle.variants[0].artifacts if a.ptx).encode()
    for capability, wanted in (
        ((9, 0), cubins["sm_90a"]),
        ((8, 6), cubins["sm_80"]),
        ((10, 0), cubins["sm_100a"]),
        ((10, 3), ptx),
        ((12, 0), ptx),
    ):
        major.value, minor.value = capability
        handle = ctypes.c_void_p()
        assert stub.function("load")(ctypes.byref(handle)) == 0, stub.error
        image = ctypes.c_void_p.in_dll(stub.library, "fake_image").value
        assert image and ctypes.string_at(image, len(wanted)) == wanted
        before = ctypes.c_int.in_dll(stub.library, "fake_unloaded").value
        stub.function("unload")(handle)
        assert ctypes.c_int.in_dll(stub.library, "fake_unloaded").value == before + 1
    major.value = 7
    assert stub.function("load")(ctypes.byref(ctypes.c_void_p())) == 209
    assert stub.error == "loading `tripled`: it was exported for other GPUs than sm_70"


F = TypeVar("F")


@cl.kernel(block=32)
def floats(x: F) -> None: ...


@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32", "e4m3", "e5m2"])
def test_floats_that_c_has_not(folder: Path, tmp_path: Path, kind: str) -> None:
    stub = Stub(floats.export(None, F=getattr(cl, kind)), tmp_path)
    formats: Any = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "e4m3": (4, 3, False), "e5m2": (5, 2)}[kind]
    rng = np.random.default_rng(5)
    edges = np.array([0.0, -0.0, 448, 464, 65519, 65520], np.float32)
    some = rng.integers(0, 2**32, 2000, dtype=np.uint32).view(np.float32)
    for value in np.concatenate([some, rng.standard_normal(2000, np.float32), edges]).tolist():
        status = stub.launch((1, 1, 1), ctypes.c_float(value))
        if kind == "e4m3" and abs(value) >= BEYOND[kind]:  # a tie, which would round to what it holds, is refused too
            assert status == -1, value
            continue
        try:
            code = float_code(value, *formats) << (13 if kind == "tf32" else 0)
        except OverflowError:
            assert status == -1, value
            continue
        assert status == 0, value
        packed = stub.launches[-1][5][0]
        if value == value:  # of a NaN the sign is not kept by all that it passes through
            assert int.from_bytes(packed, "little") == code, value


def test_functions_for_each_signature(cuda: FakeCuda, on_gpu: GpuArray, tmp_path: Path) -> None:
    bundle = kernels.scale.export(None, signatures=[{"T": cl.f32}, {"T": cl.f16, "times": 2}], grid=1)
    stub = Stub(rt.Bundle("scale", bundle.variants[:1]), tmp_path)  # one signature: without a number
    assert stub.launch((1, 1, 1), tensor(on_gpu((8,))), ctypes.c_float(2)) == 0, stub.error
    stubs = c_stub(bundle)
    _, source = stubs.save(tmp_path / "both")
    assert "int scale_0_run(" in stubs.header and "const cutelite_tensor *x, float by);" in stubs.header
    both = compiled(source, *FAKE)
    wrong = ctypes.byref(tensor(on_gpu((8,), "f16")))
    handle = ctypes.c_void_p()
    assert both.scale_0_load(ctypes.byref(handle)) == both.scale_1_load(ctypes.byref(handle)) == 0
    assert both.scale_0_run(handle, None, wrong, ctypes.c_float(2)) == -1
    both.scale_0_error.restype = ctypes.c_char_p
    assert both.scale_0_error() == b"scale(): argument `x` has DLPack type (2, 16), but its annotation says f32"


def test_names_that_c_has_not() -> None:
    bundle = kernels.nothing.export(None)
    for name in ("float", "two words", "größe"):
        with pytest.raises(ValueError, match="is no name for C functions"):
            c_stub(bundle, name)
    with pytest.raises(ValueError, match="'fit' is no name for C functions: `fit_dims` is one of ours"):
        c_stub(bundle, "fit")
    sources = "".join(Path(module.__file__ or "").read_text() for module in (cstub, cprogram))
    assert {*re.findall(r"\{(?:self\.)?name\}_([a-z]\w*)", sources)} == {*cstub._OWN.split()}
    assert "int other_load(other_kernel **kernel);" in c_stub(bundle, "other").header


def test_parameters_that_are_words_of_c(folder: Path, tmp_path: Path) -> None:
    @cl.kernel(block=32)
    def words(float: Tensor[f32, (8,)], _Bool: cl.i32, kernel: cl.i64) -> None: ...

    stub = Stub(words.export(None), tmp_path)
    array = CTensor(0x1000, 2, 0, 1, 2, 32, 1, (ctypes.c_int64 * 1)(8), None, 0)
    assert stub.launch((1, 1, 1), array, 7, ctypes.c_int64(1 << 40)) == 0, stub.error
    assert stub.launches[-1][5] == [v.to_bytes(n, "little") for v, n in ((0x1000, 8), (7, 4), (1 << 40, 8))]


def test_a_header_for_cpp(folder: Path, tmp_path: Path) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    c_stub(kernels.copied.export(None)).save(tmp_path)
    (tmp_path / "user.cpp").write_text('#include "copied.h"\nint main() { return copied_load(nullptr) == 0; }\n')
    command = [compiler, "-Wall", "-Werror", "-I", str(INCLUDE), "-c", "user.cpp", "-o", "user.o"]
    subprocess.run(command, check=True, cwd=tmp_path)


# ---- TVM-FFI


def test_a_function_of_tvm_ffi(cuda: FakeCuda, on_gpu: GpuArray, tmp_path: Path) -> None:
    """The stub loaded as a module of TVM-FFI: tensors by DLPack, numbers by value, errors as Python's."""
    ffi = pytest.importorskip("tvm_ffi")
    stub = Stub(everything.export(None, bias=None), tmp_path, *TVM_FFI)
    function = ffi.load_module(str(tmp_path / "everything.so")).everything
    given = arguments(on_gpu)
    x, y, z, tiles = (ffi.from_dlpack(given[name]) for name in ("x", "y", "z", "tiles"))
    function(3, 2, 1, 64, x, y, z, tiles, 2.0, 0.5, 200, True, -3)
    grid, _, smem, _, _, values = stub.launches[-1]
    assert (grid, smem) == ((3, 2, 1), 64)
    assert stub.launch((1, 1, 1), *passed({**given, "e": -3.0})) == 0
    assert values == stub.launches[-1][5]
    for wrong, words in (
        ((1, 1, 1, 0, x, y, z, tiles, 2.0, 0.5, 256, True, 1.0), "`n` is 256, but u8 holds 0 to 255"),
        ((1, 1, 1, 0, x, y, z, 5, 2.0, 0.5, 2, True, 1.0), "`tiles` must be a tensor"),
        ((1, 1, 1, 0, x, y, z, tiles, "two", 0.5, 2, True, 1.0), "`scales.left` must be a number of dtype f32"),
        ((1, 1, 1, 0, y, y, z, tiles, 2.0, 0.5, 2, True, 1.0), "but its annotation says f32"),
        ((-1, 1, 1, 0, x, y, z, tiles, 2.0, 0.5, 2, True, 1.0), "the grid and the dynamic shared memory take whole"),
        ((1, 1, 1, x), "takes grid x, y, z, bytes of shared memory and 9 arguments, but 4 were given"),
    ):
        with pytest.raises(TypeError) as caught:
            function(*wrong)
        assert words in str(caught.value)


# ---- on a GPU


@pytest.mark.sm(90)
def test_c_on_a_gpu(tmp_path: Path) -> None:
    """The stub linked with the driver, over arrays in GPU memory: a plain kernel, one with a tensor map, a cluster."""
    from cutelite.toolchain import find

    driver = find.library("cuda")
    assert driver is not None
    device = rt.device(0)
    x = np.arange(1000, dtype=np.float32)
    a, b, c = rt.to_device(x), rt.to_device(2 * x), rt.to_device(0 * x)
    tile = np.arange(16 * 64).reshape(16, 64).astype("uint16")
    source, target = rt.to_device(tile), rt.to_device(0 * tile)
    made = {
        "add": kernels.add.export(None, block=64, grid=cl.ceil_div(kernels.N, 64), arch=["sm_90a", "sm_80"]),
        "copied": kernels.copied.export(None, arch="sm_90a"),
        "clustered": kernels.clustered.export(None, arch="sm_90a"),
    }
    with device.active():
        libraries = {}
        for name, bundle in made.items():
            _, text = c_stub(bundle).save(tmp_path)
            libraries[name] = compiled(text, str(driver.abs_path))

        def call(name: str, *args: Any) -> None:
            library = libraries[name.rpartition("_")[0]]
            error = getattr(library, name.rpartition("_")[0] + "_error")
            error.restype = ctypes.c_char_p
            assert getattr(library, name)(*args) == 0, error()

        handles = {name: ctypes.c_void_p() for name in made}
        for name, handle in handles.items():
            call(f"{name}_load", ctypes.byref(handle))
        call("add_run", handles["add"], None, *(ctypes.byref(tensor(each)) for each in (a, b, c)))
        np.testing.assert_array_equal(c.numpy(), 3 * x)
        as_bf16 = [ctypes.byref(tensor(each, code=4)) for each in (source, target)]
        once = CLaunch((ctypes.c_uint * 3)(1, 1, 1), 0, None, 0, 0)
        call("copied_launch", handles["copied"], ctypes.byref(once), *as_bf16)
        np.testing.assert_array_equal(target.numpy(), tile)
        four = CLaunch((ctypes.c_uint * 3)(4, 1, 1), 0, None, 0, 0)
        call("clustered_launch", handles["clustered"], ctypes.byref(four), ctypes.byref(tensor(c)))
        np.testing.assert_array_equal(c.numpy()[:6], [1, 1, 1, 1, 12, 15])
        for name, handle in handles.items():
            getattr(libraries[name], f"{name}_unload")(handle)


@pytest.mark.sm(90)
def test_the_runtime_on_a_gpu() -> None:
    x = np.arange(1000, dtype=np.float32)
    a, b, c = rt.to_device(x), rt.to_device(2 * x), rt.to_device(0 * x)
    for arch in (["sm_90a"], ["sm_80"]):
        exported = kernels.add.export(None, block=64, arch=arch)
        only_ptx = rt.Bundle("add", tuple(v._replace(artifacts=v.artifacts[-1:]) for v in exported.variants))
        for bundle in (exported, only_ptx):
            c = rt.to_device(0 * x)
            rt.load_kernel(bundle, sync=True)[16](a, b, c)
            np.testing.assert_array_equal(c.numpy(), 3 * x)


@cl.kernel(block=32)
def addressed(xs: list[Tensor[f32, (kernels.N,)]], p: cl.Pointer[f32], n: cl.i32) -> None:
    i = cl.thread_idx.x
    if i < n:
        xs[1][i] = xs[0][i] + p[i]


def test_items_and_addresses(cuda: FakeCuda, on_gpu: GpuArray, tmp_path: Path) -> None:
    stub = Stub(addressed.export(None, [(8,), (8,)]), tmp_path)
    a, b, short = (on_gpu(shape) for shape in ((8,), (8,), (7,)))
    address = ctypes.c_uint64
    assert stub.launch((1, 1, 1), tensor(a), tensor(b), address(0x20000), 8) == 0
    found = [int.from_bytes(value, "little") for value in stub.launches[-1][-1]]
    assert found == [a.pointer, b.pointer, 0x20000, 8, 8]
    for second, at in ((b, 0x20002), (short, 0x20000)):
        _, live = said(lambda second=second, at=at: addressed[1, 32]([a, second], at, 8))
        assert stub.launch((1, 1, 1), tensor(a), tensor(second), address(at), 8) == -1 and stub.error == live


@cl.kernel(block=32)
def gathered(by: f32, ps: list[cl.Pointer[f32]], ns: tuple[cl.i32, ...], out: Tensor[f32, (kernels.N,)]) -> None:
    which = ns[0]
    out[0] = ps[which][0] * by + f32(ns[which])


def test_parameters_that_are_one_in_c(cuda: FakeCuda, on_gpu: GpuArray, tmp_path: Path) -> None:
    """A run-time index chooses among them, so they are one array for the kernel, and apart for its caller."""
    out, ps, ns = on_gpu((8,)), [0x20000 + 64 * i for i in range(5)], tuple(range(7, 12))
    bundle = gathered.export(None, 2.0, ps, ns, out)
    stub = Stub(bundle, tmp_path)
    given = *map(ctypes.c_uint64, ps), *map(ctypes.c_int32, ns)
    assert stub.launch((1, 1, 1), ctypes.c_float(2.0), *given, tensor(out)) == 0, stub.error
    values = [struct.pack("<f", 2.0), struct.pack("<5Q", *ps), struct.pack("<5i", *ns)]
    assert stub.launches[-1][-1] == [*values, struct.pack("<Q", out.pointer), struct.pack("<i", 8)]
    gathered[1](2.0, ps, ns, out)
    rt.load_kernel(bundle.to_bytes())[1](2.0, ps, ns, out)
    for _, _, parameters in cuda.launches[-2:]:
        pointers = (ctypes.c_uint64 * 5).from_address(parameters)
        assert [ctypes.string_at(at, len(value)) for at, value in zip(pointers, values, strict=False)] == values
