"""Providers as data: which litellm prefix, address, key and limit a model string means."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urljoin, urlsplit

from pydantic import (
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from judge_gym.design.config import Node, fault_reason, read_field, read_model, read_text
from judge_gym.design.experiment import Effort
from judge_gym.design.fields import Frozen, Legal
from judge_gym.design.toml_tree import toml_tree
from judge_gym.errors import ConfigError
from judge_gym.llm import listed
from judge_gym.model_names import is_simulated_provider
from judge_gym.shipped import DEPLOYMENTS


class Price(Frozen):
    """What a model costs, in US dollars for a million tokens."""

    prompt: float = Field(ge=0)
    """For tokens of the prompt."""
    completion: float = Field(ge=0)
    """For tokens of the answer."""
    cached: float | None = Field(default=None, ge=0)
    """For tokens of the prompt that come from the provider's cache; as others when left out."""
    cache_written: float | None = Field(default=None, ge=0)
    """For tokens of the prompt that go into the provider's cache; as others when left out."""
    reasoning: float | None = Field(default=None, ge=0)
    """For tokens of the reasoning; as those of the answer when left out."""

    def cost_usd(self, prompt: float, completion: float) -> float:
        """Return what so many tokens cost in US dollars, none of them at a price of its own."""
        return (prompt * self.prompt + completion * self.completion) / 1e6


Parameter = Literal[
    "temperature",
    "top_p",
    "seed",
    "max_tokens",
    "response_format",
    "reasoning_effort",
    "logprobs",
]
"""What a request may set."""
LimitField = Literal["max_tokens", "max_completion_tokens"]
Range = tuple[float, float]
BatchRoute = Literal["openai", "anthropic"]
"""A batch API, by the litellm prefix of the providers that have it."""


OLLAMA = ("ollama", "ollama_chat")
"""litellm's prefixes for Ollama's own API."""


class Rules(Frozen):
    """What models take, where litellm's list lacks it or has it wrong."""

    refuses: tuple[Parameter, ...] | None = None
    """Parameters that they refuse or ignore, in place of those that litellm's list has."""
    exclusive: tuple[Parameter, ...] | None = None
    """Parameters of which a request may have one."""
    greedy_excludes: tuple[Parameter, ...] | None = None
    """Parameters that a request at temperature 0 must leave at their default."""
    defaults: Annotated[
        dict[Parameter, float] | None, Legal("numbers by parameter, such as {temperature = 1}")
    ] = None
    """Documented values of parameters that a request leaves out."""
    ranges: Annotated[
        dict[Parameter, Range] | None,
        Legal("two numbers by parameter, such as {temperature = [0, 1]}"),
    ] = None
    """The lowest and the highest value of a parameter."""
    limit_field: LimitField | None = None
    """The field of the output limit."""
    longest_output: int | None = Field(default=None, ge=1)
    """The highest output limit, in tokens."""
    context: int | None = Field(default=None, ge=1)
    """The longest prompt, in tokens; sent to Ollama as `num_ctx`."""
    json_schema: bool | None = None
    """Whether they take a JSON schema for their answer."""
    logprobs: int | None = Field(default=None, ge=0, le=100)
    """The most alternatives to a token that they give with probabilities; 0: none at all."""
    efforts: tuple[Effort, ...] | None = None
    """The values of `reasoning_effort` that they take."""
    default_effort: Effort | None = None
    """The effort of a request that sets none."""
    effort_tokens: Annotated[
        dict[Effort, int] | None, Legal("whole numbers by effort, such as {low = 1024}")
    ] = None
    """Room for thinking by effort, on top of `max_tokens`; `thinking_tokens` when left out."""
    sampling_only_at_none: bool | None = None
    """Whether they take temperature, top_p and logprobs only when the effort is none."""
    retired: date | None = None
    """The day from which on calls fail."""


class ModelRules(Rules):
    """The rules of some models of a provider."""

    thinking_tokens: int | None = Field(default=None, ge=0, le=200_000)
    """Room for thinking on top of `max_tokens`; 0 for models that do not think unless asked."""


