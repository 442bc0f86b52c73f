"""The index of a folder of pages."""

import os

from judge_gym.report.shelf import shelf, shelf_page


def write(folder, file, title, age):
    (folder / file).write_text(f"<!DOCTYPE html>\n<html><head>{title}</head></html>")
    os.utime(folder / file, (1_700_000_000 - age,) * 2)


def test_pages_stand_under_their_kind_the_newest_first(tmp_path):
    write(tmp_path, "report-a.html", "<title>a</title>", 9)
    write(tmp_path, "report-b.html", "<title>b (SIMULATED)</title>", 3)
    write(tmp_path, "judge_review_2026-01-05.html", "<title>Reviews</title>", 1)
    write(tmp_path, "calibration-notes.html", "", 2)
    write(tmp_path, "reporting.html", "<title>Another</title>", 0)
    (tmp_path / "report-a.csv").write_text("1")
    found = {kind: [page.title for page in pages] for kind, pages in shelf(tmp_path).items()}
    assert list(found.items()) == [
        ("Sweeps", ["b (SIMULATED)", "a"]),
        ("Calibrations", ["calibration-notes"]),
        ("Reviews of judges in use", ["Reviews"]),
        ("Other pages", ["Another"]),
    ]


def test_what_a_page_is_called_is_text_and_its_address_is_one(tmp_path):
    write(tmp_path, "report-a b#1.html", "<title>&lt;script&gt;x\n&amp; y</title>", 0)
    page = shelf_page(tmp_path)
    assert '<a href="report-a%20b%231.html">&lt;script&gt;x &amp; y</a>' in page


def test_a_folder_that_is_not_there_yet_says_so(tmp_path):
    assert "No page has been written yet" in shelf_page(tmp_path / "reports")
