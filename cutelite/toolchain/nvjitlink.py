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
from cutelite.toolchain import bindings, cubin, find
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
    # What it finds in the cache of the driver has no log.
    options = [f"-arch={target.arch}", "-no-cache", "-Xptxas=-v", *(f"-Xptxas={flag}" for flag in flags)]
    source = ptx.encode()
    try:
        link = nvjitlink.create(len(options), options)
    except nvjitlink.nvJitLinkError as error:
        raise ToolchainError("nvjitlink", f"{error}, for the options {' '.join(options)}") from error
    try:
        nvjitlink.add_data(link, nvjitlink.InputType.PTX, source, len(source), "kernel.ptx")
        defined: dict[str, str] = {}
        for path in libraries:
            _add(nvjitlink, link, target, path, ptx, defined)
        nvjitlink.complete(link)
        said = _buffer(nvjitlink.get_info_log_size, nvjitlink.get_info_log, link)
        image = _buffer(nvjitlink.get_linked_cubin_size, nvjitlink.get_linked_cubin, link)
    except nvjitlink.nvJitLinkError as error:
        why = _why(nvjitlink, link, error)
        if any(path in why for path in libraries):
            raise ToolchainError("link", why) from None
        raise refused("nvjitlink", why, ptx) from None
    finally:
        nvjitlink.destroy(link)
    return image, said.rstrip(b"\0").decode()


def _add(nvjitlink: Any, link: Any, target: Target, path: str, ptx: str, defined: dict[str, str]) -> None:
    """Add a library. `defined` has the functions of earlier ones, with their paths, and gets those of this one."""
    kind = KINDS[os.path.splitext(path)[1]]
    try:
        with open(path, "rb") as file:
            image = file.read()
    except OSError as error:
        raise ToolchainError("link", f"{path}: {error.strerror}") from None
    text = ""
    if kind == "PTX":  # where .f32 meets the .b32 of compilers, nvJitLink prints that prototypes differ
        text = image.decode(errors="replace")
        text = re.sub(_FUNCTION, lambda head: re.sub(r"\.[usf](\d+)\b", r".b\1", head[0]), text)
        image = text.encode()
    try:
        nvjitlink.add_data(link, getattr(nvjitlink.InputType, kind), image, len(image), path)
    except nvjitlink.nvJitLinkError as error:
        made, for_it = cubin.generation(image), target.arch.rstrip("af")
        other = (
            f"\nit is machine code for {made}, and the kernel is for {target.arch}" if made not in ("", for_it) else ""
        )
        raise ToolchainError("link", f"{path}: {_why(nvjitlink, link, error)}{other}") from None
    wanted = prototypes(ptx, "extern")
    for linking in ("visible", "weak"):
        has = cubin.prototypes(image, linking) if kind == "CUBIN" else prototypes(text, linking)
        for name, is_there in has.items():  # what nvJitLink only prints, and links all the same
            if wanted.get(name, is_there) != is_there:
                said = f"`{name}` is declared as {wanted[name]}, and is {is_there} there, in PTX's types"
                raise ToolchainError("link", f"{path}: {said}")
            if linking == "visible" and (other := defined.setdefault(name, path)) != path:
                raise ToolchainError("link", f"`{name}` is defined in {other} and in {path}")


def _why(nvjitlink: Any, link: Any, error: Exception) -> str:
    said = _buffer(nvjitlink.get_error_log_size, nvjitlink.get_error_log, link).rstrip(b"\0").decode()
    return said.strip() or str(error)


def prototypes(ptx: str, linking: str) -> dict[str, str]:
    """Return the prototypes of the functions in PTX that are `linking` (extern, visible, weak), by name."""
    found = {}
    for head, out, name, parameters in re.findall(_FUNCTION, ptx):
        if head == linking:
            result, taken = ([f"b{bits}{size}" for bits, size in re.findall(_TYPE, of)] for of in (out, parameters))
            found[name] = cubin.prototype(taken, "".join(result))
    return found


_FUNCTION = r"\.(extern|visible|weak)\s+\.func\s*(?:\(([^)]*)\))?\s*([\w$%]+)\s*\(([^)]*)\)"
_TYPE = r"\.[busf](\d+)\b(?:\s+[\w$%]+\s*(\[\d+\]))?"


def _buffer(size: Callable[[Any], int], fill: Callable[[Any, bytearray], None], link: Any) -> bytes:
    buffer = bytearray(size(link))
    if buffer:
        fill(link, buffer)
    return bytes(buffer)
