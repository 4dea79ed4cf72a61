"""`cl.do_bench` and `cl.compare` on a driver made of Python, whose launches take the time that a test says."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32
from cutelite.bench.machine import Sample
from cutelite.bench.measure import COLD_CALLS, Cache, Timing, measured
from cutelite.diag.progress import Progress
from tests.bench.rotating import rotating
from tests.dispatch.conftest import GpuArray
from tests.dispatch.conftest import environment as environment
from tests.dispatch.conftest import on_gpu as on_gpu
from tests.rt.conftest import FakeCuda
from tests.rt.conftest import cuda as cuda

N = cl.dims("N")


@cl.kernel(block=32)
def touched(a: Tensor[f32, (N,)]) -> None:
    a[cl.thread_idx.x] = 1.0


@pytest.fixture
def array(on_gpu: GpuArray, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> rt.DeviceArray:
    """Launches of n blocks take n microseconds."""
    monkeypatch.setattr("cutelite.bench.measure.WARM_UP_S", 0.0)
    monkeypatch.setattr(cuda, "cost", lambda config: config.gridDimX * 1e-3)  # in milliseconds
    return on_gpu((32,))


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_rivals_are_timed_without_the_host(array: rt.DeviceArray, cuda: FakeCuda, cache: Cache) -> None:
    found = cl.do_bench({"three": lambda: touched[3](array), "five": lambda: touched[5](array)}, cache=cache, rounds=3)
    assert [timing.seconds for timing in found.values()] == pytest.approx([3e-6, 5e-6])
    assert all(timing.graph and timing.cache == cache and len(timing.rounds) == 3 for timing in found.values())
    assert not cuda.graphs and not cuda.capturing
    assert found["three"].rate(3e6) == pytest.approx(1e12)
    assert str(found["five"]).startswith("five: 5.00 us +- 0.0% (")
    assert repr(found["five"]) == f"<{found['five']}>"


def test_what_cannot_be_captured_is_launched(array: rt.DeviceArray, cuda: FakeCuda) -> None:
    def waits() -> None:
        touched[4](array)
        if cuda.capturing:
            raise RuntimeError("this waits for its result")

    timing = cl.do_bench(waits, rounds=2)
    assert (timing.name, timing.graph) == ("waits", False)
    assert timing.seconds == pytest.approx(4e-6)
    with pytest.raises(RuntimeError, match="waits for its result"):
        cl.do_bench(waits, graph=True, rounds=2)


def test_bad_arguments_are_refused(array: rt.DeviceArray) -> None:
    with pytest.raises(ValueError, match="'cold' or 'warm'"):
        cl.do_bench(lambda: None, cache="tepid")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="must be 1 or more"):
        cl.do_bench(lambda: None, rounds=0)
    for wrong in (3, {}, {"three": 3}):
        with pytest.raises(TypeError, match=r"functions by name, is to be timed, not (3|\{)"):
            cl.do_bench(wrong)  # type: ignore[arg-type]


def test_rounds_go_in_turns() -> None:
    """Every rival once a round, and none always behind the same other."""
    order: list[str] = []

    def trial(name: str) -> float:
        order.append(name)
        return 1.0

    times, samples = measured(
        {name: partial(trial, name) for name in "abc"}, 8, lambda: Sample(1980, 700.0), warm_up=0.0
    )
    rounds = [order[i : i + 3] for i in range(0, len(order), 3)]
    assert all(sorted(each) == ["a", "b", "c"] for each in rounds) and len({tuple(each) for each in rounds}) > 1
    assert {name: len(found) for name, found in times.items()} == {"a": 8, "b": 8, "c": 8}
    assert samples["a"] == [Sample(1980, 700.0)] * 8


def made(name: str, seconds: float) -> Timing:
    return Timing(name, seconds, seconds, seconds, (seconds,), "cold", True, 1980.0, 650.0)


def test_a_comparison_is_a_table_csv_and_svg(tmp_path: Path) -> None:
    def slow(m: int, n: int) -> Callable[[], None]:
        if m == 2:
            raise ValueError("m is 2")
        return lambda: None

    found = cl.compare(
        {"fast": lambda m, n: lambda: None, "slow": slow},
        [(1, 10), (2, 10)],
        flops=lambda m, n: m * n * 1e9,
        title="rates",
        bench=lambda calls, **_: {name: made(name, {"fast": 1e-3, "slow": 2e-3}[name]) for name in calls},
    )
    assert found.table().splitlines() == [
        "rates",
        "shape   fast (TFLOPS)  slow (TFLOPS)",
        "1 x 10          10.0*           5.0",
        "2 x 10          20.0*         failed",
        "slow of 2 x 10: ValueError: m is 2",
    ]
    rows = list(csv.DictReader(StringIO(found.csv())))
    assert [(row["shape"], row["rival"], row["TFLOPS"]) for row in rows] == [
        ("1 x 10", "fast", "10.0"), ("1 x 10", "slow", "5.0"), ("2 x 10", "fast", "20.0")]  # fmt: skip
    assert found.save(tmp_path / "out.svg").read_text().count("<title>") == 3
    with pytest.raises(ValueError, match="must end in one of"):
        found.save(tmp_path / "out.png")


def test_a_comparison_of_times_stars_the_shortest() -> None:
    rivals = {"a": lambda n: lambda: None, "b": lambda n: lambda: None}
    found = cl.compare(rivals, [7], bench=lambda calls, **_: {"a": made("a", 2e-6), "b": made("b", 1e-6)})
    assert found.table().splitlines()[2].split() == ["7", "2.0", "1.0*"]
    for wrong in ({}, {"a": 3}, 3):
        with pytest.raises(TypeError, match="functions of a shape by name"):
            cl.compare(wrong, [])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not both"):
        cl.compare(rivals, [7], flops=lambda n: n, bytes=lambda n: n)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_quiet_for_short_work_and_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("cutelite.diag.progress.time.monotonic", lambda: now[0])
    terminal, file = Terminal(), StringIO()
    with Progress("tuning", total=4, stream=terminal) as progress:
        progress.step()
        assert terminal.getvalue() == ""
        now[0] = 3.0
        progress.step(note="config 2")
        with Progress("compiling", stream=terminal) as inner:
            now[0] = 9.0
            inner.step()
        assert terminal.getvalue() == "\rtuning: 2 of 4 after 3 s, 3 s left, config 2"
    assert terminal.getvalue().endswith("\r")
    with Progress("tuning", total=4, stream=file) as progress:
        now[0] = 99.0
        progress.step()
    assert file.getvalue() == ""


def test_operands_rotate_through_calls_in_a_row(array: rt.DeviceArray, cuda: FakeCuda) -> None:
    """As those of GEMMs do, which are to come from memory each time; results are those of one rival each."""
    seen: dict[str, list[int]] = {"three": [], "five": []}

    def call(name: str, blocks: int, i: int) -> None:
        seen[name].append(i)
        touched[blocks](array)

    calls = {"three": partial(call, "three", 3), "five": partial(call, "five", 5)}
    found = cl.do_bench(rotating(calls, 4), cache="warm", graph=True, rounds=2)
    assert [timing.seconds for timing in found.values()] == pytest.approx([3e-6, 5e-6])
    assert all(numbers == [i % 4 for i in range(len(numbers))] and len(numbers) > 8 for numbers in seen.values())


def test_cold_calls_have_their_cache_overwritten(
    array: rt.DeviceArray, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    fills: list[int] = []
    fill = cuda.cuMemsetD8Async

    def noted(target: int, value: int, size: int, stream: int) -> tuple[()]:
        fills.append(size)
        return fill(target, value, size, stream)

    monkeypatch.setattr(cuda, "cuMemsetD8Async", noted)
    cl.do_bench(lambda: touched[1](array), rounds=2)
    assert len(fills) >= 2 * COLD_CALLS and set(fills) == {2 * rt.device(0).limits.l2_bytes}
    fills.clear()
    cl.do_bench(lambda: touched[1](array), cache="warm", rounds=2)
    assert fills == []
