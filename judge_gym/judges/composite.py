"""Judges made of judges: members that vote, or a second one that is asked where one is in doubt.

A member's judgement is a row of its own, as if it had judged alone: what is stored already is
reused. A composite's row adds what they come to, with the calls of all of them; `subscores` is
member → its score, of those that gave one.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Any, Literal, Self

from pydantic import Field, InstanceOf, model_validator

from judge_gym.design.fields import Frozen, Legal
from judge_gym.formats import plain
from judge_gym.judges.base import NOT_IDENTITY, NOT_STORED, Judge
from judge_gym.judges.certify_rule import CertifyRule
from judge_gym.judges.gate_rule import GateRule
from judge_gym.records.items import Label
from judge_gym.records.judgements import LONGEST_REASON, JudgeResult, Reading

Rule = Literal["mean", "median", "majority"]
Answers = Mapping[str, JudgeResult]
"""Member → its judgement, of those that were asked."""
_WORST_FIRST = ("failed", "refused", "unparseable", "inconsistent", "cannot_assess")
_RANGE = Legal("the lowest and the highest score in doubt, such as [2, 4]")


class EnsembleFile(Frozen):
    """Several judges that judge every text, and the rule that makes one answer of theirs."""

    kind: Literal["ensemble"] = "ensemble"
    name: str = Field(min_length=1, max_length=100)
    """What people call it; no part of its identity."""
    members: tuple[Path, ...] = Field(min_length=2, max_length=20)
    """Judge files of single texts with one scale or the same verdicts, relative to this file."""
    rule: Rule
    """What makes the score: the mean or the median of the members' scores, or the score or verdict
    that most of them give, where a tie has no score (status inconsistent). Verdicts take
    majority."""
    least: int | None = Field(default=None, ge=1, le=20)
    """How many members must give a score; more than half of them when left out. One without a score
    has no vote. With fewer there is no score, and the gravest of their statuses."""
    gate: GateRule | None = None
    """What it has to reach in `judge-gym judge gate`; no part of its identity."""
    certify: CertifyRule | None = None
    """What `judge-gym judge certify` has to show of it; no part of its identity."""


class RoutedFile(Frozen):
    """A judge that is asked first, and one that is asked, and decides, where the first is in doubt.

    Without a score of the first, the second always decides.
    """

    kind: Literal["routed"] = "routed"
    name: str = Field(min_length=1, max_length=100)
    """What people call it; no part of its identity."""
    first: Path
    """The judge file, of a cheap judge or an ensemble, that judges every text."""
    then: Path
    """The judge file that decides where the first is in doubt."""
    between: Annotated[tuple[float, float], _RANGE] | None = None
    """A score of the first from the one to the other, both included, is in doubt."""
    within: float | None = Field(default=None, ge=0, lt=100)
    """Points of 100 by which the scores of an ensemble's members may differ without a doubt."""
    gate: GateRule | None = None
    """What it has to reach in `judge-gym judge gate`; no part of its identity."""
    certify: CertifyRule | None = None
    """What `judge-gym judge certify` has to show of it; no part of its identity."""


class CompositeJudge(Judge):
    """What ensembles and routed judges share: members, and whom of them to ask."""

    members: tuple[InstanceOf[Judge], ...] = Field(min_length=2, max_length=20)

    @model_validator(mode="after")
    def _members_fit(self) -> Self:
        first, *others = self.members
        for attribute in ("name", "key"):
            if len({getattr(one, attribute) for one in self.members}) < len(self.members):
                raise ValueError(f"two members have the same {attribute}. Name judges that differ")
        if any(one.judges_pairs for one in self.members):
            raise ValueError("a member compares pairs. Use judges of single texts")
        for other in others:
            if (other.score_range, other.verdict_scores) != (
                first.score_range,
                first.verdict_scores,
            ):
                raise ValueError(
                    f"members {first.name!r} and {other.name!r} differ in their scale or verdicts. "
                    "Use judges of one scale, or with the same verdicts"
                )
        return self

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.members)

    @property
    def config(self) -> dict[str, Any]:
        own = self.model_dump(mode="json", exclude={*NOT_STORED, "members"})
        return own | {"members": [member.config for member in self.members]}

    @property
    def identity(self) -> dict[str, Any]:
        own = self.model_dump(mode="json", exclude={*NOT_IDENTITY, "members"})
        # Subscores are by name, and so is what was said: names of members count.
        return own | {"members": [[member.name, member.key] for member in self.members]}

    @property
    def made_of(self) -> tuple[Judge, ...]:
        return self.members

    @property
    def answered_by(self) -> str:
        return " + ".join(dict.fromkeys(self.answerers))

    @property
    def asks_model(self) -> bool:
        return all(leaf.asks_model for leaf in self.leaves)

    @property
    def score_range(self) -> tuple[float, float]:
        return self.members[0].score_range

    @property
    def verdict_scores(self) -> dict[str, float]:
        return self.members[0].verdict_scores

    def score_of(self, label: Label) -> float:
        return self.members[0].score_of(label)

    @model_validator(mode="after")
    def _has_no_critic(self) -> Self:
        if self.reason_critic is not None:
            raise ValueError("reason_critic reads the reasons of one judge. Give it to a member")
        return self

    def contradiction(self, result: JudgeResult) -> str:
        """Return nothing: reasons of several members name marks of their own."""
        return ""

    def next_members(self, answers: Answers) -> tuple[Judge, ...]:
        """Return the members to ask now; none once they come to something."""
        raise NotImplementedError

    def combined(self, answers: Answers) -> Reading:
        """Return what the members come to; nothing but a member's score is ever a vote."""
        raise NotImplementedError

    def _scores(self, answers: Answers) -> dict[str, float]:
        return {
            name: answers[name].score or 0.0
            for name in self.parts
            if name in answers and answers[name].score is not None
        }

    @property
    def decides(self) -> bool:
        return self.members[0].decides

    @property
    def _has_verdicts(self) -> bool:
        """Whether members give verdicts and no steps of a scale, which are numbers, too."""
        return bool(self.members[0].verdict_scores) and not any(
            hasattr(leaf, "scale") for leaf in self.leaves
        )


