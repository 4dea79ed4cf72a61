"""Check every mutant of every kernel: print which are reported, where, and which are as right as the original.

python -m tests.mutate.matrix --jobs 2 --json out.jsonl        # `make mutate`
python -m tests.mutate.matrix hopper_gemm --show 17            # one mutant, and what the checker says of it
"""

import argparse
import ast
import functools
import json
import linecache
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cutelite import sim
from cutelite.diag import InternalError, Span
from cutelite.ir.function import Function
from cutelite.ir.verifier import verify
from cutelite.sim import CheckReport
from cutelite.sim.checker import SEEDS
from tests.mutate.equivalent import ROWS, Row, row_of
from tests.mutate.launches import KINDS, LARGE, SOURCES, Launched, launched
from tests.mutate.mutations import Mutation, mutations

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "cutelite" / "kernels"
MAX_OPS = 1_000_000
"""A mutant that executes more spins for ever: the originals execute a quarter of it."""


AT_ONCE = 4  # mutants that a process is given together


class MutantRun(NamedTuple):
    """The outcome of a mutant's check.

    row    the row that says why it is as right as the original, if there is one
    kinds  of the findings: none where it survived; 'refused' where the verifier takes no such IR; 'result' where
           nothing is out of order and the numbers are wrong
    seed   of the first schedule that showed it
    named  'line' if the report shows the mutated line, 'word' if it names what is missing, else ''
    """

    kernel: str
    number: int
    mutation: str
    lines: tuple[str, ...]
    row: Row | None
    kinds: tuple[str, ...] = ()
    seed: int | None = None
    named: str = ""
    text: str = ""

    @property
    def survived(self) -> bool:
        return not self.kinds

    @property
    def good(self) -> bool:
        """Return whether the mutant is reported, or known to be as right as the original, but not both."""
        return self.survived == (self.row is not None)


@functools.cache
def mutants(kernel: str) -> list[Mutation]:
    return mutations(launched(kernel).function)


def outcome(kernel: str, number: int) -> MutantRun:
    base = launched(kernel)
    mutation = mutants(kernel)[number]
    quiet = MutantRun(kernel, number, str(mutation), lines_of(mutation), equivalent(kernel, number))
    try:
        verify(mutation.apply(base.function))
    except InternalError as refusal:  # of IR that no kernel can lead to
        return quiet._replace(kinds=("refused",), named="line", text=str(refusal).partition("\n")[0])
    report, seed = checked(base, mutation, SEEDS if quiet.row else 2 * SEEDS)  # later ones keep more warps apart
    if report is not None:
        kinds = tuple(dict.fromkeys(finding.kind for finding in report.findings))
        text = "\n".join(map(str, report.findings))
        return quiet._replace(kinds=kinds, seed=seed, named=how_named(report, mutation), text=text)
    if quiet.row is None and differs(base, mutation):
        return quiet._replace(kinds=("result",), text="the results are others, under every schedule")
    return quiet


def equivalent(kernel: str, number: int) -> Row | None:
    """Return the row of a mutant that is as right as the original."""
    mine = facts(mutants(kernel)[number])
    alike = numbers_by_facts(kernel)[mine]
    at = alike.index(number)
    return row_of(kernel, *mine, (at, at - len(alike)))


