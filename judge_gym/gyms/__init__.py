"""Gyms: several ways to do one step of a pipeline, on the same cases, before one judge.

A gym is a frozen value, read from a YAML file (`load_gym`, samples in deployments/gyms) or built in
Python. Each is one file to copy, on the base in `base`: input → candidates → evaluation → table.

- `ApplyGym`: which search over a store of learnings serves a coding context best
- `CleanupGym`: which policy decides rightly whether a learning says what a principle says
- `AbstractGym`: whose generalisations are general enough, keep what matters and can be acted on
- `ExtractGym`: whose extracted claims are complete and right, held against labelled ones

What models write or decide goes through the gateway and the judges, is kept, and is not asked
twice. `evaluating` reads what is kept and compares the candidates case by case.
"""

from judge_gym.gyms.abstract import AbstractGym
from judge_gym.gyms.apply import ApplyGym
from judge_gym.gyms.base import Case, Gym, Output
from judge_gym.gyms.cleanup import CleanupGym
from judge_gym.gyms.extract import ExtractGym
from judge_gym.gyms.files import AnyGym, load_gym

__all__ = [
    "AbstractGym",
    "AnyGym",
    "ApplyGym",
    "Case",
    "CleanupGym",
    "ExtractGym",
    "Gym",
    "Output",
    "load_gym",
]
