"""How a judge puts a verdict or a probability into words: house styles and slips of the pen.

What is concluded comes from `judging`; here it is only said. Every style ends with the line the
prompt asked for.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from judge_gym.planted.families import Family
from judge_gym.simulator.prompt_reader import Form, Rubric

ABSTAIN = "ABSTAIN"


@dataclass(frozen=True)
class Conclusion:
    """What is to be said: the letters chosen (none to abstain), and on what grounds."""

    rubric: Rubric
    letters: tuple[str, ...]
    cues: tuple[str, ...]
    form: Form

    @property
    def value(self) -> str:
        return ", ".join(self.letters) or ABSTAIN

    @property
    def labels(self) -> str:
        named = dict(zip(self.rubric.letters, self.rubric.stages, strict=True))
        return " and ".join(f'"{named[letter][0]}"' for letter in self.letters)


def write_verdict(family: Family, conclusion: Conclusion, rng: Random) -> str:
    """Write the answer to a request for a verdict."""
    style = _drawn(family.styles, rng)
    reasons = _reasons(conclusion, rng)
    if conclusion.form == "json":
        value = json.dumps({"reasoning": " ".join(reasons), "verdict": conclusion.value})
        return f"```json\n{value}\n```" if style == "markdown" else value
    if rng.random() < family.malformed:
        return "\n\n".join((*reasons, rng.choice(MALFORMED)))
    return _STYLES[style](conclusion, reasons)


def write_probability(family: Family, probability: float, rng: Random) -> str:
    """Write the answer to a probe; some habits of writing keep whole percents only."""
    style = _drawn(family.styles, rng)
    number = rng.choice(_NUMBERS)(probability)
    reason = (
        "Raters who apply the criteria word by word would mostly weigh the same passages; "
        "they would differ over how firmly neighbouring stages are excluded."
    )
    line = f"PROBABILITY: {number}"
    return line if style == "terse" else f"{reason}\n\n{f'**{line}**' if style == 'bold' else line}"


def _drawn(weights: Mapping[str, float], rng: Random) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


def _reasons(conclusion: Conclusion, rng: Random) -> list[str]:
    found = ", ".join(f'"{cue}"' for cue in conclusion.cues)
    grounds = (
        f"The passages that bear on the criteria are those about {found}."
        if found
        else "The evidence has few passages that bear on the criteria."
    )
    if not conclusion.letters:
        return [grounds, "They do not allow a judgement on any of the stages."]
    weighing = rng.choice(
        (
            "Set against each stage in turn, they meet the criteria of {labels} most closely.",
            "Weaker stages leave them unexplained and stronger ones ask for more; "
            "what remains is {labels}.",
            "Read criterion by criterion, they support {labels}.",
        )
    )
    return [grounds, weighing.format(labels=conclusion.labels)]


def _plain(conclusion: Conclusion, reasons: Sequence[str]) -> str:
    return "\n\n".join((" ".join(reasons), f"VERDICT: {conclusion.value}"))


def _markdown(conclusion: Conclusion, reasons: Sequence[str]) -> str:
    bullets = "\n".join(f"- {reason}" for reason in reasons)
    return f"## Assessment\n\n{bullets}\n\n## Conclusion\n\nVERDICT: {conclusion.value}"


def _bold(conclusion: Conclusion, reasons: Sequence[str]) -> str:
    return f"{' '.join(reasons)}\n\n**VERDICT: {conclusion.value}**"


def _terse(conclusion: Conclusion, reasons: Sequence[str]) -> str:
    return f"{reasons[-1]}\nVERDICT: {conclusion.value}"


def _restating(conclusion: Conclusion, reasons: Sequence[str]) -> str:
    rubric = conclusion.rubric
    options = "\n".join(
        f"{letter} - {label}"
        for letter, (label, _) in zip(rubric.letters, rubric.stages, strict=True)
    )
    return f"The options are:\n{options}\n\n{' '.join(reasons)}\n\nVERDICT: {conclusion.value}"


def _remark(conclusion: Conclusion, reasons: Sequence[str]) -> str:
    remark = "One text alone could be read otherwise; this conclusion is about what it reports."
    return "\n\n".join((*reasons, remark, f"VERDICT: {conclusion.value}"))


_STYLES: dict[str, Callable[[Conclusion, Sequence[str]], str]] = {
    "plain": _plain,
    "markdown": _markdown,
    "bold": _bold,
    "terse": _terse,
    "restating": _restating,
    "remark": _remark,
}
MALFORMED = (
    "VERDICT: somewhere in the middle of the scale",
    "VERDICT:",
    "I would place the evidence on the upper half of the scale.",
)
_NUMBERS: tuple[Callable[[float], str], ...] = (
    lambda p: f"{p:.2f}",
    lambda p: f"{p:.2f}",
    lambda p: f"{round(100 * p)}%",
    lambda p: f"{round(100 * p)} %",
    lambda p: f"{p:.2f}".replace(".", ","),
    lambda p: f"{round(20 * p)}/20",
)