@functools.cache
def numbers_by_facts(kernel: str) -> dict[tuple[Any, ...], list[int]]:
    """Return the mutants with equal facts, which only their numbers tell apart."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for number, mutation in enumerate(mutants(kernel)):
        found.setdefault(facts(mutation), []).append(number)
    return found


def facts(mutation: Mutation) -> tuple[str, str, str, tuple[str, ...]]:
    """Return the facts that identify a mutant, without line numbers: kind, op, detail, and the text of the lines."""
    texts = tuple(line.partition(" ")[2] for line in lines_of(mutation))
    return mutation.kind, mutation.op.name, mutation.detail, texts


def lines_of(mutation: Mutation) -> tuple[str, ...]:
    return tuple(map(where, chain(mutation.span)))


def checked(base: Launched, mutation: Mutation, seeds: int) -> tuple[CheckReport | None, int | None]:
    """Return the first report that finds something, and its seed; `seeds`: how many schedules there are."""
    function = mutation.apply(base.function)
    for seed in range(seeds):
        report = check(base, function, [seed])
        if report.findings:
            return report, seed
    return None, None


def check(base: Launched, function: Function, seeds: Sequence[int]) -> CheckReport:
    """Check `function` in place of the kernel, and restore the arrays afterwards."""
    with kept(base):
        return sim.check(
            function, base.grid, base.args, dims=base.dims, smem_dynamic=base.smem, seeds=seeds, max_ops=MAX_OPS,
            pdl=base.pdl, untouched=base.untouched, ordered=base.ordered,
        )  # fmt: skip


@contextmanager
def kept(base: Launched) -> Iterator[list[Any]]:
    """Restore the contents of a launch's arrays afterwards: flags and counters count from 0 again."""
    arrays = [arg.array if isinstance(arg, sim.SimTensorMap) else arg for arg in base.args]
    before = [(array, array.copy()) for array in arrays if isinstance(array, np.ndarray)]
    try:
        yield [array for array, _ in before]
    finally:
        for array, content in before:
            array[...] = content


def differs(base: Launched, mutation: Mutation) -> bool:
    """Return whether the mutant's results differ from the original's."""
    return any(
        a != b for a, b in zip(*(results(base, f) for f in (base.function, mutation.apply(base.function))), strict=True)
    )


def results(base: Launched, function: Function) -> list[bytes]:
    """Return the contents of the arrays after a run."""
    with kept(base) as arrays:
        sim.run(
            function, base.grid, base.args, dims=base.dims, smem_dynamic=base.smem, max_ops=MAX_OPS, stdout=StringIO()
        )
        return [array.tobytes() for array in arrays]


def chain(span: Span | None) -> Iterator[Span]:
    """Return a line, and the lines that called its function."""
    if span is not None:
        yield span
        yield from span.callers()


def where(span: Span) -> str:
    """'examples/hopper_gemm.py:78 empty[s].arrive()'."""
    path = Path(span.filename).resolve()
    text = linecache.getline(span.filename, span.line).strip()
    return f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name}:{span.line} {text}"


def how_named(report: CheckReport, mutation: Mutation) -> str:
    """Return 'line' if the report shows the mutated line, 'word' if it names what is missing, else ''."""
    text = "\n".join(map(str, report.findings))
    span = mutation.span
    if span is not None and any(f"{Path(s.filename).name}:{s.line}:" in text for s in chain(span)):
        return "line"
    words = {mutation.op.name, mutation.op.name.replace(".", "_")}
    return "word" if any(word in text for word in words) else ""


# All of them.


def some(kernel: str, numbers: Sequence[int]) -> list[MutantRun]:
    return [outcome(kernel, number) for number in numbers]


