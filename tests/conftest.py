"""Fixtures of all tests: what is left out without a GPU or a tool, and `--update` for golden files."""

import functools
import gc
import importlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from cutelite.diag import Span
from cutelite.dispatch import Kernel, fingerprint
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.specialise import Specialisation, Specialisations
from cutelite.target import Target
from cutelite.toolchain import find
from tests.places import GPU, PLACES, Place, place_of, through_gpu

# JAX would take three quarters of a GPU's memory for itself, in each of the processes that tests run in.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# For the processes of pytest-xdist, which fill all cores: further threads of BLAS would wait in loops, a twelfth of the
# time of a GEMM's tests, and several times as long where something else runs too.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Of laws that take as many examples as the profile says. Each run tries others.
# How fast they are made says how busy the machine is.
settings.register_profile("usual", max_examples=30, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("usual"), max_examples=1000)
settings.load_profile("usual")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the second halves of golden files; read the diff")


def pytest_configure() -> None:
    """Let the garbage collector run less often: thousands of tests and kernels are alive until the end."""
    gc.set_threshold(100_000, 20, 20)
    Span.source = _without_expectations  # type: ignore[method-assign,assignment]


_source = Span.source


def _without_expectations(span: Span) -> list[str]:
    """Return the lines that an error shows, but without the sentences in them where they are lines of a test.

    ``(lambda: cl.size("x"), "is no layout")`` would find its words in any error, since this shows the row.
    """
    lines = _source(span)
    if os.path.basename(span.filename).startswith("test_"):
        return [re.sub(_TEXT, lambda found: "_" * len(found[0]) if " " in found[0] else found[0], at) for at in lines]
    return lines


_TEXT = r"""(["'])(?:\\.|(?!\1).)*\1"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import this process's share of the test modules first, if several collect the same ones at the same time.

    The asserts of a module are rewritten where no .pyc file has them, which takes longer than all else of collection:
    so each process finds the files of the others.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    root, number = session.config.rootpath, int(worker["workerid"].removeprefix("gw"))
    files = sorted(path for folder in session.config.args for path in (root / folder).rglob("test_*.py"))
    first, end = (len(files) * n // worker["workercount"] for n in (number, number + 1))
    for path in files[first:end]:
        with suppress(Exception, pytest.skip.Exception):  # it is imported again, and then tells
            importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Send one report of a test that passes from a process of pytest-xdist, not three: a quarter of what a test costs.

    Those of setting up and tearing down tell nothing where both pass.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def left_alone() -> None:
    """Hide the objects that earlier modules left from the garbage collector, else tests that call it take seconds."""
    gc.freeze()


@pytest.fixture
def read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kernels read the environment at each launch, not only at their first, which may be in an earlier test."""
    monkeypatch.setattr(Kernel, "_settings", property(vars(Kernel)["_settings"].func))


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch, read_anew: None) -> Callable[[int], None]:
    """Return a function of a number of schedules: after a call, each simulated launch is checked under that many."""
    return lambda schedules: monkeypatch.setenv("CUTELITE_CHECK", str(schedules))


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Return whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Place:
    """Return a function that launches a kernel: on the simulator, and if there is a GPU, on that (`tests.places`)."""
    return place_of(request.param)


@pytest.fixture(params=PLACES)
def everywhere(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a test with NumPy arrays in the simulator, 'sim', and once more with each launch on a GPU, 'gpu'."""
    with diverted(through_gpu if request.param == "gpu" else None):
        yield request.param


def on_gpus_of(request: pytest.FixtureRequest, majors: tuple[int, ...]) -> Iterator[str]:
    """As `everywhere`, but skip GPUs whose compute capability has another major number."""
    if request.param == "gpu" and ((there := capability()) is None or there[0] not in majors):
        pytest.skip(f"needs a GPU of compute capability {' or '.join(f'{major}.x' for major in majors)}")
    with diverted(through_gpu if request.param == "gpu" else None):
        yield request.param


@pytest.fixture(params=PLACES)
def on_sm_120(request: pytest.FixtureRequest) -> Iterator[str]:
    """As `everywhere`, but only on GPUs whose `mma.sync` has block scales."""
    yield from on_gpus_of(request, (12,))


@pytest.fixture(params=[0, 1, 2, 3, GPU])
def scheduled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, read_anew: None) -> Place:
    """As `place`, with several seeds of the simulator. 0: asynchronous work ends as late as possible, 1: at once."""
    if request.param != "gpu":
        monkeypatch.setenv("CUTELITE_SIM_SEED", str(request.param))
        for method in (Specialisations.simulation, Specialisations.prepared):
            monkeypatch.setattr(Specialisations, method.__name__, made_once(method))
    return place_of(str(request.param))


def made_once(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of `Specialisations` that compiles once for all seeds, for functions of equal content."""

    def found(self: Specialisations, spec: Specialisation, *how: Any) -> Any:
        digests = (fingerprint.source(each, True).digest for each in (self.function, spec.facts()))
        key = method.__name__, *digests
        if None in key:
            return method(self, spec, *how)
        if key not in MADE:
            MADE[key] = method(self, spec, *how)
        return MADE[key]

    return found


MADE: dict[tuple[Any, ...], Any] = {}


@functools.cache
def capability() -> tuple[int, int] | None:
    """Return the compute capability of the first GPU; None without a GPU or a driver."""
    if find.library("cuda") is None:
        return None
    from cuda.bindings import driver

    if int(driver.cuInit(0)[0]) != 0:
        return None
    status, device = driver.cuDeviceGet(0)
    if int(status) != 0:
        return None
    attributes = driver.CUdevice_attribute
    major = driver.cuDeviceGetAttribute(attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)[1]
    minor = driver.cuDeviceGetAttribute(attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)[1]
    return int(major), int(minor)


def capability_needed(item: pytest.Item) -> int | None:
    """Return what a test needs, as `sm(n)` has it; 0 where any GPU will do, None where none is needed."""
    asked = [mark.args[0] for mark in item.iter_markers("sm")]
    return max(asked, default=0 if item.get_closest_marker("gpu") else None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that need a GPU where there is none: a fifth of all, each else set up and reported."""
    if capability() is not None:
        return
    left_out = [item for item in items if capability_needed(item) is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if capability() is None:
        terminalreporter.write_line("No GPU here: the tests that need one are left out.")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that need a newer GPU: `sm(n)` is compute capability n // 10 . n % 10 or above."""
    lowest, there = capability_needed(item), capability()
    if lowest and there is not None and there < divmod(lowest, 10):
        pytest.skip(f"needs compute capability {lowest // 10}.{lowest % 10}; this GPU has {there[0]}.{there[1]}")


@pytest.fixture(scope="session")
def ptxas() -> str:
    """Return the path of a ptxas; without one the test is skipped."""
    program = find.ptxas()
    if program is None or shutil.which(program) is None:
        pytest.skip("needs ptxas")
    return program


@pytest.fixture(scope="session")
def nvdisasm() -> str:
    """Return the path of nvdisasm; without it the test is skipped."""
    program = find.program("nvdisasm")
    if program is None:
        pytest.skip("needs nvdisasm")
    return program


@pytest.fixture
def hopper() -> Target:
    return Target.parse("sm_90a")
