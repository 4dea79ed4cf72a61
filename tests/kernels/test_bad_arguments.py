"""Every public function of `cutelite.kernels` refuses arrays that it cannot take in words that name the argument.

For each function there is a call that is right; its own tests compute it. Each of its arrays is then replaced by
another kind of object, dtype, rank or extent: the call computes something, or raises `ValueError`, `TypeError` or
`cutelite.ArgumentError`, and the text has the argument's name. An error of the compiler, of Python within a kernel's
call, or from NumPy would show its user our code instead of theirs.
"""

import ast
import inspect
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.dispatch.divert import diverted
from cutelite.kernels.attention import create_block_mask
from cutelite.kernels.attention.backward_call import attention_backward, attention_varlen_backward
from cutelite.kernels.attention.call import attention
from cutelite.kernels.attention.decoding_call import decode
from cutelite.kernels.attention.fp8_call import attention_fp8
from cutelite.kernels.attention.latent_call import decode_latent
from cutelite.kernels.attention.varlen import attention_varlen
from cutelite.kernels.blackwell import call as blackwell
from cutelite.kernels.blackwell.attention_call import attention as attention_blackwell
from cutelite.kernels.gemm import fp8_block, grouped, mixed, pointers
from cutelite.kernels.gemm.appended import appended_product
from cutelite.kernels.gemm.call import gemm
from cutelite.kernels.gemm.configs import Config
from cutelite.kernels.gemm.gated import gated_gradient, gated_product
from cutelite.kernels.gemm.normed import normed_product, summed_product
from cutelite.kernels.gemm.rotated import rotated_product
from cutelite.kernels.moe import fp8 as moe_fp8
from cutelite.kernels.moe import narrow as moe_narrow
from cutelite.kernels.moe.backward import experts_backward
from cutelite.kernels.moe.call import experts, experts_kept
from cutelite.kernels.moe.combine import combine
from cutelite.kernels.moe.routing import route, route_backward
from cutelite.kernels.moe.routing import sort as sort_experts
from cutelite.kernels.rows import reduce, rope, rope_append, sample, scan, select, softmax
from cutelite.kernels.rows import sort as sorting
from cutelite.kernels.rows.adamw import adamw
from cutelite.kernels.rows.cross_entropy import cross_entropy, cross_entropy_backward, cross_entropy_gradient
from cutelite.kernels.rows.elementwise import elementwise, scale
from cutelite.kernels.rows.embedding import embedding, embedding_backward
from cutelite.kernels.rows.gates import activated, activated_backward, gated, gated_backward
from cutelite.kernels.rows.histogram import histogram
from cutelite.kernels.rows.linear_cross_entropy import linear_cross_entropy
from cutelite.kernels.rows.norm import layer_norm, norm_backward, rms_norm
from cutelite.kernels.rows.quantise import quantise
from cutelite.kernels.rows.rope_tables import rope_tables
from cutelite.kernels.rows.transpose import transposed
from cutelite_rt.signature.bind import simulable

Call = tuple[Callable[..., Any], dict[str, Any]]
NUMBERS = np.random.default_rng(0)
BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


def some(*shape: int, dtype: Any = BF16) -> Any:
    return NUMBERS.uniform(0.1, 1, shape).astype(dtype)


def places(*shape: int, below: int = 8, dtype: Any = np.int32) -> Any:
    return NUMBERS.integers(0, below, shape).astype(dtype)


def ones_of(*shape: int) -> Any:
    return np.full(shape, 127, np.uint8)


