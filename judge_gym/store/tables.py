"""The tables. Natural unique keys say what is missing; check constraints say what is possible.

Nothing here counts or summarises: statuses of windows and experiments are derived from rows.
DDL lives in `sql/migrations`; a test proves that the two agree.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    Numeric,
    SmallInteger,
    Text,
    UniqueConstraint,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

SAMPLE_STATUSES = ("scored", "abstained", "unparseable", "refused", "failed")
JUDGE_STATUSES = ("scored", "inconsistent", "unparseable", "refused", "failed")
PROBE_STATUSES = ("answered", "unparseable", "refused", "failed")
CALL_STATUSES = ("planned", "sent", "succeeded", "failed", "cancelled")
OPEN_BATCHES = ("planned", "submitted", "cancelling")
BATCH_STATUSES = (*OPEN_BATCHES, "completed", "failed", "expired", "cancelled", "vanished")
ARMS = ("own", "swap", "sham")
CHECK_RESULTS = ("passes", "fails", "inconclusive", "not applicable")
RECOMMENDATIONS = ("keep", "reconsider")
CONCLUSIONS = ("supported", "refuted", "inconclusive", "not testable here")


class Base(DeclarativeBase):
    """Common conventions: named constraints, text without length, timestamps with time zone."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 — SQLAlchemy's own protocol
        str: Text,
        datetime: DateTime(timezone=True),
        # An absent value is NULL, never the JSON null that `IS NULL` does not find.
        dict[str, Any]: JSONB(none_as_null=True),
        list[Any]: JSONB(none_as_null=True),
        list[int]: ARRAY(BigInteger),
        Decimal: Numeric(14, 8),
    }


def _id() -> Mapped[int]:
    return mapped_column(BigInteger, Identity(always=True), primary_key=True)


def _reference(column: str, *, on_delete: str = "CASCADE", **options: Any) -> Any:
    return mapped_column(BigInteger, ForeignKey(column, ondelete=on_delete), **options)


def _created() -> Mapped[datetime]:
    return mapped_column(server_default=func.now())


def _simulated() -> Mapped[bool]:
    # Beside the call's own mark, because calls can be cleaned away and what they led to stays.
    return mapped_column(server_default="false")


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


class Window(Base):
    """A query, country and date range; `collected_at` is when its evidence was fixed."""

    __tablename__ = "windows"
    id: Mapped[int] = _id()
    key: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    query: Mapped[str]
    country: Mapped[str]
    start_date: Mapped[date | None]
    end_date: Mapped[date | None]
    max_documents: Mapped[int] = mapped_column(Integer)
    source: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = _created()
    collected_at: Mapped[datetime | None]


class Document(Base):
    """One piece of evidence as found: the `raw` view, with where it came from."""

    __tablename__ = "documents"
    id: Mapped[int] = _id()
    window_id: Mapped[int] = _reference("windows.id")
    position: Mapped[int] = mapped_column(Integer)
    key: Mapped[str]
    url: Mapped[str]
    canonical_url: Mapped[str]
    domain: Mapped[str]
    tier: Mapped[str]
    tier_weight: Mapped[float]
    title: Mapped[str]
    published: Mapped[date | None]
    text: Mapped[str]
    cut_from: Mapped[int | None] = mapped_column(Integer)
    truth_value: Mapped[float | None]
    truth_label: Mapped[str | None]
    category: Mapped[str] = mapped_column(server_default="")
    simulated: Mapped[bool] = _simulated()
    __table_args__ = (
        UniqueConstraint("window_id", "key"),
        UniqueConstraint("window_id", "position"),
        CheckConstraint("tier_weight BETWEEN 0 AND 1", name="tier_weight_range"),
        CheckConstraint("truth_value BETWEEN 0 AND 1", name="truth_value_range"),
    )


class DroppedDocument(Base):
    """What a source gave and the window did not take, and why."""

    __tablename__ = "dropped_documents"
    id: Mapped[int] = _id()
    window_id: Mapped[int] = _reference("windows.id", index=True)
    url: Mapped[str]
    title: Mapped[str]
    reason: Mapped[str]
    detail: Mapped[str]


