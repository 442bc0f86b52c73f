"""Mappings that are proposed for tables with a column for each judge: what is taken for what."""

from pathlib import Path

import pytest

from judge_gym.recorded.formats import load_files
from judge_gym.recorded.proposing import Proposal, propose

ANSWERS = ("yes", "no", "yes", "yes", "no", "no", "yes", "no", "yes", "no")


def proposal(folder: Path, header: str, *lines: str) -> Proposal | None:
    file = folder / "Sheet 1.csv"
    file.write_text("\n".join((header, *lines)) + "\n", encoding="utf-8")
    _, files = load_files([file])
    return propose(files)


def taken(found: Proposal | None) -> dict[str, str]:
    assert found is not None
    return {one.column: one.role for one in reversed(found.taken)}


def test_judges_and_people_stand_in_columns(tmp_path: Path) -> None:
    lines = (f"{n},{a},{a},{ANSWERS[n - 1]},by hand" for n, a in enumerate(ANSWERS))
    found = proposal(tmp_path, "id,GPT-4.1,JudgeLM,HumanJudgement,remark", *lines)
    assert taken(found) == {
        "id": "item", "GPT-4.1": "judge", "JudgeLM": "judge", "HumanJudgement": "person",
        "remark": "left out",
    }  # fmt: skip
    assert found is not None
    recorded = found.recorded
    assert [one.column for one in recorded.verdicts] == ["GPT-4.1", "JudgeLM"]
    assert recorded.item.people == ("HumanJudgement",)
    assert recorded.stages == ("no", "yes")
    assert recorded.label("Yes") == recorded.decision("yes") == 2
    assert recorded.unlisted == "refused"


def test_two_columns_tell_rows_apart_and_values_off_the_scale_are_named(tmp_path: Path) -> None:
    lines = [f"q{n % 5},p{n // 5},{n % 4},{(n + n % 3) % 4},{n % 4}" for n in range(60)]
    lines[7] = "q2,p1,12,3,3"
    found = proposal(tmp_path, "query,passage,first,second,human", *lines)
    assert found is not None
    assert found.recorded.item.key == "{query}-{passage}"
    assert found.recorded.scale is not None
    assert (found.recorded.scale.lowest, found.recorded.scale.highest) == (0, 3)
    [stray] = [one for one in found.taken if one.role == "unreadable in part"]
    assert stray.column == "first"
    assert "'12' (1)" in stray.why
    assert found.recorded.unlisted == "unreadable"


def test_a_known_answer_is_not_told_by_a_name_alone(tmp_path: Path) -> None:
    """A column called gold whose values are no verdicts of the judges is left out by name."""
    lines = (f"{n},{a},{a},text {n % 4}" for n, a in enumerate(ANSWERS))
    found = proposal(tmp_path, "id,one,two,gold", *lines)
    assert taken(found)["gold"] == "left out"
    assert found is not None
    assert not found.recorded.item.people


@pytest.mark.parametrize("name", ["annotator1", "expert_label", "Human", "goldLabel", "crowd-2"])
def test_names_of_people(tmp_path: Path, name: str) -> None:
    lines = (f"{n},{a},{a}" for n, a in enumerate(ANSWERS))
    assert taken(proposal(tmp_path, f"id,some-model,{name}", *lines))[name] == "person"


@pytest.mark.parametrize("name", ["humanoid-7b", "goldfish", "expertise-1b"])
def test_names_of_models_that_begin_like_people(tmp_path: Path, name: str) -> None:
    lines = (f"{n},{a},{a}" for n, a in enumerate(ANSWERS))
    assert taken(proposal(tmp_path, f"id,{name},other", *lines))[name] == "judge"


def test_numbers_that_name_something_are_no_verdicts(tmp_path: Path) -> None:
    lines = (f"{n},{n % 3},{n % 3 + 1},{n // 2}" for n in range(24))
    found = proposal(tmp_path, "row,alpha,beta,page", *lines)
    assert found is None or taken(found)["page"] == "left out"


@pytest.mark.parametrize(
    ("header", "line"),
    [("id,comment,remark", "{n},fine,{n}"), ("id,one", "{n},yes"), ("one,two", "yes,yes")],
)
def test_where_nothing_tells_verdicts_or_items_there_is_no_proposal(
    tmp_path: Path, header: str, line: str
) -> None:
    assert proposal(tmp_path, header, *(line.format(n=n) for n in range(12))) is None
