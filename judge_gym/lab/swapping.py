"""W4: the same items under a rival's rubric, and under the judge's own drawn again (sham).

The sham tells "another rubric" apart from "a rival's": it is one more draw of the same prompt, at
the temperature at which the judge judges. Only judges with a rubric of their own are swapped: under
a common rubric there is nothing to swap.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.design.plans import MostDivergent, SwapPlan
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.metrics.cells import Verdicts
from judge_gym.metrics.polarization import pair_matrix
from judge_gym.seeds import generator
from judge_gym.store.experiments import experiments_by_tag, rubric_keys_of_other_recipes
from judge_gym.store.items import freeze_items, frozen_items
from judge_gym.store.progress import not_scored, refused_rubrics
from judge_gym.store.rubrics import (
    StoredRubric,
    add_arm,
    rubric_by_key,
    rubrics_of_rivals,
    sham_key,
)
from judge_gym.store.samples import Missing, missing_samples, own_verdicts

Experiments = dict[int, Experiment]


@dataclass(frozen=True)
class _Swap:
    """One judge's experiment under the rubric of `rival` (a model or a family)."""

    experiment_id: int
    rival: str
    held_out: tuple[int, ...] = ()


def swappable(experiments: Experiments) -> Experiments:
    """Return the experiments whose judge wrote its own rubric."""
    return {
        key: experiment
        for key, experiment in experiments.items()
        if experiment.rubric.kind == "own"
    }


def plan_swaps(
    session: Session, tags: Sequence[str], plan: SwapPlan | None, sweep: str | None = None
) -> Missing:
    """Plan the swap and sham arms, unless `plan` is None, and return what is missing of them.

    `sweep` limits judgements, made and missing, to the replicates that its file declares. What
    applies, or would apply, a rubric that a person has refused is left out. Raises `ConfigError`
    when a pair names a judge without an experiment here, or a rival whose rubric is missing or
    ambiguous, listing the candidates.
    """
    experiments = swappable(experiments_by_tag(session, tags))
    refused = refused_rubrics(session, list(experiments))
    left_out = not_scored(refused)
    if plan is not None:
        _add_arms(session, experiments, left_out, plan, sweep)
    judged = [experiment_id for experiment_id in experiments if experiment_id not in left_out]
    return missing_samples(session, judged, ["swap", "sham"], sweep)


def _add_arms(
    session: Session,
    experiments: Experiments,
    left_out: Collection[int],
    plan: SwapPlan,
    sweep: str | None,
) -> None:
    """Plan the arms of all but the experiments `left_out`, whose rubrics were refused."""
    refused = [experiments[experiment_id] for experiment_id in left_out]
    for experiment_id, experiment in experiments.items():
        freeze_items(session, experiment_id, experiment)
    for swap in _swaps(session, experiments, plan, sweep):
        experiment = experiments[swap.experiment_id]
        if swap.experiment_id in left_out or _is_refused(swap.rival, experiment, refused):
            continue
        others = rubric_keys_of_other_recipes(session, swap.experiment_id)
        rubric = _rival_rubric(session, experiment, swap.rival, others)
        add_arm(session, swap.experiment_id, "swap", rubric, swap.held_out)
    if plan.sham:
        for experiment_id, experiment in experiments.items():
            if experiment_id not in left_out:
                _add_sham(session, experiment_id, experiment)


def _is_refused(rival: str, experiment: Experiment, refused: Iterable[Experiment]) -> bool:
    """Return whether a person has refused the rubric of a rival, for what an experiment judges."""
    return any(
        rival in (one.model, one.family) and one.peers_key == experiment.peers_key
        for one in refused
    )


def _swaps(
    session: Session, experiments: Experiments, plan: SwapPlan, sweep: str | None
) -> Iterator[_Swap]:
    if isinstance(plan.pairs, MostDivergent):
        yield from _most_divergent(session, experiments, plan.pairs, sweep)
    elif plan.pairs == "all":
        for group in _groups(experiments):
            for judge, rival in permutations(group, 2):
                yield _Swap(judge, experiments[rival].model)
    else:
        for judge_name, rival_name in plan.pairs:
            yield from _named(experiments, judge_name, rival_name)


