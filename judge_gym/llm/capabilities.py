"""What a model takes of a request: pure functions of data, for direct calls and batches alike.

The data are litellm's model list and code, the providers file, which
wins over it, and what refusals taught during the run. Every value carries its source.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal, get_args

from judge_gym.design.experiment import Effort
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.llm import listed
from judge_gym.llm.providers import (
    BatchRoute,
    LimitField,
    Parameter,
    Provider,
    Providers,
    Range,
    Rules,
)
from judge_gym.model_names import is_simulated_model, planted_name
from judge_gym.planted.families import served_models
from judge_gym.records.calls import LIMITS, Call, Request

Source = Literal["litellm", "file", "taught"]
SAMPLING: frozenset[Parameter] = frozenset({"temperature", "top_p", "logprobs"})
"""Parameters that some models take only when they do not think."""


@dataclass(frozen=True)
class Exclusive:
    """Parameters of which a request may have one."""

    names: frozenset[Parameter]
    at_temperature_0: bool = False
    """Whether they exclude each other at temperature 0 only."""

    def rivals(self, sent: Mapping[str, Any]) -> list[Parameter]:
        """Return which of them a request has, when that is more than one too many."""
        if self.at_temperature_0 and sent.get("temperature") != 0:
            return []
        rivals = sorted(self.names & sent.keys())
        return rivals if len(rivals) > 1 else []


@dataclass(frozen=True)
class Capability:
    """What one model takes."""

    refused: frozenset[Parameter] = frozenset()
    """Parameters that it refuses, ignores, or does not have: they are never sent."""
    exclusive: tuple[Exclusive, ...] = ()
    defaults: Mapping[str, float] = field(default_factory=dict)
    """The documented values of parameters that a request leaves out."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """The lowest and the highest value of a parameter."""
    limit_field: LimitField = "max_tokens"
    longest_output: int | None = None
    """The highest output limit that it takes, in tokens."""
    context: int | None = None
    """The longest prompt, in tokens."""
    json_schema: bool = False
    logprobs: int = 0
    """The most alternatives to a token that it gives with probabilities; 0: none at all."""
    efforts: tuple[Effort, ...] = ()
    """The values of `reasoning_effort` that it takes."""
    default_effort: Effort | None = None
    """The effort of a request that sets none; None: unknown."""
    thinks: bool = False
    """Whether it thinks when a request sets no effort."""
    thinking_tokens: int = 0
    """Room for the thinking of a request without an effort, on top of the longest answer."""
    effort_tokens: Mapping[Effort, int] = field(default_factory=dict)
    """Room for thinking by effort."""
    sampling_only_at_none: bool = False
    """Whether it takes temperature, top_p and logprobs only at effort none."""
    batch: Literal["none"] | BatchRoute = "none"
    """The batch API that large amounts of work use."""
    retired: date | None = None
    """The day from which on calls fail."""
    sources: Mapping[str, Source] = field(default_factory=dict)
    """Field → where its value comes from; a field without a source is at its default here."""

    def room(self, effort: Effort | None) -> int:
        """Return the tokens for thinking at an effort, on top of the longest answer."""
        if effort is None or effort not in self.efforts:
            return self.thinking_tokens
        return self.effort_tokens.get(effort, 0)

    def limit(self, longest_answer: float, effort: Effort | None) -> float:
        """Return the output limit that is sent: the longest answer and room for thinking."""
        limit = longest_answer + self.room(effort)
        return min(limit, self.longest_output) if self.longest_output else limit

    def takes(self, name: str, value: Any, effort: Effort | None) -> bool:
        """Whether it applies a value when the request sets this effort."""
        if name == "reasoning_effort":
            return value in self.efforts and name not in self.refused
        if name == "logprobs" and not self.logprobs:
            return False
        thinking = (effort if effort in self.efforts else self.default_effort) != "none"
        if name in self.refused or (thinking and self.sampling_only_at_none and name in SAMPLING):
            return False
        if name not in self.ranges:
            return True
        lowest, highest = self.ranges[name]
        return bool(lowest <= value <= highest)

    def default_of(self, name: str) -> Any:
        """Return the documented value of a parameter that a request leaves out; None: unknown."""
        if name == "reasoning_effort":
            return self.default_effort
        return self.defaults.get(name)


def taken_by(providers: Providers, model: str) -> Capability:
    """Return what a model takes, by the providers file and litellm's list; sends nothing."""
    provider, name = providers.of(model), model.partition("/")[2]
    known = Capability()
    if not is_simulated_model(model):
        known = _listed_capability(provider, name)
    return capability_of(provider, name, known)


