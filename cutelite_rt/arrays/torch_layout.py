"""The places in memory where torch keeps a tensor's address, shape and so on, so that launchers can read them there.

That takes 5 ns, where torch's C function takes 60.

In    the torch that is imported
Out   a `Layout`, found by searching tensors made for that for known values, and never assumed; None where a value is
      found twice, or not at all, or elsewhere in another tensor: then tensors are read through torch's own functions

The structure is `c10::TensorImpl`, which is private to torch. So a launcher trusts a layout only after it gave the same
facts as torch for a tensor on the GPU (`agrees`), and for plain tensors alone: of the very class `torch.Tensor` or
`Parameter`, with the dispatch keys that a new dense CUDA tensor has (no views with a sign to flip or to conjugate, no
wrappers, nothing fake, batched, functional or sparse), of at most five dimensions, and with memory of torch's own
allocator (no lazy copies).
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from cutelite_rt.arrays.memory import UnreadableArray, read
from cutelite_rt.dtype import DTYPES

MOST_RANK = 5
"""Dimensions whose extents and strides lie in the tensor itself."""

_IMPL_WORDS, _STORAGE_WORDS, _OBJECT_WORDS = 23, 8, 5  # that are looked at; each structure has as many


class Layout(NamedTuple):
    """Offsets in bytes: in the Python object, in the tensor behind it, in its storage.

    impl      of the tensor's address, in the Python object
    keys      of the dispatch keys, 64 bits
    sizes     of the number of dimensions, followed by `MOST_RANK` extents and as many strides
    offset    of the first element's place, in elements
    storage   of the storage's address
    device    of two bytes, kind and ordinal
    dtype     of 16 bits: its number
    data      in the storage: of the address of its memory
    owner     in the storage: of what is given back when it is freed, the same address for memory of torch's own
    plain     dispatch keys of new tensors on a GPU, without and within inference mode
    """

    impl: int
    keys: int
    sizes: int
    offset: int
    storage: int
    device: int
    dtype: int
    data: int
    owner: int
    plain: tuple[int, int]


class _Unclear(Exception):
    """A value was not found exactly once."""


def find() -> Layout | None:
    """The layout of the torch that is imported; None where it cannot be found for certain."""
    try:
        return _find(sys.modules["torch"])
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError, _Unclear):
        return None


def _find(torch: Any) -> Layout:
    base = torch.empty(1 << 16, dtype=torch.float32, device="cpu")
    samples = [
        base.as_strided((3, 5, 7), (701, 131, 17), 23),
        base.view(torch.float64).as_strided((11, 2), (37, 91), 41),
        base.view(torch.uint8).as_strided((13, 3, 19, 2, 1), (43, 47, 53, 59, 61), 67),
    ]
    impls = [_words(t._cdata, _IMPL_WORDS) for t in samples]
    storage = base.untyped_storage()
    data = _words(storage._cdata, _STORAGE_WORDS)
    held = [i for i, word in enumerate(data) if word == storage.data_ptr()]
    # Addresses that a launcher computes have to be those that torch computes.
    starts = [storage.data_ptr() + t.storage_offset() * t.element_size() == t.data_ptr() for t in samples]
    if len(held) != 2 or not all(starts):
        raise _Unclear
    with torch.inference_mode():
        inferring = torch.empty(0, dtype=torch.float32, device="cuda")
    with torch.inference_mode(False):
        new = torch.empty(0, dtype=torch.float32, device="cuda")  # without elements, for which nothing is allocated
    kinds = [ctypes.string_at(t._cdata, 8 * _IMPL_WORDS) for t in (*samples, new)]
    sizes = _at(impls, [[t.dim(), *t.shape] for t in samples])
    steps = [tuple(impl[sizes + 1 + MOST_RANK :][: t.dim()]) for impl, t in zip(impls, samples, strict=True)]
    if steps != [t.stride() for t in samples]:
        raise _Unclear
    return Layout(
        impl=8 * _at([_words(id(t), _OBJECT_WORDS) for t in samples], [[t._cdata] for t in samples]),
        keys=8 * _at(impls, [[_keys(torch, t)] for t in samples]),
        sizes=8 * sizes,
        offset=8 * _at(impls, [[t.storage_offset()] for t in samples]),
        storage=8 * _at(impls, [[storage._cdata]] * 3),
        device=_at(kinds, [b"\x00\xff\x01"] * 3 + [bytes((1, new.get_device(), 1))], 1),  # kind, ordinal, whether known
        dtype=_at(kinds, [struct.pack("<H", DTYPES[name].torch) for name in ("f32", "f64", "u8", "f32")], 2),
        data=8 * held[0],
        owner=8 * held[1],
        plain=(_keys(torch, new), _keys(torch, inferring)),
    )


def agrees(layout: Layout, tensor: Any) -> bool:
    """Tell whether a launcher would read a plain CUDA tensor's facts as torch gives them; False for other tensors."""
    try:
        view = read(tensor)
    except UnreadableArray:
        return False
    return _seen(layout, tensor) == (view.pointer, view.shape, view.strides, view.dtype, view.device)


