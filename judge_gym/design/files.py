"""Files that a sweep names: reading within a size limit, finding corpora, and digests."""

import hashlib
from pathlib import Path

from judge_gym.errors import ConfigError

MAX_TEXT_BYTES = 1_000_000
"""Maximum size of a sweep or rubric file."""
CORPUS_SUFFIXES = (".jsonl", ".ndjson", ".csv")
_SHOWN_NAMES = 12


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
    """Return a sentence that lists what is in the folder of a missing path."""
    folder = path.parent
    while not folder.is_dir():
        folder = folder.parent
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    where = "This folder" if folder == Path() else folder
    return f"{where} has {', '.join(names[:_SHOWN_NAMES]) or 'no files'}{more}."


def corpus_files(path: Path) -> list[Path]:
    """Return the corpus files of `path`, sorted: the file itself, or the files in a folder.

    In a folder, hidden files and files without a suffix of `CORPUS_SUFFIXES` are skipped. Raises
    `ConfigError` if there is no corpus file.
    """
    allowed = ", ".join(CORPUS_SUFFIXES)
    if path.is_file():
        if path.suffix.lower() not in CORPUS_SUFFIXES:
            raise ConfigError(f"{path} is not a corpus file.", f"Use one of {allowed}.")
        return [path]
    if not path.is_dir():
        raise ConfigError(f"{path} does not exist.", what_exists(path))
    found = [file for file in path.rglob("*") if _is_corpus_file(file, path)]
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
        return _sha256(path).hex()
    return hashlib.sha256(b"".join(map(_sha256, files))).hexdigest()


def _is_corpus_file(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return not hidden and file.suffix.lower() in CORPUS_SUFFIXES and file.is_file()


def _sha256(file: Path) -> bytes:
    try:
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").digest()
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(path: Path, error: OSError) -> ConfigError:
    exists = what_exists(path) if isinstance(error, FileNotFoundError) else ""
    return ConfigError(f"{path} cannot be read: {error.strerror or error}.", exists)
