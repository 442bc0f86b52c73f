"""Claims held against the data of their studies: each value recomputed, under every specification.

A specification is the same figure under another choice, such as another wording, category or
reading of ties. Whether a claim holds is computed for each of them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from judge_gym.analysis import registry
from judge_gym.analysis.data import Origin
from judge_gym.analysis.figures.people import of_data_set
from judge_gym.analysis.groups import result_row
from judge_gym.analysis.recorded import Audited, audited
from judge_gym.annotations import load_mapping, read_annotations
from judge_gym.design.config import Node
from judge_gym.errors import ConfigError, listing
from judge_gym.model_names import recorded_name
from judge_gym.recorded.claims import (
    CLAIMS,
    Claim,
    ClaimedFigure,
    OtherFigure,
    Scope,
    StudyClaims,
    load_claims,
)
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.mapping import Recorded, load_recorded
from judge_gym.recorded.rest import with_rest
from judge_gym.store.results import ResultRow

AS_MAPPED = ""
"""The reading of the mapping as it stands."""
Rows = Sequence[ResultRow]
Readings = Mapping[str, Rows]
"""Reading → its figures."""
_EVERYWHERE = ("concept", "country", "window", "rubric", "people")
"""Parts of a scope that one study has one of, or that follow from the judge."""
_LISTED = "_as_published"
AS_CLAIMED = "as claimed"
"""The choice of the specification that is the claim itself."""
_PLAINLY = "as mapped"
_ROUNDING = 1e-9


class ClaimStanding(StrEnum):
    """What became of the published values of a claim."""

    TO_ROUNDING = "to rounding"
    EXPLAINED = "differs, explained"
    DIFFERS = "differs"
    AGREES = "agrees, said to differ"
    """Not one value differs by more than rounding, though the file has a reason why."""
    OTHER_DATA = "published of other data"
    NO_FIGURE = "stated without a figure"
    NO_DATA = "data not present"
    NOT_POSSIBLE = "cannot be recomputed"


FAILURES = (ClaimStanding.DIFFERS, ClaimStanding.AGREES)


@dataclass(frozen=True, eq=False)
class ClaimsFolder:
    """The claims of a folder, with the places of their keys."""

    folder: Path
    claims: StudyClaims
    tree: Node

    @property
    def readings(self) -> tuple[str, ...]:
        """The readings that a claim needs, that of the mapping first."""
        named = [AS_MAPPED]
        for claim in self.claims.claims:
            for one in claim.figures:
                others = [other.reading for other in (one.more_than, one.less_than) if other]
                named += [one.reading, *one.readings, *others]
        return tuple(dict.fromkeys(named))

    def data(self, beside: Path) -> Path:
        """Return where the data is; `beside` is the folder of data that is not shipped."""
        given = self.claims
        return beside / given.beside if given.beside else self.folder / given.data

    def weight(self, beside: Path) -> int:
        """Return the size of the data in bytes: about how long a reading of it takes."""
        data = self.data(beside)
        return sum(one.stat().st_size for one in (data.rglob("*") if data.is_dir() else [data]))


@dataclass(frozen=True)
class ClaimedValue:
    """A figure beside its published value, in the units of the published one; None without any."""

    about: str
    row: ResultRow
    published: float | None
    scale: float
    """Published units in one unit of the figure: 100 for percent."""

    @property
    def difference(self) -> float | None:
        """The recomputed value less the published one, in published units."""
        value, _, _ = self.recomputed
        return None if value is None or self.published is None else value - self.published

    @property
    def recomputed(self) -> tuple[float | None, float | None, float | None]:
        """The recomputed value and the ends of its interval, in published units."""
        ends = (self.row.estimate, self.row.lower, self.row.upper)
        value, lower, upper = (None if end is None else end * self.scale for end in ends)
        return value, lower, upper

    @property
    def distance(self) -> float:
        """How far it is from the published one; infinite where the data cannot give it."""
        return math.inf if self.difference is None else abs(self.difference)


@dataclass(frozen=True)
class Specification:
    """The figure under one choice, and whether what is claimed of it holds."""

    choice: str
    row: ResultRow
    limit: float
    holds: bool

    @property
    def is_open(self) -> bool:
        """Whether it does not hold, and the interval leaves that open."""
        lower, upper = self.row.lower, self.row.upper
        inside = lower is not None and upper is not None and lower <= self.limit <= upper
        return not self.holds and inside


@dataclass(frozen=True)
class RecomputedClaim:
    """A claim with what the data gives for it; `why` says what is missing, or why values differ."""

    study: str
    number: int
    claim: Claim
    standing: ClaimStanding
    values: tuple[ClaimedValue, ...] = ()
    specifications: tuple[Specification, ...] = ()
    why: str = ""

    @property
    def largest(self) -> ClaimedValue | None:
        """The value that differs most from the published one; None where none was published.

        One that the data cannot give differs more than any other.
        """
        return max(self.published, key=lambda one: one.distance, default=None)

    @property
    def holds(self) -> int:
        """In how many specifications it holds."""
        return sum(one.holds for one in self.specifications)

    @property
    def holds_everywhere(self) -> bool:
        """Whether it is tested, and holds under every specification."""
        return bool(self.specifications) and self.holds == len(self.specifications)

    @property
    def published(self) -> list[ClaimedValue]:
        """The values that were published."""
        return [one for one in self.values if one.published is not None]


def load_study(folder: Path) -> ClaimsFolder:
    """Read the claims of a folder; raises `ConfigError` naming file, key, value and what is
    allowed, for an unknown figure too."""
    if not (folder / CLAIMS).is_file():
        raise ConfigError(
            f"{folder} has no {CLAIMS}.", f"Name a folder of a study, with {CLAIMS} in it."
        )
    claims, tree = load_claims(folder)
    study = ClaimsFolder(folder, claims, tree)
    for claim, node in zip(claims.claims, tree.items["claims"].entries, strict=True):
        if claim.figures:
            for figure, at in zip(claim.figures, node.items["figures"].entries, strict=True):
                _check_names(figure, at)
    return study


def _check_names(figure: ClaimedFigure, at: Node) -> None:
    """Raise `ConfigError` for a figure that the registry does not have."""
    known = registry.figures()
    others = (("more_than", figure.more_than), ("less_than", figure.less_than))
    named = [(at.items["figure"], figure.figure)]
    named += [(node, str(node.value)) for node in _entries(at, "instead")]
    named += [(at.items[key], other.figure) for key, other in others if other and other.figure]
    for node, name in named:
        if name not in known:
            raise node.place.problem(
                f"is {name!r}, which is no figure",
                listing(sorted(known), "judge-gym analyse figures --list", name),
            )


def _entries(node: Node, key: str) -> Sequence[Node]:
    return node.items[key].entries if key in node.items else ()


def study_rows(
    study: ClaimsFolder, reading: str, beside: Path
) -> tuple[Rows, tuple[Audited, Recorded] | None]:
    """Return the figures of a reading of a study, with the audit that they are from, if any.

    Raises what reading the data raises; the data must be there.
    """
    given = study.claims
    data = study.data(beside)
    if given.annotations:
        return list(_of_annotations(study, data)), None
    change = given.readings[reading] if reading else None
    recorded, rubric = load_recorded(study.folder / given.mapping, change)
    files = recorded_files([data], recorded)
    recorded = with_rest(files, recorded)
    found = audited(files, recorded, rubric)
    return [_named(row) for row in found.rows], (found, recorded)


def _of_annotations(study: ClaimsFolder, data: Path) -> Iterator[ResultRow]:
    """Yield each judge's figures beside people, the set of labels as its category."""
    mapping = load_mapping(study.folder / study.claims.annotations)
    for given in read_annotations(data, mapping):
        for judge, beside in of_data_set(given):
            for estimate in beside.figures:
                scope = {"judge": judge, "category": given.name}
                yield result_row(estimate, scope, Origin(simulated=False, imported=True))


