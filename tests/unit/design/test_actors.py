"""Names that change places in a text: whole words, both ways at once, as they were written."""

from pathlib import Path

import pytest

from judge_gym.design.actors import ActorMap, Actors
from judge_gym.design.experiment import Experiment
from judge_gym.design.sweep import load_sweep
from judge_gym.design.window import CorpusSource, Window
from judge_gym.errors import ConfigError
from judge_gym.records.shown import ShownDocument, shown_to, swapped_names

PAIRS = (("Labour", "Greens"), ("Jane Doe", "Ali Ban"), ("Doe", "Ban"), ("US", "Norway"))
SWAPPED = Actors(kind="swapped", mapping=ActorMap(name="parties", swap=PAIRS))


@pytest.mark.parametrize(
    ("text", "expected", "count"),
    [
        ("Labour met the Greens.", "Greens met the Labour.", 2),
        ("LABOUR wins, says Norway", "GREENS wins, says US", 2),
        ("labour market, Labourers, Outlabour", "labour market, Labourers, Outlabour", 0),
        ("Labour's plan and the Greens' plan", "Greens's plan and the Labour's plan", 2),
        ("Doe’s aide; Jane Doe; Jane\nDoe", "Ban’s aide; Ali Ban; Ali Ban", 3),
        ("Labour-led, (Labour)", "Greens-led, (Greens)", 2),
        ("the 'Greens' and more", "the 'Labour' and more", 1),
        ("", "", 0),
    ],
)
def test_names_change_places(text: str, expected: str, count: int) -> None:
    assert SWAPPED.shown(text) == (expected, count)


def test_what_is_as_found_is_left_alone() -> None:
    assert Actors().shown("Labour") == ("Labour", 0)


def test_a_second_exchange_gives_the_names_back() -> None:
    text = "Labour met Jane Doe of Norway, and Ban of the Greens."
    assert SWAPPED.shown(SWAPPED.shown(text)[0])[0] == text


def an_experiment(**fields: object) -> Experiment:
    window = Window(country="Valmora", source=CorpusSource(path=Path("c.jsonl"), digest="d"))
    return Experiment(concept="fascism", window=window, model="sim/calm-1", **fields)


def test_the_names_are_part_of_the_identity_and_the_default_is_not() -> None:
    plain, as_found = an_experiment(), an_experiment(actors="as_found")
    swapped = an_experiment(actors={"swapped": {"name": "a", "swap": [["x", "y"]]}})
    other = an_experiment(actors={"swapped": {"name": "a", "swap": [["x", "z"]]}})
    assert plain.key == as_found.key
    assert len({plain.key, swapped.key, other.key}) == 3
    stored = Experiment.model_validate(swapped.model_dump(mode="json"))
    assert stored.key == swapped.key


def test_titles_are_exchanged_and_counted_where_they_are_shown() -> None:
    document = ShownDocument("Labour out", "Labour lost.")
    fields = {"actors": SWAPPED}
    raw = an_experiment(evidence_view="raw", **fields)
    assert shown_to(raw, [document]) == (ShownDocument("Greens out", "Greens lost."),)
    assert swapped_names(raw, [document]) == 2
    assert swapped_names(an_experiment(evidence_view="neutralized", **fields), [document]) == 1


SWEEP = """\
name: actors
windows:
  here: {country: Valmora, source: {kind: corpus, path: corpus.jsonl}}
blocks:
  - concept: fascism
    window: here
    model: sim/calm-1
    actors: [as_found, {swapped: names.yaml}]
"""


def test_a_sweep_reads_the_mapping_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"title": "t", "text": "x"}\n')
    (tmp_path / "names.yaml").write_text("name: parties\nswap: [[Labour, Greens]]\n")
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    experiments = list(load_sweep(tmp_path / "sweep.yaml").experiments())
    assert [str(one.actors) for one in experiments] == ["as_found", "swapped parties"]


@pytest.mark.parametrize(
    ("names", "actors", "said"),
    [
        ("name: a\nswap: [[x, y], [y, z]]\n", "{swapped: names.yaml}", "y: each name stands in"),
        ("name: a\nswap: []\n", "{swapped: names.yaml}", "names.yaml"),
        ("name: a\nswap: [[x, y]]\n", "swapped", "as_found or {swapped: FILE}"),
        ("name: a\nswap: [[x, y]]\n", "{swapped: none.yaml}", "none.yaml"),
    ],
)
def test_a_mapping_that_cannot_be_used_is_an_error(
    tmp_path: Path, names: str, actors: str, said: str
) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"title": "t", "text": "x"}\n')
    (tmp_path / "names.yaml").write_text(names)
    text = SWEEP.replace("[as_found, {swapped: names.yaml}]", actors)
    (tmp_path / "sweep.yaml").write_text(text)
    with pytest.raises(ConfigError, match="sweep") as caught:
        load_sweep(tmp_path / "sweep.yaml")
    assert said in f"{caught.value.message} {caught.value.remedy}"
