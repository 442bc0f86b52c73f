"""`judge-gym database`: what an administrator of the database does once."""

import typer

from deployments.cli.output import console

app = typer.Typer(help="Set up the database for others.", no_args_is_help=True)


@app.command()
def roles() -> None:
    """Create the roles judge_gym_reader and judge_gym_writer, to be granted to logins.

    Everybody else loses the right to connect to this database. Again at will.
    """
    from judge_gym.settings import settings
    from judge_gym.store.engine import connect
    from judge_gym.store.roles import READER, WRITER, create_roles

    engine = connect(settings())
    create_roles(engine)
    engine.dispose()
    console.print(f"{READER}: reads the views of schema analysis, and nothing else.")
    console.print(f"{WRITER}: runs experiments; cannot change the schema.")
    console.print(f"Next, in psql: GRANT {READER} TO some_login;", markup=False)
