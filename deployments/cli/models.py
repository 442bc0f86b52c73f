"""Whom a sweep asks, checked before anything is started or spent."""

from typing import TYPE_CHECKING

from judge_gym.design.sweep import Sweep
from judge_gym.settings import settings

if TYPE_CHECKING:
    from judge_gym.llm.providers import Provider


def providers_of(sweep: Sweep) -> "list[Provider]":
    """Return the providers of a sweep's judges, rubric owners and utility model, by name.

    Raises `ConfigError` for a model that no provider serves, or when no utility model is named.
    """
    from judge_gym.lab.sweeps import models_of, utility_model
    from judge_gym.llm.providers import load_providers

    known = load_providers(settings().providers_file)
    experiments = list(sweep.experiments())
    asked = [known.of(model) for model in sorted(models_of(experiments))]
    asked.append(known.of(utility_model(settings(), sweep, experiments)))
    return [known.by_name[name] for name in sorted({provider.name for provider in asked})]
