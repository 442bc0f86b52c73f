"""W1: collect the documents of a window once, and make the views that experiments ask for."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judge_gym.asking.budgeting import Spender
from judge_gym.asking.engine import ask_all
from judge_gym.asking.questions import Outcome, Question, one_call, seed_source
from judge_gym.counting import counted
from judge_gym.design.experiment import EvidenceView, Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.view import VIEWS, Viewing
from judge_gym.design.window import CorpusSource, Window
from judge_gym.errors import ConfigError, EvidenceError
from judge_gym.evidence.cleaning import clean, word_count
from judge_gym.evidence.corpus import ACCEPTED_NAMES
from judge_gym.evidence.documents import BY_DESIGN, Collected, Dropped
from judge_gym.evidence.firecrawl import FirecrawlAccess
from judge_gym.evidence.sources import collect, read_files
from judge_gym.questions.editor import EditedText, read_view, view_prompt
from judge_gym.records.calls import Call, Parameters
from judge_gym.records.recipes import Utility, recipe_of_views, view_recipes
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store import windows
from judge_gym.store.calls import other_requests

AGENTS: dict[EvidenceView, str] = {
    "cleaned": "cleaner",
    "neutralized": "neutralizer",
    "abstracted": "abstractor",
}
"""Who makes each view."""
FIRECRAWL_KEY = "FIRECRAWL_API_KEY"
_ONLY = "0"  # a view is made once, so it has one replicate
TOKENS_A_WORD = 4
"""More than any tokenizer needs for prose in a language with spaces."""


class EmptyWindowError(EvidenceError):
    """A window has no document: its source gave none, or all were dropped."""

    def __init__(self, window: Window, window_id: int, collected: Collected) -> None:
        self.counts = counted_documents(collected)
        """`kept`, and the dropped documents by reason."""
        super().__init__(
            f"{_none_of(window, collected)}.",
            f"See why with `judge-gym evidence show {window_id}`, and correct query and dates. "
            f"{_how_dated(window, self.counts)}Rerun to collect it again, or set allow_empty: true "
            "in its source to accept it.",
        )


def counted_documents(collected: Collected) -> dict[str, int]:
    """Return how many documents were kept, and dropped by reason."""
    return {"kept": len(collected.documents), **_reasons(collected)}


def _none_of(window: Window, collected: Collected) -> str:
    """Return that a window has no document: where it looked, and why all were dropped."""
    path = getattr(window.source, "path", None)
    found = f"was found in {path}" if path else "was found"
    dropped = [f"{reason} {count}" for reason, count in _reasons(collected).items()]
    if not dropped:
        return f"Window {window} has no document: none {found}"
    dates = (one.detail for one in collected.dropped if one.reason == "outside_dates")
    example = f", such as {first}" if (first := next(dates, "")) else ""
    return (
        f"Window {window} has no document: all that {found} was dropped "
        f"({', '.join(dropped)}{example})"
    )


def _how_dated(window: Window, counts: Mapping[str, int]) -> str:
    """Return how to name the column of the dates, where a file's rows were dropped without one."""
    if not counts.get("undated") or not isinstance(window.source, CorpusSource):
        return ""
    names = ", ".join(ACCEPTED_NAMES["date"])
    return (
        f"The column of the date is found by itself when its name is {names}; name any other in "
        "the source under `fields`, as in fields: {date: COLUMN}. Or leave out the window's start "
        "and end. "
    )


async def collect_window(runtime: Runtime, window_id: int) -> dict[str, int]:
    """Collect a window unless it is; returns how many documents were kept and dropped, and why.

    Raises `EmptyWindowError` for a window without documents, unless its source allows that; what
    was dropped is stored, and the window stays open.
    """
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
    complete = _is_complete(window, collected)
    with runtime.session() as session:
        windows.save_collected(session, window_id, collected, complete=complete)
    if not complete:
        raise EmptyWindowError(window, window_id, collected)
    return counted_documents(collected)


def preview(window: Window, settings: Settings) -> Collected | None:
    """Return what collecting a window on files will give; None for any other source.

    Raises `ConfigError` for a file that `collect_window` cannot use.
    """
    try:
        collected = read_files(window, settings.max_document_characters)
        if collected:
            _check_truths(collected)
    except EvidenceError as error:
        raise ConfigError(f"Window {window.name}: {error.message}", error.remedy) from error
    return collected


def check_not_empty(window: Window, collected: Collected) -> None:
    """Raise `ConfigError` for a preview without documents, which `collect_window` refuses."""
    if not _is_complete(window, collected):
        raise ConfigError(
            f"{_none_of(window, collected)}. {_faults(window, collected)}".strip(),
            f"{_how_dated(window, _reasons(collected))}"
            "Correct its file, query or dates, or set allow_empty: true in its source.",
        )


def _is_complete(window: Window, collected: Collected) -> bool:
    return bool(collected.documents or getattr(window.source, "allow_empty", False))


def _reasons(collected: Collected) -> dict[str, int]:
    return {str(reason): count for reason, count in collected.dropped_by_reason().items()}


def losses(window: Window, collected: Collected) -> str:
    """Return sentences on documents that a window drops for a fault of theirs, or has none of.

    Empty where there are neither.
    """
    # With `allow_empty` it is no error.
    none = "" if collected.documents else f"{_none_of(window, collected)}. "
    return f"{none}{_faults(window, collected)}".strip()


