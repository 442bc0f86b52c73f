"""A panel that escalates: the other raters are asked only where the first ones disagree."""

import pytest

from judge_gym.panel.panel import Escalation
from judge_gym.store import tables as t
from support.panel_runs import BAD, DONE, ERROR, RUNNING, WAITING, rows, watched
from support.panels import a_panel, by_model, decides, statuses, three

pytestmark = pytest.mark.usefixtures("key")

SPARED = "spared"


@pytest.mark.parametrize(
    ("scores", "within", "asked"),
    [
        ((3, 3, 1), 0, ["a", "b"]),
        ((3, 4, 1), 0, ["a", "b", "c"]),
        ((3, 4, 1), 1, ["a", "b"]),
        ((2, 4, 1), 1, ["a", "b", "c"]),
    ],
)
def test_others_are_asked_where_the_first_disagree(
    database: str, scores: tuple[int, int, int], within: int, asked: list[str]
) -> None:
    panel = a_panel(escalate=Escalation(first=2, within=within))
    found = watched(database, by_model(**three(*scores), arbiter=decides(3)), panel=panel)
    assert found.asked == [*asked, "arbiter"]
    assert statuses(found.last) == [DONE, DONE, DONE if "c" in asked else SPARED]
    (consensus,) = rows(database, t.PanelConsensus)
    assert len(consensus.review_ids) == len(asked)
    assert found.last.agreement is not None
    assert found.last.agreement.scores == scores[: len(asked)]
    # the arbiter is told of raters that failed; one that was spared is not missing
    assert "MISSING" not in str(found.provider.requests[-1])


def test_states_say_who_was_spared(database: str) -> None:
    panel = a_panel(escalate=Escalation(first=2))
    found = watched(database, by_model(**three(), arbiter=decides(3)), panel=panel)
    assert [(state.phase, statuses(state)[2]) for state in found.states[4:]] == [
        ("rater_b", WAITING),
        ("rater_b", SPARED),
        ("consensus", SPARED),
        ("done", SPARED),
    ]
    assert found.states[3].raters[1].status == RUNNING
    assert [state.sequence for state in found.states] == list(range(8))
    assert found.states[5].share_ended == 3 / 4
    assert found.last.summary == "done: 2 of 3 reviews, 1 spared, consensus 3"


def test_at_once_the_first_are_asked_before_the_others(database: str) -> None:
    panel = a_panel(4, escalate=Escalation(first=2))
    steps = by_model(**three(2, 4, 3), d=decides(3), arbiter=decides(3))
    found = watched(database, steps, panel=panel, panel_parallel=True)
    assert set(found.asked[:2]) == {"a", "b"}
    assert statuses(found.last) == [DONE, DONE, DONE, ERROR]


def test_a_perspective_that_failed_has_the_others_asked(database: str) -> None:
    panel = a_panel(escalate=Escalation(first=2))
    found = watched(database, by_model(**three() | {"b": BAD}, arbiter=decides(3)), panel=panel)
    assert statuses(found.last) == [DONE, ERROR, DONE]
    assert "1 of them gave no review: rater_b" in str(found.provider.requests[-1])


def test_what_all_have_said_before_is_shown_and_asks_nothing(database: str) -> None:
    panel = a_panel(escalate=Escalation(first=2))
    steps = by_model(**three(3, 3, 1), arbiter=decides(3))
    assert watched(database, steps, panel=panel).asked == ["a", "b", "arbiter"]
    assert watched(database, steps, panel=panel).asked == []
    # the same panel without escalating lacks one review, and then a consensus of three
    assert watched(database, steps).asked == ["c", "arbiter"]
    again = watched(database, steps, panel=panel)
    assert again.asked == []
    assert statuses(again.last) == [DONE, DONE, DONE]
