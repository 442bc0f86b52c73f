"""The texts that prompts of a sweep will show: stored, read from files, or stand-ins for them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from sqlalchemy.orm import Session

from judge_gym.asking.estimating import ARTICLE_WORDS
from judge_gym.design.experiment import EvidenceView
from judge_gym.design.rubric import MAX_CRITERIA, Rubric, Stage
from judge_gym.evidence.documents import Collected
from judge_gym.lab.evidence import TOKENS_A_WORD
from judge_gym.llm.pricing import most_tokens
from judge_gym.records.shown import ShownDocument
from judge_gym.settings import Settings
from judge_gym.store.windows import KnownDocument, known_documents

_CLAUSE = ("the", "court", "heard", "two", "newspapers", "and", "the", "minister", "answered")
_MIXED = 20
"""How many texts a typical one is mixed from."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Signs of scripts without spaces between words."""


@dataclass
class WindowTexts:
    """The documents of windows; `previews` are those of windows on files, by key."""

    session: Session
    settings: Settings
    previews: Mapping[str, Collected]
    assumed_evidence: bool = field(default=False, init=False)
    """Whether documents that nobody has seen were assumed."""
    assumed_views: bool = field(default=False, init=False)
    """Whether a view that is not made yet was assumed."""
    _known: dict[tuple[str, EvidenceView], list[KnownDocument]] = field(
        default_factory=dict, init=False
    )

    def known(self, window_key: str, view: EvidenceView) -> list[KnownDocument]:
        """Return a window's documents with `view` where it is made; none when nobody has any."""
        if (window_key, view) not in self._known:
            found = known_documents(self.session, window_key, view)
            if not found and (preview := self.previews.get(window_key)):
                found = [KnownDocument(one.title, one.text, None) for one in preview.documents]
            self._known[window_key, view] = found
        return self._known[window_key, view]

    def typical(self, window_key: str, view: EvidenceView) -> ShownDocument:
        """Return a document of the mean length of a window's, mixed from theirs."""
        documents = self.known(window_key, view)
        if not documents:
            self.assumed_evidence = True
            return ShownDocument(words(8), self._usual(view))
        texts = [self._expected(document, view) for document in documents]
        return ShownDocument(documents[len(documents) // 2].title, _mixed(texts))

    def nearest(self, window_key: str, view: EvidenceView, count: int) -> list[ShownDocument]:
        """Return the documents of a window whose lengths are nearest the mean; whole ones."""
        documents = self.known(window_key, view)
        if not documents:
            self.assumed_evidence = True
            return []
        mean = fmean(len(document.text) for document in documents)
        chosen = sorted(documents, key=lambda document: abs(len(document.text) - mean))[:count]
        return [ShownDocument(one.title, self._expected(one, view)) for one in chosen]

    def longest(
        self, window_key: str, view: EvidenceView, answer_limit: Callable[[EvidenceView], float]
    ) -> tuple[list[ShownDocument], list[float]] | None:
        """Return a window's documents, and the most tokens of each text that is not made yet.

        A text that is not made is empty in the first list, and one that is there has the bound 0.
        `answer_limit` is that of the model that makes a view, in tokens. None when nobody knows
        the documents.
        """
        documents = self.known(window_key, view)
        if not documents:
            return None
        shown, bounds = [], []
        for one in documents:
            text = one.text if view == "raw" else one.view
            by_library = view == "cleaned" and self.settings.cleaner == "library"
            # Cleaning without a model only takes away.
            text = one.text if text is None and by_library else text
            shown.append(ShownDocument(one.title, text or ""))
            bounds.append(0.0 if text is not None else self._bound(one, view, answer_limit(view)))
        return shown, bounds

    def _bound(self, document: KnownDocument, view: EvidenceView, answer_limit: float) -> float:
        if view != "neutralized" or _UNSPACED.search(document.text):
            return answer_limit
        # A summary is cut to its words.
        return min(answer_limit, TOKENS_A_WORD * self.settings.summary_words)

    def _expected(self, document: KnownDocument, view: EvidenceView) -> str:
        text = document.text if view == "raw" else document.view
        if text is not None:
            return text
        self.assumed_views = True
        # Cleaning takes away little; a summary is never longer than the article.
        if view == "cleaned":
            return document.text
        return min(self._usual(view), document.text, key=len)

    def _usual(self, view: EvidenceView) -> str:
        return words(ARTICLE_WORDS if view in ("raw", "cleaned") else self.settings.summary_words)


def words(count: int) -> str:
    """Return so many words of prose."""
    return " ".join(_CLAUSE[number % len(_CLAUSE)] for number in range(count))


def usual_rubric(scale_size: int) -> Rubric:
    """Return a rubric as long as models write them."""
    stage = Stage.model_construct(label=words(4), criteria=(words(15),) * 4)
    return Rubric.model_construct(stages=(stage,) * scale_size, reasoning="")


def longest_rubric(scale_size: int, most: float) -> Rubric:
    """Return a rubric of the most characters that its form allows and at most `most` tokens.

    `most` is the output limit of its author.
    """
    label, criterion = words(200)[:200], words(1000)[:1000]
    tokens = scale_size * (most_tokens(label) + MAX_CRITERIA * most_tokens(criterion))
    share = min(1.0, most / tokens)
    stage = Stage.model_construct(
        label=label[: round(len(label) * share)],
        criteria=(criterion[: round(len(criterion) * share)],) * MAX_CRITERIA,
    )
    return Rubric.model_construct(stages=(stage,) * scale_size, reasoning="")


def _mixed(texts: Sequence[str]) -> str:
    """Return a text of the mean length, with a part of each of some, evenly spread."""
    chosen = texts[:: max(1, len(texts) // _MIXED)][:_MIXED]
    mean, whole = fmean(map(len, texts)), sum(map(len, chosen))
    share = mean / max(1, whole)
    return "".join(text[: round(len(text) * share)] for text in chosen)
