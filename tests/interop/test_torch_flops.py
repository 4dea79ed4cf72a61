"""`FlopCounterMode` counts what operators compute, as it does for torch's own."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.processes import printed

pytest.importorskip("torch")

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from cutelite.kernels.attention import attention, attention_fp8, attention_varlen, decode, decode_latent
from cutelite.kernels.gemm import gemm, grouped
from cutelite.kernels.moe import experts, route
from cutelite.kernels.rows.operators import linear_cross_entropy
from cutelite.models import operators as layers

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def random(*shape: int) -> Any:
    return torch.randn(*shape, dtype=torch.bfloat16, device=DEVICE).requires_grad_()


def whole(*numbers: int) -> Any:
    return torch.tensor(numbers, dtype=torch.int32, device=DEVICE)


def flops(call: Callable[[], Any], backward: bool = True) -> dict[str, int]:
    """Return what is counted, by the names of operators."""
    with FlopCounterMode(display=False) as counter:
        found = call()
        if backward:
            found.float().sum().backward()
    counts = counter.get_flop_counts()["Global"]
    return {str(operator).removeprefix("cutelite."): count for operator, count in counts.items()}


@pytest.mark.parametrize("lead", [(), (3,)])
def test_products(lead: tuple[int, ...]) -> None:
    a, b = random(*lead, 24, 40), random(40, 16)
    assert sum(flops(lambda: gemm(a, b)).values()) == sum(flops(lambda: a @ b).values()) == 3 * flops_of(a, b)
    out = torch.empty(*lead, 24, 16, dtype=a.dtype, device=DEVICE)
    assert flops(lambda: gemm(a.detach(), b.detach(), out=out), False) == {"gemm": flops_of(a, b)}


def test_groups() -> None:
    a, b, ends, rows = random(24, 40), random(2, 16, 40), whole(3, 5), whole(0, 1, 2, 3, 4)
    for places, count in ((None, 24), (rows, 5)):
        once, call = 2 * count * 40 * 16, partial(grouped.gemm, rows=places)
        assert flops(partial(call, a, b, ends)) == {"grouped_gemm": once, "grouped_gemm_backward": 2 * once}
        given = a.detach(), b.detach(), ends, torch.empty(count, 16, dtype=a.dtype, device=DEVICE)
        assert flops(partial(call, *given), False) == {"grouped_gemm": once}
    found = flops(lambda: grouped.padded(random(2, 12, 40), b, ends))
    assert found == {"padded_gemm": 2 * 24 * 40 * 16, "padded_gemm_backward": 4 * 24 * 40 * 16}
    found = flops(lambda: grouped.along_k(a, random(24, 16), ends))
    assert found == {"gemm_along_k": 2 * 24 * 40 * 16, "gemm_along_k_backward": 4 * 24 * 40 * 16}


def flops_of(a: Any, b: Any) -> int:
    return 2 * int(a.numel()) * int(b.shape[-1])


@pytest.mark.parametrize("layout", ["bshd", "bhsd"])
def test_attention_as_torchs(layout: str) -> None:
    q, k, v = (random(2, 4, 10, 64), random(2, 2, 20, 64), random(2, 2, 20, 32))
    shapes = [(2, 4, x.shape[2], x.shape[3]) for x in (q, k, v)]
    given = [x.detach().transpose(1, 2) if layout == "bshd" else x.detach() for x in (q, k, v)]
    found = flops(lambda: attention(*(x.requires_grad_() for x in given), causal=True, layout=layout))
    want = sdpa_flop_count(*shapes), sdpa_backward_flop_count((2, 4, 10, 32), *shapes)
    assert (found["attention"], found["attention_backward"]) == want
    assert flops(lambda: attention(*(x.detach() for x in given), layout=layout), False) == {"attention": want[0]}


def test_sequences_and_caches_by_their_lengths() -> None:
    q, k, v, cu = random(10, 4, 64), random(10, 2, 64), random(10, 2, 32), whole(0, 3, 10)
    found = flops(lambda: attention_varlen(q, k, v, cu))
    pairs = 4 * (3 * 3 + 7 * 7)
    assert found == {"attention_varlen": 2 * pairs * 96, "attention_varlen_backward": 2 * pairs * (3 * 64 + 2 * 32)}
    one, cache, pages = random(2, 1, 4, 64).detach(), random(2, 20, 2, 64).detach(), random(8, 16, 2, 64).detach()
    table = whole(0, 1, 2, 3, 4, 5).view(2, 3)
    assert flops(lambda: decode(one, cache, cache, lengths=whole(3, 5)), False) == {"decode": 2 * 4 * 8 * 128}
    assert flops(lambda: decode(one, pages, pages, table=table), False) == {"decode": 2 * 4 * 2 * 48 * 128}
    latent = random(2, 1, 4, 576).detach(), random(2, 20, 576).detach()
    assert flops(lambda: decode_latent(*latent, lengths=whole(3, 5)), False) == {"decode_latent": 2 * 4 * 8 * 1088}
    with FakeTensorMode():  # sequences are equally long then, and caches full
        q, k, v = (torch.zeros(12, heads, 64, dtype=torch.bfloat16) for heads in (4, 2, 2))
        cu, one = torch.zeros(4, dtype=torch.int32), torch.zeros(2, 1, 4, 64, dtype=torch.bfloat16)
        cache, lengths = torch.zeros(2, 20, 2, 64, dtype=torch.bfloat16), torch.zeros(2, dtype=torch.int32)
        assert flops(lambda: attention_varlen(q, k, v, cu), False) == {"attention_varlen": 2 * 4 * 3 * 16 * 128}
        assert flops(lambda: decode(one, cache, cache, lengths=lengths), False) == {"decode": 2 * 4 * 40 * 128}


def test_attention_of_8_bits() -> None:
    q, k, v = (random(1, 16, heads, 64).detach().to(torch.float8_e4m3fn) for heads in (2, 1, 1))
    scales = [torch.ones(1, heads, device=DEVICE) for heads in (2, 1, 1)]
    assert flops(lambda: attention_fp8(q, k, v, *scales), False) == {"attention_fp8": 2 * 2 * 16 * 16 * 128}


def test_experts_losses_and_layers() -> None:
    x, up, down = random(6, 16), random(4, 32, 16), random(4, 16, 16)
    weights, index = route(random(6, 4).detach(), 2)
    once = 2 * (6 * 2) * 16 * (32 + 16)
    assert flops(lambda: experts(x, up, down, index, weights)) == {"experts_kept": once, "experts_backward": 2 * once}
    with torch.no_grad():
        assert flops(lambda: experts(x, up, down, index, weights), False) == {"experts": once}
    target, head = torch.arange(6, device=DEVICE), random(24, 16)
    assert flops(lambda: linear_cross_entropy(x, head, target)) == {"linear_cross_entropy": 3 * 2 * 6 * 16 * 24}
    first = [random(16, 16), random(24, 16)]
    once = 2 * 6 * 16 * 40
    assert flops(lambda: layers.linear(x, first)) == {"linear": once, "linear_backward": 2 * once}
    pair, last = [random(32, 16), random(32, 16)], random(16, 32)
    once = 2 * 6 * (16 * 64 + 32 * 16)
    found = flops(lambda: layers.gated_mlp(x, pair, last, None, "silu")[0])
    assert found == {"gated_mlp": once, "gated_mlp_backward": 2 * once}


def test_what_counts_before_operators_are_imported_counts_them() -> None:
    text = (
        "import torch, torch.utils.flop_counter as f, cutelite.kernels.gemm as g\n"
        "a = torch.zeros(8, 8, dtype=torch.bfloat16, device='meta')\n"
        "with f.FlopCounterMode(display=False) as counter: g.gemm(a, a)\n"
        "print(counter.get_total_flops())"
    )
    assert printed(text) == "1024\n"
