"""What a model reads in a conversation: the task, concept, rubric, evidence and request.

Reads only the messages. What a prompt leaves out or garbles is missing here too, and the answer is
the worse for it.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Form = Literal["single", "subset", "json"]
Message = tuple[str, str]
"""Role and text."""
Listed = tuple[str, tuple[str, ...]]
"""A stage as displayed: label and criteria."""


@dataclass(frozen=True)
class PromptedRubric:
    """The stages as displayed, each with the letter it carries."""

    concept: str
    letters: tuple[str, ...]
    stages: tuple[Listed, ...]


@dataclass(frozen=True)
class ScoringPrompt:
    """A request for a verdict."""

    rubric: PromptedRubric
    documents: tuple[str, ...]
    form: Form
    may_abstain: bool
    instructions: str
    """The steps to take, without the form of the answer."""


@dataclass(frozen=True)
class ProbePrompt:
    """A question about a verdict; `chosen` are letters."""

    rubric: PromptedRubric
    documents: tuple[str, ...]
    chosen: tuple[str, ...]


@dataclass(frozen=True)
class RubricPrompt:
    """A request for a rubric."""

    concept: str
    stages: int
    midpoint: int | None
    """The stage (1-based) that has to carry the midpoint label."""
    midpoint_label: str
    again: bool
    """Whether an earlier answer was refused."""


_FENCE = re.compile(
    r"<<<BEGIN (?P<kind>EVIDENCE|RUBRIC|REASONING) ?(?P<mark>[^\n>]*)>>>\n(?P<inside>.*?)\n?"
    r"<<<END (?P=kind) ?(?P=mark)>>>",
    re.DOTALL,
)
_STAGE = re.compile(r"^\s*\(?(?P<letter>[A-Z])\)?\s*[:.)]\s*(?P<label>\S.*?)\s*$")
_NUMBERED_STAGE = re.compile(r"^\s*Stage (?P<letter>\d+)\s*[:.)]\s*(?P<label>\S.*?)\s*$")
_CRITERION = re.compile(r"^\s*[-*•]\s+(?P<text>\S.*?)\s*$")
_ABOUT = re.compile(r'"(?P<concept>.+?)" in \S')
_STAGE_COUNT = re.compile(r"[Ee]xactly (?P<stages>\d+) stages")
_MIDPOINT = re.compile(r'Stage (?P<stage>\d+) is labelled "(?P<label>[^"\n]*)"')
_CLOSING_CHARACTERS = 600
"""The request for a form of answer ends a prompt; rubrics before it may use any words."""
_OBJECT_WANTED = "Answer with one JSON object of this form"
_ANSWER_WANTED = re.compile("^(?:End your response with|Answer with one JSON)", re.MULTILINE)
_ANSWER = re.compile(r"^ANSWER (?P<letter>[A-Z])$", re.MULTILINE)
_NEITHER = "Neither answer is better"


def outside_fences(text: str) -> str:
    """Return the prompt without its fenced material."""
    return _FENCE.sub("", text)


@dataclass(frozen=True)
class RequestText:
    """The last message of the user without its fenced material, by which its task is recognised."""

    text: str

    @property
    def lower(self) -> str:
        """The text in lower case."""
        return self.text.lower()

    @property
    def closing(self) -> str:
        """Its end, which asks for a form of answer."""
        return self.text[-_CLOSING_CHARACTERS:]

    def wants(self, key: str) -> bool:
        """Whether the answer is to be a JSON object with this key."""
        return f'"{key}"' in self.text.partition(_OBJECT_WANTED)[2]


def request_in(messages: Sequence[Message]) -> RequestText:
    """Return the request of a conversation."""
    return RequestText(outside_fences(_last_user(messages)))


def read_scoring(messages: Sequence[Message]) -> ScoringPrompt:
    """Read the rubric, the documents and the form of the verdict."""
    prompt = _last_user(messages)
    request = outside_fences(prompt)
    closing = request[request.rfind("TASK") :] if "TASK" in request else request
    subset = "one or more letters" in closing or "every stage" in closing
    form: Form = "json" if '"verdict"' in closing else "subset" if subset else "single"
    return ScoringPrompt(
        rubric=_rubric(request),
        documents=documents_in(prompt),
        form=form,
        may_abstain="ABSTAIN" in closing,
        instructions=_instructions(request),
    )


def _instructions(request: str) -> str:
    _, heading, steps = request.rpartition("TASK\n")
    return _ANSWER_WANTED.split(steps)[0].strip() if heading else ""


@dataclass(frozen=True)
class Choosing:
    """A request for the better of two answers; texts and letters in the order shown."""

    options: PromptedRubric
    prompt: str
    answers: tuple[str, ...]
    letters: tuple[str, ...]
    tie: str
    """The letter of the tie; empty when none is offered."""
    form: Form


def read_choosing(messages: Sequence[Message]) -> Choosing:
    """Read the prompt that was answered, the answers and the options."""
    text = _last_user(messages)
    scoring = read_scoring(messages)
    options = scoring.rubric
    labels = dict(zip((label for label, _ in options.stages), options.letters, strict=True))
    shown = ["\n\n".join(documents) for documents in fenced_documents(text)]
    return Choosing(
        options=options,
        prompt=shown[0] if shown else "",
        answers=tuple(shown[1:]),
        letters=tuple(_ANSWER.findall(outside_fences(text))),
        tie=labels.get(_NEITHER, ""),
        form=scoring.form,
    )


def read_probe(messages: Sequence[Message]) -> ProbePrompt:
    """Read the question; rubric and documents may come from earlier messages."""
    whole = "\n".join(text for role, text in messages if role == "user")
    request = outside_fences(_last_user(messages))
    question = request[max(0, request.rfind("QUESTION")) :]
    before = outside_fences(whole)[: -len(question)] if question else ""
    chosen, _ = _stages(question, _STAGE)
    return ProbePrompt(rubric=_rubric(before), documents=documents_in(whole), chosen=chosen)


@dataclass(frozen=True)
class ReasoningPrompt:
    """A judge's reasoning to be marked, with what it is about."""

    evidence: str
    reasoning: str
    labels: tuple[str, ...]
    """The labels of the rubric's stages."""
    concluded: tuple[str, ...]
    """The labels of the verdict."""


