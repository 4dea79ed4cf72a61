"""Host time of a call of the library's functions on tensors, planned and as it is, beside torch's for the same work.

    python tests/bench/calls.py [--generate]

Needs torch and a Hopper GPU. Microseconds until a call returns, of tensors so small that the GPU is never waited for:
the median of rounds of calls, between which the GPU becomes idle. With `--generate` also milliseconds of a token that
`model.generate` of transformers makes with a static cache, launched call by call, for four layers of an 8B Llama.
"""

import copy
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from cutelite.interop import planned
from cutelite.kernels import moe
from cutelite.kernels.attention import attention, decode
from cutelite.kernels.gemm import gemm, grouped
from cutelite.kernels.rows.adamw import adamw
from cutelite.kernels.rows.cross_entropy import cross_entropy
from cutelite.kernels.rows.embedding import embedding
from cutelite.kernels.rows.gates import gated
from cutelite.kernels.rows.histogram import histogram
from cutelite.kernels.rows.norm import layer_norm, rms_norm
from cutelite.kernels.rows.quantise import quantise
from cutelite.kernels.rows.reduce import reduced
from cutelite.kernels.rows.rope import rope
from cutelite.kernels.rows.sample import sample
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import argmax, top_k
from cutelite.kernels.rows.softmax import softmax
from cutelite.kernels.rows.sort import sort
from tests.bench.given import parser
from tests.bench.timing import machine

CALLS, ROUNDS = 50, 9


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


Cases = dict[str, tuple[Callable[[], Any], Callable[[], Any]]]


def cases() -> Cases:
    """The calls by name: ours, and torch's."""
    x, w, bias, weight = normal(16, 512), normal(512, 512), normal(512), normal(512)
    q, k, v = (normal(1, 256, 8, 128) for _ in range(3))
    out, one, keys, values = normal(16, 512), normal(2, 1, 8, 128), normal(2, 256, 2, 128), normal(2, 256, 2, 128)
    by_head, cached = ([each.transpose(1, 2) for each in group] for group in ((q, k, v), (one, keys, values)))
    sdpa = functional.scaled_dot_product_attention
    return {
        "gemm": (lambda: gemm(x, w), lambda: x @ w),
        "gemm with bias": (lambda: gemm(x, w, bias=bias), lambda: torch.addmm(bias, x, w)),
        "gemm, out given": (lambda: gemm(x, w, out=out), lambda: torch.mm(x, w, out=out)),
        "operator of gemm": (lambda: torch.ops.cutelite.gemm(x, w), lambda: x @ w),
        "attention": (lambda: attention(q, k, v, causal=True), lambda: sdpa(*by_head, is_causal=True)),
        "decode": (lambda: decode(one, keys, values), lambda: sdpa(*cached, enable_gqa=True)),
        "RMSNorm": (lambda: rms_norm(x, weight), lambda: functional.rms_norm(x, (512,), weight)),
        "softmax": (lambda: softmax(x), lambda: torch.softmax(x, -1)),
        "SwiGLU": (lambda: gated(x, x), lambda: functional.silu(x) * x),
        **of_rows(x, weight),
        **of_groups(x),
        **of_lists(291),
        **with_gradients(x, w, weight),
    }


def of_rows(x: torch.Tensor, weight: torch.Tensor) -> Cases:
    places = torch.arange(16, device="cuda")
    cosines, sines = (torch.ones(256, 64, device="cuda") for _ in range(2))
    q, k, chances = normal(1, 256, 8, 128), normal(1, 256, 8, 128), torch.rand(16, device="cuda")
    one = x[0, 0].clone()

    def turned(y: torch.Tensor) -> torch.Tensor:
        left, right = y.chunk(2, -1)
        return torch.cat((left * cosines[:, None] - right * sines[:, None], right), -1)

    return {
        "LayerNorm": (lambda: layer_norm(x, weight, weight), lambda: functional.layer_norm(x, (512,), weight, weight)),
        "RMSNorm, residual": (
            lambda: rms_norm(x, weight, residual=x), lambda: functional.rms_norm(x + x, (512,), weight),
        ),
        "cross entropy": (
            lambda: cross_entropy(x, places), lambda: functional.cross_entropy(x, places, reduction="none"),
        ),
        "embedding": (lambda: embedding(x, places), lambda: functional.embedding(places, x)),
        "rope": (lambda: rope(q, k, cosines, sines), lambda: (turned(q), turned(k))),
        "top-k": (lambda: top_k(x, 8), lambda: torch.topk(x, 8)),
        "argmax": (lambda: argmax(x), lambda: torch.max(x, -1)),
        "sum of all": (lambda: reduced(x), lambda: x.sum()),
        "sum of a row, out given": (lambda: reduced(x[0], out=one), lambda: torch.sum(x[0], out=one)),
        "cumsum": (lambda: cumsum(x), lambda: x.cumsum(-1)),
        "sort": (lambda: sort(x[0]), lambda: x[0].sort(stable=True)),
        "sample": (lambda: sample(x, chances), lambda: torch.multinomial(torch.softmax(x, -1), 1)),
        "histogram": (lambda: histogram(x, 64), lambda: torch.histc(x.float(), 64, 0, 1)),
        "quantise": (
            lambda: quantise(x), lambda: (x / x.abs().amax(-1, keepdim=True)).to(torch.float8_e4m3fn),
        ),
    }  # fmt: skip


