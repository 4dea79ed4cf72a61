"""Who takes part in the GEMM benchmark: each says for a case how it is called, or why it cannot be.

A rival takes `Inputs` and gives a function of the number of a set, and words about what was chosen. Whoever cannot
be imported here does not take part.
"""

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from cutelite.kernels.gemm import chosen, fp8_block, gemm
from tests.bench.gemm_cases import Inputs
from tests.bench.given import example


class Made(NamedTuple):
    """call: with the number of a set, writes its `out`, or gives a result of its own; words: what was chosen."""

    call: Callable[[int], Any]
    words: str = ""


class NotMade(Exception):
    """This rival does not do that; the text says what is missing."""


Rival = Callable[[Inputs], Made]
RIVALS: dict[str, Rival] = {}


def rival(name: str) -> Callable[[Rival], Rival]:
    """Have it take part under `name`."""

    def add(make: Rival) -> Rival:
        RIVALS[name] = make
        return make

    return add


def there(module: str) -> Any:
    """An optional module. Errors: `NotMade`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NotMade(f"{module} cannot be imported: {error}") from error


@rival("cutelite")
def cutelite(of: Inputs) -> Made:
    """`cutelite.kernels.gemm`, as its users call it."""
    if of.case.kind == "fp8-blocks":
        scale_b = of.scale_b
        assert scale_b is not None
        return Made(lambda i: fp8_block.gemm(of.a[i], of.b[i].T, of.scale_a, scale_b.T, of.out[i]), "fp8_block")
    how: dict[str, Any] = {"scale_a": of.scale_a, "scale_b": of.scale_b}
    if of.case.kind == "tf32":
        how["precision"] = "tf32"
    config = chosen(of.a[0], of.b[0], of.out[0], tuned=True, **how)
    return Made(lambda i: gemm(of.a[i], of.b[i], of.out[i], **how), str(config))


@rival("cutelite-model")
def _model(of: Inputs) -> Made:
    """The same with the configuration that the model picks, nothing being measured."""
    if of.case.kind not in ("bf16", "f16"):
        raise NotMade("bf16 and f16 alone")
    config = chosen(of.a[0], of.b[0], of.out[0])
    return Made(lambda i: gemm(of.a[i], of.b[i], of.out[i], config=config), str(config))


@rival("cutelite-tiled")
def _tiled(of: Inputs) -> Made:
    """The GEMM of tiled MMAs, one config for all: what to measure an improvement by."""
    case = of.case
    if case.kind != "bf16" or case.majors != "KK":
        raise NotMade("hopper_gemm_tiled takes bf16 along K")
    tiled = example("hopper_gemm_tiled")
    tiles = -(-case.m // tiled.BM) * -(-case.n // tiled.BN)
    launch = tiled.gemm[min(torch.cuda.get_device_properties(0).multi_processor_count, tiles), tiled.THREADS]
    return Made(lambda i: launch(of.a[i], of.b[i].T, of.out[i]), "hopper_gemm_tiled")


@rival("cublas")
def cublas(of: Inputs) -> Made:
    """What torch calls."""
    case = of.case
    match case.kind:
        case "bf16" | "fp16":
            return Made(lambda i: torch.mm(of.a[i], of.b[i], out=of.out[i]))
        case "tf32":
            torch.backends.cuda.matmul.allow_tf32 = True
            return Made(lambda i: torch.mm(of.a[i], of.b[i], out=of.out[i]))
        case "int8":
            return Made(lambda i: torch._int_mm(of.a[i], of.b[i], out=of.out[i]))
        case "fp8-blocks":
            return _blocks(of)
    options = {"scale_a": of.scale_a, "scale_b": of.scale_b, "out_dtype": torch.bfloat16, "use_fast_accum": True}
    if case.kind == "fp8-rows":  # which takes no result to write to
        return Made(lambda i: torch._scaled_mm(of.a[i], of.b[i], **options), "torch._scaled_mm, CUTLASS")
    return Made(lambda i: torch._scaled_mm(of.a[i], of.b[i], **options, out=of.out[i]), "torch._scaled_mm")


def _blocks(of: Inputs) -> Made:
    functional = torch.nn.functional
    if not hasattr(functional, "scaled_mm"):
        raise NotMade("this torch has no scaled_mm with block scales")
    kinds, none = functional.ScalingType, functional.SwizzleType.NO_SWIZZLE
    assert of.scale_a is not None and of.scale_b is not None
    padded = -(-of.scale_b.shape[0] // 4) * 4  # rows of B's scales, in fours
    scale_b = torch.zeros(of.scale_b.shape[1], padded, device="cuda").T
    scale_b[: of.scale_b.shape[0]] = of.scale_b

    def call(i: int) -> torch.Tensor:
        result: torch.Tensor = functional.scaled_mm(
            of.a[i], of.b[i], of.scale_a, kinds.BlockWise1x128, scale_b, kinds.BlockWise128x128,
            swizzle_a=none, swizzle_b=none, output_dtype=torch.bfloat16,
        )  # fmt: skip
        return result

    return Made(call, "torch.nn.functional.scaled_mm")


@rival("cublaslt")
def cublaslt(of: Inputs) -> Made:
    """cuBLASLt's own choice of a kernel, where torch asks cuBLAS otherwise."""
    if of.case.kind not in ("bf16", "fp16"):
        raise NotMade("torch calls cuBLASLt for these types anyway")

    def call(i: int) -> torch.Tensor:
        before = torch.backends.cuda.preferred_blas_library("cublaslt")
        try:
            return torch.mm(of.a[i], of.b[i], out=of.out[i])
        finally:
            torch.backends.cuda.preferred_blas_library(before)

    return Made(call)


