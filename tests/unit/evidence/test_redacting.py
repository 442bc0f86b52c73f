"""Personal data that is replaced before a text is stored, sent or shown."""

import json
from pathlib import Path

import pytest

from judge_gym.analysis.recorded import audited
from judge_gym.errors import ConfigError
from judge_gym.evidence.redacting import Redaction, split
from judge_gym.judges.item_files import read_item_file
from judge_gym.recorded.files import recorded_files
from judge_gym.recorded.mapping import Recorded, stages_rubric
from judge_gym.report.page import render_page
from judge_gym.report.recorded import audit_report


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ann.lee+work@mail.example.org", "email"),
        ("o'hara@müller.example", "email"),
        ("ann at example.org", None),
        ("a.b(at)x.org", "email"),
        ("a.b [at] x(dot)org", "email"),
        ("a.b @ x.org", "email"),
        ("ann%40x.org", "email"),
        ("ANN@EXAMPLE.ORG", "email"),
        ("@ann", None),
        ("+49 30 1234567", "phone"),
        ("+1 (415) 555-2671", "phone"),
        ("0041 44 123 45 67", "phone"),
        ("030 1234567", "phone"),
        ("(415) 555-2671", "phone"),
        ("415-555-2671", "phone"),
        ("555-123-4567", "phone"),
        ("(555) 123-4567", "phone"),
        ("555 123 4567", "phone"),
        ("555.123.4567", "phone"),
        ("1-415-555-2671", "phone"),
        ("4155552671", "phone"),
        ("(415)555-2671", "phone"),
        ("555-1234", "phone"),
        ("98765 43210", "phone"),
        ("06 12 34 56 78", "phone"),
        ("06.12.34.56.78", "phone"),
        ("06-12-34-56-78", "phone"),
        ("030/901820", "phone"),
        ("+49 (0)30 901820", "phone"),
        ("+49\u00a030\u2011901820", "phone"),
        ("415-555-2671 ext. 12", "phone"),
        ("4155552671x12", "phone"),
        ("call4155552671", "phone"),
        ("tel-555-123-4567", "phone"),
        ("0049 30 901820 020 7946 0018", "phone"),
        ("2026-03-01 10:00", None),
        ("2026-03-01T10:00:00.123456Z", None),
        ("2019-2024", None),
        ("\u20ac0 123 456 789", None),
        ("$1,234,567.89", None),
        ("1234567 EUR", None),
        ("0.123456789", None),
        ("51.5073219, -0.1276474", None),
        ("192.168.100.200", None),
        ("4155552671x", None),
        ("CUST-1234567", None),
        ("550e8400-e29b-41d4-a716-446655440000", None),
        ("55084000-1234-4123-9123-446655440000", None),
        ("1234567890123456", None),
        ("01.03.2026", None),
        ("01/03/2026", None),
        ("3.1415926535", None),
        ("12345678901", "phone"),
        ("4bf92f3577b34da6a3ce929d0e0e4736", None),
        ("RFC 2616, 1999-06", None),
    ],
)
def test_what_looks_like_an_address_or_a_number(text: str, kind: str | None) -> None:
    redaction = Redaction(("email", "phone"))
    shown = redaction.values({"text": f"Write to {text}, please."})["text"]
    assert shown == f"Write to {f'[redacted {kind}]' if kind else text}, please."
    assert dict(redaction.counts) == ({kind: 1} if kind else {})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("invoice 0012345678", "invoice [redacted phone]"),
        ("tel:+442079460958", "tel:[redacted phone]"),
        ("_415-555-2671_", "_[redacted phone]_"),
        ("Anna-415-555-2671", "Anna-[redacted phone]"),
        ("2026-03-01 415-555-2671", "2026-03-01 [redacted phone]"),
        ("415-555-2671 2026-03-01", "[redacted phone] 2026-03-01"),
        ("7,4155552671,b", "7,[redacted phone],b"),
        ("555-123-4567 or 06 12 34 56 78", "[redacted phone] or [redacted phone]"),
    ],
)
def test_a_number_is_found_beside_other_text(text: str, shown: str) -> None:
    assert Redaction(("phone",)).values({"text": text}) == {"text": shown}


def test_a_number_that_a_tool_was_called_with_is_no_exception() -> None:
    row = {"input": {"phone": 4155552671, "order": 1000, "sure": True}, "count": 4155552671}
    assert Redaction(("phone",)).values(row) == {
        "input": {"phone": "[redacted phone]", "order": 1000, "sure": True},
        "count": 4155552671,
    }


