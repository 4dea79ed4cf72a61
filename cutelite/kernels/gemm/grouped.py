"""GEMMs of several groups in one launch, whose ends only the device knows: the experts of a mixture, for example.

    gemm      d[rows of e] = a[rows of e] @ b[e].T        groups of rows, one after the other
    padded    d[e, :counts[e]] = a[e, :counts[e]] @ b[e].T
    along_k   d[e] = a[rows of e].T @ b[rows of e]        the gradient of a matrix for each group

A previous kernel has computed `ends` and `counts`. The kernel is that of all dense GEMMs (`gemm/dense.py`): its blocks
are persistent, and compute which tiles there are. The last tile of a group also loads rows of the next one, and ignores
their products; pieces of 64 rows in which a group ends are stored row by row. In groups along K, a stage's elements of
the next group are cleared.
"""

from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

import cutelite as cl
import cutelite_rt as rt
from cutelite import f32
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    FLOATS,
    HALVES,
    Arguments,
    ArrayError,
    Misfit,
    check_given_apart,
    in_words_of_caller,
    is_array,
)
from cutelite.kernels.arrays import clusters_at_once, code_of, dtype_of, empty, strides_of
from cutelite.kernels.gemm.arrays import (
    DEFAULTS,
    FP8,
    by_operator,
    check_functions,
    check_written_by_tma,
    in_graph,
    of_no_columns,
)
from cutelite.kernels.gemm.call import bare, kinds_of
from cutelite.kernels.gemm.configs import CONFIGS as ALL
from cutelite.kernels.gemm.configs import Config, Problem
from cutelite.kernels.gemm.dense import NEAR, Choice, build, first_of
from cutelite.kernels.gemm.fits import check_config, made_for
from cutelite.kernels.gemm.laid import all_for_tma, packed_rows
from cutelite.kernels.gemm.model import Sizes, at_once_of, kept, microseconds, stacks_of
from cutelite.kernels.gemm.picks import Picks
from cutelite.kernels.gemm.tiling import GROUP
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.moe import grouped as experts
from cutelite.kernels.planning import planned, planned_whole

WIDE = (64, 96, 128, 160, 192, 208, 256)
"""Columns of tiles, in whole pieces."""
CONFIGS = [
    *(
        c
        for c in ALL
        if not (c.swapped or c.across or c.stream)
        and c.splits * c.together == 1
        and c.of_b in WIDE
        and c.tile[0] != 192
    ),
    Config(cluster=(1, 1), buffers=1),
    Config((128, 128), True, (1, 1), 5, buffers=1),
]
"""Without tiles of 192 rows, which were nowhere the fastest."""


def sums(piece: cl.Piece) -> None:
    """Store the sums as they are: the default."""
    piece.result(piece.sums)