def rights() -> dict[str, Call]:
    """A call of each function that computes something; arrays are by name."""
    f32, i64 = np.float32, np.int64
    heads, ragged, wide = some(1, 16, 2, 64), some(16, 2, 64), some(8, 16)
    lengths = np.array([5, 8], np.int32)
    nowhere = np.zeros(2, i64)  # addresses of groups of no elements
    ends, cu = np.array([3, 8], np.int32), np.array([0, 7, 15], np.int32)
    packed = mixed.pack(places(64, 128) - 4, some(64, 1, dtype=f32), "i4")
    up, down = (places(2, n, k) - 4 for n, k in ((32, 32), (32, 16)))
    ups = moe_narrow.pack(up, some(2, 32, 1, dtype=f32), "i4", gated=True)
    downs = moe_narrow.pack(down, some(2, 32, 1, dtype=f32), "i4")
    chosen = {"index": places(8, 2, below=2), "weights": some(8, 2, dtype=f32)}
    key, turned = some(1, 2, 32, 16), {"cosines": some(4, 8), "sines": some(4, 8)}
    return {
        "gemm": (gemm, {"a": wide, "b": some(16, 24), "c": some(8, 24), "bias": some(24, dtype=f32), "beta": 1.0}),
        "gemm with scales": (gemm, {"a": wide, "b": some(16, 24), "scale_a": some(8, 1, dtype=f32),
            "scale_b": some(1, 24, dtype=f32)}),
        "gemm with a gate": (gemm, {"a": wide, "b": some(16, 32), "gate": "silu", "out": some(8, 16)}),
        "gemm of few rows": (gemm, {"a": some(8, 64), "b": some(16, 64).T}),
        "gated_product": (gated_product, {"x": wide, "weight": some(16, 32), "halves": some(8, 32),
            "out": some(8, 16)}),
        "gated_gradient": (gated_gradient, {"dy": wide, "weight": some(16, 16), "halves": some(8, 32),
            "out": some(8, 32)}),
        "rotated_product": (rotated_product, {"x": wide, "weight": some(16, 48), "cosines": some(8, 8),
            "sines": some(8, 8), "heads": 2, "dim": 16, "out": some(8, 48)}),
        "appended_product": (appended_product, {"x": wide, "weight": some(16, 192), "cosines": some(1, 32),
            "sines": some(1, 32), "keys": some(8, 1, 2, 64), "values": some(8, 1, 2, 64),
            "length": np.array([1], i64), "bias": some(192), "out": some(8, 64)}),
        "summed_product": (summed_product, {"x": wide, "weight": some(16, 128), "add": some(8, 128),
            "factors": some(128), "bias": some(128)}),
        "normed_product": (normed_product, {"weighted": some(8, 128), "squares": some(8, 4, dtype=f32),
            "weight": some(128, 16), "eps": 1e-5, "bias": some(16)}),
        "rope_tables": (rope_tables, {"positions": places(2, 3), "frequencies": some(4, dtype=f32), "dtype": "bf16"}),
        "fp8_block.gemm": (
            fp8_block.gemm,
            {"a": some(8, 128, dtype=E4M3), "b": some(64, 128, dtype=E4M3), "scale_a": some(8, 1, dtype=f32),
                "scale_b": some(1, 1, dtype=f32)},
        ),
        "blackwell.gemm_fp8_block": (
            blackwell.gemm_fp8_block,
            {"a": some(8, 128, dtype=E4M3), "b": some(64, 128, dtype=E4M3), "scale_a": some(8, 1, dtype=f32),
                "scale_b": some(1, 1, dtype=f32)},
        ),
        "grouped.gemm": (grouped.gemm, {"a": wide, "b": some(2, 8, 16), "ends": ends}),
        "gemm_pointers": (pointers.gemm, {"a": nowhere, "b": nowhere, "out": nowhere,
            "sizes": np.zeros((2, 3), np.int32)}),
        "grouped.gemm of rows": (grouped.gemm, {"a": wide, "b": some(2, 8, 16), "ends": ends,
            "rows": places(8, below=7)}),  # also where `a` has a row less
        "grouped.padded": (grouped.padded, {"a": some(2, 8, 16), "b": some(2, 8, 16), "counts": ends,
            "out": some(2, 8, 8)}),
        "grouped.along_k": (grouped.along_k, {"a": some(8, 16), "b": some(8, 24), "ends": ends}),
        "mixed.gemm": (mixed.gemm, {"x": some(8, 128), "w": packed, "kind": "i4"}),
        "blackwell.gemm": (blackwell.gemm, {"a": wide, "b": some(16, 24), "out": some(8, 24), "c": some(8, 24),
            "bias": some(24), "beta": 1.0, "scale_a": some(8, 1, dtype=f32), "scale_b": some(1, 24, dtype=f32)}),
        "blackwell.gemm_scaled": (blackwell.gemm_scaled, {"a": some(8, 32, dtype=E4M3), "b": some(16, 32, dtype=E4M3),
            "scale_a": ones_of(1, 1, 32, 16), "scale_b": ones_of(1, 1, 32, 16), "bias": some(16), "out": some(8, 16)}),
        "blackwell.gemm_grouped": (blackwell.gemm_grouped, {"a": wide, "b": some(2, 8, 16), "ends": ends}),
        "blackwell.arranged": (blackwell.arranged, {"scales": places(8, 4, dtype=np.uint8)}),
        "attention": (attention, {"q": heads, "k": some(1, 24, 1, 64), "v": some(1, 24, 1, 64),
            "sinks": some(2, dtype=f32)}),
        "blackwell.attention": (attention_blackwell, {"q": heads, "k": some(1, 24, 1, 64), "v": some(1, 24, 1, 64),
            "sinks": some(2, dtype=f32)}),
        "attention_backward": (
            attention_backward,
            {"do": heads, "q": heads, "k": heads, "v": heads, "o": heads, "lse": some(1, 2, 16, dtype=f32),
                "dlse": some(1, 2, 16, dtype=f32)},
        ),
        "attention_varlen": (attention_varlen, {"q": some(16, 2, 64), "k": some(16, 1, 64), "v": some(16, 1, 64),
            "cu_seqlens_q": cu, "cu_seqlens_k": cu}),
        "attention_varlen_backward": (
            attention_varlen_backward,
            {"do": ragged, "q": ragged, "k": ragged, "v": ragged, "o": ragged, "lse": some(2, 16, dtype=f32),
                "cu_seqlens_q": cu, "cu_seqlens_k": cu, "dlse": some(2, 16, dtype=f32)},
        ),
        "decode": (
            decode,
            {"q": some(2, 1, 2, 64), "k": some(4, 16, 1, 64), "v": some(4, 16, 1, 64), "lengths": lengths,
                "table": places(2, 1, below=4), "sinks": some(2, dtype=f32)},
        ),
        "decode_latent": (
            decode_latent,
            {"q": some(2, 1, 2, 192), "latents": some(4, 16, 192), "dim_v": 128, "lengths": lengths,
                "table": places(2, 1, below=4)},
        ),
        "attention_fp8": (
            attention_fp8,
            {
                **{name: some(1, 16, 1, 64, dtype=E4M3) for name in "qkv"},
                **{f"{name}_scale": some(1, 1, dtype=f32) for name in "qkv"},
            },
        ),
        "experts": (experts, {"x": some(8, 32), "gate_up": some(2, 32, 32), "down": some(2, 32, 16), **chosen}),
        "scaled_experts": (
            moe_fp8.scaled_experts,
            {
                "x": some(8, 128), "gate_up": some(2, 256, 128, dtype=E4M3), "gate_up_scale": some(2, 2, 1, dtype=f32),
                "down": some(2, 128, 128, dtype=E4M3), "down_scale": some(2, 1, 1, dtype=f32), **chosen,
            },
        ),
        "narrow_experts": (moe_narrow.narrow_experts, {"x": some(8, 32), "gate_up": ups, "down": downs, **chosen,
            "kind": "i4", "inner": 16}),
        "combine": (combine, {"x": wide, "place": places(4, 2, below=7), "weights": some(4, 2, dtype=f32)}),
        "experts_kept": (experts_kept, {"x": some(8, 32), "gate_up": some(2, 32, 32), "down": some(2, 32, 16),
            **chosen}),
        "experts_backward": (
            experts_backward,
            {"gradient": some(8, 32), "x": some(8, 32), "gate_up": some(2, 32, 32), "down": some(2, 32, 16),
                "weights": some(8, 2, dtype=f32), "sums": some(16, 32), "order": sort_experts(chosen["index"], 2)},
        ),
        "route_backward": (route_backward, {"gradient": some(8, 2, dtype=f32), "logits": wide,
            "made": route(wide, 2)}),
        "route": (route, {"logits": wide, "k": 2}),
        "sort of experts": (sort_experts, {"index": places(8, 2, below=4), "experts": 4}),
        "softmax": (softmax.softmax, {"x": wide, "out": wide.copy()}),
        "softmax_backward": (softmax.softmax_backward, {"dy": wide, "y": wide}),
        "norm_backward": (norm_backward, {"dy": some(8, 16), "normed": rms_norm(wide, some(16)), "weight": some(16),
            "add": some(8, 16), "bias": True}),
        "cross_entropy_backward": (cross_entropy_backward, {"gradient": some(8, dtype=f32), "x": wide,
            "target": places(8, dtype=i64), "lse": some(8, dtype=f32), "out": some(8, 16)}),
        "cross_entropy_gradient": (cross_entropy_gradient, {"gradient": some(8, dtype=f32), "x": wide,
            "target": places(8, dtype=i64), "out": some(8, 16)}),
        "argmax": (select.argmax, {"x": wide}),
        "activated_backward": (activated_backward, {"dy": wide, "x": some(8, 16), "activation": "silu"}),
        "log_softmax": (softmax.log_softmax, {"x": wide}),
        "rms_norm": (rms_norm, {"x": wide, "weight": some(16), "residual": some(8, 16), "bias": some(16)}),
        "layer_norm": (layer_norm, {"x": wide, "weight": some(16), "bias": some(16)}),
        "cross_entropy": (cross_entropy, {"x": wide, "target": places(8, dtype=i64)}),
        "linear_cross_entropy": (
            linear_cross_entropy,
            {"x": wide, "weight": some(32, 16), "target": places(8, dtype=i64), "gradient": some(8, dtype=f32)},
        ),
        "elementwise": (lambda x, y: elementwise(add, [x, y], names=("x", "y")), {"x": wide, "y": wide}),
        "scale": (scale, {"x": some(8, 16), "by": some(1, dtype=f32)}),
        "activated": (activated, {"x": wide, "activation": "silu"}),
        "gated": (gated, {"gate": wide, "up": wide}),
        "gated_backward": (gated_backward, {"dy": wide, "gate": wide, "up": wide}),
        "quantise": (quantise, {"x": wide, "up": wide}),
        "transposed": (transposed, {"x": wide, "to": "e4m3"}),
        "embedding": (embedding, {"table": wide, "places": places(3, 4)}),
        "embedding_backward": (embedding_backward, {"dy": some(3, 4, 16), "places": places(3, 4), "words": 8}),
        "histogram": (histogram, {"x": places(9), "bins": 8}),
        "reduced": (reduce.reduced, {"x": wide, "mode": 0}),
        "rope": (rope.rope, {"q": some(4, 2, 16), "k": some(4, 1, 16), **turned, "positions": places(4, below=4)}),
        "rope_append": (
            rope_append.rope_append,
            {"q": some(1, 4, 2, 16), "k": some(1, 4, 2, 16), "v": some(1, 4, 2, 16), **turned, "keys": key,
                "values": key.copy(), "length": np.array([3], i64)},
        ),
        "cumsum": (scan.cumsum, {"x": wide}),
        "top_k": (select.top_k, {"x": wide, "k": 3}),
        "sample": (sample.sample, {"x": wide, "chances": some(8, dtype=f32) * f32(0.9)}),
        "sort": (sorting.sort, {"x": some(16), "values": places(16)}),
        "adamw": (
            lambda parameters, gradients, means, squares: adamw([parameters], [gradients], [means], [squares], 1),
            {"parameters": some(32), "gradients": some(32), "means": some(32, dtype=f32),
                "squares": some(32, dtype=f32)},
        ),
    }  # fmt: skip


