"""Tiled MMAs: who holds what, and products through every kind of atom against NumPy, on the simulator."""

# mypy: disable-error-code="valid-type, attr-defined, index, type-arg, var-annotated, arg-type"
# (kernels here are made for dtypes and shapes that a test chooses, which no annotation can say to a checker)

import functools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Tensor
from cutelite.ir.types import SCALARS
from cutelite.layout import Layout
from cutelite.ops import mma as mma_ops
from tests.atoms.test_mma_ops import DTYPES
from tests.places import Place

WARP = [(a, b, d, k) for a, form in mma_ops.FORMS.items() for b in form.b for d in form.d for k in form.k]
TILED = {
    "one": cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32)),
    "2x2": cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), (2, 2, 1)),
    "2x2 row-major": cl.make_tiled_mma(cl.WarpMmaOp(cl.bf16, cl.f32, k=8), Layout((2, 2, 1), (2, 1, 1))),
    "wide": cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), (2, 2, 1), (None, 32, None)),
    "permuted": cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), (4, 1, 1), (64, Layout((2, 4, 2), (1, 4, 2)), 16)),
    "split k": cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), (1, 2, 2)),
    "f64": cl.make_tiled_mma(cl.WarpMmaOp(cl.f64, cl.f64), (2, 1, 1)),
    "fma": cl.make_tiled_mma(cl.MmaUniversalOp(cl.f32), (16, 8, 1)),
    "wgmma": cl.make_tiled_mma(cl.WarpgroupMmaOp(cl.bf16, cl.f32, 16), (2, 1, 1)),
    "wgmma rs": cl.make_tiled_mma(cl.WarpgroupMmaOp(cl.bf16, cl.f32, 16, a_source="rmem"), (1, 1, 1)),
}
MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


@functools.cache
def owned(name: str, operand: str, repeat: int = 1) -> Any:
    """Elements of an operand of `repeat` tiles each way, by column-major index: (threads, values in their order)."""
    tiled = TILED[name]
    first, second = MODES[operand]
    shape = tiled.tile_shape
    threads, values = tiled.parts(Layout((shape[first] * repeat, shape[second] * repeat)), operand)
    steps = np.zeros(1, np.int64)
    for mode in values:  # the first one varies fastest
        steps = (np.broadcast_to(mode(np.arange(mode.size)), mode.size)[:, None] + steps).reshape(-1)
    number = np.arange(tiled.size)
    at = [
        np.zeros_like(number) if mode.size == 1 else number // mode.stride % mode.size for mode in tiled.thr_layout_vmnk
    ]
    starts = threads[0](at[0]) + sum(threads[1 + i](at[1 + m]) for i, m in enumerate(MODES[operand]))
    return np.broadcast_to(starts, tiled.size)[:, None] + steps


@pytest.mark.parametrize("name", TILED)
@pytest.mark.parametrize("repeat", [1, 2])
def test_accumulators_are_spread_over_all_threads(name: str, repeat: int) -> None:
    """Every element of C belongs to one thread, or to one for each atom along K."""
    m, n, _ = TILED[name].tile_shape
    everything = np.sort(owned(name, "C", repeat), axis=None)
    split = TILED[name].atoms[2].size
    np.testing.assert_array_equal(everything, np.repeat(np.arange(m * n * repeat**2), split))


