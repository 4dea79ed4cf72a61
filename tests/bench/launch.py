"""Host time of a launch from Python, beside a loop in C and what others take for the same: microseconds, one table.

    python tests/bench/launch.py [--json FILE] [--case NAME ...]         (make bench-launch)

Needs torch and a Hopper GPU; Triton, CuPy, cuda.core and numba-cuda are measured where they can be imported. A number
is the median of rounds in which all competitors take turns; in a round a statement is executed 200 times without
waiting (the driver's queue holds 1024), and the GPU is idle when it starts. The kernels are too small for the GPU to be
what is waited for. `C loop` is a loop compiled by LLVM around cuLaunchKernelEx, with everything packed beforehand: what
the driver takes; with `one buffer` it gets the parameters by CU_LAUNCH_PARAM_BUFFER_POINTER, and not by a pointer each.
It, `driver` (the same through cuda.bindings), CuPy and cuda.core launch the very cubin that cutelite made. Below the
table are the ratios that docs/launching.md promises, of the C loop with pointers, what a million launches from 8
threads leave behind, and how long a second process takes from its start to its first result. `--case` measures no more
than the times of some kinds of launch.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import timeit
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, config, f32, i32
from cutelite.toolchain import host
from cutelite_rt.gpu.driver import get as driver
from cutelite_rt.gpu.tensormap import Tiling, encode
from cutelite_rt.launcher import image, native
from tests.bench.given import ROOT, example, parser

Runs = dict[str, Callable[[int], Any]]
"""For each competitor a function that launches n times."""

LAUNCHES, ROUNDS = 200, 31
SIZE, BLOCK = 4096, 256
GRID = SIZE // BLOCK
BARS = {
    ("5 tensors, 9 numbers", ""): 1.15,
    ("5 tensors, 9 numbers", ", kernel[...] kept"): 1.12,
    ("3 tensor maps", ""): 1.25,
    ("3 tensor maps", ", kernel[...] kept"): 1.25,
    ("3 tensor maps", ", other tensors"): 1.6,
    ("ten kernels", ", a program"): 1.15,
}
"""What cutelite may take at most, in C loops of the same case."""

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


def statement(text: str, **names: Any) -> Callable[[int], Any]:
    """A function that executes a statement n times, in a loop of its own."""
    timer = timeit.Timer(text, globals=names)
    return lambda n: timer.timeit(n)


def ready(kernel: Any) -> None:
    """Have the launcher there: it is compiled after the first launches, in the background."""
    kernel._launching.build(driver(), config.read())
    assert kernel._launching.launcher is not None


# Others launching the same cubin.

LOOP = """
define i32 @loop(i64 %n, ptr %launch, ptr %config, ptr %function, ptr %parameters, ptr %extra) nounwind {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %j, %next ]
  %status = phi i32 [ 0, %0 ], [ %all, %next ]
  %s = call i32 %launch(ptr %config, ptr %function, ptr %parameters, ptr %extra)
  %all = or i32 %status, %s
  %j = add i64 %i, 1
  %over = icmp eq i64 %j, %n
  br i1 %over, label %end, label %next
end:
  ret i32 %all
}
"""


_BUFFER, _BUFFER_SIZE, _END = 1, 2, 0  # CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END


def c_loops(compiled: Any, grid: tuple[int, int, int], values: list[Any]) -> Runs:
    """Of a kernel without tensor maps: with them, parameters do not begin at 0 in the driver's one buffer."""
    return {
        "C loop": c_loop(compiled, grid, values),
        "C loop, one buffer": c_loop(compiled, grid, values, one_buffer=True),
    }


