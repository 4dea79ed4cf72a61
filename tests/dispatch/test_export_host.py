"""Exported kernels launched by machine code from their file: as without it, and Python is asked once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cutelite as cl
import cutelite_rt as rt
from cutelite import Constexpr, Tensor, TmaTensor, bf16, e4m3, f16, f32, i32
from cutelite.dispatch import ArgumentError
from cutelite_rt import ExportedLaunch
from cutelite_rt.arrays import memory
from cutelite_rt.launcher import image, native
from tests.dispatch import kernels
from tests.dispatch.alike import Placed, alike, calls, launched, reuses
from tests.dispatch.conftest import GpuArray
from tests.dispatch.test_export import ALONE
from tests.processes import printed
from tests.rt.conftest import FakeCuda, machine_code_or_skip

CPU = image.HERE
M, N, LD = cl.dims("M N LD")
D = cl.Dim("D", divisible_by=4, max=64)
T = TypeVar("T", f16, f32)


@dataclass(frozen=True)
class Pair:
    x: Tensor[f32, (N,)]
    by: i32


@cl.kernel(block=32)
def everything(
    a: Tensor[T, (M, D), (LD, 1)],
    pair: Pair,
    c: Tensor[T, (D,)] | None,
    by: T,
    n: i32,
    times: Constexpr[Any] = 1,
    small: e4m3 = 1.0,  # type: ignore[assignment]
) -> None:
    if c is not None:
        c[0] = a[0, 0] * by
    pair.x[0] = f32(n * pair.by + len(repr(times))) + small.to(f32)


@cl.kernel(block=32)
def tiles(a: TmaTensor[bf16, (M, N), (64, 64)], x: Tensor[f32, (M,)]) -> None:
    x[0] = 1.0


SIGNATURES: list[dict[str, Any]] = [
    {"T": f32, "c": None},
    {"T": f16, "c": None, "times": 2},
    {"T": f16, "times": "x"},
    {"T": f32, "times": 2.0},
]


class Loaded(NamedTuple):
    """A kernel from the same export twice."""

    python: rt.ExportedKernel
    host: rt.ExportedKernel


@pytest.fixture(autouse=True)
def in_a_context(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(memory._READERS, Placed, memory._read_own)
    cuda.stack.append(0x1000)
    yield
    cuda.stack.clear()


def loaded(kernel: Any, **more: Any) -> Loaded:
    machine_code_or_skip()
    bundle = kernel.export(None, cpus=CPU, **more)
    host = rt.load_kernel(bundle.to_bytes(), host_code=True)
    assert host.host
    python = rt.load_kernel(bundle)
    assert not python.host
    return Loaded(python, host)


EXTENTS = st.sampled_from([4, 8, 8, 8, 1, 0, 5, 68, 1 << 31])
POINTERS = st.sampled_from([0x10000, 0x20000, 0x10008, 0x10004, 0x10002, 0])
NUMBERS = st.sampled_from([0, 1, 2.0, True, 1 << 31, 7e4, 1e39, 464.0, float("inf"), "x", None, 10**400])
FIELDS = {
    "key": st.sampled_from(
        [
            *(
                1,
                3,
                (1, 32),
                ((2, 5), 32),
                ((2, 5), None),
                (1, 32, 0x7000),
                (1, 32, None, 64),
                (1, 64),
                0,
                True,
                1.0,
                -1,
            ),
            *(1 << 31, ((1, 1 << 20), 32), (1, 32, "x"), (1, 32, -1), (1, 32, None, True), (1,), "ab"),
            *(
                ExportedLaunch(2, smem=16),
                ExportedLaunch(2, stream=0x5000, pdl=True),
                ExportedLaunch((1, 2.0)),
                ExportedLaunch(1, cluster=2),
            ),
        ]
    ),
    "c": st.booleans(),
    "by": NUMBERS,
    "n": NUMBERS,
    "p": NUMBERS,
    "small": NUMBERS,
    "times": st.sampled_from([None, 1, True, 1.0, 2, 2.0, "x", (1,), [1], len, "left out", "left out"]),
    "rows": EXTENTS,
    "columns": EXTENTS,
    "length": EXTENTS,
    "leading": st.sampled_from([8, 16, 1, -8]),
    "step": st.sampled_from([1, 2]),
    "at_a": POINTERS,
    "at_x": POINTERS,
    "dtype": st.sampled_from(["f32", "f16", "bf16"]),
    "gpu": st.sampled_from([0, 1]),
}
PLAIN: dict[str, Any] = {
    "key": 1,
    "c": False,
    "by": 1.0,
    "n": 1,
    "p": 1,
    "small": 1.0,
    "times": "left out",
    "rows": 4,
    "columns": 8,
    "length": 8,
    "leading": 8,
    "step": 1,
    "at_a": 0x10000,
    "at_x": 0x10000,
    "dtype": "f32",
    "gpu": 0,
}


def arguments_of(call: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    gpus = rt.device(0), rt.device(call["gpu"])
    dtype, columns = call["dtype"], call["columns"]
    a = Placed(call["at_a"], (call["rows"], columns), (call["leading"], 1), dtype, gpus[0])
    x: Any = Placed(call["at_x"], (call["length"],), (call["step"],), "f32", gpus[1])
    c = Placed(call["at_x"], (columns,), (1,), dtype, gpus[0])
    named = {} if call["times"] == "left out" else {"times": call["times"]}
    return (a, Pair(x, call["p"]), c if call["c"] else None, call["by"], call["n"]), {"small": call["small"], **named}


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_a_launch_comes_to_what_it_comes_to_by_python(cuda: FakeCuda, data: st.DataObject) -> None:
    if id(cuda) not in KERNELS:
        KERNELS[id(cuda)] = loaded(everything, signatures=SIGNATURES)
    python, host = KERNELS[id(cuda)]
    for call in data.draw(calls(PLAIN, FIELDS, 3)):
        positional, named = arguments_of(call)
        alike(cuda, (host, python), call["key"], *positional, **named)


KERNELS: dict[int, Loaded] = {}


def test_python_is_asked_once(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    python, host = loaded(kernels.scale, signatures=[{"T": f32}, {"T": f16, "times": 2}])
    x, y, z = on_gpu((8,)), on_gpu((16,)), on_gpu((8,), "f16")
    for by in (2.0, 2):
        host[1](x, by)
        host[1](z, by)
        host[1, 64](z, by=by, times=2)
    reuses(host, monkeypatch)
    for key in (1, 5, 1 << 20):
        for args in ((x, 1.0), (y, 3), (z, 0.5)):
            alike(cuda, (host, python), key, *args)
    shapes: list[Any] = [(1, 64), ((3, 1), 64, 0x9000), (7, (64, 1))]
    for key in shapes:
        alike(cuda, (host, python), key, z, 0.5, times=2)


@dataclass(frozen=True)
class Another:
    """No `Pair`, with the same fields."""

    by: Any
    x: Any


def test_a_struct_is_what_has_its_fields(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    python, host = loaded(everything, T=f32, c=None)
    (a, pair, *others), named = arguments_of(PLAIN)
    host[1](a, pair, *others, **named)
    reuses(host, monkeypatch)
    another = Another(5, pair.x)
    alike(cuda, (host, python), 1, a, another, *others)


def test_a_grid_by_dims(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (cl.ceil_div(kernels.N, 64), 2, kernels.N // 500)
    python, host = loaded(kernels.add, block=64, grid=rows)
    host(*(on_gpu((1000,)) for _ in range(3)))
    for n in (1, 499, 500, 777, 32768, 1 << 20):
        arrays = [on_gpu((n,)) for _ in range(3)]
        with monkeypatch.context() as patch:
            reuses(host, patch)
            expected = alike(cuda, (host, python), None, *arrays)
            assert launched(host, cuda, ExportedLaunch(stream=0), *arrays) == expected
            assert (expected is None) == (n < 500), "no blocks, no launch"
            alike(cuda, (host, python), 3, *arrays)
    huge = [Placed(0x10000, (1 << 31,), (1,), "f32", rt.device(0)) for _ in range(3)]
    alike(cuda, (host, python), None, *huge)


def test_a_grid_that_was_not_exported(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    python, host = loaded(kernels.add, block=64)
    arrays = [on_gpu((8,)) for _ in range(3)]
    alike(cuda, (host, python), None, *arrays)


def test_wide_dims_of_small_extents(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    python, host = loaded(everything, wide_dims=True, T=f32, c=None)
    positional, named = arguments_of(PLAIN)
    host[1](*positional, **named)
    reuses(host, monkeypatch)
    alike(cuda, (host, python), 1, *positional, **named)


def test_methods_and_tensor_maps(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    python, host = loaded(kernels.Scaler(3).run)
    x = on_gpu((8,))
    host[1](x)
    reuses(host, monkeypatch)
    alike(cuda, (host, python), 1, x)
    python, host = loaded(tiles)
    first, second = (Placed(at, (128, 64), (64, 1), "bf16", rt.device(0)) for at in (0x7A0000, 0x7B0000))
    x = on_gpu((128,))
    host[1](first, x)
    reuses(host, monkeypatch)
    cuda.maps.clear()
    results = [launched(host, cuda, 1, each, x) for each in (first, second, first, second)]
    assert results[:2] == results[2:]
    assert [each["address"] for each in cuda.maps] == [0x7A0000, 0x7B0000], "the launcher has maps of its own"
    assert results[0][3][128:] == launched(python, cuda, 1, first, x)[3][128:]


def test_where_the_code_is_not_run(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_code_or_skip()
    bundle = kernels.add.export(None, block=64, cpus=(CPU, "aarch64"))
    assert bundle.host is not None and list(bundle.host.images) == [CPU, "aarch64"]
    assert rt.Bundle.from_bytes(bundle.to_bytes()) == bundle
    assert rt.load_kernel(bundle, host_code=True).host
    older = bundle._replace(host=bundle.host._replace(interface="another"))
    foreign = bundle._replace(host=bundle.host._replace(images={"riscv64": b""}))
    kept = [
        rt.load_kernel(bundle),
        rt.load_kernel(bundle, sync=True, host_code=True),
        *(rt.load_kernel(each, host_code=True) for each in (older, foreign, bundle._replace(host=None))),
    ]
    arrays = [on_gpu((8,)) for _ in range(3)]
    for kernel in kept:
        assert not kernel.host
        kernel[1](*arrays)
        assert not cuda.packed
    monkeypatch.setattr(native, "unsupported", lambda: "for a reason")
    assert not rt.load_kernel(bundle, host_code=True).host


def test_what_there_is_no_launcher_for() -> None:
    with pytest.raises(ArgumentError, match=r"add\(\): launchers are for the CPUs x86_64, .*, aarch64t, not for 'z80'"):
        kernels.add.export(None, block=64, cpus="z80")

    @cl.kernel(block=32)
    def of_a_number(x: Tensor[f32, (N,)], by: T) -> None: ...

    with pytest.raises(ArgumentError, match="has no launcher to export: no array tells the dtype of `by`"):
        of_a_number.export(None, T=f16, cpus=CPU)


def test_code_of_another_launcher_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    before = image.digest()
    image.digest.cache_clear()
    monkeypatch.setattr(image, "_file", lambda: "another")
    assert image.digest() != before
    image.digest.cache_clear()


def test_neither_compiler_nor_llvmlite_is_needed(tmp_path: Path) -> None:
    machine_code_or_skip()
    path = tmp_path / "add.cutelite"
    kernels.add.export(path, block=64, cpus=CPU)
    program = ALONE.replace("sys.argv[1]", "sys.argv[1], host_code=True").replace(
        "len(cuda.launches)", "len(cuda.packed), add.host, len(cuda.launches)"
    )
    program = program.replace("add[2](*arrays)\n", "cuda.stack.append(0x1000)\nfor _ in range(3): add[2](*arrays)\n")
    assert printed(program, path) == "add(): argument `b` has extent 99, but N is 100, from `a`\n2 True 3 False False\n"
