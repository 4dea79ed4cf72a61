"""The machine instructions of Blackwell's own ops, as nvdisasm prints them, from fields and without the ops' code."""

import re
from collections.abc import Callable
from typing import Any

LETTERS = {"f16": "H", "tf32": "H", "i8": "I", "f8f6f4": "Q", "mxf8f6f4": "Q", "mxf4": "O", "mxf4nvf4": "O"}
COLLECTORS = {"": "", "discard": "", "fill": ".A_KEEP", "use": ".A_REUSE.A_KEEP", "lastuse": ".A_REUSE"}
SHAPES = {"32x32b": "", "16x64b": ".16dp64bit", "16x128b": ".16dp128bit", "16x256b": ".16dp256bit"}
COPIES = {
    "128x256b": "",
    "128x128b": ".128dp128bit",
    "64x128b.warpx2::02_13": ".2x64dp128bit_lw02_lw13",
    "64x128b.warpx2::01_23": ".2x64dp128bit_lw01_lw23",
    "32x128b.warpx4": ".4x32dp128bit",
    "4x256b": ".4dp256bit",
}
UNPACKED = {"": "", "b4x16_p64": ".U4x16P64", "b6x16_p32": ".U6x16P32"}


def pair(op: Any) -> str:
    return ".2CTA" if op.cta_group == 2 else ""


def product(op: Any) -> list[str]:
    """Return the instructions of a product, one for each step: the name, and the place of A."""
    name = f"UTC{LETTERS[op.kind]}MMA{pair(op)}"
    name += ".ASHIFT" if op.shift_a else ""
    name += r"\.(4X|BLOCK16)" if getattr(op, "block", 32) == 16 else ""
    left = "tmem" if op.a_in_tmem else "gdesc"
    end = f".*, 0x{op.scale_d:x}" if op.scale_d else ""
    first = rf"{name} {left}\[UR\d+\]{COLLECTORS[op.collector]}, gdesc\[UR\d+\], tmem\[UR\d+\]{end}"
    return [first] + [first.removesuffix(end)] * (len(op.steps) - 1)


KEPT = {"": "", "discard": "", "fill": ".B_KEEP", "use": ".B_REUSE.B_KEEP", "lastuse": ".B_REUSE"}


def stationary(op: Any) -> list[str]:
    buffer, _, action = op.collector.partition("::")
    kept = KEPT[action] + (f".BUFFER{buffer[1]}" if buffer not in ("", "b0") else "")
    left = "tmem" if op.a_in_tmem else "gdesc"
    return [rf"UTC{LETTERS[op.kind]}MMA.WS {left}\[UR\d+\], gdesc\[UR\d+\]{kept}, tmem\[UR\d+\]"] * len(op.steps)


def transfer(name: str, narrow: str) -> Callable[[Any], list[str]]:
    def made(op: Any) -> list[str]:
        end = f"{f'.x{op.repeats}' if op.repeats > 1 else ''}{narrow if op.narrow else ''}"
        if op.shape == "16x32bx2":
            return [f"{name}.16dp32bit_{threads}{end} " for threads in ("t0_t15", "t16_t31")]
        return [f"{name}{SHAPES[op.shape]}{end} "]

    return made


def reduced(op: Any) -> list[str]:
    how = op.kind.upper() + ("ABS" if op.abs else "") + {"f32": ".F32", "i32": ".S32", "u32": ""}[op.elem.name]
    end = f".x{op.repeats}.{how}{'.NAN' if op.nan else ''} "
    parts = [".16dp32bit_t0_t15", ".16dp32bit_t16_t31"] if op.shape == "16x32bx2" else [""]
    return [f"LDTM.STAT{part}{end}" for part in parts]


def commit(op: Any) -> list[str]:
    return [f"UTCBAR{pair(op)}{'.MULTICAST' if op.mask is not None else ''} "]


def copy(op: Any) -> list[str]:
    return [f"UTCCP.T.S{pair(op)}{COPIES[op.shape]}{UNPACKED[op.packed]} "]


def allocated(op: Any) -> list[str]:
    return [r"UTCATOMSWS\S*FIND_AND_SET"]


def tma(name: str, several: str = ".MULTICAST") -> Callable[[Any], list[str]]:
    def made(op: Any) -> list[str]:
        rows, pixels = op.name.endswith("4"), "im2col" in op.name
        name_of = f"{name}.{2 if rows else len(op.coord)}D" + (".IM2COL" if pixels else "")
        if op.name.endswith("im2col.w"):
            name_of = name_of.replace("IM2COL", "W128" if op.tensor_map.parts > 1 else "W")
        name_of += (".GATHER4" if "gather" in op.name else ".SCATTER4") if rows else ""
        if name == "UTMALDG":
            name_of += (several if op.multicast is not None else "") + (".2CTA" if op.pair else "")
        if name == "UTMAREDG":
            name_of += f".{op.kind.upper()}"
        return [f"{name_of} "]

    return made


def packed(name: str) -> Callable[[Any], list[str]]:
    return lambda op: [f"{name}2{'.FTZ' if op.ftz else ''}{DIRECTED[op.rounding]} "]


DIRECTED = {"rn": "", "rz": r"\.RZ", "rm": r"\.RM", "rp": r"\.RP"}


def apart(name: str) -> Callable[[Any], list[str]]:
    """Return the scalar instructions: sm_110 and sm_120 have no packed arithmetic."""
    return lambda op: [f"{name}{'.FTZ' if op.ftz else ''}{DIRECTED[op.rounding]} "] * 2


