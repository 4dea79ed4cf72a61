"""Models of `transformers` with cutelite's kernels under them: logits, gradients and tokens as their own.

Tiny models of random weights; on a GPU where there is one, else simulated.
"""

import copy
import importlib
import itertools
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
import transformers
from torch.nn import functional
from torch.utils._pytree import tree_map_only
from transformers.integrations import finegrained_fp8, moe
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRMSNorm
from transformers.models.qwen2.modeling_qwen2 import Qwen2Attention
from transformers.models.t5.modeling_t5 import T5LayerNorm
from transformers.pytorch_utils import Conv1D

import cutelite as cl
from cutelite.kernels.attention.operators import decode
from cutelite.kernels.gemm import fp8_block
from cutelite.kernels.gemm.call import multiply
from cutelite.kernels.rows.operators import norm_forward
from cutelite.models import (
    accelerate,
    attention,
    dense,
    experts,
    masks,
    mlps,
    norms,
    operators,
    restore,
    routers,
    summed,
)
from cutelite.models.accelerate import same
from cutelite.models.attention import forward
from cutelite.models.operators import appended_linear, gated_linear, joined, linear, rotated_linear, summed_linear
from tests.processes import printed

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIZES: dict[str, Any] = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 96, "max_position_embeddings": 64,
}  # fmt: skip
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
MODELS: dict[str, dict[str, Any]] = {
    "Llama": SIZES,
    "Llama with biases": {**SIZES, "attention_bias": True, "mlp_bias": True},
    "Qwen2": SIZES,
    "Qwen3": SIZES,
    "Qwen3Moe": SIZES | EXPERTS,
    "Mistral": SIZES | {"sliding_window": None},
    "Mistral in windows": SIZES | {"sliding_window": 7},
}

OTHERS: dict[str, dict[str, Any]] = {
    "Gemma2": {"sliding_window": 7, "query_pre_attn_scalar": 16},
    "Gemma3Text": {"sliding_window": 7, "query_pre_attn_scalar": 16},
    "GptOss": {"num_local_experts": 2, "num_experts_per_tok": 2, "sliding_window": 8},  # no choice, which may be close
    "Mixtral": {"num_local_experts": 2, "num_experts_per_tok": 2},  # likewise
    "Olmo2": {},
    "Olmo3": {"sliding_window": 7},
    "Phi": {"partial_rotary_factor": 0.5},
    "Phi3": {},
    "Phi3 that turns a part of each head": {"partial_rotary_factor": 0.5},
    "Phi3 with dropout": {"resid_pdrop": 0.5},
}
"""Architectures that lack some kind of layer of those above."""


def made(name: str, dtype: Any = torch.bfloat16, **sizes: Any) -> Any:
    torch.manual_seed(0)
    kind = name.partition(" ")[0]
    own = MODELS.get(name) or SIZES | OTHERS[name] | {"pad_token_id": 0}
    config = getattr(transformers, f"{kind}Config")(**own | sizes)
    model = transformers.AutoModelForCausalLM.from_config(config).to(DEVICE)
    for parameter in model.parameters():  # norms and biases too, which else are ones and zeros
        parameter.data += 0.02 * torch.randn_like(parameter)
    return model.to(dtype)


def tokens(rows: int = 2, columns: int = 17) -> Any:
    return torch.randint(0, 96, (rows, columns), generator=torch.Generator().manual_seed(1)).to(DEVICE)


def off(found: Any, right: Any) -> float:
    return float((found.double() - right.double()).norm() / right.double().norm())


@pytest.mark.parametrize("name", MODELS)
def test_logits(name: str) -> None:
    model, ids = made(name).eval(), tokens()
    with torch.no_grad():
        right, own = copy.deepcopy(model).float()(ids).logits, model(ids).logits
        report = accelerate(model)
        found = model(ids).logits
    assert off(found, right) <= 1.2 * off(own, right) + 1e-3
    assert len(report.changed["attention"]) == len(report.changed["decoder layer"]) == 2
    assert not any("Linear" in why or "Norm" in why or "MLP" in why for why in report.left)


@pytest.mark.parametrize("name", ["Llama", "Qwen3", "Qwen3Moe"])
def test_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Llama as if tokens were many, so that its GEMM rotates queries and keys; of Qwen 3 behind padding."""
    model, ids = made(name), tokens(1 if name == "Llama" else 2)
    seen = torch.ones_like(ids)
    seen[-1, : 4 * (name == "Qwen3")] = 0
    monkeypatch.setattr(attention, "MANY", 1)

    def gradients(of: Any) -> tuple[float, dict[str, Any]]:
        of.zero_grad()
        loss = of(ids, labels=ids, attention_mask=seen).loss
        loss.backward()
        return float(loss), {key: parameter.grad for key, parameter in of.named_parameters()}

    loss, right = gradients(copy.deepcopy(model).float())
    _, own = gradients(copy.deepcopy(model))
    accelerate(model)
    with_ours, found = gradients(model)
    assert abs(with_ours - loss) < 1e-2
    for key, gradient in found.items():
        assert off(gradient, right[key]) <= 1.3 * off(own[key], right[key]) + 5e-3, key


@pytest.mark.parametrize("name", ["Llama", "Qwen3Moe"])
def test_a_loss_without_logits(name: str) -> None:
    model, ids = made(name, num_hidden_layers=1), tokens()
    accelerate(model)
    assert model(ids, labels=ids).logits is None
    summed, mean = model(ids, labels=ids, num_items_in_batch=torch.tensor(8)).loss, model(ids, labels=ids).loss
    assert abs(float(summed) - float(mean) * 32 / 8) < 0.05
    model.eval()
    out = model(ids, labels=ids)
    assert out.logits.shape == (2, 17, 96)
    assert abs(float(out.loss) - float(mean)) < 0.01
    model.train()
    if name == "Qwen3Moe":
        routed = model(ids, labels=ids, output_router_logits=True)
        assert routed.logits is not None and float(routed.aux_loss) > 0 and routed.loss > mean
    model.loss_function = lambda *given, **named: torch.tensor(7.0)
    assert float(model(ids, labels=ids).loss) == 7


@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_tokens(cache: str) -> None:
    """In f32, where GEMMs and attention stay torch's, and norms do not."""
    model, ids = made("Llama", torch.float32).eval(), tokens()
    how: dict[str, Any] = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "disable_compile": True}
    right = model.generate(ids, **how)
    accelerate(model)
    assert model.generate(ids, cache_implementation=cache, **how).tolist() == right.tolist()


