"""Functions of NumPy and JAX in kernels against themselves: at numbers of all kinds, infinities, NaN."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, boolean, f16, f32, i32, i64
from cutelite.kernels.gemm import gemm
from cutelite.kernels.rows.elementwise import elementwise
from cutelite.lang.array_names import LAX, NN, NUMPY, SPECIAL
from tests.interop.elements import by_kernel

OF_ANY: Any = np
FLOATS = [0.0, 1.0, 0.5, 1.5, 2.5, 2.0, 3.0, 6.0, 7.25, 20.0, 1e-30, 0.3, 0.999, float("inf")]
FLOATS = [*FLOATS, *(-x for x in FLOATS), float("nan")]
INTEGERS = [0, 1, -1, 2, -2, 3, 7, -7, 31, 100, -100]
MODULES = {
    "numpy": NUMPY, "jax.numpy": NUMPY, "jax.nn": NN, "jax.lax": LAX, "jax.scipy.special": SPECIAL,
}  # fmt: skip
TERNARY = {
    "where": lambda f, x, y: f(x > y, x, y), "select": lambda f, x, y: f(x > y, x, y),
    "clamp": lambda f, x, y: f(-1, x, 6), "clip": lambda f, x, y: f(x, -1, 6), "integer_pow": lambda f, x, y: f(x, 3),
    "convert_element_type": lambda f, x, y: f(x, np.float32),
}  # fmt: skip
"""How those are called that take more, or no array."""
DIFFERENT = {
    **dict.fromkeys(("reciprocal i32", "reciprocal bool"), "NumPy's is a whole number"),
    **{
        f"{name} {kind}": "has no integer powers"
        for name in ("float_power", "pow", "power")
        for kind in ("i32", "bool")
    },
    **dict.fromkeys(
        (f"{name} bool" for name in ("floor_divide", "fmod", "mod", "rem", "remainder")), "divides by False"
    ),
    **dict.fromkeys(("add bool", "square bool"), "two bools give an integer, as in Python"),
}
"""Functions that are not computed of some kinds of numbers."""
WHERE_FINITE = "digamma", "float_power", "floor_divide", "fmod", "heaviside", "logaddexp2", "mod", "rem", "remainder"
"""Those whose numbers and results are compared where all are finite: others differ from library to library."""
DTYPES = {"f32": (f32, np.float32, FLOATS), "i32": (i32, np.int32, INTEGERS), "bool": (boolean, bool, [False, True])}


def called(name: str, function: Any, count: int) -> Callable[..., Any]:
    if name in TERNARY:
        return lambda x, y: TERNARY[name](function, x, y)
    return (lambda x, y: function(x)) if count == 1 else function


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions(module: str, kind: str, count: int) -> None:
    if module != "numpy":
        pytest.importorskip("jax")
    if (module, count) == ("jax.nn", 2):
        return  # its second arguments are no arrays
    dtype, own, numbers = DTYPES[kind]
    x = np.array(numbers, own)
    y = x[x != 0] if kind == "i32" else x  # by which integers are divided
    given = (x, x) if count == 1 else (np.repeat(x, len(y)), np.tile(y, len(x)))
    names, calls, wanted = [], [], []
    for name in MODULES[module]:
        function = getattr(importlib.import_module(module), name, None)
        if function is None or DIFFERENT.keys() & {name, f"{name} {kind}"} or (name in TERNARY and count == 1):
            continue
        takes = getattr(function, "nin", 1 if name == "fix" else count)
        if takes != count and name not in TERNARY:  # NumPy would write to the second
            continue
        try:
            want = np.asarray(called(name, function, count)(*given))
        except (TypeError, ValueError):  # takes another number of arguments, or no such numbers
            continue
        if want.dtype.kind in ("ib" if kind == "bool" else "fib") and want.shape == given[0].shape:
            names.append(name)
            calls.append(called(name, function, count))
            wanted.append(want.astype(np.float32))
    if not names:
        return
    found = by_kernel(calls, dtype, *given)
    for name, out, want in zip(names, found, wanted, strict=True):
        compared = (
            np.isfinite(want) & np.isfinite(given[0]) & np.isfinite(given[1]) if name in WHERE_FINITE else slice(None)
        )
        np.testing.assert_allclose(out[compared], want[compared], rtol=2e-5, atol=1e-6, err_msg=f"{module}.{name}")


@pytest.mark.parametrize("module", [module for module in MODULES if module != "jax.numpy"])
def test_every_name_is_one_of_its_module(module: str) -> None:
    """`jax.numpy` leaves out some of NumPy's."""
    if module != "numpy":
        pytest.importorskip("jax")
    assert [name for name in MODULES[module] if not hasattr(importlib.import_module(module), name)] == []


