"""Attention as an operator of torch: `torch.ops.cutelite.attention`, with a fake implementation and derivatives.

`attention` calls it by itself for tensors that need a gradient, for fake ones, and where torch.compile traces it, so
that the graph has no break; `torch.ops.cutelite.attention.out` and its like write the output, without a logsumexp, to
the caller's tensor, and have no derivative. A call with `score_mod` or `mask_mod` is an autograd function; where
torch.compile traces it an operator too, `attention_with`, which gets functions by number.

The gradient of q is added up in one order where `torch.use_deterministic_algorithms` asks for that.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"
# (torch is not there to be read when types are checked)

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

import cutelite_rt as rt
from cutelite.dispatch.divert import left_out
from cutelite.interop.planned import is_transformed
from cutelite.interop.torch import derive, library_op, traced
from cutelite.interop.torch_functions import restored
from cutelite.interop.torch_levels import in_levels, one_by_one, refuse_tangents
from cutelite.interop.torch_transforms import autocast
from cutelite.interop.torch_transforms import under_autocast as under_autocast
from cutelite.kernels.arguments import Misfit, check_underived, wants_operator
from cutelite.kernels.attention import backward_call, call, decoding_call, flops, fp8_call, latent_call, varlen
from cutelite.kernels.attention.blocks import BlockMask, block_mask_of, by_function, in_graph_of_torch, is_of_torch
from cutelite.kernels.functions import by_number, check_detached, learned_by
from cutelite.tuples import NamedTuple

Mods = tuple[Callable[..., Any] | None, Callable[..., Any] | None]
"""`score_mod` and `mask_mod`."""


class How(NamedTuple):
    """The arguments of `attention` besides tensors and functions, in the order in which the operators take them."""

    causal: str
    left: int | None
    right: int | None
    softcap: float | None
    scale: float | None
    layout: str = "bshd"

    def named(self, mods: Mods) -> dict[str, Any]:
        """Return them as keywords of `attention`."""
        window, (score_mod, mask_mod) = (self.left, self.right), mods
        named = {"causal": self.causal or False, "window": window, "score_mod": score_mod, "mask_mod": mask_mod}
        return named | {"softcap": self.softcap, "scale": self.scale, "layout": self.layout}


def how_of(causal: bool | str, window: call.Window, softcap: float | None, scale: float | None, layout: str) -> How:
    """Return the arguments for an operator. Errors: ValueError for a value of `causal` that there is not."""
    call.seen(causal, window, 0)
    return How(aligned(causal), *window, softcap, scale, layout)


def aligned(causal: bool | str) -> str:
    """Return `causal` as operators take it: '' for False."""
    return causal if isinstance(causal, str) else "bottom-right" if causal else ""


def wanted(q: Tensor, k: Tensor, v: Tensor, mods: Mods, block_mask: Any = None, sinks: Tensor | None = None) -> bool:
    """Tell whether a call goes to an operator, or with functions to an autograd function.

    Errors  ValueError for a call with functions where calls are traced other than by Dynamo
    """
    if torch.compiler.is_dynamo_compiling():
        return True  # also those with functions, but for some that are not traced: `call.in_graph`
    plain = mods == (None, None) and block_mask is None
    if not plain and traced(q, k, v) and not in_levels():
        raise Misfit("attention with functions is no operator: it cannot be traced, exported or run without data")
    return wants_operator(q, k, v, sinks, *learned_by(mods[0]))


def fits_operator(out: Tensor | None, return_lse: bool, *tensors: Any) -> bool:
    """Tell whether a call without a derivative goes to an operator: with `out`, only one without a logsumexp can."""
    return (out is None or not return_lse) and wants_operator(*tensors)


def attend(
    tensors: tuple[Tensor, ...], how: How, mods: Mods, block_mask: Any = None, out: Tensor | None = None,
    sinks: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Return output and logsumexp, by an operator or an autograd function; with `out`, None in place of the logsumexp.

    tensors  q, k and v; of ragged sequences also the starts of their queries and of their keys
    """
    (q, k, v, *starts), (along, across) = tensors, (1, 2) if how.layout == "bshd" else (2, 1)
    operator: Any = None
    if mods == (None, None) and block_mask is None:
        operator = attention_varlen if starts else attention
        given: tuple[Any, ...] = q, k, v, sinks, *starts, *how[: -1 if starts else None]
    elif torch.compiler.is_dynamo_compiling():
        if is_of_torch(block_mask):
            block_mask = in_graph_of_torch(block_mask, q.shape[along], k.shape[along])
        by_number((mods[1], block_mask))  # refuses what needs a gradient there, and would get none
        number, captured = by_number((*mods, block_mask), learned=True)
        operator, given = attention_with, (q, k, v, sinks, starts, captured, number, *how)
    if operator is not None:
        if out is None:
            return operator(*given)
        operator.into(*given, out)
        return out, None
    if block_mask is not None:
        shape = q.shape[0], q.shape[across], q.shape[along], k.shape[along]
        mods = mods[0], by_function(block_mask_of(block_mask, shape)).mask_mod
    check_detached(mods[1])
    learned = learned_by(mods[0])
    if out is not None:
        check_underived(score_mod=next(iter(learned), None))
    return Modified.apply(how, mods, block_mask, learned, sinks, *tensors, *learned)


