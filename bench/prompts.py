"""Export the prompts of a run from its ledger, for other clients."""

import json
from pathlib import Path

import sqlalchemy as sa

from judge_gym.store import tables as t


def save_prompts(database: str, file: Path) -> None:
    """Write one line per call of a ledger: model, messages, parameters as sent."""
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.connect() as connection, file.open("w") as lines:
        rows = connection.execute(
            sa.select(t.Call.model, t.Call.messages, t.Call.sent_parameters).order_by(t.Call.id)
        )
        for model, messages, parameters in rows:
            name = model.partition("/")[2]
            lines.write(json.dumps({"model": name, "messages": messages, **parameters}) + "\n")
