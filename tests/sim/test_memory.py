"""Addresses: what is read and written where, and every access that must be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import i32, sim
from cutelite.ir.function import Function
from tests.ir.parser import parse_function
from tests.sim import strict
from tests.sim.kernels import each_seed, errors, failure, kernel, outputs, traced

TWO = "%a: tensor<f32,gmem,64:1,4>, %b: tensor<f32,gmem,64:1,4>"
COPY = """
  %p = tensor.ptr t=%a, coord=(%c0), align=4
  %q = tensor.ptr t=%b, coord=(%c0), align=4
  %four = const value=4, type=i32
  %bytes = mul a=%tid, b=%four
  %from = ptr.add p=%p, bytes=%bytes, align=4
  %to = ptr.add p=%q, bytes=%bytes, align=4
  %x = ld p=%from, type=f32
  st p=%to, a=%x
  ret
"""


def test_copy() -> None:
    a, b = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    strict.run(kernel(COPY, TWO), 1, [a, b])
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (np.int8, "i8"), (np.uint16, "u16"), (np.int64, "i64"), (np.float16, "f16"), (np.float64, "f64"),
        (np.bool_, "bool"), (ml_dtypes.bfloat16, "bf16"), (ml_dtypes.float8_e4m3fn, "e4m3"),
        (ml_dtypes.float8_e5m2, "e5m2"), (np.float32, "tf32"),
    ],
)  # fmt: skip
def test_every_element_type(dtype: Any, name: str) -> None:
    function = kernel(
        """
      %x = tensor.load t=%a, coord=(%i)
      tensor.store t=%b, coord=(%i), a=%x
      ret
        """,
        f"%a: tensor<{name},gmem,64:1,1>, %b: tensor<{name},gmem,64:1,1>",
    )
    a = np.random.default_rng(0).integers(0, 2, 64).astype(dtype)
    b = np.zeros(64, dtype)
    strict.run(function, 1, [a, b])
    assert (a == b).all()


def test_vector_access() -> None:
    function = kernel(
        """
      %sixteen = const value=16, type=i32
      %bytes = mul a=%tid, b=%sixteen
      %p = tensor.ptr t=%a, coord=(%c0), align=16
      %q = tensor.ptr t=%b, coord=(%c0), align=16
      %from = ptr.add p=%p, bytes=%bytes, align=16
      %to = ptr.add p=%q, bytes=%bytes, align=16
      %x = ld p=%from, type=vec<bf16,8>
      st p=%to, a=%x
      ret
        """,
        "%a: tensor<bf16,gmem,256:1,16>, %b: tensor<bf16,gmem,256:1,16>",
        block=32,
    )
    a = np.arange(256).astype(ml_dtypes.bfloat16)
    b = np.zeros_like(a)
    strict.run(function, 1, [a, b])
    assert (a == b).all()


@pytest.mark.parametrize("view", ["transposed", "reversed", "sliced", "read-only source"])
def test_arrays_of_any_strides(view: str) -> None:
    """A kernel gets the address of the first element; the layout in its type says the strides."""
    base = np.arange(512, dtype=np.float32).reshape(16, 32)
    made = {
        "transposed": (base.T, "(32,16):(1,32)"),
        "reversed": (base[::-1, ::-1], "(16,32):(-32,-1)"),
        "sliced": (base[3:9, 2:30:3], "(6,10):(32,3)"),
        "read-only source": (np.broadcast_to(base[0, :4], (5, 4)), "(5,4):(0,1)"),
    }
    a, layout = made[view]
    rows, columns = a.shape
    function = kernel(
        f"""
      %rows = const value={rows}, type=i32
      %r = mod a=%i, b=%rows
      %c = floordiv a=%i, b=%rows
      %x = tensor.load t=%a, coord=(%r, %c)
      tensor.store t=%b, coord=(%r, %c), a=%x
      ret
        """,
        f"%a: tensor<f32,gmem,{layout},4>, %b: tensor<f32,gmem,({rows},{columns}):({columns},1),4>",
        block=rows * columns,
    )
    b = np.zeros(a.shape, np.float32)
    sim.run(function, 1, [a, b])
    np.testing.assert_array_equal(a, b)


def test_views_of_one_buffer_keep_their_distance() -> None:
    """x[1:] is 4 bytes behind x: no multiple of 16."""
    function = kernel(
        """
      %p = tensor.ptr t=%a, coord=(%c0), align=16
      %x = ld p=%p, type=vec<f32,4>
      ret
        """,
        "%a: tensor<f32,gmem,16:1,16>",
    )
    x = np.zeros(64, np.float32)
    sim.run(function, 1, [x])
    error = failure(function, args=[x[1:]])
    assert error.code == "misaligned"


def test_overlapping_arguments_are_one_memory() -> None:
    x = np.arange(128, dtype=np.float32)
    sim.run(kernel(COPY, TWO), 1, [x[:64], x[32:96]])  # all reads come before all writes, in lockstep
    np.testing.assert_array_equal(x[32:96], np.arange(64))


def test_out_of_bounds_names_everything() -> None:
    a, b = np.zeros(64, np.float32), np.zeros(60, np.float32)
    error = failure(kernel(COPY, TWO, name="copy"), args=[a, b], seed=3)
    assert error.code == "out-of-bounds"
    assert (error.kernel, error.block, error.threads, error.seed) == ("copy", (0, 0, 0), ((60, 0, 0),), 3)
    assert error.place is not None
    assert (error.place.space, error.place.name, error.place.offset) == ("gmem", "b", 240)
    assert error.span is not None
    assert error.span.line == error.op.span.line  # type: ignore[union-attr]
    assert "an access that ends 4 bytes behind `b`" in str(error)


@pytest.mark.parametrize(
    ("distance", "code"), [(-4, "out-of-bounds"), (256, "out-of-bounds"), (2, "misaligned"), (1 << 40, "out-of-bounds")]
)
def test_bad_pointers(distance: int, code: str) -> None:
    function = kernel(
        f"""
      %p = tensor.ptr t=%a, coord=(%c0), align=4
      %d = const value={distance}, type=i64
      %q = ptr.add p=%p, bytes=%d, align=4
      %x = ld p=%q, type=f32
      ret
        """,
        "%a: tensor<f32,gmem,64:1,4>",
    )
    assert failure(function, args=[np.zeros(64, np.float32)]).code == code


def test_an_argument_does_not_reach_into_the_next() -> None:
    """Neighbours on the host, and still no address of one is an address of the other."""
    both = np.zeros(128, np.float32)
    function = kernel(COPY.replace("value=4", "value=8"), TWO)
    error = failure(function, args=[both[:64], both[64:]])
    assert error.code == "out-of-bounds"
    assert error.place is not None
    assert error.place.name == "a"


def test_read_only_arrays() -> None:
    b = np.zeros(64, np.float32)
    b.flags.writeable = False
    assert failure(kernel(COPY, TWO), args=[np.zeros(64, np.float32), b]).code == "read-only"


def test_index_outside_of_a_tensor() -> None:
    function = kernel(
        """
      %x = tensor.load t=%a, coord=(%tid, %c3)
      ret
        """,
        "%a: tensor<f32,gmem,(60,4):(4,1),4>",
    )
    error = failure(function, args=[np.zeros((64, 4), np.float32)])
    assert error.threads == ((60, 0, 0), (61, 0, 0), (62, 0, 0), (63, 0, 0))


def mirrored(barrier: bool) -> Function:
    def body(out: Any) -> None:
        tile, t = cl.shared(i32, (64,)), cl.thread_idx.x
        tile[t] = t
        if barrier:
            cl.syncthreads()
        out[cl.block_idx.x * 64 + t] = tile[63 - t]

    return traced(body)


def test_shared_memory_belongs_to_its_block() -> None:
    np.testing.assert_array_equal(each_seed(mirrored(True), 3), np.tile(np.arange(64)[::-1], 3))


def test_uninitialised_shared_memory() -> None:
    """Without the barrier, what was not written yet is read by somebody under some schedule."""
    found = errors(mirrored(False))
    assert {error.code for error in found} == {"uninitialised"}
    assert {error.place and (error.place.space, error.place.name) for error in found} == {("smem", "tile")}


def test_shared_memory_is_forgotten_between_blocks() -> None:
    """Only block 0 writes, all blocks read."""

    def body(out: Any) -> None:
        tile, t = cl.shared(i32, (64,)), cl.thread_idx.x
        if cl.block_idx.x == 0:
            tile[t] = t
        out[t] = tile[t]

    error = failure(traced(body), grid=2)
    assert (error.code, error.block) == ("uninitialised", (1, 0, 0))


@pytest.mark.parametrize("bytes", [-4, 4 * 64, 1 << 20])
def test_outside_of_shared_memory(bytes: int) -> None:
    function = kernel(f"""
      %tile = smem.alloc type=tensor<i32,smem,64:1,16>
      %p = tensor.ptr t=%tile, coord=(%c0), align=4
      %d = const value={bytes}, type=i32
      %q = ptr.add p=%p, bytes=%d, align=4
      st p=%q, a=%tid
      ret
    """)
    assert failure(function).code == "out-of-bounds"


def test_dynamic_shared_memory() -> None:
    function = kernel("""
      %fixed = smem.alloc type=tensor<i32,smem,3:1,4>
      %all_of_it = smem.alloc type=tensor<i32,smem,64:1,128>, dynamic=True
      tensor.store t=%all_of_it, coord=(%tid), a=%tid
      %x = tensor.load t=%all_of_it, coord=(%tid)
      tensor.store t=%out, coord=(%i), a=%x
      ret
    """)
    np.testing.assert_array_equal(outputs(function, smem_dynamic=256), np.arange(64))
    error = failure(function, smem_dynamic=128)
    assert error.code == "out-of-bounds"
    assert "ends 4 bytes behind `all_of_it`" in str(error)
    assert "4 bytes; `all_of_it` has 128" in str(error)
    error = failure(function)
    assert "help: ask for dynamic memory in the launch: `kernel[grid, block, stream, bytes]`, stream None" in str(error)


def test_register_tensors_belong_to_their_thread() -> None:
    def kernel_of(index: Callable[[Any], Any]) -> Function:
        def body(out: Any) -> None:
            r, t = cl.make_rmem_tensor(i32, 4), cl.thread_idx.x
            r[1] = t
            out[t] = r[index(t)]

        return traced(body)

    np.testing.assert_array_equal(each_seed(kernel_of(lambda t: t // 64 + 1)), np.arange(64))
    error = failure(kernel_of(lambda t: t % 2))
    assert error.code == "uninitialised"
    assert error.place is not None
    assert (error.place.space, error.place.name, error.threads[0]) == ("rmem", "r", (0, 0, 0))


def test_register_tensors_are_undefined_again_in_each_iteration() -> None:
    def body(out: Any) -> None:
        for k in range(cl.i32(2)):
            r = cl.make_rmem_tensor(i32, 1)
            if k == 0:
                r[0] = k
            out[0] = r[0]

    assert failure(traced(body)).code == "uninitialised"


def test_arguments_that_do_not_fit() -> None:
    function = kernel("  ret\n", "%n: i32, %a: tensor<f32,gmem,4:1,4>")
    ok = np.zeros(4, np.float32)
    sim.run(function, 1, [7, ok])
    wrong: list[tuple[list[Any], type[Exception]]] = [
        ([7], TypeError),
        ([1 << 31, ok], ValueError),
        ([7, np.zeros(4, np.float64)], TypeError),
        ([7, [1, 2]], TypeError),
    ]
    for args, error in wrong:
        with pytest.raises(error):
            sim.run(function, 1, args)
    with pytest.raises(ValueError, match="clusters"):
        sim.run(function, 3, [7, ok], cluster=2)
    with pytest.raises(ValueError, match="2048"):
        sim.run(function, 1, [7, ok], block=(64, 32))


def test_dims() -> None:
    text = """
    func @k[dims N: i32](%a: tensor<i32,gmem,N:1,4>, %out: tensor<i32,gmem,2:1,4>) attrs {block=(1, 1, 1)} {
      %c0 = const value=0, type=i32
      %c1 = const value=1, type=i32
      %half = dim expr=dim<ceil_div(N,2)>, type=i32
      %last = dim expr=dim<N-1>, type=i32
      %x = tensor.load t=%a, coord=(%last)
      tensor.store t=%out, coord=(%c0), a=%half
      tensor.store t=%out, coord=(%c1), a=%x
      ret
    }
    """
    function = parse_function(text)
    out = np.zeros(2, np.int32)
    strict.run(function, 1, [np.arange(7, dtype=np.int32), out], dims={"N": 7})
    assert out.tolist() == [4, 6]
    with pytest.raises(TypeError, match="dim N"):
        sim.run(function, 1, [np.arange(7, dtype=np.int32), out])
    promised = parse_function(text.replace("gmem,N:1", "gmem,N{div=4}:1").replace("dim<N-1>", "dim<N{div=4}-1>"))
    with pytest.raises(ValueError, match="N is 7, but must be a multiple of 4"):
        sim.run(promised, 1, [np.arange(7, dtype=np.int32), out], dims={"N": 7})


def test_dims_bound_in_the_kernel() -> None:
    """`cl.dim(x)`: each thread has its own, and keeps it across branches."""

    def body(out: Any) -> None:
        t, y = cl.thread_idx.x, 0
        w = cl.dim(t + 1)
        if t % 2 == 1:
            y = w + w
        out[t] = cl.i32(y + w // 2)

    t = np.arange(64)
    np.testing.assert_array_equal(each_seed(traced(body)), np.where(t % 2, 2 * (t + 1), 0) + (t + 1) // 2)


def test_an_empty_tensor_has_an_address() -> None:
    none = cl.Dim("none", min=0)

    @cl.kernel(block=1)
    def taken(x: cl.Tensor[cl.f32, (none,)], place: cl.Constexpr[int]) -> None:
        p = x.at(place)
        if none > 5:
            cl.store_relaxed(p, None, x[place])

    taken[1](np.zeros(0, np.float32), 0)
    with pytest.raises(cl.SimError, match="the index is 1, but the extent is none"):
        taken[1](np.zeros(0, np.float32), 1)
