"""How far the work of a command is, for what `--json` prints when it fails."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from deployments.cli.environment import database
from deployments.cli.json_output import PartDone, json_output

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from judge_gym.judges.calibrating.judging import Asked


def report_sweep(name: str) -> None:
    """Have a failure of this command say how far a sweep is, by workflow."""

    def read() -> Iterable[PartDone]:
        from judge_gym.lab.status import sweep_status

        with database() as session:
            status = sweep_status(session, name)
        return [
            PartDone(
                part.workflow, part.done, None if part.total is None else part.total - part.done
            )
            for part in status.workflows
        ]

    json_output.parts = read


def report_judging(asked: "Callable[[Session], Iterable[Asked]]") -> None:
    """Have a failure of this command say how many judgements each judge has made."""
    json_output.parts = lambda: _judged(asked)


def _judged(asked: "Callable[[Session], Iterable[Asked]]") -> list[PartDone]:
    from judge_gym.judges.judging import judgements_made

    with database() as session:
        counts = [
            (one, *judgements_made(session, one.judge, one.items, one.repeats, one.review_day))
            for one in asked(session)
        ]
    return [PartDone(one.judge.name, made, wanted - made) for one, made, wanted in counts]
