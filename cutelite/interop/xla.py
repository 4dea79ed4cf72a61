"""XLA's interface for foreign functions: a handler by which XLA calls Python, and arrays over XLA's buffers.

In    a function that launches
Out   its calls with the number that a computation has as its attribute `call`, arrays, and XLA's stream

The interface is C's (xla/ffi/api/c_api.h, of which jaxlib has a copy), declared here for ctypes: no compiler is needed.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np

import cutelite_rt as rt
from cutelite_rt import forks

TARGET = "cutelite_launch"
_EXECUTE = 3  # XLA_FFI_ExecutionStage_EXECUTE
_METADATA = 1  # XLA_FFI_Extension_Metadata
_INTERNAL = 13  # XLA_FFI_Error_Code_INTERNAL

# XLA_FFI_DataType -> dtype of ours
_DTYPES = {1: "bool", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "u8", 7: "u16", 8: "u32", 9: "u64",
           10: "f16", 11: "f32", 12: "f64", 16: "bf16", 19: "e5m2", 20: "e4m3"}  # fmt: skip

Launch = Callable[[int, list[Any], list[Any], int | None], None]
"""A function of a call's number, its inputs and outputs, and the stream; None on the CPU."""


class _Sized(ctypes.Structure):
    """The fields that most structures of XLA begin with."""

    _fields_: ClassVar[tuple[Any, ...]] = (("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p))


class _Extension(ctypes.Structure):
    _fields_ = (("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p))


class _Version(_Sized):
    _fields_ = (
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    )


class _Metadata(ctypes.Structure):
    _fields_ = (("struct_size", ctypes.c_size_t), ("version", _Version), ("traits", ctypes.c_uint32))


class _MetadataExtension(ctypes.Structure):
    _fields_ = (("base", _Extension), ("metadata", ctypes.POINTER(_Metadata)))


class _Buffer(_Sized):
    _fields_ = (
        ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    )


class _Buffers(_Sized):
    """The structures XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = (
        ("size", ctypes.c_int64),
        ("types", ctypes.POINTER(ctypes.c_int)),
        ("buffers", ctypes.POINTER(ctypes.POINTER(_Buffer))),
    )


class _Scalar(ctypes.Structure):
    _fields_ = (("dtype", ctypes.c_int), ("value", ctypes.POINTER(ctypes.c_int64)))


class _Attributes(_Sized):
    _fields_ = (
        ("size", ctypes.c_int64),
        ("types", ctypes.POINTER(ctypes.c_int)),
        ("names", ctypes.c_void_p),
        ("values", ctypes.POINTER(ctypes.POINTER(_Scalar))),
    )


class _Api(_Sized):
    """The structure XLA_FFI_Api, up to the last function used here."""

    _fields_ = (
        ("version", _Version),
        ("internal", ctypes.c_void_p),
        ("error_create", ctypes.c_void_p),
        ("error_get_details", ctypes.c_void_p),
        ("error_destroy", ctypes.c_void_p),
        ("handler_register", ctypes.c_void_p),
        ("stream_get", ctypes.c_void_p),
    )


class _Frame(_Sized):
    """The structure XLA_FFI_CallFrame."""

    _fields_ = (
        ("api", ctypes.POINTER(_Api)),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("inputs", _Buffers),
        ("outputs", _Buffers),
        ("attributes", _Attributes),
    )


class _ErrorCreate(_Sized):
    _fields_ = (
        ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    )


class _StreamGet(_Sized):
    _fields_ = (
        ("context", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    )


_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Frame))
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


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
    code = rt.dtype.DTYPES[dtype]
    if dtype in ("bf16", "e4m3", "e5m2"):
        import ml_dtypes

        kind = np.dtype(getattr(ml_dtypes, code.numpy or ""))
    else:
        kind = np.dtype(code.numpy)
    size = int(np.prod(shape)) * code.bytes
    if not size:
        return np.empty(shape, kind)
    memory = memoryview((ctypes.c_char * size).from_address(buffer.data))
    return np.frombuffer(memory, np.uint8).view(kind).reshape(shape)
