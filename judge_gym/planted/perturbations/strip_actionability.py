"""What to do is taken out: instructions and recommendations go, descriptions stay."""

import random
import re

from judge_gym.planted.editing import Change, Expectation, removals
from judge_gym.planted.sentences import sentences

EXPECTATION = Expectation.DROP
NEEDS = "instruction or recommendation beside a sentence that is none"

_ADVICE = re.compile(
    r"\b(?:should|must|ought to|needs? to|ha(?:s|ve) to|recommend(?:s|ed|ation)?|"
    r"advis(?:e|es|ed|able)|make sure|be sure to|consider (?:\w+ing|the|a)|try to|do not|don['’]t|"
    r"you can|you could|it is best to|next steps?)\b",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"[\"'“‘*_]{0,3}(?:(?:then|next|first|second|third|finally|please|also|now|instead|always|"
    r"never|and),? )?"
    r"(?:add|apply|ask|avoid|begin|build|call|change|check|choose|click|combine|compare|consult|"
    r"contact|copy|create|cut|define|delete|divide|do|double|ensure|find|fix|follow|give|go|heat|"
    r"identify|include|increase|install|keep|let|limit|list|look|make|mark|measure|mix|move|"
    r"multiply|note|open|pass|pick|place|plan|pour|prefer|prepare|press|provide|pull|push|put|read|"
    r"reduce|remember|remove|repeat|replace|report|request|restart|return|review|run|save|select|"
    r"send|set|solve|split|start|state|stop|store|subtract|switch|take|tell|test|track|try|turn|"
    r"update|use|verify|wait|wash|watch|write)\b(?!['’])",
    re.IGNORECASE,
)


def changes(text: str, rng: random.Random) -> list[Change]:
    """Return the removal of each sentence that tells the reader to act; one always stays."""
    acting = [
        one
        for one in sentences(text)
        if not one.heading
        and (
            _IMPERATIVE.match(text, one.start, one.end) or _ADVICE.search(text, one.start, one.end)
        )
    ]
    return removals(text, acting)
