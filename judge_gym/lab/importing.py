"""Recorded judgements into the tables that judge-gym's own stand in, marked as imported."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.annotations import Annotation, Annotations, AnnotationScheme
from judge_gym.answers.readability import TooFewReadableError
from judge_gym.design.config import file_digest
from judge_gym.design.experiment import Experiment, GroundTruth, RubricSource
from judge_gym.design.rubric import Rubric
from judge_gym.design.window import Published, RecordedSource, Window
from judge_gym.errors import ConfigError
from judge_gym.lab.annotating import ImportedLabels, import_annotations
from judge_gym.lab.recorded_answers import (
    Compared,
    Repeats,
    compared_answers,
    item_key,
    labels_of_people,
    sample_rows,
)
from judge_gym.model_names import RECORDED
from judge_gym.recorded.files import RecordedFiles, items_file, labels_file
from judge_gym.recorded.judged import Judging, RecordedItem, RecordedWindow, Unread
from judge_gym.recorded.mapping import Recorded
from judge_gym.recorded.published import read_published
from judge_gym.recorded.reading import read_recorded
from judge_gym.records.calls import IMPORTED
from judge_gym.seeds import digest
from judge_gym.store.annotations import delete_set
from judge_gym.store.calls import save_imported_calls
from judge_gym.store.experiments import (
    Leaving,
    leaving,
    register_experiment,
    register_sweep,
    was_run_here,
)
from judge_gym.store.items import freeze_items, items_by_document, stored_key
from judge_gym.store.rubrics import add_arm, own_arm, provided_key, rubric_by_key, save_provided
from judge_gym.store.samples import save_samples
from judge_gym.store.windows import register_window, save_documents

_ROWS = 5_000
"""Rows of one statement."""


@dataclass(frozen=True)
class Imported:
    """What an import brought in."""

    judges: int
    wordings: int
    items: int
    judgements: int
    new: int
    """Judgements that were not there yet."""
    statuses: Counter[str]
    """Of all of them."""
    unread: Unread
    repeats: Repeats
    too_few: str = ""
    """Which judges have fewer than half their answers readable, and why; empty without any."""
    compared: Compared | None = None
    """The raw answers behind the decisions; None without `answer_forms`."""
    labels: ImportedLabels | None = None
    """The labels of people that are no known answers; None without any."""


def import_verdicts(
    session: Session,
    files: RecordedFiles,
    recorded: Recorded,
    rubric: Rubric,
    *,
    allow_unreadable: bool = False,
    confirm: Callable[[Leaving], None] | None = None,
) -> Imported:
    """Store recorded judgements as a sweep; the same files again change nothing.

    Raises `EvidenceError` for a row that does not fit, `ConfigError` when the name belongs to a
    sweep that was run here, and `TooFewReadableError` when fewer than half the answers of a judge
    are readable, unless they are allowed; nothing is stored then. `confirm` is called before
    experiments leave a sweep of this name, and raises to stop the import.
    """
    _check_name(session, recorded.name)
    read = read_recorded(files, recorded, rubric.scale_size)
    windows = read.windows
    save_provided(session, rubric, recorded.concept, recorded.country)
    experiments = recorded_experiments(files, recorded, rubric, windows)
    for name, window in {name: one.window for (name, _), one in experiments.items()}.items():
        _save_items(session, window, rubric, windows[name].items.values(), recorded.families)
    points = {experiment.key for experiment in experiments.values()}
    left = leaving(session, recorded.name, lambda stored: stored.key in points)
    if left and confirm:
        confirm(left)
    register_sweep(session, recorded.name, recorded.description, None, experiments.values())
    statuses: Counter[str] = Counter()
    compared = compared_answers(recorded, windows, rubric.scale_size)
    new, repeats = 0, Repeats()
    for (name, judging), experiment in experiments.items():
        judgements = windows[name].judgements[judging]
        rows = list(sample_rows(recorded, experiment, judgements))
        repeats.add(judging, judgements, rows, rubric.scale_size)
        statuses.update(row["status"] for row in rows)
        new += _save_samples(session, experiment, rubric, rows)
    labels = _save_labels(session, files, recorded, rubric, experiments, windows)
    error = repeats.too_few
    if error and not allow_unreadable:
        raise TooFewReadableError(
            f"Nothing was imported from {', '.join(map(str, files.paths[:3]))}. {error.message}",
            "Mend the file or its mapping, or import it as it is with --allow-unreadable.",
        )
    items = sum(len(content.items) for content in windows.values())
    judges = len({(name, judging.judge) for name, judging in experiments})
    wordings = len({judging.wording for _, judging in experiments})
    return Imported(
        judges, wordings, items, statuses.total(), new, statuses, read.unread, repeats,
        too_few=error.message if error else "", compared=compared, labels=labels,
    )  # fmt: skip


def recorded_experiments(
    files: RecordedFiles,
    recorded: Recorded,
    rubric: Rubric,
    windows: Mapping[str, RecordedWindow],
) -> dict[tuple[str, Judging], Experiment]:
    """Return the experiment that each window's name and judge stand for, in the file's order."""
    identity, published = _identity(files, recorded), read_published(files, recorded)
    experiments: dict[tuple[str, Judging], Experiment] = {}
    for name, content in windows.items():
        window = _window(recorded, name, identity, len(content.items), published)
        for judging in content.judgements:
            experiments[name, judging] = _experiment(recorded, rubric, window, judging, content)
    return experiments


def _identity(files: RecordedFiles, recorded: Recorded) -> str:
    """Return what two imports have in common that give the same judgements."""
    beside = filter(None, (items_file(files, recorded), labels_file(files, recorded)))
    contents = [*files.digests, *(file_digest(file).hex() for file in beside)]
    # Lengths and weighted preferences are for an audit and not stored; labels of several people are
    # a set of their own.
    unstored = {"texts"} if recorded.item.person else {"texts", "people"}
    mapping = recorded.model_dump(
        mode="json",
        exclude={
            "name": True,
            "description": True,
            "item": unstored,
            "verdicts": {"__all__": {"preference"}},
        },
    )
    if not (recorded.file_pattern or "{file" in recorded.judge):
        return digest(*contents, mapping)
    names = [os.path.relpath(file, files.folder) for file in files.paths]
    return digest(*contents, mapping, names)


def _check_name(session: Session, name: str) -> None:
    if was_run_here(session, name, RECORDED):
        raise ConfigError(
            f"name is {name!r}, a sweep that was run here.", "Give the recorded one another name."
        )


def _window(
    recorded: Recorded, name: str, identity: str, items: int, published: Published
) -> Window:
    source = RecordedSource(
        pairwise=recorded.pairwise, digest=digest(identity, name), published=published
    )
    return Window(name=name, country=recorded.country, max_documents=items, source=source)


def _experiment(
    recorded: Recorded,
    rubric: Rubric,
    window: Window,
    judging: Judging,
    content: RecordedWindow,
) -> Experiment:
    truth = GroundTruth(source=recorded.source, per_item=True) if recorded.has_truth else None
    subset = recorded.subset and not (recorded.answers and not recorded.forms)
    return Experiment(
        task_type="benchmark" if truth else "ecc",
        concept=recorded.concept,
        window=window,
        model=f"{RECORDED}/{judging.judge}",
        family=recorded.families.get(judging.judge, judging.judge)[:80],
        ground_truth=truth,
        scoring_method="subset" if subset else recorded.scoring_method,
        scale_size=rubric.scale_size,
        randomize_labels=False,
        shuffle_order=False,
        evidence_view="raw",
        rubric=RubricSource(kind="provided", rubric=rubric),
        replicates=content.replicates(judging),
        **({"wording": judging.wording} if judging.wording else {}),
    )


def _save_items(
    session: Session,
    window: Window,
    rubric: Rubric,
    items: Iterable[RecordedItem],
    families: Mapping[str, str],
) -> None:
    """Store a window's items as its documents, once; `families` are of their systems."""
    window_id = register_window(session, window)
    documents = [
        {
            "position": position,
            "key": item_key(item.key),
            "url": "",
            "canonical_url": f"recorded:{item_key(item.key)}",
            "domain": "",
            "tier": "other",
            "tier_weight": 0,
            "title": item.title or item.key,
            "text": item.text,
            "truth_label": rubric.stages[item.truth - 1].label if item.truth else None,
            "category": item.category,
            "system": item.system,
            "second_system": item.second_system,
            "system_family": families.get(item.system, item.system)[:80],
            "question": item.question,
        }
        for position, item in enumerate(items)
    ]
    save_documents(session, window_id, documents)


