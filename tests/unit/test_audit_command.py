"""`judge-gym audit` as typed: no database, pairs and grades, unreadable answers, people."""

import csv
import json
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from judge_gym.recorded.mapped_columns import ItemColumns
from judge_gym.recorded.mapping import Recorded
from support.command_line import REPOSITORY, CommandLine
from support.documents import blocks
from support.references import SHARED

RUBRICS = REPOSITORY / "deployments" / "recorded"
PAIRS = f"""\
name: pairs
concept: better answer
country: general
source: a made-up benchmark
rubric: {RUBRICS}/winner.yaml
judge_column: judge
wording_column: wording
swapped_column: swapped
item: {{key: pair, truth: better}}
truths: {{A: 1, B: 2}}
verdicts: [{{column: winner, own_order: true}}]
decisions: {{A: 1, B: 2}}
"""
GRADES = """\
name: grades
concept: helpful answer
country: general
source: a made-up log
rubric: rubric.yaml
judge_column: judge
item: {key: answer, people: [ann, ben]}
truths: {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5}
verdicts: [grade]
decisions: {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5}
"""
LABELS = ("Useless", "Weak", "Ambiguous / Mixed Evidence", "Good", "Excellent")


@pytest.fixture
def command(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path, in_process=True)


def page_of(command: CommandLine, name: str) -> Path:
    [page] = (command.data / "reports").glob(f"audit-*-{name}.html")
    return page


def pairs(command: CommandLine, readable: int) -> tuple[str, ...]:
    """Write 20 pairs under two wordings, of which `good` answers this many, always right.

    `poor` is right on every fourth pair.
    """
    lines = ["pair,judge,wording,swapped,winner,better"]
    for pair in range(20):
        better, worse = "AB" if pair % 2 else "BA"
        for wording in ("plain", "curt"):
            for swapped in ("no", "yes"):
                good = better if pair < readable else ""
                lines.append(f"p{pair},good,{wording},{swapped},{good},{better}")
                poor = worse if pair % 4 else better
                lines.append(f"p{pair},poor,{wording},{swapped},{poor},{better}")
    (command.folder / "pairs.csv").write_text("\n".join(lines))
    (command.folder / "mapping.yaml").write_text(PAIRS)
    return ("audit", "pairs.csv", "--mapping", "mapping.yaml")


def test_pairs_of_one_order_are_not_counted_as_of_both(command: CommandLine) -> None:
    typed = pairs(command, readable=20)
    # Of each wording `poor` lacks both orders of p0, the swapped order of p4 and of p5. It is right
    # on every fourth pair: of those in both orders on p8, p12 and p16.
    file = command.folder / "pairs.csv"
    lines = file.read_text().split("\n")
    less = ("p0,poor", "p4,poor,plain,yes", "p4,poor,curt,yes", "p5,poor,plain,yes")
    kept = [line for line in lines if not line.startswith(less)]
    file.write_text("\n".join(kept))
    opening = " ".join(command(*typed).fine().output.split())
    assert (
        "Right most often: good, on 1.00 [0.84, 1.00] of its 80 judgements of 20 pairs." in opening
    )
    assert "153 judgements of 20 pairs, up to 2 wordings" in opening
    assert "Not judged in both orders, of 20 pairs: poor 2 to 3." in opening
    found = {
        row["scope"]["wording"]: (row["estimate"], row["n_items"])
        for row in json.loads(command(*typed, "--json").fine().output)["figures"]
        if row["metric"] == "accuracy_both_orders" and row["scope"]["judge"] == "poor"
    }
    assert found == {"plain": (3 / 17, 17), "curt": (3 / 18, 18)}
    file.write_text("\n".join(line for line in lines if ",yes," not in line))
    opening = " ".join(command(*typed).fine().output.split())
    assert "80 judgements of 20 pairs, each in one order, up to 2 wordings" in opening


@pytest.mark.parametrize(
    ("same", "alpha", "said"),
    [
        # 80 scores, half of them 1: expected disagreement 2·40·40/(80·79), observed 1 - same/40.
        (36, 1 - 4 / 40 * 79 / 40, "agree beyond chance"),
        (20, 1 - 20 / 40 * 79 / 40, "are not shown to agree beyond chance"),
        (4, 1 - 36 / 40 * 79 / 40, "agree less than by chance"),
    ],
)
def test_judges_that_agree_less_than_by_chance_are_not_said_to_agree_beyond_it(
    command: CommandLine, same: int, alpha: float, said: str
) -> None:
    lines = ["item,judge,score"]
    for n in range(40):
        other = n % 2 if n < same else 1 - n % 2
        lines += [f"i{n},a,{n % 2}", f"i{n},b,{other}"]
    (command.folder / "scores.csv").write_text("\n".join(lines))
    shown = " ".join(command("audit", "scores.csv").fine().output.split())
    assert f"judges {said}" in shown
    assert f"Krippendorff's α of {alpha:.2f} [" in shown
    assert ("may be reversed" in shown) is (alpha < -0.1)


@pytest.mark.parametrize(
    ("reversed_by", "said"),
    [
        # The mean of a and b is that of a, whose ranks c turns round. That of b and c is constant.
        ("c", "rank correlation with the mean of the others: c -1.00."),
        # Of two judges nothing says which.
        ("b", "The scale of one may be reversed, or"),
    ],
)
def test_a_judge_whose_scale_is_reversed_is_named_where_others_tell(
    command: CommandLine, reversed_by: str, said: str
) -> None:
    judges = "abc" if reversed_by == "c" else "ab"
    lines = ["item,judge,score"]
    for n in range(50):
        score = n % 5 + 1
        lines += [
            f"i{n},{judge},{6 - score if judge == reversed_by else score}" for judge in judges
        ]
    (command.folder / "scores.csv").write_text("\n".join(lines))
    shown = " ".join(command("audit", "scores.csv").fine().output.split())
    assert "judges agree less than by chance" in shown
    assert said in shown


@pytest.mark.parametrize("turned", ["b", "abc", ""])
def test_judges_whose_scale_runs_against_the_labels_are_named(
    command: CommandLine, turned: str
) -> None:
    """Of two systems; judges and people err on some items, each on others."""
    lines = ["item,system,a,b,c,human"]
    for n in range(60):
        label = 1 + n * 7 % 5
        given = [max(1, min(5, label + (n % step == 0))) for step in (3, 4, 5)]
        scores = [6 - one if judge in turned else one
                  for judge, one in zip("abc", given, strict=True)]  # fmt: skip
        lines.append(f"i{n},{'xy'[n % 2]},{','.join(map(str, scores))},{label}")
    (command.folder / "s.csv").write_text("\n".join(lines))
    shown = command("audit", "s.csv", "--judges", "a,b,c", "--yes", "--json").fine()
    found = json.loads(shown.output)
    said = [one for one in found["careful"] if "may run the other way" in one]
    assert [judge for judge in "abc" if any(f" {judge} -" in one for one in said)] == [*turned]
    votes = [one for one in found["figures"] if one["metric"] == "effective_votes"]
    assert all((one["estimate"] is None) == bool(turned) for one in votes)
    assert votes


def test_distances_from_people_are_of_judges_too_where_systems_are_ranked(
    command: CommandLine,
) -> None:
    # Of 1 to 5: near is a step off on a half of the answers, far two steps on all; ann and ben are
    # a step apart on every fourth.
    lines = ["item,system,question,near,far,ann,ben"]
    for n in range(48):
        label = 2 + n // 2 % 2
        ben = label - (n % 4 == 0)
        lines.append(f"i{n},{'xy'[n % 2]},q{n // 2},{label + n % 2},{label + 2},{label},{ben}")
    (command.folder / "scores.csv").write_text("\n".join(lines))
    (command.folder / "mapping.yaml").write_text(
        "name: made-up\nconcept: c\nsource: s\nscale: {lowest: 1, highest: 5}\n"
        "judge: '{column}'\nverdicts: [near, far]\n"
        "item: {key: item, people: [ann, ben], question: question, system: system}\n"
    )
    typed = ("audit", "scores.csv", "--mapping", "mapping.yaml")
    shown = " ".join(command(*typed).fine().output.split())
    assert "near ranks 2 systems" in shown
    # From ann 0 or 1 step, from ben 1 more on every fourth: 1/2 + 1/8 steps of 4.
    far, near = (2 + 1 / 8) / 4, (1 / 2 + 1 / 8) / 4
    assert f"from people's labels: far {far:.2f} [" in shown
    assert f", near {near:.2f} [" in shown
    assert "One person from the others: 0.06." in shown


def test_pairs_are_audited_without_a_database(command: CommandLine) -> None:
    typed = pairs(command, readable=20)
    shown = command(*typed, "--picture", "docs/right.svg").fine().output
    # Right on all of 20 pairs: Wilson's interval of 20 of 20. Right on 5: 19 effective pairs, and
    # the t quantile of 19 degrees of freedom, (0.365 ± 0.238) / 1.231.
    assert "100 [84, 100]" in shown
    assert "25 [10, 49]" in shown
    assert "the same over all orders and wordings for 1 of 1 pair of judges" in shown.replace(
        "\n", " "
    )
    assert "UNREADABLE" not in shown
    assert (
        "1 of 2 judges is right more often than a coin"
        in (command.folder / "docs" / "right.svg").read_text()
    )
    assert page_of(command, "pairs").exists()
    assert not (command.data / "postgres").exists()


def test_a_judge_with_few_readable_answers_fails_the_audit_and_the_page_says_so_first(
    command: CommandLine,
) -> None:
    typed = pairs(command, readable=9)
    ended = command(*typed)
    assert ended.code == 1
    warning = "good, wording curt: 18 of 40 answers readable"
    assert warning in ended.output.split("Audit of recorded pairs")[0]
    assert "The page is written." in ended.errors
    page = page_of(command, "pairs").read_text()
    assert warning in page.split("<header>")[0]
    assert command(*typed, "--allow-unreadable").code == 0


def rubric_of_grades() -> str:
    """The rubric that `GRADES` names."""
    stages = "".join(
        f"  - label: {label}\n"
        f"    criteria: [It is {label}., Kept {n} of 5 parts., It has {5 - n} faults.]\n"
        for n, label in enumerate(LABELS, start=1)
    )
    return f"stages:\n{stages}reasoning: From 1 to 5.\n"


def test_grades_are_audited_beside_the_people_of_the_same_file(command: CommandLine) -> None:
    (command.folder / "rubric.yaml").write_text(rubric_of_grades())
    lines = ["answer,judge,grade,ann,ben"]
    for answer in range(40):
        ann = 1 + answer % 4
        # ben is always one above ann; near says what ann says, far is two above.
        lines += [
            f"a{answer},near,{ann},{ann},{ann + 1}",
            f"a{answer},far,{min(ann + 2, 5)},{ann},{ann + 1}",
        ]
    (command.folder / "grades.csv").write_text("\n".join(lines))
    (command.folder / "mapping.yaml").write_text(GRADES)
    shown = " ".join(
        command("audit", "grades.csv", "--mapping", "mapping.yaml").fine().output.split()
    )
    # near: (0 + 1)/2 grades of 4; far: (2 + 1)/2, but (1 + 0)/2 for every fourth answer.
    assert "far 0.31 [" in shown
    assert "near 0.12" in shown
    assert "One person from the others: 0.25." in shown
    assert "no labels of people" not in shown
    assert "whether judges or people are right (no known answers)" in shown
    refused = command("audit", "grades.csv", "--mapping", "mapping.yaml", "--picture", "x.svg")
    assert refused.code == 2
    assert "There is no picture" in refused.errors


