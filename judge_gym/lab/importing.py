"""Recorded judgements into the tables that judge-gym's own stand in, marked as imported."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.answers.readability import TooFewReadableError, answers_by_judge, too_few_readable
from judge_gym.design.config import corpus_digest
from judge_gym.design.experiment import Experiment, GroundTruth, RubricSource
from judge_gym.design.rubric import Rubric
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.labels import Labels
from judge_gym.design.window import RecordedSource, Window
from judge_gym.errors import ConfigError
from judge_gym.model_names import RECORDED
from judge_gym.questions.scorer import Judgement, read_judgement
from judge_gym.recorded import (
    Given,
    Recorded,
    RecordedItem,
    RecordedWindow,
    read_recorded,
    stage_set,
)
from judge_gym.records.calls import IMPORTED, Answer
from judge_gym.records.shown import Presentation
from judge_gym.seeds import derive_seed, digest
from judge_gym.store.calls import save_imported_calls
from judge_gym.store.experiments import (
    Leaving,
    freeze_items,
    items_by_document,
    leaving,
    register_experiment,
    register_sweep,
    was_run_here,
)
from judge_gym.store.rubrics import add_arm, own_arm, provided_key, rubric_by_key, save_provided
from judge_gym.store.samples import save_samples
from judge_gym.store.windows import register_window, save_documents

"""The first part of an imported judge's model string; nobody can be asked by it."""
_ROWS = 5_000
"""Rows of one statement."""


@dataclass(frozen=True)
class Imported:
    """What an import brought in."""

    judges: int
    items: int
    judgements: int
    new: int
    """Judgements that were not there yet."""
    statuses: Counter[str]
    """Of all of them."""
    unread: str = ""
    """Which judges have fewer than half their answers readable, and why; empty without any."""


def import_verdicts(
    session: Session,
    file: Path,
    recorded: Recorded,
    rubric: Rubric,
    *,
    allow_unreadable: bool = False,
    confirm: Callable[[Leaving], None] | None = None,
) -> Imported:
    """Store the judgements of a recorded file as a sweep; the same file again changes nothing.

    Raises `EvidenceError` for a row that does not fit, `ConfigError` when the name belongs to a
    sweep that was run here, and `TooFewReadableError` when fewer than half the answers of a judge
    are readable, unless they are allowed; nothing is stored then. `confirm` is called before
    experiments leave a sweep of this name, and raises to stop the import.
    """
    _check_name(session, recorded.name)
    windows = read_recorded(file, recorded, rubric.scale_size)
    identity = digest(
        corpus_digest(file), recorded.model_dump(mode="json", exclude={"name", "description"})
    )
    save_provided(session, rubric, recorded.concept, recorded.country)
    experiments: dict[tuple[str, str], Experiment] = {}
    for name, content in windows.items():
        window = _window(recorded, name, identity, len(content.items))
        _save_items(session, window, rubric, content.items.values())
        for judge in content.judgements:
            experiments[name, judge] = _experiment(recorded, rubric, window, judge, content)
    left = leaving(session, recorded.name, experiments.values())
    if left and confirm:
        confirm(left)
    register_sweep(session, recorded.name, recorded.description, None, experiments.values())
    statuses: Counter[str] = Counter()
    answers: list[tuple[str, str | None, int]] = []
    new = 0
    for (name, judge), experiment in experiments.items():
        rows = list(_rows(experiment, windows[name].judgements[judge]))
        statuses.update(row["status"] for row in rows)
        answers += [(judge, row["failure"], 1) for row in rows]
        new += _save_samples(session, experiment, rubric, rows)
    error = too_few_readable(answers_by_judge(answers))
    if error and not allow_unreadable:
        raise TooFewReadableError(
            f"Nothing was imported from {file}. {error.message}",
            "Mend the file or its mapping, or import it as it is with --allow-unreadable.",
        )
    items = sum(len(content.items) for content in windows.values())
    unread = error.message if error else ""
    return Imported(len(experiments), items, statuses.total(), new, statuses, unread)


def _check_name(session: Session, name: str) -> None:
    if was_run_here(session, name, RECORDED):
        raise ConfigError(
            f"name is {name!r}, a sweep that was run here.", "Give the recorded one another name."
        )


def _window(recorded: Recorded, name: str, identity: str, items: int) -> Window:
    source = RecordedSource(pairwise=recorded.pairwise, digest=digest(identity, name))
    return Window(name=name, country=recorded.country, max_documents=items, source=source)


def _experiment(
    recorded: Recorded, rubric: Rubric, window: Window, judge: str, content: RecordedWindow
) -> Experiment:
    truth = GroundTruth(source=recorded.source, per_item=True) if recorded.truths else None
    subset = recorded.subset and not recorded.answers
    return Experiment(
        task_type="benchmark" if truth else "ecc",
        concept=recorded.concept,
        window=window,
        model=f"{RECORDED}/{judge}",
        family=recorded.families.get(judge, judge)[:80],
        ground_truth=truth,
        scoring_method="subset" if subset else recorded.scoring_method,
        scale_size=rubric.scale_size,
        randomize_labels=False,
        shuffle_order=False,
        evidence_view="raw",
        rubric=RubricSource(kind="provided", rubric=rubric),
        replicates=content.replicates(judge),
    )


def _save_items(
    session: Session, window: Window, rubric: Rubric, items: Iterable[RecordedItem]
) -> None:
    """Store a window's items as its documents, once."""
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
        }
        for position, item in enumerate(items)
    ]
    save_documents(session, window_id, documents)


def item_key(key: str) -> str:
    """Return the key of the document that a recorded item becomes."""
    return digest("recorded item", key)


def _rows(experiment: Experiment, judgements: Sequence[Given]) -> Iterator[dict[str, Any]]:
    """Yield the columns of each sample, with the item's and the call's own keys among them."""
    letters = resolve(experiment).of(Labels).assign(0)
    orders = tuple(range(1, experiment.scale_size + 1))
    seen: Counter[str] = Counter()
    for given in judgements:
        replicate = seen[given.item]
        seen[given.item] += 1
        key = f"import/{experiment.key}/{item_key(given.item)}/{replicate}"
        shown = Presentation(
            seed=derive_seed("import", key),
            letters=letters[::-1] if given.reversed else letters,
            order=orders[::-1] if given.reversed else orders,
        )
        yield {
            "item": item_key(given.item),
            "call": key if given.answer is not None else None,
            "answer": given.answer,
            "replicate": replicate,
            "scale_size": experiment.scale_size,
            "seed": shown.seed,
            "letters": "".join(shown.letters),
            "display_order": list(shown.order),
            "imported": True,
            **asdict(_judgement(experiment, shown, given)),
        }


def _judgement(experiment: Experiment, shown: Presentation, given: Given) -> Judgement:
    if given.answer is not None:
        return read_judgement(experiment, shown, _answer(given.answer))
    if given.choice is None:
        return Judgement("unparseable", failure="empty: no judgement is recorded")
    if given.choice == "abstained":
        return Judgement("abstained", verdict_text=given.verdict[:500])
    return Judgement("scored", stage_set(given.choice), given.verdict[:500])


def _answer(text: str) -> Answer:
    return Answer(text, "unknown", None, None, cost_usd=0.0, latency_ms=0.0, simulated=False)


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
