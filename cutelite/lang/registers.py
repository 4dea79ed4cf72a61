"""The number of registers of a warpgroup, and the election of one thread of a warp."""

from __future__ import annotations

from cutelite.ir.types import u32
from cutelite.lang.emit import emit
from cutelite.lang.promotion import as_integer
from cutelite.lang.values import Scalar
from cutelite.ops import registers as ops


def setmaxnreg_inc(count: int) -> None:
    """Wait for more registers: `count` for each thread of this warpgroup, taken from those that others gave back.

    count    a multiple of 8 from 24 to 256. Over all warpgroups of a block the counts must not need more registers than
             the block had at launch; the compiler refuses counts that cannot fit
    Who      all warps of a warpgroup
    Source   PTX ISA: setmaxnreg
    """
    emit(ops.SetMaxNRegInc(count))


def setmaxnreg_dec(count: int) -> None:
    """Give back registers: keep `count` for each thread of this warpgroup. Else as `setmaxnreg_inc`."""
    emit(ops.SetMaxNRegDec(count))


def elect_sync(members: int | Scalar = 0xFFFFFFFF) -> Scalar:
    """Return True in one of the threads of the warp that `members` names, a bit for each lane; False in the others.

    Who      the threads in `members`, together
    Source   PTX ISA: elect.sync
    """
    return emit(ops.Elect(as_integer(members, u32)))  # type: ignore[no-any-return]


def elect_one() -> Scalar:
    """Return True in one thread of the warp: ``if cl.elect_one(): cl.tma_load(...)``. The whole warp calls it."""
    return elect_sync()
