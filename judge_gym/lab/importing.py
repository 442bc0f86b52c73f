"""Recorded judgements into the tables that judge-gym's own stand in, marked as imported."""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.answers.forms import read_form
from judge_gym.answers.readability import (
    TooFewReadableError,
    answers_by_judge,
    kind_of,
    too_few_readable,
)
from judge_gym.answers.text import ParseFailure
from judge_gym.design.config import file_digest
from judge_gym.design.experiment import Experiment, GroundTruth, RubricSource
from judge_gym.design.rubric import Rubric
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.labels import Labels
from judge_gym.design.window import Published, RecordedSource, Window
from judge_gym.errors import ConfigError
from judge_gym.model_names import RECORDED
from judge_gym.questions.outcome import unreadable
from judge_gym.questions.scorer import Judgement, read_judgement
from judge_gym.recorded.files import RecordedFiles, items_file
from judge_gym.recorded.judged import (
    Given,
    Judging,
    RecordedItem,
    RecordedWindow,
    Unread,
    stage_set,
    stages_of,
    turned,
)
from judge_gym.recorded.mapping import Recorded
from judge_gym.recorded.published import read_published
from judge_gym.recorded.reading import read_recorded
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

_ROWS = 5_000
"""Rows of one statement."""


@dataclass
class Repeats:
    """How often, and in which orders, a judge judged an item under one wording: a cell; and what
    became of the answers."""

    sizes: Counter[int] = field(default_factory=Counter)
    """Judgements of a cell → cells."""
    both_orders: int = 0
    """Cells with judgements in both orders."""
    opposite: dict[Judging, tuple[int, int]] = field(default_factory=dict)
    """Who judged → cells whose first two verdicts are mirror images, and cells with two verdicts;
    where they are more than repeats can be."""

    answers: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    """Who judged and why an answer could not be read (None where it could) → how many."""

    def of_kind(self, kind: str) -> Counter[str]:
        """Return who judged → answers that could not be read for a reason of this kind."""
        found: Counter[str] = Counter()
        for (judging, failure), count in self.answers.items():
            if failure is not None and kind_of(failure) == kind:
                found[judging] += count
        return found

    @property
    def too_few(self) -> TooFewReadableError | None:
        """Which judges have fewer than half their answers readable; None where all have enough."""
        counted = ((judging, why, count) for (judging, why), count in self.answers.items())
        return too_few_readable(answers_by_judge(counted))

    def add(self, judging: Judging, rows: Sequence[Mapping[str, Any]], n_stages: int) -> None:
        """Count the sample rows of one judge, wording and window.

        Two repeats of a verdict are mirror images with probability 2pq at most, 1/2: more than two
        standard deviations beyond half of the cells say that a pair was turned between them.
        """
        self.answers.update((str(judging), row["failure"]) for row in rows)
        cells: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in rows:
            cells[row["item"]].append(row)
        self.sizes.update(map(len, cells.values()))
        orders = [{tuple(row["display_order"]) for row in cell} for cell in cells.values()]
        self.both_orders += sum(len(of_cell) > 1 for of_cell in orders)
        if any(len(of_cell) > 1 for of_cell in orders):
            return
        scored = [[row["stages"] for row in cell if row["stages"]] for cell in cells.values()]
        pairs = [verdicts[:2] for verdicts in scored if len(verdicts) > 1]
        mirrored = sum(
            first != second and first == _mirrored(second, n_stages) for first, second in pairs
        )
        if mirrored > len(pairs) / 2 + len(pairs) ** 0.5:
            before, of = self.opposite.get(judging, (0, 0))
            self.opposite[judging] = (before + mirrored, of + len(pairs))


def _mirrored(stages: int, n_stages: int) -> int:
    """Return a bit set of stages as it reads in the reversed order."""
    return int(f"{stages:0{n_stages}b}"[::-1], 2)


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
    compared: "Compared | None" = None
    """The raw answers behind the decisions; None without `answer_forms`."""


