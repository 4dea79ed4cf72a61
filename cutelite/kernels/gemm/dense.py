"""d = activation(alpha * (a @ b) + beta * c + bias) on Hopper, at the speed of cuBLAS and above.

A block is one warpgroup that loads and two that multiply. Blocks stay, and take tiles of the result in turn. One thread
brings tiles of A and B by TMA into a ring of stages; blocks of a cluster share what both need. The other warpgroups
multiply by wgmma and write their results by stmatrix and TMA while the next tiles are loaded. Either they work on one
tile together (cooperative), half of its rows each, or on a tile each in turn (ping-pong), so that one stores while the
other multiplies.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import takewhile
from math import inf
from typing import Any, Literal, TypeVar, cast

import cutelite as cl
import cutelite_rt as rt
from cutelite import Smem, Tensor, TmaTensor, f32, i32, u32
from cutelite.kernels.arguments import Misfit
from cutelite.kernels.arrays import clusters_at_once, empty, flags
from cutelite.kernels.gemm import model
from cutelite.kernels.gemm.configs import ALONE, CONFIGS, Config, Launched, Problem
from cutelite.kernels.gemm.fits import (
    LOADERS,
    all_copied,
    beside_c,
    boxes_of,
    check_config,
    made_for,
    settled,
    single,
    span,
    steps_ahead,
    stored,
    threads_of,
    wide,
)
from cutelite.kernels.gemm.loads import WORDS
from cutelite.kernels.gemm.picks import Picks
from cutelite.kernels.gemm.pitch import UNIT
from cutelite.kernels.gemm.plan import PITCHES, Plan
from cutelite.kernels.gemm.prepare import beside
from cutelite.kernels.gemm.rates import BEHIND
from cutelite.kernels.gemm.sums import add_up
from cutelite.kernels.gemm.tiling import GROUP, C, E, K, L, M, N


@cache
def build(config: Config, problem: Problem, launched: Launched = ALONE) -> Any:
    """Make the kernel, of a configuration that `check_config` lets pass."""
    plan = Plan(config, problem, launched)
    (BM, BN), (CM, CN), WIDE = config.tile, config.cluster, wide(config, problem)
    A, B, D, BIAS, SCALE_A, SCALE_B, MORE, PLAIN, AHEAD, PARTS = types(plan)
    ROWS, FEW, Storage = plan.rows, plan.few, storage_of(plan)

    @cl.kernel(block=threads_of(problem), cluster=(CM * CN * config.together, 1, 1) if plan.in_clusters else None)
    def gemm(
        a: A, b: B, d: D, c: D | None, bias: BIAS | None,
        scale_a: SCALE_A | None, scale_b: SCALE_B | None, alpha: f32, beta: f32, more: MORE | None,
        ends: Tensor[i32, (E,)] | None, plain: PLAIN | None, ahead: AHEAD | None, parts: PARTS | None,
    ) -> None:  # fmt: skip
        if cl.thread_idx.x == 0:
            for t in plan.mapped(a, b, d):
                cl.prefetch_tensormap(t)
        storage = Storage.allocate()
        if plan.high > FEW:
            cl.cooperative_clear(storage.a)
        pipe = plan.pipe()
        second = cl.warpgroup_idx() // 2
        turns = cl.PipelineOrder.create(1, 2, second, GROUP, sync=False) if config.pingpong else None
        fetch = cl.Fetch.create((2, 1 + config.buffers))
        cl.pipeline_init_arrive(plan.clustered)
        tiles = plan.tiles(d.shape[:-2], ends)  # type: ignore[attr-defined]
        first = plan.place(tiles, ends)
        if not launched.late:
            cl.griddepcontrol_launch_dependents()
        cl.pipeline_init_wait(plan.clustered)
        if plan.loads():
            cl.setmaxnreg_dec(plan.regs[0])
            if problem.loaded:
                plan.load(a, b, storage, pipe, tiles, first)
            elif cl.thread_idx.x == 0:
                plan.produce(a, b, storage, pipe, tiles, first, ends)
                if launched.late:
                    cl.griddepcontrol_launch_dependents()
        else:
            cl.setmaxnreg_inc(plan.regs[1])
            plan.wait()
            group, thread = cl.warpgroup_idx() - 1, cl.thread_idx.x % GROUP
            ring = plan.over(storage) if launched.single else storage.d
            pieces = cl.local_tile(ring, (64, WIDE, config.buffers), (0, 0, group))
            done = cl.NamedBarrier(1 + group, GROUP)
            several, op = max(1, problem.direct), plan.mma(WIDE)
            out = cl.ResultRing.create(pieces, op, thread, done, problem.turned, several, launched.single)
            finish = problem.finish and plan.finish(problem.finish, more, (M, C // 2 if problem.halves else C), plain)
            scales = cl.Scales(scale_a, scale_b)
            fused = cl.Fused(c, bias, scales, alpha, beta, problem.activation, problem.turned, finish)
            groups, its = (1, 0) if config.together > 1 and config.pingpong else (2, group)  # of one tile, one has all
            ready = None if config.pingpong else cl.NamedBarrier(3, 2 * GROUP)
            free = storage.a if config.swapped and BM > BN else storage.b
            sums = cl.Epilogue.create(
                (ROWS, plan.results), out, d, fused, cl.Fetch(fetch.bars[group, None]), groups=groups, group=its,
                blocks=config.together, memory=free.ptr, sums=problem.acc, ready=ready)  # fmt: skip
            shares = plan.parts(parts, thread, done, group)
            plan.consume(sums, storage, pipe, turns, tiles, group, ends, ahead or (), shares)

    return gemm


PATTERN = 1024
"""Bytes after which the widest swizzle repeats, which results have that lie where operands were (`Launched.single`)."""


def storage_of(plan: Plan) -> Any:
    """Make the class of a block's shared memory."""
    config, problem, (BM, BN) = plan.config, plan.problem, plan.config.tile
    units = all_copied(problem, config.tile)

    class Storage(cl.SharedStorage):
        a: Smem[problem.a, stages_of(problem.a, (plan.high, plan.depth, config.stages), problem.majors[0], BM), PATTERN]
        b: Smem[problem.b, stages_of(problem.b, (BN, plan.depth, config.stages), problem.majors[1], plan.each), PATTERN]
        if not plan.launched.single:
            d: Smem[problem.d, plan.ring, 128]  # for TMA
        if problem.loaded:
            copied: Smem[u32, cl.make_layout((WORDS, units, LOADERS * steps_ahead(config, problem))), UNIT]

    return Storage


