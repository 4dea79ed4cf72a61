"""Keys: what changes the code changes the key, what does not leaves it, and no process has a key of its own."""

from __future__ import annotations

import enum
import math
import os
import sys
import textwrap
import threading
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite.dispatch import fingerprint
from cutelite.dispatch.fingerprint import Source, constant_key, source
from cutelite.kernels.gemm import Config
from tests.processes import ROOT, printed

PROGRAM = """
import dataclasses, enum, functools, math, typing
import helpers
import cutelite as cl
from cutelite import f32
from helpers import scaled

TILE = 64
SHAPE = (4, (2, 8))
TABLE = {"a": 1, "b": [1, 2]}
NAMES = frozenset(("x", "y", "z"))
RATE = 0.5
UNRELATED = 1
x = object()
M = cl.dims("M")

@dataclasses.dataclass(frozen=True)
class Config:
    stages: int = 4
    order: tuple = ("m", "n")
    size: int = dataclasses.field(default_factory=lambda: 3)

    _hidden = 7

    def bytes(self):
        return self.stages * 16

    @property
    def twice(self):
        return 2 * self.stages

    @staticmethod
    def fixed():
        return 5

    @classmethod
    def made(cls):
        return cls(9)

class Storage(cl.SharedStorage):
    held: cl.Smem[cl.bf16, (24, 3)]

class Mode(enum.Enum):
    FAST = 1
    SLOW = 2

    def steps(self):
        return 10

class Point(typing.NamedTuple):
    x: int = 1
    y: int = 2

CONFIG = Config()
MODE = Mode.FAST
POINT = Point()
PARTIAL = functools.partial(scaled, by=3)
BOUND = TABLE.get

@functools.lru_cache
def cached(n):
    return n + 11

def outer(k):
    def helper(v):
        return v * k + inner(v)
    return helper

def inner(v):
    return v - 1

closure = outer(21)

class Machine:
    def __init__(self, speed):
        self.speed = speed
        self.parts = [1, 2]

    def __call__(self, v):
        return v + self.speed

MACHINE = Machine(3)

def make(factor):
    def kernel(a, b, n: int = 33, *, k=44):
        i = cl.block_idx.x * TILE + a.x
        cl.printf("text %d", i)
        v = scaled(helpers.nested.deep(i), 2) + factor + n + k
        v = v + CONFIG.bytes() + MODE.steps() + POINT.y + PARTIAL(i) + BOUND("a") + cached(3) + closure(i) + MACHINE(i)
        v = v + getattr(helpers, "BY_NAME") + RATE + (1.0 if "x" in NAMES else 0.0) + math.sin(1.0)
        f = lambda z: z + 55
        return f(v), SHAPE, TABLE, M, cl.f32, Config.made(), Mode.SLOW, Storage
    return kernel

kernel = make(66)
"""
HELPERS = """
import nested
BY_NAME = 77
UNUSED = 1

def scaled(v, by):
    '''Multiplies.'''
    return v * by * FACTOR

FACTOR = 88
"""
NESTED = """
def deep(v):
    return v + DEPTH
DEPTH = 99
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the program with texts replaced, and reads its kernel."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def read(*replaced: tuple[str, str], positions: bool = False, where: str = "first") -> Source:
        texts = [PROGRAM, HELPERS, NESTED]
        for old, new in replaced:
            assert sum(text.count(old) for text in texts) >= 1, old
            texts = [text.replace(old, new) for text in texts]
        modules = dict(zip(("program", "helpers", "nested"), texts, strict=True))
        folder = tmp_path / where
        for name in reversed(modules):
            module = types.ModuleType(name)
            monkeypatch.setitem(sys.modules, name, module)
            exec(compile(modules[name], str(folder / f"{name}.py"), "exec"), module.__dict__)
        return source(sys.modules["program"].kernel, positions)

    return read


CHANGES = [
    ("TILE = 64", "TILE = 32"),
    ("TILE = 64", "TILE = 64.0"),
    ("SHAPE = (4, (2, 8))", "SHAPE = (4, (2, True))"),
    ('"b": [1, 2]', '"b": [1, 3]'),
    ('"b": [1, 2]', '"b": (1, 2)'),
    ('("x", "y", "z")', '("x", "y")'),
    ("RATE = 0.5", "RATE = -0.5"),
    ("stages: int = 4", "stages: int = 5"),
    ('order: tuple = ("m", "n")', 'order: tuple = ("n", "m")'),
    ("default_factory=lambda: 3", "default_factory=lambda: 4"),
    ("_hidden = 7", "_hidden = 8"),
    ("self.stages * 16", "self.stages * 8"),
    ("2 * self.stages", "3 * self.stages"),
    ("return 5", "return 6"),
    ("return cls(9)", "return cls(8)"),
    ("SLOW = 2", "SLOW = 3"),
    ("return 10", "return 12"),
    ("MODE = Mode.FAST", "MODE = Mode.SLOW"),
    ("y: int = 2", "y: int = 3"),
    ("scaled, by=3", "scaled, by=4"),
    ("BOUND = TABLE.get", "BOUND = {'a': 2}.get"),
    ("BOUND = TABLE.get", "BOUND = TABLE.pop"),
    ("return n + 11", "return n + 12"),
    ("return v - 1", "return v - 2"),
    ("closure = outer(21)", "closure = outer(22)"),
    ("MACHINE = Machine(3)", "MACHINE = Machine(4)"),
    ("self.parts = [1, 2]", "self.parts = [1]"),
    ("return v + self.speed", "return v - self.speed"),
    ("kernel = make(66)", "kernel = make(67)"),
    ("n: int = 33", "n: int = 34"),
    ("k=44", "k=45"),
    ("z + 55", "z + 56"),
    ('"text %d"', '"Text %d"'),
    ("math.sin", "math.cos"),
    ("cl.f32,", "cl.f16,"),
    ('M = cl.dims("M")', 'M = cl.dims("M:8")'),
    ('M = cl.dims("M")', 'M = cl.Dim("M", min=0)'),
    ('M = cl.dims("M")', 'M = cl.ceil_div(cl.Dim("M"), 4)'),
    ("BY_NAME = 77", "BY_NAME = 78"),
    ("FACTOR = 88", "FACTOR = 89"),
    ("v * by * FACTOR", "v * FACTOR * by"),
    ("DEPTH = 99", "DEPTH = 98"),
    ("held: cl.Smem", "kept: cl.Smem"),
    ("cl.Smem[cl.bf16, (24, 3)]", "cl.Smem[cl.bf16, (24, 2)]"),
    ("cl.Smem[cl.bf16, (24, 3)]", "cl.Smem[cl.i16, (24, 3)]"),
    ("return v + DEPTH", "return v - DEPTH"),
]


@pytest.mark.parametrize("change", CHANGES, ids=[new for _, new in CHANGES])
def test_what_is_reached_is_in_the_key(program: Any, change: tuple[str, str]) -> None:
    before, after = program(), program(change)
    assert before.why == after.why == ""
    assert before.digest != after.digest


@pytest.mark.parametrize(
    "change",
    [
        ("UNRELATED = 1", "UNRELATED = 2"),
        ("UNUSED = 1", "UNUSED = 2"),
        ("x = object()", "x = open(__import__('os').devnull)"),  # `a.x` in the kernel is no global
        ("\nTILE = 64", "\n\n\n\nTILE = 64"),
        ("'''Multiplies.'''", "'''Multiplies.'''  # and says so"),
        ("from cutelite import f32", "from cutelite import f32, f16"),
        ('NAMES = frozenset(("x", "y", "z"))', 'NAMES = frozenset(("z", "x", "y"))'),
    ],
)
def test_what_does_not_matter_is_not_in_the_key(program: Any, change: tuple[str, str]) -> None:
    assert program().digest == program(change).digest


def test_files_and_lines_count_only_where_the_code_tells_them(program: Any) -> None:
    assert program(where="first").digest == program(where="second").digest
    first, second = (program(positions=True, where=where).digest for where in ("first", "second"))
    assert first != second
    assert program(positions=True).digest != program(("\nTILE = 64", "\n\nTILE = 64"), positions=True).digest


def test_keys_are_the_same_in_every_process(tmp_path: Path) -> None:
    for name, text in (("program", PROGRAM), ("helpers", HELPERS), ("nested", NESTED)):
        (tmp_path / f"{name}.py").write_text(text)
    ask = "import program, cutelite.dispatch.fingerprint as f; print(f.source(program.kernel).digest.hex())"
    keys = []
    for seed in ("0", "1", "2", "random"):  # the later ones read the modules from bytecode
        keys.append(printed(ask, PYTHONHASHSEED=seed, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}"))
    assert len(set(keys)) == 1


# ---- what cannot be read


def kernel_with(value: object) -> Source:
    namespace = {"__name__": "user", "VALUE": value}
    exec("def kernel():\n    return VALUE\n", namespace)
    return source(namespace["kernel"])


@pytest.mark.parametrize("value", [threading.Lock(), sys.stdout, (n for n in range(3))])
def test_what_has_no_content_has_no_digest(value: object) -> None:
    found = kernel_with([value])
    assert found.digest is None
    assert f"{type(value).__name__} is among its constants" in found.why


@pytest.mark.parametrize("call", ["globals()['x']", "vars(m)", "eval('TILE')", "__import__('m')"])
def test_names_that_code_does_not_show_leave_no_digest(call: str) -> None:
    namespace: dict[str, Any] = {"__name__": "user", "m": 0}
    exec(f"def kernel():\n    return {call}\n", namespace)
    found = source(namespace["kernel"])
    assert found.digest is None and "which reaches names that its code does not show" in found.why


@pytest.mark.parametrize("asked", ["h.__globals__['TILE']", "getattr(h, '__globals__')", "C.__subclasses__()[0].x"])
def test_attributes_that_hold_more_than_names_tell_leave_no_digest(asked: str) -> None:
    namespace: dict[str, Any] = {"__name__": "user"}
    exec(f"def h(): pass\nclass C: pass\ndef kernel():\n    return {asked}\n", namespace)
    found = source(namespace["kernel"])
    assert found.digest is None and "which may be anything" in found.why


@pytest.mark.parametrize("base", ["class A(abc.ABC): pass", "from collections.abc import Sequence as A"])
def test_classes_registered_with_an_abstract_one_are_in_the_key(base: str) -> None:
    def digest(last: str) -> bytes | None:
        namespace: dict[str, Any] = {"__name__": "user"}
        exec(f"import abc\n{base}\nclass B: pass\n{last}\ndef kernel(): return isinstance(B(), A)\n", namespace)
        return source(namespace["kernel"]).digest

    plain = digest("")
    assert None is not plain != digest("A.register(B)")


def test_no_object_is_told_by_its_address() -> None:
    class Plain:
        pass

    assert kernel_with(Plain()).digest == kernel_with(Plain()).digest
    assert kernel_with(lambda: Plain).digest is not None


def test_what_refers_to_itself_has_a_digest() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    other: list[Any] = [2]
    other.append(other)
    assert kernel_with(loop).digest not in (None, kernel_with(other).digest)


def test_what_is_nested_without_end_has_none() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert kernel_with(deep).why == "it is nested too deeply to be read"


def test_shared_parts_are_read_once() -> None:
    shared: tuple[Any, ...] = ()
    for _ in range(60):
        shared = (shared, shared)  # 2**60 if each were read again
    assert kernel_with(shared).digest is not None


# ---- NumPy


def test_arrays_are_read_to_the_last_element() -> None:
    numpy = pytest.importorskip("numpy")
    one, other = numpy.zeros(100_000), numpy.zeros(100_000)
    other[50_000] = 1e-12  # which no repr shows
    digests = {kernel_with(x).digest for x in (one, other, one.astype("f4"), one.reshape(10, -1), one[::2])}
    assert len(digests) == 5 and None not in digests
    assert kernel_with(one).digest == kernel_with(numpy.zeros(100_000)).digest


def test_numpy_values() -> None:
    numpy = pytest.importorskip("numpy")
    values = (
        numpy.float32(1),
        numpy.float64(1),
        numpy.dtype("f4"),
        numpy.dtype("i4"),
        numpy.add,
        numpy.linspace,
        numpy,
    )
    digests = {kernel_with(x).digest for x in values}
    assert len(digests) == len(values) and None not in digests


def test_a_library_is_told_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    numpy = pytest.importorskip("numpy")
    values = (numpy, numpy.linspace, numpy.add, numpy.float32, numpy.float32(1))
    before = {kernel_with(x).digest for x in values}
    monkeypatch.setattr(numpy, "__version__", "0.0.1")
    assert before.isdisjoint(kernel_with(x).digest for x in values)


def test_an_assert_of_a_test_module_counts_by_pytest_s_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest writes calls of its own modules into the code, which reach all of pytest and its state."""

    def asserts(x: int) -> None:
        assert x == 1

    before = source(asserts)
    assert before.digest
    assert len(before.names) < 10
    monkeypatch.setattr("_pytest.__version__", "1")
    assert source(asserts).digest != before.digest


