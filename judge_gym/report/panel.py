"""A panel's run as Markdown: the consensus, the scores side by side, and each rater's words."""

from collections.abc import Iterator

from judge_gym.formats import number, plain
from judge_gym.panel.state import SPARED, Agreement, PanelState, RaterState
from judge_gym.report.escaping import escaped
from judge_gym.report.in_short import MEANS
from judge_gym.report.table import markdown_table, plain_table


def panel_markdown(state: PanelState) -> str:
    """Return what is known of a run; all words of raters and arbiter are escaped."""
    return "\n\n".join(_parts(state))


def _parts(state: PanelState) -> Iterator[str]:
    yield f"# Panel {escaped(state.panel)} on {escaped(state.document)}"
    if state.simulated:
        yield f"**SIMULATED**: {MEANS['SIMULATED']}"
    if state.was_truncated:
        yield f"The document was longer; raters saw its first {len(state.items)} items."
    yield from _consensus(state)
    if state.reviewed:
        yield "## Scores"
        yield _scores(state)
    for rater in state.raters:
        yield f"## {escaped(rater.name)}: {escaped(rater.label)}"
        yield "\n".join(_rater(rater))


def _consensus(state: PanelState) -> Iterator[str]:
    verdict = state.consensus.verdict
    if verdict is not None:
        yield f"## Consensus: {verdict.final_score}, from {state.lowest} to {state.highest}"
        if verdict.raw_score != verdict.final_score:
            yield (
                f"The arbiter said {verdict.raw_score}, which no rater's score allows; it is held "
                "to the nearest of theirs."
            )
        yield escaped(verdict.rationale)
    if state.error is not None:
        yield f"**No consensus**: {escaped(state.error)}."
    if state.agreement is not None:
        yield f"Agreement: {agreement_said(state.agreement)}."


def agreement_said(agreement: Agreement) -> str:
    """Return "strong (mean 4.3, median 4, spread 1)"."""
    return (
        f"{agreement.level} (mean {plain(agreement.mean)}, median {plain(agreement.median)}, "
        f"spread {agreement.spread})"
    )


def _scores(state: PanelState) -> str:
    reviews = [rater.review for rater in state.raters if rater.review]
    levels = {item.id: agreement_said(item) for item in state.item_agreement}
    rows = [
        (name, *(review.items[place].score for review in reviews), levels.get(name, ""))
        for place, name in enumerate(state.items)
    ]
    level = agreement_said(state.agreement) if state.agreement else ""
    rows.append(("the whole", *(review.overall_score for review in reviews), level))
    names = [rater.name for rater in state.reviewed]
    return markdown_table(plain_table("", ("item", *names, "agreement"), rows, words=1))


def _rater(rater: RaterState) -> Iterator[str]:
    took = "" if rater.latency_ms is None else f" after {number(rater.latency_ms / 1000, 1)} s"
    kept = ", kept from an earlier run" if rater.kept else ""
    status = SPARED if rater.status == "spared" else rater.status
    yield f"- {escaped(rater.model)}: {status}{took}{kept}"
    if rater.error is not None:
        yield f"- {escaped(rater.error)}"
    if rater.review is not None:
        yield f"- The whole, {rater.review.overall_score}: {escaped(rater.review.overall_comment)}"
        for item in rater.review.items:
            yield f"- {escaped(item.id)}, {item.score}: {escaped(item.comment)}"
