"""Events of `cl.profile`: no instruction when off, rings when on, and the same on the simulator's timeline."""

from __future__ import annotations

import importlib
import json
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import cutelite as cl
from cutelite import Tensor, f32, i64
from cutelite.config import ConfigError
from cutelite.dispatch import LaunchError
from cutelite.dispatch.profiling import decoded
from cutelite.dispatch.ranges import _nvtx
from cutelite.lower.profile import LANE, RING
from cutelite.ops.debug import PHASES
from cutelite.sim.marks import MARKS, Mark, ranges, trace_events
from tests.dispatch.conftest import GpuArray
from tests.rt.conftest import FakeCuda

THREADS = 64
N = cl.dims("N")


@cl.kernel(block=THREADS)
def marked(a: Tensor[f32, (N,)]) -> None:
    total = f32(0.0)
    for i in range(3):
        with cl.profile.range("load", i):
            total += a[i]
        if cl.thread_idx.x == 5:
            cl.profile.mark("five", i)
    cl.profile.mark("end")
    a[cl.thread_idx.x] = total


@cl.kernel(block=THREADS)
def unmarked(a: Tensor[f32, (N,)]) -> None:
    total = f32(0.0)
    for i in range(3):
        total += a[i]
        if cl.thread_idx.x == 5:
            pass
    a[cl.thread_idx.x] = total


def named(kernel: Any, name: str, **options: Any) -> Any:
    return kernel.compile(arch="sm_90a", name=name, **options)


def test_events_leave_no_instruction_when_they_are_off() -> None:
    assert named(marked, "same").ptx == named(unmarked, "same").ptx
    assert named(marked, "same").cubin == named(unmarked, "same").cubin


def test_events_are_instructions_when_they_are_on() -> None:
    compiled = named(marked, "on", profile=True)
    assert compiled.artifact.signature is not None
    assert compiled.artifact.signature["marks"] == ["end", "five", "load"]
    assert compiled.ptx.count("activemask") == 4
    assert compiled.spills == 0 and compiled.stack_frame == 0  # the cursor is in registers
    assert "cutelite_profile" not in named(unmarked, "off").ptx


def test_an_event_is_few_instructions() -> None:
    compiled, plain = named(marked, "on", profile=True).sass, named(unmarked, "on", profile=True).sass
    if compiled is None or plain is None:
        pytest.skip("no nvdisasm")
    stores = [each for each in compiled.instructions if each.opcode == "STG.E.64" and each.guard]
    assert len(compiled.instructions) - len(plain.instructions) <= 10 * len(stores)
    assert not any(each.kind == "local" for each in compiled.instructions)


