"""What the checks of one judge come to: use it, use it with care, cannot tell, or do not use it.

In this order: can its answers be read; do people agree, where texts have labels; do its scores move
with perturbed texts as they should. A later question is not asked where an earlier one says no.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from judge_gym.calibration.against_labels import AGREEMENT, READABLE
from judge_gym.calibration.checks import Check, Result

_HALF = 0.5


class Verdict(IntEnum):
    """From the best to the worst."""

    USE = 0
    CARE = 1
    CANNOT_TELL = 2
    DO_NOT_USE = 3

    @property
    def words(self) -> str:
        return self.name.replace("_", " ").lower().replace("care", "use with care")


@dataclass(frozen=True)
class Decision:
    """A verdict, and why in a sentence or two."""

    verdict: Verdict
    why: str

    @property
    def recommends(self) -> bool:
        """Whether the judge may be used at all."""
        return self.verdict in (Verdict.USE, Verdict.CARE)


def decide(name: str, checks: Sequence[Check]) -> Decision:
    """Return what the checks say of the judge called `name`."""
    by_name = {check.name: check for check in checks}
    others = [check for check in checks if check.name not in (READABLE, AGREEMENT)]
    readable, agreement = by_name[READABLE], by_name.get(AGREEMENT)
    share = readable.estimate.estimate
    if share is None:
        return Decision(Verdict.CANNOT_TELL, f"{name}: nothing is judged yet.")
    if share < _HALF:
        why = f"Do not use {name}: most answers have no score, {readable.reason}."
        return Decision(Verdict.DO_NOT_USE, f"{why} {readable.action}")
    if agreement and agreement.result is Result.FAILS:
        why = f"Do not use {name}: it does not agree with people's labels, {agreement.reason}."
        return Decision(Verdict.DO_NOT_USE, f"{why} {agreement.action}")
    if agreement and agreement.result is not Result.PASSES:
        why = f"{name}: the labels cannot tell whether people agree with it, {agreement.reason}."
        return Decision(Verdict.CANNOT_TELL, f"{why} {agreement.action}")
    return _by_perturbation(name, [readable, *others], agreement)


def _by_perturbation(name: str, checks: Sequence[Check], agreement: Check | None) -> Decision:
    counts = {result: sum(check.result is result for check in checks) for result in Result}
    fails, still_open = counts[Result.FAILS], counts[Result.INCONCLUSIVE]
    of = f"{counts[Result.PASSES]} checks pass, {fails} fail and {still_open} are open"
    people = "No text has a label: whether people agree with it is not known."
    if agreement:
        people = f"It agrees with people's labels: {agreement.reason}."
    failing = ", ".join(check.name for check in checks if check.result is Result.FAILS)
    if not any(check.result is not Result.NOT_APPLICABLE for check in checks[1:]) and not agreement:
        return Decision(Verdict.CANNOT_TELL, f"{name}: no check could be made. {people}")
    if fails and not agreement:
        why = f"Do not use {name} before this is mended: {failing}. {of}. {people}"
        return Decision(Verdict.DO_NOT_USE, why)
    if fails:
        return Decision(Verdict.CARE, f"Use {name} with care. {people} It fails {failing}. {of}.")
    if still_open:
        why = f"Use {name} with care: {of}. More items will decide the rest. {people}"
        return Decision(Verdict.CARE, why)
    return Decision(Verdict.USE, f"Use {name}: {of}. {people}")
