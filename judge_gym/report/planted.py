"""Planted against recovered."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from judge_gym.report.table import Table
from judge_gym.store.results import ResultRow


def planted_tables(session: Session, sweep: str, rows: Sequence[ResultRow]) -> list[Table]:
    return []
