"""Labels as scores: what is unambiguous is taken, anything else is an error, nothing is dropped."""

from collections.abc import Mapping

from judge_gym.errors import ConfigError
from judge_gym.evidence.numbers import plain_number
from judge_gym.judges.scale import Scale
from judge_gym.records.items import Label


def label_on_scale(judge: str, scale: Scale, given: Label) -> float:
    """Return a label on a scale: a number, as of the mean of several people, or a step's name."""
    if isinstance(given, str):
        steps = {name.strip().lower(): step for step, name in scale.named}
        if given.lower() in steps and len(steps) == len(scale.named):
            return float(steps[given.lower()])
    elif scale.lowest <= given <= scale.highest:
        return float(given)
    between = f"from {scale.lowest} to {scale.highest}"
    steps_named = ", ".join(scale.anchors)
    names = f" or one of {steps_named}" if steps_named else ""
    comma = isinstance(given, str) and plain_number(given, comma=True) != plain_number(given)
    raise ConfigError(
        f"Judge {judge!r} has scores {between}{f', named {steps_named}' if steps_named else ''}.",
        f"{'Write a point in place of a decimal comma. ' if comma else ''}Use a number {between}"
        f"{names}, or leave it empty.",
    )


def label_of_verdict(judge: str, scores: Mapping[str, float], given: Label) -> float:
    """Return the score of the verdict that a label names, or that it gives itself."""
    by_name = {name.lower(): score for name, score in scores.items()}
    if isinstance(given, str) and given.lower() in by_name:
        return by_name[given.lower()]
    if given in scores.values():
        return float(given)
    allowed = ", ".join(f"{name} (or {score:g})" for name, score in scores.items())
    raise ConfigError(
        f"Judge {judge!r} has the verdicts {', '.join(scores)}.",
        f"Use {allowed}, or leave it empty.",
    )


def check_on(scale: tuple[float, float], given: float) -> None:
    """Raise `ConfigError` for a label that is not on the scale that a file says labels have."""
    lowest, highest = scale
    if not lowest <= given <= highest:
        raise ConfigError(
            f"The label_scale is {lowest:g} to {highest:g}.",
            f"Use a number from {lowest:g} to {highest:g}, leave it empty, or change label_scale.",
        )
