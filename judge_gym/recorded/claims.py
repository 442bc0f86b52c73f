"""Claims of a study about its judges: a sentence, a source, and the figures that bear it out.

A file `claims.yaml` stands beside the mapping of a study's data. Only the sentence, its source and
the published values are written there; every other number is computed from the data.
"""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from judge_gym.design.config import Node, read_model, read_tree
from judge_gym.design.fields import Frozen

CLAIMS = "claims.yaml"
Scope = dict[str, str]
"""Part of a figure's scope → its value, such as judge, wording or category."""
Origin = Literal["published", "reference", "elsewhere"]


class OtherFigure(Frozen):
    """Another figure of the same study, to compare with."""

    figure: str = ""
    """Its name; the same figure without it."""
    of: Scope = Field(default_factory=dict)
    """What its scope has otherwise."""
    reading: str = ""
    """The reading of the data that it is of; the same reading without it."""


class ClaimedFigure(Frozen):
    """A figure that bears out a claim, what was published of it, and where it is looked at too."""

    figure: str = Field(min_length=1, max_length=80)
    """Its name (`judge-gym analyse figures --list`)."""
    of: Scope = Field(default_factory=dict)
    """What its scope has, such as judge and wording; without a category it is of all items."""
    reading: str = ""
    """The reading of the data that it is of; that of the mapping without it."""
    published: float | None = None
    """The published value. A figure whose name ends in `_as_published` has its values in the file
    that the mapping names."""
    by: str = ""
    """A part of the scope by which several values were published."""
    values: dict[str, float] = Field(default_factory=dict)
    """Value of `by` → the published value."""
    above: float | None = None
    """The claim holds where the figure is above this with its whole interval, if it has one."""
    below: float | None = None
    """The claim holds where the figure is below this with its whole interval, if it has one."""
    not_above: float | None = None
    """The claim holds where the figure is not shown to be above this by its interval."""
    more_than: OtherFigure | None = None
    """The claim holds where the figure is above this one."""
    less_than: OtherFigure | None = None
    """The claim holds where the figure is below this one."""
    over: tuple[str, ...] = ()
    """Parts of the scope that may be chosen otherwise: each value is a specification; of `by`,
    each that has a published value."""
    instead: tuple[str, ...] = ()
    """Figures that may be chosen in its place."""
    readings: tuple[str, ...] = ()
    """Readings that may be chosen in place of this one."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.by) != bool(self.values):
            raise ValueError("`by` and `values` come together")
        given = (self.above, self.below, self.not_above, self.more_than, self.less_than)
        if sum(one is not None for one in given) > 1:
            raise ValueError("a figure has one of above, below, not_above, more_than and less_than")
        return self

    @property
    def is_tested(self) -> bool:
        """Whether something is claimed of it beside its value."""
        given = (self.above, self.below, self.not_above, self.more_than, self.less_than)
        return any(one is not None for one in given)


class Claim(Frozen):
    """One claim."""

    name: str = Field(min_length=1, max_length=56)
    """It, in a few words, for a picture."""
    claim: str = Field(min_length=1, max_length=240)
    """It, in a sentence without a full stop."""
    source: str = Field(min_length=1, max_length=400)
    """Who claimed it, and where."""
    url: str = Field(default="", max_length=400)
    """Where the source is."""
    origin: Origin = "published"
    """What the values are: `published` of this data, by the source; a `reference` that somebody
    computed from this data with other code; or published of data `elsewhere`, so that they need
    not agree."""
    percent: bool = False
    """Whether the values are in percent, where the figures are shares."""
    places: int = Field(default=2, ge=0, le=8)
    """Decimal places that the values are rounded to."""
    figures: tuple[ClaimedFigure, ...] = ()
    """What bears it out."""
    missing: str = Field(default="", max_length=400)
    """Why it cannot be recomputed from this data."""
    differs: str = Field(default="", max_length=400)
    """Why a value differs from the published one by more than rounding."""
    settles: str = Field(min_length=1, max_length=400)
    """What would settle it."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.figures) == bool(self.missing):
            raise ValueError("a claim has either figures or what is missing for them")
        return self


class StudyClaims(Frozen):
    """The claims of a study, and where its data is."""

    study: str = Field(min_length=1, max_length=40)
    """Its name."""
    about: str = Field(min_length=1, max_length=200)
    """What the data is."""
    licence: str = Field(min_length=1, max_length=200)
    """The licence of the data; and that it is not shipped, where it is not."""
    data: str = "."
    """The judgements: a file or folder, relative to this file."""
    beside: str = ""
    """The same, where the data is not shipped: relative to the folder of such data."""
    mapping: str = ""
    """The mapping of recorded judgements, relative to this file."""
    annotations: str = ""
    """The mapping of labels of people and models (`analyse alt-test`), in place of `mapping`."""
    readings: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Other ways to read the data: keys of the mapping that are changed; empty ones are left
    out."""
    claims: tuple[Claim, ...] = Field(min_length=1)
    """The claims."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.mapping) == bool(self.annotations):
            raise ValueError("a study has one of mapping and annotations")
        return self


def load_claims(folder: Path) -> tuple[StudyClaims, Node]:
    """Read the claims of a study's folder, and where each key stands.

    Raises `ConfigError` naming file, line, key and value.
    """
    tree = read_tree(folder / CLAIMS)
    study = read_model(StudyClaims, tree)
    _check_readings(study, tree)
    return study, tree


def _check_readings(study: StudyClaims, tree: Node) -> None:
    """Raise `ConfigError` for a figure of a reading that the file does not have."""
    for claim, node in zip(study.claims, tree.items["claims"].entries, strict=True):
        for figure, at in zip(claim.figures, _figures(node), strict=True):
            others = [other for other in (figure.more_than, figure.less_than) if other]
            for name in (figure.reading, *figure.readings, *(one.reading for one in others)):
                if name and name not in study.readings:
                    known = ", ".join(study.readings) or "none: give them under `readings`"
                    raise at.place.problem(f"names the reading {name!r}", f"The file has: {known}.")


def _figures(node: Node) -> tuple[Node, ...]:
    return node.items["figures"].entries if "figures" in node.items else ()
