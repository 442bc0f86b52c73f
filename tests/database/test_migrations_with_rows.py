"""Migrating a database that is in use: its rows stay, and each step can be undone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from sqlalchemy.orm import Session

from judge_gym.lab import judging, scoring
from judge_gym.records.calls import Answer
from judge_gym.simulator.launch import running
from judge_gym.store import migrate
from judge_gym.store.calls import outcomes_of
from support.postgres import temporary_database
from support.rig import calls, run, runtime_at
from support.study import Study, corpus, missing_by, window

pytestmark = pytest.mark.slow

STEPS = [one.revision for one in ScriptDirectory(str(migrate.MIGRATIONS)).walk_revisions()][::-1]
ROWS = """
INSERT INTO windows (key, name, query, country, max_documents, source, collected_at)
VALUES ('w', 'week', 'courts', 'Freedonia', 5, '{}', now());
INSERT INTO documents (window_id, position, key, url, canonical_url, domain, tier, tier_weight,
    title, text)
SELECT id, 0, 'd', 'u', 'u', '', 'other', 0.1, 'Courts', 'The court sat.' FROM windows;
INSERT INTO experiments (key, tag, task_type, concept, country, window_id, model, family,
    scale_size, replicates, config)
SELECT 'e', 'tag', 'ecc', 'order', 'Freedonia', id, 'real/m', 'm', 3, 1, '{}' FROM windows;
INSERT INTO items (key, window_id, bundle_size) SELECT 'i', id, 1 FROM windows;
INSERT INTO experiment_items (experiment_id, item_id, position)
SELECT e.id, i.id, 0 FROM experiments AS e, items AS i;
INSERT INTO rubrics (key, source, owner_model, owner_family, concept, country, scale_size,
    variant, status, stages)
VALUES ('r', 'generated', 'real/m', 'm', 'order', 'Freedonia', 3, 0, 'ready', '[{}, {}, {}]');
INSERT INTO arms (experiment_id, rubric_id, scale_size, arm)
SELECT e.id, r.id, 3, 'own' FROM experiments AS e, rubrics AS r;
INSERT INTO llm_calls (key, workflow, agent, provider, model, experiment_id, messages, template,
    template_hash, parameters, status, attempts, answer, cost_usd, simulated)
SELECT 'c', 'w3-scoring', 'scorer', 'real', 'real/m', id, '[]', 'score', 'h', '{}', 'succeeded',
    1, 'VERDICT: B', 0.25, false FROM experiments;
INSERT INTO samples (arm_id, item_id, replicate, scale_size, seed, letters, display_order,
    status, stages, call_id)
SELECT a.id, i.id, 0, 3, 7, 'ABC', '{1,2,3}', 'scored', 2, c.id
FROM arms AS a, items AS i, llm_calls AS c;
INSERT INTO probes (sample_id, replicate, status, probability)
SELECT id, 0, 'answered', 0.75 FROM samples;
INSERT INTO sweeps (name, description) VALUES ('s', 'as it was');
INSERT INTO sweep_experiments (sweep_id, experiment_id)
SELECT s.id, e.id FROM sweeps AS s, experiments AS e;
"""
"""Plain SQL that fits every schema from the first to 0025."""
NEWEST_ROWS = ROWS.replace(
    "sweep_experiments (sweep_id, experiment_id)\nSELECT s.id, e.id",
    "sweep_experiments (sweep_id, experiment_id, replicates)\nSELECT s.id, e.id, e.replicates",
)
"""The same rows for the newest schema."""


class Chain:
    """A database without rows that is upgraded step by step."""

    def __init__(self, server: str, url: str) -> None:
        self._server, self._url = server, url

    @contextmanager
    def at(self, revision: str) -> Iterator[str]:
        """A copy at a revision; revisions are asked for in ascending order."""
        migrate.upgrade(self._url, revision)
        with temporary_database(self._server, str(sa.make_url(self._url).database)) as copy:
            yield copy


@pytest.fixture(scope="module")
def chain(postgres_server: str) -> Iterator[Chain]:
    with temporary_database(postgres_server) as url:
        yield Chain(postgres_server, url)


@pytest.fixture
def blank(postgres_server: str) -> Iterator[str]:
    with temporary_database(postgres_server) as url:
        yield url


def execute(url: str, script: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(script, execution_options={"no_parameters": True})


def rows(url: str) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table of judge-gym."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    metadata = sa.MetaData()
    metadata.reflect(engine)
    with engine.connect() as connection:
        return {
            name: [dict(row) for row in connection.execute(sa.select(table)).mappings()]
            for name, table in metadata.tables.items()
            if name != "alembic_version"
        }


def kept(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether every value of before, table by table and row by row, is there after."""
    return all(
        len(found) == len(after[name])
        and all(old.items() <= new.items() for old, new in zip(found, after[name], strict=True))
        for name, found in before.items()
    )


@pytest.mark.parametrize("revision", STEPS)
def test_rows_of_an_older_schema_are_there_after_the_upgrade(chain: Chain, revision: str) -> None:
    with chain.at(revision) as url:
        check_upgrade(url, revision)


