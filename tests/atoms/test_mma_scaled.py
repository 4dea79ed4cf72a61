"""mma.sync with block scales (sm_120), in the simulator against NumPy."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Constexpr, Tensor, f32, u32
from cutelite.ops import mma, narrow
from cutelite.ops.wgmma_layouts import places

B = cl.dims("B")
FORMATS: dict[str, Any] = {"e4m3": cl.e4m3, "e5m2": cl.e5m2, "e2m3": cl.e2m3, "e3m2": cl.e3m2, "e2m1": cl.e2m1}
EIGHT: dict[str, Any] = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


@cl.kernel(block=32, arch="sm_120a")
def product(
    a: Tensor[u32, (32, 4)],
    b: Tensor[u32, (32, B)],
    scales: Tensor[u32, (2, 32)] | None,
    c: Tensor[f32, (32, 4)],
    how: Constexpr[Any],
    metadata: Tensor[u32, (32,)] | None = None,
) -> None:
    """Operands and sums as each thread holds them."""
    t, of_b = cl.thread_idx.x, 2 if metadata is None else 4
    held = [cl.vector(*(x[t, i] for i in range(n)), dtype=u32) for x, n in ((a, 4), (b, of_b))]
    sums = cl.vector(*(c[t, i] for i in range(4)), dtype=f32)
    words = () if scales is None else (scales[0, t], scales[1, t])
    sums = cl.mma_scaled(
        held[0], held[1], sums, *words, **dict(how), metadata=None if metadata is None else metadata[t]
    )
    for i in cl.static_range(4):
        c[t, i] = sums[i]


def numbers(codes: Any, name: str) -> Any:
    if name in EIGHT:
        return codes.astype(np.uint8).view(EIGHT[name]).astype(np.float64)
    return narrow.values(name)[codes]


def spread(words: Any, layout: Any) -> Any:
    """(rows, words) as the threads of a warp hold them."""
    return np.ascontiguousarray(words.T.reshape(-1)[places(layout)])


def words_of(codes: Any, name: str, per: int) -> Any:
    """Codes (rows, k) as words, the first one lowest: a byte each, or 4 bits."""
    if per == 4 and name == "e2m1":
        codes = codes << 2 | np.random.default_rng(0).integers(0, 4, codes.shape)  # the outer bits are no matter
    groups = codes.reshape(len(codes), -1, per).astype(np.uint64)
    return (groups << np.arange(0, 32, 32 // per).astype(np.uint64)).sum(axis=2).astype(np.uint32)


@pytest.mark.parametrize(
    ("kind", "formats", "block", "bytes", "threads"),
    [
        ("f8f6f4", ("e4m3", "e2m1"), 32, (0, 0), (0, 0)),
        ("mxf8f6f4", ("e3m2", "e4m3"), 32, (2, 1), (1, 3)),
        ("mxf8f6f4", ("e2m1", "e2m3"), 32, (0, 3), (0, 1)),
        ("mxf4", ("e2m1", "e2m1"), 32, (2, 0), (0, 2)),
        ("mxf4nvf4", ("e2m1", "e2m1"), 16, (0, 0), (1, 0)),
        ("mxf4nvf4", ("e2m1", "e2m1"), 32, (0, 2), (0, 0)),
    ],
)
@pytest.mark.usefixtures("on_sm_120")
def test_products_of_a_warp_are_scaled(
    kind: str, formats: tuple[str, str], block: int, bytes: tuple[int, int], threads: tuple[int, int]
) -> None:
    draw, per = np.random.default_rng(len(kind) + block), 8 if kind.startswith("mxf4") else 4
    k, several = 8 * per, 8 * per // block
    codes = []
    for name, rows in zip(formats, (16, 8), strict=True):
        if name in EIGHT:
            codes.append(draw.integers(-4, 5, (rows, k)).astype(EIGHT[name]).view(np.uint8).astype(np.int64))
        else:
            codes.append(draw.integers(0, len(narrow.values(name)), (rows, k)))
    left, right = (numbers(x, name) for x, name in zip(codes, formats, strict=True))
    scales = None
    if kind != "f8f6f4":
        words = draw.integers(0, 1 << 32, (2, 32), np.uint64).astype(np.uint32)  # noise where no scale is looked for
        for operand, rows in ((0, 16), (1, 8)):
            shape = rows, several
            octets = (
                draw.integers(1, 8, shape).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
                if block == 16
                else draw.integers(124, 131, shape).astype(np.uint8)
            )
            factors = (
                octets.view(ml_dtypes.float8_e4m3fn).astype(np.float64)
                if block == 16
                else 2.0 ** (octets.astype(np.float64) - 127)
            )
            for row in range(rows):
                thread = row % 8 * 4 + (2 * threads[0] + row // 8 if operand == 0 else threads[1])
                view = words[operand, thread : thread + 1].view(np.uint8)
                view[bytes[operand] : bytes[operand] + several] = octets[row]
            wide = np.repeat(factors, block, axis=1)
            left, right = (left * wide, right) if operand == 0 else (left, right * wide)
        scales = words
    first = draw.integers(-9, 9, (16, 8)).astype(np.float32)
    held = spread(words_of(codes[0], formats[0], per), mma.operand_a(cl.u32, 8, 16))
    other = spread(words_of(codes[1], formats[1], per), mma.operand_b(cl.u32, 8))
    where = places(mma.accumulator(16))
    c = np.ascontiguousarray(first.T.reshape(-1)[where])
    how = {"kind": kind, "formats": tuple(FORMATS[name] for name in formats), "block": block, "bytes": bytes,
           "threads": threads}  # fmt: skip
    product[1, 32](held, other, scales, c, tuple(how.items()))
    got = np.empty(128, np.float32)
    got[where] = c
    np.testing.assert_array_equal(got.reshape(8, 16).T, (left @ right.T + first).astype(np.float32))


@pytest.mark.parametrize(
    ("kind", "formats", "block"),
    [("f8f6f4", ("e4m3", "e2m1"), 32), ("mxf8f6f4", ("e3m2", "e5m2"), 32), ("mxf4nvf4", ("e2m1", "e2m1"), 16)],
)
@pytest.mark.usefixtures("on_sm_120")
def test_a_sparse_a_is_scaled(kind: str, formats: tuple[str, str], block: int) -> None:
    """Half of each four bytes of A is left out, two numbers of 4 bits together; blocks have twice the numbers."""
    draw, packed = np.random.default_rng(block), kind == "mxf4nvf4"
    a, b = draw.integers(0, 256, (16, 64)).astype(np.uint8), draw.integers(0, 256, (8, 64)).astype(np.uint8)
    left_out = np.argsort(draw.random((16, 16, 4)), axis=2)[..., :2]
    np.put_along_axis(a.reshape(16, 16, 4), left_out, 0, axis=2)
    codes = [np.stack([x & 15, x >> 4], axis=2).reshape(len(x), -1) if packed else x for x in (a, b)]
    if not packed:  # of fewer bits: those that the formats look at
        masks = {"e4m3": 0x3F, "e5m2": 0x3F, "e3m2": 63, "e2m1": 15}
        codes = [x & masks[name] for x, name in zip(codes, formats, strict=True)]
        a, b = ((x << 2 if name == "e2m1" else x).astype(np.uint8) for x, name in zip(codes, formats, strict=True))
    left, right = (numbers(x.astype(np.int64), name) for x, name in zip(codes, formats, strict=True))
    scales, factor = None, 1.0
    if kind != "f8f6f4":  # the same for all rows and blocks
        octet = 0x40 if packed else 128  # 2
        scales, factor = np.full((2, 32), octet * 0x01010101, np.uint32), 4.0
    kept, metadata = cl.compress_sparse(a, cl.u8)
    words = [np.ascontiguousarray(x).view(np.uint32) for x in (kept, b)]
    held, other = spread(words[0], mma.operand_a(cl.u32, 8, 16)), spread(words[1], mma.operand_b(cl.u32, 16))
    c, where = np.zeros((32, 4), np.float32), places(mma.accumulator(16))
    how = {"kind": kind, "formats": tuple(FORMATS[name] for name in formats), "block": block}
    product[1, 32](held, other, scales, c, tuple(how.items()), metadata.reshape(32))
    got = np.empty(128, np.float32)
    got[where] = c
    np.testing.assert_array_equal(got.reshape(8, 16).T, (factor * left @ right.T).astype(np.float32))


def test_only_sm_120_has_them() -> None:
    shapes = np.zeros((32, 4), np.uint32), np.zeros((32, 2), np.uint32), np.zeros((2, 32), np.uint32)
    how = (("kind", "mxf8f6f4"),)
    assert "mxf8f6f4.block_scale" in product.compile(*shapes, np.zeros((32, 4), np.float32), how).ptx
    with pytest.raises(CompileError, match=r"sm_100a"):
        product.compile(*shapes, np.zeros((32, 4), np.float32), how, arch="sm_100a")
