"""Items that a judge has scored: tables for people, JSON for programs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from judge_gym.calibration.verdict import statistic
from judge_gym.counting import counted
from judge_gym.formats import figure_or_reason
from judge_gym.judges.calibrating.comparing import Agreement, PartScores
from judge_gym.judges.scored_items import CostOfCalls, ScoredItems
from judge_gym.judges.sessions import STATED, score_rows
from judge_gym.report.files import csv_of, figures_of
from judge_gym.report.judge_study import StudyPage, StudyReport, stem_of
from judge_gym.report.table import Table, plain_table

_LONGEST_CELL = 90
_MOST_NAMED = 5
_LOWEST = 3
"""Items with the lowest scores that are named first."""


def scores_json(scored: ScoredItems) -> dict[str, Any]:
    """Return what there is to say of scored items as JSON, with every result."""
    critic, file = scored.critic, scored.file
    return {
        "name": scored.judge.name,
        "read": scored.file.said(scored.judge),
        "answers": scored.answers,
        **_cost_json(scored.cost),
        "served_models": scored.by.served,
        "contradictions": [
            {"item": result.item, "repeat": result.repeat, "why": why, "found_by": by_whom}
            for result, why, by_whom in scored.contradictions
        ],
        "reason_critic": critic
        and {
            "model": critic.model,
            "asked": critic.asked,
            "read": critic.read,
            **(_cost_json(scored.critic_cost) if scored.critic_cost else {}),
        },
        "labels": {
            "column": file.label_column,
            "annotators": dict(file.labels.annotators) if file.labels else {},
            **agreement_json(scored.labelled),
        },
        "left_out": [
            {"what": what, "why": why, "items": names}
            for (what, why), names in file.conversations.left.items()
        ],
        "redacted": dict(file.conversations.redaction.counts),
        "not_redacted": dict(file.conversations.redaction.kept),
        "decided_by_order": asdict(scored.by_order) if scored.by_order.pairs else None,
        "pairs_with_itself": scored.with_itself,
        "systems": [
            asdict(replace(one, win_rate=None))
            | {"labelled": agreement_json(one.labelled)}
            | {"win_rate": one.win_rate and figures_of(one.win_rate)}
            for one in scored.parts
        ],
        "sessions": [asdict(one) for one in scored.sessions],
        "results": [result.model_dump(mode="json") for result in scored.results],
    }


def agreement_json(found: Agreement) -> dict[str, Any]:
    """Return how answers agree with labels, by the names that a gate and a certificate use.

    `agreement` is beyond chance: κ of verdicts, Lin's concordance of scores.
    """
    sensitivity, specificity = found.rates or (None, None)
    figures = {
        "agreement": found.concordance, "accuracy": found.met,
        "sensitivity": sensitivity, "specificity": specificity,
    }  # fmt: skip
    return {
        "labels": found.labels,
        "scored": found.scored,
        "texts": found.texts,
        "near": found.near,
        **{name: one and figures_of(one) for name, one in figures.items()},
    }


def _cost_json(cost: CostOfCalls) -> dict[str, Any]:
    paid = cost.paid
    return {
        "calls": cost.calls,
        "cost_usd": paid.usd,
        "unpriced_calls": paid.unknown,
        "at_most_usd": paid.usd + paid.at_most_usd,
        "cost": str(paid),
        "unread": [str(one) for one in cost.unread],
    }


def scores_report(scored: ScoredItems, files: Sequence[Path]) -> StudyReport[ScoredItems]:
    """Return the report of items scored by the judge of `files`, as CSV by result and as JSON."""
    stem = stem_of("scores", scored.judge.name, scored.file.name)
    rows = score_rows(scored.judge, scored.results, scored.file.conversations)
    page = StudyPage(
        stem=stem,
        title=f"Scores of {scored.judge.name}, {scored.file.path.name}",
        found=found_said(scored),
        tables=_tables(scored),
        sentences=[*_sentences(scored)],
        simulated=scored.simulated,
        files=(f"{stem}.csv", f"{stem}.json"),
        of=[scored.file.path, *files],
        read=scored.file.said(scored.judge),
    )
    return StudyReport(
        scored, page, scores_json(scored), {".csv": csv_of(rows)}, answered=[scored.by]
    )


def found_said(scored: ScoredItems) -> str:
    """Return what was found, in sentences: mean and spread, the lowest items, and labels."""
    by_item = scored.by_item
    items = len({result.item for result in scored.results})
    if not by_item:
        none = f"None of {counted(items, 'item')} has a score."
        return " ".join([*_of_pairs(scored), none, str(scored.labelled)]).strip()
    said = [_centre(scored, items)]
    if named := ", ".join(f"{count} {name}" for name, count in scored.verdicts.most_common()):
        said.insert(0, f"Verdicts: {named}.")
    elif min(by_item.values()) < max(by_item.values()):
        said.append(_lowest(by_item))
    return " ".join([*_of_pairs(scored), *said, str(scored.labelled)]).strip()


def _of_pairs(scored: ScoredItems) -> Iterator[str]:
    """Yield how many pairs have no winner in both orders, and how often each system wins."""
    order = scored.by_order
    if order.pairs:
        without = sum(result.status == "inconsistent" for result in scored.results)
        yield (
            f"Inconsistent: {without} of {counted(order.pairs, 'pair')} in both orders. What was "
            f"shown first won {order.first} of these, what was shown second {order.second}."
        )
    rates = {one.system: one.win_rate for one in scored.parts if one.win_rate}
    if rates:
        named = ", ".join(f"{name} {figure_or_reason(rate)}" for name, rate in rates.items())
        yield f"Win rates of pairs with a winner or a tie, intervals over questions: {named}."
    if scored.with_itself:
        yield f"{counted(scored.with_itself, 'pair')} of a system with itself left out of them."


def _centre(scored: ScoredItems, n_items: int) -> str:
    scores = list(scored.by_item.values())
    items = counted(n_items, "pair" if scored.judge.judges_pairs else "item")
    if len(scores) < n_items:
        items = f"{len(scores):,} of {items}"
    lowest, highest = (_number(end) for end in scored.judge.score_range)
    spread = (
        f" (SD {_number(stdev(scores))}, from {_number(min(scores))} to {_number(max(scores))})"
        if len(scores) > 1
        else ""
    )
    mean = _number(fmean(scores))
    if scored.judge.judges_pairs:
        return f"The first text wins {mean} of {items}{spread}; a tie is half a win."
    return f"Mean score of {items}: {mean}{spread}, on a scale from {lowest} to {highest}."


def _lowest(by_item: dict[str, float]) -> str:
    """Return the items with the lowest scores; of equal ones, how many there are more."""
    ordered = sorted(by_item.items(), key=lambda one: one[1])
    shown = ", ".join(f"{item} ({_number(score)})" for item, score in ordered[:_LOWEST])
    last = ordered[:_LOWEST][-1][1]
    more = sum(score == last for _, score in ordered[_LOWEST:])
    return f"Lowest: {shown}{f' and {more:,} more with {_number(last)}' if more else ''}."


def _tables(scored: ScoredItems) -> list[Table]:
    """Return its tables, in order: by system, by session, and a line for each judgement."""
    tables = (systems_table(scored), sessions_table(scored), results_table(scored))
    return [table for table in tables if table is not None]


def results_table(scored: ScoredItems) -> Table:
    """Return a line for each result, with the columns that any of them has."""
    judge, results = scored.judge, scored.results
    repeated = any(result.repeat for result in results)
    decides = bool(judge.verdict_scores) or any(result.verdict for result in results)
    parts = list(dict.fromkeys(name for result in results for name in result.subscores))
    rows = [
        (
            result.item,
            *((result.repeat,) if repeated else ()),
            result.status,
            _number(result.score),
            *(_number(result.subscores.get(part)) for part in parts),
            *((result.verdict or "",) if decides else ()),
            (result.failure or result.reason)[:_LONGEST_CELL],
        )
        for result in results
    ]
    columns = (
        "item",
        *(("repeat",) if repeated else ()),
        "status",
        "score",
        *parts,
        *(("verdict",) if decides else ()),
        "reason",
    )
    return plain_table(f"{judge.name}, {scored.by}", columns, rows)


def sessions_table(scored: ScoredItems) -> Table | None:
    """Return the scores of sessions whose turns were judged; None without any."""
    if not scored.sessions:
        return None
    rows = [
        (one.session, one.turns, one.scored, _number(one.mean), _number(one.lowest))
        for one in scored.sessions
    ]
    return plain_table("Sessions", ("session", "turns", "scored", "mean", "lowest"), rows)


def systems_table(scored: ScoredItems) -> Table | None:
    """Return the scores and the agreement with labels of each system; None without several."""
    if not scored.parts:
        return None
    rows = [
        (part.system, part.rows, part.scored, _mean_of(part), *part.labelled.cells)
        for part in scored.parts
    ]
    named = statistic(verdicts=scored.judge.decides)
    mean = "win rate" if any(part.win_rate for part in scored.parts) else "mean score"
    columns = ("system", "rows", "scored", mean, "labelled", "as labelled", named)
    return plain_table("By system", columns, rows)


def _mean_of(part: PartScores) -> str:
    return figure_or_reason(part.win_rate) if part.win_rate else _number(part.mean)


def _sentences(scored: ScoredItems) -> Iterator[str]:
    """Yield what is to be said of scored items: counts, cost, contradictions, agreement."""
    results, critic = scored.results, scored.critic
    if scored.answers:
        yield scored.answers
    ends = Counter(result.status for result in results)
    counts = ", ".join(f"{count} {status}" for status, count in ends.most_common())
    yield f"{counted(len(results), 'judgement')}: {counts}. {_paid(scored, scored.cost)}"
    yield from map(str, scored.cost.unread)
    yield from _contradictions(scored)
    if critic and scored.critic_cost:
        yield f"Reasons read: {critic}. {_paid(scored, scored.critic_cost)}"
    if scored.sessions:
        yield f"{STATED}."


def _contradictions(scored: ScoredItems) -> Iterator[str]:
    """Yield which reasons contradict their score, by what found it."""
    for found_by in ("rule", "model"):
        contradicted = [
            f"{result.item} ({why})"
            for result, why, by_whom in scored.contradictions
            if by_whom == found_by
        ]
        if contradicted:
            more = f" and {len(contradicted) - _MOST_NAMED} more"
            yield (
                f"Reasons that contradict their score: {len(contradicted)} of "
                f"{len(scored.results)}, "
                f"{'; '.join(contradicted[:_MOST_NAMED])}{more * (len(contradicted) > _MOST_NAMED)}"
                f". Read them: a {found_by} found them."
            )


def _paid(scored: ScoredItems, cost: CostOfCalls) -> str:
    if not cost.calls and not scored.judge.asks_model:
        return "The cost of a custom judge is unknown."
    calls = counted(cost.calls, "call")
    return f"{calls} cost {cost.paid}. Calls of earlier runs are included."


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
