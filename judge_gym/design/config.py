"""Reading a configuration file: keys with their places, checked by a model, with clear errors."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, PrivateAttr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from judge_gym.design.fields import Frozen, either, legal_text, models_of
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.shipped import shipped_example

MAX_TEXT_BYTES = 1_000_000
"""Maximum size of a sweep or rubric file."""
DEFINITION = Path("definition")
"""Stands for the file of what was given as JSON."""
WORKBOOK = ".xlsx"
CORPUS_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", WORKBOOK)
COMPRESSED = ".gz"
"""May follow a suffix of a corpus file: the file is decompressed while it is read."""
_SHOWN_NAMES = 3


def read_text(path: Path) -> str:
    """Return the text of a small UTF-8 file; raises `ConfigError` for any other file."""
    try:
        with path.open("rb") as handle:
            content = handle.read(MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(content) > MAX_TEXT_BYTES:
        raise ConfigError(f"{path} is longer than {MAX_TEXT_BYTES} bytes.", "Split it.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}, line {line}: not UTF-8.", "Save the file as UTF-8.") from error


def what_exists(path: Path) -> str:
    """Return how to get a missing path: the command for an example, or what is in its folder."""
    if shipped_example(path):
        return "It is an example of judge-gym. `judge-gym data examples .` writes it here."
    folder = path.parent
    while not folder.is_dir():
        folder = folder.parent
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    where = "This folder" if folder == Path() else folder
    if len(names) <= _SHOWN_NAMES:
        return f"{where} has {', '.join(names) or 'no files'}."
    missing = path.relative_to(folder).parts[0]
    close = get_close_matches(missing, names, n=_SHOWN_NAMES, cutoff=0.5)
    closest = f"; the closest: {', '.join(close)}" if close else ""
    return f"{where} has {len(names)} files and folders{closest}."


def corpus_suffix(path: Path) -> str:
    """Return the suffix that says how a corpus file is written, in small letters, without .gz."""
    compressed = path.suffix.lower() == COMPRESSED
    return (path.with_suffix("") if compressed else path).suffix.lower()


def corpus_files(path: Path, suffixes: tuple[str, ...] = CORPUS_SUFFIXES) -> list[Path]:
    """Return the corpus files of `path`, sorted: the file itself, or the files in a folder.

    In a folder, hidden files and files without one of the suffixes are skipped. Raises
    `ConfigError` if there is no corpus file.
    """
    allowed = ", ".join(suffixes)
    if path.is_file():
        if corpus_suffix(path) not in suffixes:
            raise ConfigError(
                f"{path} is not a corpus file.",
                f"Use one of {allowed}, or one of them followed by {COMPRESSED}.",
            )
        return [path]
    if not path.is_dir():
        raise ConfigError(f"{path} does not exist.", what_exists(path))
    found = [file for file in path.rglob("*") if _is_corpus_file(file, path, suffixes)]
    if not found:
        raise ConfigError(f"{path} holds no corpus file.", f"Put files with {allowed} there.")
    return sorted(found, key=lambda file: file.relative_to(path).as_posix())


def corpus_digest(path: Path) -> str:
    """Return the identity of a corpus as 64 hex digits.

    For a file, the SHA-256 of its contents; for a folder, the SHA-256 over the digests of its
    files in reading order. Names and paths are not included, so a moved corpus is the same corpus.
    Raises `ConfigError` if a file is missing or unreadable.
    """
    files = corpus_files(path)
    if files == [path]:
        return file_digest(path).hex()
    return hashlib.sha256(b"".join(map(file_digest, files))).hexdigest()


def _is_corpus_file(file: Path, folder: Path, suffixes: tuple[str, ...]) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return not hidden and corpus_suffix(file) in suffixes and file.is_file()


def file_digest(file: Path) -> bytes:
    """Return the SHA-256 of a file's contents; raises `ConfigError` if it cannot be read."""
    try:
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").digest()
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(path: Path, error: OSError) -> ConfigError:
    exists = what_exists(path) if isinstance(error, FileNotFoundError) else ""
    return ConfigError(f"{path} cannot be read: {error.strerror or error}.", exists)


