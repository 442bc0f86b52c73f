"""`judge-gym models`: what models accept, as lists, as one table, and checked by small calls."""

import asyncio
import json

from support.command_line import CommandLine, Ended
from support.misbehaving import answers, misbehaving


def test_lists_fit_a_terminal_and_show_agrees_with_them(command: CommandLine) -> None:
    providers = command("models", "list").fine().output
    assert "OPENAI_API_KEY" in providers
    assert "GOOGLE_APPLICATION_CREDENTIALS" in providers
    listed = command("models", "list", "anthropic/claude-opus-4-*").fine().output
    assert all(len(line.rstrip()) <= 100 for line in f"{providers}{listed}".splitlines())
    rows = command("models", "list", "anthropic/claude-opus-4-*", "--json").fine().output
    models = [row["model"] for row in json.loads(rows)]
    assert "anthropic/claude-opus-4-7" in models
    assert all(model.partition("/")[2] in listed for model in models)

    shown = json.loads(command("models", "show", "anthropic/claude-opus-4-7", "--json").output)
    assert shown["values"]["refused"] == {
        "value": ["seed", "temperature", "top_p"], "source": "litellm",
    }  # fmt: skip
    assert shown["values"]["ranges"]["source"] == "file"


def test_the_simulators_models_are_those_that_it_plays(command: CommandLine) -> None:
    for provider in ("sim", "sim-gemini"):
        rows = json.loads(command("models", "list", provider, "--json").fine().output)
        names = {row["model"].partition("/")[2] for row in rows}
        assert {"good-1", "calm-1", "high-1", "low-1", "like-gpt-4.1"} <= names
        assert not any(name.startswith(("gpt-", "ft:", "gemini-")) for name in names)
    listed = command("models", "list", "sim/like-*").fine().output
    assert "like-gpt-4.1" in listed
    assert "calm-1" not in listed


def test_unknown_providers_and_patterns_name_the_closest(command: CommandLine) -> None:
    for asked, remedy in (
        (("list", "mistrall"), "Did you mean mistral?"),
        (("list", "openai/gpt-77*"), "models show"),
        (("list", "openai/gtp-5*"), "Did you mean gpt-5?"),
        (("show", "gpt-5"), "e.g. openai/gpt-5."),
        (("show", "claude-sonnet-4-6"), "e.g. anthropic/claude-sonnet-4-6."),
        (("check", "nobody/m"), "Add a table [nobody]"),
    ):
        refused = command("models", *asked)
        assert (refused.code, remedy in refused.errors) == (2, True), refused.errors


def test_a_simulated_model_is_checked_without_confirmation(command: CommandLine) -> None:
    checked = json.loads(command("models", "check", "sim/good-1", "--json").fine().output)
    assert [(one["model"], one["failed"]) for one in checked] == [("sim/good-1", False)] * 2
    assert checked[0]["outcome"]["served_model"] == "good-1"


def test_an_answer_without_the_json_asked_for_fails_the_check(command: CommandLine) -> None:
    async def checked(text: str) -> Ended:
        async with misbehaving(answers(text)) as provider:
            return await asyncio.to_thread(
                command, "models", "check", "--yes", "local/judge-1",
                LOCAL_BASE_URL=provider.base_url,
            )  # fmt: skip

    prose = asyncio.run(checked("ready"))
    assert prose.code == 1
    assert "but answered without JSON" in prose.output
    asyncio.run(checked('{"ready": true}')).fine()


def test_a_misspelt_name_is_told_before_spending(command: CommandLine) -> None:
    refused = command("models", "check", "anthropic/claude-sonet-4-6")
    assert refused.code == 2
    assert "Did you mean claude-sonnet-4-6?" in refused.errors


def test_real_calls_need_confirmation_after_their_cost(command: CommandLine) -> None:
    refused = command("models", "check", "openai/gpt-4.1")
    assert refused.code == 2
    assert "at most 0.00107 USD" in refused.errors
    assert "--yes" in refused.errors