def check_upgrade(blank: str, revision: str) -> None:
    execute(blank, ROWS if revision <= "0025" else NEWEST_ROWS)
    before = rows(blank)
    assert sum(map(len, before.values())) == 12
    migrate.upgrade(blank)
    assert migrate.revisions(sa.create_engine(blank, poolclass=sa.NullPool))[0] == STEPS[-1]
    assert kept(before, rows(blank))
    engine = sa.create_engine(blank, poolclass=sa.NullPool)
    with Session(engine) as session:
        [answer] = outcomes_of(session, ["c"]).values()
    assert isinstance(answer, Answer)
    assert (answer.text, answer.cost_usd, answer.body, answer.chances) == (
        "VERDICT: B", 0.25, None, (),
    )  # fmt: skip
    with sa.create_engine(blank, poolclass=sa.NullPool).connect() as connection:
        [sample] = connection.exec_driver_sql(
            "SELECT sweep_name, probability FROM (SELECT s.sweep AS sweep_name, p.probability "
            "FROM analysis.sweeps AS s JOIN analysis.probes AS p USING (experiment_id)) AS x"
        ).all()
        declared = connection.exec_driver_sql(
            "SELECT b.replicates = x.replicates FROM sweep_experiments AS b "
            "JOIN experiments AS x ON x.id = b.experiment_id"
        ).all()
    assert tuple(sample) == ("s", 0.75)
    assert [tuple(row) for row in declared] == [(True,)]


@pytest.mark.slow
def test_shams_of_the_old_prompt_are_set_apart(blank: str) -> None:
    migrate.upgrade(blank, "0018")
    execute(blank, ROWS)
    execute(
        blank,
        """
        INSERT INTO rubrics (key, source, owner_model, owner_family, concept, country, scale_size,
            variant, status, stages, call_id)
        SELECT 's', 'generated', 'real/m', 'm', 'order', 'Freedonia', 3, 1, 'ready',
            '[{}, {}, {}]', id FROM llm_calls;
        INSERT INTO arms (experiment_id, rubric_id, scale_size, arm)
        SELECT e.id, r.id, 3, 'sham' FROM experiments AS e, rubrics AS r WHERE r.key = 's';
        """,
    )
    migrate.upgrade(blank)
    after = rows(blank)
    assert sorted(one["arm"] for one in after["arms"]) == ["old_sham", "own"]
    [sham] = [one for one in after["rubrics"] if one["variant"] == 1]
    [call] = after["llm_calls"]
    assert (sham["call_id"], call["template_hash"]) == (call["id"], "h")
    migrate.downgrade(blank, "0018")
    assert sorted(one["arm"] for one in rows(blank)["arms"]) == ["own", "sham"]


def test_a_planned_batch_with_a_file_may_be_at_its_provider(blank: str) -> None:
    migrate.upgrade(blank, "0030")
    execute(
        blank,
        """
        INSERT INTO llm_batches (key, provider, model, status, calls, input_file_id, created_at)
        VALUES ('a', 'sim', 'sim/m', 'planned', 1, 'file-1', '2026-11-01'),
            ('b', 'sim', 'sim/m', 'planned', 1, NULL, '2026-11-02');
        """,
    )
    migrate.upgrade(blank)
    with_file, without = sorted(rows(blank)["llm_batches"], key=lambda row: row["key"])
    assert with_file["requested_at"] == with_file["created_at"]
    assert without["requested_at"] is None


@pytest.mark.slow
def test_the_newest_step_down_and_up_leaves_the_rows(blank: str) -> None:
    migrate.upgrade(blank)
    execute(blank, NEWEST_ROWS)
    before = rows(blank)
    migrate.downgrade(blank, STEPS[-2])
    lower = rows(blank)
    assert kept(lower, before)
    migrate.upgrade(blank)
    assert kept(lower, rows(blank))
    assert rows(blank).keys() == before.keys()


@pytest.mark.slow
def test_every_step_down_and_up_again_with_rows(blank: str) -> None:
    migrate.upgrade(blank)
    execute(blank, NEWEST_ROWS)
    for lower in reversed(STEPS[:-1]):
        migrate.downgrade(blank, lower)
    first = rows(blank)
    assert len(first["probes"]) == 1
    for higher in STEPS[1:]:
        migrate.upgrade(blank, higher)
    assert kept(first, rows(blank))


@dataclass(frozen=True)
class Half:
    """A sweep of which two judgements are made."""

    url: str
    corpus: Path
    tags: list[str]
    calls: dict[str, Any]


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with running() as url:
        yield url


@pytest.fixture(scope="module")
def half(
    postgres_server: str,
    migrated_template: str,
    provider: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Half]:
    folder = tmp_path_factory.mktemp("half")

    async def judge_two(url: str) -> Half:
        async with runtime_at(url, provider) as runtime:
            study = Study(runtime, window(corpus(folder, 3)))
            experiment = study.experiment("sim/calm-1")
            tags = study.register(experiment)
            await study.collect()
            await study.write_rubrics([experiment])
            missing, _ = missing_by(runtime, scoring.plan_scoring, tags)
            await judging.judge(runtime, missing.by_model["sim/calm-1"][:2])
            return Half(url, folder, tags, calls(runtime.engine))

    with temporary_database(postgres_server, migrated_template) as url:
        yield run(judge_two(url))


@pytest.mark.parametrize("revision", STEPS)
def test_a_half_finished_sweep_of_an_older_schema_resumes(
    postgres_server: str, provider: str, half: Half, revision: str
) -> None:
    """What was answered before the migration is kept, and no call is paid for twice."""

    async def run_rest(url: str) -> tuple[int, dict[str, Any]]:
        async with runtime_at(url, provider) as runtime:
            study = Study(runtime, window(half.corpus / "corpus.jsonl"))
            ended = await study.score(half.tags)
            await study.probe(half.tags)
            return ended.total(), calls(runtime.engine)

    with temporary_database(postgres_server, str(sa.make_url(half.url).database)) as url:
        migrate.downgrade(url, revision)
        migrate.upgrade(url)
        judged, after = run(run_rest(url))
    assert judged == 3 * 2 - 2
    assert half.calls.keys() < after.keys()
    assert len(half.calls) >= 4
    for key, row in half.calls.items():
        now = after[key]
        assert (now.id, now.answer, now.finished_at) == (row.id, row.answer, row.finished_at)
    assert {row.attempts for row in after.values()} == {1}
