"""Layers of an 8B Llama under cutelite, beside torch.compile of the same model: prefill, decode, training.

    python tests/bench/llama.py [prefill decode train packed host generate] [--layers 2] [--rivals torch flex]

Weights are random, sizes are Llama 3's. Prefill and decode run the layers, embedding and last norm, without the head of
words, in CUDA graphs that are replayed in turns; with `--whole` also the head, for the last token, and prefill fills a
static cache. Training runs all of the model, launched by the host and as a CUDA graph, in windows of at least eight
steps, of which only the first finds the GPU idle; `packed` does so with `DOCUMENTS` in each row of tokens, beside
transformers' own layers by torch's attention and by FlexAttention. Times are medians. `host` is the time that it takes
the host to launch decoding of one sequence without a graph, and `generate` that of a token of `model.generate` behind a
static cache, which transformers compiles, head included, both beside transformers' own layers. The rivals are the same
model under torch.compile, without graphs of its own:

torch         mode "default"; attention at its best: cuDNN's or flash attention, causality by flag, keys not repeated
              for the queries that share them. In decoding it is told how many keys the cache has, and needs no mask
tuned         the same, mode "max-autotune"
flex          mode "max-autotune", FlexAttention in decoding, whose block mask is made beforehand
transformers  mode "max-autotune", attention as transformers calls it
bursts        cutelite, with GEMMs picked as if the card had no limit of power
halves        cutelite in bf16, beside cutelite with dense layers in fp8 with block scales: no training

`--profile` prints for each side which kernels take the time. `--compile` stops where everything is compiled.
"""

import copy
import functools
import json
import math
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.finegrained_fp8 import FP8Linear

import cutelite as cl
from cutelite.kernels.gemm import dense
from cutelite.kernels.gemm import model as gemm_model
from cutelite.models import accelerate
from tests.bench.given import parser
from tests.bench.timing import graph, lasting, medians, off

SIZES: dict[str, Any] = {
    "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": 128, "vocab_size": 128256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0, "tie_word_embeddings": False,
}  # fmt: skip
PREFILL, TRAIN, STEPS = ((1, 8192), (4, 4096)), (4, 4096), 8
DECODE, CONTEXT = (1, 8, 64), 4096
DOCUMENTS = 1700, 900, 300, 1196
"""Tokens of the documents that are packed into a row."""
RIVALS = {
    "torch": ("default", "best"), "tuned": ("max-autotune-no-cudagraphs", "best"),
    "flex": ("max-autotune-no-cudagraphs", "flex"), "transformers": ("max-autotune-no-cudagraphs", "sdpa"),
}  # fmt: skip
"""Their mode of torch.compile, and their attention."""
FAST = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def made(layers: int, kind: str = "Llama") -> Any:
    """A model of random weights on the GPU."""
    torch.manual_seed(0)
    with torch.device("cuda"):
        config = getattr(transformers, f"{kind}Config")(**SIZES, num_hidden_layers=layers)
        return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)


def in_fp8(model: Any) -> Any:
    """The model with its decoder layers' dense layers in e4m3, a scale for each 128 x 128, as `transformers` has it."""
    for layer in list(model.model.layers.modules()):
        for name, part in list(layer.named_children()):
            if type(part) is torch.nn.Linear:
                with torch.device("cuda"):
                    found = FP8Linear(part.in_features, part.out_features, block_size=(128, 128))
                blocks = part.weight.detach().float().unflatten(0, (-1, 128)).unflatten(2, (-1, 128))
                scales = blocks.abs().amax((1, 3)) / 448
                narrow = (blocks / scales[:, None, :, None]).flatten(2).flatten(0, 1).to(torch.float8_e4m3fn)
                for what, x in ("weight", narrow), ("weight_scale_inv", scales):
                    setattr(found, what, torch.nn.Parameter(x, requires_grad=False))
                setattr(layer, name, found)
    return model


def words(batch: int, tokens: int) -> Any:
    """The same for both sides."""
    generator = torch.Generator("cuda").manual_seed(tokens)
    return torch.randint(0, SIZES["vocab_size"], (batch, tokens), device="cuda", generator=generator)


