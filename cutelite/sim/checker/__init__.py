"""The checker: whether a kernel is right under the memory model of the PTX ISA, by any timing the hardware may show.

run.py        the entry: `check(function, grid, args, ...)`: the simulator under several schedules, watched
model.py      the memory model: told of all that happens, keeps who knows of what
clocks.py     knowledge: vector clocks               shadow.py    what is remembered of memory
access.py     the rules for one access               phases.py    the rules for waits and arrivals
records.py    what is kept of blocks and mbarriers   reporter.py  what was found, in words
findings.py   what was found, as data and as text    lanes.py     which thread makes which part of an access
costs.py      bank conflicts and sectors, as notes   limits.py    what is too large
places.py     addresses of strong accesses, and what is released with each
updates.py    the order of updates that do not commute
results.py    what arguments hold, by other schedules
"""

from cutelite.sim.checker.findings import CheckFailed, CheckReport, Finding
from cutelite.sim.checker.limits import TooLarge
from cutelite.sim.checker.run import SEEDS, check

__all__ = ["SEEDS", "CheckFailed", "CheckReport", "Finding", "TooLarge", "check"]
