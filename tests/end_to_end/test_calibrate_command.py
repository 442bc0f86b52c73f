"""`judge-gym judge calibrate` and `judge compare`, from the files to what a person reads."""

import json
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.simulation import Simulator

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "deployments" / "calibrations"
FILE = """
name: small
judges: [good.yaml]
items: items.jsonl
repeats: 2
perturbations: [vague_ify, injection_line]
severities: [1.0]
"""


def test_a_calibration_ends_with_a_page(
    command: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deployments.cli.output.PROGRESS_S", 0)
    (tmp_path / "good.yaml").write_text((EXAMPLES / "good.yaml").read_text())
    lines = (EXAMPLES / "notes.jsonl").read_text().splitlines()[:4]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    file = tmp_path / "small.yaml"
    file.write_text(FILE)

    ended = command("judge", "calibrate", file).fine()
    # Twice: 4 texts, and two changes of each but for one with nothing to make vague.
    assert ended.errors.splitlines()[-1] == "calibrate small.yaml: 22 of 22 judgements"
    said = " ".join(ended.output.split())
    assert "good (SIMULATED) sim/good-1 cannot tell" in said
    title, table = "Calibration small (SIMULATED)", "Which judge to use"
    assert said.index(title) < said.index(table), "what was found comes first"
    assert "SIMULATED DATA: not evidence about real models." in said
    assert len(ended.output.splitlines()) <= 40
    everything = command("judge", "calibrate", file, "--all").fine()
    checks = " ".join(everything.output.split())
    assert "good, sim/good-1 (SIMULATED)" in checks
    assert "vague_ify lowers the score" in checks
    assert "vague_ify lowers the score" not in said
    page = command.data / "reports" / "calibration-small.html"
    assert str(page) in ended.output.replace("\n", "")
    assert "SIMULATED" in page.read_text()
    assert "SIMULATED" in (page.parent / "LOGBOOK.md").read_text()

    # Of four labels nothing can be told, and the judgements of a threshold are stored.
    coded = command("judge", "calibrate", file, "--exit-code", "--json")
    assert coded.code == 3, coded.errors
    told = json.loads(coded.output)
    assert [judge["verdict"] for judge in told["judges"]] == ["cannot tell"]
    assert "readable" in {check["name"] for check in told["judges"][0]["checks"]}
    assert "SIMULATED" in coded.errors
    assert command("judge", "calibrate", file, "--fail-under", "readable=0.3").code == 0
    assert command("judge", "calibrate", file, "--fail-under", "agreement=0.99").code == 3
    assert command("judge", "calibrate", file, "--fail-under", "readible=0.3").code == 2


def test_a_judge_that_clusters_may_not_replace_one_that_does_not(command: CommandLine) -> None:
    files = (EXAMPLES / "good.yaml", EXAMPLES / "clustering.yaml")
    items = EXAMPLES / "notes.jsonl"
    asked = ("judge", "compare", *files, "--items", items, "--shown", "2", "--retry-failed")
    ended = command(*asked).fine()
    said = " ".join(ended.output.split())
    assert "clustering, sim/clustering-1, in place of good, sim/good-1" in said
    assert "The new judge may not replace the old one under these margins." in said
    assert "good, sim/good-1: Agreement with labels: " in said
    assert "clustering, sim/clustering-1: Agreement with labels: " in said
    assert "SIMULATED DATA: not evidence" in said

    coded = command(*asked, "--exit-code", "--json")
    assert coded.code == 1
    told = json.loads(coded.output)
    assert (told["result"], told["labels"]["new"]["labels"]) == ("fails", 12)
    assert command(*asked, "--fail-under", "agreement=0.01", "--json").code == 3
    under = command(*asked, "--fail-under", "agreement=0.95", "--json")
    assert under.code == 1
    [threshold] = json.loads(under.output)["thresholds"]
    assert (threshold["name"], threshold["result"]) == ("agreement", "fails")
    assert threshold["upper"] <= 0.95


def test_versions_of_one_judge_are_told_apart_and_have_pages_of_their_own(
    command: CommandLine,
) -> None:
    old = command.folder / "old.yaml"
    old.write_text((EXAMPLES / "good.yaml").read_text())
    pages = []
    for name, field in (("warm", "temperature: 0.3"), ("short", "max_tokens: 900")):
        new = command.folder / f"{name}.yaml"
        new.write_text(old.read_text().replace("name: good", f"name: good\n{field}", 1))
        ended = command("judge", "compare", old, new, "--items", EXAMPLES / "notes.jsonl")
        said = ended.fine().output.replace("\n", "")
        pages.append(Path(said.partition("Page: ")[2].strip()))
        assert f"good ({new}) in place of good ({old})" in said
        changed = json.loads(pages[-1].with_suffix(".json").read_text())["changed"]
        assert changed == [field.partition(":")[0]]
    assert pages[0] != pages[1]
    assert "warm.yaml" in pages[0].read_text()


def test_a_threshold_of_labels_that_are_missing_is_refused_before_a_call(
    command: CommandLine, simulator: Simulator
) -> None:
    rows = [json.loads(line) for line in (EXAMPLES / "notes.jsonl").read_text().splitlines()]
    bare = [{name: value for name, value in row.items() if name != "truth"} for row in rows]
    (command.folder / "bare.jsonl").write_text("\n".join(map(json.dumps, bare)))
    calibration = command.folder / "calibration.yaml"
    judge = EXAMPLES / "good.yaml"
    calibration.write_text(f"name: bare\nitems: bare.jsonl\njudges: [{judge}]\n")
    files = (judge, EXAMPLES / "clustering.yaml", "--items", "bare.jsonl")
    before = simulator.answered()
    for asked in (("compare", *files), ("calibrate", calibration)):
        for plan in ((), ("--plan",)):
            ended = command("judge", *asked, "--fail-under", "agreement=0.4", *plan)
            assert ended.code == 2, ended.errors
            assert "have no labels" in ended.errors
    assert simulator.answered() == before


def test_a_benchmark_takes_a_threshold_of_the_figure_that_it_has(
    command: CommandLine, simulator: Simulator
) -> None:
    mapping = command.folder / "scores.yaml"
    mapping.write_text(
        "name: known\nsource: invented\nkey: [id]\n"
        "score: {text: text, truth: truth, lowest: 0, highest: 100}\n"
    )
    rows = [json.loads(line) for line in (EXAMPLES / "notes.jsonl").read_text().splitlines()]
    known = [row for row in rows if "truth" in row]
    (command.folder / "known.jsonl").write_text("\n".join(map(json.dumps, known)))
    asked = ("judge", "benchmark", EXAMPLES / "good.yaml")
    asked = (*asked, "--items", "known.jsonl", "--mapping", mapping)
    before = simulator.answered()
    refused = command(*asked, "--fail-under", "accuracy=0.4")
    assert (refused.code, simulator.answered()) == (2, before), refused.errors
    held = command(*asked, "--fail-under", "agreement=0.1", "--json")
    [threshold] = json.loads(held.output)["thresholds"]
    assert threshold["name"] == "agreement"
    assert threshold["estimate"] is not None


@pytest.mark.parametrize(("items", "code"), [(72, 0), (71, 3)])
def test_a_judge_that_scores_the_same_may_replace_the_old_one_by_enough_items(
    command: CommandLine, tmp_path: Path, items: int, code: int
) -> None:
    rows = [{"id": str(n), "text": f"{1 + n % 5} {n}"} for n in range(items)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "first.py").write_text("def grade(item):\n    return int(item['text'][0])\n")
    for name in ("old", "new"):
        (tmp_path / f"{name}.yaml").write_text(
            f"kind: callable\nname: {name}\nversion: {name}\nfunction: first:grade\n"
            "scale: {lowest: 1, highest: 5, anchors: [poor, weak, fair, good, fine]}\n"
        )
    files = (tmp_path / "old.yaml", tmp_path / "new.yaml", "--items", tmp_path / "items.jsonl")
    ended = command("judge", "compare", *files, "--exit-code")
    assert ended.code == code, ended.output + ended.errors
    assert "Furthest apart" not in ended.output
    assert ("Use more items" in " ".join(ended.output.split())) == (code == 3)
    told = json.loads(command("judge", "compare", *files, "--json").fine().output)
    bias = told["checks"][0]
    assert (bias["estimate"], bias["upper"]) == pytest.approx((0, 100 * (1 - 0.025 ** (1 / items))))
    assert "binomial" in bias["method"]


@pytest.mark.slow
def test_a_benchmark_is_judged_in_both_orders(command: CommandLine, tmp_path: Path) -> None:
    deployed = EXAMPLES.parent
    file = tmp_path / "pairs.jsonl"
    rows = [
        {"id": n, "subset": "s", "prompt": "What is 6 x 7?", "chosen": f"42, {n}", "rejected": "7"}
        for n in range(3)
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    mapping = deployed / "benchmarks" / "chosen-rejected.yaml"
    judge = deployed / "judges" / "answers.yaml"
    asked = ("judge", "benchmark", judge, "--items", file, "--mapping", mapping)
    planned = " ".join(command(*asked, "--plan").fine().output.split())
    assert "answers, sim/firstpick-1 0 3 6" in planned
    page = command.data / "reports" / "benchmark-chosen-rejected.html"
    assert not page.exists()
    printed = json.loads(command(*asked, "--json").fine().output)
    assert printed == json.loads(page.with_suffix(".json").read_text())
    said = " ".join(command(*asked).fine().output.split())
    assert "answers, sim/firstpick-1 (SIMULATED)" in said
    assert said.index("answers: ") < said.index("order decides"), "what was found comes first"
    assert "order decides" in said
    assert "SIMULATED DATA: not evidence" in said


def test_a_judge_without_readable_answers_fails_and_its_json_says_why(
    command: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "off.yaml").write_text(
        "kind: callable\nname: off\nfunction: off_the_scale:six\nversion: '1'\n"
        "scale: {lowest: 1, highest: 5}\ngate: {items: gone.jsonl}\n"
    )
    (tmp_path / "off_the_scale.py").write_text("def six(item): return 6\n")
    rows = [{"text": f"A text with {n} words.", "truth": 1 + n % 5} for n in range(5)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    file = tmp_path / "off-calibration.yaml"
    file.write_text(
        "name: off\njudges: [off.yaml]\nitems: items.jsonl\nrepeats: 1\nperturbations: [tone]\n"
    )

    ended = command("judge", "calibrate", file, "--json")
    assert ended.code == 1
    (told,) = json.loads(ended.output)["judges"]
    assert told["verdict"] == "do not use"
    assert "6 is not from 1 to 5" in told["why"]

    gate = command("judge", "gate", tmp_path / "off.yaml")
    assert gate.code == 2
    assert "gate.items" in gate.errors
    assert "gone.jsonl" in gate.errors
