"""What reaches the wire of what is asked, by the shipped providers file; no request is made."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from litellm.types.utils import CallTypes
from litellm.utils import return_raw_request

from judge_gym.errors import ConfigError
from judge_gym.llm.capabilities import (
    Capability,
    Exclusive,
    check_named,
    fitted,
    retirement,
    taken_by,
    taught,
    unlisted,
    unsupported,
)
from judge_gym.llm.providers import Providers, load_providers
from judge_gym.llm.sendable import register_unlisted, sendable
from judge_gym.planted.families import served_models
from judge_gym.records.calls import Parameters, Request
from judge_gym.shipped import DEPLOYMENTS

SHIPPED = load_providers(DEPLOYMENTS / "providers.toml")
NAMES = {"topP": "top_p", "maxOutputTokens": "max_tokens", "max_output_tokens": "max_tokens",
         "random_seed": "seed", "num_predict": "max_tokens"}  # fmt: skip
ROOM = 16_384


def request(
    model: str, temperature: float, top_p: float, providers: Providers = SHIPPED
) -> Request:
    asked = Parameters(temperature, top_p, 1000, seed=7).asked()
    return fitted(model, asked, taken_by(providers, model))


def on_the_wire(model: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the sampling fields of the body that litellm would send, by our names."""
    provider, _, name = model.partition("/")
    messages = [{"role": "user", "content": "Hello?"}]
    given = {"model": f"{SHIPPED.by_name[provider].litellm or provider}/{name}", **parameters}
    raw = return_raw_request(CallTypes.completion, {**given, "messages": messages})
    assert "raw_request_body" in raw, raw
    body: dict[str, Any] = raw["raw_request_body"] or {}
    fields = {**body, **body.get("generationConfig", {}), **body.get("options", {})}
    renamed = {NAMES.get(key, key): value for key, value in fields.items()}
    return {key: renamed[key] for key in sorted(renamed) if key in
            ("temperature", "top_p", "seed", "max_tokens", "max_completion_tokens")}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "asked", "sent", "not_applied"),
    [
        # Everything is taken, and nothing left out, though it may be a default.
        ("openai/gpt-4.1", (1, 1),
         {"temperature": 1, "top_p": 1, "seed": 7, "max_tokens": 1000}, ()),
        ("local/mine", (1, 1), {"temperature": 1, "top_p": 1, "seed": 7, "max_tokens": 1000}, ()),
        ("ollama/qwen3", (0, 1), {"temperature": 0, "top_p": 1, "seed": 7, "max_tokens": 1000}, ()),
        # Of two that exclude each other the one at its documented default is left out.
        ("anthropic/claude-sonnet-4-5", (0, 1), {"temperature": 0, "max_tokens": 1000}, ("seed",)),
        ("anthropic/claude-opus-4-1", (1, 0.9), {"top_p": 0.9, "max_tokens": 1000}, ("seed",)),
        ("anthropic/claude-sonnet-4-6", (1, 1), {"temperature": 1, "max_tokens": 1000}, ("seed",)),
        # A fixed value that is asked for is applied; any other is not.
        ("anthropic/claude-opus-4-7", (1, 1), {"max_tokens": 1000}, ("seed",)),
        ("anthropic/claude-opus-4-7", (0, 1), {"max_tokens": 1000}, ("seed", "temperature")),
        ("openai/gpt-5-mini", (1, 1), {"seed": 7, "max_completion_tokens": 1000 + ROOM}, ()),
        ("openai/gpt-5-mini", (0, 0.9), {"seed": 7, "max_completion_tokens": 1000 + ROOM},
         ("temperature", "top_p")),
        ("openai/o4-mini", (0, 1), {"seed": 7, "max_completion_tokens": 1000 + ROOM},
         ("temperature",)),
        ("gemini/gemini-2.5-flash", (0, 1),
         {"temperature": 0, "top_p": 1, "seed": 7, "max_tokens": 1000 + ROOM}, ()),
        ("gemini/gemini-2.5-flash-lite", (0, 1),
         {"temperature": 0, "top_p": 1, "seed": 7, "max_tokens": 1000}, ()),
        # litellm adds Gemini 3's own default.
        ("gemini/gemini-3.6-flash", (0, 1),
         {"temperature": 1, "seed": 7, "max_tokens": 1000 + ROOM}, ("temperature", "top_p")),
        # It ignores both while it thinks.
        ("deepseek/deepseek-v4-pro", (0, 1), {"seed": 7, "max_tokens": 1000 + ROOM},
         ("temperature",)),
        ("gemini/gemini-3.6-flash", (1, 0.95),
         {"temperature": 1, "seed": 7, "max_tokens": 1000 + ROOM}, ()),
        # At temperature 0 it takes no top_p but 1; above 1 no temperature at all.
        ("mistral/mistral-large-latest", (0, 1),
         {"temperature": 0, "seed": 7, "max_tokens": 1000}, ()),
        ("mistral/mistral-large-latest", (0.5, 0.9),
         {"temperature": 0.5, "top_p": 0.9, "seed": 7, "max_tokens": 1000}, ()),
        ("mistral/mistral-large-latest", (1.5, 1), {"top_p": 1, "seed": 7, "max_tokens": 1000},
         ("temperature",)),
        ("anthropic/claude-3-7-sonnet-20250219", (1.5, 0.9), {"top_p": 0.9, "max_tokens": 1000},
         ("seed", "temperature")),
        ("mistral/magistral-medium-latest", (0, 1),
         {"temperature": 0, "seed": 7, "max_tokens": 1000 + ROOM}, ()),
        # In no list, and their vendors think.
        ("xai/grok-4", (0, 1),
         {"temperature": 0, "top_p": 1, "seed": 7, "max_tokens": 1000 + ROOM}, ()),
        ("gemini/gemini-3-pro", (0, 1),
         {"temperature": 0, "top_p": 1, "seed": 7, "max_tokens": 1000 + ROOM}, ()),
        ("openrouter/openai/gpt-5", (1, 1), {"seed": 7, "max_tokens": 1000 + ROOM}, ()),
        ("openrouter/anthropic/claude-sonnet-4.5", (0, 1),
         {"temperature": 0, "max_tokens": 1000}, ("seed",)),
    ],
)  # fmt: skip
def test_what_a_model_takes_is_sent_and_the_rest_is_named(
    model: str, asked: tuple[float, float], sent: dict[str, Any], not_applied: tuple[str, ...]
) -> None:
    made = request(model, *asked)
    assert on_the_wire(model, made.parameters) == sent
    assert made.not_applied == not_applied
    assert made.limit == max(sent.get("max_tokens", 0), sent.get("max_completion_tokens", 0))


