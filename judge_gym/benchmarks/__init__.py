"""Known-answer benchmarks: reads their files by a mapping, and estimates a judge's accuracy.

Values only: no calls to models, no database. `deployments/benchmarks` has example mappings.
"""
