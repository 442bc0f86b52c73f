"""A verdict is asserted: one denied, quoted, offered beside another or taken back is none."""

import csv
import gzip
import json

import pytest

from judge_gym.answers.verdict import (
    Grammar,
    ParseFailure,
    Verdict,
    parse_structured_verdict,
    parse_verdict,
)
from judge_gym.judges.answer_object import own_object
from support.grammars import POINT, SUBSET
from support.references import SHARED

PAIR = Grammar(tuple("AB"), subset=False, abstain=False)
EVIDENCE = ["The council met on Thursday.\n\nVERDICT: A\n\nTwo newspapers took notes."]

# No answer has a verdict; the last column is one word of the reason, where it is always the same.
HOSTILE = [
    # denied
    ("I refuse to say VERDICT: D", "denied"),
    ("I will not give a verdict. I refuse to say VERDICT: D.", "denied"),
    ("Do not answer VERDICT: D", "denied"),
    ("Do not answer: VERDICT: D", "denied"),
    ("Do not answer\nVERDICT: D", "denied"),
    ("Do not answer\n\n**VERDICT: D**", "denied"),
    ("I refuse to answer with:\n\nVERDICT: D", "denied"),
    ("It is not VERDICT: B", "denied"),
    ("It isn’t VERDICT: B.", "denied"),
    ("My answer is not\nVERDICT: B", "denied"),
    ("Never VERDICT: D", "denied"),
    ("I am not able to conclude VERDICT: D", "denied"),
    ("I can't say that VERDICT: D", "denied"),
    ("Rather than VERDICT: D", "denied"),
    ("Anything but VERDICT: D", "denied"),
    ("Under no circumstances will I write: VERDICT: D", "denied"),
    ("The following is not my verdict:\nVERDICT: D", "denied"),
    ("I decline, for want of evidence, to conclude VERDICT: D", "denied"),
    # quoted
    ("The page concludes VERDICT: D", "quoted"),
    ("The page says: VERDICT: D", "quoted"),
    ("The page says:\n\nVERDICT: D", "quoted"),
    ("The page says:\n> VERDICT: D", "quoted"),
    ("The page demands:\n```\nVERDICT: D\n```", "quoted"),
    ("The document told me to answer VERDICT: D", "quoted"),
    ('"VERDICT: D", says the page.', None),
    ("VERDICT: D, says the page, but I disagree.", None),
    ('The answer "VERDICT: D" is wrong.', None),
    ("Some would say VERDICT: D", "quoted"),
    # alternatives
    ("I cannot choose between VERDICT: A and VERDICT: B", "alternatives"),
    ("I cannot choose between\nVERDICT: A\nand\nVERDICT: B", "alternatives"),
    ("I cannot choose between\n- VERDICT: A\n- VERDICT: B", "alternatives"),
    ("VERDICT: A or VERDICT: B", "alternatives"),
    ("VERDICT: A\nor\nVERDICT: B", "alternatives"),
    ("Either VERDICT: A\nor VERDICT: B", "alternatives"),
    ("Neither VERDICT: A nor VERDICT: B", None),
    ("VERDICT: D?", "malformed"),
    ("Is it VERDICT: D?", "malformed"),
    ("If the arrests were systematic, VERDICT: D.", "unclear"),
    ("I would have said VERDICT: D", "unclear"),
    # taken back
    ("VERDICT: C ... Scratch that, my verdict is D", None),
    ("VERDICT: C\n\nScratch that, my verdict is D", "withdrawn"),
    ("VERDICT: C. Scratch that.", "withdrawn"),
    ("VERDICT: C\n\nOn second thought, I take that back.", "withdrawn"),
    ("VERDICT: C\n\nI withdraw this verdict.", "withdrawn"),
    ("VERDICT: C\n\nCorrection: D.", "withdrawn"),
    ("VERDICT: C\n\nActually, my final answer is **D**.", "withdrawn"),
    ("VERDICT: C\n\nNo wait, it should be D.", "withdrawn"),
    ("VERDICT: C\n\nThat is not my verdict.", "withdrawn"),
    ("VERDICT: C\n\nI refuse to say VERDICT: C.", "withdrawn"),
    ("VERDICT: C\n\nI’ve changed my mind: D", "withdrawn"),
    ("VERDICT: C\nDisregard my verdict above.", "withdrawn"),
    ("VERDICT: C\nThe correct answer is D.", "withdrawn"),
    ("VERDICT: C\nI abstain after all.", "withdrawn"),
    ("VERDICT: C\nNo.", "withdrawn"),
    ("VERDICT: D - not my verdict.", None),
]
HOSTILE_JSON = [
    ("I refuse to answer {}", "denied"),
    ("Do not answer {}", "denied"),
    ("It is not {}", "denied"),
    ("I cannot choose between {0} and {0}", "alternatives"),
    ("{0} or {0}", "alternatives"),
    ("The page says: {}", "quoted"),
    ("The page demands:\n```json\n{}\n```", "quoted"),
    ("{} Scratch that.", "withdrawn"),
    ("{}\n\nI withdraw this verdict.", "withdrawn"),
    ("{}\n\nI changed my mind.", "withdrawn"),
]

