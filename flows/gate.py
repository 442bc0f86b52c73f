"""Gate: whether judges reach the thresholds in their files; a run that passes is a success."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import Columns, File, OrLeftOut, Thresholds, unless_named
from flows.judge_study import JudgeStudy, decided, run_study, spending_on
from flows.judged_items import judge_requests
from flows.running import Run
from judge_gym.errors import JudgeGymError, OutageError
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.gate import GateReport, begin_again, gate_report, judgements_of
from judge_gym.judges.gate_checks import drift_caution
from judge_gym.judges.gate_texts import LoadedGate, load_gates
from judge_gym.report.files import WrittenReport
from judge_gym.report.gate import Stopped, not_begun, save_gates, stopped_by
from judge_gym.runtime import Runtime
from judge_gym.store.rechecks import Recheck
from tasks.events import emit_failure
from tasks.judges import write_report


@dataclass
class _Gates:
    """The gates of a run: what they judge, step by step, and what came of it."""

    loaded: list[LoadedGate]
    recheck: bool
    retry_failed: bool
    before: list[int] = field(default_factory=list)
    """By gate, the judgements that were there."""
    again: list[tuple[Recheck | None, int]] = field(default_factory=list)
    """By gate, when its sentinel set is judged again, None where it is not, and as above."""
    reports: list[GateReport] = field(default_factory=list)

    @property
    def names(self) -> str:
        return ", ".join(one.judge.name for one in self.loaded)

    @property
    def asked(self) -> list[Asked]:
        return [Asked(one.judge, one.texts, one.rule.repeats) for one in self.loaded]

    async def judge(self, run: Run) -> None:
        for one in self.loaded:
            one.certified()  # refused before anything is asked
        self.before = [run.query(judgements_of, one) for one in self.loaded]
        await judge_requests(run, self.asked, retry_failed=self.retry_failed)

    async def judge_again(self, run: Run) -> None:
        self.again = [run.query(begin_again, one, recheck=self.recheck) for one in self.loaded]
        for one, (again, made) in zip(self.loaded, self.again, strict=True):
            if again:
                size, texts = len(one.sentinel), len(one.texts)
                caution = drift_caution(one.judge, one.rule, size, texts)
                if caution and made < one.to_judge_again:
                    get_run_logger().warning(caution)
                sentinel = [Asked(one.judge, one.sentinel, one.rule.repeats)]
                retry, day = self.retry_failed, again.review_day
                await judge_requests(run, sentinel, retry_failed=retry, review_day=day)

    def read(self, runtime: Runtime) -> list[GateReport]:
        """Return the report of each gate."""
        of_gates = zip(self.loaded, self.before, self.again, strict=True)
        with runtime.session() as session:
            self.reports = [
                gate_report(session, one, again, had, had_again)
                for one, had, (again, had_again) in of_gates
            ]
        return self.reports

    async def verdict(self, _: Run) -> State[Path] | None:
        sentences = " ".join(report.sentence for report in self.reports)
        return decided([report.result for report in self.reports], sentences)


async def _save_stopped(files: Sequence[Path], stopped: Sequence[Stopped]) -> None:
    """Write the page of gates that did not decide."""
    await write_report(
        "gate", lambda runtime: save_gates(files, (), stopped, runtime.settings.reports_dir)
    )


@unless_named
def _run_name() -> str:
    return f"gate {' '.join(Path(file).name for file in flow_run.parameters['files'])}"


@flow(name="gate", flow_run_name=_run_name, on_failure=[emit_failure])
@resumable
async def gate(
    files: list[File],
    fail_under: Thresholds = None,
    labels: OrLeftOut[File] = None,
    label_fields: Columns = None,
    certificate: OrLeftOut[list[File]] = None,
    recheck: bool = False,
    retry_failed: bool = False,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Judge what is still missing, then decide; the state's data is the page, with JSON beside it.

    The run fails if a judge does not reach a threshold, and where the data cannot tell. Stored
    judgements are reused: an unchanged judge makes no calls.

    Args:
        files: judge files with a gate, as this process sees them.
        fail_under: thresholds in place of the files', as {"agreement": 0.6}.
        labels: people's labels in place of the files'.
        label_fields: fields of labels that stand in other columns, as {"annotator": "rater"}.
        certificate: refuse a judge without one of these that is of it and holds.
        recheck: judge the sentinel set again today.
        retry_failed: retry what failed.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    changes: dict[str, Any] = dict(fail_under or {})
    if labels:
        # Without columns of its own, the file has those of the gate.
        changes |= {"labels": labels, **({"label_fields": label_fields} if label_fields else {})}

    try:
        loaded = load_gates(files, changes, certificate or ())
    except JudgeGymError as error:
        await _save_stopped(files, not_begun(str(error), files))
        raise
    gates = _Gates(loaded, recheck=recheck, retry_failed=retry_failed)

    def written(runtime: Runtime) -> WrittenReport:
        return save_gates(files, gates.read(runtime), (), runtime.settings.reports_dir)

    study = JudgeStudy(
        judges=[one.judge for one in gates.loaded],
        spending=spending_on(f"Gate of {gates.names}", gates.asked),
        steps=[gates.judge, gates.judge_again],
        report=lambda: write_report("gate", written),
        finish=gates.verdict,
        reported=(),
    )
    try:
        return await run_study(study, approve_over_usd=approve_over_usd)
    except OutageError:
        raise  # the run begins again
    except JudgeGymError as error:
        await _save_stopped(files, [stopped_by(error, one.judge) for one in gates.loaded])
        raise
