"""What may replace a judge: itself with examples, with a proposed rubric, or with both."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from judge_gym.counting import counted
from judge_gym.errors import ConfigError
from judge_gym.evidence.normal_text import normal_line
from judge_gym.judges.aligning.splitting import grade_of
from judge_gym.judges.calibrating.assessing import known_points, points_of
from judge_gym.judges.calibrating.comparing import near_of
from judge_gym.judges.item_files import ItemFile
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.people import WHOLE
from judge_gym.judges.rubric_judge import RubricJudge
from judge_gym.metrics.points import HIGHEST
from judge_gym.records.items import Item
from judge_gym.records.judgements import JudgeResult
from judge_gym.seeds import digest

_LONGEST_NOTE = 500
_LONGEST_EXAMPLE = 50_000
_FENCE = "<<<"
_EXAMPLE_IN_PROMPT = "{examples}"


@dataclass(frozen=True)
class AlignmentCandidate:
    """A judge that may replace the judge before; without `judge`, `failure` says why not."""

    name: str
    judge: ModelJudge | None
    failure: str = ""
    is_rubric: bool = False
    """Whether it has a proposed rubric and no examples."""
    is_pending: bool = False
    """Whether it is still to be proposed."""


@dataclass(frozen=True)
class Trained:
    """A training text that was judged: its label and the judge's mean score, in points of 100."""

    item: Item
    label: float
    judged: float
    marks: Mapping[str, float]
    """Criterion → people's mean mark, on the judge's scale; empty without marks."""
    own_marks: Mapping[str, float]
    """Criterion → the judge's mean mark."""
    reason: str
    """The judge's reason."""
    notes: str
    """People's notes, on one line."""
    grade: str
    """Its label; see `grade_of`."""

    def missed(self, near: float) -> bool:
        """Whether the judge's score lies further than `near` points from the label."""
        return abs(self.label - self.judged) > near


def trained(
    judge: ModelJudge,
    items: ItemFile,
    texts: Sequence[Item],
    results: Mapping[str, Sequence[JudgeResult]],
) -> list[Trained]:
    """Return the training texts that have a score, the furthest from its label first."""
    notes, marks = _notes(items), _marks(judge, items)
    found = []
    for item in texts:
        own = results.get(item.key, ())
        if not (points := points_of(judge, own)):
            continue
        found.append(
            Trained(
                item,
                known_points(judge, item),
                float(np.mean(points)),
                marks.get(item.key, {}),
                _own_marks(own),
                next((result.reason for result in own if result.score is not None), ""),
                notes.get(item.key, ""),
                grade_of(judge, item),
            )
        )
    return sorted(found, key=lambda one: (-abs(one.label - one.judged), one.item.key))


def with_examples(judge: ModelJudge, texts: Sequence[Trained], number: int) -> AlignmentCandidate:
    """Return a judge with `number` examples of these training texts after its own.

    Half of them or more are mistakes; labels are as balanced as mistakes allow.
    """
    name = counted(number, "example")
    if not any(one.missed(near_of(judge)) for one in texts):
        return AlignmentCandidate(name, None, "the judge makes no mistake in training")
    usable = [(one, entry) for one in texts if (entry := _example(judge, one)) is not None]
    if not usable:
        criteria = ", ".join(judge.parts)
        why = f"no training text has labels of people for each criterion ({criteria})"
        return AlignmentCandidate(name, None, why)
    entries = dict(zip((one.item.key for one, _ in usable), (e for _, e in usable), strict=True))
    chosen = choose([one for one, _ in usable], number, near_of(judge))
    name = counted(len(chosen), "example")
    # In no order of labels or mistakes, which a model might follow.
    ordered = sorted(chosen, key=lambda one: digest("example order", one.item.key))
    config = _config(judge)
    own = config.get("examples", [])
    if judge.prompt is not None and _EXAMPLE_IN_PROMPT not in judge.prompt:
        return AlignmentCandidate(
            name, None, f"the judge's own prompt leaves out {_EXAMPLE_IN_PROMPT}"
        )
    changed = {"examples": [*own, *(entries[one.item.key] for one in ordered)]}
    return _built(name, judge, changed)


def choose(texts: Sequence[Trained], number: int, near: float) -> list[Trained]:
    """Return `number` of these texts, fewer if there are fewer; the furthest misses first.

    Mistakes and right ones in turn, each time of the label that was taken least.
    """
    sources = [
        [one for one in texts if one.missed(near)],
        sorted(
            (one for one in texts if not one.missed(near)),
            key=lambda one: digest("right example", one.item.key),
        ),
    ]
    chosen: list[Trained] = []
    grades: Counter[str] = Counter()
    while len(chosen) < number and any(sources):
        turn = len(chosen) % 2
        source = sources[turn] or sources[1 - turn]
        best = min(source, key=lambda one: grades[one.grade])  # the first of those taken least
        source.remove(best)
        chosen.append(best)
        grades[best.grade] += 1
    return chosen


