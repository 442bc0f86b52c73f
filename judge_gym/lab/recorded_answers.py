"""Recorded judgements as rows of samples, and what became of their answers."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from judge_gym.answers.forms import read_form
from judge_gym.answers.readability import (
    TooFewReadableError,
    answers_by_judge,
    kind_of,
    too_few_readable,
)
from judge_gym.answers.text import ParseFailure, own_turn
from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.labels import LabelDisplay
from judge_gym.questions.outcome import unreadable
from judge_gym.questions.scorer import Judgement, read_judgement
from judge_gym.recorded.judged import (
    Given,
    Judging,
    RecordedItem,
    RecordedWindow,
    stage_set,
    stages_of,
    turned,
)
from judge_gym.recorded.mapping import Recorded
from judge_gym.records.calls import Answer
from judge_gym.records.shown import Presentation
from judge_gym.seeds import derive_seed, digest

EXAMPLES = 2
"""Raw answers that are kept of each reason why answers could not be read."""


def labels_of_people(
    recorded: Recorded, window: RecordedWindow
) -> Iterator[tuple[RecordedItem, str, list[int]]]:
    """Yield each item of a window with a person and the stages that they gave it.

    They stand in columns or in rows of their own.
    """
    for item in window.items.values():
        for person, stage in zip(recorded.item.people, item.people, strict=True):
            if stage:
                yield item, person, [stage]
        for person, stages in window.labels.get(item.key, {}).items():
            yield item, person, stages


@dataclass(frozen=True)
class UnreadAnswer:
    """A raw answer that could not be read."""

    place: str
    """Who judged which item, and where it stands in its file."""
    failure: str
    """Why, as `kind: detail`."""
    answer: str
    at: int
    """Where in it what was refused begins; its end, where nothing is like a verdict."""


def _unread(place: str, row: Mapping[str, Any], answer: str) -> UnreadAnswer:
    start = row["span_start"]
    return UnreadAnswer(place, row["failure"], answer, len(answer) if start is None else start)


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

    unread: dict[str, list[UnreadAnswer]] = field(default_factory=dict)
    """Why raw answers could not be read → the first of them."""

    def of_kind(self, kind: str) -> Counter[str]:
        """Return who judged → answers that could not be read for a reason of this kind."""
        found: Counter[str] = Counter()
        for (judging, failure), count in self.answers.items():
            if failure is not None and kind_of(failure) == kind:
                found[judging] += count
        return found

    @property
    def reasons(self) -> Counter[str]:
        """Why raw answers could not be read → how many."""
        found: Counter[str] = Counter()
        for (_, failure), count in self.answers.items():
            if failure is not None and kind_of(failure) in self.unread:
                found[kind_of(failure)] += count
        return found

    @property
    def too_few(self) -> TooFewReadableError | None:
        """Which judges have fewer than half their answers readable; None where all have enough."""
        counted = ((judging, why, count) for (judging, why), count in self.answers.items())
        return too_few_readable(answers_by_judge(counted))

    def add(
        self,
        judging: Judging,
        judgements: Sequence[Given],
        rows: Sequence[Mapping[str, Any]],
        n_stages: int,
    ) -> None:
        """Count the sample rows of one judge, wording and window, made of these judgements.

        Two repeats of a verdict are mirror images with probability 2pq at most, 1/2: more than two
        standard deviations beyond half of the cells say that a pair was turned between them.
        """
        self.answers.update((str(judging), row["failure"]) for row in rows)
        for given, row in zip(judgements, rows, strict=True):
            if row["failure"] is not None and given.answer is not None:
                found = self.unread.setdefault(kind_of(row["failure"]), [])
                if len(found) < EXAMPLES:
                    place = f"{judging} on {given.item} ({given.where})"
                    found.append(_unread(place, row, given.answer))
        counts = Counter(row["item"] for row in rows)
        if len(counts) == len(rows):  # no repeats, of which there would be more to say
            self.sizes.update({1: len(rows)} if rows else {})
            return
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


@dataclass
class Compared:
    """Raw answers behind recorded decisions, as the answer parser reads them."""

    answers: int = 0
    """Decisions with a raw answer."""
    readable: Counter[Judging] = field(default_factory=Counter)
    """Who judged → answers that assert a verdict."""
    contradicting: Counter[Judging] = field(default_factory=Counter)
    """Who judged → answers that assert another verdict than the recorded decision."""


@lru_cache(maxsize=1 << 16)
def item_key(key: str) -> str:
    """Return the key of the document that a recorded item becomes."""
    return digest("recorded item", key)


def sample_rows(
    recorded: Recorded,
    experiment: Experiment,
    judgements: Sequence[Given],
    *,
    stored: bool = True,
) -> Iterator[dict[str, Any]]:
    """Yield the columns of each sample, with the item's and the call's own keys among them.

    Of rows that are not `stored`, the seed is only made where an answer is read by it.
    """
    letters = resolve(experiment).of(LabelDisplay).assign(0)
    orders = tuple(range(1, experiment.scale_size + 1))
    seen: Counter[str] = Counter()
    for given in judgements:
        replicate = seen[given.item]
        seen[given.item] += 1
        key = f"import/{experiment.key}/{item_key(given.item)}/{replicate}"
        shown = Presentation(
            seed=derive_seed("import", key) if stored or given.answer is not None else 0,
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
    if given.answer is not None:
        turn = own_turn(given.answer)
        start, own = turn.start, given.answer[turn]
        if start and not own.strip():
            return Judgement("unparseable", failure="empty: there is no answer after the thinking")
        found = _said(recorded, experiment, shown, own, given.reversed)
        if start and found.span_start is not None and found.span_end is not None:
            begin, end = found.span_start + start, found.span_end + start
            found = replace(found, span_start=begin, span_end=end)
        return found
    if given.choice is None:
        if given.verdict:
            return Judgement("unparseable", failure=f"unlisted: {given.verdict[:200]!r}")
        return Judgement("unparseable", failure="empty: no judgement is recorded")
    if given.choice == "abstained":
        return Judgement("abstained", verdict_text=given.verdict[:500])
    return Judgement("scored", stage_set(given.choice), given.verdict[:500])


def _said(
    recorded: Recorded, experiment: Experiment, shown: Presentation, answer: str, turn: bool
) -> Judgement:
    """Return what an answer says after its thinking."""
    if recorded.forms:
        return _by_form(recorded, experiment.scale_size, answer, turn)
    alone = recorded.scale.stage(answer) if recorded.scale else None
    if alone:  # an answer that is nothing but a score needs no verdict line
        stage = experiment.scale_size + 1 - alone if turn else alone
        return Judgement("scored", stage_set((stage,)), answer[:500])
    return read_judgement(experiment, shown, _answer(answer))


def _by_form(recorded: Recorded, n_stages: int, answer: str, turn: bool) -> Judgement:
    """Return the verdict that an answer gives in a declared form, in the rubric's own order."""
    found = read_form(answer, recorded.forms)
    start, end = found.span or (None, None)
    if isinstance(found, ParseFailure):
        failure = unreadable(_answer(answer), found.reason, found.detail)
        return Judgement("unparseable", span_start=start, span_end=end, failure=failure)
    stages = stages_of(recorded.forms[found.form])
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
    if not (recorded.verdicts and recorded.forms):
        return None
    compared = Compared()
    for window in windows.values():
        for judging, judgements in window.judgements.items():
            for given in judgements:
                if given.behind is None or given.choice is None:
                    continue
                compared.answers += 1
                said = given.behind[own_turn(given.behind)]
                asserted = _by_form(recorded, n_stages, said, given.reversed)
                if asserted.status == "unparseable":
                    continue
                compared.readable[judging] += 1
                chosen = None if given.choice == "abstained" else stage_set(given.choice)
                compared.contradicting[judging] += asserted.stages != chosen
    return compared


def _answer(text: str) -> Answer:
    return Answer(text, "unknown", None, None, cost_usd=0.0, latency_ms=0.0, simulated=False)
