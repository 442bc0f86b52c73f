"""Recorded judgements as people write them: case, commas, two systems, people beside judges."""

from pathlib import Path

import pytest

from judge_gym.analysis.recorded import Audited, audited
from judge_gym.errors import JudgeGymError
from judge_gym.recorded.derived import Options
from judge_gym.recorded.deriving import derived
from judge_gym.recorded.files import RecordedFiles, recorded_files
from judge_gym.recorded.formats import load_files
from judge_gym.recorded.judged import Recordings
from judge_gym.recorded.mapping import Recorded, stages_rubric
from judge_gym.recorded.reading import read_recorded
from judge_gym.report.recorded import audit_report

BASIS = {
    "name": "made-up", "concept": "quality", "source": "made up", "judge_column": "judge",
    "item": {"key": "item"}, "verdicts": ["verdict"],
}  # fmt: skip
SCALE = {"lowest": 1, "highest": 5}


def mapping(**more: object) -> Recorded:
    return Recorded.model_validate({**BASIS, **more})


def files(folder: Path, content: str, recorded: Recorded) -> RecordedFiles:
    file = folder / "judged.csv"
    file.write_text(content, encoding="utf-8")
    return recorded_files([file], recorded)


def read(folder: Path, content: str, **more: object) -> Recordings:
    recorded = mapping(**more)
    given = files(folder, content, recorded)
    return read_recorded(given, recorded, stages_rubric(recorded).scale_size)


def audit(folder: Path, content: str, **more: object) -> tuple[Audited, list[str]]:
    """Return the audit of a file and what to be careful about."""
    recorded = mapping(**more)
    found = audited(files(folder, content, recorded), recorded, stages_rubric(recorded))
    return found, list(audit_report(found, recorded).summary.cautions)


def verdicts(found: Recordings) -> list[object]:
    return [one.choice for of in found.windows["made-up"].judgements.values() for one in of]


def of_rows(folder: Path, content: str) -> list[Recorded]:
    """Return the mappings of a file that is read without one."""
    file = folder / "plain.csv"
    file.write_text(content, encoding="utf-8")
    kind, loaded = load_files([file])
    return derived(loaded, kind, Options()).readings


def test_a_column_without_a_name_is_none_that_a_mapping_leaves_out(tmp_path: Path) -> None:
    """Pandas writes its index so; without `system` no item has one."""
    file = tmp_path / "a.csv"
    file.write_text(",item,judge,score\n" + "".join(f"{n},q{n},a,{1 + n % 5}\n" for n in range(12)))
    recorded = Recorded.model_validate(
        {
            "name": "a", "concept": "c", "source": "made up", "judge_column": "judge",
            "scale": {"lowest": 1, "highest": 5}, "item": {"key": "item"}, "verdicts": ["score"],
        }
    )  # fmt: skip
    [window] = read_recorded(recorded_files([file], recorded), recorded, 5).windows.values()
    for item in window.items.values():
        assert (item.title, item.text, item.category, item.system) == ("", "", "", "")


@pytest.mark.parametrize(
    ("more", "written", "stages"),
    [
        ({"stages": ["no", "yes"]}, ["Yes", " YES ", "no"], [(2,), (2,), (1,)]),
        ({"stages": ["not ok", "ok"]}, ["Not  OK", "Ok"], [(1,), (2,)]),
        ({"stages": ["0", "1"]}, ["1.0", "0"], [(2,), (1,)]),
        # Stages that differ in case only stay exact.
        ({"stages": ["1", "2"], "decisions": {"a": 1, "A": 2}}, ["A", "a"], [(2,), (1,)]),
        ({"scale": SCALE, "decisions": {"None": "abstained"}}, ["none", "4"], ["abstained", (4,)]),
    ],
)
def test_verdicts_are_matched_whatever_their_case(
    tmp_path: Path, more: dict[str, object], written: list[str], stages: list[object]
) -> None:
    rows = "".join(f"i{at},j,{value}\n" for at, value in enumerate(written))
    assert verdicts(read(tmp_path, f"item,judge,verdict\n{rows}", **more)) == stages