def test_a_majority_of_two_people_states_the_items_on_which_they_agree(
    command: CommandLine,
) -> None:
    # ben differs from ann on every fourth of 40 answers; gpt leaves two of the others empty.
    lines = ["answer,gpt,claude,ann_human,ben_human"]
    for answer in range(40):
        ann = 1 + answer % 5
        ben = 1 + ann % 5 if answer % 4 == 0 else ann
        gpt = "" if answer in (1, 2) else str(ann)
        lines.append(f"a{answer},{gpt},{1 + ann % 5},{ann},{ben}")
    (command.folder / "grades.csv").write_text("\n".join(lines))
    ended = command("audit", "grades.csv", "--yes", "--all").fine()
    table = ended.output.split("Audit of recorded judgements")[1]
    cells = {line.split()[0]: line.split() for line in reversed(table.splitlines()) if line}
    # People agree on 30 answers, of which gpt has 28.
    assert "30" in cells["claude"]
    assert "28" in cells["gpt"]
    assert "over 38 items" in " ".join(table.split())
    assert "three people" not in ended.output


def test_items_with_a_label_of_one_person_alone_are_counted(command: CommandLine) -> None:
    # Of 40 answers ann has 30 and ben 30: 24 have both, 12 one, and 4 none.
    lines = ["answer,gpt,claude,ann_human,ben_human"]
    for n in range(40):
        ann, ben = ("" if n < 10 else 1 + n % 5), ("" if n < 4 or n >= 34 else 1 + n % 5)
        lines.append(f"a{n},{1 + n % 5},{1 + n % 3},{ann},{ben}")
    (command.folder / "grades.csv").write_text("\n".join(lines))
    shown = " ".join(command("audit", "grades.csv", "--yes", "--all").fine().output.split())
    said = "12 of 36 labelled items have labels of one person alone"
    assert said in shown
    assert said in " ".join(page_of(command, "grades").read_text().split())
    (command.folder / "all.csv").write_text("\n".join(lines[:1] + lines[11:35] + lines[40:]))
    assert "1 of 25 labelled items has a label of one person alone" in " ".join(
        command("audit", "all.csv", "--yes", "--all").fine().output.split()
    )
    (command.folder / "both.csv").write_text("\n".join(lines[:1] + lines[11:35]))
    both = command("audit", "both.csv", "--yes", "--all").fine().output
    assert "of one person alone" not in " ".join(both.split())


def test_an_order_that_is_not_declared_is_suspected_and_its_column_named(
    command: CommandLine,
) -> None:
    # always right: first when as given, second when swapped
    rows = [
        f"p{pair},good,{swapped},{place},A"
        for pair in range(20)
        for swapped, place in (("no", "A"), ("yes", "B"))
    ]
    (command.folder / "pairs.csv").write_text(
        "\n".join(["pair,judge,swapped,winner,better", *rows])
    )
    undeclared = PAIRS.replace("wording_column: wording\nswapped_column: swapped\n", "")
    (command.folder / "mapping.yaml").write_text(undeclared.replace(", own_order: true", ""))
    shown = command("audit", "pairs.csv", "--mapping", "mapping.yaml").fine().output
    said = " ".join(shown.split())
    assert "20 of 20 items have opposite verdicts by good" in said
    assert "Columns that the mapping does not read: swapped." in said


@pytest.mark.parametrize("order", ["AB,BA", "plain,swapped"])
def test_winners_in_two_orders_get_a_mapping_that_reads_both(
    command: CommandLine, order: str
) -> None:
    """The first text wins 15 of 20 pairs: shown second, its verdict is B."""
    rows = [
        f"p{pair},good,{shown},{'A' if pair % 4 else 'B'}"
        if shown == order.split(",")[0]
        else f"p{pair},good,{shown},{'B' if pair % 4 else 'A'}"
        for pair in range(20)
        for shown in order.split(",")
    ]
    (command.folder / "pairs.csv").write_text("\n".join(["item,judge,order,verdict", *rows]))
    refused = command("audit", "pairs.csv")
    assert refused.code != 0
    (command.folder / "mapping.yaml").write_text(refused.errors.partition("\n\n")[2])
    shown = command("audit", "pairs.csv", "--mapping", "mapping.yaml").fine().output
    assert "40 judgements by 1 judge of 20 pairs." in shown
    # 5 of 20 are won by the second, and nothing depends on the order.
    assert re.search(r"^good +0\.25 \[\S+ \S+\] +0\.00 ", shown, re.M), shown


@pytest.mark.parametrize(("again", "said"), [(lambda n: 4 - n, True), (lambda n: n, False)])
def test_scores_that_are_mirrored_in_a_second_row_are_of_no_pair(
    command: CommandLine, again: Callable[[int], int], said: bool
) -> None:
    """1 and 5, 2 and 4: a scale that was turned, or errors; `reversed` is of pairs."""
    scores = [n % 5 for n in range(20) if n % 5 != 2]
    rows = [f"q{n},a,{1 + score}" for n, score in enumerate(scores)]
    rows += [f"q{n},a,{1 + again(score)}" for n, score in enumerate(scores)]
    (command.folder / "rows.csv").write_text("\n".join(["item,judge,score", *rows]))
    (command.folder / "own.yaml").write_text(OF_ROWS % (1, 5) + "repeats: true\n")
    shown = command("audit", "rows.csv", "--mapping", "own.yaml", "--all").fine().output
    shown = " ".join(shown.split())
    assert ("16 of 16 items have mirrored scores, such as 1 and 5, by a" in shown) == said
    assert "`reversed`" not in shown


def test_entries_of_a_list_that_are_not_read_are_told(command: CommandLine) -> None:
    rows = [
        {"pair": f"p{pair}", "better": "A", "given": [{"by": "one", "says": "A"}] * (1 + pair % 3)}
        for pair in range(20)
    ]
    (command.folder / "pairs.json").write_text(json.dumps(rows))
    mapping = PAIRS.replace("wording_column: wording\nswapped_column: swapped\n", "")
    mapping = mapping.replace("judge_column: judge", "judge_column: given[0].by")
    mapping = mapping.replace("{column: winner, own_order: true}", "'given[0].says'")
    (command.folder / "mapping.yaml").write_text(mapping)
    shown = command("audit", "pairs.json", "--mapping", "mapping.yaml").fine().output
    said = " ".join(shown.split())
    assert "given has up to 3 entries, and the mapping reads 1 of them" in said
    assert "does not read" not in said


EXAMPLE = REPOSITORY / "deployments" / "recorded" / "scores"


def test_the_documented_scores_are_the_shipped_ones_and_are_audited(command: CommandLine) -> None:
    page = "docs/how-to/recorded-judgements.md"
    assert (EXAMPLE / "scores.csv").read_text() in blocks(page, "csv")
    schema, _, mapping = (EXAMPLE / "mapping.yaml").read_text().partition("\n")
    assert schema.startswith("# yaml-language-server")
    assert mapping in blocks(page, "yaml")
    typed = ("audit", str(EXAMPLE / "scores.csv"), "--mapping", str(EXAMPLE / "mapping.yaml"))
    shown = command(*typed).fine().output
    # alpha is right on 3 of 5 labelled answers, and off by 0, 1, 0, 0, 1. beta answered 4 of
    # them, is right on 1, and off by 1, 2, 2, 0; that a03 has no score of beta costs alpha nothing.
    alpha, beta = (line for line in shown.splitlines() if line.startswith(("alpha ", "beta ")))
    assert "0.60 [" in alpha
    assert "0.40 [" in alpha
    assert alpha.split()[-1] == "5"
    assert "0.25 [" in beta
    assert "1.25 [" in beta
    assert beta.split()[-1] == "4"
    said = " ".join(shown.split())
    assert "1 empty answer, unreadable for the judge and no other: beta on a03 (line 7)." in said
    assert "No known answer for 1 item: a06." in said
    assert "the label of one person (editor)" in said
    assert "how far people agree with each other" in said
    page_written = page_of(command, "scores").read_text()
    assert "recorded/" not in page_written
    assert "No description" not in page_written
    assert "np.float64" not in page_written
    assert "<h3>What next</h3>" not in page_written
    items = page_written.split('<h2 id="evidence">')[1]
    of_a03 = items.split("<strong>a03</strong>")[1].split("<strong>a04</strong>")[0]
    assert "Boil them until they are done." in of_a03
    assert "known answer: 4" in of_a03
    assert [line.split(": ")[1] for line in of_a03.splitlines() if "</span>: " in line] == [
        "scored", "unparseable",
    ]  # fmt: skip


def test_scores_may_be_written_with_a_point_and_begin_at_zero(command: CommandLine) -> None:
    lines = [f"a{n},j,{n % 4}.0,{n % 3}," for n in range(12)]
    mapping = (EXAMPLE / "mapping.yaml").read_text()
    mapping = mapping.replace("{lowest: 1, highest: 5}", "{lowest: 0, highest: 3}")
    (command.folder / "mapping.yaml").write_text(
        mapping.replace("people: [editor]", "truth: truth")
    )
    (command.folder / "scores.csv").write_text("\n".join(["answer,judge,score,truth,text", *lines]))
    shown = command("audit", "scores.csv", "--mapping", "mapping.yaml").fine().output
    # Equal for n = 0, 1, 2 of 12; |n % 4 - n % 3| sums to 14.
    (line,) = (line for line in shown.splitlines() if line.startswith("j "))
    assert "0.25 [" in line
    assert "1.17 [" in line


ROWS = "item,judge,score,label\n" + "".join(
    f"q{item},{judge},{1 + (item + shift) % 5},{1 + item % 5}\n"
    for item in range(12)
    for shift, judge in enumerate("ab")
)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('q3,c,"4,0",4', "'4,0' (rows.csv line 26)"),
        ("q3,c,n/a,4", "'n/a' (rows.csv line 26)"),
    ],
)
def test_a_score_that_is_no_number_is_named_by_its_line(
    command: CommandLine, row: str, said: str
) -> None:
    (command.folder / "rows.csv").write_text(f"{ROWS}{row}\n")
    ended = command("audit", "rows.csv")
    assert ended.code == 2
    assert said in ended.errors
    assert ("decimal comma" in ended.errors) == ("," in said)
    assert "--cut" not in ended.errors
    (command.folder / "own.yaml").write_text(OF_ROWS % (1, 5))
    ended = command("audit", "rows.csv", "--mapping", "own.yaml")
    assert ended.code == 2
    assert ("decimal comma" in ended.errors) == ("," in said)


def test_a_row_that_is_there_again_is_told(command: CommandLine) -> None:
    (command.folder / "rows.csv").write_text(f"{ROWS}q3,a,1,4\n")
    shown = " ".join(command("audit", "rows.csv", "--all").fine().output.split())
    assert "1 row of an item and a judge that an earlier row has" in shown
    assert "a on q3 (line 26)" in shown
    (command.folder / "rows.csv").write_text(ROWS)
    shown = " ".join(command("audit", "rows.csv", "--all").fine().output.split())
    assert "Scales" not in shown
    assert "read as repeats" not in shown


def rows_of(**judges: Sequence[object]) -> str:
    """Rows of 60 items, whose judges give their scores in turn."""
    return "item,judge,score\n" + "".join(
        f"q{n},{judge},{scores[n % len(scores)]}\n"
        for judge, scores in judges.items()
        for n in range(60)
    )


FIVE, TEN = range(1, 6), range(1, 11)


