"""The page: one file that loads nothing, escapes everything, and marks what is simulated."""

import base64
import errno
import hashlib
import re
import resource
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from judge_gym.report.evidence import (
    MAX_ON_PAGE,
    EvidenceDocument,
    ShownJudgement,
    ShownView,
    ShownWindow,
)
from judge_gym.report.files import ReportError, replace_file, results_csv, unwritable
from judge_gym.report.page import keep_report, render_page, save_report
from judge_gym.report.table import Row, Table
from judge_gym.report.tables import result_tables
from support.report_pages import NOW, report

HOSTILE = """<script>alert("x")</script><img src=x onerror='alert(1)'> & 'q' {{ 7 * 7 }}"""
VOID = {"meta", "img", "br", "link", "input"}


class Elements(HTMLParser):
    """The elements of a page; fails on one that is closed out of order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def figures(make_row, *, simulated: bool = False, name: str = "acme/a-1") -> tuple[Table, ...]:
    rows = [
        make_row("confidence", 0.5, scope={"concept": concept, "judge": name}, simulated=simulated)
        for concept in ("order", f"not {name}")
    ]
    return tuple(result_tables(rows))


def test_text_from_outside_is_text_on_the_page(make_row) -> None:
    given = report(sweep=HOSTILE, results=figures(make_row, name=HOSTILE))
    windows = replace(given.facts.windows, rows=(Row((HOSTILE, "1"), heading=HOSTILE),))
    facts = replace(given.facts, description=HOSTILE, windows=windows, warnings=(HOSTILE,))
    page = render_page(replace(given, facts=facts))
    elements = Elements(page)
    assert "img" not in elements.names
    assert elements.names.count("script") == 1
    assert not [name for name, _ in elements.attributes if name.startswith("on")]
    assert "&lt;script&gt;alert(" in page
    assert "{{ 7 * 7 }}" in page


def test_the_page_loads_nothing(make_row) -> None:
    page = render_page(report(simulated=True, results=figures(make_row, simulated=True)))
    elements = Elements(page)
    loading = {"src", "href", "action", "data", "poster", "srcset"}
    # An address within the page, or one that holds what it leads to.
    assert all(
        value is not None and value.startswith(("#", "data:text/csv;"))
        for name, value in elements.attributes
        if name in loading
    )
    assert not {"link", "iframe", "object", "img"} & set(elements.names)
    names_no_address = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(
        r"https?://|url\((?!#)|@import|\bfetch\(|XMLHttp|import\(", names_no_address
    )


def test_the_policy_of_the_page_runs_its_own_script_and_no_other() -> None:
    page = render_page(report())
    [script] = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert unescape(rules["script-src"]) == f"'sha256-{digest}'"


def test_a_long_table_shows_twelve_rows_and_has_them_all(make_row) -> None:
    rows = [
        make_row("confidence", 0.5, scope={"concept": "order", "judge": f"acme/{n:02}"})
        for n in range(15)
    ]
    page = render_page(report(results=tuple(result_tables(rows))))
    table = page[page.index("<tbody") : page.index("</tbody>")]
    assert table.count("<tr>") + table.count('<tr class="rest">') == 15
    assert table.count('<tr class="rest">') == 3
    assert "Show all 15 rows" in page


def test_links_within_the_page_lead_somewhere(make_row) -> None:
    elements = Elements(render_page(report(results=figures(make_row))))
    targets = [value for name, value in elements.attributes if name == "id"]
    assert len(set(targets)) == len(targets)
    links = [value or "" for name, value in elements.attributes if name == "href"]
    within = {link for link in links if not link.startswith("data:")}
    assert within
    # What follows a question mark is a filter.
    assert {f"#{target}" for target in targets} >= {link.partition("?")[0] for link in within}


def banner(page: str) -> str:
    """The banner, which stands before all else on the page and stays in view."""
    body = page[page.index("<body>") : page.index("<header>")]
    assert re.search(r"\.banner \{\s*position: sticky; top: 0;", page)
    return body


def test_a_simulated_report_is_marked_once_in_the_banner(make_row) -> None:
    page = render_page(report(simulated=True, results=figures(make_row, simulated=True)))
    assert "SIMULATED DATA" in banner(page)
    assert "in part" not in banner(page)
    assert "<title>SIMULATED" in page
    assert page[page.index("<body>") :].count("SIMULATED") == 1


def test_a_real_report_never_says_simulated(make_row) -> None:
    page = render_page(report(results=figures(make_row)))
    assert "SIMULATED" not in page


def test_a_partly_simulated_report_says_part(make_row) -> None:
    """Then what is simulated is told from what is not, table by table."""
    simulated = figures(make_row, simulated=True)
    given = replace(report(simulated=True, results=simulated), wholly_simulated=False)
    page = render_page(given)
    assert "in part" in banner(page)
    [caption] = re.findall(r"<caption>.*?</caption>", page, flags=re.DOTALL)
    assert '<span class="mark">SIMULATED</span>' in caption


@pytest.mark.parametrize(("imported", "in_part"), [(1.0, False), (0.5, True)])
def test_imported_judgements_are_told_as_plainly_as_simulated_ones(
    make_row, imported: float, in_part: bool
) -> None:
    row = make_row("confidence", 0.5, scope={"concept": "order", "judge": "a/a"}, imported=True)
    page = render_page(replace(report(results=result_tables([row])), imported=imported))
    assert "<strong>IMPORTED</strong>" in banner(page)
    assert ("in part" in banner(page)) is in_part
    assert "<title>IMPORTED" in page
    [caption] = re.findall(r"<caption>.*?</caption>", page, flags=re.DOTALL)
    assert ('<span class="mark">IMPORTED</span>' in caption) is in_part


def test_the_findings_are_said_in_words(make_row) -> None:
    said = ("H1, entrenchment, is refuted.", HOSTILE)
    page = render_page(replace(report(results=figures(make_row)), sentences=said))
    assert page.index('<h2 id="findings">') < page.index("entrenchment, is refuted.")
    assert Elements(page).names.count("script") == 1


def test_the_figures_can_be_taken_along(make_row) -> None:
    rows = [make_row("confidence", 0.5, scope={"concept": f'{HOSTILE} "100%"'})]
    text = results_csv(report().facts.run, rows)
    elements = Elements(render_page(replace(report(results=figures(make_row)), csv=text)))
    assert ("download", "figures-trial.csv") in elements.attributes
    [address] = [value for name, value in elements.attributes if name == "href" and "," in value]
    kind, _, held = address.partition(",")
    assert kind == "data:text/csv;charset=utf-8"
    assert unquote(held) == text


def test_every_cell_of_every_table_is_on_the_page(make_row) -> None:
    tables = figures(make_row)
    page = render_page(report(results=tables))
    cells = re.findall(r"<t[dh][^>]*>(?:<a [^>]*>)?(.*?)(?:</a>)?</t[dh]>", page)
    wanted = [cell for table in tables for row in table.rows for cell in row.cells]
    assert [cell for cell in cells if cell in wanted] == wanted
    assert "acme/a-1" in wanted


def test_an_empty_report_says_so() -> None:
    assert "There is no figure yet." in render_page(report())


def test_equal_reports_give_equal_pages_but_for_the_time_of_writing(make_row) -> None:
    first, later = (
        replace(report(results=figures(make_row)), written=NOW.replace(year=year))
        for year in (2026, 2031)
    )
    assert render_page(first) == render_page(first)
    assert render_page(later) == render_page(first).replace(
        "<dd>2026-02-03 04:05 UTC</dd>", "<dd>2031-02-03 04:05 UTC</dd>"
    )


@pytest.mark.parametrize(
    ("sweep", "name"),
    [
        ("demo", "report-demo.html"),
        ("../../etc/passwd", "report-etc-passwd.html"),
        ("a b/c", "report-a-b-c.html"),
        ("…", "report-sweep.html"),
    ],
)
def test_the_file_stays_in_its_folder_whatever_the_sweep_is_called(
    tmp_path: Path, sweep: str, name: str
) -> None:
    folder = tmp_path / "reports"
    assert save_report(report(sweep=sweep), folder) == folder / name
    assert [path.name for path in folder.iterdir()] == [name]


def shown_items(number: int) -> tuple[ShownWindow, ...]:
    """A window of documents, each with two answers of one judge."""
    one = ShownJudgement(
        "acme/a-1", "order", 1, "stage 2", f"Because {HOSTILE}", "VERDICT: B", "", "", "a", "order",
        "scored", f"What is it? {HOSTILE}", "",
    )  # fmt: skip
    views = (ShownView("raw", HOSTILE, ""),)
    documents = tuple(
        EvidenceDocument(id_, f"Title {id_} {HOSTILE}", "", "", views, (one, one), 0)
        for id_ in range(1, number + 1)
    )
    return (ShownWindow("spring", documents, 0, (), 0),)


def test_many_items_have_pages_of_their_own(tmp_path: Path) -> None:
    """Newer pages replace those of the report before, and a report that is kept keeps its own."""
    few = save_report(replace(report(), evidence=shown_items(MAX_ON_PAGE)), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report-trial.html"]
    assert Elements(few.read_text()).names.count("script") == 1

    many = replace(report(), evidence=shown_items(MAX_ON_PAGE + 1))
    page = save_report(many, tmp_path).read_text()
    links = re.findall(r'href="([^"]*/item-[0-9]+\.html)"', page)
    assert len(links) == MAX_ON_PAGE + 1
    assert 'data-judge="acme/a-1"' in page
    assert 'data-count="2"' in page
    for link in links:
        item = (tmp_path / link).read_text()
        elements = Elements(item)
        assert elements.names.count("script") == 1
        assert "img" not in elements.names
        assert "<mark>VERDICT: B</mark>" in item
        assert ("href", "../report-trial.html#evidence") in elements.attributes

    run = replace(many.facts.run, created_at=NOW.replace(year=2027))
    newer = replace(many, facts=replace(many.facts, run=run))
    save_report(newer, tmp_path)
    [folder] = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert folder.name == "report-trial-items-20270203040500"
    assert keep_report("trial", tmp_path)
    save_report(many, tmp_path)
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 2


def test_a_newer_report_takes_the_place_of_the_older(tmp_path: Path) -> None:
    path = save_report(report(), tmp_path)
    before = path.stat().st_ino
    again = report()
    facts = replace(again.facts, description="Another one.")
    assert save_report(replace(again, facts=facts), tmp_path) == path
    assert "Another one." in path.read_text(encoding="utf-8")
    # A new file under the old name: whoever reads the old one reads it to its end.
    assert path.stat().st_ino != before
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "reports"
    taken.write_text("a file")
    with pytest.raises(ReportError, match=re.escape(str(taken))):
        save_report(report(), taken)


@pytest.fixture
def small_files() -> Iterator[int]:
    """No file of this process may grow beyond this many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield 1000
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_page_that_is_cut_off_leaves_the_older_one_and_no_draft(
    tmp_path: Path, small_files: int
) -> None:
    page = tmp_path / "report.html"
    replace_file(page, "older")
    with pytest.raises(OSError, match="too large"):
        replace_file(page, "x" * (small_files + 1))
    assert list(tmp_path.iterdir()) == [page]
    assert page.read_text() == "older"


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.ENOSPC, "Free space"), (errno.EDQUOT, "Free space"), (errno.EACCES, "Let your user")],
)
def test_the_remedy_of_an_unwritable_report_fits_the_cause(number: int, remedy: str) -> None:
    folder = Path("/reports")
    error = unwritable("The report /reports/a.html", folder, OSError(number, "no"))
    assert error.remedy.startswith(remedy)
    assert "/reports" in error.remedy
    # That setting would move the embedded database too.
    assert "JUDGE_GYM_DATA_DIR" not in error.remedy
