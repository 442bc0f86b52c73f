"""`judge-gym analyse atlas`: a small study by hand, wrong and unknown names, shipped studies."""

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from deployments.cli.atlas import shown_studies
from docs.atlas import OPENING, PAGE, PICTURE, made_parts, parts_of
from judge_gym.analysis.atlas import ClaimStanding, load_study
from judge_gym.recorded.claims import CLAIMS
from judge_gym.report.atlas import StudyShown, atlas_picture
from judge_gym.shipped import DEPLOYMENTS
from support.command_line import REPOSITORY, CommandLine
from support.references import SHARED

SHIPPED = sorted(file.parent for file in (DEPLOYMENTS / "studies").glob(f"*/{CLAIMS}"))
NAMES = [folder.name for folder in SHIPPED]
MAPPING = """\
name: small
concept: right answer
source: made up
judge: "{column}"
verdicts: [good, poor]
stages: ["no", "yes"]
item: {key: item, category: part, truth: truth}
"""
CLAIM = """\
study: small
about: two judges of twenty items
licence: none
mapping: mapping.yaml
readings:
  only good: {verdicts: [good]}
claims:
  - name: Good is right
    claim: The judge is right on most items
    source: by hand
    places: 2
    figures:
      - figure: accuracy
        of: {judge: good}
        published: 0.90
        above: 0.5
        over: [judge, category]
        readings: [only good]
    settles: More items
"""


@pytest.fixture
def command(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path, in_process=True)


def write(command: CommandLine, claims: str = CLAIM) -> str:
    """Write twenty items in two parts: `good` errs on one of each ten, `poor` on half of them."""
    folder = command.folder / "study"
    folder.mkdir(exist_ok=True)
    rows = ["item,part,truth,good,poor"]
    for item in range(20):
        truth = "yes" if item % 2 else "no"
        other = "no" if item % 2 else "yes"
        good = other if item % 10 == 3 else truth
        poor = truth if item < 10 else other
        rows.append(f"i{item},{'first' if item < 10 else 'second'},{truth},{good},{poor}")
    (folder / "rows.csv").write_text("\n".join(rows))
    (folder / "mapping.yaml").write_text(MAPPING + "files: rows.csv\n")
    (folder / CLAIMS).write_text(claims)
    return "study"


def claims_of(command: CommandLine, *typed: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        command("analyse", "atlas", *typed, "--json").fine().output
    )["claims"]
    return found


def test_a_claim_is_recomputed_and_tested_under_every_specification(command: CommandLine) -> None:
    [claim] = claims_of(command, write(command))
    assert claim["standing"] == ClaimStanding.TO_ROUNDING
    [value] = claim["values"]
    # Right on 18 of 20; the interval is that of the figure, not of the claim.
    assert value["recomputed"] == pytest.approx(0.9)
    assert value["lower"] < 0.9 < value["upper"]
    by_hand = {
        "as claimed": 0.9, "poor": 0.5, "first": 0.9, "second": 0.9, "poor, first": 1.0,
        "poor, second": 0.0, "only good": 0.9,
    }  # fmt: skip
    found = {one["choice"]: one["value"] for one in claim["specifications"]}
    assert found == pytest.approx(by_hand)
    # A half is not above a half.
    assert claim["holds"] == sum(value > 0.5 for value in by_hand.values()) == 5
    # Its interval contains a half; that of none of ten right does not.
    assert [one["choice"] for one in claim["specifications"] if one["open"]] == ["poor"]


def test_the_page_and_the_picture_name_every_claim(command: CommandLine) -> None:
    printed = command("analyse", "atlas", write(command), "--picture", "claims.svg").fine().output
    assert "Of 1 claim on 1 data set, 1 is recomputed to rounding (1 value)" in printed
    assert "5 of 7" in printed
    page = (command.data / "reports" / "atlas.html").read_text()
    assert "The judge is right on most items" in page
    assert "not: poor, poor, second" in page
    assert "audit-small.html" in page
    assert (command.data / "reports" / "audit-small.html").is_file()
    assert "Good is right" in (command.folder / "claims.svg").read_text()


def test_a_wrong_published_value_fails_and_is_named(command: CommandLine) -> None:
    failed = command("analyse", "atlas", write(command, CLAIM.replace("0.90", "0.91")), "--json")
    assert failed.code == 1
    given = json.loads(failed.output)
    assert given["claims"][0]["standing"] == ClaimStanding.DIFFERS
    assert given["error"]["code"] == 1
    assert "small, claim 1 (Good is right)" in given["error"]["message"]
    assert "accuracy of good is 0.90, published 0.91" in given["error"]["message"]
    assert "differs" in given["error"]["remedy"]


