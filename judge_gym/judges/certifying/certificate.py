"""The certificate of a judge: its form as JSON, and reading and writing it."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from judge_gym.design.config import read_text, shown
from judge_gym.design.fields import Frozen
from judge_gym.errors import ConfigError, first_line
from judge_gym.seeds import digest, sha256

SUFFIX = ".certificate.json"
LONGEST_NAME = 500
"""Most characters of the name of a slice, a system or a model."""
Use = Literal["gate", "rank", "monitor", "none"]
"""What is shown: that both rates reach what is required; that the judge errs alike on all systems,
so that their order by it is people's; that it decides better than chance; nothing."""
State = Literal["reached", "missed", "open", "too few labels"]
_Share = Field(ge=0, le=1)
_Count = Field(ge=0)


class CertificatePart(Frozen):
    """A part of a certificate: finite numbers, and no key that is not known."""

    model_config = ConfigDict(allow_inf_nan=False)


class CertifiedRate(CertificatePart):
    """Sensitivity or specificity in one slice, of one system or in all."""

    estimate: float | None = _Share
    """The share found; null without a label."""
    lower: float | None = _Share
    """Lower bound, one-sided 97.5%, for all slices at once; null with too few labels."""
    upper: float | None = _Share
    """Upper bound, one-sided 97.5%, for all slices at once."""
    n: int = _Count
    """Labelled answers of the class with a verdict of the judge: a text as often as people labelled
    it."""
    more: int | None = _Count
    """How many more labels would show the rate to reach what is required, if it stays; 0 where it
    does, null where no number would."""


class CertifiedAgreement(CertificatePart):
    """Agreement beyond chance with its bound."""

    estimate: float | None = Field(ge=-1, le=1)
    """Cohen's κ of judge and people, or Krippendorff's α among people; null where there is none."""
    lower: float | None = Field(ge=-1, le=1)
    """Lower bound, one-sided 97.5%."""
    n: int = _Count
    """Answers it is of; of people among each other, texts."""


class CertifiedSlice(CertificatePart):
    """What is shown in one slice, of one system or in all texts."""

    name: str = Field(max_length=LONGEST_NAME)
    """Its name; empty of all texts together."""
    state: State
    """Whether both rates are shown to reach what is required."""
    use: Use
    """What the judge may be used for here."""
    texts: int = _Count
    """Texts with a known answer by people, each once."""
    readable: float | None = _Share
    """Share of them that the judge gave a verdict."""
    sensitivity: CertifiedRate
    """Share of passes among what people passed."""
    specificity: CertifiedRate
    """Share of fails among what people failed."""
    agreement: CertifiedAgreement
    """That of the judge with people beyond chance: Cohen's κ."""


class OneCorrectionFound(CertificatePart):
    """The test that the judge errs alike on all systems."""

    p: float = _Share
    """Its p."""
    power: float = _Share
    """Its chance to find rates of one class 0.1 above and below their mean."""


class Findings(CertificatePart):
    """Every figure of a certificate: what `findings` computes of the evidence."""

    use: Use
    """The strongest use shown for all texts."""
    uses: tuple[Use, ...] = Field(max_length=3)
    """Every use shown for all texts; empty for none."""
    overall: CertifiedSlice
    """All texts together."""
    slices: tuple[CertifiedSlice, ...] = Field(max_length=10_000)
    """By slice; bounds are corrected over slices (Holm)."""
    systems: tuple[CertifiedSlice, ...] = Field(max_length=10_000)
    """By system; bounds are corrected over systems."""
    one_correction: OneCorrectionFound | None
    """Whether the judge errs alike on all systems; null without two systems with labels."""
    people_agreement: CertifiedAgreement
    """That of people among each other beyond chance: Krippendorff's α."""


class Requirements(CertificatePart):
    """What was asked."""

    sensitivity: float = Field(gt=0, lt=1)
    """Least sensitivity."""
    specificity: float = Field(gt=0, lt=1)
    """Least specificity."""
    readable: float = Field(gt=0, lt=1)
    """Least share of texts with a verdict."""
    by: str = Field(max_length=200)
    """The column that names the slices; empty for all texts together."""

    @property
    def least(self) -> tuple[float, float]:
        """The least sensitivity and specificity."""
        return self.sensitivity, self.specificity

    @property
    def words(self) -> str:
        """What was asked, in words."""
        by = f" in every {self.by}" if self.by else ""
        return (
            f"sensitivity {self.sensitivity:g}, specificity {self.specificity:g}, "
            f"{self.readable:g} readable{by}"
        )


class CertifiedJudge(CertificatePart):
    """Which judge."""

    name: str = Field(max_length=200)
    """What people call it."""
    kind: str = Field(max_length=50)
    """Its kind."""
    key: str = Field(pattern="^[0-9a-f]{16}$")
    """Digest of all that can change an answer: prompt, model and parameters."""
    prompt: str = Field(max_length=64)
    """Digest of what it is asked with; empty of a function or an endpoint."""
    parameters: str = Field(pattern="^[0-9a-f]{64}$")
    """SHA-256 of its configuration."""
    settings: dict[str, str]
    """Key of its file → digest of what stands there: says which one was changed."""
    models: tuple[str, ...] = Field(max_length=100)
    """The models, functions or addresses that answer."""
    served: tuple[str, ...] = Field(max_length=100)
    """The served models that answered; empty where the provider names none."""
    passes: str = Field(max_length=200)
    """The verdict that is a pass."""
    simulated: bool
    """Whether the simulator answered: no evidence about real models."""