def c_loop(
    compiled: Any, grid: tuple[int, int, int], values: list[Any], one_buffer: bool = False
) -> Callable[[int], Any]:
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, *[ctypes.c_void_p] * 5)
    loop = prototype(image.Machine.of(host.to_image(LOOP, ("loop", "loop"))).launch)
    function = rt.load(compiled.artifact, rt.device(0))
    config = rt.LaunchConfig(grid, compiled.artifact.block, smem=compiled.artifact.dynamic_smem)
    function.prepared(config)  # allows the shared memory
    raw = ctypes.create_string_buffer(struct.pack("<7I 4x 2Q I 4x", *config.grid, *config.block, config.smem, 0, 0, 0))
    parameters = function.layout.pack(values)
    first, size = ctypes.c_uint64.from_address(parameters.address).value, ctypes.c_size_t(function.layout.size)
    extra = (ctypes.c_void_p * 5)(_BUFFER, first, _BUFFER_SIZE, ctypes.addressof(size), _END)
    given = (0, ctypes.addressof(extra)) if one_buffer else (parameters.address, 0)
    kept = raw, parameters, size, extra
    launch = function.driver.address_of("cuLaunchKernelEx", (11, 6))

    def run(n: int) -> None:
        assert not loop(n, launch, ctypes.addressof(raw), int(function.handle), *given), kept

    return run


def same_cubin(compiled: Any, arrays: list[Any], numbers: list[Any]) -> Runs:
    """The kernel of vectors and numbers that cutelite compiled, launched by others; the dim N comes last."""
    values = [*(a.data_ptr() for a in arrays), *numbers, SIZE]
    grid = (GRID, 1, 1)
    found = {**c_loops(compiled, grid, values), "driver": prepacked(compiled, grid, values)}
    scalars = [np.int32(n) if isinstance(n, int) else np.float32(n) for n in (*numbers, SIZE)]
    if importable("cupy"):
        found["cupy"] = with_cupy(compiled, grid, arrays, scalars)
    if importable("cuda.core"):
        found["cuda.core"] = with_cuda_core(compiled, grid, arrays, scalars)
    return found


def prepacked(compiled: Any, grid: tuple[int, int, int], values: list[Any]) -> Callable[[int], Any]:
    function = rt.load(compiled.artifact, rt.device(0))
    smem = compiled.artifact.dynamic_smem
    config = function.prepared(rt.LaunchConfig(grid, compiled.artifact.block, smem=smem))
    parameters = function.layout.pack(values)
    names = {"launch": function.driver.raw.cuLaunchKernelEx, "config": config, "function": function.handle}
    return statement("launch(config, function, address, 0)", address=parameters.address, kept=parameters, **names)


def with_cupy(compiled: Any, grid: tuple[int, int, int], arrays: list[Any], scalars: list[Any]) -> Callable[[int], Any]:
    import cupy

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(compiled.cubin)
        file.flush()
        kernel = cupy.RawModule(path=file.name).get_function(compiled.name)
    arguments = (*map(cupy.from_dlpack, arrays), *scalars)
    return statement("kernel(grid, (256,), arguments)", kernel=kernel, grid=grid, arguments=arguments)


def with_cuda_core(
    compiled: Any, grid: tuple[int, int, int], arrays: list[Any], scalars: list[Any]
) -> Callable[[int], Any]:
    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    device = Device(0)
    device.set_current()
    stream, kernel = device.default_stream, ObjectCode.from_cubin(compiled.cubin).get_kernel(compiled.name)
    pointers = ", ".join(f"a{i}.data_ptr()" for i in range(len(arrays)))
    numbers = "".join(f", s{i}" for i in range(len(scalars)))
    names = {f"a{i}": a for i, a in enumerate(arrays)} | {f"s{i}": s for i, s in enumerate(scalars)}
    text = f"launch(stream, LaunchConfig(grid=grid, block=256), kernel, {pointers}{numbers})"
    return statement(text, launch=launch, stream=stream, LaunchConfig=LaunchConfig, grid=grid, kernel=kernel, **names)


def importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def triton_kernel(name: str) -> Any:
    return getattr(importlib.import_module("launch_triton"), name)


# The three kinds of launch.


