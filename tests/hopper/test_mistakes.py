"""What kernel authors are told when they misuse wgmma: one error, at their line."""

from collections.abc import Callable
from typing import Any

import pytest

import cutelite as cl
from cutelite import Layout, Swizzle, Tensor, bf16, f32
from cutelite.target import Target
from tests.front.lines import last_line, refusal, told

SWIZZLE = Swizzle(3, 4, 3)


def tile(rows: int = 64, k: int = 64, dtype: Any = bf16) -> Any:
    return cl.shared(dtype, (rows, k), swizzle=SWIZZLE)


def started(n: int = 64) -> Any:
    acc = cl.wgmma.mma_async(tile(), tile(n), cl.wgmma.zeros_accumulator(n))
    cl.wgmma.commit_group()
    return acc


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


MISTAKES = """
started() + 1.0
    # in-flight: cl.wgmma.wait_group
2.0 * started()
    # in-flight: cl.wgmma.wait_group
started()[0]
    # in-flight: cl.wgmma.wait_group
started().to(bf16)
    # in-flight: cl.wgmma.wait_group
cl.wgmma.partition(part(a)).store(started())
    # in-flight: cl.wgmma.wait_group
a[0, 0] = started()
    # in-flight: cl.wgmma.wait_group
max(started(), 0.0)
    # in-flight: cl.wgmma.wait_group
[x for x in started()]
    # in-flight: cl.wgmma.wait_group
acc = cl.wgmma.zeros_accumulator(64)
for _ in range(cl.thread_idx.x):
    acc = cl.wgmma.mma_async(tile(), tile(), acc)
    cl.wgmma.commit_group()
    acc = cl.wgmma.wait_group(1, keep=acc)
    cl.wgmma.partition(part(a)).store(acc)
    # in-flight: cl.wgmma.wait_group
cl.wgmma.mma_async(cl.shared(bf16, (64, 64)), tile(), cl.wgmma.zeros_accumulator(64))
    # wgmma-operand: row 1 lies 128 bytes from row 0; wgmma looks for it at 16
b = cl.shared(bf16, Layout((64, 64), (72, 1)))
cl.wgmma.mma_async(tile(), b, cl.wgmma.zeros_accumulator(64))
    # wgmma-operand: row 1 lies 144 bytes from row 0
b = cl.shared(cl.i8, Layout((128, 64), (1, 128)), swizzle=SWIZZLE)
cl.wgmma.mma_async(tile(64, 128, cl.i8), b, cl.wgmma.zeros_accumulator(128, cl.i32))
    # wgmma-operand: operands of 8 bits must be contiguous along K
cl.wgmma.mma_async(tile(128), tile(), cl.wgmma.zeros_accumulator(64))
    # wgmma-operand: A has 128 rows
a = cl.shared(bf16, (64, 32), swizzle=Swizzle(2, 4, 3))
cl.wgmma.mma_async(a, tile(), cl.wgmma.zeros_accumulator(64))
    # wgmma-operand: A must be (64, 64)
cl.wgmma.mma_async(tile(64, 32, f32), tile(64, 32, f32), cl.wgmma.zeros_accumulator(64))
    # wgmma-operand: recast the tile to cl.tf32
cl.wgmma.mma_async(tile(dtype=cl.f16), tile(), cl.wgmma.zeros_accumulator(64))
    # wgmma-mma-async: wgmma does not multiply f16 times bf16
cl.wgmma.mma_async(tile(), tile(128), cl.wgmma.zeros_accumulator(64))
    # wgmma-accumulator: the accumulator is vec<f32,32>, but B has 128 rows
cl.wgmma.mma_async(tile(), tile(), cl.wgmma.zeros_accumulator(64, cl.f16))
    # wgmma-accumulator: the accumulator is vec<f16,32>
cl.wgmma.mma_async(cl.wgmma.zeros_accumulator(32).to(bf16), tile(), cl.wgmma.zeros_accumulator(64))
    # wgmma-operand: A in registers is vec<bf16,16>, but must be vec<bf16,32>
a = cl.wgmma.zeros_accumulator(64).to(bf16)
cl.wgmma.mma_async(a, tile(), cl.wgmma.zeros_accumulator(64), steps=slice(0, 2))
    # wgmma-operand: `steps` takes at least one, of a dense A in shared memory
cl.wgmma.mma_async(tile(), tile(), cl.wgmma.zeros_accumulator(64), steps=slice(4, None))
    # wgmma-operand: slice(4, None, None) of 4 instructions along K
cl.wgmma.mma_async(a, tile(), cl.wgmma.zeros_accumulator(64))
    # wgmma-operand: no (rows, k) tile of shared memory
b = cl.shared(bf16, (104, 64), swizzle=SWIZZLE).tile((100, 64), (0, 0))
cl.wgmma.mma_async(tile(), b, cl.wgmma.zeros_accumulator(96))
    # wgmma-operand: does not consist of blocks of 8 rows
b = cl.shared(bf16, Layout((64, 64), (72, 1)))
cl.wgmma.mma_async(tile(), b, cl.wgmma.zeros_accumulator(64))
    # wgmma-operand: `cl.tma_shared` and `cl.make_smem_layout` make tiles
cl.wgmma.zeros_accumulator(100)
    # wgmma-accumulator: from 8 to 256 in steps of 8, not 100
cl.shared(cl.mbarrier, 2).arrive()
    # attribute: a tensor of barriers is indexed first: `t[i].arrive`
cl.cp_async_bulk(cl.shared(f32, 64), a, 13, barrier=cl.shared(cl.mbarrier, 1)[0])
    # bulk: a positive multiple of 16 bytes, not 13
cl.cp_async_bulk(cl.shared(f32, 64).at(1), a, 64, barrier=cl.shared(cl.mbarrier, 1)[0])
    # cp-async-bulk: `cl.shared(..., align=16)`
cl.thread_idx()
    # call: write `cl.thread_idx.x`, or `x, y, z = cl.thread_idx`
cl.make_tensor(a.ptr, (4, 4))
    # make-tensor: give the dtype
cl.wgmma.fence_operand(started())
    # wgmma-accumulator: fence_operand takes vectors, not an accumulator in flight
cl.wgmma.wait_group(0, cl.wgmma.wait_group(0, started()))
    # wgmma-accumulator: takes accumulators in flight, not a run-time vec<f32,32>
cl.wgmma.mma_async(tile(), tile(), cl.wgmma.zeros_accumulator(64), accumulate=False, fenced=True)
    # wgmma-mma-async: so wgmma needs a fence before it
cl.wgmma.partition(cl.shared(f32, (128, 64)))
    # wgmma-accumulator: an accumulator is (64, n)
"""
"""What is done, and behind it the code of the error and what is said. `a` is a tensor in global memory."""


