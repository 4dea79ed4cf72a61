"""Launches of the library's kernels that have little asynchrony: barriers of a block, the kernel before, counters.

`PLAIN` has what launches each, by name, and the number of the launch that is meant; those before it are executed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import cutelite as cl
from cutelite.kernels import moe
from cutelite.kernels.attention import create_block_mask
from cutelite.kernels.gemm import Prepare, configs, fp8_block, gemm, mixed, pitch, prepare
from cutelite.kernels.gemm.call import fused_of, multiply
from cutelite.kernels.rows import (
    cross_entropy,
    elementwise,
    embedding,
    histogram,
    norm,
    quantise,
    quantise_blocks,
    reduce,
    rope,
    rope_append,
    rope_tables,
    sample,
    select,
    softmax,
    sort,
    transpose,
)
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.plan import Plan


class Plain(NamedTuple):
    """What launches a kernel, and the number of its launch."""

    run: Callable[[], object]
    which: int = 0


@contextmanager
def instead(module: Any, **values: Any) -> Iterator[None]:
    """Give globals of a module other values for a while."""
    kept = {name: vars(module)[name] for name in values}
    vars(module).update(values)
    try:
        yield
    finally:
        vars(module).update(kept)


def numbers(*shape: int, dtype: str = "float32") -> Any:
    """Return numbers of a normal distribution."""
    from ml_dtypes import bfloat16

    made = np.random.default_rng(0).standard_normal(shape)
    return made.astype(bfloat16 if dtype == "bfloat16" else dtype)


def halves(*shape: int) -> Any:
    return numbers(*shape, dtype="bfloat16")


def beyond(m: int, n: int) -> tuple[Any, Any]:
    """Return rows and weights, in bf16: every other row times these is beyond f32."""
    x, w = numbers(m, n), numbers(n) * np.float32(1e36)
    x[1::2] *= 1000
    return x.astype(halves(1).dtype), w.astype(halves(1).dtype)


def places(*shape: int, below: int) -> Any:
    return np.random.default_rng(1).integers(0, below, shape)


def asking(threads: int = 32, teams: int = 2, cluster: int = 1, **how: Any) -> Plan:
    """Return a plan whose blocks ask L2 for the row of the block behind them."""
    return Plan(threads, teams, cluster, 4, 1, lead=4096, **how)


def of_norm(**how: Any) -> object:
    """Gradients of a LayerNorm with a weight."""
    x, ones = numbers(20, 64), np.ones(20, np.float32)
    return norm.norm_backward(x, norm.Normed(None, x, ones, ones), x[0], bias=True, how=Plan(32, 1, 1, 4, 1, **how))


def of_experts() -> object:
    """Gradients of experts."""
    x, index = halves(20, 64), places(20, 2, below=3).astype(np.int32)
    matrices, weights = (halves(3, 128, 64), halves(3, 64, 64)), numbers(20, 2)
    kept = moe.experts_kept(x, *matrices, index, weights)
    return moe.experts_backward(x, x, *matrices, weights, kept.sums, kept.order)


def appended() -> object:
    """New keys and values, in a cache."""
    q, (k, v) = numbers(2, 3, 4, 64), (numbers(2, 3, 2, 64) for _ in "kv")
    keys, values = (np.zeros((2, 2, 16, 64), np.float32) for _ in "kv")
    return rope_append.rope_append(q, k, v, numbers(3, 32), numbers(3, 32), keys, values, np.array([5]))


def mixed_parts() -> None:
    """Rows by weights of 4 bits in two parts of K, by one block."""
    w = mixed.pack(np.random.default_rng(0).integers(-8, 8, (200, 1056)), np.ones((200, 9)), "i4")
    with instead(mixed, clusters_at_once=lambda size, like: 1):
        mixed.gemm(halves(20, 1056), w, "i4", n=200, config=mixed.Config(tokens=16, stages=2, splits=2))


def prepared() -> object:
    """A, computed from 8-bit numbers ahead of its GEMM."""
    a, b = np.ones((40, 72), np.int8), halves(64, 72)
    kept, kinds = Prepare(lambda chunk, factor: chunk.values * chunk.by_row(factor), (numbers(40),)), (("f32", 1, 1),)
    return prepare.made_ahead(a, b, kept, kinds)


def counted() -> None:
    """Digits, which two blocks count."""
    with instead(sort, EACH=1):
        kernel = sort.counting.__wrapped__(cl.i32, (0, 8), False)
        kernel[2, sort.DIGITS](places(500, below=1000).astype(np.int32), np.zeros(2 * sort.DIGITS, np.int32))


def sorted_block() -> None:
    """Keys that one block sorts by two digits."""
    with instead(sort, THREADS=256):
        kernel = sort.sorting.__wrapped__(cl.i32, None, cl.i64, (0, 8), False, 2)
        keys = places(500, below=1000).astype(np.int32)
        kernel[1, 256](keys, None, np.empty_like(keys), np.empty(500, np.int64))


def copied_rows() -> None:
    """Rows that TMA cannot read, copied to where it can."""
    pitch.copy_rows((halves(1, 40, 201)[:, :, :199], halves(1, 40, 208)[:, :, :199]))


def fp8_parts() -> None:
    """Products in fp8 by three blocks: of the last of seven tiles each has a part of K."""
    from ml_dtypes import float8_e4m3fn

    a, b = numbers(64, 528).astype(float8_e4m3fn), numbers(448, 528).astype(float8_e4m3fn)
    scales, d = (np.ones((5, 64), np.float32), None, np.ones((4, 5), np.float32)), halves(64, 448)
    with instead(fp8_block, clusters_at_once=lambda size, like: 3):
        config = fp8_block.Config(2, columns=64, buffers=1, splits=8, regs=(40, 232))
        fp8_block.run(config, a, b, d, scales[0], scales[1], None, scales[2])


def quantised_blocks() -> object:
    """Blocks of 128 of odd rows: two warps share ends in mid-row, and of a tile with 3 columns one has none."""
    with instead(quantise_blocks, FEW=8):
        return quantise.quantise(halves(17, 515), Narrow(block=128), how=Plan(64, 1, 1, 8, 1))


def summed(rows: int) -> object:
    """Sums of a matrix along one of its modes."""
    return reduce.reduced(numbers(6, 300), "sum", rows)


PLAIN: dict[str, Plain] = {
    "rows_asked": Plain(lambda: softmax.softmax(numbers(12, 512), how=asking(64, 1))),
    "rows_cluster": Plain(lambda: softmax.softmax(numbers(5, 512), how=asking(32, 1, 2))),
    "rows_norm": Plain(
        lambda: norm.layer_norm(numbers(12, 512) + 50 * numbers(12, 1), *numbers(2, 512), how=asking(64, 2, rows=2))
    ),
    "rows_norm_early": Plain(lambda: norm.rms_norm(numbers(12, 512), numbers(512), how=asking(64, 2, early=True))),
    "rows_norm_quantised": Plain(lambda: norm.rms_norm(*beyond(6, 512), narrow=Narrow(), how=asking(64))),
    "rows_loss_forward": Plain(
        lambda: cross_entropy.cross_entropy(numbers(6, 512), places(6, below=512), how=asking(64))
    ),
    "rows_elements": Plain(lambda: elementwise.elementwise(lambda a, b: a * b + a, tuple(numbers(2, 6, 512)))),
    "rows_scaled": Plain(lambda: elementwise.scale(numbers(512), numbers(1))),
    "rows_norm_columns": Plain(lambda: of_norm(outside=True), 1),
    "rows_column_sums": Plain(lambda: norm.summed(numbers(1), cl.f32, *numbers(2, 20, 64))),
    "rows_sums_held": Plain(of_norm),
    "rows_reduced": Plain(lambda: summed(1)),
    "rows_columns": Plain(lambda: summed(0)),
    "rows_columns_parts": Plain(lambda: reduce.reduced(numbers(300, 36), "max", 0)),
    "rows_all": Plain(lambda: reduce.reduced(numbers(9000))),
    "rows_short": Plain(lambda: reduce.reduced(numbers(70, 2), "sum", 1)),
    "rows_histogram": Plain(lambda: histogram.histogram(places(2100, below=40), 40)),
    "rows_embedding": Plain(lambda: embedding.embedding(numbers(40, 64), places(12, below=40))),
    "rows_sort_counts": Plain(counted),
    "rows_sort_block": Plain(sorted_block),
    "rows_embedding_backward": Plain(lambda: embedding.embedding_backward(numbers(12, 64), places(12, below=4), 4), 2),
    "rows_embedding_join": Plain(lambda: embedding.embedding_backward(numbers(70, 8), places(70, below=2), 2), 3),
    "rows_rope": Plain(lambda: rope.rope(numbers(2, 6, 4, 64), numbers(2, 6, 2, 64), numbers(6, 32), numbers(6, 32))),
    "rows_rope_tables": Plain(lambda: rope_tables.rope_tables(np.arange(12), numbers(32), "f32")),
    "rows_append": Plain(appended),
    "rows_argmax": Plain(lambda: select.argmax(numbers(5, 256), how=Plan(64, 1, 2, 2, 1))),
    "rows_argmax_parts": Plain(lambda: select.argmax(numbers(1, 9000))),
    "rows_sample": Plain(lambda: sample.sample(numbers(3, 256), numbers(3) * 0 + 0.5, top_k=9, top_p=0.8)),
    "rows_blocks": Plain(quantised_blocks),
    "rows_transposed": Plain(lambda: transpose.transposed(halves(160, 200), "bf16")),
    "rows_transposed_narrow": Plain(lambda: transpose.transposed(halves(128, 136), Narrow(block=128))),
    "rows_transposed_covers": Plain(lambda: transpose.transposed(halves(256, 141), Narrow(block=128))),
    "experts_route": Plain(lambda: moe.route(numbers(9, 40), 3)),
    "experts_route_backward": Plain(
        lambda: moe.route_backward(numbers(9, 3), numbers(9, 40), moe.Routed(numbers(9, 3), places(9, 3, below=40)))
    ),
    "experts_count": Plain(lambda: moe.sort(places(520, 4, below=40), 40)),
    "experts_place": Plain(lambda: moe.sort(places(520, 4, below=40), 40), 1),
    "experts_combine": Plain(
        lambda: moe.combine(halves(20, 64), places(10, 2, below=20).astype(np.int32), numbers(10, 2))
    ),
    "experts_gate": Plain(of_experts, 5),
    "gemm_few": Plain(lambda: multiply(halves(2, 1088), halves(32, 1088).T, None, fused_of(), early=True)),
    "gemm_parts": Plain(
        lambda: gemm(
            halves(64, 520), halves(64, 520).T, config=configs.Config((64, 64), splits=2, cluster=(1, 1), buffers=1)
        ),
        1,
    ),
    "gemm_fp8_parts": Plain(fp8_parts),
    "gemm_fp8_sums": Plain(fp8_parts, 1),
    "gemm_mixed_parts": Plain(mixed_parts),
    "gemm_mixed_sums": Plain(mixed_parts, 1),
    "gemm_copied_rows": Plain(copied_rows),
    "gemm_prepared_ahead": Plain(prepared),
    "attention_kinds": Plain(
        lambda: create_block_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, 1, 1, 200, 300, "cpu", 64)
    ),
}
"""Kernels by name."""
