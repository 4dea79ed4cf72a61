"""Kernels with a slip: each is right when `slip` is '', and otherwise lacks or mistakes what it names.

`kinds(kernel, grid, arrays, slip)` checks one, and gives what was found.
"""

from typing import Any

import numpy as np

from cutelite.dispatch import Kernel
from cutelite.sim import CheckReport

SEEDS = range(6)
RIGHT: set[object] = set()
"""Kernels and arguments that have been checked without a slip."""


def report(kernel: Kernel, grid: Any, arrays: Any, slip: str, seeds: Any = SEEDS) -> CheckReport:
    """A check of a kernel whose last parameter is the slip, on copies of the arrays."""
    copies = [x.copy() if isinstance(x, np.ndarray) else x for x in arrays]
    return kernel.check(grid, None, *copies, slip, seeds=seeds, notes=False)


def assert_caught(kernel: Kernel, grid: Any, arrays: Any, slip: str, kind: str, lines: tuple[str, ...] = ()) -> None:
    """Under each single schedule of 0 and 1 alone, the slip is found as `kind`; on lines with these texts."""
    facts = (kernel, repr(grid), *(x.tobytes() if isinstance(x, np.ndarray) else x for x in arrays))
    if facts not in RIGHT:  # the same for all slips
        right = report(kernel, grid, arrays, "")
        assert right, f"an alarm without a slip:\n{right}"
        RIGHT.add(facts)
    for seed in (0, 1):
        found = report(kernel, grid, arrays, slip, [seed])
        assert kind in found.kinds, f"{slip} under seed {seed}: {found}"
        named = next(finding for finding in found.findings if finding.kind == kind)
        assert named.seed == seed
        for line in lines:
            assert line in str(named), f"{line!r} is not in\n{named}"
