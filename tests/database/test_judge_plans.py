"""The plan of judging items, before any call."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.plans import Budget
from judge_gym.errors import ConfigError
from judge_gym.judges import BinaryJudge, HttpJudge, Judge, Scale
from judge_gym.judges.binary_judge import VerdictName
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.planning import judging_warnings, plan_judging
from judge_gym.llm.keys import refusals
from judge_gym.llm.providers import load_providers
from judge_gym.records.items import Item
from judge_gym.settings import Settings
from judge_gym.shipped import DEPLOYMENTS

PROVIDERS = load_providers(DEPLOYMENTS / "providers.toml")


def binary(model: str, **given: Any) -> BinaryJudge:
    return BinaryJudge(
        name="j",
        model=model,
        task="Is it right?",
        verdicts=(
            VerdictName(name="right", description="It is."),
            VerdictName(name="wrong", description="No."),
        ),
        **given,
    )


def unapplied(database: str, model: str, temperature: float, top_p: float = 1) -> tuple[str, ...]:
    judge = binary(model, temperature=temperature, top_p=top_p)
    asked = Asked(judge, (Item(id="a", text="A text."),), 1)
    with Session(sa.create_engine(database, poolclass=sa.NullPool)) as session:
        [plan] = plan_judging(session, PROVIDERS, Settings(), [asked])
    return plan.unapplied


def test_a_plan_names_the_parameters_that_a_judge_will_not_apply(database: str) -> None:
    assert unapplied(database, "openai/gpt-5-mini", 1) == ()
    assert unapplied(database, "openai/gpt-5-mini", 0) == (
        "openai/gpt-5-mini does not apply temperature 0: it uses its default, 1.",
    )
    with pytest.raises(ConfigError, match="takes only one of temperature and top_p"):
        unapplied(database, "anthropic/claude-sonnet-4-5", 0, 0.9)


HTTP = HttpJudge(
    name="h", url="http://127.0.0.1:9/", scale=Scale(lowest=0, highest=1), key_env="OWN_KEY"
)


@pytest.mark.parametrize(
    ("judge", "environment", "named"),
    [
        (binary("openai/gpt-4.1"), {"OPENAI_API_KEY": "sk-1"}, []),
        (binary("openai/gpt-4.1"), {"OPENAI_API_KEY": ""}, ["OPENAI_API_KEY"]),
        (binary("openai/gpt-4.1"), {"OPENAI_API_KEY": "sk-1\n"}, ["a line end"]),
        (binary("openai/own-9", budget=Budget(max_cost_usd=1)), {"OPENAI_API_KEY": "sk-1"},
         ["price of openai/own-9"]),
        (binary("openai/own-9", budget=Budget(max_calls=1)), {"OPENAI_API_KEY": "sk-1"},
         ["will stop before the end"]),
        (binary("sim/calm-1", budget=Budget(max_cost_usd=1)), {"JUDGE_GYM_SIMULATOR_URL": ""}, []),
        (HTTP, {"OWN_KEY": ""}, ["OWN_KEY"]),
        (HTTP, {"OWN_KEY": "token"}, []),
    ],
)  # fmt: skip
def test_a_plan_names_what_keeps_a_run_from_its_calls(
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    judge: Judge,
    environment: Mapping[str, str],
    named: Sequence[str],
) -> None:
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    items = tuple(Item(id=name, text=f"Text {name}.") for name in "ab")
    with Session(sa.create_engine(database, poolclass=sa.NullPool)) as session:
        # Twice: each is said once.
        plans = 2 * plan_judging(session, PROVIDERS, Settings(), [Asked(judge, items, 1)])
        warnings = judging_warnings(session, PROVIDERS, plans)
        done = [replace(plan, calls=0) for plan in plans]
        assert judging_warnings(session, PROVIDERS, done) == []
    assert len(warnings) == len(named)
    assert all(part in warning for part, warning in zip(named, warnings, strict=True))


def test_a_plan_names_an_address_that_a_run_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    [provider] = [one for one in PROVIDERS.by_name.values() if one.variables][:1]
    for variable in provider.variables:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(provider.key_env, "key")
    [refusal] = refusals(PROVIDERS, {f"{provider.name}/m", "sim/calm-1"})
    assert provider.variables[0] in refusal
