"""The page of recorded judgements that are audited without a database."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from judge_gym.analysis.recorded import Audited
from judge_gym.analysis.testing import findings
from judge_gym.counting import counted
from judge_gym.design.plans import standing
from judge_gym.lab.recorded_answers import sample_rows
from judge_gym.model_names import recorded_name
from judge_gym.recorded.judged import RecordedItem
from judge_gym.recorded.mapping import Recorded
from judge_gym.report.audit import audit, picture
from judge_gym.report.audit_findings import turned_cautions
from judge_gym.report.evidence import (
    MAX_JUDGEMENTS,
    MAX_ON_PAGE,
    EvidenceDocument,
    ShownJudgement,
    ShownView,
    ShownWindow,
    cut,
)
from judge_gym.report.facts import Facts
from judge_gym.report.file_cautions import (
    against_decisions,
    dropped,
    file_cautions,
    may_be_wordings,
)
from judge_gym.report.files import replace_file, results_csv, unwritable
from judge_gym.report.findings import findings_table, largest_effects, sentences
from judge_gym.report.headlines import audit_headlines
from judge_gym.report.multiverse import sign_change_cautions, specification_plot
from judge_gym.report.page import Report, concepts_of
from judge_gym.report.planted import Planted
from judge_gym.report.plots import svg
from judge_gym.report.plots.plot import Plot
from judge_gym.report.summary import Summary, items_and_questions
from judge_gym.report.table import Table
from judge_gym.report.tables import result_tables
from judge_gym.report.trust import trust_tiles
from judge_gym.store.results import Planned, ResultRow, RunInfo

LONGEST_VERDICT = 200
"""Characters shown of a verdict as written in the file."""
_NOTHING = Table("", "", (), ())


def audit_report(found: Audited, recorded: Recorded, *, mapped: bool = True) -> Report:
    """Return the report of an audit: that of a sweep, without calls, evidence and answers.

    `mapped` as in `file_cautions`.
    """
    now, plan = datetime.now(UTC), standing(None, None, None)
    rows = [_named(row) for row in found.rows]
    every = findings(found.data, rows, Planned(None, None, plan))
    # What cannot be tested is in the audit's own words.
    decided = [finding for finding in every if finding.estimate is not None]
    run = RunInfo(0, recorded.name, version("judge-gym"), False, now)
    judges = tuple(sorted({recorded_name(judge.model) for judge in found.data.judges}))
    described = recorded.description or recorded.source
    facts = Facts(run, described, judges, _NOTHING, _NOTHING, _NOTHING, _NOTHING, (), ())
    claims = audit_headlines(decided)
    summary = Summary(
        ran=f"{counted(len(judges), 'judge')}, {items_and_questions(found.data.truth)}",
        progress="",
        spent=f"{counted(len(found.data.samples.arm), 'judgement')}{dropped(found.unread)}",
        headlines=claims,
        cautions=(
            *file_cautions(found.repeats, found.unread, mapped=mapped),
            *against_decisions(found.compared),
            *turned_cautions(rows),
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
        figures=rows,
        planted=Planted(),
        cases=None,
        evidence=_items(found, recorded),
        csv=results_csv(run, rows),
        wholly_simulated=False,
        imported=1.0,
        written=now,
        concepts=concepts_of(rows),
        trust=trust_tiles(rows, claims, facts.served, decided),
        audit=audit(found.data, rows, recorded.item.person, may_be_wordings(found.unread)),
        warning=found.too_few.message if found.too_few else "",
        plots=[specification_plot(rows)],
    )


def _items(found: Audited, recorded: Recorded) -> list[ShownWindow]:
    """Return the first items with their texts and judgements; none where no item has a text."""
    windows, left = [], MAX_ON_PAGE
    if not any(item.text for window in found.windows.values() for item in window.items.values()):
        return []
    for name, window in found.windows.items():
        chosen = list(window.items.values())[:left]
        judgements = _judgements(found, recorded, name, {item.key for item in chosen})
        documents = tuple(
            _document(recorded, found, item, MAX_ON_PAGE - left + number, judgements[item.key])
            for number, item in enumerate(chosen, start=1)
        )
        left -= len(chosen)
        windows.append(ShownWindow(name, documents, len(window.items) - len(chosen), (), 0))
    return windows


def _judgements(
    found: Audited, recorded: Recorded, name: str, chosen: Collection[str]
) -> Mapping[str, list[ShownJudgement]]:
    """Return item → its judgements, of the items that are chosen."""
    shown: dict[str, list[ShownJudgement]] = defaultdict(list)
    for judging, judgements in found.windows[name].judgements.items():
        experiment = found.experiments[name, judging]
        given = [one for one in judgements if one.item in chosen]
        for one, row in zip(given, sample_rows(recorded, experiment, given), strict=True):
            verdict = row["verdict_text"] if row["stages"] else row["failure"] or row["status"]
            shown[one.item].append(
                ShownJudgement(
                    judge=judging.judge,
                    under=", ".join(filter(None, (experiment.concept, judging.wording))),
                    replicate=row["replicate"] + 1,
                    outcome=f"{row['status']}: {cut(verdict, LONGEST_VERDICT)}",
                    before=cut(row["answer"] or ""),
                    span="",
                    after="",
                    reasoning="",
                    family=experiment.family,
                    concept=experiment.concept,
                    status=row["status"],
                    prompt="",
                    tokens="",
                )
            )
    return shown


def _document(
    recorded: Recorded,
    found: Audited,
    item: RecordedItem,
    number: int,
    judgements: Sequence[ShownJudgement],
) -> EvidenceDocument:
    [labels] = {judge.arms[0].labels for judge in found.data.judges}
    facts = [item.category, f"known answer: {labels[item.truth - 1]}" if item.truth else ""]
    if not recorded.item.person:
        given = zip(recorded.item.people, item.people, strict=True)
        facts += [f"{person}: {labels[stage - 1]}" for person, stage in given if stage]
    return EvidenceDocument(
        id=number,
        title=item.title or item.key,
        url="",
        facts=", ".join(filter(None, facts)),
        views=(ShownView("text", cut(item.text), "" if item.text else "no text"),),
        judgements=tuple(judgements[:MAX_JUDGEMENTS]),
        more=max(0, len(judgements) - MAX_JUDGEMENTS),
    )


def _named(row: ResultRow) -> ResultRow:
    """Return a row that names judges as their file does."""
    named = {
        key: recorded_name(value) if key in ("judge", "pair", "rival") else value
        for key, value in row.scope.items()
    }
    return replace(row, scope=named)


def save_picture(plot: Plot, recorded: Recorded, file: Path) -> None:
    """Write accuracy by judge as an SVG file; raises `ReportError` if it cannot be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, svg.picture(*picture(plot, recorded.source)))
    except OSError as error:
        raise unwritable(f"The picture {file}", file.parent, error, stored=False) from error
