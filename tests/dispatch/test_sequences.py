"""Tuples and lists as arguments: bound, launched, simulated, exported, and indexed at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Constexpr, Tensor, f32, i32
from cutelite.dispatch import ArgumentError
from cutelite_rt.launcher import image, native
from tests.dispatch.alike import launched, reuses, with_launcher
from tests.dispatch.conftest import GpuArray
from tests.dispatch.test_launcher import in_a_context as in_a_context
from tests.dispatch.test_launcher import plain
from tests.rt.conftest import FakeCuda

N = cl.dims("N")
Vector = Tensor[f32, (N,)]
Own = Tensor[f32, (None,)]


def _weighted(xs: list[Vector], by: tuple[f32, i32], out: Vector) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        total = f32(0)
        for x in xs:
            total += x[i]
        out[i] = total * by[0] + f32(by[1])


def _picked(xs: tuple[Vector, ...], which: Tensor[i32, (None,)], out: Vector) -> None:
    i = cl.thread_idx.x
    if i < N:
        out[i] = xs[which[i]][i]


def _nested(pairs: list[tuple[Own, Constexpr[int]]], out: Own) -> None:
    for x, k in pairs:
        out[k] = x[k]


def floats(n: int, start: float = 0.0) -> Any:
    return np.arange(start, start + n, dtype=np.float32)


@pytest.mark.parametrize("kind", [list, tuple])
def test_as_many_as_are_given(kind: type) -> None:
    kernel = cl.kernel(_weighted)
    for count in (3, 1, 0, 2):
        xs, out = kind(floats(40, 10.0 * i) for i in range(count)), floats(40)
        kernel[2, 32](xs, (2.0, 3), out)
        np.testing.assert_array_equal(out, sum(xs, np.zeros(40, np.float32)) * 2 + 3)


def test_a_run_time_index_names_one_of_them() -> None:
    xs, out = tuple(floats(8, 100.0 * i) for i in range(3)), floats(8)
    which = np.array([0, 2, 1, 1, 0, 2, 2, 0], np.int32)
    kernel = cl.kernel(_picked)
    kernel[1, 32](xs, which, out)
    np.testing.assert_array_equal(out, which * 100.0 + np.arange(8))
    report = kernel.check(1, 32, xs, which, out)
    assert not report.findings


def test_sequences_of_sequences() -> None:
    out = np.zeros(8, np.float32)
    cl.kernel(_nested)[1, 1]([(floats(5), 3), (floats(7, 10.0), 5)], out)
    assert out[3] == 3 and out[5] == 15


def _meets(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], n: i32, out: Tensor[f32, (4, N)]) -> None:
    i, chosen = cl.thread_idx.x, a
    if n > 0:
        chosen = b
    out[0, i], out[1, i] = chosen[i], (a, b)[n][i]
    out[2, i], out[3, i] = (b if n > 0 else a)[i], cl.where(n > 0, b, a)[i]


@pytest.mark.parametrize("offsets", [(0, 0), (0, 1), (1, 0), (1, 2)])
def test_arrays_meet_whatever_their_alignment(offsets: tuple[int, int]) -> None:
    a, b = (floats(12, 100.0 * k)[at:][:8] for k, at in enumerate(offsets))
    for n in (0, 1):
        out = np.zeros((4, 8), np.float32)
        cl.kernel(_meets)[1, 8](a, b, n, out)
        assert (out == (b if n else a)).all()


def test_what_is_refused(cuda: FakeCuda) -> None:
    kernel, x = cl.kernel(_weighted), floats(8)
    for arguments, said in (
        ((x, (1.0, 1), x), r"argument `xs` must be a tuple or list, list\[Tensor\[f32, \(N,\)\]\], not array"),
        (([x], (1.0,), x), r"argument `by` has 1 items, but tuple\[f32, i32\] has 2"),
        (([x], (1.0, 1.5), x), r"argument `by.1` must be a number of dtype i32, not 1.5"),
        (([x, floats(9)], (1.0, 1), x), r"argument `xs.1` has extent 9, but N is 8, from `xs.0`"),
        (([x, 5], (1.0, 1), x), r"argument `xs.1` must be an array of torch, CuPy, JAX or NumPy, not 5"),
    ):
        with pytest.raises(ArgumentError, match=said):
            kernel[1, 32](*arguments)
    with pytest.raises(ArgumentError, match=r"`xs` is list\[.*\]: say how many, by an example: `compile\(xs="):
        kernel.compile(block=32)

    @cl.kernel(block=32)
    def unlike(xs: tuple[Tensor[f32, (4,)], Tensor[f32, (5,)]], i: i32, out: Tensor[f32, (4,)]) -> None:
        out[0] = xs[i][0]

    with pytest.raises(cl.CompileError, match="a run-time index chooses among numbers, or among tensors of one type"):
        unlike.compile()


def test_the_launcher_takes_them(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, by_python = plain(_weighted), plain(_weighted)
    arrays = [on_gpu((40,)) for _ in range(4)]
    kernel[1, 32](arrays[:2], (1.0, 1), arrays[3])  # which tells how many there are
    with_launcher(kernel)
    kernel[1, 32](arrays[:2], (1.0, 1), arrays[3])
    other = on_gpu((24,))
    cases: list[tuple[Any, ...]] = [
        (arrays[1:3], (0.5, 7), arrays[0]),
        (tuple(arrays[1:3]), [0.5, 7], arrays[0]),
        ([other, other], (0.5, 7), other),
    ]
    expected = [launched(by_python, cuda, (1, 32), *case) for case in cases]
    wrong: list[tuple[Any, ...]] = [
        (arrays[:3], (0.5, 7), arrays[0]),  # compiled anew
        ([arrays[0], other], (0.5, 7), arrays[0]),
        (arrays[:2], (0.5,), arrays[0]),
        (arrays[:2], (0.5, "x"), arrays[0]),
        (iter(arrays[:2]), (0.5, 7), arrays[0]),
    ]
    for case in wrong:
        assert launched(kernel, cuda, (1, 32), *case)[0] == launched(by_python, cuda, (1, 32), *case)[0]
    reuses(kernel, monkeypatch)
    assert [launched(kernel, cuda, (1, 32), *case)[3] for case in cases] == [each[3] for each in expected]


@pytest.mark.parametrize("host", [False, True])
def test_exported(host: bool, cuda: FakeCuda, on_gpu: GpuArray) -> None:
    bundle = cl.kernel(_weighted).export(None, [(40,), (40,)], block=32, cpus=image.HERE)
    kernel = rt.load_kernel(bundle.to_bytes(), host_code=host)
    assert kernel.host == (host and native.unsupported() is None)
    arrays = [on_gpu((40,)) for _ in range(3)]
    for _ in range(3):
        kernel[2](arrays[:2], (1.0, 2), arrays[2])
    assert len(cuda.launches) + len(cuda.packed) >= 3
    with pytest.raises(ArgumentError, match=r"argument `xs` has 3 items, but list\[Tensor\[f32, \(N,\)\]\] has 2"):
        kernel[2](arrays, (1.0, 2), arrays[2])
    declared = rt.c_stub(bundle).header
    assert "const cutelite_tensor *xs_0, const cutelite_tensor *xs_1, float by_0, int32_t by_1" in declared
