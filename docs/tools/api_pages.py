"""Pages of the API reference, by topic, for Sphinx: signatures and docstrings of every public name.

Docstrings here are plain text: sentences, indented code, and rows of a name and what is said of it. `reworked` makes
reStructuredText of them.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cutelite
from docs.tools.api_facts import facts

TOPICS = {
    "kernels": ("Kernels and launches", ("cutelite.dispatch", "cutelite.tune", "cutelite.diag", "cutelite.toolchain",
                "cutelite.sim", "cutelite_rt", "cutelite.lang.annotations")),
    "layouts": ("Layouts", ("cutelite.layout", "cutelite.lang.algebra")),
    "library": ("Library", ("cutelite.lib",)),
    "language": ("Language", ("cutelite.lang", "cutelite")),
}  # fmt: skip
"""File of a topic to its title, and the modules whose names it has; the first topic that fits takes a name."""

KERNELS = "attention gemm moe rows"
ROW = re.compile(r"^(\S(?:.*?\S)?)\s{2,}(\S.*)$")


def write(folder: Path) -> None:
    """Write a page for each topic into the folder."""
    folder.mkdir(exist_ok=True)
    pages = {file: [f"# {title}\n"] for file, (title, _) in TOPICS.items()}
    for name in dir(cutelite):
        if not name.startswith("_"):
            thing = getattr(cutelite, name)
            pages[_topic(thing, name)].append(_entry(thing, name))
    pages["calls"] = ["# Kernels to call\n", *_calls()]
    for file, parts in pages.items():
        page, text = folder / f"{file}.md", "\n".join(parts)
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def _topic(thing: Any, name: str) -> str:
    home = str(getattr(thing, "__module__", "cutelite"))
    for file, (_, modules) in TOPICS.items():
        if any(home == module or home.startswith(f"{module}.") for module in modules):
            return file
    return "language"


def _entry(thing: Any, name: str) -> str:
    if inspect.ismodule(thing):
        return f"## {name}\n\n```{{eval-rst}}\n.. automodule:: {thing.__name__}\n   :members:\n```\n"
    kind = "class" if inspect.isclass(thing) else "function" if inspect.isroutine(thing) else "data"
    if kind == "data":
        return f"## {name}\n\n```{{eval-rst}}\n.. py:data:: cutelite.{name}\n```\n"
    members = "\n   :members:" if kind == "class" else ""
    return f"## {name}\n\n```{{eval-rst}}\n.. auto{kind}:: cutelite.{name}{members}\n```\n"


def _calls() -> Iterator[str]:
    """Entries for the functions of `cutelite.kernels`, by module."""
    root = Path(cutelite.__file__).parent / "kernels"
    for folder in KERNELS.split():
        for file in sorted((root / folder).rglob("*.py")):
            if file.stem.startswith("_") and file.stem != "__init__":
                continue
            parts = file.relative_to(root.parent.parent).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            try:
                found = importlib.import_module(module)
            except ModuleNotFoundError as missing:
                if missing.name and missing.name.split(".")[0] in ("torch", "jax", "cupy"):
                    continue  # operators of a framework that is not installed here
                raise
            functions = [name for name, x in vars(found).items() if inspect.isfunction(x) and x.__module__ == module]
            public = [name for name in functions if not name.startswith("_") and inspect.getdoc(vars(found)[name])]
            if public:
                yield f"## {module}\n"
                yield from (f"```{{eval-rst}}\n.. autofunction:: {module}.{name}\n```\n" for name in public)


def reworked(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Replace the lines of a docstring by reStructuredText that shows them as they are meant."""
    before, made = list(lines), list[str]()
    code = table = False
    for line in _joined(lines):
        row = ROW.match(line)
        if not line.strip():
            made.append("")
            code = table = code and code
            continue
        if line.startswith(("    ", ">>> ")) and not table:
            if not code:
                made += ["", "::" if line.startswith("    ") else "", ""]
            code = True
            made.append(line)
        elif row and not row[1].endswith((".", ":")):
            if not table:
                made.append("")
            table, code = True, False
            made.append(f":{_plain(row[1])}: {_text(row[2])}")
        elif table and line.startswith(" "):
            made.append(f"   {_text(line.strip())}")
        else:
            if code or table:
                made.append("")
            code = table = False
            made.append(_text(line.strip()))
    rows = [f":{_plain(row)}: {_text(said)}" for row, said in facts(thing, "\n".join(before))]
    if rows:
        made += rows if table else ["", *rows]
    lines[:] = [*made, ""]


def _joined(lines: list[str]) -> list[str]:
    """The lines, with sentences that go over several in one: code in quotes may begin on one and end on the next."""
    made: list[str] = []
    for line in lines:
        plain = line.strip() and not line.startswith((" ", ">>>")) and not ROW.match(line)
        follows = made and made[-1].strip() and not made[-1].startswith((" ", ">>>")) and not ROW.match(made[-1])
        if plain and follows:
            made[-1] += " " + line
        else:
            made.append(line)
    return made


def _text(line: str) -> str:
    """A line with its code in double quotes, and no other markup."""
    made = ""
    for part in re.split(r"(``.*?``|`[^`]*`)", line):
        if part.startswith("`"):
            made += f"``{part.strip('`').strip()}``"
        else:  # a letter right behind code would undo it
            made += ("\\ " if made and part[:1].isalnum() else "") + re.sub(r"([*|_\\])", r"\\\1", part)
    return made


def _plain(name: str) -> str:
    return re.sub(r"([*|:`\\])", r"\\\1", name)