def read_reasoned(messages: Sequence[Message]) -> ReasoningPrompt:
    """Read the evidence, the reasoning and its conclusion."""
    prompt = _last_user(messages)
    inside = {fence["kind"]: fence["inside"] for fence in _FENCE.finditer(prompt)}
    before, _, conclusion = outside_fences(prompt).partition("CONCLUSION")
    labels, concluded = (_stages(text, _STAGE)[1] for text in (before, conclusion))
    return ReasoningPrompt(
        evidence=inside.get("EVIDENCE", ""),
        reasoning=inside.get("REASONING", ""),
        labels=tuple(label for label, _ in labels),
        concluded=tuple(label for label, _ in concluded),
    )


def read_design(messages: Sequence[Message]) -> RubricPrompt:
    """Read the request for a rubric, in the last message or an earlier one."""
    requests = [text for role, text in messages if role == "user"]
    text = next((text for text in reversed(requests) if "esign a rubric" in text), requests[-1])
    about, count = _ABOUT.search(text), _STAGE_COUNT.search(text)
    midpoint = _MIDPOINT.search(text)
    return RubricPrompt(
        concept=about["concept"] if about else "the concept",
        stages=int(count["stages"]) if count else 4,
        midpoint=int(midpoint["stage"]) if midpoint else None,
        midpoint_label=midpoint["label"] if midpoint else "",
        again=text is not requests[-1],
    )


def read_rated_rubric(messages: Sequence[Message]) -> tuple[Listed, ...]:
    """Return the stages of the rubric a critic is shown, in order."""
    fenced = _FENCE.search(_last_user(messages))
    return _stages(fenced["inside"] if fenced else "", _NUMBERED_STAGE)[1]


def documents_in(prompt: str) -> tuple[str, ...]:
    """Return the documents of a prompt's first fence; none when no fence is closed."""
    return next(iter(fenced_documents(prompt)), ())


def fenced_documents(prompt: str) -> list[tuple[str, ...]]:
    """Return the documents of each closed fence of a prompt, in order."""
    return [_split(fence["mark"], fence["inside"]) for fence in _FENCE.finditer(prompt)]


def fenced_entries(prompt: str, kind: str) -> list[tuple[str, str]]:
    """Return name and text of the "[<kind> <name>, <mark>]" entries of a prompt's last fence."""
    fences = list(_FENCE.finditer(prompt))
    if not fences:
        return []
    heading = rf"^\[{kind} ([^\n]+), {re.escape(fences[-1]['mark'])}\]$"
    parts = re.split(heading, fences[-1]["inside"], flags=re.MULTILINE)
    return [(name, text.strip()) for name, text in zip(parts[1::2], parts[2::2], strict=True)]


def _split(mark: str, inside: str) -> tuple[str, ...]:
    # A document may hold such a line itself, but not with the mark.
    heading = rf"^\[Document \d+ of \d+, {re.escape(mark)}\]$"
    parts = re.split(heading, inside, flags=re.MULTILINE)
    return tuple(text for part in parts if (text := part.strip()))


def _rubric(text: str) -> PromptedRubric:
    about = _ABOUT.search(text)
    letters, stages = _stages(text, _STAGE)
    return PromptedRubric(
        concept=about["concept"] if about else "",
        letters=letters,
        stages=stages,
    )


def _stages(text: str, head: re.Pattern[str]) -> tuple[tuple[str, ...], tuple[Listed, ...]]:
    letters: list[str] = []
    stages: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if stage := head.match(line):
            letters.append(stage["letter"])
            stages.append((_unquoted(stage["label"]), []))
        elif stages and (criterion := _CRITERION.match(line)):
            stages[-1][1].append(criterion["text"])
    return tuple(letters), tuple((label, tuple(criteria)) for label, criteria in stages)


def _unquoted(label: str) -> str:
    quoted = len(label) > 1 and label[0] in '"“' and label[-1] in '"”'
    return label[1:-1] if quoted else label


def _last_user(messages: Sequence[Message]) -> str:
    return next((text for role, text in reversed(messages) if role == "user"), "")


_ENTRY = re.compile(r"^- (?P<name>[^:\n]+): (?P<description>.+)$", re.MULTILINE)
_SCALE = re.compile(r"number from (?P<lowest>-?\d+) \(worst\) to (?P<highest>-?\d+) \(best\)")


@dataclass(frozen=True)
class Graded:
    """The texts to grade and their context; empty when the prompt has none."""

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
    """Read the request in all messages of the user; `section` is the heading of the list."""
    whole = "\n".join(text for role, text in messages if role == "user")
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


@dataclass(frozen=True)
class Improving:
    """A request for better instructions of a judge."""

    present: dict[str, Any]
    """The instructions as they are; empty when they cannot be read."""


def read_improving(messages: Sequence[Message]) -> Improving:
    """Read the present instructions of a judge, which stand as JSON in a fence of their own."""
    fences = _FENCE.finditer(_last_user(messages))
    shown = next((fence["inside"] for fence in fences if fence["kind"] == "RUBRIC"), "")
    try:
        present = json.loads(shown)
    except ValueError:
        present = {}
    return Improving(present if isinstance(present, dict) else {})