MAX_VALUES = 100_000
"""Maximum number of values in a file, with aliases expanded."""
MAX_DEPTH = 20
_CORE = "tag:yaml.org,2002:"
_MOST_KEYS_SHOWN = 4
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class Place:
    """The position of a value: its file, line (from 1) and dotted key."""

    file: Path
    line: int
    key: str = ""

    def problem(self, what: str, remedy: str = "") -> ConfigError:
        """Return an error about the key at this place: `what` is wrong, and the remedy."""
        return ConfigError(
            f"{self.file}, line {self.line}: {self.key or 'the file'} {what}.", remedy
        )


@dataclass(frozen=True)
class Node:
    """A value of the file: a scalar, a tuple of nodes, or a mapping of them."""

    value: Any
    place: Place

    @property
    def items(self) -> Mapping[str, "Node"]:
        """The entries of a mapping; raises `ConfigError` for any other value."""
        if not isinstance(self.value, Mapping):
            raise self.place.problem(
                f"is {shown(self.value)}", "Use keys and values, such as {key: value}."
            )
        return self.value

    @property
    def entries(self) -> tuple["Node", ...]:
        """The entries of a list; any other value counts as a list of one."""
        return self.value if isinstance(self.value, tuple) else (self,)

    def known_items(self, known: Collection[str]) -> Mapping[str, "Node"]:
        """The entries of a mapping; raises `ConfigError` if a key is not `known`."""
        if not isinstance(self.value, Mapping) and len(known) <= _MOST_KEYS_SHOWN:
            keys = ", ".join(f"{name}: …" for name in known)
            raise self.place.problem(f"is {shown(self.value)}", f"Use {{{keys}}}.")
        for name, child in self.items.items():
            if name not in known:
                raise child.place.problem(
                    "is not a known key", f"{did_you_mean(name, known)}Use {', '.join(known)}."
                )
        return self.items

    def plain(self) -> Any:
        """Return the value without its places."""
        if isinstance(self.value, Mapping):
            return {name: child.plain() for name, child in self.value.items()}
        if isinstance(self.value, tuple):
            return [child.plain() for child in self.value]
        return self.value