@pytest.mark.parametrize(
    ("name", "cache", "padded"),
    [
        ("Llama", "dynamic", False), ("Llama", "dynamic", True), ("Llama", "static", False), ("Llama", "static", True),
        ("Mistral in windows", "dynamic", True), ("Mistral in windows", "static", False),
    ],
)  # fmt: skip
def test_logits_behind_a_cache(name: str, cache: str, padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt, then two tokens, then one: in bf16, where the kernel of decoding computes attention."""
    model, ids = made(name).eval(), tokens(2, 20)
    seen = torch.ones_like(ids)
    seen[1, : 4 * padded] = 0

    def steps(of: Any) -> Any:
        kinds = {"config": of.config, "max_cache_len": 32}
        held = transformers.StaticCache(**kinds) if cache == "static" else transformers.DynamicCache(config=of.config)
        ends, found = (0, 17, 19, 20), []
        for first, last in itertools.pairwise(ends):
            more = {"attention_mask": seen[:, :last]} if padded else {}
            found.append(of(ids[:, first:last], past_key_values=held, use_cache=True, **more).logits)
        return torch.cat(found, 1)[seen.bool()]

    with torch.no_grad():
        right, own = copy.deepcopy(model).float()(ids, attention_mask=seen).logits[seen.bool()], steps(model)
        accelerate(model)
        if cache == "dynamic" or name == "Llama":
            monkeypatch.setattr(attention, "sdpa_attention_forward", lambda *_, **more: pytest.fail("torch's"))
        found = steps(model)
    assert off(found, right) <= 1.2 * off(own, right) + 1e-3


def test_prompts_behind_a_cache_of_which_only_the_device_knows_how_much_is_filled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a CUDA graph, in two parts, which are as near to f32 as the whole prompt."""
    monkeypatch.setattr(transformers.masking_utils, "is_tracing", lambda *_: True)
    monkeypatch.setattr(masks, "readable", lambda *_: False)
    for module in masks, attention:
        monkeypatch.setattr(module, "FEW", 4)
    model, ids = made("Llama").eval(), tokens(2, 20)
    with torch.no_grad():
        right, own = copy.deepcopy(model).float()(ids).logits, model(ids).logits
        accelerate(model)
        monkeypatch.setattr(attention, "sdpa_attention_forward", lambda *_, **more: pytest.fail("torch's attention"))
        held = transformers.StaticCache(config=model.config, max_cache_len=32)
        held.early_initialization(2, 2, 16, torch.bfloat16, DEVICE)
        parts = [model(part, past_key_values=held).logits for part in ids.split([11, 9], 1)]
    assert off(torch.cat(parts, 1), right) <= 1.2 * off(own, right) + 1e-3


def few_tokens_are_many(monkeypatch: pytest.MonkeyPatch, graph: bool = False) -> None:
    """Take the ways of long prompts for those here, and in a `graph` as while one is captured; torch's is a failure."""
    monkeypatch.setattr(masks, "FEW", 4)
    monkeypatch.setattr(attention, "sdpa_attention_forward", lambda *_, **more: pytest.fail("torch's attention"))
    monkeypatch.setattr(attention, "step_by_step", lambda *_, **more: pytest.fail("torch's operations"))
    if graph:
        monkeypatch.setattr(transformers.masking_utils, "is_tracing", lambda *_: True)
        monkeypatch.setattr(masks, "readable", lambda *_: False)


POSITIONS = torch.cat([torch.arange(n) for n in (9, 4, 7)])[None].to(DEVICE)
HOLES = torch.tensor([[1] * 20, [0] * 3 + [1] * 6 + [0] * 4 + [1] * 5 + [0] * 2]).to(DEVICE)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("name", ["Llama", "Mistral in windows", "Gemma2", "GptOss", "Olmo3", "Phi"])
def test_packed_sequences_and_masks_with_holes(name: str, graph: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the kernel, of a mask that is a function; in a graph a prompt without a mask, too."""
    model, packed, padded = made(name).eval(), tokens(1, 20), tokens(2, 20)
    with torch.no_grad():

        def found(of: Any) -> Any:
            masked = of(padded, attention_mask=HOLES, use_cache=False).logits[HOLES.bool()]
            alone = of(packed, position_ids=POSITIONS, use_cache=False).logits, of(padded, use_cache=False).logits
            return torch.cat([masked, *(x.flatten(0, 1) for x in alone)])

        right, own = found(copy.deepcopy(model).float()), found(model)
        accelerate(model)
        few_tokens_are_many(monkeypatch, graph)
        assert off(found(model), right) <= 1.2 * off(own, right) + 1e-3


def test_gradients_of_packed_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of f32, where layers compute anew, too."""
    model, ids = made("Llama"), tokens(1, 20)

    def gradients(of: Any) -> Any:
        of(ids, position_ids=POSITIONS, labels=ids, use_cache=False).loss.backward()
        return torch.cat([x.grad.float().flatten() for x in of.parameters()])

    right, own = gradients(copy.deepcopy(model).float()), gradients(copy.deepcopy(model))
    accelerate(model)
    model.gradient_checkpointing_enable()
    few_tokens_are_many(monkeypatch)
    assert off(gradients(model), right) <= 1.2 * off(own, right) + 1e-3


def test_a_mask_of_tokens_where_torch_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    model, ids = made("Llama", num_hidden_layers=1).eval(), tokens(2, 20)
    with torch.no_grad():
        own = model(ids, attention_mask=HOLES, use_cache=False).logits
        accelerate(model)
        few_tokens_are_many(monkeypatch)
        run = torch.compile(
            lambda *x: model(x[0], attention_mask=x[1], use_cache=False).logits, fullgraph=True, backend="aot_eager"
        )
        assert off(run(ids, HOLES)[HOLES.bool()], own[HOLES.bool()]) < 1e-2


def test_encoders_behind_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries see all keys but padding; heads that kernels do not take have torch's mask."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "vocab_size": 96, "pad_token_id": 0}
    for heads in 4, 16:
        config = transformers.BertConfig(**sizes, num_attention_heads=heads)
        model = transformers.BertModel(config).to(DEVICE, torch.bfloat16).eval()
        with torch.no_grad():
            right, own = (
                of(tokens(2, 20), attention_mask=HOLES).last_hidden_state[HOLES.bool()]
                for of in (copy.deepcopy(model).float(), model)
            )
            accelerate(model)
            with monkeypatch.context() as patched:
                if heads == 4:
                    few_tokens_are_many(patched)
                else:
                    patched.setattr(masks, "FEW", 4)
                found = model(tokens(2, 20), attention_mask=HOLES).last_hidden_state[HOLES.bool()]
        assert off(found, right) <= 1.2 * off(own, right) + 1e-3


def test_attention_that_computes_with_its_mask_is_left() -> None:
    """Such as Doge's, which needs a mask of tokens by tokens; one that shifts a mask between its arguments does not."""
    assert masks.passes_on(transformers.models.gpt2.modeling_gpt2.GPT2Attention.forward)
    config = transformers.DogeConfig(**SIZES, keep_window_size=7, pad_token_id=0)
    model = transformers.DogeForCausalLM(config).to(DEVICE, torch.bfloat16).eval()
    with torch.no_grad():
        right, own = copy.deepcopy(model).float()(tokens()).logits, model(tokens()).logits
        report = accelerate(model)
        assert off(model(tokens()).logits, right) <= 1.2 * off(own, right) + 1e-3
    assert "attention of DogeAttention computes with its mask, and is as it was" in report.notes
    assert model.config._attn_implementation == config._attn_implementation != attention.NAME


@pytest.mark.parametrize("name", ["Llama", "Gemma3Text"])
def test_models_that_see_all_tokens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those made for embeddings are configured."""
    model, ids = made(name, is_causal=False, use_bidirectional_attention=True).eval(), tokens()
    with torch.no_grad():
        right, own = copy.deepcopy(model).float()(ids).logits, model(ids).logits
        accelerate(model)
        assert off(model(ids).logits, right) <= 1.2 * off(own, right) + 1e-3
        monkeypatch.setattr(masks, "FEW", 4)
        assert off(model(ids).logits, right) <= 1.2 * off(own, right) + 1e-3


def test_no_mask_is_written_out_where_none_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a CUDA graph and under torch.compile `transformers` cannot look whether it needs one."""
    monkeypatch.setattr(transformers.masking_utils, "is_tracing", lambda *_: True)
    monkeypatch.setattr(attention, "sdpa_attention_forward", lambda *_, **more: pytest.fail("torch's attention"))
    for name in ("Llama", "Qwen3", "Mistral in windows"):
        model = made(name).eval()
        accelerate(model)
        with torch.no_grad():
            held = transformers.StaticCache(config=model.config, max_cache_len=32)
            model(tokens(), use_cache=False)
            model(tokens(2, 3), past_key_values=transformers.DynamicCache(config=model.config))
            for count in 3, 2, 1, 5, 1:  # an empty cache, whose length transformers may know, and then not
                model(tokens(2, count), past_key_values=held)
            held.reset()  # its length is on the device from now on, and read for more than some tokens
            monkeypatch.setattr(masks, "FEW", 10)
            for first, last in (0, 11), (11, 12):  # with the mask that a tokeniser gives
                seen = torch.ones((2, last), dtype=torch.int64, device=DEVICE)
                model(tokens(2, last)[:, first:], attention_mask=seen, past_key_values=held)


def test_attention_that_says_how_many_keys_there_are() -> None:
    """As `transformers` calls it: where no kernel fits, the lengths become torch's mask, sinks included."""
    layer, numbers = torch.nn.Module(), torch.Generator().manual_seed(0)
    layer.is_causal, layer.num_key_value_groups = True, 2
    q, k, v = (torch.randn(2, heads, n, 16, generator=numbers).to(DEVICE) for heads, n in ((4, 3), (2, 24), (2, 24)))
    lengths = torch.tensor([9, 24], dtype=torch.int32, device=DEVICE).reshape(2, 1, 1, 1)
    wide, _ = forward(layer, q, k, v, lengths)
    narrow, _ = forward(layer, q.bfloat16(), k.bfloat16(), v.bfloat16(), lengths)
    keys, rows = torch.arange(24, device=DEVICE), torch.arange(-2, 1, device=DEVICE)[:, None]
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k.repeat_interleave(2, 1)) / 4
    scores = scores.masked_fill(keys >= lengths + rows, -torch.inf)
    right = torch.einsum("bhqk,bhkd->bqhd", scores.softmax(-1), v.repeat_interleave(2, 1))
    assert off(wide, right) < 1e-5
    assert off(narrow, right) < 2e-2
    sinks, cap = torch.tensor([-1.0, 0.0, 1.0, 2.0], device=DEVICE), 2.0
    capped = (cap * torch.tanh(torch.einsum("bhqd,bhkd->bhqk", q, k.repeat_interleave(2, 1)) / 4 / cap)).masked_fill(
        keys >= lengths + rows, -torch.inf
    )
    layer.is_causal = False  # lengths are of causal attention all the same
    whole = torch.full((2, 1, 1, 1), 3, dtype=torch.int32, device=DEVICE)
    for dtype, bound in (torch.float32, 1e-5), (torch.bfloat16, 2e-2):
        given = [x[:, :, :3].to(dtype) for x in (q, k, v)]
        found, _ = forward(layer, given[0], given[1], given[2], whole)
        right = torch.nn.functional.scaled_dot_product_attention(
            *(x.float() for x in given), is_causal=True, enable_gqa=True
        )
        assert off(found.transpose(1, 2), right) < bound
    joined = torch.cat([capped, sinks[:, None, None].expand(2, 4, 3, 1)], -1).softmax(-1)[..., :24]
    found, _ = forward(layer, q, k, v, lengths, s_aux=sinks, softcap=cap)
    assert off(found, torch.einsum("bhqk,bhkd->bqhd", joined, v.repeat_interleave(2, 1))) < 1e-5


def test_a_gate_in_the_gemm(monkeypatch: pytest.MonkeyPatch) -> None:
    model, ids = made("Llama").eval(), tokens()
    with torch.no_grad():
        own = model(ids).logits
        accelerate(model)
        monkeypatch.setattr(mlps, "gated_halves", lambda *_: pytest.fail("a kernel of its own"))
        found = model(ids).logits
        mlp = model.model.layers[0].mlp
        mlp.up_proj.weight.data = mlp.up_proj.weight.data.clone()  # no more behind those of the gate
        apart = model(ids).logits
    assert off(found, own) < 2e-2
    assert off(apart, found) < 1e-2


def test_a_gemm_fills_a_static_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one new token of each sequence, biases added; that of the second layer multiplies a norm too, and its old keys
    are loaded ahead of the kernel before."""
    model, ids = made("Qwen2", hidden_size=128, head_dim=64).eval(), tokens(3, 8)
    watched, decoding = Mock(wraps=appended_linear), Mock(wraps=decode)

    def decoded(of: Any) -> Any:
        cache = transformers.StaticCache(config=of.config, max_cache_len=16)
        of(ids[:, :6], past_key_values=cache)
        return torch.cat([of(ids[:, i : i + 1], past_key_values=cache).logits for i in (6, 7)], 1)

    monkeypatch.setattr(attention, "LEAST", 1)
    monkeypatch.setattr(attention, "appended_linear", watched)
    monkeypatch.setattr(attention, "decode", decoding)
    with torch.no_grad():
        right, own = decoded(copy.deepcopy(model).float()), decoded(model)
        accelerate(model)
        found = decoded(model)
    assert [call.args[-3] is not None for call in watched.call_args_list] == 2 * [False, True]
    assert [call.args[-1] for call in decoding.call_args_list] == 2 * [False, True]
    assert off(found, right) <= 1.2 * off(own, right) + 1e-3
    watched.reset_mock()
    model.__cutelite_calls__([(3, 1)], 16)[0]()
    rows = [len(call.args[3]) for call in watched.call_args_list]
    assert rows == [1, 1, 3, 3], "of warm(): from the second token on, and with positions of each sequence"
    decoding.reset_mock()
    q, k, v = (torch.randn(3, heads, n, 64, device=DEVICE).bfloat16() for heads, n in ((4, 1), (2, 16), (2, 16)))
    for lengths in None, torch.full((3, 1, 1, 1), 8, dtype=torch.int32, device=DEVICE):
        forward(model.model.layers[1].self_attn, q, k, v, lengths, early=True)
    told = [call.args[-1] for call in decoding.call_args_list]
    assert told == [False, True], "without a mask the new keys may be any of the cache"


@pytest.mark.parametrize("name", ["Llama with biases", "Phi3"])
def test_norms_in_the_gemms_beside_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few rows all but the first and the last one, unless a layer's result was changed, even in place."""
    model, ids, counted = made(name, hidden_size=128).eval(), tokens(2, 9), Mock(wraps=norm_forward)

    def doubled(*given: Any) -> None:
        given[-1].mul_(2)

    with torch.no_grad():
        own = [model(ids).logits]
        hook = model.model.layers[0].register_forward_hook(doubled)
        own.append(model(ids).logits)
        hook.remove()
        accelerate(model)
        model = copy.deepcopy(model)
        monkeypatch.setattr(norms, "norm_forward", counted)
        for right, most in zip(own, (2, 3), strict=True):
            counted.reset_mock()
            assert off(model(ids).logits, right) < 2e-2
            assert counted.call_count == most
            model.model.layers[0].register_forward_hook(doubled)
    restore(model)
    left = {name for part in model.modules() for name in part.__dict__}
    assert not {"following", "direct", "prepared", "lasting"} & left


def test_norms_in_the_gemms_where_torch_compiles() -> None:
    """Of the layers of a known model, without hooks."""
    model, ids, graphs = made("Qwen2", hidden_size=128).eval().model, tokens(2, 9), []

    def seen(graph: Any, _: Any) -> Any:
        graphs.append([str(node.target) for node in graph.graph.nodes])
        return graph.forward

    accelerate(model)
    first = model.layers[0]
    with torch.no_grad():
        for hooks, most in (0, 2), (1, 3):
            right = model(ids).last_hidden_state
            torch.compiler.reset()
            compiled = torch.compile(model, fullgraph=True, backend=seen)
            for _ in range(2):
                assert torch.equal(compiled(ids).last_hidden_state, right)
            assert len(graphs) == hooks + 1
            assert graphs[hooks].count("cutelite.norm.default") == most
            first.register_forward_hook(lambda *given: given[-1].mul_(2))
    assert all(layer.input_layernorm.prepared is None for layer in model.layers)


def test_weights_made_for_a_call_are_not_loaded_ahead_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As GEMMs beside norms do: not those that torch's `parametrize` computes, nor where a layer may gather its own."""
    model, ids, watched = made("Llama", hidden_size=128).eval(), tokens(2, 9), Mock(wraps=summed_linear)
    accelerate(model)
    monkeypatch.setattr(summed, "summed_linear", watched)

    def sums() -> int:
        watched.reset_mock()
        with torch.no_grad():
            assert off(model(ids).logits, own) < 2e-2
        return watched.call_count

    with torch.no_grad():
        own = model(ids).logits
    assert sums() == 3
    torch.nn.utils.parametrizations.weight_norm(model.model.layers[0].mlp.down_proj)
    assert sums() == 2
    layer = model.model.layers[1]
    hook = layer.register_forward_pre_hook(lambda *_: None)
    assert sums() == 1
    hook.remove()
    assert sums() == 2
    layer.forward = layer.forward  # in its place accelerate has one that brings the weights of a layer first
    assert sums() == 1


def test_weights_behind_attention_are_loaded_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of layers whose norms are kernels, as in f16: but not weights that are made for a call, and not by autocast."""
    model, ids = made("Llama", hidden_size=128).eval().half(), tokens(2, 9)
    accelerate(model)
    watched, gated = Mock(wraps=linear), Mock(wraps=gated_linear)
    monkeypatch.setattr(dense, "linear", watched)
    monkeypatch.setattr(mlps, "gated_linear", gated)

    def told() -> list[bool]:
        watched.reset_mock()
        gated.reset_mock()
        with torch.no_grad():
            model.model(ids)
        return [call.args[-1] is True for mock in (watched, gated) for call in mock.call_args_list]

    assert told() == [False, True, True, True, True, True, True, True]
    with torch.autocast(torch.device(DEVICE).type, torch.bfloat16):
        assert not any(told())
    torch.nn.utils.parametrizations.weight_norm(model.model.layers[0].mlp.down_proj)
    assert told() == [False, True, False, True, True, True, True, True]
    model.model.layers[1].register_forward_pre_hook(lambda *_: None)
    assert told() == [False, True, False, False, False, False, True, False]


@pytest.mark.parametrize("compiled", [False, True])
def test_weights_of_routers_are_loaded_ahead(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And those of the attention beside them, but for the first layer's queries; under torch.compile too."""
    model, ids = made("Qwen3Moe").eval(), tokens(2, 9)
    accelerate(model)
    watched = Mock(wraps=multiply)
    monkeypatch.setattr(operators, "multiply", watched)
    torch.compiler.reset()
    run = torch.compile(model.model, backend="eager", fullgraph=True, dynamic=False) if compiled else model.model
    with torch.no_grad():
        run(ids)
        watched.reset_mock()
        run(ids)
    assert [call.kwargs["there"] for call in watched.call_args_list] == [False, True, True, True, True, True]
    assert not any(part.lasting for part in model.modules() if isinstance(part, routers.Router))


def test_a_mixture_of_experts_that_raises_leaves_its_router_as_it_was() -> None:
    model, ids = made("Qwen3Moe").eval(), tokens(2, 9)
    accelerate(model)
    failing = Mock(side_effect=ZeroDivisionError)
    model.model.layers[0].mlp.experts.register_forward_pre_hook(failing)
    with torch.no_grad(), pytest.raises(ZeroDivisionError):
        model.model(ids)
    assert failing.called
    assert not any(part.lasting for part in model.modules() if isinstance(part, routers.Router))


@pytest.mark.parametrize("name", ["Llama", "Qwen3"])
def test_rotary_embedding_in_the_gemm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 17 tokens as if they were many: of one sequence, but not of two, nor where heads have norms."""
    model, ids, watched = made(name, num_hidden_layers=1).eval(), tokens(), Mock(wraps=rotated_linear)
    monkeypatch.setattr(attention, "MANY", 1)
    monkeypatch.setattr(attention, "rotated_linear", watched)
    with torch.no_grad():
        own = model(ids).logits
        accelerate(model)
        found = [model(ids[:1]).logits, model(ids).logits]
    assert [call.args[4] for call in watched.call_args_list] == ([] if name == "Qwen3" else [6])
    assert off(found[0], own[:1]) < 2e-2
    assert off(found[1], own) < 2e-2


@pytest.mark.parametrize("name", ["Llama", "Qwen3Moe"])
def test_torch_compile_makes_one_graph_of_it(name: str) -> None:
    """Of a prompt, and of a token behind a static cache."""
    model, ids = made(name, num_hidden_layers=1).eval(), tokens()
    accelerate(model)
    compiled = torch.compile(
        lambda ids, held: model(ids, past_key_values=held).logits, fullgraph=True, backend="aot_eager"
    )
    with torch.no_grad():
        own, held = model(ids).logits, transformers.StaticCache(config=model.config, max_cache_len=32)
        model(ids[:, :16], past_key_values=held)
        assert off(compiled(ids, None), own) < 1e-2
        assert off(compiled(ids[:, 16:], held)[:, 0], own[:, 16]) < 1e-2


@pytest.mark.parametrize("behind", [False, True])
def test_padded_batches_are_masked(behind: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the kernel, in front of a sequence; what is behind it no query of the sequence sees."""
    model, ids = made("Llama").eval(), tokens()
    mask = torch.ones_like(ids)
    mask[1, slice(12, None) if behind else slice(0, 5)] = 0
    with torch.no_grad():
        own = model(ids, attention_mask=mask).logits
        accelerate(model)
        monkeypatch.setattr(attention, "sdpa_attention_forward", lambda *_, **more: pytest.fail("torch's attention"))
        found = model(ids, attention_mask=mask).logits
    assert off(found[mask.bool()], own[mask.bool()]) < 0.02


def test_weights_beside_each_other_keep_their_names() -> None:
    model = made("Llama")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    accelerate(model)
    layer = model.model.layers[0].self_attn
    assert joined([layer.q_proj.weight, layer.k_proj.weight, layer.v_proj.weight]) is not None
    assert model.state_dict().keys() == before.keys()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    layer.k_proj.weight.data = layer.k_proj.weight.data.clone()  # as `.to()` or a checkpoint may leave them
    x = torch.randn(3, 64, dtype=torch.bfloat16, device=DEVICE)
    weights = [layer.q_proj.weight, layer.k_proj.weight]
    assert off(linear(x, weights), x.double() @ torch.cat(weights).double().T) < 4e-3


def test_copies_and_conversions_keep_weights_beside_each_other() -> None:
    model = made("Llama")
    accelerate(model)
    kinds = [type(layer) for layer in model.modules()]
    copies = copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.deepcopy(model).float().bfloat16()
    for other in copies:
        assert [type(layer) for layer in other.modules()] == kinds
        heads, mlp = other.model.layers[0].self_attn, other.model.layers[1].mlp
        assert joined([heads.q_proj.weight, heads.k_proj.weight, heads.v_proj.weight]) is not None
        assert joined([mlp.gate_proj.weight, mlp.up_proj.weight]) is not None
        assert all(map(torch.equal, other.state_dict().values(), model.state_dict().values()))


def test_a_dense_layer_of_gpt2() -> None:
    own = torch.nn.Sequential(Conv1D(24, 32)).to(DEVICE, torch.bfloat16)
    model, x = copy.deepcopy(own), torch.randn(2, 3, 32, device=DEVICE, dtype=torch.bfloat16)
    assert accelerate(model).changed == {"dense layer": ["0"]}
    for each in own, model:
        each(x).square().sum().backward()
    assert off(model(x), own(x)) < 8e-3
    assert off(model[0].weight.grad, own[0].weight.grad) < 2e-2 and off(model[0].bias.grad, own[0].bias.grad) < 2e-2


def test_a_norm_of_t5() -> None:
    own = torch.nn.Sequential(T5LayerNorm(32)).to(DEVICE, torch.bfloat16)
    model, x = copy.deepcopy(own), torch.randn(2, 3, 32, device=DEVICE, dtype=torch.bfloat16)
    assert accelerate(model).changed == {"norm": ["0"]}
    assert off(model(x), own(x)) < 4e-3


def test_what_a_report_says_besides() -> None:
    with pytest.raises(TypeError, match=r"takes a model.*not str 'a/name'"):
        accelerate("a/name")
    for function in accelerate, restore:
        with pytest.raises(TypeError, match=f"{function.__name__} takes .* not the class LlamaForCausalLM"):
            function(transformers.LlamaForCausalLM)
    model = made("Llama", torch.float32)
    assert "torch.float32 are torch's" in str(accelerate(model))
    assert str(accelerate(model)).startswith("nothing is left to change")
    assert "experts of torch.float16 are torch's" in str(accelerate(made("Mixtral", torch.float16)))
    for shapes in [16], 16, (1, 8), [(1, 0)], [(1, "8")]:
        with pytest.raises(TypeError, match=rf"a list of \(sequences, tokens\).* not {re.escape(repr(shapes))}"):
            cl.warm(model, shapes=shapes)
    for cache in 7, "16":
        with pytest.raises(TypeError, match=f"cache is .* at least the 8 of a shape, not {cache!r}"):
            cl.warm(model, shapes=[(1, 8)], cache=cache)
    accelerate(model.model)
    with pytest.raises(AttributeError, match="loss") as seen:
        cl.warm(model.model, shapes=[(1, 2)], train=True)
    assert "LlamaModel with 1 x 2 tokens alone, which are the labels too" in seen.value.__notes__[0]


def test_a_warm_model_compiles_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_CACHE_DIR", str(tmp_path))
    model = made("Qwen3Moe")
    accelerate(model)
    cases: list[dict[str, Any]] = [{"shapes": [(2, 9)], "train": True}, {"shapes": [(2, 1), (1, 5)], "cache": 24}]
    for how in cases:
        first, again = (cl.warm(model, **how) for _ in range(2))
        assert first.kernels == again.kernels > 10 and again.compiled == 0
    assert model.training and all(parameter.grad is None for parameter in model.parameters())


def test_another_process_finds_what_a_warm_model_compiled(tmp_path: Path) -> None:
    """Of all that a step of training launches: what a kernel's key holds does not depend on what ran before."""
    variables = {"CUTELITE_CACHE_DIR": str(tmp_path), "CUTELITE_DRYRUN": "1", "CUTELITE_ARCH": "sm_90a"}
    model = """
import cutelite as cl
from cutelite.models import accelerate
from tests.models.test_accelerate import made, tokens

model = made("Qwen3")
accelerate(model)
"""
    warmed = printed(model + "print(cl.warm(model, shapes=[(2, 17)], train=True).compiled)", **variables)
    step = model + "model(tokens(), labels=tokens(), use_cache=False).loss.backward()"
    assert int(warmed) > 10 and printed(step, CUTELITE_COMPILE="error", **variables) == ""


def test_experts_in_f32_are_asked_nothing_while_they_decode() -> None:
    """A graph cannot hold experts that are grouped in f32: torch asks the GPU where groups end."""
    batched, grouped = moe.batched_mm_experts_forward, moe.grouped_mm_experts_forward
    rows = {(device, n): torch.empty((n, 8), device=device) for device in ("meta", "cpu") for n in (2, 65)}
    layer = made("Qwen3Moe", torch.float32).model.layers[0].mlp.experts
    assert experts.theirs(layer, rows["meta", 2]) is batched
    others = rows["meta", 65], rows["cpu", 2], rows["meta", 2].bfloat16()
    assert all(experts.theirs(layer, x) is grouped for x in others)
    given = torch.randn((2, 64), device=DEVICE), torch.tensor([[0, 3], [2, 1]]), torch.rand((2, 2))
    x, index, weights = (each.to(DEVICE) for each in given)
    with torch.no_grad():
        assert off(batched(layer, x, index, weights), grouped(layer, x, index, weights)) < 1e-5


def test_experts_whose_rows_fill_no_units_are_the_models_own() -> None:
    model, ids = made("Qwen3Moe", moe_intermediate_size=36).eval(), tokens()
    model.set_experts_implementation("eager")
    with torch.no_grad():
        own = model(ids).logits
        report = accelerate(model)
        assert off(model(ids).logits, own) < 2e-2
    assert "experts of 36 columns are the model's own: the kernels take multiples of 8" in report.notes
    in_f32 = accelerate(made("Qwen3Moe", torch.float32, moe_intermediate_size=36))
    assert not any("36" in note for note in in_f32.notes)  # 144 bytes, which torch's grouped products take
    notes = accelerate(made("Qwen3Moe", torch.float32, moe_intermediate_size=34)).notes
    assert [note.partition(":")[0] for note in notes if "experts" in note] == ["experts of torch.float32 are torch's"]


def test_restored() -> None:
    model, ids = made("Qwen3Moe").eval(), tokens()
    model.set_experts_implementation("eager")
    with torch.no_grad():
        own = model(ids).logits
        kinds = [type(layer) for layer in model.modules()]
        accelerate(model)
        assert accelerate(model).changed.keys() <= {"experts"}  # again: there is nothing left to change
        restore(model)
        assert [type(layer) for layer in model.modules()] == kinds
        assert model.config._experts_implementation == "eager"
        assert torch.equal(model(ids).logits, own)
    model.set_attn_implementation("eager")
    restore(model)
    assert model.config._attn_implementation == "eager"


def test_names_of_attention_are_restored_in_parts_of_a_model() -> None:
    names = {"": "sdpa", "text_config": "eager", "vision_config": "sdpa"}
    small = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LlavaConfig(
        text_config=transformers.LlamaConfig(**small, vocab_size=32),
        vision_config=transformers.CLIPVisionConfig(**small, image_size=8, patch_size=4, projection_dim=8),
    )
    model = transformers.LlavaForConditionalGeneration._from_config(config, attn_implementation=names)
    accelerate(model)
    assert {x._attn_implementation for x in (config, config.text_config, config.vision_config)} == {"cutelite"}
    restore(model)
    assert [config.text_config._attn_implementation, config.vision_config._attn_implementation] == ["eager", "sdpa"]
    accelerate(model.model)
    restore(model)
    assert config.text_config._attn_implementation == "eager"


def test_classes_that_others_derived_from_ours_are_restored_as_theirs() -> None:
    """As torch derives one for each layer with a parametrized weight."""

    class Halved(torch.nn.Module):  # type: ignore[misc]
        def forward(self, weight: Any) -> Any:
            return weight / 2

    model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.LayerNorm(8)).to(DEVICE, torch.bfloat16)
    given, own = torch.ones((3, 16), device=DEVICE, dtype=torch.bfloat16), copy.deepcopy(model)
    accelerate(model)
    for each in (*model, *own):
        torch.nn.utils.parametrize.register_parametrization(each, "weight", Halved())
    with torch.no_grad():
        assert off(model(given), own(given)) < 1e-2
        restore(model)
        assert torch.equal(model(given), own(given))
    assert not any(type(each).__module__.startswith("cutelite") for each in model) and model[0].parametrizations


