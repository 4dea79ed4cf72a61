"""The chart is SVG that says what the numbers are."""

import itertools
from xml.etree import ElementTree

import pytest

from cutelite.bench.chart import BAR, HEIGHT, TOP, bars

SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str) -> dict[str, ElementTree.Element]:
    """The bars by what they say."""
    found = {}
    for rect in ElementTree.fromstring(text).iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None:
            found[title.text or ""] = rect
    return found


def test_bars_are_as_high_as_their_values() -> None:
    text = bars("a < b & c", "TFLOP/s", [("one\ntwo", {"ours": 700.0, "theirs": 350.0}), ("three", {"theirs": 175.0})])
    found = drawn(text)
    heights = {words: float(rect.attrib["height"]) for words, rect in found.items()}
    assert list(heights) == ["one\ntwo, ours: 700", "one\ntwo, theirs: 350", "three, theirs: 175"]
    tall, half, quarter = heights.values()
    assert tall == pytest.approx(2 * half, abs=0.2) and half == pytest.approx(2 * quarter, abs=0.2)
    assert 0.7 * HEIGHT <= tall <= HEIGHT
    for rect in found.values():
        assert float(rect.attrib["y"]) + float(rect.attrib["height"]) == pytest.approx(TOP + HEIGHT)


def test_bars_do_not_overlap() -> None:
    groups = [(str(n), dict.fromkeys("abcd", 1.0 + n)) for n in range(7)]
    places = sorted(float(rect.attrib["x"]) for rect in drawn(bars("t", "u", groups)).values())
    assert len(places) == 28
    assert all(b - a >= BAR for a, b in itertools.pairwise(places))


@pytest.mark.parametrize("most", [0.3, 1, 9.99, 10, 710, 1346, 123456])
def test_the_scale_holds_the_largest(most: float) -> None:
    (rect,) = drawn(bars("t", "u", [("g", {"r": most})])).values()
    assert 0 < float(rect.attrib["height"]) <= HEIGHT
