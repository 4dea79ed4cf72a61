# ruff: noqa
# mypy: ignore-errors
"""`cl.range(..., unroll=n)`: the same numbers in the same order, a body of n iterations, a loop for what is left over."""

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.diag import CompileError
from cutelite.ir.types import i8, i64, u8, u32, u64
from tests.front.differential import array, compiled, same
from tests.front.lines import refusal

EIGHTS = cl.Dim("EIGHTS", divisible_by=8)


def loops(function):
    """The number of run-time loops in a kernel: headers have a label of their own."""
    return sum(block.label == "loop" for block in function.blocks)


def numbers(start, stop, step, unroll):
    """All that a loop can show of its order: the numbers, where it ends, and how."""
    seen, last, ended, place = 0, -7, 0, 1
    for i in cl.range(start, stop, step, unroll=unroll):
        if i == 5:
            continue
        if i == 29:
            break
        seen = seen * 3 + i * place
        place = place + 2
        last = i
    else:
        ended = 1
    return seen, last, ended, place


@pytest.mark.parametrize("unroll", [2, 3, 4, 7])
def test_the_numbers_are_those_of_range(unroll):
    def function(start, stop):
        return (*numbers(start, stop, 1, unroll), *numbers(stop, start, -3, unroll), *numbers(0, stop, 2, unroll))

    same(function, *((a, b) for a in (-3, 0, 2) for b in (-5, 0, 1, 6, 11, 40)))


def test_steps_that_are_known_when_the_kernel_runs():
    def function(start, stop, step):
        return numbers(start, stop, step, 4)

    same(function, (0, 30, 7), (9, -20, -4), (0, 0, 3), (28, 31, 1), (3, 2, 5), masks=False)


def test_ranges_around_the_whole_type():
    """Distances that the counter's type cannot tell, and ends that its steps go beyond."""

    def function(start, stop, step):
        total, count = 0, 0
        for i in cl.range(start, stop, step, unroll=3):
            total = total ^ i
            count = count + 1
        return total, count

    low, high = -(2**31), 2**31 - 1
    far = [(low, high, 2**28), (high, low, -(2**27)), (low, low + 8, 1), (high - 11, high, 5), (low, high, high)]
    same(function, *far, masks=False)
    same(function, (-128, 127, 16), (127, -128, -16), (-128, 127, 127), dtype=i8, masks=False)


def test_what_is_left_over_has_a_loop_only_where_it_has_to():
    def kernel(out, n):
        s = 0
        for i in cl.range(count(n), unroll=4):
            s = s + i
        out[0] = s

    def made(of):
        kernel.__globals__["count"] = of
        return compiled(kernel, out=array(i32, 1), n=i32)

    assert loops(made(lambda n: n)) == 2
    assert loops(made(lambda n: 40)) == 1
    assert loops(made(lambda n: 42)) == 1  # the two are compiled one after the other
    assert loops(made(lambda n: 4)) == loops(made(lambda n: 3)) == loops(made(lambda n: 0)) == 0


def test_a_dim_that_is_divisible_leaves_nothing_over():
    @cl.kernel
    def total(x: Tensor[f32, (EIGHTS,)], out: Tensor[f32, (1,)]):
        s = 0.0
        for i in cl.range(EIGHTS, unroll=8):
            s = s + x[i]
        out[0] = s

    x, out = np.arange(24, dtype=np.float32), np.zeros(1, np.float32)
    total[1, 1](x, out)
    assert out[0] == x.sum()
    ptx = total.compile(block=32).ptx
    assert ptx.count("nounroll") == 1
    assert ptx.count("ld.global.v4") == 2  # neighbours of the eight


def test_values_change_their_places():
    """Fibonacci's numbers: what one iteration calls `b` is the `a` of the next."""

    def function(n, m):
        a, b = 0, 1
        for i in cl.range(n, unroll=2):
            for j in cl.range(i, unroll=3):
                a, b = b, a + b - j
            if a > 1000:
                a = a - m
        return a, b

    same(function, (0, 3), (1, 4), (2, 5), (7, 900), (8, 900))


def test_a_name_that_only_the_body_binds():
    def function(n):
        for i in cl.range(6, unroll=4):
            last = i * n
        for k in cl.range(3, unroll=3):
            other = k + n
        return last, i, other, k

    same(function, (3,), (-2,))


def test_a_compile_time_list_may_change_behind_it_but_not_in_it():
    def behind(n):
        xs = []
        for i in cl.range(n, unroll=2):
            n = n - 1
        xs.append(n)
        return tuple(xs)

    same(behind, (4,), (5,))
    assert "in a run-time loop" in str(refusal("xs = []\nfor i in cl.range(n, unroll=2): xs.append(i)"))