def test_what_only_looks_like_a_number_is_counted_by_its_kind() -> None:
    redaction = Redaction(("phone",))
    redaction.values({"a": "2026-03-01, 2026-03-02, CUST-1234567, 12 EUR", "b": "555-123-4567"})
    assert dict(redaction.kept) == {"date": 2, "id with letters": 1}
    assert redaction.said() == (
        "Redacted in 1 row: phone (1). Not taken for phone numbers, and kept: date (2), "
        "id with letters (1)."
    )


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("trace=trace_id", "looks like another key"),
        ("unit=turn", "by itself, as unit=turn"),
        ("emails", "Did you mean email"),
        ("Phone", "Did you mean phone"),
    ],
)
def test_what_is_hardly_meant_as_an_expression_is_refused(what: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Redaction(("email", what))


def test_a_column_is_looked_for_in_the_others_and_a_pattern_is_ones_own() -> None:
    redaction = Redaction(("{user.name}", r"CUST-\d{3,5}"))
    row = {
        "user": {"name": "Ann Lee"},
        "text": "ann lee (CUST-0042) is no Ann Leerer; CUST-7.",
        "messages": [{"role": "user", "content": "I am Ann Lee, CUST-123."}],
        "score": 4,
    }
    assert redaction.values(row, without=["user"]) == {
        "user": {"name": "Ann Lee"},
        "text": "[redacted user.name] ([redacted pattern]) is no Ann Leerer; CUST-7.",
        "messages": [{"role": "user", "content": "I am [redacted user.name], [redacted pattern]."}],
        "score": 4,
    }
    said = redaction.said()
    assert said == (r"Redacted in 1 row: {user.name} (2), the expression CUST-\d{3,5} (2).")


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("email,phone", ["email", "phone"]),
        (r"email, CUST-\d{3,5} ,{name}", ["email", r"CUST-\d{3,5}", "{name}"]),
        (r"[,;]x,\(,a", ["[,;]x", r"\(", "a"]),
        ("", []),
    ],
)
def test_a_list_is_written_with_commas(written: str, parts: list[str]) -> None:
    assert split(written) == parts


@pytest.mark.parametrize("pattern", ["CUST-(", "x*"])
def test_a_pattern_that_is_none_or_fits_all_is_refused(tmp_path: Path, pattern: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "a"}\n')
    with pytest.raises(ConfigError, match="redact has"):
        read_item_file(file, {"redact": pattern})


def test_items_never_hold_what_is_replaced(tmp_path: Path) -> None:
    """Neither their texts, nor other columns; their names and labels stay."""
    file = tmp_path / "chats.jsonl"
    session = {
        "id": "ann@example.org/1",
        "truth": "4",
        "customer": "Ann",
        "note": "call ann@example.org",
        "messages": [
            {"role": "user", "content": "I am Ann, ann@example.org."},
            {"role": "assistant", "content": "Hello Ann."},
        ],
    }
    file.write_text(json.dumps(session) + "\n")
    read = read_item_file(file, {"redact": "email,{customer}", "unit": "turn"})
    [item] = read.items
    assert "Hello [redacted customer]." in item.text
    assert "I am [redacted customer], [redacted email]." in item.context
    assert item.id == "ann@example.org/1#2"
    assert read.cells[0]["note"] == "call [redacted email]"
    assert "Redacted in 1 row: email (2), {customer} (3)." in read.conversations.said()
    plain = read_item_file(file, {"unit": "turn"})
    assert plain.items[0].key != item.key


def test_an_audit_shows_no_text_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [
        {"item": f"i{n}", "judge": judge, "score": 1 + n % 5, "text": f"Mail bo{n}@example.org.",
         "why": "As bo@example.org says."}
        for n in range(6) for judge in "ab"
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, rows)))
    recorded = Recorded.model_validate(
        {
            "name": "rows", "concept": "c", "source": "made up", "judge_column": "judge",
            "scale": {"lowest": 1, "highest": 5}, "item": {"key": "item", "text": "text"},
            "verdicts": [{"column": "score", "answer": "why"}], "redact": ["email"],
        }
    )  # fmt: skip
    found = audited(recorded_files([file], recorded), recorded, stages_rubric(recorded))
    page = render_page(audit_report(found, recorded))
    assert "Mail [redacted email]." in page
    assert "example.org" not in page
    assert "Redacted in 12 rows: email (24)." in page
