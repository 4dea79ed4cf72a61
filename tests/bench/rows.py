"""Kernels of rows beside torch, torch.compile and a plain copy, in one run: GB/s, medians of interleaved rounds.

    python tests/bench/rows.py [--ops softmax,rms_norm,...] [--columns 1024,4096,...] [--dtype bfloat16]
                               [--compile] [--rivals torch,quack,liger] [--processes N [--patience SECONDS]]
                               [--rounds N] [--json FILE] [--pictures FOLDER]

--compile   torch.compile too (some seconds for each shape)
--processes cells are compiled in that many processes at the same time, then timed one after the other
--patience  seconds until those that are still compiling are left out

Plans are those that the library chooses; `rows_sweep.py` tries others. Inputs are normal random numbers in rotating
buffers, larger than L2 together; calls are captured in CUDA graphs. What is counted is what an operation has to read
and write; `copy` is torch's copy of `COPIED` bytes, of one size in all cells: copies of 512 MiB have two thirds of its
speed. Results are compared with float64 before anything is timed.
QuACK and Liger take part where they can be imported.
"""

import gc
import json
import math
import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from cutelite.bench.chart import bars
from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import gates, norm
from cutelite.kernels.rows import quantise as by_8_bits
from cutelite.kernels.rows import rope as rotary
from cutelite.kernels.rows import softmax as soft
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.plan import Plan
from cutelite.kernels.rows.transpose import transposed
from tests.bench.given import parser
from tests.bench.rows_rivals import RIVALS
from tests.bench.timing import Replay, cold, machine, medians

F = torch.nn.functional
ROWS = {1024: 32768, 4096: 32768, 16384: 16128, 32768: 8192, 65536: 4096, 131072: 2048, 262144: 1024}
EPS = 1e-6
COPIED = 504 << 20  # bytes of the copy: no size that was tried is copied faster
SAMPLE = 128  # rows that are compared with float64
BARS = 0.97, 0.94  # of the fastest copy: forward from 4k columns on; below, and backward
LAST_CELL = 15  # seconds that a process has for the cell it is at when time is over


@dataclass(frozen=True)
class Operation:
    """A thing to be timed. Every function takes the inputs of a set.

    given     the inputs: a letter each, 'x' of random rows, 'w' of a row's length, or a function that makes them
    ours      with a plan, or None for the library's choice
    bytes     read and written, in multiples of the bytes of x; `numbers`: bytes of each row besides
    exact     what gives the right results in float64; None: `torch` does
    compared  whether results are compared with those
    group     how many numbers of 8 bits share a scale, by the elements of a row; then `exact` gives what is quantised
    backward  it keeps sums over rows
    """

    given: str | Callable[[int, int, Any], tuple[Any, ...]]
    ours: Callable[..., Any]
    torch: Callable[..., Any]
    bytes: float
    numbers: int = 0
    exact: Callable[..., Any] | None = None
    compared: bool = True
    group: Callable[[int], int] | None = None
    backward: bool = False

    def make(self, m: int, n: int, dtype: Any) -> tuple[Any, ...]:
        """Return a set of inputs."""
        if not isinstance(self.given, str):
            return self.given(m, n, dtype)
        return tuple(random(*((m, n) if letter == "x" else (n,)), dtype=dtype) for letter in self.given)

    def moved(self, size: int, rows: int) -> float:
        """Bytes read and written, for x of `size` bytes."""
        return self.bytes * size + self.numbers * rows


def random(*shape: int, dtype: Any) -> Any:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def rms(x: Any, w: Any) -> Any:
    return F.rms_norm(x, x.shape[-1:], w, EPS)


def layer(x: Any, w: Any, b: Any) -> Any:
    return F.layer_norm(x, x.shape[-1:], w, b, 1e-5)


def with_rstd(m: int, n: int, dtype: Any) -> tuple[Any, ...]:
    x, w = random(m, n, dtype=dtype), random(n, dtype=dtype)
    rstd = torch.cat([part.float().square().mean(-1).add(EPS).rsqrt() for part in x.split(1024)])
    return random(m, n, dtype=dtype), x, w, rstd


