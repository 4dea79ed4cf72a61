"""`copy`: from one tensor to another, by an atom, a tiled copy, or as well as the two layouts allow.

`cooperative_clear`: zeros everywhere in a tensor of the block.
"""

from __future__ import annotations

from typing import Any

from cutelite.lang import copy as copying
from cutelite.lang import plain_copy
from cutelite.lang.copy_ops import TileOp
from cutelite.lang.emit import mistake
from cutelite.lang.index import block_dim, linear_thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.tile_copy import copy_tile
from cutelite.lang.tma import fence_proxy_async
from cutelite.lang.whole import clear
from cutelite.layout import cosize, make_layout

UNIT = 16  # bytes: the widest store


def copy(how: Any, src: Any, dst: Any = None, *, pred: Any = None, barrier: Any = None, multicast: Any = None) -> None:
    """``copy(atom, src, dst)`` or ``copy(src, dst)``: copy the elements of `src` to `dst`, in order.

    how        a copy atom or a tiled copy, and `src` and `dst` then partitions of one thread, values in the first mode;
               or a TMA or bulk atom, and whole tiles. Without it, plain accesses as wide as layouts and alignment
               allow: `explain_copy(src, dst)` says which
    pred       a bool, or a bool tensor with an element for each instruction (the shape of the rest modes): where it is
               False nothing is copied, or zeros by cp.async. Without an atom, an element for each of `src`, or for each
               run of its first mode; what shares one (along modes of stride 0) is copied by wide accesses
    barrier    TMA and bulk loads, stores to other blocks: the mbarrier that counts the bytes
    multicast  a mask of blocks of the cluster, for the multicasting loads
    Who        each thread for itself, except as the atom says: a warp for ldmatrix, one thread for TMA
    Errors     `copy-sizes`, `copy-dtype`, `copy-space`, `copy-vector`, `copy-alignment`, each with the numbers
    """
    if dst is None:
        src, dst = how, src
        plain_copy.check_same_size(src, dst)
        if pred is None:
            dst.store(src.load())
        else:
            for source, target, inside in plain_copy.parts(src, dst, pred):
                if inside:
                    target.store(source.load())
    elif isinstance(how, copying.CopyAtom) and isinstance(how.op, TileOp):
        if pred is None or pred:
            copy_tile(how, src, dst, barrier, multicast)
    else:
        plan = copying.plan(how, src, dst, barrier)
        count = len(plan.pairs)
        if pred is None:
            for i in static_range(count):
                plan.call(i)
        else:
            masks = copying.predicates(pred, count, src.size // count)
            for i in static_range(count):
                if plan.atom.op.masks:
                    plan.call(i, masks[i])
                elif masks[i]:
                    plan.call(i)


def cooperative_clear(t: Any) -> None:
    """Write zeros to all of `t`, shared memory without gaps, 16 bytes at a time.

    Who     all threads of the block, together; a barrier must follow. TMA and wgmma see the zeros too
    Errors  `clear-tensor` where `t` has gaps, is not aligned, or not a whole number of 16 bytes
    """
    unit, size = UNIT // t.dtype.bytes, t.size
    if size != cosize(t.layout) or size % unit:
        raise mistake("clear-tensor", f"{t.layout} of {t.dtype} is not a whole number of {UNIT} bytes without gaps")
    units = t.view(make_layout((unit, size // unit)))
    nx, ny, nz = block_dim
    for i in range(linear_thread_idx(), size // unit, nx * ny * nz):
        clear(units[None, i])
    fence_proxy_async("shared::cta")
