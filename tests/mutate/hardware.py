"""Run mutants that the simulator reports on a GPU, some of them under compute-sanitizer, and print what these see.

    python -m tests.mutate.hardware --json out.json        # each mutant in processes of its own: a hang ends with them

Every mutant runs `RUNS` times; its results are compared bit by bit with the original's. Those that are likely to hang
come last. Needs a GPU of compute capability 9.0. See docs/checking-hardware.md.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cutelite import pipeline
from cutelite.dispatch import Kernel
from cutelite.dispatch.divert import diverted
from cutelite.ir.function import Function
from tests.mutate.launches import SOURCES, Run, example, launched
from tests.mutate.matrix import chain, outcome, where
from tests.mutate.mutations import Mutation, mutations
from tests.places import gpu

RUNS = 300
PATIENCE = 20  # seconds for a process; of one under a sanitizer twice that
TOOLS = ("racecheck", "synccheck", "memcheck")
LIKELY_TO_HANG = ("bytes", "flip", "count", "stage")

LARGER: dict[str, Run] = {
    "hopper_gemm": example("hopper_gemm", 1024, 1024, 1024),
    "hopper_gemm_tiled": example("hopper_gemm_tiled", 1024, 1024, 1024, 8),
    "tma_transpose": example("tma_transpose", 1024, 1024),
    "tensorop_gemm": example("tensorop_gemm", 1024, 1024, 1024),
}
"""Problems that fill a GPU, where the simulator's are small."""


class Chosen(NamedTuple):
    """A mutant by its facts: the first one with this kernel, kind, op and piece of its detail, after `skip` others."""

    kernel: str
    kind: str
    op: str
    detail: str = ""
    skip: int = 0


CHOSEN = (
    Chosen("hopper_gemm", "drop", "fence.mbarrier_init"),
    Chosen("hopper_gemm", "drop", "bar.sync"),
    Chosen("hopper_gemm", "drop", "bar.sync", "", 1),
    Chosen("hopper_gemm", "drop", "bar.sync", "", 2),
    Chosen("hopper_gemm", "drop", "fence.proxy.async"),
    Chosen("hopper_gemm", "drop", "mbarrier.wait"),
    Chosen("hopper_gemm", "drop", "mbarrier.wait", "", 1),
    Chosen("hopper_gemm", "weaken", "mbarrier.wait", "relaxed", 1),
    Chosen("hopper_gemm", "pending", "wgmma.wait_group", "1 groups"),
    Chosen("hopper_gemm", "drop", "cp.async.bulk.wait_group"),
    Chosen("hopper_gemm", "drop", "cp.async.bulk.commit_group"),
    Chosen("tensorop_gemm", "drop", "bar.sync"),
    Chosen("tensorop_gemm", "pending", "cp.async.wait_group", "2 groups"),
    Chosen("tensorop_gemm", "drop", "cp.async.wait_group"),
    Chosen("tma_transpose", "drop", "mbarrier.wait"),
    Chosen("tma_transpose", "drop", "bar.sync"),
    Chosen("tma_transpose", "drop", "fence.mbarrier_init"),
    Chosen("pipeline_threads", "drop", "bar.warp.sync"),
    Chosen("pipeline_threads", "weaken", "mbarrier.arrive", "relaxed", 1),
    Chosen("pipeline_order", "drop", "bar.warp.sync"),
    Chosen("st_async", "drop", "mbarrier.wait"),
    Chosen("hopper_gemm", "bytes", "mbarrier.arrive.expect_tx", "16 bytes less"),
    Chosen("hopper_gemm", "flip", "xor"),
    Chosen("tma_transpose", "count", "mbarrier.init", "one more"),
)

SANITIZED = (4, 5, 11, 14)
"""Of these, by place, those that compute-sanitizer is asked about."""


def place(chosen: Chosen, function: Function) -> int:
    """Return the number of the mutation in a function, which may differ in the simulated one and that for a GPU."""
    fits = [
        i for i, m in enumerate(mutations(function)) if (m.kind, m.op.name) == chosen[1:3] and chosen.detail in m.detail
    ]
    return fits[chosen.skip]


# One mutant, in a process of its own.


def captured(run: Run) -> tuple[Kernel, Any, tuple[Any, ...], dict[str, Any]]:
    """Return the first launch that `run` makes."""
    found: list[tuple[Kernel, Any, tuple[Any, ...], dict[str, Any]]] = []
    with diverted(lambda *launch: found.append(launch)), suppress(AssertionError):  # of what nothing has computed
        run()
    return found[0]


