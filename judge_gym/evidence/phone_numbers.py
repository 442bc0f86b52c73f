"""Phone numbers in texts, and what looks like one and is none.

No country's plan of numbers is used: seven or more digits with what people write between them are a
number, so that rather too much is found than too little.
"""

FEWEST_DIGITS = 7
_SPACE = r"[ \u00a0\u2007\u2009\u202f]"
_BETWEEN = r"[ \u00a0\u2007\u2009\u202f()/.\u00b7\u2010-\u2015-]{0,3}"
_END = rf"(?!{_BETWEEN}\d)"
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_OF_YEAR = (
    rf"(?:{_YEAR}-\d\d-\d\d|{_YEAR}[./]\d\d?[./]\d\d?|{_DAY}-{_DAY}-{_YEAR}|{_DAY}/{_DAY}/{_YEAR}"
    rf"|{_DAY}\.{_DAY}\.{_YEAR})(?!\d|[-./]\d)"
)
_SHORT_YEAR = rf"(?:{_DAY}-{_DAY}-\d\d|{_DAY}/{_DAY}/\d\d|{_DAY}\.{_DAY}\.\d\d)"
_TIME = r"[T ]\d\d?:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
_AMOUNT = rf"(?:\d{{1,3}}(?:[,.']\d{{3}}|{_SPACE}\d{{3}})+(?:[.,]\d\d?)?|\d+(?:[.,]\d\d?)?)"
_CURRENCY = r"(?:[$\u20ac\u00a3\u00a5\u20b9]|\b(?:USD|EUR|GBP|CHF|JPY|INR)\b)"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_NAMED = r"(?i:tel|phone|fax|mobile|cell|call|ph)"
"""Words that a number is written to, as in `tel-555-1234`."""

LOOK_ALIKES = {
    "date": (
        rf"{_OF_YEAR}(?:{_TIME})?|{_SHORT_YEAR}(?:{_TIME}|{_END})"
        rf"|{_YEAR} ?[-/\u2013] ?{_YEAR}{_END}"
    ),
    "address of a computer": rf"{_BYTE}(?:\.{_BYTE}){{3}}{_END}",
    "price or share": (
        rf"{_CURRENCY}{_SPACE}?{_AMOUNT}{_END}(?![^\W_])|{_AMOUNT}{_SPACE}?(?:%|{_CURRENCY})"
    ),
    # Not before another number, unless that is a decimal number, too.
    "decimal number": (
        rf"(?:0|[1-9]\d{{0,2}})\.\d+(?!\d|\.\d)(?!{_BETWEEN}\d+(?!\d|\.\d))|[1-9]\d*\.\d\d?{_END}"
    ),
    "id with letters": (
        r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![^\W_])"
        rf"|(?<![\w-])(?!{_NAMED}[-_\d])(?![^\W\d_]+(?:-\d+){{3}})[^\W\d_]\w*(?:-\w+)*"
        r"|\d+(?!x\d{1,6}\b)(?=[^\W\d_])\w+"
    ),
    "number of more than 15 digits": r"\d{16,}",
}
"""Kind → what looks like a phone number, is none, and stays."""
# The digits of a number go on until a date with a year follows.
_NUMBER = (
    rf"(?:(?<!\w){_NAMED}[-_]?|(?<![^\W_]))[+(]{{0,2}}\d(?:{_BETWEEN}\d){{{FEWEST_DIGITS - 1}}}"
    rf"(?:(?!{_SPACE}{_OF_YEAR}){_BETWEEN}\d)*(?:,?\s?(?i:ext(?:ension)?\.?|x)\s?\d{{1,6}}(?!\w))?"
)
PHONE = "|".join(
    [f"(?P<kind_{place}>{form})" for place, form in enumerate(LOOK_ALIKES.values())] + [_NUMBER]
)
"""A look-alike, whose group is named, or else a number."""


def look_alike(group: str) -> str:
    """Return the kind of a look-alike by the name of its group."""
    return list(LOOK_ALIKES)[int(group.removeprefix("kind_"))]
