"""What should be recovered, on planted judges simple enough to work out by hand."""

from typing import Any

import pytest
from scipy.stats import binom

from judge_gym.analysis import recoveries
from judge_gym.analysis.planted_shapes import planted_regime, planted_value
from judge_gym.analysis.recoveries import PlantedArm, PlantedGroup, PlantedJudge, PlantedSweep
from judge_gym.design.experiment import Experiment
from judge_gym.design.window import CorpusSource, Window
from judge_gym.planted.families import Family, planted
from judge_gym.planted.judging import PlantedCase
from judge_gym.planted.reading import DocumentReading
from judge_gym.report.planted import Planted, parameter_table
from judge_gym.seeds import canonical_json

WINDOW = Window(name="w", query="q", country="X", source=CorpusSource(path="c.jsonl"))
SCOPE = {"concept": "order", "rubric": "own"}
SETS = {"scoring_method": "subset"}


@pytest.mark.parametrize(
    ("held", "compared", "fails"),
    [(0, 0, False), (1, 2, False), (1, 3, True), (3, 5, True), (8, 10, False), (128, 142, True)],
)
def test_recovery_fails_where_chance_alone_would_hardly_miss_as_many(
    held: int, compared: int, fails: bool
) -> None:
    assert Planted(held=held, compared=compared).fails is fails
    assert not compared or fails == (binom.cdf(held, compared, 0.95) <= 0.025)


def planted_judge(
    model: str = "sim/calm-1",
    *,
    thetas: tuple[float, ...] = (0.1, 0.6),
    tau: float = 0.0,
    scored: int = 5,
    others: tuple[PlantedArm, ...] = (),
    experiment: dict[str, Any] | None = None,
    first_item: int = 0,
    **parameters: Any,
) -> PlantedJudge:
    """A judge of four stages without noise or tone that reads `thetas`, one an item."""
    given = {"noise": 0.0, "tone_bias": 0.0, "probe_noise": 0.0, **parameters}
    family = Family(about="test", models=("t-1",), voice=planted()["calm"].voice, **given)
    counts = dict.fromkeys(range(first_item, first_item + len(thetas)), scored)
    return PlantedJudge(
        experiment=Experiment(concept="order", window=WINDOW, model=model, **(experiment or {})),
        family_name="test",
        family=family,
        cases={
            item: PlantedCase(DocumentReading(theta, tau, 1.0), contested=1.0, stages=4)
            for item, theta in enumerate(thetas, start=first_item)
        },
        own=PlantedArm("own", model, own_words=True, scored=counts),
        others=others,
    )


def sweep_of(*groups: tuple[dict[str, Any], tuple[PlantedJudge, ...]]) -> PlantedSweep:
    return PlantedSweep(
        {canonical_json(scope): PlantedGroup(scope, judges) for scope, judges in groups}
    )


def test_judges_without_noise_are_as_far_apart_as_their_leaning_puts_them(make_row) -> None:
    # θ 0.1 and 0.6 are stages 1 and 3; with a leaning of 0.2, θ 0.3 and 0.8 are 2 and 4.
    low = planted_judge("sim/calm-1")
    same = planted_judge("sim/calm-2", leaning=0.05)
    high = planted_judge("sim/high-1", leaning=0.2)
    sweep = sweep_of((SCOPE, (low, same, high)))

    def expected(pair: str) -> recoveries.PlantedValue | None:
        row = make_row("polarization_pair", 0.5, scope={**SCOPE, "pair": pair})
        return recoveries.pair_polarization(sweep, row)

    apart = expected("calm and high")
    assert apart is not None
    assert apart.value == pytest.approx(1)
    assert apart.planted == "0.00 and 0.20"
    assert expected("calm and low") is None


def test_the_expected_polarization_has_the_noise_of_as_many_verdicts(make_row) -> None:
    # Two judges that take any stage, each once an item: they agree one time in four, and then
    # P is 0, else 1, whatever separates them in truth.
    judges = tuple(
        planted_judge(model, scored=1, first_bias=0.5, label_a_bias=0.5)
        for model in ("sim/calm-1", "sim/high-1")
    )
    row = make_row("polarization_pair", 0.7, scope={**SCOPE, "pair": "calm and high"})
    expected = recoveries.pair_polarization(sweep_of((SCOPE, judges)), row)
    assert expected is not None
    assert expected.value == pytest.approx(3 / 4, abs=0.05)


