"""Whether a judge of pairs may be relied on alone to compare two systems, in words."""

from collections.abc import Collection, Mapping

from judge_gym.formats import Interval, figure, side_of_0

_SAME = 1e-9


def favours(biases: Mapping[str, Interval | None]) -> str:
    """Return which systems a judge of pairs favours, beside people on the same pairs.

    `biases` are the judge's mean less people's, by system. Every system is looked at: of three,
    that which a judge favours need not be the first of two that are compared.
    """
    shown = {
        name: bias
        for name, bias in biases.items()
        if bias is not None and bias.lower is not None and bias.upper is not None
    }
    if not shown:
        return "has no labels to be compared with"
    said: list[str] = []
    for name, bias in shown.items():
        if said and _mirrored(shown.values()):
            continue
        if side := side_of_0(bias):
            verb = "favours" if side > 0 else "disfavours"
            said.append(f"{verb} {name} by {figure(bias, 2)}")
    if said:
        return f"{' and '.join(said)}, so do not rely on it alone"
    values = "; ".join(f"{name}: {figure(bias, 2)}" for name, bias in shown.items())
    return f"favours neither as far as labels show ({values})"


def _mirrored(biases: Collection[Interval]) -> bool:
    """Return whether two systems met only each other: what one gains, the other loses."""
    return len(biases) == 2 and abs(sum(bias.estimate or 0.0 for bias in biases)) < _SAME
