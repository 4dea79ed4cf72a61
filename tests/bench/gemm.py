"""GEMMs of cutelite against cuBLAS, Triton and whoever else is there, in one run: TFLOP/s, and whether they are right.

    python tests/bench/gemm.py [--sets large,skinny] [--rivals cutelite,cublas,triton] [--out FOLDER] [--seconds N]

Calls are captured in CUDA graphs over rotating operands larger than L2, and the graphs replayed in turn: the host does
not count, L2 is cold, and all share clocks, power and temperature. Medians of 15 rounds. Before it is timed each result
is compared with float64, from outputs that were poisoned: relative Frobenius error, beside cuBLAS's.
"""

import json
import math
import statistics
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from cutelite.bench.chart import bars
from tests.bench.gemm_cases import Case, Inputs, expected, inputs, poisoned, sets
from tests.bench.gemm_rivals import RIVALS, Made, NotMade, named
from tests.bench.given import parser
from tests.bench.timing import ROUNDS, Replay, machine, off, rounds

OURS, YARDSTICK = "cutelite", "cublas"
REPLAY_S = 8e-3
MOST_ERROR = 0.05
"""Beyond it a result is wrong; bf16 has 0.0017, and fp8 with fast accumulation some times that."""
MARGIN = 1.01
"""Errors of two right results differ by how they round, in the fourth digit."""


class Measured(NamedTuple):
    """One rival in one case. seconds: median, and the tenths at both ends; words: what it chose, or why it did not."""

    case: Case
    rival: str
    seconds: float | None = None
    low: float = 0.0
    high: float = 0.0
    error: float = math.nan
    words: str = ""

    @property
    def tflops(self) -> float:
        return self.case.flops / self.seconds / 1e12 if self.seconds else 0.0

    def as_json(self) -> dict[str, Any]:
        case = self.case
        return {
            "group": case.group, "kind": case.kind, "m": case.m, "n": case.n, "k": case.k, "majors": case.majors,
            "rival": self.rival, "us": self.seconds and self.seconds * 1e6, "us_low": self.low * 1e6,
            "us_high": self.high * 1e6, "tflops": self.tflops,
            "error": self.error if math.isfinite(self.error) else None, "words": self.words,
        }  # fmt: skip


def measure(case: Case, rivals: Iterable[str], count: int) -> list[Measured]:
    """All rivals in one case, interleaved. Those that are wrong, or cannot, are not timed."""
    of = inputs(case)
    made, found = _made(of, rivals)
    errors = _errors(of, made)
    replays = {}
    for name in [name for name in made if errors[name] < MOST_ERROR]:
        try:
            replays[name] = Replay(made[name].call, of.count, REPLAY_S, case.seconds)
        except Exception as failure:
            found[name] = _failed(case, name, failure)
            del made[name]
    times = rounds(replays, count)
    for name, rival in made.items():
        if name in times:
            at = statistics.quantiles(times[name], n=10)
            middle = statistics.median(times[name])
            found[name] = Measured(case, name, middle, at[0], at[-1], errors[name], rival.words)
        else:
            found[name] = Measured(case, name, error=errors[name], words="WRONG")
    return [found[name] for name in rivals]


def _made(of: Inputs, rivals: Iterable[str]) -> tuple[dict[str, Made], dict[str, Measured]]:
    made: dict[str, Made] = {}
    left_out: dict[str, Measured] = {}
    for name in rivals:
        try:
            made[name] = RIVALS[name](of)
            made[name].call(0)
            torch.cuda.synchronize()
        except NotMade as why:
            left_out[name] = Measured(of.case, name, words=str(why))
            made.pop(name, None)
        except Exception as failure:  # of one rival, whatever it is, says nothing of the others
            left_out[name] = _failed(of.case, name, failure)
            made.pop(name, None)
    return made, left_out


def _failed(case: Case, name: str, failure: Exception) -> Measured:
    return Measured(case, name, words=f"FAILED: {type(failure).__name__}: {failure}")


def _errors(of: Inputs, made: dict[str, Made]) -> dict[str, float]:
    """Relative errors of the first set's results, each from a poisoned output."""
    right = expected(of)
    errors = {}
    for name, rival in made.items():
        of.out[0].copy_(poisoned(of.case))
        result = rival.call(0)
        found = off(result if isinstance(result, torch.Tensor) else of.out[0], right)
        errors[name] = found if math.isfinite(found) else math.inf
    return errors


# What is told.


def table(found: list[Measured], rivals: list[str]) -> str:
    """A row for each case: TFLOP/s of all, ours over cuBLAS's, and both errors; a geometric mean for each group."""
    head = ["case", *rivals, f"{OURS} / {YARDSTICK}", "error", f"of {YARDSTICK}"]
    rows: list[list[str]] = []
    for group in dict.fromkeys(each.case.group for each in found):
        of_group = [each for each in found if each.case.group == group]
        ratios: dict[str, list[float]] = {name: [] for name in rivals}
        for case in dict.fromkeys(each.case for each in of_group):
            by = {each.rival: each for each in of_group if each.case == case}
            yard = by.get(YARDSTICK)
            for name in rivals:
                if yard and yard.tflops and by[name].tflops:
                    ratios[name].append(by[name].tflops / yard.tflops)
            rows.append([str(case), *(_rate(by[name]) for name in rivals), *_compared(by)])
        means = [f"{statistics.geometric_mean(ratios[name]):.3f}x" if ratios[name] else "" for name in rivals]
        rows.append([f"{group}: geometric mean, of {YARDSTICK}", *means, "", "", ""])
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(word.ljust(w) for word, w in zip(row, widths, strict=True)) + " |" for row in lines
    )


