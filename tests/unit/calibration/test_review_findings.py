"""What a review makes of judgements: keep or reconsider, and on which grounds."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from judge_gym.calibration.checks import Decide, Margins, Result, Weight
from judge_gym.calibration.comparisons import Drift, drift_checks
from judge_gym.calibration.design import CalibrationDesign
from judge_gym.calibration.verdict import CalibrationVerdict
from judge_gym.errors import ConfigError
from judge_gym.judges import BinaryJudge, Criterion, Item, RubricJudge, VerdictName
from judge_gym.judges.calibrating.texts import Texts, changed_texts
from judge_gym.judges.reviewing.cases import ReviewCase, load_review
from judge_gym.judges.reviewing.findings import Said, drift_caution, review_findings
from judge_gym.model_names import Answered
from judge_gym.report.judge_review import review_report
from judge_gym.report.markdown import judge_review
from judge_gym.store.judges import ReviewRow
from support.judge_results import a_result

EXAMPLE = Path(__file__).parents[3] / "deployments" / "reviews" / "notes.yaml"
CRITERIA = (Criterion(name="evidence", description="It has figures."),)
FIRST = RubricJudge(name="one", model="sim/good-1", task="Mark it.", criteria=CRITERIA)
SECOND = FIRST.model_copy(update={"name": "two", "model": "sim/good-2"})
VERDICTS = (
    VerdictName(name="admit", description="It fits."),
    VerdictName(name="drop", description="It does not."),
)
GATE = BinaryJudge(name="gate", model="sim/good-1", task="Admit it?", verdicts=VERDICTS)
OTHER_GATE = GATE.model_copy(update={"name": "other", "model": "sim/good-2"})
BLOCKING = Decide(perturbations={"vague_ify": Weight.BLOCKS})
MARGINS = Margins(equivalence=5, changed_verdicts=0.1, replacement_limits=20)


LAST, LONG_AGO = date(2026, 1, 1), date(2025, 6, 1)


def items(count, truth=None):
    return [
        Item(id=str(n), text=f"Text {n}.", corpus="c", truth=truth and truth[n])
        for n in range(count)
    ]


def results(judge, some, given):
    """Item key → one result: a score, a verdict by its name, or None for one that failed."""

    def one(item, value):
        verdict = value if isinstance(value, str) else None
        score = float(value == "admit") if verdict else value
        return a_result(item, score, judge=judge.key, model=judge.model, verdict=verdict)

    return {item.key: [one(item, value)] for item, value in zip(some, given, strict=True)}


def found(judges, some, now, *, before=None, costs=None, looks=()):
    """The findings of one case; `now` and `before` are what was given, by judge.

    `looks` are what the judge in use gave at all reviews, those of the day last.
    """
    case = ReviewCase(judges[0], tuple(judges[1:]), "It was chosen.", Texts(some), 1, None)
    said = Said(
        now=[results(judge, some, given) for judge, given in zip(judges, now, strict=True)],
        before={day: results(judges[0], some, given) for day, given in (before or {}).items()},
        passed=frozenset(),
        costs=costs or [None] * len(judges),
        answered=[Answered(judge.answered_by) for judge in judges],
        looks=[results(judges[0], some, given) for given in looks],
    )
    return review_findings([case], [said], MARGINS)


def of_anchors(looks):
    """The finding of a judge by its scores at all reviews, and its check of all of them."""
    some = items(len(looks[-1]))
    [finding] = found([FIRST], some, [looks[-1]], before={LAST: looks[-2]}, looks=looks)
    return finding, next(check for check in finding.checks if check.name == "anchors")


def test_a_judge_that_answers_alike_at_every_review_has_not_moved():
    rng = np.random.default_rng(1)
    steady = [(50 + 30 * np.sin(np.arange(40)) + rng.normal(0, 2, 40)).tolist() for _ in range(12)]
    finding, check = of_anchors(steady)
    assert (finding.recommendation, check.result.value) == ("keep", "passes")
    assert check.estimate.estimate < 20


def test_a_judge_that_moved_some_reviews_ago_is_reconsidered_though_it_is_as_at_the_last():
    """Half of the texts lie 20 points higher, half lower: the mean stays, and so does the last."""
    rng = np.random.default_rng(2)
    apart = np.where(np.arange(40) % 2, 20, -20)
    looks = [
        (50 + (apart if look >= 5 else 0) + rng.normal(0, 2, 40)).tolist() for look in range(10)
    ]
    finding, check = of_anchors(looks)
    assert (finding.recommendation, check.result.value) == ("reconsider", "fails")
    assert "10 reviews of 40 texts" in finding.reason


def test_two_reviews_or_few_texts_say_nothing_of_all_reviews():
    for looks in ([SCORES, SCORES], [SCORES] * 5):
        _, check = of_anchors(looks)
        assert check.result == "cannot tell"


SCORES = [20.0, 35.0, 50.0, 65.0, 80.0, 90.0] * 2


def near(scores, by=1.0):
    """Scores that differ up and down by a little."""
    return [score + (by if place % 2 else -by) for place, score in enumerate(scores)]


def test_a_cheaper_judge_that_judges_alike_is_worth_a_look():
    now = [SCORES, near(SCORES)]
    _, other = found([FIRST, SECOND], items(12), now, costs=[0.02, 0.002])
    assert (other.recommendation, other.reason) == (
        "reconsider", "It judges alike for 0.002 instead of 0.02 USD."
    )  # fmt: skip
    for costs in ([0.02, 0.02], [0.02, None], [None, 0.0]):
        _, other = found([FIRST, SECOND], items(12), now, costs=costs)
        assert (other.recommendation, other.reason) == (
            "keep", "It judges alike, and is not shown to be better or to cost less."
        )  # fmt: skip
    _, free = found([FIRST, SECOND], items(12), now, costs=[0.02, 0.0])
    assert free.recommendation == "reconsider"


def test_a_judge_that_is_nearer_to_known_scores_is_worth_a_look():
    truth = SCORES
    far = [score + 10 + place % 3 for place, score in enumerate(SCORES)]
    _, other = found([FIRST, SECOND], items(12, truth), [far, near(truth)])
    assert other.recommendation == "reconsider"
    assert other.reason.startswith("It is nearer to what is known: -10")
    _, other = found([FIRST, SECOND], items(12, truth), [near(truth), far])
    assert (other.recommendation, other.figures[0].metric) == ("keep", "further_from_truth")


def test_too_few_items_cannot_tell_of_an_alternative():
    _, other = found([FIRST, SECOND], items(4), [SCORES[:4], near(SCORES[:4], 12.0)])
    assert other.recommendation == "cannot tell"
    assert other.reason.startswith("cannot tell: Use more items: about ")


def test_what_failed_is_no_item_of_the_comparison():
    now = [[None, *SCORES[1:]], near(SCORES)]
    judge, other = found([FIRST, SECOND], items(12), now, before={LAST: near(SCORES)})
    assert judge.checks[0].estimate.n_items == 11
    assert other.checks[0].estimate.n_items == 11
    assert (judge.statuses["failed"], judge.missing) == (1, 0)


def test_what_creeps_is_seen_beside_the_first_review():
    before = {LAST: near([score - 2 for score in SCORES]), LONG_AGO: near([s - 9 for s in SCORES])}
    (judge,) = found([FIRST], items(12), [SCORES], before=before)
    assert [one.result for one in judge.checks[:2]] == [Result.PASSES, Result.FAILS]
    assert judge.checks[1].question.endswith("points since 2025-06-01")
    assert judge.recommendation == "reconsider"
    assert judge.reason.startswith("It no longer judges as on 2025-06-01: 9 points")
    assert judge.since == LAST


def test_verdicts_are_compared_as_verdicts():
    admitted = ["admit", "drop"] * 20
    turned = ["drop" if n < 16 and n % 2 == 0 else one for n, one in enumerate(admitted)]
    judge, other = found(
        [GATE, OTHER_GATE], items(40, admitted), [admitted, turned], before={LAST: admitted}
    )
    assert judge.reason.startswith("It judges as on 2026-01-01: 0, 95% interval 0 to 0.08")
    # 8 of 40 differ, and all of them are wrong
    assert other.checks[0].estimate.estimate == 0.2
    assert other.figures[0].estimate == 0.2
    assert other.recommendation == "keep"
    judge, other = found([OTHER_GATE, GATE], items(40, admitted), [turned, admitted])
    assert other.reason == "It is nearer to what is known: -0.2, 95% interval -0.33 to -0.0704."


def test_a_page_shows_names_and_reasons_as_they_are(tmp_path):
    name = "<script>|**a**\nb"
    figures = {
        "judge": name, "alternative": None, "since": None, "checks": [], "figures": [],
        "judgements": {"scored": 2}, "missing": 1, "usd_a_judgement": None,
    }  # fmt: skip
    config = FIRST.record.config
    row = ReviewRow("r", "[x](y)", figures, "keep", "a | b", simulated=True, config=config)
    page = judge_review(date(2026, 1, 2), [row])
    assert r"| r | \<script\>\|\*\*a\*\* b | its last review | SIMULATED keep | a \| b |" in page
    assert r"Past decision: \[x\](y)" in page
    assert "Judgements: 2 scored, 1 missing." in page
    assert "**SIMULATED**" in page
    shown = review_report("r", date(2026, 1, 2), [row]).save(tmp_path).path.read_text()
    assert "&lt;script&gt;|**a**" in shown
    assert name not in shown
    assert "It has figures." in shown


def test_the_verdict_is_of_the_calibration_or_of_the_drift():
    texts = items(12)
    moved = {LAST: near([score - 12 for score in SCORES])}
    for before, verdict in (
        (None, CalibrationVerdict.CANNOT_TELL),
        ({LAST: near(SCORES)}, CalibrationVerdict.USE),
        (moved, CalibrationVerdict.CARE),
    ):
        judge, other = found([FIRST, SECOND], texts, [SCORES, SCORES], before=before)
        assert judge.verdict is verdict
        assert other.verdict is None


RIGHT = [20.0, 35.0, 50.0, 65.0, 80.0] * 12


@pytest.mark.parametrize("decides", [False, True], ids=["scores", "verdicts"])
@pytest.mark.parametrize("labelled", [True, False])
def test_a_judge_whose_answers_no_longer_come_is_not_kept(decides, labelled):
    judge = GATE if decides else FIRST
    then = ["admit", "drop", "drop", "admit", "drop"] * 30 if decides else RIGHT[:30] * 5
    texts = items(150, then if labelled else None)
    now = [None if n % 8 == 3 and n < 144 else one for n, one in enumerate(then)]
    (found_now,) = found([judge], texts, [now], before={LAST: then})
    assert found_now.recommendation == "reconsider"
    assert "18 of 150 answers no longer arrive or cannot be read (18 x: y)" in found_now.reason
    assert found_now.verdict is CalibrationVerdict.DO_NOT_USE
    by_name = {check.name: check for check in found_now.checks}
    assert by_name["answers kept"].estimate.estimate == 0.12
    assert by_name["readable"].result is Result.FAILS
    assert "0.88" in by_name["readable"].reason
    if decides:
        assert by_name["drift"].estimate.estimate == 0.12
    if labelled:
        assert "132 of 150" in by_name["agreement"].reason
    # As many failed at the last review, and no more: it is as it was, and still not good enough.
    (as_before,) = found([judge], texts, [now], before={LAST: now})
    kept = next(check for check in as_before.checks if check.name == "answers kept")
    assert kept.result is Result.PASSES
    assert as_before.recommendation == "reconsider"
    # 4 of 150 is more than 2%, which chance can do: the data cannot tell.
    few = [None if n < 4 else one for n, one in enumerate(then)]
    (open_,) = found([judge], texts, [few], before={LAST: then})
    verdict = CalibrationVerdict.CANNOT_TELL
    assert (open_.recommendation, open_.verdict) == ("cannot tell", verdict)
    assert open_.reason.startswith("cannot tell: 4 of 150 answers no longer arrive")


EXCHANGED = {
    "permuted": [*RIGHT[1:], RIGHT[0]],
    "constant": [50.0] * 60,
    "inverted": [100.0 - score for score in RIGHT],
}


@pytest.mark.parametrize("exchange", EXCHANGED)
@pytest.mark.parametrize("labelled", [True, False])
def test_a_judge_whose_every_text_changed_is_reconsidered_though_its_mean_stays(exchange, labelled):
    texts = items(60, RIGHT if labelled else None)
    (judge,) = found([FIRST], texts, [EXCHANGED[exchange]], before={LAST: RIGHT})
    assert judge.recommendation == "reconsider"
    by_name = {check.name: check for check in judge.checks}
    if labelled:
        assert by_name["agreement kept"].result is Result.FAILS
        assert by_name["agreement"].result is Result.FAILS
        assert judge.verdict is CalibrationVerdict.DO_NOT_USE
        assert "It does not agree with people's labels: concordance" in judge.reason
    else:
        assert by_name["alike"].result is not Result.PASSES


@pytest.mark.parametrize(
    ("judge", "cases", "needed"),
    [
        # ln(0.025 / 2) / ln 0.95 = 85.4, and with four tests ln(0.025 / 4) / ln 0.95 = 98.9
        (FIRST, 1, 86),
        (FIRST, 2, 99),
        # 1.960·2.241/0.1 - 1.960² = 40.1
        (GATE, 1, 41),
    ],
)
def test_texts_too_few_to_show_no_drift_are_told_before(judge, cases, needed):
    for size in (needed - 1, needed):
        case = ReviewCase(judge, (), "It was chosen.", Texts(items(size)), 1, None)
        cautions = list(drift_caution([case] * cases, MARGINS))
        still = Drift(np.zeros(size), verdicts=judge is GATE)
        shown = {one.result for one in drift_checks([still] * 2 * cases, MARGINS)}
        assert shown == ({Result.CANNOT_TELL} if size < needed else {Result.PASSES})
        assert len(cautions) == (cases if size < needed else 0)
        assert all(f"takes {needed}" in one and "Add 1 text," in one for one in cautions)


def test_labels_decide_whether_a_judge_that_changed_is_kept():
    worse = [score + (30 if n % 2 else -15) for n, score in enumerate(RIGHT)]
    enough = RIGHT + RIGHT[:12]
    (same,) = found([FIRST], items(72, enough), [near(enough)], before={LAST: near(enough)})
    assert (same.recommendation, same.verdict) == ("keep", CalibrationVerdict.USE)
    # Of 60 texts that did not move, 5% of all may: whether it judges as it did is open.
    (fewer,) = found([FIRST], items(60, RIGHT), [near(RIGHT)], before={LAST: near(RIGHT)})
    assert (fewer.recommendation, fewer.verdict) == ("keep", CalibrationVerdict.CARE)
    # As many as a plan says, which counts the last and the first review, where this has one.
    assert "about 86 would show it" in fewer.reason
    assert "takes 86," in next(drift_caution([fewer.case], MARGINS))
    assert fewer.reason.startswith("Agreement with people's labels: concordance")
    assert "Agreement with people's labels: concordance" in same.reason
    (better,) = found([FIRST], items(60, RIGHT), [near(RIGHT)], before={LAST: worse})
    kept = next(check for check in better.checks if check.name == "agreement kept")
    assert kept.result is Result.PASSES
    assert (kept.estimate.estimate or 0) > 0
    (first,) = found([FIRST], items(60, RIGHT), [near(RIGHT)])
    assert first.verdict is CalibrationVerdict.USE
    (few,) = found([FIRST], items(6, RIGHT[:6]), [RIGHT[:6]], before={LAST: RIGHT[:6]})
    assert (few.recommendation, few.verdict) == ("cannot tell", CalibrationVerdict.CANNOT_TELL)
    # Why the verdict is open stands beside drift that is not.
    [open_check] = [one for one in few.checks if one.name == "agreement"]
    assert open_check.result is Result.CANNOT_TELL
    assert open_check.action in few.reason


FAULTS = [
    ("items: ../", "calibration: a.yaml\n    items: ../", "either items or a calibration"),
    ("change: {model: sim/good-2}", "judge: ../calibrations/good.yaml", "stands above"),
    ("change: {model: sim/good-2}", "change: {model: sim/goood}", "'sim/goood'"),
    ("change: {model: sim/good-2}", "change: {modle: sim/good-2}", "modle is not a known key"),
    ("change: {model: sim/good-2}", "{}", "either a judge or a change"),
    ("model: sim/good-2", "model: sim/good-2, name: clustering", "is named 'clustering'"),
    ("../calibrations/clustering.yaml", "../judges/admission.yaml", "cannot be compared"),
    ("Europe/Lisbon", "Lisbon", "no time zone of the IANA list"),
    ("name: notes", "name: My Notes", "Use small letters"),
]


@pytest.mark.parametrize(("old", "new", "said"), FAULTS)
def test_a_faulty_file_is_named_before_anything_is_asked(tmp_path, old, new, said):
    text = EXAMPLE.read_text()
    assert old in text
    file = tmp_path / "review.yaml"
    deployments = EXAMPLE.parents[1]
    file.write_text(text.replace(old, new, 1).replace("../", f"{deployments}/"))
    with pytest.raises(ConfigError) as refused:
        load_review(file)
    assert said in str(refused.value)
    assert str(file) in refused.value.message


def test_a_review_takes_labels_of_people_for_its_items(tmp_path):
    deployments = EXAMPLE.parents[1]
    file = tmp_path / "review.yaml"
    (tmp_path / "people.csv").write_text("item,rater,label\n1,ann,80\n1,bo,60\n2,ann,20\n")
    (tmp_path / "items.csv").write_text("id,text\n1,One.\n2,Two.\n3,Three.\n")
    review = (
        f"name: r\ntime_zone: Europe/Lisbon\nreviews:\n"
        f"  - judge: {deployments}/calibrations/good.yaml\n    decision: in use\n"
    )
    file.write_text(
        f"{review}    items: items.csv\n    labels: people.csv\n"
        "    label_fields: {annotator: rater}\n"
    )
    (case,) = load_review(file).cases
    assert [item.truth for item in case.texts.originals] == [70, 20, None]
    assert case.texts.people.shape == (2, 3)
    assert "2 people's labels on 2 of 3 texts" in case.labels
    file.write_text(
        f"{review}    calibration: {deployments}/calibrations/notes.yaml\n    labels: people.csv\n"
    )
    with pytest.raises(ConfigError, match="labels are of items"):
        load_review(file)


def test_what_two_cases_share_is_asked_once():
    review = load_review(EXAMPLE)
    (case,) = review.cases
    assert [judge.name for judge in case.judges] == ["good", "good, other model", "clustering"]
    assert len(review.asked(LAST)) == 3
    turned = ReviewCase(case.alternatives[0], (case.judge,), "x", case.texts, 2, None)
    both = type(review)(review.path, review.file, (case, turned))
    assert sorted((one.judge.name, len(one.items), one.repeats) for one in both.asked(LAST)) == [
        ("clustering", 22, 1), ("good", 22, 2), ("good, other model", 22, 2)
    ]  # fmt: skip


def test_a_check_that_one_fails_and_the_other_passes_counts():
    design = CalibrationDesign(
        name="c", judges=(Path("a"),), items=Path("b"), repeats=1, severities=(1.0,),
        perturbations=("vague_ify",),
    )  # fmt: skip
    originals = [
        Item(id=str(n), text=f"In 20{n:02} {'so ' * n}it rose by {n}.", corpus="c")
        for n in range(12)
    ]
    both = changed_texts(originals, design)
    case = ReviewCase(FIRST, (SECOND,), "It was chosen.", both, 1, design)
    blind, seeing = [*SCORES, *SCORES], [*SCORES, *near([score - 15 for score in SCORES])]
    said = Said(
        now=[results(FIRST, both.items, blind), results(SECOND, both.items, seeing)],
        before={LAST: results(FIRST, both.items, blind)},
        passed=frozenset({"drop:vague_ify"}),
        costs=[None, None],
        answered=[Answered(judge.answered_by) for judge in (FIRST, SECOND)],
    )
    judge, other = review_findings([case], [said], MARGINS)
    assert (judge.recommendation, judge.reason) == (
        "reconsider", "It passed on 2026-01-01 and fails now: drop:vague_ify."
    )  # fmt: skip
    assert other.reason == "It passes what the judge in use fails: drop:vague_ify."
    # A change whose check blocks is enough at the first review: a judge not to be used is not kept.
    blocking = replace(case, design=design.model_copy(update={"decide": BLOCKING}))
    first, _ = review_findings([blocking], [replace(said, before={}, passed=frozenset())], MARGINS)
    assert (first.recommendation, first.verdict) == ("reconsider", CalibrationVerdict.DO_NOT_USE)
    assert first.reason.startswith("Do not use one ")


@pytest.mark.parametrize(
    ("recommendation", "verdict", "result", "headline"),
    [
        ("keep", CalibrationVerdict.USE, Result.PASSES, "keep"),
        ("keep", CalibrationVerdict.CARE, Result.CANNOT_TELL, "keep, use with care; open: drift"),
        ("cannot tell", CalibrationVerdict.CANNOT_TELL, Result.PASSES, "cannot tell"),
    ],
)
def test_a_headline_is_no_stronger_than_verdict_and_checks(
    recommendation, verdict, result, headline
):
    check = {
        "name": "drift", "question": "q", "result": result.value, "reason": "", "action": "",
        "metric": "m",
    }  # fmt: skip
    figures = {
        "judge": "one", "alternative": None, "since": None, "checks": [check], "figures": [],
        "judgements": {"scored": 2}, "missing": 0, "usd_a_judgement": None,
        "verdict": verdict.words,
    }  # fmt: skip
    row = ReviewRow("r", "It was.", figures, recommendation, "", False, FIRST.record.config)
    report = review_report("r", date(2026, 1, 2), [row])
    assert report.page.found == f"one: {headline}."
    untold = recommendation == "cannot tell"
    assert report.results == [Result.CANNOT_TELL if untold else Result.PASSES]