@pytest.mark.parametrize(
    ("judges", "said"),
    [
        ({"a": FIVE, "b": FIVE, "c": TEN}, "a, b give 1 to 5; c gives 1 to 10"),
        ({"c": TEN, "a": FIVE}, "a gives 1 to 5; c gives 1 to 10"),
        # 10 is on no scale that ends at 9.
        ({"a": FIVE, "c": range(2, 10)}, "a gives 1 to 5; c gives 2 to 9"),
        ({"a": FIVE, "c": range(20, 101, 20)}, "a gives 1 to 5; c gives 20 to 100"),
        ({"a": FIVE, "c": range(5)}, "c gives 0 to 4; a gives 1 to 5"),
        ({"a": FIVE, "c": (0, 1)}, "c gives 0 to 1; a gives 1 to 5"),
        ({"a": FIVE, "c": (0.2, 0.5, 0.9)}, "c gives 0.2 to 0.9; a gives 1 to 5"),
        ({"a": FIVE, "c": ("2/10", "7/10")}, "a gives 1 to 5; c gives 2 to 7"),
    ],
)
def test_judges_of_two_scales_are_not_read_as_one(
    command: CommandLine, judges: dict[str, Sequence[object]], said: str
) -> None:
    (command.folder / "rows.csv").write_text(rows_of(**judges))
    refused = command("audit", "rows.csv", "--yes")
    assert refused.code == 2
    assert f"judges score on 2 scales, it seems: {said}." in " ".join(refused.errors.split())
    # The mapping that it prints reads the judges of the first scale, and these alone.
    (command.folder / "own.yaml").write_text(refused.errors.partition("\n\n")[2])
    shown = command("audit", "rows.csv", "--mapping", "own.yaml", "--json").fine().output
    figures = json.loads(shown)["figures"]
    read = {row["scope"]["judge"].rpartition("/")[2] for row in figures if "judge" in row["scope"]}
    assert read == set(re.findall(r"[abc]", said.partition(" give")[0]))


@pytest.mark.parametrize(
    "judges",
    [
        {"a": FIVE, "b": (2, 3, 4)},
        {"a": (1, 2, 3, 4), "b": (2, 3, 4, 5)},
        {"a": TEN, "b": range(11)},
        {"a": TEN, "b": (3, 4, 6, 7)},
        {"a": range(1, 8), "b": FIVE},
        # One judge has both ends: 0 to 5, of which others do not use each.
        {"a": FIVE, "b": range(5), "c": range(6)},
        {"a": (0, 1, 2), "b": (0, 1)},
        {"a": FIVE, "b": (1,)},
    ],
)
def test_a_judge_that_leaves_out_the_ends_of_a_scale_has_no_other(
    command: CommandLine, judges: dict[str, Sequence[object]]
) -> None:
    (command.folder / "rows.csv").write_text(rows_of(**judges))
    assert f"{len(judges)} judges, 60 items" in command("audit", "rows.csv").fine().output


OF_ROWS = (
    "name: own\nconcept: c\nsource: s\njudge_column: judge\nitem: {key: item}\n"
    "verdicts: [score]\nscale: {lowest: %d, highest: %d}\n"
)


@pytest.mark.parametrize(
    ("judges", "scale", "said"),
    [
        ({"a": FIVE, "b": FIVE, "c": TEN}, (1, 10), "a, b have no value above 5, and c has."),
        ({"a": range(1, 5), "c": TEN}, (1, 10), "a has no value above 4, and c has."),
        ({"a": FIVE, "c": range(5)}, (0, 5), "c from 0 to 4; a from 1 to 5."),
        ({"a": FIVE, "b": (2, 3, 4)}, (1, 5), ""),
        ({"a": FIVE, "b": range(5), "c": range(6)}, (0, 5), ""),
        # All are low: the scale may end at 5, and is one.
        ({"a": FIVE, "b": FIVE}, (1, 10), "score has no value above 5, and `scale` has"),
    ],
)
def test_a_scale_that_some_judges_may_not_have_is_said_with_their_names(
    command: CommandLine, judges: dict[str, Sequence[object]], scale: tuple[int, int], said: str
) -> None:
    (command.folder / "rows.csv").write_text(rows_of(**judges))
    (command.folder / "own.yaml").write_text(OF_ROWS % scale)
    shown = command("audit", "rows.csv", "--mapping", "own.yaml", "--all").fine().output
    shown = " ".join(shown.split())
    assert said in shown
    assert ("read each by a mapping of its own" in shown) == bool(said and "`scale`" not in said)
    assert "no value above" in said or "no value above" not in shown


@pytest.mark.parametrize(
    ("judges", "wide", "said"),
    [
        ({"a": FIVE, "c": TEN}, "", "Only c has scores off the scale."),
        ({"a": FIVE, "c": TEN}, "judges: [a, c]", "Only c has scores off the scale."),
        ({"a": TEN, "c": TEN}, "", ""),
        ({"c": TEN}, "", ""),
        ({"a": FIVE, "p": range(5)}, "judges: [a]", "Only p has scores off the scale."),
    ],
)
def test_who_goes_beyond_a_scale_is_named_before_the_scale_is_made_wider(
    command: CommandLine, judges: dict[str, Sequence[object]], wide: str, said: str
) -> None:
    mapping = OF_ROWS % (1, 5)
    (command.folder / "rows.csv").write_text(rows_of(**judges))
    if wide:
        lines = [[str(of[n % len(of)]) for of in judges.values()] for n in range(60)]
        rows = [f"q{n},{','.join(line)}" for n, line in enumerate(lines)]
        (command.folder / "rows.csv").write_text("\n".join([f"item,{','.join(judges)}", *rows]))
        mapping = mapping.replace("judge_column: judge", wide).replace("verdicts: [score]\n", "")
        mapping = mapping.replace(
            "key: item", "key: item, people: [p]" if "p" in judges else "key: item"
        )
    (command.folder / "own.yaml").write_text(mapping)
    refused = " ".join(command("audit", "rows.csv", "--mapping", "own.yaml").errors.split())
    assert said in refused
    assert ("If the scale of all" in refused) == bool(said)
    assert ("If the scale ends at 10, write `highest: 10`" in refused) == (not said)
    assert ("`truths`" in refused) == ("p" in judges)


@pytest.mark.parametrize(("high", "is_said"), [(55, True), (20, True), (19, False), (5, False)])
def test_a_single_score_that_makes_the_scale_wider_is_named(
    command: CommandLine, high: int, is_said: bool
) -> None:
    """55 among 60 scores of 1 to 5 is a slip, and so is 20, four times the next, but not 19."""
    rows = [f"q{n},b,{high if n == 17 else 1 + n % 5}" for n in range(60)]
    (command.folder / "rows.csv").write_text("\n".join(["item,judge,score", *rows]))
    shown = " ".join(command("audit", "rows.csv").fine().output.split())
    named = f"may be a slip: {high} by b on q17 (line 19). The next is 5, and the scale"
    assert (named in shown) == is_said, shown
    assert ("may be a slip" in shown) == is_said


def test_known_answers_of_another_scale_than_scores_are_not_read(command: CommandLine) -> None:
    lines = [f"q{n},{judge},{1 + n % 10},{1 + n % 5}" for judge in "ab" for n in range(60)]
    (command.folder / "rows.csv").write_text("\n".join(["item,judge,score,label", *lines]))
    shown = " ".join(command("audit", "rows.csv").fine().output.split())
    assert "label is not read as the known answers: it has 1 to 5, and judges 1 to 10." in shown
    assert "(no known answers)" in shown


def test_accuracy_of_a_wide_scale_is_said_to_be_of_bands(command: CommandLine) -> None:
    """60 and 69 are one of ten bands of 0 to 100, so that 66 for 60 is right and 71 is wrong."""
    rows = "".join(f"q{n},a,{66 if n < 3 else 71},60\n" for n in range(12))
    ends = "z,a,0,0\ny,a,100,100\n"
    (command.folder / "rows.csv").write_text(f"item,judge,score,label\n{rows}{ends}")
    shown = " ".join(command("audit", "rows.csv", "--cut", "50").fine().output.split())
    assert "ten equal bands" not in shown
    wide = "".join(f"w{n},a,{n},{n}\n" for n in range(20, 40))
    (command.folder / "rows.csv").write_text(f"item,judge,score,label\n{rows}{wide}{ends}")
    ended = command("audit", "rows.csv", "--json").fine()
    [table] = [one for one in json.loads(ended.output)["figures"] if is_accuracy(one)]
    assert table["estimate"] == pytest.approx((3 + 20 + 2) / 34)
    shown = " ".join(command("audit", "rows.csv").fine().output.split())
    assert "two scores as the same verdict where they are in one of ten equal bands" in shown


def is_accuracy(row: dict[str, Any]) -> bool:
    return row["metric"] == "accuracy" and "category" not in row["scope"]


def test_audits_of_one_name_do_not_replace_each_other(command: CommandLine) -> None:
    for folder, rows in (("first", ROWS), ("second", ROWS.replace("q", "p"))):
        (command.folder / folder).mkdir()
        (command.folder / folder / "rows.csv").write_text(rows)
        command("audit", f"{folder}/rows.csv").fine()
    command("audit", "first/rows.csv").fine()
    assert len(list((command.data / "reports").glob("audit-*-rows.html"))) == 2


def test_values_that_are_not_on_the_scale_are_named_up_to_ten(command: CommandLine) -> None:
    rows = [f"a{n},j,{9 if n < 12 else 2},3," for n in range(20)]
    (command.folder / "scores.csv").write_text("\n".join(["answer,judge,score,editor,text", *rows]))
    mapping = str(EXAMPLE / "mapping.yaml")
    refused = command("audit", "scores.csv", "--mapping", mapping)
    assert refused.code != 0
    named = [
        line for line in range(2, 22) if f"scores.csv line {line}: score is '9'." in refused.errors
    ]
    assert named == list(range(2, 12))
    assert "and 2 more." in refused.errors
    said = " ".join(refused.errors.split())
    assert "If the scale ends at 9, write `highest: 9`. The scale is 1 to 5. Leave a cell" in said


def test_answers_with_several_verdicts_are_counted_as_unreadable(command: CommandLine) -> None:
    answers = ["Rating: [[4]]"] * 5 + ["Rating: [[4]]. It narrowly missed [[5]]."] * 2
    lines = ["id,answer", *(f"{number},{answer}" for number, answer in enumerate(answers))]
    (command.folder / "answers.csv").write_text("\n".join(lines), "utf-8")
    forms = ", ".join(f'"[[{score}]]": {score}' for score in range(1, 6))
    (command.folder / "mapping.yaml").write_text(
        "name: forms\nconcept: quality\nsource: made up\nscale: {lowest: 1, highest: 5}\n"
        f"judge: j\nitem: {{key: id}}\nanswers: [answer]\nanswer_forms: {{{forms}}}\n",
        "utf-8",
    )
    told = command("audit", "answers.csv", "--mapping", "mapping.yaml").fine()
    assert "2 answers with verdicts that differ" in " ".join(told.output.split())


@pytest.mark.parametrize(("lowest", "highest", "first"), [(1, 5, "4"), (0, 9, "4.0")])
def test_labels_that_contradict_each_other_are_named_as_written(
    command: CommandLine, lowest: int, highest: int, first: str
) -> None:
    (command.folder / "scores.csv").write_text(f"item,judge,score,label\na,x,3,{first}\na,y,3,2\n")
    (command.folder / "scores.yaml").write_text(
        f"name: s\nconcept: quality\nsource: our log\njudge_column: judge\nverdicts: [score]\n"
        f"scale: {{lowest: {lowest}, highest: {highest}}}\nitem: {{key: item, truth: label}}\n"
    )
    ended = command("audit", "scores.csv", "--mapping", "scores.yaml")
    assert ended.code == 2
    assert "line 3: item 'a': label is 2 here and 4 above" in " ".join(ended.errors.split())


