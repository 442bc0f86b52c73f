"""W1: a window is collected once, its views are made in order, and each failure is on record."""

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.errors import EvidenceError
from judge_gym.lab import evidence
from judge_gym.lab.evidence_notes import evidence_notes
from judge_gym.simulator.server import serving
from judge_gym.store import tables as t
from judge_gym.store.cleaning import forget_failures
from judge_gym.store.selecting import Selection
from support.misbehaving import Step, answers, misbehaving, refuses
from support.rig import run, runtime_at
from support.study import Study, corpus, window

pytestmark = pytest.mark.usefixtures("quick_retries")

LONG = "A summary of the sitting. " * 3


def views(study: Study) -> dict[tuple[int, str], Any]:
    rows = study.all(sa.select(t.Document.position, t.View).join(t.View))
    return {(position, view.view): view for position, view in rows}


def with_script(database: str, tmp_path: Path, *script: Step, **settings: Any) -> Any:
    """A decorator that runs a test's coroutine with a study whose provider follows a script."""

    def decorate(work: Any) -> None:
        async def whole() -> None:
            async with (
                misbehaving(*script) as provider,
                runtime_at(database, provider.base_url, **settings) as runtime,
            ):
                study = Study(runtime, window(corpus(tmp_path, 3)))
                await study.collect()
                await work(study, provider)

        run(whole())

    return decorate


ARTICLE = (
    "The assembly of Valmora passed the budget on Thursday after the speaker shortened the debate "
    "from ten days to four. Members of the opposition left the chamber before the vote. The court "
    "will hear their complaint in March, and two newspapers printed the text of the law. "
)


def test_cut_and_doubtful_texts_are_named_before_and_after_collecting(
    database: str, tmp_path: Path
) -> None:
    path = corpus(tmp_path, 1)
    texts = {
        "Long": " ".join(f"Sentence {number} of a long report." for number in range(200)),
        "First": ARTICLE,
        "Copy": f"{ARTICLE}Originally published by the Courier.",
        "Banner": "We use cookies. Accept all cookies. Change your cookie settings. " * 9,
    }
    rows = [{"title": title, "date": "2026-01-03", "text": text} for title, text in texts.items()]
    path.write_text(path.read_text() + "\n".join(map(json.dumps, rows)))

    async def work() -> None:
        async with runtime_at(database, "", max_document_characters=1000) as runtime:
            study = Study(runtime, window(path))
            with runtime.session() as session:
                before = evidence_notes(session, [study.window], runtime.settings)
            assert (await study.collect())["kept"] == 5
            path.unlink()
            with runtime.session() as session:
                after = evidence_notes(session, [study.window], runtime.settings)
            assert before == after
            cut, doubtful = after
            whole = len(texts["Long"])
            [kept] = study.all(
                sa.select(sa.func.length(t.Document.text)).where(t.Document.title == "Long")
            )
            for said in (
                "1 of 5 texts is cut at max_document_characters",
                f"{path.name} line 2: {kept} of {whole:,} characters kept ({kept / whole:.0%})",
            ):
                assert said in cut
            assert f"{path.name} line 4: near duplicate" in doubtful
            assert f"{path.name} line 5: not article" in doubtful
            assert "2 of 5 texts" in doubtful

    run(work())


def test_where_rows_have_no_date_the_message_names_the_key_of_its_column(
    database: str, tmp_path: Path
) -> None:
    path = tmp_path / "undated.jsonl"
    rows = [{"title": "t", "released": "2026-01-03", "text": f"Day {n}. {ARTICLE}"} for n in (1, 2)]
    path.write_text("\n".join(map(json.dumps, rows)))
    dated = {"start": "2026-01-01", "end": "2026-01-31"}

    async def work() -> None:
        async with runtime_at(database, "") as runtime:
            study = Study(runtime, window(path, **dated))
            with pytest.raises(EvidenceError, match=r"fields: \{date: COLUMN\}"):
                await study.collect()
            some = [*rows, rows[0] | {"date": "2026-01-04", "text": ARTICLE}]
            path.write_text("\n".join(map(json.dumps, some)))
            partly = window(path, **dated)
            found = evidence.preview(partly, runtime.settings)
            assert found is not None
            assert "fields: {date: COLUMN}" in evidence.losses(partly, found)

    run(work())


