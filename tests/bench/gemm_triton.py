# mypy: ignore-errors
"""Triton's side of the GEMM benchmark: a persistent kernel on TMA descriptors, its tiles tuned for each shape.

A program of each multiprocessor takes tiles of the result in turn, grouped so that those of neighbours share operands
in L2. A file of its own, for Triton is optional and reads the source of its kernels.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from cutelite.tune.race import race, winner
from tests.bench.gemm_cases import KINDS
from tests.bench.timing import Replay

# BM, BN, bytes of K in a tile, stages, warps, pieces in which results are stored
CONFIGS = [
    (128, 256, 128, 3, 8, 1),
    (128, 256, 128, 4, 8, 2),
    (256, 128, 128, 3, 8, 1),
    (256, 128, 128, 4, 8, 2),
    (128, 128, 128, 4, 8, 1),
    (128, 128, 128, 5, 4, 2),
    (64, 256, 128, 4, 4, 1),
    (64, 128, 128, 6, 4, 1),
    (64, 64, 128, 8, 4, 1),
    (64, 64, 256, 4, 4, 1),
]
BANDS = (8, 16)
"""Rows of tiles in a group."""


@triton.jit
def place(tile, rows, columns, BAND: tl.constexpr):
    """(row, column) of a tile: bands of BAND rows, each walked down its columns."""
    band = tile // (BAND * columns)
    within = tile % (BAND * columns)
    high = min(rows - band * BAND, BAND)
    return band * BAND + within % high, within // high


@triton.jit
def matmul(
    a_map, b_map, c_map, M, N, K, scale,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BAND: tl.constexpr, PIECES: tl.constexpr,
    A_BY_K: tl.constexpr, B_BY_K: tl.constexpr, SUM: tl.constexpr, SCALED: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    """c = a @ b over descriptors whose last mode is the contiguous one: K where BY_K says so, else M or N."""
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), rows * columns, PROGRAMS, flatten=True):
        i, j = place(tile, rows, columns, BAND)
        total = tl.zeros((BM, BN), dtype=SUM)
        for k in range(tl.cdiv(K, BK)):
            if A_BY_K:
                left = a_map.load([i * BM, k * BK])
            else:
                left = tl.trans(a_map.load([k * BK, i * BM]))
            if B_BY_K:
                right = tl.trans(b_map.load([j * BN, k * BK]))
            else:
                right = b_map.load([k * BK, j * BN])
            total = tl.dot(left, right, total, input_precision="tf32", out_dtype=SUM)
        if SCALED:
            total *= scale
        out: tl.constexpr = c_map.type.block_type.element_ty
        if PIECES == 1:
            c_map.store([i * BM, j * BN], total.to(out))
        else:
            halves = tl.permute(tl.reshape(total, (BM, 2, BN // 2)), (0, 2, 1))
            first, second = tl.split(halves)
            c_map.store([i * BM, j * BN], first.to(out))
            c_map.store([i * BM, j * BN + BN // 2], second.to(out))


def _prepared(inputs, config, band):
    """A call for each set of inputs."""
    case = inputs.case
    bm, bn, k_bytes, stages, warps, pieces = config
    bk = k_bytes // inputs.a[0].itemsize
    programs = torch.cuda.get_device_properties(0).multi_processor_count
    grid = (min(programs, triton.cdiv(case.m, bm) * triton.cdiv(case.n, bn)),)
    a_by_k, b_by_k = case.majors[0] == "K", case.majors[1] == "K"
    total = tl.int32 if KINDS[case.kind].result is torch.int32 else tl.float32

    scaled = inputs.scale_a is not None
    scale = float(inputs.scale_a * inputs.scale_b) if scaled else 1.0

    def call(a, b, out):
        maps = (
            TensorDescriptor.from_tensor(a if a_by_k else a.T, [bm, bk] if a_by_k else [bk, bm]),
            TensorDescriptor.from_tensor(b.T if b_by_k else b, [bn, bk] if b_by_k else [bk, bn]),
            TensorDescriptor.from_tensor(out, [bm, bn // pieces]),
        )
        return lambda: matmul[grid](
            *maps, case.m, case.n, case.k, scale, BM=bm, BN=bn, BK=bk, BAND=band, PIECES=pieces,
            A_BY_K=a_by_k, B_BY_K=b_by_k, SUM=total, SCALED=scaled, PROGRAMS=programs,
            num_stages=stages, num_warps=warps,
        )  # fmt: skip

    calls = [call(*each) for each in zip(inputs.a, inputs.b, inputs.out, strict=True)]
    return lambda i: calls[i]()


def tuned(inputs):
    """The fastest of the configs that run, raced as ours are; and which one it is."""
    calls = {(config, band): _prepared(inputs, config, band) for config in CONFIGS for band in BANDS}
    failed = {}

    def compiled(name):
        try:
            calls[name](0)
        except Exception as error:  # too much shared memory, mostly
            failed[name] = error

    # Its assembler runs in a process of its own; a thread has a CUDA context once it has used the GPU.
    with ThreadPoolExecutor(16, initializer=lambda: torch.zeros(1, device="cuda")) as pool:
        list(pool.map(compiled, [name for name in calls if name[1] == BANDS[0]]))
    for name in calls:
        if name[1] != BANDS[0] and (name[0], BANDS[0]) not in failed:
            compiled(name)
        elif name[1] != BANDS[0]:
            failed[name] = failed[name[0], BANDS[0]]
    torch.cuda.synchronize()
    if len(failed) == len(calls):
        raise next(iter(failed.values()))
    seconds = inputs.case.flops / 500e12 + 5e-6
    replays = {name: Replay(call, inputs.count, 3e-3, seconds) for name, call in calls.items() if name not in failed}
    best = winner(race(replays))
    return calls[best], f"{best[0]}, bands of {best[1]}"
