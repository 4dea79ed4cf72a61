"""The traceback above a mistake in a kernel: the user's frames."""

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Tensor, f32
from cutelite.config import ConfigError
from cutelite.sim.checker.findings import CheckFailed
from cutelite_rt.launcher import native

N = cl.dims("N")


def helper(a: Any) -> Any:
    return outer(a)


def outer(a: Any) -> Any:
    return a.missing + a.size


@cl.kernel
def wrong(a: Tensor[f32, (N,)]) -> None:
    a[0] = helper(a)


@cl.kernel
def of_python(a: Tensor[f32, (N,)]) -> None:
    a[0] = [1, 2].index(3)


@cl.kernel
def outside(a: Tensor[f32, (N,)]) -> None:
    a[cl.thread_idx.x + N] = 1.0


@cl.kernel
def racy(a: Tensor[f32, (N,)]) -> None:
    a[0] = a[cl.thread_idx.x % N]


def launched(kernel: Any) -> None:
    kernel[1, 32](np.zeros(4, np.float32))


def compiled(kernel: Any) -> None:
    kernel.compile(block=32)


def misfit(kernel: Any) -> None:
    kernel[1, 32](np.zeros(4))


def refused(kernel: Any) -> None:
    kernel[1, 2000](np.zeros(4, np.float32))


def traced(kernel: Any) -> None:
    kernel.trace_launch(cl.Launch(1, 32), np.zeros(4, np.float32))


def checked(kernel: Any) -> None:
    kernel.check(1, 2000, np.zeros(4, np.float32))


def checked_by_environment(kernel: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUTELITE_CHECK", "1")
        kernel.options(opt=2)[1, 32](np.zeros(4, np.float32))


def launched_without_a_lock(kernel: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "FREE_THREADED", True)
        kernel.options(opt=2)[1, 32](np.zeros(4, np.float32))


def method(kernel: Any) -> None:
    kernel.launch(cl.Launch(1, 32), np.zeros(4, np.float32))


def without_a_block(kernel: Any) -> None:
    kernel[1](np.zeros(4, np.float32))


def on_a_grid_of_text(kernel: Any) -> None:
    kernel["a", 32](np.zeros(4, np.float32))


def with_an_option(kernel: Any) -> None:
    kernel.options(opt=9)


def with_a_text_of_options(kernel: Any) -> None:
    kernel.options("--opt-level=9")


def with_a_library(kernel: Any) -> None:
    kernel.options(link_libraries="nowhere.bc").compile(block=32)


def without_an_assembler(kernel: Any) -> None:
    kernel.options(ptxas_options="--nope").compile(block=32)


def decorated(kernel: Any) -> None:
    cl.kernel(opt=9)(kernel.__wrapped__)


def by_itself(kernel: Any) -> None:
    cl.device_function(helper)


def compiled_with_text(kernel: Any) -> None:
    kernel.compile(block=32)[1](np.zeros(4))


def compiled_on_a_grid_of_text(kernel: Any) -> None:
    kernel.compile(block=32)["a"](np.zeros(4, np.float32))


def compiled_and_called(kernel: Any) -> None:
    kernel.compile(block=32)(np.zeros(4), grid=1)


def compiled_and_launched(kernel: Any) -> None:
    kernel.compile(block=32).launch(cl.Launch(1), np.zeros(4))


def compiled_for_a_large_block(kernel: Any) -> None:
    kernel.compile(block=32).occupancy(block=2000)


def compiled_against_orders(kernel: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUTELITE_COMPILE", "error")
        patch.setenv("CUTELITE_CACHE", "0")
        kernel.options(opt=1).compile(block=32)


def warmed(kernel: Any) -> None:
    cl.warm(kernel)


def a_workspace_below_zero(kernel: Any) -> None:
    cl.program(lambda x: cl.workspace((-1,), f32))(np.zeros(4, np.float32))


def a_program_without_its_array(kernel: Any) -> None:
    cl.program(lambda x: None)()


def a_program_exported_without_its_array(kernel: Any) -> None:
    cl.program(lambda x: None).export(None)


def frames(kernel: Any, run: Callable[[Any], None], error: type[Exception] = CompileError) -> list[str]:
    with pytest.raises(error) as caught:
        run(kernel)
    text = "".join(traceback.format_exception(caught.value))
    return [line for line in text.splitlines() if line.lstrip().startswith('File "')]


@pytest.mark.parametrize("run", [launched, compiled])
@pytest.mark.parametrize("kernel", [wrong, of_python])
def test_frames_of_the_compiler_are_left_out(
    kernel: Any, run: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = frames(kernel, run)
    assert len(short) == 2 and "in frames" in short[0] and f"in {run.__name__}" in short[1]
    monkeypatch.setenv("CUTELITE_TRACEBACK", "full")
    assert len(frames(kernel, run)) > 10


@pytest.mark.parametrize(
    ("run", "error"),
    [(launched, cl.SimError), (launched_without_a_lock, cl.SimError),
     (traced, cl.SimError), (misfit, cl.ArgumentError), (refused, cl.LaunchError),
     (checked, cl.LaunchError), (checked_by_environment, CheckFailed), (method, cl.SimError),
     (without_a_block, cl.LaunchError), (on_a_grid_of_text, cl.LaunchError),
     (with_an_option, cl.OptionError), (with_a_text_of_options, cl.OptionError), (with_a_library, cl.ToolchainError),
     (compiled_with_text, cl.ArgumentError), (compiled_on_a_grid_of_text, cl.LaunchError),
     (compiled_and_called, cl.ArgumentError), (compiled_and_launched, cl.ArgumentError),
     (compiled_for_a_large_block, cl.LaunchError), (compiled_against_orders, cl.CompileForbidden),
     (warmed, cl.LaunchError), (a_program_without_its_array, cl.ArgumentError),
     (a_program_exported_without_its_array, cl.ArgumentError),
     (by_itself, CompileError), (without_an_assembler, cl.ToolchainError), (decorated, cl.OptionError)],
)  # fmt: skip
def test_frames_of_the_simulator_and_of_launches_are_left_out(
    run: Callable[[Any], None], error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = racy if error is CheckFailed else outside
    short = frames(kernel, run, error)
    assert len(short) == 2 and "in frames" in short[0] and f"in {run.__name__}" in short[1]
    monkeypatch.setenv("CUTELITE_TRACEBACK", "full")
    assert len(frames(kernel, run, error)) > len(short)


def test_frames_of_the_users_function_stay() -> None:
    short = frames(outside, a_workspace_below_zero, cl.LaunchError)
    assert "in <lambda>" in short[-1] and f"in {a_workspace_below_zero.__name__}" in short[1]


@pytest.mark.parametrize(
    ("variable", "value", "error"),
    [
        ("CUTELITE_OPT", "7", ConfigError),
        ("CUTELITE_TRACEBACK", "long", ConfigError),
        ("CUTELITE_ARCH", "sm_99", ConfigError),
    ],
)
def test_frames_above_a_wrong_environment_are_left_out(
    variable: str, value: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)

    kernel: Any = outside
    kernel = cl.kernel(kernel.__wrapped__)  # read the environment anew
    assert len(frames(kernel, launched, error)) == 2
