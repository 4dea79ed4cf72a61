"""What an 8B Llama pays for compiling: on a fresh cache, in a second process, and without `cutelite.warm`.

    python tests/bench/cold_start.py [--layers 32] [--train]

Each line is a process of its own. `warm` compiles what a prefill of 8192 tokens and decoding behind a static cache of
4096 launch, with as many compiles at a time as there are cores; the first calls follow, with what they compiled after
all. The last process has a fresh cache again and does without `warm`: kernels are compiled one after the other, when
first launched. `--train` has a training step of 4 x 4096 tokens besides (of few layers, so that it fits).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.given import parser

PREFILL, CONTEXT, TRAIN = (1, 8192), 4096, (4, 4096)


def child(layers: int, train: bool, warm: bool) -> dict[str, Any]:
    """Seconds of one process, from the model in memory on: of `warm`, and of each first call; and kernels compiled."""
    import torch

    import cutelite as cl
    from cutelite.models import accelerate, calls
    from tests.bench.llama import made

    start = time.perf_counter()
    model = made(layers)
    model.eval()
    accelerate(model)
    torch.cuda.synchronize()
    found: dict[str, Any] = {"model": time.perf_counter() - start}
    kinds: dict[str, dict[str, Any]] = {
        "prefill": {"shapes": [PREFILL]},
        "decode": {"shapes": [(1, 1)], "cache": CONTEXT},
    }
    if train:
        kinds["train"] = {"shapes": [TRAIN], "train": True}
    compiled: list[cl.CompileEvent] = []
    cl.on_compile(compiled.append)
    if warm:
        before = time.perf_counter()
        for name, how in kinds.items():
            model.train(name == "train")
            done = cl.warm(model, **how)
            found[f"warm {name}"] = done.seconds
            found[f"kernels {name}"] = done.kernels
        found["warm"], found["warm compiled"] = time.perf_counter() - before, len(compiled)
    for name, how in kinds.items():
        model.train(name == "train")
        for turn in ("first", "second"):
            before, count = time.perf_counter(), len(compiled)
            run: Callable[..., None] = calls.trained if name == "train" else calls.run
            run(model, *how["shapes"][0], how.get("cache"))
            torch.cuda.synchronize()
            found[f"{turn} {name}"] = time.perf_counter() - before
            found[f"compiled {turn} {name}"] = len(compiled) - count
    found["compile seconds"] = sum(event.seconds for event in compiled)
    return found


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--layers", type=int, default=32)
    asked.add_argument("--train", action="store_true")
    asked.add_argument("--child", choices=["warm", "plain"], help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.child:
        print(json.dumps(child(given.layers, given.train, given.child == "warm")))
        return
    print(f"{len(os.sched_getaffinity(0))} cores, {given.layers} layers")
    with tempfile.TemporaryDirectory() as folder:
        for name, cache, how in (("cold", "a", "warm"), ("second", "a", "warm"), ("cold, no warm", "b", "plain")):
            command = [sys.executable, __file__, "--layers", str(given.layers), "--child", how]
            environment = os.environ | {"CUTELITE_CACHE_DIR": str(Path(folder, cache))}
            more = ["--train"] if given.train else []
            done = subprocess.run([*command, *more], env=environment, stdout=subprocess.PIPE, check=True)
            said = json.loads(done.stdout.splitlines()[-1])
            print(f"{name}: " + ", ".join(f"{k} {round(v, 2)}" for k, v in said.items()), flush=True)


if __name__ == "__main__":
    main()
