"""Thresholds of a study: the least that the interval of a figure of each judge must lie above."""

from collections.abc import Mapping
from typing import Any

from judge_gym.calibration.checks import Check
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.judges.gate_checks import at_least
from judge_gym.metrics.estimate import not_estimable
from judge_gym.report.judge_study import StudyReport
from judge_gym.studies.study import Study


def check_figures(study: Study[Any], least: Mapping[str, float], option: str) -> None:
    """Raise `ConfigError` for a figure that the study does not have; `option` gave them."""
    for name in least:
        if name not in study.figures:
            meant = did_you_mean(name, sorted(study.figures))
            raise ConfigError(
                f"{option} names {name!r}.", f"{meant}Use {', '.join(study.figures)}."
            )
        if study.figures[name]:
            raise ConfigError(
                f"{option} {name} needs labels. {study.figures[name]}.",
                "Name a file of labels, or the column that holds them as `truth`.",
            )


def held(report: StudyReport[Any], least: Mapping[str, float]) -> dict[str, list[Check]]:
    """Return judge → whether the interval of each of its figures lies above its threshold."""
    return {
        judge: [
            at_least(
                name,
                of_judge.get(name) or not_estimable(name, "there is no such figure here"),
                value,
                f"{name} is more than {value:g}",
                "",
            )
            for name, value in least.items()
        ]
        for judge, of_judge in report.figures.items()
    }