def _named(experiments: Experiments, judge: str, rival: str) -> Iterator[_Swap]:
    matching = [
        key
        for key, experiment in experiments.items()
        # A family may hold the rival itself, and its own rubric is no rival's.
        if judge in (experiment.model, experiment.family) and experiment.model != rival
    ]
    if not matching:
        models = (
            ", ".join(sorted({experiment.model for experiment in experiments.values()})) or "none"
        )
        raise ConfigError(
            f"Swap pair [{judge}, {rival}]: no experiment with an own rubric has judge {judge!r}.",
            f"Judges with an own rubric here: {models}.",
        )
    for experiment_id in matching:
        yield _Swap(experiment_id, rival)


def _rival_rubric(
    session: Session, experiment: Experiment, rival: str, left_out: Collection[str]
) -> StoredRubric:
    candidates = rubrics_of_rivals(session, experiment, left_out)
    exact = [candidate for candidate in candidates if candidate.owner_model == rival]
    matches = exact or [candidate for candidate in candidates if candidate.owner_family == rival]
    if len(matches) == 1:
        return matches[0]
    listed = ", ".join(
        f"{candidate.owner_model} (family {candidate.owner_family})" for candidate in candidates
    )
    fault = "is ambiguous" if matches else "has no usable rubric"
    raise ConfigError(
        f"Swap of {experiment.name}: rival {rival!r} {fault} for {experiment.concept!r}, "
        f"{experiment.country}, {experiment.scale_size} stages.",
        f"Candidates: {listed or 'none; run w2-rubric first'}.",
    )


def _add_sham(session: Session, experiment_id: int, experiment: Experiment) -> None:
    rubric = rubric_by_key(session, sham_key(experiment))
    if rubric is None or rubric.status != "ready":
        why = f"{rubric.status}: {rubric.failure}" if rubric else "not written yet"
        raise JudgeGymError(
            f"Sham swap of {experiment.name}: the judge's second rubric is {why}.",
            "Run w2-rubric with sham rubrics, or set sham: false.",
        )
    add_arm(session, experiment_id, "sham", rubric)


def _groups(experiments: Experiments) -> list[list[int]]:
    """Return the experiments that differ only in the judge, group by group."""
    groups: dict[str, list[int]] = defaultdict(list)
    for experiment_id, experiment in experiments.items():
        groups[experiment.peers_key].append(experiment_id)
    return [group for group in groups.values() if len(group) > 1]


def _most_divergent(
    session: Session, experiments: Experiments, plan: MostDivergent, sweep: str | None
) -> Iterator[_Swap]:
    """Choose pairs on held-out items and swap on the others, so that chance is not chosen."""
    for group in _groups(experiments):
        held_out = _held_out(session, group[0], experiments[group[0]], plan.held_out)
        distance = _distances(session, group, held_out, experiments[group[0]].scale_size, sweep)
        pairs = sorted(
            ((i, j) for i in range(len(group)) for j in range(i)),
            key=lambda pair: -distance[pair],
        )
        for i, j in pairs[: plan.most_divergent]:
            for judge, rival in ((group[i], group[j]), (group[j], group[i])):
                yield _Swap(judge, experiments[rival].model, held_out)


def _held_out(
    session: Session, experiment_id: int, experiment: Experiment, share: float
) -> tuple[int, ...]:
    items = frozen_items(session, experiment_id)
    if len(items) < 2:
        raise JudgeGymError(
            "The most divergent pairs are chosen on some items and swapped on the others, and "
            f"{experiment.name} has {len(items)}.",
            "Name the pairs, or give the window more documents.",
        )
    count = max(1, min(len(items) - 1, round(share * len(items))))
    draw = generator("held out", experiment.window.key, experiment.documents_together, share)
    return tuple(sorted(draw.sample(items, count)))


def _distances(
    session: Session,
    group: Sequence[int],
    items: Sequence[int],
    stages: int,
    sweep: str | None,
) -> np.ndarray:
    rows = own_verdicts(session, group, items, sweep)
    judge = {experiment_id: number for number, experiment_id in enumerate(group)}
    item = {item_id: number for number, item_id in enumerate(items)}
    verdicts = Verdicts(
        judge=np.array([judge[row.experiment_id] for row in rows], dtype=np.int64),
        item=np.array([item[row.item_id] for row in rows], dtype=np.int64),
        stages=np.array([row.stages for row in rows], dtype=np.int64),
        n_judges=len(group),
        n_items=len(items),
        n_stages=stages,
    )
    try:
        return pair_matrix(verdicts)
    except ValueError as error:
        raise JudgeGymError(
            f"The most divergent pairs cannot be chosen: on the held-out items, {error}.",
            "Run w3-scoring first, or raise held_out.",
        ) from None