def of_groups(x: torch.Tensor) -> Cases:
    b, ends = normal(4, 512, 512), torch.tensor([4, 8, 12, 16], dtype=torch.int32, device="cuda")
    logits, gate_up, down = normal(16, 4).float(), normal(4, 256, 512), normal(4, 512, 128)
    weights, index = moe.route(logits, 2)
    return {
        "grouped GEMM": (lambda: grouped.gemm(x, b, ends), lambda: torch._grouped_mm(x, b.mT, offs=ends)),
        "route": (lambda: moe.route(logits, 2), lambda: torch.topk(torch.softmax(logits, -1), 2)),
        "experts": (lambda: moe.experts(x, gate_up, down, index, weights), lambda: torch.topk(logits, 2)),
    }


def of_lists(count: int) -> Cases:
    """A step of AdamW over so many tensors: as many as an 8B Llama has."""
    parameters = [torch.nn.Parameter(normal(64, 64)) for _ in range(count)]
    for each in parameters:
        each.grad = torch.randn_like(each)
    gradients = [each.grad for each in parameters]
    means, squares = ([torch.zeros(64, 64, device="cuda") for _ in parameters] for _ in range(2))
    return {
        f"AdamW, {count} tensors": (
            lambda: adamw(parameters, gradients, means, squares), torch.optim.AdamW(parameters, fused=True).step,
        ),
    }  # fmt: skip


def with_gradients(x: torch.Tensor, w: torch.Tensor, weight: torch.Tensor) -> Cases:
    """Forward and backward; needs `torch.enable_grad`."""
    needy = [each.clone().requires_grad_() for each in (x, w, weight)]
    gates = [needy[0], x.clone().requires_grad_()]
    heads = [normal(1, 256, 8, 128).requires_grad_() for _ in range(3)]

    def both(function: Callable[..., Any], *given: torch.Tensor) -> Callable[[], Any]:
        gradient = x if given[0].shape == x.shape else torch.randn_like(given[0])

        def call() -> Any:
            with torch.enable_grad():
                return torch.autograd.grad(function(*given), given, gradient)

        return call

    norm = both(lambda a, b: rms_norm(a, b).y, needy[0], needy[2])
    return {
        "gemm, gradients": (both(gemm, *needy[:2]), both(torch.matmul, *needy[:2])),
        "RMSNorm, gradients": (norm, both(lambda a, b: functional.rms_norm(a, (512,), b), needy[0], needy[2])),
        "softmax, gradients": (both(softmax, needy[0]), both(lambda a: torch.softmax(a, -1), needy[0])),
        "SwiGLU, gradients": (both(gated, *gates), both(lambda a, b: functional.silu(a) * b, *gates)),
        "attention, gradients": (
            both(lambda a, b, c: attention(a, b, c, causal=True), *heads),
            both(lambda a, b, c: functional.scaled_dot_product_attention(
                *(each.transpose(1, 2) for each in (a, b, c)), is_causal=True
            ).transpose(1, 2), *heads),
        ),
    }  # fmt: skip


def taken(call: Callable[[], Any]) -> float:
    """Return the microseconds of a call."""
    for _ in range(10):
        call()
    rounds = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        rounds.append((time.perf_counter() - start) / CALLS * 1e6)
    torch.cuda.synchronize()
    return statistics.median(rounds)


def generated() -> None:
    """Print milliseconds of a token, of the model as it is and with cutelite under it."""
    from cutelite.models import accelerate
    from tests.bench import llama

    own, ids, count = llama.made(4).eval(), llama.words(1, 512), 33
    ours = copy.deepcopy(own)
    accelerate(ours)
    how = {"do_sample": False, "pad_token_id": 0, "cache_implementation": "static", "disable_compile": True}

    def took(model: Any, tokens: int) -> float:
        torch.cuda.synchronize()
        start = time.perf_counter()
        model.generate(ids, attention_mask=torch.ones_like(ids), min_new_tokens=tokens, max_new_tokens=tokens, **how)
        torch.cuda.synchronize()
        return time.perf_counter() - start

    for name, model, where in (("as it is", ours, ()), ("planned", ours, ("cuda",)), ("transformers alone", own, ())):
        planned.PLANNED = where
        for _ in range(2):
            took(model, count)
        many, first = (statistics.median(took(model, n) for _ in range(3)) for n in (count, 1))
        print(f"generate, {name}: {1e3 * (many - first) / (count - 1):.2f} ms a token", flush=True)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--generate", action="store_true")
    options = asked.parse_args()
    print(machine())
    print("| us of a call | as it is | planned | torch |\n|---|---|---|---|")
    with torch.no_grad():
        for name, (ours, its) in cases().items():
            planned.PLANNED = ()
            before = taken(ours)
            planned.PLANNED = ("cuda",)
            print(f"| {name} | {before:.1f} | {taken(ours):.1f} | {taken(its):.1f} |", flush=True)
    if options.generate:
        generated()


if __name__ == "__main__":
    main()
