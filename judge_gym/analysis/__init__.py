"""Analysis: which figures are made of which rows, and the tables as DataFrames.

`load` and `describe` are for notebooks. `running` computes and stores the figures of a sweep.
"""

from judge_gym.analysis.frames import describe, load

__all__ = ["describe", "load"]
