"""Values of sampling parameters in files that their model does not apply."""

from dataclasses import replace
from typing import Protocol

from judge_gym.design.config import Node, shown
from judge_gym.errors import ConfigError
from judge_gym.llm.capabilities import as_text, taken_by, unsupported
from judge_gym.llm.providers import load_providers
from judge_gym.records.calls import Parameters
from judge_gym.settings import settings


class Sampled(Protocol):
    """What names a model and how it is sampled: a judge, a rater, an arbiter or a candidate."""

    @property
    def model(self) -> str: ...
    @property
    def temperature(self) -> float: ...
    @property
    def max_tokens(self) -> int: ...


def check_applied(sampled: Sampled, node: Node) -> None:
    """Raise `ConfigError` for a value that the model does not apply, at its place in the file.

    Nothing is checked for a model whose provider is unknown, which the run reports.
    """
    providers = load_providers(settings().providers_file)
    if sampled.model.partition("/")[0] not in providers.by_name:
        return
    top_p = getattr(sampled, "top_p", 1.0)
    asked = Parameters(sampled.temperature, top_p, sampled.max_tokens, seed=0).asked()
    taken = taken_by(providers, sampled.model)
    try:
        found = unsupported(sampled.model, [asked], taken)
    except ConfigError as error:
        place = node.place
        raise ConfigError(
            f"{place.file}, line {place.line}: {error.message}", error.remedy
        ) from error
    for lost in found:
        if not hasattr(sampled, lost.axis):
            continue
        written = lost.axis in node.items
        place = node.items[lost.axis].place if written else node.place
        if not written:
            key = f"{place.key}.{lost.axis}" if place.key else lost.axis
            place = replace(place, key=key)
        fix = "a value that it applies"
        if lost.default is not None:
            fix = f"`{lost.axis}: {as_text(lost.default)}`"
        raise place.problem(
            f"is {shown(getattr(sampled, lost.axis))}{'' if written else ' by default'}, which "
            f"{sampled.model} does not apply: {lost.used}",
            f"Write {fix}. `judge-gym models show {sampled.model}` prints what it applies, "
            f"{providers.file} corrects it.",
        )
