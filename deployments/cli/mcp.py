"""`judge-gym mcp`: a server of the Model Context Protocol, for programs that operate judge-gym."""


def mcp() -> None:
    """Serve judge-gym's verbs to a program over standard input and output, until it leaves.

    Paths are those below the folder it is started in. What writes or spends is the command of the
    same name; a sweep of real models needs a budget or a number of calls that was agreed to.
    """
    from deployments.cli.environment import prepare_environment
    from judge_gym.settings import settings

    prepare_environment(settings().data_dir, verbose=False)
    from deployments.mcp.server import server

    server().run("stdio")