@pytest.mark.parametrize("name", ["Llama", "Mistral in windows"])
def test_weights_of_attention_by_transformers_own(name: str) -> None:
    """Of the name "eager", and of "cutelite" where weights are asked for, behind padding too."""
    model, ids = made(name, torch.float32).eval(), tokens()
    model.set_attn_implementation("eager")
    seen = torch.ones_like(ids)
    seen[1, :5] = 0
    cases: list[dict[str, Any]] = [{}, {"attention_mask": seen}]
    with torch.no_grad():
        own = [model(ids, output_attentions=True, **case).attentions for case in cases]
        accelerate(model)
        for of in ("cutelite", "eager"):
            model.set_attn_implementation(of)
            found = [model(ids, output_attentions=True, **case).attentions for case in cases]
            for one, other in zip(itertools.chain(*found), itertools.chain(*own), strict=True):
                torch.testing.assert_close(one, other)
    accelerate(model)
    restore(model)
    assert model.config._attn_implementation == "eager"


def test_layers_that_differ_are_left_and_named() -> None:
    class Clipped(transformers.models.llama.modeling_llama.LlamaRMSNorm):  # type: ignore[misc]
        def forward(self, hidden_states: Any) -> Any:
            return super().forward(hidden_states).clamp(-1, 1)

    model, ids = made("Llama").eval(), tokens()
    model.model.norm = Clipped(64).to(DEVICE, model.dtype)
    model.model.layers[0].mlp.act_fn = type("SiLU", (torch.nn.Tanh,), {})()  # the name alone does not make it one
    with torch.no_grad():
        own = model(ids).logits
        report = accelerate(model)
        found = model(ids).logits
    assert off(found, own) < 0.02
    assert report.left["unknown Clipped"] == ["model.norm"]
    assert "model.layers.0.mlp" not in report.changed["gated MLP"]


