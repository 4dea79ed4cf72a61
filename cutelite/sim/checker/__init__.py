"""The checker: whether a kernel is right under the memory model of the PTX ISA, by any timing the hardware may show.

run.py        the entry: `check(function, grid, args, ...)`: the simulator under several schedules, watched
model.py      the memory model: told of all that happens, asks the files below

What is a clock, and who knows of it:

knowledge.py  what can be known: clocks in rows       parties.py    agents, and threads that know the same
clocks.py     who knows what, learns, passes on

What orders what:

fences.py     fences, and a warp's instructions       meetings.py   named barriers, and the cluster's
mbarriers.py  arrivals, phases, waits                 phases.py     the rules for which phase those are in
strong.py     atomics, strong loads and stores        places.py     their addresses, and what is released with each
works.py      asynchronous work, waits for groups     lifetimes.py  the start and the end of blocks
ahead.py      the kernel ahead, griddepcontrol        state.py      what all of these share
records.py    what is kept of blocks and mbarriers

What is reported:

shadow.py     what is remembered of memory            access.py     the rules for one access
races.py      accesses that nothing orders            updates.py    the order of updates that do not commute
results.py    what arguments hold, by schedules       reporter.py   what was found, in words
findings.py   what was found, as data and as text     costs.py      bank conflicts and sectors, as notes
lanes.py      who makes which part of an access       limits.py     what is too large
"""

from cutelite.sim.checker.findings import CheckFailed, CheckReport, Finding
from cutelite.sim.checker.run import SEEDS, check

__all__ = ["SEEDS", "CheckFailed", "CheckReport", "Finding", "check"]
