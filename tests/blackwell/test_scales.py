"""Products with a scale for each block along K, against NumPy; and the copies that bring scales to tensor memory."""

from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Tensor, f32, u8
from cutelite.lang import tcgen05 as words
from cutelite.ops.swizzles import SWIZZLES
from cutelite.ops.tcgen05_layouts import ScaledDescriptor
from tests.blackwell.pieces import finished, write
from tests.hopper.test_wgmma import DTYPES, fill, k_major
from tests.pieces import barriers

A = TypeVar("A", bound=Any)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def product(
    n: int, elem: Any, kind: Any, block: int, octets: int, blocks: int, group: int = 1, kept_octets: int = 0,
    how: str = "",
) -> Any:  # fmt: skip
    """A kernel of one product of 128 rows, or of a pair of blocks with as many each; `blocks` scales of a row come by
    shared memory.

    octets       of a row of B; A has as many, or half as many where `kept_octets`, those of its metadata, is not 0
    how          'tmem': A is there; 'atom': multiplied by one
    """
    of_a = octets // 2 if kept_octets else octets
    rows, columns = 128, n // group
    fields: Any = {"block": block, "cta_group": group, "sparse": kept_octets > 0}
    atom = cl.Tcgen05ScaledMmaOp(kind, n, elem, a_source="tmem" if "tmem" in how else "smem", **fields)

    @cl.kernel(block=128, cluster=group, arch="sm_100a")
    def kernel(
        a: Tensor[A, (128 * group, of_a)],
        b: Tensor[A, (n, octets)],
        sa: Tensor[u8, (128 * group, blocks)],
        sb: Tensor[u8, (n, blocks)],
        c: Tensor[f32, (128 * group, n)],
        kept: Tensor[u8, (128 * group, max(1, kept_octets))] | None = None,
    ) -> None:
        left = cl.shared(elem, k_major(rows, of_a, "32B", 1), swizzle=SWIZZLES["32B"], align=1024)
        right = cl.shared(elem, k_major(columns, octets, "64B", 1), swizzle=SWIZZLES["64B"], align=1024)
        of_left = cl.shared(u8, cl.tcgen05.scales_in_smem(128, blocks), align=128)
        of_right = cl.shared(u8, cl.tcgen05.scales_in_smem(n, blocks), align=128)
        done, t, rank = barriers(1), cl.thread_idx.x, cl.block_rank_in_cluster()
        fill(left, a, rows, of_a, rank * rows)
        fill(right, b, columns, octets, rank * columns)
        fill(of_left, sa, rows, blocks, rank * rows)
        fill(of_right, sb, n, blocks)
        metadata: Any = None
        if kept is not None:
            of_smem = cl.shared(u8, cl.tcgen05.metadata_in_smem(elem, octets), align=128)
            fill(of_smem, kept, rows, kept_octets, rank * rows)
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(512, cta_group=group)
        acc = tmem.tensor(128, n)
        by_a, by_b = (tmem.view(cl.tcgen05.scales(size, blocks), u8, at) for size, at in ((rows, 256), (n, 320)))
        if kept is not None:
            metadata = tmem.view(cl.tcgen05.metadata(elem, octets), u8, 384)
        if "tmem" in how:
            there = tmem.view(cl.tcgen05.lanes_layout(128, of_a, elem), elem, 416)
            cl.tcgen05.store(there, cl.vector(*(a[rank * rows + t, i] for i in cl.static_range(of_a)), dtype=elem))
            cl.tcgen05.wait_store()
            cl.tcgen05.fence_before_thread_sync()
            cl.cluster_sync()
            left = there
        if t == 0 and rank == 0:
            cl.tcgen05.fence_after_thread_sync()
            cl.tcgen05.copy_scales(by_a, of_left, group)
            cl.tcgen05.copy_scales(by_b, of_right, group)
            if kept is not None:
                cl.tcgen05.copy_metadata(metadata, of_smem, elem, group)
            if "atom" in how:
                mma = cl.make_tiled_mma(atom)
                mine = mma.get_slice(0)
                sums, operands = mine.partition_C(acc), (mine.partition_A(left), mine.partition_B(right))
                cl.gemm(mma, sums, *operands, accumulate=False, metadata=metadata, scales=(by_a, by_b))
            else:
                more: Any = {"kind": kind, "block": block, "metadata": metadata, "cta_group": group}
                cl.tcgen05.mma_scaled(acc, left, right, by_a, by_b, accumulate=False, **more)
            cl.tcgen05.commit(done[0], 3 if group == 2 else None, group)
        finished(done)
        for k in cl.static_range(n // 64):
            write(c.tile((rows, 64), (rank, k)), acc.tile((rows, 64), (0, k)))
        tmem.free()

    return kernel


def numbers(x: Any) -> Any:
    if x.dtype != np.uint8:
        return x.astype(np.float64)
    return E2M1[np.stack([x & 15, x >> 4], -1).reshape(len(x), -1)]


def drawn(draw: Any, elem: str, rows: int, octets: int) -> Any:
    """Rows of an operand: any numbers of 4 bits, small whole ones of 8."""
    if elem == "u8":
        return draw.integers(0, 256, (rows, octets), np.uint8)
    return draw.integers(-4, 5, (rows, octets)).astype(DTYPES[elem])


def drawn_scales(draw: Any, block: int, rows: int, blocks: int) -> tuple[Any, Any]:
    """Scales as bytes and as numbers: ue8m0 for blocks of 32, ue4m3 for those of 16."""
    if block == 32:
        octets = draw.integers(124, 131, (rows, blocks), np.uint8)
        return octets, 2.0 ** (octets.astype(np.float64) - 127)
    factors = draw.integers(1, 8, (rows, blocks)).astype(np.float64)
    return factors.astype(ml_dtypes.float8_e4m3fn).view(np.uint8), factors


def scaled(x: Any, factors: Any, block: int) -> Any:
    wide = numbers(x)
    return wide * np.repeat(factors[:, : wide.shape[1] // block], block, 1)


@pytest.mark.parametrize(
    ("n", "bytes", "elem", "kind", "block"),
    [
        (128, 128, "e4m3", "mxf8f6f4", 32),
        (256, 256, "e5m2", "mxf8f6f4", 32),
        (128, 128, "u8", "mxf4", 32),
        (128, 64, "u8", "mxf4nvf4", 16),
        (256, 64, "u8", "mxf4nvf4", 32),
    ],
)
@pytest.mark.usefixtures("on_cards")
def test_scaled_products_are_those_of_numpy(n: int, bytes: int, elem: str, kind: str, block: int) -> None:
    draw = np.random.default_rng(n + bytes)
    a, b = (drawn(draw, elem, rows, bytes) for rows in (128, n))
    blocks = -(-numbers(a).shape[1] // block // 4) * 4
    (sa, fa), (sb, fb) = (drawn_scales(draw, block, rows, blocks) for rows in (128, n))
    c = np.zeros((128, n), np.float32)
    kernel = product(n, getattr(cl, elem), kind, block, bytes, blocks)
    kernel[1, 128](a, b, sa, sb, c)
    np.testing.assert_array_equal(c, (scaled(a, fa, block) @ scaled(b, fb, block).T).astype(np.float32))
    if n == 128:
        report = kernel.check(1, 128, a, b, sa, sb, c, seeds=2, notes=False)
        assert not report.findings, str(report)


def test_scaled_products_are_assembled(nvdisasm: str) -> None:
    shapes = (
        [np.zeros((128, 64), np.uint8)] * 2 + [np.zeros((128, 8), np.uint8)] * 2 + [np.zeros((128, 128), np.float32)]
    )
    text = product(128, u8, "mxf4nvf4", 16, 64, 8).compile(*shapes, arch="sm_103a").sass.text
    assert "UTCOMMA" in text and "UTCCP" in text


def test_scales_that_are_not_those_of_the_operand_are_refused() -> None:
    shapes = [np.zeros((128, 128), np.uint8)] * 2 + [np.zeros((128, 4), np.uint8)] * 2
    kernel = product(128, u8, "mxf4", 32, 128, 4)
    with pytest.raises(CompileError, match=r"`scale_a` is .*, and its operand has 128 rows of 8 blocks"):
        kernel.compile(*shapes, np.zeros((128, 128), np.float32))


@pytest.mark.parametrize(
    ("shape", "rows", "columns", "swizzle"),
    [
        ("128x256b", 128, 8, "none"),
        ("128x256b", 128, 8, "32B"),
        ("128x128b", 128, 4, "none"),
        ("64x128b.warpx2::02_13", 64, 4, "none"),
        ("64x128b.warpx2::01_23", 64, 4, "none"),
        ("32x128b.warpx4", 32, 4, "none"),
    ],
)
@pytest.mark.usefixtures("on_cards")
def test_rows_are_copied_to_the_lanes_of_warps(shape: str, rows: int, columns: int, swizzle: str) -> None:
    layout = k_major(rows, 8, swizzle, 4) if columns == 8 else cl.Layout((rows, 4), (4, 1))

    @cl.kernel(block=128, arch="sm_100a")
    def kernel(x: Tensor[f32, (rows, columns)], out: Tensor[f32, (128, columns)]) -> None:
        tile = cl.shared(f32, layout, swizzle=SWIZZLES[swizzle], align=1024)
        done, t = barriers(1), cl.thread_idx.x
        if t < rows:
            for j in cl.static_range(columns):
                tile[t, j] = x[t, j]
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(32)
        held = tmem.tensor(128, columns)
        if t == 0:
            cl.tcgen05.copy(held, tile, shape)
            cl.tcgen05.commit(done[0])
        finished(done)
        write(out, held)
        tmem.free()

    x, out = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns), np.zeros((128, columns), np.float32)
    kernel[1, 128](x, out)
    first, second = x[:32], x[32:64]
    parts = {"02_13": (first, second) * 2, "01_23": (first, first, second, second), "warpx4": (first,) * 4}
    want = next((np.concatenate(found) for name, found in parts.items() if shape.endswith(name)), x)
    np.testing.assert_array_equal(out, want)
    assert not kernel.check(1, 128, x, out, seeds=2, notes=False).findings


@pytest.mark.parametrize(
    ("fields", "at", "value"),
    [
        ({"b": "e5m2"}, 10, 1),
        ({"a": "e5m2"}, 7, 1),
        ({"scale_b_id": 1}, 4, 1),
        ({"scale_b_id": 3}, 4, 3),
        ({"scale_a_id": 2}, 29, 2),
        ({"negate_a": True}, 13, 1),
        ({"negate_b": True}, 14, 1),
        ({"a_major": "MN"}, 15, 1),
        ({"b_major": "MN"}, 16, 1),
        ({"scale": "ue4m3"}, 23, 1),
    ],
)
def test_each_field_of_a_descriptor_with_scales_has_its_bits(fields: dict[str, Any], at: int, value: int) -> None:
    plain = {"kind": "mxf8f6f4", "a": "e4m3", "b": "e4m3", "scale": "ue8m0", "m": 128, "n": 64}
    bits = ScaledDescriptor(**plain).bits  # type: ignore[arg-type]
    assert bits == 64 >> 3 << 17 | 1 << 23 | 128 >> 4 << 24
    assert ScaledDescriptor(**{**plain, **fields}).bits ^ bits == value << at


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "f16"}, "no kind is called"),
        ({"a": "bf16"}, "`a` is bf16; kind::mxf8f6f4 takes e4m3, e5m2"),
        ({"scale": "f32"}, "`scale` is f32"),
        ({"m": 64}, "`m` is 64, none of 128, 256"),
        ({"n": 260}, "`n` is 260"),
        ({"scale_a_id": 4}, "`scale_a_id` is 4, but its field has 2 bits"),
        ({"kind": "mxf4", "a": "e2m1", "b": "e2m1", "a_major": "MN"}, "`a_major` is 'MN'; kind::mxf4 takes K"),
    ],
)
def test_a_field_that_does_not_fit_is_refused(fields: dict[str, Any], words: str) -> None:
    plain = {"kind": "mxf8f6f4", "a": "e4m3", "b": "e4m3", "scale": "ue8m0", "m": 128, "n": 64}
    with pytest.raises(ValueError, match=words):
        ScaledDescriptor(**{**plain, **fields})


