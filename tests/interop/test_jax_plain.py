"""Functions of rows that are given JAX's arrays, traced or not: they give JAX's arrays, as of NumPy's NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

import cutelite as cl
from cutelite.kernels.rows.cross_entropy import cross_entropy, cross_entropy_backward
from cutelite.kernels.rows.elementwise import elementwise
from cutelite.kernels.rows.embedding import embedding, embedding_backward
from cutelite.kernels.rows.gates import activated, activated_backward, gated, gated_backward
from cutelite.kernels.rows.histogram import histogram
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.norm import Normed, layer_norm, norm_backward, rms_norm
from cutelite.kernels.rows.quantise import quantise
from cutelite.kernels.rows.reduce import reduced
from cutelite.kernels.rows.rope import rope
from cutelite.kernels.rows.rope_tables import rope_tables
from cutelite.kernels.rows.sample import sample
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import argmax, top_k
from cutelite.kernels.rows.softmax import log_softmax, softmax, softmax_backward
from cutelite.kernels.rows.sort import sort
from cutelite.kernels.rows.transpose import transposed
from tests.kernels.test_bad_arguments import RIGHT

X, Y = (np.sin(np.arange(160.0) * by).reshape(4, 40).astype(np.float32) for by in (1, 2))
ROWS = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
TARGET = np.array([3, 0, -100, 39])
HEADS, ANGLES = X.reshape(1, 4, 2, 20), X[:, :10]

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "softmax": (softmax, (X,)),
    "log_softmax": (log_softmax, (X,)),
    "softmax_backward": (lambda dy, y: softmax_backward(dy, y, log=True), (X, Y)),
    "rms_norm": (lambda x, w, r: rms_norm(x, w, residual=r, offset=1.0), (X, X[0], Y)),
    "layer_norm": (lambda x, w, b: layer_norm(x, w, b), (X, X[0], Y[0])),
    "rms_norm, quantised": (lambda x, w, r: rms_norm(x, w, residual=r, narrow=Narrow(block=128)), (X, X[0], Y)),
    "layer_norm, quantised": (lambda x, w, b: layer_norm(x, w, b, narrow=Narrow(cl.e5m2)), (X, X[0], Y[0])),
    "norm_backward": (
        lambda dy, x, m, r, w: norm_backward(dy, Normed(None, x, m, r), w, bias=True), (X, Y, ROWS, ROWS, X[0])
    ),
    "norm_backward, a bias alone": (
        lambda dy, x, m, r, a: norm_backward(dy, Normed(None, x, m, r), bias=True, add=a), (X, Y, ROWS, ROWS, X)
    ),
    "cross_entropy": (lambda x, t: cross_entropy(x, t, smoothing=0.1, z=0.01), (X, TARGET)),
    "cross_entropy_backward": (cross_entropy_backward, (ROWS, X, TARGET, ROWS)),
    "activated": (lambda x: activated(x, "gelu"), (X,)),
    "activated_backward": (lambda dy, x: activated_backward(dy, x, "gelu"), (X, Y)),
    "gated": (gated, (X, Y)),
    "gated_backward": (gated_backward, (X, Y, X)),
    "rope": (rope, (HEADS, HEADS, ANGLES, ANGLES)),
    "rope of queries": (lambda q, c, s: rope(q, None, c, s, interleaved=True)[0], (HEADS, ANGLES, ANGLES)),
    "rope_tables": (lambda p, f: rope_tables(p, f, "bf16"), (TARGET.astype(np.int32), ROWS)),
    "embedding": (lambda table, places: embedding(table, places, padding=0), (X, TARGET % 4)),
    "embedding_backward": (lambda dy, places: embedding_backward(dy, places, 7), (X, TARGET % 7)),
    "top_k": (lambda x: top_k(x, 3), (X,)),
    "argmax": (argmax, (X,)),
    "sort": (lambda x: sort(x, descending=True), (X[0],)),
    "sort with values": (sort, (X[0], Y[0])),
    "reduced": (lambda x: reduced(x, "max", 0), (X,)),
    "sample": (lambda x, chances: sample(x, chances, top_k=5), (X, ROWS / 5)),
    "cumsum": (cumsum, (X,)),
    "quantise": (lambda x: quantise(x, Narrow(cl.e5m2, 128)), (X,)),
    "quantise a gate": (lambda x, up: quantise(x, up=up, activation="gelu"), (X, Y)),
    "histogram": (lambda x: histogram(x, 7, -1.0, 1.0), (X,)),
    "transposed": (lambda x: transposed(x, "f16"), (X,)),
    "transposed in blocks": (lambda x: transposed(x, Narrow(block=128)), (X,)),
    "elementwise": (lambda x, y: elementwise(lambda a, b: max(a, b), (x, y)), (X, Y)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls_give_what_those_of_numpy_give(name: str) -> None:
    """Also of a batch: the arrays as they are, and the other way round."""
    function, given = CALLS[name]
    arrays, turned = [jnp.asarray(x) for x in given], [np.ascontiguousarray(x[::-1]) for x in given]
    right, plain, traced = function(*given), function(*arrays), jax.jit(function)(*arrays)
    batch = jax.vmap(function)(*(jnp.stack([x, y]) for x, y in zip(arrays, turned, strict=True)))
    assert type(right) is type(plain) is type(traced) or isinstance(traced, jax.Array)
    both = jax.tree.map(lambda x, y: np.stack([x, y]), right, function(*turned))
    for found, wanted in (plain, right), (traced, right), (batch, both):
        leaves = zip(*(jax.tree.leaves(x, is_leaf=lambda x: x is None) for x in (found, wanted)), strict=True)
        for mine, other in leaves:
            assert (mine is None) == (other is None)
            if mine is not None:
                assert isinstance(mine, jax.Array)
                assert mine.dtype == other.dtype or other.dtype == np.int64
                mine, other = np.asarray(mine, np.float64), np.asarray(other, np.float64)
                np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


def test_gradients_go_through_results_that_have_them() -> None:
    def loss(x: Any, w: Any) -> Any:
        made = rms_norm(x, w, residual=2 * x)
        of_rows = cross_entropy(made.y, jnp.asarray(TARGET))
        return of_rows.loss.sum() + (made.total**2).sum() + made.rstd.sum() + of_rows.lse.sum()

    def right(x: Any, w: Any) -> Any:
        total = 3 * x
        y = total / jnp.sqrt((total**2).mean(-1, keepdims=True) + 1e-6) * w
        picked = jnp.take_along_axis(jax.nn.log_softmax(y), jnp.maximum(TARGET, 0)[:, None], 1)[:, 0]
        return -jnp.where(TARGET >= 0, picked, 0).sum() + (total**2).sum()

    x, w = jnp.asarray(X), jnp.asarray(Y[0])
    for mine, other in zip(*(jax.jit(jax.grad(f, (0, 1)))(x, w) for f in (loss, right)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-5)


def test_places_of_bytes_have_a_gradient() -> None:
    places = TARGET % 7
    right = embedding_backward(X, places, 7)
    np.testing.assert_allclose(embedding_backward(jnp.asarray(X), jnp.asarray(places, jnp.uint8), 7), right, rtol=1e-6)


WRITING = {
    "gated_product": "halves", "appended_product": "keys", "scale": "x", "rope_append": "keys",
    "adamw": r"parameters\[0\]", "gemm_pointers": "out", "cross_entropy_gradient": "out",
}  # fmt: skip
"""Functions that write to an argument: JAX's arrays are never written."""
APART = 0.0 if jax.default_backend() == "cpu" else 1e-2
"""How far results may be from NumPy's, by their norm: those of a GPU are rounded otherwise than the simulator's."""
LEFT = "grouped.padded", "attention_varlen"
"""Rows of their results belong to nobody, and are not written."""


