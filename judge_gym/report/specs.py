"""Which tables there are, in their order."""

from dataclasses import replace

from judge_gym.report.spec import Spec
from judge_gym.report.specs_across import ACROSS
from judge_gym.report.specs_design import DESIGN
from judge_gym.report.specs_judges import JUDGES
from judge_gym.report.specs_rubrics import RUBRICS

MIXED_TITLE = "own rubrics"
_MIXED_NOTE = (
    "Each judge has a rubric of its own here, so a difference is of rubric and judgement at once."
)

SPECS = (*ACROSS, *RUBRICS, *JUDGES, *DESIGN)


def of_own_rubrics(spec: Spec) -> Spec:
    """Return the table of the same figures where each judge has a rubric of its own."""
    title, explanation = f"{spec.title}: {MIXED_TITLE}", f"{spec.explanation} {_MIXED_NOTE}"
    return replace(spec, title=title, explanation=explanation)
