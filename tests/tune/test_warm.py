"""`warm`: kernels compiled beforehand, in parallel, and nothing launched."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, f32
from cutelite.dispatch.divert import diverted
from cutelite.tune.warm import tuning_wanted


def made() -> Any:
    """A kernel of its own, which nothing else has compiled in this process."""

    @cl.kernel(block=32)
    def scale(x: Tensor[f32, (cl.Dim("N"),)], by: Constexpr[int]) -> None:
        if cl.thread_idx.x < x.shape[0]:
            x[cl.thread_idx.x] = x[cl.thread_idx.x] * by

    return scale


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_CACHE_DIR", str(tmp_path))


def test_each_kernel_is_compiled_once_and_none_is_launched() -> None:
    kernel, x, told = made(), np.ones(8, np.float32), []
    heard: list[cl.CompileEvent] = []
    calls = [lambda by=by: kernel[1](x, by) for by in (2, 3, 2)]
    with diverted(lambda *launch: heard.append(launch)):  # type: ignore[arg-type]
        found = cl.warm(calls, jobs=2, progress=lambda *how: told.append(how[:2]))
    assert (found.kernels, found.compiled) == (2, 2) and found.seconds > 0
    assert (x == 1).all() and not heard
    assert told[-1] == (2, 2)
    assert cl.warm(calls[0]).compiled == 0
    assert cl.warm([]).kernels == 0


def test_another_process_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(8, np.float32)
    cl.warm(lambda: made()[1](x, 5))
    monkeypatch.setenv("CUTELITE_COMPILE", "error")
    assert cl.warm(lambda: made()[1](x, 5))[:2] == (1, 0)
    with pytest.raises(cl.CompileForbidden):
        cl.warm(lambda: made()[1](x, 6))


def test_errors_come_when_all_is_done() -> None:
    x, heard = np.ones(8, np.float32), []

    @cl.kernel(block=32)
    def wrong(x: Tensor[f32, (cl.Dim("N"),)]) -> None:
        x[0] = nothing  # noqa: F821

    good = made()
    listener = cl.on_compile(lambda event: heard.append(event.error is None))
    with pytest.raises(cl.CompileError, match="nothing"):
        cl.warm([lambda: wrong[1](x), lambda: good[1](x, 2)])
    cl.off_compile(listener)
    assert sorted(heard) == [False, True]
    with pytest.raises(ZeroDivisionError):
        cl.warm(lambda: 1 // 0)
    for wrongly in (3, [3]):
        with pytest.raises(TypeError, match="functions without parameters"):
            cl.warm(wrongly)
    with pytest.raises(TypeError, match="takes shapes only"):
        cl.warm([], shapes=[(1, 2)])


def test_objects_that_know_their_calls_and_what_tuning_asks_for() -> None:
    kernel, x, seen = made(), np.ones(8, np.float32), []

    class Model:
        def __cutelite_calls__(self, factors: list[int]) -> list[Any]:
            def call(by: int) -> None:
                seen.append(tuning_wanted())
                kernel[1](x, by)

            return [lambda by=by: call(by) for by in factors]

    assert cl.warm(Model(), factors=[2, 3]).kernels == 2
    assert seen == [False, False] and (x == 1).all()
    cl.warm(Model(), factors=[4], tune=True)
    assert seen == [False, False, False, True] and (x == 4).all() and not tuning_wanted()
    with pytest.raises(TypeError, match=r"warm\(\) of a Model takes factors: got an unexpected .*'shape'"):
        cl.warm(Model(), factors=[4], shape=4)
    with pytest.raises(TypeError, match="takes factors: missing a required argument"):
        cl.warm(Model())


def test_gemms_are_tuned_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutelite.kernels.gemm import call, dense

    asked: list[str] = []
    for name in ("pick", "measured"):
        monkeypatch.setattr(dense.picks, name, lambda *_, n=name, **_how: asked.append(n))
    monkeypatch.setattr(call, "run", lambda *_, **_how: None)
    a = np.ones((8, 8), np.float16)
    cl.warm(lambda: call.gemm(a, a), tune=True)
    assert asked == ["pick", "measured"]
