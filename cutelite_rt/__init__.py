"""The runtime: loads and launches any kernel artefact, with no compiler installed.

Importing it is cheap: the driver, NumPy and platformdirs come in when something first needs them.
"""

from cutelite_rt.artifact import Artifact, ArtifactError
from cutelite_rt.bundle import Bundle, Variant
from cutelite_rt.cache import DiskCache, default_cache_dir
from cutelite_rt.device import Device, count, device
from cutelite_rt.driver import CudaError, Driver, NoDriver
from cutelite_rt.errors import ArgumentError, LaunchError
from cutelite_rt.exported import ExportedKernel, Launch, load_kernel
from cutelite_rt.launch import Function, LaunchConfig, launch, load
from cutelite_rt.memory import ArrayView, DeviceArray, UnreadableArray, empty, from_device, over, read, to_device
from cutelite_rt.params import ParameterLayout, Parameters
from cutelite_rt.tensormap import TensorMapError, Tiling, check_tensormap

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
    "over",
    "read",
    "to_device",
]