def best_attention(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, dropout: float = 0.0,
    scaling: float | None = None, **more: Any,
) -> tuple[Any, None]:  # fmt: skip
    """torch's attention, without masks where it can be.

    One query sees the first `CONTEXT` keys of a cache, several those that they put into it.
    """
    tokens = query.shape[2]
    seen = CONTEXT if tokens == 1 else tokens
    key, value = key[:, :, :seen], value[:, :, :seen]
    causal = attention_mask is None and tokens > 1
    out = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=attention_mask, scale=scaling, is_causal=causal, enable_gqa=True
    )
    return out.transpose(1, 2).contiguous(), None


def no_mask(*given: Any, **more: Any) -> None:
    """Of attention that knows what it sees."""


def flex(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float | None = None, **more: Any
) -> tuple[Any, None]:  # fmt: skip
    """FlexAttention, which torch.compile makes a kernel of."""
    out = flex_attention(query, key, value, block_mask=attention_mask, scale=scaling, enable_gqa=True)
    return out.transpose(1, 2).contiguous(), None


KINDS: Any = {"dtype": torch.bfloat16, "device": torch.device("cuda")}


def empty_cache(model: Any, batch: int, tokens: int, parts: int = 1) -> Any:
    """A static cache for that many tokens and 64 more, of whose heads the model has a part."""
    cache = transformers.StaticCache(config=model.config, max_cache_len=tokens + 64)
    cache.early_initialization(batch, SIZES["num_key_value_heads"] // parts, SIZES["head_dim"], **KINDS)
    return cache


def behind(cache: Any, tokens: int) -> Any:
    """The cache, which holds that many tokens now."""
    for layer in cache.layers:
        layer.cumulative_length.fill_(tokens)
    return cache


def prefill(model: Any, batch: int, tokens: int, whole: bool = False) -> Callable[[int], Any]:
    """The last layer's output; of a whole model logits of each sequence's next token, and a cache of the others."""
    ids = words(batch, tokens)
    if not whole:
        return lambda i: model.model(ids, use_cache=False).last_hidden_state
    cache = empty_cache(model, batch, tokens)
    return lambda i: model(ids, past_key_values=behind(cache, 0), logits_to_keep=1).logits


def decode(model: Any, batch: int, parts: int = 1, part: int = 0, whole: bool = False) -> Callable[[int], Any]:
    """One token more of each sequence, behind a context in a static cache; of a whole model its logits."""
    cache = empty_cache(model, batch, CONTEXT, parts)
    heads = SIZES["num_key_value_heads"]
    generator = torch.Generator("cuda").manual_seed(batch)
    for layer in cache.layers:
        for mine in (layer.keys, layer.values):
            every = torch.empty((batch, heads, *mine.shape[2:]), **KINDS).normal_(generator=generator)
            mine.copy_(every.chunk(parts, 1)[part])
    ids, more = words(batch, 1), {}
    if model.config._attn_implementation == "flex":
        last = torch.full((), CONTEXT - 1, device="cuda")
        mask = create_block_mask(lambda b, h, q, k: k <= last, None, None, 1, CONTEXT + 64, device="cuda")
        more["attention_mask"] = mask

    def step(i: int) -> Any:
        held = behind(cache, CONTEXT - 1)
        if whole:
            return model(ids, past_key_values=held, **more).logits
        return model.model(ids, past_key_values=held, **more).last_hidden_state

    return step


def generated(name: str, model: Any, batch: int) -> None:
    """Print what a token of `generate` takes: the difference of 256 new ones and 32, the least of some rounds."""
    ids = words(batch, 512)

    def seconds(new: int) -> float:
        torch.cuda.synchronize()
        start = time.perf_counter()
        model.generate(ids, do_sample=False, min_new_tokens=new, max_new_tokens=new, cache_implementation="static")
        torch.cuda.synchronize()
        return time.perf_counter() - start

    torch.compiler.reset()
    first = seconds(32)
    token = (min(seconds(256) for _ in range(3)) - min(seconds(32) for _ in range(3))) / (256 - 32)
    print(f"generate {batch:<4} {name:14} {1e3 * token:8.3f} ms a token, the first call {first:.1f} s", flush=True)


def train(model: Any, packed: bool = False) -> Callable[[int], Any]:
    ids, more = words(*TRAIN), {}
    if packed:
        places = torch.cat([torch.arange(n, device="cuda") for n in DOCUMENTS])
        more["position_ids"] = places.expand(len(ids), -1)

    def step(i: int) -> Any:
        for parameter in model.parameters():
            parameter.grad = None
        loss = model(ids, labels=ids, use_cache=False, **more).loss
        loss.backward()
        return loss.detach()

    return step


class Counted(TorchDispatchMode):  # type: ignore[misc]
    """Counts the operators that are called within, ours and torch's."""

    ours, others = 0, 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        mine = function.namespace == "cutelite"
        self.ours, self.others = self.ours + mine, self.others + (not mine)
        return function(*args, **kwargs or {})


def hosted(name: str, call: Callable[[int], Any], rounds: int = 30) -> None:
    """Print the median of the milliseconds until the host has launched all of a call, and its operators."""
    times = []
    for i in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call(i)
        times.append(time.perf_counter() - start)
    with Counted() as counted:
        call(0)
    took = 1e3 * statistics.median(times[rounds // 3 :])
    print(f"host, {name}: {took:.2f} ms; operators {counted.ours} of ours, {counted.others} others", flush=True)


def kernels_of(call: Callable[[], Any]) -> dict[str, float]:
    """Microseconds by kernel of a call, and with nothing on the GPU ahead of it; while two overlap, of the first.

    Keys begin with how many there were.
    """
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        call()
        torch.cuda.synchronize()
    found: dict[str, float] = defaultdict(float)
    count: dict[str, int] = defaultdict(int)
    on_gpu = [event for event in seen.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    over = min(event.time_range.start for event in on_gpu)
    for event in sorted(on_gpu, key=lambda event: event.time_range.start):
        start, end = max(over, event.time_range.start), event.time_range.end
        for name, us in ((f"(nothing ahead of {event.name[:48]})", start - over), (event.name[:72], end - start)):
            found[name] += max(0.0, us)
            count[name] += 1
        over = max(over, end)
    return {f"{count[name]:4} {name}": us for name, us in sorted(found.items(), key=lambda row: -row[1])}


def peak(call: Callable[[int], Any]) -> float:
    """GB allocated at the peak of a call, weights included."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    call(0)
    torch.cuda.synchronize()
    return float(torch.cuda.max_memory_allocated()) / 1e9


def by_bursts(call: Callable[[int], Any]) -> Callable[[int], Any]:
    """The call with GEMMs picked as if the card had no limit of power."""
    picks: dict[Any, Any] = {}

    def picked(i: int) -> Any:
        with mock.patch.object(gemm_model, "WATTS", math.inf), mock.patch.object(dense.picks, "known", picks):
            return call(i)

    return picked


def compared(case: str, calls: dict[str, Callable[[int], Any]], options: Any, graphs: bool = True) -> None:
    """Print the times of one case."""
    if "bursts" in options.rivals:
        calls = {"bursts": by_bursts(calls["cutelite"])} | calls
    trials: dict[str, Callable[[], float]] = {}
    results, memory = {}, {}
    for name, call in calls.items():
        start = time.perf_counter()
        try:
            if options.tuned and name == "cutelite":
                cl.warm(functools.partial(call, 0), tune=True)
            out = call(0)
            torch.cuda.synchronize()
            first = time.perf_counter() - start
            results[name] = out.float().clone()
            del out
            call(0)
            memory[name] = peak(call)
            if options.compile:
                print(f"  {name}: first call {first:.1f} s", flush=True)
                continue
            start = time.perf_counter()
            call(0)
            torch.cuda.synchronize()
            steps = 2 * STEPS if case.startswith("train") else 0
            seconds = max(options.seconds, steps * (time.perf_counter() - start))
            if graphs:
                captured = graph(call, 1, options.repeats)
                trials[name] = functools.partial(lasting, captured.replay, seconds, options.repeats, options.agreed)
            else:
                trials[name] = functools.partial(lasting, functools.partial(call, 0), seconds)
            if options.profile:
                rows = kernels_of(captured.replay if graphs else functools.partial(call, 0))
                print(f"  {name}: {sum(rows.values()):.0f} us in kernels of {options.repeats if graphs else 1} calls")
                for kernel, us in list(rows.items())[: options.rows]:
                    print(f"    {us:9.1f}  {kernel}")
            print(f"  {name}: first call {first:.1f} s, peak {memory[name]:.2f} GB", flush=True)
        except Exception as error:  # the other side's figures are still wanted
            print(f"  {name} FAILED: {type(error).__name__}: {str(error)[:600]}", flush=True)
    if not trials:
        return
    times = medians(trials, options.rounds)
    line = f"{case:24}" + "".join(f"  {name} {1e3 * t:9.4f} ms" for name, t in times.items())
    if len(times) > 1 and "cutelite" in times:
        rivals = [name for name in times if name not in ("cutelite", "bursts")] or ["bursts"]
        best = min(rivals, key=times.__getitem__)
        line += f"  ratio {times[best] / times['cutelite']:.3f}  differ {off(results['cutelite'], results[best]):.2e}"
        line += f"  memory {memory['cutelite'] / memory[best]:.3f}"
    print(line, flush=True)
    options.found[case] = times | {f"peak {k}": v for k, v in memory.items()}


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("what", nargs="*", default=["prefill", "decode", "train"])
    asked.add_argument("--batches", type=int, nargs="+", default=[1, 4, 8, 64], help="those of prefill and decode")
    asked.add_argument("--layers", type=int, default=2)
    asked.add_argument("--whole", action="store_true", help="logits too, and prefill fills a static cache")
    asked.add_argument("--kind", default="Llama", help="another architecture of these sizes, such as Qwen2")
    asked.add_argument("--rounds", type=int, default=5)
    asked.add_argument("--repeats", type=int, default=4)
    asked.add_argument("--seconds", type=float, default=0.5, help="of a window, whose second half counts")
    asked.add_argument("--rows", type=int, default=14, help="kernels that --profile prints")
    asked.add_argument("--profile", action="store_true")
    asked.add_argument("--compile", action="store_true", help="run each side once, and time nothing")
    asked.add_argument("--tuned", action="store_true", help="measure our GEMMs' configurations first")
    asked.add_argument("--rivals", nargs="*", default=["torch"], choices=[*RIVALS, "bursts", "halves"])
    options = asked.parse_args()
    options.found, options.agreed = {}, int
    torch._dynamo.config.recompile_limit = 64
    ours = made(options.layers, options.kind)
    sides = {"cutelite": ours}
    for name, attention in ("best", best_attention), ("flex", flex):
        AttentionInterface.register(name, attention)
        AttentionMaskInterface.register(name, no_mask)
    for name in filter(RIVALS.__contains__, options.rivals):
        mode, its_attention = RIVALS[name]
        its = sides[name] = copy.deepcopy(ours)
        its.set_attn_implementation(its_attention)
        (its if options.whole or options.what == ["train"] else its.model).compile(mode=mode, dynamic=False)
    own = copy.deepcopy(ours).eval() if {"host", "generate", "packed"} & set(options.what) else None
    if "halves" in options.rivals:
        sides["halves"] = copy.deepcopy(ours)
        accelerate(sides["halves"])
        in_fp8(ours)
    print(accelerate(ours), flush=True)
    with sdpa_kernel(FAST, set_priority=True):
        for model in sides.values():
            model.eval()
        with torch.no_grad():
            if "prefill" in options.what:
                for batch, tokens in [case for case in PREFILL if case[0] in options.batches]:
                    able = {name: model for name, model in sides.items() if name != "flex"}
                    calls = {name: prefill(model, batch, tokens, options.whole) for name, model in able.items()}
                    compared(f"prefill {batch} x {tokens}", calls, options)
            if "host" in options.what:
                hosted("cutelite", decode(ours, 1))
                hosted("transformers", decode(own, 1))
            if "generate" in options.what:
                for batch, name in product(options.batches, ("cutelite", "transformers")):
                    generated(name, ours if name == "cutelite" else own, batch)
            if "decode" in options.what:
                for batch in [batch for batch in DECODE if batch in options.batches]:
                    calls = {name: decode(model, batch, whole=options.whole) for name, model in sides.items()}
                    compared(f"decode {batch}", calls, options)
        if "packed" in options.what:
            packs = {"cutelite": ours, "sdpa": copy.deepcopy(own), "flex_attention": own}
            for name, model in packs.items():
                if model is not ours:
                    model.set_attn_implementation(name)
                model.train()
            calls = {name: train(model, packed=True) for name, model in packs.items()}
            compared("packed 4 x 4096, launched", calls, options, graphs=False)
        if "train" in options.what:
            for model in sides.values():
                model.train()
            calls = {name: train(model) for name, model in sides.items() if name != "flex"}
            compared("train 4 x 4096, launched", calls, options, graphs=False)
            options.repeats = 1
            compared("train 4 x 4096", calls, options)
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "llama.json").write_text(json.dumps(options.found))


if __name__ == "__main__":
    main()
