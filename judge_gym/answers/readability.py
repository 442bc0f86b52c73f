"""A run fails when fewer than half the answers of one judge are readable.

An answer is readable when it has a verdict, a score or an abstention. Failed calls, refusals and
unparseable answers are not readable. Calls that were not made (budget, early stop, waiting in a
batch) do not count.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from judge_gym.errors import RETRY_FAILED, JudgeGymError, first_line

MOST_NAMED = 3
"""Most judges named in a message; of the others it gives the number."""
LONGEST_DETAIL = 300


@dataclass(frozen=True)
class Answers:
    """Counts of the answers of one judge."""

    judge: str
    readable: int
    failures: Mapping[str, int]
    """Failure as `kind: detail` → number of answers."""
    own: bool = False
    """Whether the judge is a function or an endpoint of the user, who can fix it."""

    @property
    def total(self) -> int:
        return self.readable + sum(self.failures.values())

    @property
    def too_few(self) -> bool:
        """Whether fewer than half are readable; False without any answer."""
        return 2 * self.readable < self.total

    @property
    def by_kind(self) -> Counter[str]:
        """Kind of failure → number of answers."""
        kinds: Counter[str] = Counter()
        for failure, count in self.failures.items():
            kinds[kind_of(failure)] += count
        return kinds

    @property
    def causes(self) -> str:
        """The kinds of failures, most frequent first; with their numbers where there are several.

        Ties are broken by the alphabet, so that the same rows give the same text.
        """
        kinds = sorted(self.by_kind.items(), key=lambda entry: (-entry[1], entry[0]))
        if len(kinds) == 1:
            return kinds[0][0]
        return ", ".join(f"{count:,} {kind}" for kind, count in kinds)

    def remedy_of(self, kind: str) -> str:
        """Return the remedy for failures of a kind."""
        if self.own:
            return _OWN_OUT_OF_FORM if kind == _OUT_OF_FORM else _OWN_FAILED
        return remedy_of(kind)

    def __str__(self) -> str:
        """Return "openai/x: 0 of 30 answers readable (30 truncated: finish reason length)"."""
        summary = f"{self.judge}: {self.readable} of {self.total} answers readable"
        return f"{summary} ({self.why})" if self.failures else summary

    @property
    def why(self) -> str:
        """The most frequent failure with an example, and the kinds of the others; may be empty.

        Such as "30 truncated: finish reason length; 2 timeout".
        """
        kinds = self.by_kind
        if not kinds:
            return ""
        # Ties are broken by the alphabet, so that the same rows give the same message.
        kind, count = min(kinds.items(), key=lambda entry: (-entry[1], entry[0]))
        own = {text: n for text, n in self.failures.items() if kind_of(text) == kind}
        example = min(own.items(), key=lambda entry: (-entry[1], entry[0]))[0]
        others = sorted((kinds - Counter({kind: count})).items(), key=lambda one: (-one[1], one[0]))
        rest = "".join(f"; {times} {other}" for other, times in others)
        return f"{count} {shortened(example)}{rest}"

    @property
    def remedy(self) -> str:
        """What to do about the most frequent kind of failure; empty without any."""
        kinds = self.by_kind
        return self.remedy_of(min(kinds, key=lambda kind: (-kinds[kind], kind))) if kinds else ""


class TooFewReadableError(JudgeGymError):
    """Fewer than half the answers of a judge are readable."""


def answers_by_judge(rows: Iterable[tuple[str, str | None, int]]) -> list[Answers]:
    """Return the counts of each judge, sorted by name.

    `rows` are (judge, failure, count); the failure of readable answers is None.
    """
    failures: dict[str, Counter[str]] = defaultdict(Counter)
    readable: Counter[str] = Counter()
    for judge, failure, count in rows:
        readable[judge] += 0 if failure is not None else count
        if failure is not None:
            failures[judge][failure] += count
    return [Answers(judge, readable[judge], failures[judge]) for judge in sorted(readable)]


def too_few_readable(answers: Iterable[Answers]) -> TooFewReadableError | None:
    """Return an error that names judges with fewer than half their answers readable, if any."""
    failing = [judge for judge in answers if judge.too_few]
    if not failing:
        return None
    summaries = [str(judge) for judge in failing[:MOST_NAMED]]
    if len(failing) > MOST_NAMED:
        summaries.append(f"and {len(failing) - MOST_NAMED} more")
    remedies: Counter[str] = Counter()
    for judge in failing:
        for kind, count in judge.by_kind.items():
            remedies[judge.remedy_of(kind)] += count
    return TooFewReadableError(
        f"Fewer than half the answers are readable. {'; '.join(summaries)}.",
        (remedy for remedy, _ in remedies.most_common()),
    )


def shortened(failure: str) -> str:
    """Return the first line of a failure, truncated, without a full stop."""
    line = first_line(failure)
    return line.rstrip(". ") if len(line) <= LONGEST_DETAIL else f"{line[:LONGEST_DETAIL]}…"


def kind_of(failure: str) -> str:
    """Return the kind of a failure that is stored as `kind: detail`."""
    return failure.partition(":")[0].strip()


def detail_of(failure: str) -> str:
    """Return the detail of a failure that is stored as `kind: detail`; all of it without one."""
    return failure.partition(":")[2].strip() or failure


def remedy_of(kind: str) -> str:
    """Return the remedy for failures of a kind."""
    return _REMEDIES.get(kind, _UNREADABLE)


_UNREADABLE = (
    "Read some answers (analysis.answers), then change the model, the prompt or the form of answer."
)
_LIMIT = (
    "Raise max_tokens; for a model that thinks first, thinking_tokens in its table of the "
    "providers file."
)
_AGAIN = f"then run again with {RETRY_FAILED}."
_PASSING = f"Check that the provider answers, {_AGAIN}"
_OUT_OF_FORM = "out_of_form"
_OWN_OUT_OF_FORM = (
    "Have the function or the endpoint return a score on the judge's scale, and change `version` "
    "in the judge file, so that it is asked anew; or change `scale` there."
)
_OWN_FAILED = f"Mend the function or the endpoint, {_AGAIN}"
_REQUEST = "Change the request as the message says, or use another model."
_REMEDIES = {
    **dict.fromkeys(("output_limit", "truncated"), _LIMIT),
    "empty": (
        f"The model ended its answer without any text: run again with {RETRY_FAILED}, or read its "
        "reasoning (analysis.answers)."
    ),
    **dict.fromkeys(("rate_limit", "connection", "server", "unreadable"), _PASSING),
    "timeout": (
        "Raise call_timeout_s (JUDGE_GYM_CALL_TIMEOUT_S) if the model takes longer, or check that "
        f"the provider answers, {_AGAIN}"
    ),
    **dict.fromkeys(("bad_request", "context_too_long"), _REQUEST),
    "content_policy": "The provider withholds answers to these texts: use another model.",
    "content_filter": "The provider withholds answers to these texts: use another model.",
    "authentication": f"Check the key, {_AGAIN}",
    "no_access": f"Have the provider grant the account access to this model, {_AGAIN}",
    "quota": f"Add credit, or wait for the quota to renew, {_AGAIN}",
    "not_found": "Check the model's name, whether it is retired, and its provider's address, "
    f"{_AGAIN}",
    "retired": "The provider has retired this model: use another one.",
    "unreachable": f"Check that the provider runs, and its base_url, {_AGAIN}",
}
