"""Names of parties, leaders or countries that change places in fixed evidence.

Whether a judge treats actors alike shows when the same text is read with their names exchanged.
"""

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from judge_gym.design.config import read_model, read_tree
from judge_gym.design.fields import Frozen, Legal

ACTORS_FORMS = "as_found or {swapped: FILE}"


class ActorMap(Frozen):
    """A mapping file: pairs of names, each of which takes the place of the other."""

    name: Annotated[str, Legal("1 to 40 small letters, digits and hyphens")] = Field(
        pattern=r"^[a-z0-9-]{1,40}$"
    )
    """What tells this mapping from others in tables."""
    swap: Annotated[tuple[tuple[str, str], ...], Legal("pairs of names, [A, B]")] = Field(
        min_length=1, max_length=200
    )
    """Names as they are written; a name stands in one pair."""

    @model_validator(mode="after")
    def _each_once(self) -> "ActorMap":
        names = [" ".join(name.split()) for pair in self.swap for name in pair]
        if not all(names):
            raise ValueError("a name is empty")
        again = sorted({name for name in names if names.count(name) > 1})
        if again:
            raise ValueError(f"{', '.join(again)}: each name stands in one pair, once")
        return self


class Actors(Frozen):
    """Whose names the evidence shows; written `as_found` or `{swapped: FILE}`.

    The file is read together with the sweep, so the experiment contains its names.
    """

    kind: Literal["as_found", "swapped"] = "as_found"
    mapping: ActorMap | None = None

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, given: Any) -> Any:
        if given == "as_found":
            return {}
        if isinstance(given, dict) and set(given) == {"swapped"}:
            return {"kind": "swapped", "mapping": given["swapped"]}
        return given

    @model_validator(mode="after")
    def _complete(self) -> "Actors":
        if (self.kind == "swapped") != (self.mapping is not None):
            raise ValueError(f"actors is {ACTORS_FORMS}")
        return self

    def __str__(self) -> str:
        return f"swapped {self.mapping.name}" if self.mapping else self.kind

    def shown(self, text: str) -> tuple[str, int]:
        """Return the text with the names exchanged, and how many were.

        Whole words, both directions at once, the longest name first. A name in capitals stays in
        capitals; in small letters it is another word. The possessive of a name in s (`Greens'`)
        gets `'s` if the other name needs it.
        """
        if self.mapping is None:
            return text, 0
        return self._pattern.subn(self._other, text)

    @cached_property
    def _others(self) -> dict[str, str]:
        pairs = self.mapping.swap if self.mapping else ()
        both = {" ".join(a.split()): " ".join(b.split()) for a, b in pairs}
        both |= {second: first for first, second in both.items()}
        return {name.upper(): other.upper() for name, other in both.items()} | both

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._others, key=lambda name: (-len(name), name))
        names = "|".join(r"\s+".join(map(re.escape, name.split())) for name in longest_first)
        return re.compile(rf"(?<!\w)({names})(?!\w)(?:(?<=[sS])(['\u2019])(?=\s+\w))?")

    def _other(self, match: re.Match[str]) -> str:
        other = self._others[" ".join(match[1].split())]
        quoted = match.string[match.start() - 1 : match.start()] in ("'", "\u2018")
        if not match[2] or quoted or other[-1] in "sS":
            return other + (match[2] or "")
        return f"{other}{match[2]}{'S' if match[1].isupper() and len(match[1]) > 1 else 's'}"


def load_actors(path: Path) -> ActorMap:
    """Read a mapping file; raises `ConfigError` naming file, line and key."""
    return read_model(ActorMap, read_tree(path))
