"""Tiles by TMA: any rank, any place, edges filled with zeros, and where the swizzle puts each byte."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutelite.ir.types import SCALARS, TensorMap
from cutelite.layout import Dim, Layout
from cutelite.sim import SimError, SimTensorMap
from cutelite.sim.actors import Work
from cutelite.sim.buffers import Buffers
from cutelite.sim.machine import Agent
from cutelite.sim.memory import Space
from cutelite.target.targets import RESERVED_SMEM
from tests.ir.parser import parse_type
from tests.sim import strict
from tests.sim.kernels import SEEDS, kernel, machine_of

SMEM = "  %tile = smem.alloc type=tensor<u8,smem,65536:1,1024>\n  ret\n"


def agent_on(array: Any, type: TensorMap) -> tuple[Agent, SimTensorMap]:
    """An agent in a CTA with 64 KiB of shared memory, and the descriptor of `array`."""
    machine = machine_of(kernel(SMEM))
    buffers = Buffers()
    buffers.add("a", array, by_tma=True)
    buffers.place()
    machine.spaces["gmem"] = Space("gmem", buffers.regions())
    op = next(iter(machine.program.function.ops()))
    work = Work(1, "none", op, np.array([0]), np.array([0]), lambda agent: None, None, False)
    return Agent(machine, work), SimTensorMap(array, type).at(buffers.address(array))


def row_major(shape: tuple[int, ...], pitch: int | None = None) -> Layout:
    strides = [1]
    for i, extent in enumerate(reversed(shape[1:])):
        strides.append(strides[-1] * (pitch if i == 0 and pitch else extent))
    return Layout(shape, tuple(reversed(strides)))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_reads_are_slices_of_a_padded_tensor(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 5))
    name = data.draw(st.sampled_from(["bf16", "f32", "u8", "f64"]))
    elem = SCALARS[name]
    step = 16 // elem.bytes  # TMA moves rows of multiples of 16 bytes
    extents = [data.draw(st.integers(1, 6)) for _ in range(rank - 1)] + [data.draw(st.integers(1, 4)) * step]
    box = [data.draw(st.integers(1, 4)) for _ in range(rank - 1)] + [data.draw(st.integers(1, 2)) * step]
    coord = [data.draw(st.integers(-6, 8)) for _ in range(rank - 1)] + [data.draw(st.integers(-2, 5)) * step]
    dtype = {"bf16": ml_dtypes.bfloat16, "f32": np.float32, "u8": np.uint8, "f64": np.float64}[name]
    array = (np.arange(np.prod(extents)).reshape(extents) % 200 + 1).astype(dtype)
    agent, tiles = agent_on(array, TensorMap(elem, row_major(tuple(extents)), tuple(box), "none"))
    padded = np.pad(array, [(64, 128)] * rank) if rank <= 2 else None
    tile = tiles.read(agent, coord).view(dtype).reshape(box)
    expected = np.zeros(box, dtype)
    for index in np.ndindex(*box):
        at = tuple(c + i for c, i in zip(coord, index, strict=True))
        if all(0 <= a < n for a, n in zip(at, extents, strict=True)):
            expected[index] = array[at]
    np.testing.assert_array_equal(tile.view(np.uint8), expected.view(np.uint8))
    if padded is not None:
        window = tuple(slice(64 + c, 64 + c + b) for c, b in zip(coord, box, strict=True))
        np.testing.assert_array_equal(padded[window].view(np.uint8), tile.view(np.uint8))
    before, to = array.copy(), [max(0, c) for c in coord]  # negative coordinates are for loads
    tiles.write(agent, [to], (tile.astype(np.float64) + 1).astype(dtype).reshape(-1).view(np.uint8))
    for index in np.ndindex(*extents):
        within = tuple(i - c for i, c in zip(index, to, strict=True))
        inside = all(0 <= i < b for i, b in zip(within, box, strict=True))
        assert array[index] == ((tile[within].astype(np.float64) + 1).astype(dtype) if inside else before[index])


@pytest.mark.parametrize(("swizzle", "row"), [("none", 256), ("32B", 32), ("64B", 64), ("128B", 128)])
def test_swizzles(swizzle: str, row: int) -> None:
    """Where the pattern puts a chunk depends on the address: the row number in the pattern, XORed onto the column."""
    rows = 24
    array = np.random.default_rng(0).integers(0, 256, (rows, row)).astype(np.uint8)
    agent, tiles = agent_on(array, TensorMap(SCALARS["u8"], row_major((rows, row)), (rows, row), swizzle))
    region = agent.machine.cluster.smem[0]
    for address in (RESERVED_SMEM, RESERVED_SMEM + 256):
        tiles.put_smem(agent, address, tiles.read(agent, (0, 0)))
        chunks = {"none": 1, "32B": 2, "64B": 4, "128B": 8}[swizzle]
        for i in range(rows):
            for chunk in range(row // 16):
                plain = address + i * row + chunk * 16
                turn = plain // 128 % chunks  # every 128 bytes the pattern goes on by one
                at = plain // 16 // chunks * chunks * 16 + (plain // 16 % chunks ^ turn) * 16
                np.testing.assert_array_equal(region.bytes[at : at + 16], array[i, chunk * 16 : chunk * 16 + 16])
        np.testing.assert_array_equal(tiles.get_smem(agent, address).reshape(rows, row), array)


def test_reductions() -> None:
    array = np.arange(64, dtype=np.int32).reshape(4, 16)
    agent, tiles = agent_on(array, TensorMap(SCALARS["i32"], row_major((4, 16)), (2, 8), "none"))
    tile = np.full((2, 8), 100, np.int32).reshape(-1).view(np.uint8)
    tiles.write(agent, [(3, 12)], tile, "add")
    expected = np.arange(64).reshape(4, 16)
    expected[3, 12:] += 100
    np.testing.assert_array_equal(array, expected)


def test_stores_fill_the_last_16_bytes_of_a_row() -> None:
    """As on an H200; reads stop at the element. What nobody has is not written."""
    whole = np.full((4, 16), 7, np.int32)
    agent, tiles = agent_on(whole[:3, :6], TensorMap(SCALARS["i32"], row_major((3, 6), 16), (2, 8), "none"))
    assert tiles.read(agent, (2, 4)).view(np.int32).tolist() == [7, 7, *[0] * 14]
    tiles.write(agent, [(2, 4)], np.arange(16, dtype=np.int32).view(np.uint8))
    assert whole[2].tolist() == [7, 7, 7, 7, 0, 1, 2, 3, *[7] * 8] and (np.delete(whole, 2, 0) == 7).all()
    alone = np.full(6, 7, np.int32)
    agent, tiles = agent_on(alone, TensorMap(SCALARS["i32"], Layout((6,), (1,)), (8,), "none"))
    with pytest.raises(SimError, match="ends 4 bytes behind `a`") as caught:
        tiles.write(agent, [(0,)], np.arange(8, dtype=np.int32).view(np.uint8))
    assert caught.value.code == "out-of-bounds" and (alone == 7).all()


def test_dims_and_strides() -> None:
    """A view with rows 32 apart, its height known at launch."""
    base = np.arange(320, dtype=np.float32).reshape(10, 32)
    t = parse_type("tensormap<f32,(H,16):(32,1),(4,16),64B>")
    assert isinstance(t, TensorMap)
    agent, _ = agent_on(base[2:, 8:24], TensorMap(t.elem, Layout((8, 16), (32, 1)), t.box, t.swizzle))
    tiles = SimTensorMap(base[2:, 8:24], t, {"H": 8}).at(int(agent.machine.spaces["gmem"].bases[0]))
    tile = tiles.read(agent, (6, 0)).view(np.float32).reshape(4, 16)
    np.testing.assert_array_equal(tile, np.concatenate([base[8:, 8:24], np.zeros((2, 16), np.float32)]))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tensormap<f32,(8,16):(1,8),(8,16),none>", "contiguous"),
        ("tensormap<f32,(8,17):(17,1),(8,16),none>", "multiples of 16"),
        ("tensormap<f32,(8,16):(16,1),(8,3),none>", "rows of 12 bytes"),
        ("tensormap<f32,(8,64):(64,1),(8,64),128B>", "rows of 256 bytes"),
        ("tensormap<f32,(512,16):(16,1),(512,16),none>", "1 to 256"),
    ],
)
def test_descriptors_the_driver_would_refuse(text: str, says: str) -> None:
    t = parse_type(text)
    assert isinstance(t, TensorMap)
    with pytest.raises(ValueError, match=says):
        SimTensorMap(np.zeros((512, 64), np.float32), t)


@pytest.mark.parametrize("text", ["(2,8,16):(0,16,1),(1,8,16)", "(1,8,16):(3,16,1),(1,8,16)"])
def test_strides_that_the_driver_takes(text: str) -> None:
    """0, which repeats a mode; and of a mode of one element, where the stride is not used, any."""
    t = parse_type(f"tensormap<f32,{text},none>")
    assert isinstance(t, TensorMap)
    SimTensorMap(np.zeros((8, 16), np.float32), t)


def test_misaligned_tiles() -> None:
    array = np.zeros((8, 16), np.float32)
    agent, tiles = agent_on(array, TensorMap(SCALARS["f32"], row_major((8, 16)), (8, 16), "none"))
    with pytest.raises(SimError) as caught:
        tiles.put_smem(agent, RESERVED_SMEM + 64, tiles.read(agent, (0, 0)))
    assert caught.value.code == "misaligned"
    with pytest.raises(SimError, match="2 elements of f32 into a row"):
        tiles.read(agent, (0, 2))
    with pytest.raises(ValueError, match="multiple of 16"):
        tiles.at(tiles.address + 4)


TRANSPOSE = """
  %tile = smem.alloc type=tensor<f32,smem,(8,32):(32,1),1024,S<3,4,3>>
  %bar = smem.alloc type=tensor<mbarrier,smem,1:1,8>
  %p = tensor.ptr t=%bar, coord=(%c0), align=8
  %bytes = const value=1024, type=u32
  %is_first = cmp predicate="eq", a=%tid, b=%c0
  cond_br cond=%is_first, then=^load, other=^meet
