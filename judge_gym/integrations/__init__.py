"""Judges as components of other tools: an Inspect scorer, a DeepEval metric, a promptfoo assertion,
a plain function."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from judge_gym.design.config import fault_reason
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.judges import Item, Judge
from judge_gym.judges.base import run_now
from judge_gym.judges.certifying.certificate import Use
from judge_gym.judges.certifying.checking import ValidCertificate, in_slice, valid_certificate
from judge_gym.records.items import LONGEST_TEXT
from judge_gym.records.judgements import JudgeResult


class NotScoredError(JudgeGymError):
    """A judge gave no score; nothing takes its place."""


def judge_of(judge: Judge | str | Path) -> Judge:
    """Return a judge, or the one of a file; raises `ConfigError` for one of pairs."""
    return judge if isinstance(judge, Judge) else Judge.from_file(judge)


@dataclass(frozen=True)
class Certified:
    """A judge that is relied on where its certificate holds: all the time without one."""

    judge: Judge
    certificate: Path | None
    slice: str | None
    use: Use
    signed_by: Path | None = None

    @property
    def caution(self) -> str:
        """Why the certificate may not be what it says; empty without a doubt, and without one."""
        return "" if self.certificate is None else self.check().caution

    async def ascore(self, item: Item) -> JudgeResult:
        """Judge an item; raises `CertificateError` where another served model answered."""
        if self.certificate is None:
            return await self.judge.ascore(item)
        certificate = self.check()
        # The database and litellm, which reading a judge file must not pay.
        from judge_gym.judges.judging import judge_items
        from judge_gym.runtime import runtime
        from judge_gym.store.judges import answered

        async with runtime() as current:
            [result] = await judge_items(current, self.judge, [item])
            with current.session() as session:
                certificate.check_served(answered(session, self.judge.record, [[result]]).served)
        return result

    def check(self) -> ValidCertificate:
        """Return the certificate; raises `CertificateError` where it does not hold today."""
        assert self.certificate is not None
        return valid_certificate(
            self.certificate,
            self.judge,
            in_slice(self.slice),
            use=self.use,
            key=self.signed_by,
        )


def certified(
    judge: Judge | str | Path,
    certificate: str | Path | None = None,
    slice: str | None = None,
    use: Use = "gate",
    signed_by: str | Path | None = None,
) -> Certified:
    """Return a judge with the certificate that it has to have for a use, in a slice.

    Raises `CertificateError` where a certificate is asked for and does not hold: missing, ended, of
    another judge, not signed with the public key (PEM) `signed_by`, or not for this use and slice;
    `ConfigError` for a key without a certificate. Warns of a signature that was not checked.
    """
    path, key = (None if one is None else Path(one) for one in (certificate, signed_by))
    if path is None and key is not None:
        raise ConfigError("There is signed_by and no certificate.", "Name the certificate, too.")
    found = Certified(judge_of(judge), path, slice, use, key)
    if path is not None:
        found.check().warn()
    return found


def text_item(text: str | None, context: str = "") -> Item:
    """Return what a judge reads; raises `NotScoredError` for a text that none can judge."""
    if not text:
        raise NotScoredError("There is no score: the text is empty.", "")
    if not isinstance(text, str):
        raise NotScoredError(f"There is no score: {text!r} is no text.", "Give a str.")
    for name, given in (("text", text), ("context", context)):
        if len(given) > LONGEST_TEXT:
            raise NotScoredError(
                f"There is no score: the {name} has {len(given):,} characters.",
                f"A judge reads at most {LONGEST_TEXT:,}.",
            )
    try:
        return Item(id="text", text=text, context=context)
    except ValidationError as error:
        fault = error.errors()[0]
        reason = fault_reason(fault)
        raise NotScoredError(f"There is no score: the {fault['loc'][0]} {reason}.", "") from None


def unscored(result: JudgeResult) -> str:
    """Return why a result has no score."""
    return result.failure or result.status


def scoring_function(judge: Judge | str | Path, **asked: Any) -> Callable[..., float]:
    """Return a function `score(text, context="")` of a judge, on the judge's scale.

    It raises `NotScoredError` where the judge gives no score, and for an empty text. `asked` are
    the certificate, slice, use and key of `certified`.
    """
    chosen = certified(judge, **asked)

    def score(text: str, context: str = "") -> float:
        result = run_now(chosen.ascore(text_item(text, context)))
        if result.score is None:
            raise NotScoredError(
                f"{chosen.judge.called} gave no score: {unscored(result)}.",
                "Judge the text again with judge-gym judge score --retry-failed.",
            )
        return result.score

    return score
