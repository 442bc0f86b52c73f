"""Gyms on a real database: what searches find, what is asked once, and what stays a failure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.gyms.abstract import AbstractGym
from judge_gym.gyms.apply import ApplyGym, CodingContext, Strategy
from judge_gym.gyms.base import Output
from judge_gym.gyms.cleanup import CleanupCase, CleanupGym, Policy
from judge_gym.gyms.evaluating import LoadedGym, ask, items_of, lacking, made, read_report
from judge_gym.gyms.searching import full_text
from judge_gym.gyms.writing import Writer, WritingCase
from judge_gym.judges import load_judge
from judge_gym.judges.judging import judge_items
from judge_gym.llm.gateway import ProviderRefusedError
from judge_gym.llm.providers import Price
from judge_gym.report.gym import gym_report
from judge_gym.runtime import Runtime
from support.misbehaving import Provider, Step, answers, misbehaving, refuses
from support.rig import run, runtime_at
from support.simulation import Simulator

pytestmark = pytest.mark.usefixtures("key")

LEARNINGS = """
{"id": "retry", "text": "Repeat failed uploads after a pause."}
{"id": "dates", "text": "Store dates in UTC."}
{"id": "retrying", "text": "Uploads fail, and uploads that are retried fail, too."}
{"id": "odd", "text": "Quotes such as ' and & and | and \\\\ do no harm."}
"""
RERANK = """
kind: rubric
name: again
model: {0}
task: Mark how much it helps.
temperature: 0
criteria: [{{name: actionability, description: One can act on it.}}]
"""
PRICES = {"m": Price(prompt=1e5, completion=1e5)}
UPLOADS = CodingContext(id="u", file="up.py", prompt="uploads fail", task="retry uploads that fail")
ODD = CodingContext(id="o", file="a&b\\c.py", prompt="it's | odd <b>", task="quotes & harm")


def apply_gym(folder: Path, *candidates: Strategy, model: str = "sim/good-1") -> ApplyGym:
    (folder / "learnings.jsonl").write_text(LEARNINGS)
    (folder / "again.yaml").write_text(RERANK.format(model))
    return ApplyGym(
        name="a",
        corpus=folder / "contexts.jsonl",
        learnings=folder / "learnings.jsonl",
        candidates=candidates,
        judge=folder / "again.yaml",
        shown=2,
    )


def loaded(gym: Any, cases: Sequence[Any]) -> LoadedGym:
    return LoadedGym(gym, load_judge(gym.judge), cases)


def test_full_text_finds_any_word_and_ranks_the_fuller_match_first(database: str) -> None:
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    texts = ["Store dates in UTC.", "Retry now.", "Retry failed uploads; uploads fail.", "&|' \\"]
    queries = ["retrying the failed upload", "the of", "it's a&b | c\\d <x:1>", "dates & times"]
    with sa.orm.Session(engine) as session:
        # stems are compared, and words that say nothing find nothing
        assert full_text(session, queries, texts) == [[2, 1], [], [], [0]]
        assert full_text(session, ["x"], []) == [[]]
    engine.dispose()


def test_strategies_rank_the_store_and_none_stands_in_for_another(
    database: str, simulator: Simulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judge_gym.gyms.searching.EMBEDDERS", ("no_such_embedder",))
    gym = apply_gym(
        tmp_path,
        Strategy(name="full", search=("full_text",)),
        Strategy(name="hybrid", search=("full_text", "trigram")),
        Strategy(name="meaning", search=("embedding",)),
        Strategy(name="all", search=("full_text", "embedding")),
    )
    before = simulator.answered()

    async def work() -> list[list[Output]]:
        async with runtime_at(database, simulator.url) as runtime:
            return made(runtime, loaded(gym, [UPLOADS, ODD]))

    uploads, odd = run(work())
    full, hybrid, *absent = uploads
    assert {"1", "2"} == {line[0] for line in full.text.splitlines()}
    assert "Store dates" not in full.text
    assert "Repeat failed uploads" in hybrid.text
    assert [one.status for one in absent] == ["unavailable"] * 2
    assert "Quotes such as" in odd[0].text
    assert simulator.answered() == before


def test_a_ranking_is_judged_once(database: str, simulator: Simulator, tmp_path: Path) -> None:
    plain = Strategy(name="plain", search=("full_text",))
    again = Strategy(name="again", search=("full_text",), rerank=tmp_path / "again.yaml")
    gym = loaded(apply_gym(tmp_path, plain, again), [UPLOADS])

    async def work(runtime: Runtime) -> list[list[Output]]:
        outputs = made(runtime, gym)
        for name, cases in lacking(gym, outputs).items():
            await ask(runtime, gym, name, cases)
        return made(runtime, gym)

    async def twice() -> tuple[Any, int, Any, int]:
        async with runtime_at(database, simulator.url) as runtime:
            start = simulator.answered()
            first, asked = await work(runtime), simulator.answered() - start
            return first, asked, await work(runtime), simulator.answered() - start

    first, asked, second, in_all = run(twice())
    assert asked == in_all == 2
    assert first == second
    [[found, output]] = first
    assert found.text.startswith("1. Uploads fail")
    # only this one says what to do, which is what the judge looks for
    assert output.text.startswith("1. Repeat failed uploads")
    assert (found.simulated, output.simulated) == (False, True)


def test_a_ranking_rests_on_every_score(database: str, tmp_path: Path) -> None:
    again = Strategy(name="again", search=("full_text",), rerank=tmp_path / "again.yaml")
    gym = loaded(apply_gym(tmp_path, again, model="real/m"), [UPLOADS])
    good = answers('{"reason": "", "scores": {"actionability": 80}}')

    async def work() -> list[list[Output]]:
        async with (
            misbehaving(answers("Hm."), answers("Hm."), answers("Hm."), good) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            await ask(runtime, gym, "again", ["u"])
            return made(runtime, gym)

    # three answers cannot be read, so that one of the two learnings has no score
    [[output]] = run(work())
    assert output.failure == "unranked: 1 of 2 have no score"


def written(
    database: str, script: Sequence[Step], work: Any, **changes: Any
) -> tuple[Any, Provider]:
    """Run `work(runtime, gym)` on a gym whose writer a script answers, for 1 USD an answer."""
    folder = changes.pop("folder")
    (folder / "judge.yaml").write_text(RERANK.format("real/m"))
    writer = Writer(name="w", model="real/m", prompt="Say what it teaches.", **changes)
    gym = AbstractGym(
        name="x", corpus=folder / "c.jsonl", candidates=(writer,), judge=folder / "judge.yaml"
    )
    cases = [WritingCase(id="1", text="It rained."), WritingCase(id="2", text="It snowed.")]

    async def whole() -> tuple[Any, Provider]:
        async with (
            misbehaving(*script) as provider,
            runtime_at(database, provider.base_url, prices=PRICES) as runtime,
        ):
            return await work(runtime, loaded(gym, cases)), provider

    found: tuple[Any, Provider] = run(whole())
    return found


async def asked(runtime: Runtime, gym: LoadedGym, **given: Any) -> list[Output]:
    """Have written what is missing; what there is then."""
    for name, cases in lacking(gym, made(runtime, gym), **given).items():
        await ask(runtime, gym, name, cases, **given)
    return [row[0] for row in made(runtime, gym)]


def test_a_text_is_written_once_and_a_failure_stays_one_until_asked_again(
    database: str, tmp_path: Path
) -> None:
    async def work(runtime: Runtime, gym: LoadedGym) -> list[list[Output]]:
        return [
            await asked(runtime, gym),
            await asked(runtime, gym),
            await asked(runtime, gym, retry_failed=True),
        ]

    script = [answers("Take a coat."), refuses(400, "no"), answers("Take boots.")]
    (first, second, third), provider = written(database, script, work, folder=tmp_path)
    assert sorted(one.status for one in first) == ["failed", "made"]
    assert second == first
    assert [one.status for one in third] == ["made", "made"]
    assert len(provider.requests) == 3
    assert sorted(one.cost for one in first) == [0, 1]
    assert [one.cost for one in third] == [1, 1]


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (answers(""), "empty"),
        (answers("It is", finish_reason="length"), "truncated"),
        (answers("", finish_reason="content_filter"), "refused"),
    ],
)
def test_what_is_no_text_is_told_by_its_kind(
    database: str, tmp_path: Path, step: Step, status: str
) -> None:
    outputs, _ = written(database, [step], asked, folder=tmp_path)
    assert [one.status for one in outputs] == [status, status]
    assert all(one.text is None for one in outputs)


def test_a_writer_stops_at_its_budget(database: str, tmp_path: Path) -> None:
    async def twice(runtime: Runtime, gym: LoadedGym) -> None:
        await asked(runtime, gym)
        more = [*gym.cases, WritingCase(id="3", text="It hailed.")]
        await asked(runtime, LoadedGym(gym.gym, gym.judge, more))

    with pytest.raises(BudgetExceededError, match="Candidate 'w' has reached its budget"):
        written(database, [answers("Yes.")], twice, folder=tmp_path, budget={"max_calls": 2})


def test_a_refusal_of_every_call_is_not_kept_as_a_failure(database: str, tmp_path: Path) -> None:
    with pytest.raises(ProviderRefusedError):
        written(database, [refuses(401, "bad key")], asked, folder=tmp_path)
    outputs, _ = written(database, [answers("Take a coat.")], asked, folder=tmp_path)
    assert [one.text for one in outputs] == ["Take a coat."] * 2


def test_equal_decisions_are_judged_once_and_missing_ones_are_counted(
    database: str, simulator: Simulator, tmp_path: Path
) -> None:
    (tmp_path / "judge.yaml").write_text(
        "kind: binary\nname: j\nmodel: sim/good-1\ntask: Is it right?\nverdicts:\n"
        "  - {name: correct, description: It is.}\n  - {name: incorrect, description: It is not.}\n"
    )
    gym = CleanupGym(
        name="x",
        corpus=tmp_path / "c.jsonl",
        judge=tmp_path / "judge.yaml",
        candidates=(
            Policy(name="low", by="words", link_from=0.1),
            Policy(name="high", by="words", link_from=1.0),
            Policy(name="other", by="judge", judge=tmp_path / "judge.yaml"),
        ),
    )
    cases = [
        CleanupCase(id="same", learning="Retry uploads.", principle="Retry uploads.", truth="link"),
        CleanupCase(
            id="near", learning="Retry uploads.", principle="Retry downloads.", truth="create"
        ),
        CleanupCase(id="open", learning="Print legends.", principle="Retry uploads."),
    ]

    async def work() -> tuple[int, Any]:
        async with runtime_at(database, simulator.url) as runtime:
            whole = loaded(gym, cases)
            items = items_of(whole, made(runtime, whole))
            await judge_items(runtime, whole.judge, items)
            for name, some in lacking(whole, made(runtime, whole)).items():
                await ask(runtime, whole, name, some)
            return len(items), read_report(runtime, whole)

    n_items, report = run(work())
    assert n_items == 4  # both link the first and create the last, and part at the second
    low, high, other = report.means["right by label"]
    assert (low.estimate, high.estimate, high.n_items) == (50.0, 100.0, 2)
    # verdicts that are neither link nor create decide nothing
    assert report.statuses[2] == {"unusable": 3}
    assert other.n_items == 0
    apart = {(one.measure, one.candidate, one.less): one for one in report.comparisons}
    assert apart["right by label", "high", "low"].difference.estimate == 50.0
    assert apart["right by label", "high", "low"].neither == 1
    assert apart["score", "other", "low"].less_only == 3
    assert report.simulated


def test_a_page_of_what_is_there_escapes_what_others_wrote(database: str, tmp_path: Path) -> None:
    (tmp_path / "judge.yaml").write_text(RERANK.format("real/m"))
    gym = AbstractGym(
        name="x",
        corpus=tmp_path / "c.jsonl",
        judge=tmp_path / "judge.yaml",
        candidates=(Writer(name="<i>one</i>"), Writer(name="other")),
    )
    hostile = "<script>alert(1)</script>"
    cases = [WritingCase(id="<b>1</b>", text=hostile, given={"<i>one</i>": hostile})]

    async def page() -> str:
        async with runtime_at(database, "http://127.0.0.1:9") as runtime:
            report = gym_report(read_report(runtime, loaded(gym, cases)))
            return report.save(tmp_path).path.read_text(encoding="utf-8")

    written_page = run(page())
    assert written_page.count("<script") == 1
    for tag in ("<i>", "<b>"):
        assert tag not in written_page
    assert "1 not judged yet" in written_page
    assert "the corpus gives nothing by" in written_page
