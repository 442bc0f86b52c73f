"""Publication dates and source tiers."""

from datetime import date

import pytest

from judge_gym.evidence.dates import parse_age, parse_date
from judge_gym.evidence.tiers import tier_of


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2026-11-05", date(2026, 11, 5)),
        (" 2026-11-05 ", date(2026, 11, 5)),
        ("2026/11/05", date(2026, 11, 5)),
        ("2026-11-05T23:59:59Z", date(2026, 11, 5)),
        ("2026-11-05T23:59:59.123-08:00", date(2026, 11, 5)),
        ("2026-11-05 10:30:00 UTC", date(2026, 11, 5)),
        ("2026-11", date(2026, 11, 1)),
        ("2022", date(2022, 1, 1)),
        ("5 November 2026", date(2026, 11, 5)),
        ("5. Nov 2026", date(2026, 11, 5)),
        ("Nov 5, 2026", date(2026, 11, 5)),
        ("Sept. 5, 2026", date(2026, 9, 5)),
        ("Thursday, November 5, 2026", date(2026, 11, 5)),
        ("Thu, 05 Nov 2026 10:00:00 GMT", date(2026, 11, 5)),
        ("2024-02-29", date(2024, 2, 29)),
    ],
)
def test_dates_that_are_read(written, day):
    assert parse_date(written) == day


@pytest.mark.parametrize(
    "written",
    [
        *("", "yesterday", "05/11/2026", "5.11.2026", "2026-13-01", "2023-02-29", "0000"),
        *(
            "20261105",
            "2026-11-05x",
            "5 Marvelous 2026",
            "1730764800",
            "2026-11-05-06",
            "31 Jun 2026",
        ),
    ],
)
def test_dates_that_are_not_guessed(written):
    assert parse_date(written) is None


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("3 hours ago", date(2026, 11, 7)),
        ("45 minutes ago", date(2026, 11, 7)),
        ("1 day ago", date(2026, 11, 6)),
        ("10 Days ago", date(2026, 10, 28)),
        ("Yesterday", date(2026, 11, 6)),
        ("2 weeks ago", None),
        ("3 months ago", None),
        ("2 days", None),
        ("", None),
    ],
)
def test_ages_that_name_a_day(written, day):
    assert parse_age(written, date(2026, 11, 7)) == day


@pytest.mark.parametrize(
    ("domain", "name", "weight"),
    [
        ("harvard.edu", "academic", 0.95),
        ("politics.ox.ac.uk", "academic", 0.95),
        ("anu.edu.au", "academic", 0.95),
        ("v-dem.net", "academic", 0.95),
        ("brookings.edu", "think tank", 0.65),  # the entry beats the suffix
        ("www2.freedomhouse.org", "think tank", 0.65),
        ("en.wikinews.org", "news", 0.30),
        ("BBC.co.uk", "news", 0.30),
        ("abc.net.au", "news", 0.30),
        ("net.au", "other", 0.10),
        ("notbbc.co.uk", "other", 0.10),
        ("bbc.co.uk.evil.example", "other", 0.10),
        ("edu.example.org", "other", 0.10),
        ("state.gov", "other", 0.10),
        ("", "other", 0.10),
    ],
)
def test_tier_by_domain(domain, name, weight):
    tier = tier_of(domain)
    assert (tier.name, tier.weight) == (name, weight)
