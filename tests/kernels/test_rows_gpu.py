"""Kernels of rows on a GPU, at sizes that need many blocks at a time: waits between blocks, rings, addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import cutelite as cl
from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import norm, softmax
from cutelite.kernels.rows.adamw import adamw
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.plan import Plan
from cutelite.kernels.rows.sample import sample
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import top_k
from cutelite.kernels.rows.sort import sort
from cutelite.kernels.rows.transpose import transposed

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.sm(90)


def random(*shape: int, dtype: Any = None) -> Any:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def close(found: Any, exact: Any, bound: float) -> None:
    assert float((found.double() - exact).abs().max()) <= bound * float(exact.abs().max())


@pytest.mark.parametrize("dtype", ["int32", "float32", "bfloat16", "int64"])
@pytest.mark.parametrize("descending", [False, True])
def test_sorts(dtype: str, descending: bool) -> None:
    kind = getattr(torch, dtype)
    x = random(1_000_003).mul(1000).to(kind)
    keys, places = torch.sort(x, stable=True, descending=descending)
    found = sort(x, descending=descending)
    assert bool((found.keys == keys).all())
    assert bool((found.values == places).all())
    values = random(1_000_003)
    assert bool((sort(x, values, descending=descending).values == values[places]).all())


def test_sums_up_to_each() -> None:
    x = torch.randint(-9, 9, (3, 3_000_001), device="cuda", dtype=torch.int32)
    for _ in range(3):
        assert bool((cumsum(x) == x.cumsum(1)).all())


@pytest.mark.parametrize(("m", "n", "k"), [(300, 16384, 64), (7, 131_072, 200), (5, 1000, 500)])
def test_the_greatest_and_samples(m: int, n: int, k: int) -> None:
    x = random(m, n, dtype=torch.bfloat16)
    found = top_k(x, k)
    assert bool((found.value == x.topk(k)[0]).all())
    assert bool((x.gather(1, found.column) == found.value).all())
    columns = sample(x, torch.rand(m, device="cuda"), top_k=k, top_p=0.5)
    chosen = x.gather(1, columns[:, None])
    assert bool((chosen >= found.value[:, -1:]).all())


PLANS = [Plan(512, 1, 2, 8, 1, 2), Plan(256, 1, 4, 8, 2, 2, held=False), Plan(256, 1, 8, 8, 2, 3)]


@pytest.mark.parametrize("p", PLANS, ids=str)
def test_rows_that_are_copied_ahead(p: Plan) -> None:
    m, n = 700, 32768
    x, w, b, dy = random(m, n, dtype=torch.bfloat16), *(random(n, dtype=torch.bfloat16) for _ in range(2)), random(m, n)
    wide, exact_w = x.double().requires_grad_(), w.double().requires_grad_()
    close(softmax.softmax(x, how=p), wide.softmax(-1), 8e-3)
    exact = torch.nn.functional.layer_norm(wide, (n,), exact_w, b.double())
    made = norm.layer_norm(x, w, b, how=p)
    close(made.y, exact, 8e-3)
    dy = dy.bfloat16()
    found = norm.norm_backward(dy, made, w, how=replace(p, shared_sums=1, overlap=p.cluster == 4))
    exact.backward(dy.double())
    close(found.x, wide.grad, 8e-3)
    close(found.weight, exact_w.grad, 8e-3)


def test_transposed_in_blocks() -> None:
    x = random(1000, 776, dtype=torch.bfloat16)
    assert bool((transposed(x, "bf16") == x.T).all())
    q, scale = transposed(x, Narrow(block=128))
    back = q.float() * scale.repeat_interleave(128, 1)[:, : x.shape[0]]
    close(back, x.T.double(), 0.07)


def test_steps_by_addresses() -> None:
    shapes = [(1000, 30), (7,), (4096, 4096), (1, 1), (513,)] * 3
    p, g = ([random(*shape, dtype=torch.bfloat16) for shape in shapes] for _ in range(2))
    m, v = ([torch.zeros(shape, device="cuda") for shape in shapes] for _ in range(2))
    exact = [x.float().clone().requires_grad_() for x in p]
    for x, dx in zip(exact, g, strict=True):
        x.grad = dx.float()
    torch.optim.AdamW(exact, lr=0.1, weight_decay=0.1).step()
    adamw(p, g, m, v, 1, lr=0.1, decay=0.1)
    for x, y in zip(p, exact, strict=True):
        close(x, y.detach().double(), 8e-3)
    m[-1] = m[-1].cpu()
    with pytest.raises(cl.ArgumentError, match=r"means\[\d+\] is on .*cpu"):
        adamw(p, g, m, v, 2)


@pytest.mark.parametrize("n", [521, 769, 1025, 2049, 3301, 4097, 8193, 20_001])
def test_many_rows_of_odd_lengths(n: int) -> None:
    m = 13_000  # so many have plans that fewer do not
    x, dy = (random(m, n, dtype=torch.bfloat16) for _ in range(2))
    w, target = random(n, dtype=torch.bfloat16), torch.randint(0, n, (m,), device="cuda")
    close(softmax.softmax(x), x.double().softmax(-1), 8e-3)
    for center in (False, True):
        made = norm.layer_norm(x, w, w) if center else norm.rms_norm(x, w)
        wide, scale = (each.double().requires_grad_() for each in (x, w))
        apart = wide - wide.mean(-1, keepdim=True) if center else wide
        eps = 1e-5 if center else 1e-6
        exact = apart * (apart.square().mean(-1, keepdim=True) + eps).rsqrt() * scale
        close(made.y, (exact + w.double() if center else exact).detach(), 1e-2)
        found = norm.norm_backward(dy, made, w, bias=center)
        for one, other in zip(found, torch.autograd.grad(exact, (wide, scale), dy.double()), strict=False):
            close(one, other, 1e-2)
    loss, lse = entropy.cross_entropy(x, target)
    close(loss, torch.nn.functional.cross_entropy(x.double(), target, reduction="none"), 1e-5)
    dx = x.double().softmax(-1) - torch.nn.functional.one_hot(target, n)
    close(entropy.cross_entropy_backward(torch.ones_like(lse), x, target, lse), dx, 8e-3)
    both = torch.empty_like(x)
    close(entropy.cross_entropy_gradient(torch.ones_like(lse), x, target, out=both).loss, loss.double(), 1e-5)
    close(both, dx, 8e-3)
