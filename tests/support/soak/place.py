"""The parts of an installation that a soak hits: each is started, killed and started again.

PostgreSQL holds the records of judge-gym and of Prefect, on a small disk where this user may mount
one. Prefect's server, two workers (one of a wheel) and the provider are real processes but the
last, which is a thread. A deployment judges a file of items each minute; the file grows.
"""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from deployments.local.prefect_server import prefect_database
from judge_gym.llm.keys import kept_name
from judge_gym.simulator.launch import running
from judge_gym.store import embedded
from support import wheels
from support.command_line import REPOSITORY, CommandLine
from support.disks import SmallDisk
from support.killable import Postgres
from support.paid_provider import PaidProvider, paid_provider
from support.prefect_api import Server
from support.prefect_server import ServerProcess
from support.soak.clock import ZONE, Clock, with_clock
from support.workers import Worker

KEY_VARIABLE = "SOAK_API_KEY"
DEPLOYMENT = "score/default"
LATENCY_S = 1.0
FEED_S = 12.0
"""An item comes every so often."""
PROVIDERS = f"""
[soak]
litellm = "openai"
base_url = "{{url}}"
key_env = "{KEY_VARIABLE}"
concurrency = 4
task_slots = 4
prices."good-1" = {{{{prompt = 1, completion = 4}}}}
"""
JUDGE = REPOSITORY / "deployments" / "calibrations" / "good.yaml"


@dataclass
class Place:
    """Everything that is at work, and what was in flight when it was hit."""

    folder: Path
    postgres: Postgres
    disk: SmallDisk | None
    prefect: ServerProcess
    provider: PaidProvider
    command: CommandLine
    workers: list[Worker]
    chance: random.Random
    keys: int = 0
    at_risk: int = 0
    items: list[str] = field(default_factory=list)
    _fed: threading.Event = field(default_factory=threading.Event)

    @property
    def server(self) -> Server:
        """Prefect's API."""
        return Server(self.prefect.server.url)

    def note_risk(self) -> None:
        """Count the calls on their way: what a kill now may have paid for twice."""
        sent = 0
        with suppress(sa.exc.DBAPIError):
            sent = self.postgres.count("SELECT count(*) FROM llm_calls WHERE status = 'sent'")
        self.at_risk += max(sent, self.provider.in_flight)

    def renew_key(self) -> None:
        """Store the key that the provider accepts, as a program that renews tokens does."""
        name = kept_name(KEY_VARIABLE)
        found = self.server.answer("GET", f"/block_types/slug/secret/block_documents/name/{name}")
        secret = {"value": self.provider.key}
        if found.status_code == 200:
            path = f"/block_documents/{found.json()['id']}"
            self.server.ask("PATCH", path, data=secret, merge_existing_data=False)
            return
        kind = self.server.get("/block_types/slug/secret")["id"]
        chosen = {"block_schemas": {"block_type_id": {"any_": [kind]}}}
        [schema, *_] = self.server.post("/block_schemas/filter", **chosen)
        self.server.post(
            "/block_documents/",
            name=name,
            data=secret,
            block_type_id=kind,
            block_schema_id=schema["id"],
        )

    def feed(self) -> None:
        """Add an item to the file that is judged, again and again until `fed`."""
        while True:
            number = len(self.items)
            text = f"Note {number}. Revenue rose by {number}% to {number * 7} million; buy by June."
            self.items.append(text)
            lines = (
                json.dumps({"id": f"n{at}", "text": each}) for at, each in enumerate(self.items)
            )
            fresh = self.folder / "items.fresh"
            fresh.write_text("".join(f"{line}\n" for line in lines))
            fresh.replace(self.folder / "items.jsonl")
            if self._fed.wait(FEED_S):
                return

    def fed(self) -> None:
        """End `feed`."""
        self._fed.set()

    def judged(self) -> int:
        """Items that have a judgement."""
        return self.postgres.count(
            "SELECT count(DISTINCT item_id) FROM judge_results WHERE failure IS NULL"
        )

    def runs(self) -> list[dict[str, Any]]:
        """The flow runs of the schedule that are due, oldest first."""
        found: list[dict[str, Any]] = []
        chosen = {
            "deployments": {"name": {"any_": ["default"]}},
            "flows": {"name": {"any_": ["score"]}},
            "flow_runs": {"expected_start_time": {"before_": datetime.now(UTC).isoformat()}},
            "sort": "EXPECTED_START_TIME_ASC",
        }
        while page := self.server.post("/flow_runs/filter", offset=len(found), **chosen):
            found += page
        return found

    def kill_a_run(self) -> bool:
        """Kill the process of a flow run at work; False when none is."""
        pids = [
            int(run["infrastructure_pid"].rpartition(":")[2])
            for run in self.runs()[-5:]
            if run["state_type"] == "RUNNING" and run["infrastructure_pid"]
        ]
        alive = [pid for pid in pids if psutil.pid_exists(pid)]
        if alive:
            self.note_risk()
            os.kill(self.chance.choice(alive), signal.SIGKILL)
        return bool(alive)


