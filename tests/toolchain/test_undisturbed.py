"""LLVM among signals and forks. Each test is a process of its own, since a failure ends it, or never ends."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals and forks")
ROOT = Path(__file__).resolve().parents[2]

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
    environment = dict(os.environ) | {"PYTHONPATH": str(ROOT), "CUTELITE_CACHE": "0"}
    code = KERNEL + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=240)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}"
    return done.stdout


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
