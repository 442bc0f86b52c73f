"""What a window keeps, the reason for everything else, and the text as it is kept."""

import hashlib
import unicodedata
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.evidence.documents import Dropped, RawDocument
from judge_gym.evidence.normal_text import cut_text, normal_line, normal_text
from judge_gym.evidence.screening import ScreeningLimits, screen

RULES = ScreeningLimits(
    max_documents=10, start=date(2026, 11, 1), end=date(2026, 11, 7), min_characters=20
)
TEXT = "The harbour council of Norvania met again."


def raw(text=TEXT, url="https://example.org/a", day=3, **others):
    published = date(2026, 11, day) if day else None
    return RawDocument(origin="row 1", text=text, url=url, published=published, **others)


@pytest.mark.parametrize(
    ("document", "reason", "detail"),
    [
        (raw(day=8), "outside_dates", "row 1: dated 2026-11-08, wanted 2026-11-01 to 2026-11-07"),
        (raw(day=None), "undated", "row 1: no date, and the window has dates"),
        (raw("x" * 19), "too_short", "row 1: 19 characters, at least 20 needed"),
        (raw(" \n\t" * 50), "too_short", "row 1: 0 characters, at least 20 needed"),
        (raw("a\u200b" * 10 + "b" * 9), "too_short", "row 1: 19 characters, at least 20 needed"),
        (raw(url="ftp://example.org/a"), "unsafe_url", "not an http or https address"),
        (raw(url="javascript:alert(1)"), "unsafe_url", "not an http or https address"),
        (raw(TEXT + "!", "https://EXAMPLE.org/first/?utm_source=x#top"), "duplicate_url", "row 0"),
        (raw("The first article of all,  kept."), "duplicate_content", "same text as row 0"),
    ],
)
def test_each_reason(document, reason, detail):
    first = RawDocument(
        "row 0",
        "The first article of all, kept.",
        "https://example.org/first",
        "",
        date(2026, 11, 1),
    )
    collected = screen([first, document], RULES)
    assert [one.url for one in collected.documents] == ["https://example.org/first"]
    (dropped,) = collected.dropped
    assert dropped.reason == reason
    assert detail in dropped.detail


def test_dates_are_inclusive_and_either_may_be_open():
    documents = [
        raw(f"{TEXT} Day {day}.", f"https://example.org/{day}", day) for day in (1, 2, 6, 7, 8)
    ]

    def kept(start, end):
        found = screen(
            documents, ScreeningLimits(max_documents=9, start=start, end=end, min_characters=20)
        )
        return [one.published.day for one in found.documents]

    assert kept(date(2026, 11, 2), date(2026, 11, 7)) == [2, 6, 7]
    assert kept(date(2026, 11, 7), None) == [7, 8]
    assert kept(None, date(2026, 11, 1)) == [1]
    assert kept(None, None) == [1, 2, 6, 7, 8]


def test_an_undated_document_stays_when_the_window_has_no_dates():
    assert screen([raw(day=None)], ScreeningLimits(max_documents=1, min_characters=20)).documents


def test_the_limit_counts_only_what_is_kept():
    rules = ScreeningLimits(max_documents=2, min_characters=20)
    documents = [
        raw("short"),
        raw(),
        raw(),
        raw(TEXT + " 2", ""),
        raw(TEXT + " 3", ""),
        raw("short"),
    ]
    collected = screen(documents, rules)
    assert len(collected.documents) == 2
    assert collected.dropped_by_reason() == {"too_short": 2, "duplicate_url": 1, "over_limit": 1}
    assert next(iter(collected.dropped_by_reason())) == "too_short"


def test_what_the_source_dropped_stays_dropped_and_is_bounded():
    collected = screen([Dropped("u" * 9_000, "t", "scrape_failed", "x\n" * 9_000)], RULES)
    (dropped,) = collected.dropped
    assert dropped.reason == "scrape_failed"
    assert len(dropped.url) <= 500
    assert len(dropped.detail) <= 500
    assert "\n" not in dropped.detail


def test_a_kept_document_carries_what_identifies_it():
    document = raw(
        url="https://www.BBC.co.uk/news/?utm_source=x", title=" A\u202e title\n", truth=0.25
    )
    (kept,) = screen([document], RULES).documents
    assert kept.url == "https://www.BBC.co.uk/news/?utm_source=x"
    assert kept.canonical_url == "https://www.bbc.co.uk/news"
    assert (kept.domain, kept.tier.name) == ("bbc.co.uk", "news")
    assert (kept.title, kept.truth, kept.cut_from) == ("A title", 0.25, None)
    assert kept.content_hash == hashlib.sha256(kept.text.encode()).hexdigest()


def test_a_document_without_address_is_named_by_its_content():
    (one,) = screen([raw(url="")], RULES).documents
    (again,) = screen([raw(TEXT + "  ", url="")], RULES).documents
    (other,) = screen([raw(TEXT + " More.", url="")], RULES).documents
    assert one.canonical_url == again.canonical_url == f"corpus:{one.content_hash[:32]}"
    assert other.canonical_url != one.canonical_url
    assert (one.url, one.domain, one.tier.name) == ("", "", "other")


