"""DLPack in both directions, over ctypes: read a producer's capsule, and make one for our own memory.

Source: dlpack.h, version 1.1, and the Python array API standard's page on `__dlpack__`.
"""

from __future__ import annotations

import atexit
import ctypes
from typing import Any, NamedTuple

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLDeviceType
_READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY
_VERSION = 1, 0
_MOST_MODES = 64  # NumPy's limit
_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"  # names of capsules that no consumer has taken over


class Tensor(ctypes.Structure):
    """The structure `DLTensor`."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


def api(name: str, result: Any, *arguments: Any) -> Any:
    """Return a CPython function with its own prototype: all libraries share the prototypes on `ctypes.pythonapi`."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


is_capsule = api("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
content = api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR)
# These take the address of a capsule that is being destroyed, of which ctypes must not make a Python object.
_dying_is_valid = api("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_dying_pointer = api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_keep_forever = api("Py_IncRef", None, ctypes.py_object)


class Facts(NamedTuple):
    """The content of a capsule: strides in elements, None for compact row-major."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: tuple[int, int]  # (type code, bits)
    device: tuple[int, int]  # (type, id)
    lanes: int = 1
    readonly: bool = False


def parse(capsule: object) -> Facts:
    """Read a capsule without taking it over: its memory lives as long as the capsule does.

    Errors: ValueError where it is no capsule of DLPack 0 or 1, or another consumer has taken it.
    """
    if is_capsule(capsule, _VERSIONED):
        managed = _ManagedVersioned.from_address(content(capsule, _VERSIONED))
        if managed.major != _VERSION[0]:
            raise ValueError(f"the capsule is of DLPack {managed.major}.{managed.minor}; this runtime reads 0 and 1")
        return _parse(managed.tensor, bool(managed.flags & _READ_ONLY))
    if is_capsule(capsule, _PLAIN):
        return _parse(_Managed.from_address(content(capsule, _PLAIN)).tensor, False)
    raise ValueError(f"{capsule!r} is not a DLPack capsule that may still be read")


def _parse(tensor: Tensor, readonly: bool) -> Facts:
    rank = tensor.ndim
    if not 0 <= rank <= _MOST_MODES or (rank and not tensor.shape):
        raise ValueError(f"the capsule has {rank} extents{'' if tensor.shape else ' without an array of them'}")
    pointer, dtype = (tensor.data or 0) + tensor.byte_offset, (tensor.type_code, tensor.type_bits)
    strides, device = tensor.strides and tuple(tensor.strides[:rank]), (tensor.device_type, tensor.device_id)
    return Facts(pointer, tuple(tensor.shape[:rank]), strides or None, dtype, device, tensor.type_lanes, readonly)


def fill(tensor: Tensor, of: Facts) -> object:
    """Write an array to `tensor`; return its extents and strides, to be kept alive as long as `tensor`."""
    numbers = ctypes.c_int64 * len(of.shape)
    extents, steps = numbers(*of.shape), numbers(*of.strides or ())
    tensor.data, tensor.byte_offset = of.pointer, 0
    tensor.device_type, tensor.device_id = of.device
    tensor.ndim = len(of.shape)
    tensor.type_code, tensor.type_bits = of.dtype
    tensor.type_lanes = of.lanes
    tensor.shape = ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    return extents, steps


_exports: dict[int, tuple[_Managed | _ManagedVersioned, object]] = {}
"""Address -> exported C structure and the objects that it needs, until its consumer calls the deleter."""


def _release(address: int) -> None:
    _exports.pop(address, None)


def _destroy(capsule: int) -> None:
    for name in (_PLAIN, _VERSIONED):  # a consumer that takes a capsule over renames it
        if _dying_is_valid(capsule, name):
            _release(_dying_pointer(capsule, name))


_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_release)
_destructor = _DESTRUCTOR(_destroy)
_deleter_address = ctypes.cast(_deleter, ctypes.c_void_p)


def _outlive_python() -> None:
    """At exit, remove the deleters of tensors that consumers still hold, and may free after Python has ended."""
    for managed, _ in _exports.values():
        managed.deleter = None
    for needed in (_exports, _destructor, _PLAIN, _VERSIONED):
        _keep_forever(needed)


atexit.register(_outlive_python)


def export(of: Facts, owner: object, versioned: bool) -> object:
    """Return a capsule for an array; it keeps `owner` alive until its consumer releases it."""
    managed: _Managed | _ManagedVersioned
    if versioned:
        managed, name = _ManagedVersioned(*_VERSION), _VERSIONED
    else:
        managed, name = _Managed(), _PLAIN
    numbers = fill(managed.tensor, of)
    managed.deleter = _deleter_address.value
    address = ctypes.addressof(managed)
    _exports[address] = managed, (numbers, owner)
    return _new(address, name, _destructor)
