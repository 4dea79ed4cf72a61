"""The same functions work in `kernels.attention` and in torch's FlexAttention."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cutelite.kernels.attention import attention

torch = pytest.importorskip("torch")
Mod = Callable[..., Any] | None

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


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
    q, k, v = (torch.randn(2, heads, 100, 64, dtype=torch.bfloat16, device=DEVICE) for heads in (4, 2, 2))
    mask = None if mask_mod is None else create_block_mask(mask_mod, None, None, 100, 100, device=DEVICE)
    given = (x.float() for x in (q, k, v))
    want, sums = flex_attention(*given, score_mod=score_mod, block_mask=mask, enable_gqa=True, return_lse=True)
    o, lse = attention(q, k, v, score_mod=score_mod, mask_mod=mask_mod, layout="bhsd", return_lse=True)
    np.testing.assert_allclose(o.float().cpu().numpy(), want.cpu().numpy(), atol=1e-2, rtol=1e-2)
    np.testing.assert_allclose(lse.cpu().numpy(), sums.cpu().numpy(), atol=1e-3, rtol=1e-4)


NUMBERS = torch.arange(200, device=DEVICE) // 37


def of_documents(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (NUMBERS[q_idx] == NUMBERS[kv_idx]) & (q_idx >= kv_idx)


@pytest.mark.parametrize("mask_mod", [below, of_documents, dilated])
def test_block_masks_of_flex_attention(mask_mod: Callable[..., Any]) -> None:
    from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

    from cutelite.kernels.attention import create_block_mask as create_ours

    torch.manual_seed(0)
    q, k, v = (torch.randn(1, heads, 200, 64, dtype=torch.bfloat16, device=DEVICE) for heads in (2, 1, 1))
    mask = create_block_mask(mask_mod, None, None, 200, 200, device=DEVICE, BLOCK_SIZE=(128, 64))
    bias = torch.linspace(-1, 1, 200, device=DEVICE)

    def biased(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score + bias[kv_idx] * h

    given = (x.float() for x in (q, k, v))
    want = flex_attention(*given, score_mod=biased, block_mask=mask, enable_gqa=True)
    for given_mask in (mask, create_ours(mask_mod, None, None, 200, 200, DEVICE, (128, 64))):
        o = attention(q, k, v, score_mod=biased, block_mask=given_mask, layout="bhsd")
        np.testing.assert_allclose(o.float().cpu().numpy(), want.cpu().numpy(), atol=1e-2, rtol=1e-2)
    counts, blocks = [[[1, 1]]], [[[[1, 0, 2, 3], [3, 0, 1, 2]]]]
    lists = [torch.tensor(x, dtype=torch.int32, device=DEVICE) for x in (counts, blocks)]
    mask = BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=(128, 64))  # without a function: keys 64 to 127, and 192 on
    o = attention(q, k, v, block_mask=mask, layout="bhsd")
    want = flex_attention(*(x.float() for x in (q, k, v)), mask_mod_of(mask), enable_gqa=True)
    np.testing.assert_allclose(o.float().cpu().numpy(), want.cpu().numpy(), atol=1e-2, rtol=1e-2)


def mask_mod_of(mask: Any) -> Callable[..., Any]:
    """The same as a score function: query blocks of 128 see keys 64 to 127, and those behind 191."""

    def scored(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        seen = torch.where(q_idx < 128, (kv_idx >= 64) & (kv_idx < 128), kv_idx >= 192)
        return torch.where(seen, score, -float("inf"))

    return scored
