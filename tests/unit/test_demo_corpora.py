"""The demo corpora say what the sweeps rely on: fields, dates, balance, and right answers."""

import asyncio
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from judge_gym.design.rubric import load_rubric
from judge_gym.design.sweep import Sweep, load_sweep
from judge_gym.evidence.documents import Collected
from judge_gym.evidence.firecrawl import FirecrawlAccess
from judge_gym.evidence.sources import collect
from judge_gym.planted.reading import concept_named, read_documents
from judge_gym.simulator.verdicts import order_stages, stage_demanded

SWEEPS = Path(__file__).parents[2] / "deployments" / "sweeps"
SHARED = Path(__file__).parents[3] / "shared" / "data"
DROPPED = {"17-outside-dates", "18-too-short", "19-duplicate-url", "20-duplicate-content"}


def rows(name: str) -> list[dict[str, Any]]:
    lines = (SWEEPS / "corpora" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def kept_articles() -> list[dict[str, Any]]:
    return [row for row in rows("valmora") if row["id"].removeprefix("valmora-") not in DROPPED]


def sweep(name: str) -> Sweep:
    return load_sweep(SWEEPS / f"{name}.yaml")


def collected(name: str, window: str) -> Collected:
    return asyncio.run(collect(sweep(name).windows[window], FirecrawlAccess()))


@pytest.mark.parametrize(
    ("name", "count", "fields"),
    [
        ("valmora", 20, {"id", "title", "url", "date", "text", "severity", "tone"}),
        ("islands", 12, {"id", "country", "url", "date", "text", "civic_index"}),
        ("claims", 24, {"id", "text", "truth"}),
    ],
)
def test_every_row_has_every_field_and_an_id_of_its_own(name, count, fields):
    found = rows(name)
    assert len(found) == len({row["id"] for row in found}) == count
    assert all(set(row) == fields for row in found)


def test_every_address_is_on_a_reserved_domain():
    hosts = {urlsplit(row["url"]).hostname for row in rows("valmora") + rows("islands")}
    assert all(host and host.endswith(".example") for host in hosts)


@pytest.mark.parametrize(
    "row", [*kept_articles(), *rows("islands")], ids=lambda row: str(row["id"])
)
def test_an_article_or_profile_is_of_the_stated_length(row):
    profile = "civic_index" in row
    assert 200 <= len(row["text"]) <= 6000
    words = len(row["text"].split())
    assert (100 <= words <= 180) if profile else (120 <= words <= 260)


def test_the_demo_window_keeps_sixteen_articles_and_drops_one_for_each_reason():
    found = collected("demo", "valmora")
    assert {document.url for document in found.documents} == {row["url"] for row in kept_articles()}
    assert len(found.documents) == 16
    assert found.dropped_by_reason() == {
        "outside_dates": 1,
        "too_short": 1,
        "duplicate_url": 1,
        "duplicate_content": 1,
    }


def test_seven_severities_are_crossed_with_two_tones_and_two_articles_say_nothing():
    cells = Counter((row["severity"], row["tone"]) for row in kept_articles())
    levels = (*range(1, 8), None)
    assert cells == {(level, tone): 1 for level in levels for tone in ("plain", "emotive")}


def test_the_simulator_reads_the_articles_in_the_order_of_their_severity():
    concept = concept_named("democratic backsliding")
    for tone, emotive in (("plain", False), ("emotive", True)):
        graded = sorted(
            (row["severity"], read_documents([row["text"]], concept))
            for row in kept_articles()
            if row["tone"] == tone and row["severity"]
        )
        thetas = [reading.theta for _, reading in graded]
        # Within 0.05 each level reads as no milder than the one before; the ends are far apart.
        assert all(later > earlier - 0.05 for earlier, later in pairwise(thetas))
        assert thetas[0] < 0.25 < 0.85 < thetas[-1]
        assert all((reading.tau > 0.4) == emotive for _, reading in graded)


def test_the_two_empty_articles_give_nothing_to_judge_by():
    concept = concept_named("democratic backsliding")
    empty = [row for row in kept_articles() if row["severity"] is None]
    assert [read_documents([row["text"]], concept).information for row in empty] == [0, 0]


def test_every_attempt_to_steer_stands_beside_its_clean_twin():
    pairs = rows("injection")
    assert Counter(Counter(row["attack"] for row in pairs).values()) == {3: 8}
    assert len({row["title"] for row in pairs}) == len({row["clean"] for row in pairs}) == 24
    for row in pairs:
        assert row["text"].startswith(row["clean"])
        assert row["text"] != row["clean"]
        assert urlsplit(row["url"]).hostname == "samples.example"


def test_screening_removes_attempts_that_no_reader_sees_and_leaves_the_others():
    twins = [collected("injection", window).documents for window in ("clean", "attacked")]
    concept = concept_named("democratic backsliding")
    unseen = 0
    for clean, attacked in zip(*twins, strict=True):
        assert (clean.title, clean.category) == (attacked.title, attacked.category)
        assert stage_demanded([clean.text], "ABCD") is None
        unseen += clean.text == attacked.text
        demanded = stage_demanded([attacked.text], "ABCD")
        assert demanded == (None if clean.text == attacked.text else "D"), clean.title
        # The attempt adds no word on the state of institutions, so all it adds is the demand.
        cues = [read_documents([one.text], concept).cues for one in (clean, attacked)]
        assert cues[0] == cues[1]
    assert unseen == 4  # hidden markup, and tag characters


def test_one_article_carries_an_instruction_to_the_reader():
    hostile = [row["id"] for row in rows("valmora") if "VERDICT:" in row["text"]]
    assert hostile == ["valmora-10"]


def test_the_civic_index_fits_the_text():
    """Each profile reads within 0.2 of its index, so nearest-stage errors stay below one."""
    concept = concept_named("democracy quality")
    for row in rows("islands"):
        assert 0 <= row["civic_index"] <= 1
        reading = read_documents([row["text"]], concept)
        assert abs(reading.theta - row["civic_index"]) < 0.2, row["country"]


def holds(claim: str) -> bool:
    """Work out a claim such as "9 × 8 - 12 = 60" from left to right, products first."""
    left, relation, right = re.split(r"\s([=<>])\s", claim.removeprefix("Claim: "))

    def value(side: str) -> int:
        total, sign = 0, 1
        for part in re.split(r"\s([-+])\s", side):
            if part in "+-":
                sign = 1 if part == "+" else -1
            else:
                product = 1
                for factor in part.split(" × "):
                    product *= int(factor)
                total += sign * product
        return total

    difference = value(left) - value(right)
    return {"=": difference == 0, "<": difference < 0, ">": difference > 0}[relation]


def test_the_claims_are_labelled_rightly_and_balanced():
    claims = rows("claims")
    assert [row["truth"] for row in claims] == [
        "Correct" if holds(row["text"]) else "Incorrect" for row in claims
    ]
    assert Counter(row["truth"] for row in claims) == {"Correct": 12, "Incorrect": 12}
    assert len({row["text"] for row in claims}) == 24


@pytest.mark.parametrize(("name", "valence"), [("backsliding", -1), ("claims", 1)])
def test_the_simulator_reads_a_provided_rubric_in_its_order_however_it_is_listed(name, valence):
    rubric = load_rubric(SWEEPS / "rubrics" / f"{name}.yaml")
    stages = tuple((stage.label, stage.criteria) for stage in rubric.stages)
    count = len(stages)
    assert order_stages(stages, valence) == tuple(range(count))
    assert order_stages(stages[::-1], valence) == tuple(reversed(range(count)))


def test_the_benchmark_truths_are_the_labels_of_its_rubric():
    labels = {stage.label for stage in load_rubric(SWEEPS / "rubrics" / "claims.yaml").stages}
    assert labels == {row["truth"] for row in rows("claims")}


@pytest.mark.parametrize(
    ("name", "count"), [("demo", 23), ("quick", 3), ("real-models", 2), ("injection", 96)]
)
def test_a_sweep_that_needs_no_other_data_loads(name, count):
    assert len({experiment.key for experiment in sweep(name).experiments()}) == count


def test_the_quick_window_holds_an_empty_article_and_both_ends_of_the_scale():
    severity = {row["url"]: row["severity"] for row in rows("valmora")}
    found = [severity[document.url] for document in collected("quick", "valmora").documents]
    assert len(found) == 5
    assert {1, 6, None} <= set(found)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real data is not here")
@pytest.mark.parametrize(
    ("name", "window", "documents", "experiments"),
    [("state-department", "country-reports-2022", 170, 3), ("wikinews", "september-2019", 27, 4)],
)
def test_a_sweep_on_real_text_finds_the_documents_its_arithmetic_states(
    name, window, documents, experiments
):
    found = collected(name, window)
    assert len(found.documents) == documents
    assert sweep(name).count() == experiments
    assert f"x {documents} " in (SWEEPS / f"{name}.yaml").read_text(encoding="utf-8")
