"""Collections, unpacking, and text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.front import tree
from cutelite.front.frame import Frame, handles
from cutelite.front.instructions import Instr
from cutelite.front.iterators import iterate_static
from cutelite.front.state import State
from cutelite.front.strings import RuntimeText, join_text, make_text
from cutelite.front.unready import check_key
from cutelite.lang.emit import describe, mistake


def take(state: State, n: int) -> list[Any]:
    """Take the top `n` values off the stack."""
    at = len(state.stack) - n
    items = state.stack[at:]
    del state.stack[at:]
    return items


@handles("TUPLE")
def _tuple(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(tuple(take(state, instr.arg)))


@handles("LIST")
def _list(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(frame.made(take(state, instr.arg)))


@handles("SET")
def _set(frame: Frame, state: State, instr: Instr) -> None:
    members = take(state, instr.arg)
    for member in members:
        check_key(member)
    state.stack.append(frame.made(frame.native(set, members)))


@handles("MAP")
def _map(frame: Frame, state: State, instr: Instr) -> None:
    items = take(state, 2 * instr.arg)
    for key in items[::2]:
        check_key(key)
    state.stack.append(frame.made(frame.native(dict, zip(items[::2], items[1::2], strict=True))))


@handles("KEY_MAP")
def _key_map(frame: Frame, state: State, instr: Instr) -> None:
    values = take(state, len(instr.arg))
    state.stack.append(frame.made(dict(zip(instr.arg, values, strict=True))))


@handles("SLICE")
def _slice(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(slice(*take(state, instr.arg)))


@handles("LIST_APPEND", "SET_ADD", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE")
def _grow(frame: Frame, state: State, instr: Instr) -> None:
    item = state.stack.pop()
    container = state.stack[-instr.arg]
    frame.evaluation.mutables.changing(container, state.share, "a comprehension")
    match instr.op:
        case "LIST_APPEND":
            container.append(item)
        case "SET_ADD":
            check_key(item)
            frame.native(container.add, item)
        case "LIST_EXTEND":
            container.extend(frame.native(iterate_static, item))
        case "DICT_MERGE" if twice := set(container) & set(frame.native(dict, item)):
            raise mistake("call", f"the argument `{min(twice)}` is given twice")
        case _:
            frame.native(container.update, item)


@handles("MAP_ADD")
def _map_add(frame: Frame, state: State, instr: Instr) -> None:
    value, key = state.stack.pop(), state.stack.pop()
    check_key(key)
    container = state.stack[-instr.arg]
    frame.evaluation.mutables.changing(container, state.share, "a comprehension")
    frame.native(container.__setitem__, key, value)


@handles("LIST_TO_TUPLE")
def _list_to_tuple(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(tuple(state.stack.pop()))


@handles("UNPACK")
def _unpack(frame: Frame, state: State, instr: Instr) -> None:
    items = frame.native(iterate_static, state.stack.pop())
    if len(items) != instr.arg:
        raise mistake("unpack", f"{len(items)} values cannot be unpacked into {instr.arg} names")
    state.stack.extend(reversed(items))


@handles("UNPACK_EX")
def _unpack_ex(frame: Frame, state: State, instr: Instr) -> None:
    before, after = instr.arg
    items = frame.native(iterate_static, state.stack.pop())
    if len(items) < before + after:
        raise mistake("unpack", f"{len(items)} values cannot be unpacked into {before + after} names or more")
    behind = len(items) - after
    state.stack.extend(reversed([*items[:before], frame.made(list(items[before:behind])), *items[behind:]]))


# Text.

CONVERSIONS: dict[str, Callable[[Any], str]] = {"str": str, "repr": repr, "ascii": ascii}


@handles("CONVERT")
def _convert(frame: Frame, state: State, instr: Instr) -> None:
    value = state.stack.pop()
    if isinstance(value, RuntimeText):
        raise mistake("f-string", f"`!{instr.arg[0]}` needs a compile-time value", f"this is {describe(value)}")
    if not tree.holds_unknown(value):  # run-time numbers and dims print alike in all three ways
        value = frame.native(CONVERSIONS[instr.arg], value)
    state.stack.append(value)


@handles("FORMAT")
def _format(frame: Frame, state: State, instr: Instr) -> None:
    spec = state.stack.pop() if instr.arg else ""
    state.stack.append(frame.native(make_text, state.stack.pop(), spec))


@handles("STRING")
def _string(frame: Frame, state: State, instr: Instr) -> None:
    state.stack.append(join_text(take(state, instr.arg)))
