"""Every kernel that `gemm`, `gemm_scaled`, `gemm_grouped`, `gemm_fp8_block` and `attention` for Blackwell can pick.

python -m tests.blackwell.spills            # compiles all for both targets; says which spill (docs/lab/blackwell.md)
python -m tests.blackwell.spills gemms      # or special, or attentions

A kernel is known by its name, its types and its configuration; sizes are arguments. Kernels are had from calls whose
launches are diverted. The tests take a few of them.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

from cutelite.dispatch.divert import diverted
from cutelite.kernels.blackwell import call
from cutelite.kernels.blackwell.attention_call import attention
from cutelite.kernels.blackwell.call import arranged, gemm, gemm_fp8_block, gemm_grouped, gemm_scaled
from cutelite.kernels.blackwell.configs import Config

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
ARCHS, INTEGERS = ("sm_100a", "sm_103a"), ("sm_100a",)
PICKED = [config for config in call.CONFIGS if config.cluster == (1, 1)]
OTHERS = [config for config in call.CONFIGS if config.cluster != (1, 1)] + [Config(dynamic=True)]
SIDE = 256

Kernel = tuple[Any, tuple[Any, ...]]


def launched(run: Callable[[], Any]) -> Kernel | None:
    """The kernel that a call launches, and its arguments; None where no kernel is made for the configuration."""
    found: list[Kernel] = []

    def take(kernel: Any, launch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        found.append((kernel, args))

    try:
        with diverted(take):
            run()
    except ValueError as refusal:
        if "Config(" not in str(refusal):  # it begins with the configuration that no kernel is made for
            raise
        return None
    return found[0]


def square(dtype: Any, major: str = "K") -> Any:
    """An operand; 'K': contiguous along its last mode."""
    x = np.zeros((SIDE, SIDE), dtype)
    return x if major == "K" else x.T


def everything(out: Any) -> dict[str, Any]:
    """All that a GEMM may do to its sums."""
    ones = np.ones((SIDE, 1), np.float32)
    bias = ones[:, 0] if out.dtype == E4M3 else out[0]
    more = {"scale_a": ones, "scale_b": ones.T, "c": out, "beta": 0.5, "bias": bias}
    return {} if out.dtype == np.int32 else {**more, "activation": "relu"}


def gemms() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Products of each type, along each mode, plain and with everything fused."""
    types = (BF16, (BF16, np.float32)), (np.float16, (np.float16,)), (E4M3, (BF16, E4M3)), (E5M2, (BF16,))
    types += (np.float32, (np.float32,)), (np.int8, (np.int32,))  # type: ignore[assignment]
    for (dtype, results), config in product(types, (*PICKED, *OTHERS)):
        precision = "tf32" if dtype == np.float32 else None
        for majors in ("KK", "KM", "MK", "MM") if np.dtype(dtype).itemsize == 2 and config in PICKED else ("KK",):
            a, b = square(dtype, majors[0]), square(dtype, majors[1]).T
            for d in results:
                out = np.zeros((SIDE, SIDE), d)
                for name, more in ("plain", {}), ("fused", everything(out)):
                    if majors == "KK" or name == "plain":
                        how = {"config": config, "precision": precision, **more}
                        yield f"{dtype.__name__} {majors} to {out.dtype} {name} {config}", _call(gemm, a, b, out, **how)


def _call(function: Any, *args: Any, **how: Any) -> Callable[[], Any]:
    return lambda: function(*args, **how)


def special() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Scaled ones, groups, and fp8 with scales in f32."""
    for config in PICKED:
        for kind, block in ("mxfp8", 32), ("mxfp4", 32), ("nvfp4", 16):
            x = square(E4M3 if kind == "mxfp8" else np.uint8)
            scales = arranged(np.zeros((SIDE, SIDE * (1 if kind == "mxfp8" else 2) // block), np.uint8))
            yield f"{kind} {config}", _call(gemm_scaled, x, x, scales, scales, kind=kind, config=config)
        for dtype in (BF16, np.float16, E4M3, E5M2):
            b, ends = np.zeros((2, SIDE, SIDE), dtype), np.zeros(2, np.int32)
            yield f"grouped {dtype.__name__} {config}", _call(gemm_grouped, square(dtype), b, ends, config=config)
        ones, x = np.ones((SIDE, 2), np.float32), square(E4M3)
        yield f"fp8_block {config}", _call(gemm_fp8_block, x, x, ones, ones[:2], config=config)


def attentions() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Attention of each width, with each form of window, and each change of scores."""
    windows: dict[str, dict[str, Any]] = {
        "full": {}, "causal": {"causal": True}, "left": {"window": (9, None)}, "window": {"window": (9, 9)},
    }  # fmt: skip
    changes: dict[str, dict[str, Any]] = {
        "": {},
        "softcap": {"softcap": 5.0},
        "score_mod": {"score_mod": lambda s, b, h, i, j: s - abs(i - j) * 0.01},
        "mask_mod": {"mask_mod": lambda b, h, i, j: (i + j) % 3 != 0},
        "both": {"score_mod": lambda s, b, h, i, j: s + h, "mask_mod": lambda b, h, i, j: i != j},
    }
    for dtype, (dim, wide) in product((BF16, np.float16), ((64, 64), (128, 64), (128, 128))):
        q, v = np.zeros((1, 300, 1, dim), dtype), np.zeros((1, 300, 1, wide), dtype)
        for (window, seen), (change, how) in product(windows.items(), changes.items()):
            name = f"attention {dtype.__name__} {dim} {wide} {window} {change}"
            yield name, _call(attention, q, q, v, sinks=np.ones(1, np.float32), **seen, **how)


KINDS = {"special": special, "gemms": gemms, "attentions": attentions}


def kernels(kinds: Iterable[str] = KINDS) -> Iterator[tuple[str, Kernel]]:
    """All of these kinds."""
    for kind in kinds:
        for name, run in KINDS[kind]():
            if (kernel := launched(run)) is not None:
                yield name, kernel


def main() -> int:
    started, count, bad = time.process_time(), 0, 0
    for name, (kernel, args) in kernels(sys.argv[1:] or KINDS):
        for arch in ARCHS if "int8" not in name else INTEGERS:
            made, count = kernel.compile(*args, arch=arch), count + 1
            if made.spills or made.warnings:
                bad += 1
                print(f"{name} {arch}: {made.spills} bytes spilled, {made.registers} registers", flush=True)
    print(f"{count} compiles, {bad} that spill; {time.process_time() - started:.0f} s of CPU without ptxas")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