def test_a_verdict_that_two_values_could_be_is_refused(tmp_path: Path) -> None:
    more = {"stages": ["low", "high"], "decisions": {"Ab": 1, "aB": 2}}
    with pytest.raises(JudgeGymError, match="verdict is 'AB'"):
        read(tmp_path, "item,judge,verdict\ni1,j,AB\n", **more)


def test_labels_of_people_are_matched_whatever_their_case(tmp_path: Path) -> None:
    found = read(
        tmp_path, "item,judge,verdict,gold\ni1,j,YES,Yes\ni2,j,no,NO\n",
        stages=["no", "yes"], item={"key": "item", "truth": "gold"},
    )  # fmt: skip
    assert [item.truth for item in found.windows["made-up"].items.values()] == [2, 1]


def test_all_rows_that_describe_an_item_otherwise_or_are_copies_are_named_at_once(
    tmp_path: Path,
) -> None:
    rows = "i1,a,yes,yes\ni1,b,yes,no\ni2,a,no,no\ni2,b,no,yes\ni2,a,no,no\n"
    with pytest.raises(JudgeGymError) as caught:
        read(
            tmp_path, f"item,judge,verdict,gold\n{rows}",
            stages=["no", "yes"], item={"key": "item", "truth": "gold"},
        )  # fmt: skip
    for line in ("line 3: item 'i1': gold is 'no' here and 'yes' above", "line 5: item 'i2'"):
        assert line in caught.value.message
    assert "line 6: the row is a copy of line 4" in caught.value.message
    assert "Give an item one description" in caught.value.remedy


def test_rows_with_other_scores_are_named_beside_copies(tmp_path: Path) -> None:
    """All repeats at once: whoever removes the copies would find the others next."""
    rows = "".join(f"i{n},j,{1 + n % 5}\n" for n in range(10))
    copies, others = "i1,j,2\ni2,j,3\n", "i3,j,1\n"
    with pytest.raises(JudgeGymError) as error:
        read(tmp_path, f"item,judge,verdict\n{rows}{copies}{others}", scale=SCALE)
    assert "judged.csv line 13: the row is a copy of line 4" in str(error.value)
    assert "1 row more has an item and a judge of an earlier row" in str(error.value)
    assert "judged.csv line 14" in str(error.value)
    with pytest.raises(JudgeGymError) as error:
        read(tmp_path, f"item,judge,verdict\n{rows}{copies}", scale=SCALE)
    assert "of an earlier row" not in str(error.value)
    found = read(tmp_path, f"item,judge,verdict\n{rows}{others}", scale=SCALE)
    assert len(found.unread.again) == 1


def test_an_item_that_two_systems_answered_is_two(tmp_path: Path) -> None:
    rows = "q1,j,5,v1,4\nq1,j,3,v2,3\nq2,j,2,v1,2\n"
    found = read(
        tmp_path, f"item,judge,verdict,model,gold\n{rows}",
        scale=SCALE, item={"key": "item", "system": "model", "truth": "gold"},
    ).windows["made-up"]  # fmt: skip
    assert {key: (item.system, item.truth) for key, item in found.items.items()} == {
        "q1 · v1": ("v1", 4), "q1 · v2": ("v2", 3), "q2 · v1": ("v1", 2),
    }  # fmt: skip
    [given] = found.judgements.values()
    assert [(one.item, one.choice) for one in given] == [
        ("q1 · v1", (5,)), ("q1 · v2", (3,)), ("q2 · v1", (2,)),
    ]  # fmt: skip
    # Without a key of several systems, items keep their names.
    alone = read(
        tmp_path, "item,judge,verdict,model\nq1,j,5,v1\nq2,j,3,v2\n",
        scale=SCALE, item={"key": "item", "system": "model"},
    )  # fmt: skip
    assert list(alone.windows["made-up"].items) == ["q1", "q2"]


