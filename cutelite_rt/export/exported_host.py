"""Launch exported kernels by the machine code in their file, as live kernels are launched.

In    `bundle.HostCode`, and a function that launches from the start
Out   `HostLauncher`: ``kernel[...]``, and launches on the grid that was exported

Launches that are like an earlier one never come to Python (`cutelite_rt.launcher`). The outcome of one is told by
`settled`, and kept under its key: launches of equal keys fit the same signature, and differ in addresses, extents and
numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from cutelite_rt.arrays import stream as streams
from cutelite_rt.export.bundle import Bundle
from cutelite_rt.gpu.driver import Driver
from cutelite_rt.gpu.launch import Function, LaunchConfig
from cutelite_rt.launcher import asked, facts, native
from cutelite_rt.launcher import state as launcher
from cutelite_rt.launcher.environment import environment
from cutelite_rt.launcher.image import Machine, digest
from cutelite_rt.launcher.outcomes import Outcome, slots_of
from cutelite_rt.launcher.subscript import Subscripts
from cutelite_rt.shapes import extents
from cutelite_rt.signature.bind import MISSING
from cutelite_rt.signature.kinds import LEFT_OUT, Fixed, left_out
from cutelite_rt.signature.table import Table

Held = Callable[..., None]


class ExportedRecord(NamedTuple):
    """A launch that went well: which variant it was of, and whether all arrays have elements."""

    variant: int
    function: Function
    config: LaunchConfig
    full: bool


def image_for(bundle: Bundle) -> bytes | None:
    """The bundle's machine code that this process can run; None where there is none."""
    host = bundle.host
    if host is None or host.interface != digest() or native.unsupported() is not None:
        return None
    return host.images.get(native.MACHINE)


class HostLauncher:
    """The launcher of one exported kernel.

    image   `image_for` it
    read    gives the launch that a subscript means. Errors: `LaunchError`
    launch  (launch, args, kwargs): launch from the start; None where there are no blocks
    Errors  `CudaError` for a driver that is too old; OSError where memory cannot be made executable
    """

    def __init__(
        self,
        bundle: Bundle,
        image: bytes,
        driver: Driver,
        read: Callable[[Any], Any],
        launch: Callable[[Any, tuple[Any, ...], dict[str, Any]], ExportedRecord | None],
    ) -> None:
        assert bundle.host is not None
        self._read, self._launch = read, launch
        self._by_dims = bundle.variants[0].signature.grid is not None
        table, machine = Table(bundle.host.signature), Machine.of(image)
        self._slots = [slots_of(table, variant.signature) for variant in bundle.variants]
        calls = launcher.Callbacks(self._launch_anew, _constant, self._resolved)
        doc = f"launch({bundle.variants[0].signature.text}), compiled"
        self.launcher = launcher.Launcher(machine, table, calls, driver, _defaults(bundle), doc)
        self._subscripts = Subscripts(machine, environment(driver), self._by_key)
        self.subscript = self._subscripts.function

    def held(self, launch: Any) -> Held:
        """Return a function that launches so."""
        its = facts.facts_while(streams.stays(launch.stream), lambda: self._settled(launch))
        return self.launcher.bound(its, launch)

    def _by_key(self, key: Any) -> Held:
        held = self.held(self._read(key))
        if asked.is_exact(key):
            self._subscripts.add(key, held)
        return held

    def _settled(self, launch: Any) -> bytes:
        if launch.grid is not None:
            return facts.settled_facts(launch, extents(launch.grid, "grid", least=0))
        return facts.settled_facts(launch, (1, 1, 1), facts.BY_DIMS if self._by_dims else facts.ODD)

    def _resolved(self, held: tuple[Any, ...], /, *args: Any, **kwargs: Any) -> bytes:
        return self._settled(held[1])

    def _launch_anew(self, key: bytes | None, held: tuple[Any, ...], /, *args: Any, **kwargs: Any) -> None:
        generation = self.launcher.generation
        went = self._launch(held[1], args, kwargs)
        # Fewer rules hold for arrays without elements than the key tells of.
        if went is not None and key is not None and went.full:
            self.launcher.add(key, Outcome(went.function, went.config, *self._slots[went.variant]), generation)


def _constant(x: Any) -> tuple[Hashable, bool]:
    """As `Fixed` compares them. Other classes, which no signature takes, may say anything of themselves: not kept."""
    return (type(x), repr(x)), x is LEFT_OUT or type(x) in (str, int, float)


def _defaults(bundle: Bundle) -> dict[str, Any]:
    """Return values for arguments that are left out, where any of the signatures allows that."""
    found: dict[str, Any] = {}
    for parameter in (parameter for variant in bundle.variants for parameter in variant.signature.parameters):
        if isinstance(parameter, Fixed):
            found[parameter.name] = LEFT_OUT  # it depends on the signature that fits
        elif left_out(parameter) is not MISSING:
            found.setdefault(parameter.name, left_out(parameter))
    return found