def _listed_capability(provider: Provider, name: str) -> Capability:
    """Return what a model takes by litellm's own list and code; sends nothing."""
    # It imports litellm, which takes a second.
    from judge_gym.llm.sendable import sendable

    prefix = provider.litellm or provider.name
    entry, can_send = listed.entry(prefix, name), sendable(prefix, name)
    reasons = bool(entry.get("supports_reasoning"))
    always = bool(entry.get("thinking_always_on"))
    default = entry.get("default_reasoning_effort") or ("none" if entry and not reasons else None)
    refused = can_send.refused
    if entry.get("supports_sampling_params") is False:
        refused |= {"temperature", "top_p"}
    levels = entry.get("reasoning_effort_levels") or can_send.efforts
    efforts = [one for one in can_send.efforts if one in levels and not (always and one == "none")]
    values: dict[str, Any] = {
        "refused": refused,
        "limit_field": can_send.limit_field,
        "longest_output": entry.get("max_output_tokens"),
        "context": entry.get("max_input_tokens"),
        "json_schema": bool(entry.get("supports_response_schema")),
        "logprobs": can_send.logprobs,
        "efforts": tuple(efforts) if reasons else (),
        "default_effort": default,
        "thinks": always or (provider.thinks and reasons and default != "none"),
        "sampling_only_at_none": can_send.sampling_only_at_none,
        "retired": _date(entry.get("deprecation_date")),
    }
    sources: dict[str, Source] = dict.fromkeys(values, "litellm")
    return Capability(**values, sources=sources)


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


_AS_IN_THE_FILE = (
    "limit_field",
    "longest_output",
    "context",
    "json_schema",
    "logprobs",
    "efforts",
    "default_effort",
    "sampling_only_at_none",
    "retired",
)
"""Fields whose value is that of a key of the providers file, which has their name."""
_BY_NAME = ("defaults", "ranges", "effort_tokens")
"""Fields whose keys in the providers file are merged over all rules."""


def capability_of(provider: Provider, name: str, known: Capability) -> Capability:
    """Return what a model takes: as `known`, corrected by the providers file.

    Of several rules, the last that sets a key wins; `defaults`, `ranges` and `effort_tokens` are
    merged name by name.
    """
    of_model = provider.rules_of(name)
    given: dict[str, Any] = {}
    for rules in (provider, *of_model):
        for key in Rules.model_fields.keys() & rules.model_fields_set:
            value = getattr(rules, key)
            given[key] = given.get(key, {}) | value if key in _BY_NAME else value
    changes = {key: given[key] for key in (*_AS_IN_THE_FILE, *_BY_NAME) if key in given}
    if "refuses" in given:
        changes["refused"] = frozenset(given["refuses"])
    if exclusive := _exclusive(given):
        changes["exclusive"] = exclusive
    if provider.batch:
        changes["batch"] = provider.batch
    tokens = [one.thinking_tokens for one in of_model if one.thinking_tokens is not None]
    if tokens:
        changes["thinks"] = tokens[-1] > 0
    elif "default_effort" in given:
        changes["thinks"] = given["default_effort"] != "none"
    room = tokens[-1] if any(tokens[-1:]) else provider.thinking_tokens
    sources: dict[str, Source] = {**known.sources, **dict.fromkeys(changes, "file")}
    corrected = replace(known, **changes, sources=sources)
    by_effort: dict[Effort, int] = {
        effort: room for effort in corrected.efforts if effort != "none"
    }
    return replace(
        corrected,
        thinking_tokens=room if corrected.thinks else 0,
        effort_tokens={**by_effort, **corrected.effort_tokens},
    )


def _exclusive(given: Mapping[str, Any]) -> tuple[Exclusive, ...]:
    found = []
    if always := given.get("exclusive"):
        found.append(Exclusive(frozenset(always)))
    if greedy := given.get("greedy_excludes"):
        found.append(Exclusive(frozenset({"temperature", *greedy}), at_temperature_0=True))
    return tuple(found)


def request_of(call: Call, taken: Capability) -> Request:
    """Return the request of a call with what its model takes; that for an embedding is its text.

    Raises `ConfigError` as `fitted`.
    """
    if call.parameters.embeds:
        return Request({})
    return fitted(call.model, call.parameters.asked(), taken)