def test_items_of_two_systems_may_be_described_in_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item,model,gold\nq1,v1,4\nq1,v2,2\n")
    item = {"key": "item", "system": "model", "truth": "gold", "file": "items.csv"}
    rows = "q1,j,4,v2\nq1,j,5,v1\n"
    found = read(tmp_path, f"item,judge,verdict,model\n{rows}", scale=SCALE, item=item)
    items = found.windows["made-up"].items
    assert {key: one.truth for key, one in items.items()} == {"q1 · v2": 2, "q1 · v1": 4}
    with pytest.raises(JudgeGymError, match=r"model is 'v3', and .* has no item 'q1' of it"):
        read(tmp_path, "item,judge,verdict,model\nq1,j,4,v3\n", scale=SCALE, item=item)


def test_a_pair_stays_one_item_whichever_system_is_shown_first(tmp_path: Path) -> None:
    rows = "p1,j,A,0,v1\np1,j,B,1,v2\n"
    with pytest.raises(JudgeGymError, match="model is 'v2' here and 'v1' above"):
        read(
            tmp_path, f"item,judge,verdict,swapped,model\n{rows}", stages=["A", "B"],
            swapped_column="swapped", item={"key": "item", "system": "model"},
        )  # fmt: skip


def test_names_of_judges_that_differ_only_in_case_are_named_and_can_be_merged(
    tmp_path: Path,
) -> None:
    rows = "i1,GPT four,5\ni2,GPT FOUR ,4\ni3,GPT four,3\ni1,claude,2\n"
    content = f"item,judge,verdict\n{rows}"
    found, cautions = audit(tmp_path, content, scale=SCALE)
    assert len(found.experiments) == 3
    [caution] = [one for one in cautions if "only in case" in one]
    assert "'GPT four' (2) and 'GPT FOUR' (1)" in caution
    assert "`names: {GPT FOUR: GPT four}`" in caution
    merged, cautions = audit(tmp_path, content, scale=SCALE, names={"GPT FOUR": "GPT four"})
    assert len(merged.experiments) == 2
    assert not any("only in case" in one for one in cautions)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_decimal_comma_is_read_where_no_comma_separates(tmp_path: Path, separator: str) -> None:
    lines = [("item", "judge", "score", "truth"), ("i1", "j", "4,0", "4"), ("i2", "j", "1,0", "1"),
             ("i3", "j", "'5", "5"), ("i4", "j", " 3,0\u00a0", "2")]  # fmt: skip
    content = "\n".join(map(separator.join, lines))
    [recorded] = of_rows(tmp_path, content)
    assert recorded.scale is not None
    assert (recorded.scale.lowest, recorded.scale.highest) == (1, 5)
    more = {"scale": SCALE, "verdicts": ["score"], "item": {"key": "item", "truth": "truth"}}
    assert verdicts(read(tmp_path, content, **more)) == [(4,), (1,), (5,), (3,)]


def test_decimal_commas_and_points_in_one_column_are_refused(tmp_path: Path) -> None:
    with pytest.raises(JudgeGymError) as caught:
        read(tmp_path, "item;judge;verdict\ni1;j;1,5\ni2;j;1.5\n", scale=SCALE)
    assert "judged.csv: verdict has numbers with a decimal comma (line 2)" in caught.value.message
    assert "with a point (line 3)" in caught.value.message


def test_a_comma_between_separated_values_is_no_decimal_comma(tmp_path: Path) -> None:
    with pytest.raises(JudgeGymError) as caught:
        of_rows(tmp_path, 'item,judge,score\ni1,j,"1,5"\ni2,j,"2,5"\n')
    assert "plain.csv line 2" in caught.value.message
    assert "decimal comma" in caught.value.remedy


ANSWERS = """item,judge,answer
i1,j,Clear. Rating: 4.0
i2,j,It is fine. Rating: 4.5
i3,j,"The text says ""Rating: 2"" and no more."
i4,j,No idea at all
i5,j,Nothing to say\x1b[31m
i6,j,Rating: 4 or Rating: 5
i7,k,Rating: 3
"""