def test_other_forms_take_it_too():
    def function(n):
        total = 0
        for i in reversed(cl.range(2, n, 3, unroll=4)):
            total = total * 2 + i
        return total, len(cl.range(n, unroll=2)), tuple(i for i in cl.range(3, unroll=2)), 4 in cl.range(n, unroll=2)

    same(function, (1,), (3,), (9,), (30,))


def test_unsigned_counters():
    def function(n):
        count = 0
        for i in cl.range(n, n + 5, unroll=2):
            count = count + 1
        return count

    same(function, (0,), (7,), dtype=u32, masks=False)


@pytest.mark.parametrize("dtype", [i8, u8, u32, i64, u64])
@pytest.mark.parametrize("step", [1, -1, 100, -128, 255, -255, 256, 300, -300])
def test_counters_have_the_type_of_their_bounds_whatever_the_step(dtype, step):
    """Beyond the type's unsigned form a step is added in 64 bits."""

    @cl.kernel(block=1)
    def kernel(a: dtype, b: dtype, found: Tensor[i64, (4,)], count: Tensor[i32, (1,)]):
        n = 0
        for i in range(a, b, step):
            assert isinstance(i, i64 if abs(step) >> dtype.bits else dtype)
            if n < 4:
                found[n] = i64(i)
            n += 1
        count[0] = n

    low, high = max(dtype.range[0], -1000), min(dtype.range[1], 1000)
    for a, b in [(low, high), (high, low), (low, low), (0, 5), (5, 0), (100, 104), (104, 100)]:
        found, count, right = np.zeros(4, np.int64), np.zeros(1, np.int32), range(a, b, step)
        kernel[1](a, b, found, count)
        assert (found[: len(right[:4])].tolist(), count[0]) == ([*right[:4]], len(right))


@pytest.mark.parametrize("unroll", [1, 2])
@pytest.mark.parametrize(("dtype", "step"), [(u8, 1), (u8, 2), (i8, -100), (u64, 5), (i32, 1 << 30)])
def test_reversed_ranges_at_the_ends_of_a_type(dtype, step, unroll):
    @cl.kernel(block=1)
    def kernel(a: dtype, b: dtype, found: Tensor[i64, (16,)], count: Tensor[i32, (2,)]):
        n = 0
        for i in reversed(cl.range(a, b, step, unroll=unroll)):
            found[n] = i64(i)
            n += 1
        count[0], count[1] = n, i32(len(range(a, b, step)))

    low, high = dtype.range
    near = min(max(abs(step) * 3, 9), high)
    ends = [(low, low), (low, high), (low, low + near), (high - near, high), (5, 0), (0, 5)]
    for a, b in (end if step > 0 else end[::-1] for end in ends):
        right = [*reversed(range(a, b, step))] if len(range(a, b, step)[:17]) < 17 else None
        if right is not None:
            found, count = np.zeros(16, np.int64), np.zeros(2, np.int32)
            kernel[1](a, b, found, count)
            found = found.view(np.uint64) if dtype == u64 else found
            assert (found[: len(right)].tolist(), count.tolist()) == (right, [len(right)] * 2)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [("8, unroll=0", "from 1 to 64, not 0"), ("8, unroll=65", "not 65"), ("8, unroll=True", "not True"),
     ("8, unroll=2.0", "not 2.0"), ("8, unroll=n", "not a run-time i32"), ("unroll=2", "1 to 3 arguments"),
     ("8.0, unroll=2", "takes integers"), ("1, 2, 0, unroll=2", "must not be 0"),
     ("n, unroll=4, prefetch=4", "from 0 to 3, not 4"), ("n, prefetch=64", "from 0 to 63, not 64"),
     ("n, prefetch=-1", "from 0 to 63, not -1"), ("n, unroll=None, prefetch=n", "not a run-time i32"),
     ("n, unroll=2, prefetch=-1", "not -1"), ("n, unroll=2, prefetch=True", "not True"),
     ("n, unroll=2, prefetch=n", "not a run-time i32")],
)  # fmt: skip
def test_arguments_that_it_does_not_take(arguments, text):
    space = {"cl": cl}
    exec(f"def kernel(out, n):\n    for i in cl.range({arguments}): out[0] = i\n", space)
    with pytest.raises(CompileError) as caught:
        compiled(space["kernel"], out=array(i32, 1), n=i32)
    assert str(caught.value).startswith("error[range]")
    assert text in str(caught.value)


