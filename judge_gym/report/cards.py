"""Pages of a replication package: its front page, datasheets of windows and cards of judges."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.design.experiment import Experiment
from judge_gym.formats import percent
from judge_gym.records.judgements import ARMS
from judge_gym.report.facts import calls_table
from judge_gym.report.table import Table, escaped, escaped_sentence, markdown_table, plain_table
from judge_gym.store.experiments import experiments_of_sweep
from judge_gym.store.judgement_texts import StoredWindow, windows_of_experiments
from judge_gym.store.package_rows import SentParameters, outcomes, parameters_sent
from judge_gym.store.readability import judgement_answers
from judge_gym.store.served import served
from judge_gym.store.spending import call_sums, writes_shams
from judge_gym.store.sweep_columns import sweep_columns

SIMULATED = "**SIMULATED**: judges of a simulator answered; not evidence about real models."
_NOT_SAID = "not recorded"


@dataclass(frozen=True)
class Contents:
    """What a package's front page says of it."""

    sweep: str
    version: str
    commit: str
    simulated: bool
    figures: int
    withheld: Sequence[str]
    """Windows whose texts were left out."""
    missing: Sequence[str]
    """What the package should hold and does not, each with the reason."""


def front_page(contents: Contents) -> str:
    """Return the README of a package."""
    commit = f", commit {contents.commit}" if contents.commit else ""
    lines = [
        f"# Replication package of the sweep {escaped(contents.sweep)}",
        *([SIMULATED] if contents.simulated else []),
        f"Made with judge-gym {contents.version}{commit}. It holds "
        f"{counted(contents.figures, 'figure')} and all that they were computed from.",
        "Install judge-gym as its documentation says (`docs/how-to/install.md` of its repository, "
        f"version {contents.version}{commit}); `reanalyse.py` needs only Python and numpy.",
        "```sh\njudge-gym data replicate .   # recompute every figure, offline, in a clean place\n"
        "python reanalyse.py          # headline figures again, with numpy alone\n```",
        markdown_table(plain_table("", ("what", "where"), _CONTENTS, words=2)),
        "Every file but `manifest.json` is in `manifest.json` with its SHA-256.",
        *map(escaped_sentence, _left_out(contents)),
    ]
    return "\n\n".join(lines) + "\n"


_CONTENTS = (
    ("report", "report/"),
    ("figures and findings, as CSV and Parquet", "figures/"),
    ("judgements, calls, evidence and rubrics, as CSV and Parquet", "bundle/"),
    ("sweep file, plan, rubrics, evidence that may be shared", "sweep/"),
    ("templates of the prompts, with their hashes", "prompts/"),
    ("a datasheet of each evidence window", "datasheets/"),
    ("a card of each judge", "judges/"),
    ("reporting checklist", "checklist.md"),
    ("versions of Python, libraries and code", "environment.json, requirements.lock"),
    ("how to cite", "CITATION.cff"),
)


def _left_out(contents: Contents) -> Iterator[str]:
    if contents.withheld:
        yield (
            f"The texts of {', '.join(contents.withheld)} may not be shared: documents, views, "
            "prompts, answers and verdicts that quote them are replaced by their SHA-256. Titles "
            "and addresses remain. The figures do not depend on the texts."
        )
    yield from (f"Not in this package: {missing}." for missing in contents.missing)


def datasheets(session: Session, sweep: str) -> dict[str, str]:
    """Return window → its datasheet in Markdown."""
    experiments = experiments_of_sweep(session, sweep)
    return {
        window.name: _datasheet(window)
        for window in windows_of_experiments(session, list(experiments))
    }


def _datasheet(window: StoredWindow) -> str:
    source = dict(window.source)
    kind = source.pop("kind", _NOT_SAID)
    dates = f"{window.start or 'any'} to {window.end or 'any'}"
    collected = f"{window.collected_at:%Y-%m-%d %H:%M} UTC" if window.collected_at else _NOT_SAID
    offered = window.documents + sum(window.dropped.values())
    rows = [
        ("source", " ".join([str(kind), str(source.get("path", ""))]).strip()),
        ("SHA-256 of the source", str(source.get("digest") or "none: a search")),
        ("query", window.query or "none"),
        ("country", window.country),
        ("dates", dates),
        ("collected", collected),
        ("limit", counted(window.max_documents, "document")),
        ("offered by the source", counted(offered, "document")),
        ("taken", counted(window.documents, "document")),
        *((f"dropped: {reason.replace('_', ' ')}", str(n)) for reason, n in window.dropped.items()),
        ("licence", window.licence or "not stated"),
        ("texts in this package", "yes" if window.shareable else "no, digests in their place"),
    ]
    return _page(f"Evidence window {window.name}", rows)


