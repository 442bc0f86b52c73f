"""Gate: whether judges reach the thresholds in their files; a run that passes is a success."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from sqlalchemy.orm import Session

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import Columns, File, OrLeftOut, Thresholds, unless_named
from flows.judge_study import JudgeStudy, decided, run_study
from flows.judged_items import judge_requests
from flows.running import Run
from judge_gym.errors import JudgeGymError, OutageError
from judge_gym.judges.approving import plan_study
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.gate import GateReport, GateRun, asked_again, asked_first
from judge_gym.judges.gate_texts import load_gates
from judge_gym.lab.approving import SpendingPlan
from judge_gym.report.files import WrittenReport
from judge_gym.report.gate import Stopped, gates_report, not_begun, save_gates, stopped_by
from judge_gym.runtime import Runtime
from tasks.events import emit_failure
from tasks.judges import write_report


@dataclass
class _Gates:
    """The gates of a run: what they judge, step by step, and what came of it."""

    gates: Sequence[GateRun]
    retry_failed: bool
    reports: list[GateReport] = field(default_factory=list)

    def planned(self, session: Session, runtime: Runtime, over_usd: float) -> SpendingPlan:
        """Return what is still spent, also on what is judged again."""
        loaded = [gate.loaded for gate in self.gates]
        again = [asked_again(session, gate.loaded, recheck=gate.recheck) for gate in self.gates]
        asked = [*map(asked_first, loaded), *(asked for asked, _ in filter(None, again))]
        names = ", ".join(one.judge.name for one in loaded)
        return plan_study(session, runtime, f"Gate of {names}", over_usd, asked)

    async def judge(self, run: Run) -> None:
        await self._judge(run, [run.query(gate.begin) for gate in self.gates])

    async def judge_again(self, run: Run) -> None:
        again = [run.query(gate.begin_again) for gate in self.gates]
        for gate in self.gates:
            if gate.caution:
                get_run_logger().warning(gate.caution)
        await self._judge(run, [*filter(None, again)])

    async def _judge(self, run: Run, asked: Sequence[Asked]) -> None:
        await judge_requests(run, asked, retry_failed=self.retry_failed)

    def read(self, runtime: Runtime) -> list[GateReport]:
        """Return the report of each gate."""
        with runtime.session() as session:
            self.reports = [gate.report(session) for gate in self.gates]
        return self.reports

    async def verdict(self, _: Run) -> State[Path] | None:
        sentences = " ".join(report.sentence for report in self.reports)
        return decided([report.result for report in self.reports], sentences)


def _saved(
    runtime: Runtime,
    files: Sequence[Path],
    reports: Sequence[GateReport] = (),
    stopped: Sequence[Stopped] = (),
) -> WrittenReport:
    folder = runtime.settings.reports_dir
    return save_gates(gates_report(files, reports, stopped, folder), folder)


async def _save_stopped(files: Sequence[Path], stopped: Sequence[Stopped]) -> None:
    """Write the page of gates that did not decide."""
    await write_report("gate", lambda runtime: _saved(runtime, files, stopped=stopped))


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
    gates = _Gates([GateRun(one, recheck) for one in loaded], retry_failed)

    def written(runtime: Runtime) -> WrittenReport:
        return _saved(runtime, files, gates.read(runtime))

    study = JudgeStudy(
        judges=[one.judge for one in loaded],
        spending=gates.planned,
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
        await _save_stopped(files, [stopped_by(error, one.judge) for one in loaded])
        raise
