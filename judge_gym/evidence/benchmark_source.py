"""Known-answer items: corpus rows of which every one carries its truth.

Items may be short; their window is screened without the shortest length.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judge_gym.design.window import Window
from judge_gym.errors import EvidenceError
from judge_gym.evidence.corpus_source import read_corpus
from judge_gym.evidence.documents import Dropped, RawStream

DEFAULT_TRUTH = "truth"


@dataclass(frozen=True)
class BenchmarkFiles:
    """A benchmark file or folder as a source of documents."""

    path: Path
    fields: Mapping[str, str] = field(default_factory=dict)
    """Our name → the file's, where they differ; the truth stands under `truth` unless named."""

    async def collect(self, window: Window) -> RawStream:
        """Return the items in file and row order, read as they are asked for.

        Raises `EvidenceError` as a corpus does, and for an item that cannot be read or has no
        truth: a benchmark with holes would be scored as a different benchmark.
        """
        return self._items()

    def _items(self) -> RawStream:
        fields = {"truth": DEFAULT_TRUTH, **self.fields}
        for item in read_corpus(self.path, fields):
            if isinstance(item, Dropped):
                raise EvidenceError(f"{self.path}: {item.detail}.", "Mend or remove this item.")
            if item.truth is None:
                raise EvidenceError(
                    f"{self.path}: {item.origin}: no truth in field {fields['truth']!r}.",
                    "Give every item its known answer, or name the field under `fields`.",
                )
            yield item
