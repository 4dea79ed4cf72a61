"""What kernel authors are told when they misuse wgmma: one error, at their line."""

from collections.abc import Callable
from typing import Any

import pytest

import cutelite as cl
from cutelite import Layout, Swizzle, Tensor, bf16, f32
from cutelite.target import Target

SWIZZLE = Swizzle(3, 4, 3)


def tile(rows: int = 64, k: int = 64, dtype: Any = bf16) -> Any:
    return cl.shared(dtype, (rows, k), swizzle=SWIZZLE)


def started(n: int = 64) -> Any:
    acc = cl.wgmma.mma_async(tile(), tile(n), cl.wgmma.zeros_accumulator(n))
    cl.wgmma.commit_group()
    return acc


def added(c: Any) -> Any:
    return started() + 1.0


def multiplied(c: Any) -> Any:
    return 2.0 * started()


def indexed(c: Any) -> Any:
    return started()[0]


def converted(c: Any) -> Any:
    return started().to(bf16)


def stored(c: Any) -> Any:
    cl.wgmma.partition(c).store(started())


def stored_element(c: Any) -> Any:
    c[0, 0] = started()


def compared(c: Any) -> Any:
    return max(started(), 0.0)


def iterated(c: Any) -> Any:
    return [x for x in started()]  # noqa: C416


def used_in_the_loop_that_keeps_it(c: Any) -> Any:
    acc = cl.wgmma.zeros_accumulator(64)
    for _ in range(cl.thread_idx.x):
        acc = cl.wgmma.mma_async(tile(), tile(), acc)
        cl.wgmma.commit_group()
        acc = cl.wgmma.wait_group(1, keep=acc)
        cl.wgmma.partition(c).store(acc)


IN_FLIGHT = [
    added,
    multiplied,
    indexed,
    converted,
    stored,
    stored_element,
    compared,
    iterated,
    used_in_the_loop_that_keeps_it,
]


def kernel(body: Callable[[Any], Any], block: int = 128) -> Any:
    @cl.kernel(block=block)
    def misuse(c: Tensor[f32, (64, 64)]) -> None:
        body(c)

    return misuse


def error_of(body: Callable[[Any], Any], arch: str = "sm_90a") -> cl.CompileError:
    with pytest.raises(cl.CompileError) as caught:
        kernel(body).compile(arch=arch)
    assert caught.value.span is not None
    assert caught.value.span.filename == __file__
    return caught.value


@pytest.mark.parametrize("body", IN_FLIGHT, ids=lambda body: body.__name__)
def test_reading_before_the_wait(body: Callable[[Any], Any]) -> None:
    error = error_of(body)
    assert error.diagnostic.code == "in-flight"
    assert "cl.wgmma.wait_group" in str(error)


def row_sums(c: Any, waits: int, ahead: bool = False) -> None:
    """Products of an A that each iteration computes in the same registers."""
    acc = cl.wgmma.mma_async(tile(), tile(), cl.wgmma.zeros_accumulator(64))
    for step in range(cl.block_idx.x):
        a = cl.full((32,), cl.f32(step), cl.f32)
        if ahead:
            acc = cl.wgmma.wait_group(0, keep=acc)
        acc = cl.wgmma.mma_async(a.to(bf16), tile(), acc)
        cl.wgmma.commit_group()
        if not ahead:
            acc = cl.wgmma.wait_group(waits, keep=acc)
    cl.wgmma.partition(c).store(cl.wgmma.wait_group(0, acc))


def rows_loaded_ahead(c: Any) -> None:
    """The next A comes to the registers of this one, above the wait for its product."""
    acc, held = cl.wgmma.mma_async(tile(), tile(), cl.wgmma.zeros_accumulator(64)), cl.shared(bf16, (128, 32))
    for _ in range(cl.block_idx.x):
        a = held[cl.thread_idx.x, None].load()
        acc = cl.wgmma.wait_group(0, keep=acc)
        acc = cl.wgmma.mma_async(a, tile(), acc)
        cl.wgmma.commit_group()
    cl.wgmma.partition(c).store(cl.wgmma.wait_group(0, acc))


def metadata_of_each_step(c: Any) -> None:
    """The metadata of a sparse A, of which each iteration has others."""
    acc, b = cl.wgmma.zeros_accumulator(64), cl.shared(bf16, cl.make_smem_layout(bf16, (64, 128)))
    held = cl.shared(cl.u32, (128, 4))
    for step in range(cl.block_idx.x):
        words = held[cl.thread_idx.x, None].load() + cl.u32(step)
        acc = cl.wgmma.mma_async(tile(), b, acc, metadata=words[:2])
        cl.wgmma.commit_group()
        acc = cl.wgmma.wait_group(1, keep=acc)
    cl.wgmma.partition(c).store(cl.wgmma.wait_group(0, acc))


