"""Sentences on texts that were cut, and on texts that may be no evidence: for plans and reports."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.design.window import Window
from judge_gym.evidence.documents import DOUBTFUL, Collected
from judge_gym.lab.evidence import preview
from judge_gym.settings import Settings
from judge_gym.store.windows import collected_documents, marked_documents

_MOST_NAMED = 3


class Marked(Protocol):
    """A document that was cut, or is doubtful."""

    @property
    def origin(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def characters(self) -> int: ...
    @property
    def cut_from(self) -> int | None: ...
    @property
    def doubt(self) -> str: ...


def evidence_notes(
    session: Session | None,
    windows: Iterable[Window],
    settings: Settings,
    previews: Mapping[str, Collected] | None = None,
) -> list[str]:
    """Return a sentence for each window with cut texts, and for each with doubtful ones.

    Of a window that is not collected yet, what collecting its file will give, from `previews` by
    window key where its file was read; nothing of news. Without a session no window is collected.
    """
    windows = list({window.key: window for window in windows}.values())
    keys = [window.key for window in windows]
    collected = collected_documents(session, keys) if session else {}
    stored = marked_documents(session, collected) if session else {}
    notes: list[str] = []
    for window in windows:
        if window.key in collected:
            documents: Sequence[Marked] = stored.get(window.key, [])
            count = collected[window.key]
        else:
            found = (previews or {}).get(window.key) or preview(window, settings)
            documents, count = (found.documents, len(found.documents)) if found else ((), 0)
        notes += notes_on(window.name, documents, count)
    return notes


def notes_on(
    window: str, documents: Sequence[Marked], count: int, dropped: Mapping[str, int] | None = None
) -> list[str]:
    """Return the sentences on a window of `count` documents, some of which are marked.

    `dropped` are the documents it dropped, by reason.
    """
    cut = [one for one in documents if one.cut_from is not None]
    doubtful = [one for one in documents if one.doubt]
    notes = []
    if cut:
        worst = sorted(cut, key=lambda one: one.characters / (one.cut_from or 1))
        parts = [
            f"{_place(one)}: {one.characters:,} of {one.cut_from:,} characters kept "
            f"({one.characters / (one.cut_from or 1):.0%})"
            for one in worst
        ]
        notes.append(
            f"Window {window}: {len(cut)} of {counted(count, 'text')} {_is(cut)} cut at "
            f"max_document_characters. {_first(parts)}. Raise that setting before the window is "
            "collected to keep more."
        )
    if doubtful:
        parts = [f"{_place(one)}: {one.doubt}" for one in doubtful]
        notes.append(
            f"Window {window}: {len(doubtful)} of {counted(count, 'text')} {_is(doubtful)} kept "
            f"but may be no evidence of its own. {_first(parts)}."
        )
    lost = {reason: n for reason, n in (dropped or {}).items() if reason in DOUBTFUL}
    if lost:
        named = ", ".join(f"{n} {reason.replace('_', ' ')}" for reason, n in lost.items())
        pages = sum(lost.values())
        were = "was no article of its own" if pages == 1 else "were no articles of their own"
        notes.append(f"Window {window} dropped {counted(pages, 'page')} that {were}: {named}.")
    return notes


def _is(documents: Sequence[Marked]) -> str:
    return "is" if len(documents) == 1 else "are"


def _place(document: Marked) -> str:
    return document.origin or repr(document.title)


def _first(parts: Sequence[str]) -> str:
    more = len(parts) - _MOST_NAMED
    return "; ".join(parts[:_MOST_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
