"""PTX -> cubin by the assembler in NVIDIA's driver, for machines with a GPU and no toolkit."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from cutelite.target import Target
from cutelite.toolchain import bindings, find
from cutelite.toolchain.errors import ToolchainError
from cutelite.toolchain.places import has_variables
from cutelite.toolchain.ptxas import refused

_LOG_BYTES = 1 << 16


def available() -> bool:
    """Tell whether there is a driver and a GPU: without a GPU the driver assembles nothing."""
    if find.library("cuda") is None:
        return False
    try:
        driver = bindings.cuda("driver")
    except ImportError:
        return False
    if int(driver.cuInit(0)[0]) != 0:
        return False
    status, count = driver.cuDeviceGetCount()
    return int(status) == 0 and count > 0


def version() -> str:
    """Return the CUDA version that the driver supports, such as `13.0`."""
    driver = bindings.cuda("driver")

    (number,) = _checked(driver.cuDriverGetVersion())
    return f"{number // 1000}.{number % 1000 // 10}"


def assemble(
    ptx: str, target: Target, opt_level: int, max_registers: int | None, options: Sequence[str]
) -> tuple[bytes, str]:
    """Return the cubin and the driver's log. Errors: `ToolchainError`, as for ptxas; also if there are `options`."""
    driver = bindings.cuda("driver")

    if options:
        raise ToolchainError("driver", f"the driver takes no flags of ptxas, but was given {' '.join(options)}")
    option, debug = driver.CUjit_option, has_variables(ptx)
    info, errors = bytearray(_LOG_BYTES), bytearray(_LOG_BYTES)
    settings: dict[Any, Any] = {
        option.CU_JIT_TARGET: getattr(driver.CUjit_target, f"CU_TARGET_COMPUTE_{target.arch[3:].upper()}"),
        option.CU_JIT_OPTIMIZATION_LEVEL: 0 if debug else opt_level,
        option.CU_JIT_GENERATE_DEBUG_INFO: int(debug),
        option.CU_JIT_GENERATE_LINE_INFO: int("\t.loc" in ptx),
        option.CU_JIT_LOG_VERBOSE: 1,
        option.CU_JIT_INFO_LOG_BUFFER: info,
        option.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: len(info),
        option.CU_JIT_ERROR_LOG_BUFFER: errors,
        option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: len(errors),
    }
    if max_registers is not None:
        settings[option.CU_JIT_MAX_REGISTERS] = max_registers
    source = ptx.encode() + b"\0"
    _enter_context()
    (link,) = _checked(driver.cuLinkCreate(len(settings), list(settings), list(settings.values())))
    try:
        kind = driver.CUjitInputType.CU_JIT_INPUT_PTX
        (status,) = driver.cuLinkAddData(link, kind, source, len(source), b"kernel.ptx", 0, [], [])
        if int(status) != 0:
            raise refused("driver", _text(errors) or str(status), ptx)
        address, size = _checked(driver.cuLinkComplete(link))
        image = ctypes.string_at(int(address), size)
    finally:
        driver.cuLinkDestroy(link)
    return image, _text(info)


def _enter_context() -> None:
    """Make sure that a context is current, which linking needs: the caller's, or device 0's primary one."""
    driver = bindings.cuda("driver")

    (current,) = _checked(driver.cuCtxGetCurrent())
    if int(current) == 0:
        (device,) = _checked(driver.cuDeviceGet(0))
        (primary,) = _checked(driver.cuDevicePrimaryCtxRetain(device))
        _checked(driver.cuCtxSetCurrent(primary))


def _checked(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    status, *values = answer
    if int(status) != 0:
        raise ToolchainError("driver", str(status))
    return tuple(values)


def _text(buffer: bytearray) -> str:
    return bytes(buffer).split(b"\0", 1)[0].decode(errors="replace")
