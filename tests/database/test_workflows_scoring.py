"""W3 and W5: frozen items, what is missing, and the probes of what was scored."""

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.sweep import load_sweep
from judge_gym.errors import JudgeGymError, StoreError
from judge_gym.lab import judging, probing, scoring
from judge_gym.lab.planning import plan_sweep
from judge_gym.lab.status import sweep_status
from judge_gym.lab.sweeps import prepare
from judge_gym.simulator.server import serving
from judge_gym.store import tables as t
from judge_gym.store.cleaning import Removal, clean, forget_failures, removal
from judge_gym.store.items import bundle_plans, bundles_of, documents_of
from judge_gym.store.progress import WorkflowProgress, experiment_progress, sweep_progress
from judge_gym.store.selecting import Selection
from support.command_line import SWEEPS, sweep_text
from support.misbehaving import answers, misbehaving, refuses
from support.postgres import temporary_database
from support.rig import run, runtime_at
from support.study import Study, corpus, missing_by, window

pytestmark = pytest.mark.usefixtures("quick_retries")


def simulated(database: str, tmp_path: Path, documents: int, work: Any) -> None:
    """Run `work(study)` against the simulator, on a corpus of so many documents."""

    async def whole() -> None:
        async with serving() as base_url, runtime_at(database, base_url) as runtime:
            await work(Study(runtime, window(corpus(tmp_path, documents))))

    run(whole())


def samples(study: Study) -> list[t.Sample]:
    return study.all(sa.select(t.Sample).order_by(t.Sample.id))


def ledger(study: Study) -> Any:
    return study.all(sa.select(sa.func.count()).select_from(t.Call))[0]


def add_document(study: Study, position: int) -> None:
    """A document that arrives after the experiment was frozen."""

    def add(session: Session) -> None:
        (window_id,) = session.scalars(sa.select(t.Window.id)).all()
        session.add(
            t.Document(
                window_id=window_id,
                position=position,
                key=f"late{position}",
                url="",
                canonical_url="late",
                domain="",
                tier="other",
                tier_weight=0.1,
                title="Late",
                text="Late news.",
            )
        )

    study.change(add)


def test_every_item_is_judged_by_replicate_and_once(database: str, tmp_path: Path) -> None:
    async def work(study: Study) -> None:
        experiment = study.experiment("sim/calm-1")
        (tag,) = await study.up_to_scores(experiment)
        rows = samples(study)
        assert len(rows) == 3 * 2
        assert len({(row.item_id, row.replicate) for row in rows}) == 6
        assert {row.status for row in rows} <= {"scored", "abstained"}
        # Letters and order are drawn for each sample and stored with it.
        assert len({(row.letters, tuple(row.display_order)) for row in rows}) > 1
        calls = {call.id: call for call in study.all(sa.select(t.Call))}
        for row in rows:
            call = calls[row.call_id]
            assert call.experiment_id == study.ids([tag])[0]
            letters = re.findall(r'^([A-D]): "', call.messages[-1]["content"], re.MULTILINE)
            assert letters == [row.letters[stage - 1] for stage in row.display_order]
            assert call.answer[row.span_start : row.span_end] == row.verdict_text
        before = ledger(study)
        assert await study.score([tag]) == {}
        assert ledger(study) == before

    simulated(database, tmp_path, 3, work)