@pytest.mark.parametrize(
    ("elem", "kind", "block", "octets", "group", "sparse", "how"),
    [
        ("e4m3", "mxf8f6f4", 32, 128, 2, False, ""),
        ("e4m3", "mxf8f6f4", 32, 128, 1, True, "atom"),
        ("u8", "mxf4nvf4", 16, 128, 2, True, "atom"),
        ("u8", "mxf4", 32, 64, 2, False, "tmem"),
        ("u8", "mxf4nvf4", 16, 128, 1, True, "atom tmem"),
    ],
)
@pytest.mark.usefixtures("on_cards")
def test_scaled_products_of_pairs_and_with_a_sparse_a(
    elem: str, kind: str, block: int, octets: int, group: int, sparse: bool, how: str
) -> None:
    draw, rows, n = np.random.default_rng(octets + group), 128 * group, 128
    a, b = (drawn(draw, elem, size, octets) for size in (rows, n))
    if sparse:  # of 4 bytes two
        places = np.argsort(draw.random((rows, octets // 4, 4)), axis=-1)[..., :2]
        np.put_along_axis(a.reshape(rows, -1, 4), places, a.dtype.type(0), axis=-1)
    held, metadata = words.compress(a, getattr(cl, elem)) if sparse else (a, None)
    blocks = -(-numbers(held).shape[1] // block // 4) * 4
    (sa, fa), (sb, fb) = (drawn_scales(draw, block, size, blocks) for size in (rows, n))
    c = np.zeros((rows, n), np.float32)
    kept = 0 if metadata is None else metadata.shape[1]
    kernel = product(n, getattr(cl, elem), kind, block, octets, blocks, group, kept, how)
    kernel[group, 128](held, b, sa, sb, c, metadata)
    each = block * (2 if sparse else 1)
    np.testing.assert_array_equal(c, (scaled(a, fa, each) @ scaled(b, fb, each).T).astype(np.float32))
    if group == 2:
        report = kernel.check(group, 128, held, b, sa, sb, c, metadata, seeds=2, notes=False)
        assert not report.findings, str(report)


@pytest.mark.parametrize(
    ("elem", "kind", "block", "octets", "n", "how"),
    [
        ("u8", "mxf4nvf4", 16, 64, 128, "atom"),
        ("e4m3", "mxf8f6f4", 32, 256, 256, ""),
        ("u8", "mxf4", 32, 256, 64, ""),
        ("u8", "mxf4nvf4", 16, 64, 128, "tmem atom"),
    ],
)
@pytest.mark.usefixtures("on_cards")
def test_scaled_products_of_pairs_with_64_rows_each(
    elem: str, kind: Any, block: int, octets: int, n: int, how: str
) -> None:
    """Lanes 64 to 127 have the second half of the columns, its scales of B, and A in tensor memory once more."""
    rows, columns, held = 64, n // 2, getattr(cl, elem)
    blocks = octets * (1 if kind == "mxf8f6f4" else 2) // block
    source: Any = "tmem" if "tmem" in how else "smem"
    atom = cl.Tcgen05ScaledMmaOp(kind, n, held, block=block, cta_group=2, m=128, a_source=source)

    @cl.kernel(block=128, cluster=2, arch="sm_100a")
    def kernel(
        a: Tensor[A, (128, octets)], b: Tensor[A, (n, octets)], sa: Tensor[u8, (128, blocks)],
        sb: Tensor[u8, (n, blocks)], c: Tensor[f32, (128, n)],
    ) -> None:  # fmt: skip
        left = cl.shared(held, cl.make_smem_layout(held, (rows, octets)))
        right = cl.shared(held, cl.make_smem_layout(held, (columns, octets)))
        of_left = cl.shared(u8, cl.tcgen05.scales_in_smem(rows, blocks), align=128)
        of_right = cl.shared(u8, cl.tcgen05.scales_in_smem(n, blocks, halves=True), align=128)
        done, t, rank = barriers(1), cl.thread_idx.x, cl.block_rank_in_cluster()
        fill(left, a, rows, octets, rank * rows)
        fill(right, b, columns, octets, rank * columns)
        fill(of_left, sa, rows, blocks, rank * rows)
        fill(of_right, sb, n, blocks)
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(256, cta_group=2)
        acc = tmem.tensor(rows, n)
        by_a = tmem.view(cl.tcgen05.scales(rows, blocks), u8, 128)
        by_b = tmem.view(cl.tcgen05.scales(n, blocks, halves=True), u8, 160)
        if "tmem" in how:
            there = tmem.view(cl.tcgen05.lanes_layout(128, octets, held), held, 192)
            line = [a[rank * rows + t % rows, i] for i in cl.static_range(octets)]
            cl.tcgen05.store(there, cl.vector(*line, dtype=held))
            cl.tcgen05.wait_store()
            cl.tcgen05.fence_before_thread_sync()
            cl.cluster_sync()
            left = tmem.view(cl.tcgen05.lanes_layout(rows, octets, held), held, 192)
        if t == 0 and rank == 0:
            cl.tcgen05.fence_after_thread_sync()
            cl.tcgen05.copy_scales(by_a, of_left, 2)
            cl.tcgen05.copy_scales(by_b, of_right, 2)
            if "atom" in how:
                mma = cl.make_tiled_mma(atom)
                mine = mma.get_slice(0)
                operands = mine.partition_C(acc), mine.partition_A(left), mine.partition_B(right)
                cl.gemm(mma, *operands, accumulate=False, scales=(by_a, by_b))
            else:
                more: Any = {"kind": kind, "block": block, "cta_group": 2}
                cl.tcgen05.mma_scaled(acc, left, right, by_a, by_b, accumulate=False, **more)
            cl.tcgen05.commit(done[0], 3, 2)
        finished(done)
        whole = tmem.view(cl.tcgen05.lanes_layout(128, columns))
        mine = cl.tcgen05.wait_load(cl.tcgen05.load(whole))
        for j in cl.static_range(columns):
            c[rank * rows + t % rows, t // rows * columns + j] = mine[j]
        tmem.free()

    draw = np.random.default_rng(octets + n)
    a, b = (drawn(draw, elem, size, octets) for size in (128, n))
    (sa, fa), (sb, fb) = (drawn_scales(draw, block, size, blocks) for size in (128, n))
    c = np.zeros((128, n), np.float32)
    kernel[2, 128](a, b, sa, sb, c)
    np.testing.assert_array_equal(c, (scaled(a, fa, block) @ scaled(b, fb, block).T).astype(np.float32))
    if "tmem" in how:
        report = kernel.check(2, 128, a, b, sa, sb, c, seeds=1, notes=False)
        assert not report.findings, str(report)


def test_scales_lie_where_their_layouts_say() -> None:
    """In tensor memory 32 rows to a column, each half of `halves` in lanes of its own; in shared memory as copied."""
    for rows, blocks, halves in (
        (128, 4, 0),
        (64, 8, 0),
        (32, 16, 0),
        (256, 8, 0),
        (256, 4, 1),
        (128, 8, 1),
        (64, 16, 1),
    ):
        there, here = words.scales(rows, blocks, halves > 0), words.scales_in_smem(rows, blocks, halves > 0)
        each = rows // (halves + 1)
        for row in range(rows):
            for k in range(blocks):
                lane, column = row // each * 64 + row % each % 32, k // 4 * (each // 32) + row % each // 32
                assert there(row, k) == lane << 18 | column * 4 + k % 4, (rows, row, k)
                chunk = column // 4 * (64 if halves else 32) + row // each * 32 + row % 32
                assert here(row, k) == chunk * 16 + column % 4 * 4 + k % 4, (rows, row, k)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: words.scales(96, 4, halves=True), "scales of 96 rows and 4 blocks: multiples of 64 and of 4"),
    (lambda: words.scales_in_smem(96, 4), "copies bring those of 32, 64 or a multiple of 128 rows and their blocks"),
    (lambda: words.scales_in_smem(64, 4), "a multiple of 8 blocks"),
    (lambda: words.scales_in_smem(192, 4, halves=True), "copies bring those of 64, 128 or 256 rows"),
])  # fmt: skip
def test_scales_that_no_copy_brings_are_refused(make: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        make()


def test_a_descriptor_of_96_numbers_says_so_in_bit_31() -> None:
    plain: Any = {"kind": "mxf4", "a": "e2m1", "b": "e2m1", "m": 128, "n": 64, "scale": "ue8m0"}
    assert ScaledDescriptor(**plain, deep=True).bits ^ ScaledDescriptor(**plain).bits == 1 << 31
    with pytest.raises(ValueError, match="`deep` is for dense products of numbers of 4 bits"):
        ScaledDescriptor(**plain, deep=True, sparse=True)


@pytest.mark.parametrize(("kind", "block"), [("mxf4nvf4", 16), ("mxf4", 32)])
def test_instructions_of_96_numbers_go_across_blocks_of_128_bytes(
    kind: Any, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of sm_103: 768 numbers along K are 8 instructions, of which two begin in one block and end in the next."""
    monkeypatch.setenv("CUTELITE_ARCH", "sm_103a")
    n, octets, blocks = 32, 384, 768 // block
    held: Any = cl.u8

    @cl.kernel(block=128, arch="sm_103a")
    def kernel(
        a: Tensor[u8, (128, octets)], b: Tensor[u8, (n, octets)], sa: Tensor[u8, (128, blocks)],
        sb: Tensor[u8, (n, blocks)], c: Tensor[f32, (128, n)],
    ) -> None:  # fmt: skip
        left = cl.shared(held, cl.make_smem_layout(held, (128, octets)))
        right = cl.shared(held, cl.make_smem_layout(held, (n, octets)))
        done, t = barriers(1), cl.thread_idx.x
        for i in range(octets):
            left[t, i] = a[t, i]
        fill(right, b, n, octets)
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(256)
        acc = tmem.tensor(128, n)
        by_a = tmem.view(cl.tcgen05.scales(128, blocks), held, n)
        by_b = tmem.view(cl.tcgen05.scales(n, blocks), held, n + blocks)
        for rows, scales, first in ((128, sa, n), (n, sb, n + blocks)):  # each warp has all, 32 rows to a column
            for group in cl.static_range(rows // 32):
                for j in cl.static_range(blocks // 4):
                    word = [scales[group * 32 + t % 32, 4 * j + i] for i in cl.static_range(4)]
                    place = tmem.view(cl.tcgen05.lanes_layout(128, 4, held), held, first + j * (rows // 32) + group)
                    cl.tcgen05.store(place, cl.vector(*word, dtype=held))
        cl.tcgen05.wait_store()
        cl.tcgen05.fence_before_thread_sync()
        cl.syncthreads()
        if t == 0:
            cl.tcgen05.fence_after_thread_sync()
            if block == 16:
                cl.tcgen05.mma_scaled(acc, left, right, by_a, by_b, accumulate=False, kind=kind, block=block, k=96)
            else:
                mma = cl.make_tiled_mma(cl.Tcgen05ScaledMmaOp(kind, n, held, block=block, k=96))
                mine = mma.get_slice(0)
                operands = mine.partition_C(acc), mine.partition_A(left), mine.partition_B(right)
                cl.gemm(mma, *operands, accumulate=False, scales=(by_a, by_b))
            cl.tcgen05.commit(done[0])
        finished(done)
        write(c, acc)
        tmem.free()

    draw = np.random.default_rng(block)
    a, b = (drawn(draw, "u8", rows, octets) for rows in (128, n))
    (sa, fa), (sb, fb) = (drawn_scales(draw, block, rows, blocks) for rows in (128, n))
    c = np.zeros((128, n), np.float32)
    kernel[1, 128](a, b, sa, sb, c)
    np.testing.assert_array_equal(c, (scaled(a, fa, block) @ scaled(b, fb, block).T).astype(np.float32))
    with pytest.raises(CompileError, match="sm_100a"):
        kernel.compile(a, b, sa, sb, c, arch="sm_100a")