def test_two_values_that_exclude_each_other_are_an_error_that_names_them() -> None:
    with pytest.raises(ConfigError, match=r"claude-sonnet-4-5 .*temperature 0.2 and top_p 0.9"):
        request("anthropic/claude-sonnet-4-5", 0.2, 0.9)
    # Older ones take both.
    assert "top_p" in request("anthropic/claude-3-7-sonnet-20250219", 0.2, 0.9).parameters


def test_a_greedy_request_with_another_top_p_is_an_error_that_names_both() -> None:
    with pytest.raises(ConfigError, match=r"mistral-large-latest .*temperature 0 and top_p 0.9"):
        request("mistral/mistral-large-latest", 0, 0.9)


@pytest.mark.parametrize(
    ("model", "effort", "temperature", "sent", "not_applied"),
    [
        # What is sent to a model that thinks at this effort, or does not.
        ("openai/gpt-5.1", None, 0, {"temperature": 0, "reasoning_effort": "none"}, ()),
        ("openai/gpt-5.1", "none", 0, {"temperature": 0, "reasoning_effort": "none"}, ()),
        ("openai/gpt-5.1", "low", 1, {"reasoning_effort": "low"}, ()),
        ("openai/gpt-5.1", "low", 0, {"reasoning_effort": "low"}, ("temperature",)),
        ("openai/gpt-5.5", None, 0, {}, ("temperature",)),
        ("openai/gpt-5.5", "none", 0, {"temperature": 0, "reasoning_effort": "none"}, ()),
        ("openai/gpt-5-mini", "none", 1, {}, ("reasoning_effort",)),
        ("openai/gpt-5-mini", "medium", 1, {"reasoning_effort": "medium"}, ()),
        ("openai/gpt-4.1", "none", 0, {"temperature": 0}, ()),
        ("openai/gpt-4.1", "high", 0, {"temperature": 0}, ("reasoning_effort",)),
        ("anthropic/claude-sonnet-4-5", "high", 0, {"reasoning_effort": "high"},
         ("temperature",)),
        ("deepseek/deepseek-v4-pro", "none", 0, {"temperature": 0, "reasoning_effort": "none"},
         ()),
        ("deepseek/deepseek-v4-pro", "low", 1, {}, ("reasoning_effort",)),
        ("gemini/gemini-2.5-pro", "none", 0, {"temperature": 0}, ("reasoning_effort",)),
        ("mistral/magistral-medium-latest", "high", 0, {"temperature": 0}, ()),
        ("mistral/mistral-medium-latest", "low", 0, {"temperature": 0}, ("reasoning_effort",)),
    ],
)  # fmt: skip
def test_an_effort_decides_what_else_is_taken(
    model: str, effort: str | None, temperature: float, sent: dict[str, Any],
    not_applied: tuple[str, ...],
) -> None:  # fmt: skip
    asked = {"temperature": temperature, "max_tokens": 9}
    asked |= {"reasoning_effort": effort} if effort else {}
    made = fitted(model, asked, taken_by(SHIPPED, model))
    assert {k: v for k, v in made.parameters.items() if not k.startswith("max_")} == sent
    assert made.not_applied == not_applied


