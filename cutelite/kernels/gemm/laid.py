"""Operands as TMA and tensor cores read them: where they lie, or copied."""

from __future__ import annotations

from typing import Any

import cutelite_rt as rt
from cutelite.dispatch.divert import left_out
from cutelite.kernels.arguments import is_dense
from cutelite.kernels.arrays import code_of, empty, row_apart
from cutelite.kernels.gemm import pitch
from cutelite.kernels.gemm.arrays import read_by_tma
from cutelite_rt.dtype import DTYPES


def for_tma(operand: Any, k: int, along_k: bool = False) -> Any:
    """Return the operand itself, or where TMA or tensor cores cannot read it a copy, whose rows are 16 bytes aligned.

    k        the mode that is K, -1 or -2. Tensor cores read operands along the other mode too where these have 16 bits
    along_k  it must be contiguous along K all the same
    """
    return all_for_tma((operand, k, along_k))[0]


def all_for_tma(*operands: tuple[Any, int, bool]) -> list[Any]:
    """Return `for_tma` of each; copies are of one launch where they can be."""
    planned = [laid_for_tma(*each) for each in operands]
    copy_all(*(pair for _, pair in planned if pair is not None))
    return [laid for laid, _ in planned]


def copy_all(*pairs: tuple[Any, Any]) -> None:
    """Copy arrays to others, at most two pairs (source, target), in one launch where `pitch` can."""
    able = []
    for source, target in pairs:
        if pitch.fits(source, target):
            able.append((source, target))
        else:
            target[...] = source
    if len(able) == 2 and code_of(able[0][0]) == code_of(able[1][0]):
        pitch.copy_rows(*able)
    else:
        for pair in able:
            pitch.copy_rows(pair)


def packed_rows(operand: Any) -> Any:
    """Return the operand, or a copy without gaps if its rows have some or begin where TMA cannot read."""
    return operand if left_out() else moved(operand, place_for(operand))


def place_for(out: Any) -> Any:
    """Return `out`, or a new array of its shape if its rows have gaps or begin where TMA cannot write."""
    return out if is_dense(out) and rt.tma_aligned(rt.read(out).pointer, 1, ()) else empty(out, tuple(out.shape))


def moved(held: Any, out: Any) -> Any:
    """Return `out`, to which the elements of `held` are copied if that is another array."""
    if held is not out:
        copy_all((held, out))
    return out


def modes_of(bytes: int, k: int, along_k: bool) -> tuple[int, ...]:
    """Return the modes along which an operand of elements of so many `bytes` may be contiguous; else as `for_tma`."""
    return (-1, -2) if bytes == 2 and not along_k else (k,)


def lies_for_tma(operand: Any, k: int, along_k: bool = False) -> bool:
    """Tell whether `for_tma` returns the operand itself."""
    view = rt.read(operand)
    modes = modes_of(DTYPES[view.dtype].bytes, k, along_k)
    return min(view.strides) > 0 and any(read_by_tma(operand, mode) for mode in modes)


def laid_for_tma(operand: Any, k: int, along_k: bool) -> tuple[Any, tuple[Any, Any] | None]:
    """Return what `for_tma` returns, and if that is a copy the source and target of the copying, else None."""
    if lies_for_tma(operand, k, along_k):
        return operand, None
    view = rt.read(operand)
    bytes = DTYPES[view.dtype].bytes
    modes = [mode for mode in modes_of(bytes, k, along_k) if view.strides[mode] == 1]
    lone = [mode for mode in modes if len(view.shape) == 2 and view.shape[-3 - mode] == 1 and view.pointer % 16 == 0]
    if lone:  # of one row it does not matter where the next one would begin
        held = row_apart(operand if lone[0] == -1 else operand.swapaxes(0, 1), -(-max(view.shape) // 16) * 16)
        return held if lone[0] == -1 else held.swapaxes(0, 1), None
    row = next(iter(modes), k)
    high, wide = view.shape[-3 - row], view.shape[row]
    made = empty(operand, (*view.shape[:-2], high, -(-wide * bytes // 16) * 16 // bytes))[..., :wide]
    source = operand if row == -1 else operand.swapaxes(-1, -2)
    return made if row == -1 else made.swapaxes(-1, -2), (source, made)
