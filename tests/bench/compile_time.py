"""Compile times, as whole processes: the table of docs/lab/measurements.md.

    python tests/bench/compile_time.py [--runs 10] [--json FILE] [--only WORDS]
    python tests/bench/compile_time.py --stages [--processor] [--against FOLDER] [--runs 10] [--only WORDS]

Needs no GPU. Every row is the median of several fresh processes; the cache is off but in the row about it. `--stages`
tells what a first compile consists of instead, for examples and for kernels that the library's functions launch:
milliseconds by stage, of ptxas alone on the same PTX, and until there is something to compile (imports and the call).
`--processor` measures processor time of the compiling thread, which other work on the machine changes little.
`--against` does the same with another checkout, by turns.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.given import ROOT, parser

BARE = "pass"
IMPORT = "import cutelite"
SET_UP = """
import time; start = time.perf_counter()
from cutelite import toolchain
from cutelite.target import Target
toolchain.to_ptx("define ptx_kernel void @f() { ret void }", Target.parse("sm_90a"))
print(time.perf_counter() - start)
"""
EXAMPLE = """
import sys, types
common = sys.modules["common"] = types.ModuleType("common")  # where examples run and how they check: imports NumPy
common.__getattr__ = lambda name: None
sys.path.insert(0, {examples!r})
"""
KERNEL = (
    EXAMPLE
    + """
import time
from {module} import {kernel} as wanted
import cutelite as cl
from cutelite import Tensor, f32
@cl.kernel
def warm(a: Tensor[f32, (1,)]) -> None:
    if cl.thread_idx.x == 0:
        a[0] = a[0] + 1.0
warm.compile(block=32)
start = time.perf_counter()
compiled = wanted.compile()
print(time.perf_counter() - start)
"""
)
FIRST = (
    EXAMPLE
    + """
import time
from {module} import {kernel} as wanted
start = time.perf_counter()
compiled = wanted.compile()
print(time.perf_counter() - start)
"""
)
OF_AN_EXAMPLE = (
    EXAMPLE
    + """
from {module} import {kernel} as wanted
make = wanted.compile
"""
)
OF_A_CALL = """
import ml_dtypes, numpy as np
from cutelite.dispatch.divert import diverted
from cutelite.kernels.{module} import {kernel}
def of(*shape): return np.zeros(shape, ml_dtypes.bfloat16)
launched = []
with diverted(lambda *launch: launched.append(launch)):
    {kernel}({arguments})