def stages_of(dtype: Any, shape: tuple[int, int, int], major: str, part: int) -> Any:
    """The layout of an operand's stages, of whose rows a warpgroup multiplies `part`: these are whole spans."""
    if major == "K":
        return cl.make_smem_layout(dtype, shape)
    swizzle: Any = f"{span(part, dtype.bytes) * dtype.bytes}B"
    return cl.tile_to_shape(cl.make_smem_layout_atom(dtype, "MN", swizzle), shape, (1, 0, 2))


def types(plan: Plan) -> tuple[Any, ...]:
    """The types of the kernel's parameters."""
    config, problem = plan.config, plan.problem
    batched, splits = problem.batched, config.splits
    left, right = boxes_of(config, problem, plan.few)
    assert left is not None and right is not None  # `check_config`
    of_b = N if problem.finish is None and problem.gate is None else C
    a = matrix(problem.a, M, K, left, problem.majors[0], plan.lead("A"))
    b = matrix(problem.b, of_b, K, right, problem.majors[1], plan.lead("B"))
    if "A" in problem.loaded:
        a = matrix_as_it_lies(problem.a, M, problem.majors[0], plan.lead("A"), *PITCHES[0])
    if "B" in problem.loaded:
        b = matrix_as_it_lies(problem.b, N, problem.majors[1], plan.lead("B"), *PITCHES[1])
    batches = (L * splits,) if batched and splits > 1 else plan.lead("D") or (splits,) * (splits > 1)
    d = matrix(problem.d, M, N, (64, wide(config, problem)), plan.along, batches)
    if problem.direct:
        d = Tensor[problem.d, (*batches, *((N, M) if problem.turned else (M, N))), (*(None,) * (1 + len(batches)), 1)]
    line = ((M,), (plan.rows,)) if problem.turned else ((N,), (plan.each,))
    bias, one = TmaTensor[problem.bias or f32, *line, "none"], Tensor[f32, (1,)]
    scale_a = TmaTensor[f32, (M,), (plan.rows,), "none"] if problem.rowwise else one
    scale_b = TmaTensor[f32, (N,), (plan.each,), "none"] if problem.rowwise else one
    more = tuple[tuple(beside(number, *kind) for number, kind in enumerate(problem.tensors))]  # type: ignore[misc]
    lead, row = len(plan.lead("D")), (cl.Dim("R", 16 // problem.d.bytes), 1)
    plain = Tensor[problem.d, (None,) * (lead + 2), (*(cl.Dim("Q", 16 // problem.d.bytes),) * lead, *row)]
    ahead = tuple[tuple(beside(len(more.__args__) + number, *kind) for number, kind in enumerate(problem.beside))]  # type: ignore[misc]
    sums = Tensor[problem.acc, (None, *plan.laid)]
    return a, b, d, bias, scale_a, scale_b, more, plain, ahead, tuple[sums, Tensor[i32, (None,)]]


def matrix(dtype: Any, rows: Any, columns: Any, box: tuple[int, int], major: str, batches: Any) -> Any:
    """The type of a TMA tensor, with batches if there are any, declared the other way round if not K-major."""
    shape, (high, wide) = ((rows, columns), box) if major == "K" else ((columns, rows), (box[1], box[0]))
    wide = stored(wide, dtype.bytes)
    lead = len(batches)
    return TmaTensor[dtype, (*batches, *shape), (*(1,) * lead, high, wide), (*(None,) * (1 + lead), 1)]


def matrix_as_it_lies(dtype: Any, rows: Any, major: str, lead: Any, batch: Any, row: Any) -> Any:
    """The type of an operand that threads load, with batches if there are any."""
    shape = (rows, K) if major == "K" else (K, rows)
    return Tensor[dtype, (*lead, *shape), ((batch, row, 1) if lead else (row, 1)), cl.align(16)]


def run(
    config: Config, problem: Problem, a: Any, b: Any, d: Any, fused: cl.Fused, ahead: tuple[Any, ...] = (), *,
    early: bool = False, there: bool = False,
) -> None:  # fmt: skip
    """Launch what a configuration needs.

    a, b   (..., M, K) or (..., K, M) as `problem` says, B likewise
    ahead  tensors of the function that makes A
    early  B is read once, as `call.multiply` has it; `there`: it is complete before the previous kernel begins
    """
    config = settled(config, problem)
    (bm, bn), (cm, cn), (m, n), splits = config.tile, config.cluster, d.shape[-2:], config.splits
    k, columns = problem.extents(a, b)
    deep = k * problem.bytes
    steps = -(-deep // 128)
    if splits * config.together > 1:  # as far as there are steps along K
        together = config.together if steps >= config.together else 1
        splits = min(splits, steps // together)
        config = replace(config, splits=splits, together=together)
    check_config(config, problem)
    if fused.c is not None and not problem.direct and config.splits * config.together == 1:
        config = beside_c(config, problem)
    batches = d.shape[0] if problem.batched else 1
    high, across = (columns, m) if config.swapped else (m, columns)
    down, right = -(-high // (bm * cm)), -(-across // (bn * cn))
    clusters, at_once = down * right * batches * splits, clusters_at_once(config.blocks, d)
    if config.raster is None and clusters > at_once:
        config = replace(config, **order_of(config, down, right, steps, (m + n) * deep))
    if config.stream and clusters % at_once == 0:
        config = replace(config, stream=0)  # the last round is whole
    launched = clusters if config.together > 1 else at_once if config.stream else min(clusters, at_once)
    late = bool(model.is_late(splits, launched / at_once, batches * (m + n) * deep)) and not (early or problem.loaded)
    one = single(config, problem, steps) if clusters <= at_once and fused.c is None else None
    how = Launched(early and m <= config.of_a, late, one is not None, early and there)
    config, launch = one or config, cl.Launch(launched * config.blocks, threads_of(problem), pdl=True)
    if splits == 1:
        multiply(config, problem, how, launch, a, b, d, fused, ahead)
        return
    plain = replace(problem, d=problem.acc, bias=None, activation=None, rowwise=False, direct=0)
    parts = empty(d, (batches * splits, m, -(-n // 16) * 16), problem.acc.name)[..., :n]
    multiply(config, plain, how, launch, a, b, parts, cl.Fused(), ahead)
    add_up(problem, splits, parts, d, fused)


def order_of(config: Config, down: int, right: int, steps: int, bytes: int) -> dict[str, Any]:
    """Return fields of `Config` for the order of several rounds of tiles.

    down, right  tiles of clusters along M and N, as the kernel has them
    bytes        of the operands
    """
    if model.stores_rows(steps, bytes):
        return {"raster": "M" if config.swapped else "N", "swizzle": 1}
    (cm, cn), bands = config.cluster, config.swizzle
    return {"raster": "N"} if cn > cm and 1 < down <= bands < right else {}


def multiply(
    config: Config, problem: Problem, how: Launched, launch: cl.Launch, a: Any, b: Any, d: Any, fused: cl.Fused,
    ahead: Any = (),
) -> None:  # fmt: skip
    """Launch the kernel of a configuration, which may have A and B in each other's place."""
    if config.swapped:
        problem, a, b = problem.swapped, b, a
        fused = replace(fused, scales=cl.Scales(fused.scales.b, fused.scales.a))
    elif problem.narrow is not None:
        problem = replace(problem, narrow=None)  # one kernel for any number of columns
    parts, blocks = None, cast(int, launch.grid)
    if config.stream:
        sums = empty(d, (blocks, *Plan(config, problem).laid), problem.acc.name)
        parts = sums, flags(d, 2 * blocks)
    tensors = fused.finish.tensors if fused.finish is not None else ()
    flat = fused.c, fused.bias, fused.scales.a, fused.scales.b, fused.alpha, fused.beta, tensors or None
    plain = d if reaches_beyond(config, problem, problem.extents(a, b)[1], d) else None
    build(config, problem, how)[launch](a, b, d, *flat, None, plain, ahead or None, parts)


def reaches_beyond(config: Config, problem: Problem, columns: int, d: Any) -> bool:
    """Tell whether a function stores of tiles that reach to columns of `d` which are none of the product's."""
    whole = columns % (config.tile[1] * config.cluster[1]) == 0
    return problem.finish is not None and not whole and problem.columns(columns) < d.shape[-1]


T = TypeVar("T")
NEAR, NEARER, LONG = 1.2, 1.1, 100.0
"""Times the shortest time that is expected: what takes longer is not measured; and likewise for what takes so many
microseconds, of which the model is more certain."""


def ranked(
    configs: list[Config], problem: Problem, a: Any, b: Any, d: Any, early: bool = False
) -> Iterator[tuple[float, Config]]:
    """Yield (microseconds, configuration) of those that exist for these types, by the model, the fastest first.

    early  kernels load what is there before the one ahead has ended, as in `call.multiply`
    """
    every, sizes = model.kept(configs), model.sizes_of(problem, a, b, d)
    of = every.part(model.worth(every, problem, sizes).nonzero()[0])
    times = model.microseconds(of, problem, sizes, model.at_once_of(of, d), model.stacks_of(d)) + early * BEHIND * (
        of.tiles.splits > 1
    )
    for i in times.argsort(kind="stable").tolist():
        if times[i] == inf:
            return
        if made_for(of.configs[i], problem):
            yield float(times[i]), of.configs[i]


def first_of(able: Iterable[T], problem: Problem) -> T:
    """Return the first of the configurations that a problem can have. Errors: `Misfit` where there are none."""
    for each in able:
        return each
    columns = problem.finish.columns if problem.finish is not None else 0
    raise Misfit(f"finish has pieces of {columns} columns, which divide no tile for such arrays: pass 64, or 128")


def fitting(configs: list[Config], problem: Problem, a: Any, b: Any, d: Any, *more: Any) -> list[Config]:
    """Return the configurations worth measuring: near the model's shortest time, the fastest first."""
    able = ranked(configs, problem, a, b, d)
    least, first = first_of(able, problem)
    most = least * (NEARER if least > LONG else NEAR)
    return [first, *(config for _, config in takewhile(lambda each: each[0] <= most, able))]


def key_of(problem: Problem, a: Any, b: Any, d: Any, *more: Any) -> Hashable:
    """Return what the choice of a configuration depends on."""
    return problem, tuple(a.shape), tuple(b.shape), tuple(d.shape), rt.read(d).device


def by_model(problem: Problem, a: Any, b: Any, d: Any, *more: Any, early: bool = False) -> Config:
    """Return the configuration that the model has for the fastest (`ranked`)."""
    return first_of(ranked(CONFIGS, problem, a, b, d, early), problem)[1]


tuned = cl.autotune(CONFIGS, key=("problem", "a", "b", "d"), prune=fitting)(run)
picks = Picks(tuned, key_of, by_model)


Choice = Config | Literal["tuned"] | None
"""The argument `config` of GEMMs."""
