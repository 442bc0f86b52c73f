"""The page of a study of judges that is its tables and sentences, as HTML, Markdown and JSON."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

from judge_gym.calibration.checks import Check, Result
from judge_gym.calibration.verdict import CalibrationDecision
from judge_gym.judges import Judge
from judge_gym.metrics.estimate import Estimate
from judge_gym.model_names import Answered
from judge_gym.report.files import ENVIRONMENT, WrittenReport, paragraphs, put_in_place
from judge_gym.report.table import Table, escaped, markdown_table
from judge_gym.seeds import digest
from judge_gym.store.judges import check_values

T = TypeVar("T")

_LONGEST_NAME = 120
_LETTERS = 6
"""Of the digest that a long name ends in, or one that is there."""


@dataclass(frozen=True)
class StudyPage:
    """What a study found, as a person reads it; every word of it is escaped where it is shown."""

    stem: str
    """The name of its files, as `stem_of` makes it."""
    title: str
    found: str
    """What was found, in a sentence or two; it comes first."""
    tables: Sequence[Table]
    sentences: Sequence[str]
    """What else there is to say, such as counts and costs."""
    simulated: bool
    files: Sequence[str]
    """Names of the files beside the page, which begin with `stem`."""
    of: Sequence[Path] = ()
    """The files that it is of, such as a file of items; see `stem_in`."""
    read: str = ""
    """What was read, in sentences; a command has printed it before it judges."""
    where: str = ""
    """The path of what the study made elsewhere, such as a certificate."""
    more: Sequence[Table] = ()
    """Tables that a template of its own shows further down, and a command only with `--all`."""
    told: str = ""
    """The page as Markdown, where that is more than what was found, tables and notes."""
    template: str = "judge_study.html.j2"
    """What renders the page; one of its own may show more, such as a drawing."""
    shown: Mapping[str, Any] = field(default_factory=dict)
    """What a template of its own shows besides, by name."""

    @property
    def notes(self) -> list[str]:
        """What was read, and what else there is to say."""
        return [*([self.read] if self.read else []), *self.sentences]

    @property
    def markdown(self) -> str:
        """The same for a page that shows Markdown."""
        if self.told:
            return self.told
        parts = [escaped(self.found)]
        for table in self.tables:
            parts += (
                [escaped(table.title), markdown_table(table)]
                if table.title
                else [markdown_table(table)]
            )
        parts += [escaped(" ".join(self.notes)), f"`{self.where}`" if self.where else ""]
        return paragraphs(parts, simulated=self.simulated)


@dataclass(frozen=True)
class StudyReport(Generic[T]):
    """What a study found: for people, for programs, and what follows from it."""

    of: T
    """What it reports, such as scored items."""
    page: StudyPage
    value: Any
    """The same for programs; written beside the page if that is one of its files."""
    others: Mapping[str, str] = field(default_factory=dict)
    """More files beside the page, by what their names end in."""
    results: Sequence[Result] = ()
    """What decides whether the study ends as a success; empty where it decides nothing."""
    figures: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    """What a threshold may be of: judge → name → figure."""
    answered: Sequence[Answered] = ()
    """Which models answered, where a caution may be due."""

    def page_in(self, folder: Path) -> Path:
        """Return where its page is, or will be, in a folder."""
        return folder / f"{stem_in(folder, self.page.of, self.page.stem)}.html"

    def save(self, folder: Path) -> WrittenReport:
        """Write its files; raises as `save_study`."""
        value = self.value if f"{self.page.stem}.json" in self.page.files else None
        stem = self.page_in(folder).stem
        files = [f"{stem}{name.removeprefix(self.page.stem)}" for name in self.page.files]
        page = replace(self.page, stem=stem, files=files)
        return save_study(page, folder, value, self.others)


def verdicts_value(
    judges: Sequence[Judge],
    decisions: Sequence[CalibrationDecision],
    checks: Sequence[Sequence[Check]],
) -> list[dict[str, Any]]:
    """Return each judge's verdict, reasons and checks as JSON."""
    return [
        {
            "judge": judge.name,
            "key": judge.key,
            "model": judge.answered_by,
            "verdict": decision.verdict.words,
            "why": decision.why,
            "checks": [check_values(check) for check in own],
        }
        for judge, decision, own in zip(judges, decisions, checks, strict=True)
    ]


def stem_of(kind: str, *names: str) -> str:
    """Return the name of a study's files, by its kind and the names of what it is of.

    A long one ends in its digest, so that what tells names apart is not cut off.
    """
    parts = (re.sub(r"[^\w.]+", "-", name).strip("-.") or "unnamed" for name in (kind, *names))
    stem = "-".join(parts)
    if len(stem) <= _LONGEST_NAME:
        return stem
    return f"{stem[: _LONGEST_NAME - _LETTERS - 1]}-{digest(stem)[:_LETTERS]}"


def stem_in(folder: Path, files: Sequence[Path], stem: str) -> str:
    """Return the stem, with a digest where the page of that name in the folder is of other files.

    The digest is of where `files` lie, seen from the folder. A page is replaced if one of its files
    is gone, so that a project that was moved keeps its names.
    """
    own = _places(files, folder)
    apart = f"{stem}-{digest(*own)[:_LETTERS]}"
    if (folder / f"{apart}.html").exists():
        return apart
    there = _places_in(folder / f"{stem}.html")
    return apart if own and there != own and _all_there(there, folder) else stem


def _places(files: Sequence[Path], folder: Path) -> list[str]:
    """Return where files lie, seen from a folder."""
    return [os.path.relpath(file.resolve(), folder.resolve()) for file in files]


def _places_in(page: Path) -> list[str]:
    """Return where the files of a page lie; empty of a page that does not say."""
    with suppress(OSError, ValueError):
        return list(json.loads(_beside(page).read_text(encoding="utf-8")))
    return []


def _beside(page: Path) -> Path:
    """Return the hidden file beside a page that holds where its files lie, as a JSON list."""
    return page.with_name(f".{page.stem}.files.json")


def _all_there(places: Sequence[str], folder: Path) -> bool:
    return bool(places) and all((folder.resolve() / place).exists() for place in places)


def save_study(
    page: StudyPage, folder: Path, value: Any = None, others: Mapping[str, str] | None = None
) -> WrittenReport:
    """Write a study's page, its `value` as JSON, and others by the end of their name; returns it.

    Where the study made a file of its own, that is the path of what it wrote.

    Raises `ReportError` when the folder cannot be written to.
    """
    path = folder / f"{page.stem}.html"
    files = {path.with_name(f"{path.stem}{end}"): text for end, text in (others or {}).items()}
    if value is not None:
        text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
        files[path.with_name(f"{path.stem}.json")] = f"{text}\n"
    template = ENVIRONMENT.get_template(page.template)
    if page.of:
        files[_beside(path)] = json.dumps(_places(page.of, folder))
    text = template.render(page=page, written=datetime.now(UTC), **page.shown)
    put_in_place({**files, path: text})
    page_path = path.resolve()
    if page.where:
        return WrittenReport(Path(page.where), page.title, page.markdown, page=page_path)
    return WrittenReport(page_path, page.title, page.markdown)
