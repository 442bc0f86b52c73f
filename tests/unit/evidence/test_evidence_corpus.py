"""Corpus and benchmark files: names found and mapped, faults named, real data counted."""

import asyncio
import csv
import gzip
import json
from datetime import date
from pathlib import Path

import pytest

from judge_gym.design.window import BenchmarkSource, CorpusSource, Window
from judge_gym.errors import ConfigError, DataFileError, EvidenceError, JudgeGymError
from judge_gym.evidence import delimited
from judge_gym.evidence import rows as row_files
from judge_gym.evidence.corpus import read_corpus
from judge_gym.evidence.documents import Dropped, RawDocument
from judge_gym.evidence.firecrawl import FirecrawlAccess
from judge_gym.evidence.sources import collect

SHARED = Path(__file__).parents[4] / "shared" / "data"
BODY = "The fictional council of Norvania met for a long while. " * 5


def jsonl(path, *rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def window(source, **others):
    return Window(country="Norvania", source=source, **others)


def gather(source, **others):
    return asyncio.run(collect(window(source, **others), FirecrawlAccess()))


def test_a_row_of_our_own_names(tmp_path):
    file = jsonl(
        tmp_path / "a.jsonl",
        {"title": "T", "url": "https://example.org/a", "date": "2026-11-05", "text": "Body"},
    )
    assert list(read_corpus(file, {})) == [
        RawDocument("a.jsonl line 1", "Body", "https://example.org/a", "T", date(2026, 11, 5))
    ]


@pytest.mark.parametrize(
    "row",
    [
        {"headline": "T", "link": "https://example.org", "published": "5 Nov 2026", "body": "B"},
        {"name": "T", "url": "https://example.org", "published_at": "2026-11-05T01:00Z",
         "content": "B"},
        {"Title": "T", " URL ": "https://example.org", "DATE": "Nov 5, 2026", "Article": "B"},
        {"title": "", "headline": "T", "link": "https://example.org", "date": None,
         "publication_date": "2026-11-05", "text": "", "markdown": "B", "truth": "ignored"},
    ],
)  # fmt: skip
def test_several_names_are_found_by_themselves(tmp_path, row):
    (found,) = read_corpus(jsonl(tmp_path / "a.jsonl", row), {})
    assert found == RawDocument(
        "a.jsonl line 1", "B", "https://example.org", "T", date(2026, 11, 5), None
    )


def test_mapped_names_win_over_found_ones(tmp_path):
    file = jsonl(tmp_path / "a.jsonl", {"text": "no", "Absatz": "yes", "index": 0.25, "year": 2022})
    (found,) = read_corpus(file, {"text": "Absatz", "truth": "index"})
    assert (found.text, found.truth, found.published) == ("yes", 0.25, date(2022, 1, 1))


@pytest.mark.parametrize(
    ("written", "truth"),
    [("0.25", 0.25), (0.25, 0.25), (1, 1.0), ("A>B", "A>B"), (" a ", "a"), ("", None)],
)  # fmt: skip
def test_a_truth_is_a_number_or_a_label(tmp_path, written, truth):
    (found,) = read_corpus(jsonl(tmp_path / "a.jsonl", {"text": "b", "t": written}), {"truth": "t"})
    assert found.truth == truth


def test_a_truth_with_a_decimal_comma_is_a_number(tmp_path):
    """As scores and labels of such a file are; with both marks nobody can tell."""
    file = tmp_path / "a.csv"
    file.write_text("text;truth\nfirst;0,8\nsecond;1\n")
    assert [found.truth for found in read_corpus(file, {"truth": "truth"})] == [0.8, 1.0]
    file.write_text("text;truth\nfirst;0,8\nsecond;0.5\n")
    with pytest.raises(DataFileError, match=r"truth has numbers with a decimal comma \(line 2\)"):
        list(read_corpus(file, {"truth": "truth"}))


def test_csv_with_quotes_newlines_and_a_byte_order_mark(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(
        '\ufefftitle,text,date\n"A, ""b""","one\ntwo",2026-11-05\n\nC,three,\n', encoding="utf-8"
    )
    assert list(read_corpus(file, {})) == [
        RawDocument("a.csv line 2", "one\ntwo", "", 'A, "b"', date(2026, 11, 5)),
        RawDocument("a.csv line 5", "three", "", "C"),
    ]


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        (b"{not json", "a.jsonl line 2: not JSON"),
        (b"[1, 2]", "a.jsonl line 2: a JSON list, and no `columns` name what is in it"),
        (b'{"text": "caf\xe9"}', "a.jsonl line 2: not UTF-8"),
        (b'{"text": "a\\ud800b"}', "a.jsonl line 2: field 'text' is not UTF-8"),
        (b'{"title": "only"}', "a.jsonl line 2: no field 'text'"),
        (b'{"text": 7}', "a.jsonl line 2: field 'text' is int, not text"),
        (b'{"text": "b", "title": ["a"]}', "a.jsonl line 2: field 'title' is list, not text"),
        (b'{"text": "b", "date": "05/11/2026"}', "field 'date' is '05/11/2026'; a date is 2026-11"),
        (b'{"text": "b", "k": true}', "field 'k' is True; a truth is a number or a label"),
        (b'{"text": "b", "k": NaN}', "field 'k' is 'nan', not a finite number"),
        (b"[" * 100_000, "a.jsonl line 2: not JSON"),
    ],
)
def test_a_bad_row_is_dropped_and_the_others_stay(tmp_path, line, detail):
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"text": "first", "k": 1}\n' + line + b'\n\n{"text": "last"}\n')
    first, bad, last = read_corpus(file, {"truth": "k"})
    assert (first.text, last.text, last.origin) == ("first", "last", "a.jsonl line 4")
    assert isinstance(bad, Dropped)
    assert bad.reason == "unreadable"
    assert detail in bad.detail


