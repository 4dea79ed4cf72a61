"""XLA's interface for foreign functions: a handler by which XLA calls Python, and arrays over XLA's buffers.

In    a function that launches
Out   its calls with the number that a computation has as its attribute `call`, arrays, and XLA's stream

The interface is C's (xla/ffi/api/c_api.h, of which jaxlib has a copy), declared here for ctypes: no compiler is needed.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from ctypes import POINTER, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import jax
import numpy as np

import cutelite_rt as rt
from cutelite_rt import forks
from cutelite_rt.arrays.memory import on_host

TARGET = "cutelite_launch"
_EXECUTE = 3  # XLA_FFI_ExecutionStage_EXECUTE
_METADATA = 1  # XLA_FFI_Extension_Metadata
_INTERNAL = 13  # XLA_FFI_Error_Code_INTERNAL

# XLA_FFI_DataType -> dtype of ours
_DTYPES = {1: "bool", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "u8", 7: "u16", 8: "u32", 9: "u64",
           10: "f16", 11: "f32", 12: "f64", 16: "bf16", 19: "e5m2", 20: "e4m3"}  # fmt: skip

Launch = Callable[[int, list[Any], list[Any], int | None], None]
"""A function of a call's number, its inputs and outputs, and the stream; None on the CPU."""


def _structure(**fields: Any) -> Any:
    """Return the structure of C with these fields."""
    return type("Structure", (ctypes.Structure,), {"_fields_": tuple(fields.items())})


def _sized(**fields: Any) -> Any:
    """Return the structure with the fields that most structures of XLA begin with, and these."""
    return _structure(struct_size=c_size_t, extension=c_void_p, **fields)


_Extension = _structure(struct_size=c_size_t, type=c_int, next=c_void_p)
_Version = _sized(major=c_int, minor=c_int)
_Metadata = _structure(struct_size=c_size_t, version=_Version, traits=ctypes.c_uint32)
_MetadataExtension = _structure(base=_Extension, metadata=POINTER(_Metadata))
_Buffer = _sized(dtype=c_int, data=c_void_p, rank=c_int64, dims=POINTER(c_int64))
_Buffers = _sized(size=c_int64, types=POINTER(c_int), buffers=POINTER(POINTER(_Buffer)))  # XLA_FFI_Args, XLA_FFI_Rets
_Scalar = _structure(dtype=c_int, value=POINTER(c_int64))
_Attributes = _sized(size=c_int64, types=POINTER(c_int), names=c_void_p, values=POINTER(POINTER(_Scalar)))
_Api = _sized(  # up to the last function used here
    version=_Version, internal=c_void_p, error_create=c_void_p, error_get_details=c_void_p, error_destroy=c_void_p,
    handler_register=c_void_p, stream_get=c_void_p,
)  # fmt: skip
_Frame = _sized(  # XLA_FFI_CallFrame
    api=POINTER(_Api), context=c_void_p, stage=c_int, inputs=_Buffers, outputs=_Buffers, attributes=_Attributes
)
_ErrorCreate = _sized(message=ctypes.c_char_p, code=c_int)
_StreamGet = _sized(context=c_void_p, stream=c_void_p)
_HANDLER = ctypes.CFUNCTYPE(c_void_p, POINTER(_Frame))
_FUNCTION = ctypes.CFUNCTYPE(c_void_p, c_void_p)


def _version() -> tuple[int, int]:
    """Return the version of the interface that this jaxlib speaks, from its own header. Errors: RuntimeError."""
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    text = header.read_text()
    found = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    if not (found[0] and found[1]) or int(found[0][1]) != 0:
        raise RuntimeError(f"{header} is not of the interface that cutelite knows, version 0: update cutelite")
    return 0, int(found[1][1])


_lock = forks.lock()
_handlers: dict[str, Any] = {}  # which XLA calls until the process ends


def register(launch: Launch) -> None:
    """Have XLA call `launch` where a computation calls `TARGET`. It is registered once. Errors: RuntimeError."""
    with _lock:
        if _handlers:
            return
        version = _version()
        for platform, on_gpu in (("CUDA", True), ("cpu", False)):
            handler = _handlers[platform] = _HANDLER(_handler(version, on_gpu, launch))
            jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler), platform=platform)


def _handler(version: tuple[int, int], on_gpu: bool, launch: Launch) -> Callable[[Any], int | None]:
    def handle(pointer: Any) -> int | None:
        frame = pointer.contents
        if frame.extension and _Extension.from_address(frame.extension).type == _METADATA:
            asked = _MetadataExtension.from_address(frame.extension).metadata.contents
            asked.version.major, asked.version.minor = version
            asked.traits = 0
            return None
        if frame.stage != _EXECUTE:
            return None
        try:
            _called(frame, on_gpu, launch)
        except BaseException as error:  # a callback has nobody to raise to: XLA gets it as the computation's error
            return _error(frame.api.contents, f"{type(error).__name__}: {error}")
        return None

    return handle


def _called(frame: Any, on_gpu: bool, launch: Launch) -> None:
    number = frame.attributes.values[0].contents.value[0]
    inputs, outputs = ([each.buffers[i].contents for i in range(each.size)] for each in (frame.inputs, frame.outputs))
    if not on_gpu:
        launch(number, list(map(_in_memory, inputs)), list(map(_in_memory, outputs)), None)
        return
    # XLA's numbers of devices need not be CUDA's; an array without elements lies anywhere.
    pointer = next((buffer.data for buffer in (*inputs, *outputs) if buffer.data), 0)
    where = rt.over(pointer, (), "u8").device
    arrays = ([_on_gpu(buffer, where) for buffer in group] for group in (inputs, outputs))
    launch(number, next(arrays), next(arrays), _stream(frame))


def _stream(frame: Any) -> int:
    asked = _StreamGet(ctypes.sizeof(_StreamGet), None, frame.context, None)
    if _FUNCTION(frame.api.contents.stream_get)(ctypes.addressof(asked)):
        raise RuntimeError("XLA tells no stream")
    return asked.stream or 0


def _error(api: Any, text: str) -> int | None:
    asked = _ErrorCreate(ctypes.sizeof(_ErrorCreate), None, text.encode(), _INTERNAL)
    made: int | None = _FUNCTION(api.error_create)(ctypes.addressof(asked))
    return made


def _shape(buffer: Any) -> tuple[tuple[int, ...], str]:
    dtype = _DTYPES.get(buffer.dtype)
    if dtype is None:
        raise rt.UnreadableArray(f"a kernel cannot take arrays of XLA's type {buffer.dtype}")
    return tuple(buffer.dims[: buffer.rank]), dtype


def _on_gpu(buffer: Any, where: rt.Device) -> rt.DeviceArray:
    shape, dtype = _shape(buffer)
    return rt.over(buffer.data or 0, shape, dtype, where)


def _in_memory(buffer: Any) -> Any:
    shape, dtype = _shape(buffer)
    kind, count = on_host((0,), dtype).dtype, math.prod(shape)
    if not count:
        return np.empty(shape, kind)
    memory = memoryview((ctypes.c_char * (count * kind.itemsize)).from_address(buffer.data))
    return np.frombuffer(memory, np.uint8).view(kind).reshape(shape)
