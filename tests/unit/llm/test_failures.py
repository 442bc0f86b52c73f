"""What single responses with an error mean, and which of their parts are kept."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from judge_gym.llm.failures import failure_of


def inside(**error: Any) -> str:
    return json.dumps({"error": error})


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        # A parameter that is deprecated is not a model that is.
        (400, inside(message="`temperature` is deprecated for this model."), "bad_request"),
        (400, inside(message="gone", code="model_decommissioned"), "retired"),
        (404, inside(message="The model `gpt-3` has been deprecated."), "retired"),
        (404, inside(message="The model `gpt-9` does not exist"), "not_found"),
        # OpenAI's code for it is the one of a model that does not exist.
        (403, inside(message="No access to model x", code="model_not_found"), "no_access"),
        (413, inside(message="Request exceeds the maximum size"), "context_too_long"),
        # Quotas of a minute pass, and Google's words for them are OpenAI's for an empty account.
        (429, inside(message="You exceeded your current quota", status="RESOURCE_EXHAUSTED"),
         "rate_limit"),
        (429, inside(message="You exceeded your current quota", type="insufficient_quota"),
         "quota"),
        (404, inside(message="No endpoints found that can handle the requested parameters."),
         "bad_request"),
        (404, inside(message="No endpoints found matching your data policy."), "no_access"),
        (404, inside(message="No endpoints found for a/b."), "not_found"),
        (200, inside(message="Overloaded", type="overloaded_error"), "server"),
        (200, inside(message="slower", code=429), "rate_limit"),
        (404, "<!DOCTYPE html><html>Nothing here</html>", "unreachable"),
        (429, "<html>Too many requests</html>", "rate_limit"),
        (400, "", "bad_request"),
    ],
)  # fmt: skip
def test_the_kind_of_a_failure(status: int, body: str, kind: str) -> None:
    assert failure_of(status, body, {}, None).kind == kind


@pytest.mark.parametrize(
    ("body", "words", "parameter"),
    [
        (inside(message="No seed", param="seed"), "No seed", "seed"),
        ({"object": "error", "message": "No seed", "param": "random_seed"}, "No seed",
         "random_seed"),
        ({"detail": [{"loc": ["body", "temperature"], "msg": "at most 1"}]},
         "temperature: at most 1", "temperature"),
        (inside(message="No", details=[{"fieldViolations": [{"field": "config.top_p"}]}]), "No",
         "top_p"),
        ({"code": "invalid-argument", "error": "No stop."}, "No stop.", None),
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "Bad"}}, "Bad",
         None),
        (inside(message="Provider returned error",
                metadata={"raw": inside(message="No seed"), "provider_name": "P"}),
         "Provider returned error: No seed", None),
        ("no JSON at all", "no JSON at all", None),
        ("", "status 400 without a word", None),
    ],
)  # fmt: skip
def test_the_providers_words_and_the_parameter_that_it_names(
    body: Any, words: str, parameter: str | None
) -> None:
    failure = failure_of(400, body, {}, None)
    assert (str(failure), failure.parameter) == (words, parameter)


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7", "x-ratelimit-remaining-requests": "0",
          "x-ratelimit-reset-requests": "1m"}, 7),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0.5s"}, 360.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}, 0.02),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1h2m"}, 3720),
        # That limit is not used up.
        ({"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "20s"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "soon"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1.2.3s"}, None),
    ],
)  # fmt: skip
def test_the_wait_until_a_limit_is_reset(headers: dict[str, str], seconds: float | None) -> None:
    assert failure_of(429, inside(message="slow"), headers, None).retry_after == seconds


def test_the_wait_until_the_moment_of_the_used_up_limit() -> None:
    headers = {
        "anthropic-ratelimit-input-tokens-remaining": "0",
        "anthropic-ratelimit-input-tokens-reset": in_seconds(4000),
        "anthropic-ratelimit-requests-remaining": "9",
        "anthropic-ratelimit-requests-reset": in_seconds(9000),
    }
    wait = failure_of(429, inside(message="slow"), headers, None).retry_after
    # Some of it has passed, less than half an hour.
    assert wait is not None
    assert 2200 < wait <= 4000


def test_googles_delay_and_a_key_that_is_repeated() -> None:
    info = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"}]
    body = inside(message="Slow, sk-1 of sk-1", status="RESOURCE_EXHAUSTED", details=info)
    failure = failure_of(429, body, {}, "sk-1")
    assert (failure.retry_after, str(failure)) == (3.5, "Slow, [key] of [key]")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, {"code": "billing_hard_limit_reached", "message": "Limit reached"}),
        (400, {"code": None, "message": "Billing hard limit has been reached"}),
        (429, {"message": "Your account is not active, please check your billing details."}),
        (401, {"type": "insufficient_quota", "message": "You exceeded your current quota"}),
        (403, {"code": "insufficient_user_quota", "message": "No quota left for this user"}),
        (400, {"code": "Arrearage", "message": "Access denied, account is not in good standing."}),
        (429, {"status": "RESOURCE_EXHAUSTED", "message": "You exceeded your quota", "details": [
            {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
            {"retryDelay": "20s"}]}),
    ],
)  # fmt: skip
def test_an_account_without_money_is_a_quota_in_every_vendors_words(
    status: int, error: dict[str, Any]
) -> None:
    assert failure_of(status, {"error": error}, {}, None).kind == "quota"


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after-ms": "4000"}, "", 4.0),
        ({"x-ms-retry-after-ms": "1500", "retry-after": "2"}, "", 1.5),
        ({"retry-after": "3.493"}, "", 3.493),
        ({"retry-after": "1m30s"}, "", 90.0),
        ({"retry-after": "-5"}, "", 0.0),
        ({}, "Rate limit reached. Please try again in 6m0s. Visit the page.", 360.0),
        ({}, "Please try again in 1.2s.", 1.2),
        ({}, "Requests exceeded; please retry after 24 seconds.", 24.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "57.5"}, "", 57.5),
    ],
)
def test_the_wait_that_a_rate_limit_asks_for(
    headers: dict[str, str], message: str, seconds: float
) -> None:
    failure = failure_of(429, {"error": {"message": message}}, headers, None)
    assert (failure.kind, failure.retry_after) == ("rate_limit", pytest.approx(seconds))


def test_ten_minutes_are_waited_for_and_hours_are_not() -> None:
    slow = {"error": {"message": "slow"}}
    assert failure_of(429, slow, {"retry-after": "600"}, None).kind == "rate_limit"
    hours = failure_of(429, slow, {"retry-after": "7200"}, None)
    assert hours.kind == "quota"
    assert "120 minutes" in str(hours)
    unavailable = failure_of(503, slow, {"retry-after": "7200"}, None)
    assert (unavailable.kind, unavailable.passes) == ("server", False)


@pytest.mark.parametrize(
    ("body", "again"),
    [
        ("", True), ('{"choices": [{"mess', True), ("<html>Log in</html>", True),
        ("[1, 2]", False), ('{"output": "A"}', False), ("Bad gateway", False),
    ],
)  # fmt: skip
def test_a_whole_body_that_is_no_completion_is_not_asked_for_again(body: str, again: bool) -> None:
    failure = failure_of(200, body, {}, None)
    assert (failure.kind, failure.passes) == ("unreadable", again)
