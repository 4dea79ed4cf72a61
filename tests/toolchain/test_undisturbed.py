"""LLVM among signals and forks. Each test is a process of its own, since a failure ends it, or never ends."""

import os
import textwrap
import threading

import pytest

from cutelite.target import Target
from cutelite.toolchain import libllvm, to_ptx
from cutelite.toolchain.undisturbed import alone, undisturbed
from tests.processes import printed
from tests.threads import at_once

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals and forks")

KERNEL = """
import os, random, signal, sys, threading, time
import cutelite as cl
from cutelite import Constexpr, Tensor, f32

@cl.kernel(block=32)
def kernel(x: Tensor[f32, (1,)], n: Constexpr[int]) -> None:
    y = x[0]
    for i in cl.static_range(n % 50 + 100):
        y = y * 1.5 + float(i + n)
    x[0] = y
"""


def run(program: str) -> str:
    return printed(KERNEL + textwrap.dedent(program), CUTELITE_CACHE="0", PYTHONWARNINGS="ignore")


def test_exceptions_of_signals_do_not_reach_llvm() -> None:
    found = run("""
        class Interrupted(BaseException):
            pass

        def interrupt(number, frame):
            raise Interrupted

        kernel.compile(n=0)
        signal.signal(signal.SIGALRM, interrupt)
        source, done, stopped = random.Random(0), 0, 0
        for n in range(60):
            try:  # the outer one: the signal may come after the compile, before the timer is off
                try:
                    signal.setitimer(signal.ITIMER_REAL, source.uniform(0.001, 0.06))
                    kernel.compile(n=n)
                    done += 1
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:
                stopped += 1
        kernel.compile(n=1)
        print(stopped > 5)
    """)
    assert found == "True\n"


def test_children_forked_beside_a_compile_compile() -> None:
    found = run("""
        done = threading.Event()

        def work():
            n = 0
            while not done.is_set():
                kernel.compile(n=n)
                n += 1

        kernel.compile(n=0)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        codes = []
        for turn in range(8):
            time.sleep(0.01 * turn)
            child = os.fork()
            if not child:
                signal.alarm(30)
                kernel.compile(n=7)
                os._exit(0)
            codes.append(os.waitpid(child, 0)[1])
        done.set()
        print(codes)
    """)
    assert found == f"{[0] * 8}\n"


def test_threads_call_llvm_at_once(monkeypatch: pytest.MonkeyPatch, hopper: Target) -> None:
    """Each waits in LLVM's midst for the others, and all get what one thread gets."""
    text = "define ptx_kernel void @f(ptr %p) {{ store i32 {0}, ptr %p ret void }}"
    wanted = [to_ptx(text.format(n), hopper) for n in range(4)]
    meeting, tidy = threading.Barrier(4, timeout=60), libllvm.tidy

    def met(module: int, machine: int) -> None:
        meeting.wait()
        tidy(module, machine)

    monkeypatch.setattr(libllvm, "tidy", met)
    assert at_once(lambda n: to_ptx(text.format(n), hopper), range(4)) == wanted


def test_a_thread_alone_waits_for_those_at_work_and_they_for_it() -> None:
    said: list[str] = []
    inside, leave, waits = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        inside.set()
        assert leave.wait(60)
        undisturbed(said.append, "within")  # another thread wants to be alone: this one is at work already
        said.append("first")

    def second() -> None:
        waits.set()
        alone(said.append, "alone")

    threads = [threading.Thread(target=undisturbed, args=(first,)), threading.Thread(target=second)]
    threads[0].start()
    assert inside.wait(60)
    threads[1].start()
    assert waits.wait(60)
    threads[1].join(0.05)
    assert said == []
    leave.set()
    for thread in threads:
        thread.join(60)
    assert said == ["within", "first", "alone"]
    alone(undisturbed, said.append, "nested")
    assert said[-1] == "nested"
