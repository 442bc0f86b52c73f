"""Where files and batches are kept: in memory, or in a folder that outlives the process.

In a folder each record is one JSON file put in place in one step, after the content it speaks of,
so that a kill at any moment leaves whole records or none.
"""

import os
import time
import uuid
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from judge_gym.errors import JudgeGymError
from judge_gym.simulator.batches.record import Batch
from judge_gym.simulator.refusals import Refusal

Purpose = Literal["batch", "batch_output"]


class StoredFile(BaseModel):
    """A file in OpenAI's shape."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    object: Literal["file"] = "file"
    bytes: int
    created_at: int
    filename: str
    purpose: Purpose
    status: Literal["processed"] = "processed"


class Store:
    """Files and batches by id. Raises `JudgeGymError` when `folder` cannot be used."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._contents: dict[str, bytes] = {}
        self._files: dict[str, StoredFile] = {}
        self._batches: dict[str, Batch] = {}
        if folder is not None:
            self._load(folder)

    def add_file(self, filename: str, purpose: Purpose, content: bytes) -> StoredFile:
        """Keep a new file."""
        file = StoredFile(
            id=f"file-{uuid.uuid4().hex}",
            bytes=len(content),
            created_at=int(time.time()),
            filename=filename,
            purpose=purpose,
        )
        if self._folder is None:
            self._contents[file.id] = content
        else:
            _write(self._folder / "contents" / file.id, content)
            self._write_record("files", file)
        self._files[file.id] = file
        return file

    def file(self, file_id: str) -> StoredFile:
        """Return a file's record; raises `Refusal` for an unknown one."""
        if file_id not in self._files:
            raise _unknown("file", file_id)
        return self._files[file_id]

    def content(self, file_id: str) -> bytes:
        """Return what a file holds; raises `Refusal` for an unknown one."""
        known = self.file(file_id).id
        if self._folder is None:
            return self._contents[known]
        return (self._folder / "contents" / known).read_bytes()

    def delete_file(self, file_id: str) -> None:
        """Forget a file; raises `Refusal` for an unknown one."""
        known = self.file(file_id).id
        if self._folder is not None:
            (self._folder / "files" / f"{known}.json").unlink()
            (self._folder / "contents" / known).unlink()
        del self._files[known]
        self._contents.pop(known, None)

    def put_batch(self, batch: Batch) -> Batch:
        """Keep a batch as it is now."""
        if self._folder is not None:
            self._write_record("batches", batch)
        self._batches[batch.id] = batch
        return batch

    def batch(self, batch_id: str, now: float) -> Batch:
        """Return a batch; raises `Refusal` for one that is unknown or has vanished."""
        batch = self._batches.get(batch_id)
        if batch is None or batch.vanished(now):
            raise _unknown("batch", batch_id)
        return batch

    def batches(self, now: float) -> list[Batch]:
        """Return the batches that have not vanished, the newest first."""
        known = [batch for batch in self._batches.values() if not batch.vanished(now)]
        return sorted(known, key=lambda batch: (batch.created_at, batch.id), reverse=True)

    def _write_record(self, kind: str, record: StoredFile | Batch) -> None:
        assert self._folder is not None
        _write(self._folder / kind / f"{record.id}.json", record.model_dump_json().encode())

    def _load(self, folder: Path) -> None:
        path = folder
        try:
            for name in ("files", "contents", "batches"):
                (folder / name).mkdir(parents=True, exist_ok=True)
            for path in sorted((folder / "files").glob("*.json")):
                file = StoredFile.model_validate_json(path.read_bytes())
                self._files[file.id] = file
            for path in sorted((folder / "batches").glob("*.json")):
                batch = Batch.model_validate_json(path.read_bytes())
                self._batches[batch.id] = batch
        except (OSError, ValidationError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not a record"
            raise JudgeGymError(
                f"The simulator's state cannot be read from {path}: {reason}.",
                "Give --state another folder, or empty this one.",
            ) from error


def _write(path: Path, content: bytes) -> None:
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(content)
    os.replace(fresh, path)


def _unknown(kind: str, name: str) -> Refusal:
    return Refusal(f"No such {kind}: {name!r}.", "id", status=404, code=f"{kind}_not_found")
