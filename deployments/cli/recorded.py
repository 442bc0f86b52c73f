"""Recorded judgements as commands read them: by a mapping file, or as their format says."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deployments.cli.output import console
from judge_gym.counting import counted
from judge_gym.errors import ConfigError

if TYPE_CHECKING:
    from judge_gym.design.rubric import Rubric
    from judge_gym.recorded.derived import Options
    from judge_gym.recorded.files import RecordedFiles
    from judge_gym.recorded.mapping import Recorded


@dataclass(frozen=True)
class Reading:
    """Files with a mapping of their judgements."""

    files: "RecordedFiles"
    recorded: "Recorded"
    rubric: "Rubric"


@dataclass(frozen=True)
class Readings:
    """Everything that is read of some files."""

    read: tuple[Reading, ...]
    notes: tuple[str, ...] = ()
    """How the format was read, and what of it is not read."""


def readings(
    paths: Sequence[Path], mapping: Path | None, options: "Options", chosen: str = ""
) -> Readings:
    """Return what to read: by a mapping file, or by what the format says."""
    from judge_gym.recorded.derived import Options
    from judge_gym.recorded.files import recorded_files
    from judge_gym.recorded.formats import load_files
    from judge_gym.recorded.mapping import load_recorded

    if mapping is None:
        return _derived(paths, options, chosen)
    if options != Options():
        raise ConfigError(
            "--judges, --scorer, --truth and --cut come without a mapping file.",
            "Say the same in the mapping file: --show-mapping prints one to begin with.",
        )
    recorded, rubric = load_recorded(mapping)
    if recorded.format == "rows" and chosen in ("", "rows"):
        return Readings((Reading(recorded_files(paths, recorded), recorded, rubric),))
    _, files = load_files(paths, chosen or recorded.format)
    return Readings((Reading(files, recorded, rubric),))


def _derived(paths: Sequence[Path], options: "Options", chosen: str) -> Readings:
    from judge_gym.recorded.deriving import derived
    from judge_gym.recorded.formats import load_files
    from judge_gym.recorded.mapping import stages_rubric

    kind, files = load_files(paths, chosen)
    found = derived(files, kind, options)
    notes = [f"Read as {kind}. --show-mapping prints how; a mapping file can say otherwise."]
    notes += [f"Not read: {name} ({why})." for name, why in found.unread.items()]
    notes += found.notes
    if found.weighted:
        notes.append(
            f"{counted(found.weighted, 'preference')} between 1 and 2, read as the output that it "
            "is nearer to."
        )
    read = tuple(Reading(files, one, stages_rubric(one)) for one in found.readings)
    return Readings(read, tuple(notes))


def print_mappings(found: Readings) -> None:
    """Print the mappings as YAML, one document each."""
    from io import StringIO

    from ruamel.yaml import YAML

    from judge_gym.recorded.deriving import mapping_text

    text = StringIO()
    YAML(typ="safe").dump_all([dict(mapping_text(one.recorded)) for one in found.read], text)
    console.print(text.getvalue(), markup=False, highlight=False, end="", soft_wrap=True)
