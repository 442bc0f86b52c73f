"""The gate of judges for other programs: JSON, JUnit XML, and Markdown for a pull request."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from judge_gym.calibration.checks import Check, Result
from judge_gym.counting import counted, said_once
from judge_gym.formats import plain
from judge_gym.judges.gate import GateEnd, GateReport, Stopped
from judge_gym.report.files import WrittenReport
from judge_gym.report.judge_study import (
    StudyPage,
    StudyReport,
    save_study,
    stem_in,
    stem_of,
)
from judge_gym.report.shelf import earlier_gates
from judge_gym.report.table import Table, markdown_table, plain_table, sentence_inside
from judge_gym.store.judges import check_values

_KINDS = {Result.PASSES: "", Result.FAILS: "failure", Result.CANNOT_TELL: "error"}
MOST_MOVED = 10
"""Texts shown at most of those that moved."""
_SIMULATED = "SIMULATED DATA: not evidence about real models."


def not_begun(why: str, files: Sequence[Path]) -> list[Stopped]:
    """Return the gates of judge files, none of which began because of one that cannot be used."""
    return [Stopped(file.stem, why) for file in files]


def gate_json(ended: GateEnd) -> dict[str, Any]:
    """Return a gate as JSON; `result` is `passes`, `fails` or `cannot tell`.

    `stopped` says why the gate was stopped, and is empty where it was not.
    """
    return _stopped_json(ended) if isinstance(ended, Stopped) else _report_json(ended)


def _report_json(report: GateReport) -> dict[str, Any]:
    return {
        "judge": report.judge.name,
        "key": report.judge.key,
        "model": report.judge.answered_by,
        "served_models": list(report.answered.served),
        "result": report.result,
        "stopped": "",
        "texts": report.texts,
        "labels": report.labels,
        "answers": report.answers,
        "caution": report.caution,
        "other_judge": report.other.value if report.other else None,
        "new_judgements": report.new_judgements,
        "simulated": report.simulated,
        "checks": [check_values(check) for check in report.checks],
        "moved": len(report.moved),
        "moved_most": [asdict(text) for text in report.moved[:MOST_MOVED]],
    }


def _stopped_json(stopped: Stopped) -> dict[str, Any]:
    return {
        "judge": stopped.name,
        "key": stopped.judge.key if stopped.judge else "",
        "model": stopped.judge.answered_by if stopped.judge else "",
        "result": stopped.result,
        "stopped": stopped.reason,
        "checks": [],
    }


def gates_page(files: Sequence[Path], folder: Path) -> Path:
    """Return the page of the gates of these judge files in a folder."""
    return folder / f"{_stem(files, folder)}.html"


def _stem(files: Sequence[Path], folder: Path) -> str:
    return stem_in(folder, files, stem_of("gate", *(file.stem for file in files)))


def gates_report(
    files: Sequence[Path], ended: Sequence[GateEnd], folder: Path
) -> StudyReport[Sequence[GateReport]]:
    """Return the report of how the gates of these judge files ended, for pages in a folder.

    A gate that was stopped or refused stands there as such.
    """
    stem = _stem(files, folder)
    reports = [one for one in ended if isinstance(one, GateReport)]
    page = StudyPage(
        stem=stem,
        title=f"Gate of {', '.join(map(_name, ended))}: {_together([one.result for one in ended])}",
        found=" ".join(one.sentence for one in ended),
        tables=[
            table
            for report in reports
            for table in (_checks_of(report, len(reports)), *moved_tables(report))
        ],
        sentences=list(_sentences(reports)),
        simulated=any(one.simulated for one in ended),
        files=(f"{stem}.json", f"{stem}.xml"),
        of=files,
        read=f"Judge files: {', '.join(map(str, files))}.",
    )
    value = [gate_json(one) for one in ended]
    others = {".xml": gate_junit(files, ended)}
    results = [one.result for one in ended]
    return StudyReport(reports, page, value, others, results)


def save_gates(report: StudyReport[Sequence[GateReport]], folder: Path) -> WrittenReport:
    """Write the page of gates, all of them as JSON, and as JUnit XML.

    They take the place of what an earlier run found. What each day found, and each time that texts
    were judged again, stays on a page of its own; the newest links to them.
    """
    page, stem = report.page, report.page.stem
    day, number = _when(report.of)
    own = f"{stem}-{day}{number and f'-again-{number}'}"
    dated = replace(
        page,
        stem=own,
        title=f"{page.title} ({day}{number and f', again {number}'})",
        files=(f"{own}.json", f"{own}.xml"),
    )
    save_study(dated, folder, report.value, report.others)
    files_of_all = (*page.files, *earlier_gates(folder, stem))
    return save_study(replace(page, files=files_of_all), folder, report.value, report.others)


def _when(reports: Sequence[GateReport]) -> tuple[date, int | str]:
    """Return the day that a gate's figures are of, and which time its texts were judged again.

    The number is "" where they were not.
    """
    times = [
        (one.recheck.day, one.recheck.number) for one in reports if one.recheck and one.recheck.day
    ]
    return max(times, default=(datetime.now(UTC).date(), ""))


def _together(results: Sequence[Result]) -> str:
    """Return the result of several gates: fails with any that does, passes if all do."""
    if Result.FAILS in results:
        return Result.FAILS
    passes = bool(results) and set(results) <= {Result.PASSES}
    return Result.PASSES if passes else Result.CANNOT_TELL


def checks_table(title: str, checks: Sequence[Check]) -> Table:
    """Return what each check found and what follows from it."""
    rows = [(check.question, check.result, check.reason, check.action) for check in checks]
    return plain_table(title, ("check", "result", "figure", "what to do"), rows)


def moved_tables(report: GateReport) -> Iterator[Table]:
    """Yield a table of the texts that moved most, by their id, where any did."""
    if report.moved:
        shown = report.moved[:MOST_MOVED]
        title = f"{report.judge.name}: {len(shown)} of {counted(len(report.moved), 'text')} judged "
        rows = [(text.id, _value(text.before), _value(text.after)) for text in shown]
        columns = ("text", "before", "after")
        yield plain_table(f"{title}otherwise, those that moved most", columns, rows)


def _value(said: float | str | None) -> str:
    if said is None:
        return "no score"
    return said if isinstance(said, str) else plain(round(said, 2))


def _checks_of(report: GateReport, judges: int) -> Table:
    """Return the checks of one of so many judges; of several, what to do is said below them all."""
    table = checks_table(f"{report.judge.name}, {report.answered}", report.checks)
    if judges == 1:
        return table
    rows = [replace(row, cells=row.cells[:-1]) for row in table.rows]
    return replace(table, columns=table.columns[:-1], words=table.words - 1, rows=tuple(rows))


def _sentences(reports: Sequence[GateReport]) -> Iterator[str]:
    """Yield what there is to say besides the checks; of several judges the same is said once."""
    several = len(reports) > 1
    if several:
        whose: dict[str, list[str]] = {}
        for report in reports:
            for check in report.checks:
                if check.action:
                    whose.setdefault(check.action, []).append(f"{report.judge.name}: {check.name}")
        for action, names in whose.items():
            yield f"{'; '.join(names)}. {action}"
    yield from said_once((report.judge.name, report.labels) for report in reports)
    for report in reports:
        name = f"{report.judge.name}: " if several else ""
        yield from (f"{name}{line}" for line in _lines(report))


def _lines(report: GateReport) -> Iterator[str]:
    """Yield what there is to say of one judge besides its checks and labels."""
    texts = counted(report.texts, "text")
    judged = f"{texts}, {counted(report.new_judgements, 'new judgement')}."
    yield f"{judged} {report.answers}".strip()
    if report.other:
        yield report.other.sentence
    if note := report.answered.note():
        yield f"Note: {note}."
    if report.caution:
        yield f"Caution: {report.caution}"


def gate_markdown(ended: Sequence[GateEnd]) -> str:
    """Return a summary for a pull request: a sentence and a table for each judge."""
    parts: list[str] = []
    for one in ended:
        parts += _stopped_parts(one) if isinstance(one, Stopped) else _report_parts(one)
        if one.simulated:
            parts.append(_SIMULATED)
    return "\n\n".join(parts) + "\n"


def _report_parts(report: GateReport) -> Iterator[str]:
    yield f"### Gate: {report.sentence}"
    yield markdown_table(checks_table("", report.checks))
    yield from filter(None, (report.labels, *_lines(report)))
    for moved in moved_tables(report):
        yield f"{sentence_inside(moved.title)}:"
        yield markdown_table(moved)


def _stopped_parts(one: Stopped) -> Iterator[str]:
    yield f"### Gate: {one.name}: {one.result}, stopped."
    yield one.reason


def _name(ended: GateEnd) -> str:
    return ended.name if isinstance(ended, Stopped) else ended.judge.name


def told_apart(names: Sequence[str], files: Sequence[Path]) -> list[str]:
    """Return the names of judges, with the file of each one that several have."""
    return [
        f"{name} ({file})" if names.count(name) > 1 else name
        for name, file in zip(names, files, strict=True)
    ]


def gate_junit(files: Sequence[Path], ended: Sequence[GateEnd]) -> str:
    """Return JUnit XML: a test suite for the judge of each file, a test case for each check.

    A check that fails is a failure. One that cannot tell is an error, since a skipped test is green
    in most programs; so is a gate that was stopped.
    """
    root = ElementTree.Element("testsuites")
    for one, name in zip(ended, told_apart([*map(_name, ended)], files), strict=True):
        cases = [*(_stopped_cases(one) if isinstance(one, Stopped) else _check_cases(one))]
        count = [case.kind for case in cases].count
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=f"judge-gym gate: {name}{' (SIMULATED)' if one.simulated else ''}",
            tests=str(len(cases)),
            failures=str(count("failure")),
            errors=str(count("error")),
        )
        for case in cases:
            element = ElementTree.SubElement(suite, "testcase", classname=name, name=case.name)
            if case.kind:
                ElementTree.SubElement(element, case.kind, message=case.said).text = case.text
            else:
                ElementTree.SubElement(element, "system-out").text = f"{case.said}\n{case.text}"
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


@dataclass(frozen=True)
class _Case:
    """A test case of JUnit; one that passes has no `kind`."""

    name: str
    kind: str
    said: str
    text: str


def _check_cases(report: GateReport) -> Iterator[_Case]:
    for check in report.checks:
        said = f"{check.question}: {check.result}"
        text = f"{check.reason}\n{check.action}".strip()
        yield _Case(check.name, _kind(check.result), said, text)


def _stopped_cases(one: Stopped) -> Iterator[_Case]:
    yield _Case("judged", _kind(one.result), f"stopped: {one.reason}", one.reason)


def _kind(result: Result) -> str:
    return _KINDS.get(result, "error")