def make():
    kernel, launch, args, kwargs = launched[len(launched) // 2]  # of three the one that multiplies
    return kernel.compile(*args, block=launch.block, cluster=launch.cluster, arch="sm_90a", **kwargs)
"""
STAGES = """
import json, time
if {processor}: time.perf_counter = time.thread_time
begin = time.perf_counter()
{wanted}
start = time.perf_counter()
compiled = make()
end = time.perf_counter()
from cutelite.toolchain import find
with open({ptx!r}, "w") as file:
    file.write(compiled.ptx)
print(json.dumps([start - begin, end - start, compiled.build.times, find.ptxas()]))
"""
WHOLE = (
    EXAMPLE
    + """
from {module} import {kernel} as wanted
wanted.compile()
"""
)
UNROLLED = """
import time
import cutelite as cl
from cutelite import Constexpr, Tensor, f32
@cl.kernel
def chain(a: Tensor[f32, (1,)], n: Constexpr[int]) -> None:
    x = a[0]
    for i in cl.static_range(n):
        x = x * 1.5 + float(i)
    a[0] = x
chain.compile(block=32, n=10)
times = []
for n in (200, 2000):
    start = time.perf_counter()
    chain.compile(block=32, n=n)
    times.append(time.perf_counter() - start)
print(times[1] / times[0])
"""


def run(code: str, root: Path = ROOT, **environment: str) -> tuple[float, str]:
    """Wall seconds of a fresh process with the checkout `root`, and what it printed."""
    env = {**os.environ, "PYTHONPATH": str(root), "CUTELITE_CACHE": "0", **environment}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # bytecode files are part of an installation
    start = time.perf_counter()  # Python looks into the current folder first: that must not be another checkout
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, cwd=root)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(done.stderr)
    return seconds, done.stdout.strip()


def printed(code: str) -> Callable[[], float]:
    return lambda: float(run(code)[1].splitlines()[-1])


def from_cache(code: str) -> Callable[[], float]:
    """A second process: the first one fills a cache of its own."""
    directory = tempfile.mkdtemp()
    run(code, CUTELITE_CACHE="1", CUTELITE_CACHE_DIR=directory)
    return lambda: run(code, CUTELITE_CACHE="1", CUTELITE_CACHE_DIR=directory)[0]


def rows() -> dict[str, tuple[float, Callable[[], float]]]:
    """Name -> (bar, one measurement)."""
    place = {"examples": str(ROOT / "examples")}
    add = {**place, "module": "vector_add", "kernel": "vector_add"}
    gemm = {**place, "module": "hopper_gemm", "kernel": "gemm"}
    tiled = {**place, "module": "hopper_gemm_tiled", "kernel": "gemm"}
    return {
        "import cutelite, over bare Python, s": (0.06, lambda: run(IMPORT)[0] - run(BARE)[0]),
        "set-up of the toolchain in a process, s": (0.06, printed(SET_UP)),
        "vector add to cubin, set-up apart, s": (0.04, printed(KERNEL.format(**add))),
        "vector add, first compile behind the import, s": (0.07, printed(FIRST.format(**add))),
        "Hopper GEMM, first compile behind the import, s": (0.15, printed(FIRST.format(**gemm))),
        "vector add, whole cold process, s": (0.25, lambda: run(WHOLE.format(**add))[0]),
        "Hopper GEMM to cubin, set-up apart, s": (0.30, printed(KERNEL.format(**gemm))),
        "vector add, second process, s": (0.12, from_cache(WHOLE.format(**add))),
        "Hopper GEMM, second process, s": (0.12, from_cache(WHOLE.format(**gemm))),
        "tiled Hopper GEMM, second process, s": (0.12, from_cache(WHOLE.format(**tiled))),
        "10 times the unrolled body, times": (12.0, printed(UNROLLED)),
    }


def kernels(root: Path) -> dict[str, str]:
    """Name -> code of a checkout that defines `make`, the compile of a kernel."""
    place = {"examples": str(root / "examples")}
    rows = "np.zeros((1, 16, 4096), np.float32)"
    calls = {
        "GEMM of the library": ("gemm", "gemm", "of(4096, 4096), of(4096, 4096).T"),
        "RMSNorm": ("rows.norm", "rms_norm", "of(4096, 4096), of(4096)"),
    }
    for dim in (128, 64):
        for name, causal in (("causal", True), ("full", False)):
            q = f"of(1, 4096, 16, {dim})"
            calls[f"attention, {dim}, {name}"] = "attention", "attention", f"*[{q}] * 3, causal={causal}"
            given = f"*[{q}] * 5, {rows}, causal={causal}"
            calls[f"gradients of attention, {dim}, {name}"] = "attention", "attention_backward", given
    return {
        "vector add": OF_AN_EXAMPLE.format(**place, module="vector_add", kernel="vector_add"),
        "Hopper GEMM": OF_AN_EXAMPLE.format(**place, module="hopper_gemm", kernel="gemm"),
        **{n: OF_A_CALL.format(module=m, kernel=k, arguments=of) for n, (m, k, of) in calls.items()},
    }


def staged(root: Path, wanted: str, processor: bool) -> dict[str, float]:
    """Milliseconds of a first compile, by stage."""
    with tempfile.TemporaryDirectory() as folder:
        code = STAGES.format(wanted=wanted, processor=processor, ptx=f"{folder}/kernel.ptx")
        before, whole, times, ptxas = json.loads(run(code, root)[1].splitlines()[-1])
        command = [ptxas, "-v", "-arch=sm_90a", "-O3", f"{folder}/kernel.ptx", "-o", f"{folder}/kernel.cubin"]
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        alone = time.perf_counter() - start
    found = {"all": whole, **times, "rest": whole - sum(times.values()), "ptxas alone": alone, "before": before}
    return {name: seconds * 1e3 for name, seconds in found.items()}


def stages(given: Any) -> None:
    """Print what the first compiles of some kernels consist of."""
    roots = [ROOT, *([given.against.resolve()] if given.against else [])]
    codes = [kernels(root) for root in roots]
    for name in codes[0]:
        if given.only not in name:
            continue
        runs: list[list[dict[str, float]]] = [[] for _ in roots]
        for turn in range(given.runs + 1):
            for root, code, found in zip(roots, codes, runs, strict=True):
                taken = staged(root, code[name], given.processor)
                found += [taken] if turn else []  # the first one writes bytecode files
        print(
            f"{name}, ms over {given.runs} runs: least, lower quarter, median" + ", of each checkout" * len(roots[1:])
        )
        for key in runs[0][0]:
            line = f"  {key:12}"
            for found in runs:
                values = sorted(each[key] for each in found)
                line += f" {values[0]:7.1f} {values[len(values) // 4]:7.1f} {statistics.median(values):7.1f}  "
            print(line.rstrip(), flush=True)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--runs", type=int, default=10)
    asked.add_argument("--json", type=Path)
    asked.add_argument("--only", default="", help="rows with these words in their name")
    asked.add_argument("--stages", action="store_true")
    asked.add_argument("--processor", action="store_true", help="processor time of stages, not time by the clock")
    asked.add_argument("--against", type=Path, help="another checkout, for stages")
    given = asked.parse_args()
    if given.stages:
        stages(given)
        return
    results = {}
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, {given.runs} runs each\n")
    print(f"| {'what':42} | bar   | median | fastest |\n|{'-' * 44}|-------|--------|---------|")
    for name, (bar, measure) in rows().items():
        if given.only not in name:
            continue
        values = [measure() for _ in range(given.runs + 1)][1:]
        results[name] = {"bar": bar, "median": statistics.median(values), "values": values}
        print(f"| {name:42} | {bar:5} | {statistics.median(values):6.3f} | {min(values):7.3f} |", flush=True)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
