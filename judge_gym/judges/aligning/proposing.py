"""Rubrics that a model proposes from training mistakes: asked once, read from the ledger after."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from judge_gym.answers.verdict import ParseFailure
from judge_gym.asking.budgeting import Spender
from judge_gym.asking.engine import ask_all
from judge_gym.asking.estimating import UsageEstimate, estimate, per_call
from judge_gym.asking.questions import End, Question, Turns, seed_source
from judge_gym.calibration.alignment_file import Proposer
from judge_gym.evidence.normal_text import cut_text
from judge_gym.formats import short
from judge_gym.judges.aligning.candidates import (
    AlignmentCandidate,
    Trained,
    proposal_keys,
    with_rubric,
)
from judge_gym.judges.answer_object import own_object
from judge_gym.judges.calibrating.comparing import near_of
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.judges.rubric_judge import RubricJudge
from judge_gym.metrics.points import HIGHEST
from judge_gym.prompts import render, template_hash
from judge_gym.questions.outcome import NoAnswer, readable, unreadable
from judge_gym.records.calls import Answer, Call, Failure, Parameters
from judge_gym.records.shown import ShownDocument, fence_mark
from judge_gym.runtime import Runtime
from judge_gym.seeds import digest, generator
from judge_gym.store.calls import outcomes_of, past_answers

WORKFLOW, AGENT = "alignment", "proposer"
_TEMPLATE = "align"
_LONGEST_SHOWN = 4000
"""Characters of one text that a proposer reads."""
_PLACEHOLDER = re.compile(r"\{[a-z_]+\}")


@dataclass(frozen=True, eq=False)
class Proposals:
    """Requests for rubrics: one judge, one proposer, and the mistakes it reads."""

    judge: ModelJudge
    proposer: Proposer
    mistakes: Sequence[Trained]
    number: int

    @classmethod
    def of(
        cls, judge: ModelJudge, proposer: Proposer, texts: Sequence[Trained], number: int
    ) -> "Proposals":
        """Return the requests, with the mistakes among these training texts."""
        missed = [one for one in texts if one.missed(near_of(judge))]
        return cls(judge, proposer, missed, number if missed else 0)

    @cached_property
    def key(self) -> str:
        """By what its calls are counted in the ledger: all that they depend on but their number."""
        shown = [(one.item.key, one.label, one.judged, one.notes) for one in self.mistakes]
        config = self.proposer.model_dump(mode="json")
        return digest("proposals", self.judge.key, config, shown, template_hash(_TEMPLATE))

    def call(self, runtime: Runtime, number: int) -> Call:
        """Return the request for a proposal, numbered from 1."""
        key = f"align/{self.key}/{number}"
        source = seed_source(runtime.settings, key, str(number))
        shown = self._drawn(number)
        documents = [ShownDocument("", _document(one)) for one in shown]
        present = json.dumps(_present(self.judge), ensure_ascii=False, indent=2)
        mark = fence_mark(source.key, [*documents, ShownDocument("", present)])
        prompt = render(
            _TEMPLATE,
            present=present,
            scale=self.judge.scale if isinstance(self.judge, RubricJudge) else None,
            documents=documents,
            verdicts=[_verdict(self.judge, one) for one in shown],
            placeholders=sorted(set(_PLACEHOLDER.findall(self.judge.prompt or ""))),
            form=_form(self.judge),
            mark=mark,
        )
        parameters = Parameters(
            temperature=self.proposer.temperature,
            top_p=1,
            max_tokens=self.proposer.max_tokens,
            seed=source.seed(self.proposer.model, prompt),
            json_answer=True,
        )
        return Call(
            key, WORKFLOW, AGENT, self.proposer.model, prompt, parameters,
            replicate=source.replicate,
        )  # fmt: skip

    def calls(self, runtime: Runtime) -> list[Call]:
        """Return all requests, in order."""
        return [self.call(runtime, number) for number in range(1, self.number + 1)]

    async def ask(self, runtime: Runtime, budget: Spender, *, retry_failed: bool) -> None:
        """Ask what the ledger does not have; raises as `ask_all`."""
        calls = self.calls(runtime)
        with runtime.session() as session:
            done = outcomes_of(session, [call.key for call in calls])
        questions = (
            Question((call,), _asked)
            for call in calls
            if call.key not in done or (retry_failed and isinstance(done[call.key], Failure))
        )
        await ask_all(runtime, questions, budget=budget, in_batches=False)

    def read(self, runtime: Runtime) -> list[AlignmentCandidate]:
        """Return what the ledger has of them: candidates, failed ones among them."""
        calls = self.calls(runtime)
        with runtime.session() as session:
            done = outcomes_of(session, [call.key for call in calls])
        return list(self._candidates([done.get(call.key) for call in calls]))

    def _candidates(
        self, outcomes: Sequence[Answer | Failure | None]
    ) -> Iterator[AlignmentCandidate]:
        earlier: dict[str, str] = {}
        for number, outcome in enumerate(outcomes, 1):
            name = f"rubric {number}"
            candidate = self._candidate(name, self._drawn(number), outcome)
            if candidate.judge is not None:
                first = earlier.setdefault(candidate.judge.key, name)
                if first != name:
                    candidate = AlignmentCandidate(name, None, f"it is the same as {first}")
            yield candidate

    def _candidate(
        self, name: str, shown: Sequence[Trained], outcome: Answer | Failure | None
    ) -> AlignmentCandidate:
        if outcome is None:
            return AlignmentCandidate(name, None, "not proposed yet", is_pending=True)
        answer = readable(outcome)
        if isinstance(answer, NoAnswer):
            return AlignmentCandidate(name, None, answer.failure)
        fields = own_object(answer.text, [part for one in shown for part in one.item.shown])
        if isinstance(fields, ParseFailure):
            return AlignmentCandidate(name, None, unreadable(answer, fields.reason, fields.detail))
        return with_rubric(name, self.judge, fields)

    def plan(self, runtime: Runtime) -> tuple[int, UsageEstimate]:
        """Return how many requests are left, and what they are expected to use."""
        calls = self.calls(runtime)
        with runtime.session() as session:
            left = len(calls) - len(outcomes_of(session, [call.key for call in calls]))
            past = past_answers(session, [self.proposer.model])
        model, providers = self.proposer.model, runtime.providers
        prompts = [call.prompt for call in calls]
        each = per_call(providers, model, AGENT, prompts, self.proposer.max_tokens, past)
        return left, estimate(runtime.settings, providers.of(model), [(left, each)])

    def _drawn(self, number: int) -> list[Trained]:
        """Return the mistakes that a request shows: each draws its own."""
        count = min(self.proposer.mistakes, len(self.mistakes))
        return generator("mistakes shown", self.judge.key, number).sample(self.mistakes, count)


def _asked(turns: Turns) -> End[None]:
    # The proposal is read from the ledger: there is no row to derive.
    return End("failed" if isinstance(turns[-1].outcome, Failure) else "proposed")


def _document(one: Trained) -> str:
    parts = [
        *([f"Context: {one.item.context}"] if one.item.context else []),
        one.item.text,
    ]
    cut = [cut_text(part, _LONGEST_SHOWN) for part in parts]
    reasons = [f"Reason of the judge: {one.reason}"] if one.reason else []
    notes = [f"Notes of people: {one.notes}"] if one.notes else []
    return "\n".join([*cut, *reasons, *notes])


def _verdict(judge: ModelJudge, one: Trained) -> str:
    """Return what people and the judge say of a text, on the judge's scale."""
    people, own = (_said(judge, points) for points in (one.label, one.judged))
    marks = (
        f" ({', '.join(f'{part} {short(mark)}' for part, mark in given.items())})" if given else ""
        for given in (one.marks, one.own_marks)
    )
    return "people say {}{}, the judge says {}{}".format(
        *(part for pair in zip((people, own), marks, strict=True) for part in pair)
    )


