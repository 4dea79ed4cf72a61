"""Which arguments fit which annotations, what is learnt from them, and how a mismatch is said."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Literal, NamedTuple, Optional, TypeVar, cast

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, TmaTensor, bf16, e4m3, f16, f32, f64, i8, i32, i64, tf32, u8, u32, u64
from cutelite.dispatch import ArgumentError
from cutelite.dispatch.arguments import Bound, MapRequest
from cutelite.dispatch.signature import Signature
from cutelite.front.types import Constant, Struct
from cutelite.ir import types as ir
from cutelite.lang.annotations import ConstexprSpec
from cutelite.layout import Dim, Layout
from tests.rt.test_rt_memory import CudaArray

M, N, K = cl.dims("M N K:8")
T = TypeVar("T", f16, f32)
U = TypeVar("U")
V = TypeVar("V")


def bind(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Bound:
    return Signature(function).bind(args, kwargs)  # type: ignore[arg-type]


def refused(function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """What is said of arguments that do not fit."""
    with pytest.raises(ArgumentError) as caught:
        bind(function, *args, **kwargs)
    return str(caught.value)


def floats(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def test_large_values_are_told_in_one_short_line() -> None:
    def kernel(x: Tensor[f32, (N,)], n: i32) -> None: ...

    for args in (([0.0] * 1000, 3), (floats(5), floats(1000))):
        said = refused(kernel, *args)
        assert "\n" not in said and len(said) < 160


# ---- Python's own rules


def three(a: i32, b: i32 = 2, *, c: i32 = 3) -> None: ...  # type: ignore[assignment]
def position_only(a: i32, /, b: i32) -> None: ...


@pytest.mark.parametrize(
    ("args", "kwargs", "values"),
    [((1,), {}, [1, 2, 3]), ((1, 5), {"c": 6}, [1, 5, 6]), ((), {"b": 5, "a": 4}, [4, 5, 3])],
)
def test_defaults_and_keywords(args: tuple[int, ...], kwargs: dict[str, int], values: list[int]) -> None:
    assert bind(three, *args, **kwargs).values == values


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((), {}, "three() lacks the argument a; its parameters are (a: i32, b: i32 = 2, *, c: i32 = 3)"),
        ((1, 2, 3), {}, "three() takes 2 positional arguments, but 3 were given; "),
        ((1,), {"d": 4}, "three() has no parameter 'd' to give by keyword; "),
        ((1,), {"a": 4}, "three() got `a` twice, by position and by keyword; "),
    ],
)
def test_arguments_that_python_would_refuse(args: tuple[int, ...], kwargs: dict[str, int], said: str) -> None:
    assert refused(three, *args, **kwargs).startswith(said)


def test_what_is_by_position_only_cannot_be_named() -> None:
    assert bind(position_only, 1, b=2).values == [1, 2]
    assert "has no parameter 'a' to give by keyword; its parameters are (a: i32, /, b: i32)" in refused(
        position_only, a=1, b=2
    )


def test_variable_keywords_are_refused() -> None:
    def variable(**xs: i32) -> None: ...

    with pytest.raises(cl.CompileError, match=r"variable takes \*\*kwargs"):
        Signature(variable)  # type: ignore[arg-type]


# ---- numbers


def number(x: Any) -> None: ...


def of_dtype(dtype: Any) -> Callable[..., None]:
    def number(x: Any) -> None: ...

    number.__annotations__["x"] = dtype
    return number


@pytest.mark.parametrize(
    ("dtype", "given", "value"),
    [
        (i8, -128, -128),
        (u8, 255, 255),
        (i64, 2**63 - 1, 2**63 - 1),
        (u64, 2**64 - 1, 2**64 - 1),
        (i32, True, 1),
        (i32, np.int8(-3), -3),
        (u32, np.uint64(7), 7),
        (i32, np.array(5), 5),
        (cl.boolean, True, True),
        (cl.boolean, np.bool_(False), False),
        (f32, 1, 1.0),
        (f32, 1.5, 1.5),
        (f32, np.float64(1.5), 1.5),
        (f16, np.float16(0.5), 0.5),
        (f16, 65504.0, 65504.0),
        (bf16, 3.0e38, 3.0e38),
        (f32, float("inf"), float("inf")),
        (f64, 1e300, 1e300),
        (e4m3, 448.0, 448.0),
        (tf32, 1.25, 1.25),
    ],
)
def test_numbers(dtype: ir.Scalar, given: Any, value: object) -> None:
    bound = bind(of_dtype(dtype), given)
    assert bound.types == {"x": dtype}
    assert bound.values == [value]
    assert type(bound.values[0]) is type(value)


@pytest.mark.parametrize(
    ("dtype", "given", "said"),
    [
        (i8, 128, "is 128, but i8 holds -128 to 127"),
        (u32, -1, "is -1, but u32 holds 0 to 4294967295"),
        (i32, 1.0, "must be a number of dtype i32, not 1.0"),
        (i32, np.float32(1), "must be a number of dtype i32, not np.float32(1.0)"),
        (i32, "1", "must be a number of dtype i32, not '1'"),
        (i32, None, "must be a number of dtype i32, not None"),
        (cl.boolean, 1, "must be a number of dtype bool, not 1"),
        (f32, True, "must be a number of dtype f32, not True"),
        (f32, 1j, "must be a number of dtype f32, not 1j"),
        (f32, 3.5e38, "is 3.5e+38, which is beyond what f32 holds"),
        (f32, 10**400, "is too large for f32"),
        (f16, 65520, "is 65520.0, which is beyond what f16 holds"),
        (e4m3, float("inf"), "is inf, which is beyond what e4m3 holds"),
        (f32, np.zeros(3, np.float32), "must be a number of dtype f32, not array("),
    ],
)
def test_numbers_that_do_not_fit(dtype: ir.Scalar, given: object, said: str) -> None:
    told = refused(of_dtype(dtype), given)
    assert told.startswith(f"number(): argument `x` {said}")
    assert "from the GPU" not in told


def test_an_mbarrier_is_no_argument() -> None:
    with pytest.raises(cl.CompileError, match="the parameter `x` cannot be an mbarrier"):
        bind(of_dtype(cl.mbarrier), 0)


# ---- dtype variables


def axpy(a: T, x: Tensor[T, (N,)], y: Tensor[T, (N,)]) -> None: ...
def any_number(a: U, b: U) -> None: ...


@pytest.mark.parametrize(("name", "dtype"), [("float16", f16), ("float32", f32)])
def test_a_dtype_variable_is_what_the_tensors_say(name: str, dtype: ir.Scalar) -> None:
    x = np.zeros(8, name)
    bound = bind(axpy, 2.0, x, x)
    assert bound.types["a"] is dtype
    assert bound.types["x"].elem is dtype  # type: ignore[union-attr]
    assert bound.values[0] == 2.0


def test_dtype_variables_that_do_not_agree() -> None:
    x = np.zeros(8, np.float32)
    assert "argument `y` has dtype f16, but T is f32, from `x`" in refused(axpy, 1.0, x, x.astype(np.float16))
    assert "argument `x` has dtype f64; T is one of f16, f32" in refused(axpy, 1.0, x.astype(np.float64), x)


@pytest.mark.parametrize(
    ("given", "dtype"), [(1, i32), (1.0, f32), (True, cl.boolean), (np.float16(1), f16), (np.uint8(1), u8)]
)
def test_numbers_alone_decide_a_dtype_variable(given: object, dtype: ir.Scalar) -> None:
    assert bind(any_number, given, given).types == {"a": dtype, "b": dtype}


# ---- tensors


def vectors(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)]) -> None: ...
def matrix(a: Tensor[f32, (M, K)]) -> None: ...
def fixed(a: Tensor[f32, (4, 8)]) -> None: ...
def column(a: Tensor[f32, (M, N), cl.col_major]) -> None: ...
def strided(a: Tensor[f32, (M, N), (K, 1)]) -> None: ...
def anything(a: Tensor[f32, (None, None), (None, None)]) -> None: ...
def padded(a: Tensor[f32, (M, N), (N + 3, 1)]) -> None: ...
def expression(a: Tensor[f32, (M,)], b: Tensor[f32, (M * 2 + 1,)]) -> None: ...
def unknown_dim(a: Tensor[f32, (M * 2,)]) -> None: ...
def aligned(a: Tensor[f32, (N,), cl.align(64)]) -> None: ...
def nested(a: Tensor[f32, Layout(((2, 4), 8), ((8, 16), 1))]) -> None: ...
def same_stride(a: Tensor[f32, (M, N), (K, 1)], b: Tensor[f32, (M, N), (K, 1)]) -> None: ...


def test_a_tensor_tells_its_dims() -> None:
    a = floats(4, 16)
    bound = bind(matrix, a)
    t = bound.types["a"]
    assert isinstance(t, ir.Tensor)
    assert (t.elem, t.space, str(t.layout)) == (f32, "gmem", "(M,K{div=8}):(K{div=8},1)")
    assert bound.dims == {"K": i32, "M": i32} and sorted(bound.values[1:]) == [4, 16]
    assert bound.values[0].pointer == a.ctypes.data


def test_values_come_in_the_order_of_the_kernels_parameters() -> None:
    bound = bind(matrix, floats(4, 16))
    assert dict(zip(bound.dims, bound.values[1:], strict=True)) == {"M": 4, "K": 16}


@pytest.mark.parametrize(
    ("function", "arrays", "said"),
    [
        (vectors, [floats(8), floats(9)], "argument `b` has extent 9, but N is 8, from `a`"),
        (vectors, [floats(8), floats(8, 1)], "argument `b` has shape (8, 1), but Tensor[f32, (N,)] has 1 mode"),
        (matrix, [floats(4, 12)], "`a` has extent 12, the second of (4, 12), but K is declared divisible by 8"),
        (fixed, [floats(4, 9)], "`a` has extent 9, the second of (4, 9), but its annotation says 8"),
        (
            matrix,
            [floats(0, 8)],
            "extent 0, the first of (0, 8), but M is at least 1; if it can be 0, declare it cl.",
        ),
        (matrix, [np.zeros((4, 8))], "argument `a` has dtype f64, but its annotation says f32"),
        (matrix, [floats(8, 8).T], "`a` has strides (1, 8) for its shape (8, 8), but must be row-major, (8, 1)"),
        (column, [floats(8, 8)], "`a` has strides (8, 1) for its shape (8, 8), but must be column-major, (1, 8)"),
        (strided, [floats(8, 16)[:, ::2]], "`a` has stride 2, the second of (16, 2), but its annotation says 1"),
        (padded, [floats(4, 8)], "`a` has stride 8, the first of (8, 1), but N+3 is 11 (N = 8 from `a`)"),
        (expression, [floats(4), floats(8)], "argument `b` has extent 8, but 2*M+1 is 9 (M = 4 from `a`)"),
        (unknown_dim, [floats(4)], "nothing tells M: no argument has it as an extent or stride of its own"),
        (
            anything,
            [floats(4, 8)[::-1]],
            "has stride -8, the first of (-8, 1), but a dim is never negative",
        ),
        (nested, [floats(63)], "has 63 elements, but the layout ((2,4),8):((8,16),1) reaches 64"),
        (nested, [floats(16, 16).T], "must be contiguous to be seen through the layout"),
        (vectors, [[1.0], floats(1)], "argument `a` must be an array of torch, CuPy, JAX or NumPy, not [1.0]"),
        (vectors, [None, floats(1)], "argument `a` must be an array of torch, CuPy, JAX or NumPy, not None"),
        (
            vectors,
            [np.zeros(2, "c8"), floats(2)],
            "argument `a` cannot be read: a kernel cannot take",
        ),
        (
            vectors,
            [np.zeros(2, ">f4"), floats(2)],
            "cannot be read: this array has the byte order of another machine",
        ),
    ],
)
def test_tensors_that_do_not_fit(function: Callable[..., None], arrays: list[Any], said: str) -> None:
    assert said in refused(function, *arrays)


@pytest.mark.parametrize(
    ("function", "array", "dims"),
    [
        (column, floats(8, 4).T, {"M": 4, "N": 8}),
        (strided, floats(4, 24)[:, :8], {"M": 4, "N": 8, "K": 24}),
        (padded, floats(4, 11)[:, :8], {"M": 4, "N": 8}),
        (nested, floats(128), {}),
        (nested, floats(2, 8, 8), {}),
        (matrix, floats(1, 64)[:, :8], {"M": 1, "K": 8}),  # the stride of a single row is never used
        (anything, floats(8, 6)[::2, ::3], {"a_shape0": 4, "a_shape1": 2, "a_stride0": 12, "a_stride1": 3}),
        (
            anything,
            np.broadcast_to(floats(6), (5, 6)),
            {"a_shape0": 5, "a_shape1": 6, "a_stride0": 0, "a_stride1": 1},
        ),
        (anything, floats(0, 6), {"a_shape0": 0, "a_shape1": 6, "a_stride0": 0, "a_stride1": 0}),
    ],
)
def test_tensors_that_fit(function: Callable[..., None], array: Any, dims: dict[str, int]) -> None:
    bound = bind(function, array)
    assert dict(zip(bound.dims, bound.values[1:], strict=True)) == dims


def test_a_stride_that_means_nothing_binds_no_dim() -> None:
    one_row, rows = floats(8, 8)[:1], floats(8, 24)[:1, :8]
    assert bind(same_stride, one_row, rows).values[-1] in (8, 24)
    assert "argument `b` has extent 3" in refused(same_stride, one_row, floats(3, 8))


def test_dims_declared_twice_with_other_facts() -> None:
    other = Dim("N", divisible_by=2)

    def kernel(a: Any, b: Any) -> None: ...

    kernel.__annotations__ |= {"a": Tensor[f32, (N,)], "b": Tensor[f32, (other,)]}
    said = refused(kernel, floats(4), floats(4))
    assert "`b` uses N{div=2}, which another parameter has as N: declare each dim once" in said


def test_bounds_of_dims() -> None:
    def kernel(a: Any) -> None: ...

    kernel.__annotations__["a"] = Tensor[f32, (Dim("L", min=0, max=4),)]
    assert bind(kernel, floats(0)).values[-1] == 0
    assert "has extent 5, but L is declared at most 4" in refused(kernel, floats(5))


def test_alignment_is_part_of_the_type() -> None:
    whole = np.zeros(32, np.uint8)
    for offset, align in ((0, 16), (16, 16), (4, 4), (8, 4)):
        a = whole[offset : offset + 8].view(np.float32)
        bound = bind(vectors, a, a)
        assert bound.types["a"].align == align  # type: ignore[union-attr]
    odd = np.zeros(17, np.uint8)[1:].view(np.float32)
    assert "but must be at a multiple of 4 bytes" in refused(vectors, odd, odd)


def test_alignment_that_the_annotation_asks_for() -> None:
    for size in (128, 200, 1000):  # wherever the host puts it, as on a GPU
        whole = np.zeros(size, np.uint8)
        for a in (whole, whole[64:]):
            assert bind(aligned, a[:8].view(np.float32)).types["a"].align == 64  # type: ignore[union-attr]
        said = refused(aligned, whole[16:24].view(np.float32))
        assert "begins 16 bytes into its memory, but must be at a multiple of 64 bytes" in said


def test_calls_of_equal_types_have_equal_tokens() -> None:
    signature = Signature(vectors)  # type: ignore[arg-type]
    tokens = [signature.bind((floats(n), floats(n)), {}).token for n in (64, 128)]
    assert tokens[0] == tokens[1]


def test_dims_are_as_wide_as_their_values_need(cuda: Any) -> None:
    signature = Signature(vectors)  # type: ignore[arg-type]
    extents = 10, 2**30, 2**30 + 1, 2**31 - 2**16, 2**31 - 2**16 + 1
    bounds = [signature.bind((CudaArray(shape=(n,)),) * 2, {}) for n in extents]
    assert [bound.dims["N"] for bound in bounds] == [i32, i32, i32, i32, i64]
    assert [bound.wide for bound in bounds] == [False, False, True, True, True]
    assert bounds[0].token == bounds[1].token != bounds[2].token == bounds[3].token != bounds[4].token


# ---- TMA


def tiles(a: TmaTensor[bf16, (M, K), (16, 64)], b: TmaTensor[T, (M, N), (16, 64)]) -> None: ...


def test_a_tma_tensor_is_a_request_for_a_descriptor() -> None:
    a, b = np.zeros((4, 64), _bfloat16()), np.zeros((4, 32), np.float32)
    bound = bind(tiles, a, b)
    assert bound.types["a"] == ir.TensorMap(ir.bf16, Layout((M, K), (K, 1)), (16, 64), "128B")
    assert bound.types["b"].swizzle == "none"  # type: ignore[union-attr]  # rows of 256 bytes
    request = bound.values[0]
    assert isinstance(request, MapRequest) and request.name == "a" and request.view.pointer == a.ctypes.data


def _bfloat16() -> Any:
    return pytest.importorskip("ml_dtypes").bfloat16


# ---- None


def optional(a: Tensor[f32, (N,)], bias: Tensor[f32, (M,)] | None = None, count: int | None = None) -> None: ...


def test_a_tensor_that_may_be_left_out() -> None:
    without = bind(optional, floats(4))
    assert without.types["bias"] == Constant(None) and list(without.dims) == ["N"]
    given = bind(optional, floats(4), floats(3), 7)
    assert isinstance(given.types["bias"], ir.Tensor) and given.types["count"] is ir.i32
    assert given.values[2:] == [7, 4, 3]
    assert without.token != given.token


# ---- constants


class Rounding(Enum):
    UP = 1


def constant(n: Constexpr[int]) -> None: ...
def rate(x: Constexpr[float]) -> None: ...
def flag(on: Constexpr[bool]) -> None: ...
def whatever(x: Constexpr[Any]) -> None: ...
def pair(x: Constexpr[tuple[int, int]]) -> None: ...
def maybe(x: Constexpr[int | None]) -> None: ...
def of_type(t: Constexpr[type]) -> None: ...
def one_of(x: Literal["sum", 2, None]) -> None: ...
def of_enum(x: Rounding) -> None: ...
def one_or_text(x: Constexpr[Literal[1] | Optional[str]]) -> None: ...  # noqa: UP045


def test_constants_of_a_type() -> None:
    assert bind(constant, 3).types["n"] == Constant(3, bind(constant, np.int64(3)).types["n"].key)  # type: ignore[union-attr]
    assert type(bind(rate, 2).types["x"].value) is float  # type: ignore[union-attr]
    assert bind(flag, np.bool_(True)).types["on"].value is True  # type: ignore[union-attr]
    assert bind(pair, (1, 2)).types["x"].value == (1, 2)  # type: ignore[union-attr]
    assert bind(maybe, None).types["x"].value is None  # type: ignore[union-attr]
    assert bind(of_type, f32).types["t"].value is f32  # type: ignore[union-attr]
    assert [bind(one_of, x).types["x"].value for x in ("sum", np.int32(2), None)] == ["sum", 2, None]  # type: ignore[union-attr]
    assert bind(of_enum, Rounding.UP).types["x"].value is Rounding.UP  # type: ignore[union-attr]
    assert [bind(one_or_text, x).types["x"].value for x in (1, "a", None)] == [1, "a", None]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("function", "given", "said"),
    [
        (constant, 1.0, "argument `n` must be a compile-time int, not 1.0"),
        (constant, None, "must be a compile-time int, not None"),
        (flag, 1, "must be a compile-time bool, not 1"),
        (rate, "x", "must be a compile-time float, not 'x'"),
        (pair, [1, 2], "must be a compile-time tuple, not [1, 2]"),
        (of_type, 3, "must be a compile-time type, not 3"),
        (maybe, "x", "must be a compile-time int or a compile-time NoneType, not 'x'"),
        (of_enum, 1, "argument `x` must be a compile-time Rounding, not 1"),
        (one_of, "max", "argument `x` must be 'sum' or 2 or None, not 'max'"),
        (one_of, 2.0, "must be 'sum' or 2 or None, not 2.0"),
        (one_or_text, True, "must be a compile-time str or a compile-time NoneType or 1, not True"),
    ],
)
def test_constants_of_another_type(function: Callable[..., None], given: object, said: str) -> None:
    assert said in refused(function, given)


@pytest.mark.parametrize(
    "values",
    [
        (1, True, 1.0, "1", None),
        (0.0, -0.0, 0, False),
        ((1, 2), (1.0, 2), (True, 2), [1, 2]),
        (f32, f16, float),
        (np.float32(1), np.float64(1), np.int32(1)),
        ({"a": 1}, {"a": True}, {"b": 1}),
    ],
)
def test_constants_that_python_takes_for_equal_are_kept_apart(values: tuple[Any, ...]) -> None:
    types = [bind(whatever, value).types["x"] for value in values]
    assert len(set(types)) == len(values)
    again = [bind(whatever, value).types["x"] for value in values]
    assert types == again


def test_not_a_number_is_one_constant() -> None:
    assert bind(whatever, float("nan")).types["x"] == bind(whatever, float("nan")).types["x"]


def adder(n: int) -> Callable[[Any], Any]:
    return lambda x: x + n


def test_functions_are_compared_by_code_and_what_they_close_over() -> None:
    one, same, other = (bind(whatever, f).types["x"] for f in (adder(1), adder(1), adder(2)))
    assert one == same != other
    assert hash(one) == hash(same)
    assert bind(whatever, lambda x: x).types["x"] != bind(whatever, lambda x: x + 1).types["x"]


class Config:
    def __init__(self, tile: int) -> None:
        self.tile = tile


def test_objects_are_compared_by_class_and_state() -> None:
    config = Config(8)
    before = bind(whatever, config).types["x"]
    assert before == bind(whatever, Config(8)).types["x"]
    config.tile = 16
    assert before != bind(whatever, config).types["x"]


def test_what_has_no_content_to_compare_is_compared_by_identity() -> None:
    handle, other = iter(()), iter(())
    assert bind(whatever, handle).types["x"] == bind(whatever, handle).types["x"]
    lock, another = (pytest.importorskip("threading").Lock() for _ in range(2))
    assert bind(whatever, lock).types["x"] == bind(whatever, lock).types["x"] != bind(whatever, another).types["x"]
    assert other is not handle


# ---- structs


@dataclass(frozen=True)
class Params:
    x: Tensor[f32, (N,)]
    scale: f32
    tile: Constexpr[int] = 4


class Pair(NamedTuple):
    first: Params
    many: int


@dataclass(frozen=True)
class Listed:
    scales: list[f32]


def params(x: Any, scale: Any) -> Params:
    return Params(x, scale)


def struct(p: Params, out: Tensor[f32, (N,)]) -> None: ...
def struct_of_structs(p: Pair) -> None: ...
def struct_with_a_list(p: Listed) -> None: ...


def test_structs_are_their_fields() -> None:
    x = floats(8)
    bound = bind(struct, params(x, 2), x)
    p = bound.types["p"]
    assert isinstance(p, Struct) and p.cls is Params and [name for name, _ in p.fields] == ["x", "scale", "tile"]
    assert bound.values[1] == 2.0 and [name for name, _ in bound.arrays] == ["p.x", "out"]
    assert bind(struct_of_structs, Pair(params(x, 1.0), 5)).values[1:] == [1.0, 5, 8]


@dataclass(frozen=True)
class Longer(Params):
    more: int = 0


def test_an_object_of_a_derived_class_keeps_its_methods() -> None:
    @dataclass(frozen=True)
    class Scale:
        by: i32

        def of(self, x: Any) -> Any:
            return x * self.by

    class Negated(Scale):
        def of(self, x: Any) -> Any:
            return -super().of(x)

    @cl.kernel(block=1)
    def scaled(scale: Scale, out: Tensor[i32, (1,)]) -> None:
        out[0] = scale.of(5)

    out = np.zeros(1, np.int32)
    kinds: tuple[Any, Any] = Scale, Negated
    for kind, by, found in ((0, 2, 10), (1, 2, -10), (0, 3, 15), (1, 3, -15)):
        scaled[1](kinds[kind](by), out)
        assert out[0] == found
    x, longer = floats(8), cast("Any", Longer)
    assert "must be a Params, not a Longer, which has further fields" in refused(struct, longer(x, 2), x)


def test_a_class_that_was_defined_again_is_told() -> None:
    def classes() -> tuple[Any, Any]:
        class Mode(Enum):
            FAST = 1

        @dataclass(frozen=True)
        class Scale:
            by: i32

        return Mode, Scale

    mode, scale = classes()

    def kernel(x: Any, scale: Any, mode: Any) -> None: ...

    kernel.__annotations__ = {"x": Tensor[f32, (N,)], "scale": scale, "mode": ConstexprSpec(mode), "return": None}
    bind(kernel, floats(8), scale(2), mode.FAST)
    newer, longer = classes()
    again = "was defined again after the kernel: define the kernel again too"
    assert f"FAST: 1>; Mode {again}" in refused(kernel, floats(8), scale(2), newer.FAST)
    assert f"; Scale {again}" in refused(kernel, floats(8), longer(2), mode.FAST)


@dataclass(frozen=True)
class Holder(Generic[U]):
    it: U


@dataclass(frozen=True)
class Mixed(Generic[U, V]):
    x: Tensor[U, (N,)]
    many: list[Holder[V]]
    limit: V | None


@dataclass(frozen=True)
class OfFloats(Mixed[i32, U]):
    more: U


@dataclass(frozen=True)
class BoundFloats(OfFloats[f32]):
    pass


def generic(p: Mixed[i32, f32]) -> None: ...
def derived(p: OfFloats[f64]) -> None: ...
def derived_twice(p: BoundFloats) -> None: ...
def held(p: Holder[Tensor[f32, (N,)]]) -> None: ...
def of_any(p: Holder[U]) -> None: ...
def of_tensors(p: Mixed[Tensor[f32, (N,)], f32]) -> None: ...


def test_a_generic_struct_has_the_types_that_it_is_given() -> None:
    x = np.zeros(4, np.int32)
    assert bind(generic, Mixed(x, [Holder(2)], 3)).values[1:3] == [2.0, 3.0]
    assert "argument `p.x` has dtype f32, but its annotation says i32" in refused(generic, Mixed(floats(4), [], None))
    assert "argument `p.many.0.it` must be a number of dtype f32, not 'a'" in refused(
        generic, Mixed(x, [Holder("a")], None)
    )
    of_f64: Any = bind(derived, cast("Any", OfFloats)(x, [], 1, 2)).types["p"]
    of_f32: Any = bind(derived_twice, cast("Any", BoundFloats)(x, [], 1, 2)).types["p"]
    assert [[str(t) for _, t in p.fields[2:]] for p in (of_f64, of_f32)] == [["f64", "f64"], ["f32", "f32"]]
    assert "argument `p.x` has dtype f32" in refused(derived_twice, cast("Any", BoundFloats)(floats(4), [], 1, 2))
    assert [name for name, _ in bind(held, Holder(floats(4))).arrays] == ["p.it"]
    assert bind(of_any, Holder(2.5)).values == [2.5]
    with pytest.raises(cl.CompileError, match=r"Tensor\[...\] takes a dtype first, not Tensor\[f32, \(N,\)\]"):
        bind(of_tensors, Mixed(x, [], None))


@pytest.mark.skipif(not hasattr(typing, "TypeAliasType"), reason="`type A = ...` is new in Python 3.12")
def test_names_for_types_stand_for_them() -> None:
    def kernel(row: Any, count: Any, mode: Any) -> None: ...

    alias: Any = getattr(typing, "TypeAliasType")  # noqa: B009
    row, mode = alias("Row", Tensor[U, (N,)], type_params=(U,)), alias("Mode", Literal["up"])
    kernel.__annotations__ |= {"row": row[f32], "count": typing.NewType("Count", int), "mode": Constexpr[mode]}  # type: ignore[misc]
    bound = bind(kernel, floats(4), 3, "up")
    assert bound.values[1] == 3 and str(bound.types["count"]) == "i32"
    assert "`row` has dtype f16, but its annotation says f32" in refused(kernel, np.zeros(4, np.float16), 3, "up")
    assert "`mode` must be 'up', not 'down'" in refused(kernel, floats(4), 3, "down")
    kernel.__annotations__["row"] = row
    assert bind(kernel, np.zeros(4, np.float16), 3, "up").arrays


def test_structs_that_do_not_fit() -> None:
    x = floats(8)
    assert "argument `p` must be a Params, not (" in refused(struct, (x, 2.0), x)
    assert "argument `p` must be a Listed, not 3" in refused(struct_with_a_list, 3)
    assert "argument `p.scale` must be a number of dtype f32, not 'a'" in refused(struct, params(x, "a"), x)
    assert "argument `out` has extent 9, but N is 8, from `p.x`" in refused(struct, params(x, 1.0), floats(9))


def test_a_struct_that_could_change_is_refused() -> None:
    @dataclass
    class Loose:
        x: f32

    def kernel(p: Any) -> None: ...

    kernel.__annotations__["p"] = Loose
    with pytest.raises(cl.CompileError, match="the dataclass Loose is not frozen"):
        bind(kernel, Loose(1.0))  # type: ignore[arg-type]


# ---- no annotation


@pytest.mark.parametrize(
    ("given", "annotation"),
    [
        (floats(3), "Tensor[f32, (M,)]"),
        (np.zeros((2, 3), np.int8), "Tensor[i8, (M, N)]"),
        (floats(3, 4).T, "Tensor[f32, (M, N), cl.col_major]"),
        (floats(3, 8)[:, ::2], "Tensor[f32, (M, N), (None, None)]"),
        (floats(3, 8)[:, :4], "Tensor[f32, (M, N), (None, 1)]"),
        (1, "cl.i32"),
        (1.0, "cl.f32"),
        (True, "cl.boolean"),
        (np.float32(1), "cl.f32"),
        (Pair(params(floats(1), 1.0), 2), "Pair"),
        ("relu", "Constexpr[str]"),
        (None, "Constexpr[None]"),
    ],
)
def test_the_annotation_to_write_is_shown(given: object, annotation: str) -> None:
    def bare(x) -> None: ...  # type: ignore[no-untyped-def]

    dims = {1: ', with `M = cl.dims("M")` before', 2: ', with `M, N = cl.dims("M N")` before'}
    more = dims.get(getattr(given, "ndim", 0), "")
    assert refused(bare, given) == f"bare(): argument `x` has no annotation; write `x: {annotation}`{more}"


@pytest.mark.parametrize("given", [floats(3), floats(3, 4), floats(3, 4).T, floats(3, 8)[:, ::2], 1, 1.0, True])
def test_the_annotation_shown_fits(given: object) -> None:
    def bare(x) -> None: ...  # type: ignore[no-untyped-def]

    annotation = refused(bare, given).partition("write `x: ")[2].partition("`")[0]
    bare.__annotations__["x"] = eval(annotation, {"cl": cl, "Tensor": Tensor, "f32": f32, "M": M, "N": N})
    assert bind(bare, given).values