def test_tone_moves_the_verdict_from_the_one_view_to_the_other(make_row) -> None:
    raw, plain = ({**SCOPE, "evidence_view": view} for view in ("raw", "neutralized"))
    # θ 0.1 + 0.3 is stage 2 of four and θ 0.6 + 0.3 stage 4: a third of the scale each.
    loud = planted_judge(tau=1.0, tone_bias=0.3, experiment={"evidence_view": "raw"})
    calm = planted_judge(tone_bias=0.3)
    told = {"axis": "evidence_view", "from": "raw", "to": "neutralized", "judge": "sim/calm-1"}
    row = make_row("contrast", -0.3, scope={**SCOPE, **told})
    expected = recoveries.verdict_contrast(sweep_of((raw, (loud,)), (plain, (calm,))), row)
    assert expected == recoveries.PlantedValue(pytest.approx(-1 / 3), "tone 0.30")


def test_a_fixed_display_draws_verdicts_to_the_weakest_stage(make_row) -> None:
    flags = ("randomize_labels", "shuffle_order")
    ends = [{**SCOPE, **dict.fromkeys(flags, value)} for value in (False, True)]
    fixed = planted_judge(first_bias=0.4, experiment=dict.fromkeys(flags, False))
    free = planted_judge(first_bias=0.4)
    told = {"axis": "presentation", "from": "fixed", "to": "random", "judge": "sim/calm-1"}
    row = make_row("contrast", 0.2, scope={**SCOPE, **told})
    expected = recoveries.verdict_contrast(sweep_of((ends[0], (fixed,)), (ends[1], (free,))), row)
    assert expected is not None
    # Fixed, two in five verdicts are at 0 of the scale; random, they are at its middle.
    assert expected.value == pytest.approx(0.4 * 0.5)


def test_loyalty_costs_confidence_only_under_foreign_words(make_row) -> None:
    scored = {0: 3, 1: 3}
    rival = PlantedArm("swap", "sim/high-1", own_words=False, scored=scored)
    sham = PlantedArm("sham", "sim/calm-1", own_words=True, scored=scored)
    judge = planted_judge(others=(rival, sham), probe_level=0.5, own_rubric_loyalty=0.2)
    sweep = sweep_of((SCOPE, (judge,)))
    scope = {**SCOPE, "judge": "sim/calm-1"}
    swapped = make_row("swap_sensitivity", -0.2, scope={**scope, "rival": "sim/high-1"})
    expected = recoveries.confidence_change(sweep, swapped)
    assert expected == recoveries.PlantedValue(pytest.approx(-0.2), "0.20")
    second = make_row("sham_sensitivity", 0.0, scope=scope)
    expected = recoveries.confidence_change(sweep, second)
    assert expected == recoveries.PlantedValue(pytest.approx(0), "0.20")
    other = make_row("swap_sensitivity", 0.0, scope={**scope, "rival": "sim/low-1"})
    assert recoveries.confidence_change(sweep, other) is None


def test_confidence_is_weighed_against_the_agreement_of_the_others(make_row) -> None:
    # A margin of 1 without noise: 0.4 + 0.3. The other judge agrees on one item of two.
    sure = planted_judge(probe_level=0.4, probe_slope=0.3)
    other = planted_judge("sim/high-1", thetas=(0.1, 0.9))
    sweep = sweep_of((SCOPE, (sure, other)))
    scope = {**SCOPE, "judge": "sim/calm-1"}
    confidence = recoveries.stated_confidence(sweep, make_row("confidence", 0.7, scope=scope))
    assert confidence == recoveries.PlantedValue(pytest.approx(0.7), "0.40 + 0.30 x margin")
    excess = recoveries.excess_confidence(sweep, make_row("overconfidence", 0.2, scope=scope))
    assert excess is not None
    assert excess.value == pytest.approx(0.7 - 0.5)


def test_display_bias_is_the_share_beyond_chance(make_row) -> None:
    sweep = sweep_of((SCOPE, (planted_judge(first_bias=0.2, label_a_bias=0.1),)))
    scope = {**SCOPE, "judge": "sim/calm-1"}
    shown = recoveries.display_bias(sweep, make_row("position_bias", 0.1, scope=scope))
    lettered = recoveries.display_bias(sweep, make_row("label_bias", 0.1, scope=scope))
    assert shown == recoveries.PlantedValue(pytest.approx(0.2 * 3 / 4), "0.20")
    assert lettered == recoveries.PlantedValue(pytest.approx(0.1 * 3 / 4), "0.10")


