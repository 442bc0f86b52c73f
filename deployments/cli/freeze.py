"""`judge-gym sweep freeze`: fix what a sweep will ask and decide, before it is run."""

import os
import shlex
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from deployments.cli.environment import database
from deployments.cli.options import SweepFile
from deployments.cli.output import command, console
from deployments.cli.power import (
    ALPHA,
    EFFECTS,
    FACET_SD,
    NOISE,
    FacetSd,
    Seeds,
    power_row,
    simulated_power,
)
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.shipped import documented

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.orm import Session

    from judge_gym.design.frozen import FrozenPlan
    from judge_gym.design.sweep import Sweep

EXCLUSIONS = (
    "Documents that the windows drop: outside the dates, duplicates, too short, or beyond the "
    "limit. Each is stored with its reason.",
    "Abstentions are counted apart and are no scores.",
    "Unparseable, refused and failed judgements are counted apart and are no scores.",
    "Judges are compared on the items that all of them scored.",
    "Experiments whose model does not apply a value of an axis are left out of contrasts on it.",
)
RULE = (
    "Judging ends when each judge has judged each item in all replicates, or when a limit of the "
    "budget is reached. No judgement is added or left out because of a figure."
)


def freeze(
    file: SweepFile,
    seeds: Seeds = 100,
    facet_sd: FacetSd = FACET_SD,
) -> None:
    """Freeze the plan of a sweep before its first judgement.

    Writes a dated plan with a digest beside the sweep file: design, estimands, margins, exclusions,
    stopping rule and power.
    """
    from judge_gym.design.sweep import load_sweep

    sweep = load_sweep(file)
    if sweep.plan is None:
        raise ConfigError(
            f"{file} has no plan: what would be frozen is no claim, margin or primary outcome.",
            "Write a plan file and add `plan: FILE` to the sweep; "
            f"{documented('how-to/preregister.md')} shows one.",
        )
    from judge_gym.design.frozen import RESTORE, Registration, changes, frozen_file, load_frozen
    from judge_gym.design.plan_scopes import check_primary_scopes
    from judge_gym.lab.freezing import design_of
    from judge_gym.lab.sweeps import recipes_of
    from judge_gym.settings import settings

    check_primary_scopes(sweep)
    not_applied = _not_applied(sweep)
    target = frozen_file(file)
    design = design_of(sweep, recipes_of(settings(), sweep, list(sweep.experiments())))
    if target.exists():
        plan = load_frozen(target)
        if changed := list(changes(plan.design, design)):
            broken = Registration("", plan.frozen_at, plan.frozen_at, changed=tuple(changed))
            raise ConfigError(
                broken.note(),
                f"{RESTORE} Or delete {target} and freeze again; the new plan has the date of "
                "today.",
            )
        console.print(f"Frozen already, and the sweep is unchanged: {target}", markup=False)
    else:
        plan = _frozen(sweep, design, seeds, facet_sd)
        _write_new(target, plan.text())
    _show(plan, target, file, [*not_applied, *_risks(sweep)])


def _not_applied(sweep: "Sweep") -> list[str]:
    """Return which values of axes models will not apply, where the sweep marks them.

    Raises `ConfigError` where a run would: a plan that cannot be run is not frozen.
    """
    from judge_gym.design.strategies.sampling import AXES
    from judge_gym.lab.sweeps import providers_of, unapplied
    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings

    providers_of(settings(), sweep)
    providers = load_providers(settings().providers_file)
    lost = unapplied(providers, settings(), sweep, list(sweep.experiments()))
    return [str(one) for one in lost if one.axis in AXES]


def _frozen(sweep: "Sweep", design: dict[str, object], seeds: int, facet_sd: float) -> "FrozenPlan":
    from judge_gym.design.frozen import FrozenPlan
    from judge_gym.lab.freezing import estimands
    from judge_gym.store.experiments import judgements_of_points

    assert sweep.plan is not None
    with database() as session:
        points = [experiment.key for experiment in sweep.experiments()]
        before = judgements_of_points(session, points)
    return FrozenPlan(
        sweep=sweep.name,
        frozen_at=datetime.now(UTC).replace(microsecond=0),
        judge_gym=version("judge-gym"),
        judgements_before=before,
        design=design,
        estimands=tuple(estimands(sweep.plan)),
        exclusions=EXCLUSIONS,
        stopping=tuple(_stopping(sweep)),
        power=tuple(_power(sweep, seeds, facet_sd)),
    ).sealed()