def add(x: Any, y: Any) -> Any:
    return x + y


RIGHT = rights()


ALONE = "a list", "nothing", "complex", "masked", "off by an element"
"""What is wrong by itself. Of what does not fit to another argument, the text may name the other one."""


ONLY_CHECKED = "read-only", "backwards", "backwards along the first mode", "of one place", "off by an element"
"""What is no other argument for a function: what is taken computes as before."""


EXTENTS = " less", " of 0"
"""What is wrong beside other arrays. Of an array by itself the function's own tests have many extents."""


KINDS = {"f64": np.float64, "i16": np.int16, "another float": np.float16}


def others(array: Any, turn: int) -> Iterator[tuple[str, Any]]:
    """What may come instead of an array: not all of it is wrong everywhere. Of `KINDS`, arrays take turns."""
    yield "a list", array.tolist()
    yield "nothing", None
    yield "masked", np.ma.masked_array(array, mask=np.ones(array.shape, bool))
    name = list(KINDS)[turn % len(KINDS)]
    with np.errstate(all="ignore"):
        yield from ((kind, array.astype(dtype)) for kind, dtype in {name: KINDS[name], "complex": np.complex64}.items())
    yield "a mode less", array[0]
    yield "a mode more", array[None]
    yield "read-only", read_only(array)
    yield "backwards", array[..., ::-1]
    yield "backwards along the first mode", array[::-1]
    yield "of one place", np.broadcast_to(array[:1], array.shape)
    yield "off by an element", np.concatenate([array.ravel()[:1], array.ravel()])[1:].reshape(array.shape)
    for mode, extent in enumerate(array.shape):
        yield f"extent {mode} of 0", array.take(range(0), mode)
        yield f"extent {mode} less", array.take(range(extent - 1), mode)


