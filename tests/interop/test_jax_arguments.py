"""Functions refuse arrays that JAX traces as they refuse those of NumPy: when they are called, in the same words."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax

import cutelite as cl
from cutelite.dispatch.divert import diverted
from cutelite.kernels.attention import on_jax as attention
from cutelite.kernels.gemm import on_jax_special as special
from cutelite.kernels.moe import on_jax as moe
from cutelite.kernels.rows import on_jax as rows
from cutelite.kernels.rows import on_jax_numbers as numbers
from tests.kernels.test_bad_arguments import RIGHT, only_checked, others

LEFT_OUT = {"attention": ("sinks",), "decode": ("starts", "sinks")}
"""Arguments that there are not in JAX."""
UNASKED = "masked", "read-only", "backwards", "of one place", "off by an element"
"""Arrays that JAX has not."""
IN_JAX: dict[str, Callable[..., Any]] = {
    "gemm": RIGHT["gemm"][0], "attention": RIGHT["attention"][0], "decode": attention.decode, "route": moe.route,
    "experts": moe.experts, "grouped.gemm": special.grouped, "grouped.padded": special.padded,
    "grouped.along_k": special.along_k, "fp8_block.gemm": special.scaled_blocks, "mixed.gemm": special.narrow,
    "rms_norm": rows.rms_norm, "layer_norm": rows.layer_norm, "cross_entropy": rows.cross_entropy,
    "gated": rows.gated, "rope": rows.rope, "embedding": numbers.embedding, "top_k": numbers.top_k,
    "quantise": numbers.quantise, "argmax": numbers.argmax, "sort": numbers.sort, "sample": numbers.sample,
    "histogram": numbers.histogram, "cumsum": numbers.cumsum, "reduced": numbers.reduced,
}  # fmt: skip


def refusal(name: str, given: dict[str, Any], traced: bool) -> Exception | None:
    """Return what a call raises: in JAX while it is traced, and nothing runs."""
    arrays = {word: x for word, x in given.items() if isinstance(x, np.ndarray)}
    more = {word: x for word, x in given.items() if word not in arrays}
    try:
        if traced:
            kinds = {word: jax.ShapeDtypeStruct(x.shape, x.dtype) for word, x in arrays.items()}
            jax.eval_shape(lambda arrays: IN_JAX[name](**arrays, **more), kinds)
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
            whole = word in ("target", "places")  # JAX's are taken in any width, and told so
            if isinstance(real, cl.SimError) or (whole and (what == "i16" or "whole numbers" in str(traced))):
                continue
            if (real is None) != (traced is None) or str(real).partition("(")[0] != str(traced).partition("(")[0]:
                wrong.append(f"{word} as {what}: {real!r}, but in JAX {traced!r}"[:300])
    assert not wrong, "\n".join(wrong)


def test_arrays_may_be_larger_than_the_hosts_memory() -> None:
    large = jax.ShapeDtypeStruct((1 << 40, 128), np.float32)
    assert jax.eval_shape(rows.softmax, large).shape == large.shape
