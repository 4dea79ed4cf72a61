"""Who hears of a compile, and where none may happen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import cutelite as cl
from cutelite import CompileError, CompileEvent, CompileForbidden, Tensor, f32
from tests.dispatch.test_compile import fresh

N = cl.dims("N")


@cl.kernel(block=32)
def copied(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)]) -> None:
    if cl.thread_idx.x < N:
        y[cl.thread_idx.x] = x[cl.thread_idx.x]


@cl.kernel(block=32)
def wrong(x: Tensor[f32, (N,)]) -> None:
    x[0] = unknown  # noqa: F821


@pytest.fixture
def events() -> Iterator[list[CompileEvent]]:
    heard: list[CompileEvent] = []
    listener = cl.on_compile(heard.append)
    yield heard
    cl.off_compile(listener)


def test_each_compile_is_heard_of_once(events: list[CompileEvent]) -> None:
    first = fresh(copied)
    first.compile(arch="sm_80")
    first.compile(arch="sm_80")
    fresh(copied).compile(arch="sm_80")  # from disk
    (event,) = events
    assert (event.name, event.arch, event.error) == ("copied", "sm_80", None)
    assert "x: tensor<f32" in event.specialisation and "in blocks of (32, 1, 1)" in event.specialisation
    assert {"front", "passes", "llvm"} <= set(event.stages) and event.seconds >= sum(event.stages.values()) * 0.99
    with pytest.raises(CompileError):
        fresh(wrong).compile()
    assert events[1].name == "wrong" and isinstance(events[1].error, CompileError) and events[1].stages == {}


def test_a_listener_that_is_taken_away() -> None:
    heard: list[CompileEvent] = []
    cl.off_compile(cl.on_compile(heard.append))
    fresh(copied).compile(arch="sm_86")
    assert heard == []
    with pytest.raises(ValueError, match="is no listener"):
        cl.off_compile(heard.append)


def test_nothing_is_compiled_where_that_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh(copied).compile(arch="sm_80")
    monkeypatch.setenv("CUTELITE_COMPILE", "error")
    assert fresh(copied).compile(arch="sm_80").cached
    with pytest.raises(CompileForbidden, match=r"copied \(x: .* for sm_86 would have to be compiled"):
        fresh(copied).compile(arch="sm_86")
    monkeypatch.setenv("CUTELITE_COMPILE", "warn")
    with pytest.warns(RuntimeWarning, match=r"copied \(x: .* for sm_86 is compiled now") as caught:
        fresh(copied).compile(arch="sm_86")
    assert caught[0].filename == __file__
