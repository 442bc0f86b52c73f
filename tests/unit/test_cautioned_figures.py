"""Remarks on a figure are about the judges behind it, and no others."""

from judge_gym.analysis.data import Origin, SweepJudge
from judge_gym.analysis.groups import result_row
from judge_gym.analysis.running import cautioned
from judge_gym.design.experiment import Experiment
from judge_gym.metrics.estimate import Estimate, Remark, RemarkKind
from judge_gym.store.results import ResultRow

JUDGE = "acme/judge"


def judged_by_rubric_of(model: str, *not_applied: str) -> SweepJudge:
    window = {"country": "Valmora", "source": {"kind": "corpus", "path": "c.jsonl"}}
    experiment = Experiment(
        concept="order", model=JUDGE, window=window, rubric={"shared": model}, temperature=0.5
    )
    return SweepJudge(experiment, "w", (), not_applied)


def figure_by_rubric_of(model: str) -> ResultRow:
    scope = {"judge": JUDGE, "rubric": f"shared by {model}", "temperature": 0.5}
    share = Estimate("share", 0.5, None, None, 4, 2, unit="share")
    return result_row(share, scope, Origin(simulated=False, imported=False))


def test_a_figure_by_one_rubric_is_not_about_a_model_whose_name_begins_alike() -> None:
    judges = [judged_by_rubric_of("acme/a-1", "temperature"), judged_by_rubric_of("acme/a-10")]
    rows = [figure_by_rubric_of(model) for model in ("acme/a-1", "acme/a-10")]
    first, tenth = cautioned(rows, judges)
    assert first.remarks == (Remark(RemarkKind.NOT_APPLIED, names=("temperature", JUDGE)),)
    assert tenth.remarks == ()
