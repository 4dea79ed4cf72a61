"""Misuse of layouts, tensors and atoms: one error, at the user's line, that names the function, modes and numbers."""

from typing import Any

import pytest

import cutelite as cl
from cutelite import Layout
from tests.atoms.test_copies import TILED as COPIES
from tests.atoms.test_tiled_mma import TILED as MMAS
from tests.front.lines import last_line, refusal, told

ROWS = cl.make_tiled_copy_tv(cl.make_copy_atom(cl.CopyUniversalOp(128), cl.f32), Layout((8, 4), (4, 1)), Layout((1, 4)))
MMA = cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), (1, 1, 1))
WARPS = MMAS["2x2"]

CASES = r"""
cl.make_layout((4, (2, 8)), stride=(1, 4, 8))
    # do not nest alike
cl.composition(Layout((4, 6, 8), (2, 3, 5)), Layout(6, 3))
    # is no layout
cl.local_tile(a, (8, 8, 8), (0, 0, 0))
    # more modes than
cl.group_modes(a, 1, 5)
    # group_modes
cl.domain_offset((1, 2, 3), a)
    # 3 indices into a tensor of 2 modes
cl.local_tile(a, (8, 8), (0, 0, 0))
    # 3 tile coordinates into a grid of 2 modes
ROWS.get_slice(cl.thread_idx.x).partition_S(cl.shared(cl.f32, (64,)))
    # cannot be cut into tiles of (8, 16)
mine = ROWS.get_slice(cl.thread_idx.x)
source = mine.partition_S(cl.shared(cl.f32, (8, 64)))
cl.copy(ROWS, source, cl.make_fragment_like(source), pred=cl.make_rmem_tensor(cl.boolean, (3,)))
    # the predicate is 3 elements of bool, but the copy is 4 instructions
mine = ROWS.get_slice(cl.thread_idx.x)
source = mine.partition_S(cl.shared(cl.f32, (8, 64)))
inside = cl.make_rmem_tensor(cl.boolean, Layout((4, 1, 4)))
inside.fill(True)
cl.copy(ROWS, source, cl.make_fragment_like(source), pred=inside)
    # moves 4 elements, but elements 0 and 1 have predicates each
cl.copy(cl.shared(cl.f32, (4, 8)), cl.make_rmem_tensor(cl.f32, (4, 8)), pred=cl.make_rmem_tensor(cl.boolean, (5,)))
    # the predicate is 5 elements of bool, but the source has 32 elements
registers = cl.make_rmem_tensor(cl.f32, (4,))
cl.copy(registers.load(), registers)
    # store its elements: `target.store(v)`
mine = ROWS.get_slice(cl.thread_idx.x)
source = mine.partition_S(cl.shared(cl.f32, (8, 64)))
cl.copy(ROWS, source, cl.make_fragment_like(source), barrier=cl.shared(cl.mbarrier, (1,))[0])
    # takes no `barrier=`
registers = cl.make_rmem_tensor(cl.f32, (4,))
send = cl.make_copy_atom(cl.CopyDsmemStoreOp(128), cl.f32)
cl.copy(send, registers, cl.mapa(cl.shared(cl.f32, (4,)), 0))
    # CopyDsmemStoreOp(bits=128) needs `barrier=`, which counts its bytes
cl.local_tile(cl.shared(cl.f32, (8, 8)), (16, 8), (0, 0))
    # local_tile: mode 0 of the smem tensor (8,8):(8,1) is 8, no multiple of the 16 of the tile (16, 8)
cl.local_tile(cl.shared(cl.f32, (8, 12)), (8, 8), (0, cl.thread_idx.x))
    # mode 1 of the smem tensor (8,12):(12,1) is 12, no multiple of the 8
cl.zipped_divide(cl.shared(cl.f32, (8, 12)), (8, 8))
    # zipped_divide: mode 1 of the smem tensor (8,12):(12,1) is 12
ROWS.get_slice(0).partition_S(cl.shared(cl.f32, (4, 16)))
    # partition: mode 0 of the smem tensor (4,16):(16,1) is 4
cl.local_partition(cl.shared(cl.f32, (6, 6)), Layout((4, 4)), 0)
    # local_partition: mode 0 of the smem tensor (6,6):(6,1) is 6
cl.make_tiled_copy_tv(ROWS.atom, Layout((8, 4)), Layout((3, 8)))
    # CopyUniversalOp(bits=128) takes 4 values at once, and values of shape (3, 8) do not divide into groups
atom = cl.make_copy_atom(cl.LdMatrix8x8x16bOp(num_matrices=2), cl.f16)
cl.make_tiled_copy_tv(atom, Layout((16, 12), (12, 1)), Layout((1, 4)))
    # LdMatrix8x8x16bOp(num_matrices=2) takes 32 threads at once, and threads of shape (12, 16) do not
tiled = cl.make_tiled_copy_tv(ROWS.atom, Layout((1, 3), (0, 1)), Layout((3, 8)))
tiled.get_slice(cl.thread_idx.x).partition_S(cl.shared(cl.f32, (3, 24)))
    # CopyUniversalOp(bits=128) takes 4 elements at once, which run over the end of a mode of the tile (3, 24)
cl.make_tiled_copy(cl.make_copy_atom(cl.CopyUniversalOp(), cl.f32), Layout((32, 2)), (8, 7))
    # (32,2):(1,32) reaches 64 elements, and the tile (8, 7) 56
cl.make_tiled_copy(cl.make_copy_atom(cl.CopyUniversalOp(), cl.f32), Layout((32, 2)), (8, 16))
    # (32,2):(1,32) reaches 64 elements, and the tile (8, 16) 128
cl.make_tensor(cl.shared(cl.f16, (8, 64)).ptr, cl.make_smem_layout(cl.f16, (8, 64)), cl.f16)
    # takes memory aligned to 1024 bytes, but the address is known to be a multiple of 16
cl.shared(cl.f32, (4, 4)).view(Layout((5, 5)))
    # the layout (5,5):(1,5) reaches 25 elements, but (4,4):(4,1) has 16
cl.make_tiled_copy(cl.make_copy_atom(cl.CopyUniversalOp(), cl.f32), Layout((2, 2), (63, 0)), (8, 8))
    # (2,2):(63,0) has 2 different elements at most, and the tile (8, 8) 64
cl.make_copy_atom(cl.CopyUniversalOp(48), cl.f32)
    # moves 48 bits, which is no whole number of f32 elements
copy = cl.make_tiled_copy_tv(cl.make_copy_atom(cl.CopyUniversalOp(cache="wt"), cl.f32), Layout(32), Layout(1))
source = copy.get_slice(0).partition_S(cl.local_tile(a, (32, 1), (0, 0))[None, 0])
cl.copy(copy, source, cl.make_fragment_like(source))
    # from gmem to rmem, the cache of CopyUniversalOp
copy = cl.make_tiled_copy_tv(
    cl.make_copy_atom(cl.CopyUniversalOp(evict="evict_first"), cl.f32), Layout(32), Layout(1)
)
source = copy.get_slice(0).partition_S(cl.shared(cl.f32, (32,)))
cl.copy(copy, source, cl.make_fragment_like(source))
    # from smem to rmem, the eviction of CopyUniversalOp
cl.make_copy_atom(cl.CopyReduceBulkTensorTileS2GOp("mul"), cl.f32)
    # TMA does not mul f32
cl.copy(cl.shared(cl.f32, (4,)), cl.make_rmem_tensor(cl.f32, (4,)), pred="x")
    # a predicate is a bool or a tensor of bools, not 'x'
cl.make_tiled_mma(cl.WarpMmaOp(cl.f16, cl.f32), Layout((2, 2, 1), (4, 4, 1)))
    # the atoms (2,2,1):(4,4,1) are 4, and must have the numbers from 0 on
cl.axpby(1.0, 3, 2.0, 4)
    # axpby takes tensors, not 3
cl.PipelineAsync.create(0, 32, 32)
    # a pipeline has 1 stage or more, known at compile time, not 0
cl.logical_divide(cl.shared(cl.f32, (4, 4)), (2, 2))[(0, 0, 0), (0, 0)]
    # 3 indices into the 2 modes of (2,2):(4,8)
cl.select(a, (0, 2))
    # no mode 2 in (M,N), which has 2 modes
cl.recast_tensor(cl.shared(cl.f32, (5, 5)), cl.f64)
    # recast_layout: stride 5 of (5,5):(5,1)
load = cl.make_tiled_copy_A(cl.make_copy_atom(cl.LdMatrix8x8x16bOp(), cl.f16), MMA)
tile = cl.shared(cl.f16, Layout((16, 16), (17, 1)))
held = MMA.make_fragment_A(MMA.get_slice(0).partition_A(tile))
cl.copy(load, load.get_slice(cl.thread_idx.x).partition_S(tile), load.retile(held))
    # must lie at a multiple of 16 bytes, but is only known to lie at one of 2
tile, mine = cl.shared(cl.f16, (16, 16)), MMA.get_slice(0)
cl.gemm(MMA, MMA.make_fragment_C((4, 1, 1)), mine.partition_A(tile), mine.partition_B(tile))
    # is a fragment in registers, not a run-time tensor<f16,smem
cl.fill(cl.make_rmem_tensor(cl.f32, (4,))[5], 0.0)
    # index 5 is out of bounds
cl.copy(a, cl.make_rmem_tensor(cl.f32, (4,)))
    # needs shapes known at compile time
cl.axpby(1.0, cl.make_rmem_tensor(cl.f32, (4,)), 1.0, cl.make_rmem_tensor(cl.f32, (5,)))
    # x has shape (4,), y (5,)
MMA.get_slice(0).partition_A(cl.shared(cl.f16, (64,)))
    # operand A has modes M and K
cl.gemm(MMA, 1.0, 2.0, 3.0)
    # operand A of
cl.copy(MMA, a, a)
    # a copy atom is needed here, not a TiledMma
cl.make_smem_layout(cl.f32, (12, 60))
    # no atom of a K-major tile of f32 divides (12, 60)
copy = cl.make_tiled_copy_tv(cl.make_copy_atom(cl.CopyG2SOp(32), cl.f16), Layout(32), Layout(2))
source = copy.get_slice(0).partition_S(cl.make_tensor(a.ptr, Layout(64), cl.f16).view(Layout(64)))
cl.copy(copy, cl.domain_offset(1, source), copy.get_slice(0).partition_D(cl.shared(cl.f16, (64,))))
    # a `cl.CopyUniversalOp` of 16 bits can move it
cl.make_tiled_mma(MMA.op, (1, 1, 1), (None, 0, None))
    # along N the permutation is 0, not an extent
cl.make_tiled_mma(MMA.op, (1, 1, 1), 32)
    # one entry for each of M, N and K, not 32
cl.make_tiled_copy_A(cl.LdMatrix8x8x16bOp(), MMA)
    # a copy atom is needed here, not a LdMatrix8x8x16bOp
cl.make_tiled_copy_B(ROWS.atom, MMA.op)
    # a tiled MMA is needed here, not a WarpMmaOp
cl.make_tiled_copy_S(ROWS.atom, ROWS.atom)
    # a tiled copy is needed here, not a CopyAtom
cl.make_swizzle(cl.thread_idx.x, 3, 3)
    # `bits` of `make_swizzle` must be known at compile time, but is a run-time
cl.warp_reduce(a[0, 0], "add", width=cl.thread_idx.x)
    # a power of two up to 32, not a run-time
cl.warp_scan(a[0, 0], width=3)
    # a power of two up to 32, not 3
cl.block_scan(a[0, 0], 0.0, lambda x, y: None)
    # two of f32 are combined to None
cl.make_tensor(a.ptr, Layout(1 << 40), cl.f32).load()
    # 524288 bytes of local memory, and all elements of this tensor are 4398046511104
cl.make_tensor(a.ptr, Layout(1 << 40), cl.f32).fill(0.0)
    # 524288 bytes of local memory, too few for 1099511627776 elements
every = cl.make_tensor(a.ptr, Layout(1 << 40), cl.f32)
cl.copy(every, every)
    # a thread would copy all 1099511627776 elements by itself
cl.elem_less((1, 2), (3,))
    # a coordinate of 2 components and a bound of 1
mine = ROWS.get_slice(cl.thread_idx.x)
cl.copy(ROWS, mine.partition_S(cl.local_tile(a, (8, 16), (0, 0))), mine.partition_D(cl.shared(cl.f32, (8, 16))))
    # must lie at a multiple of 16 bytes, but is only known to lie at one of 4
mine = ROWS.get_slice(cl.thread_idx.x)
one, two = cl.shared(cl.f32, Layout((8, 16))), cl.shared(cl.f32, (8, 16))
cl.copy(ROWS, mine.partition_S(one), mine.partition_D(two))
    # 4 elements of f32 with layout
mine = ROWS.get_slice(cl.thread_idx.x)
one, two = cl.shared(cl.f32, (8, 16)), cl.shared(cl.f32, (16, 16))
cl.copy(ROWS, mine.partition_S(one), mine.partition_D(two))
    # 1 times what
cl.copy(cl.shared(cl.f16, (8, 32)), cl.make_rmem_tensor(cl.f16, (8, 31)))
    # (8, 32), the target (8, 31): not the same number
mine = ROWS.get_slice(cl.thread_idx.x)
one, two = cl.shared(cl.f64, (8, 16)), cl.shared(cl.f64, (8, 16))
cl.copy(ROWS, mine.partition_S(one), mine.partition_D(two))
    # error[copy-dtype]
mine, buffer = COPIES["ldmatrix A"].get_slice(cl.thread_idx.x), cl.shared(cl.f16, (32, 16))
cl.copy(COPIES["ldmatrix A"], mine.partition_S(buffer), mine.partition_D(buffer))
    # does not copy from smem to smem
COPIES["ldmatrix A"].retile(cl.make_rmem_tensor(cl.f16, (4, 2, 2)))
    # first mode has 8 values
cl.copy(cl.make_copy_atom(cl.CopyBulkTensorTileS2GOp(), cl.f32), cl.shared(cl.f32, (8, 32)), a)
    # is a tile of coordinates
a, b, c = fragments(32, 32, 32, 16)
cl.gemm(WARPS, c, a, b)
    # operands disagree in K
a, b, c = fragments(64, 32, 16)
cl.gemm(WARPS, c, a, b)
    # operands disagree in M
a, b, c = fragments(32, 64, 16)
cl.gemm(WARPS, c, a, b)
    # operands disagree in N
a, b, c = fragments(32, 32, 16)
cl.gemm(WARPS, MMAS["f64"].make_fragment_C((1, 1, 1)), a, b)
    # first mode
a, b, c = fragments(32, 32, 16)
cl.gemm(WARPS, c, b, a)
    # a fragment of A has 8 values
a, b, c = fragments(32, 32, 16)
cl.gemm(WARPS, c, cl.make_rmem_tensor(cl.bf16, a.layout), b)
    # operand A holds bf16
WARPS.get_slice(0).partition_A(cl.shared(cl.f16, (48, 32)))
    # operand A is 48 along M, no multiple of the tiled MMA's 32
tiled, a = MMAS["wgmma"], cl.shared(cl.bf16, (128, 72))
mine, b = tiled.get_slice(cl.thread_idx.x), cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (64, 64)))
padded, acc = mine.partition_A(cl.local_tile(a, (128, 64), (0, 0))), tiled.partition_shape_C((128, 64))
cl.gemm(tiled, tiled.make_fragment_C(acc), padded, mine.partition_B(b))
    # wgmma cannot read `a`
tiled = MMAS["wgmma"]
a, b = (cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (rows, 64))) for rows in (128, 64))
mine, acc = tiled.get_slice(cl.thread_idx.x), tiled.make_fragment_C(tiled.partition_shape_C((128, 64)))
cl.gemm(tiled, acc, mine.partition_A(a), mine.partition_B(b)).load()
    # error[in-flight]
"""
"""What is done with `a`, a tensor (M, N) of f32 in global memory, and behind it what is said at the last line."""


def test_no_permutation_is_none() -> None:
    assert cl.make_tiled_mma(MMA.op, (2, 1, 1), None) == cl.make_tiled_mma(MMA.op, (2, 1, 1))


def fragments(m: int, n: int, k: int, k_of_b: int | None = None) -> tuple[Any, Any, Any]:
    """Operands of a product, and an accumulator of 32 rows and columns."""
    mine, a, b = WARPS.get_slice(0), cl.shared(cl.f16, (m, k)), cl.shared(cl.f16, (n, k_of_b or k))
    c = WARPS.make_fragment_C(mine.partition_C(cl.shared(cl.f32, (32, 32))))
    return WARPS.make_fragment_A(mine.partition_A(a)), WARPS.make_fragment_B(mine.partition_B(b)), c


NAMES = {"ROWS": ROWS, "MMA": MMA, "WARPS": WARPS, "COPIES": COPIES, "MMAS": MMAS, "fragments": fragments}


@pytest.mark.parametrize(("code", "said"), told(CASES))
def test_refusals(code: str, said: str) -> None:
    error = refusal(code, Layout=Layout, **NAMES)
    assert said in str(error)
    assert last_line(error, code)
