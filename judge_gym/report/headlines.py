"""What findings come to: a row or a few for each claim and check."""

from collections import Counter
from collections.abc import Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from judge_gym.analysis.groups import PARTS
from judge_gym.formats import figures_text
from judge_gym.metrics.accuracy import OF_PAIRS
from judge_gym.metrics.hypotheses import VALIDITY_CHECKS, contrast_figure
from judge_gym.report.findings import (
    AXES,
    NOT_TESTABLE,
    change_of,
    claimed,
    distinct_labels,
    joint_label,
    levels_unsaid,
    open_by_correction,
)
from judge_gym.report.moves import (
    UNTESTED,
    in_numbers,
)
from judge_gym.report.scopes import setting_phrases
from judge_gym.store.results import FindingRow

_QUESTIONS: Mapping[str, tuple[str, str, str]] = {
    "H1": (
        "Do judges disagree beyond chance?",
        "polarization above its noise floor, bits",
        "disagreement",
    ),
    "H2": ("Do judges overestimate agreement?", "stated minus realised agreement", "confidence"),
    "H3": (
        "Does a rival's rubric lower confidence?",
        "change beyond a second own rubric",
        "rival rubrics",
    ),
    "H4.polarization": (
        "Does forced choice inflate disagreement?",
        "polarization, forced minus free, bits",
        "forced choice",
    ),
    "H4.distance": (
        "Does forced choice move sets apart?",
        "distance of sets, forced minus free",
        "forced choice",
    ),
    "V1.polarization": ("Do judges agree on the control?", "bits", "a control"),
    "V1.reference": (
        "Are verdicts near the reference index?",
        "distance on the 0-1 scale",
        "a reference index",
    ),
    "V2": ("Does the more contested concept polarize more?", "bits", "an order of concepts"),
    "V3.chance": (
        "Are judges right more often than chance?",
        "share correct",
        "known answers",
    ),
    "V3.published": ("Is accuracy as published?", "share correct", "published accuracy"),
    "V4.variance": ("Do judges repeat themselves?", "variance, 0-1 scale", "repeats"),
    "V4.icc": ("Do repeats tell items apart?", "ICC", "repeats"),
    "V5": ("Does conflict follow polarization?", "rank correlation", "single verdicts"),
}
"""Claim → its question in plain words, the measure that answers it with its unit, and its topic."""


def _asked(finding: FindingRow) -> tuple[str, str, str]:
    """Return the question that a finding answers, the measure that answers it, and its topic."""
    if figure_of := contrast_figure(finding.hypothesis):
        change = change_of(finding)
        question = f"Does {change} {_moves(finding, figure_of.words)}?"
        return question, f"change, {figure_of.unit}", change
    return _QUESTIONS[finding.hypothesis]


def topic_of(finding: FindingRow) -> str:
    """Return what a finding is about, in a word or two."""
    return _asked(finding)[2]


def _moves(finding: FindingRow, words: str) -> str:
    """Return what a planned contrast claims, so that a supported one is answered by yes."""
    if finding.direction == "within":
        return f"leave the {words} as it is"
    if finding.direction == "above":
        return f"raise the {words}" if finding.margin >= 0 else f"keep the {words} from falling"
    return f"lower the {words}" if finding.margin <= 0 else f"keep the {words} from rising"


_CHECKS = frozenset(check.key for check in VALIDITY_CHECKS)
CONCLUSIONS = ("supported", "refuted", "inconclusive", UNTESTED)
SINGLE = 3
"""Findings of one claim that still have a row each."""
_LONGEST_NAMES = 66
"""Characters of a row's label that names the judges of several findings."""


