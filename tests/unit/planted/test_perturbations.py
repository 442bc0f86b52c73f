"""Perturbations: pure, seeded, nested in severity, and honest about what they cannot change."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_gym.planted.editing import Edit, Expectation, NothingToChange, Perturbed, change
from judge_gym.planted.perturbations import perturbations
from judge_gym.planted.sentences import sentences
from judge_gym.seeds import generator
from support.command_line import REPOSITORY

TEXT = """# Turnout in Valmora

Dr. Smith of the Ministry of the Interior said on 3 May 2019 that turnout rose by 12.5% in Valmora
City. "We will win. Nobody will stop us," he added. The Senate agreed because many were often there.

1. You should check the register first. It has 300 pages.
2. Use the blue form.
3. The office is open on most days.

a) One reader liked it.
b) Angela Merkel did not.
"""
NAMES = sorted(perturbations())


def applied(name, text, severity, seed=1):
    return perturbations()[name].apply(text, severity, seed)


def test_every_perturbation_says_what_it_expects():
    expected = {name: one.expectation for name, one in perturbations().items()}
    drops = {"remove_evidence", "vague_ify", "inject_errors", "strip_actionability"}
    stays = {"add_fluff", "scramble_order", "duplicate_content", "shuffle_labels", "verbosity"}
    assert {name for name, one in expected.items() if one is Expectation.DROP} == drops
    assert set(expected) == drops | stays | {"tone", "injection_line"}
    assert all(one.description.endswith(".") for one in perturbations().values())


@pytest.mark.parametrize("name", NAMES)
def test_severity_is_nested_and_seeded(name):
    assert applied(name, TEXT, 0.0).text == TEXT
    made = [applied(name, TEXT, severity) for severity in (0.01, 0.3, 0.6, 1.0)]
    for less, more in pairwise(made):
        assert set(less.edits) <= set(more.edits)
    assert made[0].text != TEXT
    assert len(made[-1].edits) > len(made[0].edits)
    assert applied(name, TEXT, 0.6) == made[2]
    others = {applied(name, TEXT, 0.3, seed).text for seed in range(20)}
    assert len(others) > 1


@pytest.mark.parametrize("name", NAMES)
def test_the_edits_are_the_whole_difference(name):
    perturbed, at, parts = applied(name, TEXT, 0.7), 0, []
    for edit in perturbed.edits:
        assert edit.start >= at
        parts += [TEXT[at : edit.start], edit.text]
        at = edit.end
    assert "".join([*parts, TEXT[at:]]) == perturbed.text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["", " \n", "```\n1. You should use 3.\n```", "# Title only"])
def test_nothing_to_change_is_said(name, text):
    found = applied(name, text, 1.0)
    assert isinstance(found, NothingToChange)
    assert found.reason.startswith("there is no ")


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(alphabet='aB. \n"1。-(#é', max_size=120), severity=st.floats(0, 1))
@settings(max_examples=40)
def test_any_text_can_be_given(name, text, severity):
    found = applied(name, text, severity)
    assert isinstance(found, NothingToChange) or (found.text == text) == (severity == 0)


def test_severity_outside_its_range_is_refused():
    with pytest.raises(ValueError, match=r"severity 1\.5"):
        applied("tone", TEXT, 1.5)


def test_evidence_goes_and_the_claims_stay():
    text = applied("remove_evidence", TEXT, 1.0).text
    assert "The Senate agreed" in text
    assert "You should check the register first." in text
    assert not re.search(r"12\.5|300|We will win", text)
    alone = "Turnout rose by 3%. It fell by 2%."
    assert len(sentences(applied("remove_evidence", alone, 1.0).text)) == 1


def test_vague_words_take_the_place_of_numbers_and_names():
    text = applied("vague_ify", TEXT, 1.0).text
    assert "turnout rose by some share in a certain place." in text
    assert "some pages" in text
    assert "b) Someone did not." in text
    assert not re.search(r"Smith|Merkel|2019|12\.5|300", text)
    assert "1. You should" in text


def test_errors_keep_the_form_of_what_they_replace():
    text = "It cost $3,000.50 in 2019, or 12.5%, 0,5 and twelve. It rose before noon."
    for seed in range(20):
        wrong = applied("inject_errors", text, 1.0, seed).text
        found = re.fullmatch(
            r"It cost \$([\d,]+\.\d\d) in (\d{4}), or ([\d.]+)%, (\d,\d) and (\w+)\. "
            r"It fell after noon\.",
            wrong,
        )
        assert found, wrong
        money, year, percent, decimal, word = found.groups()
        assert float(money.replace(",", "")) != 3000.5
        assert 2004 <= int(year) <= 2017
        assert percent != "12.5"
        assert decimal != "0,5"
        assert word != "twelve"


def test_names_are_exchanged_for_each_other():
    text = "We met Ann Lee and later Bob Ray there."
    assert applied("inject_errors", text, 1.0).text == "We met Bob Ray and later Ann Lee there."


def test_order_changes_and_nothing_is_lost():
    text = "One is here. Two is there. Three is gone. Four came back."
    scrambled = applied("scramble_order", text, 1.0).text
    parts = [scrambled[one.start : one.end] for one in sentences(scrambled)]
    originals = [text[one.start : one.end] for one in sentences(text)]
    assert sorted(parts) == sorted(originals)
    assert all(new != old for new, old in zip(parts, originals, strict=True))
    assert isinstance(applied("scramble_order", "Same. Same.", 1.0), NothingToChange)


def test_advice_goes_with_its_list_item():
    text = applied("strip_actionability", TEXT, 1.0).text
    assert "should check" not in text
    assert "1. It has 300 pages.\n3. The office is open on most days.\n" in text


def test_labels_move_within_their_kind():
    text = applied("shuffle_labels", TEXT, 1.0).text
    assert "b) One reader liked it.\na) Angela Merkel did not." in text
    assert sorted(re.findall(r"^\d", text, re.MULTILINE)) == ["1", "2", "3"]
    assert re.findall(r"^\d", text, re.MULTILINE) != ["1", "2", "3"]


def test_repetition_and_fluff_keep_every_sentence():
    twice = applied("duplicate_content", "One is here. Two is there.", 1.0).text
    assert twice == "One is here. One is here. Two is there. Two is there."
    fluffed = applied("add_fluff", TEXT, 1.0).text
    assert all(TEXT[one.start : one.end] in fluffed for one in sentences(TEXT))


def test_an_injected_line_stands_alone():
    text = applied("injection_line", "One is here.\n\nTwo is there.", 1.0).text
    lines = text.split("\n")
    assert (lines[0], lines[3]) == ("One is here.", "Two is there.")
    assert "score" in lines[1] or "marks" in lines[1] or "best" in lines[1]


def test_changes_that_overlap_or_change_nothing_do_not_count():
    changes = [(Edit(0, 3, "abc"),), (Edit(0, 3, "x"),), (Edit(1, 2, "y"),), (Edit(3, 3, "z"),)]
    found = change("abc", changes, 1.0, generator("here"))
    assert found.text in ("xz", "aycz")
    assert change("abc", changes[:1], 1.0, generator("here")) is None


@pytest.mark.parametrize(
    ("text", "vague"),
    [
        ("Maria's router dropped the line every 3 hours on 3 May.",
         "Someone's router dropped the line every few hours on some day in May."),
        ("We met. 84 of 124 users saw error 4711 in version 4.4.",
         "We met. Some of many users saw some error in some version."),
        ("The Ansel ferry fell from 41,200 in March to 33,900 in April 2023.",
         "The local ferry fell from some number in March to some number in April of some year."),
        ("The 40 lamps used EUR 1,200, 12% more, says librarian Mara Voss.",
         "The various lamps used some amount, some share more, says some librarian."),
        ("The last 3 weeks were dry. It rained at Tarn for 5 days.",
         "The last few weeks were dry. It rained at a certain place for some days."),
        ("We opened on Tuesdays, and the order 4711 was lost.",
         "We opened on Tuesdays, and the order in question was lost."),
        ("The refund of 49.90 EUR to Mr. Smith was sent at 5 p.m. Then he called 0800 123 456.",
         "The refund of some amount to someone was sent at some hour. Then he called some number."),
        ("Anna Keller reported that 2 of 8 printers in room 214 print nothing before 5 pm today.",
         "Someone reported that some of many printers in some room print nothing before some hour "
         "today."),
        ("A server of Acme Corp. in Berlin failed. Our office's 3 lines and the room 12 door too.",
         "A server of someone in a certain place failed. Our office's various lines and the room "
         "door too."),
        ("Press F2, or ask St. Mary's. Call Dr. Hall about room B12 and the A4 format.",
         "Press such-and-such, or ask someone's. Call someone about room such-and-such and the "
         "certain format."),
        ("Ask St. Mary's for the form.", "Ask someone's for the form."),
        ("- Steps: 1. unplug 2 cables\n- By: Dana", "- Steps: 1. unplug some cables\n- By: Dana"),
    ],
)  # fmt: skip
def test_vague_words_fit_the_grammar_around_them(text, vague):
    assert applied("vague_ify", text, 1.0).text == vague


UNGRAMMATICAL = re.compile(
    r"\b(?:a|an|the|this|these|every|each|all) (?:some|someone|many|a)\b"
    r"|\bsome some\b|\b(?:some|someone) (?:January|March|April|May|June|July)\b"
    r"|\b(?:error|row|version|gate) some\b|[.!?] some\b"
)


def test_no_shipped_text_becomes_ungrammatical():
    changed = 0
    for file in ("alignments/tickets", "alignments/held-out", "calibrations/notes", "judges/notes"):
        for line in (REPOSITORY / "deployments" / f"{file}.jsonl").read_text().splitlines():
            for severity in (0.5, 1.0):
                done = applied("vague_ify", json.loads(line)["text"], severity)
                if isinstance(done, Perturbed):
                    changed += 1
                    assert not UNGRAMMATICAL.search(done.text), done.text
    assert changed > 100