def test_arrays_of_other_libraries_are_not_constants() -> None:
    class Tensor:
        def __dlpack__(self) -> None: ...

    assert "an array" in kernel_with(Tensor()).why


# ---- names that are watched


def test_rebinding_a_global_is_noticed(program: Any) -> None:
    found = program()
    assert found.is_current()
    sys.modules["program"].UNRELATED = 5  # type: ignore[attr-defined]
    assert found.is_current()
    sys.modules["program"].TILE = 128  # type: ignore[attr-defined]
    assert not found.is_current()


@pytest.mark.parametrize(("module", "name"), [("helpers", "FACTOR"), ("helpers", "BY_NAME"), ("nested", "deep")])
def test_rebinding_in_another_module_is_noticed(program: Any, module: str, name: str) -> None:
    found = program()
    setattr(sys.modules[module], name, lambda v: v)
    assert not found.is_current()


def test_deleting_a_global_is_noticed(program: Any) -> None:
    found = program()
    del sys.modules["nested"].DEPTH
    assert not found.is_current()


def test_a_global_that_comes_later_is_noticed() -> None:
    space: dict[str, Any] = {}
    exec("def function():\n    return max(COUNT, 3)", space)
    for name in ("COUNT", "max"):  # which hides the builtin
        found = fingerprint.source(space["function"])
        assert found.is_current()
        space[name] = min
        assert not found.is_current()


