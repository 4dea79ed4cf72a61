"""Launches that go elsewhere, and what a launch would compile."""

from __future__ import annotations

import threading
from contextvars import copy_context
from functools import partial
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Constexpr, Tensor, f32
from cutelite.dispatch import ArgumentError, Kernel, Launch, LaunchError
from cutelite.dispatch.divert import diverted
from tests.dispatch import kernels
from tests.dispatch.conftest import GpuArray
from tests.rt.conftest import FakeCuda

N = cl.dims("N")


@pytest.fixture
def add() -> Kernel:
    """A kernel that nothing has been compiled for."""
    return Kernel(kernels.add.__cutelite_function__, kernels.add.given)


def test_diverted_launches_go_nowhere_else(add: Kernel, on_gpu: GpuArray, cuda: FakeCuda) -> None:
    seen: list[Any] = []
    arrays = [on_gpu((64,)) for _ in range(3)]
    with diverted(lambda *launch: seen.append(launch)):
        add[1, 64](*arrays)
        add.launch(Launch(2, 32), arrays[0], arrays[1], c=arrays[2])
        kernels.Scaler(3).run[1, 32](arrays[0])
    assert [(kernel.__name__, launch.grid) for kernel, launch, _, _ in seen] == [("add", 1), ("add", 2), ("run", 1)]
    assert seen[1][2:] == ((arrays[0], arrays[1]), {"c": arrays[2]})
    assert not cuda.launches
    add[1, 64](*arrays)
    assert len(cuda.launches) == 1


def test_a_launch_with_a_plan_is_diverted_too(add: Kernel, on_gpu: GpuArray, cuda: FakeCuda) -> None:
    arrays = [on_gpu((64,)) for _ in range(3)]
    for _ in range(2):
        add[1, 64](*arrays)
    with diverted(lambda *launch: None):
        add[1, 64](*arrays)
        with diverted(None):
            add[1, 64](*arrays)
    assert len(cuda.launches) == 3


def test_other_threads_launch_as_ever(add: Kernel, on_gpu: GpuArray, cuda: FakeCuda) -> None:
    arrays = [on_gpu((64,)) for _ in range(3)]
    with diverted(lambda *launch: None):
        for launch in (add[1, 64], partial(copy_context().run, add[1, 64])):  # as 3.14 does without a lock
            thread = threading.Thread(target=launch, args=arrays)
            thread.start()
            thread.join()
    assert len(cuda.launches) == 2


def test_what_a_launch_would_compile(add: Kernel, on_gpu: GpuArray, cuda: FakeCuda) -> None:
    arrays = [on_gpu((64,)) for _ in range(3)]
    compiling = add.compiling(Launch(1, 64), *arrays)
    assert compiling is not None and not add.specialisations
    compiled = compiling()
    assert compiled.arch == "sm_90a" and compiled.cubin
    assert len(add.specialisations) == 1 and not cuda.launches and not cuda.images
    add[1, 64](*arrays)
    assert len(add.specialisations) == 1
    assert add.compiling(Launch(0, 64), *arrays) is None


def test_arguments_are_checked_before_the_compile_and_the_rest_by_it(add: Kernel, on_gpu: GpuArray) -> None:
    with pytest.raises(ArgumentError, match="`b` has extent 32, but N is 64"):
        add.compiling(Launch(1, 64), on_gpu((64,)), on_gpu((32,)), on_gpu((64,)))
    with pytest.raises(LaunchError, match="add: no block is given"):
        add.compiling(Launch(1), *[on_gpu((64,)) for _ in range(3)])
    sharing = Kernel(kernels.sharing.__cutelite_function__, kernels.sharing.given, (128, 1, 1))
    compiling = sharing.compiling(Launch(1, smem=200_000), on_gpu((128,)))
    assert compiling is not None
    with pytest.raises(LaunchError, match="sharing: a block needs 61440 bytes of shared memory and 200000 are asked"):
        compiling()


def test_a_launch_on_numpy_can_be_compiled_ahead_too() -> None:
    def twice(x: Tensor[f32, (N,)], by: Constexpr[int] = 2) -> None:
        x[cl.thread_idx.x] = x[cl.thread_idx.x] * by

    compiling = cl.kernel(twice).compiling(Launch(1, 32), np.ones(32, np.float32))
    assert compiling is not None and compiling().arch == "sm_90a"


@cl.program
def step(x: Any) -> None:
    kernels.add[1, 64](x, x, x)


def test_kernels_launch_nothing() -> None:
    @cl.kernel(block=64)
    def within(x: Tensor[f32, (N,)], whole: Constexpr[bool]) -> None:
        if whole:
            step(x)
        else:
            kernels.add[1, 64](x, x, x)

    for whole, said in ((True, "the program step"), (False, "add")):
        with pytest.raises(CompileError, match=f"{said} is launched in a kernel, and only the host launches"):
            within.compile(whole=whole)


class Adding:
    @cl.program
    def run(self, x: Any) -> None:
        kernels.add[1, 64](x, x, x)


def test_programs_are_methods_or_plain_functions() -> None:
    x = np.ones(64, np.float32)
    Adding().run(x)
    assert (x == 2).all()

    async def later(x: Any) -> None: ...

    unlike: Any = later
    with pytest.raises(TypeError, match="a program is a plain function"):
        cl.program(unlike)
