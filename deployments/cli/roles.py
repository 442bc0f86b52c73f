"""`judge-gym database`: what an administrator of the database does."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.output import console, errors

app = typer.Typer(help="Back the database up, and set it up for others.", no_args_is_help=True)


@app.command()
def roles() -> None:
    """Create the roles judge_gym_reader and judge_gym_writer, to be granted to logins.

    Everybody else loses the right to connect to this database. Again at will.
    """
    from judge_gym.settings import settings
    from judge_gym.store.engine import connect
    from judge_gym.store.roles import READER, WRITER, create_roles

    engine = connect(settings())
    still_open = create_roles(engine)
    engine.dispose()
    console.print(f"{READER}: reads the views of schema analysis.")
    console.print(f"{WRITER}: runs experiments; cannot change the schema.")
    for sentence in still_open:
        errors.print(f"Warning: {sentence}", markup=False, soft_wrap=True)
    console.print(f"Next, in psql: GRANT {READER} TO some_login;", markup=False)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="A new file.", show_default=False)],
) -> None:
    """Write the whole database into one file, while runs go on."""
    from judge_gym.settings import settings
    from judge_gym.store.backup import backup as write

    write(settings(), file)
    console.print(f"The database is in {file}.", markup=False)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A backup.", show_default=False)],
) -> None:
    """Fill an empty database from a backup, which may be of an older judge-gym."""
    from judge_gym.settings import settings
    from judge_gym.store.backup import restore as read

    read(settings(), file)
    console.print(f"The database is that of {file}.", markup=False)