@pytest.mark.parametrize("name", TILED)
def test_a_thread_has_the_operands_of_its_accumulators(name: str) -> None:
    """Warp by warp, the rows of A, and the rows of B, are those that its part of C needs, with a share of K."""
    tiled = TILED[name]
    m, n, _ = tiled.tile_shape
    a, b, c = owned(name, "A"), owned(name, "B"), owned(name, "C")
    each = tiled.op.threads
    for first in range(0, tiled.size, each):
        group = slice(first, first + each)
        for found, expected in (
            (a[group] % m, c[group] % m), (b[group] % n, c[group] // m), (a[group] // m, b[group] // n)
        ):  # fmt: skip
            np.testing.assert_array_equal(np.unique(found), np.unique(expected))


@pytest.mark.parametrize("name", [name for name in TILED if name != "split k"])
def test_tile_layouts_agree_with_partitions(name: str) -> None:
    """`tile_tv`, which tiled copies are made from, says the same as a partition."""
    tiled = TILED[name]
    for operand, modes in MODES.items():
        extents = tiled.tile_shape[modes[0]], tiled.tile_shape[modes[1]]
        layout, tiler, counts = tiled.tile_tv(operand)
        assert tiler == extents
        assert layout[1].size == np.prod(counts)
        said = layout(np.arange(tiled.size)[:, None], np.arange(layout[1].size))
        held = owned(name, operand)
        np.testing.assert_array_equal(np.broadcast_to(said, held.shape), held)


def product(
    op: Any,
    a: str,
    b: str,
    d: str,
    shape: tuple[int, int, int],
    atoms: Any,
    *,
    a_copy: Any = None,
    b_copy: Any = None,
    permutation: Any = (None, None, None),
    majors: str = "KK",
    swizzled: bool = True,
) -> Any:
    """A kernel of one block: A (m, k), B (n, k) through shared memory into registers, and C (m, n) out."""  # fmt: skip
    m, n, k = shape
    tiled = cl.make_tiled_mma(op, atoms, permutation)
    elem_a, elem_b, elem_d = SCALARS[a], SCALARS[b], SCALARS[d]
    load_a = cl.make_tiled_copy_A(cl.make_copy_atom(a_copy, elem_a), tiled) if a_copy else None
    load_b = cl.make_tiled_copy_B(cl.make_copy_atom(b_copy, elem_b), tiled) if b_copy else None
    layouts = []
    for elem, rows, major in ((elem_a, m, majors[0]), (elem_b, n, majors[1])):
        name = "MN" if major == "M" else "K"
        plain = Layout((rows, k), (k + 16 // elem.bytes, 1)) if name == "K" else Layout((rows, k), (1, rows + 8))
        layouts.append(cl.make_smem_layout(elem, (rows, k), name) if swizzled else plain)

    @cl.kernel(block=tiled.size)
    def kernel(a: Tensor[elem_a, (m, k)], b: Tensor[elem_b, (n, k)], c: Tensor[elem_d, (m, n)]) -> None:
        t = cl.thread_idx.x
        sa, sb = cl.shared(elem_a, layouts[0]), cl.shared(elem_b, layouts[1])
        for source, target in ((a, sa), (b, sb)):
            for i in range(t, source.size, tiled.size):
                target[i] = source[i]
        cl.fence_proxy_async()
        cl.syncthreads()
        mine = tiled.get_slice(t)
        part_a, part_b = mine.partition_A(sa), mine.partition_B(sb)
        fa, fb = tiled.make_fragment_A(part_a), tiled.make_fragment_B(part_b)
        if load_a is not None:
            cl.copy(load_a, load_a.get_slice(t).partition_S(sa), load_a.retile(fa))
        elif fa.space == "rmem":
            cl.copy(part_a, fa)
        if load_b is not None:
            cl.copy(load_b, load_b.get_slice(t).partition_S(sb), load_b.retile(fb))
        elif fb.space == "rmem":
            cl.copy(part_b, fb)
        part_c = mine.partition_C(c)
        acc = cl.gemm(tiled, tiled.make_fragment_C(part_c), fa, fb)
        if isinstance(acc, cl.Accumulator):
            part_c.store(acc.wait().load())
        else:
            cl.copy(acc, part_c)

    return kernel


@pytest.mark.parametrize(("a", "b", "d", "k"), WARP)
def test_every_warp_atom(place: Place, a: str, b: str, d: str, k: int) -> None:
    op = cl.WarpMmaOp(SCALARS[a], SCALARS[d], k, SCALARS[b])
    shape = (64, 32, 64)
    run(place, product(op, a, b, d, shape, (2, 2, 1), swizzled=a != "f64"), op, (2, 2, 1), a, b, d, shape)


def run(place: Place, kernel: Any, op: Any, atoms: Any, a: str, b: str, d: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    rng = np.random.default_rng(7)
    x, y = (rng.integers(0 if "u8" in (a, b) else -4, 5, (rows, k)).astype(DTYPES[e]) for rows, e in ((m, a), (n, b)))
    out = np.full((m, n), 77, DTYPES[d])
    place(kernel[1, cl.make_tiled_mma(op, atoms).size], x, y, out)
    expected = x.astype(np.float64) @ y.astype(np.float64).T
    np.testing.assert_array_equal(out.astype(np.float64), expected)


@pytest.mark.parametrize("name", ["f16", "bf16", "tf32", "i8", "e4m3"])
@pytest.mark.parametrize("swizzled", [False, True])
def test_ldmatrix_feeds_it(place: Place, name: str, swizzled: bool) -> None:
    d = "i32" if name == "i8" else "f32"
    op, shape = cl.WarpMmaOp(SCALARS[name], SCALARS[d]), (64, 64, 64)
    copy = cl.LdMatrix8x8x16bOp(num_matrices=4)
    kernel = product(
        op, name, name, d, shape, (2, 2, 1), a_copy=copy, b_copy=copy, permutation=(None, 32, None), swizzled=swizzled
    )
    run(place, kernel, op, (2, 2, 1), name, name, d, shape)


@pytest.mark.parametrize("majors", ["KM", "MK", "MM"])
@pytest.mark.parametrize("count", [2, 4])
def test_ldmatrix_transposes(place: Place, majors: str, count: int) -> None:
    op, shape = cl.WarpMmaOp(cl.f16, cl.f32), (64, 64, 32)
    a_copy = cl.LdMatrix8x8x16bOp(transpose=majors[0] == "M", num_matrices=count)
    b_copy = cl.LdMatrix8x8x16bOp(transpose=majors[1] == "M", num_matrices=count)
    kernel = product(
        op,
        "f16",
        "f16",
        "f32",
        shape,
        (2, 2, 1),
        a_copy=a_copy,
        b_copy=b_copy,
        permutation=(None, 32, None),
        majors=majors,
    )
    run(place, kernel, op, (2, 2, 1), "f16", "f16", "f32", shape)


def test_ldmatrix_on_a_permuted_tile(place: Place) -> None:
    """A layout in place of an extent: neighbouring columns of B for a thread of one MMA come from two places."""
    op, shape = cl.WarpMmaOp(cl.f16, cl.f32), (64, 64, 32)
    copies: Any = {
        "a_copy": cl.LdMatrix8x8x16bOp(),
        "b_copy": cl.LdMatrix8x8x16bOp(),
        "permutation": (64, PERMUTED, 16),
    }
    run(place, product(op, "f16", "f16", "f32", shape, (4, 1, 1), **copies), op, (4, 1, 1), "f16", "f16", "f32", shape)


PERMUTED = Layout((8, 2, 2), (1, 16, 8))


def test_fma_atoms(place: Place) -> None:
    op, shape = cl.MmaUniversalOp(cl.f32), (32, 32, 8)
    run(
        place,
        product(op, "f32", "f32", "f32", shape, (8, 16, 1), swizzled=False),
        op,
        (8, 16, 1),
        "f32",
        "f32",
        "f32",
        shape,
    )


@pytest.mark.parametrize(
    ("a", "b", "d", "n"),
    [
        ("bf16", "bf16", "f32", 64),
        ("f16", "f16", "f16", 32),
        ("tf32", "tf32", "f32", 8),
        ("e4m3", "e5m2", "f32", 64),
        ("i8", "u8", "i32", 32),
    ],
)
@pytest.mark.parametrize("source", ["smem", "rmem"])
def test_warpgroup_atoms(place: Place, a: str, b: str, d: str, n: int, source: str) -> None:
    op, shape = cl.WarpgroupMmaOp(SCALARS[a], SCALARS[d], n, SCALARS[b], source), (256, 64, 128)
    run(place, product(op, a, b, d, shape, (2, 1, 1)), op, (2, 1, 1), a, b, d, shape)


@pytest.mark.parametrize(
    ("name", "d", "transpose"), [("f16", "f32", False), ("bf16", "f32", True), ("i8", "i32", False)]
)
def test_ldmatrix_feeds_wgmma(place: Place, name: str, d: str, transpose: bool) -> None:
    op, shape = cl.WarpgroupMmaOp(SCALARS[name], SCALARS[d], 32, a_source="rmem"), (256, 32, 64)
    copy = cl.LdMatrix8x8x16bOp(transpose=transpose)
    kernel = product(op, name, name, d, shape, (2, 1, 1), a_copy=copy, majors="MK" if transpose else "KK")
    run(place, kernel, op, (2, 1, 1), name, name, d, shape)


@pytest.mark.parametrize("majors", ["KM", "MK", "MM"])
def test_warpgroup_major_modes(place: Place, majors: str) -> None:
    op, shape = cl.WarpgroupMmaOp(cl.bf16, cl.f32, 64), (128, 128, 64)
    run(
        place,
        product(op, "bf16", "bf16", "f32", shape, (1, 2, 1), majors=majors),
        op,
        (1, 2, 1),
        "bf16",
        "bf16",
        "f32",
        shape,
    )


# What is refused; `test_bad_input.py` has more.


def test_atoms_that_there_are_not() -> None:
    for make, text in (
        (lambda: cl.WarpMmaOp(cl.f32, cl.f32), "does not multiply f32"),
        (lambda: cl.WarpMmaOp(cl.f16, cl.f32, k=32), "has K 8 or 16, not 32"),
        (lambda: cl.WarpMmaOp(cl.f64, cl.f64, k=8), "with m=16 there is one"),
        (lambda: cl.WarpgroupMmaOp(cl.bf16, cl.f16, 64), "does not multiply bf16 by bf16 into f16"),
        (lambda: cl.WarpgroupMmaOp(cl.bf16, cl.f32, 100), "multiple of 8, from 8 to 256, not 100"),
        (lambda: cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), (2, 2)), "has 2 modes, not 3"),
        (
            lambda: cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), (2, 2, 1), (None, 24, None)),
            "24 along N, no multiple of the 16",
        ),
    ):
        with pytest.raises(CompileError, match=text.replace("(", r"\(")):
            make()


