"""The atlas: claims about judges beside what their data gives, as a sentence, a table and a page.

Everything here is rendered from what `judge_gym.analysis.atlas` found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from judge_gym.analysis.atlas import (
    AS_CLAIMED,
    FAILURES,
    ClaimedValue,
    ClaimStanding,
    RecomputedClaim,
    Specification,
)
from judge_gym.counting import counted, first_of
from judge_gym.formats import ABSENT, number, ranged
from judge_gym.recorded.claims import StudyClaims
from judge_gym.report.files import ENVIRONMENT, put_in_place
from judge_gym.report.plots.plot import Rows
from judge_gym.report.plots.svg import draw, picture
from judge_gym.report.table import Row, Table

PAGE, PICTURE = "atlas.html", "atlas.svg"
_MOST_PLACES = 3
_MOST_NAMED = 3
_SPECIFICATIONS = ("choice", "figure", "value", "compared with", "holds", "how")


@dataclass(frozen=True)
class StudyShown:
    """A study of the atlas: its claims, and the page of its audit, if any."""

    claims: StudyClaims
    found: Sequence[RecomputedClaim]
    page: Path | None = None

    @property
    def heading(self) -> str:
        """What stands above its claims."""
        return f"{self.claims.study}: {self.claims.about}"


def every_claim(studies: Sequence[StudyShown]) -> list[RecomputedClaim]:
    """Return the claims of all studies, in order."""
    return [one for study in studies for one in study.found]


def opening(studies: Sequence[StudyShown]) -> str:
    """Return what came of all claims, in one sentence."""
    found = every_claim(studies)
    standing = [one.standing for one in found]
    tested = [one for one in found if one.specifications]
    everywhere = sum(one.holds_everywhere for one in found)
    nowhere = sum(one.holds == 0 for one in tested)
    values = sum(len(one.published) for one in found if one.standing == ClaimStanding.TO_ROUNDING)
    parts = [
        f"{count} {singular if count == 1 else plural}"
        for one, singular, plural in (
            (
                ClaimStanding.TO_ROUNDING,
                *_verbs(f"recomputed to rounding ({counted(values, 'value')})"),
            ),
            (ClaimStanding.EXPLAINED, "differs for a stated reason", "differ for a stated reason"),
            (ClaimStanding.DIFFERS, "differs", "differ"),
            (ClaimStanding.AGREES, *_verbs("said to differ and agree")),
            (ClaimStanding.OTHER_DATA, *_verbs("published of other data")),
            (ClaimStanding.NO_FIGURE, *_verbs("stated without a figure")),
            (ClaimStanding.NOT_POSSIBLE, "cannot be recomputed", "cannot be recomputed"),
            (ClaimStanding.NO_DATA, "has no data here", "have no data here"),
        )
        if (count := standing.count(one)) or one == ClaimStanding.TO_ROUNDING
    ]
    hold = "holds" if everywhere == 1 else "hold"
    return (
        f"Of {counted(len(found), 'claim')} on {counted(len(studies), 'data set')}, "
        f"{', '.join(parts)}; of {len(tested)} that can be tested, {everywhere} {hold} under every "
        f"specification, {len(tested) - everywhere - nowhere} under some and {nowhere} under none."
    )


def _verbs(words: str) -> tuple[str, str]:
    return f"is {words}", f"are {words}"


def failures(studies: Sequence[StudyShown]) -> list[str]:
    """Return each claim with a value that differs without a reason, or has a reason and none."""
    return [
        f"{one.study}, claim {one.number} ({one.claim.name}): {_failure(one)}."
        for one in every_claim(studies)
        if one.standing in FAILURES
    ]


def _failure(found: RecomputedClaim) -> str:
    if found.standing == ClaimStanding.AGREES:
        return "every value agrees, though `differs` says why one does not"
    value = found.largest
    assert value is not None  # it differs from one that was published
    (estimate, _, _), places = value.recomputed, found.claim.places
    recomputed = (
        f"is {number(estimate, max(places, 2))}"
        if estimate is not None
        else f"cannot be estimated, because {value.row.because}"
    )
    return (
        f"{value.row.metric} of {value.about} {recomputed}, "
        f"published {number(value.published, places)}"
    )


def terminal_table(studies: Sequence[StudyShown]) -> Table:
    """Return a row for each claim: published, recomputed, difference, where it holds.

    Notes say why a claim has no value, or one that differs.
    """
    rows = [
        Row(
            (one.claim.name, _published(one), _recomputed(one), _difference(one), _held(one)),
            heading=study.heading,
        )
        for study in studies
        for one in study.found
    ]
    columns = ("claim", "published", "recomputed", "difference", "holds under")
    notes = [f"{one.claim.name}: {one.why}" for one in every_claim(studies) if one.why]
    return Table(
        "Atlas of claims about judges", "", columns, tuple(rows), tuple(notes), words=3,
        imported=True,
    )  # fmt: skip


def whole_table(studies: Sequence[StudyShown], links: bool = True) -> Table:
    """Return the same with the whole sentence, the source, and what would settle it.

    `links` leads from each claim to its specifications on the page.
    """
    rows = [
        Row(
            (
                f"{one.claim.claim}.", one.claim.source, _published(one), _recomputed(one),
                _difference(one), where_it_holds(one), one.claim.settles,
            ),
            heading=study.heading,
            link=f"#{anchor(one)}" if links and one.specifications else "",
        )
        for study in studies
        for one in study.found
    ]  # fmt: skip
    columns = (
        *("claim", "source", "published", "recomputed", "difference", "holds under"),
        "what would settle it",
    )
    return Table("Claims", "", columns, tuple(rows), words=len(columns), imported=True)


def anchor(found: RecomputedClaim) -> str:
    """Return where on the page the specifications of a claim are."""
    study = "".join(letter if letter.isalnum() else "-" for letter in found.study.lower())
    return f"claim-{study}-{found.number}"


def _published(found: RecomputedClaim) -> str:
    if found.standing in (ClaimStanding.NOT_POSSIBLE, ClaimStanding.NO_DATA):
        return ABSENT
    if not found.published:
        return ClaimStanding.NO_FIGURE
    others = len(found.published) - 1
    more = f" and {others:,} more" if others else ""
    origin = " (reference)" if found.claim.origin == "reference" else ""
    return f"{_short_published(found)}{more}{origin}"


def _recomputed(found: RecomputedClaim) -> str:
    if not found.values:
        return found.standing
    at, lower, upper = found.values[0].recomputed
    if at is None:
        return ABSENT
    unit, digits = _unit(found), _digits(found)
    text = _in_short(at, found) if lower is None else ranged(at, lower, upper, digits)
    return text.replace(" [", f"{unit} [", 1) if lower is not None else text + unit


def _as_published(value: ClaimedValue, found: RecomputedClaim) -> str:
    """Return a published value with the places it was published with, at most those shown."""
    places = min(found.claim.places, _digits(found))
    if found.claim.origin == "reference":
        return _in_short(value.published, found) + _unit(found)
    return number(value.published, places) + _unit(found)


def _in_short(value: float | None, found: RecomputedClaim) -> str:
    """Return a value with the decimals that its claim is shown with; a count without any."""
    if value is not None and float(value).is_integer() and not found.claim.percent:
        return number(value, 0)
    return number(value, _digits(found))


def _digits(found: RecomputedClaim) -> int:
    """Return the decimals of a recomputed value: one more than a published whole number has."""
    if found.claim.percent:
        return min(found.claim.places + (not found.claim.places), 2)
    if found.published:
        return min(max(found.claim.places, 2), _MOST_PLACES)
    return 2


def _unit(found: RecomputedClaim) -> str:
    return "%" if found.claim.percent else ""


def _difference(found: RecomputedClaim) -> str:
    """Return the largest difference; none where it is below what the published places can show."""
    if found.largest is None:
        return ABSENT
    if found.standing == ClaimStanding.TO_ROUNDING and found.claim.places > 1:
        return "none"
    return _apart(found.largest, max(found.claim.places, 2))


def _held(found: RecomputedClaim) -> str:
    count = len(found.specifications)
    return f"{found.holds} of {count}" if count else ABSENT


def where_it_holds(found: RecomputedClaim) -> str:
    """Return in how many specifications a claim holds, and which are against it."""
    count = len(found.specifications)
    if not count:
        return ABSENT
    against = [_named(one) for one in found.specifications if not one.holds]
    if not against:
        return f"all {count}" if count > 1 else "the one that is claimed"
    names = first_of(list(dict.fromkeys(against)), _MOST_NAMED)
    return f"{found.holds} of {count}; not: {names}"


def _named(one: Specification) -> str:
    if one.choice != AS_CLAIMED:
        return one.choice
    return ", ".join(map(str, one.row.scope.values())) or one.row.metric


def specification_table(found: RecomputedClaim) -> Table:
    """Return every specification of a claim with its figure and whether the claim holds."""
    rows = [
        Row(
            (
                _named(one), one.row.metric,
                ranged(one.row.estimate, one.row.lower, one.row.upper, _MOST_PLACES),
                number(one.limit, _MOST_PLACES),
                "yes" if one.holds else "open" if one.is_open else "no",
                one.row.method,
            )
        )
        for one in found.specifications
    ]  # fmt: skip
    return Table("", "", _SPECIFICATIONS, tuple(rows), words=6, imported=True)


def value_table(found: RecomputedClaim) -> Table:
    """Return every value of a claim beside what was published."""
    places = max(found.claim.places, 2)
    rows = [
        Row(
            (
                one.about, one.row.metric, number(one.published, found.claim.places),
                ranged(*one.recomputed, places), _apart(one, places), f"{one.row.n:,}",
            )
        )
        for one in found.values
    ]  # fmt: skip
    columns = ("of", "figure", "published", "recomputed", "difference", "n")
    return Table("", "", columns, tuple(rows), words=2, imported=True)


def _apart(value: ClaimedValue, places: int) -> str:
    return ABSENT if value.difference is None else f"{value.difference:+.{places}f}"


def chart_rows(studies: Sequence[StudyShown]) -> Rows:
    """Return the rows of the picture `claims`."""
    rows: list[Mapping[str, Any]] = []
    for study in studies:
        rows.append({"label": study.claims.study, "heading": True, "holds": None, "said": "",
                     "published": "", "recomputed": "", "sign": ""})  # fmt: skip
        for one in study.found:
            count = len(one.specifications)
            rows.append(
                {
                    "label": one.claim.name,
                    "heading": False,
                    "holds": one.holds / count if count else None,
                    "said": _held(one) if count else "",
                    "published": _short_published(one),
                    "recomputed": _short_recomputed(one),
                    "sign": "differs" if one.standing in FAILURES else "",
                }
            )
    return rows


def _short_published(found: RecomputedClaim) -> str:
    return _as_published(found.published[0], found) if found.published else ABSENT


def _short_recomputed(found: RecomputedClaim) -> str:
    if not found.values:
        return "no data" if found.standing == ClaimStanding.NO_DATA else ABSENT
    value, _, _ = found.values[0].recomputed
    return ABSENT if value is None else _in_short(value, found) + _unit(found)


_SUBTITLE = (
    "Blue: the share of specifications (wordings, judges, parts, readings) that it holds under",
    "Published: the first value of the claim; – where the source has none",
)


def atlas_picture(studies: Sequence[StudyShown]) -> str:
    """Return the picture of all claims as the text of an SVG file."""
    found = every_claim(studies)
    tested = sum(bool(one.specifications) for one in found)
    everywhere = sum(one.holds_everywhere for one in found)
    title = (
        f"{everywhere} of {counted(tested, 'claim')} about LLM judges hold under every "
        "specification"
    )
    return picture(title, _SUBTITLE, chart_rows(studies), kind="claims")


def save_atlas(studies: Sequence[StudyShown], folder: Path) -> Path:
    """Write the page and the picture into a folder; returns the page's path.

    Raises `ReportError` when they cannot be written.
    """
    page = folder / PAGE
    put_in_place({folder / PICTURE: atlas_picture(studies), page: render_atlas(studies)})
    return page


def save_picture(studies: Sequence[StudyShown], file: Path) -> None:
    """Write the picture of all claims; raises `ReportError` if it cannot be written."""
    put_in_place({file: atlas_picture(studies)})


def as_json(studies: Sequence[StudyShown]) -> list[dict[str, Any]]:
    """Return each claim with its values and specifications, figures in the registry's units."""
    return [
        {
            "study": study.claims.study,
            **one.claim.model_dump(include={"name", "claim", "source", "url", "origin"}),
            "standing": one.standing.value,
            "why": one.why,
            "values": [
                {
                    "of": dict(value.row.scope),
                    "figure": value.row.metric,
                    "published": None if value.published is None else value.published / value.scale,
                    "recomputed": value.row.estimate,
                    "lower": value.row.lower,
                    "upper": value.row.upper,
                    "n": value.row.n,
                }
                for value in one.values
            ],
            "holds": one.holds,
            "specifications": [
                {
                    "choice": spec.choice,
                    "of": dict(spec.row.scope),
                    "figure": spec.row.metric,
                    "value": spec.row.estimate,
                    "lower": spec.row.lower,
                    "upper": spec.row.upper,
                    "compared_with": spec.limit,
                    "holds": spec.holds,
                    "open": spec.is_open,
                }
                for spec in one.specifications
            ],
            "settles": one.claim.settles,
        }
        for study in studies
        for one in study.found
    ]


def render_atlas(studies: Sequence[StudyShown]) -> str:
    """Return the page; equal studies give equal text."""
    table = whole_table(studies)
    return ENVIRONMENT.get_template("atlas.html.j2").render(
        MOST_ROWS=len(every_claim(studies)),
        opening=opening(studies),
        failures=failures(studies),
        studies=studies,
        drawing=draw("claims", chart_rows(studies), "claims", "Claims and where they hold"),
        table=replace(table, title="Every claim"),
        anchor=anchor,
        specification_table=specification_table,
        value_table=value_table,
        where_it_holds=where_it_holds,
    )
