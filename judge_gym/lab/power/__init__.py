"""Power and self-test: what the estimators find in data of planted judges, before any call.

`comparisons` says what a sweep plans to compare, `study` how often its design would support a
claim and what more items or replicates would cost, `selftest` whether intervals and tests of the
estimators keep their promises. The judges are those of `judge_gym.planted.truths`.
"""