def with_rubric(name: str, judge: ModelJudge, proposed: Mapping[str, Any]) -> AlignmentCandidate:
    """Return the judge with a proposed task and criteria, or why the proposal cannot be used.

    Names of criteria and verdicts, the scale and all else stay.
    """
    expected = proposal_keys(judge)
    if set(proposed) != set(expected):
        listed = ", ".join(sorted(map(str, proposed))) or "nothing"
        return AlignmentCandidate(
            name, None, f"it has {listed}, not {', '.join(expected)}"[:_LONGEST_NOTE]
        )
    if _FENCE in str(proposed):
        return AlignmentCandidate(name, None, f"it has {_FENCE}, which marks texts from outside")
    changed: dict[str, Any] = {key: proposed[key] for key in expected if key in ("task", "prompt")}
    config = _config(judge)
    listed = expected[1]
    given, names = proposed[listed], [entry["name"] for entry in config[listed]]
    if not isinstance(given, dict) or set(given) != set(names):
        return AlignmentCandidate(name, None, f"its {listed} are not {', '.join(names)}")
    described = [
        given[one] if isinstance(given[one], dict) else {"description": given[one]} for one in names
    ]
    if any(set(one) - {"description", "grades"} for one in described):
        return AlignmentCandidate(name, None, f"its {listed} have more than description and grades")
    changed[listed] = [
        {key: value for key, value in entry.items() if key != "grades"} | one
        for entry, one in zip(config[listed], described, strict=True)
    ]
    return replace(_built(name, judge, changed), is_rubric=True)


def proposal_keys(judge: ModelJudge) -> tuple[str, ...]:
    """Return the keys of a proposal for this kind of judge: task, what is listed, own prompt."""
    own = ("prompt",) if judge.prompt is not None else ()
    if isinstance(judge, RubricJudge):
        return ("task", "criteria", *own)
    return ("task", "verdicts", *own)


def _built(name: str, judge: ModelJudge, changed: Mapping[str, Any]) -> AlignmentCandidate:
    config = {**_config(judge), **changed, "name": judge.name, "budget": None}
    try:
        built = type(judge).model_validate(config)
    except (ValidationError, ConfigError) as error:
        return AlignmentCandidate(name, None, _reason(error))
    if built.key == judge.key:
        return AlignmentCandidate(name, None, "it is the judge before")
    return AlignmentCandidate(name, built)


def _reason(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return normal_line(str(error), _LONGEST_NOTE)
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return normal_line(f"{where}: {first['msg']}" if where else first["msg"], _LONGEST_NOTE)


def _config(judge: ModelJudge) -> dict[str, Any]:
    return judge.model_dump(mode="json", exclude={"gate", "certify", "provenance"})


def _example(judge: ModelJudge, one: Trained) -> dict[str, Any] | None:
    """Return a training text as an example of this kind of judge; None where labels lack marks."""
    if max(map(len, one.item.shown)) > _LONGEST_EXAMPLE:
        return None
    entry = {"text": one.item.text, "context": one.item.context, "reason": one.notes}
    if isinstance(judge, RubricJudge):
        marks = one.marks
        if not marks and len(judge.parts) == 1:
            marks = {judge.parts[0]: _on_scale(judge, one.label)}
        if set(marks) != set(judge.parts):
            return None
        return entry | {"scores": {part: _step(judge, mark) for part, mark in marks.items()}}
    return entry | {"decision": one.grade}


def _on_scale(judge: ModelJudge, points: float) -> float:
    lowest, highest = judge.score_range
    return lowest + (highest - lowest) * points / HIGHEST


def _step(judge: RubricJudge, mark: float) -> float:
    """Return a mean of marks as a mark that the judge may give."""
    named = judge.scale.anchors or any(criterion.grades for criterion in judge.criteria)
    return float(round(mark)) if named else round(mark, 1)


def _own_marks(results: Sequence[JudgeResult]) -> dict[str, float]:
    given: dict[str, list[float]] = defaultdict(list)
    for result in results:
        for part, mark in result.subscores.items():
            given[part].append(mark)
    return {part: float(np.mean(marks)) for part, marks in given.items()}


def _marks(judge: ModelJudge, items: ItemFile) -> dict[str, dict[str, float]]:
    """Return item key → criterion → people's mean mark, on the judge's scale."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    people = items.people
    for criterion in people.criteria if people else ():
        if people is None or criterion == WHOLE:
            continue
        points = people.reference_points(criterion)
        for item, at in zip(people.items, points, strict=True):
            if not np.isnan(at):
                found[item.key][criterion] = _on_scale(judge, float(at))
    return found


def _notes(items: ItemFile) -> dict[str, str]:
    """Return item key → people's notes of the text as it is now, on one line."""
    by_name = {item.id: item.key for item in items.items}
    found: dict[str, list[str]] = defaultdict(list)
    for row in items.labels.rows if items.labels else ():
        key = by_name.get(row.item, row.item)
        if row.note and row.item_key in ("", key) and row.note not in found[key]:
            found[key].append(row.note)
    return {key: normal_line(" ".join(notes), _LONGEST_NOTE) for key, notes in found.items()}
