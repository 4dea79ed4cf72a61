"""Llama layers shared out over processes, a GPU each: cutelite's `shard` beside torch's tensor parallelism, compiled.

    python tests/bench/llama_parallel.py [prefill decode train] [--gpus 2] [--layers 2]
    python tests/bench/llama_parallel.py --cpu            # small layers, results alone, without a GPU

Logits are compared with those of the whole model, computed by cutelite in one process, and among the processes, then
each case's result. Sizes, cases and timing are those of llama.py: CUDA graphs, with the sums in them (torch's over
NCCL, cutelite's over two GPUs by its own kernel), in turns; training, which is launched, has the gradient of the
first norm for a result. The rival is `parallelize_module`, columns of the projections in and rows of those out, under
torch.compile in the mode of --mode; its head is whole in each process. No case begins after --until seconds.
"""

import copy
import gc
import os
import tempfile
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
import transformers
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.attention import sdpa_kernel
from transformers import AttentionInterface, AttentionMaskInterface

from cutelite.models import accelerate, shard
from tests.bench import llama
from tests.bench.given import parser
from tests.bench.timing import off

SMALL = {
    "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "vocab_size": 256, "max_position_embeddings": 128,
}  # fmt: skip
INWARD, OUTWARD = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj"), (
    "self_attn.o_proj", "mlp.down_proj",
)  # fmt: skip
CLOSE = 3e-2
"""Of two results in bf16 whose sums are of other orders."""
TRAIN = "train 4 x 4096, launched"
PATIENCE = timedelta(seconds=100)
"""For the other processes, which may be compiling."""


def torch_parallel(model: Any, options: Any) -> Any:
    """The same model, shared out by torch."""
    mesh = init_device_mesh("cpu" if options.cpu else "cuda", (options.gpus,))
    plan: dict[str, Any] = {name: ColwiseParallel() for name in INWARD} | {name: RowwiseParallel() for name in OUTWARD}
    for layer in model.model.layers:
        parallelize_module(layer, mesh, plan)
    return model


def cases(options: Any) -> dict[str, Any]:
    """Of the whole model and of its parts: functions of the model that return a call."""
    if options.cpu:
        ids = torch.arange(18).view(2, 9)
        return {"prefill 2 x 9": lambda model, whole: lambda i: model.model(ids, use_cache=False).last_hidden_state}
    found: dict[str, Any] = {}
    if "decode" in options.what:
        for batch in llama.DECODE:
            found[f"decode {batch}"] = lambda model, whole, b=batch: llama.decode(model, b, *share(whole, options))
    if "prefill" in options.what:
        for batch, count in llama.PREFILL:
            found[f"prefill {batch} x {count}"] = lambda model, whole, b=batch, n=count: llama.prefill(model, b, n)
    if "train" in options.what:
        found[TRAIN] = lambda model, whole: trained(model)
    return found


def trained(model: Any) -> Any:
    """A call that makes a training step, and returns a gradient."""
    step, norm = llama.train(model.train()), model.model.layers[0].input_layernorm

    def call(i: int) -> Any:
        with torch.enable_grad():
            step(i)
        return norm.weight.grad

    return call


def compare_logits(whole: Any, ours: Any, options: Any) -> None:
    """Print how far logits are from the whole model's. Errors: SystemExit where they are far, or not alike."""
    ids = torch.arange(18).view(2, 9) if options.cpu else llama.words(2, 300)
    right, found = whole(ids).logits, ours(ids).logits
    parts = [torch.empty_like(found) for _ in range(options.gpus)]
    dist.all_gather(parts, found.contiguous())
    alike, same = all(torch.equal(found, part) for part in parts), found.argmax(-1) == right.argmax(-1)
    print(
        f"logits: {off(found, right):.1e} from the whole model, bits {'alike' if alike else 'UNLIKE'} in all processes,"
        f" {float(same.float().mean()):.3f} of the likeliest words the same", flush=True,
    )  # fmt: skip
    if not (alike and off(found, right) < CLOSE):
        raise SystemExit("logits differ")


