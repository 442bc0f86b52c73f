"""A certificate in words: its table, what it shows, and which labels are missing."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from judge_gym.counting import counted, first_of
from judge_gym.judges.certifying.certificate import (
    Certificate,
    CertifiedRate,
    CertifiedSlice,
    Requirements,
    Use,
)
from judge_gym.judges.certifying.findings import result_of
from judge_gym.metrics.system_scores import OneCorrection
from judge_gym.report.judge_study import StudyPage, StudyReport, stem_of
from judge_gym.report.table import Table, plain_table

_COLUMNS = (
    "texts", "shown", "use", "sensitivity", "specificity", "κ", "readable",
    "passes + fails", "more needed",
)  # fmt: skip
_ALL = "all"


def certificate_report(
    certificate: Certificate, path: Path, data: Path
) -> StudyReport[Certificate]:
    """Return the report of a certificate that is at `path`, with its evidence at `data`."""
    first, *others = sentences(certificate)
    judge = certificate.judge
    page = StudyPage(
        stem=stem_of("certificate", judge.name),
        title=f"Certificate of {judge.name}: use {certificate.findings.use}",
        found=first,
        tables=[*tables(certificate)],
        sentences=others,
        simulated=judge.simulated,
        files=(),
        where=str(path.resolve()),
    )
    result = result_of(certificate.findings)
    value = {
        "result": result,
        "certificate": str(path),
        "data": str(data),
        **certificate.model_dump(mode="json"),
    }
    return StudyReport(certificate, page, value, results=[result])


def tables(certificate: Certificate) -> Iterator[Table]:
    """Yield what is shown by slice, over all texts where there are slices, and by system."""
    found, name, by = certificate.findings, certificate.judge.name, certificate.required.by
    shown_by = [(by or "texts", found.slices), ("system", found.systems)]
    if by:
        shown_by.insert(1, ("texts", (found.overall,)))
    for first, slices in shown_by:
        if slices:
            rows = _rows(slices, certificate.required)
            yield plain_table(f"{name}, by {first}", (first, *_COLUMNS[1:]), rows)


def _rows(found: Sequence[CertifiedSlice], required: Requirements) -> list[tuple[object, ...]]:
    """Return a row for each slice or system: shares with the lower bound in brackets."""
    least = required.least
    return [
        (
            one.name or _ALL,
            one.state,
            one.use,
            *(
                _bounded(rate.estimate, rate.lower, asked)
                for rate, asked in zip((one.sensitivity, one.specificity), least, strict=True)
            ),
            _bounded(one.agreement.estimate, one.agreement.lower),
            "" if one.readable is None else f"{one.readable:.0%}",
            f"{one.sensitivity.n} + {one.specificity.n}",
            f"{_more(one.sensitivity)} + {_more(one.specificity)}",
        )
        for one in found
    ]


def sentences(certificate: Certificate) -> Iterator[str]:
    """Yield what a certificate shows, of which judge and texts, by whose labels, and until when."""
    judge, found = certificate.judge, certificate.findings
    yield shown(certificate)
    yield from _missing(found.slices)
    if any(_is_required(one, certificate.required) for one in (*found.slices, *found.systems)):
        yield (
            '"At least the required" is what the joint test of the slices shows (closed testing): '
            "the rate may be higher, and by how much is not measured."
        )
    if not_ranked := _not_ranked(certificate):
        yield not_ranked
    served = f", served by {' and '.join(judge.served)}" if judge.served else ""
    yield f"Judge {judge.key}: {' and '.join(judge.models)}{served}. A pass is {judge.passes!r}."
    yield f"{_labels(certificate)} {_agreement(certificate)}"
    if certificate.earlier_uses:
        yield _used(certificate)
    if left_out := certificate.population.left_out:
        yield f"Left out, as the judge was made with them: {counted(left_out, 'text')}."
    signed = certificate.signature
    yield (
        f"Holds until {certificate.ends.on}, while the same model answers. "
        + (f"Signed by {signed.public_key[:16]}." if signed else "Not signed.")
    )


def _is_required(one: CertifiedSlice, required: Requirements) -> bool:
    """Whether a bound of a slice is what was required, and no measurement."""
    return required.sensitivity == one.sensitivity.lower or (
        required.specificity == one.specificity.lower
    )


def shown(certificate: Certificate) -> str:
    """Return for which use a certificate is, and what was required."""
    return (
        f"{certificate.judge.name}: {_SHOWN[certificate.findings.use]} Required: "
        f"{certificate.required.words}.{_decided_after(certificate)}"
    )


def _decided_after(certificate: Certificate) -> str:
    """Return which other requirements were looked at before; empty without any."""
    earlier = certificate.earlier_requirements
    if not earlier:
        return ""
    first = earlier[0]
    return (
        f" Decided after {counted(len(earlier), 'other requirement')} on the same labels, the "
        f"first on {first.at.date()} ({first.by}): a requirement chosen after a look shows less."
    )


_SHOWN: dict[Use, str] = {
    "gate": "may be used in a gate.",
    "rank": "may be used to rank systems; not in a gate.",
    "monitor": "may be used to monitor; not in a gate.",
    "none": "no use is shown.",
}


def _missing(slices: Sequence[CertifiedSlice]) -> Iterator[str]:
    """Yield which labels are missing in each slice that is open."""
    for one in slices:
        where = f"{one.name}: " if one.name else ""
        wanted = [
            f"{rate.more} more that people {word}"
            for rate, word in ((one.sensitivity, "pass"), (one.specificity, "fail"))
            if rate.more
        ]
        if one.state == "missed":
            yield f"{where}shown to miss what is required."
        elif wanted:
            yield f"{where}{one.state}; label {' and '.join(wanted)}, drawn at random."
        elif one.state == "open":
            yield f"{where}open, and no number of labels would show it at these rates."


def _not_ranked(certificate: Certificate) -> str:
    """Return why the judge may not rank systems; empty where it may, or texts name no two."""
    found = certificate.findings
    if "rank" in found.uses or len(certificate.population.systems) < 2:
        return ""
    if (test := found.one_correction) is None:
        return "To rank systems: not shown, as no two systems have labels."
    of = OneCorrection(test.p, test.power)
    why = of.why_not or "the judge is not shown to be better than chance"
    if of.too_few:
        fewest = min(found.systems, key=lambda one: one.texts)
        why += f"; the fewest are of {fewest.name}: {fewest.texts}"
    return f"To rank systems: not shown, as {why}."


def _labels(certificate: Certificate) -> str:
    labels, population = certificate.labels, certificate.population
    names = first_of([f"{name} {count}" for name, count in labels.by.items()])
    adjudicated, undecided = (
        f", {counted(count, 'text')} {how}" if count else ""
        for count, how in (
            (labels.adjudicated, "decided by an adjudicator"),
            (labels.undecided, "undecided"),
        )
    )
    # A text with labels has a known answer, or is undecided.
    lacking = population.texts - certificate.findings.overall.texts - labels.undecided
    without = f", {counted(lacking, 'text')} without a label" if lacking > 0 else ""
    return (
        f"{counted(labels.count, 'label')} of {counted(population.texts, 'text')} by "
        f"{counted(len(labels.by), 'annotator')} ({names}){adjudicated}{undecided}{without}."
    )


def _agreement(certificate: Certificate) -> str:
    found = certificate.findings.people_agreement
    if found.estimate is None:
        return "Agreement among people is not known: no text has labels of two that vary."
    return f"Agreement among people: α {_bounded(found.estimate, found.lower)}."


def _used(certificate: Certificate) -> str:
    times = len(certificate.earlier_uses) + 1
    uses = [f"{one.texts} on {one.at.date()} by {one.by}" for one in certificate.earlier_uses]
    return f"This is use {times} of these texts: bounds may be too high. Earlier: {first_of(uses)}."


def _more(rate: CertifiedRate) -> str:
    return "never" if rate.more is None else str(rate.more)


def _bounded(value: float | None, lower: float | None, required: float | None = None) -> str:
    """Return a figure with its lower bound, which is not measured where it is what is required."""
    if value is None:
        return "—"
    if lower is None:
        return f"{value:.3f}"
    bound = f"at least the required {lower:g}" if lower == required else f"≥ {lower:.3f}"
    return f"{value:.3f} ({bound})"
