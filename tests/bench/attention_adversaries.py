"""Attention of inputs made against it, on one GPU.

    python tests/bench/attention_adversaries.py [--only KIND ...] [--seed N]

Errors are relative to results in float64, by the norm of all outputs and by the worst row, beside those of torch's
kernels (flash and cuDNN) and FlashAttention-4's, where it can be imported. A case is WRONG where ours is more
than 1.1 times the greatest of these by the norm, or 1.5 times by the worst row, where more NaN and infinities are
astray from float64's, or where logsumexps are off.

scores    normal, uniform, tails, growing, falling, one jump by 2^20, equal, large; head dims 64, 128, 256
specials  NaN and infinities in queries, keys and values
shapes    lengths of 1 and 100000, more queries than keys, batches of 1000, strides with gaps, packed arrays
ragged    sequences of any lengths, empty ones too, beside NaN that none of them sees
pages     decoding of caches in pages of 8 to 256 keys, odd ones too, lengths of 0 and 1, NaN behind the last key
backward  gradients for the scores above, and the same bits again where `deterministic`
cost      time of the scores above, of that of normal ones
"""

import functools
import math
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import cutelite as cl
from cutelite.kernels.attention import (
    attention,
    attention_backward,
    attention_varlen,
    decode,
)
from tests.bench.attention_exact import exact, gradients, normal
from tests.bench.given import parser
from tests.bench.timing import machine

try:
    from flash_attn.cute import flash_attn_func as flash  # type: ignore[import-not-found]
except ImportError:
    flash = None
    print("FlashAttention-4 takes no part:", traceback.format_exc())

SCORES = "normal", "uniform", "tails", "growing", "falling", "jump", "equal", "large"
MORE = 1.1, 1.5
"""Times the greatest error of rivals: by the norm, and of the worst row."""
LENGTHS = 0, 5, 0, 0, 130, 1, 0, 700, 64, 0, 257, 0


class Errors(NamedTuple):
    """Of outputs, relative: of all by the norm, and of the worst row by the greatest of its numbers."""

    norm: float
    row: float


