"""PTX -> PTX without the instructions that ptxas computes wrongly; each bug has a file.

PTX that is assembled here avoids the bugs of the assembler in use. PTX that is kept (`kernel.export`, the disk
cache, `compiled.ptx`) avoids all of them, since it is unknown which assembler will read it. If PTX has none of the
words of a bug's instructions, the bug's file is not even imported.

docs/checking-hardware.md lists the bugs, docs/lab/checking.md says how some were found and for which numbers they show.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING, Any

from cutelite.toolchain.ptxas_bugs.bug import Bug, Version

if TYPE_CHECKING:
    BUGS: tuple[Bug, ...]

WORDS: dict[str, tuple[str, ...]] = {
    "negation_16_bits": (".s16 ",),
    "absolute_sign": ("abs.s",),  # after negation_16_bits, which writes abs.s32, of numbers above -2**31
    "saturation_of_negated": (".sat.s32 ",),
    "selection_read_late": ("selp.",),
    "logic_read_late": ("and.pred", "or.pred", "not.pred", ".and.", ".or.", ".xor."),
    "not_in_place": ("not.pred",),  # after selection_read_late, which would rewrite the selp written here
    "min_max_equality": tuple(f"{word}.{kind}" for word in ("min", "max") for kind in ("s16", "u16", "relu")),
    "relu_of_one_half": ("max.s16",),
    "nan_of_one_half": tuple(f".{which}.{kind}x2" for which in ("NaN", "xorsign.abs") for kind in ("f16", "bf16")),
    "negated_second_of_three": ("min.s32", "max.s32", "relu.s32"),
    "narrow_store_of_float": (".b8 ", ".b16 ", ".f64"),
    "lop3_repeated_operand": ("lop3.b32",),
    "high_half_difference": ("mul.hi.",),
    "far_constants": ("wgmma.mma_async",),
    "atomic_loops": tuple(
        f"shared{where}.{update}." for where in ("", "::cta") for update in ("add", "min", "max", "and", "or", "xor")
    ),
}
"""The files of the bugs, in the order of rewriting, each with words: PTX that shows the bug has one of them."""

_AVOIDED = "// avoided bugs of ptxas: "


@cache
def _bug(name: str) -> Bug:
    bug: Bug = importlib.import_module(f"{__name__}.{name}").BUG
    return bug


def __getattr__(name: str) -> Any:
    """Return `BUGS`, all the bugs in order, importing their files."""
    if name != "BUGS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return tuple(map(_bug, WORDS))


def bugs_of(version: Version | None) -> tuple[Bug, ...]:
    """Return the bugs of a version of ptxas; all bugs if the version is unknown."""
    return tuple(bug for bug in map(_bug, WORDS) if bug.is_in(version))


def avoid(ptx: str, bugs: Collection[Bug] | None = None) -> str:
    """Return `ptx` rewritten to avoid `bugs`, or all, and if it changed with a comment that names these.

    Bugs that a comment of an earlier call names are left out, so PTX of `compiled.ptx` may be compiled again: a
    rewrite would take what it has written itself for the user's.
    """
    avoided = {name for comment in ptx.split(_AVOIDED)[1:] for name in comment.partition("\n")[0].split()}
    names = [name for name in WORDS if name not in avoided and (bugs is None or _bug(name) in bugs)]
    changed = ptx
    for name in names:
        if any(word in changed for word in WORDS[name]):
            changed = _bug(name).rewrite(changed)
    return ptx if changed == ptx else f"{changed}\n{_AVOIDED}{' '.join(names)}\n"


__all__ = ["BUGS", "WORDS", "Bug", "Version", "avoid", "bugs_of"]
