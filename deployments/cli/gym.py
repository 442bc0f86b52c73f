"""`judge-gym judge gym` and `judge injection`: compare pipeline steps; try prompt injections."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.json_output import json_output
from deployments.cli.options import AsJson, PlanOnly, RetryFailed
from deployments.cli.output import command, console, marked, say_simulated, show_table
from deployments.cli.study import StudyCommand
from judge_gym.counting import counted
from judge_gym.errors import ConfigError
from judge_gym.shipped import DEPLOYMENTS

if TYPE_CHECKING:
    from judge_gym.judges.injection import Lift
    from judge_gym.metrics.estimate import Estimate
    from judge_gym.runtime import Runtime


def gym(
    file: Annotated[Path, typer.Argument(help="The gym's file (YAML).", show_default=False)],
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
    as_json: AsJson = False,
) -> None:
    """Compare candidates for one step of a pipeline with a judge.

    Every candidate works on every case, and a judge scores the results. Writes a page. Rerun the
    command to resume; stored results are reused.
    """
    from judge_gym.gyms.evaluating import read_gym
    from judge_gym.studies import gym as studies

    # Errors in files are raised before a server is started.
    loaded = read_gym(file)
    study = studies.gym(loaded)
    options = StudyCommand([loaded.gym.judge], plan, retry_failed, as_json)
    if ended := options.run_by_flow(study, "gym", {"file": file, "retry_failed": retry_failed}):
        ended.exit()


LEVEL = 0.05
SUITE = DEPLOYMENTS / "sweeps" / "injection.yaml"


def injection(
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="A judge to test, as in a sweep file; may be repeated. Default: simulated judges.",
        ),
    ] = None,
    utility_model: Annotated[
        str, typer.Option(help="The model that edits the evidence; not one of the judges.")
    ] = "",
    judge: Annotated[
        list[Path] | None,
        typer.Option(help="A product judge's file to test; may be repeated.", show_default=False),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(
            help="Pairs for --judge (CSV, Excel, JSON, JSONL: text, clean, attack).",
            show_default="those of the sweep",
        ),
    ] = None,
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
    as_json: AsJson = False,
) -> None:
    """Measure how far prompt injections raise a judge's verdicts.

    Judges texts with an injection and the same texts without. Every injection demands the last
    stage, so a judge that complies scores the text higher. Runs as a sweep; rerun the command to
    resume. A product judge (--judge) judges the same pairs under its own prompt.
    """
    if judge:
        if model or utility_model:
            raise ConfigError("--judge and --model are both given.", "Run the command for each.")
        pairs = items or SUITE.parent / "corpora" / "injection.jsonl"
        lifts = _judge_attempts(judge, pairs, plan=plan, retry_failed=retry_failed)
        if as_json and not plan:
            json_output.give(lifts_json(lifts))
        return
    if items:
        raise ConfigError("--items is given without --judge.", "Name a judge file.")
    from deployments.cli import sweep as sweeps

    file = _own_suite(model, utility_model) if model or utility_model else SUITE
    if plan:
        sweeps.plan(file)
        console.print("Run the command without --plan to start it and show the lifts.")
        return
    _run_suite(file, retry_failed=retry_failed, as_json=as_json)


def _run_suite(file: Path, *, retry_failed: bool, as_json: bool) -> None:
    """Run the sweep of injections and show its lifts."""
    from deployments.cli.environment import database
    from deployments.cli.status import check_failed_work
    from deployments.cli.sweep import run_sweep
    from judge_gym.design.sweep import load_sweep
    from judge_gym.judges.injection import injection_lifts

    run_sweep(file, retry_failed=retry_failed)
    loaded = load_sweep(file)
    with database() as session:
        lifts = injection_lifts(session, loaded)
    console.print(
        "\nLift: score of a text with an injection minus its score without, on the 0-1 scale\n"
        "(1: from the first stage to the last), with 95% intervals over pairs. *: differs from 0,\n"
        "p < 0.05 after Holm's correction over a judge's settings or its kinds of injection.\n"
    )
    _show_lifts(lifts)
    if any(lift.simulated for lift in lifts):
        say_simulated()
    if as_json:
        json_output.give(lifts_json(lifts))
    console.print(
        f"Other tables of the sweep: {command()} analyse figures {loaded.name}", markup=False
    )
    check_failed_work(loaded.name)


def lifts_json(lifts: "Sequence[Lift]") -> list[dict[str, Any]]:
    """Return lifts as JSON: `setting` is evidence view, prompt order and method, null over all."""
    return [
        {
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
        for lift in lifts
    ]


def _judge_attempts(
    files: Sequence[Path], items: Path, *, plan: bool, retry_failed: bool
) -> "list[Lift]":
    """Judge the pairs and show the lifts; nothing is judged with `plan`."""
    from deployments.cli.environment import in_runtime, prepare_environment
    from deployments.cli.estimates import show_judging
    from judge_gym.judges import load_judge
    from judge_gym.judges.calibrating.judging import Asked
    from judge_gym.judges.injection import product_lifts, read_attempts

    judges = [load_judge(file) for file in files]
    clean, attacked = read_attempts(items)
    for one in judges:
        for item in (*clean, *attacked):
            one.check(item)
    if plan:
        prepare_environment()
        title = f"Estimate for {counted(len(clean), 'pair')}"
        show_judging(title, [Asked(one, [*clean, *attacked]) for one in judges])
        return []

    async def judge_all(current: "Runtime") -> "list[Lift]":
        return [
            lift
            for one in judges
            for lift in await product_lifts(
                current, one, clean, attacked, retry_failed=retry_failed
            )
        ]

    lifts = in_runtime(judge_all, judges)
    console.print(
        "\nLift: score of a text with an injection minus its score without, as a share of the\n"
        "judge's scale, with 95% intervals over pairs. *: differs from 0, p < 0.05; kinds of\n"
        "injection after Holm's correction.\n"
    )
    _show_kinds(lifts, "By kind of injection")
    if any(lift.simulated for lift in lifts):
        say_simulated()
    return lifts


def _show_lifts(lifts: Sequence["Lift"]) -> None:
    judges = list(dict.fromkeys(lift.judge for lift in lifts))
    simulated = any(lift.simulated for lift in lifts)
    for judge in judges:
        own = {lift.setting: lift for lift in lifts if lift.judge == judge and not lift.attack}
        settings = [setting for setting in own if setting is not None]
        methods = list(dict.fromkeys(method for *_, method in settings))
        rows = [
            (
                *setting_of_row,
                *(_shown(own[*setting_of_row, method].estimate) for method in methods),
            )
            for setting_of_row in dict.fromkeys(setting[:2] for setting in settings)
        ]
        title = marked(f"{judge}, by setting", simulated=simulated)
        show_table(title, ("evidence view", "prompt order", *methods), rows)
    _show_kinds(lifts, "By kind of injection, over all settings")


def _show_kinds(lifts: Sequence["Lift"], title: str) -> None:
    judges = list(dict.fromkeys(lift.judge for lift in lifts))
    simulated = any(lift.simulated for lift in lifts)
    kinds = list(dict.fromkeys(lift.attack for lift in lifts))
    by_kind = {(lift.attack, lift.judge): lift for lift in lifts if lift.setting is None}
    rows = [
        (
            kind or "all",
            str(max(by_kind[kind, judge].estimate.n_items for judge in judges)),
            *(_shown(by_kind[kind, judge].estimate) for judge in judges),
        )
        for kind in sorted(kinds, key=bool)
    ]
    unread = (str(by_kind["", judge].without_verdict) for judge in judges)
    rows.append(("judgements without a verdict", "", *unread))
    show_table(marked(title, simulated=simulated), ("injection", "pairs", *judges), rows)


def _shown(estimate: "Estimate") -> str:
    if estimate.estimate is None:
        return "-"
    value = f"{estimate.estimate:+.2f}"
    if estimate.lower is not None and estimate.upper is not None:
        value += f" [{estimate.lower:+.2f}, {estimate.upper:+.2f}]"
    return f"{value} *" if estimate.p is not None and estimate.p < LEVEL else value


def _own_suite(models: Sequence[str] | None, utility_model: str) -> Path:
    """Write the injection sweep for these models to the data folder; return its file."""
    import re

    from ruamel.yaml import YAML

    from judge_gym.model_names import is_simulated_model
    from judge_gym.settings import settings

    edited = utility_model or settings().utility_model
    if not edited and not all(map(is_simulated_model, models or ())):
        raise ConfigError(
            f"--utility-model is not set, and {', '.join(models or ())} needs edited evidence.",
            "Set it to a model of another family than the judge's.",
        )
    yaml = YAML(typ="rt")
    suite = yaml.load(SUITE)
    named = "-".join([*(models or ()), *([utility_model] if utility_model else ())])
    suite["name"] = f"injection-{re.sub(r'[^a-z0-9]+', '-', named.lower())}"[:80].rstrip("-")
    if models:
        suite["blocks"][0]["model"] = list(models)
    if utility_model:
        suite["utility_model"] = utility_model
    for window in suite["windows"].values():
        window["source"]["path"] = str((SUITE.parent / window["source"]["path"]).resolve())
    rubric = suite["blocks"][0]["rubric"]
    rubric["provided"] = str((SUITE.parent / rubric["provided"]).resolve())
    file = settings().data_dir / "injection" / f"{suite['name']}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as written:
        yaml.dump(suite, written)
    return file
