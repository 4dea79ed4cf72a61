"""Bugs that random kernels have found, each with the smallest kernel that shows it."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, passes, sim
from cutelite.dispatch import Launch
from cutelite.dispatch.simulating import simulation
from cutelite.passes import PIPELINE, Context
from cutelite.target import Target
from tests.places import Place

N = cl.dims("N")
U32: Any = cl.u32


@cl.kernel
def odd_locals(x: Tensor[cl.u8, (N,)], out: Tensor[cl.i32, (N,)]) -> None:
    few = cl.make_rmem_tensor(cl.u8, 3)
    wide = cl.make_rmem_tensor(cl.i32, 2)
    i = cl.thread_idx.x
    few[0], few[1], few[2], wide[0], wide[1] = x[i], x[i], x[i], 7, 9
    out[i] = wide[few[x[i] % 3].to(cl.i32) & 1]


def test_local_memory_of_every_thread_is_aligned(place: Place) -> None:
    x, out = np.arange(64, dtype=np.uint8), np.zeros(64, np.int32)
    place(odd_locals[1, 64], x, out)
    np.testing.assert_array_equal(out, np.where(x & 1, 9, 7))


@cl.kernel
def sums(x: Tensor[cl.i32, (N,)], total: Tensor[cl.i32, (1,)]) -> None:
    cl.atomic_add(total, 0, x[cl.thread_idx.x])


def test_atomic_sums_wrap(place: Place) -> None:
    x, total = np.full(64, 2**30 + 5, np.int32), np.zeros(1, np.int32)
    place(sums[1, 64], x, total)
    assert total[0] == 64 * 5


@cl.kernel
def in_shared(
    x: Tensor[cl.f32, (N,)], y: Tensor[cl.u64, (N,)], to: Tensor[cl.i32, (N,)], a: Tensor[cl.f32, (8,)],
    b: Tensor[cl.u64, (8,)], c: Tensor[cl.u64, (8,)], n: cl.i32,
) -> None:  # fmt: skip
    i = cl.thread_idx.x
    floats, words, least = cl.shared(cl.f32, 8), cl.shared(cl.u64, 8), cl.shared(cl.u64, 8)
    if i < 8:
        floats[i], words[i], least[i] = cl.f32(0), cl.u64(0), cl.u64(2**64 - 1)
    cl.syncthreads()
    for _ in range(n):
        cl.atomic_add(floats, to[i], x[i])
    for _ in range(n):
        cl.atomic_add(words, to[i], y[i])
    for k in range(n):
        cl.atomic_min(least, to[i], y[i] + cl.u64(n - k))
    cl.syncthreads()
    if i < 8:
        a[i], b[i], c[i] = floats[i], words[i], least[i]


def test_atomic_updates_of_shared_memory_in_a_loop(place: Place) -> None:
    """ptxas makes loops of them; with many threads at one place, these go round more than once."""
    x, y = np.arange(256, dtype=np.float32), np.arange(256, dtype=np.uint64)
    to = (np.arange(256) // 4 % 3).astype(np.int32)
    a, b, c = np.zeros(8, np.float32), np.zeros(8, np.uint64), np.zeros(8, np.uint64)
    place(in_shared[1, 256], x, y, to, a, b, c, 5)
    sums = np.bincount(to, x, 8) * 5
    np.testing.assert_array_equal(a, sums)
    np.testing.assert_array_equal(b, sums)
    assert c.tolist() == [1, 5, 9, *[2**64 - 1] * 5]


@cl.kernel
def extremes(
    a: Tensor[cl.f32, (N,)], b: Tensor[cl.f32, (N,)], low: Tensor[cl.f32, (N,)], high: Tensor[cl.f32, (N,)]
) -> None:
    i = cl.thread_idx.x
    low[i], high[i] = min(a[i], b[i]), max(a[i], b[i])


def test_minus_zero_is_below_zero(place: Place) -> None:
    a, b = np.array([0, -0.0, 0, -0.0, 1, np.nan], np.float32), np.array([-0.0, 0, 0, -0.0, np.nan, -1], np.float32)
    low, high = np.empty_like(a), np.empty_like(a)
    place(extremes[1, 6], a, b, low, high)
    assert np.signbit(low).tolist() == [True, True, False, True, False, True]
    assert np.signbit(high).tolist() == [False, False, False, True, False, True]


@cl.kernel
def fused(
    a: Tensor[cl.bf16, (N,)], b: Tensor[cl.bf16, (N,)], c: Tensor[cl.bf16, (N,)], out: Tensor[cl.bf16, (N,)]
) -> None:
    i = cl.thread_idx.x
    out[i] = cl.math.fma(a[i], b[i], c[i])


def test_bf16_fma_rounds_once(place: Place) -> None:
    a, b, c, out = (np.array([x], ml_dtypes.bfloat16) for x in (-6, 1936, 1.7523766e-05, 0))
    place(fused[1, 1], a, b, c, out)  # just above the middle between -11584 and -11648, by less than an f32 can tell
    assert float(out[0]) == -11584


@cl.kernel
def masked(x: Tensor[cl.i32, (N,)], out: Tensor[cl.i32, (N,)]) -> None:
    i = cl.thread_idx.x
    for _ in range(2):
        out[i] = (((x[i] * 3) * 5) & 63) & 15


def test_passes_run_again_on_the_same_function() -> None:
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    checked = masked._checked(Launch(1, 32), (x, out), {})
    assert checked is not None
    function, values, dims = simulation(masked, checked.spec, checked.bound)
    once = [str(passes.run(PIPELINE, function, Context(Target.parse("sm_90a")))) for _ in range(2)]
    assert once[0] == once[1]
    sim.run(passes.run(PIPELINE, function, Context(Target.parse("sm_90a"))), 1, values, dims=dims)
    np.testing.assert_array_equal(out, x * 15 & 15)


@cl.kernel
def halves(x: Tensor[cl.i16, (N,)], size: Tensor[cl.i16, (N,)], negated: Tensor[cl.i16, (N,)]) -> None:
    i = cl.thread_idx.x
    size[i] = abs(x[i]) // 8
    negated[i] = (-x[i]) // 8


def test_16_bit_negation_wraps(place: Place) -> None:
    x, size, negated = np.full(32, -32768, np.int16), np.zeros(32, np.int16), np.zeros(32, np.int16)
    place(halves[1, 32], x, size, negated)
    np.testing.assert_array_equal([size, negated], -4096)


@cl.kernel
def saturated(x: Tensor[cl.i32, (N,)], out: Tensor[cl.i32, (N,)]) -> None:
    out[cl.thread_idx.x] = cl.add_sat(-x[cl.thread_idx.x], 0)


def test_saturating_sums_of_negated_numbers(place: Place) -> None:
    x, out = np.full(32, -(2**31), np.int32), np.zeros(32, np.int32)
    place(saturated[1, 32], x, out)
    np.testing.assert_array_equal(out, -(2**31))


@cl.kernel
def from_nothing(x: Tensor[cl.i32, (N,)], out: Tensor[cl.i32, (N,)], n: cl.i32) -> None:
    v = x[cl.thread_idx.x]
    for _ in range(n):
        v = cl.add_sat(0, -v)
    out[cl.thread_idx.x] = v


def test_saturating_sums_of_nothing_and_a_negated_number(place: Place) -> None:
    x, out = np.array([-(2**31), -(2**31) + 1, -1, 0, 1, 2**31 - 1], np.int32), np.zeros(6, np.int32)
    place(from_nothing[1, 6], x, out, 1)
    np.testing.assert_array_equal(out, [-(2**31), 2**31 - 1, 1, 0, -1, -(2**31) + 1])


@cl.kernel
def sizes(x: Tensor[cl.i32, (N,)], y: Tensor[cl.i64, (N,)], out: Tensor[cl.i64, (4, N)], most: cl.i32) -> None:
    i = cl.thread_idx.x
    out[0, i], out[1, i] = (abs(x[i]) % most).to(cl.i64), abs(y[i]) % most.to(cl.i64)
    out[2, i], out[3, i] = (abs(x[i]) // -7).to(cl.i64), abs(y[i]) % -7


def test_the_most_negative_number_has_no_positive_size(place: Place) -> None:
    x, y = np.array([-(2**31), -5, 5], np.int32), np.array([-(2**63), -5, 5], np.int64)
    out = np.zeros((4, 3), np.int64)
    place(sizes[1, 3], x, y, out, -7)
    least, last = -(2**31), -(2**63)
    right = [[least % -7, -2, -2], [last % -7, -2, -2], [least // -7, -1, -1], [last % -7, -2, -2]]
    np.testing.assert_array_equal(out, right)


@cl.kernel
def wide(a: Tensor[cl.f64, (N,)], out: Tensor[cl.f64, (N,)]) -> None:
    i = cl.thread_idx.x
    out[i] = cl.math.fma(a[i], a[i], cl.f64(-float("inf")))


def test_a_product_that_overflows_is_not_infinite_in_an_fma(place: Place) -> None:
    a, out = np.full(1, 1e300), np.zeros(1)
    place(wide[1, 1], a, out)
    assert out[0] == -np.inf


@cl.kernel
def beyond(x: Tensor[cl.i32, (N,)], out: Tensor[cl.i32, (N,)]) -> None:
    out[cl.thread_idx.x] = cl.bfe(x[cl.thread_idx.x], 36, 9)


def test_a_field_beyond_the_top_is_all_sign(place: Place) -> None:
    x, out = np.array([0, 1, -1, 2**31 - 1, -(2**31)], np.int32), np.zeros(5, np.int32)
    place(beyond[1, 5], x, out)
    assert out.tolist() == [0, 0, -1, 0, -1]


@cl.kernel
def inserted(x: Tensor[cl.u32, (N,)], y: Tensor[cl.u32, (N,)], out: Tensor[cl.u32, (3, N)], n: cl.i32) -> None:
    i = cl.thread_idx.x
    out[0, i], out[1, i], out[2, i] = (
        cl.bfi(x[i], y[i], 1, 36),
        cl.bfi(x[i], y[i], 0, 32),
        cl.bfi(x[i], y[i], n, 32 + n),
    )


def test_a_field_inserted_up_to_the_top(place: Place) -> None:
    x, y = np.array([0xDEADBEEF, 5], np.uint32), np.array([0, 2**32 - 1], np.uint32)
    out = np.zeros((3, 2), np.uint32)
    place(inserted[1, 2], x, y, out, 3)
    np.testing.assert_array_equal(out, [(x << 1) | (y & 1), x, (x << 3) | (y & 7)])


@cl.kernel
def of_two(x: Tensor[cl.u32, (N,)], y: Tensor[cl.u32, (N,)], out: Tensor[cl.u32, (4, N)]) -> None:
    i = cl.thread_idx.x
    a, b = x[i], y[i]
    out[0, i], out[1, i] = cl.lop3(a, b, a, 29) & (a ^ b), cl.lop3(a, b, a, 150) & a
    out[2, i], out[3, i] = cl.lop3(a, a, b, 0xE8) | b, cl.lop3(a, b, b, 0x1D) & b


def test_logic_of_an_operand_that_comes_twice(place: Place) -> None:
    x, y = np.array([0x0F0F1234, 0], np.uint32), np.array([0x33335678, 7], np.uint32)
    out = np.zeros((4, 2), np.uint32)
    place(of_two[1, 2], x, y, out)
    np.testing.assert_array_equal(out, [~x & y, x & y, x | y, ~x & y])


@cl.kernel
def high_half(x: Tensor[cl.u32, (N,)], y: Tensor[cl.i64, (N,)], out: Tensor[cl.i64, (N,)]) -> None:
    i = cl.thread_idx.x
    out[i] = cl.mul_hi(x[i], cl.u32(100)).to(cl.i64) - y[i]


def test_the_high_half_of_a_product_less_nothing(place: Place) -> None:
    x, y = np.full(4, 4084600366, np.uint32), np.array([0, 1, -1, 2**32], np.int64)
    out = np.zeros(4, np.int64)
    place(high_half[1, 4], x, y, out)
    np.testing.assert_array_equal(out, 95 - y)


@cl.kernel
def lowest(x: Tensor[cl.i16, (N,)], y: Tensor[cl.i8, (N,)], out: Tensor[cl.i32, (4, N)]) -> None:
    i = cl.thread_idx.x
    out[0, i], out[1, i] = cl.ffs(max(cl.i16(0), x[i])), cl.ctz(min(x[i], 0))
    out[2, i], out[3, i] = cl.ffs(max(cl.i8(0), y[i])), cl.ctz(min(y[i], 0))


def test_least_and_most_of_16_bits_compared_with_a_constant(place: Place) -> None:
    """LLVM compares them with 0, before it counts."""
    assert "setp.eq.b16" not in lowest.compile((32,), (32,), (4, 32), block=32, arch="sm_90a").ptx
    x, y = np.array([1, 6, 0, -1, -8, -32768], np.int16), np.array([1, 6, 0, -1, -8, -128], np.int8)
    out = np.zeros((4, 6), np.int32)
    place(lowest[1, 6], x, y, out)
    np.testing.assert_array_equal(out[0::2], [[1, 2, 0, 0, 0, 0]] * 2)
    np.testing.assert_array_equal(out[1::2], [[16, 16, 16, 0, 3, 15], [8, 8, 8, 0, 3, 7]])


@cl.kernel
def counted(x: Tensor[cl.i8, (N,)], last: Tensor[cl.i32, (N,)], inside: Tensor[cl.i32, (N,)], n: cl.i32) -> None:
    i, k = cl.thread_idx.x, -1
    a: Any = x[i]
    v, w = cl.i32(0), cl.i32(0)
    while k + 1 < n:  # at first k is a literal, and `max` of it an i8: in the loop it is an i32, and so is that
        k += 1
        v = max(a, k * -2)
    j = 0
    for _ in range(n):
        if a > 3:
            w = max(a, j * -2)
        inside[i] = w  # used where it would be of either type
        j += 1  # noqa: SIM113
    last[i] = v


def test_a_literal_counter_is_a_number_before_types_are_compared(place: Place) -> None:
    x = np.arange(-16, 16, dtype=np.int8)
    last, inside = np.zeros(32, np.int32), np.zeros(32, np.int32)
    place(counted[1, 32], x, last, inside, 3)
    assert last.tolist() == [max(a, -4) for a in x.tolist()]
    assert inside.tolist() == [a if a > 3 else 0 for a in x.tolist()]


@cl.kernel
def negated(x: Tensor[cl.u16, (N,)], flag: Tensor[cl.u8, (N,)], out: Tensor[cl.u8, (N,)], n: cl.i32) -> None:
    i = cl.thread_idx.x
    number, one = x[i], flag[i] != 0
    for _ in range(n):
        one = cl.boolean(True)
    if number // 8 < number:
        one = not one
        for _ in range(1):
            number = -number - one
    x[i] = number
    out[i] = cl.u8(one)


def test_a_predicate_that_is_negated_before_a_loop(place: Place) -> None:
    compiled = negated.compile((32,), (32,), (32,), 0, block=32, arch="sm_90a")
    assert "not.pred" not in compiled.ptx
    start, flag = np.arange(32, dtype=np.uint16), np.arange(32, dtype=np.uint8) % 2
    for n in (0, 1):
        x, out = start.copy(), np.zeros(32, np.uint8)
        place(negated[1, 32], x, flag, out, n)
        right = np.where(start > 0, 1 - np.maximum(flag, n), np.maximum(flag, n))
        np.testing.assert_array_equal(out, right)
        np.testing.assert_array_equal(x, np.where(start > 0, -start.astype(np.int64) - right, 0).astype(np.uint16))


def constant(number: Any, dtype: Any) -> Any:
    """A number that is known only when registers are."""
    one = cl.make_rmem_tensor(dtype, 1)
    one[0] = number
    return one[0]


@cl.kernel
def chosen(
    x: Tensor[cl.i32, (N,)],
    y: Tensor[cl.f32, (N,)],
    flag: Tensor[cl.u8, (N,)],
    out: Tensor[cl.i16, (N,)],
    total: Tensor[cl.f32, (4,)],
) -> None:
    i = cl.thread_idx.x
    n, v, some, number = x[i], y[i], flag[i] != 0, out[i]
    if n > 3:
        some = cl.math.isinf(constant(1, cl.f16))
    else:
        for _ in range(cl.i32(v) & 3):
            n = n
    number = (constant(3, cl.u8) if some else (constant(5, cl.u8) // (constant(7, cl.u8) | 127))) + (
        (constant(3, cl.i8) << 3) // (-4)
    )
    k = constant(-1, cl.i32)
    while k + 1 < n & 3:
        k += 1
        for j in range(n & 3):
            some = v > constant(1, cl.u8)
            cl.atomic_add(total, j, cl.f32(j & 15))
    out[i] = number
    flag[i] = cl.u8(some)


def test_a_number_that_is_chosen_before_a_loop(place: Place) -> None:
    x, y = np.arange(-8, 24, dtype=np.int32), np.arange(32, dtype=np.float32) / 8
    flag, out, total = np.arange(32, dtype=np.uint8) % 2, np.zeros(32, np.int16), np.zeros(4, np.float32)
    place(chosen[1, 32], x, y, flag, out, total)
    start = (x <= 3) & (np.arange(32) % 2 == 1)
    np.testing.assert_array_equal(out, np.where(start, -3, -6))
    np.testing.assert_array_equal(flag, np.where(x & 3 > 0, y > 1, start))
    assert total.tolist() == [0, 8 * (2 + 3), 8 * 2 * 3, 0]


@cl.kernel
def kept(x: Tensor[cl.u32, (N,)], flag: Tensor[cl.u8, (N,)], n: cl.i32) -> None:
    i = cl.thread_idx.x
    some, number = flag[i] != 0, cl.i32(7)
    for _ in range(n):
        number = cl.convert(constant(0, cl.f32), cl.i32, rounding="rn")
        some = (some or (number > 3)) or cl.prmt(x[i], x[i], x[i]) < x[i]
    flag[i] = cl.u8(some)


def test_a_predicate_with_a_part_that_is_known(place: Place) -> None:
    x = np.array([0, 0x11111111, 0x76540000, 0x12340001] * 2, np.uint32)
    flag = np.repeat(np.array([0, 1], np.uint8), 4)
    for n in (0, 1, 2):
        found = flag.copy()
        place(kept[1, 8], x, found, n)
        less = [False, False, True, True] if n else [False] * 4
        assert found.tolist() == [*less, *[True] * 4]


@cl.kernel
def rounded_again(x: Tensor[cl.i64, (N,)], n: cl.i32) -> None:
    i = cl.thread_idx.x
    v = x[i]
    for _ in range(n):
        v = cl.convert(cl.bitcast(v, cl.f64), cl.i64, rounding="rn")
    x[i] = v


def test_a_conversion_in_the_register_of_its_operand(place: Place) -> None:
    numbers = np.array([np.nan, -np.nan, 2.5, -3.5, 0.0, 1e300, -np.inf])
    x = numbers.view(np.int64).copy()
    place(rounded_again[1, 7], x, 1)
    assert x.tolist() == [0, 0, 2, -4, 0, 2**63 - 1, -(2**63)]


@cl.kernel
def by_hand(x: Tensor[cl.u32, (N,)], n: cl.i32) -> None:
    i = cl.thread_idx.x
    v, w = x[i], x[i]
    for _ in range(n):
        v = cl.inline_ptx("mul.lo.u32 $out, $a, 3; add.u32 $out, $out, $a;", U32, a=v, pure=True)
        w = cl.inline_ptx("mul.lo.u32 $out, $a, $a;", U32, a=w, pure=True)
    x[i] = v - w


def test_what_is_read_later_is_in_a_register_of_its_own() -> None:
    converted = rounded_again.compile((32,), 0, block=32, arch="sm_90a").ptx
    written = by_hand.compile((32,), 0, block=32, arch="sm_90a").ptx
    for text, pattern in [(converted, r"cvt\.rni\S+ (%\w+), (%\w+);"), (written, r"mul\.lo\.u32 (%\w+), (%\w+), 3;")]:
        (pair,) = re.findall(pattern, text)
        assert pair[0] != pair[1]
    assert re.search(r"mul\.lo\.u32 (%\w+), \1, \1;", written)  # where all is read at once, it may be the same


@cl.kernel
def looked_up(flag: Tensor[cl.u8, (N,)], seven: Tensor[cl.i32, (N,)], out: Tensor[cl.u8, (N,)]) -> None:
    i = cl.thread_idx.x
    some, other, last = flag[i] != 0, seven[i], cl.u8(9)
    for _ in range(other & 3):
        if constant(1, cl.i64) <= cl.lop3(constant(1, cl.u32), constant(5, cl.u32), constant(2, cl.u32), 150):
            if some & (other > 3):
                last = (other > 3) ^ cl.u8(constant(0, cl.u64))
                some = cl.ffs(constant(0, cl.u32)) == constant(100, cl.i16)
            else:
                if constant(100, cl.i8) == constant(5, cl.bf16):
                    continue
    out[i] = last + cl.u8(some)


@pytest.mark.filterwarnings("ignore:.*ptxas crashed")
def test_a_branch_on_a_constant_lop3_in_a_loop(place: Place) -> None:
    assert looked_up.compile((32,), (32,), (32,), block=32, arch="sm_90a").ptx
    flag, seven = np.arange(32, dtype=np.uint8) % 2, np.arange(32, dtype=np.int32)
    out = np.zeros(32, np.uint8)
    place(looked_up[1, 32], flag, seven, out)
    first = (flag != 0) & (seven > 3) & (seven & 3 > 0)  # whose first round makes it False
    np.testing.assert_array_equal(out, np.where(first, 1, 9 + flag))


@cl.kernel
def chosen_bytes(
    x: Tensor[cl.e4m3, (32,)],
    flags: Tensor[cl.boolean, (32,)],
    out: Tensor[cl.e4m3, (32,)],
    same: Tensor[cl.boolean, (32,)],
) -> None:
    i = cl.thread_idx.x
    held = cl.shared(cl.boolean, (32,))
    cl.cooperative_clear(held)
    cl.syncthreads()
    read, written = cl.recast_tensor(flags, cl.u8), cl.recast_tensor(same, cl.u8)
    written[i] = read[i] | cl.u8(held[i])
    out[i] = cl.vector(x[31], cl.where(flags[i], x[i], 0.5))[1]


def test_storage_formats_are_chosen_and_joined_and_a_bool_is_a_byte(place: Place) -> None:
    x, flags = np.arange(32).astype(ml_dtypes.float8_e4m3fn), np.arange(32) % 3 > 0
    out, same = np.zeros_like(x), np.zeros_like(flags)
    place(chosen_bytes[1, 32], x, flags, out, same)
    np.testing.assert_array_equal(out.astype(np.float32), np.where(flags, x.astype(np.float32), 0.5))
    np.testing.assert_array_equal(same, flags)


SIDE_BY_SIDE = cl.make_tiled_mma(cl.WarpgroupMmaOp(cl.i8, cl.i32, n=16), (1, 1, 1))


@cl.kernel(block=128)
def of_one_stage(
    a: Tensor[cl.i8, (2, 64, 32)], b: Tensor[cl.i8, (2, 32, 32)], c: Tensor[cl.i32, (64, 32)], stage: cl.i32
) -> None:
    t = cl.thread_idx.x
    left = cl.shared(cl.i8, cl.make_smem_layout(cl.i8, (64, 32, 2)))
    right = cl.shared(cl.i8, cl.make_smem_layout(cl.i8, (32, 32, 2)))
    for s in range(2):
        for i in range(t, 64 * 32, 128):
            left[i // 32, i % 32, s] = a[s, i // 32, i % 32]
        for i in range(t, 32 * 32, 128):
            right[i // 32, i % 32, s] = b[s, i // 32, i % 32]
    cl.fence_proxy_async()
    cl.syncthreads()
    mine = SIDE_BY_SIDE.get_slice(t)
    x, y = mine.partition_A(left)[None, None, None, stage], mine.partition_B(right)[None, None, None, stage]
    acc = SIDE_BY_SIDE.make_fragment_C(mine.partition_C(c))
    mine.partition_C(c).store(cl.gemm(SIDE_BY_SIDE, acc, x, y).wait().load())


def test_products_of_a_stage_that_is_known_at_run_time(place: Place) -> None:
    draw = np.random.default_rng(0)
    a, b = draw.integers(-8, 8, (2, 64, 32)).astype(np.int8), draw.integers(-8, 8, (2, 32, 32)).astype(np.int8)
    for stage in range(2):
        c = np.zeros((64, 32), np.int32)
        place(of_one_stage[1], a, b, c, stage)
        np.testing.assert_array_equal(c, a[stage].astype(np.int32) @ b[stage].astype(np.int32).T)


@cl.kernel
def of_one_half(
    a: Tensor[cl.f16, (N,)], b: Tensor[cl.f16, (N,)], c: Tensor[cl.f16, (N,)], out: Tensor[cl.f16, (2, N)]
) -> None:
    i = cl.thread_idx.x
    x, y, z = a[i], b[i], c[i]
    out[0, i] = max(cl.math.maximum(cl.vector(x, x), cl.vector(y, z))[0], z)
    out[1, i] = min(z, cl.math.minimum(cl.vector(x, x), cl.vector(z, y))[1])


def test_a_number_beside_a_half_that_is_not_one(place: Place) -> None:
    """`maximum` and `minimum` give NaN for NaN, `max` and `min` the other number."""
    a, b = np.array([np.nan, 2, -3, np.nan], np.float16), np.array([5, np.nan, 0.5, np.nan], np.float16)
    c, out = np.array([1, 1, -7, 9], np.float16), np.zeros((2, 4), np.float16)
    place(of_one_half[1, 4], a, b, c, out)
    np.testing.assert_array_equal(out, [[1, 1, 0.5, 9], [1, 1, -7, 9]])
