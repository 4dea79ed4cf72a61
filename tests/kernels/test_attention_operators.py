"""Decoding, with latents too, and fp8 as operators of torch: fake tensors, `torch.compile`, `opcheck`."""

from typing import Any

import pytest

from cutelite.kernels.attention import attention, attention_fp8, attention_varlen, decode, decode_latent

torch = pytest.importorskip("torch")


def compare(function: Any, arguments: tuple[Any, ...], **how: Any) -> None:
    """Compare what torch.compile makes of a call, and what fake tensors give, with the call itself."""
    want = function(*arguments, return_lse=True, **how)
    compiled = torch.compile(lambda *xs: function(*xs, return_lse=True, **how), backend="aot_eager", fullgraph=True)
    for x, y in zip(compiled(*arguments), want, strict=True):
        torch.testing.assert_close(x, y, rtol=0, atol=0, equal_nan=True)
    into = torch.compile(lambda out, *xs: function(*xs, out=out, **how), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(into(torch.empty_like(want[0]), *arguments), want[0], rtol=0, atol=0, equal_nan=True)
    meta = function(*(x.to("meta") for x in arguments), return_lse=True, **how)
    assert [(x.shape, x.dtype) for x in meta] == [(x.shape, x.dtype) for x in want]


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def test_decoding() -> None:
    on = {"device": device(), "dtype": torch.bfloat16}
    q, k, v = torch.randn(2, 1, 4, 64, **on), torch.randn(9, 16, 2, 64, **on), torch.randn(9, 16, 2, 64, **on)
    lengths, table = (torch.tensor(x, dtype=torch.int32, device=device()) for x in ([40, 9], [[3, 1, 8], [0, 2, 5]]))

    def paged(q: Any, k: Any, v: Any, lengths: Any, table: Any, **how: Any) -> Any:
        return decode(q, k, v, lengths=lengths, table=table, **how)

    compare(paged, (q, k, v, lengths, table), window=(20, None), softcap=5.0, splits=2)
    operator = torch.ops.cutelite.decode.default
    torch.library.opcheck(operator, (q, k, v, lengths, table, None, "bottom-right", None, None, 0.1))
    torch.library.opcheck(operator, (q, k[:2], v[:2], None, None, torch.ones(4, device=device()), "", None, None, None))


def test_decoding_with_latents() -> None:
    on = {"device": device(), "dtype": torch.bfloat16}
    q, latents = torch.randn(2, 1, 4, 192, **on), torch.randn(2, 40, 192, **on)
    compare(decode_latent, (q, latents), dim_v=128, scale=0.1, splits=2)
    operator = torch.ops.cutelite.decode_latent.default
    torch.library.opcheck(operator, (q, latents, None, None, 128, "bottom-right", None))


def test_fp8() -> None:
    arrays = [torch.randn(1, n, h, 64, device=device()).to(torch.float8_e4m3fn) for n, h in ((70, 2), (90, 1), (90, 1))]
    scales = [torch.ones(1, h, device=device()) for h in (2, 1, 1)]
    compare(attention_fp8, (*arrays, *scales), causal=True)
    how = "", None, None, 0.1, "bshd"
    utilities = ("test_faketensor",)  # others compute with fp8, which torch does not on CPUs
    torch.library.opcheck(torch.ops.cutelite.attention_fp8.default, (*arrays, *scales, *how), test_utils=utilities)


def test_no_gradient_is_lost_in_silence() -> None:
    x = torch.randn(1, 8, 1, 64, device=device(), dtype=torch.bfloat16)
    wanted, starts = x.clone().requires_grad_(), torch.tensor([0, 8], device=device(), dtype=torch.int32)
    with pytest.raises(ValueError, match="out= has no derivative, and k needs a gradient"):
        attention(x, wanted, x, torch.empty_like(x), return_lse=True)
    with pytest.raises(ValueError, match="out= has no derivative, and v needs a gradient"):
        attention_varlen(x[0], x[0], wanted[0], starts, None, torch.empty_like(x[0]), return_lse=True)
    with pytest.raises(ValueError, match=r"^k "):
        attention(x, x.float().cpu().numpy(), x)


def test_gradients_of_outputs_begin_anywhere() -> None:
    x = torch.randn(1, 8, 1, 64, device=device(), dtype=torch.bfloat16)
    shifted = torch.randn(x.numel() + 1, device=device(), dtype=torch.bfloat16)[1:].view(x.shape)
    found = []
    for do in (shifted, shifted.clone()):
        q = x.clone().requires_grad_()
        found += torch.autograd.grad(attention(q, x, x), q, do)
    torch.testing.assert_close(*found, rtol=0, atol=0)
