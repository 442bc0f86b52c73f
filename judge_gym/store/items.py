"""The items that an experiment is frozen with: documents of its window, alone or in bundles."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.design.bundles import Bundles
from judge_gym.design.experiment import Experiment
from judge_gym.design.grouping import Similarity
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.bundling import Bundling
from judge_gym.errors import StoreError
from judge_gym.evidence.similarity import text_similarity, vector_similarity
from judge_gym.seeds import digest
from judge_gym.store import tables as t
from judge_gym.store.bulk import among, inserting, packed
from judge_gym.store.embeddings import vectors


def frozen_items(session: Session, experiment_id: int) -> list[int]:
    """Return the items that an experiment is frozen with, in order."""
    return list(
        session.scalars(
            sa.select(t.ExperimentItem.item_id)
            .where(t.ExperimentItem.experiment_id == experiment_id)
            .order_by(t.ExperimentItem.position)
        )
    )


def items_by_document(session: Session, experiment_id: int) -> dict[str, int]:
    """Return document key → the item of an experiment that contains it."""
    rows = session.execute(
        sa.select(t.Document.key, t.ItemDocument.item_id)
        .join(t.ItemDocument, t.ItemDocument.document_id == t.Document.id)
        .join(t.ExperimentItem, t.ExperimentItem.item_id == t.ItemDocument.item_id)
        .where(t.ExperimentItem.experiment_id == experiment_id)
    )
    return dict(rows.tuples().all())


class LackingViewError(StoreError):
    """Documents lack the view or the embeddings that a plan of bundles compares."""


def freeze_items(session: Session, experiment_id: int, experiment: Experiment) -> int:
    """Fix the items of an experiment, once; returns how many there are.

    Items are made of the window's documents as they are now and never change afterwards. Raises
    `StoreError` when the window is not collected, `LackingViewError` when documents lack what
    its plan of bundles compares.
    """
    frozen = session.scalar(
        sa.select(sa.func.count()).where(t.ExperimentItem.experiment_id == experiment_id)
    )
    if frozen:
        return frozen
    row = session.get_one(t.Experiment, experiment_id, with_for_update=True)
    window = session.get_one(t.Window, row.window_id)
    if window.collected_at is None:
        raise StoreError(
            f"Window {window.name or window.id} of experiment {row.tag} is not collected yet.",
            "Run w1-evidence first.",
        )
    documents = documents_of(session, window.id)
    bundling = resolve(experiment).of(Bundling)
    plan = experiment.bundles
    groups = stored_groups(session, experiment.window.key, plan) or bundling.group(
        list(documents),
        lambda: plan_similarity(
            session, window.id, plan, str(row.view_recipes.get(plan.view, "")), documents.values()
        ),
        lambda: dates_of(session, window.id),
    )
    placed = [
        {"experiment_id": experiment_id, "item_id": item_id, "position": position}
        for position, item_id in enumerate(_items(session, window, documents, groups))
    ]
    freezing = inserting(t.ExperimentItem, ("experiment_id", "item_id", "position"))
    session.connection().execute(freezing.on_conflict_do_nothing(), packed(placed))
    return len(groups)


def stored_groups(session: Session, window_key: str, plan: Bundles) -> list[tuple[str, ...]]:
    """Return the bundles of a window by a plan; empty where no experiment has them yet.

    A plan is made once: later ones take its items, whatever has changed in the libraries since.
    """
    if plan.size == 1:
        return []
    config = t.Experiment.config["bundles"] == plan.model_dump(mode="json")
    first = (
        sa.select(t.ExperimentItem.experiment_id)
        .join(t.Experiment, t.Experiment.id == t.ExperimentItem.experiment_id)
        .join(t.Window, t.Window.id == t.Experiment.window_id)
        .where(t.Window.key == window_key, config)
        .limit(1)
    )
    return bundles_of(session, first.scalar_subquery())


def bundles_of(session: Session, experiment_id: Any) -> list[tuple[str, ...]]:
    """Return the keys of the documents of each item of an experiment, in order."""
    rows = session.execute(
        sa.select(t.ExperimentItem.position, t.Document.key)
        .join(t.ItemDocument, t.ItemDocument.item_id == t.ExperimentItem.item_id)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .where(t.ExperimentItem.experiment_id == experiment_id)
        .order_by(t.ExperimentItem.position, t.ItemDocument.position)
    )
    members: dict[int, list[str]] = defaultdict(list)
    for position, key in rows:
        members[position].append(key)
    return [tuple(keys) for keys in members.values()]


@dataclass(frozen=True)
class BundlePlan:
    """A plan as it was stored with the items: in words, its bundles and their digest.

    `recipe` is that of the view that it compares.
    """

    bundles: Bundles
    groups: Sequence[tuple[str, ...]]
    recipe: str = ""

    @property
    def plan(self) -> str:
        return str(self.bundles)

    @property
    def view(self) -> str:
        """The view of the texts that it compares, raw where it compares none."""
        return self.bundles.view

    @property
    def digest(self) -> str:
        """16 hex digits, equal for equal bundles."""
        return digest("bundles", [list(keys) for keys in self.groups])


def bundle_plans(session: Session, window: int) -> list[BundlePlan]:
    """Return each plan by which documents of a window were bundled, in words."""
    rows = session.execute(
        sa.select(t.Experiment, sa.func.min(t.ExperimentItem.experiment_id))
        .join(t.ExperimentItem, t.ExperimentItem.experiment_id == t.Experiment.id)
        .where(t.Experiment.window_id == window)
        .group_by(t.Experiment.id)
        .order_by(t.Experiment.id)
    )
    first: dict[str, BundlePlan] = {}
    for row, experiment in rows:
        plan, size = Bundles(**row.config.get("bundles", {})), row.config.get("bundle_size", 1)
        plan = plan if plan.size > 1 else Bundles(size=size)
        if plan.size > 1 and str(plan) not in first:
            recipe = str(row.view_recipes.get(plan.view, ""))
            first[str(plan)] = BundlePlan(plan, bundles_of(session, experiment), recipe)
    return list(first.values())


def documents_of(session: Session, window: int) -> dict[str, int]:
    """Return key → id of the documents of a window, in order."""
    query = sa.select(t.Document.key, t.Document.id).where(t.Document.window_id == window)
    return dict(session.execute(query.order_by(t.Document.position)).tuples().all())


def dates_of(session: Session, window: int) -> list[date | None]:
    """Return the date of each document of a window, in order; None where it is not known."""
    query = sa.select(t.Document.published).where(t.Document.window_id == window)
    return list(session.scalars(query.order_by(t.Document.position)))


def plan_similarity(
    session: Session, window: int, plan: Bundles, recipe: str, documents: Collection[int]
) -> Similarity:
    """Return how alike the texts of a window's documents are by a plan, in their order as given.

    `recipe` is that of the view it compares. Raises `LackingViewError` where a document lacks that
    view, or its embedding.
    """
    if plan.view == "raw":
        texts = texts_of(session, documents)
    else:
        texts = view_texts_of(session, documents, plan.view, recipe)
    if not plan.embeddings:
        return text_similarity(texts)
    found = vectors(session, window, plan, recipe)
    if lacking := len(set(documents) - found.keys()):
        raise LackingViewError(
            f"Bundles by embeddings of {plan.embeddings} need one of every document, and "
            f"{counted(lacking, 'document')} of {len(documents)} lack it.",
            "Run w1-evidence again, or leave `embeddings` out of `bundles`.",
        )
    return vector_similarity([found[document] for document in documents])


def view_texts_of(session: Session, documents: Iterable[int], view: str, recipe: str) -> list[str]:
    """Return a view of documents, in the order of their ids as given.

    Raises `LackingViewError` where one lacks it.
    """
    ids = list(documents)
    found = dict(
        session.execute(
            sa.select(t.View.document_id, t.View.text).where(
                among(t.View.document_id, ids),
                t.View.view == view,
                t.View.recipe == recipe,
                t.View.status == "ready",
            )
        )
        .tuples()
        .all()
    )
    if lacking := [id_ for id_ in ids if id_ not in found]:
        raise LackingViewError(
            f"Bundles by {view} texts need that view of every document, and "
            f"{counted(len(lacking), 'document')} of {len(ids)} lack it.",
            "Run w1-evidence again, or use `view: raw` in `bundles`.",
        )
    return [found[id_] or "" for id_ in ids]


def texts_of(session: Session, documents: Iterable[int]) -> list[str]:
    """Return title and raw text of documents, in the order of their ids as given."""
    ids = list(documents)
    found = {
        id_: f"{title}\n\n{text}"
        for id_, title, text in session.execute(
            sa.select(t.Document.id, t.Document.title, t.Document.text).where(
                among(t.Document.id, ids)
            )
        )
    }
    return [found[id_] for id_ in ids]


def stored_key(window: str, members: Sequence[str]) -> str:
    """Return the key of an item: of the key of its window, and those of its documents in order."""
    return digest("item", window, list(members))


def _items(
    session: Session,
    window: t.Window,
    documents: Mapping[str, int],
    groups: Sequence[Sequence[str]],
) -> list[int]:
    """Store an item for each group of document keys, once; returns their ids in order."""
    keys = [stored_key(window.key, members) for members in groups]
    members_of = dict(zip(keys, groups, strict=True))
    rows = [
        {"key": key, "window_id": window.id, "bundle_size": len(members)}
        for key, members in members_of.items()
    ]
    connection = session.connection()
    adding = inserting(t.EvidenceItem, ("key", "window_id", "bundle_size")).on_conflict_do_nothing()
    created = set(connection.scalars(adding.returning(t.EvidenceItem.key), packed(rows)))
    chosen = among(t.EvidenceItem.key, members_of)
    ids = dict(
        connection.execute(sa.select(t.EvidenceItem.key, t.EvidenceItem.id).where(chosen))
        .tuples()
        .all()
    )
    contents = [
        {"item_id": ids[key], "position": position, "document_id": documents[member]}
        for key, members in members_of.items()
        if key in created
        for position, member in enumerate(members)
    ]
    holding = inserting(t.ItemDocument, ("item_id", "position", "document_id"))
    connection.execute(holding, packed(contents))
    return [ids[key] for key in keys]