def test_a_window_that_only_the_mask_has() -> None:
    """As in Phi-3.5 MoE, whose attention is Llama's and whose model is Mistral's: the mask is kept."""
    model = made("Mistral in windows", num_hidden_layers=1, attention_bias=False)
    model.model.layers[0].self_attn = LlamaAttention(model.config, 0)
    changed = accelerate(model).changed
    assert "attention" in changed and "mask" not in changed
    assert "mask" in accelerate(made("Mistral in windows", num_hidden_layers=1)).changed


def test_gradients_of_padding_with_a_cap_are_transformers_own() -> None:
    """A row that sees no key has the gradient that an added mask gives it."""
    torch.manual_seed(0)
    query, key = torch.randn(1, 2, 5, 8, requires_grad=True), torch.randn(1, 1, 5, 8)
    seen = torch.ones(5, 5, dtype=torch.bool).tril()[None, None] & (torch.arange(5) > 1)
    added = torch.where(seen, 0.0, torch.finfo(torch.float32).min)
    found, right = (
        torch.autograd.grad(
            attention.step_by_step(query, key, key, mask, 0.0, None, None, 2.0)[:, :, :, 0].sum(), query
        )[0]
        for mask in (seen, added)
    )
    assert torch.equal(found, right) and bool(found[:, :, 0].any())


