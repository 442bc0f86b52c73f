"""`judge-gym sweep power`: how often a sweep would support a claim that is true."""

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.progress import Progress

from deployments.cli.json_output import json_output
from deployments.cli.options import AsJson, SweepFile
from deployments.cli.output import console, errors, show_table
from judge_gym.counting import counted

if TYPE_CHECKING:
    from judge_gym.design.sweep import Sweep
    from judge_gym.lab.power.comparisons import PlannedComparison, PrimaryFamily
    from judge_gym.lab.power.contrasts import ContrastPower
    from judge_gym.lab.power.study import Power, PowerAnswer, PowerQuestion, Setting
    from judge_gym.planted.truths import StudyDesign

    Row = tuple[PlannedComparison, PowerQuestion, Setting, PowerAnswer]

Task = TypeVar("Task")
Result = TypeVar("Result")
EFFECTS = (0.05, 0.1, 0.2)
ALPHA, NOISE, FACET_SD = 0.05, 0.1, 0.1
Seeds = Annotated[
    int, typer.Option(help="Simulated data sets per true value, 20 at least.", min=20)
]
FacetSd = Annotated[
    float,
    typer.Option(
        help="Standard deviation of a figure between wordings or rubric draws, in its unit.",
        min=0.0,
        max=1.0,
    ),
]
WANTED = "80%"


def power(
    file: SweepFile,
    effect: Annotated[
        list[float] | None,
        typer.Option(
            help="Distance of the true value beyond its margin; may be repeated. "
            f"[default: {', '.join(map(str, EFFECTS))}]",
            show_default=False,
            min=0.001,
            max=1.0,
        ),
    ] = None,
    seeds: Seeds = 100,
    alpha: Annotated[
        float,
        typer.Option(
            help="Significance level, shared by the primary outcomes.", min=0.0001, max=0.5
        ),
    ] = ALPHA,
    noise: Annotated[
        float,
        typer.Option(
            help="Scale of the judges' logistic noise, on the 0-1 scale.", min=0.01, max=1
        ),
    ] = NOISE,
    facet_sd: FacetSd = FACET_SD,
    as_json: AsJson = False,
) -> None:
    """Estimate the statistical power of a sweep before spending.

    Simulates the primary outcomes of the sweep's plan, or H1 to H3 without one, with the
    estimators and margins of its analysis.
    """
    from judge_gym.design.sweep import load_sweep

    sweep = load_sweep(file)  # a mistake in it is found before what takes long to import
    from judge_gym.lab.power.comparisons import (
        not_simulated,
        replicate_warnings,
        rubric_warnings,
    )
    from judge_gym.lab.power.contrasts import contrast_powers

    rows = simulated_power(sweep, effect or EFFECTS, seeds, alpha, noise, facet_sd)
    contrasts = contrast_powers(sweep)
    if as_json:
        json_output.give([*(power_row(row, seeds) for row in rows), *map(asdict, contrasts)])
        return
    for warning in (*replicate_warnings(sweep), *rubric_warnings(sweep)):
        console.warn(f"{warning}\n")
    show_contrast_power(contrasts)
    if rows:
        _show_power(rows)
        _explain_power(rows, seeds, not_simulated(sweep))


def simulated_power(
    sweep: "Sweep",
    effects: Sequence[float],
    seeds: int,
    alpha: float,
    noise: float,
    facet_sd: float,
) -> list["Row"]:
    """Return the power of a sweep's comparisons at each effect.

    Raises `ConfigError` when the power of none of them can be simulated.
    """
    from judge_gym.lab.power.comparisons import comparisons, primary_family

    compared, family = comparisons(sweep), primary_family(sweep)
    questions = list(
        dict.fromkeys(
            (comparison, *_question(comparison, family, size, alpha, noise, facet_sd))
            for comparison in compared
            for size in sorted(effects)
        )
    )
    tasks = list(dict.fromkeys((question, setting) for _, question, setting in questions))
    answers = dict(
        zip(tasks, on_every_core(partial(_answer, seeds), tasks, "Simulating"), strict=True)
    )
    return [
        (comparison, question, setting, answers[question, setting])
        for comparison, question, setting in questions
    ]


def _question(
    comparison: "PlannedComparison",
    family: "PrimaryFamily",
    size: float,
    alpha: float,
    noise: float,
    facet_sd: float,
) -> tuple["PowerQuestion", "Setting"]:
    from judge_gym.lab.power.study import PowerQuestion, Setting
    from judge_gym.metrics.margins import Direction, MarginClaim

    direction = comparison.hypothesis.direction
    value = comparison.margin + (size if direction is Direction.ABOVE else -size)
    if comparison.hypothesis.metric == "polarization_excess":
        value = max(0.0, value)  # a difference cannot be negative
    claim = MarginClaim(direction, comparison.margin)
    levels = tuple(size for _, size in comparison.facets)
    return (
        PowerQuestion(
            comparison.hypothesis.key,
            claim,
            round(value, 9),
            family.level(comparison, alpha),
        ),
        Setting(comparison.design, comparison.families, noise, levels, facet_sd if levels else 0.0),
    )