@pytest.mark.parametrize(
    ("line", "instead", "example"),
    [
        ("scale: {lowest: 1, highest: 5}\n", "", "scale: {lowest: 1, highest: 5}"),
        ("scale: {lowest: 1, highest: 5}", "scale: {lowest: 5, highest: 5}", "highest: 5}"),
        ("verdicts: [score]", "", "verdicts: [score]"),
        ("judge_column: judge\n", "", "judge_column: model"),
        ("scale: {lowest: 1, highest: 5}", "rubric: r.yaml", 'decisions: {"bad": 1, "good": 2}'),
        ("people: [editor]}", "text: text}\ntruths: {a: 1}", "item: {key: id, truth: label}"),
    ],
)
def test_an_error_of_a_mapping_shows_an_example(
    command: CommandLine, line: str, instead: str, example: str
) -> None:
    mapping = (EXAMPLE / "mapping.yaml").read_text().replace("text: text, ", "")
    assert line in mapping
    (command.folder / "mapping.yaml").write_text(mapping.replace(line, instead))
    refused = command("audit", str(EXAMPLE / "scores.csv"), "--mapping", "mapping.yaml")
    assert refused.code != 0
    assert example in " ".join(refused.errors.split())


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("decisions: {A: first, B: 3}", "Write `A: 1`: 1 is first, 2 is tie, 3 is second."),
        ("decisions: {A: 1, B: second}", "Write `B: 3`"),
        ("decisions: {A: 1, B: 3}\ntruths: {A: second}", "truths.A is 'second', and a stage"),
        ("decisions: {A: best}", "the number of a stage"),
        ("decisions: {A: 1, B: abstained}", ""),
        ("decisions: {A: [1, 2], B: 3}", ""),
    ],
)
def test_a_stage_that_is_named_is_given_its_number(
    command: CommandLine, keys: str, said: str
) -> None:
    (command.folder / "own.yaml").write_text(
        "name: own\nconcept: c\nsource: s\njudge_column: judge\nstages: [first, tie, second]\n"
        f"item: {{key: item, truth: label}}\nverdicts: [score]\n{keys}\n"
    )
    rows = "".join(f"q{n},j,{'AB'[n % 2]},tie\n" for n in range(12))
    (command.folder / "rows.csv").write_text(f"item,judge,score,label\n{rows}")
    ended = command("audit", "rows.csv", "--mapping", "own.yaml", "--allow-unreadable")
    assert ended.code == (2 if said else 0)
    assert said in " ".join(ended.errors.split())


def test_every_key_of_a_mapping_is_printed(command: CommandLine) -> None:
    shown = command("audit", "--keys").fine().output.splitlines()
    assert {*Recorded.model_fields, *(f"item.{name}" for name in ItemColumns.model_fields)} <= {
        *shown
    }
    assert "scale.lowest" in shown
    assert "verdicts.column" in shown


@pytest.mark.parametrize(("items", "shown"), [(8, False), (400, True)])
def test_more_votes_than_judges_are_said_as_far_as_their_interval_shows(
    command: CommandLine, items: int, shown: bool
) -> None:
    # Each is wrong on every fourth item, never on the same, so their errors correlate by -1/3.
    rows = [
        f"q{item},{judge},{int((item + shift) % 4 > 0)},1"
        for item in range(items)
        for shift, judge in enumerate("ab")
    ]
    (command.folder / "apart.csv").write_text("\n".join(["item,judge,score,label", *rows]))
    said = " ".join(command("audit", "apart.csv").fine().output.split())
    assert "Independent votes: 3.00" in said
    assert ("more than the 2 judges" in said) is shown
    assert ("do not show that the 2 judges err together" in said) is not shown


def scored(command: CommandLine, rows: Iterable[tuple[str, str, int]]) -> str:
    """Audit scores from 1 to 5 by item and judge; returns what is printed, on one line."""
    lines = [f"{item},{judge},{score}" for item, judge, score in rows]
    (command.folder / "scores.csv").write_text("\n".join(["item,judge,score", *lines]))
    (command.folder / "mapping.yaml").write_text(
        "name: s\nconcept: quality\nsource: our log\njudge_column: judge\nverdicts: [score]\n"
        "scale: {lowest: 1, highest: 5}\nitem: {key: item}\n"
    )
    shown = command("audit", "scores.csv", "--mapping", "mapping.yaml").fine().output
    return " ".join(shown.split())


def test_a_mean_score_is_of_all_items_that_the_judge_scored(command: CommandLine) -> None:
    full = [(f"u{n}", "full", 1 if n < 4 else 5) for n in range(40)]
    pilot = [(f"u{n}", "pilot", score) for n, score in enumerate((1, 2, 3, 5))]
    alone = scored(command, full)
    both = scored(command, [*full, *pilot])
    # (36 · 1 + 4 · 0)/40 and (0 + 1/4 + 2/4 + 1)/4; in scores 4.6 and 2.75.
    assert re.search(r"full 0\.90 \[0\.80, 1\.00\] 4\.60 \[", alone)
    assert re.search(r"full 0\.90 \[0\.80, 1\.00\] 4\.60 \[[^]]*\] 0\.00 \[[^]]*\] 40 ", both)
    assert re.search(r"pilot 0\.44 \[[^]]*\] 2\.75 \[[^]]*\] 0\.00 \[[^]]*\] 4 ", both)
    assert "On the 4 items that every judge scored: full 0.00, pilot 0.44 [" in both
    assert "every judge scored" not in alone


def test_a_mean_over_wordings_has_both_intervals_in_the_files_own_scores(
    command: CommandLine,
) -> None:
    """b gives 1, 2, 3, 4 under both wordings: 2.5 ± 3.182 · 1.291/√4, cut at 1."""
    rows = [f"i{n},{judge},{wording},{1 + n + int(up)}" for n in range(4)
            for judge, wording, up in ("ap0", "aq1", "bp0", "bq0")]  # fmt: skip
    (command.folder / "scores.csv").write_text("\n".join(["item,judge,prompt,score", *rows]))
    (command.folder / "mapping.yaml").write_text(
        "name: s\nconcept: quality\nsource: our log\njudge_column: judge\nverdicts: [score]\n"
        "scale: {lowest: 1, highest: 5}\nitem: {key: item}\nwording_column: prompt\n"
    )
    shown = command("audit", "scores.csv", "--mapping", "mapping.yaml").fine().output
    said = " ".join(shown.split())
    assert re.search(r" 2\.50 \[1\.00, 4\.5\d\], items only \[1\.00, 4\.55\] ", said)


@pytest.mark.parametrize(
    ("column", "questions", "interval"),
    [
        # 3 ± 3.182 · 0.8165/√4 over questions, ± 2.365 · 0.7559/√8 over items.
        ("question", "aabbccdd", r"1\.70, 4\.30"),
        ("Prompt ID", "aabbccdd", r"2\.37, 3\.63"),  # of so few values it may name wordings
        ("question", "abcdefgh", r"2\.37, 3\.63"),
        ("question", "aaaaaaaa", r"2\.37, 3\.63"),
        ("about", "aabbccdd", r"2\.37, 3\.63"),
    ],
)
def test_items_of_one_question_count_together_by_the_columns_name(
    command: CommandLine, column: str, questions: str, interval: str
) -> None:
    rows = [
        f"i{n},gpt-4,{score},{questions[n]}" for n, score in enumerate((2, 2, 3, 3, 3, 3, 4, 4))
    ]
    # A 1 and a 5 elsewhere tell the scale.
    rows += [f"i{n},claude,{1 + 4 * (n % 2)},{questions[n]}" for n in range(8)]
    (command.folder / "rows.csv").write_text("\n".join([f"item,judge,score,{column}", *rows]))
    said = " ".join(command("audit", "rows.csv").fine().output.split())
    assert re.search(rf"gpt-4 \S+ \[\S+ \S+ 3\.00 \[{interval}\]", said), said
    assert ("8 items answer 4 questions" in said) == ("1" in interval[:1])


KINDS = {"ann": "human", "bob": "expert", "gpt-4": "llm"}


@pytest.mark.parametrize(
    ("kinds", "people"),
    [
        (KINDS, ["ann", "bob"]),
        (KINDS | {"bob": "llm"}, ["ann"]),
        (dict.fromkeys(KINDS, "human"), []),
        (KINDS | {"bob": "unknown"}, []),
    ],
)
@pytest.mark.parametrize("mapped", [False, True])
def test_people_are_told_from_models_by_the_values_of_a_column(
    command: CommandLine, kinds: dict[str, str], people: list[str], *, mapped: bool
) -> None:
    """ann and bob give each item the same, gpt-4 one step less of four on half the items."""
    rows = [f"i{n},{who},{kind},{2 + n % 4 - (n % 8 > 3) * (who == 'gpt-4')}"
            for n in range(24) for who, kind in kinds.items()]  # fmt: skip
    (command.folder / "rows.csv").write_text("\n".join(["item,rater,kind,rating", *rows]))
    (command.folder / "mapping.yaml").write_text(
        "name: rows\nconcept: quality\nsource: our log\njudge_column: rater\nverdicts: [rating]\n"
        "scale: {lowest: 1, highest: 5}\nitem: {key: item}\n"
    )
    options = ("--mapping", "mapping.yaml") if mapped else ()
    shown = " ".join(command("audit", "rows.csv", *options).fine().output.split())
    hint = f" for {', '.join(people)}, and is not read: they count as judges. `people: {{kind: ["
    assert (hint in shown) == (mapped and bool(people))
    read = 0 if mapped else len(people)
    assert f"rows: {3 - read} judge{'s' if read < 2 else ''}, 24 items" in shown
    if read == 2:  # half the items, a quarter of the scale
        figures = by_judge(
            json.loads(command("audit", "rows.csv", "--json").fine().output)["figures"]
        )
        assert figures["gpt-4", "people_distance_ordinal"]["estimate"] == pytest.approx(1 / 8)


def test_who_wrote_what_is_judged_is_no_judge(command: CommandLine) -> None:
    rows = [f"i{n},{who},{'human' if n % 2 else 'ai'},{1 + n % 5}"
            for n in range(24) for who in ("o1", "o3")]  # fmt: skip
    rows += [f"j{n},{who},{kind},{1 + n % 5}"
             for n in range(24) for who, kind in (("o1", "ai"), ("o3", "human"))]  # fmt: skip
    for of in (rows[:48], rows):
        (command.folder / "rows.csv").write_text("\n".join(["item,judge,author,score", *of]))
        shown = command("audit", "rows.csv").fine().output
        assert "rows: 2 judges" in shown
        assert "labels of people:" not in shown


@pytest.mark.parametrize(
    ("zeros", "of_both", "doubted"),
    # A tenth of 60 scores is 6.
    [(1, 0, True), (6, 0, True), (7, 0, False), (0, 0, False), (3, 1, False)],
)
@pytest.mark.parametrize("is_long", [True, False])
def test_zeros_of_one_judge_beside_scores_from_one_are_doubted(
    command: CommandLine, zeros: int, of_both: int, *, doubted: bool, is_long: bool
) -> None:
    a = [0 if n < zeros else 1 + n % 5 for n in range(60)]
    b = [0 if n < of_both else 1 + n % 5 for n in range(60)]
    rows = ([f"i{n},{judge},{of[n]}" for n in range(60) for judge, of in (("gpt-4", a), ("o1", b))]
            if is_long else [f"i{n},{a[n]},{b[n]}" for n in range(60)])  # fmt: skip
    head = "item,judge,score" if is_long else "id,judge gpt-4,judge o1"
    (command.folder / "rows.csv").write_text("\n".join([head, *rows]))
    shown = " ".join(command("audit", "rows.csv", "--yes").fine().output.split())
    name = "gpt-4" if is_long else "judge gpt-4"
    are = "is" if zeros == 1 else "are"
    # A wide table drops a value that one cell in 60 has, and names it.
    if is_long or zeros != 1:
        said = f"{zeros} of 60 scores of {name} {are} 0, and all others are 1 to 5"
        assert (said in shown) == doubted, shown
    assert ("too, but 0" in shown) == (not is_long and zeros > 1 and not of_both)


@pytest.mark.parametrize(
    ("names", "codes", "doubted"),
    [
        ("response1,response2", "012", True),
        ("Answer A,Answer B", "123", True),
        ("response1,response2", "01", False),  # of two values either order is the same
        ("response1,response2", "01234", False),
        ("response,remark", "012", False),
        ("tokens1,tokens2", "012", False),
    ],
)
@pytest.mark.parametrize("is_long", [True, False])
def test_codes_that_may_name_an_answer_are_doubted_on_the_page(
    command: CommandLine, names: str, codes: str, *, doubted: bool, is_long: bool
) -> None:
    text = "" if names.startswith("tokens") else "text "
    head = "item,judge,score" if is_long else "id,GPT-4.1,JudgeLM"
    lines = [f"i{n},{place},{code},{text}{n},{text}{n + 1}" if is_long
             else f"i{n},{code},{code},{text}{n},{text}{n + 1}"
             for n in range(30) for code in (codes[n % len(codes)],)
             for place in ("a", "b")[:1 + is_long]]  # fmt: skip
    (command.folder / "rows.csv").write_text("\n".join([f"{head},{names}", *lines]))
    command("audit", "rows.csv", "--yes").fine()
    said = " ".join(page_of(command, "rows").read_text().split())
    first, second = names.split(",")
    assert (f"{first} and {second} may be the two answers of a pair" in said) == doubted


