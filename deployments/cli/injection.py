"""`judge-gym judge injection`: try prompt injections on a judge."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.options import AsJson, PlanOnly, RetryFailed
from deployments.cli.output import command, console
from deployments.cli.study import EndedStudy, StudyCommand
from judge_gym.errors import ConfigError
from judge_gym.shipped import DEPLOYMENTS

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
        from judge_gym.studies import injection as studies

        pairs = items or SUITE.parent / "corpora" / "injection.jsonl"
        options = StudyCommand(judge, plan, retry_failed, as_json)
        if ended := options.run(studies.injection(judge, pairs)):
            ended.exit()
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
    from judge_gym.report.injection import SUITE_SCALE, injection_report
    from judge_gym.settings import settings

    run_sweep(file, retry_failed=retry_failed)
    loaded = load_sweep(file)
    with database() as session:
        lifts = injection_lifts(session, loaded)
    others = f"Other tables of the sweep: {command()} analyse figures {loaded.name}"
    report = injection_report(lifts, [loaded.name], SUITE_SCALE, others=[others])
    options = StudyCommand([], plan=False, retry_failed=retry_failed, as_json=as_json)
    ended = EndedStudy(report, report.save(settings().reports_dir).path, None, options)
    ended.show()
    ended.exit()
    check_failed_work(loaded.name)


def _own_suite(models: Sequence[str] | None, utility_model: str) -> Path:
    """Write the injection sweep for these models to the data folder; return its file."""
    import re

    from ruamel.yaml import YAML

    from judge_gym.llm.providers import load_providers
    from judge_gym.model_names import is_simulated_model
    from judge_gym.seeds import digest
    from judge_gym.settings import settings

    providers = load_providers(settings().providers_file)
    for model in (*(models or ()), *filter(None, [utility_model])):
        providers.of(model)
    edited = utility_model or settings().utility_model
    if not edited and not all(map(is_simulated_model, models or ())):
        raise ConfigError(
            f"--utility-model is not set, and {', '.join(models or ())} needs edited evidence.",
            "Set it to a model of another family than the judge's.",
        )
    yaml = YAML(typ="rt")
    suite = yaml.load(SUITE)
    named = "-".join([*(models or ()), *([utility_model] if utility_model else ())])
    name = f"injection-{re.sub(r'[^a-z0-9]+', '-', named.lower())}".rstrip("-")
    # A long one ends in its digest, so that what tells the models apart is not cut off.
    suite["name"] = name if len(name) <= 80 else f"{name[:73]}-{digest(named)[:6]}"
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
