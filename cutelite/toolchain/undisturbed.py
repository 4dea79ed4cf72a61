"""LLVM undisturbed: by signals in its midst, and by forks.

An exception that a signal's handler raises (Ctrl-C, a test's time limit) between two calls of LLVM may leave objects
half taken down, and LLVM ends the process over that. Python runs handlers in the main thread alone, so the main
thread has another one do the work, and waits: the wait is what is interrupted.

Modules are closed before their contexts (`parsed`), by whoever made them. Left to Python's collector of cycles, such as
the traceback of an error makes, they would be closed in any order and thread, which LLVM does not survive.

A child forked while LLVM works has LLVM's locks as they were, held by a thread that is not there. So a fork waits until
no thread is at work, and a child that could not wait for it compiles nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from cutelite.toolchain.errors import ToolchainError, excerpt

P = ParamSpec("P")
R = TypeVar("R")

PATIENCE_S = 60.0  # of a fork, before it goes on without
_at_work = threading.RLock()
_held = False  # by the thread that forks
_broken = False  # forked in the midst of LLVM's work


def undisturbed(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Give ``function(*args, **kwargs)``, which calls LLVM, one thread at a time.

    Errors  what the function raises; `ToolchainError` in a child that was forked in the midst of LLVM's work
    """
    if threading.current_thread() is not threading.main_thread():
        return _alone(function, args, kwargs)  # type: ignore[no-any-return]
    made: list[Any] = []

    def work() -> None:
        try:
            made.append((_alone(function, args, kwargs), None))
        except BaseException as problem:
            made.append((None, problem))

    thread = threading.Thread(target=work, name="cutelite-llvm")
    try:
        thread.start()
    except RuntimeError:  # Python is ending, and starts no thread any more
        return _alone(function, args, kwargs)  # type: ignore[no-any-return]
    thread.join()
    result, problem = made.pop()
    if problem is not None:
        try:
            raise problem
        finally:
            del problem  # whose traceback holds this frame
    return result  # type: ignore[no-any-return]


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


def _alone(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if _broken:
        raise ToolchainError("llvm", "this process was forked while another thread compiled, and can compile nothing")
    with _at_work:
        return function(*args, **kwargs)


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