@pytest.mark.parametrize("name", OTHERS)
def test_other_architectures_are_changed_layer_by_layer(name: str) -> None:
    """Caps, sinks, windows and padding included; what is left is named."""
    model, ids = made(name).eval(), tokens()
    seen = torch.ones_like(ids)
    seen[1, :4] = 0

    def steps() -> Any:
        held, found = transformers.StaticCache(config=model.config, max_cache_len=32), []
        for first, last in ((0, 15), (15, 16), (16, 17)):
            found.append(model(ids[:, first:last], past_key_values=held, use_cache=True).logits)
        return torch.cat(found, 1)

    with torch.no_grad():
        own = [model(ids).logits, model(ids, attention_mask=seen).logits, steps()]
        report = accelerate(model)
        found = [model(ids).logits, model(ids, attention_mask=seen).logits, steps()]
    assert off(found[0], own[0]) < 2e-2
    assert off(found[1][seen.bool()], own[1][seen.bool()]) < 2e-2
    assert off(found[2], own[2]) < 2e-2
    assert report.changed["dense layer"]
    assert ("attention" in report.changed) == (name != "Phi")
    assert ("decoder layer" in report.changed) == name.startswith(("Mixtral", "Phi3"))
    assert ("experts" in report.changed) == (name == "Mixtral")
    assert ("unknown GptOssExperts" in report.left) == (name == "GptOss")
    assert not any("Norm" in why or "MoeBlock" in why for why in report.left)