def _answer(seeds: int, task: tuple["PowerQuestion", "Setting"]) -> "PowerAnswer":
    from judge_gym.lab.power.study import answer

    return answer(*task, range(seeds))


def show_contrast_power(contrasts: Sequence["ContrastPower"]) -> None:
    """Print what the planned contrasts would find; nothing without any."""
    if not contrasts:
        return
    show_table(
        f"Planned contrasts: the true change that {WANTED} of such runs find",
        ("contrast", "change", "judges", "claim", "items x replicates", "found from", "SD"),
        [
            (
                one.hypothesis,
                f"{one.axis}: {' → '.join(one.levels)}{one.scale}",
                counted(len(one.judges), "judge"),
                f"{one.direction} {one.margin:g} {one.unit}",
                f"{one.items}{' (assumed)' if one.items_assumed else ''} x {one.replicates}",
                f"{one.detectable:.2g}" if one.detectable is not None else "—",
                f"{one.item_sd:.2g}{'' if one.item_sd_assumed else ' (given)'}"
                if one.item_sd is not None
                else "—",
            )
            for one in contrasts
        ],
    )
    for one in contrasts:
        if one.reason:
            console.print(f"{one.hypothesis}: {one.reason}.", markup=False)
        if one.shortfall:
            console.warn(one.shortfall)
    console.print(
        "By the paired t interval over items that decides each claim, after Holm over "
        f"{contrasts[0].corrected_over}. "
        "Of a claim within a margin it is the least margin that is shown where nothing moves. SD: "
        "standard deviation over items of a judge's change. It is an assumption; after a pilot, "
        "give your own as item_sd.",
        markup=False,
    )


def _show_power(rows: Sequence["Row"]) -> None:
    """Print a table of each comparison; comparisons with the same settings share one."""
    from judge_gym.lab.power.comparisons import IN_WORDS, UNITS

    alike: dict[object, list[Row]] = {}
    for row in rows:
        comparison, question, setting, _ = row
        key = question.hypothesis, question.claim, question.level, setting, comparison.calls(1, 1)
        alike.setdefault(key, []).append(row)
    for members in alike.values():
        comparison, question, setting, _ = members[0]
        design = setting.design
        about = "; ".join(dict.fromkeys(row[0].about for row in members))
        kind = "primary" if comparison.primary else "not primary"
        title = (
            f"{IN_WORDS[question.hypothesis]} ({question.hypothesis}), {about}: "
            f"{_items(comparison, design)} x {counted(design.replicates, 'replicate')}"
            f" of {comparison.who}{_over(comparison)} on {design.n_stages} stages, "
            f"{_calls(comparison, design)} calls; "
            f"level {question.level:.2g}, {kind}"
        )
        detected = f"found in ({question.claim.direction} {comparison.margin:g})"
        twice = f"or with {2 * design.replicates} replicates"
        columns = (
            f"true value, {UNITS[question.hypothesis]}",
            detected,
            f"{WANTED} needs",
            "calls",
            twice,
            "calls",
        )
        table = {
            question.value: (
                f"{question.value:.3g}",
                _power_share(answer.now),
                *_needs(comparison, answer.fewest),
                *_needs(comparison, answer.fewest_doubled),
            )
            for comparison, question, _, answer in members
        }
        show_table(title, columns, table.values())
        for sentence in (_sentence(members[0], about), _decision(members[0])):
            if sentence:
                console.print(sentence, markup=False)
        console.print()


def _explain_power(rows: Sequence["Row"], seeds: int, not_simulated: Sequence[str]) -> None:
    from judge_gym.lab.power.study import sd_between_levels

    noise = rows[0][2].noise
    console.print(
        f"Each share is of {seeds} simulated data sets, with its 95% interval; numbers of items "
        "have the same error. Simulated judges read items spread evenly over 0.15 to 0.85, with "
        f"logistic noise of scale {noise:g} (--noise). The noise of real judges differs, also by "
        "item. Calls include probes and views, but no rubrics.",
        markup=False,
    )
    between = [
        (question.hypothesis, sd_between_levels(question.hypothesis, setting))
        for _, question, setting, _ in rows
        if setting.levels
    ]
    pooled = {sd for _, sd in between if sd is not None}
    together = {hypothesis for hypothesis, sd in between if sd is None}
    if together:
        console.print(
            f"Polarization ({', '.join(sorted(together))}) takes the samples of all wordings and "
            "rubric draws together, as replicates of one cell; its interval is over items.",
            markup=False,
        )
    for sd in pooled:
        console.print(
            f"{'Any other' if together else 'A'} claim over several wordings or rubric draws is "
            "decided once, over all of them, by its total error. Assumed: its figure has a "
            f"standard deviation of {sd:g} between them (--facet-sd). A report shows what it is: "
            "with figures for each level of the facet, and with the interval over items only "
            "beside the whole one.",
            markup=False,
        )
    if not_simulated:
        console.print(f"Not simulated: {', '.join(not_simulated)}.", markup=False)


