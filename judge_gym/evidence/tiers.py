"""Source tier by domain: the weight that a reader would give the outlet before reading.

The lists are data, in `tiers.toml`. They are coarse on purpose, and prompts never include them.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Tier:
    """A class of sources and its weight in [0, 1]."""

    name: str
    weight: float


OTHER = Tier("other", 0.10)


def tier_of(domain: str) -> Tier:
    """Return the tier of `domain`, by the domain itself and every domain above it.

    `news.example.ac.uk` is looked up as itself, `example.ac.uk`, `ac.uk` and `uk`; the most
    specific entry decides. An unlisted or empty domain is `other`.
    """
    labels = domain.lower().split(".")
    listed = _tiers()
    for first in range(len(labels)):
        tier = listed.get(".".join(labels[first:]))
        if tier is not None:
            return tier
    return OTHER


@cache
def _tiers() -> dict[str, Tier]:
    table = tomllib.loads(files(__package__).joinpath("tiers.toml").read_text("utf-8"))
    return {
        domain: Tier(entry["name"], entry["weight"])
        for entry in table["tier"]
        for domain in entry["domains"]
    }
