"""The steps of the image and the commands of compose.yaml, run without a container engine.

The first stage of the Dockerfile is run as a script: its folders are below a temporary one, and
only what `.dockerignore` sends is there. Then each service of compose.yaml runs as a process of the
environment that the stage made, in the order and with the health checks of the file.

Not run: the base images, the user of the image, the network between containers, volumes.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from support.bytecode import share_bytecode
from support.command_line import REPOSITORY, CommandLine
from support.image import composed, stages
from support.postgres import prefect_records, temporary_database
from support.prefect_api import PrefectApi
from support.prefect_server import free_port
from support.waiting import until

pytestmark = pytest.mark.slow
# Layers are not kept here, and the cache of this machine spares the downloads.
LEFT_OUT = (" --no-cache ", " --compile-bytecode ")
PASSWORD = "judge-gym:two"
# What a Docker worker fills into the work pool's template for a container.
OF_A_CONTAINER = """
import asyncio
from prefect.client.orchestration import get_client
from prefect_docker.worker import DockerWorkerJobConfiguration

async def main():
    async with get_client() as client:
        pool = await client.read_work_pool("judge-gym-docker")
        job = await DockerWorkerJobConfiguration.from_template_and_values(
            pool.base_job_template, {"image": "judge-gym:0f1e2d"}, client=client
        )
        print(job.env["JUDGE_GYM_DATABASE_URL"], job.command)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder /opt/judge-gym of the image."""
    root = tmp_path_factory.mktemp("image")
    base = root / "base"
    subprocess.run([sys.executable, "-m", "venv", base], check=True)
    variables = CommandLine(root).variables() | {
        "PATH": f"{base / 'bin'}:{os.environ['PATH']}",
        "HOME": os.environ["HOME"],
    }
    folder = root
    for one in stages()[0][1:]:
        if one.name == "WORKDIR":
            folder = root / one.rest.lstrip("/")
            folder.mkdir()
        elif one.name == "COPY":
            *sources, target = one.words
            for source in sources:
                copy(REPOSITORY / source, folder / target)
        else:
            assert one.name == "RUN"
            script = one.rest.replace("/opt/judge-gym", str(root / "opt"))
            for option in LEFT_OUT:
                script = script.replace(option, " ")
            done = subprocess.run(
                ["/bin/sh", "-ec", script],
                cwd=folder,
                env=variables,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    share_bytecode(root / "opt")
    return root / "opt"


def copy(source: Path, target: Path) -> None:
    """COPY of a file into a folder, or of a folder's content; links stay links."""
    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, target, symlinks=True, ignore=ignored)
    else:
        shutil.copy(source, target)


def test_the_image_has_no_tool_of_development(environment: Path) -> None:
    installed = {path.name for path in environment.glob("lib/python*/site-packages/*")}
    assert {"judge_gym", "prefect_docker", "mcp", "ag_ui"} <= installed
    assert not {"pytest", "ruff", "mypy", "mkdocs", "uv"} & installed


@dataclass(frozen=True)
class Server(PrefectApi):
    address: str

    @property
    def api(self) -> str:
        return self.address

    @property
    def password(self) -> str:
        return PASSWORD


@dataclass(frozen=True)
class Services:
    """compose.yaml with the addresses of this test, and the processes of its services."""

    described: dict[str, Any]
    environment: Path
    folder: Path
    variables: dict[str, str]

    def words(self, words: list[str]) -> list[str]:
        program, *arguments = words
        return [str(self.environment / "bin" / program), *arguments]

    def environ(self, name: str) -> dict[str, str]:
        own = self.described["services"][name].get("environment", {})
        return CommandLine(self.folder).variables() | self.variables | own

    def runs(self, name: str, *more: str) -> None:
        """Run a service to its end, with more arguments."""
        self._output(name, [*self.described["services"][name]["command"], *more])

    def prints(self, name: str, script: str) -> str:
        """What a script prints in the environment of a service."""
        return self._output(name, ["python", "-c", script])

    def _output(self, name: str, words: list[str]) -> str:
        command = self.words(words)
        done = subprocess.run(
            command, cwd=self.folder, env=self.environ(name), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def healthy(self, name: str) -> Iterator[None]:
        """Run a service in the block; its own check has said that it is healthy."""
        service = self.described["services"][name]
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                self.words(service["command"]),
                cwd=self.folder,
                env=self.environ(name),
                stdout=output,
                stderr=output,
            )
        check = self.words(service["healthcheck"]["test"][1:])
        try:
            until(lambda: self._passes(process, check, log), f"{name} to be healthy", every=1)
            yield
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                # As Compose does after its grace period: a worker of Prefect may miss the signal.
                process.kill()
                process.wait()

    def _passes(self, process: "subprocess.Popen[bytes]", check: list[str], log: Path) -> bool:
        assert process.poll() is None, log.read_text()
        return subprocess.run(check, capture_output=True).returncode == 0


@pytest.fixture
def services(environment: Path, tmp_path: Path, postgres_server: str) -> Iterator[Services]:
    values = {"JUDGE_GYM_VERSION": "0f1e2d", "POSTGRES_PASSWORD": "x", "PREFECT_PASSWORD": "two"}
    server_port, worker_port = free_port(), free_port()
    with ExitStack() as stack:
        database = stack.enter_context(temporary_database(postgres_server))
        records = stack.enter_context(prefect_records(postgres_server))
        stands_for = {
            "postgresql+asyncpg://judge_gym:x@postgres:5432/prefect": records,
            "postgresql://judge_gym:x@postgres:5432/judge_gym": database,
            "prefect-server:4200": f"127.0.0.1:{server_port}",
            "4200": str(server_port),
            "0.0.0.0": "127.0.0.1",
            "127.0.0.1:8080": f"127.0.0.1:{worker_port}",
        }
        yield Services(
            replaced(composed(values), stands_for),
            environment,
            tmp_path,
            {
                "JUDGE_GYM_HOME": str(tmp_path),
                "PREFECT_HOME": str(tmp_path / "prefect"),
                "PREFECT_WORKER_WEBSERVER_PORT": str(worker_port),
            },
        )


def replaced(value: Any, stands_for: dict[str, str]) -> Any:
    """The same value with other addresses in its texts."""
    if isinstance(value, dict):
        return {key: replaced(part, stands_for) for key, part in value.items()}
    if isinstance(value, list):
        return [replaced(part, stands_for) for part in value]
    if isinstance(value, str):
        for old, new in stands_for.items():
            if old in value:
                return value.replace(old, new)
    return value


def test_the_services_of_compose_start_in_order_and_run_a_deployment(services: Services) -> None:
    client = services.described["services"]["init"]["environment"]
    with services.healthy("prefect-server"):
        services.runs("init")
        with services.healthy("worker"):
            server = Server(client["PREFECT_API_URL"])
            assert server.answer("GET", "/flows/count", password="").status_code == 401
            server.reaches(server.run("windows/daily"), "COMPLETED")
        services.runs("init", "--image", "registry.example:5000/judge-gym:0f1e2d")
        deployed = server.get("/deployments/name/sweep/default")
        resolved = services.prints("init", OF_A_CONTAINER)
    assert deployed["version"] == "0f1e2d"
    assert deployed["work_pool_name"] == "judge-gym-docker"
    assert deployed["job_variables"] == {"image": "registry.example:5000/judge-gym:0f1e2d"}
    assert resolved.split() == [client["JUDGE_GYM_DATABASE_URL"], "None"]
    engine = sa.create_engine(client["JUDGE_GYM_DATABASE_URL"], poolclass=sa.NullPool)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM windows").scalar() > 0
