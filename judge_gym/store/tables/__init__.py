"""The tables. Natural unique keys say what is missing; check constraints say what is possible.

Nothing here counts or summarises: statuses of windows and experiments are derived from rows.
DDL lives in `sql/migrations`; a test proves that the two agree.
"""

from judge_gym.records.judgements import (
    ARMS,
    MARK_STATUSES,
    PROBE_STATUSES,
    SAMPLE_STATUSES,
)
from judge_gym.store.tables.analysis import (
    CONCLUSIONS,
    AnalysisFinding,
    AnalysisResult,
    AnalysisRun,
    PlanVersion,
    StudyPoint,
)
from judge_gym.store.tables.annotations import Annotation, AnnotationSet
from judge_gym.store.tables.base import Base
from judge_gym.store.tables.calibrations import (
    CHECK_RESULTS,
    RECOMMENDATIONS,
    AlignmentLook,
    CalibrationCheck,
    JudgeReview,
    PerturbedText,
)
from judge_gym.store.tables.calls import (
    BATCH_STATUSES,
    CALL_STATUSES,
    OPEN_BATCHES,
    Batch,
    Call,
    GateChange,
)
from judge_gym.store.tables.decisions import READING, REVIEW, SPENDING, Decision
from judge_gym.store.tables.evidence import Document, DroppedDocument, View, Window
from judge_gym.store.tables.experiments import (
    Arm,
    EvidenceItem,
    Experiment,
    ExperimentItem,
    FormerSweepExperiment,
    ItemDocument,
    Probe,
    Rubric,
    Sample,
    ScoreMark,
    Sweep,
    SweepExperiment,
    SweepRun,
)
from judge_gym.store.tables.judges import JUDGE_STATUSES, GateRecheck, Judge, JudgeItem, JudgeResult
from judge_gym.store.tables.panels import Panel, PanelConsensus, PanelDocument, PanelReview

BY_NAME: dict[str, type[Base]] = {
    mapper.class_.__tablename__: mapper.class_ for mapper in Base.registry.mappers
}
"""Name of a table → its class."""

__all__ = [
    "ARMS",
    "BATCH_STATUSES",
    "BY_NAME",
    "CALL_STATUSES",
    "CHECK_RESULTS",
    "CONCLUSIONS",
    "JUDGE_STATUSES",
    "MARK_STATUSES",
    "OPEN_BATCHES",
    "PROBE_STATUSES",
    "READING",
    "RECOMMENDATIONS",
    "REVIEW",
    "SAMPLE_STATUSES",
    "SPENDING",
    "AlignmentLook",
    "AnalysisFinding",
    "AnalysisResult",
    "AnalysisRun",
    "Annotation",
    "AnnotationSet",
    "Arm",
    "Base",
    "Batch",
    "CalibrationCheck",
    "Call",
    "Decision",
    "Document",
    "DroppedDocument",
    "EvidenceItem",
    "Experiment",
    "ExperimentItem",
    "FormerSweepExperiment",
    "GateChange",
    "GateRecheck",
    "ItemDocument",
    "Judge",
    "JudgeItem",
    "JudgeResult",
    "JudgeReview",
    "Panel",
    "PanelConsensus",
    "PanelDocument",
    "PanelReview",
    "PerturbedText",
    "PlanVersion",
    "Probe",
    "Rubric",
    "Sample",
    "ScoreMark",
    "StudyPoint",
    "Sweep",
    "SweepExperiment",
    "SweepRun",
    "View",
    "Window",
]