class Batch(Base):
    """Calls to one model that go to the provider as a file; written before anything is sent.

    `answered` and `failed` count calls and are known when it has ended; what it is linked to by
    `llm_calls.batch_id` waits while its status is one of `OPEN_BATCHES`.
    """

    __tablename__ = "llm_batches"
    id: Mapped[int] = _id()
    key: Mapped[str] = mapped_column(unique=True)
    """Our own name for it, which the provider keeps as metadata."""
    provider: Mapped[str]
    model: Mapped[str]
    status: Mapped[str]
    calls: Mapped[int] = mapped_column(Integer)
    answered: Mapped[int] = mapped_column(Integer, server_default="0")
    failed: Mapped[int] = mapped_column(Integer, server_default="0")
    input_file_id: Mapped[str | None]
    provider_batch_id: Mapped[str | None]
    output_file_id: Mapped[str | None]
    error_file_id: Mapped[str | None]
    error: Mapped[str | None]
    created_at: Mapped[datetime] = _created()
    submitted_at: Mapped[datetime | None]
    polled_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    __table_args__ = (
        _one_of("status", BATCH_STATUSES),
        UniqueConstraint("provider", "provider_batch_id"),
        CheckConstraint(
            "status IN ('planned', 'cancelled', 'failed') OR provider_batch_id IS NOT NULL",
            name="provider_batch_id_when_submitted",
        ),
        CheckConstraint(
            "(status IN ('planned', 'submitted', 'cancelling')) = (ended_at IS NULL)",
            name="ended_at_when_ended",
        ),
        Index(
            "ix_llm_batches_open",
            "status",
            postgresql_where="status IN ('planned', 'submitted', 'cancelling')",
        ),
    )


class Call(Base):
    """The ledger: every LLM call, written before it is sent and completed with its answer."""

    __tablename__ = "llm_calls"
    id: Mapped[int] = _id()
    key: Mapped[str] = mapped_column(unique=True)
    workflow: Mapped[str]
    agent: Mapped[str]
    provider: Mapped[str]
    model: Mapped[str]
    experiment_id: Mapped[int | None] = mapped_column(
        BigInteger, ForeignKey("experiments.id", ondelete="SET NULL"), index=True
    )
    messages: Mapped[list[Any]]
    template: Mapped[str]
    template_hash: Mapped[str]
    parameters: Mapped[dict[str, Any]]
    status: Mapped[str]
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    errors: Mapped[list[Any]] = mapped_column(JSONB, server_default="[]")
    answer: Mapped[str | None]
    finish_reason: Mapped[str | None]
    prompt_tokens: Mapped[int | None] = mapped_column(Integer)
    completion_tokens: Mapped[int | None] = mapped_column(Integer)
    cost_usd: Mapped[Decimal | None]
    latency_ms: Mapped[float | None]
    route: Mapped[str] = mapped_column(server_default="direct")
    """`direct`, `batch`, or `cache` for another call's answer, which cost nothing here."""
    request_digest: Mapped[str | None]
    """Equal for byte-identical requests of equal replicates; empty unless answers are reused."""
    cached_from: Mapped[int | None] = _reference("llm_calls.id", on_delete="SET NULL", index=True)
    """The call whose answer this is, as long as the ledger has it."""
    batch_id: Mapped[int | None] = _reference("llm_batches.id", on_delete="RESTRICT", index=True)
    """The batch it went into, at most one ever; what that leaves open is asked directly."""
    simulated: Mapped[bool | None]
    created_at: Mapped[datetime] = _created()
    sent_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    __table_args__ = (
        _one_of("status", CALL_STATUSES),
        CheckConstraint(
            "(status = 'succeeded') = (answer IS NOT NULL)", name="answer_when_succeeded"
        ),
        CheckConstraint("attempts >= 0", name="attempts_not_negative"),
        Index("ix_llm_calls_open", "status", postgresql_where="status IN ('planned', 'sent')"),
        Index(
            "ix_llm_calls_request_digest",
            "request_digest",
            postgresql_where="request_digest IS NOT NULL",
        ),
    )


class GateChange(Base):
    """When a process lowered its requests in flight to a provider, and when it had recovered."""

    __tablename__ = "gate_changes"
    id: Mapped[int] = _id()
    at: Mapped[datetime] = _created()
    provider: Mapped[str]
    process: Mapped[str]
    in_flight: Mapped[int] = mapped_column(Integer)
    reason: Mapped[str]
    __table_args__ = (Index("ix_gate_changes_provider_at", "provider", "at"),)


