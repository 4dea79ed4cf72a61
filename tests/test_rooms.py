"""Imports point down: the arrows of the house, and the file that bends one."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEAVES = {"config", "diag", "layout", "options", "parsers", "target"}  # which anyone may import
MIDDLE = {"ops", "ir"}
BELOW_PIPELINE = {"front", "lang", "passes", "lower", "sim", "toolchain", *MIDDLE}
ARROWS: dict[str, set[str]] = {
    **{leaf: set() for leaf in LEAVES},
    "options": {"parsers"},
    "config": {"options", "parsers"},
    "ir": LEAVES,
    "ops": {"ir", *LEAVES},
    "lang": MIDDLE | LEAVES,
    "lib": {"lang", *MIDDLE, *LEAVES},
    "front": {"lang", *MIDDLE, *LEAVES},
    "passes": MIDDLE | LEAVES,
    "lower": MIDDLE | LEAVES,
    "sim": MIDDLE | LEAVES,
    "toolchain": LEAVES,
    "builds": {"front", "passes", "toolchain", "ir", "cutelite_rt", *LEAVES},
    "pipeline": BELOW_PIPELINE | LEAVES | {"builds", "cutelite_rt"},
    "dispatch": BELOW_PIPELINE | LEAVES | {"builds", "pipeline", "cutelite_rt"},
    "tune": {"dispatch", "lang", "cutelite_rt", "toolchain", *LEAVES},
    "interop": {"dispatch", "cutelite_rt"},
    "kernels": {"dispatch", "interop", "lang", "lib", "tune", "__init__", "cutelite_rt", *LEAVES},
    "models": {"interop", "kernels"},
    "cli": BELOW_PIPELINE | LEAVES | {"__init__", "dispatch", "kernels", "pipeline", "cutelite_rt"},
    "__init__": LEAVES | {"dispatch", "lang", "lib", "tune"},
    "cutelite_rt": set(),
}


def room(module: str) -> str | None:
    """The room a dotted module name lies in; None for what is not ours."""
    package, _, rest = module.partition(".")
    if package == "cutelite":
        return rest.partition(".")[0] or "__init__"
    return package if package == "cutelite_rt" else None


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Line and room of each import of ours in `file`, within functions too."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module="cutelite", names=names):
                modules = [f"cutelite.{alias.name}" if alias.name in ARROWS else "cutelite" for alias in names]
            case ast.ImportFrom(module=str(module)):
                modules = [module]
            case _:
                continue
        yield from ((node.lineno, there) for there in map(room, modules) if there is not None)


def test_imports_point_down() -> None:
    bent = []
    for package in ("cutelite", "cutelite_rt"):
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            here = "cutelite_rt" if package == "cutelite_rt" else parts[1]
            bent += [
                f"{file.relative_to(ROOT)}:{line}: {here} imports {there}"
                for line, there in imports(file)
                if there != here and there not in ARROWS[here]
            ]
    assert bent == []
