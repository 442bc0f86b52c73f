"""What mkdocs adds to pages while it builds: pictures, paths and the list of decisions.

A page has a comment such as `<!-- picture: layers -->` where a picture belongs. Links to files
outside docs/ become their paths: the site has documents, the repository the rest.
"""

import re
from os.path import normpath
from pathlib import Path
from typing import Any

from docs import pictures
from docs.references import records

_PICTURE = re.compile(r"^<!-- picture: ([\w-]+) -->$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"(```.*?```)", re.DOTALL)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page's Markdown with its pictures; KeyError for an unknown one."""
    filled = _PICTURE.sub(lambda marker: pictures.drawn(marker[1]), markdown)
    return "".join(
        part if part.startswith("```") else _links_within(part, page.file.src_uri)
        for part in _FENCE.split(filled)
    )


def _links_within(text: str, source: str) -> str:
    """Return text whose links out of docs/ are the paths that they lead to."""

    def path_of(link: re.Match[str]) -> str:
        words, target = link[1], link[2]
        path = normpath(Path("docs", source).parent / target)
        if "://" in target or path.startswith("docs/"):
            return link[0]
        return f"`{path}`" if path in words else f"{words} (`{path}`)"

    return _LINK.sub(path_of, text)


def on_config(config: Any, **_: Any) -> Any:
    """List every record of a decision in the navigation."""
    [section] = [entry for entry in config["nav"] if "Decisions" in entry]
    section["Decisions"] += [f"decisions/{path.name}" for path in records()]
    return config
