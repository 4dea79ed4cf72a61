"""`@autotune` over host functions: what is chosen, when, and what is said where nothing can be."""

from __future__ import annotations

import ctypes
import dataclasses
import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import AutotuneError, InternalError, autotune
from cutelite.tune.compile import Compilation
from cutelite.tune.report import Report, rows_of
from cutelite.tune.tuned import TunedFunction
from cutelite_rt import CudaError
from tests.dispatch.conftest import GpuArray
from tests.processes import printed
from tests.rt.conftest import FakeCuda
from tests.threads import at_once
from tests.tune import kernels
from tests.tune.conftest import Stopwatch


def tuned(timer: Any, *configs: int, **options: Any) -> TunedFunction:
    """`scaled_by`, tuned among 1, 2, 3 or others."""
    kernels.build.cache_clear()
    return autotune(configs or (1, 2, 3), timer=timer, **options)(kernels.scaled_by)


def grids(cuda: FakeCuda) -> list[int]:
    return [config.gridDimX for config, _, _ in cuda.launches]


def test_the_fastest_config_is_used(on_gpu: GpuArray, cuda: FakeCuda, fastest_last: Stopwatch) -> None:
    scaled = tuned(fastest_last)
    x, y = on_gpu((64,)), on_gpu((64,))
    assert scaled.config_for(x, y) == 3
    assert not cuda.launches  # compiled and timed, and nothing of it by a launch of the function
    for _ in range(3):
        scaled(x, y)
    assert grids(cuda) == [3, 3, 3] and len(fastest_last.asked) == 1
    (report,) = scaled.reports
    assert (report.name, report.winner) == ("scaled_by", 2)
    assert [row.seconds for row in report.rows] == [3e-6, 2e-6, 1e-6]


def test_the_function_keeps_its_name_and_result(fastest_last: Stopwatch, on_gpu: GpuArray) -> None:
    @autotune(list("abc"), timer=fastest_last)
    def named(config: str, x: Any, *more: int, sep: str = "-") -> str:
        """What it does."""
        return sep.join([config, *map(str, more)])

    assert named(on_gpu((1,)), 4, 5, sep="+") == "c+4+5"
    assert (named.__name__, named.__doc__, named.configs) == ("named", "What it does.", ["a", "b", "c"])


@pytest.mark.parametrize(
    ("again", "tunings"),
    [
        (lambda make: ((make((64,)), make((64,))), {}), 1),
        (lambda make: ((make((64,)),), {"y": make((64,))}), 1),
        (lambda make: ((make((64,)), make((64,))), {"alpha": 2.5}), 1),  # floats by type alone
        (lambda make: ((make((128,)), make((128,))), {}), 2),
        (lambda make: ((make((64,), "f16"), make((64,), "f16")), {}), 2),
        (lambda make: ((make((64,)), make((64,))), {"alpha": 2}), 2),
        (lambda make: ((make((64,)), make((64,))), {"alpha": None}), 2),
    ],
)
def test_without_a_key_all_arguments_count(on_gpu: GpuArray, again: Any, tunings: int) -> None:
    timer = Stopwatch(1e-6, 2e-6)

    @autotune([1, 2], timer=timer)
    def anything(config: int, x: Any, y: Any, alpha: Any = 1.0) -> int:
        return config

    anything(on_gpu((64,)), on_gpu((64,)))
    args, kwargs = again(on_gpu)
    anything(*args, **kwargs)
    assert len(timer.asked) == tunings


def test_functions_count_by_their_code(on_gpu: GpuArray) -> None:
    timer = Stopwatch(1e-6, 2e-6)

    @autotune([1, 2], timer=timer)
    def anything(config: int, x: Any, epilogue: Any) -> None:
        pass

    x = on_gpu((64,))
    for _ in range(3):
        anything(x, lambda y: y + 1)
    anything(x, abs)
    assert len(timer.asked) == 2
    for _ in range(2):
        anything(x, lambda y: y + 2)
    assert len(timer.asked) == 3


def test_named_keys(on_gpu: GpuArray) -> None:
    timer = Stopwatch(1e-6, 2e-6)

    @autotune([1, 2], key=("n", "x"), timer=timer)
    def anything(config: int, x: Any, y: Any, n: int, more: int = 0) -> None:
        pass

    x = on_gpu((64,))
    anything(x, on_gpu((64,)), 5)
    anything(x, on_gpu((99,)), 5, more=7)
    assert len(timer.asked) == 1
    anything(x, on_gpu((64,)), 6)
    anything(on_gpu((65,)), on_gpu((64,)), 6)
    anything(x, on_gpu((64,), "f16"), 5)  # dtypes always count
    assert len(timer.asked) == 4
    with pytest.raises(TypeError, match="key names 'm', but the call has x, y, n, more"):
        autotune([1, 2], key=("m",), timer=timer)(anything.function)(x, x, 5)