class Provider(Rules):
    """One table of the providers file; the rules are those of all its models."""

    name: str
    """The name of its table; models are named name/model."""
    litellm: str = ""
    """The prefix litellm knows it by, when it differs from the name."""
    base_url: str = ""
    """Where it is, when litellm does not know."""
    base_url_env: str = ""
    """A variable that overrides `base_url`."""
    path: str | None = None
    """The path of the address, in place of the one that the variable has."""
    api_version: str = ""
    """The version of the API, for providers that want one with each request."""
    body: Annotated[dict[str, Any], Legal("a table")] = Field(default_factory=dict)
    """Fields that are added to the body of every request."""
    variables: tuple[str, ...] = ()
    """Environment variables that it needs beside the key."""
    exercised: bool = True
    """Whether the tests of judge-gym send requests by this entry."""
    key_env: str = ""
    """The variable that holds the key, which may be kept elsewhere under a name made of this one
    (`keys.kept_name`); empty when no key is needed."""
    concurrency: int = Field(default=8, ge=1, le=10_000)
    """Requests in flight at once, over all processes."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """Requests started in any minute, over all processes; unbounded when left out."""
    tokens_per_minute: int | None = Field(default=None, ge=1)
    """Tokens used in any minute, prompt and longest answer, over all processes."""
    task_slots: int = Field(default=4, ge=1, le=1000)
    """Prefect tasks in progress at once that use it, over all processes; each holds an equal
    share of the bounds above."""
    batch: Literal[False] | BatchRoute = False
    """The batch API that large amounts of work go through; true in the file: the one it has."""
    thinks: bool = False
    """Whether the models that litellm's list has as reasoning think without being asked to."""
    thinking_tokens: int = Field(default=16_384, ge=0, le=200_000)
    """Room for the thinking of models that think, on top of `max_tokens`."""
    models: dict[str, ModelRules] = Field(default_factory=dict)
    """Corrections by a model's name or a pattern ("gpt-5*"); the last one that matches wins."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """Prices of models that litellm's list lacks or has wrong, by name without the provider.
    Simulated models cost nothing; evaluations of panels reckon as if they had these."""

    @field_validator("batch", mode="before")
    @classmethod
    def _has_the_route(cls, batch: Any, given: ValidationInfo) -> Any:
        prefix = given.data.get("litellm") or given.data.get("name")
        if batch is False or (prefix in get_args(BatchRoute) and batch in (True, prefix)):
            return batch and prefix
        raise ValueError(
            f"is {batch!r}, and litellm {prefix!r}; use false, or true where litellm is "
            f"{' or '.join(get_args(BatchRoute))}"
        )

    def rules_of(self, name: str) -> list[ModelRules]:
        """Return the rules of `models` for a model; later ones win over earlier ones."""
        return [rules for pattern, rules in self.models.items() if fnmatchcase(name, pattern)]

    def address(self) -> str:
        """Return the base URL in force, or "" for litellm's own."""
        address = os.environ.get(self.base_url_env, "") or self.base_url
        if address and self.path is not None:
            return urljoin(address, f"/{self.path.strip('/')}").rstrip("/")
        return address

    def options(self, model: str) -> dict[str, Any]:
        """Return what litellm is given with every request to a model, named without the provider.

        Ollama cuts a prompt to its own context unless the request names one.
        """
        by_file = (rules.context for rules in reversed(self.rules_of(model)))
        context = next(filter(None, by_file), self.context)
        options = {
            "api_version": self.api_version,
            "extra_body": self.body,
            "num_ctx": context if (self.litellm or self.name) in OLLAMA else None,
        }
        return {name: value for name, value in options.items() if value}


class Bounds(Frozen):
    """The table [bounds]: what all real models together may use in an hour, over all processes."""

    calls_per_hour: int | None = Field(default=None, ge=1)
    """Calls sent, retries included."""
    cost_usd_per_hour: float | None = Field(default=None, gt=0)
    """US dollars of answers whose cost is known."""


