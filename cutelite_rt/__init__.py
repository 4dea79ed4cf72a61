"""The runtime: loads and launches any kernel artefact, with no compiler installed.

gpu         driver, devices, launches, tensor maps for TMA          arrays      arrays of any library, and streams
signature   checks of arguments, and the texts of their errors      launcher    the one launcher, as machine code
export      kernels in files, and C for them                        artifact    a cubin and what a launch needs
cache       compiled kernels on disk        dtype, shapes, errors, forks, callers   what these share

A folder imports those before it in this order: gpu, arrays, signature, launcher, export.

Importing it is cheap: the driver, NumPy and the modules for exported kernels are imported at first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cutelite_rt.arrays.memory import (
    ArrayView,
    DeviceArray,
    UnreadableArray,
    empty,
    from_device,
    over,
    read,
    register_array,
    to_device,
    zeros,
)
from cutelite_rt.artifact import Artifact, ArtifactError
from cutelite_rt.cache import DiskCache, default_cache_dir
from cutelite_rt.errors import ArgumentError, LaunchError
from cutelite_rt.gpu.device import Device, count, device
from cutelite_rt.gpu.driver import CudaError, Driver, NoDriver
from cutelite_rt.gpu.launch import Function, LaunchConfig, launch, load, write_global
from cutelite_rt.gpu.params import ParameterLayout, Parameters
from cutelite_rt.gpu.tensormap import TensorMapError, Tiling, check_tensormap, tma_aligned

if TYPE_CHECKING:
    from cutelite_rt.export.bundle import Bundle, Variant
    from cutelite_rt.export.cstub import c_stub
    from cutelite_rt.export.exported import ExportedKernel, load_kernel
    from cutelite_rt.gpu.occupancy import max_active_clusters, resident_clusters
    from cutelite_rt.launcher.asked import ExportedLaunch

_LATER = {
    "Bundle": "export.bundle",
    "Variant": "export.bundle",
    "ExportedKernel": "export.exported",
    "ExportedLaunch": "launcher.asked",
    "load_kernel": "export.exported",
    "c_stub": "export.cstub",
    "max_active_clusters": "gpu.occupancy",
    "resident_clusters": "gpu.occupancy",
}

__all__ = [
    "ArgumentError", "ArrayView", "Artifact", "ArtifactError", "Bundle", "CudaError", "Device", "DeviceArray",
    "DiskCache", "Driver", "ExportedKernel", "ExportedLaunch", "Function", "LaunchConfig", "LaunchError", "NoDriver",
    "ParameterLayout", "Parameters", "TensorMapError", "Tiling", "UnreadableArray", "Variant", "c_stub",
    "check_tensormap", "count", "default_cache_dir", "device", "empty", "from_device", "launch", "load",
    "load_kernel", "max_active_clusters", "over", "read", "register_array", "resident_clusters", "tma_aligned",
    "to_device", "write_global", "zeros",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'cutelite_rt' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"cutelite_rt.{_LATER[name]}"), name)
    globals()[name] = value
    return value
