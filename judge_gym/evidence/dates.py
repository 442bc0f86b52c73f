"""Publication dates as corpora, feeds and search results write them.

Only unambiguous forms are read: `05/11/2026` gives None, because its month is unknown. Libraries
guess here (docs/decisions/0023-dates-urls-and-hidden-text.md).
"""

import re
from datetime import date, timedelta

ACCEPTED_DATES = "2026-11-05, 2026-11-05T10:30:00Z, 2026-11, 2026, 5 Nov 2026 or Nov 5, 2026"

_MONTHS = [
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
]
_YEAR_MONTH = re.compile(r"(\d{4})(?:-(\d{2}))?")
_YEAR_FIRST = re.compile(r"(\d{4})([-/])(\d{2})\2(\d{2})(?:[t ].*)?")
_DAY_FIRST = re.compile(r"(?:[a-z]{3,9}, )?(\d{1,2})\.? ([a-z]{3,9})\.?,? (\d{4})\b.*")
_MONTH_FIRST = re.compile(r"(?:[a-z]{3,9}, )?([a-z]{3,9})\.? (\d{1,2}),? (\d{4})\b.*")
_AGO = re.compile(r"(\d{1,4}) (minute|min|hour|day)s? ago")


def parse_date(text: str) -> date | None:
    """Return the day that `text` names, in its own time zone, or None.

    Reads ISO 8601, RFC 2822 and English month names. A month or a year alone is its first day, so
    that `2022` lies in a window that begins on 2022-01-01.
    """
    written = " ".join(text.lower().split())
    try:
        if match := _YEAR_MONTH.fullmatch(written):
            return date(int(match[1]), int(match[2] or 1), 1)
        if match := _YEAR_FIRST.fullmatch(written):
            return date(int(match[1]), int(match[3]), int(match[4]))
        if match := _DAY_FIRST.fullmatch(written):
            return date(int(match[3]), _month(match[2]), int(match[1]))
        if match := _MONTH_FIRST.fullmatch(written):
            return date(int(match[3]), _month(match[1]), int(match[2]))
    except ValueError:
        return None
    return None


def parse_age(text: str, today: date) -> date | None:
    """Return the day of an age such as "3 hours ago" or "2 days ago", or None.

    Weeks, months and years give None, because they name no day.
    """
    written = " ".join(text.lower().split())
    if written == "yesterday":
        return today - timedelta(days=1)
    match = _AGO.fullmatch(written)
    if match is None:
        return None
    return today - timedelta(days=int(match[1]) if match[2] == "day" else 0)


def _month(name: str) -> int:
    for number, month in enumerate(_MONTHS, start=1):
        if month.startswith(name):
            return number
    raise ValueError(f"{name} is not a month")