class EnsembleJudge(CompositeJudge):
    """Asks every member, and combines their scores by its rule."""

    kind: Literal["ensemble"] = "ensemble"
    rule: Rule
    least: int | None = Field(default=None, ge=1, le=20)

    @model_validator(mode="after")
    def _rule_fits(self) -> Self:
        if self._has_verdicts and self.rule != "majority":
            raise ValueError(f"rule is {self.rule}, and its members give verdicts. Use majority")
        if self.least is not None and self.least > len(self.members):
            raise ValueError(f"least is {self.least}, and it has {len(self.members)} members")
        return self

    @property
    def decides(self) -> bool:
        return self.rule == "majority" and super().decides

    @property
    def verdict_scores(self) -> dict[str, float]:
        # The mean of two steps lies between them.
        return super().verdict_scores if self.rule == "majority" else {}

    @property
    def needed(self) -> int:
        """How many members must give a score."""
        return self.least or len(self.members) // 2 + 1

    def next_members(self, answers: Answers) -> tuple[Judge, ...]:
        return tuple(member for member in self.members if member.name not in answers)

    def combined(self, answers: Answers) -> Reading:
        scores = self._scores(answers)
        reason = " / ".join(_said(name, answers[name]) for name in self.parts)[:LONGEST_REASON]
        if len(scores) < self.needed:
            gravest = min(
                (one for one in self.parts if one not in scores),
                key=lambda name: _WORST_FIRST.index(answers[name].status),
            )
            failure = answers[gravest].failure
            if failure is not None:
                failure = f"{failure} (member {gravest})"
            return Reading(answers[gravest].status, None, scores, None, reason, failure)
        given = list(scores.values())
        if self.rule == "majority":
            most = Counter(given).most_common(2)
            if len(most) == 2 and most[0][1] == most[1][1]:
                return Reading("inconsistent", None, scores, None, reason)
            score = most[0][0]
        else:
            score = fmean(given) if self.rule == "mean" else float(median(given))
        return Reading("scored", score, scores, self.verdict_of(score), reason)


class RoutedJudge(CompositeJudge):
    """Asks its first member; where that is in doubt, its second one, which then decides."""

    kind: Literal["routed"] = "routed"
    members: tuple[InstanceOf[Judge], ...] = Field(min_length=2, max_length=2)
    between: tuple[float, float] | None = None
    within: float | None = Field(default=None, ge=0, lt=100)

    @model_validator(mode="after")
    def _doubts_fit(self) -> Self:
        if self.between is not None:
            if self._has_verdicts:
                raise ValueError("between is of scores, and its members give verdicts")
            if self.between[0] > self.between[1]:
                raise ValueError("between does not ascend")
        if self.within is not None and not isinstance(self.members[0], EnsembleJudge):
            raise ValueError(
                "within is of the members of an ensemble, and the first judge is none. "
                "Use an ensemble as the first judge, or between"
            )
        return self

    def doubt(self, first: JudgeResult) -> str:
        """Return why the first member's judgement is in doubt; empty when it decides."""
        if first.score is None:
            return f"no score, {first.failure or first.status}"
        if self.between and self.between[0] <= first.score <= self.between[1]:
            return f"score {plain(first.score)}"
        lowest, highest = self.score_range
        scores = first.subscores.values()
        if self.within is not None and scores:
            apart = 100 * (max(scores) - min(scores)) / (highest - lowest)
            if apart > self.within:
                return f"members {plain(round(apart, 1))} points apart"
        return ""

    def next_members(self, answers: Answers) -> tuple[Judge, ...]:
        first, second = self.members
        if first.name not in answers:
            return (first,)
        if second.name in answers or not self.doubt(answers[first.name]):
            return ()
        return (second,)

    def combined(self, answers: Answers) -> Reading:
        first, second = self.parts
        name = second if second in answers else first
        decided = answers[name]
        reason = _said(name, decided)
        if name == second:
            reason += f" ({first}: {self.doubt(answers[first])})"
        return Reading(
            decided.status,
            decided.score,
            self._scores(answers),
            decided.verdict,
            reason[:LONGEST_REASON],
            decided.failure,
        )


def _said(name: str, answer: JudgeResult) -> str:
    """Return what a member said, or why it has no score."""
    if answer.score is None:
        return f"{name}: no score, {answer.failure or answer.status}"
    return f"{name}: {answer.reason}" if answer.reason else f"{name}: {plain(answer.score)}"