def test_each_reason_of_unreadable_answers_is_shown_with_two_of_them(tmp_path: Path) -> None:
    forms = {f"Rating: {stage}": stage for stage in range(1, 6)}
    found, cautions = audit(
        tmp_path, ANSWERS, scale=SCALE, verdicts=(), answers=["answer"], answer_forms=forms
    )
    statuses = found.data.samples.status.tolist()
    assert statuses.count("scored") == 2
    said = [one for one in cautions if "unreadable" in one]
    without = next(one for one in said if "none of the declared forms" in one)
    assert without.startswith("2 answers unreadable")
    assert "(j: 2 of 6)" in without
    assert "j on i4 (line 5) has 'No idea at all'" in without
    assert "\\x1b" in without
    assert "\x1b" not in without
    for place in ("i2 (line 3)", "i3 (line 4)", "i6 (line 7)"):
        assert sum(place in one for one in said) == 1
    assert not any("other reasons" in one for one in cautions)
    assert found.too_few is not None
    assert "other reasons" not in found.too_few.message


THOUGHTS = """item,judge,answer
i1,j,"<think>Maybe Rating: 3, or 4.</think> Rating: 4"
i2,j,"<think>Maybe Rating: 3"
i3,j,"Maybe Rating: 3

</think>

Rating: 5. It is short."
i4,j,"Rating: 2. It ends in <think>Rating: 1"
"""

TURNS = """item,judge,answer
i1,j,"It is short. Rating: 4<|im_end|>
<|im_start|>user
And the next one?<|im_end|>
<|im_start|>assistant
Rating: 1"
i2,j,"<|im_end|> is left in it, which costs a point. Rating: 2"
"""


def test_what_a_judge_made_up_after_its_turn_is_no_verdict(tmp_path: Path) -> None:
    forms = {f"Rating: {stage}": stage for stage in range(1, 6)}
    how = {"scale": SCALE, "verdicts": (), "answers": ["answer"]}
    found, _ = audit(tmp_path, TURNS, **how, answer_forms=forms)
    # Bit sets: stage 4 is 8, stage 2 is 2.
    assert sorted(found.data.samples.stages.tolist()) == [2, 8]


def test_what_a_judge_thought_before_its_answer_is_no_verdict(tmp_path: Path) -> None:
    forms = {f"Rating: {stage}": stage for stage in range(1, 6)}
    how = {"scale": SCALE, "verdicts": (), "answers": ["answer"]}
    found, cautions = audit(tmp_path, THOUGHTS, **how, answer_forms=forms)
    # Bit sets: stage 4 is 8, stage 5 is 16.
    assert sorted(found.data.samples.stages.tolist()) == [0, 0, 8, 16]
    said = " ".join(cautions)
    assert "1 answer unreadable: there is no answer after the thinking" in said
    assert "j on i4" in said
    alone = THOUGHTS.replace("Rating: 4", "4").replace("Rating: 5. It is short.", "5/5")
    found, _ = audit(tmp_path, alone, **how)
    assert sorted(found.data.samples.stages.tolist()) == [0, 0, 8, 16]


def test_a_pattern_is_its_form_for_every_verdict(tmp_path: Path) -> None:
    forms = {f"Rating: {stage}": stage for stage in range(1, 6)}
    given = [
        audit(tmp_path, ANSWERS, scale=SCALE, verdicts=(), answers=["answer"], **how)
        for how in ({"answer_forms": forms}, {"answer_patterns": ["Rating: {verdict}"]})
    ]
    statuses, scores = (
        [getattr(found.data.samples, name).tolist() for found, _ in given]
        for name in ("status", "stages")
    )
    assert statuses[0] == statuses[1]
    assert scores[0] == scores[1]
    assert given[0][1] == given[1][1]
    with pytest.raises(ValueError, match=r"without \{verdict\}"):
        audit(
            tmp_path,
            ANSWERS,
            scale=SCALE,
            verdicts=(),
            answers=["answer"],
            answer_patterns=["Rating: 4"],
        )


def test_whole_answers_taken_for_verdicts_are_refused_with_the_way_to_read_them(
    tmp_path: Path,
) -> None:
    with pytest.raises(JudgeGymError) as refused:
        audit(tmp_path, ANSWERS, scale=SCALE, verdicts=["answer"])
    assert "answers: [answer]" in refused.value.remedy
    assert "answer_patterns" in refused.value.remedy