WRITTEN_AGAIN: dict[str, Callable[[Any], Any]] = {
    "no wait": lambda c: row_sums(c, 1),
    "above the wait": rows_loaded_ahead,
    "metadata": metadata_of_each_step,
}


@pytest.mark.parametrize("name", WRITTEN_AGAIN)
def test_registers_of_an_operand_are_written_again_behind_a_wait(name: str) -> None:
    error = error_of(WRITTEN_AGAIN[name])
    what = "the metadata" if name == "metadata" else "A"
    assert error.diagnostic.code == "wgmma-operand"
    assert f"{what} is computed again in its registers while this product may still read them" in str(error)
    assert f"{what} is computed again here" in str(error)


def test_operands_in_registers_are_free_once_a_wait_has_ended_their_products() -> None:
    kernel(lambda c: row_sums(c, 0)).compile(arch="sm_90a")
    kernel(lambda c: row_sums(c, 0, ahead=True)).compile(arch="sm_90a")


def plain_rows(c: Any) -> Any:
    return cl.wgmma.mma_async(cl.shared(bf16, (64, 64)), tile(), cl.wgmma.zeros_accumulator(64))


def padded_rows(c: Any) -> Any:
    b = cl.shared(bf16, Layout((64, 64), (72, 1)))
    return cl.wgmma.mma_async(tile(), b, cl.wgmma.zeros_accumulator(64))


def transposed_bytes(c: Any) -> Any:
    b = cl.shared(cl.i8, Layout((128, 64), (1, 128)), swizzle=SWIZZLE)
    return cl.wgmma.mma_async(tile(64, 128, cl.i8), b, cl.wgmma.zeros_accumulator(128, cl.i32))


def a_of_128_rows(c: Any) -> Any:
    return cl.wgmma.mma_async(tile(128), tile(), cl.wgmma.zeros_accumulator(64))


def another_k(c: Any) -> Any:
    a = cl.shared(bf16, (64, 32), swizzle=Swizzle(2, 4, 3))
    return cl.wgmma.mma_async(a, tile(), cl.wgmma.zeros_accumulator(64))


def plain_f32(c: Any) -> Any:
    return cl.wgmma.mma_async(tile(64, 32, f32), tile(64, 32, f32), cl.wgmma.zeros_accumulator(64))


def mixed_types(c: Any) -> Any:
    return cl.wgmma.mma_async(tile(dtype=cl.f16), tile(), cl.wgmma.zeros_accumulator(64))


def another_n(c: Any) -> Any:
    return cl.wgmma.mma_async(tile(), tile(128), cl.wgmma.zeros_accumulator(64))


def wrong_accumulator(c: Any) -> Any:
    return cl.wgmma.mma_async(tile(), tile(), cl.wgmma.zeros_accumulator(64, cl.f16))


def short_registers(c: Any) -> Any:
    return cl.wgmma.mma_async(cl.wgmma.zeros_accumulator(32).to(bf16), tile(), cl.wgmma.zeros_accumulator(64))


def part_of_registers(c: Any) -> Any:
    a = cl.wgmma.zeros_accumulator(64).to(bf16)
    return cl.wgmma.mma_async(a, tile(), cl.wgmma.zeros_accumulator(64), steps=slice(0, 2))


def no_steps(c: Any) -> Any:
    return cl.wgmma.mma_async(tile(), tile(), cl.wgmma.zeros_accumulator(64), steps=slice(4, None))


def operand_in_global_memory(c: Any) -> Any:
    return cl.wgmma.mma_async(c, tile(), cl.wgmma.zeros_accumulator(64))


def n_of_100(c: Any) -> Any:
    b = cl.shared(bf16, (104, 64), swizzle=SWIZZLE).tile((100, 64), (0, 0))
    return cl.wgmma.mma_async(tile(), b, cl.wgmma.zeros_accumulator(96))


def accumulator_of_100(c: Any) -> Any:
    return cl.wgmma.zeros_accumulator(100)


def barriers_not_indexed(c: Any) -> Any:
    return cl.shared(cl.mbarrier, 2).arrive()


def bulk_copy_of_13_bytes(c: Any) -> Any:
    return cl.cp_async_bulk(cl.shared(f32, 64), c, 13, barrier=cl.shared(cl.mbarrier, 1)[0])


def bulk_copy_misaligned(c: Any) -> Any:
    return cl.cp_async_bulk(cl.shared(f32, 64).at(1), c, 64, barrier=cl.shared(cl.mbarrier, 1)[0])


def axes_called(c: Any) -> Any:
    return cl.thread_idx()  # type: ignore[operator]


def address_without_dtype(c: Any) -> Any:
    return cl.make_tensor(c.ptr, (4, 4))


