"""The `cleaned` view: removes page furniture without a model and keeps the words of the article.

HTML goes through trafilatura. Plain text and markdown lose images, link targets, runs of links,
lines that repeat on the page, and common notices (cookies, subscriptions, copyright).
"""

import re
from collections import Counter

from judge_gym.evidence.hidden_text import without_hidden_text
from judge_gym.evidence.normal_text import normal_text

_HTML_START = re.compile(r"\s*(<!doctype html|<html\b|<body\b)", re.IGNORECASE)
_HTML_BLOCK = re.compile(r"</(p|div|article|section|li|h[1-6])>", re.IGNORECASE)
# Bounded, so that a line of a thousand brackets takes no longer than a line of text.
_LABEL, _TARGET = r"\[([^\]\n]{0,300})\]", r"\([^)\n]{0,2000}\)"
_IMAGE = re.compile(f"!{_LABEL}{_TARGET}")
_LINK = re.compile(_LABEL + _TARGET)
_LINK_LINE = re.compile(rf"(?:[-*+•|>#\s]|\d+\.|{_LABEL}{_TARGET})+")
_NOTICE = re.compile(
    r"[-*#>\s]*("
    r"(we|this (web)?site) (and our partners )?uses? cookies|accept (all )?cookies|cookie (policy"
    r"|settings|preferences)|manage (your )?(cookies|preferences)|share (this|on|via)\b"
    r"|(subscribe|sign up) (to|for|now|here)\b|subscribe$|sign (up|in)$|log ?in$"
    r"|advertisement$|sponsored( content| post)?$|skip to (main )?content|follow us\b"
    r"|read (more|next|also)\b"
    r"|related (articles|stories|news|topics)|most (read|popular)\b|more (from|on) (this|our)\b"
    r"|all rights reserved|(copyright )?(©|\(c\))|click here\b|print this|email this"
    r"|back to top|leave a comment|view comments|terms (of|and) (use|service|conditions)"
    r"|privacy (policy|notice)|download our app|join our newsletter"
    r")",
    re.IGNORECASE,
)
_LONGEST_NOTICE = 120
"""Characters; a longer line is prose that happens to begin like a notice."""
_LINK_RUN = 3
_REPEATS = 3
_WORD = re.compile(r"\w+(?:['’.,-]\w+)*")


def clean(text_or_html: str) -> str:
    """Return the article without page furniture; empty when the page has nothing else."""
    visible = without_hidden_text(text_or_html)
    return _without_furniture(normal_text(_extract(visible) if _is_html(visible) else visible))


def word_count(text: str) -> int:
    """Return the number of words: runs of letters and digits, `co-op` and `1,000` being one.

    Scripts without spaces between words are undercounted.
    """
    return sum(1 for _ in _WORD.finditer(text))


def _is_html(text: str) -> bool:
    return bool(_HTML_START.match(text)) or len(_HTML_BLOCK.findall(text)) >= 3


def _extract(html: str) -> str:
    # Deferred: importing trafilatura costs a third of a second that no other use pays.
    import trafilatura

    return trafilatura.extract(html, include_comments=False) or ""


def _without_furniture(text: str) -> str:
    lines = _without_link_runs(text.split("\n"))
    plain = [_LINK.sub(r"\1", _IMAGE.sub("", line)).strip() for line in lines]
    counts = Counter(line for line in plain if line)
    return normal_text("\n".join(line for line in plain if not _is_furniture(line, counts[line])))


def _is_furniture(line: str, count: int) -> bool:
    if not line or len(line) > _LONGEST_NOTICE:
        return False
    repeated = count >= _REPEATS and line[-1] not in '.!?"”’)'
    return repeated or bool(_NOTICE.match(line))


def _without_link_runs(lines: list[str]) -> list[str]:
    """Drop three or more lines in a row, blank ones aside, that hold only links."""
    kept: list[str] = []
    run: list[str] = []
    for line in [*lines, "end"]:
        if not line or (_LINK.search(line) and _LINK_LINE.fullmatch(line)):
            run.append(line)
            continue
        if sum(1 for link in run if link) < _LINK_RUN:
            kept.extend(run)
        kept.extend([""] if run else [])
        kept.append(line)
        run = []
    return kept[:-1]
