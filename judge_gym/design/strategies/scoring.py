"""Axis `scoring_method`: the form of the verdict that the prompt requests."""

from dataclasses import dataclass

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


_OF_PAIRS: dict[ScoringMethod, str] = {
    "single": "Choose the one option that is right.",
    "subset": (
        "List every option that you cannot rule out. Name more than one only when the two answers "
        "genuinely leave it open."
    ),
    "structured_json": "Choose the one option that is right.",
}


@dataclass(frozen=True)
class Scoring:
    """The request for a verdict, and what an answer may hold."""

    instruction: str
    closing: str
    """The last sentences of the prompt, for this scale and abstain gate."""
    structured: bool
    """Whether the answer is a JSON object."""
    labels: tuple[str, ...]
    """The letters offered, in the order of the scale."""
    subset: bool
    """Whether an answer may name several letters."""
    abstain: bool
    """Whether the prompt offers ABSTAIN."""


def resolve(experiment: Experiment) -> Scoring:
    method = experiment.scoring_method
    letters = scale.resolve(experiment).letters
    gate = abstention.resolve(experiment).offered
    return Scoring(
        instruction=(_OF_PAIRS if experiment.task_type == "pairs" else _INSTRUCTIONS)[method],
        closing=_closing(method, letters, gate),
        structured=method == "structured_json",
        labels=letters,
        subset=method == "subset",
        abstain=gate,
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
