"""Logs of Inspect that judge-gym writes; Inspect's own reader opens them in slow/test_elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis import inspect_logs
from judge_gym.lab.importing import import_verdicts
from judge_gym.recorded.derived import Options
from judge_gym.recorded.deriving import derived
from judge_gym.recorded.formats import load_files
from judge_gym.recorded.inspect_logs import read_inspect
from judge_gym.recorded.mapping import stages_rubric
from judge_gym.settings import settings

MADE = Path(__file__).parents[1] / "support" / "foreign" / "made"


@pytest.fixture
def configured(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the database, which the settings name meanwhile."""
    monkeypatch.setenv("JUDGE_GYM_DATABASE_URL", database)
    settings.cache_clear()
    yield database
    settings.cache_clear()


def test_a_sweep_goes_out_as_a_log_for_each_judge(configured: str, tmp_path: Path) -> None:
    names = ("judging-strict.eval", "judging-lenient.eval")
    kind, files = load_files([MADE / name for name in names])
    [recorded] = derived(files, kind, Options()).readings
    with Session(sa.create_engine(configured, poolclass=sa.NullPool)) as session, session.begin():
        import_verdicts(session, files, recorded, stages_rubric(recorded))
    logs = inspect_logs.export_sweep("judging", tmp_path / "logs")
    assert len(logs) == 2
    by_model = {}
    for log in logs:
        rows = [row.values for row in read_inspect(log).rows]
        by_model[rows[0]["model"]] = rows
    assert {model: len(rows) for model, rows in by_model.items()} == {
        "recorded/mockllm/strict": 17, "recorded/mockllm/lenient": 17,
    }  # fmt: skip
    # good is stage 2 of 2, so 1; three refusals have no score and say why.
    lenient = by_model["recorded/mockllm/lenient"]
    assert sorted(row["value"] for row in lenient) == [""] * 3 + ["0"] * 5 + ["1"] * 9
    assert {row["explanation"] for row in lenient if not row["value"]} == {
        "unlisted: 'I would rather not say.'"
    }
    assert {row["target"] for row in lenient} == {"good", "bad"}
