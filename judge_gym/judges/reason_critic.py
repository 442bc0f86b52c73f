"""A model that reads whether the reason of a judgement fits the score or verdict it came with.

The critic is itself a binary judge, of texts made of a reason and its score: so it has the engine,
the ledger and the budgets of every judge, and an equal reason with an equal score is paid for once.
It does not see the judged text: the question is whether the judge contradicts itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from judge_gym.counting import counted
from judge_gym.judges.base import Judge
from judge_gym.judges.binary_judge import BinaryJudge, VerdictName
from judge_gym.judges.rubric_judge import RubricJudge
from judge_gym.records.items import Item
from judge_gym.records.judgements import JudgeResult

FITS, CONTRADICTS = "fits", "contradicts"
_TASK = (
    "A judge gave a text a result and a reason; you do not see the text. Decide whether the reason "
    "contradicts the result: whether a reader of the reason alone would expect a clearly other "
    "result, such as praise beside a low score, a fault that rules the given verdict out, or "
    "another score or verdict named as right. A short or vague reason contradicts nothing."
)
_REASON = "a word of a reason as long as two sentences mostly are " * 4
_VERDICTS = (
    VerdictName(name=FITS, description="the reason allows this result"),
    VerdictName(name=CONTRADICTS, description="the reason calls for a clearly other result"),
)


@dataclass(frozen=True)
class Criticism:
    """What a critic found: `read` of `asked` reasons got an answer that could be read.

    `contradictions` are judgements with the critic's own reason.
    """

    model: str
    asked: int
    read: int
    contradictions: Sequence[tuple[JudgeResult, str]] = ()

    def __str__(self) -> str:
        unread = self.asked - self.read
        lost = f", {unread:,} of its answers are missing or could not be read" if unread else ""
        return (
            f"the critic {self.model} finds that {len(self.contradictions):,} of "
            f"{counted(self.read, 'reason')} contradict{'s' if self.read == 1 else ''} the "
            f"result{lost}"
        )


def critic_of(judge: Judge) -> BinaryJudge | None:
    """Return the judge that reads the reasons of `judge`; None where its file names none."""
    if judge.reason_critic is None:
        return None
    return BinaryJudge(
        name=f"critic of {judge.name}"[:100],
        model=judge.reason_critic.model,
        task=_TASK,
        verdicts=_VERDICTS,
        temperature=0.0,
        budget=judge.reason_critic.budget,
    )


def reasons_of(judge: Judge, results: Iterable[JudgeResult]) -> list[tuple[JudgeResult, Item]]:
    """Return each scored judgement that has a reason, with the text that the critic is shown."""
    meaning = _meaning(judge)
    return [
        (
            result,
            Item(
                id=f"{result.item}/{result.repeat}",
                text=f"REASON\n{result.reason}\n\nRESULT\n{_result(judge, result)}",
                context=meaning,
                simulated=result.simulated,
            ),
        )
        for result in results
        if result.score is not None and result.reason.strip()
    ]


def criticism(
    judge: Judge, results: Iterable[JudgeResult], said: Mapping[str, Sequence[JudgeResult]]
) -> Criticism:
    """Return what the critic of `judge` said; `said` is item key → its answers."""
    asked = reasons_of(judge, results)
    critic = critic_of(judge)
    assert critic is not None
    answered = [
        (result, answer)
        for result, item in asked
        for answer in said.get(item.key, ())
        if answer.verdict is not None
    ]
    found = [(result, one.reason) for result, one in answered if one.verdict == CONTRADICTS]
    return Criticism(critic.model, len(asked), len(answered), found)


def stand_ins(judge: Judge, count: int) -> list[Item]:
    """Return so many texts as long as a critic is shown, for the plan of reasons to come."""
    meaning, result = _meaning(judge), "\n".join(f"{part}: 3" for part in (*judge.parts, "in all"))
    return [
        Item(id=str(n), text=f"REASON\n{_REASON} {n}\n\nRESULT\n{result}", context=meaning)
        for n in range(count)
    ]


def _result(judge: Judge, result: JudgeResult) -> str:
    if result.verdict is not None:
        return f"verdict: {result.verdict}"
    marks = {**result.subscores, "in all": result.score}
    return "\n".join(f"{name}: {mark:g}" for name, mark in marks.items())


def _meaning(judge: Judge) -> str:
    if judge.verdict_scores:
        verdicts = getattr(judge, "verdicts", ())
        described = [f"{one.name}: {one.description}" for one in verdicts]
        return "\n".join(["Verdicts:", *(described or judge.verdict_scores)])
    lowest, highest = judge.score_range
    lines = [f"Scores from {lowest:g}, the worst, to {highest:g}, the best."]
    if isinstance(judge, RubricJudge):
        lines += [f"{one.name}: {one.description}" for one in judge.criteria]
    return "\n".join(lines)
