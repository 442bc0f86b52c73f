"""Calibration: what a judge can tell apart, before anything is measured with it.

Pure: texts and arrays in, values out. Nothing here calls a model or a database.

- `perturbations` (with `editing`, `sentences`, `mentions`): texts made worse, or other but no
  worse, in known ways
- `checks`: what a check says of a judge; the margins, the result, what to do
- `monotonicity`, `distribution`, `between`: the checks
- `replacing`: whether a new judge may take the place of an old one
- `escalating`: what asking a second judge costs and gains
"""
