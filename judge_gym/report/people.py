"""Judges beside the people of a data set, as a table and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from judge_gym.analysis.figures.people import PeopleFigures
from judge_gym.annotations import Annotations
from judge_gym.formats import figure, number, plain
from judge_gym.metrics.people import PASSES
from judge_gym.report.remarks import remark_texts
from judge_gym.report.table import Row, Table

Judges = Sequence[tuple[str, PeopleFigures]]
NO_JUDGE = "no judge is among its annotators: map the column `kind` of the file"


def beside_people_table(given: Annotations, judges: Judges) -> Table:
    """Return a line per judge: winning rate, advantage, and distance beside people's own."""
    rows = []
    for name, beside in judges:
        rate, advantage, lead, apart, excess = beside.figures[:5]
        passes = rate.estimate is not None and rate.estimate >= PASSES
        cells = (
            name,
            "–" if rate.estimate is None else "passes" if passes else "fails",
            number(rate.estimate),
            figure(advantage),
            figure(lead),
            figure(apart),
            figure(excess),
            str(rate.n_items),
        )
        rows.append(Row(cells))
    figures = [one for _, beside in judges for one in beside.figures[:5]]
    reasons = dict.fromkeys(one.reason for one in figures if one.estimate is None)
    people = {row.annotator for row in given.of_kind("person")}
    notes = [] if judges else [f"No figures: {NO_JUDGE}."]
    notes += [f"{text}." for one in figures[:1] for text in remark_texts(one.remarks)]
    return Table(
        title=f"{given.name}: judges beside {len(people)} people",
        explanation=(
            f"Score {given.described.score}, epsilon {plain(given.described.epsilon)}. Winning "
            "rate: share of people whom the judge may stand in for. Advantage: probability that "
            "it agrees with the others at least as well as a person. Lead: share of items that a "
            "person wins less those that it wins, to be below epsilon. Distance: share of labels "
            "that differ from people's; excess: that less the share of a person."
        ),
        columns=(
            "judge", "alt-test", "winning rate", "advantage", "lead", "distance", "excess", "items",
        ),
        rows=tuple(rows),
        notes=(*notes, *reasons, f"Source: {given.source}."),
        words=2,
        imported=True,
    )  # fmt: skip


def beside_people_json(given: Annotations, judges: Judges) -> dict[str, Any]:
    """Return every figure and the test of each person."""
    names = sorted({row.annotator for row in given.of_kind("person")})
    return {
        "set": given.name,
        "source": given.source,
        "score": given.described.score,
        "epsilon": given.described.epsilon,
        "judges": [
            {
                "judge": name,
                "figures": [asdict(one) for one in beside.figures],
                "people": [
                    {**asdict(test), "person": names[test.person], "won": test.won}
                    for test in beside.test.people
                ],
                "people_left_out": [
                    person
                    for number, person in enumerate(names)
                    if number not in {test.person for test in beside.test.people}
                ],
            }
            for name, beside in judges
        ],
    }
