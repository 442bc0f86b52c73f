"""Gate: whether judges reach the thresholds in their files; a run that passes is a success."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from pydantic import Field
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
from judge_gym.judges.gate import (
    GateEnd,
    GateRun,
    Stopped,
    asked_again,
    asked_first,
    deciding_stop,
    run_gates,
)
from judge_gym.judges.gate_rule import check_thresholds
from judge_gym.judges.gate_texts import load_gates
from judge_gym.judges.judging import JudgementsWaitError, NotJudgedError
from judge_gym.lab.approving import SpendingPlan
from judge_gym.report.files import WrittenReport
from judge_gym.report.gate import gates_report, not_begun, save_gates
from judge_gym.runtime import Runtime
from tasks.events import emit_failure
from tasks.judges import write_report


@dataclass
class _Gates:
    """The gates of a run: what they judge, one after the other, and how each one ended."""

    files: Sequence[Path]
    gates: Sequence[GateRun]
    retry_failed: bool
    ended: list[GateEnd] = field(default_factory=list)

    def planned(self, session: Session, runtime: Runtime, over_usd: float) -> SpendingPlan:
        """Return what is still spent, also on what is judged again."""
        loaded = [gate.loaded for gate in self.gates]
        again = [asked_again(session, gate.loaded, recheck=gate.recheck) for gate in self.gates]
        asked = [*map(asked_first, loaded), *(asked for asked, _ in filter(None, again))]
        names = ", ".join(one.judge.name for one in loaded)
        return plan_study(session, runtime, f"Gate of {names}", over_usd, asked)

    async def run(self, run: Run) -> None:
        warn = get_run_logger().warning

        async def judged(asked: Asked) -> None:
            waiting = run.summary.waiting.total()
            await judge_requests(run, [asked], retry_failed=self.retry_failed)
            if run.summary.waiting.total() > waiting:
                raise JudgementsWaitError(f"{asked.judge.called} waits for a batch.")

        for gate in self.gates:
            for caution in gate.cautions(judging_again=gate.recheck):
                warn(caution)
        await run_gates(self.gates, run.runtime.session, judged, self.ended, warn)

    async def save(self, why: str = "") -> Path:
        """Write the page; gates that did not end were stopped for that reason."""
        left = [one.loaded.judge for one in self.gates[len(self.ended) :]]
        ended = [*self.ended, *(Stopped(judge.name, why, judge) for judge in left)]
        return await _save(self.files, ended)

    async def verdict(self, run: Run) -> State[Path] | None:
        stop = deciding_stop(self.ended)
        if stop and not isinstance(stop, NotJudgedError):  # of which the run says the cause
            raise stop
        sentences = " ".join(one.sentence for one in self.ended)
        run.summary.found = sentences
        return decided([one.result for one in self.ended], sentences)


async def _save(files: Sequence[Path], ended: Sequence[GateEnd]) -> Path:
    def written(runtime: Runtime) -> WrittenReport:
        folder = runtime.settings.reports_dir
        return save_gates(gates_report(files, ended, folder), folder)

    return await write_report("gate", written)


@unless_named
def _run_name() -> str:
    return f"gate {' '.join(Path(file).name for file in flow_run.parameters['files'])}"


@flow(name="gate", flow_run_name=_run_name, on_failure=[emit_failure])
@resumable
async def gate(
    files: Annotated[list[File], Field(min_length=1)],
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
        check_thresholds(fail_under or ())
        loaded = load_gates(files, changes, certificate or ())
    except JudgeGymError as error:
        await _save(files, not_begun(str(error), files))
        raise
    gates = _Gates(files, [GateRun(one, recheck, retry_failed) for one in loaded], retry_failed)
    study = JudgeStudy(
        judges=[one.judge for one in loaded],
        spending=gates.planned,
        steps=[gates.run],
        report=gates.save,
        finish=gates.verdict,
        reported=(),
    )
    try:
        return await run_study(study, approve_over_usd=approve_over_usd)
    except OutageError:
        raise  # the run begins again
    except JudgeGymError as error:
        if len(gates.ended) < len(loaded):
            await gates.save(str(error))
        raise
