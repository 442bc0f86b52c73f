"""Gate: whether judges reach the thresholds in their files; a run that passes is a success."""

from pathlib import Path
from typing import Any

from prefect import flow
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
from judge_gym.judges.gate import GateReport, day_again, gate_report, judgements_of
from judge_gym.judges.gate_texts import load_gates
from judge_gym.report.files import WrittenReport
from judge_gym.report.gate import save_gates, stopped_by
from judge_gym.runtime import Runtime
from tasks.events import emit_failure
from tasks.judges import write_report


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
    gates = load_gates(files, changes, certificate or ())
    asked = [Asked(one.judge, one.texts, one.rule.repeats) for one in gates]
    before: list[int] = []
    again: list[tuple[str, int]] = []
    reports: list[GateReport] = []

    async def judged(run: Run) -> None:
        for one in gates:
            one.certified()  # refused before anything is asked
        before[:] = [run.query(judgements_of, one) for one in gates]
        await judge_requests(run, asked, retry_failed=retry_failed)

    async def judged_again(run: Run) -> None:
        days = [run.query(day_again, one, recheck=recheck) for one in gates]
        again[:] = [
            (day, run.query(judgements_of, one, day) if day else 0)
            for one, day in zip(gates, days, strict=True)
        ]
        for one, day in zip(gates, days, strict=True):
            if day:
                sentinel = Asked(one.judge, one.sentinel, one.rule.repeats)
                await judge_requests(run, [sentinel], retry_failed=retry_failed, review_day=day)

    def written(runtime: Runtime) -> WrittenReport:
        with runtime.session() as session:
            reports[:] = [
                gate_report(session, one, day, had, had_again)
                for one, had, (day, had_again) in zip(gates, before, again, strict=True)
            ]
        return save_gates(files, reports, (), runtime.settings.reports_dir)

    async def verdict(_: Run) -> State[Path] | None:
        sentences = " ".join(report.sentence for report in reports)
        return decided([report.result for report in reports], sentences)

    study = JudgeStudy(
        kind="gates",
        names=[one.judge.key for one in gates],
        spending=spending_on(f"Gate of {', '.join(one.judge.name for one in gates)}", asked),
        steps=[judged, judged_again],
        report=lambda: write_report("gate", written),
        finish=verdict,
        reported=(),
    )
    try:
        return await run_study(study, approve_over_usd=approve_over_usd)
    except OutageError:
        raise  # the run begins again
    except JudgeGymError as error:
        stopped = [stopped_by(error, one.judge) for one in gates]
        await write_report(
            "gate",
            lambda runtime: save_gates(files, (), stopped, runtime.settings.reports_dir),
        )
        raise