^load:
  mbarrier.init bar=%p, count=%c1
  fence.mbarrier_init
  %state = mbarrier.arrive.expect_tx bar=%p, bytes=%bytes
  cp.async.bulk.tensor.g2s map=%a, coord=(%c3, %c0), dst=%tile, barrier=%p
  br to=^meet
^meet:
  bar.sync
  mbarrier.wait bar=%p, phase=%c0
  %size = const value=32, type=i32
  %row = floordiv a=%tid, b=%size
  %x = tensor.load t=%tile, coord=(%row, %lane)
  tensor.store t=%b, coord=(%row, %lane), a=%x
  ret
"""


def test_a_kernel_reads_a_swizzled_tile_through_its_layout() -> None:
    params = "%a: tensormap<f32,(8,32):(32,1),(8,32),128B>, %b: tensor<f32,gmem,(8,32):(32,1),16>"
    function = kernel(TRANSPOSE, params, block=256)
    a = np.arange(256, dtype=np.float32).reshape(8, 32)
    for seed in SEEDS:
        b = np.full((8, 32), -1, np.float32)
        strict.run(function, 1, [a, b], seed=seed)
        np.testing.assert_array_equal(b, np.concatenate([a[3:], np.zeros((3, 32), np.float32)]))


def test_dims_of_a_descriptor_are_checked() -> None:
    layout = Layout((Dim("H"), 16), (16, 1))
    with pytest.raises(ValueError, match="H has no value"):
        SimTensorMap(np.zeros((8, 16), np.float32), TensorMap(SCALARS["f32"], layout, (4, 16), "none"))