@dataclass
class Compared:
    """Raw answers behind recorded decisions, as the answer parser reads them."""

    answers: int = 0
    """Decisions with a raw answer."""
    readable: Counter[Judging] = field(default_factory=Counter)
    """Who judged → answers that assert a verdict."""
    contradicting: Counter[Judging] = field(default_factory=Counter)
    """Who judged → answers that assert another verdict than the recorded decision."""


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
        _save_items(session, window, rubric, windows[name].items.values())
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
        repeats.add(judging, rows, rubric.scale_size)
        statuses.update(row["status"] for row in rows)
        new += _save_samples(session, experiment, rubric, rows)
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
        too_few=error.message if error else "", compared=compared,
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
    described = items_file(files, recorded)
    contents = [
        file_digest(file).hex() for file in (*files.paths, *([described] if described else ()))
    ]
    # Lengths, weighted preferences and labels of several people are for an audit, and not stored.
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
    truth = GroundTruth(source=recorded.source, per_item=True) if recorded.item.known else None
    subset = recorded.subset and not (recorded.answers and not recorded.answer_forms)
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
            "category": item.category or item.system,
        }
        for position, item in enumerate(items)
    ]
    save_documents(session, window_id, documents)


@lru_cache(maxsize=1 << 16)
def item_key(key: str) -> str:
    """Return the key of the document that a recorded item becomes."""
    return digest("recorded item", key)


def sample_rows(
    recorded: Recorded, experiment: Experiment, judgements: Sequence[Given]
) -> Iterator[dict[str, Any]]:
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
            "call": key if given.answer is not None or given.behind is not None else None,
            "answer": given.answer if given.answer is not None else given.behind,
            "replicate": replicate,
            "scale_size": experiment.scale_size,
            "seed": shown.seed,
            "letters": "".join(shown.letters),
            "display_order": list(shown.order),
            "imported": True,
            **vars(_judgement(recorded, experiment, shown, given)),
        }


def _judgement(
    recorded: Recorded, experiment: Experiment, shown: Presentation, given: Given
) -> Judgement:
    if given.answer is not None and recorded.answer_forms:
        return _by_form(recorded, experiment.scale_size, given.answer, given.reversed)
    if given.answer is not None:
        return read_judgement(experiment, shown, _answer(given.answer))
    if given.choice is None:
        if given.verdict:
            return Judgement("unparseable", failure=f"unlisted: {given.verdict[:200]!r}")
        return Judgement("unparseable", failure="empty: no judgement is recorded")
    if given.choice == "abstained":
        return Judgement("abstained", verdict_text=given.verdict[:500])
    return Judgement("scored", stage_set(given.choice), given.verdict[:500])


def _by_form(recorded: Recorded, n_stages: int, answer: str, turn: bool) -> Judgement:
    """Return the verdict that an answer gives in a declared form, in the rubric's own order."""
    found = read_form(answer, recorded.answer_forms)
    start, end = found.span or (None, None)
    if isinstance(found, ParseFailure):
        failure = unreadable(_answer(answer), found.reason, found.detail)
        return Judgement("unparseable", span_start=start, span_end=end, failure=failure)
    stages = stages_of(recorded.answer_forms[found.form])
    if turn:
        stages = turned(stages, n_stages)
    return Judgement(
        "abstained" if stages == "abstained" else "scored",
        None if stages == "abstained" else stage_set(stages),
        found.text[:500],
        span_start=start,
        span_end=end,
    )


def compared_answers(
    recorded: Recorded, windows: Mapping[str, RecordedWindow], n_stages: int
) -> Compared | None:
    """Return the raw answers behind decisions and what they assert; None without `answer_forms`."""
    if not (recorded.verdicts and recorded.answer_forms):
        return None
    compared = Compared()
    for window in windows.values():
        for judging, judgements in window.judgements.items():
            for given in judgements:
                if given.behind is None or given.choice is None:
                    continue
                compared.answers += 1
                asserted = _by_form(recorded, n_stages, given.behind, given.reversed)
                if asserted.status == "unparseable":
                    continue
                compared.readable[judging] += 1
                chosen = None if given.choice == "abstained" else stage_set(given.choice)
                compared.contradicting[judging] += asserted.stages != chosen
    return compared


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
