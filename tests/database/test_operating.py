"""Retry and cancel on experiments, workflows and classes of failure; and the status."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.errors import StoreError
from judge_gym.lab import probing, scoring
from judge_gym.lab.status import Status, UnknownOutcomes, sweep_status
from judge_gym.llm.pricing import price_of
from judge_gym.llm.providers import load_providers
from judge_gym.records.attempts import UNKNOWN_OUTCOME, attempt_error
from judge_gym.settings import settings
from judge_gym.store import tables as t
from judge_gym.store.cleaning import (
    StoredFailures,
    cancel_calls,
    forget_failures,
    kept_failures,
    without_answer,
)
from judge_gym.store.experiments import register_experiment
from judge_gym.store.ledger import Ledger
from judge_gym.store.locks import exclusive, in_progress, locked
from judge_gym.store.selecting import Selection, chosen, ledger_lines
from support.judged import fail, judged, sample_ids, unprobed
from support.rig import a_call
from support.study import Study, missing_by
from support.waiting import until


def missing(study: Study, tags: Sequence[str]) -> int:
    by_model = missing_by(study.runtime, scoring.plan_scoring, tags)[0].by_model
    return sum(map(len, by_model.values()))


def test_only_the_chosen_failures_are_asked_again(database: str, tmp_path: Path) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        one, other = study.ids(tags)
        unprobed(study)
        mine, theirs = sample_ids(study, tags[0]), sample_ids(study, tags[1])
        fail(study, t.Sample, mine[:1], "timeout")
        fail(study, t.Sample, mine[1:3], "bad_request")
        fail(study, t.Sample, theirs[:1], "timeout")

        def kept(*selected: Any) -> list[StoredFailures]:
            return study.change(lambda session: kept_failures(session, Selection(*selected)))

        assert kept([one]) == [
            StoredFailures("w3-scoring", "bad_request", 2),
            StoredFailures("w3-scoring", "timeout", 1),
        ]
        assert kept([one, other], "", "timeout") == [StoredFailures("w3-scoring", "timeout", 2)]
        assert kept([one], "w4-swap") == kept([one], "w5-probe") == []

        study.change(
            lambda session: forget_failures(session, Selection([one], "w3-scoring", "timeout"))
        )
        assert missing(study, tags) == 1
        statuses = study.all(sa.select(t.Call.status).where(t.Call.agent == "scorer"))
        assert sorted(statuses) == ["failed"] * 3 + ["planned"] + ["succeeded"] * 4
        study.change(lambda session: forget_failures(session, Selection([one, other])))
        assert missing(study, tags) == 4
        assert kept([one, other]) == []
        assert sum((await study.score(tags)).values()) == 4

    judged(database, tmp_path, work)


def test_failed_probes_are_asked_again_without_their_samples(database: str, tmp_path: Path) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        ids = study.ids(tags)
        probes = study.all(sa.select(t.Probe.id).order_by(t.Probe.id))
        fail(study, t.Probe, probes[:2], "server")
        for given in (Selection(ids, "w3-scoring"), Selection(ids, "", "timeout")):
            study.change(lambda session, given=given: forget_failures(session, given))
        assert missing_by(study.runtime, probing.plan_probing, tags) == {}
        study.change(lambda session: forget_failures(session, Selection(ids, "w5-probe", "server")))
        assert missing(study, tags) == 0
        assert sum((await study.probe(tags)).values()) == 2

    judged(database, tmp_path, work)


def test_a_view_that_failed_takes_those_made_from_it_along(database: str, tmp_path: Path) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        documents = study.all(sa.select(t.Document.id).order_by(t.Document.id))
        failures = {
            ("neutralized", documents[0]): "timeout: late",
            ("abstracted", documents[0]): "it has no neutralized view",
            ("neutralized", documents[1]): "too_long: 900 words",
        }

        def plant(session: Session) -> None:
            for (view, document), failure in failures.items():
                given = {"status": "failed", "method": "llm", "failure": failure}
                session.add(t.View(document_id=document, view=view, **given))

        study.change(plant)
        selection = Selection(study.ids(tags), "", "timeout")
        assert study.change(lambda session: kept_failures(session, selection)) == [
            StoredFailures("w1-evidence", "other", 1),
            StoredFailures("w1-evidence", "timeout", 1),
        ]
        study.change(lambda session: forget_failures(session, selection))
        assert study.all(sa.select(t.View.failure)) == ["too_long: 900 words"]

    judged(database, tmp_path, work)


def test_calls_without_an_answer_are_cancelled_and_asked_for_later(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        one, other = study.ids(tags)
        ledger = Ledger(study.runtime.engine)
        planned = a_call("x/1", experiment_id=one, workflow="w3-scoring")
        await ledger.open([planned, a_call("x/2", experiment_id=other)], "sim")
        done = len(study.all(sa.select(t.Call.id).where(t.Call.status == "succeeded")))
        selection = Selection([one, other], "w3-scoring")
        [line] = study.change(lambda session: ledger_lines(session, without_answer(selection)))
        assert (line.workflow, line.status, line.calls) == ("w3-scoring", "planned", 1)
        assert study.change(lambda session: cancel_calls(session, selection)) == 1
        counted = study.all(sa.select(t.Call.status))
        assert counted.count("succeeded") == done
        assert (counted.count("cancelled"), counted.count("planned")) == (1, 1)
        await ledger.open([planned], "sim")
        assert study.all(sa.select(t.Call.status).where(t.Call.key == "x/1")) == ["planned"]

    judged(database, tmp_path, work)


def test_a_whole_sweep_has_the_calls_of_its_windows_and_rubrics(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        whole = study.change(lambda session: chosen(session, "both"))
        alone = study.change(lambda session: chosen(session, tags[0]))
        assert whole.title == "Sweep both"
        assert list(whole.experiments.values()) == tags
        assert list(alone.experiments.values()) == tags[:1]
        key = f"view/{study.window.key}/d/neutralized"
        await Ledger(study.runtime.engine).open([a_call(key, workflow="w1-evidence")], "sim")
        cancelled = [
            study.change(lambda session, one=one: cancel_calls(session, one.selection()))
            for one in (alone, whole)
        ]
        assert cancelled == [0, 1]

    judged(database, tmp_path, work)


def test_a_name_of_nothing_or_of_two_things_is_refused(database: str, tmp_path: Path) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        with pytest.raises(StoreError, match="no sweep and no experiment 'nothing'"):
            study.change(lambda session: chosen(session, "nothing"))
        twin = study.experiment("sim/calm-1", tag="both", replicates=1, scale_size=5)
        study.change(lambda session: register_experiment(session, twin))
        with pytest.raises(StoreError, match="a sweep and an experiment 'both'"):
            study.change(lambda session: chosen(session, "both"))

    judged(database, tmp_path, work)


def test_what_a_run_is_at_work_on_is_left_alone(database: str) -> None:
    engine = sa.create_engine(database)
    work = {"experiments": ["a", "b"], "windows": ["1"]}

    async def busy(kind: str, names: list[object]) -> None:
        async with locked(engine, {kind: names}, lambda: None):
            with pytest.raises(StoreError, match="at work"), exclusive(engine, work):
                raise AssertionError("it was not idle")

    asyncio.run(busy("experiments", ["b", "c"]))
    asyncio.run(busy("windows", [1]))

    waited = []

    async def wait() -> None:
        async with locked(engine, {"experiments": ["a"]}, lambda: waited.append("told")):
            waited.append("in")

    async def later() -> None:
        with exclusive(engine, work):
            waiting = asyncio.create_task(wait())
            while not waited:
                await asyncio.sleep(0.01)
            assert waited == ["told"]
        await waiting

    asyncio.run(later())
    assert waited == ["told", "in"]
    engine.dispose()


def test_the_status_of_a_sweep(database: str, tmp_path: Path) -> None:
    async def work(study: Study, tags: list[str]) -> None:
        def read() -> Status:
            return study.change(lambda session: sweep_status(session, "both"))

        done = read()
        assert done.finished
        assert done.simulated
        assert (done.experiments, done.failures, done.refusals) == (2, [], [])
        assert [one.documents for one in done.windows] == [2]
        calls = study.all(sa.select(sa.func.count()).select_from(t.Call))[0]
        assert done.spent.calls == calls
        [sim] = done.providers
        assert (sim.provider, sim.ended, sim.in_flight) == ("sim", calls, 0)
        assert 0 < sim.per_minute <= calls * 6  # over 10 s at least
        # A model of a provider that was answered by a simulator costs nothing either.
        real_name = sa.update(t.Experiment).where(t.Experiment.tag == tags[0])
        study.change(lambda session: session.execute(real_name.values(model="openai/gpt-4.1")))
        assert read().simulated
        study.change(lambda session: session.execute(real_name.values(model="sim/calm-1")))
        later = study.change(
            lambda session: sweep_status(session, "both", done.at + timedelta(minutes=6))
        )
        assert later.providers == []

        unprobed(study)
        fail(study, t.Sample, sample_ids(study, tags[0])[:1], "timeout")

        def plant(session: Session) -> None:
            for process, reasons in {"a:1": ["rate limit"], "b:2": ["late", "recovered"]}.items():
                for bound, reason in enumerate(reasons, 1):
                    given = {"process": process, "in_flight": bound, "reason": reason}
                    session.add(t.GateChange(provider="sim", **given))
                    session.flush()

        study.change(plant)
        found = read()
        assert not found.finished
        assert found.failures == [StoredFailures("w3-scoring", "timeout", 1)]
        [lowered] = found.lowered_limits
        assert (lowered.process, lowered.in_flight, lowered.reason) == ("a:1", 1, "rate limit")
        assert found.expected.left == sum(
            len(units) for units in missing_by(study.runtime, probing.plan_probing, tags).values()
        )
        assert (found.state, found.expected.at) == ("stopped", None)
        with in_progress(study.runtime.engine, "both"):
            working = until(lambda: (one := read()).in_progress and one, "its lock")
            assert working.state == "in progress"
            assert working.expected.at is not None

        # A killed run leaves calls stored as sent; they are in flight only while a run is at work.
        lost = sa.update(t.Call).where(t.Call.workflow == "w5-probe")
        study.change(lambda session: session.execute(lost.values(status="sent", answer=None)))
        assert [part.in_flight for part in read().providers] == [0]

        # They may have been billed: 4,000 characters are 1,000 tokens, and at most 500 come back.
        probes = study.all(sa.select(t.Call.id).where(t.Call.workflow == "w5-probe"))
        for model, call in zip(("openai/gpt-4.1", "local/unpriced"), probes, strict=False):
            given = {
                "model": model,
                "messages": [{"role": "user", "content": "x" * 4000}],
                "sent_parameters": {"max_completion_tokens": 500},
            }
            one = sa.update(t.Call).where(t.Call.id == call)
            study.change(lambda session, one=one, given=given: session.execute(one.values(given)))
        price = price_of(load_providers(settings().providers_file), "openai/gpt-4.1")
        assert price is not None
        cost = (1000 * price.prompt + 500 * price.completion) / 1e6
        assert done.unknown == UnknownOutcomes(0, 0, 0.0, 0)
        assert read().unknown == UnknownOutcomes(len(probes), 0, pytest.approx(cost), 1)
        # A lower bound while these two are open, as if a real model had been asked; the others are
        # the simulator's and cost nothing.
        assert read().spent.unpriced == 0
        said = replace(read(), simulated=False).cost_in_words
        assert "(2 requests of unknown cost)" in said.replace("(and ", "(")
        assert said.startswith(("at least", "an unknown amount"))
        assert "unknown" not in replace(done, simulated=False).cost_in_words
        with in_progress(study.runtime.engine, "both"):
            working = until(lambda: (one := read()).in_progress and one, "its lock")
            assert working.providers[0].in_flight > 0
            assert working.unknown.calls == 0

        # Sent again, they are still of unknown outcome: the first twice, and it has a price.
        one_lost = attempt_error(UNKNOWN_OUTCOME, "")
        for call, errors in zip(probes, ([one_lost] * 2, [one_lost]), strict=False):
            one = sa.update(t.Call).where(t.Call.id == call).values(status="failed", errors=errors)
            study.change(lambda session, one=one: session.execute(one))
        left = len(probes) - 2
        assert read().unknown == UnknownOutcomes(left + 3, 3, pytest.approx(2 * cost), 1)

    judged(database, tmp_path, work)
