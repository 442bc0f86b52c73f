"""Cleaning, clinical summaries and taking names out keep what happened."""

import pytest

from judge_gym.evidence.cleaning import word_count
from judge_gym.planted.families import planted
from judge_gym.planted.reading import concept_named, read_documents
from judge_gym.questions.editor import view_prompt

EMOTIVE = (
    "VELLAR - In a brutal, shameful and utterly outrageous move the ruthless regime closed the "
    "Harbour Herald on Monday. What a disgraceful farce! Minister Ossa Tell slammed the paper, "
    "and police arrested three editors without charge. How long must we endure this nightmare? "
    "The court ordered their release, but Ossa Tell said the order would not be obeyed. "
    "Everyone knows how this nightmare ends."
)
PAGE = (
    "Menu\nSubscribe to our newsletter for daily news\n\nThe court ruled on Monday.\n\n"
    "Read more: ten castles to visit\n\nThe ministry agreed.\nAccept all cookies"
)


def _edit(bench, view, text, limit=150, model="sim/calm-1", seed=0):
    return bench.send(model, view_prompt(view, text, limit, "call"), seed, 1.0)


def test_cleaning_takes_out_the_furniture_and_no_sentence(bench):
    assert _edit(bench, "cleaned", PAGE) == "The court ruled on Monday.\n\nThe ministry agreed."


def test_neutralizing_removes_tone_and_keeps_the_events(bench):
    concept = concept_named("fascism")
    summary = _edit(bench, "neutralized", EMOTIVE)
    before, after = (read_documents([text], concept) for text in (EMOTIVE, summary))
    assert before.tau > 0.5
    assert after.tau < 0.1
    assert abs(before.theta - after.theta) < 0.12
    for kept in ("closed the Harbour Herald", "criticised the paper", "arrested three editors"):
        assert kept in summary
    for gone in ("shameful", "ruthless", "farce", "nightmare", "regime"):
        assert gone not in summary


@pytest.mark.parametrize("limit", [12, 40, 150])
def test_summaries_keep_the_limit_but_for_the_planted_share(bench, limit):
    text = " ".join(f"The council met on day {day} and voted on the road." for day in range(40))
    counts = [
        word_count(_edit(bench, "neutralized", text, limit, seed=seed)) for seed in range(200)
    ]
    over = [count for count in counts if count > limit]
    # Planted share 0.02 of 200: four expected, and more than twelve in fewer than 1 of 1,000 runs.
    assert 1 <= len(over) <= 12
    assert max(counts) <= limit + 12
    assert planted()["calm"].over_limit == 0.02


def test_abstracting_replaces_names_by_steady_roles_and_keeps_figures(bench):
    text = _edit(bench, "abstracted", _edit(bench, "neutralized", EMOTIVE))
    for name in ("Herald", "Ossa", "Tell"):
        assert name not in text
    assert text.count("minister") == 2
    assert "arrested three editors without charge" in text
    assert "on Monday" in text
