"""What an alignment will ask: judgements, proposals and their cost, before any call."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import Spender
from judge_gym.asking.estimating import UsageEstimate
from judge_gym.judges.aligning.candidates import AlignmentCandidate, Trained, trained, with_examples
from judge_gym.judges.aligning.loading import LoadedAlignment, examples_of, proposals_of
from judge_gym.judges.aligning.splitting import LabelUse, digest_of
from judge_gym.judges.approving import plan_study
from judge_gym.judges.calibrating.assessing import known_points
from judge_gym.judges.calibrating.judging import Asked, results_of
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.lab.approving import SpendingLine, SpendingPlan
from judge_gym.records.items import Item
from judge_gym.records.judgements import JudgeResult
from judge_gym.runtime import Runtime
from judge_gym.store import alignments as store


@dataclass(frozen=True)
class AlignmentPlan:
    """What an alignment is expected to need; stored results cost nothing.

    Candidates that cannot be made yet are planned as long as the judge before, proposals on
    stand-ins.
    """

    judgings: tuple[Asked, ...]
    proposals: tuple[int, UsageEstimate] | None
    budget: Spender


def plan(runtime: Runtime, loaded: LoadedAlignment) -> AlignmentPlan:
    """Return what an alignment needs; writes nothing but judges and texts that are new."""
    judge, design, parts = loaded.judge, loaded.design, loaded.parts
    training, development, test = (parts.texts[part] for part in LabelUse)
    with runtime.session() as session:
        stored = results_of(session, judge, [*training, *development], design.repeats)
    texts = trained(judge, loaded.items, training, stored)
    done = all(len(stored[item.key]) >= design.repeats for item in training)
    if not done:
        texts = [_stand_in(judge, loaded, item) for item in training]
    proposals = proposals_of(loaded, texts)
    candidates = examples_of(loaded, texts)
    if proposals is not None:
        proposed = proposals.read(runtime)
        candidates += [_as_long(judge, one.name) if one.is_pending else one for one in proposed]
    made = [one for one in candidates if one.judge is not None]
    keys = tuple(one.judge.key for one in made if one.judge)
    judgings = [Asked(judge, [*training, *development, *test], design.repeats)]
    for one in made:
        assert one.judge is not None
        named = one.judge.model_copy(update={"name": f"{judge.name}, {one.name}", "budget": None})
        judgings.append(Asked(named, development, design.repeats))
    if made:
        last = _last_judge(runtime, loaded, texts, made)
        both = development if proposals is not None and design.candidates.examples else ()
        named = last.model_copy(update={"name": f"{judge.name}, chosen (at most)", "budget": None})
        judgings.append(Asked(named, [*both, *test], design.repeats))
    proposing = None if proposals is None else proposals.plan(runtime)
    spender = loaded.spender([*keys, *([proposals.key] if proposals else [])])
    return AlignmentPlan(tuple(judgings), proposing, spender)


def _last_judge(
    runtime: Runtime,
    loaded: LoadedAlignment,
    texts: Sequence[Trained],
    made: Sequence[AlignmentCandidate],
) -> ModelJudge:
    """Return the candidate that the test set was opened for, else the one with the longest file."""
    number, test = loaded.design.candidates.examples, digest_of(loaded.parts.texts[LabelUse.TEST])
    judges = [one.judge for one in made if one.judge]
    rubrics = [one.judge for one in made if one.judge and one.is_rubric]
    both = [with_examples(one, texts, number).judge for one in rubrics] if number else []
    judges += [one for one in both if one]
    with runtime.session() as session:
        chosen = {
            look.chosen
            for look in store.looks(session, simulated=loaded.simulated)
            if (look.before, look.test_digest) == (loaded.judge.key, test)
        }
    opened = [judge for judge in judges if judge.key in chosen]
    return max(opened or judges, key=lambda judge: len(judge.model_dump_json()))


def _as_long(judge: ModelJudge, name: str) -> AlignmentCandidate:
    """Return a stand-in for a rubric that is not proposed yet."""
    longer = judge.model_copy(update={"task": f"{judge.task} ({name})"})
    return AlignmentCandidate(name, longer, is_rubric=True)


def spending_on_alignment(
    session: Session, runtime: Runtime, loaded: LoadedAlignment, over_usd: float
) -> SpendingPlan:
    """Return what an alignment still spends: on proposals and on judging."""
    planned, called = plan(runtime, loaded), f"Alignment {loaded.design.name}"
    spending = plan_study(session, runtime, called, over_usd, planned.judgings)
    if planned.proposals is None or loaded.design.proposer is None:
        return spending
    model, (calls, used) = loaded.design.proposer.model, planned.proposals
    provider = runtime.providers.of(model).name
    line = SpendingLine("proposals", model, provider, calls, used.cost_usd)
    return replace(spending, lines=(line, *spending.lines) if calls else spending.lines)


def _stand_in(judge: ModelJudge, loaded: LoadedAlignment, item: Item) -> Trained:
    """Return a training text as a mistake, before it is judged."""
    label = known_points(judge, item)
    [one] = trained(judge, loaded.items, [item], {item.key: [_wrong(judge, item, label)]})
    return one


def _wrong(judge: ModelJudge, item: Item, label: float) -> JudgeResult:
    lowest, highest = judge.score_range
    return JudgeResult(
        judge=judge.key, model=judge.model, item=item.id, item_key=item.key, corpus=item.corpus,
        variant=None, repeat=0, status="scored", score=lowest if label > 50 else highest,
        subscores={}, verdict=None, reason="", failure=None, call_ids=(), duration_s=None,
        simulated=item.simulated,
    )  # fmt: skip