def test_tables_of_rotary_embedding_may_lie_columns_first() -> None:
    """As gpt-oss made them in transformers 5.17, by a product of frequencies and places."""
    model, ids = made("Llama", num_hidden_layers=1).eval(), tokens()
    accelerate(model)

    def steps() -> Any:
        held = transformers.StaticCache(config=model.config, max_cache_len=32)
        found = [model(ids[:, part], past_key_values=held).logits for part in (slice(15), slice(15, 16), slice(16, 17))]
        return torch.cat([*found, model(ids).logits], 1)

    with torch.no_grad():
        right = steps()
        rows = model.model.rotary_emb.forward
        model.model.rotary_emb.forward = lambda *given, **more: [x.mT.contiguous().mT for x in rows(*given, **more)]
        assert torch.equal(steps(), right)


@pytest.mark.parametrize("name", ["Gemma2", "GptOss", "Olmo2", "Phi3"])
def test_gradients_of_other_attention(name: str) -> None:
    model, ids = made(name, num_hidden_layers=1), tokens(1)

    def gradients(of: Any) -> dict[str, Any]:
        of.zero_grad()
        of(ids, labels=ids).loss.backward()
        return {key: parameter.grad for key, parameter in of.named_parameters() if "self_attn" in key}

    right, own = gradients(copy.deepcopy(model).float()), gradients(copy.deepcopy(model))
    accelerate(model)
    for key, gradient in gradients(model).items():
        assert off(gradient, right[key]) <= 1.3 * off(own[key], right[key]) + 1e-2, key


@pytest.mark.parametrize(("inputs", "outputs", "shape"), [(8, 16, ()), (0, 3, (2, 2)), (3, 0, (2,)), (8, 8, (0,))])
def test_dense_layers_of_single_vectors_and_of_nothing(inputs: int, outputs: int, shape: tuple[int, ...]) -> None:
    own = torch.nn.Linear(inputs, outputs, device=DEVICE, dtype=torch.bfloat16)
    layer, x = copy.deepcopy(own), torch.randn((*shape, inputs), device=DEVICE, dtype=torch.bfloat16).requires_grad_()
    accelerate(layer)
    results = []
    for of in (layer, own):
        y = of(x)
        results.append([y, *torch.autograd.grad(y.sum(), [x, *of.parameters()])])
    torch.testing.assert_close(*results)


def test_functions_are_the_same_by_what_they_call() -> None:
    def scope(scale: float) -> Any:
        space: dict[str, Any] = {"__name__": f"of_{scale}"}
        exec(f"def inner(x):\n    return x * {scale}\ndef outer(x):\n    return inner(x) + 1\n", space)
        return space["outer"]

    assert same(scope(2.0), scope(2.0))
    assert not same(scope(2.0), scope(3.0))


def test_hooks_still_see_their_layers() -> None:
    model, ids, seen = made("Llama").eval(), tokens(), []
    accelerate(model)
    first, second = model.model.layers
    for layer in (second.self_attn.o_proj, first.mlp, first.mlp.up_proj):
        layer.register_forward_hook(lambda layer, given, result: seen.append(result.shape[-1]))
    attended: list[Any] = []
    with torch.no_grad():
        model(ids)
        assert seen == [128, 64, 64]
        first.self_attn.register_forward_hook(lambda layer, given, result: attended.append(result[0]))
        first.self_attn.o_proj.register_forward_hook(lambda layer, given, result: attended.append(result))
        model(ids)
        assert torch.equal(*attended)  # without the residual
        every = torch.nn.modules.module.register_module_forward_hook(lambda layer, *_: seen.append(layer))
        del seen[:]
        model(ids)
        every.remove()
        assert {first.mlp.down_proj, first.mlp.act_fn, second.self_attn.q_proj, model.lm_head} <= {
            x for x in seen if x in model.modules()
        }