@dataclass(frozen=True)
class Headline:
    """One row: findings of one claim that came out alike, or all of a check.

    `question` and `measure` are the claim's; `conclusion` holds counts where findings differ. A
    row that is `not testable` has no `label` where no finding of its claim has an estimate.
    """

    question: str
    measure: str
    claim: str
    label: str
    conclusion: str
    findings: Sequence[FindingRow]
    names: Sequence[str]
    """What each finding is about."""
    is_check: bool
    unsaid: Mapping[str, object]
    """The levels at which planned findings are and which their labels do not name."""
    is_beside: bool = False
    """Whether these are what a plan confirms, at other levels, which the plan does not confirm."""
    explored: str = ""
    """How the claim's figures came out that the plan does not confirm, which have no row."""

    @property
    def claim_key(self) -> str:
        """The claim, such as `H1`."""
        return self.findings[0].hypothesis

    @property
    def figure(self) -> str:
        """The value with its interval, or the range of several values."""
        return figures_text(self.findings)

    @property
    def said(self) -> str:
        """The conclusion; where the intervals would decide all, that the correction does not."""
        alone = all(open_by_correction(finding) for finding in self.findings)
        return f"{self.conclusion} after correction" if alone else self.conclusion

    @property
    def untested_outcome(self) -> bool:
        """Whether the plan confirms it and it cannot be tested."""
        return self.conclusion == UNTESTED and self.findings[0].confirmatory

    @property
    def reasons(self) -> str:
        """Why what is not testable is not, each reason once."""
        return "; ".join(dict.fromkeys(finding.reason for finding in self.findings))


def headlines(findings: Sequence[FindingRow]) -> list[Headline]:
    """Return a row or a few per claim with a figure, or a primary outcome; claims before checks.

    Where a plan confirms some figures of a claim, those are its headline, and beside them the same
    at other levels of an axis. A claim with more than three figures has a row per conclusion; a
    check has one row. What is not testable has one row for each claim.
    """
    figures = [
        finding
        for finding in findings
        if (finding.scope or finding.confirmatory) and not finding.scope.keys() & set(PARTS)
    ]
    by_claim = [list(of) for _, of in groupby(figures, key=lambda finding: finding.hypothesis)]
    claims = [of for of in by_claim if of[0].hypothesis not in _CHECKS]
    checks = [of for of in by_claim if of[0].hypothesis in _CHECKS]
    return [
        *(headline for of in claims for headline in _claim_headlines(of)),
        *(
            as_headline(tested_among(of) or of, _asked(of[0])[0], of, is_check=True)
            for of in checks
        ),
    ]


def audit_headlines(findings: Sequence[FindingRow]) -> list[Headline]:
    """Return the headlines without the claim that judges are right more often than by chance.

    Every judge in use is. The claim is among the findings.
    """
    return headlines([finding for finding in findings if finding.hypothesis != "V3.chance"])


def tested_among(findings: Sequence[FindingRow]) -> list[FindingRow]:
    """Return the findings that could be tested."""
    return [finding for finding in findings if finding.conclusion != NOT_TESTABLE]


def _claim_headlines(findings: Sequence[FindingRow]) -> Iterator[Headline]:
    chosen = [finding for finding in findings if finding.confirmatory] or findings
    settings = [_apart_from_levels(finding.scope) for finding in chosen]
    others = [
        finding for finding in findings if chosen is not findings and not finding.confirmatory
    ]
    beside = [one for one in tested_among(others) if _apart_from_levels(one.scope) in settings]
    left = Counter(one.conclusion for one in others if one not in beside)
    explored = ", ".join(f"{left[word]} {word}" for word in CONCLUSIONS if left[word])
    for row in _rows_of(chosen, findings):
        yield replace(row, explored=explored)
    for row in _rows_of(beside, findings):
        yield replace(row, is_beside=True, explored=explored)


