"""`judge-gym sweep power`: what a sweep would find, before anything is spent on it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.options import AsJson
from deployments.cli.output import console, show_table

if TYPE_CHECKING:
    from judge_gym.lab.power.comparisons import Comparison
    from judge_gym.lab.power.study import Answer, Power, Question, Setting
    from judge_gym.planted.truths import StudyDesign

    Row = tuple[Comparison, Question, Setting, Answer]

EFFECTS = (0.05, 0.1, 0.2)
WANTED = "80%"


def power(
    file: Annotated[Path, typer.Argument(help="The sweep file (YAML).", show_default=False)],
    effect: Annotated[
        list[float] | None,
        typer.Option(
            help="How far beyond its margin the true value lies, in its unit; repeat for more. "
            f"[default: {', '.join(map(str, EFFECTS))}]",
            show_default=False,
            min=0.001,
            max=1.0,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Simulated data sets of each.", min=20)] = 100,
    alpha: Annotated[
        float, typer.Option(help="The level; primary outcomes share it.", min=0.0001, max=0.5)
    ] = 0.05,
    noise: Annotated[
        float,
        typer.Option(help="How far a judge's readings scatter, on the 0-1 scale.", min=0.01, max=1),
    ] = 0.1,
    as_json: AsJson = False,
) -> None:
    """Estimate the statistical power of a sweep before spending.

    By simulation, with the estimators and margins of its analysis: the primary outcomes of the
    sweep's plan, or H1 to H3 without one.
    """
    from functools import partial

    from deployments.cli.simulating import on_every_core
    from judge_gym.design.sweep import load_sweep
    from judge_gym.lab.power.comparisons import comparisons, not_simulated

    sweep = load_sweep(file)
    found = comparisons(sweep)
    asked = list(
        dict.fromkeys(
            (one, *_asked(one, found, size, alpha, noise))
            for one in found
            for size in sorted(effect or EFFECTS)
        )
    )
    tasks = list(dict.fromkeys((question, setting) for _, question, setting in asked))
    answers = dict(
        zip(tasks, on_every_core(partial(_answer, seeds), tasks, "Simulating"), strict=True)
    )
    rows = [
        (one, question, setting, answers[question, setting]) for one, question, setting in asked
    ]
    if as_json:
        console.print_json(json.dumps([_told(row, seeds) for row in rows]))
        return
    _show(rows)
    _explain(seeds, noise, not_simulated(sweep))


def _asked(
    one: "Comparison", found: Sequence["Comparison"], size: float, alpha: float, noise: float
) -> tuple["Question", "Setting"]:
    from judge_gym.lab.power.comparisons import level
    from judge_gym.lab.power.study import Question, Setting
    from judge_gym.metrics.margins import Claim, Direction

    direction = one.hypothesis.direction
    value = one.margin + (size if direction is Direction.ABOVE else -size)
    if one.hypothesis.metric == "polarization_excess":
        value = max(0.0, value)  # judges cannot differ less than not at all
    claim = Claim(direction, one.margin)
    return (
        Question(one.hypothesis.key, claim, round(value, 9), level(found, one, alpha)),
        Setting(one.design, one.families, noise),
    )


def _answer(seeds: int, task: tuple["Question", "Setting"]) -> "Answer":
    from judge_gym.lab.power.study import answer

    return answer(*task, range(seeds))


def _show(rows: Sequence["Row"]) -> None:
    """Print a table of each comparison, one for several that are alike."""
    alike: dict[object, list[Row]] = {}
    for row in rows:
        one, question, setting, _ = row
        key = question.hypothesis, question.claim, question.level, setting, one.calls(1, 1)
        alike.setdefault(key, []).append(row)
    for members in alike.values():
        one, question, setting, _ = members[0]
        design = setting.design
        about = "; ".join(dict.fromkeys(row[0].about for row in members))
        kind = "primary" if one.primary else "not primary"
        title = (
            f"{question.hypothesis}, {about}: {design.items} items x {design.replicates} replicates"
            f" of {one.who}, {_calls(one, design)} calls; level {question.level:.2g}, {kind}"
        )
        found = f"found in ({question.claim.direction} {one.margin:g})"
        twice = f"or with {2 * design.replicates} replicates"
        columns = ("true value", found, f"{WANTED} needs", "calls", twice, "calls")
        table = {
            question.value: (
                f"{question.value:.3g}",
                _share(answer.now),
                *_needs(one, answer.fewest),
                *_needs(one, answer.fewest_doubled),
            )
            for one, question, _, answer in members
        }
        show_table(title, columns, table.values())
        for sentence in (_sentence(members[0], about), _decision(members[0])):
            if sentence:
                console.print(sentence, markup=False)
        console.print()


def _explain(seeds: int, noise: float, untold: Sequence[str]) -> None:
    console.print(
        f"Each share is of {seeds} simulated data sets, in brackets its 95% interval; a number of "
        f"items is good to that error. The judges are simulated: readings of items spread evenly "
        f"over 0.15 to 0.85, with logistic noise of scale {noise:g} (--noise). Real judges scatter "
        "otherwise, and differ by item. Calls are those of the comparison with its probes and "
        "views; rubrics come on top.",
        markup=False,
    )
    if untold:
        console.print(f"Not simulated: {', '.join(untold)}.", markup=False)


def _sentence(row: "Row", about: str) -> str:
    """Return what to buy for the smallest true value, in words, or why that is not known."""
    one, question, setting, answer = row
    design = setting.design
    if answer.now.rate.share is None:
        return f"{question.hypothesis}, {about}: {answer.now.reason}."
    told = (
        f"With {design.items} items and {design.replicates} replicates a true value of "
        f"{question.value:.3g} is found in {answer.now.rate.share:.0%} of runs"
    )
    options = [found.design for found in (answer.fewest, answer.fewest_doubled) if found]
    if not options:
        return f"{told}; no number of items up to 1,000 finds it in {WANTED}."
    ways = " or ".join(
        f"{option.items} items of {option.replicates} ({_calls(one, option)} calls)"
        for option in options
    )
    cheapest = min(options, key=lambda option: one.calls(option.items, option.replicates))
    buys = "items" if cheapest.replicates == design.replicates else "replicates"
    advice = f"; more {buys} cost less" if len(options) > 1 else ""
    return f"{told}; {WANTED} needs {ways}{advice}."


def _decision(row: "Row") -> str:
    """Return what the decision study says of one comparison; empty without components."""
    from judge_gym.lab.power.comparisons import CALLS_A_JUDGEMENT
    from judge_gym.lab.power.study import Costs, decision_study

    one, _, setting, answer = row
    if answer.components is None:
        return ""
    costs = Costs(one.item_calls, CALLS_A_JUDGEMENT)
    now = [setting.design.items], [setting.design.replicates]
    advice = decision_study(answer.components, costs, one.judgements, *now).advice
    return f"For the difference of two judges' mean scores: {advice}."


def _calls(one: "Comparison", design: "StudyDesign") -> str:
    return f"{one.calls(design.items, design.replicates):,}"


def _share(found: "Power") -> str:
    if found.rate.share is None:
        return "—"
    low, high = found.rate.interval
    return f"{found.rate.share:.0%} ({low:.0%} to {high:.0%})"


def _needs(one: "Comparison", found: "Power | None") -> tuple[str, str]:
    if found is None:
        return "—", "—"
    return f"{found.design.items} items", _calls(one, found.design)


def _told(row: "Row", seeds: int) -> dict[str, object]:
    one, question, setting, answer = row

    def told(found: "Power | None") -> dict[str, object] | None:
        if found is None:
            return None
        items, replicates = found.design.items, found.design.replicates
        return {
            "items": items,
            "replicates": replicates,
            "calls": one.calls(items, replicates),
            "power": found.rate.share,
            "power_interval": found.rate.interval,
            "reason": found.reason,
        }

    return {
        "hypothesis": one.hypothesis.key,
        "scope": dict(one.scope),
        "primary": one.primary,
        "margin": one.margin,
        "true_value": question.value,
        "level": question.level,
        "noise": setting.noise,
        "seeds": seeds,
        "now": told(answer.now),
        "fewest_items": told(answer.fewest),
        "fewest_items_doubled_replicates": told(answer.fewest_doubled),
    }