@pytest.mark.parametrize("asking", ['getattr(settings, "OPTION", 0)', 'hasattr(settings, "OPTION")'])
def test_an_attribute_of_a_module_that_comes_later_is_noticed(asking: str) -> None:
    settings = types.ModuleType("settings")
    space: dict[str, Any] = {"settings": settings}
    exec(f"def function():\n    return {asking}", space)
    absent = source(space["function"])
    settings.OPTION = 1  # type: ignore[attr-defined]
    present = source(space["function"])
    assert not absent.is_current()
    assert present.is_current()
    assert absent.digest != present.digest
    del settings.OPTION
    assert not present.is_current()


class Settings:
    tile = 1

    def stages(self) -> int:
        return 2


class Own(Settings):
    unread = 0


@pytest.mark.parametrize("cls", [Settings, Own])
@pytest.mark.parametrize("name", ["tile", "stages"])
def test_setting_an_attribute_of_a_class_is_noticed(monkeypatch: pytest.MonkeyPatch, cls: type, name: str) -> None:
    def function() -> Any:
        return Own.tile, Own().stages()

    before = source(function)
    monkeypatch.setattr(Own, "unread", 1)
    assert before.is_current()
    with monkeypatch.context() as changing:
        changing.setattr(cls, name, "other")
        assert not before.is_current()
    assert before.is_current()


