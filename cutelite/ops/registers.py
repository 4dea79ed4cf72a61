"""The number of registers of a warpgroup, and the election of one thread of a warp."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cutelite.ir.contract import Effect, Problem, Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import boolean, i32, u32
from cutelite.ops.address import scalar

if TYPE_CHECKING:
    from cutelite.ir.simulation import Lanes, Wait


class SetMaxNReg(Op):
    """Change the registers of each thread of this warpgroup to `count`, a multiple of 8 from 24 to 256.

    All warps of the warpgroup execute it. It needs a kernel with a known number of threads and registers at entry.
    """

    count: int
    as_ptx = Ptx("${name}.sync.aligned.u32 ${count};")

    def verify(self) -> Iterator[Problem]:
        if not 24 <= self.count <= 256 or self.count % 8:
            yield Problem("count", f"{self.name} takes a multiple of 8 from 24 to 256, not {self.count}")

    def simulate(self, lanes: Lanes) -> Wait | None:
        return lanes.machine.set_registers(lanes, self.count)


COLLECTIVE = Effect.ORDERS | Effect.CONVERGENT


@op("setmaxnreg.inc", scope="warpgroup", effects=COLLECTIVE, feature="setmaxnreg", source="PTX ISA: setmaxnreg")
class SetMaxNRegInc(SetMaxNReg):
    """Ask for more registers: up to `count` a thread; blocks until the block's pool has as many."""


@op("setmaxnreg.dec", scope="warpgroup", effects=COLLECTIVE, feature="setmaxnreg", source="PTX ISA: setmaxnreg")
class SetMaxNRegDec(SetMaxNReg):
    """Give registers back: all above `count` a thread."""


@op("elect.sync", scope="warp", effects=Effect.CONVERGENT, feature="elect", source="PTX ISA: elect.sync")
class Elect(Op):
    """True in one of the threads of the warp that `members` names, false in the others.

    members  a u32 with a bit for each lane that takes part; they execute it together
    """

    members: Value
    gives = boolean
    as_ptx = Ptx("elect.sync _|$out, $members;", memory=False)
    takes = {"members": scalar(u32, i32)}

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(np.arange(len(lanes.mask)) == lanes.machine.elected(lanes.mask))
