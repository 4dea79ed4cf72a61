"""The simulator: executes kernels on the CPU. It is the second backend, and defines the meaning of the IR.

run.py        the entry: `run(function, grid, args, ...)`
launch.py     arguments, and the state that all blocks share     buffers.py  tensormap.py  policy.py
program.py    a function made ready for execution                contraction.py  sums that round with a product
                                                                 direct.py  the commonest steps
schedule.py   the order in which threads run                     strand.py  collective.py  blocked.py  task.py  spins.py
                                                                 deciders.py
lanes.py      threads as an op sees them                         crowd.py
machine.py    a CTA as an op sees it                             engine.py  mbarrier.py  barrier.py  registers.py
                                                                 roster.py
values.py     the values of a strand        memory.py     addresses, bytes and their checks                  atomics.py
actors.py     threads and asynchronous work, which make accesses
events.py     events for observers                               checker/  trace.py (a timeline, for Perfetto)
error.py      mistakes of the kernel                             report.py
tmem.py       tensor memory of Blackwell   descriptors.py  TMA descriptors in memory    marks.py  `cl.profile`
tally.py      work, counted                stops.py        breakpoints
"""

from cutelite.sim.checker import CheckFailed, CheckReport, Finding, check
from cutelite.sim.error import Place, SimError, TooLarge
from cutelite.sim.events import Observer
from cutelite.sim.launch import Report
from cutelite.sim.program import Program
from cutelite.sim.run import run
from cutelite.sim.tally import Tally
from cutelite.sim.tensormap import SimTensorMap
from cutelite.sim.trace import Timeline, trace

__all__ = [
    "CheckFailed", "CheckReport", "Finding", "Observer", "Place", "Program", "Report", "SimError", "SimTensorMap",
    "Tally", "Timeline", "TooLarge", "check", "run", "trace",
]  # fmt: skip
