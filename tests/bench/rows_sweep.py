"""Every plan of rows that is worth trying: which is the fastest, operation by operation and width by width.

    python tests/bench/rows_sweep.py softmax:65536,131072 layer_norm:4096 [--processes N] [--patience SECONDS]
                                     [--limit SECONDS] [--best N] [--dtype bfloat16] [--lead BYTES]

Plans are compiled by that many processes, on a few rows that are compared with float64, for at most `patience` seconds.
Then each cell's plans are timed once, and the best of them and the library's own beside each other, as in `rows.py`.
No cell is begun after `limit` seconds. Plans ask L2 for rows `lead` bytes ahead, by default as the library's norms do.
Printed are GB/s, of the copy of 256 MiB, and plans in a word, as `told` says.
"""

import gc
import multiprocessing
import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from tempfile import TemporaryFile
from typing import Any

import torch

from cutelite.kernels.rows.plan import ACCESS, LEAD, Plan
from cutelite.kernels.rows.plans import RESIDENT, SHARED
from cutelite.target.targets import MOST_THREADS, REGISTERS, WARP
from tests.bench.given import parser
from tests.bench.rows import OPERATIONS, ROWS, Operation, error, exact, ours
from tests.bench.timing import Replay, cold, machine, medians

SOME = 40  # rows that plans are compared on
CLUSTERS = 1, 2, 4, 8, 16
LIMITS = {8: (32, 40, 48), 16: (40, 48, 64), 32: (64, 80, 96), 64: (80, 96, 128)}  # registers by elements of a thread
Cell = tuple[str, int]


def threads_of(n: int, each: int, cluster: int) -> int:
    """The threads of a block by elements of each, or 0 where there is no such block."""
    threads = n // (each * cluster)
    least = WARP if cluster == 1 else 4 * WARP
    return threads if least <= threads <= MOST_THREADS and threads & (threads - 1) == 0 else 0


