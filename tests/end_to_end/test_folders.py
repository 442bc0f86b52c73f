"""Each folder has its own embedded database: a command says which one it used."""

from pathlib import Path

import pytest

from support.command_line import CommandLine


@pytest.mark.slow
def test_a_new_database_is_announced_and_an_unknown_sweep_names_it(tmp_path: Path) -> None:
    command = CommandLine(tmp_path, {"JUDGE_GYM_DATA_DIR": str(tmp_path / "data")})
    first = command("sweep", "status", "mine")
    folder = tmp_path / "data" / "postgres"
    assert first.code == 1
    assert f"Created a new database in {folder}." in " ".join(first.errors.split())
    assert f"The database is in {folder}" in " ".join(first.errors.split())
    second = command("analyse", "figures", "mine")
    assert "Created a new database" not in second.errors
    assert f"The database is in {folder}" in " ".join(second.errors.split())


def test_an_unknown_sweep_names_a_database_of_ones_own(command: CommandLine) -> None:
    errors = command("sweep", "retry", "mine").errors
    assert "The database is postgresql+psycopg://" in errors


def test_doctor_prints_the_absolute_data_folder(command: CommandLine) -> None:
    output = command("doctor", "--settings", JUDGE_GYM_DATA_DIR="mine").output
    assert str(command.folder / "mine") in "".join(output.split())
