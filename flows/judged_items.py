"""Judging items with judges for products, in chunks: what calibrations and benchmarks share."""

from collections.abc import Sequence
from pathlib import Path

from flows.chunks import Tally, Work, run_chunks
from judge_gym.asking.budgeting import BudgetPassedError
from judge_gym.judges import Item, Judge, ModelJudge
from judge_gym.judges.calibrating.judging import Asked, answers_of, missing
from judge_gym.runtime import Runtime
from tasks.judges import judge_texts
from tasks.policy import declare_limits


class PartlyJudgedError(BudgetPassedError):
    """A budget stopped the judging; what had been judged is reported."""

    def __init__(self, stopped: BudgetPassedError, report: Path) -> None:
        told = f"{stopped.message} What was judged, and how much is missing: {report.resolve()}."
        super().__init__(told, stopped.remedy)


async def judge_missing(
    runtime: Runtime,
    judges: Sequence[Judge],
    items: Sequence[Item],
    *,
    repeats: int = 1,
    retry_failed: bool,
) -> Tally:
    """Have every judge judge what it has not; a judge's budget stops new work once passed."""
    asked = [Asked(judge, items, repeats) for judge in judges]
    return await judge_asked(runtime, asked, retry_failed=retry_failed)


async def judge_asked(
    runtime: Runtime, asked: Sequence[Asked], *, retry_failed: bool, occasion: str = ""
) -> Tally:
    """Do the same for each judge's own items; `occasion` has them asked anew, see `judge_items`."""
    await declare_limits()
    works = []
    for one in asked:
        judge, repeats = one.judge, one.repeats
        with runtime.session() as session:
            units = missing(
                session, judge, one.items, repeats, retry_failed=retry_failed, occasion=occasion
            )
        arguments = {"judge": judge, "repeats": repeats, "occasion": occasion}
        label = f"texts by {judge.name}"
        works.append(Work(judge_texts, _provider(runtime, judge), units, label, arguments))
    tally = await run_chunks(runtime, "texts", works)
    with runtime.session() as session:
        for one in asked:
            tally.answers.append(answers_of(session, one.judge, one.items, one.repeats, occasion))
    return tally


def _provider(runtime: Runtime, judge: Judge) -> str:
    """Return the provider whose limit a judge keeps to; empty for a judge of one's own."""
    return runtime.providers.of(judge.model).name if isinstance(judge, ModelJudge) else ""
