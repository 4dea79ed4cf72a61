"""Numbers of 4, 6 and 8 bits in words: every code, ties and ends of rounding, by instructions and without."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Constexpr, Tensor, f32, i64, u32

N = cl.dims("N")
RANDOM = np.random.default_rng(0)
FLOATS: dict[Any, Any] = {
    cl.e2m1: ml_dtypes.float4_e2m1fn,
    cl.e2m3: ml_dtypes.float6_e2m3fn,
    cl.e3m2: ml_dtypes.float6_e3m2fn,
}
EVERY = [*FLOATS, cl.e8m0, cl.ue4m3, cl.i4, cl.u4]


@cl.kernel(block=32)
def unpacks(x: Tensor[u32, (N,)], y: Tensor[f32, (N, 8)], kind: Constexpr[Any]) -> None:
    for i in range(cl.thread_idx.x, N, 32):
        numbers = cl.unpack(x[i], kind, f32)
        for j in cl.static_range(kind.per_word):
            y[i, j] = numbers[j]


@cl.kernel(block=32)
def packs(y: Tensor[f32, (N, 8)], x: Tensor[u32, (N,)], kind: Constexpr[Any], rounding: Constexpr[str]) -> None:
    for i in range(cl.thread_idx.x, N, 32):
        x[i] = cl.pack(cl.vector(*[y[i, j] for j in cl.static_range(kind.per_word)]), kind, rounding)


def words_of(codes: Any, kind: Any) -> Any:
    words = np.zeros(len(codes), np.uint32)
    for j in range(kind.per_word):
        words |= codes[:, j].astype(np.uint32) << np.uint32(kind.place * j)
    return words


def packed(values: Any, kind: Any, rounding: str = "") -> Any:
    """The codes that a kernel packs these numbers to."""
    count = -(-len(values) // kind.per_word)
    rows = np.zeros((count, 8), np.float32)
    rows[:, : kind.per_word] = np.resize(np.asarray(values, np.float32), (count, kind.per_word))
    words = np.zeros(count, np.uint32)
    packs[1](rows, words, kind, rounding)
    mask = (1 << kind.place) - 1
    return np.stack([words >> kind.place * j & mask for j in range(kind.per_word)], 1).ravel()[: len(values)]


@pytest.fixture(params=["sm_90a", "sm_100a"])
def arch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the instructions, and with them."""
    monkeypatch.setenv("CUTELITE_ARCH", request.param)
    for kernel in (unpacks, packs):  # kernels keep the environment of their first launch
        vars(kernel).pop("_settings", None)


@pytest.mark.usefixtures("arch")
@pytest.mark.parametrize("kind", EVERY, ids=str)
def test_every_code_there_and_back(kind: Any) -> None:
    bits = 8 if kind is cl.e8m0 else kind.exponents + kind.stored + (kind.exponents > 0 and kind.signed)
    codes = RANDOM.permutation(np.tile(np.arange(1 << bits), 2 * kind.per_word)).reshape(-1, kind.per_word)
    found = np.zeros((len(codes), 8), np.float32)
    unpacks[1](words_of(codes, kind), found, kind)
    if kind in FLOATS:
        expected = codes.astype(np.uint8).view(FLOATS[kind]).astype(np.float32)
    elif kind is cl.ue4m3:
        expected = codes.astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    elif kind is cl.e8m0:
        expected = codes.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(np.float32)
    else:
        expected = np.where(codes > 7, codes - 16, codes) if kind.signed else codes
    assert np.array_equal(found[:, : kind.per_word], expected, equal_nan=True)
    assert np.array_equal(packed(expected.ravel(), kind), codes.ravel())


@pytest.mark.usefixtures("arch")
@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_floats_round_to_nearest_even_and_are_clamped(kind: Any) -> None:
    every = np.arange(1 << kind.exponents + kind.stored).astype(np.uint8).view(FLOATS[kind]).astype(np.float32)
    ties = (every[1:] + every[:-1]) / 2
    near = np.concatenate([np.nextafter(ties, np.float32(0)), ties, np.nextafter(ties, np.float32(99))])
    beyond = np.array([kind.largest * 1.2, 1e9, np.inf, 1e-40, 0], np.float32)
    random = RANDOM.normal(0, 1, 500) * 2.0 ** RANDOM.integers(-8, 6, 500)
    x = np.concatenate([near, beyond, random]).astype(np.float32)
    x = np.concatenate([x, -x])
    expected = np.clip(x, -kind.largest, kind.largest).astype(FLOATS[kind]).view(np.uint8)
    assert np.array_equal(packed(x, kind), expected)
    assert packed(np.array([np.nan, -np.nan], np.float32), kind).tolist() == [len(every) - 1] * 2


