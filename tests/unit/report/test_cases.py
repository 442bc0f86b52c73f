"""Which sentence changed between two answers, and how a setting is told."""

from judge_gym.analysis.cases import changed_sentences
from judge_gym.design.experiment import Experiment
from judge_gym.report.scopes import setting_of

SAME = "The report names three courts and one minister."


def test_the_sentence_least_like_any_of_the_other_changed() -> None:
    before = f"{SAME} The court ruled against the ministry and was obeyed. I choose stage 2."
    after = f"{SAME} The minister dismissed two judges within a week. I choose stage 4."
    assert changed_sentences(before, after, {"stage 2", "stage 4"}) == (
        "The court ruled against the ministry and was obeyed.",
        "The minister dismissed two judges within a week.",
    )


def test_a_verdict_is_no_sentence_of_the_reasoning() -> None:
    before, after = (
        f"{SAME} My verdict is clearly stage 2.",
        f"{SAME} My verdict is rather stage 4.",
    )
    assert changed_sentences(before, after, {"stage 2", "stage 4"}) == ("", "")
    assert changed_sentences(before, after)[0].endswith("stage 2.")


def test_only_one_answer_may_argue() -> None:
    assert changed_sentences("Stage 2.", SAME) == ("", SAME)
    assert changed_sentences("", "") == ("", "")
    assert changed_sentences(SAME, SAME) == ("", "")


def test_a_plan_of_bundles_is_told_only_where_there_is_one() -> None:
    window = {"query": "q", "country": "c", "source": {"kind": "corpus", "path": "c.jsonl"}}
    given = {"concept": "order", "window": window, "model": "sim/calm-1"}
    assert "bundles" not in setting_of(Experiment(**given))
    bundled = Experiment(**given, bundles={"by": "similar", "size": 5})
    assert "bundles similar, 5" in setting_of(bundled)