@pytest.mark.parametrize("method", ["single", "structured_json", "subset"])
def test_judgements_keep_the_token_probability_of_their_letter(
    database: str, tmp_path: Path, method: str
) -> None:
    async def work(study: Study) -> None:
        experiment = study.experiment(
            "sim/calm-1", logprobs=True, reasoning_effort="low", scoring_method=method
        )
        (tag,) = await study.up_to_scores(experiment)
        await study.probe([tag])
        calls = {call.id: call for call in study.all(sa.select(t.Call))}
        scored = [row for row in samples(study) if row.status == "scored"]
        assert scored, [(row.status, row.failure) for row in samples(study)]
        for row in scored:
            sent = calls[row.call_id].sent_parameters
            assert (sent["logprobs"], sent["reasoning_effort"]) == (True, "low")
            if method == "subset":
                assert (row.letter_probability, row.letter_probabilities) == (None, None)
                continue
            letter = row.letters[row.stages.bit_length() - 1]
            assert row.letter_probabilities[letter] == row.letter_probability
            # The simulated judge draws its letter by these probabilities, or abstains.
            assert set(row.letter_probabilities) == set(row.letters)
            assert 0 < sum(row.letter_probabilities.values()) < 1.0001
        for call in calls.values():
            if call.agent == "prober":
                assert call.sent_parameters["reasoning_effort"] == "low"
                assert "logprobs" not in call.sent_parameters

    simulated(database, tmp_path, 3, work)


def test_two_runs_send_identical_prompts(postgres_server: str, migrated_template: str,
                                         tmp_path: Path) -> None:  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def work(study: Study) -> None:
        experiment = study.experiment("sim/calm-1", bundle_size=2, probe_window="same")
        tags = await study.up_to_scores(experiment)
        await study.probe(tags)
        rows = study.all(sa.select(t.Call.key, t.Call.messages, t.Call.parameters, t.Call.answer))
        sent.append({row[0]: json.dumps(row[1:]) for row in map(tuple, rows)})

    for _ in range(2):
        with temporary_database(postgres_server, migrated_template) as url:
            simulated(url, tmp_path, 4, work)
    assert sent[0] == sent[1]
    assert len(sent[0]) > 4 + 4


def test_items_are_frozen_once(database: str, tmp_path: Path) -> None:
    async def work(study: Study) -> None:
        first = study.experiment("sim/calm-1")
        tags = await study.up_to_scores(first)
        add_document(study, 3)
        assert await study.score(tags) == {}
        # An experiment frozen later has it.
        later = study.experiment("sim/calm-1", temperature=0.2)
        assert sum((await study.score(study.register(later))).values()) == 4 * 2
        counts = study.all(
            sa.select(sa.func.count(t.ExperimentItem.item_id)).group_by(
                t.ExperimentItem.experiment_id
            )
        )
        assert sorted(counts) == [3, 4]
        # Both judge the very same items where they share documents.
        assert study.all(sa.select(sa.func.count()).select_from(t.EvidenceItem)) == [4]

    simulated(database, tmp_path, 3, work)


def test_bundles_hold_each_document_once_and_are_the_same_for_every_judge(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study) -> None:
        await study.up_to_scores(
            study.experiment("sim/calm-1", bundle_size=2),
            study.experiment("sim/low-1", bundle_size=2),
        )
        items = study.all(
            sa.select(t.ExperimentItem.experiment_id, t.ItemDocument.document_id)
            .join(t.ItemDocument, t.ItemDocument.item_id == t.ExperimentItem.item_id)
            .order_by(t.ExperimentItem.position, t.ItemDocument.position)
        )
        by_experiment: dict[int, list[int]] = {}
        for experiment_id, document_id in items:
            by_experiment.setdefault(experiment_id, []).append(document_id)
        one, two = by_experiment.values()
        assert one == two
        assert len(set(one)) == len(one) == 4  # the fifth document fills no bundle
        (prompt,) = study.all(sa.select(t.Call.messages).where(t.Call.agent == "scorer").limit(1))
        assert "[Document 2 of 2, " in prompt[-1]["content"]

    simulated(database, tmp_path, 5, work)


