"""Addresses as arguments: raw typed pointers, and lists of them that are indexed at run time."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Pointer, Tensor, f32, i32
from cutelite.dispatch import ArgumentError
from cutelite.lang.annotations import pointer_annotation
from cutelite_rt.launcher import native
from tests.dispatch.alike import launched, reuses, with_launcher
from tests.dispatch.conftest import GpuArray
from tests.dispatch.test_launcher import in_a_context as in_a_context
from tests.dispatch.test_launcher import made, plain
from tests.rt.conftest import FakeCuda

N = cl.dims("N")
Vector = Tensor[f32, (N,)]


def _scaled(p: Pointer[f32], n: i32, q: Pointer[f32, cl.align(16)]) -> None:  # type: ignore[type-arg]
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < n:
        q[i] = p[i] * 2.0


def _gathered(ps: list[Pointer[f32]], which: Tensor[i32, (None,)], out: Vector) -> None:
    i = cl.thread_idx.x
    if i < N:
        out[i] = ps[which[i]][i]


def test_arrays_are_simulated() -> None:
    p, q = np.arange(50, dtype=np.float32), np.zeros(50, np.float32)
    kernel = cl.kernel(_scaled)
    kernel[2, 32](p, 50, q)
    np.testing.assert_array_equal(q, 2 * p)
    assert not kernel.check(2, 32, p, 50, q).findings
    with pytest.raises(cl.SimError, match="ends 4 bytes behind `p`"):
        kernel[2, 32](p, 64, q)


def test_pointers_are_indexed_at_run_time() -> None:
    ps, out = [np.arange(8, dtype=np.float32) + 100 * i for i in range(3)], np.zeros(8, np.float32)
    which = np.array([0, 2, 1, 1, 0, 2, 2, 0], np.int32)
    cl.kernel(_gathered)[1, 32](ps, which, out)
    np.testing.assert_array_equal(out, which * 100.0 + np.arange(8))


def test_the_launcher_passes_a_list_as_one(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, by_python = plain(_gathered), plain(_gathered)
    which, out = on_gpu((8,), "i32"), on_gpu((8,))
    lists = [[0x20000 + 64 * i + at for i in range(6)] for at in (0, 4096)]
    expected = [launched(by_python, cuda, (1, 32), ps, which, out) for ps in lists]
    launched(kernel, cuda, (1, 32), lists[0], which, out)  # which tells how many there are
    launched(with_launcher(kernel), cuda, (1, 32), lists[0], which, out)
    assert kernel.compile(lists[0], which, out, block=32).artifact.params[:6] == ("ptr", *["+ptr"] * 5)
    reuses(kernel, monkeypatch)
    assert [launched(kernel, cuda, (1, 32), ps, which, out)[3] for ps in lists] == [each[3] for each in expected]


def test_what_is_an_address(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, by_python = made(_scaled), plain(_scaled)
    a = on_gpu((8,))
    forms = [0x20000, SimpleNamespace(handle=0x20000), SimpleNamespace(ptr=0x20000), ctypes.c_void_p(0x20000), a]
    for form in forms:
        expected = launched(by_python, cuda, (1, 32), form, 8, 0x30000)
        for _ in range(2):
            assert launched(kernel, cuda, (1, 32), form, 8, 0x30000)[3] == expected[3]
    reuses(kernel, monkeypatch)
    for address in (0, 0x20004, (1 << 64) - 16):  # without Python
        got = launched(kernel, cuda, (1, 32), address, 8, 0x30010)[3]
        assert got[:8] == address.to_bytes(8, "little")


REFUSED = [
    ((0x20002, 8, 0), "argument `p` is at 0x20002, but must be at a multiple of 4 bytes"),
    ((0x20000, 8, 0x20004), "argument `q` is at 0x20004, but must be at a multiple of 16 bytes"),
    ((-4, 8, 0), "argument `p` is -4, which is no address"),
    ((1 << 64, 8, 0), "argument `p` is 18446744073709551616, which is no address"),
    (("x", 8, 0), r"argument `p` must be an address, or have one, for Pointer\[f32\], not 'x'"),
    ((True, 8, 0), r"argument `p` must be an address, or have one, for Pointer\[f32\], not True"),
    ((1.0, 8, 0), r"argument `p` must be an address, or have one, for Pointer\[f32\], not 1.0"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_what_is_none(arguments: tuple[Any, ...], said: str, cuda: FakeCuda) -> None:
    for kernel in (made(_scaled), plain(_scaled)):
        with pytest.raises(ArgumentError, match=said):
            kernel[1, 32](*arguments)


def test_what_else_is_refused(on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match="argument `p` has dtype f16, but its annotation says f32"):
        cl.kernel(_scaled)[1, 32](on_gpu((8,), "f16"), 8, 0)
    monkeypatch.setenv("CUTELITE_SIM", "1")
    with pytest.raises(ArgumentError, match="`p` is an address, and the simulator has no memory there; pass an array"):
        cl.kernel(_scaled)[1, 32](0x20000, 8, np.zeros(8, np.float32))
    for item in (5, (f32, 3), (f32, cl.align(4), cl.align(8)), "f32"):
        with pytest.raises(cl.CompileError, match="Pointer"):
            pointer_annotation(item)


@pytest.mark.parametrize("host", [False, True])
def test_exported(host: bool, cuda: FakeCuda, on_gpu: GpuArray) -> None:
    bundle = cl.kernel(_scaled).export(None, block=32, cpus=native.MACHINE)
    kernel = rt.load_kernel(bundle.to_bytes(), host_code=host)
    for _ in range(2):
        kernel[1](0x20000, 8, 0x30000)
        kernel[1](on_gpu((8,)), 8, 0x30000)
    assert len(cuda.launches) + len(cuda.packed) >= 4
    for arguments, said in REFUSED:
        with pytest.raises(ArgumentError, match=said):
            kernel[1](*arguments)
    assert "CUdeviceptr p, int32_t n, CUdeviceptr q" in rt.c_stub(bundle).header
