"""Replication packages: what they hold, what they leave out, and what their check finds."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shutil import copytree

import pyarrow.parquet as parquet
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.errors import StoreError
from judge_gym.publishing.manifest import PackageManifest, damages, files_in, read_package
from judge_gym.publishing.package import publish
from judge_gym.publishing.replicating import BUNDLE, FIGURES, replicate
from judge_gym.store import tables as t
from judge_gym.store.bundles import MANIFEST, Manifest, csv_file, measured
from judge_gym.store.calls import answer_columns
from judge_gym.store.windows import hold_back, load_window
from support.lab import SWEEP, Lab, labels, rubric
from support.postgres import temporary_database
from support.rig import KEY, a_full_answer

pytestmark = pytest.mark.slow

PASSAGE = "the harbour was closed at noon"
"""A passage of every document; Alba is one of the names that a judge sees exchanged."""
COMMON = {"rubric": {"provided": rubric(*labels(4))}, "scale_size": 4}
NUMPY_ALONE = """
import importlib.abc, runpy, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in {"numpy", "_distutils_hack"} and top not in sys.stdlib_module_names:
            raise ImportError(f"{name} is not numpy")
sys.meta_path.insert(0, Blocked())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

NO_NETWORK = """
import sys
def refuse(event, arguments):
    on_this_machine = event == "socket.connect" and isinstance(arguments[1], (str, bytes))
    if event in ("socket.connect", "socket.getaddrinfo") and not on_this_machine:
        raise OSError(f"a connection to {arguments[1:]}")
sys.addaudithook(refuse)
sys.argv[0] = "judge-gym"
from deployments.cli.app import main
main()
"""
"""Connections to a Unix socket have a path; all others are refused."""


@pytest.fixture(scope="module")
def lab(postgres_server: str, migrated_template: str) -> Iterator[Lab]:
    """Judges of two families, with probes, a swap, a sham, known answers and quoting answers."""
    with temporary_database(postgres_server, migrated_template) as url:
        lab = Lab(url)
        lab.documents([0.1, 0.4, 0.95])
        probes = [[0.8, 0.7], [0.5], [0.9]]
        outcomes = [[1, 2, 1, 1, 2, 1], [2, 2, "abstained", 3, 2, 2], [4, 4, 4, 3, 4, 4]]
        other = [[3, 2, 3, 3, 4, 3], [1, 1, 2, 1, 1, 2], [4, 1, 4, 4, 4, 4]]
        third = [[2, 2, 2, 1, 2, 2], [2, 3, 3, 3, 4, 3], [4, 4, 4, 4, "failed", 4]]
        lab.own("acme/alpha-1", outcomes, probes=probes, **COMMON)
        lab.own("acme/alpha-2", third, probes=probes, **COMMON)
        lab.own("other/beta-1", other, probes=probes, **COMMON)
        control = {"task_type": "control", "concept": "quality", "scale_size": 4}
        truth = {"ground_truth": {"source": "an index", "per_item": True}}
        lab.own("acme/alpha-1", outcomes, **control, **truth)
        names = {"swapped": {"name": "shores", "swap": [["Alba", "Brava"]]}}
        lab.own("acme/alpha-1", other, probes=probes, actors=names, **COMMON)
        own = lab.own("other/beta-1", other, probes=probes, concept="rule")
        for kind, owner in (("swap", "acme/alpha-1"), ("sham", "other/beta-1")):
            arm = lab.arm(own, kind, owner)
            lab.samples(arm, outcomes, probes=[[0.4, 0.35], [0.2], [0.6]])
        with Session(lab.engine) as session, session.begin():
            session.execute(
                sa.update(t.Document).values(
                    text=sa.func.concat(PASSAGE, " in ", t.Document.position, ", as Alba said")
                )
            )
            session.add(_quoting_call(own))
        lab.analyse()
        yield lab


