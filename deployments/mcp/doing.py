"""Tools that write or spend; each runs a command as a process."""

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal

from deployments.mcp.answers import (
    as_tool,
    below_here,
    bounded,
    evidence_below_here,
    file_of,
    slug,
    sweep_of,
)
from judge_gym.counting import counted
from judge_gym.design.names import Part, Workflow
from judge_gym.design.plans import Budget
from judge_gym.errors import ConfigError, JudgeGymError

LONGEST_S = 600.0
LAST_LINES = 40
_PROGRAM = (sys.executable, "-c", "from deployments.cli.app import main; main()")


class CommandError(JudgeGymError):
    """A command failed; the message is its error output."""


@as_tool
def define(kind: Literal["sweep", "judge"], definition: dict[str, Any]) -> dict[str, Any]:
    """Check a sweep or a judge given as JSON and store it as a file; returns its path and name.

    The keys are those of a sweep file or a judge file, and so are the errors. Relative paths start
    from the server's folder, where the file is written. An equal definition is the same file. Pass
    the path of a sweep to `plan_sweep` and `run_sweep`, that of a judge to `plan_judge` and
    `run_judge`.
    """
    from judge_gym.design.config import given_tree
    from judge_gym.design.sweep import given_sweep
    from judge_gym.judges.files import judge_in
    from judge_gym.seeds import canonical_json, digest

    read: Any
    if kind == "sweep":
        read = given_sweep(definition)
        evidence_below_here(read)
    else:
        read = judge_in(given_tree(definition))
    path = below_here(f"{kind}-{slug(read.name)}-{digest(canonical_json(definition))[:8]}.yaml")
    # JSON is YAML; other files that end in .json are read as items.
    path.write_text(json.dumps(definition, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return {"file": path.name, "kind": kind, "name": read.name}


@as_tool
def audit(
    files: list[str] | None = None,
    rows: list[dict[str, Any]] | None = None,
    mapping: str | dict[str, Any] | None = None,
    judges: str = "",
    people: str = "",
    truth: str = "",
) -> dict[str, Any]:
    """Audit judgements recorded elsewhere: by path below the server's folder, or `rows` as JSON.

    Files are logs of Inspect, results of promptfoo, annotations of AlpacaEval, CSV, Excel, JSONL or
    JSON. `mapping` says what columns mean, as a path or as JSON with the keys of a mapping file;
    without one the format does, or the names of columns: `notes` has what each was taken for. Of a
    table with a column for each judge, `judges`, `people` and `truth` name columns ("a,b"). Makes
    no calls; writes a report, and rows and mappings given as JSON as files.
    """
    from judge_gym.seeds import canonical_json, digest

    if bool(files) == bool(rows):
        raise ConfigError("Give either files or rows.", "files is a list of paths.")
    paths = [below_here(file) for file in files] if files else [file_of("rows", rows or [])]
    words = ["audit", "--json"]
    if isinstance(mapping, dict):
        file = below_here(f"mapping-{digest(canonical_json(mapping))[:8]}.yaml")
        file.write_text(json.dumps(mapping, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        words += ["--mapping", str(file)]
    elif mapping:
        words += ["--mapping", str(below_here(mapping))]
    else:
        words += ["--yes"]
    for option, value in (("--judges", judges), ("--people", people), ("--truth", truth)):
        words += [option, value] if value else []
    return _result_of(*words, "--", *map(str, paths))


@as_tool
def create_windows(file: str) -> dict[str, Any]:
    """Store the windows of a sweep file without collecting them."""
    sweep_of(file)
    return _result_of("evidence", "create", "--json", "--", str(below_here(file)))


@as_tool
def create_experiments(file: str) -> dict[str, Any]:
    """Store the experiments of a sweep file and return their tags. Makes no calls."""
    sweep_of(file)
    return _result_of("sweep", "create", "--json", "--", str(below_here(file)))


@as_tool
def analyse(sweep: str) -> dict[str, Any]:
    """Compute a sweep's figures again and write its report. Makes no calls."""
    return _result_of("analyse", "figures", "--json", "--", sweep)


@as_tool
def export(sweep: str, folder: str) -> dict[str, Any]:
    """Export a sweep with all it needs to a new folder, as CSV and Parquet."""
    to = str(below_here(folder))
    return _result_of("data", "export", "--json", "--to", to, "--", sweep)


@as_tool
def retry(
    sweep: str,
    workflow: Workflow | None = None,
    failure: str | None = None,
    confirm: bool = False,
) -> dict[str, Any]:
    """Mark failed calls so that the next run makes, and pays for, them again.

    `sweep` may also be an experiment's tag or number. Without `confirm`, only returns what it
    would do.
    """
    return _confirmed("retry", sweep, workflow, failure, confirm=confirm)


@as_tool
def cancel(sweep: str, workflow: Workflow | None = None, confirm: bool = False) -> dict[str, Any]:
    """Cancel flow runs of deployments, batches, and calls without an answer.

    `sweep` may also be an experiment's tag or number. Without `confirm`, only returns what it
    would do.
    """
    return _confirmed("cancel", sweep, workflow, None, confirm=confirm)


def run_sweep(
    file: str, only: list[Part] | None = None, confirm_calls: int | None = None
) -> dict[str, Any]:
    """Start or resume a sweep, or `only` some parts, and return at once; follow it with `status`.

    Real models cost money: the file needs a budget with max_cost_usd or max_calls, or
    `confirm_calls` the number of calls that a person agreed to, at least `to_do` of `plan_sweep`.
    """
    return _started_sweep(file, only, confirm_calls)


def run_judge(
    judge: str,
    items: str | list[dict[str, Any]],
    repeats: int = 1,
    confirm_calls: int | None = None,
) -> dict[str, Any]:
    """Judge items and return at once; follow it with `list_runs`. Items are a file (JSONL, CSV,
    Excel) or rows as JSON, which are written beside it.

    What is stored is not judged again; the view `judge_results` has the results. Models cost money
    as with `run_sweep`: each needs a budget in its judge file, or `confirm_calls` the calls that a
    person agreed to, at least `to_do` of `plan_judge`.
    """
    return _started_judge(judge, items, repeats, confirm_calls)


def list_runs() -> list[dict[str, Any]]:
    """List the runs that this server started, with their state and last output."""
    return [run.described() for run in _runs]


ADDING = (define, audit, create_windows, create_experiments, analyse, export)
SPENDING = (run_sweep, run_judge)
CHANGING = (retry, cancel)


@dataclass
class _DetachedRun:
    """A run in its own process, which outlives the server."""

    file: Path
    process: "subprocess.Popen[bytes]"
    log: Path

    def described(self) -> dict[str, Any]:
        code = self.process.poll()
        lines = self.log.read_text(errors="replace").splitlines()
        return {
            "file": str(self.file),
            "process": self.process.pid,
            "log": str(self.log),
            "state": "running" if code is None else f"ended with code {code}",
            "said": bounded("\n".join(lines[-LAST_LINES:])),
        }


_runs: list[_DetachedRun] = []
_own_judges = False


def permit_own_judges(*, permitted: bool) -> None:
    """Let `run_judge` run judges that are functions or addresses, or refuse them."""
    global _own_judges
    _own_judges = permitted


@as_tool
def _started_sweep(file: str, only: list[Part] | None, confirm_calls: int | None) -> dict[str, Any]:
    path = below_here(file)
    _check_sweep(path, confirm_calls)
    parts = [word for part in only or () for word in ("--only", part)]
    return _started(path, "sweep", "run", *parts, "--", str(path))


@as_tool
def _started_judge(
    judge: str, items: str | list[dict[str, Any]], repeats: int, confirm_calls: int | None
) -> dict[str, Any]:
    path, judged = below_here(judge), file_of("items", items)
    _check_judge(path, judged, repeats, confirm_calls)
    given = ("--items", str(judged), "--repeats", str(repeats))
    return _started(path, "judge", "score", *given, "--", str(path))


def _started(file: Path, *words: str) -> dict[str, Any]:
    log = _new_log(file.stem)
    with log.open("wb") as output:
        process = _start(output, *words)
    _runs.append(_DetachedRun(file, process, log))
    return _runs[-1].described()


def _check_sweep(file: Path, confirm_calls: int | None) -> None:
    """Raise `ConfigError` when a sweep could spend without a bound that a person has set."""
    from deployments.mcp.reading import plan_sweep
    from judge_gym.lab.sweeps import providers_of
    from judge_gym.model_names import is_simulated_provider
    from judge_gym.settings import settings

    sweep = sweep_of(str(file))
    asked = providers_of(settings(), sweep)
    if all(is_simulated_provider(provider.name) for provider in asked):
        return
    if not _bounds(sweep.budget):
        _check_confirmed(file, plan_sweep(str(file))["to_do"], confirm_calls)


def _check_judge(file: Path, items: Path, repeats: int, confirm_calls: int | None) -> None:
    """Raise `ConfigError` when a judge could spend without a bound that a person has set.

    Or when it is a function or an address: an agent that follows a text's instructions could
    have any code run, and any variable, such as an API key, sent anywhere.
    """
    from deployments.mcp.reading import plan_judge
    from judge_gym.judges import ModelJudge, load_judge
    from judge_gym.judges.own_judges import OwnJudge
    from judge_gym.model_names import is_simulated_model

    leaves = load_judge(file).leaves
    own = [leaf.answered_by for leaf in leaves if isinstance(leaf, OwnJudge)]
    if own and not _own_judges:
        raise ConfigError(
            f"{file} runs code or sends texts and a key elsewhere: {', '.join(own)}.",
            "Have a person read it, and start the server with `judge-gym mcp --own-judges`.",
        )
    unbounded = [
        leaf
        for leaf in leaves
        if not (isinstance(leaf, ModelJudge) and _bounds(leaf.budget))
        and not all(map(is_simulated_model, leaf.answerers))
    ]
    if unbounded:
        _check_confirmed(file, plan_judge(str(file), str(items), repeats)["to_do"], confirm_calls)


def _bounds(budget: Budget | None) -> bool:
    return bool(budget and (budget.max_cost_usd or budget.max_calls))


def _check_confirmed(file: Path, to_do: int, confirm_calls: int | None) -> None:
    if confirm_calls is None or confirm_calls < to_do:
        raise ConfigError(
            f"{file} makes up to {counted(to_do, 'call')} to real models and has no budget.",
            "Add budget: {max_cost_usd: ...} to the file, or ask a person and pass "
            f"confirm_calls={to_do}.",
        )


def _new_log(name: str) -> Path:
    from judge_gym.settings import settings

    folder = settings().data_dir / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.log"


def _start(output: IO[bytes], *words: str) -> "subprocess.Popen[bytes]":
    # A new session: the run continues when the server or its parent is killed.
    return subprocess.Popen(
        [*_PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _confirmed(
    verb: str, sweep: str, workflow: str | None, failure: str | None, *, confirm: bool
) -> dict[str, Any]:
    words = ["sweep", verb, "--json"]
    words += ["--workflow", workflow] if workflow else []
    words += ["--failure", failure] if failure else []
    words += ["--yes"] if confirm else []
    return _result_of(*words, "--", sweep)


def _result_of(*words: str) -> dict[str, Any]:
    ended = _run_command(*words)
    found = json.loads(ended.stdout) if ended.stdout else {}
    if ended.returncode:
        error = found.get("error", {})
        raise CommandError(
            error.get("message") or ended.stderr.strip() or f"Exit code {ended.returncode}.",
            error.get("remedy", ""),
        )
    result: dict[str, Any] = bounded(found)
    return result


def _run_command(*words: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            [*_PROGRAM, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
        )
    except subprocess.TimeoutExpired:
        typed = shlex.join(["judge-gym", *words])
        raise CommandError(
            f"{typed} took longer than {LONGEST_S:.0f} s and was stopped.",
            f"Run it in a terminal: {typed}",
        ) from None
