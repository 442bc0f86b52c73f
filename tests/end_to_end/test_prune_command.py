"""`judge-gym database prune`: it asks first, and nothing is paid anew."""

import json

import pytest
import sqlalchemy as sa

from support.command_line import CommandLine, small_sweep
from support.simulation import Simulator

OLD = "UPDATE llm_calls SET finished_at = finished_at - interval '400 days'"
WHOLE = "SELECT count(*) FROM llm_calls WHERE messages <> '[]' AND experiment_id IS NOT NULL"


@pytest.mark.slow
def test_old_prompts_go_when_it_is_confirmed_and_a_rerun_makes_no_call(
    command: CommandLine, simulator: Simulator
) -> None:
    file = command.folder / "one.yaml"
    file.write_text(small_sweep("one", "sim/calm-1"))
    command("sweep", "run", file).fine()
    engine = sa.create_engine(command.environment["JUDGE_GYM_DATABASE_URL"], poolclass=sa.NullPool)

    def whole() -> int:
        with engine.connect() as connection:
            return int(connection.scalar(sa.text(WHOLE)) or 0)

    calls, asked = whole(), simulator.answered()
    assert calls > 0
    young = command("database", "prune").fine()
    assert "Nothing to prune is older than 180 days" in young.output
    with engine.begin() as connection:
        connection.execute(sa.text(OLD))
    refused = command("database", "prune", "--older-than-days", "365")
    assert refused.code == 2
    assert f"prompts of {calls} calls" in refused.output
    assert "Prompts to be emptied" in refused.output
    assert whole() == calls
    shown = command("database", "prune", "--older-than-days", "365", "--dry-run", "--json").fine()
    found = json.loads(shown.output)
    assert (found["pruned"], found["prompts"]["one"]["calls"]) == (False, calls)
    assert whole() == calls
    done = command("database", "prune", "--older-than-days", "365", "--yes").fine()
    assert f"Pruned prompts of {calls} calls" in done.output
    assert whole() == 0
    command("sweep", "run", file).fine()
    command("analyse", "figures", "one").fine()
    assert simulator.answered() == asked