def test_a_long_text_is_cut_and_says_from_what():
    rules = ScreeningLimits(max_documents=3, min_characters=20, max_characters=50)
    (exact, cut) = screen([raw("e" * 50), raw("f" * 51, "https://example.org/b")], rules).documents
    assert (len(exact.text), exact.cut_from, exact.truncated) == (50, None, False)
    assert (len(cut.text), cut.cut_from, cut.truncated) == (50, 51, True)


def test_rules_that_could_cut_below_their_own_minimum_are_refused():
    ScreeningLimits(max_documents=1, min_characters=80, max_characters=100)
    with pytest.raises(ValueError, match="four fifths"):
        ScreeningLimits(max_documents=1, min_characters=81, max_characters=100)


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("One two.", 8, "One two."),
        # limit 20: the last fifth is characters 17 to 20; the sentence ends at 18
        ("Aaaa bbbb cccc ddd. Eeee ffff.", 20, "Aaaa bbbb cccc ddd."),
        ("Aaaa bbbb cccc ddddd. Eeee.", 21, "Aaaa bbbb cccc ddddd."),  # ends exactly at the limit
        ("Aa. Bbbb cccc dddd eeee ffff", 20, "Aa. Bbbb cccc dddd"),  # no sentence end: a word's
        ("x" * 30, 20, "x" * 20),  # neither: hard
        ('Aaaa bbbb cccc "dd." Eeee ffff', 20, 'Aaaa bbbb cccc "dd."'),
        ("Costs rose by 12.75 percent", 20, "Costs rose by 12.75"),  # a decimal point ends nothing
    ],
)
def test_where_a_text_is_cut(text, limit, cut):
    assert cut_text(text, limit) == cut


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("caf\u0065\u0301", "café"),
        ("a\u200bb\u200dc\ufeffd\u2060e\u00adf", "abcdef"),
        ("pay\u202eload\u2066x\u2069", "payloadx"),
        ("A\U000e0056\U000e0045\U000e0052B", "AB"),  # tag characters spelling VER
        ("A\ufe0f\U000e0101B\u3164C\u2800", "ABC"),
        ("a\x00\x07\x1b[31mb", "a[31mb"),
        ("a\ud800b", "ab"),
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("a \t\u00a0\u3000b", "a b"),
        ("  a  \n\n\n\n  b  ", "a\n\nb"),
        ("ｆｕｌｌ Кириллица", "ｆｕｌｌ Кириллица"),  # what can be seen stays
    ],
)
def test_normal_text(written, kept):
    assert normal_text(written) == kept


def test_normal_line_is_one_bounded_line():
    assert normal_line(" a\n\nb  c ", 10) == "a b c"
    assert normal_line("abc def", 4) == "abc"


anything = st.text(st.characters(exclude_categories=[]), max_size=120)


@settings(max_examples=150)
@given(anything)
def test_normal_text_is_stable_and_holds_nothing_unseen(written):
    text = normal_text(written)
    assert normal_text(text) == text
    assert {unicodedata.category(c) for c in text if c != "\n"}.isdisjoint({"Cc", "Cf", "Cs"})
    text.encode()


inputs = st.lists(
    st.one_of(
        st.builds(
            RawDocument,
            origin=st.just("row"),
            text=st.one_of(anything, st.text("ab. \n", min_size=15, max_size=90)),
            url=st.sampled_from(
                ["", "https://a.org", "https://a.org/?b=1", "https://b.org", "x:y"]
            ),
            title=st.text(max_size=5),
            published=st.none() | st.dates(date(2026, 10, 30), date(2026, 11, 9)),
        ),
        st.just(Dropped("", "", "unreadable", "row")),
    ),
    max_size=12,
)


@settings(max_examples=200)
@given(inputs, st.integers(1, 5), st.booleans())
def test_everything_is_kept_or_dropped_once_and_screening_again_changes_nothing(
    given_, most, dated
):
    rules = ScreeningLimits(
        max_documents=most,
        start=date(2026, 11, 1) if dated else None,
        min_characters=10,
        max_characters=40,
    )
    once = screen(given_, rules)
    assert len(once.documents) + len(once.dropped) == len(given_)
    assert len(once.documents) <= most
    assert all(10 <= len(one.text) <= 40 for one in once.documents)
    assert len({one.canonical_url for one in once.documents}) == len(once.documents)
    assert len({one.content_hash for one in once.documents}) == len(once.documents)
    if dated:
        assert all(one.published >= date(2026, 11, 1) for one in once.documents)

    back = [
        RawDocument("row", one.text, one.url, one.title, one.published) for one in once.documents
    ]
    again = screen(back, rules)
    assert again.dropped == ()
    assert [(one.canonical_url, one.text, one.content_hash) for one in again.documents] == [
        (one.canonical_url, one.text, one.content_hash) for one in once.documents
    ]
