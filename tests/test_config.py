"""Environment variables: what each takes, what a wrong value is answered with, and that nobody else reads them."""

import ast
import re
import warnings
from pathlib import Path

import pytest

from cutelite import config, options
from cutelite.options import Options

ROOT = Path(__file__).resolve().parents[1]


def test_an_empty_environment_gives_the_defaults() -> None:
    assert config.read({}) == config.Config()


def test_values_arrive_with_their_types() -> None:
    settings = config.read(
        {
            "CUTELITE_ARCH": "sm_80",
            "CUTELITE_OPT": "1",
            "CUTELITE_CACHE": "off",
            "CUTELITE_MAX_REGISTERS": "168",
            "CUTELITE_PTXAS_OPTIONS": "-Werror --warn-on-spills",
            "CUTELITE_DUMP": "ll, ptx",
            "CUTELITE_CACHE_DIR": "/somewhere",
        }
    )
    assert settings == config.Config(
        arch="sm_80",
        options=Options(opt=1, max_registers=168, ptxas_options=("-Werror", "--warn-on-spills")),
        cache=False,
        dump=("ll", "ptx"),
        cache_dir="/somewhere",
    )


def test_dump_all_is_every_stage() -> None:
    assert config.read({"CUTELITE_DUMP": "all"}).dump == config.STAGES


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        ("CUTELITE_OPT", "4", "a whole number from 0 to 3"),
        ("CUTELITE_OPT", "fast", "a whole number from 0 to 3"),
        ("CUTELITE_CACHE", "maybe", "1 or 0"),
        ("CUTELITE_BACKEND", "gcc", "llvm or nvvm"),
        ("CUTELITE_DUMP", "ptx,asm", "all, or any of bytecode"),
        ("CUTELITE_MAX_REGISTERS", "256", "a whole number from 16 to 255"),
        ("CUTELITE_CACHE_MAX_MB", "0", "a whole number of at least 1"),
    ],
)
def test_a_wrong_value_names_the_variable_and_what_it_takes(name: str, value: str, takes: str) -> None:
    with pytest.raises(config.ConfigError) as caught:
        config.read({name: value})
    assert str(caught.value).startswith(f"{name}={value}: takes {takes}")


ANY_TEXT = {
    "CUTELITE_PTXAS", "CUTELITE_PTXAS_OPTIONS", "CUTELITE_LINK_LIBRARIES", "CUTELITE_CACHE_DIR", "CUTELITE_DUMP_DIR",
    "CUTELITE_PROFILE", "CUDA_HOME", "CUDA_PATH", "NO_COLOR",
}  # fmt: skip
"""Variables whose values only tools and file systems can judge: their own tests name them."""


@pytest.mark.parametrize("row", config.VARIABLES, ids=lambda row: row.name)
@pytest.mark.parametrize("value", ["garbage", "-1", "/nowhere", "0x10", "1.5", "\u00e9"])
def test_no_variable_takes_garbage(row: config.Variable, value: str) -> None:
    if row.name in ANY_TEXT:
        config.read({row.name: value})
        return
    with pytest.raises(config.ConfigError) as caught:
        config.read({row.name: value})
    assert str(caught.value) == f"{row.name}={value}: takes {row.parser.accepts}"


def test_a_misspelt_name_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="CUTELITE_CAHCE is set, .*did you mean CUTELITE_CACHE?"):
        assert config.read({"CUTELITE_CAHCE": "0"}) == config.Config()
    for name, meant in (("CUTELITE_dump", "CUTELITE_DUMP"), ("CUTLITE_PRINT", "CUTELITE_PRINT")):
        with pytest.warns(UserWarning, match=f"{name} is set, .*did you mean {meant}?"):
            config.read({name: "all"})


def test_a_misspelt_name_is_warned_of_once() -> None:
    with pytest.warns(UserWarning, match="CUTELITE_TIMSE is set, .*did you mean CUTELITE_TIMES?") as caught:
        config.read({"CUTELITE_TIMSE": "1"})
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config.read({"CUTELITE_TIMSE": "1"})


def test_set_to_nothing_is_not_set() -> None:
    assert config.read({"CUTELITE_OPT": "", "CUTELITE_ARCH": " "}) == config.Config()


@pytest.mark.parametrize(
    ("environment", "terminal", "colour"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": "1", "CUTELITE_COLOR": "always"}, False, True),
        ({"CUTELITE_COLOR": "never"}, True, False),
    ],
)
def test_colour(environment: dict[str, str], terminal: bool, colour: bool) -> None:
    assert config.read(environment).use_color(terminal) is colour


def test_cuda_home_goes_before_cuda_path() -> None:
    assert config.read({"CUDA_PATH": "/b"}).toolkit == "/b"
    assert config.read({"CUDA_PATH": "/b", "CUDA_HOME": "/a"}).toolkit == "/a"


def test_the_page_of_options_is_what_the_table_prints() -> None:
    assert (ROOT / "docs" / "options.md").read_text(encoding="utf-8") == options.markdown()


def _reads_environment(tree: ast.AST) -> bool:
    names = {"environ", "environb", "getenv", "getenvb"}
    return any(
        (isinstance(node, ast.Attribute) and node.attr in names)
        or (isinstance(node, ast.ImportFrom) and node.module == "os" and names & {alias.name for alias in node.names})
        for node in ast.walk(tree)
    )


def test_no_other_file_reads_the_environment() -> None:
    files = [*(ROOT / "cutelite").rglob("*.py"), *(ROOT / "cutelite_rt").rglob("*.py")]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    may = [file for file, text in texts.items() if re.search("environ|getenv", text)]  # only these need be parsed
    readers = [file.relative_to(ROOT).as_posix() for file in may if _reads_environment(ast.parse(texts[file]))]
    assert readers == ["cutelite/config.py", "cutelite_rt/cache.py"]  # the latter: where users keep their caches