def _said(judge: ModelJudge, points: float) -> str:
    lowest, highest = judge.score_range
    score = lowest + (highest - lowest) * points / HIGHEST
    names = {value: name for name, value in judge.verdict_scores.items()}
    return names.get(score, short(score))


def _present(judge: ModelJudge) -> dict[str, object]:
    """Return what a proposal may change, as it is now."""
    config = judge.model_dump(mode="json")
    return {
        key: {
            entry["name"]: {"description": entry["description"]}
            | ({"grades": entry["grades"]} if entry.get("grades") else {})
            for entry in config[key]
        }
        if key in ("criteria", "verdicts")
        else config[key]
        for key in proposal_keys(judge)
    }


def _form(judge: ModelJudge) -> str:
    described = '{"description": "<what counts>"}'
    if isinstance(judge, RubricJudge):
        described = '{"description": "<what counts>", "grades": {"<mark>": "<when, in one line>"}}'
    listed = {
        "criteria": [*judge.parts],
        "verdicts": [*judge.verdict_scores],
    }
    entries = [
        f'"{key}": {{{", ".join(f"{json.dumps(name)}: {described}" for name in listed[key])}}}'
        if key in listed
        else f'"{key}": "<{"whole prompt" if key == "prompt" else "what is judged, for whom"}>"'
        for key in proposal_keys(judge)
    ]
    return f"{{{', '.join(entries)}}}"
