"""`kernel.compare_with_gpu(..., by="line")`, with the simulator of another kernel in the place of the GPU.

What no test here sees is the machine code that writes the logs; golden/ops/records.cir has it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32, i32, sim
from cutelite.dispatch.against import told_apart
from cutelite.dispatch.kernel import Kernel
from cutelite.dispatch.records import Log
from cutelite.dispatch.simulating import mirrored, simulation
from cutelite.ops.debug import record_words, recorded_ops
from tests.dispatch.conftest import environment as environment
from tests.rt.conftest import FakeCuda
from tests.rt.conftest import cuda as cuda

N = cl.dims("N")
BLOCKS, THREADS, SIZE = 2, 64, 128


def line_of(function: Kernel, text: str) -> int:
    code = function.__cutelite_function__.__code__
    lines = Path(code.co_filename).read_text().splitlines()
    return 1 + next(i for i in range(code.co_firstlineno, len(lines)) if text in lines[i])


class Recorder:
    """An observer that writes logs as a GPU does: a record that begins in the window."""

    def __init__(self, first: int, window: int, extra: int, rows: int) -> None:
        self.log = Log(np.zeros((rows, window + extra), np.uint32), first, first + window)
        self.at = np.zeros(BLOCKS * THREADS, np.int64)

    def step(self, op: Any, lanes: Any) -> None:
        if op.name != "record":
            return
        size = record_words(op.value.type)
        for lane in np.flatnonzero(lanes.mask):
            row = lanes.machine.index * THREADS + int(lanes.tid[lane])
            at, self.at[row] = int(self.at[row]), self.at[row] + size
            if self.log.first <= at < self.log.end and row < len(self.log.words):
                value = np.ascontiguousarray(np.atleast_1d(np.asarray(lanes.get(op.value))[lane]))
                bits = value.view(f"u{min(4, value.itemsize)}")
                self.log.words[row, at - self.log.first :][:size] = [op.number + 1, *bits]

    def access(self, *facts: Any) -> None: ...
    def event(self, *facts: Any) -> None: ...
    def tolerates(self, error: Any) -> bool:
        return False


Gpu = Callable[..., None]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, cuda: FakeCuda) -> Gpu:
    """Make launches run a kernel in the simulator, logs included."""

    def runs(instead: Kernel, window: int = 1 << 12, rows: int = BLOCKS * THREADS) -> None:
        recorders: list[Recorder] = []

        class Logs:
            def __init__(self, function: Any, grid: Any, block: Any, most: int) -> None:
                self.threads, self.extra = THREADS, most

            def launched(self, number: int, launch: Callable[[], Any]) -> Log:
                recorders.append(Recorder(number * window, window, self.extra, rows))
                launch()
                return recorders[-1].log

        def launched(kernel: Kernel, launch: Any, checked: Any, ordinal: int) -> None:
            mirrors = mirrored(launch, checked.bound)
            assert mirrors is not None
            spec = checked.spec.under(record=True)
            function, values, dims = simulation(instead, spec, checked.bound, mirrors)
            sim.run(function, checked.grid, values, dims=dims, observer=recorders[-1] if recorders else None)
            mirrors.write_back()

        monkeypatch.setattr("cutelite.dispatch.comparing.Logs", Logs)
        monkeypatch.setattr(Kernel, "_run", launched)

    return runs


def compared(kernel: Kernel, *arrays: Any, **options: Any) -> Any:
    given = [rt.to_device(np.ascontiguousarray(x)) for x in arrays]
    return kernel.compare_with_gpu(BLOCKS, THREADS, *given, by="line", **options)


def made(most: float, more: int = 1, further: bool = False) -> Kernel:
    """A kernel; with another `most` the same ops come to other values, with `more` a thread goes another way."""

    @cl.kernel
    def summed(a: Tensor[f32, (N,)], n: Tensor[i32, (N,)], out: Tensor[f32, (N,)]) -> None:
        i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
        total = 0.0
        for _ in range(n[i] + max(i - 126, 0) * more):
            scaled = a[i] * 2.0
            total = min(total + scaled, most)
        root = cl.math.sqrt(total)
        if further:
            root = root * 2.0
        out[i] = root

    return summed


RIGHT = made(100.0)


@pytest.fixture
def arrays() -> list[Any]:
    return [np.ones(SIZE, np.float32), np.full(SIZE, 4, np.int32), np.zeros(SIZE, np.float32)]


def test_numbers_have_the_digits_that_tell_them_apart() -> None:
    assert told_apart(5.0, 6.0) == ("5", "6")
    assert told_apart(9.25222015, 9.25222111) == ("9.25222015", "9.25222111")
    assert told_apart(0.1, np.nextafter(0.1, 1)) == ("0.10000000000000001", "0.10000000000000002")


@pytest.mark.parametrize("window", [16, 1 << 12])
def test_the_first_op_that_differs_is_found(window: int, gpu: Gpu, arrays: list[Any]) -> None:
    """The third time through the loop, however many launches its values take."""
    gpu(made(5.0), window)
    found = compared(RIGHT, *arrays)
    assert not found
    step = found.steps[0]
    assert (step.what, step.op, step.name, step.span.line) == ("value", "min", "total", line_of(RIGHT, "min("))
    assert (step.block, step.thread, step.visit, step.element) == (0, 0, 2, None)
    assert (step.gpu, step.simulator, step.threads, step.together) == (5.0, 6.0, 64, 64)
    text = str(found)
    assert "`total` is 5 on the GPU and 6 in the simulator" in text and "thread 0 of block 0, at visit 2" in text
    assert "`out`[0] is 2.23607 on the GPU and 2.82843 in the simulator" in text
    if window > 16:
        assert [each.name for each in found.steps] == ["total", "", "root"]  # the sum that follows has no name
        assert "Values differ later at test_by_line.py:" in text


def test_a_thread_whose_loop_is_longer_is_found_by_its_count(gpu: Gpu, arrays: list[Any]) -> None:
    gpu(made(100.0, 2))
    found = compared(RIGHT, *arrays)
    assert not found.remark  # what comes behind another path cannot be compared, and room was left
    first, *later = found.steps
    assert (first.what, first.op, first.block, first.thread) == ("value", "mul", 1, 63)
    assert (first.gpu, first.simulator, first.threads) == (2, 1, 1)
    assert [step.op for step in later][:2] == ["add", "max"]
    left = next(step for step in later if step.what == "path")  # where the simulator's loop ends
    assert (left.op, left.thread, left.threads) == ("sqrt", 63, 1) and "add" in str(left)


def test_a_gpu_that_goes_on_behind_the_last_op(gpu: Gpu, arrays: list[Any]) -> None:
    gpu(made(100.0, further=True))
    (step,) = compared(RIGHT, *arrays).steps
    assert (step.what, step.op, step.span.line) == ("path", "sqrt", line_of(RIGHT, "cl.math.sqrt"))
    assert "the GPU goes another way than the simulator" in str(step) and "came to another op behind this" in str(step)


def test_what_agrees_is_not_looked_into(gpu: Gpu, arrays: list[Any]) -> None:
    gpu(made(100.0))
    found = compared(RIGHT, *arrays)
    assert found and not found.steps and "agree on a, n, out" in str(found)
    assert compared(made(5.0), *arrays, tolerance=1.0)
    with pytest.raises(ValueError, match="by 'kernel' or by 'line', not by 'op'"):
        RIGHT.compare_with_gpu(1, 64, by="op")  # type: ignore[arg-type]


@cl.kernel
def timed(a: Tensor[f32, (N,)], n: Tensor[i32, (N,)], out: Tensor[f32, (N,)]) -> None:
    """Values that times and the order of threads decide, beside others."""
    tid = cl.thread_idx.x
    bar, place = cl.shared(cl.mbarrier, 1), cl.shared(i32, (1,))
    if tid == 0:
        bar[0].init(cl.block_dim.x)
        place[0] = 0
    cl.syncthreads()
    mine = cl.atomic_add(place, 0, 1)
    state = bar[0].arrive()
    tries = 0
    while not bar[0].test_wait(state):
        tries = tries + 1
    began = cl.clock()
    x = a[tid] * 2.0
    if mine + tries + began < 5:
        x = x + 1.0
    out[tid] = x


def test_what_times_decide_is_not_compared(gpu: Gpu, arrays: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs by other schedules agree; the product is compared, and nothing in a loop that polls."""
    monkeypatch.setenv("CUTELITE_SIM_SEED", "3")
    gpu(timed)
    found = compared(timed, *arrays)
    assert not found.steps and "the difference depends on times" not in str(found)
    (spec,) = [each for each in timed._made.simulated if each.options.record]
    ops = [record["value"].op.name for record in recorded_ops(timed._made.simulated[spec].ops()).values()]
    assert "mul" in ops and not {"add", "atom", "mbarrier.test_wait", "special"} & set(ops)
