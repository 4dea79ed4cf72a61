"""Block masks: for each block of queries, the blocks of keys that some query sees, and those that all queries see.

In    a `mask_mod`, or a `BlockMask` of torch's FlexAttention
Out   a `BlockMask`, which `attention` takes: other blocks of keys are skipped, and those seen as a whole are not masked
"""

import functools
import inspect
import sys
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeVar

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.dispatch.device import has_gpu
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import Misfit, as_number, is_torch
from cutelite.kernels.arrays import dtype_of
from cutelite.kernels.attention.scores import MASK_MOD
from cutelite.kernels.functions import captured_types, lifted, settled
from cutelite.kernels.lent import gpu_library, is_jax
from cutelite.lang.given import given_by
from cutelite.lang.places import places
from cutelite.lang.tables import Holder, bound
from cutelite.records import dataclass
from cutelite_rt.arrays.memory import on_host, reader_library

F = TypeVar("F", bound=Callable[..., Any])
MB, MH, QB, KB = cl.dims("MB MH QB KB")
THREADS = 128
COLUMNS = 16  # keys that a thread evaluates a mask for at once
PARTIAL, FULL = 1, 2


@dataclass(frozen=True, eq=False)
class BlockMask:
    """A mask and where it has blocks of keys.

    order     (B, H, blocks of queries, blocks of keys) i32: the blocks that all queries of a block see, then those that
              some see. B or H is 1 where the mask is the same for all. Where nothing is seen, the first number is the
              number of blocks of keys
    counts    (B, H, blocks of queries, 2) i32: the number of the former, and of both
    spans     (B, H, blocks of keys, 2) i32: the first block of queries that sees some of a block of keys, and the one
              behind the last; where none does, their number and 0
    block     queries and keys of a block
    mask_mod  what decides within blocks of the second kind; None: all of their keys are seen
    lengths   of queries and keys
    listed    the blocks were given, and `mask_mod` alone need not say what is seen (`by_function`)
    """

    order: Any
    counts: Any
    spans: Any
    block: tuple[int, int]
    mask_mod: Any
    lengths: tuple[int, int]
    listed: bool = False

    def sparsity(self) -> float:
        """Return the percentage of blocks that are skipped."""
        visited = float(self.counts[..., 1].sum())
        whole = 1
        for extent in self.order.shape:
            whole *= extent
        return 100.0 * (1.0 - visited / whole)


