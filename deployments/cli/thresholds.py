"""Exit codes of verdicts and thresholds: 0 reached, 1 not reached, 3 the data cannot tell."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.output import CANNOT_TELL, show_checks
from judge_gym.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from judge_gym.calibration.checks import Check, Result
    from judge_gym.metrics.estimate import Estimate

FailUnder = Annotated[
    list[str] | None,
    typer.Option(
        help="Exit with 1 if a figure's interval is below, as NAME=0.6; may be repeated.",
        show_default=False,
    ),
]
ByVerdict = Annotated[
    bool,
    typer.Option(
        "--exit-code", help=f"Exit with 1 if the verdict is no, {CANNOT_TELL} if it cannot tell."
    ),
]


def least_of(given: Sequence[str] | None, names: Collection[str]) -> dict[str, float]:
    """Return figure → least value of `--fail-under`; raises `ConfigError` for anything else."""
    least: dict[str, float] = {}
    for text in given or ():
        name, _, value = text.partition("=")
        try:
            least[name] = float(value)
        except ValueError:
            least[name] = -1
        if name not in names or not 0 <= least[name] < 1:
            comma = "Write a decimal point, no comma. " if "," in value else ""
            meant = "" if name in names else did_you_mean(name, sorted(names))
            raise ConfigError(
                f"--fail-under is {text!r}.",
                f"{comma}{meant}Use NAME=VALUE with a name of {', '.join(names)} and a "
                "value from 0 to below 1.",
            )
    return least


def least_of_study(given: Sequence[str] | None, figures: Mapping[str, str]) -> dict[str, float]:
    """Do the same for a study with these `figures`, and why it has none of a name.

    Raises `ConfigError` for one that it cannot have, too.
    """
    least = least_of(given, figures)
    for name in least:
        if figures[name]:
            raise ConfigError(
                f"--fail-under {name} needs labels. {figures[name]}.",
                "Name a file of labels, or the column that holds them as `truth`.",
            )
    return least


def exit_by(results: "Iterable[Result]") -> None:
    """Exit with 1 if one fails, else with `CANNOT_TELL` if one does not pass."""
    from judge_gym.calibration.checks import Result

    found = set(results)
    if Result.FAILS in found:
        raise typer.Exit(1)
    if not found <= {Result.PASSES}:
        raise typer.Exit(CANNOT_TELL)


def held(
    figures: "Mapping[str, Mapping[str, Estimate]]", least: Mapping[str, float]
) -> "list[Check]":
    """Print and return whether the interval of each judge's figures lies above its threshold."""
    from judge_gym.judges.gate_checks import at_least
    from judge_gym.metrics.estimate import not_estimable

    checks = []
    for judge, of_judge in figures.items():
        own = [
            at_least(
                name,
                of_judge.get(name) or not_estimable(name, "there is no such figure here"),
                value,
                f"{name} is more than {value:g}",
                "",
            )
            for name, value in least.items()
        ]
        if own:
            show_checks(f"Thresholds, {judge}", own)
        checks += own
    return checks
