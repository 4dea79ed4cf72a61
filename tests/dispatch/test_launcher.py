"""Compiled launchers: launches come to what they come to in Python, and no work is done twice."""

from __future__ import annotations

import collections
import ctypes
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cutelite as cl
import cutelite_rt as rt
from cutelite import Constexpr, Tensor, TmaTensor, bf16, e4m3, f16, f32, i32
from cutelite.dispatch import ArgumentError, Kernel, Launch, LaunchError
from cutelite_rt.arrays import memory
from cutelite_rt.launcher import native, readers, watching
from cutelite_rt.launcher import state as launcher
from tests.dispatch.alike import Placed, alike, calls, launched, reuses, with_launcher
from tests.dispatch.conftest import GpuArray
from tests.rt.conftest import FakeCuda
from tests.rt.test_rt_memory import FakeTensor
from tests.rt.test_rt_memory import torch as torch
from tests.threads import at_once

M, N, LD = cl.dims("M N LD")
T = TypeVar("T", f16, f32)
FACTOR = 2


@dataclass(frozen=True)
class Pair:
    x: Tensor[f32, (N,)]
    by: i32


def _everything(
    a: Tensor[T, (M, N), (LD, 1)],
    pair: Pair,
    c: Tensor[T, (N,)] | None,
    by: T,
    n: i32,
    times: Constexpr[Any] = 1,
) -> None:
    if c is not None:
        c[0] = a[0, 0] * by
    pair.x[0] = f32(n * pair.by + len(repr(times)))


def _add(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], by: f32) -> None:
    a[0] = abs(b[0]) * by * FACTOR  # and a name of no global


def _tiles(a: TmaTensor[bf16, (M, N), (64, 64)]) -> None:
    pass


def _narrow(a: Tensor[f32, (N,)], x: e4m3) -> None:
    a[0] = f32(x)


def plain(function: Any) -> Kernel:
    """A kernel that is launched by Python, from the start each time."""
    return Kernel(function, cl.kernel(function).given)


def made(function: Any) -> Kernel:
    """A kernel that has its compiled launcher from the beginning."""
    return with_launcher(plain(function))


@pytest.fixture(autouse=True)
def placed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(memory._READERS, Placed, memory._read_own)


@pytest.fixture(autouse=True)
def in_a_context(cuda: FakeCuda) -> Any:
    cuda.stack.append(0x1000)
    yield
    cuda.stack.clear()


GRIDS = st.sampled_from([1, 3, (2, 5), (1, 1), (1, 1, 2), (1, True), 0, (1, 2.0), 1 << 31, [2]])
POINTERS = st.sampled_from([0x10000, 0x10010, 0x20000, 0x10004, 0x10002, 0])
EXTENTS = st.sampled_from([1, 4, 8, 8, 8, 0, 1 << 33])
NUMBERS = st.sampled_from([0, 1, 2.0, -0.0, True, 1 << 31, 7e4, 1e39, float("inf"), "x", None, 10**400])
CONSTANTS = st.sampled_from([0, 1, True, 1.0, 0.0, -0.0, float("nan"), None, "x", (1, 2), [1], len])


FIELDS = {
    "grid": GRIDS,
    "stream": st.sampled_from([None, 0, 7, 0x7000, -1, "x"]),
    "smem": st.sampled_from([0, 0, 64, True, -1]),
    "c": st.booleans(),
    "by": NUMBERS,
    "n": NUMBERS,
    "p": NUMBERS,
    "times": CONSTANTS,
    "rows": EXTENTS,
    "columns": EXTENTS,  # of all arrays
    "length": EXTENTS,
    "leading": st.sampled_from([8, 16, 1, -8]),
    "step": st.sampled_from([1, 2]),
    "at_a": POINTERS,
    "at_x": POINTERS,
    "a_dtype": st.sampled_from(["f32", "f16", "bf16"]),
    "x_dtype": st.sampled_from(["f32", "i32"]),
    "gpu": st.sampled_from([0, 1]),
}
PLAIN: dict[str, Any] = {
    "grid": 1,
    "stream": None,
    "smem": 0,
    "c": False,
    "by": 1.0,
    "n": 1,
    "p": 1,
    "times": 1,
    "gpu": 0,
    "rows": 4,
    "columns": 8,
    "length": 8,
    "leading": 8,
    "step": 1,
    "at_a": 0x10000,
    "at_x": 0x10000,
    "a_dtype": "f32",
    "x_dtype": "f32",
}


