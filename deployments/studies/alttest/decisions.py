"""Print the decisions of the alternative annotator test and of the verdict's rule, side by side.

    python deployments/studies/alttest/decisions.py FOLDER > table.md

FOLDER holds the labels of the tasks (README.md). Nominal labels are a column each.
"""

import sys
from pathlib import Path

import numpy as np

from judge_gym.analysis.figures.people import of_data_set
from judge_gym.annotations import Annotations, as_number, load_mapping, read_annotations
from judge_gym.calibration.checks import Decide
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.people import PASSES, agreement_beside_people
from judge_gym.metrics.score_agreement import label_agreement

MAPPING = Path(__file__).parents[2] / "annotations" / "alttest.yaml"
RULE = Decide()


def tables(given: Annotations, judge: str) -> tuple[FloatArray, FloatArray]:
    """Return people's labels, people x items x d, and a judge's, items x d."""
    number = {label: place for place, label in enumerate(given.labels)}
    values = np.eye(len(number))
    if given.described.score == "neg_rmse":
        values = np.array([[as_number(label) or 0.0] for label in given.labels])
    rows = [row for row in given.of_kind("judge") if row.annotator == judge]
    item = {key: place for place, key in enumerate(sorted({row.item for row in rows}))}
    people = sorted({row.annotator for row in given.of_kind("person")})
    labels = np.full((len(people), len(item), values.shape[1]), np.nan)
    judged = np.zeros((len(item), values.shape[1]))
    for row in given.rows:
        value = values[[number[label] for label in row.labels]].mean(axis=0)
        if row.kind == "person" and row.item in item:
            labels[people.index(row.annotator), item[row.item]] = value
        elif row.annotator == judge and row.kind == "judge":
            judged[item[row.item]] = value
    return labels, judged


def step(estimate: Estimate, least: float) -> str:
    """Return what a step of the rule says: yes, no or open."""
    if estimate.lower is None or estimate.upper is None:
        return "open"
    return "yes" if estimate.lower > least else "no" if estimate.upper <= least else "open"


def reason(passes: bool, agrees: str, beside: str) -> str:
    """Return why the two differ; empty where they agree."""
    if passes and agrees == beside == "yes":
        return ""
    if not passes and "no" in (agrees, beside):
        return ""
    if not passes and agrees == beside == "yes":
        return "as near to the average person as people are, but not to half of them singly"
    if not passes:
        return "the labels leave the rule open; the test has no such outcome"
    if agrees != "yes":
        how = "is below" if agrees == "no" else "may be below"
        return f"agreement {how} {RULE.agreement:g}; the test has no minimum"
    how = "lower" if beside == "no" else "perhaps lower"
    return f"{how} than people's by {RULE.below_people:g}; the test counts items won with ties"


def line(estimate: Estimate) -> str:
    """Return a figure with its interval."""
    return f"{estimate.estimate:.2f} [{estimate.lower:.2f}, {estimate.upper:.2f}]"


sys.stdout.write(
    "| task | judge | winning rate | alt-test | agreement | people | excess | rule | reason |\n"
)
sys.stdout.write("|---|---|---:|---|---:|---:|---:|---|---|\n")
for given in read_annotations(Path(sys.argv[1]), load_mapping(MAPPING)):
    for judge, found in of_data_set(given):
        labels, judged = tables(given, judge)
        labelled = ~np.isnan(labels[:, :, 0]).all(axis=0)
        mean = np.nanmean(labels[:, labelled], axis=0)
        agreement = label_agreement(mean, judged[labelled])
        beside = agreement_beside_people(labels, judged, np.random.default_rng(0))
        rate = found.test.winning_rate.estimate or 0.0
        steps = step(agreement, RULE.agreement), step(beside.excess, -RULE.below_people)
        rule = "no" if "no" in steps else "open" if "open" in steps else "yes"
        people = f"{beside.people.estimate:.2f}"
        cells = (given.name, judge, f"{rate:.2f}", "passes" if rate >= PASSES else "fails")
        figures = (line(agreement), people, line(beside.excess), rule)
        why = reason(rate >= PASSES, *steps)
        sys.stdout.write(f"| {' | '.join((*cells, *figures, why))} |\n")