@pytest.mark.parametrize(
    ("model", "effort", "room"),
    [
        ("openai/gpt-5-mini", None, ROOM),
        ("openai/gpt-5-mini", "low", ROOM),
        ("openai/gpt-5.1", None, 0),
        ("openai/gpt-5.1", "none", 0),
        ("openai/gpt-5.1", "low", ROOM),
        # litellm's budgets for these.
        ("anthropic/claude-sonnet-4-5", "low", 1024),
        ("gemini/gemini-2.5-flash", "high", 4096),
        ("gemini/gemini-2.5-flash", None, ROOM),
        ("gemini/gemini-2.5-flash", "none", 0),
        ("gemini/gemini-2.5-flash-lite", None, 0),
        ("anthropic/claude-opus-5-5", None, ROOM),
        ("mistral/mistral-large-latest", None, 0),
    ],
)  # fmt: skip
def test_the_room_for_thinking_follows_the_effort(model: str, effort: Any, room: int) -> None:
    asked = {"max_tokens": 1000} | ({"reasoning_effort": effort} if effort else {})
    assert fitted(model, asked, taken_by(SHIPPED, model)).limit == 1000 + room


def test_token_probabilities_are_asked_for_where_a_model_gives_them() -> None:
    asked = {"max_tokens": 9, "logprobs": True}
    models = ("openai/gpt-4.1", "xai/grok-4.6", "openai/gpt-5-mini", "anthropic/claude-opus-4-7")
    made = [fitted(model, asked, taken_by(SHIPPED, model)) for model in models]
    assert [one.parameters.get("top_logprobs") for one in made] == [20, 8, None, None]
    assert [one.not_applied for one in made] == [(), (), ("logprobs",), ("logprobs",)]


def test_every_value_says_its_source() -> None:
    taken = taken_by(SHIPPED, "anthropic/claude-sonnet-4-5")
    assert (taken.context, taken.sources["context"]) == (200_000, "litellm")
    assert (taken.ranges["temperature"], taken.sources["ranges"]) == ((0, 1), "file")
    learned = taught("`top_p` is deprecated for this model.", None, {"top_p": 1}, taken)
    assert (learned.refused, learned.sources["refused"]) == ({"seed", "top_p"}, "taught")
    assert learned.sources["context"] == "litellm"