def _named(row: ResultRow) -> ResultRow:
    scope = {
        name: recorded_name(value) if isinstance(value, str) else value
        for name, value in row.scope.items()
        if name not in _EVERYWHERE
    }
    return replace(row, scope=scope)


def found_claims(
    study: ClaimsFolder, readings: Readings | None, beside: Path
) -> list[RecomputedClaim]:
    """Return each claim with what the data gives; `readings` is None where the data is absent.

    Raises `ConfigError` naming the key of a figure that the data does not have.
    """
    found = []
    for number, claim in enumerate(study.claims.claims, start=1):
        bare = RecomputedClaim(
            study.claims.study, number, claim, ClaimStanding.NOT_POSSIBLE, why=claim.missing
        )
        if claim.missing:
            found.append(bare)
        elif readings is None:
            why = f"{study.data(beside)} is not there, and may not be shipped."
            found.append(replace(bare, standing=ClaimStanding.NO_DATA, why=why))
        else:
            found.append(_found(study, number, claim, readings))
    return found


def _found(study: ClaimsFolder, number: int, claim: Claim, readings: Readings) -> RecomputedClaim:
    nodes = study.tree.items["claims"].entries[number - 1].items["figures"].entries
    values: list[ClaimedValue] = []
    specifications: list[Specification] = []
    for figure, node in zip(claim.figures, nodes, strict=True):
        matched = _Matched(figure, node, readings, 100.0 if claim.percent else 1.0)
        values += matched.values()
        specifications += matched.specifications()
    standing = _standing(claim, values)
    why = claim.differs if standing in (ClaimStanding.EXPLAINED, ClaimStanding.AGREES) else ""
    return RecomputedClaim(
        study.claims.study, number, claim, standing, tuple(values), tuple(specifications), why
    )


