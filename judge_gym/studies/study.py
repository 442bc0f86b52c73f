"""A study whose judges judge items: the same one, whether a flow or a command runs it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from sqlalchemy.orm import Session

from judge_gym.calibration.design import Perturber
from judge_gym.judges import Item, Judge
from judge_gym.judges.calibrating.judging import Asked, criticisms
from judge_gym.judges.calibrating.texts import Rewriting
from judge_gym.judges.use import Use
from judge_gym.report.files import WrittenReport
from judge_gym.report.judge_study import StudyReport
from judge_gym.report.table import Table
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
    keep: Callable[[Runtime, T], object] = lambda *_: None
    """What is stored of what was found, once its report is saved."""
    begin: Callable[[Runtime], object] = lambda _: None
    """What comes before the first judgement."""
    artifact: str = ""
    """What its report is called in Prefect, where that is not as its page."""
    perturbing: tuple[Perturber, Sequence[Rewriting]] | None = None
    """The model that changes texts first, and how."""
    changed: Callable[[Session, bool], Sequence[Item]] | None = None
    """What all judges are to judge, where that is made of texts: so far, or all to be expected."""
    previewed: Callable[[Session], Sequence[Table]] = lambda _: ()
    """Tables that a plan begins with."""
    reads_reasons: bool = False
    """Whether the critics that judges name read the reasons given."""
    partial: bool = False
    """Whether it reports what was judged until a bound stopped the rest."""
    figures: Mapping[str, str] = field(default_factory=dict)
    """What a threshold may be of: name → why there is no such figure here, empty if there is."""
    needs_readable: bool = True
    """Whether it reports only judges that can be read in half of their answers."""

    worths: Mapping[str, float] = field(default_factory=dict)
    """What is known of texts, from 0 to 1: a simulated grader may be told."""
    also_asked: Sequence[str] = ()
    """Models that are asked besides those of the judges."""
    uses: Callable[[Runtime], Sequence[Use]] | None = None
    """What all that it asks will use, where that is not judging alone."""
    also_locks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What else no two runs may work on at once: kind, in the plural → names."""

    @property
    def judges(self) -> list[Judge]:
        """The judges, in order."""
        return [one.judge for one in self.asked]

    def to_judge(self, session: Session, *, expected: bool = False) -> Sequence[Asked]:
        """Return what each judge is to judge: of texts made so far, or all to be expected."""
        if self.changed is None:
            return self.asked
        items = self.changed(session, expected)
        return [replace(one, items=items) for one in self.asked]

    def write(self, runtime: Runtime) -> tuple[StudyReport[T], WrittenReport]:
        """Report what is judged, save the report's files, and store what was found."""
        report = self.report(runtime)
        saved = report.save(runtime.settings.reports_dir)
        self.keep(runtime, report.of)
        return report, saved

    def critics(self, session: Session) -> list[Asked]:
        """Return the critics, with the reasons that each is to read so far."""
        return self._critics(session, self.to_judge(session), expected=False)

    def planned(self, session: Session) -> list[Asked]:
        """Return all that is asked, with what critics are expected to read; stores nothing."""
        with session.begin_nested() as stored:
            judges = self.to_judge(session, expected=True)
            critics = self._critics(session, judges, expected=True)
            stored.rollback()
        return [*judges, *critics]

    def _critics(self, session: Session, asked: Sequence[Asked], *, expected: bool) -> list[Asked]:
        if not self.reads_reasons:
            return []
        return criticisms(session, asked, expected=expected)
