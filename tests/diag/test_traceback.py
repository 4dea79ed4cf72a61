"""What Python prints above a mistake in a kernel: the user's frames."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Tensor, f32

N = cl.dims("N")


def helper(a: Any) -> Any:
    return outer(a)


def outer(a: Any) -> Any:
    return a.missing + len(a, 3)


@cl.kernel
def wrong(a: Tensor[f32, (N,)]) -> None:
    a[0] = helper(a)


@cl.kernel
def of_python(a: Tensor[f32, (N,)]) -> None:
    a[0] = (1, 2)[5]


def frames(kernel: Any, launch: bool) -> list[str]:
    with pytest.raises(CompileError) as caught:
        if launch:
            kernel[1, 32](np.zeros(4, np.float32))
        else:
            kernel.compile(block=32)
    text = "".join(traceback.format_exception(caught.value))
    return [line for line in text.splitlines() if line.lstrip().startswith('File "')]


@pytest.mark.parametrize("launch", [False, True])
@pytest.mark.parametrize("kernel", [wrong, of_python])
def test_frames_of_the_compiler_are_left_out(kernel: Any, launch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    short = frames(kernel, launch)
    assert "in frames" in short[0] and len(short) <= 4
    monkeypatch.setenv("CUTELITE_TRACEBACK", "full")
    assert len(frames(kernel, launch)) > 10
