"""Reviews of a judge of one's own over many nights, as they are stored."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy.orm import Session

from judge_gym.judges.judging import judge_items
from judge_gym.judges.reviewing.cases import LoadedReview, load_review
from judge_gym.judges.reviewing.findings import save_decision, store_findings
from judge_gym.judges.reviewing.moving import labelled_since
from judge_gym.report.markdown import moved_text
from judge_gym.runtime import Runtime
from judge_gym.store.judges import ReviewRow, replace_reviews, save_judge
from support.rig import run, runtime_at

FIRST_DAY, ITEMS = date(2026, 1, 1), 24
GRADES = """
from pathlib import Path


def graded(asked):
    number = int(asked["id"])
    moved = Path("moved").exists()
    return 100 * ((number + moved) % 2)
"""
REVIEW = """
name: nightly
time_zone: Asia/Tokyo
reviews:
  - {judge: mine.yaml, items: items.jsonl, decision: It was chosen.}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a review of a function, in the working folder; it moves where `moved` exists."""
    module = f"nightly_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(GRADES)
    (tmp_path / "mine.yaml").write_text(f"kind: callable\nname: mine\nfunction: {module}:graded\n")
    texts = [json.dumps({"id": str(number), "text": f"Text {number}"}) for number in range(ITEMS)]
    (tmp_path / "items.jsonl").write_text("\n".join(texts))
    (tmp_path / "review.yaml").write_text(REVIEW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "review.yaml"


async def judged(runtime: Runtime, review: LoadedReview, day: date) -> None:
    for one in review.asked(day):
        await judge_items(runtime, one.judge, one.items, review_day=one.review_day)


def noted(session: Session, review: LoadedReview, day: date) -> None:
    """Store that there was a review on a day, without what it found."""
    [case] = review.cases
    row: dict[str, Any] = {
        "judge_id": save_judge(session, case.judge.record), "alternative_id": None,
        "corpus": case.corpus, "decision": case.decision, "figures": {"checks": []},
        "recommendation": "keep", "reason": "", "simulated": False,
    }  # fmt: skip
    replace_reviews(session, review.file.name, day, [row])


def anchors_of(rows: list[ReviewRow]) -> dict[str, Any]:
    [row] = rows
    return next(check for check in row.figures["checks"] if check["name"] == "anchors")


def relabelled(folder: Path, moved: bool) -> None:
    """Labels of all texts on six days, with other labels on the last three if `moved`."""
    rows = ["item,annotator,label,time"]
    for night in range(6):
        day = (FIRST_DAY + timedelta(days=night)).isoformat()
        other = moved and night >= 3
        rows += [f"{n},Ada,{100 * ((n + other) % 2)},{day}T10:00:00+09:00" for n in range(ITEMS)]
    (folder / "labels.csv").write_text("\n".join(rows))
    (folder / "review.yaml").write_text(
        REVIEW.replace("items.jsonl", "items.jsonl, labels: labels.csv")
    )


async def reviewed(database: str, file: Path, nights: int) -> list[dict[str, Any]]:
    """What was found of who moved, night by night."""
    review, found = load_review(file), []
    async with runtime_at(database, "", data_dir=file.parent) as runtime:
        for night in range(nights):
            day = FIRST_DAY + timedelta(days=night)
            await judged(runtime, review, day)
            [row] = store_findings(runtime, review, day)
            found.append(dict(row.figures))
    return found


@pytest.mark.parametrize(("moved", "who"), [(True, "people"), (False, "nobody")])
def test_people_who_label_the_texts_otherwise_have_moved(
    database: str, file: Path, moved: bool, who: str
) -> None:
    """Labels of later days than the review's are not yet there for it."""
    relabelled(file.parent, moved)
    found = run(reviewed(database, file, 6))
    assert found[0]["moved"] is None
    assert [figures["moved"]["who"] for figures in found[2:4]] == ["nobody", "nobody"]
    last = found[-1]["moved"]
    assert last["who"] == who
    of_judge, of_people = last["evidence"]
    assert (of_judge["of"], of_people["of"]) == ("judge", "people")
    assert of_judge["alarm_from"] == of_people["alarm_from"] == 40
    assert (of_people["e_value"] >= 40) == moved
    assert of_judge["anchors"] == of_people["anchors"] == ITEMS
    assert of_people["change"]["lower"] <= 0 <= of_people["change"]["upper"]  # as many up as down


def test_a_review_says_that_its_judge_is_another_than_the_last_of_this_name(
    database: str, file: Path
) -> None:
    """The judge file has another version on the second day, and the first one's on the fifth.

    That other version was an alternative on the first day, and had another name then.
    """
    judge = (file.parent / "mine.yaml").read_text()
    compared = REVIEW.replace("chosen.}", "chosen., alternatives: [{change: {version: '2'}}]}")

    async def work() -> list[ReviewRow]:
        found = []
        async with runtime_at(database, "", data_dir=file.parent) as runtime:
            file.write_text(
                f"{REVIEW.rstrip()[:-1]}, alternatives: [{{change: {{version: '2'}}}}]}}"
            )
            for night, version in enumerate("12221"):
                file.write_text(REVIEW if night else compared)
                (file.parent / "mine.yaml").write_text(f"{judge}version: '{version}'\n")
                review, day = load_review(file), FIRST_DAY + timedelta(days=night)
                await judged(runtime, review, day)
                found.append(store_findings(runtime, review, day)[0])
        return found

    found = run(work())
    first, second, third, _, fifth = (row.figures["other_judge"] for row in found)
    assert first is third is None
    assert (second["day"], second["changed"]) == (str(FIRST_DAY), ["version"])
    assert "no earlier review" in found[0].reason
    assert "no earlier review" not in found[1].reason
    assert f"on {FIRST_DAY}: it differs in version" in found[1].reason
    # Its own answers of the first day are what the first judge is compared with, again.
    assert (fifth["day"], found[4].figures["since"]) == ("2026-01-04", str(FIRST_DAY))
    assert "it differs in version" in found[4].reason