def test_variance_leaves_out_items_with_too_few_replicates(make_row) -> None:
    # Half of the verdicts at the stage of the reading, half anywhere: stage 1 of four is taken
    # with 5/8 and each other with 1/8, so the mean is 1/4 and E[x²] = (1 + 4 + 9)/72 = 7/36.
    judge = planted_judge(thetas=(0.1, 0.6), first_bias=0.5)
    few = PlantedArm("own", "sim/calm-1", own_words=True, scored={0: 3, 1: 2})
    judge = PlantedJudge(
        judge.experiment, judge.family_name, judge.family, judge.cases, few, judge.others
    )
    row = make_row("replicate_variance", 0.1, scope={**SCOPE, "judge": "sim/calm-1"})
    expected = recoveries.replicate_variance(sweep_of((SCOPE, (judge,))), row)
    assert expected is not None
    assert expected.value == pytest.approx(7 / 36 - 1 / 16)


def test_abstention_follows_how_little_a_text_tells(make_row) -> None:
    judge = planted_judge(abstention=0.8)
    dull = {
        0: PlantedCase(DocumentReading(0.5, 0.0, 0.0), 1.0, 4),
        1: PlantedCase(DocumentReading(0.5, 0.0, 1.0), 1.0, 4),
    }
    judge = PlantedJudge(
        judge.experiment, judge.family_name, judge.family, dull, judge.own, judge.others
    )
    sweep = sweep_of((SCOPE, (judge,)))

    def expected(arm: str) -> recoveries.PlantedValue | None:
        scope = {**SCOPE, "judge": "sim/calm-1", "arm": arm}
        return recoveries.abstention_rate(sweep, make_row("abstention_rate", 0.4, scope=scope))

    assert expected("own") == recoveries.PlantedValue(pytest.approx(0.4), "0.80")
    assert expected("swap") is None


def test_accuracy_is_compared_on_claims_alone(make_row) -> None:
    truth = {"task_type": "benchmark", "ground_truth": {"source": "sums", "per_item": True}}
    row = make_row("accuracy", 0.8, scope={**SCOPE, "judge": "sim/calm-1"})
    judge = planted_judge(accuracy=0.9, first_bias=0.2, experiment=truth)
    assert recoveries.claim_accuracy(sweep_of((SCOPE, (judge,))), row) is None
    claims = {
        item: PlantedCase(DocumentReading(0.5, 0.0, 0.0), 0.0, 4, truth=bool(item))
        for item in judge.cases
    }
    judge = PlantedJudge(
        judge.experiment, judge.family_name, judge.family, claims, judge.own, judge.others
    )
    expected = recoveries.claim_accuracy(sweep_of((SCOPE, (judge,))), row)
    assert expected is not None
    assert expected.value == pytest.approx(0.8 * 0.9 + 0.2 / 4)

    # The stage shown first takes a fifth of p, so p is (0.08, 0, 0, 0.92) where that is the right
    # one, (0.28, 0, 0, 0.72) where it is the wrong end, else (0.08, 0.2, 0, 0.72). Σp² - p(right)
    # is then -0.0672, -0.1232 and twice -0.1552; Σp(p - r)² is 0.0064, 0.0784 and twice 0.06496.
    for metric, value in (("letter_overconfidence", -0.1252), ("letter_brier_score", 0.05368)):
        row = make_row(metric, 0.1, scope={**SCOPE, "judge": "sim/calm-1"})
        expected = recoveries.letter_calibration(sweep_of((SCOPE, (judge,))), row)
        assert expected == recoveries.PlantedValue(pytest.approx(value), "0.90")


def test_subsets_have_no_closed_form_but_their_width(make_row) -> None:
    judge = planted_judge(experiment={"scoring_method": "subset"})
    sweep = sweep_of((SCOPE, (judge,)))
    scope = {**SCOPE, "judge": "sim/calm-1"}
    assert recoveries.stated_confidence(sweep, make_row("confidence", 0.5, scope=scope)) is None
    assert recoveries.replicate_variance(sweep, make_row("m", 0.5, scope=scope)) is None
    width = recoveries.subset_width(sweep, make_row("subset_width", 0.0, scope=scope))
    assert width is not None
    assert width.value == 0  # without noise one stage is certain


