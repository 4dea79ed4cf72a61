"""Attention in float64, which the programs about attention hold results against."""

import math
from typing import Any

import torch


def normal(*shape: int) -> Any:
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def exact(q: Any, k: Any, v: Any, causal: bool = False, rows: Any = None) -> tuple[Any, Any]:
    """Outputs (B, S, H, D) and logsumexps (B, H, S) in float64, of some rows; 0 and -inf of those that see nothing."""
    n, m = q.shape[1], k.shape[1]
    rows = torch.arange(n, device="cuda") if rows is None else rows
    q, k, v = (x.double().transpose(1, 2) for x in (q[:, rows], k, v))
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        s = s.masked_fill(torch.arange(m, device="cuda")[None] > rows[:, None] + m - n, -math.inf)
    blind = (s == -math.inf).all(-1, keepdim=True)
    p = torch.where(blind, 0.0, s.softmax(-1))
    found = p @ v
    for key in (~v.isfinite()).any((0, 1, 3)).nonzero().flatten().tolist():  # 0 times it is NaN where it is not seen
        found = torch.where(p[..., key, None] > 0, found, p @ torch.where(v.isfinite(), v, 0.0))
    return found.transpose(1, 2), s.logsumexp(-1)


def gradients(q: Any, k: Any, v: Any, do: Any, causal: bool = False) -> tuple[Any, ...]:
    """Those of q, k and v in float64, each as its array is."""
    q, k, v = (x.double().requires_grad_() for x in (q, k, v))
    found: tuple[Any, ...] = torch.autograd.grad(exact(q, k, v, causal)[0], (q, k, v), do.double())
    return found
