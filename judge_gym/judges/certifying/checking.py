"""Whether a certificate holds for a judge, its served model and a slice, today."""

import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from judge_gym.counting import first_of
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.judges.base import Judge
from judge_gym.judges.certifying.certificate import (
    Certificate,
    CertifiedJudge,
    CertifiedSlice,
    Use,
    read_certificate,
    setting_digests,
    was_changed,
)
from judge_gym.judges.certifying.signing import signature_fault


class CertificateError(JudgeGymError):
    """A judge is refused: its certificate does not hold."""


class UncheckedSignatureWarning(UserWarning):
    """A certificate holds, and whose it is was not checked."""


_CERTIFY = "Certify the judge as it is now: judge-gym judge certify FILE."


@dataclass(frozen=True)
class ValidCertificate:
    """A certificate that holds for a judge, with the file it stands in."""

    judge: Judge
    certificate: Certificate
    path: Path
    key: Path | None = None
    """The public key that its signature was checked with."""

    @property
    def caution(self) -> str:
        """Why anyone may have written it, as a sentence; empty where its signature was checked."""
        if self.key is not None:
            return ""
        signature = self.certificate.signature
        if signature is None:
            return (
                f"{self.path} is not signed: anyone can write a certificate and its digest. Sign "
                "it with `judge certify --sign KEY`, and set `signed_by` to the public key."
            )
        return (
            f"{self.path} is signed by key {signature.public_key[:16]}, and no key was asked for: "
            "anyone can sign with a key of their own. Set `signed_by` to the public key that you "
            "trust."
        )

    def warn(self) -> None:
        """Warn of the caution, where there is one: for tools that show no gate."""
        if self.caution:
            warnings.warn(self.caution, UncheckedSignatureWarning, stacklevel=3)

    def check_served(self, served: Collection[str]) -> None:
        """Raise `CertificateError` where other models have answered than those it was made with."""
        was, now = set(self.certificate.judge.served), set(served)
        if was and not now:
            raise _refused(
                self.judge, self.path, f"is of {_and(was)}, and the answers name no served model"
            )
        if others := now - was:
            raise _refused(
                self.judge,
                self.path,
                f"is of {_and(was) or 'no named model'}, and {_and(others)} answered",
            )


Slices = Callable[[str], Collection[str] | None]
"""The slices that are asked for, by the column that names them; None where that is not known."""


def in_slice(name: str | None) -> Slices:
    """Return that one slice is asked for, or that none is named."""
    return lambda _: None if name is None else [name]


def valid_certificate(
    path: Path,
    judge: Judge,
    slices: Slices,
    *,
    use: Use = "gate",
    key: Path | None = None,
    today: date | None = None,
) -> ValidCertificate:
    """Read the certificate that a judge is to have for a use and slices.

    Where the certificate is of all texts together, slices do not matter. Raises
    `CertificateError`, one line, for one that is missing or no certificate, was changed, is not
    signed with the public `key` where one is given, is of another judge, has ended, or does not
    show the use there; `ConfigError` for a file that is no key.
    """
    if not path.is_file():
        raise CertificateError(
            f"{judge.called} is refused: there is no certificate {path}.", _CERTIFY
        )
    try:
        certificate = read_certificate(path)
    except ConfigError as error:
        raise CertificateError(f"{judge.called} is refused: {error.message}") from None
    if fault := was_changed(certificate) or signature_fault(certificate, key):
        raise _refused(judge, path, f"does not count: {fault}")
    if other := other_judge(certificate.judge, judge):
        raise _refused(judge, path, other)
    if certificate.ended(today):
        raise _refused(judge, path, f"ended on {certificate.ends.on}")
    by = certificate.required.by
    if fault := _use_fault(certificate, slices(by) if by else None, use):
        raise _refused(judge, path, fault)
    return ValidCertificate(judge, certificate, path, key)


def other_judge(certified: CertifiedJudge, judge: Judge) -> str:
    """Return that a judge is not the certified one, and what was changed; "" where it is."""
    if certified.key == judge.key:
        return ""
    was, now = certified.settings, setting_digests(judge.identity)
    changed = [name for name in dict.fromkeys((*was, *now)) if was.get(name) != now.get(name)]
    if certified.prompt != judge.prompt_hash:
        changed.append("the prompt of this version of judge-gym")
    of = f"{certified.name!r} of {_and(certified.models)}, key {certified.key}, not {judge.key}"
    return f"is of another judge ({of}): {first_of(changed, len(changed))} changed"


def _use_fault(certificate: Certificate, slices: Collection[str] | None, use: Use) -> str:
    """Return why a certificate does not show a use there; empty where it does."""
    by, found = certificate.required.by, certificate.findings
    if use == "rank" or not by:
        shown = found.uses
        return "" if use in shown else f"shows no use {use!r}, but {_and(shown) or 'none'}"
    shown_in = {one.name for one in found.slices if _shows(one, use)}
    allowed = f"it shows this use for {_and(shown_in) or 'no slice'}"
    if slices is None:
        return f"is by {by!r}, and no slice is named: {allowed}"
    if unknown := sorted(set(slices) - {one.name for one in found.slices}):
        return f"is not for {by} {first_of(list(map(repr, unknown)))}: {allowed}"
    if others := sorted(set(slices) - shown_in):
        return f"shows no use {use!r} for {by} {first_of(list(map(repr, others)))}: {allowed}"
    return ""


def _shows(found: CertifiedSlice, use: Use) -> bool:
    """Whether a use is shown in a slice: what may gate may monitor, too."""
    return found.use == use or (found.use, use) == ("gate", "monitor")


def _refused(judge: Judge, path: Path, why: str) -> CertificateError:
    return CertificateError(f"{judge.called} is refused: its certificate {path} {why}.", _CERTIFY)


def _and(names: Collection[str]) -> str:
    return " and ".join(sorted(names))
