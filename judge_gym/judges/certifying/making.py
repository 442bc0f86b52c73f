"""Making a certificate: judging the labelled texts, the sealed set, and what is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from judge_gym.counting import counted
from judge_gym.errors import ConfigError, masked
from judge_gym.judges.aligning.splitting import digest_of
from judge_gym.judges.base import Judge
from judge_gym.judges.calibrating.judging import results_of
from judge_gym.judges.certifying.certificate import (
    LONGEST_NAME,
    SUFFIX,
    Certificate,
    CertifiedJudge,
    EarlierUse,
    Ends,
    Requirements,
    read_certificate,
    setting_digests,
    write_certificate,
)
from judge_gym.judges.certifying.evidence import Evidence, write_evidence
from judge_gym.judges.certifying.findings import findings, labels_of, population_of
from judge_gym.judges.certifying.loading import LoadedCertification
from judge_gym.judges.certifying.signing import signed
from judge_gym.judges.gate_rule import GateRule
from judge_gym.judges.judging import NotJudgedError
from judge_gym.judges.people import WHOLE
from judge_gym.metrics.anchors import ALARM
from judge_gym.metrics.points import HIGHEST
from judge_gym.model_names import Answered
from judge_gym.records.judgements import JudgeResult
from judge_gym.runtime import Runtime
from judge_gym.seeds import digest, sha256
from judge_gym.store import alignments as looks
from judge_gym.store.judges import answered, save_judge
from judge_gym.writable import check_writable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_LONGEST_WORD = 200


@dataclass(frozen=True, eq=False)
class Certification:
    """A certificate with its evidence."""

    certificate: Certificate
    evidence: Evidence


def certification(runtime: Runtime, loaded: LoadedCertification) -> Certification:
    """Certify the judge by what is judged; raises `NotJudgedError` while judgements are missing."""
    judge, repeats = loaded.judge, loaded.rule.repeats
    earlier = seal(runtime, loaded)
    with runtime.session() as session:
        by_text = results_of(session, judge, loaded.labelled, repeats)
        results = [result for some in by_text.values() for result in some]
        by = answered(session, judge.record, [results])
    if lacking := len(loaded.labelled) * repeats - len(results):
        raise NotJudgedError(
            f"{judge.called}: {counted(lacking, 'judgement')} of {lacking + len(results)} missing; "
            "no certificate is written.",
            "Run it again.",
        )
    evidence = evidence_of(loaded, results)
    return Certification(certificate_of(loaded, evidence, by, earlier, results), evidence)


def places(file: Path, judge: Judge, out: Path | None, data: Path | None) -> tuple[Path, Path]:
    """Return where the certificate of a judge's file and its evidence are written.

    Without `out`, that is where the judge's gate looks for it, or beside the file. Raises
    `ConfigError` for a file that is no certificate, and where none can be written.
    """
    asked_for = judge.gate.certificate if judge.gate else None
    target = out or asked_for or file.with_name(f"{file.stem}{SUFFIX}")
    folder = data or target.with_name(f"{target.name.removesuffix('.json')}-data")
    if not target.parent.is_dir():
        raise ConfigError(f"out is {target}, and {target.parent} is no folder.", "Make it first.")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"data is {folder}, and that is a file.", "Name a folder.")
    check_writable("out", target)
    check_writable("data", folder / "keys" if folder.exists() else folder)
    if target.exists():
        try:
            read_certificate(target)
        except ConfigError as error:
            raise ConfigError(
                f"{target} is there and is no certificate of this version.",
                "Name another file with out, or remove it.",
            ) from error
    return target, folder


def write(
    made: Certification, target: Path, folder: Path, key: "Ed25519PrivateKey | None"
) -> Certificate:
    """Write a certificate, signed if there is a key, and its evidence; returns what is written."""
    certificate = signed(made.certificate, key) if key else made.certificate
    write_evidence(made.evidence, folder)
    write_certificate(certificate, target)
    return certificate


def evidence_of(loaded: LoadedCertification, results: Sequence[JudgeResult]) -> Evidence:
    """Return the evidence of a judge's results and people's labels."""
    texts = {unit.text for unit in loaded.units}
    verdicts: dict[str, list[int | None]] = {}
    for result in sorted(results, key=lambda one: (one.item_key, one.repeat)):
        verdicts.setdefault(result.item_key, []).append(_pass(loaded, result.score))
    labels = {
        name: {
            item.key: tuple(round(point / HIGHEST) for point in points)
            for item, points in zip(loaded.people.items, given, strict=True)
            if points and item.key in texts
        }
        for name, given in zip(loaded.people.annotators(), loaded.people.given(WHOLE), strict=True)
    }
    return Evidence(
        loaded.units,
        {text: tuple(given) for text, given in verdicts.items()},
        {name: given for name, given in labels.items() if given},
        {
            text: _verdicts(point)
            for text, point in loaded.people.decided_points().items()
            if text in texts
        },
    )


def _verdicts(points: float) -> tuple[int, ...]:
    """Return a label in points as verdicts: both where it lies between them."""
    return (round(points / HIGHEST),) if points in (0, HIGHEST) else (0, 1)


def _public(name: str) -> str:
    """Return the name of a model or function, or an address without what may be a secret in it."""
    if name.startswith(("http://", "https://")):
        name = name.partition("?")[0].partition("#")[0]
    return masked(name)[:LONGEST_NAME]


def _pass(loaded: LoadedCertification, score: float | None) -> int | None:
    return None if score is None else int(score == loaded.judge.score_range[1])


def required_of(loaded: LoadedCertification) -> Requirements:
    """Return what is required of the judge."""
    rule = loaded.rule
    return Requirements(
        sensitivity=rule.sensitivity,
        specificity=rule.specificity,
        readable=rule.readable,
        by=rule.by,
    )


@dataclass(frozen=True)
class EarlierLooks:
    """What was looked at before: these texts, and other requirements of the same judge on them."""

    uses: tuple[EarlierUse, ...] = ()
    requirements: tuple[EarlierUse, ...] = ()


def seal(runtime: Runtime, loaded: LoadedCertification) -> EarlierLooks:
    """Store the use of the labelled texts, and return the earlier ones by other judges or labels.

    The same judge on the same texts and labels is the same use. Another requirement on these is
    stored too, since a requirement that is chosen after a look says less. Seal before judging.
    """
    judge, items = loaded.judge, loaded.labelled
    if not items:
        return EarlierLooks()
    used, keys, required = digest_of(items), {item.key for item in items}, required_of(loaded)
    asked = digest("certified requirements", [used, required.model_dump(mode="json")])
    with runtime.session() as session:
        looks.lock_looks(session)
        known = looks.looks(session, simulated=judge.is_simulated)
        own = [one for one in known if (one.chosen, one.test_digest) == (judge.key, used)]
        # Uses that were stored before requirements were have the digest of their texts.
        same = [one for one in own if one.items_digest in (asked, used)]
        if not same:
            judge_id = save_judge(session, judge.record)
            looks.save_look(
                session,
                alignment=f"certificate of {judge.name}, {judge.key}, {required.words}",
                before_id=judge_id,
                chosen_id=judge_id,
                test_digest=used,
                items_digest=asked,
                items=[item.key for item in items],
                simulated=judge.is_simulated,
            )
    before = [one for one in known if not own or one.id < own[0].id]
    first_of_each = {(one.before, one.chosen, one.test_digest): one for one in reversed(before)}
    return EarlierLooks(
        _earlier(sorted(first_of_each.values(), key=lambda one: one.id), keys),
        _earlier([one for one in own if not same or one.id < same[0].id], keys),
    )


def _earlier(known: Sequence[looks.Look], keys: set[str]) -> tuple[EarlierUse, ...]:
    return tuple(
        EarlierUse(at=one.at.astimezone(UTC), by=one.alignment[:_LONGEST_WORD], texts=len(shared))
        for one in known
        if (shared := one.items & keys)
    )


def certificate_of(
    loaded: LoadedCertification,
    evidence: Evidence,
    by: Answered,
    earlier: EarlierLooks,
    results: Sequence[JudgeResult],
) -> Certificate:
    """Return the certificate that the evidence makes, as of now."""
    judge, rule, required = loaded.judge, loaded.rule, required_of(loaded)
    now = datetime.now(UTC).replace(microsecond=0)
    drift = judge.gate or GateRule(items=Path())
    certificate = Certificate(
        made=now,
        judge_gym=version("judge-gym"),
        judge=CertifiedJudge(
            name=judge.name,
            kind=judge.kind,
            key=judge.key,
            prompt=judge.prompt_hash,
            parameters=sha256("judge", judge.identity),
            settings=setting_digests(judge.identity),
            models=tuple(map(_public, judge.answerers)),
            served=tuple(by.served),
            passes=(judge.verdict_of(judge.score_range[1]) or "")[:_LONGEST_WORD],
            simulated=any(result.simulated for result in results),
        ),
        required=required,
        population=population_of(evidence, loaded.left_out),
        labels=labels_of(evidence),
        earlier_uses=earlier.uses,
        earlier_requirements=earlier.requirements,
        findings=findings(evidence, required),
        ends=Ends(
            on=(now + timedelta(days=rule.valid_days)).date(),
            drift_points=drift.drift,
            drift_changed=drift.changed,
            drift_e_value=ALARM,
        ),
    )
    return certificate.model_copy(update={"digest": certificate.content_digest})
