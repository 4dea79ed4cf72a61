"""The kernels of these tests become machine code: ptxas takes them, spills nothing and serialises no wgmma."""

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from tests.hopper import test_cluster as cluster
from tests.hopper import test_copies as copies
from tests.hopper import test_mbarriers as pipeline
from tests.hopper import test_tma as tma
from tests.hopper import test_wgmma as wgmma
from tests.pairs import some

KERNELS: list[tuple[str, Any, dict[str, Any]]] = [
    ("ring", pipeline.ring, {}),
    ("phases", pipeline.phases, {}),
    ("polling", pipeline.polling, {}),
    ("epilogue", tma.epilogue, {}),
    ("wide tile", tma.wide, {}),
    ("dump", tma.dumper(tma.BOXES[0][0], 1024), {}),
    ("5d", tma.copier(tma.RANKS[4][0], 5), {}),
    ("cp.async", copies.staged, {}),
    ("cp.async told", copies.told, {"noinc": True}),
    ("bulk", copies.bulk, {}),
    ("dsmem", cluster.gather, {}),
    ("st.async", cluster.reduce, {}),
    ("multicast", cluster.multicast, {}),
    ("roles", cluster.roles, {}),
    ("chained", wgmma.chained, {}),
    ("attention", wgmma.attention_like, {}),
]


@pytest.mark.parametrize(("name", "kernel", "given"), KERNELS, ids=[name for name, _, _ in KERNELS])
def test_kernels(name: str, kernel: Any, given: dict[str, Any], ptxas: str) -> None:
    compiled = kernel.compile(arch="sm_90a", **given)
    assert compiled.warnings == []
    assert compiled.spills == 0


def example(name: str, rows: int, k: int) -> Any:
    return np.zeros((rows, k), wgmma.DTYPES[name])


@pytest.mark.parametrize(
    ("registers", "a", "b", "d"), some(((held, *form) for held in (False, True) for form in wgmma.FORMS), 3)
)
def test_products(registers: bool, a: str, b: str, d: str, ptxas: str) -> None:
    size = np.dtype(wgmma.DTYPES[a]).itemsize
    k = 256 // size
    tiles = wgmma.k_major(64, k, "128B", size), wgmma.k_major(128, k, "128B", size)
    compiled = wgmma.product.compile(
        arch="sm_90a",
        how=wgmma.How(128, k, *tiles, registers=registers),
        a=example(a, 64, k),
        b=example(b, 128, k),
        c=example(d, 64, 128),
        d=example(d, 64, 128),
    )
    assert compiled.warnings == []
    assert compiled.ptx.count("wgmma.mma_async") == 8


def test_half_precision_accumulators_are_not_touched_in_flight(ptxas: str) -> None:
    """Between the products and the wait, their packed registers go from one to the other as they are."""

    @cl.kernel(block=128)
    def twice(out: cl.Tensor[cl.f16, (64, 64)]) -> None:
        tile = cl.shared(cl.f16, (64, 64), swizzle=cl.Swizzle(3, 4, 3))
        acc = cl.wgmma.zeros_accumulator(64, cl.f16)
        for _ in range(out[0, 0].to(cl.i32)):
            acc = cl.wgmma.mma_async(tile, tile, acc)
            cl.wgmma.commit_group()
            acc = cl.wgmma.wait_group(1, keep=acc)
        acc = cl.wgmma.wait_group(0, acc)
        cl.wgmma.partition(out).store(acc)

    compiled = twice.compile(arch="sm_90a")
    assert compiled.warnings == []
    body = compiled.ptx[compiled.ptx.index("wgmma.mma_async") : compiled.ptx.index("wgmma.wait_group.sync.aligned 0")]
    assert "mov.b32" not in body
    assert "prmt" not in body