def vectors() -> Runs:
    a, b, c = (torch.randn(SIZE, device="cuda") for _ in range(3))
    names = {"kernel": vector_add, "held": vector_add[GRID, BLOCK], "G": GRID, "B": BLOCK, "a": a, "b": b, "c": c}
    vector_add[GRID, BLOCK](a, b, c)
    torch.testing.assert_close(c, a + b)
    ready(vector_add)
    bundle = vector_add.export(None, cpus=native.MACHINE)
    python, host = (rt.load_kernel(bundle, host_code=host_code) for host_code in (False, True))
    assert host.host
    found = {
        "cutelite": statement("kernel[G, B](a, b, c)", **names),
        "cutelite, kernel[...] kept": statement("held(a, b, c)", **names),
        "exported": statement("kernel[G](a, b, c)", **{**names, "kernel": python}),
        "exported, with host_code": statement("kernel[G](a, b, c)", **{**names, "kernel": host}),
        "torch": statement("add(a, b, out=c)", add=torch.add, a=a, b=b, c=c),
        **same_cubin(compiled_for(vector_add), [a, b, c], []),
    }
    if importable("triton"):
        found["triton"] = statement(
            "kernel[(G,)](a, b, c, n, B)", **{**names, "kernel": triton_kernel("vector_add")}, n=SIZE
        )
    if importable("numba.cuda"):
        try:
            found["numba-cuda"] = with_numba(a, b, c)
        except Exception as error:  # a version that does not go with NumPy's, as it turns out when it compiles
            print(f"numba-cuda is left out: {type(error).__name__}: {error}", file=sys.stderr)
    return found


def with_numba(a: Any, b: Any, c: Any) -> Callable[[int], Any]:
    from numba import cuda

    @cuda.jit
    def add(a, b, c):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    arrays = dict(zip("abc", map(cuda.as_cuda_array, (a, b, c)), strict=True))
    add[GRID, BLOCK](*arrays.values())
    return statement("kernel[G, B](a, b, c)", kernel=add, G=GRID, B=BLOCK, **arrays)


def many_arguments() -> Runs:
    arrays = [torch.randn(SIZE, device="cuda") for _ in range(5)]
    numbers = [1, 2, 3, 4, 5, 6, 7, 0.5, 2.0]
    many[GRID, BLOCK](*arrays, *numbers)
    a, b, c, d, e = arrays
    torch.testing.assert_close(e, (a + b) * 0.5 + (c + d) * 2.0 + 28.0)
    ready(many)
    names = {"a": a, "b": b, "c": c, "d": d, "e": e, "G": GRID, "B": BLOCK}
    given = "(a, b, c, d, e, 1, 2, 3, 4, 5, 6, 7, 0.5, 2.0)"
    found = {
        "cutelite": statement(f"kernel[G, B]{given}", kernel=many, **names),
        "cutelite, kernel[...] kept": statement(f"held{given}", held=many[GRID, BLOCK], **names),
        **same_cubin(compiled_for(many), arrays, numbers),
    }
    if importable("triton"):
        text = f"kernel[(G,)]{given[:-1]}, n, B)"
        found["triton"] = statement(text, kernel=triton_kernel("many"), n=SIZE, **names)
    return found


