"""Items that a judge has judged: their results, what they cost, and what labels say of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from sqlalchemy.orm import Session

from judge_gym.judges.base import Judge
from judge_gym.judges.calibrating.comparing import Agreement, PartScores, agreement, by_part
from judge_gym.judges.calibrating.judging import results_of
from judge_gym.judges.item_files import ItemFile
from judge_gym.judges.pairwise_judge import DecidedByOrder
from judge_gym.judges.reason_critic import Criticism, critic_of, criticism, reasons_of
from judge_gym.judges.sessions import SessionScore, session_scores
from judge_gym.model_names import Answered
from judge_gym.records.items import distinct
from judge_gym.records.judgements import JudgeResult
from judge_gym.store.calls import Paid, TruncatedPrompts, cost_of, unread_of
from judge_gym.store.judges import answered


@dataclass(frozen=True)
class CostOfCalls:
    """What the calls behind results cost, each call once."""

    calls: int
    paid: Paid
    unread: Sequence[TruncatedPrompts]
    """Prompts that their provider did not read to the end."""


@dataclass(frozen=True)
class ScoredItems:
    """Results of a judge, what they cost, and what its labels and its critic say of them."""

    judge: Judge
    file: ItemFile
    results: Sequence[JudgeResult]
    by: Answered
    cost: CostOfCalls
    labelled: Agreement
    parts: Sequence[PartScores]
    sessions: Sequence[SessionScore]
    critic: Criticism | None
    critic_cost: CostOfCalls | None
    answers: str = ""
    """That items were judged again, and whether these are the answers; empty if not."""

    @property
    def simulated(self) -> bool:
        """Whether any result is simulated."""
        return any(result.simulated for result in self.results)

    @property
    def by_item(self) -> dict[str, float]:
        """Item → its score, the mean over repeats; items without a score are left out."""
        scores: dict[str, list[float]] = {}
        for result in self.results:
            if result.score is not None:
                scores.setdefault(result.item, []).append(result.score)
        return {item: fmean(given) for item, given in scores.items()}

    @property
    def by_order(self) -> DecidedByOrder:
        """Of a pairwise judge, the pairs whose winner is a matter of the order."""
        return DecidedByOrder.of(self.results)

    @property
    def with_itself(self) -> int:
        """Pairs of a system with itself, which no win rate counts."""
        return sum(bool(one.system) and one.system == one.second_system for one in self.file.items)

    @property
    def verdicts(self) -> Counter[str]:
        """Verdict → how many judgements gave it; empty for a judge of scores."""
        if not self.judge.verdict_scores:
            return Counter()
        return Counter(
            result.verdict or self.judge.verdict_of(result.score) or "none"
            for result in self.results
        )

    @property
    def contradictions(self) -> list[tuple[JudgeResult, str, str]]:
        """The judgements whose reason contradicts them: why, and whether a rule found it."""
        ruled = [
            (result, why, "rule")
            for result in self.results
            if (why := self.judge.contradiction(result))
        ]
        read = self.critic.contradictions if self.critic else ()
        return [*ruled, *((result, why, "model") for result, why in read)]


def scored_items(
    session: Session,
    judge: Judge,
    file: ItemFile,
    results: Sequence[JudgeResult],
    answers: str = "",
) -> ScoredItems:
    """Return what there is to say of results, with what the judge's critic has said so far."""
    critic, critic_cost = None, None
    if (of_judge := critic_of(judge)) is not None:
        texts = distinct([item for _, item in reasons_of(judge, results)])
        said = results_of(session, of_judge, texts, 1)
        critic = criticism(judge, results, said)
        critic_cost = _cost(session, [one for some in said.values() for one in some])
    return ScoredItems(
        judge=judge,
        file=file,
        results=results,
        by=answered(session, judge.record, [results]),
        cost=_cost(session, results),
        labelled=agreement(judge, file.answers, results),
        parts=by_part(judge, file, results),
        sessions=session_scores(results, file.conversations.sessions),
        critic=critic,
        critic_cost=critic_cost,
        answers=answers,
    )


def _cost(session: Session, results: Sequence[JudgeResult]) -> CostOfCalls:
    # Items with the same text share a judgement and its calls.
    calls = list(dict.fromkeys(call for result in results for call in result.call_ids))
    return CostOfCalls(len(calls), cost_of(session, calls), unread_of(session, calls))
