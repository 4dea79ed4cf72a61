"""`cutelite doctor` and `cutelite cache`."""

from __future__ import annotations

import argparse
import datetime
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cutelite
import cutelite_rt as rt
from cutelite import config
from cutelite.cli.errors import UsageError
from cutelite.dispatch.specialise import cache_directory, open_cache
from cutelite.toolchain.tools import tools


def doctor(given: argparse.Namespace) -> int:
    """Run `cutelite doctor`. Return 1 if a kernel can neither be compiled nor simulated."""
    found = tools()
    rows = [*_general(), *((t.name, t.purpose, _state(t)) for t in found), *_places()]
    width = max(len(name) for name, _, _ in rows)
    for name, purpose, state in rows:
        print(f"{name:{width}}  {purpose:16}  {state}")
    return 0 if any(tool.name == "llvmlite" and tool.usable for tool in found) else 1


Row = tuple[str, str, str]


def _general() -> Iterator[Row]:
    yield "cutelite", "", f"{cutelite.__version__} at {Path(cutelite.__file__).parent}"
    yield "Python", "", f"{'.'.join(map(str, sys.version_info[:3]))} on {sys.platform}"
    for name, purpose in (("numpy", "simulator"), ("ml_dtypes", "bf16, fp8 arrays")):
        version = _version(name)
        yield name, purpose, version or f"not installed: `pip install {name.replace('_', '-')}`"


def _version(package: str) -> str | None:
    try:
        return str(importlib.import_module(package).__version__)
    except ImportError:
        return None


def _state(tool: Any) -> str:
    return f"{tool.version} at {tool.path}" if tool.usable else f"not usable: {tool.why}"


def _places() -> Iterator[Row]:
    """Yield a row for the GPUs that kernels run on, and one for the cache."""
    yield "GPU", "", _gpus()
    environment = config.read()
    yield "cache", "", cache_directory(environment) or "off (CUTELITE_CACHE=0)"


def _gpus() -> str:
    try:
        devices = [rt.device(n) for n in range(rt.count())]
    except rt.CudaError as error:
        return f"none usable: {error}; kernels run on NumPy arrays, in the simulator"
    if not devices:
        return "none; kernels run on NumPy arrays, in the simulator"
    return "; ".join(f"{device.name} ({device.arch})" for device in devices)


def _show(kept: rt.DiskCache, key: str) -> int:
    """Print the entry of the cache whose key begins with `key`. Return 1 if there is none, or several."""
    found = [entry for entry in kept.entries() if entry.key.startswith(key)]
    if not key:
        print(
            "`cutelite cache show KEY` takes the beginning of a key that `cutelite cache list` shows", file=sys.stderr
        )
        return 1
    if len(found) != 1:
        print(f"{len(found)} entries have a key that begins with {key!r}: see `cutelite cache list`", file=sys.stderr)
        return 1
    artifact = _artifact(kept, found[0].key)
    print(f"key             {found[0].key}\nlast used       {_day(found[0].used)}")
    if not isinstance(artifact, rt.Artifact):
        print(artifact)
        return 1
    facts = {**artifact._asdict(), "cubin": f"{len(artifact.cubin)} bytes", "ptx": f"{len(artifact.ptx)} characters"}
    signature = facts.pop("signature") or {}
    facts |= {**signature.get("report", {}), "warnings": signature.get("warnings", [])}
    for name, value in facts.items():
        text = str(value).strip().replace("\n", "\n" + " " * 16)
        print(f"{name:15} {text}")
    return 0


class _Shown(rt.Artifact):
    """An artefact whose `str` is one line about it."""

    __slots__ = ()

    def __str__(self) -> str:
        registers = f"{self.registers} registers" if self.registers >= 0 else "PTX alone"
        return f"{self.name} for {self.arch}, blocks of {self.block}: {registers}"


def _artifact(kept: rt.DiskCache, key: str) -> rt.Artifact | str:
    """Return the artefact under a key; for an entry that is something else, a text that says so."""
    payload = kept.get(key)
    try:
        return _Shown(*rt.Artifact.from_bytes(payload or b""))
    except rt.ArtifactError:
        return "not a kernel of this version: tuning results, a launcher, or another version's kernel"


def _day(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds).isoformat(" ", "minutes")


def cache(given: argparse.Namespace) -> int:
    """Run `cutelite cache`: describe the disk cache, list, show or verify its entries, or clear it."""
    if given.key and given.action != "show":
        raise UsageError(f"`cutelite cache {given.action}` is for the whole cache: it takes no key")
    kept = open_cache(config.read())
    if kept is None:
        print("the disk cache is off (CUTELITE_CACHE=0)")
        return 0
    if given.action == "info":
        for name, value in kept.info()._asdict().items():
            print(f"{name:10} {value}")
    elif given.action == "list":
        for entry in kept.entries():
            print(f"{entry.key[:16]}  {entry.bytes:9}  {_day(entry.used)}  {_artifact(kept, entry.key)}")
    elif given.action == "show":
        return _show(kept, given.key)
    elif given.action == "verify":
        good, dropped = kept.verify()
        print(f"{good} entries are intact; {len(dropped)} were damaged and have been removed")
    else:
        print(f"{kept.clear()} entries removed")
    return 0
