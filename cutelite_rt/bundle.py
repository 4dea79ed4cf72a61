"""A kernel exported for good: its code for several architectures, and what its arguments must be, as one file.

In: the signatures that it was compiled for, each with an `Artifact` for each architecture. Out: bytes that
`cutelite_rt` alone can launch from. Like an artefact they are data only, and checksummed as a whole.
"""

from __future__ import annotations

import os
import struct
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


class Bundle(NamedTuple):
    """An exported kernel: `name`, and a `Variant` for each signature, in the order in which they are tried."""

    name: str
    variants: tuple[Variant, ...]

    def to_bytes(self) -> bytes:
        """The bundle as `from_bytes` reads it."""
        import json

        images = [[a.to_bytes() for a in variant.artifacts] for variant in self.variants]
        variants = [
            {"signature": variant.signature, "bytes": [len(image) for image in group]}
            for variant, group in zip(self.variants, images, strict=True)
        ]
        meta = json.dumps({"name": self.name, "variants": variants}, separators=(",", ":"), allow_nan=False).encode()
        body = b"".join((meta, *(image for group in images for image in group)))
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
        variants, at = [], meta_bytes
        for described in meta["variants"]:
            artifacts = []
            for size in described["bytes"]:
                artifacts.append(Artifact.from_bytes(body[at : at + size]))
                at += size
            variants.append(Variant(described["signature"], tuple(artifacts)))
        return cls(meta["name"], tuple(variants))

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


def rank_of(arch: str) -> tuple[int, bool, bool]:
    """What has more of a GPU's features comes later: sm_80, sm_90, sm_100f, sm_100a."""
    return int(arch.removeprefix("sm_").rstrip("af")), arch.endswith("f"), arch.endswith("a")


def _compiles_for(arch: str, capability: tuple[int, int]) -> bool:
    """Plain PTX is for its architecture and all later ones; `a` and `f` as cubins are (PTX ISA, .target)."""
    if arch.endswith(("a", "f")):
        return runs_on(arch, capability)
    number = int(arch.removeprefix("sm_"))
    return divmod(number, 10) <= capability
