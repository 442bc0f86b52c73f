"""The Retry-After header of an HTTP answer, as a number of seconds."""

import email.utils
import math
from datetime import UTC, datetime


def retry_after_seconds(value: str) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or a date.

    At least 0; None when it says neither. A date without a zone is in UTC (RFC 9110, section
    5.6.7).
    """
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = email.utils.parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
