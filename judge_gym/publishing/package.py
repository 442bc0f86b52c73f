"""Publishing a sweep as a replication package.

The package is read from an imported copy of its own bundle: what its pages show is in the bundle,
and figures that cannot be recomputed from it are not published.
"""

import csv
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from judge_gym.analysis.running import run_in_force
from judge_gym.counting import counted
from judge_gym.design.config import corpus_digest
from judge_gym.design.sweep_files import EVIDENCE, evidence_name
from judge_gym.errors import ConfigError, StoreError, masked
from judge_gym.formats import cell
from judge_gym.publishing.manifest import PackageManifest, files_in, is_package
from judge_gym.publishing.origins import (
    LOCK,
    environment,
    requirements,
    used_templates,
    written,
)
from judge_gym.publishing.replicating import (
    BUNDLE,
    FIGURES,
    FINDINGS,
    Difference,
    by_key,
    clean_place,
    figure_rows,
    finding_rows,
    recomputed,
)
from judge_gym.report.cards import (
    Contents,
    checklist_page,
    datasheets,
    front_page,
    judge_cards,
)
from judge_gym.report.page import read_report, save_report
from judge_gym.store.bundle_reading import import_bundle
from judge_gym.store.bundles import MANIFEST, export, measured
from judge_gym.store.engine import server_version
from judge_gym.store.experiments import experiments_of_sweep
from judge_gym.store.package_rows import (
    shared_evidence,
    sweep_files,
    templates_used,
    window_names,
)
from judge_gym.store.results import latest_run, load_findings, load_results

REANALYSIS = "reanalyse.py"
_SHORTEST_SECRET = 8
_TEXTS = (".csv", ".json", ".md", ".html", ".yaml", ".j2", ".cff", ".lock", ".py", ".jsonl")


@dataclass(frozen=True)
class Published:
    """A finished package."""

    manifest: PackageManifest
    missing: Sequence[str]
    """What it should hold and does not, each with the reason."""
    included: Sequence[str]
    """The windows whose texts it holds."""


