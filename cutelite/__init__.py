"""cutelite: kernels for Hopper-class GPUs, written in annotated Python. The public names, and nothing else.

Names are imported when first used, so that `import cutelite` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutelite._typing import *  # noqa: F403

_WHERE = {
    "cutelite.dispatch": "kernel Kernel Launch LaunchError ArgumentError Compiled",
    "cutelite.diag": "CompileError InternalError",
    "cutelite.layout": "dims Dim Layout ComposedLayout Swizzle make_layout ceil_div size cosize composition complement"
    " coalesce logical_divide zipped_divide tiled_divide flat_divide logical_product",
    "cutelite.lang.annotations": "Constexpr align",
    "cutelite.lang.tensor": "Tensor TmaTensor shared dynamic_shared make_rmem_tensor make_rmem_tensor_like make_tensor"
    " local_tile recast_tensor row_major",
    "cutelite.lang.values": "where Scalar Vector",
    "cutelite.lang.index": "thread_idx block_idx block_dim grid_dim cluster_idx cluster_dim block_in_cluster lane_idx"
    " warp_idx linear_thread_idx block_rank_in_cluster",
    "cutelite.ir.types": "boolean i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 tf32 e4m3 e5m2 mbarrier",
}
_HOME = {name: module for module, names in _WHERE.items() for name in names.split()}
_MODULES = ("layout", "lang", "math")

__version__ = "0.1.0"
__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'cutelite' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