def made(kind: str, length: int, heads: int, dim: int, batch: int = 1) -> list[Any]:
    """Queries, keys and values (B, S, H, D) whose scores are of a kind; blocks come from the last keys to the first."""
    q, k, v = (normal(batch, length, heads, dim).float() for _ in range(3))
    unit = torch.zeros(dim, device="cuda")
    unit[0] = dim**0.5
    place = torch.arange(length, device="cuda").view(1, length, 1, 1)
    if kind == "uniform":
        q, k, v = (torch.rand_like(x) for x in (q, k, v))
    elif kind == "tails":
        q, k, v = q**3, k**3, v**3
    elif kind in ("growing", "falling"):
        step = 30 if kind == "growing" else -30
        q, k = 0.1 * q + unit, 0.1 * k + unit / dim**0.5 * (place // 64) * step
    elif kind == "jump":
        q, k = 0.1 * q + unit, 0.1 * k + unit / dim**0.5 * (place == length // 3) * 2.0**20
    elif kind == "equal":
        q, k = torch.ones_like(q), torch.ones_like(k)
    elif kind == "large":
        q, k = 30 * q, 30 * k
    return [x.bfloat16() for x in (q, k, v)]


def sdpa(backend: SDPBackend) -> Callable[..., Any]:
    def call(q: Any, k: Any, v: Any, causal: bool) -> Any:
        with sdpa_kernel(backend):
            arrays = (x.transpose(1, 2) for x in (q, k, v))
            found = torch.nn.functional.scaled_dot_product_attention(*arrays, is_causal=causal)
        return found.transpose(1, 2)

    return call


def of_flash(q: Any, k: Any, v: Any, causal: bool) -> Any:
    found = flash(q, k, v, causal=causal)
    return found[0] if isinstance(found, tuple) else found


def rivals() -> dict[str, Callable[..., Any]]:
    """Of equal lengths: torch's mask begins at the first key."""
    found = {"torch flash": sdpa(SDPBackend.FLASH_ATTENTION), "cuDNN": sdpa(SDPBackend.CUDNN_ATTENTION)}
    if flash is not None:
        found["FA4"] = of_flash
    return found


def errors(found: Any, want: Any) -> Errors:
    """Errors where both have numbers."""
    found, finite = found.double(), want.isfinite() & found.isfinite()
    apart, want = torch.where(finite, found - want, 0.0), torch.where(finite, want, 0.0)
    row = apart.abs().amax(-1) / want.abs().amax(-1).clamp(min=1e-30)
    norm, row = apart.norm() / want.norm().clamp(min=1e-30), torch.where(apart.abs().amax(-1) > 0, row, 0.0)
    return Errors(float(norm), float(row.max()))


def astray(found: Any, want: Any) -> int:
    """How many numbers are NaN or infinite where float64 has something else, or the other way round."""
    found = found.double()
    alike = (found == want) | (found.isnan() & want.isnan()) | (found.isfinite() & want.isfinite())
    return int((~alike).sum())


def told(errors: Errors) -> str:
    return f"{errors.norm:.1e}/{errors.row:.1e}"


wrong: list[str] = []


def report(name: str, bad: bool, text: str) -> None:
    if bad:
        wrong.append(name)
    print(f"{'WRONG ' if bad else ''}{name}: {text}", flush=True)


def judge(name: str, found: Any, want: Any, lse: Any, sums: Any, others: dict[str, Any], most: float = 4e-3) -> None:
    """Report outputs and logsumexps beside rivals' outputs; without any, errors are at most `most`."""
    ours, theirs = errors(found, want), {n: errors(x, want) for n, x in others.items() if x is not None}
    limits = [more * max(x[i] for x in theirs.values()) for i, more in enumerate(MORE)] if theirs else [most, math.inf]
    finite = sums.isfinite()
    off = float(torch.where(finite, (lse.double() - sums).abs() / sums.abs().clamp(min=1.0), 0.0).max())
    lost = astray(found, want), astray(lse, sums)
    allowed = min((astray(x, want) for x in others.values()), default=0)
    worse = any(x > limit for x, limit in zip(ours, limits, strict=True))
    bad = worse or lost[0] > allowed or lost[1] > 0 or not off < 1e-4
    text = ", ".join(f"{n} {told(x)} ({astray(others[n], want)} astray)" for n, x in theirs.items())
    report(name, bad, f"{told(ours)}, {lost[0]} + {lost[1]} astray, logsumexp {off:.0e}; {text}")


def others(q: Any, k: Any, v: Any, causal: bool) -> dict[str, Any]:
    found = {}
    for name, call in rivals().items():
        try:
            found[name] = call(q, k, v, causal)
        except Exception as error:  # a rival that does not do that
            print(f"  {name} takes no part: {type(error).__name__}: {str(error)[:100]!r}")
    return found


def scores(dims: list[int]) -> None:
    for dim in dims:
        for kind in SCORES:
            for causal in (False, True):
                q, k, v = made(kind, 1111, 2, dim)
                o, lse = attention(q, k, v, causal=causal, return_lse=True)
                want, sums = exact(q, k, v, causal)
                name = f"scores {kind} {dim} {'causal' if causal else 'full'}"
                judge(name, o, want, lse, sums, others(q, k, v, causal))


def specials(dims: list[int]) -> None:
    for causal in (False, True):
        for name, which, value in (
            ("NaN in a query", 0, math.nan),
            ("NaN in a key", 1, math.nan),
            ("inf in a key", 1, math.inf),
            ("-inf in a key", 1, -math.inf),
            ("inf in a query", 0, math.inf),
            ("NaN in a value", 2, math.nan),
            ("inf in a value", 2, math.inf),
        ):
            q, k, v = arrays = made("normal", 700, 2, 128)
            arrays[which][0, 333, 1, 7] = value
            o, lse = attention(q, k, v, causal=causal, return_lse=True)
            want, sums = exact(q, k, v, causal)
            judge(f"{name}, {'causal' if causal else 'full'}", o, want, lse, sums, others(q, k, v, causal))
    q, k, v = made("normal", 500, 1, 128)
    q[..., 0], k[..., 0] = 1.0, 0.0
    k[0, ::2, 0, 0] = -math.inf  # scores of half the keys are -inf, in whole blocks too
    k[0, 128:384, 0, 0] = -math.inf
    o, lse = attention(q, k, v, return_lse=True)
    want, sums = exact(q, k, v)
    judge("scores of -inf", o, want, lse, sums, others(q, k, v, False))


def shapes(dims: list[int]) -> None:
    for sq, sk, heads in ((1, 1, 2), (1, 100000, 2), (100000, 1, 1), (100000, 100000, 1), (3, 129, 2), (1000, 77, 2)):
        for causal in (False, True):
            q, k, v = normal(1, sq, heads, 128), normal(1, sk, heads, 128), normal(1, sk, heads, 128)
            rows = torch.linspace(0, sq - 1, min(sq, 200), device="cuda").long()
            o, lse = attention(q, k, v, causal=causal, return_lse=True)
            want, sums = exact(q, k, v, causal, rows)
            theirs = others(q, k, v, causal) if sq == sk else {}
            at = {n: x[:, rows] for n, x in theirs.items()}
            name = f"{sq} queries, {sk} keys, {'causal' if causal else 'full'}"
            judge(name, o[:, rows], want, lse[:, :, rows], sums, at)
    for sq, sk in ((1, 1), (33, 65), (130, 7)):
        q, k, v = normal(1000, sq, 2, 64), normal(1000, sk, 1, 64), normal(1000, sk, 1, 64)
        o, lse = attention(q, k, v, causal=True, return_lse=True)
        want, sums = exact(q, k, v, True)
        judge(f"1000 sequences of {sq} queries and {sk} keys", o, want, lse, sums, {})
    wide = [normal(2, 300 + 5, 4 + 1, 128 + 8)[:, :300, :4, :128] for _ in range(3)]
    qkv = normal(2, 300, 3, 4, 128)
    swapped = [normal(2, 4, 300, 128).transpose(1, 2) for _ in range(3)]
    for name, arrays in (("gaps in every stride", wide), ("packed", list(qkv.unbind(2))), ("heads first", swapped)):
        o, lse = attention(*arrays, causal=True, return_lse=True)
        q, k, v = arrays
        want, sums = exact(q, k, v, True)
        judge(f"strides: {name}", o, want, lse, sums, others(q, k, v, True))


def starts(lengths: Any) -> Any:
    return torch.tensor([0, *lengths], device="cuda").cumsum(0).int()


def ragged(dims: list[int]) -> None:
    many = [int(x) for x in torch.randint(0, 41, (1000,), generator=torch.Generator().manual_seed(0))]
    for name, ends, lengths in (
        ("12 lengths, 6 of them 0", LENGTHS, LENGTHS),
        ("keys of other lengths, some 0", LENGTHS, (7, 0, 3, 0, 200, 0, 0, 650, 64, 5, 300, 0)),
        ("1000 lengths up to 40", many, many),
        ("all empty but one", (0, 0, 300, 0), (0, 0, 300, 0)),
        ("one of 100000", (100000,), (100000,)),
    ):
        for causal in (False, True):
            heads = 1 if len(ends) == 1 else 2
            q, k, v = normal(sum(ends), 2 * heads, 128), *(normal(sum(lengths), heads, 128) for _ in range(2))
            if len(ends) == len(LENGTHS):  # of the sequence of 700 queries: no other one sees that
                first = sum(lengths[:7])
                k[first, :, 3] = math.nan
                if not causal:  # queries that see nothing of a block have NaN by its values, as rivals have
                    v[first + 5, :, 3] = math.nan
            o, lse = attention_varlen(q, k, v, starts(ends), starts(lengths), causal=causal, return_lse=True)
            want, sums = torch.zeros_like(o, dtype=torch.float64), torch.zeros_like(lse, dtype=torch.float64)
            at = at_k = 0
            few = torch.linspace(0, 99999, 100, device="cuda").long() if len(ends) == 1 else None
            for n, m in zip(ends, lengths, strict=True):
                if n:
                    of_q, of_k = slice(at, at + n), slice(at_k, at_k + m)
                    part = exact(q[None, of_q], k[None, of_k], v[None, of_k], causal, few)
                    if few is not None:
                        o, lse, want, sums = o[few], lse[:, few], part[0][0], part[1][0]
                    else:
                        want[of_q], sums[:, of_q] = part[0][0], part[1][0]
                at, at_k = at + n, at_k + m
            judge(f"ragged: {name}, {'causal' if causal else 'full'}", o, want, lse, sums, {})


def pages(dims: list[int]) -> None:
    for page in (8, 16, 17, 24, 32, 64, 100, 128, 256):
        for queries in (1, 3):
            batch, slots, heads = 6, -(-1200 // page), 2
            lengths = torch.tensor([1200, 0, 1, page, page + 1, 777], device="cuda", dtype=torch.int32)
            told = lengths.clamp(max=slots * page)
            table = torch.randperm(batch * slots, device="cuda", dtype=torch.int32).view(batch, slots)
            q = normal(batch, queries, 8 * heads, 128)
            k, v = normal(batch, slots * page, heads, 128), normal(batch, slots * page, heads, 128)
            for b, n in enumerate(told.tolist()):
                k[b, n:], v[b, n:] = math.nan, math.nan
            stored = []
            for x in (k, v):
                cache = torch.empty(batch * slots, page, heads, 128, device="cuda", dtype=torch.bfloat16)
                cache[table.long().flatten()] = x.reshape(-1, page, heads, 128)
                stored.append(cache)
            table = table.clone()
            for b, n in enumerate(told.tolist()):
                table[b, -(-n // page) :] = 1 << 30  # is never looked at
            o, lse = decode(q, *stored, table=table, lengths=told, return_lse=True)
            want, sums = torch.zeros_like(o, dtype=torch.float64), torch.zeros_like(lse, dtype=torch.float64)
            for b, n in enumerate(told.tolist()):
                part = exact(q[b : b + 1], k[b : b + 1, :n], v[b : b + 1, :n], True)
                want[b], sums[b] = part[0][0], part[1][0]
            judge(f"pages of {page}, {queries} queries", o, want, lse, sums, {})
    q, k, v = normal(1000, 1, 16, 128), normal(1000, 65, 2, 128), normal(1000, 65, 2, 128)
    o, lse = decode(q, k, v, return_lse=True)
    want, sums = exact(q, k, v, True)
    judge("decoding of 1000 sequences", o, want, lse, sums, {})


def backward(dims: list[int]) -> None:
    for dim in dims:
        for kind in SCORES:
            for causal in (False, True):
                q, k, v = made(kind, 777, 2, dim)
                do = normal(*v.shape)
                o, lse = attention(q, k, v, causal=causal, return_lse=True)
                found = attention_backward(do, q, k, v, o, lse, causal=causal)
                twice = [attention_backward(do, q, k, v, o, lse, causal=causal, deterministic=True) for _ in range(2)]
                same = all(torch.equal(x, y) for x, y in zip(*twice, strict=True))
                want = gradients(q, k, v, do, causal)
                whole = float(max(x.norm() for x in want))  # a gradient that is 0 but for rounding is no measure
                least = [max(float(x.norm()), 1e-3 * whole) for x in want]
                theirs = {"cutelite": found}
                for name, call in rivals().items():
                    if name != "cuDNN":
                        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
                        theirs[name] = torch.autograd.grad(call(*leaves, causal), leaves, do)
                off = {
                    name: [float((x.double() - y).norm()) / z for x, y, z in zip(of, want, least, strict=True)]
                    for name, of in theirs.items()
                }
                most = [MORE[0] * max(x) for x in zip(*(off[name] for name in off if name != "cutelite"), strict=True)]
                bad = any(x > max(y, 1e-3) for x, y in zip(off["cutelite"], most, strict=True)) or not same
                text = ", ".join(f"{name} {' '.join(f'{x:.1e}' for x in of)}" for name, of in off.items())
                report(f"backward {kind} {dim} {'causal' if causal else 'full'}", bad, f"{text}; same bits: {same}")


def cost(dims: list[int]) -> None:
    for dim in dims:
        for causal in (False, True):
            calls = {}
            for kind in SCORES:
                q, k, v = made(kind, 8192, 2048 // dim, dim, 2)
                calls[kind] = functools.partial(attention, q, k, v, causal=causal)
            found = {kind: timing.seconds for kind, timing in cl.do_bench(calls, cache="warm", rounds=7).items()}
            most = max(found.values()) / found["normal"]
            text = ", ".join(f"{kind} {x / found['normal']:.2f}" for kind, x in found.items())
            name = f"cost {dim} {'causal' if causal else 'full'}"
            report(name, most > 1.6, f"{text} of {found['normal'] * 1e6:.0f} us")


KINDS = {
    "scores": scores, "specials": specials, "shapes": shapes, "ragged": ragged, "pages": pages, "backward": backward,
    "cost": cost,
}  # fmt: skip


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    asked.add_argument(
        "--dims", nargs="+", type=int, default=[128, 64, 256], help="head dims, where kinds have several"
    )
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    torch.manual_seed(given.seed)
    print(machine())
    for kind in given.only:
        KINDS[kind](given.dims)
    print("wrong:", "; ".join(wrong) or "none")


if __name__ == "__main__":
    main()
