"""Jumps, loops, and how a function ends.

A condition known at compile time decides which way is evaluated; the other way is skipped. A run-time
condition forks the state, and both ways are evaluated.
"""

from __future__ import annotations

from typing import Any

from cutelite.diag import CompileError
from cutelite.front.containers import take
from cutelite.front.frame import DeadEnd, Frame, handles
from cutelite.front.instructions import Instr
from cutelite.front.iterators import Range, StaticIter, count_along, items_of
from cutelite.front.operators import truth_of
from cutelite.front.state import Conflict, State, new_share, split
from cutelite.front.strings import RuntimeText, text_of
from cutelite.front.tree import holds_unknown
from cutelite.ir.function import Jump
from cutelite.lang.emit import describe, mistake
from cutelite.lang.values import Scalar
from cutelite.ops.arith import Not
from cutelite.ops.control import AssertFail, CondBr


@handles("JUMP")
def _jump(frame: Frame, state: State, instr: Instr) -> bool:
    frame.regions.edge(frame.block.successors[0], state)
    return True


@handles("JUMP_IF_TRUE", "JUMP_IF_FALSE")
def _jump_if(frame: Frame, state: State, instr: Instr) -> bool:
    known = _decided(state, truth_of(frame, state.stack.pop()))
    when_true, when_false = frame.block.successors
    failing = [b for b in (when_true, when_false) if frame.cfg.blocks[b].is_failure]
    if not isinstance(known, Scalar):
        target = when_true if known else when_false
        if target in failing:
            frame.certain_failure = target
        frame.regions.edge(target, state)
        return True
    if failing and not frame.evaluation.assertions:
        frame.regions.edge(when_false if when_true in failing else when_true, state)
        return True
    yes, no = fork(frame, state, known)
    if failing:  # failing threads go no further: the others keep the whole share
        failed, passed = (yes, no) if when_true in failing else (no, yes)
        failed.share, passed.share = new_share(), state.share
    for target, taken in ((when_true, yes), (when_false, no)):
        frame.builder.block = taken.block
        frame.regions.edge(target, taken)
    return True


def fork(frame: Frame, state: State, cond: Scalar) -> tuple[State, State]:
    """End the open block with a branch, and return the states where `cond` holds and where it does not."""
    builder = frame.builder
    yes, no = builder.new_block(), builder.new_block()
    builder.emit(CondBr(cond.value, Jump(yes), Jump(no)))
    ours, theirs = split(state.share, 2)
    taken, other = state.fork(yes, ours), state.fork(no, theirs)
    value, holds = cond.value, True
    while isinstance(value.op, Not):
        value, holds = value.op.a, not holds
    taken.facts[value], other.facts[value] = holds, not holds
    return taken, other


def _decided(state: State, known: Any) -> Any:
    """Return a condition, as a bool where an enclosing branch has decided it already."""
    if isinstance(known, Scalar):
        value, negated = known.value, False
        while isinstance(value.op, Not):
            value, negated = value.op.a, not negated
        fact = state.facts.get(value)
        if fact is not None:
            return fact != negated
    return known


# Loops.


@handles("ITER")
def _iter(frame: Frame, state: State, instr: Instr) -> None:
    """Push an iterator; a range is pushed as it is, since `loops` decides whether it is unrolled."""
    x = state.stack.pop()
    if isinstance(x, Range):
        state.stack.append(x)
    elif isinstance(x, StaticIter):
        state.stack.append(frame.native(x.start))
    else:
        state.stack.append(StaticIter(frame.native(items_of, x)))


@handles("FOR_ITER")
def _for_iter(frame: Frame, state: State, instr: Instr) -> bool | None:
    iterator = state.stack.pop()
    if isinstance(iterator, Range):  # the body leaves at once: this is no loop
        iterator = frame.native(count_along, iterator)
    _, done = frame.block.successors
    if isinstance(iterator, StaticIter):
        if iterator.exhausted:
            frame.regions.edge(done, state)
            return True
        state.stack += [iterator.advanced(), iterator.items[iterator.at]]
        return None
    if isinstance(iterator, Conflict):
        raise iterator.error("this sequence", frame.builder.span)
    more = iterator.goes_on()
    if more is False:
        frame.regions.edge(done, state)
        return True
    if more is not True:
        body, out = fork(frame, state, more)
        frame.builder.block = out.block
        out.locals |= frame.regions.late.get(frame.block.index, {})
        if iterator.rest is None:
            frame.regions.edge(done, out)
        else:
            out.stack.append(iterator.remainder())
            frame.regions.remainder(out)
        frame.builder.block = body.block
        state.block, state.share, state.facts = body.block, body.share, body.facts
    state.stack += [iterator.advanced(), iterator.index]
    return None


@handles("YIELD")
def _yield(frame: Frame, state: State, instr: Instr) -> None:
    assert frame.yielded is not None
    if state.share != frame.start:
        raise mistake(
            "generator",
            "a run-time condition decides what this generator yields",
            help="loop where the values are used",
        )
    frame.yielded.append(state.stack.pop())
    state.stack.append(None)


# Ends.


@handles("RETURN")
def _return(frame: Frame, state: State, instr: Instr) -> bool:
    frame.regions.leave(state, state.stack.pop())
    return True


@handles("RAISE")
def _raise(frame: Frame, state: State, instr: Instr) -> bool:
    if not instr.arg:
        raise mistake("raised", "`raise` alone raises again what is being handled, and here nothing is")
    raised = take(state, instr.arg)[0]
    if isinstance(raised, type) and issubclass(raised, BaseException):
        raised = frame.native(raised)
    if not isinstance(raised, BaseException):
        raise mistake("raised", f"`raise` takes an exception, not {describe(raised)}")
    if isinstance(raised, CompileError):  # raised by inlined functions of the library
        raise raised
    if isinstance(raised, AssertionError):
        _fail(frame, state, _message(raised.args[:1]), "assertion failed")
    message = _message(raised.args)
    if state.share == frame.start or frame.certain_failure == frame.block.index:
        text = _text(message)
        raise mistake("raised", f"{type(raised).__name__}: {text}" if text else type(raised).__name__)
    _fail(frame, state, message, type(raised).__name__)
    return True


def _message(args: tuple[Any, ...]) -> str | RuntimeText:
    """Return the text that `print` makes of an exception's arguments; some of them may be known at run time only."""
    unknown = any(isinstance(arg, RuntimeText) or holds_unknown(arg) for arg in args)
    return text_of(args) if unknown else " ".join(f"{arg}" for arg in args)


def _fail(frame: Frame, state: State, message: str | RuntimeText, what: str) -> None:
    """Make the kernel fail: while compiling if all threads come here, else while running."""
    if state.share == frame.start or frame.certain_failure == frame.block.index:
        raise mistake("assertion", "an assertion fails at compile time", _text(message))
    text, args = message.printf() if isinstance(message, RuntimeText) else (message, [])
    if what != "assertion failed":
        text = f"{what}: {text}" if text else what
    frame.builder.emit(AssertFail(text or what, tuple(arg.value for arg in args)))
    raise DeadEnd


def _text(message: str | RuntimeText) -> str:
    """Return the text of a message at compile time."""
    return message.shown() if isinstance(message, RuntimeText) else message


@handles("UNSUPPORTED")
def _unsupported(frame: Frame, state: State, instr: Instr) -> bool:
    raise CompileError(instr.arg, frame.builder.span)
