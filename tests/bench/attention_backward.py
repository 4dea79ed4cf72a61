"""The backward pass of attention on one GPU beside FlashAttention-4's: ``python tests/bench/attention_backward.py``.

Errors to float64 first; then TFLOP/s of 10 B H S^2 D FLOP, half of it if causal, by `cl.do_bench` of launched calls.
All of a pass is timed: sums of rows, products, conversion of dq. cuDNN and FlexAttention by torch's autograd.
"""

import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import cutelite as cl
from cutelite.kernels.attention import attention, attention_varlen
from cutelite.kernels.attention.backward_call import attention_backward, attention_varlen_backward
from cutelite.kernels.attention.backward_plan import Config
from tests.bench.attention_exact import gradients
from tests.bench.attention_functions import flex, functions, learned_by
from tests.bench.given import parser
from tests.bench.timing import machine, off

RIVALS = "FA4", "cuDNN", "FlexAttention"
LENGTHS = 1024, 2048, 4096, 8192, 16384
RAGGED = 17, 8192, 300, 1024, 2048, 77, 512, 4096, 1, 128, 3000, 640, 1500, 250, 900, 64, 2500, 333, 5000, 1200
"""Lengths of sequences that lie one after the other."""


CONFIGS: dict[int, dict[str, Config | None]] = {
    128: {"chosen": None, "2 of dS": Config(held=2)},
    64: {"chosen": None, "64 queries": Config(stages=3)},
}
"""For ``--configs``, of bf16 without a `score_mod`."""


class Rivals(NamedTuple):
    """What runs beside each other: configurations of ours, by name; no name: what is chosen; and other libraries."""

    configs: dict[str, Config | None]
    others: list[str]
    rounds: int

    def ours(self, call: Callable[..., Any]) -> dict[str, Callable[[], Any]]:
        """Return a call for each configuration."""
        return {name: partial(call, config=config) for name, config in self.configs.items()}

    def told(self, calls: dict[str, Callable[[], Any]], flop: float) -> str:
        """Return TFLOP/s of calls in turns, with clocks, captured in graphs if all of them can be."""
        timings = cl.do_bench(calls, cache="warm", rounds=self.rounds)
        rates = (f"{name} {t.rate(flop) / 1e12:.0f} @{t.clock_mhz or 0:.0f}" for name, t in timings.items())
        return ", ".join(rates) + ("" if next(iter(timings.values())).graph else " (no graph)")


def made(batch: int, sq: int, sk: int, heads: int, kv_heads: int, dim: int) -> list[Any]:
    torch.manual_seed(1)
    shapes = (sq, heads), (sk, kv_heads), (sk, kv_heads), (sq, heads)
    return [torch.randn(batch, *shape, dim, device="cuda", dtype=torch.bfloat16) for shape in shapes]


def errors(found: Any, want: Any) -> list[float]:
    return [off(x, y) for x, y in zip(found, want, strict=True)]


def of_fa4(
    rivals: Rivals, q: Any, k: Any, v: Any, o: Any, do: Any, lse: Any, **how: Any
) -> dict[str, Callable[[], Any]]:
    """FlashAttention-4's call, by name; nothing where it is not installed or takes no such problem: why is told."""
    if "FA4" not in rivals.others:
        return {}
    try:
        from flash_attn.cute import interface  # type: ignore[import-not-found]

        call = partial(interface._flash_attn_bwd, q, k, v, o, do, lse, softmax_scale=q.shape[-1] ** -0.5, **how)
        call()
    except Exception:
        traceback.print_exc()
        return {}
    return {"FA4": call}


def cudnn(q: Any, k: Any, v: Any, causal: bool) -> Any:
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2)


def by_autograd(forward: Callable[..., Any], q: Any, k: Any, v: Any, do: Any) -> Callable[[], Any]:
    """Calls of the backward pass alone; the first one also makes the output, in the stream that is timed."""
    arrays, outputs = [x.detach().requires_grad_() for x in (q, k, v)], list[Any]()

    def call() -> Any:
        if not outputs:
            outputs.append(forward(*arrays))
        return torch.autograd.grad(outputs[0], arrays, do, retain_graph=True)

    return call


def compared(dim: int, causal: bool) -> None:
    """Print errors at lengths that are no multiples of anything."""
    for sizes in ((1024, 1024, 4, 4), (777, 1333, 8, 2), (500, 300, 2, 1), (1, 4000, 4, 1)):
        q, k, v, do = made(2, *sizes, dim)
        o, lse = attention(q, k, v, causal=causal, return_lse=True)
        want = gradients(q, k, v, do, causal)
        for name, config in CONFIGS.get(dim, {"chosen": None}).items():
            far = errors(attention_backward(do, q, k, v, o, lse, causal=causal, config=config), want)
            again = attention_backward(do, q, k, v, o, lse, causal=causal, config=config, deterministic=True)
            more = attention_backward(do, q, k, v, o, lse, causal=causal, config=config, deterministic=True)
            same = all(torch.equal(x, y) for x, y in zip(again, more, strict=True))
            if not max(far + errors(again, want)) < 6e-3 or not same:
                print("WRONG", dim, causal, sizes, name, far, "the same bits:", same, flush=True)
    print(dim, "causal" if causal else "full", "errors at the last size", [f"{x:.1e}" for x in far], flush=True)


