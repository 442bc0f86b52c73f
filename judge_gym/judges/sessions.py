"""Scores of sessions, as a function of the scores of their turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from judge_gym.counting import counted
from judge_gym.judges.base import Judge
from judge_gym.judges.conversation_items import ConversationItems
from judge_gym.records.judgements import JudgeResult

STATED = "mean: of the turns' scores, of a turn first over its repeats; lowest: of these"
"""How the score of a session is made, for people."""
SESSION, LOWEST = "session", "session-lowest"
"""What the scores of a session are named, after the judge's name and a slash."""


def score_rows(
    judge: Judge, results: Sequence[JudgeResult], items: ConversationItems
) -> list[dict[str, Any]]:
    """Return a row for each judgement, keyed by trace and span where items are of them."""
    rows = []
    for result in results:
        trace, span, message = items.place(result.item)
        rows.append(
            {
                "trace_id": trace,
                "span_id": span,
                "message": message,
                "item": result.item,
                "name": judge.name,
                "annotator": result.model,
                "annotator_kind": "LLM" if judge.asks_model else "CODE",
                "repeat": result.repeat,
                "status": result.status,
                "score": result.score,
                "label": result.verdict or "",
                "explanation": result.reason,
                "simulated": result.simulated,
            }
        )
    return rows


def session_rows(
    judge: Judge, results: Sequence[JudgeResult], items: ConversationItems
) -> list[dict[str, Any]]:
    """Return rows for the mean and the lowest score of each session whose turns were judged.

    They have the columns of `score_rows`, and names of their own beside the judge's.
    """
    of_session = {items.sessions.get(result.item, ""): result for result in results}
    simulated = {items.sessions.get(result.item) for result in results if result.simulated}
    rows = []
    for one in session_scores(results, items.sessions):
        (row,) = score_rows(judge, [of_session[one.session]], items)
        for name, score in ((SESSION, one.mean), (LOWEST, one.lowest)):
            own = {
                "message": "",
                "item": one.session,
                "name": f"{judge.name}/{name}",
                "repeat": 0,
                "status": "failed" if score is None else "scored",
                "score": score,
                "label": "",
                "explanation": f"{one.scored} of {counted(one.turns, 'turn')} scored",
                "simulated": one.session in simulated,
            }
            rows.append({**row, **own})
    return rows


def exported_said(
    own: Sequence[Mapping[str, Any]], of_sessions: Sequence[Mapping[str, Any]]
) -> str:
    """Return how many judgements and scores of sessions are exported, and without a trace."""
    said = f"Exported: {counted(len(own), 'judgement')}"
    if of_sessions:
        said += f", and mean and lowest of {counted(len(of_sessions) // 2, 'session')}"
    without = sum(not row["trace_id"] for row in (*own, *of_sessions))
    return f"{said}." + (f" {counted(without, 'row')} without a trace id." if without else "")


@dataclass(frozen=True)
class SessionScore:
    """A session: its turns, how many have a score, and the mean and the lowest of these."""

    session: str
    turns: int
    scored: int
    mean: float | None
    lowest: float | None


def session_scores(
    results: Sequence[JudgeResult], sessions: Mapping[str, str]
) -> list[SessionScore]:
    """Return the score of each session, in order; `sessions` is item → session.

    Turns without a score are counted and left out of mean and lowest, which are None without any.
    """
    by_turn: dict[str, dict[str, list[float]]] = {}
    for result in results:
        if result.item in sessions:
            scores = by_turn.setdefault(sessions[result.item], {}).setdefault(result.item, [])
            if result.score is not None:
                scores.append(result.score)
    found = []
    for session, turns in by_turn.items():
        means = [fmean(scores) for scores in turns.values() if scores]
        mean, lowest = (fmean(means), min(means)) if means else (None, None)
        found.append(SessionScore(session, len(turns), len(means), mean, lowest))
    return found
