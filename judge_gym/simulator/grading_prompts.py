"""What a grader takes from a conversation: the texts, their context, and what is asked of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from judge_gym.simulator.prompt_reader import Message, fenced_documents, outside_fences

_ENTRY = re.compile(r"^- (?P<name>[^:\n]+): (?P<description>.+)$", re.MULTILINE)
_SCALE = re.compile(r"number from (?P<lowest>-?\d+) \(worst\) to (?P<highest>-?\d+) \(best\)")


@dataclass(frozen=True)
class Graded:
    """The texts to be judged, and what to hold them against; empty without."""

    texts: tuple[str, ...]
    context: str
    entries: tuple[tuple[str, str], ...]
    """Names and descriptions of what is listed: criteria, or verdicts."""
    lowest: int
    highest: int
    ties: bool

    @property
    def text(self) -> str:
        return self.texts[0] if self.texts else ""


def read_graded(messages: Sequence[Message], section: str) -> Graded:
    """Read what is asked in all that the user said; `section` is the heading of the list."""
    whole = "\n".join(text for who, text in messages if who == "user")
    request = outside_fences(whole)
    listed = re.search(rf"^{section}\n(?P<lines>(?:- .+\n)+)", request, re.MULTILINE)
    lowest, highest = scale_in(request)
    fences = fenced_documents(whole)
    return Graded(
        texts=fences[-1] if fences else (),
        context="\n".join(fences[0]) if len(fences) > 1 else "",
        entries=tuple(
            (entry["name"], entry["description"])
            for entry in _ENTRY.finditer(listed["lines"] if listed else "")
        ),
        lowest=lowest,
        highest=highest,
        ties='Say "tie"' in request,
    )


def scale_in(request: str) -> tuple[int, int]:
    """Return the lowest and the highest mark that a request names; 0 and 100 without any."""
    scale = _SCALE.search(request)
    return (int(scale["lowest"]), int(scale["highest"])) if scale else (0, 100)
