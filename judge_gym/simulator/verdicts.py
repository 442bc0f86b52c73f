"""How a judge answers a scoring or probing prompt, and how a critic marks what it wrote.

`judge_gym.planted.judging` decides; this module reads the scale and words the answer.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from statistics import fmean

from judge_gym.planted.families import Family
from judge_gym.planted.lexicon import amount_matcher, polarity_matcher
from judge_gym.simulator.prompts import Form, Listed, PromptedRubric, ReasoningPrompt

_NOT = re.compile(r"\b(?:not|never|isn't|aren't|neither)\b(?:\s+\w+){0,1}\s*$")
_UNSAID = 0.55
_MIDPOINT_LETTERS = "ambiguousmixedevidence"
"""The letters of the label by which judge-gym's prompts name the middle of an odd scale."""
_LABEL_WEIGHT = 0.75


@lru_cache(maxsize=4096)
def order_stages(stages: tuple[Listed, ...], valence: int) -> tuple[int, ...]:
    """Return indices into `stages`, from the weakest signal to the strongest.

    `valence` is that of the concept: whether "severe violations" means much or little of it.
    """
    strengths = [_strength(label, criteria, valence) for label, criteria in stages]
    order = sorted(range(len(stages)), key=lambda index: strengths[index])
    middle = [index for index in order if _is_midpoint(stages[index][0])]
    if len(middle) == 1 and len(stages) % 2:
        order.remove(middle[0])
        order.insert(len(stages) // 2, middle[0])
    return tuple(order)


def _is_midpoint(label: str) -> bool:
    letters = "".join(character for character in label.casefold() if character.isalpha())
    return letters == _MIDPOINT_LETTERS


@lru_cache(maxsize=4096)
def _strength(label: str, criteria: tuple[str, ...], valence: int) -> float:
    from_label = _amount(label, valence)
    from_criteria = [amount for text in criteria if (amount := _amount(text, valence)) is not None]
    if from_label is None:
        return fmean(from_criteria) if from_criteria else _UNSAID
    if not from_criteria:
        return from_label
    return _LABEL_WEIGHT * from_label + (1 - _LABEL_WEIGHT) * fmean(from_criteria)


def _amount(text: str, valence: int) -> float | None:
    """Return the amount of the concept that a text states, in [0, 1]; None without any."""
    lower = text.lower()
    amounts = []
    for match, amount in amount_matcher().find(lower):
        negated = _NOT.search(lower, max(0, match.start() - 24), match.start())
        amounts.append(1 - amount if negated else amount)
    direction = sum(weight for _, weight in polarity_matcher().find(lower)) * (valence or -1)
    if not amounts:
        return None if direction == 0 else (0.75 if direction > 0 else 0.25)
    amount = 0.0 if 0.0 in amounts else fmean(amounts)
    return 1 - amount if direction < 0 else amount


_LOOKALIKES = str.maketrans(
    "АВСЕНІКМОРЅТХаеорсхуіѕΑΒΕΗΙΚΜΝΟΡΤΧ", "ABCEHIKMOPSTXaeopcxyisABEHIKMNOPTX"
)
_DEMAND = re.compile(
    r"(?i:\b(?:verdict|stage|letter|option|answer|urteil|stufe|etapa|stade)\b)\W{0,4}"
    r"(?i:(?:is|must be|lautet)\b)?\W{0,4}\b(?P<letter>[A-Z])\b"
)


def stage_demanded(documents: Sequence[str], letters: Sequence[str]) -> str | None:
    """Return the last letter of the scale that the evidence demands; None without any."""
    text = unicodedata.normalize("NFKC", "\n".join(documents)).translate(_LOOKALIKES)
    demanded = [match["letter"] for match in _DEMAND.finditer(text) if match["letter"] in letters]
    return demanded[-1] if demanded else None


ABSTAIN = "ABSTAIN"


@dataclass(frozen=True)
class ChosenLetters:
    """The letters chosen (none to abstain), and the phrases that support them."""

    rubric: PromptedRubric
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


def write_verdict(family: Family, conclusion: ChosenLetters, rng: Random) -> str:
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
    """Write the answer to a probe; some formats round to whole percent."""
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


def _reasons(conclusion: ChosenLetters, rng: Random) -> list[str]:
    cues = ", ".join(f'"{cue}"' for cue in conclusion.cues)
    grounds = (
        f"The passages that bear on the criteria are those about {cues}."
        if cues
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


def _plain(conclusion: ChosenLetters, reasons: Sequence[str]) -> str:
    return "\n\n".join((" ".join(reasons), f"VERDICT: {conclusion.value}"))


def _markdown(conclusion: ChosenLetters, reasons: Sequence[str]) -> str:
    bullets = "\n".join(f"- {reason}" for reason in reasons)
    return f"## Assessment\n\n{bullets}\n\n## Conclusion\n\nVERDICT: {conclusion.value}"


def _bold(conclusion: ChosenLetters, reasons: Sequence[str]) -> str:
    return f"{' '.join(reasons)}\n\n**VERDICT: {conclusion.value}**"


def _terse(conclusion: ChosenLetters, reasons: Sequence[str]) -> str:
    return f"{reasons[-1]}\nVERDICT: {conclusion.value}"


def _restating(conclusion: ChosenLetters, reasons: Sequence[str]) -> str:
    rubric = conclusion.rubric
    options = "\n".join(
        f"{letter} - {label}"
        for letter, (label, _) in zip(rubric.letters, rubric.stages, strict=True)
    )
    return f"The options are:\n{options}\n\n{' '.join(reasons)}\n\nVERDICT: {conclusion.value}"


def _remark(conclusion: ChosenLetters, reasons: Sequence[str]) -> str:
    remark = "One text alone could be read otherwise; this conclusion is about what it reports."
    return "\n\n".join((*reasons, remark, f"VERDICT: {conclusion.value}"))


_STYLES: dict[str, Callable[[ChosenLetters, Sequence[str]], str]] = {
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


_QUOTED = re.compile(r"[\"“]([^\"“”\n]+)[\"”]")
_OF_EVIDENCE = re.compile(r"\b(?:evidence|passages?|texts?|documents?|reports?)\b", re.IGNORECASE)


def mark_reasoning(task: ReasoningPrompt) -> str:
    """Return the critic's JSON: a pure function of the prompt, with the rules of a strict reader.

    Reasoning is observable if it quotes words of the evidence, and uses the evidence if it quotes
    or names it. It is consistent if it quotes the labels of its conclusion and no other label, or
    none at all.
    """
    evidence = " ".join(task.evidence.casefold().split())
    quoted = {" ".join(text.casefold().split()) for text in _QUOTED.findall(task.reasoning)}
    labels, concluded = (
        {" ".join(label.casefold().split()) for label in named}
        for named in (task.labels, task.concluded)
    )
    cites = any(text in evidence for text in quoted - labels)
    return json.dumps(
        {
            "observable": cites,
            "consistent": quoted & labels in (concluded, set()),
            "uses_evidence": cites or bool(_OF_EVIDENCE.search(task.reasoning)),
        }
    )
