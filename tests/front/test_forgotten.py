"""Comparisons and conditions that Python would decide in silence: of axes, functions, whole tensors, keys and texts."""

import pytest

from tests.front.lines import built, refusal

AXES = """
    if cl.thread_idx == 0: o[0] = 1
    if 0 != cl.block_idx: o[0] = 1
    if cl.block_dim == 128: o[0] = 1
    if cl.thread_idx < 32: o[0] = 1
    if cl.cluster_idx: o[0] = 1
    if cl.thread_idx in (0, 1): o[0] = 1
    o[0] = cl.thread_idx + 1
    match cl.grid_dim:
        case 1: o[0] = 1
"""
FUNCTIONS = """
    if cl.lane_idx == 0: o[0] = 1
    if cl.warp_idx < 4: o[0] = 1
    if cl.elect_one: o[0] = 1
    if not cl.elect_one: o[0] = 1
    if cl.elect_one == True: o[0] = 1
    if cl.elect_one and n > 0: o[0] = 1
    if n > 0 or cl.elect_one: o[0] = 1
    if all([cl.elect_one, n > 0]): o[0] = 1
    while cl.elect_one: o[0] = 1
    assert cl.elect_one
    o[0] = 1 if cl.elect_one else 2
    if bool(cl.elect_one): o[0] = 1
    if a.load == 0: o[0] = 1
    if not a.load: o[0] = 1
    if cl.lane_idx in (0, 1): o[0] = 1
    if cl.Barrier == 0: o[0] = 1
    if abs == n: o[0] = 1
    if (lambda: 0) == 0: o[0] = 1
    o[0] = cl.lane_idx + 1
"""
TENSORS = """
    if a == 0.0: o[0] = 1
    if a != a: o[0] = 1
    if a == None: o[0] = 1
    if a < 0.0: o[0] = 1
    if a: o[0] = 1
    if a in (1, 2): o[0] = 1
    if n == np.zeros(3): o[0] = 1
    if (a, n) == (o, n): o[0] = 1
    match a:
        case 0: o[0] = 1
"""
KEYS = """
    o[0] = len({n, o[1]})
    o[0] = len({M, N})
    o[0] = len({v for v in (n, n + 1)})
    o[0] = len({n: 1})
    o[0] = len({v: 1 for v in (M, N)})
    d = {}; d[n] = 1
    d = {}; d[M] = 1
    s = set(); s.add(n)
    o[0] = len(set([M, N]))
    o[0] = len(frozenset((n,)))
    o[0] = {1: 2}.get(n, 0)
    o[0] = {1: 2}[M]
    o[0] = len(dict([(n, 1)]))
    o[0] = len(dict.fromkeys([n]))
    o[0] = hash(n)
    o[0] = hash((M, 1))
    o[0] = id(n)
"""
TEXTS = """
    if str(n) == "5": o[0] = 1
    if f"{n}" == "5": o[0] = 1
    if repr(n) == "5": o[0] = 1
    if format(n) in ("5", "6"): o[0] = 1
    if "5" in f"{n}": o[0] = 1
    if f"{n}": o[0] = 1
    o[0] = len("%d" % n)
    o[0] = len("{}".format([n]))
    o[0] = len(", ".join([f"{n}"]))
    o[0] = len(str([n]))
    o[0] = {f"{n}": 1}["5"]
"""
KINDS = """
    if type(n) is int: o[0] = 1
    if type(x) == float: o[0] = 1
    if type(n) in (int, float): o[0] = 1
    if n is M: o[0] = 1
    if M is N: o[0] = 1
    if n is x: o[0] = 1
    o[0] = complex(n)
    o[0] = sorted([n, 3])[0]
    o[0] = [1, 2, 3].index(n)
    o[0] = [1, None, 3][n]
    o[0] = len([1, 2, 3][n:])
"""
UNCALLED = """
    cl.syncthreads
    b = cl.shared(cl.mbarrier, 1); b[0].wait
    helper = lambda: 1; helper
"""
DROPPED = """
    s = cl.PipelineState.consumer(2); s.advance(); o[0] = s.index
    t = cl.StaticPersistentTileScheduler.create((2, 2)); t.advance()
    t = cl.StreamKTileScheduler.create((2, 2), 3); t.advance()
    p, c = cl.PipelineAsync.create(2, 32, 32).make_participants(); p.acquire_and_advance()
    p, c = cl.PipelineAsync.create(2, 32, 32).make_participants(); c.advance(2)
"""
KEPT = """
    s = cl.PipelineState.consumer(2); s = s.advance(); o[0] = s.advance().index
    s = cl.PipelineState.consumer(2); print(s.advance().index)
    t = cl.StaticPersistentTileScheduler.create((2, 2)); t.advance().is_valid()
    p, c = cl.PipelineAsync.create(2, 32, 32).make_participants(); p.acquire(); c.wait()
    _ = cl.PipelineState.consumer(2).advance()
    s = cl.PipelineState.consumer(2); (lambda t: t)(s.advance(-1))
    (lambda f: f)(cl.syncthreads)
"""