class View(Base):
    """A document cleaned, neutralized or abstracted; made once per window, or failed on record."""

    __tablename__ = "views"
    document_id: Mapped[int] = _reference("documents.id", primary_key=True)
    view: Mapped[str] = mapped_column(primary_key=True)
    status: Mapped[str]
    text: Mapped[str | None]
    words: Mapped[int | None] = mapped_column(Integer)
    over_limit: Mapped[bool] = mapped_column(server_default="false")
    method: Mapped[str]
    failure: Mapped[str | None]
    simulated: Mapped[bool] = _simulated()
    call_id: Mapped[int | None] = _reference("llm_calls.id", on_delete="SET NULL", index=True)
    __table_args__ = (
        _one_of("view", ("cleaned", "neutralized", "abstracted")),
        _one_of("status", ("ready", "failed")),
        CheckConstraint("(status = 'ready') = (text IS NOT NULL)", name="text_when_ready"),
        CheckConstraint("(status = 'failed') = (failure IS NOT NULL)", name="failure_when_failed"),
    )


class Rubric(Base):
    """A rubric for a concept, country and scale, with its critic's marks."""

    __tablename__ = "rubrics"
    id: Mapped[int] = _id()
    key: Mapped[str] = mapped_column(unique=True)
    source: Mapped[str]
    owner_model: Mapped[str]
    owner_family: Mapped[str]
    concept: Mapped[str]
    country: Mapped[str]
    scale_size: Mapped[int] = mapped_column(SmallInteger)
    variant: Mapped[int] = mapped_column(SmallInteger)
    status: Mapped[str]
    stages: Mapped[list[Any] | None]
    reasoning: Mapped[str] = mapped_column(server_default="")
    observability: Mapped[float | None]
    discriminability: Mapped[float | None]
    critic_model: Mapped[str | None]
    critic_failure: Mapped[str | None]
    flagged: Mapped[bool] = mapped_column(server_default="false")
    failure: Mapped[str | None]
    simulated: Mapped[bool] = _simulated()
    call_id: Mapped[int | None] = _reference("llm_calls.id", on_delete="SET NULL", index=True)
    created_at: Mapped[datetime] = _created()
    __table_args__ = (
        _one_of("source", ("generated", "provided")),
        _one_of("status", ("ready", "refused", "failed")),
        CheckConstraint("scale_size BETWEEN 2 AND 10", name="scale_size_range"),
        CheckConstraint("observability BETWEEN 0 AND 1", name="observability_range"),
        CheckConstraint("discriminability BETWEEN 0 AND 1", name="discriminability_range"),
        CheckConstraint(
            "status = 'failed' OR (stages IS NOT NULL AND jsonb_array_length(stages) = scale_size)",
            name="stages_fit_scale",
        ),
        CheckConstraint("(status = 'ready') = (failure IS NULL)", name="failure_unless_ready"),
        UniqueConstraint("id", "scale_size"),
        Index("ix_rubrics_choice", "concept", "country", "scale_size", "owner_model"),
    )


class Experiment(Base):
    """One point of the design space; `config` is the whole of it, the columns are for queries."""

    __tablename__ = "experiments"
    id: Mapped[int] = _id()
    key: Mapped[str] = mapped_column(unique=True)
    tag: Mapped[str] = mapped_column(unique=True)
    task_type: Mapped[str]
    concept: Mapped[str]
    country: Mapped[str]
    window_id: Mapped[int] = _reference("windows.id", on_delete="RESTRICT", index=True)
    model: Mapped[str]
    family: Mapped[str]
    scale_size: Mapped[int] = mapped_column(SmallInteger)
    replicates: Mapped[int] = mapped_column(Integer)
    config: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = _created()
    __table_args__ = (
        _one_of("task_type", ("ecc", "control", "benchmark")),
        CheckConstraint("scale_size BETWEEN 2 AND 10", name="scale_size_range"),
        CheckConstraint("replicates >= 1", name="replicates_positive"),
        UniqueConstraint("id", "scale_size"),
    )


class Item(Base):
    """What is judged at once: one document or a bundle; the same for every judge of a window."""

    __tablename__ = "items"
    id: Mapped[int] = _id()
    key: Mapped[str] = mapped_column(unique=True)
    window_id: Mapped[int] = _reference("windows.id", index=True)
    bundle_size: Mapped[int] = mapped_column(SmallInteger)


