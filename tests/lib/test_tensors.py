"""Gathering, scattering, asking, printing; tuples indexed at run time; division by a number that stays."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Constexpr, SimError, Tensor, bf16, f32, i32, i64, u32, u64
from cutelite.ir.contract import numpy_dtype
from tests.places import Place

N, M = cl.dims("N M")
RANDOM = np.random.default_rng(0)


@cl.kernel(block=32)
def gathers(x: Tensor[f32, (N,)], y: Tensor[f32, (M,)], flags: Tensor[i32, (4,)]) -> None:
    i = cl.thread_idx.x
    index = cl.vector(i, i + 1, i + 2)
    found = cl.gather(x, index, index < N, -1)
    y[i] = found.reduce("sum")
    if i == 0:
        flags[0] = cl.any_(found > 1).to(i32)
        flags[1] = cl.any_(found > 9).to(i32)
        flags[2] = cl.all_(found > -1).to(i32)
        flags[3] = cl.all_(cl.gather(x, index)).to(i32)
    cl.scatter(x, index, cl.ones_like(found) * 50, index == 3)


def test_gather_scatter_any_and_all() -> None:
    x, y, flags = np.arange(32, dtype=np.float32), np.zeros(32, np.float32), np.zeros(4, np.int32)
    gathers[1](x, y, flags)
    padded = np.array([*range(32), -1, -1], np.float32)
    assert y.tolist() == [padded[i : i + 3].sum() for i in range(32)]
    assert flags.tolist() == [1, 0, 1, 0]
    assert x.tolist() == [0, 1, 2, 50, *range(4, 32)]


@cl.kernel(block=1)
def of_no_modes(x: Tensor[f32, ()], y: Tensor[f32, (4,)]) -> None:
    i, shared, held = cl.thread_idx.x, cl.shared(f32, ()), cl.make_rmem_tensor(f32, ())
    held[0] = x[0] + x[i]
    held[()] += 1.0
    shared[i] = held[i]
    cl.atomic_add(x, None, 1.0)
    cl.atomic_add(x, i, 1.0)
    y[0], y[1], y[2] = shared[0], cl.load_acquire(x), x[...].load()[0]
    cl.print_tensor(x)


def test_a_tensor_of_no_modes_has_one_element(place: Place) -> None:
    x, y = np.full((), 2, np.float32), np.zeros(4, np.float32)
    place(of_no_modes[1], x, y)
    assert (x.item(), y.tolist()) == (4, [5, 4, 4, 0])
    assert of_no_modes.compile((), (4,)).cubin


@cl.kernel(block=1)
def prints(x: Tensor[bf16, (M, N)]) -> None:
    cl.print_tensor(x, "x")
    cl.print_tensor(cl.zeros((2,), i32))
    cl.print_tensor(cl.vector(1, 2, i32(3), 4).reshape((2, 2)), "v")


def test_a_tensor_is_printed_row_by_row(capsys: pytest.CaptureFixture[str]) -> None:
    import ml_dtypes

    prints[1](np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16))
    lines = ["x: bf16 gmem (M,N):(N,1)", "  0  1  2", "  3  4  5", "tensor: i32 vector of 2", "  0  0"]
    lines += ["v: i32 vector of (2, 2)", "  1  3", "  2  4"]
    assert capsys.readouterr().out.splitlines() == lines
    assert "vprintf" in prints.compile().ptx


@cl.kernel(block=4)
def of_constants(y: Tensor[u64, (4,)], z: Tensor[i64, (2,)]) -> None:
    y[cl.thread_idx.x] = cl.constant([6, 2**64 - 1, 2**53 + 1, 0], u64)[cl.thread_idx.x]
    if cl.thread_idx.x < 2:
        z[cl.thread_idx.x] = cl.constant([2**60 + 1, 1.0], i64)[cl.thread_idx.x]


def test_constants_are_exact_where_numpy_finds_no_type_for_all_of_them() -> None:
    y, z = np.zeros(4, np.uint64), np.zeros(2, np.int64)
    of_constants[1](y, z)
    assert (y.tolist(), z.tolist()) == ([6, 2**64 - 1, 2**53 + 1, 0], [2**60 + 1, 1])


MISUSED = [
    ("cl.gather(x, i)", "`index` of gather is a vector, not a run-time i32"),
    ("cl.gather(x, cl.vector(i, i), mask=i > 0)", "`mask` of gather is a vector"),
    ("cl.scatter(x, cl.vector(i, i), cl.zeros(3, f32))", "`index` has 2 elements, `values` has 3 elements"),
    ("cl.any_(x)", "`x` of any_ is a vector"),
    ("cl.print_tensor(i)", "print_tensor takes a tensor or a vector, not a run-time i32"),
    ("cl.constant([1.5], i32)", "not all of these numbers are whole numbers that fit i32"),
    ("cl.constant([300], cl.i8)", "not all of these numbers are whole numbers that fit i8"),
    ("cl.constant([], f32)", "at least one element"),
    ("cl.constant(5, f32)", "5 is no array"),
    ("cl.constant([1, 2], cl.boolean)", "not all of these numbers are whole numbers that fit bool"),
    ("cl.constant([1.5, '2'], f32)", "numbers known at compile time: one is '1.5'"),
    ("cl.constant([None, 1], f32)", "numbers known at compile time: one is None"),
    ("cl.constant([x[0], 1.0], f32)", "numbers known at compile time: one is a run-time f32"),
    ("cl.constant([2**60 + 1, 0.5], cl.i64)", "not all of these numbers are whole numbers that fit i64"),
    ("cl.constant([1e6], cl.f16)", "not all of these numbers fit f16"),
    ("cl.constant(f32, [1])", "numbers of a dtype, not a list"),
    ("cl.constant([1], cl.mbarrier)", "numbers of a dtype, not the dtype mbarrier"),
    ("cl.e2m1(x[0])", "e2m1 is a format of several numbers in a word"),
    ("()[i]", "a tuple is indexed, and has no items"),
    ("cl.shared(f32, 2).store(x.tile(4, 0).load())", "2 elements are needed, and these are 4"),
    ("cl.multimem_st(x, i)", "f32 is needed here, not i32"),
    ("cl.multimem_st(x.at(1), 1)", "the type of 1 is not known"),
    ("cl.multimem_st(x.at(0), cl.zeros(2, u64))", "multimem.st takes no vec<u64,2>"),
    ("cl.cp_async_bulk(x, cl.shared(f32, 4), 16, mask=1 << 16)", "a byte mask has a bit for each of 16 bytes"),
    ("cl.cp_async_bulk(cl.shared(f32, 4), x, 16, multicast=2)", "the mask 0x2 names a block that the cluster lacks"),
    ("cl.mma_sync(*HALVES, combine='xor')", "`combine` is for bits"),
    ("cl.mma_sync(*HALVES, selector=1)", "`selector` is for a sparse A"),
    ("cl.mma_sync(*HALVES, packed=cl.i4, metadata=i)", "no mma.sync of packed numbers with a sparse A"),
    ("cl.FastDivmod(x[0])", "a whole number, not a run-time f32"),
    ("x[0] // cl.FastDivmod(i)", "FastDivmod divides integers, not a run-time f32"),
    ("7.5 // cl.FastDivmod(i)", "FastDivmod divides integers, not 7.5"),
    ("cl.multimem_ld_reduce(x.at(0))", "the dtype at a run-time ptr<gmem,16> is not known"),
    ("cl.multimem_ld_reduce(x, 'add')", "a dtype is needed here, not 'add'"),
    ("-7 % cl.FastDivmod(i)", "a dividend of FastDivmod is from 0 to 2**31 - 1, not -7"),
    ("cl.full(4, 3, cl.i32) // cl.FastDivmod(i)", "FastDivmod divides integers, not a run-time vec<i32,4>"),
    ("cl.block_scan(i, lambda p, q: p + q)", "the neutral value comes before the operation"),
    ("np.exp(x)", "functions of `cl.math`, and `cl.where`, take run-time numbers"),
    ("np.unwrap(x[0])", "a kernel has no `numpy.unwrap`"),
    ("(lambda p, /: p)(p=i)", "takes `p` by position only"),
]


@pytest.mark.parametrize(("call", "words"), MISUSED)
def test_misuse_is_told_in_words_of_the_user(call: str, words: str) -> None:
    halves = "(cl.zeros(8, cl.f16), cl.zeros(4, cl.f16), cl.zeros(4, f32))"
    uses: Any = eval(f"lambda x, i: {call.replace('HALVES', halves)}", globals())

    @cl.kernel(block=32)
    def kernel(x: Tensor[f32, (32,)]) -> None:
        uses(x, cl.thread_idx.x)

    with pytest.raises(CompileError) as caught:
        kernel.compile(arch="sm_90a")
    assert words in str(caught.value)


@cl.kernel(block=32)
def looks_up(x: Tensor[f32, (32,)]) -> None:
    i = cl.thread_idx.x
    x[i] = cl.constant(TABLE, f32)[i & 1, i // 16] + cl.constant(np.arange(8), i32)[i % 8].to(f32)


TABLE = [[1.5, 2.5], [3.5, 4.5]]


def test_arrays_in_constant_memory() -> None:
    x = np.zeros(32, np.float32)
    looks_up[1](x)
    assert x.tolist() == [TABLE[i & 1][i // 16] + i % 8 for i in range(32)]
    compiled = looks_up.compile()
    assert compiled.ptx.count("ld.const") == 2
    assert compiled.constant_banks[3] == 48

    @cl.kernel(block=1)
    def writes(x: Tensor[f32, (1,)]) -> None:
        table = cl.constant(TABLE, f32)
        table[0, 0] = x[0]

    with pytest.raises(CompileError, match="constant memory cannot be written to"):
        writes.compile()

    @cl.kernel(block=1)
    def no_array(x: Tensor[f32, (1,)]) -> None:
        cl.constant(("a", "b"), f32)

    with pytest.raises(CompileError, match="a constant array is made of numbers known at compile time"):
        no_array.compile()

    @cl.kernel(block=1)
    def many(x: Tensor[f32, (1,)], each: Constexpr[int]) -> None:
        tables = [cl.constant(np.full(each, k), f32) for k in cl.static_range(3)]
        x[0] = tables[0][0] + tables[1][0] + tables[2][0]

    many.compile(each=5000)
    with pytest.raises(CompileError, match="65536 bytes of constant memory, and its arrays need 72000 up to here"):
        many.compile(each=6000)


class Pipe(cl.SharedStorage):
    full: cl.Smem[cl.mbarrier, (2,)]
    data: cl.Smem[f32, (32,)]


class Tile(cl.SharedStorage):
    tile: cl.Smem[bf16, cl.make_smem_layout(bf16, (64, 64))]
    rest: cl.Smem[f32, (3,)]


class Sums(cl.SharedStorage):
    sums: cl.Smem[f32, (64,)]


class Storage(cl.SharedStorage):
    pipe: Pipe
    both: cl.SmemUnion[Tile, Sums]
    last: cl.Smem[f32, (4,)]


@cl.kernel(block=32)
def shares(x: Tensor[f32, (32,)], synchronised: cl.Constexpr[bool]) -> None:
    storage, i = Storage.allocate(), cl.thread_idx.x
    storage.pipe.data[i] = x[i]
    storage.both.tile[0, i] = x[i].to(bf16)
    cl.syncthreads()
    x[i] = storage.pipe.data[31 - i] + storage.both.tile[0, i].to(f32)
    if synchronised:
        cl.syncthreads()
    storage.both.sums[i] = 1.0
    x[i] += storage.both.sums[i]


def test_shared_storage_nests_and_members_of_a_union_share_their_bytes() -> None:
    x = np.arange(32, dtype=np.float32)
    shares[1](x, True)
    assert x.tolist() == [32] * 32
    assert shares.compile(synchronised=True).shared_memory == 8192 + 12 + 4 + 16 + 128 + 16
    assert shares.check(1, None, x, True)
    assert "of `storage.both` in smem" in str(shares.check(1, None, x, False))
    assert "%storage.pipe.data = smem.alloc" in shares.compile(synchronised=True).ir


class Counted(cl.SharedStorage):
    first: cl.Smem[f32, (1,)]
    data: cl.Smem[f32, (4,), cl.align(256)]
    FACTOR: ClassVar[int] = 2
    LAST = 3
    more: ClassVar[Any] = None

    @staticmethod
    def by(factor: Any, x: Any) -> Any:
        return factor * x

    def doubled(self, i: int) -> Any:
        return self.by(self.FACTOR, self.data[i])


class Derived(Counted):
    more: cl.Smem[f32, (4,)]  # type: ignore[misc]
    LAST = 2

    def doubled(self, i: int) -> Any:
        return super().doubled(i)


class Inner(cl.SharedStorage):
    pair: Sums
    both: cl.SmemUnion[Sums, Tile]


class Outer(cl.SharedStorage):
    first: cl.Smem[f32, (3,)]
    both: cl.SmemUnion[Inner, Counted]


@cl.kernel(block=1)
def nests(x: Tensor[f32, (4,)]) -> None:
    storage = Outer.allocate()
    for i in range(64):
        storage.both.pair.sums[i] = x[0] + i
        storage.both.both.sums[i] = x[0] - i
    x[1], x[2] = storage.both.pair.sums[63], storage.both.first[0]  # which are `pair.sums[0]`
    x[3] = storage.both.both.tile[0, 3].to(f32)


def test_unions_nest() -> None:
    x = np.full(4, 128, np.float32)
    nests[1](x)
    assert x.tolist() == [128, 191, 128, 127]  # `tile[0, 3]` is the upper half of `both.sums[1]`
    assert nests.compile().shared_memory == 1024 + 8192 + 12 + 4 + 12


@cl.kernel(block=1)
def doubles(x: Tensor[f32, (1,)]) -> None:
    storage = Derived.allocate()
    storage.data[storage.LAST] = x[0]
    if isinstance(storage, Counted) and storage.more is not None:
        x[0] = storage.doubled(2)


def test_storage_is_an_instance_of_its_class() -> None:
    x = np.full(1, 4, np.float32)
    doubles[1](x)
    assert x[0] == 8 and "tensor<f32,smem,(4):(1),256>" in str(doubles.compile().ir)


class Nothing(cl.SharedStorage): ...


class Uneven(cl.SharedStorage):
    odd: cl.Smem[f32, (3,), 3]


def test_storage_that_cannot_be_shared() -> None:
    with pytest.raises(CompileError, match="SmemUnion takes classes of SharedStorage, not 3"):
        cl.SmemUnion[3]
    with pytest.raises(CompileError, match="SmemUnion takes classes of SharedStorage, one at least"):
        cl.SmemUnion[()]
    with pytest.raises(CompileError, match="SmemUnion is no base of classes, as Both has it"):
        type("Both", (cl.SmemUnion,), {})  # type: ignore[arg-type]

    class Barriers(cl.SharedStorage):
        both: cl.SmemUnion[Pipe, Tile]

    @cl.kernel(block=1)
    def kernel(x: Tensor[f32, (1,)]) -> None:
        Barriers.allocate()

    with pytest.raises(CompileError, match="`full` of `Pipe` is an mbarrier, which shares its memory with nothing"):
        kernel.compile()

    class Unions(cl.SharedStorage):
        nothing: cl.SmemUnion[Nothing, Nothing]
        odd: cl.SmemUnion[Sums, Uneven]

    @cl.kernel(block=1)
    def unites(x: Tensor[f32, (1,)]) -> None:
        Unions.allocate()

    with pytest.raises(CompileError, match="an alignment is a power of two, in bytes, not 3"):
        unites.compile()


class Pair(NamedTuple):
    a: int
    b: float


@cl.kernel(block=8)
def chooses(x: Tensor[i32, (8,)], y: Tensor[f32, (8,)]) -> None:
    i = cl.thread_idx.x
    pair = [Pair(1, 2.5), Pair(4, 0.5), Pair(1, 8.0)][i % 3]
    y[i] = pair.a * pair.b + (1.0, y[i], 3)[i % 3]
    both: Any = (cl.shared(i32, (8,)), cl.shared(i32, (8,)))
    both[i & 1][i] = i
    cl.syncthreads()
    x[i] = both[i & 1][i] * 10 + (3, 5, 9)[i % 3] + (x[0],)[i & 0]


AHEAD = cl.make_copy_atom(cl.CopyUniversalOp(bits=128, prefetch=256), f32)


@cl.kernel(block=32)
def fetches(x: Tensor[f32, (256,)], y: Tensor[f32, (256,)]) -> None:
    i = cl.thread_idx.x
    y[i * 4] = x.load(i * 4, prefetch=128) + x.load(i * 4 + 1, prefetch=128)
    part = cl.make_rmem_tensor(f32, (4,))
    cl.copy(AHEAD, x.tile(4, i + 32), part)
    cl.copy(part, y.tile(4, i + 32))


@pytest.mark.usefixtures("everywhere")
def test_loads_may_have_l2_fetch_more() -> None:
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    fetches[1](x, y)
    assert (y[:128:4] == x[:128:4] + x[1:128:4]).all() and (y[128:] == x[128:]).all()
    ptx = fetches.compile().ptx
    assert "ld.global.L2::128B.v2.b32" in ptx and "ld.global.L2::256B.v4.b32" in ptx  # neighbours are joined with it


def test_storage_is_allocated() -> None:
    @cl.kernel(block=32)
    def made(x: Tensor[f32, (32,)]) -> None:
        x[0] = Tile().tile[0, 0]

    with pytest.raises(CompileError, match=r"base of classes\n(.|\n)*`class Storage\(cl.SharedStorage\):`"):
        cl.SharedStorage(object)
    with pytest.raises(CompileError, match=r"`Tile\(\)` is no shared memory"):
        made.compile()


def test_a_run_time_number_chooses_in_a_tuple() -> None:
    x, y = np.zeros(8, np.int32), np.full(8, 7, np.float32)
    chooses[1](x, y)
    assert x.tolist() == [10 * i + (3, 5, 9)[i % 3] for i in range(8)]
    assert y.tolist() == [(2.5 + 1, 2 + 7, 8 + 3)[i % 3] for i in range(8)]


@cl.kernel(block=32)
def divides(x: Tensor[i32, (N,)], q: Tensor[i32, (N, 4)], by: cl.FastDivmod, n: i32) -> None:
    i = cl.block_idx.x * 32 + cl.thread_idx.x
    if i < N:
        q[i, 0], q[i, 1] = divmod(x[i], by)
        known = cl.FastDivmod(n)
        q[i, 2], q[i, 3] = x[i] // known, x[i] % known


@pytest.mark.parametrize("n", [1, 2, 3, 7, 77, 641, 65536, 2**30, 2**30 + 1, 2**31 - 1])
def test_fast_division(n: int) -> None:
    edges = [0, 1, n - 1, n, min(n + 1, 2**31 - 1), 2**31 - 1, 2**31 - 2, 2**31 // n * n - 1]
    x = np.array([*edges, *RANDOM.integers(0, 2**31, 50)], np.int32)
    q = np.zeros((len(x), 4), np.int32)
    divides[2](x, q, cl.FastDivmod(n), n)
    assert (q[:, 0] == x // n).all() and (q[:, 1] == x % n).all()
    assert (q[:, 2:] == q[:, :2]).all()


def test_fast_division_of_what_is_known_beforehand() -> None:
    @cl.kernel(block=1)
    def kernel(q: Tensor[i32, (N,)], by: cl.FastDivmod, n: i32) -> None:
        known = cl.FastDivmod(n)
        q[0], q[1], q[2], q[3] = 100 // by, np.int64(100) // known, N % known, cl.u8(100) % by

    q = np.zeros(4, np.int32)
    kernel[1](q, cl.FastDivmod(7), 3)
    assert q.tolist() == [14, 33, 1, 2] and divmod(100, cl.FastDivmod(7)) == (14, 2)


def test_a_run_time_index_outside_of_a_tuple_is_reported() -> None:
    @cl.kernel(block=4)
    def kernel(x: Tensor[f32, (N,)], by: cl.Constexpr) -> None:  # type: ignore[type-arg]
        x[cl.thread_idx.x] = (1.0, 2.0, 3.0, 4.0)[cl.thread_idx.x + by]

    x = np.zeros(4, np.float32)
    kernel[1](x, 0)
    assert x.tolist() == [1, 2, 3, 4]
    for by in (1, -1):
        with pytest.raises(SimError, match="a run-time index is none of 0 to 3"):
            kernel[1](x, by)


def test_divisors_that_there_are_not() -> None:
    @cl.kernel(block=32)
    def kernel(x: Tensor[i32, (N,)], by: cl.Constexpr) -> None:  # type: ignore[type-arg]
        x[0] = x[1] // cl.FastDivmod(by)

    with pytest.raises(ValueError, match="from 1 to"):
        cl.FastDivmod.of(0)
    assert cl.FastDivmod(np.int64(7)) == cl.FastDivmod(7)
    x, y = np.array([-1], np.int32), np.zeros((1, 4), np.int32)
    with pytest.raises(SimError, match=r"a dividend of FastDivmod is from 0 to 2\*\*31 - 1"):
        divides[1](x, y, cl.FastDivmod(7), 7)
    with pytest.raises(SimError, match="a divisor of FastDivmod is at least 1"):
        divides[1](-x, y, cl.FastDivmod(7), 0)
    with pytest.raises(TypeError, match="takes a divisor, a whole number, not 'a'"):
        cl.FastDivmod("a")
    with pytest.raises(CompileError, match=r"takes a divisor, a whole number, not 2.5"):
        kernel.compile(by=2.5)
    kernel.compile(by=7)


@cl.kernel(block=32)
def places(x: Tensor[u32, (32, 3)], y: Tensor[u64, (1,)]) -> None:
    i = cl.thread_idx.x
    x[i, 0] = cl.lanemask("lt")
    x[i, 1] = cl.lanemask("ge")
    x[i, 2] = (cl.blocks_in_cluster() * 100 + cl.cluster_count().x * 10 + (cl.smid() < cl.nsmid()).to(i32)).to(u32)
    y[0] = cl.gridid()


def test_places_of_lanes_and_clusters() -> None:
    x = np.zeros((32, 3), np.uint32)
    places[2](x, np.zeros(1, np.uint64))
    assert x[:, 0].tolist() == [2**i - 1 for i in range(32)]
    assert x[:, 1].tolist() == [2**32 - 2**i for i in range(32)]
    assert x[:, 2].tolist() == [121] * 32


@cl.kernel(block=32)
def clamps(x: Tensor[f32, (32,)], y: Tensor[f32, (32, 3)]) -> None:
    v = x[cl.thread_idx.x]
    y[cl.thread_idx.x, 0] = cl.math.clamp(v, -1.0, 2.0) + cl.math.clamp(9, 0, 1)
    y[cl.thread_idx.x, 1] = cl.math.isnormal(v).to(f32) + 2 * cl.math.isnormal(1e-320)
    y[cl.thread_idx.x, 2] = cl.math.roundeven(v)


def test_clamp_isnormal_and_roundeven() -> None:
    x = np.zeros(32, np.float32)
    x[:9] = [np.nan, np.inf, -np.inf, 1e-40, 2**-126, 1.5, 2.5, -0.5, 1.0]
    y = np.zeros((32, 3), np.float32)
    clamps[1](x, y)
    assert y[:9, 0].tolist() == [0, 3, 0, 1 + np.float32(1e-40), 1 + 2**-126, 2.5, 3, 0.5, 2]
    assert y[:9, 1].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert y[5:9, 2].tolist() == [2, 2, -0.0, 1]


@cl.kernel(block=32)
def reduces(x: Tensor[f32, (32, 4)], y: Tensor[i32, (32,)]) -> None:
    i = cl.thread_idx.x
    found = cl.multimem_ld_reduce(x.at(i, 0), f32, 4)
    cl.multimem_st(x.at(i, 0), found * 2)
    cl.multimem_red(x.at(i, 2), cl.vector(1.0, 2.0, dtype=f32))
    cl.multimem_red(y.at(0), i, "max")
    cl.multimem_red(y.at(1), i32(1))


def test_multimem_of_one_gpu_is_its_memory() -> None:
    x = np.arange(128, dtype=np.float32).reshape(32, 4)
    y = np.zeros(32, np.int32)
    expected = x * 2 + [0, 0, 1, 2]
    reduces[1](x, y)
    assert (x == expected).all() and y[:2].tolist() == [31, 32]
    ptx = reduces.compile().ptx
    assert "multimem.ld_reduce.relaxed.sys.global.add.v4.f32" in ptx
    assert "multimem.red.relaxed.sys.global.max.s32" in ptx


def test_multimem_takes_the_dtype_of_a_tensor() -> None:
    @cl.kernel(block=1)
    def kernel(x: Tensor[f32, (32, 4)], y: Tensor[i32, (32,)]) -> None:
        x[0, 0] = cl.multimem_ld_reduce(x.tile((1, 4), (3, 0)), n=4).reduce("sum")
        y[0] = cl.multimem_ld_reduce(y.tile(1, 5), operation="max")

    x, y = np.arange(128, dtype=np.float32).reshape(32, 4), np.arange(32, dtype=np.int32)
    kernel[1](x, y)
    assert x[0, 0] == x[3].sum() and y[0] == 5


@pytest.mark.parametrize("dtype", [cl.e4m3, cl.e5m2])
def test_small_floats_of_several_gpus_come_in_registers_of_four(dtype: Any) -> None:
    @cl.kernel(block=32, arch="sm_100a")
    def kernel(x: Tensor[dtype, (N,)], y: Tensor[dtype, (N,)]) -> None:
        if cl.thread_idx.x == 0:
            cl.multimem_st(y.tile(16, 0), cl.multimem_ld_reduce(x.tile(16, 0), n=16))
            cl.multimem_st(y.tile(4, 4), cl.multimem_ld_reduce(x.tile(4, 4), n=4, operation="max"))

    x = np.arange(20).astype(numpy_dtype(dtype))
    y = np.zeros_like(x)
    kernel[1](x, y)
    assert (x == y).all()
    assert f"add.acc::f16.v4.{dtype}x4" in kernel.compile().ptx
    with pytest.raises(CompileError, match=r"needs a GPU with multimem\.fp8, which sm_90a lacks"):
        kernel.compile(arch="sm_90a")