def test_a_retired_model_is_named_with_its_day() -> None:
    taken = taken_by(SHIPPED, "anthropic/claude-sonnet-4-5")
    before = retirement("anthropic/claude-sonnet-4-5", taken, date(2026, 11, 29))
    after = retirement("anthropic/claude-sonnet-4-5", taken, date(2026, 11, 30))
    assert before is not None
    assert after is not None
    assert "will be retired on 2026-11-30" in before
    assert "was retired on 2026-11-30" in after
    assert retirement("openai/gpt-4.1", taken_by(SHIPPED, "openai/gpt-4.1"), date.max) is None


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("openai/gpt-5-mni", "Did you mean gpt-5-mini?"),
        ("anthropic/claude-sonet-4-5", "Did you mean claude-sonnet-4-5"),
        ("openai/zzz", "is in no list of models"),
    ],
)
def test_a_model_in_no_list_is_named_with_the_closest(model: str, hint: str) -> None:
    # litellm's list gets an entry for a name that it lacks once a request is made.
    register_unlisted(model.partition("/")[0], model.partition("/")[2])
    warning = unlisted(SHIPPED, model)
    assert warning is not None
    assert warning.startswith(model)
    assert hint in warning


@pytest.mark.parametrize("model", ["sim/clam-1", "sim-gemini/clam-1", "sim/gpt-5-mini"])
def test_a_simulated_judge_that_does_not_exist_is_an_error(model: str) -> None:
    with pytest.raises(ConfigError, match=f"{model} is no simulated judge") as found:
        check_named(SHIPPED, model)
    hint = f"Did you mean {model.replace('clam', 'calm')}? "
    assert found.value.remedy.startswith(hint) is ("clam" in model)
    for served in ("sim/calm-1", "sim-gemini/good-1", "openai/any"):
        check_named(SHIPPED, served)


@pytest.mark.parametrize(
    "model",
    ["openai/gpt-5-mini", "gemini/gemini-2.5-flash", "sim/calm-1", "sim-gemini/good-1",
     "local/judge-1", "ollama/mine", "vllm/mine", "azure/my-deployment"],
)  # fmt: skip
def test_known_models_and_names_of_the_users_own_are_not_warned_of(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_API_BASE", "https://mine.example")
    assert unlisted(SHIPPED, model) is None
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example/v1")
    assert unlisted(SHIPPED, "openai/my-own-name") is None


def test_a_users_file_corrects_the_list(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(
        "[anthropic]\ndefaults = {temperature = 1}\n"
        'models."claude-*" = {refuses = ["seed"], thinking_tokens = 500}\n'
        'models."claude-opus-9" = {refuses = ["seed", "temperature"], exclusive = ["top_p"]}\n'
    )
    mine = load_providers(file)
    assert request("anthropic/claude-sonnet-4-5", 0.2, 0.9, mine).parameters == {
        "temperature": 0.2, "top_p": 0.9, "max_tokens": 1500,
    }  # fmt: skip
    assert request("anthropic/claude-opus-9", 0, 0.9, mine).not_applied == ("seed", "temperature")
    file.write_text('[anthropic]\nmodels."x" = {refuses = ["temprature"]}\n')
    with pytest.raises(ConfigError, match=r"line 2: anthropic\.models\.x\.refuses\[0\]"):
        load_providers(file)


def test_the_limit_stays_within_what_a_model_can_write() -> None:
    taken = Capability(thinking_tokens=16_000, longest_output=8_192)
    assert fitted("m", {"max_tokens": 1000}, taken).limit == 8_192
    beyond = fitted("m", {"max_tokens": 9_000}, taken)
    assert (beyond.limit, beyond.not_applied) == (8_192, ("max_tokens",))


ASKED = {"temperature": 0, "top_p": 1, "max_tokens": 50, "seed": 7}
DEFAULTS = Capability(defaults={"temperature": 1, "top_p": 1})


@pytest.mark.parametrize(
    ("message", "named", "without", "not_applied"),
    [
        ("Unsupported value: 'temperature' does not support 0 with this model. Only the default "
         "(1) value is supported.", "temperature", {"temperature"}, ("temperature",)),
        ("`temperature` is deprecated for this model.", None, {"temperature"}, ("temperature",)),
        ("top_p: Extra inputs are not permitted", None, {"top_p"}, ()),
        ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
         None, {"top_p"}, ()),
        ('Unknown name "seed" at \'generation_config\': Cannot find field.', None, {"seed"},
         ("seed",)),
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use "
         "'max_completion_tokens' instead.", "max_tokens", {"max_tokens"}, ()),
    ],
)  # fmt: skip
def test_a_refusal_that_names_a_parameter_teaches(
    message: str, named: str | None, without: set[str], not_applied: tuple[str, ...]
) -> None:
    again = fitted("m", ASKED, taught(message, named, ASKED, DEFAULTS))
    assert ASKED.keys() - again.parameters.keys() == without
    assert again.not_applied == not_applied
    assert again.limit == 50


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
        "temperature: range: 0..1",
        "This model does not support images.",
        "An unknown error happened.",
    ],
)
def test_any_other_refusal_teaches_nothing(message: str) -> None:
    assert taught(message, None, ASKED, DEFAULTS) is DEFAULTS