def first_block(op: Any) -> list[str]:
    return {"x": [], "y": [r"LOP3\.LUT R\d+, R\d+, 0xffff,"], "z": [r"SHF\.R\.U32\.HI R\d+, RZ, 0x10,"]}[op.axis]


def scaled(op: Any) -> list[str]:
    """Return the instruction of a scaled mma.sync on sm_120: QMMA for numbers of a byte, OMMA for two to a byte."""
    a, b, sparse = op.format_a.upper(), op.format_b.upper(), r"\.SP" if op.sparse else ""
    if op.kind_of_mma == "f8f6f4":
        return [rf"QMMA{sparse}\.168{op.k}\.F32\.{a}\.{b} "]
    if op.kind_of_mma == "mxf8f6f4":
        return [rf"QMMA\.SF{sparse}\.168{op.k}\.F32\.{a}\.{b}\.E8 "]
    scale = {"ue8m0": "E8", "ue4m3": "UE4M3"}[op.scale]
    return [rf"OMMA\.SF{sparse}\.168{op.k}\.F32\.E2M1\.E2M1\.{scale}{'.4X' if op.several == 4 else ''} "]


EXPECTED: dict[str, Callable[[Any], list[str]]] = {
    "tcgen05.mma": product,
    "tcgen05.mma.block_scale": product,
    "tcgen05.mma.ws": stationary,
    "tcgen05.ld": transfer("LDTM", ".PACK16BIT"),
    "tcgen05.ld.red": reduced,
    "tcgen05.st": transfer("STTM", ".EXPAND16BIT"),
    "tcgen05.wait.st": lambda op: ["FENCE.VIEW.ASYNC.T "],
    "tcgen05.commit": commit,
    "tcgen05.cp": copy,
    "tcgen05.shift": lambda op: [f"UTCSHIFT{pair(op)}.DOWN "],
    "tcgen05.alloc": allocated,
    "tcgen05.dealloc": lambda op: ["UTCATOMSWS.AND "],
    "tcgen05.relinquish_alloc_permit": lambda op: ["UVIRTCOUNT.DEALLOC.SMPOOL"],
    "cp.async.bulk.tensor.g2s": tma("UTMALDG"),
    "cp.async.bulk.tensor.gather4": tma("UTMALDG"),
    "cp.async.bulk.tensor.im2col": tma("UTMALDG"),
    "cp.async.bulk.tensor.im2col.w": tma("UTMALDG"),
    "cp.async.bulk.prefetch.tensor.im2col.w": tma("UTMAPF.L2"),
    "cp.async.bulk.prefetch.tensor.gather4": tma("UTMAPF.L2"),
    "cp.async.bulk.tensor.s2g": tma("UTMASTG"),
    "cp.async.bulk.tensor.scatter4": tma("UTMASTG"),
    "cp.async.bulk.tensor.im2col.s2g": tma("UTMASTG"),
    "cp.reduce.async.bulk.tensor": tma("UTMAREDG"),
    "cp.reduce.async.bulk.tensor.im2col": tma("UTMAREDG"),
    "cp.async.bulk.prefetch.tensor": tma("UTMAPF.L2"),
    "cp.async.bulk.prefetch.tensor.im2col": tma("UTMAPF.L2"),
    "clusterlaunchcontrol.try_cancel": lambda op: [f"UGETNEXTWORKID.{'BROADCAST' if op.multicast else 'SELFCAST'} "],
    "clusterlaunchcontrol.query_cancel.is_canceled": lambda op: [r"LOP3\.LUT P\d, RZ, R\d+, 0x1,"],
    "clusterlaunchcontrol.query_cancel.get_first_ctaid": first_block,
    "add.f32x2": packed("FADD"),
    "sub.f32x2": packed("FADD"),
    "mul.f32x2": packed("FMUL"),
    "fma.f32x2": packed("FFMA"),
}
"""What to look for in the code of an op, in order, by the op's name. Fences of threads and renamings are no code."""

APART: dict[str, Callable[[Any], list[str]]] = {
    f"{word}.f32x2": apart(name) for word, name in (("add", "FADD"), ("sub", "FADD"), ("mul", "FMUL"), ("fma", "FFMA"))
}

CLIENT: dict[str, Callable[[Any], list[str]]] = {
    **{
        name: made
        for name, made in EXPECTED.items()
        if not name.startswith("tcgen05")
        and not name.endswith(("scatter4", "prefetch.tensor.im2col.w", "prefetch.tensor.gather4"))
    },
    "cp.async.bulk.tensor.g2s": tma("UTMALDG", ""),  # ptxas makes other code of a mask of blocks
    "cp.async.bulk.tensor.im2col": tma("UTMALDG", ""),
    "cp.async.bulk.tensor.im2col.w": tma("UTMALDG", ""),
    **APART,
    "mma.sync.block_scale": scaled,
}
"""The same of sm_120, which has no tensor memory."""


def missing(printed: str, op: Any, expected: dict[str, Callable[[Any], list[str]]]) -> list[str]:
    """Return the expected instructions that a kernel's code, as nvdisasm prints it, lacks, in order."""
    made = expected.get(op.name)
    left = made(op) if made is not None else []
    for line in re.findall(r"/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\w+ )?\s*([^;]*);", printed):
        if left and re.match(left[0].replace(".16dp", r"\.16dp"), f"{line} "):
            left = left[1:]
    return left
