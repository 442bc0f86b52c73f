"""Cases to read: the items that settings move most, and judges that contradict themselves.

At most ten. Half of them are items, by the largest change of a judge's mean verdict between two
settings that differ in one axis; half are cells, by the distance of two verdicts without a stage in
common. Where one kind has fewer, the other has more.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from sqlalchemy.orm import Session

from judge_gym.analysis.cases import MovedItem, changed_sentences, moved_items
from judge_gym.analysis.data import SweepData, SweepJudge
from judge_gym.analysis.plotted import ConflictingCell, conflicting_cells
from judge_gym.records.shown import stages_of
from judge_gym.report.evidence import (
    LONGEST_TEXT,
    ShownJudgement,
    ShownView,
    cut,
    shown_judgements,
)
from judge_gym.report.scopes import changes
from judge_gym.report.table import Table, plain_table
from judge_gym.store.judgement_texts import (
    ItemTitle,
    JudgementText,
    StoredDocument,
    documents_of_items,
    first_titles,
    judged_items,
    judgements_of_cells,
)

MAX_CASES = 10
MAX_SETTINGS = 12
"""Settings of a judge whose verdicts on an item are listed."""
MAX_ANSWERS = 6
"""Answers shown under each of the two settings, or of a cell."""
LONGEST_DOCUMENT = 2_000
LONGEST_SENTENCE = 400

Cell = tuple[int, int]
"""Arm id and item id."""


@dataclass(frozen=True)
class CaseToRead:
    """One item to read: its text, the verdicts side by side, and the sentence that changed."""

    title: ItemTitle
    judge: str
    what: str
    """What changed between the two sides."""
    apart: float
    """How far apart the verdicts are, as a share of the scale."""
    texts: tuple[ShownView, ...]
    verdicts: Table
    sentences: tuple[str, str]
    """Of the answer before and the one after; each may be empty."""
    answers: tuple[ShownJudgement, ...]


@dataclass(frozen=True)
class Cases:
    """The cases; `flagged` counts the cells that contradict themselves, `repeated` all with two."""

    moved: tuple[CaseToRead, ...] = ()
    divided: tuple[CaseToRead, ...] = ()
    flagged: int = 0
    repeated: int = 0


def read_cases(
    session: Session, sweep: str, data: SweepData, experiment_ids: Sequence[int]
) -> Cases:
    """Return the cases of a sweep whose samples are `data`."""
    moved, (worst, repeated) = moved_items(data, MAX_CASES), conflicting_cells(session, sweep)
    of_items = min(len(moved), max(MAX_CASES // 2, MAX_CASES - len(worst)))
    moved, divided = moved[:of_items], worst[: MAX_CASES - of_items]
    ids = judged_items(session, sweep) if moved else []
    items = {*(ids[one.item] for one in moved), *(cell.item_id for cell in divided)}
    cells = {(cell.arm_id, cell.item_id): None for cell in divided}
    for one in moved:
        cells |= dict.fromkeys((arm, ids[one.item]) for arm in _arms_of(data, one))
    stored = judgements_of_cells(session, sweep, list(cells), LONGEST_TEXT)
    reading = _CaseReading(
        first_titles(session, items),
        documents_of_items(session, items),
        stored,
        shown_judgements(session, experiment_ids, stored),
        {arm.id: judge for judge in data.judges for arm in judge.arms},
    )
    return Cases(
        moved=tuple(reading.moved(one, ids[one.item], _arms_of(data, one)) for one in moved),
        divided=tuple(map(reading.divided, divided)),
        flagged=len(worst),
        repeated=repeated,
    )


def _arms_of(data: SweepData, moved: MovedItem) -> list[int]:
    """Return the own arms of the judge: those of the two settings first, then of the others."""
    pair = moved.pair
    both = [arm.id for side in (pair.before, pair.after) for arm in side.of_kind("own")]
    others = [
        arm.id
        for judge in data.judges
        if judge.model == pair.before.model
        for arm in judge.of_kind("own")
    ]
    return list(dict.fromkeys([*both, *others]))


@dataclass(frozen=True)
class _CaseReading:
    """What cases are made of, by item, cell and arm."""

    titles: Mapping[int, ItemTitle]
    documents: Mapping[int, Sequence[StoredDocument]]
    stored: Mapping[Cell, Sequence[JudgementText]]
    shown: Mapping[Cell, Sequence[ShownJudgement]]
    judges: Mapping[int, SweepJudge]

    def moved(self, found: MovedItem, item: int, arms: Sequence[int]) -> CaseToRead:
        """Return the case of an item that a setting moves."""
        pair = found.pair
        sides = [
            [(arm.id, item) for arm in side.of_kind("own")] for side in (pair.before, pair.after)
        ]
        texts = [[text for cell in side for text in self.stored.get(cell, ())] for side in sides]
        answers = [
            [answer for cell in side for answer in self.shown.get(cell, ())][:MAX_ANSWERS]
            for side in sides
        ]
        every = [answer for arm in arms for answer in self.shown.get((arm, item), ())]
        return CaseToRead(
            title=self.titles[item],
            judge=pair.before.model,
            what=changes([pair.scope])[0],
            apart=abs(found.change),
            texts=self._texts(item, [pair.before, pair.after]),
            verdicts=_verdicts("setting", ((one.under, one.outcome) for one in every)),
            sentences=_changed(texts[0], texts[1]),
            answers=(*answers[0], *answers[1]),
        )

    def divided(self, found: ConflictingCell) -> CaseToRead:
        """Return the case of a cell whose verdicts exclude each other."""
        cell = (found.arm_id, found.item_id)
        answers = self.shown[cell]
        return CaseToRead(
            title=self.titles[found.item_id],
            judge=answers[0].judge,
            what=answers[0].under,
            apart=found.conflict.widest,
            texts=self._texts(found.item_id, [self.judges[found.arm_id]]),
            verdicts=_verdicts("replicate", ((str(one.replicate), one.outcome) for one in answers)),
            sentences=_changed(self.stored[cell], self.stored[cell]),
            answers=tuple(answers[:MAX_ANSWERS]),
        )

    def _texts(self, item: int, judges: Sequence[SweepJudge]) -> tuple[ShownView, ...]:
        """Return the text of the item in each view that these judges read."""
        views = dict.fromkeys(judge.experiment.evidence_view for judge in judges)
        return tuple(_view(view, self.documents[item]) for view in views)


def _view(name: str, documents: Sequence[StoredDocument]) -> ShownView:
    bodies = [
        one.text if name == "raw" else one.views[name].text if name in one.views else ""
        for one in documents
    ]
    texts = "\n\n".join(
        "\n".join(filter(None, (one.title if len(documents) > 1 else "", body)))
        for one, body in zip(documents, bodies, strict=True)
    )
    return ShownView(name, cut(texts, LONGEST_DOCUMENT), "" if any(bodies) else "no text")


def _verdicts(heading: str, answers: Iterable[tuple[str, str]]) -> Table:
    """Return a line per setting, or replicate, with its verdicts and how many there are of each."""
    by_setting: dict[str, Counter[str]] = {}
    for setting, outcome in answers:
        by_setting.setdefault(setting, Counter())[outcome] += 1
    rows = [
        (setting, "; ".join(f"{said} ({count})" for said, count in of.items()))
        for setting, of in list(by_setting.items())[:MAX_SETTINGS]
    ]
    more = len(by_setting) - len(rows)
    table = plain_table("Verdicts", (heading, "verdicts"), rows)
    return replace(table, notes=(f"{more} more.",) if more else ())


def _changed(before: Sequence[JudgementText], after: Sequence[JudgementText]) -> tuple[str, str]:
    """Return the sentence that changed between the two answers that are furthest apart."""
    pairs = [
        (abs(_place(first) - _place(second)), first, second)
        for first, second in product(before, after)
        if first is not second and first.stages and second.stages
    ]
    if not pairs:
        return "", ""
    _, first, second = max(pairs, key=lambda pair: pair[0])
    sentences = changed_sentences(first.answer, second.answer, {first.span, second.span})
    return cut(sentences[0], LONGEST_SENTENCE), cut(sentences[1], LONGEST_SENTENCE)


def _place(judgement: JudgementText) -> float:
    """Return the mean stage of a verdict as a share of the scale's length."""
    named = stages_of(judgement.stages or 0)
    return sum(named) / len(named) / len(judgement.labels)
