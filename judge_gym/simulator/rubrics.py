"""How a family writes rubrics, and how a critic rates one.

A rubric is built from the family's voice: its ladder of amounts, its label patterns and its
criteria. The critic only counts words, so what it should find follows from the voice. Instructions
proposed for a judge of products are drawn, so that some of them help.
"""

import json
import re
from itertools import pairwise
from random import Random
from statistics import fmean

from judge_gym.planted.families import FREQUENCIES, LADDER_LENGTH, Family, Grader, Voice
from judge_gym.planted.judging import SamplingParameters
from judge_gym.planted.lexicon import vague_matcher
from judge_gym.simulator.grading import in_json
from judge_gym.simulator.prompts import Improving, Listed, RubricPrompt

_PER_STAGE = 3


def write_rubric(
    family: Family, design: RubricPrompt, sampling: SamplingParameters, rng: Random
) -> str:
    """Write the rubric asked for, as JSON; a planted share of first ones breaks a rule.

    At temperature 0 the labels are of the family's first pattern, else of any of them.
    """
    steps = _steps(design)
    turn = rng.randrange(len(family.voice.criteria))
    label = rng.choice(family.voice.labels) if sampling.temperature else family.voice.labels[0]
    stages = [
        _stage(family.voice, label, step, turn + index * _PER_STAGE, design)
        for index, step in enumerate(steps)
    ]
    slips = rng.random() < family.rubric_slip and not design.again
    slip = rng.choice(("short", "middle", "prose")) if slips else ""
    if slip == "short" or (slip == "middle" and design.midpoint is None):
        stages.pop()
    elif slip == "middle" and design.midpoint is not None:
        stages[design.midpoint - 1]["label"] = "Neither one nor the other"
    reasoning = f"The stages grade how often and how firmly the signs of {design.concept} appear."
    text = json.dumps({"stages": stages, "reasoning": reasoning}, ensure_ascii=False)
    return f"Here is the rubric:\n\n{text}\n\nI hope it serves." if slip == "prose" else text


_ABOUT = (
    "It has figures, named sources or quotations as evidence.",
    "Its statements are precise and concrete, not vague.",
    "Figures and names are correct and without error.",
    "It is in a logical order that can be followed.",
    "It is brief, without padding.",
    "It recommends a next step.",
)
"""What a proposed criterion may be about; each has words of one feature of `graders.toml`."""


def improve(improving: Improving, grader: Grader, rng: Random) -> str:
    """Propose instructions: each criterion is about something that is drawn, right or wrong."""
    proposed: dict[str, object] = dict(improving.present)
    for key in ("criteria", "verdicts"):
        if isinstance(entries := proposed.get(key), dict):
            proposed[key] = {name: {"description": rng.choice(_ABOUT)} for name in entries}
    return in_json(proposed, grader, rng)


def _steps(design: RubricPrompt) -> list[int | None]:
    """Return a step of the ladder for each stage, evenly spread; None for the midpoint."""
    middle = 1 if design.midpoint else 0
    graded = max(2, min(LADDER_LENGTH, design.stages) - middle)
    steps: list[int | None] = [
        round(place * (LADDER_LENGTH - 1) / (graded - 1)) for place in range(graded)
    ]
    if design.midpoint:
        steps.insert(design.midpoint - 1, None)
    return steps


def _stage(
    voice: Voice, pattern: str, step: int | None, turn: int, design: RubricPrompt
) -> dict[str, object]:
    patterns = [voice.criteria[(turn + i) % len(voice.criteria)] for i in range(_PER_STAGE)]
    if step is None:
        criteria = [_ambiguous(voice, text) for text in patterns]
        return {"label": design.midpoint_label, "criteria": criteria}
    degree, often = voice.ladder[step], FREQUENCIES[step]
    label = pattern.format(degree=degree)
    return {
        "label": label[0].upper() + label[1:],
        "criteria": [text.format(degree=degree, often=often) for text in patterns],
    }


def _ambiguous(voice: Voice, pattern: str) -> str:
    text = pattern.format(degree="mixed", often="in mixed instances")
    return f"{text}, and as much in the text points the other way"


def rate_rubric(stages: tuple[Listed, ...]) -> str:
    """Return the critic's JSON: observability and discriminability in [0, 1]."""
    scores = {"observability": observability(stages), "discriminability": discriminability(stages)}
    return json.dumps({name: round(score, 2) for name, score in scores.items()})


def observability(stages: tuple[Listed, ...]) -> float:
    """Return 1 minus 5 times the share of vague words in the criteria, at least 0."""
    words = vague = 0
    for _, criteria in stages:
        for text in criteria:
            words += len(text.split())
            vague += len(vague_matcher().find(text.lower()))
    return max(0.0, 1 - 5 * vague / words) if words else 0.0


def discriminability(stages: tuple[Listed, ...]) -> float:
    """Return 1 minus the mean overlap (Jaccard) of the words of neighbouring stages."""
    sets = [_content_words(label, criteria) for label, criteria in stages]
    overlaps = [len(a & b) / len(a | b) for a, b in pairwise(sets) if a | b]
    return 1 - fmean(overlaps) if overlaps else 0.0


def _content_words(label: str, criteria: tuple[str, ...]) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", " ".join((label, *criteria)).lower()))
