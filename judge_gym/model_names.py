"""What the name of a model, `provider/model`, says of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

SIMULATED = "sim/"
"""How the names of simulated models begin that are asked through OpenAI's API."""
RECORDED = "recorded"
"""The provider of judges whose judgements were recorded elsewhere and imported."""
_VERSION = re.compile(
    r"[-@:](?:preview-|exp-)?(?:latest|\d{3,4}|\d{6}|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2,4})"
)
"""The date or number of a version after a model's name: `-2025-04-14`, `-0613`, `@20241022`."""


def is_simulated_provider(provider: str) -> bool:
    """Whether a provider is the simulator: `sim`, or `sim-gemini` for it through Gemini's API."""
    return provider == "sim" or provider.startswith("sim-")


def is_simulated_model(model: str) -> bool:
    """Whether the simulator plays this model, so that it costs nothing and shows nothing."""
    provider, slash, _ = model.partition("/")
    return bool(slash) and is_simulated_provider(provider)


def is_recorded_model(model: str) -> bool:
    """Whether the judgements of this model were recorded elsewhere and imported."""
    return model.startswith(f"{RECORDED}/")


def planted_name(model: str) -> str:
    """Return a model's name among the planted ones: `calm-1` for `sim/calm-1`."""
    return model.partition("/")[2] if is_simulated_model(model) else model


def is_version_of(served: str, model: str) -> bool:
    """Whether a served name is that of the model asked for, or of a dated version of it.

    Folders before the name, upper case and `latest` make no difference.
    """
    asked, given = (name.rstrip("/").rpartition("/")[2].casefold() for name in (model, served))
    asked = re.sub("[-:]latest$", "", asked)
    return given.startswith(asked) and bool(given == asked or _VERSION.fullmatch(given, len(asked)))


_BETWEEN = " and "
"""What stands between the two of a pair."""


def pair_of(first: str, second: str) -> str:
    """Return what two judges or families are called together."""
    return f"{first}{_BETWEEN}{second}"


def members_of(pair: str) -> tuple[str, str]:
    """Return the two of a `pair_of`."""
    first, _, second = pair.partition(_BETWEEN)
    return first, second


def recorded_name(name: str) -> str:
    """Return a judge's name, or a pair's, as the file has it that it was imported from."""
    return _BETWEEN.join(one.removeprefix(f"{RECORDED}/") for one in name.split(_BETWEEN))


@dataclass(frozen=True)
class Answered:
    """The model asked for, and those that its provider says have answered."""

    model: str
    served: Sequence[str] = ()
    """Empty where the provider names none."""

    @property
    def differs(self) -> bool:
        """Whether several models answered, or one of another name."""
        return len(self.served) > 1 or not all(
            is_version_of(name, self.model) for name in self.served
        )

    def __str__(self) -> str:
        """Return the model, with those that answered where they differ from it."""
        return f"{self.model}, served by {self._names}" if self.differs else self.model

    def note(self, mixed: str = "") -> str:
        """Return what a reader must know, without a full stop; empty if nothing differs.

        `mixed` says in brackets how much several models answered.
        """
        if not self.differs:
            return ""
        if len(self.served) > 1:
            return (
                f"{self.model} was answered by {self._names}{mixed}: read its figures as those of "
                "a mixture, or judge again under the dated name of one"
            )
        return (
            f"{self.model} was asked for and {self._names} answered: unless both names mean the "
            f"same model, the figures are those of {self._names}"
        )

    @property
    def _names(self) -> str:
        return " and ".join(self.served)