def fitted(model: str, asked: Mapping[str, Any], taken: Capability) -> Request:
    """Return a request with what the model takes of what is asked.

    A value that is left out counts as applied when it is the model's documented default. Raises
    `ConfigError` for values of which the model takes only one.
    """
    (limit_name,) = (name for name in LIMITS if name in asked)
    wanted = {name: value for name, value in asked.items() if name != limit_name}
    effort = wanted.get("reasoning_effort")
    sent = {name: value for name, value in wanted.items() if taken.takes(name, value, effort)}
    for name in left_out(model, sent, taken):
        del sent[name]
    lost = {name for name in wanted.keys() - sent.keys() if taken.default_of(name) != wanted[name]}
    if taken.sampling_only_at_none and "none" in taken.efforts and sent.keys() & SAMPLING:
        # Some versions refuse sampling parameters unless the default, none, is spelled out.
        sent["reasoning_effort"] = "none"
    if "logprobs" in sent:
        sent["top_logprobs"] = taken.logprobs
    limit = taken.limit(asked[limit_name], effort)
    if limit < asked[limit_name]:
        lost.add("max_tokens")
    sent[taken.limit_field] = limit
    return Request(sent, tuple(sorted(lost)))


def left_out(model: str, sent: Mapping[str, Any], taken: Capability) -> frozenset[str]:
    """Return which parameters to leave out so that no two are sent that exclude each other."""
    gone: set[str] = set()
    for exclusive in taken.exclusive:
        if rivals := exclusive.rivals(sent):
            gone |= set(rivals) - {_kept(model, rivals, sent, taken)}
    return frozenset(gone)


def _kept(
    model: str, rivals: list[Parameter], sent: Mapping[str, Any], taken: Capability
) -> Parameter:
    """Return the one of these parameters that is not at its default, the first when all are."""
    chosen = [name for name in rivals if taken.default_of(name) != sent[name]]
    if len(chosen) > 1:
        values = " and ".join(f"{name} {sent[name]:g}" for name in rivals)
        defaults = ", ".join(
            f"{name}: {taken.defaults[name]:g}" for name in rivals if name in taken.defaults
        )
        raise ConfigError(
            f"{model} takes only one of {' and '.join(rivals)} in a request, and {values} are set.",
            f"Set one of them to its default ({defaults or 'name it in the providers file'}), or "
            "use another model.",
        )
    return chosen[0] if chosen else rivals[0]


_NOT_TAKEN = re.compile(
    r"unsupported|not support|deprecated|not permitted|unknown name|unrecognized"
    r"|cannot both|unavailable|only one",
    re.IGNORECASE,
)
_ONE_OF_THEM = re.compile(r"\b(both|only one|one of|together)\b", re.IGNORECASE)
_OTHER_NAMES = {
    "top_p": ("topP",),
    "seed": ("random_seed",),
    "max_tokens": ("maxOutputTokens", "max_output_tokens"),
    "response_format": ("responseSchema", "response_schema", "responseJsonSchema", "output_config"),
    "logprobs": ("top_logprobs", "responseLogprobs"),
    "reasoning_effort": ("reasoning", "thinkingConfig", "thinkingLevel"),
}


def taught(
    message: str, named: str | None, sent: Mapping[str, Any], taken: Capability
) -> Capability:
    """Return what a refused request teaches; `taken` itself when it names no parameter clearly.

    `named` is the parameter that the error names beside its message, as OpenAI's errors do.
    """
    if not _NOT_TAKEN.search(message):
        return taken
    known = (name for name in get_args(Parameter) if name in sent)
    found = frozenset(name for name in known if named == name or _is_named(name, message))
    if not found:
        return taken
    if len(found) > 1 and _ONE_OF_THEM.search(message):
        return _learned(taken, exclusive=(*taken.exclusive, Exclusive(found)))
    if "max_tokens" in found:  # A model that refuses one name of the limit takes the other.
        return _learned(taken, limit_field="max_completion_tokens")
    return _learned(taken, refused=taken.refused | found)


def _learned(taken: Capability, **change: Any) -> Capability:
    sources: dict[str, Source] = {**taken.sources, **dict.fromkeys(change, "taught")}
    return replace(taken, **change, sources=sources)


