"""Winners on disk: found by other processes, kept apart by all they depend on, and made again when they are damaged."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cutelite import autotune
from cutelite.dispatch.specialise import open_cache
from cutelite.tune.report import Report, Row
from cutelite.tune.tuned import TunedFunction
from tests.dispatch.conftest import GpuArray
from tests.rt.conftest import FakeCuda
from tests.tune import kernels
from tests.tune.conftest import Stopwatch

ROOT = Path(__file__).resolve().parents[2]


def tuned(timer: Any, *configs: Any, **options: Any) -> TunedFunction:
    """Return a tuner as in a process of its own: nothing but the disk remembers."""
    return autotune(configs or (1, 2, 3), timer=timer, **options)(kernels.scaled_by)


def asked(scaled: TunedFunction, timer: Stopwatch, on_gpu: GpuArray, n: int = 64, alpha: Any = 1.0) -> int:
    """Return the config for arrays of `n`; the timer knows whether it was found by tuning."""
    return int(scaled.config_for(on_gpu((n,)), on_gpu((n,)), alpha))


def winners(environment: Path) -> list[Path]:
    return [path for path in environment.glob("*.entry") if b'"winner":' in path.read_bytes()]


def test_a_winner_is_found_on_disk(on_gpu: GpuArray, fastest_last: Stopwatch, environment: Path) -> None:
    assert asked(tuned(fastest_last), fastest_last, on_gpu) == 3
    never = Stopwatch()
    again = tuned(never)
    assert asked(again, never, on_gpu) == 3
    assert not never.asked
    assert [row.seconds for row in again.reports[0].rows] == [3e-6, 2e-6, 1e-6]
    assert len(winners(environment)) == 1


def test_a_table_is_shipped(on_gpu: GpuArray, fastest_last: Stopwatch, cuda: FakeCuda, tmp_path: Path) -> None:
    table, first = tmp_path / "winners.json", tuned(fastest_last)
    assert asked(first, fastest_last, on_gpu) == 3
    assert first.save(table) == 1
    cuda.version = 13010
    os.environ["CUTELITE_CACHE"] = "0"
    never = Stopwatch(1e-6, 2e-6, 3e-6)
    second = tuned(never)
    assert second.shipped(on_gpu((64,)), on_gpu((64,)), 1.0) is None
    assert second.load(table) == 1
    assert asked(second, never, on_gpu) == second.shipped(on_gpu((64,)), on_gpu((64,)), 1.0) == 3
    assert not never.asked
    assert second.save(table) == 1
    assert asked(second, never, on_gpu, n=65) == 1
    assert tuned(never, 1, 2).load(table) == 0  # without the config that won
    table.write_text("[1]")
    with pytest.raises(ValueError, match="no table of winners of scaled_by"):
        second.load(table)


def anything(config: int, x: Any, more: int = 0) -> int:
    return config


def other(config: int, x: Any, more: int = 0) -> int:
    return config + more


@pytest.mark.parametrize("what", ["nothing", "configs", "key", "dtype", "shape", "driver", "gpu", "opt", "function"])
def test_what_a_winner_depends_on(on_gpu: GpuArray, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    autotune([1, 2], timer=Stopwatch(2e-6, 1e-6))(anything).config_for(on_gpu((64,)))
    if what == "driver":
        cuda.version = 13010
        monkeypatch.setattr("cutelite_rt.gpu.driver._driver._version", None)
    elif what == "opt":
        monkeypatch.setenv("CUTELITE_OPT", "2")
    x = on_gpu((65 if what == "shape" else 64,), "f16" if what == "dtype" else "f32", int(what == "gpu"))
    configs = [1, 3] if what == "configs" else [1, 2]
    function = other if what == "function" else anything
    timers = [Stopwatch(1e-6, 2e-6) for _ in range(2)]
    for timer in timers:
        autotune(configs, ("x",) if what == "key" else None, timer=timer)(function).config_for(x)
    assert [len(timer.asked) for timer in timers] == [int(what != "nothing"), 0]


def test_a_changed_helper_is_tuned_again(on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Stopwatch(3e-6, 2e-6, 1e-6), Stopwatch(1e-6, 2e-6, 3e-6)
    asked(tuned(first), first, on_gpu)

    def build(by: int) -> Any:
        return kernels.scale

    monkeypatch.setattr(kernels, "build", build)
    with pytest.raises(RuntimeError, match="none of 3 configs"):  # `scale` takes other arguments
        asked(tuned(second), second, on_gpu)


@pytest.mark.parametrize("damage", [b"", b"cutecach nothing", None])
def test_a_damaged_winner_is_found_anew(
    on_gpu: GpuArray, fastest_last: Stopwatch, environment: Path, damage: bytes | None
) -> None:
    asked(tuned(fastest_last), fastest_last, on_gpu)
    (entry,) = winners(environment)
    data = bytearray(entry.read_bytes())
    data[-3] ^= 1
    entry.write_bytes(bytes(data) if damage is None else damage)
    second = Stopwatch(1e-6, 2e-6, 3e-6)
    assert asked(tuned(second), second, on_gpu) == 1
    third = Stopwatch()
    assert asked(tuned(third), third, on_gpu) == 1


@pytest.mark.parametrize(
    "payload",
    [
        b"{}",
        b"[1]",
        b"nothing",
        b'{"format":2,"winner":0}',
        Report("scaled_by", 3, (Row("1", 1e-6, 3, ""),) * 3, 0.0, 0.0).to_bytes(),
        Report("scaled_by", 0, (Row("1", 1e-6, 3, ""),) * 2, 0.0, 0.0).to_bytes(),
        Report("scaled_by", 0, (Row("1", None, 0, "pruned"),) * 3, 0.0, 0.0).to_bytes(),
    ],
)
def test_an_entry_of_another_format_is_made_again(
    on_gpu: GpuArray, fastest_last: Stopwatch, environment: Path, payload: bytes
) -> None:
    from cutelite import config

    asked(tuned(fastest_last), fastest_last, on_gpu)
    (entry,) = winners(environment)
    cache = open_cache(config.read())
    assert cache is not None
    cache.put(entry.stem, payload)
    second = Stopwatch(1e-6, 2e-6, 3e-6)
    assert asked(tuned(second), second, on_gpu) == 1
    third = Stopwatch()
    assert asked(tuned(third), third, on_gpu) == 1


def test_a_report_survives_the_disk() -> None:
    report = Report("f", 1, (Row("a", None, 0, "why"), Row("b", 1.25e-6, 7, "40 registers", 1.0)), 1.5, 0.25)
    assert Report.from_bytes(report.to_bytes(), 2) == report


def test_modes(on_gpu: GpuArray, fastest_last: Stopwatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_AUTOTUNE", "cached")
    never = Stopwatch()
    assert asked(tuned(never), never, on_gpu) == 1
    monkeypatch.setenv("CUTELITE_AUTOTUNE", "1")
    assert asked(tuned(fastest_last), fastest_last, on_gpu) == 3
    monkeypatch.setenv("CUTELITE_AUTOTUNE", "cached")
    assert asked(tuned(never), never, on_gpu) == 3
    monkeypatch.setenv("CUTELITE_AUTOTUNE", "again")
    anew = Stopwatch(2e-6, 1e-6, 3e-6)
    scaled = tuned(anew)
    assert [asked(scaled, anew, on_gpu, alpha=a) for a in (1.0, 2.0)] == [2, 2]
    assert len(anew.asked) == 1
    monkeypatch.setenv("CUTELITE_AUTOTUNE", "1")
    assert asked(tuned(never), never, on_gpu) == 2
    assert not never.asked


def test_without_a_disk_cache(
    on_gpu: GpuArray, fastest_last: Stopwatch, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTELITE_CACHE", "0")
    scaled = tuned(fastest_last)
    assert [asked(scaled, fastest_last, on_gpu) for _ in range(2)] == [3, 3]
    assert len(fastest_last.asked) == 1 and not environment.exists()


def test_what_cannot_be_read_is_kept_in_the_process_alone(
    on_gpu: GpuArray, environment: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    lock = threading.Lock()
    monkeypatch.setenv("CUTELITE_VERBOSE", "1")

    def locked(config: int, x: Any) -> int:
        with lock:
            return config

    timer = Stopwatch(2e-6, 1e-6)
    scaled = autotune([1, 2], timer=timer)(locked)
    assert [scaled(on_gpu((4,))) for _ in range(2)] == [2, 2]
    assert len(timer.asked) == 1 and not winners(environment)
    assert "the winner of locked is not kept on disk: a _thread.lock is among its constants" in capsys.readouterr().err


def test_the_report_is_printed_where_it_is_asked_for(
    on_gpu: GpuArray, fastest_last: Stopwatch, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(tuned(fastest_last), fastest_last, on_gpu)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("CUTELITE_AUTOTUNE_REPORT", "1")
    asked(tuned(fastest_last), fastest_last, on_gpu, n=128)
    said = capsys.readouterr().err
    assert said.startswith("cutelite: scaled_by: 3 of 3 configs timed, ") and said.count("\n") == 4


# ---- several processes

PROGRAM = """
import sys
sys.path.insert(0, {root!r})
import cutelite_rt as rt, cutelite_rt.gpu.driver
from cutelite import autotune
from cutelite_rt.gpu.driver import Driver
from tests.rt.conftest import FakeCuda, H200
from tests.tune.conftest import Stopwatch
from tests.tune import kernels
cutelite_rt.gpu.driver._driver = Driver(FakeCuda(H200))
timer = Stopwatch(3e-6, 1e-6, 2e-6)
scaled = autotune([1, 2, 3], timer=timer)(kernels.scaled_by)
x = rt.empty((64,), "f32")
print(scaled.config_for(x, x), len(timer.asked))
"""


def test_processes_that_start_together_tune_once(environment: Path) -> None:
    program = PROGRAM.format(root=str(ROOT))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ) | {"CUTELITE_CACHE_DIR": str(environment)},
        )
        for _ in range(3)
    ]
    answers = []
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        answers.append(out)
    assert sorted(answers) == ["2 0\n", "2 0\n", "2 1\n"]
    assert not list(environment.glob("*.lock"))
