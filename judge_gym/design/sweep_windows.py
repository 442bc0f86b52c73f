"""The windows of a sweep file. Corpora are identified by their contents."""

import re
from collections.abc import Mapping

from judge_gym.design.config_model import read_model
from judge_gym.design.config_tree import Node
from judge_gym.design.files import corpus_digest
from judge_gym.design.window import BenchmarkSource, CorpusSource, Source, Window
from judge_gym.errors import ConfigError


def read_windows(node: Node) -> Mapping[str, Window]:
    """Read the `windows` of a sweep; two windows with the same evidence are an error."""
    windows: dict[str, Window] = {}
    names: dict[str, str] = {}
    for name, child in node.items.items():
        window = windows[name] = _read_window(name, child)
        if same := names.get(window.key):
            raise child.place.problem(f"is the same evidence as windows.{same}", "Keep one.")
        names[window.key] = name
    if not windows:
        raise node.place.problem("has no window", "Describe one.")
    return windows


def with_contents(source: Source, node: Node) -> Source:
    """Return a source with the absolute path and the digest of its corpus.

    `node` is its position in the file. Raises `ConfigError` there if it cannot be used.
    """
    if given := node.items.get("digest"):
        raise given.place.problem("is filled in when the file is read", "Leave it out.")
    if not isinstance(source, CorpusSource | BenchmarkSource):
        return source
    path = (node.place.file.parent / source.path).resolve()
    try:
        contents = corpus_digest(path)
    except ConfigError as error:
        where = node.items["path"].place
        raise where.problem(f"cannot be used: {error.message.rstrip('.')}", error.remedy) from error
    return source.model_copy(update={"path": path, "digest": contents})


def _read_window(name: str, node: Node) -> Window:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", name):
        raise node.place.problem(
            "is not a window's name",
            "Use at most 80 letters, digits, dots, underscores and hyphens.",
        )
    if given := node.items.get("name"):
        raise given.place.problem("is filled in when the file is read", "Leave it out.")
    window = read_model(Window, node)
    source = with_contents(window.source, node.items["source"])
    return window.model_copy(update={"name": name, "source": source})