def _standing(claim: Claim, values: Sequence[ClaimedValue]) -> ClaimStanding:
    given = [one for one in values if one.published is not None]
    if not given:
        return ClaimStanding.NO_FIGURE
    if claim.origin == "elsewhere":
        return ClaimStanding.OTHER_DATA
    allowed = 0.5 * 10**-claim.places + _ROUNDING
    if all(one.distance <= allowed for one in given):
        return ClaimStanding.AGREES if claim.differs else ClaimStanding.TO_ROUNDING
    return ClaimStanding.EXPLAINED if claim.differs else ClaimStanding.DIFFERS


@dataclass(frozen=True, eq=False)
class _Matched:
    """A claimed figure among the figures of a study."""

    figure: ClaimedFigure
    node: Node
    readings: Readings
    scale: float

    def values(self) -> Iterator[ClaimedValue]:
        """Yield what is compared with a published value; one alone, without any to compare with."""
        given = self.figure
        if given.figure.endswith(_LISTED):
            for row in self._all(given.figure, given.of, (*given.over, *_parts_of(self._rows()))):
                published = None if row.floor is None else row.floor * self.scale
                yield ClaimedValue(_about(row.scope), row, published, self.scale)
            return
        if not given.by:
            row = self._one(given.figure, given.of, given.reading)
            yield ClaimedValue(_about(given.of), row, given.published, self.scale)
        # The value that the claim is about comes first.
        for name in sorted(given.values, key=lambda name: name != given.of.get(given.by)):
            scope = {**given.of, given.by: name}
            row = self._one(given.figure, scope, given.reading)
            yield ClaimedValue(_about(scope), row, given.values[name], self.scale)

    def specifications(self) -> Iterator[Specification]:
        """Yield the figure as claimed, then under every other choice, where it is tested."""
        given = self.figure
        if not given.is_tested:
            return
        base = self._one(given.figure, given.of, given.reading)
        chosen = [(AS_CLAIMED, base, given.reading)]
        chosen += [
            (_changed(row.scope, given.of), row, given.reading)
            for row in self._all(given.figure, given.of, given.over)
            if row.scope != base.scope and self._is_chosen(row)
        ]
        chosen += [
            (name, self._one(name, given.of, given.reading), given.reading)
            for name in given.instead
        ]
        chosen += [
            (name or _PLAINLY, self._one(given.figure, given.of, name), name)
            for name in given.readings
        ]
        for choice, row, reading in chosen:
            if row.estimate is not None:
                yield self._tested(choice, row, reading)

    def _is_chosen(self, row: ResultRow) -> bool:
        """Whether a figure is a specification: over the part that values were published by, only
        those with a value are."""
        given = self.figure
        published = given.by not in given.over or row.scope.get(given.by) in given.values
        return row.estimate is not None and published

    def _tested(self, choice: str, row: ResultRow, reading: str) -> Specification:
        given, value = self.figure, row.estimate or 0.0
        lower, upper = row.lower, row.upper
        if given.above is not None:
            least = value if lower is None else lower
            return Specification(choice, row, given.above, least > given.above)
        if given.below is not None:
            most = value if upper is None else upper
            return Specification(choice, row, given.below, most < given.below)
        if given.not_above is not None:
            limit = given.not_above
            least = value if lower is None else lower
            return Specification(choice, row, limit, least <= limit)
        other = given.more_than or given.less_than
        assert other is not None
        limit = self._other(other, row, reading)
        more = value > limit if given.more_than else value < limit
        return Specification(choice, row, limit, more)

    def _other(self, other: OtherFigure, row: ResultRow, reading: str) -> float:
        """Return the value of the figure to compare with, of the same choice otherwise."""
        scope = {name: value for name, value in {**row.scope, **other.of}.items() if value}
        found = self._one(other.figure or row.metric, scope, other.reading or reading)
        if found.estimate is None:
            raise self.node.place.problem(
                f"is compared with {found.metric} of {_about(scope)}, which has no value"
            )
        return found.estimate

    def _rows(self, reading: str | None = None) -> Rows:
        return self.readings[self.figure.reading if reading is None else reading]

    def _one(self, metric: str, scope: Scope, reading: str) -> ResultRow:
        """Return the figure with exactly this scope; raises `ConfigError` without any."""
        of_metric = [row for row in self._rows(reading) if row.metric == metric]
        for row in of_metric:
            if row.scope == scope:
                return row
        for name, value in scope.items():
            known = sorted({str(row.scope[name]) for row in of_metric if name in row.scope})
            if value not in known:
                said = f"has {name}: {value}, which no {metric} of the data has"
                raise self.node.place.problem(said, f"It has: {', '.join(known) or 'none'}.")
        parts = sorted({", ".join(row.scope) for row in of_metric} - {""})
        raise self.node.place.problem(
            f"has `of` with {', '.join(scope) or 'nothing'}, and no {metric} of the data has that",
            f"It is given by: {'; '.join(parts) or 'nothing'}.",
        )

    def _all(self, metric: str, scope: Scope, over: Iterable[str]) -> Iterator[ResultRow]:
        """Yield the figures whose scope is this one but for the parts `over`."""
        free = set(over)
        fixed = {name: value for name, value in scope.items() if name not in free}
        for row in self._rows():
            if (
                free
                and row.metric == metric
                and fixed.items() <= row.scope.items()
                and row.scope.keys() <= scope.keys() | free
            ):
                yield row


def _parts_of(rows: Rows) -> set[str]:
    return {name for row in rows if row.metric.endswith(_LISTED) for name in row.scope}


def _about(scope: Mapping[str, object]) -> str:
    """Return a scope in words: its values."""
    return ", ".join(map(str, scope.values())) or "all"


def _changed(scope: Mapping[str, object], given: Scope) -> str:
    """Return what another specification chooses."""
    changed = [str(value) for name, value in scope.items() if given.get(name) != value]
    left = [f"no {name}" for name in given if name not in scope]
    return ", ".join(changed + left)
