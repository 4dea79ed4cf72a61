"""Functions that make results of a GEMM's sums, with tensors by row, column and element and several results."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from common import array, poisoned, to_numpy
from cutelite.kernels.gemm import Config, Finish, Prepare, gemm, grouped
from cutelite.kernels.rows import gates
from tests.pairs import in_pairs
from tests.run.test_gemm import close, operand

pytestmark = pytest.mark.usefixtures("everywhere")

SMALL = Config((64, 128), True, (1, 1), stages=3)
CONFIGS = [
    SMALL,
    Config((128, 128), cluster=(1, 2), stages=3),
    Config((128, 128), cluster=(1, 1), stages=4, together=2),
]


def operands(m: int, n: int, k: int) -> tuple[Any, Any, Any]:
    """A, B and their product in f64."""
    rng = np.random.default_rng(m)
    a, b = (operand(rng, size, k, dtype="bfloat16", transposed=False) for size in (m, n))
    return a, b.T, to_numpy(a).astype(np.float64) @ to_numpy(b).T.astype(np.float64)


def everything(piece: Any, bias: Any, factor: Any, other: Any, most: Any, blocks: Any) -> None:
    x = piece.sums * piece.by_row(factor) + piece.by_column(bias) + piece.by_element(other)
    x = x * piece.by_row(blocks, every=128)
    piece.result(x)
    piece.put_rows(most, piece.of_rows(abs(x), "max"))


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_tensors_by_row_column_and_element_and_maxima_of_rows(config: Config) -> None:
    (m, n, k), rng = (97, 200, 136), np.random.default_rng(2)
    a, b, right = operands(m, n, k)
    bias, factor = array(rng.standard_normal(n), "float32"), array(rng.standard_normal(m), "bfloat16")
    other, most = operand(rng, m, n, dtype="bfloat16", transposed=False), poisoned(m, 4, dtype="float32")
    blocks = array(rng.standard_normal((m, 2)), "float32")
    d = gemm(a, b, alpha=0.5, finish=Finish(everything, (bias, factor, other, most, blocks)), config=config)
    right = 0.5 * right * to_numpy(factor)[:, None] + to_numpy(bias) + to_numpy(other)
    right = right * to_numpy(blocks).repeat(128, 1)[:, :n]
    assert close(d, right)
    parts = np.pad(np.abs(right), ((0, 0), (0, 56))).reshape(m, 4, 64).max(2)
    assert close(most, parts, 1e-4)


def test_neighbouring_columns_make_one() -> None:
    """SwiGLU where columns of the gate and of `up` take turns."""

    def swiglu(piece: Any) -> None:
        gate, up = piece.pairs(piece.sums)
        piece.result(gates.silu(gate, False)[0] * up)

    a, b, right = operands(70, 304, 136)
    for config in CONFIGS[:2]:
        d = gemm(a, b, finish=Finish(swiglu, columns=128, paired=True), config=config)
        gate, up = right[:, ::2], right[:, 1::2]
        assert tuple(d.shape) == (70, 152) and close(d, gate / (1 + np.exp(-gate)) * up, 2e-2)


def test_results_in_fp8_with_a_scale_for_each_row_of_a_piece() -> None:
    def quantised(piece: Any, scales: Any) -> None:
        scale = max(piece.of_rows(abs(piece.sums), "max"), 1e-12) * (1.0 / 448.0)
        piece.put_rows(scales, scale)
        piece.result(piece.sums / scale)

    a, b, right = operands(70, 272, 136)
    out, scales = poisoned(70, 272, dtype="float8_e4m3fn"), poisoned(70, 3, dtype="float32")
    gemm(a, b, out, finish=Finish(quantised, (scales,), columns=128), config=SMALL)
    whole = to_numpy(out).astype(np.float64) * to_numpy(scales).repeat(128, 1)[:, :272]
    assert close(whole, right, 4e-2)
    assert close(scales, np.pad(np.abs(right), ((0, 0), (0, 112))).reshape(70, 3, 128).max(2) / 448, 1e-4)


@pytest.mark.parametrize("races", [False, True])
def test_queries_keys_and_values_with_rotation_and_a_cache(races: bool, checked: Callable[[int], None]) -> None:
    """One head is a piece: queries are the result, keys and values go to rows of a cache; some rows to none."""
    if races:
        checked(2)
    m, k, heads, dim = 41, 136, 2, 32 if races else 64
    columns = (heads + 2) * dim

    def attention_inputs(piece: Any, cos: Any, sin: Any, keys: Any, values: Any, slots: Any) -> None:
        left, right = piece.halves(piece.sums)
        c, s = piece.halves(piece.by_element(cos, 0))[0], piece.halves(piece.by_element(sin, 0))[0]
        turned = piece.beside(left * c - right * s, right * c + left * s)
        if piece.column < heads * dim:
            piece.result(turned)
        elif piece.column < (heads + 1) * dim:
            piece.store(turned, keys, 0, slots)
        else:
            piece.store(piece.sums, values, 0, slots)

    rng = np.random.default_rng(1)
    a, b, right = operands(m, columns, k)
    angles = rng.standard_normal((m, dim // 2))
    cos, sin = (array(np.concatenate([f(angles)] * 2, 1), "float32") for f in (np.cos, np.sin))
    q, (keys, values) = poisoned(m, heads * dim, dtype="bfloat16"), (poisoned(64, dim, dtype="bfloat16") for _ in "kv")
    slots = rng.permutation(64)[:m]
    slots[[3, 40]] = -1
    finish = Finish(attention_inputs, (cos, sin, keys, values, array(slots, "int32")), columns=dim)
    gemm(a, b, q, finish=finish, config=SMALL)
    parts = right.reshape(m, heads + 2, dim)
    left, other = parts[:, :-1, : dim // 2], parts[:, :-1, dim // 2 :]
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    turned = np.concatenate([left * c - other * s, other * c + left * s], 2)
    assert close(q, turned[:, :heads].reshape(m, -1))
    written = slots[slots >= 0]
    assert (
        close(to_numpy(keys)[written], turned[slots >= 0, heads])
        and np.isnan(np.delete(to_numpy(keys), written, 0)).all()
    )
    assert close(to_numpy(values)[written], parts[slots >= 0, -1])
    assert np.isnan(np.delete(to_numpy(values), written, 0)).all()


def test_any_column_and_any_number_of_columns() -> None:
    """Tensors of 73 and 69 columns, read from column 1 and written from column 4 on: one number at once. And a mask."""

    def moved(piece: Any, other: Any, kept: Any, target: Any) -> None:
        piece.result(piece.sums * piece.by_element(kept) + piece.by_element(other, piece.column + 1))
        piece.store(piece.sums, target, piece.column + 4)

    a, b, right = operands(70, 72, 64)
    other = array(np.arange(70.0 * 73).reshape(70, 73), "float32")
    kept, whole = array(np.arange(70 * 72).reshape(70, 72) % 3 > 0, "bool"), poisoned(70, 72, dtype="float32")
    d = gemm(a, b, poisoned(70, 72, dtype="float32"), finish=Finish(moved, (other, kept, whole[:, :69])), config=SMALL)
    np.testing.assert_allclose(to_numpy(d), right * to_numpy(kept) + to_numpy(other)[:, 1:], 1e-5, 1e-3)
    np.testing.assert_allclose(to_numpy(whole)[:, 4:69], right[:, :65], 1e-5, 1e-3)
    assert np.array_equal(to_numpy(whole)[:, 69:], to_numpy(poisoned(70, 3, dtype="float32")), equal_nan=True)


@pytest.mark.parametrize(
    ("config", "dtype", "batches"), in_pairs([None, *CONFIGS], ["bfloat16", "float8_e4m3fn"], [(), (2,)])
)
def test_nothing_is_stored_behind_the_products_columns(config: Config | None, dtype: str, batches: Any) -> None:
    """Results and another tensor that are wider than the product: pieces, and tiles, that end within and behind it."""

    def finish(piece: Any, target: Any) -> None:
        piece.result(piece.sums, piece.column + 16)
        piece.store(piece.sums, target, piece.column + 3)

    (m, n, k), rng = (70, 136, 16), np.random.default_rng(3)
    a, b = (array(rng.integers(-1, 2, size), "bfloat16") for size in ((*batches, m, k), (n, k)))
    out, target = poisoned(*batches, m, 256, dtype=dtype), poisoned(prod(batches) * m, 256, dtype=dtype)
    gemm(a, b.T, out, finish=Finish(finish, (target,), 32), config=config)
    right = np.asarray(to_numpy(a) @ to_numpy(b).T, to_numpy(out).dtype)
    for found, at in (out, 16), (target, 3):
        held = to_numpy(found).reshape(-1, 256)
        assert np.array_equal(held[:, at : at + n], right.reshape(-1, n))
        assert np.isnan(np.delete(held, range(at, at + n), 1).astype(float)).all()


def test_the_columns_of_a_half_are_those_of_a_product() -> None:
    """Halves of 80 columns in pieces of 32: maxima of rows, and a tensor by column, without what lies behind."""

    def finish(piece: Any, bias: Any, most: Any, halves: Any) -> None:
        x = piece.sums * piece.by_column(bias)
        piece.put_rows(most, piece.of_rows(abs(x), "max"))
        piece.result(x)
        piece.store(piece.others, halves)

    a, b, right = operands(70, 160, 64)
    bias, most = array(np.arange(80.0), "float32"), poisoned(70, 3, dtype="float32")
    halves = poisoned(70, 96, dtype="bfloat16")
    d = gemm(a, b, finish=Finish(finish, (bias, most, halves), 64, halves=True), config=SMALL)
    left, other = right[:, :80] * np.arange(80), right[:, 80:]
    assert close(d, left) and close(to_numpy(halves)[:, :80], other)
    assert np.isnan(to_numpy(halves)[:, 80:].astype(float)).all()
    assert close(most, np.pad(np.abs(left), ((0, 0), (0, 16))).reshape(70, 3, 32).max(2), 1e-4)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_what_is_no_function_for_a_gemm_is_refused_by_name(library: str) -> None:
    module: Any = pytest.importorskip(library)
    dtype: Any = module.float16
    a, b = module.ones((64, 64), dtype=dtype), module.ones((64, 72), dtype=dtype)
    ends = module.ones(1, dtype=module.int32)
    for name, kind in ("finish", Finish), ("prepare", Prepare):
        wrong: dict[str, Any] = {
            f"{name} is .*, but must be a {kind.__name__}": gates.silu,
            f"tensors of {name}= are a .*, but must be a tuple of arrays": kind(gates.silu, a),
            rf"tensors\[1\] of {name}= is not an array, but a float": kind(gates.silu, (a, 2.0)),
        }
        for message, given in wrong.items():
            with pytest.raises(ValueError, match=message):
                gemm(a, b, **{name: given})
            if kind is Finish:
                with pytest.raises(ValueError, match=message):
                    grouped.gemm(a, b.T[None], ends, finish=given)


def test_refusals() -> None:
    a, b, _ = operands(64, 72, 64)
    plain = Finish(lambda piece: piece.result(piece.sums))
    with pytest.raises(ValueError, match="with finish= there are no c"):
        gemm(a, b, bias=array(np.ones(72), "float32"), finish=plain)
    gemm(a, b, finish=plain)
    with pytest.raises(ValueError, match="pieces have 16 to 256 columns"):
        gemm(a, b, finish=Finish(plain.function, columns=40))
    with pytest.raises(ValueError, match="pieces of 48 columns, which do not divide the tile"):
        gemm(a, b, finish=Finish(plain.function, columns=48), config=SMALL)
    with pytest.raises(ValueError, match="of rank 1 or 2 and contiguous"):
        gemm(a, b, finish=Finish(lambda piece, x: None, (b,)))
    with pytest.raises(TypeError, match=r"finish must be a function of \(piece\), and this one cannot be called so"):
        gemm(a, b, finish=Finish(lambda piece, x: None))
    with pytest.raises(TypeError, match=r"finish must be a function of \(piece, tensors\[0\]\), and this one"):
        gemm(a, b, finish=Finish(plain.function, (array(np.ones(72), "float32"),)))  # known, but not with a tensor
    with pytest.raises(TypeError, match="finish is None, but must be a function"):
        gemm(a, b, finish=Finish(None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "what"), [(lambda sums: sums * 2.0, "a run-time vec<f32,4>"), (lambda sums: 2.0, "2.0")]
)
def test_a_function_that_returns_its_results_is_refused(function: Any, what: str) -> None:
    @cl.kernel(block=32)
    def kernel() -> None:
        Finish(function).make(cl.full((4,), 1.0, cl.f32), ())

    with pytest.raises(cl.CompileError, match=f"for `finish` returns {what}, which is stored nowhere") as caught:
        kernel[1]()
    assert caught.value.span is not None and caught.value.span.filename == __file__


def of_rank(rank: int, found: str, method: str) -> str:
    return f"`{method}` takes a tensor of rank {rank}, not {found}"


NUMBERS = np.ones(72, np.float32)
MISTAKES: dict[str, tuple[Callable[..., Any], str]] = {
    "nothing": (lambda p, t, u: p.result(None), "a vector of 32 numbers, as `piece.sums` is, not None"),
    "a number": (lambda p, t, u: p.result(2.0), "a vector of 32 numbers, .* not 2.0"),
    "a half": (lambda p, t, u: p.result(p.halves(p.sums)[0]), "a vector of 32 numbers, .* not a run-time vec<f32,16>"),
    "no halves": (lambda p, t, u: p.store(p.others, u), "a vector of 32 numbers, .* not None"),
    "by row": (lambda p, t, u: p.result(p.by_row(u)), of_rank(1, "one of rank 2", "by_row")),
    "by column": (lambda p, t, u: p.result(p.by_column(u)), of_rank(1, "one of rank 2", "by_column")),
    "by element": (lambda p, t, u: p.result(p.by_element(t)), of_rank(2, "one of rank 1", "by_element")),
    "rows": (lambda p, t, u: p.put_rows(t, p.of_rows(p.sums)), of_rank(2, "one of rank 1", "put_rows")),
    "a store": (lambda p, t, u: p.store(p.sums, t), of_rank(2, "one of rank 1", "store")),
    "captured": (lambda p, t, u: p.result(p.by_column(NUMBERS)), of_rank(1, "a ndarray", "by_column")),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_a_function_are_told_at_its_line(name: str) -> None:
    function, message = MISTAKES[name]
    a, b, _ = operands(64, 72, 64)
    with pytest.raises(cl.CompileError, match=message) as caught:
        gemm(a, b, finish=Finish(function, (array(NUMBERS, "float32"), array(np.ones((64, 72)), "bfloat16"))))
    assert caught.value.span is not None and caught.value.span.filename == __file__