def attended(q: Tensor, v: Tensor | int, layout: str = "bshd", dtype: Any = None) -> tuple[Tensor, Tensor]:
    """Return an output and a logsumexp without contents, of queries, and of values or their number of columns."""
    *lead, along, across = q.shape[:-1]
    rows = (*lead, across, along) if layout == "bshd" else (*lead, along, across)
    columns = v if isinstance(v, int) else v.shape[-1]
    return q.new_empty((*q.shape[:-1], columns), dtype=dtype), q.new_empty(rows, dtype=torch.float32)


@library_op(
    "cutelite::attention", results=lambda q, k, v, *how: attended(q, v, how[-1]), out=("out",), flops=flops.of_forward
)
def attention(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, causal: str, left: int | None, right: int | None,
    softcap: float | None, scale: float | None, layout: str, out: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`cutelite.kernels.attention.attention` with ``return_lse=True``."""
    return forward((q, k, v), How(causal, left, right, softcap, scale, layout), (None, None), out, sinks)


@library_op("cutelite::attention_backward", results=("q", "k", "v"), flops=flops.of_backward)
def attention_backward(
    do: Tensor, dlse: Tensor | None, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, causal: str,
    left: int | None, right: int | None, softcap: float | None, scale: float | None, layout: str, deterministic: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`cutelite.kernels.attention.attention_backward`."""
    how = How(causal, left, right, softcap, scale, layout)
    return backward(do, dlse, (q, k, v, o, lse), how, (None, None), deterministic)


@library_op(
    "cutelite::attention_varlen", results=lambda q, k, v, *_: attended(q, v), out=("out",), flops=flops.of_sequences
)
def attention_varlen(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, causal: str,
    left: int | None, right: int | None, softcap: float | None, scale: float | None, out: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`cutelite.kernels.attention.attention_varlen` with ``return_lse=True``."""
    tensors, how = (q, k, v, cu_seqlens_q, cu_seqlens_k), How(causal, left, right, softcap, scale)
    return forward(tensors, how, (None, None), out, sinks)


@library_op("cutelite::attention_varlen_backward", results=("q", "k", "v"), flops=flops.of_sequences_backward)
def attention_varlen_backward(
    do: Tensor, dlse: Tensor | None, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor, causal: str, left: int | None, right: int | None, softcap: float | None, scale: float | None,
    deterministic: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`cutelite.kernels.attention.attention_varlen_backward`."""
    saved, how = (q, k, v, o, lse, cu_seqlens_q, cu_seqlens_k), How(causal, left, right, softcap, scale)
    return backward(do, dlse, saved, how, (None, None), deterministic)


@library_op("cutelite::decode", results=lambda q, k, v, *_: attended(q, v), out=("out",), flops=flops.of_decode)
def decode(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None, table: Tensor | None, sinks: Tensor | None, causal: str,
    left: int | None, softcap: float | None, scale: float | None, starts: Tensor | None = None,
    splits: int | None = None, early: bool = False, out: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`cutelite.kernels.attention.decode` with ``return_lse=True``; `left` is that of its window. No derivative."""
    return decoding_call.attend_decode(
        q, k, v, out, lengths=lengths, starts=starts, table=table, sinks=sinks, causal=causal or False,
        window=(left, None), softcap=softcap, scale=scale, splits=splits, early=early, return_lse=True,
    )  # fmt: skip


@library_op(
    "cutelite::decode_latent", results=lambda q, a, lengths, table, dim_v, *_: attended(q, dim_v), out=("out",),
    flops=flops.of_latent,
)  # fmt: skip
def decode_latent(
    q: Tensor, latents: Tensor, lengths: Tensor | None, table: Tensor | None, dim_v: int, causal: str,
    scale: float | None, splits: int | None = None, out: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`cutelite.kernels.attention.decode_latent` with ``return_lse=True``. It has no derivative."""
    return latent_call.attend_latent(
        q, latents, out, dim_v=dim_v, lengths=lengths, table=table, causal=causal or False, scale=scale,
        splits=splits, return_lse=True,
    )  # fmt: skip


@library_op(
    "cutelite::attention_fp8", results=lambda q, k, v, *how: attended(q, v, how[-1], torch.bfloat16), out=("out",),
    flops=flops.of_forward,
)  # fmt: skip
def attention_fp8(
    q: Tensor, k: Tensor, v: Tensor, q_scale: Tensor, k_scale: Tensor, v_scale: Tensor, causal: str, left: int | None,
    right: int | None, scale: float | None, layout: str, out: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`cutelite.kernels.attention.attention_fp8` with ``return_lse=True``. It has no derivative."""
    return fp8_call.attend_fp8(
        q, k, v, q_scale, k_scale, v_scale, out, causal=causal or False, window=(left, right), scale=scale,
        layout=layout, return_lse=True,
    )  # fmt: skip


@library_op("cutelite::attention_with", results=lambda q, k, v, *how: attended(q, v, how[-1]), out=("out",))
def attention_with(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, starts: Sequence[Tensor], captured: Sequence[Tensor],
    functions: int, causal: str, left: int | None, right: int | None, softcap: float | None, scale: float | None,
    layout: str, out: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`attention`, or with starts `attention_varlen`, with functions (`numbered`) that captured these tensors."""
    mods, mask = functions_of(functions, captured)
    how = How(causal, left, right, softcap, scale, layout)
    return forward((q, k, v, *starts), how, mods, out, sinks, mask)


def without_contents(
    do: Tensor, dlse: Tensor | None, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, starts: Sequence[Tensor],
    captured: Sequence[Tensor], learned: Sequence[int], *_: Any,
) -> list[Tensor]:  # fmt: skip
    """Return the results of `attention_with_backward` without contents."""
    return [torch.empty_like(x) for x in (q, k, v, *(captured[i] for i in learned))]


@library_op("cutelite::attention_with_backward", results=without_contents)
def attention_with_backward(
    do: Tensor, dlse: Tensor | None, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, starts: Sequence[Tensor],
    captured: Sequence[Tensor], learned: Sequence[int], functions: int, causal: str, left: int | None,
    right: int | None, softcap: float | None, scale: float | None, layout: str, deterministic: bool,
) -> list[Tensor]:  # fmt: skip
    """The gradients of q, k and v of `attention_with`, and of those of `captured` with the numbers `learned`."""
    mods, mask = functions_of(functions, captured)
    how, saved = How(causal, left, right, softcap, scale, layout), (q, k, v, o, lse, *starts)
    return list(backward(do, dlse, saved, how, mods, deterministic, mask, tuple(captured[i] for i in learned)))


def functions_of(number: int, captured: Sequence[Tensor]) -> tuple[Mods, BlockMask | None]:
    """Return the functions and the block mask of an operator."""
    *mods, mask = restored(number, captured)
    return tuple(mods), mask


def forward(
    tensors: tuple[Tensor, ...], how: How, mods: Mods, out: Tensor | None = None, sinks: Tensor | None = None,
    block_mask: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    named = how.named(mods if block_mask is None else (mods[0], None))
    if len(tensors) == 3:
        return call.attend(*tensors, out=out, block_mask=block_mask, sinks=sinks, return_lse=True, **named)
    del named["layout"]
    q, k, v, starts, of_keys = tensors
    return varlen.attend_varlen(q, k, v, starts, of_keys, out, sinks=sinks, return_lse=True, **named)


def backward(
    do: Tensor, dlse: Tensor | None, saved: tuple[Tensor, ...], how: How, mods: Mods, deterministic: bool,
    block_mask: Any = None, learned: tuple[Tensor, ...] = (),
) -> tuple[Tensor, ...]:  # fmt: skip
    """Return the gradients of q, k and v, and those of `learned`, tensors that `score_mod` captured."""
    named = how.named(mods if block_mask is None else (mods[0], None))
    named |= {"dlse": dlse, "deterministic": deterministic, "captured": learned}
    if not left_out() and not rt.tma_aligned(do.data_ptr(), 1, ()):
        do = do.clone()  # TMA cannot read where it begins
    if len(saved) == 5:
        named["block_mask"] = block_mask
        found = backward_call.attention_backward(do, *saved, **named)
    else:
        del named["layout"]
        found = backward_call.attention_varlen_backward(do, *saved, **named)
    return *found[:3], *(x.to(of.dtype) for x, of in zip(found[3:], learned, strict=True))


def dense(gradient: Tensor) -> Tensor:
    """Return a gradient with strides that TMA takes: the gradient of a sum has strides of 0."""
    *strides, along = gradient.stride()
    fits = along == 1 and min(strides) > 0 and rt.tma_aligned(0, gradient.element_size(), strides)
    return gradient if fits else gradient.contiguous()


def given_to(saved: Sequence[Tensor], do: Tensor | None, dlse: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Return the gradients of output and logsumexp as kernels take them; `saved`: q, k, v and the output."""
    return torch.zeros_like(saved[3]) if do is None else dense(do), None if dlse is None else dlse.contiguous()


def of_sinks(given: tuple[Tensor, Tensor | None], saved: Sequence[Tensor], sinks: Tensor, layout: str) -> Tensor:
    """Return the gradient of sinks, (H,): a sink is a key of which the row's logsumexp knows, with a value of zeros.

    given  of the output and of the logsumexp; saved: q, k, v, these two, and the starts of ragged sequences, behind
           the last of which nothing was written
    """
    (do, dlse), (o, lse, *starts) = given, saved[3:]
    along = (do.float() * o.float()).sum(-1)  # of all of a row's keys together
    shares = torch.exp(sinks[:, None] - lse).masked_fill(lse == -torch.inf, 0)  # as a sink is that is not there
    each = shares * ((0 if dlse is None else dlse) - (along.mT if layout == "bshd" else along))
    if starts:
        each = torch.where(torch.arange(lse.shape[-1], device=lse.device) < starts[0][-1], each, 0)
    return each.sum(-1).view(-1, len(sinks)).sum(0)


def _kept(made: tuple[Tensor, Tensor], q: Tensor, k: Tensor, v: Tensor, sinks: Any, *more: Any) -> tuple[Any, ...]:
    starts, how = [x for x in more if isinstance(x, Tensor)], [x for x in more if not isinstance(x, Tensor)]
    return sinks, q, k, v, *made, *starts, tuple(how)


def _differentiate(do: Tensor | None, dlse: Tensor | None, sinks: Tensor | None, *more: Any) -> tuple[Any, ...]:
    *kept, needs = more
    saved, how = [x for x in kept if isinstance(x, Tensor)], [x for x in kept if not isinstance(x, Tensor)]
    given, strict = given_to(saved, do, dlse), torch.are_deterministic_algorithms_enabled()
    found = (attention_varlen_backward if len(saved) > 5 else attention_backward)(*given, *saved, *how, strict)
    return *found, of_sinks(given, saved, sinks, How(*how).layout) if needs[3] else None


def _remember_with(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, sinks, starts, captured, ctx.functions, *how = inputs
    ctx.how, ctx.counts = How(*how), (len(starts), len(captured))
    ctx.save_for_backward(sinks, q, k, v, *output, *starts, *captured)
    ctx.set_materialize_grads(False)


def _differentiate_with(ctx: Any, do: Tensor | None, dlse: Tensor | None) -> tuple[Any, ...]:
    strict, (sinks, *saved) = torch.are_deterministic_algorithms_enabled(), ctx.saved_tensors
    given, (starts, count) = given_to(saved, do, dlse), ctx.counts
    saved, captured, needed = saved[: 5 + starts], saved[5 + starts :], ctx.needs_input_grad
    learned = [i for i in range(count) if needed[5][i]]
    found = attention_with_backward(*given, *saved[:5], saved[5:], captured, learned, ctx.functions, *ctx.how, strict)
    with_sinks = of_sinks(given, saved, sinks, ctx.how.layout) if needed[3] else None
    of_captured = dict(zip(learned, found[3:], strict=True))
    none, of_functions = [None] * starts, [of_captured.get(i) for i in range(count)]
    return *found[:3], with_sinks, none, of_functions, None, *(None,) * len(ctx.how)


attention_with.register_autograd(_differentiate_with, setup_context=_remember_with)
for each in attention, attention_varlen, attention_with, decode:
    autocast(each, "q", "k", "v")
autocast(decode_latent, "q", "latents")
for each in attention, attention_varlen:
    derive(each, _kept, _differentiate, only=2, needs=4)


class Modified(torch.autograd.Function):  # type: ignore[misc]
    """Attention with functions of the caller's. Under `torch.vmap` one after the other: functions ask for the batch."""

    jvp = staticmethod(refuse_tangents)

    @staticmethod
    def forward(
        how: How, mods: Mods, block_mask: Any, learned: tuple[Tensor, ...], sinks: Tensor | None, *tensors: Tensor
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        return forward(tensors[: len(tensors) - len(learned)], how, mods, None, sinks, block_mask)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.how, sinks, tensors = inputs[:4], inputs[4], inputs[5:]
        ctx.save_for_backward(sinks, *tensors[:3], *output, *tensors[3:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, do: Tensor | None, dlse: Tensor | None) -> tuple[Any, ...]:
        sinks, *saved = ctx.saved_tensors  # read once, as torch.utils.checkpoint wants it
        given = given_to(saved, do, dlse)
        how, mods, block_mask, learned = ctx.how
        saved = saved[: len(saved) - len(learned)]  # functions have those
        strict = torch.are_deterministic_algorithms_enabled()
        if torch.is_grad_enabled() or is_transformed():  # of torch: a second derivative, or vmap
            found = Gradients.apply(how, mods, block_mask, learned, strict, *given, *saved)
        else:
            found = backward(*given, tuple(saved), how, mods, strict, block_mask, learned)
        with_sinks = of_sinks(given, saved, sinks, how.layout) if ctx.needs_input_grad[4] else None
        return *(None,) * 4, with_sinks, *found[:3], *(None,) * (len(saved) - 5), *found[3:]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *given: Any) -> tuple[Any, Any]:
        (how, mods, block_mask, learned, *tensors), dims = given, in_dims[4:]
        if learned:
            raise Misfit("within torch.vmap tensors that functions captured have no gradients: detach them")
        alone = partial(Modified.apply, how, mods, block_mask, learned)
        return one_by_one(alone, info.batch_size, dims, tuple(tensors)), (0, 0)


class Gradients(torch.autograd.Function):  # type: ignore[misc]
    """The derivative of `Modified`."""

    jvp = staticmethod(refuse_tangents)

    @staticmethod
    def forward(
        how: How, mods: Mods, block_mask: Any, learned: tuple[Tensor, ...], deterministic: bool, *tensors: Tensor
    ) -> tuple[Tensor, ...]:  # fmt: skip
        do, dlse, *saved = tensors
        return backward(do, dlse, tuple(saved), how, mods, deterministic, block_mask, learned)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> Any:
        raise RuntimeError("attention with functions has no second derivative")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *given: Any) -> tuple[Any, Any]:
        alone = partial(Gradients.apply, *given[:5])
        return one_by_one(alone, info.batch_size, in_dims[5:], given[5:]), (0, 0, 0)


def _with_signature(function: Any) -> None:
    """Keep the function's signature: torch asks for it at each call, which takes 40 us unless it is there."""
    function.__signature__ = inspect.signature(function)


_with_signature(Modified.forward)
_with_signature(Gradients.forward)