def arguments_of(call: dict[str, Any]) -> tuple[Any, ...]:
    gpus = rt.device(0), rt.device(call["gpu"])
    a: Any = Placed(call["at_a"], (call["rows"], call["columns"]), (call["leading"], 1), call["a_dtype"], gpus[0])
    x: Any = Placed(call["at_x"], (call["length"],), (call["step"],), call["x_dtype"], gpus[1])
    c = Placed(call["at_x"], (call["columns"],), (1,), call["a_dtype"], gpus[0])
    return a, Pair(x, call["p"]), c if call["c"] else None, call["by"], call["n"]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_a_launch_comes_to_what_it_comes_to_from_the_start(cuda: FakeCuda, data: st.DataObject) -> None:
    if id(cuda) not in KERNELS:
        KERNELS[id(cuda)] = made(_everything), plain(_everything)
    planned, anew = KERNELS[id(cuda)]
    for call in data.draw(calls(PLAIN, FIELDS, 2)):
        launch = Launch(call["grid"], 32, stream=call["stream"], smem=call["smem"])
        arguments = arguments_of(call)
        alike(cuda, (planned, anew), launch, *arguments, times=call["times"])
    assert set(planned._made.compiled) <= set(anew._made.compiled)


KERNELS: dict[int, tuple[Kernel, Kernel]] = {}


