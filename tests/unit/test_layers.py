"""The dependency rule of CONTRIBUTING, enforced."""

import ast
import logging
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from bench.house import PACKAGES, circles

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def loggers_left_on() -> Iterator[None]:
    """The linter switches every logger off that is there, which the tests after it would miss."""
    every = [
        one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)
    ]
    on = [one for one in every if not one.disabled]
    yield
    for one in on:
        one.disabled = False


@pytest.mark.usefixtures("loggers_left_on")
def test_layers_import_one_way_only(capsys: pytest.CaptureFixture[str]) -> None:
    status = lint_imports(config_filename=str(REPOSITORY / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    assert circles(graph) == []
    graph.add_import(importer="judge_gym.errors", imported="judge_gym.judges.base")
    [found] = circles(graph)
    assert {"judge_gym.errors", "judge_gym.judges.base"} <= set(found)


PLANTED = {
    "judge_gym.metrics -> judge_gym.store": "import judge_gym.store",
    "judge_gym.store -> judge_gym.lab": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import judge_gym.lab"
    ),
    "judge_gym.design -> judge_gym.report": "def late():\n    import judge_gym.report",
    "judge_gym.report -> judge_gym.simulator": "import judge_gym.simulator",
    "judge_gym.simulator -> judge_gym.design": "import judge_gym.design",
    "judge_gym.planted -> judge_gym.metrics": "import judge_gym.metrics",
    "flows -> judge_gym.simulator": "import judge_gym.simulator",
}
"""A forbidden import, and the statement that makes it in the first package."""


def test_every_forbidden_import_breaks_a_contract(tmp_path: Path) -> None:
    for package in ("deployments", "flows", "tasks", "judge_gym"):
        python = shutil.ignore_patterns("__pycache__", "*.jsonl", "*.yaml", "*.sql")
        shutil.copytree(REPOSITORY / package, tmp_path / package, ignore=python)
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    for edge, statement in PLANTED.items():
        package = tmp_path / edge.partition(" ->")[0].replace(".", "/")
        with (package / "__init__.py").open("a") as module:
            module.write(f"\n{statement}\n")
    program = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    for edge in PLANTED:
        assert f"{edge} (l." in done.stdout, done.stdout


SHARED_TYPES = {
    ("sqlalchemy", "Engine"),
    ("sqlalchemy", "make_url"),
    ("sqlalchemy.exc", "OperationalError"),
    ("sqlalchemy.orm", "Session"),
}
"""What rooms above the store may import of SQLAlchemy: to pass connections on, not to query."""
STATEMENTS = {"exec_driver_sql", "execute", "scalar", "scalars"}


def statements(source: str) -> list[str]:
    """Return the imports and calls of a module by which it could query the database itself."""
    faults = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            faults += [one.name for one in node.names if one.name.split(".")[0] == "sqlalchemy"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlalchemy"):
            names = {(node.module, one.name) for one in node.names}
            faults += [".".join(map(str, one)) for one in sorted(names - SHARED_TYPES)]
        elif isinstance(node, ast.ImportFrom) and _imports_tables(node):
            faults.append("judge_gym.store.tables")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            faults += [f"{node.func.attr}()"] if node.func.attr in STATEMENTS else []
    return faults


def _imports_tables(node: ast.ImportFrom) -> bool:
    tables = "judge_gym.store.tables"
    names = [f"{node.module}.{one.name}" for one in node.names]
    return any(f"{name}.".startswith(f"{tables}.") for name in names)


def test_only_the_store_queries_the_database() -> None:
    files = [
        file
        for root in ("judge_gym", "tasks", "flows", "deployments")
        for file in (REPOSITORY / root).rglob("*.py")
        if (REPOSITORY / "judge_gym" / "store") not in file.parents
    ]
    assert len(files) > 100
    faults = {str(file.relative_to(REPOSITORY)): statements(file.read_text()) for file in files}
    assert {file: found for file, found in faults.items() if found} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "import sqlalchemy as sa",
        "def f():\n    import sqlalchemy.orm",
        "from sqlalchemy import Engine, select",
        "from sqlalchemy.dialects.postgresql import insert",
        "from judge_gym.store import tables as t",
        "from judge_gym.store.tables import Sample",
        "def f(session, query):\n    return session.scalars(query).all()",
        "def f(connection):\n    connection.exec_driver_sql('DROP TABLE samples')",
    ],
)
def test_a_planted_statement_is_found(planted: str) -> None:
    assert len(statements(planted)) == 1
    assert statements("from sqlalchemy import Engine\nfrom sqlalchemy.orm import Session") == []
