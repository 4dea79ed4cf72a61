"""A kernel exported for good: its code for several architectures, and what its arguments must be, as one file.

In: the signatures that it was compiled for, each with an `Artifact` for each architecture. Out: bytes that
`cutelite_rt` alone can launch from. Like an artefact they are data, and checksummed as a whole; machine code for the
CPU may be among them, which nothing here runs.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from cutelite_rt.artifact import Artifact, ArtifactError, checksum
from cutelite_rt.device import Device, runs_on

_MAGIC = b"cuteexpt"
_VERSION = 1
_HEADER = struct.Struct("<8sIQ16s")  # magic, version, bytes of JSON, checksum of all that follows


class Variant(NamedTuple):
    """A kernel for one signature.

    signature  what its arguments must be, as plain JSON data: `rules.Rules` reads it
    artifacts  its code: cubins, each for an architecture, and PTX for the driver to compile where none of them fits
    """

    signature: dict[str, Any]
    artifacts: tuple[Artifact, ...]

    def artifact(self, device: Device) -> Artifact:
        """The code to run on `device`: the cubin made for most of what it has, else PTX.

        Errors  `CudaError` that says what there is
        """
        capability = device.compute_capability
        fitting = [a for a in self.artifacts if a.cubin and runs_on(a.arch, capability)]
        fitting = fitting or [a for a in self.artifacts if not a.cubin and _compiles_for(a.arch, capability)]
        if fitting:
            return max(fitting, key=lambda a: rank_of(a.arch))
        there = ", ".join(a.arch if a.cubin else f"PTX of {a.arch}" for a in self.artifacts)
        kernel = self.signature["kernel"]
        sentence = f"`{kernel}` was exported for {there}; device {device.ordinal} is {device.arch} ({device.name})"
        raise device.driver.error(209, f"loading `{kernel}`", sentence)


class HostCode(NamedTuple):
    """Machine code that launches all variants, as `launcher` and `subscript` take it.

    interface  `interface.digest()` of the runtime that it is for
    program    `launcher.Program` by fields, and for each variant "slots" and "maps", as `launcher.Outcome` has them
    code       by CPU, as `os.uname` calls it: of a launcher, of subscripts
    """

    interface: str
    program: dict[str, Any]
    code: dict[str, tuple[bytes, bytes]]


class Bundle(NamedTuple):
    """An exported kernel: `name`, and a `Variant` for each signature, in the order in which they are tried.

    host  machine code for CPUs, if there is some: it is run only where that is asked for (`exported.load_kernel`)
    """

    name: str
    variants: tuple[Variant, ...]
    host: HostCode | None = None

    def to_bytes(self) -> bytes:
        """The bundle as `from_bytes` reads it."""
        import json

        images = [[a.to_bytes() for a in variant.artifacts] for variant in self.variants]
        variants = [
            {"signature": variant.signature, "bytes": [len(image) for image in group]}
            for variant, group in zip(self.variants, images, strict=True)
        ]
        said: dict[str, Any] = {"name": self.name, "variants": variants}
        blobs = [image for group in images for image in group]
        if self.host is not None:
            sizes = {cpu: [len(part) for part in parts] for cpu, parts in self.host.code.items()}
            said["host"] = {"interface": self.host.interface, "program": self.host.program, "bytes": sizes}
            blobs += [part for parts in self.host.code.values() for part in parts]
        meta = json.dumps(said, separators=(",", ":"), allow_nan=False).encode()
        body = b"".join((meta, *blobs))
        return _HEADER.pack(_MAGIC, _VERSION, len(meta), checksum(body)) + body

    @classmethod
    def from_bytes(cls, data: bytes) -> Bundle:
        """What `to_bytes` wrote. Errors: `ArtifactError` saying what is wrong with `data`."""
        import json

        if data[:8] != _MAGIC or len(data) < _HEADER.size:
            raise ArtifactError("this is not an exported kernel of cutelite")
        _, version, meta_bytes, expected = _HEADER.unpack_from(data)
        if version != _VERSION:
            raise ArtifactError(f"the exported kernel has format {version}, and this runtime reads format {_VERSION}")
        body = data[_HEADER.size :]
        if checksum(body) != expected:
            raise ArtifactError("the exported kernel is damaged or cut short: its checksum does not match")
        meta = json.loads(body[:meta_bytes])
        blob = _blobs(body, meta_bytes)
        variants = [
            Variant(said["signature"], tuple(Artifact.from_bytes(blob(size)) for size in said["bytes"]))
            for said in meta["variants"]
        ]
        host = meta.get("host")
        if host is not None:
            code = {cpu: (blob(first), blob(second)) for cpu, (first, second) in host["bytes"].items()}
            host = HostCode(host["interface"], host["program"], code)
        return cls(meta["name"], tuple(variants), host)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file: whole, or not at all."""
        part = f"{os.fspath(path)}.{os.urandom(4).hex()}.part"
        try:
            with open(part, "wb") as file:
                file.write(self.to_bytes())
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Bundle:
        """What `save` wrote. Errors: `ArtifactError` with the file's name; OSError."""
        with open(path, "rb") as file:
            data = file.read()
        try:
            return cls.from_bytes(data)
        except ArtifactError as problem:
            raise ArtifactError(f"{os.fspath(path)}: {problem}") from problem


def _blobs(body: bytes, at: int) -> Callable[[int], bytes]:
    """What gives so many bytes of it, from `at` on, and at the next call those behind."""

    def blob(size: int) -> bytes:
        nonlocal at
        at += size
        return body[at - size : at]

    return blob


def rank_of(arch: str) -> tuple[int, bool, bool]:
    """What has more of a GPU's features comes later: sm_80, sm_90, sm_100f, sm_100a."""
    return int(arch.removeprefix("sm_").rstrip("af")), arch.endswith("f"), arch.endswith("a")


def _compiles_for(arch: str, capability: tuple[int, int]) -> bool:
    """Plain PTX is for its architecture and all later ones; `a` and `f` as cubins are (PTX ISA, .target)."""
    if arch.endswith(("a", "f")):
        return runs_on(arch, capability)
    number = int(arch.removeprefix("sm_"))
    return divmod(number, 10) <= capability