@pytest.mark.parametrize("cls", [Settings, Own])
def test_an_attribute_of_a_class_that_comes_later_is_noticed(monkeypatch: pytest.MonkeyPatch, cls: type) -> None:
    def function() -> Any:
        return hasattr(Own, "later")

    before = source(function)
    monkeypatch.setattr(cls, "later", 1, raising=False)
    assert not before.is_current()


def test_rebinding_an_enclosing_variable_is_noticed() -> None:
    def make() -> tuple[Any, Any]:
        n = 1

        def change() -> None:
            nonlocal n
            n += 1

        return (lambda: n), change

    function, change = make()
    found = source(function)
    assert found.is_current()
    change()
    assert not found.is_current()


# ---- constants within a process


def test_keys_of_constants_take_no_look_at_code_or_globals() -> None:
    namespace: dict[str, Any] = {"__name__": "user", "N": 1}
    exec("def f(x):\n    return x + N\n", namespace)
    before = constant_key(namespace["f"])
    namespace["N"] = 2
    assert constant_key(namespace["f"]) == before  # whose names are watched where it is compiled


# ---- the compiler itself


def test_the_build_is_part_of_every_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "cutelite"
    (package / "inner").mkdir(parents=True)
    file = package / "inner" / "module.py"
    file.write_text("x = 1\n")
    (package / "older.py").write_text("")
    os.utime(package / "older.py", (5, 5))

    def build() -> bytes:
        fingerprint.build_id.cache_clear()
        return fingerprint.build_id()

    for name in fingerprint.OURS:
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(__path__=[str(package)]))
    seen = [build()]
    assert build() == seen[0]
    file.write_text("x = 12\n")
    seen.append(build())
    os.utime(file, (1, 1))
    seen.append(build())
    file.rename(file.with_name("renamed.py"))
    seen.append(build())
    (package / "more.py").write_text("")
    seen.append(build())
    monkeypatch.setattr(sys, "version", "4.0")
    seen.append(build())
    assert len(set(seen)) == 6
    for each in package.rglob("*.py"):
        os.utime(each, (9, 9))  # as where a build is reproducible: times tell nothing
    seen.append(build())
    renamed = file.with_name("renamed.py")
    renamed.write_text("x = 21\n")
    os.utime(renamed, (9, 9))
    seen.append(build())
    assert len(set(seen)) == 8
    for each in package.rglob("*.py"):
        os.utime(each, (10, 10))
    assert build() == seen[-1]
    monkeypatch.undo()
    fingerprint.build_id.cache_clear()


