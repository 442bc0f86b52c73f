"""Sweeps, experiments, rubrics and arms, samples and probes."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    Integer,
    SmallInteger,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from judge_gym.records.judgements import (
    ARMS,
    MARK_STATUSES,
    PROBE_STATUSES,
    SAMPLE_STATUSES,
)
from judge_gym.store.tables.base import (
    Base,
    created,
    kind_column,
    new_id,
    one_of,
    reference,
    simulated_mark,
)


class Rubric(Base):
    """A rubric for a concept, country and scale, with its critic's marks."""

    __tablename__ = "rubrics"
    id: Mapped[int] = new_id()
    key: Mapped[str] = mapped_column(unique=True)
    source: Mapped[str]
    owner_model: Mapped[str]
    owner_family: Mapped[str]
    concept: Mapped[str]
    country: Mapped[str]
    scale_size: Mapped[int] = mapped_column(SmallInteger)
    variant: Mapped[int] = mapped_column(SmallInteger)
    status: Mapped[str]
    recipe: Mapped[str] = mapped_column(server_default="")
    """Digest of the templates and models that made it; empty for the first ones here."""
    stages: Mapped[list[Any] | None]
    """The stages in order, the weakest signal first, each with label and criteria; NULL if it
    failed."""
    reasoning: Mapped[str] = mapped_column(server_default="")
    observability: Mapped[float | None]
    discriminability: Mapped[float | None]
    critic_model: Mapped[str | None]
    critic_failure: Mapped[str | None]
    critic_failure_kind: Mapped[str | None] = kind_column("critic_failure")
    flagged: Mapped[bool] = mapped_column(server_default="false")
    failure: Mapped[str | None]
    failure_kind: Mapped[str | None] = kind_column()
    simulated: Mapped[bool] = simulated_mark()
    call_id: Mapped[int | None] = reference("llm_calls.id", on_delete="SET NULL", index=True)
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("source", ("generated", "provided")),
        one_of("status", ("ready", "refused", "failed")),
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
    """A point of the design space under a recipe.

    `config` is the whole of the point, the columns are for queries.
    """

    __tablename__ = "experiments"
    id: Mapped[int] = new_id()
    key: Mapped[str] = mapped_column(unique=True)
    """The key of the point for its first experiment, else of the point and the recipe."""
    point: Mapped[str | None]
    """The key of the point; NULL for its first experiment."""
    tag: Mapped[str] = mapped_column(unique=True)
    """Name of the experiment, the same in every database."""
    task_type: Mapped[str]
    concept: Mapped[str]
    country: Mapped[str]
    window_id: Mapped[int] = reference("windows.id", on_delete="RESTRICT", index=True)
    model: Mapped[str]
    family: Mapped[str]
    scale_size: Mapped[int] = mapped_column(SmallInteger)
    replicates: Mapped[int] = mapped_column(Integer)
    config: Mapped[dict[str, Any]]
    recipe: Mapped[dict[str, Any] | None]
    """The templates, utility model and settings of its answers (`records.recipes`); NULL for
    imported judgements."""
    view_recipes: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """View → the recipe of those it reads."""
    rubric_recipe: Mapped[str] = mapped_column(server_default="")
    """The recipe of the rubrics that its judge or rubric owner wrote for it."""
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("task_type", ("ecc", "control", "benchmark", "pairs")),
        CheckConstraint("scale_size BETWEEN 2 AND 10", name="scale_size_range"),
        CheckConstraint("replicates >= 1", name="replicates_positive"),
        UniqueConstraint("id", "scale_size"),
        Index("ix_experiments_point", "point"),
    )


class EvidenceItem(Base):
    """What is judged at once: one document or a bundle; the same for every judge of a window."""

    __tablename__ = "items"
    id: Mapped[int] = new_id()
    key: Mapped[str] = mapped_column(unique=True)
    window_id: Mapped[int] = reference("windows.id", index=True)
    bundle_size: Mapped[int] = mapped_column(SmallInteger)


class ItemDocument(Base):
    """The documents of an item, in the order they are shown."""

    __tablename__ = "item_documents"
    item_id: Mapped[int] = reference("items.id", primary_key=True)
    position: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    """Place among the documents of the item, from 0."""
    document_id: Mapped[int] = reference("documents.id", index=True)


