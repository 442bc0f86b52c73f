"""prefect.yaml: what it says is what Prefect and the flows understand."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import prefect
import pytest
from prefect import Flow
from prefect.utilities.callables import parameter_schema
from prefect.utilities.schema_tools import validate
from ruamel.yaml import YAML

from deployments.containers import job_template
from deployments.deploying import in_containers
from tasks.events import emit_failure

REPOSITORY = Path(__file__).parents[2]
WORKERS = Path(prefect.__file__).parent / (
    "server/api/collections_data/views/aggregate-worker-metadata.json"
)


@pytest.fixture(scope="module")
def file() -> dict[str, Any]:
    return YAML(typ="safe").load(REPOSITORY / "prefect.yaml")


def test_every_deployment_can_be_found_described_and_limited(file: dict[str, Any]) -> None:
    for one in file["deployments"]:
        assert "judge-gym" in one["tags"]
        assert one["description"]
        # A look for crashed runs that comes while another looks is not needed.
        looks = one["entrypoint"] == "flows.resume.resume_crashed"
        strategy = "CANCEL_NEW" if looks else "ENQUEUE"
        assert one["concurrency_limit"]["collision_strategy"] == strategy
        assert one["work_pool"]["name"] == "judge-gym"
        assert one["work_pool"]["job_variables"]["env"] == {
            "OPENBLAS_NUM_THREADS": "1",
            # What deployments/automations/lost-runs.yaml misses.
            "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
            # What outlasts a server that is away for a minute or two.
            "PREFECT_CLIENT_MAX_RETRIES": "6",
            "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
        }


def test_every_deployment_emits_that_a_run_has_failed(file: dict[str, Any]) -> None:
    for one in file["deployments"]:
        module, _, name = one["entrypoint"].rpartition(".")
        flow = getattr(import_module(module), name)
        assert emit_failure in flow.on_failure_hooks, one["entrypoint"]


def test_schedules_are_made_switched_off_in_a_stated_time_zone(file: dict[str, Any]) -> None:
    schedules = [one for each in file["deployments"] for one in each.get("schedules", [])]
    # Only that which looks for crashed runs is active.
    [mending] = [one for one in schedules if one["slug"] == "crashed"]
    assert mending["active"] is True
    schedules.remove(mending)
    assert {one["slug"] for one in schedules} == {
        "daily", "weekly", "nightly", "study-weekly", "prune-weekly",
    }  # fmt: skip
    assert all(one["active"] is False and one["timezone"] for one in schedules)


@pytest.mark.parametrize("kind", ["process", "docker"])
def test_every_way_to_run_uses_job_variables_that_its_worker_has(
    file: dict[str, Any], kind: str
) -> None:
    workers = [
        kinds for each in json.loads(WORKERS.read_text()).values() for kinds in each.values()
    ]
    [worker] = [one for one in workers if one["type"] == kind]
    known = worker["default_base_job_configuration"]["variables"]["properties"]
    described = file["definitions"][kind]
    given = described.get("work_pool", described)["job_variables"]
    assert given.keys() <= known.keys()


def test_an_image_has_the_commit_as_its_tag_and_version(file: dict[str, Any]) -> None:
    docker = in_containers(file, "registry.example:5000/judge-gym")["deployments"][0]
    steps = [step for part in (docker["build"], docker["push"]) for step in part]
    names = [next(iter(step)) for step in steps]
    for name in names:
        module, _, function = name.rpartition(".")
        assert callable(getattr(import_module(module), function))
    assert docker["version"] == steps[2][names[2]]["tag"] == "{{ commit.stdout }}"
    assert docker["work_pool"]["job_variables"]["image"] == "{{ image.image }}"
    built = in_containers(file, "registry.example:5000/judge-gym:0f1e2d")["deployments"][0]
    assert built["version"] == "0f1e2d"
    assert "build" not in built


def test_runs_in_containers_choose_neither_command_nor_mounts() -> None:
    template = job_template()
    chosen = template["variables"]["properties"].keys()
    assert not {"command", "volumes", "privileged", "container_create_kwargs"} & chosen
    assert template["variables"]["additionalProperties"] is False
    secrets = template["variables"]["properties"]["env"]["default"]
    reference = "{{ prefect.blocks.secret.judge-gym-database-url }}"
    assert secrets == {"JUDGE_GYM_DATABASE_URL": reference}


def schema_of(deployment: dict[str, Any]) -> dict[str, Any]:
    """The schema of a deployment's form, as `prefect deploy` makes it."""
    module, _, name = deployment["entrypoint"].rpartition(".")
    flow: Flow[..., Any] = getattr(import_module(module), name)
    return parameter_schema(flow).model_dump()


def test_a_form_that_is_submitted_untouched_or_emptied_is_valid(file: dict[str, Any]) -> None:
    for one in file["deployments"]:
        schema = schema_of(one)
        shown = {
            name: described["default"]
            for name, described in schema["properties"].items()
            if "default" in described
        }
        # Prefect's pages submit every default they show.
        untouched = shown | one.get("parameters", {})
        # What a form must have and the file leaves open, it asks for.
        validate(untouched, schema, raise_on_error=True, ignore_required=True)
        optional = schema["properties"].keys() - set(schema.get("required", []))
        emptied = {name: None for name in optional if name not in shown}
        validate(untouched | emptied, schema, raise_on_error=True, ignore_required=True)


ASKED = {"judge", "judges", "definition", "definitions", "old", "new", "items", "rows", "config"}
"""Parameters that say who judges, or what is judged."""
DATED = {"day"}
"""Parameters that fit one example only."""


def test_no_default_judges_an_example_beside_what_a_user_gives(file: dict[str, Any]) -> None:
    demos = {one["entrypoint"] for one in file["deployments"] if one["name"] == "demo"}
    for one in file["deployments"]:
        given, schema = one.get("parameters", {}), schema_of(one)
        examples = {name for name, value in given.items() if str(value).startswith("deployments/")}
        if one["name"] == "demo":
            assert all((REPOSITORY / given[name]).is_file() for name in examples)
            validate(given, schema, raise_on_error=True)
        elif examples and not one["entrypoint"].endswith(".sweep"):  # its definition has all
            assert not ASKED & schema["properties"].keys(), one["entrypoint"]
        if one["name"] != "demo":
            assert not DATED & given.keys(), one["entrypoint"]
    assert {name.rpartition(".")[2] for name in demos} == {
        "sweep", "calibration", "score", "compare", "panel", "panel_evaluation", "study",
    }  # fmt: skip