def test_bundles_by_likeness_are_made_once_and_serve_every_judge_and_view(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(study: Study) -> None:
        alike = {"bundles": {"by": "similar", "size": 2}}
        await study.up_to_scores(study.experiment("sim/calm-1", **alike))
        # Another version of the library would find other words alike.
        monkeypatch.setattr("judge_gym.store.items.text_similarity", None)
        await study.up_to_scores(study.experiment("sim/low-1", **alike, evidence_view="raw"))
        with study.runtime.session() as session:
            first, second = session.scalars(
                sa.select(t.Experiment.id).order_by(t.Experiment.id)
            ).all()
            stored = [bundles_of(session, one) for one in (first, second)]
            [plan] = bundle_plans(session, session.scalars(sa.select(t.Window.id)).one())
        assert stored[0] == stored[1] == list(plan.groups)
        assert plan.plan == "similar, 2"
        # Five documents in two bundles.
        assert sorted(map(len, plan.groups)) == [2, 3]
        assert len({key for group in plan.groups for key in group}) == 5

    simulated(database, tmp_path, 5, work)


def test_bundles_compare_the_view_they_name_whichever_is_judged(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study) -> None:
        by_view = {"bundles": {"by": "similar", "size": 2, "view": "cleaned"}}
        raw = {"bundles": {"by": "similar", "size": 2}}
        read = {"evidence_view": "raw"}
        first = study.experiment("sim/calm-1", **by_view, **read)
        tags = study.register(first, study.experiment("sim/calm-1", **raw, **read))
        await study.collect()
        await study.write_rubrics([first])
        missing, unusable = missing_by(study.runtime, scoring.plan_scoring, tags)
        assert missing.by_model  # the other plan is not held up
        assert len(unusable) == 1
        assert "5 documents of 5 lack it" in unusable[0]
        await study.make("cleaned")
        # The cleaned texts are alike in pairs, the raw ones in others.
        texts = ["alpha alpha", "beta beta", "alpha alpha", "beta beta", "beta beta"]
        ids = study.all(sa.select(t.View.document_id).order_by(t.View.document_id))
        with study.runtime.session() as session:
            for document, text in zip(ids, texts, strict=True):
                of_document = t.View.document_id == document
                session.execute(sa.update(t.View).where(of_document).values(text=text))
        await study.score(tags)
        with study.runtime.session() as session:
            window = session.scalars(sa.select(t.Window.id)).one()
            plans = {plan.plan: plan for plan in bundle_plans(session, window)}
            keys = list(documents_of(session, window))
        found = {frozenset(keys.index(key) for key in group)
                 for group in plans["similar, 2, cleaned texts"].groups}  # fmt: skip
        assert found == {frozenset({0, 2}), frozenset({1, 3, 4})}
        assert set(plans) == {"similar, 2", "similar, 2, cleaned texts"}
        assert plans["similar, 2, cleaned texts"].view == "cleaned"

    simulated(database, tmp_path, 5, work)


def test_what_cannot_be_scored_is_said_and_does_not_hold_up_the_rest(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study) -> None:
        good = study.experiment("sim/calm-1")
        unwritten = study.experiment("sim/low-1")
        no_bundle = study.experiment("sim/calm-1", bundle_size=9)
        tags = study.register(good, unwritten, no_bundle)
        with pytest.raises(JudgeGymError, match=r"No experiment can be scored.*not written yet"):
            missing_by(study.runtime, scoring.plan_scoring, [unwritten.name])
        await study.write_rubrics([good])
        with pytest.raises(StoreError, match=r"week .* is not collected yet"):
            missing_by(study.runtime, scoring.plan_scoring, tags)
        await study.collect()
        missing, unusable = missing_by(study.runtime, scoring.plan_scoring, tags)
        assert {model: len(units) for model, units in missing.by_model.items()} == {"sim/calm-1": 4}
        assert unusable == [
            f"{unwritten.name}: its rubric is not written yet",
            f"{no_bundle.name}: its window gives no bundle of 9 documents",
        ]

    simulated(database, tmp_path, 2, work)


def test_the_plan_is_what_is_missing(database: str, tmp_path: Path) -> None:
    """After a stop in the middle, and after replicates were added, only the rest is planned."""

    async def work(study: Study) -> None:
        experiment = study.experiment("sim/calm-1")
        tags = await study.up_to_scores(experiment)
        removed = samples(study)[1:4]
        study.change(
            lambda session: session.execute(
                sa.delete(t.Sample).where(t.Sample.id.in_([row.id for row in removed]))
            )
        )
        before = ledger(study)
        missing, _ = missing_by(study.runtime, scoring.plan_scoring, tags)
        (units,) = missing.by_model.values()
        assert {(unit.item_id, unit.replicate) for unit in units} == {
            (row.item_id, row.replicate) for row in removed
        }
        await study.score(tags)
        # The answers were in the ledger: nothing is sent, and the verdicts are the same.
        assert ledger(study) == before
        again = {(row.item_id, row.replicate): row.stages for row in samples(study)}
        assert all(again[row.item_id, row.replicate] == row.stages for row in removed)

        study.register(study.experiment("sim/calm-1", replicates=3))
        missing, _ = missing_by(study.runtime, scoring.plan_scoring, tags)
        (units,) = missing.by_model.values()
        assert Counter(unit.replicate for unit in units) == {2: 3}
        study.register(study.experiment("sim/calm-1", replicates=1))  # fewer takes nothing back
        assert sum((await study.score(tags)).values()) == 3

    simulated(database, tmp_path, 3, work)


def test_items_whose_view_failed_are_blocked_and_others_go_on(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study) -> None:
        experiment = study.experiment("sim/calm-1", evidence_view="neutralized", replicates=2)
        tags = study.register(experiment)
        await study.collect()
        await study.write_rubrics([experiment])
        missing, _ = missing_by(study.runtime, scoring.plan_scoring, tags)
        assert (missing.by_model, missing.blocked) == ({}, 6)  # not made yet
        await study.make("cleaned")
        await study.make("neutralized")

        def fail_one(session: Session) -> None:
            session.execute(
                sa.update(t.View)
                .where(t.View.view == "neutralized", t.View.document_id == sa.select(
                    sa.func.min(t.Document.id)).scalar_subquery())
                .values(status="failed", text=None, failure="boom")
            )  # fmt: skip

        study.change(fail_one)
        missing, _ = missing_by(study.runtime, scoring.plan_scoring, tags)
        assert {model: len(units) for model, units in missing.by_model.items()} == {"sim/calm-1": 4}
        assert missing.blocked == 2
        await study.score(tags)
        prompts = study.all(sa.select(t.Call.messages).where(t.Call.agent == "scorer"))
        # A neutralized text is shown without its headline.
        assert not any("Report" in messages[-1]["content"] for messages in prompts)

    simulated(database, tmp_path, 3, work)


def test_each_way_a_judgement_can_end_is_on_record(database: str, tmp_path: Path) -> None:
    """One document, seven replicates, one for each way; only the scored are probed."""

    async def work() -> None:
        stages = [{"label": f"Stage {n}", "criteria": ["a", "b", "c"]} for n in range(4)]
        script = [
            answers("Reasons.\nVERDICT: B"),
            answers("VERDICT: ABSTAIN"),
            answers("I cannot say."),
            # A cut answer is asked for once more.
            *[answers("The evidence shows", finish_reason="length")] * 2,
            answers("", finish_reason="content_filter"),
            refuses(400, "Rejected by our safety system", "content_policy_violation"),
            refuses(400, "no"),
            answers("PROBABILITY: 0.4"),
        ]
        async with (
            misbehaving(*script) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            study = Study(runtime, window(corpus(tmp_path, 1)))
            experiment = study.experiment(
                "sim/judge",
                replicates=7,
                randomize_labels=False,
                rubric={"provided": {"stages": stages}},
            )
            tags = study.register(experiment)
            await study.collect()
            await study.write_rubrics([experiment])
            missing, _ = missing_by(runtime, scoring.plan_scoring, tags)
            for unit in missing.by_model["sim/judge"]:  # one by one, to follow the script
                await judging.judge(runtime, [unit])
            rows = samples(study)
            assert [row.status for row in rows] == [
                "scored", "abstained", "unparseable", "unparseable", "refused", "refused", "failed"
            ]  # fmt: skip
            assert [row.stages for row in rows] == [0b10] + [None] * 6
            assert rows[0].verdict_text == "VERDICT: B"
            assert [str(row.failure).partition(":")[0] for row in rows] == [
                "None", "None", "no_verdict", "truncated", "content_filter", "content_policy",
                "bad_request",
            ]  # fmt: skip
            # Those are outcomes, not gaps: nothing is missing until failures are forgotten.
            assert missing_by(runtime, scoring.plan_scoring, tags)[0].by_model == {}
            by_model = missing_by(runtime, probing.plan_probing, tags)
            assert {unit[0] for unit in by_model["sim/judge"]} == {rows[0].id}
            study.change(lambda session: forget_failures(session, Selection(study.ids(tags))))
            (unit,) = missing_by(runtime, scoring.plan_scoring, tags)[0].by_model["sim/judge"]
            assert unit.replicate == 6

    run(work())


def test_every_scored_sample_is_probed_and_one_in_ten_twice(database: str, tmp_path: Path) -> None:
    async def work(study: Study) -> None:
        tags = await study.up_to_scores(study.experiment("sim/calm-1", replicates=20))
        scored = {row.id: row.seed for row in samples(study) if row.status == "scored"}
        expected = {(one, 0) for one in scored} | {
            (one, 1) for one, seed in scored.items() if seed % 10 == 0
        }
        planned = missing_by(study.runtime, probing.plan_probing, tags)["sim/calm-1"]
        assert set(planned) == expected
        assert len(planned) == len(expected) > len(scored)
        # A stop in the middle: the rest is planned, and nothing else.
        await probing.probe(study.runtime, planned[:5])
        assert set(missing_by(study.runtime, probing.plan_probing, tags)["sim/calm-1"]) == set(
            planned[5:]
        )
        assert await study.probe(tags) == {"answered": len(planned) - 5}
        assert missing_by(study.runtime, probing.plan_probing, tags) == {}
        rows = study.all(sa.select(t.Probe))
        assert all(0 <= row.probability <= 1 for row in rows)
        assert len({row.call_id for row in rows}) == len(rows)

    simulated(database, tmp_path, 2, work)


@pytest.mark.parametrize("probe_window", ["fresh", "same"])
def test_a_probe_sees_what_the_judge_saw(database: str, tmp_path: Path, probe_window: str) -> None:
    async def work(study: Study) -> None:
        tags = await study.up_to_scores(study.experiment("sim/calm-1", probe_window=probe_window))
        await study.probe(tags)
        calls = {call.id: call for call in study.all(sa.select(t.Call))}
        pairs = study.all(sa.select(t.Sample, t.Probe).join(t.Probe))
        assert pairs
        for sample, probe in pairs:
            judged, probed = calls[sample.call_id], calls[probe.call_id]
            if probe_window == "same":
                assert probed.messages[:-1] == [
                    *judged.messages,
                    {"role": "assistant", "content": judged.answer},
                ]
            else:
                assert [message["role"] for message in probed.messages] == ["system", "user"]
                assert judged.answer not in probed.messages[-1]["content"]
            letter = sample.letters[sample.stages.bit_length() - 1]
            assert f'\n{letter}: "' in probed.messages[-1]["content"]

    simulated(database, tmp_path, 2, work)


def test_cleaning_takes_what_it_says_and_the_rest_can_go_on(database: str, tmp_path: Path) -> None:
    async def work(study: Study) -> None:
        kept, cleaned = await study.up_to_scores(
            study.experiment("sim/low-1"), study.experiment("sim/calm-1")
        )
        await study.probe([kept, cleaned])
        (experiment_id,) = study.ids([cleaned])
        scored = sum(row.status == "scored" for row in samples(study))
        shown = study.change(lambda session: removal(session, Selection([experiment_id])))
        probes = study.all(
            sa.select(sa.func.count()).select_from(t.Probe).join(t.Sample).join(t.Arm)
            .where(t.Arm.experiment_id == experiment_id)
        )[0]  # fmt: skip
        assert shown == Removal(calls=4 + probes, samples=4, probes=probes, marks=0)
        before = ledger(study)

        def by_model() -> dict[tuple[str, int, int], int]:
            rows = study.all(
                sa.select(t.Sample, t.Experiment.model)
                .select_from(t.Sample)
                .join(t.Arm, t.Arm.id == t.Sample.arm_id)
                .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
            )
            return {(model, row.item_id, row.replicate): row.stages for row, model in rows}

        verdicts = by_model()
        study.change(lambda session: clean(session, Selection([experiment_id]), keep_derived=True))
        assert ledger(study) == before - shown.calls
        assert by_model() == verdicts
        # Nothing is asked again while the verdicts are there.
        assert await study.score([kept, cleaned]) == {}
        assert await study.probe([kept, cleaned]) == {}

        study.change(lambda session: clean(session, Selection([experiment_id]), keep_derived=False))
        after = study.change(lambda session: removal(session, Selection([experiment_id])))
        assert after == Removal(calls=0, samples=0, probes=0, marks=0)
        assert len(samples(study)) == 4
        assert sum((await study.score([kept, cleaned])).values()) == 4
        # The same prompts, so a simulated judge says the same again.
        assert by_model() == verdicts
        assert sum(row.status == "scored" for row in samples(study)) == scored

    simulated(database, tmp_path, 2, work)


def test_a_conversation_that_was_cleaned_away_is_not_continued(
    database: str, tmp_path: Path
) -> None:
    """An empty conversation would be answered too, and the number would mean nothing."""

    async def work(study: Study) -> None:
        tags = await study.up_to_scores(study.experiment("sim/calm-1", probe_window="same"))
        (experiment_id,) = study.ids(tags)
        study.change(lambda session: clean(session, Selection([experiment_id]), keep_derived=True))
        ends = await study.probe(tags)
        assert set(ends) == {"failed"}
        rows = study.all(sa.select(t.Probe))
        assert all(row.simulated for row in [*rows, *samples(study)])
        assert {row.failure for row in rows} == {
            "the conversation that it would continue was cleaned away"
        }
        assert study.all(sa.select(t.Call.id).where(t.Call.agent == "prober")) == []

    simulated(database, tmp_path, 2, work)


def test_a_fresh_probe_keeps_its_key_when_the_judgement_was_cleaned_away(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study) -> None:
        tags = await study.up_to_scores(study.experiment("sim/calm-1"))
        (experiment_id,) = study.ids(tags)
        await study.probe(tags)
        query = sa.select(t.Call.key, t.Call.messages, t.Call.parameters).where(
            t.Call.agent == "prober"
        )
        before = {row[0]: json.dumps(list(row)[1:]) for row in study.all(query)}

        def clean_up(session: Session) -> None:
            clean(session, Selection([experiment_id]), keep_derived=True)
            session.execute(sa.delete(t.Probe))

        study.change(clean_up)
        await study.probe(tags)
        assert {row[0]: json.dumps(list(row)[1:]) for row in study.all(query)} == before

    simulated(database, tmp_path, 2, work)


def test_progress_follows_the_rows(database: str, tmp_path: Path) -> None:
    async def work(study: Study) -> None:
        experiment = study.experiment("sim/calm-1", evidence_view="cleaned")
        # Another judge's rubric for the same concept says nothing about this experiment's.
        other = study.experiment("sim/low-1")
        tags = study.register(experiment)
        await study.write_rubrics([other])

        def progress() -> dict[str, WorkflowProgress]:
            (ids,) = [study.ids(tags)]
            return study.change(lambda session: sweep_progress(session, ids))

        start = progress()
        assert {name: one.state for name, one in start.items()} == dict.fromkeys(start, "pending")
        assert start["w1-evidence"].total is None
        assert start["w2-rubric"] == WorkflowProgress(0, 1, 0)
        await study.collect()
        assert progress()["w1-evidence"] == WorkflowProgress(0, 3, 0)
        await study.make("cleaned")
        assert progress()["w1-evidence"].state == "complete"
        await study.write_rubrics([experiment])
        assert progress()["w2-rubric"] == WorkflowProgress(1, 1, 0)
        missing, _ = missing_by(study.runtime, scoring.plan_scoring, tags)
        assert progress()["w3-scoring"] == WorkflowProgress(0, 6, 0)
        await judging.judge(study.runtime, missing.by_model["sim/calm-1"][:2])
        assert progress()["w3-scoring"] == WorkflowProgress(2, 6, 0)
        assert progress()["w3-scoring"].state == "running"
        assert progress()["w4-swap"].state == "pending"
        await study.score(tags)
        assert progress()["w3-scoring"].state == "complete"
        assert progress()["w4-swap"].state == "nothing to do"
        wanted = progress()["w5-probe"].total
        planned = missing_by(study.runtime, probing.plan_probing, tags)
        assert wanted == len(planned["sim/calm-1"])
        await study.probe(tags)
        assert progress()["w5-probe"] == WorkflowProgress(wanted, wanted, 0)
        (experiment_id,) = study.ids(tags)

        def fail(session: Session) -> None:
            session.execute(
                sa.update(t.Sample)
                .where(t.Sample.replicate == 0)
                .values(status="failed", stages=None, failure="boom")
            )
            session.execute(
                sa.update(t.Sample)
                .where(t.Sample.replicate == 1)
                .values(status="refused", stages=None, failure="content_policy: no")
            )

        study.change(fail)
        by_id = study.change(lambda session: experiment_progress(session, [experiment_id]))
        assert by_id[experiment_id]["w3-scoring"] == WorkflowProgress(6, 6, 3, 3)
        assert by_id[experiment_id]["w3-scoring"].state == "complete with failures"

    simulated(database, tmp_path, 3, work)


def test_two_processes_that_do_the_same_work_make_it_once(database: str, tmp_path: Path) -> None:
    """Two runtimes, each with its own ledger and connections, as two runs of one sweep have."""

    async def work() -> None:
        async with (
            serving(latency=0.01) as base_url,
            runtime_at(database, base_url) as one,
            runtime_at(database, base_url) as two,
        ):
            studies = [Study(each, window(corpus(tmp_path, 3))) for each in (one, two)]
            experiment = studies[0].experiment("sim/calm-1", replicates=5)
            tags = studies[0].register(experiment)
            await studies[0].collect()
            await studies[0].write_rubrics([experiment])
            await asyncio.gather(*(study.score(tags) for study in studies))
            rows = samples(studies[0])
            assert len(rows) == 15
            calls = {call.id: call for call in studies[0].all(sa.select(t.Call))}
            assert all(calls[row.call_id].status == "succeeded" for row in rows)
            for row in rows:
                answer = calls[row.call_id].answer
                assert answer[row.span_start : row.span_end] == row.verdict_text

    run(work())


def test_rubrics_to_write_are_the_same_in_plan_and_progress(database: str, tmp_path: Path) -> None:
    """Three judges write one rubric and one for a sham; the fourth block provides its own."""
    provided = (
        "  - concept: fascism\n    window: valmora\n    model: sim/calm-1\n"
        f"    rubric: {{provided: {SWEEPS}/rubrics/backsliding.yaml}}\n\nswap:"
    )
    file = tmp_path / "mine.yaml"
    file.write_text(sweep_text("quick.yaml", ("swap:", provided)))
    sweep = load_sweep(file)

    async def work(study: Study) -> None:
        prepare(study.runtime, sweep)
        with study.runtime.session() as session:
            plan = plan_sweep(session, sweep, study.runtime.providers)
            status = sweep_status(session, sweep.name)
        planned = sum(line.calls for line in plan.lines if line.what == "rubrics")
        [written] = [part for part in status.workflows if part.workflow == "w2-rubric"]
        assert (planned, written.done, written.total) == (6, 0, 6)
        experiments = list(sweep.experiments())
        await study.write_rubrics([one for one in experiments if one.rubric.kind == "provided"])
        with study.runtime.session() as session:
            status = sweep_status(session, sweep.name)
        [written] = [part for part in status.workflows if part.workflow == "w2-rubric"]
        assert (written.done, written.total) == (0, 6)

    simulated(database, tmp_path, 2, work)