class ItemDocument(Base):
    """The documents of an item, in the order they are shown."""

    __tablename__ = "item_documents"
    item_id: Mapped[int] = _reference("items.id", primary_key=True)
    position: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    document_id: Mapped[int] = _reference("documents.id", index=True)


class ExperimentItem(Base):
    """The items of an experiment, frozen before its first judgement."""

    __tablename__ = "experiment_items"
    experiment_id: Mapped[int] = _reference("experiments.id", primary_key=True)
    item_id: Mapped[int] = _reference("items.id", primary_key=True, index=True)
    position: Mapped[int] = mapped_column(Integer)


class Arm(Base):
    """An experiment judged under one rubric: its own arm (W3), a rival's or a sham (W4)."""

    __tablename__ = "arms"
    id: Mapped[int] = _id()
    experiment_id: Mapped[int] = mapped_column(BigInteger)
    rubric_id: Mapped[int] = mapped_column(BigInteger)
    scale_size: Mapped[int] = mapped_column(SmallInteger)
    arm: Mapped[str]
    held_out_items: Mapped[list[int]] = mapped_column(server_default="{}")
    """Items a swap pair was chosen on, which its swap arm therefore leaves out."""
    __table_args__ = (
        _one_of("arm", ARMS),
        ForeignKeyConstraint(
            ["experiment_id", "scale_size"],
            ["experiments.id", "experiments.scale_size"],
            ondelete="CASCADE",
        ),
        ForeignKeyConstraint(["rubric_id", "scale_size"], ["rubrics.id", "rubrics.scale_size"]),
        UniqueConstraint("experiment_id", "arm", "rubric_id"),
        UniqueConstraint("id", "scale_size"),
        Index("uq_arms_one_own", "experiment_id", unique=True, postgresql_where="arm = 'own'"),
        Index("ix_arms_rubric_id", "rubric_id"),
    )


class Sample(Base):
    """The outcome of one judgement; `stages` is a bit set, bit s-1 for stage s."""

    __tablename__ = "samples"
    id: Mapped[int] = _id()
    arm_id: Mapped[int] = mapped_column(BigInteger)
    item_id: Mapped[int] = _reference("items.id", on_delete="RESTRICT", index=True)
    replicate: Mapped[int] = mapped_column(Integer)
    scale_size: Mapped[int] = mapped_column(SmallInteger)
    seed: Mapped[int] = mapped_column(BigInteger)
    letters: Mapped[str]
    """The letter of stage 1, 2, … as shown in this sample."""
    display_order: Mapped[list[int]] = mapped_column(ARRAY(SmallInteger))
    """The stages as listed in this sample, first to last."""
    status: Mapped[str]
    stages: Mapped[int | None] = mapped_column(Integer)
    verdict_text: Mapped[str | None]
    span_start: Mapped[int | None] = mapped_column(Integer)
    span_end: Mapped[int | None] = mapped_column(Integer)
    failure: Mapped[str | None]
    simulated: Mapped[bool] = _simulated()
    imported: Mapped[bool] = mapped_column(server_default="false")
    """Judged elsewhere and brought in."""
    call_id: Mapped[int | None] = _reference("llm_calls.id", on_delete="SET NULL", index=True)
    created_at: Mapped[datetime] = _created()
    __table_args__ = (
        _one_of("status", SAMPLE_STATUSES),
        ForeignKeyConstraint(
            ["arm_id", "scale_size"], ["arms.id", "arms.scale_size"], ondelete="CASCADE"
        ),
        UniqueConstraint("arm_id", "item_id", "replicate"),
        # The samples of an arm lie together on disk, which the index above cannot tell.
        Index("ix_samples_arm_id", "arm_id"),
        CheckConstraint("replicate >= 0", name="replicate_not_negative"),
        CheckConstraint("(status = 'scored') = (stages IS NOT NULL)", name="stages_when_scored"),
        CheckConstraint("stages BETWEEN 1 AND (1 << scale_size) - 1", name="stages_within_scale"),
        CheckConstraint(
            "(status IN ('unparseable', 'refused', 'failed')) = (failure IS NOT NULL)",
            name="failure_when_not_judged",
        ),
        CheckConstraint(
            "length(letters) = scale_size AND cardinality(display_order) = scale_size",
            name="presentation_fits_scale",
        ),
    )