def _rate(one: Measured) -> str:
    return f"{one.tflops:.0f}" if one.seconds else "wrong" if one.words == "WRONG" else "-"


def _compared(by: dict[str, Measured]) -> list[str]:
    ours, yard = by.get(OURS), by.get(YARDSTICK)
    if ours is None or yard is None or not ours.seconds or not yard.seconds:
        return ["", "", ""]
    return [f"{ours.tflops / yard.tflops:.3f}x", f"{ours.error:.3e}", f"{yard.error:.3e}"]


def chart(found: list[Measured], title: str) -> str:
    """The cases as bars."""
    groups = []
    for case in dict.fromkeys(each.case for each in found):
        rates = {each.rival: each.tflops for each in found if each.case == case and each.seconds}
        groups.append((f"{case.m}\n{case.n}\n{case.k}", rates))
    return bars(title, "TFLOP/s", groups)


def _problems(found: list[Measured]) -> list[str]:
    """What a run must not end with: results of ours that are wrong, or further off than cuBLAS's."""
    yard = {each.case: each.error for each in found if each.rival == YARDSTICK}
    bad = []
    for each in found:
        if each.rival != OURS:
            continue
        if each.words.startswith(("WRONG", "FAILED")):
            bad.append(f"{each.case}: {each.words}, error {each.error:.3g}")
        elif each.seconds and each.error > MARGIN * yard.get(each.case, math.inf):
            bad.append(f"{each.case}: error {each.error:.4e}, {YARDSTICK}'s is {yard[each.case]:.4e}")
    return bad


def main() -> int:
    asked = parser(__doc__)
    known = sets()
    asked.add_argument("--sets", default="large,skinny", help=f"of {', '.join(known)}, or all")
    asked.add_argument("--rivals", default="cutelite,cublas,triton,quack,deep_gemm", help=", ".join(RIVALS))
    asked.add_argument("--extra", action="append", default=[], metavar="NAME=FILE.py:FUNCTION", help="one more rival")
    asked.add_argument("--shape", action="append", default=[], metavar="[KIND:]M,N,K[:MAJORS]", help="this, not a set")
    asked.add_argument("--seconds", type=float, default=math.inf, help="start no case after this many")
    asked.add_argument("--rounds", type=int, default=ROUNDS)
    asked.add_argument("--out", type=Path, help="folder for gemm.json and a chart for each set")
    given = asked.parse_args()
    for spec in given.extra:
        named(spec)
    rivals = list(dict.fromkeys([*given.rivals.split(","), *(spec.partition("=")[0] for spec in given.extra)]))
    for name in rivals:
        if name not in RIVALS:
            asked.error(f"no rival {name!r}: there are {', '.join(RIVALS)}")
    names = list(known) if given.sets == "all" else given.sets.split(",")
    cases = [_shape(text) for text in given.shape] or [case for name in names for case in known[name]]
    print(machine(), flush=True)
    found = _all(cases, rivals, given.rounds, given.seconds)
    rivals = [name for name in rivals if any(each.rival == name and each.seconds for each in found)]
    print(table(found, rivals))
    if given.out is not None:
        _write(found, given.out)
    problems = _problems(found)
    print("\n".join(problems))
    return bool(problems)


def _all(cases: list[Case], rivals: list[str], count: int, seconds: float) -> list[Measured]:
    start = time.perf_counter()
    found: list[Measured] = []
    for i, case in enumerate(cases):
        if time.perf_counter() - start > seconds:
            print(f"{len(cases) - i} cases left out, after {seconds:g} s: {', '.join(map(str, cases[i:]))}")
            break
        begun = time.perf_counter()
        of_case = measure(case, rivals, count)
        found += of_case
        words = ", ".join(f"{each.rival} {_rate(each)} {each.words}".strip() for each in of_case)
        print(f"{case} ({time.perf_counter() - begun:.1f} s): {words}", flush=True)
        torch.cuda.empty_cache()
    return found


def _shape(text: str) -> Case:
    """[KIND:]M,N,K[:MAJORS]."""
    parts = text.split(":")
    kind = "bf16" if parts[0][0].isdigit() else parts.pop(0)
    m, n, k = (int(extent) for extent in parts[0].split(","))
    return Case(kind, m, n, k, parts[1] if len(parts) > 1 else "KK", "given")


def _write(found: list[Measured], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    about = {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda}
    (folder / "gemm.json").write_text(json.dumps({**about, "results": [each.as_json() for each in found]}, indent=1))
    for group in dict.fromkeys(each.case.group for each in found):
        of_group = [each for each in found if each.case.group == group]
        title = f"{of_group[0].case.kind} GEMM on {about['gpu']}: M, N, K"
        (folder / f"gemm-{group}.svg").write_text(chart(of_group, title))


if __name__ == "__main__":
    sys.exit(main())
