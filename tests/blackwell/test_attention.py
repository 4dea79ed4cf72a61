"""Attention for Blackwell against a reference in float64, in the simulator and on a GPU with tensor memory."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.attention import create_block_mask, model
from cutelite.kernels.attention.call import attention as hopper
from cutelite.kernels.attention.call import reference
from cutelite.kernels.blackwell.attention import Config
from cutelite.kernels.blackwell.attention_call import attention
from cutelite.toolchain import find
from tests.blackwell import spills

BF16 = ml_dtypes.bfloat16
SLOPES = np.array([0.5, 0.25], np.float32)


def operands(
    batch: int, sq: int, sk: int, heads: tuple[int, int], dims: tuple[int, int], dtype: Any = BF16, times: float = 1.0
) -> tuple[Any, Any, Any]:  # fmt: skip
    draw, (h, hk), (d, dv) = np.random.default_rng(sq + sk), heads, dims
    shapes = (batch, sq, h, d), (batch, sk, hk, d), (batch, sk, hk, dv)
    q, k, v = (draw.standard_normal(shape) for shape in shapes)
    return (q * times).astype(dtype), k.astype(dtype), v.astype(dtype)


def compare(given: tuple[Any, Any, Any], error: float, **how: Any) -> None:
    """Compare output and logsumexps; what was there before is overwritten."""
    q, k, v = given
    out = np.full((*q.shape[:3], v.shape[3]), np.nan, q.dtype)
    found, lse = attention(q, k, v, out, return_lse=True, **how)
    how.pop("config", None)
    want, sums = reference(q, k, v, **how)
    assert found is out
    np.testing.assert_allclose(found.astype(np.float64), want, atol=error, rtol=1e-2)
    np.testing.assert_allclose(lse, sums, atol=3e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("batch", "sq", "sk", "heads", "dims", "how"),
    [
        (1, 300, 400, (2, 1), (64, 64), {}),
        (2, 140, 330, (2, 1), (128, 128), {"causal": True}),
        (1, 400, 90, (1, 1), (64, 64), {"causal": True}),  # the first queries see nothing
        (1, 300, 20, (1, 1), (64, 64), {"causal": "top-left"}),
        (1, 330, 500, (1, 1), (72, 40), {"window": (100, 20)}),
        (1, 1, 1, (1, 1), (8, 8), {}),
        (1, 130, 200, (2, 2), (64, 64), {"softcap": 5.0}),
        (1, 130, 300, (2, 2), (64, 64), {"mask_mod": lambda b, h, i, j: (i + j) % 3 != 0}),
        (1, 130, 300, (2, 2), (64, 64), {"score_mod": lambda s, b, h, i, j: s - SLOPES[h] * (i - j) * 0.01}),
        (1, 64, 200, (1, 1), (128, 64), {"scale": 0.3, "window": (None, 5)}),
    ],
)
@pytest.mark.usefixtures("on_cards")
def test_it_is_softmax(batch: int, sq: int, sk: int, heads: Any, dims: Any, how: Any) -> None:
    compare(operands(batch, sq, sk, heads, dims), 5e-3, **how)


@pytest.mark.parametrize("guess", [True, False])
@pytest.mark.parametrize("dtype", [BF16, np.float16])
@pytest.mark.usefixtures("on_cards")
def test_scores_that_grow_beyond_those_before(dtype: Any, guess: bool) -> None:
    """Keys are taken from the last to the first: the first ones have by far the greatest scores here."""
    q, k, v = operands(1, 140, 650, (1, 1), (64, 64), np.float32)
    k = k * np.exp(-np.arange(650, dtype=np.float32) / 100)[None, :, None, None] * 6
    compare((q.astype(dtype), k.astype(dtype), v.astype(dtype)), 0.02, config=Config(guess=guess))


@pytest.mark.usefixtures("on_cards")
def test_sinks_and_layouts() -> None:
    q, k, v = operands(1, 70, 150, (2, 1), (64, 64))
    sinks = np.array([0.5, 3.0], np.float32)
    plain, lse = attention(q, k, v, return_lse=True)
    found = attention(q, k, v, sinks=sinks)
    share = 1 / (1 + np.exp(sinks[None, :, None] - lse))
    np.testing.assert_allclose(found.astype(float), plain.astype(float) * share.swapaxes(1, 2)[..., None], atol=4e-3)
    by_head = attention(*(x.swapaxes(1, 2).copy() for x in (q, k, v)), layout="bhsd")
    np.testing.assert_array_equal(by_head.swapaxes(1, 2), plain)


def test_nothing_to_see() -> None:
    q, k, v = operands(1, 3, 4, (1, 1), (64, 64))
    out, lse = attention(q, k[:, :0], v[:, :0], return_lse=True)
    assert not out.any() and np.isneginf(lse).all()
    assert attention(q[:, :0], k, v).shape == (1, 0, 1, 64)


@pytest.mark.parametrize(("how", "dim"), [({}, 64), ({"causal": True}, 128)], ids=["full", "causal"])
def test_the_checker_finds_nothing(how: Any, dim: int, checked: Callable[[int], None]) -> None:
    checked(2)
    compare(operands(1, 140, 400, (1, 1), (dim, dim), times=20.0), 0.03, **how)


@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize("arch", spills.ARCHS)
def test_nothing_is_spilled(arch: str) -> None:
    """Two of the kernels; `tests.blackwell.spills` compiles all. One with a function has bytes too many: places are
    computed anew where a block is taken again. Held in registers meanwhile, they were 1552 bytes."""
    wanted, most = "attention bfloat16 128 128 causal softcap", 0
    if arch == "sm_103a":
        wanted, most = "attention bfloat16 64 64 full score_mod", 64
    (found,) = (spills.launched(run) for name, run in spills.attentions() if name == wanted)
    assert found is not None
    kernel, args = found
    made = kernel.compile(*args, arch=arch)
    assert made.spills <= most and len(made.warnings) <= (made.spills > 0)


def test_attention_of_the_library_is_this_one_on_tensor_memory() -> None:
    """`cutelite.kernels.attention` takes it for a GPU that has it; what it has not is refused by name."""
    given = operands(1, 40, 50, (2, 1), (64, 64))
    np.testing.assert_array_equal(hopper(*given, causal=True), attention(*given, causal=True))
    mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 40, 50, "cpu")
    for name, how in ("block_mask", {"block_mask": mask}), ("config", {"config": model.Config()}):
        with pytest.raises(ValueError, match=f"{name}= is for Hopper"):
            hopper(*given, **how)


def test_what_cannot_be_is_refused() -> None:
    q, k, v = operands(1, 8, 8, (1, 1), (192, 192))
    with pytest.raises(cl.ArgumentError, match="q has heads of 192, and these kernels take up to 128"):
        attention(q, k, v)
    q, k, v = operands(1, 8, 8, (3, 2), (64, 64))
    with pytest.raises(cl.ArgumentError, match="q has 3 heads"):
        attention(q, k, v)
    with pytest.raises(ValueError, match=r"layout is .*, but must be one of"):
        attention(q, k, v, layout="sbhd")
    with pytest.raises(ValueError, match=r"scale is .*, but must be a number from 1e-15 to 1e\+30"):
        attention(q[:, :, :2], k, v, scale=0.0)