def one(chosen: Chosen, runs: int) -> str:
    """Run a mutant, and say in how many runs its results differ from the original's."""
    kernel, launch, args, _ = captured(LARGER.get(chosen.kernel, SOURCES[chosen.kernel]))
    right = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
    gpu(kernel[launch], *right)
    mutant = Kernel(kernel.__cutelite_function__, kernel.given, kernel.block, kernel.cluster)
    original = vars(pipeline)["evaluate"]

    def evaluate(*source: Any) -> Function:
        function = original(*source)
        return mutations(function)[place(chosen, function)].apply(function)

    vars(pipeline)["evaluate"] = evaluate
    wrong = 0
    for _ in range(runs):
        found = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
        gpu(mutant[launch], *found)
        pairs = zip(found, right, strict=True)
        wrong += any(isinstance(a, np.ndarray) and a.tobytes() != b.tobytes() for a, b in pairs)
    return f"wrong in {wrong} of {runs} runs" if wrong else f"right in all of {runs} runs"


# All of them.


def seen(chosen: Chosen, tool: str = "", runs: int = RUNS) -> str:
    """Return the output of a process that runs the mutant, or that it hangs."""
    command = [sys.executable, "-m", "tests.mutate.hardware", "--one", json.dumps(chosen), "--runs", str(runs)]
    environment = os.environ | {"CUTELITE_CACHE": "0"}  # where the original is, under the name of the mutant
    if tool:
        program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        command = [program, "--tool", tool, "--print-limit", "3", *command]
    try:
        patience = PATIENCE * (2 if tool else 1)
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, env=environment)
    except subprocess.TimeoutExpired:
        return "hangs"
    lines = [line.strip("= ") for line in (done.stdout + done.stderr).splitlines()]
    if tool:
        found = [line for line in lines if "SUMMARY" in line]
        return found[0] if found else f"no summary: {lines[-1][:160] if lines else ''}"
    said = [line for line in lines if line.startswith(("wrong", "right"))]
    errors = [line for line in lines if "Error" in line]
    return said[-1] if said else (errors[-1][:160] if errors else f"exit status {done.returncode}")


def rows(jobs: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each mutant: the simulator's finding, the GPU's results, the sanitizer's."""

    def on_gpu(i: int) -> str:
        return seen(CHOSEN[i])

    last = [i for i, c in enumerate(CHOSEN) if c.kind in LIKELY_TO_HANG]
    first = [i for i in range(len(CHOSEN)) if i not in last]
    pairs = [(i, tool) for i in SANITIZED for tool in TOOLS]
    with ThreadPoolExecutor(jobs) as pool, ProcessPoolExecutor(2, get_context("spawn")) as simulators:
        described = simulators.map(describe, CHOSEN)
        results = dict(zip(first, pool.map(on_gpu, first), strict=True))
        sanitized = dict(zip(pairs, pool.map(lambda p: seen(CHOSEN[p[0]], p[1], 1), pairs), strict=True))
        results |= dict(zip(last, pool.map(on_gpu, last), strict=True))
        for i, row in enumerate(described):
            yield row | {"gpu": results[i]} | {tool: sanitized[i, tool] for tool in TOOLS if i in SANITIZED}


def describe(chosen: Chosen) -> dict[str, Any]:
    function = launched(chosen.kernel).function
    number = place(chosen, function)
    mutation: Mutation = mutations(function)[number]
    found = outcome(chosen.kernel, number)
    lines = [where(span) for span in chain(mutation.span)]
    return {"kernel": chosen.kernel, "mutation": str(mutation), "line": lines[0], "simulator": found.kinds}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tests.mutate.hardware", description="Run mutants on a GPU.")
    parser.add_argument("--one", help="one mutant in this process, as JSON")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--jobs", type=int, default=6, help="processes at a time")
    parser.add_argument("--json", help="a file for what was seen")
    given = parser.parse_args(arguments)
    if given.one:
        print(one(Chosen(*json.loads(given.one)), given.runs))
        return
    started = time.perf_counter()
    found = []
    for row in rows(given.jobs):
        found.append(row)
        print(json.dumps(row), flush=True)
    print(f"{time.perf_counter() - started:.0f} s")
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
