"""The launches whose kernels are mutated: those that the examples make, on problems small enough to check often.

An example's `main` is run with its launches diverted, so that kernels, arguments and grids are the example's own.
"""

import functools
import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

import cutelite as cl
from cutelite import sim
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.simulating import simulation
from cutelite.ir.function import Function
from cutelite.kernels.attention import backward, backward_outer, backward_plan
from cutelite.kernels.attention.backward_tiles import Starts
from cutelite.kernels.attention.scores import Problem
from cutelite.kernels.attention.tiles import Given
from cutelite.kernels.functions import settled
from cutelite.kernels.gemm import call
from tests.mutate.plain import PLAIN, beyond, instead, numbers
from tests.places import simulator

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Launched(NamedTuple):
    """A kernel with its arguments, as the simulator takes them.

    pdl        it may start before the kernel ahead has ended; so may all that wait for that
    untouched  the arguments that kernels ahead do not write: of the library's, any may be written
    ordered    the arguments that it updates in a fixed order
    """

    function: Function
    grid: tuple[int, int, int]
    args: list[Any]
    dims: dict[str, int]
    smem: int
    pdl: bool
    untouched: tuple[str, ...] | None = None
    ordered: tuple[str, ...] = ()


Run = Callable[[], object]


def later(make: Callable[..., object]) -> Callable[..., Run]:
    """Decorate a function that launches: a call of it gives what makes the launch."""

    @functools.wraps(make)
    def given(*args: Any, **kwargs: Any) -> Run:
        return functools.partial(make, *args, **kwargs)

    return given


def example(module: str, *arguments: Any) -> Run:
    """Return the `main` of an example, on NumPy arrays even if torch sees a GPU."""
    return lambda: of_examples(module).main(*arguments)


