"""Axis `scoring_method`: the form of the verdict, and how it is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judge_gym.answers.verdict import (
    Grammar,
    ParseFailure,
    Verdict,
    parse_structured_verdict,
    parse_verdict,
)
from judge_gym.design.experiment import Experiment, ScoringMethod
from judge_gym.design.strategies import abstention, scale

AXES = ("scoring_method",)
_INSTRUCTIONS: dict[ScoringMethod, str] = {
    "single": "Choose the one stage whose criteria fit the evidence best.",
    "subset": (
        "List every stage whose criteria the evidence supports. Name more than one only "
        "when the evidence genuinely supports more than one."
    ),
    "structured_json": "Choose the one stage whose criteria fit the evidence best.",
}


@dataclass(frozen=True)
class Scoring:
    instruction: str
    closing: str
    """The closing request of the prompt, for this scale and abstain gate."""
    structured: bool
    """Whether the answer is JSON."""
    grammar: Grammar
    parse: Callable[[str, Grammar, Sequence[str]], Verdict | ParseFailure]

    def read(self, answer: str, evidence: Sequence[str] = ()) -> Verdict | ParseFailure:
        """Read the verdict of an answer, among the labels that the prompt offered.

        A verdict that the answer repeats from `evidence` is ignored.
        """
        return self.parse(answer, self.grammar, evidence)


def resolve(experiment: Experiment) -> Scoring:
    method = experiment.scoring_method
    letters = scale.resolve(experiment).letters
    gate = abstention.resolve(experiment).offered
    structured = method == "structured_json"
    return Scoring(
        instruction=_INSTRUCTIONS[method],
        closing=_closing(method, letters, gate),
        structured=structured,
        grammar=Grammar(labels=letters, subset=method == "subset", abstain=gate),
        parse=parse_structured_verdict if structured else parse_verdict,
    )


def _closing(method: ScoringMethod, letters: tuple[str, ...], gate: bool) -> str:
    offered = ", ".join(letters)
    if method == "structured_json":
        choice = '"verdict": one of ' + ", ".join(f'"{letter}"' for letter in letters)
        choice += ' or "ABSTAIN"' if gate else ""
        return f'Answer with one JSON object and nothing else: "reasoning": a string, {choice}.'
    form = (
        f"<one letter of {offered}>"
        if method == "single"
        else f"<one or more letters of {offered}, separated by commas>"
    )
    lines = f"VERDICT: {form}" + ("\nor, if you abstain:\nVERDICT: ABSTAIN" if gate else "")
    return f"End your response with exactly one line of this form:\n{lines}"
