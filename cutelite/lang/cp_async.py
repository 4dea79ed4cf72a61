"""Asynchronous copies by address: cp.async of 4 to 16 bytes a thread, and bulk copies of whole ranges.

Tensor copies through a TMA descriptor are in `lang.tma`. Addresses are those of tensor elements: ``t.at(i, j)``,
or the tensor itself for its first element.
"""

from __future__ import annotations

from typing import Any, Literal

from cutelite import ops
from cutelite.ir.function import Value
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Tensor as TensorType
from cutelite.ir.types import i32, u16, u64
from cutelite.lang.address import address, place_of, same_bytes
from cutelite.lang.emit import Handle, describe, emit, mistake
from cutelite.lang.mbarrier import Barrier, amount, barrier_value, cluster_size
from cutelite.lang.promotion import as_integer, as_value
from cutelite.lang.values import Scalar

BULK_ALIGN = ops.cp_async.BULK_ALIGN
EVICT_NORMAL = 0x1000000000000000
EVICT_FIRST = 0x12F0000000000000
EVICT_LAST = 0x14F0000000000000
"""L2 policies that need no `createpolicy`: the 64-bit words that NVIDIA's libraries pass for them."""

POLICIES = {"evict_normal": EVICT_NORMAL, "evict_first": EVICT_FIRST, "evict_last": EVICT_LAST}
Cache = Literal["evict_normal", "evict_first", "evict_last"] | Scalar | int | None
"""An L2 policy: a name, a word from `createpolicy`, or None for none."""


def createpolicy(
    primary: Literal["evict_last", "evict_normal", "evict_first", "evict_unchanged"],
    fraction: float = 1.0,
    secondary: Literal["evict_first", "evict_unchanged"] = "evict_unchanged",
) -> Scalar:
    """Return an L2 policy, to pass as `cache`: a `fraction` of the accesses get `primary`, the rest `secondary`.

    Source   PTX ISA: createpolicy.fractional
    """
    return emit(ops.cp_async.CreatePolicy(primary, fraction, secondary))  # type: ignore[no-any-return]


def createpolicy_range(
    p: Any,
    primary_size: int | Scalar,
    total_size: int | Scalar,
    primary: Literal["evict_last", "evict_normal", "evict_first", "evict_unchanged"],
    secondary: Literal["evict_first", "evict_unchanged"] = "evict_unchanged",
) -> Scalar:
    """Return an L2 policy by address, to pass as `cache`.

    p             an address in global memory, or a tensor
    primary_size  the first bytes from `p` on, accesses to which get `primary`
    total_size    all bytes from `p` on that the policy covers, at least `primary_size`; the others get `secondary`
    Source        PTX ISA: createpolicy.range
    """
    most = total_size if isinstance(total_size, int) else 0xFFFFFFFF
    sizes = amount(primary_size, "the first part of the policy, in bytes,", 1, most), amount(total_size, "`total_size`")
    return emit(ops.cp_async.CreatePolicyRange(address(p), *sizes, primary, secondary))  # type: ignore[no-any-return]


def createpolicy_cvt(access_property: int | Scalar) -> Scalar:
    """Return the L2 policy for the 64 bits of CUDA's `cuda::access_property`. PTX: createpolicy.cvt."""
    return emit(ops.cp_async.CreatePolicyCvt(as_value(access_property, u64)))  # type: ignore[no-any-return]