def test_a_forward_that_was_put_into_a_layer_is_called() -> None:
    """As tools do that offload or quantise layers."""
    model, ids = made("Llama").eval(), tokens()
    accelerate(model)
    layer, called = model.model.layers[0].self_attn, []
    for each in (layer, layer.k_proj, model.model.layers[1].mlp):

        def counted(*given: Any, own: Any = each.forward, **named: Any) -> Any:
            called.append(1)
            return own(*given, **named)

        each.forward = counted
    with torch.no_grad():
        model(ids)
    assert len(called) == 3


def test_the_example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CUTELITE_CACHE_DIR", str(tmp_path))
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples" / "llama"))
    found = importlib.import_module("generate").main(layers=1, prompt=5, count=2)
    said = capsys.readouterr().out
    assert len(found) == 7 and "gated MLP: 1" in said and "prompt: " in said


class Adapted(torch.nn.Module):  # type: ignore[misc]
    """A dense layer that is wrapped, as adapters do: it has no weight of its own."""

    def __init__(self, base: Any) -> None:
        super().__init__()
        self.base, kind = base, {"dtype": base.weight.dtype, "device": base.weight.device}
        self.down = torch.nn.Linear(base.in_features, 8, bias=False, **kind)
        self.up = torch.nn.Linear(8, base.out_features, bias=False, **kind)

    def forward(self, x: Any) -> Any:
        return self.base(x) + self.up(self.down(x))


class Held(torch.Tensor):  # type: ignore[misc]
    """A weight that stands for another tensor, as distributed ones do: it knows torch's operators only."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(parts: Any, *_: Any) -> Any:
        return Held(parts["inner"])

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function.namespace != "aten":
            raise NotImplementedError(function)
        found = function(*tree_map_only(Held, lambda x: x.inner, args), **(kwargs or {}))
        return tree_map_only(torch.Tensor, Held, found)


@pytest.mark.parametrize(
    "layer",
    [
        LlamaRMSNorm(16), GemmaRMSNorm(16), torch.nn.LayerNorm(16), torch.nn.Embedding(4, 16), torch.nn.Linear(16, 8),
    ],
    ids=lambda layer: type(layer).__name__,
)  # fmt: skip
def test_weights_that_stand_for_others_are_torchs(layer: Any) -> None:
    layer.to(DEVICE, torch.bfloat16)
    x = torch.tensor([[1, 3]]) if isinstance(layer, torch.nn.Embedding) else torch.randn(1, 2, 16).bfloat16()
    own, x = layer(x.to(DEVICE)), x.to(DEVICE)
    accelerate(layer)
    for name, parameter in layer.named_parameters():
        setattr(layer, name, torch.nn.Parameter(Held(parameter.data)))
    found = layer(x)
    assert type(found) is Held and torch.equal(found.inner, own)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_few_rows_of_an_embedding(dtype: Any) -> None:
    layer = torch.nn.Embedding(7, 16, dtype=dtype)
    model = torch.nn.Sequential(layer).requires_grad_(False)
    many = torch.arange(20).view(4, 5) % 7
    given = many[0, 0], many[:2], many[:0], many, many[:2].int()
    right = [model(places) for places in given]
    accelerate(model)
    for places, rows in zip(given, right, strict=True):
        assert torch.equal(model(places), rows)
    for wrong in -1, 7:
        with pytest.raises((RuntimeError, IndexError), match="out of"):
            model(torch.tensor([wrong]))


def test_an_embedding_without_a_kernel_gives_its_padding_no_gradient() -> None:
    layer = torch.nn.Embedding(7, 16, padding_idx=0, dtype=torch.float64)
    model, few = torch.nn.Sequential(copy.deepcopy(layer)), torch.tensor([[0, 3, 0, 2]])
    accelerate(model)
    for each in layer, model:
        each(few).sum().backward()
    assert torch.equal(model[0].weight.grad, layer.weight.grad)


def test_an_embedding_is_exported_for_any_number_of_rows() -> None:
    model = torch.nn.Sequential(torch.nn.Embedding(7, 16)).requires_grad_(False)
    accelerate(model)
    shapes = ({1: torch.export.Dim("length", max=64)},)
    made = torch.export.export(model, (torch.zeros(1, 4, dtype=torch.int64),), dynamic_shapes=shapes).module()
    for length in 3, 40:
        places = torch.arange(length).view(1, -1) % 7
        assert torch.equal(made(places), model(places))


class Narrow(torch.Tensor):  # type: ignore[misc]
    """A weight of 8 bits that says it is bf16, as quantised ones do: `linear` is all it knows."""

    @staticmethod
    def __new__(cls, whole: Any, scale: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, whole.shape, dtype=torch.bfloat16, device=whole.device)

    def __init__(self, whole: Any, scale: Any) -> None:
        self.whole, self.scale = whole, scale

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["whole", "scale"], None

    @staticmethod
    def __tensor_unflatten__(parts: Any, *_: Any) -> Any:
        return Narrow(parts["whole"], parts["scale"])

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.nn.functional.linear:
            return function(args[0], (args[1].whole * args[1].scale).bfloat16(), *args[2:])
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
            return Narrow(args[0].whole, args[0].scale)
        raise NotImplementedError(function)


def narrow(layer: Any) -> None:
    """Give a dense layer a weight of 8 bits."""
    scale = layer.weight.data.float().abs().amax(1, keepdim=True) / 127
    made = Narrow((layer.weight.data / scale).round().to(torch.int8), scale)
    layer.weight = torch.nn.Parameter(made, requires_grad=False)


def adapt(model: Any) -> None:
    attention, mlp = model.model.layers[0].self_attn, model.model.layers[0].mlp
    for layer, name in ((attention, "q_proj"), (attention, "k_proj"), (attention, "o_proj"), (mlp, "up_proj")):
        setattr(layer, name, Adapted(getattr(layer, name)))


def quantise(model: Any) -> None:
    layer = model.model.layers[0]
    for each in (*layer.self_attn.children(), *layer.mlp.children()):
        if isinstance(each, torch.nn.Linear):
            narrow(each)


def drop_a_bias(model: Any) -> None:
    model.model.layers[0].self_attn.k_proj.bias = None


def share_a_weight(model: Any) -> None:
    model.model.layers[0].mlp.up_proj.weight = model.model.layers[0].mlp.gate_proj.weight


def replace_attention(model: Any) -> None:
    layer = model.model.layers[0]
    layer.self_attn = Qwen2Attention(model.config, 0).to(DEVICE, model.dtype)


@pytest.mark.parametrize("change", [adapt, quantise, drop_a_bias, share_a_weight, replace_attention])
def test_layers_that_others_have_changed(change: Callable[[Any], None]) -> None:
    """Before `accelerate` and behind it; of words whose elements are not next to each other."""
    first = made("Qwen2", num_hidden_layers=1).eval()
    given = {"inputs_embeds": first.model.embed_tokens(tokens()).detach().mT.contiguous().mT}
    second = copy.deepcopy(first)
    accelerate(second)
    with torch.no_grad():
        for model in (first, second):
            torch.manual_seed(1)
            change(model)
        own = first(**given).logits
        accelerate(first)
        assert off(first(**given).logits, own) < 2e-2
        assert off(second(**given).logits, own) < 2e-2


def test_f64_stays_torchs() -> None:
    model, ids = made("Qwen3", torch.float64, num_hidden_layers=1).eval(), tokens()
    with torch.no_grad():
        own = model(ids).logits
        accelerate(model)
        assert torch.equal(model(ids).logits, own)


def test_gradients_of_checkpoints_of_tied_words_and_of_some_weights_alone() -> None:
    model, ids = made("Llama", num_hidden_layers=1, tie_word_embeddings=True), tokens()
    model.gradient_checkpointing_enable()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("down" in name or "embed" in name)

    def gradients() -> dict[str, Any]:
        model.zero_grad()
        model(ids, labels=ids).loss.backward()
        return {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}

    own = gradients()
    with torch.inference_mode():  # weights that lie elsewhere then have gradients as before
        accelerate(model)
    found = gradients()
    assert found.keys() == own.keys() and len(own) == 2
    assert all(off(found[name], own[name]) < 2e-2 for name in own)


def in_blocks(layer: Any) -> Any:
    """The dense layer in fp8 with block scales, as `transformers` has it in models of such checkpoints."""
    found = finegrained_fp8.FP8Linear(
        layer.in_features, layer.out_features, block_size=(128, 128), has_bias=layer.bias is not None
    )
    (n, k), wide = layer.weight.shape, layer.weight.detach().float()
    padded = functional.pad(wide, (0, -k % 128, 0, -n % 128)).unflatten(0, (-1, 128)).unflatten(2, (-1, 128))
    scales = padded.abs().amax((1, 3)) / 448
    narrow = (padded / scales[:, None, :, None]).flatten(2).flatten(0, 1)[:n, :k].to(torch.float8_e4m3fn)
    found.weight, found.weight_scale_inv = (torch.nn.Parameter(x, requires_grad=False) for x in (narrow, scales))
    found.bias = layer.bias
    return found.to(DEVICE)


def with_dense_layers_in_fp8(model: Any) -> Any:
    for layer in list(model.model.layers.modules()):
        for name, part in list(layer.named_children()):
            if type(part) is torch.nn.Linear:
                setattr(layer, name, in_blocks(part))
    return model


def by_blocks(x: Any, weight: Any, scales: Any, block_size: Any = None, bias: Any = None, *_: Any, **__: Any) -> Any:
    """What such a layer computes, in f32: `transformers` has kernels for GPUs alone, which it downloads."""
    (n, k), wide = weight.shape, functional.pad(x.float(), (0, -x.shape[-1] % 128)).unflatten(-1, (-1, 128))
    tops = wide.abs().amax(-1, keepdim=True).clamp(min=1e-30) / 448
    narrow = ((wide / tops).to(torch.float8_e4m3fn).float() * tops).flatten(-2)[..., :k]
    of_weight = scales.repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]
    out = (narrow @ (weight.float() * of_weight).T).to(x.dtype)
    return out if bias is None else out + bias


@pytest.mark.parametrize("inner", [256, 272])
def test_dense_layers_in_fp8_with_block_scales(inner: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an inner size of 272 columns, 128 rows have weights of two layers: there is a GEMM for each."""
    monkeypatch.setattr(finegrained_fp8, "fp8_linear", by_blocks)
    sizes = {"hidden_size": 144, "head_dim": 32, "num_key_value_heads": 4, "intermediate_size": inner}
    own = with_dense_layers_in_fp8(made("Qwen2", **sizes)).eval()
    ours = copy.deepcopy(own)
    report = accelerate(ours)
    assert len(report.changed["dense layer in fp8"]) == 14 and not report.left
    block, words = ours.model.layers[0], tokens()
    weights = [block.mlp.gate_proj, block.mlp.up_proj]
    assert joined([part.weight for part in weights]) is not None
    watched = Mock(wraps=fp8_block.multiply)
    monkeypatch.setattr(fp8_block, "multiply", watched)
    x = torch.randn(2, 3, 144).to(DEVICE, torch.bfloat16)
    with torch.no_grad():
        both = dense.projected(x, weights)
        for part, found in zip(weights, both.split(inner, -1), strict=True):
            wide = by_blocks(x.float(), part.weight, part.weight_scale_inv, None)
            assert (found - wide).norm() < 3e-3 * wide.norm()
        asked = [tuple(call.args[1].shape) for call in watched.call_args_list]
        assert asked == ([(2 * inner, 144)] if inner == 256 else [(inner, 144)] * 2)
        found, wanted = ours(words).logits.float(), own(words).logits.float()
    assert (found - wanted).norm() < 0.06 * wanted.norm()  # of e4m3's bits the last one differs here and there
    x.requires_grad_()
    assert not weights[0].takes(x)  # transformers' own has a gradient, of some versions
    restore(ours)
    assert type(ours.model.layers[0].mlp.up_proj) is finegrained_fp8.FP8Linear