def test_addresses_numbers_and_streams_are_each_launchs_own(
    cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, a, b, c = made(_add), on_gpu((8,)), on_gpu((8,)), on_gpu((8,))
    kernel[4, 32](a, b, 2.0)
    reuses(kernel, monkeypatch)
    before = launched(kernel, cuda, (4, 32), a, b, 2.0)
    assert launched(kernel, cuda, (4, 32), a, b, by=2.0) == before
    assert launched(kernel, cuda, (4, 32), c, b, 2.0)[3] != before[3]
    assert launched(kernel, cuda, (4, 32), a, b, 3.0)[3] != before[3]
    for stream in (0x7000, 0x9000, 0x7000):
        assert launched(kernel, cuda, (4, 32, stream), a, b, 2.0)[0]["hStream"] == stream


def test_tensor_maps_follow_the_address(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = made(_tiles)
    tensors = [Placed(pointer, (128, 64), (64, 1), "bf16", rt.device(0)) for pointer in (0x7A0000, 0x7B0000)]
    kernel[1, 32](tensors[0])
    reuses(kernel, monkeypatch)
    first, second, again = (launched(kernel, cuda, (1, 32), tensors[i]) for i in (0, 1, 0))
    assert first == again
    assert first[3] != second[3]
    assert launched(kernel, cuda, (1, 32), tensors[1]) == second
    # Python encodes for the first launch; the launcher has maps of its own.
    assert [drawn["address"] for drawn in cuda.maps] == [0x7A0000, 0x7A0000, 0x7B0000]


def test_errors_are_the_same_after_a_launch_that_went_well(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    a, b = on_gpu((8,)), on_gpu((8,))
    wrong: list[tuple[Any, tuple[Any, ...], type[Exception]]] = [
        ((1, 32), (a, on_gpu((9,)), 1.0), ArgumentError),
        ((1, 32), (a, on_gpu((8,), gpu=1), 1.0), ArgumentError),
        ((1, 32), (a, b, 1e39), ArgumentError),
        ((1, 32), (a, b, True), ArgumentError),
        ((1, 32), (a, b), ArgumentError),
        ((True, 32), (a, b, 1.0), LaunchError),
        (((1, True), 32), (a, b, 1.0), LaunchError),
        ((1, 32, -1), (a, b, 1.0), LaunchError),
    ]
    for launch, arguments, kind in wrong:
        kernel = made(_add)
        before = launched(kernel, cuda, launch, *arguments)
        assert before[0] is kind
        for _ in range(3):
            for grid in (1, (1, 1)):
                assert launched(kernel, cuda, (grid, 32), a, b, 1.0)[0]["gridDimX"] == 1
            assert launched(kernel, cuda, launch, *arguments) == before


def test_tensors_of_torch(torch: ModuleType, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_ARCH", "sm_80")  # they are on the other GPU
    planned, anew = made(_add), plain(_add)
    usual = FakeTensor("torch.float32", (8,))
    for _ in range(2):
        for x in (
            usual,
            FakeTensor("torch.float32", (8,), pointer=0x9010),
            FakeTensor("torch.float32", (8,), pointer=0),
            FakeTensor("torch.float32", (8,), pointer=-1),
            FakeTensor("torch.float32", (8,), negated=True),
            FakeTensor("torch.float16", (8,)),
            FakeTensor("torch.float32", (2, 3)),
        ):
            alike(cuda, (planned, anew), (1, 32), usual, x, 1.0)
    reuses(planned, monkeypatch)
    assert launched(planned, cuda, (1, 32), usual, usual, 1.0)[0]["hStream"] == 0x101
    torch.__dict__["cuda"].current_stream = lambda ordinal: SimpleNamespace(cuda_stream=0x500)
    assert launched(planned, cuda, (1, 32), usual, usual, 1.0)[0]["hStream"] == 0x500


def test_constants_are_told_apart_by_type_and_sign(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    planned, anew = made(_everything), plain(_everything)
    arguments = arguments_of(PLAIN)
    for _ in range(2):
        for times in (1, True, 1.0, 0.0, -0.0, float("nan"), "x", None, (1, 2), [1, 2, 3]):
            assert alike(cuda, (planned, anew), (1, 32), *arguments, times=times)[3]
    reuses(planned, monkeypatch)
    handles = [launched(planned, cuda, (1, 32), *arguments, times=times)[1] for times in (1, True, 1.0, -0.0)]
    assert len(set(handles)) == 3, "by the lengths of their texts"


def test_the_number_that_packing_would_round_is_refused(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    kernel, a = made(_narrow), on_gpu((8,))
    for _ in range(3):
        assert launched(kernel, cuda, (1, 32), a, 448.0)[3]
        assert launched(kernel, cuda, (1, 32), a, -464.0)[0] is ArgumentError


def test_a_failing_driver_fails_launches_from_a_plan(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    kernel, a = made(_add), on_gpu((8,))
    kernel[1, 32](a, a, 1.0)
    cuda.fail["cuLaunchKernelEx"] = 700
    planned, anew = (launched(made_, cuda, (1, 32), a, a, 1.0) for made_ in (kernel, plain(_add)))
    assert planned == anew
    assert planned[0] is rt.CudaError


@pytest.fixture(params=[True, False])
def counted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test where Python tells of changes, and once more where it does not."""
    if not request.param:
        monkeypatch.setattr(watching, "watcher", lambda: None)


@pytest.mark.usefixtures("counted")
def test_a_global_bound_to_another_object(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, a = made(_add), on_gpu((8,))
    handles = []
    for factor in (2, 2, 3, 3, 2):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        handles.append([launched(kernel, cuda, (1, 32), a, a, 1.0)[1] for _ in range(3)])
    assert all(len(set(each)) == 1 for each in handles)
    first, same, other, _, back = (each[0] for each in handles)
    assert first == same == back != other


class Settings:
    by = 2


class Special(Settings): ...


def _scaled(x: Tensor[f32, (N,)]) -> None:
    x[0] = x[0] * Special.by


@pytest.mark.usefixtures("counted")
def test_an_attribute_of_a_class_that_is_set(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, a = made(_scaled), on_gpu((8,))
    handles = []
    for cls, by in ((Settings, 2), (Settings, 3), (Special, 5), (Special, 2), (Settings, 7)):
        monkeypatch.setattr(cls, "by", by)
        handles.append([launched(kernel, cuda, (1, 32), a)[1] for _ in range(3)])
    assert all(len(set(each)) == 1 for each in handles)
    two, three, five, back, hidden = (each[0] for each in handles)
    assert len({two, three, five}) == 3 and back == hidden


def test_other_globals_may_change(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, a = made(_add), on_gpu((8,))
    before = launched(kernel, cuda, (1, 32), a, a, 1.0)
    assert launched(kernel, cuda, (1, 32), a, a, 1.0) == before
    reuses(kernel, monkeypatch)
    for i in range(3):
        monkeypatch.setitem(globals(), "OTHER", i)
        assert launched(kernel, cuda, (1, 32), a, a, 1.0) == before
    factor = FACTOR
    monkeypatch.delitem(globals(), "FACTOR")
    monkeypatch.setitem(globals(), "FACTOR", factor)
    assert launched(kernel, cuda, (1, 32), a, a, 1.0) == before


def test_contexts_have_their_own_and_handles_may_come_back(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    kernel, a = made(_add), on_gpu((8,))
    seen = []
    for context in (0x1000, 0x3000, 0x1000):
        cuda.stack[-1] = context
        seen += [launched(kernel, cuda, (1, 32), a, a, 1.0)[1:3] for _ in range(2)]
    assert seen[0] == seen[1] == seen[4] == seen[5]
    assert seen[2] == seen[3] != seen[0]
    cuda.stack[-1] = 0x3000
    cuda._context_ids.pop(0x3000)  # destroyed, and another one made at its address
    again = [launched(kernel, cuda, (1, 32), a, a, 1.0)[1] for _ in range(2)]
    assert again[0] == again[1] != seen[2][0]


def test_arrays_elsewhere_than_the_current_context(
    cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, a = made(_add), on_gpu((8,), gpu=1)
    monkeypatch.setenv("CUTELITE_ARCH", "sm_80")
    kernel[1, 32](a, a, 1.0)
    reuses(kernel, monkeypatch)
    assert launched(kernel, cuda, (1, 32), a, a, 1.0)[2] == 0x1001
    assert cuda.stack == [0x1000]


def test_outcomes_are_bounded(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "MOST_OUTCOMES", 3)
    kernel, a = made(_add), on_gpu((8,))
    found = kernel._launching.launcher
    assert found is not None
    for i in range(1, 9):
        kernel[1, 32 * i](a, a, 1.0)
        assert len(found) == (i - 1) % 3 + 1
    reuses(kernel, monkeypatch)
    for i in (7, 8):
        assert launched(kernel, cuda, (1, 32 * i), a, a, 1.0)[0]["blockDimX"] == 32 * i


@pytest.fixture(params=[True, False], ids=["lock", "no lock"])
def lock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Machine code that relies on an interpreter lock, and such that does not, where threads take turns often."""
    if request.param and native.FREE_THREADED:
        pytest.skip("this Python has none")
    if not native.FREE_THREADED:
        watching.watch([globals()])  # machine code does it without a lock, where Python has critical sections
    monkeypatch.setattr(native, "FREE_THREADED", not request.param)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("lock")
def test_threads_share_outcomes_and_no_parameters(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    kernel, a = made(_add), on_gpu((8,))
    kernel[1, 32](a, a, 0.0)
    cuda.packed.clear()

    def work(i: int) -> None:
        for _ in range(200):
            kernel[1, 32](a, a, float(i))

    at_once(work, range(6))
    assert collections.Counter(data[16:20] for data in cuda.packed) == {struct.pack("f", i): 200 for i in range(6)}
    assert len(kernel._launching.launcher or ()) == 1


@pytest.mark.usefixtures("lock")
def test_threads_launch_while_outcomes_and_maps_are_replaced(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    kernel, rows = made(_tiles), [on_gpu((64 + i, 64), "bf16") for i in range(6)]

    def work(i: int) -> None:
        for n in range(40):
            for block in (32, 64 + 32 * (n % 8)):  # the one that all launch, and one that may be new
                kernel[1, block](rows[i if n % 4 else (i + n) % 6])

    at_once(work, range(6))
    found = collections.Counter(config.blockDimX for config, *_ in cuda.launches)
    assert found == {32: 240, **{64 + 32 * n: 30 for n in range(8)}}
    assert len(kernel._launching.launcher or ()) == 9


@pytest.mark.usefixtures("lock")
def test_threads_notice_that_a_global_changes(
    cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, a = made(_add), on_gpu((8,))
    kernel[1, 32](a, a, 0.0)

    def work(_: int) -> None:
        for i in range(100):
            monkeypatch.setitem(globals(), "OTHER", i)
            kernel[1, 32](a, a, 1.0)

    at_once(work, range(4))
    reuses(kernel, monkeypatch)
    kernel[1, 32](a, a, 1.0)
    monkeypatch.setitem(globals(), "FACTOR", 3)
    with pytest.raises(AssertionError, match="from the start"):
        kernel[1, 32](a, a, 1.0)


def test_memory_is_kept_while_launches_under_way_may_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "FREE_THREADED", True)
    waiting = readers.Readers()
    places = (ctypes.c_uint64 * (readers.PLACE_WORDS * readers.PLACES)).from_address(waiting.address)
    places[0] = 2
    waiting.let_go("no launch is under way")
    assert len(waiting) == 0
    places[0], places[8] = 3, 1
    waiting.let_go("two launches are under way")
    places[0] = 5  # another launch has the place
    waiting.let_go("two others are")
    assert len(waiting) == 2
    places[8] = 2
    waiting.let_go("one is")
    assert len(waiting) == 2
    places[0] = 6
    waiting.let_go("none is")
    assert len(waiting) == 0


def test_a_partial_of_before_the_launcher_finds_it(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: Any) -> None:
    for free_threaded in (native.FREE_THREADED, True):
        monkeypatch.setattr(native, "FREE_THREADED", free_threaded)
        kernel, a = plain(_add), on_gpu((8,))
        held = kernel[1, 32]
        held(a, a, 1.0)
        with_launcher(kernel)
        held(a, a, 1.0)
        reuses(kernel, monkeypatch)
        cuda.packed.clear()
        held(a, a, 2.0)
        assert [data[16:20] for data in cuda.packed] == [struct.pack("f", 2)]
