"""Run a language model of transformers on cutelite's kernels: accelerate it, compile its kernels, generate tokens.

    python examples/llama/generate.py                                    # a tiny model of random weights, anywhere
    python examples/llama/generate.py --size 8B --layers 32              # Llama 3's sizes, random weights, on a GPU
    python examples/llama/generate.py --model meta-llama/Llama-3.1-8B    # weights that transformers finds

It prints what was changed in the model, how long compiling took (no time in a second process), and the tokens.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
import transformers

import cutelite as cl
from cutelite.models import accelerate

SIZES: dict[str, dict[str, int]] = {
    "tiny": {
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 96,
    },
    "8B": {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256,
    },
}  # fmt: skip


def loaded(name: str | None, size: str, layers: int | None, device: str) -> Any:
    """Return a model by its name, or one with random weights."""
    if name is not None:
        return transformers.AutoModelForCausalLM.from_pretrained(name, dtype=torch.bfloat16).to(device)
    torch.manual_seed(0)
    sizes = SIZES[size] | ({} if layers is None else {"num_hidden_layers": layers})
    with torch.device(device):
        return transformers.LlamaForCausalLM._from_config(transformers.LlamaConfig(**sizes), dtype=torch.bfloat16)


def main(
    name: str | None = None, size: str = "tiny", layers: int | None = None, prompt: int = 8, count: int = 4
) -> list[int]:  # fmt: skip
    """Generate `count` tokens after a prompt of random ones; return all."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = loaded(name, size, layers, device).eval()
    print(accelerate(model))
    for what, shape in ("prompt", (1, prompt)), ("token", (1, 1)):
        made = cl.warm(model, shapes=[shape], cache=prompt + count)
        print(f"{what}: {made.kernels} kernels, {made.compiled} compiled, in {made.seconds:.1f} s")
    tokens = torch.randint(0, model.config.vocab_size, (1, prompt), device=device)
    start = time.perf_counter()
    found = model.generate(
        tokens, max_new_tokens=count, do_sample=False, cache_implementation="static", disable_compile=True,
        pad_token_id=0,
    )  # fmt: skip
    all_of_them: list[int] = found[0].tolist()
    print(f"tokens {all_of_them} in {time.perf_counter() - start:.2f} s")
    return all_of_them


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a name or folder that transformers knows")
    parser.add_argument("--size", choices=SIZES, default="tiny", help="of a model of random weights")
    parser.add_argument("--layers", type=int, help="of these")
    parser.add_argument("--prompt", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=4)
    given = parser.parse_args()
    main(given.model, given.size, given.layers, given.prompt, given.tokens)
