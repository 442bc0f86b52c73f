"""Characters that turn the text around them, or drive a terminal, on every surface."""

import json
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from deployments.cli.output import as_table, console, errors
from judge_gym.formats import UNSHOWN, visible
from judge_gym.report.files import ENVIRONMENT
from judge_gym.report.table import escaped, markdown_table, plain_table
from support.command_line import CommandLine

RAW = "\u202e\u2066\x1b\x9b"
TURNING = "Fine\u202e.dab\u2066\x1b[31m\x9b"
SHOWN = f"Fine{UNSHOWN}.dab{UNSHOWN}{UNSHOWN}[31m{UNSHOWN}"
FUNCTION = f"def score(asked):\n    return {{'score': 1, 'reason': {TURNING!r}}}\n"


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u0631\u062d\u0628\u0627\u200f!",
        "\u0645\u06cc\u200c\u062e",
        "\U0001f469\u200d\U0001f52c",
        "a\tb\nc",
    ],
)
def test_writing_from_right_to_left_and_joined_signs_stay(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize("output", [console, errors])
def test_the_terminal_shows_a_sign_in_their_place(output: Console) -> None:
    with output.capture() as said:
        output.print(Text(TURNING), f"[bold]{TURNING}[/]")
        output.print(as_table("T", ("a",), [(TURNING,)]))
    assert said.get().count(SHOWN.partition("[")[0]) >= 2
    assert not set(said.get()) & set(RAW)


def test_pages_and_markdown_show_a_sign_in_their_place() -> None:
    page = ENVIRONMENT.from_string("<p>{{ x }}</p>{{ x | tojson }}").render(x=TURNING)
    assert f"<p>{SHOWN}</p>" in page
    assert not set(page) & set(RAW)
    assert UNSHOWN in escaped(TURNING)
    table = markdown_table(plain_table("", ("a",), [(TURNING,)], words=1))
    assert not set(table) & set(RAW)


@pytest.mark.slow
def test_a_reason_is_shown_safely_and_kept_as_it_is(tmp_path: Path) -> None:
    command = CommandLine(tmp_path)
    (tmp_path / "turned.py").write_text(FUNCTION)
    (tmp_path / "judge.yaml").write_text("kind: callable\nname: own\nfunction: turned:score\n")
    (tmp_path / "items.csv").write_text("id,text\na,One text.\n")
    typed = ("judge", "score", "judge.yaml", "--items", "items.csv")
    said = command(*typed).fine().output
    assert UNSHOWN in said
    assert not set(said) & set(RAW)
    [kept] = json.loads(command(*typed, "--json").fine().output)["results"]
    assert "\u202e" in kept["reason"]
