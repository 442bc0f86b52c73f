"""Texts that are the same but for what surrounds them: syndicated copies of an article.

Texts are compared by their shingles, which are runs of five words (Broder, 1997, On the
resemblance and containment of documents, doi:10.1109/SEQUEN.1997.666900). A syndicated copy has the
words of the original between a header and a footer of its own, so what counts is containment, not
resemblance.
"""

import re
from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar
from zlib import crc32

SHINGLE = 5
"""Words of a shingle. Characters count as words in scripts without spaces."""
CONTAINED = 0.7
"""Share of a text's distinct shingles that another has, from which on it is a copy. Articles about
the same events share names and quotations, at most a third; copies keep nine tenths."""
LONGEST_COPY = 1.5
"""A text that holds an earlier one is its copy when it is at most so much longer: one with more is
the fuller report."""
_FEWEST = 10
"""Shingles below which a text is not compared."""
_WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|\w+")

Name = TypeVar("Name", bound=Hashable)


class NearDuplicates(Generic[Name]):
    """The texts seen so far, by name."""

    def __init__(self) -> None:
        self._holders: dict[int, list[Name]] = {}
        """Shingle → the texts that have it."""
        self._sizes: dict[Name, int] = {}

    def add(self, name: Name, text: str) -> None:
        """Remember a text, for those that follow."""
        shingles = _shingles(text)
        self._sizes[name] = len(shingles)
        for shingle in shingles:
            self._holders.setdefault(shingle, []).append(name)

    def copied_by(self, text: str) -> tuple[Name, float] | None:
        """Return the text that this one copies most, and the share of shingles in common."""
        shingles = _shingles(text)
        if len(shingles) < _FEWEST:
            return None
        common = Counter(name for one in shingles for name in self._holders.get(one, ()))
        shares = (
            (name, self._share(count, len(shingles), self._sizes[name]))
            for name, count in common.items()
            if self._sizes[name] >= _FEWEST
        )
        # The first of several that are alike: `max` keeps it.
        best = max(shares, key=lambda found: found[1], default=None)
        return best if best is not None and best[1] >= CONTAINED else None

    @staticmethod
    def _share(common: int, size: int, earlier: int) -> float:
        held = common / earlier if size <= LONGEST_COPY * earlier else 0.0
        return max(common / size, held)


def _shingles(text: str) -> frozenset[int]:
    words = _WORD.findall(text.casefold())
    # A checksum, unlike `hash`, is the same in every process.
    return frozenset(
        crc32(" ".join(words[start : start + SHINGLE]).encode("utf-8", "surrogatepass"))
        for start in range(len(words) - SHINGLE + 1)
    )
