"""Labels of people beside the items of sweeps, and data sets of labels without a sweep."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.annotations import Annotation, Annotations, AnnotationScheme
from judge_gym.errors import DataFileError, StoreError, listing
from judge_gym.store import tables as t
from judge_gym.store.bulk import count_of
from judge_gym.store.units import in_sweep

_ROWS = 5_000
"""Rows of one statement."""


@dataclass(frozen=True)
class LabelledRubric:
    """A rubric that own arms of a sweep use."""

    id: int
    key: str
    owner: str
    """The model that wrote it; empty when it was provided."""
    concept: str
    labels: tuple[str, ...]

    @property
    def name(self) -> str:
        """What tells it from the other rubrics of its sweep."""
        return f"{self.key} ({self.owner or 'provided'}, {self.concept})"


def rubrics_of_sweep(session: Session, sweep: str) -> list[LabelledRubric]:
    """Return the usable rubrics of the own arms of a sweep, by key."""
    rows = session.execute(
        sa.select(
            t.Rubric.id, t.Rubric.key, t.Rubric.owner_model, t.Rubric.concept, t.Rubric.stages
        )
        .join(t.Arm, sa.and_(t.Arm.rubric_id == t.Rubric.id, t.Arm.arm == "own"))
        .where(in_sweep(t.Arm.experiment_id, sweep), t.Rubric.stages.is_not(None))
        .distinct()
    )
    found = [
        LabelledRubric(id_, key, owner, concept, tuple(stage["label"] for stage in stages))
        for id_, key, owner, concept, stages in rows
    ]
    return sorted(found, key=lambda rubric: rubric.key)


def items_under(session: Session, sweep: str, rubric_id: int) -> dict[str, int]:
    """Return the items that a sweep judges under a rubric, by their key and that of a document.

    An item of several documents is there by its own key alone.
    """
    rows = session.execute(
        sa.select(t.EvidenceItem.id, t.EvidenceItem.key, t.EvidenceItem.bundle_size, t.Document.key)
        .join(t.ExperimentItem, t.ExperimentItem.item_id == t.EvidenceItem.id)
        .join(
            t.Arm,
            sa.and_(
                t.Arm.experiment_id == t.ExperimentItem.experiment_id,
                t.Arm.arm == "own",
                t.Arm.rubric_id == rubric_id,
            ),
        )
        .join(t.ItemDocument, t.ItemDocument.item_id == t.EvidenceItem.id)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .where(in_sweep(t.Arm.experiment_id, sweep))
        .distinct()
    )
    by_key = {}
    for item_id, key, bundle_size, document_key in rows:
        by_key[key] = item_id
        if bundle_size == 1:
            by_key[document_key] = item_id
    return by_key


def delete_labels(session: Session, name: str, items: Collection[int]) -> int:
    """Delete the labels that a set has of these items, or those without a sweep if none is given.

    A set without labels is deleted, too. Returns how many labels were deleted.
    """
    chosen = sa.delete(t.Annotation).where(_in_set(name), _attached_to(items))
    deleted = session.scalars(chosen.returning(t.Annotation.id)).all()
    kept = sa.exists().where(t.Annotation.set_id == t.AnnotationSet.id)
    session.execute(sa.delete(t.AnnotationSet).where(t.AnnotationSet.name == name, ~kept))
    return len(deleted)


def delete_set(session: Session, name: str) -> None:
    """Delete a set with all its labels, of whatever sweep; nothing without one."""
    session.execute(sa.delete(t.Annotation).where(_in_set(name)))
    session.execute(sa.delete(t.AnnotationSet).where(t.AnnotationSet.name == name))


def _in_set(name: str) -> sa.ColumnElement[bool]:
    of_set = sa.select(t.AnnotationSet.id).where(t.AnnotationSet.name == name)
    return t.Annotation.set_id.in_(of_set)


def count_labels(session: Session, name: str, items: Collection[int]) -> int:
    """Return how many labels a set has of these items, or without a sweep if none is given."""
    return count_of(session, t.Annotation, _in_set(name) & _attached_to(items))


@dataclass(frozen=True)
class SweepLabels:
    """The labels that a set has of the items of a sweep."""

    sweep: str
    """Its name; empty for labels without a sweep."""
    annotators: int
    labels: int
    items: frozenset[int]
    """The ids of these items; empty without a sweep."""


def labels_by_sweep(session: Session, name: str) -> list[SweepLabels]:
    """Return what a set has of each sweep, by name; raises `StoreError` when there is no such set.

    Sweeps that share items share their labels.
    """
    judged = (
        sa.select(t.ExperimentItem.item_id, t.Sweep.name)
        .join(t.SweepExperiment, t.SweepExperiment.experiment_id == t.ExperimentItem.experiment_id)
        .join(t.Sweep, t.Sweep.id == t.SweepExperiment.sweep_id)
        .distinct()
        .subquery()
    )
    sweep = sa.func.coalesce(judged.c.name, "")
    rows = session.execute(
        sa.select(
            sweep,
            sa.func.count(t.Annotation.annotator.distinct()),
            sa.func.count(),
            sa.func.array_agg(t.Annotation.item_id.distinct()),
        )
        .outerjoin(judged, judged.c.item_id == t.Annotation.item_id)
        .where(t.Annotation.set_id == _set_named(session, name).id)
        .group_by(sweep)
        .order_by(sweep)
    )
    return [
        SweepLabels(of, annotators, labels, frozenset(items) - {None})
        for of, annotators, labels, items in rows
    ]


def _attached_to(items: Collection[int]) -> sa.ColumnElement[bool]:
    return t.Annotation.item_id.in_(items) if items else t.Annotation.item_id.is_(None)


def save_annotations(
    session: Session,
    given: Annotations,
    rubric_id: int | None,
    items: Mapping[str, int],
    of_sweep: Collection[int] = (),
) -> int:
    """Store a set; returns how many labels are new. `items` maps the keys of a file to items.

    `of_sweep` are all items that the labels may be of, none without a sweep. Rows that are here
    stay, so that labels may come in rounds, and so do those of items of other sweeps. Raises
    `StoreError` when the set is here for another rubric, or from another mapping for other items,
    and `DataFileError` for a row that is here with another label.
    """
    set_id = _save_set(session, given, rubric_id, of_sweep)
    new = _new_rows(session, set_id, given, items)
    for start in range(0, len(new), _ROWS):
        session.execute(
            insert(t.Annotation),
            [
                {
                    "set_id": set_id,
                    "item": row.item,
                    "item_id": items.get(row.item),
                    "annotator": row.annotator,
                    "kind": row.kind,
                    "labels": list(row.labels),
                }
                for row in new[start : start + _ROWS]
            ],
        )
    return len(new)


def _save_set(
    session: Session, given: Annotations, rubric_id: int | None, of_sweep: Collection[int]
) -> int:
    """Store what a set is, without its rows; returns its id."""
    described = given.described.model_dump(mode="json")
    here = session.scalars(
        sa.select(t.AnnotationSet).where(t.AnnotationSet.name == given.name).with_for_update()
    ).one_or_none()
    if here is None:
        here = t.AnnotationSet(
            name=given.name, source=given.source, described=described, rubric_id=rubric_id
        )
        session.add(here)
    elif here.rubric_id != rubric_id:
        raise _elsewhere(session, given.name, "under another rubric, or without a sweep")
    elif (here.source, here.described) != (given.source, described):
        of_others = sa.select(t.Annotation.id).where(
            t.Annotation.set_id == here.id, ~_attached_to(of_sweep)
        )
        if session.scalars(of_others.limit(1)).first() is not None:
            raise _elsewhere(session, given.name, "with another mapping")
        here.source, here.described = given.source, described
    session.flush()
    return here.id


def _elsewhere(session: Session, name: str, how: str) -> StoreError:
    """Return the error of a set that is stored for another sweep, where it stays as it is."""
    sweeps = [one.sweep for one in labels_by_sweep(session, name) if one.sweep]
    of = f" for sweep {', '.join(sweeps)}" if sweeps else ""
    return StoreError(
        f"The labels {name!r} are stored{of} {how}. They were not changed.",
        f"Rename the file, or delete them: judge-gym data delete-annotations {name}.",
    )


def _new_rows(
    session: Session, set_id: int, given: Annotations, items: Mapping[str, int]
) -> list[Annotation]:
    """Return the rows that are not stored; raises `DataFileError` for one with another label."""
    here = {
        (item, item_id, annotator, kind): tuple(labels)
        for item, item_id, annotator, kind, labels in session.execute(
            sa.select(
                t.Annotation.item,
                t.Annotation.item_id,
                t.Annotation.annotator,
                t.Annotation.kind,
                t.Annotation.labels,
            ).where(t.Annotation.set_id == set_id)
        )
    }
    new = []
    for row in given.rows:
        stored = here.get((row.item, items.get(row.item), row.annotator, row.kind))
        if stored is None:
            new.append(row)
        elif stored != row.labels:
            raise DataFileError(
                f"{given.file} line {row.line}: {row.annotator!r} labelled item {row.item!r} "
                f"{', '.join(row.labels)}, and {', '.join(stored)} is stored.",
                "Import the file with --replace to replace the stored labels.",
            )
    return new


def _set_named(session: Session, name: str) -> t.AnnotationSet:
    row = session.scalars(
        sa.select(t.AnnotationSet).where(t.AnnotationSet.name == name)
    ).one_or_none()
    if row is None:
        names = session.scalars(sa.select(t.AnnotationSet.name).order_by(t.AnnotationSet.name))
        raise StoreError(
            f"There are no annotations {name!r}.",
            listing(names.all(), "judge-gym analyse alt-test", name),
        )
    return row


def stored_annotations(session: Session, name: str) -> Annotations:
    """Return a stored set; raises `StoreError` when there is none of that name."""
    row = _set_named(session, name)
    labels = session.execute(
        sa.select(t.Annotation.item, t.Annotation.annotator, t.Annotation.kind, t.Annotation.labels)
        .where(t.Annotation.set_id == row.id)
        .order_by(t.Annotation.id)
    )
    return Annotations(
        name=row.name,
        source=row.source,
        described=AnnotationScheme.model_validate(row.described),
        rows=tuple(
            Annotation(item, annotator, kind, tuple(given), 0)
            for item, annotator, kind, given in labels
        ),
        file=Path(row.name),
    )


@dataclass(frozen=True)
class ItemLabels:
    """The labels of people of the items of a sweep, of one set, by item and annotator.

    Each entry is an item's id, an annotator and the labels given.
    """

    name: str
    described: AnnotationScheme
    rubric_id: int
    rows: tuple[tuple[int, str, tuple[str, ...]], ...]


def labels_of_items(session: Session, item_ids: Sequence[int]) -> list[ItemLabels]:
    """Return the sets of labels that people gave these items, by name."""
    rows = session.execute(
        sa.select(
            t.AnnotationSet.name,
            t.AnnotationSet.described,
            t.AnnotationSet.rubric_id,
            t.Annotation.item_id,
            t.Annotation.annotator,
            t.Annotation.labels,
        )
        .join(t.AnnotationSet, t.AnnotationSet.id == t.Annotation.set_id)
        .join(t.EvidenceItem, t.EvidenceItem.id == t.Annotation.item_id)
        .where(t.Annotation.item_id.in_(item_ids), t.Annotation.kind == "person")
        .order_by(
            t.AnnotationSet.name.collate("C"),
            t.EvidenceItem.key.collate("C"),
            t.Annotation.annotator.collate("C"),
        )
    )
    described = {}
    by_set: dict[tuple[str, int], list[tuple[int, str, tuple[str, ...]]]] = defaultdict(list)
    for name, form, rubric_id, item_id, annotator, labels in rows:
        described[name] = AnnotationScheme.model_validate(form)
        by_set[name, rubric_id].append((item_id, annotator, tuple(labels)))
    return [
        ItemLabels(name, described[name], rubric_id, tuple(found))
        for (name, rubric_id), found in by_set.items()
    ]
