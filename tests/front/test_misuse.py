"""Words of the library misused: each mistake is told at the user's line, in the user's terms."""

from __future__ import annotations

import sys

import pytest

from cutelite.lang.coord import CoordTensor
from tests.front.lines import built, refusal

MISTAKES = [
    ("cl.shuffle_down(n, 40)", "none is 40 away"),
    ("cl.shuffle_xor(n, -1)", "none is -1 away"),
    ("cl.createpolicy_range(a, 64, 32, 'evict_last')", "is from 1 to 32, not 64"),
    ("cl.atomic_add(n, 0, 1)", "a tensor or a pointer is needed here, not a run-time i32"),
    ("a.tile((n, 4), (0, 0))", "a tile has extents known at compile time, not a run-time i32"),
    ("cl.local_tile(a, (n, 4), (0, 0))", "`cl.dim(n)` makes an extent of a run-time number"),
    ("cl.zipped_divide(a, (4, n))", "a tile has extents known at compile time"),
    ("a.recast(cl.e2m1)", "not the packed format e2m1"),
    ("cl.shared(cl.e2m1, 4)", "lie packed in elements of `cl.u32`"),
    ("cl.shared((4, 8), f32)", "write `cl.shared(cl.f32, (64, 64))`"),
    ("cl.make_rmem_tensor((4, 8), f32)", "write `cl.make_rmem_tensor(cl.f32, (64, 64))`"),
    ("cl.shared(f32, 4, swizzle=3)", "help: it is `shared(dtype, shape, *, align=None, swizzle=None)`"),
    ("cl.coalesce(3)", "coalesce() does not take these arguments"),  # whatever wraps it
    ("cl.select(n > 3, 1.0, 2.0)", "select(): too many positional arguments"),
    ("cl.complement('a')", "layout = 'a'"),
    ("cl.wgmma.wait_group(0, x)", "those that products return"),
    ("x.view(i32)", "write `cl.bitcast"),
    ("cl.shared(f32, 4, align=24)", "a power of two, in bytes, not 24"),
    ("cl.shared(f32, N)", "make its extents Constexprs"),
    ("cl.DeviceTensorMap.create(a, o)", "`like` is a TMA tensor"),
    ("cl.StaticPersistentTileScheduler.create((n, n), raster='K')", "along 'M', 'N' or a 'hilbert' curve, not 'K'"),
    ("cl.StaticPersistentTileScheduler.create((n,))", "two or three numbers, not a tuple of 1"),
    ("cl.StaticPersistentTileScheduler.create((n, 4), swizzle=0)", "1 tile wide or more, not 0"),
    ("cl.StreamKTileScheduler.create((n, 4), steps=0)", "`steps` is 1 or more, not 0"),
    ("raise", "here nothing is"),
    ("cl.Team.create(n)", "a multiple of 32 threads, not a run-time i32"),
    ("cl.Team.create(cluster=n)", "need a cluster whose size is known at compile time"),
    ("o[0] = np.arange(4)[n]", "`cl.constant(array, dtype)` is indexed at run time"),
    ("x * np.ones(2)", "write elements, or `cl.vector"),
    ('o[0] = x * "a"', "`*` is not defined for a run-time f32 and 'a'"),
    ('o[0] = "a" + n', "`+` is not defined for 'a' and a run-time i32"),
    ("cl.cp_async_wait_group(True)", "`n` of cp.async.wait_group is a compile-time integer, not True"),
    ("cl.dim(12, 5)", "12 is not what this dim promises: a multiple of 5"),
    ("cl.dim(12, max=5)", "12 is not what this dim promises: 1 or more and 5 or less"),
    ("cl.dim(n, min=1.5)", "min is 1.5, must be a whole number"),
    ("o[0] = -a", "`-` is not defined for a run-time tensor"),
    ("print(x, sep=n)", "`sep` of print() is a text, not a run-time i32"),
    ("print(x, end=3)", "`end` of print() is a text, not 3"),
    ("import sys; print(x, file=sys.stderr)", "help: leave out `file=`"),
    ("go = True\nwhile go: n += 1", "this loop never ends: nothing that decides about it changes"),
    ("while True:\n    if n > 3: continue\n    n += 1", "this loop never ends: nothing that decides about it changes"),
    ("o[0] = abs(a)", "abs() takes a number, not a run-time tensor"),
    ("o[0] = (o + 1)[n]", "`cl.domain_offset(n, t)` begins n elements further"),
    ("o[0] = o.ptr + n", "`cl.domain_offset(n, t)` begins n elements further"),
    ("o[0] = cl.full(2, 1, i32)", "an element of a vector is `v[0]`"),
    ("x = cl.inline_ptx('mov.f32 $0, 0f00000000;', f32)", "`$0` is no place"),
    ("x = cl.math.max(x, 1.0)", "write Python's `max`"),
    ("o[0] = a", "an element of a tensor is `t[i]`"),
    ("o[n / 2] = 1", "`//` divides integers"),
    ("t = ()\nfor i in range(n): t = (*t, i)\no[0] = t[0]", "a tuple of 1"),
    ("list(cl.make_identity_tensor((4, 4)))", "cannot be iterated over"),
    ("cl.PipelineTmaAsync.create(32768, 2, 32)", "the barriers of 32768 stages need 524288 bytes"),
    ("f32(*3)", "'int' object is not iterable"),
    ("x.to(cl.e4m3) + 1.0", "e4m3 is a format to store and multiply"),
    ("cl.zeros(8, cl.e2m1)", "e2m1 is a format of several numbers in a word, not a dtype"),
    ("cl.bitcast(n, cl.i4)", "`cl.pack(vector, cl.i4)` and `cl.unpack(words, cl.i4)` convert vectors"),
    ("cl.size('x')", "size() does not take these arguments"),
    ("cl.on_compile(print)", "on_compile() is called on the host, not in a kernel"),
    ("cl.after_stage('llvm')(print)", "after_stage() is called on the host, not in a kernel"),
    ("cl.passes.register(print)", "register() is called on the host, not in a kernel"),
    ("cl.pointers([a])", "pointers() is called on the host, not in a kernel"),
    ("cl.kernel(print).compile()", "kernel() is called on the host, not in a kernel"),
    ("cl.warm([print])", "warm() is called on the host, not in a kernel"),
    ("import cutelite_rt; cutelite_rt.device(0)", "device() is called on the host, not in a kernel"),
    ("from cutelite.kernels.gemm import gemm; gemm(a, a)", "gemm() takes whole arrays, on the host, not in a kernel"),
    ("from cutelite.kernels.rows.softmax import softmax; softmax(a)", "softmax() takes whole arrays, on the host"),
    ("it = iter((1, 2))\nif n > 0: next(it)", "next() would change a compile-time iterator under a run-time condition"),
    ("cl.profile.mark(x)", "a name known at compile time"),
    ("cl.profile.mark('at', x)", "an event's value is an integer, not a run-time f32"),
    ("cl.make_rmem_tensor(i32, 200_000)[n]", "a thread has 524288 bytes of local memory, and this tensor 800000"),
    ("cl.bf16_of(cl.vector(cl.u32(5)), cl.u4)", "bf16_of converts i4, e2m1, i8, e4m3, not the packed format u4"),
    ("cl.NamedBarrier(17, 32).sync()", "must be 0 to 15"),
    (
        "cl.cooperative_clear(cl.shared(f32, cl.make_layout((4, 4), stride=(8, 1))))",
        "is not a whole number of 16 bytes",
    ),
    ("cl.PipelineTmaAsync.create(2, 1024, 1)", "whole warps of 32, and here are 1"),
    ("cl.PipelineTmaAsync.create(2, 1024, 32.0)", "known at compile time, and here are 32.0"),
    ("cl.PipelineTmaAsync.create(2, 1024, 128, reads='wgmmma')", "'wgmma', 'both', not 'wgmmma'"),
    ("cl.PipelineTmaAsync.create(2, 0, 32)", "`tx_bytes` are the bytes that fill a buffer, 1 or more, not 0"),
    ("cl.PipelineTmaAsync.create(2, 1024, 32, peers=2)", "`peers` is a tuple of ranks of blocks, not 2"),
    ("cl.PipelineTmaStore.create(0)", "a pipeline has 1 stage or more"),
    ("cl.PipelineTmaAsync.create(2, 1024, 32).consumer_wait(3)", "PipelineTmaAsync.consumer_wait() does not"),
    ("cl.multicast_mask(5)", "multicast_mask() does not take these arguments"),
    ("cl.TileQueue()", "`TileQueue.create"),
    (
        "cl.StaticPersistentTileScheduler.create((4, x)).is_valid()",
        "are counted by integers, not by a run-time f32",
    ),
    ("cl.aligned_down(a, 2)", "elements of 4 bytes may begin at a multiple of 4 bytes or more, not 2"),
    ("cl.atomic_exch(a.tile((1, 4), (0, 0)), None, cl.full(4, 1.0, f32))", "exchange 2 i64 or u64"),
    ("x.to(cl.e2m1)", "`cl.pack(vector, cl.e2m1)`"),
    ("a.load((0, 0), prefetch=100)", "100 is none of 0, 64, 128, 256 bytes"),
    ("cl.shared(f32, 32).load(0, prefetch=64)", "smem does not lie"),
    ("((1,), (1, 2))[n]", "chooses among numbers, or among tensors of one type"),
    ("('a', 'b')[n]", "chooses among numbers, or among tensors of one type"),
    ("cl.Team.create(48)", "a team has 1, 2, 4, 8, 16 or a multiple of 32 threads, not 48"),
    ("cl.Team.create(96)", "do not divide a block of 128"),
    ("cl.Team.create(1, cluster=2)", "cannot span 2 blocks"),
    ("cl.block_reduce(x, 'mean')", "max, and, or, xor, sum, prod, or by a function, not 'mean'"),
    ("cl.warp_scan(x, 'mean')", "values are combined by one of add, mul,"),
    ("cl.block_reduce(x, None)", "or by a function, not None"),
    ("cl.block_scan(x, 'add')", "the neutral value comes before the operation"),
    ("cl.warp_reduce(x, width=12)", "a power of two up to 32, not 12"),
    ("cl.block_reduce((x, 2))", "is known at compile time"),
    ("cl.block_reduce('text')", "numbers, vectors, and tuples"),
    ("cl.dim(x)", "a dim is made of an i32 or an i64, not of"),
    ("cl.dim(n, 0)", "must be 1 or more"),
    ("cl.dim(True)", "a dim is made of"),
    ("cl.make_layout((i32(x), 4))", "for a layout, `cl.dim(x)`"),
]