def test_a_figure_of_no_known_group_is_not_compared(make_row) -> None:
    row = make_row("confidence", 0.5, scope={"concept": "another", "judge": "sim/calm-1"})
    assert recoveries.stated_confidence(sweep_of((SCOPE, (planted_judge(),))), row) is None


def test_planted_parameters_are_listed_as_they_are_planted() -> None:
    table = parameter_table(["sure", "constant", "obedient"])
    cells = [dict(zip(table.columns, row.cells, strict=True)) for row in table.rows]
    assert cells[0]["family"] == "sure"
    assert (cells[0]["loyalty"], cells[0]["level"], cells[0]["fixed"]) == ("0.25", "0.75", "–")
    assert cells[1]["fixed"] == "0.60"
    assert [cell["obeys"] for cell in cells] == ["0.00", "0.00", "0.60"]
    assert table.simulated


def test_shapes_follow_from_what_is_planted(make_row) -> None:
    # θ 0.1 is stage 1, withheld in half of the verdicts; θ 0.6 and 0.9 are stages 3 and 4.
    thetas = (0.1, 0.6, 0.9)
    forced = planted_judge(thetas=thetas, experiment={**SETS, "abstain": False})
    free = planted_judge(thetas=thetas, experiment=SETS, reserve=0.5)
    groups = (({**SCOPE, "abstain": False}, (forced,)), ({**SCOPE, "abstain": True}, (free,)))
    sweep = sweep_of(*groups)

    def value(metric: str, **scope: object) -> float | None:
        row = make_row(metric, 0.5, scope={**SCOPE, "judge": "sim/calm-1", **scope})
        return planted_value(sweep, row)

    assert value("abstain_share", abstain=True) == pytest.approx(0.5 / 3)
    assert value("expected_stage", abstain=True) == pytest.approx((1 + 3 + 4) / 3)
    assert value("middle_mass", abstain=True) == pytest.approx(1 / 3)
    assert value("singleton_share", abstain=True) == pytest.approx(1)
    # Three stages in equal shares, of four: log2 3 / log2 4.
    assert value("stage_entropy", abstain=True) == pytest.approx(0.792, abs=0.001)
    change = {"axis": "abstain", "from": False, "to": True}
    assert value("contrast_abstain_share", **change) == pytest.approx(0.5 / 3)
    assert value("contrast", **change) == pytest.approx(0)
    assert value("tau", abstain=True) is None


@pytest.mark.parametrize(
    ("parameters", "regime"),
    [
        ({}, "graded"),
        ({"gain": 20.0}, "thresholded"),
        ({"leaning": -1.0}, "compressed"),
        ({"gain": 0.3}, "interior"),
    ],
)
def test_each_regime_is_planted_by_one_parameter(make_row, parameters, regime) -> None:
    thetas = tuple((item + 0.5) / 24 for item in range(24))
    judge = planted_judge("sim/calm-1", thetas=thetas, experiment=SETS, noise=0.02, **parameters)
    other = planted_judge("sim/high-1", thetas=thetas, experiment=SETS, noise=0.2)
    row = make_row("regime", 1.0, scope={**SCOPE, "judge": "sim/calm-1", "regime": regime})
    assert planted_regime(sweep_of((SCOPE, (judge, other))), row) == regime


def test_plans_of_bundles_have_other_items_and_are_compared_by_their_means(make_row) -> None:
    # Stages 1 and 3 under one plan; on its own items 4 under the other: 1 - (0 + 2/3) / 2.
    drawn = planted_judge(thetas=(0.1, 0.6), experiment={"bundles": {"size": 2}})
    alike = planted_judge(
        thetas=(0.9,), experiment={"bundles": {"by": "similar", "size": 2}}, first_item=7
    )
    plans = {"random, 2": drawn, "similar, 2": alike}
    groups = (({**SCOPE, "bundles": plan}, (judge,)) for plan, judge in plans.items())
    scope = {**SCOPE, "axis": "bundles", "from": "random, 2", "to": "similar, 2"}
    row = make_row("contrast", 0.5, scope={**scope, "judge": "sim/calm-1"})
    expected = recoveries.verdict_contrast(sweep_of(*groups), row)
    assert expected is not None
    assert expected.value == pytest.approx(2 / 3)