def of_examples(module: str) -> Any:
    """Import a module of the examples."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    vars(importlib.import_module("common"))["torch_on_gpu"] = lambda sm=0: None
    return importlib.import_module(module)


def case(module: str, test: str, *arguments: Any) -> Run:
    """Return a test of this repository that launches its kernel at the place that it is given."""
    return lambda: getattr(importlib.import_module(f"tests.{module}"), test)(*arguments)


def put(module: Any, **values: Any) -> None:
    """Give globals of a module other values."""
    module.__dict__.update(values)


def alone(module: str, blocks: int = 1) -> Any:
    """Import a module of GEMMs, whose persistent kernels then run on `blocks` blocks or clusters, not one for each
    multiprocessor, so that each has several tiles."""
    made = importlib.import_module(f"cutelite.kernels.gemm.{module}")
    put(made, clusters_at_once=lambda size, like: blocks)
    return made


@later
def gemm(m: int, n: int, k: int, epilogue: bool = True, blocks: int = 1, **config: Any) -> None:
    """The dense GEMM in a configuration. `epilogue`: with C and a bias, which TMA loads too.

    k  large enough for a ring of 3 stages, each with 64 of k, to wrap around wherever it is advanced
    """
    made, random = alone("dense", blocks), of_examples("common").random
    a, b, d = (random(*shape, dtype="bfloat16") for shape in ((m, k), (n, k), (m, n)))
    more = {"c": d.copy(), "bias": random(n), "beta": 0.5} if epilogue else {}
    put(made, beside_c=lambda config, problem: config)  # with a buffer for each piece none is waited for
    call.gemm(a, b.T, d, config=made.Config(**config), **more)


def gemm_of_groups_along_k() -> None:
    """The dense GEMM for groups along K, one of them empty, by one block."""
    made, random = alone("grouped"), of_examples("common").random
    a, b = (random(401, columns, dtype="bfloat16") for columns in (128, 64))
    config = made.Config((128, 64), cluster=(1, 1), stages=3, piece=32, buffers=1)
    made.along_k(a, b, np.array([100, 100, 401], np.int32), config=config)


def gemm_pointers() -> None:
    """Products of matrices at separate addresses, by one block: four groups with tiles, one of them with K = 0."""
    made, random = alone("pointers"), of_examples("common").random
    sizes = [(130, 136, 264), (0, 8, 8), (64, 8, 0), (100, 72, 72), (128, 64, 200)]
    a, b, d = ([random(max(x, 1), max(y, 8), dtype="bfloat16") for x, y in part] for part in (
        [(m, k) for m, _, k in sizes], [(n, k) for _, n, k in sizes], [(m, n) for m, n, _ in sizes]))  # fmt: skip
    config = made.Config(columns=128, stages=3)
    made.gemm(*map(cl.pointers, (a, b, d)), np.array(sizes, np.int32), config=config)


def gemm_finished() -> None:
    """The dense GEMM with a function that stores results by TMA and row by row, one warpgroup after the other."""

    def function(piece: cl.Piece, other: Any) -> None:
        if piece.column < 128:
            piece.result(piece.sums)
        else:
            piece.store(piece.sums, other, piece.column - 128)

    made, random = alone("dense"), of_examples("common").random
    a, b, d, other = (random(*shape, dtype="bfloat16") for shape in ((130, 200), (192, 200), (130, 128), (130, 64)))
    finish = cl.Finish(function, (other,))
    call.gemm(a, b.T, d, finish=finish, config=made.Config((64, 64), True, (1, 1), stages=3))


def gemm_gated() -> None:
    """The dense GEMM with a gate, which stores gate and up too: three tiles, one warpgroup after another."""
    from cutelite.kernels.gemm.gated import gated_product

    made, random = alone("dense"), of_examples("common").random
    x, weight, halves = (random(*shape, dtype="bfloat16") for shape in ((130, 200), (64, 200), (130, 64)))
    gated_product(x, weight.T, halves, config=made.Config((64, 64), True, (1, 1), stages=3))


def gemm_rotated() -> None:
    """The dense GEMM that turns heads by their positions, by one block: two of its three tiles have heads to turn."""
    from cutelite.kernels.gemm.rotated import rotated_product

    made, random = alone("dense"), of_examples("common").random
    x, weight = random(2, 64, 200, dtype="bfloat16"), random(192, 200, dtype="bfloat16")
    config = made.Config((128, 64), cluster=(1, 1), stages=3, piece=32, buffers=1)
    rotated_product(x, weight.T, random(64, 16), random(64, 16), heads=3, dim=32, config=config)


def gemm_vectors() -> None:
    """Two rows by a matrix that TMA cannot read, by two blocks: more of K than a round of loads."""
    from cutelite.kernels.gemm import vectors

    n, k, kind = 6, 2048 + 200, vectors.Vectors(cl.bf16, cl.f32, 2, 8)
    x, w = (of_examples("common").random(*s, dtype="bfloat16") for s in ((2, k), (n, k)))
    out, blocks = np.empty((2, n), np.float32), -(-n // kind.across)
    kernel = vectors.build.__wrapped__(kind, cl.f32)
    kernel[cl.Launch(blocks, vectors.WARPS * 32, pdl=True)](x, w, out, None, None, 1.0, 0.0)


def gemm_prepared() -> None:
    """The dense GEMM with a function that computes A from 8-bit numbers: two warpgroups that share its stages."""

    def function(chunk: cl.Chunk, factor: Any) -> Any:
        return chunk.values * chunk.by_row(factor)

    made, random = alone("dense"), of_examples("common").random
    a = np.random.default_rng(0).integers(-8, 8, (128, 336)).astype(np.int8)
    b, factor = random(192, 336, dtype="bfloat16"), random(128)
    config = made.Config((128, 64), cluster=(1, 1), stages=3, piece=32, buffers=1)
    call.gemm(a, b.T, prepare=cl.Prepare(function, (factor,)), config=config)


@later
def blackwell(kind: str = "", tiles: tuple[int, int] = (1, 3), groups: tuple[int, ...] = (), **config: Any) -> None:
    """The library's GEMM for Blackwell in a configuration, on one block, pair or cluster.

    kind    nvfp4, fp8_block, or plain; `groups` the ends of the rows of each
    """
    from cutelite.kernels.blackwell import call as made
    from cutelite.kernels.blackwell.configs import Config

    put(made, clusters_at_once=lambda blocks, like: 1)
    chosen, random = Config(**config), of_examples("common").random
    m, n = (count * each for count, each in zip(tiles, chosen.tile, strict=True))
    if kind == "fp8_block":
        a, b = (random(rows, 528, dtype="float8_e4m3fn") for rows in (m, n))
        scales = (random(-(-rows // each), 5, dtype="float32") for rows, each in ((m, 1), (n, 128)))
        made.gemm_fp8_block(a, b, *scales, config=chosen)
    elif kind:
        x, y = (np.full((rows, 272), 0x22, np.uint8) for rows in (m, n))  # rows that TMA takes as they are
        scales = (made.arranged(np.full((rows, 34), 56, np.uint8)) for rows in (m, n))
        made.gemm_scaled(x, y, *scales, kind="nvfp4", config=chosen)
    elif groups:
        a, b = (random(*shape, dtype="bfloat16") for shape in ((m, 200), (len(groups), n, 200)))
        made.gemm_grouped(a, b, np.array(groups, np.int32), config=chosen)
    else:
        made.gemm(random(m, 200, dtype="bfloat16"), random(n, 200, dtype="bfloat16").T, config=chosen)


@later
def blackwell_attention(sq: int, sk: int) -> None:
    """Blackwell's attention, causal, head dim 64: one block."""
    from cutelite.kernels.blackwell.attention_call import attention

    q, k, v = (of_examples("common").random(1, n, 1, 64, dtype="bfloat16") for n in (sq, sk, sk))
    attention(q * 30, k, v, causal=True)


@later
def special(module: str, arguments: dict[str, Any], **config: Any) -> None:
    """The `main` of the example of a special GEMM, in a configuration."""
    made = alone(module.removeprefix("gemm_"))
    of_examples(module).main(**arguments, config=made.Config(**config))


