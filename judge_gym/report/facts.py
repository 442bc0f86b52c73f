"""What was run: the sweep, its experiments, evidence and calls, read from rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.formats import plain
from judge_gym.report.calls import calls_table, utility_warnings
from judge_gym.report.provenance import provenance_table
from judge_gym.report.scopes import rubric_phrase, setting_of
from judge_gym.report.table import Row, Table
from judge_gym.store.experiments import (
    experiments_by_tag,
    not_applied,
    sweep_description,
    sweep_tags,
)
from judge_gym.store.judgement_texts import StoredWindow, windows_of_experiments
from judge_gym.store.readability import of_samples
from judge_gym.store.results import RunInfo, run_info
from judge_gym.store.spending import call_sums
from judge_gym.store.sweep_data import count_items
from judge_gym.store.tables import ARMS_IN_USE


@dataclass(frozen=True)
class Facts:
    """A sweep as it was run."""

    run: RunInfo
    description: str
    judges: tuple[str, ...]
    experiments: Table
    windows: Table
    calls: Table
    provenance: Table
    warnings: tuple[str, ...]
    experiment_ids: tuple[int, ...]


def read_facts(session: Session, run_id: int) -> Facts:
    """Return what an analysis run stands on; raises `StoreError` when there is no such run."""
    run = run_info(session, run_id)
    by_id = experiments_by_tag(session, sweep_tags(session, run.sweep))
    ids, experiments = list(by_id), list(by_id.values())
    calls = call_sums(session, by_id)
    lost = not_applied(session, ids)
    provenance = provenance_table(session, run, ids, experiments, calls)
    return Facts(
        run=run,
        description=sweep_description(session, run.sweep),
        judges=tuple(sorted({one.model for one in experiments})),
        experiments=replace(
            _experiments(session, ids, experiments, lost),
            simulated=run.simulated,
            imported=provenance.imported,
        ),
        windows=_windows(windows_of_experiments(session, ids)),
        calls=calls_table(calls),
        provenance=provenance,
        warnings=(
            *_unreadable(session, [one.name for one in experiments]),
            *utility_warnings(calls, experiments),
            *_unapplied(ids, experiments, lost),
        ),
        experiment_ids=tuple(ids),
    )


def _unreadable(session: Session, tags: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each judge with fewer than half its answers readable."""
    for answers in of_samples(session, tags, ARMS_IN_USE):
        if answers.too_few:
            yield f"{answers}."


def _unapplied(
    ids: Sequence[int], experiments: Sequence[Experiment], lost: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    """Yield a warning for each model that did not take a value of an axis."""
    values: dict[tuple[str, str], set[float]] = {}
    for experiment_id, one in zip(ids, experiments, strict=True):
        for axis in lost.get(experiment_id, ()):
            values.setdefault((one.model, axis), set()).add(getattr(one, axis))
    for (model, axis), asked in sorted(values.items()):
        listed = ", ".join(plain(value) for value in sorted(asked))
        yield f"{model} does not apply {axis} {listed}: its answers are at its own default."


def _experiments(
    session: Session,
    ids: Sequence[int],
    experiments: Sequence[Experiment],
    lost: Mapping[int, Sequence[str]],
) -> Table:
    items = count_items(session, ids)
    return Table(
        "Experiments",
        "One judge at one point of the design space each; the setting says what is not at its "
        "default.",
        ("concept", "task", "judge", "family", "rubric", "setting", "items", "replicates"),
        tuple(
            Row(
                (
                    one.concept,
                    one.task_type,
                    one.model,
                    one.family,
                    rubric_phrase(str(one.rubric)),
                    ", ".join(
                        filter(
                            None,
                            (
                                setting_of(one),
                                *(f"{axis} not applied" for axis in lost.get(experiment_id, ())),
                            ),
                        )
                    ),
                    str(items.get(experiment_id, 0)),
                    str(one.replicates),
                )
            )
            for experiment_id, one in zip(ids, experiments, strict=True)
        ),
        words=6,
    )


def _windows(windows: Sequence[StoredWindow]) -> Table:
    return Table(
        "Windows",
        "The evidence: collected once per window, and the same for every judge.",
        ("window", "query", "country", "dates", "source", "kept out", "documents"),
        tuple(
            Row(
                (
                    one.name,
                    one.query,
                    one.country,
                    _dates(one),
                    _source(one.source),
                    _dropped(one.dropped),
                    str(one.documents),
                )
            )
            for one in windows
        ),
        words=6,
    )


def _dropped(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {reason.replace('_', ' ')}" for reason, n in counts.items()) or "none"


def _dates(window: StoredWindow) -> str:
    if window.start is None and window.end is None:
        return "any"
    return f"{window.start or '…'} to {window.end or '…'}"


def _source(source: Mapping[str, Any]) -> str:
    """Return the kind of source and the file's name; its folder is the reader's own affair."""
    name = PurePath(str(source.get("path", ""))).name
    return f"{source.get('kind', '')} {name}".strip()
