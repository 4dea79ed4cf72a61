"""One random kernel everywhere: by NumPy, in the simulator before and after the passes, and on a GPU.

python -m tests.fuzz.cases --count 3000 --jobs 16 --gpu        # from a seed on; says which ones disagree
python -m tests.fuzz.cases --seconds 60 --jobs 16 --gpu --no-simulator --straight       # as many as there is time for
python -m tests.fuzz.cases --seed 17 --count 1 --show          # the kernel of a seed, and what happens to it
python -m tests.fuzz.cases --python --count 2000 --jobs 16     # Python functions, which CPython executes as well
"""

import argparse
import json
import linecache
import math
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from typing import Any, NamedTuple

import numpy as np

from cutelite import passes
from cutelite.diag.progress import Progress
from cutelite.dispatch import Kernel, Launch
from cutelite.dispatch.simulating import simulation
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import SCALARS
from cutelite.target import Target
from tests.fuzz import scripts
from tests.fuzz.program import (
    BLOCKS,
    POISON,
    THREADS,
    TOTAL,
    Assign,
    Draw,
    Program,
    Reference,
    Statement,
    inputs_of,
    source,
    start,
    written,
)
from tests.places import gpu
from tests.sim import strict
from tests.vocabulary.numbers import HELD, Array

BATCH = 8  # kernels that a process takes at once
GRACE = 15  # seconds for the kernels that are begun at the end


class Arguments(NamedTuple):
    """Arrays in the order of the kernel's parameters; `outputs` are some of them, by name."""

    all: list[Array]
    outputs: dict[str, Array]


def kernel_of(text: str, seed: object) -> Kernel:
    """The kernel that a source defines; its lines are there for messages."""
    filename = f"<fuzz {seed}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    space: dict[str, Any] = {"__name__": f"fuzz_{seed}"}
    exec(compile(text, filename, "exec", dont_inherit=True), space)
    made: Kernel = space["kernel"]
    return made


def arguments(program: Program, inputs: dict[str, Array]) -> Arguments:
    """Fresh arrays; outputs are poisoned, tables as their first update finds them."""
    given = [x.astype(stored(program.types[v])) for v, x in inputs.items()]
    outputs = {v: np.full(TOTAL, POISON, stored(t)) for v, t in program.types.items()}
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


def simulated(seed: int, after_passes: bool, shape: tuple[int, int] = (BLOCKS, THREADS)) -> Runner:
    """In the simulator, strictly; `after_passes`: as it would be lowered."""

    def run(kernel: Kernel, args: list[Array]) -> None:
        launch = Launch(*shape)
        checked = kernel._checked(launch, tuple(args), {})
        assert checked is not None
        function, values, dims = simulation(kernel, checked.spec, checked.bound)
        if after_passes:
            function = passes.run(passes.PIPELINE, function, passes.Context(Target.parse("sm_90a")))
        strict.run(function, shape[0], values, dims=dims, seed=seed)

    return run


def on_gpu(shape: tuple[int, int]) -> Runner:
    return lambda kernel, args: gpu(kernel[shape], *args)


class Way(NamedTuple):
    """The kind of kernels that are drawn, and the runners that compute them besides NumPy."""

    straight: bool = False
    simulator: bool = True
    gpu: bool = False
    python: bool = False  # `tests.fuzz.scripts`: CPython computes them instead

    def program(self, seed: int) -> Program:
        return Draw(seed).straight() if self.straight else Draw(seed).program()

    def runners(self, seed: int) -> dict[str, Runner]:
        """The simulator in lockstep, by a schedule drawn from the seed, and by another after the passes; the GPU."""
        found: dict[str, Runner] = {}
        shape = (1, scripts.THREADS) if self.python else (BLOCKS, THREADS)
        if self.simulator:
            found["simulator"] = simulated(0, False, shape)
            if not self.python:  # whose threads have nothing to do with each other
                found[f"simulator, schedule {seed + 2}"] = simulated(seed + 2, False)
            found["simulator, after the passes"] = simulated(1, True, shape)
        return {**found, "GPU": on_gpu(shape)} if self.gpu else found


