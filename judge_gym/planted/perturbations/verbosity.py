"""The same is said in more words: lead-ins, and phrases where a word would do."""

import random
import re

from judge_gym.planted.editing import Change, Edit, Expectation, lead_ins
from judge_gym.planted.sentences import sentences

EXPECTATION = Expectation.INVARIANT
NEEDS = "sentence that is no heading"

_LEAD_INS = (
    "It is worth pointing out the following:",
    "What can be said on this point is the following:",
    "To put the matter into words:",
    "At this point the following should be mentioned:",
    "In this connection, one thing is to be noted:",
)
_LONGER = {
    "because": "for the reason that",
    "although": "despite the fact that",
    "if": "in the event that",
    "now": "at the present point in time",
    "many": "a large number of",
    "often": "on a large number of occasions",
    "while": "during the time in which",
    "usually": "in the majority of cases",
    "finally": "at the very end of it all",
    "also": "in addition to this, too,",
}
_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(_LONGER)})(?![\w-])")


def changes(text: str, rng: random.Random) -> list[Change]:
    """Return a lead-in for each sentence, and a longer phrase for each word that has one."""
    words = [match for one in sentences(text) for match in _WORD.finditer(text, one.start, one.end)]
    longer = [(Edit(*match.span(), _LONGER[match.group()]),) for match in words]
    return lead_ins(text, _LEAD_INS, rng) + longer