def cases(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.strip("\n").splitlines():
        line = line[4:]
        if line.startswith(" "):
            lines[-1] += f"\n{line}"
        else:
            lines.append(line)
    return lines


@pytest.mark.parametrize("line", cases(AXES))
def test_axes_want_their_x(line: str) -> None:
    error = refusal(line)
    assert error.diagnostic.code == "forgotten"
    assert "did you mean `cl." in str(error) and ".x`?" in str(error)


@pytest.mark.parametrize("line", cases(UNCALLED))
def test_a_function_that_is_a_statement_is_called(line: str) -> None:
    error = refusal(line)
    assert error.diagnostic.code == "forgotten" and "is not called here" in str(error)


@pytest.mark.parametrize("line", cases(DROPPED))
def test_what_never_changes_itself_is_kept(line: str) -> None:
    error = refusal(line)
    assert error.diagnostic.code == "dropped" and "is dropped, and a" in str(error)


@pytest.mark.parametrize("line", cases(KEPT))
def test_what_is_kept_is_not_told_of(line: str) -> None:
    built(line)


@pytest.mark.parametrize("line", cases(FUNCTIONS))
def test_functions_want_to_be_called(line: str) -> None:
    assert refusal(line).diagnostic.code == "forgotten"


def test_the_call_is_suggested() -> None:
    assert "help: call it: `cl.elect_one()`" in str(refusal("if cl.elect_one: o[0] = 1"))


@pytest.mark.parametrize("line", cases(TENSORS))
def test_whole_tensors_are_not_compared(line: str) -> None:
    assert refusal(line).diagnostic.code in ("comparison", "truth")


@pytest.mark.parametrize("line", cases(KEYS))
def test_no_key_is_known_at_run_time_only(line: str) -> None:
    assert refusal(line).diagnostic.code == "runtime-key"


@pytest.mark.parametrize("line", cases(TEXTS))
def test_text_with_run_time_numbers_is_only_printed(line: str) -> None:
    assert refusal(line).diagnostic.code in ("runtime-text", "runtime-key")


@pytest.mark.parametrize("line", cases(KINDS))
def test_what_has_no_meaning_at_run_time_is_refused(line: str) -> None:
    text = str(refusal(line))
    assert "python-error" not in text and "Scalar" not in text


RIGHT = """
    assert type(n) is i32 and type(M) is int and type(a) is Tensor and type(range(n)) is range
    assert isinstance(n, int) and isinstance(x, float) and isinstance(a, Tensor) and isinstance(M, int)
    assert isinstance(range(n), range) and not isinstance(n, str)
    assert a is not None and n is not None and a is a and not (a is o)
    assert a.shape == (M, N) and a.shape != (M, N, 1) and (M, 1) != (M, 2)
    assert cl.lane_idx is cl.lane_idx and f32 == cl.f32 and f32 != i32 and f32 in (f32, i32)
    assert n != None and n != "x"
    assert cl.block_dim.x == 128 and tuple(cl.block_dim) == (128, 1, 1)
"""


@pytest.mark.parametrize("line", cases(RIGHT))
def test_what_is_known_is_decided(line: str) -> None:
    built(line)


@pytest.mark.parametrize("line", ["p = a.shape == (64, 64)", "p = 64 in a.shape", "p = (M, n) == (n, N)", "p = M == N"])
def test_dims_in_tuples_are_compared_at_run_time(line: str) -> None:
    assert "cmp" in str(built(f"{line}\nif p: o[0] = 1"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cl.warp_reduce(n, 'most')", "error[combine]: values are combined by one of add, mul,"),
        ("if n > 3: cl.warp_reduce(n, 'most')", "error[combine]: values are combined by one of add, mul,"),
        ("print(n, file=3)", "error[builtin]: a kernel prints to the host's standard output"),
        ("for i in cl.range(n, steps=1): pass", "error[python-error]: TypeError: range() got an unexpected keyword"),
        ("cl.shared(cl.mbarrier, (1,))[0] = 3", "error[literal]: an mbarrier holds no number such as 3"),
        ("for i in range(n, foo=1): pass", "error[python-error]: TypeError: range() got an unexpected keyword"),
    ],
)
def test_mistakes_are_said_in_the_users_words(line: str, said: str) -> None:
    assert str(refusal(line)).startswith(said)
