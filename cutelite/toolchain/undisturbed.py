"""LLVM undisturbed: by signals in its midst, and by forks.

An exception that a signal's handler raises (Ctrl-C, a test's time limit) between two calls of LLVM may leave objects
half taken down, and LLVM ends the process over that. Python runs handlers in the main thread alone: there they are put
off until LLVM is done.

Modules are closed before their contexts (`parsed`), by whoever made them. Left to Python's collector of cycles, such as
the traceback of an error makes, they would be closed in any order and thread, which LLVM does not survive.

A child forked while LLVM works has LLVM's locks as they were, held by a thread that is not there. So a fork waits until
no thread is at work, and a child that could not wait for it compiles nothing.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from cutelite.toolchain.errors import ToolchainError, excerpt

P = ParamSpec("P")
R = TypeVar("R")
Handler = Callable[[int, FrameType | None], Any]

PATIENCE_S = 60.0  # of a fork, before it goes on without
_SIGNALS = tuple(map(int, signal.valid_signals()))
_at_work = threading.RLock()
_held = False  # by the thread that forks
_broken = False  # forked in the midst of LLVM's work


def undisturbed(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Give ``function(*args, **kwargs)``, which calls LLVM, one thread at a time.

    Errors  what the function raises; `ToolchainError` in a child that was forked in the midst of LLVM's work
    """
    if _broken:
        raise ToolchainError("llvm", "this process was forked while another thread compiled, and can compile nothing")
    with _at_work, _signals_later():
        return function(*args, **kwargs)


@contextmanager
def _signals_later() -> Iterator[None]:
    """Put off what Python's handlers of signals do, in the main thread, until the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before: dict[int, Handler] = {}
    try:
        for each in _SIGNALS:
            handler = signal.getsignal(each)
            if callable(handler):
                before[each] = handler
                signal.signal(each, lambda number, frame: came.append((number, frame)))
        yield
    finally:
        _restore(dict(before))
        for number, frame in came:
            before[number](number, frame)


def _restore(handlers: dict[int, Handler]) -> None:
    """Put handlers back, all of them, whatever one raises that is back already."""
    try:
        while handlers:
            number = next(iter(handlers))
            signal.signal(number, handlers[number])
            del handlers[number]
    finally:
        if handlers:
            _restore(handlers)


@contextmanager
def parsed(llvm: Any, text: str) -> Iterator[Any]:
    """The module of IR text, in a context of its own, for as long as it is needed.

    Errors  `ToolchainError` for text that does not parse, or breaks LLVM's rules when it is verified inside
    """
    context = llvm.create_context()  # threads share nothing
    module = None
    try:
        module = llvm.parse_assembly(text, context)
        yield module
    except RuntimeError as error:
        raise ToolchainError("llvm", str(error), excerpt(text, str(error), r"<string>:(\d+):")) from None
    finally:
        if module is not None:
            module.close()
        context.close()


def _before_fork() -> None:
    global _held
    _held = _at_work.acquire(timeout=PATIENCE_S)


def _in_parent() -> None:
    if _held:
        _at_work.release()


def _in_child() -> None:
    global _broken
    if _held:
        _at_work.release()
    else:
        _broken = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
