"""The page of a study of judges, and the same as Markdown."""

import json

from judge_gym.judges.gate import Stopped
from judge_gym.report.gate import gates_page, gates_report, save_gates
from judge_gym.report.judge_study import StudyPage, StudyReport, save_study, stem_in, stem_of
from judge_gym.report.shelf import shelf
from judge_gym.report.table import plain_table

HOSTILE = "<img src=x onerror=alert(1)> [a](javascript:b) | `c`"


def page(**changes):
    table = plain_table(HOSTILE, ("item", "score"), [(HOSTILE, 1)])
    given = {
        "stem": stem_of("gate", "my judge/2"), "title": "Gate of one", "found": HOSTILE,
        "tables": [table], "sentences": [HOSTILE], "simulated": True, "files": ["gate.json"],
    }  # fmt: skip
    return StudyPage(**given | changes)


def test_text_of_others_is_shown_as_it_is_in_html_and_in_markdown(tmp_path):
    written = save_study(page(), tmp_path, {"name": HOSTILE})
    shown = written.path.read_text()
    assert "<img" not in shown
    assert shown.count("&lt;img src=x onerror=alert(1)&gt;") >= 4
    assert "<img" not in written.markdown.replace("\\<", "")
    assert "](javascript" not in written.markdown.replace("\\](", "")
    assert json.loads(written.path.with_suffix(".json").read_text()) == {"name": HOSTILE}


def test_what_is_simulated_is_marked_once_on_the_page_and_in_markdown(tmp_path):
    for simulated in (True, False):
        written = save_study(page(simulated=simulated, found="", tables=[]), tmp_path)
        body = written.path.read_text().partition("<body>")[2].partition("<script>")[0]
        assert body.count("SIMULATED") == written.markdown.count("SIMULATED") == simulated


def test_names_make_one_file_in_the_folder_and_stand_in_the_index(tmp_path):
    for name in ("my judge/2", "../../etc", "ü judge", ""):
        written = save_study(page(stem=stem_of("gate", name)), tmp_path)
        assert written.path.parent == tmp_path.resolve()
    assert [*shelf(tmp_path)] == ["Gates"]
    assert len(shelf(tmp_path)["Gates"]) == 4


def test_pages_of_files_of_one_name_in_two_folders_stay_beside_each_other(tmp_path):
    reports = tmp_path / "reports"
    one, two = (tmp_path / team / "judge.yaml" for team in ("one & co", "two"))
    for file in (one, two):
        file.parent.mkdir()
        file.touch()

    def saved(file):
        stopped = [Stopped(file.parent.name, "No.")]
        return save_gates(gates_report([file], stopped, reports), reports).path

    pages = [saved(file) for file in (one, two)]
    assert pages[0].name == "gate-judge.html"
    assert pages[1].name.startswith("gate-judge-")
    for page, file in zip(pages, (one, two), strict=True):
        assert json.loads(page.with_suffix(".json").read_text())[0]["judge"] == file.parent.name
        # Each run of a file replaces its own page, with its pages of a day.
        assert (saved(file), gates_page([file], reports)) == (page, page)
    assert {page.file for page in shelf(reports)["Gates"]} == {page.name for page in pages}

    # The project is moved, and the folder of pages is not: the file is the one that was there.
    one.rename(one.with_name("gone.yaml"))
    three = tmp_path / "three" / "judge.yaml"
    three.parent.mkdir()
    three.touch()
    assert (saved(three), saved(two)) == (pages[0], pages[1])


def test_files_beside_the_page_of_a_study_have_its_name(tmp_path):
    reports = tmp_path / "reports"
    for folder in ("one", "two"):
        items = tmp_path / folder / "items.jsonl"
        items.parent.mkdir()
        items.touch()
        stem = stem_of("scores", "good", "items")
        shown = page(stem=stem, files=(f"{stem}.csv", f"{stem}.json"), of=[items])
        saved = StudyReport(folder, shown, folder, {".csv": folder}).save(reports).path
        for suffix in (".csv", ".json"):
            assert folder in saved.with_suffix(suffix).read_text()
            assert f'href="{saved.stem}{suffix}"' in saved.read_text()
    assert len(list(reports.glob("scores-good-items*"))) == 6


def test_a_name_of_a_page_that_says_no_file_is_free(tmp_path):
    save_study(page(stem="scores-a-b"), tmp_path)
    assert stem_in(tmp_path, [tmp_path / "b.jsonl"], "scores-a-b") == "scores-a-b"
