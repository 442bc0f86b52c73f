"""Whether the last verdict of an answer is its conclusion, where an earlier verdict differs.

A judge that thinks first and concludes last ends in a line of its own, or marks its last verdict
as final or as a correction. A judge that gives its verdict first may mention others afterwards:
"Rating: [[7]]. It narrowly missed [[8]]". Two verdicts may also be about two things:
"Helpfulness: [[8]]", "Accuracy: [[3]]". Only a conclusion overrules an earlier verdict. Any other
answer with verdicts that differ is unreadable.
"""

import re

from judge_gym.answers.text import FailureReason, ParseFailure

Extent = tuple[int, int]
"""Offsets [start, end) in a text."""

CONTRADICTED: FailureReason = "contradicted"
CONTRADICTION = "two verdicts differ, and the last one does not stand alone or after 'final'"

_NOUN = (
    r"(?:verdict|ratings?|scores?|grade|mark|answer|decision|conclusion|judge?ment|result|choice"
    r"|label|probability|estimate|note|bewertung|urteil|puntuaci[oó]n|veredicto|оценка|评分|得分|分数"
    r"|評価|スコア|점수|평가)"
)
_FINAL = re.compile(
    rf"\bfinal(?:ly|e)?\b(?:\W+\w+)?\W+{_NOUN}\b|{_NOUN}\W+final(?:e|s)?\b|\bfinal(?:ly|e)?\s*[:,—-]"
    r"|\b(?:end(?:urteil|bewertung|ergebnis|note)|endgültig\w*|abschlie(?:ß|ss)end\w*|fazit"
    r"|gesamt(?:urteil|bewertung|ergebnis|note|punktzahl)|итог\w*|окончательн\w*)\b"
    r"|最终|最終|综合|総合|结论|結論|最后|최종|النهائي|अंतिम"
)
"""Marks the conclusion, whatever else its clause says."""
_CONCLUDING = re.compile(
    r"\b(?:final|overall|total|conclu\w+|therefore|thus|hence|so|ultimately|accordingly"
    r"|consequently|in (?:sum|short|summary|the end)|to sum up|all in all|insgesamt|au total"
    r"|en general)\b"
)
"""Marks the conclusion of a clause without other words."""
_REVISED = re.compile(
    r"~~|\b(?:at first|initial(?:ly)?|first (?:pass|thought|impression|draft)|second (?:pass|look"
    r"|thoughts?)|on (?:reflection|reconsideration)|revis(?:ed|ing|ion)|correct(?:ed|ion)"
    r"|reconsider(?:ed|ing)|updated?|scratch that|strike that|my mistake|instead)\b"
    r"|(?:^|[.!?;…\n]|—)\W*(?:no|wait|actually|hold on|hmm+)\b"
)
"""Says that what follows takes the place of what went before."""
_HEDGED = re.compile(
    r"\b(?:not|never|would|could|might|may|should|almost|nearly|close|than|if|unless|missed"
    r"|consider(?:ed|ing)?|alternative(?:ly)?|needs?|reach|reserved|usual)\b|n't\b"
)
"""Speaks of a verdict that is not given."""
_NEUTRAL = frozenset(
    re.findall(
        r"\w+",
        """
        a an as at be become becomes choose conclude final finally first for give given gives hence
        here i in is it its me my of on our output pass rate second score should so submit that the
        then therefore this thus to we will with answer second look in short sum summary end up all
        """,
    )
)
"""Words beside a verdict that do not say what it is of."""
_IS_NOUN = re.compile(_NOUN)
_CLAUSE = re.compile(r"[.!?;…]+(?=\W|$)")
_TAIL = re.compile(r"[\s*_`\"')\]}|$\\~>]*(?:[.!?;]|\n|$|\(|,?\s*(?:because|since|as)\b)")
_ITEM = re.compile(r"[\s>]*(?:\d{1,3}[.)]|\(\d{1,3}\))\s")
_HEADING = re.compile(r"\s*#|\s*(?:\*\*|__).*(?:\*\*|__):?\s*$")
_WORD = re.compile(r"[^\W_]+")
_LONGEST_HEADING = 5
"""Most words of a line without a full stop that is read as a heading."""


def contradiction(
    text: str, before: Extent | None, last: Extent, *, alone: bool = False
) -> ParseFailure | None:
    """Return the failure of an answer whose last verdict may not overrule the one before.

    `before` is the place of the nearest asserted verdict that differs from the last one. With
    `alone`, what follows the last one on its line belongs to it. The failure has no span.
    """
    if before is None:
        return None
    low = text.lower().replace("’", "'")
    # A letter whose lower case is longer moves the places; the texts that ask for it are rare.
    if len(low) == len(text) and before[1] <= last[0] and _concludes(low, before, last, alone):
        return None
    return ParseFailure(CONTRADICTED, CONTRADICTION)


def _concludes(low: str, before: Extent, last: Extent, alone: bool) -> bool:
    start = max(low.rfind("\n", 0, last[0]) + 1, before[1])
    between, line = low[before[1] : last[0]], low[start : last[0]]
    if not (alone or _TAIL.match(low, last[1])):
        return False
    lead = line if start == before[1] else f"{_introduction(low[before[1] : start])}\n{line}"
    clause = _CLAUSE.split(line)[-1]
    if _says_final(clause) or (clause == line and _says_final(lead)):
        return _overrules(low, before, clause, between)
    revised = bool(_REVISED.search(between)) or low[before[1] :].lstrip("*_ ").startswith("~~")
    if revised:
        return not _words_beside(_REVISED.sub(" ", clause))
    # A line of its own, below one that says something about the verdict.
    return (
        start > before[1]
        and not _words_beside(lead)
        and bool(_words_beside(between))
        and not (_ITEM.match(line) and _ITEM.match(_line_to(low, before)))
    )


def _says_final(lead: str) -> bool:
    if _HEDGED.search(lead):
        return False
    return bool(_FINAL.search(lead)) or (bool(_CONCLUDING.search(lead)) and not _words_beside(lead))


def _overrules(low: str, before: Extent, clause: str, between: str) -> bool:
    """Return whether a final verdict is of the same as the one before, if that was final too."""
    above = _CLAUSE.split(_line_to(low, before))[-1]
    if not _says_final(above):
        return True
    return _words_beside(above) == _words_beside(clause) and bool(_words_beside(between))


def _line_to(low: str, extent: Extent) -> str:
    return low[low.rfind("\n", 0, extent[0]) + 1 : extent[0]]


def _introduction(above: str) -> str:
    """Return the line above a verdict, if it is a heading or ends in a colon."""
    lines = [
        line
        for line in above.split("\n")[1:]
        if _WORD.search(line) and not line.lstrip("> \t").startswith("```")
    ]
    if not lines:
        return ""
    line = lines[-1]
    bare = line.rstrip(" \t*_`")
    short = len(_WORD.findall(line)) <= _LONGEST_HEADING and not bare.endswith((".", "!", "?"))
    return line if short or bare.endswith(":") or _HEADING.match(line) else ""


def _words_beside(lead: str) -> list[str]:
    """Return the words of a lead that say more than that a verdict follows."""
    plain = _CONCLUDING.sub(" ", _REVISED.sub(" ", _FINAL.sub(" ", lead)))
    words = _WORD.findall(plain)
    return [
        word
        for word in words
        if word not in _NEUTRAL and not _IS_NOUN.fullmatch(word) and not word.isdigit()
    ]