def rms_gradient(dy: Any, x: Any, w: Any, rstd: Any) -> tuple[Any, Any]:
    xhat, g = x.to(rstd.dtype) * rstd[:, None], dy.to(rstd.dtype) * w.to(rstd.dtype)
    dx = (g - xhat * (g * xhat).mean(-1, keepdim=True)) * rstd[:, None]
    return dx.to(x.dtype), (dy.to(rstd.dtype) * xhat).sum(0).to(w.dtype)


def with_moments(m: int, n: int, dtype: Any) -> tuple[Any, ...]:
    x, w = random(m, n, dtype=dtype), random(n, dtype=dtype)
    mean = torch.cat([part.float().mean(-1) for part in x.split(1024)])
    rstd = torch.cat([part.float().var(-1, correction=0).add(EPS).rsqrt() for part in x.split(1024)])
    return random(m, n, dtype=dtype), x, w, mean, rstd


def layer_gradient(dy: Any, x: Any, w: Any, mean: Any, rstd: Any) -> tuple[Any, Any, Any]:
    d = dy.to(rstd.dtype)
    xhat, g = (x.to(rstd.dtype) - mean[:, None]) * rstd[:, None], d * w.to(rstd.dtype)
    dx = (g - xhat * (g * xhat).mean(-1, keepdim=True) - g.mean(-1, keepdim=True)) * rstd[:, None]
    return dx.to(x.dtype), (d * xhat).sum(0).to(w.dtype), d.sum(0).to(w.dtype)


def with_sum(inputs: Any, m: int, n: int, dtype: Any) -> tuple[Any, ...]:
    return random(m, n, dtype=dtype), *inputs(m, n, dtype)


def sum_gradient(gradient: Any, add: Any, *inputs: Any) -> tuple[Any, ...]:
    dx, *more = gradient(*inputs)
    return (dx.to(add.dtype) + add, *more)


def targets(m: int, n: int, dtype: Any) -> tuple[Any, ...]:
    return random(m, n, dtype=dtype), torch.randint(0, n, (m,), device="cuda")


def entropy_inputs(m: int, n: int, dtype: Any) -> tuple[Any, ...]:
    x, target = targets(m, n, dtype)
    lse = torch.cat([part.float().logsumexp(-1) for part in x.split(1024)])
    return x, target, lse, torch.rand(m, device="cuda")


def entropy_gradient(x: Any, target: Any, lse: Any, g: Any) -> Any:
    p = (x.to(lse.dtype) - lse[:, None]).exp()
    return ((p - F.one_hot(target, x.shape[1]).to(lse.dtype)) * g[:, None]).to(x.dtype)


def entropy_both(x: Any, target: Any, lse: Any, g: Any) -> tuple[Any, Any]:
    found = x.to(lse.dtype).logsumexp(-1)
    return found - x.gather(1, target[:, None])[:, 0].to(lse.dtype), entropy_gradient(x, target, found, g)


def loss_and_gradient(how: Any, x: Any, target: Any, lse: Any, g: Any) -> tuple[Any, Any]:
    out = torch.empty_like(x)
    return entropy.cross_entropy_gradient(g, x, target, out=out, how=how).loss, out


def silu_gradient(dy: Any, gate: Any, up: Any) -> tuple[Any, Any]:
    s = torch.sigmoid(gate)
    return dy * up * s * (1 + gate * (1 - s)), dy * gate * s


