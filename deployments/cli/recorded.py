"""Recorded judgements as commands read them: by a mapping file, or as their format says."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deployments.cli.output import command, console, show_table
from judge_gym.counting import counted, first_of
from judge_gym.errors import ConfigError

if TYPE_CHECKING:
    from judge_gym.design.rubric import Rubric
    from judge_gym.recorded.derived import NoMappingError, Options
    from judge_gym.recorded.files import RecordedFiles
    from judge_gym.recorded.mapping import Recorded
    from judge_gym.recorded.proposing import Proposal


_PROPOSED = "# Proposed by judge-gym audit, "
"""How a mapping begins that was proposed, before the digest of the rest."""
_ROWS_OF_PATHS, _MOST_PATHS = 100, 20
"""Rows whose nested values are looked for, and paths that are named."""


@dataclass(frozen=True)
class MappedFiles:
    """Files with a mapping of their judgements."""

    files: "RecordedFiles"
    recorded: "Recorded"
    rubric: "Rubric"
    mapped: bool = True
    """Whether a mapping file says what columns mean, given or proposed."""


@dataclass(frozen=True)
class Readings:
    """Everything that is read of some files."""

    read: tuple[MappedFiles, ...]
    notes: tuple[str, ...] = ()
    """How the format was read, and what of it is not read."""
    columns: tuple[str, ...] = ()
    """What columns were taken for and why, where that was proposed and is shown as a table."""


def readings(
    paths: Sequence[Path],
    mapping: Path | None,
    options: "Options",
    chosen: str = "",
    *,
    yes: bool = False,
) -> Readings:
    """Return what to read: by a mapping file, by what the format says, or by one that is proposed.

    A proposal is written beside the first file and read once a person, or `yes`, confirms it.
    """
    from judge_gym.recorded.derived import Options
    from judge_gym.recorded.files import recorded_files
    from judge_gym.recorded.formats import load_files
    from judge_gym.recorded.joining import joined
    from judge_gym.recorded.mapping import load_recorded
    from judge_gym.recorded.rest import with_rest

    if mapping is None:
        return _derived(paths, options, chosen, yes=yes)
    if options != Options():
        said = [f"{option} is `{key}` there" for option, key in options.as_keys.items()]
        raise ConfigError(
            f"{', '.join(options.as_keys)}: not beside a mapping file.",
            f"Say it in {mapping}: {'; '.join(said)}. --show-mapping, without --mapping, prints a "
            "mapping to begin with.",
        )
    recorded, rubric = load_recorded(mapping)
    if recorded.format == "rows" and chosen in ("", "rows"):
        files = recorded_files(paths, recorded)
    else:
        _, files = load_files(paths, chosen or recorded.format, recorded.layout)
    if recorded.join:
        files = joined(files, recorded.join)
    return Readings((MappedFiles(files, with_rest(files, recorded), rubric),))


def _derived(paths: Sequence[Path], options: "Options", chosen: str, *, yes: bool) -> Readings:
    from judge_gym.recorded.derived import NoMappingError, NoOrderError, Options
    from judge_gym.recorded.deriving import derived
    from judge_gym.recorded.formats import load_files, streamed
    from judge_gym.recorded.mapping import stages_rubric
    from judge_gym.recorded.proposing import propose

    kind, files = load_files(paths, chosen, options.layout)
    try:
        found = derived(files, kind, options)
    except NoOrderError as error:
        raise _to_fill_in(files, error) from None
    except NoMappingError as error:
        if options.of_the_format != Options():
            raise
        try:
            proposal = propose(files, kind, options)
        except NoMappingError as none:
            raise _to_fill_in(files, error, none) from None
        return _proposed(paths, proposal, yes=yes)
    options.check_no_columns([name for one in found.readings for name in one.item.people])
    notes = [f"Read as {kind}. --show-mapping prints how; a mapping file can say otherwise."]
    notes += [f"Not read: {name} ({why})." for name, why in found.unread.items()]
    notes += found.notes
    if found.weighted:
        notes.append(
            f"{counted(found.weighted, 'preference')} between 1 and 2, read as the output that it "
            "is nearer to."
        )
    files = streamed(files) if kind == "rows" else files
    read = tuple(
        MappedFiles(files, one, stages_rubric(one), mapped=False) for one in found.readings
    )
    return Readings(read, tuple(notes))


def _to_fill_in(
    files: "RecordedFiles", error: "NoMappingError", none: "NoMappingError | None" = None
) -> "NoMappingError":
    """Return the error of files without a mapping, with one to fill in where rows are judgements.

    `none` is why none can be proposed, where that was tried.
    What mends the table at hand comes without what every table may be.
    """
    from judge_gym.recorded.derived import NoMappingError
    from judge_gym.recorded.row_each import mapping_to_fill_in, nested_paths

    if mapping := mapping_to_fill_in(files):
        file = files.paths[0].with_name(f"{mapping['name']}-mapping.yaml")
        order = " with the lowest of `stages` first" * ("stages" in mapping)
        own = ""
        if "swapped_column" in mapping:
            [verdict] = mapping["verdicts"]
            own = (
                f" Here {verdict} says which answer was shown first or second. If it says the same "
                f"of an answer in either order, write `verdicts: [{{column: {verdict}, own_order: "
                "true}]`."
            )
        seems = (
            f"a row for each judgement, by the judge in {mapping['judge_column']}"
            if "judge_column" in mapping
            else f"a list of judgements in each row, by {first_of([*mapping['names'].values()])}"
        )
        return NoMappingError(
            f"{error.message} It seems to have {seems}.{own}",
            f"Correct this mapping{order}, save it, such as in {file}, and add "
            f"`--mapping {shlex.quote(str(file))}`:\n\n{_yaml(mapping)}",
        )
    if none is None:
        return error
    rows = [row.values for row in islice(files.rows(files.paths[0]), _ROWS_OF_PATHS)]
    paths = nested_paths(rows)
    said = f" Nested values are at {first_of(paths, _MOST_PATHS)}." if paths else ""
    return NoMappingError(f"{error.message} {none.message}{said}", none.remedies or error.remedies)


def _proposed(paths: Sequence[Path], proposal: "Proposal", *, yes: bool) -> Readings:
    """Show and write a proposed mapping; raises `ConfigError` unless it is confirmed."""
    from judge_gym.recorded.formats import streamed
    from judge_gym.recorded.mapping import Recorded, stages_rubric

    first = proposal.files.paths[0]
    file = first.with_name(f"{proposal.mapping['name']}-mapping.yaml")
    said = _write_proposal(file, proposal, yes=yes)
    alike: dict[tuple[str, str], list[str]] = {}
    for one in proposal.taken:
        alike.setdefault((one.role, one.why), []).append(one.column)
    rows = [(", ".join(columns), role, because) for (role, because), columns in alike.items()]
    show_table("How its columns can be read", ("columns", "taken for", "because"), rows)
    again = f"{command()} audit {shlex.join(map(str, paths))} --mapping {shlex.quote(str(file))}"
    if proposal.unordered:
        raise ConfigError(
            f"{first}: nothing tells the order of {', '.join(map(repr, proposal.unordered))}. "
            f"{said}, without them.",
            f"Write `stages` into it with the lowest first, then run: {again}",
        )
    if not (yes or (sys.stdin.isatty() and typer.confirm("Read the columns so?"))):
        raise ConfigError(
            f"{first}: consent is missing, so nothing is read yet. {said}.",
            f"Check it, then add --yes to read it so, or change it and run: {again}",
        )
    recorded = Recorded.model_validate(proposal.mapping)
    files = proposal.files
    if recorded.format == "rows" and not recorded.join:
        files = streamed(files)
    taken = tuple(f"{', '.join(of)}: {role}, {why}." for (role, why), of in alike.items())
    return Readings((MappedFiles(files, recorded, stages_rubric(recorded)),), (f"{said}.",), taken)


def _write_proposal(file: Path, proposal: "Proposal", *, yes: bool) -> str:
    """Write a proposed mapping beside its file, if it can be; returns where it is, in words."""
    from judge_gym.seeds import digest

    text = _yaml(proposal.mapping)
    if proposal.unordered:
        text += f"# The lowest first:\n# stages: [{', '.join(proposal.unordered)}]\n"
    text = (
        f"{_PROPOSED}{digest(text)[:12]}: replaced by the next proposal until you change it\n{text}"
    )
    if file.exists() and file.read_text() != text and not _is_unchanged(file.read_text()):
        raise ConfigError(
            f"{file} is there already and is another mapping than the proposed one.",
            f"Use it with --mapping {shlex.quote(str(file))}, or move it away.",
        )
    try:
        file.write_text(text)
    except OSError as error:
        if yes and not proposal.unordered:
            return f"How its columns are read is not kept: {file}: {error.strerror}"
        raise ConfigError(f"{file}: {error.strerror}.", "Copy the files to your own folder.") from (
            error
        )
    return f"How its columns can be read is proposed in {file}"


def _is_unchanged(text: str) -> bool:
    """Whether a mapping is as it was proposed."""
    from judge_gym.seeds import digest

    first, _, rest = text.partition("\n")
    return first.startswith(f"{_PROPOSED}{digest(rest)[:12]}:")


def print_mappings(found: Readings) -> None:
    """Print the mappings as YAML, one document each."""
    from judge_gym.recorded.deriving import mapping_text

    text = _yaml(*(mapping_text(one.recorded) for one in found.read))
    console.print(text, markup=False, highlight=False, end="", soft_wrap=True)


def _yaml(*mappings: Mapping[str, Any]) -> str:
    from io import StringIO

    from ruamel.yaml import YAML

    text = StringIO()
    YAML(typ="safe").dump_all([dict(one) for one in mappings], text)
    return text.getvalue()