def test_classes_of_numbers_convert() -> None:
    x = np.array([1.7, -2.5, 300.0, 0.0], np.float32)

    @cl.kernel(block=4)
    def kernel(x: Tensor[f32, (4,)], out: Tensor[i64, (3, 4)]) -> None:
        i = cl.thread_idx.x
        out[0, i] = OF_ANY.int64(x[i])
        out[1, i] = x[i].astype(np.int32).to(i64)
        out[2, i] = OF_ANY.bool_(x[i]).to(i64) + i64(OF_ANY.float16(x[i]).dtype == f16)

    out = np.zeros((3, 4), np.int64)
    kernel[1](x, out)
    assert out.tolist() == [[1, -2, 300, 0], [1, -2, 300, 0], [2, 2, 2, 1]]


def test_functions_of_the_library_take_them() -> None:
    jax = pytest.importorskip("jax")
    x = np.linspace(-2, 2, 64).astype(np.float32)

    def gated(v: Any) -> Any:
        return jax.numpy.where(v > 0.0, jax.nn.gelu(v), 0.1 * jax.nn.silu(v)).astype(jax.numpy.float32)

    found = elementwise(gated, (x,))[0]
    np.testing.assert_allclose(found, np.asarray(gated(jax.numpy.asarray(x))), atol=1e-6)
    a = jax.numpy.asarray(x.reshape(8, 8))
    for function in (jax.nn.silu, jax.nn.relu, jax.nn.gelu, jax.numpy.tanh):  # objects of four classes of JAX's
        np.testing.assert_allclose(elementwise(function, (a,))[0], function(a), atol=1e-6)
        b = jax.numpy.eye(8, dtype=jax.numpy.bfloat16)
        found = gemm(a.astype(jax.numpy.bfloat16), b, activation=function).astype(jax.numpy.float32)
        np.testing.assert_allclose(found, function(a), atol=2e-2)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: OF_ANY.interp(x, x, x), r"a kernel has no `numpy\.interp`"),
        (lambda x: OF_ANY.round(x, 2), "rounds to whole numbers, not to 2 decimals"),
        (lambda x: OF_ANY.exp(x, x, x), r"a kernel's `numpy\.exp` does not take these arguments"),
    ],
)
def test_what_a_kernel_has_not(call: Callable[..., Any], said: str) -> None:
    with pytest.raises(cl.CompileError, match=said):
        by_kernel([lambda x, y: call(x)], f32, np.ones(2, np.float32), np.ones(2, np.float32))


def test_a_score_function_of_jax_s_functions_has_derivatives() -> None:
    jax = pytest.importorskip("jax")
    from cutelite.kernels.attention import attention

    jnp, shape = jax.numpy, (1, 32, 1, 64)
    q, k, v = (jax.random.normal(key, shape).astype(jnp.bfloat16) for key in jax.random.split(jax.random.key(0), 3))

    def mod(score: Any, b: Any, h: Any, row: Any, column: Any) -> Any:
        return jnp.where(row >= column, 4.0 * jnp.tanh(score * 0.25) + 0.1 * jnp.float32(row - column), -jnp.inf)

    def exact(q: Any, k: Any, v: Any) -> Any:
        s = jnp.einsum("bqhd,bkhd->bhqk", *(x.astype(jnp.float32) for x in (q, k))) / 8
        s = mod(s, 0, 0, jnp.arange(32)[:, None], jnp.arange(32)[None])
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1), v.astype(jnp.float32))

    def loss(function: Any) -> Any:
        return lambda *x: (function(*x).astype(jnp.float32) ** 2).sum()

    found = jax.grad(loss(lambda *x: attention(*x, score_mod=mod)), (0, 1, 2))(q, k, v)
    for got, want in zip(found, jax.grad(loss(exact), (0, 1, 2))(q, k, v), strict=True):
        got, want = (np.asarray(x, np.float32) for x in (got, want))
        assert np.linalg.norm(got - want) < 1e-2 * np.linalg.norm(want)
