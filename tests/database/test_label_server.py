"""The server of the page for labels: who is served, and what it stores."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx
import pytest

from judge_gym.judges import BinaryJudge, Item, VerdictName, read_labels
from judge_gym.judges.labelling import Draw, Labelling, serving

GATE = BinaryJudge(
    name="gate", model="sim/good-1", task="Pass or fail?",
    verdicts=(VerdictName(name="Pass", description="Fine."),
              VerdictName(name="Fail", description="Not fine.")),
)  # fmt: skip
ITEMS = tuple(Item(id=f"t{n}", text=f"text {n}") for n in range(3))


def asked(
    file: Path, path: str, body: object = None, headers: Mapping[str, str] | None = None,
    token: str | None = None, items: Sequence[Item] = ITEMS,
) -> httpx.Response:  # fmt: skip
    """What the server answers to one request."""

    async def ask() -> httpx.Response:
        labelling = Labelling(GATE, items, file, {}, Draw.RANDOM)
        async with serving(labelling, page=lambda nonce: nonce) as url, httpx.AsyncClient() as web:
            if token is not None:
                url = f"{url.rsplit('/', 2)[0]}/{token}/"
            if body is None:
                return await web.get(url + path, headers=headers)
            return await web.post(url + path, json=body, headers=headers)

    return asyncio.run(ask())


def test_only_the_page_with_its_token_is_served(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    page = asked(file, "")
    assert page.status_code == 200
    policy = page.headers["Content-Security-Policy"]
    assert f"script-src 'nonce-{page.text}'" in policy
    assert "default-src 'none'" in policy
    assert page.headers["Cache-Control"] == "no-store"
    assert asked(file, "", token="guess").status_code == 404
    assert asked(file, "next", {"annotator": "ann"}, token="guess").status_code == 404
    assert asked(file, "", headers={"Host": "evil.example"}).status_code == 403
    posted = {"annotator": "ann"}
    origin = {"Origin": "http://evil.example"}
    assert asked(file, "next", posted, headers=origin).status_code == 403
    as_form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert asked(file, "next", posted, headers=as_form).status_code == 415
    assert not file.exists()


def test_a_label_that_is_none_of_the_judges_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    first = asked(file, "next", {"annotator": "ann"}).json()["item"]
    given = {"annotator": "ann", "item": first["key"], "labels": {"": "Maybe"}}
    refused = asked(file, "label", given)
    assert refused.status_code == 422
    assert "Pass" in refused.json()["error"]["remedy"]
    assert not file.exists()
    other = next(item.key for item in ITEMS if item.key != first["key"])
    stale = asked(file, "label", given | {"item": other, "labels": {"": "Pass"}})
    assert stale.status_code == 409
    assert asked(file, "label", given | {"labels": {"": "Pass"}}).json()["done"] == 1
    assert [row.labels for row in read_labels(file).rows] == [("Pass",)]


def test_a_conversation_is_sent_as_its_messages_with_who_wrote_them(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "2 of 2, assistant\nHi"}, {"role": "assistant"}]
    chat = Item.model_validate({"id": "s", "text": messages})
    first = asked(tmp_path / "labels.jsonl", "next", {"annotator": "ann"}, items=[chat])
    assert first.json()["item"]["text"] == [
        ["1 of 2, user", "2 of 2, assistant\nHi"], ["2 of 2, assistant", ""],
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 101])
def test_a_label_has_the_name_of_a_person(tmp_path: Path, name: str) -> None:
    assert asked(tmp_path / "labels.jsonl", "next", {"annotator": name}).status_code == 422
