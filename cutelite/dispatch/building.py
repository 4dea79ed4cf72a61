"""Build the launcher of a kernel, and record the outcomes of launches for it.

In    a signature, and launches that succeeded
Out   `Launcher` and `Subscripts` of `cutelite_rt.launcher`, and the outcomes that they keep

Processes that launch a few times never import this module, which loads LLVM's bindings and tables of ctypes.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from cutelite.config import Config
from cutelite.dispatch import fingerprint
from cutelite.dispatch.launch import Launch
from cutelite.dispatch.launcher import Held, LaunchRecord, Watched
from cutelite.dispatch.signature import Signature
from cutelite.dispatch.specialise import open_cache
from cutelite.toolchain import ToolchainError, host
from cutelite_rt import CudaError, Driver
from cutelite_rt.launcher import image, native
from cutelite_rt.launcher.environment import environment as environment_of
from cutelite_rt.launcher.outcomes import Outcome, slots_of
from cutelite_rt.launcher.state import UNBOUND, Callbacks, Launcher, Watch
from cutelite_rt.launcher.subscript import Subscripts
from cutelite_rt.signature.bind import MapRequest
from cutelite_rt.signature.data import Unsupported, Variable
from cutelite_rt.signature.kinds import Number
from cutelite_rt.signature.table import Table


def launcher(
    signature: Signature,
    launch: Callable[..., None],
    by_key: Callable[[Any], Callable[..., None]],
    driver: Driver,
    environment: Config,
) -> tuple[Launcher, Subscripts] | None:
    """Return the launcher of a kernel, and its subscripts.

    launch  (key or None, held, *args, **kwargs): launch by Python, without a kept outcome
    by_key  (key): the function that ``kernel[key]`` is
    Result  None where no launcher can be built: Python goes on launching, and with `verbose` the reason is printed
    """
    try:
        table = Table(signature.data(), dict(each for p in signature.parameters for each in p.classes()))
        calls = Callbacks(launch, constant, functools.partial(_resolved, signature))
        made = launcher_of(table, calls, driver, signature.defaults, f"launch({signature}), compiled", environment)
        return made, Subscripts(image.Machine.of(_image(environment)), environment_of(driver), by_key)
    except (Unsupported, ToolchainError, CudaError, OSError) as error:
        if environment.verbose:
            print(f"cutelite: {signature.kernel} has no compiled launcher: {error}", file=sys.stderr)
        return None


def launcher_of(
    table: Table, calls: Callbacks, driver: Driver, defaults: dict[str, Any], doc: str, environment: Config
) -> Launcher:
    """Return the launcher of these tables. Errors: `Unsupported`, `ToolchainError`, `CudaError`, OSError."""
    if reason := native.unsupported():
        raise Unsupported(reason)
    return Launcher(image.Machine.of(_image(environment)), table, calls, driver, defaults, doc)


def _image(environment: Config) -> bytes:
    """Return the launcher's machine code: from the disk cache if that is this user's alone, else compiled now."""
    text = image.launcher_ir()
    cache = open_cache(environment)
    if cache is None or not cache.is_private():
        return host.to_image(text, image.Machine._fields)
    return cache.get_or_make(_key(text), lambda: host.to_image(text, image.Machine._fields))


@functools.cache
def _key(text: str) -> str:
    return fingerprint.combined(b"host code", native.MACHINE.encode(), text.encode())


# Called by launchers.


def constant(x: Any) -> tuple[Hashable, bool]:
    return fingerprint.constant_key(x), fingerprint.lasts(x)


def _resolved(signature: Signature, held: Held, /, *args: Any, **kwargs: Any) -> bytes:
    launch: Launch = held[1]
    return launch.resolved(signature.match(args, kwargs) if callable(launch.grid) else {}).settled()


# Data for launchers.


def watch(sources: Watched) -> Watch:
    names = [row for each in sources for row in zip(each.namespaces, each.names, map(_held, each.held), strict=True)]
    return names, [(cell, _held(held)) for each in sources for cell, held in each.cells]


def _held(x: Any) -> Any:
    return UNBOUND if x is fingerprint.MISSING else x


def outcome(signature: Signature, table: Table, went: LaunchRecord) -> Outcome | None:
    """Return the outcome of a launch; None for a launch that launchers cannot repeat.

    They encode tensor maps of some forms only. They find the dtype of a number by its Python type, so an argument for a
    number whose dtype is a variable must not be an array.
    """
    if any(isinstance(value, MapRequest) and not value.tiling.by_launchers for value in went.bound.values):
        return None
    arguments = went.arguments
    plain = int, float, bool, type(None), getattr(sys.modules.get("numpy"), "generic", bool)
    of_variables = (leaf for leaf in table.leaves if isinstance(leaf, Number) and isinstance(leaf.dtype, Variable))
    if not all(isinstance(_found(arguments, leaf.name), plain) for leaf in of_variables):
        return None
    return Outcome(went.function, went.config, *slots_of(table, signature.settled(went.bound)))


def _found(arguments: Mapping[str, Any], name: str) -> Any:
    """Return the field or item called 'x.y.0' of an argument; None if something on the way is None."""
    first, *path = name.split(".")
    found = arguments[first]
    for part in path:
        found = found if found is None else found[int(part)] if part.isdecimal() else getattr(found, part)
    return found
