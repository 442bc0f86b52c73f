"""Labels as scores: what is unambiguous is taken, anything else is an error, nothing is dropped."""

from collections.abc import Iterable, Mapping, Sequence

from judge_gym.counting import first_of
from judge_gym.errors import ConfigError
from judge_gym.evidence.numbers import plain_number
from judge_gym.judges.scale import Scale
from judge_gym.records.items import Label
from judge_gym.scale_ends import USUAL_ENDS, doubted_end, named_end, never_reached, wider


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


def numbers_in(labels: Iterable[Label | None]) -> list[float]:
    """Return the labels that are numbers."""
    return [float(one) for one in labels if isinstance(one, float | int)]


def wider_scale(scale: Scale, labels: Iterable[Label | None]) -> str:
    """Return what to write if labels off a scale are on it, and a space; "" where none may be."""
    said = wider(scale.lowest, scale.highest, numbers_in(labels))
    return f"{said} " if said else ""


def doubted_scale(
    scale: tuple[float, float],
    column: str,
    by_person: Mapping[str, Sequence[float]],
    *,
    of_labels: bool,
) -> str:
    """Return that labels may be on a scale that ends lower, and what to write; "" if they are not.

    `scale` is the judge's, or where `of_labels` that which a file says labels have. `by_person`
    are the labels of each.
    """
    lowest, highest = scale
    low: dict[str, float] = {}
    for person, given in by_person.items():
        top = max(given, default=lowest)
        if (end := doubted_end(scale, top, len(given), column)) is not None:
            # The mean or the best of few labels may be below the end of their scale.
            is_named = named_end(column) is not None
            low[person] = end if is_named else next(one for one in (*USUAL_ENDS, end) if one >= end)
    if not low and named_end(column) is None:
        together = [one for given in by_person.values() for one in given]
        if (end := never_reached(scale, together)) is not None:
            low = dict.fromkeys(by_person, end)
    if not low or (end := max(low.values())) >= highest:
        return ""
    top = max(max(by_person[person]) for person in low)
    if len(low) < len(by_person):
        whose, mend = f" of {first_of(list(low))}", f"bring them to {lowest:g} to {highest:g}"
    elif of_labels:
        whose, mend = "", f"write `label_scale: [{lowest:g}, {end:g}]`"
    else:
        whose = ""
        mend = (
            f"write `highest: {end:g}` in the judge's file, or bring the labels to {lowest:g} to "
            f"{highest:g}"
        )
    of = "label_scale" if of_labels else "the judge's scale"
    return (
        f"Check the scale: {column}{whose} has no value above {top:g}, and {of} ends at "
        f"{highest:g}. If labels end at {end:g}, {mend}: agreement and means depend on it."
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
