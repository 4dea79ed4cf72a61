"""Bar charts as SVG: groups of bars, a colour for each competitor, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#2563eb", "#9ca3af", "#f59e0b", "#10b981", "#a855f7", "#ef4444")
INK, FONT = "#6b7280", 'font-family="system-ui, sans-serif" font-size="11"'
HEIGHT, TOP, BOTTOM, LEFT, BAR, GAP = 320, 64, 56, 56, 16, 20  # pixels


def bars(title: str, unit: str, groups: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Return an SVG of the groups (name, competitor -> value); a competitor without a value leaves its place empty."""
    rivals = list(dict.fromkeys(rival for _, values in groups for rival in values))
    top = _step(max((value for _, values in groups for value in values.values()), default=1.0))
    most = top * 5
    group = len(rivals) * BAR + GAP
    width = LEFT + len(groups) * group + GAP
    height = TOP + HEIGHT + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" {FONT} fill="{INK}">',
        f'<text x="{LEFT}" y="18" font-size="14" font-weight="600">{escape(title)}</text>',
    ]
    for i, rival in enumerate(rivals):
        place = LEFT + i * 110
        parts.append(f'<rect x="{place}" y="30" width="10" height="10" rx="2" fill="{COLOURS[i % len(COLOURS)]}"/>')
        parts.append(f'<text x="{place + 15}" y="39">{escape(rival)}</text>')
    for line in range(6):
        y = _y(line * top, most)
        parts.append(f'<line x1="{LEFT}" x2="{width}" y1="{y}" y2="{y}" stroke="{INK}" stroke-opacity="0.2"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{line * top:g}</text>')
    parts.append(f'<text x="{LEFT - 6}" y="{TOP - 10}" text-anchor="end">{escape(unit)}</text>')
    for at, (name, values) in enumerate(groups):
        x = LEFT + GAP / 2 + at * group
        for i, rival in enumerate(rivals):
            if rival in values:
                parts.append(_bar(x + i * BAR, values[rival], most, COLOURS[i % len(COLOURS)], f"{name}, {rival}"))
        middle = x + len(rivals) * BAR / 2
        for line, words in enumerate(name.split("\n")):
            y = TOP + HEIGHT + 16 + 13 * line
            parts.append(f'<text x="{middle:g}" y="{y}" text-anchor="middle">{escape(words)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bar(x: float, value: float, most: float, colour: str, words: str) -> str:
    y = _y(value, most)
    told = f"<title>{escape(words)}: {value:.0f}</title>"
    return f'<rect x="{x:g}" y="{y}" width="{BAR - 2}" height="{TOP + HEIGHT - y:g}" fill="{colour}">{told}</rect>'


def _y(value: float, most: float) -> float:
    return round(TOP + HEIGHT * (1 - value / most), 1)


def _step(most: float) -> float:
    """Return a round number; five times it is at least `most`."""
    size = 1.0
    while size * 5 * 10 <= most:
        size *= 10
    return next(size * n for n in (1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10) if size * n * 5 >= most)