class Population(CertificatePart):
    """About which texts."""

    texts: int = _Count
    """Texts of the file, each once."""
    questions: int = _Count
    """Questions that they answer."""
    slices: tuple[str, ...] = Field(max_length=10_000)
    """Their slices."""
    systems: tuple[str, ...] = Field(max_length=10_000)
    """Their systems."""
    texts_digest: str = Field(pattern="^[0-9a-f]{64}$")
    """SHA-256 of the texts by key, with slice, system and question."""
    verdicts_digest: str = Field(pattern="^[0-9a-f]{64}$")
    """SHA-256 of the judge's verdicts."""
    left_out: int = _Count
    """Texts left out because the judge was made with them: examples, or those it was aligned on."""


class CertifiedLabels(CertificatePart):
    """Whose labels; how well people agree is among the findings."""

    count: int = _Count
    """Labels in all."""
    by: dict[str, int]
    """Annotator → labels."""
    undecided: int = _Count
    """Texts without a majority, which have no known answer."""
    adjudicated: int = _Count
    """Texts whose known answer is an adjudicator's."""
    digest: str = Field(pattern="^[0-9a-f]{64}$")
    """SHA-256 of the labels."""


class EarlierUse(CertificatePart):
    """An earlier use of some of these labelled texts as a sealed set."""

    at: datetime
    """When (UTC)."""
    by: str = Field(max_length=200)
    """By which certificate or alignment."""
    texts: int = Field(ge=1)
    """How many of these texts."""


class Ends(CertificatePart):
    """When the certificate ends: at this date, with another served model, or with drift."""

    on: date
    """The last day on which it holds (UTC)."""
    drift_points: float = Field(gt=0, le=100)
    """Points of 100 by which the mean of texts judged again may move (`judge gate --recheck`)."""
    drift_changed: float = Field(gt=0, lt=1)
    """Share of texts judged again whose verdict may change."""
    drift_e_value: float = Field(gt=1)
    """The e-value from which all times that texts were judged again show that the judge moved."""


class Signature(CertificatePart):
    """Who vouches for it."""

    algorithm: Literal["ed25519"]
    public_key: str = Field(pattern="^[0-9a-f]{64}$")
    """The public key, in hexadecimal."""
    value: str = Field(pattern="^[0-9a-f]{128}$")
    """The signature of the digest."""


class Certificate(CertificatePart):
    """What people's labels show of a judge, for which use, about which texts, until when."""

    format: Literal["judge-gym certificate 1"] = "judge-gym certificate 1"
    made: datetime
    """When it was made (UTC)."""
    judge_gym: str = Field(max_length=50)
    """Version of judge-gym."""
    judge: CertifiedJudge
    required: Requirements
    population: Population
    labels: CertifiedLabels
    earlier_uses: tuple[EarlierUse, ...] = Field(max_length=10_000)
    """Earlier uses of these texts as a sealed set; empty of a set that is used once."""
    earlier_requirements: tuple[EarlierUse, ...] = Field(default=(), max_length=10_000)
    """Other requirements on the same judge, texts and labels that were sealed before this one."""
    findings: Findings
    ends: Ends
    digest: str = Field(default="", pattern="^([0-9a-f]{64})?$")
    """SHA-256 of all above."""
    signature: Signature | None = None

    @property
    def content_digest(self) -> str:
        """The digest that the content has."""
        left_out = {"digest", "signature"}
        if not self.earlier_requirements:
            # As certificates have it that were made before requirements were recorded.
            left_out.add("earlier_requirements")
        content = self.model_dump(mode="json", exclude=left_out)
        return sha256("certificate", content)

    def ended(self, today: date | None = None) -> bool:
        """Whether its last day is over."""
        return (today or datetime.now(UTC).date()) > self.ends.on


def read_certificate(path: Path) -> Certificate:
    """Read a certificate; raises `ConfigError` that names the key for one that is none."""
    text = read_text(path)
    try:
        certificate = Certificate.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        given = (
            "" if first["type"] in ("missing", "json_invalid") else f" is {shown(first['input'])}"
        )
        reason = first_line(first["msg"]).rstrip(".")
        raise ConfigError(f"{path} is no certificate: {where}{given}: {reason}.") from None
    return certificate


def setting_digests(identity: Mapping[str, Any]) -> dict[str, str]:
    """Return key of a judge's file → digest of what stands there, of what can change an answer."""
    return {key: digest("certified setting", value) for key, value in identity.items()}


def was_changed(certificate: Certificate) -> str:
    """Return that a certificate was changed after it was made, as the end of a sentence; or ""."""
    if certificate.digest == certificate.content_digest:
        return ""
    return (
        "it was changed after it was made: its digest is "
        f"{certificate.digest[:12] or 'missing'}, and its content has "
        f"{certificate.content_digest[:12]}"
    )


def write_certificate(certificate: Certificate, path: Path) -> None:
    """Write a certificate in place of what is there; a reader sees the old file or the new one."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(certificate.model_dump_json(indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
