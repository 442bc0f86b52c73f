"""The cases of a review file: each judge in use with its alternatives and the texts they judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from judge_gym.calibration.design import CalibrationDesign, load_calibration
from judge_gym.calibration.review_file import Reviewed, ReviewFile, load_review_file
from judge_gym.design.config import Node, Place, read_tree
from judge_gym.errors import ConfigError
from judge_gym.evidence.choosing import NamedBy
from judge_gym.judges import Item, Judge, load_judge
from judge_gym.judges.calibrating.judging import Asked, check_labels, load_originals, with_people
from judge_gym.judges.calibrating.texts import Texts, changed_texts, rewritings
from judge_gym.judges.files import judge_in
from judge_gym.judges.item_files import read_item_file
from judge_gym.judges.label_files import read_labels
from judge_gym.judges.people import labelled_by_day
from judge_gym.metrics.cells import FloatArray

_LONGEST_NAME = 100


@dataclass(frozen=True, eq=False)
class ReviewCase:
    """A judge in use, what it is compared with, and on which texts, each judged `repeats` times.

    `design` is the calibration whose checks are made, None where the texts are judged as they are.
    """

    judge: Judge
    alternatives: tuple[Judge, ...]
    decision: str
    texts: Texts
    repeats: int
    design: CalibrationDesign | None
    labels: str = ""
    """How many labels the texts have and where they are from, for a person."""
    labelled: Mapping[date, FloatArray] = field(default_factory=dict)
    """Day on which people labelled texts → their points of each; see `labelled_by_day`."""
    fresh: tuple[Item, ...] = ()
    """What the systems answered since the last review; the judge in use alone judges it."""

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judge in use, then its alternatives."""
        return (self.judge, *self.alternatives)

    @property
    def corpus(self) -> str:
        """The digest of the file of the texts."""
        return self.texts.originals[0].corpus


@dataclass(frozen=True, eq=False)
class LoadedReview:
    """A review file with everything that it names."""

    path: Path
    file: ReviewFile
    cases: tuple[ReviewCase, ...]

    @property
    def judges(self) -> dict[str, Judge]:
        """Key → judge, of all that are asked."""
        return {judge.key: judge for case in self.cases for judge in case.judges}

    def asked(self, day: date) -> list[Asked]:
        """Return what is to be judged on a day; what several cases share is there once."""
        repeats: dict[tuple[str, str], int] = {}
        items: dict[str, Item] = {}
        for case in self.cases:
            for item in case.texts.items:
                items[item.key] = item
                for judge in case.judges:
                    pair = judge.key, item.key
                    repeats[pair] = max(case.repeats, repeats.get(pair, 0))
            for item in case.fresh:
                items[item.key] = item
                pair = case.judge.key, item.key
                repeats[pair] = max(case.repeats, repeats.get(pair, 0))
        grouped: dict[tuple[str, int], list[Item]] = {}
        for (judge_key, item_key), times in repeats.items():
            grouped.setdefault((judge_key, times), []).append(items[item_key])
        judges, on = self.judges, day.isoformat()
        return [Asked(judges[key], some, times, on) for (key, times), some in grouped.items()]


def verdicts_of(judge: Judge) -> tuple[str, ...]:
    """Return the verdicts a judge decides between, of the best and worst score; none of scores."""
    lowest, highest = judge.score_range
    named = judge.verdict_of(highest), judge.verdict_of(lowest)
    return tuple(name for name in named if name is not None)


def load_review(path: Path) -> LoadedReview:
    """Read a review file, its judges and its texts.

    Raises `ConfigError` or `EvidenceError` naming the file, the key and what is wrong, before
    anything is asked.
    """
    file, nodes = load_review_file(path)
    cases = [
        _case(path.parent, file, reviewed, node)
        for reviewed, node in zip(file.reviews, nodes, strict=True)
    ]
    seen: set[tuple[str, str]] = set()
    for case, node in zip(cases, nodes, strict=True):
        if (case.judge.key, case.corpus) in seen:
            place = node.items["judge"].place
            raise place.problem("is reviewed on the same texts above", "Review it once.")
        seen.add((case.judge.key, case.corpus))
    return LoadedReview(path, file, tuple(cases))


