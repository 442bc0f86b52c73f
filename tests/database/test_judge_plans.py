"""The plan of judging items, before any call."""

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.errors import ConfigError
from judge_gym.judges import BinaryJudge
from judge_gym.judges.binary_judge import VerdictName
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.planning import plan_judging
from judge_gym.llm.providers import load_providers
from judge_gym.records.items import Item
from judge_gym.settings import Settings
from judge_gym.shipped import DEPLOYMENTS

PROVIDERS = load_providers(DEPLOYMENTS / "providers.toml")


def unapplied(database: str, model: str, temperature: float, top_p: float = 1) -> tuple[str, ...]:
    judge = BinaryJudge(
        name="j",
        model=model,
        task="Is it right?",
        verdicts=(
            VerdictName(name="right", description="It is."),
            VerdictName(name="wrong", description="No."),
        ),
        temperature=temperature,
        top_p=top_p,
    )
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
