"""A block of experts of Qwen3-30B-A3B's sizes: cutelite beside the eager experts and torch's grouped_mm path.

    python tests/bench/moe.py [16 64 ... tokens] [--compile] [--parts]

128 experts, 8 for each token, hidden 2048, inner 768, random weights and tokens; the router is part of the block. All
but the eager experts, which wait for the GPU, are captured in CUDA graphs and replayed in turns. `--compile` adds the
grouped_mm path under torch.compile; `--parts` times the kernels of the block one by one.
"""

import copy
import functools
from collections.abc import Callable
from typing import Any

import torch
import transformers
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeSparseMoeBlock

import cutelite as cl
from cutelite.kernels.moe import combine, experts, grouped, narrow, route, scaled_experts, sort
from cutelite.models import accelerate
from cutelite.models.experts import register
from tests.bench.given import parser
from tests.bench.timing import graph, in_turns, medians, off, timed

TOKENS = (16, 64, 256, 1024, 4096, 8192)
SIZES = {
    "hidden_size": 2048, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
    "norm_topk_prob": True,
}  # fmt: skip


def made() -> Any:
    """A block of random weights on the GPU."""
    torch.manual_seed(0)
    with torch.device("cuda"):
        block = Qwen3MoeSparseMoeBlock(transformers.Qwen3MoeConfig(**SIZES)).to(torch.bfloat16)
        for parameter in block.parameters():
            parameter.data.normal_(std=parameter.shape[-1] ** -0.5)
    return block.eval()


def of_kind(block: Any, kind: str) -> Any:
    """The same block, whose experts are computed in one of the ways that `transformers` knows."""
    config = copy.copy(block.experts.config)
    config._experts_implementation = kind
    found = copy.copy(block)
    found._modules = dict(block._modules)
    found.experts = copy.copy(block.experts)
    found.experts.config = config
    return found


def only(call: Callable[[], Any]) -> Callable[[int], Any]:
    """A call that is asked for by number, whichever it is."""
    return lambda i: call()


def parts(block: Any, x: Any) -> dict[str, Callable[[int], Any]]:
    """The kernels of a block by themselves."""
    e, tokens, k = SIZES["num_experts"], len(x), SIZES["num_experts_per_tok"]
    up, down = block.experts.gate_up_proj.data, block.experts.down_proj.data
    logits = x @ block.gate.weight.T
    weights, index = route(logits, k)
    rows, place, ends = sort(index, e)
    gated, found = x.new_empty((tokens * k, down.shape[2])), x.new_empty((tokens * k, x.shape[1]))
    calls: dict[str, Callable[[int], Any]] = {
        "route": lambda i: route(logits, k),
        "sort": lambda i: sort(index, e),
        "combine": lambda i: combine(found, place, weights),
    }
    configs = {
        "128x256": grouped.Config(), "128x256s5": grouped.Config(swizzle=4, behind=2),
        "64x256": grouped.Config((64, 256), True, 5), "64x256b2": grouped.Config((64, 256), True, 5, behind=2),
        "64x128": grouped.Config((64, 128), True, 8, behind=3), "128x128": grouped.Config((128, 128), stages=6),
    }  # fmt: skip
    for name, config in configs.items():
        first: Any = functools.partial(grouped.run, grouped.Problem(cl.bf16, True, True), x, up, ends, gated, rows)
        second: Any = functools.partial(grouped.run, grouped.Problem(cl.bf16), gated, down, ends, found)
        calls[f"gather+gate {name}"] = only(functools.partial(first, config=config))
        calls[f"down {name}"] = only(functools.partial(second, config=config))
    for kind in "e2m1", "i4":  # weights are any numbers
        shapes = [(e, -(-n // 64), -(-width // 128)) for n, width in (up.shape[1:], down.shape[1:])]
        size = narrow.Problem(kind, 32).size
        packed = [torch.randint(0, 1 << 30, (*shape, size), device=x.device, dtype=torch.int32) for shape in shapes]
        calls[f"all, {kind}"] = only(
            functools.partial(narrow.narrow_experts, x, packed[0], packed[1], index, weights, kind, inner=down.shape[2])
        )
    eights = [torch.randn(w.shape, device=x.device).to(torch.float8_e4m3fn) for w in (up, down)]
    scales = [torch.rand(e, *(-(-n // 128) for n in w.shape[1:]), device=x.device) / 32 for w in (up, down)]
    calls["all, e4m3"] = lambda i: scaled_experts(x, eights[0], scales[0], eights[1], scales[1], index, weights)
    calls["all, bf16"] = lambda i: experts(x, up, down, index, weights)
    if hasattr(torch, "_grouped_mm"):
        calls["torch up"] = lambda i: torch._grouped_mm(x[rows.long()], up.transpose(1, 2), offs=ends)
        calls["torch down"] = lambda i: torch._grouped_mm(gated, down.transpose(1, 2), offs=ends)
    return calls


def by_graphs(calls: dict[str, Callable[[int], Any]], count: int) -> dict[str, float]:
    """Seconds of each, from CUDA graphs replayed in turns; those that fail are left out, and named."""
    trials = {}
    for name, call in calls.items():
        try:
            captured = graph(call, 1, 8)
            trials[name] = lambda captured=captured: timed(captured, 8)
        except Exception as error:
            print(f"  {name} FAILED: {type(error).__name__}: {str(error)[:300]}", flush=True)
            torch.cuda.synchronize()
    return medians(trials, count)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("tokens", type=int, nargs="*", default=TOKENS)
    asked.add_argument("--compile", action="store_true")
    asked.add_argument("--parts", action="store_true")
    asked.add_argument("--rounds", type=int, default=7)
    options = asked.parse_args()
    block = made()
    register()
    eager, theirs = of_kind(block, "eager"), of_kind(block, "grouped_mm")
    ours = of_kind(copy.deepcopy(block), "cutelite")
    print(accelerate(ours), flush=True)
    compiled = torch.compile(of_kind(block, "grouped_mm"), dynamic=False) if options.compile else None
    with torch.no_grad():
        for tokens in options.tokens:
            x = torch.randn(1, tokens, SIZES["hidden_size"], device="cuda", dtype=torch.bfloat16)
            sides = {"cutelite": ours, "grouped_mm": theirs}
            if compiled is not None:
                sides["compiled"] = compiled
            right = of_kind(block, "eager")(x)
            times = by_graphs({name: only(functools.partial(side, x)) for name, side in sides.items()}, options.rounds)
            times["eager"] = in_turns([functools.partial(eager, x)], 3)[0]
            mine = times["cutelite"]
            line = "  ".join(f"{name} {1e6 * t:8.1f} us ({t / mine:.2f})" for name, t in times.items())
            print(f"{tokens:5} tokens  {line}  differ {off(ours(x), right):.1e}", flush=True)
            if options.parts:
                for name, t in by_graphs(parts(block, x[0]), options.rounds).items():
                    print(f"        {name:28}{1e6 * t:9.1f} us", flush=True)


if __name__ == "__main__":
    main()