def test_a_question_that_an_item_has_in_some_rows_alone_is_not_read(command: CommandLine) -> None:
    rows = [f"i{n},{judge},{1 + n % 5},{'q' if n or judge == 'b' else ''}{n // 2}"
            for n in range(8) for judge in "ab"]  # fmt: skip
    (command.folder / "rows.csv").write_text("\n".join(["item,judge,score,question", *rows]))
    said = " ".join(command("audit", "rows.csv").fine().output.split())
    assert "does not read: question" in said


def test_judges_without_a_common_item_have_means_of_their_own(command: CommandLine) -> None:
    rows = [(f"{judge}{n}", judge, score) for judge, of in
            (("a", (5, 5, 4, 5)), ("b", (1, 2, 1, 1))) for n, score in enumerate(of)]  # fmt: skip
    said = scored(command, rows)
    # Means 4.75 and 1.25 of 1 to 5.
    assert re.search(r"a 0\.94 \[.*b 0\.06 \[", said)
    assert "No item was scored by every judge" in said
    assert "no verdict was scored" not in command(
        "audit", "scores.csv", "--mapping", "mapping.yaml", "--all"
    ).output.replace("\n", " ")


@pytest.mark.parametrize(
    ("wrong", "said"), [(2, "2 of 12 raw answers contradict their decision"), (0, "")]
)
def test_decisions_that_contradict_their_answers_are_counted(
    command: CommandLine, wrong: int, said: str
) -> None:
    verdicts = ("A>B", "B>A")
    rows = [
        {
            "pair": f"p{pair}",
            "label": "A>B",
            "judgments": [
                {
                    "decision": verdicts[order if place >= wrong else 1 - order],
                    "response": f"My final verdict: [[{verdicts[order]}]]",
                }
                for order, place in ((0, pair), (1, pair + 6))
            ],
        }
        for pair in range(6)
    ]
    (command.folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (command.folder / "mapping.yaml").write_text(
        "name: pairs\nconcept: better\nsource: s\nstages: ['A>B', 'B>A']\njudge: j\n"
        "item: {key: pair, truth: label}\n"
        "verdicts:\n"
        "- {column: 'judgments[0].decision', answer: 'judgments[0].response'}\n"
        "- {column: 'judgments[1].decision', reversed: true, answer: 'judgments[1].response'}\n"
        "answer_forms: {'[[A>B]]': 1, '[[B>A]]': 2}\n"
    )
    shown = command("audit", "pairs.jsonl", "--mapping", "mapping.yaml").fine().output
    assert (" contradict their decision" in " ".join(shown.split())) is bool(said)
    assert said in " ".join(shown.split())


PROMPTS = (
    f"Is this summary faithful to its source? {'Read both. ' * 6}",
    f"You compare a summary with its source. {'Answer 0 or 1. ' * 6}",
)


def test_a_column_that_may_name_wordings_is_told_where_figures_are_pooled(
    command: CommandLine,
) -> None:
    file = command.folder / "scores.csv"
    for name, values, said in (
        ("prompt", ("v1", "v2"), "`only: {prompt: v1}`, or compare them: `wording_column: prompt`"),
        ("Prompt version", ("1", "2"), '`only: {Prompt version: "1"}`, or compare'),
        ("criterion", ("clear", "brief"), "`only: {criterion: clear}`."),
        ("seed", ("41", "42"), ""),
        ("prompt", (PROMPTS[0], "v2"), "Compare them: `wording_column: prompt`."),
        ("prompt", PROMPTS, "Compare them: `wording_column: prompt`."),
        ("rubric", PROMPTS, ""),
    ):
        lines = [f"i{n},j,{value},{n % 2},{n % 2}" for n in range(12) for value in values]
        file.write_text("\n".join([f"item,judge,{name},score,truth", *lines]))
        shown = " ".join(command("audit", "scores.csv").fine().output.split())
        assert (f"over all 2 values of {name} together" in shown) is bool(said), name
        assert said in shown
        of_wordings = "ompare" in said
        assert ("(one wording)" in shown, "under a second wording" in shown) == (
            (not of_wordings,) * 2
        ), name
        assert ("may name wordings and is not read" in shown) is of_wordings, name
    # Rows of the other wording stand in for repeats.
    lines = [f"i{n},j{m},v{v},{1 + (n + m * v) % 5}"
             for n in range(20) for m in range(2) for v in range(3)]  # fmt: skip
    file.write_text("\n".join(["item,judge,prompt,score", *lines]))
    shown = " ".join(command("audit", "scores.csv").fine().output.split())
    assert "repeats here may be other values of prompt" in shown
    # As the mapping is told to read it, the wordings are compared.
    lines = [f"i{n},j,{value},{n % 2},{n % 2}" for n in range(12) for value in ("v1", "v2")]
    file.write_text("\n".join(["item,judge,prompt,score,truth", *lines]))
    (command.folder / "mapping.yaml").write_text(
        "name: s\nconcept: quality\nsource: our log\njudge_column: judge\nverdicts: [score]\n"
        "scale: {lowest: 0, highest: 1}\nitem: {key: item, truth: truth}\nwording_column: prompt\n"
    )
    read = command("audit", "scores.csv", "--mapping", "mapping.yaml").fine().output
    assert "under 2 wordings of the prompt" in " ".join(read.split())
    assert "may name wordings" not in read


def test_whole_prompts_are_compared_as_wordings_and_not_taken_for_prompts_of_items(
    command: CommandLine,
) -> None:
    file, mapping = command.folder / "scores.csv", command.folder / "mapping.yaml"
    # Each item has its own prompt, judged twice: these are repeats.
    lines = [f"i{n},j,{PROMPTS[n % 2]},{n % 2},{n % 2},{run}" for n in range(12) for run in (1, 2)]
    file.write_text("\n".join(["item,judge,prompt,score,truth,run", *lines]))
    shown = " ".join(command("audit", file).fine().output.split())
    assert "values of prompt together" not in shown
    assert "(one wording)" in shown
    # Under the second prompt the judge is wrong of every fourth item.
    lines = [f"i{n},j,{prompt},{(n + (n % 4 == place == 1)) % 2},{n % 2}"
             for n in range(12) for place, prompt in enumerate(PROMPTS)]  # fmt: skip
    file.write_text("\n".join(["item,judge,prompt,score,truth", *lines]))
    mapping.write_text(
        "name: s\nconcept: quality\nsource: our log\njudge_column: judge\nverdicts: [score]\n"
        "scale: {lowest: 0, highest: 1}\nitem: {key: item, truth: truth}\nwording_column: prompt\n"
    )
    shown = " ".join(command("audit", file, "--mapping", mapping).fine().output.split())
    assert "under 2 wordings of the prompt" in shown
    # Right of 21 of 24; kappa is 1, and of the second prompt (9/12 - 1/2) / (1/2).
    assert re.search(r"j 0\.88 \[.* 0\.50 to 1\.00 ", shown)
    # A prompt of each item is no wording.
    lines = [f"i{n},j,{PROMPTS[0]} {n},{n % 2},{n % 2}" for n in range(30)]
    file.write_text("\n".join(["item,judge,prompt,score,truth", *lines]))
    refused = command("audit", file, "--mapping", mapping)
    assert "line 22: prompt has more than 20 different prompts" in " ".join(refused.errors.split())


def test_a_column_that_may_name_systems_is_told_where_figures_are_pooled(
    command: CommandLine,
) -> None:
    lines = [f"q{n}-{model},{model},j,{score}" for n in range(6)
             for model, score in (("m1", 1 + n % 2), ("m2", 4 + n % 2))]  # fmt: skip
    (command.folder / "scores.csv").write_text("\n".join(["key,model,judge,score", *lines]))
    mapping = (
        "name: s\nconcept: quality\nsource: our log\njudge_column: judge\nverdicts: [score]\n"
        "scale: {lowest: 1, highest: 5}\nitem: {key: key%s}\n"
    )
    (command.folder / "mapping.yaml").write_text(mapping % "")
    for column in ("model", "sys", "System name"):
        (command.folder / "named.csv").write_text("\n".join([f"key,{column},judge,score", *lines]))
        shown = command("audit", "named.csv", "--mapping", "mapping.yaml").output
        pooled = " ".join(shown.split())
        assert f"Figures are over all 2 values of {column} together." in pooled
        assert f"give item.system: {column} for" in pooled
    for key in ("system", "category"):
        (command.folder / "mapping.yaml").write_text(mapping % f", {key}: model")
        shown = command("audit", "scores.csv", "--mapping", "mapping.yaml").fine().output
        apart = " ".join(shown.split("Audit of recorded judgements")[0].split())
        assert re.search(r"m2 j 0\.88 \[[^]]*\] 4\.50 .* m1 j 0\.12 \[[^]]*\] 1\.50", apart)
        assert "together. If" not in " ".join(shown.split())


def test_systems_with_known_answers_are_ranked_before_anything_else(
    command: CommandLine,
) -> None:
    # People pass x always and y half the time; the judge passes 3/4 of x and all of y.
    lines = [
        f"q{n},{system},j,{judged},{people}"
        for n in range(24)
        for system, judged, people in (("x", int(n % 4 > 0), 1), ("y", 1, n % 2))
    ]
    (command.folder / "table.csv").write_text("\n".join(["item,system,judge,score,label", *lines]))
    shown = command("audit", "table.csv").fine().output
    assert shown.count("The known answers are the column label") == 1
    ranking, by_system = shown.split("Judges by system")
    line = re.search(r"j +ranks 2 systems: 1 of 1 pair decided, 1 expected inversion \[", ranking)
    assert line
    assert "-1.00 [" in ranking
    assert re.search(r"(?m)^j .* 48 ", ranking), "the items behind agreement"
    said = " ".join(ranking.split())
    assert re.search(r"People: x less y is 0\.50 \[0\.\d+, 0\.\d+\]: x is better\. ", said)
    # 0.75 less 1, where people say the opposite: all its errors on passes are of x.
    assert "The judge alone: -0.25; it errs more on some systems" in said
    assert re.search(r"j +x +1\.00 \[[^]]*\] +0\.75 +0\.75 +– ", by_system)
    assert re.search(r"j +y +0\.50 \[[^]]*\] +1\.00 +1\.00 +0\.00 +0\.00 \[", by_system)
    assert "by guessing" not in shown
    page = page_of(command, "table").read_text()
    assert page.index("ranks 2 systems") < page.index("Judges by system")
    assert "No claim could be tested" not in page
    figures = json.loads(command("audit", "table.csv", "--json").fine().output)["figures"]
    pair = next(row for row in figures if row["metric"] == "system_difference")
    assert (pair["scope"]["system"], pair["scope"]["rival"]) == ("x", "y")


PAIRS_OF_SYSTEMS = (
    "name: pairs\nconcept: better\nsource: s\nstages: [first, second]\njudge: j\n"
    "item: {key: pair, question: question, system: one, second_system: two, truth: people}\n"
    "verdicts: [listed, {column: turned, reversed: true}]\n"
)


def test_systems_in_pairs_are_ranked_by_how_often_they_win(command: CommandLine) -> None:
    # By people x wins 3 of 4 pairs; the judge prefers what is shown first.
    lines = []
    for n in range(40):
        one, two = ("x", "y") if n % 2 else ("y", "x")
        best = "x" if n % 4 else "y"
        people = "first" if best == one else "second"
        lines.append(f"p{n},q{n},{one},{two},{people},first,first")
    (command.folder / "pairs.csv").write_text(
        "\n".join(["pair,question,one,two,people,listed,turned", *lines])
    )
    (command.folder / "mapping.yaml").write_text(PAIRS_OF_SYSTEMS)
    typed = ("audit", "pairs.csv", "--mapping", "mapping.yaml")
    shown = " ".join(command(*typed).fine().output.split())
    assert "j ranks 2 systems: 1 of 1 pair decided" in shown
    assert "Means are win rates" in shown
    assert "People: x less y is 0.50 [" in shown
    # The judge has both at 0.5, people at 0.75 and 0.25.
    assert "The judge alone: 0.00; it disfavours x by -0.25 [" in shown
    assert "Audit of recorded pairs" in shown, "accuracy by order stands beside"
    figures = json.loads(command(*typed, "--json").fine().output)["figures"]
    of = {(row["metric"], row["scope"].get("system")): row["estimate"] for row in figures}
    assert of["system_people", "x"] == pytest.approx(0.75)
    assert of["system_people", "y"] == pytest.approx(0.25)
    assert of["pairs_decided", None] == 1
    assert of["system_judged", "x"] == of["system_judged", "y"] == 0.5
    # It says first of all 80; people of each pair in one of its two orders.
    assert of["first_shown_bias", None] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("{key: pair, second_system: two, truth: people}", "second_system comes with item.system"),
        ("{key: question, system: one, second_system: two, truth: people}", "item 'q1'"),
    ],
)
def test_pairs_whose_systems_are_not_clear_are_refused(
    command: CommandLine, item: str, said: str
) -> None:
    (command.folder / "pairs.csv").write_text(
        "pair,question,one,two,people,listed,turned\n"
        "p1,q1,x,y,first,first,first\np2,q1,y,x,first,first,first\n"
    )
    mapping = re.sub(r"item: .*", f"item: {item}", PAIRS_OF_SYSTEMS)
    (command.folder / "mapping.yaml").write_text(mapping)
    told = command("audit", "pairs.csv", "--mapping", "mapping.yaml")
    assert told.code == 2
    assert said in " ".join(told.errors.split())


