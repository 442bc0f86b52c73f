"""Calibration: what a judge can tell apart, before anything is measured with it.

Pure: texts and arrays in, values out. Nothing here calls a model or a database.

- `perturbations`: texts made worse, or other but no worse, in known ways
- `design`, `review_file`: the files that say what to calibrate or review
- `checks`: what a check says of a judge; the margins, the result, what to do
- `monotonicity`, `distribution`: the checks of one judge
- `comparisons`: judges on one corpus, a new judge in place of an old one, one judge over time
- `verdict`: what the checks of a judge come to
- `escalating`: what asking a second judge costs and gains
"""
