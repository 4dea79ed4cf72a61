"""What the simulator says: the lines of the kernel, who and where; printf; interruption; and what every op needs."""

import io
import textwrap
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32, sim
from cutelite.diag import InternalError
from cutelite.ir.op import REGISTRY, Op
from cutelite.sim import SimError
from cutelite.sim.report import threads_text
from cutelite.sim.schedule import Scheduler
from tests.ir.parser import parse_function
from tests.sim import strict
from tests.sim.kernels import kernel, outputs


def test_every_op_has_a_meaning() -> None:
    without = [name for name, op in REGISTRY.items() if op.simulate is Op.simulate]
    assert without == []


def test_lines_of_the_kernel(tmp_path: Any) -> None:
    text = textwrap.dedent("""\
        func @kernel(%out: tensor<i32,gmem,8:1,16>) attrs {block=(4, 1, 1)} {
          %tid = special register="tid.x"
          %bars = smem.alloc type=tensor<mbarrier,smem,2:1,8>
          %c0 = const value=0, type=i32
          %c1 = const value=1, type=i32
          %full = tensor.ptr t=%bars, coord=(%c1), align=8
          %is_first = cmp predicate="eq", a=%tid, b=%c0
          cond_br cond=%is_first, then=^init, other=^wait
        ^init:
          mbarrier.init bar=%full, count=%c1
          ret
        ^wait:
          bar.sync
          mbarrier.wait bar=%full, phase=%c0
          ret
        }
        """)
    file = tmp_path / "kernel.cir"
    file.write_text(text)
    with pytest.raises(SimError) as caught:
        sim.run(parse_function(text, str(file)), 1, [np.zeros(8, np.int32)], seed=4)
    assert str(caught.value).split("\n")[1].endswith("kernel.cir:14:3")
    rest = "\n".join(str(caught.value).split("\n")[2:])
    waiting = "threads 1-3 wait for mbarrier bars[1]: phase of parity 0; 1 of 1 arrivals and 0 bytes are missing"
    assert rest == textwrap.dedent(f"""\
           |
        14 |   mbarrier.wait bar=%full, phase=%c0
           |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ block (0, 0, 0): {waiting}
        note: in kernel `kernel`, block (0, 0, 0), threads (1, 0, 0), (2, 0, 0), (3, 0, 0)
        note: schedule of seed 4""")
    assert str(caught.value).startswith("error[deadlock]: a deadlock: no thread can go on\n")


@pytest.mark.parametrize(
    ("tid", "text"),
    [
        ((5,), "thread 5"),
        (tuple(range(32)), "threads 0-31 (warp 0)"),
        (tuple(range(64, 128)), "threads 64-127 (warps 2-3)"),
        ((1, 2, 3), "threads 1-3"),
        ((0, 2, 4, 6, 8, 10), "threads 0, 2, 4, 6 and 2 more"),
    ],
)
def test_names_of_threads(tid: tuple[int, ...], text: str) -> None:
    assert threads_text(tid) == text


def test_printf_comes_in_order_of_blocks_and_threads() -> None:
    function = kernel("""
      %four = const value=4, type=i32
      %low = cmp predicate="lt", a=%tid, b=%four
      cond_br cond=%low, then=^say, other=^done
    ^say:
      printf fmt="%d.%d\\n", args=(%block, %tid)
      br to=^done
    ^done:
      ret
    """)
    for seed in range(8):
        stream = io.StringIO()
        report = sim.run(function, 3, [np.zeros(4096, np.int32)], seed=seed, stdout=stream)
        assert report.stdout == stream.getvalue() == "".join(f"{b}.{t}\n" for b in range(3) for t in range(4))


def test_output_up_to_an_error_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    function = kernel("""
      printf fmt="here\\n", args=()
      %bar = smem.alloc type=tensor<i32,smem,4:1,4>
      %x = tensor.load t=%bar, coord=(%c0)
      ret
    """, block=1)  # fmt: skip
    with pytest.raises(SimError):
        sim.run(function, 1, [np.zeros(4096, np.int32)])
    assert capsys.readouterr().out == "here\n"


