"""Logs of Inspect (`.eval` and JSON): a row for each sample, epoch and score.

An `.eval` file is a zip of JSON: `header.json`, or `_journal/start.json` of a log that was not
finished, and a file for each sample. Inspect is not needed to read it.

Before version 0.3.96 a log has no `eval.scorers`, no `uuid` and no `completion`: graders are among
the `params` of `results.scores`, a sample is that of its run, and the text is in `choices`.
"""

import math
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from judge_gym.errors import DataFileError
from judge_gym.recorded.content import DAMAGED, Content, Left, parsed, read_json, written

MAX_ENTRY_BYTES = 200_000_000
"""Most bytes of one sample of an `.eval` file, decompressed."""
MAX_LOG_BYTES = 4_000_000_000
"""Most bytes of an `.eval` file, decompressed."""
HEADER, STARTED = "header.json", "_journal/start.json"
_ZSTD = 93
_LOCAL_HEADER, _LENGTHS = 30, slice(26, 30)
_ATTACHMENT = "attachment://"
FINISHED = "success"
"""The status of a log whose eval ran to its end."""
_CHUNK = 1 << 20
_WITHOUT_GRADER = ("includes", "match", "pattern", "answer", "exact", "f1", "choice", "math")
"""Scorers of Inspect that ask no model."""


def read_inspect(file: Path) -> Content:
    """Return the judgements of a log; raises `DataFileError` naming file, entry and fault."""
    content = Content()
    if zipfile.is_zipfile(file):
        samples: Iterator[tuple[str, Any]]
        with _Archive(file) as archive:
            header = archive.json(HEADER if HEADER in archive.names else STARTED)
            samples = archive.samples()
            _read(file, header, samples, content)
    else:
        header = read_json(file)
        listed = enumerate(header.get("samples") or [], start=1)
        _read(file, header, ((f"sample {number}", sample) for number, sample in listed), content)
    return content


class _Archive:
    """An `.eval` file, of which no more is decompressed than the limits allow."""

    def __init__(self, file: Path) -> None:
        self._file, self._left = file, MAX_LOG_BYTES

    def __enter__(self) -> "_Archive":
        try:
            self._zip = zipfile.ZipFile(self._file)
        except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
            raise self._fault("", str(error)) from error
        # Of a name that is there twice the last counts, as for Inspect.
        self.names = {entry.filename: entry for entry in self._zip.infolist()}
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def samples(self) -> Iterator[tuple[str, Any]]:
        """Yield each sample with the name of its entry."""
        for name in self.names:
            if name.startswith("samples/") and name.endswith(".json"):
                yield name, self.json(name)

    def json(self, name: str) -> Any:
        """Return the value of an entry; raises `DataFileError` where it cannot be read."""
        if name not in self.names:
            raise self._fault(name, "is missing")
        try:
            content = self._content(self.names[name])
        except (
            zipfile.BadZipFile, zlib.error, OSError, EOFError, struct.error, pa.ArrowException,
            NotImplementedError, RuntimeError,
        ) as error:  # fmt: skip
            raise self._fault(name, f"cannot be decompressed: {error}") from error
        return parsed(f"{self._file} {name}", content)

    def _content(self, entry: zipfile.ZipInfo) -> bytes:
        most = min(MAX_ENTRY_BYTES, self._left)
        # The size in the directory may be wrong, so that no more is read than allowed.
        with self._opened(entry) as stream:
            pieces, size = [], 0
            while piece := stream.read(min(_CHUNK, most + 1 - size)):
                pieces.append(piece)
                size += len(piece)
                if size > most:
                    raise self._fault(
                        entry.filename,
                        f"is longer than {most:,} bytes",
                        "Export the log without its events, or split it.",
                    )
        self._left -= size
        return b"".join(pieces)

    def _opened(self, entry: zipfile.ZipInfo) -> Any:
        if entry.compress_type != _ZSTD:
            return self._zip.open(entry)
        # Python before 3.14 cannot decompress it; the local header has the lengths of two names.
        with self._file.open("rb") as handle:
            handle.seek(entry.header_offset)
            lengths = struct.unpack("<HH", handle.read(_LOCAL_HEADER)[_LENGTHS])
            handle.seek(sum(lengths), 1)
            compressed = handle.read(entry.compress_size)
        return pa.CompressedInputStream(pa.BufferReader(compressed), "zstd")

    def _fault(self, name: str, what: str, remedy: str = "") -> DataFileError:
        return DataFileError(
            f"{self._file}{name and f' {name}'}: {what}.",
            remedy or "The log is damaged: copy it again, or open it with `inspect view`.",
        )


