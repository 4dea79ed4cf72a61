"""Locks that a forked child may use, and files that it does not get.

The child finds the locks free, even where another thread of its parent held them.

A fork copies the memory of the whole process, but only the thread that forked goes on in the child: a lock that another
thread held would stay locked there for ever. Python resets the locks of `threading` and `logging` in a child, and this
module resets the locks that it made. The data behind such a lock is read and changed by single operations on dicts and
attributes, so the child never finds it half changed.

A lock on a file lasts until the last process closes that file. So the child closes those that it got from its parent:
else it would hold their locks when the parent has died.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref

_made: weakref.WeakSet[threading.Lock] = weakref.WeakSet()
_files: set[int] = set()


def lock() -> threading.Lock:
    """Return a new lock, which is free in every forked child."""
    made = threading.Lock()
    _made.add(made)
    return made


def own(descriptor: int) -> int:
    """Return an open file, which every forked child closes from now on."""
    _files.add(descriptor)
    return descriptor


def disown(descriptor: int) -> bool:
    """Tell whether a file of `own` is open here: not in a child, which has closed it. From now on none closes it."""
    there = descriptor in _files
    _files.discard(descriptor)
    return there


def _in_child() -> None:
    for descriptor in _files:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _files.clear()
    for each in list(_made):
        each._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library's own modules do


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
