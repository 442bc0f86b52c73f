"""A study whose judges judge items: the same one, whether a flow or a command runs it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sqlalchemy.orm import Session

from judge_gym.gyms.use import Use
from judge_gym.judges import Judge
from judge_gym.judges.calibrating.judging import Asked, criticisms
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime

T = TypeVar("T")


@dataclass(frozen=True)
class Study(Generic[T]):
    """What a study asks and reports. Its files are read, and nothing is judged yet."""

    noun: str
    """What its report is called, such as "comparison"."""
    called: str
    """What it is called in a plan, such as "Estimate by notes"."""
    read: str
    """What was read, in sentences."""
    asked: Sequence[Asked]
    """The judges, and what each is to judge; without items where these are still to be made."""
    report: Callable[[Runtime], StudyReport[T]]
    """Reports what is judged; raises `StoreError` where that is too little."""
    begin: Callable[[Runtime], object] = lambda _: None
    """What comes before the first judgement."""
    reads_reasons: bool = False
    """Whether the critics that judges name read the reasons given."""
    partial: bool = False
    """Whether it reports what was judged until a bound stopped the rest."""
    needs_readable: bool = True
    """Whether it reports only judges that can be read in half of their answers."""

    worths: Mapping[str, float] = field(default_factory=dict)
    """What is known of texts, from 0 to 1: a simulated grader may be told."""
    also_asked: Sequence[str] = ()
    """Models that are asked besides those of the judges."""
    uses: Callable[[Runtime], Sequence[Use]] | None = None
    """What all that it asks will use, where that is not judging alone."""

    @property
    def judges(self) -> list[Judge]:
        """The judges, in order."""
        return [one.judge for one in self.asked]

    def critics(self, session: Session) -> list[Asked]:
        """Return the critics, with the reasons that each is to read so far."""
        return self._critics(session, expected=False)

    def planned(self, session: Session) -> list[Asked]:
        """Return all that is asked, with what critics are expected to read; stores nothing."""
        with session.begin_nested() as stored:
            critics = self._critics(session, expected=True)
            stored.rollback()
        return [*self.asked, *critics]

    def _critics(self, session: Session, *, expected: bool) -> list[Asked]:
        if not self.reads_reasons:
            return []
        return [
            critic
            for one in self.asked
            for critic in criticisms(
                session, [one.judge], one.items, one.repeats, expected=expected
            )
        ]
