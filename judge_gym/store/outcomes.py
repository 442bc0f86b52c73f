"""How calls ended, read back from the ledger by their keys."""

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.llm.opened import stored_answer
from judge_gym.records.calls import SHARED, Answer, Failure
from judge_gym.store import tables as t


def outcomes_of(session: Session, keys: Iterable[str]) -> dict[str, Answer | Failure]:
    """Return key → outcome of the calls that have ended.

    A call that its provider refused like every other, for want of a key or of credit, is not among
    them: it was never really asked.
    """
    wanted = t.Call.key == sa.any_(sa.literal(list(keys), sa.ARRAY(sa.Text)))
    rows = session.scalars(sa.select(t.Call).where(wanted))
    found = {row.key: _outcome(row) for row in rows}
    return {key: outcome for key, outcome in found.items() if outcome is not None}


def _outcome(row: t.Call) -> Answer | Failure | None:
    if row.status != "failed":
        return stored_answer(row)
    last = row.errors[-1]
    return None if last["kind"] in SHARED else Failure(last["kind"], last["message"])
