"""Choose where the examples run: on a GPU through torch if there is one, else on NumPy arrays in the simulator."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np


@cache
def torch_on_gpu(sm: int = 0) -> Any:
    """Return the torch module if it is installed and sees a GPU of compute capability `sm` / 10 or above, else None."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    there = torch.cuda.is_available() and torch.cuda.get_device_capability() >= divmod(sm, 10)
    return torch if there else None


def place() -> str:
    """Return the name of the GPU on which kernels run, or 'the simulator'."""
    torch = torch_on_gpu()
    return torch.cuda.get_device_name(0) if torch else "the simulator"


def random(*shape: int, dtype: str = "float32", seed: int = 0, sm: int = 0) -> Any:
    """Return normal random numbers as an array of `dtype` (a NumPy, ml_dtypes or torch name) where kernels run.

    sm  the kernels need a GPU of compute capability `sm` / 10 or above
    """
    values = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return array(values, dtype, sm)


def poisoned(*shape: int, dtype: str = "float32", sm: int = 0) -> Any:
    """Return an output array full of NaN (floats) or 0x55 bytes (integers), to show elements not written."""
    poison = np.nan if dtype.startswith(("float", "bfloat")) else 0x55555555
    return array(np.full(shape, poison), dtype, sm)


def array(values: Any, dtype: str, sm: int = 0) -> Any:
    """Return `values` as a contiguous array of `dtype` where kernels run, on a GPU of compute capability `sm` / 10."""
    torch = torch_on_gpu(sm)
    if torch:
        return torch.from_numpy(np.ascontiguousarray(values)).to("cuda", getattr(torch, dtype))
    if dtype.startswith(("bfloat", "float8")):
        import ml_dtypes

        return np.ascontiguousarray(values).astype(getattr(ml_dtypes, dtype))
    return np.ascontiguousarray(values).astype(dtype)


def to_numpy(x: Any) -> np.ndarray[Any, Any]:
    """Return an array as float64 (or its own integers) on the CPU, for checks."""
    if not isinstance(x, np.ndarray):
        x = x.double().cpu().numpy() if x.is_floating_point() else x.cpu().numpy()
    values: np.ndarray[Any, Any] = x.astype(np.float64) if x.dtype.kind not in "iub" else x
    return values


def check(name: str, result: Any, expected: np.ndarray[Any, Any], tolerance: float) -> None:
    """Compare in the Frobenius norm, relative to the expected result; NaN never passes."""
    got = to_numpy(result)
    scale = float(np.linalg.norm(expected)) or 1.0
    error = float(np.linalg.norm(got - expected)) / scale
    assert error <= tolerance, f"{name}: relative error {error:.3g}, more than {tolerance:.3g}"
    print(f"{name}: relative error {error:.1e}, on {'the simulator' if isinstance(result, np.ndarray) else place()}")
