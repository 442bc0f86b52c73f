"""The example automation that calls a webhook, as Prefect's server does it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from flows.judge_review import judge_review
from support.alerting import posting
from support.command_line import REPOSITORY
from support.flow_runs import run_scheduled
from support.receiver import Receiver
from support.waiting import until_or_not

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("place")]
EXAMPLE = REPOSITORY / "deployments" / "automations" / "webhook.yaml"
FUNCTION = """
from pathlib import Path


def graded(asked):
    return 5 * len(asked["text"].split()) + 10 * Path("shift").exists() + int(asked["id"]) % 2
"""
REVIEW = """
name: hooked
time_zone: UTC
reviews: [{judge: hooked.yaml, items: items.jsonl, decision: chosen for its price}]
"""
SECRET_TEXT = "harbour"


@pytest.fixture
def hook() -> Iterator[Receiver]:
    """A receiver, and the example automation that posts to it."""

    with posting([YAML(typ="safe").load(EXAMPLE)]) as kept:
        yield kept


def test_a_judge_that_drifts_is_posted_to_the_webhook(hook: Receiver, tmp_path: Path) -> None:
    module = f"hooked_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(FUNCTION)
    judge = f"kind: callable\nname: hooked\nfunction: {module}:graded\n"
    (tmp_path / "hooked.yaml").write_text(judge)
    texts = [{"id": str(n), "text": f"{SECRET_TEXT} " * (1 + n % 7) + str(n)} for n in range(12)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, texts)))
    file = tmp_path / "review.yaml"
    file.write_text(REVIEW)
    run_scheduled(judge_review, "2026-01-10T03:00:00+00:00", file=str(file))
    (tmp_path / "shift").touch()

    def mine() -> dict[str, Any]:
        return {one["event"]: one for one in hook.posted if one["about"] == "hooked"}

    # Prefect calls a webhook once: a call that breaks off is lost, and the next day tells it again.
    days = iter([f"2026-01-{day}" for day in range(11, 16)])
    wanted = {"judge-gym.judge.drifted", "judge-gym.judge.reconsider"}
    while not wanted <= mine().keys():
        day = next(days, None)
        assert day, f"{wanted - mine().keys()} never came; refused: {hook.refused}"
        for _ in range(2):  # the second has nothing left to judge, and the same to say
            run_scheduled(judge_review, f"{day}T03:00:00+00:00", file=str(file))
        until_or_not(lambda: wanted <= mine().keys(), seconds=60.0)
    told = mine()["judge-gym.judge.drifted"]["payload"]
    assert told.pop("message").startswith("It no longer judges as on 2026-01-10: 10 points")
    assert told.pop("day") >= "2026-01-11"
    assert told == {"review": "hooked", "judge": "hooked", "simulated": False}
    assert mine()["judge-gym.judge.reconsider"]["payload"]["alternative"] is None
    assert SECRET_TEXT not in json.dumps(hook.posted)