def _case(folder: Path, file: ReviewFile, reviewed: Reviewed, node: Node) -> ReviewCase:
    judge = load_judge(folder / reviewed.judge)
    alternatives = _alternatives(folder, reviewed, node, judge)
    design = load_calibration(folder / reviewed.calibration) if reviewed.calibration else None
    if design is not None:
        items, repeats = load_originals(design, (judge, *alternatives)), design.repeats
        _check_calibration(design, items.texts, judge, node.items["calibration"].place)
        texts = with_people(changed_texts(items.texts, design), items)
    else:
        assert reviewed.items is not None
        named_by, repeats = NamedBy("the review file"), file.repeats
        items = read_item_file(folder / reviewed.items, reviewed.fields, named_by=named_by)
        people = reviewed.labels and read_labels(
            folder / reviewed.labels, reviewed.label_fields, in_file=True
        )
        items = items.with_labels(people or None, (judge, *alternatives))
        check_labels((judge, *alternatives), items)
        texts = with_people(Texts(items.texts), items)
    fresh: tuple[Item, ...] = ()
    if reviewed.fresh:
        named_by = NamedBy("the review file", "fresh_fields")
        answers = read_item_file(folder / reviewed.fresh, reviewed.fresh_fields, named_by=named_by)
        answers.check([judge])
        fresh = answers.texts
    labels = items.said(judge)
    scale = design.label_scale if design else None
    labelled = labelled_by_day(judge, items.texts, items.labels, file.time_zone, scale)
    return ReviewCase(
        judge, alternatives, reviewed.decision, texts, repeats, design, labels, labelled, fresh
    )


def _check_calibration(
    design: CalibrationDesign, originals: Sequence[Item], judge: Judge, place: Place
) -> None:
    if judge.judges_pairs:
        raise place.problem(
            "needs scores of single texts, and the judge compares pairs", "Give items instead."
        )
    if rewritings(originals, design):
        raise place.problem(
            f"has {design.name}, whose texts a model changes",
            "Use a calibration without a perturber, or give items instead.",
        )


def _alternatives(folder: Path, reviewed: Reviewed, node: Node, judge: Judge) -> tuple[Judge, ...]:
    """Read the alternatives; no two judges of a case may be the same, or have one name."""
    judges: list[Judge] = []
    nodes = node.items["alternatives"].entries if reviewed.alternatives else ()
    for given, entry in zip(reviewed.alternatives, nodes, strict=True):
        if given.judge is not None:
            other: Judge = load_judge(folder / given.judge)
        else:
            other = _changed(folder / reviewed.judge, entry.items["change"])
        _check(judge, (judge, *judges), other, entry)
        judges.append(other)
    return tuple(judges)


def _changed(base: Path, change: Node) -> Judge:
    """Read the judge of a file with some of its keys changed."""
    keys = read_tree(base).items
    name = f"{keys['name'].value}, other {' and '.join(change.items)}"[:_LONGEST_NAME]
    named = {"name": Node(name, change.place)}
    return judge_in(Node({**keys, **named, **change.items}, change.place))


def _check(judge: Judge, others: Sequence[Judge], new: Judge, node: Node) -> None:
    if new.key in {other.key for other in others}:
        raise node.place.problem("is a judge that stands above", "Name judges that differ.")
    if new.name in {other.name for other in others}:
        raise node.place.problem(
            f"is named {new.name!r}, as one above is", "Give it a name of its own."
        )
    if verdicts_of(new) != verdicts_of(judge):
        raise ConfigError(
            f"{node.place.file}, line {node.place.line}: judge {new.name!r} is of kind {new.kind} "
            f"and cannot be compared with {judge.name!r}, of kind {judge.kind}.",
            "Compare scores with scores, and verdicts with the same verdicts.",
        )
