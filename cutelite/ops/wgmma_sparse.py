"""Sparse operands of wgmma: half of A is left out, and metadata names the half that is kept.

A row of A comes in groups: 4 elements of 8 or 16 bits of which 2 are kept, or 2 of tf32 of which 1 is. The kept ones
are packed, so that a sparse A takes half its extent along K. Four bits for each group name the kept elements:

    4 bits, 2 of 4   the index of the first in bits 0 and 1, of the second, a larger one, in bits 2 and 3
    4 bits, 1 of 2   0b0100 for the first, 0b1110 for the second: the 16-bit halves that are kept

Each thread has words of metadata; one word of all threads covers 16 groups of each of 64 rows, for two instructions on
16 and 32 bits (the sparsity selector chooses one of them), or one on 8 bits. `metadata_layout` gives each thread's
groups.
PTX ISA: wgmma.mma_async.sp, sparse matrix storage, and the fragment figures of its metadata.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cutelite.ir.contract import np
from cutelite.ir.types import Scalar
from cutelite.layout import Layout
from cutelite.ops.wgmma_layouts import M, k_of, places

if TYPE_CHECKING:
    from cutelite.ir.simulation import Array

GROUPS = 16
"""Groups of each row in one word of every thread."""

FIRST, SECOND = 0b0100, 0b1110
"""The four bits of a 1:2 group that keeps its first element, or its second."""


def group_of(elem: Scalar) -> int:
    """Return the number of elements of A, half of them kept, that four bits describe."""
    return 2 if elem.bytes == 4 else 4


def steps_of_word(elem: Scalar) -> int:
    """Return the number of instructions along K that a word of metadata covers."""
    return GROUPS * group_of(elem) // k_of(elem, sparse=True)


def words_for(elem: Scalar, steps: int) -> int:
    """Return the number of words of metadata of each thread for `steps` instructions along K."""
    return -(-steps // steps_of_word(elem))


@lru_cache
def metadata_layout(elem: Scalar, rows: int = M) -> Layout:
    """Return the layout from (thread, four bits of its word, lowest first) to row + `rows` * group; a warp has 16 rows.

    16 and 32 bits: two neighbouring threads have 4 groups each of a row, and of the row 8 below, for one instruction;
    the next two threads have those for the other one. 8 bits: of four threads, two have one row and two the row 8
    below, each half of the groups.
    """
    if elem.bytes == 1:
        return Layout(((2, 2, 8, rows // 16), 8), ((8, 8 * rows, 1, 16), rows))
    return Layout(((2, 2, 8, rows // 16), (4, 2)), ((4 * rows, 8 * rows, 1, 16), (rows, 8)))


def group_table(words: Array, elem: Scalar, rows: int = M) -> Array:
    """Return the four bits of each group, (rows, 16), from one word in each of ``2 * rows`` threads."""
    bits = words.astype(np.uint32)[:, None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15
    table = np.empty(rows * GROUPS, np.int64)
    table[places(metadata_layout(elem, rows))] = bits
    return table.reshape(GROUPS, rows).T


def group_words(table: Array, elem: Scalar) -> Array:
    """Return the words for a table: the inverse of `group_table`."""
    bits: Array = table.T.reshape(-1)[places(metadata_layout(elem, len(table)))].astype(np.uint32)
    return np.sum(bits << np.arange(0, 32, 4, dtype=np.uint32), axis=1, dtype=np.uint32)


def valid(table: Array, elem: Scalar) -> Array:
    """Tell which entries of a table are legal."""
    if elem.bytes == 4:
        return (table == FIRST) | (table == SECOND)
    return (table & 3) < (table >> 2)


def expanded(packed: Array, table: Array, elem: Scalar) -> Array:
    """Return the (rows, 2 k) operand that (rows, k) packed elements stand for, zeros included."""
    group = group_of(elem)
    kept = (table[..., None] >> 3 if group == 2 else table[..., None] >> np.array([0, 2])) & group - 1
    whole = np.zeros((*table.shape, group), packed.dtype)
    np.put_along_axis(whole, kept, packed.reshape(*table.shape, group // 2), axis=2)
    return whole.reshape(len(table), -1)


def compress_sparse(a: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the operands of a sparse wgmma for `a`: the elements that are kept, and the metadata that names them.

    a        a NumPy array (m, k) in the type that NumPy has for `dtype`; m a multiple of 64, k of the extent of an
             instruction (64 bytes). Of every 4 neighbours in a row (2, if they have 32 bits) half are zero
    dtype    f16, bf16, tf32, e4m3, e5m2, i8 or u8
    Result   (m, k / 2) like `a`, and (m / 64, words, 128) u32: each word of a thread covers 32 bytes of a row of kept
             8-bit elements, or 64 bytes of 16- and 32-bit ones
    Errors   ValueError that names the row and the columns where too many are not zero
    """
    return compressed(a, dtype, M, k_of(dtype, sparse=True))


def kept_of(a: Array, dtype: Scalar) -> tuple[Array, Array]:
    """Return the elements of (rows, k) that are kept, and the four bits of each group. Errors: ValueError."""
    group = group_of(dtype)
    keep = group // 2
    groups = a.reshape(a.shape[0], -1, group)
    needed = groups != 0
    for row, at in np.argwhere(needed.sum(axis=2) > keep)[:1]:
        where = f"row {row}, columns {at * group} to {at * group + group - 1}"
        raise ValueError(f"{where}: {groups[row, at]} has more than {keep} in {group} that are not zero")
    kept = np.sort(np.argsort(~needed, axis=2, kind="stable")[..., :keep], axis=2)
    values = np.take_along_axis(groups, kept, axis=2).reshape(a.shape[0], -1)
    return values, np.where(kept[..., 0], SECOND, FIRST) if group == 2 else kept[..., 0] | kept[..., 1] << 2


def compressed(a: Any, dtype: Any, rows: int, step: int) -> tuple[Any, Any]:
    """Compress as `compress_sparse` does, with metadata for blocks of `rows` rows; `step` divides the rows of `a`."""
    a = np.ascontiguousarray(a)
    if a.ndim != 2 or a.shape[0] % rows or a.shape[1] % step:
        raise ValueError(f"compress_sparse takes ({rows} m, {step} k) elements of {dtype}, not {a.shape}")
    values, table = kept_of(a, dtype)
    table = np.pad(table, ((0, 0), (0, -table.shape[1] % GROUPS)), constant_values=FIRST)
    blocks = table.reshape(-1, rows, table.shape[1] // GROUPS, GROUPS).transpose(0, 2, 1, 3)
    words = [[group_words(word, dtype) for word in block] for block in blocks]
    return values, np.array(words, np.uint32).reshape(len(blocks), -1, 2 * rows)
