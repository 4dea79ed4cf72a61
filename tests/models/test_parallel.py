"""Two processes that have half of a model each: logits, gradients and tokens as one has them."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

from cutelite.models import accelerate, pairs, shard
from tests.models.test_accelerate import made, off, tokens, with_dense_layers_in_fp8

NAMES = "Llama with biases", "Qwen3Moe"


def results(name: str, sharded: bool) -> tuple[Any, list[Any]]:
    """A model of one layer, and: logits, generated tokens, and gradients of what every process has whole."""
    model, ids = made(name, num_hidden_layers=1).to("cpu").eval(), tokens(2, 9).cpu()
    accelerate(model)
    if sharded:
        shard(model)
    with torch.no_grad():
        logits = model(ids).logits
        how: dict[str, Any] = {"max_new_tokens": 2, "do_sample": False, "pad_token_id": 0, "disable_compile": True}
        grown = model.generate(ids, cache_implementation="static", **how)
    model.train()
    labels = ids.clone()
    labels[:, :3] = -100
    found = model(ids, labels=labels)
    assert found.logits is None, "the head is a part of the loss"
    loss = found.loss
    loss.backward()
    whole = [model.model.embed_tokens.weight, model.model.layers[0].input_layernorm.weight, model.model.norm.weight]
    return model, [logits, grown, loss.detach(), *(parameter.grad for parameter in whole), model.lm_head.weight.grad]


def one_of_two(rank: int, place: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{place}/meet", rank=rank, world_size=2)
    for name in NAMES:
        if rank == 0:
            model, found = results(name, False)
            whole = {key: tuple(value.shape) for key, value in model.state_dict().items()}
            torch.save([*found, whole], f"{place}/{name}")
        model, found = results(name, True)
        parts = {key: tuple(value.shape) for key, value in model.state_dict().items()}
        torch.save([*found, parts], f"{place}/{name} {rank}")
    odd = made("Qwen2")
    odd.to("cpu")
    accelerate(odd)
    odd.model.layers[1].self_attn.k_proj.out_features = 16  # one head
    with pytest.raises(ValueError, match="1 parts, which 2 processes"):
        shard(odd)
    assert odd.model.layers[0].self_attn.q_proj.weight.shape == (64, 64)
    dist.destroy_process_group()


def test_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # of the processes, which simulate
    processes.spawn(one_of_two, (str(tmp_path),), nprocs=2)
    for name in NAMES:
        right = torch.load(tmp_path / name)
        first, second = (torch.load(tmp_path / f"{name} {rank}") for rank in range(2))
        for one, other in zip(first[:6], second[:6], strict=True):
            assert torch.equal(one, other)
        assert off(first[0], right[0]) < 1.5e-2
        assert abs(float(first[2]) - float(right[2])) < 1e-2
        for mine, whole in zip(first[3:6], right[3:6], strict=True):
            assert off(mine, whole) < 3e-2
        assert off(torch.cat([first[6], second[6]]), right[6]) < 1.5e-2
        assert (first[1] == right[1]).float().mean() > 0.9  # near ties may fall otherwise in bf16
        halves = [key for key, shape in first[7].items() if shape != right[7][key]]
        assert {key.split(".")[-2] for key in halves} >= {"q_proj", "o_proj", "lm_head"} and len(halves) >= 7


def test_layers_that_are_not_known_are_refused(tmp_path: Path) -> None:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        with pytest.raises(ValueError, match="LlamaAttention, not changed by accelerate"):
            shard(made("Llama"))
        for name in ("GptOss", "Olmo2", "Phi3"):
            model = made(name, num_hidden_layers=1)
            accelerate(model)
            with pytest.raises(ValueError, match="Attention, which has parts for all heads: it cannot be split"):
                shard(model)
        model = with_dense_layers_in_fp8(made("Qwen3", num_hidden_layers=1))
        accelerate(model)
        with pytest.raises(ValueError, match="q_proj is a FP8Linear, no plain dense layer"):
            shard(model)
        model = made("Qwen3Moe", num_hidden_layers=1)
        model.model.layers[0].mlp.experts.has_bias = True
        accelerate(model)
        with pytest.raises(ValueError, match="experts is a Qwen3MoeExperts, not changed"):
            shard(model)
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("first", [0, 1, 8])
def test_a_pair_adds_arrays_wherever_they_begin(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(x: torch.Tensor, memory: object) -> None:
        assert x.data_ptr() % 16 == 0
        x.mul_(2)

    monkeypatch.setattr(pairs, "add_other", doubled)
    pair = object.__new__(pairs.Pair)
    pair.mine = pair.theirs = pair.flags = pair.their_flags = pair.counts = torch.empty(0)
    whole = torch.arange(40, dtype=torch.bfloat16)
    x = whole[first : first + 16].view(2, 8)
    pair.add(x)
    assert whole.tolist() == [2 * i if first <= i < first + 16 else i for i in range(40)]
