"""Machine code, the result of `toolchain`, with the assembler's report."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator

from cutelite.toolchain.log import ToolWarning, Usage
from cutelite.tuples import NamedTuple


class Cubin(NamedTuple):
    """Machine code for one architecture.

    image     the ELF file, as `cuModuleLoadData` takes it
    usage     registers, spills and shared memory: for each, the most that any kernel in it uses
    warnings  the assembler's warnings, also of spills and serialised wgmma
    log       the assembler's whole output
    tool      the assembler: the path of a ptxas, `nvJitLink` or `driver`
    """

    image: bytes
    arch: str
    usage: Usage
    warnings: tuple[ToolWarning, ...]
    log: str
    tool: str

    @property
    def cuda_version(self) -> tuple[int, int]:
        """The assembler's release, such as (13, 0), from a note in the image; (0, 0) without one."""
        _, _, rest = self.image.partition(b"Cuda compilation tools, release ")
        major, _, minor = rest.partition(b",")[0].partition(b".")
        return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)

    @property
    def constants(self) -> dict[int, int]:
        """Bytes used of each constant bank, the most of any kernel: bank 0 holds parameters, 3 `cl.constant` arrays."""
        banks: dict[int, int] = {}
        for name, _, size in sections(self.image):
            number = name.removeprefix(".nv.constant").partition(".")[0]  # .nv.constant0.gemm
            if number.isdigit():
                bank = int(number)
                banks[bank] = max(size, banks.get(bank, 0))
        return banks


def sections(image: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield name, offset and size of the sections of a 64-bit ELF file."""
    (table,) = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQ", image, table + i * size) for i in range(count)]
    start = headers[names][4]
    for name, _, _, _, offset, length in headers:
        yield _text(image, start + name), offset, length


def generation(image: bytes) -> str:
    """Return for which GPUs a file is machine code, such as `sm_90`; '' if it is no cubin."""
    if len(image) < 64 or image[:4] != b"\x7fELF" or image[18:20] != b"\xbe\0":  # e_machine: EM_CUDA
        return ""
    (flags,) = struct.unpack_from("<I", image, 48)
    return f"sm_{(flags >> 8 if image[8] >= 8 else flags) & 255}"  # EI_ABIVERSION: 8 since CUDA 13


def prototype(parameters: Iterable[str], result: str) -> str:
    """Return a function's prototype as text: `(b32, b8[16]) -> b32`."""
    return f"({', '.join(parameters)}) -> {result or 'nothing'}"


def prototypes(image: bytes, linking: str) -> dict[str, str]:
    """Return the prototypes of the functions that a cubin for linkers defines as `linking` (visible, weak), by name."""
    at = {name: (offset, size) for name, offset, size in sections(image)}
    if not {".nv.prototype", ".symtab", ".strtab"} <= at.keys():
        return {}
    (start, size), texts, found = at[".nv.prototype"], at[".strtab"][0], {}
    for symbol, text in struct.iter_unpack("<II", image[start : start + size]):
        name, info, _, section = struct.unpack_from("<IBBH", image, at[".symtab"][0] + 24 * symbol)
        if section and info >> 4 == {"visible": 1, "weak": 2}[linking]:
            result, *parameters = re.findall(r"b\d+|\w", _text(image, texts + text))  # "#fil": f32 (b32, b64)
            types = {"v": "", "i": "b32", "f": "b32", "l": "b64", "d": "b64"}
            words = (types.get(each, f"b8[{each[1:]}]") for each in parameters)
            found[_text(image, texts + name)] = prototype(words, types.get(result, f"b8[{result[1:]}]"))
    return found


def _text(image: bytes, start: int) -> str:
    return image[start : image.index(b"\0", start)].decode()