def test_a_function_that_takes_the_name_of_another_is_read() -> None:
    import functools
    import math

    digests = set()
    for n in (1, 2):
        namespace: dict[str, Any] = {"__name__": "user"}
        exec(f"def own(x):\n    return x + {n}\n", namespace)
        digests.add(kernel_with(functools.wraps(math.sin)(namespace["own"])).digest)
        digests.add(kernel_with(functools.wraps(functools.reduce)(namespace["own"])).digest)
    assert len(digests) == 4 and None not in digests


def test_a_file_that_hides_a_module_of_python_is_the_users(tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("LIMIT = 1\ndef scale(x):\n    return x * LIMIT\n")
    ask = textwrap.dedent("""
        import sys; sys.path.insert(0, sys.argv[1])
        import queue
        from cutelite.dispatch.fingerprint import source
        def kernel(): return queue.scale(1)
        first = source(kernel).digest
        queue.LIMIT = 2
        print(first != source(kernel).digest)
    """)
    assert printed(ask, tmp_path) == "True\n"


class Color(enum.Enum):
    RED = 1


def test_what_lasts_is_what_cannot_be_changed_in_place() -> None:
    @dataclass(frozen=True)
    class Frozen:
        x: Any

    class Plain:
        x = 1

    def closed(x: Any) -> Any:
        return lambda: x

    lasting = [1, 1.5, "x", None, b"", int, math, len, (1, ("x", None)), frozenset((1,)), Frozen(3), Color.RED]
    lasting += [cl.f32, cl.Dim("N"), cl.Layout((4, cl.Dim("N"))), closed(1), closed(closed(2))]
    for x in lasting:
        assert fingerprint.lasts(x), x
    for x in ([1], {}, set(), (1, []), Frozen([]), Plain(), closed([1]), bytearray(), np.zeros(3)):
        assert not fingerprint.lasts(x), x


# ---- what code reaches as it goes


# ruff: noqa: E501
REACHED = {
    "import": "def size():\n    import constants\n    return constants.TILE\n",
    "from import": "def size():\n    from constants import TILE\n    return TILE\n",
    "import in a function inside": "def size():\n    def inner():\n        import constants as c\n        return c.TILE\n    return inner()\n",
    "package": "def size():\n    import parts.constants\n    return parts.constants.TILE\n",
    "from package": "def size():\n    from parts import constants\n    return constants.TILE\n",
    "cached": "import functools\n@functools.cache\ndef size():\n    import constants\n    return constants.TILE\n",
    "cached method": "import functools\nclass Sizes:\n    @functools.lru_cache\n    def tile(self):\n        from constants import TILE\n        return TILE\nSIZES = Sizes()\ndef size():\n    return SIZES.tile()\n",
    "partial": "import functools\ndef given(x):\n    import constants\n    return constants.TILE + x\nsize = functools.partial(given, 0)\n",
    "property": "class Sizes:\n    @property\n    def tile(self):\n        import constants\n        return constants.TILE\nSIZES = Sizes()\ndef size():\n    return SIZES.tile\n",
    "getattr": "import constants\ndef size():\n    return getattr(constants, 'TI' + 'LE'[:2])\n",
    "attrgetter": "import constants, operator\nNAME = 'TILE'\ndef size():\n    return operator.attrgetter(NAME)(constants)\n",
    "module getattr": "import lazy\ndef size():\n    return lazy.TILE\n",
    "sys.modules": "import constants, sys\ndef size():\n    return sys.modules['constants'].TILE\n",
    "modules of sys": "import constants\nfrom sys import modules\ndef size():\n    return modules['constants'].TILE\n",
    "importlib": "import importlib\ndef size():\n    return importlib.import_module('constants').TILE\n",
    "environment": "import os\ndef size():\n    return int(os.environ['TILE'])\n",
    "getenv": "from os import getenv\ndef size():\n    return int(getenv('TILE', 1))\n",
    "os within": "def size():\n    import os\n    return int(os.environ.get('TI' + 'LE', '1'))\n",
    "file": "def size():\n    return int(open('tile.txt').read())\n",
    "path": "from pathlib import Path\ndef size():\n    return int(Path('tile.txt').read_text())\n",
    "cached file": "import functools\n@functools.cache\ndef size():\n    with open('tile.txt') as f:\n        return int(f.read())\n",
    "numpy": "import numpy as np\ndef size():\n    return int(np.loadtxt('tile.txt'))\n",
}  # fmt: skip

WITHIN = {name for name in REACHED if name not in ("file", "path", "cached file", "numpy", "importlib")}
"""Where an edit in the same process is noticed too."""

TELL = """
import os, sys
from cutelite.dispatch.fingerprint import source
for folder in sys.argv[1:]:
    before = set(sys.modules)
    sys.path.insert(0, folder)
    os.chdir(folder)
    import helper
    def kernel(): return helper.size()
    found = source(kernel)
    print(found.digest and found.digest.hex())
    sys.path.pop(0)
    for name in set(sys.modules) - before:
        if name in ("helper", "constants", "lazy") or name.startswith("parts"):
            del sys.modules[name]
"""


def written(folder: Path, code: str, tile: int) -> None:
    (folder / "parts").mkdir(exist_ok=True)
    (folder / "parts" / "__init__.py").write_text("")
    for place in ("constants.py", "parts/constants.py"):
        (folder / place).write_text(f"TILE = {tile}\n")
    (folder / "lazy.py").write_text(f"def __getattr__(name):\n    return {tile}\n")
    (folder / "tile.txt").write_text(str(tile))
    (folder / "helper.py").write_text(code)


def test_constants_reached_as_code_goes_are_in_the_key_or_there_is_none(tmp_path: Path) -> None:
    folders = [tmp_path / how.replace(" ", "-") for how in REACHED]
    digests = []
    for tile in (16, 32):
        for folder, code in zip(folders, REACHED.values(), strict=True):
            folder.mkdir(exist_ok=True)
            written(folder, code, tile)
        digests.append(printed(TELL, *folders, TILE=str(tile), PYTHONDONTWRITEBYTECODE="1").split())
    stale = [how for how, a, b in zip(REACHED, *digests, strict=True) if a == b and a != "None"]
    assert stale == []


@pytest.mark.parametrize("how", sorted(WITHIN))
def test_edits_in_the_process_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    written(tmp_path, REACHED[how], 16)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TILE", "16")
    mine = ("helper", "constants", "parts", "parts.constants", "lazy")
    before = {name: sys.modules.pop(name) for name in mine if name in sys.modules}
    try:
        import helper  # type: ignore[import-not-found]

        @cl.kernel(block=32)
        def kernel(out: cl.Tensor[cl.i32, (1,)]) -> None:
            out[0] = helper.size()

        out = np.zeros(1, np.int32)
        kernel[1, 32](out)
        assert out[0] == 16
        for name in ("constants", "parts.constants"):
            if name in sys.modules:
                sys.modules[name].__dict__["TILE"] = 32
        if "lazy" in sys.modules:
            sys.modules["lazy"].__dict__["__getattr__"] = lambda name: 32
        monkeypatch.setenv("TILE", "32")
        kernel[1, 32](out)
        assert out[0] == 32
    finally:
        for name in mine:
            sys.modules.pop(name, None)
        sys.modules.update(before)


DESCRIBED = {
    "C.__annotations__['x'] is int": ("class C:\n    x: int", "class C:\n    x: float"),
    "typing.get_type_hints(C)['x']": ("class C:\n    x: int", "class C:\n    x: float"),
    "getattr(C, '__annotations__')": ("class C:\n    x: int", "class C:\n    x: float"),
    "hints(f)": ("def f(x: int): pass", "def f(x: float): pass"),
    "len(C.__doc__)": ("class C:\n    'one'", "class C:\n    'three'"),
    "f.__doc__": ("def f():\n    'one'", "def f():\n    'three'"),
    "typing.get_args(C.__orig_bases__[0])": ("class C(typing.Generic[T]): pass", "class C(typing.Generic[U]): pass"),
    "f.__wrapped__()": tuple(f"@lambda f: functools.wraps(f)(lambda: 1)\ndef f(): return {n}" for n in (1, 2)),
    "C.__slots__": ("class C:\n    __slots__ = ('a', 'b')", "class C:\n    __slots__ = ('b', 'a')"),
    "dataclasses.fields(C)[0].type": tuple(f"@dataclasses.dataclass\nclass C:\n    x: {t}" for t in ("int", "float")),
    "[f.metadata for f in dataclasses.fields(C)]": tuple(
        f"@dataclasses.dataclass\nclass C:\n    x: int = dataclasses.field(metadata={{'unit': {n}}})" for n in (1, 2)
    ),
}


@pytest.mark.parametrize("asked", DESCRIBED)
def test_what_describes_is_in_the_key_of_code_that_asks_for_it(asked: str) -> None:
    def digest(made: str, code: str) -> bytes | None:
        space: dict[str, Any] = {"__name__": __name__}
        opening = (
            "import dataclasses, functools, typing\nhints = typing.get_type_hints\nT, U = map(typing.TypeVar, 'TU')"
        )
        exec(f"{opening}\n{made}\ndef kernel(): return {code}\n", space)
        return source(space["kernel"]).digest

    before, after = DESCRIBED[asked]
    assert None is not digest(before, asked) == digest(before, asked) != digest(after, asked)


def test_the_attributes_of_an_array_of_a_class_of_the_users_are_in_the_key() -> None:
    class Named(np.ndarray[Any, Any]):
        unit = 0

    def key(unit: int) -> bytes | None:
        named = np.zeros(3).view(Named)
        named.unit = unit
        return source(lambda: named).digest

    assert None is not key(3) == key(3) != key(4)


def test_the_key_does_not_depend_on_what_was_done_before() -> None:
    import copy
    import functools
    import pickle

    def key() -> bytes | None:
        return source(kernel).digest

    def kernel() -> Any:
        return PLAIN, SLOTTED, PLAIN.twice

    first = key()
    assert first is not None
    for thing in (PLAIN, SLOTTED):
        copy.copy(thing)
        copy.deepcopy(thing)
        pickle.loads(pickle.dumps(thing))
        hash(type(thing))
        repr(thing)
        isinstance(thing, functools.partial)
        _ = type(thing).__annotations__, thing.twice
    __import__("typing").get_type_hints(Plain)
    __import__("inspect").signature(Plain)
    assert key() == first


class Plain:
    n: int

    def __init__(self) -> None:
        self.n = 3

    @__import__("functools").cached_property  # type: ignore[untyped-decorator]
    def twice(self) -> int:
        return 2 * self.n


def test_facts_of_our_objects_that_were_asked_for_change_no_key() -> None:
    """Kernels of the library have such in their closures, and are made before and after somebody asks."""

    def made() -> Any:
        config = Config((128, 64))
        return config, lambda: config.tile

    (asked, one), (_, other) = made(), made()
    assert asked.across is False and "across" in vars(asked)
    assert source(one).digest == source(other).digest is not None
    assert constant_key(asked) == constant_key(Config((128, 64)))


class Slotted:
    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 3

    @property
    def twice(self) -> int:
        return 2 * self.n


PLAIN, SLOTTED = Plain(), Slotted()


@pytest.mark.parametrize(
    "code",
    [
        "math.sin(1.0)",
        "os.path.join('a', 'b')",
        "sys.maxsize",
        "np.float32(1)",
        "np.arange(4)",
        "functools.reduce(max, (1, 2))",
    ],
)
def test_what_only_computes_has_a_digest(code: str) -> None:
    assert _source_of(code).digest is not None


@pytest.mark.parametrize(
    "code", ["os.path.exists('a')", "os.getpid()", "paths.isfile('a')", "decimal.getcontext().prec"]
)
def test_what_asks_the_system_has_none(code: str) -> None:
    assert _source_of(code).digest is None


def _source_of(code: str) -> Source:
    names: dict[str, Any] = {}
    exec(
        f"import decimal, math, os, sys, functools\nimport os.path as paths\nimport numpy as np\ndef kernel():\n    return {code}\n",
        names,
    )
    return source(names["kernel"])