def test_of_a_long_answer_a_hundred_characters_are_shown(tmp_path: Path) -> None:
    long = "word " * 200 + "Rating: 9" + " word" * 200
    _, cautions = audit(
        tmp_path, f"item,judge,answer\ni1,j,{long}\ni2,j,Rating: 2\n", scale=SCALE, verdicts=(),
        answers=["answer"], answer_forms={f"Rating: {stage}": stage for stage in range(1, 6)},
    )  # fmt: skip
    [caution] = [one for one in cautions if "unreadable" in one]
    shown = caution.partition(" has ")[2]
    assert "Rating: 9" in shown
    assert shown.startswith("…'")
    assert len(shown) <= 105


@pytest.mark.parametrize(
    ("column", "scores", "doubted"),
    [
        ("Score (1-5)", [1, 4, 5], True),
        ("score", [1, 2, 3, 4, 5] * 3, True),
        ("score", [1, 4, 5], False),
        ("score", [1, 2, 3, 4, 5, 6] * 3, False),
        ("Score (1-10)", [1, 2, 3], False),
    ],
)
def test_a_scale_that_ends_above_all_scores_is_doubted(
    tmp_path: Path, column: str, scores: list[int], doubted: bool
) -> None:
    rows = "".join(f"i{at},j,{score}\n" for at, score in enumerate(scores))
    _, cautions = audit(
        tmp_path, f"item,judge,{column}\n{rows}", scale={"lowest": 1, "highest": 10},
        verdicts=[column],
    )  # fmt: skip
    said = [one for one in cautions if "`highest: 10`" in one]
    assert len(said) == doubted
    assert all(column in one and "no value above 5" in one for one in said)


@pytest.mark.parametrize(
    ("highest", "labels", "doubted"),
    [
        (10, [1, 2, 3, 4, 5] * 3, True),
        (5, [0, 1] * 8, True),
        (10, [1, 2, 3, 4, 5, 6] * 3, False),
        # Few labels, or those of a skewed set, may lack the upper half.
        (10, [1, 4, 5], False),
        (10, [1, 2, 3, 4] * 4, False),
    ],
)
@pytest.mark.parametrize("in_a_file", [False, True])
def test_labels_that_end_below_all_scores_may_be_of_another_scale(
    tmp_path: Path, highest: int, labels: list[int], doubted: bool, in_a_file: bool
) -> None:
    rows = "".join(
        f"i{at},j,{1 + at % highest if at else highest},{label}\n"
        for at, label in enumerate(labels)
    )
    more: dict[str, object] = {"item": {"key": "item", "truth": "label"}}
    if in_a_file:
        written = "".join(f"i{at},{label}\n" for at, label in enumerate(labels))
        (tmp_path / "labels.csv").write_text(f"item,label\n{written}")
        more = {"labels": {"file": "labels.csv", "label": "label"}}
    _, cautions = audit(
        tmp_path, f"item,judge,verdict,label\n{rows}",
        scale={"lowest": min(labels), "highest": highest}, **more,
    )  # fmt: skip
    said = [one for one in cautions if "of two scales" in one]
    assert len(said) == doubted
    assert all(f"label has no value above {max(labels)}, and verdict has" in one for one in said)


@pytest.mark.parametrize("in_a_file", [False, True])
def test_truths_bring_labels_of_another_scale_to_that_of_judges(
    tmp_path: Path, in_a_file: bool
) -> None:
    """Labels from 0 to 4 are those from 1 to 5, with their distances and means."""

    def figures(lowest: int, **more: object) -> list[object]:
        labels = [str(lowest + (n * n) % 5) for n in range(40)]
        item: dict[str, object] = {"key": "item", "system": "system"}
        rows = [f"i{n},j,{1 + n % 5},{n % 2},{label}" for n, label in enumerate(labels)]
        if in_a_file:
            written = "\n".join(f"i{n},{label}" for n, label in enumerate(labels))
            (tmp_path / "labels.csv").write_text(f"item,label\n{written}\n")
            more["labels"] = {"file": "labels.csv", "label": "label"}
        else:
            item["people"] = ["human"]
        content = "\n".join(["item,judge,verdict,system,human", *rows])
        found, _ = audit(tmp_path, content, scale=SCALE, item=item, **more)
        return [(row.metric, row.scope, row.estimate) for row in found.rows]

    truths = {str(label): label + 1 for label in range(5)}
    shifted = figures(0, truths=truths)
    assert "system_bias" in {metric for metric, _, _ in shifted}
    assert shifted == figures(1)


