"""Labels of people into the tables: attached to the items of a sweep, or as a data set alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from judge_gym.annotations import Annotation, Annotations
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, DataFileError, did_you_mean
from judge_gym.evidence.normal_text import normal_line
from judge_gym.lab.recorded_answers import item_key
from judge_gym.recorded.record import LONGEST_NAME
from judge_gym.store.annotations import (
    LabelledRubric,
    count_labels,
    delete_labels,
    items_under,
    rubrics_of_sweep,
    save_annotations,
)
from judge_gym.store.experiments import sweep_tags


@dataclass(frozen=True)
class ImportedLabels:
    """What an import of one file brought in."""

    name: str
    people: int
    judges: int
    items: int
    labels: int
    new: int
    several: int
    """Of `labels`, sets: several labels that one annotator gave one item."""
    deleted: int
    """Labels that the set had before, deleted to be replaced."""
    stored: int
    """Labels that the set has now; more than `labels` where some are not in the file."""


def import_annotations(
    session: Session,
    given: Annotations,
    *,
    sweep: str | None = None,
    rubric: str = "",
    replaced: bool = False,
) -> ImportedLabels:
    """Store a file of labels, attached to the items of a sweep if one is named.

    Labels are then those of the stages of the sweep's rubric, or stages that the mapping gives; of
    several rubrics `rubric` names one by the beginning of its key, or its owner. The same file
    again changes nothing; `replaced` first deletes what the set has of this sweep. Raises
    `StoreError` for an unknown sweep, `ConfigError` for an unclear rubric, and `DataFileError` with
    file, line and value for an unknown item or label, and for a judge among the annotators of a
    sweep.
    """
    rubric_id, items, known = None, {}, {}
    if sweep is not None:
        sweep_tags(session, sweep)  # raises for an unknown sweep
        chosen = _rubric(rubrics_of_sweep(session, sweep), sweep, rubric)
        rubric_id = chosen.id
        known = items_under(session, sweep, chosen.id)
        items = _items(given, sweep, known)
        given = replace(given, rows=_as_stages(given, chosen))
    of_sweep = set(known.values())
    deleted = delete_labels(session, given.name, of_sweep) if replaced else 0
    new = save_annotations(session, given, rubric_id, items, of_sweep)
    kinds = {kind: given.of_kind(kind) for kind in ("person", "judge")}
    return ImportedLabels(
        name=given.name,
        people=len({row.annotator for row in kinds["person"]}),
        judges=len({row.annotator for row in kinds["judge"]}),
        items=len({row.item for row in given.rows}),
        labels=len(given.rows),
        new=new,
        several=sum(len(row.labels) > 1 for row in given.rows),
        deleted=deleted,
        stored=count_labels(session, given.name, of_sweep),
    )


def _rubric(rubrics: Sequence[LabelledRubric], sweep: str, named: str) -> LabelledRubric:
    chosen = [
        rubric
        for rubric in rubrics
        if not named or rubric.key.startswith(named) or named in (rubric.owner, rubric.concept)
    ]
    if len(chosen) == 1:
        return chosen[0]
    listed = ", ".join(rubric.name for rubric in rubrics) or "none yet"
    raise ConfigError(
        f"Sweep {sweep} has {len(chosen)} rubrics{f' that {named!r} names' if named else ''}, and "
        "labels name the stages of one.",
        f"Name one with --rubric, by the beginning of its key, its owner or its concept: {listed}.",
    )


def _items(given: Annotations, sweep: str, known: dict[str, int]) -> dict[str, int]:
    """Return the item of each key in the file: an item's key, or that of a recorded row."""
    items = {}
    items_known = len(set(known.values()))  # an item is there by two keys
    for row in given.rows:
        if row.kind == "judge":
            raise DataFileError(
                f"{given.file} line {row.line}: {row.annotator!r} is a judge, and a sweep has its "
                "own.",
                "Import judgements with judge-gym data import-verdicts, or leave --sweep out.",
            )
        recorded = item_key(normal_line(row.item, LONGEST_NAME))
        item_id = known.get(row.item, known.get(recorded))
        if item_id is None:
            raise DataFileError(
                f"{given.file} line {row.line}: there is no item {row.item!r} in sweep {sweep}.",
                f"{did_you_mean(row.item, known)}It has {counted(items_known, 'item')} under this "
                "rubric; judge-gym data views items says where their keys are.",
            )
        items[row.item] = item_id
    return items


def _as_stages(given: Annotations, rubric: LabelledRubric) -> tuple[Annotation, ...]:
    """Return the rows with their labels replaced by those of the rubric's stages."""
    by_name = {label.strip().casefold(): label for label in rubric.labels}
    for label, stage in given.described.stages.items():
        if not 1 <= stage <= len(rubric.labels):
            raise ConfigError(
                f"stages: {label!r} is stage {stage}.",
                f"The rubric has the stages 1 to {len(rubric.labels)}.",
            )
        by_name[label.casefold()] = rubric.labels[stage - 1]
    rows = []
    for row in given.rows:
        for label in row.labels:
            if label.strip().casefold() not in by_name:
                raise DataFileError(
                    f"{given.file} line {row.line}: the label {label!r} is no stage of the rubric.",
                    f"Its stages are {', '.join(rubric.labels)}. Map labels to stages with "
                    "default: {stages: {LABEL: 1}} in the mapping.",
                )
        named = {by_name[label.strip().casefold()] for label in row.labels}
        rows.append(replace(row, labels=tuple(sorted(named))))
    return tuple(rows)
