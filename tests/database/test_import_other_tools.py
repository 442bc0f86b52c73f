"""Logs of other tools into the database: as an audit reads them, and once."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis import running as analysis
from judge_gym.analysis.recorded import audited
from judge_gym.lab.importing import Imported, import_verdicts
from judge_gym.recorded.derived import Options
from judge_gym.recorded.deriving import derived
from judge_gym.recorded.formats import load_files
from judge_gym.recorded.mapping import stages_rubric
from judge_gym.store.results import load_results

MADE = Path(__file__).parents[1] / "support" / "foreign" / "made"


@pytest.mark.parametrize(
    ("names", "options", "statuses"),
    [
        # Three epochs of six samples and two models; two ended with an error, three are refusals.
        (("judging-strict.eval", "judging-lenient.eval"), {}, {"scored": 31, "unparseable": 3}),
        # Three stages; two scorers, two epochs, and one grade that is missing in both.
        (
            ("grading.eval",),
            {"criteria": ("includes", "model_graded_qa")},
            {"scored": 22, "unparseable": 2},
        ),
        (("annotations.json",), {}, {"scored": 11, "unparseable": 1}),
    ],
)
def test_an_import_has_the_figures_of_an_audit(
    database: str, names: tuple[str, ...], options: dict[str, object], statuses: dict[str, int]
) -> None:
    kind, files = load_files([MADE / name for name in names])
    [recorded] = derived(files, kind, Options(**options)).readings
    rubric = stages_rubric(recorded)
    engine = sa.create_engine(database, poolclass=sa.NullPool)

    def bring() -> Imported:
        with Session(engine) as session, session.begin():
            return import_verdicts(session, files, recorded, rubric)

    first, again = bring(), bring()
    assert first.statuses == statuses
    assert (first.new, again.new) == (sum(statuses.values()), 0)
    run_id = analysis.analyse(engine, recorded.name)
    with Session(engine) as session:
        stored = {
            (row.metric, frozenset(row.scope.items())): (row.estimate, row.lower, row.n)
            for row in load_results(session, run_id)
        }
    # An import keeps verdicts, not the weights of preferences.
    rows = [
        row
        for row in audited(files, recorded, rubric).rows
        if row.estimate is not None and row.metric != "win_rate"
    ]
    assert rows
    for row in rows:
        assert stored[row.metric, frozenset(row.scope.items())] == (
            row.estimate,
            row.lower,
            row.n,
        ), row
