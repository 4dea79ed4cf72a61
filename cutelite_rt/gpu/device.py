"""Devices and their contexts: attributes, limits, the current context, and making one current for a while.

The runtime uses a device's primary context, as torch, CuPy, JAX and the CUDA runtime do, unless another context of that
device is already current. Afterwards the previous context is current again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

from cutelite_rt import forks
from cutelite_rt.gpu import driver as cuda
from cutelite_rt.gpu.driver import CudaError, Driver

_CAPABILITY = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR


class Limits(NamedTuple):
    """The most that one launch on a device may ask for; sizes of memory in bytes."""

    max_threads_per_block: int
    max_block_x: int
    max_block_y: int
    max_block_z: int
    max_grid_x: int
    max_grid_y: int
    max_grid_z: int
    smem_per_block: int  # unless the kernel opts in to more
    registers_per_block: int
    sm_count: int
    l2_bytes: int
    max_threads_per_sm: int
    smem_per_sm: int
    registers_per_sm: int
    smem_per_block_optin: int


_LIMITS = Limits(1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 38, 39, 81, 82, 97)
"""The CUdevice_attribute (cuda.h) of each limit."""


class Device:
    """CUDA device number `ordinal`, as this process numbers them. Made by `device()`, one per ordinal."""

    def __init__(self, ordinal: int, driver: Driver) -> None:
        self.ordinal = ordinal
        self.driver = driver
        self._handle = driver.call("cuDeviceGet", ordinal, doing=f"opening device {ordinal}")
        self._lock = forks.lock()
        self._primary = 0

    def __repr__(self) -> str:
        return f"Device({self.ordinal}, {self.arch})"

    def attribute(self, number: int) -> int:
        """Return a `CUdevice_attribute` by its number."""
        kind = self.driver.raw.CUdevice_attribute(number)
        return int(self.driver.call("cuDeviceGetAttribute", kind, self._handle))

    @cached_property
    def name(self) -> str:
        """The marketing name, such as 'NVIDIA H200'."""
        raw: bytes = self.driver.call("cuDeviceGetName", 256, self._handle)
        return raw.split(b"\0", 1)[0].decode(errors="replace")

    @cached_property
    def uuid(self) -> str:
        """The identity of the hardware, 32 hex digits, the same in every process."""
        return bytes(self.driver.call("cuDeviceGetUuid", self._handle).bytes).hex()

    @cached_property
    def compute_capability(self) -> tuple[int, int]:
        """(major, minor), such as (9, 0)."""
        major, minor = _CAPABILITY
        return self.attribute(major), self.attribute(minor)

    @property
    def arch(self) -> str:
        """The plain architecture, such as 'sm_90' (which also runs 'sm_90a')."""
        major, minor = self.compute_capability
        return f"sm_{major}{minor}"

    @cached_property
    def limits(self) -> Limits:
        """The limits of launches on this device."""
        return Limits(*map(self.attribute, _LIMITS))

    @property
    def primary_context(self) -> int:
        """The handle of the primary context, created on first use and kept until the process ends."""
        if not self._primary:
            with self._lock:
                if not self._primary:
                    doing = f"opening the primary context of device {self.ordinal}"
                    self._primary = int(self.driver.call("cuDevicePrimaryCtxRetain", self._handle, doing=doing))
        return self._primary

    @contextlib.contextmanager
    def active(self) -> Iterator[int]:
        """Make a context of this device current inside the `with`, whose value is its handle."""
        context, ordinal = current_context(self.driver)
        if ordinal == self.ordinal:
            yield context
            return
        context = self.primary_context
        with context_active(self.driver, context):
            yield context


@contextlib.contextmanager
def context_active(driver: Driver, context: int) -> Iterator[None]:
    """Make `context` current inside the `with`; afterwards the previous one is current again."""
    driver.call("cuCtxPushCurrent", context)
    try:
        yield
    finally:
        driver.call("cuCtxPopCurrent")


def current_context(driver: Driver) -> tuple[int, int]:
    """Return (handle, device ordinal) of the calling thread's context; (0, -1) where it has none."""
    context = int(driver.call("cuCtxGetCurrent"))
    return (context, int(driver.call("cuCtxGetDevice"))) if context else (0, -1)


@lru_cache(maxsize=256)
def _device(ordinal: int, driver: Driver) -> Device:
    return Device(ordinal, driver)


def device(ordinal: int | None = None, driver: Driver | None = None) -> Device:
    """Return device `ordinal`; default: the calling thread's current device, or device 0 where it has none."""
    driver = driver or cuda.get()
    if ordinal is None:
        ordinal = max(current_context(driver)[1], 0)
    return _device(ordinal, driver)


def count(driver: Driver | None = None) -> int:
    """Return the number of devices that this process may use; 0 where there is no driver."""
    try:
        return int((driver or cuda.get()).call("cuDeviceGetCount"))
    except CudaError as problem:
        if isinstance(problem, cuda.NoDriver) or problem.number == 100:
            return 0
        raise


def runs_on(arch: str, capability: tuple[int, int]) -> bool:
    """Tell whether a cubin of `arch` runs on a device of that compute capability.

    A plain cubin runs on later minor versions of its major one, an `f` one within its family, and an `a` one
    on exactly its own (CUDA programming guide, compute capabilities).

    >>> runs_on("sm_80", (8, 6)), runs_on("sm_90a", (9, 0)), runs_on("sm_100a", (10, 3)), runs_on("sm_100f", (10, 3))
    (True, True, False, True)
    """
    digits = arch.removeprefix("sm_").removesuffix("a").removesuffix("f")
    if not arch.startswith("sm_") or not digits.isdecimal() or len(digits) < 2:
        raise ValueError(f"{arch!r} is not an architecture such as 'sm_90a'")
    major, minor = int(digits[:-1]), int(digits[-1])
    if arch.endswith("a"):
        return (major, minor) == capability
    return major == capability[0] and minor <= capability[1]