READ_THERE = "error[assertion]: group ", "error[assertion]: table["


def ends_here(error: Exception) -> bool:
    """Tell whether the traceback of an error ends at the user's line, which is in this file."""
    found = traceback.extract_tb(error.__traceback__)
    return found[-1].filename == __file__ or any(entry.name == only_checked.__name__ for entry in found)


def is_optional(function: Callable[..., Any], word: str) -> bool:
    found = inspect.signature(function).parameters.get(word)
    return found is not None and found.default is None


def read_only(array: Any) -> Any:
    array = array.copy()
    array.setflags(write=False)
    return array


@pytest.mark.parametrize("name", RIGHT)
def test_arrays_that_do_not_fit_are_named(name: str) -> None:
    function, given = RIGHT[name]
    given = {word: value.copy() if isinstance(value, np.ndarray) else value for word, value in given.items()}
    with diverted(only_checked):
        made = function(**given)
    wrong, by_itself = [], sum(isinstance(value, np.ndarray) for value in given.values()) == 1
    result = {"out": made} if "out" in inspect.signature(function).parameters and given.get("out") is None else {}
    for turn, (word, value) in enumerate((given | result).items(), len(name)):
        if not isinstance(value, np.ndarray):
            continue
        for what, other in others(value, turn):
            if word in result and what not in ONLY_CHECKED:
                continue
            left_out = what == "nothing" and is_optional(function, word)  # as most of the function's own tests have it
            as_before = what in ONLY_CHECKED or left_out or (by_itself and what.endswith(EXTENTS))
            try:
                with diverted(only_checked if as_before else None):
                    function(**given | {word: other})
            except (ValueError, TypeError) as error:
                known = isinstance(error, cl.ArgumentError | cl.LaunchError) or type(error) in (ValueError, TypeError)
                alone = what in ALONE and not left_out
                names = [word, *(n for n, x in given.items() if isinstance(x, np.ndarray) and not alone)]
                if not known or not any(re.search(rf"\b{name}\b", str(error)) for name in names):
                    wrong.append(f"{word} as {what}: {type(error).__name__}: {str(error)[:150]}")
                if isinstance(error, cl.ArgumentError) and not ends_here(error):
                    wrong.append(f"{word} as {what}: the traceback goes on")
            except Exception as error:
                # Numbers that the device reads, ends of groups beyond the rows or pages, are reported by the simulator.
                if not (isinstance(error, cl.SimError) and str(error).startswith(READ_THERE)):
                    wrong.append(f"{word} as {what}: {type(error).__name__}: {str(error)[:150]}")
            else:
                if what == "masked":
                    wrong.append(f"{word} as {what}: it is taken, and the mask ignored")
    assert not wrong, "\n".join(wrong)