@cl.kernel(block=128)
def product_of_a_vector(a: Tensor[cl.f32, (64, 32)], b: Tensor[cl.bf16, (16, 32)], o: Tensor[cl.f32, (64, 16)]) -> None:
    tile = cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (16, 32)))
    for i in range(cl.thread_idx.x, 16 * 32, 128):
        tile[i % 16, i // 16] = b[i % 16, i // 16]
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    mma = TILED["wgmma rs"]
    mine = mma.get_slice(cl.thread_idx.x)
    left = cl.wgmma.partition(a).load().reshape((16,)).to(cl.bf16)  # as an accumulator (64, 32) holds them
    acc = mma.make_fragment_C(mine.partition_C(o))
    acc = cl.gemm(mma, acc, left, mma.make_fragment_B(mine.partition_B(tile))).wait()
    cl.wgmma.partition(o).store(acc.load().reshape((8,)))


def test_a_vector_is_operand_a_of_wgmma(place: Place) -> None:
    a = np.arange(64 * 32, dtype=np.float32).reshape(64, 32) % 7
    b = (np.arange(16 * 32).reshape(16, 32) % 5).astype(ml_dtypes.bfloat16)
    out = np.full((64, 16), np.nan, np.float32)
    place(product_of_a_vector[1, 128], a, b, out)
    assert (out == a @ b.astype(np.float32).T).all()


@cl.kernel(block=128)
def rows_of_repeats(
    a: Tensor[cl.bf16, (128, 64)],
    b: Tensor[cl.bf16, (32, 64)],
    top: Tensor[cl.f32, (128,)],
    o: Tensor[cl.f32, (128, 32)],
) -> None:
    """A tile of two repeats along M and two along N: the greatest of each row, and each row times its sum."""
    mma = cl.make_tiled_mma(cl.WarpgroupMmaOp(cl.bf16, cl.f32, 16), (1, 1, 1), (128, 32, None))
    left = cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (128, 64)))
    right = cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (32, 64)))
    for i in range(cl.thread_idx.x, 128 * 64, 128):
        left[i // 64, i % 64] = a[i // 64, i % 64]
    for i in range(cl.thread_idx.x, 32 * 64, 128):
        right[i // 64, i % 64] = b[i // 64, i % 64]
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    mine = mma.get_slice(cl.thread_idx.x)
    acc = mma.make_fragment_C(mine.partition_C(o))
    parts = mma.make_fragment_A(mine.partition_A(left)), mma.make_fragment_B(mine.partition_B(right))
    acc = cl.gemm(mma, acc, *parts).wait()
    best = acc.row_reduce("max")
    acc = acc.scale_rows(acc.row_reduce("sum"))
    held = cl.make_fragment_like(mine.partition_C(o))
    cl.with_layout(held, cl.Layout((32,))).store(acc.load().reshape((32,)))
    cl.copy(held, mine.partition_C(o))
    row = cl.wgmma.coordinate_vectors(16)[0]
    for m in cl.static_range(2):
        for i in cl.static_range(2):
            top[64 * m + row[0, i, 0]] = best[i, m]


def test_rows_of_an_accumulator_of_several_repeats(place: Place) -> None:
    a = (np.arange(128 * 64).reshape(128, 64) % 7 - 3).astype(ml_dtypes.bfloat16)
    b = (np.arange(32 * 64).reshape(32, 64) % 5 - 2).astype(ml_dtypes.bfloat16)
    top, out = np.full(128, np.nan, np.float32), np.full((128, 32), np.nan, np.float32)
    place(rows_of_repeats[1, 128], a, b, top, out)
    product = a.astype(np.float32) @ b.astype(np.float32).T
    assert (top == product.max(1)).all()
    assert (out == product * product.sum(1, keepdims=True)).all()
