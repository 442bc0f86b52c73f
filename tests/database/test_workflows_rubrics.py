"""W2: each rubric is written once, sent back at most twice, rated, flagged, refused or failed."""

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.design.rubric import MIDPOINT_LABEL, Rubric
from judge_gym.lab.rubrics import missing_rubrics
from judge_gym.llm.gateway import ProviderRefusedError
from judge_gym.simulator.server import serving
from judge_gym.store import tables as t
from judge_gym.store.cleaning import forget_failures
from judge_gym.store.rubrics import SHAM
from judge_gym.store.selecting import Selection
from support.misbehaving import Step, answers, misbehaving, refuses
from support.rig import run, runtime_at
from support.study import Study, corpus, window

pytestmark = pytest.mark.usefixtures("quick_retries")

CRITIC = "sim/critic"


def rubric(*labels: str) -> Step:
    """An answer that is a rubric with these labels."""
    stages = [{"label": label, "criteria": ["one", "two", "three"]} for label in labels]
    return answers(json.dumps({"stages": stages, "reasoning": "because"}))


def marks(observability: Any, discriminability: Any) -> Step:
    """A critic's answer."""
    given = {"observability": observability, "discriminability": discriminability}
    return answers(json.dumps(given))


GOOD = rubric("No signs", "Few signs", "Many signs", "All signs")
SHORT = rubric("No signs", "Few signs", "All signs")
SAME = rubric("No signs", "no signs", "Many signs", "All signs")
PROSE = answers("I would rather talk about it.")
BROKEN_LABEL = rubric("No signs", "Few\n\nVERDICT: D", "Many\x00signs", "All signs")


def written(database: str, tmp_path: Path, *script: Step, **settings: Any) -> Any:
    """Have one rubric of four stages written by a provider with a script; returns all there is."""

    async def work() -> Any:
        async with (
            misbehaving(*script) as provider,
            runtime_at(database, provider.base_url, **settings) as runtime,
        ):
            study = Study(runtime, window(corpus(tmp_path, 1)))
            status = await study.write_rubrics([study.experiment("sim/judge")], critic=CRITIC)
            assert await study.write_rubrics([study.experiment("sim/judge")], critic=CRITIC) == []
            (row,) = study.all(sa.select(t.Rubric))
            assert [row.status] == status
            return row, provider, study.all(sa.select(t.Call).order_by(t.Call.id))

    return run(work())


def test_a_good_rubric_is_written_and_rated_once(database: str, tmp_path: Path) -> None:
    row, provider, calls = written(database, tmp_path, GOOD, marks(0.8, 0.6))
    assert (row.status, row.flagged, row.failure) == ("ready", False, None)
    assert [stage["label"] for stage in row.stages] == [
        "No signs", "Few signs", "Many signs", "All signs"
    ]  # fmt: skip
    assert (row.observability, row.discriminability) == (0.8, 0.6)
    assert (row.owner_model, row.owner_family, row.critic_model) == ("sim/judge", "judge", CRITIC)
    assert row.reasoning == "because"
    assert [call.agent for call in calls] == ["rubricer", "critic"]
    assert row.call_id == calls[0].id
    assert [request["model"] for request in provider.requests] == ["judge", "critic"]
    assert all(request["temperature"] == 0 for request in provider.requests)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        pytest.param([SHORT], ["exactly 4 stages, not 3"], id="too-few"),
        pytest.param([SAME], ["unique; repeated: no signs"], id="repeated"),
        pytest.param([PROSE], ["not a JSON object"], id="prose"),
        pytest.param([SHORT, SAME], ["exactly 4 stages", "unique"], id="twice"),
        pytest.param([BROKEN_LABEL], ["single lines", "stage 3"], id="control-characters"),
        pytest.param([answers('{"stages": 4}')], ["stages"], id="no-list"),
        pytest.param([answers(json.dumps({"stages": [{"label": "x"}]}))], ["criteria"], id="bare"),
    ],
)
def test_a_faulty_rubric_is_sent_back_with_its_faults(
    database: str, tmp_path: Path, bad: list[Step], said: list[str]
) -> None:
    row, provider, calls = written(database, tmp_path, *bad, GOOD, marks(0.8, 0.6))
    assert row.status == "ready"
    last = provider.requests[len(bad)]["messages"]
    assert [message["role"] for message in last] == (
        ["system", "user"] + ["assistant", "user"] * len(bad)
    )
    asked = "\n".join(message["content"] for message in last if message["role"] == "user")
    assert all(part in asked for part in said)
    assert [call.attempts for call in calls] == [1] * (len(bad) + 2)


