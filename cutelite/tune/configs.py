"""Configs, the choices of a tuning: any objects for a host function; names with values for a kernel."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, NoReturn

from cutelite.dispatch.kernel import Kernel
from cutelite.dispatch.launch import Launch
from cutelite.dispatch.signature import Signature
from cutelite.lang.annotations import ConstexprSpec
from cutelite.options import NAMES, checked
from cutelite.tuples import NamedTuple


class Config(Mapping[str, Any]):
    """Names and values, fixed: ``Config(BM=128, BN=256, block=384)``, read as ``config.BM`` and ``config["BM"]``.

    Within kernels it is a compile-time constant. Two configs with the same names and values are equal.
    """

    def __init__(self, **values: Any) -> None:
        for name in values:
            if hasattr(Mapping, name):
                raise ValueError(f"a Config cannot have a value named {name!r}: mappings have a method of that name")
        vars(self).update(values)

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self))

    def __len__(self) -> int:
        return len(vars(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(frozenset(vars(self).items()))

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={value!r}' for name, value in self.items())})"

    def __getattr__(self, name: str) -> Any:  # only called for missing names
        raise AttributeError(f"the config has no {name!r}; it has {', '.join(self) or 'nothing'}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Config is fixed: make another one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Config is fixed: make another one")

    def __cutelite_key__(self) -> dict[str, Any]:
        return dict(sorted(vars(self).items()))


def values_of(config: Any) -> dict[str, Any]:
    """Return names and values of a mapping, dataclass or NamedTuple. Errors: TypeError for anything else."""
    if isinstance(config, Mapping):
        return dict(config)
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        return {field.name: getattr(config, field.name) for field in fields(config)}
    if isinstance(config, tuple) and hasattr(config, "_asdict"):
        return dict(config._asdict())
    raise TypeError(f"a config of a kernel needs names: it is a Config, dict, dataclass or NamedTuple, not {config!r}")


class KernelConfig(NamedTuple):
    """The meaning of a config for a kernel.

    constants  values of its Constexpr parameters
    launch     settings of `Launch`, such as block, cluster, smem
    options    of `@kernel`, such as max_registers
    """

    constants: dict[str, Any]
    launch: dict[str, Any]
    options: dict[str, Any]


_LAUNCH = frozenset(("block", "carveout", "cluster", "cooperative", "pdl", "smem"))


def for_kernel(config: Any, signature: Signature) -> KernelConfig:
    """Sort a config's values by use; parameters' names take precedence. Errors: TypeError for an unknown name."""
    found = KernelConfig({}, {}, {})
    for name, value in values_of(config).items():
        if name in signature.names:
            if not isinstance(signature.specs[name], ConstexprSpec):
                raise TypeError(f"{config!r} sets `{name}`, which {signature.kernel}() has as a run-time parameter: "
                                "a config sets Constexpr ones")  # fmt: skip
            found.constants[name] = value
        elif name in _LAUNCH:
            found.launch[name] = value
        elif name in NAMES:
            found.options[name] = value
        else:
            constants = [n for n, spec in signature.specs.items() if isinstance(spec, ConstexprSpec)]
            raise TypeError(
                f"{config!r} sets {name!r}, which is neither a Constexpr parameter of {signature.kernel}() "
                f"({', '.join(constants) or 'it has none'}), nor a setting of its launch "
                f"({', '.join(sorted(_LAUNCH))}), nor an option of @kernel ({', '.join(sorted(NAMES))})"
            )
    return found


def variant(kernel: Kernel, means: KernelConfig) -> Kernel:
    """Return the kernel with the config's options, and without the block or cluster that the config sets."""
    block = None if "block" in means.launch else kernel.block
    cluster = None if "cluster" in means.launch else kernel.cluster
    if not means.options and (block, cluster) == (kernel.block, kernel.cluster):
        return kernel
    return kernel.like({**kernel.given, **checked(means.options, "a config")}, block, cluster, kernel.arch)


class Meta(dict[str, Any]):
    """The argument of grids and blocks that are functions: arguments of the call and values of the config, by name.

    The config's values are also attributes: ``meta.BM`` and ``meta["BM"]``, but only ``meta["x"].shape``.
    """

    def __init__(self, config: Any, arguments: dict[str, Any]) -> None:
        super().__init__(arguments | values_of(config))
        self._config = config

    def __getattr__(self, name: str) -> Any:
        if isinstance(self._config, dict) and name in self._config:
            return self._config[name]
        return getattr(self._config, name)


def launch_of(config: Any, launch: Launch, settings: dict[str, Any], arguments: dict[str, Any]) -> Launch:
    """Return the launch for a config: callables are called with a `Meta`; the config's settings take precedence."""
    given = {field.name: getattr(launch, field.name) for field in fields(Launch)} | settings
    asked = {name: value for name, value in given.items() if callable(value) and name != "stream"}
    if asked:
        meta = Meta(config, arguments)
        given |= {name: function(meta) for name, function in asked.items()}
    try:
        return _kept(**given)
    except TypeError:  # such as for a list, which has no hash
        return Launch(**given)


@lru_cache(1024, typed=True)
def _kept(**given: Any) -> Launch:
    """Return one object for equal launches, since it caches facts that are slow to compute."""
    return Launch(**given)
