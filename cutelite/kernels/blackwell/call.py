"""GEMMs for Blackwell on arrays. No card has run them: simulated, checked, assembled (docs/blackwell.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any, Literal

import cutelite as cl
import cutelite_rt as rt
from cutelite import Finish, f32, i32
from cutelite.dispatch.divert import left_out
from cutelite.kernels.arguments import (
    FLOATS,
    Arguments,
    ArrayError,
    Misfit,
    contiguous,
    in_words_of_caller,
    instance,
    one_of,
    underived,
)
from cutelite.kernels.arrays import clusters_at_once, code_of, dtype_of, empty, has_tensor_memory
from cutelite.kernels.blackwell.configs import ATOM, Config, Plan, Problem, Scaled
from cutelite.kernels.blackwell.fp8_block import BlockWork
from cutelite.kernels.blackwell.gemm import Work, build
from cutelite.kernels.functions import settled
from cutelite.kernels.gemm import fp8_block
from cutelite.kernels.gemm.arrays import (
    DEFAULTS,
    check_added,
    check_operands,
    check_result,
    folded,
    of_no_columns,
    result_shape,
)
from cutelite.kernels.gemm.call import bare, fused_of, kinds_of
from cutelite.kernels.gemm.laid import for_tma
from cutelite.lang.given import given_by

Kind = Literal["mxfp8", "mxfp4", "nvfp4"]
SCALED = {"mxfp8": Scaled("mxf8f6f4", 32), "mxfp4": Scaled("mxf4", 32, 2), "nvfp4": Scaled("mxf4nvf4", 16, 2)}
ONE_BLOCK = Config((128, 256), False, stages=4)
CONFIGS = (
    Config(),
    Config((256, 128), stages=8),
    Config((256, 128), stages=6),
    ONE_BLOCK,
    Config((128, 256), False, (2, 1), 4),
    Config((128, 128), False, stages=5),
    Config((128, 128), False, (1, 2), 5),
    Config((128, 64), False, stages=8),
)
"""Those that `gemm` chooses among; block scales take tiles of 128 columns."""
PIECE = 128  # bytes of a row of results that are stored at once
MOST = 231_000  # bytes of shared memory of a block, for all but barriers


@underived()
def gemm(
    a: Any, b: Any, out: Any = None, *, c: Any = None, bias: Any = None, scale_a: Any = None, scale_b: Any = None,
    alpha: float = 1.0, beta: float | None = None, activation: Callable[[Any], Any] | str | None = None,
    precision: str | None = None, finish: Finish | None = None, config: Config | None = None,
) -> Any:  # fmt: skip
    """``activation(alpha * scale_a * scale_b * (a @ b) + beta * c + bias)`` by tcgen05; returns `out`.

    a, b        (M, K) and (K, N), batches in front: as of `cutelite.kernels.gemm.call.gemm`
    out, c      (..., M, N); bias (N,)
    scale_a     f32, one number or (M, 1); `scale_b` (1, N)
    activation  elementwise, on vectors of f32; or 'relu'
    finish      instead of all that but alpha: a function of the sums and of further tensors, the same as Hopper's GEMM
                takes; N is a multiple of 8 then
    config      None: chosen by the sizes alone, since no card was there to measure
    Arrays      of torch and CuPy on a GPU with tensor memory; of NumPy in the simulator
    Errors      ValueError for shapes that do not fit, a `cl.ArgumentError` too; that for a GPU without tensor memory
    """
    check_operands(a, b, precision)
    finish = instance("finish", finish, Finish)
    shape = result_shape(a, b, finish is not None and finish.paired)
    out = empty(a, shape, DEFAULTS.get(code_of(a))) if out is None else out
    check_result(a, out, shape, False, finish is not None)
    fused = replace(fused_of(c, bias, scale_a, scale_b, alpha, beta, activation), finish=finish)
    check_added(b, out, fused)
    check_card(out)
    if not left_out() and 0 not in shape:
        compute(a, b, out, fused, precision, config)
    return out


def compute(
    a: Any, b: Any, out: Any, fused: cl.Fused, precision: str | None = None, config: Config | None = None
) -> None:  # fmt: skip
    """Compute `gemm`, for arrays that were checked. Errors: ValueError for what no kernel can be made for."""
    if a.shape[-1] == 0:
        a, b = of_no_columns(a, -1), of_no_columns(b, -2)
    result = out
    if a.ndim > 2 or b.ndim > 2:
        a, b, result, fused = folded(a, b, out, fused, fused.finish is not None)
    a, b = for_tma(a, -1), for_tma(b, -2)
    majors = tuple("K" if rt.read(x).strides[k] == 1 else "MN" for x, k in ((a, -1), (b, -2)))
    kinds = tuple(dtype_of("tf32" if precision == "tf32" else code_of(x)) for x in (a, b))
    shared = "A" if a.ndim < b.ndim else "B" if b.ndim < a.ndim else ""
    problem = {"majors": majors, "batched": result.ndim == 3, "shared": shared}
    a = a if majors[0] == "K" else a.swapaxes(-1, -2)
    b = b.swapaxes(-1, -2) if majors[1] == "K" else b
    run((a, b), result, kinds, problem, fused, fused.finish, config)


@underived()
def gemm_scaled(
    a: Any, b: Any, scale_a: Any, scale_b: Any, out: Any = None, *, kind: Kind = "mxfp8", alpha: float = 1.0,
    bias: Any = None, activation: Callable[[Any], Any] | str | None = None, finish: Finish | None = None,
    config: Config | None = None,
) -> Any:  # fmt: skip
    """``activation(alpha * (a * scales) @ (b * scales).T + bias)``, a scale for each block of numbers along K.

    a, b        (M, K) and (N, K), rows a multiple of 16 bytes apart: for 'mxfp8' e4m3 or e5m2; else u8, two e2m1 to a
                byte, the lower bits first: (M, K / 2) and (N, K / 2)
    scale_a     u8, what `arranged` makes of (M, blocks along K): (ceil(M / 128), ceil(blocks / 4), 32, 16). `scale_b`
                likewise of (N, blocks)
    kind        'mxfp8' and 'mxfp4': blocks of 32 numbers, scaled by ue8m0. 'nvfp4': of 16, by ue4m3
    out         (M, N), bf16 if it is not given; or f16 or f32. The rest is as of `gemm`
    Errors      `cl.ArgumentError` for arrays that do not fit, ValueError for another kind
    """
    scaled, given = SCALED[one_of("kind", kind, SCALED)], Arguments()
    kinds = ("e4m3", "e5m2") if scaled.numbers == 1 else ("u8",)
    given.array("a", a, kinds, "M K", rows=True)
    given.array("b", b, kinds, "N K", rows=True)
    m, n, deep = a.shape[0], b.shape[0], -(-a.shape[1] * scaled.numbers // scaled.block)
    for name, scales, rows in (("scale_a", scale_a, m), ("scale_b", scale_b, n)):
        wanted = -(-rows // ATOM[0]), -(-deep // ATOM[1]), 32, 16
        given.array(name, scales, "u8", wanted, dense=True, why=": as `arranged` makes it")
    finish = instance("finish", finish, Finish)
    paired = finish is not None and finish.paired
    out = empty(a, (m, n // 2 if paired else n), "bf16") if out is None else out
    given.array("out", out, FLOATS, (m, out.shape[1] if finish else n), written=True, rows=True)
    fused = fused_of(bias=bias, alpha=alpha, activation=activation)
    if bias is not None:
        given.array("bias", bias, FLOATS, (n,))
    check_card(out)
    if left_out() or 0 in (m, n):
        return out
    if a.shape[1] == 0:
        a, b = of_no_columns(a, -1), of_no_columns(b, -1)
        scale_a, scale_b = (of_no_columns(x, 1)[:, :1] for x in (scale_a, scale_b))
    a, b = for_tma(a, -1), for_tma(b, -1)
    of_dtypes = tuple(dtype_of(code_of(x)) for x in (a, b))
    run((a, b, scale_a, scale_b), out, of_dtypes, {"scaled": scaled}, fused, finish, config)
    return out


@in_words_of_caller
def arranged(scales: Any) -> Any:
    """Return scales (rows, blocks) of u8 as tensor cores take them: those of 128 rows and 4 blocks in 512 bytes.

    Result  (ceil(rows / 128), ceil(blocks / 4), 32, 16): row 32 i + j of 128 is [j, 4 i : 4 i + 4]; beyond the end 0.
            cuBLAS has them in this order too
    """
    Arguments().array("scales", scales, "u8", "rows blocks")
    if not left_out():
        rt.read(scales)  # refuses masks, which indexing would keep
    rows, blocks = scales.shape
    high, deep = -(-rows // ATOM[0]), -(-blocks // ATOM[1])
    whole = empty(scales, (high * ATOM[0], deep * ATOM[1]))
    whole[...] = 0
    whole[:rows, :blocks] = scales
    parts = whole.reshape((high, 4, 32, deep, 4))
    made = empty(scales, (high, deep, 32, 4, 4))
    for i in range(4):
        made[:, :, :, i, :] = parts[:, i].swapaxes(1, 2)
    return made.reshape((high, deep, 32, 16))


@underived()
def gemm_grouped(
    a: Any, b: Any, ends: Any, out: Any = None, *, finish: Finish | None = None, config: Config | None = None
) -> Any:
    """``out[ends[e - 1] : ends[e]] = a[ends[e - 1] : ends[e]] @ b[e].T`` for every group e, by tcgen05; returns `out`.

    a       (M, K): rows of the first group, of the second one, and so on; contiguous along K
    b       (E, N, K), the same dtype; N a multiple of 8
    ends    (E,), i32, on the device: ascending, at most M. Rows after the last end are neither read for any result nor
            written
    out     (M, N), of the dtype of `a` if it is not given, bf16 for fp8; rows of results fill 16 bytes
    finish  a function of the sums, as Hopper's takes it; its rows end where the group does
    Errors  `cl.ArgumentError` for arrays that do not fit
    """
    finish = instance("finish", finish, Finish)
    given, paired = Arguments(), finish is not None and finish.paired
    given.array("a", a, ("bf16", "f16", "e4m3", "e5m2"), "M K", rows=True)
    given.array("b", b, "a", "E N K", rows=True)
    given.array("ends", ends, "i32", "E", dense=True)
    columns = b.shape[1] // 2 if paired else b.shape[1]
    out = given.result(out, a, FLOATS, (a.shape[0], columns), made=DEFAULTS.get(code_of(a)), rows=True)
    if b.shape[1] % 8 or columns * dtype_of(code_of(out)).bytes % 16:
        raise ArrayError(f"b has {b.shape[1]} rows for each group: a multiple of 8, and rows of results fill 16 bytes")
    check_card(out)
    if left_out() or 0 in (*a.shape[:1], *b.shape[:2]):
        return out
    if a.shape[1] == 0:
        a, b = of_no_columns(a, -1), of_no_columns(b, -1)
    kinds = tuple(dtype_of(code_of(x)) for x in (a, b))
    fused = cl.Fused(None, None, cl.Scales(), 1.0, 0.0, None)
    run((for_tma(a, -1), for_tma(b, -1)), out, kinds, {"grouped": True}, fused, finish, config, ends)
    return out


@underived()
def gemm_fp8_block(
    a: Any, b: Any, scale_a: Any, scale_b: Any, out: Any = None, *, finish: Finish | None = None,
    config: Config | None = None,
) -> Any:  # fmt: skip
    """``(a * scale_a) @ (b * scale_b).T``, with f32 scales spread over their blocks, by tcgen05; returns `out`.

    a, b     (M, K) and (N, K), e4m3; scale_a (M, ceil(K / 128)), scale_b (ceil(N / 128), ceil(K / 128)), f32; out
             (M, N), bf16: as Hopper's `kernels.gemm.fp8_block.gemm` takes them. Scales of A that TMA cannot bring,
             others than contiguous along M with columns a multiple of 16 bytes apart, are copied first
    finish   a function of the sums, which Hopper's has not; results are as wide as the product
    config   None: chosen by the sizes alone
    Errors   `cl.ArgumentError` for arrays that do not fit
    """
    finish = instance("finish", finish, Finish)
    if finish is not None and finish.paired:
        raise Misfit("results of gemm_fp8_block have a column for each of the product: finish= is not paired")
    out = fp8_block.checked(a, b, scale_a, scale_b, out)
    check_card(out)
    if left_out() or 0 in out.shape:
        return out
    if a.shape[1] == 0:
        out[...] = 0
        return out
    of_a = scale_a.T
    if not fp8_block.by_tma(scale_a):
        of_a = empty(scale_a, (of_a.shape[0], -(-of_a.shape[1] // 4) * 4))[:, : of_a.shape[1]]
        of_a[...] = scale_a.T
    fused = cl.Fused(None, None, cl.Scales(), 1.0, 0.0, None)
    run((a, b, of_a, scale_b), out, (cl.e4m3, cl.e4m3), {"promoted": True}, fused, finish, config)
    return out


def check_card(out: Any) -> None:
    """Refuse a GPU without tensor memory. Errors: `ArrayError`."""
    if rt.read(out).device[0] == "cuda" and not has_tensor_memory(out):
        raise ArrayError(
            "these kernels are for GPUs with tensor memory, sm_100 to sm_110: `cutelite.kernels.gemm` is for others too"
        )


@cache
def results(names: tuple[str, ...], activation: Any) -> Callable[..., None]:
    """The function that makes results of sums with these tensors, as `Fused` names them."""
    at = {name: number for number, name in enumerate(names)}
    by_one = [number for name, number in at.items() if name.endswith("one")]
    rows, columns, added, bias = (at.get(name) for name in ("rows", "columns", "c", "bias"))

    def result(piece: cl.Piece, *given: Any) -> None:
        x = piece.sums
        for number in by_one:
            x = x * given[number][0]
        if rows is not None:
            x = x * piece.by_row(given[rows])
        if columns is not None:
            x = x * piece.by_column(given[columns])
        if added is not None:
            c, lead = given[added], piece.batch
            rows_before = lead[0] * piece.shape[0] if len(lead) > 0 else 0
            x = x + piece.by_element(cl.domain_offset((rows_before, 0), c)) * given[added + 1]
        if bias is not None:
            x = x + piece.by_column(given[bias])
        piece.result(x if activation is None else given_by("activation", activation(x), x, activation))

    return result


def finish_of(fused: cl.Fused, d: Any, columns: int) -> Finish:
    """Return what makes the results. Tensors along columns have a multiple of 8, those behind the end no meaning."""
    tensors: dict[str, Any] = {}
    for name, scale in (("rows", fused.scales.a), ("columns", fused.scales.b)):
        if scale is not None:
            flat = contiguous(scale.reshape((prod(scale.shape),)))
            one = flat.shape[0] == 1
            tensors[f"{name} one" if one else name] = flat if one or name == "rows" else widened(flat)
    if fused.c is not None and fused.beta != 0.0:
        tensors |= {"c": widened(fused.c.reshape((-1, columns))), "beta": float(fused.beta)}
    if fused.bias is not None:
        tensors["bias"] = widened(fused.bias)
    wide = min(PIECE // d.bytes, 64 if tensors else 128)  # 128 sums and as many that are added are too many registers
    return Finish(results(tuple(tensors), settled(fused.activation)), tuple(tensors.values()), wide)


def widened(x: Any) -> Any:
    """Return an array whose rows have a multiple of 8 elements, and lie as far apart: itself, or a copy."""
    view = rt.read(x)
    if x.shape[-1] % 8 == 0 and view.strides[-1] == 1 and all(step % 8 == 0 for step in view.strides[:-1]):
        return x
    made = empty(x, (*x.shape[:-1], -(-x.shape[-1] // 8) * 8))
    made[..., : x.shape[-1]] = x
    return made


def run(
    given: tuple[Any, ...], out: Any, kinds: tuple[Any, ...], more: dict[str, Any], fused: cl.Fused,
    finish: Finish | None, config: Config | None, ends: Any = None,
) -> None:  # fmt: skip
    """Launch the kernel. `given`: A and B, contiguous as `more` says, and their scales; `ends` of groups."""
    others = fused.c, fused.bias, fused.scales.a, fused.scales.b, fused.activation
    if finish is not None and any(x is not None for x in others):
        raise Misfit("with finish= there are no c, bias, scales or activation")
    d, acc = dtype_of(code_of(out)), i32 if kinds[0].is_int and "scaled" not in more else f32
    made, columns = out, out.shape[-1]
    if columns * d.bytes % 16:  # TMA writes the last 16 bytes of a row whole
        if finish is not None:
            raise Misfit(f"with finish= rows of results fill 16 bytes, and {columns} of {d} do not")
        made = empty(out, (*out.shape[:-1], -(-columns * d.bytes // 16) * 16 // d.bytes))[..., :columns]
    how = finish_of(fused, d, columns) if finish is None else finish
    if not 16 <= how.columns <= 128 or how.columns & (how.columns - 1):
        raise Misfit(f"pieces have 16, 32, 64 or 128 columns, not {how.columns}")
    if how.columns * d.bytes // (1 + how.paired) > 128:
        raise Misfit(f"a row of a piece is at most 128 bytes, and {how.columns} columns of {d} are more")
    tensors = how.tensors
    types = tuple(("f32", 0, 0) if isinstance(x, float) else kinds_of((x,))[0] for x in tensors)
    plain = replace(bare(how), halves=False, apart=0)
    problem = Problem(kinds[0], kinds[1], acc, d, plain, tensors=types, **more)
    rows, across = (
        given[0].shape[-2 if problem.majors[0] == "K" else -1],
        given[1].shape[-2 if problem.majors[1] == "K" else -1],
    )
    config = chosen(problem, rows, across) if config is None else config
    check_config(config, problem)
    config = config if finish is None else replace(config, buffers=1)  # a function may store several times
    (bm, bn), (cm, cn) = config.tile, config.cluster
    along = -(-rows // (bm * cm)) + (0 if ends is None else ends.shape[0])  # each group's last tile may be a part
    clusters = along * -(-across // (bn * cn)) * (made.shape[0] if problem.batched else 1)
    grid = (clusters if config.dynamic else min(clusters, clusters_at_once(config.blocks, out))) * config.blocks
    scales = given[2:] or (None, None)
    work = (BlockWork if problem.promoted else Work)(config, problem)
    launch = cl.Launch(grid, work.threads, pdl=True)
    beyond = across % (bn * cn) > 0 and across // (1 + how.paired) < made.shape[-1]  # tiles reach to what is no result
    rows_of = made if beyond or ends is not None else None
    build(work)[launch](given[0], given[1], made, *scales, float(fused.alpha), tensors or None, ends, rows_of)
    if made is not out:
        out[...] = made


def chosen(problem: Problem, rows: int, columns: int) -> Config:
    """Return a configuration by the sizes: the largest tile that half a card has enough of, else the last."""
    able = [config for config in CONFIGS if not fault(config, problem)]
    for config in able:
        tiles = -(-rows // config.tile[0]) * -(-columns // config.tile[1])
        if tiles * (1 + config.pair) >= 74 and config.cluster == (1, 1):
            return config
    return next(config for config in reversed(able) if config.cluster == (1, 1))


def fault(config: Config, problem: Problem) -> str:
    """Say what no kernel can be made for; '' where one can."""
    (bm, bn), (cm, cn) = config.tile, config.cluster
    if problem.scaled is not None and (bn != 128 or config.cluster != (1, 1)):
        return "block scales take tiles of 128 columns, without clusters"
    if problem.grouped and (config.dynamic or config.cluster != (1, 1)):
        return "groups of rows take no clusters but pairs, and no launch control"
    if problem.promoted and (bn > 128 or config.cluster != (1, 1)):
        return "scales in f32 take tiles of at most 128 columns, whose sums registers hold, and no clusters but pairs"
    if (bm, bn) not in {(128 * (1 + config.pair), n) for n in (32, 64, 128, 256)}:
        return "tiles have 128 rows, of pairs 256, and 32, 64, 128 or 256 columns"
    if config.pair and config.cluster != (1, 1):
        return "pairs share their tiles with no other blocks"
    if "MN" in problem.majors and (problem.a.bits != 16 or bm // cn % 64 or bn // cm // (1 + config.pair) % 64):
        return "operands contiguous along M or N have 16 bits, and 64 rows or columns in each block's part"
    if Plan(config, problem).held > MOST:
        return f"{config.stages} stages of {config.tile} do not fit into shared memory"
    return ""


def check_config(config: Any, problem: Problem) -> None:
    """Refuse what no kernel can be made for. Errors: ValueError."""
    if not isinstance(config, Config):
        raise Misfit(f"config is a `kernels.blackwell.gemm.Config` or None, not {config!r}")
    if why := fault(config, problem):
        raise Misfit(f"{config}: {why}")
