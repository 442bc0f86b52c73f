"""W1: collect the documents of a window once, and make the views that experiments ask for."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from judge_gym.asking.engine import ask_all
from judge_gym.asking.questions import Outcome, Question, one_call, seed_source
from judge_gym.design.experiment import EvidenceView, Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.view import VIEWS, View
from judge_gym.errors import EvidenceError
from judge_gym.evidence.cleaning import clean, word_count
from judge_gym.evidence.documents import Collected
from judge_gym.evidence.firecrawl import FirecrawlAccess
from judge_gym.evidence.sources import collect
from judge_gym.questions.editor import EditedText, read_view, view_prompt
from judge_gym.records.calls import Call, Parameters
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store import windows

AGENTS: dict[EvidenceView, str] = {
    "cleaned": "cleaner",
    "neutralized": "neutralizer",
    "abstracted": "abstractor",
}
"""Who makes each view."""
FIRECRAWL_KEY = "FIRECRAWL_API_KEY"
_ONLY = "0"  # a view is made once, so it has one replicate
_TOKENS_A_WORD = 4
"""More than any tokenizer needs for prose in a language with spaces."""


async def collect_window(runtime: Runtime, window_id: int) -> dict[str, int]:
    """Collect a window unless it is; returns how many documents were kept and dropped, and why."""
    with runtime.session() as session:
        window = windows.load_window(session, window_id)
        if not windows.uncollected(session, [window_id]):
            return {}
    configured = runtime.settings
    is_news = window.source.kind == "firecrawl"
    key = await runtime.keys.find(FIRECRAWL_KEY) if is_news else None
    access = FirecrawlAccess(api_url=configured.firecrawl_url, api_key=key)
    collected = await collect(window, access, configured.max_document_characters)
    _check_truths(collected)
    with runtime.session() as session:
        windows.save_collected(session, window_id, collected)
    reasons = {str(reason): count for reason, count in collected.dropped_by_reason().items()}
    return {"kept": len(collected.documents), **reasons}


def _check_truths(collected: Collected) -> None:
    for document in collected.documents:
        if isinstance(document.truth, float) and not 0 <= document.truth <= 1:
            raise EvidenceError(
                f"Document {document.title or document.url or document.canonical_url!r} has the "
                f"truth {document.truth:g}; a number is an index from 0 to 1.",
                "Scale the column to 0..1, or write stage labels in words.",
            )


def views_needed(experiments: Iterable[Experiment]) -> list[EvidenceView]:
    """Return the views these experiments read or that theirs are made from, in making order."""
    wanted = {view for one in experiments for view in resolve(one).of(View).to_make}
    return [view for view in VIEWS if view in wanted]


async def make_views(
    runtime: Runtime, view: EvidenceView, document_ids: Sequence[int], model: str
) -> Counter[str]:
    """Make `view` of these documents, by library or by `model`; returns counts by status."""
    with runtime.session() as session:
        wanted = windows.views_to_make(session, view, document_ids)
    by_library = view == "cleaned" and runtime.settings.cleaner == "library"
    rows = [_failed_before(one) for one in wanted if one.source_text is None]
    if by_library:
        texts = [one for one in wanted if one.source_text is not None]
        rows += await asyncio.to_thread(lambda: [_cleaned(one) for one in texts])
    with runtime.session() as session:
        windows.save_views(session, rows)
    ends = Counter(row["status"] for row in rows)
    if not by_library:
        questions = [
            _question(one, runtime.settings, model) for one in wanted if one.source_text is not None
        ]
        ends += (await ask_all(runtime, questions)).counts
    return ends


def _question(one: windows.ViewToMake, settings: Settings, model: str) -> Question[None]:
    limit = settings.summary_words
    source = seed_source(settings, one.call_key, _ONLY)
    prompt = view_prompt(one.view, one.source_text or "", limit, source.key)
    call = Call(
        key=one.call_key,
        workflow="w1-evidence",
        agent=AGENTS[one.view],
        model=model,
        prompt=prompt,
        parameters=Parameters(
            temperature=0,
            top_p=1,
            max_tokens=longest_answer(one.view, limit),
            seed=source.seed(model, prompt),
        ),
        replicate=_ONLY,
    )

    def read(outcome: Outcome) -> dict[str, Any]:
        made = read_view(one.view, limit, outcome)
        if isinstance(made, EditedText):
            return _ready(one, made, model)
        return _failed(one, made.failure, model)

    return one_call(call, "views", read, about_simulated=one.simulated)


def longest_answer(view: EvidenceView, limit: int) -> int:
    """Return the tokens that a view may have, with summaries of at most `limit` words."""
    # An abstract has as many facts as its summary, in longer words.
    return 8000 if view == "cleaned" else 2 * _TOKENS_A_WORD * limit


def _cleaned(one: windows.ViewToMake) -> dict[str, Any]:
    text = clean(one.source_text or "")
    if not text:
        return _without_call(one, _failed(one, "empty: nothing but page furniture", "library"))
    return _without_call(one, _ready(one, EditedText(text, word_count(text), False), "library"))


def _failed_before(one: windows.ViewToMake) -> dict[str, Any]:
    return _without_call(one, _failed(one, "the view it is made from failed", "none"))


def _without_call(one: windows.ViewToMake, row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "simulated": one.simulated, "call_id": None}


def _ready(one: windows.ViewToMake, made: EditedText, method: str) -> dict[str, Any]:
    return {
        "document_id": one.document_id,
        "view": one.view,
        "status": "ready",
        "text": made.text,
        "words": made.words,
        "over_limit": made.over_limit,
        "method": method,
        "failure": None,
    }


def _failed(one: windows.ViewToMake, failure: str, method: str) -> dict[str, Any]:
    return {
        "document_id": one.document_id,
        "view": one.view,
        "status": "failed",
        "text": None,
        "words": None,
        "over_limit": False,
        "method": method,
        "failure": failure,
    }
