"""Another judge of the same name: earlier answers are not this judge's, and what differs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any

from judge_gym.judges.base import NOT_IDENTITY, Judge
from judge_gym.store.judges import Namesake


def fields_apart(config: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields of two judges as stored that differ and can change an answer.

    None where only the template of their prompts does.
    """
    fields = [name for name in {**config, **other} if name not in NOT_IDENTITY]
    return tuple(name for name in fields if config.get(name) != other.get(name))


def differs_in(fields: Sequence[str]) -> str:
    """Return in which fields two judges differ, in words."""
    return f"in {', '.join(fields) or 'the template of its prompt'}"


@dataclass(frozen=True)
class OtherJudge:
    """A judge of the same name that judged these texts before, by another identity."""

    key: str
    day: date
    """When it judged them last, in UTC; of reviews, the day that the last one stands for."""
    changed: tuple[str, ...]
    """The fields of the judge file that differ; none where only the prompt's template does."""

    @property
    def sentence(self) -> str:
        """That another judge of this name judged the texts last, and what differs."""
        return (
            "Another judge than the last one of this name, which judged these texts on "
            f"{self.day}: it differs {differs_in(self.changed)}. Scores of the two are not "
            "compared: drift counts from this judge's own first answers."
        )

    @property
    def value(self) -> dict[str, Any]:
        """It as JSON."""
        return asdict(self) | {"day": str(self.day)}


def other_judge(judge: Judge, found: Sequence[Namesake]) -> OtherJudge | None:
    """Return the judge that judged last of those `found` of this name, if it is another.

    Judges that take turns at texts that become more are said once: when a judge is new, and when
    it judges for the first time since another one was.
    """
    if not found or found[0].key == judge.key:
        return None
    other = found[0]
    if any(one.key == judge.key and one.last > other.first for one in found):
        return None
    changed = fields_apart(judge.config, other.config)
    last = other.last
    day = last.astimezone(UTC).date() if isinstance(last, datetime) else last
    return OtherJudge(other.key, day, changed)