def _apart_from_levels(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scope without the levels of axes."""
    return {name: value for name, value in scope.items() if name not in AXES}


def _rows_of(chosen: Sequence[FindingRow], among: Sequence[FindingRow]) -> Iterator[Headline]:
    """Yield a row for each of a few figures, chosen among those of a claim, else per conclusion."""

    def headline(alike: Sequence[FindingRow]) -> Headline:
        label = (
            distinct_labels(alike, among)[0] if len(alike) == 1 else _names(alike, chosen, among)
        )
        return as_headline(alike, label, among, is_check=False)

    tested = tested_among(chosen)
    if len(tested) <= SINGLE:
        yield from (headline([finding]) for finding in tested)
    else:
        for conclusion in CONCLUSIONS:
            if alike := [finding for finding in tested if finding.conclusion == conclusion]:
                yield headline(alike)
    if untested := [finding for finding in chosen if finding.conclusion == NOT_TESTABLE]:
        yield headline(untested) if tested else as_headline(untested, "", among, is_check=False)


def as_headline(
    findings: Sequence[FindingRow], label: str, among: Sequence[FindingRow], *, is_check: bool
) -> Headline:
    """Return several findings of one claim as one row; labels tell them apart from `among`."""
    conclusions = [conclusion_of(finding) for finding in findings]
    question, measure, _ = _asked(findings[0])
    if findings[0].unit == OF_PAIRS:
        measure = "pairs judged right less wrong"
    return Headline(
        question,
        measure,
        claimed(findings[0]),
        label,
        in_numbers(conclusions, CONCLUSIONS),
        findings,
        distinct_labels(findings, among),
        is_check,
        levels_unsaid(findings, among),
    )


def _names(
    findings: Sequence[FindingRow], chosen: Sequence[FindingRow], among: Sequence[FindingRow]
) -> str:
    """Return who several of the chosen findings are about: short names, else how many."""
    concepts = {str(finding.scope.get("concept", "")) for finding in findings}
    on_concept = f" on {concepts.pop()}" if len(concepts) == 1 and "" not in concepts else ""
    label = joint_label(findings, among)
    if not label and _judges(findings).isdisjoint(_judges(chosen, besides=findings)):
        label = ", ".join(_judges(findings)) + on_concept
    if "judge" in findings[0].scope and label and len(label) <= _LONGEST_NAMES:
        return label
    settings = ", ".join(_settings_in_common(findings, chosen))
    at = f": {settings}" if settings else ""
    return f"{len(findings)} of {len(chosen)} figures{on_concept}{at}"


def _settings_in_common(
    findings: Sequence[FindingRow], chosen: Sequence[FindingRow]
) -> Iterator[str]:
    """Yield the levels of axes that these findings have and not all of the chosen."""
    first = findings[0].scope
    common = {
        name: first[name]
        for name in (name for name in first if name in AXES)
        if all(one.scope.get(name) == first[name] for one in findings)
        and any(one.scope.get(name) != first[name] for one in chosen)
    }
    yield from setting_phrases(common, common)


def _judges(findings: Sequence[FindingRow], besides: Sequence[FindingRow] = ()) -> KeysView[str]:
    left_out = set(map(id, besides))
    return dict.fromkeys(
        str(finding.scope.get("judge", "")) for finding in findings if id(finding) not in left_out
    ).keys()


@dataclass(frozen=True)
class QuestionSummary:
    """What the headlines of one question say: each conclusion with what it holds for."""

    question: str
    is_check: bool
    conclusions: Sequence[tuple[str, str, Sequence[str]]]
    """In words, the last one named, which colours it, and what it holds for."""
    explored: str = ""


def answers(rows: Sequence[Headline]) -> list[QuestionSummary]:
    """Return the answer to each question, in the order of the headlines."""
    found = []
    for (question, is_check), group in groupby(rows, key=lambda row: (row.question, row.is_check)):
        of = list(group)
        found.append(QuestionSummary(question, is_check, _by_conclusion(of), of[0].explored))
    return found


def _by_conclusion(rows: Sequence[Headline]) -> list[tuple[str, str, Sequence[str]]]:
    if rows[0].is_check:
        found = rows[0].findings
        named = zip(found, rows[0].names, strict=True)
        labels = [
            f"refuted for {name}"
            for finding, name in named
            if finding.conclusion == "refuted" and name
        ]
        last = max(
            (finding.conclusion for finding in found), key=(*CONCLUSIONS, NOT_TESTABLE).index
        )
        return [(rows[0].conclusion, last, labels)]
    by_conclusion = {
        conclusion: [
            f"{row.label or row.reasons}{' (not planned)' if row.is_beside else ''}"
            for row in rows
            if row.conclusion == conclusion
        ]
        for conclusion in CONCLUSIONS
    }
    return [(name, name, labels) for name, labels in by_conclusion.items() if labels]


def conclusion_of(finding: FindingRow) -> str:
    """Return the conclusion of a finding in the words of headlines."""
    return UNTESTED if finding.conclusion == NOT_TESTABLE else finding.conclusion
