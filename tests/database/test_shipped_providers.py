"""Every entry of the shipped providers file: its requests reach its API, and the answer is read."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.errors import ConfigError
from judge_gym.llm.checking import check_calls, check_model
from judge_gym.llm.gateway import Gateway
from judge_gym.llm.providers import ModelRules, Provider, Providers, load_providers
from judge_gym.records.calls import Answer, Failure, Parameters
from judge_gym.shipped import DEPLOYMENTS
from judge_gym.simulator.server import serving
from judge_gym.store.calls import request_sent
from support.rig import a_call, calls, no_rows, run

SHIPPED = load_providers(DEPLOYMENTS / "providers.toml")
MODELS = {
    "openai": ("/v1", "gpt-4.1"),
    "anthropic": ("", "claude-sonnet-4-5"),
    "gemini": ("/v1beta", "gemini-2.5-flash"),
    "xai": ("/xai/v1", "grok-4.6"),
    "mistral": ("/mistral/v1", "mistral-large-latest"),
    "deepseek": ("/deepseek", "deepseek-v4-pro"),
    "openrouter": ("/openrouter/api/v1", "anthropic/claude-opus-4.7"),
    "groq": ("/groq/openai/v1", "openai/gpt-oss-120b"),
    "azure": ("/azure", "gpt-4.1"),
    "ollama": ("/ollama", "qwen3"),
    "vllm": ("/vllm/v1", "Qwen/Qwen3-8B"),
    "local": ("/v1", "good-1"),
}
"""Provider → the path of its stand-in, and a model."""


@asynccontextmanager
async def gateway_to(
    database: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Gateway, sa.Engine]]:
    """Yield a gateway whose provider is a stand-in, placed by the variables of its entry."""
    async with serving(batch_seconds=0) as url:
        path, _ = MODELS[provider.name]
        monkeypatch.setenv(provider.base_url_env, url.removesuffix("/v1") + path)
        if provider.key_env:
            monkeypatch.setenv(provider.key_env, "sk-of-nobody-0123456789")
        engine = sa.create_engine(database)
        providers = Providers({provider.name: provider}, SHIPPED.file)
        gateway = Gateway(engine, providers, attempts=2, timeout_s=20)
        try:
            yield gateway, engine
        finally:
            await gateway.close()
            engine.dispose()


def test_every_entry_is_exercised_or_marked() -> None:
    unmarked = {name for name, provider in SHIPPED.by_name.items() if provider.exercised}
    assert {name for name in unmarked if not name.startswith("sim")} == MODELS.keys()


@pytest.mark.parametrize("name", MODELS)
def test_a_request_reaches_the_api_and_is_answered(
    database: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async def work() -> None:
        async with gateway_to(database, SHIPPED.by_name[name], monkeypatch) as (gateway, engine):
            parameters = Parameters(temperature=1, top_p=1, max_tokens=200, seed=3)
            call = a_call("k", "Hello?", model=f"{name}/{MODELS[name][1]}", parameters=parameters)
            _, outcome = await gateway.ask(call, no_rows)
            assert isinstance(outcome, Answer), outcome
            assert outcome.simulated
            assert "simulator" in outcome.text
            row = calls(engine)["k"]
            assert (row.attempts, row.errors) == (1, [])
            assert set(row.not_applied) <= {"seed"}

    run(work())


def test_ollama_is_told_the_context_of_a_model_beside_its_other_options(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its own entry or that of its pattern; other providers are sent no such field."""
    rules = {"qwen3*": ModelRules(context=16_384), "phi*": ModelRules(json_schema=False)}
    given = SHIPPED.by_name["ollama"].model_copy(update={"models": rules, "context": 4096})

    async def work() -> None:
        async with gateway_to(database, given, monkeypatch) as (gateway, _):
            for model, context in (("qwen3", 16_384), ("phi4", 4096)):
                parameters = Parameters(temperature=0.5, top_p=1, max_tokens=200, seed=3)
                call = a_call(model, "Hello?", model=f"ollama/{model}", parameters=parameters)
                _, outcome = await gateway.ask(call, no_rows)
                assert isinstance(outcome, Answer), outcome
                sent = (outcome.body or {})["options"]
                assert sent["num_ctx"] == context
                assert (sent["temperature"], sent["num_predict"]) == (0.5, 200)

    run(work())
    other = SHIPPED.by_name["vllm"].model_copy(update={"context": 4096})
    assert other.options("any") == {}


