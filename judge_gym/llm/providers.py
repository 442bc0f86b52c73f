"""Providers as data: which litellm prefix, address, key and limit a model string means."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from judge_gym.errors import ConfigError


class Price(BaseModel):
    """What a model costs, in US dollars for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)


Parameter = Literal["temperature", "top_p", "seed", "max_tokens", "response_format"]


class ModelRules(BaseModel):
    """What is known of some models of a provider, where litellm's list lacks it or has it wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    refuses: tuple[Parameter, ...] | None = None
    """Parameters that they refuse or ignore, in place of those that litellm's list has."""
    exclusive: tuple[Parameter, ...] | None = None
    """Parameters of which a request may have one."""
    defaults: dict[Parameter, float] | None = None
    """Documented values of parameters that a request leaves out."""
    thinking_tokens: int | None = Field(default=None, ge=0, le=200_000)
    """Room for thinking on top of `max_tokens`; 0 for models that do not think unless asked."""


class Provider(BaseModel):
    """One table of the providers file."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    litellm: str = ""
    """The prefix litellm knows it by, when it differs from the name."""
    base_url: str = ""
    """Where it is, when litellm does not know."""
    base_url_env: str = ""
    """A variable that overrides `base_url`."""
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
    batch: bool = False
    """Whether large amounts of work go through its batch API, which has to be OpenAI's."""
    json_schema: bool | None = None
    """Whether its models take a JSON schema for their answer; as litellm's list has it when left
    out."""
    thinks: bool = False
    """Whether the models that litellm's list has as reasoning think without being asked to."""
    thinking_tokens: int = Field(default=16_384, ge=0, le=200_000)
    """Room for the thinking of models that think, on top of `max_tokens`."""
    defaults: dict[Parameter, float] = Field(default_factory=dict)
    """Documented values that its models use for parameters that a request leaves out."""
    models: dict[str, ModelRules] = Field(default_factory=dict)
    """Corrections by a model's name or a pattern ("gpt-5*"); the last one that matches wins."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """Prices of models that litellm's list lacks or has wrong, by name without the provider.
    Simulated models cost nothing; evaluations of panels reckon as if they had these."""

    @field_validator("batch")
    @classmethod
    def _speaks_openai(cls, batch: bool, given: ValidationInfo) -> bool:
        prefix = given.data.get("litellm") or given.data.get("name")
        if batch and prefix != "openai":
            raise ValueError(f"true needs OpenAI's batch API, and litellm is {prefix!r}")
        return batch

    def address(self) -> str:
        """Return the base URL in force, or "" for litellm's own."""
        return os.environ.get(self.base_url_env, "") or self.base_url


@dataclass(frozen=True)
class Providers:
    """All providers of the file."""

    by_name: dict[str, Provider]
    file: Path

    def of(self, model: str) -> Provider:
        """Return the provider of a model string; raises `ConfigError` naming what is known."""
        name, slash, rest = model.partition("/")
        if not (slash and rest):
            raise ConfigError(
                f"Model {model!r} names no provider.",
                f"Write it as provider/model, e.g. openai/{model}.",
            )
        if name not in self.by_name:
            raise ConfigError(
                f"Model {model!r}: there is no provider {name!r} in {self.file}.",
                f"Known: {', '.join(sorted(self.by_name))}. Add a table [{name}] for a new one.",
            )
        return self.by_name[name]

    def check(self, models: set[str]) -> None:
        """Raise `ConfigError` if a model's provider is unknown or its address cannot be used."""
        for model in sorted(models):
            provider = self.of(model)
            address = provider.address()
            if address and not address.startswith(("http://", "https://")):
                in_file = f"{self.file}, table [{provider.name}]: base_url"
                given = provider.base_url_env if address != provider.base_url else in_file
                raise ConfigError(
                    f"{given} is not an address.",
                    "Use one that begins with http:// or https://.",
                )
            if provider.name == "sim" and not provider.address():
                raise ConfigError(
                    f"Model {model!r} needs the simulator, which is not running.",
                    "Start it with `judge-gym simulator` and set JUDGE_GYM_SIMULATOR_URL to the "
                    "address it prints.",
                )


def load_providers(file: Path) -> Providers:
    """Read the providers file; raises `ConfigError` naming the table and key that is wrong."""
    try:
        tables = tomllib.loads(file.read_text())
    except OSError as error:
        raise ConfigError(f"The providers file {file} cannot be read: {error.strerror}.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The providers file {file} is not TOML: {error}.") from None
    providers = {}
    for name, table in tables.items():
        try:
            providers[name] = Provider(name=name, **table)
        except (ValidationError, TypeError) as error:
            detail = (
                "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
                if isinstance(error, ValidationError)
                else str(error)
            )
            raise ConfigError(
                f"{file}, table [{name}]: {detail}.",
                f"Allowed keys: {', '.join(sorted(Provider.model_fields.keys() - {'name'}))}.",
            ) from None
    return Providers(providers, file)