def test_a_published_value_that_its_data_cannot_give_is_named(command: CommandLine) -> None:
    # Its other value agrees, and is not the one that fails.
    more = "      - {figure: label_bias, of: {judge: good}, published: 0.25}\n    settles"
    failed = command("analyse", "atlas", write(command, CLAIM.replace("    settles", more)))
    assert failed.code == 1
    message = " ".join(failed.errors.split())
    assert "label_bias of good" in message
    assert "accuracy" not in message


def test_the_last_published_digit_is_what_rounding_means(command: CommandLine) -> None:
    # 0.90 lies 0.004 from 0.904, which is nearer than half of a hundredth.
    [claim] = claims_of(command, write(command, CLAIM.replace("0.90", "0.904")))
    assert claim["standing"] == ClaimStanding.TO_ROUNDING
    exact = CLAIM.replace("0.90", "0.904").replace("places: 2", "places: 3")
    assert command("analyse", "atlas", write(command, exact)).code == 1


def test_a_stated_reason_explains_a_difference_and_none_that_is_not_there(
    command: CommandLine,
) -> None:
    reason = CLAIM.replace("    places: 2\n", "    places: 2\n    differs: other answers\n")
    [claim] = claims_of(command, write(command, reason.replace("0.90", "0.91")))
    assert (claim["standing"], claim["why"]) == (ClaimStanding.EXPLAINED, "other answers")
    stale = command("analyse", "atlas", write(command, reason))
    assert stale.code == 1
    assert "every value agrees" in " ".join(stale.errors.split())


def test_values_of_other_data_need_not_agree_and_a_claim_may_have_none(
    command: CommandLine,
) -> None:
    elsewhere = CLAIM.replace("    places: 2\n", "    origin: elsewhere\n")
    [claim] = claims_of(command, write(command, elsewhere.replace("0.90", "0.5")))
    assert claim["standing"] == ClaimStanding.OTHER_DATA
    [claim] = claims_of(command, write(command, CLAIM.replace("        published: 0.90\n", "")))
    assert claim["standing"] == ClaimStanding.NO_FIGURE
    assert claim["holds"] == 5


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("figure: accuracy", "figure: acuracy",
         ("claims[0].figures[0].figure is 'acuracy'", "Did you mean accuracy?",
          "judge-gym analyse figures --list")),
        ("readings: [only good]", "instead: [kapa]",
         ("claims[0].figures[0].instead[0] is 'kapa'", "judge-gym analyse figures --list")),
        ("of: {judge: good}", "of: {judge: god}",
         ("claims[0].figures[0] has judge: god", "It has: good, poor.")),
        ("of: {judge: good}", "of: {wording: plain}",
         ("claims[0].figures[0] has wording: plain", "It has: none.")),
        ("of: {judge: good}", "of: {category: first}",
         ("claims[0].figures[0] has `of` with category", "judge, category")),
        ("readings: [only good]", "readings: [only god]",
         ("names the reading 'only god'", "The file has: only good.")),
        ("above: 0.5", "above: 0.5\n        below: 0.9", ("one of above, below",)),
        ("mapping: mapping.yaml", "mapping: mapping.yaml\nannotations: a.yaml",
         ("one of mapping and annotations",)),
        ("settles: More items", "setles: More items", ("setles is not a known key",)),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_error_with_file_key_value_and_what_is_allowed(
    old: str, new: str, named: tuple[str, ...], command: CommandLine
) -> None:
    failed = command("analyse", "atlas", write(command, CLAIM.replace(old, new)))
    assert failed.code == 2
    said = " ".join(failed.errors.split())
    assert f"study/{CLAIMS}, line " in said
    for part in named:
        assert part in said


def test_a_folder_without_claims_is_named(command: CommandLine) -> None:
    assert "claims.yaml" in " ".join(command("analyse", "atlas", "nowhere").errors.split())


def test_data_that_is_not_there_is_said_and_fails_nothing(command: CommandLine) -> None:
    absent = CLAIM.replace("licence: none", "licence: none\nbeside: gone/rows.csv")
    [claim] = claims_of(command, write(command, absent), "--beside", "elsewhere")
    assert claim["standing"] == ClaimStanding.NO_DATA
    assert "elsewhere/gone/rows.csv" in claim["why"]
    printed = command("analyse", "atlas", "study", "--beside", "elsewhere").fine().output
    assert "1 has no data here" in printed
    (command.folder / "elsewhere/gone").mkdir(parents=True)
    (command.folder / "study/rows.csv").rename(command.folder / "elsewhere/gone/rows.csv")
    [claim] = claims_of(command, "study", "--beside", "elsewhere")
    assert claim["standing"] == ClaimStanding.TO_ROUNDING


