"""What a package says of where it comes from: code, libraries, platform and prompts.

No name of a host or user, and no path.
"""

import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

from judge_gym.design.experiment import Experiment
from judge_gym.prompts import NOTHING_BOUND, sources_of, template_hash

LOCK = "requirements.lock"
_CHECKOUT = Path(__file__).parents[2]
"""The top of the checkout; where judge-gym is installed, site-packages, without its files."""


@dataclass(frozen=True)
class Commit:
    """The commit of the checkout that judge-gym runs from."""

    sha: str
    changed: bool
    """Whether files of the checkout differ from the commit."""


def commit() -> Commit | None:
    """Return the commit of the checkout; None where judge-gym is installed, or without git."""
    if not (_CHECKOUT / ".git").exists():
        return None
    try:
        sha = _git("rev-parse", "HEAD")
        return Commit(sha, bool(_git("status", "--porcelain", "--untracked-files=no")))
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ("git", *arguments),
        cwd=_CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return done.stdout.strip()


def environment(database: str) -> dict[str, Any]:
    """Return versions of Python, the platform, PostgreSQL (`database`), the code and libraries."""
    made_by = commit()
    return {
        "judge_gym": version("judge-gym"),
        "commit": made_by.sha if made_by else None,
        "checkout_changed": made_by.changed if made_by else None,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": {"system": platform.system(), "machine": platform.machine()},
        "postgresql": database,
        "libraries": _libraries(),
    }


def _libraries() -> dict[str, str]:
    found = {one.name.lower(): one.version for one in distributions() if one.name}
    return dict(sorted(found.items()))


def requirements() -> str:
    """Return the lock file of the checkout; where there is none, the installed versions."""
    lock = _CHECKOUT / LOCK
    if lock.is_file() and (_CHECKOUT / "pyproject.toml").is_file():
        return lock.read_text(encoding="utf-8")
    lines = (f"{name}=={at}" for name, at in _libraries().items() if name != "judge-gym")
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class UsedTemplate:
    """A template that prompts were made with, and its sources by file where they are known."""

    template: str
    sha256_16: str
    calls: int
    sources: Sequence[tuple[str, str]]
    """(file, text), the template first; empty if the template has changed since."""


def used_templates(
    used: Iterable[tuple[str, str, int]], experiments: Iterable[Experiment]
) -> list[UsedTemplate]:
    """Return the templates of the ledger with their sources.

    The hash is the first 16 digits of the SHA-256 of the sources, joined by a NUL byte.
    """
    bindings = [NOTHING_BOUND, *(experiment.expertise.bound for experiment in experiments)]
    distinct = [dict(pairs) for pairs in dict.fromkeys(tuple(one.items()) for one in bindings)]
    return [
        UsedTemplate(template, digest, calls, _sources(template, digest, distinct))
        for template, digest, calls in used
    ]


def _sources(
    template: str, digest: str, bindings: Iterable[Mapping[str, str]]
) -> Sequence[tuple[str, str]]:
    import jinja2

    for bound in bindings:
        try:
            if template_hash(template, bound) == digest:
                return sources_of(template, bound)
        except (jinja2.TemplateNotFound, jinja2.UndefinedError):
            continue  # not a template of this version, or one that needs words bound
    return ()


def written(file: Path, text: str) -> None:
    """Write a file of a package, making its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
