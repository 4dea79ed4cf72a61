"""The values that are known to be the same for all lanes."""

import pytest

from cutelite.passes.uniform import Uniform
from tests.ir.parser import parse_function

KERNEL = """
func @k(%n: i32) {
  %zero = const value=0, type=i32
  %one = const value=1, type=i32
  %all = const value=4294967295, type=u32
  %block = special register="ctaid.x"
  %lane = special register="laneid"
  %thread = special register="tid.x"
  %sum = add a=%block, b=%n
  %mixed = add a=%sum, b=%thread
  %told = shfl.sync a=%mixed, lane=%zero, members=%all, mode="idx", width=32
  %turned = shfl.sync a=%mixed, lane=%lane, members=%all, mode="idx", width=32
  %swapped = shfl.sync a=%mixed, lane=%one, members=%all, mode="bfly", width=32
  %more = mul a=%told, b=%n
  br to=^loop(%zero, %zero)
^loop(%i: i32, %j: i32):
  %next = add a=%i, b=%more
  %far = add a=%j, b=%thread
  %going = cmp predicate="lt", a=%next, b=%n
  cond_br cond=%going, then=^loop(%next, %far), other=^end
^end:
  ret
}
"""


@pytest.mark.parametrize(
    ("name", "same"),
    [("n", True), ("sum", True), ("told", True), ("more", True), ("i", True), ("next", True), ("going", True)]
    + [(name, False) for name in ("lane", "thread", "mixed", "turned", "swapped", "j", "far")],
)
def test_values_are_the_same_for_all_lanes_or_not(name: str, same: bool) -> None:
    function = parse_function(KERNEL)
    values = {v.hint: v for block in function.blocks for v in block.params}
    values |= {v.hint: v for op in function.ops() for v in op.results}
    uniform = Uniform(function)
    assert uniform(values[name]) is same
    assert uniform(values["sum"]), "what was asked before is still known"
