"""A model that changes texts, over real HTTP: asked once, checked, kept, never guessed."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.calibration.design import CalibrationDesign, Perturber
from judge_gym.design.plans import Budget
from judge_gym.errors import ConfigError
from judge_gym.judges import Item
from judge_gym.judges.calibrating.perturbing import found, missing, perturb
from judge_gym.judges.calibrating.texts import RewrittenText, changed_texts, rewritings
from judge_gym.planted.editing import NothingToChange, NotMade, Perturbed
from support.misbehaving import Provider, Step, answers, misbehaving, refuses
from support.rig import calls, run, runtime_at

pytestmark = pytest.mark.usefixtures("key")

TEXT = "In 2020 there were 7 ships. It rained."
CHANGED = "In some year there were some ships. It rained."
GOOD, SAME = answers(CHANGED), answers(f" {TEXT}\n")


def design(**changes: Any) -> CalibrationDesign:
    perturber = {"model": "real/m", "types": ("vague_ify",)} | changes.pop("perturber", {})
    given = {
        "name": "c", "judges": ("a.yaml",), "items": "i.jsonl", "severities": (1.0,),
        "perturbations": ("vague_ify",), "perturber": Perturber(**perturber),
    }  # fmt: skip
    return CalibrationDesign(**(given | changes))


def perturbed(
    database: str,
    script: Sequence[Step],
    texts: Sequence[str] = (TEXT,),
    *,
    asked: CalibrationDesign | None = None,
    retry_failed: bool = False,
) -> tuple[list[RewrittenText], Counter[str], Provider]:
    """Have the texts changed by a provider that answers by a script."""
    chosen = asked or design()
    wanted = rewritings([Item(id=str(n), text=one) for n, one in enumerate(texts)], chosen)

    async def work() -> tuple[list[RewrittenText], Counter[str], Provider]:
        async with (
            misbehaving(*script) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            assert chosen.perturber is not None
            with runtime.session() as session:
                units = missing(session, wanted, retry_failed=retry_failed)
            ends = await perturb(runtime, chosen.perturber, units)
            with runtime.session() as session:
                made = found(session, wanted)
            return [made[one.key] for one in wanted], ends, provider

    result: tuple[list[RewrittenText], Counter[str], Provider] = run(work())
    return result


def ledger(database: str) -> list[Any]:
    return list(calls(sa.create_engine(database, poolclass=sa.NullPool)).values())


def test_a_text_is_asked_for_once_and_kept_with_what_differs(database: str) -> None:
    (one,), ends, provider = perturbed(database, [GOOD])
    assert isinstance(one.made, Perturbed)
    assert (one.made.text, one.simulated) == (CHANGED, False)
    assert [TEXT[e.start : e.end] for e in one.made.edits] == ["2020", "7"]
    assert ends == {"changed": 1}
    (call,) = ledger(database)
    assert (call.workflow, call.agent, call.template) == ("perturbing", "perturber", "perturb")
    (request,) = provider.requests
    assert "all (100%) of the places" in request["messages"][1]["content"]

    again, ends, quiet = perturbed(database, [SAME])
    assert (again, ends, quiet.requests) == ([one], {}, [])
    # another severity, seed or model is another question
    others = [
        design(severities=(0.5,)), design(seed=1), design(perturber={"model": "sim/calm-1"})
    ]  # fmt: skip
    for other in others:
        _, ends, asked = perturbed(database, [GOOD], asked=other)
        assert (ends, len(asked.requests)) == ({"changed": 1}, 1)


def test_a_text_that_is_not_changed_is_asked_for_once_more(database: str) -> None:
    (one,), _, provider = perturbed(database, [SAME, GOOD])
    assert isinstance(one.made, Perturbed)
    assert len(provider.requests) == 2
    *before, answered, again = (m["content"] for m in provider.requests[1]["messages"])
    assert before == [m["content"] for m in provider.requests[0]["messages"]]
    assert answered.strip() == TEXT
    assert "same: the text is not changed at all" in again


def test_one_that_is_never_changed_is_not_applicable_with_the_reason(database: str) -> None:
    (one,), ends, provider = perturbed(database, [SAME])
    assert one.made == NothingToChange("same: the text is not changed at all")
    assert (ends, len(provider.requests)) == ({"unusable": 1}, 2)
    (same,), ends, quiet = perturbed(database, [GOOD], retry_failed=True)
    assert (same, ends, quiet.requests) == (one, {}, [])
    item = Item(id="0", text=TEXT)
    (wanted,) = rewritings([item], design())
    texts = changed_texts([item], design(), {wanted.key: one})
    assert texts.changed["vague_ify", 1.0] == []
    assert texts.not_applicable == {"vague_ify": 1}


def test_what_failed_is_kept_until_it_is_asked_for_again(database: str) -> None:
    (one,), ends, _ = perturbed(database, [refuses(400, "no such parameter")])
    assert one.made == NotMade("bad_request: no such parameter")
    assert ends == {"failed": 1}
    (same,), _, quiet = perturbed(database, [GOOD])
    assert (same, quiet.requests) == (one, [])
    (again,), _, _ = perturbed(database, [GOOD], retry_failed=True)
    assert isinstance(again.made, Perturbed)
    assert len(ledger(database)) == 1


def test_a_refusal_is_a_reason_and_not_asked_again(database: str) -> None:
    withheld = answers("", finish_reason="content_filter")
    (one,), ends, _ = perturbed(database, [withheld])
    assert isinstance(one.made, NothingToChange)
    assert one.made.reason.startswith("content_filter")
    assert ends == {"refused": 1}


def test_no_more_is_asked_than_the_budget_allows(database: str) -> None:
    texts = [f"There were {n} ships." for n in range(20)]
    tight = design(perturber={"budget": Budget(max_calls=8)})
    with pytest.raises(BudgetExceededError, match=r"perturber real/m .* max_calls is 8"):
        perturbed(database, [GOOD], texts, asked=tight)
    assert len(ledger(database)) == 8
    made, ends, _ = perturbed(database, [GOOD], texts, asked=design())
    assert (len(made), ends) == (20, {"changed": 12})


def test_a_model_of_no_provider_is_named_before_anything_is_asked(database: str) -> None:
    unknown = design(perturber={"model": "nobody/m"})
    with pytest.raises(ConfigError, match="no provider 'nobody'"):
        perturbed(database, [GOOD], asked=unknown)
    assert ledger(database) == []
