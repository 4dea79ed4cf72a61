"""The config of a call: the one of an earlier like call, the one on disk, or the one that a tuning finds now.

In    a `Problem`
Out   one of the configs

Winners on disk are kept in the cache of compiled kernels, as data with a checksum, under a digest of all they depend
on: the GPU's model and driver, the compiler and its tools, the tuned code and what it uses, the configs, and the key.
If several processes want the same winner, one finds it; processes with other keys take turns on the GPU.

A table of winners is a file to ship with a program: it only depends on the GPU's model, the configs and the key.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

import cutelite_rt as rt
from cutelite import config as environments
from cutelite.config import Config as Environment
from cutelite.diag import InternalError, log
from cutelite.dispatch import fingerprint
from cutelite.dispatch.device import arrays_in
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.specialise import open_cache
from cutelite.toolchain.identity import identity
from cutelite.tune.compile import compile_all
from cutelite.tune.problem import Problem, check_key, is_capturing, place, slow_key, views_of
from cutelite.tune.race import race, winner
from cutelite.tune.report import Report, json, none_runs, rows_of
from cutelite.tune.sets import Sets
from cutelite.tune.timing import Timer, timed_stream_on
from cutelite_rt import DiskCache, callers
from cutelite_rt.gpu.clock import TimedStream

Key = tuple[str, ...] | Callable[..., Hashable] | None
Prune = Callable[..., Iterable[Any]]

MOST_KNOWN = 4096
"""The most calls that are remembered by their quick keys."""
TABLE = 1
"""The format of tables."""
WAIT_S = 600.0
"""The longest wait for another process that tunes the same; and again for one that uses the GPU."""

_UNKNOWN = object()
_tuning = threading.RLock()  # one tuning at a time, undisturbed; one may start another


class Tuner:
    """The configs of one tuned function, and the winners known so far. Any number of threads may use it.

    configs  at least one; the first is used if nothing can be measured
    subject  the function or kernel, whose code is part of the digest that winners are kept under
    """

    def __init__(
        self,
        name: str,
        configs: Iterable[Any],
        subject: Any,
        *,
        key: Key,
        prune: Prune | None,
        restore: tuple[str, ...],
        timer: Timer,
    ) -> None:
        self.name, self.configs, self.subject = name, list(configs), subject
        if not self.configs:
            raise ValueError(f"{name} has no configs to choose from")
        self.key, self.prune, self.restore, self.timer = key, prune, restore, timer
        self.reports: dict[Hashable, Report] = {}
        self._known: dict[Hashable, Any] = {}
        self._winners: dict[str, Any] = {}  # found by this process, by `_place_of`
        self._shipped: dict[str, Any] = {}

    def pick(self, quick: Hashable, problem: Callable[[], Problem]) -> Any:
        """Return the config for a call whose quick key is `quick`; `problem` is called if the key is new."""
        found = self._known.get(quick, _UNKNOWN)
        return self._settled(quick, problem()) if found is _UNKNOWN else found

    def forget(self) -> None:
        """Forget the choices and the loaded tables of this process. Winners on disk are kept."""
        self._known, self.reports, self._winners, self._shipped = {}, {}, {}, {}

    def save(self, path: str | PathLike[str]) -> int:
        """Write a table of the winners that this process found or loaded. Return their number."""
        winners = {place: repr(config) for place, config in {**self._shipped, **self._winners}.items()}
        Path(path).write_text(json().dumps({"format": TABLE, "name": self.name, "winners": winners}, indent=1) + "\n")
        return len(winners)

    def load(self, path: str | PathLike[str]) -> int:
        """Load winners from a table. Return how many of them are among the configs.

        Errors  ValueError for a file that is no table of this function
        """
        table, known = json().loads(Path(path).read_text()), {repr(config): config for config in self.configs}
        if not isinstance(table, dict) or (table.get("format"), table.get("name")) != (TABLE, self.name):
            raise ValueError(f"{path} is no table of winners of {self.name}")
        found = {place: known[config] for place, config in table["winners"].items() if config in known}
        self._shipped |= found
        self._known = {}
        return len(found)

    def shipped(self, problem: Callable[[], Problem]) -> Any:
        """Return the config that a loaded table has for a call; None if there is none."""
        if not self._shipped:
            return None
        made = problem()
        ordinal = place(views_of(made.args, made.kwargs), environments.read())
        return None if ordinal is None else self._shipped.get(_place_of(ordinal, slow_key(made, self.key)))

    def _settled(self, quick: Hashable, problem: Problem) -> Any:
        environment = environments.read()
        with _tuning, diverted(None):
            found = self._found(problem, environment)
            if found is None:
                return self._candidates(problem)[0][1]  # not remembered: the next call may be able to measure
            while len(self._known) >= MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[quick] = found[0]
            return found[0]

    def _found(self, problem: Problem, environment: Environment) -> tuple[Any] | None:
        """Return the config to use from now on, in a tuple; None if nothing can be measured at this moment."""
        check_key(problem, self.key)
        for name in self.restore:
            if name not in problem.named:
                raise TypeError(f"restore names `{name}`, but {self.name} has {', '.join(problem.named)}")
        views = views_of(problem.args, problem.kwargs)
        ordinal = place(views, environment)
        if len(self.configs) == 1 or ordinal is None or environment.autotune == "0":
            return (self._candidates(problem)[0][1],)
        told = slow_key(problem, self.key)
        key = (_gpu(ordinal), fingerprint.constant_key(told))
        if key in self.reports:
            return (self.configs[self.reports[key].winner],)
        at = _place_of(ordinal, told)
        if at in self._shipped and environment.autotune != "again":
            return (self._shipped[at],)
        cache = open_cache(environment)
        entry = self._entry(told, ordinal, environment, cache)
        kept = cache.get(entry) if cache and entry and environment.autotune != "again" else None
        report = Report.from_bytes(kept, len(self.configs)) if kept is not None else None
        if report is None and environment.autotune == "cached":
            return (self._candidates(problem)[0][1],)
        if report is None and is_capturing(views, ordinal):
            callers.warn(
                f"{self.name} is captured into a graph before it was tuned for these arguments: the first config is "
                "used; call it once before"
            )
            return None
        if report is None:
            report = self._shared(problem, ordinal, environment, cache, entry)
        else:
            _say(f"{self.name} uses {self.configs[report.winner]}, in the cache as {entry}", environment)
        self.reports[key] = report
        if at:
            self._winners[at] = self.configs[report.winner]
        return (self.configs[report.winner],)

    def _candidates(self, problem: Problem) -> list[tuple[int, Any]]:
        """Return number and config of those to try: at least two, if there are, so that pruning alone never decides."""
        everyone = list(enumerate(self.configs))
        if self.prune is None:
            return everyone
        kept = list(self.prune(list(self.configs), *problem.args, **problem.kwargs))
        numbers = dict.fromkeys(self._number(config) for config in kept)
        for i, _ in everyone:
            if len(numbers) >= 2:
                break
            numbers.setdefault(i)
        return [(i, self.configs[i]) for i in numbers]

    def _number(self, config: Any) -> int:
        for i, known in enumerate(self.configs):
            if known is config or known == config:
                return i
        raise ValueError(f"prune= of {self.name} returned {config!r}, which is not one of the configs")

    # On disk.

    def _entry(self, told: Any, ordinal: int, environment: Environment, cache: DiskCache | None) -> str | None:
        """Return the cache's key for the winner; None if it cannot be kept on disk."""
        if cache is None:
            return None
        options = environment.options
        tools = identity(options.assembler, options.backend)
        compiled_for = (_gpu(ordinal), environment.arch, options, tools)
        read = fingerprint.source((self.subject, tuple(self.configs), told, *compiled_for))
        if read.digest is None:
            _say(f"the winner of {self.name} is not kept on disk: {read.why}", environment)
            return None
        return fingerprint.combined(b"autotune", fingerprint.build_id(), read.digest)

    def _shared(
        self, problem: Problem, ordinal: int, environment: Environment, cache: DiskCache | None, entry: str | None
    ) -> Report:
        """Return a report, made by this process or by another that tunes the same first."""

        def make() -> bytes:
            made.append(self._tuned(problem, ordinal, environment, cache))
            return made[0].to_bytes()

        made: list[Report] = []
        if cache is None or entry is None:
            make()
        elif environment.autotune == "again":
            cache.put(entry, make())
        else:
            report = Report.from_bytes(cache.get_or_make(entry, make, WAIT_S), len(self.configs))
            if report is not None:
                return report
            cache.put(entry, make())  # the entry has another format
        return made[0]

    # Tuning.

    def _tuned(self, problem: Problem, ordinal: int, environment: Environment, cache: DiskCache | None) -> Report:
        """Tune. Errors: `AutotuneError` if no config runs; `CudaError` if one has broken the context."""
        started = perf_counter()
        candidates = dict(self._candidates(problem))
        stream = timed_stream_on(ordinal)
        with stream.device.active():
            restored = [array for name in self.restore for array in arrays_in(problem.named[name])]
            sets = Sets(problem.args, problem.kwargs, restored, stream)
            stream.wait()
            args, kwargs = sets.sets[0]
            calls = {i: problem.call(config) for i, config in candidates.items()}
            compiling = [lambda call=call: call(*args, **kwargs) for call in calls.values()]
            outcomes = dict(zip(calls, compile_all(compiling, environment.autotune_jobs), strict=True))
            compiled = perf_counter()
            usable = {i: calls[i] for i, outcome in outcomes.items() if outcome.error is None}
            errors = {i: outcome.error for i, outcome in outcomes.items() if outcome.error is not None}
            times: dict[int, list[float]] = {}
            if usable:
                with _turn(stream, cache), self.timer(usable, sets, stream, bool(self.restore)) as trials:
                    errors |= trials.failed
                    times = race(trials.seconds) if trials.seconds else {}
            for i, error in errors.items():
                if isinstance(error, InternalError):  # the report has the others; this one is a bug in cutelite
                    callers.warn(f"{self.name}: {self.configs[i]} is skipped: {error}")
            if not times:
                raise none_runs(self.name, self.configs, errors) from next(iter(errors.values()))
        best = winner(times)
        rows = rows_of(self.configs, outcomes, errors, times, times[best])
        report = Report(self.name, best, rows, compiled - started, perf_counter() - compiled)
        _say(str(report), environment, environment.autotune_report)
        return report


def _gpu(ordinal: int) -> tuple[Any, ...]:
    """Return the facts in which kinds of GPU and slices of a GPU differ, and the version of the driver."""
    device = rt.device(ordinal)
    limits = device.limits
    return device.name, device.compute_capability, limits.sm_count, limits.l2_bytes, device.driver.version()


def _place_of(ordinal: int, told: Any) -> str:
    """Return the key in tables for this model of GPU and the facts `told`; '' if `told` has no digest."""
    *gpu, _ = _gpu(ordinal)
    digest = fingerprint.source(told).digest
    return "" if digest is None else f"{' '.join(map(str, gpu))}: {digest.hex()}"


@contextmanager
def _turn(stream: TimedStream, cache: DiskCache | None) -> Iterator[None]:
    """Keep other processes from tuning on this GPU, if they share a cache directory."""
    with ExitStack() as held:
        if cache is not None:
            held.enter_context(cache.single_flight(fingerprint.combined(b"gpu", stream.device.uuid.encode()), WAIT_S))
        yield


def _say(text: str, environment: Environment, wanted: bool = False) -> None:
    log.tell(text, log.INFO, wanted or environment.verbose)
