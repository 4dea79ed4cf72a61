"""Products of odd sizes, pitches and types, held against float64 on a GPU: what is wrong is printed, and some refusals.

    python tests/bench/gemm_adversaries.py [--only dense groups ...] [--seconds 60] [--jobs 8] [--seed 1]

Extents are 0, 1, 2, 3, 7, 8, 9, 63, 65, 127, 129 and random ones; rows lie any number of elements apart, arrays begin
at any element. Results are poisoned, and lie in larger arrays in which nothing else may change. Each job has its own
seed. It ends with 1 if anything is wrong or fails.

dense    majors, pitches, dtypes, batches in any order or stretched, alpha, beta, C (perhaps the result), bias, scales
groups   rows behind rows, padded, along K, gathered: empty groups, all rows in one, rows behind the last end
experts  one token, all tokens to one expert, numbers of no expert; bf16, f16, fp8, e2m1 and i4
mixed    weights of 4 and 8 bits
few      at most eight rows by small matrices
blocks   fp8 with scales for each 128
"""

import math
import random
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from cutelite.kernels import moe
from cutelite.kernels.gemm import fp8_block, gemm, grouped, mixed
from cutelite.kernels.moe import narrow
from tests.bench.given import parser

ODD = 1, 2, 3, 7, 8, 9, 63, 65, 127, 129
HALVES = torch.bfloat16, torch.float16
FP8 = torch.float8_e4m3fn, torch.float8_e5m2
BYTES = torch.int8, torch.uint8
MOST = {torch.bfloat16: 6e-3, torch.float16: 1.5e-3, torch.float32: 1e-3, torch.float64: 1e-3, torch.int32: 0.0,
        torch.float8_e4m3fn: 5e-2, torch.float8_e5m2: 1e-1}  # fmt: skip


