"""Which request meets which fault: shares, attempts, stickiness, filters, windows, counts."""

import hashlib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.simulator.faults.injection import Injector, draw
from judge_gym.simulator.faults.plan import (
    BatchExpired,
    Cut,
    FaultPlan,
    Html,
    MalformedVerdict,
    RateLimit,
    ServerError,
    Subject,
)

KEYS = [f"request {n}" for n in range(2000)]


def _meets(injector: Injector, key: str, **more) -> str | None:
    fault = injector.fault_for(Subject(more.pop("route", "chat"), key, **more))
    return fault.kind if fault else None


def test_the_draw_is_the_documented_one():
    # SHA-256 of the key as JSON, its first 8 bytes as a number in [0, 2**64), of which the lowest
    # bit is dropped; over 2**63.
    said = b'["fault",7,0,"request 1",1]'
    number = int.from_bytes(hashlib.sha256(said).digest()[:8], "big") // 2
    assert draw(7, 0, "request 1", 1) == number / 2**63


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
def test_shares_are_those_of_the_draw_and_near_the_plan(share):
    injector = Injector(FaultPlan((RateLimit(share=share),), seed=3))
    met = [key for key in KEYS if _meets(injector, key)]
    assert met == [key for key in KEYS if draw(3, 0, key, 1) < share]
    # Five standard deviations of a binomial count of 2,000.
    assert abs(len(met) - 2000 * share) <= 5 * (2000 * share * (1 - share)) ** 0.5
    assert injector.given == Counter({"rate_limit": len(met)} if met else {})


def test_a_retry_is_drawn_anew_unless_the_table_is_sticky():
    by_attempt = Injector(FaultPlan((ServerError(share=0.3),)))
    for attempt in (1, 2, 3):
        met = [key for key in KEYS if _meets(by_attempt, key)]
        assert met == [key for key in KEYS if draw(0, 0, key, attempt) < 0.3]
    sticky = Injector(FaultPlan((ServerError(share=0.3, sticky=True),)))
    poisoned = [key for key in KEYS if draw(0, 0, key, 0) < 0.3]
    for _ in range(3):
        assert [key for key in KEYS if _meets(sticky, key)] == poisoned
    assert 500 < len(poisoned) < 700


def test_the_first_table_drawn_strikes_and_the_second_gets_its_share_of_the_rest():
    injector = Injector(FaultPlan((Cut(share=0.2), Html(share=0.5)), seed=1))
    met = {key: _meets(injector, key) for key in KEYS}
    for key, kind in met.items():
        cut, html = draw(1, 0, key, 1) < 0.2, draw(1, 1, key, 1) < 0.5
        assert kind == ("cut" if cut else "html" if html else None)
    assert injector.given == Counter(kind for kind in met.values() if kind)


@settings(max_examples=50)
@given(st.permutations(["a", "b", "a", "c", "b", "a"]), st.integers(0, 2**31))
def test_the_order_of_arrival_changes_nothing_about_what_each_request_meets(order, seed):
    def outcomes(keys):
        injector = Injector(FaultPlan((Cut(share=0.4), Html(share=0.4)), seed=seed))
        met: dict[str, list[str | None]] = {}
        for key in keys:
            met.setdefault(key, []).append(_meets(injector, key))
        return met

    assert outcomes(order) == outcomes(["a", "a", "a", "b", "b", "c"])


def test_filters():
    plan = FaultPlan(
        (
            Cut(model="sim/low-1"),
            Html(family="high", role="prober"),
            MalformedVerdict(),
            ServerError(routes=("files",)),
            BatchExpired(),
        )
    )
    injector = Injector(plan)
    assert _meets(injector, "k", model="sim/low-1", role="critic") == "cut"
    assert _meets(injector, "k", model="sim/low-1", role="critic", route="line") is None
    assert _meets(injector, "k", model="sim/high-1", role="prober") == "html"
    # A model is of its family however it is named.
    assert _meets(injector, "k", model="high-1", role="prober") == "html"
    assert _meets(injector, "k", model="sim/high-1", role="critic") is None
    assert _meets(injector, "k", model="sim/calm-1", role="prober") is None
    assert _meets(injector, "k", model="sim/calm-1", role="scorer") == "malformed_verdict"
    assert _meets(injector, "k", route="files") == "server_error"
    assert _meets(injector, "k", route="batches") is None
    assert _meets(injector, "k", route="fate") == "batch_expired"


def test_windows_by_call_count_only_the_requests_concerned():
    injector = Injector(FaultPlan((Cut(model="m", from_call=3, to_call=5),)))
    met = []
    for n in range(8):
        assert _meets(injector, f"other {n}", model="n") is None
        met.append(_meets(injector, f"k{n}", model="m"))
    assert met == [None, None, "cut", "cut", "cut", None, None, None]


def test_windows_by_time_start_with_the_plan():
    now = [1000.0]
    plan = FaultPlan((Cut(from_seconds=2, to_seconds=5),))
    injector = Injector(plan, clock=lambda: now[0])
    met = []
    for seconds in (0, 1.9, 2, 5, 5.1):
        now[0] = 1000 + seconds
        met.append(_meets(injector, str(seconds)))
    assert met == [None, None, "cut", "cut", None]
    injector.use(plan)
    assert _meets(injector, "k") is None
    now[0] += 3
    assert _meets(injector, "k") == "cut"


def test_no_more_than_max_count_until_the_plan_is_put_into_force_again():
    plan = FaultPlan((Cut(max_count=2), Html()))
    injector = Injector(plan)
    assert [_meets(injector, key) for key in "abcd"] == ["cut", "cut", "html", "html"]
    injector.use(plan)
    assert _meets(injector, "a") == "cut"
    # What was given is counted over all plans.
    assert injector.given == Counter(cut=3, html=2)


def test_attempts_start_again_with_a_plan():
    plan = FaultPlan((Cut(share=0.5),))
    injector = Injector(plan)
    first = [_meets(injector, key) for key in KEYS[:100]]
    second = [_meets(injector, key) for key in KEYS[:100]]
    injector.use(plan)
    assert [_meets(injector, key) for key in KEYS[:100]] == first != second
