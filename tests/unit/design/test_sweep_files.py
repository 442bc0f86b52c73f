"""The copy of a sweep's files for others: it can be read elsewhere, and names no folder."""

from pathlib import Path

from judge_gym.design.frozen import frozen_file
from judge_gym.design.sweep import given_sweep, load_sweep
from judge_gym.design.sweep_files import portable_files
from support.command_line import SWEEPS


def written(files: dict[str, str], folder: Path) -> Path:
    """Write the files; return the sweep's own."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / next(iter(files))


def test_the_demo_is_the_same_sweep_elsewhere(tmp_path: Path) -> None:
    demo = load_sweep(SWEEPS / "demo.yaml")
    files = portable_files(demo.path, demo.definition, demo.name)
    assert {"plans/demo.yaml", "rubrics/backsliding.yaml", "rubrics/claims.yaml"} < set(files)
    assert "# The demo: simulated judges" in files["demo.yaml"]
    (tmp_path / "evidence").symlink_to(SWEEPS / "corpora")
    copy = load_sweep(written(files, tmp_path))
    assert [one.key for one in copy.experiments()] == [one.key for one in demo.experiments()]
    assert copy.plan == demo.plan


def test_no_folder_is_named(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    for name in ("one", "two"):
        (private / name).mkdir()
        text = (SWEEPS / "rubrics" / "backsliding.yaml").read_text()
        (private / name / "rubric.yaml").write_text(text.replace("One court", f"{name} court"))
    (private / "corpus.jsonl").write_text('{"title": "t", "text": "x", "url": "https://a.example"}')
    (private / "actors.yaml").write_text("name: shores\nswap: [[Alba, Brava]]\n")
    definition = {
        "name": "mine",
        "windows": {
            "week": {
                "country": "Valmora",
                "source": {"kind": "corpus", "path": str(private / "corpus.jsonl")},
            }
        },
        "blocks": [
            {
                "concept": "fascism",
                "window": "week",
                "model": "sim/calm-1",
                "rubric": [
                    {"provided": str(private / "one" / "rubric.yaml")},
                    {"provided": str(private / "two" / "rubric.yaml")},
                ],
                "actors": {"swapped": str(private / "actors.yaml")},
            }
        ],
    }
    sweep = given_sweep(definition)
    files = portable_files(sweep.path, sweep.definition, sweep.name)
    # two files of one name keep their own texts
    assert set(files) == {
        "mine.yaml",
        "rubrics/rubric.yaml",
        "rubrics/rubric-2.yaml",
        "actors/actors.yaml",
    }
    assert not [name for name, text in files.items() if str(tmp_path) in text]
    assert str(private) in str(definition)  # what was given is as it was
    copy = tmp_path / "copy"
    written(files, copy)
    (copy / "evidence").mkdir()
    (copy / "evidence" / "corpus.jsonl").write_text((private / "corpus.jsonl").read_text())
    again = load_sweep(copy / "mine.yaml")
    assert [one.key for one in again.experiments()] == [one.key for one in sweep.experiments()]


def test_the_frozen_plan_goes_along(tmp_path: Path) -> None:
    file = tmp_path / "quick.yaml"
    (tmp_path / "corpora").symlink_to(SWEEPS / "corpora")
    file.write_text((SWEEPS / "quick.yaml").read_text())
    frozen_file(file).write_text("{}")
    sweep = load_sweep(file)
    files = portable_files(sweep.path, sweep.definition, sweep.name)
    assert files["quick.frozen.json"] == "{}"