def _sentence(row: "Row", about: str) -> str:
    """Return the design that the smallest true value needs, or why it is unknown."""
    from judge_gym.lab.power.comparisons import UNITS

    comparison, question, setting, answer = row
    design = setting.design
    if answer.now.rate.share is None:
        return f"{question.hypothesis}, {about}: {answer.now.reason}."
    replicates = counted(design.replicates, "replicate")
    power_now = (
        f"With {_items(comparison, design)} and {replicates} a true value of {question.value:.3g} "
        f"({UNITS[question.hypothesis]}) is found in "
        f"{answer.now.rate.share:.0%} of runs"
    )
    options = [power.design for power in (answer.fewest, answer.fewest_doubled) if power]
    if not options:
        more = f", and more than {comparison.over} might" if comparison.facets else ""
        return f"{power_now}; no number of items up to 1,000 finds it in {WANTED}{more}."
    ways = " or ".join(
        f"{option.items} items of {option.replicates} ({_calls(comparison, option)} calls)"
        for option in options
    )
    cheapest = min(options, key=lambda option: comparison.calls(option.items, option.replicates))
    buys = "items" if cheapest.replicates == design.replicates else "replicates"
    advice = f"; more {buys} cost less" if len(options) > 1 else ""
    return f"{power_now}; {WANTED} needs {ways}{advice}."


def _decision(row: "Row") -> str:
    """Return the advice of the decision study; empty without variance components."""
    from judge_gym.lab.power.comparisons import CALLS_A_JUDGEMENT
    from judge_gym.lab.power.study import Costs, design_advice

    comparison, _, setting, answer = row
    if answer.components is None:
        return ""
    costs = Costs(comparison.item_calls, CALLS_A_JUDGEMENT)
    now = setting.design.items, setting.design.replicates
    advice = design_advice(answer.components, costs, comparison.judgements, *now)
    return f"For the difference of two judges' mean scores: {advice}."


def _items(comparison: "PlannedComparison", design: "StudyDesign") -> str:
    assumed = " (assumed: max_documents)" if comparison.items_assumed else ""
    return f"{counted(design.items, 'item')}{assumed}"


def _over(comparison: "PlannedComparison") -> str:
    return f" over {comparison.over}" if comparison.facets else ""


def _calls(comparison: "PlannedComparison", design: "StudyDesign") -> str:
    return f"{comparison.calls(design.items, design.replicates):,}"


def _power_share(power: "Power") -> str:
    if power.rate.share is None:
        return "—"
    low, high = power.rate.interval
    return f"{power.rate.share:.0%} ({low:.0%} to {high:.0%})"


def _needs(comparison: "PlannedComparison", power: "Power | None") -> tuple[str, str]:
    if power is None:
        return "—", "—"
    return counted(power.design.items, "item"), _calls(comparison, power.design)


def power_row(row: "Row", seeds: int) -> dict[str, object]:
    """Return a row of the power table as data."""
    from judge_gym.lab.power.study import sd_between_levels

    comparison, question, setting, answer = row

    def values(power: "Power | None") -> dict[str, object] | None:
        if power is None:
            return None
        items, replicates = power.design.items, power.design.replicates
        return {
            "items": items,
            "replicates": replicates,
            "calls": comparison.calls(items, replicates),
            "power": power.rate.share,
            "power_interval": power.rate.interval,
            "reason": power.reason,
        }

    return {
        "hypothesis": comparison.hypothesis.key,
        "scope": dict(comparison.scope),
        "primary": comparison.primary,
        "margin": comparison.margin,
        "items_assumed": comparison.items_assumed,
        "true_value": question.value,
        "level": question.level,
        "noise": setting.noise,
        "facets": dict(comparison.facets),
        "facet_sd": sd_between_levels(question.hypothesis, setting),
        "seeds": seeds,
        "now": values(answer.now),
        "fewest_items": values(answer.fewest),
        "fewest_items_doubled_replicates": values(answer.fewest_doubled),
    }


def on_every_core(
    work: Callable[[Task], Result], tasks: Sequence[Task], title: str
) -> list[Result]:
    """Return the result of each task, in order; `work` and the tasks must be picklable."""
    if not tasks:
        return []
    with (
        Progress(console=errors, transient=True) as progress,
        ProcessPoolExecutor(initializer=_leave_interrupts_to_the_parent) as pool,
    ):
        bar = progress.add_task(title, total=len(tasks))
        futures = [pool.submit(work, task) for task in tasks]
        try:
            for future in as_completed(futures):
                future.result()
                progress.advance(bar)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