def _read(file: Path, header: Any, samples: Iterator[tuple[str, Any]], content: Content) -> None:
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
        raise DataFileError(f"{file}: no log of Inspect: it has no `eval`.", DAMAGED)
    spec = cast(dict[str, Any], header["eval"])
    content.task = str(spec.get("task", ""))
    status = str(header.get("status", "started"))
    results = header.get("results")
    results = results if isinstance(results, dict) else {}
    names: Counter[str] = Counter()
    expected: list[tuple[str, str, Any]] = []
    for name, sample in samples:
        if not isinstance(sample, dict) or "id" not in sample:
            raise DataFileError(f"{file} {name}: no sample: it has no `id`.", DAMAGED)
        if not sample.get("scores") and isinstance(sample.get("score"), dict):
            sample["scores"] = {_only_scorer(results): sample["score"]}
        expected.append((str(sample["id"]), str(sample.get("epoch", 1)), sample))
        names.update(list(_flat(sample.get("scores") or {})))
    if not expected and status == FINISHED:
        content.leave(Left.NO_SAMPLES, file.name)
        return
    graders = _graders(spec, results, names)
    # A sample without an identifier of its own is told by its run.
    whose = str(spec.get("eval_id") or f"{spec.get('run_id', '')} {spec.get('task_id', '')}")
    whose = whose.strip() or str(spec.get("created", ""))
    for key, epoch, sample in expected:
        run = {"task": content.task, "status": status, "model": str(spec.get("model", ""))}
        run["uuid"] = str(sample.get("uuid") or f"{whose} {key} {epoch}")
        _add(content, file, run, graders, sample, f"sample {key}, epoch {epoch}")
    if not spec.get("scorers"):
        _note_graders(content, file, graders, whose)
    content.reported = _reported(results)
    _note_not_run(content, status, spec, {(key, epoch) for key, epoch, _ in expected}, file)


def _note_graders(content: Content, file: Path, graders: Mapping[str, str], run: str) -> None:
    """Name the run of scores whose grader a log of an old version does not name."""
    unnamed = [
        name
        for name, grader in graders.items()
        if not grader and name.partition(".")[0].rstrip("0123456789") not in _WITHOUT_GRADER
    ]
    for row in content.rows:
        if row.values["scorer"] in {name.partition(".")[0] for name in unnamed}:
            row.values["run"] = run
    if unnamed:
        content.notes.append(f"{file.name} does not name the grader of {', '.join(unnamed)}.")


def _only_scorer(results: Mapping[str, Any]) -> str:
    """Return the scorer of a log whose samples have one score, "score" where it names none."""
    scorer = results.get("scorer")
    named = scorer.get("name") if isinstance(scorer, dict) else scorer
    first: dict[str, Any] = next(iter(results.get("scores") or []), {})
    return str(named or first.get("name") or "score")


