"""The launcher's environment, one per driver: functions to call, objects to compare with, types of arrays.

In    a driver
Out   `Environment`: the memory of `environment` in launcher.c, with the same fields in the same order
"""

from __future__ import annotations

import ctypes
import functools

from cutelite_rt import forks
from cutelite_rt.arrays import exchange, torch_layout
from cutelite_rt.gpu.driver import Driver
from cutelite_rt.launcher import native, watching
from cutelite_rt.launcher.asked import DIVERTED
from cutelite_rt.launcher.readers import Readers
from cutelite_rt.signature.table import WORD

_FIELDS = (
    # The fields that every launch reads come first, in two lines of the CPU's caches.
    "diverted changes recent torch int_ one_digit digit_flags float_ cuCtxGetId PyEval_SaveThread cuLaunchKernelEx "
    "PyEval_RestoreThread none counts_none tuple PyLong_AsLongLong PyLong_AsUnsignedLongLong PyLong_AsDouble "
    "PyLong_AsVoidPtr PyLong_FromLongLong PyErr_Occurred PyErr_Clear PyErr_ExceptionMatches Py_IncRef Py_DecRef "
    "PyTuple_GetItem PyTuple_Size PyBytes_FromStringAndSize PyObject_Vectorcall PyObject_VectorcallMethod "
    "PyObject_GetAttr PySequence_GetItem PyObject_IsInstance PyDict_GetItemWithError cuCtxPushCurrent "
    "cuCtxPopCurrent cuTensorMapEncodeTiled cuTensorMapEncodeIm2col true_ false_ bool_ list exception is_neg dltensor "
    "types learn places PyCriticalSection_Begin PyCriticalSection_End PyDict_Watch watcher"
)
ENVIRONMENT = {name: i * WORD for i, name in enumerate(_FIELDS.split())}
"""Offsets in `environment`, in bytes. Py...: functions of CPython, all exported and documented; cu...: the driver's."""

DRIVER = {
    "cuLaunchKernelEx": (11, 6),
    "cuCtxPushCurrent": (4, 0),
    "cuCtxPopCurrent": (4, 0),
    "cuCtxGetId": (12, 0),
    "cuTensorMapEncodeTiled": (12, 0),
    "cuTensorMapEncodeIm2col": (12, 0),
}
"""Driver functions that launchers call, each with the CUDA version that brought this form of it."""

_OBJECTS: dict[str, object] = {
    "none": None,
    "true_": True,
    "false_": False,
    "int_": int,
    "float_": float,
    "bool_": bool,
    "list": list,
    "tuple": tuple,
    "exception": Exception,
    "is_neg": "is_neg",
    "dltensor": "dltensor",
}


class Environment:
    """The environment of one driver. Errors: `CudaError` for a driver that lacks a function."""

    def __init__(self, driver: Driver) -> None:
        self.readers = Readers()
        self._types = exchange.TypeTable(native.publish)
        self._lock = forks.lock()
        self._learn = self.learn
        self._torch: ctypes.Array[ctypes.c_char] | None = None
        python = (name for name in ENVIRONMENT if name.startswith("Py"))
        words = {name: native.address_of(name) for name in python}
        words |= {name: driver.address_of(name, since) for name, since in DRIVER.items()}
        words |= {name: id(value) for name, value in _OBJECTS.items()}
        words |= {"types": self._types.address, "recent": self._types.address}
        words |= {"learn": id(self._learn), "diverted": ctypes.addressof(DIVERTED), "torch": 0}
        watcher = watching.watcher()
        words |= {"changes": ctypes.addressof(watching.CHANGES), "watcher": watcher or 0}
        words |= {} if watcher is not None else {"PyDict_Watch": 0}
        words |= {"places": self.readers.address}
        words |= {"one_digit": native.one_digit(), "digit_flags": native.digit_flags()}
        words |= {"counts_none": int(native.COUNTS_NONE)}
        self._words = (ctypes.c_uint64 * len(ENVIRONMENT))(*(words[name] for name in ENVIRONMENT))
        self.address = ctypes.addressof(self._words)

    def learn(self, array: object) -> None:
        """Find out how to read arrays of this type; launchers call it for an unknown type."""
        kind = type(array)
        way = exchange.way_of(kind)
        with self._lock:
            if way.how == exchange.EXCHANGE_UNLESS_NEGATED and torch_layout.is_plain(kind) and self._knows_torch(array):
                way = way._replace(how=exchange.DIRECT)
            self._types.add(kind, way)
            self._put("types", self._types.address)

    def _put(self, name: str, word: int) -> None:
        native.publish(self.address + ENVIRONMENT[name], word)

    def _knows_torch(self, tensor: object) -> bool:
        """Tell whether launchers can read this tensor from memory; if so, plain tensors are read so from now on."""
        layout = torch_layout.find()
        if layout is None or not torch_layout.agrees(layout, tensor):
            return False
        if self._torch is None:
            self._torch = torch_layout.table(layout)
            self._put("torch", ctypes.addressof(self._torch))
        return True


@functools.lru_cache(8)
def environment(driver: Driver) -> Environment:
    """Return the environment of a driver, made once. Errors: as `Environment`."""
    return Environment(driver)