def test_a_window_is_collected_once_with_the_reasons_for_what_it_left(
    database: str, tmp_path: Path
) -> None:
    path = corpus(tmp_path, 4)
    rows = path.read_text().splitlines()
    rows.append(rows[0])  # the same address again
    rows.append(json.dumps({"title": "Short", "date": "2026-01-03", "text": "Too short."}))
    rows.append(json.dumps({"title": "Old", "date": "2020-01-03", "text": "x" * 300}))
    path.write_text("\n".join(rows))

    async def work() -> None:
        async with runtime_at(database, "") as runtime:
            study = Study(runtime, window(path, start="2026-01-01", end="2026-01-31"))
            counts = await study.collect()
            assert counts == {"kept": 4, "duplicate_url": 1, "too_short": 1, "outside_dates": 1}
            dropped = study.all(sa.select(t.DroppedDocument.title, t.DroppedDocument.reason))
            assert {tuple(row) for row in dropped} == {
                ("Report 0", "duplicate_url"),
                ("Short", "too_short"),
                ("Old", "outside_dates"),
            }
            assert await study.collect() == {}
            path.unlink()  # what is stored needs its source no longer
            assert await study.collect() == {}
            titles = study.all(sa.select(t.Document.title).order_by(t.Document.position))
            assert titles == [f"Report {number}" for number in range(4)]

    run(work())


def test_a_truth_off_the_scale_names_the_document(database: str, tmp_path: Path) -> None:
    path = corpus(tmp_path, 2)
    rows = [json.loads(line) | {"truth": 3.5} for line in path.read_text().splitlines()]
    path.write_text("\n".join(map(json.dumps, rows)))

    async def work() -> None:
        async with runtime_at(database, "") as runtime:
            source = {"kind": "corpus", "path": str(path), "fields": {"truth": "truth"}}
            study = Study(runtime, window(path).model_copy(update={}))
            study.window = type(study.window).model_validate(
                {"country": "Valmora", "source": source}
            )
            with pytest.raises(EvidenceError, match=r"'Report 0' has the truth 3\.5"):
                await study.collect()
            assert study.all(sa.select(t.Window.collected_at)) == [None]

    run(work())