def test_accumulators_stay_in_flight_over_iterations():
    """Products in a body of two, chained without a wait between them: one group each, the last two in flight."""

    @cl.kernel(block=128)
    def chained(n: i32, out: Tensor[f32, (64, 64)]):
        tile = cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (64, 64)))
        acc = cl.wgmma.zeros_accumulator(64)
        for _ in cl.range(n, unroll=2):
            acc = cl.wgmma.mma_async(tile, tile, acc)
            cl.wgmma.commit_group()
            acc = cl.wgmma.wait_group(1, keep=acc)
        acc = cl.wgmma.wait_group(0, acc)
        cl.wgmma.partition(out).store(acc)

    made = chained.compile()
    assert made.warnings == []
    assert made.ptx.count("wgmma.mma_async") == 3 * 4
    assert made.ptx.count("wgmma.wait_group.sync.aligned 1") == 3


# Loads ahead.


def body(kernel, **constants):
    """What a kernel does with memory, in order: L loads, S stores, | begins a block."""
    names = {
        "tensor.load": "L",
        "tensor.load_all": "L",
        "tensor.store": "S",
        "bar.sync": "B",
        "br": "|",
        "cond_br": "|",
    }
    ir = kernel.compile(block=32, **constants).ir
    return "".join(names.get(line.split(" = ")[-1].split()[0], "") for line in ir.splitlines() if line.startswith("  "))


@cl.kernel
def roots(x: Tensor[f32, (EIGHTS,)], out: Tensor[f32, (EIGHTS,)], ahead: cl.Constexpr[int], known: cl.Constexpr[bool]):
    for i in cl.range(2 if known else EIGHTS, unroll=4, prefetch=ahead):
        out[i] = cl.math.sqrt(x[i]) + 1.0


@pytest.mark.parametrize(
    ("ahead", "order"), [(0, "|LSLSLSLS|"), (1, "|LLSLSLSS|"), (2, "|LLLSLSSS|"), (3, "|LLLLSSSS|")]
)
def test_loads_of_later_iterations_are_done_ahead(ahead, order):
    assert order in body(roots, ahead=ahead, known=False)
    assert body(roots, ahead=ahead, known=True) == ("LLSS" if ahead else "LSLS")
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    roots[1, 1](x, out, ahead, False)
    np.testing.assert_allclose(out, np.sqrt(x) + 1, rtol=1e-6)


def test_tiles_and_copies_are_loaded_ahead():
    """Loads of several elements at once, and those of `cl.copy` into registers; without `unroll`, a body for them."""

    @cl.kernel
    def rows(x: Tensor[f32, (EIGHTS, 4)], out: Tensor[f32, (EIGHTS, 4)]):
        for i in cl.range(EIGHTS, prefetch=1):
            held = cl.make_rmem_tensor(f32, (4,))
            cl.copy(x[i, None], held)
            out[i, None].store(held.load() + x[i, None].load())

    found = body(rows)
    assert "|LLLL" in found
    assert loops(rows.compile(block=32).function) == 1
    x, out = np.arange(32, dtype=np.float32).reshape(8, 4), np.zeros((8, 4), np.float32)
    rows[1, 1](x, out)
    assert (out == 2 * x).all()


def test_loads_that_others_lead_to_are_done_ahead_too():
    """Indices and what they lead to; behind a store whose place is computed from a load."""

    @cl.kernel
    def gathered(x: Tensor[f32, (EIGHTS,)], places: Tensor[i32, (EIGHTS,)], out: Tensor[f32, (EIGHTS,)]):
        total = 0.0
        for i in cl.range(EIGHTS, unroll=2, prefetch=1):
            total = total + x[places[i]]
            out[places[i]] = total

    assert "|LLLLLLSS|" in body(gathered)
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    gathered[1, 1](x, np.arange(8, dtype=np.int32)[::-1].copy(), out)
    assert out.tolist() == np.cumsum(x[::-1])[::-1].tolist()


def test_a_barrier_holds_loads_back():
    @cl.kernel
    def held(x: Tensor[f32, (EIGHTS,)], out: Tensor[f32, (EIGHTS,)]):
        for i in cl.range(EIGHTS, unroll=4, prefetch=3):
            out[i] = x[i]
            if i.dtype == i32:  # known when it is compiled
                cl.syncthreads()

    with pytest.raises(CompileError, match="no load of this body can be moved up"):
        held.compile(block=32)


def test_a_promise_that_is_broken_shows_in_the_simulator():
    """Each iteration reads what the one before has written: with loads ahead it reads what was there at first."""

    @cl.kernel
    def chain(x: Tensor[f32, (EIGHTS,)], ahead: cl.Constexpr[int]):
        for i in cl.range(1, EIGHTS, unroll=4, prefetch=ahead):
            x[i] = x[i - 1] + 1.0

    right, wrong = np.zeros(8, np.float32), np.zeros(8, np.float32)
    chain[1, 1](right, 0)
    chain[1, 1](wrong, 3)
    assert right.tolist() == list(range(8))
    assert wrong.tolist() != right.tolist()