def test_empty_answers_are_said_once(tmp_path: Path) -> None:
    rows = "".join(f"i{at},j,{'' if at % 2 else 3}\n" for at in range(40))
    _, cautions = audit(tmp_path, f"item,judge,verdict\n{rows}", scale=SCALE)
    about = [one for one in cautions if "unreadable" in one or "could not be read" in one]
    assert about == [
        "20 empty answers count as unreadable (j: 20 of 40). The first: j on i1 (line 3)."
    ]


def test_one_person_beside_judges_in_one_file_knows_the_answers(tmp_path: Path) -> None:
    rows = "".join(f"i{at},{who},{1 + at % 5}\n" for at in range(10) for who in ("gpt", "Ann"))
    found, _ = audit(tmp_path, f"item,judge,verdict\n{rows}", scale=SCALE, people={"judge": "Ann"})
    [accuracy] = [row for row in found.rows if row.metric == "accuracy"]
    assert (accuracy.estimate, accuracy.n_items) == (1.0, 10)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("gpt-4", "human"), "human may be a person"),
        (("gpt-4", "annotator 1", "annotator 2"), "annotator 1, annotator 2 may be people"),
        (("rater 1", "rater 2"), ""),
        (("gpt-4", "claude"), ""),
    ],
)
def test_judges_that_may_be_people_are_told(
    tmp_path: Path, names: tuple[str, ...], told: str
) -> None:
    rows = "".join(f"i{at},{who},{1 + at % 5}\n" for at in range(10) for who in names)
    _, cautions = audit(tmp_path, f"item,judge,verdict\n{rows}", scale=SCALE)
    assert [told in one for one in cautions if "may be a" in one or "may be people" in one] == (
        [True] if told else []
    )


@pytest.mark.parametrize(("column", "told"), [("Criterion", True), ("remark", False)])
def test_criteria_that_are_pooled_as_repeats_are_told(
    tmp_path: Path, column: str, told: bool
) -> None:
    rows = "".join(f"i{at},j,{1 + at % 5},{what}\n" for at in range(10) for what in ("a", "b"))
    content = f"item,judge,verdict,{column}\n{rows}"
    _, cautions = audit(tmp_path, content, scale=SCALE)
    assert sum("over all 2 values of Criterion" in one for one in cautions) == told
    if told:
        _, cautions = audit(tmp_path, content, scale=SCALE, only={column: "a"})
        assert not any("values of Criterion" in one for one in cautions)
    labelled = content.replace(",a\n", ",a,1\n").replace(",b\n", ",b,2\n")
    labelled = labelled.replace(f",{column}\n", f",{column},label\n")
    with pytest.raises(JudgeGymError, match="label is 2 here and 1 above") as caught:
        read(tmp_path, labelled, scale=SCALE, item={"key": "item", "truth": "label"})
    assert ("only: {Criterion: ...}" in str(caught.value.remedy)) == told


@pytest.mark.parametrize(
    ("scores", "refused"),
    [
        (["0", "250", "500", "1.000"], True),
        (["100", "1,000"], True),
        (["100", "12.000.000"], True),
        # Three decimals, and marks of a scale that has no hundreds.
        (["100", "1.000", "0.250"], False),
        (["1", "2", "1.000"], False),
        (["100", "99,5"], False),
    ],
)
def test_a_mark_that_may_separate_thousands_is_refused(
    tmp_path: Path, scores: list[str], refused: bool
) -> None:
    rows = "".join(f"i{at};j;{score}\n" for at, score in enumerate(scores))
    how = {"scale": {"lowest": 0, "highest": 2000}, "unlisted": "unreadable"}
    if not refused:
        read(tmp_path, f"item;judge;verdict\n{rows}", **how)
        return
    with pytest.raises(JudgeGymError, match=rf"\(line {1 + len(scores)}\).* a thousand"):
        read(tmp_path, f"item;judge;verdict\n{rows}", **how)


