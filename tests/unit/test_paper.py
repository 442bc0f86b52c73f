"""docs/paper: every number of the paper is that of its source, every citation is in the
bibliography."""

import csv
import gzip
import re
from functools import cache

import yaml

from docs.atlas import OPENING, PAGE, parts_of
from judge_gym.analysis import registry
from judge_gym.design.axes import axes
from judge_gym.recorded.claims import CLAIMS
from judge_gym.shipped import DEPLOYMENTS
from support.command_line import REPOSITORY

PAPER = REPOSITORY / "docs" / "paper" / "paper.md"
BIBLIOGRAPHY = PAPER.with_suffix(".bib")
STUDIES = DEPLOYMENTS / "studies"
SECTIONS = [
    *("Summary", "Statement of need", "State of the field", "Software design"),
    *("Figures and validation", "Limitations", "References"),
]
ENTRY = re.compile(r"^@\w+\{(\w+),\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
CITED = re.compile(r"@(\w+)")


def unwrapped(text: str) -> str:
    return " ".join(text.split())


@cache
def header_and_body() -> tuple[str, str]:
    _, header, body = PAPER.read_text(encoding="utf-8").split("---\n", 2)
    return header, body


@cache
def body() -> str:
    return unwrapped(header_and_body()[1])


@cache
def atlas() -> dict[str, str]:
    return parts_of(PAGE.read_text(encoding="utf-8"))


def found(pattern: str, text: str) -> tuple[str, ...]:
    """Return the groups of a pattern that its source must have."""
    match = re.search(pattern, text, re.MULTILINE)
    assert match, pattern
    return match.groups()


def phrases_of_the_registries() -> list[str]:
    return [
        f"crosses values of {len(axes())} axes",
        f"prints over {len(registry.figures()) // 100 * 100} figures",
    ]


def phrases_of_the_atlas() -> list[str]:
    claims, sets, rounded, values, other, unstated, lost, tested, every, some, none = found(
        r"Of (\d+) claims on (\d+) data sets, (\d+) are recomputed to rounding "
        r"\(([\d,]+) values\), (\d+) are published of other data, (\d+) are stated without a "
        r"figure, (\d+) cannot be recomputed; of (\d+) that can be tested, (\d+) hold under every "
        r"specification, (\d+) under some and (\d+) under none",
        unwrapped(atlas()[OPENING]),
    )
    shipped = [yaml.safe_load(file.read_text()) for file in STUDIES.glob(f"*/{CLAIMS}")]
    assert len(shipped) == int(sets)
    elsewhere = sum("beside" in study for study in shipped)
    return [
        f"has {claims} claims on {sets} data sets",
        f"recomputes {rounded} of them to rounding, which are {values} values",
        f"Another {other} were published of other data, {unstated} were stated without a figure, "
        f"and {lost} cannot be recomputed",
        f"Of {tested} claims that can be tested, {every} hold under every specification, {some} "
        f"under some and {none} under none",
        f"No licence allows copies of {elsewhere} of the {sets} data sets",
    ]


def votes_of(study: str) -> tuple[str, str]:
    """Return the effective votes of a study with their interval, and where the claim holds."""
    row = next(
        line for line in atlas()[study].splitlines() if "about two independent votes" in line
    )
    cells = [cell.strip() for cell in row.replace("\\", "").strip("|").split(" | ")]
    assert cells[2] == "2"
    return cells[3], cells[5]


def phrases_of_effective_votes() -> list[str]:
    votes = {study: votes_of(study) for study in ("llmbar", "llmjudge", "judging-judges")}
    for study in ("llmbar", "llmjudge"):
        assert votes[study][1].startswith("all "), study
    assert votes["judging-judges"][1].startswith("0 of ")
    return [
        f"are worth {votes['llmbar'][0]} votes on LLMBar, {votes['llmjudge'][0]} on LLMJudge "
        f"and {votes['judging-judges'][0]} on answers to TriviaQA",
    ]


def phrases_of_the_coverage() -> list[str]:
    page = (REPOSITORY / "docs" / "reference" / "coverage.md").read_text(encoding="utf-8")
    panels, others = found(
        r"simulates (\d+) data sets of every panel .* and (\d+) of the other truths", page
    )
    intervals, lowest, highest, nulls, most = found(
        r"^(\d+) intervals: .* in (\d+)% to (\d+)% of data sets\. "
        r"(\d+) true-null tests: at most (\d+)%",
        page,
    )
    missed = page.partition("## Exploratory\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in missed.splitlines() if line.startswith("| ")]
    rows = rows[2:]  # after the heading and its rule
    skewed = [
        float(row[2].partition("%")[0])
        for row in rows
        if row[0].startswith("variance of") and row[1].endswith("skewed")
    ]
    return [
        f"{panels} data sets of each panel of judges and {others} of the other truths",
        f"has {int(intervals):,} intervals, which should cover the truth in {lowest}% to "
        f"{highest}% of data sets, and {nulls} tests of a true null, of which at most {most}%",
        f"In {len(rows)} combinations of a figure and a truth an aim is missed",
        f"falls to {min(skewed)}% where effects are skewed",
    ]


def phrases_of_the_data() -> list[str]:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    held, planted = found(r"Recovery of planted values: (\d+) of (\d+) intervals", readme)
    with gzip.open(STUDIES / "llmbar" / "judgements.csv.gz", "rt", newline="") as file:
        judgements = sum(1 for _ in csv.DictReader(file))
    return [
        f"{held} of {planted} intervals of `make demo` hold the planted value",
        f"LLMBar [@zeng2024], with {judgements:,} shipped judgements",
        "estimates with a 95% interval",
    ]


@cache
def phrases() -> list[str]:
    """Return what the paper has to say, with numbers from the sources."""
    return [
        *phrases_of_the_registries(),
        *phrases_of_the_atlas(),
        *phrases_of_effective_votes(),
        *phrases_of_the_coverage(),
        *phrases_of_the_data(),
    ]


def test_the_numbers_of_the_paper_are_those_of_their_sources() -> None:
    assert [phrase for phrase in phrases() if body().count(phrase) != 1] == []


def test_no_number_of_the_paper_is_without_a_source() -> None:
    """The note of the table has the versions and dates of pages, which nothing here has."""
    left, notes = re.subn(r"Note: pages read on .*?page on judge validation\.", "", body())
    assert notes == 1
    for phrase in phrases():
        left = left.replace(phrase, "")
    assert re.findall(r"\S*\d\S*", re.sub(r"\[?@[\w; @]+\]?", "", left)) == []


def test_the_paper_has_the_form_of_the_journal() -> None:
    header, text = header_and_body()
    fields = yaml.safe_load(header)
    assert set(fields) == {"title", "tags", "authors", "date", "bibliography"}
    assert fields["bibliography"] == BIBLIOGRAPHY.name
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert fields["authors"] == citation["authors"]
    assert re.findall(r"^# (.*)$", text, re.MULTILINE) == SECTIONS
    assert 900 <= len(re.findall(r"\S*\w\S*", text)) <= 1300


def test_every_citation_is_in_the_bibliography_and_every_entry_is_cited() -> None:
    entries = dict(ENTRY.findall(BIBLIOGRAPHY.read_text(encoding="utf-8")))
    assert set(CITED.findall(body())) == entries.keys()
    for key, fields in entries.items():
        assert {"title", "author", "year"} <= set(re.findall(r"^  (\w+) = ", fields, re.M)), key


def test_the_note_and_the_bibliography_name_one_version_of_each_tool() -> None:
    entries = dict(ENTRY.findall(BIBLIOGRAPHY.read_text(encoding="utf-8")))
    versions = {
        key: version[1]
        for key, fields in entries.items()
        if (version := re.search(r"version = \{([\d.]+)\}", fields))
    }
    assert len(versions) == 5
    for key, released in versions.items():
        assert f" {released} (" in body(), key