def in_registers(n: int, size: int, eachs: tuple[int, ...] = (8, 16, 32, 64), **more: Any) -> Iterator[Plan]:
    """Rows in registers, a team for each."""
    for each in eachs if n < 32_768 else [each for each in eachs if each >= 32]:
        for cluster in CLUSTERS:
            if threads := threads_of(n, each, cluster):
                teams = max(1, 4 * WARP // threads) if cluster == 1 else 1
                for registers in LIMITS[each]:
                    if blocks := min(REGISTERS // registers, RESIDENT) // (threads * teams):
                        yield Plan(threads, teams, cluster, ACCESS // size, blocks, **more)


def by_bulk(n: int, size: int, inputs: int = 1, held: int = 0, **more: Any) -> Iterator[Plan]:
    """Rows that bulk copies bring ahead, beside `held` rows of weights or sums in shared memory."""
    for each in (16, 32, 64, 128):
        for cluster in CLUSTERS:
            threads = threads_of(n, each, cluster)
            for blocks in range(1, 5) if threads >= 8 * WARP else ():
                for stages in (1, 2, 3):
                    if blocks * threads <= 1024 and blocks * (stages * inputs + held) * n // cluster * size <= SHARED:
                        yield Plan(threads, 1, cluster, ACCESS // size, blocks, stages=stages, **more)


def by_threads(n: int, size: int, inputs: int = 1, held: int = 0, **more: Any) -> Iterator[Plan]:
    """Rows that threads copy ahead, each its own vectors, beside `held` rows of weights in shared memory."""
    for each in (16, 32, 64, 128):
        for cluster in CLUSTERS:
            threads = threads_of(n, each, cluster)
            for blocks in range(1, 5) if threads >= 8 * WARP else ():
                pieces = each * size // ACCESS
                for ahead in sorted({0, 1, *((pieces // 2, pieces) if held or more else ())}):
                    bytes = threads * ACCESS * ((pieces + ahead) * inputs + pieces * held) * blocks
                    if blocks * threads <= 1024 and bytes <= SHARED:
                        yield Plan(threads, 1, cluster, ACCESS // size, blocks, ahead=ahead, **more)


def with_sums(n: int, size: int, sums: int) -> Iterator[Plan]:
    """Rows in registers, and sums over rows in registers or in shared memory."""
    for each in (8, 16, 32):
        for cluster in (1, 2):
            threads = threads_of(n, each, cluster)
            blocks = {max(threads, each) for each in ((128, 256, 512, 1024) if cluster == 1 else (0,))}
            for block in blocks if threads else ():
                teams = block // threads
                for registers in (64, 80, 128) if each < 32 else (96, 128, 160):
                    for shared in range(sums + 1) if REGISTERS // registers >= block and teams < 16 else ():
                        count = REGISTERS // registers // block
                        p = Plan(threads, teams, cluster, ACCESS // size, count, shared_sums=shared)
                        yield from (p, replace(p, early=True)) if n <= 8192 else (p,)


def outside(n: int, size: int) -> Iterator[Plan]:
    """Blocks that go through rows without holding them."""
    for threads in (WARP, 4 * WARP, 8 * WARP, 16 * WARP):
        for cluster in (1, 2, 4) if threads > WARP else (1,):
            teams = max(1, 4 * WARP // threads)
            for registers in (32, 40, 48, 64):
                if n // (threads * cluster) * size >= 2 * ACCESS:
                    blocks = REGISTERS // registers // (threads * teams)
                    yield Plan(threads, teams, cluster, ACCESS // size, blocks, outside=True)


def tries(op: str, n: int, size: int) -> Iterator[Plan]:
    """The plans of an operation that are worth trying; none where it takes no plans."""
    wide, given = n >= 16_384, OPERATIONS[op].given
    held = given.count("w") if isinstance(given, str) else 0
    if op in ("softmax", "cross_entropy_both", "softmax_backward"):
        yield from in_registers(n, size)
        yield from by_threads(n, size, 1 + (op == "softmax_backward")) if wide else ()
    elif op in ("rms_norm", "layer_norm", "rms_norm_quantise"):
        for together in (1, 2) if n <= 16_384 or op == "rms_norm_quantise" else (1,):
            yield from in_registers(n, size, held=False, rows=together)
        yield from in_registers(n, size, (16, 32)) if op != "rms_norm_quantise" else ()
        yield from in_registers(n, size, (8, 16, 32), early=True) if n <= 16_384 else ()
        yield from by_bulk(n, size, 1, held) if wide else ()
        yield from by_bulk(n, size, held=False) if wide else ()
        yield from by_threads(n, size, 1, held) if wide else ()
    elif op.endswith("norm_backward"):
        sums = 1 + (op == "layer_norm_backward")
        for shared in range(1, sums + 1) if n >= 4096 else ():
            yield from by_bulk(n, size, 2, 2 * shared, shared_sums=shared)
        yield from with_sums(n, size, sums) if n <= 16_384 else ()
    elif op in ("cross_entropy", "quantise_block"):
        yield from (replace(p, outside=None) for p in outside(n, size)) if op == "cross_entropy" else outside(n, size)
        yield from in_registers(n, size) if op == "quantise_block" else ()
    elif op in ("rms_norm_residual", "layer_norm_residual", "cross_entropy_backward", "quantise_token"):
        yield from in_registers(n, size, held=False)
        yield from by_bulk(n, size) if wide and op == "quantise_token" else ()
        if wide and op.endswith("residual"):
            yield from by_threads(n, size, 2, held)
            yield from by_threads(n, size, 2, held=False)


def told(p: Plan | None) -> str:
    """A plan in a word: 256x1c4b2 has blocks of 256 threads, one team, clusters of 4, 2 blocks at a time."""
    if p is None:
        return "chosen"
    counts = f"{p.threads}x{p.teams}c{p.cluster}b{p.blocks}" + (f"_s{p.stages}" if p.stages else "")
    counts += "" if p.ahead is None else f"_a{p.ahead}"
    marks = (
        (p.lead != LEAD, f"_l{p.lead >> 10}"),
        (p.rows > 1, f"_r{p.rows}"),
        (p.shared_sums > 0, f"_sums{p.shared_sums}"),
        (p.early, "_early"),
        (not p.held, "_late"),
    )
    return counts + "".join(mark for given, mark in (*marks, (bool(p.outside), "_out")) if given)


def compiled(jobs: list[tuple[str, int, Plan | None]], dtype: Any, end: float, ready: int) -> None:
    """Compile plans and compare what they give, until `end`; write those that are right to a file: a process's work."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # warnings of compilers
    for name, n, p in jobs:
        if time.monotonic() > end:
            return
        op, rows = OPERATIONS[name], torch.arange(SOME, device="cuda")
        try:
            inputs = op.make(SOME, n, dtype)
            found = op.ours(p, *inputs)
            off = error(found, exact(op, inputs, rows), rows) if op.compared else 0.0
        except Exception as problem:  # a plan that this GPU does not take is told, and left out
            print(f"    {name} {n} {told(p)}: {' '.join(str(problem).split())[:100]}", flush=True)
            continue
        if off < (2e-2 if dtype.itemsize == 2 else 1e-4):
            os.write(ready, f"{name} {n} {told(p)}\n".encode())
        else:
            print(f"    WRONG {name} {n} {told(p)}: {off:.1e}", flush=True)


def prepared(cells: dict[Cell, dict[str, Plan | None]], dtype: Any, options: Any) -> set[str]:
    """Compile all plans in processes; return those that are ready, as `compiled` writes them."""
    jobs = [(name, n, p) for (name, n), plans in cells.items() for p in plans.values()]
    context, began = multiprocessing.get_context("fork"), time.monotonic()
    with TemporaryFile(buffering=0) as file:
        work = [
            context.Process(
                target=compiled, args=(jobs[i :: options.processes], dtype, began + options.patience, file.fileno())
            )
            for i in range(options.processes)
        ]
        for process in work:
            process.start()
        for process in work:
            process.join(max(0.1, began + options.patience + 3 - time.monotonic()))
            process.kill()
        file.seek(0)
        ready = set(file.read().decode().splitlines())
    print(f"# {len(ready)} of {len(jobs)} compiled in {time.monotonic() - began:.0f} s", flush=True)
    return ready


def copied() -> float:
    """GB/s of torch's copy of 256 MiB."""
    one, other = (torch.empty(1 << 27, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    replay = Replay(lambda _: other.copy_(one), 1, 3e-3, 2e-4)
    return 2**29 / statistics.median(replay() for _ in range(9)) * 1e-9


def swept(name: str, n: int, plans: dict[str, Plan | None], dtype: Any, copy: float, best: int) -> None:
    """Time the plans of a cell, and print the best."""
    op: Operation = OPERATIONS[name]
    m = ROWS[n]
    size = m * n * dtype.itemsize
    sets = [op.make(m, n, dtype) for _ in range(cold(size))]
    quick, calls = {}, {label: partial(ours, op, sets, p) for label, p in plans.items()}
    for label, call in calls.items():
        try:
            quick[label] = Replay(call, len(sets), 1e-3, op.moved(size, m) / 4e12)()
        except Exception as problem:
            print(f"    {name} {n} {label}: {str(problem)[:100]}", flush=True)
    keep = dict.fromkeys([*sorted(quick, key=lambda label: quick[label])[:best], *(["chosen"] * ("chosen" in quick))])
    replays = {label: Replay(calls[label], len(sets), 2.5e-3, op.moved(size, m) / 4e12) for label in keep}
    speed = {label: op.moved(size, m) / took * 1e-9 for label, took in medians(replays, 5).items()}
    order = sorted(speed, key=lambda label: -speed[label])
    chosen = speed.get("chosen", 0.0)
    print(
        f"{name} {n} ({len(quick)}): chosen {chosen:.0f} {chosen / copy:.3f}; "
        + ", ".join(f"{label} {speed[label]:.0f}" for label in order),
        flush=True,
    )


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("cells", nargs="+")
    asked.add_argument("--dtype", default="bfloat16")
    asked.add_argument("--processes", type=int, default=os.cpu_count())
    asked.add_argument("--patience", type=float, default=600)
    asked.add_argument("--limit", type=float, default=3600)
    asked.add_argument("--best", type=int, default=8)
    asked.add_argument("--lead", type=int, default=LEAD)
    options = asked.parse_args()
    dtype, began = getattr(torch, options.dtype), time.monotonic()
    order = [(name, int(n)) for each in options.cells for name, ns in [each.split(":")] for n in ns.split(",")]
    cells: dict[Cell, dict[str, Plan | None]] = {
        (name, n): {"chosen": None}
        | {told(p): p for p in (replace(p, lead=options.lead) for p in tries(name, n, dtype.itemsize))}
        for name, n in order
    }
    ready = prepared(cells, dtype, options)
    copy = copied()
    print(f"{machine()}, copy of 256 MiB {copy:.0f} GB/s", flush=True)
    gc.collect()
    gc.freeze()  # what is known by now is not gone through before every graph
    for (name, n), plans in cells.items():
        if time.monotonic() - began > options.limit:
            print(f"# left: {name} {n}", flush=True)
            continue
        some = {label: p for label, p in plans.items() if f"{name} {n} {label}" in ready}
        swept(name, n, some, dtype, copy, options.best)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
