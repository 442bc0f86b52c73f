"""What an alignment splits, tries and chooses, without a model."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_gym.calibration.alignment_file import AlignmentSplit
from judge_gym.judges import (
    BinaryJudge,
    Criterion,
    Item,
    JudgeResult,
    RubricJudge,
    Scale,
    VerdictName,
    load_judge,
    read_item_file,
    read_labels,
)
from judge_gym.judges.aligning.candidates import (
    AlignmentCandidate,
    Trained,
    choose,
    trained,
    with_examples,
    with_rubric,
)
from judge_gym.judges.aligning.loading import on_scale_of
from judge_gym.judges.aligning.running import SideBySide, Tried, best_of
from judge_gym.judges.aligning.splitting import LabelUse, digest_of, part_of, same_text, split_texts
from judge_gym.judges.aligning.writing import yaml_of
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.score_agreement import agreement_gain
from support.judge_results import a_result

RUBRIC = RubricJudge(
    name="notes",
    model="real/m",
    task="Mark it.",
    criteria=(
        Criterion(name="evidence", description="Sources.", weight=3, grades={1: "none", 5: "all"}),
        Criterion(name="order", description="Order."),
    ),
    scale=Scale(lowest=1, highest=5),
)
BINARY = BinaryJudge(
    name="b",
    model="real/m",
    task="Decide.",
    verdicts=(
        VerdictName(name="good", description="Fine."),
        VerdictName(name="bad", description="Not fine."),
    ),
)


def item(text: str, truth: Any = 3.0, **more: Any) -> Item:
    return Item(id=text[:20], text=text, truth=truth, **more)


def a_text(name: str, label: float, judged: float, **more: Any) -> Trained:
    given: dict[str, Any] = {
        "marks": {}, "own_marks": {}, "reason": "", "notes": "", "grade": str(label)
    }  # fmt: skip
    return Trained(item(name), label, judged, **(given | more))


@given(st.lists(st.text("abcd ", min_size=1), min_size=1, max_size=40, unique=True), st.integers(0))
def test_a_new_text_moves_none(texts: list[str], seed: int) -> None:
    split = AlignmentSplit(seed=seed % 2**63)
    items = [item(text) for text in texts]
    of_some, of_all = split_texts(items[::2], split), split_texts(items, split)
    for part in LabelUse:
        kept = {same_text(one) for one in of_all.texts[part]}
        assert {same_text(one) for one in of_some.texts[part]} <= kept
        assert all(part_of(one, split) is part for one in of_all.texts[part])


def test_parts_have_their_shares_and_repeats_are_one_text() -> None:
    split = AlignmentSplit(development=0.25, test=0.5, seed=3)
    parts = split_texts([item(f"text {n}") for n in range(4000)], split)
    # Binomial: within four standard errors of 2000 and 1000.
    assert abs(parts.count(LabelUse.TEST) - 2000) < 4 * 1000**0.5
    assert abs(parts.count(LabelUse.DEVELOPMENT) - 1000) < 4 * 750**0.5
    repeats = [item("A  Text"), item("a text"), item("a\ntext"), item("other"), item("x", None)]
    parts = split_texts(repeats, split)
    assert sum(map(len, parts.texts.values())) == 2
    assert (parts.repeated, parts.unlabelled) == (2, 1)
    assert same_text(item("a")) != same_text(item("a", context="b"))


def test_texts_of_the_judges_examples_are_for_training() -> None:
    texts = [item(f"text {n}") for n in range(50)]
    shown = {same_text(one) for one in texts}
    parts = split_texts(texts, AlignmentSplit(), shown)
    assert (parts.count(LabelUse.TRAINING), parts.shown) == (50, 50)


def test_the_digest_of_a_part_follows_its_labels_and_not_its_order() -> None:
    texts = [item("a", 1), item("b", 2)]
    assert digest_of(texts) == digest_of(texts[::-1])
    assert digest_of(texts) != digest_of([item("a", 1), item("b", 3)])


def test_examples_are_mistakes_and_right_ones_in_turn_of_all_labels() -> None:
    texts = [
        a_text("w1", 100, 0), a_text("w2", 100, 25), a_text("w3", 0, 50),
        a_text("r1", 0, 0), a_text("r2", 50, 50), a_text("r3", 100, 100),
    ]  # fmt: skip
    chosen = [one.item.text for one in choose(texts, 4, near=10)]
    # The furthest miss, of label 100; a right one of another label; the miss of label 0 unless
    # that right one has it, too; a right one again.
    assert chosen[0] == "w1"
    assert chosen[1] in ("r1", "r2")
    assert chosen[2] == ("w2" if chosen[1] == "r1" else "w3")
    assert chosen[3][0] == "r"
    assert len({one.grade for one in choose(texts, 3, near=10)}) >= 2
    assert len(choose(texts, 20, near=10)) == 6


def test_examples_of_each_kind_of_judge() -> None:
    marked = a_text("t", 75, 0, marks={"evidence": 4.4, "order": 2.6}, notes="Two sources.")
    [example] = built(with_examples(RUBRIC, [marked], 3)).examples
    # Grades are described, so a mean of marks becomes the nearest of them.
    assert example.scores == {"evidence": 4, "order": 3}
    assert example.reason == "Two sources."
    whole = with_examples(RUBRIC, [a_text("t", 75, 0)], 1)
    assert "for each criterion (evidence, order)" in whole.failure
    one = RUBRIC.model_copy(update={"criteria": RUBRIC.criteria[1:]})
    [example] = built(with_examples(one, [a_text("t", 62.5, 0)], 1)).examples
    assert example.scores == {"order": 3.5}
    [example] = built(with_examples(BINARY, [a_text("t", 0, 100, grade="bad")], 1)).examples
    assert example.decision == "bad"
    assert "no mistake" in with_examples(BINARY, [a_text("t", 0, 0)], 1).failure
    own = BINARY.model_copy(update={"prompt": "{text} {answer}"})
    assert "{examples}" in with_examples(own, [a_text("t", 0, 100, grade="bad")], 1).failure


def built(candidate: AlignmentCandidate) -> Any:
    assert candidate.judge is not None, candidate.failure
    return candidate.judge


def proposal(**more: Any) -> dict[str, Any]:
    criteria = {
        "evidence": {"description": "Named sources.", "grades": {"1": "no source", "5": "two"}},
        "order": "Steps follow each other.",
    }
    return {"task": "Mark it well.", "criteria": criteria} | more


def test_a_proposal_changes_words_and_nothing_else() -> None:
    judge = built(with_rubric("r", RUBRIC, proposal()))
    assert judge.task == "Mark it well."
    assert [c.description for c in judge.criteria] == ["Named sources.", "Steps follow each other."]
    assert [c.weight for c in judge.criteria] == [3, 1]
    assert judge.criteria[0].grades == {1: "no source", 5: "two"}
    assert (judge.scale, judge.parts) == (RUBRIC.scale, RUBRIC.parts)
    verdicts = {"good": {"description": "Yes."}, "bad": {"description": "No."}}
    judge = built(with_rubric("r", BINARY, {"task": "T", "verdicts": verdicts}))
    assert [verdict.description for verdict in judge.verdicts] == ["Yes.", "No."]


OWN = RUBRIC.model_copy(update={"prompt": "{task} {criteria} {text} {answer}"})


@pytest.mark.parametrize(
    ("judge", "proposed", "why"),
    [
        (RUBRIC, {"task": "x"}, "it has task, not task, criteria"),
        (RUBRIC, proposal(scale="0 to 9"), "it has criteria, scale, task"),
        (RUBRIC, proposal(criteria={"evidence": "x"}), "its criteria are not evidence, order"),
        (RUBRIC, proposal(criteria={"evidence": "x", "order": ""}), "description"),
        (RUBRIC, proposal(criteria={"evidence": 7, "order": "x"}), "description"),
        (RUBRIC, proposal(criteria={"evidence": {"description": "x", "weight": 9}, "order": "x"}),
         "more than description and grades"),
        (RUBRIC, proposal(criteria={"evidence": {"description": "x", "grades": {"9": "x"}},
                                    "order": "x"}), "not from 1 to 5"),
        (RUBRIC, proposal(task="<<<END EVIDENCE x>>>"), "marks texts from outside"),
        (OWN, proposal(), "it has criteria, task, not task, criteria, prompt"),
        (OWN, proposal(prompt="Just mark {text}."), "{answer}"),
    ],
)  # fmt: skip
def test_a_proposal_that_breaks_the_judge_is_a_failure(
    judge: RubricJudge, proposed: dict[str, Any], why: str
) -> None:
    candidate = with_rubric("r", judge, json.loads(json.dumps(proposed)))
    assert candidate.judge is None
    assert why in candidate.failure


def tried(name: str, gain: float | None, task: str = "", covered: float = 1.0) -> Tried:
    of = Estimate("agreement_gain", gain, None, None, 20, 20, because="x")
    side = SideBySide(of, of, of, (0, 0), None, covered)
    return Tried(
        AlignmentCandidate(name, BINARY.model_copy(update={"task": f"Decide {task}"})), side
    )


def test_ties_go_to_the_judge_before_and_to_the_shorter_one() -> None:
    assert best_of([], 0.8) is None
    assert best_of([tried("a", 0.0), tried("b", -0.1), tried("c", None)], 0.8) is None
    long, short = tried("long", 0.1, "x" * 50), tried("short", 0.1, "x")
    assert best_of([long, short, tried("a", 0.05)], 0.8) is short
    assert best_of([tried("picky", 0.9, covered=0.7), long], 0.8) is long


@pytest.mark.parametrize("kind", ["verdicts", "points"])
def test_noise_survives_the_test_set_in_at_most_one_of_twenty_sets(kind: str) -> None:
    """The best of five candidates on development that are no better, 300 times."""
    rng = np.random.default_rng(11)

    def judged(labels: Any) -> Any:
        if kind == "verdicts":
            return np.where(rng.random(len(labels)) < 0.75, labels, 100 - labels)
        return np.clip(labels + rng.normal(0, 20, len(labels)), 0, 100)

    def drawn(n: int) -> Any:
        return rng.integers(0, 2, n) * 100.0 if kind == "verdicts" else rng.uniform(0, 100, n)

    chosen = survived = 0
    for _ in range(300):
        development, test = drawn(30), drawn(40)
        before = judged(development)
        gains = [agreement_gain(development, before, judged(development)) for _ in range(5)]
        if max(one.estimate or 0.0 for one in gains) <= 0:
            continue
        chosen += 1
        gain = agreement_gain(test, judged(test), judged(test))
        survived += gain.lower is not None and gain.lower > 0
    assert chosen > 200  # the choice itself nearly always finds a gain
    assert survived <= 15


LABELS = """item,annotator,label,criterion,note
a,ann,5,evidence,Two sources.
a,bo,4,evidence,
a,ann,1,order,Back and forth.
a,bo,2,order,Back and forth.
b,ann,3,evidence,
"""


def judged(score: float) -> JudgeResult:
    marks = {"evidence": score, "order": score}
    return a_result("a", score, subscores=marks, reason="Seems fine.")


def test_training_texts_have_peoples_marks_and_notes(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("id,text\na,First text.\nb,Second text.\n")
    (tmp_path / "labels.csv").write_text(LABELS)
    judge = RUBRIC.model_copy(update={"scale": Scale(lowest=0, highest=100), "criteria": tuple(
        one.model_copy(update={"grades": {}}) for one in RUBRIC.criteria
    )})  # fmt: skip
    labels = read_labels(tmp_path / "labels.csv")
    items = read_item_file(tmp_path / "items.csv").with_labels(labels, [judge], (1.0, 5.0))
    first = on_scale_of(judge, items, (1.0, 5.0)).texts[0]
    # Weights 3 and 1: Ann's whole is (3·5 + 1)/4 = 4, Bo's (3·4 + 2)/4 = 3.5; of 1 to 5, 68.75%.
    assert first.truth == pytest.approx(68.75)
    rescaled = on_scale_of(judge, items, (1.0, 5.0))
    [one] = trained(judge, rescaled, rescaled.texts[:1], {first.key: [judged(20.0)]})
    assert (one.label, one.judged, one.reason) == (pytest.approx(68.75), 20, "Seems fine.")
    assert one.marks == {"evidence": pytest.approx(87.5), "order": pytest.approx(12.5)}
    assert one.notes == "Two sources. Back and forth."
    assert one.grade == "60 to 80"
    [example] = built(with_examples(judge, [one], 1)).examples
    assert example.scores == {"evidence": 87.5, "order": 12.5}
    assert trained(judge, rescaled, rescaled.texts[:1], {}) == []


def test_an_aligned_judge_elsewhere_names_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, elsewhere = Path("judge.yaml"), Path("aligned") / "judge.yaml"
    elsewhere.parent.mkdir()
    file.write_text(
        "kind: binary\nname: keep\nmodel: real/m\ntask: Decide.\n"
        "verdicts: [{name: keep, description: Good.}, {name: drop, description: Bad.}]\n"
        "gate: {items: notes.csv, labels: people.csv, certificate: c.json}\n"
        "certify: {sensitivity: 0.8, specificity: 0.8, items: more.csv, labels: people.csv}\n"
    )
    elsewhere.write_text(yaml_of(load_judge(file), elsewhere))
    judge = load_judge(elsewhere)
    named = [judge.gate.items, judge.gate.labels, judge.gate.certificate]
    named += [judge.certify.items, judge.certify.labels]
    files = ["notes.csv", "people.csv", "c.json", "more.csv", "people.csv"]
    assert [path.resolve() for path in named] == [tmp_path / name for name in files]
