"""Texts that models changed, in the database."""

from collections.abc import Collection, Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t


def perturbed_texts(session: Session, keys: Collection[str]) -> Mapping[str, t.PerturbedText]:
    """Return key → what came of it, of those that have been asked for."""
    found = session.scalars(sa.select(t.PerturbedText).where(_of(keys)))
    return {row.key: row for row in found}


def forget_failures(session: Session, keys: Collection[str]) -> None:
    """Delete what is kept as `failed`, so that it is asked again, under the same ledger rows."""
    failed = t.PerturbedText.status == "failed"
    session.execute(sa.delete(t.PerturbedText).where(_of(keys), failed))


def _of(keys: Collection[str]) -> sa.ColumnElement[bool]:
    return t.PerturbedText.key == sa.any_(sa.literal(list(keys), sa.ARRAY(sa.Text)))