def _reported(results: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    """Return each score's mean over samples as the log reports it; not of other reducers."""
    found: dict[str, tuple[float, ...]] = {}
    for score in results.get("scores") or []:
        name, scorer = str(score.get("name", "")), str(score.get("scorer", ""))
        metrics = score.get("metrics") or {}
        value = (metrics.get("accuracy") or metrics.get("mean") or {}).get("value")
        if score.get("reducer") not in (None, "mean") or not isinstance(value, int | float):
            continue
        if math.isfinite(value):
            found[name] = found[f"{scorer}.{name}"] = (float(value),)
    return found


def _note_not_run(
    content: Content,
    status: str,
    spec: Mapping[str, Any],
    seen: set[tuple[str, str]],
    file: Path,
) -> None:
    """Name the samples of a log that was not finished, which it does not have."""
    if status == FINISHED:
        return
    ids = (spec.get("dataset") or {}).get("sample_ids") or []
    epochs = (spec.get("config") or {}).get("epochs") or 1
    missing = [
        f"{file.name} ({status}): sample {key}, epoch {epoch}"
        for key in ids
        for epoch in range(1, int(epochs) + 1)
        if (str(key), str(epoch)) not in seen
    ]
    for name in missing or [f"{file.name} ({status})"]:
        content.leave(Left.NOT_RUN, name)


def _add(
    content: Content,
    file: Path,
    run: Mapping[str, str],
    graders: Mapping[str, str],
    sample: Mapping[str, Any],
    place: str,
) -> None:
    where = f"{file.name}: {place}"
    scores = _flat(sample.get("scores") or {})
    if sample.get("invalidation"):
        content.leave(Left.INVALID, where)
        return
    if sample.get("error"):
        message = str(sample["error"].get("message", ""))[:200]
        content.leave(Left.ERROR, f"{where}: {message}")
        if not scores:
            return
    for name in graders:
        if name not in scores:
            content.leave(Left.NO_SCORE, f"{name} of {where}")
    values = {name: written(score["value"]) for name, score in scores.items()}
    attachments = sample.get("attachments") or {}
    for name, score in scores.items():
        value = values[name]
        if value is None:
            content.leave(Left.NOT_READ, f"{name} of {where}")
            continue
        scorer, _, criterion = name.partition(".")
        content.add(
            place,
            {
                "tool": "inspect",
                "file": file.name,
                **run,
                "sample": str(sample["id"]),
                "epoch": str(sample.get("epoch", 1)),
                "run": "",
                "scorer": scorer,
                "criterion": criterion,
                "grader": graders[name],
                "value": value,
                "answer": _text(score.get("answer"), attachments),
                "explanation": _text(score.get("explanation"), attachments),
                "target": _target(sample.get("target")),
                "input": _text(sample.get("input"), attachments),
                "output": _output(sample, attachments),
                "metadata": sample.get("metadata") or {},
                "scores": values,
            },
        )


def _flat(scores: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return scorer, or scorer.criterion of a score with several values → the score."""
    found: dict[str, dict[str, Any]] = {}
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, dict):
            found |= {f"{name}.{part}": {**score, "value": one} for part, one in value.items()}
        elif isinstance(score, dict):
            found[name] = {**score, "value": value}
    return found


def _graders(
    spec: Mapping[str, Any], results: Mapping[str, Any], names: Mapping[str, int]
) -> dict[str, str]:
    """Return the name of each score → the model that grades it, "" where none is named."""
    models: dict[str, str] = {}
    for score in () if spec.get("scorers") else results.get("scores") or []:
        if model := _model(score.get("params") or {}, spec):
            models |= {str(score.get(key, "")): model for key in ("name", "scorer")}
    seen: Counter[str] = Counter()
    for scorer in spec.get("scorers") or []:
        name = str(scorer.get("name", "")).rpartition("/")[2]
        # Inspect numbers scorers of one name: model_graded_qa, model_graded_qa1.
        models[f"{name}{seen[name] or ''}"] = _model(scorer.get("options") or {}, spec)
        seen[name] += 1
    scored = {name.partition(".")[0] for name in names}
    every = dict.fromkeys((*names, *(name for name in models if name not in scored)))
    return {name: models.get(name.partition(".")[0], "") for name in every}


def _model(options: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    given = options.get("model")
    role = options.get("model_role")
    if not given and role:
        given = (spec.get("model_roles") or {}).get(role)
    if isinstance(given, list):
        return ", ".join(_model({"model": one}, spec) for one in given)
    if isinstance(given, dict):
        given = given.get("model")
    return str(given or "")


def _target(target: Any) -> str:
    targets = target if isinstance(target, list) else [target or ""]
    return " | ".join(str(one).strip() for one in targets)


def _output(sample: Mapping[str, Any], attachments: Mapping[str, str]) -> str:
    output = sample.get("output") or {}
    if not isinstance(output, dict):
        return ""
    if text := _text(output.get("completion"), attachments):
        return text
    first = next(iter(output.get("choices") or []), None) or {}
    return _text(first.get("message"), attachments)


def _text(content: Any, attachments: Mapping[str, str]) -> str:
    """Return the text of a string, of a message's parts or of messages."""
    if isinstance(content, str):
        if content.startswith(_ATTACHMENT):
            return str(attachments.get(content.removeprefix(_ATTACHMENT), ""))
        return content
    if isinstance(content, Sequence):
        texts = (_text(part, attachments) for part in content)
        return "\n\n".join(text for text in texts if text)
    if isinstance(content, Mapping):
        return _text(content.get("content", content.get("text")), attachments)
    return ""
