"""Live kernels as functions of TVM-FFI: called from Python, C++ or Rust by its calling convention.

    add = tvm_ffi_function(vector_add, grid=lambda given: cl.ceil_div(given["a"].shape[0], 256), name="mylib.add")
    add(a, b, c)                                        # tensors of TVM-FFI, or of what it takes for one

In: a kernel, and how it is launched. Out: a `tvm_ffi.Function`. Tensors on a GPU are launched on, in TVM-FFI's current
stream of their device; with tensors on the CPU the kernel is simulated. A call goes through Python. What is exported
(docs/export.md) needs none, and is compiled for certain architectures and alignments only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import tvm_ffi

from cutelite.dispatch import BoundKernel, Kernel, Launch
from cutelite.dispatch.launch import Extent
from cutelite.dispatch.signature import InOrder

CPU = 1  # DLPack's kDLCPU
MOST_STREAMS = 64


def tvm_ffi_function(
    kernel: Kernel | BoundKernel,
    *,
    grid: Extent | Callable[[dict[str, Any]], Extent],
    block: Extent | None = None,
    cluster: Extent | None = None,
    smem: int = 0,
    pdl: bool = False,
    name: str | None = None,
    **others: Any,
) -> Any:
    """Return a kernel as a `tvm_ffi.Function`, which takes arguments for its parameters, in order, and returns nothing.

    grid, block, cluster, smem, pdl   how it is launched (`cutelite.Launch`); the stream is TVM-FFI's current one
    name      a global name, by which `tvm_ffi.get_global_func` and other languages find it, in the place of what had it
    others    arguments by name that are always the same, such as compile-time constants: the function has none for
              them. Parameters behind ``*args`` of a kernel are among these, or have defaults
    Errors    TypeError for an object that is no kernel, and for a name among `others` that is no parameter. What a
              launch refuses comes as TVM-FFI's error, with its text
    """
    if not isinstance(kernel, Kernel | BoundKernel):
        raise TypeError(f"tvm_ffi_function() takes a kernel, not {kernel!r}")
    own = kernel.signature.names[isinstance(kernel, BoundKernel) :]
    for given in others:
        if given not in own:
            raise TypeError(f"{kernel.__name__}() has no parameter `{given}`; it has {', '.join(own)}")
    launch = Launch(grid, block, cluster, smem=smem, pdl=pdl)
    call = _Call(kernel, launch, others, InOrder.of(kernel.__cutelite_function__, own, others))
    made = tvm_ffi.convert(call)
    if name is not None:
        tvm_ffi.register_global_func(name, made, override=True)
    return made


class _Call:
    """The function as Python has it: `order` are the parameters that it takes arguments for."""

    def __init__(self, kernel: Kernel | BoundKernel, launch: Launch, others: dict[str, Any], order: InOrder) -> None:
        self.kernel, self.others, self.order = kernel, others, order
        self._launcher = lru_cache(MOST_STREAMS)(lambda stream: kernel[replace(launch, stream=stream)])

    def __call__(self, *arguments: Any) -> None:
        if self.order.star is None and len(arguments) > len(self.order.names):
            taken = ", ".join(self.order.names)
            raise TypeError(f"{self.kernel.__name__}() takes arguments for {taken}, and {len(arguments)} came")
        self._launcher(_stream_of(arguments))(**self.order.given(arguments), **self.others)


def _stream_of(arguments: tuple[Any, ...]) -> int | None:
    """Return the current stream of the GPU that the first tensor is on; None where that is on the CPU."""
    for each in arguments:
        if isinstance(each, tvm_ffi.Tensor):
            place = each.device
            return None if place.dlpack_device_type() == CPU else tvm_ffi.get_raw_stream(place)
    return None
