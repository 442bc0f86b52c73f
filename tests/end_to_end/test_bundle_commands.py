"""`judge-gym data export` and `import`, from one database to another, as a person types them."""

from support.command_line import CommandLine
from support.lab import SWEEP, Lab
from support.postgres import temporary_database


def test_a_sweep_goes_from_one_database_to_another(
    command: CommandLine, database: str, postgres_server: str, migrated_template: str
) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own("acme/alpha-1", [[1, 2]], simulated=True)
    written = command("data", "export", SWEEP, "--to", "bundle").fine()
    assert "Exported 1 experiment to bundle. Simulated data" in written.output
    assert "import bundle" in written.output
    with temporary_database(postgres_server, migrated_template) as other:
        read = command("data", "import", "bundle", JUDGE_GYM_DATABASE_URL=other).fine()
    assert "Imported 1 experiment. Simulated data" in read.output


def test_a_mistake_is_one_line(command: CommandLine) -> None:
    unclear = command("data", "export", "--to", "bundle")
    assert unclear.code == 2
    assert "--experiment TAG" in unclear.errors
    empty = command("data", "import", ".")
    assert (empty.code, "no bundle" in empty.errors) == (1, True)
    assert "Traceback" not in unclear.errors + empty.errors