def cp_async(
    dst: Any,
    src: Any,
    bytes: Literal[4, 8, 16] = 16,
    *,
    src_bytes: int | Scalar | None = None,
    cache: Literal["ca", "cg"] | None = None,
    prefetch: Literal[0, 64, 128, 256] = 0,
    policy: Cache = None,
) -> None:
    """Start copying `bytes` bytes from global to shared memory, in this thread's open cp.async group.

    dst, src   addresses in shared and global memory, of tensors or elements, multiples of `bytes`. A swizzle of shared
               memory must keep `bytes` bytes together
    src_bytes  copy only this number of bytes and fill the rest with zeros: with 0, for an edge, nothing is read
    cache      'ca': through L1 and L2, 'cg': L2 only (16 bytes only); default 'cg' where possible
    prefetch   bytes around `src` to bring into L2
    policy     an L2 policy, as `cache` of `tma_load`
    Who        each thread for itself; complete after `cp_async_wait_group`, for other threads after a barrier too
    Source     PTX ISA: cp.async
    """
    kind = cache or ("cg" if bytes == 16 else "ca")
    size = None if src_bytes is None else amount(src_bytes, "`src_bytes`", 0, bytes)
    width = bytes if bytes in (4, 8, 16) else 1  # the op refuses any other number
    to, of = address(dst, width), address(src, width)
    emit(ops.cp_async.CpAsync(to, of, bytes, kind, prefetch, size, policy_value(policy)))


def cp_async_commit_group() -> None:
    """Make this thread's cp.async copies since the last call one group. PTX: cp.async.commit_group."""
    emit(ops.cp_async.CpAsyncCommitGroup())


def cp_async_wait_group(n: int) -> None:
    """Wait until at most the `n` latest of this thread's groups are under way. PTX: cp.async.wait_group."""
    emit(ops.cp_async.CpAsyncWaitGroup(n))


def cp_async_wait_all() -> None:
    """Wait for all of this thread's cp.async copies. PTX: cp.async.wait_all."""
    emit(ops.cp_async.CpAsyncWaitAll())


def cp_async_bulk(
    dst: Any,
    src: Any,
    bytes: int | Scalar,
    *,
    barrier: Barrier | None = None,
    multicast: int | Scalar | None = None,
    cache: Cache = None,
    mask: int | Scalar | None = None,
) -> None:
    """Start copying a range of `bytes` bytes between global and shared memory, or to another block's.

    dst, src   addresses, multiples of 16; the direction follows from their spaces. Swizzled shared memory is accepted
               if the swizzle keeps the bytes consecutive, or if both sides have the same swizzle and whole spans of it
               are copied
    bytes      a multiple of 16
    barrier    counts the bytes of a copy into shared memory; a copy to another block takes that block's barrier.
               A copy to global memory takes none: it ends in a bulk group (`cp_async_bulk_commit_group`)
    multicast  from global memory: a mask of the blocks of the cluster that get the data, at the same offsets
    cache      an L2 policy, as of `tma_load`
    mask       to global memory, on sm_100 and above: byte i of each 16 is copied if bit i is set
    Who        one thread
    Source     PTX ISA: cp.async.bulk
    """
    bar = None if barrier is None else barrier_value(barrier)
    operands = mask_value(multicast), policy_value(cache)
    known = bytes if isinstance(bytes, int) else None
    if same_bytes(dst, src, known):
        to, of = place_of(dst), place_of(src)
    else:
        to, of = address(dst, BULK_ALIGN, known), address(src, BULK_ALIGN, known)
    if mask is None:
        emit(ops.cp_async.CpAsyncBulk(to, of, _whole(bytes), bar, *operands))
    elif bar is not None or multicast is not None:
        raise mistake("mask", "a bulk copy with a byte mask goes to global memory", help="leave out barrier, multicast")
    else:
        if isinstance(mask, int) and not 0 <= mask < 1 << 16:
            raise mistake("mask", f"a byte mask has a bit for each of 16 bytes, not {mask:#x}")
        emit(ops.cp_async.CpAsyncBulkMasked(to, of, _whole(bytes), as_integer(mask, u16), operands[1]))


