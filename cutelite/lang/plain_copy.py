"""Copies without an atom: plain accesses as wide as both layouts and the predicates allow, and their explanation.

cl.copy(src, dst)                           all elements of `src` to those of `dst`, in order
cl.copy(src, dst, pred=inside)              elements that share a predicate go together
print(cl.explain_copy(src, dst, inside))    how wide, and what limits it
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cutelite.ir.types import LOCAL_BYTES
from cutelite.ir.types import Tensor as TensorType
from cutelite.lang.copy import check_tensors, decision, extent, views
from cutelite.lang.emit import mistake
from cutelite.lang.tensor import Tensor
from cutelite.layout import Layout, LayoutError, coalesce, composition, flatten_to_tuple, make_layout, static_value
from cutelite.ops.tensor import accesses


def check_same_size(src: Any, dst: Any) -> None:
    check_tensors(src, dst)
    sizes = static_value(src.size), static_value(dst.size)
    if sizes[0] is None or sizes[0] != sizes[1]:
        raise mistake(
            "copy-sizes",
            f"the source has shape {src.shape}, the target {dst.shape}: not the same number of elements"
            if None not in sizes
            else f"a copy needs shapes known at compile time, not {src.shape} and {dst.shape}",
        )
    if sizes[0] * src.dtype.bytes > LOCAL_BYTES:
        title = f"a thread would copy all {sizes[0]} elements by itself"
        raise mistake("copy-sizes", title, help="give each thread a part: `cl.local_partition`, or a tiled copy")
    if src.dtype != dst.dtype:
        raise mistake(
            "copy-dtype", f"the source holds {src.dtype}, the target {dst.dtype}", help="convert, or recast one"
        )


def parts(src: Tensor, dst: Tensor, pred: Any) -> list[tuple[Tensor, Tensor, Any]]:
    """Cut a predicated copy without an atom into parts (source, target, predicate), each with a single predicate."""
    if not isinstance(pred, Tensor):
        return [(src, dst, decision(pred))]
    run, starts = shared_predicates(src, dst, pred)
    values, shared = pred.load(), extent(src.layout) // extent(pred.layout)
    decisions = [values[start // shared] for start in starts]
    return list(zip(runs(src, run, starts), runs(dst, run, starts), decisions, strict=True))


def shared_predicates(src: Tensor, dst: Tensor, pred: Tensor) -> tuple[Layout, list[int]]:
    """Return the layout of elements that share a predicate, and the starts of such groups; at worst, groups of one.

    pred   bools for each element of `src`, or for each coordinate of all of its modes but the first. Elements share
           one along modes in which its stride is 0
    """
    total, have = extent(src.layout), extent(pred.layout)
    first = extent(src.layout[0]) if src.ndim > 1 else 1
    if pred.dtype.kind != "bool" or have not in (total, total // first):
        raise mistake(
            "copy-pred",
            f"the predicate is {have} elements of {pred.dtype}, but the source has {total} elements of {src.shape}",
            help=f"make a bool for each element, or for each of the {total // first} runs of the first mode",
        )
    whole = pred.layout if have == total else make_layout(Layout(first, 0), pred.layout)
    shapes, strides = flatten_to_tuple(whole.shape), flatten_to_tuple(whole.stride)
    weights = [1]
    for n in shapes:
        weights.append(weights[-1] * n)
    free = [i for i, stride in enumerate(strides) if stride == 0]
    run = Layout(tuple(shapes[i] for i in free), tuple(weights[i] for i in free)) if free else Layout(1, 0)
    try:
        for t in (src, dst):
            composition(t.layout, run)
    except LayoutError:  # it cuts through the modes of a tensor
        return Layout(1, 0), list(range(total))
    starts = [0]
    for i in (i for i, stride in enumerate(strides) if stride != 0):
        starts = [start + c * weights[i] for c in range(shapes[i]) for start in starts]
    return run, starts


def runs(t: Tensor, run: Layout, starts: list[int]) -> Iterator[Tensor]:
    """Return the elements of `run` in `t`, from each start on."""
    return views(t, coalesce(composition(t.layout, run)), [t.layout(start) for start in starts])


def explain_copy(src: Tensor, dst: Tensor, pred: Any = None) -> str:
    """Explain what `copy(src, dst, pred=pred)` does without an atom: the accesses of either side, and their limits."""
    check_same_size(src, dst)
    lines = [f"{static_value(src.size)} elements of {src.dtype}, from {src.space} to {dst.space}, by this thread alone"]
    seen = [src, dst]
    if isinstance(pred, Tensor):
        run, starts = shared_predicates(src, dst, pred)
        seen = [next(runs(t, run, starts)) for t in seen]
        lines.append(f"{len(starts)} predicates, each for {extent(run)} elements, of which it")
        if extent(run) == 1:
            lines.append("(a predicate with stride 0 along a mode is shared by its elements)")
    for verb, t in zip(("reads", "writes"), seen, strict=True):
        if t.space == "rmem":
            lines.append(f"{verb} registers")
            continue
        lines.append(f"{verb} {_widths(t._type)}; {_limit(t._type)}")
    if (src.space, dst.space) == ("gmem", "smem"):
        lines.append("through registers: cp.async and TMA end later than the copy, so they are taken only if asked for")
    return "\n".join(lines)


def _widths(t: TensorType) -> str:
    counts: dict[int, int] = {}
    for _, width in accesses(t):
        counts[width * t.elem.bytes] = counts.get(width * t.elem.bytes, 0) + 1
    return " and ".join(f"{n} x {bytes} bytes" for bytes, n in sorted(counts.items(), reverse=True))


def _limit(t: TensorType) -> str:
    widest = max(width for _, width in accesses(t)) * t.elem.bytes
    if widest == 16:
        return "the widest there is"
    flat = coalesce(t.layout)
    run = next(
        (s for s, d in zip(flatten_to_tuple(flat.shape), flatten_to_tuple(flat.stride), strict=True) if d == 1), 1
    )
    if t.swizzle is not None and t.swizzle.bits and 1 << t.swizzle.base <= widest:
        return f"the swizzle {t.swizzle} leaves {1 << t.swizzle.base} bytes together"
    if run * t.elem.bytes <= widest:
        return f"{run} elements are contiguous in {t.layout}"
    return f"the address is known to be a multiple of {t.align} bytes only, its parts of {widest}"