def test_a_value_is_any_integer_of_which_20_bits_are_kept() -> None:
    @cl.kernel(block=32)
    def values(a: Tensor[f32, (N,)], n: i64) -> None:
        for value in (N, N // 2, True, 1 << 20 | 3, np.int64(4), n, a[0] > 0.0):
            cl.profile.mark("at", value)

    timeline = values.profile(1, None, np.ones(64, np.float32), 5)
    assert [value for _, _, value in timeline.order(0, 0)] == [64, 32, 1, 3, 4, 5, 1]
    assert repr(timeline).startswith("<timeline of values: ")


def test_the_timeline_has_the_events_in_order(tmp_path: Path) -> None:
    timeline = marked.profile(2, None, np.zeros(64, np.float32))
    loads = [(phase, "load", i) for i in range(3) for phase in ("begin", "end")]
    fives = [("mark", "five", i) for i in range(3)]
    assert timeline.order(1, 1) == [*loads, ("mark", "end", 0)]
    assert [event for event in timeline.order(0, 0) if event[1] == "five"] == fives
    assert timeline.order(0, 0) == [
        *(event for i in range(3) for event in (*loads[2 * i : 2 * i + 2], fives[i])), ("mark", "end", 0)]  # fmt: skip
    timeline.save(tmp_path / "out.json")
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    shown = [event for event in events if event["tid"] == MARKS and event["pid"] == 0 and event["ph"] in "Xi"]
    assert [event["name"] for event in shown if event["ph"] == "X"] == ["load 0", "load 1", "load 2"]
    assert all(event["dur"] > 0 for event in shown if event["ph"] == "X")


def test_the_environment_has_every_launch_profiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_PROFILE", str(tmp_path / "profiles"))
    kernel = marked.options(opt=2)  # a kernel of its own, which reads the environment
    for _ in range(2):
        kernel[1](np.zeros(64, np.float32))
    assert sorted(path.name for path in (tmp_path / "profiles").iterdir()) == ["marked.0.json", "marked.1.json"]
    monkeypatch.setenv("CUTELITE_PROFILE", str(tmp_path / "profiles" / "marked.0.json" / "more"))
    with pytest.raises(ConfigError, match=r"^CUTELITE_PROFILE=.*: this folder cannot be made or written to"):
        marked.options(opt=1)[1](np.zeros(64, np.float32))


def ring(events: list[tuple[int, str, int, int]], size: int) -> np.ndarray[Any, Any]:
    """What a thread leaves that records (clock, phase, name, value): the last of them, from the front."""
    words = np.zeros((size // 8, 2), np.uint32)
    for i, (clock, phase, name, value) in enumerate(events):
        words[i % len(words)] = clock % (1 << 32), (PHASES.index(phase) + 1) << 30 | name << 20 | value
    return words.reshape(-1).view(np.uint8)


def warp(start: tuple[int, int], end: tuple[int, int], sm: int, lanes: dict[int, Any]) -> np.ndarray[Any, Any]:
    data = np.zeros(2 * RING, np.uint8)
    for lane, events in lanes.items():
        at, size = (0, RING) if lane == 0 else (RING + lane * LANE, LANE)
        data[at : at + size] = ring(events, size)
    data[RING : RING + 32] = np.array([*start, *end], np.uint64).view(np.uint8)
    data[RING + 32 : RING + 40] = np.array([sm, 1], np.uint32).view(np.uint8)
    return data


def test_rings_are_decoded_to_one_time() -> None:
    """Clocks of multiprocessors differ, and wrap; nanoseconds are common to all."""
    near = (1 << 32) - 10
    rows = [
        warp((near, 1000), (near + 2000, 2000), 7, {0: [(near + 5, "begin", 1, 3), (near + 25, "end", 1, 3)]}),
        np.zeros(2 * RING, np.uint8),
        warp((50, 1100), (100, 1125), 9, {0: [(60, "mark", 0, 0)], 4: [(70, "mark", 1, 2)]}),
    ]
    profile = decoded("k", ["a", "b"], np.stack(rows), 1)
    assert profile.clock == 2.0
    assert [(warp.block, warp.sm, warp.begin) for warp in profile.warps] == [(0, 7, 0.0), (2, 9, 200.0)]
    assert profile.events == [
        Mark(0, 0, 0, 7, 5.0, "begin", "b", 3),
        Mark(0, 0, 0, 7, 25.0, "end", "b", 3),
        Mark(2, 0, 0, 9, 210.0, "mark", "a", 0),
        Mark(2, 0, 4, 9, 220.0, "mark", "b", 2),
    ]
    assert profile.order(0, 0) == [("begin", "b", 3), ("end", "b", 3)]


def test_a_full_ring_keeps_the_latest() -> None:
    count = LANE // 8 + 10
    events = [(i, "mark", 0, i) for i in range(1, count)]
    profile = decoded("k", ["a"], warp((0, 0), (9999, 9999), 0, {3: events})[None], 1)
    assert [mark.value for mark in profile.events] == list(range(count - LANE // 8, count))


def test_buffers_have_arrows_from_filling_to_waiting() -> None:
    def pair(warp: int, name: str, begin: float, end: float, value: int) -> list[Mark]:
        return [Mark(0, warp, 0, 0, begin, "begin", name, value), Mark(0, warp, 0, 0, end, "end", name, value)]

    marks = [*pair(0, "acquire", 0, 10, 0), *pair(0, "acquire", 20, 30, 0), *pair(1, "wait", 5, 15, 0),
             *pair(1, "wait", 16, 40, 0), *pair(2, "wait", 6, 17, 0)]  # fmt: skip
    events = trace_events(marks)
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    arrows = [(begins[i]["ts"] * 1000, ends[i]["ts"] * 1000, ends[i]["tid"] - MARKS) for i in begins]
    assert sorted(arrows) == [(10.0, 15.0, 1), (10.0, 17.0, 2), (30.0, 40.0, 1)]
    assert begins.keys() == ends.keys()


def test_halves_of_ranges_are_left_out() -> None:
    lost = [Mark(0, 0, 0, 0, 1.0, "end", "a", None), Mark(0, 0, 0, 0, 2.0, "begin", "b", None)]
    assert list(ranges(lost)) == []


@pytest.mark.sm(90)
def test_a_gpu_records_what_the_simulator_does() -> None:
    torch = pytest.importorskip("torch")
    profile = marked.profile(2, None, torch.zeros(64, device="cuda"))
    timeline = marked.trace_launch(cl.Launch(2), np.zeros(64, np.float32))
    for block in range(2):
        for number in range(2):
            assert sorted(profile.order(block, number)) == sorted(timeline.order(block, number))
            assert profile.order(block, number) == timeline.order(block, number)


@pytest.mark.sm(90)
def test_a_gemm_has_the_same_events_in_the_same_order_on_both() -> None:
    torch = pytest.importorskip("torch")
    gemm, threads = (getattr(importlib.import_module("hopper_gemm_tiled"), name) for name in ("gemm", "THREADS"))
    host = [np.ones(shape, bfloat16) for shape in ((512, 512), (768, 512), (512, 768))]
    device = [torch.ones(x.shape, dtype=torch.bfloat16, device="cuda") for x in host]
    profile, timeline = gemm.profile(4, threads, *device), gemm.profile(4, threads, *host)
    warps = sorted({(mark.block, mark.warp) for mark in timeline.marks})
    assert warps == sorted({(mark.block, mark.warp) for mark in profile.events})
    assert len(warps) == 4 * (1 + 8)  # of a block the thread that copies, and two warpgroups
    for block, number in warps:
        assert profile.order(block, number) == timeline.order(block, number)


@pytest.mark.parametrize("where", ["gpu", "simulator"])
def test_launches_are_made_within_what_a_program_enters(where: str, on_gpu: GpuArray, cuda: FakeCuda) -> None:
    said: list[str] = []

    @contextmanager
    def told(event: cl.LaunchEvent) -> Iterator[None]:
        said.append(f"{event.name}[{event.launch.grid}]({len(event.args)})")
        yield
        said.append("over")

    a = on_gpu((64,)) if where == "gpu" else np.ones(64, np.float32)
    launched = unmarked.options(opt=1)[2]
    for _ in range(10):  # so that machine code would make the next launch
        launched(a)
    with cl.around_launches(told):
        launched(a)
        with cl.around_launches(lambda event: nullcontext()):
            launched(a)
    launched(a)
    with pytest.raises(TypeError, match=r"takes is a function of \(event\), not 5"), cl.around_launches(5):  # type: ignore[arg-type]
        pass
    assert said == ["unmarked[2](1)", "over"] * 2
    assert len(cuda.launches) == (13 if where == "gpu" else 0)


def test_launches_have_nvtx_ranges(on_gpu: GpuArray, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    fake = types.ModuleType("nvtx")
    vars(fake).update(push_range=said.append, pop_range=lambda: said.append(f"end, {len(cuda.launches)} launched"))
    monkeypatch.setitem(sys.modules, "nvtx", fake)
    monkeypatch.setenv("CUTELITE_NVTX", "1")
    _nvtx.cache_clear()
    kernel = unmarked.options(opt=2)
    for grid in ((3,), (2, 5)):
        kernel[grid, None](on_gpu((64,)))
    assert said == ["unmarked[3](64)", "end, 1 launched", "unmarked[2, 5](64)", "end, 2 launched"]
    _nvtx.cache_clear()
    monkeypatch.setitem(sys.modules, "nvtx", None)
    of_torch = types.ModuleType("torch.cuda.nvtx")
    of_torch.range_push, of_torch.range_pop = fake.push_range, fake.pop_range  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.cuda.nvtx", of_torch)
    assert _nvtx() == (fake.push_range, fake.pop_range)
    _nvtx.cache_clear()
    monkeypatch.setitem(sys.modules, "torch.cuda.nvtx", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(LaunchError, match="pip install nvtx"):
        kernel[3](on_gpu((64,)))
    _nvtx.cache_clear()
