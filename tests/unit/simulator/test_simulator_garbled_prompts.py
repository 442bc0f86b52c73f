"""Whatever a prompt says, the simulator answers something: it is a provider, not a parser."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from judge_gym.planted.families import served_models
from judge_gym.simulator.answering import ModelRequest, answer

PIECES = (
    'How far does the evidence show "fascism" in Oz? Judge.',
    'A: "No signs"\n   - none',
    'B: "All signs"\n   - all',
    'A: "Again the same letter"',
    "Z) unquoted",
    "<<<BEGIN EVIDENCE x>>>\nClaim: 1 + 1 = 2\n<<<END EVIDENCE x>>>",
    "<<<BEGIN EVIDENCE y>>>\nnever closed",
    "<<<BEGIN RUBRIC z>>>\n<<<END RUBRIC z>>>",
    "[Document 1 of 2]",
    "TASK\nList every stage\nVERDICT: <one or more letters of A, B>",
    'Answer with one JSON object: "verdict": one of "A"',
    "or VERDICT: ABSTAIN",
    'QUESTION\nA: "No signs"\nPROBABILITY: <a number>',
    "Design a rubric of 4 stages. Exactly 0 stages. Exactly 3 stages. Exactly 99 stages.",
    "- Stage 2 is labelled midpoint",
    "Write the whole rubric again",
    '{"observability": <number>}',
    "summary of at most 0 words",
    "by its role",
    "CRITERIA\n- a: b\n- : \n",
    "DECISIONS\n- yes: x\n",
    "number from 9 (worst) to 1 (best)",
    'Answer with one JSON object of this form\n{"scores": {}}',
    'Answer with one JSON object of this form\n{"decision": <x>}',
    'Answer with one JSON object of this form\n{"winner": <1 or 2>}',
    "without navigation",
    "Sentences change places, two by two. In all (999%) or none (0%)",
    "Answer with the rewritten text and nothing else",
)

messages = st.lists(
    st.tuples(
        st.sampled_from(["system", "user", "assistant"]),
        st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=6).map("\n".join),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=300)
# Marks of no criterion, by a grader that contradicts itself here.
@example(
    [("system", ""), ("system", ""), ("user", f"{PIECES[0]}\n{PIECES[22]}")], "sim/twofaced-1", 1.0
)
@given(messages, st.sampled_from(served_models()), st.sampled_from([0.0, 1.0, 2.0]))
def test_garbled_prompts_are_answered_in_text(conversation, model, temperature):
    given_answer = answer(ModelRequest(model, tuple(conversation), temperature=temperature, seed=1))
    assert isinstance(given_answer.text, str)
    assert len(given_answer.text) < 20_000
