"""The page of recorded judgements that are audited without a database."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from judge_gym.analysis.recorded import Audited
from judge_gym.analysis.testing import findings
from judge_gym.answers.conclusion import CONTRADICTED
from judge_gym.counting import counted
from judge_gym.design.plans import standing
from judge_gym.formats import number
from judge_gym.lab.importing import Compared, Repeats, sample_rows
from judge_gym.recorded.content import Left
from judge_gym.recorded.judged import RecordedItem, Unread
from judge_gym.recorded.mapping import Recorded
from judge_gym.recorded.reported import Apart
from judge_gym.report.audit import audit, picture
from judge_gym.report.evidence import (
    MAX_JUDGEMENTS,
    MAX_ON_PAGE,
    ShownDocument,
    ShownJudgement,
    ShownView,
    ShownWindow,
    cut,
)
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
_MOST_PLACES, _FEW_PLACES = 10, 3
"""Judgements without an answer that a caution names; of more it names the first."""
_OTHER_SCALE = 4
"""Times the highest verdict of the others from which a verdict is of another scale."""
LONGEST_VERDICT = 200
"""Characters shown of a verdict as written in the file."""
_LEFT = {
    Left.ERROR: ("sample", "ended with an error and without a judgement"),
    Left.NOT_RUN: ("sample", "of an unfinished run, without a judgement"),
    Left.INVALID: ("sample", "marked as invalid and left out"),
    Left.NO_SAMPLES: ("log", "without samples: a header only, or log_samples was off"),
    Left.NO_SCORE: ("score", "missing"),
    Left.NOT_READ: ("score", "neither text nor a number, so not read"),
    Left.OTHER_FILE: ("file", "of the folder not read"),
    Left.COPY: ("judgement", "left out as copies of those in another file"),
    Left.SUPERSEDED: (
        "judgement",
        "of unfinished runs left out, as a finished or a later run has the sample",
    ),
}
"""Why a record is no judgement → what it is, and the sentence."""
_BY_FILE = (Left.COPY, Left.SUPERSEDED)
"""What is said by file with its count; of all else the first places are named."""
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
            *_against_decisions(found.compared),
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
        figures=rows,
        planted=Planted(),
        review=None,
        evidence=_items(found, recorded),
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
) -> ShownDocument:
    [labels] = {judge.arms[0].labels for judge in found.data.judges}
    facts = [item.category, f"known answer: {labels[item.truth - 1]}" if item.truth else ""]
    if not recorded.item.person:
        given = zip(recorded.item.people, item.people, strict=True)
        facts += [f"{person}: {labels[stage - 1]}" for person, stage in given if stage]
    return ShownDocument(
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
        key: value.replace(RECORDED, "") if key in ("judge", "pair", "rival") else value
        for key, value in row.scope.items()
    }
    return replace(row, scope=named)


def file_cautions(repeats: Repeats, unread: Unread) -> Iterator[str]:
    """Yield what to be careful about in recorded files: likely swaps, and what was not read."""
    yield from _mixed_scales(unread.ranges)
    for judging, (opposite, cells) in repeats.opposite.items():
        yield (
            f"{opposite} of {cells} items have opposite verdicts by {judging}, more than repeats "
            "can have. Was the order changed between them? Declare it: `reversed` of a column, or "
            "`swapped_column`."
        )
    yield from _entries_left_out(unread)
    yield from _answers_read_otherwise(unread)
    yield from _contradicted(repeats)
    yield from _rows_in_doubt(unread)
    yield from _left(unread)
    for one in unread.apart:
        yield _apart(one)
    for column, systems in unread.pooled.items():
        if len(systems) > 1:
            yield (
                f"Figures are over all {len(systems)} values of {column} together. If it names "
                f"what was judged, give item.system: {column} for the figures of each."
            )
    if unread.others:
        yield f"{counted(unread.others, 'row')} not of this audit, by `only` of the mapping."
    if unread.columns:
        names = _first(list(unread.columns), _MOST_COLUMNS)
        yield f"Columns that the mapping does not read: {names}."


def _entries_left_out(unread: Unread) -> Iterator[str]:
    for path, (used, longest) in unread.entries.items():
        yield (
            f"{path} has up to {longest} entries, and the mapping reads {used} of them: the others "
            "are not read. Name them all, or write a row for each if several judges gave them."
        )
    for why, labels in unread.not_counted.items():
        yield (
            f"{counted(len(labels), 'label')} of people left out, whose {why}: "
            f"{_first(list(labels), _FEW_PLACES)}. `item: {{only: ...}}` of the mapping says which "
            "count."
        )


def _answers_read_otherwise(unread: Unread) -> Iterator[str]:
    if places := [f"{judging} on {place}" for judging, of in unread.empty.items() for place in of]:
        count = counted(len(places), "empty answer")
        if len(places) <= _MOST_PLACES:
            yield f"{count}, unreadable for the judge and no other: {', '.join(places)}."
        else:
            yield f"{count} count as unreadable. The first: {places[0]}."
    if unread.unlisted:
        count = counted(sum(map(len, unread.unlisted.values())), "answer")
        named = [f"{value!r} ({len(of):,})" for value, of in unread.unlisted.items()]
        first = next(iter(unread.unlisted.values()))[0]
        yield (
            f"{count} of no verdict, unreadable here: {_first(named, _MOST_PLACES)}. "
            f"The first: {first}."
        )
    if unread.between:
        yield (
            f"Scores between whole ones ({_first(list(unread.between), _MOST_PLACES)}) count as "
            "the nearest, a half as the higher, where an answer is right or wrong; mean as "
            "written, distance and correlation are of the scores as written."
        )


def _rows_in_doubt(unread: Unread) -> Iterator[str]:
    if 0 < 2 * len(unread.again) < unread.cells:
        yield (
            f"{counted(len(unread.again), 'row')} of an item and a judge that an earlier row has, "
            f"read as repeats: {_first(unread.again, _MOST_PLACES)}. If they are none, take one of "
            "each out."
        )
    if unread.unlabelled:
        yield (
            f"No known answer for {counted(len(unread.unlabelled), 'item')}: "
            f"{_first(unread.unlabelled, _MOST_PLACES)}. No accuracy is of them."
        )
    if unread.unfinished:
        yield (
            f"{counted(unread.unfinished, 'judgement')} of runs that were not finished, of samples "
            "that no finished run has."
        )


def _left(unread: Unread) -> Iterator[str]:
    """Yield how many judgements were left out, by the reason, and where they stand."""
    for why, left in unread.left.items():
        by_file = Counter(place.partition(": ")[0] for place in left)
        places = [f"{file} ({count:,})" for file, count in by_file.items()]
        places = places if why in _BY_FILE else left
        shown = "; ".join(places[:_FEW_PLACES])
        more = f"; and {len(places) - _FEW_PLACES:,} more" if len(places) > _FEW_PLACES else ""
        yield f"{counted(len(left), _LEFT[why][0])} {_LEFT[why][1]}: {shown}{more}."


def _contradicted(repeats: Repeats) -> Iterator[str]:
    """Yield which judges gave several verdicts in an answer, and none as the final one."""
    found = repeats.of_kind(CONTRADICTED)
    if found:
        judges = _first([f"{name} ({count:,})" for name, count in found.most_common()], _FEW_PLACES)
        yield (
            f"{counted(found.total(), 'answer')} with verdicts that differ and no final one, "
            f"unreadable: {judges}."
        )


def _against_decisions(compared: Compared | None) -> Iterator[str]:
    """Yield how many raw answers contradict their decisions, where some do."""
    if not compared or not (apart := compared.contradicting.total()):
        return
    most, times = compared.contradicting.most_common(1)[0]
    by = f"; most by {most}: {times:,}" if len(compared.readable) > 1 else ""
    yield (
        f"{apart:,} of {compared.readable.total():,} raw answers contradict their decision, which "
        f"counts{by}."
    )


def agreement(compared: Compared) -> str:
    """Return how far the raw answers behind the decisions say the same."""
    readable, apart = compared.readable.total(), compared.contradicting.total()
    line = (
        f"Raw answers behind {compared.answers:,} decisions: {readable / compared.answers:.1%} "
        f"readable, and {(readable - apart) / max(readable, 1):.2%} of these assert the recorded "
        f"decision."
    )
    return " ".join([line, *(_against_decisions(compared) if apart else ["The decisions count."])])


def _apart(one: Apart) -> str:
    """Return how far a mean that a file reports is from that of its judgements, and why."""
    said = (
        f"{one.file} reports a mean of {number(one.reported)} for {one.name}, and its "
        f"{counted(one.judgements, 'verdict')} read here have {number(one.read)}"
    )
    if one.of_scores:
        return f"{said}: the file's is of scores, and pass and fail are read (--cut reads scores)."
    if one.without:
        answers = counted(one.without, "answer")
        return f"{said}: {answers} without a verdict count 0 there and are left out here."
    return f"{said}. Compare the file with the mapping (--show-mapping) before you use the figures."


def _mixed_scales(ranges: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """Yield who has verdicts on another scale than the others: far higher, or apart from theirs."""
    for name, (low, high) in ranges.items():
        others = [ends for other, ends in ranges.items() if other != name]
        if not others:
            return
        least, most = min(end for end, _ in others), max(end for _, end in others)
        if low > most or (most > 0 and high >= _OTHER_SCALE * most):
            yield (
                f"Scales may be mixed: {name} from {low:g} to {high:g}, the others from {least:g} "
                f"to {most:g}. They are read as one scale: bring them to one first."
            )


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
