"""The early stop: after failures alike without a success, no more calls to a model begin.

Calls count that have failed, and attempts of a provider that fails all of them for long.

It belongs to one run in one process: the next run starts afresh, and so does each of several
worker processes of one sweep.
"""

import logging
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from judge_gym.answers.readability import remedy_of, shortened
from judge_gym.counting import counted
from judge_gym.errors import JudgeGymError
from judge_gym.records.attempts import discarded, in_place_of_text
from judge_gym.records.calls import PASSING, Answer, Call, DerivedRow, Failure, FailureKind

ENOUGH_ALIKE = 5
"""Failures alike after which a model is not asked any more."""
ENOUGH_ATTEMPTS = 8
"""Attempts in vain that a provider's outage takes at least."""
OF_AN_OUTAGE: frozenset[FailureKind] = frozenset({"server", "connection"})
"""Failures of an attempt that a provider's outage gives."""
_log = logging.getLogger(__name__)
_outages = logging.getLogger("judge_gym.outages")
"""Shown by commands, too, which show no other line of calls."""


def log_outage(provider: str, message: str, patience_s: float) -> None:
    """Log, once an outage, that calls wait for a provider that fails every request."""
    until = datetime.now(UTC) + timedelta(seconds=patience_s)
    _outages.warning(
        "%s fails every request: %s. Calls wait, and one at a time tries it, until about %s UTC "
        "(outage_patience_s is %g).",
        provider, shortened(message), f"{until:%H:%M:%S}", patience_s,
    )  # fmt: skip


def log_outage_over(provider: str) -> None:
    """Log that a provider answers again after an outage."""
    _outages.info("%s answers again.", provider)


class ModelStoppedError(JudgeGymError):
    """No more calls to this model begin in this run; what was not asked stays missing."""

    def __init__(self, model: str, message: str, remedy: Iterable[str]) -> None:
        super().__init__(message, remedy)
        self.model = model


@dataclass
class _Seen:
    """What became of a model's calls in this run."""

    has_succeeded: bool = False
    alike: defaultdict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """Keys of the calls that have failed since the last success, those alike together."""
    attempts: int = 0
    """Attempts of an outage since the last success."""
    failing_since: float = 0.0
    stopped: ModelStoppedError | None = None


class Breaker:
    """Counts how calls and their attempts end, by model."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._seen: dict[str, _Seen] = {}

    def check(self, model: str) -> None:
        """Raise `ModelStoppedError` when no call to the model may begin."""
        if (seen := self._seen.get(model)) and (stopped := seen.stopped):
            # Each is raised once: whoever is stopped counts in it what was done before.
            raise ModelStoppedError(stopped.model, stopped.message, stopped.remedies)

    def check_all(self, models: set[str]) -> None:
        """Raise it when a call to none of these models may begin."""
        if all((seen := self._seen.get(model)) and seen.stopped for model in models):
            self.check(min(models))

    def has_succeeded(self, model: str) -> bool:
        """Whether a call to the model has been answered usably."""
        return model in self._seen and self._seen[model].has_succeeded

    def discarded(self, call: Call, answer: Answer) -> None:
        """Count an answer that is to be asked for once more, if there is nothing in it to read."""
        if not answer.text.strip() and (failure := _failure(answer, ())):
            self._failed(call.model, call.key, *failure, at_once=bool(in_place_of_text(answer)))

    def attempt_failed(self, call: Call, kind: FailureKind, message: str) -> None:
        """Count an attempt of a provider that seems to be away; for long enough, it is."""
        seen, now = self._seen.setdefault(call.model, _Seen()), time.monotonic()
        if not seen.attempts:
            seen.failing_since = now
        seen.attempts += 1
        enough = seen.attempts >= ENOUGH_ATTEMPTS
        if enough and now - seen.failing_since > self._patience_s and not seen.stopped:
            lasted = f"{seen.attempts} attempts in a row over {now - seen.failing_since:.0f} s"
            seen.stopped = _stopped(call.model, lasted, kind, message)
            _log.warning("%s", seen.stopped.message)

    def ended(self, call: Call, outcome: Answer | Failure, rows: Sequence[DerivedRow]) -> None:
        """Count the end of a call, and the rows that it gave.

        A success clears what was counted, and lets calls begin again: it was in flight when the
        model was stopped.
        """
        if (failure := _failure(outcome, rows)) is None:
            self._seen[call.model] = _Seen(has_succeeded=True)
        elif failure[0] != "bad_request" or not call.may_be_refused:
            answer = outcome if isinstance(outcome, Answer) else None
            at_once = answer is not None and bool(in_place_of_text(answer))
            self._failed(call.model, call.key, *failure, at_once=at_once)

    def batch_ended(self, model: str, outcomes: Mapping[str, Answer | Failure]) -> None:
        """Count the outcomes of a batch, by call key. They have no order: a success clears all.

        Not counted are a refused request, because the call is sent again directly without the
        parameter that the model does not accept, and a cut answer that may be readable.
        """
        failures = {key: _failure(outcome, ()) for key, outcome in outcomes.items()}
        if None in failures.values():
            self._seen[model] = _Seen(has_succeeded=True)
            return
        for key, failure in failures.items():
            outcome = outcomes[key]
            cut = isinstance(outcome, Answer) and discarded(outcome) and outcome.text.strip()
            if failure and failure[0] != "bad_request" and not cut:
                self._failed(model, key, *failure)

    def _failed(
        self, model: str, key: str, kind: str, message: str, *, at_once: bool = False
    ) -> None:
        seen = self._seen.setdefault(model, _Seen())
        # Requests are refused for many reasons: those are alike that say the same.
        said = re.sub(r"\d+", "", message) if kind == "bad_request" else ""
        seen.alike[kind, said].add(key)
        # What no repetition survives may be the fault of single prompts, once others succeeded.
        may_stop = kind in PASSING or not seen.has_succeeded
        enough = 1 if at_once and not seen.has_succeeded else ENOUGH_ALIKE
        alike = len(seen.alike[kind, said])
        if may_stop and not seen.stopped and alike >= enough:
            failures = f"{counted(alike, 'failure')}{' alike' if alike > 1 else ''}"
            seen.stopped = _stopped(model, failures, kind, message)
            _log.warning("%s", seen.stopped.message)


def _failure(outcome: Answer | Failure, rows: Sequence[DerivedRow]) -> tuple[str, str] | None:
    """Return the kind and message of what is no success, None of a success.

    A cut answer that could be read all the same is a success.
    """
    if isinstance(outcome, Failure):
        return outcome.kind, outcome.message
    if outcome.finish_reason == "content_filter":
        return "content_policy", "the provider withheld the answer"
    unusable = discarded(outcome)
    if unusable is None or (rows and all(row.values.get("failure") is None for row in rows)):
        return None
    return unusable["kind"], unusable["message"]


def _stopped(model: str, failures: str, kind: str, message: str) -> ModelStoppedError:
    return ModelStoppedError(
        model,
        f"No more calls to {model} were made after {failures} without a "
        f"success: {shortened(f'{kind}: {message}')}.",
        (remedy_of(kind), "What was not asked is missing: the next run asks it."),
    )
