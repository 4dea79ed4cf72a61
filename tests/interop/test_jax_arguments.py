"""Functions refuse arrays that JAX traces as they refuse those of NumPy: when they are called, in the same words."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax

import cutelite as cl
from cutelite.dispatch.divert import diverted
from cutelite.kernels.attention import attention as attend
from cutelite.kernels.moe import route
from cutelite.kernels.rows.cross_entropy import cross_entropy
from cutelite.kernels.rows.norm import rms_norm
from cutelite.kernels.rows.reduce import reduced
from cutelite.kernels.rows.sample import sample
from cutelite.kernels.rows.softmax import softmax
from tests.kernels.test_bad_arguments import RIGHT, only_checked, others

LEFT_OUT = {"attention": ("sinks",), "decode": ("starts", "sinks")}
"""Arguments that there are not in JAX."""
UNASKED = "masked", "read-only", "backwards", "of one place", "off by an element"
"""Arrays that JAX has not."""
IN_JAX = (
    "gemm", "attention", "decode", "route", "experts", "grouped.gemm", "grouped.padded", "grouped.along_k",
    "fp8_block.gemm", "mixed.gemm", "rms_norm", "layer_norm", "cross_entropy", "gated", "rope", "embedding", "top_k",
    "quantise", "argmax", "sort", "sample", "histogram", "cumsum", "reduced",
)  # fmt: skip


def refusal(name: str, given: dict[str, Any], traced: bool) -> Exception | None:
    """Return what a call raises: in JAX while it is traced, and nothing runs."""
    arrays = {word: x for word, x in given.items() if isinstance(x, np.ndarray)}
    more = {word: x for word, x in given.items() if word not in arrays}
    try:
        if traced:
            kinds = {word: jax.ShapeDtypeStruct(x.shape, x.dtype) for word, x in arrays.items()}
            jax.eval_shape(lambda arrays: RIGHT[name][0](**arrays, **more), kinds)
        else:
            with diverted(only_checked):
                RIGHT[name][0](**{word: x.copy() for word, x in arrays.items()}, **more)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", IN_JAX)
def test_traced_arrays_are_refused_where_others_are(name: str) -> None:
    given = {word: x for word, x in RIGHT[name][1].items() if word not in (*LEFT_OUT.get(name, ()), "out")}
    assert refusal(name, given, True) is None
    wrong = []
    for turn, word in enumerate([word for word, x in given.items() if isinstance(x, np.ndarray)], len(name)):
        for what, other in others(given[word], turn):
            if what.startswith(UNASKED) or (what == "f64" and not jax.config.jax_enable_x64):
                continue
            asked = given | {word: other}
            real, traced = refusal(name, asked, False), refusal(name, asked, True)
            if isinstance(other, np.generic) and real is not None and traced is not None:
                continue  # to JAX it is an array, without modes
            whole = word in ("target", "places")  # JAX's are taken in any width, and told so
            if isinstance(real, cl.SimError) or (whole and (what == "i16" or "whole numbers" in str(traced))):
                continue
            if (real is None) != (traced is None) or str(real).partition("(")[0] != str(traced).partition("(")[0]:
                wrong.append(f"{word} as {what}: {real!r}, but in JAX {traced!r}"[:300])
    assert not wrong, "\n".join(wrong)


def test_arrays_may_be_larger_than_the_hosts_memory() -> None:
    large = jax.ShapeDtypeStruct((1 << 40, 128), np.float32)
    assert jax.eval_shape(softmax, large).shape == large.shape


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "eps": lambda x: rms_norm(np.ones((3, 8), np.float32), jax.numpy.ones(8), eps=x),
    "offset": lambda x: rms_norm(jax.numpy.ones((3, 8)), offset=x),
    "smoothing": lambda x: cross_entropy(jax.numpy.ones((3, 8)), np.arange(3), smoothing=x),
    "temperature": lambda x: sample(jax.numpy.ones((3, 8)), jax.numpy.ones(3), temperature=x),
    "mode": lambda x: reduced(jax.numpy.ones((3, 8)), "sum", x),
    "normalise": lambda x: route(jax.numpy.ones((3, 8)), 2, normalise=x),
    "window": lambda x: attend(*[jax.numpy.ones((1, 8, 1, 64), jax.numpy.bfloat16)] * 3, window=(x, None)),
    "causal": lambda x: attend(*[jax.numpy.ones((1, 8, 1, 64), jax.numpy.bfloat16)] * 3, causal=x),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_traced_are_named(name: str) -> None:
    with pytest.raises(cl.ArgumentError, match=f"^{name} is traced, and kernels are made for its value"):
        jax.eval_shape(NUMBERS[name], jax.ShapeDtypeStruct((), np.int32))
