"""Judging items with judges for products, and having their texts changed first, in chunks."""

from collections.abc import Sequence
from dataclasses import replace

from flows.running import Run, work_of
from judge_gym.calibration.design import Perturber
from judge_gym.errors import restated
from judge_gym.judges.calibrating import perturbing
from judge_gym.judges.calibrating.judging import Asked, answers_of, missing
from judge_gym.judges.calibrating.texts import Rewriting
from judge_gym.judges.judging import BOUND_ERRORS, judged_so_far
from judge_gym.store.readability import rewriting_answers
from tasks.judges import judge_texts, perturb_texts


async def judge_requests(run: Run, requests: Sequence[Asked], *, retry_failed: bool) -> None:
    """Have each judge judge items of its own."""
    works = []
    for request in requests:
        judge, repeats, review_day = request.judge, request.repeats, request.review_day
        units, judgements = run.query(
            missing, judge, request.items, repeats, retry_failed=retry_failed, review_day=review_day
        )
        work = work_of(
            run.runtime,
            judge_texts,
            {model for leaf in judge.leaves for model in leaf.models},
            units,
            f"text by {judge.name}",
            judge=judge,
            repeats=repeats,
            review_day=review_day,
        )
        works.append(replace(work, results=judgements))
    try:
        await run.do_all("judgement", works)
    except BOUND_ERRORS as stopped:
        so_far = " ".join(
            run.query(judged_so_far, one.judge, one.items, one.repeats, one.review_day)
            for one in requests
        )
        raise restated(stopped, f"{stopped.message} {so_far}", stopped.remedies) from stopped
    run.summary.answers += [run.query(answers_of, one) for one in requests]


async def perturb_missing(
    run: Run, perturber: Perturber, requested: Sequence[Rewriting], *, retry_failed: bool
) -> None:
    """Have a model make the changed texts that are missing."""
    units = run.query(perturbing.missing, requested, retry_failed=retry_failed)
    label = f"text changed by {perturber.model}"
    work = work_of(run.runtime, perturb_texts, [perturber.model], units, label, perturber=perturber)
    await run.do_all("changed text", [work])
    run.count(rewriting_answers, [rewriting.key for rewriting in requested])
