"""Attributes of a launch, beyond its grid and block, as the numbers and bytes that the driver takes.

Source  CUDA driver API: CUlaunchAttributeID, CUlaunchAttributeValue
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from cutelite_rt.errors import LaunchError

VALUE_BYTES = 64  # size of the union CUlaunchAttributeValue
COOPERATIVE, CLUSTER, SERIALIZATION, TRIGGERED, PRIORITY, DOMAIN, LAUNCHED, CARVEOUT = (
    2, 4, 6, 7, 8, 10, 12, 14  # CUlaunchAttributeID
)  # fmt: skip
DOMAINS = ("default", "remote")


class Attribute(NamedTuple):
    """A launch attribute: its id, and the first bytes of its value; the others are 0."""

    id: int
    value: bytes


def attributes_of(launch: Any) -> tuple[Attribute, ...]:
    """Return the attributes for the options `priority`, `domain`, `launched`, `triggered` and `carveout` of a launch.

    Errors  `LaunchError` for a value that an option cannot have
    """
    found = []
    if launch.priority is not None:
        if type(launch.priority) is not int or not -(1 << 31) <= launch.priority < 1 << 31:
            raise LaunchError(f"a priority is an integer, the lower the sooner; not {launch.priority!r}")
        found.append(Attribute(PRIORITY, struct.pack("<i", launch.priority)))
    if launch.domain is not None:
        if type(launch.domain) is not str or launch.domain not in DOMAINS:
            raise LaunchError(f"a domain is one of {', '.join(map(repr, DOMAINS))}, not {launch.domain!r}")
        found.append(Attribute(DOMAIN, struct.pack("<I", DOMAINS.index(launch.domain))))
    if launch.launched is not None:
        found.append(Attribute(LAUNCHED, struct.pack("<Qi", event_handle(launch.launched, "launched"), 0)))
    if launch.triggered is not None:
        found.append(Attribute(TRIGGERED, struct.pack("<Qii", event_handle(launch.triggered, "triggered"), 0, 0)))
    if launch.carveout is not None:
        if type(launch.carveout) is not int or not 0 <= launch.carveout <= 100:
            raise LaunchError(f"a carve-out is the percentage that is shared memory, 0 to 100, not {launch.carveout!r}")
        found.append(Attribute(CARVEOUT, struct.pack("<I", launch.carveout)))
    return tuple(found)


def ways_of(launch: Any) -> tuple[bool, bool, tuple[Attribute, ...]]:
    """Return the last fields of a launch's `LaunchConfig`: cooperative, pdl, attributes. Errors: as `attributes_of`."""
    for name in ("cooperative", "pdl"):
        if type(getattr(launch, name)) is not bool:
            raise LaunchError(f"{name} is True or False, not {getattr(launch, name)!r}")
    return launch.cooperative, launch.pdl, attributes_of(launch)


def event_handle(event: Any, name: str) -> int:
    """Return the CUevent handle of an event of torch, CuPy, cuda.core or cuda.bindings; a handle is returned as it is.

    name    the option of the launch, for the error's text
    Errors  `LaunchError` for an object that is no event, and for an event that torch has not made yet
    """
    held = next((getattr(event, each) for each in ("cuda_event", "ptr", "handle") if hasattr(event, each)), event)
    try:
        found = int("" if isinstance(held, bool | float | str) else held)
    except (TypeError, ValueError):
        raise LaunchError(f"{name}: a {type(event).__name__} is no CUDA event: pass one, or its handle") from None
    if found <= 0:
        raise LaunchError(f"{name}: the event does not exist yet: torch makes one when it is first recorded")
    return found