def waited_for_twice(c: Any) -> Any:
    return cl.wgmma.wait_group(0, cl.wgmma.wait_group(0, started()))


def fence_of_what_is_in_flight(c: Any) -> Any:
    return cl.wgmma.fence_operand(started())


def overwrites_what_was_not_fenced(c: Any) -> Any:
    return cl.wgmma.mma_async(tile(), tile(), cl.wgmma.zeros_accumulator(64), accumulate=False, fenced=True)


def partition_of_a_wide_tile(c: Any) -> Any:
    return cl.wgmma.partition(cl.shared(f32, (128, 64)))


MISTAKES = [
    (plain_rows, "wgmma-operand", "row 1 lies 128 bytes from row 0; wgmma looks for it at 16"),
    (padded_rows, "wgmma-operand", "row 1 lies 144 bytes from row 0"),
    (transposed_bytes, "wgmma-operand", "operands of 8 bits must be contiguous along K"),
    (a_of_128_rows, "wgmma-operand", "A has 128 rows"),
    (another_k, "wgmma-operand", "A must be (64, 64)"),
    (plain_f32, "wgmma-operand", "recast the tile to cl.tf32"),
    (mixed_types, "wgmma-mma-async", "wgmma does not multiply f16 times bf16"),
    (another_n, "wgmma-accumulator", "the accumulator is vec<f32,32>, but B has 128 rows"),
    (wrong_accumulator, "wgmma-accumulator", "the accumulator is vec<f16,32>"),
    (short_registers, "wgmma-operand", "A in registers is vec<bf16,16>, but must be vec<bf16,32>"),
    (part_of_registers, "wgmma-operand", "`steps` takes at least one, of a dense A in shared memory"),
    (no_steps, "wgmma-operand", "slice(4, None, None) of 4 instructions along K"),
    (operand_in_global_memory, "wgmma-operand", "no (rows, k) tile of shared memory"),
    (n_of_100, "wgmma-operand", "does not consist of blocks of 8 rows"),
    (padded_rows, "wgmma-operand", "`cl.tma_shared` and `cl.make_smem_layout` make tiles"),
    (accumulator_of_100, "wgmma-accumulator", "from 8 to 256 in steps of 8, not 100"),
    (barriers_not_indexed, "attribute", "a tensor of barriers is indexed first: `t[i].arrive`"),
    (bulk_copy_of_13_bytes, "bulk", "a positive multiple of 16 bytes, not 13"),
    (bulk_copy_misaligned, "cp-async-bulk", "`cl.shared(..., align=16)`"),
    (axes_called, "call", "write `cl.thread_idx.x`, or `x, y, z = cl.thread_idx`"),
    (address_without_dtype, "make-tensor", "give the dtype"),
    (fence_of_what_is_in_flight, "wgmma-accumulator", "fence_operand takes vectors, not an accumulator in flight"),
    (waited_for_twice, "wgmma-accumulator", "takes accumulators in flight, not a run-time vec<f32,32>"),
    (overwrites_what_was_not_fenced, "wgmma-mma-async", "so wgmma needs a fence before it"),
    (partition_of_a_wide_tile, "wgmma-accumulator", "an accumulator is (64, n)"),
]


@pytest.mark.parametrize(("body", "code", "words"), MISTAKES, ids=[body.__name__ for body, _, _ in MISTAKES])
def test_operands_that_do_not_fit(body: Callable[[Any], Any], code: str, words: str) -> None:
    error = error_of(body)
    assert error.diagnostic.code == code
    assert words in str(error)


def elects(c: Any) -> Any:
    if cl.elect_one():
        c[0, 0] = 1.0


def gives_registers(c: Any) -> Any:
    cl.setmaxnreg_dec(40)


@pytest.mark.parametrize(
    ("body", "threads"),
    [(gives_registers, 128), (lambda c: started(), 128), (lambda c: cl.barrier_arrive(1, 256), 256)],
    ids=["setmaxnreg", "wgmma", "barrier"],
)
def test_blocks_that_are_too_small_for_them(body: Callable[[Any], Any], threads: int) -> None:
    with pytest.raises(cl.CompileError, match=f"is for {threads} threads, and the block has {threads - 32}"):
        kernel(body, threads - 32).compile(arch="sm_90a")
    kernel(body, threads - 20).compile(arch="sm_90a")


@pytest.mark.parametrize(
    ("body", "arch", "feature"),
    [(elects, "sm_80", "elect"), (gives_registers, "sm_90", "setmaxnreg"), (lambda c: started(), "sm_90", "wgmma")],
    ids=["elect", "setmaxnreg", "wgmma"],
)
def test_older_targets_lack_them(body: Callable[[Any], Any], arch: str, feature: str) -> None:
    error = error_of(body, arch)
    assert f"needs a GPU with {feature}, which {Target.parse(arch).arch} lacks" in str(error)