def everything(kernels: Sequence[str], jobs: int) -> Iterator[MutantRun]:
    """Yield all outcomes, in groups as soon as they are known."""
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        waiting = []
        for kernel in kernels:
            count = len(mutants(kernel))
            parts = max(1, count // AT_ONCE)
            waiting += [pool.submit(some, kernel, range(first, count, parts)) for first in range(parts)]
        for done in as_completed(waiting):
            yield from done.result()


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.mutate.matrix", description="Check every mutant of every kernel.")
    parser.add_argument("kernels", nargs="*", default=[*SOURCES, *KINDS, *LARGE], help="default: all of them")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--show", type=int, help="print what is reported of the mutant with this number")
    parser.add_argument("--rows", action="store_true", help="check nothing: look for rows that are of no mutant")
    parser.add_argument("--originals", type=int, metavar="SEEDS", help="check the originals by SEEDS schedules")
    parser.add_argument("--json", help="a file for all outcomes: a line for each, as it is known")
    given = parser.parse_args()
    if given.show is not None:
        print(describe(outcome(given.kernels[0], given.show)))
        return 0
    started = time.perf_counter()
    if given.originals:
        return originals(given.kernels, given.originals, given.jobs)
    if given.rows:
        every = ((name, n) for name in given.kernels for n in range(len(mutants(name))))
        return told(idle([MutantRun(name, n, "", (), equivalent(name, n)) for name, n in every]))
    found = []
    with Path(given.json or os.devnull).open("w") as file:
        for one in everything(given.kernels, given.jobs):
            found.append(one)
            print(json.dumps(one._asdict()), file=file, flush=True)
            if not one.good:
                print(describe(one), flush=True)
    found.sort(key=lambda o: (o.kernel, o.number))
    unused = told(idle(found))
    print(table(found))
    missing = unlisted() if set(LARGE) <= set(given.kernels) else []
    print(*(f"no launch is of {kernel}" for kernel in missing), sep="\n")
    print(f"{time.perf_counter() - started:.0f} s")
    return 1 if unused or missing or not all(o.good for o in found) else 0


def idle(found: Sequence[MutantRun]) -> list[tuple[Row, str]]:
    """Return the rows that match no mutant of a kernel that they name."""
    kernels, used = {o.kernel for o in found}, {(o.row, o.kernel) for o in found}
    named = [(row, kernel) for row in ROWS for kernel in row.kernels.split() if kernel in kernels]
    return [pair for pair in named if pair not in used]


def told(unused: Sequence[tuple[Row, str]]) -> int:
    """Print such rows; return 0 if there are none."""
    for row, kernel in unused:
        print(f"no mutant of {kernel} is of the row", row, flush=True)
    return min(len(unused), 1)


def unlisted() -> list[str]:
    """Return the library's kernels that no launch here is of."""
    written = set()
    for path in KERNELS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and any("cl.kernel" in ast.unparse(d) for d in node.decorator_list):
                written.add((str(path), node.name))
    launches = (launched(kernel).function for kernel in LARGE)
    return sorted(f"{Path(file).relative_to(ROOT)}: {name}" for file, name in written - set(map(place_of, launches)))


def place_of(function: Function) -> tuple[str, str]:
    """Return the file and the name of a kernel."""
    span = next(op.span for op in function.ops() if op.span is not None)
    return str(Path([*chain(span)][-1].filename).resolve()), function.name


def originals(kernels: Sequence[str], seeds: int, jobs: int) -> int:
    """Check the original kernels, and print what is reported; return 0 if nothing is."""
    alarms = 0
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        waiting = {
            kernel: [pool.submit(alarms_of, kernel, range(n, min(n + 5, seeds))) for n in range(0, seeds, 5)]
            for kernel in kernels
        }
        for kernel, parts in waiting.items():
            found = [text for part in parts for text in part.result()]
            alarms += len(found)
            print(f"{kernel}: {len(found)} alarms under {seeds} schedules", *found, sep="\n", flush=True)
    return min(alarms, 1)


def alarms_of(kernel: str, seeds: Sequence[int]) -> list[str]:
    """Return the reports on an original kernel, and notes of results that depend on the schedule."""
    base = launched(kernel)
    report = check(base, base.function, seeds)
    notes = [note for note in report.notes if note.kind == "schedule-dependent"]
    return list(map(str, (*report.findings, *notes)))


def describe(o: MutantRun) -> str:
    state = f"reported as {', '.join(o.kinds)} (seed {o.seed})" if o.kinds else "survived"
    known = f"; listed as equivalent: {o.row.reason}" if o.row else ""
    return f"--- {o.kernel} {o.number}: {o.mutation}\n    at {' < '.join(o.lines)}\n    {state}{known}\n{o.text}"


def table(found: list[MutantRun]) -> str:
    lines = [f"{'kernel':24}{'mutants':>8}{'caught':>8}{'equivalent':>11}{'unexplained':>12}{'line named':>11}"]
    for kernel in dict.fromkeys(o.kernel for o in found):
        mine = [o for o in found if o.kernel == kernel]
        lines.append(_row(kernel, mine))
    return "\n".join([*lines, _row("all", found)])


def _row(name: str, mine: list[MutantRun]) -> str:
    caught = [o for o in mine if not o.survived]
    numbers: list[Any] = [
        len(mine),
        len(caught),
        sum(o.survived and o.row is not None for o in mine),
        sum(not o.good for o in mine),
        sum(o.named == "line" for o in caught),
    ]
    return f"{name:24}{numbers[0]:>8}{numbers[1]:>8}{numbers[2]:>11}{numbers[3]:>12}{numbers[4]:>11}"


if __name__ == "__main__":
    sys.exit(main())
