"""An exported kernel: its code for several architectures and its signatures, as one file.

In: the signatures that it was compiled for, each with an `Artifact` for each architecture. Out: bytes from which
`cutelite_rt` launches without a compiler. Like those of an artefact they have a checksum over everything. They may
contain machine code for the CPU; nothing here runs it.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any, NamedTuple

from cutelite_rt.artifact import Artifact, ArtifactError, checksum, opened
from cutelite_rt.gpu.device import Device, runs_on
from cutelite_rt.signature.data import parsed, plain
from cutelite_rt.signature.kinds import Signature

_MAGIC = b"cuteexpt"
_VERSION = 3
_HEADER = struct.Struct("<8sIQ")  # magic, version, bytes of JSON; the checksum follows


class Variant(NamedTuple):
    """A kernel for one signature.

    signature  its settled signature, by which arguments are bound
    artifacts  its code: a cubin for each architecture, and PTX that the driver compiles where no cubin fits
    """

    signature: Signature
    artifacts: tuple[Artifact, ...]

    def artifact(self, device: Device) -> Artifact:
        """Return the code to run on `device`: the fitting cubin whose architecture has the most features, else PTX.

        Errors  `CudaError` that lists the architectures in the bundle
        """
        capability = device.compute_capability
        fitting = [a for a in self.artifacts if a.cubin and runs_on(a.arch, capability)]
        fitting = fitting or [a for a in self.artifacts if not a.cubin and _compiles_for(a.arch, capability)]
        if fitting:
            return max(fitting, key=lambda a: rank_of(a.arch))
        there = ", ".join(a.arch if a.cubin else f"PTX of {a.arch}" for a in self.artifacts)
        kernel = self.signature.kernel
        sentence = f"`{kernel}` was exported for {there}; device {device.ordinal} is {device.arch} ({device.name})"
        raise device.driver.error(209, f"loading `{kernel}`", sentence)


class HostCode(NamedTuple):
    """Machine code for CPUs that launches all variants.

    interface  `launcher.image.digest()` of the runtime that it is for
    signature  the open signature, of all variants
    images     name of a CPU, as `launcher.image.HERE` -> the launcher's image, see `launcher.image.Machine`
    """

    interface: str
    signature: Signature
    images: dict[str, bytes]


class Bundle(NamedTuple):
    """An exported kernel: `name`, and a `Variant` for each signature, in the order in which they are tried.

    host  machine code for CPUs, or None; it runs only if `exported.load_kernel` is called with `host_code`
    """

    name: str
    variants: tuple[Variant, ...]
    host: HostCode | None = None

    def to_bytes(self) -> bytes:
        """Return the bundle as `from_bytes` reads it."""
        images = [[a.to_bytes() for a in variant.artifacts] for variant in self.variants]
        variants = [
            {"signature": plain(variant.signature), "bytes": [len(image) for image in group]}
            for variant, group in zip(self.variants, images, strict=True)
        ]
        said: dict[str, Any] = {"name": self.name, "variants": variants}
        blobs = [image for group in images for image in group]
        if self.host is not None:
            sizes = {cpu: len(image) for cpu, image in self.host.images.items()}
            said["host"] = {"interface": self.host.interface, "signature": plain(self.host.signature), "bytes": sizes}
            blobs += self.host.images.values()
        meta = json.dumps(said, separators=(",", ":"), allow_nan=False).encode()
        body = b"".join((meta, *blobs))
        header = _HEADER.pack(_MAGIC, _VERSION, len(meta))
        return header + checksum(header + body) + body

    @classmethod
    def from_bytes(cls, data: bytes) -> Bundle:
        """Read the bundle that `to_bytes` wrote. Errors: `ArtifactError` saying what is wrong with `data`."""
        (meta_bytes,), body = opened(data, _MAGIC, _VERSION, _HEADER, "exported kernel")
        try:
            made = cls._of(json.loads(body[:meta_bytes]), body[meta_bytes:])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            if isinstance(problem, ArtifactError):
                raise
            raise ArtifactError(f"the exported kernel is malformed: {type(problem).__name__}: {problem}") from problem
        made.check()
        return made

    @classmethod
    def _of(cls, meta: dict[str, Any], images: bytes) -> Bundle:
        """Return the bundle that JSON describes. Errors: exceptions of several classes for malformed data."""
        at = 0

        def image(size: int) -> bytes:
            nonlocal at
            if type(size) is not int or not 0 <= size <= len(images) - at:
                raise ArtifactError(f"the exported kernel is malformed: an image of {size!r} bytes")
            at += size
            return images[at - size : at]

        variants = [
            Variant(parsed(said["signature"]), tuple(Artifact.from_bytes(image(size)) for size in said["bytes"]))
            for said in meta["variants"]
        ]
        host = meta.get("host")
        if host is not None:
            its_images = {cpu: image(size) for cpu, size in host["bytes"].items()}
            host = HostCode(host["interface"], parsed(host["signature"]), its_images)
        if at != len(images):
            raise ArtifactError("the exported kernel is malformed: there is more in it than it says")
        return cls(meta["name"], tuple(variants), host)

    def check(self) -> None:
        """Check that all fields are present and of their types. Errors: `ArtifactError` that names the field."""
        from cutelite_rt.export.format import check_artifact, check_variant

        if not isinstance(self.name, str) or not self.name.isidentifier() or not self.variants:
            raise ArtifactError(f"the exported kernel is malformed: {self.name!r} with {len(self.variants)} signatures")
        for variant in self.variants:
            for artifact in variant.artifacts:
                check_artifact(artifact)
            check_variant(variant.signature, variant.artifacts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, which appears under its name only when complete."""
        part = f"{os.fspath(path)}.{os.urandom(4).hex()}.part"
        try:
            with open(part, "wb") as file:
                file.write(self.to_bytes())
            os.replace(part, path)
        except BaseException as error:
            if os.path.exists(part):
                os.unlink(part)
            if isinstance(error, OSError) and error.filename == part:
                error.filename = os.fspath(path)  # the name that the caller knows
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Bundle:
        """Read the bundle that `save` wrote. Errors: `ArtifactError` with the file's name; OSError."""
        with open(os.fspath(path), "rb") as file:  # a number would be a file that somebody has open
            data = file.read()
        try:
            return cls.from_bytes(data)
        except ArtifactError as problem:
            raise ArtifactError(f"{os.fspath(path)}: {problem}") from problem


def rank_of(arch: str) -> tuple[int, bool, bool]:
    """Return a key that sorts architectures by features, fewest first: sm_80, sm_90, sm_100f, sm_100a."""
    return int(arch.removeprefix("sm_").rstrip("af")), arch.endswith("f"), arch.endswith("a")


def _compiles_for(arch: str, capability: tuple[int, int]) -> bool:
    """Tell whether PTX of `arch` can be compiled for a device.

    Plain PTX: for its architecture and later ones; `a` and `f`: for the same devices as cubins (PTX ISA, .target).
    """
    if arch.endswith(("a", "f")):
        return runs_on(arch, capability)
    number = int(arch.removeprefix("sm_"))
    return divmod(number, 10) <= capability
