"""Files that come with judge-gym, in a checkout and in a wheel.

`sql`, `prefect.yaml` and `notebooks` stand at the top of the checkout. Symbolic links put them into
packages, so a wheel contains them, and both are read the same way.
"""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

SQL = Path(str(files("judge_gym"))) / "sql"
"""Migrations, views and roles."""
# Not of "deployments": in a folder with examples, that may be the user's own folder.
DEPLOYMENTS = Path(str(files("deployments.cli"))).parent
"""The folder with the providers file, prefect.yaml and the examples."""
_EXAMPLES = DEPLOYMENTS.name
_NOT_EXAMPLES = ("__pycache__", "cli", "local", "mcp")
NOTEBOOKS = DEPLOYMENTS / "notebooks"


def documented(page: str) -> str:
    """Return where a page of the documentation is: a wheel does not have it."""
    beside = Path(str(files("judge_gym"))).parent / "docs" / page
    return f"docs/{page}" if beside.exists() else f"docs/{page} of judge-gym's repository"


def shipped_example(path: Path) -> Path | None:
    """Return the shipped file or folder that a relative path such as deployments/sweeps names."""
    if path.is_absolute() or path.parts[:1] != (_EXAMPLES,) or ".." in path.parts:
        return None
    example = DEPLOYMENTS.joinpath(*path.parts[1:])
    return example if example.exists() else None


def own_or_shipped(path: Path) -> Path:
    """Return `path`; if it is missing and names a shipped example, return the example."""
    return path if path.exists() else shipped_example(path) or path


def examples() -> Iterator[tuple[Path, Path]]:
    """Yield every example, with its path in a folder of examples as in a checkout."""
    for file in sorted(DEPLOYMENTS.glob("*/**/*")):
        path = file.relative_to(DEPLOYMENTS)
        if file.is_dir() or path.parts[0] in (*_NOT_EXAMPLES, NOTEBOOKS.name):
            continue
        if "__pycache__" not in path.parts:
            yield file, Path(_EXAMPLES) / path
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        yield file, Path(NOTEBOOKS.name) / file.name
