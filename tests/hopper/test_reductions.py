"""Every operation of reducing copies, by TMA and in bulk, and of red.async, on every type that it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, TmaTensor
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import SCALARS
from cutelite.ops.cluster import RED_ASYNC
from cutelite.ops.cp_async import REDUCTIONS, TENSOR_REDUCTIONS
from tests.places import Place

COUNT = 32


def kinds_of(table: dict[str, dict[str, str]], name: str) -> tuple[Any, ...]:
    return tuple(kind for kind, types in table.items() if name in types)


def numbers(name: str, seed: int) -> Any:
    """Numbers of a type, its ends among them; floats are small whole numbers, whose sums are exact."""
    held = numpy_dtype(SCALARS[name])
    draw = np.random.default_rng(seed)
    if name[0] not in "iu":
        return draw.integers(-8, 9, COUNT).astype(held)
    ends = np.iinfo(held)
    chosen = np.array([ends.min, ends.max, 0, 1, 5], held)
    return np.concatenate([draw.choice(chosen, 16), draw.integers(0, 9, 16).astype(held)])


def combined(kind: str, old: Any, new: Any) -> Any:
    with np.errstate(over="ignore"):
        match kind:
            case "inc":
                return np.where(old >= new, 0, old + 1)
            case "dec":
                return np.where((old == 0) | (old > new), new, old - 1)
            case _:
                names = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "min": "minimum"}
                return getattr(np, names.get(kind, {"max": "maximum", "add": "add"}.get(kind, "")))(old, new)


TYPES = sorted({name for types in REDUCTIONS.values() for name in types})


@pytest.mark.parametrize("way", ["tma", "bulk"])
@pytest.mark.parametrize("name", TYPES)
def test_tiles_are_combined_into_global_memory(name: str, way: str, place: Place) -> None:
    dtype: Any = SCALARS[name]
    kinds = kinds_of(TENSOR_REDUCTIONS if way == "tma" else REDUCTIONS, name)
    Rows: Any = TmaTensor[dtype, (len(kinds), COUNT), (1, COUNT), "none"]

    @cl.kernel(block=32)
    def combine(x: Tensor[dtype, (COUNT,)], y: Rows, z: Tensor[dtype, (len(kinds), COUNT)]) -> None:
        tile, i = cl.tma_shared(y), cl.thread_idx.x
        tile[0, i] = x[i]
        cl.fence_proxy_async()
        cl.syncthreads()
        if i == 0:
            for row in cl.static_range(len(kinds)):
                if way == "tma":
                    cl.tma_reduce(tile, y, kinds[row], at=(row, 0))
                else:
                    cl.cp_reduce_async_bulk(z.at(row, 0), tile, tile.nbytes, kinds[row])
            cl.cp_async_bulk_commit_group()
            cl.cp_async_bulk_wait_group(0)

    old, new = numbers(name, 1), numbers(name, 2)
    rows, others = np.stack([old] * len(kinds)), np.stack([old] * len(kinds))
    place(combine[1], new, rows, others)
    for kind, found in zip(kinds, rows if way == "tma" else others, strict=True):
        assert np.array_equal(found.astype(float), combined(kind, old, new).astype(float)), kind


@pytest.mark.parametrize("name", sorted({name for types in RED_ASYNC.values() for name in types}))
def test_numbers_are_combined_into_another_blocks_memory(name: str, place: Place) -> None:
    dtype: Any = SCALARS[name]
    kinds = kinds_of(RED_ASYNC, name)

    @cl.kernel(block=COUNT, cluster=2)
    def combine(x: Tensor[dtype, (2, COUNT)], y: Tensor[dtype, (len(kinds), COUNT)]) -> None:
        held, full = cl.shared(dtype, (len(kinds), COUNT)), cl.shared(cl.mbarrier, (1,))
        i, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
        for row in cl.static_range(len(kinds)):
            held[row, i] = x[0, i]
        if i == 0:
            full[0].init(1)
            cl.fence_mbarrier_init()
            full[0].arrive_expect_tx(held.nbytes)
        cl.cluster_sync()
        for row in cl.static_range(len(kinds)):
            cl.red_async(cl.mapa(held, 1 - rank).at(row, i), x[1, i], full[0].remote(1 - rank), kinds[row])
        full[0].wait(0)
        if rank == 1:
            for row in cl.static_range(len(kinds)):
                y[row, i] = held[row, i]
        cl.cluster_sync()

    old, new = numbers(name, 1), numbers(name, 2)
    found = np.zeros((len(kinds), COUNT), old.dtype)
    place(combine[2], np.stack([old, new]), found)
    for kind, row in zip(kinds, found, strict=True):
        assert np.array_equal(row, combined(kind, old, new)), kind
