"""Debugging in the simulator: breakpoints with a warp's values; texts of tensors, fragments and layouts."""

import sys
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel(block=64)
def stopping(a: Tensor[f32, (N,)]) -> None:
    i = cl.thread_idx.x
    x = a[i] * 2.0
    if i % 32 < 2:
        breakpoint()
    a[i] = x


@cl.kernel(block=64)
def running(a: Tensor[f32, (N,)]) -> None:
    i = cl.thread_idx.x
    x = a[i] * 2.0
    if i % 32 < 2:
        pass
    a[i] = x


def line_of(text: str) -> int:
    with open(__file__) as file:
        return 1 + next(i for i, line in enumerate(file) if text in line)


def test_a_breakpoint_stops_each_warp_with_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[tuple[str, int, dict[str, Any]]] = []

    def hook() -> None:
        frame = sys._getframe(1)
        stops.append((frame.f_code.co_filename, frame.f_lineno, dict(frame.f_locals)))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    a = np.arange(64, dtype=np.float32)
    stopping[1](a)
    np.testing.assert_array_equal(a, 2.0 * np.arange(64))
    assert [(file, line) for file, line, _ in stops] == [(__file__, line_of("        breakpoint()"))] * 2
    for warp, values in enumerate(values for *_, values in stops):
        assert (values["warp"], values["block"]) == (warp, 0)
        assert values["threads"].tolist() == values["i"].tolist() == [32 * warp, 32 * warp + 1]
        assert values["x"].tolist() == [64.0 * warp, 64.0 * warp + 2.0]
        assert "tensor<f32,gmem" in values["a"] and values["N"] == 64


@cl.kernel(block=32)
def looping(a: Tensor[f32, (N,)]) -> None:
    i = cl.thread_idx.x
    layout, pair = cl.Layout((2, 3)), (i, [a[i], 5])  # noqa: F841 (the debugger reads them)
    for step in range(N // 16):
        unused = a[i] + step
        if step == 1:
            above = i  # noqa: F841
        if unused > 1.0:
            late = unused  # noqa: F841
            breakpoint()
    a[i] = 0.0


def test_a_breakpoint_keeps_variables_that_no_later_code_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loop counters, tuples of run-time values, and what is known; but not what is bound on some ways only."""
    stops: list[dict[str, Any]] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: stops.append(dict(sys._getframe(1).f_locals)))
    looping[1](np.ones(32, np.float32))
    (values,) = stops
    assert values["step"].tolist() == [1] * 32 and values["unused"].tolist() == values["late"].tolist() == [2.0] * 32
    assert "(2,3):(1,2)" in values["layout"] and "above" not in values
    first, (second, third) = values["pair"]
    assert first.tolist() == values["i"].tolist() and second.tolist() == [1.0] * 32 and third == "5"
    assert looping.compile(block=32, arch="sm_90a").artifact.spills <= 0


def test_a_debugger_that_is_quit_ends_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    import bdb

    def quit() -> None:
        raise bdb.BdbQuit

    monkeypatch.setattr(sys, "breakpointhook", quit)
    with pytest.raises(KeyboardInterrupt):
        stopping[1](np.zeros(64, np.float32))


def test_a_breakpoint_is_nothing_on_a_gpu() -> None:
    stopped, plain = (kernel.compile(arch="sm_90a", name="same") for kernel in (stopping, running))
    assert stopped.cubin == plain.cubin


@cl.kernel(block=1)
def telling(a: Tensor[f32, (4,)], long: Tensor[f32, (N,)]) -> None:
    tile = cl.shared(f32, (2, 2))
    for i in cl.static_range(4):
        tile[i // 2, i % 2] = 1.0 * i
    print("tile", tile, tile.layout)
    print(f"{a.load():.1f} {a}")
    print("long", long)
    registers = cl.make_rmem_tensor(f32, (2, 2))
    registers.fill(7.0)
    print(registers, (registers.load(), 3))


@cl.kernel(block=1)
def much(a: Tensor[f32, (128,)]) -> None:
    print(a.load())


def test_tensors_fragments_and_layouts_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    telling[1](np.arange(4, dtype=np.float32), np.zeros(9, np.float32))
    assert capsys.readouterr().out.splitlines() == [
        "tile [[0, 1], [2, 3]] (2,2):(2,1)",
        "[0.0, 1.0, 2.0, 3.0] [0, 1, 2, 3]",
        "long tensor<f32,gmem,(N):(1),16>",
        "[[7, 7], [7, 7]] ([7, 7, 7, 7], 3)",
    ]
    much[1](np.arange(128, dtype=np.float32))
    text = capsys.readouterr().out
    assert text.startswith("[0, 1, 2, ") and text.endswith("30, 31, ... of 128]\n")


@cl.kernel(block=1)
def extents(a: Tensor[f32, (N,)]) -> None:
    print(f"{N=}, {N + 1=}, {a.shape=}, {a[0]=}")


def test_dims_are_told_by_their_extents(capsys: pytest.CaptureFixture[str]) -> None:
    extents[1](np.ones(64, np.float32))
    assert capsys.readouterr().out == "N=64, N + 1=65, a.shape=(64,), a[0]=1\n"