def shown(value: Any) -> str:
    """Return a value for an error message: short, on one line, without control codes."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, Mapping):
        return f"a mapping with {', '.join(map(shown, value))}" if value else "an empty mapping"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def read_tree(path: Path) -> Node:
    """Read a YAML 1.2 or JSON file; raises `ConfigError` for anything but plain data."""
    return _read_tree(read_text(path), path)


def given_tree(definition: Mapping[str, Any]) -> Node:
    """Read a definition that was given as a JSON object, as `read_tree` reads a file.

    Errors name it "definition", with the line of its text at two spaces a level. Relative paths in
    it start from the working folder.
    """
    text = json.dumps(definition, indent=2, ensure_ascii=False)
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise ConfigError(f"The definition is longer than {MAX_TEXT_BYTES} bytes.", "Split it.")
    return _read_tree(text, DEFINITION)


def _read_tree(text: str, path: Path) -> Node:
    try:
        root = YAML(typ="rt", pure=True).compose(text)
        return _Reader().read(root, Place(path, 1), MAX_DEPTH)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = error.problem or error.context or ""
        raise Place(path, mark.line + 1 if mark else 1).problem(
            f"is not YAML: {said}", _how_to_quote(said, text, mark.line if mark else 0)
        ) from error
    except YAMLError as error:
        raise Place(path, 1).problem(f"is not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise _too_deep(Place(path, 1)) from error


def _how_to_quote(said: str, text: str, line: int) -> str:
    """Return how to write a text that YAML takes for a mapping, as it holds a colon."""
    written = text.splitlines()[line].strip() if line < len(text.splitlines()) else ""
    key, colon, value = written.partition(": ")
    if "mapping values are not allowed" not in said or not colon or ": " not in value:
        return ""
    quoted = value.replace('"', "'")
    return f'A text with ": " needs quotes: {key}: "{quoted}".'


class _Reader:
    """Converts YAML nodes, and counts them so that aliases cannot multiply."""

    def __init__(self) -> None:
        self._left = MAX_VALUES
        self._scalars = YAML(typ="safe", pure=True).constructor

    def read(self, node: Any, place: Place, depth: int) -> Node:
        self._left -= 1
        if not self._left:
            raise place.problem("is one value too many", f"A file has at most {MAX_VALUES}.")
        if not depth:
            raise _too_deep(place)
        if isinstance(node, MappingNode) and node.tag == f"{_CORE}map":
            return Node(self._mapping(node, place, depth - 1), place)
        if isinstance(node, SequenceNode) and node.tag == f"{_CORE}seq":
            return Node(self._sequence(node, place, depth - 1), place)
        return Node(self._scalar(node, place), place)

    def _mapping(self, node: MappingNode, place: Place, depth: int) -> dict[str, Node]:
        items: dict[str, Node] = {}
        for name_node, child in node.value:
            line = name_node.start_mark.line + 1
            if not isinstance(name_node, ScalarNode):
                raise replace(place, line=line).problem("has a key that is not text")
            name = name_node.value
            at = Place(place.file, line, f"{place.key}.{name}" if place.key else name)
            if name in items:
                raise at.problem(f"is given twice, first on line {items[name].place.line}")
            items[name] = self.read(child, at, depth)
        return items

    def _sequence(self, node: SequenceNode, place: Place, depth: int) -> tuple[Node, ...]:
        return tuple(
            self.read(
                child, Place(place.file, child.start_mark.line + 1, f"{place.key}[{i}]"), depth
            )
            for i, child in enumerate(node.value)
        )

    def _scalar(self, node: Any, place: Place) -> Any:
        if node is None or node.tag == f"{_CORE}null":
            return None
        read_as = {
            f"{_CORE}str": _text,
            f"{_CORE}timestamp": lambda scalar: scalar.value,
            f"{_CORE}int": self._scalars.construct_yaml_int,
            f"{_CORE}float": self._scalars.construct_yaml_float,
            f"{_CORE}bool": self._scalars.construct_yaml_bool,
        }.get(node.tag)
        if read_as is None or not isinstance(node, ScalarNode):
            raise place.problem(f"has the tag {shown(str(node.tag))}", "Use plain values.")
        try:
            return read_as(node)
        except ValueError as error:
            raise place.problem(f"is not a number: {shown(node.value)}") from error


def _text(scalar: ScalarNode) -> str:
    """Return a text as written, without the BEL that ruamel puts at folds."""
    text: str = scalar.value
    return text.replace("\a", "") if scalar.style == ">" else text


def _too_deep(place: Place) -> ConfigError:
    return place.problem("is nested too deeply", f"Use at most {MAX_DEPTH} levels.")


M = TypeVar("M", bound=BaseModel)


class Placed(Frozen):
    """What remembers where in a file it stands; its place is no part of its value."""

    _place: Place | None = PrivateAttr(None)

    @property
    def place(self) -> Place | None:
        """Where it was read; None if it was made in Python."""
        return self._place

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__


def read_model(model: type[M], node: Node) -> M:
    """Read a mapping as `model`; raises `ConfigError` at the first invalid key."""
    items = node.known_items(list(model.model_fields))
    values = {
        name: read_field(model, name, child)
        for name, child in items.items()
        if child.value is not None or _counts_without_value(model.model_fields[name])
    }
    for name, field in model.model_fields.items():
        if field.is_required() and name not in values:
            raise missing(node.place, name, legal_text(field))
    try:
        made = model(**values)
        if isinstance(made, Placed):
            made._place = node.place
        return made
    except ValidationError as error:
        fault = error.errors()[0]
        name = str(fault["loc"][0]) if fault["loc"] else ""
        at = items.get(name, node)
        if at is node or fault["type"] == "value_error":
            raise at.place.problem(f"does not fit: {fault_reason(fault)}") from None
        legal = legal_text(model.model_fields[name])
        raise at.place.problem(f"is {shown(at.value)}", f"Use {legal}.") from None


def _counts_without_value(field: FieldInfo) -> bool:
    """Whether an empty key is not the same as none: where it is needed, or null is a choice."""
    has_default = field.default is not None and field.default_factory is None
    return field.is_required() or (has_default and type(None) in get_args(field.annotation))


def read_field(model: type[BaseModel], name: str, node: Node) -> Any:
    """Read a node as the value of one field of `model`."""
    field = model.model_fields[name]
    annotation = field.annotation
    if node.value is None and type(None) in get_args(annotation):
        return None
    if isinstance(node.value, tuple) and get_origin(annotation) is tuple:
        mappings = all(isinstance(entry.value, Mapping) for entry in node.value)
        if mappings and (entry_models := models_of(get_args(annotation)[0])):
            return tuple(read_model(entry_models[0], entry) for entry in node.value)
        return _read_value(model, name, node)
    inner = models_of(annotation)
    if inner and (isinstance(node.value, Mapping) or not _takes_more_than_models(field)):
        return read_model(_of_kind(inner, node), node)
    return _read_value(model, name, node)


def _read_value(model: type[BaseModel], name: str, node: Node) -> Any:
    try:
        return _adapter(model, name).validate_json(json.dumps(node.plain()), strict=True)
    except ValidationError as error:
        # In a union, the deepest error comes from the member that fits best.
        deepest = max(error.errors(), key=lambda found: len(found["loc"]))
        for part in deepest["loc"]:
            if isinstance(node.value, Mapping) and part in node.items:
                node = node.items[str(part)]
            # A missing entry of a list is reported at the list.
            if isinstance(part, int) and part < len(node.entries):
                node = node.entries[part]
        if deepest["type"] == "value_error":
            raise node.place.problem(f"does not fit: {fault_reason(deepest)}") from None
        legal = legal_text(model.model_fields[name])
        raise node.place.problem(f"is {shown(node.value)}", f"Use {legal}.") from None


def check_exists(node: Node) -> None:
    """Raise `ConfigError` for a path, or one of a list, that the folder of its file has not."""
    for entry in node.entries:
        path = entry.place.file.parent / str(entry.value)
        if not path.exists():
            near = sorted(file.name for file in path.parent.glob("*"))
            remedy = f"{did_you_mean(path.name, near)}{what_exists(path)}"
            raise entry.place.problem(f"is {shown(entry.value)}, which does not exist", remedy)


def missing(place: Place, name: str, legal: str) -> ConfigError:
    """Return the error that `name` is missing below `place`."""
    below = Place(place.file, place.line, f"{place.key}.{name}" if place.key else name)
    return below.problem("is missing", f"Give {legal}.")


def _takes_more_than_models(field: FieldInfo) -> bool:
    """Whether the field takes words too: in a union, or those of a validator of its own."""
    if any(isinstance(some, BeforeValidator) for some in field.metadata):
        return True
    annotation = field.annotation
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    return any(member is not type(None) and not models_of(member) for member in members)


def _of_kind(models: Sequence[type[BaseModel]], node: Node) -> type[BaseModel]:
    """Return the one of `models` that the mapping's `kind` names."""
    if len(models) == 1:
        return models[0]
    written = (model for model in models if getattr(model, "WRITTEN", True))
    kinds = {model.model_fields["kind"].default: model for model in written}
    kind = node.items.get("kind", Node(None, node.place))
    if kind.value is None:
        raise missing(node.place, "kind", either(list(kinds)))
    legal = f"Use {either(list(kinds))}."
    if not isinstance(kind.value, str):
        raise kind.place.problem(f"is {shown(kind.value)}", legal)
    if kind.value not in kinds:
        suggestion = did_you_mean(kind.value, list(kinds))
        raise kind.place.problem(f"is {shown(kind.value)}", suggestion + legal)
    return kinds[kind.value]


def fault_reason(fault: Mapping[str, Any]) -> str:
    """Return what is wrong by a fault of pydantic, without pydantic's own words before it."""
    message: str = fault["msg"]
    return message.removeprefix("Value error, ")


@cache
def _adapter(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    field = model.model_fields[name]
    constrained: Any = Annotated[field.annotation, field]
    return TypeAdapter(constrained)
