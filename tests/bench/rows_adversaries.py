"""Kernels of rows on inputs made against them: ``python tests/bench/rows_adversaries.py [--only "NAME;NAME"]``.

Rows of NaN, infinities, zeros, equal, huge, tiny and growing elements, and of elements far from zero; lengths that no
access divides; rows with gaps between them, and rows that begin anywhere. Results are compared with float64 and with
torch's. A case is WRONG where

- a row is off from float64 by more than 1.25 times what torch's is, and by more than rounding, relative to the row's
  greatest magnitude, of sums to what the magnitudes of their parts come to;
- NaN or an infinity stands where neither torch nor float64 has one, or none where both have.

    python tests/bench/rows_adversaries.py --processes 16                       on a GPU
    python tests/bench/rows_adversaries.py --columns 1,3,17,200 --rows 13       simulated, without one
"""

import math
import multiprocessing
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import gates, norm
from cutelite.kernels.rows import softmax as soft
from cutelite.kernels.rows.embedding import embedding, embedding_backward
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.quantise import quantise
from cutelite.kernels.rows.reduce import reduced
from cutelite.kernels.rows.rope import rope
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import argmax, top_k
from cutelite.kernels.rows.sort import sort
from cutelite.kernels.rows.transpose import transposed
from tests.bench.given import parser

F = torch.nn.functional
ROUNDING = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float32: 2.0**-18}
MORE = 1.25  # times torch's error
COLUMNS = 1, 3, 17, 1000, 4097, 16384, 50257, 131072, 262143
SHORT = 17  # of these, the length that is also tried with 1 row and without rows
EPS = 1e-5
K, HARD = 7, 13  # of top-k; rows that are hard


@dataclass(frozen=True)
class Case:
    """A function: ours, and torch's, which computes in the dtype of its arguments.

    arrays   how many arrays of rows it takes
    hard     the array that has the hard rows
    vectors  how many vectors of a row's length
    target   whether a column of each row comes last
    sums     whether it has results over all rows, so that no row may be hard
    least    the fewest columns: gradients of one element are nothing but rounding
    left     rows that are left out, as their sum comes to infinity in some order
    parts    a function of the arguments: what rounding is relative to; by default the result itself
    prepare  what is made of the arguments before both: a result of the forward function, for example
    """

    ours: Callable[..., Any]
    torch: Callable[..., Any]
    arrays: int = 1
    vectors: int = 0
    target: bool = False
    sums: bool = False
    hard: int = 0
    least: int = 1
    left: tuple[int, ...] = ()
    parts: Callable[..., Any] | None = None
    prepare: Callable[..., Any] = lambda *args: args