def _save_samples(
    session: Session, experiment: Experiment, rubric: Rubric, rows: Sequence[dict[str, Any]]
) -> int:
    """Store an experiment's samples under its own arm; returns how many are new."""
    experiment_id = register_experiment(session, experiment)
    freeze_items(session, experiment_id, experiment)
    stored = rubric_by_key(session, provided_key(rubric, experiment.concept, experiment.country))
    assert stored is not None
    add_arm(session, experiment_id, "own", stored)
    arm_id = own_arm(session, experiment_id)
    items = items_by_document(session, experiment_id)
    new = 0
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        calls = _save_calls(session, experiment, experiment_id, part)
        samples = [
            {
                **{name: value for name, value in row.items() if name not in _NOT_SAMPLE},
                "arm_id": arm_id,
                "item_id": items[row["item"]],
                "call_id": calls.get(row["call"]),
            }
            for row in part
        ]
        new += save_samples(session, samples)
    return new


def _save_labels(
    session: Session,
    files: RecordedFiles,
    recorded: Recorded,
    rubric: Rubric,
    experiments: Mapping[tuple[str, Judging], Experiment],
    windows: Mapping[str, RecordedWindow],
) -> ImportedLabels | None:
    """Store the labels of people as a set of the sweep's, in place of one that is there.

    None where there are none, or all are of one person and the known answers.
    """
    name = f"{recorded.name}-people"
    delete_set(session, name)
    keys = {window: one.window.key for (window, _), one in experiments.items()}
    given = [
        (stored_key(keys[window], [item_key(item.key)]), item.truth, person, stages)
        for window in keys
        for item, person, stages in labels_of_people(recorded, windows[window])
    ]
    people = {person for _, _, person, _ in given}
    if len(people) < 2 and all(stages == [truth] for _, truth, _, stages in given):
        return None
    rows = tuple(
        Annotation(
            item, person, "person",
            tuple(sorted({rubric.stages[stage - 1].label for stage in stages})), 0,
        )
        for item, _, person, stages in given
    )  # fmt: skip
    annotations = Annotations(name, recorded.source, AnnotationScheme(), rows, files.paths[0])
    return import_annotations(session, annotations, sweep=recorded.name)


_NOT_SAMPLE = ("item", "call", "answer")


def _save_calls(
    session: Session, experiment: Experiment, experiment_id: int, rows: Sequence[dict[str, Any]]
) -> Mapping[str, int]:
    """Store the raw answers in the ledger; returns key → id."""
    calls = [
        {
            "key": row["call"],
            "workflow": "import-verdicts",
            "agent": "scorer",
            "provider": RECORDED,
            "model": experiment.model,
            "experiment_id": experiment_id,
            "messages": [],
            "template": "",
            "template_hash": "",
            "parameters": {},
            "status": "succeeded",
            "answer": row["answer"],
            "finish_reason": "unknown",
            "cost_usd": 0,
            "route": IMPORTED,
            "simulated": False,
        }
        for row in rows
        if row["call"]
    ]
    return save_imported_calls(session, calls)
