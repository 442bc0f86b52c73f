"""Texts that models changed, in the database."""

from collections.abc import Collection
from dataclasses import dataclass, fields

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t


@dataclass(frozen=True)
class StoredPerturbation:
    """A text as a model changed it; `text` is set when the status is `changed`, else `failure`."""

    key: str
    status: str
    text: str | None
    failure: str | None
    simulated: bool


def perturbed_texts(session: Session, keys: Collection[str]) -> dict[str, StoredPerturbation]:
    """Return key → the changed text or why there is none; keys without a row are left out."""
    columns = [getattr(t.PerturbedText, field.name) for field in fields(StoredPerturbation)]
    rows = session.execute(sa.select(*columns).where(_of(keys)))
    return {row.key: StoredPerturbation(*row) for row in rows}


def forget_failures(session: Session, keys: Collection[str]) -> None:
    """Delete what is kept as `failed`, so that it is asked again, under the same ledger rows."""
    failed = t.PerturbedText.status == "failed"
    session.execute(sa.delete(t.PerturbedText).where(_of(keys), failed))


def _of(keys: Collection[str]) -> sa.ColumnElement[bool]:
    return t.PerturbedText.key == sa.any_(sa.literal(list(keys), sa.ARRAY(sa.Text)))
