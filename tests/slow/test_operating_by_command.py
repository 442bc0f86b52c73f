"""AGENTS.md as it stands, typed from top to bottom; then the same database through MCP."""

import asyncio
import csv
import json
import shutil
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from mcp import Client, StdioServerParameters
from openpyxl import Workbook
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from judge_gym.store.read_only import READER, create_roles
from support.command_line import COMMAND, REPOSITORY, CommandLine, Ended, sweep_text
from support.documents import blocks, typed
from support.logins import login
from support.postgres import temporary_database
from support.prefect_server import ServerProcess
from support.prefect_settings import leave_prefect
from support.simulation import Simulator

pytestmark = pytest.mark.slow
LONGEST_S = 240.0


@dataclass(frozen=True)
class Place:
    """A folder with the example sweeps, and what each command of AGENTS.md said there."""

    command: CommandLine
    reader: str
    typed: list[Ended]

    def said(self, *words: str) -> str:
        """What the last command with these words said."""
        return [one for one in self.typed if set(words) <= set(one.arguments)][-1].output

    def ask(self, *requests: tuple[str, dict[str, Any]]) -> list[Any]:
        """Call tools of a server of its own, one after the other; results or errors."""

        async def each(client: Client) -> list[Any]:
            return [await client.call_tool(name, given) for name, given in requests]

        return self.with_client(each)

    def with_client(self, work: Callable[[Client], Awaitable[Any]]) -> Any:
        """Run `work(client)` against `judge-gym mcp` as a process."""
        variables = self.command.variables() | {"JUDGE_GYM_READER_URL": self.reader}
        parameters = StdioServerParameters(
            command=str(COMMAND), args=["mcp"], env=variables, cwd=self.command.folder
        )

        async def talk() -> Any:
            async with Client(parameters, read_timeout_seconds=LONGEST_S) as client:
                return await work(client)

        return asyncio.run(talk())


