"""What a check gives back, its options, and the ways to ask for one."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f16, f32, i32, sim
from cutelite.cli import main
from cutelite.dispatch import Kernel, checking
from cutelite.dispatch.simulating import simulation
from cutelite.ir.function import Function
from cutelite.sim import CheckFailed, SimError, TooLarge

N, M = cl.dims("N M")
EXAMPLES = Path(__file__).parents[2] / "examples"


@cl.kernel(block=64)
def shifted(x: Tensor[i32, (N,)], y: Tensor[i32, (N,)]) -> None:
    row = cl.shared(i32, (64,))
    t = cl.thread_idx.x
    row[t] = x[cl.block_idx.x * 64 + t]
    y[cl.block_idx.x * 64 + t] = row[63 - t]


@cl.kernel(block=64)
def doubled(x: Tensor[i32, (N,)], y: Tensor[i32, (N,)]) -> None:
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    y[i] = x[i] * 2
    x[i] = x[i] + 1


@cl.kernel(block=64)
def shifted_both(y: Tensor[i32, (N,)]) -> None:
    a, b, t, total = cl.shared(i32, 64), cl.shared(i32, 64), cl.thread_idx.x, i32(0)
    for row in (a, b):
        row[t] = t
    for row in (a, b):
        total += row[63 - t]
    y[t] = total


def test_two_lines_that_race_in_two_tensors_are_told_of_both() -> None:
    first, second = shifted_both.check(1, None, np.zeros(64, np.int32), notes=False).findings
    assert first.lines == second.lines and (first.name, second.name) == ("a", "b")


@pytest.mark.parametrize("options", [{"seeds": 0}, {"seeds": []}, {"blocks": 0}, {"blocks": "x"}])
def test_a_check_of_nothing_is_refused(options: dict[str, Any]) -> None:
    x = np.zeros(64, np.int32)
    with pytest.raises(ValueError, match="check nothing") as caught:
        shifted.check(1, None, x, x.copy(), **options)
    assert str(caught.traceback[-1].path) == __file__, "there are no frames of ours"


def test_seeds_are_numbers() -> None:
    x = np.zeros(64, np.int32)
    for seeds in ("a", 1.5, [0.5], 10**30, range(5, 10**30)):
        with pytest.raises(TypeError, match="seeds are a number of schedules, or the numbers of some"):
            shifted.check(1, None, x, x.copy(), seeds=seeds)  # type: ignore[arg-type]


def test_seeds_take_no_memory_before_their_turn() -> None:
    class Enough(Exception):
        pass

    def stop(*args: object) -> None:
        raise Enough

    x = np.zeros(64, np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cutelite.sim.checker.run._Checking.under", stop)
        for seeds in (10**18, range(7, 10**18)):
            with pytest.raises(Enough):
                shifted.check(1, None, x, x.copy(), seeds=seeds, notes=False)


def test_a_report_is_true_where_nothing_is_wrong() -> None:
    x, y = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    report = doubled.check(4, None, x, y, seeds=3)
    assert report and not report.findings and report.kinds == set()
    assert report.seeds == (0, 1, 2) and report.blocks == (4, 4) and report.ops > 0
    assert str(report).startswith("doubled: nothing found under 3 schedules of all blocks (")
    report.raise_if_wrong()
    # Each schedule began with the arrays as they were.
    assert (y == np.arange(256) * 2).all() and (x == np.arange(256) + 1).all()


def test_a_failed_check_says_everything() -> None:
    report = shifted.check(1, None, np.zeros(64, np.int32), np.zeros(64, np.int32))
    with pytest.raises(CheckFailed, match=r"(?s)error\[race\].*row\[63 - t\].*1 found under 4 schedules") as caught:
        report.raise_if_wrong()
    assert caught.value.report is report


def test_the_seed_of_a_finding_shows_it_again() -> None:
    arrays = np.zeros(64, np.int32), np.zeros(64, np.int32)
    (finding,) = shifted.check(1, None, *arrays, seeds=range(5, 9)).findings
    (again,) = shifted.check(1, None, *arrays, seeds=[finding.seed]).findings
    assert again == finding


def test_only_some_blocks() -> None:
    x, y = np.zeros(640, np.int32), np.full(640, -1, np.int32)
    report = doubled.check(10, None, x, y, seeds=1, blocks=3)
    assert report.blocks == (3, 10)
    assert "3 of 10 blocks" in report.summary()
    assert (y.reshape(10, 64) == 0).all(axis=1).sum() == 3
    assert (y == -1).sum() == 7 * 64


def test_a_grid_that_takes_too_long_says_what_would_fit() -> None:
    function, values, dims = ir(doubled, 64, np.zeros(4096, np.int32), np.zeros(4096, np.int32))
    ops = sim.run(function, 1, values, dims=dims).ops
    with pytest.raises(TooLarge, match=f"the 64 of the grid would take {64 * ops}; the limit is {8 * ops}") as caught:
        sim.check(function, 64, values, dims=dims, seeds=1, max_ops=8 * ops)
    assert "a grid of about 8 blocks fits" in str(caught.value)
    assert sim.check(function, 64, values, dims=dims, seeds=1, max_ops=8 * ops, blocks=8)


def ir(kernel: Kernel, grid: int, *args: object) -> tuple[Function, list[Any], dict[str, int]]:
    """What a check of a kernel simulates."""
    checked = kernel._checked(cl.Launch(grid), args, {})
    assert checked is not None
    return simulation(kernel, checked.spec, checked.bound)


def test_arguments_that_do_not_fit_are_errors_of_the_call() -> None:
    with pytest.raises(cl.ArgumentError, match="argument `y` has dtype f32"):
        doubled.check(1, None, np.zeros(64, np.int32), np.zeros(64, np.float32))
    with pytest.raises(cl.LaunchError, match="nothing to check"):
        doubled.check(0, None, np.zeros(64, np.int32), np.zeros(64, np.int32))


def test_an_argument_in_the_place_of_the_block_is_told_as_that() -> None:
    @cl.kernel(block=32)
    def fill(a: Tensor[f32, (64,)]) -> None:
        a[cl.thread_idx.x] = 1.0

    with pytest.raises(cl.LaunchError, match="fill: the block takes whole numbers, not array"):
        fill.check(1, np.zeros(64, np.float32))  # type: ignore[arg-type]


@cl.kernel(block=(32, 8))
def transpose(x: Tensor[f32, (N, M)], y: Tensor[f32, (M, N)], pad: cl.Constexpr[int]) -> None:
    tile = cl.shared(f32, cl.Layout((32, 32), (32 + pad, 1)))
    tx, ty = cl.thread_idx.x, cl.thread_idx.y
    for i in cl.static_range(4):
        tile[ty + 8 * i, tx] = x[ty + 8 * i, tx]
    cl.syncthreads()
    for i in cl.static_range(4):
        y[ty + 8 * i, tx] = tile[tx, ty + 8 * i]


@cl.kernel(block=(32, 8))
def strided(x: Tensor[f32, (N, M)], y: Tensor[f32, (M, N)]) -> None:
    for i in cl.static_range(4):
        y[cl.thread_idx.x, cl.thread_idx.y + 8 * i] = x[cl.thread_idx.y + 8 * i, cl.thread_idx.x]


def test_bank_conflicts_are_noted_with_their_cost() -> None:
    x, y = np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32)
    report = transpose.check(1, None, x, y, 0)
    (note,) = report.notes
    assert report, "a note is no mistake"
    assert note.kind == "bank-conflict" and note.severity == "note" and note.name == "tile"
    assert "takes 32 wavefronts, where 1 would do" in note.message
    assert "tile[tx, ty + 8 * i]" in str(note)
    assert not transpose.check(1, None, x, y, 1).notes
    assert not transpose.check(1, None, x, y, 0, notes=False).notes


def test_uncoalesced_accesses_are_noted_with_their_cost() -> None:
    x, y = np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32)
    (note,) = strided.check(1, None, x, y).notes
    assert note.kind == "uncoalesced"
    assert "moves 32 sectors of 32 bytes; 4 would hold its bytes" in note.message
    assert "neighbouring threads" in note.help


def test_a_note_of_rows_at_odd_addresses_speaks_of_where_they_begin() -> None:
    @cl.kernel(block=32)
    def rows(x: Tensor[f16, (N, M)]) -> None:
        x[cl.block_idx.x, cl.thread_idx.x] = 0.0

    (note,) = rows.check(2, None, np.ones((2, 35), np.float16)).notes
    assert "moves 3 sectors of 32 bytes; 2 would hold its bytes" in note.message
    assert "begin at a multiple of 32 bytes" in note.help


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Check:
    """Run `cutelite check` in this process. Return its status, its output and its messages."""
    monkeypatch.setattr(sys, "path", [*sys.path])

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(["check", *arguments])
        output, messages = capsys.readouterr()
        return status, output, messages

    return call


PROGRAM = """
import numpy as np
import cutelite as cl
from cutelite import Tensor, i32

