"""How many calls go as batches of which sizes, and how many directly."""

from dataclasses import dataclass

from judge_gym.settings import Settings


@dataclass(frozen=True)
class BatchPolicy:
    """Counts of calls to one model."""

    minimum: int
    """Fewer than this are asked directly."""
    fallback: int
    """A rest after full batches is asked directly when it is at most this."""
    maximum: int
    """The size of a full batch."""


@dataclass(frozen=True)
class Split:
    """The sizes of the batches, in order, and what is left to ask directly."""

    batches: tuple[int, ...]
    direct: int


def policy_of(settings: Settings) -> BatchPolicy:
    """Return the policy that the settings describe."""
    return BatchPolicy(settings.batch_minimum, settings.batch_fallback, settings.batch_maximum)


def split(count: int, policy: BatchPolicy) -> Split:
    """Split `count` calls to one model; `sum(batches) + direct` is `count`."""
    if count < policy.minimum:
        return Split((), count)
    full, rest = divmod(count, policy.maximum)
    batches = (policy.maximum,) * full
    return Split(batches, rest) if rest <= policy.fallback else Split((*batches, rest), 0)