def late(start: float, options: Any) -> bool:
    """Tell whether time is up, as the first process has it."""
    over = torch.tensor(time.monotonic() - start > options.until, device="cpu" if options.cpu else "cuda").int()
    dist.broadcast(over, 0)
    return bool(over)


def agreed(count: int) -> int:
    """Return the first process's number of calls: a call waits for that of the others."""
    said = torch.tensor(count, device="cuda")
    dist.broadcast(said, 0)
    return int(said)


def share(whole: bool, options: Any) -> tuple[int, int]:
    """Parts of a cache, and which of them is this process's."""
    return (1, 0) if whole else (options.gpus, dist.get_rank())


def one(rank: int, options: Any, place: str) -> None:
    """One process."""
    start = time.monotonic()
    backend = "gloo" if options.cpu else "nccl"
    if options.cpu:
        torch.set_num_threads(1)
    else:
        torch.cuda.set_device(rank)
    how: dict[str, Any] = {"init_method": f"file://{place}/meet", "timeout": PATIENCE}
    dist.init_process_group(backend, rank=rank, world_size=options.gpus, **how)
    if rank:  # the first speaks for all
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    AttentionInterface.register("best", llama.best_attention)
    AttentionMaskInterface.register("best", llama.no_mask)
    if options.cpu:
        torch.manual_seed(0)
        config = transformers.LlamaConfig(**(llama.SIZES | SMALL), num_hidden_layers=options.layers)
        whole = transformers.LlamaForCausalLM._from_config(config, dtype=torch.bfloat16).eval()
    else:
        whole = llama.made(options.layers).eval()
    theirs = torch_parallel(copy.deepcopy(whole), options)
    accelerate(whole)
    ours = copy.deepcopy(whole)
    accelerate(ours)
    shard(ours)
    theirs.set_attn_implementation("best")
    if not options.cpu:
        (theirs if options.what == ["train"] else theirs.model).compile(mode=options.mode, dynamic=False)
    with torch.no_grad(), sdpa_kernel(llama.FAST, set_priority=True):
        compare_logits(whole, ours, options)
        for name, call in cases(options).items():
            if late(start, options):
                print(f"no time left for {name}", flush=True)
                continue
            right = call(whole, True)(0).clone()
            calls = {"cutelite": call(ours, False), "torch": call(theirs, False)}
            for side, its in calls.items():
                error = off(its(0), right)
                print(f"{name}: {side} is {error:.1e} from the whole model", flush=True)
                if not error < CLOSE:
                    raise SystemExit(f"{name}: {side} on process {rank} is {error} from the whole model")
            if not options.cpu:
                llama.compared(name, calls, options, graphs=name != TRAIN)
            print(f"  {time.monotonic() - start:.0f} s", flush=True)
            del calls, right
            gc.collect()  # graphs that hold NCCL's communicator, which waits for them as it is closed
    dist.destroy_process_group()


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("what", nargs="*", default=["prefill", "decode"])
    asked.add_argument("--gpus", type=int, default=2)
    asked.add_argument("--layers", type=int, default=2)
    asked.add_argument("--rounds", type=int, default=5)
    asked.add_argument("--repeats", type=int, default=16)
    asked.add_argument("--seconds", type=float, default=0.3, help="of a window, whose second half counts")
    asked.add_argument("--until", type=float, default=1e9)
    asked.add_argument("--rows", type=int, default=14)
    asked.add_argument(
        "--mode", default="default", help="of torch.compile; max-autotune-no-cudagraphs is slow to start"
    )
    asked.add_argument("--profile", action="store_true")
    asked.add_argument("--cpu", action="store_true", help="small layers in processes without GPUs")
    options = asked.parse_args()
    options.found, options.compile, options.tuned, options.agreed, options.rivals = {}, False, False, agreed, []
    if options.cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        os.environ["CUTELITE_SIM"] = "1"
    with tempfile.TemporaryDirectory() as place:
        processes.spawn(one, (options, place), nprocs=options.gpus)


if __name__ == "__main__":
    main()