N = cl.dims("N")

@cl.kernel(block=64)
def right(y: Tensor[i32, (N,)]) -> None:
    y[cl.block_idx.x * 64 + cl.thread_idx.x] = 1

@cl.kernel(block=64)
def wrong(y: Tensor[i32, (N,)]) -> None:
    row = cl.shared(i32, (64,))
    row[cl.thread_idx.x] = cl.thread_idx.x
    y[cl.thread_idx.x] = row[63 - cl.thread_idx.x]

def main() -> None:
    y = np.zeros(128, np.int32)
    right[2, 64](y)
    assert (y == 1).all()
    wrong[1, 64](y)
"""


def test_every_launch_is_checked_where_the_environment_says_so(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + "\nmain()\n")
    assert run(str(program)).returncode == 0
    failed = run(str(program), CUTELITE_CHECK="1")
    assert failed.returncode == 1
    assert "error[race]" in failed.stderr and "wrong: 1 found under 1 schedule" in failed.stderr


def test_the_command_checks_what_a_program_launches(tmp_path: Path, check: Check) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    both = run("-m", "cutelite.cli", "check", str(program), "--seeds", "2")
    assert both.returncode == 1
    assert "right: nothing found under 2 schedules of all blocks" in both.stdout
    assert "wrong: 1 found under 2 schedules" in both.stdout
    assert check(f"{program}:right", "--no-notes")[0] == 0
    status, _, messages = check(f"{program}:wrong", "--grid", "1", "--arg", "y=64x1")
    assert "argument `y`" in messages and status == 1


def test_the_command_makes_up_arguments(tmp_path: Path, check: Check) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("(N,)", "(N, 64)").replace("y[cl", "y[0, cl").replace("def main", "def other"))
    status, output, _ = check(f"{program}:wrong", "--grid", "1", "--arg", "y=1x64", "--seed", "3")
    assert status == 1 and "schedule of seed 3" in output
    status, _, messages = check(str(program))
    assert status == 1 and "neither a check() nor a main()" in messages
    _, _, messages = check(f"{program}:wrong", "--grid", "1")
    assert "argument `y` is not given: for an array its shape, as in y=1000 or y=256x128" in messages
    assert "give --grid as well" in check(f"{program}:wrong", "--arg", "y=1x64")[2]


def test_the_command_tells_what_is_too_large_and_leaves_a_programs_errors_alone(tmp_path: Path, check: Check) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("np.zeros(128", "np.zeros(1 << 29"))
    status, _, messages = check(str(program))
    assert status == 1 and "error[too-large]: the arrays have 2048 MiB" in messages
    assert "Traceback" not in messages
    program.write_text(PROGRAM.replace("    wrong[1, 64](y)", "    {}['missing']"))
    assert "KeyError: 'missing'" in run("-m", "cutelite.cli", "check", str(program)).stderr


@cl.kernel(block=32)
def spinning(y: Tensor[i32, (N,)]) -> None:
    while cl.load_volatile(y, 0) == 0:
        pass


def test_a_check_that_is_interrupted_tells_what_all_threads_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutelite.sim.schedule import Scheduler

    turns = iter(range(20))

    def interrupted(self: Scheduler) -> None:
        if next(turns, None) is None:
            raise KeyboardInterrupt
        turn(self)

    turn = Scheduler._turn
    monkeypatch.setattr(Scheduler, "_turn", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        spinning.check(1, None, np.zeros(1, np.int32))
    assert "threads 0-31 (warp 0) execute" in "".join(caught.value.__notes__)


def test_what_ends_a_simulation_is_a_finding_as_well() -> None:
    report = spinning_for_good()
    assert report.kinds == {"endless"} and isinstance(report.error, SimError)


def spinning_for_good() -> sim.CheckReport:
    function, values, dims = ir(spinning, 1, np.zeros(1, np.int32))
    return sim.check(function, 1, values, dims=dims, seeds=2, max_ops=2000)


def test_errors_reach_other_processes() -> None:
    for error in (spinning_for_good().error, TooLarge("kernel", "title", "help")):
        assert isinstance(error, SimError)
        there = pickle.loads(pickle.dumps(error))
        assert (type(there), str(there), there.span) == (type(error), str(error), error.span)


TWO = i32(2)


@cl.kernel(block=32)
def gives(
    x: Tensor[i32, (N,)], y: Tensor[i32, (N,)] | None = None, by: i32 = TWO, *zs: Tensor[i32, (N,)], to: i32 = TWO
) -> None:
    x[cl.thread_idx.x] = by + to if y is None else y[cl.thread_idx.x]


@pytest.mark.parametrize("given", [{"x": 32}, {"x": (32,), "y": 32}, {"x": 32, "by": 4, "to": 5}])
def test_made_up_arguments_leave_out_what_has_a_default(given: dict[str, Any]) -> None:
    assert checking.made_up(gives, cl.Launch(1), given).check(seeds=1)
