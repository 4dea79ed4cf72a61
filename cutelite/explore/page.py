"""The page: the data of one or two kernels, in an HTML file that loads no other."""

from __future__ import annotations

import base64
import gzip
import json
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

_MARK = "/*DATA*/"


class Exploration:
    """A page about one kernel, or two side by side; a notebook displays it.

    data    {"kernels": [...]}: each as `data.kernel_data` returns it
    Result  ``save(path)`` writes the page, ``html`` is its text
    """

    def __init__(self, *kernels: dict[str, Any]) -> None:
        self.data: dict[str, Any] = {"kernels": list(kernels)}

    def against(self, other: Exploration) -> Exploration:
        """Return a page that compares this kernel with another, or with another version of it."""
        kernels = [*self.data["kernels"], *other.data["kernels"]]
        if len({kernel["title"] for kernel in kernels}) < len(kernels):
            kernels = [{**x, "title": f"{x['title']} ({Path(x['files'][0]['name']).name})"} for x in kernels]
        if len({kernel["title"] for kernel in kernels}) < len(kernels):
            kernels = [{**x, "title": f"{x['title']} {number}"} for number, x in enumerate(kernels, 1)]
        return Exploration(*kernels)

    @property
    def html(self) -> str:
        """The page's text. Its data are compressed: it needs a browser of 2023 or later (`DecompressionStream`)."""
        packed = gzip.compress(json.dumps(self.data, separators=(",", ":")).encode(), mtime=0)
        title = " and ".join(kernel["title"] for kernel in self.data["kernels"])
        page = resources.files("cutelite.explore").joinpath("page.html").read_text(encoding="utf-8")
        page = page.replace("<!--TITLE-->", escape(title))
        return page.replace(_MARK, base64.b64encode(packed).decode())

    def save(self, path: str | Path) -> Path:
        """Write the page to `path`. Return the path."""
        to = Path(path)
        to.write_text(self.html, encoding="utf-8")
        return to

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:720px;border:1px solid #ccc"></iframe>'


def data_of(page: str) -> Any:
    """Return the data in the text of a page. Errors: ValueError if it is not one of these pages."""
    _, found, rest = page.partition('<script id="data" type="text/plain">')
    if not found:
        raise ValueError("the page holds no data of a kernel")
    return json.loads(gzip.decompress(base64.b64decode(rest.partition("</script>")[0])))
