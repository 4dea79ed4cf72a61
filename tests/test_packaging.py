"""The package: dependencies that are used, and a page for an index without dead links."""

import ast
import re
import runpy
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.test_rooms import files, inside_functions

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FRAMEWORKS = {"torch", "jax", "jaxlib", "cupy", "transformers", "nvtx", "tvm_ffi"}  # that users bring
README = (ROOT / "README.md").read_text()


def imported() -> Iterator[str]:
    """The modules that the packages import by name, `importlib` included."""
    for file, tree, _ in files().values():
        calls = "import_module" in (ROOT / file).read_text()  # in expressions, which take longer to go through
        for node in ast.walk(tree) if calls else (node for node, _ in inside_functions(tree)):
            match node:
                case ast.Import(names=names):
                    yield from (alias.name for alias in names)
                case ast.ImportFrom(module=str(module), names=names):
                    yield from (f"{module}.{alias.name}" for alias in names)
                case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
                    yield name
                case ast.Call(func=ast.Attribute(attr="import_module"), args=[_, ast.Constant(value=str(package))]):
                    yield package  # of a module named at run time


def test_dependencies_are_what_is_imported() -> None:
    names = [re.split(r"[<>=; ]", each)[0] for each in PROJECT["dependencies"]]
    modules = {name.replace("cuda-", "cuda.").replace("-", "_") for name in names}
    found = set(imported())
    unused = {name for name in modules if not any(f"{module}.".startswith(f"{name}.") for module in found)}
    assert unused == set()
    roots = {module.partition(".")[0] for module in found} - sys.stdlib_module_names - {"annotationlib"}  # of 3.14
    assert roots - {name.partition(".")[0] for name in modules} - FRAMEWORKS == {"cutelite", "cutelite_rt"}


def links(text: str) -> list[str]:
    """To files, from outside of code."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [path.partition("#")[0] for path in re.findall(r"\[[^]]*\]\((?!https?:)([^)]+)\)", prose)]


def test_links_of_the_readme_lead_somewhere() -> None:
    assert links(README) != [] and [path for path in links(README) if not (ROOT / path).exists()] == []


def test_the_page_of_an_index_has_no_links_to_files() -> None:
    page = runpy.run_path(str(ROOT / "setup.py"))["page"]
    shown = page(README)
    assert links(shown) == [] and "`docs/lab/gemm.md`" in shown
    assert all(code in shown for code in re.findall(r"^```.*?^```$", README, re.MULTILINE | re.DOTALL))
    assert page("a [b](https://c) ![d](e.svg)\n\n[f](f), [g](h)") == "a [b](https://c) `f`, g (`h`)"


def test_an_sdist_has_what_its_tests_need() -> None:
    """All that is in the repository's folder is in MANIFEST.in, in a package, or in .gitignore."""
    told = (ROOT / "MANIFEST.in").read_text().split()
    ignored = [line.strip("/\n") for line in (ROOT / ".gitignore").read_text().splitlines()]
    own = {".git", "cutelite", "cutelite_rt", "pyproject.toml", "setup.py", "MANIFEST.in", "PKG-INFO", "setup.cfg"}
    others = [path.name for path in ROOT.iterdir() if not any(map(path.match, ignored))]
    assert set(others) - own - set(told) == set()


def test_files_beside_the_code_are_installed() -> None:
    """All files of the packages but Python's are in package-data; stubs setuptools takes by itself."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    for package, patterns in told.items():
        folder = ROOT / package
        found = (file for file in folder.rglob("*.*") if file.is_file() and file.parent.name != "__pycache__")
        files = {file for file in found if file.suffix not in (".py", ".pyi")}
        assert files - {file for pattern in patterns for file in folder.glob(pattern)} == set()


def test_no_script_hides_a_module_of_python() -> None:
    """A script's folder comes first where it imports: beside a `profile.py`, torch finds that one."""
    folders = ("examples", "examples/llama", "tests/bench", "docs/tutorial", "docs/tools")
    names = {file.stem for folder in folders for file in (ROOT / folder).glob("*.py")}
    assert len(names) > 50
    assert not names & sys.stdlib_module_names