def _is_named(name: str, message: str) -> bool:
    names = "|".join(map(re.escape, (name, *_OTHER_NAMES.get(name, ()))))
    return re.search(rf"(?<![\w-])({names})(?![\w-])", message) is not None


@dataclass(frozen=True)
class Unsupported:
    """Values of a parameter that a model does not apply."""

    model: str
    axis: Parameter
    values: tuple[Any, ...]
    used: str
    """What the model does instead."""
    default: Any = None
    """The one value that it applies, where that is its documented default."""
    only_at_none: bool = False
    """Whether it applies them at reasoning effort none."""

    def __str__(self) -> str:
        if self.axis == "seed":
            return f"{self.model} takes no seed: the same call may be answered differently."
        given = ", ".join(map(as_text, self.values))
        return f"{self.model} does not apply {self.axis} {given}: {self.used}."

    @property
    def note(self) -> str:
        """The same as a line of a plan."""
        return f"{'Note' if self.axis == 'seed' else 'Not applied'}: {self}"


def unsupported(
    model: str, asked: Iterable[Mapping[str, Any]], taken: Capability
) -> list[Unsupported]:
    """Return what a model will not apply of the parameters asked of it.

    A seed that is not taken is among them, though it is no axis. Raises `ConfigError` for values
    of which the model takes only one.
    """
    lost: dict[Parameter, set[Any]] = {}
    for parameters in asked:
        names = set(fitted(model, parameters, taken).not_applied)
        for name in get_args(Parameter):
            if name in names:
                lost.setdefault(name, set()).add(parameters[name])
    return [
        Unsupported(
            model,
            name,
            tuple(sorted(values)),
            _used(name, taken),
            taken.default_of(name) if name in taken.refused else None,
            name not in taken.refused and _only_at_none(name, taken) and "none" in taken.efforts,
        )
        for name, values in sorted(lost.items())
    ]


def _only_at_none(name: Parameter, taken: Capability) -> bool:
    return name in SAMPLING and taken.sampling_only_at_none


def _used(name: Parameter, taken: Capability) -> str:
    if name == "max_tokens":
        return f"it takes at most {taken.longest_output}"
    if name == "logprobs":
        return "it gives no token probabilities"
    if name == "reasoning_effort":
        return f"it takes {', '.join(taken.efforts) or 'no effort'}"
    if name not in taken.refused:
        if _only_at_none(name, taken):
            return "it takes it only at reasoning_effort none"
        if name in taken.ranges:
            lowest, highest = taken.ranges[name]
            return f"it takes {lowest:g} to {highest:g}"
    default = taken.default_of(name)
    return "it uses its default" + ("" if default is None else f", {as_text(default)}")


def as_text(value: Any) -> str:
    """Return a value of a parameter as people write it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def retirement(model: str, taken: Capability, today: date) -> str | None:
    """Return a warning about a model that its provider has retired or is about to."""
    if taken.retired is None:
        return None
    source = "litellm's list" if taken.sources.get("retired") == "litellm" else "the providers file"
    when = "was retired" if taken.retired <= today else "will be retired"
    return f"{model} {when} on {taken.retired.isoformat()}, according to {source}."


def check_named(providers: Providers, model: str) -> None:
    """Raise `ConfigError` for a model that no provider serves, or that the simulator does not have.

    The simulator would take an unknown name for that of a real model.
    """
    provider = providers.of(model).name
    served = [planted_name(one) for one in served_models()]
    if is_simulated_model(model) and planted_name(model) not in served:
        close = did_you_mean(planted_name(model), served)
        hint = close.replace("Did you mean ", f"Did you mean {provider}/")
        raise ConfigError(
            f"{model} is no simulated judge.", f"{hint}The simulator has {', '.join(served)}."
        )


def unlisted(providers: Providers, model: str) -> str | None:
    """Return a warning about a model whose name may be mistyped.

    None where the names are the user's: at an address of theirs, or in the providers file.
    """
    provider, name = providers.of(model), model.partition("/")[2]
    if (
        is_simulated_model(model)
        or provider.address()
        or (name in (*provider.models, *provider.prices))
    ):
        return None
    prefix = provider.litellm or provider.name
    names = listed.names(prefix)
    if not names or listed.entry(prefix, name):
        return None
    hint = did_you_mean(name, names)
    return f"{model} is in no list of models; only a call shows whether it exists. {hint}".strip()
