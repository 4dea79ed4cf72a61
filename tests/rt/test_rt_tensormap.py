"""TMA descriptors: the rules, the reversal of dimensions, and what is remembered."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutelite_rt.dtype import DTYPES, compact_strides
from cutelite_rt.gpu import driver
from cutelite_rt.gpu.driver import CudaError
from cutelite_rt.gpu.tensormap import TensorMapError, TensorMaps, Tiling, check_tensormap
from tests.threads import at_once

if TYPE_CHECKING:
    from tests.rt.conftest import FakeCuda

BASE = 0x7F00_0000_0000


@pytest.fixture
def maps(cuda: FakeCuda) -> TensorMaps:
    return TensorMaps(maxsize=8)


def test_a_row_major_matrix(cuda: FakeCuda, maps: TensorMaps) -> None:
    tiling = Tiling((128, 64), swizzle="128B", l2_promotion="256B")
    encoded = maps.encode(BASE, "bf16", (4096, 1024), (1024, 1), tiling)
    assert len(encoded) == 128
    [asked] = cuda.maps
    assert asked.pop("target") % 128 == 0
    assert asked == {
        "dtype": 9,  # CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
        "address": BASE,
        "dims": [1024, 4096],
        "strides": [2048],
        "box": [64, 128],
        "steps": [1, 1],
        "modes": (0, 3, 3, 0),
    }


def test_five_dimensions_with_gaps_and_steps(cuda: FakeCuda, maps: TensorMaps) -> None:
    strides = (100_000, 10_000, 1_000, 80, 1)
    tiling = Tiling((1, 2, 3, 4, 8), element_strides=(5, 4, 3, 2, 1), oob_fill="nan")
    maps.encode(BASE, "f32", (2, 3, 4, 5, 6), strides, tiling)
    [asked] = cuda.maps
    assert asked["dims"] == [6, 5, 4, 3, 2]
    assert asked["strides"] == [320, 4_000, 40_000, 400_000]
    assert asked["box"] == [8, 4, 3, 2, 1]
    assert asked["steps"] == [1, 2, 3, 4, 5]
    assert asked["modes"] == (0, 0, 2, 1)  # by default L2 fetches 128 bytes


def test_pixels_along_one_row_of_images(cuda: FakeCuda, maps: TensorMaps) -> None:
    for number, wide in enumerate(("w", "w128")):
        tiling = Tiling((128, 64), (1, 1, 2, 1), "128B", corners=(-1, 0), wide=wide)
        maps.encode(BASE, "bf16", (5, 9, 7, 64), (4032, 448, 64, 1), tiling)
        asked = cuda.maps[number]
        assert (asked["corners"], asked["wide"], asked["box"][:2]) == ((-1, 0), number, [64, 128])
        assert (asked["steps"], asked["modes"]) == ([1, 2, 1, 1], (0, 3, 2, 0))
    plain = Tiling((128, 64), corners=(-1, 0), wide="w")
    with pytest.raises(TensorMapError, match="with a swizzle and without interleave"):
        maps.encode(BASE, "bf16", (5, 9, 7, 64), (4032, 448, 64, 1), plain)


def test_one_dimension(cuda: FakeCuda, maps: TensorMaps) -> None:
    maps.encode(BASE, "u8", (1000,), (1,), Tiling((256,)))
    assert (cuda.maps[0]["dims"], cuda.maps[0]["strides"]) == ([1000], [])


@pytest.mark.parametrize(
    ("dtype", "number"),
    [("f16", 6), ("bf16", 9), ("f32", 7), ("f64", 8), ("tf32", 11), ("e4m3", 0), ("bool", 0), ("i8", 0), ("i16", 1)],
)
def test_element_types(cuda: FakeCuda, maps: TensorMaps, dtype: str, number: int) -> None:
    maps.encode(BASE, dtype, (64, 64), (64, 1), Tiling((16, 16)))
    assert cuda.maps[0]["dtype"] == number


@pytest.mark.parametrize("stride", [1, 0, 7, -3])
def test_the_stride_of_a_dimension_of_one_element_does_not_matter(
    cuda: FakeCuda, maps: TensorMaps, stride: int
) -> None:
    maps.encode(BASE, "f16", (8, 1, 24), (24, stride, 1), Tiling((1, 1, 8)))
    inner, outer = cuda.maps[0]["strides"]
    assert inner % 32 == 0
    assert inner >= 48
    assert outer == 48


def test_a_broadcast_dimension(cuda: FakeCuda, maps: TensorMaps) -> None:
    maps.encode(BASE, "f32", (16, 32), (0, 1), Tiling((4, 4)))
    assert cuda.maps[0]["strides"] == [0]


# ---- what is remembered


def test_the_same_tensor_and_tiling_are_encoded_once(cuda: FakeCuda, maps: TensorMaps) -> None:
    tiling = Tiling((64, 64))
    first = maps.encode(BASE, "f16", (64, 64), (64, 1), tiling)
    assert maps.encode(BASE, "f16", (64, 64), (64, 1), Tiling((64, 64))) is first
    assert len(cuda.maps) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"address": BASE + 16},
        {"dtype": "bf16"},
        {"shape": (64, 32)},
        {"strides": (128, 1)},
        {"tiling": Tiling((32, 64))},
        {"tiling": Tiling((64, 64), element_strides=(2, 1))},
        {"tiling": Tiling((64, 64), swizzle="128B")},
        {"tiling": Tiling((64, 64), l2_promotion="none")},
        {"tiling": Tiling((64, 64), oob_fill="nan")},
    ],
)
def test_whatever_differs_is_encoded_anew(cuda: FakeCuda, maps: TensorMaps, change: dict[str, Any]) -> None:
    one = {"address": BASE, "dtype": "f16", "shape": (64, 64), "strides": (64, 1), "tiling": Tiling((64, 64))}
    assert maps.encode(*one.values()) != maps.encode(*(one | change).values())
    assert len(cuda.maps) == 2


def test_what_is_remembered_is_bounded(cuda: FakeCuda, maps: TensorMaps) -> None:
    for i in range(100):
        maps.encode(BASE + 16 * i, "f16", (64, 64), (64, 1), Tiling((64, 64)))
    assert maps.encode.cache_info().currsize == 8
    maps.encode(BASE, "f16", (64, 64), (64, 1), Tiling((64, 64)))
    assert len(cuda.maps) == 101


def test_many_threads(cuda: FakeCuda) -> None:
    maps = TensorMaps(maxsize=4)

    def work(seed: int) -> None:
        for i in range(200):
            address = BASE + 16 * ((i * seed) % 11)
            maps.encode(address, "f16", (64, 64), (64, 1), Tiling((64, 64)))
            assert maps.encode.cache_info().currsize <= 4

    at_once(work, range(1, 9))
    assert {asked["address"] for asked in cuda.maps} == {BASE + 16 * i for i in range(11)}


def test_a_refusal_of_the_driver_shows_the_tensor(cuda: FakeCuda, maps: TensorMaps) -> None:
    cuda.fail["cuTensorMapEncodeTiled"] = 1
    with pytest.raises(CudaError, match=r"\(1\) encoding a tensor map of f16 \(64, 64\) with strides .* swizzle='64B'"):
        maps.encode(BASE, "f16", (64, 64), (64, 1), Tiling((64, 32), swizzle="64B"))


def test_a_driver_without_tensor_maps(cuda: FakeCuda, maps: TensorMaps) -> None:
    cuda.version = 11080
    with pytest.raises(CudaError, match=r"it came with CUDA 12.0, and the driver speaks CUDA 11.8: update it"):
        maps.encode(BASE, "f16", (64, 64), (64, 1), Tiling((64, 64)))
    assert driver.get().version() == (11, 8)


# ---- the rules

GOOD: dict[str, Any] = {"address": BASE, "dtype": "f16", "shape": (64, 128), "strides": (128, 1)}
RULES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("rank", {"shape": (), "strides": ()}, {"box": ()}, "the tensor has 0 dimensions; TMA takes 1 to 5"),
    ("rank", {"shape": (2,) * 6, "strides": (1,) * 6}, {"box": (8,) * 6}, "the tensor has 6 dimensions"),
    ("rank", {}, {"interleave": "16B"}, "has 2 dimensions; TMA takes 3 to 5 with interleave 16B"),
    ("rank", {}, {"box": (64,)}, r"box \(64,\) has 1 entries for a tensor of 2 dimensions"),
    ("rank", {}, {"element_strides": (1,)}, r"element_strides \(1,\) has 1 entries"),
    ("rank", {"strides": (1,)}, {}, r"strides \(1,\) has 1 entries"),
    ("base-alignment", {"address": BASE + 8}, {}, "starts at 0x7f0000000008; TMA needs a multiple of 16 bytes"),
    ("extent", {"shape": (0, 128)}, {}, r"dimension 0 has 0 elements; TMA takes 1 to 2\^32"),
    ("extent", {"shape": (0, 128), "strides": (0, 0)}, {}, "dimension 0 has 0 elements"),
    ("extent", {"shape": (64, 2**32 + 1)}, {}, "dimension 1 has 4294967297 elements"),
    ("inner-stride", {"strides": (256, 2)}, {}, "the last dimension has stride 2; TMA needs its elements side by side"),
    ("inner-stride", {"strides": (1, 64)}, {}, "the last dimension has stride 64"),
    ("stride-alignment", {"strides": (130, 1)}, {}, "dimension 0 has a stride of 130 elements, 260 bytes; TMA needs a"),
    ("stride-range", {"strides": (-128, 1)}, {}, "dimension 0 has a stride of -256 bytes"),
    ("stride-range", {"strides": (2**39, 1)}, {}, r"1099511627776 bytes; TMA takes 0 to 2\^40 - 1"),
    ("box", {}, {"box": (257, 64)}, "dimension 0 of the box has 257 elements; TMA takes 1 to 256"),
    ("box", {}, {"box": (8, 0)}, "dimension 1 of the box has 0 elements"),
    ("element-stride", {}, {"element_strides": (9, 1)}, "dimension 0 has element stride 9; TMA takes 1 to 8"),
    ("element-stride", {}, {"element_strides": (0, 1)}, "dimension 0 has element stride 0"),
    ("element-stride", {}, {"element_strides": (1, 2)}, "the last dimension has element stride 2; without interleave"),
    ("inner-box", {}, {"box": (8, 12)}, "the last dimension of the box is 24 bytes; TMA needs a multiple of 16"),
    ("swizzle-span", {}, {"box": (8, 128), "swizzle": "128B"}, "is 256 bytes; swizzle 128B takes 128"),
    ("swizzle-span", {}, {"box": (8, 64), "swizzle": "64B"}, "is 128 bytes; swizzle 64B takes 64"),
    ("swizzle-span", {}, {"box": (8, 32), "swizzle": "32B"}, "is 64 bytes; swizzle 32B takes 32"),
    ("swizzle-span", {}, {"box": (8, 128), "swizzle": "128B_ATOM_32B"}, "swizzle 128B_ATOM_32B takes 128"),
    ("dtype", {"dtype": "f8"}, {}, "dtype 'f8' is none of bool, i8"),
    ("swizzle", {}, {"swizzle": "256B"}, "swizzle '256B' is none of none, 32B"),
    ("swizzle", {}, {"interleave": "32B"}, "interleave 32B needs swizzle 32B, not none"),
    ("interleave", {}, {"interleave": "8B"}, "interleave '8B' is none of"),
    ("l2-promotion", {}, {"l2_promotion": "512B"}, "l2-promotion '512B' is none of"),
    ("oob-fill", {}, {"oob_fill": "one"}, "oob-fill 'one' is none of zero, nan"),
    (
        "oob-fill",
        {"dtype": "i32", "strides": (128, 1)},
        {"oob_fill": "nan"},
        "a tensor of i32 cannot be filled with Na",
    ),
    ("oob-fill", {"dtype": "e4m3"}, {"oob_fill": "nan"}, "a tensor of e4m3 cannot be filled with NaN, only with zero"),
]


@pytest.mark.parametrize(("rule", "tensor", "tiling", "sentence"), RULES)
def test_a_broken_rule_is_named(rule: str, tensor: dict[str, Any], tiling: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TensorMapError, match=sentence) as caught:
        check_tensormap(**GOOD | tensor, tiling=Tiling(**{"box": (64, 64)} | tiling))
    assert caught.value.rule == rule
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_interleave_aligns_to_32_bytes() -> None:
    tiling = Tiling((4, 4, 4), swizzle="32B", interleave="32B")
    check_tensormap(BASE, "f16", (8, 8, 16), (256, 32, 1), tiling)
    with pytest.raises(TensorMapError, match="needs a multiple of 32 bytes"):
        check_tensormap(BASE + 16, "f16", (8, 8, 16), (256, 32, 1), tiling)
    with pytest.raises(TensorMapError, match="needs a multiple of 32 bytes"):
        check_tensormap(BASE, "f16", (8, 8, 16), (256, 24, 1), tiling)


def test_a_broken_rule_never_reaches_the_driver(cuda: FakeCuda, maps: TensorMaps) -> None:
    with pytest.raises(TensorMapError):
        maps.encode(BASE + 1, "f16", (64, 64), (64, 1), Tiling((64, 64)))
    assert not cuda.maps


@given(st.data())
def test_good_tensors_pass(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(sorted(DTYPES)))
    element = DTYPES[dtype].bytes
    outer = data.draw(st.lists(st.integers(1, 300), max_size=4))
    shape = (*outer, data.draw(st.integers(1, 64)) * 16)
    strides = compact_strides(shape)
    spans = {"none": 256 * element, "32B": 32, "64B": 64, "128B": 128}
    swizzle = data.draw(st.sampled_from(sorted(spans)))
    inner = data.draw(st.integers(1, spans[swizzle] // 16)) * 16 // element
    box = (*[data.draw(st.integers(1, 256)) for _ in outer], inner)
    check_tensormap(BASE, dtype, shape, strides, Tiling(box, swizzle=swizzle))