def test_two_refused_together_are_exclusive_and_a_refused_limit_field_is_replaced() -> None:
    both = taught("temperature and top_p cannot both be set", None, ASKED, DEFAULTS)
    assert both.exclusive == (Exclusive(frozenset({"temperature", "top_p"})),)
    limit = taught("Unsupported parameter: 'max_tokens'", "max_tokens", ASKED, DEFAULTS)
    assert limit.limit_field == "max_completion_tokens"


@pytest.mark.parametrize(
    ("model", "asked", "axis", "values", "sentence"),
    [
        ("openai/gpt-5-mini", [{"temperature": t} for t in (0.5, 1, 0)], "temperature", (0, 0.5),
         "does not apply temperature 0, 0.5: it uses its default, 1."),
        ("mistral/mistral-large-latest", [{"temperature": 1.2}], "temperature", (1.2,),
         "does not apply temperature 1.2: it takes 0 to 1."),
        ("openai/gpt-5.1", [{"temperature": 0, "reasoning_effort": "low"}], "temperature", (0,),
         "does not apply temperature 0: it takes it only at reasoning_effort none."),
        ("openai/gpt-5-mini", [{"reasoning_effort": "none"}], "reasoning_effort", ("none",),
         "does not apply reasoning_effort none: it takes low, medium, high."),
        ("openai/gpt-4.1", [{"reasoning_effort": "low"}], "reasoning_effort", ("low",),
         "does not apply reasoning_effort low: it takes no effort."),
        ("anthropic/claude-opus-4-7", [{"logprobs": True}], "logprobs", (True,),
         "does not apply logprobs True: it gives no token probabilities."),
        ("openai/gpt-4.1", [{"max_tokens": 40_000}], "max_tokens", (40_000,),
         "does not apply max_tokens 40000: it takes at most 32768."),
        ("anthropic/claude-opus-4-7", [{"seed": 3}], "seed", (3,),
         "takes no seed: the same call may be answered differently."),
    ],
)  # fmt: skip
def test_planning_names_model_parameter_and_values(
    model: str, asked: list[dict[str, Any]], axis: str, values: tuple[Any, ...], sentence: str
) -> None:
    (found,) = unsupported(
        model, [{"max_tokens": 9, **one} for one in asked], taken_by(SHIPPED, model)
    )
    assert (found.model, found.axis, found.values) == (model, axis, values)
    assert str(found) == f"{model} {sentence}"


@pytest.mark.parametrize("model", served_models())
def test_what_a_simulated_judge_is_said_to_take_is_what_litellm_sends_it(model: str) -> None:
    taken = taken_by(SHIPPED, model)
    sends = sendable("openai", model.partition("/")[2])
    assert taken.refused == sends.refused
    assert taken.limit_field == sends.limit_field
    assert taken.logprobs == sends.logprobs


def test_a_stand_in_for_a_reasoning_model_applies_its_default_alone() -> None:
    assert request("sim/like-gpt-5.2", 1, 1).not_applied == ()
    assert request("sim/like-gpt-5.2", 0.5, 1).not_applied == ("temperature",)
    assert request("sim/calm-1", 0.5, 0.9).not_applied == ()
