"""The shape of the house: arrows between rooms, no circles within them, short functions, imports at the top."""

import ast
import functools
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Open to anyone.
LEAVES = {
    "config", "diag", "graphs", "layout", "options", "parsers", "records", "sass", "target", "threads", "together",
    "tuples",
}  # fmt: skip
MIDDLE = {"ops", "ir"}
BELOW_PIPELINE = {"front", "lang", "passes", "lower", "sim", "toolchain", *MIDDLE}
ARROWS: dict[str, set[str]] = {
    **{leaf: set() for leaf in LEAVES},
    **{leaf: {"tuples"} for leaf in ("diag", "parsers")},
    "sass": {"diag", "graphs", "tuples"},
    "target": {"records", "threads", "tuples"},
    "options": {"parsers", "records", "tuples"},
    "config": {"options", "parsers", "records", "target", "tuples", "cutelite_rt"},
    "ir": LEAVES,
    "ops": {"ir", *LEAVES},
    "lang": MIDDLE | LEAVES,
    "lib": {"lang", *MIDDLE, *LEAVES},
    "front": {"lang", *MIDDLE, *LEAVES},
    "passes": MIDDLE | LEAVES,
    "lower": MIDDLE | LEAVES,
    "sim": MIDDLE | LEAVES,
    "toolchain": LEAVES,
    "builds": {"front", "passes", "toolchain", *MIDDLE, "cutelite_rt", *LEAVES},
    "pipeline": BELOW_PIPELINE | LEAVES | {"builds", "cutelite_rt"},
    "dispatch": BELOW_PIPELINE | LEAVES | {"builds", "explore", "pipeline", "cutelite_rt"},
    "bench": {"dispatch", "tune", "cutelite_rt", *LEAVES},
    "tune": {"dispatch", "lang", "cutelite_rt", "toolchain", *LEAVES},
    "interop": {"dispatch", "lang", "cutelite_rt"},
    "kernels": {"dispatch", "interop", "lang", "lib", "tune", "__init__", "cutelite_rt", *LEAVES},
    "models": {"interop", "kernels"},
    "explore": {"builds", "passes", "sim", "toolchain", *MIDDLE, *LEAVES},
    "cli": {"explore", "__init__", "dispatch", "ir", "kernels", "lang", "sim", "toolchain", "cutelite_rt", *LEAVES},
    "__init__": LEAVES | {"dispatch", "lang", "lib", "tune"},
    "__main__": {"cli"},
    "cutelite_rt": set(),
}


def room(module: str) -> str | None:
    """Return the room of a dotted module name; None for a module that is not ours."""
    package, _, rest = module.partition(".")
    if package == "cutelite":
        return rest.partition(".")[0] or "__init__"
    return package if package == "cutelite_rt" else None


@functools.cache
def files() -> dict[str, tuple[Path, ast.Module, int]]:
    """Every module of ours: its file, its syntax, its lines."""
    found = {}
    for package in ("cutelite", "cutelite_rt"):
        for file in sorted((ROOT / package).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            text = file.read_text(encoding="utf-8")
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = file.relative_to(ROOT), ast.parse(text), text.count("\n")
    return found


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and room of each import of ours in a file, within functions too."""
    for node, _ in inside_functions(tree):
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
    for name, (file, tree, _) in files().items():
        here = room(name)
        assert here is not None
        bent += [
            f"{file}:{line}: {here} imports {there}"
            for line, there in imports(tree)
            if there != here and there not in ARROWS[here]
        ]
    assert bent == []


# Within rooms.

LINES = 60
"""A public function is no longer than that."""


FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def statements(tree: ast.AST, inside: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield each statement, and whether it stands in a function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            yield node, inside
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):  # expressions hold none
            yield from statements(node, inside or isinstance(node, FUNCTION))


def inside_functions(tree: ast.AST) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield each import, and whether it stands in a function."""
    return ((node, inside) for node, inside in statements(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def modules_of(node: ast.stmt) -> list[str]:
    """Return the modules of ours that an import names."""
    match node:
        case ast.Import(names=names):
            named = [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names):
            whole = [f"{module}.{alias.name}" for alias in names]
            named = [name if name in files() else module for name in whole]
        case _:
            named = []
    return [name for name in named if name in files()]


LISTED_ELSEWHERE = {
    "cutelite": "ARCHITECTURE.md",
    "cutelite.ops": "docs/ops.md",
    "cutelite.passes": "passes/order.py",
    "cutelite.toolchain.ptxas_bugs": "docs/checking-hardware.md",
    "cutelite.layout": "docs/layouts.md",
}
"""Rooms with a file for each op, pass or bug, or each function of the algebra."""


def test_a_room_says_what_each_of_its_modules_is() -> None:
    """The table at the top of a room is where a reader begins: it names all of its files and folders."""
    unnamed = []
    for name, (file, tree, _) in files().items():
        if file.name != "__init__.py" or name in LISTED_ELSEWHERE:
            continue
        said = set(re.findall(r"\w+", ast.get_docstring(tree) or ""))
        its = {other.removeprefix(f"{name}.") for other in files() if other.startswith(f"{name}.")}
        unnamed += [f"{name}: {each}" for each in sorted(its) if "." not in each and each not in said | {"__main__"}]
    assert unnamed == []


def test_no_module_imports_itself_in_a_circle() -> None:
    """Imports for annotations alone count as well."""
    graph = {
        name: {module for node, inside in inside_functions(tree) if not inside for module in modules_of(node)}
        for name, (_, tree, _) in files().items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None


def test_imports_in_functions_are_rare() -> None:
    """At most one in a thousand lines: what costs time to load and few need, or what may be missing."""
    found = [
        f"{file}:{node.lineno}: {ast.unparse(node)}"
        for file, tree, _ in files().values()
        for node, inside in inside_functions(tree)
        if inside
    ]
    lines = sum(lines for _, _, lines in files().values())
    assert len(found) <= lines / 1000, "\n".join(found)


def long_functions() -> Iterator[str]:
    for file, tree, _ in files().values():
        for node, _ in statements(tree):
            if isinstance(node, FUNCTION) and not node.name.startswith("_"):
                assert node.end_lineno is not None
                if node.end_lineno - node.lineno + 1 > LINES:
                    yield f"{file.as_posix()}: {node.name}"


def test_public_functions_are_short() -> None:
    assert list(long_functions()) == []