class Probe(Base):
    """The share of experts a judge expects to choose the verdict of one of its samples."""

    __tablename__ = "probes"
    id: Mapped[int] = _id()
    sample_id: Mapped[int] = _reference("samples.id")
    replicate: Mapped[int] = mapped_column(SmallInteger)
    status: Mapped[str]
    probability: Mapped[float | None]
    failure: Mapped[str | None]
    simulated: Mapped[bool] = _simulated()
    call_id: Mapped[int | None] = _reference("llm_calls.id", on_delete="SET NULL", index=True)
    created_at: Mapped[datetime] = _created()
    __table_args__ = (
        _one_of("status", PROBE_STATUSES),
        UniqueConstraint("sample_id", "replicate"),
        CheckConstraint("probability BETWEEN 0 AND 1", name="probability_range"),
        CheckConstraint(
            "(status = 'answered') = (probability IS NOT NULL)", name="probability_when_answered"
        ),
        CheckConstraint("(status = 'answered') = (failure IS NULL)", name="failure_when_missing"),
        Index("ix_probes_second", "sample_id", postgresql_where="replicate = 1"),
    )


class Sweep(Base):
    """A sweep file as it was last run: a named set of experiments and a swap plan."""

    __tablename__ = "sweeps"
    id: Mapped[int] = _id()
    name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str]
    swap: Mapped[dict[str, Any] | None]
    plan: Mapped[str | None]
    """Digest of the analysis plan that its file names."""
    created_at: Mapped[datetime] = _created()


class AnalysisPlan(Base):
    """Margins and primary outcomes of a sweep as they were fixed, and when."""

    __tablename__ = "analysis_plans"
    id: Mapped[int] = _id()
    sweep_id: Mapped[int] = _reference("sweeps.id")
    sha256: Mapped[str]
    content: Mapped[dict[str, Any]]
    stored_at: Mapped[datetime] = _created()
    __table_args__ = (UniqueConstraint("sweep_id", "sha256"),)


class SweepExperiment(Base):
    """Which experiments a sweep holds; an experiment may stand in several."""

    __tablename__ = "sweep_experiments"
    sweep_id: Mapped[int] = _reference("sweeps.id", primary_key=True)
    experiment_id: Mapped[int] = _reference("experiments.id", primary_key=True, index=True)


class AnalysisRun(Base):
    """One pass of the analysis flow over the experiments of a sweep."""

    __tablename__ = "analysis_runs"
    id: Mapped[int] = _id()
    sweep_id: Mapped[int] = _reference("sweeps.id", index=True)
    version: Mapped[str]
    simulated: Mapped[bool]
    data_digest: Mapped[str] = mapped_column(server_default="")
    """Of everything the figures were made of; empty when it was not kept."""
    plan_id: Mapped[int | None] = _reference("analysis_plans.id", on_delete="SET NULL")
    standing: Mapped[str] = mapped_column(server_default="")
    """Whether its primary outcomes are confirmatory, and why."""
    created_at: Mapped[datetime] = _created()


class AnalysisResult(Base):
    """One figure with its uncertainty, or the reason why there is none."""

    __tablename__ = "analysis_results"
    id: Mapped[int] = _id()
    run_id: Mapped[int] = _reference("analysis_runs.id")
    metric: Mapped[str]
    scope: Mapped[dict[str, Any]]
    scope_key: Mapped[str]
    estimate: Mapped[float | None]
    lower: Mapped[float | None]
    upper: Mapped[float | None]
    n: Mapped[int] = mapped_column(Integer)
    n_items: Mapped[int] = mapped_column(Integer)
    floor: Mapped[float | None]
    p: Mapped[float | None]
    p_adjusted: Mapped[float | None]
    unit: Mapped[str]
    method: Mapped[str]
    reason: Mapped[str]
    simulated: Mapped[bool]
    imported: Mapped[bool] = mapped_column(server_default="false")
    __table_args__ = (
        UniqueConstraint("run_id", "metric", "scope_key"),
        CheckConstraint("estimate IS NOT NULL OR reason <> ''", name="reason_when_not_estimable"),
        CheckConstraint("p BETWEEN 0 AND 1", name="p_range"),
        CheckConstraint("p_adjusted BETWEEN 0 AND 1", name="p_adjusted_range"),
    )