class ExperimentItem(Base):
    """The items of an experiment, frozen before its first judgement."""

    __tablename__ = "experiment_items"
    experiment_id: Mapped[int] = reference("experiments.id", primary_key=True)
    item_id: Mapped[int] = reference("items.id", primary_key=True, index=True)
    position: Mapped[int] = mapped_column(Integer)
    """Place among the items of the experiment, from 0."""


class Arm(Base):
    """An experiment judged under one rubric: its own arm (W3), a rival's or a sham (W4)."""

    __tablename__ = "arms"
    id: Mapped[int] = new_id()
    experiment_id: Mapped[int] = mapped_column(BigInteger)
    rubric_id: Mapped[int] = mapped_column(BigInteger)
    scale_size: Mapped[int] = mapped_column(SmallInteger)
    arm: Mapped[str]
    held_out_items: Mapped[list[int]] = mapped_column(server_default="{}")
    """Items a swap pair was chosen on, which its swap arm therefore leaves out."""
    __table_args__ = (
        one_of("arm", ARMS),
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
    id: Mapped[int] = new_id()
    arm_id: Mapped[int] = mapped_column(BigInteger)
    item_id: Mapped[int] = reference("items.id", on_delete="RESTRICT", index=True)
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
    """The verdict as it stands in the answer."""
    span_start: Mapped[int | None] = mapped_column(Integer)
    """Where the verdict begins in the answer, in characters from 0."""
    span_end: Mapped[int | None] = mapped_column(Integer)
    """Where the verdict ends in the answer, in characters from 0."""
    failure: Mapped[str | None]
    failure_kind: Mapped[str | None] = kind_column()
    letter_probability: Mapped[float | None]
    """Of the verdict's letter, by the probabilities of the answer's tokens."""
    letter_probabilities: Mapped[dict[str, Any] | None]
    """Letter → its probability, at the place of the verdict's letter."""
    simulated: Mapped[bool] = simulated_mark()
    imported: Mapped[bool] = mapped_column(server_default="false")
    """Judged elsewhere and imported."""
    call_id: Mapped[int | None] = reference("llm_calls.id", on_delete="SET NULL", index=True)
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("status", SAMPLE_STATUSES),
        ForeignKeyConstraint(
            ["arm_id", "scale_size"], ["arms.id", "arms.scale_size"], ondelete="CASCADE"
        ),
        UniqueConstraint("arm_id", "item_id", "replicate"),
        # The samples of an arm lie together on disk, which the index above cannot tell.
        Index("ix_samples_arm_id", "arm_id"),
        # Commands count what can be asked again, which is few of many.
        Index("ix_samples_failed", "id", postgresql_where="failure_kind IS NOT NULL"),
        CheckConstraint("replicate >= 0", name="replicate_not_negative"),
        CheckConstraint("(status = 'scored') = (stages IS NOT NULL)", name="stages_when_scored"),
        CheckConstraint("stages BETWEEN 1 AND (1 << scale_size) - 1", name="stages_within_scale"),
        CheckConstraint("letter_probability BETWEEN 0 AND 1", name="letter_probability_range"),
        CheckConstraint(
            "(letter_probability IS NULL) = (letter_probabilities IS NULL)",
            name="letter_probabilities_with_its_own",
        ),
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
    id: Mapped[int] = new_id()
    sample_id: Mapped[int] = reference("samples.id")
    replicate: Mapped[int] = mapped_column(SmallInteger)
    status: Mapped[str]
    probability: Mapped[float | None]
    failure: Mapped[str | None]
    failure_kind: Mapped[str | None] = kind_column()
    simulated: Mapped[bool] = simulated_mark()
    call_id: Mapped[int | None] = reference("llm_calls.id", on_delete="SET NULL", index=True)
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("status", PROBE_STATUSES),
        UniqueConstraint("sample_id", "replicate"),
        CheckConstraint("probability BETWEEN 0 AND 1", name="probability_range"),
        CheckConstraint(
            "(status = 'answered') = (probability IS NOT NULL)", name="probability_when_answered"
        ),
        CheckConstraint("(status = 'answered') = (failure IS NULL)", name="failure_when_missing"),
        Index("ix_probes_failed", "sample_id", postgresql_where="failure_kind IS NOT NULL"),
        Index("ix_probes_second", "sample_id", postgresql_where="replicate = 1"),
    )