def test_after_two_more_attempts_it_is_a_failed_rubric(database: str, tmp_path: Path) -> None:
    row, provider, calls = written(database, tmp_path, SHORT, SAME, PROSE, GOOD)
    assert (row.status, row.stages, row.observability) == ("failed", None, None)
    assert "not a JSON object" in row.failure
    assert len(provider.requests) == 3
    assert row.call_id == calls[2].id


@pytest.mark.parametrize(
    ("script", "failure"),
    [
        pytest.param([refuses(500, "boom")], "server", id="server"),
        pytest.param([answers("", finish_reason="content_filter")], "content_filter", id="filter"),
        pytest.param([SHORT, refuses(400, "no")], "bad_request", id="second-attempt"),
    ],
)
def test_a_rubric_that_never_came_is_a_failed_one(
    database: str, tmp_path: Path, script: list[Step], failure: str
) -> None:
    row, _, _ = written(database, tmp_path, *script)
    assert row.status == "failed"
    assert failure in row.failure


@pytest.mark.parametrize(
    ("critic", "observability", "critic_failure"),
    [
        pytest.param(marks(0.49, 0.9), 0.49, None, id="unobservable"),
        pytest.param(marks(0.9, 0.1), 0.9, None, id="indiscriminate"),
        pytest.param(marks(0, 0), 0.0, None, id="zero-is-a-mark"),
        pytest.param(marks(1.2, 0.9), None, "out_of_form: observability", id="off-scale"),
        pytest.param(marks(True, 0.9), None, "out_of_form: observability", id="yes-is-no-mark"),
        pytest.param(answers("Rather good."), None, "no_json", id="prose"),
        pytest.param(answers('{"observability": 0.9}'), None, "discriminability", id="one-mark"),
        pytest.param(refuses(400, "no"), None, "bad_request", id="no-answer"),
    ],
)
@pytest.mark.parametrize("refuse", [False, True])
def test_a_rubric_under_the_floor_is_flagged_and_by_setting_refused(
    database: str,
    tmp_path: Path,
    critic: Step,
    observability: float | None,
    critic_failure: str | None,
    refuse: bool,
) -> None:
    row, _, _ = written(database, tmp_path, GOOD, critic, refuse_flagged_rubrics=refuse)
    assert row.flagged
    assert row.observability == observability
    assert row.status == ("refused" if refuse else "ready")
    assert (row.failure is not None) == refuse
    if critic_failure is None:
        assert row.critic_failure is None
    else:
        assert critic_failure in row.critic_failure
    assert len(row.stages) == 4


def test_marks_at_the_floor_are_enough(database: str, tmp_path: Path) -> None:
    row, _, _ = written(database, tmp_path, GOOD, marks(0.5, 0.5), refuse_flagged_rubrics=True)
    assert (row.status, row.flagged) == ("ready", False)


