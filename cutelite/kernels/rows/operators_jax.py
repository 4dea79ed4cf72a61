"""Functions that calls of rows with arrays of JAX go to, under the names of the operators that torch has for them."""

from __future__ import annotations

from typing import Any

from cutelite.kernels.arguments import Misfit
from cutelite.kernels.rows.arrays import RESULTS
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.on_jax import (
    activated,
    activated_backward,
    cross_entropy,
    cross_entropy_backward,
    gated,
    gated_backward,
    norm_backward,
    norm_forward,
    norm_narrow,
    rope,
    softmax,
    softmax_backward,
)
from cutelite.kernels.rows.on_jax_elements import elementwise, made_with_gradients, rope_tables, transposed
from cutelite.kernels.rows.on_jax_numbers import (
    argmax,
    cumsum,
    embedding,
    embedding_backward,
    histogram,
    quantise,
    reduced,
    sample,
    sort_with,
    top_k,
)

__all__ = (
    "activated", "activated_backward", "argmax", "cross_entropy", "cross_entropy_backward", "cumsum", "elementwise",
    "embedding", "embedding_backward", "gated", "gated_backward", "histogram", "made_with_gradients", "norm_backward",
    "norm_forward", "norm_narrow", "quantise", "reduced", "rope", "rope_tables", "sample", "softmax",
    "softmax_backward", "sort_with", "top_k", "transposed",
)  # fmt: skip


def rope_append(*given: Any) -> Any:
    raise Misfit(
        "keys, values and length are changed, and JAX's arrays are never written: call rope_append of "
        "cutelite.kernels.rows.on_jax_elements, which gives them anew"
    )


def transposed_blocks(x: Any, dtype: str) -> tuple[Any, Any]:
    return transposed(x, Narrow(RESULTS[dtype], 128))  # type: ignore[no-any-return]
