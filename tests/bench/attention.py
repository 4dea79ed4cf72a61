"""Attention on one GPU beside its rivals: ``python tests/bench/attention.py [--only KIND ...] [--svg DIR]``.

Errors to float64 first, then tables. Calls are captured in CUDA graphs, on sets of arrays in turn; contestants take
turns, medians of 9 rounds. Rivals: cuDNN and FlexAttention by torch; FlashAttention-4 and cuDNN's fp8 where they can
be imported.

forward   TFLOP/s of 2 B H S^2 (D + DV), half of it if causal; the batch makes 16384 rows, heads make 2048 columns
fp8       the same, head dim 128, a scale for each head or block
varlen    the same, of the squares of lengths; and a window of 1024 of 16384 keys, causal
masks     the same, of what is seen of 16384 keys, by block masks of torch: documents, a window, a prefix
mods      the same, of functions that are compiled in, beside none
picks     us, of the model's configurations for sizes that it was not fitted to; the one it picks is named
made      us, of scores made against the guess (docs/how-attention-is-computed.md), causal and not
decode    GB/s of keys and values: one query for each of 64 heads, 8 of which share keys, in pages of 64; and in parts
          of what torch's copy of the keys to the values moves, which are as many bytes
latents   us, of DeepSeek's absorbed form, one query for each of so many heads (no rival here has it on this GPU)

``--cells`` takes a part of them, by a regular expression that their names are searched for.
"""

import math
import re
import statistics
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from cutelite.bench.chart import bars
from cutelite.kernels.attention import attention, attention_fp8, attention_varlen, decode, decode_latent
from cutelite.kernels.attention.model import Work, costs, picked
from tests.bench.attention_exact import exact, normal
from tests.bench.attention_functions import blocks, flex, functions
from tests.bench.given import parser
from tests.bench.timing import Replay, machine, medians, off

try:
    from flash_attn.cute import flash_attn_func as flash  # type: ignore[import-not-found]
    from flash_attn.cute import flash_attn_varlen_func as flash_varlen
except ImportError:
    flash = flash_varlen = None
    print("FlashAttention-4 takes no part:", traceback.format_exc())
try:
    from tests.bench import cudnn_fp8
except ImportError as why:
    cudnn_fp8 = None  # type: ignore[assignment]
    print(f"cuDNN's fp8 takes no part, which needs nvidia-cudnn-frontend: {why}")

LENGTHS = 1024, 2048, 4096, 8192, 16384
DIMS = (128, 128), (64, 64), (256, 256), (192, 128), (192, 192)
MIX = 8192, 6100, 4400, 3300, 2800, 2200, 1700, 1500, 1100, 900, 800, 600, 500, 400, 310, 220, 150, 100, 64, 17
SIZES = (
    (1, 200, 200, 16),
    (1, 384, 1500, 24),
    (2, 900, 900, 6),
    (1, 2048, 2048, 8),
    (3, 1300, 1300, 20),
    (1, 6000, 6000, 5),
)
"""Batch, queries, keys and heads that the model was not fitted to."""
DECODED = tuple((batch, keys) for keys in (1024, 4096, 8192, 32768, 131072) for batch in (1, 2, 4, 8, 16, 32, 64, 128))
LATENTS = (1, 1024), (1, 8192), (1, 65536), (2, 4096), (16, 4096), (64, 4096), (128, 2048)


Call = Callable[[int], Any]


class Cell(NamedTuple):
    """A problem: what it is called, its work and the unit of that a second, and who computes it."""

    name: str
    work: float
    unit: str
    calls: dict[str, Call]


def made(batch: int, sq: int, sk: int, heads: int, kv_heads: int, dim: int, dim_v: int) -> list[Any]:
    return [normal(batch, *shape) for shape in ((sq, heads, dim), (sk, kv_heads, dim), (sk, kv_heads, dim_v))]


def cudnn(q: Any, k: Any, v: Any, **how: Any) -> Any:
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)), **how)


def of_sets(sets: list[list[Any]], function: Callable[..., Any], **how: Any) -> Call:
    return lambda i: function(*sets[i % len(sets)], **how)


