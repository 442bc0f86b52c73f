"""Panels, rubrics, raters and documents in files: what is read, and what is refused and why."""

import traceback
from pathlib import Path

import pytest
from pydantic import ValidationError

from judge_gym.errors import ConfigError
from judge_gym.panel import PanelItem, ReviewedDocument, load_document, load_panel
from judge_gym.panel.document import LONGEST_DOCUMENT, LONGEST_ITEM, MOST_ITEMS
from judge_gym.panel.panel import Escalation
from support.panels import SECRET, a_document, a_panel, a_rubric

SAMPLES = Path(__file__).parents[3] / "deployments" / "panels"


def test_the_sample_panel_is_what_it_says() -> None:
    panel, document = load_panel(SAMPLES / "proposal.yaml"), load_document(SAMPLES / "library.yaml")
    anchors = [anchor.name for anchor in panel.rubric.anchors]
    assert anchors == ["Poor", "Weak", "Adequate", "Strong", "Excellent"]
    assert (panel.rubric.scale.lowest, panel.rubric.scale.highest) == (1, 5)
    assert panel.names == ("rater_a", "rater_b", "rater_c")
    assert [len(rater.examples) for rater in panel.raters] == [5, 5, 5]
    assert all(model.startswith("sim/") for model in panel.models)
    assert document.shown == document.items
    assert not document.was_truncated


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("id: d\ntitle: t\nitems: []\n", "items does not fit: a document has 1 to 50 items"),
        ("id: d\ntitle: t\n", "items is missing"),
        (
            "id: d\ntitle: t\nitems: [{id: a, text: x}, {id: b, text: y}, {id: a, text: z}]\n",
            "items need different ids; repeated: a",
        ),
        (
            "id: d\ntitle: t\nitems: [" + "{id: a, text: x}, " * (MOST_ITEMS + 1) + "]\n",
            "and this one 51",
        ),
        ("id: d\ntitle: t\nitems: [{id: a b, text: x}]\n", r"line 3: items\[0\].id is 'a b'"),
        ("id: d\ntitle: t\nitems: [{id: a, text: ' '}]\n", "text does not fit: is empty"),
        ("id: d\ntitle: t\nitems: [{id: a, text: x, score: 5}]\n", "score is not a known key"),
        (
            f"id: d\ntitle: t\nitems: [{{id: a, text: {'x' * (LONGEST_ITEM + 1)}}}]\n",
            r"items\[0\].text does not fit: it has 10001 characters, and 10000 are the most",
        ),
        ("- a\n", "the file is a list of 1"),
    ],
)
def test_a_document_that_cannot_be_reviewed_is_named(
    tmp_path: Path, written: str, message: str
) -> None:
    file = tmp_path / "document.yaml"
    file.write_text(written)
    with pytest.raises(ConfigError, match=message) as refused:
        load_document(file)
    assert str(file) in str(refused.value)


@pytest.mark.parametrize(
    "written",
    [
        f"id: d\ntitle: t\nitems: [{{id: a, text: {SECRET * 1000}}}]\n",
        f"id: d\ntitle: {SECRET * 1000}\nitems: [{{id: a, text: x}}]\n",
        f"id: d\ntitle: t\nitems: [{{id: a, text: {SECRET}}}, {{id: a, text: x}}]\n",
        f"id: d\ntitle: {SECRET}\nitems: [\n",
    ],
)
def test_what_is_wrong_is_told_without_a_word_of_the_text(tmp_path: Path, written: str) -> None:
    file = tmp_path / "document.yaml"
    file.write_text(written)
    with pytest.raises(ConfigError) as refused:
        load_document(file)
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_a_long_document_is_cut_between_items_and_says_so() -> None:
    longest = "x" * LONGEST_ITEM
    ids = [f"i{number}" for number in range(6)]
    items = tuple(PanelItem(id=one, text=longest) for one in ids)
    # five items of 10,000 characters and a title are 50,001
    document = ReviewedDocument(id="d", title="t", items=items)
    assert [item.id for item in document.shown] == ids[: LONGEST_DOCUMENT // LONGEST_ITEM - 1]
    assert document.was_truncated
    whole = ReviewedDocument(id="d", title="t", items=items[:4])
    assert whole.shown == whole.items
    assert not whole.was_truncated


def test_what_no_reader_sees_is_taken_out() -> None:
    item = PanelItem(id="a", text="fine\u200b\x00 \U000e0041\u202etext")
    assert item.text == "fine text"
    with pytest.raises(ValidationError, match="is empty"):
        PanelItem(id="a", text="\u200b\u2060")


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("proposal.yaml", ("raters: [rater-a.yaml, ", "raters: [gone.yaml, "), "gone.yaml cannot"),
        ("proposal.yaml", ("rubric: rubric.yaml", "rubric: gone.yaml"), "gone.yaml cannot be read"),
        ("proposal.yaml", ("rater-b.yaml, rater-c", "rater-a.yaml, rater-c"), "different labels"),
        ("proposal.yaml", (", rater-b.yaml, rater-c.yaml", ""), "2 to 26 raters, and this one 1"),
        (
            "proposal.yaml",
            ("budget:", "escalate: {first: 3}\nbudget:"),
            "escalate.first is 3, which leaves nobody of 3 raters",
        ),
        (
            "proposal.yaml",
            ("budget:", "escalate: {first: 1}\nbudget:"),
            r"escalate\.first is 1\. Use a whole number at least 2",
        ),
        ("rubric.yaml", ("lowest: 1", "lowest: 2"), "has the score 1, which is not from 2 to 6"),
        ("rubric.yaml", ("name: Weak", "name: poor"), "anchors need different names"),
        ("rubric.yaml", ("task: >-", "tasks: >-"), "tasks is not a known key. Did you mean task"),
        ("rater-c.yaml", ("label: Actionability and data", ""), "label is missing"),
        ("rater-c.yaml", ("sim/lenient-1", "lenient"), "model is 'lenient'. Use provider/model"),
        (
            "rater-c.yaml",
            ("model: sim/lenient-1", "model: openai/gpt-5\ntop_p: 0.2"),
            r"rater-c.yaml, line \d+: top_p is 0.2, which openai/gpt-5 does not apply",
        ),
        (
            "proposal.yaml",
            ("{model: sim/good-2}", "{model: openai/gpt-5, top_p: 0.9}"),
            r"line 12: arbiter.top_p is 0.9, which openai/gpt-5 does not apply",
        ),
    ],
)
def test_a_panel_that_cannot_be_used_is_named(
    tmp_path: Path, file: str, change: tuple[str, str], message: str
) -> None:
    for one in SAMPLES.iterdir():
        text = one.read_text()
        if one.name == file:
            assert change[0] in text
            text = text.replace(*change)
        (tmp_path / one.name).write_text(text)
    with pytest.raises(ConfigError, match=message) as refused:
        load_panel(tmp_path / "proposal.yaml")
    assert str(tmp_path) in str(refused.value)


def test_identity_is_what_can_change_an_answer() -> None:
    panel, document = a_panel(), a_document()
    assert a_panel(name="other").key == panel.key
    assert a_panel(escalate=Escalation(first=2)).key == panel.key
    persona = panel.raters[0].model_copy(update={"persona": "You look twice."})
    assert a_panel(raters=3, rubric=a_rubric(guidance="Be kind.")).key != panel.key
    changed = panel.model_copy(update={"raters": (persona, *panel.raters[1:])})
    assert changed.key != panel.key
    assert a_document().key == document.key
    assert a_document(text="Other.").key != document.key