def _seen(layout: Layout, tensor: Any) -> tuple[Any, ...] | None:
    """Address, shape, strides, dtype and device as launchers read them; None for a tensor that is not plain."""
    (impl,) = _words(id(tensor) + layout.impl, 1)
    rank, *sizes = _words(impl + layout.sizes, 1 + 2 * MOST_RANK)
    (keys,), (offset,), (storage,) = (_words(impl + at, 1) for at in (layout.keys, layout.offset, layout.storage))
    (data,), (owner,) = (_words(storage + at, 1) for at in (layout.data, layout.owner))
    kind, ordinal = ctypes.string_at(impl + layout.device, 2)
    code = _CODES.get(int.from_bytes(ctypes.string_at(impl + layout.dtype, 2), "little"))
    if keys not in layout.plain or rank > MOST_RANK or kind != _CUDA or code is None or not data == owner != 0:
        return None
    shape, strides = tuple(sizes[:rank]), tuple(sizes[MOST_RANK:][:rank])
    return data + offset * DTYPES[code].bytes, shape, strides, code, ("cuda", ordinal)


def _keys(torch: Any, tensor: Any) -> int:
    return int(torch._C._dispatch_keys(tensor).raw_repr())


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _at(memories: Sequence[Sequence[Any]], values: Sequence[Sequence[Any]], step: int = 1) -> int:
    """The one index, a multiple of `step`, from which on each memory has its values."""
    found = [
        i
        for i in range(0, len(memories[0]), step)
        if all(memory[i : i + len(value)] == value for memory, value in zip(memories, values, strict=True))
    ]
    if len(found) != 1:
        raise _Unclear
    return found[0]


_CODES = {row.torch: code for code, row in DTYPES.items() if row.torch is not None}
_CUDA = 1  # c10::DeviceType

MOST_NUMBERS = 64

TABLE = struct.Struct(f"<{len(Layout._fields) - 1}Q 2Q {MOST_NUMBERS}I")
DTYPES_AT = TABLE.size - 4 * MOST_NUMBERS


def table(layout: Layout) -> ctypes.Array[ctypes.c_char]:
    """A layout as launchers read it: its fields as words; at `DTYPES_AT`, for torch's number of each dtype, DLPack's.

    A dtype of DLPack is 32 bits: code, bits and one lane; 0 for numbers that are no dtype of ours.
    """
    dtypes = [0] * MOST_NUMBERS
    for number, code in _CODES.items():
        kind = DTYPES[code].dlpack
        assert kind is not None, "arrays have it"
        dtypes[number] = kind[0] | kind[1] << 8 | 1 << 16
    return ctypes.create_string_buffer(TABLE.pack(*layout[:-1], *layout.plain, *dtypes), TABLE.size)


def is_plain(kind: type) -> bool:
    """Tell whether tensors of a class are torch's own, with nothing overridden."""
    torch = sys.modules.get("torch")
    return torch is not None and kind in (torch.Tensor, torch.nn.Parameter)