@pytest.mark.parametrize(("code", "said"), told(MISTAKES))
def test_operands_that_do_not_fit(code: str, said: str) -> None:
    kind, _, words = said.partition(": ")
    space = {"tile": tile, "started": started, "part": lambda a: cl.local_tile(a, (64, 64), (0, 0)), "bf16": bf16}
    error = refusal(code, **space, Layout=Layout, Swizzle=Swizzle, SWIZZLE=SWIZZLE)
    assert error.diagnostic.code == kind
    assert words in str(error)
    assert last_line(error, code)


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


def test_warpgroups_are_whole_and_a_barrier_counts_warps() -> None:
    kernel(lambda c: cl.barrier_arrive(1, 256), 236).compile(arch="sm_90a")
    for body in (gives_registers, lambda c: started()):
        with pytest.raises(cl.CompileError, match="is for 128 threads, and the block has 127"):
            kernel(body, 127).compile(arch="sm_90a")


@pytest.mark.parametrize(
    ("body", "arch", "feature"),
    [(elects, "sm_80", "elect"), (gives_registers, "sm_90", "setmaxnreg"), (lambda c: started(), "sm_90", "wgmma")],
    ids=["elect", "setmaxnreg", "wgmma"],
)
def test_older_targets_lack_them(body: Callable[[Any], Any], arch: str, feature: str) -> None:
    error = error_of(body, arch)
    assert f"needs a GPU with {feature}, which {Target.parse(arch).arch} lacks" in str(error)