@pytest.fixture(scope="module")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a Prefect server of these tests' own.

    To cancel a sweep ends all its runs on the server, by its name: other tests have a "quick" too.
    """
    process = ServerProcess(tmp_path_factory.mktemp("prefect"))
    process.start()
    yield process.server.environment
    leave_prefect()
    process.stop()


@pytest.fixture(scope="module")
def place(
    postgres_server: str,
    migrated_template: str,
    simulator: Simulator,
    prefect: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("operating")
    # A copy: what a link leads to is outside the folder, and a program may not read it.
    shutil.copytree(REPOSITORY / "deployments" / "sweeps", folder / "deployments" / "sweeps")
    with temporary_database(postgres_server, migrated_template) as url:
        create_roles(sa.create_engine(url, poolclass=sa.NullPool))
        environment = {
            "JUDGE_GYM_DATABASE_URL": url,
            "JUDGE_GYM_SIMULATOR_URL": simulator.url,
            **prefect,
        }
        command = CommandLine(folder, environment, in_process=True)
        with login(url, READER) as reader:
            # What two recipes have in common is typed once: each command takes seconds.
            recipes = dict.fromkeys(map(tuple, typed("AGENTS.md")))
            yield Place(command, reader, [command(*words).fine() for words in recipes])


def test_the_recipes_do_what_they_say(place: Place) -> None:
    assert "Report" in place.said("analyse", "figures")
    assert "W1" not in place.said("--only")
    assert "5 documents" in place.said("evidence", "show") or "Documents" in place.said("show")
    assert "Expected end: — (no calls are left)." in place.said("--watch")
    status = json.loads(place.said("sweep", "status", "--json"))
    assert status["finished"] is True
    assert {part["state"] for part in status["workflows"]} == {"complete"}
    assert "no failed calls" in place.said("sweep", "retry")
    assert (place.command.folder / "quick-bundle" / "manifest.json").exists()
    assert (place.command.folder / "quick.dump").stat().st_size > 10_000


def test_recorded_judgements_are_audited_by_path_and_as_json(place: Place) -> None:
    """A wide table, rows with a mapping, and a sheet; what is wrong is an error with its remedy."""
    folder = place.command.folder
    wide = [
        {"id": f"t{n}", "gpt-4": "yes" if n % 3 else "no", "Maria": "no", "human": "yes"}
        for n in range(12)
    ]
    lines = [",".join(wide[0]), *(",".join(row.values()) for row in wide)]
    (folder / "wide.csv").write_text("\n".join(lines))
    scores = [
        {"item": f"q{n}", "judge": judge, "score": 1 + n % 5, "known": 1 + n % 4}
        for n in range(12) for judge in "ab"
    ]  # fmt: skip
    book = Workbook()
    for row in (list(scores[0]), *(list(one.values()) for one in scores)):
        book.active.append(row)
    book.save(folder / "scores.xlsx")
    mapping = {
        "name": "mine", "concept": "quality", "source": "made up", "judge_column": "judge",
        "scale": {"lowest": 1, "highest": 5}, "item": {"key": "item", "truth": "known"},
        "verdicts": ["score"],
    }  # fmt: skip
    answers = place.ask(
        ("audit", {"files": ["wide.csv"]}),
        ("audit", {"rows": wide, "judges": "gpt-4,Maria", "truth": "human"}),
        ("audit", {"rows": scores, "mapping": mapping}),
        ("audit", {"files": ["scores.xlsx"], "truth": "known"}),
        ("audit", {"files": ["wide.csv"], "judges": "gpt-5"}),
        ("audit", {"files": ["/etc/passwd"]}),
        ("audit", {}),
    )
    assert [answer.is_error for answer in answers] == [False] * 4 + [True] * 3
    found = [answer.structured_content for answer in answers[:4]]
    shown = [one.get("result", one) for one in found]
    assert [one["ran"] for one in shown] == [
        "1 judge, 12 items", "2 judges, 12 items", "2 judges, 12 items", "2 judges, 12 items",
    ]  # fmt: skip
    assert any("Maria: left out" in note for note in shown[0]["notes"])
    accuracy = [
        {row["scope"]["judge"]: row["estimate"] for row in one["figures"]
         if row["metric"] == "accuracy" and "category" not in row["scope"]}
        for one in shown
    ]  # fmt: skip
    assert accuracy[0] == pytest.approx({"gpt-4": 8 / 12})
    assert accuracy[1] == pytest.approx({"gpt-4": 8 / 12, "Maria": 0.0})
    # n mod 5 is n mod 4 for 0 to 3 alone, of 12.
    assert accuracy[2] == accuracy[3] == pytest.approx({"a": 4 / 12, "b": 4 / 12})
    said = [answer.content[0].text for answer in answers[4:]]
    assert "--judges is 'gpt-5'" in said[0]
    assert "outside" in said[1]
    assert "either files or rows" in said[2]


def test_without_a_terminal_and_a_yes_nothing_is_deleted(place: Place) -> None:
    refused = place.command("database", "clean", "quick", "--workflow", "w5-probe")
    assert refused.code == 2
    assert "nothing was changed" in refused.errors
    assert "--yes" in refused.errors
    assert "probes would be deleted" in refused.output
    assert "w5-probe" in place.command("sweep", "status", "quick").fine().output
    assert (
        json.loads(place.command("sweep", "status", "quick", "--json").output)["finished"] is True
    )


def test_metrics_are_what_prometheus_reads(place: Place) -> None:
    read = json.loads(place.command("sweep", "status", "quick", "--json").output)
    text = place.command("sweep", "status", "--metrics").fine().output
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    sweep = ("sweep", "quick")
    assert found["judge_gym_sweep_state", ("state", read["state"]), sweep] == 1
    assert sum(value for name, value in found.items() if name[0] == "judge_gym_sweep_state") == 1
    assert found["judge_gym_sweep_simulated", sweep] == 1
    assert found["judge_gym_sweep_calls", sweep] == read["spent"]["calls"] > 0
    for part in read["workflows"]:
        labels = (sweep, ("workflow", part["workflow"]))
        assert found["judge_gym_workflow_done", *labels] == part["done"]
        assert found["judge_gym_workflow_total", *labels] == part["total"]
    assert place.command("sweep", "status", "quick", "--metrics", "--json").code == 2


def test_tools_say_what_they_may_do(place: Place) -> None:
    async def kinds(client: Client) -> dict[str, tuple[bool, bool, bool]]:
        tools = (await client.list_tools()).tools
        return {
            one.name: (
                bool(one.annotations.read_only_hint),
                bool(one.annotations.destructive_hint),
                bool(one.annotations.open_world_hint),
            )
            for one in tools
            if one.annotations
        }

    found = place.with_client(kinds)
    reads = {name for name, (read, _, _) in found.items() if read}
    assert {"status", "plan_sweep", "results", "query", "describe_views", "list_runs"} <= reads
    assert {name for name, (_, destroys, _) in found.items() if destroys} == {"retry", "cancel"}
    assert {name for name, kind in found.items() if kind == (False, False, True)} == {
        "run_sweep",
        "run_judge",
    }
    assert "clean" not in found


def value(result: Any) -> Any:
    """What a tool gave; fails with what it said when that was an error."""
    assert not result.is_error, result.content[0].text
    given = result.structured_content
    return given["result"] if set(given) == {"result"} else given


def error(result: Any) -> str:
    assert result.is_error, result
    text: str = result.content[0].text
    return text


FILE = "deployments/sweeps/quick.yaml"
JUDGING = ("w3-scoring", "w4-swap")


def test_a_program_plans_runs_follows_and_reads_a_sweep(place: Place) -> None:
    async def work(client: Client) -> None:
        async def call(tool: str, /, **given: Any) -> Any:
            return value(await client.call_tool(tool, given))

        plan = await call("plan_sweep", file=FILE)
        # At most: what was not scored is not probed.
        assert plan["sweep"] == "quick"
        assert plan["to_do"] < 10
        assert list((await call("create_windows", file=FILE))["windows"]) == ["valmora"]
        tags = (await call("create_experiments", file=FILE))["experiments"]
        assert [one["tag"] for one in await call("list_experiments", sweep="quick")] == tags
        await call("run_sweep", file=FILE, only=["w3-scoring"])
        async with asyncio.timeout(LONGEST_S):
            while (runs := await call("list_runs"))[0]["state"] == "running":
                await asyncio.sleep(0.5)
        assert runs[0]["state"] == "ended with code 0", runs
        assert (await call("status", sweep="quick"))["finished"] is True
        assert [one["sweep"] for one in await call("list_sweeps")] == ["quick"]
        tables = await call("results", sweep="quick")
        assert tables["simulated"] is True
        assert tables["tables"]
        exported = await call("export", sweep="quick", folder="second-bundle")
        judged = sum(line["done"] for line in plan["lines"] if line["workflow"] in JUDGING)
        assert exported["rows"]["samples"] == judged
        assert (place.command.folder / "second-bundle" / "manifest.json").exists()
        assert (await call("analyse", sweep="quick"))["simulated"] is True
        again = await call("retry", sweep="quick")
        assert (again["calls"], again["failed"], again["retried"]) == (0, [], False)
        ended = await call("cancel", sweep="quick", confirm=True)
        assert (ended["flow_runs"], ended["calls_without_answer"], ended["cancelled"]) == (
            [],
            0,
            False,
        )

    place.with_client(work)


def test_a_sweep_and_a_judge_are_defined_as_json_and_checked_as_files(place: Place) -> None:
    read = YAML(typ="safe").load
    defined = dict(read(place.command.folder / FILE)) | {"name": "by-an-agent"}
    source = defined["windows"]["valmora"]["source"]
    source["path"] = f"deployments/sweeps/{source['path']}"
    judge = read(REPOSITORY / "deployments" / "judges" / "answers.yaml")
    wrong = {**defined, "swaps": defined["swap"]}
    sweep, again, of_judge, refused = place.ask(
        ("define", {"kind": "sweep", "definition": defined}),
        ("define", {"kind": "sweep", "definition": defined}),
        ("define", {"kind": "judge", "definition": judge}),
        ("define", {"kind": "sweep", "definition": wrong}),
    )
    file = value(sweep)["file"]
    assert value(sweep) == value(again) == {"file": file, "kind": "sweep", "name": "by-an-agent"}
    assert "definition, line " in error(refused)
    assert "Did you mean swap?" in error(refused)
    [plan] = place.ask(("plan_sweep", {"file": file}))
    assert value(plan)["sweep"] == "by-an-agent"
    place.command("judge", "check", value(of_judge)["file"]).fine()


def test_a_judge_defined_as_json_is_planned_run_and_read(place: Place) -> None:
    judge = dict(YAML(typ="safe").load(REPOSITORY / "deployments" / "judges" / "notes.yaml"))
    (place.command.folder / "items.csv").write_text("id,text\na,Bread rose by 4%.\nb,Milk fell.\n")

    async def work(client: Client) -> None:
        async def call(tool: str, /, **given: Any) -> Any:
            return value(await client.call_tool(tool, given))

        file = (await call("define", kind="judge", definition=judge | {"name": "agent"}))["file"]
        plan = await call("plan_judge", judge=file, items="items.csv")
        assert (plan["to_do"], plan["simulated"]) == (2, True)
        await call("run_judge", judge=file, items="items.csv")
        async with asyncio.timeout(LONGEST_S):
            while (runs := await call("list_runs"))[-1]["state"] == "running":
                await asyncio.sleep(0.5)
        assert runs[-1]["state"] == "ended with code 0", runs
        assert (await call("plan_judge", judge=file, items="items.csv"))["to_do"] == 0
        rows = list(csv.DictReader((place.command.folder / "items.csv").read_text().splitlines()))
        before = sorted(place.command.folder.iterdir())
        planned = await call("plan_judge", judge=file, items=rows)
        assert (planned["items"], planned["to_do"]) == (len(rows), 0), "the same texts"
        assert sorted(place.command.folder.iterdir()) == before
        more = [*rows, {"id": "c", "text": "Fish stayed as it was."}]
        assert (await call("plan_judge", judge=file, items=more))["to_do"] == 1
        await call("run_judge", judge=file, items=more)
        async with asyncio.timeout(LONGEST_S):
            while (runs := await call("list_runs"))[-1]["state"] == "running":
                await asyncio.sleep(0.5)
        assert runs[-1]["state"] == "ended with code 0", runs
        assert (await call("plan_judge", judge=file, items=more))["to_do"] == 0
        stored = await call("query", sql="SELECT count(*) FROM judge_results WHERE judge = 'agent'")
        assert stored["rows"] == [[3]]
        real = judge | {"name": "real", "model": "openai/gpt-4o-mini"} | {"budget": None}
        real_file = (await call("define", kind="judge", definition=real))["file"]
        for given in ({}, {"confirm_calls": 1}):
            asked = {"judge": real_file, "items": "items.csv"} | given
            assert "confirm_calls=2" in error(await client.call_tool("run_judge", asked))

    place.with_client(work)


OF_A_SWEEP = "SELECT count(*) FROM samples JOIN sweeps USING (experiment_id) WHERE sweep = 'quick'"


def test_sql_reads_the_views_and_answers_are_data(place: Place) -> None:
    [of_agents] = blocks("AGENTS.md", "sql")
    views, counted, answers, failed, written, table = place.ask(
        ("describe_views", {}),
        ("query", {"sql": OF_A_SWEEP}),
        ("query", {"sql": "SELECT answer FROM answers", "most_rows": 2}),
        ("query", {"sql": of_agents}),
        ("query", {"sql": "DELETE FROM analysis.samples"}),
        ("query", {"sql": "SELECT * FROM public.llm_calls"}),
    )
    assert {"samples", "calls"} <= {one["view"] for one in value(views)}
    assert value(counted)["rows"][0][0] > 0
    assert len(value(answers)["rows"]) == 2
    assert "only the first 2 rows" in value(answers)["cut"].lower()
    assert value(failed)["rows"] == []
    assert "PostgreSQL refuses" in error(written)
    assert "permission denied" in error(table)


def test_real_models_need_a_bound_that_a_person_has_set(place: Place) -> None:
    judges = "[openai/gpt-4.1-nano, openai/gpt-4o-mini]"
    real = sweep_text(
        "quick.yaml",
        ("[sim/calm-1, sim/high-1, sim/low-1]", judges),
        ("[sim/high-1, sim/low-1]", judges),
        ("name: quick", "name: real\nutility_model: openai/gpt-4.1-mini"),
    )
    # Evidence of the server's folder.
    real = real.replace(f"{REPOSITORY}/", f"{place.command.folder.resolve()}/")
    (place.command.folder / "real.yaml").write_text(real)
    unbounded, few, outside, unknown = place.ask(
        ("run_sweep", {"file": "real.yaml"}),
        ("run_sweep", {"file": "real.yaml", "confirm_calls": 1}),
        ("run_sweep", {"file": str(Path("..") / "real.yaml")}),
        ("status", {"sweep": "nothing"}),
    )
    for refused in (unbounded, few):
        assert "has no budget" in error(refused)
        assert "confirm_calls=" in error(refused)
    assert "outside" in error(outside)
    assert "There is no sweep 'nothing'" in error(unknown)