def run(config: Config, problem: Problem, a: Any, b: Any, ends: Any, d: Any, *more: Any) -> None:
    """Launch a configuration.

    a, b  as TMA reads them: (E,) in front as `problem` says, and the mode along which they are contiguous behind
    more  for groups along K what is added to the sums, and by what it is multiplied; else the function's tensors
    """
    config, problem = config if problem.finish is None else replace(config, buffers=1), fitted(config, problem)
    check_config(config, problem)
    (bm, bn), (cm, cn), groups, m = config.tile, config.cluster, ends.shape[0], d.shape[-2]
    along = -(-m // (bm * cm)) + groups if problem.groups == "rows" else -(-m // (bm * cm)) * groups
    blocks = along * -(-problem.extents(a, b)[1] // (bn * cn)) * cm * cn
    launch = cl.Launch(min(blocks, clusters_at_once(cm * cn, d) * cm * cn), 3 * GROUP, pdl=True)
    kernel = build(config, problem)
    c, beta, tensors, plain = (*more, None, None) if problem.groups == "K" else (None, 0.0, more or None, d)
    kernel[launch](a, b, d, c, None, None, None, 1.0, beta, tensors, ends, plain, None, None)


@lru_cache(maxsize=1024)
def fitted(config: Config, problem: Problem) -> Problem:
    """The problem with pieces that divide a configuration's tile and fit shared memory, where the results are the sums.

    If none fit, `fault` refuses the result.
    """
    if problem.finish is None or problem.finish.function is not sums:
        return problem
    wide = config.tile[1]  # a swizzle permutes pieces of 64 columns, else few pieces are better than many
    pieces = [64] if wide % 64 == 0 else [w for w in (112, 96, 80, 48, 32, 208, 176, 16) if wide % w == 0]
    found = [replace(problem, finish=replace(problem.finish, columns=columns)) for columns in pieces]
    return next((each for each in found if made_for(config, each)), found[0])


def fitting(configs: list[Config], problem: Problem, a: Any, b: Any, ends: Any, d: Any, *more: Any) -> list[Config]:
    """Return the configurations worth measuring, the one that should be fastest first."""
    groups, (m, n), of = ends.shape[0], d.shape[-2:], kept(configs)
    t = of.tiles
    (k, _), plain = problem.extents(a, b), replace(problem, groups="")
    if problem.groups == "K":  # the model knows one round alone without clusters: the largest tile that fills it
        area, tiles = t.bm * t.bn, np.ceil(m / t.bm) * np.ceil(n / t.bn) * groups
        times = np.ceil(tiles / at_once_of(of, d)) * area * (1.0 + 4096 / area)
    else:
        counts = dealt(m, groups) if problem.groups == "rows" else np.full((1, groups), m)
        heights, which = np.unique(t.high, return_inverse=True)
        over = np.stack([(-counts % high).sum(1) for high in heights], 1)[:, which]
        sizes = Sizes(counts[0].sum(), n, k, 1, (counts > 0).sum(1)[:, None], over)
        times = microseconds(of, plain, sizes, at_once_of(of, d), stacks_of(d)).mean(0)
    able = [i for i in times.argsort(kind="stable").tolist() if made_for(configs[i], fitted(configs[i], problem))]
    least = times[first_of(able, problem)]
    return [configs[i] for i in able if times[i] <= NEAR * least]


DEALS = 8
"""Deals by chance of each of two uneven ways, over which a tile's predicted time is averaged."""


@lru_cache(maxsize=64)
def dealt(rows: int, groups: int) -> Any:
    """Return how many rows groups may have, (deals, groups): by chance, since only the device knows.

    Some have many times the rows of others: were all alike, tiles would be picked that fit by a hair, and take another
    round as soon as they are not. The generator is one whose numbers no release of NumPy changes.
    """
    places, source = (np.arange(groups) + 0.5) / groups, np.random.RandomState(groups)
    ways = 0.1 + 1.8 * places, -np.log(1.0 - places)
    return np.concatenate([source.multinomial(rows, way / way.sum(), DEALS) for way in ways])


def key_of(problem: Problem, a: Any, b: Any, ends: Any, d: Any, *more: Any) -> Hashable:
    """Return what the choice of a configuration depends on."""
    return problem, tuple(a.shape), tuple(b.shape), ends.shape[0], rt.read(d).device


tuned = cl.autotune(CONFIGS, key=("problem", "a", "b", "d"), prune=fitting)(run)
picks = Picks(tuned, key_of, lambda *given: fitting(CONFIGS, *given)[0])


def launched(choice: Choice, *given: Any) -> None:
    """Launch a configuration: the given one, or the one that the model picks."""
    run(picks.take(choice, *given), *given)


def by_rows(
    kind: Literal["rows", "padded"], a: Any, b: Any, ends: Any, out: Any, finish: cl.Finish | None, config: Choice
) -> Any:  # fmt: skip
    """`gemm` or `padded`."""
    check_functions(finish)
    given = finish or cl.Finish(sums)
    checked = Arguments()
    checked.array("a", a, (*HALVES, *FP8), "E M K" if kind == "padded" else "M K", rows=True)
    checked.array("b", b, "a", "E N K")
    checked.array("counts" if kind == "padded" else "ends", ends, "i32", "E", dense=True)
    if code_of(b) in FP8 and b.shape[2] > 1 and strides_of(b)[2] != 1:
        raise ArrayError("b is not contiguous along K, as fp8 has to be: pass a copy that is")
    columns = b.shape[1] // 2 if given.paired else b.shape[1]
    out = empty(a, (*a.shape[:-1], columns), DEFAULTS.get(rt.read(a).dtype)) if out is None else out
    is_array("out", out)
    last = out.shape[-1] if finish is not None and len(out.shape) else columns
    checked.array("out", out, FLOATS, (*a.shape[:-1], last), written=True, rows=True, why=", as a @ b.T")
    dtype, d = dtype_of(rt.read(a).dtype), dtype_of(rt.read(out).dtype)
    if b.shape[1] % 8 or out.shape[-1] * d.bytes % 16:
        raise Misfit(
            f"b has {b.shape[1]} rows for each group: they are a multiple of 8, and results' rows fill 16 bytes"
        )
    if left_out() or 0 in (*a.shape[:-1], *b.shape[:2]):
        return out
    if not a.shape[-1]:
        a, b = of_no_columns(a, -1), of_no_columns(b, -1)
    check_written_by_tma(out)
    check_given_apart(out, a=a, b=b)
    a, b = all_for_tma((a, -1, True), (b, -1, False))
    kinds, major = kinds_of(given.tensors), "K" if rt.read(b).strides[-1] == 1 else "MN"
    problem = Problem(dtype, dtype, f32, d, None, ("K", major), True, finish=bare(given), tensors=kinds, groups=kind)
    launched(config, problem, a, b if major == "K" else b.swapaxes(-1, -2), ends, out, *given.tensors)
    return out


def gathered(a: Any, b: Any, ends: Any, rows: Any, out: Any) -> Any:
    """`gemm` of rows of A that are gathered, by the kernel of experts."""
    given = Arguments()
    given.array("a", a, HALVES, "M K", rows=True)
    given.array("b", b, "a", "E N K")
    given.array("ends", ends, "i32", "E", dense=True)
    given.array("rows", rows, "i32", "R", dense=True)
    out = given.result(out, a, "a", "R N", dense=True)
    if a.shape[1] % 8 or b.shape[1] % 8:
        raise ArrayError(f"a has {a.shape[1]} columns and b {b.shape[1]} rows of a group: both are multiples of 8")
    if rows.shape[0] and not a.shape[0]:
        raise ArrayError(f"a has no rows, of which rows could be {rows.shape[0]}")
    if not left_out() and 0 not in out.shape and ends.shape[0]:
        if not a.shape[1]:
            a, b = of_no_columns(a, -1), of_no_columns(b, -1)
        check_given_apart(out, a=a, b=b, rows=rows)
        a, b = all_for_tma((a, -1, True), (b, -1, False))
        major = "K" if rt.read(b).strides[-1] == 1 else "MN"
        problem = experts.Problem(dtype_of(rt.read(a).dtype), gather=True, major=major)
        experts.run(problem, a, packed_rows(b if major == "K" else b.swapaxes(-1, -2)), ends, out, rows)
    return out


@planned_whole("finish", taken=in_graph)
@in_words_of_caller
@takes_jax(traced="gemm.on_jax_special.grouped")
def gemm(
    a: Any, b: Any, ends: Any, out: Any = None, *, rows: Any = None, finish: cl.Finish | None = None,
    config: Choice = None,
) -> Any:  # fmt: skip
    """``out[ends[e - 1] : ends[e]] = a[ends[e - 1] : ends[e]] @ b[e].T`` for every group e; returns `out`.

    a       (M, K): rows of the first group, of the second one, and so on; bf16, f16, e4m3 or e5m2, contiguous along K
    b       (E, N, K), the same dtype; contiguous along K, or along N where dtypes have 16 bits; N a multiple of 8.
            Operands whose rows are no multiple of 16 bytes apart are copied first
    ends    (E,), i32, on the device: ascending, at most M. Groups may have no rows, and rows after the last end are
            neither read for any result nor written
    out     (M, N), contiguous along N; made if it is not given, of the dtype of `a`, bf16 for fp8
    rows    (M',), i32: row i of the product is of ``a[rows[i]]``, which is gathered on its way; bf16 and f16, K a
            multiple of 8, `out` without gaps, without `finish` and `config`
    finish  a function of the sums, and of further tensors: docs/gemm.md. Its rows end where the group does
    config  None: the fastest by a model; 'tuned': the fastest, measured at the first call for such shapes
    Arrays  of torch, CuPy and JAX on a GPU, of NumPy in the simulator. Torch's may be fake, under `torch.compile` or
            `torch.autocast`, or need a gradient (`kernels.gemm.operators_special`), but for `finish`
    Errors  ValueError for shapes that do not fit. Numbers in `ends` and `rows` are checked by assertions: in the
            simulator, and on a GPU with the option
    """
    if rows is not None and (finish is not None or config is not None):
        raise Misfit("with rows= there is no finish= and no config=")
    if (found := by_operator("grouped", out, (a, b, ends), rows, finish=finish)) is not None:
        return found
    return rows_of_groups(a, b, ends, out, rows, finish, config)


@untraced
@planned
def rows_of_groups(
    a: Any, b: Any, ends: Any, out: Any = None, rows: Any = None, finish: Any = None, config: Choice = None
) -> Any:  # fmt: skip
    """Compute `gemm` of real arrays, without derivatives."""
    if rows is not None:
        return gathered(a, b, ends, rows, out)
    return by_rows("rows", a, b, ends, out, finish, config)


@planned_whole("finish", taken=in_graph)
@in_words_of_caller
@takes_jax(traced="gemm.on_jax_special.padded")
def padded(
    a: Any, b: Any, counts: Any, out: Any = None, *, finish: cl.Finish | None = None, config: Choice = None
) -> Any:  # fmt: skip
    """``out[e, : counts[e]] = a[e, : counts[e]] @ b[e].T`` for every group e; returns `out`.

    a       (E, M, K), b (E, N, K), out (E, M, N); otherwise as for `gemm`
    counts  (E,), i32, on the device: each 0 to M. Other rows are neither read for any result nor written
    """
    if (found := by_operator("padded", out, (a, b, counts), finish=finish)) is not None:
        return found
    return padded_groups(a, b, counts, out, finish, config)


@untraced
@planned
def padded_groups(a: Any, b: Any, counts: Any, out: Any = None, finish: Any = None, config: Choice = None) -> Any:
    """Compute `padded` of real arrays, without derivatives."""
    return by_rows("padded", a, b, counts, out, finish, config)


@planned_whole()
@in_words_of_caller
@takes_jax(traced="gemm.on_jax_special.along_k")
def along_k(a: Any, b: Any, ends: Any, out: Any = None, *, accumulate: bool = False, config: Choice = None) -> Any:
    """``out[e] = a[rows of e].T @ b[rows of e]``, of rows ``ends[e - 1] : ends[e]``, for every group e; returns `out`.

    a, b        (T, M) and (T, N) of one dtype, bf16 or f16, contiguous along M and N; both multiples of 8. Copied first
                where rows are no multiple of 16 bytes apart
    ends        (E,), i32, on the device: ascending, at most T. A group without rows has zeros
    out         (E, M, N), contiguous along N; made if it is not given, in f32
    accumulate  add to what `out` has: a gradient that several steps share
    config      as for `gemm`
    Errors      ValueError for shapes that do not fit
    """
    if (found := by_operator("along_k", out, (a, b, ends), accumulate)) is not None:
        return found
    return groups_along_k(a, b, ends, out, accumulate, config)


@untraced
@planned
def groups_along_k(a: Any, b: Any, ends: Any, out: Any = None, accumulate: bool = False, config: Choice = None) -> Any:
    """Compute `along_k` of real arrays, without derivatives."""
    given = Arguments()
    given.array("a", a, HALVES, "T M", rows=True)
    given.array("b", b, "a", "T N", rows=True)
    given.array("ends", ends, "i32", "E", dense=True)
    if a.shape[1] % 8 or b.shape[1] % 8:
        raise ArrayError(f"a has {a.shape[1]} columns and b {b.shape[1]}: both are multiples of 8")
    if out is None and accumulate:
        raise Misfit("accumulate= adds to out, and there is none")
    out = given.result(out, a, FLOATS, "E M N", made="f32", rows=True)
    if left_out() or 0 in out.shape:
        return out
    if not a.shape[0]:
        if not accumulate:
            out[...] = 0
        return out
    dtype, d = dtype_of(rt.read(a).dtype), dtype_of(rt.read(out).dtype)
    check_written_by_tma(out)
    check_given_apart(out, a=a, b=b)
    a, b = all_for_tma((a, -1, True), (b, -1, True))
    problem = Problem(dtype, dtype, f32, d, None, ("MN", "MN"), True, groups="K")
    launched(config, problem, a, b, ends, out, out if accumulate else None, float(accumulate))
    return out


def reference(a: Any, b: Any, ends: Any) -> Any:
    """Compute the result of `gemm` in f64, of NumPy arrays, up to the last end."""
    left, right = (np.asarray(x).astype(np.float64) for x in (a, b))
    starts = [0, *ends[:-1]]
    return np.concatenate([left[i:j] @ right[e].T for e, (i, j) in enumerate(zip(starts, ends, strict=True))])
