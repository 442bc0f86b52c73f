"""What a model takes of a request: pure functions of data, for direct calls and batches alike.

The data are litellm's model list (read by `client.listed_capabilities`), the `models` tables of
the providers file, which win over it, and what refusals taught during the run.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from judge_gym.errors import ConfigError
from judge_gym.llm.providers import ModelRules, Provider, Providers
from judge_gym.model_names import is_simulated_model
from judge_gym.records.calls import LIMITS, Request


@dataclass(frozen=True)
class Capabilities:
    """What one model takes."""

    refused: frozenset[str] = frozenset()
    """Parameters that it refuses, ignores, or does not have: they are never sent."""
    exclusive: frozenset[str] = frozenset()
    """Parameters of which it takes one at a time."""
    defaults: Mapping[str, float] = field(default_factory=dict)
    """The documented values of parameters that a request leaves out."""
    thinking_tokens: int = 0
    """Room for thinking, on top of the longest answer."""
    longest_output: int | None = None
    """The highest output limit that it takes, in tokens."""


def taken_by(providers: Providers, model: str) -> Capabilities:
    """Return what a model takes, by the providers file and litellm's list; sends nothing."""
    provider, name = providers.of(model), model.partition("/")[2]
    listed = Capabilities()
    if not is_simulated_model(model):
        # It takes seconds to import.
        from judge_gym.llm.client import listed_capabilities

        listed = listed_capabilities(provider, name)
    return capabilities_of(provider, name, listed)


def capabilities_of(provider: Provider, name: str, listed: Capabilities) -> Capabilities:
    """Return what a model takes: as `listed`, corrected by the providers file.

    Of several patterns that match the name, the last that sets a key wins.
    """
    rules: dict[str, Any] = {}
    for pattern, given in provider.models.items():
        if fnmatchcase(name, pattern):
            rules |= given.model_dump(exclude_none=True)
    found = ModelRules(**rules)
    thinking = found.thinking_tokens
    return replace(
        listed,
        refused=listed.refused if found.refuses is None else frozenset(found.refuses),
        exclusive=frozenset(found.exclusive or ()),
        defaults={
            str(parameter): value
            for values in (provider.defaults, found.defaults or {})
            for parameter, value in values.items()
        },
        thinking_tokens=listed.thinking_tokens if thinking is None else thinking,
    )


def fitted(model: str, asked: Mapping[str, Any], taken: Capabilities) -> Request:
    """Return a request with what the model takes of what is asked.

    A value that is left out counts as applied when it is the model's documented default. Raises
    `ConfigError` for values of which the model takes only one.
    """
    sent = {name: value for name, value in asked.items() if name not in taken.refused}
    for name in left_out(model, sent, taken):
        del sent[name]
    (limit_name,) = (name for name in LIMITS if name in asked)
    limit = asked[limit_name] + taken.thinking_tokens
    if taken.thinking_tokens and taken.longest_output:
        limit = max(asked[limit_name], min(limit, taken.longest_output))
    sent = {name: value for name, value in sent.items() if name not in LIMITS}
    # A model that refuses one name of the limit has it under the other.
    sent["max_completion_tokens" if limit_name in taken.refused else limit_name] = limit
    gone = asked.keys() - sent.keys() - set(LIMITS)
    lost = {name for name in gone if taken.defaults.get(name) != asked[name]}
    return Request(sent, tuple(sorted(lost)))


def left_out(model: str, sent: Mapping[str, Any], taken: Capabilities) -> frozenset[str]:
    """Return which parameters to leave out so that no two are sent that exclude each other."""
    rivals = sorted(taken.exclusive & sent.keys())
    if len(rivals) < 2:
        return frozenset()
    at_default = [name for name in rivals if taken.defaults.get(name) == sent[name]]
    if len(rivals) - len(at_default) > 1:
        values = " and ".join(f"{name} {sent[name]:g}" for name in rivals)
        defaults = ", ".join(
            f"{name}: {taken.defaults[name]:g}" for name in rivals if name in taken.defaults
        )
        raise ConfigError(
            f"{model} takes only one of {' and '.join(rivals)} in a request, and {values} are set.",
            f"Set one of them to its default ({defaults or 'name it in the providers file'}), or "
            "use another model.",
        )
    kept = next((name for name in rivals if name not in at_default), rivals[0])
    return frozenset(rivals) - {kept}


_NOT_TAKEN = re.compile(
    r"unsupported|not support|deprecated|not permitted|unknown name|unrecognized"
    r"|cannot both|unavailable|only one",
    re.IGNORECASE,
)
_ONE_OF_THEM = re.compile(r"\b(both|only one|one of|together)\b", re.IGNORECASE)
_OTHER_NAMES = {
    "top_p": ("topP",),
    "max_tokens": ("maxOutputTokens", "max_output_tokens"),
    "response_format": ("responseSchema", "response_schema", "responseJsonSchema", "output_config"),
}


def taught(
    message: str, named: str | None, sent: Mapping[str, Any], taken: Capabilities
) -> Capabilities:
    """Return what a refused request teaches; `taken` itself when it names no parameter clearly.

    `named` is the parameter that the error names beside its message, as OpenAI's errors do.
    """
    if not _NOT_TAKEN.search(message):
        return taken
    found = {name for name in sent if named == name or _is_named(name, message)}
    if not found:
        return taken
    if len(found) > 1 and _ONE_OF_THEM.search(message):
        return replace(taken, exclusive=taken.exclusive | found)
    return replace(taken, refused=taken.refused | found)


def _is_named(name: str, message: str) -> bool:
    names = "|".join(map(re.escape, (name, *_OTHER_NAMES.get(name, ()))))
    return re.search(rf"(?<![\w-])({names})(?![\w-])", message) is not None


def unapplied(model: str, asked: Iterable[Mapping[str, float]], taken: Capabilities) -> list[str]:
    """Return what a model will not apply of the sampling parameters asked of it; sentences.

    Raises `ConfigError` for values of which the model takes only one.
    """
    lost: dict[str, set[float]] = {}
    for parameters in asked:
        for name in fitted(model, parameters, taken).not_applied:
            lost.setdefault(name, set()).add(parameters[name])
    return [_told(model, name, values, taken) for name, values in sorted(lost.items())]


def _told(model: str, name: str, values: set[float], taken: Capabilities) -> str:
    if name == "seed":
        return f"{model} takes no seed: the same call may be answered differently."
    given = ", ".join(f"{value:g}" for value in sorted(values))
    used = f"its default, {taken.defaults[name]:g}" if name in taken.defaults else "its default"
    return f"{model} does not apply {name} {given}: it uses {used}."
