"""The runtime: loads and launches any kernel artefact, with no compiler installed.

Importing it is cheap: the driver, NumPy and platformdirs come in when something first needs them, and so does what
exported kernels take.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cutelite_rt.artifact import Artifact, ArtifactError
from cutelite_rt.cache import DiskCache, default_cache_dir
from cutelite_rt.device import Device, count, device
from cutelite_rt.driver import CudaError, Driver, NoDriver
from cutelite_rt.errors import ArgumentError, LaunchError
from cutelite_rt.launch import Function, LaunchConfig, launch, load
from cutelite_rt.memory import ArrayView, DeviceArray, UnreadableArray, empty, from_device, over, read, to_device
from cutelite_rt.params import ParameterLayout, Parameters
from cutelite_rt.tensormap import TensorMapError, Tiling, check_tensormap

if TYPE_CHECKING:
    from cutelite_rt.bundle import Bundle, Variant
    from cutelite_rt.exported import ExportedKernel, Launch, load_kernel
    from cutelite_rt.occupancy import max_active_clusters

_LATER = {"Bundle": "bundle", "Variant": "bundle", "max_active_clusters": "occupancy"} | dict.fromkeys(
    ("ExportedKernel", "Launch", "load_kernel"), "exported"
)

__all__ = [
    "ArgumentError",
    "ArrayView",
    "Artifact",
    "ArtifactError",
    "Bundle",
    "CudaError",
    "Device",
    "DeviceArray",
    "DiskCache",
    "Driver",
    "ExportedKernel",
    "Function",
    "Launch",
    "LaunchConfig",
    "LaunchError",
    "NoDriver",
    "ParameterLayout",
    "Parameters",
    "TensorMapError",
    "Tiling",
    "UnreadableArray",
    "Variant",
    "check_tensormap",
    "count",
    "default_cache_dir",
    "device",
    "empty",
    "from_device",
    "launch",
    "load",
    "load_kernel",
    "max_active_clusters",
    "over",
    "read",
    "to_device",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'cutelite_rt' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"cutelite_rt.{_LATER[name]}"), name)
    globals()[name] = value
    return value
