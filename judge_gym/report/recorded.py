"""The page of recorded judgements that are audited without a database."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from judge_gym.analysis.recorded import Audited
from judge_gym.analysis.testing import findings
from judge_gym.counting import counted
from judge_gym.design.plans import standing
from judge_gym.lab.importing import Repeats
from judge_gym.recorded.mapping import Recorded
from judge_gym.recorded.reading import Unread
from judge_gym.report.audit import audit, picture
from judge_gym.report.facts import MANY_UNREADABLE, Facts
from judge_gym.report.files import replace_file, results_csv, unwritable
from judge_gym.report.findings import findings_table, largest_effects, sentences
from judge_gym.report.headlines import Summary, headlines
from judge_gym.report.multiverse import RECORDED, sign_change_cautions, specification_plot
from judge_gym.report.page import Report, concepts_of
from judge_gym.report.planted import Planted
from judge_gym.report.plots import svg
from judge_gym.report.plots.plot import Plot
from judge_gym.report.table import Table
from judge_gym.report.tables import result_tables
from judge_gym.report.trust import trust_tiles
from judge_gym.store.results import Planned, ResultRow, RunInfo

_MOST_COLUMNS = 12
_MOST_PLACES = 10
_NOTHING = Table("", "", (), ())


def audit_report(found: Audited, recorded: Recorded) -> Report:
    """Return the report of an audit: that of a sweep, without calls, evidence and answers."""
    now, plan = datetime.now(UTC), standing(None, None, None)
    rows = [_named(row) for row in found.rows]
    every = findings(found.data, rows, Planned(None, None, plan))
    # What cannot be tested is in the audit's own words.
    decided = [finding for finding in every if finding.estimate is not None]
    run = RunInfo(0, recorded.name, version("judge-gym"), False, now)
    judges = tuple(sorted({judge.model.removeprefix(RECORDED) for judge in found.data.judges}))
    described = recorded.description or recorded.source
    facts = Facts(run, described, judges, _NOTHING, _NOTHING, _NOTHING, _NOTHING, (), ())
    claims = headlines(decided)
    summary = Summary(
        ran=f"{counted(len(judges), 'judge')}, {counted(len(found.data.truth.label), 'item')}",
        progress="",
        spent=counted(len(found.data.samples.arm), "judgement"),
        headlines=claims,
        cautions=(
            *file_cautions(found.repeats, found.unread),
            *_unreadable(rows),
            *sign_change_cautions(rows),
        ),
    )
    return Report(
        facts=facts,
        summary=summary,
        sentences=sentences(decided),
        largest=largest_effects(rows),
        findings=findings_table(decided, plan.reason),
        results=result_tables(rows),
        planted=Planted(),
        review=None,
        evidence=(),
        csv=results_csv(run, rows),
        wholly_simulated=False,
        imported=1.0,
        written=now,
        concepts=concepts_of(rows),
        trust=trust_tiles(rows, claims, facts.served),
        audit=audit(found.data, rows, recorded.item.person),
        warning=found.too_few.message if found.too_few else "",
        plots=[specification_plot(rows)],
    )


def _named(row: ResultRow) -> ResultRow:
    """Return a row that names judges as their file does."""
    named = {
        key: value.replace(RECORDED, "") if key in ("judge", "pair", "rival") else value
        for key, value in row.scope.items()
    }
    return replace(row, scope=named)


def file_cautions(repeats: Repeats, unread: Unread) -> Iterator[str]:
    """Yield what to be careful about in recorded files: likely swaps, and what was not read."""
    for judging, (opposite, cells) in repeats.opposite.items():
        yield (
            f"{opposite} of {cells} items have opposite verdicts by {judging}, more than repeats "
            "can have. Was the order changed between them? Declare it: `reversed` of a column, or "
            "`swapped_column`."
        )
    for path, (used, longest) in unread.entries.items():
        yield (
            f"{path} has up to {longest} entries, and the mapping reads {used} of them: the others "
            "are no judgements here. Write a row for each, or name them all if one judge gave them."
        )
    for judging, places in unread.empty.items():
        yield (
            f"No answer by {judging} for {counted(len(places), 'judgement')}: "
            f"{_first(places, _MOST_PLACES)}. Each counts as unreadable; other judges keep theirs."
        )
    if unread.unlabelled:
        yield (
            f"No known answer for {counted(len(unread.unlabelled), 'item')}: "
            f"{_first(unread.unlabelled, _MOST_PLACES)}. No accuracy is of them."
        )
    if unread.columns:
        names = _first(list(unread.columns), _MOST_COLUMNS)
        yield f"Columns that the mapping does not read: {names}."


def _first(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def save_picture(plot: Plot, recorded: Recorded, file: Path) -> None:
    """Write accuracy by judge as an SVG file; raises `ReportError` if it cannot be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, svg.picture(*picture(plot, recorded.source)))
    except OSError as error:
        raise unwritable(f"The picture {file}", file.parent, error) from error


def _unreadable(rows: Sequence[ResultRow]) -> Iterator[str]:
    """Yield which judges have many answers that could not be read."""
    answers: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for row in rows:
        if row.metric == "unparseable_rate" and row.estimate is not None:
            judge = str(row.scope["judge"])
            answers[judge] += row.n
            lost[judge] += round(row.n * row.estimate)
    for judge, count in lost.items():
        if count >= MANY_UNREADABLE * answers[judge]:
            yield (
                f"{judge}: {count:,} of {counted(answers[judge], 'answer')} could not be read. "
                "Check the mapping before you trust its figures."
            )
