"""Logs of assemblers, read back."""

from cutelite.toolchain import log

SAID = """\
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.
ptxas info    : Overriding maximum register limit 256 for 'k' with  24 of maxrregcount option
ptxas warning : Registers are spilled to local memory in function 'k', 300 bytes spill stores, 296 bytes spill loads
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    304 bytes stack frame, 300 bytes spill stores, 296 bytes spill loads
ptxas info    : Used 24 registers, used 2 barriers, 304 bytes cumulative stack size, 1024 bytes smem
ptxas info    : Compile time = 11.016 ms
"""


def test_numbers() -> None:
    assert log.usage(SAID) == log.Usage(
        registers=24, stack_frame=304, spill_stores=300, spill_loads=296, smem_static=1024, barriers=2
    )


def test_numbers_as_the_driver_tells_them() -> None:
    said = "info    : used 8 registers, used 1 barriers, 0 stack, 2048 bytes smem, 536 bytes cmem[0], 0 bytes lmem\n"
    assert log.usage(said) == log.Usage(
        registers=8, stack_frame=0, spill_stores=0, spill_loads=0, smem_static=2048, barriers=1
    )


def test_of_two_kernels_the_most() -> None:
    other = "ptxas info    : Used 168 registers, used 1 barriers\n"
    usage = log.usage(SAID + other)
    assert usage is not None
    assert (usage.registers, usage.barriers, usage.smem_static) == (168, 2, 1024)


def test_no_numbers_is_not_zero() -> None:
    assert log.usage("ptxas info    : 0 bytes gmem\n") is None


def test_warnings_are_marked_or_numbered_lines() -> None:
    found = log.warnings(SAID)
    assert [warning.code for warning in found] == ["C7508", ""]
    assert found[0].message.startswith("Potential Performance Loss: 'setmaxnreg' ignored")
    assert found[1].message.startswith("Registers are spilled")


def test_a_warning_said_twice_is_one() -> None:
    assert len(log.warnings(SAID + SAID)) == 2