@rival("triton")
def triton(of: Inputs) -> Made:
    """A persistent TMA kernel of our own, tuned over 20 configs for each case."""
    if of.case.kind not in ("bf16", "fp16", "tf32", "int8", "fp8"):
        raise NotMade("not written")
    there("triton")
    return Made(*there("tests.bench.gemm_triton").tuned(of))


@rival("quack")
def quack(of: Inputs) -> Made:
    """QuACK's GEMM of CuTe DSL, the best of its own shortlist."""
    if of.case.kind not in ("bf16", "fp16") or of.case.majors != "KK":
        raise NotMade("called for 16-bit types along K alone")
    from tests.bench.timing import best

    gemm = there("quack.gemm").gemm
    tiles = [(128, 192, True), (128, 256, False), (256, 128, False), (256, 192, False), (128, 208, True)]
    calls = {}
    for m, n, pingpong in tiles:

        def call(i: int, m: int = m, n: int = n, pingpong: bool = pingpong) -> Any:
            return gemm(of.a[i], of.b[i].T, of.out[i], None, None, m, n, 2, 1, pingpong=pingpong, persistent=True)

        calls[f"{m}x{n} {'ping-pong' if pingpong else 'cooperative'}"] = call
    name = best(calls, of.count, of.case.flops / 500e12)
    return Made(calls[name], name)


@rival("deep_gemm")
def deep_gemm(of: Inputs) -> Made:
    """DeepGEMM, which compiles for each shape."""
    module = there("deep_gemm")
    if of.case.majors != "KK":
        raise NotMade("called along K alone")
    if of.case.kind == "bf16":
        return Made(lambda i: module.bf16_gemm_nt(of.a[i], of.b[i].T, of.out[i]))
    if of.case.kind != "fp8-blocks":
        raise NotMade("it has block scales alone")
    assert of.scale_b is not None
    scale_b = of.scale_b.T.contiguous()
    return Made(lambda i: module.fp8_gemm_nt((of.a[i], of.scale_a), (of.b[i].T, scale_b), of.out[i]))


def named(spec: str) -> None:
    """A rival of the command line: NAME=FILE.py:FUNCTION, called as function(a, b, out), then scales if there are."""
    name, _, place = spec.partition("=")
    path, _, function = place.rpartition(":")
    module_spec = importlib.util.spec_from_file_location(f"rival_{name}", path)
    if module_spec is None or module_spec.loader is None:
        raise SystemExit(f"{spec}: no module is there; say NAME=FILE.py:FUNCTION")
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)

    @rival(name)
    def make(of: Inputs) -> Made:
        scales = () if of.scale_a is None else (of.scale_a, of.scale_b)
        return Made(lambda i: getattr(module, function)(of.a[i], of.b[i], of.out[i], *scales))