def test_people_beside_judges_in_one_file_are_labels(tmp_path: Path) -> None:
    rows = "".join(
        f"i{at},gpt,model,{verdict}\ni{at},Ann,Human,{verdict}\ni{at},bo,human,{other}\n"
        for at, (verdict, other) in enumerate([("yes", "Yes"), ("no", "yes"), ("no", "no")] * 4)
    )
    found, _ = audit(
        tmp_path, f"item,judge,kind,verdict\n{rows}", stages=["no", "yes"],
        people={"kind": "human"},
    )  # fmt: skip
    assert [judging.judge for _, judging in found.experiments] == ["gpt"]
    [people] = found.data.people
    assert sorted(set(people.annotator)) == ["Ann", "bo"]
    assert len(people.annotator) == 24
    # The judge differs from ann never and from bo on a third: 1/6 of labels.
    [far] = [row for row in found.rows if row.metric == "people_distance"]
    assert far.estimate == pytest.approx(1 / 6)


def test_rows_that_describe_an_item_alike_but_for_the_kind_of_a_value_differ(
    tmp_path: Path,
) -> None:
    """True and 1 are equal to Python, and an absent column is no empty one."""
    recorded = mapping(scale=SCALE, item={"key": "item", "text": "text"})
    file = tmp_path / "judged.jsonl"
    row = '{{"item": "{}", "judge": "{}", "verdict": 4, "text": {}}}\n'
    file.write_text(row.format("a", "j", "true") + row.format("b", "j", "1"))
    found = read_recorded(recorded_files([file], recorded), recorded, 5)
    assert [one.text for one in found.windows["made-up"].items.values()] == ["true", "1"]
    file.write_text(row.format("a", "j", "null") + '{"item": "a", "judge": "k", "verdict": 4}\n')
    with pytest.raises(JudgeGymError, match="there is no 'text'"):
        read_recorded(recorded_files([file], recorded), recorded, 5)


def test_a_column_whose_name_has_a_dot_tells_items_apart(tmp_path: Path) -> None:
    found = read(tmp_path, "item.id,judge,verdict\na,j,4\nb,j,5\n", scale=SCALE,
                 item={"key": "item.id"})  # fmt: skip
    assert list(found.windows["made-up"].items) == ["a", "b"]


def test_more_items_than_a_sweep_has_are_read(tmp_path: Path) -> None:
    rows = "".join(f"q{number},j,{1 + number % 5}\n" for number in range(10_050))
    found, _ = audit(tmp_path, f"item,judge,verdict\n{rows}", scale=SCALE)
    (mean,) = [row for row in found.rows if row.metric == "mean_score" and not row.scope.get("x")]
    assert (mean.n_items, mean.estimate) == (10_050, pytest.approx(0.5, abs=1e-3))


def test_a_column_of_failures_that_is_not_read_is_named_with_how_to_leave_them_out(
    tmp_path: Path,
) -> None:
    content = "item,judge,verdict,Status\n" + "".join(
        f"i{n},j,{n % 5 + 1},{'Error' if n % 4 == 0 else 'ok'}\n" for n in range(20)
    )
    _, cautions = audit(tmp_path, content, scale=SCALE)
    [said] = [one for one in cautions if "'Error' in 5 rows" in one]
    assert "only: {Status: ok}" in said
    _, cautions = audit(tmp_path, content, scale=SCALE, only={"Status": "ok"})
    assert not any("'Error'" in one for one in cautions)
    # A remark that has such a word is none.
    _, cautions = audit(tmp_path, content.replace("Status", "Remark"), scale=SCALE)
    assert not any("'Error'" in one for one in cautions)
