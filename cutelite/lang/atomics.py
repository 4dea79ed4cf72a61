"""Atomic updates of memory that several threads write, and loads and stores that others may race with.

The place is a tensor and an index (one number, or one for each mode): ``cl.atomic_add(histogram, bin, 1)``; the value
has the tensor's element type. If the index is None, the place is the tensor's first element, or a pointer (``t.at(i)``,
or one from `mapa`) in place of the tensor. Tensors may lie in global memory, in this block's shared memory, or in
another block's shared memory in the cluster.

semantic  'relaxed' orders no other access; 'acquire' orders later accesses after this one, 'release' earlier ones
          before it, 'acq_rel' both
scope     the threads that see this order: 'cta', 'cluster', 'gpu' or 'sys'
Result    the old value; if nothing uses it, ptxas emits the cheaper `red`
Who       each thread for itself
Source    PTX ISA: atom, red, ld, st, memory consistency model
"""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.function import Value
from cutelite.ir.types import Ptr, Vec
from cutelite.ir.types import Scalar as DType
from cutelite.lang.address import address
from cutelite.lang.emit import Handle, Runtime, describe, emit, mistake, wrap
from cutelite.lang.promotion import as_value
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Vector
from cutelite.ops import atomics as ops
from cutelite.ops.sync import Scope

Semantic = Literal["relaxed", "acquire", "release", "acq_rel"]
Place = Tensor | Handle


def atomic_add(t: Place, index: Any, x: Any, *, semantic: Semantic = "relaxed", scope: Scope = "gpu") -> Any:
    """Add `x`, and return the old value. Integers of 32 and 64 bits, f16, bf16 (sm_90), f32, f64.

    Also vectors, each element of which is atomic by itself: 2 f16 or bf16 anywhere; in global memory, on sm_90, 2 or 4
    f32 and 2, 4 or 8 f16 or bf16. The place is then a tile: ``cl.atomic_add(t.tile(4, i), None, v)``.
    In global memory, sums of f32 take subnormal operands and results as zeros.
    """
    return _atom("add", t, index, x, semantic, scope)


def atomic_sub(t: Place, index: Any, x: Any, *, semantic: Semantic = "relaxed", scope: Scope = "gpu") -> Any:
    """Subtract `x`, by adding ``-x``, and return the old value. Types as for `atomic_add`."""
    place, value = _operands(t, index, x)
    return emit(ops.Atom(place, "add", (-wrap(value)).value, semantic, scope))


def atomic_min(t: Place, index: Any, x: Any, *, semantic: Semantic = "relaxed", scope: Scope = "gpu") -> Any:
    """Store the smaller of `x` and the old value, and return the old value. Integers of 32 and 64 bits, f32, f64.

    Floats are compared as integers: -0 is below +0, and a positive NaN above all numbers.
    """
    return _atom("min", t, index, x, semantic, scope)


def atomic_max(t: Place, index: Any, x: Any, *, semantic: Semantic = "relaxed", scope: Scope = "gpu") -> Any:
    """Store the larger of `x` and the old value, and return the old value. As `atomic_min`."""
    return _atom("max", t, index, x, semantic, scope)


def atomic_and(t: Place, index: Any, x: Any, *, semantic: Semantic = "relaxed", scope: Scope = "gpu") -> Any:
    """Combine with `x` by ``&``, and return the old value. Integers of 32 and 64 bits."""
    return _atom("and", t, index, x, semantic, scope)


def atomic_or(t: Place, index: Any, x: Any, *, semantic: Semantic = "relaxed", scope: Scope = "gpu") -> Any:
    """Combine with `x` by ``|``, and return the old value. Integers of 32 and 64 bits."""
    return _atom("or", t, index, x, semantic, scope)


def atomic_xor(t: Place, index: Any, x: Any, *, semantic: Semantic = "relaxed", scope: Scope = "gpu") -> Any:
    """Combine with `x` by ``^``, and return the old value. Integers of 32 and 64 bits."""
    return _atom("xor", t, index, x, semantic, scope)


def atomic_exch(t: Place, index: Any, x: Any, *, semantic: Semantic = "relaxed", scope: Scope = "gpu") -> Any:
    """Store `x`, and return the old value. Numbers of 32 and 64 bits; vectors of 2 i64 or u64 at once (sm_90).

    For 128 bits the place is a tile: ``cl.atomic_exch(t.tile(2, i), None, v)``.
    """
    return _atom("exch", t, index, x, semantic, scope)


def atomic_inc(t: Place, index: Any, limit: Any, *, semantic: Semantic = "relaxed", scope: Scope = "gpu") -> Any:
    """Add 1, or store 0 if the old value is `limit` or above, and return the old value. u32."""
    return _atom("inc", t, index, limit, semantic, scope)


def atomic_dec(t: Place, index: Any, limit: Any, *, semantic: Semantic = "relaxed", scope: Scope = "gpu") -> Any:
    """Subtract 1, or store `limit` if the old value is 0 or above `limit`, and return the old value. u32."""
    return _atom("dec", t, index, limit, semantic, scope)