def row(dim: int, causal: bool, length: int, rivals: Rivals) -> str:
    batch, heads = max(1, 16384 // length), 2048 // dim
    q, k, v, do = made(batch, length, length, heads, heads, dim)
    o, lse = attention(q, k, v, causal=causal, return_lse=True)
    out = tuple(torch.empty_like(x) for x in (q, k, v))

    ours = partial(attention_backward, do, q, k, v, o, lse, out, causal=causal)
    calls = rivals.ours(ours)
    if len(calls) == 1:
        calls["deterministic"] = partial(ours, deterministic=True)
    calls |= of_fa4(rivals, q, k, v, o, do, lse, causal=causal)
    if "cuDNN" in rivals.others:
        calls["cuDNN"] = by_autograd(partial(cudnn, causal=causal), q, k, v, do)
    flop = 10 * batch * heads * length**2 * dim / (2 if causal else 1)
    return f"{dim} {'causal' if causal else 'full'} {length}: {rivals.told(calls, flop)}"


MORE: dict[str, dict[str, Any]] = {
    "256": {"dim": 256},
    "256 causal": {"dim": 256, "causal": True},
    "192": {"dim": 192},
    "192 causal": {"dim": 192, "causal": True},
    "192 of 16384": {"dim": 192, "length": 16384},
    "192 of 16384 causal": {"dim": 192, "length": 16384, "causal": True},
    "192 with values of 128": {"dim": 192, "dim_v": 128},
    "192 with values of 128 causal": {"dim": 192, "dim_v": 128, "causal": True},
    "96 causal": {"dim": 96, "causal": True},
    "f16": {"dtype": torch.float16},
    "f16 causal": {"dtype": torch.float16, "causal": True},
    "a quarter of the heads for keys": {"kv_heads": 4},
    "a quarter of the heads for keys, causal": {"kv_heads": 4, "causal": True},
    "one head for keys": {"kv_heads": 1},
    "one head for keys, causal": {"kv_heads": 1, "causal": True},
    "a window of 1024 of 16384": {"length": 16384, "causal": True, "window": 1023},
}
"""Calls that differ from 4 x 4096 x 16 heads of 128, full, bf16."""


def more(
    rivals: Rivals, dim: int = 128, dim_v: int | None = None, causal: bool = False, dtype: Any = torch.bfloat16,
    kv_heads: int = 16, length: int = 4096, window: int | None = None,
) -> str:  # fmt: skip
    """Return TFLOP/s of such a call: 6 D FLOP, for scores, dk and dq, and 4 DV, for dp and dv, of each pair."""
    batch, heads, dim_v = 16384 // length, 16, dim_v or dim
    torch.manual_seed(1)
    shapes = (heads, dim), (kv_heads, dim), (kv_heads, dim_v), (heads, dim_v)
    q, k, v, do = (torch.randn(batch, length, *shape, device="cuda", dtype=dtype) for shape in shapes)
    how: dict[str, Any] = {"causal": causal, "window": (window, None)}
    o, lse = attention(q, k, v, return_lse=True, **how)
    calls = rivals.ours(partial(attention_backward, do, q, k, v, o, lse, **how))
    ends = {} if window is None else {"window_size_left": window, "window_size_right": 0}
    calls |= of_fa4(rivals, q, k, v, o, do, lse, causal=causal, **ends)
    if "cuDNN" in rivals.others and window is None and kv_heads == heads:
        calls["cuDNN"] = by_autograd(partial(cudnn, causal=causal), q, k, v, do)
    seen = length**2 / (2 if causal else 1) if window is None else length * (window + 1) - (window + 1) ** 2 / 2
    return rivals.told(calls, batch * heads * seen * (6 * dim + 4 * dim_v))


def ragged(dim: int, causal: bool, rivals: Rivals) -> str:
    heads, starts = 2048 // dim, torch.tensor([0, *RAGGED], device="cuda").cumsum(0).int()
    q, k, v, do = (x[0] for x in made(1, sum(RAGGED), sum(RAGGED), heads, heads, dim))
    o, lse = attention_varlen(q, k, v, starts, causal=causal, return_lse=True)
    found = attention_varlen_backward(do, q, k, v, o, lse, starts, causal=causal)
    for first, end in zip(starts.tolist(), starts.tolist()[1:], strict=False):
        if end - first <= 1024:
            q1, k1, v1, do1 = (x[None, first:end, :2] for x in (q, k, v, do))
            far = errors([x[None, first:end, :2] for x in found], gradients(q1, k1, v1, do1, causal))
            if end - first > 1 and not max(far) < 6e-3:
                print("WRONG", dim, causal, end - first, far, flush=True)
    calls = rivals.ours(partial(attention_varlen_backward, do, q, k, v, o, lse, starts, causal=causal))
    ends = {"cu_seqlens_q": starts, "cu_seqlens_k": starts, "max_seqlen_q": max(RAGGED), "max_seqlen_k": max(RAGGED)}
    calls |= of_fa4(rivals, q, k, v, o, do, lse, causal=causal, **ends)
    flop = 10 * heads * dim * sum(n * n for n in RAGGED) / (2 if causal else 1)
    return f"{dim} {'causal' if causal else 'full'} sequences: {rivals.told(calls, flop)}"


def functional(dim: int, causal: bool, length: int, names: list[str], rivals: Rivals) -> str:
    """Times with each of `functions`, and their rates: of no function's, of FlexAttention's with the same function.

    "learned": with gradients of the arrays that it captured, too.
    """
    batch, heads = max(1, 16384 // length), 2048 // dim
    q, k, v, do = made(batch, length, length, heads, heads, dim)
    calls: dict[str, Callable[[], Any]] = {}
    asked = {name: how for name, how in functions(heads, length).items() if name in [*(names or [name]), "none"]}
    for name, how in asked.items():
        o, lse = attention(q, k, v, causal=causal, return_lse=True, **how)
        ours = partial(attention_backward, do, q, k, v, o, lse, causal=causal, **how)
        calls[name] = ours
        if captured := learned_by(how.get("score_mod")):
            calls[f"{name}, learned"] = partial(ours, captured=captured)
        if "FlexAttention" in rivals.others:
            theirs = partial(by_autograd, flex(length, causal, **how), q, k, v, do)
            calls["FlexAttention, " + name] = theirs()
            far = errors(calls[name](), [x.double() for x in theirs()()])
            if not max(far) < 1e-2:
                print("WRONG", dim, causal, name, far, flush=True)
    us = {name: timing.us for name, timing in cl.do_bench(calls, cache="warm", rounds=rivals.rounds).items()}
    told = [f"{dim} {'causal' if causal else 'full'} {batch} x {length}"]
    for name in asked:
        flexed = us.get("FlexAttention, " + name)
        beside = "" if flexed is None else f", {flexed / us[name]:.2f} of FlexAttention"
        learned = us.get(f"{name}, learned")
        beside += "" if learned is None else f"; learned {learned:.0f} us"
        told.append(f"  {name}: {us[name]:.0f} us, {us['none'] / us[name]:.3f} of none{beside}")
    return "\n".join(told)


def once(dim: int, names: list[str]) -> None:
    q, k, v, do = made(2, 8192, 8192, 2048 // dim, 2048 // dim, dim)
    o, lse = attention(q, k, v, return_lse=True)
    for name in names:
        attention_backward(do, q, k, v, o, lse, config=CONFIGS[dim][name])
    torch.cuda.synchronize()


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--configs", action="store_true", help="those of `CONFIGS`, not what is chosen alone")
    asked.add_argument("--once", nargs="*", help="call each of these configurations once at 2 x 8192, for a profiler")
    asked.add_argument("--dims", type=int, nargs="*", default=[128, 64])
    asked.add_argument("--masks", nargs="*", choices=["full", "causal"], default=["full", "causal"])
    asked.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    asked.add_argument("--more", nargs="*", choices=MORE, help="these calls (no name: all), ragged sequences")
    asked.add_argument("--rivals", nargs="*", choices=RIVALS, default=RIVALS)
    asked.add_argument("--functions", nargs="*", help="with these functions of scores (no name: all), and with none")
    asked.add_argument("--rounds", type=int, default=5)
    asked.add_argument("--times", action="store_true", help="without errors and ragged sequences")
    given = asked.parse_args()
    if given.once is not None:
        once(given.dims[0], given.once)
        return
    print(machine())

    def rivals(dim: int) -> Rivals:
        configs: Any = CONFIGS.get(dim) if given.configs else None
        return Rivals(configs or {"cutelite": None}, given.rivals, given.rounds)

    for name in MORE if given.more == [] else given.more or ():
        print(f"{name}: {more(rivals(MORE[name].get('dim', 128)), **MORE[name])}", flush=True)
    for dim in given.dims:
        for mask in given.masks:
            causal = mask == "causal"
            if given.functions is not None:
                for length in given.lengths:
                    print(functional(dim, causal, length, given.functions, rivals(dim)), flush=True)
                continue
            if given.more is not None:
                print(ragged(dim, causal, rivals(dim)), flush=True)
                continue
            if not given.times:
                compared(dim, causal)
                print(ragged(dim, causal, rivals(dim)), flush=True)
            for length in given.lengths:
                print(row(dim, causal, length, rivals(dim)), flush=True)


if __name__ == "__main__":
    main()
