"""Host time of a launch from Python, beside what others take for the same work: microseconds, one table.

    python tests/bench/launch.py [--json FILE]

Needs torch and a Hopper GPU; Triton, CuPy and cuda.core are measured where they can be imported. A number is the
median of rounds in which all competitors take turns; in a round a competitor launches 200 times without waiting (the
driver's queue holds 1024), and the GPU is idle when it starts. The kernels are too small for the GPU to be what is
waited for. `driver` is cuLaunchKernelEx through cuda.bindings with everything packed beforehand, the floor in Python;
it, CuPy and cuda.core launch the very cubin that cutelite made.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import numpy as np
import torch

import cutelite as cl
import cutelite_rt as rt
import hopper_gemm
from cutelite import Tensor, f32, i32

Calls = dict[str, Callable[[], Any]]
LAUNCHES, ROUNDS = 200, 31
SIZE, BLOCK = 4096, 256
GRID = SIZE // BLOCK

N = cl.dims("N")
Vector = Tensor[f32, (N,)]


@cl.kernel(block=BLOCK)
def vector_add(a: Vector, b: Vector, c: Vector) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        c[i] = a[i] + b[i]


@cl.kernel(block=BLOCK)
def many(
    a: Vector,
    b: Vector,
    c: Vector,
    d: Vector,
    e: Vector,
    i0: i32,
    i1: i32,
    i2: i32,
    i3: i32,
    i4: i32,
    i5: i32,
    i6: i32,
    x: f32,
    y: f32,
) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        e[i] = (a[i] + b[i]) * x + (c[i] + d[i]) * y + f32(i0 + i1 + i2 + i3 + i4 + i5 + i6)


# Others launching the same cubin.


def same_cubin(compiled: Any, grid: tuple[int, int, int], arrays: list[Any], numbers: list[Any]) -> Calls:
    """The kernel of vectors and numbers that cutelite compiled, launched by others; the dim N comes last."""
    found: Calls = {"driver": prepacked(compiled, grid, [*(a.data_ptr() for a in arrays), *numbers, SIZE])}
    scalars = [np.int32(n) if isinstance(n, int) else np.float32(n) for n in (*numbers, SIZE)]
    if importable("cupy"):
        found["cupy"] = with_cupy(compiled, grid, arrays, scalars)
    if importable("cuda.core"):
        found["cuda.core"] = with_cuda_core(compiled, grid, arrays, scalars)
    return found


def prepacked(compiled: Any, grid: tuple[int, int, int], values: list[Any]) -> Callable[[], Any]:
    function = rt.load(compiled.artifact, rt.device(0))
    smem = compiled.artifact.dynamic_smem
    config = function.prepared(rt.LaunchConfig(grid, compiled.artifact.block, smem=smem))
    parameters = function.layout.pack(values)
    submit, handle, address = function.driver.raw.cuLaunchKernelEx, function.handle, parameters.address

    def launch(kept: Any = parameters) -> None:
        assert not submit(config, handle, address, 0)[0]

    return launch


def with_cupy(compiled: Any, grid: tuple[int, int, int], arrays: list[Any], scalars: list[Any]) -> Callable[[], Any]:
    import cupy

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(compiled.cubin)
        file.flush()
        kernel = cupy.RawModule(path=file.name).get_function(compiled.name)
    arguments = (*map(cupy.from_dlpack, arrays), *scalars)
    return lambda: kernel(grid, (BLOCK,), arguments)


def with_cuda_core(
    compiled: Any, grid: tuple[int, int, int], arrays: list[Any], scalars: list[Any]
) -> Callable[[], Any]:
    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    device = Device(0)
    device.set_current()
    stream, kernel = device.default_stream, ObjectCode.from_cubin(compiled.cubin).get_kernel(compiled.name)

    def call() -> None:
        config = LaunchConfig(grid=grid, block=BLOCK)
        launch(stream, config, kernel, *(a.data_ptr() for a in arrays), *scalars)

    return call


def importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


# The three kinds of launch.


def vectors() -> Calls:
    a, b, c = (torch.randn(SIZE, device="cuda") for _ in range(3))
    held = vector_add[GRID, BLOCK]
    found: Calls = {
        "cutelite": lambda: vector_add[GRID, BLOCK](a, b, c),
        "cutelite, kernel[...] kept": lambda: held(a, b, c),
        "torch": lambda: torch.add(a, b, out=c),
    }
    held(a, b, c)
    torch.testing.assert_close(c, a + b)
    found |= same_cubin(compiled_for(vector_add), (GRID, 1, 1), [a, b, c], [])
    if importable("triton"):
        triton_kernel = importlib.import_module("launch_triton").vector_add
        found["triton"] = lambda: triton_kernel[(GRID,)](a, b, c, SIZE, BLOCK)
    return found


def many_arguments() -> Calls:
    arrays = [torch.randn(SIZE, device="cuda") for _ in range(5)]
    numbers = [1, 2, 3, 4, 5, 6, 7, 0.5, 2.0]
    held = many[GRID, BLOCK]
    found: Calls = {
        "cutelite": lambda: many[GRID, BLOCK](*arrays, *numbers),
        "cutelite, kernel[...] kept": lambda: held(*arrays, *numbers),
    }
    held(*arrays, *numbers)
    a, b, c, d, e = arrays
    torch.testing.assert_close(e, (a + b) * 0.5 + (c + d) * 2.0 + 28.0)
    found |= same_cubin(compiled_for(many), (GRID, 1, 1), arrays, numbers)
    if importable("triton"):
        triton_kernel = importlib.import_module("launch_triton").many
        found["triton"] = lambda: triton_kernel[(GRID,)](*arrays, *numbers, SIZE, BLOCK)
    return found


def tensor_maps() -> Calls:
    """256 x 256 x 64 in bf16; `other tensors` takes the next of 64 outputs at each launch, all met before."""
    a, b = (torch.randn(256, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    outputs = [torch.empty(256, 256, device="cuda", dtype=torch.bfloat16) for _ in range(64)]
    c, turn = outputs[0], iter(range(1 << 62))
    grid = (256 // hopper_gemm.BN, 256 // hopper_gemm.BM)
    held = hopper_gemm.gemm[grid, hopper_gemm.THREADS]
    held(a, b, c)
    torch.testing.assert_close(c, a @ b.T, rtol=2e-2, atol=2e-2)
    return {
        "cutelite": lambda: hopper_gemm.gemm[grid, hopper_gemm.THREADS](a, b, c),
        "cutelite, kernel[...] kept": lambda: held(a, b, c),
        "cutelite, other tensors": lambda: held(a, b, outputs[next(turn) % 64]),
        "torch": lambda: torch.mm(a, b.T, out=c),
    }


def compiled_for(kernel: Any) -> Any:
    """The one specialisation that has been launched."""
    (compiled,) = kernel._made.compiled.values()
    return compiled


# Measuring.


def per_launch(call: Callable[[], Any]) -> float:
    """Host microseconds of one of `LAUNCHES` calls."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(LAUNCHES):
        call()
    return (time.perf_counter() - start) / LAUNCHES * 1e6


def medians(calls: Calls) -> dict[str, float]:
    for call in calls.values():  # compile, load, and fill what is kept
        per_launch(call)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            times[name].append(per_launch(call))
    return {name: statistics.median(each) for name, each in times.items()}


CASES = {"vector_add": vectors, "5 tensors, 9 numbers": many_arguments, "3 tensor maps": tensor_maps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {case: medians(calls()) for case, calls in CASES.items()}
    rows = list(dict.fromkeys(name for result in results.values() for name in result))
    print(f"{'host us per launch':30}" + "".join(f"{case:>24}" for case in results))
    for name in rows:
        cells = (result.get(name) for result in results.values())
        print(f"{name:30}" + "".join(f"{'-' if us is None else f'{us:.1f}':>24}" for us in cells))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
