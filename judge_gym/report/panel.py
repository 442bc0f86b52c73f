"""A panel's run as Markdown: the consensus, the scores side by side, and each rater's words."""

from collections.abc import Iterator

from judge_gym.panel.state import SPARED, Agreement, PanelState, RaterState
from judge_gym.report.in_short import MEANS
from judge_gym.report.markdown import escaped


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
        yield "\n".join(_scores(state))
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
        f"{agreement.level} (mean {agreement.mean:g}, median {agreement.median:g}, "
        f"spread {agreement.spread})"
    )


def _scores(state: PanelState) -> Iterator[str]:
    reviews = [rater.review for rater in state.raters if rater.review]
    names = [escaped(rater.name) for rater in state.reviewed]
    yield f"| item | {' | '.join(names)} | agreement |"
    yield f"|---|{'---:|' * len(names)}---|"
    levels = {item.id: agreement_said(item) for item in state.item_agreement}
    for place, name in enumerate(state.items):
        scores = " | ".join(str(review.items[place].score) for review in reviews)
        yield f"| {escaped(name)} | {scores} | {levels.get(name, '')} |"
    overall = " | ".join(str(review.overall_score) for review in reviews)
    level = agreement_said(state.agreement) if state.agreement else ""
    yield f"| **the whole** | {overall} | {level} |"


def _rater(rater: RaterState) -> Iterator[str]:
    took = "" if rater.latency_ms is None else f" after {rater.latency_ms / 1000:.1f} s"
    kept = ", kept from an earlier run" if rater.kept else ""
    status = SPARED if rater.status == "spared" else rater.status
    yield f"- {escaped(rater.model)}: {status}{took}{kept}"
    if rater.error is not None:
        yield f"- {escaped(rater.error)}"
    if rater.review is not None:
        yield f"- The whole, {rater.review.overall_score}: {escaped(rater.review.overall_comment)}"
        for item in rater.review.items:
            yield f"- {escaped(item.id)}, {item.score}: {escaped(item.comment)}"
