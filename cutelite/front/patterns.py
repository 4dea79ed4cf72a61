"""`match`: sequence, mapping and class patterns. Value patterns are comparisons, and literals as well."""

from __future__ import annotations

from cutelite.front.builtins import is_instance
from cutelite.front.frame import Frame, handles
from cutelite.front.instructions import Instr
from cutelite.front.names import attribute, has_attribute
from cutelite.front.operators import subscript
from cutelite.front.state import State

BIND_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one positional sub-pattern binds the subject itself (Python's reference, class patterns)."""


@handles("GET_LEN")
def _get_len(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(frame.native(len, state.stack[-1]))


@handles("MATCH_SEQUENCE")
def _match_sequence(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(isinstance(state.stack[-1], tuple | list))


@handles("MATCH_MAPPING")
def _match_mapping(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(isinstance(state.stack[-1], dict))


@handles("MATCH_KEYS")
def _match_keys(frame: Frame, state: State, instr: Instr) -> None:
    keys, subject = state.stack[-1], state.stack[-2]
    found = all(key in subject for key in keys)
    state.stack.append(tuple(subscript(frame, subject, key) for key in keys) if found else None)


@handles("MATCH_CLASS")
def _match_class(frame: Frame, state: State, instr: Instr) -> None:
    names, cls, subject = state.stack.pop(), state.stack.pop(), state.stack.pop()
    if not frame.native(is_instance, subject, cls):
        state.stack.append(None)
        return
    if instr.arg == 1 and isinstance(cls, type) and issubclass(cls, BIND_WHOLE):
        found = [subject]
    else:
        positional = getattr(cls, "__match_args__", ())[: instr.arg]
        found = [attribute(frame, subject, name) for name in positional]
    if not all(has_attribute(subject, name) for name in names):
        state.stack.append(None)
        return
    state.stack.append((*found, *(attribute(frame, subject, name) for name in names)))
