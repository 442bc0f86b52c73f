"""A panel over real HTTP: its events, clients that leave, and what is refused."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import sqlalchemy as sa
from pydantic import SecretStr

from judge_gym.panel import Panel, PanelState, ReviewedDocument, load_document, load_panel
from judge_gym.panel.running import run_panel
from judge_gym.panel.serving import ServerLimits, serving
from judge_gym.report.panel import panel_page
from judge_gym.runtime import Runtime
from judge_gym.shipped import DEPLOYMENTS
from judge_gym.simulator.server import serving as simulating
from judge_gym.store import tables as t
from support.misbehaving import Provider, Step, answers, misbehaving, refuses, stays_silent
from support.panel_runs import ledger, rows
from support.panels import (
    SECRET,
    a_document,
    a_panel,
    by_model,
    decides,
    review_said,
    reviews,
    statuses,
    three,
)
from support.rig import KEY_NAME, run, runtime_at

pytestmark = pytest.mark.usefixtures("key")

PANELS = DEPLOYMENTS / "panels"
TOKEN = "correct horse battery"
MARKUP = "</script><img src=x onerror=alert(1)> score 5"
Event = dict[str, Any]


@dataclass
class Served:
    """A panel that is served before a provider, and who asks it."""

    url: str
    provider: Provider
    runtime: Runtime
    session: aiohttp.ClientSession

    def post(self, document: Any = None, **options: Any) -> Any:
        """Post a document, or the body given as `data`."""
        if "data" not in options:
            options["json"] = an_input(document or a_document())
        else:
            options["headers"] = {"Content-Type": "application/json"} | options.get("headers", {})
        return self.session.post(f"{self.url}/agui", **options)

    async def events(self, document: Any = None) -> list[Event]:
        async with self.post(document) as response:
            assert response.status == 200, await response.text()
            assert response.content_type == "text/event-stream"
            return [event async for event in events_of(response)]

    async def asked(self, number: int) -> None:
        """Wait until the provider was asked so often."""
        async with asyncio.timeout(30):
            while len(self.provider.requests) < number:
                await asyncio.sleep(0.01)


def an_input(document: Any) -> Event:
    given = document.model_dump(mode="json") if isinstance(document, ReviewedDocument) else document
    return {
        "threadId": "thread",
        "runId": "run",
        "messages": [],
        "tools": [],
        "context": [],
        "forwardedProps": {"document": given},
    }


async def events_of(response: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    async for line in response.content:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


def states_of(events: Sequence[Event]) -> list[PanelState]:
    snapshots = [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"]
    return [PanelState.model_validate(snapshot) for snapshot in snapshots]


@asynccontextmanager
async def served(
    database: str,
    step: Step,
    panel: Panel | None = None,
    token: str | None = None,
    **limits: Any,
) -> AsyncIterator[Served]:
    secret = None if token is None else SecretStr(token)
    asked = panel or a_panel()
    page = partial(panel_page, asked, [], asks_token=secret is not None)
    async with (
        misbehaving(step) as provider,
        runtime_at(database, provider.base_url) as runtime,
        aiohttp.ClientSession() as session,
        serving(runtime, asked, page=page, token=secret, limits=ServerLimits(**limits)) as url,
    ):
        yield Served(url, provider, runtime, session)


def good(**changes: Step) -> Step:
    return by_model(**{**three(2, 4, 3), "arbiter": decides(3)} | changes)


def test_events_are_the_states_that_the_run_emits(database: str) -> None:
    async def work() -> None:
        async with served(database, good()) as at:
            first, again = await at.events(), await at.events()
            emitted: list[PanelState] = []
            # what is kept is shown alike, so that the same states come once more
            await run_panel(at.runtime, a_panel(), a_document(), emit=emitted.append)
        assert [one["type"] for one in first] == [
            "RUN_STARTED",
            *["STATE_SNAPSHOT"] * 9,
            "RUN_FINISHED",
        ]
        assert (first[0]["threadId"], first[-1]["runId"]) == ("thread", "run")
        assert first[-1]["outcome"] == {"type": "success"}
        assert [state.sequence for state in states_of(first)] == list(range(9))
        assert states_of(first)[-1].phase == "done"
        assert states_of(again) == emitted

    run(work())


def test_the_sample_before_simulated_raters(database: str) -> None:
    async def work() -> PanelState:
        async with (
            simulating() as provider,
            runtime_at(database, provider) as runtime,
            aiohttp.ClientSession() as session,
            serving(runtime, load_panel(PANELS / "proposal.yaml"), page=str) as url,
        ):
            at = Served(url, Provider(""), runtime, session)
            return states_of(await at.events(load_document(PANELS / "library.yaml")))[-1]

    state = run(work())
    assert (state.phase, state.simulated) == ("done", True)
    assert state.items == ("trial", "counting", "families", "heating", "report")


def test_a_run_without_consensus_ends_with_an_error(database: str) -> None:
    async def work() -> list[Event]:
        gone = refuses(404, "no such model")
        async with served(database, good(a=gone, b=gone)) as at:
            return await at.events()

    *_, last, end = run(work())
    assert last["snapshot"]["phase"] == "error"
    assert end["type"] == "RUN_ERROR"
    assert "1 of 3 raters gave a review" in end["message"]
    assert "only failed calls are made again" in end["message"]


def test_a_refused_model_is_asked_again_by_the_next_run(database: str) -> None:
    async def work() -> list[PanelState]:
        mended = by_model(
            a=(refuses(401, "no such key"), reviews(2)),
            b=reviews(4),
            c=reviews(3),
            arbiter=decides(3),
        )
        async with served(database, mended) as at:
            return [states_of(await at.events())[-1] for _ in range(2)]

    first, second = run(work())
    assert [state.phase for state in (first, second)] == ["done", "done"]
    assert "refuses real/a" in (first.raters[0].error or "")
    assert statuses(second) == ["done", "done", "done"]


def test_what_keeps_a_panel_from_being_asked_is_an_error_event(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_NAME)

    async def work() -> list[Event]:
        async with served(database, good()) as at:
            return await at.events()

    started, end = run(work())
    assert started["type"] == "RUN_STARTED"
    assert (end["type"], end["code"]) == ("RUN_ERROR", "ConfigError")
    assert KEY_NAME in end["message"]


@pytest.mark.parametrize("leaving", ["client", "server"])
def test_whoever_leaves_cancels_the_run_and_its_rows_say_so(database: str, leaving: str) -> None:
    async def work() -> list[Event]:
        events: list[Event] = []
        async with aiohttp.ClientSession() as session:
            async with served(database, good(b=stays_silent)) as at:
                response = await session.post(f"{at.url}/agui", json=an_input(a_document()))
                await at.asked(2)
                if leaving == "client":
                    response.close()
                    async with asyncio.timeout(30):
                        while not rows(database, t.PanelConsensus):
                            await asyncio.sleep(0.02)
            if leaving == "server":
                events = [event async for event in events_of(response)]
        return events

    events = run(work())
    if leaving == "server":
        assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "Cancelled")
    reviews = [(row.rater, row.status) for row in rows(database, t.PanelReview)]
    assert reviews == [("rater_a", "done"), ("rater_b", "cancelled")]
    assert [row.status for row in rows(database, t.PanelConsensus)] == ["cancelled"]


def test_two_runs_at_once_do_not_meet(database: str) -> None:
    async def work() -> list[list[Event]]:
        async with served(database, good()) as at:
            other = a_document(text=MARKUP)
            return list(await asyncio.gather(at.events(), at.events(other)))

    for events in run(work()):
        assert [state.sequence for state in states_of(events)] == list(range(9))
        assert events[-1]["type"] == "RUN_FINISHED"


def test_markup_comes_through_as_it_is(database: str) -> None:
    said = review_said(2).replace("Fair.", json.dumps(MARKUP)[1:-1])
    document = a_document(text=MARKUP).model_copy(update={"title": MARKUP})

    async def work() -> PanelState:
        async with served(database, good(a=answers(said))) as at:
            return states_of(await at.events(document))[-1]

    review = run(work()).raters[0].review
    assert review is not None
    assert [item.comment for item in review.items] == [MARKUP, MARKUP]


async def refused(response: Any, status: int) -> str:
    """What a refusal says, and what to do about it."""
    async with response as got:
        assert got.status == status
        error = (await got.json())["error"]
        assert error["remedy"]
        return f"{error['message']} {error['remedy']}"


def test_what_does_not_fit_is_refused_and_costs_nothing(database: str) -> None:
    hidden = {"id": "x", "title": "T", "items": [{"id": SECRET, "text": "x"}]}

    async def work() -> None:
        async with served(database, good(), body_bytes=2000) as at:
            assert "longer than 2000 bytes" in await refused(at.post(data=b"x" * 2001), 413)
            assert "Invalid JSON" in await refused(at.post(data=b"[["), 400)
            assert "threadId" in await refused(at.post(data=b"{}"), 400)
            assert "no document" in await refused(at.post(data=json.dumps(an_input(None))), 400)
            said = await refused(at.post(hidden), 400)
            assert "document.items.0.id: an id is 1 to 60 letters" in said
            assert SECRET not in said
            assert "/agui" in await refused(at.session.get(f"{at.url}/other"), 404)
            assert "POST" in await refused(at.session.get(f"{at.url}/agui"), 405)
            assert at.provider.requests == []

    run(work())


def test_other_sites_and_other_names_are_refused(database: str) -> None:
    async def work() -> None:
        async with served(database, good()) as at:
            for headers, status, said in (
                ({"Host": "rebound.example"}, 403, "by its IP address"),
                ({"Host": "[no name"}, 403, "by its IP address"),
                ({"Origin": "http://rebound.example"}, 403, "other sites"),
                ({"Origin": "null"}, 403, "other sites"),
                ({"Content-Type": "text/plain"}, 415, "application/json"),
            ):
                assert said in await refused(at.post(data=b"{}", headers=headers), status)
            assert at.provider.requests == []
            async with at.session.get(at.url, headers={"Host": "localhost:1"}) as page:
                assert page.status == 200
            async with at.post(headers={"Origin": at.url}) as own:
                assert own.status == 200
                await own.read()

    run(work())


def test_a_token_is_asked_for_where_there_is_one(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with served(database, good(), token=TOKEN) as at:
            for given in (None, "Bearer", f"Bearer {TOKEN}x", TOKEN, "Bearer \u00e9"):
                headers = {} if given is None else {"Authorization": given}
                assert "token" in await refused(at.post(headers=headers), 401)
            assert at.provider.requests == []
            async with at.post(headers={"Authorization": f"Bearer {TOKEN}"}) as response:
                assert [event async for event in events_of(response)][-1]["type"] == "RUN_FINISHED"
            async with at.session.get(at.url) as page:
                text = await page.text()
            assert 'id="token"' in text
            assert TOKEN not in text

    with caplog.at_level(logging.DEBUG):
        run(work())
    assert TOKEN not in caplog.text


def test_health_is_answered_without_the_token_and_tells_nothing_else(database: str) -> None:
    async def checking() -> None:
        async with (
            served(database, good(), token=TOKEN) as at,
            at.session.get(f"{at.url}/health") as response,
        ):
            assert response.status == 200
            assert await response.json() == {"status": "ok"}
            assert at.provider.requests == []

    run(checking())


def test_a_proxy_is_known_by_its_name_and_names_who_asks(database: str) -> None:
    name = "panel.example.org"

    async def work() -> None:
        async with served(database, good(), allowed_hosts=(name,)) as at:
            through = {"Host": name, "Origin": f"https://{name}"}
            async with at.post(headers=through) as answered:
                assert answered.status == 200
                await answered.read()
            other = {"Host": name, "Origin": "https://rebound.example"}
            assert "other sites" in await refused(at.post(headers=other), 403)
            assert "--allowed-host" in await refused(at.post(headers={"Host": "x.org"}), 403)
        async with served(database, good(), requests_a_minute=1, behind_proxy=True) as at:
            for forwarded, status in (
                ("9.9.9.9, 10.0.0.1", 200),
                ("10.0.0.2", 200),
                ("10.0.0.3, 10.0.0.1", 429),
            ):
                headers = {"X-Forwarded-For": forwarded}
                async with at.session.get(at.url, headers=headers) as page:
                    assert page.status == status
        async with served(database, good(), requests_a_minute=1) as at:
            for forwarded, status in (("10.0.0.1", 200), ("10.0.0.2", 429)):
                headers = {"X-Forwarded-For": forwarded}
                async with at.session.get(at.url, headers=headers) as page:
                    assert page.status == status

    run(work())


def test_too_many_requests_and_too_many_runs_wait(database: str) -> None:
    async def work() -> None:
        async with served(database, good(a=stays_silent), runs_at_once=1) as at, at.post():
            await at.asked(1)
            said = await refused(at.post(a_document(text="Other.")), 429)
            assert "1 run in progress" in said
        async with served(database, good(), requests_a_minute=2) as at:
            for _ in range(2):
                async with at.session.get(at.url) as page:
                    assert page.status == 200
            async with at.session.get(at.url) as page:
                assert page.status == 429
                assert 0 < int(page.headers["Retry-After"]) <= 60

    run(work())


def test_a_place_is_free_again_when_a_run_has_ended(database: str) -> None:
    async def work() -> None:
        async with served(database, good(), runs_at_once=1) as at:
            for _ in range(2):
                assert (await at.events())[-1]["type"] == "RUN_FINISHED"

    run(work())


def test_the_page_runs_its_own_script_only_and_loads_nothing(database: str) -> None:
    async def work() -> tuple[str, str, str]:
        policy = "Content-Security-Policy"
        async with (
            served(database, good()) as at,
            at.session.get(at.url) as first,
            at.session.get(at.url) as second,
        ):
            return await first.text(), first.headers[policy], second.headers[policy]

    page, policy, another = run(work())
    assert policy != another  # a nonce is used once
    nonce = policy.partition("'nonce-")[2].partition("'")[0]
    assert page.count("<script ") == page.count(f'nonce="{nonce}">') - 1  # the style has it, too
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in page


def test_an_unexpected_error_is_named_without_the_documents_text(
    database: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    lost = sa.create_engine(f"sqlite:///{tmp_path}/empty")

    async def work() -> list[Event]:
        async with (
            misbehaving(good()) as provider,
            runtime_at(database, provider.base_url) as runtime,
            aiohttp.ClientSession() as session,
            serving(replace(runtime, engine=lost), a_panel(), page=str) as url,
        ):
            return await Served(url, provider, runtime, session).events()

    with caplog.at_level(logging.DEBUG, logger="judge_gym"):
        *_, end = run(work())
    assert (end["type"], end["code"]) == ("RUN_ERROR", "Unexpected")
    assert "Unexpected OperationalError at " in caplog.text
    assert SECRET not in caplog.text
    assert SECRET not in str(end)
    assert ledger(database) == []
