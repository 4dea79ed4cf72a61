"""Functions of scores that the programs about attention time, and torch's compiled FlexAttention with the same."""

from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo.config
from torch.nn.attention.flex_attention import and_masks, create_block_mask, flex_attention

torch._dynamo.config.recompile_limit = 256  # beyond 8 functions it would compute without compiling
compiled = torch.compile(flex_attention, dynamic=False)


def below(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return kv_idx <= q_idx


def slope(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + (kv_idx - q_idx) * 0.01


def near(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + 4.0 / (1 + abs(q_idx - kv_idx))


def capped(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return 20.0 * torch.tanh(score / 20.0)


def functions(heads: int, length: int) -> dict[str, dict[str, Any]]:
    """Arguments of attention: no function, some that add to scores, a cap, a mask that hides no block as a whole."""
    slopes = 2.0 ** -torch.linspace(1, 8, heads, device="cuda")
    distances = torch.randn(heads, 2 * length - 1, device="cuda")
    document = torch.arange(length, device="cuda") // 100

    def alibi(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score + slopes[h] * (kv_idx - q_idx)

    def table(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score + distances[h, kv_idx - q_idx + length - 1]

    def apart(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return document[q_idx] != document[kv_idx] + 1

    return {
        "none": {},
        "a slope": {"score_mod": slope},
        "ALiBi": {"score_mod": alibi},
        "4 / (1 + n)": {"score_mod": near},
        "a table of distances": {"score_mod": table},
        "a cap of 20": {"softcap": 20.0},
        "a mask": {"mask_mod": apart},
    }


def learned_by(function: Any) -> tuple[torch.Tensor, ...]:
    """The tensors of floats that a function captured, which may be learned."""
    cells = (x.cell_contents for x in getattr(function, "__closure__", None) or ())
    return tuple(x for x in cells if isinstance(x, torch.Tensor) and x.is_floating_point())


def blocks(mask_mod: Any, length: int) -> Any:
    """A block mask of torch's."""
    return create_block_mask(mask_mod, None, None, length, length, device="cuda")


def flex(
    length: int, causal: bool = False, softcap: float | None = None, score_mod: Any = None, mask_mod: Any = None
) -> Callable[[Any, Any, Any], Any]:
    """FlexAttention with arguments of ours, of arrays (B, S, H, D); `softcap` may be the cap of `capped`."""
    masks = [each for each in (below if causal else None, mask_mod) if each is not None]
    mask = blocks(and_masks(*masks), length) if masks else None
    score_mod = capped if softcap else score_mod

    def call(*arrays: Any) -> Any:
        found: Any = compiled(*(x.transpose(1, 2) for x in arrays), score_mod=score_mod, block_mask=mask)
        return found.transpose(1, 2)

    return call