def publish(
    engine: Engine,
    sweep: str,
    folder: Path,
    *,
    authors: Sequence[str] = (),
    overwrite: bool = False,
    secrets: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Published:
    """Write the replication package of a sweep; the folder is complete or as it was before.

    `secrets` are values that no file may hold, by name. `say` gets a line before each long step.
    Raises `StoreError` for a sweep without current figures, for a folder that holds something (an
    older package is replaced with `overwrite`), for figures that the package does not give again,
    and for a file with a secret.
    """
    with _in_place(folder, overwrite=overwrite) as draft:
        with Session(engine) as session:
            ids = list(experiments_of_sweep(session, sweep))
            _check_current(session, sweep)
            withheld = window_names(session, ids, shareable=False)
            included = window_names(session, ids, shareable=True)
            missing = _write_sweep_files(session, sweep, ids, draft / "sweep")
        say("Writing the data")
        bundle = export(engine, draft / BUNDLE, sweep=sweep, public=True)
        _write_code(engine, draft)
        say("Computing the figures again from the written data, in a database of their own")
        with clean_place() as copy:
            import_bundle(copy, draft / BUNDLE)
            figures = _write_results(copy, sweep, draft)
        say("Writing the report and the cards")
        made = json.loads((draft / "environment.json").read_text())
        contents = Contents(
            sweep,
            made["judge_gym"],
            made["commit"] or "",
            bundle.simulated,
            figures,
            withheld,
            missing,
        )
        written(draft / "README.md", front_page(contents))
        written(draft / "CITATION.cff", _citation(sweep, authors, made["judge_gym"]))
        _refuse_secrets(draft, secrets or {})
        manifest = PackageManifest(
            judge_gym=made["judge_gym"],
            sweep=sweep,
            simulated=bundle.simulated,
            withheld=tuple(withheld),
            figures=figures,
            files={name: measured(file) for name, file in files_in(draft)},
        )
        written(draft / MANIFEST, manifest.model_dump_json(indent=2) + "\n")
    return Published(manifest, missing, included)


@contextmanager
def _in_place(folder: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a new folder that takes the place of `folder` when the block ends without an error."""
    target = folder.absolute()
    holds = target.exists() and (not target.is_dir() or any(target.iterdir()))
    older = holds and target.is_dir() and is_package(target)
    if holds and not older:
        raise StoreError(f"{folder} is not empty.", "Name a new folder for the package.")
    if older and not overwrite:
        raise StoreError(
            f"{folder} holds a replication package.",
            "Name a new folder, or add --overwrite to replace it.",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield draft
        draft.chmod(0o755)
        if older:
            before = draft.with_name(f"{draft.name}.before")
            target.rename(before)
            draft.rename(target)
            shutil.rmtree(before)
        else:
            draft.rename(target)  # takes the place of an empty folder, too
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _check_current(session: Session, sweep: str) -> None:
    if run_in_force(session, sweep) is None:
        state = "are older than its data" if latest_run(session, sweep) else "were never computed"
        raise StoreError(
            f"The figures of sweep {sweep} {state}.",
            f"Run `judge-gym analyse figures {sweep}`, then rerun the command.",
        )


def _write_sweep_files(
    session: Session, sweep: str, ids: Sequence[int], folder: Path
) -> Sequence[str]:
    """Write the sweep's files as they were run; returns what is missing, with the reason."""
    files = sweep_files(session, sweep)
    if not files:
        return ("the sweep file: judge-gym did not store it when the sweep was run",)
    for name, text in files.items():
        written(folder / name, text)
    missing = []
    for path, digest in shared_evidence(session, ids).items():
        name = evidence_name(path)
        try:
            if corpus_digest(path) != digest:
                missing.append(f"evidence file {name}: it has changed since; its texts are stored")
                continue
        except ConfigError:
            missing.append(f"evidence file {name}: it is no longer there; its texts are stored")
            continue
        copy = folder / EVIDENCE / name
        copy.parent.mkdir(exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, copy)
        else:
            shutil.copyfile(path, copy)
    return tuple(missing)


def _write_code(engine: Engine, draft: Path) -> None:
    made = environment(server_version(engine).split()[0])
    written(draft / "environment.json", _json(made))
    written(draft / LOCK, requirements())
    shutil.copyfile(Path(__file__).parent / REANALYSIS, draft / REANALYSIS)


def _write_results(copy: Engine, sweep: str, draft: Path) -> int:
    """Write what is read from the copy of the bundle; returns the number of figures.

    Raises `StoreError` when the copy gives other figures.
    """
    with Session(copy) as session:
        run = latest_run(session, sweep)
        assert run is not None  # the bundle has the run that `_check_current` found
        figures = load_results(session, run.id)
        findings = load_findings(session, run.id)
        report = read_report(session, run.id)
        _write_prompts(session, sweep, draft / "prompts")
        for folder, pages in (
            ("datasheets", datasheets(session, sweep)),
            ("judges", judge_cards(session, sweep)),
        ):
            for name, text in _named(pages).items():
                written(draft / folder / f"{name}.md", text)
    save_report(report, draft / "report")
    if report.checklist:
        written(draft / "checklist.md", checklist_page(report.checklist, report.methods))
    rows = figure_rows(figures, findings), finding_rows(findings)
    for file, values in zip((FIGURES, FINDINGS), rows, strict=True):
        _write_rows(draft / file, values)
    differing = recomputed(copy, sweep, *map(by_key, rows))
    if differing:
        raise _not_replicable(differing)
    return len(figures)


def _not_replicable(differing: Sequence[Difference]) -> StoreError:
    first = differing[0]
    return StoreError(
        f"Recomputed from the package, {counted(len(differing), 'value')} came out otherwise; the "
        f"first is {first.field} of {first.name} {first.scope}: {first.published} became "
        f"{first.recomputed}.",
        "Run `judge-gym analyse figures` and publish again; if it remains, report a defect.",
    )


def _write_prompts(session: Session, sweep: str, folder: Path) -> None:
    experiments = experiments_of_sweep(session, sweep).values()
    listed = []
    for one in used_templates(templates_used(session), experiments):
        for name, text in one.sources:
            written(folder / one.sha256_16 / name, text)
        listed.append(
            {
                **asdict(one),
                "sources": [f"{one.sha256_16}/{name}" for name, _ in one.sources] or None,
            }
        )
    written(folder / "prompts.json", _json(listed))


def _write_rows(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as Parquet, and as CSV beside it."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(list(rows)), file)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["name"])
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    written(file.with_suffix(".csv"), text.getvalue())


def _named(pages: Mapping[str, str]) -> dict[str, str]:
    """Return the pages under names that are file names, each another one."""
    named: dict[str, str] = {}
    for title, text in pages.items():
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", title).strip("-.") or "page"
        free, number = name, 2
        while free in named:
            free, number = f"{name}-{number}", number + 1
        named[free] = text
    return named


def _citation(sweep: str, authors: Sequence[str], version: str) -> str:
    """Return a CITATION.cff; without authors it names the study, as the format needs one."""
    content = {
        "cff-version": "1.2.0",
        "message": "If you use these data, please cite them, and judge-gym.",
        "title": f"Replication package of the sweep {sweep}",
        "type": "dataset",
        "authors": [{"name": name} for name in authors or [f"Authors of the sweep {sweep}"]],
        "references": [
            {
                "type": "software",
                "title": "judge-gym",
                "version": version,
                "authors": [{"name": "judge-gym contributors"}],
            }
        ],
    }
    text = io.StringIO()
    YAML(typ="rt", pure=True).dump(content, text)  # keeps the order of the keys
    return text.getvalue()


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _refuse_secrets(folder: Path, secrets: Mapping[str, str]) -> None:
    """Raise `StoreError` if a text of the package holds a secret or a path of this machine."""
    given = {name: value for name, value in secrets.items() if len(value) >= _SHORTEST_SECRET}
    for place in {Path.home(), Path.cwd()}:
        if len(place.parts) > 1:
            given[f"the path {place}"] = f"{place}{os.sep}"
    for name, file in files_in(folder):
        if file.suffix not in _TEXTS:
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        found = [secret for secret, value in given.items() if value in text]
        if masked(text) != text:
            found.append("what looks like a key or the password of a URL")
        if found:
            raise StoreError(
                f"{name} of the package would hold {found[0]}; nothing was published.",
                "Remove it from the sweep's files or its evidence, or mark the window "
                "`shareable: false`.",
            )
