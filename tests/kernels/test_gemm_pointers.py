"""GEMMs of matrices that lie anywhere, of sizes that only the device knows."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import SimError
from cutelite.dispatch.divert import diverted
from cutelite.kernels.gemm import pointers
from cutelite.kernels.gemm.pointers import Config

SMALL = Config(columns=128)
SIZES = {
    "one": [(1, 8, 8)],
    "some of nothing": [(0, 64, 64), (5, 0, 8), (0, 0, 0), (3, 16, 24), (64, 8, 0), (0, 8, 8)],
    "nothing": [(0, 0, 0), (0, 8, 8)],
    "ragged": [(130, 264, 136), (0, 0, 0), (1, 8, 200), (257, 16, 72), (2, 8, 0), (127, 136, 64)],
    "many": [(i % 5, 8 * (i % 3), 8 * (i % 4)) for i in range(30)],
}
Group = tuple[int, int, int]


def matrices(sizes: list[Group], dtype: Any = ml_dtypes.bfloat16) -> tuple[list[Any], list[Any], list[Any]]:
    """A, B and results that hold 7; an array of no elements has one element in its place."""
    rng = np.random.default_rng(len(sizes))

    def some(*shape: int) -> Any:
        return rng.normal(size=shape).astype(dtype) if 0 not in shape else np.zeros((1, 8), dtype)

    d = [np.full((m, n) if m * n else (1, 8), 7, dtype) for m, n, _ in sizes]
    return [some(m, k) for m, _, k in sizes], [some(n, k) for _, n, k in sizes], d


def right(sizes: list[Group], a: list[Any], b: list[Any], d: list[Any]) -> bool:
    """Tell whether all results are the products, and nothing else was written."""
    for (m, n, k), x, y, z in zip(sizes, a, b, d, strict=True):
        if m * n == 0:
            if not (z == 7).all():
                return False
        elif not k:
            if z.any():
                return False
        else:
            (truth,) = pointers.reference([x], [y])
            if not np.allclose(z.astype(np.float64), truth, atol=5e-3 * np.abs(truth).max(), rtol=1e-2):
                return False
    return True


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_the_device_reads(name: str) -> None:
    sizes = SIZES[name]
    a, b, d = matrices(sizes)
    pointers.gemm(cl.pointers(a), cl.pointers(b), cl.pointers(d), np.array(sizes, np.int32), config=SMALL)
    assert right(sizes, a, b, d)


@pytest.mark.sm(90)
@pytest.mark.parametrize("name", SIZES)
def test_on_a_gpu(name: str) -> None:
    torch, sizes = pytest.importorskip("torch"), SIZES[name]
    a, b, d = matrices(sizes)
    there = [[torch.from_numpy(x.astype(np.float32)).bfloat16().cuda() for x in part] for part in (a, b, d)]
    read = torch.tensor(sizes, dtype=torch.int32, device="cuda")
    pointers.gemm(cl.pointers(there[0]), cl.pointers(there[1]), cl.pointers(there[2]), read)
    assert right(sizes, a, b, [x.float().cpu().numpy() for x in there[2]])


def test_f16_and_the_default_configuration() -> None:
    sizes = [(70, 264, 136), (3, 520, 72)]
    a, b, d = matrices(sizes, np.float16)
    out = cl.pointers(d)
    assert pointers.gemm(cl.pointers(a), cl.pointers(b), out, np.array(sizes, np.int32), dtype="f16") is out
    assert right(sizes, a, b, d)


def test_no_schedule_of_it_races() -> None:
    sizes = [(130, 136, 200), (1, 8, 0), (3, 8, 8)]
    a, b, d = matrices(sizes)

    def check(kernel: Any, _: Any, args: tuple[Any, ...], __: Any) -> None:
        kernel.check(1, None, *args, seeds=2, notes=False).raise_if_wrong()

    with diverted(check):
        pointers.gemm(cl.pointers(a), cl.pointers(b), cl.pointers(d), np.array(sizes, np.int32), config=SMALL)


def test_depths_that_tma_cannot_take_are_reported_by_the_simulator() -> None:
    a, b, d = matrices([(4, 8, 12)])
    with pytest.raises(SimError, match="16"):
        pointers.gemm(cl.pointers(a), cl.pointers(b), cl.pointers(d), np.array([(4, 8, 12)], np.int32), config=SMALL)


def test_what_is_refused() -> None:
    given = cl.pointers(matrices([(1, 8, 8)])[0])
    with pytest.raises(ValueError, match="a tile has 128 or 256 columns"):
        pointers.gemm(given, given, given, np.zeros((1, 3), np.int32), config=Config(columns=64))
    assert pointers.gemm(given, given, given, np.zeros((1, 3), np.int32)) is given