def judge_cards(session: Session, sweep: str) -> dict[str, str]:
    """Return judge → its card in Markdown."""
    experiments = experiments_of_sweep(session, sweep)
    ids = list(experiments)
    tags = [experiment.name for experiment in experiments.values()]
    by_judge: dict[str, list[Experiment]] = {}
    for experiment in experiments.values():
        by_judge.setdefault(experiment.model, []).append(experiment)
    answered_by: dict[str, set[str]] = {}
    for arm in served(session, sweep_columns(session, ids, sweep)):
        answered_by.setdefault(experiments[arm.experiment_id].model, set()).update(arm.models)
    calls = call_sums(session, experiments, sham=writes_shams(session, sweep))
    sent = parameters_sent(session, ids)
    counts = outcomes(session, ids, sweep)
    readable = {one.judge: one for one in judgement_answers(session, tags, ARMS, sweep)}
    cards = {}
    for judge, own in sorted(by_judge.items()):
        statuses = counts.get(judge, {})
        judgements = sum(statuses.values())
        answers = readable.get(judge)
        rows = [
            ("model asked", judge),
            ("family", own[0].family),
            ("models served", ", ".join(sorted(answered_by.get(judge, ()))) or _NOT_SAID),
            ("experiments", str(len(own))),
            ("concepts", ", ".join(sorted({experiment.concept for experiment in own}))),
            ("judgements", f"{judgements:,}"),
            ("readable", _share(answers.readable, answers.total) if answers else _NOT_SAID),
            ("abstentions", _share(statuses.get("abstained", 0), judgements)),
            *(
                (status, _share(n, judgements))
                for status, n in sorted(statuses.items())
                if status not in ("scored", "abstained")
            ),
        ]
        table = _with_workflows(calls_table([group for group in calls if group.model == judge]))
        cards[judge] = "\n".join(
            (
                _page(f"Judge {judge}", rows, simulated=table.simulated),
                *_section("Parameters sent", _parameters(sent.get(judge, {}))),
                *_section("Calls and cost", table),
            )
        )
    return cards


def _with_workflows(table: Table) -> Table:
    """Return the table with its headings as a column, since Markdown has no headings in tables."""
    rows = tuple(replace(row, cells=(row.heading, *row.cells)) for row in table.rows)
    return replace(table, columns=("workflow", *table.columns), rows=rows, words=table.words + 1)


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({percent(part / whole)})" if whole else "none"


def _parameters(sent: Mapping[str, Sequence[SentParameters]]) -> Table:
    rows = [
        (
            agent,
            json.dumps(one.sent, sort_keys=True, ensure_ascii=False),
            ", ".join(one.not_applied) or "none",
            f"{one.calls:,}",
        )
        for agent, used in sorted(sent.items())
        for one in used
    ]
    columns = ("agent", "parameters, without seeds", "not applied", "calls")
    return plain_table("", columns, rows, words=3)


def _page(title: str, rows: Sequence[tuple[str, str]], *, simulated: bool = False) -> str:
    table = markdown_table(plain_table(title, ("what", "value"), rows, words=2))
    marks = [SIMULATED, ""] if simulated else []
    return "\n".join((f"# {escaped(title)}", "", *marks, table, ""))


def _section(title: str, table: Table) -> Iterator[str]:
    if table.rows:
        yield f"## {title}\n"
        yield markdown_table(table) + "\n"
        yield from (f"{escaped_sentence(note)}\n" for note in table.notes)


def checklist_page(table: Table, methods: str) -> str:
    """Return the reporting checklist and the paragraph on methods in Markdown."""
    marks = [SIMULATED, ""] if table.simulated else []
    return "\n".join(
        ("# Reporting checklist", "", *marks, markdown_table(table), "", "## Methods", "")
    ) + (f"{escaped_sentence(methods)}\n")