OTHERWISE: tuple[Any, ...] = ("nope", -1, 1.5, [1], {}, np.zeros(3), int)
"""What may come instead of an argument that is no array; none of it is right for all."""


INTERNAL = "early", "squares"
"""Arguments that models give, with others that fit."""


def only_checked(kernel: Any, launch: cl.Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Check the arguments of a launch, those that TMA must be able to read included, and launch nothing."""
    checked = kernel._checked(launch, args, kwargs)
    for value in checked.bound.values if checked else ():
        simulable(kernel.__name__, value, lambda view: view)


def wrong_kinds(said: str) -> list[Any]:
    """What no number, name, function or configuration of a parameter annotated `said` is; [] for flags."""
    if not re.search(r"\b(int|float|str|Config|Plan|Narrow|Choice|Mod|Function)\b", said):
        return []
    if "bool" in said:  # any object is true or false
        return ["a name"]
    only_int = "int" in said and "float" not in said and "Config" not in said
    return ["a name", [1], object(), *[1.5] * only_int, *[3] * ("int" not in said and "float" not in said)]


@pytest.mark.parametrize("name", RIGHT)
def test_other_arguments_that_do_not_fit_are_named(name: str) -> None:
    function, given = RIGHT[name]
    wrong = []
    for word, parameter in inspect.signature(function).parameters.items():
        if isinstance(given.get(word), np.ndarray):
            continue
        kinds = wrong_kinds(str(parameter.annotation))
        for i, other in enumerate((*kinds, *(OTHERWISE if word not in INTERNAL else ()))):
            arrays = {each: x.copy() if isinstance(x, np.ndarray) else x for each, x in given.items()}
            try:
                with diverted(only_checked):
                    function(**arrays | {word: other})
            except (ValueError, TypeError, cl.CompileError) as error:
                if not re.search(rf"\b{word}\b|with a gate", str(error)):
                    wrong.append(f"{word} as {other!r}: {type(error).__name__}: {str(error)[:150]}")
            else:
                if i < len(kinds) or "bool" in str(parameter.annotation):
                    wrong.append(f"{word} as {other!r}: it is taken")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", RIGHT)
def test_torch_compile_breaks_the_graph_or_calls_an_operator(name: str) -> None:
    """Of any other function it would compile pieces: all that checks arguments, and what comes after each launch."""
    function: Any = {"elementwise": elementwise, "adamw": adamw}.get(name, RIGHT[name][0])
    if not function.__module__.startswith("cutelite.kernels.blackwell"):
        by_operator = {"operators", "derived", "called", "by_operator"} & {*inspect.unwrap(function).__code__.co_names}
        assert by_operator or getattr(function, "_torchdynamo_disable", False)


def heads(**given: Any) -> Any:
    q = np.ones((1, 8, 1, 64), BF16)
    return attention(q, q, q, **given)


def first_keys(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return kv_idx < 5


def masked(queries: int, keys: int) -> Any:
    return heads(block_mask=create_block_mask(first_keys, None, None, queries, keys, device="cpu"))


def stepped(**given: Any) -> Any:
    right: dict[str, Any] = {name: [np.ones(8, np.float32)] for name in ("parameters", "gradients", "means", "squares")}
    return adamw(**right | {"step": 1} | given)


def stored(piece: cl.Piece) -> None:
    piece.result(piece.sums)


FUNCTIONS: dict[str, tuple[Callable[[], Any], str]] = {
    "a block mask of fewer keys": (
        lambda: masked(8, 5),
        "block_mask is of 8 queries and 5 keys, but",
    ),
    "a block mask of more queries": (lambda: masked(9, 8), "block_mask is of 9 queries"),
    "a block mask that is none": (lambda: heads(block_mask=3), "block_mask is 3, but must be of create_block_mask"),
    "a block mask of nothing": (lambda: masked(0, 8), "Q_LEN is 0, but must be a whole number from 1"),
    "an endless cap": (lambda: heads(softcap=float("inf")), "softcap is inf, but must be a number from 1e-15 to 1e.30"),
    "a tiny cap": (lambda: heads(softcap=1e-20), "softcap is 1e-20, but must be a number from 1e-15 to 1e.30"),
    "a huge scale": (lambda: heads(scale=1e38), "scale is 1e.38, but must be a number from 1e-15 to 1e.30"),
    "the step before the first": (lambda: stepped(step=0), "step is 0, but must be a whole number from 1"),
    "a beta of 1": (lambda: stepped(betas=(0.9, 1.0)), "betas is 1.0, but must be a number from 0"),
    "endless steps": (lambda: histogram(ones(3), 4, -1e38, float("inf")), "there are no 4 steps of a size that f32"),
    "steps of nothing": (lambda: histogram(ones(3), 4, 0.0, 1e-40), "there are no 4 steps of a size that f32 holds"),
    "one beta": (lambda: stepped(betas=0.9), "betas is 0.9, but must be two numbers"),
    "a rate that is none": (lambda: stepped(lr="1"), "lr is '1', but must be a number"),
    "lists of other lengths": (lambda: stepped(means=[]), "means is a list, but must be a list of 1 tensors"),
    "no list": (lambda: stepped(parameters=None), "parameters is a NoneType, but must be a list"),
    "score_mod of fewer": (
        lambda: heads(score_mod=lambda s: s),
        r"score_mod must be a function of \(score, b, h, q_idx, kv_idx\), and this one .*: too many positional",
    ),
    "score_mod of nothing": (lambda: heads(score_mod=lambda *_: None), "`score_mod` gives None, but must give numbers"),
    "score_mod of places": (
        lambda: heads(score_mod=lambda s, b, h, i, j: i),
        r"`score_mod` gives .*but must give numbers of.*\n +--> .*test_bad_arguments.py(.|\n)*heads\(score_mod",
    ),
    "mask_mod of numbers": (
        lambda: heads(mask_mod=lambda b, h, i, j: i + j),
        "`mask_mod` gives .*, but must give bools",
    ),
    "mask_mod of a chain": (
        lambda: heads(mask_mod=lambda b, h, i, j: 0 <= i - j < 5),
        r"neither true nor false\n.*test_bad_arguments.py(.|\n)*by a kernel of cutelite.kernels\nhelp: .*\(0 <= x\) &",
    ),
    "columns in another order": (
        lambda: attention(*[np.ones((1, 8, 2, 64), np.float16, "F")] * 3),
        "q is not contiguous along its last mode",
    ),
    "activation of two": (
        lambda: gemm(ones(8, 8), ones(8, 8), activation=lambda x: (x, x)),
        r"`activation` gives a tuple.*\n +--> .*test_bad_arguments.py",
    ),
    "activation of fewer numbers": (
        lambda: gemm(ones(8, 8), ones(8, 8), activation=lambda x: x[:3]),
        r"`activation` gives a run-time vec<f32,3>, but must give \d+ numbers of f32\n +--> .*test_bad_arguments.py",
    ),
    "gate without parameters": (
        lambda: gemm(ones(8, 8), ones(8, 16), gate=lambda: 3),  # type: ignore[arg-type,misc]
        r"gate must be a function of \(x\), and",
    ),
    "bias with gaps": (lambda: gemm(ones(8, 8), ones(8, 8), bias=ones(16)[::2]), "bias has gaps"),
    "a tile of 100 rows": (lambda: gemm(ones(8, 8), ones(8, 8), config=Config((100, 64))), "tiles have 64, 128, 192"),
    "no split": (lambda: Config(splits=0), "splits, buffers and swizzle are 1 or more"),
    "a cluster of 32": (lambda: Config(cluster=(4, 8)), "clusters have 1 to 16 blocks"),
    "blocks that share too much": (lambda: Config(together=2), "blocks that share K share nothing else"),
    "pieces of no columns": (
        lambda: grouped.gemm(ones(8, 8), ones(1, 8, 8), np.array([8], np.int32), finish=cl.Finish(stored, columns=0)),
        "pieces have 16 to 256 columns, a multiple of 16, not 0",
    ),
    "finish that is a function": (
        lambda: gemm(ones(8, 8), ones(8, 8), finish=stored),  # type: ignore[arg-type]
        "finish is .*, but must be a Finish",
    ),
    "prepare that is a function": (
        lambda: gemm(ones(8, 8), ones(8, 8), prepare=stored),  # type: ignore[arg-type]
        "prepare is .*, but must be a Prepare",
    ),
    "rows of finished results that begin anywhere": (
        lambda: gemm(ones(8, 8), ones(8, 8), ones(8, 17)[:, 1:9], finish=cl.Finish(stored)),
        "out and its rows begin at multiples of 16 bytes",
    ),
    "weights beyond 4 bits": (
        lambda: mixed.pack(np.full((2, 8), 8), np.ones((2, 1)), "i4"),
        "values are integers from -8 to 7, and not int64 from 8 to 8",
    ),
    "codes beyond 4 bits": (
        lambda: moe_narrow.pack(np.full((1, 2, 32), 16), np.ones((1, 2, 1)), "e2m1"),
        "values are integers from 0 to 15, and not",
    ),
    "weights of other dtypes": (
        lambda: mixed.pack(some(2, 8), np.ones((2, 1)), "i8"),
        "values are integers from -128 to 127, and not bfloat16",
    ),
    "codes of a list": (
        lambda: moe_narrow.pack([[[1]]], np.ones((1, 1, 1)), "i4"),
        "values is a list, but must be an array of NumPy",
    ),
    "one scale for two": (
        lambda: mixed.pack(places(2, 200), np.ones((2, 1)), "i4"),
        r"scales have shape \(2, 1\), but must be \(2, 2\)",
    ),
    "columns that nothing is packed for": (
        lambda: mixed.gemm(some(8, 128), RIGHT["mixed.gemm"][1]["w"], "i4", n=1 << 40),
        "w has shape .* as pack",
    ),
    "places in a table of no words": (lambda: embedding(ones(0, 16), places(3)), "with words for places"),
    "beta for nothing": (lambda: gemm(ones(8, 8), ones(8, 8), beta=1.0), "c is None, but beta is 1.0"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_do_not_fit_are_named(name: str) -> None:
    call, said = FUNCTIONS[name]
    with pytest.raises((cl.ArgumentError, cl.CompileError), match=said):
        call()


def test_functions_may_give_the_same_for_many() -> None:
    q = some(1, 8, 1, 64)
    np.testing.assert_array_equal(attention(q, q, q, score_mod=lambda *_: 1.0), attention(q, q, q, scale=1e-15))
    by_row = attention(q, q, q, score_mod=lambda s, b, h, i, j: i.to(cl.f32))
    alike = attention(q, q, q, scale=1e-15)  # the same but for rounding: exponents of equal scores may be 1e-7, not 0
    np.testing.assert_allclose(by_row.astype(np.float32), alike.astype(np.float32), rtol=2**-7)
    np.testing.assert_array_equal(gemm(ones(8, 8), ones(8, 8), activation=lambda x: 2.0), 2 * ones(8, 8))


NONE: dict[
    str, tuple[Callable[[], Any], tuple[int, ...], int]
] = {  # calls of no tokens, rows, columns, depth or groups, and the numbers that their results have
    "no rows": (lambda: gemm(ones(0, 16), ones(16, 8)), (0, 8), 0),
    "no rows of losses of a layer": (
        lambda: linear_cross_entropy(
            ones(2, 0, 16), ones(8, 16), np.ones((2, 0), np.int64), np.ones((2, 0), np.float32)
        )[3],
        (8, 16),
        0,
    ),
    "no batches": (lambda: gemm(ones(0, 3, 16), ones(16, 8)), (0, 3, 8), 0),
    "no columns": (lambda: gemm(ones(3, 16), ones(16, 0)), (3, 0), 0),
    "no depth": (lambda: gemm(ones(2, 3, 0), ones(0, 8), c=ones(2, 3, 8), beta=2.0, bias=ones(8)), (2, 3, 8), 3),
    "no columns of a gate": (lambda: gated_product(ones(3, 16), ones(16, 0), ones(3, 0)), (3, 0), 0),
    "no columns of a gate's gradient": (lambda: gated_gradient(ones(3, 16), ones(16, 0), ones(3, 0)), (3, 0), 0),
    "no depth, a gate": (lambda: gemm(ones(3, 0), ones(0, 16), gate="silu"), (3, 8), 0),
    "groups of no depth": (lambda: grouped.gemm(ones(4, 0), ones(2, 8, 0), np.array([2, 4], np.int32)), (4, 8), 0),
    "groups of no rows": (lambda: grouped.gemm(ones(0, 16), ones(2, 8, 16), np.zeros(2, np.int32)), (0, 8), 0),
    "no rows along K": (lambda: grouped.along_k(ones(0, 16), ones(0, 8), np.zeros(2, np.int32)), (2, 16, 8), 0),
    "no tokens": (
        lambda: experts(
            ones(0, 32), ones(2, 32, 32), ones(2, 32, 16), np.zeros((0, 2), np.int32), np.zeros((0, 2), np.float32)
        ),
        (0, 32),
        0,
    ),
    "no keys": (lambda: attention(ones(1, 3, 2, 64), ones(1, 0, 1, 64), ones(1, 0, 1, 64)), (1, 3, 2, 64), 0),
    "no queries": (lambda: attention(ones(1, 0, 2, 64), ones(1, 5, 1, 64), ones(1, 5, 1, 64)), (1, 0, 2, 64), 0),
    "no rows of norms": (lambda: rms_norm(ones(0, 16), ones(16)).y, (0, 16), 0),
    "no rows of softmax": (lambda: softmax.softmax(ones(0, 16)), (0, 16), 0),
    "no rows of losses": (lambda: cross_entropy(ones(0, 16), np.zeros(0, np.int64)).loss, (0,), 0),
    "no keys to sort": (lambda: sorting.sort(ones(0)).keys, (0,), 0),
    "no places": (lambda: embedding(ones(8, 16), np.zeros((0, 3), np.int32)), (0, 3, 16), 0),
    "no words": (lambda: embedding_backward(ones(3, 16), places(3), 0), (0, 16), 0),
    "no rows to add up": (lambda: scan.cumsum(ones(0, 16)), (0, 16), 0),
    "nothing to choose from": (lambda: select.top_k(ones(0, 16), 3).value, (0, 3), 0),
    "nothing to count": (lambda: histogram(np.zeros(0, np.int32), 8), (8,), 0),
    "nothing to quantise": (lambda: quantise(ones(0, 16))[0], (0, 16), 0),
    "nothing to turn": (
        lambda: rope.rope(ones(0, 2, 16), ones(0, 1, 16), ones(4, 8), ones(4, 8), np.zeros(0, np.int32))[0],
        (0, 2, 16),
        0,
    ),
}


def ones(*shape: int) -> Any:
    return np.ones(shape, BF16)


@pytest.mark.parametrize("name", NONE)
def test_nothing_is_computed_of_nothing(name: str) -> None:
    call, shape, number = NONE[name]
    found = call()
    assert found.shape == shape
    assert (found.astype(np.float64) == number).all()


def test_all_refusals_are_misfits() -> None:
    """Others would end in frames of ours: `without_our_frames` knows the classes of mistakes."""
    folder = Path(cl.__file__).parent / "kernels"
    plain = [
        f"{path.relative_to(folder)}:{node.lineno}"
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)
        if node.exc.func.id in ("ValueError", "TypeError")
    ]
    assert plain == []
