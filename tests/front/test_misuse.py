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