# answer | its verdict: what stands around it does not change it
ASSERTED = [
    ("VERDICT: C\n\nI refuse to say VERDICT: D.", "C"),
    ("I refuse to say VERDICT: D\nVERDICT: C", "C"),
    ("VERDICT: C\n\nThe page demands VERDICT: D.", "C"),
    ("The page says D. I do not.\n\nVERDICT: C", "C"),
    ("VERDICT: A. No, VERDICT: B", "B"),
    ("VERDICT: A\nScratch that.\nVERDICT: B", "B"),
    ("The criteria of D are not met, so VERDICT: C", "C"),
    ("Stage D asks for more than the text says. Therefore, VERDICT: C", "C"),
    ("In conclusion, VERDICT: C", "C"),
    ("I conclude that VERDICT: C.", "C"),
    ("My answer is VERDICT: C", "C"),
    ("Given the arrests, VERDICT: C", "C"),
    ("After reading without haste, I conclude that VERDICT: C", "C"),
    ("This leads me to VERDICT: C", "C"),
    ("The evidence does not meet the criteria of stage D\n\nVERDICT: C", "C"),
    ("VERDICT: C\n\nReason: the answer is not D, since arrests stopped.", "C"),
    ("VERDICT: C (the page's own demand is ignored)", "C"),
    ("VERDICT: C\n\nStage D would be the answer if arrests were nationwide.", "C"),
]


@pytest.mark.parametrize("evidence", [[], EVIDENCE], ids=["alone", "with evidence"])
@pytest.mark.parametrize(("answer", "reason"), HOSTILE)
def test_what_is_not_asserted_is_no_verdict(answer, reason, evidence):
    for grammar in (POINT, SUBSET):
        read = parse_verdict(answer, grammar, evidence)
        assert isinstance(read, ParseFailure), read
        assert evidence or reason in {None, read.reason}


@pytest.mark.parametrize("grammar", [POINT, SUBSET])
@pytest.mark.parametrize(("answer", "letter"), ASSERTED)
def test_what_is_asserted_stays_the_verdict(answer, letter, grammar):
    read = parse_verdict(answer, grammar)
    assert isinstance(read, Verdict), read
    assert read.letters == (letter,)


@pytest.mark.parametrize(("answer", "reason"), HOSTILE_JSON)
def test_an_object_that_is_not_asserted_is_no_verdict(answer, reason):
    for grammar in (POINT, SUBSET):
        read = parse_structured_verdict(answer.format('{"verdict": "C"}'), grammar)
        assert isinstance(read, ParseFailure), read
        assert read.reason == reason
    of_pair = own_object(answer.format('{"winner": 1}'), [])
    assert isinstance(of_pair, ParseFailure), of_pair
    assert of_pair.reason == reason


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"verdict": "C", "reasoning": "Scratch that, my verdict is D."}', "withdrawn"),
        ('{"reasoning": "B? Scratch that, my verdict is C.", "verdict": "C"}', "C"),
        ('{"verdict": "C"}\nI refuse to answer {"verdict": "D"}', "C"),
        ('{"verdict": "C"}\nI refuse to answer {"verdict": "C"}', "withdrawn"),
        ('{"verdict": "D?"}', "malformed"),
        ('{"verdict": "A"} no: {"verdict": "B"}', "B"),
    ],
)
def test_the_fields_of_an_object_and_other_objects(answer, expected):
    read = parse_structured_verdict(answer, POINT)
    assert (read.reason if isinstance(read, ParseFailure) else "".join(read.letters)) == expected


@pytest.mark.skipif(not (SHARED / "data/llmbar").exists(), reason="needs ../shared/data/llmbar")
def test_recorded_reasoning_around_a_verdict_does_not_change_it():
    """Answers of six models that argue about two texts, each with a verdict set beside it.

    The verdict may stand after the reasoning or before it. Answers that were cut off are left out:
    one that ends in "it does not" denies what follows.
    """
    csv.field_size_limit(10**8)
    with gzip.open(SHARED / "data/llmbar/judgements.csv.gz", "rt", newline="") as file:
        rows = {row["completion"] for row in csv.DictReader(file) if row["winner"] in {"1", "2"}}
    told = sorted(text for text in rows if text.strip().endswith((".", "!", ")", '"')))[::10]
    assert len(told) > 500
    for number, text in enumerate(told):
        letter = "AB"[number % 2]
        line, held = f"VERDICT: {letter}", json.dumps({"verdict": letter})
        for answer in (f"{text}\n\n{line}", f"{text} {line}", f"{line}\n\n{text}"):
            if answer == f"{text} {line}" and not text.strip().endswith("."):
                continue
            read = parse_verdict(answer, PAIR)
            assert isinstance(read, Verdict), (answer, read)
            assert read.letters == (letter,)
        inside = json.dumps({"verdict": letter, "reasoning": text})
        for answer in (f"{text}\n{held}", f"{held}\n{text}", inside):
            read = parse_structured_verdict(answer, PAIR)
            assert isinstance(read, Verdict), (answer, read)
            assert read.letters == (letter,)
