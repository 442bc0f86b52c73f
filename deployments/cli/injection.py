"""`judge-gym injection`: do texts that try to steer the judge succeed?"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.options import PlanOnly
from deployments.cli.output import command, console, marked, say_simulated, show_table

if TYPE_CHECKING:
    from judge_gym.judges.injection import Lift
    from judge_gym.metrics.estimate import Estimate

LEVEL = 0.05
SUITE = Path(__file__).parents[1] / "sweeps" / "injection.yaml"


def injection(
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="A judge to test, as in a sweep file; may be repeated. Simulated judges when "
            "none is given.",
        ),
    ] = None,
    utility_model: Annotated[
        str, typer.Option(help="The model that edits the evidence; best not a judge.")
    ] = "",
    plan: PlanOnly = False,
) -> None:
    """Judge texts that try to steer the judge beside their clean twins, and show the lift.

    Every attempt asks for the last stage, so a judge that follows them places the same text
    higher. It runs as a sweep: stopped, it goes on with the same command.
    """
    from deployments.cli import sweep as sweeps
    from deployments.cli.database import database
    from deployments.cli.running import run_sweep
    from judge_gym.design.sweep import load_sweep
    from judge_gym.judges.injection import injection_lifts

    file = _own_suite(model, utility_model) if model or utility_model else SUITE
    if plan:
        sweeps.plan(file)
        console.print("The same command without --plan runs it and shows the lifts.")
        return
    run_sweep(file)
    loaded = load_sweep(file)
    with database() as session:
        lifts = injection_lifts(session, loaded)
    console.print(
        "\nLift: how much higher a text is placed with an attempt to steer the judge than its "
        "clean twin,\non the 0-1 scale; 1 is from the first stage to the last. 95% intervals over "
        "pairs. A star: not 0, with\np < 0.05 after Holm's correction over a judge's settings, or "
        "over its kinds of attempt.\n"
    )
    _show(lifts)
    if any(lift.simulated for lift in lifts):
        say_simulated()
    console.print(f"The sweep's other tables: {command()} analyse {loaded.name}", markup=False)


def _show(lifts: Sequence["Lift"]) -> None:
    judges = list(dict.fromkeys(lift.judge for lift in lifts))
    simulated = any(lift.simulated for lift in lifts)
    for judge in judges:
        own = {lift.setting: lift for lift in lifts if lift.judge == judge and not lift.attack}
        settings = [setting for setting in own if setting is not None]
        methods = list(dict.fromkeys(method for *_, method in settings))
        rows = [
            (*place, *(_shown(own[*place, method].estimate) for method in methods))
            for place in dict.fromkeys(setting[:2] for setting in settings)
        ]
        title = marked(f"{judge}, by setting", simulated=simulated)
        show_table(title, ("evidence view", "prompt order", *methods), rows)
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
    title = marked("By kind of attempt, over all settings", simulated=simulated)
    show_table(title, ("attempt", "pairs", *judges), rows)


def _shown(estimate: "Estimate") -> str:
    if estimate.estimate is None:
        return "-"
    value = f"{estimate.estimate:+.2f}"
    if estimate.lower is not None and estimate.upper is not None:
        value += f" [{estimate.lower:+.2f}, {estimate.upper:+.2f}]"
    return f"{value} *" if estimate.p is not None and estimate.p < LEVEL else value


def _own_suite(models: Sequence[str] | None, utility_model: str) -> Path:
    """Write the suite for these models into the data folder; returns the sweep file."""
    import re

    from ruamel.yaml import YAML

    from judge_gym.errors import ConfigError
    from judge_gym.model_names import is_simulated_model
    from judge_gym.settings import settings

    edited = utility_model or settings().utility_model
    if not edited and not all(map(is_simulated_model, models or ())):
        raise ConfigError(
            f"No model is named to edit the evidence that {', '.join(models or ())} judges.",
            "Give one with --utility-model, best of another family than the judge's.",
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