class ScoreMark(Base):
    """What a critic says of the reasoning behind one scored sample."""

    __tablename__ = "score_marks"
    id: Mapped[int] = new_id()
    sample_id: Mapped[int] = reference("samples.id")
    critic_model: Mapped[str]
    template: Mapped[str]
    """Hash of the template that the critic was asked with."""
    status: Mapped[str]
    observable: Mapped[bool | None]
    consistent: Mapped[bool | None]
    uses_evidence: Mapped[bool | None]
    failure: Mapped[str | None]
    failure_kind: Mapped[str | None] = kind_column()
    simulated: Mapped[bool] = simulated_mark()
    call_id: Mapped[int | None] = reference("llm_calls.id", on_delete="SET NULL", index=True)
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        one_of("status", MARK_STATUSES),
        UniqueConstraint("sample_id", "critic_model", "template"),
        CheckConstraint(
            "(status = 'marked') = "
            "(observable IS NOT NULL AND consistent IS NOT NULL AND uses_evidence IS NOT NULL)",
            name="marks_when_marked",
        ),
        CheckConstraint(
            "(status IN ('marked', 'no_reasoning')) = (failure IS NULL)",
            name="failure_when_not_marked",
        ),
    )


class Sweep(Base):
    """A sweep file as it was last run: a named set of experiments and a swap plan."""

    __tablename__ = "sweeps"
    id: Mapped[int] = new_id()
    name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str]
    swap: Mapped[dict[str, Any] | None]
    score_critic: Mapped[dict[str, Any] | None]
    """The critic of its samples' reasoning: `model`, and the hash of its `template`."""
    plan: Mapped[str | None]
    """Digest of the analysis plan that its file names."""
    files: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """Its file and the small files that it names, as it was last run: name → text."""
    frozen: Mapped[dict[str, Any] | None]
    """The plan frozen before it was run: `sha256`, `frozen_at`, and what has `changed` since."""
    redesigned: Mapped[dict[str, Any] | None]
    """The first change of its experiments, replicates or swap after judgements: `at`, and how many
    `judgements` there were; NULL for none."""
    on_unsupported: Mapped[str] = mapped_column(server_default="error")
    """Whether values that a model does not apply end the run, or are marked."""
    definition: Mapped[dict[str, Any] | None]
    """Its file, or what was given as JSON, as plain values; NULL for an import."""
    created_at: Mapped[datetime] = created()
    __table_args__ = (one_of("on_unsupported", ("error", "mark")),)


class SweepRun(Base):
    """A run of a sweep, and why it ended; a run whose process was killed has no end."""

    __tablename__ = "sweep_runs"
    id: Mapped[int] = new_id()
    sweep_id: Mapped[int] = reference("sweeps.id", index=True)
    began_at: Mapped[datetime] = created()
    ended_at: Mapped[datetime | None]
    message: Mapped[str | None]
    """What its final state says; an error with its remedy."""


class SweepExperiment(Base):
    """Which experiments a sweep contains; an experiment may be in several."""

    __tablename__ = "sweep_experiments"
    sweep_id: Mapped[int] = reference("sweeps.id", primary_key=True)
    experiment_id: Mapped[int] = reference("experiments.id", primary_key=True, index=True)
    replicates: Mapped[int] = mapped_column(Integer)
    """As the sweep's file declares: the sweep has the judgements with a smaller replicate."""
    __table_args__ = (CheckConstraint("replicates >= 1", name="replicates_positive"),)


class FormerSweepExperiment(Base):
    """An experiment that a sweep had before its file or a recipe changed; its calls still count."""

    __tablename__ = "former_sweep_experiments"
    sweep_id: Mapped[int] = reference("sweeps.id", primary_key=True)
    experiment_id: Mapped[int] = reference("experiments.id", primary_key=True, index=True)
