"""One random kernel everywhere: by NumPy, in the simulator before and after the passes, and on a GPU.

python -m tests.fuzz.cases --count 3000 --jobs 16 --gpu        # from a seed on; says which ones disagree
python -m tests.fuzz.cases --seed 17 --count 1 --show          # the kernel of a seed, and what happens to it
"""

from __future__ import annotations

import argparse
import json
import linecache
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

from cutelite import passes, sim
from cutelite.dispatch import Kernel, Launch
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import SCALARS
from cutelite.target import Target
from tests.fuzz.numbers import HELD, Array
from tests.fuzz.program import BLOCKS, THREADS, TOTAL, Draw, Program, Reference, inputs_of, source, start
from tests.places import gpu


class Arguments(NamedTuple):
    """Arrays in the order of the kernel's parameters; `outputs` are some of them, by name."""

    all: list[Array]
    outputs: dict[str, Array]


def kernel_of(text: str, seed: object) -> Kernel:
    """The kernel that a source defines; its lines are there for messages."""
    filename = f"<fuzz {seed}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    space: dict[str, Any] = {"__name__": f"fuzz_{seed}"}
    exec(compile(text, filename, "exec"), space)
    made: Kernel = space["kernel"]
    return made


def arguments(program: Program, inputs: dict[str, Array]) -> Arguments:
    """Fresh arrays; outputs are poisoned, tables as their first update finds them."""
    given = [x.astype(stored(program.types[v])) for v, x in inputs.items()]
    outputs = {v: np.full(TOTAL, 77, stored(t)) for v, t in program.types.items()}
    outputs |= {t.name: np.full(8, start(t), HELD[t.type]) for t in program.tables}
    return Arguments([*given, *outputs.values()], outputs)


def stored(t: str) -> Any:
    return numpy_dtype(SCALARS[t])


def disagreement(name: str, found: Array, right: Array) -> str | None:
    """None where two arrays are equal bit by bit, any NaN for any NaN."""
    found = found.astype(right.dtype)
    if found.dtype.kind == "f":
        both = np.isnan(found) & np.isnan(right)
        same = both | ((found == right) & (np.signbit(found) == np.signbit(right)))
    else:
        same = found == right
    if same.all():
        return None
    at = int(np.argmin(same))
    return f"{name}[{at}] is {found[at]!r}, not {right[at]!r} ({np.count_nonzero(~same)} differ)"


Runner = Callable[[Kernel, list[Array]], None]


def simulated(seed: int, after_passes: bool) -> Runner:
    """In the simulator, strictly; `after_passes`: as it would be lowered."""

    def run(kernel: Kernel, args: list[Array]) -> None:
        launch = Launch(BLOCKS, THREADS)
        checked = kernel._checked(launch, tuple(args), {})
        assert checked is not None
        function, values, dims = kernel._simulation(checked.spec, checked.bound)
        if after_passes:
            function = passes.run(passes.PIPELINE, function, passes.Context(Target.parse("sm_90a")))
        sim.run(function, BLOCKS, values, dims=dims, seed=seed, strict=True)

    return run


def on_gpu(kernel: Kernel, args: list[Array]) -> None:
    gpu(kernel[BLOCKS, THREADS], *args)


def runners(seed: int, with_gpu: bool) -> dict[str, Runner]:
    """Who is to agree with NumPy: a schedule in lockstep, one drawn from the seed, another after the passes."""
    found = {
        "simulator": simulated(0, False),
        f"simulator, schedule {seed + 2}": simulated(seed + 2, False),
        "simulator, after the passes": simulated(1, True),
    }
    return {**found, "GPU": on_gpu} if with_gpu else found


def mistakes(seed: int, with_gpu: bool = False, size: int = 9) -> list[str]:
    """What goes wrong with the kernel of a seed: nothing, one hopes."""
    program = Draw(seed).program(size)
    return wrongs(program, inputs_of(program, seed), seed, runners(seed, with_gpu))


def wrongs(program: Program, inputs: dict[str, Array], seed: object, by: dict[str, Runner]) -> list[str]:
    variables, tables = Reference(program, inputs).run()
    kernel = kernel_of(source(program), seed)
    found = []
    for who, run in by.items():
        args = arguments(program, inputs)
        try:
            run(kernel, args.all)
        except Exception:
            found.append(f"{who}:\n{traceback.format_exc(limit=-4)}")
            continue
        differences = [disagreement(v, args.outputs[v], right) for v, right in {**variables, **tables}.items()]
        found += [f"{who}: {text}" for text in differences if text]
    return found


def batch(seeds: Sequence[int], with_gpu: bool) -> list[tuple[int, list[str]]]:
    return [(seed, found) for seed in seeds if (found := mistakes(seed, with_gpu))]


def many(first: int, count: int, jobs: int, with_gpu: bool) -> Iterator[tuple[int, list[str]]]:
    """Those of `count` seeds that disagree, from `jobs` processes."""
    chunks = [range(first + i, first + count, jobs * 4) for i in range(jobs * 4)]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for done in as_completed([pool.submit(batch, chunk, with_gpu) for chunk in chunks if chunk]):
            yield from done.result()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tests.fuzz.cases", description="Random kernels that everybody must agree on."
    )
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--gpu", action="store_true", help="run each on a GPU as well")
    parser.add_argument("--show", action="store_true", help="print the kernels")
    parser.add_argument("--json", help="a file for the result")
    given = parser.parse_args()
    started = time.perf_counter()
    if given.show:
        for seed in range(given.seed, given.seed + given.count):
            print(source(Draw(seed).program()))
    failed = {}
    for seed, found in many(given.seed, given.count, given.jobs, given.gpu):
        failed[seed] = found
        print(f"--- seed {seed}", *found, sep="\n", flush=True)
    seconds = time.perf_counter() - started
    print(f"{given.count} kernels, {len(failed)} disagree, {seconds:.0f} s")
    if given.json:
        with open(given.json, "w") as file:
            json.dump({"first": given.seed, "count": given.count, "gpu": given.gpu, "failed": failed}, file, indent=1)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
