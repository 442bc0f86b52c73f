"""Settings: defaults, overridden by JUDGE_GYM_* variables, judge-gym.toml, and a run's settings.

The caller passes what overrides the file: parameters of a flow run, or a Prefect variable.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from judge_gym.design.fields import Legal, legal_text
from judge_gym.errors import ConfigError
from judge_gym.shipped import DEPLOYMENTS

FILE = Path("judge-gym.toml")
_QUOTABLE = re.compile(r"-?\d{1,9}(\.\d{1,9})?|[A-Za-z_-]{1,16}")
"""Numbers and short words. Any other text of a setting may be a misplaced secret."""


def _given(path: object) -> object:
    """Refuse an empty path, which would be the working folder."""
    if isinstance(path, str) and not path.strip():
        raise ValueError("is empty")
    return path


_PATH = BeforeValidator(_given)
_URL = Legal("text such as postgresql://user:password@host:5432/name")


class File(TomlConfigSettingsSource):
    """judge-gym.toml; what is wrong with it as a whole is a `ConfigError`."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        from judge_gym.design.config import read_text

        try:
            return tomllib.loads(read_text(file_path))
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(
                f"{file_path} is not TOML: {error}.", 'Write each setting as NAME = 4 or "text".'
            ) from None


class Settings(BaseSettings):
    """Configuration of runs that is not part of an experiment."""

    model_config = SettingsConfigDict(
        env_prefix="JUDGE_GYM_",
        toml_file=FILE,
        extra="forbid",
        frozen=True,
        # Also in tracebacks: any key may hold a secret.
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    database_url: Annotated[SecretStr | None, _URL] = None
    """PostgreSQL to use; without it an embedded server under `data_dir` is."""
    data_dir: Annotated[Path, _PATH] = Path(".judge-gym")
    """Where the embedded PostgreSQL, reports and logs live."""
    providers_file: Annotated[Path, _PATH] = DEPLOYMENTS / "providers.toml"
    """The providers: prefixes, addresses, key variables and limits."""
    chunk_size: int | None = Field(default=None, ge=1, le=1000)
    """LLM calls in one Prefect task; by default 100, and up to 500 while tasks end in seconds."""
    chunk_timeout_s: float = Field(default=1800, gt=0)
    """Longest time one Prefect task may take, in seconds."""
    workers: int = Field(default=4, ge=1, le=64)
    """Chunks of one flow awaited at once."""
    call_timeout_s: float = Field(default=120, gt=0)
    """Longest time one LLM call may take, in seconds."""
    call_attempts: int = Field(default=4, ge=1, le=10)
    """How often a call is tried when the failure may pass (rate limit, server, connection)."""
    outage_patience_s: float = Field(default=90, ge=0)
    """How long a provider that fails every request is tried, one request at a time, in seconds.
    Then no more calls to the model are made in that run."""
    panel_call_timeout_s: float = Field(default=30, gt=0)
    """Longest time one question to a rater or arbiter of a panel may take in all, in seconds."""
    panel_parallel: bool = False
    """Whether a panel's raters are asked at once, and not one after the other."""
    panel_token: Annotated[SecretStr | None, Legal("text")] = None
    """What `judge-gym panel serve` asks of whoever posts a document, 16 characters or more; needed
    where others than this machine reach it."""
    reuse_answers: bool = False
    """Whether experiments that ask a model the very same question, replicate by replicate, share
    one answer. Cheaper, but then their answers are not independent."""
    batch_minimum: int = Field(default=10, ge=1)
    """Fewer calls than this to one model are asked directly; so many go as a batch, where the
    provider has `batch = true`."""
    batch_fallback: int = Field(default=5, ge=0)
    """What is left over after full batches were cut is asked directly when it is at most this."""
    batch_maximum: int = Field(default=500, ge=1, le=50_000)
    """Calls in one batch; more are split."""
    batch_poll_s: float = Field(default=300, gt=0)
    """Seconds after which a deployment's run is scheduled again while batches are open."""
    cleaner: Literal["library", "llm"] = "library"
    """What removes page furniture: a library, or the `utility_model`."""
    utility_model: str = ""
    """The model that cleans, neutralises, abstracts and criticises; recorded with each call. When
    empty, `sim/utility-1` for sweeps of simulated judges, else the sweep cannot start."""
    summary_words: int = Field(default=150, ge=20, le=1000)
    """Longest neutralised summary, in words."""
    min_rubric_quality: float = Field(default=0.5, ge=0, le=1)
    """A rubric whose observability or discriminability is below this is flagged."""
    refuse_flagged_rubrics: bool = False
    """Whether a flagged rubric is refused, so that its experiments do not run."""
    max_document_characters: int = Field(default=20_000, ge=500, le=500_000)
    """Longer documents are cut here, and the cut is recorded."""
    log_format: Literal["text", "json"] = "text"
    """`json` has the command line log what runs do as JSON lines on standard error."""
    reports_url: Annotated[str, Legal("an http:// or https:// address without a last slash")] = (
        Field(default="", pattern=r"^(https?://\S+[^/\s])?$")
    )
    """Where the folder `reports` of `data_dir` is served, without a last slash: Prefect's page
    links there. `judge-gym up` serves it beside that page."""
    standby_minutes: float | None = Field(default=None, ge=0, le=1440)
    """How long a process waits for the next command after a command, its imports done and Prefect's
    server started; 0 for none. By default 10 at a terminal, and none elsewhere or with CI set."""
    reader_url: Annotated[SecretStr | None, _URL] = None
    """A login with the role judge_gym_reader, for the SQL of `judge-gym mcp`; the embedded
    database needs none."""
    firecrawl_url: str = "https://api.firecrawl.dev"
    """The Firecrawl service; your own address when you host it yourself."""

    @property
    def first_chunk(self) -> int:
        """LLM calls in the first Prefect tasks of a run."""
        return self.chunk_size or 100

    @property
    def reports_dir(self) -> Path:
        """Where pages, tables and the logbook are written."""
        return self.data_dir / "reports"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, File(settings_cls), env_settings


Layers = tuple[tuple[str, Mapping[str, Any]], ...]
"""(source, settings by name); later layers override earlier ones and the file."""


@cache
def settings() -> Settings:
    """Read the settings once; raises `ConfigError` naming each value that is not allowed."""
    return settings_of_run(())


def settings_of_run(layers: Layers) -> Settings:
    """Return the settings, overridden by a run's; raises `ConfigError` as `settings` does.

    A layer cannot set the database or the data folder.
    """
    for source, values in layers:
        if unknown := sorted(values.keys() - set(OF_A_RUN)):
            raise ConfigError(
                f"{source}: {', '.join(map(repr, unknown))} cannot be set per run.",
                f"Use {', '.join(OF_A_RUN)}.",
            )
    try:
        return Settings(**{name: value for _, values in layers for name, value in values.items()})
    except ValidationError as error:
        faults = [_unusable(str(fault["loc"][0]), layers) for fault in error.errors()]
        problems, remedies = zip(*faults, strict=True)
        raise ConfigError(f"{'; '.join(problems)}.", " ".join(dict.fromkeys(remedies))) from None


def _unusable(name: str, layers: Layers) -> tuple[str, str]:
    """Return what is wrong with a setting, and the remedy.

    Only numbers and words are quoted: any other text may be a misplaced secret.
    """
    from judge_gym.errors import did_you_mean

    variable = f"JUDGE_GYM_{name.upper()}"
    sources = [*reversed(layers), (_place(name), File(Settings)())]
    where, value = next(
        ((source, values[name]) for source, values in sources if name in values),
        (variable, os.environ.get(variable)),
    )
    if name not in Settings.model_fields:
        if isinstance(value, Mapping):
            return (
                f"{where}: [{name}] is a table",
                "Write settings at the top of the file, above any [table] line.",
            )
        names = list(Settings.model_fields)
        if name.lower().endswith(("_api_key", "_token", "_secret")):
            return (
                f"{where}: {name} is not a setting",
                f"Remove it, and set the environment variable {name.upper()}: keys are never read "
                "from a file.",
            )
        return (
            f"{where}: {name} is not a setting",
            f"{did_you_mean(name, names)}Settings are {', '.join(names)}.",
        )
    text = "" if isinstance(value, list | Mapping) else str(value)
    quoted = _QUOTABLE.fullmatch(text) and not _is_secret(name)
    if isinstance(value, str) and not value.strip():
        text, quoted = "empty", True
    problem = f"is {text}" if quoted else "has a value that cannot be used"
    return f"{where}: {name} {problem}", f"Set {name} to {legal_text(Settings.model_fields[name])}."


def _place(name: str) -> str:
    """Return the file and, if present, the line that sets a setting or a table."""
    lines = FILE.read_text(encoding="utf-8-sig").splitlines() if FILE.is_file() else []
    pattern = re.compile(rf"\s*\[*\s*[\"']?{re.escape(name)}[\"']?\s*[\].=]")
    numbers = (number for number, line in enumerate(lines, 1) if pattern.match(line))
    line = next(numbers, None)
    return str(FILE) if line is None else f"{FILE}, line {line}"


def origins(layers: Layers = ()) -> dict[str, str]:
    """Return setting → where the value in force comes from."""
    in_file = File(Settings)()
    in_force = {}
    for name in Settings.model_fields:
        variable = f"JUDGE_GYM_{name.upper()}"
        sources = [
            "default",
            *([variable] if variable in os.environ else ()),
            *([str(FILE)] if name in in_file else ()),
            *(source for source, values in layers if name in values),
        ]
        in_force[name] = sources[-1]
    return in_force


def _is_secret(name: str) -> bool:
    annotation = Settings.model_fields[name].annotation
    return SecretStr in (annotation, *get_args(annotation))


OF_A_RUN = tuple(
    name
    for name in Settings.model_fields
    if not _is_secret(name) and name not in ("data_dir", "standby_minutes")
)
"""Settings that can be set per run: not those of the machine and its commands."""