ENDLESS = """
  br to=^head
^head:
  br to=^head
"""


def test_no_end() -> None:
    with pytest.raises(SimError) as caught:
        sim.run(kernel(ENDLESS), 1, [np.zeros(4096, np.int32)], max_ops=5000)
    assert caught.value.code == "endless"
    assert "no end after" in str(caught.value)


def test_interruption_says_where_all_threads_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C stops at once."""
    turns = 0
    look_after = Scheduler._look_after

    def interrupt(self: Scheduler) -> None:
        nonlocal turns
        turns += 1
        if turns == 5:
            raise KeyboardInterrupt
        look_after(self)

    monkeypatch.setattr(Scheduler, "_look_after", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        sim.run(kernel(ENDLESS), 1, [np.zeros(4096, np.int32)])
    assert "threads 0-63 (warps 0-1) execute br" in "".join(caught.value.__notes__)


def test_assertions_and_places_that_cannot_be_reached() -> None:
    for ending, code in [('assert.fail message="too big"', "assertion"), ("unreachable", "unreachable")]:
        function = kernel(f"""
      %last = const value=63, type=i32
      %bad = cmp predicate="eq", a=%tid, b=%last
      cond_br cond=%bad, then=^fail, other=^done
    ^fail:
      {ending}
    ^done:
      ret
        """)
        with pytest.raises(SimError) as caught:
            sim.run(function, 2, [np.zeros(4096, np.int32)], seed=1)
        assert (caught.value.code, caught.value.threads) == (code, ((63, 0, 0),))


def test_a_mistake_of_an_op_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    add = REGISTRY["add"]
    monkeypatch.setattr(add, "simulate", lambda self, lanes: 1 // 0)
    function = kernel("  %x = add a=%tid, b=%c1\n  ret\n")
    with pytest.raises(InternalError, match="ZeroDivisionError"):
        sim.run(function, 1, [np.zeros(4096, np.int32)])
    monkeypatch.setattr(add, "simulate", lambda self, lanes: lanes.define(lanes.get(self.a).astype(np.int64)))
    with pytest.raises(InternalError, match="is of int64, not int32"):
        strict.run(function, 1, [np.zeros(4096, np.int32)])


@pytest.mark.parametrize(
    ("register", "expected"),
    [
        ("laneid", lambda t: t % 32),
        ("warpid", lambda t: t // 32),
        ("nwarpid", lambda t: 2 + 0 * t),
        ("tid.y", lambda t: t // 8 % 4),
        ("tid.z", lambda t: t // 32),
        ("ntid.y", lambda t: 4 + 0 * t),
        ("nctaid.z", lambda t: 1 + 0 * t),
    ],
)
def test_special_registers(register: str, expected: Any) -> None:
    function = kernel(f"""
      %y = special register="tid.y"
      %z = special register="tid.z"
      %eight = const value=8, type=i32
      %four = const value=4, type=i32
      %a = mul a=%z, b=%four
      %b = add a=%a, b=%y
      %c = mul a=%b, b=%eight
      %linear = add a=%c, b=%tid
      %x = special register="{register}"
      tensor.store t=%out, coord=(%linear), a=%x
      ret
    """)
    function.attrs["block"] = (8, 4, 2)
    np.testing.assert_array_equal(outputs(function), expected(np.arange(64)))


@cl.kernel(block=32)
def reads_too_early(x: Tensor[f32, (64,)]) -> None:
    s = cl.shared(f32, 32)
    cl.cp_async(s.at(cl.thread_idx.x), x.at(cl.thread_idx.x), 4)
    cl.cp_async_commit_group()
    x[cl.thread_idx.x] = s[cl.thread_idx.x]


def test_copies_under_way_are_told_where_their_data_is_missing() -> None:
    with pytest.raises(SimError, match="a copy started here is still under way") as caught:
        reads_too_early[1](np.zeros(64, np.float32))
    assert caught.value.code == "uninitialised"
