"""What a sweep plans to compare, with the figures its power is about and what they cost in calls.

From the sweep file alone: nothing is asked, and no database is read.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from judge_gym.counting import counted
from judge_gym.design.experiment import Experiment
from judge_gym.design.swap_plan import MostDivergent
from judge_gym.design.sweep import Sweep
from judge_gym.errors import ConfigError
from judge_gym.lab.evidence import views_needed
from judge_gym.metrics.hypotheses_list import HYPOTHESES, VALIDITY_CHECKS, Hypothesis
from judge_gym.metrics.power_study_claims import PLANTABLE
from judge_gym.metrics.power_study_truths import StudyDesign
from judge_gym.settings import settings

_BY_KEY = {one.key: one for one in (*HYPOTHESES, *VALIDITY_CHECKS)}
WITHOUT_PLAN = ("H1", "H2", "H3")
"""The hypotheses that are asked where a sweep has no plan."""
# One sample in ten is probed twice.
CALLS_A_JUDGEMENT = 2.1


@dataclass(frozen=True)
class Comparison:
    """Figures of one hypothesis in one scope.

    `families` numbers the family of each judge. `figures` are decided alike: one across judges,
    or one for each judge. An item costs `item_calls`, each of its replicates `judgements` with
    their probes.
    """

    hypothesis: Hypothesis
    margin: float
    scope: tuple[tuple[str, str], ...]
    design: StudyDesign
    families: tuple[int, ...]
    figures: int
    item_calls: int
    judgements: int
    primary: bool

    @property
    def about(self) -> str:
        """The scope in words."""
        told = dict(self.scope)
        rival = f" against {told['rival']}" if "rival" in told else ""
        return ", ".join(value for name, value in told.items() if name != "rival") + rival

    @property
    def who(self) -> str:
        """Who judges, in words."""
        if self.hypothesis.key == "H3":
            return "one judge under its own, the rival's and a sham rubric"
        return f"{counted(len(self.families), 'judge')}"

    def calls(self, items: int, replicates: int) -> int:
        """Return the calls that so many items and replicates take, rubrics apart."""
        return round(items * (self.item_calls + replicates * self.judgements * CALLS_A_JUDGEMENT))


def comparisons(sweep: Sweep) -> list[Comparison]:
    """Return what a sweep compares: its plan's primary outcomes, or H1 to H3 without a plan.

    Raises `ConfigError` when there is nothing among them whose power can be simulated.
    """
    plan = sweep.plan
    asked = [_BY_KEY[key] for key in (plan.margin_of if plan else WITHOUT_PLAN)]
    experiments = list(sweep.experiments())
    found = [
        one
        for hypothesis in asked
        if hypothesis.key in PLANTABLE
        for one in _of_hypothesis(sweep, hypothesis, experiments)
        if plan is None or one.primary
    ]
    if not found:
        needs = (
            "; ".join(f"{one.key} needs {one.needs}" for one in asked if one.key in PLANTABLE)
            or f"the plan asks none of {', '.join(PLANTABLE)}"
        )
        which = "no primary outcome" if plan else "no comparison"
        raise ConfigError(
            f"{sweep.path}: there is {which} whose power can be simulated.", f"{needs}."
        )
    return found


def not_simulated(sweep: Sweep) -> list[str]:
    """Return the hypotheses of the plan whose power is not known by simulation."""
    return [key for key in (sweep.plan.margin_of if sweep.plan else ()) if key not in PLANTABLE]


def level(found: Sequence[Comparison], one: Comparison, alpha: float) -> float:
    """Return the level that a figure is tested at: primary ones at the strictest step of Holm."""
    members = sum(other.figures for other in found if other.primary)
    return alpha / members if one.primary else alpha


def _of_hypothesis(
    sweep: Sweep, hypothesis: Hypothesis, experiments: Sequence[Experiment]
) -> Iterator[Comparison]:
    groups: dict[str, list[Experiment]] = defaultdict(list)
    for one in experiments:
        # The simulated verdicts are single stages.
        if one.task_type in hypothesis.tasks and one.scoring_method != "subset":
            groups[one.peers_key].append(one)
    for group in groups.values():
        if hypothesis.key == "H3":
            yield from _swaps(sweep, hypothesis, group)
        else:
            yield from _across(sweep, hypothesis, group)


def _across(
    sweep: Sweep, hypothesis: Hypothesis, group: Sequence[Experiment]
) -> Iterator[Comparison]:
    names = sorted({one.family for one in group})
    by_judge = hypothesis.key == "H2"
    if group[0].rubric.kind == "own" or len(group if by_judge else names) < 2:
        return
    yield _comparison(
        sweep, hypothesis, group, {"concept": group[0].concept},
        families=tuple(names.index(one.family) for one in group),
        figures=len(group) if by_judge else 1, judgements=len(group),
    )  # fmt: skip


def _swaps(
    sweep: Sweep, hypothesis: Hypothesis, group: Sequence[Experiment]
) -> Iterator[Comparison]:
    """Yield a comparison of each judge's own, swap and sham arm; of simulated judges two do."""
    plan = sweep.swap
    if plan is None or not plan.sham or group[0].rubric.kind != "own":
        return
    concept = group[0].concept
    if isinstance(plan.pairs, MostDivergent):
        yield _comparison(
            sweep, hypothesis, group, {"concept": concept, "judge": "each of the most divergent"},
            families=(0, 1), figures=plan.pairs.most_divergent, judgements=3,
            kept=1 - plan.pairs.held_out,
        )  # fmt: skip
        return
    for judge in group:
        for rival in group:
            names = {(a, b) for a in (judge.model, judge.family)
                     for b in (rival.model, rival.family)}  # fmt: skip
            if judge is not rival and (plan.pairs == "all" or names & set(plan.pairs)):
                scope = {"concept": concept, "judge": judge.model, "rival": rival.model}
                yield _comparison(
                    sweep, hypothesis, [judge], scope,
                    families=(0, 1), figures=1, judgements=3,
                )  # fmt: skip


def _comparison(
    sweep: Sweep,
    hypothesis: Hypothesis,
    group: Sequence[Experiment],
    scope: dict[str, str],
    *,
    families: tuple[int, ...],
    figures: int,
    judgements: int,
    kept: float = 1.0,
) -> Comparison:
    first, plan = group[0], sweep.plan
    by_library = ["cleaned"] if settings().cleaner == "library" else []
    views = [view for view in views_needed(group) if view not in by_library]
    items = int(first.window.max_documents // first.bundle_size * kept)
    design = StudyDesign(max(1, items), min(one.replicates for one in group), first.scale_size)
    margin = plan.margin_of.get(hypothesis.key, hypothesis.margin) if plan else hypothesis.margin
    told = {**scope, "country": first.country}
    return Comparison(
        hypothesis, margin, tuple(scope.items()), design, families, figures,
        item_calls=len(views) * first.bundle_size, judgements=judgements,
        primary=plan is not None and plan.is_primary(hypothesis.key, told),
    )  # fmt: skip
