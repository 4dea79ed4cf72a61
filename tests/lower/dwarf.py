"""What PTX says of a kernel's variables: its `.debug_abbrev` and `.debug_info`, read as DWARF 2 has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

TAGS = {
    0x01: "array", 0x0D: "member", 0x0F: "pointer", 0x11: "unit", 0x13: "struct", 0x1D: "inlined", 0x21: "range",
    0x24: "number", 0x2E: "function", 0x34: "variable",
}  # fmt: skip
ATTRIBUTES = {0x02: "place", 0x03: "name", 0x0B: "size", 0x31: "origin", 0x33: "space", 0x37: "count", 0x38: "offset",
              0x49: "type", 0x59: "call_line"}  # fmt: skip
SIZES = {0x01: 8, 0x05: 2, 0x06: 4, 0x0B: 1, 0x0C: 1, 0x13: 4}
"""Bytes of the forms that have a fixed size: addr, data2, data4, data1, flag, ref4."""


@dataclass
class Entry:
    """An entry: what it is, its attributes, the entries within it."""

    tag: str
    given: dict[str, Any]
    within: list[Entry] = field(default_factory=list)

    def all(self) -> Iterator[Entry]:
        yield self
        for entry in self.within:
            yield from entry.all()

    def named(self, name: str) -> Entry:
        return next(entry for entry in self.all() if entry.given.get("name") == name)


def section(ptx: str, name: str) -> bytes:
    """The bytes of a section; labels are zeros."""
    body = re.search(rf"\.section\t\.{name}\n\t\{{\n(.*?)\n\t\}}", ptx, re.DOTALL)
    assert body is not None, name
    found = b""
    for size, value in re.findall(r"^\.b(\d+) (\S+)$", body[1], re.MULTILINE):
        count = int(size) // 8
        found += (int(value) % (1 << 8 * count)).to_bytes(count, "little") if value.isdigit() else bytes(count)
    return found


def number(data: bytes, at: int) -> tuple[int, int]:
    """A LEB128 number, and where the next begins."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def unit(ptx: str) -> Entry:
    """The compilation unit, in which the values of types are entries."""
    forms: dict[int, tuple[int, bool, list[tuple[int, int]]]] = {}
    data, at = section(ptx, "debug_abbrev"), 0
    while data[at]:
        code, at = number(data, at)
        tag, at = number(data, at)
        nests, at = bool(data[at]), at + 1
        attributes: list[tuple[int, int]] = []
        while True:
            attribute, at = number(data, at)
            form, at = number(data, at)
            if not attribute:
                break
            attributes.append((attribute, form))
        forms[code] = tag, nests, attributes
    data, at = section(ptx, "debug_info"), 11  # behind length, version, abbreviations and size of addresses
    places: dict[int, Entry] = {}
    root = Entry("", {})
    open_entries = [root]
    while at < len(data) and open_entries:
        start = at
        code, at = number(data, at)
        if not code:
            open_entries.pop()
            continue
        tag, nests, attributes = forms[code]
        entry = places[start] = Entry(TAGS[tag], {})
        for attribute, form in attributes:
            value: Any
            if form == 0x08:  # text
                end = data.index(0, at)
                value, at = data[at:end].decode(), end + 1
            elif form == 0x0A:  # a block of up to 255 bytes
                value, at = data[at + 1 : at + 1 + data[at]], at + 1 + data[at]
            else:
                value, at = int.from_bytes(data[at : at + SIZES[form]], "little"), at + SIZES[form]
            entry.given[ATTRIBUTES.get(attribute, str(attribute))] = value
        open_entries[-1].within.append(entry)
        if nests:
            open_entries.append(entry)
    for entry in places.values():
        for which in ("type", "origin"):
            if which in entry.given:
                entry.given[which] = places[entry.given[which]]
    return root.within[0]


def shape(t: Entry) -> Any:
    """A type in short: `f32`, `[4 f32]`, `{ptr *f32}`."""
    if t.tag == "array":
        return f"[{t.within[0].given['count']} {shape(t.given['type'])}]"
    if t.tag == "struct":
        return "{" + ", ".join(f"{each.given['name']} {shape(each.given['type'])}" for each in t.within) + "}"
    if t.tag == "pointer":
        return f"*{shape(t.given['type'])}" if "type" in t.given else "*"
    return t.given["name"]


def variables(scope: Entry) -> dict[str, Any]:
    """The variables of a function or inlined call, with their types in short."""
    own = [entry.given.get("origin", entry).given | entry.given for entry in scope.within if entry.tag == "variable"]
    return {given["name"]: shape(given["type"]) for given in own if "place" in given}
