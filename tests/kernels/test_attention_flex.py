"""The same functions work in `kernels.attention` and in torch's FlexAttention."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cutelite.kernels.attention import attention

torch = pytest.importorskip("torch")
Mod = Callable[..., Any] | None


def slope(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + (kv_idx - q_idx) * 0.05 * (h + 1)


def near(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + 4.0 / (1 + abs(q_idx - kv_idx))


def squared(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score * score * 0.5 - b


def below(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return kv_idx <= q_idx


def of_prefix(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (kv_idx < 30) | (kv_idx <= q_idx)


def of_document(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (q_idx // 48 == kv_idx // 48) & (q_idx >= kv_idx)


def dilated(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return ((q_idx - kv_idx) % 3 == 0) & (h != 5)


@pytest.mark.parametrize(
    ("score_mod", "mask_mod"),
    [(slope, None), (near, below), (squared, of_prefix), (None, of_document), (slope, dilated)],
)
def test_functions_of_flex_attention(score_mod: Mod, mask_mod: Mod) -> None:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch.manual_seed(0)
    q, k, v = (torch.randn(2, heads, 100, 64, dtype=torch.bfloat16) for heads in (4, 2, 2))
    mask = None if mask_mod is None else create_block_mask(mask_mod, None, None, 100, 100, device="cpu")
    given = (x.float() for x in (q, k, v))
    want, sums = flex_attention(*given, score_mod=score_mod, block_mask=mask, enable_gqa=True, return_lse=True)
    o, lse = attention(q, k, v, score_mod=score_mod, mask_mod=mask_mod, layout="bhsd", return_lse=True)
    np.testing.assert_allclose(o.float().numpy(), want.numpy(), atol=1e-2, rtol=1e-2)
    np.testing.assert_allclose(np.asarray(lse), sums.numpy(), atol=1e-3, rtol=1e-4)
