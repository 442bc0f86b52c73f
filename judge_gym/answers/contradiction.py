"""Reasons that say something else than the score or the verdict beside them, by a rule.

The rule reads marks that a reason names ("a score of 2", "2 out of 5", "2/5") and verdicts that it
concludes with ("therefore fail"). It is cautious: a mark that is negated or supposed is not read,
and a reason that names any of the given marks contradicts none. What it misses is not known.
"""

import re
from collections.abc import Collection

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_NAMED = re.compile(
    rf"\b(?:score|mark|rating|grade|rate|rated|scored|graded)s?\s*(?:of|is|as|at|:|=)\s*{_NUMBER}"
    r"(?![\d%]|\.\d)",
    re.IGNORECASE,
)
_OF_HIGHEST = re.compile(
    rf"(?<![\d./]){_NUMBER}\s*(?:/|out of)\s*(\d+)(?![\d%/]|\.\d)", re.IGNORECASE
)
_SUPPOSED = re.compile(
    r"\b(?:not|no|never|than|instead|below|above|under|over|if|would|could|cannot|unless|"
    r"between|deserve\w*|short)\b|n't",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.;!?](?=\s|$)|\n")
_CONCLUDING = r"\b(?:verdict|decision|conclusion|therefore|thus|hence)\b"


def contradicted_mark(reason: str, marks: Collection[float], scale: tuple[float, float]) -> str:
    """Return the marks that a reason names, as "2, 3", where none of them is given; else nothing.

    `marks` are the score and its parts; a number that is not on the scale is no mark.
    """
    lowest, highest = scale
    named: list[float] = []
    for sentence in _SENTENCE.split(reason):
        found = [(one.start(), float(one[1])) for one in _NAMED.finditer(sentence)]
        found += [
            (one.start(), float(one[1]))
            for one in _OF_HIGHEST.finditer(sentence)
            if float(one[2]) == highest
        ]
        named += [
            mark
            for start, mark in found
            # Of the clause it stands in: "no source, so a score of 2" names a mark.
            if not _SUPPOSED.search(sentence[:start].rpartition(",")[2])
        ]
    named = [mark for mark in named if lowest <= mark <= highest]
    # A total is a mean, which a reason may round.
    if any(abs(mark - given) <= 0.5 for mark in named for given in marks):
        return ""
    return ", ".join(f"{mark:g}" for mark in dict.fromkeys(named))


def contradicted_verdict(reason: str, verdict: str, verdicts: Collection[str]) -> str:
    """Return the verdict with which a reason concludes, where it is another one; else nothing."""
    names = "|".join(re.escape(name) for name in sorted(verdicts, key=len, reverse=True))
    concluding = re.compile(rf"{_CONCLUDING}[^.;!?]*?\b({names})\b", re.IGNORECASE)
    concluded = [
        found[1].lower()
        for sentence in _SENTENCE.split(reason)
        if (found := concluding.search(sentence)) and not _SUPPOSED.search(sentence)
    ]
    given = verdict.lower()
    if not concluded or given in concluded:
        return ""
    return next(name for name in verdicts if name.lower() == concluded[-1])