def test_judges_in_columns_rank_systems_by_the_labels_of_some_items(command: CommandLine) -> None:
    lines = ["id,question,bot,good,poor,person"]
    for n in range(60):
        for bot, rate in (("a", 10), ("b", 9), ("c", 2)):
            truth = int(n % 10 < rate)
            label = truth if n < 20 else ""
            poor = "" if n == 59 else int(n % 3 > 0)
            lines.append(f"{bot}{n},q{n},{bot},{truth},{poor},{label}")
    (command.folder / "wide.csv").write_text("\n".join(lines))
    (command.folder / "mapping.yaml").write_text(
        "name: wide\nconcept: right answer\nsource: our log\njudge: '{column}'\n"
        "stages: ['0', '1']\nverdicts: [good, poor]\n"
        "item: {key: id, question: question, system: bot, truth: person}\n"
    )
    shown = " ".join(
        command("audit", "wide.csv", "--mapping", "mapping.yaml").fine().output.split()
    )
    assert "good ranks 3 systems" in shown
    assert "180 items, 60 with a label or known answer" in shown
    # poor passes as many of each: all three pairs are ties. It agrees on 0.55 of 60.
    assert re.search(r"good \d of 3 .* poor 2 of 3 1\.5 \[1\.5, 1\.5\] .* 0\.\d\d \[", shown)
    assert re.search(r"poor: a > b > c; open: [^.]*\. Its own means: a = b = c\.", shown)
    assert "3 empty answers, unreadable for the judge" in shown
    assert re.search(r"Label next, by good: \d+ of ", shown)
    for wrong, said in (("counts: {good: 1}", "not of counts"), ("judge_column: x", "give one of")):
        text = (command.folder / "mapping.yaml").read_text()
        text = text.replace("verdicts: [good, poor]", wrong) if "counts" in wrong else text + wrong
        (command.folder / "wrong.yaml").write_text(text)
        refused = command("audit", "wide.csv", "--mapping", "wrong.yaml")
        assert refused.code == 2
        assert said in " ".join(refused.errors.split())


def test_a_judge_that_favours_its_own_family_and_long_answers_is_found(
    command: CommandLine,
) -> None:
    lines = ["question,bot,reply,fair,partial,person"]
    for n in range(80):
        for place, bot in enumerate(("acme-2", "acme-1", "other-1")):
            truth = (n + place) % 2
            reply = "word " * (5 + 7 * ((n + place) % 3))
            favoured = bot.startswith("acme") and n % 4 == 0
            lines.append(
                f"q{n},{bot},{reply},{truth},{1 if favoured else truth},{truth if n < 60 else ''}"
            )
    (command.folder / "replies.csv").write_text("\n".join(lines))
    (command.folder / "mapping.yaml").write_text(
        "name: replies\nconcept: right answer\nsource: our log\njudge: '{column}'\n"
        "stages: ['0', '1']\nverdicts: [fair, partial]\n"
        "families: {partial: acme, fair: nobody, acme-1: acme, acme-2: acme}\n"
        "item: {key: question, question: question, system: bot, text: reply, truth: person}\n"
    )
    typed = ("audit", "replies.csv", "--mapping", "mapping.yaml")
    found = by_judge(json.loads(command(*typed, "--json").fine().output)["figures"])
    bias = found["partial", "own_family_bias"]
    # Every fourth of 60 questions: two answers of its family, of which people fail one.
    assert bias["estimate"] == pytest.approx(0.25 / 2)
    assert bias["n_items"] == 60
    assert found["partial", "own_family_difference"]["n_items"] == 80
    assert ("fair", "own_family_bias") not in found
    assert found["fair", "longer_bias"]["estimate"] == 0.0
    shown = " ".join(command(*typed).fine().output.split())
    assert "partial favours systems of its own family by 0.125 [" in shown
    assert "fair favours" not in shown


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        # Two people who differ on ten items of each system.
        (lambda n: (n % 2, (n + (n % 4 == 0)) % 2), "20 items with as many people for one"),
        (lambda n: (n % 2 if n < 19 else "", ""), "Missing: 1 of a, 1 of b."),
        (lambda n: ("", ""), "Missing: 20 of a, 20 of b."),
    ],
    ids=["ties", "too few labels", "no label"],
)
def test_labels_that_make_no_ranking_are_counted(
    command: CommandLine, labels: Callable[[int], tuple[object, object]], said: str
) -> None:
    lines = ["id,bot,judge,ann,bea"]
    for n in range(40):
        lines += [f"{bot}{n},{bot},{n % 2},{','.join(map(str, labels(n)))}" for bot in "ab"]
    (command.folder / "wide.csv").write_text("\n".join(lines))
    (command.folder / "mapping.yaml").write_text(
        "name: wide\nconcept: right answer\nsource: our log\njudge: '{column}'\n"
        "stages: ['0', '1']\nverdicts: [judge]\n"
        "item: {key: id, system: bot, people: [ann, bea]}\n"
    )
    shown = command("audit", "wide.csv", "--mapping", "mapping.yaml").fine().output
    assert said in " ".join(shown.split())


PUBLISHED_MAPPING = """\
name: published
concept: published
source: published
judge: "{column}"
"""


def figures_of(
    command: CommandLine, data: str, mapping: str
) -> dict[tuple[str, str], dict[str, Any]]:
    """Audit published judgements; return (judge, metric) → its figure over all items."""
    (command.folder / "mapping.yaml").write_text(PUBLISHED_MAPPING + mapping)
    typed = ("audit", str(SHARED / "data" / data), "--mapping", "mapping.yaml", "--json")
    return by_judge(json.loads(command(*typed).fine().output)["figures"])


