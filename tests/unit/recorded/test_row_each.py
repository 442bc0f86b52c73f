"""Mappings to fill in for files with a row for each judgement whose columns have other names."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from judge_gym.recorded.formats import load_files
from judge_gym.recorded.mapping import Recorded
from judge_gym.recorded.row_each import mapping_to_fill_in, nested_paths
from support.command_line import CommandLine

JUDGES = ("gpt-4o", "claude")
HEADER = "Antwort;Frage;System;Richter;Prompt;Punkte;Anna;bert"


@pytest.fixture
def command(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path, in_process=True)


def judgements(wordings: tuple[str, ...] = ("kurz", "lang")) -> list[tuple[object, ...]]:
    """24 answers by two judges under each wording; two people gave each answer one label."""
    return [
        (f"a{n}", n // 2, ("alfa", "bravo")[n % 2], judge, wording,
         1 + (n + place + len(wording)) % 5, 2 + n % 3, 2 + (n + 1) % 4)
        for n in range(24)
        for place, judge in enumerate(JUDGES)
        for wording in wordings
    ]  # fmt: skip


def written(folder: Path, header: str, rows: list[tuple[object, ...]]) -> Path:
    file = folder / "long.csv"
    lines = [header, *(";".join(map(str, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def filled(file: Path) -> dict[str, object] | None:
    _, files = load_files([file])
    return mapping_to_fill_in(files)


def test_a_row_for_each_judgement_has_a_mapping_with_its_own_columns(tmp_path: Path) -> None:
    found = filled(written(tmp_path, HEADER, judgements()))
    assert found is not None
    assert (found["judge_column"], found["wording_column"]) == ("Richter", "Prompt")
    assert found["item"] == {
        "key": "Antwort", "question": "Frage", "system": "System", "people": ["Anna", "bert"],
    }  # fmt: skip
    assert (found["verdicts"], found["scale"]) == (["Punkte"], {"lowest": 1, "highest": 5})
    Recorded.model_validate(found)
    alone = filled(written(tmp_path, HEADER, judgements(("kurz",))))
    assert alone is not None
    assert "wording_column" not in alone


def test_words_are_stages_whose_order_a_person_gives(tmp_path: Path) -> None:
    words = ("schwach", "gut", "mittel")
    rows = [(*row[:5], words[int(str(row[5])) % 3]) for row in judgements()]
    found = filled(written(tmp_path, HEADER.removesuffix(";Anna;bert"), rows))
    assert found is not None
    assert (found["verdicts"], found["stages"]) == (["Punkte"], ["gut", "mittel", "schwach"])


@pytest.mark.parametrize("prompt", ["prompt_id", "prompt", "question"])
def test_a_prompt_with_an_answer_of_each_system_is_the_item_and_no_wording(
    tmp_path: Path, prompt: str
) -> None:
    rows: list[tuple[object, ...]] = [
        (f"q{n}", system, judge, 1 + (n + place + turn) % 5, 1 + (n + place) % 5)
        for n in range(30)
        for place, system in enumerate(("llama", "mistral"))
        for turn, judge in enumerate(JUDGES)
    ]
    header = f"{prompt};model;judge;score;human_score"
    found = filled(written(tmp_path, header, rows))
    assert found is not None
    assert found["item"] == {"key": prompt, "system": "model", "people": ["human_score"]}
    assert (found["verdicts"], found["judge_column"]) == (["score"], "judge")
    assert "wording_column" not in found


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(
    "orders", [("AB", "BA"), ("a-b", "b-a"), ("original", "swapped"), ("straight", "flipped order")]
)
def test_the_order_of_a_pair_is_no_wording(
    tmp_path: Path, orders: tuple[str, str], *, both: bool
) -> None:
    names = ("llama", "mistral", "phi")
    rows: list[tuple[object, ...]] = [
        (f"p{n}", judge, order, ("A", "B", "tie")[(n + turn + place) % 3], names[n % 3],
         names[(n + 1) % 3], "AB"[n % 2])
        for n in range(30)
        for place, judge in enumerate(JUDGES)
        for turn, order in enumerate(orders)
        if both or n % 2 == turn
    ]  # fmt: skip
    header = "pair;judge;shown;winner;model_a;model_b;human_winner"
    found = filled(written(tmp_path, header, rows))
    assert found is not None
    assert (found["swapped_column"], found["stages"]) == ("shown", ["A", "tie", "B"])
    assert found["swapped"] == {orders[0]: False, orders[1]: True}
    assert "wording_column" not in found
    assert found["item"] == {
        "key": "pair", "system": "model_a", "second_system": "model_b", "people": ["human_winner"],
    }  # fmt: skip
    Recorded.model_validate(found)


def test_a_mapping_of_pairs_says_how_winners_may_be_meant(command: CommandLine) -> None:
    """Each winner is the first of the pair: A where it was shown first, else B."""
    rows = [f"p{n};{judge};{order};{winner};A" for n in range(30) for judge in JUDGES
            for order, winner in (("AB", "A"), ("BA", "B"))]  # fmt: skip
    (command.folder / "long.csv").write_text("\n".join(["pair;judge;order;winner;human", *rows]))
    refused = command("audit", "long.csv")
    said, _, mapping = refused.errors.partition("\n\n")
    assert "{column: winner, own_order: true}" in " ".join(said.split())
    (command.folder / "m.yaml").write_text(mapping)
    found = json.loads(command("audit", "long.csv", "--mapping", "m.yaml", "--json").fine().output)
    right = [one["estimate"] for one in found["figures"] if one["metric"] == "accuracy_of_all"]
    assert right
    assert set(right) == {1.0}


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("id;gpt;claude", [(n, 1 + n % 5, 1 + (n + 1) % 5) for n in range(20)]),
        # What was judged are models, and nothing names a judge.
        ("id;system;score 1", [(n, JUDGES[n % 2], 1 + n % 5) for n in range(20)]),
        # Nothing tells an item.
        ("Richter;Punkte", [(JUDGES[n % 2], 1 + n % 5) for n in range(20)]),
    ],
)
def test_other_tables_have_none(
    tmp_path: Path, header: str, rows: list[tuple[object, ...]]
) -> None:
    assert filled(written(tmp_path, header, rows)) is None


def nested(row: tuple[object, ...]) -> dict[str, object]:
    answer, question, system, judge, prompt, score, ann, bo = row
    return {
        "meta": {"answer": {"id": answer, "model": system}, "q": {"id": question}},
        "run": {"judge": judge, "prompt": prompt}, "out": {"scores": {"overall": score}},
        "human": [{"by": "Anna", "mark": ann}, {"by": "bert", "mark": bo}],
    }  # fmt: skip


def test_keys_inside_others_are_named_by_their_paths(tmp_path: Path) -> None:
    file = tmp_path / "j.jsonl"
    file.write_text("\n".join(json.dumps(nested(row)) for row in judgements()))
    found = filled(file)
    assert found is not None
    assert (found["judge_column"], found["wording_column"]) == ("run.judge", "run.prompt")
    assert found["verdicts"] == ["out.scores.overall"]
    assert found["item"] == {
        "key": "meta.answer.id", "system": "meta.answer.model",
        "people": ["human[0].mark", "human[1].mark"],
    }  # fmt: skip
    paths = nested_paths([nested(judgements()[0])])
    assert {"run.judge", "meta.q.id", "human[1].by"} <= set(paths)
    assert not nested_paths([{"item": "a", "score": 1}])


@pytest.mark.parametrize("options", [(), ("--judges", "Frage,Punkte,Anna,bert")])
def test_the_mapping_that_an_error_prints_reads_the_file(
    command: CommandLine, options: tuple[str, ...]
) -> None:
    written(command.folder, HEADER, judgements())
    refused = command("audit", "long.csv", *options)
    assert refused.code == 2
    said, _, mapping = refused.errors.partition("\n\n")
    assert "a row for each judgement" in " ".join(said.split())
    (command.folder / "long-mapping.yaml").write_text(mapping)
    shown = command("audit", "long.csv", "--mapping", "long-mapping.yaml").fine().output
    assert "2 judges, 24 items of 12 questions; 96 judgements" in shown


def test_nested_rows_of_something_else_have_their_paths_named(command: CommandLine) -> None:
    rows = [{"run": {"by": f"r{n}", "points": n % 5}} for n in range(8)]
    (command.folder / "j.jsonl").write_text("\n".join(map(json.dumps, rows)))
    refused = command("audit", "j.jsonl")
    assert "Nested values are at run.by, run.points." in " ".join(refused.errors.split())


@pytest.mark.parametrize("moved", [False, True])
def test_all_entries_of_one_list_are_judges(command: CommandLine, *, moved: bool) -> None:
    """`meta.doc` has fewer values than there are rows, which `id` tells apart."""
    rows = []
    for n in range(30):
        given = [{"judge": judge, "why": "ok", "score": 1 + (n + place) % 5}
                 for place, judge in enumerate((*JUDGES, "gemini"))]  # fmt: skip
        rows.append({
            "id": f"a{n}", "meta": {"doc": f"d{n // 2}", "model": ("alfa", "bravo")[n % 2]},
            "judgments": given[::-1] if moved and n % 2 else given,
            "human": {"e0": 1 + n % 5, "e1": None if n % 3 == 1 else 1 + (n + 1) % 5},
        })  # fmt: skip
    (command.folder / "j.jsonl").write_text("\n".join(map(json.dumps, rows)))
    refused = command("audit", "j.jsonl")
    said, _, mapping = refused.errors.partition("\n\n")
    if moved:
        assert not mapping
        assert "a row for each judgement" in " ".join(said.split())
        return
    (command.folder / "m.yaml").write_text(mapping)
    found = json.loads(command("audit", "j.jsonl", "--mapping", "m.yaml", "--json").fine().output)
    assert {one["scope"].get("judge") for one in found["figures"]} >= {*JUDGES, "gemini"}
    recorded = Recorded.model_validate(YAML(typ="safe").load(mapping))
    assert (recorded.item.key, recorded.item.people) == ("id", ("human.e0", "human.e1"))


@pytest.mark.parametrize("words", [("1", "2"), ("Yes", "No")])
def test_columns_of_people_beside_a_judge_in_each_row_are_named_and_read(
    command: CommandLine, words: tuple[str, str]
) -> None:
    high = words[0]
    judged = words if high == "1" else ("TRUE", "FALSE")
    lines = ["id,judge,score,e0,e1"]
    for n in range(40):
        labels = f"{words[n % 2]},{words[n // 2 % 2] if n % 3 else ''}"
        lines += [f"a{n},{judge},{judged[(n + place) % 2]},{labels}"
                  for place, judge in enumerate(JUDGES)]  # fmt: skip
    (command.folder / "long.csv").write_text("\n".join(lines))
    if high == "1":
        assert "--people e0,e1" in " ".join(command("audit", "long.csv").fine().output.split())
    shown = command("audit", "long.csv", "--people", "e0,e1", "--json").fine()
    right = {one["scope"]["judge"]: one["estimate"] for one in json.loads(shown.output)["figures"]
             if one["metric"] == "majority_accuracy" and "judge" in one["scope"]}  # fmt: skip
    assert right == {JUDGES[0]: 1, JUDGES[1]: 0}
    refused = command("audit", "long.csv", "--people", "e0,e7")
    assert refused.code == 2
    assert "e7" in refused.errors