def test_scales_round_down_or_up() -> None:
    x = [1.0, 1.5, 2.0, -3.0, 2.0**-127, 2.0**-126, 2.0**-130, 1.1 * 2.0**-127, 3e38, np.inf, np.nan, 0.0]
    assert packed(x, cl.e8m0).tolist() == [127, 127, 128, 128, 0, 1, 0, 0, 254, 254, 255, 0]
    assert packed(x, cl.e8m0, "rp").tolist() == [127, 128, 128, 129, 0, 1, 0, 1, 254, 254, 255, 0]


def test_scales_without_a_sign_are_e4m3() -> None:
    x = np.array([-1.0, -0.0, 2.0**-9, 2.0**-10, 3 * 2.0**-10, 0.3, 448, 460, 470, 1e9, np.inf, np.nan], np.float32)
    wanted = np.minimum(np.maximum(x, 0), 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    assert packed(x, cl.ue4m3).tolist() == wanted.tolist() and cl.ue4m3.largest == 448


def test_integers_are_clamped() -> None:
    assert packed([-9, -8, 7, 8, 100], cl.i4).tolist() == [8, 8, 7, 7, 7]
    assert packed([-1, 0, 15, 16], cl.u4).tolist() == [0, 0, 15, 15]


@cl.kernel(block=1)
def wide(x: Tensor[i64, (8,)], y: Tensor[u32, (3,)]) -> None:
    y[0], y[1] = cl.pack(x.load(), cl.i4), cl.pack(x.load(), cl.u4)
    y[2] = cl.pack(x.load().to(u32), cl.u4)


def test_integers_that_no_i32_holds_are_clamped() -> None:
    x, y = np.array([1 << 32, -(1 << 32), 1 << 31, -(1 << 31) - 1, 3, -3, 7, -1]), np.zeros(3, np.uint32)
    wide[1](x, y)
    assert [hex(word) for word in y] == ["0xf7d38787", "0x7030f0f", "0xf7f3ff00"]


def test_the_instructions_of_a_gpu_are_used() -> None:
    ptx = {arch: unpacks.compile(kind=cl.e2m1, arch=arch).ptx for arch in ("sm_90a", "sm_100a", "sm_100", "sm_120a")}
    assert {arch for arch, text in ptx.items() if "cvt.rn.f16x2.e2m1x2" in text} == {"sm_100a", "sm_120a"}
    assert "cvt.rn.satfinite.e3m2x2.f32" in packs.compile(kind=cl.e3m2, rounding="", arch="sm_100f").ptx


def test_memory_holds_words() -> None:
    with pytest.raises(CompileError, match="e2m1 numbers are packed in words"):
        Tensor[cl.e2m1, (N,)]


@cl.kernel(block=1)
def puts(x: Tensor[f32, (N,)], kind: Constexpr[Any], n: Constexpr[int], back: Constexpr[Any]) -> None:
    if back is None:
        cl.unpack(x[0], kind)
    elif back:
        x[0] = cl.unpack(x[0].to(cl.u32), kind)[0].to(f32)
    else:
        x[0] = cl.bitcast(cl.pack(cl.vector(*(x[i] for i in cl.static_range(n))), kind), f32)


@pytest.mark.parametrize(
    ("kind", "n", "back", "words"),
    [
        (cl.e2m1, 12, False, "a word holds 8 numbers of e2m1, and a run-time vec<f32,12> fills no whole words"),
        (cl.e4m3, 4, False, "numbers in words are i4, u4, b1, e2m1, e2m3, e3m2, e8m0 or ue4m3, not"),
        (cl.f16, 4, True, "numbers in words are"),
        (cl.i4, 8, None, "the words of i4 are u32, not f32"),
    ],
)
def test_what_fills_no_words(kind: Any, n: int, back: bool | None, words: str) -> None:
    with pytest.raises(CompileError, match=words):
        puts.compile(kind=kind, n=n, back=back)


@pytest.mark.parametrize(("kind", "words"), [(cl.e8m0, r"down \(rz\) or up \(rp\)"), (cl.e2m1, "to nearest even")])
def test_roundings_that_a_format_lacks(kind: Any, words: str) -> None:
    with pytest.raises(CompileError, match=f"{kind} is rounded {words}, not 'rn'"):
        packs.compile(kind=kind, rounding="rn")
