"""Calibration: what a judge can tell apart, before anything is measured with it.

Pure: texts and arrays in, values out. Nothing here calls a model or a database. `perturbations`
(with `editing`, `sentences`, `mentions`) makes texts worse, or other but no worse, in known ways.
"""
