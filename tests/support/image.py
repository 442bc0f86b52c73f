"""The Dockerfile and compose.yaml as a container engine reads them, without one."""

import json
import re
import shlex
from dataclasses import dataclass
from typing import Any

from compose_spec import PyCompose
from ruamel.yaml import YAML

from support.command_line import REPOSITORY

DOCKERFILE = REPOSITORY / "Dockerfile"
COMPOSE = REPOSITORY / "compose.yaml"
_VARIABLE = re.compile(r"\$\{(\w+)(?::\?[^}]*)?\}")


@dataclass(frozen=True)
class Instruction:
    """One line of a Dockerfile, continuation lines joined."""

    name: str
    rest: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.rest)


def stages() -> list[list[Instruction]]:
    """The instructions of each stage, its FROM first."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(), flags=re.M).replace("\\\n", " ")
    parts: list[list[Instruction]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            parts.append([])
        parts[-1].append(Instruction(name, " ".join(rest.split())))
    return parts


def composed(values: dict[str, str]) -> dict[str, Any]:
    """compose.yaml with its variables filled in; raises `ValueError` where the format is broken."""
    text = _VARIABLE.sub(lambda found: values[found[1]], COMPOSE.read_text())
    return validated(YAML(typ="safe").load(text))


def validated(described: dict[str, Any]) -> dict[str, Any]:
    """What was given, when it is a Compose file; raises `ValueError` otherwise."""
    PyCompose.from_json(json.dumps(described))
    return described