def by_judge(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """(judge, metric) → its figure over all items."""
    return {
        (row["scope"]["judge"], row["metric"]): row
        for row in rows
        if "judge" in row["scope"] and not {"system", "category"} & row["scope"].keys()
    }


def reference(data: str) -> dict[str, dict[str, str]]:
    with (SHARED / "data" / data / "reference.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {next(iter(row.values())): row for row in rows}


def assert_reference(found, judge: str, of: dict[str, str], metrics: dict[str, str]) -> None:
    for column, metric in metrics.items():
        value = found[judge, metric]["estimate"]
        assert value == pytest.approx(float(of[column]), abs=1e-6), (judge, column)
        if metric in ("accuracy", "majority_accuracy"):
            assert found[judge, metric]["n"] == int(of["n"])


needs_shared = pytest.mark.skipif(
    not (SHARED / "data/llmjudge").exists(), reason="needs ../shared/data"
)


@needs_shared
@pytest.mark.slow
def test_published_judges_of_nine_systems_are_audited(command: CommandLine) -> None:
    known = reference("judging_judges")
    found = figures_of(
        command,
        "judging_judges/answers.csv.gz",
        "stages: ['False', 'True']\n"
        "item: {key: item, question: question_id, system: system, truth: HumanJudgement}\n"
        f"verdicts: {json.dumps(list(known))}\n",
    )
    for judge, of in known.items():
        assert_reference(found, judge, of, {
            "accuracy": "accuracy", "kappa": "cohens_kappa", "scott_pi": "scott_pi",
            "tpr": "pooled_sensitivity", "tnr": "pooled_specificity", "pass_rate": "pooled_judged",
            "human_pass_rate": "pooled_people", "system_error_raw": "system_error",
            "system_error_shared_correction": "system_error_shared_correction",
            "order_inversions_raw": "order_inversions",
        })  # fmt: skip


@needs_shared
@pytest.mark.slow
def test_published_grades_are_audited_and_those_off_the_scale_are_named(
    command: CommandLine,
) -> None:
    known = reference("llmjudge")
    chosen = ("h2oloo-zeroshot2", "Olz-exp", "TREMA-4prompts")
    item = "item: {key: '{query} {passage}', truth: human}\n"
    verdicts = f"verdicts: {json.dumps([*chosen, 'RMITIR-llama70B'])}\n"
    data = "llmjudge/labels.csv.gz"
    (command.folder / "strict.yaml").write_text(
        f"{PUBLISHED_MAPPING}scale: {{lowest: 0, highest: 3}}\n{item}{verdicts}"
    )
    refused = command("audit", str(SHARED / "data" / data), "--mapping", "strict.yaml")
    for named in ("RMITIR-llama70B is '5'", "h2oloo-zeroshot2 is '10'"):
        assert named in " ".join(refused.errors.split())
    whole = "unlisted: unreadable\nscale: {lowest: 0, highest: 3}\n"
    two = (
        'unlisted: unreadable\nstages: ["below 2", "2 and above"]\n'
        + "\n".join(f'{key}: {{"0": 1, "1": 1, "2": 2, "3": 2}}' for key in ("truths", "decisions"))
        + "\n"
    )
    graded, above = (figures_of(command, data, one + item + verdicts) for one in (whole, two))
    for judge in chosen:
        metrics = {"exact_agreement": "accuracy", "cohen_kappa": "cohens_kappa"}
        assert_reference(graded, judge, known[judge], metrics)
        assert_reference(above, judge, known[judge], {"binary_kappa_2up": "cohens_kappa"})
        mean = 3 * graded[judge, "mean_score"]["estimate"]
        assert mean == pytest.approx(float(known[judge]["mean_grade"]), abs=1e-6)


@pytest.mark.slow
def test_published_pairs_are_held_against_the_majority_of_three_people(
    command: CommandLine,
) -> None:
    """The published agreement; with its 38 answers "Tie" read as ties, of as many more."""
    study = REPOSITORY / "deployments" / "studies" / "pandalm"
    published = {
        "gpt-3.5-turbo": (936, 0.739316, 0.522629),
        "pandalm-7b": (999, 0.667668, 0.435355),
    }

    def found(mapping: Path) -> dict[tuple[str, str], dict[str, Any]]:
        typed = ("audit", study / "pairs.csv.gz", "--mapping", mapping, "--json")
        return by_judge(json.loads(command(*typed).fine().output)["figures"])

    as_published = found(study / "mapping.yaml")
    for judge, (n, accuracy, kappa) in published.items():
        assert as_published[judge, "majority_accuracy"]["n"] == n
        assert as_published[judge, "majority_accuracy"]["estimate"] == pytest.approx(
            accuracy, abs=1e-6
        )
        assert as_published[judge, "majority_kappa"]["estimate"] == pytest.approx(kappa, abs=1e-6)
    ranked = as_published["gpt-3.5-turbo", "pairs_decided"]
    assert (ranked["n"], ranked["n_items"]) == (10, 5), "pairs of five systems"
    # Mean of judge less mean of three people over 936 pairs, by a script of its own.
    assert as_published["gpt-3.5-turbo", "first_shown_bias"]["estimate"] == pytest.approx(
        0.0162037, abs=1e-6
    )
    ties = command.folder / "ties.yaml"
    text = (study / "mapping.yaml").read_text()
    ties.write_text(text.replace('"2": 3}\nunlisted', '"2": 3, "Tie": 2}\nunlisted'))
    assert found(ties)["gpt-3.5-turbo", "majority_accuracy"]["n"] == 936 + 38 == 999 - 25


WIDE = "id,judge one,judge two,human\n" + "".join(
    f"t{n},{'yes' if n % 2 else 'no'},{'yes' if n % 3 else 'no'},{'yes' if n % 2 else 'no'}\n"
    for n in range(12)
)


def test_a_mapping_is_proposed_and_read_once_it_is_confirmed(command: CommandLine) -> None:
    (command.folder / "sheet.csv").write_text(WIDE)
    asked = command("audit", "sheet.csv")
    assert asked.code == 2
    written = command.folder / "sheet-mapping.yaml"
    assert f"--mapping {written}" in " ".join(asked.errors.split())
    assert not (command.data / "reports").exists()
    told = command("audit", "sheet.csv", "--yes").fine().output
    again = command("audit", "sheet.csv", "--mapping", written).fine().output
    for shown in (told, again):
        assert "accuracy" in shown


def test_the_advice_of_an_audit_can_be_typed_as_it_is(command: CommandLine) -> None:
    """The name has a space and a quote; beside a mapping the advice is a key of it."""
    rows = "".join(f"q{n},a,{1 + n % 5},{1 + n % 4}\n" for n in range(12))
    (command.folder / "rows.csv").write_text(f"item,judge,score,ann's human label\n{rows}")
    shown = " ".join(command("audit", "rows.csv").fine().output.split())
    [typed] = re.findall(r"give them with (--truth .+?), or `(item: .+?)`", shown)
    assert shlex.split(typed[0]) == ["--truth", "ann's human label"]
    assert "accuracy" in command("audit", "rows.csv", *shlex.split(typed[0])).fine().output
    own = command.folder / "own.yaml"
    own.write_text(command("audit", "rows.csv", "--show-mapping").fine().output)
    shown = " ".join(command("audit", "rows.csv", "--mapping", own).fine().output.split())
    assert "--truth" not in shown
    assert typed[1] in shown
    own.write_text(own.read_text().replace("item: {", f"{typed[1].removesuffix('}')}, "))
    assert "accuracy" in command("audit", "rows.csv", "--mapping", own).fine().output
    refused = command("audit", "rows.csv", "--mapping", own, "--truth", "x")
    assert refused.code == 2
    assert "item: {truth: x}" in " ".join(refused.errors.split())


def test_columns_of_percent_and_of_marks_are_not_one_scale(command: CommandLine) -> None:
    rows = "".join(f"q{n},{20 * (1 + n % 5)}%,{1 + n % 5}\n" for n in range(20))
    (command.folder / "rows.csv").write_text(f"id,claude,human\n{rows}")
    own = command.folder / "own.yaml"
    text = (
        "name: own\nconcept: quality\nsource: made up\njudges: [claude]\n"
        "scale: {lowest: 0, highest: 100}\nitem: {key: id, people: [human]}\n"
    )
    own.write_text(text)
    refused = command("audit", "rows.csv", "--mapping", own)
    assert refused.code == 2
    assert "claude is percent, 20 to 100, and human is 1 to 5" in " ".join(refused.errors.split())
    own.write_text(text.replace(", people: [human]", ""))
    assert "1 judge, 20 items" in command("audit", "rows.csv", "--mapping", own).fine().output


@pytest.mark.parametrize(
    ("keys", "judges"),
    [
        ("judges: [judge one, judge two]\nitem: {key: id, people: [human]}", 2),
        ("judges: rest\nitem: {key: id, people: [human]}", 2),
        ("judges: [judge one]\nitem: {key: id, people: rest}", 1),
    ],
)
def test_a_mapping_names_judges_and_people_or_the_rest(
    command: CommandLine, keys: str, judges: int
) -> None:
    (command.folder / "sheet.csv").write_text(WIDE)
    own = command.folder / "own.yaml"
    own.write_text(f"name: own\nconcept: c\nsource: s\nstages: ['no', 'yes']\n{keys}\n")
    shown = command("audit", "sheet.csv", "--mapping", own, "--json").fine()
    rows = json.loads(shown.output)["figures"]
    found = {row["scope"]["judge"] for row in rows if row["metric"] == "unparseable_rate"}
    assert len(found) == judges
    people = {row["metric"] for row in rows if row["estimate"] is not None}
    assert ("accuracy" if judges == 2 else "people_distance") in people


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("judges: rest\nitem: {key: id, people: rest}", "both `rest`"),
        ("judges: rest\nverdicts: [human]\nitem: {key: id}", "judges is given, and verdicts"),
        ("judges: [judge three]\nitem: {key: id}", "there is no 'judge three'"),
        ("judges: rest\nitem: {key: id, text: human, title: judge one, system: judge two}",
         "the mapping names every column"),
    ],
)  # fmt: skip
def test_the_rest_is_one_sides_and_something(command: CommandLine, keys: str, said: str) -> None:
    (command.folder / "sheet.csv").write_text(WIDE)
    own = command.folder / "own.yaml"
    own.write_text(f"name: own\nconcept: c\nsource: s\nstages: ['no', 'yes']\n{keys}\n")
    refused = command("audit", "sheet.csv", "--mapping", own)
    assert refused.code == 2
    assert said in " ".join(refused.errors.split())


def test_the_rest_of_a_file_of_labels_are_people(command: CommandLine) -> None:
    """The mapping names no person, and the file of labels has an id of its own."""
    (command.folder / "sheet.csv").write_text("id,one\n" + "".join(
        f"q{n},{'yes' if n % 2 else 'no'}\n" for n in range(12)))  # fmt: skip
    (command.folder / "labels.csv").write_text("item,ann,bo,cy\n" + "".join(
        f"q{n},{'yes' if n % 2 else 'no'},yes,\n" for n in range(12)))  # fmt: skip
    own = command.folder / "own.yaml"
    own.write_text(
        "name: own\nconcept: c\nsource: s\nstages: ['no', 'yes']\njudges: rest\nitem: {key: id}\n"
        "labels: {file: labels.csv, item: item, people: rest}\n"
    )
    named = command.folder / "named.yaml"
    named.write_text(own.read_text().replace("people: rest", "people: [ann, bo, cy]"))
    figures = [
        json.loads(command("audit", "sheet.csv", "--mapping", one, "--json").fine().output)[
            "figures"
        ]
        for one in (own, named)
    ]
    assert figures[0] == figures[1]
    assert "people_distance" in {row["metric"] for row in figures[0]}
    (command.folder / "labels.csv").write_text("item\nq1\n")
    refused = command("audit", "sheet.csv", "--mapping", own)
    assert "labels.csv: labels.people is `rest`" in " ".join(refused.errors.split())


def test_an_unchanged_proposal_gives_way_to_the_next(command: CommandLine) -> None:
    (command.folder / "sheet.csv").write_text(WIDE)
    command("audit", "sheet.csv", "--yes").fine()
    command("audit", "sheet.csv", "--yes", "--judges", "judge one", "--people", "human").fine()
    written = command.folder / "sheet-mapping.yaml"
    assert "judge two" not in written.read_text()
    written.write_text(written.read_text().replace("sheet", "mine"))
    assert command("audit", "sheet.csv", "--yes").code == 2


def test_a_proposal_without_consent_says_that_consent_is_missing(command: CommandLine) -> None:
    lines = ["id,gpt-4o,claude", *(f"q{n},{n % 2},{n // 2 % 2}" for n in range(20))]
    (command.folder / "wide.csv").write_text("\n".join(lines))
    refused = command("audit", "wide.csv")
    assert refused.code == 2
    said = " ".join(refused.errors.split())
    assert "consent is missing" in said
    assert "add --yes" in said
    assert "no column" not in said


def test_a_mapping_of_ones_own_is_not_written_over(command: CommandLine) -> None:
    (command.folder / "sheet.csv").write_text(WIDE)
    own = command.folder / "sheet-mapping.yaml"
    own.write_text("name: own\n")
    refused = command("audit", "sheet.csv", "--yes")
    assert refused.code == 2
    assert "is there already" in refused.errors
    assert own.read_text() == "name: own\n"


def test_two_columns_whose_names_differ_in_case_are_not_chosen_between(
    command: CommandLine,
) -> None:
    (command.folder / "a.csv").write_text("item,judge,Judge,score\na,x,y,1\nb,x,y,2\n")
    ended = command("audit", "a.csv")
    assert ended.code == 2
    assert "Columns 'judge' and 'Judge' are both called 'judge'" in ended.errors


def test_a_proposed_mapping_keeps_the_line_of_the_names(command: CommandLine) -> None:
    rows = [f"a{number},{'good,bad' if number % 2 else 'bad,bad'}" for number in range(8)]
    (command.folder / "a.csv").write_text("\n".join(["Grades of March", "id,J1,J2", *rows]))
    assert "may be a title" in command("audit", "a.csv", "--yes").errors
    for typed in (("--header", "2", "--yes"), ("--mapping", "a-mapping.yaml")):
        assert "2 judges, 8 items" in command("audit", "a.csv", *typed).fine().output


def test_a_mapping_is_proposed_of_scores_with_a_decimal_comma(command: CommandLine) -> None:
    rows = [f"{n};{1 + n % 5 / 2};{1 + (n + n % 3) % 5 / 2}".replace(".", ",") for n in range(20)]
    (command.folder / "a.csv").write_text("\n".join(["Nr;gpt;claude", *rows]))
    shown = command("audit", "a.csv", "--yes").fine().output
    assert "2 judges, 20 items" in shown
    assert "2.00" in shown, "the mean of 1, 1.5, 2, 2.5 and 3"


def test_labels_of_systems_that_files_name_otherwise_and_double_labels_are_told(
    command: CommandLine,
) -> None:
    """SIMULATED. A team's files: prompts of two names, a label too many and one of nothing."""
    judged = [f"q{n},{prompt},j,{(n + one) % 2}" for n in range(60)
              for one, prompt in enumerate(("calm", "warm"))]  # fmt: skip
    (command.folder / "judged.csv").write_text("\n".join(["q,prompt,judge,score", *judged]))
    labels = [f"q{n},{prompt},{who},{(n + one) % 2}" for n in range(24)
              for one, prompt in enumerate(("calm", "warm")) for who in ("ann", "bo")]  # fmt: skip
    more = ["q999,calm,ann,1", "q3,calm,ann,0"]
    header = "q,prompt,person,label"
    (command.folder / "mapping.yaml").write_text(
        "name: s\nconcept: good\nsource: s\njudge_column: judge\nstages: ['0', '1']\n"
        "item: {key: q, system: prompt}\nverdicts: [score]\n"
        "labels: {file: labels.csv, item: q, person: person, label: label}\n"
    )
    typed = ("audit", "judged.csv", "--mapping", "mapping.yaml")
    file = command.folder / "labels.csv"
    file.write_text("\n".join([header, *labels, *more]).replace("warm", "Warm"))
    refused = command(*typed)
    assert refused.code == 2
    assert "prompt is 'Warm'" in refused.errors
    assert "Did you mean warm?" in refused.errors
    file.write_text("\n".join([header, *labels, *more]))
    shown_lines = command(*typed).fine().output.splitlines()
    shown = " ".join(" ".join(shown_lines).split())
    assert "labels of one person that differ: q3 (calm, ann)." in shown
    rows = [line.split() for line in shown_lines if line.startswith("j ")]
    assert any("47" in row for row in rows)  # of 48 with two people's labels
    assert "no such item: labels.csv (1)" in shown
    assert "labels cannot tell which is better" in shown
    assert "Forecast: decided with a chance of" in shown


