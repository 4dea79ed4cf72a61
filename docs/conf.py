"""The site: `make docs` builds it with Sphinx from the pages beside this file, which are Markdown, and from docstrings.

Steps of the tutorial are Python files with cells, read by jupytext and executed by myst-nb, so that what a page shows
is what the code printed when the page was built.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "tools")]

from api_pages import reworked, write  # noqa: E402
from docutils import nodes  # noqa: E402
from pygments.lexers.special import TextLexer  # noqa: E402
from sphinx.addnodes import pending_xref  # noqa: E402

from cutelite import __version__  # noqa: E402

project, author, copyright = "cutelite", "the cutelite authors", "the cutelite authors"
release = version = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton"]
root_doc = "index"
exclude_patterns = ["README.md", "tools", "_build", "conf.py", "**/__pycache__"]
source_suffix = {".md": "myst-nb", ".py": "myst-nb"}
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
suppress_warnings = ["myst.xref_missing"]  # links to folders of the repository; tests/test_docs.py tries each
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"

html_theme = "pydata_sphinx_theme"
html_title = "cutelite"
html_theme_options = {
    "switcher": {"json_url": "/versions.json", "version_match": release},  # of all versions that a site holds
    "check_switcher": False,
    "navbar_end": ["version-switcher", "theme-switcher"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
}

write(ROOT / "docs" / "api")


def lead_to_copies(app: Any, doctree: nodes.document) -> None:
    """Lead links to files of the repository that are no pages to copies of them in the site, shown as text."""
    up = "../" * app.env.docname.count("/")
    for link in [each for each in doctree.findall(pending_xref) if each.get("refdomain") == "doc"]:
        stem = Path(link["reftarget"])  # absolute for what lies outside of the pages
        found = [path for suffix in source_suffix if (path := stem.with_name(stem.name + suffix)).is_file()]
        if stem.is_absolute() and stem.is_relative_to(ROOT) and found:
            name = f"files/{found[0].relative_to(ROOT)}.txt"
            copy = Path(app.outdir) / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found[0], copy)
            link.replace_self(nodes.reference("", "", *link.children, internal=True, refuri=up + name))


def setup(app: Any) -> None:
    app.connect("doctree-read", lead_to_copies)
    app.connect("autodoc-process-docstring", reworked)
    for name in ("cfg", "cir", "first"):  # the IR at some stage
        app.add_lexer(name, TextLexer)
