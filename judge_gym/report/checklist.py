"""The methods paragraph of a report and its reporting checklist, filled from the ledger."""

from collections.abc import Iterator, Sequence

from judge_gym.counting import counted
from judge_gym.design.plans import PlanState
from judge_gym.formats import ABSENT
from judge_gym.report.facts import Facts
from judge_gym.report.table import Row, Table
from judge_gym.report.trust import (
    ABSTAINED,
    DETECTABLE,
    INDEPENDENT,
    READABLE,
    Tile,
    answered_by,
)
from judge_gym.store.results import FindingRow

_UNKNOWN = "not recorded"


def methods_paragraph(facts: Facts, concepts: Sequence[str]) -> str:
    """Return how the study was done, in sentences that a paper can take over."""
    return " ".join(_sentences(facts, concepts))


def _sentences(facts: Facts, concepts: Sequence[str]) -> Iterator[str]:
    known = _provenance(facts)
    judges = f"{counted(len(facts.judges), 'judge')} ({', '.join(facts.judges)})"
    on = f" on {', '.join(concepts)}" if concepts else ""
    yield f"{judges} gave {known.get('judgements', _UNKNOWN)} judgements{on}."
    if facts.windows.rows:
        documents = sum(int(row.cells[-1]) for row in facts.windows.rows)
        windows = counted(len(facts.windows.rows), "window")
        yield f"They read {counted(documents, 'document')} of {windows}."
    if replicates := _column(facts.experiments, "replicates"):
        times = "once" if set(replicates) == {"1"} else f"{_range(replicates)} times"
        yield f"Each item was judged {times} in each cell."
    if "calls made" in known:
        yield (
            f"LLM calls: {known['LLM calls']}, from {known['calls made']}; cost {known['cost']}."
        )
    yield (
        "Figures have 95% intervals with items as the unit, or questions where several items "
        "answer one. A claim is decided by its interval against a margin, and the p-value "
        "corrected for many tests has to agree."
    )
    yield f"Analysis plan: {_plan(facts)}."
    yield f"Analysed with judge-gym {facts.run.version}."


def checklist(
    facts: Facts, concepts: Sequence[str], trust: Sequence[Tile], findings: Sequence[FindingRow]
) -> Table:
    """Return what a study with LLM judges should report, each with this study's own value."""
    known = _provenance(facts)
    tiles = {tile.label: f"{tile.value} {tile.says}" for tile in trust}
    settings = sorted({text for text in _column(facts.experiments, "setting") if text})
    truths = [finding for finding in findings if finding.hypothesis.startswith("V") and finding.n]
    rows = (
        ("Question and concepts", ", ".join((facts.description.rstrip("."), *concepts))),
        ("Judges, by provider and model", ", ".join(facts.judges)),
        ("Models that answered", answered_by(facts.served)),
        ("When", known.get("judged", known.get("brought in", ""))),
        ("Prompts, by template and digest", known.get("prompts", "")),
        (
            "Settings other than the defaults",
            "; ".join(settings) or ("none" if facts.experiments.rows else ""),
        ),
        ("Replicates for each item", _range(_column(facts.experiments, "replicates"))),
        ("Evidence and its source", _evidence(facts)),
        ("Documents left out, with reasons", facts.dropped or "none"),
        ("Answers that could be read", tiles.get(READABLE, "")),
        ("Abstentions", tiles.get(ABSTAINED, "")),
        ("Validity checks", f"{counted(len(truths), 'figure')}" if truths else ""),
        ("Independence of judges (effective votes)", tiles.get(INDEPENDENT, "")),
        (f"Precision: {DETECTABLE.lower()}", tiles.get(DETECTABLE, "")),
        ("Plan before the first judgement", _plan(facts)),
        ("Plan frozen before the first judgement", known.get("frozen plan", "")),
        ("Correction for many tests", "Holm within confirmatory families, else Benjamini-Hochberg"),
        ("Calls and cost", ", ".join(filter(None, map(known.get, ("LLM calls", "cost"))))),
        (
            "Data and code",
            f"digest {known.get('data digest', _UNKNOWN)}; judge-gym {facts.run.version}",
        ),
    )
    return Table(
        "Reporting checklist",
        "What a reader needs in order to judge and repeat the study, from its own records.",
        ("what", "in this study"),
        tuple(Row((what, value.strip(" ,") or _UNKNOWN)) for what, value in rows),
        words=2,
        simulated=facts.provenance.simulated,
        imported=facts.provenance.imported,
    )


def _plan(facts: Facts) -> str:
    """Return the plan with what its outcomes are by it, and why.

    A sweep that shares experiments with an earlier one may have a plan that is later than these.
    """
    plan = _provenance(facts).get("analysis plan", _UNKNOWN)
    if facts.run.plan_state in ("", PlanState.NO_PLAN):
        return plan
    return f"{plan} ({facts.run.standing})"


def _provenance(facts: Facts) -> dict[str, str]:
    return {row.cells[0]: row.cells[1] for row in facts.provenance.rows}


def _column(table: Table, name: str) -> list[str]:
    if name not in table.columns:
        return []
    place = table.columns.index(name)
    return [row.cells[place] for row in table.rows]


def _range(texts: Sequence[str]) -> str:
    numbers = sorted(map(int, texts))
    if not numbers:
        return ABSENT
    low, high = numbers[0], numbers[-1]
    return str(low) if low == high else f"{low} to {high}"


def _evidence(facts: Facts) -> str:
    columns = ("window", "dates", "source")
    rows = zip(*(_column(facts.windows, name) for name in columns), strict=True)
    return "; ".join(f"{window} ({source}, {dates})" for window, dates, source in rows)
