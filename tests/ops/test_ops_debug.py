"""printf, traps, clocks and inline PTX."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor
from cutelite import assert_ as check_that
from cutelite.diag import CompileError
from cutelite.ir.function import Value
from cutelite.ir.types import Ptr, Vec, bf16, boolean, f32, i32, i64, u8, u32, u64
from cutelite.ops import asm, debug
from cutelite.sim.error import SimError
from tests.ops.kernels import build, run


def me() -> Any:
    return cl.thread_idx.x


def printed(fmt: str, *columns: Any) -> list[str]:
    """Return the lines that two threads print of their rows."""
    return run(lambda *tensors: cl.printf(fmt + "\n", *(t[me()] for t in tensors)), *columns, block=2).splitlines()


def test_printf_prints_as_c_does() -> None:
    ints, reals = np.array([7, -7], np.int32), np.array([1.5, -np.inf], np.float32)
    assert printed("%d|%5d|%-5d|%05d|%i", ints, ints, ints, ints, ints) == [
        "7|    7|7    |00007|7",
        "-7|   -7|-7   |-0007|-7",
    ]
    assert printed("%x %X %o %u", ints, ints, ints, ints) == ["7 7 7 7", "fffffff9 FFFFFFF9 37777777771 4294967289"]
    assert printed("%f %.2e %g %%", reals, reals, reals) == ["1.500000 1.50e+00 1.5 %", "-inf -inf -inf %"]
    assert printed("%c%c", np.array([65, 66], np.uint8), np.array([97, 98], np.int8)) == ["Aa", "Bb"]
    assert printed("%lld %llx", *[np.array([1 << 40, -1])] * 2) == ["1099511627776 10000000000", "-1 ffffffffffffffff"]
    assert printed("%d", np.array([3_000_000_000, 1], np.uint32)) == ["-1294967296", "1"]
    assert printed("%a", np.array([0.5, 1.5])) == ["0x1p-1", "0x1.8p+0"]
    assert printed("%%%#x %+u|%08.2f%%", np.array([0, 5], np.uint32), np.array([5, 0], np.uint32), reals) == [
        "%0 5|00001.50%",
        "%0x5 0|    -inf%",
    ]
    assert printed("%hhd %hx", ints + 256, ints) == ["7 7", "-7 fff9"]


def test_printf_of_literals_addresses_and_storage_formats() -> None:
    out = np.zeros(1, np.float32)
    text = run(lambda t: cl.printf("%d %g %d\n", 3, 0.25, cl.thread_idx.x == 0), out, block=1)
    assert text == "3 0.25 1\n"
    assert run(lambda t: cl.printf("%p\n", t.ptr), out, block=1).startswith("0x")
    assert run(lambda t: cl.printf("%g\n", t[0].to(cl.e4m3)), out + 0.3, block=1) == "0.3125\n"
    assert run(lambda t: cl.printf("nothing\n"), out, block=2) == "nothing\n" * 2


FORMATS: list[tuple[str, tuple[Any, ...], str]] = [
    ("%d", (), "the format takes 1 value, not 0"),
    ("%d", (f32,), "%d is for integers, not f32"),
    ("%f", (i32,), "%f is for floats, not i32"),
    ("%p", (i64,), "%p is for pointers, not i64"),
    ("%d", (i64,), "%d does not fit i64"),
    ("%lld", (i32,), "%lld does not fit i32"),
    ("%s", (i32,), "'%s' is no conversion that printf knows"),
    ("100%", (), "'%' is no conversion that printf knows"),
    ("%d %d%% %-*d\n", (i32, i32), "'%-*d' is no conversion that printf knows"),
    ("%g", (Vec(f32, 2),), "%g is for floats, not vec<f32,2>"),
]


@pytest.mark.parametrize(("fmt", "types", "message"), FORMATS, ids=[m for _, _, m in FORMATS])
def test_printf_refuses_what_does_not_fit(fmt: str, types: tuple[Any, ...], message: str) -> None:
    problems = [p.message for p in debug.Printf(fmt, tuple(map(Value, types))).problems()]
    assert problems and problems[0].startswith(message)


def test_right_formats_are_accepted() -> None:
    types = (i32, u8, boolean, i64, u64, bf16, Ptr("smem"))
    assert not list(debug.Printf("%d%%%u%x %lli%-10llX %+.3f%p", tuple(map(Value, types))).problems())
    with pytest.raises(CompileError, match=r"the text belongs into the format itself(.|\n)*an f-string"):
        run(lambda t: cl.printf("%s", t[0]), np.zeros(1, np.int32))
    with pytest.raises(CompileError, match="prints numbers, not 'abc'"):
        run(lambda t: cl.printf("%d", "abc"), np.zeros(1, np.int32))
    with pytest.raises(CompileError, match="a text known at compile time, not 3"):
        run(lambda t: cl.printf(3), np.zeros(1, np.int32))  # type: ignore[arg-type]


def test_trap_stops_the_kernel_and_brkpt_does_not() -> None:
    run(lambda t: cl.brkpt(), np.zeros(1, np.int32))
    with pytest.raises(SimError, match="executed a trap"):
        run(lambda t: cl.trap(), np.zeros(1, np.int32))


N = cl.dims("N")


@cl.kernel
def halves(x: Tensor[cl.i32, (N,)], limit: cl.i32) -> None:
    i = cl.thread_idx.x
    if i < x.size:
        check_that(x[i] < limit, "too large")
        check_that(True)
        x[i] = x[i] // 2


def test_assert_is_a_call_that_kernels_can_leave_out() -> None:
    x = np.arange(40, dtype=np.int32)
    halves[1, 64](x, 40)
    assert np.array_equal(x, np.arange(40) // 2)
    with pytest.raises(SimError, match="too large"):
        halves[1, 64](x, 19)
    with pytest.raises(CompileError, match="an assertion fails at compile time"):
        check_that(False)
    checked = [op.name for op in build(lambda t: check_that(t[0] > 0), (x,), 32).ops()]
    assert "assert.fail" not in checked


def test_clocks_go_forward() -> None:
    out = np.zeros((1, 3), np.uint64)

    def body(out: Any) -> None:
        for i, clock in enumerate((cl.clock, cl.clock64, cl.globaltimer)):
            first = clock()
            cl.syncthreads()
            out[0, i] = (clock() - first).to(u64)

    run(body, out, block=1)
    assert (out > 0).all()


# Inline PTX. That it is assembled is tested with the other spellings.


def test_inline_ptx_gives_what_it_says() -> None:
    def body(t: Any) -> None:
        x = cl.inline_ptx("add.u32 $out, $a, $b;", u32, a=t[0], b=1, pure=True)
        assert x.dtype == u32
        y, z = cl.inline_ptx("{ mov.b32 $out0, $a; mov.b64 $out1, {$a, $a}; } // $$", (u32, u64), a=x)
        assert (y.dtype, z.dtype) == (u32, u64)
        assert cl.inline_ptx("st.global.u32 [$p], $a;", p=t, a=x) is None
        with pytest.raises(CompileError, match="gives numbers and vectors, not a run-time u32"):
            cl.inline_ptx("mov.u32 $out, 0;", x)

    function = build(body, (np.zeros(4, np.uint32),), 32)
    first, second, third = (op for op in function.ops() if isinstance(op, asm.InlinePtx))
    assert first.is_pure and not second.is_pure and third.ptx().memory
    assert first.ptx().template == "add.u32 $out, $inputs.0, $inputs.1;"
    assert second.ptx().template.endswith("// $$")


def test_registers_of_vectors_are_numbered_through() -> None:
    a, v, b = Value(u32), Value(Vec(f32, 2)), Value(u32)
    op = asm.InlinePtx("x $out, $v, $v.1, $b, $a;", ("a", "v", "b"), (a, v, b), (u32,))
    assert not list(op.problems())
    assert op.ptx().template == "x $out, {$inputs.1, $inputs.2}, $inputs.2, $inputs.3, $inputs.0;"


MISUSE: list[tuple[dict[str, Any], str]] = [
    ({"template": "x $a, $c;"}, "`$c` is none of $a, $out"),
    ({"template": "x $a;"}, "the template does not use `$out`"),
    ({"template": "x $out;"}, "the template does not use `$a`"),
    ({"template": "x $out, $a.1;"}, "`$a.1` is not in u32"),
    ({"template": "x $out, $a, $0;"}, "`$0` is no place"),
    ({"template": "x $out, $a.x, $a;"}, "`$a.x` is no place"),
    ({"template": "x $out, ${a}, $a;"}, "`${a}` is no place"),
    ({"names": ("out",)}, "an input of inline PTX cannot be called 'out'"),
    ({"names": ("a", "b")}, "1 inputs need as many different names"),
    ({"outs": (Ptr("gmem"),)}, "inline PTX gives numbers and vectors, not ptr<gmem,1>"),
    ({"outs": (), "template": "x $a;", "pure": True}, "has no effect"),
]


@pytest.mark.parametrize(("change", "message"), MISUSE, ids=[m for _, m in MISUSE])
def test_misuse_of_inline_ptx_is_named(change: dict[str, Any], message: str) -> None:
    fields = {"template": "x $out, $a;", "names": ("a",), "inputs": (Value(u32),), "outs": (u32,), **change}
    problems = [problem.message for problem in asm.InlinePtx(**fields).problems()]
    assert any(message in text for text in problems), problems


def test_the_simulator_says_that_it_cannot_execute_ptx() -> None:
    with pytest.raises(SimError, match="cannot execute inline PTX"):
        run(lambda t: cl.inline_ptx("membar.gl;"), np.zeros(1, np.int32))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: cl.constant((1, 2), cl.f32), "constant"),
        (lambda: cl.popc(3), "popc"),
        (lambda: cl.syncthreads(), "syncthreads"),
        (lambda: cl.make_rmem_tensor(cl.f32, (4,)), "make_rmem_tensor"),
        (lambda: cl.printf("x"), "printf"),
        (lambda: cl.inline_ptx("membar.gl;"), "inline_ptx"),
    ],
)
def test_what_is_called_outside_of_a_kernel_is_named(call: Callable[[], Any], word: str) -> None:
    with pytest.raises(CompileError, match=f"`{word}` works only inside a kernel"):
        call()
