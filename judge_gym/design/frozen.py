"""A frozen plan: what a sweep will ask and how it will be decided, with a date and a digest.

The digest is over the whole content, so a changed file no longer has its own digest. What the
sweep is at a later time is compared with it value by value.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import AwareDatetime, Field, ValidationError

from judge_gym.design.config import read_text
from judge_gym.design.fields import Frozen
from judge_gym.errors import ConfigError
from judge_gym.seeds import canonical_json

SUFFIX = ".frozen.json"
MOMENT = "%Y-%m-%d %H:%M:%S UTC"
_MOST_CHANGES = 5
_LONGEST_VALUE = 80
_CONTEXT, _LONGEST_CHANGE = 30, 200
"""Characters shown beside a difference, and of it."""
_DIGEST = "_sha256"
_FILES, _POINTS = ("rubrics", "actors"), "experiments_sha256"
"""What files of rubrics and actors hold, which says what changed where the points did: a file may
be renamed."""


class FrozenPlan(Frozen):
    """The content of a frozen plan; `sha256` is the digest of everything else."""

    format: Literal[1] = 1
    sweep: str
    frozen_at: AwareDatetime
    judge_gym: str
    judgements_before: int = Field(ge=0)
    """Judgements of these experiments that existed when it was frozen."""
    design: dict[str, Any]
    """Windows, judges, axes with their levels, recipes: what is compared with the sweep."""
    estimands: tuple[dict[str, Any], ...]
    """The figures that decide, each with its claim, margin and primary outcomes."""
    exclusions: tuple[str, ...]
    stopping: tuple[str, ...]
    power: tuple[dict[str, Any], ...]
    """Estimated power of the primary outcomes, as `sweep power --json` prints it."""
    sha256: str = ""

    def digest(self) -> str:
        """Return 64 hex digits over the content, without line breaks and order of keys."""
        content = self.model_dump(mode="json", exclude={"sha256"})
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()

    def sealed(self) -> "FrozenPlan":
        """Return the plan with its digest."""
        return self.model_copy(update={"sha256": self.digest()})

    def text(self) -> str:
        """Return the content of its file."""
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Registration:
    """A frozen plan as it is stored with a sweep that is run."""

    sha256: str
    frozen_at: datetime
    stored_at: datetime
    """When this plan was first stored with the sweep."""
    judgements_before: int = 0
    changed: tuple[str, ...] = ()
    """What the sweep has now that it had not when it was frozen; empty when it holds."""

    def as_json(self) -> dict[str, Any]:
        """Return it as the database keeps it."""
        return {
            "sha256": self.sha256,
            "frozen_at": self.frozen_at.isoformat(),
            "stored_at": self.stored_at.isoformat(),
            "judgements_before": self.judgements_before,
            "changed": list(self.changed),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Registration":
        """Return the registration of a row."""
        return cls(
            stored["sha256"],
            datetime.fromisoformat(stored["frozen_at"]),
            datetime.fromisoformat(stored["stored_at"]),
            stored["judgements_before"],
            tuple(stored["changed"]),
        )

    @property
    def when(self) -> str:
        """When it was frozen, in words."""
        return f"{self.frozen_at.astimezone(UTC):{MOMENT}}"

    def note(self) -> str:
        """Return that the plan is broken and what follows, where it is."""
        return (
            f"The sweep was frozen on {self.when}, {self.objection(None)}. Reports will call its "
            "outcomes exploratory, not planned."
        )

    def objection(self, first_judgement: datetime | None) -> str:
        """Return why the plan does not hold, as the end of a sentence; empty when it does."""
        if self.changed:
            more = len(self.changed) - _MOST_CHANGES
            shown = "; ".join(self.changed[:_MOST_CHANGES])
            return f"and changed since: {shown}" + (f"; {more} more" if more > 0 else "")
        if self.judgements_before:
            return f"when {self.judgements_before:,} of its judgements existed"
        known = max(self.frozen_at, self.stored_at)
        if first_judgement is not None and first_judgement <= known:
            return "when judging had begun"
        return ""


RESTORE = "Restore the file to keep the plan."


def frozen_file(sweep_file: Path) -> Path:
    """Return where the frozen plan of a sweep file is."""
    return sweep_file.with_name(f"{sweep_file.stem}{SUFFIX}")


def load_frozen(path: Path) -> FrozenPlan:
    """Read a frozen plan; raises `ConfigError` for one that cannot be read or was changed."""
    remedy = "Restore the file as it was frozen, or delete it and freeze the sweep again."
    try:
        plan = FrozenPlan.model_validate_json(read_text(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ConfigError(f"{path}: {where}: {first['msg']}.", remedy) from None
    if plan.sha256 != plan.digest():
        raise ConfigError(
            f"{path}: sha256 is {plan.sha256[:12]}…, and the content has {plan.digest()[:12]}…: "
            "it was changed after it was frozen.",
            remedy,
        )
    return plan


def changes(frozen: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield what differs between two designs, value by value: `replicates: [2] became [3]`.

    A digest says nothing to a reader: of one there is a sentence where nothing else differs.
    """
    unchanged = frozen.get(_POINTS) == now.get(_POINTS)
    left_out = {name for name in _FILES if unchanged or name not in frozen}
    before, after = (
        dict(_leaves({name: value for name, value in of.items() if name not in left_out}))
        for of in (frozen, now)
    )
    differing = [
        name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)
    ]
    plain = [name for name in differing if not name.endswith(_DIGEST)]
    for name in plain:
        for where, old, new in _parts(name, before.get(name), after.get(name)):
            yield f"{where}: {old} became {new}"
    if differing and not plain:
        yield f"other {' and '.join(name.removesuffix(_DIGEST) for name in differing)}"


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, child in value.items():
            yield from _leaves(child, f"{name}.{key}" if name else str(key))
    elif value not in (None, {}, [], ()):
        yield name, json.loads(json.dumps(value))


def _parts(name: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Yield what changed of a value, before and after: of a long list the entries that differ."""
    before, after = ("nothing" if one is None else canonical_json(one) for one in (old, new))
    if max(len(before), len(after)) <= _LONGEST_VALUE:
        yield name, before, after
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True), 1):
            if one != other:
                yield from _parts(f"{name}[{number}]", one, other)
    else:
        yield (name, *_around_difference(before, after))


def _around_difference(old: str, new: str) -> tuple[str, str]:
    """Return both texts from a little before their first difference to a little after the last."""
    same = _alike(old, new)
    rest = _alike(old[same:][::-1], new[same:][::-1])
    return (_cut(old, same, rest), _cut(new, same, rest))


def _alike(first: str, second: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    both = zip(first, second, strict=False)
    return next(
        (at for at, (one, other) in enumerate(both) if one != other), min(len(first), len(second))
    )


def _cut(text: str, same: int, rest: int) -> str:
    start, end = max(0, same - _CONTEXT), min(len(text), len(text) - rest + _CONTEXT)
    changed = text[start:end]
    if len(changed) > _LONGEST_CHANGE:
        changed, end = changed[:_LONGEST_CHANGE], 0
    return f"{'…' if start else ''}{changed}{'…' if end < len(text) else ''}"