def gradients(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of (dy, *inputs) that gives the gradients of inputs that `function` uses."""

    def found(dy: Any, *inputs: Any) -> Any:
        leaves = [x.detach().clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
        y = function(*leaves)
        wanted = [x for x in leaves if x.is_floating_point()]
        return torch.autograd.grad(y, wanted, dy.to(y.dtype))

    return found


def first(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives the first of its results: here, the gradient of x without those of weights."""
    return lambda *args: function(*args)[0]


def rms(x: Any, w: Any) -> Any:
    if x.dtype != torch.float64:
        return F.rms_norm(x, x.shape[-1:], w, EPS)
    y = x * (x.square().mean(-1, keepdim=True) + EPS).rsqrt()  # by the definition: torch's kernels differ at infinities
    return y if w is None else y * w


def layer(x: Any, w: Any, b: Any) -> Any:
    return F.layer_norm(x, x.shape[-1:], w, b, EPS)


def rms_back(dy: Any, x: Any, w: Any) -> Any:
    return norm.norm_backward(dy, norm.rms_norm(x, w, eps=EPS), w)[:2]


def parts_of(back: Callable[..., Any], center: bool) -> Callable[..., Any]:
    """Return the function that gives what a norm's gradients round relative to: that of x is what its parts leave."""

    def found(dy: Any, x: Any, w: Any, *b: Any) -> Any:
        apart = x - x.mean(-1, keepdim=True) if center else x
        return dy * w * (apart.square().mean(-1, keepdim=True) + EPS).rsqrt(), *tuple_of(back(dy, x, w, *b))[1:]

    return found


def layer_back(dy: Any, x: Any, w: Any, b: Any) -> Any:
    return tuple(norm.norm_backward(dy, norm.layer_norm(x, w, b, eps=EPS), w, bias=True))


RMS_PARTS, LAYER_PARTS = parts_of(gradients(rms), False), parts_of(gradients(layer), True)


def loss(smoothing: float) -> Callable[..., Any]:
    def found(x: Any, target: Any) -> Any:
        exact = x if x.dtype == torch.float64 else x.float()  # losses are f32
        return F.cross_entropy(exact, target, reduction="none", label_smoothing=smoothing)

    return found


def entropy_back(smoothing: float) -> Callable[..., Any]:
    def found(dy: Any, x: Any, target: Any) -> Any:
        g = dy[:, 0].float().contiguous()
        lse = entropy.cross_entropy(x, target).lse
        return entropy.cross_entropy_backward(g, x, target, lse, smoothing=smoothing)

    return found


def entropy_both(dy: Any, x: Any, target: Any) -> Any:
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    made = entropy.cross_entropy_gradient(dy[:, 0].float().contiguous(), x, target, out=out)
    return out, made.loss


def both(dy: Any, x: Any, target: Any) -> Any:
    return entropy_gradient(0.0)(dy, x, target), loss(0.0)(x, target)


def entropy_gradient(smoothing: float) -> Callable[..., Any]:
    def found(dy: Any, x: Any, target: Any) -> Any:
        return gradients(lambda x: loss(smoothing)(x, target))(dy[:, 0], x)[0]

    return found


def backward_of(name: str, log: bool) -> Case:
    """Softmax's derivative, of the y that torch gives."""
    theirs = getattr(torch.ops.aten, name)

    def prepared(dy: Any, x: Any) -> Any:
        return dy, (x.log_softmax(-1) if log else x.softmax(-1))

    return Case(
        lambda dy, y: soft.softmax_backward(dy, y, log=log), lambda dy, y: theirs(dy, y, -1, y.dtype), 2,
        hard=1, prepare=prepared,
    )  # fmt: skip


def dequantised(x: Any, narrow: Narrow, made: Any = None) -> Any:
    """Return x as it is after `quantise`, or what is made instead of it."""
    q, scale = quantise(x, narrow) if made is None else made
    n = q.shape[-1]
    return q.float() * (scale if narrow.block == 1 else scale.repeat_interleave(narrow.block, -1)[:, :n])


def scales(x: Any, block: int) -> Any:
    """Return the scale of each group of a row."""
    v = x.float() if x.dtype != torch.float64 else x
    parts = F.pad(v, (0, -v.shape[1] % block)).unflatten(1, (-1, block)) if block > 1 else v[:, None, :]
    return parts.nan_to_num(0.0, math.inf, -math.inf).abs().amax(-1).clamp(min=1e-30) / 448


def turned(x: Any) -> Any:
    """Return a row's halves, turned by the angles that `angles` gives."""
    half = x.shape[-1] // 2
    c, s = angles(x)
    a, b = (x[:, :half], x[:, half : 2 * half])
    wide = (a.double(), b.double())
    return torch.cat([wide[0] * c - wide[1] * s, wide[1] * c + wide[0] * s, x[:, 2 * half :].double()], -1)


def angles(x: Any) -> tuple[Any, Any]:
    half = x.shape[-1] // 2
    a = torch.arange(x.shape[0] * half, device=x.device).view(-1, half) % 7 * 0.3
    return a.cos().float(), a.sin().float()


def ours_turned(x: Any) -> Any:
    if x.shape[-1] < 2:
        return x
    return rope(x[:, None], None, *angles(x))[0][:, 0]


def table_gradient(dy: Any) -> Any:
    places = torch.arange(dy.shape[0], device=dy.device) % 5
    return embedding_backward(dy, places, 5)


def its_gradient(dy: Any) -> Any:
    places = torch.arange(dy.shape[0], device=dy.device) % 5
    wide = dy.double()
    return torch.stack([wide[places == i].sum(0) for i in range(5)])


def activations() -> Iterator[tuple[str, Case]]:
    """Activations and gates, and their derivatives."""
    for name in gates.ACTIVATIONS:
        f = {"gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}.get(name) or getattr(F, name)
        gate = lambda x, up, f=f: f(x) * up  # noqa: E731
        yield name, Case(lambda x, n=name: gates.activated(x, n), f)
        yield (
            f"{name}, derivative",
            Case(lambda dy, x, n=name: gates.activated_backward(dy, x, n), first(gradients(f)), 2, hard=1),
        )
        yield f"{name} gate", Case(lambda x, up, n=name: gates.gated(x, up, n), gate, 2)
        yield (
            f"{name} gate, derivative",
            Case(lambda dy, x, up, n=name: tuple(gates.gated_backward(dy, x, up, n)), gradients(gate), 3, hard=1),
        )


CASES: dict[str, Case] = {
    "softmax": Case(soft.softmax, lambda x: x.softmax(-1)),
    "log_softmax": Case(soft.log_softmax, lambda x: x.log_softmax(-1)),
    "softmax, derivative": backward_of("_softmax_backward_data", False),
    "log_softmax, derivative": backward_of("_log_softmax_backward_data", True),
    "rms_norm": Case(lambda x, w: norm.rms_norm(x, w, eps=EPS).y, rms, 1, 1),
    "rms_norm, plain": Case(lambda x: norm.rms_norm(x, eps=EPS).y, lambda x: rms(x, None)),
    "rms_norm, residual": Case(
        lambda x, r, w: norm.rms_norm(x, w, residual=r, eps=EPS)[:2], lambda x, r, w: (rms(x + r, w), x + r), 2, 1
    ),
    "layer_norm": Case(lambda x, w, b: norm.layer_norm(x, w, b, eps=EPS).y, layer, 1, 2),
    "layer_norm, residual": Case(
        lambda x, r, w, b: norm.layer_norm(x, w, b, residual=r, eps=EPS)[:2],
        lambda x, r, w, b: (layer(x + r, w, b), x + r), 2, 2,
    ),
    "rms_norm, dx": Case(first(rms_back), first(gradients(rms)), 2, 1, hard=1, parts=first(RMS_PARTS)),
    "rms_norm, gradients": Case(rms_back, gradients(rms), 2, 1, sums=True, parts=RMS_PARTS),
    "layer_norm, dx": Case(
        first(layer_back), first(gradients(layer)), 2, 2, hard=1, parts=first(LAYER_PARTS)
    ),
    "layer_norm, gradients": Case(layer_back, gradients(layer), 2, 2, sums=True, parts=LAYER_PARTS),
    "cross_entropy": Case(lambda x, t: entropy.cross_entropy(x, t).loss, loss(0.0), target=True),
    "cross_entropy, smoothed": Case(
        lambda x, t: entropy.cross_entropy(x, t, smoothing=0.1).loss, loss(0.1), target=True
    ),
    "cross_entropy, derivative": Case(entropy_back(0.0), entropy_gradient(0.0), 2, target=True, hard=1),
    "cross_entropy, smoothed, derivative": Case(
        entropy_back(0.1), entropy_gradient(0.1), 2, target=True, hard=1, least=3
    ),
    "cross_entropy, both": Case(entropy_both, both, 2, target=True, hard=1),
    **dict(activations()),
    "rope": Case(ours_turned, turned),
    "quantise, scales": Case(lambda x: quantise(x).scale, lambda x: scales(x, 1)),
    "quantise by 128, scales": Case(lambda x: quantise(x, Narrow(block=128)).scale, lambda x: scales(x, 128)),
    "transposed": Case(lambda x: transposed(x, "f32").T, lambda x: x.double()),
    "argmax": Case(lambda x: argmax(x).column, lambda x: x.argmax(-1)),
    "top_k": Case(lambda x: top_k(x, min(K, x.shape[-1])).value, lambda x: x.topk(min(K, x.shape[-1]))[0]),
    "cumsum": Case(cumsum, lambda x: x.cumsum(-1)),
    "sum": Case(lambda x: reduced(x, "sum", 1), lambda x: x.sum(1), left=(9,), parts=lambda x: x.abs().sum(1)),
    "mean": Case(lambda x: reduced(x, "mean", 1), lambda x: x.mean(1), left=(9,), parts=lambda x: x.abs().mean(1)),
    "max": Case(lambda x: reduced(x, "max", 1), lambda x: x.amax(1)),
    "min": Case(lambda x: reduced(x, "min", 1), lambda x: x.amin(1)),
    "sum of columns": Case(lambda x: reduced(x, "sum", 0), lambda x: x.sum(0), sums=True),
    "max of columns": Case(
        lambda x: reduced(F.pad(x, (0, 0, 0, 1)), "max", 0), lambda x: F.pad(x, (0, 0, 0, 1)).amax(0)
    ),
    "sum of all": Case(lambda x: reduced(x).reshape(1), lambda x: x.sum().reshape(1), sums=True),
    "sort": Case(lambda x: sort(x[:1].flatten()).keys, lambda x: x[:1].flatten().sort()[0]),
    "sort, hard": Case(lambda x: sort(x[3:9].flatten()).keys, lambda x: x[3:9].flatten().sort()[0]),
    "embedding": Case(
        lambda x: embedding(x, torch.arange(x.shape[0], device=x.device).flip(0)),
        lambda x: x.flip(0),
    ),
    "embedding, derivative": Case(table_gradient, its_gradient, sums=True),
}  # fmt: skip
LAYOUTS = {"anywhere": (1, 3, 1), "apart": (8, 8, 8)}  # rows begin at multiples of; least gap; start of the first


def harden(x: Any) -> None:
    """Make the first `HARD` rows of x hard."""
    n, most = x.shape[1], 6e4 if x.dtype == torch.float16 else 3e38
    tiny, at = (1e-6 if x.dtype == torch.float16 else 1e-30), n // 2
    some = torch.arange(n, device=x.device) % 2 == 0
    signs = torch.where(some, 1.0, -1.0)
    made = {
        1: 0.0, 2: 3.0, 5: -math.inf, 6: torch.where(some, x[6].float(), -math.inf),
        8: 1e4 + x[8].float(), 9: most * signs, 10: tiny * x[10].float(),
        11: torch.linspace(-100, 100, n, device=x.device), 12: torch.full((n,), 1e-3, device=x.device),
    }  # fmt: skip
    for row, v in made.items():
        x[row] = v
    for row, v in {3: math.nan, 4: math.inf, 7: math.inf, 12: 3e3}.items():
        x[row, at] = v
    x[7, 0] = -math.inf


def inputs(case: Case, m: int, n: int, dtype: Any, layout: str, device: str) -> list[Any]:
    """Return the arguments of a case: arrays of rows, vectors, and targets."""
    torch.manual_seed(n)
    unit, gap, start = LAYOUTS[layout]
    found = []
    for _ in range(case.arrays):
        whole = torch.randn(m, -(-(n + gap) // unit) * unit, device=device).to(dtype)
        found.append(whole[:, start : start + n])
    if not case.sums and m >= HARD:
        harden(found[case.hard])
    found += [torch.randn(n, device=device).to(dtype) for _ in range(case.vectors)]
    if case.target:
        found.append(torch.randint(0, n, (m,), device=device))
    return found


def tuple_of(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, tuple | list) else (x,)


def by_rows(x: Any) -> Any:
    """Return a result as a matrix of doubles, a row for each row."""
    x = x.double()
    return x.reshape(x.shape[0], -1) if x.dim() > 1 else x.reshape(-1, 1)


def compared(ours: Any, theirs: Any, exact: Any, parts: Any, dtype: Any) -> str | None:
    """Say what is wrong with a result, whose rounding is relative to `parts`; None: nothing."""
    if ours.shape != theirs.shape or ours.shape != exact.shape:
        return f"shape {tuple(ours.shape)}, not {tuple(theirs.shape)}"
    a, b, c = by_rows(ours), by_rows(theirs), by_rows(exact).to(by_rows(ours).device)
    limit = torch.finfo(dtype).max
    c = torch.where(c.abs() > limit, c.sign() * math.inf, c)  # what float64 holds and the dtype does not
    for name, is_so in (("NaN", torch.isnan), ("inf", lambda v: v == math.inf), ("-inf", lambda v: v == -math.inf)):
        extra, lacking = is_so(a) & ~is_so(b) & ~is_so(c), ~is_so(a) & is_so(b) & is_so(c)
        for word, bad in (("too many", extra), ("too few", lacking)):
            if bool(bad.any()):
                rows = bad.any(-1).nonzero().flatten().tolist()
                return f"{word} {name} in rows {rows[:8]}"
    finite = torch.isfinite(a) & torch.isfinite(b) & torch.isfinite(c)
    zero = torch.zeros((), dtype=a.dtype, device=a.device)
    off, theirs_off = (torch.where(finite, (v - c).abs(), zero).amax(-1) for v in (a, b))
    scale = torch.where(finite, by_rows(parts).to(c.device).abs(), zero).amax(-1).clamp(min=1e-30)
    bad = off > torch.maximum(MORE * theirs_off, ROUNDING[dtype] * scale) + torch.finfo(dtype).smallest_normal
    if bool(bad.any()):
        row = int((off / scale * bad).argmax())
        return f"row {row} off by {float(off[row] / scale[row]):.1e}, torch {float(theirs_off[row] / scale[row]):.1e}"
    return None


def checked(name: str, m: int, n: int, dtype: Any, layout: str, device: str) -> str | None:
    """Run a case; say what is wrong."""
    case = CASES[name]
    try:
        given = inputs(case, m, n, dtype, layout, device)
        given = list(case.prepare(*given))
        wide = [x.double() if x.is_floating_point() else x for x in given]
        ours = tuple_of(case.ours(*given))
        theirs, exact = tuple_of(case.torch(*given)), tuple_of(case.torch(*wide))
        parts = exact if case.parts is None else tuple_of(case.parts(*wide))
        for i, each in enumerate(zip(ours, theirs, exact, parts, strict=True)):
            kind = each[0].dtype if each[0].is_floating_point() else torch.float32
            kind = kind if kind == torch.float32 else dtype
            if case.sums:
                each = tuple(v.reshape(1, -1) if v.dim() == 1 else v for v in each)
            elif case.left and m >= HARD:
                kept = [row for row in range(m) if row not in case.left]
                each = tuple(v[kept] for v in each)
            if m and (problem := compared(*each, kind)):
                return f"result {i}: {problem}"
    except Exception as problem:
        print("".join(traceback.format_exc(limit=-3).splitlines(True)[1:]), flush=True)
        return f"{type(problem).__name__}: {' '.join(str(problem).split())[:150]}"
    return None


def work(cells: list[tuple[str, int, int, Any, str]], device: str) -> None:
    """Run some cells, and print those that are wrong."""
    for name, m, n, dtype, layout in cells:
        if problem := checked(name, m, n, dtype, layout, device):
            print(f"WRONG {name}, {m} x {n} {str(dtype)[6:]}, {layout}: {problem}", flush=True)
    print(f"# {len(cells)} done", flush=True)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--only", default="", help="beginnings of names, with `;` between them")
    asked.add_argument("--columns", default=",".join(map(str, COLUMNS)))
    asked.add_argument("--layouts", default=",".join(LAYOUTS))
    asked.add_argument("--dtypes", default="bfloat16,float16,float32")
    asked.add_argument("--rows", type=int, default=67)
    asked.add_argument("--processes", type=int, default=1)
    asked.add_argument("--device", default="")
    options = asked.parse_args()
    device = options.device or ("cuda" if has_gpu() else "cpu")
    wanted = [name for name in CASES if any(name.startswith(part) for part in options.only.split(";"))]
    cells = [
        (name, m, int(n), getattr(torch, dtype), layout)
        for n in options.columns.split(",")
        for name in wanted
        for dtype in options.dtypes.split(",")
        for layout in options.layouts.split(",")
        for m in ((options.rows, 1, 0) if int(n) == SHORT else (options.rows,))
        if int(n) >= CASES[name].least
    ]
    parts = [cells[i :: options.processes] for i in range(options.processes)]
    if options.processes == 1:
        work(cells, device)
        return
    context = multiprocessing.get_context("fork")
    started = [context.Process(target=work, args=(part, device)) for part in parts]
    for each in started:
        each.start()
    for each in started:
        each.join()


def has_gpu() -> bool:
    """Tell whether there is a GPU, without starting CUDA in a process that forks."""
    return Path("/dev/nvidiactl").exists()


if __name__ == "__main__":
    main()
