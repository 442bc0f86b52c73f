"""The page of a study of judges, and the same as Markdown."""

import json

from judge_gym.report.judge_study import StudyPage, save_study, stem_of
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