def mistakes(seed: int, way: Way = Way()) -> list[str]:  # noqa: B008
    """Run the kernel of a seed everywhere; return what is wrong."""
    if way.python:
        return misread(seed, way)
    program = way.program(seed)
    return wrongs(program, inputs_of(program, seed), seed, way.runners(seed))


def misread(seed: int, way: Way) -> list[str]:
    """Run the function of a seed as a kernel and in CPython; return the differences."""
    texts, inputs, found = scripts.script(seed), scripts.inputs_of(seed), []
    right = scripts.by_python(texts.python, inputs)
    kernel = kernel_of(texts.kernel, seed)
    for who, run in way.runners(seed).items():
        arrays = scripts.stored(inputs)
        try:
            run(kernel, [*arrays.values()])
        except Exception:
            found.append(f"{who}:\n{traceback.format_exc(limit=-4)}")
            continue
        found += [f"{who}: {said}" for said in scripts.different(arrays, right)]
    return [*found, texts.kernel] if found else []


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
        for v, right in {**variables, **tables}.items():
            if text := disagreement(v, args.outputs[v], right):
                found.append("\n    ".join([f"{who}: {text}", *written([s for s in program.body if sets_only(s, v)])]))
    return found


def sets_only(statement: Statement, variable: str) -> bool:
    return isinstance(statement, Assign) and statement.name == variable


def batch(seeds: Sequence[int], way: Way, until: float) -> list[tuple[int, list[str]]]:
    return [(seed, mistakes(seed, way)) for seed in seeds if time.monotonic() < until]


def many(seeds: Sequence[int], way: Way, jobs: int, until: float) -> Iterator[tuple[int, list[str]]]:
    """Each seed with what is wrong, from `jobs` processes; none is begun after `until`, in seconds of `monotonic`."""
    batches = [seeds[i : i + BATCH] for i in range(0, len(seeds), BATCH)]
    left = until + GRACE - time.monotonic()
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        tasks = {pool.submit(batch, some, way, until): some for some in batches}
        try:
            for done in as_completed(tasks, timeout=left if math.isfinite(left) else None):
                yield from done.result()
        except TimeoutError:
            stuck = [some for task, some in tasks.items() if task.running()]
            for process in active_children():
                process.kill()
            yield from ((some[0], [f"one of {some[0]} to {some[-1]} has not ended"]) for some in stuck)


def main() -> int:
    given = asked()
    way = Way(given.straight, not given.no_simulator, given.gpu, given.python)
    seeds = range(given.seed, given.seed + given.count)
    if given.show:
        for seed in seeds:
            print(scripts.script(seed).kernel if way.python else source(way.program(seed)))
    started, run, failed = time.monotonic(), 0, {}
    with Progress("random kernels", total=given.count) as progress:
        for seed, found in many(seeds, way, given.jobs, started + given.seconds):
            run += 1
            progress.step()
            if found:
                failed[seed] = found
                print(f"--- seed {seed}", *found, sep="\n", flush=True)
    print(f"{run} kernels from seed {given.seed} on, {len(failed)} disagree, {time.monotonic() - started:.0f} s")
    if given.json:
        with open(given.json, "w") as file:
            json.dump({"first": given.seed, "run": run, "way": way._asdict(), "failed": failed}, file, indent=1)
    return bool(failed)


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tests.fuzz.cases", description="Random kernels that everybody must agree on."
    )
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no more kernels after so long")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--gpu", action="store_true", help="run each on a GPU as well")
    parser.add_argument("--no-simulator", action="store_true", help="leave the simulator out")
    parser.add_argument("--straight", action="store_true", help="many expressions, and no control flow")
    parser.add_argument("--python", action="store_true", help="Python functions, against CPython")
    parser.add_argument("--show", action="store_true", help="print the kernels")
    parser.add_argument("--json", help="a file for the result")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
