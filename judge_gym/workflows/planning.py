"""What a sweep would ask, before it asks: LLM calls per workflow, and how many are done."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.bundling import Bundling
from judge_gym.design.swap_plan import MostDivergent, SwapPlan
from judge_gym.design.sweep import Sweep
from judge_gym.settings import settings
from judge_gym.store import tables as t
from judge_gym.store.rubrics import rubric_ids
from judge_gym.workflows.evidence import views_needed
from judge_gym.workflows.rubrics import request_key, requests_of
from judge_gym.workflows.sweeps import utility_model


@dataclass(frozen=True)
class PlanLine:
    """One kind of call. `at_most` counts first attempts; retries and re-asked rubrics add some."""

    workflow: str
    what: str
    provider: str
    at_most: int
    done: int

    @property
    def to_do(self) -> int:
        """Calls left; samples that were not scored need no probe, so some may never be made."""
        return max(0, self.at_most - self.done)


def plan_sweep(session: Session, sweep: Sweep) -> list[PlanLine]:
    """Return what the sweep asks at most and what of it is done, whatever the outcome.

    Done is what has its row, since that is not asked again: a failure on record, and a sample
    whose call was cleaned away, among it. A window that is not collected yet counts as full,
    and every judgement as scored.
    """
    experiments = list(sweep.experiments())
    utility = utility_model(settings(), sweep, experiments)
    documents = _documents(session, experiments)
    judgements: dict[str, dict[str, int]] = {
        "w3-scoring": defaultdict(int),
        "w4-swap": defaultdict(int),
        "w5-probe": defaultdict(int),
    }
    swaps = swapped_arms(experiments, sweep.swap)
    for experiment in experiments:
        bundle = resolve(experiment).of(Bundling).size
        items = documents[experiment.window.key] // bundle
        own = items * experiment.replicates
        swapped = own * swaps[experiment.key]
        provider = experiment.model.partition("/")[0]
        judgements["w3-scoring"][provider] += own
        judgements["w4-swap"][provider] += swapped
        # One sample in ten is probed twice.
        judgements["w5-probe"][provider] += round((own + swapped) * 1.1)
    names = {"w3-scoring": "judgements", "w4-swap": "swaps and shams", "w5-probe": "probes"}
    done = _done(session, experiments)
    return [
        *_view_lines(session, experiments, documents, utility),
        *_rubric_lines(session, experiments, sweep.swap, utility),
        *(
            PlanLine(workflow, names[workflow], provider, count, done[workflow, provider])
            for workflow, by_provider in judgements.items()
            for provider, count in sorted(by_provider.items())
            if count
        ),
    ]


def swapped_arms(experiments: Sequence[Experiment], plan: SwapPlan | None) -> Mapping[str, int]:
    """Return experiment key → how many swap and sham arms it gets at most."""
    arms: dict[str, int] = defaultdict(int)
    if plan is None:
        return arms
    own = [one for one in experiments if one.rubric.kind == "own"]
    groups: dict[str, list[Experiment]] = defaultdict(list)
    for one in own:
        groups[one.peers_key].append(one)
    for group in groups.values():
        for one in group:
            if isinstance(plan.pairs, MostDivergent):
                rivals = min(len(group) - 1, plan.pairs.most_divergent)
            elif plan.pairs == "all":
                rivals = len(group) - 1
            else:
                rivals = sum(judge in (one.model, one.family) for judge, _ in plan.pairs)
            arms[one.key] = rivals + plan.sham
    return arms


def _documents(session: Session, experiments: Sequence[Experiment]) -> dict[str, int]:
    limits = {one.window.key: one.window.max_documents for one in experiments}
    collected = session.execute(
        sa.select(t.Window.key, sa.func.count(t.Document.id))
        .outerjoin(t.Document, t.Document.window_id == t.Window.id)
        .where(t.Window.key.in_(limits), t.Window.collected_at.is_not(None))
        .group_by(t.Window.key)
    )
    return {**limits, **dict(collected.all())}


def _view_lines(
    session: Session,
    experiments: Sequence[Experiment],
    documents: Mapping[str, int],
    utility: str,
) -> list[PlanLine]:
    by_window: dict[str, list[Experiment]] = defaultdict(list)
    for one in experiments:
        by_window[one.window.key].append(one)
    free = {"cleaned"} if settings().cleaner == "library" else set()
    calls = sum(
        documents[key] * len([view for view in views_needed(group) if view not in free])
        for key, group in by_window.items()
    )
    made = sa.select(sa.func.count()).select_from(t.View).join(t.Document).join(t.Window)
    done = session.scalar(made.where(t.Window.key.in_(by_window), t.View.view.not_in(free))) or 0
    line = PlanLine("w1-evidence", "views", utility.partition("/")[0], calls, done)
    return [line] if calls else []


def _rubric_lines(
    session: Session, experiments: Sequence[Experiment], plan: SwapPlan | None, utility: str
) -> list[PlanLine]:
    """One call to write each rubric, one to rate it."""
    sham = plan is not None and plan.sham
    owners = {
        request_key(request): request.owner_model.partition("/")[0]
        for variant in ((False, True) if sham else (False,))
        for request in requests_of(experiments, sham=variant)
    }
    lines = []
    for provider in sorted(set(owners.values())):
        keys = [key for key, owner in owners.items() if owner == provider]
        done = len(rubric_ids(session, keys))
        lines.append(PlanLine("w2-rubric", "rubrics", provider, len(keys), done))
    if owners:
        done = len(rubric_ids(session, owners))
        provider = utility.partition("/")[0]
        lines.append(PlanLine("w2-rubric", "marks", provider, len(owners), done))
    return lines


def _done(session: Session, experiments: Sequence[Experiment]) -> Mapping[tuple[str, str], int]:
    """Return (workflow, provider) → samples and probes of these experiments, of any outcome."""
    scoring = sa.case((t.Arm.arm == "own", "w3-scoring"), else_="w4-swap")
    provider = sa.func.split_part(t.Experiment.model, "/", 1)
    samples = (
        sa.select(scoring, provider, sa.func.count())
        .select_from(t.Sample)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .where(t.Experiment.key.in_([one.key for one in experiments]))
        .group_by(scoring, provider)
    )
    probes = samples.join(t.Probe, t.Probe.sample_id == t.Sample.id)
    done: defaultdict[tuple[str, str], int] = defaultdict(int)
    for workflow, name, count in session.execute(samples):
        done[workflow, name] = count
    for _, name, count in session.execute(probes):
        done["w5-probe", name] += count
    return done
