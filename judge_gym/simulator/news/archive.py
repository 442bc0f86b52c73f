"""The articles of a corpus as a news archive: searched by date and words, read by address.

The corpus recurs: after its last day it begins again, backwards too, so that a rehearsal finds
news whatever its dates are. Each recurrence has addresses of its own.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

from judge_gym.evidence.corpus_source import read_corpus
from judge_gym.evidence.documents import RawDocument

LONGEST_RANGE = timedelta(days=3_660)
_SHORTEST_WORD = 4
_RECURRENCE = re.compile(r"[?&]recurrence=(-?\d{1,6})$")


@dataclass(frozen=True)
class Article:
    """An article on the day it appears."""

    url: str
    title: str
    text: str
    published: date | None


class Archive:
    """Articles with an address, in the order of their corpus."""

    def __init__(self, documents: Iterable[RawDocument]) -> None:
        self._articles = [
            Article(one.url, one.title, one.text, one.published) for one in documents if one.url
        ]
        self._by_url = {one.url: one for one in reversed(self._articles)}
        days = [one.published for one in self._articles if one.published]
        self._period = max(days) - min(days) + timedelta(days=1) if days else timedelta(days=1)

    @property
    def is_empty(self) -> bool:
        """Whether there is no article that could be found."""
        return not self._articles

    def search(
        self, query: str, start: date | None = None, end: date | None = None
    ) -> list[Article]:
        """Return the articles with a word of `query`, those with most of them first.

        With dates, the days inclusive, only what appears in them: undated articles never do.
        """
        words = _stems(query)
        found = []
        for article in self._articles:
            matches = len(words & _stems(f"{article.title} {article.text}"))
            if matches:
                found += [(-matches, one.url, one) for one in self._appearing(article, start, end)]
        return [article for *_, article in sorted(found, key=lambda one: one[:2])]

    def page(self, url: str) -> Article | None:
        """Return the article at an address, or None."""
        if (article := self._by_url.get(url)) is not None:
            return article
        match = _RECURRENCE.search(url)
        article = self._by_url.get(url[: match.start()]) if match else None
        return self._recurring(article, int(match[1])) if match and article else None

    def _appearing(self, article: Article, start: date | None, end: date | None) -> list[Article]:
        if start is None or end is None:
            return [article]
        if article.published is None:
            return []
        first = math.ceil((start - article.published) / self._period)
        last = math.floor((end - article.published) / self._period)
        return [self._recurring(article, number) for number in range(first, last + 1)]

    def _recurring(self, article: Article, number: int) -> Article:
        if number == 0 or article.published is None:
            return article
        sign = "&" if "?" in article.url else "?"
        return replace(
            article,
            url=f"{article.url}{sign}recurrence={number}",
            published=article.published + number * self._period,
        )


def read_archive(path: Path | None) -> Archive:
    """Return the archive of a corpus file or folder; an empty one for None.

    Rows that cannot be read are left out. Raises `EvidenceError` for an unusable path or file.
    """
    rows = read_corpus(path, {}) if path else ()
    return Archive(row for row in rows if isinstance(row, RawDocument))


def _stems(text: str) -> set[str]:
    """Return the words that are long enough to tell something, a plural as its singular."""
    words = re.findall(rf"[^\W_]{{{_SHORTEST_WORD},}}", text.lower())
    return {word.removesuffix("s") for word in words}
