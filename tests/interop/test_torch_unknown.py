"""Extents and numbers that nobody knows while torch traces: operators give results that have them."""

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from cutelite.kernels.attention import operators as attentions
from cutelite.kernels.gemm import operators as gemms
from cutelite.kernels.moe import operators as mixtures
from cutelite.kernels.rows import operators as rows
from cutelite.kernels.rows.cross_entropy import cross_entropy
from cutelite.kernels.rows.norm import rms_norm
from cutelite.models import operators as layers

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HOW, RAGGED, LONG = (*(None,) * 4, "bshd"), (*(None,) * 4,), torch.int64


def empty(*shape: Any, dtype: Any = torch.bfloat16) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device=DEVICE)


def differentiated(t: Any) -> Any:
    q = empty(2, t, 2, 16)
    return attentions.attention_backward(q, None, q, q, q, q, empty(2, 2, t, dtype=torch.float32), "", *HOW, False)


def experts(t: Any) -> tuple[torch.Tensor, ...]:
    chosen = empty(t, 2, dtype=LONG), empty(t, 2, dtype=torch.float32)
    return empty(t, 16), empty(4, 48, 16), empty(4, 16, 24), *chosen


def experts_backward(t: Any) -> Any:
    x, gate_up, down, _, weights = given = experts(t)
    return mixtures.experts_backward(x, x, gate_up, down, weights, *mixtures.experts_kept(*given)[1:], True)


CALLS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], list[tuple[Any, ...]]]]] = {
    "gemm": (lambda t: gemms.gemm(empty(t, 16), empty(16, 32)), lambda t: [(t, 32)]),
    "gemm, K": (lambda t: gemms.gemm(empty(3, 8, t), empty(t, 32)), lambda t: [(3, 8, 32)]),
    "gemm.out": (lambda t: gemms.gemm.into(empty(t, 16), empty(16, 32), empty(t, 32)), lambda t: []),
    "attention": (
        lambda t: attentions.attention(*[empty(2, t, 4, 16)] * 3, None, "", *HOW),
        lambda t: [(2, t, 4, 16), (2, 4, t)],
    ),
    "attention_backward": (differentiated, lambda t: [(2, t, 2, 16)] * 3),
    "attention_varlen": (
        lambda t: attentions.attention_varlen(
            *[empty(t, 4, 16)] * 3, None, *[empty(3, dtype=torch.int32)] * 2, "", *RAGGED
        ),
        lambda t: [(t, 4, 16), (4, t)],
    ),
    "decode": (
        lambda t: attentions.decode(empty(t, 1, 4, 16), *[empty(t, 64, 2, 16)] * 2, *[None] * 3, "", *[None] * 3),
        lambda t: [(t, 1, 4, 16), (t, 4, 1)],
    ),
    "decode_latent": (
        lambda t: attentions.decode_latent(empty(t, 1, 4, 24), empty(t, 64, 24), None, None, 16, "", None),
        lambda t: [(t, 1, 4, 16), (t, 4, 1)],
    ),
    "experts": (lambda t: mixtures.experts_alone(*experts(t)), lambda t: [(t, 16)]),
    "experts_kept": (
        lambda t: mixtures.experts_kept(*experts(t)),
        lambda t: [(t, 16), (2 * t, 48), (2 * t,), (t, 2), (4,)],
    ),
    "experts_backward": (experts_backward, lambda t: [(t, 16), (4, 48, 16), (4, 16, 24), (t, 2)]),
    "route": (lambda t: mixtures.route(empty(t, 8), 2, True), lambda t: [(t, 2)] * 2),
    "lookup": (lambda t: layers.lookup(empty(9, 16), empty(t, dtype=LONG), -1), lambda t: [(t, 16)]),
    "linear": (lambda t: layers.dense(empty(t, 16), [empty(32, 16)], None, empty(t, 32)), lambda t: [(t, 32)]),
    "gated_halves": (lambda t: rows.gated_halves(empty(t, 16), "silu"), lambda t: [(t, 8)]),
    "quantise": (lambda t: rows.quantise(empty(t, 256), 128, None, ""), lambda t: [(t, 256), (t, 2)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_fakes_have_extents_that_nobody_knows(name: str) -> None:
    call, shapes = CALLS[name]
    with FakeTensorMode(shape_env=ShapeEnv()):
        unknown = empty(9).nonzero().shape[0]
        found = call(unknown)
        every = [] if found is None else list(found) if isinstance(found, tuple | list) else [found]
        assert [tuple(x.shape) for x in every] == shapes(unknown)


def test_numbers_that_change_between_calls_become_symbols() -> None:
    """torch takes a number that has changed once for one that changes."""

    def function(x: Any, eps: float) -> Any:
        return rms_norm(x, eps=eps).y + cross_entropy(x, torch.arange(3, device=DEVICE), smoothing=eps).loss[:, None]

    x = torch.randn(3, 8, device=DEVICE)
    compiled = torch.compile(function, fullgraph=True, backend="eager")
    for eps in (0.5, 0.25, 0.125, 0.0625):
        assert compiled(x, eps).equal(function(x, eps))