def test_a_csv_row_that_does_not_fit_its_header_is_dropped(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(b"title,text\nA,one\nB\nC,two,three\nD,caf\xe9\nE,five\n")
    found = list(read_corpus(file, {}))
    assert [one.text for one in found if isinstance(one, RawDocument)] == ["one", "five"]
    assert [one.detail for one in found if isinstance(one, Dropped)] == [
        "a.csv line 3: 1 value under 2 column names",
        "a.csv line 4: 3 values under 2 column names",
        "a.csv line 5: field 'text' is not UTF-8: the byte 0xE9, which is 'é' in Windows-1252 "
        "(Latin-1)",
    ]


def test_values_larger_than_the_limit(tmp_path, monkeypatch):
    for module in (row_files, delimited):
        monkeypatch.setattr(module, "MAX_ROW_CHARACTERS", 200_000)
    limit = csv.field_size_limit(131_072)
    try:
        large, huge = "x" * 150_000, "y" * 200_100
        lines = jsonl(tmp_path / "a.jsonl", {"text": large}, {"text": huge}, {"text": "z"})
        first, second, third = read_corpus(lines, {})
        assert (len(first.text), third.text, third.origin) == (150_000, "z", "a.jsonl line 3")
        assert second.detail == "a.jsonl line 2: longer than 200,000 bytes"
        table = tmp_path / "a.csv"
        table.write_text(f"text\n{large}\n")
        assert [len(one.text) for one in read_corpus(table, {})] == [150_000]
        table.write_text(f"text\n{large}\n{huge}\n")
        with pytest.raises(EvidenceError, match=r"a\.csv line 3: not CSV from here on"):
            next(read_corpus(table, {}))
    finally:
        csv.field_size_limit(limit)


@pytest.mark.parametrize(
    ("name", "content", "fields", "message"),
    [
        ("a.jsonl", "", {}, "a.jsonl: no row can be read (it is empty)."),
        ("a.csv", "title,text\n", {}, "a.csv: no row can be read (it is empty)."),
        ("a.csv", "titel;inhalt\nA;B\n", {}, "(line 2: no field 'text')"),
        ("a.csv", "titel;inhalt\nA;B\n", {}, "Its columns are 'titel', 'inhalt'"),
        ("a.csv", "a,b\n1,2\n", {}, "text: text, content, body, article, markdown; map others"),
        ("a.csv", "text\nb\n", {"truth": "v2x"}, "a.csv: fields.truth: no row has 'v2x'."),
        ("a.csv", "text\nb\n", {"body": "text"}, "'body' is not a field of a document."),
        ("a.csv", "text\nb\n", {"body": "text"}, "Use title, url, date, text, truth, category."),
        (
            "a.txt",
            "text",
            {},
            "a.txt is not a corpus file. Use one of .jsonl, .ndjson, .json, .csv",
        ),
    ],
)
def test_an_unusable_file_is_one_error_that_names_it(tmp_path, name, content, fields, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(JudgeGymError) as error:
        list(read_corpus(tmp_path / name, fields))
    assert message in str(error.value)


def test_missing_and_empty_folders(tmp_path):
    with pytest.raises(ConfigError, match="nowhere does not exist"):
        list(read_corpus(tmp_path / "nowhere", {}))
    (tmp_path / ".hidden.csv").write_text("text\nb\n")
    (tmp_path / "notes.md").write_text("notes")
    with pytest.raises(ConfigError, match="holds no corpus file"):
        list(read_corpus(tmp_path, {}))


def test_a_folder_is_read_in_sorted_order(tmp_path):
    (tmp_path / "one" / "deep").mkdir(parents=True)
    jsonl(tmp_path / "one" / "b.jsonl", {"text": "second"})
    (tmp_path / "one" / "a.csv").write_text("text\nfirst\n")
    jsonl(tmp_path / "one" / "deep" / "a.ndjson", {"text": "third"})
    assert [one.text for one in read_corpus(tmp_path / "one", {})] == ["first", "second", "third"]


def test_a_window_over_a_corpus_counts_every_row(tmp_path):
    file = tmp_path / "news.jsonl"
    rows = [
        {"text": BODY + "One.", "date": "2026-11-01", "url": "https://example.org/1"},
        {"text": BODY + "Two.", "date": "2026-11-02", "url": "https://example.org/1#again"},
        {"text": BODY + "One.", "date": "2026-11-03", "url": "https://example.org/3"},
        {"text": "Too short.", "date": "2026-11-03"},
        {"text": BODY + "Late.", "date": "2026-12-03"},
        {"text": BODY + "When?"},
        {"text": BODY + "Odd.", "date": "soon"},
        {"text": BODY + "Two.", "date": "2026-11-07"},
        {"text": BODY + "Three.", "date": "2026-11-07"},
    ]
    jsonl(file, *rows)
    found = gather(
        CorpusSource(path=file), start=date(2026, 11, 1), end=date(2026, 11, 7), max_documents=2
    )
    assert [one.text[-4:] for one in found.documents] == ["One.", "Two."]
    assert found.dropped_by_reason() == {
        "duplicate_url": 1,
        "duplicate_content": 1,
        "too_short": 1,
        "outside_dates": 1,
        "undated": 1,
        "unreadable": 1,
        "over_limit": 1,
    }


def test_benchmark_items_may_be_short_and_carry_their_truth(tmp_path):
    file = jsonl(tmp_path / "b.jsonl", {"text": "2 + 2", "truth": "4"}, {"text": "x", "truth": "A"})
    found = gather(BenchmarkSource(path=file))
    assert [(one.text, one.truth) for one in found.documents] == [("2 + 2", 4.0), ("x", "A")]
    assert found.dropped == ()


@pytest.mark.parametrize(
    ("row", "fields", "message"),
    [
        ({"text": "x"}, {}, "b.jsonl line 2: no truth in field 'truth'"),
        ({"text": "x", "truth": ""}, {}, "b.jsonl line 2: no truth in field 'truth'"),
        ({"text": "x"}, {"truth": "label"}, "b.jsonl line 1: no truth in field 'label'"),
        ({"truth": "A"}, {}, "b.jsonl line 2: no field 'text'"),
    ],
)
def test_a_benchmark_with_a_hole_is_refused(tmp_path, row, fields, message):
    file = jsonl(tmp_path / "b.jsonl", {"text": "ok", "truth": 1}, row)
    with pytest.raises(EvidenceError) as error:
        gather(BenchmarkSource(path=file, fields=fields))
    assert message in str(error.value)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
def test_real_news_by_date():
    """295 rows with 295 addresses: 293 of 2019 and 2020, 14 of them over 20,000 characters, and
    2 of March 2021, one of 22 characters. October 2020 has 12.
    """
    source = CorpusSource(path=SHARED / "wikinews_2019_2020.csv")
    years = gather(source, start=date(2019, 1, 1), end=date(2020, 12, 31), max_documents=1_000)
    assert len(years.documents) == 293
    assert years.dropped_by_reason() == {"outside_dates": 2}
    assert sum(one.truncated for one in years.documents) == 14
    assert {one.tier.name for one in years.documents} == {"news"}

    month = gather(source, start=date(2020, 10, 1), end=date(2020, 10, 31), max_documents=10)
    assert len(month.documents) == 10
    assert month.dropped_by_reason() == {"outside_dates": 283, "over_limit": 2}

    everything = gather(source, max_documents=1_000)
    assert len(everything.documents) == 294
    assert everything.dropped_by_reason() == {"too_short": 1}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
def test_real_reports_with_their_truth():
    source = CorpusSource(
        path=SHARED / "state_hr2022_vdem.jsonl", fields={"title": "country", "truth": "v2x_libdem"}
    )
    found = gather(source, start=date(2022, 1, 1), end=date(2022, 12, 31), max_documents=200)
    assert len(found.documents) == 170
    assert found.dropped == ()
    truths = {one.title: one.truth for one in found.documents}
    assert truths["Mauritania"] == 0.196
    assert all(isinstance(truth, float) and 0 <= truth <= 1 for truth in truths.values())
    assert all(one.published == date(2022, 1, 1) for one in found.documents)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
def test_real_benchmark_items():
    """146 LLMBar items; the instruction as text, `1` or `2` as the better output."""
    source = BenchmarkSource(
        path=SHARED / "llmbar_natural_manual.jsonl", fields={"text": "input", "truth": "label"}
    )
    found = gather(source, max_documents=200)
    assert len(found.documents) + len(found.dropped) == 146
    assert {one.truth for one in found.documents} == {1.0, 2.0}
    assert set(found.dropped_by_reason()) <= {"duplicate_content"}


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_compressed_file_reads_as_it_was(tmp_path, name):
    plain = tmp_path / name
    text = {"a.csv": "sep=;\nitem;label\né;1\n", "a.jsonl": '{"item": "é", "label": 1}\n'}[name]
    plain.write_text(text, encoding="utf-8")
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert list(row_files.read_rows(packed)) == list(row_files.read_rows(plain))
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(EvidenceError, match=f"{name}.gz cannot be decompressed"):
        list(row_files.read_rows(packed))


def test_a_json_array_reads_as_its_objects_a_line_do(tmp_path):
    objects = [{"item": "é]", "nested": {"list": [1, "}"]}}, {"item": "b", "nested": {}}]
    array, lines = tmp_path / "a.json", tmp_path / "a.jsonl"
    lines.write_text("".join(json.dumps(one) + "\n" for one in objects))
    for text in (json.dumps(objects), json.dumps(objects, indent=2), lines.read_text()):
        array.write_text("\ufeff" + text, encoding="utf-8")
        rows = [(row.values, row.fault) for row in row_files.read_rows(array)]
        assert rows == [(row.values, row.fault) for row in row_files.read_rows(lines)]
    array.write_text(" [ ] ")
    assert list(row_files.read_rows(array)) == []


@pytest.mark.parametrize(
    ("text", "line", "rows", "fault"),
    [
        ('[{"a": 1},\n\n {"a": 2]', 3, 1, "not JSON: Expecting ',' delimiter"),
        ('[{"a": 1}\n {"a": 2}]', 1, 1, "no comma or bracket after this entry"),
        ('[{"a": 1}] [', 1, 1, "no comma or bracket after this entry"),
        ('[{"a": 1},\n3]', 2, 1, "not a JSON object"),
        ('[{"a": 1},', 1, 1, "not JSON: Expecting value"),
        ('{\n "results": []\n}', 1, 0, "neither an array of objects nor an object a line"),
    ],
)
def test_an_array_with_a_mistake_names_its_line(tmp_path, text, line, rows, fault):
    (tmp_path / "a.json").write_text(text)
    read = list(row_files.read_rows(tmp_path / "a.json"))
    assert [row.fault for row in read[:rows]] == [""] * rows
    assert fault in next(row.fault for row in read if row.fault)
    assert next(row.line for row in read if row.fault) == line
