"""Pages that show a kernel: their data, and what a browser makes of them."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cutelite as cl
from cutelite.cli import main
from cutelite.explore.page import data_of
from tests.explore.browser import Browser, found

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of an example with a timeline, and one that compares two."""
    folder = tmp_path_factory.mktemp("pages")
    hopper = str(EXAMPLES / "hopper_gemm.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUTELITE_CACHE", "0")
        assert main(["explore", hopper, "--trace", "-o", str(folder / "one.html")]) == 0
        two = str(EXAMPLES / "vector_add.py"), "--against", str(EXAMPLES / "transpose.py")
        assert main(["explore", *two, "-o", str(folder / "two.html")]) == 0
    sys.modules.pop("hopper_gemm", None)
    return folder


@pytest.fixture(scope="module")
def kernel(pages: Path) -> Any:
    (data,) = data_of((pages / "one.html").read_text())["kernels"]
    return data


def line_of(name: str, text: str) -> int:
    lines = (EXAMPLES / name).read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if text in line)


def figures(kernel: Any, text: str) -> Any:
    line = line_of("hopper_gemm.py", text)
    return next(each for each in kernel["lines"] if each["file"] == 0 and each["line"] == line)


def test_the_page_loads_nothing_and_is_small(pages: Path) -> None:
    for page in pages.iterdir():
        text = page.read_text()
        assert len(text) < 4 << 20
        assert "src=" not in text and "<link" not in text and "http" not in text.replace("http-equiv", "")


def test_stages_are_linked_by_place(kernel: Any) -> None:
    """Each row of a stage has a place that exists; the line of the product has rows in every stage."""
    line = line_of("hopper_gemm.py", "wgmma.mma_async")
    for rows in (*kernel["passes"], kernel["ptx"], kernel["sass"]):
        assert len(rows["text"]) == len(rows["at"])
        places = [kernel["places"][at] for at in rows["at"] if at >= 0]
        assert [0, line] in [chain[0] for chain in places]
    chains = {tuple(map(tuple, kernel["places"][at])) for at in kernel["sass"]["at"] if at >= 0}
    called = line_of("hopper_gemm.py", "        consume(")
    assert any(chain[0] == (0, line) and (0, called) in chain[1:] for chain in chains)


def test_lines_have_their_figures(kernel: Any) -> None:
    product = figures(kernel, "wgmma.mma_async")
    assert product["mix"]["tensor"] == 4
    assert 0 < product["live"] <= kernel["registers"]
    assert figures(kernel, "full[s].wait")["cycles"] >= figures(kernel, "full[s].wait")["wait"] > 0
    assert figures(kernel, "wgmma.commit_group")["through"]
    assert sum(each.get("cycles", 0) for each in kernel["lines"]) <= kernel["cycles"] * 12 * 100


def test_the_head_tells_what_limits_the_kernel(kernel: Any) -> None:
    assert kernel["occupancy"]["limiter"] in ("registers", "shared memory")
    ends = [each["offset"] + each["bytes"] for each in kernel["shared"]]
    begins = [each["offset"] for each in kernel["shared"]]
    assert all(end <= begin for end, begin in zip(ends, begins[1:], strict=False))
    assert max(ends) <= kernel["smem"] <= kernel["smem_limit"]
    assert set(kernel["times"]) == {"front", "passes", "lower", "llvm", "assemble"}


def test_waits_point_to_earlier_setters(kernel: Any) -> None:
    sass = kernel["sass"]
    pairs = [(i, j) for i, waits in enumerate(sass["waits"]) for j in waits]
    assert pairs
    for waiting, setting in pairs:
        barriers = next(part for part in sass["control"][waiting].split() if part.startswith("B"))[1:].split(".")
        assert {part[1:] for part in sass["control"][setting].split() if part[0] in "RW"} & set(barriers)


def test_findings_stand_at_their_lines(tmp_path: Path) -> None:
    racy = tmp_path / "racy.py"
    racy.write_text(
        "import cutelite as cl\nimport numpy as np\nfrom cutelite import Tensor, f32\n\n"
        "@cl.kernel(block=64)\ndef racy(out: Tensor[f32, (64,)]) -> None:\n"
        "    s = cl.shared(f32, (64,))\n    s[cl.thread_idx.x] = 1.0\n"
        "    out[cl.thread_idx.x] = s[63 - cl.thread_idx.x]\n\n"
        "def main() -> None:\n    racy[1](np.zeros(64, np.float32))\n"
    )
    assert main(["explore", f"{racy}:racy", "--check", "-o", str(tmp_path / "racy.html")]) == 0
    (kernel,) = data_of((tmp_path / "racy.html").read_text())["kernels"]
    assert "racy: 1 found under 4 schedules" in kernel["check"]
    told = [found for each in kernel["lines"] for found in each.get("findings", ())]
    assert {found["kind"] for found in told if found["severity"] == "error"} == {"race"}
    assert all("racy.py" in found["whole"] for found in told)


