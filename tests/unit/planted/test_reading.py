"""Readings of texts: direction, tone, grounds, claims, and agreement with expert indices."""

import json
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from judge_gym.planted.reading import claim_truth, concept_named, read_documents

SHARED = Path(__file__).parents[4] / "shared" / "data"
CORPORA = Path(__file__).parents[3] / "deployments" / "sweeps" / "corpora"

HEALTHY = (
    "Free and fair elections were held as scheduled and the losing party conceded defeat. The "
    "independent judiciary struck down a decree and the government accepted the result."
)
BROKEN = (
    "The president dissolved parliament, banned two parties and jailed forty journalists without "
    "charge. Judges who objected were dismissed and political prisoners were tortured."
)
ROSES = "The museum showed roses from the northern garden to visitors who came by boat at noon."


@pytest.mark.parametrize(
    ("concept", "contested", "worse_is_more"),
    [
        ("fascism", 0.95, True),
        ("Democratic Backsliding", 0.5, True),
        ("democracy quality", 0.15, False),
        ("press freedom", 0.3, False),
        ("constitutional hardball", 0.5, True),
    ],
)
def test_concept_decides_what_bad_events_mean(
    concept: str, contested: float, worse_is_more: bool
) -> None:
    meaning = concept_named(concept)
    broken, healthy = (read_documents([text], meaning).theta for text in (BROKEN, HEALTHY))
    assert meaning.contested == contested
    assert (broken > healthy) == worse_is_more
    assert abs(broken - healthy) > 0.5


def test_text_without_cues_stays_in_the_middle_and_gives_nothing_to_judge_by() -> None:
    reading = read_documents([ROSES], concept_named("fascism"))
    assert abs(reading.theta - 0.5) <= 0.04
    assert reading.information == 0
    assert read_documents([BROKEN], concept_named("fascism")).information > 0.6


def test_bundle_reads_as_the_mean_of_its_documents() -> None:
    concept = concept_named("fascism")
    apart = [read_documents([text], concept) for text in (BROKEN, HEALTHY)]
    together = read_documents([BROKEN, HEALTHY], concept)
    assert together.theta == pytest.approx((apart[0].theta + apart[1].theta) / 2)
    assert together.tau == pytest.approx((apart[0].tau + apart[1].tau) / 2)


def test_negation_turns_a_cue_round() -> None:
    concept = concept_named("fascism")
    jailed = read_documents(["The police tortured the detainees of the island."], concept)
    spared = read_documents(["The police never tortured the detainees of the island."], concept)
    assert spared.theta < jailed.theta


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ("Claim: 17 + 25 = 42", True),
        ("Claim: 64 - 29 = 45", False),
        ("Claim: 9 × 8 - 12 = 60", True),
        ("claim: 3 + 4 x 5 = 23.", True),
        ("Claim: 3 + 4 * 5 = 35", False),
        ("Claim: 23 + 19 > 41", True),
        ("Claim: 75 + 48 < 120", False),
        ("Claim: 12 times 12 equals 144", True),
        ("Claim: -3 + 4 is at least 2", False),
        ("Claim: 5 - 3 - 1 = 1", True),
        ("Background.\nClaim: 7 ≠ 7", False),
        ("Claim: the moon is far", None),
        ("17 + 25 = 42", None),
    ],
)
def test_claims_are_computed(line: str, holds: bool | None) -> None:
    assert claim_truth([line]) is holds


def test_claim_in_a_bundle_is_not_the_whole_evidence() -> None:
    assert claim_truth(["Claim: 1 + 1 = 2", ROSES]) is None


def _rows(path: Path) -> list[dict[str, object]]:
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_reading_of_real_country_summaries_follows_the_expert_index() -> None:
    rows = _rows(SHARED / "state_hr2022_vdem.jsonl")
    concept = concept_named("democracy quality")
    thetas = [read_documents([str(row["text"])], concept).theta for row in rows]
    correlation = spearmanr(thetas, [row["v2x_libdem"] for row in rows]).statistic
    print(f"Spearman of the reading with v2x_libdem, {len(rows)} countries: {correlation:.3f}")
    assert correlation > 0.6  # 0.78 when written


def test_reading_of_the_demo_corpus_follows_its_severity_and_tone() -> None:
    rows = [row for row in _rows(CORPORA / "valmora.jsonl") if row.get("severity")]
    readings = [read_documents([str(r["text"])], concept_named("fascism")) for r in rows]
    thetas = [reading.theta for reading in readings]
    assert spearmanr(thetas, [row["severity"] for row in rows]).statistic > 0.85
    assert max(thetas) > 0.85
    assert min(thetas) < 0.15
    emotive = [r.tau for r, row in zip(readings, rows, strict=True) if row["tone"] == "emotive"]
    plain = [r.tau for r, row in zip(readings, rows, strict=True) if row["tone"] == "plain"]
    assert min(emotive) > 0.3 > 0.1 > max(plain)