def test_dense_layers_in_fp8_with_other_scales_are_left() -> None:
    layer = torch.nn.Linear(144, 136, bias=False)
    for change in ({"block_size": None}, {"block_size": (64, 64)}, {"activation_scheme": "static"}):
        other = finegrained_fp8.FP8Linear(144, 136, **{"block_size": (128, 128)} | change)
        assert accelerate(other).left == {"unknown FP8Linear": [""]}
    assert not accelerate(in_blocks(layer)).left


@pytest.mark.parametrize("limit", [None, 7.0])
def test_experts_in_fp8_with_block_scales(limit: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit of the gate they are transformers' own, which has kernels for GPUs alone: here it is only called."""
    monkeypatch.setattr(finegrained_fp8, "fp8_linear", by_blocks)
    called: list[Any] = []

    def theirs(layer: Any, x: Any, *_: Any) -> Any:
        called.append(layer)
        return x

    monkeypatch.setattr(finegrained_fp8, "fp8_grouped_mm_experts_forward", theirs)
    own = made("Qwen3Moe", hidden_size=144, head_dim=32, num_key_value_heads=4, moe_intermediate_size=128).eval()
    names = finegrained_fp8.ALL_FP8_EXPERTS_FUNCTIONS
    kind = moe.use_experts_implementation(
        experts_class=finegrained_fp8.FP8Experts, experts_interface=names, has_bias=False, has_gate=True
    )
    for layer in own.model.layers:
        found = kind(own.config, block_size=(128, 128), has_gate=True).to(DEVICE)
        found.limit = limit
        for name in "gate_up_proj", "down_proj":
            parts = [in_blocks(plain(matrix)) for matrix in getattr(layer.mlp.experts, name)]
            for what, ending in ("weight", ""), ("weight_scale_inv", "_scale_inv"):
                every = torch.stack([getattr(part, what) for part in parts])
                setattr(found, name + ending, torch.nn.Parameter(every, requires_grad=False))
        layer.mlp.experts = found
    ours = copy.deepcopy(own)
    own.set_experts_implementation("eager")
    report = accelerate(ours)
    assert len(report.changed.get("experts in fp8", [])) == (2 if limit is None else 0)
    assert [len(left) for left in report.left.values()] == ([] if limit is None else [2])
    x = torch.randn(1, 30, 144).to(DEVICE, torch.bfloat16)
    with torch.no_grad():
        found, wanted = (model.model.layers[0].mlp(x) for model in (ours, own))
        found, wanted = (each[0] if isinstance(each, tuple) else each for each in (found, wanted))
    assert called == ([] if limit is None else [ours.model.layers[0].mlp.experts])
    assert limit is not None or off(found, wanted) < 0.03
    ours(tokens())  # with gradients
    assert len(called) == 2 + (limit is not None)


def plain(matrix: Any) -> Any:
    """A dense layer of a matrix."""
    layer = torch.nn.Linear(*matrix.shape[::-1], bias=False)
    layer.weight = torch.nn.Parameter(matrix.detach())
    return layer
