"""Metrics: pure functions from arrays of verdicts to estimates with intervals.

Nothing here reads a database or a file. `cells` holds the common input, `estimate` the common
output and its intervals, `inference` the tests they share. The other modules compute one family of
figures each:

- `polarization` (with `permutation`, its null): divergence of judges, beside its noise floor
- `masses`, `belief`, `subsets`: conflict, distance, uncertainty and width of subset verdicts
- `entrenchment`: polarization times confidence, and overconfidence
- `presentation`: swap sensitivity, position bias and label bias
- `consistency`: outcome rates and repeatability
- `people`: the alternative annotator test, and the distance to people beside their own
- `accuracy`: accuracy against a known answer or an index
- `agreement`, `components`: agreement beyond chance, variance components, severity of judges
- `decomposition`: rubric and judgement, separated in the crossed design
- `regression` (with `regression_checks`, `likelihoods`): the three models of the analysis plan
- `hypotheses`, `margins`: claims, decided by an interval against a margin
- `ranking`: levels of a design axis, ranked by controlled pairs
- `points`, `score_agreement`: scores from 0 to 100: spread, repeatability, agreement
- `error_correlation`: how alike judges err, and how many independent ones they are worth
- `pooling`, `expert_labels`: several raters' scores pooled, and corrected by experts' scores
- `recompute`: rows of the view `samples` as input for these functions, for notebooks

All verdicts passed to one call were given under the same rubric, or the caller labels the figure
as mixing rubrics.
"""
