"""`judge-gym analyse selftest`: the estimators on truths that are known."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.options import AsJson
from deployments.cli.output import console, show_table

if TYPE_CHECKING:
    from judge_gym.lab.power.selftest import Summary, Trial
    from judge_gym.lab.power.study import Rate

SEEDS_A_TASK = 10
_COLUMNS = (
    "figure", "truth", "planted", "mean found", "coverage", "false positives", "power", "misses",
)  # fmt: skip


def selftest(
    seeds: Annotated[int, typer.Option(help="Data sets of each truth.", min=20)] = 200,
    items: Annotated[int, typer.Option(help="Items of each data set.", min=4, max=1000)] = 30,
    replicates: Annotated[int, typer.Option(help="Replicates of each item.", min=5, max=50)] = 5,
    truth: Annotated[
        list[str] | None, typer.Option(help="Only this truth; repeat for more.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test the estimators on simulated data with known truths.

    Coverage of the 95% intervals should be 93 to 97% at 30 items, false positives at most 6%.
    Exit code 1 says that a figure misses an aim by more than the error of the simulation.
    """
    from functools import partial

    from deployments.cli.simulating import on_every_core
    from judge_gym.lab.power.selftest import summarise
    from judge_gym.planted.truths import StudyDesign

    design, chosen = StudyDesign(items, replicates), _chosen(truth)
    tasks = [
        (name, range(first, min(seeds, first + SEEDS_A_TASK)))
        for name in chosen
        for first in range(0, seeds, SEEDS_A_TASK)
    ]
    done = on_every_core(partial(_trials, design), tasks, "Simulating")
    found = summarise(trial for trials in done for trial in trials)
    missed = [one for one in found if _misses(one)]
    if as_json:
        console.print_json(json.dumps([_told(one) for one in found]))
    else:
        _show(found, seeds, items, replicates)
        _explain(found, missed)
    sys.exit(1 if missed else 0)


def _chosen(names: "Sequence[str] | None") -> list[str]:
    from judge_gym.errors import ConfigError
    from judge_gym.planted.truths import TRUTHS

    known = [one.name for one in TRUTHS]
    for name in names or ():
        if name not in known:
            raise ConfigError(f"There is no truth {name!r}.", f"Use {', '.join(known)}.")
    return list(dict.fromkeys(names or known))


def _trials(design: object, task: tuple[str, range]) -> "list[Trial]":
    from judge_gym.lab.power.selftest import selftest as trials
    from judge_gym.planted.truths import TRUTHS, StudyDesign

    assert isinstance(design, StudyDesign)
    (truth,) = (one for one in TRUTHS if one.name == task[0])
    return [trial for seed in task[1] for trial in trials(truth, design, seed)]


def _misses(one: "Summary") -> str:
    """Return which aims are surely missed, "" for none."""
    from judge_gym.lab.power.selftest import NOMINAL

    said = []
    if one.misses_coverage:
        said.append(
            "covers too little" if one.coverage.interval[1] < NOMINAL[0] else "covers too much"
        )
    if one.rejects_too_often:
        said.append("false positives")
    return ", ".join(said)


def _show(found: "Sequence[Summary]", seeds: int, items: int, replicates: int) -> None:
    rows = [
        (
            one.metric,
            one.truth,
            "—" if one.planted is None else f"{one.planted:.3f}",
            "—" if one.mean is None else f"{one.mean:.3f}",
            _share(one.coverage),
            _share(one.rejected) if one.null else "",
            _share(one.rejected) if one.null is False else "",
            _misses(one),
        )
        for one in sorted(found, key=lambda one: one.metric)
        if one.coverage.of or one.rejected.of
    ]
    title = f"Self-test: {seeds} data sets a truth, {items} items x {replicates} replicates"
    show_table(title, _COLUMNS, rows)


def _explain(found: "Sequence[Summary]", missed: "Sequence[Summary]") -> None:
    from judge_gym.lab.power.selftest import KNOWN_MISSES, MOST_FALSE, NOMINAL, NOT_PLANTED
    from judge_gym.planted.truths import TRUTHS

    covered = [one for one in found if one.coverage.of]
    true_nulls = [one for one in found if one.null and one.rejected.of]
    console.print(
        f"{len(covered)} intervals: 95% ones should hold the planted value in "
        f"{NOMINAL[0]:.0%} to {NOMINAL[1]:.0%} of data sets. {len(true_nulls)} tests of nothing: "
        f"at most {MOST_FALSE:.0%} should find something. In brackets the 95% interval of a share; "
        "an aim is missed when all of it lies on the wrong side.",
        markup=False,
    )
    for truth in TRUTHS:
        console.print(f"  {truth.name}: {truth.about}", markup=False)
    console.print(f"Not in it: {NOT_PLANTED}.", markup=False)
    if not missed:
        console.print("No aim is missed.")
        return
    console.print(f"Missed: {len(missed)}.")
    for one in missed:
        console.print(f"  {one.metric}, {one.truth}: {_misses(one)}", markup=False)
    for metric in dict.fromkeys(one.metric for one in missed):
        if metric in KNOWN_MISSES:
            console.print(f"Why {metric}: {KNOWN_MISSES[metric]}", markup=False)


def _share(rate: "Rate") -> str:
    if rate.share is None:
        return "—"
    low, high = rate.interval
    return f"{rate.share:.1%} ({low:.0%} to {high:.0%})"


def _told(one: "Summary") -> dict[str, object]:
    def told(rate: "Rate") -> dict[str, object]:
        return {"count": rate.count, "of": rate.of, "share": rate.share, "interval": rate.interval}

    return {
        "figure": one.metric,
        "truth": one.truth,
        "planted": one.planted,
        "null": one.null,
        "mean": one.mean,
        "missing": one.missing,
        "coverage": told(one.coverage),
        "rejected": told(one.rejected),
        "misses": _misses(one),
    }
