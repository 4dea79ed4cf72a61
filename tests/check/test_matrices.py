"""Rows of matrices, whose addresses the lanes of a warp give for each other, and which each lane has a part of."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, TmaTensor, u16
from tests.check.slips import report

ROWS = np.arange(256, dtype=np.uint16).reshape(32, 8)


@cl.kernel(block=32)
def loaded(src: Tensor[u16, (32, 8)], out: Tensor[u16, (32, 8)], slip: Constexpr[str]) -> None:
    """Each lane writes the row whose address it gives; all load, and some write again."""
    tile, t = cl.shared(u16, (32, 8), align=16), cl.thread_idx.x
    tile.tile((1, 8), (t, 0)).store(src.tile((1, 8), (t, 0)).load())
    if slip != "no syncwarp before":
        cl.syncwarp()
    held = cl.ldmatrix(tile[t, None])
    if slip == "its own part":
        for m in cl.static_range(4):
            for i in cl.static_range(2):
                tile[8 * m + t // 4, 2 * (t % 4) + i] = u16(0)
    else:
        if slip != "no syncwarp behind":
            cl.syncwarp()
        tile[t, 0] = u16(0)
    out.tile((1, 8), (t, 0)).store(held)


@cl.kernel(block=32)
def stored(src: Tensor[u16, (32, 8)], out: Tensor[u16, (32, 8)], slip: Constexpr[str]) -> None:
    """All lanes store, and each reads the row whose address it gave, or the parts that it had."""
    tile, t = cl.shared(u16, (32, 8), align=16), cl.thread_idx.x
    transpose = "transposed" in slip
    cl.stmatrix(tile.at(t, 0), src.tile((1, 8), (t, 0)).load(), transpose=transpose)
    if "its own parts" in slip:
        for m in cl.static_range(4):
            for i in cl.static_range(2):
                along, across = 2 * (t % 4) + i, t // 4
                row, column = (along, across) if transpose else (across, along)
                out[8 * m + row, column] = tile[8 * m + row, column]
    else:
        if "no syncwarp" not in slip:
            cl.syncwarp()
        out.tile((1, 8), (t, 0)).store(tile.tile((1, 8), (t, 0)).load())


@cl.kernel(block=32)
def sent(src: Tensor[u16, (32, 8)], out: TmaTensor[u16, (32, 8), (32, 8)], slip: Constexpr[str]) -> None:
    """All lanes store a tile, which goes to memory by TMA."""
    tile, t = cl.tma_shared(out), cl.thread_idx.x
    cl.stmatrix(tile.at(t, 0), src.tile((1, 8), (t, 0)).load())
    if slip != "the fence of the first matrix's lanes" or t < 8:
        cl.fence_proxy_async("shared::cta")
    cl.syncwarp()
    if t == 0:
        cl.tma_store(tile, out, at=(0, 0))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


@pytest.mark.parametrize(
    ("kernel", "slip", "kinds"),
    [
        (loaded, "", ()),
        (loaded, "its own part", ()),
        (loaded, "no syncwarp before", ("race",)),
        (loaded, "no syncwarp behind", ("race",)),
        (stored, "", ()),
        (stored, "its own parts", ()),
        (stored, "its own parts, transposed", ()),
        (stored, "no syncwarp", ("race",)),
        (stored, "no syncwarp, transposed", ("race",)),
        (sent, "", ()),
        (sent, "the fence of the first matrix's lanes", ("proxy-fence",)),
    ],
)
def test_a_lane_accesses_what_it_has_of_a_matrix(kernel: Any, slip: str, kinds: tuple[str, ...]) -> None:
    for seed in range(2):
        assert report(kernel, 1, (ROWS, np.zeros_like(ROWS)), slip, [seed]).kinds == set(kinds), seed
