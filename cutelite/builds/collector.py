"""Python's garbage collector, called less often while kernels are compiled.

Nearly all objects that a compile makes, modules included, live to its end, so a collection after every 700 objects
finds nothing: collections take 4 ms of the first compile of a vector add and 10 ms of a GEMM's; of the second, 2 and 5
ms.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from cutelite_rt import forks

OBJECTS = 200_000
"""New objects after which a collection is made, some 40 MB: it bounds the memory of kernels with many thousand ops.

Attention makes 90,000. So there is one collection, while ptxas runs: at 50,000 they took 10 to 25 ms of other stages.
"""

_lock = forks.lock()
_compiling = 0
_before = (0, 0, 0)


def catch_up() -> None:
    """Collect the youngest objects now, while ptxas runs, if a collection is due once this compile ends."""
    with _lock:
        last = _compiling == 1 and gc.isenabled() and gc.get_threshold()[0] == OBJECTS
    if last and gc.get_count()[0] > _before[0]:
        gc.collect(0)


@contextmanager
def rarely() -> Iterator[None]:
    """Raise the threshold of the youngest objects, for all threads, until the last compile is done.

    The threshold is left as it is if the collector is off, or is called less often already.
    """
    global _compiling, _before
    with _lock:
        if _compiling == 0:
            _before = gc.get_threshold()
            if 0 < _before[0] < OBJECTS:
                gc.set_threshold(OBJECTS, *_before[1:])
        _compiling += 1
    try:
        yield
    finally:
        with _lock:
            _compiling -= 1
            if _compiling == 0 and gc.get_threshold() == (OBJECTS, *_before[1:]):  # no other code has set it since
                gc.set_threshold(*_before)
