"""Recomputing a certificate of its evidence, without a database, a model or a network."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge_gym.judges.base import Judge
from judge_gym.judges.certifying.certificate import Certificate, CertificatePart, was_changed
from judge_gym.judges.certifying.checking import other_judge
from judge_gym.judges.certifying.evidence import read_evidence
from judge_gym.judges.certifying.findings import findings, labels_of, population_of
from judge_gym.judges.certifying.signing import signature_fault

_DIGITS, _LONGEST = 12, 40
_NEAR = 1e-6
"""How far a figure may be from the recomputed one."""


@dataclass(frozen=True)
class Verified:
    """What a certificate is checked for: each with what is wrong, or ""."""

    checks: tuple[tuple[str, str], ...]
    figures: int
    """How many figures were recomputed."""

    @property
    def fault(self) -> str:
        """The first thing that is wrong; "" if nothing is."""
        return next((fault for _, fault in self.checks if fault), "")


def verified(
    certificate: Certificate, folder: Path, *, judge: Judge | None = None, key: Path | None = None
) -> Verified:
    """Check a certificate against a folder of evidence; raises as `read_evidence` does.

    With a judge it has to be of that one, and with a public key signed by it.
    """
    evidence = read_evidence(folder)
    population = population_of(evidence, certificate.population.left_out)
    parts = {
        "population": (certificate.population, population),
        "labels": (certificate.labels, labels_of(evidence)),
        "findings": (certificate.findings, findings(evidence, certificate.required)),
    }
    faults = {name: list(_apart(name, *both)) for name, both in parts.items()}
    checks = [
        ("unchanged since it was made", was_changed(certificate)),
        ("of these texts and verdicts", next(iter(faults["population"]), "")),
        ("of these labels", next(iter(faults["labels"]), "")),
        ("its figures are those of the data", next(iter(faults["findings"]), "")),
    ]
    if certificate.signature is not None or key is not None:
        checks.append(("signed", signature_fault(certificate, key)))
    if judge is not None:
        other = other_judge(certificate.judge, judge)
        checks.append(("of this judge", other and f"it {other}"))
    over = f"it ended on {certificate.ends.on}" if certificate.ended() else ""
    checks.append(("not ended", over))
    figures = sum(
        isinstance(value, float)
        for _, value in _leaves(certificate.findings.model_dump(mode="json"), "")
    )
    return Verified(tuple(checks), figures)


def _apart(name: str, given: CertificatePart, found: CertificatePart) -> Iterator[str]:
    """Yield what differs between a part of a certificate and the recomputed one, key by key."""
    was, now = (dict(_leaves(part.model_dump(mode="json"), name)) for part in (given, found))
    for key in dict.fromkeys((*was, *now)):
        one, other = was.get(key), now.get(key)
        if not _same(one, other):
            yield f"{key} is {_short(one)} in the certificate, and {_short(other)} by the data"


def _short(value: object) -> object:
    return f"{value[:_DIGITS]}…" if isinstance(value, str) and len(value) > _LONGEST else value


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{name}.{place}")
    else:
        yield name, value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=0, abs_tol=_NEAR)
    return bool(one == other)
