"""What simulated judges were shown, as the simulator's model sees it: families and cases.

Read from the stored texts, never through prompts or samples; what follows from it is in
`recoveries`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy.orm import Session

from judge_gym.analysis.data import Arm, Judge, SweepData
from judge_gym.analysis.groups import comparison_groups
from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.view import View
from judge_gym.planted.families import Family, family_named, planted
from judge_gym.planted.judging import Case, Display, case_of
from judge_gym.report.scopes import SUBJECTS, Scope
from judge_gym.seeds import canonical_json
from judge_gym.store.samples import shown_documents
from judge_gym.store.sweep_data import items_of_arms, scored_by_arm

Counts = Mapping[int, int]
"""Item id → scored samples."""


@dataclass(frozen=True, eq=False)
class PlantedArm:
    """An arm's rubric and what was scored under it."""

    kind: str
    owner: str
    own_words: bool
    """Whether the rubric is in the words of the judge's own family."""
    scored: Counts


@dataclass(frozen=True, eq=False)
class PlantedJudge:
    """A judge at one point, with the parameters of its family and the cases it was given."""

    experiment: Experiment
    family_name: str
    family: Family
    cases: Mapping[int, Case]
    own: PlantedArm
    others: tuple[PlantedArm, ...]

    @property
    def display(self) -> Display:
        """What the presentation fixes: the weakest stage first, or lettered A."""
        return Display(
            first=None if self.experiment.shuffle_order else 0,
            lettered_a=None if self.experiment.randomize_labels else 0,
        )

    @property
    def is_subset(self) -> bool:
        """Whether verdicts name sets of stages."""
        return self.experiment.scoring_method == "subset"


@dataclass(frozen=True, eq=False)
class PlantedGroup:
    """The judges of one comparison group."""

    scope: Scope
    judges: tuple[PlantedJudge, ...]

    @cached_property
    def present(self) -> list[PlantedJudge]:
        """The judges with a scored sample."""
        return [judge for judge in self.judges if judge.own.scored]

    @cached_property
    def common(self) -> list[int]:
        """The items that every present judge scored: figures are compared on these."""
        scored = [set(judge.own.scored) for judge in self.present]
        return sorted(set.intersection(*scored)) if scored else []


@dataclass(frozen=True, eq=False)
class PlantedSweep:
    """The groups of a sweep, found by the scopes of result rows."""

    groups: Mapping[str, PlantedGroup]

    @property
    def judges(self) -> list[PlantedJudge]:
        """Every judge of every group."""
        return [judge for group in self.groups.values() for judge in group.judges]

    def group(self, scope: Scope) -> PlantedGroup | None:
        """Return the group a figure is of; None when its scope is not that of a group."""
        return self.groups.get(_key({k: v for k, v in scope.items() if k not in SUBJECTS}))

    def judge(self, scope: Scope) -> PlantedJudge | None:
        """Return the judge a figure is of."""
        group = self.group(scope)
        judges = group.judges if group else ()
        return next((one for one in judges if one.experiment.model == scope.get("judge")), None)


def read_planted(session: Session, data: SweepData) -> PlantedSweep:
    """Read what the judges of a simulated sweep were shown, and how much of it they scored.

    Groups with a judge whose draws the closed forms do not describe (another temperature or
    top_p than 1) are left out.
    """
    groups = [
        group
        for group in comparison_groups(data)
        if all((one.experiment.temperature, one.experiment.top_p) == (1, 1) for one in group.judges)
    ]
    arms = [arm.id for group in groups for judge in group.judges for arm in judge.arms]
    samples = _Samples(scored_by_arm(session, arms), items_of_arms(session, arms))
    texts = _Texts(session)
    made: dict[str, PlantedGroup] = {}
    for group in groups:
        planted_judges = [_judge(one, samples, texts) for one in group.judges]
        if None not in planted_judges:
            members = tuple(one for one in planted_judges if one is not None)
            made[_key(group.scope)] = PlantedGroup(group.scope, members)
    return PlantedSweep(made)


class _Texts:
    """The documents of items as a view shows them, each view read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._read: dict[tuple[int, View], tuple[str, ...]] = {}

    def of(self, items: Iterable[int], view: View) -> dict[int, tuple[str, ...]]:
        missing = [item for item in items if (item, view) not in self._read]
        for item, documents in shown_documents(self._session, missing, view.name).items():
            self._read[item, view] = tuple(
                f"{one.title}\n\n{one.text}".strip() if view.shows_title else one.text.strip()
                for one in documents
            )
        return {item: self._read[item, view] for item in items if (item, view) in self._read}


@dataclass(frozen=True, eq=False)
class _Samples:
    """What arms were to judge, and how often they scored it."""

    scored: Mapping[int, Counts]
    items: Mapping[int, Sequence[int]]


def _judge(judge: Judge, samples: _Samples, texts: _Texts) -> PlantedJudge | None:
    """Return the judge with its cases; None when no family answers for it or nothing is planned."""
    experiment = judge.experiment
    name, own = family_named(experiment.model), judge.of_kind("own")
    if name is None or not own:
        return None
    shown = texts.of(samples.items.get(own[0].id, ()), resolve(experiment).of(View))
    return PlantedJudge(
        experiment=experiment,
        family_name=name,
        family=planted()[name],
        cases={
            item: case_of(documents, experiment.concept, experiment.scale_size)
            for item, documents in shown.items()
        },
        own=_arm(name, own[0], samples),
        others=tuple(_arm(name, arm, samples) for arm in judge.arms if arm.kind != "own"),
    )


def _arm(family: str, arm: Arm, samples: _Samples) -> PlantedArm:
    own_words = bool(arm.rubric_owner) and family_named(arm.rubric_owner) == family
    return PlantedArm(arm.kind, arm.rubric_owner, own_words, samples.scored.get(arm.id, {}))


def _key(scope: Scope) -> str:
    return canonical_json(dict(scope))