def cp_reduce_async_bulk(
    dst: Any,
    src: Any,
    bytes: int | Scalar,
    kind: Literal["add", "min", "max", "inc", "dec", "and", "or", "xor"],
    *,
    dtype: Any = None,
    cache: Cache = None,
) -> None:
    """Start combining a range of shared memory into global memory, element by element, in the open bulk group.

    dst, src  addresses in global and shared memory, multiples of 16
    bytes     a multiple of 16
    kind      the operation: ``dst = kind(dst, src)``
    dtype     the type of the elements; default: that of the tensors
    cache     an L2 policy, as of `tma_load`
    Who       one thread; each element is combined atomically
    Source    PTX ISA: cp.reduce.async.bulk
    """
    held = (place_of(src).type, place_of(dst).type)
    elems = [dtype] if dtype else [t.elem for t in held if isinstance(t, TensorType)]
    if not elems:
        raise mistake("dtype", "the type of the elements at an address is not known", help="pass dtype=")
    elem = elems[0]
    if elem != elems[-1]:
        raise mistake("dtype", f"`src` has elements of {elem}, and `dst` of {elems[-1]}", help="pass dtype=")
    known = bytes if isinstance(bytes, int) else None
    to, of = address(dst, BULK_ALIGN, known), address(src, BULK_ALIGN, known)
    emit(ops.cp_async.CpReduceAsyncBulk(kind, elem, to, of, _whole(bytes), policy_value(cache)))


def cp_async_bulk_prefetch(src: Any, bytes: int | Scalar, *, cache: Cache = None) -> None:
    """Bring `bytes` bytes at `src`, in global memory, into L2; multiples of 16. PTX: cp.async.bulk.prefetch.L2.

    cache   an L2 policy, as of `tma_load`
    """
    emit(ops.cp_async.CpAsyncBulkPrefetch(address(src, BULK_ALIGN), _whole(bytes), policy_value(cache)))


def _whole(bytes: Any) -> Value:
    """Return the size of a bulk copy as an operand. Errors: `bulk` for a known size that none can have."""
    if isinstance(bytes, int) and (bytes <= 0 or bytes % BULK_ALIGN):
        raise mistake("bulk", f"a bulk copy takes a positive multiple of {BULK_ALIGN} bytes, not {bytes}")
    return amount(bytes, "`bytes`")


def cp_async_bulk_commit_group() -> None:
    """Make this thread's bulk copies out of shared memory since the last call one group, TMA stores included.

    Source   PTX ISA: cp.async.bulk.commit_group
    """
    emit(ops.cp_async.CpAsyncBulkCommitGroup())


def cp_async_bulk_wait_group(n: int, *, read: bool = False) -> None:
    """Wait until at most the `n` latest of this thread's bulk groups are under way.

    read     wait only until they have read shared memory, so that it may be overwritten
    Who      the thread that started them
    Source   PTX ISA: cp.async.bulk.wait_group
    """
    emit(ops.cp_async.CpAsyncBulkWaitGroup(n, read))


# Arguments as operands, here and in `lang.tma`.


def policy_value(cache: Any) -> Value | None:
    """Return an L2 policy as an operand."""
    if isinstance(cache, str):
        if cache not in POLICIES:
            raise mistake("cache-policy", f"{cache!r} is none of {', '.join(POLICIES)}", help="or use `createpolicy`")
        cache = POLICIES[cache]
    return None if cache is None else as_value(cache, u64)


def mask_value(mask: Any) -> Value | None:
    """Return a multicast mask as an operand."""
    if isinstance(mask, int) and not 0 < mask < 1 << 16:
        raise mistake("multicast", f"a multicast mask has a bit for each of at most 16 blocks, not {mask:#x}")
    if isinstance(mask, int) and mask >> cluster_size():
        help = "`@cl.kernel(cluster=...)` says how many blocks it has"
        raise mistake("multicast", f"the mask {mask:#x} names a block that the cluster lacks", help=help)
    return None if mask is None else as_integer(mask, u16)


def coordinate(x: Any, type: DType = i32) -> Value:
    """Return a TMA coordinate, of any integer type, as an operand."""
    if isinstance(x, Handle):
        raise mistake("coordinate", f"a coordinate is an integer, not {describe(x)}")
    return as_integer(x, type)
