"""Clocks and power of a GPU while it works, by NVML, if it is installed."""

from __future__ import annotations

import ctypes
import uuid
from typing import Any

from cutelite.tuples import NamedTuple
from cutelite_rt.gpu.device import Device

_SM = 1  # NVML_CLOCK_SM


class Sample(NamedTuple):
    """The clock of the multiprocessors in MHz, and the power in watts; None if NVML does not report it."""

    clock_mhz: int | None
    power_w: float | None


class Nvml:
    """The NVML handle of a device; without NVML its samples are None."""

    def __init__(self, device: Device) -> None:
        self._device = ctypes.c_void_p()
        self._library: Any = None
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        name = f"GPU-{uuid.UUID(device.uuid)}".encode()
        if library.nvmlInit_v2() == 0 and library.nvmlDeviceGetHandleByUUID(name, ctypes.byref(self._device)) == 0:
            self._library = library

    def sample(self) -> Sample:
        """Return the GPU's clock and power now."""
        milliwatts = self._ask("nvmlDeviceGetPowerUsage")
        watts = None if milliwatts is None else milliwatts / 1e3
        return Sample(self._ask("nvmlDeviceGetClockInfo", _SM), watts)

    def _ask(self, name: str, *arguments: int) -> int | None:
        if self._library is None:
            return None
        value = ctypes.c_uint()
        status = getattr(self._library, name)(self._device, *arguments, ctypes.byref(value))
        return value.value if status == 0 else None
