"""Grammars of verdicts on four stages, A to D, with abstentions."""

from judge_gym.answers.verdict import Grammar

POINT = Grammar(tuple("ABCD"), subset=False, abstain=True)
SUBSET = Grammar(tuple("ABCD"), subset=True, abstain=True)
