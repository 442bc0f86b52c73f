"""What is planted, so that its effect is known: one pure model of judges, and damage to texts.

The simulator answers with it, the power study and the self-test draw data from it, and the report
compares what the pipeline recovered with it. It reads no prompts, files of users or databases.

`families` holds the parameters of simulated judges and graders, `lexicon` and `reading` say how a
text reads, `judging` how a judge perceives, chooses and states confidence, and `expected` what
estimators should find. `truths` plants panels of judges for studies without texts, with their
expected values in `truth_values`. `perturbations` damage a text in a known way.
"""
