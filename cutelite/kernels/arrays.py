"""Arrays of any library, as functions of `cutelite.kernels` need them: new ones, and where they are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import config
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.programs import keep
from cutelite.target import Target
from cutelite_rt.arrays import stream as streams
from cutelite_rt.arrays.memory import on_host, reader_library
from cutelite_rt.dtype import BY_NUMPY, DTYPES


def code_of(array: Any) -> str:
    """The code of its dtype, 'bf16' or 'f32'; '' for one that kernels do not take. Nothing is asked of its memory."""
    name = str(array.dtype).rpartition(".")[2]
    return BY_NUMPY.get(name, name if isinstance(array, rt.DeviceArray) else "")


def dtype_of(code: str) -> Any:
    """The dtype of a code: `cl.bf16` of 'bf16', `cl.boolean` of 'bool'."""
    return getattr(cl, "boolean" if code == "bool" else code)


def strides_of(array: Any) -> tuple[int, ...]:
    """Its strides, in elements. Nothing is asked of the memory of torch's arrays, of which fake ones have none."""
    if reader_library(type(array)) == "torch":
        return tuple(array.stride())
    return rt.read(array).strides


def own_device(like: Any) -> rt.Device | None:
    """Return the GPU of an array that is on one and neither torch's nor CuPy's: there we make arrays. Else None."""
    if reader_library(type(like)) in ("torch", "cupy", "numpy"):
        return None
    kind, ordinal = rt.read(like).device
    return rt.device(ordinal) if kind == "cuda" else None


def empty(like: Any, shape: tuple[int, ...], dtype: str | None = None) -> Any:
    """A new array where `like` is and of its library: torch, CuPy or NumPy; on a GPU else a `DeviceArray`. Not filled.

    dtype  a code such as 'bf16' or 'f32'; default: that of `like`
    """
    row = None if dtype is None else DTYPES[dtype]
    library = reader_library(type(like))
    if library == "torch":
        return like.new_empty(shape, dtype=None if row is None else getattr(sys.modules["torch"], row.numpy or ""))
    if library == "cupy":
        return sys.modules["cupy"].empty(shape, like.dtype if row is None else row.numpy)
    if (where := own_device(like)) is not None:
        return rt.empty(shape, dtype or rt.read(like).dtype, where)
    if dtype is not None:
        return on_host(shape, dtype)
    import numpy

    return numpy.empty(shape, like.dtype)


def zeros(like: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """As `empty`, filled with zeros, also at planned calls."""
    if reader_library(type(like)) == "torch":
        return like.new_zeros(shape, dtype=getattr(sys.modules["torch"], DTYPES[dtype].numpy or ""))
    made = empty(like, shape, dtype)
    made[...] = 0
    return made


def row_apart(array: Any, columns: int) -> Any:
    """The array (1, C), contiguous along C, with other `columns` from a row to the next."""
    if (where := own_device(array)) is not None:
        view = rt.read(array)
        return rt.DeviceArray(view.shape, view.dtype, where, view.pointer, array, (columns, 1))
    library, shape = reader_library(type(array)), tuple(array.shape)
    if library == "torch":
        return array.as_strided(shape, (columns, 1))
    module, numbers = sys.modules["cupy" if library == "cupy" else "numpy"], array.view(f"u{array.itemsize}")
    made = module.lib.stride_tricks.as_strided(numbers, shape, (columns * array.itemsize, array.itemsize))
    return made.view(array.dtype)  # `as_strided` does not know dtypes of ml_dtypes


def clusters_at_once(blocks: int, like: Any, resident: int = 1) -> int:
    """Return the number of clusters of `blocks` blocks that run at once on the GPU that holds `like`.

    resident  blocks that a multiprocessor holds
    In the simulator, where time does not count: a few.
    """
    where, ordinal = rt.read(like).device
    if where == "cuda":
        return rt.max_active_clusters(blocks, ordinal, resident)
    return max(1, 4 // blocks) * resident


def has_tensor_memory(like: Any) -> bool:
    """Tell whether the GPU that holds `like` has tensor memory; in the simulator, whether CUTELITE_ARCH has.

    False where launches are left out: arrays may be nowhere then.
    """
    if left_out():
        return False
    where, ordinal = rt.read(like).device
    if where == "cuda":
        return rt.device(ordinal).compute_capability[0] in (10, 11)
    arch = config.read().arch
    return arch is not None and Target.parse(arch).has("tcgen05")


def counter(like: Any) -> Any:
    """A number, (1,) i32, that is 0, on the GPU that holds `like`: for launches that leave it at 0."""
    return zeros_kept(like, 1)


def flags(like: Any, count: int) -> Any:
    """At least `count` numbers, i32, that are 0, on the GPU that holds `like`: for launches that leave them at 0."""
    return zeros_kept(like, 1 << (count - 1).bit_length())


def zeros_kept(like: Any, count: int) -> Any:
    """Return `zeros_of`, which a program of kernels may take too, where launches share them."""
    made = zeros_of(like, count)
    return made if isinstance(made, rt.DeviceArray) else keep(made)


def zeros_of(like: Any, count: int) -> Any:
    """Numbers, (count,) i32, that are 0, on the GPU that holds `like`, for launches that leave them at 0.

    Launches in one stream share them, since they run one after the other; so do those in one stream of one capture into
    a graph, which may run beside others. In the simulator they are new each time, and for arrays on a GPU that are
    neither torch's nor CuPy's, where nothing tells which launches share a stream.
    """
    library, where = reader_library(type(like)), rt.read(like).device
    if where[0] != "cuda":
        import numpy

        return numpy.zeros(count, numpy.int32)
    if (own := own_device(like)) is not None:
        return rt.zeros((count,), "i32", own)
    assert library is not None
    module = sys.modules[library]
    if library == "torch":
        capturing, place = module.cuda.is_current_stream_capturing(), {"device": like.device}
    else:
        capturing, place = module.cuda.get_current_stream().is_capturing(), {}
    stream = streams.of([like])
    used, fresh, kept = _counters.setdefault((library, where, count), ({}, [], []))
    capture = streams.capture_of(rt.device(where[1]), stream) if capturing else 0
    if capture and used.get(("captured", stream), (0,))[0] == capture:
        return used["captured", stream][1]
    if not fresh and not capturing:
        apart = -(-count // 4) * 4
        made = max(16, COUNTERS * 4 // apart)
        make = partial(module.zeros, made * apart, dtype=module.int32, **place)
        numbers = lasting(make, like.device) if library == "torch" else make()
        kept.append(numbers)  # graphs know addresses alone: without this the last counter taken would free them all
        fresh.extend(numbers[apart * i : apart * i + count] for i in range(made))
    if capturing:  # where there is none, the graph itself clears some
        used["captured", stream] = capture, fresh.pop() if fresh else module.zeros(count, dtype=module.int32, **place)
        return used["captured", stream][1]
    if stream not in used:
        used[stream] = fresh.pop()
    return used[stream]


def lasting(make: Callable[[], Any], device: Any) -> Any:
    """Return a tensor that `make` makes, in no graph's memory: what torch's compiler runs before it captures it takes
    all memory of this thread from its graph's, in which nothing may be left."""
    from concurrent.futures import ThreadPoolExecutor  # imported here: it takes 10 ms

    cuda = sys.modules["torch"].cuda
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(make).result()
    cuda.current_stream(device).wait_stream(cuda.default_stream(device))
    return made


COUNTERS = 1024
"""How many are made at once, 16 bytes apart."""
_counters: dict[Any, tuple[dict[Any, Any], list[Any], list[Any]]] = {}
