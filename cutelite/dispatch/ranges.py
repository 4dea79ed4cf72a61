"""NVTX ranges around launches, by the package `nvtx` or by torch: for Nsight Systems and its like."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from cutelite.dispatch.launch import LaunchError


@contextmanager
def launch_range(name: str, grid: tuple[int, ...], block: tuple[int, ...]) -> Iterator[None]:
    """Put a launch into a range ``gemm[132](384)``: the kernel, its grid, its block; extents of 1 are left out.

    Errors  `LaunchError` where neither `nvtx` nor torch is there
    """
    push, pop = _nvtx()
    push(f"{name}[{_shape(grid)}]({_shape(block)})")
    try:
        yield
    finally:
        pop()


def _shape(extents: tuple[int, ...]) -> str:
    kept = list(extents)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return ", ".join(map(str, kept))


@lru_cache(maxsize=1)
def _nvtx() -> tuple[Callable[[str], Any], Callable[[], Any]]:
    with suppress(ImportError):
        nvtx = importlib.import_module("nvtx")
        return nvtx.push_range, nvtx.pop_range
    with suppress(ImportError):
        ranges = importlib.import_module("torch.cuda.nvtx")
        return ranges.range_push, ranges.range_pop
    raise LaunchError("CUTELITE_NVTX=1 needs the package nvtx (`pip install nvtx`), or torch")
