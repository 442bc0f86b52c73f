"""Published figures beside planted and recovered ones."""

from pathlib import Path

import pytest

from judge_gym.design.published import load_published
from judge_gym.design.sweep import load_sweep
from judge_gym.errors import ConfigError
from judge_gym.report.published import _matching, published_table
from support.command_line import SWEEPS

PILOT, PUBLISHED = SWEEPS / "pilot-v3.yaml", SWEEPS / "published" / "pilot-v3.yaml"


def test_the_pilot_states_32_experiments_on_stand_ins_or_on_the_models_themselves(
    tmp_path: Path,
) -> None:
    def stated(file: Path) -> tuple[set[str], set[str]]:
        of = list(load_sweep(file).experiments())
        keys = {one.model_copy(update={"rubric_draw": 0, "tag": ""}).key for one in of}
        return keys, {one.model for one in of}

    keys, models = stated(PILOT)
    assert len(keys) == 32
    assert all(model.startswith("sim/") for model in models)
    study = tmp_path / "study.yaml"
    text = PILOT.read_text()
    start, end = text.index("stand_ins:"), text.index("# Versions of one vendor")
    corpora = str(SWEEPS / "corpora")
    study.write_text((text[:start] + text[end:]).replace("corpora/", f"{corpora}/"))
    keys, real = stated(study)
    assert len(keys) == 32
    assert len(real) == len(models)
    assert not any(model.startswith("sim/") for model in real)


def test_every_published_figure_is_of_a_judge_and_setting_of_the_pilot() -> None:
    sweep = load_sweep(PILOT)
    named = sweep.definition["stand_ins"].keys() | set(sweep.families.values())
    for one in load_published(PUBLISHED).figures:
        judges = one.of["pair"].split(" and ") if "pair" in one.of else [one.of["judge"]]
        assert set(judges) <= named, one.finding


def test_a_line_has_published_planted_and_recovered_in_the_same_unit(make_row) -> None:
    given = load_published(PUBLISHED)
    entry = next(one for one in given.figures if one.figure == "contrast")
    row = make_row("contrast", -0.2, (-0.3, -0.1), scope=dict(entry.of), simulated=True)
    missing = make_row("contrast", None, scope=dict(entry.of), because="it needs 5 replicates")
    lines = [(entry, row, -0.15), (entry, row, 0.1), (entry, None, None), (entry, missing, None)]
    table = published_table(given, lines)
    cells = [line.cells[2:] for line in table.rows]
    assert cells[0] == ("-0.38", "-0.45", "-0.60 [-0.90, -0.30]", "yes")
    assert cells[1][-1] == "no"
    assert cells[2] == ("-0.38", "–", "–", "–")
    assert table.notes[0] == f"{entry.finding}: not recovered, because it needs 5 replicates."
    assert table.notes[1].startswith("1 of 2 ")
    assert table.simulated


def test_a_figure_is_found_under_its_stand_in_and_an_ambiguous_one_is_refused(make_row) -> None:
    entry = next(
        one for one in load_published(PUBLISHED).figures if one.of.get("axis") == "abstain"
    )
    scope = {**entry.of, "judge": "sim/like-x", "from": False, "to": True}
    rows = [
        make_row(entry.figure, 0.4, scope=scope),
        make_row(entry.figure, 0.1, scope={**scope, "rubric_draw": 1}),
        make_row(entry.figure, 0.1, scope={**scope, "judge": "sim/like-y"}),
    ]
    stand_ins = {entry.of["judge"]: "sim/like-x"}
    assert _matching(entry, rows, stand_ins) is rows[0]
    assert _matching(entry, rows, {}) is None
    twice = [*rows, make_row(entry.figure, 0.2, scope={**scope, "concept": "populism"})]
    with pytest.raises(ConfigError, match="2 figures") as raised:
        _matching(entry, twice, stand_ins)
    assert "concept" in str(raised.value)
