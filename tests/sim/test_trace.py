"""Timelines: valid trace events, clocks that follow causes, and the overlap of a pipelined kernel to be seen."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, cli
from cutelite.sim import Timeline, trace
from tests.mutate.launches import launched

M, N = cl.dims("M N")
Event = dict[str, Any]


def timeline(kernel: str, seed: int = 0) -> Timeline:
    made = launched(kernel)
    return trace(made.function, made.grid, made.args, dims=made.dims, smem_dynamic=made.smem, seed=seed)


def slices(found: Timeline) -> list[Event]:
    return [event for event in found.events if event["ph"] == "X"]


def rows(found: Timeline) -> dict[tuple[int, int], str]:
    named = [event for event in found.events if event["name"] == "thread_name"]
    return {(event["pid"], event["tid"]): event["args"]["name"] for event in named}


def on_row(found: Timeline, name: str) -> list[Event]:
    names = rows(found)
    return [event for event in slices(found) if names[event["pid"], event["tid"]].startswith(name)]


def end(event: Event) -> float:
    return float(event["ts"] + event["dur"])


@pytest.mark.parametrize("kernel", ["hopper_gemm", "tma_transpose", "st_async", "multicast", "pipeline_order"])
def test_the_file_is_a_trace(kernel: str, tmp_path: Path) -> None:
    found = timeline(kernel)
    found.save(tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["otherData"]["kernel"] == found.name
    named = set()
    for event in document["traceEvents"]:
        assert event["ph"] in ("X", "M")
        assert isinstance(event["name"], str) and {"pid", "tid", "ts", "args"} <= event.keys()
        if event["ph"] == "M":
            named.add((event["pid"], event["tid"]))
        else:
            assert event["ts"] >= 0 and event["dur"] > 0
            assert (event["pid"], event["tid"]) in named, "rows are named before they are used"


@pytest.mark.parametrize("kernel", ["hopper_gemm", "tensorop_gemm", "dsmem", "bulk"])
def test_slices_of_a_row_follow_each_other(kernel: str) -> None:
    found = timeline(kernel)
    by_row: dict[tuple[int, int], list[Event]] = {}
    for event in slices(found):
        by_row.setdefault((event["pid"], event["tid"]), []).append(event)
    for events in by_row.values():
        for before, after in pairwise(sorted(events, key=lambda event: event["ts"])):
            assert end(before) <= after["ts"] + 1e-9


def test_the_copies_of_the_next_stages_overlap_the_multiplication_of_this_one() -> None:
    found = timeline("hopper_gemm")
    multiplications, copies = on_row(found, "tensor core"), on_row(found, "copies")
    loads = [copy for copy in copies if copy["name"].endswith("g2s")]
    assert len(multiplications) == 9 * 2 and len(loads) == 9 * 2  # of two warpgroups; of A and B
    under_way = [sum(copy["ts"] < end(m) and m["ts"] < end(copy) for copy in loads) for m in multiplications]
    assert all(n >= 2 for n in under_way[:8]), "while there is something to load, it is being loaded"
    assert all(load["args"]["bytes"] in (128 * 64 * 2, 256 * 64 * 2) for load in loads)


def test_nothing_is_read_before_it_is_there() -> None:
    found = timeline("hopper_gemm")
    loads = [copy for copy in on_row(found, "copies") if copy["name"].endswith("g2s")]
    first = min(m["ts"] for m in on_row(found, "tensor core"))
    assert first >= max(end(load) for load in sorted(loads, key=lambda load: float(load["ts"]))[:2])


@cl.kernel
def meeting(out: Tensor[cl.f32, (N,)]) -> None:
    t = cl.thread_idx.x
    x = out[t]
    if t < 32:
        for _ in range(100):
            x = x * 0.5
    cl.syncthreads()
    out[t] = x


def test_those_who_come_early_wait_for_the_last() -> None:
    out = np.ones(64, np.float32)
    found = meeting.trace_launch(cl.Launch(1, 64), out)
    waits = [event for event in slices(found) if event["name"].startswith("wait: barrier")]
    slow, quick = (sum(e["dur"] for e in waits if e["tid"] == warp) for warp in (0, 1))
    assert quick > slow and quick * 1000 > 100 * 4
    assert out[40] == 1


@pytest.mark.parametrize("kernel", ["hopper_gemm", "tma_transpose"])
def test_times_hardly_depend_on_the_schedule(kernel: str) -> None:
    seeds = (0, 1, 2, 4)  # 3 lets the newest copies come first: each turn of the ring waits for all of it
    cycles = [timeline(kernel, seed).cycles for seed in seeds]
    assert max(cycles) < 1.1 * min(cycles)


def test_the_command_line_writes_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "tma_transpose.py"
    assert cli.main(["check", str(example), "--seeds", "1", "--trace", str(tmp_path / "t.json")]) == 0
    assert "cycles" in capsys.readouterr().err
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


@cl.kernel(block=128)
def in_flight_around_a_loop(c: Tensor[cl.f32, (64, 64)], n: cl.i32) -> None:
    mma = cl.make_tiled_mma(cl.WarpgroupMmaOp(cl.bf16, cl.f32, n=64), (1, 1, 1))
    tile = cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (64, 64)))
    cl.cooperative_clear(tile)
    cl.fence_proxy_async()
    cl.syncthreads()
    mine, acc = mma.get_slice(cl.thread_idx.x), mma.make_fragment_C(mma.partition_shape_C((64, 64)))
    for _ in range(n):
        acc = cl.gemm(mma, acc, mine.partition_A(tile), mine.partition_B(tile)).keep(1)
    mine.partition_C(c).store(acc.wait().load())


def test_work_that_only_passes_registers_on_takes_no_time_of_the_tensor_core() -> None:
    found = in_flight_around_a_loop.trace_launch(cl.Launch(1), np.zeros((64, 64), np.float32), 3)
    assert [event["name"] for event in on_row(found, "tensor core")] == 3 * ["wgmma.mma_async n=64"]