class AnalysisFinding(Base):
    """What the data say about a hypothesis or a validity check, decided from an interval."""

    __tablename__ = "analysis_findings"
    id: Mapped[int] = _id()
    run_id: Mapped[int] = _reference("analysis_runs.id")
    hypothesis: Mapped[str]
    statement: Mapped[str]
    estimand: Mapped[str]
    scope: Mapped[dict[str, Any]]
    scope_key: Mapped[str]
    direction: Mapped[str]
    margin: Mapped[float]
    reference: Mapped[float]
    estimate: Mapped[float | None]
    lower: Mapped[float | None]
    upper: Mapped[float | None]
    n: Mapped[int] = mapped_column(Integer)
    n_items: Mapped[int] = mapped_column(Integer)
    unit: Mapped[str]
    p: Mapped[float | None]
    p_adjusted: Mapped[float | None]
    conclusion: Mapped[str]
    reason: Mapped[str]
    confirmatory: Mapped[bool]
    simulated: Mapped[bool]
    imported: Mapped[bool] = mapped_column(server_default="false")
    __table_args__ = (
        UniqueConstraint("run_id", "hypothesis", "scope_key"),
        _one_of("conclusion", CONCLUSIONS),
        _one_of("direction", ("above", "below", "within")),
        CheckConstraint("p BETWEEN 0 AND 1", name="p_range"),
        CheckConstraint("p_adjusted BETWEEN 0 AND 1", name="p_adjusted_range"),
    )


class Judge(Base):
    """A judge for products, by the hash of its configuration and prompt."""

    __tablename__ = "judges"
    id: Mapped[int] = _id()
    key: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    name: Mapped[str]
    """What it was called when it was first used."""
    model: Mapped[str]
    """The model, function or address that answers."""
    config: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = _created()
    __table_args__ = (
        _one_of("kind", ("rubric", "binary", "pairwise", "callable", "http")),
        Index("ix_judges_name", "name"),
    )


class JudgeItem(Base):
    """What such judges judge: an item of a corpus, as it is or as a perturbation left it."""

    __tablename__ = "judge_items"
    id: Mapped[int] = _id()
    key: Mapped[str] = mapped_column(unique=True)
    """Of corpus, name, variant and content."""
    corpus: Mapped[str]
    """The digest of the file it comes from; empty when it comes from none."""
    name: Mapped[str]
    perturbation: Mapped[str] = mapped_column(server_default="")
    """Empty for an original, which has neither severity nor seed."""
    severity: Mapped[float | None]
    seed: Mapped[int | None] = mapped_column(BigInteger)
    perturber: Mapped[str | None]
    """The model that changed the text; none when the rules did, and for an original."""
    text: Mapped[str]
    second: Mapped[str | None]
    context: Mapped[str]
    simulated: Mapped[bool] = _simulated()
    created_at: Mapped[datetime] = _created()
    __table_args__ = (
        CheckConstraint("severity BETWEEN 0 AND 1", name="severity_range"),
        CheckConstraint(
            "(perturbation = '') = (severity IS NULL) AND (perturbation = '') = (seed IS NULL)",
            name="variant_whole",
        ),
        Index("ix_judge_items_corpus_name", "corpus", "name"),
    )


class PerturbedText(Base):
    """What came of a text that a model was to change; asked once, kept for all calibrations."""

    __tablename__ = "perturbed_texts"
    key: Mapped[str] = mapped_column(primary_key=True)
    """Of text, perturbation, severity, seed, model and prompt."""
    perturbation: Mapped[str]
    severity: Mapped[float]
    seed: Mapped[int] = mapped_column(BigInteger)
    model: Mapped[str]
    status: Mapped[str]
    text: Mapped[str | None]
    failure: Mapped[str | None]
    call_ids: Mapped[list[int]]
    """Its calls, as long as the ledger has them."""
    simulated: Mapped[bool] = _simulated()
    created_at: Mapped[datetime] = _created()
    __table_args__ = (
        _one_of("status", ("changed", "unusable", "refused", "failed")),
        CheckConstraint("severity > 0 AND severity <= 1", name="severity_range"),
        CheckConstraint("(status = 'changed') = (text IS NOT NULL)", name="text_when_changed"),
        CheckConstraint(
            "(status = 'changed') = (failure IS NULL)", name="failure_when_not_changed"
        ),
    )


