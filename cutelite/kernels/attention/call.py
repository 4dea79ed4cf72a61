"""`attention` on arrays: the checks and the launch of the forward kernel, and a reference in float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    HALVES,
    Arguments,
    ArrayError,
    Misfit,
    as_flag,
    as_number,
    check_for_hopper,
    check_underived,
    in_words_of_caller,
    instance,
    is_torch,
    needs_gradient,
    one_of,
)
from cutelite.kernels.arrays import clusters_at_once, code_of, counter, dtype_of, empty, has_tensor_memory
from cutelite.kernels.attention.blocks import BlockMask, block_mask_of, check_mask, with_own_mask
from cutelite.kernels.attention.forward import build
from cutelite.kernels.attention.model import Config, Work, chosen, picked
from cutelite.kernels.attention.scores import BOX, MASK_MOD, ROWS, SCORE_MOD, Problem
from cutelite.kernels.functions import fit_graph, lifted, settled
from cutelite.kernels.lent import is_jax
from cutelite.kernels.planning import planned, planned_whole
from cutelite.tuples import NamedTuple

Mod = Callable[..., Any]
Window = tuple[int | None, int | None]
MODES = {
    "bshd": ("B SQ H D", "B SK HK D", "B SK HK DV", "B SQ H DV"),
    "bhsd": ("B H SQ D", "B HK SK D", "B HK SK DV", "B H SQ DV"),
}
"""Of q, k, v and out, by the names of layouts."""
DIMS = range(8, 257, 8)
"""Of heads: columns of queries and keys, and of values."""
FAR = 1 << 30
"""The width of a window, in keys, on a side where it has no end."""
IN_L2 = 32 * 2**20
"""Bytes of keys and values that the blocks running at once should share in L2, at most."""
ALIKE_IN_L2 = 4 * 2**20
"""The same where all tiles take as long, so that they are best taken head by head."""


def in_graph(given: dict[str, Any]) -> bool:
    """Tell, where it is traced, whether an operator takes a call with functions, of its arguments by name."""
    mask, mask_mod = given.get("block_mask"), given.get("mask_mod")
    if mask is not None:
        check_mask(mask)
        if isinstance(mask, BlockMask) and (mask.listed or not is_torch(mask.order)):
            return False
        mask_mod = mask.mask_mod
    functions = ("score_mod", given.get("score_mod"), SCORE_MOD), ("mask_mod", mask_mod, MASK_MOD)
    operands = (given.get(name) for name in ("q", "k", "v", "sinks"))
    if given.get("out") is not None and (given.get("return_lse") or needs_gradient(*operands)):
        return False
    return fit_graph(*functions)


@planned_whole("score_mod", "mask_mod", "block_mask", taken=in_graph)
@in_words_of_caller
def attention(
    q: Any, k: Any, v: Any, out: Any = None, *, causal: bool | str = False, window: Window = (None, None),
    softcap: float | None = None, scale: float | None = None, score_mod: Mod | None = None, mask_mod: Mod | None = None,
    block_mask: Any = None, sinks: Any = None, return_lse: bool = False, layout: str = "bshd",
    config: Config | None = None,
) -> Any:  # fmt: skip
    """``softmax(scale * q @ k.T) @ v`` for each head; with `return_lse`, also the logsumexp of the scores.

    q           (B, SQ, H, D), or (B, H, SQ, D) with ``layout="bhsd"``: bf16 or f16, D contiguous, other strides
                multiples of 16 bytes. D a multiple of 8, up to 256
    k, v        (B, SK, HK, D) and (B, SK, HK, DV), or as `layout` says; H is a multiple of HK, DV at most D
    out         (B, SQ, H, DV), or as `layout` says, where no operand lies; made where it is not given
    causal      True or 'bottom-right': the last query sees all keys; 'top-left': the first query sees the first key
    window      (left, right): how many keys before and behind its own place a query sees; None: all. The place is as
                `causal` aligns it, bottom-right where there is none
    softcap     scores become ``softcap * tanh(score / softcap)``
    scale       from 1e-15 to 1e30, as is `softcap`; default: ``D ** -0.5``
    score_mod   ``(score, b, h, q_idx, kv_idx) -> score``, compiled in: `score` is a vector of f32, the last two are
                vectors of i32 that broadcast to it. Arithmetic, `cl.where` and `cl.math` work on them, and functions of
                elements of torch, NumPy and JAX. Arrays that it captured, or has as global variables, are parameters of
                the kernel: index them with these
    mask_mod    ``(b, h, q_idx, kv_idx) -> bool``, likewise: whether the query sees the key
    block_mask  of `create_block_mask`, ours or torch's: its empty blocks are skipped, and its `mask_mod` is applied in
                those that are seen in part. Without `causal`, `window` and `mask_mod`
    sinks       (H,) f32: a score of each head that is in the sums of every row, with a value of zeros
    return_lse  also return (B, H, SQ) f32: natural logarithms, -inf for queries that see nothing, whose output is 0
    config      None: the one that a model (`attention.model`) predicts to be fastest
    Arrays      of torch and CuPy on a GPU; of NumPy in the simulator. Torch's may be fake, under `torch.compile`, or
                need a gradient (`kernels.attention.operators`), for which `score_mod` is differentiated by the score.
                JAX's, within `jax.jit`, `jax.grad` and `jax.vmap` or without: then out and config are refused
    Errors      ValueError for shapes that do not fit; `cutelite.ArgumentError` for strides that TMA refuses
    """
    if is_torch(q):
        from cutelite.kernels.attention import operators

        q, k, v = operators.under_autocast(q, k, v)
        mods = score_mod, mask_mod
        if out is not None:
            check_underived(q=q, k=k, v=v, sinks=sinks)
        if (out is None or not return_lse) and operators.wanted(q, k, v, mods, block_mask, sinks):
            how = operators.how_of(causal, window, softcap, scale, layout)
            found = operators.attend((q, k, v), how, mods, block_mask, out=out, sinks=sinks)
            return found if return_lse else found[0]
    if is_jax(q):
        from cutelite.kernels.attention import on_jax

        if out is not None or config is not None:
            raise Misfit("for arrays of JAX there is no out= and config=")
        named = on_jax.How(causal, window, softcap, scale, score_mod, mask_mod, layout)
        found = on_jax.attention(q, k, v, named, sinks, block_mask=block_mask)
        return found if return_lse else found[0]
    return attend(
        q, k, v, out, causal=causal, window=window, softcap=softcap, scale=scale, score_mod=score_mod,
        mask_mod=mask_mod, block_mask=block_mask, sinks=sinks, return_lse=return_lse, layout=layout, config=config,
    )  # fmt: skip


@untraced
@in_words_of_caller
@with_own_mask
@planned
def attend(
    q: Any, k: Any, v: Any, out: Any = None, *, causal: bool | str = False, window: Window = (None, None),
    softcap: float | None = None, scale: float | None = None, score_mod: Mod | None = None, mask_mod: Mod | None = None,
    block_mask: Any = None, sinks: Any = None, return_lse: bool = False, layout: str = "bshd",
    config: Config | None = None,
) -> Any:  # fmt: skip
    """Do as `attention` does, for arrays that hold data, and save nothing for a derivative."""
    _, out, by_head = checked(q, k, v, out, sinks, layout)
    if has_tensor_memory(q):
        from cutelite.kernels.blackwell import attention_call as blackwell

        check_for_hopper("attention on GPUs with tensor memory has none", block_mask=block_mask, config=config)
        return blackwell.attention(
            q, k, v, out, causal=causal, window=window, softcap=softcap, scale=scale, score_mod=score_mod,
            mask_mod=mask_mod, sinks=sinks, return_lse=return_lse, layout=layout,
        )  # fmt: skip
    (batch, heads, sq, dim), (_, _, sk, dim_v) = by_head[0].shape, by_head[2].shape
    scale = dim**-0.5 if scale is None else positive("scale", scale)
    lse = empty(q, (batch, heads, sq), "f32")
    sees = seen(causal, window, sk - sq)
    if block_mask is not None:
        check_alone(causal, window, mask_mod)
    arrays: list[Any] = []
    mod, softcap = settled(lifted(score_mod, arrays), "score_mod", SCORE_MOD), positive("softcap", softcap)
    if 0 not in lse.shape and not left_out():
        if sk == 0:
            out[...], lse[...] = 0, -float("inf") if sinks is None else sinks[:, None]
        else:
            mask = None if block_mask is None else block_mask_of(block_mask, (batch, heads, sq, sk))
            mask_mod = settled(lifted(mask_mod if mask is None else mask.mask_mod, arrays), "mask_mod", MASK_MOD)
            blocks, dtype = None if mask is None else mask.block, dtype_of(code_of(q))
            problem = Problem(dtype, dim, dim_v, *sees.ends, mod, mask_mod, blocks=blocks, softcap=softcap)
            wide = -(-dim // BOX) * BOX, -(-dim_v // BOX) * BOX
            if instance("config", config, Config) is None and blocks is None:
                work = Work(sq, sk, heads * batch, sees.offset, sees.left, sees.right)
                config = picked(*wide, work, clusters_at_once(1, q))
            config = config or chosen(wide[0], blocks)
            tiles = -(-sq // (ROWS * config.groups)) * heads * batch
            band = band_of(sk * (dim + dim_v) * 2, batch * heads, not any(sees.ends) and blocks is None)
            numbers = problem.factor(scale), *sees.far, band
            lists = (None, None) if mask is None else (mask.order, mask.counts)
            launch(config, problem, tiles, by_head, lse, sinks, numbers, lists=lists, arrays=arrays)
    return (out, lse) if return_lse else out


def check_alone(causal: bool | str, window: Window, mask_mod: Mod | None) -> None:
    """Check that nothing beside a block mask says what is seen. Errors: ValueError."""
    if causal or tuple(window) != (None, None) or mask_mod is not None:
        raise Misfit("a block mask says all of what is seen: leave out causal, window and mask_mod")


def checked(
    q: Any, k: Any, v: Any, out: Any, sinks: Any, layout: str, code: Any = HALVES, made: str | None = None,
    dims: range = DIMS,
) -> tuple[Arguments, Any, list[Any]]:  # fmt: skip
    """Return the arguments; the output, made where there is none; and q, k, v and it as (B, H, S, D).

    code    of q's numbers; `made`: of the output's; None: the same
    dims    of heads that there may be
    Errors  as of `attention`
    """
    given, modes = Arguments(), modes_of(layout)
    for name, x, of_name in zip("qkv", (q, k, v), modes, strict=False):
        given.array(name, x, code if name == "q" else "q", of_name, rows=True)
    if sinks is not None:
        given.array("sinks", sinks, "f32", "H", dense=True)
    out = given.result(out, q, made or "q", modes[3], apart={"q": q, "k": k, "v": v})
    by_head = [x.swapaxes(1, 2) if layout == "bshd" else x for x in (q, k, v, out)]
    check_heads(by_head[0].shape[1], by_head[1].shape[1], q.shape[3], v.shape[3], dims)
    return given, out, by_head


def modes_of(layout: str) -> tuple[str, ...]:
    """Return the modes of q, k, v and out. Errors: `Misfit` for a layout that there is not."""
    return MODES[one_of("layout", layout, MODES)]


def check_heads(heads: int, kv_heads: int, dim: int, dim_v: int, dims: range = DIMS) -> None:
    """Check numbers and dims of heads, of q and of k and v. Errors: `ArrayError` for those that kernels do not have."""
    if kv_heads == 0 or heads % kv_heads:
        raise ArrayError(f"q has {heads} heads, which is no multiple of those of k and v, {kv_heads}")
    if dim not in dims or dim_v not in dims or dim_v > dim:
        known = f"multiples of {dims.step} up to {dims[-1]}, that of v at most that of q and k"
        raise ArrayError(f"head dims are {known}; not {dim_v} and {dim}")


@lru_cache(maxsize=4096)
def band_of(bytes: int, heads: int, alike: bool = False) -> int:
    """Return how many heads are computed together (a turn): those that fit L2, with a last turn as full as possible.

    The last turn's longest rows start last: with few heads in it, multiprocessors would idle at the end.

    bytes   keys and values of a head
    alike   all tiles take as long
    """
    fit = max(1, min(heads, (ALIKE_IN_L2 if alike else IN_L2) // bytes))
    return max(range(1, fit + 1), key=lambda width: ((heads - 1) % width, width))


def launch(
    config: Config, problem: Problem, tiles: int, by_head: list[Any], lse: Any, sinks: Any, numbers: tuple[Any, ...],
    ragged: tuple[Any, Any, Any] = (None, None, None), lists: tuple[Any, Any] = (None, None), arrays: Any = (),
) -> None:  # fmt: skip
    """Launch the forward kernel: as many blocks as the GPU runs at once, each of which takes tiles that are left.

    tiles    of queries, of all heads and sequences
    by_head  q, k, v and the output, (B, H, S, D) each
    numbers  `tiles.Given`
    ragged   `rows`, `of_queries` and `of_keys` of the kernel
    lists    order and counts of a `BlockMask`
    arrays   those that functions captured
    """
    blocks, q = min(tiles, clusters_at_once(1, by_head[0])), by_head[0]
    build(config, problem)[blocks](*by_head, lse, sinks, counter(q), *numbers, *ragged, *lists, tuple(arrays))


class Seen(NamedTuple):
    """The keys that a query sees: so many before its own place, and behind it, None: all.

    offset  from its index to its own place
    """

    left: int | None
    right: int | None
    offset: int

    @property
    def ends(self) -> tuple[bool, bool]:
        """Tell whether there is an end before its place, and behind it."""
        return self.left is not None, self.right is not None

    @property
    def far(self) -> tuple[int, int, int]:
        """The offset and both numbers as kernels take them: `FAR` for None."""
        return self.offset, FAR if self.left is None else self.left, FAR if self.right is None else self.right


def seen(causal: bool | str, window: Window, more: int) -> Seen:
    """Return the keys that a query sees.

    more    the offset unless `causal` is 'top-left'
    Errors  ValueError for a value of `causal`, or a window, that there is not
    """
    if isinstance(causal, str):
        if causal not in ("top-left", "bottom-right"):
            raise Misfit(f"causal is {causal!r}, but must be True, False, 'top-left' or 'bottom-right'")
    elif type(causal) is not bool:
        causal = as_flag("causal", causal)
    if not isinstance(window, tuple | list) or len(window) != 2:
        raise Misfit(f"window is (left, right), not {window!r}")
    left, right = (None if x is None else as_number("window", x, whole=True, least=0, most=FAR - 1) for x in window)
    if causal:
        right = 0
    return Seen(left, right, 0 if causal == "top-left" else more)


def positive(name: str, x: float | None) -> Any:
    """Return a number as a float, or None. Errors: `Misfit` for one so small or large that f32 lacks what follows."""
    return None if x is None else as_number(name, x, least=1e-15, most=1e30)


def reference(
    q: Any, k: Any, v: Any, *, causal: bool | str = False, window: Window = (None, None), softcap: float | None = None,
    scale: float | None = None, score_mod: Mod | None = None, mask_mod: Mod | None = None,
    layout: str = "bshd",
) -> tuple[Any, Any]:  # fmt: skip
    """Return output and logsumexp of `attention`, by NumPy in float64. Mods get arrays that broadcast to (SQ, SK)."""
    import numpy as np

    q, k, v = (np.asarray(x).astype(np.float64) for x in (q, k, v))
    if layout == "bshd":
        q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    k, v = (x.repeat(q.shape[1] // k.shape[1], 1) for x in (k, v))
    s = np.einsum("bhqd,bhkd->bhqk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap is not None:
        s = softcap * np.tanh(s / softcap)
    rows, columns = np.arange(s.shape[2])[:, None], np.arange(s.shape[3])[None]
    left, right, offset = seen(causal, window, s.shape[3] - s.shape[2])
    sees = np.ones(s.shape[2:], bool)
    if left is not None:
        sees &= columns >= rows + offset - left
    if right is not None:
        sees &= columns <= rows + offset + right
    for b in range(s.shape[0]):
        for h in range(s.shape[1]):
            if score_mod is not None:
                s[b, h] = score_mod(s[b, h], b, h, rows, columns)
            here = sees if mask_mod is None else sees & mask_mod(b, h, rows, columns)
            s[b, h] = np.where(here, s[b, h], -np.inf)
    top = s.max(-1, keepdims=True, initial=-np.inf)
    p = np.exp(s - np.where(np.isinf(top), 0, top))
    total = p.sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        o = np.einsum("bhqk,bhkd->bhqd", np.where(total == 0, 0, p / total), v)
        lse = (np.log(total) + np.where(np.isinf(top), 0, top))[..., 0]
    return (o.swapaxes(1, 2) if layout == "bshd" else o), lse