def atomic_cas(
    t: Place, index: Any, compare: Any, x: Any, *, semantic: Semantic = "relaxed", scope: Scope = "gpu"
) -> Any:
    """Store `x` if the old value has the bits of `compare`, and return the old value.

    Numbers of 16, 32 and 64 bits; vectors of 2 i64 or u64 at once (sm_90), in a tile: ``t.tile(2, i)``.
    """
    place, value = _operands(t, index, x)
    wide = isinstance(compare, Runtime) and compare.value.type == value.type
    return emit(ops.AtomCas(place, compare.value if wide else as_value(compare, value.type), value, semantic, scope))


def red(
    t: Place,
    index: Any,
    operation: Literal["add", "min", "max", "and", "or", "xor", "inc", "dec"],
    x: Any,
    *,
    semantic: Literal["relaxed", "release"] = "relaxed",
    scope: Scope = "gpu",
) -> None:
    """Update by `operation` and `x` like the `atomic_` function of that name, but without a result. PTX: red."""
    place, value = _operands(t, index, x)
    emit(ops.Red(place, operation, value, semantic, scope))


def load_acquire(t: Place, index: Any = None, *, dtype: Any = None, n: int = 1, scope: Scope = "gpu") -> Any:
    """Return the number at the place; all that its writer did before releasing it is then visible. PTX: ld.acquire.

    dtype   the type of the number, needed for a pointer
    n       2: a vector of 2 i64 or u64, 128 bits read at once, at a multiple of 16 bytes; `store_release` writes one
    """
    return _load(t, index, dtype, n, "acquire", scope)


def load_relaxed(t: Place, index: Any = None, *, dtype: Any = None, n: int = 1, scope: Scope = "gpu") -> Any:
    """Return the number at the place, in one access and without ordering; else as `load_acquire`. PTX: ld.relaxed."""
    return _load(t, index, dtype, n, "relaxed", scope)


def load_volatile(t: Place, index: Any = None, *, dtype: Any = None, n: int = 1) -> Any:
    """Return the number at the place, read anew each time; else as `load_acquire`. PTX: ld.volatile."""
    return _load(t, index, dtype, n, "volatile", "sys")


def store_release(t: Place, index: Any, x: Any, *, scope: Scope = "gpu") -> None:
    """Write `x`; a thread that acquires it sees all that this thread did before. PTX: st.release."""
    _store(t, index, x, "release", scope)


def store_relaxed(t: Place, index: Any, x: Any, *, scope: Scope = "gpu") -> None:
    """Write `x` in one access, without ordering anything. PTX: st.relaxed."""
    _store(t, index, x, "relaxed", scope)


def store_volatile(t: Place, index: Any, x: Any) -> None:
    """Write `x`; the compiler leaves out no such store. PTX: st.volatile."""
    _store(t, index, x, "volatile", "sys")


def prefetch(t: Place, index: Any = None, *, level: Literal["L1", "L2", "L2::evict_last"] = "L2") -> None:
    """Bring the cache line of a place in global memory into the cache `level`, without waiting. PTX: prefetch."""
    emit(ops.Prefetch(_place(t, index), level))


def _atom(operation: str, t: Place, index: Any, x: Any, semantic: str, scope: str) -> Any:
    place, value = _operands(t, index, x)
    return emit(ops.Atom(place, operation, value, semantic, scope))


def _load(t: Place, index: Any, dtype: DType | None, n: int, semantic: str, scope: str) -> Any:
    if isinstance(t, Tensor):
        if dtype not in (None, t.dtype):
            raise mistake("atomic", f"the tensor holds {t.dtype}", help="other bits of it: `t.recast(dtype)`")
        dtype = t.dtype
    elif dtype is None:
        raise mistake("atomic", "a pointer has no element type", help="give `dtype=`, or pass a tensor")
    if n == 1:
        return emit(ops.LoadStrong(_place(t, index), dtype, semantic, scope))
    place = address(Handle(_place(t, index)), dtype.bytes * n)
    return emit(ops.LoadStrong(place, Vec(dtype, n), semantic, scope))


def _store(t: Place, index: Any, x: Any, semantic: str, scope: str) -> None:
    place, value = _operands(t, index, x)
    emit(ops.StoreStrong(place, value, semantic, scope))


def _operands(t: Place, index: Any, x: Any) -> tuple[Value, Value]:
    """Return the address, and `x` in the type of the number there."""
    if isinstance(t, Tensor):
        if t.space == "rmem":
            raise mistake("atomic", "registers belong to one thread: there is nothing atomic about them")
        if isinstance(x, Vector):
            return address(Handle(_place(t, index)), t.dtype.bytes * x.n), as_value(x, Vec(t.dtype, x.n))
        return _place(t, index), as_value(x, t.dtype)
    if isinstance(t, Handle) and not isinstance(x, Runtime):
        raise mistake("atomic", "a pointer has no element type", help="give the number a type: cl.i32(1)")
    return _place(t, index), as_value(x)


def _place(t: Place, index: Any) -> Value:
    if isinstance(t, Tensor):
        handle = t.ptr if index is None else t.at(*index) if isinstance(index, tuple) else t.at(index)
        return handle.value
    if isinstance(t, Handle) and isinstance(t.type, Ptr):
        if index is not None:
            raise mistake("atomic", "a pointer takes no index", help="pass the tensor, or None for the index")
        return t.value
    raise mistake("atomic", f"a tensor or a pointer is needed here, not {describe(t)}")
