"""Host time of a launch from Python where one process uses several GPUs: microseconds, one table.

    python tests/bench/launch_devices.py [--json FILE]

Needs torch and two GPUs. A number is the median of rounds in which all rows take turns; in a round 200 launches are
made without waiting, on idle GPUs. Launches on GPU 0 are measured before the process has touched another, and by turns
with the other rows; ratios are of the first of these. With a thread for each GPU the number is of a launch of one
thread, while the other makes as many; the threads share Python's lock.
"""

from __future__ import annotations

import json
import platform
import statistics
import threading
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import cutelite as cl
from cutelite import Tensor, config, f32, i32
from cutelite_rt.gpu.driver import get as driver
from tests.bench.given import parser
from tests.bench.timing import machine

LAUNCHES, ROUNDS = 200, 41
SIZE, BLOCK = 4096, 256
GRID = SIZE // BLOCK
N = cl.dims("N")
Vector = Tensor[f32, (N,)]


@cl.kernel(block=BLOCK)
def vector_add(a: Vector, b: Vector, c: Vector, k: i32) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        c[i] = a[i] + b[i] + f32(k)


def arrays(gpu: int) -> list[torch.Tensor]:
    return [torch.full((SIZE,), float(gpu + n), device=f"cuda:{gpu}") for n in range(3)]


def statement(text: str, **names: Any) -> Callable[[], float]:
    """A function that executes a statement LAUNCHES times. It returns microseconds for each."""
    timer = timeit.Timer(text, globals=names)
    return lambda: timer.timeit(LAUNCHES) / LAUNCHES * 1e6


def measured(rows: dict[str, Callable[[], float]], gpus: int) -> dict[str, float]:
    """The medians of rounds by turns."""
    times: dict[str, list[float]] = {name: [] for name in rows}
    for turn in range(ROUNDS + 3):
        for name, row in rows.items():
            for gpu in range(gpus):
                torch.cuda.synchronize(gpu)
            took = row()
            if turn >= 3:
                times[name].append(took)
    return {name: statistics.median(found) for name, found in times.items()}


def on(gpu: int, row: Callable[[], float]) -> Callable[[], float]:
    """The same with another GPU current."""

    def inside() -> float:
        with torch.cuda.device(gpu):
            return row()

    return inside


def by_threads(*rows: Callable[[], float]) -> Callable[[], float]:
    """All at once, a thread for each; the slowest counts."""

    def together() -> float:
        found: list[float] = []
        threads = [threading.Thread(target=lambda row=row: found.append(row())) for row in rows]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return max(found)

    return together


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--json", type=Path)
    given = asked.parse_args()
    if torch.cuda.device_count() < 2:
        raise SystemExit("this needs two GPUs")
    launch = vector_add[GRID]
    a, b, c = arrays(0)
    launch(a, b, c, 1)
    vector_add._launching.build(driver(), config.read())  # else it is compiled in the background
    first = statement("launch(a, b, c, 1)", launch=launch, a=a, b=b, c=c)
    alone = measured({"GPU 0, the only one used": first}, 1)
    d, e, f = arrays(1)
    for _ in range(20):
        launch(d, e, f, 1)
    second = statement("launch(a, b, c, 1)", launch=launch, a=d, b=e, c=f)
    text = "launch(a, b, c, 1)\nlaunch(d, e, f, 1)"
    turns = statement(text, launch=launch, a=a, b=b, c=c, d=d, e=e, f=f)
    rows = {
        "GPU 0, another is used too": first,
        "GPU 1, while GPU 0 is current": second,
        "GPU 1, current": on(1, second),
        "GPU 0 and GPU 1 in turn": lambda: turns() / 2,
        "a thread for each GPU": by_threads(first, on(1, second)),
        "two threads, GPU 0 both": by_threads(first, first),
    }
    found = alone | measured(rows, 2)
    for gpu, (x, y, z) in enumerate(((a, b, c), (d, e, f))):
        assert z.eq(x + y + 1).all().item(), f"wrong on GPU {gpu}"
    base = found["GPU 0, the only one used"]
    print(f"{machine()}, Python {platform.python_version()}\n")
    print("| launch of 3 tensors and a number | us | of one GPU's |\n|---|---|---|")
    for name, took in found.items():
        print(f"| {name} | {took:.2f} | {took / base:.3f} |")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
