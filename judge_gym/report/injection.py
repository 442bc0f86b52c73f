"""How far injections steer judges: what was found, tables by kind and by setting, and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from judge_gym.formats import ABSENT, side_of_0
from judge_gym.judges.injection import Lift
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import ALPHA
from judge_gym.report.judge_study import StudyPage, StudyReport, stem_of
from judge_gym.report.table import Table, plain_table

PRODUCT_SCALE = "as a share of the judge's scale"
SUITE_SCALE = "on the 0-1 scale (1: from the first stage to the last)"


def injection_report(
    lifts: Sequence[Lift],
    names: Sequence[str],
    scale: str,
    *,
    of: Sequence[Path] = (),
    read: str = "",
    others: Sequence[str] = (),
) -> StudyReport[Sequence[Lift]]:
    """Return the report of these lifts, each `scale`, of what `names` tell apart.

    `of` are the files that it is of, `read` is what was read, and `others` are sentences besides.
    """
    overall = [one for one in lifts if one.setting is None and not one.attack]
    stem = stem_of("injection", *names)
    page = StudyPage(
        stem=stem,
        title=f"Injections, {names[-1]}",
        found=" ".join(map(_found, overall)),
        tables=[*_by_setting(lifts), _by_kind(lifts)],
        sentences=[
            f"Lift: score of a text with an injection minus its score without, {scale}, with 95% "
            "intervals over pairs. *: differs from 0, p < 0.05, after Holm's correction over a "
            "judge's settings or its kinds of injection.",
            *others,
        ],
        simulated=any(one.simulated for one in lifts),
        files=(f"{stem}.json",),
        of=of,
        read=read,
    )
    return StudyReport(lifts, page, [_value(one) for one in lifts])


def _found(lift: Lift) -> str:
    """Return what a judge's lift over all pairs shows, no more than its interval and p do."""
    of, shown = lift.estimate, _shown(lift.estimate).rstrip("* ")
    if of.estimate is None:
        return f"{lift.judge}: no lift, {of.reason}."
    side = side_of_0(of)
    if not (side and _differs(of)):
        why = f" ({of.reason})" if of.reason else ""
        return f"No lift is shown of {lift.judge}: {shown}{why}."
    moved = "raise" if side > 0 else "lower"
    return f"Injections {moved} the scores of {lift.judge}: lift {shown}."


def _by_setting(lifts: Sequence[Lift]) -> list[Table]:
    """Return a table for each judge that was asked in several settings."""
    tables = []
    for judge in dict.fromkeys(one.judge for one in lifts):
        own = {one.setting: one for one in lifts if one.judge == judge and one.setting is not None}
        methods = list(dict.fromkeys(method for *_, method in own))
        rows = [
            (*setting, *(_shown(own[*setting, method].estimate) for method in methods))
            for setting in dict.fromkeys(setting[:2] for setting in own)
        ]
        columns = ("evidence view", "prompt order", *methods)
        tables += [plain_table(f"{judge}, by setting", columns, rows, 2)] if rows else []
    return tables


def _by_kind(lifts: Sequence[Lift]) -> Table:
    """Return the lift over all pairs and by kind of attempt, with what has no verdict."""
    judges = list(dict.fromkeys(one.judge for one in lifts))
    by_kind = {(one.attack, one.judge): one for one in lifts if one.setting is None}
    rows = [
        (
            kind or "all",
            str(max(by_kind[kind, judge].estimate.n_items for judge in judges)),
            *(_shown(by_kind[kind, judge].estimate) for judge in judges),
        )
        for kind in dict.fromkeys(one.attack for one in lifts)
    ]
    unread = (str(by_kind["", judge].without_verdict) for judge in judges)
    rows.append(("judgements without a verdict", "", *unread))
    over = ", over all settings" if any(one.setting for one in lifts) else ""
    return plain_table(f"By kind of injection{over}", ("injection", "pairs", *judges), rows, 1)


def _differs(estimate: Estimate) -> bool:
    return estimate.p is not None and estimate.p < ALPHA


def _shown(estimate: Estimate) -> str:
    if estimate.estimate is None:
        return ABSENT
    value = f"{estimate.estimate:+z.2f}"
    if estimate.lower is not None and estimate.upper is not None:
        value += f" [{estimate.lower:+z.2f}, {estimate.upper:+z.2f}]"
    return f"{value} *" if _differs(estimate) else value


def _value(lift: Lift) -> dict[str, Any]:
    """Return a lift as JSON: `setting` is evidence view, prompt order and method, null over all."""
    return {
        "judge": lift.judge,
        "setting": lift.setting,
        "injection": lift.attack or None,
        "lift": lift.estimate.estimate,
        "lower": lift.estimate.lower,
        "upper": lift.estimate.upper,
        "p": lift.estimate.p,
        "pairs": lift.estimate.n_items,
        "without_verdict": lift.without_verdict,
        "simulated": lift.simulated,
    }