def tensor_maps() -> Runs:
    """256 x 256 x 64 in bf16; `other tensors` takes other memory for all three at each launch: no map of it is kept."""
    rows, depth, hopper_gemm = 256, 64, example("hopper_gemm")
    many_a, many_b = (torch.randn(4096, rows, depth, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    many_c = torch.empty(1024, rows, rows, device="cuda", dtype=torch.bfloat16)
    a, b, c = many_a[0], many_b[0], many_c[0]
    grid = (rows // hopper_gemm.BN, rows // hopper_gemm.BM)
    kernel = hopper_gemm.gemm
    kernel[grid, hopper_gemm.THREADS](a, b, c)
    torch.testing.assert_close(c, a @ b.T, rtol=2e-2, atol=2e-2)
    ready(kernel)
    turns = [(many_a[i], many_b[i], many_c[i % 1024]) for i in range(4096)]
    maps = [mapped(tensor, box) for tensor, box in ((a, (128, 64)), (b, (256, 64)), (c, (64, 64)))]
    names = {"kernel": kernel, "held": kernel[grid, hopper_gemm.THREADS], "G": grid, "B": hopper_gemm.THREADS}
    return {
        "cutelite": statement("kernel[G, B](a, b, c)", a=a, b=b, c=c, **names),
        "cutelite, kernel[...] kept": statement("held(a, b, c)", a=a, b=b, c=c, **names),
        "cutelite, other tensors": statement("a, b, c = turns(); kernel[G, B](a, b, c)", turns=cycle(turns), **names),
        "torch": statement("mm(a, b.T, out=c)", mm=torch.mm, a=a, b=b, c=c),
        "C loop": c_loop(compiled_for(kernel), (*grid, 1), [*maps, rows, rows, depth]),
    }


def ten_kernels() -> Runs:
    """Ten launches of one kernel on chained arrays; times are of one of them."""

    def step(a: Any, b: Any, c: Any) -> None:
        for _ in range(5):
            vector_add[GRID, BLOCK](a, b, c)
            vector_add[GRID, BLOCK](b, c, a)

    program, arrays = cl.program(step), [torch.zeros(SIZE, device="cuda") for _ in range(3)]
    program(*arrays)
    ready(vector_add)
    values = [*(a.data_ptr() for a in arrays), SIZE]
    compiled = compiled_for(vector_add)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        program(*arrays)
    a, b, c = arrays

    def tenth(run: Callable[[int], Any]) -> Callable[[int], Any]:
        return lambda n: run(n // 10)

    return {
        "cutelite, a program": tenth(statement("program(a, b, c)", program=program, a=a, b=b, c=c)),
        "cutelite": tenth(statement("step(a, b, c)", step=step, a=a, b=b, c=c)),
        "CUDA graph": tenth(statement("replay()", replay=graph.replay)),
        "C loop": c_loop(compiled, (GRID, 1, 1), values),
    }


def cycle(items: list[Any]) -> Callable[[], Any]:
    from itertools import cycle as endless

    return endless(items).__next__


def mapped(tensor: Any, box: tuple[int, int]) -> bytes:
    return encode(tensor.data_ptr(), "bf16", tuple(tensor.shape), tensor.stride(), Tiling(box, swizzle="128B"))


def compiled_for(kernel: Any) -> Any:
    """The one specialisation that has been launched."""
    (compiled,) = kernel._made.compiled.values()
    return compiled


# Measuring.


def per_launch(run: Callable[[int], Any]) -> float:
    """Host microseconds of one of `LAUNCHES` launches."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    run(LAUNCHES)
    return (time.perf_counter() - start) / LAUNCHES * 1e6


def medians(runs: Runs) -> dict[str, float]:
    for run in runs.values():  # compile, load, and fill what is kept
        per_launch(run)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            times[name].append(per_launch(run))
    torch.cuda.synchronize()
    return {name: statistics.median(each) for name, each in times.items()}


def allocated() -> int:
    """Bytes that Python allocates at the most while it launches, and did not have before."""
    arrays = [torch.randn(SIZE, device="cuda") for _ in range(5)]
    text = "held(a, b, c, d, e, 1, 2, 3, 4, 5, 6, 7, 0.5, 2.0)"
    names = dict(zip("abcde", arrays, strict=True))
    run = statement(text, held=many[GRID, BLOCK], **names)
    tracemalloc.start()
    run(LAUNCHES)
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    run(LAUNCHES)
    _, peak = tracemalloc.get_traced_memory()
    nothing = statement("pass")
    nothing(LAUNCHES)
    tracemalloc.reset_peak()
    base, _ = tracemalloc.get_traced_memory()
    nothing(LAUNCHES)
    _, idle = tracemalloc.get_traced_memory()  # what the loop itself takes
    tracemalloc.stop()
    return max(0, peak - before - (idle - base))


def from_threads(threads: int = 8, launches: int = 1_000_000) -> tuple[float, int]:
    """Seconds of all launches, and by how many bytes the process grew in the second half of them."""
    errors: list[BaseException] = []

    def work(count: int) -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                a, b, c = (torch.full((SIZE,), 1.0, device="cuda") for _ in range(3))
                for _ in range(count // LAUNCHES):
                    for _ in range(LAUNCHES):
                        vector_add[GRID, BLOCK](a, b, c)
                    torch.cuda.current_stream().synchronize()
                assert bool((c == 2).all())
        except BaseException as error:
            errors.append(error)

    start, sizes = time.perf_counter(), []
    for _ in range(2):
        workers = [threading.Thread(target=work, args=(launches // threads // 2,)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        gc.collect()
        sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())
    assert not errors, errors[0]
    return time.perf_counter() - start, sizes[1] - sizes[0]


SECOND = """
import time; start = time.perf_counter()
import torch, ctypes
torch.cuda.init(); x = torch.ones(4096, device="cuda"); torch.cuda.synchronize()
ready = time.perf_counter()
import sys; sys.path.insert(0, {bench!r})
import cutelite as cl
from launch_cold import double
y = torch.empty_like(x)
double[16, 256](x, y); torch.cuda.synchronize()
print(time.perf_counter() - ready, bool((y == 2).all()), "cutelite.toolchain.libllvm" in sys.modules, ready - start)
"""


def second_process() -> list[float]:
    """Seconds from the import of cutelite to the result of a kernel that an earlier process compiled, torch and the
    context being there; of five processes."""
    found = []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "CUTELITE_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
        # Bytecode is kept, as it is of installed packages, also where the environment would have none written.
        environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(Path(cache, "bytecode"))}
        for i in range(6):
            code = SECOND.format(bench=str(Path(__file__).parent))
            out = subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
            )
            seconds, right, llvm, _ = out.stdout.split()
            assert right == "True"
            assert i == 0 or llvm == "False", "the compiler is not needed"
            found.append(float(seconds))
    return found[1:]


CASES = {
    "vector_add": vectors,
    "5 tensors, 9 numbers": many_arguments,
    "3 tensor maps": tensor_maps,
    "ten kernels": ten_kernels,
}


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--json", type=Path)
    asked.add_argument("--launches", type=int, default=1_000_000, help="from threads")
    asked.add_argument("--case", action="append", choices=list(CASES), help="measure the times of this alone")
    options = asked.parse_args()
    results = {case: medians(CASES[case]()) for case in options.case or CASES}
    print_times(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    if not options.case:
        print_others(options.launches)


def print_times(results: dict[str, dict[str, float]]) -> None:
    rows = list(dict.fromkeys(name for result in results.values() for name in result))
    print(f"{'host us per launch':30}" + "".join(f"{case:>24}" for case in results))
    for name in rows:
        cells = (result.get(name) for result in results.values())
        print(f"{name:30}" + "".join(f"{'-' if us is None else f'{us:.2f}':>24}" for us in cells))
    print()
    for (case, how), most in ((bar, most) for bar, most in BARS.items() if bar[0] in results):
        ratio = results[case][f"cutelite{how}"] / results[case]["C loop"]
        print(f"{case}{how}: {ratio:.3f} C loops (at most {most}: {'kept' if ratio <= most else 'MISSED'})")


def print_others(launches: int) -> None:
    print(f"bytes that Python allocates for a launch: {allocated()}")
    seconds, growth = from_threads(launches=launches)
    print(f"{launches} launches from 8 threads: {seconds:.1f} s, {growth} bytes more after the second half")
    cold = second_process()
    print(
        f"second process, import to first result: {statistics.median(cold):.3f} s ({min(cold):.3f} to {max(cold):.3f})"
    )


if __name__ == "__main__":
    main()