@untraced
def create_block_mask(
    mask_mod: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = 128,
) -> BlockMask:  # fmt: skip
    """Evaluate a mask in each block, as torch's function of this name does.

    mask_mod    (b, h, q_idx, kv_idx) -> bool, as `attention` takes it
    B, H        None where the mask does not depend on the sequence, or on the head
    Q_LEN       of queries, and KV_LEN of keys: how many there are
    device      torch's name of a GPU, on which arrays are made: torch's, or CuPy's where torch is not installed; 'cpu':
                NumPy's, in the simulator. Default: the current GPU, or 'cpu' if there is none
    BLOCK_SIZE  queries and keys of a block: multiples of 64
    Errors      `Misfit`, ValueError; `ArgumentError` on a GPU without torch and CuPy
    """
    pair = isinstance(BLOCK_SIZE, tuple | list) and len(BLOCK_SIZE) == 2
    sizes = tuple(BLOCK_SIZE) if pair else (BLOCK_SIZE, BLOCK_SIZE)  # type: ignore[arg-type]
    queries, keys = (as_number("BLOCK_SIZE", x, whole=True) for x in sizes)
    checked(block := (queries, keys))
    named = {"B": 1 if B is None else B, "H": 1 if H is None else H, "Q_LEN": Q_LEN, "KV_LEN": KV_LEN}
    batch, heads, Q_LEN, KV_LEN = (as_number(name, x, whole=True, least=1) for name, x in named.items())
    shape = batch, heads, -(-Q_LEN // block[0]), -(-KV_LEN // block[1])
    if mask_mod is None:
        raise Misfit(f"mask_mod is None, but must be a function of ({', '.join(MASK_MOD)})")
    if device is None:
        device = "cuda" if has_gpu() else "cpu"
    kinds = made_on(str(device), shape)
    evaluate(mask_mod, kinds, block, (Q_LEN, KV_LEN))
    return of_blocks(kinds, block, mask_mod, (Q_LEN, KV_LEN))


def made_on(device: str, shape: tuple[int, ...]) -> Any:
    """Return an array of i32 on a device that torch names so: torch's, CuPy's without torch, or NumPy's on 'cpu'."""
    if device == "cpu":
        return on_host(shape, "i32")
    library = gpu_library()
    if library.__name__ == "torch":
        return library.empty(shape, dtype=library.int32, device=device)
    number = device.partition(":")[2]
    with library.cuda.Device(int(number) if number else None):
        return library.empty(shape, library.int32)


def evaluate(mask_mod: Any, kinds: Any, block: tuple[int, int], lengths: tuple[int, int]) -> None:
    """Write the kind of each block of a mask to `kinds`, (B, H, blocks of queries, blocks of keys) i32.

    Arrays of JAX that the mask captured are brought to the host, if `kinds` are there.
    """
    arrays: list[Any] = []
    mod, shape = settled(lifted(mask_mod, arrays), "mask_mod", MASK_MOD), kinds.shape
    if reader_library(type(kinds)) == "numpy":
        arrays = [sys.modules["numpy"].asarray(x) if is_jax(x) else x for x in arrays]
    grid = cl.Launch((shape[3] * shape[0] * shape[1], shape[2], 1), THREADS)
    of_kinds(mod, block)[grid](kinds, tuple(arrays), *lengths)


def checked(block: tuple[int, int]) -> None:
    """Check the sizes of a block. Errors: ValueError."""
    if block[0] <= 0 or block[1] <= 0 or block[0] % 64 or block[1] % 64:
        raise Misfit(f"blocks of {block[0]} queries and {block[1]} keys: both are multiples of 64")


def of_blocks(kinds: Any, block: tuple[int, int], mask_mod: Any, lengths: tuple[int, int]) -> BlockMask:
    """Return the mask of blocks of these kinds: 0, `PARTIAL` or `FULL`."""
    torch = sys.modules["torch"] if is_torch(kinds) else None
    if torch is not None:
        order = torch.argsort(-kinds, dim=-1, stable=True).int()
        counts = torch.stack([(kinds == FULL).sum(-1), (kinds > 0).sum(-1)], -1).int()
        order[..., 0] = torch.where(counts[..., 1] == 0, kinds.shape[-1], order[..., 0])
        rows = torch.arange(kinds.shape[-2], device=kinds.device)[:, None]
        first, end = torch.where(kinds > 0, rows, rows.shape[0]).amin(-2), torch.where(kinds > 0, rows + 1, 0).amax(-2)
        return BlockMask(order, counts, torch.stack([first, end], -1).int(), block, mask_mod, lengths)
    np: Any = sys.modules[reader_library(type(kinds))]  # NumPy, or CuPy, which has the same functions
    order = np.argsort(-kinds, axis=-1, kind="stable").astype(np.int32)
    counts = np.stack([(kinds == FULL).sum(-1), (kinds > 0).sum(-1)], -1).astype(np.int32)
    order[..., 0] = np.where(counts[..., 1] == 0, kinds.shape[-1], order[..., 0])
    rows = np.arange(kinds.shape[-2])[:, None]
    first, end = np.where(kinds > 0, rows, len(rows)).min(-2), np.where(kinds > 0, rows + 1, 0).max(-2)
    return BlockMask(order, counts, np.stack([first, end], -1).astype(np.int32), block, mask_mod, lengths)


def by_function(mask: BlockMask) -> BlockMask:
    """Return the same mask, whose `mask_mod` says by itself what is seen: derivatives go by that alone.

    Where it does not, one that looks at the kinds of blocks takes its place. Each mask is looked at once.
    """
    return kept_for(mask, (), lambda: _by_function(mask)) if mask.listed else mask


def _by_function(mask: BlockMask) -> BlockMask:
    torch, blocks = sys.modules["torch"], mask.order.shape[-1]
    places, (full, every) = torch.arange(blocks, device=mask.order.device), mask.counts[..., None].unbind(-2)
    kind = torch.where(places < full, FULL, torch.where(places < every, PARTIAL, 0)).int()
    room = torch.zeros(*kind.shape[:-1], blocks + 1, dtype=torch.int32, device=kind.device)
    kinds = room.scatter_(-1, mask.order.long(), kind)[..., :blocks].contiguous()
    if mask.mask_mod is None:
        alike = (kinds > 0).all()
    else:
        evaluate(mask.mask_mod, evaluated := torch.empty_like(kinds), mask.block, mask.lengths)
        alike = ((kinds == PARTIAL) | (kinds == evaluated)).all()
    mod = mask.mask_mod if bool(alike) else by_kinds(kinds, mask.block, mask.mask_mod)
    return replace(mask, mask_mod=mod, listed=False)


def of_numpy(mask: Any, lengths: tuple[int, int]) -> BlockMask:
    """Return a `BlockMask`, ours or torch's, as ours with arrays of NumPy, whose function says what is seen.

    lengths  of queries and keys
    Errors   `Misfit`
    """
    own = by_function(_own(mask, lengths))
    return own if reader_library(type(own.order)) == "numpy" else kept_for(own, ("numpy",), lambda: _of_numpy(own))


def _of_numpy(mask: BlockMask) -> BlockMask:
    def copied(x: Any) -> Any:
        return x.cpu().numpy() if is_torch(x) else x.get()  # as torch and CuPy name it

    return replace(mask, order=copied(mask.order), counts=copied(mask.counts), spans=copied(mask.spans))


def kept_for(mask: Any, key: tuple[int | str, ...], make: Callable[[], BlockMask]) -> BlockMask:
    """Return what `make` gives for a mask and a key, made once and kept as long as the mask."""
    name = id(mask), *key
    known = _kept.get(name)
    if known is None or known[0]() is not mask:
        forget = partial(_kept.pop, name, None)  # also while Python ends, when the module's names are gone
        known = weakref.ref(mask, lambda _: forget()), make()
        _kept[name] = known
    return known[1]


_kept: dict[tuple[int | str, ...], tuple[weakref.ref[Any], BlockMask]] = {}


def by_kinds(kinds: Any, block: tuple[int, int], mask_mod: Any) -> Callable[..., Any]:
    """Return a `mask_mod` for blocks of these kinds; of one that is seen in part another decides, or None."""
    apart = kinds.shape[0] > 1, kinds.shape[1] > 1
    return partial(seen_by, kinds=kinds, apart=apart, block=block, mask_mod=mask_mod)


def seen_by(
    b: Any, h: Any, q_idx: Any, kv_idx: Any, *, kinds: Any, apart: tuple[bool, bool], block: tuple[int, int],
    mask_mod: Any,
) -> Any:  # fmt: skip
    """Tell what `by_kinds` says; `apart`: whether sequences, and heads, have kinds of their own."""
    kind = kinds[b if apart[0] else 0, h if apart[1] else 0, q_idx // block[0], kv_idx // block[1]]
    return kind > 0 if mask_mod is None else (kind == FULL) | ((kind > 0) & mask_mod(b, h, q_idx, kv_idx))


def is_token(b: Any, h: Any, q_idx: Any, kv_idx: Any, *, tokens: Any) -> Any:
    """Tell what a mask of tokens says, (B, SK): whether a key is one, and not padding. A `mask_mod` with that given."""
    return tokens[b, kv_idx]


def in_document(b: Any, h: Any, q_idx: Any, kv_idx: Any, *, documents: Any) -> Any:
    """Tell whether a query and a key are of the same document, by the numbers of these, (B, S). A `mask_mod` so."""
    return documents[b, q_idx] == documents[b, kv_idx]


def block_mask_of(mask: Any, shape: tuple[int, int, int, int]) -> BlockMask:
    """Return a `BlockMask`, ours or torch's, as ours.

    shape    sequences, heads, queries and keys, which it has to fit
    Errors   ValueError for one that does not, or of blocks that are no multiples of 64
    """
    mask = _own(mask, shape[2:])
    if mask.lengths != shape[2:]:
        made, wanted = ("{} queries and {} keys".format(*x) for x in (mask.lengths, shape[2:]))
        raise Misfit(f"block_mask is of {made}, but must be of {wanted}")
    have, blocks = tuple(mask.order.shape), (-(-shape[2] // mask.block[0]), -(-shape[3] // mask.block[1]))
    if have[2:] != blocks or have[0] not in (1, shape[0]) or have[1] not in (1, shape[1]):
        needed = f"{shape[0]} sequences, {shape[1]} heads, {shape[2]} queries and {shape[3]} keys"
        raise Misfit(f"the block mask is {have}, of blocks of {mask.block}, which do not fit {needed}")
    return mask  # type: ignore[no-any-return]


def with_own_mask(function: F) -> F:
    """Decorator: give a function of q and k its `block_mask=` as ours where it is torch's: so calls are planned."""
    return _with_mask(function, lambda mask: mask)


def with_mask_by_function(function: F) -> F:
    """Decorator: the same, of a mask whose `mask_mod` says by itself what is seen (`by_function`)."""
    return _with_mask(function, by_function)


def _with_mask(function: F, own: Callable[[BlockMask], BlockMask]) -> F:
    names = list(inspect.signature(function).parameters)
    at = [(names.index(name), name) for name in "qk"]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        mask = kwargs.get("block_mask")
        if mask is not None:
            given: Any = (args[i] if i < len(args) else kwargs.get(name) for i, name in at)
            q, k = given
            if getattr(q, "ndim", 0) == getattr(k, "ndim", 0) == 4:  # else the function refuses them
                along = 1 if kwargs.get("layout", "bshd") == "bshd" else 2
                kwargs["block_mask"] = own(_own(mask, (q.shape[along], k.shape[along])))
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def check_mask(mask: Any) -> None:
    """Check that it is a `BlockMask`, ours or torch's. Errors: `Misfit`."""
    if not isinstance(mask, BlockMask) and not is_of_torch(mask):
        raise Misfit(f"block_mask is {mask!r}, but must be of create_block_mask, ours or torch's, or None")


def _own(mask: Any, lengths: tuple[int, int]) -> BlockMask:
    """Return a `BlockMask`, ours or torch's, as ours, which is kept as long as torch's. Errors: `Misfit`."""
    check_mask(mask)
    if isinstance(mask, BlockMask):
        return mask
    return kept_for(mask, lengths, lambda: _of_torch(mask, *lengths))


def is_of_torch(mask: Any) -> bool:
    """Tell whether it is a `BlockMask` of torch's FlexAttention."""
    return hasattr(mask, "kv_num_blocks") and hasattr(mask, "kv_indices")


def _of_torch(mask: Any, sq: int, sk: int) -> BlockMask:
    kinds = kinds_of_torch(mask, sq, sk)
    return replace(of_blocks(kinds, tuple(mask.BLOCK_SIZE), own_function(mask), (sq, sk)), listed=True)


def in_graph_of_torch(mask: Any, sq: int, sk: int) -> BlockMask:
    """Return torch's mask as ours, where it is traced: its function looks at kinds, for nobody can compare these."""
    kinds, block = kinds_of_torch(mask, sq, sk), tuple(mask.BLOCK_SIZE)
    return of_blocks(kinds, block, by_kinds(kinds, block, own_function(mask)), (sq, sk))


def own_function(mask: Any) -> Any:
    """Return the function of a mask of torch; None for what torch gives one that is of blocks alone."""
    noop = sys.modules[type(mask).__module__].noop_mask
    return None if mask.mask_mod is noop else mask.mask_mod


def kinds_of_torch(mask: Any, sq: int, sk: int) -> Any:
    """Return the kind of each block of torch's mask. Errors: `Misfit`."""
    torch = sys.modules["torch"]
    block = tuple(mask.BLOCK_SIZE)
    checked(block)
    lengths = getattr(mask, "seq_lengths", (sq, sk))
    rows, needed = mask.kv_indices.shape[2], -(-sq // block[0])
    if sq > lengths[0] or sk > lengths[1] or rows != needed:
        of = f"block_mask is of {lengths[0]} queries and {lengths[1]} keys, in {rows} rows of blocks"
        raise Misfit(f"{of}: there are {sq} and {sk}, in {needed}")
    columns = -(-sk // block[1])
    kinds = torch.zeros(*mask.kv_indices.shape[:3], columns + 1, dtype=torch.int32, device=mask.kv_indices.device)
    listed = (PARTIAL, mask.kv_num_blocks, mask.kv_indices), (FULL, mask.full_kv_num_blocks, mask.full_kv_indices)
    for kind, count, indices in listed:
        if count is not None:
            within = torch.arange(indices.shape[-1], device=indices.device) < count[..., None]
            kinds.scatter_(-1, torch.where(within, indices, columns).long(), kind)
    kinds = kinds[..., :columns]
    if sk % block[1]:  # keys behind the last one have to be masked
        kinds[..., -1].clamp_(max=PARTIAL)
    return kinds.contiguous()


@lru_cache(maxsize=256)
def of_kinds(mask_mod: Any, block: tuple[int, int]) -> Any:
    """Return the kernel that evaluates a mask: one block of threads for each block of the mask."""
    TABLES = tables_of(mask_mod)
    rows, width = block
    held = Holder(mask_mod)

    @cl.kernel(block=THREADS)
    def kinds(kind: Tensor[i32, (MB, MH, QB, KB)], tables: TABLES, queries: i32, keys: i32) -> None:
        mod = bound(held, tables).function
        column, which = i32(cl.block_idx.x) % i32(KB), i32(cl.block_idx.x) // i32(KB)  # y and z end at 65535
        batch, head = which // i32(MH), which % i32(MH)
        some, all_of = cl.full((COLUMNS,), False, cl.boolean), cl.full((COLUMNS,), True, cl.boolean)
        for i in range((rows + THREADS - 1) // THREADS):
            row = i32(cl.block_idx.y) * rows + i * THREADS + cl.thread_idx.x
            if i * THREADS + cl.thread_idx.x < rows and row < queries:
                for j in range(width // COLUMNS):
                    key = places(column * width + j * COLUMNS, tuple(range(COLUMNS)), (COLUMNS,))
                    seen = mod(batch, head, places(row, (0,), (1,)), min(key, keys - 1))
                    seen = given_by("mask_mod", seen, key < keys, mod) & (key < keys)
                    some, all_of = some | seen, all_of & seen
        some_here, all_here = some.reduce("any"), all_of.reduce("all")
        found, whole = cl.syncthreads_or(some_here), cl.syncthreads_and(all_here)
        if cl.thread_idx.x == 0:
            kind[batch, head, cl.block_idx.y, column] = cl.where(whole, FULL, cl.where(found, PARTIAL, 0))

    return kinds


def tables_of(*functions: Any, sums: bool = False) -> Any:
    """Return the annotation of the parameter that has the arrays which functions captured.

    sums   f32 of the shapes of those that are learned, None for others, and nothing if none is
    """
    kinds, known = list[Any](), captured_types(*functions)
    for captured in known:
        names = (f"T{captured.index}_{i}" for i in range(captured.ndim or 1))
        kinds.append(Tensor[f32 if sums else dtype_of(captured.dtype), tuple(map(cl.dims, names))])
    if sums:
        kinds = [kind | None for kind in kinds] if any(x.learned for x in known) else []
    return tuple[tuple(kinds)] if kinds else tuple[()]  # type: ignore[misc]