def heads(m: int, n: int, dtype: Any) -> tuple[Any, ...]:
    """Queries of heads of 128 elements, and tables of angles."""
    angles = torch.rand(m, 64, device="cuda")
    return random(m, n // 128, 128, dtype=dtype), angles.cos(), angles.sin()


def turned(q: Any, c: Any, s: Any) -> Any:
    a, b = q.float().chunk(2, -1)
    c, s = c[:, None], s[:, None]
    return torch.cat([a * c - b * s, b * c + a * s], -1).to(q.dtype)


def quantised(x: Any, group: int) -> tuple[Any, Any]:
    parts = F.pad(x.float(), (0, -x.shape[1] % group)).unflatten(1, (-1, group))
    scale = parts.abs().amax(-1, keepdim=True).clamp(min=1e-30) / 448
    return (parts / scale).to(torch.float8_e4m3fn).flatten(1)[:, : x.shape[1]], scale


OPERATIONS = {
    "softmax": Operation("x", lambda how, x: soft.softmax(x, how=how), lambda x: F.softmax(x, -1), 2),
    "rms_norm": Operation("xw", lambda how, x, w: norm.rms_norm(x, w, eps=EPS, how=how).y, rms, 2, 4),
    "rms_norm_residual": Operation(
        "xwx",
        lambda how, x, w, r: norm.rms_norm(x, w, residual=r, eps=EPS, how=how)[:2],
        lambda x, w, r: (rms(x + r, w), x + r),
        4,
        4,
    ),
    "layer_norm": Operation("xww", lambda how, x, w, b: norm.layer_norm(x, w, b, how=how).y, layer, 2, 8),
    "layer_norm_residual": Operation(
        "xxww",
        lambda how, x, r, w, b: norm.layer_norm(x, w, b, residual=r, how=how)[:2],
        lambda x, r, w, b: (layer(x + r, w, b), x + r),
        4,
        8,
    ),
    "cross_entropy": Operation(
        targets,
        lambda how, x, t: entropy.cross_entropy(x, t, how=how).loss,
        lambda x, t: F.cross_entropy(x, t, reduction="none"),
        1,
        16,
    ),
    "softmax_backward": Operation(
        lambda m, n, t: (random(m, n, dtype=t), random(m, n, dtype=t).softmax(-1)),
        lambda how, dy, y: soft.softmax_backward(dy, y, how=how),
        lambda dy, y: torch._softmax_backward_data(dy, y, -1, y.dtype),
        3,
        exact=lambda dy, y: y * (dy - (y * dy).sum(-1, keepdim=True)),
    ),
    "rms_norm_backward": Operation(
        with_rstd,
        lambda how, dy, x, w, rstd: norm.norm_backward(dy, norm.Normed(None, x, None, rstd), w, how=how)[:2],
        rms_gradient,
        3,
        4,
        backward=True,
    ),
    "layer_norm_backward": Operation(
        with_moments,
        lambda how, dy, x, w, mean, rstd: tuple(
            norm.norm_backward(dy, norm.Normed(None, x, mean, rstd), w, bias=True, how=how)
        ),
        layer_gradient,
        3,
        8,
        backward=True,
    ),
    "rms_norm_residual_backward": Operation(
        partial(with_sum, with_rstd),
        lambda how, add, dy, x, w, r: norm.norm_backward(dy, norm.Normed(None, x, None, r), w, add=add, how=how)[:2],
        partial(sum_gradient, rms_gradient),
        4,
        4,
        backward=True,
    ),
    "layer_norm_residual_backward": Operation(
        partial(with_sum, with_moments),
        lambda how, add, dy, x, w, mean, rstd: tuple(
            norm.norm_backward(dy, norm.Normed(None, x, mean, rstd), w, bias=True, add=add, how=how)
        ),
        partial(sum_gradient, layer_gradient),
        4,
        8,
        backward=True,
    ),
    "cross_entropy_backward": Operation(
        entropy_inputs,
        lambda how, x, t, lse, g: entropy.cross_entropy_backward(g, x, t, lse, how=how),
        entropy_gradient,
        2,
        16,
    ),
    "cross_entropy_both": Operation(entropy_inputs, loss_and_gradient, entropy_both, 2, 20),
    "swiglu": Operation("xx", lambda how, gate, up: gates.gated(gate, up), lambda gate, up: F.silu(gate) * up, 3),
    "swiglu_backward": Operation("xxx", lambda how, dy, gate, up: gates.gated_backward(dy, gate, up), silu_gradient, 5),
    "gelu": Operation("x", lambda how, x: gates.activated(x, "gelu"), F.gelu, 2),
    "gelu_tanh_backward": Operation(
        "xx",
        lambda how, dy, x: gates.activated_backward(dy, x, "gelu_tanh"),
        lambda dy, x: torch.ops.aten.gelu_backward(dy, x, approximate="tanh"),
        3,
    ),
    "rope": Operation(
        heads, lambda how, q, c, s: rotary.rope(q, None, c, s, out=(q, None))[0], turned, 2, 512, compared=False
    ),
    "quantise_token": Operation(
        "x",
        lambda how, x: by_8_bits.quantise(x, how=how),
        lambda x: quantised(x, x.shape[-1]),
        1.5,
        4,
        exact=lambda x: x,
        group=lambda n: n,
    ),
    "quantise_block": Operation(
        "x",
        lambda how, x: by_8_bits.quantise(x, Narrow(block=128), how=how),
        lambda x: quantised(x, 128),
        1.5 + 1 / 64,
        exact=lambda x: x,
        group=lambda n: 128,
    ),
    "rms_norm_quantise": Operation(
        "xw",
        lambda how, x, w: norm.rms_norm(x, w, eps=EPS, narrow=Narrow(), how=how)[::4],
        lambda x, w: quantised(rms(x, w), x.shape[-1]),
        1.5,
        8,
        exact=rms,
        group=lambda n: n,
    ),
    "transpose_quantise": Operation(
        "x",
        lambda how, x: transposed(x, Narrow(block=128)),
        lambda x: quantised(x.T.contiguous(), 128),
        1.5 + 1 / 64,
        compared=False,
    ),
}


def tuple_of(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, tuple) else (x,)


def error(found: Any, wanted: Any, rows: Any) -> float:
    """The greatest error, relative to the greatest value, of some rows and of whole vectors."""
    worst = 0.0
    for a, b in zip(tuple_of(found), tuple_of(wanted), strict=True):
        a = a[rows] if a.shape[0] > b.shape[0] else a
        worst = max(worst, float((a.double() - b.double()).abs().max() / b.double().abs().max()))
    return worst


def widened(made: tuple[Any, Any], group: int, rows: Any) -> tuple[Any, Any]:
    """What some rows of 8-bit numbers and their scales stand for, and these rows' greatest magnitudes."""
    q, scale = (each[rows].double() for each in made)
    return q * scale.repeat_interleave(group, 1)[:, : q.shape[1]], scale * 448


def beside_greatest(x: Any, group: int) -> tuple[Any, Any]:
    """Rows, and the greatest magnitudes of each group of their elements."""
    return x, F.pad(x.abs(), (0, -x.shape[1] % group)).unflatten(1, (-1, group)).amax(-1)


def off_by(op: Operation, found: Any, wanted: Any, rows: Any, dtype: Any) -> float:
    """How far results are off, in multiples of what is allowed: of 8 bits, near 448, half a step of 32 besides."""
    allowed = 2e-2 if dtype.itemsize == 2 else 1e-4
    if op.group is None:
        return error(found, wanted, rows) / allowed
    group = op.group(wanted.shape[1])
    pairs = zip(widened(found, group, rows), beside_greatest(wanted, group), (16 / 448, 0.0), strict=True)
    return max(error(a, b, rows) / (step + allowed) for a, b, step in pairs)


def exact(op: Operation, inputs: tuple[Any, ...], rows: Any) -> Any:
    """What float64 gives: of some rows, but where sums go over all."""
    function = op.exact or op.torch
    if op.backward:
        return tuple(x.double() for x in function(*(x.double() for x in inputs)))
    m = inputs[0].shape[0]
    some = [x[rows] if x.shape[0] == m else x for x in inputs]
    return function(*(x.double() if x.is_floating_point() else x for x in some))


def ours(op: Operation, sets: list[tuple[Any, ...]], how: Plan | None, i: int) -> Any:
    return op.ours(how, *sets[i])


def called(function: Callable[..., Any], sets: list[tuple[Any, ...]], i: int) -> Any:
    return function(*sets[i])


@cache
def compiled(name: str, n: int) -> Any:
    """What torch.compile makes of an operation for rows of `n` elements."""
    torch._dynamo.config.recompile_limit = 64  # of one function, all lengths together
    return torch.compile(OPERATIONS[name].torch, dynamic=False)


def measure(name: str, n: int, dtype: Any, options: Any, warm: bool = False, known: bool = False) -> dict[str, Any]:
    """A row of the table; with `warm` all is compiled and compared, nothing timed. `known`: it has been compared."""
    op, m = OPERATIONS[name], ROWS.get(n, max(1, (1 << 28) // n))
    size = m * n * dtype.itemsize
    if name == "rope" and n % 128:
        return {}
    count = 1 if warm else cold(size)
    sets = [op.make(m, n, dtype) for _ in range(count)]
    rows = torch.linspace(0, m - 1, min(SAMPLE, m), device="cuda").long()
    small = op.backward and m * n > 1 << 26  # float64 of all would not be quick
    wanted = None if small or known or not op.compared else exact(op, sets[0], rows)
    calls: dict[str, Callable[[int], Any]] = {}
    try:
        off = 0.0 if wanted is None else off_by(op, op.ours(None, *sets[0]), wanted, rows, dtype)
        torch.cuda.synchronize()
    except Exception as problem:
        print(f"    {name} {n}: {type(problem).__name__}: {' '.join(str(problem).split())[:120]}", flush=True)
    else:
        if off < 1:
            calls["cutelite"] = partial(ours, op, sets, None)
        else:
            print(f"    WRONG {name} {n}: {off:.1e} of what is allowed", flush=True)
    for package in (*options.rivals.split(","), *(["compile"] if options.compile else [])):
        try:
            if package in ("torch", "compile"):
                theirs = op.torch if package == "torch" else compiled(name, n)
            else:
                theirs = RIVALS[package](name) if package in RIVALS else None
            if theirs is not None:
                theirs(*sets[0])
                calls[package] = partial(called, theirs, sets)
        except Exception as problem:
            print(f"    {name} {n} {package}: {type(problem).__name__}: {str(problem).splitlines()[:1]}", flush=True)
    if warm:
        return {}
    sources = [random(COPIED // dtype.itemsize, dtype=dtype) for _ in range(2)]
    targets = [torch.empty_like(each) for each in sources]
    calls["copy"] = lambda i: targets[i % 2].copy_(sources[i % 2])
    moved = {k: 2 * COPIED if k == "copy" else op.moved(size, m) for k in calls}
    replays: dict[str, Replay] = {}
    for k, call in calls.items():
        try:
            replays[k] = Replay(call, count, 5e-3, moved[k] / 4e12)
        except Exception as problem:  # a call that waits for the GPU is in no graph
            print(f"    {name} {n} {k}: {type(problem).__name__}: {str(problem).splitlines()[:1]}", flush=True)
    speed = {k: moved[k] / took * 1e-9 for k, took in medians(replays, options.rounds).items()}
    print(f"{name:24} {m:6} x {n:<6} " + "  ".join(f"{k} {v:.0f}" for k, v in speed.items()), flush=True)
    return {"operation": name, "rows": m, "columns": n, "dtype": str(dtype), "gb_per_s": speed}


Cell = tuple[str, int]  # an operation and the elements of a row


def prepared(cells: list[Cell], dtype: Any, options: Any, parent: Any) -> None:
    """Compile cells, until told to stop; tell which are; then time those that are asked for: a process's work."""
    ready = []
    for name, n in cells:
        if parent.poll():
            parent.recv()
            break
        measure(name, n, dtype, options, warm=True)
        torch.cuda.empty_cache()
        ready.append((name, n))
    gc.collect()
    gc.freeze()  # what compilers left is not gone through before every graph
    parent.send(ready)
    while True:
        if cell := parent.recv():  # and not the word to stop, come too late
            name, n = cell
            parent.send(measure(name, n, dtype, options, known=True))
            torch.cuda.empty_cache()


def apart(cells: list[Cell], dtype: Any, options: Any) -> Iterator[dict[str, Any]]:
    """Rows of the table by several processes, forked so that modules are imported once: nothing uses the GPU before."""
    context, started = multiprocessing.get_context("fork"), []
    owners: dict[Cell, Any] = {}
    for number in range(options.processes):
        ours, theirs = context.Pipe()
        some = cells[number :: options.processes]
        started.append((ours, context.Process(target=prepared, args=(some, dtype, options, theirs), daemon=True)))
        started[-1][1].start()
        theirs.close()
    end = time.monotonic() + options.patience
    for told in (False, True):
        for pipe, process in started:
            if pipe in owners.values() or not process.is_alive():
                continue
            if pipe.poll(max(0.0, end - time.monotonic())):
                try:
                    owners |= dict.fromkeys(pipe.recv(), pipe)
                except EOFError:
                    print(f"    a process ended: {process.exitcode}", flush=True)
            elif told:
                process.kill()
            else:
                pipe.send(None)
        end = time.monotonic() + LAST_CELL
    print(f"# {len(owners)} of {len(cells)} compiled", flush=True)
    for cell in cells:
        if cell in owners:
            try:
                owners[cell].send(cell)
                yield owners[cell].recv()
            except (OSError, EOFError):
                print(f"    {cell}: its process ended", flush=True)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--ops", default=",".join(OPERATIONS))
    asked.add_argument("--columns", default=",".join(map(str, ROWS)))
    asked.add_argument("--dtype", default="bfloat16")
    asked.add_argument("--compile", action="store_true")
    asked.add_argument("--rivals", default="torch,quack,liger")
    asked.add_argument("--processes", type=int, default=0)
    asked.add_argument("--patience", type=float, default=600)
    asked.add_argument("--rounds", type=int, default=9)
    asked.add_argument("--json")
    asked.add_argument("--pictures", help="a folder, for an SVG of each operation")
    options = asked.parse_args()
    dtype = getattr(torch, options.dtype)
    print(f"# {options.dtype}, GB/s", flush=True)
    cells = [(name, int(n)) for name in options.ops.split(",") for n in options.columns.split(",")]
    table = []
    for row in apart(cells, dtype, options) if options.processes else (measure(*c, dtype, options) for c in cells):
        table += [row] if row else []
        torch.cuda.empty_cache()
    print(machine())
    if options.json:
        Path(options.json).write_text(json.dumps(table, indent=1))
    judged(table)
    if options.pictures:
        pictures(table, Path(options.pictures))


def judged(table: list[dict[str, Any]]) -> None:
    """Print of each cell what it is of the run's fastest copy, and of the fastest other; `<`: below its bar."""
    copy = max((row["gb_per_s"]["copy"] for row in table if "copy" in row["gb_per_s"]), default=0.0)
    if not copy:
        print("# nothing was timed", flush=True)
        return
    print(f"# of the fastest copy, {copy:.0f}, and of the fastest other; < is below its bar", flush=True)
    for name in dict.fromkeys(row["operation"] for row in table):
        cells = []
        for row in (row for row in table if row["operation"] == name):
            ours = row["gb_per_s"].get("cutelite", 0.0)
            label, other = max(
                ((k, v) for k, v in row["gb_per_s"].items() if k in RIVALS or k in ("torch", "compile")),
                key=lambda each: each[1],
                default=("-", math.nan),
            )
            bar = BARS[1] if row["columns"] < 4096 or name.endswith("backward") else BARS[0]
            marks = ("<" if ours < bar * copy else "", "<" if ours < other else "")
            cells.append(f"{short(row['columns'])} {ours / copy:.3f}{marks[0]} {ours / other:.2f}{label[0]}{marks[1]}")
        print(f"{name:24} " + "  ".join(cells), flush=True)


def pictures(table: list[dict[str, Any]], folder: Path) -> None:
    """Write an SVG for each operation: a group of bars for each length of rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(row["operation"] for row in table):
        groups = [(short(row["columns"]), row["gb_per_s"]) for row in table if row["operation"] == name]
        title = f"{name.replace('_', ' ')}, bf16, by columns"
        (folder / f"rows-{name.replace('_', '-')}.svg").write_text(bars(title, "GB/s", groups))


def short(n: int) -> str:
    """'64k' of 65536."""
    return f"{n // 1024}k" if n % 1024 == 0 else str(n)


if __name__ == "__main__":
    main()