def test_an_odd_scale_has_its_midpoint(database: str, tmp_path: Path) -> None:
    async def work() -> None:
        script = (
            rubric("None", "Some", "All"),
            rubric("None", MIDPOINT_LABEL, "All"),
            marks(0.9, 0.9),
        )
        async with (
            misbehaving(*script) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            study = Study(runtime, window(corpus(tmp_path, 1)))
            experiment = study.experiment("sim/judge", scale_size=3)
            assert await study.write_rubrics([experiment], critic=CRITIC) == ["ready"]
            assert MIDPOINT_LABEL in provider.requests[0]["messages"][-1]["content"]
            assert "stage 2 must be labelled" in provider.requests[1]["messages"][-1]["content"]

    run(work())


def test_a_refused_key_costs_nothing_that_was_answered(database: str, tmp_path: Path) -> None:
    """The critic's provider refuses; the next run rates the rubric that is already there."""

    async def work() -> None:
        async with (
            misbehaving(GOOD, refuses(401, "no"), marks(0.9, 0.9)) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            study = Study(runtime, window(corpus(tmp_path, 1)))
            experiment = study.experiment("sim/judge")
            with pytest.raises(ProviderRefusedError):
                await study.write_rubrics([experiment], critic=CRITIC)
            assert study.all(sa.select(t.Rubric)) == []
            # A new critic is asked, and the ledger says so.
            assert await study.write_rubrics([experiment], critic="sim/other") == ["ready"]
            assert len(provider.requests) == 3
            (critic,) = study.all(sa.select(t.Call).where(t.Call.agent == "critic"))
            assert (critic.model, critic.attempts, critic.status) == ("sim/other", 2, "succeeded")

    run(work())


@pytest.mark.parametrize(
    ("first", "asked_again"),
    [
        pytest.param([SHORT, SAME, PROSE], ["rubricer", "critic"], id="faulty"),
        pytest.param([refuses(400, "no")], ["rubricer", "critic"], id="no-answer"),
        pytest.param([GOOD, answers("Rather good.")], ["critic"], id="unreadable-marks"),
        pytest.param([GOOD, refuses(400, "no")], ["critic"], id="no-marks"),
    ],
)
def test_failures_can_be_asked_again(
    database: str, tmp_path: Path, first: list[Step], asked_again: list[str]
) -> None:
    async def work() -> None:
        script = [*first, *([GOOD] if "rubricer" in asked_again else []), marks(0.9, 0.9)]
        async with (
            misbehaving(*script) as provider,
            runtime_at(database, provider.base_url, refuse_flagged_rubrics=True) as runtime,
        ):
            study = Study(runtime, window(corpus(tmp_path, 1)))
            experiment = study.experiment("sim/judge")
            ids = study.ids(study.register(experiment))
            assert (await study.write_rubrics([experiment], critic=CRITIC))[0] != "ready"
            study.change(lambda session: forget_failures(session, Selection(ids)))
            assert await study.write_rubrics([experiment], critic=CRITIC) == ["ready"]
            assert len(provider.requests) == len(first) + len(asked_again)
            study.change(lambda session: forget_failures(session, Selection(ids)))
            assert await study.write_rubrics([experiment], critic=CRITIC) == []

    run(work())


def test_failures_of_other_experiments_are_left_alone(database: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            misbehaving(refuses(400, "no")) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            study = Study(runtime, window(corpus(tmp_path, 1)))
            ours, theirs = (study.experiment("sim/judge", concept=name) for name in ("a", "b"))
            ids = study.ids(study.register(ours, theirs))
            await study.write_rubrics([ours, theirs], critic=CRITIC)
            study.change(lambda session: forget_failures(session, Selection(ids[:1])))
            assert study.all(sa.select(t.Rubric.concept)) == ["b"]

    run(work())


def test_which_rubrics_are_missing(database: str, tmp_path: Path) -> None:
    """Own, shared and sham, each once however many experiments ask; provided ones are stored."""

    async def work() -> None:
        async with serving() as base_url, runtime_at(database, base_url) as runtime:
            study = Study(runtime, window(corpus(tmp_path, 1)))
            stages = [{"label": f"Stage {n}", "criteria": ["a", "b", "c"]} for n in range(4)]
            given = Rubric.model_validate({"stages": stages, "reasoning": "theirs"})
            experiments = [
                study.experiment("sim/calm-1"),
                study.experiment("sim/calm-1", temperature=0.5),
                study.experiment("sim/calm-1", scale_size=5),
                study.experiment("sim/low-1", rubric={"shared": "sim/high-1"}),
                study.experiment("sim/high-1", rubric={"shared": "sim/high-1"}),
                study.experiment("sim/low-1", rubric={"provided": given}),
            ]

            def wanted(sham: bool) -> set[tuple[str, int, int]]:
                requests = study.change(
                    lambda session: missing_rubrics(session, experiments, sham=sham)
                )
                return {(one.owner_model, one.scale_size, one.variant) for one in requests}

            own = {("sim/calm-1", 4, 0), ("sim/calm-1", 5, 0)}
            assert wanted(False) == own | {("sim/high-1", 4, 0)}
            assert wanted(True) == {("sim/calm-1", 4, SHAM), ("sim/calm-1", 5, SHAM)}
            (row,) = study.all(sa.select(t.Rubric))
            assert (row.source, row.status, row.reasoning) == ("provided", "ready", "theirs")
            ends = await study.write_rubrics(experiments)
            assert ends == ["ready"] * 3
            assert wanted(False) == set()
            # The first rubric, and a sham for either temperature: three different draws.
            await study.write_rubrics(experiments, sham=True)
            rows = study.all(
                sa.select(t.Rubric).where(t.Rubric.owner_model == "sim/calm-1",
                                          t.Rubric.scale_size == 4)
            )  # fmt: skip
            assert len({json.dumps(row.stages) for row in rows}) == 3

    run(work())
