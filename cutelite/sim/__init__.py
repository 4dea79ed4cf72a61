"""The simulator: what a kernel means, on the CPU. The second backend, and the definition of what the IR means.

run.py          the entry: `run(function, grid, args, ...)`
launch.py       arguments and what all blocks share          buffers.py  tensormap.py
program.py      a function made ready for execution
schedule.py     who runs when                                policy.py  strand.py  collective.py  blocked.py
lanes.py        threads as an op sees them                   crowd.py
machine.py      a CTA as an op sees it                       barrier.py  mbarrier.py  engine.py  registers.py
memory.py       addresses, bytes and their checks            atomics.py
error.py        what a kernel did wrong                      report.py
trace.py        what happens when, for Perfetto
"""

from cutelite.sim.checker import CheckFailed, CheckReport, Finding, TooLarge, check
from cutelite.sim.error import Place, SimError
from cutelite.sim.launch import Observer, Report
from cutelite.sim.run import run
from cutelite.sim.tensormap import SimTensorMap
from cutelite.sim.trace import Timeline, trace

__all__ = [
    "CheckFailed",
    "CheckReport",
    "Finding",
    "Observer",
    "Place",
    "Report",
    "SimError",
    "SimTensorMap",
    "Timeline",
    "TooLarge",
    "check",
    "run",
    "trace",
]
