"""What pyproject.toml cannot say: the README as an index shows it, where links to files of the repository are dead."""

import re
from pathlib import Path


def page(readme: str) -> str:
    """The README with paths in the place of links to files, and without pictures from files: an sdist has them all."""
    parts = re.split(r"(^```.*?^```$)", readme, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _without_links(part) for part in parts)


def _without_links(text: str) -> str:
    text = re.sub(r"!\[([^]]*)\]\((?!https?:)[^)]*\)\n*", "", text)

    def told(link: re.Match[str]) -> str:
        words, path = link[1], link[2]
        return f"`{path}`" if words == path else f"{words} (`{path}`)"

    return re.sub(r"\[([^]]*)\]\((?!https?:|#)([^)]*)\)", told, text)


if __name__ == "__main__":
    from setuptools import setup

    readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    setup(long_description=page(readme), long_description_content_type="text/markdown")
