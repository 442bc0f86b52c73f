"""Judges made of judges: votes, doubts, failures of members, and what is paid once."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.errors import ConfigError
from judge_gym.judges import (
    CallableJudge,
    EnsembleJudge,
    Item,
    Judge,
    JudgeResult,
    RoutedJudge,
    load_judge,
)
from judge_gym.judges.composite import CompositeJudge
from judge_gym.store import tables as t
from support.judge_runs import simulated
from support.rig import count, run, runtime_at
from support.simulation import Simulator

GRADES = """
import pathlib

def low(item):
    return {"score": 2, "reason": "Too short."}

def high(item):
    return 5

def by_text(item):
    return len(item["text"])

def raises(item):
    raise RuntimeError("out of cheese")

def recovers(item):
    if pathlib.Path("mended").exists():
        return 4
    raise RuntimeError("not yet")

def asked(item):
    with open("asked", "a") as log:
        log.write(item["text"] + "\\n")
    return 1
"""
TEXTS = [Item(id=text, text=text) for text in ("a", "bbb", "ccccc")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "composed_grades.py").write_text(GRADES)
    for name in ("low", "high", "by_text", "raises", "recovers", "asked"):
        (tmp_path / f"{name}.yaml").write_text(
            f"{{kind: callable, name: {name}, function: 'composed_grades:{name}', "
            "scale: {lowest: 1, highest: 5}}\n"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def composed(folder: Path, text: str, name: str = "composed.yaml") -> Judge:
    (folder / name).write_text(text)
    return load_judge(folder / name)


def made(database: str) -> int:
    """Return how many calls were made."""
    return count(sa.create_engine(database, poolclass=sa.NullPool), t.Call)


def scores(results: Sequence[JudgeResult]) -> list[float | None]:
    return [result.score for result in results]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("mean", [8 / 3, 10 / 3, 4.0]),  # of 2, 5 and the length: 1, 3, 5
        ("median", [2.0, 3.0, 5.0]),
        ("majority", [None, None, 5.0]),  # three different scores are a tie of three
    ],
)
def test_members_vote_by_the_rule(
    database: str, simulator: Simulator, folder: Path, rule: str, expected: list[float | None]
) -> None:
    judge = composed(
        folder,
        f"{{kind: ensemble, name: all, rule: {rule}, "
        "members: [low.yaml, high.yaml, by_text.yaml]}",
    )
    results = simulated(database, simulator, judge, items=TEXTS)
    assert scores(results) == pytest.approx(expected)
    assert results[2].subscores == {"low": 2, "high": 5, "by_text": 5}
    assert "low: Too short." in results[0].reason
    if rule == "majority":
        assert [result.status for result in results[:2]] == ["inconsistent", "inconsistent"]


def test_a_member_without_a_score_has_no_vote(
    database: str, simulator: Simulator, folder: Path
) -> None:
    members = "members: [low.yaml, raises.yaml, high.yaml]"
    most = composed(folder, f"{{kind: ensemble, name: most, rule: mean, {members}}}")
    every = composed(folder, f"{{kind: ensemble, name: every, rule: mean, least: 3, {members}}}")
    [enough] = simulated(database, simulator, most, items=TEXTS[:1])
    assert (enough.status, enough.score) == ("scored", 3.5)
    assert "raises: no score" in enough.reason
    [short] = simulated(database, simulator, every, items=TEXTS[:1])
    assert (short.status, short.score) == ("failed", None)
    assert short.failure is not None
    assert "out of cheese" in short.failure
    assert "(member raises)" in short.failure


def test_a_failed_member_is_asked_again_and_no_other(
    database: str, simulator: Simulator, folder: Path
) -> None:
    judge = composed(
        folder,
        "{kind: ensemble, name: both, rule: mean, least: 2, members: [asked.yaml, recovers.yaml]}",
    )
    [before] = simulated(database, simulator, judge, items=TEXTS[:1])
    assert before.status == "failed"
    (folder / "mended").touch()
    [kept] = simulated(database, simulator, judge, items=TEXTS[:1])
    assert kept.status == "failed"
    [after] = simulated(database, simulator, judge, items=TEXTS[:1], retry_failed=True)
    assert (after.status, after.score) == ("scored", 2.5)
    assert (folder / "asked").read_text() == "a\n"


def test_the_second_judge_is_asked_where_the_first_is_in_doubt(
    database: str, simulator: Simulator, folder: Path
) -> None:
    judge = composed(
        folder, "{kind: routed, name: two, first: by_text.yaml, then: asked.yaml, between: [2, 4]}"
    )
    results = simulated(database, simulator, judge, items=TEXTS)
    assert scores(results) == [1, 1, 5]
    assert (folder / "asked").read_text() == "bbb\n"
    assert "(by_text: score 3)" in results[1].reason
    assert results[0].subscores == {"by_text": 1}


def test_without_a_score_of_the_first_the_second_decides(
    database: str, simulator: Simulator, folder: Path
) -> None:
    judge = composed(folder, "{kind: routed, name: two, first: raises.yaml, then: asked.yaml}")
    [result] = simulated(database, simulator, judge, items=TEXTS[:1])
    assert (result.status, result.score) == ("scored", 1)
    assert "out of cheese" in result.reason


def test_an_ensemble_that_is_apart_is_in_doubt(
    database: str, simulator: Simulator, folder: Path
) -> None:
    composed(
        folder, "{kind: ensemble, name: pair, rule: mean, members: [low.yaml, by_text.yaml]}",
        "pair.yaml",
    )  # fmt: skip
    judge = composed(
        folder, "{kind: routed, name: two, first: pair.yaml, then: high.yaml, within: 30}"
    )
    results = simulated(database, simulator, judge, items=TEXTS)
    # 2 against 1, 3 and 5 on a scale of four steps: 25, 25 and 75 points apart.
    assert scores(results) == [1.5, 2.5, 5]
    assert "75 points apart" in results[2].reason


def test_models_of_members_are_called_once(
    database: str, simulator: Simulator, folder: Path
) -> None:
    for number in (1, 2):
        (folder / f"model{number}.yaml").write_text(
            f"kind: rubric\nname: model{number}\nmodel: sim/good-{number}\ntask: Mark it.\n"
            "criteria: [{name: clarity, description: It is clear.}]\n"
        )
    judge = composed(
        folder, "{kind: ensemble, name: both, rule: mean, members: [model1.yaml, model2.yaml]}"
    )
    alone = simulated(database, simulator, load_judge(folder / "model1.yaml"), items=TEXTS)
    assert made(database) == 3
    together = simulated(database, simulator, judge, items=TEXTS, repeats=2)
    assert made(database) == 12
    for one, both in zip(alone, together[::2], strict=True):
        assert both.subscores["model1"] == one.score
        assert set(one.call_ids) < set(both.call_ids)
        assert len(both.call_ids) == 2
        assert both.score == pytest.approx(sum(both.subscores.values()) / 2)
        assert both.simulated
    simulated(database, simulator, judge, items=TEXTS, repeats=2)
    assert made(database) == 12


def test_a_budget_of_a_member_stops_the_whole(
    database: str, simulator: Simulator, folder: Path
) -> None:
    (folder / "model.yaml").write_text(
        "kind: rubric\nname: model\nmodel: sim/good-1\ntask: Mark it.\nbudget: {max_calls: 2}\n"
        "criteria: [{name: clarity, description: It is clear.}]\n"
    )
    (folder / "other.yaml").write_text(
        "kind: callable\nname: other\nfunction: 'composed_grades:raises'\n"
    )
    judge = composed(folder, "{kind: routed, name: two, first: other.yaml, then: model.yaml}")
    with pytest.raises(BudgetExceededError, match="'model' has reached its budget"):
        simulated(database, simulator, judge, items=TEXTS)
    assert made(database) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{kind: ensemble, name: a, rule: mean, members: [low.yaml]}", "members"),
        ("{kind: ensemble, name: a, rule: mean, members: [low.yaml, low.yaml]}", "same name"),
        ("{kind: ensemble, name: a, rule: mean, members: [low.yaml, no.yaml]}", "no.yaml"),
        ("{kind: ensemble, name: a, rule: most, members: [low.yaml, high.yaml]}", "majority"),
        ("{kind: ensemble, name: a, rule: mean, least: 3, members: [low.yaml, high.yaml]}",
         "least is 3"),
        ("{kind: ensemble, name: a, rule: mean, members: [low.yaml, composed.yaml]}",
         "names this one"),
        ("{kind: routed, name: a, first: low.yaml, then: high.yaml, between: [4, 2]}", "ascend"),
        ("{kind: routed, name: a, first: low.yaml, then: high.yaml, within: 5}", "ensemble"),
        ("{kind: routed, name: a, first: low.yaml, then: wide.yaml}", "scale"),
        ("{kind: routed, name: a, first: low.yaml, then: pairs.yaml}", "pairs"),
    ],
)  # fmt: skip
def test_what_cannot_be_composed_is_told(folder: Path, text: str, said: str) -> None:
    (folder / "wide.yaml").write_text(
        "{kind: callable, name: wide, function: 'composed_grades:low'}\n"
    )
    (folder / "pairs.yaml").write_text("{kind: pairwise, name: b, model: sim/good-1, task: t}\n")
    with pytest.raises(ConfigError, match=said) as raised:
        composed(folder, text)
    assert "composed.yaml" in str(raised.value)


def test_the_identity_is_that_of_the_members(folder: Path) -> None:
    text = "{kind: routed, name: two, first: by_text.yaml, then: asked.yaml, between: [2, 4]}"
    judge = composed(folder, text)
    assert isinstance(judge, RoutedJudge)
    assert composed(folder, text.replace("name: two", "name: other")).key == judge.key
    assert composed(folder, text.replace("[2, 4]", "[2, 3]")).key != judge.key
    changed = (folder / "asked.yaml").read_text().replace("}}", "}, version: '2'}")
    (folder / "asked.yaml").write_text(changed)
    assert load_judge(folder / "composed.yaml").key != judge.key


def test_a_row_of_results_names_the_members(
    database: str, simulator: Simulator, folder: Path
) -> None:
    judge = composed(
        folder, "{kind: ensemble, name: both, rule: mean, members: [low.yaml, high.yaml]}"
    )
    assert isinstance(judge, CompositeJudge)
    simulated(database, simulator, judge, items=TEXTS[:1])

    async def row() -> tuple[str, str, dict[str, float]]:
        async with runtime_at(database, simulator.url) as runtime:
            with runtime.session() as session:
                found = session.execute(
                    sa.text(
                        "SELECT kind, model, subscores FROM analysis.judge_results "
                        "WHERE judge = 'both'"
                    )
                ).one()
                return found.kind, found.model, found.subscores

    assert run(row()) == (
        "ensemble", "composed_grades:low + composed_grades:high", {"low": 2, "high": 5}
    )  # fmt: skip


def test_a_function_given_in_python_is_a_member(database: str, simulator: Simulator) -> None:
    def short(item: dict[str, str]) -> int:
        return 100 - len(item["text"])

    def long(item: dict[str, str]) -> int:
        return len(item["text"])

    judge = EnsembleJudge(
        name="mine", rule="mean", members=(CallableJudge.of(short), CallableJudge.of(long))
    )
    assert scores(simulated(database, simulator, judge, items=TEXTS)) == [50, 50, 50]