def nearer(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """A `score_mod` that goes by the distance alone."""
    return score + 4.0 / (1 + abs(q_idx - kv_idx))


def squared(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """A `score_mod` whose derivative is another for each score."""
    return score * score


@later
def attention(sq: int, sk: int, score_mod: Any = None, **config: Any) -> None:
    """The kernel of attention, causal, head dim 64, in a configuration; one block, which goes from tile to tile."""
    from cutelite.kernels.attention import forward, model, scores

    made, random = model.Config(**config), of_examples("common").random
    problem = scores.Problem(cl.bf16, 64, 64, right=True, score_mod=score_mod)
    q, k, v, o = (random(1, 1, n, 64, dtype="bfloat16") for n in (sq, sk, sk, sq))
    numbers = 0.1, sk - sq, 1 << 30, 0, 1
    lse, counter = np.empty((1, 1, sq), np.float32), np.zeros(1, np.int32)
    forward.build(made, problem)[1](q, k, v, o, lse, None, counter, *numbers, *(None,) * 5, ())


def attention_ragged() -> None:
    """The kernel of attention over sequences one after the other, causal: one block, whose tiles end in mid-block.

    Tiles have 3, 2, no, 3, no and 4 blocks of keys. Behind the first of them 0, 1, 2 and 1 have masks: warpgroups take
    two masked turns in a row, and steps with and without masks hand back values that were cleared.
    """
    from cutelite.kernels.attention import forward, scores

    of_queries, of_keys = (np.array(x, np.int32) for x in ([0, 140, 140, 260, 320], [0, 140, 140, 320, 570]))
    problem, random = scores.Problem(cl.bf16, 64, 64, right=True, ragged=True), of_examples("common").random
    q, k, v, o = (random(1, 1, n, 64, dtype="bfloat16") for n in (320, 570, 570, 320))
    lse, counter, numbers = np.empty((1, 1, 320), np.float32), np.zeros(1, np.int32), (0.1, 1, 1 << 30, 0, 1)
    kernel = forward.build(forward_config(columns=64), problem)
    kernel[1](q, k, v, o, lse, None, counter, *numbers, o, of_queries, of_keys, None, None, ())


@later
def attention_fp8(sq: int, sk: int) -> None:
    """The kernel of attention in fp8, causal, with scales of blocks; one block, which goes from tile to tile."""
    from cutelite.kernels.attention import fp8, scores

    random = of_examples("common").random
    problem = scores.Problem(cl.e4m3, 64, 64, right=True)
    q, k, v = (random(1, 1, n, 64, dtype="float8_e4m3fn") for n in (sq, sk, sk))
    o, lse = random(1, 1, sq, 64, dtype="bfloat16"), np.empty((1, 1, sq), np.float32)
    counter, scales = (
        np.zeros(1, np.int32),
        [np.full((1, 1, -(-n // fp8.SCALED)), 0.5, np.float32) for n in (sq, sk, sk)],
    )
    made = forward_config(columns=64, regs=(24, 216))
    fp8.build(made, problem, True)[1](q, k, v, o, lse, *scales, counter, 0.1, sk - sq, 1 << 30, 0, 1)


def attention_blocks() -> None:
    """The kernel of attention with a block mask: one block, whose tiles have 3, no and 5 blocks of keys, some whole."""
    from cutelite.kernels.attention import forward, scores

    def mod(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return (q_idx + kv_idx) % 3 != 0

    random, nothing = of_examples("common").random, [5, 0, 0, 0, 0]
    problem = scores.Problem(cl.bf16, 64, 64, mask_mod=settled(mod), blocks=(128, 64))
    q, k, v, o = (random(1, 1, n, 64, dtype="bfloat16") for n in (310, 320, 320, 310))
    order = np.array([[[[4, 1, 2, 0, 3], nothing, [3, 0, 1, 4, 2]]]], np.int32)
    counts = np.array([[[[1, 3], [0, 0], [3, 5]]]], np.int32)
    lse, counter, numbers = np.empty((1, 1, 310), np.float32), np.zeros(1, np.int32), (0.1, 0, 1 << 30, 1 << 30, 1)
    made = forward_config(columns=64)
    forward.build(made, problem)[1](q, k, v, o, lse, None, counter, *numbers, *(None,) * 3, order, counts, ())


def forward_config(**config: Any) -> Any:
    """A configuration of attention's forward kernel."""
    from cutelite.kernels.attention import model

    return model.Config(**config)


@later
def attention_decode(keys: int, page: int) -> None:
    """The kernel of attention's decoding that computes parts: four queries, two heads that share keys."""
    from cutelite.kernels.attention import decoding, parts, scores

    random, slots = of_examples("common").random, -(-keys // page)
    k, v = (random(slots, 1, page, 64, dtype="bfloat16") for _ in "kv")
    table, lengths = np.arange(slots, dtype=np.int32)[::-1].reshape(1, slots).copy(), np.array([keys], np.int32)
    q = random(1, 4, 2, 64, dtype="bfloat16")
    kernel = decoding.build(parts.Config(), scores.Problem(cl.bf16, 64, 64, right=True), 2, page, False)
    launch, numbers = cl.Launch(1, decoding.THREADS), (0.1, 1, 1 << 30, 0)
    kernel[launch](q, k, v, q.copy(), np.empty((1, 2, 4), np.float32), lengths, None, table, None, *numbers, ())


def attention_gather() -> None:
    """The same kernel where clusters combine two parts of four blocks of keys, and one of three and one of none."""
    from cutelite.kernels.attention import decoding, parts, scores

    random, config = of_examples("common").random, parts.Config(stages=2)
    q, (k, v) = random(2, 4, 2, 64, dtype="bfloat16"), (random(2, 1, 512, 64, dtype="bfloat16") for _ in "kv")
    v[0, :, 450:] = v[1, :, 130:] = np.nan
    kernel = decoding.build(config, scores.Problem(cl.bf16, 64, 64, right=True), 2, 0, False, True)
    launch, numbers = cl.Launch((2, 2), decoding.THREADS, cluster=(1, 2)), (0.1, 1, 1 << 30, 0)
    sums, lengths, sinks = np.empty((2, 2, 4), np.float32), np.array([450, 130], np.int32), random(2)
    kernel[launch](q, k, v, q.copy(), sums, lengths, None, None, sinks, *numbers, ())


def attention_shares() -> None:
    """The same kernel with two shares of ten blocks of keys, of two sequences: two parts of a tile, and a whole one."""
    from cutelite.kernels.attention import decoding, parts, scores

    random = of_examples("common").random
    q, (k, v) = random(2, 4, 2, 64, dtype="bfloat16"), (random(2, 1, 384, 64, dtype="bfloat16") for _ in "kv")
    v[0, :, 322:] = v[1, :, 194:] = np.nan
    kernel = decoding.build(parts.Config(stages=2), scores.Problem(cl.bf16, 64, 64, right=True), 2, 0, False, even=True)
    launch, numbers = cl.Launch((1, 2), decoding.THREADS), (0.1, 1, 1 << 30, 0)
    held = np.empty((4, 8, 64), np.float32), np.empty((4, 8), np.float32), np.zeros(2, np.int32)
    results, lengths = (q.copy(), np.empty((2, 2, 4), np.float32)), np.array([322, 194], np.int32)
    kernel[launch](q, k, v, *results, lengths, None, None, None, *numbers, (), held)


@later
def attention_latent(keys: int) -> None:
    """The kernel of attention's decoding that computes parts, of latents: two queries, three heads."""
    from cutelite.kernels.attention import latent, scores

    random, lengths, heads = of_examples("common").random, np.array([keys - 10], np.int32), 3
    q, c = random(1, 2, heads, 192, dtype="bfloat16"), random(1, 1, keys, 192, dtype="bfloat16")
    problem, launch = scores.Problem(cl.bf16, 192, 128, right=True), cl.Launch(1, latent.THREADS)
    kernel = latent.build(latent.CHOSEN, problem, heads, 0, False)
    o, lse, numbers = q[..., :128].copy(), np.empty((1, heads, 2), np.float32), (0.1, 1, 1 << 30, 0)
    kernel[launch](q, c, o, lse, lengths, None, *numbers)


@later
def attention_combine(dim_v: int, sharing: int) -> None:
    """The kernel of attention's decoding, of latents too, that combines parts: two rows of six parts, with sinks."""
    from cutelite.kernels.attention import combining

    random, splits = of_examples("common").random, 6
    parts, sums = random(1, 1, 2, splits, dim_v), random(1, 2, 1, splits)
    o, lse, sinks = random(1, 1, 2, dim_v, dtype="bfloat16"), np.empty((1, 2, 1), np.float32), random(2)
    kernel, keys = combining.of_rows(cl.bf16, dim_v, 64, False, sharing, 4), splits * 64
    launch = cl.Launch(-(-dim_v // combining.WIDE) * sharing // 2, 128, pdl=True)
    kernel[launch](parts, sums, o, lse, None, None, sinks, keys, 1, keys)


@later
def attention_backward(
    sq: int,
    sk: int,
    dim: int,
    first: tuple[int, int] | None = None,
    window: tuple[int | None, int | None] = (None, 0),
    ordered: bool = False,
    dim_v: int = 0,
    which: int = 1,
    heads: int = 1,
    batch: int = 1,
    score_mod: Any = None,
) -> None:
    """A kernel of attention's backward pass, in the configuration that the library takes.

    window   the keys before a query's place, and behind it, that it sees; None: all
    dim_v    columns of values; 0: as many as of keys
    which    0: the kernel before, 1: the one that multiplies, 2 and 3: those behind it, for dq and dk
    heads    of queries, which are split, for one of keys
    ordered  it adds up dq in the order of keys, in one thread block more than batches; otherwise one has all tiles
    first    of two ragged sequences, the numbers of queries and keys of the first one; None: sequences are not ragged
    """
    left, right = (1 << 30 if n is None else n for n in window)
    masks = {"left": window[0] is not None, "right": window[1] is not None, "score_mod": score_mod}
    problem = Problem(cl.bf16, dim, dim_v or dim, ragged=first is not None, **masks)
    plan, ragged = replace(backward_plan.Plan.of(problem), split=heads > 1), int(first is not None)
    random = of_examples("common").random
    blocks = -(-sq // plan.config.rows) + ragged
    q, k = (random(batch, h, n, dim, dtype="bfloat16") for h, n in ((heads, sq), (1, sk)))
    do, v = (random(batch, h, n, problem.dim_v, dtype="bfloat16") for h, n in ((heads, sq), (1, sk)))
    kind = "bfloat16" if plan.extended else "float32"
    base = random(batch, heads, blocks * plan.of_rows[1], plan.of_rows[2], dtype=kind)
    sums = np.zeros((batch, heads, blocks, plan.count, 64 * plan.columns), np.float32)
    last = [min(plan.config.rows * (m + 1) - 1 + right, sk - 1) // plan.keys for m in range(blocks)]
    turns = np.array([[[[x] * plan.adders for x in last]] * heads] * batch, np.int32) if ordered else None
    counter = np.zeros(1, np.int32)
    dk, dv, given = np.empty_like(k), np.empty_like(v), Given(0.1, 0, left, right, 1)
    starts = Starts(None, None)
    parts: tuple[Any, ...] = (None, None)
    if first:
        starts = Starts(*(np.array([0, *x], np.int32) for x in zip(first, (sq, sk), strict=True)))
    arrays = (dk, dv) if first else (None, None)
    if plan.split:
        shape = batch, heads, -(-sk // plan.keys)
        parts = tuple(
            np.zeros((*shape, plan.pieces(n), plan.keys * n // plan.pieces(n)), np.float32) for n in plan.dims
        )
    grid, dq = batch * blocks * heads, np.empty_like(q)
    if which == 0:
        lse = np.zeros((batch, heads, sq), np.float32)
        backward_outer.prepare(plan)[grid, 256](do, do, lse, lse, base, sums, turns, given, starts, sk)
    elif which == 2:
        backward_outer.finish(plan, 2)[cl.Launch(grid, 256, pdl=True)](dq, sums, 0.1, dq if first else None, starts)
    elif which == 3:
        launch = cl.Launch(batch * -(-sk // plan.keys), 256, pdl=True)
        backward_outer.finish(plan, 0)[launch](dk, parts[0], 0.1, None, starts)
    own = q, k, v, do, base, sums, turns, counter, (dk, dv), given, starts, arrays, parts
    backward.gradients(plan)[cl.Launch(1 + batch * ordered, plan.threads)](*own)


@later
def experts(tokens: int, rows: int, kept: bool = False) -> None:
    """The GEMM of experts that gathers rows, with a gate, on one block: three experts, one of them without rows."""
    from cutelite.kernels.moe import grouped

    put(grouped, clusters_at_once=lambda blocks, like: 1)
    random, n, k = of_examples("common").random, 128, 136 if kept else 264  # the ring turns at each place
    x, b, d = (random(*shape, dtype="bfloat16") for shape in ((tokens, k), (3, 2 * n, k), (rows, n)))
    ends, places = np.array([70, 70, rows], np.int32), np.arange(rows, dtype=np.int32) % tokens
    config = grouped.Config((64, 256), True, 4, behind=2) if kept else grouped.Config((128, 128), stages=3)
    sums = random(rows, 2 * n, dtype="bfloat16") if kept else None
    grouped.run(grouped.Problem(cl.bf16, True, True, kept), x, b, ends, d, places, sums, config)


@later
def experts_gradient(side: Literal["A", "B"]) -> None:
    """The GEMM of the gradients of experts' matrices, on one block."""
    from cutelite.kernels.moe import wgrad

    put(wgrad, clusters_at_once=lambda blocks, like: 1)
    random, rows = of_examples("common").random, np.arange(201, dtype=np.int32) % 60
    a, b = (random(count, 136, dtype="bfloat16") for count in ((60, 201) if side == "A" else (201, 60)))
    ends, d = np.array([70, 70, 201], np.int32), random(3, 136, 136, dtype="bfloat16")
    wgrad.run(cl.bf16, side, a, b, ends, rows, d, wgrad.Config(128, 3))


def experts_narrow() -> None:
    """The GEMM of experts with weights of 4 bits, on one block: two tiles of weights, three of rows."""
    from cutelite.kernels.moe import narrow

    put(narrow, clusters_at_once=lambda blocks, like: 1)
    numbers, rows = np.random.default_rng(0), np.arange(60, dtype=np.int32) % 30
    x, d = (of_examples("common").random(*shape, dtype="bfloat16") for shape in ((30, 264), (60, 72)))
    w = narrow.pack(numbers.integers(-8, 8, (2, 72, 264)), np.ones((2, 72, 9)), "i4")
    problem, ends = narrow.Problem("i4", 32, gather=True), np.array([20, 60], np.int32)
    narrow.run(problem, x, w, ends, d, rows, narrow.Config(32, 1, 4, 2))


def sorted_by_expert() -> None:
    """The kernel that sorts pairs of a token and an expert."""
    from cutelite.kernels.moe import sort

    sort(np.random.default_rng(0).integers(0, 40, (60, 4)).astype(np.int32), 40)


SOURCES: dict[str, Run] = {
    "hopper_gemm": example("hopper_gemm", 128, 256, 520),  # 9 steps through a ring of 4, so that it turns twice
    "hopper_gemm_tiled": example("hopper_gemm_tiled", 128, 512, 456, 1),  # two tiles by one block, a ring of 3
    "tensorop_gemm": example("tensorop_gemm", 128, 128, 144),
    "tma_transpose": example("tma_transpose", 64, 128),
    "dsmem": case("hopper.test_cluster", "test_distributed_shared_memory", simulator),
    "st_async": case("hopper.test_cluster", "test_asynchronous_stores_and_reductions", simulator),
    "multicast": case("hopper.test_cluster", "test_multicast_fills_all_blocks", simulator),
    "cp_async": case("hopper.test_copies", "test_groups_of_cp_async", 4, simulator),
    "cp_async_mbarrier": case("hopper.test_copies", "test_copies_that_arrive", True, simulator),
    "bulk": case("hopper.test_copies", "test_bulk_copies", simulator),
    "pipeline_threads": case("lib.test_pipelines", "test_producers_and_consumers", simulator, "threads", 2),
    "pipeline_cp_async": case("lib.test_pipelines", "test_producers_and_consumers", simulator, "cp.async", 2),
    "pipeline_multicast": case("lib.test_pipelines", "test_tma_with_multicast", simulator, 2),
    "pipeline_both": case("lib.test_pipelines", "test_tiles_for_wgmma_and_numbers_for_loads", simulator, 1),
    "pipeline_order": case("lib.test_pipelines", "test_groups_take_turns", simulator),
    "named_barriers": case("lib.test_pipelines", "test_named_barriers", simulator),
}
"""Kernels by name: examples with asynchrony, and kernels of the tests for what no example uses."""


def of_kind(module: str, run: str) -> Run:
    """A small kernel of `tests/mutate/kernels`."""
    return lambda: getattr(importlib.import_module(f"tests.mutate.kernels.{module}"), run)()


KINDS: dict[str, Run] = {
    run: of_kind(module, run)
    for module, runs in {
        "handshakes": (
            "single_queue many_producers turnstile spin_lock last_block look_back tile_counter between_clusters "
            "grid_barrier shared_queue between_proxies volatile_flag"
        ),
        "roles": (
            "three_roles named_turns two_buffers fed_by_cp_async arrivals_of_copies barrier_again registers_move "
            "within_warps asked_for fewer_and_fewer tma_sums sums_by_both overlapping_launch states_of_phases "
            "matrices_through_tma"
        ),
        "clusters": (
            "split_sums multicast_ring systolic_ring bulk_exchange split_histogram flags_in_shared_memory "
            "split_barrier votes_in_both"
        ),
    }.items()
    for run in runs.split()
}
"""Small kernels of all kinds of asynchrony, each by the name of what launches it."""

LARGE: dict[str, Run] = {
    "blackwell_gemm_pair": example("blackwell_gemm_pair", 256, 1024, 136, 2),
    "blackwell_gemm": example("blackwell_gemm", 128, 1024, 136, 1),  # four tiles: rings of 4, of 2 accumulators
    "blackwell_library": blackwell(tile=(128, 64), pair=False, stages=3, tiles=(1, 5)),
    "blackwell_library_pair": blackwell(tile=(256, 128), stages=3, tiles=(1, 5)),
    "blackwell_library_cluster": blackwell(tile=(128, 64), pair=False, cluster=(2, 1), stages=3, tiles=(2, 5)),
    "blackwell_library_scaled": blackwell("nvfp4", tile=(128, 128), pair=False, stages=2, tiles=(1, 5)),
    "blackwell_library_scaled_pair": blackwell("nvfp4", tile=(256, 128), stages=2, tiles=(1, 5)),
    "blackwell_library_fp8": blackwell("fp8_block", tile=(128, 64), pair=False, stages=3),
    "blackwell_library_fp8_pair": blackwell("fp8_block", tile=(256, 128), stages=3),
    "blackwell_library_grouped": blackwell(tile=(128, 64), pair=False, stages=3, tiles=(3, 2), groups=(128, 128, 340)),
    "blackwell_attention": blackwell_attention(140, 650),  # six blocks, of which some have outgrown those before
    "gemm": gemm(128, 256, 264, tile=(128, 128), cluster=(1, 1), stages=3, piece=32, buffers=2),
    "gemm_pingpong": gemm(64, 192, 200, tile=(64, 64), pingpong=True, cluster=(1, 1), stages=3, buffers=1),
    "gemm_cluster": gemm(256, 128, 264, tile=(128, 64), cluster=(2, 1), stages=3, piece=32, buffers=1),
    "gemm_split": gemm(128, 64, 680, False, tile=(128, 64), cluster=(1, 1), stages=3, piece=32, buffers=1, splits=2),
    "gemm_single": gemm(  # a tile of 9 steps through a ring of 4, whose results lie where its operands were
        128, 256, 520, False, tile=(128, 256), cluster=(1, 1), stages=3, buffers=1
    ),
    "gemm_swapped": gemm(
        96, 192, 200, tile=(64, 48), pingpong=True, cluster=(1, 1), stages=3, piece=48, buffers=1, swapped=True
    ),
    "gemm_streamed": gemm(  # three blocks share the last two of five tiles; one of them has parts of both
        64, 320, 328, blocks=3, tile=(64, 64), pingpong=True, cluster=(1, 1), stages=3, buffers=1, stream=1
    ),
    "gemm_loaded": gemm(  # warpgroups load rows that begin anywhere by turns, for three tiles of four steps
        8, 144, 201, False, tile=(64, 64), pingpong=True, cluster=(1, 1), stages=3, buffers=1
    ),
    "gemm_rotated": gemm_rotated,
    "gemm_along_k": gemm_of_groups_along_k,
    "gemm_finished": gemm_finished,
    "gemm_gated": gemm_gated,
    "gemm_pointers": gemm_pointers,
    "gemm_prepared": gemm_prepared,
    "gemm_vectors": gemm_vectors,
    "gemm_fp8_block": special(
        "gemm_fp8_block", {"m": 128, "n": 192, "k": 528}, groups=2, columns=64, stages=4, buffers=1, regs=(40, 232)
    ),
    "gemm_fp8_strips": special(
        "gemm_fp8_block", {"m": 256, "n": 192, "k": 528}, groups=2, strips=2, columns=64, buffers=1, regs=(40, 232)
    ),
    "gemm_grouped": special(
        "gemm_grouped", {"counts": (128, 0, 70, 128), "n": 136, "k": 264}, tile=(128, 128), cluster=(1, 1), stages=3
    ),
    "gemm_mixed": special("gemm_mixed", {"t": 20, "n": 200, "k": 528}, tokens=16, stages=2),
    "sparse_gemm": example("sparse_gemm", 128, 200, 640),
    "attention_backward": attention_backward(330, 512, 64, score_mod=squared),
    "attention_backward_extended": attention_backward(330, 512, 64),
    "attention_backward_relative": attention_backward(330, 512, 64, score_mod=nearer),
    "attention_backward_ragged": attention_backward(644, 550, 64, (384, 400)),
    "attention_backward_wide": attention_backward(150, 384, 136),
    "attention": attention(308, 330, columns=64),
    "attention_late": attention(436, 500, columns=128, late=True),
    "attention_relative": attention(308, 330, nearer, columns=64),
    "attention_backward_early": attention_backward(270, 512, 128),
    "attention_backward_chosen": attention_backward(270, 384, 128, window=(None, None)),
    "attention_backward_apart": attention_backward(270, 512, 136, dim_v=128),
    "attention_backward_96": attention_backward(270, 512, 96),
    "attention_backward_ordered": attention_backward(  # of each batch tiles with 3, 2, 1 blocks of queries, and none
        300, 512, 64, window=(-150, None), ordered=True, batch=2
    ),
    "attention_backward_ordered_wide": attention_backward(150, 384, 136, window=(-170, None), ordered=True, batch=2),
    "attention_backward_split": attention_backward(330, 512, 64, heads=2),
    "attention_backward_split_128": attention_backward(270, 256, 128, window=(None, None), heads=2),
    "attention_backward_split_wide": attention_backward(150, 384, 136, heads=2),
    "attention_backward_prepare": attention_backward(150, 256, 64, which=0),
    "attention_backward_finish": attention_backward(150, 256, 64, which=2),
    "attention_backward_parts": attention_backward(150, 256, 64, which=3, heads=2),
    "attention_fp8": attention_fp8(308, 330),
    "attention_blocks": attention_blocks,
    "attention_decode": attention_decode(359, 17),
    "attention_gather": attention_gather,
    "attention_shares": attention_shares,
    "attention_combine": attention_combine(64, 2),
    "attention_combine_wide": attention_combine(512, 1),
    "attention_ragged": attention_ragged,
    "experts": experts(50, 198),
    "experts_kept": experts(50, 134, True),
    "attention_latent": attention_latent(260),
    "experts_gradient": experts_gradient("A"),
    "experts_sort": sorted_by_expert,
    "experts_narrow": experts_narrow,
}
"""Those that take too long for `make test`."""


@later
def rows(name: str) -> None:
    """A kernel of rows, on small arrays."""
    from ml_dtypes import bfloat16

    from cutelite.kernels.rows import cross_entropy as loss
    from cutelite.kernels.rows import norm, quantise, scan, softmax
    from cutelite.kernels.rows.narrow import Narrow
    from cutelite.kernels.rows.plan import Plan
    from cutelite.lib import reduce

    x = np.random.default_rng(0).standard_normal((5, 256)).astype(np.float32)
    many = np.tile(x, (2, 1))[:9]  # more rows than two clusters know of at the start
    short, targets = np.tile(many, 2).astype(bfloat16), np.arange(9) * 40 - 40
    odd = np.tile(x, (2, 1)).ravel()[4 : 4 + 11 * 113].reshape(11, 113)  # the first row begins amid a sector of memory
    even = np.tile(x, (2, 1)).ravel()[4 : 4 + 23 * 58].reshape(23, 58)  # rows begin in four ways
    targets[0], far = -100, np.arange(9, dtype=np.float32)  # lse of rows, below and above 4
    cases: dict[str, Callable[[], object]] = {
        "ring": lambda: softmax.softmax(many, how=Plan(32, 1, 2, 4, 1, stages=2)),
        "ends": lambda: softmax.softmax(odd, how=Plan(32, 1, 2, 4, 1, stages=2, shifted=True)),
        "queue": lambda: softmax.softmax(many, how=Plan(32, 1, 2, 4, 1, ahead=1)),
        "sums": lambda: norm.norm_backward(
            x, norm.Normed(None, x, None, np.ones(5, np.float32)), x[0], how=Plan(64, 1, 2, 2, 1, shared_sums=1)
        ),
        "scan": lambda: scan.cumsum(np.arange(140_000, dtype=np.int32)),
        "top_k": few_candidates,
        "gradients": lambda: norm.norm_backward(
            np.tile(x[:, :128], (3, 1))[:12],
            norm.Normed(None, np.tile(x[:, :128], (3, 1))[:12], None, np.ones(12, np.float32)),
            x[0, :128],
            how=Plan(32, 1, 2, 4, 1, stages=2, shared_sums=1),
        ),
        "planes": lambda: norm.norm_backward(
            odd,
            norm.Normed(None, odd, None, np.ones(11, np.float32)),
            odd[0],
            how=Plan(32, 1, 2, 4, 1, stages=2, shared_sums=1, shifted=True, planes=True),
        ),
        "apart": lambda: norm.norm_backward(
            even,
            norm.Normed(None, even, None, np.ones(23, np.float32)),
            even[0],
            how=Plan(32, 1, 1, 4, 2, stages=2, shared_sums=1, shifted=True, ends=1),
        ),
        "apart_cluster": lambda: norm.norm_backward(
            even,
            norm.Normed(None, even, None, np.ones(23, np.float32)),
            even[0],
            how=Plan(32, 1, 2, 4, 2, stages=2, shared_sums=1, shifted=True, ends=2),
        ),
        "loss": lambda: loss.cross_entropy_gradient(far, many, targets, out=many, how=Plan(32, 1, 2, 4, 1, ahead=0)),
        "loss_ahead": lambda: loss.cross_entropy(many, abs(targets), how=Plan(32, 1, 2, 4, 1, ahead=1)),
        "loss_backward": lambda: loss.cross_entropy_backward(
            far, many, targets, far, out=many, how=Plan(32, 1, 2, 4, 1)
        ),
        "softmax_backward": lambda: softmax.softmax_backward(many, many, how=Plan(32, 1, 2, 4, 1, ahead=1)),
        "narrow_norm": lambda: norm.rms_norm(*beyond(9, 512), narrow=Narrow(), how=Plan(32, 1, 2, 8, 1, stages=1)),
        "quantise": lambda: quantise.quantise(short, how=Plan(32, 1, 2, 8, 1, stages=1)),
        "sort": small_sort,
        "steps": small_steps,
    }
    with instead(reduce, HANDED=1):  # so that few rows come to places that are used again
        cases[name]()


def few_candidates() -> None:
    """The greatest of a row, with room for so few that it is gone through again to find them."""
    from cutelite.kernels.rows import select
    from cutelite.kernels.rows.plan import Plan

    x = np.round(numbers(1, 128) * 0.8)
    with instead(select, CANDIDATES=8):
        select.top_k(x, 5, how=Plan(64, 1, 1, 1, 1))


def small_steps() -> None:
    """A step of AdamW: seven parts of a tile each, of three tensors, by two blocks."""
    from cutelite.kernels.rows import adamw

    p, g, m, v = ([np.full(n, i, np.float32) for n in (2500, 1500, 1100)] for i in range(4))
    with instead(adamw, clusters_at_once=lambda *_: 2, TAKEN=1):
        adamw.adamw(p, g, m, v, 1)


def small_sort() -> None:
    """A pass of the sort over three tiles of the smallest size that digits allow."""
    from cutelite.kernels.rows import sort

    keys = np.random.default_rng(0).integers(0, 1000, 1200).astype(np.int32)
    totals = np.bincount(keys & 255, minlength=256).astype(np.int32)
    with instead(sort, THREADS=256, EACH=2):
        move = sort.moving.__wrapped__(cl.i32, None, cl.i32, 0, False, cl.i32)
        states = np.zeros(3 * sort.DIGITS + 1, np.int32)
        move[3, 256](keys, None, totals, states, np.empty_like(keys), np.empty_like(keys))


ROWS_KERNELS = (
    "ring ends queue sums scan top_k gradients planes apart apart_cluster loss loss_ahead loss_backward "
    "softmax_backward narrow_norm quantise sort steps"
)
LARGE |= {f"rows_{name}": rows(name) for name in ROWS_KERNELS.split()}
LARGE |= {name: plain.run for name, plain in PLAIN.items()}

UNTOUCHED = {"overlapping_launch": ("weights", "out")}
ORDERED: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("attention_backward_ordered", "attention_backward_ordered_wide"), ("sums",)
)


class _Found(Exception):
    """An exception that says that the launch looked for has been made."""


@functools.cache
def launched(name: str) -> Launched:
    found = first_launch({**SOURCES, **KINDS, **LARGE}[name], PLAIN[name].which if name in PLAIN else 0)
    waits = any(op.name == "griddepcontrol.wait" for op in found.function.ops())
    untouched = UNTOUCHED.get(name, () if name in LARGE else None)
    return found._replace(pdl=found.pdl or waits, untouched=untouched, ordered=ORDERED.get(name, ()))


def first_launch(run: Callable[[], object], which: int = 0) -> Launched:
    """Return launch number `which` of those that `run` makes; those before it are executed, nothing after it."""
    found: list[Launched] = []
    seen = 0

    def take(kernel: Any, launch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        nonlocal seen
        seen += 1
        checked = kernel._checked(launch, args, kwargs)
        function, values, dims = simulation(kernel, checked.spec, checked.bound)
        if seen <= which:
            sim.run(function, checked.grid, values, dims=dims, smem_dynamic=launch.smem)
            return
        found.append(Launched(function, checked.grid, values, dims, launch.smem, launch.pdl))
        raise _Found

    try:
        with diverted(take):
            run()
    except _Found:
        return found[0]
    raise LookupError(f"only {seen} launches are made")