@pytest.mark.parametrize(("line", "words"), MISTAKES)
def test_it_is_told_at_the_line(line: str, words: str) -> None:
    assert words in str(refusal(line))


NUMPY = [
    "cl.shared(f32, (np.int64(4), 2), align=np.int32(32))[np.int64(1), 0] = x",
    "for i in cl.static_range(np.int64(3)): o[i] = i",
    "for i in range(np.int8(0), n, np.uint8(3)): o[i] = i",
    "for i in cl.range(n, unroll=np.int64(4)): o[i] = i",
    "o[np.int64(1)] = a.tile((np.int64(4), 4), (n, np.int64(0))).load()[np.int64(2), 1].to(i32)",
    "cl.barrier_sync(np.int64(1), np.int64(64))",
    "cl.wgmma.zeros_accumulator(np.int64(64))",
    "o[0] = (n << np.int64(2)) + n ** np.int64(2) - np.int64(3) // n",
]


@pytest.mark.parametrize("line", NUMPY)
def test_numbers_of_numpy_are_literals(line: str) -> None:
    built(line)


OPERANDS = [
    "o[0] = cl.shuffle(n, i, members=i) + cl.shuffle_up(n, i)",
    "cl.syncwarp(i); cl.elect_sync(i); cl.nanosleep(i); cl.barrier_sync(i, 32)",
    "o[0] = cl.bfe(n, i, i) + cl.bfi(n, n, i, 3) + cl.funnel_left(n, n, i)",
    "cl.mapa(cl.shared(f32, 4), i)",
    "bar = cl.shared(cl.mbarrier, 1)[0]; bar.init(i); bar.arrive_expect_tx(i); bar.wait(i); bar.remote(i).arrive(i)",
    "cl.cp_async(cl.shared(f32, 4, align=16), a, 4, src_bytes=i)",
]


@pytest.mark.parametrize("line", OPERANDS)
def test_integers_of_any_type_are_operands(line: str) -> None:
    for t in ("i64", "u64", "u32", "i16", "u8"):
        built(f"i = n.to(cl.{t}); {line}")


def test_what_has_elements_says_how_it_is_iterated_over() -> None:
    """Python iterates over a class with `__getitem__` alone until that raises IndexError, which ours do not."""
    modules = [module for name, module in sys.modules.items() if name.startswith(("cutelite.lang.", "cutelite.lib."))]
    classes = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    ours = {each for each in classes if each.__module__.startswith(("cutelite.lang.", "cutelite.lib."))}
    missing = {each for each in ours if hasattr(each, "__getitem__") and not hasattr(each, "__iter__")}
    assert CoordTensor in ours and not missing