def test_data_without_a_licence_is_not_shipped() -> None:
    for folder in SHIPPED:
        if load_study(folder).claims.beside:
            kinds = {file.suffix for file in folder.iterdir() if file.is_file()}
            assert kinds <= {".md", ".yaml", ".py"}, folder


def test_there_are_claims_over_many_data_sets() -> None:
    counts = {folder.name: len(load_study(folder).claims.claims) for folder in SHIPPED}
    assert len(counts) >= 6
    assert sum(counts.values()) >= 12


def test_reference_values_are_those_of_the_reference_files() -> None:
    """Claims that cite reference.csv: every value stands in it, under the column of its figure."""
    checked = 0
    for folder in SHIPPED:
        for claim in load_study(folder).claims.claims:
            file = SHARED / "data" / _OF[folder.name] / "reference.csv" if claim.figures else None
            if claim.origin != "reference" or file is None or not file.exists():
                continue
            with file.open(newline="") as lines:
                known = {
                    f"{float(cell):.6f}"
                    for row in csv.DictReader(lines)
                    for cell in row.values()
                    if cell.replace(".", "", 1).replace("-", "", 1).isdigit()
                }
            for figure in claim.figures:
                for value in figure.values.values():
                    assert f"{value:.6f}" in known, (folder.name, figure.figure, value)
                    checked += 1
    if not checked:
        pytest.skip("needs ../shared/data")


_OF = {
    "alttest": "alttest", "dices": "dices", "judgebench": "judgebench", "llmbar": "llmbar",
    "judging-judges": "judging_judges", "llmjudge": "llmjudge", "pandalm": "pandalm",
}  # fmt: skip


@pytest.fixture(scope="module")
def shipped() -> Mapping[str, StudyShown]:
    """Folder → the study with what its data gives; without figures where the data is absent."""
    return dict(zip(NAMES, shown_studies(SHIPPED, SHARED / "data"), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_claim_of_a_shipped_study_is_recomputed(
    name: str, shipped: Mapping[str, StudyShown]
) -> None:
    """To rounding of what was published, or of what other code computed."""
    study = shipped[name]
    if all(one.standing == ClaimStanding.NO_DATA for one in study.found if one.claim.figures):
        pytest.skip(f"needs ../shared/data/{study.claims.beside}, which is not shipped")
    for one in study.found:
        values = [value for value in one.values if value.published is not None]
        if one.claim.origin in ("published", "reference") and values:
            assert one.standing == ClaimStanding.TO_ROUNDING, one.claim.name
            for value in values:
                assert value.difference is not None
                allowed = 0.5 * 10**-one.claim.places + 1e-9
                assert abs(value.difference) <= allowed, (one.claim.name, value.about)


def test_the_readme_says_what_the_page_says() -> None:
    said = parts_of(PAGE.read_text(encoding="utf-8"))[OPENING]
    found = re.match(r"Of (\d+) claims on \d+ data sets, (\d+) are recomputed", said)
    tested = re.search(r"of (\d+) that can be tested, (\d+) hold", said)
    assert found
    assert tested
    readme = " ".join((REPOSITORY / "README.md").read_text(encoding="utf-8").split())
    assert f"recomputes {found[1]} published claims" in readme
    assert f"{found[2]} meet the published figures" in readme
    assert f"{tested[2]} of the {tested[1]} that can be tested hold under every choice" in readme


@pytest.mark.slow
def test_the_page_of_the_documentation_is_what_the_data_gives(
    shipped: Mapping[str, StudyShown],
) -> None:
    """`make atlas-page` writes it."""
    written = parts_of(PAGE.read_text(encoding="utf-8"))
    made = made_parts(shipped)
    assert written.keys() == made.keys()
    here = [name for name, study in shipped.items() if any(one.values for one in study.found)]
    for name in here if len(here) < len(shipped) else made:
        assert written[name] == made[name], name
    if len(here) == len(shipped):
        drawn = ElementTree.fromstring(atlas_picture([*shipped.values()]))
        kept = ElementTree.parse(PICTURE).getroot()
        assert [*drawn.itertext()] == [*kept.itertext()]
