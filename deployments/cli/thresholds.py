"""Exit codes of verdicts and thresholds: 0 reached, 1 not reached, 3 the data cannot tell."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.output import CANNOT_TELL, show_checks
from judge_gym.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from judge_gym.calibration.checks import Check, Result
    from judge_gym.report.judge_study import StudyReport
    from judge_gym.studies import Study

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


def least_of_study(given: Sequence[str] | None, study: "Study[Any]") -> dict[str, float]:
    """Do the same for the figures of a study; raises for one that it does not have here, too."""
    from judge_gym.studies.thresholds import check_figures

    least = least_of(given, study.figures)
    check_figures(study, least, "--fail-under")
    return least


def exit_by(results: "Iterable[Result]") -> None:
    """Exit with 1 if one fails, else with `CANNOT_TELL` if one does not pass."""
    from judge_gym.calibration.checks import Result

    found = set(results)
    if Result.FAILS in found:
        raise typer.Exit(1)
    if not found <= {Result.PASSES}:
        raise typer.Exit(CANNOT_TELL)


def shown_held(report: "StudyReport[Any]", least: Mapping[str, float]) -> "list[Check]":
    """Print and return whether the interval of each judge's figures lies above its threshold."""
    from judge_gym.studies.thresholds import held

    by_judge = held(report, least) if least else {}
    for judge, checks in by_judge.items():
        show_checks(f"Thresholds, {judge}", checks)
    return [check for checks in by_judge.values() for check in checks]