@dataclass(frozen=True)
class Providers:
    """All providers of the file."""

    by_name: dict[str, Provider]
    file: Path
    bounds: Bounds = field(default_factory=Bounds)

    def of(self, model: str) -> Provider:
        """Return the provider of a model string; raises `ConfigError` naming what is known."""
        name, slash, rest = model.partition("/")
        if not (slash and rest):
            raise ConfigError(
                f"Model {model!r} names no provider.", f"Write it as {self._form(model)}."
            )
        if name not in self.by_name:
            raise ConfigError(
                f"Model {model!r}: there is no provider {name!r} in {self.file}.",
                f"Known: {', '.join(sorted(self.by_name))}. Add a table [{name}] for a new one.",
            )
        return self.by_name[name]

    def _form(self, model: str) -> str:
        """Return the form of a model's name, with the provider that lists this model."""
        for provider in self.by_name.values():
            if is_simulated_provider(provider.name):
                continue
            known = [*provider.prices, *listed.names(provider.litellm or provider.name)]
            if model in known:
                return f"provider/model, e.g. {provider.name}/{model}"
        return f"provider/model with one of the providers {', '.join(sorted(self.by_name))}"

    def check(self, models: set[str]) -> None:
        """Raise `ConfigError` if a model's provider is unknown or its address cannot be used."""
        for model in sorted(models):
            provider = self.of(model)
            if missing := [name for name in provider.variables if not os.environ.get(name)]:
                raise ConfigError(
                    f"Model {model!r} needs {' and '.join(missing)}, which is not set.",
                    f"Set the environment variable; [{provider.name}] in {self.file} names it.",
                )
            address = provider.address()
            plain = address.startswith(("http://", "https://"))
            if address and not (plain and address.isprintable() and " " not in address):
                in_file = f"{self.file}, table [{provider.name}]: base_url"
                given = provider.base_url_env if address != provider.base_url else in_file
                raise ConfigError(
                    f"{given} is not an address.",
                    "Use one that begins with http:// or https:// and has no spaces or line ends.",
                )
            if is_simulated_provider(provider.name) and address:
                _check_simulator(provider)
            if is_simulated_provider(provider.name) and not address:
                raise ConfigError(
                    f"Model {model!r} needs the simulator, which is not running.",
                    "Start it with `judge-gym simulator` and set JUDGE_GYM_SIMULATOR_URL to the "
                    "address it prints.",
                )


def _check_simulator(provider: Provider) -> None:
    """Raise `ConfigError` where the simulator's address lacks the path of its API."""
    given = os.environ.get(provider.base_url_env, "").rstrip("/")
    if provider.path is None and given and urlsplit(given).path in ("", "/"):
        raise ConfigError(
            f"{provider.base_url_env} is {given}, which lacks the path of the simulator's API.",
            f"Set it to {given}/v1, as `judge-gym simulator` prints it.",
        )


def _tables(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The providers file {file} is not TOML: {error}.") from None


def load_providers(file: Path) -> Providers:
    """Read the providers file; raises `ConfigError` naming line, key and value that are wrong.

    A file of one's own has the simulated providers of the shipped one, too, unless it names them.
    """
    text, shipped = read_text(file), DEPLOYMENTS / "providers.toml"
    tables = _tables(text, file)
    for name, table in _tables(read_text(shipped), shipped).items():
        if is_simulated_provider(name):
            tables.setdefault(name, table)
    providers = {}
    bounds = Bounds()
    for name, table in tables.items():
        try:
            if name == "bounds":
                bounds = Bounds(**table)
            else:
                providers[name] = Provider(name=name, **table)
        except (ValidationError, TypeError) as error:
            node = toml_tree(text, file).items[name]
            if name == "bounds":
                read_model(Bounds, node)
            else:
                _read_provider(name, node)
            raise node.place.problem(f"does not fit: {error}") from None
    return Providers(providers, file, bounds)


def _read_provider(name: str, node: Node) -> Provider:
    """Read a provider's table; raises `ConfigError` at the first key that is wrong."""
    items = node.known_items([field for field in Provider.model_fields if field != "name"])
    inner: Mapping[str, type[ModelRules | Price]] = {"models": ModelRules, "prices": Price}
    values: dict[str, Any] = {"name": name}
    for key, child in items.items():
        if key in inner:
            values[key] = {one: read_model(inner[key], of) for one, of in child.items.items()}
        elif key == "batch":  # which the model itself reads
            values[key] = child.plain()
        else:
            values[key] = read_field(Provider, key, child)
    try:
        return Provider(**values)
    except ValidationError as error:
        fault = error.errors()[0]
        at = items.get(str(fault["loc"][0]), node) if fault["loc"] else node
        raise at.place.problem(f"does not fit: {fault_reason(fault)}") from None