def test_a_key_of_one_s_own(on_gpu: GpuArray) -> None:
    timer = Stopwatch(1e-6, 2e-6)

    @autotune([1, 2], key=lambda x, n: (x.shape[0] // 64, n % 2), timer=timer)
    def anything(config: int, x: Any, n: int) -> None:
        pass

    for size, n in ((64, 1), (100, 3), (64, 2), (128, 1), (130, 5)):
        anything(on_gpu((size,)), n=n)
    assert len(timer.asked) == 3


def test_arrays_within_arguments_are_found(on_gpu: GpuArray, fastest_last: Stopwatch) -> None:
    @dataclasses.dataclass(frozen=True)
    class Both:
        x: Any
        y: Any
        n: int = 3

    @autotune([1, 2, 3], timer=fastest_last)
    def anything(config: int, both: Both, more: list[Any]) -> int:
        return config

    assert anything(Both(on_gpu((4,)), on_gpu((4,))), [on_gpu((2,)), {"z": on_gpu((3,))}]) == 3
    assert anything(Both(on_gpu((4,)), on_gpu((4,))), [on_gpu((2,)), {"z": on_gpu((3,))}]) == 3
    assert len(fastest_last.asked) == 1
    anything(Both(on_gpu((4,)), on_gpu((4,))), [on_gpu((2,)), {"z": on_gpu((5,))}])
    anything(Both(on_gpu((4,)), on_gpu((4,)), 4), [on_gpu((2,)), {"z": on_gpu((5,))}])
    assert len(fastest_last.asked) == 3


# ---- configs that cannot be


def test_configs_that_fail_are_skipped_and_the_report_says_why(on_gpu: GpuArray) -> None:
    timer = Stopwatch(0.0, 2e-6, 0.0, 1e-6, RuntimeError("ran into something"))
    scaled = tuned(timer, 101, 2, -1, 4, 5)
    assert scaled.config_for(on_gpu((64,)), on_gpu((64,))) == 4
    assert timer.asked == [[1, 3, 4]]
    (report,) = scaled.reports
    text = str(report).splitlines()
    assert text[0].startswith("scaled_by: 2 of 5 configs timed, compiled in ")
    assert text[1].startswith("->       1.00 us  1.000x   3 rounds  4; ") and " registers" in text[1]
    assert text[2].startswith("         2.00 us  2.000x   2 rounds  2; ")
    assert text[3] == "   not run: 101: ValueError: 101 is too much"
    assert text[4].startswith("   not run: -1: LaunchError: scaled: the grid has -1, but 0 is the least")
    assert text[5] == "   not run: 5: RuntimeError: ran into something"


def test_relative_times_are_of_the_same_rounds() -> None:
    """A GPU that slows down: the loser of the first rounds has the lower median, and was slower all the same."""
    times = {0: [1.1, 1.1], 1: [1.0, 1.0, 2.0, 2.0, 2.0]}
    rows = rows_of("ab", {0: Compilation(), 1: Compilation()}, {}, times, times[1])
    assert [(row.seconds, row.relative) for row in rows] == [(1.1, pytest.approx(1.1)), (2.0, 1.0)]
    assert str(Report("f", 1, rows, 0.0, 0.0)).splitlines()[1].startswith("->")


def test_where_all_fail_each_reason_is_given_once(on_gpu: GpuArray) -> None:
    scaled = tuned(Stopwatch(0.0, 0.0, 0.0, RuntimeError("no luck")), 101, -1, 101, 7)
    with pytest.raises(AutotuneError) as caught:
        scaled(on_gpu((64,)), on_gpu((64,)))
    lines = str(caught.value).splitlines()
    assert lines[0] == "scaled_by: none of 4 configs runs"
    assert lines[1:] == [
        "101, 101: ValueError: 101 is too much",
        "-1: LaunchError: scaled: the grid has -1, but 0 is the least it can have",
        "7: RuntimeError: no luck",
    ]
    assert not scaled.reports
    with pytest.raises(AutotuneError):
        scaled(on_gpu((64,)), on_gpu((64,)))


def test_a_compile_error_is_one_of_the_reasons(on_gpu: GpuArray, environment: Path) -> None:
    @autotune([40_000, 1, 80_000], timer=Stopwatch(1.0, 1.0, 1.0))
    def shared(floats: int, x: Any) -> None:
        @cl.kernel(block=64)
        def needs(x: cl.Tensor[cl.f32, (None,)]) -> None:
            tile = cl.shared(cl.f32, (floats, 2))
            tile[0, 0] = x[0]
            x[0] = tile[0, 1]

        needs[1, 64](x)

    x = on_gpu((64,))
    assert shared.config_for(x) == 1
    notes = [row.note for row in shared.reports[0].rows]
    assert notes[0].startswith("CompileError: error[shared-memory]") and "320000" in notes[0], notes
    assert "640000" in notes[2]


def test_a_bug_of_the_compiler_is_told(on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutelite.dispatch.specialise import Specialisations

    build = Specialisations.build

    def broken(self: Specialisations, *args: Any) -> Any:
        if self.function.__closure__ and self.function.__closure__[0].cell_contents == 2:
            raise InternalError("the pass has lost an op", stage="passes")
        return build(self, *args)

    monkeypatch.setattr(Specialisations, "build", broken)
    scaled = tuned(Stopwatch(1e-6, 1e-6, 1e-6), 2, 3)
    with pytest.warns(RuntimeWarning, match="scaled_by: 2 is skipped: .*the pass has lost an op"):
        assert scaled.config_for(on_gpu((64,)), on_gpu((64,))) == 3


def test_no_configs() -> None:
    with pytest.raises(ValueError, match="scaled_by has no configs to choose from"):
        autotune([])(kernels.scaled_by)


# ---- pruning


def test_pruned_configs_are_not_compiled(on_gpu: GpuArray) -> None:
    timer = Stopwatch(*[1e-6] * 5)
    seen: list[Any] = []

    def prune(configs: list[int], x: Any, y: Any, alpha: float = 1.0) -> list[int]:
        seen.append((configs, x.shape, alpha))
        return configs[:2:-1]

    scaled = tuned(timer, 1, 2, 3, 4, 5, prune=prune)
    assert scaled.config_for(on_gpu((64,)), on_gpu((64,)), alpha=2.0) == 5
    assert seen == [([1, 2, 3, 4, 5], (64,), 2.0)]
    assert timer.asked == [[4, 3]]
    assert [row.note for row in scaled.reports[0].rows[:3]] == ["pruned"] * 3


def test_pruning_does_not_decide(on_gpu: GpuArray) -> None:
    timer = Stopwatch(1e-6, 2e-6, 3e-6)
    scaled = tuned(timer, prune=lambda configs, *args: [3])
    assert scaled.config_for(on_gpu((64,)), on_gpu((64,))) == 1
    assert timer.asked == [[2, 0]]


def test_pruning_to_what_is_no_config(on_gpu: GpuArray) -> None:
    scaled = tuned(Stopwatch(1.0, 1.0, 1.0), prune=lambda configs, *args: [17])
    with pytest.raises(ValueError, match="prune= of scaled_by returned 17, which is not one of the configs"):
        scaled(on_gpu((64,)), on_gpu((64,)))


def test_where_nothing_is_measured_the_first_that_pruning_leaves_is_used() -> None:
    scaled = tuned(Stopwatch(), prune=lambda configs, *args: configs[::-1])
    assert scaled.config_for(np.ones(64, np.float32), np.ones(64, np.float32)) == 3


# ---- where nothing can be measured


def test_on_the_simulator_the_first_config_is_used() -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    timer = Stopwatch()
    tuned(timer, 5, 2)(x, y)
    np.testing.assert_array_equal(y, 5 * x)
    assert not timer.asked


def test_switched_off(on_gpu: GpuArray, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_AUTOTUNE", "0")
    timer = Stopwatch()
    tuned(timer, 5, 2)(on_gpu((64,)), on_gpu((64,)))
    assert grids(cuda) == [5] and not timer.asked


def test_a_single_config_needs_no_measuring(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    timer = Stopwatch()
    tuned(timer, 4)(on_gpu((64,)), on_gpu((64,)))
    assert grids(cuda) == [4] and not timer.asked


def test_while_a_graph_is_captured_the_first_config_is_used(
    on_gpu: GpuArray, cuda: FakeCuda, fastest_last: Stopwatch
) -> None:
    scaled = tuned(fastest_last)
    x, y = on_gpu((64,)), on_gpu((64,))
    cuda.capturing.add(0)
    with pytest.warns(RuntimeWarning, match="scaled_by is captured into a graph before it was tuned") as caught:
        scaled(x, y)
    assert caught[0].filename == __file__
    cuda.capturing.clear()
    scaled(x, y)
    cuda.capturing.add(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled(x, y)
    assert grids(cuda) == [1, 3, 3]


def test_arrays_on_another_gpu_are_tuned_there(on_gpu: GpuArray, fastest_last: Stopwatch) -> None:
    scaled = tuned(fastest_last)
    scaled.config_for(on_gpu((64,)), on_gpu((64,)))
    scaled.config_for(on_gpu((64,), gpu=1), on_gpu((64,), gpu=1))
    assert len(fastest_last.asked) == 2  # an H200 and an A100


# ---- the caller's arrays


def test_restored_arguments_are_as_before(cuda: FakeCuda) -> None:
    seen: list[np.ndarray[Any, Any]] = []

    @autotune([1, 2], restore=("y",), timer=Stopwatch(1e-6, 2e-6))
    def in_place(config: int, x: Any, y: Any) -> None:
        seen.append(y.numpy())
        ctypes.memmove(y.pointer, x.pointer, y.nbytes)  # what a launch of another library would do

    x, y = rt.to_device(np.full(8, 3.0)), rt.to_device(np.arange(8.0))
    in_place.config_for(x, y)
    np.testing.assert_array_equal(y.numpy(), np.arange(8.0))
    in_place(x, y)
    np.testing.assert_array_equal(y.numpy(), np.full(8, 3.0))
    np.testing.assert_array_equal(seen[-1], np.arange(8.0))


def test_restore_names_arguments_also_where_nothing_is_measured() -> None:
    scaled = tuned(Stopwatch(), restore=("z",))
    with pytest.raises(TypeError, match="restore names `z`, but scaled_by has x, y, alpha"):
        scaled(np.zeros(64, np.float32), np.zeros(64, np.float32))


# ---- what it is put on


def test_misuse() -> None:
    for configs in (cl.Config(bm=1), {"bm": 1}, 3, "abc", lambda config: None):
        with pytest.raises(TypeError, match="autotune takes a list of configs, not "):
            autotune(configs)  # type: ignore[arg-type]
    for names in ("abc", 3):
        with pytest.raises(TypeError, match=rf"key takes a sequence of names: key=\({names!r},\)"):
            autotune([1], key=names)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=rf"restore takes a sequence of names: restore=\({names!r},\)"):
            autotune([1], restore=names)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="prune takes a function, not 3"):
        autotune([1], prune=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="timer takes a function, not 3"):
        autotune([1], timer=3)  # type: ignore[arg-type]
    assert [*inspect.signature(tuned(Stopwatch())).parameters] == ["x", "y", "alpha"]
    with pytest.raises(TypeError, match="decorates a function or a kernel"):
        autotune([1])(int)
    with pytest.raises(TypeError, match="needs a first parameter for the config"):
        autotune([1])(lambda: None)
    with pytest.raises((TypeError, RuntimeError)) as caught:

        class Model:
            @autotune([1])
            def method(self, config: int) -> None:
                pass

    said = caught.value if isinstance(caught.value, TypeError) else caught.value.__cause__
    assert "Model.method: autotune decorates functions and kernels of a module, not methods" in str(said)


def test_wrong_arguments_are_python_s_error(on_gpu: GpuArray) -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        tuned(Stopwatch())(on_gpu((64,)))


# ---- one within another; several threads


def test_a_tuned_function_may_call_another(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    inner = tuned(Stopwatch(2e-6, 1e-6), 5, 6)

    @autotune([1, 2], timer=Stopwatch(2e-6, 1e-6))
    def outer(config: int, x: Any, y: Any) -> None:
        inner(x, y)
        kernels.build(7)[config, 64](x, y)

    x, y = on_gpu((64,)), on_gpu((64,))
    outer(x, y)
    assert grids(cuda) == [6, 2]
    assert len(outer.reports) == len(inner.reports) == 1


def test_threads_tune_once(on_gpu: GpuArray, cuda: FakeCuda, fastest_last: Stopwatch) -> None:
    scaled = tuned(fastest_last)
    x, y = on_gpu((64,)), on_gpu((64,))
    with rt.device(0).active():
        found = at_once(lambda _: scaled.config_for(x, y), range(8))
    assert found == [3] * 8 and len(fastest_last.asked) == 1


def test_a_lost_context_ends_the_tuning(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    scaled = autotune([1, 2])(kernels.scaled_by)
    cuda.fail["cuStreamSynchronize"] = 700
    x, y = on_gpu((64,)), on_gpu((64,))
    with pytest.raises(CudaError, match="memory outside its arrays"):
        scaled(x, y)
    cuda.fail.clear()
    scaled(x, y)
    assert len(scaled.reports) == 1


def test_importing_it_is_cheap() -> None:
    ask = (
        "import sys, cutelite; cutelite.kernel; before = set(sys.modules); cutelite.autotune; cutelite.Config\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = printed(ask).split()
    assert "cutelite.tune.tuned" in loaded
    assert not {"statistics", "json", "concurrent.futures", "inspect", "numpy", "cuda", "llvmlite"} & set(loaded)
