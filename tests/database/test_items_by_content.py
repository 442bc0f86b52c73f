"""Judgements stored when an item was its file, name and variant too: they stay in use."""

import json
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from judge_gym.judges import Criterion, Item, RubricJudge
from judge_gym.judges.judging import judge_items
from judge_gym.seeds import digest
from judge_gym.store import migrate
from judge_gym.store.judges import save_judge
from support.judge_runs import ITEMS
from support.misbehaving import answers, misbehaving
from support.postgres import temporary_database
from support.rig import KEY, KEY_NAME, run, runtime_at

JUDGE = RubricJudge(
    name="notes",
    model="real/m",
    task="Mark the note.",
    criteria=(Criterion(name="clarity", description="It is clear."),),
)
OLD = "0019"
ODD = Item(id="odd", text='"Zoë"\\\n\t\x01 \x7f\u2028 😀 </b>', second="b", context="c\r\nd")
"""A text in which every character that JSON writes its own way stands."""
ITEM = """
INSERT INTO judge_items (key, corpus, name, perturbation, severity, seed, text, second, context)
VALUES (:key, :corpus, :name, :perturbation, :severity, :seed, :text, :second, :context)
RETURNING id
"""
RESULT = """
INSERT INTO judge_results (judge_id, item_id, repeat, status, score, subscores, reason, failure,
    call_ids)
VALUES (:judge, :item, :repeat, :status, :score, '{}', :reason, :failure, '{}')
"""


@pytest.fixture
def blank(postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv(KEY_NAME, KEY)
    with temporary_database(postgres_server) as url:
        yield url


class Stored:
    """A database of the old form, to be filled with items and judgements of `JUDGE`."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        with sa.orm.Session(connection) as session:
            self.judge = save_judge(session, JUDGE.record)
            session.flush()
            session.commit()

    def item(self, item: Item, corpus: str, *, severity: float | None = None) -> int:
        variant = None
        if severity is not None:
            variant = {"perturbation": "tone", "severity": severity, "seed": 7}
        texts = {"text": item.text, "second": item.second, "context": item.context}
        row = {
            "key": digest("judge item", corpus, item.id, variant, *texts.values()),
            "corpus": corpus,
            "name": item.id,
            "perturbation": "" if variant is None else "tone",
            "severity": severity,
            "seed": None if variant is None else 7,
        }
        return int(self._connection.execute(sa.text(ITEM), row | texts).scalar_one())

    def judged(self, item: int, repeat: int, reason: str, *, failed: bool = False) -> None:
        row = {
            "judge": self.judge,
            "item": item,
            "repeat": repeat,
            "status": "failed" if failed else "scored",
            "score": None if failed else 50.0,
            "failure": "timeout: late" if failed else None,
            "reason": reason,
        }
        self._connection.execute(sa.text(RESULT), row)


def test_stored_judgements_of_all_files_stay_in_use(blank: str) -> None:
    migrate.upgrade(blank, OLD)
    engine = sa.create_engine(blank, poolclass=sa.NullPool)
    with engine.connect() as connection:
        stored = Stored(connection)
        # One text in two versions of a file, a label changed in between; and as a variant.
        first, second = stored.item(ITEMS[0], "a" * 64), stored.item(ITEMS[0], "b" * 64)
        variant = stored.item(ITEMS[0], "a" * 64, severity=0.5)
        unused = stored.item(ITEMS[1], "a" * 64)
        copy = stored.item(ITEMS[1], "b" * 64)
        odd = stored.item(ODD, "a" * 64)
        stored.judged(first, 0, "failed first", failed=True)
        stored.judged(second, 0, "second file")
        stored.judged(second, 1, "its repeat")
        stored.judged(variant, 0, "as a variant")
        stored.judged(copy, 0, "of the copy")
        stored.judged(odd, 0, "odd")
        connection.commit()

    migrate.upgrade(blank)

    asked = [ITEMS[0].model_copy(update={"truth": 4.0}), ITEMS[1]]

    async def work() -> tuple[list[str], int, list[str]]:
        script = answers(json.dumps({"reason": "new", "scores": {"clarity": 1}}))
        async with (
            misbehaving(script) as provider,
            runtime_at(blank, provider.base_url) as runtime,
        ):
            known = await judge_items(runtime, JUDGE, asked)
            before = len(provider.requests)
            again = await judge_items(runtime, JUDGE, asked[:1], repeats=3)
            return [one.reason for one in known], before, [one.reason for one in again]

    known, requests, again = run(work())
    assert (known, requests) == (["second file", "of the copy"], 0)
    # the first that did not fail
    assert known == ["second file", "of the copy"]
    assert again == ["second file", "its repeat", "new"]
    with engine.connect() as connection:
        kept = {
            key: sorted(given)
            for key, given in connection.execute(sa.text(
                "SELECT i.key, array_agg(r.reason) FROM judge_results AS r "
                "JOIN judge_items AS i ON i.id = r.item_id GROUP BY i.key"
            ))
        }  # fmt: skip
        items = set(connection.execute(sa.text("SELECT id FROM judge_items")).scalars())
    assert kept[ODD.key] == ["odd"]
    assert kept[ITEMS[0].key] == ["its repeat", "new", "second file"]
    # What another judgement of the same text came to is kept with the copy.
    reasons = [reason for some in kept.values() for reason in some]
    assert reasons.count("as a variant") == reasons.count("failed first") == 1
    assert items == {first, second, variant, unused, odd}
