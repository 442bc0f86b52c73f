"""The rule for a run's end: a judge with fewer than half its answers readable is no success.

An answer is readable when it says something: a verdict, a score, an abstention. Failed calls,
refusals and unparseable answers are not. What was never asked (past a budget, after an early stop,
waiting in a batch) is no answer, and is not counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from judge_gym.errors import JudgeGymError, first_line

MOST_NAMED = 3
"""Judges that a message names; of the others it says how many there are."""
LONGEST_DETAIL = 160


@dataclass(frozen=True)
class Answers:
    """What one judge answered."""

    judge: str
    readable: int
    failures: Mapping[str, int]
    """Why the others cannot be read, as `kind: detail` → how many."""
    own: bool = False
    """Whether a function or an endpoint of the user's answered, which the user can mend."""

    @property
    def total(self) -> int:
        return self.readable + sum(self.failures.values())

    @property
    def too_few(self) -> bool:
        """Whether fewer than half are readable; not so where there is no answer at all."""
        return 2 * self.readable < self.total

    @property
    def by_kind(self) -> Counter[str]:
        """Kind of failure → how many."""
        kinds: Counter[str] = Counter()
        for failure, count in self.failures.items():
            kinds[kind_of(failure)] += count
        return kinds

    def remedy_of(self, kind: str) -> str:
        """Return what to do about failures of a kind."""
        if self.own:
            return _OWN_OUT_OF_FORM if kind == _OUT_OF_FORM else _OWN_FAILED
        return remedy_of(kind)

    def __str__(self) -> str:
        """Return "openai/x: 0 of 30 answers readable (30 truncated: finish reason length)"."""
        said = f"{self.judge}: {self.readable} of {self.total} answers readable"
        kinds = self.by_kind
        if not kinds:
            return said
        # Of equal counts, the first in the alphabet: the same rows give the same message.
        kind, count = min(kinds.items(), key=lambda one: (-one[1], one[0]))
        own = {text: n for text, n in self.failures.items() if kind_of(text) == kind}
        example = min(own.items(), key=lambda one: (-one[1], one[0]))[0]
        rest = kinds.total() - count
        others = f"; {rest} for other reasons" if rest else ""
        return f"{said} ({count} {shortened(example)}{others})"


class TooFewReadableError(JudgeGymError):
    """A run ended, and fewer than half the answers of a judge are readable."""


def answers_by_judge(rows: Iterable[tuple[str, str | None, int]]) -> list[Answers]:
    """Return the answers of each judge, in the order of their names.

    `rows` are (judge, failure, how many), with the failure None for answers that are readable.
    """
    failures: dict[str, Counter[str]] = defaultdict(Counter)
    readable: Counter[str] = Counter()
    for judge, failure, count in rows:
        readable[judge] += 0 if failure is not None else count
        if failure is not None:
            failures[judge][failure] += count
    return [Answers(judge, readable[judge], failures[judge]) for judge in sorted(readable)]


def too_few_readable(answers: Iterable[Answers]) -> TooFewReadableError | None:
    """Return the error that names judges with fewer than half their answers readable, if any."""
    found = [one for one in answers if one.too_few]
    if not found:
        return None
    said = [str(one) for one in found[:MOST_NAMED]]
    if len(found) > MOST_NAMED:
        said.append(f"and {len(found) - MOST_NAMED} more")
    remedies: Counter[str] = Counter()
    for one in found:
        for kind, count in one.by_kind.items():
            remedies[one.remedy_of(kind)] += count
    return TooFewReadableError(
        f"Fewer than half the answers are readable. {'; '.join(said)}.",
        " ".join(remedy for remedy, _ in remedies.most_common()),
    )


def shortened(failure: str) -> str:
    """Return the first line of a failure, cut, without a full stop."""
    line = first_line(failure)
    return line.rstrip(". ") if len(line) <= LONGEST_DETAIL else f"{line[:LONGEST_DETAIL]}…"


def kind_of(failure: str) -> str:
    """Return the kind of a failure that is stored as `kind: detail`."""
    return failure.partition(":")[0].strip()


def remedy_of(kind: str) -> str:
    """Return what to do about failures of a kind."""
    return _REMEDIES.get(kind, _UNREADABLE)


_UNREADABLE = (
    "Read some answers (analysis.answers), then change the model, the prompt or the form of answer."
)
_LIMIT = (
    "Raise max_tokens; for a model that thinks first, thinking_tokens in its table of the "
    "providers file."
)
_PASSING = "Check that the provider answers, then run again with retry_failed."
_OUT_OF_FORM = "out_of_form"
_OWN_OUT_OF_FORM = (
    "Have the function or the endpoint return a score on the judge's scale, and change `version` "
    "in the judge file, so that it is asked anew; or change `scale` there."
)
_OWN_FAILED = "Mend the function or the endpoint, then run again with retry_failed."
_REQUEST = "Change the request as the message says, or use another model."
_REMEDIES = {
    **dict.fromkeys(("output_limit", "truncated", "empty"), _LIMIT),
    **dict.fromkeys(("rate_limit", "timeout", "connection", "server", "unreadable"), _PASSING),
    **dict.fromkeys(("bad_request", "context_too_long"), _REQUEST),
    "content_policy": "The provider withholds answers to these texts: use another model.",
    "content_filter": "The provider withholds answers to these texts: use another model.",
    "authentication": "Check the key, then run again with retry_failed.",
    "quota": "Add credit, or wait for the quota to renew, then run again with retry_failed.",
    "not_found": "Check the model's name and its provider's address, then run again with "
    "retry_failed.",
    "unreachable": "Check that the provider runs, and its base_url, then run again with "
    "retry_failed.",
}
