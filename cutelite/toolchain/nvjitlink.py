"""PTX -> cubin by nvJitLink, ptxas as a library: for machines without the program.

It takes 6 ms for a vector add, after 60 to 100 ms to load the library. It compiles as if something were to be linked to
the kernel, and therefore ignores `setmaxnreg` (warning C7504): the results are right, but a kernel whose producer and
consumer warps trade registers is slower. So ptxas is preferred.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from cutelite.target import Target
from cutelite.toolchain import bindings, find
from cutelite.toolchain.errors import ToolchainError
from cutelite.toolchain.ptxas import refused


def available() -> bool:
    """Tell whether the library is installed, and a binding that calls it."""
    return not missing()


def missing() -> str:
    """Return the reason why nvJitLink cannot be used; '' if it can."""
    return find.unusable("nvJitLink", "nvJitLink", version)


def version() -> str:
    """Return the version of the library, such as `13.5`."""
    return ".".join(map(str, bindings.cuda("nvjitlink").version()))


KINDS = {
    ".ptx": "PTX",
    ".cubin": "CUBIN",
    ".fatbin": "FATBIN",
    ".o": "OBJECT",
    ".obj": "OBJECT",
    ".a": "LIBRARY",
    ".lib": "LIBRARY",
    ".ltoir": "LTOIR",
}
"""nvJitLink's names for the kinds of file that can be linked, by the file's suffix."""


def assemble(ptx: str, target: Target, flags: Sequence[str], libraries: Sequence[str] = ()) -> tuple[bytes, str]:
    """Return the cubin and the library's log.

    flags      flags for ptxas
    libraries  files to link, of `KINDS`
    Errors     `ToolchainError`, as for ptxas; also for symbols that no library defines, and for files of no such kind
    """
    nvjitlink = bindings.cuda("nvjitlink")
    options = [f"-arch={target.arch}", "-Xptxas=-v", *(f"-Xptxas={flag}" for flag in flags)]
    source = ptx.encode()
    try:
        link = nvjitlink.create(len(options), options)
    except nvjitlink.nvJitLinkError as error:
        raise ToolchainError("nvjitlink", f"{error}, for the options {' '.join(options)}") from error
    try:
        nvjitlink.add_data(link, nvjitlink.InputType.PTX, source, len(source), "kernel.ptx")
        for path in libraries:
            _add(nvjitlink, link, path, ptx)
        nvjitlink.complete(link)
        said = _buffer(nvjitlink.get_info_log_size, nvjitlink.get_info_log, link)
        image = _buffer(nvjitlink.get_linked_cubin_size, nvjitlink.get_linked_cubin, link)
    except nvjitlink.nvJitLinkError:
        why = _buffer(nvjitlink.get_error_log_size, nvjitlink.get_error_log, link).rstrip(b"\0").decode()
        if any(path in why for path in libraries):
            raise ToolchainError("link", why) from None
        raise refused("nvjitlink", why, ptx) from None
    finally:
        nvjitlink.destroy(link)
    return image, said.rstrip(b"\0").decode()


def _add(nvjitlink: Any, link: Any, path: str, ptx: str) -> None:
    kind = KINDS[os.path.splitext(path)[1]]
    try:
        with open(path, "rb") as file:
            image = file.read()
    except OSError as error:
        raise ToolchainError("link", f"{path}: {error.strerror}") from None
    if kind == "PTX":
        _check_prototypes(ptx, image.decode(errors="replace"), path)
    nvjitlink.add_data(link, getattr(nvjitlink.InputType, kind), image, len(image), path)


def _check_prototypes(ptx: str, library: str, path: str) -> None:
    """Check that the functions that `ptx` declares are those of a library: nvJitLink links any, and says so nowhere.

    Errors  `ToolchainError` for one whose result or parameters have other sizes
    """
    defined = _prototypes(library, ("",))
    for name, wanted in _prototypes(ptx, (".extern",)).items():
        if defined.get(name, wanted) != wanted:
            said, has = (f"({', '.join(of[1])}) -> {of[0] or 'nothing'}" for of in (wanted, defined[name]))
            text = f"{path}: `{name}` is declared as {said}, and is {has} there, in PTX's types"
            raise ToolchainError("link", text)


def _prototypes(ptx: str, linking: tuple[str, ...]) -> dict[str, tuple[str, list[str]]]:
    """Return result and parameters of the functions in PTX that are linked in one of these ways, by name, as types."""
    found = {}
    for head, out, name, parameters in re.findall(_FUNCTION, ptx):
        if (".extern" if head == ".extern" else "") in linking:
            found[name] = " ".join(map(_bits, re.findall(_TYPE, out))), [*map(_bits, re.findall(_TYPE, parameters))]
    return found


def _bits(type: str) -> str:
    return "b" + type.lstrip("busf") if type[1:].isdigit() else type


_FUNCTION = r"(\.extern|\.visible|\.weak)\s+\.func\s*(?:\(([^)]*)\))?\s*([\w$%]+)\s*\(([^)]*)\)"
_TYPE = r"\.([busf]\d+)\b"


def _buffer(size: Callable[[Any], int], fill: Callable[[Any, bytearray], None], link: Any) -> bytes:
    buffer = bytearray(size(link))
    if buffer:
        fill(link, buffer)
    return bytes(buffer)
