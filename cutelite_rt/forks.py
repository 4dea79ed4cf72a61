"""Locks that a forked child may use: the child finds them free, even where another thread of its parent held them.

A fork copies the memory of the whole process, but only the thread that forked goes on in the child: a lock that another
thread held would stay locked there for ever. Python resets the locks of `threading` and `logging` in a child, and this
module resets the locks that it made. The data behind such a lock is read and changed by single operations on dicts and
attributes, so the child never finds it half changed.
"""

from __future__ import annotations

import os
import threading
import weakref

_made: weakref.WeakSet[threading.Lock] = weakref.WeakSet()


def lock() -> threading.Lock:
    """Return a new lock, which is free in every forked child."""
    made = threading.Lock()
    _made.add(made)
    return made


def _in_child() -> None:
    for each in list(_made):
        each._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library's own modules do


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
