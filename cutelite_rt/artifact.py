"""`Artifact`: one compiled kernel for one architecture, and everything that a launch needs to know about it.

As bytes an artefact is a header, a checksum over everything else, JSON, and the images; nothing in it is executed on
the CPU.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

_MAGIC = b"cutelite"
_VERSION = 2
_HEADER = struct.Struct("<8sIIQQ")  # magic, version, bytes of JSON, of cubin, of PTX; the checksum follows


class ArtifactError(ValueError):
    """Raised for bytes that are no artefact, or a damaged one."""


class Artifact(NamedTuple):
    """A kernel ready to be loaded: `cubin`, or `ptx` for the driver to compile where there is no cubin.

    name            the name of the kernel's entry in the image
    arch            the architecture that the image was made for, such as 'sm_90a'
    params          the kind of each parameter, as `params.ParameterLayout` takes them
    static_smem     bytes of static shared memory per block
    dynamic_smem    bytes of dynamic shared memory per block that every launch has to request
    block, cluster  (x, y, z) where the kernel was compiled for one shape
    registers       registers per thread; `spills` is in bytes per thread; both -1 where not known
    max_threads     threads per block that the registers allow; 0 where not known
    written         names of the array parameters that the kernel writes
    built_with      CUDA version of the assembler; (0, 0) where not known
    signature       data of the compiler's own, returned on load: plain JSON (lists, not tuples; string keys)

    One of `cubin` and `ptx` must be there to load it.
    """

    name: str
    arch: str
    cubin: bytes = b""
    ptx: str = ""
    params: tuple[str, ...] = ()
    static_smem: int = 0
    dynamic_smem: int = 0
    block: tuple[int, int, int] | None = None
    cluster: tuple[int, int, int] | None = None
    registers: int = -1
    spills: int = -1
    max_threads: int = 0
    written: tuple[str, ...] = ()
    built_with: tuple[int, int] = (0, 0)
    signature: Any = None

    @property
    def digest(self) -> str:
        """A digest of the code, and of what a launch packs, 32 hex digits: equal ones are loaded as one function.

        The code alone is not enough: kernels that store an i32 or an f32 have the same.
        """
        about = f"{self.name}\0{self.arch}\0{self.params}\0{self.written}\0"
        return checksum(about.encode() + (self.cubin or self.ptx.encode())).hex()

    def to_bytes(self) -> bytes:
        """Return the artefact as `from_bytes` reads it. Errors: TypeError where `signature` is not JSON data."""
        import json  # imported late, to keep importing this package cheap

        plain = {name: value for name, value in self._asdict().items() if name not in _IMAGES}
        meta = json.dumps(plain, separators=(",", ":"), allow_nan=False).encode()
        ptx = self.ptx.encode()
        header = _HEADER.pack(_MAGIC, _VERSION, len(meta), len(self.cubin), len(ptx))
        body = meta + self.cubin + ptx
        return header + checksum(header + body) + body

    @classmethod
    def from_bytes(cls, data: bytes) -> Artifact:
        """Read the artefact that `to_bytes` wrote. Errors: `ArtifactError` saying what is wrong with `data`."""
        import json

        (meta_bytes, cubin_bytes, ptx_bytes), body = opened(data, _MAGIC, _VERSION, _HEADER, "artefact")
        if len(body) != meta_bytes + cubin_bytes + ptx_bytes:
            raise ArtifactError(f"the artefact is cut short: {len(body)} bytes follow its header")
        images = meta_bytes + cubin_bytes
        try:
            plain = json.loads(body[:meta_bytes])
            for name in _TUPLES:
                plain[name] = None if plain[name] is None else tuple(plain[name])
            return cls(**plain, cubin=body[meta_bytes:images], ptx=body[images:].decode())
        except (ValueError, TypeError, KeyError, RecursionError) as problem:
            raise ArtifactError(f"the artefact is whole, but not of format {_VERSION}: {problem}") from problem


_IMAGES = ("cubin", "ptx")  # stored as they are, after the JSON
_TUPLES = ("params", "block", "cluster", "written", "built_with")  # lists in JSON


def checksum(data: bytes) -> bytes:
    """Return a checksum of `data`, 16 bytes."""
    from _blake2 import blake2b  # hashlib's own, without the OpenSSL that it loads for others

    return blake2b(data, digest_size=16).digest()


def opened(data: bytes, magic: bytes, version: int, header: struct.Struct, what: str) -> tuple[list[int], bytes]:
    """Return the sizes in a file's header, and the bytes after its checksum. Errors: `ArtifactError`.

    The header begins with `magic` and `version`. The checksum follows it, and covers the header and the bytes after.
    """
    begin = header.size + 16
    if data[:8] != magic or len(data) < begin:
        raise ArtifactError(f"this is not {'a cutelite artefact' if what == 'artefact' else f'an {what} of cutelite'}")
    _, found, *sizes = header.unpack_from(data)
    if found != version:
        raise ArtifactError(f"the {what} has format {found}, and this runtime reads format {version}")
    body = data[begin:]
    if checksum(data[: header.size] + body) != data[header.size : begin]:
        raise ArtifactError(f"the {what} is damaged or cut short: its checksum does not match")
    return sizes, body
