"""Kernels with `*args`."""

from __future__ import annotations

import numpy as np
import pytest

import cutelite as cl
from cutelite import ArgumentError, CompileError, Tensor, f32

N = cl.dims("N")
ONE = f32(1)


@cl.kernel(block=32)
def adds(out: Tensor[f32, (N,)], *xs: Tensor[f32, (N,)], by: f32 = ONE) -> None:
    i = cl.thread_idx.x
    if i < N:
        total = f32(0)
        for x in xs:
            total = total + x[i]
        out[i] = total * by


def arrays(count: int) -> list[np.ndarray]:
    return [np.full(5, 10.0**n, np.float32) for n in range(count)]


@pytest.mark.parametrize("count", range(4))
def test_the_arguments_behind_the_named_ones(count: int) -> None:
    out = np.ones(5, np.float32)
    adds[1](out, *arrays(count))
    assert out.tolist() == [float("1" * count or 0)] * 5
    adds[1, 32](out, *arrays(count), by=2)
    adds.launch(cl.Launch(1), out, *arrays(count), by=2)
    assert out.tolist() == [2 * float("1" * count or 0)] * 5
    assert adds.check(1, None, out, *arrays(count))
    assert adds.trace_launch(cl.Launch(1), out, *arrays(count)).cycles > 0


def test_each_number_of_them_is_compiled_for() -> None:
    two = adds.compile((4,), (4,), (4,))
    assert two.ptx.count("ld.global") == 2
    out = np.zeros(4, np.float32)
    two[1](out, *(x[:4].copy() for x in arrays(2)))
    assert out.tolist() == [11] * 4
    faster = adds.options(opt=2)
    faster[1](out, *(x[:4].copy() for x in arrays(3)))
    assert out.tolist() == [111] * 4


def test_what_does_not_fit() -> None:
    out = np.zeros(5, np.float32)
    with pytest.raises(ArgumentError):
        adds[1](out, np.zeros(5, np.int32))
    with pytest.raises(ArgumentError, match="out"):
        adds[1]()

    @cl.kernel(block=1)
    def bare(*xs) -> None:  # type: ignore[no-untyped-def]
        pass

    with pytest.raises(CompileError, match=r"\*xs needs an annotation"):
        bare.compile()

    @cl.kernel(block=1)
    def named(**xs: f32) -> None:
        pass

    with pytest.raises(CompileError, match=r"named takes \*\*kwargs"):
        named.compile()