class JudgeResult(Base):
    """One item judged once by such a judge; `score` is on the judge's scale."""

    __tablename__ = "judge_results"
    id: Mapped[int] = _id()
    judge_id: Mapped[int] = _reference("judges.id")
    item_id: Mapped[int] = _reference("judge_items.id", on_delete="RESTRICT", index=True)
    repeat: Mapped[int] = mapped_column(Integer)
    occasion: Mapped[str] = mapped_column(server_default="")
    """Why it was asked anew: the date of a review; empty elsewhere."""
    status: Mapped[str]
    score: Mapped[float | None]
    subscores: Mapped[dict[str, Any]]
    verdict: Mapped[str | None]
    reason: Mapped[str]
    failure: Mapped[str | None]
    call_ids: Mapped[list[int]]
    """Its calls, as long as the ledger has them; none when no model was asked."""
    duration_s: Mapped[float | None]
    simulated: Mapped[bool] = _simulated()
    created_at: Mapped[datetime] = _created()
    __table_args__ = (
        _one_of("status", JUDGE_STATUSES),
        UniqueConstraint("judge_id", "item_id", "repeat", "occasion"),
        CheckConstraint("repeat >= 0", name="repeat_not_negative"),
        CheckConstraint("(status = 'scored') = (score IS NOT NULL)", name="score_when_scored"),
        CheckConstraint(
            "(status IN ('unparseable', 'refused', 'failed')) = (failure IS NOT NULL)",
            name="failure_when_not_judged",
        ),
        CheckConstraint("score NOT IN ('NaN', 'Infinity', '-Infinity')", name="score_finite"),
    )


class CalibrationCheck(Base):
    """What the last calibration of a judge on a corpus found in one check."""

    __tablename__ = "calibration_checks"
    id: Mapped[int] = _id()
    judge_id: Mapped[int] = _reference("judges.id")
    corpus: Mapped[str]
    """The digest of the file of the original texts."""
    calibration: Mapped[str]
    name: Mapped[str]
    perturbation: Mapped[str] = mapped_column(server_default="")
    """Empty for a check of the scores of the originals."""
    question: Mapped[str]
    result: Mapped[str]
    reason: Mapped[str]
    action: Mapped[str]
    metric: Mapped[str]
    estimate: Mapped[float | None]
    lower: Mapped[float | None]
    upper: Mapped[float | None]
    n: Mapped[int] = mapped_column(Integer)
    n_items: Mapped[int] = mapped_column(Integer)
    unit: Mapped[str]
    method: Mapped[str]
    p: Mapped[float | None]
    p_adjusted: Mapped[float | None]
    beside: Mapped[list[Any]]
    """Figures to be read with the estimate, such as d_z and d_av."""
    simulated: Mapped[bool] = _simulated()
    created_at: Mapped[datetime] = _created()
    __table_args__ = (
        _one_of("result", CHECK_RESULTS),
        UniqueConstraint("judge_id", "corpus", "name"),
        CheckConstraint("p BETWEEN 0 AND 1", name="p_range"),
        CheckConstraint("p_adjusted BETWEEN 0 AND 1", name="p_adjusted_range"),
    )


class JudgeReview(Base):
    """What a review of one day says of a judge, or of an alternative to it; a person decides."""

    __tablename__ = "judge_reviews"
    id: Mapped[int] = _id()
    review: Mapped[str]
    """The name that the review's file gives it."""
    reviewed_on: Mapped[date]
    judge_id: Mapped[int] = _reference("judges.id")
    alternative_id: Mapped[int | None] = _reference("judges.id", nullable=True)
    """NULL for the judge itself, compared with what it said at the review before."""
    corpus: Mapped[str]
    decision: Mapped[str]
    """The past decision, in the words of the file."""
    figures: Mapped[dict[str, Any]]
    recommendation: Mapped[str]
    reason: Mapped[str]
    simulated: Mapped[bool] = _simulated()
    created_at: Mapped[datetime] = _created()
    __table_args__ = (
        _one_of("recommendation", RECOMMENDATIONS),
        UniqueConstraint(
            "review", "reviewed_on", "judge_id", "corpus", "alternative_id",
            name="uq_judge_reviews_one_a_day", postgresql_nulls_not_distinct=True,
        ),
        Index("ix_judge_reviews_judge_id_reviewed_on", "judge_id", "reviewed_on"),
    )  # fmt: skip