def _faults(window: Window, collected: Collected) -> str:
    faulty = [document for document in collected.dropped if document.reason not in BY_DESIGN]
    if not faulty:
        return ""
    kept = len(collected.documents)
    by_reason: dict[str, list[Dropped]] = defaultdict(list)
    for document in faulty:
        by_reason[document.reason].append(document)
    examples = "; ".join(
        f"{len(some)} {reason.replace('_', ' ')}, such as {some[0].detail}"
        for reason, some in by_reason.items()
    )
    # Where most rows have a date, its column is known.
    how = _how_dated(window, _reasons(collected)) if len(by_reason["undated"]) > kept > 0 else ""
    return (
        f"Window {window.name} drops {len(faulty)} of "
        f"{counted(kept + len(collected.dropped), 'document')}: {examples}. {how}"
        f"After collection, `judge-gym evidence show {window.name}` lists them all."
    )


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
    wanted = {
        view for experiment in experiments for view in resolve(experiment).of(Viewing).to_make
    }
    return [view for view in VIEWS if view in wanted]


def edited_views(settings: Settings, experiments: Iterable[Experiment]) -> list[EvidenceView]:
    """Return the needed views that a model makes."""
    views = views_needed(experiments)
    return [view for view in views if view != "cleaned" or settings.cleaner == "llm"]


def utility_of(settings: Settings, model: str) -> Utility:
    """Return the utility model with the settings of the views that it makes."""
    return Utility(model, settings.summary_words, settings.cleaner)


def recipes_of_views(settings: Settings, model: str) -> dict[str, str]:
    """Return view → the recipe under which it is made now, with this utility model."""
    return view_recipes(recipe_of_views(VIEWS[1:], utility_of(settings, model)))


async def make_views(
    runtime: Runtime,
    view: EvidenceView,
    document_ids: Sequence[int],
    model: str,
    budget: Spender | None = None,
) -> Counter[str]:
    """Make `view` of these documents, by library or by `model`; returns counts by status."""
    recipes = recipes_of_views(runtime.settings, model)
    with runtime.session() as session:
        wanted = windows.views_to_make(session, view, document_ids, recipes)
    by_library = view == "cleaned" and runtime.settings.cleaner == "library"
    rows = [_failed_before(view) for view in wanted if view.source_text is None]
    if by_library:
        texts = [view for view in wanted if view.source_text is not None]
        rows += await asyncio.to_thread(lambda: [_cleaned(view) for view in texts])
    with runtime.session() as session:
        windows.save_views(session, rows)
    ends = Counter(row["status"] for row in rows)
    if not by_library:
        to_ask = [view for view in wanted if view.source_text is not None]
        calls = _calls(runtime, to_ask, model)
        questions = [
            _question(view, call, runtime.settings.summary_words)
            for view, call in zip(to_ask, calls, strict=True)
        ]
        ends += (await ask_all(runtime, questions, budget=budget)).counts
    return ends


def _calls(runtime: Runtime, views: Sequence[windows.ViewToMake], model: str) -> list[Call]:
    """Return a call for each view, under a key of its recipe where its key is taken."""
    calls = [_call(view, view.call_key, runtime.settings, model) for view in views]
    with runtime.session() as session:
        taken = other_requests(session, calls)
    return [
        _call(view, f"{call.key}/{view.recipe}", runtime.settings, model)
        if call.key in taken
        else call
        for view, call in zip(views, calls, strict=True)
    ]


def _call(view: windows.ViewToMake, key: str, settings: Settings, model: str) -> Call:
    limit = settings.summary_words
    source = seed_source(settings, key, _ONLY)
    prompt = view_prompt(view.view, view.source_text or "", limit, source.key)
    return Call(
        key=key,
        workflow="w1-evidence",
        agent=AGENTS[view.view],
        model=model,
        prompt=prompt,
        parameters=Parameters(
            temperature=0,
            top_p=1,
            max_tokens=longest_answer(view.view, limit),
            seed=source.seed(model, prompt),
        ),
        replicate=_ONLY,
    )


def _question(view: windows.ViewToMake, call: Call, limit: int) -> Question[None]:
    def read(outcome: Outcome) -> dict[str, Any]:
        made = read_view(view.view, limit, outcome)
        if isinstance(made, EditedText):
            return _ready(view, made, call.model)
        return _failed(view, made.failure, call.model)

    return one_call(call, "views", read, about_simulated=view.simulated)


def longest_answer(view: EvidenceView, limit: int) -> int:
    """Return the tokens that a view may have, with summaries of at most `limit` words."""
    # An abstract has as many facts as its summary, in longer words.
    return 8000 if view == "cleaned" else 2 * TOKENS_A_WORD * limit


def _cleaned(view: windows.ViewToMake) -> dict[str, Any]:
    text = clean(view.source_text or "")
    if not text:
        return _without_call(view, _failed(view, "empty: nothing but page furniture", "library"))
    return _without_call(view, _ready(view, EditedText(text, word_count(text), False), "library"))


def _failed_before(view: windows.ViewToMake) -> dict[str, Any]:
    return _without_call(view, _failed(view, "the view it is made from failed", "none"))


def _without_call(view: windows.ViewToMake, row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "simulated": view.simulated, "call_id": None}


def _ready(view: windows.ViewToMake, made: EditedText, method: str) -> dict[str, Any]:
    return {
        "document_id": view.document_id,
        "view": view.view,
        "recipe": view.recipe,
        "status": "ready",
        "text": made.text,
        "words": made.words,
        "over_limit": made.over_limit,
        "method": method,
        "failure": None,
    }


def _failed(view: windows.ViewToMake, failure: str, method: str) -> dict[str, Any]:
    return {
        "document_id": view.document_id,
        "view": view.view,
        "recipe": view.recipe,
        "status": "failed",
        "text": None,
        "words": None,
        "over_limit": False,
        "method": method,
        "failure": failure,
    }
