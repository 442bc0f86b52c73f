"""Fault plans out of files: what is read, and errors that name file, table, key and values."""

from pathlib import Path

import pytest

from judge_gym.errors import ConfigError
from judge_gym.simulator.faults.plan import (
    KINDS,
    Cut,
    FaultPlan,
    MalformedVerdict,
    RateLimit,
    Subject,
)
from judge_gym.simulator.faults.reading import load_plan, read_plan

WHOLE = """
# A bad day.
seed = 7

[[fault]]
kind = "rate_limit"
share = 0.05
model = "sim/calm-1"
role = "scorer"
code = "insufficient_quota"
retry_after = 90
form = "date"
max_count = 3
routes = ["chat", "line"]

[[ fault ]]
kind = "cut"
family = "low"
sticky = true
from_call = 10
to_call = 20
from_seconds = 1
to_seconds = 2.5
"""


def test_a_plan_is_read_as_it_is_written(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(WHOLE)
    assert load_plan(path) == FaultPlan(
        seed=7,
        faults=(
            RateLimit(
                share=0.05, model="sim/calm-1", role="scorer", code="insufficient_quota",
                retry_after=90, form="date", max_count=3, routes=("chat", "line"),
            ),
            Cut(family="low", sticky=True, from_call=10, to_call=20, from_seconds=1,
                to_seconds=2.5),
        ),
    )  # fmt: skip


def test_defaults_and_the_empty_plan():
    assert read_plan({}, "x") == FaultPlan()
    (fault,) = read_plan({"fault": [{"kind": "malformed_verdict"}]}, "x").faults
    assert fault == MalformedVerdict(share=1, role="scorer", routes=("chat",))
    every = read_plan({"fault": [{"kind": k.model_fields["kind"].default} for k in KINDS]}, "x")
    assert [type(fault) for fault in every.faults] == list(KINDS)


@pytest.mark.parametrize(
    ("table", "line", "said"),
    [
        ("share = 3", 4, "fault[1].share is 3. Use a number from 0 to 1"),
        ("share = nan", 4, "fault[1].share is nan"),
        ("share = true", 4, "fault[1].share is true"),
        ("shar = 0.1", 4, "fault[1].shar is not a known key. Did you mean share?"),
        ("family = 'nobody'", 4, "fault[1].family does not fit: there is no family 'nobody'; use"),
        ("role = 'judge'", 4, "fault[1].role is 'judge'. Use aligner, grader, decider,"),
        ("status = 501", 4, "fault[1].status is 501. Use 500, 502, 503 or 529"),
        ("from_call = 5\nto_call = 4", 4, "fault[1] does not fit: to_call 4 is before from_call 5"),
        ("from_seconds = 2\nto_seconds = 1", 4, "to_seconds 1 is before from_seconds 2"),
        ("max_count = -1", 4, "fault[1].max_count is -1. Use a whole number at least 0"),
        ("routes = []", 4, "fault[1].routes is an empty list. Use a list of chat, line, files"),
        ("routes = ['lines']", 4, "fault[1].routes[0] is 'lines'. Use a list of chat, line"),
        ("model = 2026-01-05", 4, ""),
        ("kind2 = 1", 4, "fault[1].kind2 is not a known key"),
    ],
)
def test_errors_name_file_line_table_key_and_what_is_allowed(tmp_path, table, line, said):
    path = tmp_path / "plan.toml"
    path.write_text(f'[[fault]]\nkind = "cut"\n\n[[fault]]\nkind = "server_error"\n{table}\n')
    if not said:
        assert load_plan(path).faults[1].model == "2026-01-05"
        return
    with pytest.raises(ConfigError) as refused:
        load_plan(path)
    assert str(refused.value).startswith(f"{path}, line {line}: ")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed = 'x'", "seed is 'x'. Use a whole number"),
        ("sed = 1", "sed is not a known key. Did you mean seed?"),
        ("[fault]\nkind = 'cut'", "Use [[fault]] tables"),
        ("fault = [1]", "fault[0] is 1. Use a mapping"),
        ("[[fault]]\nshare = 1", "fault[0].kind is missing. Give one of rate_limit, server_error"),
        ("[[fault]]\nkind = 'cuts'", "fault[0].kind is 'cuts'. Did you mean cut? Use one of"),
        ("[[fault]]\nkind = 4", "fault[0].kind is 4. Use one of rate_limit"),
        (
            "[[fault]]\nkind = 'cut'\nroutes = ['line']",
            "Use a list of chat, files, batches, search or scrape",
        ),
        ("[[fault]]\nkind = 'batch_expired'\nmodel = 'm'", "fault[0].model is not a known key"),
        ("[[fault", "is not TOML"),
        ("\xff", "is not TOML"),
    ],
)
def test_the_rest_of_what_a_plan_can_get_wrong(tmp_path, text, said):
    path = tmp_path / "plan.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError) as refused:
        load_plan(path)
    assert str(path) in str(refused.value)
    assert said in str(refused.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.toml cannot be read: No such file"):
        load_plan(tmp_path / "nowhere.toml")


def test_a_misspelt_judge_is_an_error_and_a_stand_in_is_not():
    def read(model):
        return read_plan({"fault": [{"kind": "empty", "model": model}]}, Path("plan.toml"))

    for wrong in ("hgih-1", "sim/hgih-1"):
        with pytest.raises(ConfigError, match=r"fault\[0\].model.* Did you mean high-1"):
            read(wrong)
    for right in ("high-1", "sim/high-1", "gpt-4o", "claude-sonnet-4-5"):
        (fault,) = read(right).faults
        assert fault.concerns(Subject("chat", "key", right.removeprefix("sim/")))
    assert not read("high-1").faults[0].concerns(Subject("chat", "key", "calm-1"))