def _stopping(sweep: "Sweep") -> "Iterator[str]":
    yield RULE
    limits = sweep.budget.model_dump(exclude_none=True) if sweep.budget else {}
    yield from (f"{name}: {value:g}" for name, value in limits.items())
    if not limits:
        yield "There is no budget."


def _power(sweep: "Sweep", seeds: int, facet_sd: float) -> list[dict[str, object]]:
    from judge_gym.lab.power.contrasts import contrast_powers

    try:
        rows = simulated_power(sweep, EFFECTS, seeds, ALPHA, NOISE, facet_sd)
    except ConfigError as error:
        return [{"reason": f"{error.message} {error.remedy}".replace(f"{sweep.path}: ", "")}]
    return [*(power_row(row, seeds) for row in rows), *map(asdict, contrast_powers(sweep))]


def _write_new(target: Path, text: str) -> None:
    """Put the file in place whole; raises `JudgeGymError` if it exists or cannot be written."""
    try:
        descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                out.write(text)
            Path(draft).chmod(0o644)
            os.link(draft, target)  # fails if another process has frozen the sweep meanwhile
        finally:
            Path(draft).unlink()
    except OSError as error:
        raise JudgeGymError(
            f"{target} cannot be written: {error.strerror}.", "Let your user write to its folder."
        ) from error


def _risks(sweep: "Sweep") -> list[str]:
    """Return why primary outcomes of the plan may not be testable as the sweep is designed."""
    from judge_gym.lab.power.comparisons import outcomes_without_figure, replicate_warnings
    from judge_gym.lab.power.contrasts import contrast_powers

    short = [one.shortfall for one in contrast_powers(sweep) if one.shortfall]
    return [*outcomes_without_figure(sweep), *replicate_warnings(sweep), *short]


def _show(plan: "FrozenPlan", target: Path, file: Path, risks: "Sequence[str]") -> None:
    primary = sum(len(one["primary"]) for one in plan.estimands if one["confirmatory"])
    planned = f"{counted(primary, 'primary outcome')}; every other figure is exploratory"
    console.plain(f"Frozen plan  {target}")
    console.plain(f"Date         {plan.frozen_at:%Y-%m-%d %H:%M:%S} UTC")
    console.plain(f"SHA-256      {plan.sha256}")
    console.plain(f"Planned      {planned}")
    for warning in (*risks, *_warnings(plan)):
        console.warn(warning, soft_wrap=True)
    console.plain("Put the digest where its date can be checked: a commit, a registry, an email.")
    console.plain(f"Next: {command()} sweep run {shlex.quote(str(file))}")


def _warnings(plan: "FrozenPlan") -> "Iterator[str]":
    for row in plan.power:
        if row.get("reason"):
            yield f"power is not estimated: {row['reason']}"
    if plan.judgements_before:
        judgements = counted(plan.judgements_before, "judgement")
        exist = "exists" if plan.judgements_before == 1 else "exist"
        yield (
            f"{judgements} {exist} already, so reports will call no outcome planned. "
            "Freeze before the first judgement."
        )


def frozen_notes(session: "Session", sweep: "Sweep") -> list[str]:
    """Return why the frozen plan of a sweep does not hold, in sentences; empty when it does."""
    from judge_gym.design.frozen import RESTORE
    from judge_gym.lab.freezing import registration
    from judge_gym.lab.sweeps import recipes_of
    from judge_gym.settings import settings

    frozen = registration(session, sweep, recipes_of(settings(), sweep, list(sweep.experiments())))
    if frozen is None or not frozen.changed:
        return []
    return [f"{frozen.note()} {RESTORE}"]
