"""Optional dependencies: what to install where a command needs one that is missing."""

from importlib.util import find_spec

from judge_gym.errors import ConfigError

_MODULES = {"serve": ("mcp", "ag_ui"), "docker": ("prefect_docker",)}


def require(extra: str) -> None:
    """Raise `ConfigError` with the command that installs `extra` unless its modules are here."""
    missing = [module for module in _MODULES[extra] if find_spec(module) is None]
    if missing:
        raise ConfigError(
            f"The command needs {' and '.join(missing)}, which the extra `{extra}` installs.",
            f"Run: pip install 'judge-gym[{extra}]'",
        )