def test_a_compile_shows_itself_in_a_notebook() -> None:
    """Also one that was compiled without source lines: the page compiles it again with them."""
    shown = vector.compile(arch="sm_80")._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "DecompressionStream" in shown
    page = vector.compile(arch="sm_80", line_info=True).explore()
    both = page.against(page)
    assert [kernel["title"] for kernel in both.data["kernels"]] == [
        "vector (test_explore.py) 1", "vector (test_explore.py) 2"]  # fmt: skip
    assert any(each["mix"].get("global store") for each in page.data["kernels"][0]["lines"] if "mix" in each)


@cl.kernel(block=32)
def vector(a: cl.Tensor[cl.f32, (32,)]) -> None:
    a[cl.thread_idx.x] += 1.0


@pytest.fixture(scope="module")
def browser(pages: Path) -> Iterator[Browser]:
    program = found()
    if program is None:
        pytest.skip("no browser")
    with Browser(program, pages / "one.html") as it:
        ready(it)
        yield it


READY = (
    "new Promise(done => { const look = () => document.body.dataset.ready ? done() : setTimeout(look, 20); look() })"
)


def ready(browser: Browser) -> None:
    """Wait until the page can be used, and then until the rows out of sight are there too."""
    browser.run(READY)
    browser.run(READY.replace("ready", "whole"))


def slide(browser: Browser, to: int) -> None:
    browser.run(
        "(() => { const s = document.querySelector('input[type=range]'); "
        f"s.value = {to}; s.dispatchEvent(new Event('input')) }})()"
    )
    ready(browser)


def test_a_browser_shows_every_stage(browser: Browser, kernel: Any) -> None:
    counts = browser.run("[...document.querySelectorAll('.rows')].map(rows => rows.querySelectorAll('.r').length)")
    assert counts[2:] == [len(kernel["ptx"]["text"]), len(kernel["sass"]["text"])]
    assert counts[1] == len(kernel["passes"][0]["text"])
    assert "registers" in browser.run("document.getElementById('facts').innerText")


def test_moving_over_a_line_shows_what_became_of_it(browser: Browser) -> None:
    line = line_of("hopper_gemm.py", "wgmma.mma_async")
    browser.run(
        f"[...document.querySelectorAll('.source .r')].find(r => r.querySelector('.no').textContent === '{line}')"
        ".dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))"
    )
    lit = browser.run("[...document.querySelectorAll('.sass .r.on .t')].map(t => t.textContent)")
    assert sum("HGMMA" in text for text in lit) == 4
    assert browser.run("document.querySelectorAll('.ptx .r.on').length") > 0
    assert "4 tensor" in browser.run("document.getElementById('more').textContent")


def test_the_slider_goes_through_the_passes(browser: Browser, kernel: Any) -> None:
    last = len(kernel["passes"]) - 1
    slide(browser, last)
    assert browser.run("document.querySelectorAll('.ir .r').length") == len(kernel["passes"][last]["text"])
    assert kernel["passes"][last]["name"] in browser.run("document.querySelector('.ir').parentElement.innerText")


def test_layouts_are_drawn_where_the_mouse_is(browser: Browser) -> None:
    """Offsets of a swizzled tensor are those of the library."""
    shown = browser.run("offsets('tensor<bf16,smem,(64,64):(64,1),1024,S<3,4,3>>').rows")
    swizzle = cl.Swizzle(3, 4, 3)
    assert shown[5][:32] == [swizzle(2 * (64 * 5 + j)) // 2 for j in range(32)]
    assert browser.run("offsets('S<2,0,2> o 0 o ((2,2),4):((1,4),8)').rows") == [
        [cl.Swizzle(2, 0, 2)(i % 2 + i // 2 * 4 + 8 * j) for j in range(4)] for i in range(4)
    ]
    slide(browser, 0)
    browser.run("document.querySelector('.ir .lay').dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))")
    assert browser.run("document.querySelectorAll('#tip svg.layout rect').length") > 16


def test_two_kernels_stand_side_by_side(pages: Path) -> None:
    program = found()
    if program is None:
        pytest.skip("no browser")
    with Browser(program, pages / "two.html") as browser:
        ready(browser)
        heads = browser.run("[...document.querySelectorAll('#mixes tr:first-child th')].map(x => x.textContent)")
        assert heads == ["class", "vector_add", "hot loop", "transpose", "hot loop"]
        assert browser.run("document.querySelectorAll('.pane').length") == 4