class Source:
    """Random choices, and arrays that they make."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def extent(self, zero: bool = False, most: int = 700) -> int:
        if zero and self.random.random() < 0.02:
            return 0
        if self.random.random() < 0.6:
            return self.random.choice(ODD)
        return round(math.exp(self.random.uniform(0, math.log(most))))

    def values(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        if dtype in BYTES:
            return torch.randint(0 if dtype is torch.uint8 else -128, 128, shape, device="cuda", dtype=dtype)
        return torch.randn(shape, device="cuda").to(dtype)

    def placed(self, shape: tuple[int, ...], dtype: torch.dtype, poison: bool = False) -> torch.Tensor:
        """An array whose rows lie apart, somewhere in a larger one, of random numbers or of NaN.

        Its batches lie in any order, and rows perhaps ahead of the last of them: (batch, row, head, column).
        """
        gap = self.random.choice((0, 0, 0, 1, 2, 3, 4, 8))
        before = self.random.choice((0, 0, 0, 8, 4, 2, 1))
        last = len(shape) - 1
        axes = self.random.sample(range(last - 1), last - 1)
        axes.insert(len(axes) - (len(axes) > 0 and self.random.random() < 0.25), last - 1)
        extents = [*(shape[axis] for axis in axes), shape[-1] + gap]
        size = math.prod(extents)
        flat = torch.empty(before + size + 16, device="cuda", dtype=dtype)
        poisoned(flat)
        made = flat[before : before + size].view(extents)[..., : shape[-1]]
        made = made.permute(*(axes.index(axis) for axis in range(last)), last)
        if not poison:
            made.copy_(self.values(shape, dtype))
        made.whole = flat
        return made

    def operand(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        if self.random.random() < 0.4:
            return self.placed((*shape[:-2], shape[-1], shape[-2]), dtype).mT
        return self.placed(shape, dtype)

    def stretched(self, batches: tuple[int, ...], rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
        """An operand of some of these batches: the others it has by strides of 0, as modes of 1, or not at all."""
        if self.random.random() < 0.2:
            return self.operand((rows, columns), dtype)
        own = [1 if self.random.random() < 0.3 else extent for extent in batches]
        made = self.operand((*own, rows, columns), dtype)
        return made.expand(*batches, rows, columns) if self.random.random() < 0.5 else made


def poisoned(x: torch.Tensor) -> None:
    x.view(torch.uint8).fill_(0xFF if x.dtype.is_floating_point else 0x55)


def guarded(out: torch.Tensor) -> Callable[[], bool]:
    """A function that tells whether anything but `out` of the array that it lies in has changed."""
    whole, offset = out.whole, out.storage_offset()
    own = torch.zeros_like(whole, dtype=torch.bool).as_strided(out.shape, out.stride(), offset)
    own.fill_(True)
    mask = own.as_strided(whole.shape, whole.stride(), 0)
    before = whole.clone()

    def bytes_of(x: torch.Tensor) -> torch.Tensor:
        return x.view(torch.uint8).view(-1, whole.element_size())

    return lambda: bool((bytes_of(whole) != bytes_of(before)).any(1)[~mask].any())


def wide(x: torch.Tensor) -> torch.Tensor:
    return x.float().double() if x.dtype in FP8 else x.double()


_wrong: list[str] = []


def wrong(what: str) -> None:
    """Print what is wrong, and keep it: with any the process ends with 1."""
    print(f"WRONG: {what}", flush=True)
    _wrong.append(what)


def judged(what: str, out: torch.Tensor, right: torch.Tensor, scale: float, changed: bool = False) -> None:
    """Print where a result is wrong: by the norm, and by each number."""
    found = wide(out)
    most = MOST[out.dtype]
    error, norm = float((found - right).norm()), float(right.norm()) + 1e-30
    worst = float((found - right).abs().max()) if right.numel() else 0.0
    tops = {torch.float16: 65504.0, torch.float8_e4m3fn: 448.0}
    if float(right.abs().max() if right.numel() else 0.0) > tops.get(out.dtype, math.inf):
        return
    if right.numel() and (
        not error <= most * norm + 1e-3 * scale * right.numel() ** 0.5 * (most > 0) or math.isnan(worst)
    ):
        wrong(f"{what}: relative error {error / norm:.3g}, worst {worst:.3g}")
    if changed:
        wrong(f"{what}: wrote beside the result")


def dense(s: Source) -> None:
    m, n, k = s.extent(True), s.extent(True), s.extent(True, 1500)
    dtype = s.random.choice(
        (*HALVES, *HALVES, torch.float32, torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.uint8)
    )
    batches = tuple(s.random.choice((1, 2, 3)) for _ in range(s.random.choice((0, 0, 0, 1, 2, 3))))
    alike = next((kinds for kinds in (FP8, BYTES) if dtype in kinds), (dtype,))
    other = s.random.choice(alike)
    a, b = s.stretched(batches, m, k, dtype), s.stretched(batches, k, n, other)
    shape = (*torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), m, n)
    if dtype in BYTES:
        kind = s.random.choice((torch.int32, torch.float32))
    else:
        kind = s.random.choice(
            (torch.bfloat16, torch.float16, torch.float32, torch.float64, dtype if dtype in FP8 else torch.bfloat16)
        )
    out = s.placed(shape, kind, True)
    how: dict[str, Any] = {"precision": "tf32"} if dtype is torch.float32 else {}
    right = wide(a) @ wide(b)
    if kind is not torch.int32:
        alpha = s.random.choice((1.0, 1.0, 0.0, -0.5))
        right = right * alpha
        how["alpha"] = alpha
        if s.random.random() < 0.3:
            beta = s.random.choice((1.0, 0.0, 2.0))
            same = s.random.random() < 0.5
            c = out if same else s.placed(shape, kind)
            c.copy_(s.values(shape, torch.float32).to(kind))
            right, how["c"], how["beta"] = right + beta * wide(c), c, beta
        if s.random.random() < 0.3:
            how["bias"] = s.values((n,), s.random.choice((torch.bfloat16, torch.float32, torch.float16)))
        elif s.random.random() < 0.3 and len(shape) == 2:
            how["scale_a"], how["scale_b"] = (
                torch.rand(m, 1, device="cuda") + 0.5,
                torch.rand(1, n, device="cuda") + 0.5,
            )
            right = right * how["scale_a"].double() * how["scale_b"].double() if "c" not in how else None
        if right is not None and "bias" in how:
            right = right + how["bias"].double()
        if right is not None and s.random.random() < 0.2:
            how["activation"] = "relu"
            right = right.relu()
    given = {key: tuple(x.shape) if torch.is_tensor(x) else x for key, x in how.items()}
    said = f"dense {placed(a)} x {placed(b)} into {placed(out)}, {given}"
    if right is None:
        return
    changed = guarded(out)
    reported(said, lambda: gemm(a, b, out, **how))
    judged(said, out, right, math.sqrt(k) * (0 if kind is torch.int32 else 1), changed())


def placed(x: torch.Tensor) -> str:
    return f"{tuple(x.shape)} {x.stride()} at {x.data_ptr() % 16} {x.dtype}"


def reported(what: str, call: Callable[[], Any]) -> None:
    """Call. Errors: `Refused` for arguments that are refused."""
    try:
        call()
        torch.cuda.synchronize()
    except ValueError as error:
        raise Refused(f"{what}: {' '.join(str(error).split())[:200]}") from error


class Refused(Exception):
    pass


def counts_of(s: Source, groups: int, rows: int) -> list[int]:
    way = s.random.random()
    if way < 0.2:
        one = s.random.randrange(groups)
        return [rows * (e == one) for e in range(groups)]
    picked = [s.random.randrange(groups) for _ in range(rows)]
    if way < 0.5:
        picked = [e // 2 * 2 for e in picked]
    return [picked.count(e) for e in range(groups)]


def groups(s: Source) -> None:
    count, rows = s.random.choice((1, 2, 3, 8, 33)), s.extent(True, 500)
    n, k = -(-s.extent() // 8) * 8, s.random.choice((-(-s.extent(True, 900) // 8) * 8, 64, 128))
    counts = counts_of(s, count, rows)
    ends = torch.tensor(counts, device="cuda").cumsum(0).int()
    dtype = s.random.choice(HALVES)
    starts = [0, *ends.tolist()]
    way = s.random.choice(("rows", "padded", "K", "gathered"))
    said = f"groups {way} {counts if count < 9 else count} n {n} k {k} {dtype}"
    if way == "K":
        extra = s.random.choice((0, 3, 70))
        a, b = (s.values((rows + extra, x), dtype) for x in (k, n))
        a[rows:] = b[rows:] = math.nan
        out = torch.full((count, k, n), math.nan, device="cuda", dtype=s.random.choice((torch.float32, *HALVES)))
        more = s.random.random() < 0.4
        if more:
            out.normal_()
        right = wide(out) if more else torch.zeros_like(out, dtype=torch.float64)
        for e in range(count):
            i, j = starts[e], starts[e + 1]
            right[e] += a[i:j].double().T @ b[i:j].double()
        reported(said, lambda: grouped.along_k(a, b, ends, out, accumulate=more))
        judged(f"{said} accumulate {more}", out, right, math.sqrt(max(1, rows)))
        return
    b = s.values((count, n, k), dtype) if s.random.random() < 0.6 else s.values((count, k, n), dtype).mT
    if way == "padded":
        high = max(1, *counts)
        a = s.values((count, high, k), dtype)
        out = torch.full((count, high, n), math.nan, device="cuda", dtype=dtype)
        right = a.double() @ b.double().mT
        for e in range(count):
            a[e, counts[e] :] = math.nan
        reported(said, lambda: grouped.padded(a, b, torch.tensor(counts, device="cuda").int(), out))
        for e in range(count):
            judged(f"{said} group {e}", out[e, : counts[e]], right[e, : counts[e]], math.sqrt(max(1, k)))
            if not out[e, counts[e] :].isnan().all():
                wrong(f"{said} group {e}: wrote behind its rows")
        return
    extra = s.random.choice((0, 0, 5))
    index = torch.randint(0, 50, (rows + extra,), device="cuda").int() if way == "gathered" else None
    a = s.values((50 if way == "gathered" else rows + extra, k), dtype)
    out = torch.full((rows + extra, n), math.nan, device="cuda", dtype=dtype)
    left = a[index.long()] if index is not None else a
    parts = [left[starts[e] : starts[e + 1]].double() @ b[e].double().T for e in range(count)]
    right = torch.cat([torch.zeros(0, n, device="cuda").double(), *parts])
    reported(said, lambda: grouped.gemm(a, b, ends, out, rows=index))
    judged(said, out[:rows], right, math.sqrt(max(1, k)))
    if extra and not out[rows:].isnan().all():
        wrong(f"{said}: wrote behind the last end")


def experts(s: Source) -> None:
    tokens, count, top = (s.random.choice(of) for of in ((1, 2, 3, 7, 65, 129, 300), (1, 2, 8, 60), (1, 2, 4)))
    kind = s.random.choice(("bf16", "f16", "e2m1", "i4", "fp8"))
    of = 32 if kind in ("e2m1", "i4") else 8
    hidden, inner = (-(-s.extent(False, 500) // of) * of for _ in range(2))
    if kind == "fp8":
        hidden, inner = -(-hidden // 16) * 16, -(-inner // 128) * 128
    dtype = torch.float16 if kind == "f16" else torch.bfloat16
    x = s.values((tokens, hidden), dtype)
    index = torch.randint(0, count, (tokens, top), device="cuda")
    way = s.random.random()
    if way < 0.25:
        index[...] = s.random.randrange(count)
    elif way < 0.5:
        index[0, 0] = s.random.choice((count, -1))
    index = index.to(s.random.choice((torch.int32, torch.int64)))
    weights = torch.rand(tokens, top, device="cuda") + 0.1
    how = "one" if way < 0.25 else "any"
    said = f"experts {kind}, {tokens} tokens of {hidden}, {count} of {inner}, {top} each, {how}"
    out = torch.full_like(x, math.nan)
    matrices: list[Any] = []
    exact: list[Any] = []
    for rows, columns, gated in ((2 * inner, hidden, True), (hidden, inner, False)):
        if kind in ("bf16", "f16"):
            matrices.append((s.values((count, rows, columns), torch.float32) * columns**-0.5).to(dtype))
            exact.append(matrices[-1].cpu().double().numpy())
        elif kind == "fp8":
            matrix = s.values((count, rows, columns), torch.float8_e4m3fn)
            scale = (torch.rand(count, -(-rows // 128), -(-columns // 128), device="cuda") + 0.5) * columns**-0.5
            matrices += [matrix, scale]
            spread = scale.repeat_interleave(128, 1).repeat_interleave(128, 2)[:, :rows, :columns]
            exact.append((matrix.float() * spread).cpu().double().numpy())
        else:
            each = 32 if kind == "e2m1" or columns % 64 else 128
            numbers = np.random.default_rng(s.random.randrange(1 << 30))
            codes = numbers.integers(*((0, 16) if kind == "e2m1" else (-8, 8)), (count, rows, columns))
            scales = 2.0 ** numbers.integers(-6, -2, (count, rows, -(-columns // each)))
            matrices.append(torch.from_numpy(narrow.pack(codes, scales, kind, each, gated=gated)).cuda())
            exact.append(narrow.unpacked(codes, scales, kind, each))
    given: list[Any] = [x, *matrices, index, weights]

    def compute() -> None:
        if kind == "fp8":
            partial(moe.scaled_experts, out=out)(*given)
        elif kind in ("bf16", "f16"):
            partial(moe.experts, out=out)(*given)
        else:
            partial(moe.narrow_experts, kind=kind, inner=inner, out=out)(*given)

    reported(said, compute)
    x, weights = (y.cpu().double() for y in (x, weights))
    known: list[Any] = [x.numpy(), *exact, index.cpu().numpy(), weights.numpy()]
    right = torch.from_numpy(moe.reference(*known)).cuda()
    error = float((out.double() - right).norm() / (right.norm() + 1e-9))
    if not error < (8e-2 if kind == "fp8" else 1e-2):
        wrong(f"{said}: relative error {error:.3g}")


def mixed_(s: Source) -> None:
    kind = s.random.choice(("i4", "i8", "e4m3"))
    t, n, k = s.extent(True), -(-s.extent(False, 900) // 8) * 8, -(-s.extent(True, 900) // 8) * 8
    bits = mixed.KINDS[kind][0]
    numbers = np.random.default_rng(s.random.randrange(1 << 30))
    codes = (
        numbers.integers(-(1 << bits - 1), 1 << bits - 1, (n, k))
        if kind != "e4m3"
        else numbers.integers(0, 127, (n, k))
    )
    scales = numbers.uniform(0.5, 2.0, (n, -(-k // 128))).astype(np.float32)
    packed = torch.from_numpy(mixed.pack(codes, scales, kind)).cuda()
    x = s.placed((t, k), torch.bfloat16)
    out = s.placed((t, n), torch.bfloat16, True)
    exact = torch.from_numpy(codes).cuda()
    values = exact.to(torch.uint8).view(torch.float8_e4m3fn).double() if kind == "e4m3" else exact.double()
    right = (
        x.double() @ (values * torch.from_numpy(scales).cuda().bfloat16().double().repeat_interleave(128, 1)[:, :k]).T
    )
    said = f"mixed {kind} {t} x {n} x {k} {x.stride()} at {x.data_ptr() % 16} {out.stride()} at {out.data_ptr() % 16}"
    changed = guarded(out)
    reported(said, lambda: mixed.gemm(x, packed, kind, out))
    judged(said, out, right, float(values.abs().mean()) if k else 1.0, changed())


def few(s: Source) -> None:
    rows, n, k = s.random.randint(1, 8), 16 * s.random.randint(1, 40), 64 * s.random.randint(1, 30)
    dtype = s.random.choice(HALVES)
    x, w = s.placed((rows, k), dtype), s.placed((n, k), dtype)
    out, more = s.placed((rows, n), dtype, True), {}
    right = x.double() @ w.double().T
    if s.random.random() < 0.5:
        c = out if s.random.random() < 0.5 else s.placed((rows, n), dtype)
        c.copy_(s.values((rows, n), dtype))
        more, right = {"c": c}, right + c.double()
    said = f"few {placed(x)} x {placed(w)} into {placed(out)}, {[*more]}"
    changed = guarded(out)
    reported(said, lambda: gemm(x, w.T, out, **more))
    judged(said, out, right, math.sqrt(k), changed())


def blocks(s: Source) -> None:
    m, n, k = s.extent(True), -(-s.extent() // 8) * 8, -(-s.extent(True, 900) // 16) * 16
    a, b = s.values((m, k), torch.float8_e4m3fn), s.values((n, k), torch.float8_e4m3fn)
    of_a = torch.rand(m, -(-k // 128), device="cuda") + 0.5
    of_b = torch.rand(-(-n // 128), -(-k // 128), device="cuda") + 0.5
    if s.random.random() < 0.5:
        of_a = of_a.T.contiguous().T
    out = s.placed((m, n), torch.bfloat16, True)
    left = wide(a) * of_a.double().repeat_interleave(128, 1)[:, :k]
    right = left @ (wide(b) * of_b.double().repeat_interleave(128, 1).repeat_interleave(128, 0)[:n, :k]).T
    said = f"blocks {m} x {n} x {k} {out.stride()} at {out.data_ptr() % 16}"
    changed = guarded(out)
    config = s.random.choice(fp8_block.CONFIGS)
    reported(said, lambda: fp8_block.gemm(a, b, of_a, of_b, out, config=config))
    judged(said, out, right, math.sqrt(max(1, k)), changed())


KINDS: dict[str, Callable[[Source], None]] = {
    "dense": dense, "groups": groups, "experts": experts, "mixed": mixed_, "few": few, "blocks": blocks,
}  # fmt: skip


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--only", nargs="+", default=list(KINDS), choices=KINDS)
    asked.add_argument("--seconds", type=float, default=60.0)
    asked.add_argument("--jobs", type=int, default=1)
    asked.add_argument("--seed", type=int, default=1)
    given, start = asked.parse_args(), time.monotonic()
    if given.jobs > 1:
        words = ["--only", *given.only, "--seconds", str(given.seconds)]
        jobs = [
            subprocess.Popen([sys.executable, "-u", sys.argv[0], *words, "--seed", str(given.seed + i)])
            for i in range(given.jobs)
        ]
        sys.exit(max(job.wait() for job in jobs))
    torch.backends.cuda.matmul.allow_tf32 = False
    counts, refusals = dict.fromkeys(given.only, 0), dict.fromkeys(given.only, 0)
    for number in range(1 << 30):
        if time.monotonic() - start > given.seconds:
            break
        kind, seed = given.only[number % len(given.only)], given.seed * 100_000 + number
        torch.manual_seed(seed)
        try:
            KINDS[kind](Source(seed))
            counts[kind] += 1
        except Refused as refusal:
            refusals[kind] += 1
            if refusals[kind] <= 2:
                print(f"refused (seed {seed}): {refusal}", flush=True)
        except Exception:
            wrong(f"{kind}, seed {seed}, failed: {traceback.format_exc()[-900:]}")
            if "CUDA" in traceback.format_exc():
                break
    print(f"seed {given.seed}: {counts} compared, {refusals} refused, {len(_wrong)} wrong", flush=True)
    sys.exit(len(_wrong) > 0)


if __name__ == "__main__":
    main()