def forward() -> Iterator[Cell]:
    for dim, dim_v in DIMS:
        for causal in (False, True):
            for length in LENGTHS:
                batch, heads = max(1, 16384 // length), 2048 // dim
                sets = [made(batch, length, length, heads, heads, dim, dim_v) for _ in range(2)]
                calls = {
                    "cutelite": of_sets(sets, attention, causal=causal),
                    "cuDNN": of_sets(sets, cudnn, is_causal=causal),
                }
                if flash is not None:
                    calls["FA4"] = of_sets(sets, flash, causal=causal)
                work = 2 * batch * heads * length**2 * (dim + dim_v) / (2 if causal else 1)
                yield Cell(f"{dim}/{dim_v} {'causal' if causal else 'full'} {length}", work, "TFLOP/s", calls)


def fp8() -> Iterator[Cell]:
    heads, dim = 16, 128
    for causal in (False, True):
        for length in LENGTHS:
            batch = 16384 // length
            sets = [made(batch, length, length, heads, heads, dim, dim) for _ in range(2)]
            low = [[x.to(torch.float8_e4m3fn) for x in arrays] for arrays in sets]
            of_heads = [torch.ones(batch, heads, device="cuda")] * 3
            of_blocks = [torch.ones(batch, heads, length // 128, device="cuda")] * 3
            calls = {
                "cutelite": of_sets([[*x, *of_heads] for x in low], attention_fp8, causal=causal),
                "cutelite, scales of blocks": of_sets([[*x, *of_blocks] for x in low], attention_fp8, causal=causal),
                "cutelite, bf16": of_sets(sets, attention, causal=causal),
                "cuDNN, bf16": of_sets(sets, cudnn, is_causal=causal),
            }
            if cudnn_fp8 is not None:
                calls["cuDNN"] = of_sets(low, cudnn_fp8.attention(low[0], causal))
            work = 4 * batch * heads * length**2 * dim / (2 if causal else 1)
            yield Cell(f"fp8 {'causal' if causal else 'full'} {length}", work, "TFLOP/s", calls)


def varlen() -> Iterator[Cell]:
    total, heads, dim = sum(MIX), 16, 128
    ends = torch.tensor([0, *MIX], device="cuda").cumsum(0).int()
    sets = [[normal(total, heads, dim) for _ in range(3)] for _ in range(2)]
    of = torch.repeat_interleave(torch.arange(len(MIX), device="cuda"), torch.tensor(MIX, device="cuda"))
    for causal in (False, True):
        calls = {"cutelite": of_sets(sets, attention_varlen, cu_seqlens_q=ends, causal=causal)}
        if flash_varlen is not None:
            longest = {"max_seqlen_q": MIX[0], "max_seqlen_k": MIX[0]}
            calls["FA4"] = of_sets(sets, flash_varlen, cu_seqlens_q=ends, cu_seqlens_k=ends, causal=causal, **longest)

        def same(b: Any, h: Any, q: Any, k: Any, causal: bool = causal) -> Any:
            return (of[q] == of[k]) & (q >= k) if causal else of[q] == of[k]

        calls["FlexAttention"] = of_sets([[x[None] for x in arrays] for arrays in sets], flex(total, mask_mod=same))
        work = 4 * heads * dim * sum(n * n for n in MIX) / (2 if causal else 1)
        yield Cell(f"{len(MIX)} lengths from 17 to 8192, {'causal' if causal else 'full'}", work, "TFLOP/s", calls)
    sets = [made(1, 16384, 16384, 16, 16, 128, 128) for _ in range(2)]
    calls = {"cutelite": of_sets(sets, attention, causal=True, window=(1023, None))}
    if flash is not None:
        calls["FA4"] = of_sets(sets, flash, causal=True, window_size=(1023, 0))
    yield Cell("a window of 1024 of 16384", 4 * 16 * 128 * 16384 * 1024, "TFLOP/s", calls)


def masks() -> Iterator[Cell]:
    length = 16384
    each = torch.tensor([5200, 3900, 2600, 1900, 1300, 800, 500, 184], device="cuda")
    of = torch.repeat_interleave(torch.arange(8, device="cuda"), each)
    sets = [made(1, length, length, 16, 16, 128, 128) for _ in range(2)]

    def documents(b: Any, h: Any, q: Any, k: Any) -> Any:
        return (of[q] == of[k]) & (q >= k)

    def window(b: Any, h: Any, q: Any, k: Any) -> Any:
        return (q >= k) & (q - k < 1024)

    def prefix(b: Any, h: Any, q: Any, k: Any) -> Any:
        return (k < 3000) | (q >= k)

    for name, mask_mod in (
        ("documents, causal", documents),
        ("a window of 1024", window),
        ("a prefix of 3000", prefix),
    ):
        mask = blocks(mask_mod, length)
        rows = torch.arange(length, device="cuda")
        seen = sum(int(mask_mod(0, 0, r[:, None], rows[None]).sum()) for r in rows.split(1024))
        calls: dict[str, Call] = {
            "cutelite": of_sets(sets, attention, block_mask=mask),
            "FlexAttention": of_sets(sets, flex(length, mask_mod=mask_mod)),
        }
        if mask_mod is window:
            calls["cutelite, window="] = of_sets(sets, attention, causal=True, window=(1023, None))
        found, want = (calls[name](0) for name in ("cutelite", "FlexAttention"))
        far = off(found, want.double())
        yield Cell(f"{name} of 16384, apart {far:.0e}", 4 * 16 * 128 * seen, "TFLOP/s", calls)


def mods() -> Iterator[Cell]:
    sets = [made(2, 8192, 8192, 16, 16, 128, 128) for _ in range(2)]
    for name, how in functions(16, 8192).items():
        ours, theirs = of_sets(sets, attention, causal=True, **how), of_sets(sets, flex(8192, True, **how))
        calls = {"cutelite": ours, "FlexAttention": theirs}
        yield Cell(f"{name}, causal 8192", 2 * 4 * 16 * 128 * 8192**2 / 2, "TFLOP/s", calls)


def picks() -> Iterator[Cell]:
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
    for dim, dim_v in DIMS:
        for causal in (False, True):
            for batch, sq, sk, heads in SIZES:
                sets = [made(batch, sq, sk, heads, heads, dim, dim_v) for _ in range(2)]
                work = Work(sq, sk, batch * heads, sk - sq, None, 0 if causal else None)
                best = picked(dim, dim_v, work, multiprocessors)
                calls = {
                    f"{c.groups} x {c.columns}{' picked' if c == best else ''}": of_sets(
                        sets, attention, causal=causal, config=c
                    )
                    for c, *_ in costs(dim, dim_v)
                }
                name = f"{dim}/{dim_v} {'causal' if causal else 'full'} {batch} x {sq} x {sk} x {heads}"
                yield Cell(name, 1.0, "us", calls)


def against_guess() -> Iterator[Cell]:
    unit = torch.zeros(128, device="cuda")
    unit[0] = 1.0
    block = (torch.arange(8192, device="cuda") // 128).view(1, 8192, 1, 1) * 30.0
    for kind in ("normal", "falling", "growing", "large", "tails"):
        q, k, v = made(2, 8192, 8192, 16, 16, 128, 128)
        if kind in ("falling", "growing"):
            q, k = 0.1 * q + unit * 128**0.5, 0.1 * k + unit * (block if kind == "growing" else -block)
        elif kind == "large":
            q, k = 30 * q, 30 * k
        elif kind == "tails":
            q, k, v = q**3, k**3, v**3
        sets = [[x.bfloat16() for x in (q, k, v)]]
        for causal in (False, True):
            calls = {"cutelite": of_sets(sets, attention, causal=causal)}
            if flash is not None:
                calls["FA4"] = of_sets(sets, flash, causal=causal)
            yield Cell(f"{kind} {'causal' if causal else 'full'}", 1.0, "us", calls)


def decoded() -> Iterator[Cell]:
    heads, kv_heads, dim, page = 64, 8, 128, 64
    for batch, keys in DECODED:
        bytes = 4 * batch * keys * kv_heads * dim
        torch.cuda.empty_cache()
        if bytes > 0.9 * torch.cuda.mem_get_info()[0]:
            continue
        sets = [made(batch, 1, keys, heads, kv_heads, dim, dim) for _ in range(max(1, min(8, int(4e8 / bytes))))]
        slots = keys // page
        table = torch.randperm(batch * slots, device="cuda", dtype=torch.int32).view(batch, slots)
        told = torch.full((batch,), keys, device="cuda", dtype=torch.int32)
        pages = [[q, *(x.reshape(-1, page, kv_heads, dim) for x in (k, v))] for q, k, v in sets]
        calls = {
            "cutelite": of_sets(sets, decode),
            "cutelite, paged": of_sets(pages, decode, table=table, lengths=told),
            "cuDNN": of_sets(sets, cudnn, enable_gqa=True),
            "copy": of_sets(sets, lambda _, k, v: v.copy_(k)),
        }
        if flash is not None:
            calls["FA4"] = of_sets(sets, flash, causal=False)  # which splits no keys on Hopper
            calls["FA4, paged"] = of_sets(pages, flash_varlen, page_table=table, seqused_k=told)
        yield Cell(f"{batch} x {keys}", bytes, "GB/s", calls)


def latents() -> Iterator[Cell]:
    page = 64
    for heads in (128, 16):
        for batch, keys in LATENTS:
            bytes = 2 * batch * keys * 576
            queries = [normal(batch, 1, heads, 576) for _ in range(max(1, min(8, int(4e8 / bytes))))]
            sets = [[q, normal(batch, keys, 576)] for q in queries]
            table = torch.randperm(batch * keys // page, device="cuda", dtype=torch.int32).view(batch, -1)
            pages = [[q, c.view(-1, page, 576)] for q, c in sets]
            calls = {
                "cutelite": of_sets(sets, decode_latent),
                "cutelite, paged": of_sets(pages, decode_latent, table=table),
            }
            yield Cell(f"{heads} heads {batch} x {keys}", 1.0, "us", calls)


KINDS = {
    "forward": forward, "fp8": fp8, "varlen": varlen, "masks": masks, "mods": mods, "picks": picks,
    "made": against_guess, "decode": decoded, "latents": latents,
}  # fmt: skip


def measured(cell: Cell) -> dict[str, float]:
    """Of each contestant, its rate in the cell's unit; of those that fail, why is printed."""
    trials = {}
    for name, call in cell.calls.items():
        try:
            for i in range(3):
                call(i)
            torch.cuda.synchronize()
            start = time.perf_counter()
            call(0)
            torch.cuda.synchronize()
            each = max(1e-6, time.perf_counter() - start)
            trials[name] = Replay(call, max(2, min(8, int(3e-3 / each))), 3e-3, each)
        except Exception as error:  # a rival that does not do that
            if name.startswith("cutelite"):
                raise
            print(f"  {name} takes no part in {cell.name}: {type(error).__name__}: {str(error)[:200]!r}", flush=True)
    factor = {"TFLOP/s": 1e-12, "GB/s": 1e-9}.get(cell.unit)
    return {name: s * 1e6 if factor is None else cell.work / s * factor for name, s in medians(trials, 9).items()}


def wrong(arrays: list[Any], causal: bool) -> bool:
    q, k, v = arrays
    o, lse = attention(q, k, v, causal=causal, return_lse=True)
    want, sums = exact(q, k, v, causal)
    finite = sums.isfinite()
    alike = bool((lse.isfinite() == finite).all()) and bool((lse - sums)[finite].abs().max() < 1e-4)
    return not (alike and off(o, want) < 4e-3)


def apart(causal: bool) -> float:
    """By how much at most sequences that lie one after the other differ from each by itself, relative to its size."""
    q, k, v = (normal(sum(MIX), heads, 128) for heads in (4, 2, 2))
    ends = torch.tensor([0, *MIX], device="cuda").cumsum(0).int()
    found, most, first = attention_varlen(q, k, v, ends, causal=causal), 0.0, 0
    for length in MIX:
        here = slice(first, first + length)
        want = attention(*(x[None, here] for x in (q, k, v)), causal=causal)[0].double()
        most, first = max(most, off(found[here], want)), first + length
    return most


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    asked.add_argument("--cells", type=re.compile, default=re.compile(""), help="a regular expression of names")
    asked.add_argument("--unchecked", action="store_true", help="compute no errors first")
    asked.add_argument("--seconds", type=float, default=math.inf, help="begin no cell after so long")
    asked.add_argument("--svg", type=Path, help="where to put pictures")
    given, start = asked.parse_args(), time.perf_counter()
    torch.manual_seed(1)
    print(machine(), "cuDNN", torch.backends.cudnn.version())
    if not given.unchecked:
        sizes = (1024, 1024, 4, 4), (777, 1333, 8, 2), (500, 300, 2, 1), (1, 4000, 4, 1)
        bad = [(d, s, c) for d in (*DIMS, (96, 96)) for s in sizes for c in (False, True) if wrong(made(2, *s, *d), c)]
        print("wrong:", bad or "none", "apart:", *(f"{apart(causal):.0e}" for causal in (False, True)))
    for kind in given.only:
        groups, missed = [], []
        for cell in KINDS[kind]():
            if time.perf_counter() - start > given.seconds:
                print("out of time")
                return
            if not given.cells.search(cell.name):
                continue
            rates = measured(cell)
            groups.append((cell.name.replace(" ", "\n"), rates))
            missed += [rate / min(rates.values()) for name, rate in rates.items() if name.endswith(" picked")]
            ours = [name for name in rates if "copy" in rates and name.startswith("cutelite")]
            print(
                f"{cell.name}: {', '.join(f'{name} {rate:.0f}' for name, rate in rates.items())} {cell.unit}",
                *(f"{name} {rates[name] / rates['copy']:.2f} of the copy" for name in ours),
                flush=True,
            )
        if missed:
            print(f"picks take {statistics.mean(missed):.3f} of the best in the mean, {max(missed):.3f} at most")
        if given.svg is not None:
            given.svg.mkdir(parents=True, exist_ok=True)
            unit = {"decode": "GB/s", "made": "us", "picks": "us", "latents": "us"}.get(kind, "TFLOP/s")
            (given.svg / f"attention-{kind}.svg").write_text(bars(f"Attention, {kind}", unit, groups))


if __name__ == "__main__":
    main()
