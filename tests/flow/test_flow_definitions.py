"""Sweeps that are given as JSON: the same checks, no file, and kept with what they made."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.flow_engine import run_flow_async
from ruamel.yaml import YAML

from flows.calibration import calibration
from flows.sweep import sweep
from judge_gym.design.sweep import load_sweep
from judge_gym.errors import ConfigError
from support.command_line import REPOSITORY
from support.flow_runs import error_of, flow_run, prepared, run_flow
from support.sweeps import scoring_sweep

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("place")]
SMALL = """
name: small
judges: [{folder}/clustering.yaml]
items: {folder}/notes.jsonl
repeats: 1
perturbations: [tone]
severities: [1.0]
"""


@pytest.fixture
def definition() -> dict[str, Any]:
    text = scoring_sweep("as-json", "sim/calm-1", documents=2, replicates=1)
    return dict(YAML(typ="safe").load(text))


def test_a_definition_is_run_without_a_file_and_stored(
    database: str, definition: dict[str, Any], tmp_path: Path
) -> None:
    state = run_flow(sweep, definition=definition)
    assert state.is_completed(), state.message
    assert flow_run(state).name == "sweep as-json"
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        stored = connection.scalar(sa.text("SELECT definition FROM analysis.sweeps LIMIT 1"))
    assert stored == definition
    assert not list(tmp_path.glob("*.yaml"))
    # A file with the same content is the same sweep.
    file = tmp_path / "same.yaml"
    file.write_text(scoring_sweep("as-json", "sim/calm-1", documents=2, replicates=1))
    assert prepared(file).tags == [
        tag for tag in asyncio.run(_tags(database)) if tag.startswith("democratic")
    ]


async def _tags(database: str) -> list[str]:
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        return list(connection.scalars(sa.text("SELECT tag FROM experiments")))


def test_a_fault_is_named_as_in_a_file(definition: dict[str, Any], tmp_path: Path) -> None:
    definition["blocks"][0]["replicants"] = definition["blocks"][0].pop("replicates")
    error = error_of(run_flow(sweep, definition=definition))
    file = tmp_path / "wrong.yaml"
    YAML().dump(definition, file)
    with pytest.raises(ConfigError) as of_file:
        load_sweep(file)
    assert str(error).startswith("definition, line ")
    assert str(error).partition(": ")[2] == str(of_file.value).partition(": ")[2]


def test_neither_a_file_nor_a_definition_is_an_error() -> None:
    assert "Give a file or a definition" in str(error_of(run_flow(sweep)))


def test_subflows_of_a_deployments_run_have_its_tags(definition: dict[str, Any]) -> None:
    async def run() -> list[set[str]]:
        async with get_client() as client:
            deployment = await client.create_deployment(await client.create_flow(sweep), "tagged")
            given = {"definition": definition}
            made = await client.create_flow_run_from_deployment(
                deployment, parameters=given, tags=["judge-gym", "mine"]
            )
            await run_flow_async(sweep, made, given, return_type="state")
            within = FlowRunFilter(parent_flow_run_id={"any_": [made.id]})
            return [set(one.tags) for one in await client.read_flow_runs(flow_run_filter=within)]

    found = asyncio.run(run())
    assert len(found) == 5  # W1, W2, W3, W5 and the analysis
    assert all(tags == {"judge-gym", "mine"} for tags in found)


def test_a_judge_as_json_takes_the_place_of_those_of_a_calibration(tmp_path: Path) -> None:
    folder = REPOSITORY / "deployments" / "calibrations"
    judge = dict(YAML(typ="safe").load(folder / "good.yaml"))
    judge["name"] = "as JSON"
    (tmp_path / "small.yaml").write_text(SMALL.format(folder=folder))
    state = run_flow(calibration, tmp_path / "small.yaml", judges=[judge])
    assert state.is_completed(), state.message
    page: Path = asyncio.run(state.aresult())
    assert "as JSON" in page.read_text()
    judge["modle"] = judge.pop("model")
    error = error_of(run_flow(calibration, tmp_path / "small.yaml", judges=[judge]))
    assert str(error).startswith("definition, line ")
    assert "Did you mean model?" in str(error)