def test_openrouter_refuses_what_it_would_otherwise_drop(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that wrongly says that a model takes a temperature: no answer at another one."""
    shipped = SHIPPED.by_name["openrouter"]

    async def ask(provider: Provider) -> Answer | Failure:
        async with gateway_to(database, provider, monkeypatch) as (gateway, _):
            parameters = Parameters(temperature=0, top_p=1, max_tokens=200, seed=3)
            model = "openrouter/anthropic/claude-opus-4.7"
            call = a_call(str(provider.body), "Hello?", model=model, parameters=parameters)
            return (await gateway.ask(call, no_rows))[1]

    async def work() -> None:
        wrong = shipped.model_copy(update={"models": {}, "refuses": ()})
        refusal = await ask(wrong)
        assert isinstance(refusal, Failure)
        assert refusal.kind == "bad_request"
        assert "requested parameters" in refusal.message
        assert isinstance(await ask(wrong.model_copy(update={"body": {}})), Answer)

    run(work())


def test_a_check_says_what_was_accepted_refused_and_served(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first model is in no list: its refusals teach. The second one is known to think."""

    async def work() -> None:
        shipped = SHIPPED.by_name["openai"]
        async with gateway_to(database, shipped, monkeypatch) as (gateway, engine):
            providers = Providers({"openai": shipped}, SHIPPED.file)
            now = datetime(2026, 11, 23, tzinfo=UTC)
            unknown = check_calls(providers, "openai/gpt-99", now)
            known = check_calls(providers, "openai/gpt-5-mini", now)
            plain, _ = await check_model(gateway, unknown)
            assert isinstance(plain.outcome, Failure)
            assert plain.outcome.kind == "output_limit"
            assert plain.call_id is not None
            with Session(engine) as session:
                sent = request_sent(session, plain.call_id)
            assert sent.parameters.keys() == {"seed", "max_completion_tokens"}
            assert [name for refusal in sent.refusals for name in
                    ("max_tokens", "temperature", "top_p") if f"'{name}'" in refusal] == [
                "max_tokens", "temperature", "top_p",
            ]  # fmt: skip
            checked = await check_model(gateway, known)
            outcomes = [one.outcome for one in checked]
            assert all(isinstance(one, Answer) and one.served_model == "gpt-5-mini"
                       for one in outcomes)  # fmt: skip
            rows = calls(engine)
            assert {row.workflow for row in rows.values()} == {"models-check"}
            assert len(rows) == 4
            full = rows[known[1].key].sent_parameters
            assert (full["reasoning_effort"], full["response_format"]["type"]) == (
                "low", "json_schema",
            )  # fmt: skip

    run(work())


def test_a_check_with_a_wrong_key_ends_after_one_call(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        shipped = SHIPPED.by_name["openai"]
        async with gateway_to(database, shipped, monkeypatch) as (gateway, engine):
            monkeypatch.setenv("OPENAI_API_KEY", "wrong")
            providers = Providers({"openai": shipped}, SHIPPED.file)
            planned = check_calls(providers, "openai/gpt-4.1", datetime(2026, 11, 23, tzinfo=UTC))
            (checked,) = await check_model(gateway, planned)
            assert isinstance(checked.outcome, Failure)
            assert "OPENAI_API_KEY" in checked.outcome.message
            assert len(calls(engine)) == 1

    run(work())


def test_missing_variables_are_named_with_their_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION_NAME", raising=False)
    with pytest.raises(ConfigError, match=r"bedrock/a' needs AWS_REGION_NAME") as raised:
        SHIPPED.check({"bedrock/a"})
    assert "[bedrock]" in raised.value.remedy
    monkeypatch.setenv("AWS_REGION_NAME", "eu-central-1")
    SHIPPED.check({"bedrock/a"})


def test_a_path_replaces_that_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMEWHERE", "http://127.0.0.1:8750/v1")
    addresses = [
        Provider(name="p", base_url_env="SOMEWHERE", path=path).address()
        for path in (None, "", "v1beta", "/mistral/v1/")
    ]
    assert addresses == [
        "http://127.0.0.1:8750/v1",
        "http://127.0.0.1:8750",
        "http://127.0.0.1:8750/v1beta",
        "http://127.0.0.1:8750/mistral/v1",
    ]
    assert Provider(name="p", path="v1beta").address() == ""