@pytest.fixture(scope="module")
def pooled(
    postgres_server: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a package of two wordings, with 5 replicates or 3, and two rubric draws of 3.

    Some answers are missing, so that wordings, draws and items have unequal numbers of verdicts.
    """
    with temporary_database(postgres_server, migrated_template) as url:
        lab = Lab(url)
        lab.documents([0.1, 0.4, 0.95])
        control = {"task_type": "control", "ground_truth": {"source": "index", "per_item": True}}
        words = {
            "plain": [[1, 2, 1, 1, 2], [2, 2, "abstained", 3, 2], [4, 4, 4, 3, "failed"]],
            "formal": [[3, 2, 3, 3, 4], [1, 1, 2, 1, 1], [1, "abstained", 4, 4, 4]],
        }
        for number, model in enumerate(("acme/alpha-1", "acme/alpha-2", "other/beta-1")):
            for wording, given in words.items():
                turned = (*given[number:], *given)[:3]
                probes = [[0.5 + 0.1 * number], [0.7], [0.4 if wording == "plain" else 0.9]]
                for concept, most in (("five", 5), ("three", 3)):
                    outcomes = [cell[:most] for cell in turned]
                    about = {**COMMON, **control, "concept": concept, "wording": wording}
                    lab.own(model, outcomes, probes=probes, **about)
        for model, shift in (("acme/alpha-1", 0), ("other/beta-1", 1)):
            for draw in (0, 1):
                outcomes = [[1 + shift, 2, 1], [2, 3 + draw - shift, "abstained"], [4, 4 - draw, 4]]
                if draw:
                    outcomes[2] = [3] * (2 - shift) + ["abstained"] * (1 + shift)
                about = {**control, "concept": "draws", "scale_size": 4, "rubric_draw": draw}
                lab.own(model, outcomes, probes=[[0.6], [0.8 - 0.1 * draw], [0.9]], **about)
        lab.analyse()
        folder = tmp_path_factory.mktemp("pooled") / "package"
        publish(lab.engine, SWEEP, folder)
        return folder


def _quoting_call(experiment_id: int) -> t.Call:
    return t.Call(
        key="score/quoting",
        workflow="w3-scoring",
        agent="scorer",
        provider="other",
        model="other/beta-1",
        experiment_id=experiment_id,
        messages=[{"role": "user", "content": f"Judge this: {PASSAGE}"}],
        template="score",
        template_hash="0" * 16,
        parameters={},
        errors=[{"kind": "unparseable", "message": f"no letter in {PASSAGE}"}],
        **answer_columns(a_full_answer(f"It says {PASSAGE}.", simulated=False)),
    )


@pytest.fixture(scope="module")
def package(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared") / "package"
    publish(lab.engine, SWEEP, folder, authors=["A Consortium"])
    return folder


@pytest.fixture
def copy(package: Path, tmp_path: Path) -> Path:
    """A copy of the package in the hands of a reviewer."""
    folder = tmp_path / "received"
    for name, file in (*files_in(package), (MANIFEST, package / MANIFEST)):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    return folder


def resealed(folder: Path) -> None:
    """Give a package, and its bundle, the digests of what they hold now."""
    bundle = Manifest.model_validate_json((folder / BUNDLE / MANIFEST).read_bytes())
    tables = {
        name: table.model_copy(update={"csv": measured(csv_file(folder / BUNDLE, name))})
        for name, table in bundle.tables.items()
    }
    changed = bundle.model_copy(update={"tables": tables})
    (folder / BUNDLE / MANIFEST).write_text(changed.model_dump_json())
    files = {name: measured(file) for name, file in files_in(folder)}
    manifest = read_package(folder).model_copy(update={"files": files})
    (folder / MANIFEST).write_text(manifest.model_dump_json())


def reanalysis(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the package's script where nothing but numpy can be imported."""
    return subprocess.run(
        [sys.executable, "-c", NUMPY_ALONE, folder / "reanalyse.py", folder],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )


def replicated(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Type `judge-gym data replicate` in an empty folder, where no network can be reached."""
    place = folder.parent / "empty"
    place.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", NO_NETWORK, "data", "replicate", folder, *arguments],
        capture_output=True,
        text=True,
        cwd=place,
        check=False,
    )


def test_a_reviewer_finds_every_figure_again_without_a_network(copy: Path) -> None:
    done = replicated(copy, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["agrees"], found["damaged_files"], found["differences"]) == (True, {}, [])
    assert found["figures"] == read_package(copy).figures > 100
    assert found["findings"] > 0
    assert not list((copy.parent / "empty").iterdir())  # the database was elsewhere, and is gone


def test_what_differs_takes_forty_lines_at_most(copy: Path) -> None:
    table = parquet.read_table(copy / FIGURES)
    rows = [
        {**row, "estimate": None if row["estimate"] is None else row["estimate"] + 1}
        for row in table.to_pylist()
    ]
    parquet.write_table(table.from_pylist(rows, schema=table.schema), copy / FIGURES)
    resealed(copy)
    done = replicated(copy)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert len(lines) == 40
    assert "more: add --json" in lines[-1]


def test_figures_are_not_recomputed_from_a_damaged_bundle(copy: Path) -> None:
    csv_file(copy / BUNDLE, "samples").unlink()
    found = replicate(copy)
    assert (found.agrees, found.recomputed) == (False, False)
    assert found.damaged == {"bundle/samples.csv": "missing"}


def test_the_script_agrees_without_judge_gym(copy: Path) -> None:
    done = reanalysis(copy)
    assert (done.returncode, done.stderr) == (0, "")
    for figure in (
        *("polarization, estimate", "polarization, floor", "polarization_excess, estimate"),
        *("overconfidence, estimate", "confidence, estimate", "accuracy, estimate"),
        *("swap_sensitivity, estimate", "sham_sensitivity, estimate", "abstention_rate, estimate"),
        *("replicate_variance, estimate", "control_error, estimate"),
    ):
        assert f"\n{figure}: " in f"\n{done.stdout}", figure
    assert " 0 differ" in done.stdout


def raise_one(folder: Path, chosen: Callable[[dict[str, str]], bool]) -> None:
    """Raise the first such figure of `figures.csv` by 0.01."""
    file = folder / "figures" / "figures.csv"
    with file.open(newline="") as rows:
        figures = list(csv.DictReader(rows))
    changed = next(row for row in figures if row["estimate"] and chosen(row))
    changed["estimate"] = str(float(changed["estimate"]) + 0.01)
    with file.open("w", newline="") as rows:
        writer = csv.DictWriter(rows, list(figures[0]))
        writer.writeheader()
        writer.writerows(figures)


def test_the_script_finds_a_figure_that_was_changed(copy: Path) -> None:
    raise_one(copy, lambda row: row["name"] == "overconfidence")
    done = reanalysis(copy)
    assert done.returncode == 1
    assert "DIFFERS overconfidence" in done.stdout


def test_the_script_agrees_where_wordings_and_rubric_draws_vary(pooled: Path) -> None:
    done = reanalysis(pooled)
    assert " 0 differ; 0 figures left out" in done.stdout, done.stdout
    assert (done.returncode, done.stderr) == (0, "")


def test_the_script_finds_figures_over_levels_that_were_changed(
    pooled: Path, tmp_path: Path
) -> None:
    folder = copytree(pooled, tmp_path / "received")
    changed = [("polarization", "three"), ("polarization", "five"), ("accuracy", "draws")]
    for name, concept in changed:
        raise_one(folder, partial(is_over_levels, name, concept))
    done = reanalysis(folder)
    assert done.returncode == 1
    assert done.stdout.count("DIFFERS polarization ") == 2
    assert done.stdout.count("DIFFERS accuracy ") == 1
    assert " 3 differ" in done.stdout


def is_over_levels(name: str, concept: str, row: dict[str, str]) -> bool:
    """Whether the row is this figure of a concept, of all levels of the facets."""
    scope = json.loads(row["scope"])
    whole = scope.get("concept") == concept and not {"wording", "rubric_draw"} & scope.keys()
    return row["name"].removesuffix("_mixed") == name and whole


def test_a_changed_a_missing_and_an_added_file_are_named(copy: Path) -> None:
    (copy / "checklist.md").write_text("all is well")
    (copy / "README.md").unlink()
    (copy / "extra.txt").write_text("")
    assert damages(copy, read_package(copy)) == {
        "README.md": "missing",
        "checklist.md": "changed",
        "extra.txt": "added",
    }


def test_a_changed_judgement_is_found_even_under_new_digests(copy: Path) -> None:
    file = csv_file(copy / BUNDLE, "probes")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    rows[0]["probability"] = "0.123"
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    resealed(copy)
    found = replicate(copy)
    assert not found.damaged
    assert "overconfidence" in {difference.name for difference in found.differences}


def test_a_changed_figure_is_found_even_under_new_digests(copy: Path) -> None:
    table = parquet.read_table(copy / FIGURES)
    rows = table.to_pylist()
    place = next(n for n, row in enumerate(rows) if row["name"] == "polarization")
    rows[place]["estimate"] += 0.01
    parquet.write_table(table.from_pylist(rows, schema=table.schema), copy / FIGURES)
    resealed(copy)
    (difference,) = replicate(copy).differences
    assert (difference.name, difference.field) == ("polarization", "estimate")
    assert difference.published == pytest.approx(difference.recomputed + 0.01)


def test_a_figure_changed_in_the_csv_alone_is_found_under_new_digests(copy: Path) -> None:
    with (copy / FIGURES).with_suffix(".csv").open(newline="") as text:
        rows = list(csv.DictReader(text))
    place = next(n for n, row in enumerate(rows) if row["name"] == "polarization")
    rows[place]["estimate"] = "0.99"
    left_out = rows.pop()
    with (copy / FIGURES).with_suffix(".csv").open("w", newline="") as text:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert not replicate(copy).recomputed  # the digest is another one
    resealed(copy)
    changed, missing = replicate(copy).differences
    assert (changed.name, changed.field) == ("polarization", "estimate in figures.csv")
    assert (changed.published, missing.field) == ("0.99", "row")
    assert (missing.name, missing.published) == (left_out["name"], False)


def test_texts_that_may_not_be_shared_are_nowhere(lab: Lab, tmp_path: Path) -> None:
    with Session(lab.engine) as session, session.begin():
        session.execute(sa.update(t.Window).values(shareable=False))
    try:
        done = publish(lab.engine, SWEEP, tmp_path / "package")
    finally:
        with Session(lab.engine) as session, session.begin():
            session.execute(sa.update(t.Window).values(shareable=True))
    assert done.manifest.withheld == ("spring",)
    for name, file in files_in(tmp_path / "package"):
        content = file.read_bytes()
        if file.suffix == ".parquet":
            content = json.dumps(parquet.read_table(file).to_pylist(), default=str).encode()
        assert PASSAGE.encode() not in content, name
    texts = csv_file(tmp_path / "package" / BUNDLE, "documents").read_text()
    assert texts.count("withheld, SHA-256 ") == 3
    # whether names were exchanged in an item is a figure's business, so the names stay
    assert "; names exchanged: Alba" in texts
    assert replicate(tmp_path / "package").agrees


def test_what_the_file_no_longer_shares_is_held_back(lab: Lab) -> None:
    with Session(lab.engine) as session:  # rolled back
        [stored] = session.scalars(sa.select(t.Window))
        window = load_window(session, stored.id)
        stored.key = window.key  # that of the test is made up
        session.flush()
        private = window.model_copy(update={"shareable": False})
        for given, shared in ((window, True), (private, False), (window, False)):
            hold_back(session, [given])
            session.refresh(stored)
            assert stored.shareable is shared


def test_a_package_says_what_stands_behind_it(package: Path) -> None:
    made = json.loads((package / "environment.json").read_text())
    assert made["libraries"]["numpy"]
    assert (package / "requirements.lock").read_text()
    sheet = (package / "datasheets" / "spring.md").read_text()
    assert "| taken | 3 documents |" in sheet
    card = (package / "judges" / "other-beta-1.md").read_text()
    assert "m-2026-10-01" not in card  # served a call that is behind no judgement
    # 18 judgements in two experiments each, and 18 under the swap and the sham
    assert "| judgements | 72 |" in card
    assert "| abstentions | 2 of 72 (3%) |" in card
    assert "A Consortium" in (package / "CITATION.cff").read_text()
    assert "sweep file" in (package / "README.md").read_text()  # the lab has none: said, not hidden


def test_a_folder_is_complete_or_as_it_was(
    lab: Lab, package: Path, copy: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not empty"):
        publish(lab.engine, SWEEP, tmp_path / "mine", overwrite=True)
    with pytest.raises(StoreError, match="overwrite"):
        publish(lab.engine, SWEEP, copy)
    (copy / "extra.txt").write_text("")
    before = sorted(name for name, _ in files_in(copy))
    with pytest.raises(StoreError, match="the key of a provider"):
        publish(
            lab.engine,
            SWEEP,
            copy,
            overwrite=True,
            authors=[KEY],
            secrets={"the key of a provider": KEY},
        )
    assert sorted(name for name, _ in files_in(copy)) == before
    publish(lab.engine, SWEEP, copy, overwrite=True)
    assert sorted(name for name, _ in files_in(copy)) == sorted(
        name for name, _ in files_in(package)
    )
    assert {file.name for file in tmp_path.iterdir()} == {"mine", "received"}


def test_figures_older_than_the_data_are_not_published(lab: Lab, tmp_path: Path) -> None:
    with Session(lab.engine) as session:
        sample = session.scalars(sa.select(t.Sample).where(t.Sample.stages == 1)).first()
        sample.stages = 2
        session.commit()
        try:
            with pytest.raises(StoreError, match="older than its data"):
                publish(lab.engine, SWEEP, tmp_path / "package")
        finally:
            sample.stages = 1
            session.commit()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_no_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no replication package"):
        replicate(tmp_path)
    (tmp_path / MANIFEST).write_text("{}")
    with pytest.raises(StoreError, match="cannot be read"):
        replicate(tmp_path)
    assert "kind" in PackageManifest.model_fields