def test_views_are_made_in_order_and_once(database: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with serving() as base_url, runtime_at(database, base_url) as runtime:
            study = Study(runtime, window(corpus(tmp_path, 3)))
            await study.collect()
            wanted = evidence.views_needed(
                [study.experiment("sim/calm-1", evidence_view=view) for view in
                 ("abstracted", "raw", "cleaned")]
            )  # fmt: skip
            assert wanted == ["cleaned", "neutralized", "abstracted"]
            for view in wanted:
                assert await study.make(view) == {"ready": 3}
                assert await study.make(view) == {}
            made = views(study)
            assert made[0, "cleaned"].method == "library"
            assert made[0, "cleaned"].call_id is None
            assert made[0, "neutralized"].method == "sim/calm-1"
            assert "Valmora" in made[0, "neutralized"].text
            assert "Valmora" not in made[0, "abstracted"].text
            asked = study.all(sa.select(t.Call.agent, t.Call.messages).order_by(t.Call.id))
            assert [agent for agent, _ in asked] == ["neutralizer"] * 3 + ["abstractor"] * 3
            # Each view is made from the one before it.
            prompts = [messages[-1]["content"] for agent, messages in asked if agent[0] == "a"]
            assert sum(made[0, "neutralized"].text in prompt for prompt in prompts) == 1

    run(work())


def test_a_view_whose_source_is_missing_stays_missing(database: str, tmp_path: Path) -> None:
    """Nothing failed: the view before it has merely not been made yet."""

    @with_script(database, tmp_path, answers(LONG))
    async def work(study: Study, provider: Any) -> None:
        assert await study.make("neutralized", "sim/u") == {}
        assert provider.requests == []
        await study.make("cleaned")
        assert await study.make("neutralized", "sim/u") == {"ready": 3}


def test_a_failed_view_fails_what_is_made_from_it(database: str, tmp_path: Path) -> None:
    cut = answers(LONG, finish_reason="length")
    # An empty and a cut answer are each asked for once more, and are the same again.
    script = (answers(""), answers(LONG), cut, answers(""), cut, answers(LONG))

    @with_script(database, tmp_path, *script)
    async def work(study: Study, provider: Any) -> None:
        await study.make("cleaned")
        ends = await study.make("neutralized", "sim/u")
        assert ends == {"failed": 2, "ready": 1}
        assert await study.make("abstracted", "sim/u") == {"failed": 2, "ready": 1}
        assert len(provider.requests) == 6
        made = [view for (_, name), view in views(study).items() if name == "abstracted"]
        failures = sorted(str(view.failure) for view in made)
        assert failures == ["None"] + ["the view it is made from failed"] * 2
        reasons = sorted(
            str(view.failure).partition(":")[0]
            for (_, name), view in views(study).items()
            if name == "neutralized"
        )
        assert reasons == ["None", "empty", "truncated"]


def test_a_refusal_by_the_provider_is_a_failed_view(database: str, tmp_path: Path) -> None:
    script = (refuses(400, "Rejected by our safety system", "content_policy_violation"),)

    @with_script(database, tmp_path, *script)
    async def work(study: Study, _: Any) -> None:
        await study.make("cleaned")
        assert await study.make("neutralized", "sim/u") == {"failed": 3}
        assert all("content_policy" in (view.failure or "") for view in views(study).values()
                   if view.view == "neutralized")  # fmt: skip


def test_a_summary_over_the_limit_is_cut_and_flagged(database: str, tmp_path: Path) -> None:
    """20 words are allowed: two sentences of 8 fit, the third does not."""
    sentence = "one two three four five six seven eight."
    endless = " ".join(f"word{number}" for number in range(30))
    script = (answers(" ".join([sentence] * 3)), answers(endless), answers(sentence))

    @with_script(database, tmp_path, *script, summary_words=20)
    async def work(study: Study, provider: Any) -> None:
        await study.make("cleaned")
        await study.make("neutralized", "sim/u")
        made = {view.words: view for view in views(study).values() if view.view == "neutralized"}
        assert (made[24].text, made[24].over_limit) == (f"{sentence} {sentence}", True)
        assert (len(made[30].text.split()), made[30].over_limit) == (20, True)
        assert (made[8].text, made[8].over_limit) == (sentence, False)
        assert "at most 20 words" in provider.requests[0]["messages"][-1]["content"]


def test_failures_can_be_asked_again_even_when_the_answer_was_useless(
    database: str, tmp_path: Path
) -> None:
    """An empty summary is an answer; retried, it is not used again but asked again."""
    script = (*[answers("")] * 6, answers(LONG))  # each is asked for once more at once

    @with_script(database, tmp_path, *script)
    async def work(study: Study, provider: Any) -> None:
        tags = study.register(study.experiment("sim/calm-1", evidence_view="neutralized"))
        await study.make("cleaned")
        assert await study.make("neutralized") == {"failed": 3}
        assert await study.make("neutralized") == {}
        study.change(lambda session: forget_failures(session, Selection(study.ids(tags))))
        assert await study.make("neutralized") == {"ready": 3}
        assert len(provider.requests) == 9
        # What was asked, answered and paid stays in the ledger.
        rows = study.all(sa.select(t.Call.key, t.Call.answer, t.Call.messages))
        assert sorted(len(answer) > 0 for _, answer, _ in rows) == [False] * 3 + [True] * 3
        first = {json.dumps(messages) for _, answer, messages in rows if not answer}
        again = {json.dumps(messages) for _, answer, messages in rows if answer}
        assert first == again


def test_the_llm_cleaner_is_a_setting(database: str, tmp_path: Path) -> None:
    @with_script(database, tmp_path, answers("The court sat."), cleaner="llm")
    async def work(study: Study, _: Any) -> None:
        assert await study.make("cleaned", "sim/u") == {"ready": 3}
        assert {(view.text, view.method) for view in views(study).values()} == {
            ("The court sat.", "sim/u")
        }
        assert study.all(sa.select(t.Call.agent).distinct()) == ["cleaner"]


def test_losses_are_counted_by_reason_and_most_dates_found_need_no_column(
    database: str, tmp_path: Path
) -> None:
    path = corpus(tmp_path, 4)
    rows = path.read_text().splitlines()
    dated = json.loads(rows[0])
    rows.append(rows[0])
    rows.append(json.dumps({"title": "Undated", "text": f"Another. {ARTICLE}"}))
    rows.append(json.dumps(dated | {"url": "https://x.test/s", "text": "Too short."}))
    path.write_text("\n".join(rows))

    async def work() -> None:
        async with runtime_at(database, "") as runtime:
            wanted = window(path, start="2026-01-01", end="2026-12-31")
            found = evidence.preview(wanted, runtime.settings)
            assert found is not None
            said = evidence.losses(wanted, found)
            assert "drops 3 of 7 documents: " in said
            for one in ("1 duplicate url, such as", "1 undated, such as", "1 too short, such as"):
                assert one in said
            assert "fields:" not in said
            assert f"evidence show {wanted.name}" in said

    run(work())