def as_jax(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return type(x)(*map(as_jax, x)) if hasattr(x, "_fields") else type(x)(map(as_jax, x))
    return jnp.asarray(x) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize("name", [name for name in RIGHT if not name.startswith("blackwell")])
def test_every_function_gives_arrays_of_jax_for_those(name: str) -> None:
    function, given = RIGHT[name]
    arrays = {word: as_jax(x) for word, x in given.items() if word != "out"}
    given = {word: x.copy() if isinstance(x, np.ndarray) else x for word, x in given.items()}
    if name in WRITING:
        with pytest.raises((ValueError, TypeError), match=WRITING[name]):
            function(**arrays)
    else:
        pairs = zip(*(jax.tree.leaves(each) for each in (function(**arrays), function(**given))), strict=True)
        for mine, right in pairs:
            assert isinstance(mine, jax.Array)
            assert mine.shape == right.shape
            mine, right = np.asarray(mine, np.float64), np.asarray(right, np.float64)
            assert name in LEFT or np.linalg.norm(mine - right) <= APART * np.linalg.norm(right)


OUTSIDE = (
    "gated_gradient", "rotated_product", "summed_product", "normed_product", "grouped.gemm of rows",
    "attention_backward", "attention_varlen_backward", "combine", "experts_kept", "experts_backward", "route_backward",
)  # fmt: skip
"""Parts of other functions, which are no calls of their own within JAX's transforms."""


@pytest.mark.parametrize("name", [name for name in RIGHT if not name.startswith("blackwell") and name not in WRITING])
def test_every_function_is_a_call_within_jit(name: str) -> None:
    function, given = RIGHT[name]
    given = {word: as_jax(x) for word, x in given.items() if word not in ("out", "block_mask", "config")}
    arrays = {word: x for word, x in given.items() if any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(x))}
    constants = {word: x for word, x in given.items() if word not in arrays}
    traced = jax.jit(lambda arrays: function(**arrays, **constants))
    if name in OUTSIDE:
        with pytest.raises((ValueError, TypeError), match=r"within jax\.jit|within JAX's transforms there is no rows="):
            traced(arrays)
        return
    for mine, right in zip(*(jax.tree.leaves(x) for x in (traced(arrays), function(**given))), strict=True):
        if name not in LEFT:
            np.testing.assert_array_equal(np.asarray(mine, np.float64), np.asarray(right, np.float64))
