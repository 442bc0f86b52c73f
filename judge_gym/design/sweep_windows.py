"""The windows of a sweep file: sources found beside it, corpora known by their contents."""

import re
from collections.abc import Mapping

from judge_gym.design.config_model import read_model
from judge_gym.design.config_tree import Node
from judge_gym.design.files import corpus_digest
from judge_gym.design.window import BenchmarkSource, CorpusSource, Window
from judge_gym.errors import ConfigError


def read_windows(node: Node) -> Mapping[str, Window]:
    """Read the `windows` of a sweep; no two may hold the same evidence."""
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


def _read_window(name: str, node: Node) -> Window:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", name):
        raise node.place.problem(
            "is not a window's name",
            "Use at most 80 letters, digits, dots, underscores and hyphens.",
        )
    for filled_in in ("name", "source.digest"):
        if given := _descend(node, filled_in):
            raise given.place.problem("is filled in when the sweep is read", "Leave it out.")
    window = read_model(Window, node).model_copy(update={"name": name})
    if not isinstance(window.source, CorpusSource | BenchmarkSource):
        return window
    path = (node.place.file.parent / window.source.path).resolve()
    try:
        digest = corpus_digest(path)
    except ConfigError as error:
        where = node.items["source"].items["path"].place
        raise where.problem(f"cannot be used: {error.message.rstrip('.')}", error.remedy) from error
    source = window.source.model_copy(update={"path": path, "digest": digest})
    return window.model_copy(update={"source": source})


def _descend(node: Node, dotted: str) -> Node | None:
    for name in dotted.split("."):
        if not isinstance(node.value, Mapping) or name not in node.items:
            return None
        node = node.items[name]
    return node
