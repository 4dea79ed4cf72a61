"""Tables of modules of Python and of libraries: those that only compute, and those that ask the system.

In: the names of a module and of an attribute. Out: whether its results may differ between processes, because they
depend on the environment, files, clocks, random numbers or other imports. A kernel whose code asks the system has no
digest (`dispatch/fingerprint.py`). A standard module that is not listed counts as one that asks.
"""

from __future__ import annotations

import sys

COMPUTE = frozenset(
    """
    __future__ _abc _bisect _collections _collections_abc _decimal _functools _heapq _operator _pydecimal _sre
    _statistics _struct _thread _typing abc array base64 binascii bisect builtins calendar cmath collections colorsys
    contextlib copy copyreg dataclasses decimal difflib enum fractions functools graphlib heapq itertools json keyword
    math numbers operator posixpath ntpath pprint re reprlib statistics string struct textwrap token types typing
    unicodedata warnings zlib annotationlib
    """.split()  # noqa: SIM905
)
"""Modules of Python that only compute."""

ONLY: dict[str, frozenset[str]] = {
    "os": frozenset(("path", "sep", "linesep", "fspath", "PathLike")),
    "sys": frozenset(
        ("maxsize", "float_info", "int_info", "hash_info", "byteorder", "version_info", "hexversion", "platform",
         "maxunicode", "implementation", "intern", "getsizeof")
    ),
}  # fmt: skip
"""Attributes that do not ask the system, in modules that otherwise do."""

_OF_FILES = frozenset(
    """
    abspath exists expanduser expandvars getatime getctime getmtime getsize isdir isfile isjunction islink ismount
    lexists realpath relpath samefile sameopenfile
    """.split()  # noqa: SIM905
)

ASK: dict[str, frozenset[str]] = {
    "posixpath": _OF_FILES,
    "ntpath": _OF_FILES,
    "decimal": frozenset(("getcontext",)),
    "builtins": frozenset(("open", "input", "breakpoint")),
    "_io": frozenset(("open",)),
    "numpy": frozenset(("random", "load", "fromfile", "loadtxt", "genfromtxt", "memmap", "show_config", "geterr")),
    "torch": frozenset(
        ("cuda", "backends", "distributed", "load", "rand", "randn", "randint", "randperm", "initial_seed", "seed",
         "get_default_dtype", "get_default_device", "get_num_threads", "is_grad_enabled")
    ),
    "jax": frozenset(("devices", "local_devices", "device_count", "default_backend", "config", "process_index")),
    "cupy": frozenset(("cuda", "random", "load", "loadtxt")),
}  # fmt: skip
"""Attributes that ask the system, in modules that otherwise only compute."""


def asks(module: str, attribute: str) -> bool:
    """Tell whether an attribute of a module asks the system; with an empty attribute, whether any of them does.

    module     its name, such as 'numpy.random.mtrand'
    attribute  its attribute, perhaps with attributes of that: 'environ', 'Path.cwd'
    """
    root, _, inner = module.partition(".")
    first, _, rest = attribute.partition(".")
    if module == "os" and first == "path":
        return asks("posixpath", rest)
    if root in ("cutelite", "cutelite_rt"):
        return False
    if module in ASK and first in ASK[module]:
        return True
    if root in ASK:
        return inner.partition(".")[0] in ASK[root]
    if module in ONLY:
        return first not in ONLY[module]
    return root in sys.stdlib_module_names and root not in COMPUTE