@contextmanager
def place(folder: Path, chance: random.Random, clock: Clock, megabytes: int) -> Iterator[Place]:
    """Start all parts for the block; nothing is left of them."""
    folder.mkdir(parents=True, exist_ok=True)
    disk = SmallDisk.mounted(megabytes)
    data = disk.place if disk else Path(tempfile.mkdtemp(prefix="judge-gym-soak-", dir="/tmp"))
    if disk is None:
        print("The disk is never filled: this user may not mount one.")
    postgres = Postgres(data / "postgres")
    with ExitStack() as stack:
        stack.callback(disk.unmount if disk else lambda: shutil.rmtree(data))
        stack.callback(embedded.remove, postgres.folder)
        postgres.start()
        simulator = stack.enter_context(running())
        key = f"sk-soak-{chance.getrandbits(64):016x}"
        provider = stack.enter_context(paid_provider(simulator, key, LATENCY_S))
        (folder / "providers.toml").write_text(PROVIDERS.format(url=provider.url))
        judge = JUDGE.read_text().replace("sim/good-1", "soak/good-1")
        (folder / "judge.yaml").write_text(judge.partition("\ngate:")[0] + "\n")
        zones = with_clock(clock, folder)
        prefect = ServerProcess(folder / "prefect", records=prefect_database(postgres.url))
        prefect.home.mkdir()
        stack.callback(prefect.stop)
        with _variables(zones):
            prefect.start()
        environment = {
            **prefect.server.environment,
            **zones,
            "PREFECT_WORKER_QUERY_SECONDS": "3",
            # A worker that is gone is known after three of them.
            "PREFECT_WORKER_HEARTBEAT_SECONDS": "10",
            "JUDGE_GYM_DATABASE_URL": postgres.url,
            "JUDGE_GYM_DATA_DIR": str(data),
            "JUDGE_GYM_PROVIDERS_FILE": str(folder / "providers.toml"),
            "JUDGE_GYM_HOME": str(folder),
            "JUDGE_GYM_OUTAGE_PATIENCE_S": "30",
        }
        command = CommandLine(folder, environment)
        command("database", "init").fine()
        copy = wheels.copied(folder / "copy")
        [wheel] = wheels.built(copy, folder / "built").glob("*.whl")
        programs = wheels.environment(wheel, sys.executable, folder / "environment")
        of_wheel = CommandLine(folder, environment, programs / "judge-gym")
        workers = [Worker(command, "checkout"), Worker(of_wheel, "wheel")]
        made = Place(folder, postgres, disk, prefect, provider, command, workers, chance)
        made.renew_key()
        for worker in workers:
            stack.callback(worker.kill)
            worker.start()
        yield made


@contextmanager
def _variables(chosen: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def schedule(place: Place) -> str:
    """Judge the file each minute from now on; returns the schedule's id."""
    found = place.server.get(f"/deployments/name/{DEPLOYMENT}")["id"]
    parameters = {
        "judge": str(place.folder / "judge.yaml"),
        "items": str(place.folder / "items.jsonl"),
        "retry_failed": True,
    }
    [made] = (
        place.server.answer(
            "POST",
            f"/deployments/{found}/schedules",
            [
                {
                    "active": True,
                    "schedule": {"cron": "* * * * *", "timezone": ZONE},
                    "parameters": parameters,
                }
            ],
        )
        .raise_for_status()
        .json()
    )
    return str(made["id"])


def unschedule(place: Place, made: str) -> None:
    """Plan no more runs; the server drops those that are planned."""
    found = place.server.get(f"/deployments/name/{DEPLOYMENT}")["id"]
    place.server.ask("DELETE", f"/deployments/{found}/schedules/{made}")