def test_a_move_long_ago_is_not_forgotten_and_every_review_counts(
    database: str, file: Path
) -> None:
    """It moved on the sixth of 106 nights: a window of the last ones would see a steady judge."""
    review = load_review(file)

    async def work() -> dict[str, Any]:
        async with runtime_at(database, "", data_dir=file.parent) as runtime:
            days = [FIRST_DAY + timedelta(days=night) for night in range(106)]
            for night, day in enumerate(days):
                if night == 5:
                    (file.parent / "moved").touch()
                await judged(runtime, review, day)
            with runtime.session() as session:
                for day in days[:-1]:
                    noted(session, review, day)
            return anchors_of(store_findings(runtime, review, days[-1]))

    check = run(work())
    assert check["result"] == "fails"
    assert "106 reviews of 24 texts" in check["reason"]


def test_a_person_who_keeps_a_judge_closes_its_move_and_later_looks_count_from_there(
    database: str, file: Path
) -> None:
    """It moves on the fourth night; Ada keeps it after the sixth; it moves back on the tenth."""
    review = load_review(file)
    marker = file.parent / "moved"

    async def work() -> list[dict[str, Any]]:
        found = []
        async with runtime_at(database, "", data_dir=file.parent) as runtime:
            for night in range(11):
                day = FIRST_DAY + timedelta(days=night)
                if night == 3:
                    marker.touch()
                if night == 9:
                    marker.unlink()
                await judged(runtime, review, day)
                [row] = store_findings(runtime, review, day)
                found.append({"recommendation": row.recommendation, **row.figures})
                if night == 5:
                    with runtime.session() as session:
                        save_decision(session, "nightly", day, "mine", "keep", "Ada")
                    # What the review of that day found is not rewritten by the decision.
                    [again] = store_findings(runtime, review, day)
                    assert again.figures == row.figures
        return found

    found = run(work())
    shown = [one["moved"] and one["moved"]["who"] for one in found]
    assert shown[5] == "judge"
    assert found[5]["recommendation"] == "reconsider"
    kept = {"day": (FIRST_DAY + timedelta(days=5)).isoformat(), "person": "Ada"}
    assert [one["moved"]["kept"] for one in found[6:]] == [kept] * 5
    assert shown[6:9] == ["cannot tell", "nobody", "nobody"]
    assert "reconsider" not in {one["recommendation"] for one in found[6:9]}
    assert shown[10] == "judge"
    assert found[10]["recommendation"] == "reconsider"


def test_labels_before_a_kept_review_are_one_look() -> None:
    nan = np.nan
    days = [FIRST_DAY + timedelta(days=night) for night in range(4)]
    points = np.array([[1, nan, 2], [3, nan, nan], [nan, 4, nan], [5, 5, 5]])
    found = labelled_since(dict(zip(days, points, strict=True)), days[2])
    assert list(found) == [days[2], days[3]]
    assert found[days[2]].tolist() == [3, 4, 2]
    assert found[days[3]].tolist() == [5, 5, 5]
    assert labelled_since({}, days[2]) == {}


@pytest.mark.parametrize(
    ("who", "shown"), [("systems", {"new"}), ("nobody", set()), ("judge", set())]
)
def test_fresh_items_that_are_judged_otherwise_are_of_systems_that_moved(
    database: str, file: Path, who: str, shown: set[str]
) -> None:
    """SIMULATED. From the fourth night on, the new system fails where it passed in 80%."""
    folder = file.parent
    file.write_text(REVIEW.replace("items.jsonl,", "items.jsonl, fresh: fresh.jsonl,"))
    rng = np.random.default_rng(2)

    async def work() -> list[dict[str, Any]]:
        found = []
        async with runtime_at(database, "", data_dir=folder) as runtime:
            for night in range(6):
                late = night >= 3
                if late and who == "judge":
                    (folder / "moved").touch()
                fails = late and who == "systems"
                rows = []
                for place, rate in enumerate((0.8, 0.1 if fails else 0.8)):
                    for number in range(60):
                        right = int(rng.random() < rate)
                        name = f"{2 * (1000 * night + 100 * place + number) + right}"
                        system = ("old", "new")[place]
                        rows.append({"id": name, "text": f"{system} {name}", "system": system})
                (folder / "fresh.jsonl").write_text("\n".join(map(json.dumps, rows)))
                review, day = load_review(file), FIRST_DAY + timedelta(days=night)
                await judged(runtime, review, day)
                [row] = store_findings(runtime, review, day)
                found.append(
                    {
                        "reason": row.reason,
                        "text": moved_text(row.figures),
                        **row.figures,
                        "recommendation": row.recommendation,
                    }
                )
        return found

    last = run(work())[-1]
    moved = last["moved"]
    assert moved["who"] == who
    assert [one["of"] for one in moved["evidence"]] == ["judge", "systems"]
    assert all(one["alarm_from"] == 40 for one in moved["evidence"])
    assert len(last["fresh"]["keys"]) == 120
    by_system = {one["system"]: one for one in moved["systems"]}
    assert set(by_system) == {"old", "new"}
    if who != "judge":  # what a judge that moved says of fresh items is no evidence on systems
        apart = {name for name, one in by_system.items() if not one["lower"] <= 0 <= one["upper"]}
        assert apart == shown
        assert last["recommendation"] != "reconsider"
    assert ("The systems moved" in last["reason"]) == (who == "systems")
    assert ("By system: new -" in last["text"]) == (who == "systems")
    assert ("systems (" in last["text"]) == (who == "systems")