def test_a_table_without_an_item_says_how_its_mapping_begins(command: CommandLine) -> None:
    rows = [f"q{n},{prompt},j,pass" for n in range(5) for prompt in ("calm", "warm")]
    (command.folder / "rows.csv").write_text("\n".join(["question,prompt,judge,verdict", *rows]))
    refused = command("audit", "rows.csv")
    assert refused.code == 2
    begun = YAML(typ="safe").load(refused.errors.partition("\n\n")[2])
    assert begun["item"] == {"key": "question"}
    assert (begun["judge_column"], begun["wording_column"]) == ("judge", "prompt")
    assert (begun["verdicts"], begun["stages"]) == (["verdict"], ["pass"])


def test_means_and_bias_by_system_are_of_scores_as_written(command: CommandLine) -> None:
    """Half points of one judge: 3.5 is 0.625 of 1 to 5, and not the 0.75 of stage 4."""
    lines = ["id,question,bot,halves,whole,person"]
    for n in range(20):
        lines.append(f"a{n},q{n},a,3.5,4,{3 + n % 2}")  # people's mean: 3.5
        lines.append(f"b{n},q{n},b,2.5,2,{2 + n % 2}")  # 2.5
    (command.folder / "wide.csv").write_text("\n".join(lines))
    mapping = (
        "name: wide\nconcept: good answer\nsource: our log\njudge: '{column}'\n"
        "scale: {lowest: 1, highest: 5}\nverdicts: [halves, whole]\n"
        "item: {key: id, question: question, system: bot, truth: person}\n"
    )
    (command.folder / "mapping.yaml").write_text(mapping)
    typed = ("audit", "wide.csv", "--mapping", "mapping.yaml", "--json")
    rows = json.loads(command(*typed).fine().output)["figures"]
    by_system = {
        (one["scope"]["judge"], one["scope"]["system"], one["metric"]): one["estimate"]
        for one in rows
        if {"judge", "system"} <= one["scope"].keys() and "rival" not in one["scope"]
    }
    for system, mean in (("a", 0.625), ("b", 0.375)):
        assert by_system["halves", system, "system_judged"] == pytest.approx(mean)
        assert by_system["halves", system, "system_bias"] == pytest.approx(0)
        assert by_system["halves", system, "mean_score"] == pytest.approx(mean)
        assert by_system["halves", system, "system_corrected"] == pytest.approx(mean)
    # The judge of whole points keeps its own bias: 4 for 3.5, and 2 for 2.5.
    assert by_system["whole", "a", "system_bias"] == pytest.approx(0.125)
    assert by_system["whole", "b", "system_bias"] == pytest.approx(-0.125)

    # Half points of people count as written, too: the whole judge is 0.125 above 3.5.
    halves = [line.rsplit(",", 1)[0] + f",{3.5 if ',a,' in line else 2.5}" for line in lines[1:]]
    (command.folder / "wide.csv").write_text("\n".join([lines[0], *halves]))
    rows = json.loads(command(*typed).fine().output)["figures"]
    bias = {
        (one["scope"]["judge"], one["scope"]["system"]): one["estimate"]
        for one in rows
        if one["metric"] == "system_bias"
    }
    assert bias == pytest.approx(
        {("halves", "a"): 0, ("halves", "b"): 0, ("whole", "a"): 0.125, ("whole", "b"): -0.125}
    )


def test_categories_that_differ_only_in_case_are_named_and_may_be_joined(
    command: CommandLine,
) -> None:
    areas = ["Law"] + 9 * ["law"] + 10 * ["code"]
    lines = [f"a{n},x,{1 + n % 5},{area}" for n, area in enumerate(areas)]
    (command.folder / "long.csv").write_text("\n".join(["id,judge,score,area", *lines]))
    mapping = (
        "name: long\nconcept: good answer\nsource: our log\njudge_column: judge\n"
        "scale: {lowest: 1, highest: 5}\nverdicts: [score]\nitem: {key: id, category: area}\n"
    )
    (command.folder / "mapping.yaml").write_text(mapping)
    typed = ("audit", "long.csv", "--mapping", "mapping.yaml")
    shown = " ".join(command(*typed).fine().output.split())
    assert "different categories: 'Law' (1) and 'law' (9) items" in shown
    [key] = re.findall(r"`(names: \{[^`]*\})`", shown)
    (command.folder / "mapping.yaml").write_text(f"{mapping}{key}\n")
    assert "differ only in case" not in command(*typed).fine().output


def test_systems_that_differ_only_in_case_are_named_and_may_be_joined(
    command: CommandLine,
) -> None:
    """Spaces around a name are no part of it; another case is another system until one says so."""
    lines = ["id,bot,judge,person"]
    for n in range(30):
        odd = {0: "Heron-Base", 1: "heron-base "}.get(n, "heron-base")
        lines += [f"a{n},{odd},{1 + n % 5},{1 + n % 5}", f"b{n},wren,{1 + n % 4},{1 + n % 3}"]
    (command.folder / "wide.csv").write_text("\n".join(lines))
    mapping = (
        "name: wide\nconcept: good answer\nsource: our log\njudge: '{column}'\n"
        "scale: {lowest: 1, highest: 5}\nverdicts: [judge]\n"
        "item: {key: id, system: bot, truth: person}\n"
    )
    (command.folder / "mapping.yaml").write_text(mapping)
    typed = ("audit", "wide.csv", "--mapping", "mapping.yaml")
    shown = " ".join(command(*typed).fine().output.split())
    assert "Systems that differ only in case: Heron-Base, heron-base." in shown
    assert "'Heron-Base' (1) and 'heron-base' (29) items" in shown
    [key] = re.findall(r"`(names: \{[^`]*\})`", shown)
    (command.folder / "mapping.yaml").write_text(f"{mapping}{key}\n")
    shown = " ".join(command(*typed).fine().output.split())
    assert "differ only in case" not in shown
    rows = json.loads(command(*typed, "--json").fine().output)["figures"]
    assert {one["scope"]["system"] for one in rows if one["metric"] == "system_bias"} == {
        "heron-base",
        "wren",
    }


def test_each_judge_has_a_line_of_its_order_with_the_fewest_inversions_first(
    command: CommandLine,
) -> None:
    """Three systems by two people; `upside` prefers what people fail, and comes last."""
    lines = ["id,question,bot,upside,fair,ann,ben"]
    for n in range(40):
        for bot, good in (("a", 5), ("b", 3), ("c", 3)):
            truth = max(1, good - n % 2)
            other = truth - 1 if n % 4 == 0 else truth
            lines.append(f"{bot}{n},q{n},{bot},{6 - truth},{truth},{truth},{other}")
    (command.folder / "wide.csv").write_text("\n".join(lines))
    (command.folder / "mapping.yaml").write_text(
        "name: wide\nconcept: good answer\nsource: our log\njudge: '{column}'\n"
        "scale: {lowest: 1, highest: 5}\nverdicts: [upside, fair]\n"
        "item: {key: id, question: question, system: bot, people: [ann, ben]}\n"
    )
    typed = ("audit", "wide.csv", "--mapping", "mapping.yaml")
    shown = " ".join(command(*typed).fine().output.split())
    assert "fair ranks 3 systems: 2 of 3 pairs decided" in shown
    lines = dict(re.findall(r"(fair|upside): ([^;]*; open: [^.]*\. Its own means: [^.]*)\.", shown))
    assert lines["fair"].startswith("a > ")
    assert re.search(r"open: (b and c|c and b)\.", lines["fair"])
    assert lines["fair"].endswith("the same order")
    assert lines["upside"].startswith("a > ")
    assert lines["upside"].endswith("> a")
    # People differ on every fourth item: 30 of 40 of each system have a known answer.
    assert "120 items, 120 with a label" in shown
    assert "agreement and κ are of those on which both people agree" in shown
    rows = json.loads(command(*typed, "--json").fine().output)["figures"]
    of = {one["scope"]["judge"]: one for one in rows if one["metric"] == "majority_accuracy"
          and one["scope"].keys().isdisjoint({"system", "category"})}  # fmt: skip
    assert of["fair"]["n_items"] == 90


def test_a_number_off_the_scale_is_named_with_its_row_and_is_no_other_scale(
    command: CommandLine,
) -> None:
    mapping = (
        "name: wide\nconcept: good answer\nsource: our log\njudge: '{column}'\n"
        "scale: {lowest: 1, highest: 5}\nverdicts: [one, two]\nunlisted: unreadable\n"
        "item: {key: id, truth: person}\n"
    )
    (command.folder / "mapping.yaml").write_text(mapping)
    typed = ("audit", "wide.csv", "--mapping", "mapping.yaml", "--all")

    def shown(two: Callable[[int], object]) -> str:
        lines = ["id,one,two,person"]
        lines += [f"a{n},{1 + n % 5},{two(n)},{1 + n % 5}" for n in range(20)]
        (command.folder / "wide.csv").write_text("\n".join(lines))
        return " ".join(command(*typed).fine().output.split())

    slip = shown(lambda n: {3: "n/a", 4: "n/a", 7: 44}.get(n, 1 + n % 5))
    assert "two: 44 in a7 (line 9) is outside 1 to 5" in slip
    assert "If the scale" not in slip
    low = shown(lambda n: 0 if n == 7 else 1 + n % 5)
    assert "If the scale starts at 0, write `lowest: 0`. Correct a mistake in the file" in low
    assert "Scales may be mixed" not in slip
    # The rarest value first, each with where it stands.
    named = "3 answers of no verdict, unreadable here: '44', two on a7 (line 9); 'n/a' (2 times), "
    assert f"{named}two on a3 (line 5)." in slip
    # Half of a judge's scores off the scale are no slip.
    other = shown(lambda n: 20 * (1 + n % 5) if n % 2 else 1 + n % 5)
    assert "Scales may be mixed: 10 of 20 scores of two are outside 1 to 5" in other


def test_numbers_that_say_that_there_is_no_score_are_no_other_scale(command: CommandLine) -> None:
    lines = ["id,gpt,claude,ann,bob"]
    for n in range(40):
        mark = 1 + n % 5
        lines.append(
            f"a{n},{-1 if n % 8 == 0 else mark},{99 if n == 3 else mark},"
            f"{99 if n == 5 else mark},{7 if n == 6 else -1 if n % 20 == 1 else mark}"
        )
    (command.folder / "wide.csv").write_text("\n".join(lines))
    shown = " ".join(
        command("audit", "wide.csv", "--people", "ann,bob", "--yes", "--all").fine().output.split()
    )
    assert (
        "5 scores of gpt are outside 1 to 5, and may say that there is no score: -1 in a0 (line 2)"
        in shown
    )
    assert "1 score of claude is outside 1 to 5, and may say that there is no score: 99" in shown
    assert "Scales may be mixed" not in shown
    of_people = "of people left out, whose value is"
    assert f"2 labels {of_people} '-1' (it may say that there is no score)" in shown
    assert f"1 label {of_people} '99' (it may say that there is no score)" in shown
    # 7 is no such number: it may be a slip, or stand for a stage.
    assert f"1 label {of_people} '7': a6 (bob). If the scale ends at 7, write `highest: 7`" in shown
    # gpt has -1 in 5 rows, claude 99 in one; of people two -1, a 99 and the 7 are left out.
    assert "values of 6 judgements and 4 labels are not read" in shown
