"""The flow that prunes on a schedule: it counts, and deletes only when it is told to."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from flows.prune import prune
from flows.sweep import sweep
from support.flow_runs import flow_run, run_flow
from support.sweeps import scoring_sweep

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("place")]
OLD = "UPDATE llm_calls SET finished_at = finished_at - interval '400 days'"
WHOLE = "SELECT count(*) FROM llm_calls WHERE messages <> '[]' AND experiment_id IS NOT NULL"


def test_a_dry_run_counts_and_the_other_deletes(database: str, tmp_path: Path) -> None:
    file = tmp_path / "pruned.yaml"
    file.write_text(scoring_sweep("pruned", "sim/calm-1", documents=2, replicates=1))
    assert run_flow(sweep, file).is_completed()
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text(OLD))
        calls = connection.scalar(sa.text(WHOLE))

    def whole() -> int:
        with engine.connect() as connection:
            return int(connection.scalar(sa.text(WHOLE)) or 0)

    counted = run_flow(prune)
    assert flow_run(counted).name == "prune what is older than 180 days"
    assert (counted.message or "").startswith(f"Would prune: prompts of {calls} calls")
    assert whole() == calls
    young = run_flow(prune, older_than_days=500, dry_run=False)
    assert (young.message or "").startswith("Pruned: prompts of 0 calls")
    assert whole() == calls
    assert run_flow(prune, dry_run=False).is_completed()
    assert whole() == 0
