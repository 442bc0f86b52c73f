"""The reference pages: their tables, written into the pages by `make references`.

A page has a comment such as `<!-- reference: axes -->` above what is made from the code, and
`<!-- end of reference -->` below it. tests/unit/test_references.py compares them with the code.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from deployments.cli.app import app
from judge_gym.analysis import registry
from judge_gym.analysis.registry import FigureTable
from judge_gym.annotations import AnnotationMapping
from judge_gym.benchmarks.files import Benchmark
from judge_gym.calibration.alignment_file import AlignmentFile
from judge_gym.calibration.design import CalibrationDesign
from judge_gym.calibration.review_file import ReviewFile
from judge_gym.design.actors import ActorMap
from judge_gym.design.axes import axes
from judge_gym.design.experiment import GroundTruth, RubricSource
from judge_gym.design.fields import legal_text, models_of
from judge_gym.design.plans import AnalysisPlan, Budget, SwapPlan
from judge_gym.design.rubric import Rubric
from judge_gym.design.space import ControlledDraw, RandomDraw
from judge_gym.design.study_file import StudyFile
from judge_gym.design.sweep import KEYS
from judge_gym.design.window import Window
from judge_gym.design.window_files import RollingFile
from judge_gym.gyms.files import AnyGym
from judge_gym.judges.files import JudgeFile
from judge_gym.llm.providers import Provider
from judge_gym.panel.document import ReviewedDocument
from judge_gym.panel.files import PanelFile
from judge_gym.panel.panel import Rater
from judge_gym.panel.rubric import PanelRubric
from judge_gym.recorded.claims import StudyClaims
from judge_gym.recorded.mapping import Recorded
from judge_gym.report.page import GROUND_RULES, NOTATION, decisions
from judge_gym.settings import Settings
from tasks import events

REPOSITORY = Path(__file__).parents[1]
_MADE = re.compile(
    r"^<!-- reference: ([\w-]+) -->\n.*?^<!-- end of reference -->$", re.MULTILINE | re.DOTALL
)
_COMMENT = re.compile(r"^COMMENT ON (VIEW|COLUMN) analysis\.([\w.]+) IS '(.*)';$", re.MULTILINE)


def pages() -> list[Path]:
    """Return the pages with a part that is made from the code."""
    return [
        path for path in sorted((REPOSITORY / "docs").glob("**/*.md")) if _MADE.search(_of(path))
    ]


def written(page: str) -> str:
    """Return a page with its parts as the code makes them; KeyError for an unknown one."""

    def made(part: re.Match[str]) -> str:
        name = part[1]
        text = _REFERENCE[name]()
        return f"<!-- reference: {name} -->\n\n{text}\n\n<!-- end of reference -->"

    return _MADE.sub(made, page)


def main() -> None:
    """Write every page anew."""
    for path in pages():
        path.write_text(written(_of(path)), encoding="utf-8")


def _of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def records() -> list[Path]:
    return sorted((REPOSITORY / "docs" / "decisions").glob("[0-9]*.md"))


def decided() -> str:
    """Return the titles of the records of decisions, with links."""
    titles = {path.name: path.read_text(encoding="utf-8").partition("\n")[0] for path in records()}
    return "\n".join(f"- [{title.lstrip('# ')}]({name})" for name, title in titles.items())


def commands() -> str:
    """Return every command with its help, arguments and options, by group."""
    root: Any = typer.main.get_command(app)
    found = list(_leaves(root, ()))
    rows = [(f"[`{' '.join(path)}`](#{'-'.join(path)})", _brief(leaf)) for path, leaf in found]
    parts = [_table(("command", "what it does"), rows)]
    for path, leaf in found:
        parts += [
            f"## {' '.join(path)}",
            _paragraphs(leaf.help),
            f"```text\n{_usage(path, leaf)}\n```",
        ]
        options = [
            (_option(one), one.help or "", _default(one)) for one in leaf.params if not one.hidden
        ]
        parts += [_table(("argument or option", "meaning", "default"), options)] if options else []
    return "\n\n".join(parts)


def _leaves(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, part in command.commands.items():
        if not part.hidden:
            yield from _leaves(part, (*path, name))


def _brief(command: Any) -> str:
    return _line(command.help.partition("\n\n")[0])


def _usage(path: tuple[str, ...], command: Any) -> str:
    arguments = [
        one.name.upper() if one.required else f"[{one.name.upper()}]"
        for one in command.params
        if not one.opts[0].startswith("-")
    ]
    return " ".join(["judge-gym", *path, *arguments, "[OPTIONS]"])


def _option(option: Any) -> str:
    if not option.opts[0].startswith("-"):
        return f"`{option.name.upper()}`"
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    return f"{names}{', repeatable' if option.multiple else ''}"


def _default(option: Any) -> str:
    if option.required:
        return "required"
    if isinstance(option.show_default, str):
        return option.show_default
    shown = option.default not in (None, False, (), [])
    return f"`{option.default}`" if shown and not callable(option.default) else ""


def every_axis() -> str:
    """Return every axis with its allowed values, its default and why it exists."""
    rows = [
        (f"`{axis.name}`", axis.legal, f"`{axis.default}`" if axis.default else "", axis.why)
        for axis in axes()
    ]
    return _table(("axis", "allowed values", "default", "why"), rows)


def settings() -> str:
    """Return every setting with its allowed values, default and meaning."""
    rows = [
        (f"`{name}`", legal_text(field), _value(field), _said(field))
        for name, field in Settings.model_fields.items()
    ]
    return _table(("setting", "allowed values", "default", "meaning"), rows)


def views() -> str:
    """Return every view of the schema `analysis`, with the comments of its columns."""
    found: dict[str, str] = {}
    columns: dict[str, list[tuple[str, str]]] = {}
    for file in sorted((REPOSITORY / "sql" / "views").glob("*.sql")):
        for kind, name, text in _COMMENT.findall(file.read_text(encoding="utf-8")):
            view, _, column = name.partition(".")
            said = text.replace("''", "'")
            if kind == "VIEW":
                found[view] = said
            else:
                columns.setdefault(view, []).append((f"`{column}`", said))
    parts = [
        _table(("view", "rows"), ((f"[`{one}`](#{one})", said) for one, said in found.items()))
    ]
    for view, said in found.items():
        parts += [f"## {view}", said, _table(("column", "meaning"), columns[view])]
    return "\n\n".join(parts)


def figures() -> str:
    """Return the formulas, needs and sources of every table, and what decides each claim."""
    parts = ["## Notation", GROUND_RULES, _table(("symbol", "meaning"), NOTATION)]
    for table in registry.tables():
        parts += _figures_of(table)
    claims = [(one.key, one.statement, one.claim, one.replaces or "") for one in decisions()]
    headings = ("claim", "statement", "decided by", "in place of")
    return "\n\n".join([*parts, "## Claims and checks", _table(headings, claims)])


def _figures_of(table: FigureTable) -> Iterator[str]:
    yield f"## {table.title}"
    yield table.explanation
    headings: dict[str, list[str]] = {name: [] for name in table.names}
    for column in table.columns:
        headings[column.figure].append(column.heading)
    rows = [
        (f"`{figure.name}`", ", ".join(headings[figure.name]), figure.unit, figure.requires)
        for figure in table.figures
    ]
    yield _table(("figure", "columns", "unit", "a sweep needs"), rows)
    yield "```text\n" + "\n".join(table.formulas) + "\n```"
    if table.needs or table.sources:
        yield " ".join((*table.needs, *table.sources))


def _file(*models: Any) -> Callable[[], str]:
    return lambda: "\n\n".join(_sections(one for model in models for one in models_of(model)))


def _sections(models: Iterable[type[BaseModel]]) -> Iterator[str]:
    """Yield the keys of each model, and of the models in them, each once."""
    waiting, seen = list(models), set()
    while waiting:
        model = waiting.pop(0)
        if model in seen:
            continue
        seen.add(model)
        yield f"## {_spaced(model.__name__)}"
        yield _paragraphs(inspect.getdoc(model) or "")
        rows = []
        for name, field in model.model_fields.items():
            inner = _models_in(field.annotation)
            waiting += inner
            allowed = ", ".join(
                f"[{_spaced(one.__name__)}](#{_anchor(one)})" for one in inner
            ) or legal_text(field)
            rows.append((f"`{name}`", allowed, _value(field), _said(field)))
        yield _table(("key", "allowed values", "default", "meaning"), rows)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    found = models_of(annotation)
    for part in getattr(annotation, "__args__", ()):
        found += [model for model in _models_in(part) if model not in found]
    return found


def sweep_file() -> str:
    """Return the keys of a sweep file, and of what stands in it."""
    keys = _table(("key", "meaning"), ((f"`{key}`", said) for key, said in KEYS.items()))
    inside = (Window, SwapPlan, Budget, RandomDraw, ControlledDraw, RubricSource, GroundTruth)
    beside = (AnalysisPlan, Rubric, ActorMap, RollingFile, StudyFile)
    return "\n\n".join([keys, *_sections((*inside, *beside))])


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()


def _anchor(model: type[BaseModel]) -> str:
    return _spaced(model.__name__).lower().replace(" ", "-")


def _value(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Path) and value.is_absolute():
        return f"`{value.relative_to(REPOSITORY)}`"
    if value is None or value in ("", (), {}) or isinstance(value, BaseModel):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _said(field: FieldInfo) -> str:
    return field.description or ""


def _paragraphs(text: str) -> str:
    return "\n\n".join(_line(part) for part in text.split("\n\n"))


def _line(text: str) -> str:
    return " ".join(text.split())


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(headings)]
    lines += [("---",) * len(lines[0]), *(tuple(map(_cell, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return _line(str(text)).replace("|", "\\|").replace("<", "&lt;")


_REFERENCE: dict[str, Callable[[], str]] = {
    "commands": commands,
    "axes": every_axis,
    "settings": settings,
    "views": views,
    "figures": figures,
    "decisions": decided,
    "events": lambda: inspect.getdoc(events) or "",
    "sweep-file": sweep_file,
    "judge-files": _file(JudgeFile, CalibrationDesign, AlignmentFile, ReviewFile, Benchmark),
    "panel-and-gym-files": _file(PanelFile, Rater, PanelRubric, ReviewedDocument, AnyGym),
    "data-files": _file(Recorded, AnnotationMapping, StudyClaims),
    "providers-file": _file(Provider),
}


if __name__ == "__main__":
    main()
