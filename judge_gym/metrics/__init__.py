"""Metrics: pure functions from arrays of verdicts to estimates with honest error bars.

Nothing here reads a database, a file or a dataframe. `cells` holds the common input,
`estimate` the common output; every other module computes one family of figures:

- `polarization` (with `divergence`): how far judges stand apart, beside its noise floor
- `belief` (with `masses`, `combination`): conflict, distance and uncertainty of subset verdicts
- `entrenchment`: polarization times confidence, and overconfidence
- `swap`, `contrasts`: paired effects of a rubric, a view or an order of display
- `outcomes`, `consistency`, `subsets`: abstention, repeatability, width of verdicts
- `accuracy`: against a known answer or an index
- `agreement`, `components`, `severity`: agreement beyond chance, what variance is due to, and
  which judge is strict
- `effect_sizes`: size, equivalence, trend and power of paired effects
- `points`, `score_agreement`: scores from 0 to 100: their spread, their repeats, their agreement
- `correction`, `isotonic`: what few scores of experts make of many of a judge
- `presentation`: position and label bias

`intervals` and `inference` hold the statistics they share. All verdicts handed to one call
were given under the same rubric, or the caller labels the figure as mixing rubrics.
"""
